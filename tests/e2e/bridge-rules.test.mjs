// SPDX-License-Identifier: Apache-2.0
// A call that waits for its client's answers, and a task: which server and which rules each of them is bound to, and what
// the audit log says of it.
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test } from 'node:test';

import { linesOf } from './lib/audit.mjs';
import { tempDir } from './lib/process.mjs';
import { MODES, onEnd } from './lib/raw.mjs';
import { rulesOf, tokenOf, World } from './lib/reloading.mjs';
import { accept, ask, ASKABLE, form, handshakeServer, HttpCaller, statelessServer, TASKS, text } from './lib/stateless.mjs';

const ALLOWED = 'agents.boss.allow.tools.*[0]';

/** A server with the tool `ask`, which asks before it does something; `done` says how often it did. */
async function asking(t, name) {
  const inputSchema = { type: 'object', properties: { n: { type: 'integer' } } };
  const run = async (args, entry) => {
    await ask(entry, 'elicitation/create', form('Really?'));
    server.done++;
    return text(`${name} ${JSON.stringify(args)}`);
  };
  const server = await handshakeServer('http', { name, tools: { ask: { inputSchema, run } } });
  onEnd(t, () => server.close());
  return Object.assign(server, { done: 0 });
}

/** A gateway with rules and an audit log, which serves all modes; `lines()` stops it and gives the lines of the log. */
async function start(t, servers, { rules = rulesOf({ boss: ['*'] }), config = {} } = {}) {
  const file = path.join(tempDir(t), 'audit.jsonl');
  const configs = Object.fromEntries(Object.entries(servers).map(([name, server]) => [name, server.config()]));
  const w = await World.start(t, {
    servers: configs, rules, config: { mode: 'direct', modes: MODES, audit: { file }, ...config },
  });
  w.caller = (mode = 'direct', agent = 'boss') => {
    const caller = new HttpCaller(w.gateway.url, { capabilities: { ...ASKABLE, extensions: { [TASKS]: {} } }, token: tokenOf(agent) });
    caller.url = `${caller.url.replace(/\/mcp.*$/, '')}/mcp/${mode}`;
    onEnd(t, () => caller.close());
    return caller;
  };
  w.lines = async () => {
    await w.gateway.stop();
    return linesOf(file).filter(({ operation }) => !['reload', 'tools/list'].includes(operation));
  };
  return w;
}

/** Calls the tool `ask` of a server, in the words of a mode. */
const CALLS = {
  gateway: (caller, server, more) => caller.call('tool_execute', { tool_id: `${server}:ask`, args: {} }, more),
  transparent: (caller, server, more) => caller.call(`${server}__ask`, {}, more),
  direct: (caller, server, more) => caller.call(`${server}__ask`, {}, more),
  servers: (caller, server, more) => caller.call('execute_tool', { server, tool: 'ask', args: {} }, more),
};

/** What a retry says besides, after an answer that asks. */
function answers({ result, error }) {
  assert.equal(result?.resultType, 'input_required', JSON.stringify(error ?? result));
  const inputResponses = Object.fromEntries(Object.keys(result.inputRequests).map((key) => [key, accept('x')]));
  return { requestState: result.requestState, inputResponses };
}

const isRefused = ({ result, error }) => Boolean(error ?? result._meta['io.toolgate/fault']);
const placeOf = ({ server, tool, decision, code }) => [server, tool, decision, code];

