// SPDX-License-Identifier: Apache-2.0
// What an agent is not told of a server, whatever goes wrong there: the secrets it was configured with, and where it is.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { describe, test } from 'node:test';

import { startAudited } from './lib/audit.mjs';
import { runToolgate } from './lib/gateway.mjs';
import { faultOf, open, startMeta, textOf } from './lib/meta.mjs';
import { tempDir, until } from './lib/process.mjs';
import { RpcError } from './lib/raw.mjs';
import { ASKABLE, handshakeServer, HttpCaller, statelessServer, TASKS, text } from './lib/stateless.mjs';
import { CREATE, github, startShop } from './servers/golden-shop.mjs';

const ISSUE = { title: 'a' };
const MASK = '[REDACTED-SECRET]';
const SECRET = 'swordfish-of-the-shop';  // known by no form
const WITH_SECRET = {
  stdio: { entry: { env: { SHOP_PASSWORD: SECRET } } },
  http: { entry: { headers: { 'X-Shop-Token': SECRET } } },
};
const fails = (message, data) => () => { throw new RpcError(-32000, message, data); };
const reports = (said) => () => ({ ...text(said), isError: true });

const shop = (t, kind, run, rest = {}) => startShop(t, { kind, ...WITH_SECRET[kind], runs: { create_issue: run }, ...rest });

