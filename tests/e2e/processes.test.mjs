// SPDX-License-Identifier: Apache-2.0
// What upstream processes and the gateway's own process can do wrong, and what a client sees of it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import { test } from 'node:test';

import { descendants, guardOf } from './lib/process.mjs';
import {
  alive,
  deferred,
  HttpClient,
  onEnd,
  Raw,
  SseClient,
  startGateway,
  StdioClient,
  until,
  within,
} from './lib/raw.mjs';
import { makeUpstream } from './servers/features.mjs';

const MB = 1024 * 1024;

// A gateway with a well-behaved server `good` and the one under test, `bad`, both on stdio; and a client.
async function setup(t, { bad = {}, config, servers = {}, wait = true } = {}) {
  const upstreams = {
    good: await makeUpstream('stdio', 'good'),
    bad: await makeUpstream('stdio', 'bad', bad),
    ...servers,
  };
  const gateway = await startGateway(t, { servers: upstreams, config });
  const client = new HttpClient(gateway.url);
  onEnd(t, () => client.close());
  await client.initialize();
  if (wait) await client.tools();
  return { ...upstreams, gateway, client };
}

const names = async (client) => (await client.tools()).map((x) => x.name);
const calls = (tool) => (e) => e.msg?.method === 'tools/call' && e.msg.params.name === tool;

async function assertGoodWorks(client) {
  assert.deepEqual((await client.call('good_echo', { a: 1 })).structuredContent.got, { a: 1 });
}

// The process may be starting again, after a pause: asks until it is there.
const works = (client, tool = 'bad_echo') =>
  until(
    async () => !(await client.request('tools/call', { name: tool, arguments: {} })).error,
    `${tool} works again`,
    30_000,
  );

function assertUnavailable(answer) {
  assert.equal(answer.error?.data?.error, 'UPSTREAM_UNAVAILABLE', JSON.stringify(answer.msg));
  assert.equal(answer.error.data.retryable, true);
}

test('a server killed in the middle of a call fails that call, keeps its tools, and is started again', async (t) => {
  const { bad, client } = await setup(t);
  const answer = client.request('tools/call', { name: 'bad_hold', arguments: {} });
  const { peer } = await bad.next(calls('bad_hold'), 'hold');
  process.kill(peer.pid, 'SIGKILL');
  assertUnavailable(await answer);
  assert.ok((await names(client)).includes('bad_hold'));
  await assertGoodWorks(client);
  await works(client);
  const again = await bad.next((e) => calls('bad_echo')(e) && e.peer !== peer, 'a call in the new process');
  assert.notEqual(again.peer.pid, peer.pid);
});

test('a server that is killed again and again is started again each time', async (t) => {
  const { bad, client } = await setup(t);
  for (let i = 0; i < 3; i++) {
    await works(client);
    const { peer } = await bad.next(calls('bad_echo'), 'echo');
    process.kill(peer.pid, 'SIGKILL');
    await within(peer.closed.promise, 'its end');
  }
  await works(client);
});

test('a server that dies after half a message fails the call', async (t) => {
  const { bad, client } = await setup(t);
  const answer = client.request('tools/call', { name: 'bad_hold', arguments: {} });
  const { msg, peer } = await bad.next(calls('bad_hold'), 'hold');
  peer.write(`{"jsonrpc":"2.0","id":${JSON.stringify(msg.id)},"result":{"content":[`);
  peer.socket.end();
  assertUnavailable(await answer);
  await works(client);
});

test('a server that closes its stdin fails calls, not the gateway', async (t) => {
  const { bad, client, gateway } = await setup(t, { bad: { entry: { timeout: 1000 } } });
  await works(client);
  const { peer } = await bad.next(calls('bad_echo'), 'echo');
  process.kill(peer.pid, 'SIGUSR2');
  // What is written just before the pipe closes gets no answer in time; after that, writing fails.
  const failed = await until(async () => {
    const answer = client.request('tools/call', { name: 'bad_echo', arguments: {} });
    const { error } = await Promise.race([answer, gateway.exited.then(() => assert.fail('the gateway ended'))]);
    return error && error.data?.error !== 'UPSTREAM_TIMEOUT' && { error };
  }, 'a failed call');
  assertUnavailable(failed);
  await assertGoodWorks(client);
  await works(client);
});

