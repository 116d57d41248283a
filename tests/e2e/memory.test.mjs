// SPDX-License-Identifier: Apache-2.0
// Given a gateway with its usual limits, when a client floods it with large requests, then their memory is bounded and
// given back, the client is told which limit it met, and others are served meanwhile. bench/memory.mjs measures the
// memory of the process; here it is what the gateway itself counts (/metrics), and VmRSS in a build without sanitizers.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import { test } from 'node:test';

import { gatewayPath, HttpClient, httpText, JSON_HEADERS, onEnd, SseClient, startGateway, StdioClient, until } from './lib/raw.mjs';
import { makeUpstream } from './servers/features.mjs';

const MIB = 1 << 20;
const LARGE = 4 * MIB - 4096;
const ones = (n) => `[1${',1'.repeat(n - 1)}]`;
const callText = (id, x) =>
  `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"up_hold","arguments":{"x":${x}}},"id":${id}}`;
const text = (bytes) => JSON.stringify('x'.repeat(bytes));

async function start(t, options = {}) {
  const up = await makeUpstream('stdio', 'up');
  const gateway = await startGateway(t, { servers: { up }, ...options });
  gateway.up = up;
  return gateway;
}

async function open(t, gateway, options) {
  const client = new HttpClient(gateway.url, options);
  onEnd(t, () => client.close());
  await client.initialize();
  await client.tools();
  return client;
}

