// SPDX-License-Identifier: Apache-2.0
// A client with a session calls a stateless server: Toolgate asks the client what the server wants to know, and calls
// again. How the era of a server is found out, and what servers do that do not bear the question.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { HttpClient, LATEST, startGateway, StdioClient, until } from './lib/raw.mjs';
import {
  accept, ASKABLE, form, handshakeServer, HttpCaller, inputRequired, key, MODERN, statelessServer, text,
} from './lib/stateless.mjs';


const elicit = (message) => ({ method: 'elicitation/create', params: form(message) });
const STATE = 'état \\ "x" \u{1f600}\u0000\u2028 ';

const LOGIN = {
  method: 'elicitation/create',
  params: { mode: 'url', url: 'https://example.com/login', message: 'Log in' },
};

const tools = {
  who: (args, { msg: { params: { inputResponses } } }) =>
    inputResponses ? text(JSON.stringify(inputResponses)) : inputRequired({ who: elicit('Who?') }, STATE),
  three: (args, { msg: { params: { inputResponses, requestState } } }) =>
    inputResponses ? text(JSON.stringify([inputResponses, requestState])) : inputRequired({
      'a "key"': elicit('a'),
      sample: { method: 'sampling/createMessage', params: { messages: [], maxTokens: 5 } },
      roots: { method: 'roots/list' },
    }),
  rounds: (args, { msg: { params: { inputResponses = {}, requestState = '' } } }) => {
    const state = requestState + (inputResponses.q?.content.name ?? '');
    return state.length === 3 ? text(state) : inputRequired({ q: elicit(`round ${state.length + 1}`) }, state);
  },
  later: (args, { msg: { params: { requestState } } }) => (requestState === '2' ? text('done')
    : inputRequired(undefined, requestState === '1' ? '2' : '1')),
  forever: () => inputRequired({ q: elicit('again?') }, 'x'),
  url: (args, { msg: { params: { inputResponses } } }) =>
    inputResponses ? text(inputResponses.u.action) : inputRequired({ u: LOGIN }),
  foreign: () => inputRequired({ q: { method: 'tools/call', params: { name: 'x' } } }),
  odd: () => ({ resultType: 'something else' }),
  meta: (args, entry) => text(JSON.stringify(entry.msg.params._meta)),
  log: async (args, { msg, peer, ctx }) => {
    await peer.notify('notifications/message', { level: 'info', data: 'hello' }, ctx);
    return text(msg.params._meta[key('logLevel')] ?? 'none');
  },
  number: { outputSchema: { type: 'number' }, run: () => ({ ...text('5'), structuredContent: 5 }) },
};
const retries = (up, name) =>
  up.inbox.entries.filter((e) => e.msg?.method === 'tools/call' && e.msg.params.name === name);

const ANSWERS = {
  'elicitation/create': accept('A'),
  'roots/list': { roots: [{ uri: 'file:///r' }] },
  'sampling/createMessage': { role: 'assistant', model: 'm', content: { type: 'text', text: 's' } },
};

const FRONTS = {
  http: async (t, options, client) => new HttpClient((await startGateway(t, options)).url, client).connect(),
  stdio: async (t, options, client) =>
    new StdioClient(await startGateway(t, { ...options, transport: 'stdio' }), client).connect(),
};

