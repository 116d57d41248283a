// SPDX-License-Identifier: Apache-2.0
// Whose is what, and when, across the eras: the clock of a call while its client is asked, the questions and the ids of
// tasks, a client's roots before its call, and log messages.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { deferred, HttpClient, RpcError, startGateway, until, within } from './lib/raw.mjs';
import {
  accept, ask, form, handshakeServer, HttpCaller, key, StdioCaller, TASKS, text,
} from './lib/stateless.mjs';

const KINDS = ['http', 'stdio'];
const TOKENS = ['token-of-the-first-client', 'token-of-the-other-one'];
const ELICITS = { elicitation: {} };
const NOW = '2026-11-16T00:00:00Z';

const said = ({ result, error }) => result?.content?.[0].text ?? assert.fail(JSON.stringify(error ?? result));
const asked = ({ result, error }) => {
  assert.equal(result?.resultType, 'input_required', JSON.stringify(result ?? error));
  return Object.entries(result.inputRequests ?? {});
};
/** The retry of a call that was asked: `answer` of each question. */
const retry = (first, answer) => ({
  inputResponses: Object.fromEntries(asked(first).map(([k, question]) => [k, answer(question)])),
  requestState: first.result.requestState,
});

describe('the clock of a call', () => {
  const REQUEST_MS = 500;
  const config = { timeouts: { request: REQUEST_MS / 1000, drain: 0 } };
  /** Longer than a request may take. */
  const longer = () => {
    const end = Date.now() + 1.6 * REQUEST_MS;
    return until(() => Date.now() > end, 'the time to pass');
  };
  const LATE = /did not answer within 0\.5 s/;

  const tools = (gate) => ({
    // Progress of the call does not start its clock again while the client is asked.
    asks: async (args, entry) => {
      const { msg, peer, ctx } = entry;
      const answer = ask(entry, 'elicitation/create', form('?'));
      const { progressToken } = msg.params._meta ?? {};
      if (progressToken !== undefined) await peer.notify('notifications/progress', { progressToken, progress: 1 }, ctx);
      return text((await answer).content.name);
    },
    // Asks, and is silent after the answer.
    silent: async (args, entry) => {
      await ask(entry, 'elicitation/create', form('?'));
      gate.answered.resolve();
    },
    // Asks, and no longer wants to know.
    fickle: async ({ silent }, { peer, ctx }) => {
      peer.request('elicitation/create', form('?'), { ctx, rawId: '"fickle"' }).catch(() => {});
      await gate.asked.promise;
      await peer.notify('notifications/cancelled', { requestId: 'fickle' }, ctx);
      await peer.ask('ping', undefined, { ctx });
      gate.taken++;
      return silent ? undefined : gate.held.promise.then(() => text('never mind'));
    },
    held: () => gate.held.promise.then(() => text('held')),
  });
  const start = async (t, kind, options) => {
    const gate = { answered: deferred(), asked: deferred(), held: deferred(), taken: 0 };
    const up = await handshakeServer(kind, { name: 'up', tools: tools(gate) });
    return { up, gate, gateway: await startGateway(t, { servers: { up }, config, ...options }) };
  };

  for (const kind of KINDS) {
    test(`stands still while a stateless client is asked by a server on ${kind}, whatever its progress`, async (t) => {
      const { gateway } = await start(t, kind);
      const caller = new HttpCaller(gateway.url, { capabilities: ELICITS });
      const first = await caller.call('asks', {}, {}, { meta: { more: { progressToken: 'p' } } });
      await longer();
      assert.equal(said(await caller.call('asks', {}, retry(first, () => accept('late')))), 'late');
    });

    test(`stands still while a client with a session is asked by a server on ${kind}`, async (t) => {
      const { gateway } = await start(t, kind);
      const client = await new HttpClient(gateway.url, { capabilities: ELICITS }).connect();
      client.handlers.set('elicitation/create', () => longer().then(() => accept('late')));
      const params = { name: 'asks', arguments: {}, _meta: { progressToken: 'p' } };
      const { content } = await client.ask('tools/call', params);
      assert.equal(content[0].text, 'late');
      await client.next('notifications/progress');
      await client.close();
    });

    test(`goes on when the client has answered (${kind})`, async (t) => {
      const { gate, gateway } = await start(t, kind);
      const caller = new HttpCaller(gateway.url, { capabilities: ELICITS });
      const first = await caller.call('silent');
      const { error } = await caller.call('silent', {}, retry(first, () => accept('x')));
      assert.match(error?.message ?? '', LATE);
      await within(gate.answered.promise, 'the answer at the server');
      const client = await new HttpClient(gateway.url, { capabilities: ELICITS }).connect();
      client.handlers.set('elicitation/create', () => accept('x'));
      await assert.rejects(client.call('silent'), { message: LATE });
      await client.close();
    });

    test(`stands still for other calls of the client, too, which its server may hold for that (${kind})`, async (t) => {
      const { gate, gateway } = await start(t, kind, { transport: 'stdio' });
      const client = new StdioCaller(gateway, { capabilities: ELICITS });
      const first = await client.call('asks');
      const other = client.call('held');
      other.catch(() => {});
      await longer();
      gate.held.resolve();
      assert.equal(said(await other), 'held');
      assert.equal(said(await client.call('asks', {}, retry(first, () => accept('late')))), 'late');
      const late = await client.call('silent').then((q) => client.call('silent', {}, retry(q, () => accept('x'))));
      assert.match(late.error?.message ?? '', LATE);
    });

    test(`stands still until a client is back whose question was taken back, and then goes on (${kind})`, async (t) => {
      const { gate, gateway } = await start(t, kind);
      const silent = { silent: true };
      const [one, two] = [1, 2].map(() => new HttpCaller(gateway.url, { capabilities: ELICITS }));
      const first = await one.call('fickle'), second = await two.call('fickle', silent);
      gate.asked.resolve();
      await until(() => gate.taken === 2, 'the questions to be taken back');
      await longer();
      gate.held.resolve();
      assert.equal(said(await one.call('fickle', {}, { requestState: first.result.requestState })), 'never mind');
      const { error } = await two.call('fickle', silent, { requestState: second.result.requestState });
      assert.match(error?.message ?? '', LATE);
    });

    test(`ends at its hard end all the same (${kind})`, async (t) => {
      const timeouts = { request: 2, request_max: 2.5, drain: 0 };
      const { up, gateway } = await start(t, kind, { config: { timeouts } });
      const caller = new HttpCaller(gateway.url, { capabilities: ELICITS });
      const first = await caller.call('asks');
      await up.next((e) => e.msg?.method === 'notifications/cancelled' || e.closed, 'the end of the call');
      const { error } = await caller.call('asks', {}, retry(first, () => accept('late')));
      assert.match(error?.message ?? '', /did not finish within 2\.5 s \(timeouts\.request_max\)/);
    });
  }
});

