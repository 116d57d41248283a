// SPDX-License-Identifier: Apache-2.0
// The mode gateway: servers that ask their client something while a meta-tool calls them, or run it as a task.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { connect, execute, faultOf, idOf, textOf } from './lib/meta.mjs';
import { RpcError } from './lib/raw.mjs';
import {
  accept, ask, ASKABLE, form, handshakeServer, inputRequired, key, statelessServer, TASKS, text,
} from './lib/stateless.mjs';

const KINDS = ['http', 'stdio', 'stateless http', 'stateless stdio'];

describe('questions during tool_execute', () => {
  const sample = { role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' } };
  const roots = { roots: [{ uri: 'file:///r' }] };
  const sampling = { messages: [{ role: 'user', content: { type: 'text', text: 'q' } }], maxTokens: 5 };
  const url = { mode: 'url', message: 'log in', url: 'https://example.com/login', elicitationId: 'e1' };
  const QUESTIONS = {
    elicitation: ['elicitation/create', form('Who?')],
    'elicitation by URL': ['elicitation/create', url],
    sampling: ['sampling/createMessage', sampling],
    roots: ['roots/list', undefined],
  };
  /** A server of either era whose tool `ask` asks one of them, and says what it heard. */
  const asking = {
    handshake: () => handshakeServer('http', { name: 'up', tools: {
      ask: async ({ what }, entry) => text(JSON.stringify(await ask(entry, ...QUESTIONS[what]))),
    } }),
    stateless: () => statelessServer('http', { name: 'up', tools: {
      ask: ({ what }, { msg }) => {
        const { inputResponses, requestState } = msg.params;
        if (inputResponses) return text(`${JSON.stringify(inputResponses.q)} ${requestState}`);
        const [method, params] = QUESTIONS[what];
        const { elicitationId, ...asked } = params ?? {};
        return inputRequired({ q: { method, ...(params && { params: asked }) } }, 'state');
      },
    } }),
  };
  const answerAll = (client) => {
    client.handlers.set('elicitation/create', ({ mode }) => (mode === 'url' ? { action: 'accept' } : accept('Ada')));
    client.handlers.set('sampling/createMessage', () => sample);
    client.handlers.set('roots/list', () => roots);
  };

  for (const [era, server] of Object.entries(asking)) {
    for (const kind of KINDS) {
      test(`of a ${era} server reach the client and come back (${kind})`, async (t) => {
        const client = await connect(t, kind, { up: await server() }, { capabilities: ASKABLE });
        answerAll(client);
        for (const [what, heard] of [['elicitation', /"name":"Ada"/], ['elicitation by URL', /"action":"accept"/],
          ['sampling', /"sampled"/], ['roots', /file:\/\/\/r/]])
          assert.match(textOf(await execute(client, 'up', 'ask', { what })), heard, what);
        if (kind.startsWith('stateless')) assert.equal(client.rounds.length, 4, 'each was input_required, and a retry');
        // The scripted stateless server does not sign its results, which are passed on.
        if (era === 'handshake') assert.deepEqual(client.problems, []);
      });
    }

    test(`of a ${era} server reach a client on HTTP+SSE`, async (t) => {
      const options = { rev: '2024-11-05', capabilities: { sampling: {}, roots: {} } };
      const client = await connect(t, 'sse', { up: await server() }, options);
      answerAll(client);
      assert.match(textOf(await execute(client, 'up', 'ask', { what: 'sampling' })), /"sampled"/);
      assert.match(textOf(await execute(client, 'up', 'ask', { what: 'roots' })), /file:\/\/\/r/);
    });

    test(`a retry is the same tool_execute, or none (${era} server)`, async (t) => {
      const client = await connect(t, 'stateless http', { up: await server() }, { capabilities: ASKABLE });
      const tool_id = await idOf(client, 'up', 'ask');
      const send = (args, more) =>
        client.request('tools/call', { name: 'tool_execute', arguments: { tool_id, args }, ...more });
      const { result } = await send({ what: 'elicitation' });
      assert.equal(result.resultType, 'input_required');
      const [name] = Object.keys(result.inputRequests);
      const { requestState } = result;
      const inputResponses = { [name]: accept('Ada') };
      const other = await send({ what: 'sampling' }, { inputResponses, requestState });
      assert.ok(other.error || other.result.isError, JSON.stringify(other.msg));
      const right = await send({ what: 'elicitation' }, { inputResponses, requestState });
      assert.match(textOf(right.result), /"name":"Ada"/);
    });
  }

  test('a client that cannot be asked: the server hears so, and the agent what it says', async (t) => {
    const client = await connect(t, 'http', { up: await asking.handshake() });
    const result = await execute(client, 'up', 'ask', { what: 'elicitation' });
    assert.equal(result.isError, true);
  });

  describe('a URL that must be opened first (-32042)', () => {
    const elicitations = [url];
    const refusing = async () => {
      let opened = false;
      const up = await handshakeServer('http', { name: 'up', tools: {
        work: () => {
          if (opened) return text('done');
          opened = true;
          throw new RpcError(-32042, 'log in first', { elicitations });
        },
      } });
      return up;
    };
    test('is an input_required for a stateless client', async (t) => {
      const client = await connect(t, 'stateless http', { up: await refusing() }, { capabilities: ASKABLE });
      const asked = [];
      client.handlers.set('elicitation/create', (params) => asked.push(params.url) && { action: 'accept' });
      assert.equal(textOf(await execute(client, 'up', 'work')), 'done');
      assert.deepEqual(asked, [url.url]);
    });
    test('is the error that it is for a client with a session, which knows what to do', async (t) => {
      const client = await connect(t, 'http', { up: await refusing() }, { capabilities: ASKABLE });
      const tool_id = await idOf(client, 'up', 'work');
      const params = { name: 'tool_execute', arguments: { tool_id, args: {} } };
      const { error } = await client.request('tools/call', params);
      assert.equal(error?.code, -32042);
      assert.deepEqual(error.data.elicitations, elicitations);
      assert.equal(textOf(await client.ask('tools/call', params)), 'done');
    });
  });
});

describe('a tool that runs as a task is waited for', () => {
  const NOW = '2026-11-16T00:00:00Z';
  const task = (more) => ({ taskId: 't1', status: 'working', createdAt: NOW, lastUpdatedAt: NOW, ...more });
  const core = async () => {
    const up = await handshakeServer('stdio', {
      name: 'up', capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } },
      tools: { work: { execution: { taskSupport: 'required' }, run: (args, { msg }) => {
        if (!msg.params.task) throw new RpcError(-32601, 'only as a task');
        return { task: task({ ttl: null, pollInterval: 20 }) };
      } } },
    });
    up.on('tasks/get', () => task({ status: 'completed', ttl: null }));
    up.on('tasks/result', () => text('done at last'));
    return up;
  };
  const extension = async () => {
    const up = await statelessServer('http', {
      name: 'up', capabilities: { tools: {}, extensions: { [TASKS]: {} } },
      tools: { work: (args, { msg }) => {
        const requiredCapabilities = { extensions: { [TASKS]: {} } };
        const knows = msg.params._meta[key('clientCapabilities')].extensions?.[TASKS];
        if (!knows) throw new RpcError(-32021, 'tasks', { requiredCapabilities });
        return { resultType: 'task', ...task({ ttlMs: null, pollIntervalMs: 20 }) };
      } },
    });
    up.on('tasks/get', () => task({ status: 'completed', ttlMs: null, result: text('done at last') }));
    return up;
  };
  const knowing = { extensions: { [TASKS]: {} } };
  for (const [server, make] of Object.entries({ 'of 2025-11-25': core, 'of 2026-07-28': extension })) {
    for (const [client, kind, options] of [
      ['of 2025-06-18', 'http', { rev: '2025-06-18' }],
      ['of 2025-11-25', 'http', {}],
      ['that is stateless', 'stateless http', {}],
      ['that is stateless and knows tasks', 'stateless http', { capabilities: knowing }],
    ]) {
      test(`a server ${server}, a client ${client}`, async (t) => {
        const caller = await connect(t, kind, { up: await make() }, options);
        const result = await execute(caller, 'up', 'work');
        assert.equal(textOf(result), 'done at last');
        assert.equal(result.isError ?? false, false);
      });
    }
  }

  describe('and may ask meanwhile', () => {
    const asking = async () => {
      const up = await extension();
      let answers;
      up.on('tasks/get', () => (answers
        ? task({ status: 'completed', ttlMs: null, result: text(JSON.stringify(answers)) })
        : task({ status: 'input_required', ttlMs: null,
          inputRequests: { q: { method: 'elicitation/create', params: form('Who?') } } })));
      up.on('tasks/update', ({ inputResponses }) => {
        answers = inputResponses;
        return {};
      });
      up.on('tasks/cancel', () => ({}));
      return up;
    };
    test('a client with a session, which answers', async (t) => {
      const client = await connect(t, 'http', { up: await asking() }, { capabilities: ASKABLE });
      client.handlers.set('elicitation/create', () => accept('Ada'));
      assert.match(textOf(await execute(client, 'up', 'work')), /Ada/);
    });
    test('not a stateless one: it is never sent a request, and the task is cancelled', async (t) => {
      const up = await asking();
      const client = await connect(t, 'stateless http', { up }, { capabilities: { ...ASKABLE, ...knowing } });
      const result = await execute(client, 'up', 'work');
      assert.equal(client.inbox.has('elicitation/create'), false);
      faultOf(result, 'UPSTREAM_ERROR');
      await up.next('tasks/cancel');
    });
  });
});

