// SPDX-License-Identifier: Apache-2.0
// The control socket: commands ask the gateway that runs, and start no server again.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { gatewayEnv, PATIENT, runToolgate, startGateway, stdioGateway, toolgate } from './lib/gateway.mjs';
import { onEnd, Program, suiteScope, tempDir, until, writeJson } from './lib/process.mjs';

const quickstart = name => path.join(path.dirname(toolgate()), 'examples/quickstart', name);
const COUNT = ['textkit:word_count', '{"text": "a b c"}'];

/** A server of the quickstart that notes each of its starts in a file, and writes a line to stderr. */
const counted = (dir, name) => ({
  command: 'sh',
  args: ['-c', `echo started >>'${dir}/${name}.starts'; echo "${name} says $SECRET_TOKEN" >&2; exec '${quickstart(name)}'`],
  env: { SECRET_TOKEN: 'hunter2-hunter2-hunter2' },
});

/** A folder with two counted servers (and others), whose gateways and commands share a state folder. */
function place(t, { servers = {}, config = {} } = {}) {
  const dir = tempDir(t);
  const env = { HOME: dir, XDG_STATE_HOME: path.join(dir, 'state'), XDG_RUNTIME_DIR: '', COLUMNS: '' };
  const all = { notes: counted(dir, 'notes'), textkit: counted(dir, 'textkit'), ...servers };
  const sockets = () => fs.readdirSync(path.join(dir, 'state/toolgate')).filter(n => n.endsWith('.sock'));
  const starts = name => fs.existsSync(path.join(dir, `${name}.starts`))
    ? fs.readFileSync(path.join(dir, `${name}.starts`), 'utf8').trim().split('\n').length : 0;
  writeJson(path.join(dir, '.mcp.json'), { mcpServers: all });
  const merged = { ...PATIENT, ...config };
  writeJson(path.join(dir, 'toolgate.json'), merged);
  const runs = (...args) => runToolgate(args, { cwd: dir, env });
  return {
    dir, env, sockets, starts, runs, servers: all,
    serve: (args = []) => startGateway(t, { servers: all, config: merged, mode: 'gateway', dir, env, args }),
    json: async (...args) => {
      const r = await runs(...args, '--json');
      assert.equal(r.status, 0, r.stderr);
      return JSON.parse(r.stdout);
    },
    connect: () => {
      const [name] = sockets();
      return net.connect(path.join(dir, 'state/toolgate', name));
    },
  };
}

/** A gateway whose servers are ready. */
async function settled(here, args) {
  const gateway = await here.serve(args);
  await until(async () => (await here.json('status')).servers.every(s => s.state === 'ready'), 'ready servers');
  return gateway;
}

