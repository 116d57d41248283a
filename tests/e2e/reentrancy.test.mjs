// SPDX-License-Identifier: Apache-2.0
// What ends a session, a stream or the gateway while something of it is still under way.
import assert from 'node:assert/strict';
import net from 'node:net';
import { test } from 'node:test';

import {
  deferred,
  HttpClient,
  httpText,
  onEnd,
  requestText,
  resultText,
  startGateway,
  StdioClient,
  until,
  within,
} from './lib/raw.mjs';
import { makeUpstream } from './servers/features.mjs';

const MB = 1024 * 1024;
const SOON_MS = 8000; // less than a request waits: what is missing is then named, not the call around it
const calls = (tool) => (e) => e.msg?.method === 'tools/call' && e.msg.params.name === tool;
const answerTo = ({ msg, peer, ctx }, result = { content: [] }) =>
  peer.transmit(resultText(JSON.stringify(msg.id), result), ctx);

async function connect(t, gateway, options) {
  const client = new HttpClient(gateway.url, options);
  onEnd(t, () => client.close());
  await client.initialize();
  return client;
}

// A gateway with one server, `up`, that has been listed; `bystander` shares the server with other plain clients.
async function setup(t, { transport = 'stdio', config, prepare = () => {} } = {}) {
  const up = await makeUpstream(transport, 'up');
  prepare(up);
  const gateway = await startGateway(t, { servers: { up }, config });
  const bystander = await connect(t, gateway);
  await bystander.tools();
  return { up, gateway, bystander };
}

async function assertWorks(client) {
  assert.deepEqual((await client.call('up_echo', { a: 1 })).structuredContent.got, { a: 1 });
}

// A connection whose bytes the test writes itself, and reads when it wants to.
class Wire {
  bytes = 0;
  text = '';
  closed = deferred();

  constructor(t, gateway, { keep = true } = {}) {
    this.socket = net.connect(gateway.port, '127.0.0.1');
    this.socket.on('data', (chunk) => {
      this.bytes += chunk.length;
      if (keep) this.text += chunk.toString('latin1');
    });
    this.socket.on('error', () => {});
    this.socket.on('close', () => this.closed.resolve());
    onEnd(t, () => this.socket.destroy());
  }

  // Resolves when the bytes are with the kernel: the gateway sees them before anything that is sent later.
  send(...requests) {
    return new Promise((resolve) => this.socket.write(requests.join(''), resolve));
  }

  statuses() {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((m) => Number(m[1]));
  }

  // The statuses of the answers, as soon as there are so many.
  async answers(count) {
    const lost = () => this.socket.destroyed && assert.fail(`connection lost after: ${this.text}`);
    await until(() => this.statuses().length >= count || lost(), () => `${count} answers, got: ${this.text}`, SOON_MS);
    return this.statuses();
  }
}

const post = (client, body) => httpText('POST /mcp', client.headers(), body);
const del = (client) => httpText('DELETE /mcp', client.headers());
// A request awaited later, or never when the test fails before.
const started = (promise) => (promise.catch(() => {}), promise);
const call = (name, meta) => ({ name, arguments: {}, ...(meta && { _meta: meta }) });

async function assertGone(client) {
  await assert.rejects(client.ask('ping'), (e) => e.status === 404);
  client.session = undefined;
}

// ---- requests pipelined behind one that waits

test('given a list that waits for a server, when DELETE is pipelined behind it, then both are answered', async (t) => {
  const release = deferred();
  const up = await makeUpstream('stdio', 'up');
  const hello = up.handlers.get('initialize');
  up.on('initialize', async (...args) => (await release.promise, hello(...args)));
  const gateway = await startGateway(t, { servers: { up }, config: { timeouts: { start_wait: 30 } } });
  const bystander = await connect(t, gateway);
  const client = await connect(t, gateway, { capabilities: { roots: {} } });
  const wire = new Wire(t, gateway);
  await wire.send(post(client, requestText('1', 'tools/list')), del(client));
  await bystander.ask('ping'); // by now the gateway has read them
  assert.deepEqual(wire.statuses(), [], 'the list waits');
  release.resolve();
  assert.deepEqual(await wire.answers(2), [200, 200]);
  assert.match(wire.text, /"up_echo"/);
  await assertGone(client);
  await assertWorks(bystander);
});

