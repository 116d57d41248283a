// SPDX-License-Identifier: Apache-2.0
// Names, lists, kept results and questions that an agent sees while servers and rules change. They must not reveal
// hidden items.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { runToolgate } from './lib/gateway.mjs';
import { execute, faultOf, handleOf, idOf, namesOf, open, snapshot } from './lib/meta.mjs';
import { tempDir, writeJson } from './lib/process.mjs';
import { deferred, onEnd, startGateway, until, within } from './lib/raw.mjs';
import { json, reply, shop, tokenOf, tool, World } from './lib/reloading.mjs';
import { accept, ask, form, handshakeServer, HttpCaller, inputRequired, statelessServer, text } from './lib/stateless.mjs';

const seen = async (client) => namesOf(await client.tools());
const textOf = (result) => result.content[0].text;
const CHANGED = 'notifications/tools/list_changed';

/** Rules by which each agent may use these servers, and all that they have. */
const serversOf = (agents) => ({
  agents: Object.fromEntries(Object.entries(agents).map(([agent, servers]) =>
    [agent, { allow: { servers, tools: { '*': ['*'] } } }])),
});
const save = (w, servers) => w.reloading(() => fs.writeFileSync(w.mcp, json({ mcpServers: servers })));

/** What it sees once the servers are up, and has heard of. */
const settled = async (client) => {
  const names = await seen(client);
  await client.roundTrip();
  client.inbox.entries.length = 0;
  return names;
};
const assertUntold = async (client) => {
  await client.roundTrip();
  assert.ok(!client.inbox.has(CHANGED), 'nothing was told');
};

