// SPDX-License-Identifier: Apache-2.0
// Isolation: which connections (and so which processes) a server has, who uses them, and that nothing of one agent
// reaches another: answers, progress, messages, questions, resources, lists, tasks.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import path from 'node:path';
import { describe, test } from 'node:test';

import { tempDir, writeJson } from './lib/process.mjs';
import { alive, HttpClient, onEnd, resultText, startGateway, until } from './lib/raw.mjs';
import { makeUpstream } from './servers/features.mjs';

const WAIT_MS = 60_000;
const ANN = 'ann', BOB = 'bob';
const WATCHED = 'test://up/watched';
const tokenOf = (agent) => `token-of-${agent}-0123456789abcdef`;
const sha256 = (text) => crypto.createHash('sha256').update(text).digest('hex');
const eventually = (probe, what) => until(probe, what, WAIT_MS);
const calls = (tool) => (e) => e.msg?.method === 'tools/call' && e.msg.params.name === tool;

/** A gateway before the server `up`, whose entry in .mcp.json has these members besides. */
async function start(t, { agents = [ANN, BOB], entry = {}, config = {}, transport = 'stdio', script } = {}) {
  const up = await makeUpstream(transport, 'up', { entry });
  script?.(up);
  const auth = { tokens: agents.map((agent) => ({ sha256: sha256(tokenOf(agent)), agent })) };
  const timeouts = { start_wait: 60, ...config.timeouts };
  const gateway = await startGateway(t, { servers: { up }, config: { ...config, auth, timeouts } });
  return { up, gateway };
}

/** A client of an agent, with a stream for what servers say by themselves. */
async function as(t, gateway, agent, options = {}) {
  const headers = { authorization: `Bearer ${tokenOf(agent)}` };
  const client = new HttpClient(gateway.url, { headers, ...options });
  onEnd(t, () => client.close());
  await client.connect();
  await client.tools(); // waits for the servers
  return client;
}

const echo = async (client, value) => (await client.call('up_echo', { value })).structuredContent.got.value;
/** The process that a client's call arrives at. */
async function processOf(up, client) {
  const nonce = crypto.randomUUID();
  const answer = echo(client, nonce);
  const { peer } = await up.next((e) => calls('up_echo')(e) && e.msg.params.arguments.value === nonce, nonce, WAIT_MS);
  assert.equal(await answer, nonce);
  return peer;
}
const pids = (up) => up.connections.map((c) => c.pid).sort();