describe('a server of 2025-11-25 whose tasks ask', () => {
  const WITH_TASKS = { ...ELICITS, extensions: { [TASKS]: {} } };
  const capabilities = { tools: {}, tasks: { cancel: {}, requests: { tools: { call: {} } } } };
  const named = (taskId) => ({ headers: { 'mcp-name': taskId } });

  /** Numbers its tasks anew on each connection, as a server may; `tasks` has them all, with their connection. */
  const start = async (t, kind, options) => {
    const tasks = [];
    const find = ({ taskId }, { peer }) => {
      const found = tasks.find((task) => task.peer === peer && task.taskId === taskId);
      if (!found) throw new RpcError(-32602, `unknown task ${taskId}`);
      return found;
    };
    const show = ({ taskId, status }) =>
      ({ taskId, status, createdAt: NOW, lastUpdatedAt: NOW, ttl: null, pollInterval: 50 });
    const up = await handshakeServer(kind, { name: 'up', capabilities, tools: {
      work: { execution: { taskSupport: 'required' }, run: ({ who }, { peer }) => {
        const taskId = `task-${tasks.filter((task) => task.peer === peer).length + 1}`;
        tasks.push({ peer, who, taskId, status: 'working', over: deferred(), awaited: deferred() });
        return { task: show(tasks.at(-1)) };
      } },
      plain: () => text('plain'),
    } });
    up.on('tasks/get', (params, entry) => show(find(params, entry)));
    up.on('tasks/cancel', (params, entry) => show(Object.assign(find(params, entry), { status: 'cancelled' })));
    up.on('tasks/result', async (params, entry) => {
      const task = find(params, entry);
      task.awaited.resolve(entry);
      await task.over.promise;
      return text(`result of ${task.who}`);
    });
    const gateway = await startGateway(t, { servers: { up }, config: { timeouts: { drain: 0 } }, ...options });
    const of = (who) => tasks.find((task) => task.who === who);
    const finish = (who) => {
      of(who).status = 'completed';
      of(who).over.resolve();
    };
    return { up, gateway, of, finish };
  };
  /** The task asks, on the stream of `entry` or by itself. */
  const askAbout = ({ peer, taskId }, entry) => {
    const _meta = { [key('related-task')]: { taskId } };
    return ask(entry ?? { peer }, 'elicitation/create', { ...form(`about ${taskId}`), _meta });
  };

  for (const kind of KINDS) {
    test(`shows the question of one with that task, and with nothing else (${kind})`, async (t) => {
      const { gateway, of, finish } = await start(t, kind);
      const caller = new HttpCaller(gateway.url, { capabilities: WITH_TASKS });
      const { result: a } = await caller.call('work', { who: 'a' });
      const { result: b } = await caller.call('work', { who: 'b' });
      assert.equal(of('a').peer, of('b').peer, 'on one connection');
      const get = async ({ taskId }) => (await caller.send('tasks/get', { taskId }, named(taskId))).result;
      const update = ({ taskId }, inputResponses) =>
        caller.send('tasks/update', { taskId, inputResponses }, named(taskId));
      of('a').status = of('b').status = 'input_required';
      const answer = askAbout(of('a'));
      const told = await until(async () => Object.entries((await get(a)).inputRequests)[0], 'the question');
      assert.deepEqual(told[1], { method: 'elicitation/create', params: form('about task-1') });
      assert.deepEqual((await get(b)).inputRequests, {});
      assert.equal(said(await caller.call('plain')), 'plain', 'a call is not asked what the task asks');
      // An answer that comes with another task is none.
      assert.equal((await update(b, { [told[0]]: accept('wrong') })).error, undefined);
      assert.deepEqual(Object.keys((await get(a)).inputRequests), [told[0]]);
      assert.equal((await update(a, { [told[0]]: accept('right') })).error, undefined);
      assert.deepEqual(await within(answer, 'the answer'), accept('right'));
      assert.deepEqual((await get(a)).inputRequests, {});
      for (const who of ['a', 'b']) finish(who);
      assert.equal((await get(b)).result.content[0].text, 'result of b');
      caller.close();
    });

    test(`asks the call that waits for the task, not the latest (${kind})`, async (t) => {
      const { gateway, of, finish } = await start(t, kind, { transport: 'stdio' });
      const client = new StdioCaller(gateway, { capabilities: ELICITS });
      // A client that knows no tasks: each call waits for its own. All of them have one connection.
      const calls = {};
      const entries = {};
      for (const who of ['a', 'b', 'c']) {
        calls[who] = client.call('work', { who });
        calls[who].catch(() => {});
        await until(() => of(who), 'a task');
        entries[who] = await within(of(who).awaited.promise, 'tasks/result');
      }
      for (const who of ['b', 'a']) {
        const answer = askAbout(of(who), entries[who]);
        const first = await calls[who];
        assert.deepEqual(asked(first).map(([, q]) => q.params.message), [`about ${of(who).taskId}`]);
        calls[who] = client.call('work', { who }, retry(first, () => accept(who)));
        assert.deepEqual(await within(answer, 'the answer'), accept(who));
      }
      for (const who of ['c', 'b', 'a']) {
        finish(who);
        assert.equal(said(await calls[who]), `result of ${who}`);
      }
    });

    test(`has clients know its tasks by ids that are theirs alone (${kind})`, async (t) => {
      const config = { auth: { tokens: TOKENS }, timeouts: { drain: 0 } };
      const { gateway, of, finish } = await start(t, kind, { config });
      const client = (name, token) =>
        new HttpCaller(gateway.url, { capabilities: WITH_TASKS, token, client: { name, version: '1' } });
      const clients = { a: client('a', TOKENS[0]), b: client('b', TOKENS[0]), c: client('c', TOKENS[1]) };
      const ids = {};
      for (const [who, c] of Object.entries(clients)) ids[who] = (await c.call('work', { who })).result.taskId;
      assert.deepEqual(['a', 'b', 'c'].map((who) => of(who).taskId), Array(3).fill('task-1'), 'all the same there');
      assert.equal(new Set(Object.values(ids)).size, 3, 'but not here');
      const get = (who, taskId) => clients[who].send('tasks/get', { taskId }, named(taskId));
      for (const who of ['a', 'b', 'c']) {
        const { result } = await get(who, ids[who]);
        assert.equal(result.taskId, ids[who]);
        assert.equal((await get(who, 'task-1')).error?.code, -32602, 'the id of the server is nobody\'s');
      }
      // Whoever has the credential may ask for it; nobody else may, for anything.
      finish('b');
      assert.equal((await get('a', ids.a)).result.status, 'working');
      for (const who of ['a', 'b']) assert.equal((await get(who, ids.b)).result.result.content[0].text, 'result of b');
      assert.equal((await get('c', ids.b)).error.code, -32602);
      assert.equal((await get('a', ids.c)).error.code, -32602);
      for (const [method, params] of [['tasks/update', { inputResponses: {} }], ['tasks/cancel', {}]]) {
        const { error } = await clients.c.send(method, { taskId: ids.a, ...params }, named(ids.a));
        assert.equal(error.code, -32602, method);
      }
      assert.equal((await clients.a.send('tasks/cancel', { taskId: ids.a }, named(ids.a))).error, undefined);
      assert.deepEqual(['a', 'b', 'c'].map((who) => of(who).status), ['cancelled', 'completed', 'working']);
      Object.values(clients).forEach((c) => c.close());
    });
  }
});