for (const [what, capabilities] of [
  ['a shared server', {}],
  ['a server of its own', { roots: {} }],
]) {
  test(`given a call at ${what}, when DELETE is pipelined behind it, then both are answered`, async (t) => {
    const { up, gateway, bystander } = await setup(t);
    const client = await connect(t, gateway, { capabilities });
    const wire = new Wire(t, gateway);
    await wire.send(post(client, requestText('1', 'tools/call', call('up_hold'))), del(client));
    await answerTo(await up.next(calls('up_hold'), 'hold'), { content: [{ type: 'text', text: 'late' }] });
    assert.deepEqual(await wire.answers(2), [200, 200]);
    assert.match(wire.text, /"late"/);
    await assertGone(client);
    await assertWorks(bystander);
  });
}

test('given a call to a server that dies at start, when DELETE is pipelined, then both are answered', async (t) => {
  const { up, gateway, bystander } = await setup(t);
  const hello = up.handlers.get('initialize');
  up.on('initialize', (params, entry) => (params.capabilities.roots ? undefined : hello(params, entry)));
  const client = await connect(t, gateway, { capabilities: { roots: {} } });
  const wire = new Wire(t, gateway);
  await wire.send(post(client, requestText('1', 'tools/call', call('up_echo'))), del(client));
  const { peer } = await up.next((e) => e.msg?.params?.capabilities?.roots, 'its handshake');
  peer.socket.destroy();
  assert.deepEqual(await wire.answers(2), [200, 200]);
  assert.match(wire.text, /UPSTREAM_UNAVAILABLE/);
  await assertGone(client);
  await assertWorks(bystander);
});

test('given DELETE pipelined behind a call, when a batch cancels the call, then the session ends', async (t) => {
  const { up, gateway, bystander } = await setup(t);
  const client = await connect(t, gateway, { rev: '2025-03-26' });
  const wire = new Wire(t, gateway);
  await wire.send(post(client, requestText('7', 'tools/call', call('up_hold'))), del(client));
  await up.next(calls('up_hold'), 'hold');
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
  const batch = await client.post(JSON.stringify([cancel, { jsonrpc: '2.0', id: 8, method: 'ping' }]));
  assert.equal(batch.status, 200, batch.text);
  assert.deepEqual((await client.next((e) => e.msg?.id === 8, 'the answer to ping', SOON_MS)).msg.result, {});
  assert.deepEqual(await wire.answers(2), [200, 200]);
  await up.next('notifications/cancelled');
  await assertGone(client);
  await assertWorks(bystander);
});

// ---- clients that do not read

// Progress of a call whose stream nobody reads. A server that only this client uses is held back; one that others use
// too is not, and then a call of one of them tells that all of it has been taken.
function say(peer, progressToken, progress) {
  peer.notify('notifications/progress', { progressToken, progress, message: 'x'.repeat(64 * 1024) });
}

async function sayUntilHeldBack(peer, progressToken) {
  const moves = () =>
    new Promise((resolve) => {
      const still = setTimeout(() => resolve(false), 500); // what is waited for is that nothing happens
      peer.socket.once('drain', () => (clearTimeout(still), resolve(true)));
    });
  for (let n = 1; n <= 1000; n++) {
    say(peer, progressToken, n);
    if (peer.socket.writableNeedDrain && !(await moves())) return;
  }
  assert.fail('the server is not held back');
}

for (const [what, capabilities] of [
  ['a shared server', {}],
  ['a server of its own', { roots: {} }],
]) {
  test(`given an unread stream from ${what}, when the session is deleted, then others are served`, async (t) => {
    const { up, gateway, bystander } = await setup(t);
    const client = await connect(t, gateway, { capabilities });
    const wire = new Wire(t, gateway, { keep: false });
    wire.socket.pause();
    await wire.send(post(client, requestText('1', 'tools/call', call('up_hold', { progressToken: 't' }))));
    const { msg, peer } = await up.next(calls('up_hold'), 'hold');
    const { progressToken } = msg.params._meta;
    if (capabilities.roots) {
      await sayUntilHeldBack(peer, progressToken);
    } else {
      for (let n = 1; n <= 300; n++) say(peer, progressToken, n); // more than the kernel takes
      await assertWorks(bystander);
    }
    assert.equal((await client.delete()).status, 200);
    await assertGone(client);
    if (capabilities.roots) await within(peer.closed.promise, 'the end of its server');
    else await up.next('notifications/cancelled');
    await assertWorks(bystander);
  });
}

