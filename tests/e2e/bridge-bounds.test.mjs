// SPDX-License-Identifier: Apache-2.0
// Where the bridge between the eras has to stop: what belongs to one server or one client goes to no other, and what
// would grow without end is refused, while everything else goes on.
import assert from 'node:assert/strict';
import net from 'node:net';
import { describe, test } from 'node:test';

import {
  deferred, HttpClient, httpText, JSON_HEADERS, onEnd, RpcError, SseClient, startGateway, StdioClient, until,
  wholeResponse, within,
} from './lib/raw.mjs';
import {
  accept, ask, form, handshakeServer, HttpCaller, inputRequired, metaOf, mirrored, statelessServer, StdioCaller, TASKS,
  text,
} from './lib/stateless.mjs';

const KINDS = ['http', 'stdio'];
const NOW = '2026-11-16T00:00:00Z';
const ELICITS = { elicitation: {} };

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
const methods = (up) => up.inbox.entries.map((e) => e.msg?.method).filter(Boolean);
/** What several messages of a server say arrives as one piece. */
const together = (entry, send) => {
  const pipe = entry.ctx?.res.socket ?? entry.peer.socket;
  pipe.cork();
  const sent = send();
  pipe.uncork();
  return sent;
};

describe('what was asked and answered stays with the server that asked', () => {
  const URI = 'test://nobody/lists/this';
  const SECRET = 'answer for the first server only';
  const question = { q: { method: 'elicitation/create', params: form('Secret?') } };
  const broke = () => {
    throw new RpcError(-31000, 'broke');
  };

  /** Two servers, either of which may have the URI: the first is tried first. */
  const start = async (t, make, read, others = {}) => {
    const first = await make({ name: 'first', resources: ['test://first'] });
    const second = await make({ name: 'second', resources: ['test://second'] });
    first.on('resources/read', read);
    for (const [method, handler] of Object.entries(others)) first.on(method, handler);
    const gateway = await startGateway(t, { servers: { first, second }, config: { timeouts: { drain: 0 } } });
    await new HttpCaller(gateway.url).send('resources/list');
    /** Nothing of the call came here, though what nobody asked about does. */
    const untouched = () => {
      assert.deepEqual(methods(second).filter((m) => m === 'resources/read' || m.startsWith('tasks/')), []);
      assert.ok(!JSON.stringify(second.inbox.entries.map((e) => e.raw)).includes(SECRET));
    };
    return { first, second, gateway, untouched };
  };

  for (const kind of KINDS) {
    test(`a URI that nobody lists is tried at the next server on ${kind} as long as nothing was asked`, async (t) => {
      const { second, gateway } = await start(t, (o) => statelessServer(kind, o), broke);
      second.on('resources/read', ({ uri }) => ({ contents: [{ uri, text: 'second' }] }));
      const { result } = await new HttpCaller(gateway.url).send('resources/read', { uri: URI });
      assert.equal(result.contents[0].text, 'second');
    });

    test(`what a client with a session told a stateless server on ${kind} goes to no other`, async (t) => {
      const { gateway, untouched } = await start(t, (o) => statelessServer(kind, o), ({ inputResponses }) =>
        (inputResponses ? broke() : inputRequired(question, 'state')));
      const client = await new HttpClient(gateway.url, { capabilities: ELICITS }).connect();
      client.handlers.set('elicitation/create', () => accept(SECRET));
      await assert.rejects(client.ask('resources/read', { uri: URI }), { code: -31000, message: 'broke' });
      untouched();
      await client.close();
    });

    test(`a state of a stateless server on ${kind} comes back to it, and goes to no other`, async (t) => {
      const { gateway, untouched } = await start(t, (o) => statelessServer(kind, o), ({ requestState }) =>
        (requestState ? broke() : inputRequired(question, 'state')));
      const caller = new HttpCaller(gateway.url, { capabilities: ELICITS });
      const asks = await caller.send('resources/read', { uri: URI });
      const { error } = await caller.send('resources/read', { uri: URI, ...retry(asks, () => accept(SECRET)) });
      assert.deepEqual([error?.code, error?.message], [-31000, 'broke']);
      untouched();
    });

    test(`what a stateless client told a server with a session on ${kind} goes to no other`, async (t) => {
      const { gateway, untouched } = await start(t, (o) => handshakeServer(kind, o), async (params, entry) => {
        await ask(entry, 'elicitation/create', form('Secret?'));
        broke();
      });
      const caller = new HttpCaller(gateway.url, { capabilities: ELICITS });
      const asks = await caller.send('resources/read', { uri: URI });
      const { error } = await caller.send('resources/read', { uri: URI, ...retry(asks, () => accept(SECRET)) });
      assert.deepEqual([error?.code, error?.message], [-31000, 'broke']);
      untouched();
    });
  }

  test('a task is asked for at the server that made it, also when that has ended', async (t) => {
    const gone = deferred();
    const task = { taskId: 'a task', status: 'working', createdAt: NOW, lastUpdatedAt: NOW, ttlMs: null };
    const { first, gateway, untouched } = await start(t, (o) => statelessServer('stdio', o),
      () => ({ resultType: 'task', ...task, pollIntervalMs: 50 }),
      { 'tasks/get': () => {
        setImmediate(gone.resolve);
        return { ...task, pollIntervalMs: 500 };
      } });
    const client = await new HttpClient(gateway.url).connect();
    const answer = client.request('resources/read', { uri: URI });
    await within(gone.promise, 'tasks/get');
    first.close(); // and cannot be started again
    await gateway.logged.next((e) => /first: .*(exited|closed|ended)/.test(e.line));
    const { error } = await answer;
    assert.match(error?.message ?? '', /server "first"/);
    untouched();
    await client.close();
  });
});