describe('processes of a server', () => {
  test('isolation agent: one for each agent, which its sessions share, and none before it is needed', async (t) => {
    const { up, gateway } = await start(t);
    const [a, again, b] = [await as(t, gateway, ANN), await as(t, gateway, ANN), await as(t, gateway, BOB)];
    assert.equal(up.connections.length, 1, 'what there is was listed once');
    const first = await processOf(up, a);
    assert.equal(await processOf(up, again), first);
    assert.equal(up.connections.length, 1, 'the one that was started ahead');
    const second = await processOf(up, b);
    assert.notEqual(second.pid, first.pid);
    assert.deepEqual(pids(up), [first.pid, second.pid].sort());
    await gateway.stop();
    for (const { pid } of [first, second]) assert.ok(!alive(pid), `${pid} is left`);
  });

  test('isolation agent: clients that can be asked have one each', async (t) => {
    const { up, gateway } = await start(t);
    const options = { capabilities: { sampling: {} } };
    const asked = [await as(t, gateway, ANN, options), await as(t, gateway, ANN, options)];
    const peers = [await processOf(up, asked[0]), await processOf(up, asked[1])];
    assert.notEqual(peers[0], peers[1]);
    assert.deepEqual(peers.map((p) => p.init.capabilities), [{ sampling: {} }, { sampling: {} }]);
  });

  test('isolation session: one for each session', async (t) => {
    const { up, gateway } = await start(t, { entry: { isolation: 'session' } });
    const clients = [await as(t, gateway, ANN), await as(t, gateway, ANN), await as(t, gateway, BOB)];
    const peers = [];
    for (const client of clients) peers.push(await processOf(up, client));
    assert.equal(new Set(peers).size, 3);
    await clients[0].close();
    await eventually(() => !up.connections.includes(peers[0]), 'the end of the first process');
    assert.equal(await processOf(up, clients[1]), peers[1]);
  });

  test('isolation session: one for each agent that a session acts as', async (t) => {
    const up = await makeUpstream('stdio', 'up', { entry: { isolation: 'session' } });
    const all = { allow: { servers: ['up'], tools: { up: ['*'] } } };
    const rules = writeJson(path.join(tempDir(t), 'rules.json'), { agents: { [ANN]: all, [BOB]: all } });
    const args = ['--mode', 'servers', '--rules', rules];
    const gateway = await startGateway(t, { servers: { up }, config: { timeouts: { start_wait: 60 } }, args });
    const client = new HttpClient(gateway.url);
    onEnd(t, () => client.close());
    await client.connect();
    const processAs = async (agent_id) => {
      const value = crypto.randomUUID();
      const answer = client.call('execute_tool', { agent_id, server: 'up', tool: 'up_echo', args: { value } });
      const { peer } = await up.next((e) => calls('up_echo')(e) && e.msg.params.arguments.value === value, value, WAIT_MS);
      await answer;
      return peer;
    };
    const ann = await processAs(ANN);
    assert.notEqual((await processAs(BOB)).pid, ann.pid);
    assert.equal((await processAs(ANN)).pid, ann.pid);
  });

  test('isolation shared: one for all', async (t) => {
    const { up, gateway } = await start(t, { entry: { isolation: 'shared' } });
    const clients = [
      await as(t, gateway, ANN),
      await as(t, gateway, BOB),
      await as(t, gateway, BOB, { capabilities: { sampling: {} } }),
    ];
    const peers = [];
    for (const client of clients) peers.push(await processOf(up, client));
    assert.deepEqual(pids(up), [peers[0].pid]);
    assert.equal(new Set(peers).size, 1);
    await gateway.stop();
    assert.ok(!alive(peers[0].pid));
  });

  test('credentials that are no agents are kept apart as well', async (t) => {
    const up = await makeUpstream('stdio', 'up', {});
    const auth = { tokens: [ANN, BOB].map((agent) => ({ sha256: sha256(tokenOf(agent)) })) };
    const gateway = await startGateway(t, { servers: { up }, config: { auth, timeouts: { start_wait: 60 } } });
    const [a, b] = [await as(t, gateway, ANN), await as(t, gateway, BOB)];
    assert.notEqual(await processOf(up, a), await processOf(up, b));
  });

  test('at an HTTP server every agent has a session of its own', async (t) => {
    const { up, gateway } = await start(t, { transport: 'http' });
    const [a, b] = [await as(t, gateway, ANN), await as(t, gateway, BOB)];
    assert.notEqual(await processOf(up, a), await processOf(up, b));
    assert.equal(up.connections.length, 2);
  });

  test('one that nobody uses is ended, and started by the next call', async (t) => {
    const { up, gateway } = await start(t, { config: { timeouts: { server_idle: 1 } } });
    const [a, b] = [await as(t, gateway, ANN), await as(t, gateway, BOB)];
    await a.ask('resources/subscribe', { uri: WATCHED });
    await up.next((e) => e.msg?.method === 'resources/subscribe', 'the subscription', WAIT_MS);
    const [listened, idle] = [await processOf(up, a), await processOf(up, b)];
    await eventually(() => !up.connections.includes(idle), 'the end of the process');
    assert.ok(up.connections.includes(listened), 'somebody listens to the other');
    const next = await processOf(up, b);
    assert.notEqual(next.pid, idle.pid);
    assert.ok(!alive(idle.pid));
    await a.ask('resources/unsubscribe', { uri: WATCHED });
    await eventually(() => !up.connections.includes(listened), 'the end of the other');
  });

  test('idleTimeout ends one that all share, too', async (t) => {
    const { up, gateway } = await start(t, { entry: { isolation: 'shared', idleTimeout: 1000 } });
    const a = await as(t, gateway, ANN);
    const first = await processOf(up, a);
    await eventually(() => up.connections.length === 0, 'the end of the process');
    assert.notEqual((await processOf(up, a)).pid, first.pid);
    assert.equal((await a.tools()).length > 0, true);
  });

  test('when there are too many, the one used longest ago makes room; if all are busy, a fault says so', async (t) => {
    const agents = ['one', 'two', 'three', 'four'];
    const { up, gateway } = await start(t, { agents, config: { limits: { own_connections: 2 } } });
    const [one, two, three, four] = await Promise.all(agents.map((agent) => as(t, gateway, agent)));
    const first = await processOf(up, one);
    const second = await processOf(up, two);
    const third = await processOf(up, three);
    await eventually(() => !up.connections.includes(first), 'the end of the first');
    assert.deepEqual(pids(up), [second.pid, third.pid].sort());
    const held = [two, three].map((client) => client.request('tools/call', { name: 'up_hold', arguments: {} }));
    const entries = [await up.next(calls('up_hold'), 'hold', WAIT_MS), await up.next(calls('up_hold'), 'hold', WAIT_MS)];
    const { error } = (await four.request('tools/call', { name: 'up_echo', arguments: {} }));
    assert.match(error.message, /has no free connection for this client \(limits\.own_connections is 2\)/);
    assert.equal(error.data.error, 'UPSTREAM_UNAVAILABLE');
    assert.equal(error.data.retryable, true);
    assert.equal(error.data.details.retry_after, 1);
    for (const { msg, peer, ctx } of entries) peer.transmit(resultText(JSON.stringify(msg.id), { content: [] }), ctx);
    await Promise.all(held);
    assert.equal(await echo(four, 'now'), 'now');
  });

  test("the end of one agent's process is none of another's business", async (t) => {
    const { up, gateway } = await start(t);
    const [a, b] = [await as(t, gateway, ANN), await as(t, gateway, BOB)];
    const [mine, theirs] = [await processOf(up, a), await processOf(up, b)];
    const waiting = b.request('tools/call', { name: 'up_hold', arguments: {} });
    const { msg, peer, ctx } = await up.next(calls('up_hold'), 'hold', WAIT_MS);
    process.kill(mine.pid, 'SIGKILL');
    await eventually(() => !up.connections.includes(mine), 'the end of the process');
    assert.equal(await processOf(up, b), theirs);
    peer.transmit(resultText(JSON.stringify(msg.id), { content: [{ type: 'text', text: 'still here' }] }), ctx);
    assert.equal((await waiting).result.content[0].text, 'still here');
    const again = await eventually(async () => {
      const { result } = await a.request('tools/call', { name: 'up_echo', arguments: {} });
      return result && up.connections.find((c) => c !== theirs);
    }, 'the next process');
    assert.notEqual(again.pid, mine.pid);
  });
});