test('a server that does not read its stdin fails its calls instead of filling the memory', async (t) => {
  const { bad, client, gateway } = await setup(t);
  await works(client);
  const { peer } = await bad.next(calls('bad_echo'), 'echo');
  peer.socket.pause();
  const eager = await new SseClient(gateway.url).connect(); // need not wait for one answer before the next call
  onEnd(t, () => eager.close());
  const before = gateway.rssKb();
  const pad = 'x'.repeat(MB);
  let peak = 0;
  for (let i = 0; i < 250; i++) {
    eager.request('tools/call', { name: 'bad_hold', arguments: { pad } }, { rawId: `"${i}"` }).catch(() => {});
    await eager.ask('ping');
    peak = Math.max(peak, gateway.rssKb() - before);
    if (peer.socket.destroyed) break;
  }
  t.diagnostic(`memory grew by ${peak} KB at most`);
  assert.ok(peak < 180 * 1024, `${peak} KB`);
  await assertGoodWorks(client);
  peer.socket.destroy();
  await works(client);
});

test('a server that writes an endless line uses bounded memory and does not disturb other servers', async (t) => {
  const { bad, client, gateway } = await setup(t, { config: { limits: { message: 4 * MB } } });
  await works(client);
  const before = gateway.rssKb();
  const answer = client.request('tools/call', { name: 'bad_hold', arguments: {} }, { ms: 60_000 });
  const { peer } = await bad.next(calls('bad_hold'), 'hold');
  const chunk = Buffer.alloc(256 * 1024, 'x');
  let peak = 0;
  for (let sent = 0; sent < 128 * MB && !peer.socket.destroyed; sent += chunk.length) {
    if (!peer.write(chunk))
      await Promise.race([new Promise((resolve) => peer.socket.once('drain', resolve)), peer.closed.promise]);
    peak = Math.max(peak, gateway.rssKb() - before);
  }
  await assertGoodWorks(client);
  t.diagnostic(`memory grew by ${peak} KB at most`);
  assert.ok(peak < 48 * 1024, `${peak} KB`);
  peer.socket.destroy();
  assert.ok((await answer).error, 'the call fails');
  await works(client);
});

test('a message over the limit fails its call, one below passes', async (t) => {
  const { bad, client } = await setup(t, { config: { limits: { message: MB } } });
  bad.on('tools/call', ({ arguments: { size } }) => ({ content: [{ type: 'text', text: 'x'.repeat(size) }] }));
  assert.equal((await client.call('bad_echo', { size: MB - 4096 })).content[0].text.length, MB - 4096);
  assert.ok((await client.request('tools/call', { name: 'bad_echo', arguments: { size: 2 * MB } })).error);
  await assertGoodWorks(client);
});