describe('timeout_ms and the time in which a person answers', { concurrency: true }, () => {
  const TIMEOUT = 2500, LONGER = 3500, PART = 1600;
  const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
  const question = { method: 'elicitation/create', params: form('Who?') };
  /** A server of either era that asks after `before` ms, and has its result `after` ms after the answer. */
  const SERVERS = {
    handshake: () => handshakeServer('http', { name: 'up', tools: {
      ask: async ({ before = 0, after = 0 }, entry) => {
        await pause(before);
        await ask(entry, question.method, question.params);
        await pause(after);
        return text('done');
      },
    } }),
    stateless: () => statelessServer('http', { name: 'up', tools: {
      ask: async ({ before = 0, after = 0 }, { msg }) => {
        const answered = msg.params.inputResponses;
        await pause(answered ? after : before);
        return answered ? text('done') : inputRequired({ q: question }, 'state');
      },
    } }),
  };
  for (const [era, server] of Object.entries(SERVERS)) {
    for (const kind of ['http', 'stateless http']) {
      const start = async (t, think) => {
        const client = await connect(t, kind, { up: await server() }, { capabilities: ASKABLE });
        client.handlers.set('elicitation/create', () => pause(think).then(() => accept('Ada')));
        const tool_id = await idOf(client, 'up', 'ask');
        return (args) => client.call('tool_execute', { tool_id, args, timeout_ms: TIMEOUT });
      };
      test(`that time does not count (${era} server, ${kind} client)`, async (t) => {
        const call = await start(t, LONGER);
        assert.equal(textOf(await call({})), 'done');
      });
      test(`the time before and after it does (${era} server, ${kind} client)`, async (t) => {
        const call = await start(t, 0);
        faultOf(await call({ before: PART, after: PART }), 'UPSTREAM_TIMEOUT');
      });
    }
  }
});
