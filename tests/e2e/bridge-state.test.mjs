// SPDX-License-Identifier: Apache-2.0
// A server with a session asks while a stateless client waits: the call is answered with the question, and taken up
// again by whoever brings the requestState, if it is the same caller with the same request, once and in time.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { deferred, Gateway, startGateway, until, within } from './lib/raw.mjs';
import {
  accept, ask, ASKABLE, cancelled, form, handshakeServer, HttpCaller, inputRequired, statelessServer, StdioCaller, text,
} from './lib/stateless.mjs';

const TOKENS = ['token-of-the-first-client', 'token-of-the-other-one'];
const said = ({ result, error }) => result?.content?.[0].text ?? assert.fail(JSON.stringify(error));
const asked = ({ result, error }) => {
  assert.equal(result?.resultType, 'input_required', JSON.stringify(result ?? error));
  return Object.entries(result.inputRequests);
};
/** The retry of a call that was asked; `answers` in the order of the questions. */
const retry = (answer, ...answers) => ({
  inputResponses: Object.fromEntries(asked(answer).slice(0, answers.length).map(([k], i) => [k, answers[i]])),
  requestState: answer.result.requestState,
});

/** A gate that a test opens: what waits behind it goes on. */
const gates = () => {
  const all = new Map();
  return (name) => all.get(name) ?? all.set(name, deferred()).get(name);
};

/** Tools that ask. `gate` holds back what the test wants to hold back. */
const asking = (gate) => ({
  name: async ({ who = 'you' }, entry) => {
    const { action, content } = await ask(entry, 'elicitation/create', form(`Name of ${who}?`));
    return text(`${action} ${content?.name}`);
  },
  other: async (args, entry) => text(`other ${(await ask(entry, 'elicitation/create', form('Other?'))).action}`),
  together: async (args, entry) => {
    const pipe = entry.ctx?.res.socket ?? entry.peer.socket; // one write, so one read
    pipe.cork();
    const all = Promise.all([
      ask(entry, 'elicitation/create', form('first')),
      ask(entry, 'sampling/createMessage', { messages: [], maxTokens: 1 }),
      ask(entry, 'roots/list'),
    ]);
    pipe.uncork();
    return text(JSON.stringify(await all));
  },
  rounds: async (args, entry) => {
    const names = [];
    for (const n of [1, 2, 3]) names.push((await ask(entry, 'elicitation/create', form(`round ${n}`))).content.name);
    return text(names.join(' '));
  },
  refused: (args, entry) =>
    ask(entry, 'elicitation/create', form('?')).then(() => text('answered'), (e) => text(e.message)),
  // Asks, and answers without waiting for it: when the test says so, or at once.
  hasty: async (args, entry) => {
    ask(entry, 'elicitation/create', form('too late?')).catch(() => {});
    if (args.gate) await gate(args.gate).promise;
    return text(args.size ? 'x'.repeat(args.size) : 'done anyway');
  },
  // Asks, and no longer wants to know when the test says so.
  fickle: async (args, { peer, ctx }) => {
    peer.request('elicitation/create', form('never mind?'), { ctx, rawId: '"fickle"' }).catch(() => {});
    await gate('fickle').promise;
    await peer.notify('notifications/cancelled', { requestId: 'fickle' }, ctx);
    return text('never mind');
  },
  slow: async (args, entry) => {
    const { content } = await ask(entry, 'elicitation/create', form('slow?'));
    gate('answered').resolve();
    await gate('slow').promise;
    return text(content.name);
  },
  holds: async (args, entry) => {
    await ask(entry, 'elicitation/create', form('hold?'));
    gate('held').resolve();
    await new Promise(() => {});
  },
  // Keeps count for each connection, as a server does that has its state in memory.
  count: async ({ asks }, entry) => {
    if (asks) await ask(entry, 'elicitation/create', form('count?'));
    entry.peer.count = (entry.peer.count ?? 0) + 1;
    return text(String(entry.peer.count));
  },
  plain: () => text('plain'),
});