describe('a connection that turns out not to be needed', () => {
  for (const kind of KINDS) {
    for (const order of ['the common one is ready first', 'the own one is ready first']) {
      test(`is closed, and one serves all clients of a stateless server on ${kind}: ${order}`, async (t) => {
        const up = await statelessServer(kind, { name: 'up', tools: {} });
        const discover = up.handlers.get('server/discover');
        const gates = [deferred(), deferred()];
        const opened = [];
        up.handlers.set('server/discover', async (params, entry) => {
          opened.push(entry);
          await gates[opened.length - 1]?.promise;
          return discover(params, entry);
        });
        up.on('example/echo', ({ n }, { peer }) => ({ echo: n, peer: opened.findIndex((o) => o.peer === peer) }));
        const gateway = await startGateway(t, { servers: { up } });
        await until(() => opened.length === 1, 'the common connection');
        // A method that only the server knows goes to it, the only one there is, before it is known what it has.
        const caller = new HttpCaller(gateway.url, { capabilities: ELICITS });
        const call = caller.send('example/echo', { n: 7 });
        await until(() => opened.length === 2, 'a connection for the client');
        const [now, then] = order.startsWith('the common') ? [0, 1] : [1, 0];
        gates[now].resolve();
        if (now === 0) await caller.send('tools/list', {}, { meta: { capabilities: {} } });
        else await caller.send('server/discover');
        gates[then].resolve();
        const { result, error } = await call;
        assert.equal(result?.echo, 7, JSON.stringify(error));
        // The connection that was opened ahead gives way to the client's, which all clients share from then on.
        if (kind === 'stdio') await within(opened[0].peer.closed.promise, 'the end of the process opened ahead');
        assert.equal((await caller.send('example/echo', { n: 9 }, { meta: { capabilities: {} } })).result?.peer, result.peer);
        assert.equal((await caller.send('example/echo', { n: 8 })).result?.echo, 8);
        assert.equal(opened.length, 2, 'no further connection was opened');
      });
    }
  }
});

