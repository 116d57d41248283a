// SPDX-License-Identifier: Apache-2.0
// Tasks across the eras, each side in its own terms, and URLs that a server wants opened first.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { deferred, HttpClient, RpcError, startGateway, until } from './lib/raw.mjs';
import {
  accept, ask, ASKABLE, form, handshakeServer, HttpCaller, key, statelessServer, StdioCaller, TASKS, text,
} from './lib/stateless.mjs';

const TOKENS = ['token-of-the-first-client', 'token-of-the-other-one'];
const WITH_TASKS = { ...ASKABLE, extensions: { [TASKS]: {} } };
const NOW = '2026-11-16T00:00:00Z';
const RELATED = key('related-task');

/** Tasks of a server: `finish` ends one with a result, `fail` with an error, `input` has it ask. */
class Tasks {
  all = new Map();

  make(members = {}) {
    const taskId = `task ${this.all.size} ü`;
    const task = { taskId, status: 'working', createdAt: NOW, lastUpdatedAt: NOW, ...members };
    this.all.set(task.taskId, { task, over: deferred(), answers: deferred() });
    return task;
  }

  get({ taskId }) {
    if (!this.all.has(taskId)) throw new RpcError(-32602, `unknown task ${taskId}`);
    return this.all.get(taskId);
  }

  working() {
    return [...this.all.values()].map((e) => e.task).find((task) => task.status === 'working');
  }

  set(taskId, status, more = {}) {
    const entry = this.all.get(taskId);
    Object.assign(entry.task, { status }, more);
    if (['completed', 'failed', 'cancelled'].includes(status)) entry.over.resolve(entry);
  }
}

