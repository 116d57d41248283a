// SPDX-License-Identifier: Apache-2.0
// Many stateless clients whose calls make a server with a session ask: each gets its own question and nobody else's,
// and those that do not come back leave nothing behind.
// Runs alone: it measures memory and starts many processes.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { descendants } from './lib/process.mjs';
import { deferred, startGateway, until, within } from './lib/raw.mjs';
import { accept, ask, ASKABLE, form, handshakeServer, HttpCaller, text } from './lib/stateless.mjs';

const TOKENS = ['token-of-the-first-client', 'token-of-the-other-one'];
const keyOf = (result) => Object.keys(result.inputRequests)[0];

/** `count` times `work(i)`, `width` at a time. */
async function repeat(count, width, work) {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

for (const kind of ['http', 'stdio']) {
  for (const [who, tokens] of Object.entries({ 'one credential': [], 'two credentials': TOKENS })) {
    test(`20 clients of ${who} at once, asked by a server on ${kind}, get their own question and result`, async (t) => {
      const CLIENTS = 20;
      let waiting = 0;
      const all = deferred();
      const up = await handshakeServer(kind, { tools: {
        plain: () => text('plain'),
        // Nobody is asked before everybody has called.
        name: async ({ n, round }, entry) => {
          if (round === 0 && ++waiting === CLIENTS) all.resolve();
          await all.promise;
          const { content } = await ask(entry, 'elicitation/create', form(`question ${n} ${round}`));
          const second = await ask(entry, 'elicitation/create', form(`another ${n} ${round}`));
          return text(`${n} ${round}: ${content.name}, ${second.content.name}`);
        },
      } });
      const config = { limits: { own_connections: 64 }, ...(tokens.length && { auth: { tokens } }) };
      const gateway = await startGateway(t, { servers: { up }, config });
      // They all say the same of themselves: only what they ask tells them apart.
      const clients = Array.from({ length: CLIENTS }, (_, i) =>
        new HttpCaller(gateway.url, { capabilities: ASKABLE, token: tokens[i % 2] }));
      await Promise.all(clients.map(async (client, n) => {
        for (const round of [0, 1, 2]) {
          const args = { n, round };
          let answer = await client.call('name', args);
          for (const [kindOf, reply] of [['question', `first ${n}`], ['another', `second ${n}`]]) {
            assert.equal(answer.result?.resultType, 'input_required', JSON.stringify(answer));
            const requests = Object.values(answer.result.inputRequests);
            assert.deepEqual(requests.map((r) => r.params.message), [`${kindOf} ${n} ${round}`]);
            answer = await client.call('name', args,
              { inputResponses: { [keyOf(answer.result)]: accept(reply) }, requestState: answer.result.requestState });
          }
          assert.equal(answer.result.content[0].text, `${n} ${round}: first ${n}, second ${n}`);
        }
        client.close();
      }));
    });
  }
}

/** A gateway whose clients do not come back: they have 0.1 s, and what was lent to them is closed after 1 s. */
async function startAbandoned(t, kind, ownConnections, timeouts) {
  const open = new Set();
  const up = await handshakeServer(kind, { name: 'up', tools: {
    plain: () => text('plain'),
    leave: async ({ n }, entry) => {
      const { msg, peer, ctx } = entry;
      const call = `${peer.id ?? peer.pid} ${msg.id}`;
      open.add(call);
      ctx?.res?.on('close', () => open.delete(call));
      // Refused when the client has not come back in time.
      await ask(entry, 'elicitation/create', form(`question ${n}`)).catch(() => {});
      if (kind === 'stdio') open.delete(call);
      await new Promise(() => {});
    },
  } });
  const gateway = await startGateway(t, { servers: { up }, config: {
    timeouts: { input: 0.1, session_idle: 1, session_away: 1, drain: 0, ...timeouts },
    limits: { own_connections: ownConnections },
  } });
  const caller = new HttpCaller(gateway.url, { capabilities: ASKABLE });
  await caller.call('plain');
  let asked = 0, refused = 0;
  const abandon = async (count, width) => {
    for (const end = asked + count; asked < end; )
      await repeat(end - asked, width, async (n) => {
        const { result, error, status } = await caller.call('leave', { n });
        if (result?.resultType === 'input_required') asked++;
        else if (/own_connections/.test(error?.message)) refused++;
        else assert.fail(`HTTP ${status} ${JSON.stringify(result ?? error)}`);
        up.inbox.entries.length = 0;
      });
  };
  const settle = () => until(() => open.size === 0, () => `${open.size} calls are open at the server`);
  return { up, gateway, caller, abandon, settle, counts: () => ({ asked, refused }) };
}

describe('clients that do not come back', () => {
  test('10 000 calls that were asked and abandoned over HTTP leave nothing behind', async (t) => {
    const { up, gateway, caller, abandon, settle, counts } = await startAbandoned(t, 'http', 500);
    // What calls leave behind is left by each of them; what an allocator keeps for later grows for a while, and then no
    // more: in one stretch, half a kilobyte a call would show.
    const grown = [];
    await abandon(2000, 100);
    for (let stretch = 0; stretch < 5; stretch++) {
      await settle();
      const before = gateway.rssKb();
      await abandon(2000, 100);
      await settle();
      grown.push(gateway.rssKb() - before);
    }
    const { asked, refused } = counts();
    t.diagnostic(`${asked} asked, ${refused} refused; resident memory grew by ${grown.join(' and ')} KiB`);
    assert.ok(asked >= 10_000);
    assert.ok(Math.min(...grown) < 1024, `resident memory grew by ${grown.join(' and ')} KiB`);
    // What is lent out is closed when nobody wants it for a while; the connection that all share stays.
    await until(() => up.sessions.size <= 1, () => `${up.sessions.size} sessions at the server`);
    assert.equal((await caller.call('plain')).result.content[0].text, 'plain');
    caller.close();
  });

  test('300 calls that were asked and abandoned leave no process of a stdio server', async (t) => {
    const { gateway, caller, abandon, settle, counts } = await startAbandoned(t, 'stdio', 12);
    const children = () => descendants(gateway.pid).filter((p) => p.command.includes('pipe.mjs')).length;
    await abandon(300, 10);
    await settle();
    t.diagnostic(JSON.stringify(counts()));
    await until(() => children() <= 1, () => `${children()} processes`);
    assert.equal((await caller.call('plain')).result.content[0].text, 'plain');
    caller.close();
  });

  test('where there is no connection left, the call that waits longest for its client makes room', async (t) => {
    const { caller } = await startAbandoned(t, 'http', 2, { input: 60 });
    const [first] = [await caller.call('leave', { n: 1 }), await caller.call('leave', { n: 2 })];
    const third = await within(caller.call('leave', { n: 3 }), 'a call');
    assert.equal(third.result.resultType, 'input_required');
    const { requestState, inputRequests } = first.result;
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((k) => [k, { action: 'decline' }]));
    const late = await caller.send('tools/call', { name: 'leave', arguments: { n: 1 }, requestState, inputResponses });
    assert.equal(late.error.code, -32602);
    assert.match(late.error.message, /has ended/);
    caller.close();
  });
});