describe('nothing of one agent reaches another', () => {
  for (const isolation of ['agent', 'session', 'shared']) {
    test(`answers and progress of equal ids (${isolation})`, async (t) => {
      const { up, gateway } = await start(t, { entry: { isolation } });
      up.on('tools/call', async ({ arguments: args, _meta }, entry) => {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
        await entry.peer.notify('notifications/progress', {
          progressToken: _meta.progressToken, progress: 1, message: args.nonce,
        });
        return { content: [{ type: 'text', text: args.nonce }] };
      });
      const clients = [];
      for (const agent of [ANN, BOB, ANN, BOB]) clients.push(await as(t, gateway, agent));
      await Promise.all(clients.map(async (client, who) => {
        for (let round = 0; round < 10; round++) {
          await Promise.all(Array.from({ length: 20 }, async (_, i) => {
            const nonce = `${who}/${round}/${i}`;
            const params = { name: 'up_echo', arguments: { nonce }, _meta: { progressToken: i } };
            const { result } = await client.request('tools/call', params, { rawId: String(i) });
            assert.equal(result?.content[0].text, nonce);
          }));
        }
        const told = client.inbox.entries.filter((e) => e.msg?.method === 'notifications/progress');
        assert.equal(told.length, 200);
        for (const { msg: { params } } of told) {
          const [of, , token] = params.message.split('/').map(Number);
          assert.deepEqual([of, token], [who, params.progressToken]);
        }
      }));
    });

    test(`changes of resources, messages and questions (${isolation})`, async (t) => {
      const { up, gateway } = await start(t, { entry: { isolation } });
      const options = { capabilities: { sampling: {} } };
      const [a, b] = [await as(t, gateway, ANN, options), await as(t, gateway, BOB, options)];
      const questions = [];
      for (const [name, client] of [['a', a], ['b', b]]) {
        client.handlers.set('sampling/createMessage', ({ messages }) => {
          questions.push(`${name} ${messages[0].content.text}`);
          return { role: 'assistant', model: name, content: { type: 'text', text: name } };
        });
        await client.ask('logging/setLevel', { level: 'debug' });
      }
      await a.ask('resources/subscribe', { uri: WATCHED });
      await up.subscribed(WATCHED);
      const [mine, theirs] = [await processOf(up, a), await processOf(up, b)];
      assert.equal(mine === theirs, isolation === 'shared');

      // What a server says by itself, on every connection that it has.
      await up.broadcast('notifications/resources/updated', { uri: WATCHED });
      await up.broadcast('notifications/message', { level: 'error', data: 'by itself' });
      await up.broadcast('notifications/tasks/status', { taskId: '1', status: 'working' });
      await a.next('notifications/resources/updated', undefined, WAIT_MS);

      // During a call of one of them, while the other waits for nothing.
      assert.equal((await a.call('up_sample', { q: 'of a' })).structuredContent.result.model, 'a');
      assert.equal((await b.call('up_sample', { q: 'of b' })).structuredContent.result.model, 'b');
      assert.deepEqual(questions, ['a of a', 'b of b']);

      // And while both have calls under way: the question finds whose it is, or nobody.
      const held = b.request('tools/call', { name: 'up_hold', arguments: {} });
      const { msg, peer, ctx } = await up.next(calls('up_hold'), 'hold', WAIT_MS);
      const both = await a.request('tools/call', { name: 'up_sample', arguments: { q: 'of a again' } });
      assert.deepEqual(questions.slice(2), isolation === 'shared' ? [] : ['a of a again']);
      assert.equal(both.result?.structuredContent?.result?.model, isolation === 'shared' ? undefined : 'a');
      peer.transmit(resultText(JSON.stringify(msg.id), { content: [] }), ctx);
      await held;

      for (const client of [a, b]) await client.ask('ping');
      const heard = (client, method) => client.inbox.entries.filter((e) => e.msg?.method === method).length;
      assert.equal(heard(b, 'notifications/resources/updated'), 0, 'it has not asked for it');
      for (const client of [a, b]) {
        const messages = heard(client, 'notifications/message');
        assert.equal(messages, isolation === 'shared' ? 0 : 1, 'on a connection of all it cannot be told whose it is');
      }
    });
  }

  test("tasks: neither the id nor the state of another agent's", async (t) => {
    const { up, gateway } = await start(t);
    const [a, b] = [await as(t, gateway, ANN), await as(t, gateway, BOB)];
    const created = await a.ask('tools/call', { name: 'up_task', arguments: {}, task: {} });
    const { taskId } = created.task;
    await processOf(up, b); // has a connection of its own
    const { error } = await b.request('tasks/get', { taskId });
    assert.match(error.message, /Unknown task/);
    const theirs = await processOf(up, b);
    await theirs.notify('notifications/tasks/status', { taskId, status: 'failed', ttl: null, createdAt: '', lastUpdatedAt: '' });
    await b.ask('ping');
    await a.ask('ping');
    const told = a.inbox.entries.filter((e) => e.msg?.method === 'notifications/tasks/status');
    assert.deepEqual(told.filter((e) => e.msg.params.status === 'failed'), []);
  });
});

