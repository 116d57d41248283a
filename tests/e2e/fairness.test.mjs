// SPDX-License-Identifier: Apache-2.0
// One principal (one token) gets its share and no more, however many agents it says it is, connections it wants and
// sessions it opens: others find their turn, their place and their session.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import path from 'node:path';
import { describe, test } from 'node:test';

import { open, startMeta } from './lib/meta.mjs';
import { tempDir, writeJson } from './lib/process.mjs';
import { HttpClient, onEnd, resultText } from './lib/raw.mjs';
import { makeUpstream } from './servers/features.mjs';

const WAIT_MS = 60_000;
const ANN = 'ann', BOB = 'bob';
const tokenOf = (agent) => `token-of-${agent}-0123456789abcdef`;
const sha256 = (text) => crypto.createHash('sha256').update(text).digest('hex');
const bearer = (agent) => ({ authorization: `Bearer ${tokenOf(agent)}` });
const isHold = (e) => e.msg?.method === 'tools/call' && e.msg.params.name === 'up_hold';
const nextCall = (up) => up.next(isHold, 'the next call', WAIT_MS);
const answer = ({ msg, peer, ctx }) => peer.transmit(resultText(JSON.stringify(msg.id), { content: [] }), ctx);

/** A gateway in mode servers before the server `up`: each agent has a token, and may act as any role below it. */
async function start(t, { entry = {}, limits = {} } = {}) {
  const up = await makeUpstream('stdio', 'up', { entry });
  const auth = { tokens: [ANN, BOB].map((agent) => ({ sha256: sha256(tokenOf(agent)), agent })) };
  const all = { allow: { servers: ['up'], tools: { up: ['*'] } } };
  const rules = writeJson(path.join(tempDir(t), 'rules.json'), { agents: { [ANN]: all, [BOB]: all } });
  const gateway = await startMeta(t, { mode: 'servers', servers: { up }, config: { auth, limits }, args: ['--rules', rules] });
  return { up, gateway };
}

const as = (t, gateway, agent, options = {}) => open(t, gateway, 'http', { headers: bearer(agent), ...options });
const hold = (client, agent_id) =>
  client.request('tools/call', { name: 'execute_tool', arguments: { agent_id, server: 'up', tool: 'up_hold', args: { of: agent_id } } });

describe('a token that names many agents', () => {
  test('has one turn when another has one', async (t) => {
    const { up, gateway } = await start(t, { entry: { isolation: 'shared', maxInFlight: 1 } });
    const [ann, bob] = [await as(t, gateway, ANN), await as(t, gateway, BOB)];
    const calls = [hold(ann, ANN)];
    let running = await nextCall(up);
    for (let i = 0; i < 20; i++) calls.push(hold(ann, `${ANN}.x${i}`));
    await ann.ask('ping');
    for (let i = 0; i < 5; i++) calls.push(hold(bob, BOB));
    await bob.ask('ping'); // all of them have come
    const order = [];
    for (let i = 0; i < 25; i++) {
      answer(running);
      running = await nextCall(up);
      order.push(running.msg.params.arguments.of);
    }
    answer(running);
    for (const { result } of await Promise.all(calls)) assert.equal(result.isError ?? false, false);
    assert.deepEqual(order.slice(0, 10).map((of) => of.split('.')[0]), Array(5).fill([ANN, BOB]).flat());
  });

  test('leaves connections to another', async (t) => {
    const { up, gateway } = await start(t, { limits: { own_connections: 4 } });
    const [ann, bob] = [await as(t, gateway, ANN), await as(t, gateway, BOB)];
    const calls = [hold(ann, `${ANN}.x0`), hold(ann, `${ANN}.x1`)];
    const held = [await nextCall(up), await nextCall(up)];
    const { result } = await hold(ann, `${ANN}.x2`);
    assert.equal(result.structuredContent.error.code, 'RATE_LIMITED');
    assert.match(result.structuredContent.error.message, /this principal has 2 connections to server "up"/);
    calls.push(hold(bob, BOB));
    held.push(await nextCall(up));
    held.forEach(answer);
    for (const each of await Promise.all(calls)) assert.equal(each.result.isError ?? false, false);
    // When its first calls are over, what they used makes room.
    const last = hold(ann, `${ANN}.x2`);
    answer(await nextCall(up));
    assert.equal((await last).result.isError ?? false, false);
  });
});

describe('a token that opens many sessions', () => {
  const come = async (t, gateway, agent) => {
    const client = new HttpClient(gateway.url, { headers: bearer(agent) });
    onEnd(t, () => client.close().catch(() => {}));
    await client.initialize();
    return client;
  };
  /** The HTTP status of a client's next request. */
  const status = async (gateway, client, agent) => (await fetch(new URL('/mcp', gateway.url), {
    method: 'POST',
    headers: { ...bearer(agent), 'content-type': 'application/json', 'mcp-session-id': client.session },
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
  })).status;

  test('ends its own that it used longest ago, and no others', async (t) => {
    const { gateway } = await start(t, { limits: { sessions: 10 } });
    const bob = await come(t, gateway, BOB);
    const mine = [];
    for (let i = 0; i < 20; i++) mine.push(await come(t, gateway, ANN));
    assert.equal(await status(gateway, mine[0], ANN), 404);
    assert.equal(await status(gateway, mine.at(-1), ANN), 200);
    assert.equal(await status(gateway, bob, BOB), 200);
    await come(t, gateway, BOB);
  });

  test('is refused when all of them are in use, and others are not', async (t) => {
    const { gateway } = await start(t, { limits: { sessions: 100, principal_sessions: 2 } });
    const listening = [await as(t, gateway, ANN), await as(t, gateway, ANN)];
    const refused = await fetch(new URL('/mcp', gateway.url), {
      method: 'POST',
      headers: { ...bearer(ANN), 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'n', version: '1' } } }),
    });
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get('retry-after'), '5');
    assert.match(await refused.text(), /too many sessions of this principal, all in use/);
    await as(t, gateway, BOB);
    await listening[0].close();
    await as(t, gateway, ANN);
  });
});