describe('arguments that are repeated in headers', () => {
  const LARGE = 70_000;
  const tooLarge = { code: -32602, message: /header is larger than 64 KiB/ };
  const inputSchema = {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      zone: { type: 'string', 'x-mcp-header': 'Zone' },
      free: { type: 'string' },
    },
  };
  const start = async (t, kind, options) => {
    const up = await statelessServer(kind, { name: 'up', resources: ['test://up'], tools: {
      mirrors: { inputSchema, run: (args) => text(String(JSON.stringify(args).length)) },
    } });
    up.on('resources/read', ({ uri }) => ({ contents: [{ uri, text: 'read' }] }));
    return { up, gateway: await startGateway(t, { servers: { up }, ...options }) };
  };
  const FRONTS = {
    http: async (t) => {
      const { up, gateway } = await start(t, 'http');
      return { up, client: await new HttpClient(gateway.url, { capabilities: ELICITS }).connect() };
    },
    stdio: async (t) => {
      const { up, gateway } = await start(t, 'http', { transport: 'stdio' });
      return { up, client: await new StdioClient(gateway, { capabilities: ELICITS }).connect() };
    },
  };

  for (const [front, open] of Object.entries(FRONTS)) {
    test(`are refused where they are more than headers can hold, for a client on ${front}`, async (t) => {
      const { up, client } = await open(t);
      const half = 'x'.repeat(LARGE / 2);
      // The last is smaller than that, but not in base64.
      const coded = 'ü'.repeat(0.38 * LARGE);
      for (const args of [{ region: 'x'.repeat(LARGE) }, { region: half, zone: half }, { zone: coded }])
        await assert.rejects(client.call('mirrors', args), tooLarge);
      const uri = `test://${'x'.repeat(LARGE)}`;
      await assert.rejects(client.ask('resources/read', { uri }), tooLarge);
      assert.equal(up.calls, 0);
      assert.ok(!methods(up).includes('resources/read'));
      // What is not repeated may be as large as it likes, and the connection is as good as before.
      const free = 'x'.repeat(LARGE);
      const result = await client.call('mirrors', { region: 'here', free });
      assert.ok(Number(result.content[0].text) > LARGE);
    });
  }

  test('may be as large as they like where there are no headers', async (t) => {
    const { gateway } = await start(t, 'stdio');
    const client = await new HttpClient(gateway.url).connect();
    const result = await client.call('mirrors', { region: 'x'.repeat(LARGE) });
    assert.ok(Number(result.content[0].text) > LARGE);
    const { contents } = await client.ask('resources/read', { uri: `test://${'x'.repeat(LARGE)}` });
    assert.equal(contents[0].text, 'read');
    await client.close();
  });
});