describe('the roots of a stateless client', () => {
  const ROOTS = { roots: {} };
  const at = (name) => ({ roots: [{ uri: `file:///${name}` }] });

  /**
   * A server that asks for the roots when it is opened and whenever they have changed, as servers do, and goes by what
   * it knows when a call comes. `log` has what reached it, in order.
   */
  const start = async (t, kind, { asks = true, options } = {}) => {
    const log = [];
    const up = await handshakeServer(kind, { name: 'up', tools: {
      where: (args, { peer }) => {
        log.push('call');
        return text(peer.roots ?? 'nowhere');
      },
    } });
    const learn = async (params, { peer }) => {
      if (!peer.init.capabilities.roots || !asks) return;
      const { roots } = await ask({ peer }, 'roots/list');
      peer.roots = roots[0].uri;
      log.push(peer.roots);
    };
    up.on('notifications/initialized', learn);
    up.on('notifications/roots/list_changed', (params, entry) => {
      log.push('changed');
      return learn(params, entry);
    });
    return { up, log, gateway: await startGateway(t, { servers: { up }, ...options }) };
  };
  /** Calls as a client whose roots are `name`; gives what was said, and how often it was asked. */
  const where = async (client, name) => {
    let answer = await client.call('where');
    let times = 0;
    for (; answer.result?.resultType === 'input_required'; times++) {
      assert.deepEqual(asked(answer).map(([, q]) => q.method), ['roots/list']);
      answer = await client.call('where', {}, retry(answer, () => at(name)));
    }
    return [said(answer), times];
  };

  for (const kind of KINDS) {
    const FRONTS = {
      HTTP: async (t, more) => {
        const { gateway, ...rest } = await start(t, kind, more);
        return { ...rest, client: new HttpCaller(gateway.url, { capabilities: ROOTS }) };
      },
      stdio: async (t, more) => {
        const { gateway, ...rest } = await start(t, kind, { ...more, options: { transport: 'stdio' } });
        return { ...rest, client: new StdioCaller(gateway, { capabilities: ROOTS }) };
      },
    };
    for (const [front, open] of Object.entries(FRONTS)) {
      test(`on ${front} are known to a server on ${kind} before the first call, and before the next`, async (t) => {
        const { up, log, client } = await open(t);
        for (const name of ['first', 'second', 'third'])
          assert.deepEqual(await where(client, name), [`file:///${name}`, 1]);
        const learned = ['file:///first', 'call', 'file:///second', 'call', 'file:///third', 'call'];
        assert.deepEqual(log.filter((what) => what !== 'changed'), learned);
        // All say the same of themselves, and so have the same connection, one after the other; a server on a new one
        // asks by itself.
        const told = up.connections.map((c) => c.init?.capabilities.roots).filter(Boolean);
        const changes = log.filter((what) => what === 'changed').length;
        assert.equal(changes, 3 - told.length, 'on a connection that another had before, it hears of the change');
        for (const roots of told) assert.deepEqual(roots, { listChanged: true }, 'it was told that they may change');
      });
    }

    test(`hold back one call, for a moment, where a server on ${kind} does not ask for them`, async (t) => {
      const { log, client } = await FRONTS.HTTP(t, { asks: false });
      assert.deepEqual(await where(client), ['nowhere', 0]);
      const began = Date.now();
      for (let n = 0; n < 20; n++) assert.deepEqual(await where(client), ['nowhere', 0]);
      assert.ok(Date.now() - began < 20 * 100, 'not every call is held back');
      assert.deepEqual(log, Array(21).fill('call'));
    });

    test(`are nothing that a client without them is held back or asked for (${kind})`, async (t) => {
      const { up, log, gateway } = await start(t, kind);
      const client = new HttpCaller(gateway.url, { capabilities: ELICITS });
      for (let n = 0; n < 3; n++) assert.deepEqual(await where(client), ['nowhere', 0]);
      assert.deepEqual(log, Array(3).fill('call'));
      assert.ok(up.connections.every((c) => !c.init?.capabilities.roots));
      client.close();
    });
  }
});