describe('lists', () => {
  const tool = (name) => ({ name, inputSchema: { type: 'object' } });
  const names = async (client) => (await client.tools()).map((each) => each.name).filter((n) => /^up_(plain|extra)/.test(n));

  /** A server whose connections have tools of their own, once they were told to. */
  async function changing(t, entry = {}) {
    const script = (up) => up.on('tools/list', (params, { peer }) => ({
      tools: [tool('up_plain'), tool('up_echo'), ...(peer.extra ?? []).map(tool)],
    }));
    return start(t, { entry, script });
  }
  const enable = async (peer, ...extra) => {
    peer.extra = extra;
    await peer.notify('notifications/tools/list_changed');
  };
  const sees = (client, ...expected) =>
    eventually(async () => (await names(client)).join() === expected.join(), `${expected} in the list`);

  /** How often clients heard that the list is another, since the last time; all that was said before has come. */
  async function heard(up, clients) {
    for (const client of clients) {
      const peer = await processOf(up, client);
      await client.ask('resources/subscribe', { uri: WATCHED });
      await peer.notify('notifications/resources/updated', { uri: WATCHED });
      await client.next('notifications/resources/updated', undefined, WAIT_MS);
    }
    return clients.map(({ inbox }) => {
      const count = inbox.entries.filter((e) => e.msg?.method === 'notifications/tools/list_changed').length;
      inbox.entries.length = 0;
      return count;
    });
  }

  test('what a connection shows is for the agent whose it is, and only that hears of it', async (t) => {
    const { up, gateway } = await changing(t);
    const clients = [await as(t, gateway, ANN), await as(t, gateway, BOB), await as(t, gateway, BOB)];
    const [a, b, late] = clients;
    await heard(up, clients);
    const [mine, theirs] = [await processOf(up, a), await processOf(up, b)];
    await enable(mine, 'up_extra_a');
    await sees(a, 'up_plain', 'up_extra_a');
    assert.deepEqual(await names(b), ['up_plain']);
    assert.deepEqual(await heard(up, clients), [1, 0, 0]);
    await enable(theirs, 'up_extra_b');
    await sees(b, 'up_plain', 'up_extra_b');
    assert.deepEqual(await names(late), ['up_plain', 'up_extra_b']);
    assert.deepEqual(await names(a), ['up_plain', 'up_extra_a']);
    assert.deepEqual(await heard(up, clients), [0, 1, 1]);
    await enable(mine, 'up_extra_b');
    await sees(a, 'up_plain', 'up_extra_b');
    assert.deepEqual(await heard(up, clients), [1, 0, 0]);
  });

  test('an agent without a connection sees what a new one would show', async (t) => {
    const { up, gateway } = await changing(t);
    const a = await as(t, gateway, ANN);
    const mine = await processOf(up, a);
    await enable(mine, 'up_extra_a');
    await sees(a, 'up_plain', 'up_extra_a');
    assert.deepEqual(await names(await as(t, gateway, BOB)), ['up_plain']);
    await enable(mine);
    await sees(a, 'up_plain');
  });

  test('with a connection that all share, all hear of a change', async (t) => {
    const { up, gateway } = await changing(t, { isolation: 'shared' });
    const clients = [await as(t, gateway, ANN), await as(t, gateway, BOB)];
    await heard(up, clients);
    await enable(await processOf(up, clients[0]), 'up_extra');
    for (const client of clients) await sees(client, 'up_plain', 'up_extra');
    assert.deepEqual(await heard(up, clients), [1, 1]);
  });
});

