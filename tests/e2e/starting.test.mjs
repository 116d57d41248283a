// SPDX-License-Identifier: Apache-2.0
// Starting is not failing: what an agent sees of servers that need longer to start than it waits.
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test } from 'node:test';

import { faultOf, open, startMeta, textOf } from './lib/meta.mjs';
import { deferred, HttpClient, onEnd, startGateway, until } from './lib/raw.mjs';
import { tempDir, writeJson } from './lib/process.mjs';
import { countTokens } from './lib/tokens.mjs';
import { makeUpstream } from './servers/features.mjs';

/** A gateway before `quick`, which is there, and `slow`, which answers its handshake when `release` is called. */
async function start(t, { mode = 'gateway', timeouts, entry, servers = {}, ...more } = {}) {
  const [quick, slow] = [await makeUpstream('stdio', 'quick'), await makeUpstream('stdio', 'slow', { entry })];
  const gate = deferred();
  const answer = slow.handlers.get('initialize');
  slow.on('initialize', async (...args) => {
    await gate.promise;
    return answer(...args);
  });
  const options = { servers: { quick, slow, ...servers }, config: { timeouts }, mode, ...more };
  const gateway = await (mode === 'direct' ? startGateway : startMeta)(t, options);
  await until(() => /quick: ready in/.test(gateway.log), 'the quick server');
  return { gateway, slow, release: gate.resolve };
}

/** The ids of the cards in an answer, which may have other lines too. */
const idsOf = (result) => [...textOf(result).matchAll(/^\[\d+\/\d+\] (\S+) /gm)].map(([, id]) => id);

const STARTING = /Still starting: slow; try again in a few seconds\.$/;
const isStarting = (fault) => {
  assert.match(fault.message, /is still starting; try again in a few seconds/);
  assert.equal(fault.retryable, true);
};

describe('gateway: a server that is starting', () => {
  test('is named below the cards of those that are there, and found when it is ready', async (t) => {
    const { gateway, release } = await start(t, { timeouts: { start_wait: 0.3 } });
    const client = await open(t, gateway);
    for (const args of [{ path: '/' }, { query: 'quick echo' }]) {
      const result = await client.call('tool_browse', args);
      assert.ok(!result.isError);
      assert.ok(idsOf(result).length > 0);
      assert.match(textOf(result), STARTING);
      assert.doesNotMatch(textOf(result), /not available|in time|unavailable/i);
    }
    isStarting(faultOf(await client.call('tool_browse', { path: '/slow' }), 'PATH_NOT_FOUND'));
    release();
    await until(async () => idsOf(await client.call('tool_browse', { path: '/' })).includes('/slow'), 'the slow server');
    assert.doesNotMatch(textOf(await client.call('tool_browse', { path: '/' })), /starting/i);
  });

  test('is waited for inside the first browse', async (t) => {
    const { gateway, slow, release } = await start(t, { timeouts: { start_wait: 60 } });
    const client = await open(t, gateway);
    const first = client.call('tool_browse', { path: '/' });
    await slow.next((e) => e.msg?.method === 'initialize', 'its handshake');
    release();
    assert.ok(idsOf(await first).includes('/slow'));
  });

  test('is waited for by a call of one of its tools, as long as the call may take', async (t) => {
    const { gateway, slow, release } = await start(t, { timeouts: { start_wait: 0.3 } });
    const client = await open(t, gateway);
    await client.call('tool_browse', { path: '/' });
    const answer = client.call('tool_execute', { tool_id: 'slow:slow_echo', args: { value: 1 } });
    await client.roundTrip();
    release();
    assert.ok(!(await answer).isError);
    assert.ok(slow.inbox.has((e) => e.msg?.method === 'tools/call'));
  });

  test('fails a call that waited that long, which may be tried again', async (t) => {
    const { gateway } = await start(t, { timeouts: { start_wait: 0.3 }, entry: { timeout: 500 } });
    const client = await open(t, gateway);
    const fault = faultOf(await client.call('tool_execute', { tool_id: 'slow:slow_echo', args: {} }), 'TOOL_NOT_FOUND');
    isStarting(fault);
    assert.equal(fault.details.reason, 'starting');
    assert.equal(fault.details.server, 'slow');
    assert.equal(fault.details.retry_after, 2);
  });

  test('and many others are named within the cap of the answer', async (t) => {
    const many = Object.fromEntries(Array.from({ length: 24 }, (_, i) =>
      [`a-server-with-a-rather-long-name-that-takes-many-tokens-${i}`, { command: 'sleep', args: ['1000'] }]));
    const { gateway } = await start(t, { timeouts: { start_wait: 0.3 }, servers: many });
    const client = await open(t, gateway);
    for (const [args, pattern] of [
      [{ path: '/' }, /Still starting: .* and \d+ more; try again in a few seconds\.$/],
      [{ query: 'zzzzqqqq' }, /(Still starting: .* and \d+ more|25 servers are still starting); try again in a few seconds\.$/],
    ]) {
      const result = await client.call('tool_browse', args);
      assert.match(textOf(result), pattern);
      const [tokens, most] = [countTokens(textOf(result)), 80 * idsOf(result).length + 32];
      assert.ok(tokens <= most, `${tokens} of ${most} tokens: ${textOf(result)}`);
    }
  });
});

