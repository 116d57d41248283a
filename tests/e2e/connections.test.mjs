// SPDX-License-Identifier: Apache-2.0
// Given a gateway with a limit on connections, when somebody holds more connections than that without using them, then
// clients with a token and /healthz are served at once; and every connection that stands still has an end.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import net from 'node:net';
import { test } from 'node:test';

import {
  fetchRaw, HttpClient, httpText, JSON_HEADERS, LATEST, onEnd, requestText, startGateway, until, wholeResponse,
  within,
} from './lib/raw.mjs';
import { makeUpstream } from './servers/features.mjs';

const FULL_SIZE = Boolean(process.env.TOOLGATE_LONG);
const TOKEN = 'a-token-for-the-tests-of-connections';
const AT_ONCE_MS = 5000; // far below every timeout of the configuration

const authorized = { authorization: `Bearer ${TOKEN}` };
const asToken = { headers: authorized, maxSockets: 1 };

/** Opens a socket, says `text` and nothing more. `ended` settles when the gateway closes it. */
function holdOpen(t, port, text = '') {
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.ended = new Promise((resolve) => socket.on('close', resolve).on('end', () => resolve(socket.destroy())));
  socket.on('error', () => {});
  socket.resume();
  onEnd(t, () => socket.destroy());
  return new Promise((resolve) => socket.on('connect', () => socket.write(text, () => resolve(socket))).on('close', () => resolve(socket)));
}

async function holdMany(t, port, count, text) {
  const all = [];
  while (all.length < count) {
    const batch = Array.from({ length: Math.min(128, count - all.length) }, () => holdOpen(t, port, text));
    all.push(...(await Promise.all(batch)));
  }
  return all;
}

async function start(t, config = {}) {
  const up = await makeUpstream('stdio', 'up');
  const gateway = await startGateway(t, { servers: { up }, config: { auth: { tokens: [TOKEN] }, ...config } });
  const client = new HttpClient(gateway.url, asToken);
  onEnd(t, () => client.close());
  await client.connect();
  await client.tools();
  return { gateway, client };
}

async function assertServed(t, gateway, client) {
  await within(client.ask('ping'), 'the client that was there before', AT_ONCE_MS);
  const late = new HttpClient(gateway.url, asToken);
  onEnd(t, () => late.close());
  await within(late.connect(), 'a client that comes now', AT_ONCE_MS);
  assert.ok((await within(late.tools(), 'its tools', AT_ONCE_MS)).length > 1);
  const health = await within(fetchRaw(`${gateway.url}/healthz`), '/healthz', AT_ONCE_MS);
  assert.equal(health.status, 200);
}

const silence = {
  'silent connections': '',
  'heads that never end': 'POST /mcp HTTP/1.1\r\nHost: localhost\r\n',
  'requests without a token': 'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n',
};

for (const [what, text] of Object.entries(silence)) {
  test(`more ${what} than limits.connections keep nobody out`, async (t) => {
    const limits = { connections: 64, connections_per_address: 0 };
    const { gateway, client } = await start(t, { limits });
    await holdMany(t, gateway.port, 100, text);
    await assertServed(t, gateway, client);
  });
}

test('more silent connections than limits.connections_per_address keep nobody of this address out', async (t) => {
  const { gateway, client } = await start(t, { limits: { connections_per_address: 16 } });
  const silent = await holdMany(t, gateway.port, 40);
  await within(silent[0].ended, 'the end of the oldest one', AT_ONCE_MS);
  await assertServed(t, gateway, client);
});

test('strangers do not end the upload of a client with a token', async (t) => {
  const { gateway } = await start(t, { limits: { connections_per_address: 16 } });
  const body = requestText('1', 'initialize', { protocolVersion: LATEST, capabilities: {}, clientInfo: { name: 'slow', version: '1' } });
  const bytes = httpText('POST /mcp', { ...JSON_HEADERS, ...authorized }, body);
  const upload = await holdOpen(t, gateway.port, bytes.slice(0, -20));
  let answer = '';
  upload.on('data', (chunk) => (answer += chunk));
  await fetchRaw(`${gateway.url}/healthz`);
  await holdMany(t, gateway.port, 40);
  upload.write(bytes.slice(-20));
  await until(() => wholeResponse(answer), 'the answer', AT_ONCE_MS);
  assert.match(answer, /^HTTP\/1\.1 200 /);
});

test('4100 silent connections do not lock out other clients', { skip: !FULL_SIZE && 'only with --long' }, async (t) => {
  for (const limits of [{}, { connections_per_address: 0 }]) {
    const { gateway, client } = await start(t, { limits });
    await holdMany(t, gateway.port, 4100);
    await assertServed(t, gateway, client);
  }
});

test('idle connections of clients without a token make room for a client that comes now', async (t) => {
  const up = await makeUpstream('stdio', 'up');
  const gateway = await startGateway(t, { servers: { up }, config: { limits: { connections: 8 } } });
  const crowd = Array.from({ length: 12 }, () => new HttpClient(gateway.url, { maxSockets: 1 }));
  onEnd(t, () => Promise.all(crowd.map((c) => c.close())));
  for (const client of crowd) await within(client.initialize(), 'a client', AT_ONCE_MS);
});

test('silent connections, and connections with a slow head or body, are closed after a time limit', async (t) => {
  const timeouts = { http_head: 0.3, http_body: 0.6, http_idle: 60 };
  const { gateway } = await start(t, { timeouts });
  const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n`;
  const silent = await holdOpen(t, gateway.port);
  const dripping = await holdOpen(t, gateway.port, head);
  const drip = setInterval(() => dripping.write('X-Drip: 1\r\n'), 50);
  const body = await holdOpen(t, gateway.port, `${head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n`);
  const trickle = setInterval(() => body.write(' '), 50);
  onEnd(t, () => [drip, trickle].forEach(clearInterval));
  await within(silent.ended, 'the end of the silent connection');
  await within(dripping.ended, 'the end of the slow head');
  await within(body.ended, 'the end of the slow body');
});

test('a connection that is idle after its answer is closed after timeouts.http_idle', async (t) => {
  const { gateway } = await start(t, { timeouts: { http_idle: 0.3 } });
  const socket = await holdOpen(t, gateway.port, 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await within(socket.ended, 'its end');
});

test('a client that does not read its answers is closed after timeouts.http_write', async (t) => {
  const { gateway } = await start(t, { timeouts: { http_write: 0.5 } });
  const socket = await holdOpen(t, gateway.port);
  socket.pause();
  const closed = new Promise((resolve) => socket.on('close', resolve));
  const many = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(1000);
  const send = setInterval(() => socket.write(many), 5);
  onEnd(t, () => clearInterval(send));
  await within(closed, 'its end');
});

test('silent connections on the admin port do not lock out other clients', async (t) => {
  const digest = crypto.createHash('sha256').update(TOKEN).digest('hex');
  const { gateway, client } = await start(t, { admin: { listen: '127.0.0.1:0', token_sha256: digest } });
  const [, port] = await until(() => /readiness and metrics at \S+:(\d+)/.exec(gateway.log), 'the admin port');
  await holdMany(t, Number(port), 100);
  await assertServed(t, gateway, client);
  for (const path of ['/healthz', '/readyz', '/metrics']) {
    const r = await within(fetchRaw(`http://127.0.0.1:${port}${path}`, { headers: authorized }), path, AT_ONCE_MS);
    assert.equal(r.status, 200, path);
  }
});
