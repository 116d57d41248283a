// SPDX-License-Identifier: Apache-2.0
// A gateway whose configuration leads back to itself does not start itself again; different gateways may stand in a row.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { describe, test } from 'node:test';

import { SDKS } from './lib/clients.mjs';
import { gatewayEnv, ROOT, runToolgate, startGateway, toolgate } from './lib/gateway.mjs';
import { descendants, onEnd, tempDir, until, writeJson } from './lib/process.mjs';
import { handshakeServer, HttpCaller, text } from './lib/stateless.mjs';

const steady = { command: process.execPath, args: [path.join(ROOT, 'tests/e2e/servers/steady.mjs')] };
const openClient = SDKS['client 2.x'];
const CONFIG = { mode: 'direct', state_dir: 'none', timeouts: { start_wait: 60 } };

/** A folder with a configuration, as a project has it: `.mcp.json` and toolgate.json. */
function project(dir, servers, config = {}) {
  fs.mkdirSync(dir, { recursive: true });
  writeJson(path.join(dir, '.mcp.json'), { mcpServers: servers });
  writeJson(path.join(dir, 'toolgate.json'), { ...CONFIG, ...config });
  return dir;
}

/** The entry of a gateway that serves the project in `dir`. */
const gateway = (dir) => ({ command: toolgate(), args: ['serve'], cwd: dir });

/** A client on stdio of the gateway of a project. */
async function connect(t, dir, env = {}) {
  const target = { command: toolgate(), args: ['serve'], cwd: dir, env: gatewayEnv({ HOME: dir, ...env }) };
  const client = await openClient(target);
  onEnd(t, () => client.close());
  return client;
}

const pidOf = (client) => client.transport._process.pid;
const names = async (client) => (await client.listTools()).map((x) => x.name).sort();

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('an entry for the gateway itself', () => {
  const entries = {
    'by its path': () => ({ command: toolgate(), args: ['serve'] }),
    'by its name in PATH': () => ({ command: 'toolgate', args: ['serve'], env: { PATH: `${path.dirname(toolgate())}:${process.env.PATH}` } }),
    'through a symbolic link': (dir) => {
      fs.symlinkSync(toolgate(), path.join(dir, 'gate'));
      return { command: './gate', args: ['serve'] };
    },
    'with the file named': (dir) => ({ command: toolgate(), args: ['serve', '--mcp-config', path.join(dir, '.mcp.json')] }),
    'with env': () => ({ command: 'env', args: ['A=b', toolgate(), 'serve'] }),
    'with npx': () => ({ command: 'npx', args: ['-y', 'toolgate', 'serve'] }),
  };
  for (const [how, entry] of Object.entries(entries))
    test(`${how} is skipped, and the other servers are served`, async (t) => {
      const dir = tempDir(t);
      project(dir, { toolgate: entry(dir), steady });
      const checked = await runToolgate(['check'], { cwd: dir, env: { HOME: dir } });
      assert.equal(checked.status, 0, checked.stdout + checked.stderr);
      assert.match(checked.stdout, /\/mcpServers\/toolgate: warning: is this gateway itself/);
      const client = await connect(t, dir);
      assert.deepEqual(await names(client), ['hold', 'touch', 'who']);
      // The guard, and a keeper with its server.
      assert.equal(descendants(pidOf(client)).length, 3);
      assert.match(client.stderr, /toolgate.*is this gateway itself/);
    });

  test('in the user\'s own file of servers, which both would find, is skipped', async (t) => {
    const dir = tempDir(t), own = path.join(dir, '.config/toolgate');
    fs.mkdirSync(own, { recursive: true });
    writeJson(path.join(own, 'mcp.json'), { mcpServers: { toolgate: { command: toolgate(), args: ['serve'] }, steady } });
    const checked = await runToolgate(['check'], { cwd: dir, env: { HOME: dir, XDG_CONFIG_HOME: '' } });
    assert.match(checked.stdout, /\/mcpServers\/toolgate: warning: is this gateway itself/);
    assert.equal(checked.status, 0, checked.stdout + checked.stderr);
  });

  test('with other files is a server like any other', async (t) => {
    const dir = tempDir(t);
    project(path.join(dir, 'b'), { steady });
    project(dir, { b: gateway(path.join(dir, 'b')) });
    const checked = await runToolgate(['check'], { cwd: dir, env: { HOME: dir } });
    assert.doesNotMatch(checked.stdout, /itself/);
  });

  test('in a script that nobody can look into ends at its second process', async (t) => {
    const dir = tempDir(t), starts = path.join(dir, 'starts');
    fs.writeFileSync(path.join(dir, 'start.sh'), `#!/bin/sh\necho start >> '${starts}'\nexec '${toolgate()}' serve\n`, { mode: 0o755 });
    project(dir, { again: { command: './start.sh' }, steady });
    const client = await connect(t, dir);
    assert.deepEqual(await names(client), ['hold', 'touch', 'who']);
    await until(() => /again: .*this is a loop/.test(client.stderr), () => client.stderr);
    // One that ended at once, and what may be starting again after a pause; none of them starts another.
    assert.ok(descendants(pidOf(client)).length <= 5, 'processes do not grow');
    assert.ok(fs.readFileSync(starts, 'utf8').trim().split('\n').length <= 6, 'nor do attempts');
  });
});