describe('a gateway runs', () => {
  const here = place(suiteScope());
  let gateway;
  const running = async () => gateway ??= await settled(here);

  test('commands ask it: no server is started again, and the answers are those of a fresh start', async () => {
    await running();
    const asked = [['browse', 'count words'], ['browse', '--path', '/'], ['hydrate', COUNT[0]], ['call', ...COUNT],
      ['catalog'], ['catalog', '--json'], ['stats', '--json']];
    const answers = [];
    for (const args of asked) {
      const r = await here.runs(...args);
      assert.deepEqual([r.status, r.stderr], [0, ''], args.join(' '));
      answers.push(r.stdout);
    }
    assert.deepEqual([here.starts('notes'), here.starts('textkit')], [1, 1]);
    for (const [i, args] of asked.entries()) assert.equal((await here.runs(...args, '--fresh')).stdout, answers[i], `${args}`);
    assert.ok(here.starts('notes') > 1, '--fresh starts the servers');
  });

  test('tools that are hidden are not in its catalog, and stats counts what a small budget leaves', async (t) => {
    const here = place(t, { servers: { textkit: { command: quickstart('textkit'), disabledTools: ['word_count'] } },
      config: { result: { budget: 50 } } });
    await settled(here);
    for (const command of ['catalog', 'stats']) {
      const asked = await here.json(command), fresh = await here.json(command, '--fresh');
      assert.deepEqual(command === 'stats' ? asked : asked.items, command === 'stats' ? fresh : fresh.items);
    }
    assert.doesNotMatch((await here.runs('catalog')).stdout, /word_count/);
  });

  test('only the user of the gateway has access to the socket', async () => {
    await running();
    const folder = path.join(here.dir, 'state/toolgate');
    const [name, ...more] = here.sockets();
    assert.deepEqual(more, []);
    assert.equal(fs.statSync(path.join(folder, name)).mode & 0o777, 0o600);
    assert.equal(fs.statSync(folder).mode & 0o777, 0o700);
  });

  test('status tells of the gateway, its clients and its servers', async () => {
    const { url, program } = await running();
    const client = new Client({ name: 'visitor', version: '7.1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    const s = await here.json('status');
    assert.equal(s.pid, program.pid);
    assert.deepEqual([s.mode, s.transport, s.url, s.other_gateways], ['gateway', 'http', url, 0]);
    assert.equal(s.files.servers, path.join(here.dir, '.mcp.json'));
    assert.deepEqual(s.clients.map(c => [c.name, c.version, c.mode]), [['visitor', '7.1', 'gateway']]);
    const server = s.servers.find(x => x.name === 'textkit');
    assert.deepEqual([server.state, server.transport, server.tools, server.starts], ['ready', 'stdio', 6, 1]);
    assert.ok(server.processes >= 1 && server.memory_bytes > 0 && server.pids.length === 1);
    const text = (await here.runs('status')).stdout;
    assert.match(text, /^toolgate .*, pid \d+, up .*\n/);
    assert.match(text, /^ {2}visitor 7\.1, /m);
    assert.match(text, /^ {2}textkit +ready +stdio +6 /m);
    await client.close();
  });

  test('top prints once without a terminal', async () => {
    await running();
    await here.runs('call', ...COUNT);
    const r = await here.runs('top');
    assert.deepEqual([r.status, r.stderr], [0, '']);
    const row = /^textkit +ready +(\d+) +(\d+) +(\S+) +(\S+) +(\d+) /m.exec(r.stdout) ?? assert.fail(r.stdout);
    assert.ok(Number(row[2]) >= 1 && Number(row[3]) > 0, r.stdout);
  });

  test('logs shows what a server wrote to stderr, without secrets', async () => {
    await running();
    const lines = (await here.runs('logs', 'textkit')).stdout.trim().split('\n');
    assert.ok(lines.some(l => /^\d{4}-\d\d-\d\dT\S+Z textkit says /.test(l)), lines.join('\n'));
    assert.ok(!lines.join().includes('hunter2'));
    assert.equal((await here.runs('logs', 'textkit', '-n', '1')).stdout.trim().split('\n').length, 1);
    const unknown = await here.runs('logs', 'nobody');
    assert.equal(unknown.status, 1);
    assert.match(unknown.stderr, /nobody/);
  });

  test('logs -f goes on with what is written later', async (t) => {
    const talker = place(t, { servers: { talker: { command: 'sh', args: ['-c', 'exec 3>&2; (while read -r x <&4; do echo "heard $x" >&3; done) 4<"$FIFO" & exec "$@"', 'sh', quickstart('notes')], env: {} } } });
    const fifo = path.join(talker.dir, 'fifo');
    assert.equal((await import('node:child_process')).spawnSync('mkfifo', [fifo]).status, 0);
    const file = path.join(talker.dir, '.mcp.json');
    const { mcpServers } = JSON.parse(fs.readFileSync(file, 'utf8'));
    mcpServers.talker.env.FIFO = fifo;
    writeJson(file, { mcpServers });
    await startGateway(t, { servers: mcpServers, config: PATIENT, mode: 'gateway', dir: talker.dir, env: talker.env });
    const pen = fs.createWriteStream(fifo);
    onEnd(t, () => pen.destroy());
    const follower = new Program(toolgate(), ['logs', 'talker', '-f'], { cwd: talker.dir, env: gatewayEnv(talker.env) });
    onEnd(t, () => follower.stop('SIGINT'));
    for (const word of ['one', 'two']) {
      pen.write(`${word}\n`);
      await until(() => follower.stdout.includes(`heard ${word}`), () => `${word} in: ${follower.stdout}${follower.stderr}`);
    }
  });

  test('garbage, huge lines and requests out of order get an error or end the connection, and disturb no other command', async () => {
    await running();
    const send = async (...chunks) => {
      const socket = here.connect();
      let answer = '';
      socket.on('data', d => { answer += d; }).on('error', () => {});
      for (const chunk of chunks) socket.write(chunk);
      const closed = new Promise(resolve => socket.on('close', () => resolve('closed')));
      const end = await Promise.race([closed, until(() => answer.endsWith('\n'), 'an answer').then(() => 'answered')]);
      socket.destroy();
      return { end, answer };
    };
    const request = (method, params) => `${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })}\n`;
    for (const garbage of ['hello?\n', '[]\n', '{}\n', '{"jsonrpc":"2.0","method":"toolgate/status"}\n', '\0\xff\n', `${'['.repeat(5000)}\n`])
      assert.deepEqual(await send(garbage), { end: 'closed', answer: '' }, garbage.slice(0, 40));
    assert.match((await send(request('toolgate/status'))).answer, /"error".*toolgate\/hello/);
    assert.match((await send(request('nonsense/at-all'))).answer, /"error"/);
    const hello = request('toolgate/hello', { version: 'x', agent: 7, wait_ms: -1, result_tokens: 1e300 });
    for (const params of [undefined, {}, { mode: 'none', method: 'ping' }, { mode: 'gateway' }, { mode: 'gateway', method: 3 }]) {
      const socket = here.connect();
      let answer = '';
      socket.on('data', d => { answer += d; });
      socket.write(hello + request('toolgate/ask', params));
      await until(() => answer.split('\n').length > 2, () => `two answers: ${answer}`);
      assert.match(answer.split('\n')[1], /"error"/);
      socket.destroy();
    }
    const megabyte = 'x'.repeat(1 << 20);
    assert.equal((await send(...Array.from({ length: 81 }, () => megabyte))).end, 'closed');
    assert.equal((await here.runs('call', ...COUNT)).status, 0);
  });

  test('a command that never reads its answers uses bounded memory and disturbs no other command', async () => {
    const { program } = await running();
    const socket = here.connect();
    socket.on('error', () => {});
    const ask = (id, method, params) => `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
    socket.pause();
    socket.write(ask(0, 'toolgate/hello', { version: '1' }));
    for (let i = 1; i < 20000; i++) socket.write(ask(i, 'toolgate/definitions'));
    assert.equal((await here.runs('call', ...COUNT)).status, 0);
    const before = fs.readFileSync(`/proc/${program.pid}/statm`, 'utf8').split(' ')[1] * 4096;
    assert.equal((await here.runs('call', ...COUNT)).status, 0);
    const after = fs.readFileSync(`/proc/${program.pid}/statm`, 'utf8').split(' ')[1] * 4096;
    assert.ok(after - before < 64 << 20, `memory grew from ${before} to ${after}`);
    socket.destroy();
  });

  test('commands that ask nothing keep no other out', async (t) => {
    await running();
    const silent = Array.from({ length: 40 }, () => here.connect());
    t.after(() => silent.forEach(s => s.destroy()));
    let closed = 0;
    for (const socket of silent) socket.on('error', () => {}).on('close', () => { closed += 1; });
    await until(() => closed >= 8, () => `the end of the first ones; ${closed} ended`);
    assert.equal((await here.runs('call', ...COUNT)).status, 0);
    assert.equal((await here.json('status')).servers.length, 2);
  });

  test('many commands at once are all answered', async () => {
    await running();
    const all = await Promise.all(Array.from({ length: 12 }, () => here.runs('call', ...COUNT)));
    assert.deepEqual(all.map(r => r.status), all.map(() => 0));
  });
});

test('what a server says when it fails is shown without its secrets', async (t) => {
  const broken = { command: 'sh', args: ['-c', 'echo "Error: $SECRET_TOKEN is no key" >&2; exit 2'],
    env: { SECRET_TOKEN: 'hunter2-hunter2-hunter2' } };
  const here = place(t, { servers: { broken } });
  await here.serve();
  const find = async () => (await here.json('status')).servers.find(s => s.name === 'broken');
  await until(async () => (await find()).said, 'words of the server');
  assert.match((await find()).said, /^Error: \S+ is no key$/);
  for (const args of [['status'], ['status', '--json'], ['catalog'], ['catalog', '--fresh']]) {
    const { stdout, stderr } = await here.runs(...args);
    assert.ok(!(stdout + stderr).includes('hunter2'), `${args}: ${stdout}${stderr}`);
  }
});

test('without a gateway status, top and logs say so and end with 3', async (t) => {
  const here = place(t);
  for (const args of [['status'], ['top'], ['logs', 'notes']]) {
    const r = await here.runs(...args);
    assert.deepEqual([r.status, r.stdout], [3, ''], `${args}`);
    assert.match(r.stderr, /no gateway serves this configuration; .*toolgate serve/);
  }
});

test('status says why a server is down, in the words of its program', async (t) => {
  const here = place(t, { servers: { keyless: { command: 'sh', args: ['-c', 'echo "Error: API_KEY is missing" >&2; exit 3'] } } });
  await here.serve();
  await until(async () => /keyless +down .*\n +exited with status 3; it said: Error: API_KEY is missing\n/.test((await here.runs('status')).stdout), 'the reason');
});

test('a gateway with other files is not asked, but named', async (t) => {
  const here = place(t);
  await here.serve();
  const other = writeJson(path.join(here.dir, 'other.json'), { mcpServers: { notes: { command: quickstart('notes') } } });
  const r = await here.runs('status', '--mcp-config', other);
  assert.equal(r.status, 3);
  assert.match(r.stderr, /1 runs with other files/);
});

test('in a folder without servers, a gateway with other files is named too', async (t) => {
  const here = place(t), elsewhere = tempDir(t);
  const { program } = await here.serve();
  const runs = (...args) => runToolgate(args, { cwd: elsewhere, env: here.env });
  for (const args of [['status'], ['top', '--once'], ['logs', 'notes']]) {
    const r = await runs(...args);
    assert.equal(r.status, 3, `${args}: ${r.stderr}`);
    assert.match(r.stderr, new RegExp(`1 runs with other files \\(pid ${program.pid}\\)`));
  }
  assert.equal((await runs('browse', 'words')).status, 1, 'browse needs servers');
});

test('the socket of a gateway that was killed is removed, and commands start the servers', async (t) => {
  const here = place(t);
  const dead = new Program(toolgate(), ['serve', '--listen', '127.0.0.1:0'], { cwd: here.dir, env: gatewayEnv(here.env) });
  await dead.says(/listening/);
  await until(() => here.sockets().length === 1, 'a socket');
  await dead.stop('SIGKILL');
  assert.equal(here.sockets().length, 1);
  const before = here.starts('textkit');
  const r = await here.runs('call', ...COUNT);
  assert.equal(r.status, 0, r.stderr);
  assert.ok(here.starts('textkit') > before);
  assert.deepEqual(here.sockets(), []);
});

test('of two gateways the newer one is asked, and the other when that has ended', async (t) => {
  const here = place(t);
  const first = await here.serve(), second = await here.serve();
  const s = await here.json('status');
  assert.deepEqual([s.pid, s.other_gateways], [second.program.pid, 1]);
  await second.stop();
  assert.equal((await here.json('status')).pid, first.program.pid);
});

test('a gateway that does not answer is passed over with a line, and the command starts the servers', async (t) => {
  const here = place(t);
  const gateway = await settled(here);
  const before = here.starts('textkit');
  process.kill(gateway.program.pid, 'SIGSTOP');
  const r = await here.runs('call', ...COUNT).finally(() => process.kill(gateway.program.pid, 'SIGCONT'));
  assert.equal(r.status, 0, r.stderr);
  assert.match(r.stderr, /the gateway with pid \d+ does not answer/);
  assert.ok(here.starts('textkit') > before);
});

test('a gateway that is killed during a command ends the command with a sentence', async (t) => {
  const slow = { command: process.execPath, args: ['-e', `
    let n = 0;
    require('readline').createInterface({ input: process.stdin }).on('line', l => {
      const m = JSON.parse(l), say = result => console.log(JSON.stringify({ jsonrpc: '2.0', id: m.id, result }));
      if (m.method === 'initialize') say({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } });
      else if (m.method === 'tools/list') say({ tools: [{ name: 'hang', inputSchema: { type: 'object' } }] });
      else if (m.method === 'tools/call') process.stderr.write('called\\n');
    });`], protocol: 'legacy' };
  const here = place(t, { servers: { slow } });
  const gateway = new Program(toolgate(), ['serve', '--listen', '127.0.0.1:0'], { cwd: here.dir, env: gatewayEnv(here.env) });
  onEnd(t, () => gateway.stop('SIGKILL'));
  await gateway.says(/slow: ready/);
  const call = here.runs('call', 'slow:hang', '{}');
  await gateway.says(/slow: called/);
  gateway.child.kill('SIGKILL');
  const r = await call;
  assert.notEqual(r.status, 0);
  assert.match(r.stderr, /the gateway ended before it answered/);
});

test('another user is turned away, even if that user may open the folder', { skip: process.getuid() !== 0 && 'needs root' }, async (t) => {
  const here = place(t);
  const gateway = await here.serve();
  const folder = path.join(here.dir, 'state/toolgate');
  const socket = path.join(folder, here.sockets()[0]);
  const parent = path.dirname(here.dir);
  if (!(fs.statSync(parent).mode & 1)) fs.chmodSync(parent, 0o711);
  for (const p of [here.dir, path.join(here.dir, 'state'), folder]) fs.chmodSync(p, 0o755);
  fs.chmodSync(socket, 0o666);
  const script = `const s = require('net').connect(${JSON.stringify(socket)});
    s.write('{"jsonrpc":"2.0","id":1,"method":"toolgate/hello","params":{"version":"1"}}\\n');
    let got = ''; s.on('data', d => { got += d; }).on('error', e => { console.error(e.message); }).on('close', () => { console.log(JSON.stringify(got)); });`;
  const child = spawn('setpriv', ['--reuid', '65534', '--regid', '65534', '--clear-groups', process.execPath, '-e', script],
    { stdio: ['ignore', 'pipe', 'inherit'], cwd: '/' });
  let said = '';
  child.stdout.on('data', d => { said += d; });
  await once(child, 'close');
  assert.equal(said.trim(), '""');
  await gateway.program.says(/another user/);
});

test('a gateway of another version is named, and not asked', async (t) => {
  const here = place(t);
  const gateway = await here.serve();
  const [name] = here.sockets();
  await gateway.stop();
  const fake = net.createServer(s => s.on('error', () => {}).on('data', () => {
    s.write('{"jsonrpc":"2.0","id":1,"result":{"version":"9.9.9","pid":1}}\n');
  }));
  onEnd(t, () => fake.close());
  fake.listen(path.join(here.dir, 'state/toolgate', name.replace(/-\d+\.sock$/, `-${process.pid}.sock`)));
  await once(fake, 'listening');
  for (const args of [['status'], ['browse', 'words'], ['catalog'], ['view', 'x']]) {
    const r = await here.runs(...args);
    assert.equal(r.status, 3, `${args}`);
    assert.match(r.stderr, /version 9\.9\.9 and this command is version/);
  }
  assert.equal((await here.runs('call', ...COUNT, '--fresh')).status, 0);
});

test('rules hold for an agent as in a fresh start, and not for the operator', async (t) => {
  const here = place(t);
  writeJson(path.join(here.dir, '.mcp-gateway-rules.json'), {
    agents: { clerk: { allow: { servers: ['notes'], tools: { notes: ['*'] } } } },
    defaults: { deny_on_missing_agent: true },
  });
  await settled(here);
  const paths = async (...args) =>
    [...(await here.runs('browse', '--path', '/', ...args)).stdout.matchAll(/^\[\d+\/\d+\] (\S+)/gm)].map(m => m[1]);
  assert.deepEqual(await paths(), ['/notes', '/textkit']);
  assert.deepEqual(await paths('--agent', 'clerk'), ['/notes']);
  assert.equal((await here.runs('call', ...COUNT, '--agent', 'clerk')).status, 1);
  assert.equal((await here.runs('call', ...COUNT)).status, 0);
});

test('what was cut can be viewed while the gateway runs, without a state folder too', async (t) => {
  const here = place(t, { config: { state_dir: 'none', result: { budget: 200 } } });
  const runtime = { XDG_RUNTIME_DIR: here.dir };
  const all = JSON.parse(fs.readFileSync(path.join(here.dir, '.mcp.json'), 'utf8')).mcpServers;
  await startGateway(t, { servers: all, config: { ...PATIENT, state_dir: 'none', result: { budget: 200 } }, mode: 'gateway', dir: here.dir, env: { ...here.env, ...runtime } });
  const runs = (...args) => runToolgate(args, { cwd: here.dir, env: { ...here.env, ...runtime } });
  const text = Array.from({ length: 2000 }, (_, i) => `word${i}`).join(' ');
  const encoded = await runs('call', 'textkit:base64_encode', JSON.stringify({ text }));
  assert.equal(encoded.status, 0, encoded.stderr);
  const [, handle] = /^toolgate view '([^']+)'/m.exec(encoded.stdout) ?? assert.fail(encoded.stdout);
  const seen = await runs('view', handle, '{"type":"head","start":0,"chars":12}');
  assert.equal(seen.status, 0, seen.stderr);
  assert.match(seen.stdout, new RegExp(`^${Buffer.from(text).toString('base64').slice(0, 12)}`));
  const whole = JSON.parse((await runs('view', handle, '--json')).stdout);
  assert.deepEqual([whole.handle, typeof whole.size, typeof whole.text], [handle, 'number', 'string']);
  const wrong = await runs('view', `${handle}x`);
  assert.equal(wrong.status, 1);
  assert.match(wrong.stderr, /^VIEW_FAILED: /);
});

test('a gateway that takes over other files is found by them', async (t) => {
  const here = place(t, { config: { mcp_config: 'a.json' } });
  const servers = { textkit: { command: quickstart('textkit') } };
  writeJson(path.join(here.dir, 'a.json'), { mcpServers: servers });
  writeJson(path.join(here.dir, 'b.json'), { mcpServers: { ...servers, notes: { command: quickstart('notes') } } });
  const gateway = new Program(toolgate(), ['serve', '--listen', '127.0.0.1:0'], { cwd: here.dir, env: gatewayEnv(here.env) });
  onEnd(t, () => gateway.stop());
  await gateway.says(/listening/);
  assert.deepEqual((await here.json('status')).servers.map(s => s.name), ['textkit']);
  writeJson(path.join(here.dir, 'toolgate.json'), { ...PATIENT, mcp_config: 'b.json' });
  await gateway.says(/reload: applied/);
  assert.deepEqual((await here.json('status')).servers.map(s => s.name).sort(), ['notes', 'textkit']);
  assert.equal(here.sockets().length, 1);
});

describe('a gateway that runs is asked although its files on disk are wrong', () => {
  const servers = { textkit: { command: quickstart('textkit') } };
  const RULES = '.mcp-gateway-rules.json';
  const commands = [['status'], ['top'], ['logs', 'textkit'], ['browse', 'words'], ['call', ...COUNT], ['catalog']];

  /** A gateway in a folder, whose .mcp.json, rules and configuration file are there unless `config` names others. */
  async function start(t, config = {}) {
    const here = place(t), file = name => path.join(here.dir, name);
    for (const name of ['.mcp.json', 'other.json']) writeJson(file(name), { mcpServers: servers });
    writeJson(file(RULES), { agents: { clerk: { allow: { servers: ['textkit'] } } } });
    writeJson(file('toolgate.json'), { ...PATIENT, reload: 'off', ...config });
    const gateway = new Program(toolgate(), ['serve', '--listen', '127.0.0.1:0'], { cwd: here.dir, env: gatewayEnv(here.env) });
    onEnd(t, () => gateway.stop());
    await gateway.says(/listening/);
    return { here, file, gateway };
  }
  async function asks(here, wrong) {
    for (const args of commands) {
      const r = await here.runs(...args);
      assert.equal(r.status, 0, `${args}: ${r.stderr}`);
      assert.match(r.stderr, new RegExp(`${wrong}[^]*using the running gateway`), `${args}`);
    }
  }

  for (const [name, text] of [
    [RULES, '{"agents": {"clerk": {"denny": {}}}}'],
    ['.mcp.json', '{"mcpServers": {'],
    ['toolgate.json', '{"port": "many"}'],
    ['toolgate.json', '{'],
  ])
    test(`${name} is ${text}`, async (t) => {
      const { here, file } = await start(t);
      fs.writeFileSync(file(name), text);
      await asks(here, name.replaceAll('.', '\\.'));
    });

  test('a configuration file that cannot be parsed named the servers', async (t) => {
    const { here, file } = await start(t, { mcp_config: 'other.json' });
    fs.writeFileSync(file('toolgate.json'), '{');
    await asks(here, 'toolgate\\.json');
    assert.match(JSON.parse((await here.runs('status', '--json')).stdout).files.servers, /other\.json$/);
  });

  test('but not with a wrong command line, and nothing is started without a gateway', async (t) => {
    const { here, file, gateway } = await start(t);
    const r = await here.runs('status', '--agent', 'clerk');
    assert.equal(r.status, 2);
    fs.writeFileSync(file(RULES), '{');
    await gateway.stop();
    for (const args of commands) {
      const refused = await here.runs(...args);
      assert.equal(refused.status, 1, `${args}: ${refused.stderr}`);
      assert.doesNotMatch(refused.stderr, /asking/);
    }
  });
});

test('a command that reports the failure of a server says where its log is', async (t) => {
  const dir = tempDir(t), stop = path.join(dir, 'stop');
  const flaky = { command: 'sh', args: ['-c', `test -e '${stop}' || exec '${quickstart('textkit')}'; echo "Error: no disk" >&2; exit 3`] };
  const here = place(t, { servers: { flaky } });
  await settled(here);
  fs.writeFileSync(stop, '');
  process.kill((await here.json('status')).servers.find(s => s.name === 'flaky').pids[0], 'SIGKILL');
  const call = (...args) => here.runs('call', 'flaky:word_count', '{"text": "a"}', ...args);
  await until(async () => /server "flaky" .*exited with status 3/.test((await call()).stderr), 'the failure');
  assert.match((await call()).stderr, /^toolgate: its last output: toolgate logs flaky$/m);
  assert.match((await here.runs('logs', 'flaky')).stdout, /Error: no disk/);
});

test('one line tells of all servers that are starting', async (t) => {
  const slow = name => ({ command: 'sh', args: ['-c', `sleep 4; exec '${quickstart(name)}'`], protocol: 'legacy' });
  const here = place(t, { servers: { slow1: slow('textkit'), slow2: slow('textkit'), slow3: slow('textkit') } });
  const r = await here.runs('catalog');
  assert.equal(r.status, 0, r.stderr);
  const lines = r.stderr.trim().split('\n');
  assert.equal(lines.length, 1, r.stderr);
  assert.match(lines[0], /^toolgate: starting 5 servers: \d ready, waiting for slow1, slow2, slow3$/);
});

describe('on a terminal', { skip: !fs.existsSync('/usr/bin/script') && 'needs script(1)' }, () => {
  /** Runs a command with a terminal of its own: `{ text, type, closed }`. */
  function terminal(t, here, ...args) {
    const command = [toolgate(), ...args].map(a => `'${a}'`).join(' ');
    const child = spawn('script', ['-qec', command, '/dev/null'],
      { cwd: here.dir, env: gatewayEnv({ ...here.env, TERM: 'xterm' }), stdio: ['pipe', 'pipe', 'inherit'] });
    const it = { text: '', type: keys => child.stdin.write(keys), closed: once(child, 'close').then(([code]) => code) };
    child.stdout.on('data', d => { it.text += d; });
    onEnd(t, () => child.kill('SIGKILL'));
    return it;
  }

  test('top goes on until q', async (t) => {
    const here = place(t);
    await here.serve();
    for (const key of ['q', '\x03']) {
      const top = terminal(t, here, 'top');
      await until(() => top.text.split('calls/s').length > 2, () => `two tables: ${top.text}`);
      top.type(key);
      assert.equal(await top.closed, 0, top.text);
    }
  });

  test('the line about starting servers is replaced in place, and gone in the end', async (t) => {
    const here = place(t, { servers: { slow: { command: 'sh', args: ['-c', `sleep 4; exec '${quickstart('notes')}'`], protocol: 'legacy' } } });
    const catalog = terminal(t, here, 'catalog');
    assert.equal(await catalog.closed, 0, catalog.text);
    const shown = catalog.text.match(/\r\x1b\[Ktoolgate: starting 3 servers: 2 ready, waiting for slow\r/g);
    assert.ok(shown.length > 1, JSON.stringify(catalog.text));
    assert.match(catalog.text, /\r\x1b\[K(?!toolgate: starting)[^]*slow: 5 tools/);
  });
});

describe('a client that can be asked has the servers', () => {
  const CAPABILITIES = { roots: {}, elicitation: {}, sampling: {} };
  const execute = (client, [tool_id, args]) =>
    client.callTool({ name: 'tool_execute', arguments: { tool_id, args: JSON.parse(args) } });

  /** What commands find and call does not start a server again. */
  async function asksWithoutStarts(here) {
    const before = [here.starts('notes'), here.starts('textkit')];
    for (const args of [['browse', 'count words'], ['catalog'], ['stats']]) {
      const r = await here.runs(...args);
      assert.deepEqual([r.status, r.stderr], [0, ''], `${args}`);
    }
    assert.deepEqual([here.starts('notes'), here.starts('textkit')], before);
  }

  test('over HTTP: commands use what was opened ahead, and leave it to the client', async (t) => {
    const here = place(t);
    const connect = async ({ url }) => {
      const client = new Client({ name: 'askable', version: '1' }, { capabilities: CAPABILITIES });
      await client.connect(new StreamableHTTPClientTransport(new URL(url)));
      return client;
    };
    const first = await settled(here);
    const client = await connect(first);
    assert.ok(!(await execute(client, COUNT)).isError);
    await client.close();
    await first.stop();
    // The next gateway opens its servers with the capabilities of that client.
    const second = await settled(here);
    const before = here.starts('textkit');
    await asksWithoutStarts(here);
    assert.equal((await here.runs('call', ...COUNT)).status, 0);
    const again = await connect(second);
    assert.ok(!(await execute(again, COUNT)).isError);
    assert.equal(here.starts('textkit'), before);
    await again.close();
  });

  test('on stdio', async (t) => {
    const here = place(t);
    const { command, args, env, cwd } = stdioGateway(t, { servers: here.servers, config: PATIENT, mode: 'gateway', dir: here.dir, env: here.env });
    const client = new Client({ name: 'askable', version: '1' }, { capabilities: CAPABILITIES });
    await client.connect(new StdioClientTransport({ command, args, env, cwd, stderr: 'ignore' }));
    onEnd(t, () => client.close());
    await until(async () => (await here.json('status')).servers.every(s => s.state === 'ready'), 'ready servers');
    assert.ok(!(await execute(client, COUNT)).isError);
    const s = await here.json('status');
    assert.deepEqual([s.transport, s.clients.map(c => c.name)], ['stdio', ['askable']]);
    await asksWithoutStarts(here);
  });
});

/** A shell line that becomes the server of the quickstart once the file `go` is there. */
const whenAllowed = go => `while [ ! -e '${go}' ]; do sleep 0.1 </dev/null >/dev/null; done; exec '${quickstart('notes')}'`;

test('a server whose launcher installs it is shown as such, and commands do not wait for it', async (t) => {
  const bin = tempDir(t), go = path.join(bin, 'go');
  fs.writeFileSync(path.join(bin, 'npx'), `#!/bin/sh\n${whenAllowed(go)}\n`, { mode: 0o755 });
  const here = place(t, { servers: { slow: { command: 'npx', args: ['-y', 'slow-server'], env: { PATH: `${bin}:${process.env.PATH}` } } } });
  await here.serve();
  const slow = async () => (await here.json('status')).servers.find(s => s.name === 'slow');
  const installing = await until(async () => {
    const s = await slow();
    return s.state === 'installing' && s;
  }, 'an installation');
  assert.match(installing.progress, /^installing, \d+ s$/);
  assert.equal((await here.runs('catalog')).status, 1);
  fs.writeFileSync(go, '');
  await until(async () => (await slow()).state === 'ready', 'a ready server');
  const r = await here.runs('catalog');
  assert.equal(r.status, 0, r.stderr);
  assert.match(r.stdout, /^slow: 5 tools/m);
});

test('a command waits for a server that is starting, and says so', async (t) => {
  const go = path.join(tempDir(t), 'go');
  const here = place(t, { servers: { slow: { command: 'sh', args: ['-c', whenAllowed(go)] } } });
  const { program } = await here.serve();
  for (const name of ['notes', 'textkit']) await program.says(new RegExp(`${name}: ready`));
  const catalog = here.runs('catalog');
  await delay(2500);  // what is tested is time itself: a command that waits reports progress after a second
  fs.writeFileSync(go, '');
  const r = await catalog;
  assert.equal(r.status, 0, r.stderr);
  assert.match(r.stdout, /^slow: 5 tools/m);
  assert.match(r.stderr, /^toolgate: starting 3 servers: 2 ready, waiting for slow\n$/);
});
