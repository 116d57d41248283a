// SPDX-License-Identifier: Apache-2.0
// An id that stands for nothing: the caller is told whether it never did, has another version now, or belongs to a
// server that is not there. Nothing is called in its place.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { faultOf, idOf, open, startMeta } from './lib/meta.mjs';
import { until } from './lib/raw.mjs';
import { handshakeServer, text } from './lib/stateless.mjs';

const object = (...names) => ({ type: 'object', properties: Object.fromEntries(names.map((n) => [n, { type: 'string' }])) });
const ISSUE = { name: 'create_issue', description: 'Create an issue', inputSchema: object('title') };
const CLOSE = { name: 'close_issue', description: 'Close an issue', inputSchema: object('id') };
const DOWN = { command: '/nonexistent/program' };

async function start(t, { servers = {}, mode } = {}) {
  const up = await handshakeServer('stdio', { name: 'tracker' });
  up.tools = [ISSUE, CLOSE];
  up.called = [];
  up.on('tools/list', (params, { peer }) => {
    up.peer = peer;
    return { tools: up.tools };
  });
  up.on('tools/call', ({ name }) => {
    up.called.push(name);
    return text(name);
  });
  const gateway = await startMeta(t, { servers: { tracker: up, ...servers }, mode, config: { timeouts: { start_wait: 1 } } });
  const client = await open(t, gateway);
  const execute = (tool_id) => client.call('tool_execute', { tool_id, args: {} });
  return { up, client, execute };
}

describe('a tool that is not there', () => {
  test('is told with ids that look like it', async (t) => {
    const { execute, up } = await start(t);
    const fault = faultOf(await execute('tracker:create_isue#00000000'), 'HYDRATE_FAILED');
    assert.equal(fault.retryable, false);
    assert.equal(fault.details.reason, 'not_found');
    assert.ok(fault.details.suggestions.some((id) => id.startsWith('tracker:create_issue#')));
    assert.equal(faultOf(await execute('nowhere at all'), 'HYDRATE_FAILED').details.reason, 'not_found');
    assert.deepEqual(up.called, []);
  });

  test('is told however much was sent with it', async (t) => {
    const { client } = await start(t);
    for (const size of [10, 4_000, 100_000, 400_000]) {
      const args = { list: Array.from({ length: size }, (_, i) => i), more: {} };
      faultOf(await client.call('tool_execute', { tool_id: 'nope', args }), 'HYDRATE_FAILED');
      faultOf(await client.call('tool_execute', { tool_id: 'n'.repeat(size), args: {} }), 'HYDRATE_FAILED');
    }
  });

  test('says what it is called since its arguments changed, and is not called', async (t) => {
    const { client, execute, up } = await start(t);
    const old = await idOf(client, 'tracker', 'create_issue');
    up.tools = [{ ...ISSUE, inputSchema: object('title', 'body') }, CLOSE];
    up.peer.notify('notifications/tools/list_changed');
    const now = await until(async () => {
      const id = await idOf(client, 'tracker', 'create_issue');
      return id !== old && id;
    }, 'the new id');
    const fault = faultOf(await execute(old), 'HYDRATE_FAILED');
    assert.equal(fault.details.reason, 'renamed');
    assert.equal(fault.details.renamed_to, now);
    assert.ok(fault.message.includes(now));
    assert.deepEqual(up.called, []);
  });

  test('may come with its server, which is not available now', async (t) => {
    const { execute } = await start(t, { servers: { away: DOWN } });
    const fault = faultOf(await execute('away:thing#00000000'), 'HYDRATE_FAILED');
    assert.equal(fault.details.reason, 'unavailable');
    assert.equal(fault.details.server, 'away');
    assert.ok(Number.isInteger(fault.details.retry_after) && fault.details.retry_after >= 1, JSON.stringify(fault));
    assert.equal(fault.retryable, true);
  });

  test('is told in mode transparent too', async (t) => {
    const { execute } = await start(t, { servers: { away: DOWN }, mode: 'transparent' });
    assert.equal(faultOf(await execute('away:thing#00000000'), 'HYDRATE_FAILED').details.reason, 'unavailable');
    assert.equal(faultOf(await execute('tracker:thing#00000000'), 'HYDRATE_FAILED').details.reason, 'not_found');
  });
});