describe('callers of one connection take turns', () => {
  /** Sends calls of an agent; gives the promises of their answers. */
  const flood = (client, name, count) => Array.from({ length: count }, (_, i) =>
    client.request('tools/call', { name: 'up_hold', arguments: { of: name, i } }));
  const answer = ({ msg, peer, ctx }) => peer.transmit(resultText(JSON.stringify(msg.id), { content: [] }), ctx);
  const nextCall = (up) => up.next(calls('up_hold'), 'the next call', WAIT_MS);

  test('a principal that floods a server does not starve another', async (t) => {
    const { up, gateway } = await start(t, { entry: { isolation: 'shared', maxInFlight: 2 } });
    const [a, b] = [await as(t, gateway, ANN), await as(t, gateway, BOB)];
    const flooding = flood(a, 'a', 40);
    const first = [await nextCall(up), await nextCall(up)];
    await a.ask('ping');
    const patient = flood(b, 'b', 5);
    await b.ask('ping'); // all of them have come
    const order = [];
    for (let under = first; under.length;) {
      answer(under.shift());
      if (order.length + first.length < 43) {
        const entry = await nextCall(up);
        order.push(entry.msg.params.arguments.of);
        under.push(entry);
      }
    }
    for (const { result } of await Promise.all([...flooding, ...patient])) assert.ok(result);
    const last = order.lastIndexOf('b');
    assert.equal(order.filter((of) => of === 'b').length, 5);
    assert.ok(last <= 10, `every second turn was the other's: ${order.join('')}`);
  });

  test('too many that wait are refused, and it is those of whoever has the most', async (t) => {
    const entry = { isolation: 'shared', maxInFlight: 1 };
    const { up, gateway } = await start(t, { entry, config: { limits: { server_queue: 4 } } });
    const [a, b] = [await as(t, gateway, ANN), await as(t, gateway, BOB)];
    const flooding = flood(a, 'a', 10);
    const running = await nextCall(up);
    const refused = [];
    flooding.forEach((each) => each.then(({ error }) => error && refused.push(error)));
    await eventually(() => refused.length === 5, 'those that are too many');
    assert.equal(refused[0].data.error, 'RATE_LIMITED');
    assert.equal(refused[0].data.retryable, true);
    assert.equal(refused[0].data.details.retry_after, 1);
    assert.match(refused[0].message, /has too many calls: 1 in flight and 4 waiting \(limits\.server_queue\)/);
    const patient = flood(b, 'b', 1);
    await eventually(() => refused.length === 6, 'one that makes room');
    answer(running);
    for (let i = 0; i < 4; i++) answer(await nextCall(up));
    assert.ok((await patient[0]).result);
    assert.equal((await Promise.all(flooding)).filter((each) => each.result).length, 4);
  });

  test('a call that gets no turn in time fails and is not sent', async (t) => {
    const entry = { isolation: 'shared', maxInFlight: 1, timeout: 1000, toolTimeouts: { up_hold: 60000 } };
    const { up, gateway } = await start(t, { entry });
    const a = await as(t, gateway, ANN);
    const held = flood(a, 'a', 1);
    const running = await nextCall(up);
    const { error } = await a.request('tools/call', { name: 'up_echo', arguments: {} });
    assert.equal(error.data.error, 'UPSTREAM_TIMEOUT');
    assert.match(error.message, /1 calls in flight/);
    answer(running);
    await Promise.all(held);
    assert.ok(!up.inbox.has(calls('up_echo')));
  });

  test('one that is cancelled while it waits lets the next go', async (t) => {
    const { up, gateway } = await start(t, { entry: { isolation: 'shared', maxInFlight: 1 } });
    const a = await as(t, gateway, ANN);
    const held = flood(a, 'a', 1);
    const running = await nextCall(up);
    a.request('tools/call', { name: 'up_hold', arguments: { of: 'gone' } }, { rawId: '"gone"' }).catch(() => {});
    await a.ask('ping');
    const last = a.request('tools/call', { name: 'up_hold', arguments: { of: 'last' } });
    await a.notify('notifications/cancelled', { requestId: 'gone' });
    answer(running);
    const next = await nextCall(up);
    assert.equal(next.msg.params.arguments.of, 'last');
    answer(next);
    await Promise.all([...held, last]);
  });
});