test('given an HTTP+SSE client that does not read, when its answers pile up, then it is dropped', async (t) => {
  const config = { limits: { message: MB } };
  const { gateway, bystander } = await setup(t, { config });
  const wire = new Wire(t, gateway);
  await wire.send(httpText('GET /sse', { accept: 'text/event-stream' }));
  const [, path] = await until(() => /data: (\S+)/.exec(wire.text), 'the endpoint');
  wire.socket.pause();
  const poster = new HttpClient(gateway.url, { path });
  onEnd(t, () => poster.agent.destroy());
  const clientInfo = { name: 'n', version: '1' };
  const hello = requestText('0', 'initialize', { protocolVersion: '2024-11-05', capabilities: {}, clientInfo });
  assert.equal((await poster.post(hello)).status, 202);
  const pings = Array.from({ length: 9 }, () => ({ jsonrpc: '2.0', id: 'x'.repeat(400_000), method: 'ping' }));
  const batch = JSON.stringify(pings);
  let status = 202;
  for (let i = 0; i < 40 && status === 202; i++) status = (await poster.post(batch)).status;
  assert.equal(status, 404, 'its session is gone');
  await assertWorks(bystander);
});

test('given an answer that waits for a slow client, when the gateway stops, then all of it arrives', async (t) => {
  const SIZE = 24 * MB; // more than the kernel takes
  const { up, gateway, bystander } = await setup(t);
  const client = await connect(t, gateway);
  const idle = new Wire(t, gateway);
  await idle.send(post(client, requestText('0', 'ping')));
  await idle.answers(1);
  const slow = new Wire(t, gateway, { keep: false });
  slow.socket.pause();
  await slow.send(post(client, requestText('1', 'tools/call', call('up_hold'))));
  const held = await up.next(calls('up_hold'), 'hold');
  await answerTo(held, { content: [{ type: 'text', text: 'y'.repeat(SIZE) }] });
  await assertWorks(bystander); // on the same server: the answer before has been taken
  gateway.child.kill('SIGTERM');
  await within(idle.closed.promise, 'the end of a connection that waits for nothing');
  slow.socket.resume();
  await within(slow.closed.promise, 'the end of the slow connection');
  assert.ok(slow.bytes > SIZE, `${slow.bytes} of ${SIZE} bytes`);
  assert.equal((await within(gateway.exited, 'the end of the gateway')).code, 0);
});

test('given a log that nobody reads, when it is full, then the gateway goes on answering', async (t) => {
  const up = await makeUpstream('stdio', 'up');
  const gateway = await startGateway(t, { servers: { up }, transport: 'stdio', args: ['--log-level', 'debug'] });
  const { stderr, stdin } = gateway.child;
  onEnd(t, () => stderr.resume());
  const client = await new StdioClient(gateway).connect();
  await assertWorks(client);
  stderr.pause();
  const LINES = 6000; // each is logged, which is several times what a pipe holds
  stdin.write((resultText('99999', {}) + '\n').repeat(LINES));
  assert.deepEqual(await client.ask('ping', undefined, { ms: SOON_MS }), {});
  await assertWorks(client);
  const seen = gateway.log.split('this server sent a reply that matches no open request').length - 1;
  assert.ok(seen < LINES, 'the log was full');
});

test('given a client that asks for its stream and is gone, when there is news, then others hear it', async (t) => {
  const { up, gateway, bystander } = await setup(t);
  await bystander.listen();
  const client = await connect(t, gateway, { rev: '2025-06-18' }); // its stream begins with nothing but a head
  const wire = new Wire(t, gateway);
  await wire.send(post(client, requestText('1', 'ping')));
  await wire.answers(1);
  process.kill(gateway.pid, 'SIGSTOP'); // so that it finds the request and the end of the connection together
  try {
    await wire.send(httpText('GET /mcp', { ...client.headers(), accept: 'text/event-stream' }));
    wire.socket.resetAndDestroy();
  } finally {
    process.kill(gateway.pid, 'SIGCONT');
  }
  await bystander.ask('ping');
  up.tools = [...up.tools, { name: 'up_new', inputSchema: { type: 'object' } }];
  await up.broadcast('notifications/tools/list_changed');
  await bystander.next('notifications/tools/list_changed');
  await client.listen();
  assert.equal((await client.delete()).status, 200);
  await assertWorks(bystander);
});

