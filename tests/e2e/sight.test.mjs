// SPDX-License-Identifier: Apache-2.0
// What an agent sees while servers and rules come and go: names, lists, kept results, questions. Nothing of it may tell
// of what is hidden, or is hidden by now.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { describe, test } from 'node:test';

import { namesOf } from './lib/meta.mjs';
import { onEnd, startGateway } from './lib/raw.mjs';
import { json, shop, tokenOf, World } from './lib/reloading.mjs';
import { HttpCaller, statelessServer, text } from './lib/stateless.mjs';

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
    const w = await World.start(t, { servers, rules: serversOf(AGENTS), config: { limits: { page_size: 1 } } });
    const clerk = await w.client('clerk');
    const transparent = await w.client('clerk', { path: '/mcp/transparent' });
    const first = await clerk.ask('tools/list'), other = await transparent.ask('tools/list');
    await save(w, { ...servers, payroll: shop(t, ['list', 'pay']) });
    const boss = await w.client('boss');
    assert.equal((await seen(boss)).length, 4);
    const second = await clerk.ask('tools/list', { cursor: first.nextCursor });
    assert.deepEqual([first, second].map((page) => namesOf(page.tools)), [['add'], ['list']]);
    assert.match(namesOf((await transparent.ask('tools/list', { cursor: other.nextCursor })).tools)[0], /shop:list/);
    await assert.rejects(boss.ask('tools/list', { cursor: first.nextCursor }), /cursor/i);
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