for (const kind of ['stdio', 'http']) {
  describe(`what a server was configured with (${kind})`, () => {
    test('is not told in a fault, nor in its data', async (t) => {
      const { execute, gateway } = await shop(t, kind, fails(`you said ${SECRET}`, { sent: [`x${SECRET}`] }));
      const result = await execute(CREATE, ISSUE);
      const fault = faultOf(result, 'UPSTREAM_ERROR');
      assert.equal(fault.message, `you said ${MASK}`);
      assert.deepEqual(fault.details.data, { sent: [`x${MASK}`] });
      assert.ok(!JSON.stringify(result).includes(SECRET));
      assert.ok(!gateway.log.includes(SECRET), gateway.log);
    });

    test('nor in the log at level debug, which has the rest of what the server said', async (t) => {
      const data = { host: 'db-7.internal', token: 'looks-like-one', stack: 'x'.repeat(3000), last: 'end' };
      const config = (level) => ({ config: { log: { level } } });
      const at = async (level, more = {}) => {
        const { execute, gateway } = await shop(t, kind, fails(`${'m'.repeat(400)} ${SECRET}\nline two`, { ...data, ...more }), config(level));
        faultOf(await execute(CREATE, ISSUE), 'UPSTREAM_ERROR');
        await gateway.stop();
        assert.ok(!gateway.log.includes('swordfish'), gateway.log);
        return gateway.log.split('\n').filter((line) => /error (message|data) of/.test(line)).map((line) => line.replace(/.*, part \d+: /, '')).join('');
      };
      assert.equal(await at('info'), '');
      const told = await at('debug');
      assert.ok(told.includes(`${'m'.repeat(400)} ${MASK}`) && told.includes('line two'), told);
      assert.ok(told.includes(JSON.stringify(data)), 'all of the data, as it came');
      assert.ok((await at('debug', { sent: SECRET })).includes('db-7.internal'));
    });

    test('nor if it has line breaks, which a message on one line has not', async (t) => {
      const lines = 'swordfish of\n  two lines';
      const entry = kind === 'stdio' ? { env: { SHOP_PASSWORD: lines } } : { headers: { 'X-Shop-Token': SECRET }, env: { TOKEN: lines } };
      const { execute } = await shop(t, kind, fails(`you said\n${lines}, didn't you`), { entry });
      assert.equal(faultOf(await execute(CREATE, ISSUE), 'UPSTREAM_ERROR').message, `you said ${MASK}, didn't you`);
    });

    test('nor where the cut of a long message leaves a part of it', async (t) => {
      const { execute } = await shop(t, kind, fails(`${'y'.repeat(240)} ${SECRET}`));
      assert.doesNotMatch(JSON.stringify(await execute(CREATE, ISSUE)), /swordfish/);
    });

    test('nor in what a tool reports as its error; a result that went well is as it is', async (t) => {
      const { execute } = await shop(t, kind, (args) => (args.title === 'a' ? reports(`no: ${SECRET}`)() : text(SECRET)));
      const failed = await execute(CREATE, ISSUE);
      assert.equal(failed.isError, true);
      assert.equal(textOf(failed), `no: ${MASK}`);
      assert.equal(textOf(await execute(CREATE, { title: 'b' })), SECRET);
    });

    test('with result.scrub, no result contains a configured secret', async (t) => {
      const { execute } = await shop(t, kind, () => text(`it is ${SECRET}`), { config: { result: { scrub: true } } });
      assert.equal(textOf(await execute(CREATE, ISSUE)), `it is ${MASK}`);
    });

    test('nor in mode servers', async (t) => {
      const servers = { github: await github(kind, { ...WITH_SECRET[kind], runs: { create_issue: reports(`no: ${SECRET}`) } }) };
      const client = await open(t, await startMeta(t, { servers, mode: 'servers' }));
      const call = { server: 'github', tool: 'create_issue', args: ISSUE };
      assert.equal(textOf(await client.call('execute_tool', call)), `no: ${MASK}`);
    });

    test('nor in the errors that mode direct passes on, of which the rest stays as it is', async (t) => {
      const data = { sent: SECRET, rest: 1.50 };
      const { client } = await shop(t, kind, (args) => fails(args.title === 'a' ? `line\none ${SECRET}` : 'line\ntwo', data)(),
        { mode: 'direct' });
      const error = (title) => client.call('create_issue', { title })
        .then(() => assert.fail(), ({ code, message, data: of }) => ({ code, message, data: of }));
      assert.deepEqual(await error('a'), { code: -32000, message: `line\none ${MASK}`, data: { ...data, sent: MASK } });
      assert.deepEqual(await error('b'), { code: -32000, message: 'line\ntwo', data: { ...data, sent: MASK } });
    });

    test('nor where a resource is not there, whose URI stays with it', async (t) => {
      const uri = 'test://shop/none';
      const { gateway, up } = await shop(t, kind, undefined, { mode: 'direct', resources: [uri] });
      const caller = new HttpCaller(gateway.url);
      for (const data of [undefined, { sent: SECRET }]) {
        up.on('resources/read', () => { throw new RpcError(-32002, `not with ${SECRET}`, data); });
        const { error } = await caller.send('resources/read', { uri });
        assert.deepEqual(error, { code: -32602, message: `not with ${MASK}`, data: { ...data && { sent: MASK }, uri } });
      }
      caller.close();
    });

    test('nor where a name is one, and another is called as that is then', async (t) => {
      const data = { [SECRET]: 1, [`${MASK} 1`]: 2 };
      const { client } = await shop(t, kind, fails('no', data), { mode: 'direct' });
      await assert.rejects(client.call('create_issue', ISSUE),
        (error) => assert.deepEqual(error.data, { [`${MASK} 1`]: 1, [`${MASK} 1 2`]: 2 }) ?? true);
    });

    for (const size of [100e3, 400e3, 1.5e6]) {
      test(`nor in those of ${size} bytes: what is too long to be looked through is not told`, async (t) => {
        const said = `no: ${SECRET} ${'y'.repeat(size)}`;
        const { client } = await shop(t, kind, fails(said, { sent: SECRET }), { mode: 'direct' });
        const error = await client.call('create_issue', ISSUE).then(() => assert.fail(), (e) => e);
        assert.equal(error.code, -32000);
        assert.ok(error.message.startsWith(`no: ${MASK} yyyy`), error.message.slice(0, 300));
        assert.ok(!JSON.stringify([error.message, error.data]).includes(SECRET));
        if (size < 256 * 1024) assert.equal(error.message, said.replace(SECRET, MASK));
        else assert.match(error.message, /…? \(shortened from an error of \d+ bytes\)$/);
        assert.deepEqual(error.data, size < 256 * 1024 ? { sent: MASK } : undefined);
      });

      test(`nor in what a tool reports there as its error, of ${size} bytes`, async (t) => {
        const rest = { ...text(`Bearer 0123456789abcdef ${'y'.repeat(size)}`), structuredContent: { n: 1.50 }, isError: true };
        const { client } = await shop(t, kind, ({ title }) => (title === 'a' ? { ...rest, ...text(`${SECRET} ${'y'.repeat(size)}`) } : rest),
          { mode: 'direct' });
        const failed = await client.call('create_issue', ISSUE);
        assert.deepEqual(failed, { ...rest, ...text(`${MASK} ${'y'.repeat(size)}`) });
        assert.deepEqual(await client.call('create_issue', { title: 'b' }), rest);
      });
    }
  });
}