test('direct: a name that is not known yet is refused for now', async (t) => {
  const { gateway, release } = await start(t, { mode: 'direct', timeouts: { start_wait: 0.3 } });
  const client = new HttpClient(gateway.url);
  onEnd(t, () => client.close());
  await client.connect();
  await client.tools();
  const { error } = await client.request('tools/call', { name: 'slow_echo', arguments: {} });
  assert.equal(error.data.error, 'UPSTREAM_UNAVAILABLE');
  assert.equal(error.data.retryable, true);
  assert.match(error.message, /unknown tool "slow_echo", but these servers are still starting: slow; try again in a few seconds/);
  release();
  await until(async () => !(await client.request('tools/call', { name: 'slow_echo', arguments: {} })).error, 'the tool');
  const unknown = await client.request('tools/call', { name: 'nothing', arguments: {} });
  assert.match(unknown.error.message, /^Unknown tool/);
});

describe('while a server starts, what an agent may not see takes as long as what does not exist', () => {
  const rules = (t) => writeJson(path.join(tempDir(t), 'rules.json'), {
    agents: { clerk: { allow: { servers: ['slow'], tools: { slow: ['*'] } } } },
    defaults: { deny_on_missing_agent: false },
  });
  const named = (id) => ({
    gateway: [['tool_execute', { tool_id: id, args: {} }], ['tool_browse', { tool_id: id }],
      ['resource_browse', { resource_id: `resource::${id}` }], ['resource_read', { resource_id: `resource::${id}` }],
      ['prompt_browse', { prompt_id: `prompt::${id}` }], ['prompt_get', { prompt_id: `prompt::${id}` }]],
    transparent: [['tool_execute', { tool_id: id, args: {} }], ['tool_hydrate', { tool_id: id }]],
  });
  for (const mode of ['gateway', 'transparent']) {
    test(mode, async (t) => {
      const { gateway, release } = await start(t, {
        mode, timeouts: { start_wait: 60 }, args: ['--rules', rules(t)], env: { GATEWAY_DEFAULT_AGENT: 'clerk' },
      });
      const client = await open(t, gateway);
      const answered = [], answers = [];
      for (const id of ['quick:quick_echo', 'quick:nosuch', 'quick_echo', 'nosuch:quick_echo']) {
        for (const [name, args] of named(id)[mode]) {
          answers.push(client.call(name, args).catch(() => {}).then(() => answered.push(`${name} ${id}`)));
        }
      }
      await client.roundTrip();
      assert.deepEqual(answered, []);
      release();
      await Promise.all(answers);
    });
  }
});

test('servers: its tools and calls say that it is starting', async (t) => {
  const { gateway, release } = await start(t, { mode: 'servers', timeouts: { start_wait: 0.3 }, entry: { timeout: 500 } });
  const client = await open(t, gateway);
  for (const [name, args] of [['get_server_tools', {}], ['execute_tool', { tool: 'slow_echo', args: {} }]]) {
    const result = await client.call(name, { server: 'slow', ...args });
    const { error } = JSON.parse(textOf(result));
    assert.equal(error.code, 'SERVER_UNAVAILABLE');
    assert.match(error.message, /is still starting; try again in a few seconds/);
  }
  release();
  await until(async () => !(await client.call('execute_tool', { server: 'slow', tool: 'slow_echo', args: {} })).isError, 'the call');
});
