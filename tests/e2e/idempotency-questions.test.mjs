// SPDX-License-Identifier: Apache-2.0
// Idempotency keys of calls during which the server asks its client something, or for which it makes a task.
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test } from 'node:test';

import { governance, KEY, refused } from './lib/effects.mjs';
import { tempDir, writeJson } from './lib/process.mjs';
import { HttpClient, onEnd, startGateway, until } from './lib/raw.mjs';
import { accept, ask, ASKABLE, form, handshakeServer, HttpCaller, inputRequired, statelessServer, TASKS, text } from './lib/stateless.mjs';

/** A governed server `store`, and clients of both eras. */
async function start(t, server, options = {}) {
  const rules = writeJson(path.join(tempDir(t), 'governance.json'), governance());
  const gateway = await startGateway(t, { servers: { store: server }, config: { governance: rules, ...options }, mode: 'direct' });
  const modern = (capabilities = ASKABLE) => {
    const caller = new HttpCaller(gateway.url, { capabilities });
    onEnd(t, () => caller.close());
    return caller;
  };
  const withSession = async (params) => {
    const client = await new HttpClient(gateway.url, { capabilities: ASKABLE, ...params }).connect();
    client.handlers.set('elicitation/create', () => accept('Ada'));
    onEnd(t, () => client.close());
    return client;
  };
  return { gateway, modern, withSession };
}

const keyed = { meta: { more: { [KEY]: 'k1' } } };
const call = (caller, more = {}) => caller.call('write', {}, more, keyed);
const params = { name: 'write', arguments: {}, _meta: { [KEY]: 'k1' } };

describe('a server with a session that asks a stateless client', () => {
  const server = () => handshakeServer('http', { name: 'up', tools: {
    write: async (args, entry) => text(`wrote ${(await ask(entry, 'elicitation/create', form('Name?'))).content.name}`),
    find: () => text('{}'),
  } });

  test('makes one call; its outcome is replayed without the question', async (t) => {
    const up = await server(), { modern } = await start(t, up), caller = modern();
    const asked = (await call(caller)).result;
    assert.equal(asked.resultType, 'input_required');
    const [name] = Object.keys(asked.inputRequests);
    const answered = await call(caller, { inputResponses: { [name]: accept('Ada') }, requestState: asked.requestState });
    assert.equal(answered.result.content[0].text, 'wrote Ada');
    assert.equal((await call(caller)).result.content[0].text, 'wrote Ada');
    assert.equal(up.calls, 1);
  });

  test('makes a call whose outcome is unknown if the client never answers', async (t) => {
    const up = await server(), { modern } = await start(t, up, { timeouts: { input: 1 } }), caller = modern();
    assert.equal((await call(caller)).result.resultType, 'input_required');
    await until(async () => (await call(caller)).error?.data?.error === 'EFFECT_UNKNOWN', 'the end of the call');
    assert.equal(up.calls, 1);
  });
});

describe('a stateless server that asks', () => {
  const server = () => statelessServer('http', { name: 'up', tools: {
    write: (args, { msg }) => (msg.params.inputResponses
      ? text(`wrote ${msg.params.inputResponses.q.content.name}`)
      : inputRequired({ q: { method: 'elicitation/create', params: form('Name?') } }, 'state')),
    find: () => text('{}'),
  } });

  test('a client with a session: its answers go on with the call', async (t) => {
    const up = await server(), { withSession } = await start(t, up), client = await withSession();
    for (let i = 0; i < 2; i++) assert.equal((await client.ask('tools/call', params)).content[0].text, 'wrote Ada');
    assert.equal(up.calls, 2, 'a question and a result');
  });

  test('a stateless client: its answers go on with the call, and the question can be asked again', async (t) => {
    const up = await server(), { modern } = await start(t, up), caller = modern();
    assert.equal((await call(caller)).result.resultType, 'input_required');
    const asked = (await call(caller)).result;
    const more = { inputResponses: { q: accept('Ada') }, requestState: asked.requestState };
    assert.equal((await call(caller, more)).result.content[0].text, 'wrote Ada');
    assert.equal((await call(caller)).result.content[0].text, 'wrote Ada');
    assert.equal(up.calls, 3);
    refused(await caller.call('write', { other: 1 }, {}, keyed), 'IDEMPOTENCY_CONFLICT');
  });

  test('a client that refuses to answer leaves a call that can be sent again', async (t) => {
    const up = await server(), { withSession } = await start(t, up), client = await withSession({ capabilities: {} });
    await assert.rejects(client.ask('tools/call', params), /question of a kind/);
    await assert.rejects(client.ask('tools/call', params), /question of a kind/);
    assert.equal(up.calls, 2);
  });
});

describe('a server that makes tasks', () => {
  const capabilities = { tools: { listChanged: true }, extensions: { [TASKS]: {} } };
  const server = async (run) => {
    const up = await statelessServer('http', { name: 'up', capabilities, tools: { write: run, find: () => text('{}') } });
    const task = { taskId: 'task 1', status: 'working', createdAt: '2026-11-16T00:00:00Z', lastUpdatedAt: '2026-11-16T00:00:00Z', ttlMs: 60_000, pollIntervalMs: 50 };
    up.task = task;
    up.on('tasks/get', () => up.task);
    return up;
  };
  const made = () => ({ resultType: 'task', taskId: 'task 1', status: 'working', createdAt: '2026-11-16T00:00:00Z', lastUpdatedAt: '2026-11-16T00:00:00Z', ttlMs: 60_000 });

  test('a client that asks for a task gets the same task again', async (t) => {
    const up = await server(made), { withSession } = await start(t, up), client = await withSession();
    const first = await client.ask('tools/call', { ...params, task: {} });
    assert.equal(first.task.status, 'working');
    assert.deepEqual((await client.ask('tools/call', { ...params, task: {} })).task, first.task);
    assert.equal(up.calls, 1);
  });

  test('a client that asks for a task and gets a result has it as a task again', async (t) => {
    const up = await server(() => text('done')), { withSession } = await start(t, up), client = await withSession();
    for (let i = 0; i < 2; i++) {
      const { task } = await client.ask('tools/call', { ...params, task: {} });
      assert.equal(task.status, 'completed');
      assert.equal((await client.ask('tasks/result', { taskId: task.taskId })).content[0].text, 'done');
    }
    assert.equal(up.calls, 1);
  });

  test('a stateless client that knows tasks gets the same task again', async (t) => {
    const up = await server(made), { modern } = await start(t, up), caller = modern({ ...ASKABLE, extensions: { [TASKS]: {} } });
    const [first, again] = [(await call(caller)).result, (await call(caller)).result];
    assert.equal(first.resultType, 'task');
    assert.equal(again.taskId, first.taskId);
    assert.equal(up.calls, 1);
  });

  test('a client without tasks gets the result of the task again', async (t) => {
    const up = await server(made);
    const { withSession } = await start(t, up), client = await withSession();
    const waiting = client.ask('tools/call', params);
    up.task = { ...up.task, status: 'completed', result: text('done') };
    assert.equal((await waiting).content[0].text, 'done');
    assert.equal((await client.ask('tools/call', params)).content[0].text, 'done');
    assert.equal(up.calls, 1);
  });
});