describe('questions that cannot be told', () => {
  const LIMIT = 256 << 10; // of a message; what is composed of it may be 64 KiB longer
  const config = { limits: { message: LIMIT, request: LIMIT }, timeouts: { drain: 0 } };
  const REFUSED = 'too many questions are unanswered';
  const big = (n) => ({ ...form('x'.repeat(n)) });
  let refusals = 0;
  let read; // resolved when the gateway has read the questions
  /** Asks all at once; says what each heard: the name that was given, or the refusal. */
  const survey = async ({ sizes }, entry) => {
    const answers = together(entry, () => sizes.map((n) => ask(entry, 'elicitation/create', big(n))));
    const refused = (e) => {
      refusals++;
      return e.message;
    };
    const heard = (a) => a.then(({ content }) => content.name, refused);
    entry.peer.ask('ping', undefined, { ctx: entry.ctx }).then(() => read?.resolve(), () => {});
    return text(JSON.stringify(await Promise.all(answers.map(heard))));
  };

  for (const kind of KINDS) {
    const start = async (t, capabilities = ELICITS) => {
      const up = await handshakeServer(kind, { name: 'up', tools: { survey } });
      const gateway = await startGateway(t, { servers: { up }, config });
      return { up, gateway, caller: new HttpCaller(gateway.url, { capabilities }) };
    };
    /** Answers what is asked, once the server has heard so many refusals. */
    const finish = async (caller, args, refused = 0) => {
      refusals = 0;
      let answer = await caller.call('survey', args);
      const told = [];
      while (answer.result?.resultType === 'input_required') {
        await until(() => refusals >= refused, `${refused} refusals`);
        told.push(...asked(answer).map(([, q]) => q.params.message.length));
        answer = await caller.call('survey', args, retry(answer, (q) => accept(String(q.params.message.length))));
      }
      return { told, heard: JSON.parse(said(answer)) };
    };

    test(`are refused when those of one connection are too large together (${kind})`, async (t) => {
      const { caller } = await start(t);
      const sizes = Array(6).fill(100_000);
      for (const n of [1, 2]) { // what was answered is no longer held against it
        const { told, heard } = await finish(caller, { sizes, n }, 3);
        assert.deepEqual(told, Array(3).fill(100_000));
        assert.deepEqual(heard, [...Array(3).fill('100000'), ...Array(3).fill(REFUSED)]);
      }
    });

    test(`are refused when there are too many (${kind})`, async (t) => {
      const { caller } = await start(t);
      const { told, heard } = await finish(caller, { sizes: Array(300).fill(10) }, 44);
      assert.equal(told.length, 256);
      assert.deepEqual(heard, [...Array(256).fill('10'), ...Array(44).fill(REFUSED)]);
    });

    test(`are refused when they do not fit into an answer, and their call goes on (${kind})`, async (t) => {
      const { caller } = await start(t);
      // Their bytes are within the bound; with what an answer adds to them they are not.
      const envelope = JSON.stringify(big(0)).length;
      const sizes = [LIMIT - 1024, 65536 + 1024 - 2 * envelope - 100];
      read = deferred();
      let answer = await caller.call('survey', { sizes });
      await within(read.promise, 'the questions to be read');
      // The first may have been told before the second came. It is asked again, with that.
      if (answer.result.resultType === 'input_required')
        answer = await caller.call('survey', { sizes }, { requestState: answer.result.requestState });
      assert.deepEqual(JSON.parse(said(answer)), Array(2).fill('the questions are larger than limits.message'));
      assert.deepEqual(await finish(caller, { sizes: [7] }), { told: [7], heard: ['7'] });
    });

    test(`are refused when their id is longer than 1 KiB (${kind})`, async (t) => {
      const up = await handshakeServer(kind, { name: 'up', tools: {
        asks: async ({ length }, { peer, ctx }) => {
          const rawId = JSON.stringify('i'.repeat(length - 2));
          const { result, error } = await peer.request('elicitation/create', form('?'), { rawId, ctx });
          return text(result?.content.name ?? error.message);
        },
      } });
      const gateway = await startGateway(t, { servers: { up }, config });
      const caller = new HttpCaller(gateway.url, { capabilities: ELICITS });
      const first = await caller.call('asks', { length: 1024 });
      assert.equal(said(await caller.call('asks', { length: 1024 }, retry(first, () => accept('fine')))), 'fine');
      assert.equal(said(await caller.call('asks', { length: 1025 })), REFUSED);
      const client = await new HttpClient(gateway.url, { capabilities: ELICITS }).connect();
      client.handlers.set('elicitation/create', () => accept('fine'));
      assert.equal((await client.call('asks', { length: 1024 })).content[0].text, 'fine');
      assert.equal((await client.call('asks', { length: 1025 })).content[0].text, REFUSED);
      await client.close();
    });
  }
});

