// SPDX-License-Identifier: Apache-2.0
// A client takes over the connection that was opened ahead for clients like it.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { tempDir } from './lib/process.mjs';
import { deferred, HttpClient, onEnd, RpcError, startGateway } from './lib/raw.mjs';
import { makeUpstream } from './servers/features.mjs';

const CAPABILITIES = { roots: {}, elicitation: {} };

/** A client of a gateway before `up`. Gateways of one `state` remember the capabilities of the last client. */
async function connect(t, up, state) {
  const config = { timeouts: { start_wait: 60 } };
  const gateway = await startGateway(t, { servers: { up }, config, env: { XDG_STATE_HOME: state } });
  const client = new HttpClient(gateway.url, { capabilities: CAPABILITIES, structured: false });
  client.handlers.set('roots/list', () => ({ roots: [] }));
  onEnd(t, () => client.close());
  await client.connect();
  return { gateway, client };
}

test('a server that is taken over before its handshake hears the capabilities of the client', { timeout: 60_000 }, async (t) => {
  const state = tempDir(t);
  const up = await makeUpstream('stdio', 'up', { entry: { cwd: state } }); // the same server for both
  const echo = async (client, value) => (await client.call('up_echo', { value })).structuredContent.got.value;
  const first = await connect(t, up, state);
  await first.client.tools();
  assert.equal(await echo(first.client, 1), 1);
  await first.gateway.stop();

  const [asked, release] = [deferred(), deferred()];
  up.on('server/discover', async () => {
    asked.resolve();
    await release.promise;
    throw new RpcError(-32601, 'Method not found');
  });
  const again = await connect(t, up, state);
  await asked.promise;
  const call = echo(again.client, 2);
  await again.client.ask('ping', {}); // the call came first, and has its connection now
  release.resolve();
  assert.equal(await call, 2);
  assert.deepEqual(up.connections.map((c) => c.init.capabilities), [CAPABILITIES]);
  await again.gateway.stop();
});
