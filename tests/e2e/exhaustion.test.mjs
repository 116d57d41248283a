// SPDX-License-Identifier: Apache-2.0
// Given a gateway that may open few files, when more clients come than it has room for, then it neither ends nor
// forgets those it serves, and takes new ones when others go.
import assert from 'node:assert/strict';
import net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';

import { assertNoReport, gatewayEnv, ROOT, toolgate } from './lib/gateway.mjs';
import { onEnd, Program, tempDir, writeJson } from './lib/process.mjs';
import { HttpClient, SseClient, startGateway } from './lib/raw.mjs';
import { makeUpstream } from './servers/features.mjs';

const FILES = 64;

async function startWithFewFiles(t) {
  const dir = tempDir(t);
  const server = path.join(path.dirname(toolgate()), 'examples/quickstart/textkit');
  const config = writeJson(path.join(dir, '.mcp.json'), { mcpServers: { textkit: { command: server } } });
  const program = new Program('prlimit', [`--nofile=${FILES}:${FILES}`, toolgate(), 'serve', '--mode', 'direct', '--mcp-config', config,
    '--mode', 'direct', '--listen', '127.0.0.1:0'], { env: gatewayEnv(), cwd: ROOT });
  onEnd(t, async () => {
    assert.equal(await program.stop(), 0, program.stderr);
    assertNoReport(program.stderr);
  });
  const [, base] = await program.says(/listening on (http:\/\/127\.0\.0\.1:\d+)/);
  await program.says(/textkit: ready/);
  return base;
}

function connect(base) {
  const { port } = new URL(base);
  return new Promise(resolve => {
    const socket = net.connect(Number(port), '127.0.0.1', () => resolve(socket));
    socket.on('error', () => resolve(undefined));
  });
}

test('a gateway without free descriptors serves its clients, and accepts new clients in place of silent ones', async t => {
  const base = await startWithFewFiles(t);
  const client = new HttpClient(base, { maxSockets: 1 });
  await client.connect();
  const call = () => client.ask('tools/call', { name: 'word_count', arguments: { text: 'a b c' } });
  const answer = await call();

  const crowd = (await Promise.all(Array.from({ length: 4 * FILES }, () => connect(base)))).filter(Boolean);
  for (let i = 0; i < 10; i++) assert.deepEqual(await call(), answer, 'the client that was there is still served');

  const late = new HttpClient(base, { maxSockets: 1 });
  await late.connect();
  assert.equal((await fetch(`${base}/healthz`)).status, 200);
  for (const socket of crowd) socket.destroy();
  await late.close();
  await client.close();
});

test('a session has at most limits.in_flight requests under way; the next are refused, others are not', async t => {
  const up = await makeUpstream('stdio', 'up');
  const gateway = await startGateway(t, { servers: { up }, config: { limits: { in_flight: 3 } } });
  const eager = await new SseClient(gateway.url).connect(), other = new HttpClient(gateway.url);
  onEnd(t, () => Promise.all([eager.close(), other.close()]));
  await eager.tools();
  const hold = () => eager.request('tools/call', { name: 'up_hold', arguments: {} });
  const held = [hold(), hold(), hold()];
  const isHold = e => e.msg?.method === 'tools/call' && e.msg.params.name === 'up_hold';
  const taken = [await up.next(isHold, '1st'), await up.next(isHold, '2nd'), await up.next(isHold, '3rd')];
  assert.match((await hold()).error.message, /too many requests/);
  await eager.ask('ping');
  await other.initialize();
  await other.ask('tools/list');
  for (const { msg, peer } of taken) peer.write(`{"jsonrpc":"2.0","id":${msg.id},"result":{"content":[]}}\n`);
  for (const answer of await Promise.all(held)) assert.deepEqual(answer.result, { content: [] });
  await eager.ask('tools/list');
});

test('clients beyond limits.own_connections get an error that says so, and a place when another goes', async t => {
  const up = await makeUpstream('stdio', 'up');
  const gateway = await startGateway(t, { servers: { up }, config: { limits: { own_connections: 1 } } });
  const askable = () => new HttpClient(gateway.url, { capabilities: { roots: {} } });
  const first = askable(), second = askable();
  onEnd(t, () => Promise.all([first.close(), second.close()]));
  await first.connect();
  await first.call('up_echo', {});
  await second.connect();
  const { error } = await second.request('tools/call', { name: 'up_echo', arguments: {} });
  assert.equal(error.data.error, 'UPSTREAM_UNAVAILABLE');
  assert.match(error.message, /own_connections/);
  await first.close();
  await second.call('up_echo', {});
});
