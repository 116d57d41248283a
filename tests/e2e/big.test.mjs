// SPDX-License-Identifier: Apache-2.0
// Given a server with large results, when they are called for, then an agent gets an answer that fits its context and
// can look at the rest, and a client in direct mode gets every byte. How much memory that takes is measured by
// bench/big.mjs and, in bytes that were allocated, by tests/unit/test_big.c.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { startGateway } from './lib/gateway.mjs';
import { handleOf, idOf, textOf } from './lib/meta.mjs';
import { onEnd, Program, tempDir, writeJson } from './lib/process.mjs';
import { HttpClient, startGateway as startRecording } from './lib/raw.mjs';
import { countTokens } from './lib/tokens.mjs';

const LONG = Boolean(process.env.TOOLGATE_LONG);
const PATIENCE = { ms: 120_000 };
const BYTES = LONG ? 50 << 20 : 8 << 20;
const SERVER = fileURLToPath(new URL('./servers/big.mjs', import.meta.url));
const KINDS = ['plain', 'log', 'escaped', 'rows', 'numbers', 'nested', 'keys', 'image', 'blob', 'parts'];

/** All kinds by one transport; by the others those that differ in how they come in. */
const kindsOf = (from) => (LONG || from === 'json' ? KINDS : ['log', 'rows']);

async function startServer(t) {
  const program = new Program(process.execPath, [SERVER, '--port', '0']);
  onEnd(t, () => program.stop());
  const [, port] = await program.says(/listening on port (\d+)/);
  return `http://127.0.0.1:${port}`;
}

/** The same server by each transport. */
const entries = (origin) => ({
  stdio: { command: process.execPath, args: [SERVER, '--stdio'] },
  json: { type: 'http', url: `${origin}/json` },
  events: { type: 'http', url: `${origin}/events` },
  sse: { type: 'sse', url: `${origin}/sse` },
});

async function connect(t, gateway, options) {
  const client = new HttpClient(gateway.url.replace(/\/mcp$/, ''), options);
  onEnd(t, () => client.close());
  await client.connect();
  return client;
}

const sha256 = (text) => crypto.createHash('sha256').update(text).digest('hex');

/** What the server itself answers. */
async function ask(origin, name, bytes) {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: { bytes } } };
  const response = await fetch(`${origin}/json`, { method: 'POST', body: JSON.stringify(message) });
  return (await response.text()).replace(/^\{"jsonrpc":"2.0","id":1/, '');
}

