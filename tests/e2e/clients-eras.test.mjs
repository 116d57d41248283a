// SPDX-License-Identifier: Apache-2.0
// Official clients of 2026-07-28 with official servers that have sessions: through Toolgate they get what they would
// get from them if they spoke their revision. And what all clients do to servers of both eras: cancel calls.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { callWith, MODERN, SDKS } from './lib/clients.mjs';
import { ask, requests, timeless, TRANSPORTS, world } from './lib/compare.mjs';
import { startGateway } from './lib/gateway.mjs';
import { onEnd, suiteScope, until } from './lib/process.mjs';
import { fixture, watcher } from './lib/servers.mjs';

const CLIENTS = { ...SDKS, ...MODERN };

describe('servers that have sessions, clients that have none', () => {
  const suite = suiteScope();
  const here = world(suite);
  const requested = requests(here.files, true);
  let direct;
  before(async () => {
    const sessions = {};
    for (const [name, server] of Object.entries(here.servers())) {
      // These servers have no other revision: without Toolgate a client that is pinned could not speak to them.
      const session = sessions[name] = await MODERN['client 2.x, auto'](server, here);
      onEnd(suite, () => session.close());
      assert.equal(session.client.getNegotiatedProtocolVersion(), '2025-11-25');
    }
    direct = await ask(sessions, requested, 1);
  });

  for (const [client, open] of Object.entries(MODERN)) {
    for (const [transport, start] of Object.entries(TRANSPORTS)) {
      test(`${client} gets the lists and answers of three servers through Toolgate on ${transport}`, async t => {
        const session = await open(await start(t, { servers: here.servers() }), here);
        onEnd(t, () => session.close());
        assert.equal(session.client.getNegotiatedProtocolVersion(), '2026-07-28');
        const sessions = { everything: session, filesystem: session, memory: session };
        const { lists, outcomes } = await ask(sessions, requested, 1);
        assert.deepEqual(timeless(lists), timeless(direct.lists));
        for (const [i, request] of requested.entries())
          assert.deepEqual(outcomes[i], direct.outcomes[i], JSON.stringify(request).slice(0, 200));
      });
    }
  }
});

describe('cancelling by AbortSignal', () => {
  const servers = { old: watcher(), young: watcher('--modern') };
  for (const [transport, start] of Object.entries(TRANSPORTS)) {
    for (const [client, open] of Object.entries(CLIENTS)) {
      test(`servers of both eras hear that ${client} cancels a call on ${transport}`, async t => {
        const target = await start(t, { servers });
        const session = await open(target, {});
        onEnd(t, () => session.close());
        await session.listTools();
        // Each call of a client may have a process of its own, so it is their log that tells.
        const log = () => target.program?.stderr ?? session.stderr;
        const said = what => until(() => log().includes(what), () => `no "${what}" in: ${log()}`);
        for (const server of Object.keys(servers)) {
          const abort = new AbortController();
          const call = { name: `${server}__wait`, arguments: {} };
          const rejected = assert.rejects(callWith(client, session, call, { signal: abort.signal }));
          await said(`${server}: a call waits`);
          abort.abort('changed my mind');
          await rejected;
          await said(`${server}: a call was cancelled`);
        }
      });
    }
  }
});

test('a listener of client 2.x ends in good order when the gateway stops', async t => {
  const gateway = await startGateway(t, { servers: { fixture: fixture() } });
  const session = await MODERN['client 2.x, pinned']({ url: gateway.url });
  await session.listTools();
  const subscription = await session.client.listen({ toolsListChanged: true });
  await gateway.stop();
  assert.equal(await subscription.closed, 'graceful');
  await session.client.close();
});