describe('the names of direct mode are those of what an agent sees', () => {
  const AGENTS = { clerk: ['shop'], boss: ['*'] };

  test('a server that is hidden changes no name, and nobody hears of it who does not see it', async (t) => {
    const servers = { shop: shop(t, ['add', 'list']) };
    const w = await World.start(t, { servers, rules: serversOf(AGENTS) });
    const [clerk, boss] = [await w.client('clerk'), await w.client('boss')];
    for (const client of [clerk, boss]) assert.deepEqual(await settled(client), ['add', 'list']);
    await save(w, { ...servers, payroll: shop(t, ['list', 'pay']) });
    await boss.next(CHANGED);
    assert.deepEqual(await settled(boss), ['add', 'shop__list', 'payroll__list', 'pay']);
    await assertUntold(clerk);
    assert.deepEqual(await seen(clerk), ['add', 'list']);
    assert.equal(textOf(await clerk.call('list', {})), 'list was called');
    // As it is with a name that nobody has.
    for (const name of ['shop__list', 'payroll__list', 'pay', 'shop__add'])
      await assert.rejects(clerk.call(name, {}), (e) => e.message.includes(`Unknown tool: ${name}`), name);
    await assert.rejects(boss.call('list', {}), /Unknown tool \(now shop__list, payroll__list\): list/);
    await save(w, servers);
    await boss.next(CHANGED);
    assert.deepEqual(await seen(boss), ['add', 'list']);
    await assertUntold(clerk);
  });

  test('a change is compared once for each agent, however many agents and sessions there are', async (t) => {
    const servers = { shop: shop(t, ['add', 'list']) }, names = Array.from({ length: 20 }, (_, i) => `agent${i}`);
    const rules = serversOf(Object.fromEntries(names.map((name) => [name, ['*']])));
    const w = await World.start(t, { servers, rules, config: { log: { level: 'debug' } } });
    const clients = [];
    for (const name of [...names, ...names]) clients.push(await w.client(name));
    for (const client of clients) await settled(client);
    const from = w.gateway.log.length;
    await save(w, { ...servers, payroll: shop(t, ['pay']) });
    for (const client of clients) await client.next(CHANGED);
    // A slow machine needs several slices, and each compares an agent once at most.
    await until(() => /compared \d+ visible lists\b(?!;)/.test(w.gateway.log.slice(from)), () => w.gateway.log.slice(from));
    const slices = [...w.gateway.log.slice(from).matchAll(/compared (\d+) visible lists/g)].map(([, views]) => Number(views));
    assert.ok(slices.length > 0 && slices.every((views) => views <= 20), `${slices}`);
    assert.ok(slices.reduce((sum, views) => sum + views) >= 20, `${slices}`);
  });

  test('rules that show one more server change the names that clash then, and that is told', async (t) => {
    const servers = { shop: shop(t, ['add', 'list']), payroll: shop(t, ['list', 'pay']) };
    const w = await World.start(t, { servers, rules: serversOf(AGENTS) });
    const clerk = await w.client('clerk');
    assert.deepEqual(await settled(clerk), ['add', 'list']);
    await w.write(serversOf({ ...AGENTS, clerk: ['shop', 'payroll'] }));
    await clerk.next(CHANGED);
    assert.deepEqual(await settled(clerk), ['add', 'shop__list', 'payroll__list', 'pay']);
    await w.write(serversOf({ ...AGENTS, clerk: ['payroll'] }));
    await clerk.next(CHANGED);
    assert.deepEqual(await settled(clerk), ['list', 'pay']);
    assert.equal(textOf(await clerk.call('list', {})), 'list was called');
  });

  test('a page goes on where it was when something changed that is hidden', async (t) => {
    const servers = { shop: shop(t, ['add', 'list']) };
    const w = await World.start(t, { servers, rules: serversOf(AGENTS), config: { modes: ['transparent'], limits: { page_size: 1 } } });
    const clerk = await w.client('clerk');
    const transparent = await w.client('clerk', { path: '/mcp/transparent' });
    const first = await clerk.ask('tools/list'), other = await transparent.ask('tools/list');
    await save(w, { ...servers, payroll: shop(t, ['list', 'pay']) });
    const boss = await w.client('boss');
    assert.equal((await seen(boss)).length, 4);
    const second = await clerk.ask('tools/list', { cursor: first.nextCursor });
    assert.deepEqual([first, second].map((page) => namesOf(page.tools)), [['add'], ['list']]);
    assert.match(namesOf((await transparent.ask('tools/list', { cursor: other.nextCursor })).tools)[0], /shop__list/);
    await assert.rejects(boss.ask('tools/list', { cursor: first.nextCursor }), /cursor/i);
  });

  test('what was shown once stays in front when something changed that is hidden', async (t) => {
    const servers = { shop: shop(t, ['add', 'list']) };
    const w = await World.start(t, { servers, rules: serversOf(AGENTS), config: { modes: ['gateway'], cache_stable: true } });
    const [clerk, other, boss] = await Promise.all(['clerk', 'clerk', 'boss'].map((agent) =>
      w.client(agent, { path: '/mcp/gateway' })));
    const browse = async (client) => (await client.call('tool_browse', { path: '/shop' })).structuredContent.cards;
    for (const client of [clerk, other, boss]) await client.call('tool_browse', { query: 'add' });
    const without = await browse(other);
    assert.deepEqual(namesOf(without), ['add', 'cache_breakpoint', 'list']);
    await save(w, { ...servers, payroll: shop(t, ['add', 'pay']) });
    const all = async () => namesOf((await boss.call('tool_browse', { path: '/' })).structuredContent.cards);
    await until(async () => (await all()).includes('payroll'), 'the server', 60_000);
    assert.deepEqual(namesOf(await browse(boss)), ['add', 'list'], 'who sees the change begins anew');
    assert.deepEqual(await browse(clerk), without);
  });

  test('a list that rules have cut is for its agent alone, and is kept as long as what is in it may be', async (t) => {
    const make = async (ttlMs) => {
      const up = await statelessServer('http', { tools: { [`keep_${ttlMs}`]: () => text('kept') } });
      up.on('tools/list', () => ({ tools: up.tools, ttlMs, cacheScope: 'public' }));
      return up;
    };
    const servers = { shop: await make(60_000), payroll: await make(1000) };
    const keeping = async (url, token) => {
      const caller = new HttpCaller(url, { token });
      onEnd(t, () => caller.close());
      const { tools, ttlMs, cacheScope } = (await caller.send('tools/list')).result;
      return [namesOf(tools).length, ttlMs, cacheScope];
    };
    const w = await World.start(t, { servers, rules: serversOf(AGENTS) });
    assert.deepEqual(await keeping(w.gateway.url, tokenOf('clerk')), [1, 60_000, 'private']);
    assert.deepEqual(await keeping(w.gateway.url, tokenOf('boss')), [2, 1000, 'private']);
    const free = await startGateway(t, { servers, config: { timeouts: { start_wait: 60 } } });
    assert.deepEqual(await keeping(free.url), [2, 1000, 'public']);
  });
});