test('lines that are no messages, banners and answers to nothing are passed over', async (t) => {
  const { bad, client, gateway } = await setup(t, { bad: { flags: ['--banner', 'Welcome!\n\n*** v1 ***\r\n'] } });
  await works(client);
  const answer = client.request('tools/call', { name: 'bad_hold', arguments: {} });
  const { msg, peer } = await bad.next(calls('bad_hold'), 'hold');
  const id = JSON.stringify(msg.id);
  peer.write('not json at all\n{"jsonrpc":"2.0",\n\n   \n[]\n42\n"text"\nnull\n{}\n{"id":1}\n');
  peer.write(Buffer.from([0xff, 0xfe, 0x00, 0x0a]));
  peer.write('{"jsonrpc":"2.0","id":"never asked","result":{}}\n');
  peer.write('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}\n');
  peer.write('{"jsonrpc":"2.0","method":"notifications/unheard_of","params":{}}\n');
  peer.write('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"nobody","progress":1}}\n');
  peer.write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"at last"}]}}\r\n`);
  assert.equal((await answer).result?.content[0].text, 'at last');
  assert.match(gateway.log, /bad.*JSON|JSON.*bad/i, 'the log says which server wrote what is no JSON');
});

test('a second answer to the same request is dropped', async (t) => {
  const { bad, client } = await setup(t);
  const answer = client.request('tools/call', { name: 'bad_hold', arguments: {} });
  const { msg, peer } = await bad.next(calls('bad_hold'), 'hold');
  peer.transmit(`{"jsonrpc":"2.0","id":${JSON.stringify(msg.id)},"result":{"content":[]}}`);
  peer.transmit(`{"jsonrpc":"2.0","id":${JSON.stringify(msg.id)},"result":{"content":[],"isError":true}}`);
  assert.deepEqual((await answer).result, { content: [] });
  await works(client);
  assert.equal(client.inbox.entries.length, 0);
});

test('noise on stderr is drained', async (t) => {
  const { client } = await setup(t, { bad: { flags: ['--noise', String(4 * MB)] } });
  await works(client);
});

test('servers that cannot start leave the others listed', async (t) => {
  const mute = await makeUpstream('stdio', 'mute');
  mute.on('initialize', () => undefined);
  const servers = {
    leaves: await makeUpstream('stdio', 'leaves', { flags: ['--exit', '3'] }),
    missing: { command: 'no-such-program-anywhere', args: [] },
    nodir: { command: 'true', cwd: '/nonexistent' },
    refused: { type: 'http', url: 'http://127.0.0.1:9/mcp' },
    mute,
  };
  const config = { timeouts: { start: 30, start_wait: 1 } };
  const { client, gateway } = await setup(t, { servers, config, wait: false });
  const from = Date.now();
  const listed = await names(client);
  const took = Date.now() - from;
  t.diagnostic(`listed in ${took} ms`);
  assert.ok(listed.includes('good_echo'));
  assert.ok(!listed.some((n) => n.startsWith('mute') || n.startsWith('leaves')));
  assert.ok(took < 4000, `${took} ms for start_wait of 1 s`);
  await assertGoodWorks(client);
  for (const name of ['leaves', 'missing', 'nodir', 'refused'])
    assert.match(gateway.log, new RegExp(name), `the log names ${name}`);
});

test('a call to a server that is still starting waits for it', async (t) => {
  const good = await makeUpstream('stdio', 'good');
  const gateway = await startGateway(t, { servers: { good } });
  const client = new HttpClient(gateway.url);
  onEnd(t, () => client.close());
  await client.initialize();
  // As a client does that knows the tools from before the gateway was started again.
  await assertGoodWorks(client);
});

test('a server that comes late is announced', async (t) => {
  const late = await makeUpstream('stdio', 'late');
  const answer = late.handlers.get('initialize');
  const gate = deferred();
  late.on('initialize', async (params, entry) => {
    await gate.promise;
    return answer(params, entry);
  });
  const { client } = await setup(t, { servers: { late }, config: { timeouts: { start: 30, start_wait: 1 } } });
  await client.listen();
  assert.ok(!(await names(client)).includes('late_echo'));
  gate.resolve();
  do await client.next('notifications/tools/list_changed');
  while (!(await names(client)).includes('late_echo'));
  assert.ok((await client.call('late_echo')).content);
});

test('kill -9 of the gateway ends all server processes, even detached ones', async (t) => {
  const { bad, good, gateway } = await setup(t, { bad: { flags: ['--grandchildren'] } });
  const { connected } = await bad.next((e) => e.connected, 'process');
  const other = await good.next((e) => e.connected, 'process');
  const pids = [connected.pid, other.connected.pid, ...connected.hello.grandchildren];
  assert.equal(pids.length, 5);
  assert.ok(pids.every(alive));
  await gateway.kill();
  await until(
    () => !pids.some(alive),
    () => `the end of ${pids.filter(alive)} of ${pids}`,
    8000,
  );
});

test('SIGTERM ends every process below the gateway', async (t) => {
  const { bad, gateway } = await setup(t, { bad: { flags: ['--grandchildren'] } });
  const { connected } = await bad.next((e) => e.connected, 'process');
  const pids = [connected.pid, ...connected.hello.grandchildren];
  assert.equal((await gateway.stop()).code, 0);
  await until(
    () => !pids.some(alive),
    () => `the end of ${pids.filter(alive)} of ${pids}`,
    8000,
  );
});

test('of the processes of a gateway only its own is named toolgate, which is the one that pkill -x signals', async (t) => {
  const { gateway } = await setup(t);
  const named = (pid) => fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  const below = descendants(gateway.pid).map(({ pid }) => named(pid));
  assert.ok(below.includes('tg-guard'), `${below}`);
  assert.ok(!below.includes('toolgate'), `${below}`);
  assert.equal(named(gateway.pid), 'toolgate');
});

for (const transport of ['http', 'stdio']) {
  test(`a gateway whose guard is killed answers the calls in flight and exits with 3 (${transport})`, async (t) => {
    const bad = await makeUpstream('stdio', 'bad', { flags: ['--grandchildren'] });
    const gateway = await startGateway(t, { servers: { bad }, transport });
    gateway.killed = true; // its status is looked at here
    const client = transport === 'http' ? new HttpClient(gateway.url) : new StdioClient(gateway);
    await client.initialize();
    await client.tools();
    const answer = client.request('tools/call', { name: 'bad_hold', arguments: {} });
    const { connected } = await bad.next((e) => e.connected, 'process');
    await bad.next(calls('bad_hold'), 'hold');
    const below = descendants(gateway.pid);
    process.kill(guardOf(gateway.pid), 'SIGKILL');
    assertUnavailable(await answer);
    assert.deepEqual(await within(gateway.exited, 'the end of the gateway'), { code: 3, signal: null });
    assert.match(gateway.log, /^\S+ error .*guard/m);
    const pids = [...below.map(({ pid }) => pid), ...connected.hello.grandchildren];
    await until(() => !pids.some(alive), () => `the end of ${pids.filter(alive)}`, 8000);
  });
}

test('a server that is killed takes its own children along', async (t) => {
  const { bad } = await setup(t, { bad: { flags: ['--grandchildren'] } });
  const { connected } = await bad.next((e) => e.connected, 'process');
  process.kill(connected.pid, 'SIGKILL');
  await until(() => !connected.hello.grandchildren.some(alive), 'the end of its children', 8000);
});

const refused = (port) =>
  new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.on('connect', () => socket.destroy());
    socket.on('error', () => resolve(true));
    socket.on('close', () => resolve(false));
  });

test('SIGTERM waits for the answers to every call that was taken', async (t) => {
  const { bad, gateway, client } = await setup(t, { config: { timeouts: { drain: 10 } } });
  const other = await new SseClient(gateway.url).connect();
  onEnd(t, () => other.close());
  const answers = [];
  for (let i = 0; i < 50; i++) {
    for (const c of [client, other]) answers.push(c.request('tools/call', { name: 'bad_hold', arguments: { i } }));
  }
  const taken = [];
  for (let i = 0; i < answers.length; i++) taken.push(await bad.next(calls('bad_hold'), 'hold'));
  const { port } = gateway;
  gateway.child.kill('SIGTERM');
  await until(() => refused(port), 'the listener to close');
  for (const { msg, peer } of taken) {
    peer.transmit(
      `{"jsonrpc":"2.0","id":${JSON.stringify(msg.id)},"result":{"content":[],"i":${msg.params.arguments.i}}}`,
    );
  }
  const got = await Promise.all(answers);
  got.forEach((a, n) => assert.deepEqual(a.result, { content: [], i: n >> 1 }, JSON.stringify(a.msg)));
  const end = await within(gateway.exited, 'the end, once there is nothing left to wait for', 5000);
  assert.deepEqual(end, { code: 0, signal: null });
});

test('SIGTERM under load loses no request that was written before', async (t) => {
  const { gateway, client } = await setup(t);
  await works(client);
  let stopping = false;
  const lost = [];
  let answered = 0;
  const worker = async () => {
    const own = new HttpClient(gateway.url, { maxSockets: 1 });
    await own.initialize();
    for (let i = 0; !stopping; i++) {
      const name = i % 2 ? 'good_delay' : 'good_echo';
      await own.request('tools/call', { name, arguments: { ms: i % 15, nonce: 'n' } }).then(
        (a) => (a.result ? answered++ : lost.push(a.msg)),
        (e) => lost.push(e.message),
      );
    }
    own.agent.destroy();
  };
  const workers = Array.from({ length: 16 }, worker);
  await until(() => answered > 300, 'load');
  stopping = true; // every worker is inside a request that it has written
  gateway.child.kill('SIGTERM');
  await Promise.all(workers);
  assert.deepEqual(lost, []);
  assert.deepEqual(await within(gateway.exited, 'the end'), { code: 0, signal: null });
});

test('SIGTERM does not wait for ever', async (t) => {
  const { bad, gateway, client } = await setup(t, { config: { timeouts: { drain: 1 } } });
  const answer = client.request('tools/call', { name: 'bad_hold', arguments: {} });
  answer.catch(() => {});
  await bad.next(calls('bad_hold'), 'hold');
  gateway.child.kill('SIGTERM');
  assert.equal((await within(gateway.exited, 'the end', 6000)).code, 0);
});

for (const how of ['HTTP', 'stdio', 'SSE']) {
  test(`a client that goes away in the middle of a call cancels it (${how})`, async (t) => {
    const good = await makeUpstream('stdio', 'good');
    const config = { timeouts: { drain: 1 } };
    const gateway = await startGateway(t, { servers: { good }, config, transport: how === 'stdio' ? 'stdio' : 'http' });
    const options = { rev: '2025-06-18' };
    const make = { HTTP: HttpClient, stdio: StdioClient, SSE: SseClient }[how];
    const client = new make(how === 'stdio' ? gateway : gateway.url, options);
    await (how === 'SSE' ? client.connect() : client.initialize());
    await client.tools();
    client.request('tools/call', { name: 'good_hold', arguments: {} }).catch(() => {});
    const { msg, peer } = await good.next(calls('good_hold'), 'hold');
    if (how === 'HTTP') client.agent.destroy();
    else if (how === 'SSE') client.stream.close();
    else gateway.child.stdin.end();
    const cancelled = good.next('notifications/cancelled').then((e) => e.msg.params.requestId);
    // On stdio the gateway ends with its client, and the connection to the server with it.
    const end = how === 'stdio' ? peer.closed.promise.then(() => msg.id) : new Promise(() => {});
    assert.deepEqual(await Promise.race([cancelled, end]), msg.id);
    cancelled.catch(() => {});
    if (how === 'stdio') assert.equal((await within(gateway.exited, 'the end of the gateway')).code, 0);
    client.abandon('3');
  });
}

test('on stdio, what was asked before the end of input is answered', async (t) => {
  const good = await makeUpstream('stdio', 'good');
  const gateway = await startGateway(t, { servers: { good }, transport: 'stdio' });
  const client = await new StdioClient(gateway).connect();
  await client.tools();
  const answer = client.request('tools/call', { name: 'good_delay', arguments: { ms: 50, nonce: 'n' } });
  gateway.child.stdin.end();
  assert.ok((await answer).result);
  assert.equal((await within(gateway.exited, 'the end')).code, 0);
});

// ---- a client that can be asked has connections of its own, which end with it

for (const [what, leave] of [
  ['DELETE', (client) => client.delete()],
  ['the end of its stream', (client) => client.stream.close()],
]) {
  test(`processes and sessions that belong to one client end with it (${what})`, async (t) => {
    const servers = {};
    for (const transport of ['stdio', 'http', 'sse']) servers[transport] = await makeUpstream(transport, transport);
    const gateway = await startGateway(t, { servers });
    const shared = new HttpClient(gateway.url);
    onEnd(t, () => shared.close());
    await shared.initialize();
    await shared.tools();
    for (const name of Object.keys(servers)) await shared.call(`${name}_echo`);
    const before = Object.values(servers).map((up) => up.connections.length);
    for (let round = 0; round < 3; round++) {
      const make = what === 'DELETE' ? HttpClient : SseClient;
      const client = new make(gateway.url, { capabilities: { roots: {} } });
      onEnd(t, () => client.close());
      await client.connect();
      await client.tools();
      for (const name of Object.keys(servers)) await client.call(`${name}_echo`);
      const own = Object.values(servers).map((up) => up.connections.length);
      own.forEach((n, i) => assert.ok(n > before[i], 'it has connections of its own'));
      await leave(client);
      const left = () => Object.values(servers).map((up) => up.connections.length);
      await until(
        () => left().every((n, i) => n <= before[i]),
        () => `an end of its connections: ${left()} of ${before}`,
      );
    }
    for (const name of Object.keys(servers)) assert.ok((await shared.call(`${name}_echo`)).content);
  });
}

test('DELETE in the middle of a call cancels it', async (t) => {
  const { bad, client } = await setup(t);
  client.request('tools/call', { name: 'bad_hold', arguments: {} }, { rawId: '"gone"' }).catch(() => {});
  const { msg } = await bad.next(calls('bad_hold'), 'hold');
  assert.equal((await client.delete()).status, 200);
  client.session = undefined;
  assert.equal((await bad.next('notifications/cancelled')).msg.params.requestId, msg.id);
  client.abandon('"gone"');
});

// ---- answers of the wrong shape

const LISTS = ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'];
const SHAPES = [
  'null',
  '[]',
  '{}',
  '1',
  '"x"',
  '{"tools":null,"resources":{},"prompts":"x","resourceTemplates":1}',
  '{"tools":[null,1,"x",[],{}],"resources":[null,{}],"prompts":[{}],"resourceTemplates":[{"uriTemplate":"{"}]}',
  '{"tools":[{"name":1},{"name":"bad_k"},{"name":"bad_k"},{"name":"bad_x","inputSchema":0}],"nextCursor":1}',
  '{"tools":[{"name":"bad_\\u0000"},{"name":"\\ud83d\\ude00"}],"nextCursor":null}',
  '{"tools":[],"resources":[{"uri":""},{"uri":"x"},{"uri":1}],"prompts":[{"name":"\\n"}]}',
];

test('a server that lists nonsense harms nobody else', async (t) => {
  const { bad, client, gateway } = await setup(t);
  const from = bad.connections[0];
  for (const shape of SHAPES) {
    for (const method of LISTS) bad.on(method, () => new Raw(shape));
    bad.inbox.entries = [];
    for (const kind of ['tools', 'resources', 'prompts']) await from.notify(`notifications/${kind}/list_changed`);
    await bad.next('prompts/list');
    for (const [method, key] of LISTS.map((m) => [m, m === LISTS[2] ? 'resourceTemplates' : m.split('/')[0]])) {
      await client.listAll(method, key);
    }
    await assertGoodWorks(client);
  }
  assert.equal(gateway.child.exitCode, null);
});

const HANDSHAKES = [
  'null',
  '{}',
  '{"protocolVersion":1}',
  '{"protocolVersion":"2099-01-01","capabilities":{},"serverInfo":{}}',
  '{"protocolVersion":"2025-11-25","capabilities":null}',
  '{"protocolVersion":"2025-11-25","capabilities":{"tools":true}}',
  '[]',
];

test('a server whose handshake is nonsense harms nobody else', async (t) => {
  const servers = {};
  for (const [i, shape] of HANDSHAKES.entries()) {
    servers[`h${i}`] = (await makeUpstream(['stdio', 'http', 'sse'][i % 3], `h${i}`)).on(
      'initialize',
      () => new Raw(shape),
    );
  }
  servers.refuses = (await makeUpstream('http', 'refuses')).on('initialize', () => {
    throw Object.assign(new Error('not you'), { code: -32000 });
  });
  const { client } = await setup(t, { servers, config: { timeouts: { start_wait: 1 } } });
  await assertGoodWorks(client);
});

// ---- messages without sense, from both sides

let seed = Number(process.env.TOOLGATE_SEED ?? Date.now() % 1_000_000);
const random = () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return seed / 2 ** 32;
};
const pick = (list) => list[Math.floor(random() * list.length)];
const METHODS = [
  'ping',
  'initialize',
  'tools/list',
  'tools/call',
  'resources/read',
  'resources/subscribe',
  'prompts/get',
  'completion/complete',
  'logging/setLevel',
  'sampling/createMessage',
  'elicitation/create',
  'roots/list',
  'tasks/get',
  'x',
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'notifications/message',
  'notifications/tools/list_changed',
  'notifications/resources/updated',
  'notifications/roots/list_changed',
  '',
];
const VALUES = [
  'null',
  'true',
  '0',
  '-1',
  '1',
  '2',
  '3',
  '4',
  '5',
  '1e400',
  '"1"',
  '""',
  '"good_echo"',
  '"bad_echo"',
  '"x"',
  '[]',
  '{}',
  '"test://good/watched"',
  '"debug"',
  '"file:///"',
  '[[[]]]',
  '{"a":{"b":[1]}}',
  `"${'z'.repeat(300)}"`,
];
const KEYS = [
  'name',
  'arguments',
  'uri',
  'cursor',
  'level',
  'requestId',
  'progressToken',
  'progress',
  'ref',
  'argument',
  'protocolVersion',
  'capabilities',
  '_meta',
  'taskId',
  'task',
  'data',
  'reason',
];

function nonsense() {
  const members = (depth) => {
    const keys = [...new Set(Array.from({ length: Math.floor(random() * 4) }, () => pick(KEYS)))];
    const value = () => (depth && random() < 0.3 ? members(depth - 1) : pick(VALUES));
    return `{${keys.map((k) => `"${k}":${value()}`).join(',')}}`;
  };
  const parts = ['"jsonrpc":"2.0"'];
  if (random() < 0.6) parts.push(`"id":${pick(VALUES)}`);
  if (random() < 0.8) parts.push(`"method":${JSON.stringify(pick(METHODS))}`);
  if (random() < 0.8) parts.push(`"params":${random() < 0.8 ? members(2) : pick(VALUES)}`);
  if (random() < 0.15) parts.push(`"result":${pick(VALUES)}`);
  if (random() < 0.15) parts.push(`"error":${pick([...VALUES, '{"code":1,"message":"m"}'])}`);
  return `{${parts.join(',')}}`;
}

test('thousands of messages without sense from clients and servers break nothing', async (t) => {
  t.diagnostic(`TOOLGATE_SEED=${seed} makes the same messages`);
  const { bad, client, gateway } = await setup(t, {
    bad: { entry: { timeout: 1000 } },
  });
  const asked = await new SseClient(gateway.url, {
    capabilities: { sampling: {}, roots: {}, elicitation: {} },
  }).connect();
  onEnd(t, () => asked.close());
  await asked.call('bad_echo');
  for (let round = 0; round < 60; round++) {
    const held = asked.request('tools/call', { name: 'bad_hold', arguments: {} }, { rawId: '77' });
    held.catch(() => {});
    await Promise.all(Array.from({ length: 20 }, () => asked.post(nonsense())));
    for (const c of bad.connections) for (let i = 0; i < 10; i++) c.transmit(nonsense());
    const posts = await Promise.all(
      Array.from({ length: 20 }, () => within(client.post(nonsense()), 'a POST').catch((e) => e)),
    );
    posts.forEach((p) => p.close?.());
    await asked.notify('notifications/cancelled', { requestId: 77 });
    asked.abandon('77');
    client.inbox.entries = asked.inbox.entries = bad.inbox.entries = [];
  }
  assert.equal(gateway.child.exitCode, null, gateway.log.slice(-3000));
  const fresh = new HttpClient(gateway.url);
  onEnd(t, () => fresh.close());
  await fresh.initialize();
  await assertGoodWorks(fresh);
});