describe('a server of 2026-07-28 that makes tasks', () => {
  const extension = { tools: { listChanged: true }, extensions: { [TASKS]: {} } };
  /** The tool makes a task when the client knows them. */
  const start = async (t, kind, options) => {
    const tasks = new Tasks();
    const knows = ({ msg }) => msg.params._meta[key('clientCapabilities')].extensions?.[TASKS];
    const up = await statelessServer(kind, { name: 'up', capabilities: extension, tools: {
      work: (args, entry) => {
        const requiredCapabilities = { extensions: { [TASKS]: {} } };
        if (!knows(entry)) throw new RpcError(-32021, 'tasks', { requiredCapabilities });
        return { resultType: 'task', ...tasks.make({ ttlMs: 60_000, pollIntervalMs: 50 }) };
      },
      quick: () => text('quick'),
    } });
    up.on('tasks/get', (params) => tasks.get(params).task);
    up.on('tasks/cancel', (params) => {
      tasks.get(params);
      tasks.set(params.taskId, 'cancelled');
      return {};
    });
    up.on('tasks/update', (params) => {
      tasks.get(params).answers.resolve(params.inputResponses);
      tasks.set(params.taskId, 'working', { inputRequests: undefined });
      return {};
    });
    const gateway = await startGateway(t, { servers: { up }, config: { timeouts: { drain: 0 } }, ...options });
    return { up, tasks, gateway };
  };
  const connect = async (t, gateway, options) => {
    const client = await new HttpClient(gateway.url, { capabilities: ASKABLE, ...options }).connect();
    client.handlers.set('elicitation/create', () => accept('Ada'));
    return client;
  };

  for (const kind of ['http', 'stdio']) {
    test(`a client of 2025-11-25 makes one at a server on ${kind}, follows it and fetches the result`, async (t) => {
      const { tasks, gateway } = await start(t, kind);
      const client = await connect(t, gateway);
      assert.ok(client.server.capabilities.tasks.requests.tools.call);
      const { task } = await client.ask('tools/call', { name: 'work', arguments: {}, task: { ttl: 1000 } });
      assert.equal(task.status, 'working');
      assert.equal(task.ttl, 60_000);
      assert.equal(task.pollInterval, 50);
      assert.equal('ttlMs' in task || 'resultType' in task, false);
      const { taskId } = task;
      assert.equal((await client.ask('tasks/get', { taskId })).status, 'working');
      const result = client.ask('tasks/result', { taskId });
      tasks.set(taskId, 'completed', { result: { ...text('done'), resultType: 'complete' } });
      assert.deepEqual(await result, { ...text('done'), _meta: { [RELATED]: { taskId } } });
      assert.equal((await client.ask('tasks/get', { taskId })).status, 'completed');
      await client.close();
    });

    test(`one at a server on ${kind} that asks has its client of 2025-11-25 asked while that waits`, async (t) => {
      const { tasks, gateway } = await start(t, kind);
      const client = await connect(t, gateway);
      const { task: { taskId } } = await client.ask('tools/call', { name: 'work', arguments: {}, task: {} });
      const inputRequests = { q: { method: 'elicitation/create', params: form('Name?') } };
      tasks.set(taskId, 'input_required', { inputRequests });
      assert.equal((await client.ask('tasks/get', { taskId })).status, 'input_required');
      const result = client.ask('tasks/result', { taskId });
      assert.deepEqual(await tasks.get({ taskId }).answers.promise, { q: accept('Ada') });
      tasks.set(taskId, 'completed', { result: text('hello Ada') });
      assert.equal((await result).content[0].text, 'hello Ada');
      await client.close();
    });

    test(`one at a server on ${kind} is cancelled, fails, or is unknown, in the words of 2025-11-25`, async (t) => {
      const { tasks, gateway } = await start(t, kind);
      const client = await connect(t, gateway);
      const make = async () => (await client.ask('tools/call', { name: 'work', arguments: {}, task: {} })).task.taskId;
      const first = await make(), second = await make();
      assert.equal((await client.ask('tasks/cancel', { taskId: first })).status, 'cancelled');
      tasks.set(second, 'failed', { error: { code: -31000, message: 'broke' } });
      await assert.rejects(client.ask('tasks/result', { taskId: second }), { code: -31000, message: 'broke' });
      for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
        await assert.rejects(client.ask(method, { taskId: 'none' }), { code: -32602 });
      await client.close();
    });

    test(`clients without tasks get the result of one at a server on ${kind} when it is there`, async (t) => {
      const { tasks, gateway } = await start(t, kind);
      for (const rev of ['2025-11-25', '2025-06-18', '2024-11-05']) {
        const client = await connect(t, gateway, { rev });
        const result = client.call('work');
        const { taskId } = await until(() => tasks.working(), 'a task');
        tasks.set(taskId, 'completed', { result: text(`for ${rev}`) });
        assert.equal((await result).content[0].text, `for ${rev}`);
        await client.close();
      }
    });

    test(`a call that is cancelled takes along a task at ${kind} that its client knows nothing of`, async (t) => {
      const { tasks, gateway } = await start(t, kind);
      const client = await connect(t, gateway, { rev: '2025-06-18' });
      client.request('tools/call', { name: 'work', arguments: {} }, { rawId: '"c"' }).catch(() => {});
      const entry = await until(() => [...tasks.all.values()][0], 'a task');
      await client.notify('notifications/cancelled', { requestId: 'c' });
      await until(() => entry.task.status === 'cancelled', 'the task to be cancelled');
      client.abandon('"c"');
      await client.close();
    });

    test(`a client of 2026-07-28 has the task of a server on ${kind} as it is, and only its credential`, async (t) => {
      const { tasks, gateway } = await start(t, kind, { config: { auth: { tokens: TOKENS } } });
      const [mine, other] = TOKENS.map((token) => new HttpCaller(gateway.url, { capabilities: WITH_TASKS, token }));
      const { result } = await mine.call('work');
      assert.equal(result.resultType, 'task');
      assert.equal(result.ttlMs, 60_000);
      const { taskId } = result;
      const headers = { 'mcp-name': `=?base64?${Buffer.from(taskId).toString('base64')}?=` };
      const get = (who, capabilities = WITH_TASKS) =>
        who.send('tasks/get', { taskId }, { headers, meta: { capabilities } });
      assert.equal((await get(mine)).result.status, 'working');
      assert.equal((await get(other)).error.code, -32602);
      const without = await get(mine, {});
      assert.equal(without.error.code, -32021);
      assert.equal(without.status, 400);
      assert.deepEqual(without.error.data.requiredCapabilities, { extensions: { [TASKS]: {} } });
      tasks.set(taskId, 'input_required', { inputRequests: { q: { method: 'roots/list' } } });
      assert.deepEqual((await get(mine)).result.inputRequests, { q: { method: 'roots/list' } });
      const update = (who) => who.send('tasks/update', { taskId, inputResponses: { q: { roots: [] } } }, { headers });
      assert.equal((await update(other)).error.code, -32602);
      assert.equal((await update(mine)).error, undefined);
      assert.deepEqual(await tasks.get({ taskId }).answers.promise, { q: { roots: [] } });
      assert.equal((await other.send('tasks/cancel', { taskId }, { headers })).error.code, -32602);
      assert.equal((await mine.send('tasks/cancel', { taskId }, { headers })).error, undefined);
      assert.equal((await get(mine)).result.status, 'cancelled');
    });
  }

  test('a client that asks for a task of a tool that makes none gets one that is over', async (t) => {
    const { gateway } = await start(t, 'http');
    const client = await connect(t, gateway);
    const { task } = await client.ask('tools/call', { name: 'quick', arguments: {}, task: {} });
    assert.equal(task.status, 'completed');
    assert.equal((await client.ask('tasks/get', { taskId: task.taskId })).status, 'completed');
    assert.equal((await client.ask('tasks/result', { taskId: task.taskId })).content[0].text, 'quick');
    await assert.rejects(client.ask('tasks/cancel', { taskId: task.taskId }), { code: -32602 });
    await client.close();
  });
});