describe('a result that was kept is there for as long as its agent may use what it came from', () => {
  const AGENTS = { clerk: ['*'] };
  const LONG = Array.from({ length: 3000 }, (_, i) => `line ${i} of the payroll`).join('\n');
  const payroll = (t) => snapshot(t, {
    tools: [tool('salaries'), tool('hours')], resources: [{ uri: 'pay://all', name: 'All' }],
    replies: {
      tools: { salaries: reply(LONG), hours: reply(LONG.replaceAll('line', 'hour')) },
      resources: { 'pay://all': { contents: [{ uri: 'pay://all', text: LONG.replaceAll('line', 'row') }] } },
    },
  });
  const deny = (deny) => {
    const rules = serversOf(AGENTS);
    rules.agents.clerk.deny = deny;
    return rules;
  };
  const look = (client, handle) => client.call('tool_view', { handle, selector: { type: 'lines', start: 1, end: 2 } });
  const handles = async (client) => {
    const read = await client.call('resource_read', { resource_id: await idOf(client, 'payroll', 'pay://all', 'resource') });
    return {
      salaries: handleOf(await execute(client, 'payroll', 'salaries')),
      hours: handleOf(await execute(client, 'payroll', 'hours')),
      all: read.structuredContent.artifacts[0].handle,
    };
  };
  const assertUnknown = async (client, handle) => {
    const fault = faultOf(await look(client, handle), 'VIEW_FAILED'), none = 'text:nowhere:x#00000000:0123456789abcdef';
    const unknown = faultOf(await look(client, none), 'VIEW_FAILED');
    assert.deepEqual({ ...fault, path: none }, unknown, 'as it is with one that never was');
  };

  test('by its tool, by its server, and again when it may use that again', async (t) => {
    const w = await World.start(t, { servers: { payroll: payroll(t) }, rules: serversOf(AGENTS), args: ['--mode', 'gateway'] });
    const clerk = await w.client('clerk'), kept = await handles(clerk);
    for (const handle of Object.values(kept)) assert.equal((await look(clerk, handle)).isError, false);
    await w.write(deny({ tools: { payroll: ['salaries'] } }));
    await assertUnknown(clerk, kept.salaries);
    for (const handle of [kept.hours, kept.all]) assert.equal((await look(clerk, handle)).isError, false);
    await w.write(deny({ servers: ['payroll'] }));
    for (const handle of Object.values(kept)) await assertUnknown(clerk, handle);
    await w.write(serversOf(AGENTS));
    for (const handle of Object.values(kept)) assert.equal((await look(clerk, handle)).isError, false);
  });

  test('in mode servers too, and for an agent that the request names', async (t) => {
    const rules = serversOf({ clerk: ['*'], boss: ['*'] }), config = { result: { servers: 'bounded' }, auth: {} };
    const w = await World.start(t, { servers: { payroll: payroll(t) }, rules, args: ['--mode', 'servers'], config });
    const client = await open(t, w.gateway);
    const as = (name, args) => client.call(name, { agent_id: 'clerk', ...args });
    const result = await as('execute_tool', { server: 'payroll', tool: 'salaries', args: {} });
    const handle = /text:payroll:salaries\S*:[0-9a-f]{16}/.exec(JSON.stringify(result))[0];
    const selector = { type: 'lines', start: 1, end: 2 };
    assert.equal((await as('tool_view', { handle, selector })).isError, false);
    const denied = structuredClone(rules);
    denied.agents.clerk.deny = { servers: ['payroll'] };
    await w.write(denied);
    const shown = await as('tool_view', { handle, selector }), never = await as('tool_view', { handle: 'text:x:y', selector });
    assert.deepEqual([shown.isError, textOf(shown)], [true, textOf(never)]);
  });

  test('and so it is on the command line', async (t) => {
    const dir = tempDir(t), rules = path.join(dir, '.mcp-gateway-rules.json');
    const run = (...args) => runToolgate([...args, '--agent', 'clerk'], { cwd: dir, env: { XDG_STATE_HOME: dir } });
    writeJson(path.join(dir, '.mcp.json'), { mcpServers: { payroll: payroll(t) } });
    writeJson(rules, serversOf(AGENTS));
    const { id } = JSON.parse((await run('browse', '--json', '--path', '/payroll/salaries')).stdout).cards[0];
    const { stdout } = await run('call', id);
    const handle = /text:payroll:salaries\S*:[0-9a-f]{16}/.exec(stdout)?.[0] ?? assert.fail(stdout);
    assert.match((await run('view', handle)).stdout, /line 0 of the payroll/);
    writeJson(rules, deny({ servers: ['payroll'] }));
    const { status, stdout: shown, stderr } = await run('view', handle);
    assert.deepEqual([status, shown], [1, '']);
    assert.match(stderr, /unknown handle/);
  });
});