describe('the address of the gateway itself', () => {
  for (const host of ['127.0.0.1', 'localhost', '[::1]'])
    test(`as ${host} is skipped`, async (t) => {
      const port = await freePort(), dir = tempDir(t);
      const servers = { me: { url: `http://${host}:${port}/mcp` }, steady };
      const { program } = await startGateway(t, { servers, dir, args: ['--listen', `127.0.0.1:${port}`] });
      assert.match(program.stderr, /mcpServers\/me: .*is this gateway itself \(the address/);
      await program.says(/steady: ready/);
      assert.doesNotMatch(program.stderr, /\bme: ready/);
    });

  test('behind a proxy is refused when it is reached', async (t) => {
    const port = await freePort();
    const proxy = net.createServer((socket) => {
      const out = net.connect(port, '127.0.0.1');
      for (const [from, to] of [[socket, out], [out, socket]]) from.on('error', () => {}).on('close', () => to.destroy()).pipe(to);
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => proxy.once('listening', resolve));
    const servers = { me: { url: `http://127.0.0.1:${proxy.address().port}/mcp` }, steady };
    const config = { ...CONFIG, allowed_hosts: ['127.0.0.1'] };
    const { program, url, stop } = await startGateway(t, { servers, args: ['--listen', `127.0.0.1:${port}`], config });
    onEnd(t, () => stop().finally(() => proxy.close()));
    await program.says(/me: refused \(HTTP 508\): gateways are connected in a loop/);
    const client = await openClient({ url });
    onEnd(t, () => client.close());
    assert.deepEqual(await names(client), ['hold', 'touch', 'who']);
  });
});

describe('gateways in a ring', () => {
  test('of processes: the one that would be started again ends', async (t) => {
    const dir = tempDir(t), [a, b] = ['a', 'b'].map((n) => path.join(dir, n));
    project(a, { b: gateway(b), steady });
    project(b, { a: gateway(a) });
    const client = await connect(t, a);
    assert.deepEqual(await names(client), ['hold', 'touch', 'who']);
    await until(() => /b: .*a: .*this is a loop/.test(client.stderr), () => client.stderr);
    assert.ok(descendants(pidOf(client)).length < 12, 'processes do not grow');
  });

  for (const count of [2, 3])
    test(`of ${count} on HTTP: one connection is refused, and the others work`, async (t) => {
      const ports = await Promise.all(Array.from({ length: count }, freePort));
      const programs = await Promise.all(ports.map((port, i) => startGateway(t, {
        servers: { next: { url: `http://127.0.0.1:${ports[(i + 1) % count]}/mcp` }, [`own${i}`]: steady },
        config: { ...CONFIG, direct: { prefix: 'always' } },
        args: ['--listen', `127.0.0.1:${port}`],
      })));
      const refusals = () => programs.filter((p) => /next: refused \(HTTP 508\)/.test(p.program.stderr)).length;
      await until(() => refusals() > 0, () => programs.map((p) => p.program.stderr).join('\n----\n'));
      const clients = [];
      for (const { url } of programs) {
        const client = await openClient({ url });
        onEnd(t, () => client.close());
        clients.push(client);
      }
      const depth = (name) => name.split('next_').length - 1;
      const seen = await Promise.all(clients.map(names));
      for (const list of seen) assert.ok(Math.max(...list.map(depth)) <= count, list.join(' '));
      assert.ok(seen.some((list) => list.some((name) => depth(name) > 0)), 'a connection works');
      // What leads once around the ring is refused; it does not go around again.
      const around = seen.flatMap((list, i) => list.filter((n) => depth(n) >= count && n.endsWith('who')).map((n) => [i, n]));
      for (const [i, name] of around) {
        const answer = await clients[i].callTool(name, {}).catch((e) => ({ isError: true, content: e.message }));
        assert.ok(answer.isError, JSON.stringify(answer));
      }
    });

  test('a call that names this gateway in its chain is refused', async (t) => {
    const { url } = await startGateway(t, { servers: { steady }, config: CONFIG });
    const deep = Array.from({ length: 4 }, (_, i) => String(i).repeat(16)).join(',');
    const post = (headers) => fetch(url, {
      method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } } }),
    });
    assert.equal((await post({ 'toolgate-chain': deep })).status, 508);
    assert.equal((await post({ 'toolgate-chain': 'nonsense' })).status, 508);
    assert.equal((await post({ 'toolgate-chain': '0'.repeat(16) })).status, 200);
  });
});