for (const kind of ['http', 'stdio']) {
  for (const [front, connect] of Object.entries(FRONTS)) {
    describe(`a client with a session on ${front}, a stateless server on ${kind}`, () => {
      const start = async (t, capabilities = ASKABLE, rev = LATEST) => {
        const up = await statelessServer(kind, { name: 'up', tools });
        const client = await connect(t, { servers: { up }, config: { timeouts: { drain: 0 } } }, { capabilities, rev });
        const asked = [];
        for (const [method, answer] of Object.entries(ANSWERS))
          client.handlers.set(method, (params) => {
            asked.push({ method, params });
            return answer;
          });
        return { up, client, asked };
      };
      const call = async (client, name, args) => (await client.call(name, args)).content[0].text;

      test('what it asks becomes requests, and their answers a retry with its own state, byte by byte', async (t) => {
        const { up, client, asked } = await start(t);
        assert.deepEqual(JSON.parse(await call(client, 'who')), { who: accept('A') });
        assert.deepEqual(asked, [{ method: 'elicitation/create', params: form('Who?') }]);
        const [first, second] = retries(up, 'who');
        assert.equal(second.msg.params.requestState, STATE);
        assert.notEqual(first.msg.id, second.msg.id);
        assert.equal('requestState' in first.msg.params, false);
      });

      test('several questions are asked at once, and answered under their own keys', async (t) => {
        const { client, asked } = await start(t);
        const [responses, state] = JSON.parse(await call(client, 'three'));
        assert.deepEqual(responses, {
          'a "key"': ANSWERS['elicitation/create'],
          roots: ANSWERS['roots/list'],
          sample: ANSWERS['sampling/createMessage'],
        });
        assert.equal(state, null);
        assert.deepEqual(asked.map((a) => a.method).sort(), Object.keys(ANSWERS).sort());
      });

      test('it may ask several times, or only to come back', async (t) => {
        const { client, asked } = await start(t);
        assert.equal(await call(client, 'rounds'), 'AAA');
        assert.deepEqual(asked.map((a) => a.params.message), ['round 1', 'round 2', 'round 3']);
        assert.equal(await call(client, 'later'), 'done');
      });

      test('one that asks for ever is given up', async (t) => {
        const { up, client, asked } = await start(t);
        await assert.rejects(client.call('forever'), /"up" asked for input more than 16 times/);
        assert.ok(asked.length >= 8 && asked.length <= 32, `${asked.length} rounds`);
        assert.equal(up.calls, asked.length + 1);
      });

      test('a client that refuses to answer makes the call fail; a form that it refuses is put away', async (t) => {
        const { up, client } = await start(t);
        const refuse = () => {
          throw Object.assign(new Error('no model here'), { code: -1 });
        };
        for (const method of ['sampling/createMessage', 'elicitation/create']) client.handlers.set(method, refuse);
        await assert.rejects(client.call('three'), /refused to give: no model here/);
        assert.equal(up.calls, 1, 'it is not called again');
        assert.deepEqual(JSON.parse(await call(client, 'who')), { who: { action: 'cancel' } });
      });

      test('a call that is cancelled while its client is asked takes the question along too', async (t) => {
        const { up, client } = await start(t);
        client.handlers.set('elicitation/create', () => undefined);
        const answer = client.request('tools/call', { name: 'who', arguments: {} }, { rawId: '"c"' });
        answer.catch(() => {});
        const question = await client.next('elicitation/create');
        await client.notify('notifications/cancelled', { requestId: 'c', reason: 'changed my mind' });
        const told = await client.next('notifications/cancelled');
        assert.strictEqual(told.msg.params.requestId, question.msg.id);
        await client.transmit(JSON.stringify({ jsonrpc: '2.0', id: question.msg.id, result: accept('too late') }));
        await call(client, 'meta');
        assert.equal(retries(up, 'who').length, 1);
        client.abandon('"c"');
      });

      test('a client that cannot do what is asked makes the call fail', async (t) => {
        const { up, client, asked } = await start(t, { sampling: {} });
        await assert.rejects(client.call('who'), /does not support/);
        assert.deepEqual(asked, []);
        assert.equal(up.calls, 1);
      });

      test('what no client can be asked, and results of an unknown kind, are errors', async (t) => {
        const { client } = await start(t);
        await assert.rejects(client.call('foreign'), /"up"/);
        await assert.rejects(client.call('odd'), /"up"/);
      });

      test('the server is told of the client what the client said, with every request', async (t) => {
        const capabilities = { roots: { listChanged: true }, experimental: { x: { y: 1 } }, elicitation: {} };
        const { client } = await start(t, capabilities);
        const said = JSON.parse(await call(client, 'meta'));
        assert.equal(said[key('protocolVersion')], MODERN);
        assert.deepEqual(said[key('clientCapabilities')], capabilities);
        assert.deepEqual(said[key('clientInfo')], { name: 'raw', version: '1' });
        const plain = await client.ask('tools/call', { name: 'meta', arguments: {}, _meta: { 'example.com/x': 1 } });
        assert.equal(JSON.parse(plain.content[0].text)['example.com/x'], 1);
      });

      test('the level of the session goes with every request', async (t) => {
        const { client } = await start(t);
        assert.equal(await call(client, 'log'), 'info');
        await client.next('notifications/message');
        await client.ask('logging/setLevel', { level: 'error' });
        assert.equal(await call(client, 'log'), 'error');
        assert.ok(!client.inbox.has('notifications/message'));
        await client.ask('logging/setLevel', { level: 'debug' });
        assert.equal(await call(client, 'log'), 'debug');
        await client.next('notifications/message');
      });

      test('a URL to open is asked for with an id, which this server need not have', async (t) => {
        const { client, asked } = await start(t);
        assert.equal(await call(client, 'url'), 'accept');
        const [{ params: { elicitationId, ...params } }] = asked;
        assert.equal(typeof elicitationId, 'string');
        assert.deepEqual(params, LOGIN.params);
      });

      test('structured content that is no object is wrapped, as its schema is', async (t) => {
        const { client } = await start(t);
        const { outputSchema } = (await client.tools()).find((tool) => tool.name === 'number');
        assert.equal(outputSchema.type, 'object');
        assert.deepEqual(outputSchema.properties.result, { type: 'number' });
        const result = await client.call('number');
        assert.deepEqual(result, { ...text('5'), structuredContent: { result: 5 } });
      });
    });
  }

  test(`a session that ends while its client is asked leaves nothing at the server on ${kind}`, async (t) => {
    const up = await statelessServer(kind, { name: 'up', tools });
    const gateway = await startGateway(t, { servers: { up } });
    const client = await new HttpClient(gateway.url, { capabilities: ASKABLE }).connect();
    client.handlers.set('elicitation/create', () => undefined);
    client.request('tools/call', { name: 'who', arguments: {} }).catch(() => {});
    await client.next('elicitation/create');
    await client.close();
    const other = new HttpCaller(gateway.url);
    await other.call('meta');
    assert.equal(retries(up, 'who').length, 1);
  });
}