describe('a server that was taken from an agent asks and tells its clients nothing more', () => {
  const AGENTS = { clerk: ['*'] }, NOBODY = { clerk: ['nothing'] };
  const CAN = { capabilities: { elicitation: {}, roots: {} } };
  const isAsked = (e) => /^(elicitation|roots|notifications\/message)/.test(e.msg?.method);

  /** A call that has reached its server, and goes on when it is let go. */
  async function hold(t, make, run) {
    const began = deferred(), go = deferred();
    const up = await make({
      tools: {
        work: async (args, entry) => {
          began.resolve(entry);
          await go.promise;
          return run(entry);
        },
      },
    });
    const w = await World.start(t, { servers: { up }, rules: serversOf(AGENTS) });
    const clerk = await w.client('clerk', CAN);
    clerk.handlers.set('elicitation/create', () => accept('Ann'));
    clerk.handlers.set('roots/list', () => ({ roots: [] }));
    const answer = clerk.call('work', {});
    answer.catch(() => {});
    const entry = await within(began.promise, 'the call at its server', 60_000);
    return { w, up, clerk, answer, entry, go };
  }
  const asks = (entry) => ask(entry, 'elicitation/create', form('Who?'))
    .then((said) => text(`heard ${said.content?.name}`), (e) => text(`refused: ${e.message}`));

  for (const kind of ['http', 'stdio']) {
    test(`on ${kind}: the question is refused, and the call that was under way ends`, async (t) => {
      const { w, clerk, answer, entry, go } = await hold(t, (o) => handshakeServer(kind, o), asks);
      await w.write(serversOf(NOBODY));
      go.resolve();
      assert.equal(textOf(await answer), 'refused: no client can be asked at the moment');
      await assert.rejects(entry.peer.ask('roots/list', {}), /no client can be asked at the moment/);  // outside of a call
      await entry.peer.notify('notifications/message', { level: 'error', data: 'still here' });
      await clerk.roundTrip();
      assert.ok(!clerk.inbox.has(isAsked), 'its client heard nothing');
    });

    test(`on ${kind}: it is asked as long as the rules allow`, async (t) => {
      const { w, answer, go } = await hold(t, (o) => handshakeServer(kind, o), asks);
      await w.write({ ...serversOf({ ...AGENTS, other: ['*'] }) });
      go.resolve();
      assert.equal(textOf(await answer), 'heard Ann');
    });

    test(`on ${kind}: nor is it when a stateless server answers with a question`, async (t) => {
      const question = { q: { method: 'elicitation/create', params: form('Who?') } };
      const { w, clerk, answer, go } =
        await hold(t, (o) => statelessServer(kind, o), () => inputRequired(question, 'state'));
      await w.write(serversOf(NOBODY));
      go.resolve();
      await assert.rejects(answer, /rules/);
      await clerk.roundTrip();
      assert.ok(!clerk.inbox.has(isAsked), 'its client heard nothing');
    });
  }
});