for (const kind of ['http', 'stdio']) {
  describe(`a server with a session on ${kind}`, () => {
    let up, gateway, gate;
    const clients = [];
    const client = (options) => {
      const made = new HttpCaller(gateway.url, { capabilities: ASKABLE, token: TOKENS[0], ...options });
      clients.push(made);
      return made;
    };
    before(async () => {
      gate = gates();
      up = await handshakeServer(kind, { tools: asking((n) => gate(n)), name: kind, resources: ['test://asks'],
        prompts: { asks: async (entry) => ({ messages: [{ role: 'user', content:
          { type: 'text', text: (await ask(entry, 'elicitation/create', form('prompt?'))).action } }] }) } });
      up.on('resources/read', async ({ uri }, entry) =>
        ({ contents: [{ uri, text: (await ask(entry, 'elicitation/create', form('resource?'))).action }] }));
      gateway = new Gateway({ servers: { up }, config: { auth: { tokens: TOKENS } } });
      gateway.url = await within(gateway.listening.promise, 'listening line');
      await client().send('tools/list');
    });
    after(async () => {
      clients.forEach((c) => c.close());
      try {
        assert.equal((await gateway.stop()).code, 0, gateway.log);
      } finally {
        up.close();
      }
    });

    /** Nothing of it may reach the server, and the refusal says why. */
    const assertForeign = async (send, pattern = /requestState/) => {
      const before = up.calls;
      const { status, error, result } = await send();
      assert.equal(error?.code, -32602, JSON.stringify(result ?? error));
      assert.equal(status, 200);
      assert.match(error.message, pattern);
      assert.equal(up.calls, before);
      assert.ok(!up.inbox.has((e) => e.msg?.method === undefined && e.msg?.result), 'an answer that nobody asked for');
    };

    test('a call is asked, answered and goes on where it was', async () => {
      const c = client();
      const first = await c.call('name', { who: 'me' });
      const [[, question]] = asked(first);
      assert.deepEqual(question, { method: 'elicitation/create', params: form('Name of me?') });
      assert.equal(typeof first.result.requestState, 'string');
      const calls = up.calls;
      const second = await c.call('name', { who: 'me' }, retry(first, accept('Ada')));
      assert.equal(said(second), 'accept Ada');
      assert.equal(second.result.resultType, 'complete');
      assert.equal(up.calls, calls, 'the server was called once');
    });

    test('prompts and resources may ask too', async () => {
      const c = client();
      for (const [method, params] of [['prompts/get', { name: 'asks' }], ['resources/read', { uri: 'test://asks' }]]) {
        const first = await c.send(method, params);
        const { result } = await c.send(method, { ...params, ...retry(first, { action: 'decline' }) });
        assert.equal(result.resultType, 'complete');
        assert.match(JSON.stringify(result), /"decline"/);
      }
    });

    test('the order of keys, blanks and the spelling of what is called may differ in the retry', async () => {
      const c = client();
      const name = 'name';
      const first = await c.send('tools/call', { name }, { args: '{"who":"\u00fc","list":[1,{"a":1,"b":2}]}' });
      const again = '{ "list" : [ 1 , {"b":2, "a":1 } ] , "who":"\\u00fc" }';
      const second = await c.send('tools/call', { name, ...retry(first, accept('x')) }, { args: again });
      assert.equal(said(second), 'accept x');
    });

    test('what the client says of itself in the retry is not bound', async () => {
      const first = await client().call('name');
      const other = client({ client: { name: 'another', version: '2' }, capabilities: {} });
      assert.equal(said(await other.call('name', {}, retry(first, accept('x')))), 'accept x');
    });

    test('questions that come together are told together', async () => {
      const c = client();
      const first = await c.call('together');
      assert.deepEqual(asked(first).map(([, q]) => q.method).sort(),
        ['elicitation/create', 'roots/list', 'sampling/createMessage']);
      const answers = { 'elicitation/create': accept('x'), 'roots/list': { roots: [] },
        'sampling/createMessage': { role: 'assistant', model: 'm', content: { type: 'text', text: 'y' } } };
      const second = await c.call('together', {}, retry(first, ...asked(first).map(([, q]) => answers[q.method])));
      assert.deepEqual(JSON.parse(said(second)),
        [answers['elicitation/create'], answers['sampling/createMessage'], answers['roots/list']]);
    });

    test('questions that come one after another are rounds', async () => {
      const c = client();
      let answer = await c.call('rounds');
      const states = new Set();
      for (const n of [1, 2, 3]) {
        const [[, question]] = asked(answer);
        assert.equal(question.params.message, `round ${n}`);
        states.add(answer.result.requestState);
        answer = await c.call('rounds', {}, retry(answer, accept(`a${n}`)));
      }
      assert.equal(said(answer), 'a1 a2 a3');
      assert.equal(states.size, 3);
    });

    test('what is not answered is asked again, with a new state; what was not asked is ignored', async () => {
      const c = client();
      const first = await c.call('together');
      const [[k1, q1], ...others] = asked(first);
      const value = (q) => ({ 'elicitation/create': accept('x'), 'roots/list': { roots: [] } })[q.method] ??
        { role: 'assistant', model: 'm', content: { type: 'text', text: 'y' } };
      const second = await c.call('together', {}, {
        requestState: first.result.requestState,
        inputResponses: { [k1]: value(q1), nobody: { action: 'accept' }, q999999: {} },
      });
      assert.deepEqual(asked(second).map(([, q]) => q), others.map(([, q]) => q));
      assert.notEqual(second.result.requestState, first.result.requestState);
      const third = await c.call('together', {}, { requestState: second.result.requestState });
      assert.deepEqual(asked(third).map(([, q]) => q), others.map(([, q]) => q));
      const last = await c.call('together', {}, retry(third, ...asked(third).map(([, q]) => value(q))));
      assert.equal(last.result.resultType, 'complete');
    });

    test('answers that are none count as missing', async () => {
      const c = client();
      let answer = await c.call('name');
      for (const none of [null, 'x', 5, [], undefined]) answer = await c.call('name', {}, retry(answer, none));
      assert.equal(said(await c.call('name', {}, retry(answer, accept('x')))), 'accept x');
    });

    test('a state is good for one retry: neither after it has succeeded nor while it runs', async () => {
      const c = client();
      const first = await c.call('slow');
      const running = c.call('slow', {}, retry(first, accept('x')));
      await within(gate('answered').promise, 'the answer at the server');
      await assertForeign(() => c.call('slow', {}, retry(first, accept('y'))), /used already/);
      gate('slow').resolve();
      assert.equal(said(await running), 'x');
      await assertForeign(() => c.call('slow', {}, retry(first, accept('z'))), /used already/);
    });

    test('a state that was forged, altered at any place, cut or lengthened is refused', async () => {
      const c = client();
      const first = await c.call('name');
      const good = first.result.requestState;
      const more = retry(first, accept('x'));
      const send = (requestState) => assertForeign(() => c.call('name', {}, { ...more, requestState }));
      for (let i = 0; i < good.length; i++) {
        const other = good[i] === 'A' ? 'B' : 'A';
        await send(good.slice(0, i) + other + good.slice(i + 1));
      }
      for (let n = 0; n < good.length; n += 7) await send(good.slice(0, n));
      const others = [`${good}A`, ` ${good}`, `${good}=`, good + good, 'x', '', '\u0000', 'A'.repeat(100_000)];
      for (const state of [...others, 5, null, true, {}, [good]]) await send(state);
      // None of that has used it up.
      assert.equal(said(await c.call('name', {}, retry(first, accept('x')))), 'accept x');
    });

    test('a state with another tool, other arguments, another method or another token is refused', async () => {
      const c = client();
      const first = await c.call('name', { who: 'me' });
      const more = retry(first, accept('x'));
      await assertForeign(() => c.call('other', { who: 'me' }, more));
      await assertForeign(() => c.call('plain', { who: 'me' }, more));
      for (const args of [{ who: 'you' }, {}, { who: 'me', x: 1 }, { WHO: 'me' }, null])
        await assertForeign(() => c.call('name', args, more));
      await assertForeign(() => c.send('tools/call', { name: 'name', arguments: { who: 'me' }, task: {}, ...more }));
      await assertForeign(() => c.send('prompts/get', { name: 'asks', ...more }));
      await assertForeign(() => client({ token: TOKENS[1] }).call('name', { who: 'me' }, more));
      assert.equal(said(await c.call('name', { who: 'me' }, more)), 'accept x');
    });

    test('a state of another gateway, or of one before a restart, is refused', async (t) => {
      const other = await handshakeServer(kind, { tools: asking(gates()) });
      const elsewhere = await startGateway(t, { servers: { up: other }, config: { auth: { tokens: TOKENS } } });
      const there = new HttpCaller(elsewhere.url, { capabilities: ASKABLE, token: TOKENS[0] });
      const first = await there.call('name');
      await assertForeign(() => client().call('name', {}, retry(first, accept('x'))));
      assert.equal(said(await there.call('name', {}, retry(first, accept('x')))), 'accept x');
    });

    /** Calls again, without answers, until the call is over. */
    const persist = async (c, name, args, answer) => {
      while (answer.result?.resultType === 'input_required')
        answer = await c.call(name, args, { requestState: answer.result.requestState });
      return answer;
    };

    /** Gives the same answer to every question until the call is over. */
    const finish = async (c, name, args, answer) => {
      while (answer.result?.resultType === 'input_required')
        answer = await c.call(name, args, retry(answer, accept('x')));
      return answer;
    };

    test('a server that answers while the client still thinks is heard on the retry', async () => {
      const c = client();
      const args = { gate: 'thinking' };
      const first = await c.call('hasty', args);
      gate('thinking').resolve();
      assert.equal(said(await c.call('hasty', args, retry(first, accept('x')))), 'done anyway');
    });

    test('an answer that came meanwhile may be large', async () => {
      const c = client();
      const args = { gate: 'large', size: 6 << 20 };
      const first = await c.call('hasty', args);
      gate('large').resolve();
      assert.equal(said(await finish(c, 'hasty', args, first)).length, 6 << 20);
    });

    test('closing the stream of the retry cancels the call, and a question of it goes too', async () => {
      const c = client();
      const first = await c.call('rounds', { n: 'closing' });
      const params = { name: 'holds', arguments: { n: 'closing' } };
      const held = await c.send('tools/call', params);
      const call = await up.next((e) => e.msg?.params?.name === 'holds');
      const exchange = c.start('tools/call', { ...params, ...retry(held, accept('x')) });
      exchange.answer().catch(() => {});
      await within(gate('held').promise, 'the answer at the server');
      exchange.close();
      await cancelled(up, call);
      assert.equal(said(await finish(c, 'rounds', { n: 'closing' }, first)), 'x x x', 'the other call goes on');
    });

    test('calls one after another reach the same connection, whether or not they are asked', async () => {
      const c = client({ client: { name: 'one after another', version: '1' } });
      for (const [i, asks] of [true, true, false, true, false].entries()) {
        const answer = await finish(c, 'count', { asks }, await c.call('count', { asks }));
        assert.equal(said(answer), String(i + 1));
      }
    });

    test('a question that its server takes back is no longer asked', async () => {
      const c = client();
      const first = await c.call('fickle');
      gate('fickle').resolve();
      const last = await persist(c, 'fickle', {}, first);
      assert.equal(said(last), 'never mind');
    });

    test('a question that is open when its call ends is told to no other call', async () => {
      const identity = { client: { name: 'same', version: '1' } };
      for (const args of [{ gate: 'open' }, {}]) {
        const me = client(identity);
        const first = await me.call('hasty', args);
        gate('open').resolve();
        assert.equal(said(await persist(me, 'hasty', args, first)), 'done anyway');
        for (const n of [1, 2, 3]) assert.equal(said(await client(identity).call('plain', { n })), 'plain');
      }
    });

    test('what the client refuses to answer goes to the server as it is', async () => {
      const c = client();
      for (const action of ['decline', 'cancel']) {
        const first = await c.call('name');
        assert.equal(said(await c.call('name', {}, retry(first, { action }))), `${action} undefined`);
      }
    });

    test('a client that cannot be asked is not asked', async () => {
      assert.notEqual(said(await client({ capabilities: {} }).call('refused')), 'answered');
      const sampler = client({ capabilities: { sampling: {} } });
      assert.notEqual(said(await sampler.call('refused')), 'answered');
    });

    test('a call without a state is another call, whatever answers it brings', async () => {
      const c = client();
      const first = await c.call('name');
      const calls = up.calls;
      const second = await c.call('name', {}, { inputResponses: retry(first, accept('x')).inputResponses });
      asked(second);
      assert.equal(up.calls, calls + 1);
      for (const answer of [first, second])
        assert.equal(said(await c.call('name', {}, retry(answer, accept('z')))), 'accept z');
    });
  });

  test(`a state expires, and then the server on ${kind} hears that nobody will answer`, async (t) => {
    const heard = deferred();
    const up = await handshakeServer(kind, { tools: {
      name: async (args, entry) => {
        await ask(entry, 'elicitation/create', form('?')).catch((e) => heard.resolve(e));
        return text('?');
      },
      plain: () => text('plain'),
    } });
    const gateway = await startGateway(t, { servers: { up }, config: { timeouts: { input: 0.3 } } });
    const c = new HttpCaller(gateway.url, { capabilities: ASKABLE });
    const first = await c.call('name');
    const call = await up.next('tools/call');
    assert.match((await within(heard.promise, 'the refusal')).message, /did not answer in time/);
    await cancelled(up, call);
    const { error } = await c.call('name', {}, retry(first, accept('x')));
    assert.equal(error.code, -32602);
    assert.match(error.message, /expired/);
    assert.equal(said(await c.call('plain')), 'plain');
  });

  test(`a server on ${kind} that ends while a call waits is an error on the retry, at once`, async (t) => {
    const up = await handshakeServer(kind, { tools: asking(gates()) });
    const gateway = await startGateway(t, { servers: { up } });
    const c = new HttpCaller(gateway.url, { capabilities: ASKABLE });
    const first = await c.call('name');
    const { peer } = await up.next('tools/call');
    if (kind === 'stdio') peer.socket.destroy();
    else up.server.closeAllConnections();

    const began = Date.now();
    const { result, error } = await c.call('name', {}, retry(first, accept('x')));
    assert.ok(Date.now() - began < 5000);
    assert.ok(error, JSON.stringify(result));
    assert.match(error.message, /server|over/);
  });
}