describe('sessions that are kept for stateless clients', () => {
  const named = (gateway, n) =>
    new HttpCaller(gateway.url, { capabilities: ELICITS, client: { name: `client ${n}`, version: '1' } });
  /** How many calls a connection has had: tells whether it is the one of before. */
  const count = (args, { peer }) => text(String(peer.count = (peer.count ?? 0) + 1));

  test('make room for clients that open one, whichever transport they use', async (t) => {
    const SESSIONS = 4;
    const up = await handshakeServer('http', { name: 'up', tools: { count } });
    const gateway = await startGateway(t, { servers: { up }, config: { limits: { sessions: SESSIONS } } });
    const callers = [];
    for (let n = 0; n < SESSIONS; n++) {
      callers.push(named(gateway, n));
      assert.equal(said(await callers[n].call('count')), '1');
    }
    const client = await new HttpClient(gateway.url, { capabilities: ELICITS }).connect();
    const old = await new SseClient(gateway.url, { rev: '2024-11-05' }).connect();
    assert.equal((await client.call('count')).content[0].text, '1');
    assert.ok((await old.call('count')).content[0].text);
    // Those that were idle longest had to go; the others are as they were, and the clients with a session too.
    for (const n of [2, 3]) assert.equal(said(await callers[n].call('count')), '2', `client ${n}`);
    assert.equal(said(await callers[0].call('count')), '1');
    assert.equal((await client.call('count')).content[0].text, '2');
    await client.close();
    await old.close();
    callers.forEach((c) => c.close());
  });

  test('are 256 at most, the latest', async (t) => {
    const MAX_IDLE = 256, CLIENTS = 300;
    const up = await handshakeServer('http', { name: 'up', tools: { count } });
    const gateway = await startGateway(t, { servers: { up }, config: { limits: { own_connections: 1000 } } });
    const callers = Array.from({ length: CLIENTS }, (_, n) => named(gateway, n));
    for (const caller of callers) {
      assert.equal(said(await caller.call('count')), '1');
      caller.close();
      up.inbox.entries.length = 0;
    }
    // The connection that was opened ahead gave way to the first client's.
    await until(() => up.sessions.size <= MAX_IDLE, () => `${up.sessions.size} sessions at the server`);
    assert.equal(up.sessions.size, MAX_IDLE);
    assert.equal(said(await callers[CLIENTS - MAX_IDLE].call('count')), '2', 'the oldest that was kept');
    assert.equal(said(await callers[CLIENTS - 1].call('count')), '2', 'the latest');
    assert.equal(said(await callers[0].call('count')), '1', 'the first has a new one');
    callers.forEach((c) => c.close());
  });
});