describe('a server of 2025-11-25 with a tool that must run as a task', () => {
  const capabilities = { tools: {}, tasks: { cancel: {}, list: {}, requests: { tools: { call: {} } } } };
  const start = async (t, kind, options) => {
    const tasks = new Tasks();
    const up = await handshakeServer(kind, { name: 'up', capabilities, tools: {
      work: { execution: { taskSupport: 'required' }, run: (args, { msg }) => {
        if (!msg.params.task) throw new RpcError(-32601, 'only as a task');
        return { task: tasks.make({ ttl: null, pollInterval: 50 }) };
      } },
      free: { execution: { taskSupport: 'optional' }, run: (args, { msg }) =>
        (msg.params.task ? { task: tasks.make({ ttl: null }) } : text('at once')) },
    } });
    up.on('tasks/get', (params) => tasks.get(params).task);
    up.on('tasks/cancel', (params) => {
      tasks.get(params);
      tasks.set(params.taskId, 'cancelled');
      return tasks.get(params).task;
    });
    up.on('tasks/result', async ({ taskId }, entry) => {
      const task = tasks.get({ taskId });
      const related = { [RELATED]: { taskId } };
      if (task.task.status === 'input_required') {
        const answer = await ask(entry, 'elicitation/create', { ...form('Name?'), _meta: related });
        task.answers.resolve(answer);
        tasks.set(taskId, 'working');
      }
      await task.over.promise;
      if (task.error) throw task.error;
      return { ...task.result, _meta: related };
    });
    const gateway = await startGateway(t, { servers: { up }, config: { timeouts: { drain: 0 } }, ...options });
    return { up, tasks, gateway };
  };
  const finish = (tasks, taskId, result) => {
    tasks.get({ taskId }).result = result;
    tasks.set(taskId, 'completed');
  };
  /** As the server calls it: a stateless client knows it by an id of the gateway's. */
  const latest = (tasks) => [...tasks.all.keys()].at(-1);
  const named = (taskId) => ({ headers: { 'mcp-name': `=?base64?${Buffer.from(taskId).toString('base64')}?=` } });

  for (const kind of ['http', 'stdio']) {
    test(`a client of 2026-07-28 that knows tasks sees one of the extension (${kind})`, async (t) => {
      const { tasks, gateway } = await start(t, kind);
      const caller = new HttpCaller(gateway.url, { capabilities: WITH_TASKS });
      const discovered = await caller.send('server/discover');
      assert.deepEqual(discovered.result.capabilities.extensions, { [TASKS]: {} });
      const { result } = await caller.call('work');
      assert.equal(result.resultType, 'task');
      assert.equal(result.ttlMs, null);
      assert.equal(result.pollIntervalMs, 50);
      assert.equal(result.task, undefined);
      const { taskId } = result;
      const get = async () => (await caller.send('tasks/get', { taskId }, named(taskId))).result;
      assert.equal((await get()).status, 'working');
      finish(tasks, latest(tasks), text('done'));
      const over = await get();
      assert.equal(over.status, 'completed');
      assert.equal(over.resultType, 'complete');
      assert.deepEqual(over.result.content, text('done').content);
      assert.equal((await caller.call('free')).result.content[0].text, 'at once');
    });

    test(`one that asks shows its question, and takes the answer by tasks/update (${kind})`, async (t) => {
      const { tasks, gateway } = await start(t, kind);
      const caller = new HttpCaller(gateway.url, { capabilities: WITH_TASKS });
      const { taskId } = (await caller.call('work')).result;
      tasks.set(latest(tasks), 'input_required');
      const asked = await until(async () => {
        const { result } = await caller.send('tasks/get', { taskId }, named(taskId));
        return Object.keys(result.inputRequests ?? {}).length ? result : undefined;
      }, 'the question');
      assert.equal(asked.status, 'input_required');
      const [[k, question]] = Object.entries(asked.inputRequests);
      assert.deepEqual(question, { method: 'elicitation/create', params: form('Name?') });
      const inputResponses = { [k]: accept('Ada') };
      const update = await caller.send('tasks/update', { taskId, inputResponses }, named(taskId));
      assert.equal(update.error, undefined);
      assert.deepEqual(await tasks.get({ taskId: latest(tasks) }).answers.promise, accept('Ada'));
      finish(tasks, latest(tasks), text('hello'));
      const over = await caller.send('tasks/get', { taskId }, named(taskId));
      assert.equal(over.result.result.content[0].text, 'hello');
    });

    test(`it is cancelled, and one that failed or nobody knows says so (${kind})`, async (t) => {
      const { tasks, gateway } = await start(t, kind);
      const caller = new HttpCaller(gateway.url, { capabilities: WITH_TASKS });
      const first = (await caller.call('work')).result.taskId, second = (await caller.call('work')).result.taskId;
      const send = (method, taskId) => caller.send(method, { taskId }, named(taskId));
      assert.equal((await send('tasks/cancel', first)).error, undefined);
      assert.equal((await send('tasks/get', first)).result.status, 'cancelled');
      assert.equal((await send('tasks/cancel', first)).error, undefined, 'cancelling is a wish');
      tasks.get({ taskId: latest(tasks) }).error = new RpcError(-31000, 'broke');
      tasks.set(latest(tasks), 'failed');
      const failed = (await send('tasks/get', second)).result;
      assert.equal(failed.status, 'failed');
      assert.equal(failed.error.message, 'broke');
      assert.equal((await send('tasks/get', 'none')).error.code, -32602);
      assert.equal((await send('tasks/result', second)).status, 404);
    });

    test(`a client of 2026-07-28 without tasks gets the result when it is there (${kind})`, async (t) => {
      const { tasks, gateway } = await start(t, kind);
      for (const capabilities of [{}, ASKABLE]) {
        const caller = new HttpCaller(gateway.url, { capabilities });
        const call = caller.call('work');
        const { taskId } = await until(() => tasks.working(), 'a task');
        finish(tasks, taskId, text('waited'));
        const { result } = await call;
        assert.equal(result.content[0].text, 'waited');
        assert.equal(result.resultType, 'complete');
      }
    });

    test(`on stdio a client of 2026-07-28 has them too (${kind})`, async (t) => {
      const { tasks, gateway } = await start(t, kind, { transport: 'stdio' });
      const client = new StdioCaller(gateway, { capabilities: WITH_TASKS });
      const { taskId } = (await client.call('work')).result;
      finish(tasks, latest(tasks), text('done'));
      assert.equal((await client.send('tasks/get', { taskId })).result.result.content[0].text, 'done');
    });
  }
});