/** A number of /metrics. */
async function metric(gateway, name) {
  const page = await (await fetch(`${gateway.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(page)[1]);
}

const held = (gateway) => metric(gateway, 'toolgate_request_bytes');

async function assertServes(t, gateway) {
  const client = await open(t, gateway);
  const { content } = await client.ask('tools/call', { name: 'up_echo', arguments: { text: 'after' } });
  assert.ok(content);
}

test('20 calls with two million values each are refused over HTTP, with the name of the limit', async (t) => {
  const gateway = await start(t);
  const clients = await Promise.all(Array.from({ length: 20 }, () => open(t, gateway)));
  const body = callText(7, ones(LARGE / 2));
  const answers = await Promise.all(clients.map((c) => c.post(body)));
  for (const { status, text } of answers) {
    assert.equal(status, 413);
    const { id, error } = JSON.parse(text);
    assert.equal(id, 7);
    assert.equal(error.code, -32600);
    assert.match(error.message, /65536 values.*limits\.request_values/);
  }
  assert.equal(await held(gateway), 0);
  await assertServes(t, gateway);
});

test('a call with as many values as the limit allows reaches its server', async (t) => {
  const gateway = await start(t, { config: { limits: { request_values: 1000 } } });
  const client = await open(t, gateway);
  const args = { text: 'x', list: Array(980).fill(1) };
  assert.ok(await client.ask('tools/call', { name: 'up_echo', arguments: args }));
  await assert.rejects(client.ask('tools/call', { name: 'up_echo', arguments: { list: Array(1000).fill(1) } }), { status: 413 });
});

test('a request with too many values is answered under its id on stdio and by HTTP+SSE', async (t) => {
  const gateway = await start(t, { transport: 'stdio' });
  const client = await new StdioClient(gateway).connect();
  await client.tools();
  gateway.child.stdin.write(`${callText('"big"', ones(70_000))}\n`);
  const { msg } = await client.next((e) => e.msg?.error, 'an error');
  assert.equal(msg.id, 'big');
  assert.equal(msg.error.code, -32600);
  assert.match(msg.error.message, /limits\.request_values/);
  await client.ask('ping');

  const http = await start(t);
  const sse = await new SseClient(http.url).connect();
  onEnd(t, () => sse.close());
  const r = await sse.post(callText(8, ones(70_000)));
  assert.equal(r.status, 413);
  assert.equal(JSON.parse(r.text).id, 8);
  await sse.ask('ping');
});

test('sessions of one principal share limits.principal_held_bytes; small calls go on, and memory is free afterwards', async (t) => {
  const gateway = await start(t, { config: { limits: { principal_held_bytes: '32MiB' } } });
  const flood = await Promise.all(Array.from({ length: 12 }, () => open(t, gateway)));
  const refused = [], body = callText(1, text(LARGE));
  const posts = flood.map((c) =>
    c.post(body).then((r) => refused.push(r), () => {})
  );
  await until(async () => refused.length >= 6 && (await held(gateway)) > 0, 'some to be refused');
  assert.ok((await held(gateway)) <= 32 * MIB);
  for (const r of refused) {
    // While it comes in, or when it is there.
    if (r.status === 200) assert.match(JSON.parse(r.text).error.message, /limits\.principal_held_bytes/);
    else assert.deepEqual([r.status, r.headers['retry-after']], [429, '1']);
  }
  assert.ok((await metric(gateway, 'toolgate_requests_without_room_total')) >= refused.length);
  await assertServes(t, gateway);

  for (const c of flood) c.agent.destroy();
  await Promise.all(flood.map((c) => c.close()));
  await Promise.all(posts);
  await until(async () => (await held(gateway)) === 0, 'memory to be free again');
  await assertServes(t, gateway);
});

test('a request of the largest size that is alone is served, with the smallest limits', async (t) => {
  const gateway = await start(t, { config: { limits: { held_bytes: '16MiB', principal_held_bytes: '16MiB' } } });
  const client = await open(t, gateway);
  const { content } = await client.ask('tools/call', { name: 'up_echo', arguments: { text: 'x'.repeat(LARGE) } });
  assert.ok(content);
});

test('on stdio, requests under way hold at most limits.session_held_bytes', async (t) => {
  const gateway = await start(t, { transport: 'stdio', config: { limits: { session_held_bytes: '8MiB' } } });
  const client = await new StdioClient(gateway).connect();
  await client.tools();
  for (let id = 100; id < 106; id++) gateway.child.stdin.write(`${callText(id, text(3 * MIB))}\n`);
  const { msg } = await client.next((e) => e.msg?.error, 'an error');
  assert.equal(msg.error.code, -32603);
  assert.match(msg.error.message, /limits\.session_held_bytes/);
  await client.ask('ping');
});

test('bodies that are sent in part count, and their connections are refused when there are too many', async (t) => {
  const gateway = await start(t, { config: { limits: { principal_held_bytes: '32MiB' } } });
  const { session } = await open(t, gateway);
  const whole = httpText('POST /mcp', { ...JSON_HEADERS, 'Mcp-Session-Id': session }, callText(1, text(LARGE)));
  const answers = [];
  const sockets = Array.from({ length: 20 }, () => {
    const socket = net.connect(gateway.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.once('data', (bytes) => answers.push(bytes.toString('latin1')));
    socket.write(whole.slice(0, -1));
    return socket;
  });
  onEnd(t, () => sockets.forEach((s) => s.destroy()));
  await until(() => answers.length >= 10, 'refusals');
  for (const a of answers) assert.match(a, /^HTTP\/1\.1 429 [^]*Retry-After: 1\r\n/);
  assert.ok((await held(gateway)) <= 32 * MIB);
  await assertServes(t, gateway);
  for (const s of sockets) s.destroy();
  await until(async () => (await held(gateway)) === 0, 'memory to be free again');
});

test('one principal cannot use up the memory of another principal', async (t) => {
  const tokens = ['a-token-of-the-first-one', 'a-token-of-the-second-one'];
  const limits = { held_bytes: '64MiB', principal_held_bytes: '64MiB' };
  const gateway = await start(t, { config: { auth: { tokens }, limits } });
  const as = (token) => open(t, gateway, { headers: { authorization: `Bearer ${token}` } });
  const flood = await Promise.all(Array.from({ length: 20 }, () => as(tokens[0])));
  let refused = 0;
  for (const c of flood) c.post(callText(1, text(LARGE))).then(() => refused++, () => {});
  await until(() => refused >= 10, 'some to be refused');
  const other = await as(tokens[1]);
  const { content } = await other.ask('tools/call', { name: 'up_echo', arguments: { text: 'x'.repeat(MIB) } });
  assert.ok(content);
  for (const c of flood) c.agent.destroy();
});

test('sessions do not keep more of what clients say of themselves than there is room for', async (t) => {
  const gateway = await start(t, { config: { limits: { held_bytes: '16MiB', principal_held_bytes: '16MiB', request: '64KiB' } } });
  const info = { name: 'x'.repeat(60_000), version: '1' };
  const clients = [], refused = [];
  for (let i = 0; i < 80; i++) {
    const client = new HttpClient(gateway.url, { info });
    await client.initialize().then(() => clients.push(client), (e) => refused.push(e));
  }
  assert.ok(clients.length > 10 && refused.length > 5);
  assert.ok((await held(gateway)) <= 16 * MIB);
  await assertServes(t, gateway);
  await Promise.all(clients.map((c) => c.close()));
  await until(async () => (await held(gateway)) === 0, 'memory to be free again');
});

test('an answer of a server with more values than limits.message_values is refused by name', async (t) => {
  const gateway = await start(t, { config: { limits: { message_values: 65536 } } });
  const client = await open(t, gateway);
  const answer = client.request('tools/call', { name: 'up_hold', arguments: {} });
  const { msg, peer } = await gateway.up.next((e) => e.msg?.method === 'tools/call', 'the call');
  peer.write(`{"jsonrpc":"2.0","id":${msg.id},"result":{"content":[],"structuredContent":{"x":${ones(70_000)}}}}\n`);
  assert.match((await answer).error.message, /65536 values.*limits\.message_values/);
  await assertServes(t, gateway);
});

test('an answer of a server that is nested too deep is refused by its depth, for which there is no key', async (t) => {
  const gateway = await start(t);
  const client = await open(t, gateway);
  const answer = client.request('tools/call', { name: 'up_hold', arguments: {} });
  const { msg, peer } = await gateway.up.next((e) => e.msg?.method === 'tools/call', 'the call');
  const deep = '['.repeat(200) + ']'.repeat(200);
  peer.write(`{"jsonrpc":"2.0","id":${msg.id},"result":{"content":[],"structuredContent":{"x":${deep}}}}\n`);
  const { message } = (await answer).error;
  assert.match(message, /more than 128 levels of nesting/);
  assert.doesNotMatch(message, /limits\./);
});

test('of clients that do not read their answers, the one that is behind the longest is let go', async (t) => {
  const gateway = await start(t, { config: { limits: { in_flight_bytes: '8MiB' } } });
  const large = () => metric(gateway, 'toolgate_large_bytes');
  const ping = '{"jsonrpc":"2.0","id":0,"method":"ping"}';
  async function flood() {
    const client = await new SseClient(gateway.url).connect();
    onEnd(t, () => client.close());
    client.stream.res.pause();
    const params = { name: 'up_echo', arguments: { text: 'x'.repeat(900_000) } };
    for (let id = 1; id <= 30; id++) {
      const body = JSON.stringify({ jsonrpc: '2.0', method: 'tools/call', params, id });
      if ((await client.post(body)).status !== 202) break;
    }
    return client;
  }
  const first = await flood();
  await until(async () => (await large()) > 2 * MIB, 'answers that nobody reads');
  const second = await flood();
  await until(async () => (await first.post(ping)).status === 404, 'the first to be let go');
  assert.equal((await second.post(ping)).status, 202);
  await assertServes(t, gateway);
});

const sanitized = () => /asan/.test(fs.realpathSync(gatewayPath()));
test('after a flood of requests, the memory is returned to the system', { skip: sanitized() && 'a sanitizer keeps freed memory' }, async (t) => {
  const gateway = await start(t);
  const flood = await Promise.all(Array.from({ length: 20 }, () => open(t, gateway)));
  const before = gateway.rssKb();
  const posts = flood.map((c) => c.post(callText(1, text(LARGE))).catch(() => {}));
  await until(async () => (await held(gateway)) > 16 * MIB, 'memory to be held');
  for (const c of flood) c.agent.destroy();
  await Promise.all(posts);
  await until(() => gateway.rssKb() < before + 16 * 1024, 'memory to be given back', 20_000);
  await assertServes(t, gateway);
});
