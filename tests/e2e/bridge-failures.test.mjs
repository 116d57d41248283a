// SPDX-License-Identifier: Apache-2.0
// The bridge between the eras where something goes wrong in the middle: a server that dies while a call waits for
// something else, servers that give the same ids, answers larger than a server may get.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { deferred, HttpClient, onEnd, resultText, startGateway, until, within } from './lib/raw.mjs';
import {
  accept, ask, ASKABLE, form, handshakeServer, HttpCaller, statelessServer, TASKS, text,
} from './lib/stateless.mjs';

async function caller(t, options, capabilities = ASKABLE) {
  const gateway = await startGateway(t, options);
  const client = new HttpCaller(gateway.url, { capabilities });
  onEnd(t, () => client.close());
  return client;
}

/** A server with a session; `own` is the connection that a client has for itself. */
async function rootsServer(kind, { asks }) {
  const up = await handshakeServer(kind, { tools: { echo: () => text('echo') } });
  up.on('notifications/initialized', (params, entry) => {
    if (!entry.peer.init.capabilities.roots) return;
    up.own = entry.peer;
    if (asks) ask(entry, 'roots/list').catch(() => {});
  });
  up.end = (connection) => (kind === 'stdio' ? connection.socket.destroy() : up.forget(connection));
  return up;
}

describe('a call that is held back for the roots', () => {
  for (const kind of ['stdio', 'http'])
    test(`given one, when its server (${kind}) goes meanwhile, then it is answered`, async (t) => {
      const up = await rootsServer(kind, { asks: false });
      const client = await caller(t, { servers: { up } });
      const answer = client.call('echo');
      await until(() => up.own, 'the connection of that client');
      up.end(up.own);
      const { result, error } = await answer;
      assert.ok(result?.content[0].text === 'echo' || error?.data.error === 'UPSTREAM_UNAVAILABLE', error?.message);
    });

  test('given one that has asked for them, when its server goes, then the retry is answered', async (t) => {
    const up = await rootsServer('stdio', { asks: true });
    const client = await caller(t, { servers: { up } });
    const { result } = await client.call('echo');
    assert.equal(result.inputRequests.q1.method, 'roots/list');
    up.end(up.own);
    await up.own.closed.promise;
    const retry = { inputResponses: { q1: { roots: [] } }, requestState: result.requestState };
    const again = await client.call('echo', {}, retry);
    assert.ok(again.result || again.error.data.error === 'UPSTREAM_UNAVAILABLE', again.error?.message);
  });
});

test('given clients that were asked, when all get large answers, then the latest are not kept', async (t) => {
  const large = 20 << 20; // three of them are less than 64 MiB
  const told = Array.from({ length: 5 }, deferred);
  const kept = Array.from({ length: 5 }, deferred);
  const tools = {
    hasty: async ({ n }, entry) => {
      ask(entry, 'elicitation/create', form('?')).catch(() => {});
      await told[n].promise;
      await entry.peer.transmit(resultText(JSON.stringify(entry.msg.id), text('x'.repeat(large))), entry.ctx);
      await entry.peer.ask('ping');
      kept[n].resolve();
    },
    big: async () => text('y'.repeat(2 << 20)),
  };
  const up = await handshakeServer('stdio', { tools });
  const gateway = await startGateway(t, { servers: { up } });
  const plain = new HttpCaller(gateway.url, {});
  onEnd(t, () => plain.close());
  const callAndPark = async (n) => {
    const client = new HttpCaller(gateway.url, { capabilities: { elicitation: { form: {} } } });
    onEnd(t, () => client.close());
    const { result } = await client.call('hasty', { n });
    told[n].resolve();
    await within(kept[n].promise, `the answer to call ${n}`);
    await plain.call('big', {}); // large answers are read one after the other: that one has been
    return () => client.call('hasty', { n }, { inputResponses: {}, requestState: result.requestState });
  };
  const retries = [];
  for (let n = 0; n < 4; n++) retries.push(await callAndPark(n));
  assert.match((await retries[3]()).error.message, /already stores 64 MiB of answers/);
  assert.equal((await retries[0]()).result.content[0].text.length, large);
  // What was fetched makes room.
  assert.equal((await (await callAndPark(4))()).result.content[0].text.length, large);
});

for (const kind of ['stdio', 'http'])
  test(`given an awaited task (${kind}), when its result does not come in time, then it is cancelled`, async (t) => {
    const job = () => ({ task: { taskId: 'T', status: 'working', ttl: null } });
    const up = await handshakeServer(kind, { tools: { job: { execution: { taskSupport: 'required' }, run: job } } });
    up.on('tasks/result', () => undefined);
    up.on('tasks/cancel', ({ taskId }) => ({ taskId, status: 'cancelled' }));
    const client = await caller(t, { servers: { up }, config: { timeouts: { request: 0.5, request_max: 0.5 } } }, {});
    const { error } = await client.call('job');
    assert.equal(error.data.error, 'UPSTREAM_TIMEOUT');
    assert.equal((await up.next('tasks/cancel')).msg.params.taskId, 'T');
  });