describe('a client on stdio that does not read', () => {
  const MESSAGES = 800;
  const LIMIT = 1 << 20; // of a message; what is written and not read may be twice that
  const FILLER = 'x'.repeat(16_000);
  const WAYS = {
    'log messages': {
      meta: { level: 'debug' },
      note: (n) => ['notifications/message', { level: 'info', data: { n, FILLER } }],
    },
    progress: {
      meta: { more: { progressToken: 'p' } },
      note: (n, progressToken) => ['notifications/progress', { progressToken, progress: n, message: FILLER }],
    },
  };
  const NUMBERS = Array.from({ length: MESSAGES }, (_, n) => n);

  /** A server with a tool that sends without end; `sent` tells when it has, and on which socket. */
  const start = async (t, make, kind, note) => {
    const sent = [deferred(), deferred()];
    const up = await make(kind, { name: 'up', tools: {
      plain: () => text('plain'),
      flood: async ({ i = 0 }, { msg, peer, ctx }) => {
        for (const n of NUMBERS) await peer.notify(...note(n, msg.params._meta?.progressToken), ctx);
        sent[i].resolve(ctx?.res.socket ?? peer.socket);
        return text('flooded');
      },
    } });
    const config = { limits: { message: LIMIT, request: LIMIT } };
    return { up, sent, gateway: await startGateway(t, { servers: { up }, config, transport: 'stdio' }) };
  };
  /** Waits until what the server has sent moves no more: it could not write everything, and the gateway lives. */
  const stalled = async (gateway, sent) => {
    const socket = await within(sent.promise, 'the flood');
    let still = 0, last;
    await until(() => {
      still = last === socket.writableLength ? still + 1 : 0;
      last = socket.writableLength;
      return still > 20 || gateway.child.exitCode !== null;
    }, 'the flood to stand still');
    assert.equal(gateway.child.exitCode, null, `it gave up on its client:\n${gateway.log}`);
    assert.ok(last > 0, 'the server could write everything');
  };
  const heard = (client) => client.inbox.entries.filter((e) => /progress|message/.test(e.msg?.method))
    .map(({ msg: { params } }) => params.progress ?? params.data.n);

  const COMBINATIONS = [
    ['log messages', 'a client that can be asked', ELICITS, 'with a session', handshakeServer],
    ['progress', 'a client that cannot be asked', {}, 'with a session', handshakeServer],
    ['progress', 'a client that can be asked', ELICITS, 'without sessions', statelessServer],
  ];
  for (const kind of KINDS) {
    for (const [what, who, capabilities, which, make] of COMBINATIONS) {
      test(`${what} for ${who} wait at a server ${which} on ${kind}, and all of it comes in the end`, async (t) => {
        const { meta, note } = WAYS[what];
        const { sent, gateway } = await start(t, make, kind, note);
        const client = new StdioCaller(gateway, { capabilities });
        await client.call('plain', {}, {}, { meta });
        const before = gateway.rssKb();
        gateway.child.stdout.pause();
        const answer = client.call('flood', {}, {}, { meta });
        answer.catch(() => {});
        await stalled(gateway, sent[0]);
        const grown = gateway.rssKb() - before;
        assert.ok(grown < 12 << 10, `resident memory grew by ${grown} KiB`);
        gateway.child.stdout.resume();
        assert.equal(said(await answer), 'flooded');
        assert.deepEqual(heard(client), NUMBERS);
      });
    }

    test(`so do those of a call that it makes meanwhile, and of a client with a session (${kind})`, async (t) => {
      const { note } = WAYS.progress;
      const { sent, gateway } = await start(t, handshakeServer, kind, note);
      const client = await new StdioClient(gateway, { capabilities: ELICITS }).connect();
      await client.call('plain');
      gateway.child.stdout.pause();
      const call = (i) => client.ask('tools/call', { name: 'flood', arguments: { i }, _meta: { progressToken: i } });
      const answers = [call(0)];
      await stalled(gateway, sent[0]);
      answers.push(call(1));
      // On a pipe the second call waits behind what the first has to say.
      await within(sent[1].promise, 'the second call');
      if (kind === 'http') await stalled(gateway, sent[1]);
      gateway.child.stdout.resume();
      for (const { content } of await Promise.all(answers)) assert.equal(content[0].text, 'flooded');
      assert.equal(heard(client).length, 2 * MESSAGES);
    });
  }
});