for (const from of ['stdio', 'json', 'events', 'sse']) {
  test(`gateway mode: large results of every kind fit, and their rest is kept (${from})`, async (t) => {
    const origin = await startServer(t);
    const gateway = await startGateway(t, { servers: { big: entries(origin)[from] }, mode: 'gateway' });
    const client = await connect(t, gateway);
    for (const kind of kindsOf(from)) {
      const tool = await idOf(client, 'big', kind);
      const result = await client.call('tool_execute', { tool_id: tool, args: { bytes: BYTES } }, PATIENCE);
      assert.ok(!result.isError, `${kind}: ${JSON.stringify(result).slice(0, 500)}`);
      assert.ok(countTokens(result.content.map((part) => part.text ?? '').join('\n')) <= 2000, `${kind}: within the budget`);
      assert.ok(result.structuredContent.artifacts.length > 0, `${kind}: the rest is kept`);
      for (const { handle } of result.structuredContent.artifacts) {
        const view = await client.call('tool_view', { handle, selector: { type: 'head', chars: 40 } }, PATIENCE);
        assert.ok(!view.isError && textOf(view).length > 0, `${kind}: ${handle} can be viewed`);
      }
    }
  });

  test(`direct mode: every byte of a large result arrives (${from})`, async (t) => {
    const origin = await startServer(t);
    const gateway = await startGateway(t, { servers: { big: entries(origin)[from] }, mode: 'direct' });
    const client = await connect(t, gateway);
    for (const [index, kind] of kindsOf(from).entries()) {
      const want = await ask(origin, kind, BYTES);
      const id = index % 2 ? '"a long id of the client"' : '1';  // one that has no room where the server's was, one that has
      const params = `{"name":"${kind}","arguments":{"bytes":${BYTES}}}`;
      const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`;
      // Not by the client, which would read all of its values: 25 million are too many for this program.
      const response = await fetch(client.url, { method: 'POST', headers: client.headers(), body });
      const text = await response.text();
      const start = `{"jsonrpc":"2.0","id":${id}`;
      assert.ok(text.startsWith(start), text.slice(0, 100));
      assert.equal(text.length - start.length, want.length, kind);
      assert.equal(sha256(text.slice(start.length)), sha256(want), kind);
    }
  });
}

test('a large text is kept whole: its hash is that of what the server wrote', async (t) => {
  const origin = await startServer(t);
  const gateway = await startGateway(t, { servers: { big: entries(origin).json }, mode: 'gateway' });
  const client = await connect(t, gateway);
  for (const kind of ['plain', 'log', 'escaped']) {
    const { result: whole } = JSON.parse(`{"a":1${await ask(origin, kind, BYTES)}`);
    const text = whole.content.map((part) => part.text).join('\n');
    const tool_id = await idOf(client, 'big', kind);
    const result = await client.call('tool_execute', { tool_id, args: { bytes: BYTES } }, PATIENCE);
    const kept = result.structuredContent.artifacts.find(({ handle }) => handle === handleOf(result));
    assert.equal(kept.content_hash, sha256(text), kind);
    assert.equal(kept.size_bytes, Buffer.byteLength(text), kind);
  }
});

test('a large result that fits the budget is passed on whole', async (t) => {
  const origin = await startServer(t);
  const config = writeJson(path.join(tempDir(t), 'toolgate.json'), { result: { budget: 1_000_000 } });
  const servers = { big: entries(origin).json };
  const gateway = await startGateway(t, { servers, mode: 'gateway', args: ['--config', config] });
  const client = await connect(t, gateway);
  for (const kind of ['plain', 'rows', 'escaped']) {
    const { result: want } = JSON.parse(`{"a":1${await ask(origin, kind, 2 << 20)}`);
    const got = await client.call('tool_execute', { tool_id: await idOf(client, 'big', kind), args: { bytes: 2 << 20 } });
    assert.deepEqual(got.content, want.content, kind);
  }
});

test('many clients with large results at once are all answered, one after the other', async (t) => {
  const origin = await startServer(t);
  const gateway = await startGateway(t, { servers: { big: entries(origin).json }, mode: 'gateway' });
  const clients = await Promise.all(Array.from({ length: 20 }, () => connect(t, gateway)));
  const tool_id = await idOf(clients[0], 'big', 'log');
  const call = (client) => client.call('tool_execute', { tool_id, args: { bytes: BYTES } }, PATIENCE);
  const results = await Promise.all(clients.map(call));
  for (const result of results) assert.equal(handleOf(result), handleOf(results[0]));
});

test('a client that gives up while its large result is read leaves nothing behind', async (t) => {
  const origin = await startServer(t);
  const gateway = await startGateway(t, { servers: { big: entries(origin).json }, mode: 'gateway' });
  const client = await connect(t, gateway);
  const tool_id = await idOf(client, 'big', 'numbers');
  for (let ms = 0; ms < 200; ms += 20) {
    const hasty = await connect(t, gateway, { maxSockets: 1 });
    const call = hasty.call('tool_execute', { tool_id, args: { bytes: BYTES } }).catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, ms));  // not to wait for anything: to hit different moments
    hasty.agent.destroy();
    await call;
  }
  const result = await client.call('tool_execute', { tool_id, args: { bytes: BYTES } }, PATIENCE);
  assert.ok(!result.isError, JSON.stringify(result).slice(0, 500));
});

test('calls that are recorded may have large results', async (t) => {
  const origin = await startServer(t);
  const config = { context: { record: true } };
  const gateway = await startRecording(t, { servers: { big: entries(origin).json }, config });
  const client = new HttpClient(gateway.url);
  onEnd(t, () => client.close());
  await client.connect();
  for (const kind of ['log', 'rows', 'numbers', 'parts']) {
    const result = await client.call(kind, { bytes: BYTES }, PATIENCE);
    assert.ok(!result.isError && (result.content.length || result.structuredContent), kind);
  }
});

test('a gateway that is stopped while a large result is worked on ends in order', async (t) => {
  const origin = await startServer(t);
  for (const ms of [0, 40, 80, 160]) {
    const gateway = await startGateway(t, { servers: { big: entries(origin).json }, mode: 'gateway' });
    const client = await connect(t, gateway, { maxSockets: 4 });
    const tool_id = await idOf(client, 'big', 'log');
    const calls = [1, 2, 3].map(() => client.call('tool_execute', { tool_id, args: { bytes: BYTES } }).catch(() => {}));
    await new Promise((resolve) => setTimeout(resolve, ms));  // not to wait for anything: to hit different moments
    client.agent.destroy();
    await gateway.stop();
    await Promise.all(calls);
  }
});