describe('what a server was configured with, in mode direct', () => {
  const entry = WITH_SECRET.http.entry, failed = { ...text(`no: ${SECRET}`), isError: true };
  const direct = (t, up) => startMeta(t, { mode: 'direct', servers: { up } });
  const task = { taskId: 't1', createdAt: '2026-01-01T00:00:00Z', lastUpdatedAt: '2026-01-01T00:00:00Z' };
  const clean = (value) => {
    const raw = JSON.stringify(value);
    assert.ok(!raw.includes(SECRET) && raw.includes(MASK), raw);
  };

  test('is not told in what a task of a stateless server reports as its error', async (t) => {
    const up = await statelessServer('http', { name: 'up', entry, capabilities: { tools: {}, extensions: { [TASKS]: {} } },
      tools: { work: () => ({ resultType: 'task', ...task, status: 'working', ttlMs: 60_000 }) } });
    const states = [
      { status: 'completed', result: { ...failed, resultType: 'complete' } },
      { status: 'failed', error: { code: -1, message: `no: ${SECRET}` } },
      { status: 'failed', statusMessage: `no: ${SECRET}`, error: { code: -1, message: 'no' } },
    ];
    up.on('tasks/get', () => ({ ...task, ttlMs: 60_000, ...states[0] }));
    const caller = new HttpCaller((await direct(t, up)).url, { capabilities: { extensions: { [TASKS]: {} } } });
    const { taskId } = (await caller.call('work')).result;
    for (; states.length; states.shift()) clean((await caller.send('tasks/get', { taskId })).result);
    states.push({ status: 'completed', result: { ...text(SECRET), resultType: 'complete' } });
    assert.equal((await caller.send('tasks/get', { taskId })).result.result.content[0].text, SECRET);
  });

  test('nor in that of a server with a session, which a stateless client sees as a task of its own revision', async (t) => {
    const up = await handshakeServer('http', { name: 'up', entry, capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } },
      tools: { work: { execution: { taskSupport: 'required' }, run: () => ({ task: { ...task, status: 'working', ttl: null } }) } } });
    up.on('tasks/get', () => ({ ...task, status: 'completed', ttl: null }));
    up.on('tasks/result', () => failed);
    const caller = new HttpCaller((await direct(t, up)).url, { capabilities: { extensions: { [TASKS]: {} } } });
    const { taskId } = (await caller.call('work')).result;
    clean((await caller.send('tasks/get', { taskId })).result);
  });

  test('nor where a URL is to be opened first, which stays as it is', async (t) => {
    const url = `https://example.com/?t=${SECRET}`;
    const elicitations = [{ mode: 'url', elicitationId: 'e', url, message: `for ${SECRET}` }];
    const up = await handshakeServer('http', { name: 'up', entry, tools: {
      login: () => { throw new RpcError(-32042, `first open, ${SECRET}`, { elicitations, sent: SECRET }); },
    } });
    const gateway = await direct(t, up);
    const client = await open(t, gateway, 'http', { capabilities: ASKABLE });
    await assert.rejects(client.call('login'), {
      code: -32042, message: `first open, ${MASK}`,
      data: { elicitations: [{ ...elicitations[0], message: `for ${MASK}` }], sent: MASK },
    });
    const { result } = await new HttpCaller(gateway.url, { capabilities: ASKABLE }).call('login');
    assert.deepEqual(Object.values(result.inputRequests).map((q) => q.params), [{ mode: 'url', url, message: `for ${MASK}` }]);
  });
});

test('the audit log does not contain a configured secret, even if an agent repeats it', async (t) => {
  const servers = { github: await github('stdio', WITH_SECRET.stdio) };
  const { gateway, finish } = await startAudited(t, { servers, audit: { arguments: true } });
  const client = await open(t, gateway);
  await client.call('tool_execute', { tool_id: CREATE, args: { title: `is it ${SECRET}?` } });
  const [line] = (await finish()).filter(({ operation }) => operation === 'tool_execute');
  assert.ok(JSON.stringify(line.arguments).includes(`is it ${MASK}?`), JSON.stringify(line));
  assert.ok(!JSON.stringify(line).includes(SECRET));
});

// Writes what servers write when they fail: whatever they have, in pieces, in lines of any length, on both streams.
const BABBLER = `
  const fs = require('node:fs');
  const { SHOP_PASSWORD: secret, SHOP_KEY: key } = process.env;
  const write = (fd, ...pieces) => pieces.forEach((p) => fs.writeSync(fd, p));
  const key_file = '-----BEGIN RSA PRIVATE KEY-----\\nMIIEfound1234567890\\nMIIEfound0987654321\\n-----END RSA PRIVATE KEY-----\\n';
  const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
  write(2, 'in pieces: ', secret.slice(0, 9)); pause(); write(2, secret.slice(9), ' was it\\n');
  write(2, 'in a long line: ' + 'y'.repeat(1900) + secret + '\\n', 'y'.repeat(9000) + secret + '\\n');
  write(2, 'in lines: ' + key + '\\n', key_file, 'Authorization: Bearer abcdef0123456789abcdef\\n');
  write(1, 'stray: ' + 'y'.repeat(60) + secret + '\\n', '{"' + secret + '": \\n', secret + '\\n');
  write(2, 'Error: no entry with ' + 'y'.repeat(225) + secret + '\\n');
  process.exit(7);
`;