describe('ids that are longer than 1 KiB', () => {
  const id = (length) => 'i'.repeat(length - 2); // with its quotes
  const capabilities = { tools: {}, extensions: { [TASKS]: {} } };
  const core = { tools: {}, tasks: { cancel: {}, requests: { tools: { call: {} } } } };
  const task = (taskId) => ({ taskId, status: 'working', createdAt: NOW, lastUpdatedAt: NOW });

  test('of a stateless client are refused, and its connection is as good as before', async (t) => {
    const up = await handshakeServer('http', { name: 'up', tools: { plain: () => text('plain') } });
    const http = new HttpCaller((await startGateway(t, { servers: { up } })).url);
    const stdio = new StdioCaller(await startGateway(t, { servers: { up: up.config() }, transport: 'stdio' }));
    for (const client of [http, stdio]) {
      assert.equal(said(await client.call('plain', {}, {}, { id: id(1024) })), 'plain');
      const calls = up.calls;
      for (const [method, params] of [
        ['tools/call', { name: 'plain', arguments: {} }],
        ['subscriptions/listen', { notifications: { toolsListChanged: true } }],
      ]) {
        const { status, msg, error } = await client.send(method, params, { id: id(1025) });
        assert.equal(error.code, -32600);
        assert.match(error.message, /id is longer than 1 KiB/);
        assert.equal(msg.id, id(1025));
        if (client === http) assert.equal(status, 400);
      }
      assert.equal(up.calls, calls);
      assert.equal(said(await client.call('plain')), 'plain');
    }
    http.close();
  });

  test('of tasks make the call fail that made the task', async (t) => {
    const ups = {
      young: await statelessServer('http', { name: 'young', capabilities, tools: {
        young: ({ n }) => ({ resultType: 'task', ...task('t'.repeat(n)), ttlMs: null }),
      } }),
      old: await handshakeServer('http', { name: 'old', capabilities: core, tools: {
        old: {
          execution: { taskSupport: 'required' },
          run: ({ n }) => ({ task: { ...task('t'.repeat(n)), ttl: null } }),
        },
      } }),
    };
    const gateway = await startGateway(t, { servers: ups });
    const caller = new HttpCaller(gateway.url, { capabilities: { ...ELICITS, extensions: { [TASKS]: {} } } });
    for (const name of Object.keys(ups)) {
      assert.equal((await caller.call(name, { n: 1024 })).result?.resultType, 'task', name);
      const { error } = await caller.call(name, { n: 1025 });
      assert.match(error?.message ?? '', new RegExp(`server "${name}" created a task with an id .*longer than 1 KiB`));
    }
    caller.close();
    const client = await new HttpClient(gateway.url).connect();
    onEnd(t, () => client.close());
    const make = (name, n) => client.request('tools/call', { name, arguments: { n }, task: {} });
    for (const [name, n] of [['young', 1023], ['old', 1024]]) {  // no two servers give a client the same id
      assert.equal((await make(name, n)).result?.task.status, 'working', name);
      for (const bad of [0, 1025, 1e6]) assert.equal((await make(name, bad)).error?.data.error, 'UPSTREAM_ERROR', `${name} ${bad}`);
    }
  });
});

test('nobody begins to listen while the gateway stops', async (t) => {
  const held = deferred();
  const hold = () => held.promise.then(() => text('held'));
  const up = await handshakeServer('http', { name: 'up', tools: { hold } });
  const gateway = await startGateway(t, { servers: { up } });
  const caller = new HttpCaller(gateway.url);
  const params = { notifications: { toolsListChanged: true }, _meta: metaOf({}) };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 'late', method: 'subscriptions/listen', params });
  const headers = { ...JSON_HEADERS, ...mirrored('subscriptions/listen') };
  const whole = httpText('POST /mcp', headers, body);

  // A request whose last byte is missing when the gateway is told to stop.
  const socket = net.connect(gateway.port, '127.0.0.1');
  let answer = '';
  socket.on('data', (chunk) => (answer += chunk));
  socket.on('error', () => {});
  onEnd(t, () => socket.destroy());
  socket.write(httpText('POST /mcp', { ...JSON_HEADERS, ...mirrored('server/discover') },
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: metaOf({}) } })));
  await until(() => wholeResponse(answer), 'the first answer');
  answer = '';
  socket.write(whole.slice(0, -1));

  const call = caller.call('hold');
  await up.next('tools/call');
  const listener = await caller.listen({ toolsListChanged: true });
  gateway.child.kill('SIGTERM');
  assert.equal((await listener.answer()).result.resultType, 'complete', 'who listened is told the end');
  socket.write(whole.slice(-1));
  await until(() => wholeResponse(answer), 'an answer');
  assert.match(answer, /^HTTP\/1\.1 503 /);
  const refusal = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));
  assert.deepEqual([refusal.id, refusal.error.code, refusal.error.message], ['late', -32603, 'shutting down']);
  held.resolve();
  assert.equal(said(await call), 'held', 'what was under way is finished');
  assert.equal((await gateway.exited).code, 0);
});