describe('what a client says of gateways', () => {
  const tokenOf = (agent) => `token-of-${agent}-0123456789abcdef`;

  test('is passed on to the servers that it may use, and to no others', async (t) => {
    const agents = { boss: { allow: { servers: ['*'], tools: { '*': ['*'] } } }, clerk: { deny: { servers: ['*'] } } };
    const up = await handshakeServer('http', { name: 'up', tools: { echo: () => text('echo') } });
    onEnd(t, () => up.close());
    const got = [], handle = up.handle.bind(up);
    up.handle = (req, res, body) => (got.push([String(body), req.headers['toolgate-chain']]), handle(req, res, body));
    const dir = tempDir(t), rules = writeJson(path.join(dir, 'rules.json'), { agents });
    const tokens = Object.keys(agents).map((agent) => (
      { sha256: crypto.createHash('sha256').update(tokenOf(agent)).digest('hex'), agent }));
    const { url } = await startGateway(t, {
      servers: { up: up.config() }, config: { ...CONFIG, auth: { tokens } }, args: ['--rules', rules],
    });
    const [boss, clerk] = Object.keys(agents).map((agent) => new HttpCaller(url, { token: tokenOf(agent) }));
    onEnd(t, () => (boss.close(), clerk.close()));
    assert.ok((await boss.call('echo', {})).result);
    const [refused, id, mark] = ['1', '2', '3'].map((digit) => digit.repeat(16));
    await clerk.send('tools/list', {}, { headers: { 'toolgate-chain': `~${refused},${id}` } });
    // The mark is new to the server, which is asked for its list again.
    await boss.send('tools/list', {}, { headers: { 'toolgate-chain': `~${mark},${id}` } });
    await until(() => got.some(([body, chain]) => body.includes('tools/list') && chain.includes(`~${mark}`)), () => got.join('\n'));
    assert.ok((await boss.call('echo', {})).result);
    assert.deepEqual(got.filter(([, chain]) => chain.includes(refused) || chain.includes(id)), []);
  });
});

describe('different gateways in a row', () => {
  /** Projects 1 to `count`, each with the next as its server, by `link(i, dir, next)`; the last has `steady`. */
  function row(dir, count) {
    for (let i = count; i >= 1; i--)
      project(path.join(dir, String(i)), i === count ? { steady } : { next: gateway(path.join(dir, String(i + 1))) });
    return path.join(dir, '1');
  }

  for (const count of [2, 3, 4])
    test(`${count} processes carry a call to the server of the last`, async (t) => {
      const client = await connect(t, row(tempDir(t), count));
      assert.deepEqual(await names(client), ['hold', 'touch', 'who']);
      const { pid } = JSON.parse((await client.callTool('who', {})).content[0].text);
      assert.ok(descendants(pidOf(client)).some((p) => p.pid === pid));
    });

  test('a fifth process refuses to start', async (t) => {
    const client = await connect(t, row(tempDir(t), 5));
    assert.deepEqual(await names(client), []);
    await until(() => /more than 4 gateways in a row/.test(client.stderr), () => client.stderr);
  });

  /** Gateways on HTTP, the last first; gives a client of the first of `count`. Odd ones start the next as a process. */
  async function mixed(t, count, isPipe) {
    const dir = tempDir(t);
    let entry = steady;
    for (let i = count; i > 1; i--) {
      if (isPipe(i)) {
        project(path.join(dir, String(i)), { next: entry });
        entry = gateway(path.join(dir, String(i)));
      } else {
        const { url } = await startGateway(t, { servers: { next: entry }, config: CONFIG });
        entry = { url };
      }
    }
    const { url } = await startGateway(t, { servers: { next: entry }, config: CONFIG });
    const client = await openClient({ url });
    onEnd(t, () => client.close());
    await until(async () => (await names(client)).includes('who'), 'the tool at the end of the row');
    return client;
  }

  test('requests that are refused for their path do not flood the log', async (t) => {
    const { url, program } = await startGateway(t, { servers: {}, config: CONFIG });
    for (let i = 0; i < 200; i++) {
      const { status } = await fetch(url, { method: 'POST', headers: { 'Toolgate-Chain': 'x' }, body: '{}' });
      assert.equal(status, 508);
    }
    const told = program.stderr.match(/refused a request from another gateway/g).length;
    assert.ok(told < 100, `${told} lines`);
  });

  const ways = { 'on HTTP': () => false, 'on HTTP and pipes in turn': (i) => i % 2 === 1 };
  for (const [how, isPipe] of Object.entries(ways)) {
    test(`4 ${how} carry a call`, async (t) => {
      const client = await mixed(t, 4, isPipe);
      assert.ok(JSON.parse((await client.callTool('who', {})).content[0].text).pid);
    });
    test(`a call through 5 ${how} is refused`, async (t) => {
      const client = await mixed(t, 5, isPipe);
      const answer = await client.callTool('who', {}).catch((e) => ({ isError: true, content: [{ text: e.message }] }));
      assert.ok(answer.isError);
      assert.match(JSON.stringify(answer), /4 gateways in a row/);
    });
  }
});