describe('a server of 2025-11-25 that answers tasks/get with 2 MiB and closes its connection', () => {
  const capabilities = { tools: {}, tasks: { cancel: {}, requests: { tools: { call: {} } } } };
  const task = { taskId: 't', createdAt: NOW, lastUpdatedAt: NOW, ttl: null };

  for (const status of ['completed', 'failed', 'input_required', 'working'])
    test(`fails or answers that request when the task is ${status}, and the gateway goes on`, async (t) => {
      const up = await handshakeServer('sse', { capabilities, tools: {
        work: { execution: { taskSupport: 'required' }, run: () => ({ task: { ...task, status: 'working' } }) },
        free: () => text('still there'),
      } });
      up.on('tasks/get', (params, { msg, peer }) => {
        const result = { ...task, status, statusMessage: 'x'.repeat(2 << 20) };
        peer.transmit(JSON.stringify({ jsonrpc: '2.0', id: msg.id, result }));
        peer.res.end();
      });
      up.on('tasks/result', () => text('done'));
      const gateway = await startGateway(t, { servers: { up }, config: { timeouts: { drain: 0 } } });
      const caller = new HttpCaller(gateway.url, { capabilities: WITH_TASKS });
      const { taskId } = (await caller.call('work')).result;
      const { result, error } = await caller.send('tasks/get', { taskId }, { headers: { 'mcp-name': taskId } });
      if (error) assert.match(error.message, /server "up"/);
      else assert.equal(result.status, status);
      const free = () => caller.call('free');
      const again = await until(async () => (await free()).result, 'the server to be reached again');
      assert.equal(again.content[0].text, 'still there');
    });
});

