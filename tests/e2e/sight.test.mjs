// SPDX-License-Identifier: Apache-2.0
// What an agent sees while servers and rules come and go: names, lists, kept results, questions. Nothing of it may tell
// of what is hidden, or is hidden by now.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { runToolgate } from './lib/gateway.mjs';
import { execute, faultOf, handleOf, idOf, namesOf, open, snapshot } from './lib/meta.mjs';
import { tempDir, writeJson } from './lib/process.mjs';
import { onEnd, startGateway } from './lib/raw.mjs';
import { json, reply, shop, tokenOf, tool, World } from './lib/reloading.mjs';
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
    assert.match(stderr, /nothing is kept under this handle/);
  });
});