describe('which era a server speaks', () => {
  const methods = (up) => up.inbox.entries.map((e) => e.msg?.method).filter(Boolean);
  const plain = { name: 'up', tools: { plain: () => text('plain') } };

  for (const kind of ['http', 'stdio']) {
    test(`a server on ${kind} is asked first, and then gets the handshake or not`, async (t) => {
      const old = await handshakeServer(kind, plain);
      const young = await statelessServer(kind, { ...plain, tools: { young: () => text('young') } });
      const gateway = await startGateway(t, { servers: { old, young } });
      const caller = new HttpCaller(gateway.url);
      assert.equal((await caller.call('plain')).result.content[0].text, 'plain');
      assert.equal((await caller.call('young')).result.content[0].text, 'young');
      assert.equal(methods(young)[0], 'server/discover');
      assert.ok(!methods(young).includes('initialize'));
      assert.ok(methods(old).includes('initialize'));
    });

    test(`"protocol": "legacy" sends a server on ${kind} no server/discover`, async (t) => {
      const up = await handshakeServer(kind, { ...plain, entry: { protocol: 'legacy' } });
      const gateway = await startGateway(t, { servers: { up } });
      assert.equal((await new HttpCaller(gateway.url).call('plain')).result.content[0].text, 'plain');
      assert.equal(methods(up)[0], 'initialize');
      assert.ok(!methods(up).includes('server/discover'));
      if (kind === 'http') assert.equal(JSON.stringify(up.requests).includes('server/discover'), false);
    });

    test(`"protocol": "modern" gives a server on ${kind} no handshake; one that needs it is not served`, async (t) => {
      const up = await handshakeServer(kind, { ...plain, entry: { protocol: 'modern' } });
      const gateway = await startGateway(t, { servers: { up } });
      const refusal = /does not speak MCP 2026-07-28/;
      const { line } = await gateway.logged.next((e) => refusal.test(e.line ?? ''));
      assert.match(line, /up: does not speak/);
      assert.ok(!methods(up).includes('initialize'));
      const { error } = await new HttpCaller(gateway.url).call('plain');
      assert.ok(error);
    });
  }

  test('a server on stdio that exits on anything before initialize is started once more, and works', async (t) => {
    const up = await handshakeServer('stdio', plain);
    up.on('server/discover', (params, { peer }) => {
      peer.socket.destroy();
    });
    const gateway = await startGateway(t, { servers: { up } });
    for (const capabilities of [{}, ASKABLE]) // the second has a process of its own
      assert.equal((await new HttpCaller(gateway.url, { capabilities }).call('plain')).result.content[0].text, 'plain');
    assert.equal(methods(up).filter((m) => m === 'server/discover').length, 1, 'what was found out is remembered');
    assert.equal(methods(up).filter((m) => m === 'initialize').length, 2);
    assert.doesNotMatch(gateway.log, /will try again/);
  });

  test('a server on stdio that ignores unknown requests works after the time of the question', async (t) => {
    const up = await handshakeServer('stdio', { ...plain, entry: { startTimeout: 2000 } });
    up.on('server/discover', () => undefined);
    const gateway = await startGateway(t, { servers: { up } });
    assert.equal((await new HttpCaller(gateway.url).call('plain')).result.content[0].text, 'plain');
    assert.deepEqual(methods(up).slice(0, 2), ['server/discover', 'initialize']);
  });

  test('a server that answers server/discover after it has refused initialize is stateless all the same', async (t) => {
    const up = await statelessServer('stdio', { ...plain, entry: { startTimeout: 2000 } });
    const discover = up.handlers.get('server/discover');
    let refused;
    const order = new Promise((resolve) => (refused = resolve));
    up.handlers.set('server/discover', async (...args) => {
      await order;
      return discover(...args);
    });
    up.handlers.set('initialize', () => {
      setImmediate(refused);
      throw Object.assign(new Error('no'), { code: -32601 });
    });
    const gateway = await startGateway(t, { servers: { up } });
    assert.equal((await new HttpCaller(gateway.url).call('plain')).result.content[0].text, 'plain');
    assert.match(gateway.log, /MCP 2026-07-28/);
  });

  test('a server that speaks only revisions nobody knows is not served, and says so', async (t) => {
    const up = await statelessServer('stdio', plain);
    up.on('server/discover', () => ({ supportedVersions: ['2099-01-01'], capabilities: {} }));
    const gateway = await startGateway(t, { servers: { up } });
    await gateway.logged.next((e) => /up: speaks MCP revisions \["2099-01-01"\]/.test(e.line ?? ''));
  });

  test('a server that changes its era when it is started anew is found out again', async (t) => {
    const up = await handshakeServer('stdio', plain);
    const gateway = await startGateway(t, { servers: { up } });
    const caller = new HttpCaller(gateway.url);
    await caller.call('plain');
    const young = await statelessServer('stdio', plain);
    for (const [method, handler] of young.handlers) up.handlers.set(method, handler);
    up.handlers.delete('initialize');
    up.offers = young.offers;
    for (const c of up.connections) c.socket.destroy();
    await until(async () => (await caller.call('plain')).result, 'the server to be served again');
    await until(() => /MCP 2026-07-28/.test(gateway.log), 'the new era');
    young.close();
  });
});