describe('a server of 2025-11-25 that wants a URL opened first', () => {
  const urls = ['https://example.com/a', 'https://example.com/b'];
  const elicitation = (url, i) => ({ mode: 'url', elicitationId: `e${i}`, url, message: `open ${url}` });
  const data = { elicitations: urls.map(elicitation) };
  const tools = {
    login: (args, { msg, peer }) => {
      if (peer.upstream.opened) return text(JSON.stringify(msg.params.inputResponses ?? 'no answers'));
      throw new RpcError(-32042, 'URL elicitation required', data);
    },
  };

  for (const kind of ['http', 'stdio']) {
    test(`asks a client of 2026-07-28 by input_required, and is called again (${kind})`, async (t) => {
      const up = await handshakeServer(kind, { tools });
      const gateway = await startGateway(t, { servers: { up } });
      const caller = new HttpCaller(gateway.url, { capabilities: ASKABLE });
      const first = await caller.call('login');
      assert.equal(first.result?.resultType, 'input_required', JSON.stringify(first.error));
      const requests = Object.entries(first.result.inputRequests);
      assert.deepEqual(requests.map(([, r]) => r), urls.map((url) =>
        ({ method: 'elicitation/create', params: { mode: 'url', url, message: `open ${url}` } })));
      const inputResponses = Object.fromEntries(requests.map(([k]) => [k, { action: 'accept' }]));
      const { requestState } = first.result;
      const again = await caller.call('login', {}, { inputResponses, requestState });
      assert.equal(again.result.resultType, 'input_required', 'not opened yet');
      up.opened = true;
      const last = await caller.call('login', {}, { inputResponses, requestState: again.result.requestState });
      assert.equal(last.result.content[0].text, '"no answers"');
      const { error } = await caller.call('login', {}, { inputResponses, requestState });
      assert.equal(error.code, -32602, 'each state is good once');
    });

    test(`fails where the client opens no URLs, without a code that this revision has not (${kind})`, async (t) => {
      const up = await handshakeServer(kind, { tools });
      const gateway = await startGateway(t, { servers: { up } });
      for (const capabilities of [{}, { sampling: {} }, { elicitation: { form: {} } }]) {
        const { error, result } = await new HttpCaller(gateway.url, { capabilities }).call('login');
        assert.ok(error, `${JSON.stringify(capabilities)}: ${JSON.stringify(result)}`);
        assert.notEqual(error.code, -32042);
      }
    });

    test(`gives a client of 2025-11-25 its own error (${kind})`, async (t) => {
      const up = await handshakeServer(kind, { tools });
      const gateway = await startGateway(t, { servers: { up } });
      const client = await new HttpClient(gateway.url, { capabilities: ASKABLE }).connect();
      await assert.rejects(client.call('login'), { code: -32042, data });
      await client.close();
    });
  }
});