test('agents come and go a thousand times, and leave neither connections nor memory', async (t) => {
  const agents = Array.from({ length: 250 }, (_, i) => `agent-${i}`);
  const { up, gateway } = await start(t, { agents, transport: 'http', config: { limits: { own_connections: 8 } } });
  const visit = async (agent) => {
    const headers = { authorization: `Bearer ${tokenOf(agent)}` };
    const client = new HttpClient(gateway.url, { headers });
    await client.initialize();
    assert.equal(await echo(client, agent), agent);
    await client.close();
  };
  for (const agent of agents) await visit(agent);
  const before = gateway.rssKb();
  for (let round = 0; round < 3; round++) for (const agent of agents) await visit(agent);
  const grown = gateway.rssKb() - before;
  assert.ok(up.connections.length <= 9, `${up.connections.length} connections`);
  assert.ok(grown < 8 * 1024, `${grown} KiB more after 750 comings`);
});

describe('a server that the rules deny', () => {
  const rules = { agents: { [ANN]: { allow: { servers: ['up'], tools: { '*': ['*'] } } } } };

  for (const mode of ['direct', 'gateway', 'transparent', 'servers'])
    test(`is not started for an agent that may not use it, nor hears what its client can do (${mode})`, async (t) => {
      const [up, hidden] = [await makeUpstream('stdio', 'up'), await makeUpstream('stdio', 'hidden')];
      const auth = { tokens: [{ sha256: sha256(tokenOf(ANN)), agent: ANN }] };
      const config = { auth, init_strategy: 'lazy', timeouts: { start_wait: 60 }, rules: writeJson(path.join(tempDir(t), 'rules.json'), rules) };
      const gateway = await startGateway(t, { servers: { up, hidden }, config, args: ['--mode', mode] });
      const headers = { authorization: `Bearer ${tokenOf(ANN)}` };
      const client = new HttpClient(gateway.url, { headers, capabilities: { elicitation: {}, sampling: {}, roots: {} } });
      onEnd(t, () => client.close());
      await client.connect();
      await client.request('tools/list', {});
      for (const name of ['tool_browse', 'list_servers', 'get_server_tools', 'hidden__echo', 'nosuch'])
        await client.request('tools/call', { name, arguments: name === 'tool_browse' ? { path: '/' } : { server: 'hidden' } });
      await client.request('resources/read', { uri: 'test://hidden/one' });
      assert.deepEqual(hidden.connections, []);
    });
});