for (const kind of ['http', 'stdio']) {
  describe(`a stateless server on ${kind}`, () => {
    const STATE = 'état "1" \\ \u{1f600} \u0000 </end>';
    let up, gateway;
    const clients = [];
    const client = (options) => {
      const made = new HttpCaller(gateway.url, { capabilities: ASKABLE, token: TOKENS[0], ...options });
      clients.push(made);
      return made;
    };
    const seen = [];
    before(async () => {
      const question = { q: { method: 'elicitation/create', params: form('?') } };
      up = await statelessServer(kind, { name: kind, tools: {
        stateful: (args, { msg: { params: { inputResponses, requestState } } }) => {
          seen.push({ inputResponses, requestState });
          return inputResponses?.q ? text(inputResponses.q.action) : inputRequired(question, STATE);
        },
        bare: (args, { msg: { params: { inputResponses, requestState } } }) => {
          seen.push({ inputResponses, requestState });
          return inputResponses ? text(inputResponses.q.action) : inputRequired(question);
        },
        waits: (args, { msg: { params: { requestState } } }) =>
          requestState ? text('waited') : inputRequired(undefined, 'later'),
        other: () => text('other'),
      } });
      gateway = new Gateway({ servers: { up }, config: { auth: { tokens: TOKENS }, timeouts: { input: 1 } } });
      gateway.url = await within(gateway.listening.promise, 'listening line');
      await client().send('tools/list');
    });
    after(async () => {
      clients.forEach((c) => c.close());
      try {
        assert.equal((await gateway.stop()).code, 0, gateway.log);
      } finally {
        up.close();
      }
    });
    const assertForeign = async (send) => {
      const before = up.calls;
      const { error, result } = await send();
      assert.equal(error?.code, -32602, JSON.stringify(result ?? error));
      assert.match(error.message, /requestState/);
      assert.equal(up.calls, before);
    };

    test('its state is hidden from the client, and comes back byte by byte', async () => {
      const c = client();
      const first = await c.call('stateful');
      assert.deepEqual(first.result.inputRequests, { q: { method: 'elicitation/create', params: form('?') } });
      assert.ok(!first.raw.includes('état') && !first.raw.includes('</end>'), 'sealed');
      assert.equal(said(await c.call('stateful', {}, retry(first, { action: 'decline' }))), 'decline');
      assert.deepEqual(seen.at(-1), { inputResponses: { q: { action: 'decline' } }, requestState: STATE });
    });

    test('what it asks without a state is answered without one', async () => {
      const c = client();
      const first = await c.call('bare');
      assert.equal('requestState' in first.result, false);
      assert.equal(said(await c.call('bare', {}, { inputResponses: { q: { action: 'accept' } } })), 'accept');
      assert.deepEqual(seen.at(-1), { inputResponses: { q: { action: 'accept' } }, requestState: undefined });
    });

    test('it may ask nothing but to come back', async () => {
      const c = client();
      const { result } = await c.call('waits');
      assert.equal(result.inputRequests, undefined);
      assert.equal(said(await c.call('waits', {}, { requestState: result.requestState })), 'waited');
    });

    test('a state that is forged, altered, foreign, used or expired does not reach it', async () => {
      const c = client();
      const first = await c.call('stateful', { a: 1 });
      const more = retry(first, accept('x'));
      const good = more.requestState;
      for (let i = 0; i < good.length; i += 5)
        await assertForeign(() => c.call('stateful', { a: 1 },
          { ...more, requestState: good.slice(0, i) + (good[i] === 'A' ? 'B' : 'A') + good.slice(i + 1) }));
      for (const requestState of [STATE, 'later', '', good.slice(1), 5])
        await assertForeign(() => c.call('stateful', { a: 1 }, { ...more, requestState }));
      await assertForeign(() => c.call('stateful', { a: 2 }, more));
      await assertForeign(() => c.call('other', { a: 1 }, more));
      await assertForeign(() => client({ token: TOKENS[1] }).call('stateful', { a: 1 }, more));
      assert.equal(said(await c.call('stateful', { a: 1 }, more)), 'accept');
      await assertForeign(() => c.call('stateful', { a: 1 }, more));
    });
  });

  test(`a state of a stateless server on ${kind} expires`, async (t) => {
    const up = await statelessServer(kind, { tools: { waits: () => inputRequired(undefined, 'later') } });
    const gateway = await startGateway(t, { servers: { up }, config: { timeouts: { input: 0.2 } } });
    const c = new HttpCaller(gateway.url, { capabilities: ASKABLE });
    const { requestState } = (await c.call('waits')).result;
    const given = Date.now();
    await until(() => Date.now() > given + 250, 'the time to pass');
    const { error } = await c.call('waits', {}, { requestState });
    assert.equal(error.code, -32602);
    assert.match(error.message, /expired/);
    assert.equal(up.calls, 1);
  });
}

