// SPDX-License-Identifier: Apache-2.0
// An id that stands for nothing: the caller is told whether it never did, has another version now, or belongs to a
// server that is not there. Nothing is called in its place.
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test } from 'node:test';

import { faultOf, idOf, open, startMeta } from './lib/meta.mjs';
import { tempDir, writeJson } from './lib/process.mjs';
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
    assert.ok(fault.message.includes(fault.details.suggestions[0]), fault.message);
    assert.equal(faultOf(await execute('nowhere at all'), 'TOOL_NOT_FOUND').details.reason, 'not_found');
    assert.deepEqual(up.called, []);
  });

  test('is told however much was sent with it', async (t) => {
    const { client } = await start(t);
    for (const size of [10, 4_000, 20_000, 65_000]) {
      const args = { list: Array.from({ length: size }, (_, i) => i), more: {} };
      faultOf(await client.call('tool_execute', { tool_id: 'nope', args }), 'TOOL_NOT_FOUND');
      faultOf(await client.call('tool_execute', { tool_id: 'n'.repeat(size), args: {} }), 'TOOL_NOT_FOUND');
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

  test('says what it is called now when only its name changed, and is not called', async (t) => {
    const { client, execute, up } = await start(t);
    const old = await idOf(client, 'tracker', 'create_issue');
    const change = async (tools) => {
      up.tools = tools;
      up.peer.notify('notifications/tools/list_changed');
      return until(async () => idOf(client, 'tracker', tools[0].name).catch(() => undefined), tools[0].name);
    };
    const now = await change([{ ...ISSUE, name: 'issue_create' }, CLOSE]);
    const fault = faultOf(await execute(old), 'HYDRATE_FAILED');
    assert.equal(fault.details.reason, 'renamed');
    assert.equal(fault.details.renamed_to, now);
    // The hash is that of the name too: the right one shows that there was such a tool.
    assert.equal(faultOf(await execute('tracker:create_issue#00000000'), 'HYDRATE_FAILED').details.reason, 'not_found');
    await change([{ ...ISSUE, name: 'issue_new' }, { ...ISSUE, name: 'issue_other' }]);
    assert.equal(faultOf(await execute(old), 'HYDRATE_FAILED').details.reason, 'not_found', 'it may be either of two');
    assert.deepEqual(up.called, []);
  });

  test('may come with its server, which is not available now', async (t) => {
    const { execute } = await start(t, { servers: { away: DOWN } });
    const fault = faultOf(await execute('away:thing#00000000'), 'HYDRATE_FAILED');
    assert.equal(fault.details.reason, 'unavailable');
    assert.equal(fault.details.server, 'away');
    assert.match(fault.message, /\(cannot start: no such file\)/, 'it says why');
    assert.equal(fault.details.suggestions, undefined, 'tools of other servers are not what was meant');
    assert.ok(Number.isInteger(fault.details.retry_after) && fault.details.retry_after >= 1, JSON.stringify(fault));
    assert.equal(fault.retryable, true);
  });

  test('is told in mode transparent too', async (t) => {
    const { execute } = await start(t, { servers: { away: DOWN }, mode: 'transparent' });
    assert.equal(faultOf(await execute('away:thing#00000000'), 'HYDRATE_FAILED').details.reason, 'unavailable');
    assert.equal(faultOf(await execute('tracker:thing#00000000'), 'HYDRATE_FAILED').details.reason, 'not_found');
  });
});

describe('servers that are not there', () => {
  test('are named, with the reason, where everything is listed or nothing is found', async (t) => {
    const { client } = await start(t, { servers: { away: DOWN } });
    const away = { server: 'away', reason: /^cannot start: no such file$/ };
    for (const args of [{ path: '/' }, { query: 'zzzzqqqq' }]) {
      const { content, structuredContent: { unavailable } } = await client.call('tool_browse', args);
      assert.equal(unavailable.length, 1);
      assert.equal(unavailable[0].server, away.server);
      assert.match(unavailable[0].reason, away.reason);
      assert.ok(content[0].text.endsWith(`\nNot available now: away (${unavailable[0].reason})`), content[0].text);
    }
    const found = await client.call('tool_browse', { query: 'create an issue' });
    assert.equal(found.structuredContent.unavailable, undefined);
  });

  test('when all are away, nobody is sent to look at what was just looked at', async (t) => {
    const gateway = await startMeta(t, { servers: { one: DOWN, two: DOWN }, config: { timeouts: { start_wait: 1 } } });
    const client = await open(t, gateway);
    const { content: [{ text: said }] } = await client.call('tool_browse', { path: '/' });
    assert.match(said, /^There are no tools\.\nNot available now: one \(.*\), two \(.*\)$/);
  });

  test('are not named to an agent that may not use them', async (t) => {
    const rules = writeJson(path.join(tempDir(t), 'rules.json'), {
      agents: { clerk: { allow: { servers: ['tracker'], tools: { '*': ['*'] } } } },
      defaults: { deny_on_missing_agent: false },
    });
    const gateway = await startMeta(t, {
      servers: { tracker: DOWN, payroll: DOWN }, args: ['--rules', rules],
      env: { GATEWAY_DEFAULT_AGENT: 'clerk' }, config: { timeouts: { start_wait: 1 } },
    });
    const client = await open(t, gateway);
    const { structuredContent: { unavailable } } = await client.call('tool_browse', { path: '/' });
    assert.deepEqual(unavailable.map(({ server }) => server), ['tracker']);
  });
});