describe('a result that is remembered is that of the server as it is configured now', () => {
  const RULES = serversOf({ clerk: ['*'] });
  const CONFIG = { cache: { read_only: true, ttl: 3600 } };
  const reading = (t, answer) => snapshot(t, {
    tools: [{ ...tool('read'), annotations: { readOnlyHint: true } }], replies: { tools: { read: reply(answer) } },
  });

  test('another entry, none at all, and the one of before again', async (t) => {
    const one = reading(t, 'one'), two = reading(t, 'two'), other = shop(t, ['add']);
    const w = await World.start(t, { servers: { up: one, other }, rules: RULES, config: CONFIG });
    const clerk = await w.client('clerk'), read = async () => textOf(await clerk.call('read', {}));
    assert.equal(await read(), 'one');
    fs.writeFileSync(one.catalog, fs.readFileSync(one.catalog, 'utf8').replace('"one"', '"one anew"'));
    assert.equal(await read(), 'one', 'it is remembered');
    await save(w, { up: two, other });
    assert.equal(await read(), 'two');
    await save(w, { other });
    await assert.rejects(read(), /Unknown tool/);
    await save(w, { up: one, other });
    assert.equal(await read(), 'one anew');
  });

  test('nor is it what the server of before answers after it was replaced', async (t) => {
    const began = deferred(), go = deferred();
    const make = async (says, wait) => handshakeServer('stdio', {
      tools: {
        read: {
          annotations: { readOnlyHint: true },
          run: async () => {
            began.resolve();
            await wait;
            return text(says);
          },
        },
      },
    });
    const w = await World.start(t, { servers: { up: await make('old', go.promise) }, rules: RULES, config: CONFIG });
    const clerk = await w.client('clerk'), read = async () => textOf(await clerk.call('read', {}));
    const first = read();
    await within(began.promise, 'the call at its server', 60_000);
    const next = await make('new', Promise.resolve());
    await save(w, { up: next.config() });
    assert.equal(await read(), 'new');
    go.resolve();
    assert.equal(await first, 'old');
    assert.equal(await read(), 'new');
  });
});

describe('a subscription that is being agreed on when its server is replaced', () => {
  const URI = 'test://watched';
  /** A server that never says whether it agrees, and one that does. */
  const start = async (t) => {
    const asked = deferred(), make = () => handshakeServer('http', { resources: [URI] });
    const [old, next] = [await make(), await make()];
    old.on('resources/subscribe', () => {
      asked.resolve();
      return new Promise(() => {});
    });
    const w = await World.start(t, { servers: { up: old }, rules: serversOf({ clerk: ['*'] }) });
    return { w, next, isAsked: () => within(asked.promise, 'the question at its server', 60_000) };
  };

  test('is asked for at the new one', async (t) => {
    const { w, next, isAsked } = await start(t), clerk = await w.client('clerk');
    const subscribed = clerk.ask('resources/subscribe', { uri: URI });
    await isAsked();
    await save(w, { up: next.config() });
    assert.deepEqual(await subscribed, {});
    await next.updated(URI);
    assert.equal((await clerk.next('notifications/resources/updated')).msg.params.uri, URI);
  });

  test('and so it is by a client that listens', async (t) => {
    const { w, next, isAsked } = await start(t), caller = new HttpCaller(w.gateway.url, { token: tokenOf('clerk') });
    onEnd(t, () => caller.close());
    const listening = caller.listen({ resourceSubscriptions: [URI] });
    await isAsked();
    await save(w, { up: next.config() });
    const stream = await listening;
    assert.deepEqual(stream.acknowledged.notifications.resourceSubscriptions, [URI]);
    await next.updated(URI);
    assert.equal((await stream.next('notifications/resources/updated')).params.uri, URI);
    stream.close();
  });
});