// ---- what must reach the right one, and once

test('given two clients of a shared server, when a task of one ends, then only that one hears it', async (t) => {
  const { up, gateway, bystander: other } = await setup(t, {
    prepare: (u) => {
      const hello = u.handlers.get('initialize');
      const tasks = { requests: { tools: { call: {} } } };
      u.on('initialize', (params, entry) => {
        const result = hello(params, entry);
        return { ...result, capabilities: { ...result.capabilities, tasks } };
      });
    },
  });
  const tool = up.handlers.get('tools/call');
  const task = { taskId: 'T-1', status: 'working', createdAt: '2026-01-01T00:00:00Z', ttl: 60_000 };
  up.on('tools/call', (params, entry) => (params.task ? { task } : tool(params, entry)));
  const owner = await connect(t, gateway);
  await owner.listen();
  const made = await owner.ask('tools/call', { ...call('up_echo'), task: { ttl: 60_000 } });
  assert.equal(made.task.taskId, 'T-1');
  const answer = started(other.request('tools/call', call('up_hold')));
  const held = await up.next(calls('up_hold'), 'hold');
  await held.peer.notify('notifications/tasks/status', { ...task, status: 'completed' });
  const told = await owner.next('notifications/tasks/status', 'the status of its task', SOON_MS);
  assert.equal(told.msg.params.status, 'completed');
  await answerTo(held);
  assert.deepEqual((await answer).result, { content: [] });
  assert.ok(!other.inbox.has('notifications/tasks/status'), 'the other hears nothing');
});

test('given a call whose stream is taken up again, when the server answers 404, then the tool runs once', async (t) => {
  const { up, bystander: client } = await setup(t, { transport: 'http' });
  const answer = started(client.request('tools/call', call('up_hold')));
  const held = await up.next(calls('up_hold'), 'hold');
  up.intercept = (req, res) => {
    if (req.method !== 'GET' || !req.headers['last-event-id']) return false;
    up.forget(held.peer);
    res.writeHead(404).end();
    return true;
  };
  held.ctx.res.writeHead(200, { 'content-type': 'text/event-stream' }).end('id: ev-1\nretry: 100\ndata: \n\n');
  const again = started(up.next(calls('up_hold'), 'hold').then(() => assert.fail('the call was repeated')));
  const { error } = await Promise.race([answer, again]);
  assert.equal(error?.data?.error, 'UPSTREAM_UNAVAILABLE', JSON.stringify(error));
  await until(async () => !(await client.request('tools/call', call('up_echo'))).error, 'a call that works');
  assert.equal(up.counts.hold, 1);
});

// ---- bounds

test('given a server that asks without end, when nobody answers, then 256 wait and the rest fail', async (t) => {
  const ASKED = 256, ALL = 5000;
  const { up, gateway } = await setup(t);
  const client = await connect(t, gateway, { capabilities: { roots: {} } });
  client.handlers.set('roots/list', () => undefined);
  const answer = started(client.request('tools/call', call('up_hold')));
  const held = await up.next(calls('up_hold'), 'hold');
  const ids = Array.from({ length: ALL }, (_, i) => `"q${i}"`);
  held.peer.write(ids.map((id) => requestText(id, 'roots/list') + '\n').join(''));
  const refused = () => up.inbox.entries.filter((e) => e.msg?.error);
  await until(() => refused().length === ALL - ASKED, () => `${refused().length} were refused`, SOON_MS);
  const questions = () => client.inbox.entries.filter((e) => e.msg?.method === 'roots/list');
  await until(() => questions().length === ASKED, () => `${questions().length} were asked`, SOON_MS);
  assert.match(refused()[0].msg.error.message, /too many/);

  const [first] = questions();
  await client.post(resultText(JSON.stringify(first.msg.id), { roots: [] }));
  assert.deepEqual((await up.next((e) => e.msg?.result?.roots, 'its answer')).msg.id, 'q0');
  held.peer.write(requestText('"more"', 'roots/list') + '\n');
  await until(() => questions().length === ASKED + 1, 'a place that became free');
  await answerTo(held);
  assert.deepEqual((await answer).result, { content: [] });
});