describe('a call that waits for answers', () => {
  for (const mode of MODES)
    test(`goes on for its own server and in its own mode only (${mode})`, async (t) => {
      const alpha = await asking(t, 'alpha'), beta = await asking(t, 'beta'), w = await start(t, { alpha, beta });
      const more = answers(await CALLS[mode](w.caller(mode), 'alpha', {}));
      assert.ok(isRefused(await CALLS[mode](w.caller(mode), 'beta', more)));
      for (const other of MODES.filter((m) => m !== mode))
        for (const server of ['alpha', 'beta']) assert.ok(isRefused(await CALLS[other](w.caller(other), server, more)), other);
      assert.deepEqual([alpha.done, beta.done], [0, 0]);
      const { result } = await CALLS[mode](w.caller(mode), 'alpha', more);
      assert.match(result.content[0].text, /alpha/);
      assert.deepEqual([alpha.done, beta.done], [1, 0]);
      const last = (await w.lines()).at(-1);
      assert.deepEqual([...placeOf(last), last.rule], ['alpha', 'ask', 'ALLOW', null, ALLOWED]);
    });

  for (const mode of MODES)
    test(`is given up when the rules deny it (${mode})`, async (t) => {
      const alpha = await asking(t, 'alpha'), beta = await asking(t, 'beta'), w = await start(t, { alpha, beta });
      const caller = w.caller(mode), more = answers(await CALLS[mode](caller, 'alpha', {}));
      const { boss } = rulesOf({ boss: ['*'] }).agents;
      await w.write({ agents: { boss: { ...boss, deny: { tools: { alpha: ['ask'] } } } } });
      assert.ok(isRefused(await CALLS[mode](caller, 'alpha', more)));
      assert.ok(isRefused(await CALLS[mode](caller, 'beta', more)));
      assert.deepEqual([alpha.done, beta.done], [0, 0]);
      const [, line] = await w.lines();
      assert.deepEqual([...placeOf(line), line.rule], ['alpha', 'ask', 'DENY', 'DENIED_BY_POLICY', 'agents.boss.deny.tools.alpha[0]']);
    });

  test('a waiting call is given up if the rules no longer contain its agent', async (t) => {
    const alpha = await asking(t, 'alpha'), w = await start(t, { alpha }, { rules: rulesOf({ boss: ['*'], other: ['*'] }) });
    const caller = w.caller(), more = answers(await caller.call('ask', {}));
    await w.write(rulesOf({ other: ['*'] }));
    const { error } = await caller.call('ask', {}, more);
    assert.equal(error?.data.error, 'INVALID_AGENT_ID');
    await w.lines();
    assert.equal(alpha.done, 0);
  });

  test('goes on by other rules that allow it, and is logged with those', async (t) => {
    const alpha = await asking(t, 'alpha'), w = await start(t, { alpha });
    const caller = w.caller(), more = answers(await caller.call('ask', {}));
    await w.write({ agents: { boss: { allow: { servers: ['alpha'], tools: { alpha: ['x', 'ask'] } } } } });
    assert.ok((await caller.call('ask', {}, more)).result);
    assert.equal(alpha.done, 1);
    assert.deepEqual((await w.lines()).map(({ rule }) => rule), [ALLOWED, 'agents.boss.allow.tools.alpha[1]']);
  });

  test('is found by arguments that were repaired', async (t) => {
    const alpha = await asking(t, 'alpha'), w = await start(t, { alpha }, { config: { tolerant_args: true } });
    const caller = w.caller(), args = { n: '5' }, more = answers(await caller.call('ask', args));
    const { result, error } = await caller.call('ask', args, more);
    assert.equal(result?.content[0].text, 'alpha {"n":5}', JSON.stringify(error));
  });
});

describe('a task', () => {
  test('is its tool\'s: who may not use the tool any more does not find it', async (t) => {
    const times = { createdAt: '2026-01-01T00:00:00Z', lastUpdatedAt: '2026-01-01T00:00:00Z', ttlMs: 3600000 };
    const up = await statelessServer('http', {
      name: 'up', capabilities: { tools: {}, extensions: { [TASKS]: {} } },
      tools: { job: () => ({ resultType: 'task', taskId: 't1', status: 'working', ...times }), other: () => text('other') },
    });
    onEnd(t, () => up.close());
    up.on('tasks/get', ({ taskId }) => ({ taskId, status: 'working', ...times }));
    const w = await start(t, { up }), caller = w.caller();
    await caller.call('job', {});
    assert.equal((await caller.send('tasks/get', { taskId: 't1' })).result?.status, 'working');
    await w.write(rulesOf({ boss: ['other'] }));
    assert.equal((await caller.send('tasks/get', { taskId: 't1' })).error?.code, -32602);
    const lines = (await w.lines()).slice(1);
    assert.deepEqual(lines.map((line) => [...placeOf(line), line.target]), [
      ['up', 'job', 'ALLOW', null, 't1'], ['up', 'job', 'DENY', 'DENIED_BY_POLICY', 't1'],
    ]);
  });
});

test('the target of a completion is the member that its type stands for', async (t) => {
  const make = async (name) => {
    const server = await handshakeServer('http', { name, resources: [`r://${name}`], prompts: { p: () => ({ messages: [] }) } });
    server.on('completion/complete', ({ ref }) => ({ completion: { values: [JSON.stringify(ref)] } }));
    onEnd(t, () => server.close());
    return server;
  };
  const w = await start(t, { alpha: await make('alpha'), beta: await make('beta') }), caller = w.caller();
  const complete = async (ref) => {
    const { result, error } = await caller.send('completion/complete', { ref, argument: { name: 'a', value: '' } });
    return JSON.parse(result?.completion.values[0] ?? assert.fail(JSON.stringify(error)));
  };
  const resource = { type: 'ref/resource', uri: 'r://alpha', name: 'harmless' };
  assert.deepEqual(await complete(resource), resource);
  const prompt = { type: 'ref/prompt', name: 'beta__p', uri: 'r://x' };
  assert.deepEqual(await complete(prompt), { ...prompt, name: 'p' });
  assert.deepEqual((await w.lines()).map(({ server, target }) => [server, target]), [['alpha', 'r://alpha'], ['beta', 'beta__p']]);
});