describe('task ids', () => {
  const capabilities = { tools: {}, extensions: { [TASKS]: {} } };
  const makes = (taskId) => () => ({ resultType: 'task', taskId, status: 'working', ttlMs: null });

  for (const [who, connect] of [
    ['a stateless client', async (url) => new HttpCaller(url, { capabilities: { extensions: { [TASKS]: {} } } })],
    ['a client with a session', async (url) => {
      const client = new HttpClient(url);
      await client.initialize();
      const call = (name) => client.request('tools/call', { name, arguments: {}, task: {} });
      return { call, close: () => client.close() };
    }],
  ])
    test(`given two servers that give the same id, when ${who} calls both, then the second fails`, async (t) => {
      const one = await statelessServer('http', { capabilities, tools: { first: makes('T1') } });
      const two = await statelessServer('http', { capabilities, tools: { second: makes('T1') } });
      const gateway = await startGateway(t, { servers: { one, two } });
      const client = await connect(gateway.url);
      onEnd(t, () => client.close());
      const { result } = await client.call('first');
      assert.equal((result.task ?? result).taskId, 'T1');
      const { error } = await client.call('second');
      assert.match(error.message, /server "two" created a task with an id that another server has used/);
    });

  test('given a restarted server, when it counts from one again, then nobody gets what is another’s', async (t) => {
    const withTasks = { tools: {}, tasks: { requests: { tools: { call: {} } } } };
    const up = await handshakeServer('stdio', { capabilities: withTasks });
    up.tools = [{ name: 'job', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } }];
    up.on('tools/call', ({ arguments: { of } }, { peer }) => {
      peer.jobs = [...(peer.jobs ?? []), of];
      return { task: { taskId: String(peer.jobs.length), status: 'working', ttl: null } };
    });
    up.on('tasks/result', ({ taskId }, { peer }) => text(`of ${peer.jobs[taskId - 1]}`));
    const gateway = await startGateway(t, { servers: { up } });
    const connect = async () => {
      const client = new HttpClient(gateway.url);
      onEnd(t, () => client.close());
      await client.initialize();
      return client;
    };
    const [one, other] = [await connect(), await connect()];
    assert.equal((await one.makeTask('job', { of: 'one' })).taskId, '1');
    up.connections[0].socket.destroy();
    await until(() => gateway.log.match(/up: ready/g).length === 2, 'the server again');
    assert.equal((await other.makeTask('job', { of: 'other' })).taskId, '1');
    assert.equal((await other.taskResult('1')).content[0].text, 'of other');
    await assert.rejects(one.taskResult('1'), /Unknown task/);
  });

  test('given a task without an id, when it is made, then the call fails', async (t) => {
    const run = () => ({ task: { taskId: '', status: 'working' } });
    const up = await handshakeServer('http', { tools: { job: { execution: { taskSupport: 'required' }, run } } });
    const client = await caller(t, { servers: { up } }, {});
    const { error } = await client.call('job');
    assert.match(error?.message ?? '', /created a task with an id that is empty or longer than 1 KiB/);
  });

  test('given a long id, when the server answers about another, then the answer is whole', async (t) => {
    const id = '"'.repeat(1024);
    const up = await statelessServer('http', { capabilities, tools: { job: makes(id) } });
    up.on('tasks/get', () => ({ taskId: 'x', status: 'working' }));
    const gateway = await startGateway(t, { servers: { up } });
    const client = new HttpClient(gateway.url);
    onEnd(t, () => client.close());
    await client.initialize();
    await client.makeTask('job');
    assert.deepEqual(await client.getTask(id), { taskId: id, status: 'working', ttl: null });
    assert.deepEqual(client.problems, []);
  });
});

describe('an answer that is larger than limits.message', () => {
  const config = { limits: { message: '1MiB', request: '4MiB' } };
  const large = accept('x'.repeat(2 << 20));
  const tools = {
    name: (args, entry) =>
      ask(entry, 'elicitation/create', form('?')).then(() => text('given'), (e) => text(e.message)),
  };
  const refused = 'the answer is larger than limits.message';

  for (const kind of ['stdio', 'http']) {
    test(`given a server (${kind}), when a stateless client gives one, then it is refused`, async (t) => {
      const up = await handshakeServer(kind, { tools });
      const client = await caller(t, { servers: { up }, config }, { elicitation: { form: {} } });
      const { result } = await client.call('name');
      const retry = { inputResponses: { q1: large }, requestState: result.requestState };
      assert.equal((await client.call('name', {}, retry)).result.content[0].text, refused);
      assert.ok(!up.inbox.has((e) => e.invalid));
    });

    test(`given a server (${kind}), when a client with a session gives one, then it is refused`, async (t) => {
      const up = await handshakeServer(kind, { tools });
      const gateway = await startGateway(t, { servers: { up }, config });
      const client = new HttpClient(gateway.url, { capabilities: { elicitation: {} } });
      onEnd(t, () => client.close());
      client.handlers.set('elicitation/create', () => large);
      await client.initialize();
      assert.equal((await client.call('name')).content[0].text, refused);
    });
  }
});