test('configured secrets are neither in the log, whatever a server writes to stderr and stdout, nor in the output of logs and status', async (t) => {
  const script = path.join(tempDir(t), 'babbler.cjs');
  fs.writeFileSync(script, BABBLER);
  const entry = { command: 'node', args: [script], env: { SHOP_PASSWORD: SECRET, SHOP_KEY: 'first-line-of-it\nsecond-line-of-it' } };
  const gateway = await startMeta(t, { servers: { babbler: entry } });
  await until(() => gateway.log.includes('exited with status 7'), () => `its end in: ${gateway.log}`);
  const said = [gateway.log];
  for (const args of [['logs', 'babbler'], ['status'], ['status', '--json'], ['check', '--connect']]) {
    const { stdout, stderr } = await runToolgate([...args, '--mcp-config', path.join(gateway.dir, 'mcp.json')],
      { cwd: gateway.dir, env: { HOME: gateway.dir, XDG_STATE_HOME: '' } });
    said.push(stdout + stderr);
  }
  assert.match(said[1], /in pieces: \[REDACTED-SECRET\] was it/);
  assert.match(gateway.log, /in pieces: \[REDACTED-SECRET\] was it/);
  assert.match(gateway.log, /stray: y{60}\[REDACTED-SECRET\]/);
  for (const text of said)
    for (const secret of [SECRET.slice(0, 12), 'line-of-it', 'MIIEfound', 'abcdef0123456789'])
      assert.ok(!text.includes(secret), `${secret} in: ${text}`);
});

test('nor in what is recorded', async (t) => {
  const dir = tempDir(t);
  const { execute, gateway } = await shop(t, 'stdio', () => text(`it is ${SECRET}`),
    { config: { state_dir: dir, context: { record: true } } });
  await execute(CREATE, { title: SECRET });
  const config = path.join(dir, 'toolgate.yaml');
  fs.copyFileSync(path.join(gateway.dir, 'toolgate.yaml'), config);
  await gateway.stop();
  const sessions = await runToolgate(['context', 'sessions', '--config', config, '--json'], { cwd: dir });
  const { session } = JSON.parse(sessions.stdout.trim().split('\n')[0]);
  const { stdout } = await runToolgate(['context', 'export', session, '--config', config], { cwd: dir });
  assert.ok(stdout.includes(MASK), stdout);
  assert.ok(!stdout.includes(SECRET), stdout);
});

describe('where a server is', () => {
  const closedPort = () => new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

  test('is told to nobody who calls it, but stands in the log', async (t) => {
    const { execute, gateway, up } = await shop(t, 'http', () => text('ok'), { config: { modes: ['direct'] } });
    await execute(CREATE, ISSUE);
    const { port } = new URL(up.config().url);
    await up.close();
    const result = await execute(CREATE, ISSUE);
    const fault = faultOf(result, 'UPSTREAM_UNAVAILABLE');
    assert.match(fault.message, /server "github" .*connect/);
    assert.equal(fault.path, CREATE);
    assert.ok(!JSON.stringify(result).includes(port) && !fault.message.includes('127.0.0.1'), fault.message);
    await until(() => gateway.log.includes(`127.0.0.1 port ${port}`), 'its line in the log');
    const direct = await open(t, gateway, 'http', { path: '/mcp/direct' });
    await assert.rejects(direct.call('create_issue', ISSUE), (error) => {
      assert.ok(!`${error.message} ${JSON.stringify(error.data)}`.includes(port), error.message);
      return true;
    });
  });

  test('nor to who browses', async (t) => {
    const port = await closedPort();
    const servers = { away: { url: `http://127.0.0.1:${port}/mcp` }, gone: { command: '/opt/nowhere/program' } };
    const client = await open(t, await startMeta(t, { servers }));
    const said = JSON.stringify(await client.call('tool_browse', { path: '/' }));
    assert.match(said, /away \(cannot connect: connection refused\)/);
    assert.match(said, /gone \(cannot start: no such file/);
    assert.ok(!said.includes(port) && !said.includes('nowhere'), said);
  });
});