for (const kind of ['http', 'stdio']) {
  describe(`a client that has Toolgate as its child, and a server with a session on ${kind}`, () => {
    const start = async (t, tools) => {
      const up = await handshakeServer(kind, { tools });
      const gateway = await startGateway(t, { servers: { up }, transport: 'stdio' });
      return { up, client: new StdioCaller(gateway, { capabilities: ASKABLE }) };
    };

    test('it is asked, and answers by calling again', async (t) => {
      const { client, up } = await start(t, asking(gates()));
      let answer = await client.call('rounds');
      for (const n of [1, 2, 3]) answer = await client.call('rounds', {}, retry(answer, accept(`s${n}`)));
      assert.equal(said(answer), 's1 s2 s3');
      assert.equal(up.calls, 1);
      const { error } = await client.call('name', {}, { requestState: 'x' });
      assert.equal(error.code, -32602);
    });

    test('calls that run at the same time get their own results, whichever of them is asked', async (t) => {
      const { client } = await start(t, asking(gates()));
      const one = async (who) => {
        const told = [];
        let answer = await client.call('name', { who });
        while (answer.result?.resultType === 'input_required') {
          const all = asked(answer);
          told.push(...all.map(([, q]) => q.params.message));
          // The answer is that to the question, not to the call.
          answer = await client.call('name', { who }, retry(answer, ...all.map(([, q]) => accept(q.params.message))));
        }
        return { who, told, said: said(answer) };
      };
      const whos = ['a', 'b', 'c', 'd'];
      for (const { who, told, said: result } of await Promise.all(whos.map(one))) {
        assert.equal(result, `accept Name of ${who}?`);
        // On HTTP a question comes on the stream of its call, so it is known whose it is.
        if (kind === 'http') assert.deepEqual(told, [`Name of ${who}?`]);
      }
    });

    test('a call that waits for answers is cancelled by the notification', async (t) => {
      const { client, up } = await start(t, asking(gates()));
      const first = await client.call('holds', {}, {}, { id: 'first' });
      const call = await up.next('tools/call');
      const second = client.call('holds', {}, retry(first, accept('x')), { id: 'second' });
      second.catch(() => {});
      await client.notify('notifications/cancelled', { requestId: 'second' });
      await cancelled(up, call);
      client.abandon('"second"');
    });
  });
}