describe('log messages of a server with a session', () => {
  const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
  const levels = (notes) => notes.filter((n) => n.method === 'notifications/message').map((n) => n.params.level);

  /** `hold` waits until the test says so; `logs` of a call says one message of each level, and when it was read. */
  const start = async (t, kind, options) => {
    const calls = new Map();
    const up = await handshakeServer(kind, { name: 'up', ...options, tools: {
      hold: ({ who }, entry) => {
        calls.set(who, { ...entry, over: deferred() });
        return calls.get(who).over.promise;
      },
    } });
    const gateway = await startGateway(t, { servers: { up } });
    const open = async (who, level) => {
      const client = new HttpCaller(gateway.url, { client: { name: who, version: '1' } });
      const stream = client.start('tools/call', { name: 'hold', arguments: { who } }, { meta: { level } });
      stream.answer().catch(() => {});
      await until(() => calls.has(who), `the call of ${who}`);
      return stream;
    };
    const logs = async (who) => {
      const { peer, ctx } = calls.get(who);
      for (const level of LEVELS) await peer.notify('notifications/message', { level, data: who }, ctx);
      await peer.ask('ping', undefined, { ctx });
    };
    const close = async (who, stream) => {
      calls.get(who).over.resolve(text('over'));
      await stream.answer();
    };
    return { up, gateway, open, logs, close, calls };
  };

  for (const kind of KINDS) {
    test(`go to the stateless client whose call it is, at or above its own level (${kind})`, async (t) => {
      const { open, logs, close, calls } = await start(t, kind);
      const wanted = { all: 'debug', some: 'error', one: 'emergency', none: undefined };
      const streams = {};
      for (const [who, level] of Object.entries(wanted)) streams[who] = await open(who, level);
      for (const who of Object.keys(wanted)) await logs(who);
      for (const who of Object.keys(wanted)) await close(who, streams[who]);
      const heard = (who) => streams[who].notes.filter((n) => n.method === 'notifications/message');
      assert.deepEqual(levels(heard('all')), LEVELS);
      assert.deepEqual(levels(heard('some')), LEVELS.slice(4));
      assert.deepEqual(levels(heard('one')), ['emergency']);
      assert.deepEqual(heard('none'), []);
      for (const who of Object.keys(wanted)) assert.ok(heard(who).every((n) => n.params.data === who), who);
      // The server was told, on each connection, what is wanted there.
      for (const who of ['all', 'some', 'one'])
        await until(() => calls.get(who).peer.level === wanted[who], `the level of ${who}`);
    });
  }

  test('are nobody\'s on a pipe that several clients share', async (t) => {
    const { open, logs, close } = await start(t, 'stdio', { entry: { isolation: 'shared' } });
    const one = await open('one', 'debug'), two = await open('two', 'debug');
    await logs('one');
    await close('one', one);
    await logs('two');
    await close('two', two);
    assert.deepEqual([one.notes, two.notes], [[], []]);
  });
});
