// SPDX-License-Identifier: Apache-2.0
// Golden cases: a catalog and its calls. The fixture is that of the reference: an issue tracker and a chat.
//
// | case | test | |
// |---|---|---|
// | three tools have three ids | ids | SPEC decides otherwise: the namespace is the configured server |
// | browse with neither or both | browse | ARGS_INVALID, as the reference |
// | a bad path; no such namespace | browse | PATH_INVALID, PATH_NOT_FOUND, as the reference |
// | hydrate; unknown | hydrate | as the reference, in mode transparent |
// | execute {} | arguments | ARGS_INVALID, nothing dispatched, as the reference; more in golden-schemas |
// | an envelope has its tool_id and one artifact | results | as the reference, over the budget |
// | view head 8 | results | as the reference |
// | [ok, no name, "str", blank, ok] | malformed lists | two registered, three told, as the reference (blank: "") |
// | [{"bad":1}, 42, null] | malformed lists | none registered, nothing breaks, as the reference |
// | a renamed tool's old id | refresh | HYDRATE_FAILED, nothing dispatched, as the reference |
// | one raw name at two upstreams | refresh | SPEC decides otherwise: two tools, each with the id of its server |
// | cache_stable | cache_stable | as the reference; SPEC decides otherwise: the marker displaces nothing |
import assert from 'node:assert/strict';
import path from 'node:path';
import { before, describe, test } from 'node:test';

import { runToolgate } from './lib/gateway.mjs';
import {
  cardsOf, connect, faultOf, handleOf, idOf, idsOf, open, snapshot, textOf,
} from './lib/meta.mjs';
import { suiteScope, tempDir, writeJson } from './lib/process.mjs';
import { until } from './lib/raw.mjs';
import { text } from './lib/stateless.mjs';
import { CLOSE, CREATE, CREATE_SCHEMA, LIST, other, SEND, slack, startShop } from './servers/golden-shop.mjs';

describe('a catalog of two servers', () => {
  const scope = suiteScope();
  let shop, browse;
  before(async () => {
    const long = text(`line one\n${'line two and more\n'.repeat(400)}`);
    shop = await startShop(scope, {
      servers: { slack: await slack() }, runs: { list_issues: () => long }, config: { modes: ['transparent'] },
    });
    browse = (args) => shop.client.call('tool_browse', args);
  });

  test('ids: the server, the name, and the version that the tool declares', async () => {
    assert.deepEqual(idsOf(await browse({ path: '/github' })), [CLOSE, CREATE, LIST]);
    assert.deepEqual(idsOf(await browse({ path: '/slack' })), [SEND]);
  });

  test('browse needs a query or a path, and takes one of them', async () => {
    for (const args of [{}, { query: 'x', path: '/' }, { top_k: 5 }, { query: null }])
      faultOf(await browse(args), 'ARGS_INVALID');
    assert.equal((await browse({ query: '' })).isError, false, 'an empty query is one');
    assert.deepEqual(idsOf(await browse({ query: null, path: '/slack' })), [SEND], 'null is nothing');
  });

  test('browse tells a path that is none from one that leads nowhere', async () => {
    for (const bad of ['', 'github', '/github/', '//foo', '/GitHub', '/0digit', '/a/*/b', '/a/b!c'])
      assert.equal(faultOf(await browse({ path: bad }), 'PATH_INVALID').path, bad);
    const fault = faultOf(await browse({ path: '/no_such_namespace' }), 'PATH_NOT_FOUND');
    assert.deepEqual([fault.path, fault.retryable], ['/no_such_namespace', false]);
  });

  test('hydrate shows the schema; of an unknown tool it says so', async (t) => {
    const client = await open(t, shop.gateway, 'http', { path: '/mcp/transparent' });
    const hydrated = JSON.parse(textOf(await client.call('tool_hydrate', { tool_id: CREATE })));
    assert.equal(hydrated.tool_id, CREATE);
    assert.deepEqual(hydrated.args_schema, CREATE_SCHEMA);
    const fault = faultOf(await client.call('tool_hydrate', { tool_id: 'github:none@1' }), 'HYDRATE_FAILED');
    assert.equal(fault.path, 'github:none@1');
  });

  test('execute without what is required calls nothing, and says what is missing', async () => {
    const before = shop.up.seen.length;
    const fault = faultOf(await shop.execute(CREATE, {}), 'ARGS_INVALID');
    assert.deepEqual([fault.path, fault.retryable], [CREATE, false]);
    assert.match(JSON.stringify(fault), /title/);
    assert.equal(shop.up.seen.length, before);
  });

  test('execute with arguments of the right kind passes them on as they are', async () => {
    assert.deepEqual(JSON.parse(textOf(await shop.execute(CREATE, { title: 'a', body: 'é "b"\n' }))),
      { title: 'a', body: 'é "b"\n' });
    assert.deepEqual(shop.up.seen.at(-1), ['create_issue', { title: 'a', body: 'é "b"\n' }]);
  });

  test('execute of an unknown tool says so, and what looks like it', async () => {
    const fault = faultOf(await shop.execute('github:create_isue@1.4.0'), 'HYDRATE_FAILED');
    assert.equal(fault.retryable, false);
    assert.ok(fault.details.suggestions.includes(CREATE), JSON.stringify(fault));
    for (const id of ['nosep', '', 'github:', 'x'.repeat(300)]) faultOf(await shop.execute(id), 'TOOL_NOT_FOUND');
  });

  test('execute wants a tool_id that is text and args that are an object', async () => {
    for (const args of [{}, { tool_id: 5, args: {} }, { tool_id: CREATE, args: [] }, { tool_id: CREATE, args: 5 },
      { tool_id: CREATE, args: {}, dry_run: 'yes' }, { tool_id: CREATE, args: {}, more: 1 }])
      faultOf(await shop.client.call('tool_execute', args), 'ARGS_INVALID');
  });

  test('a long result has its tool, one artifact of its text, and views', async () => {
    const result = await shop.execute(LIST);
    const { status, artifacts, provenance } = result.structuredContent;
    assert.deepEqual([status, provenance.tool_id], ['ok', LIST]);
    assert.equal(artifacts.length, 1);
    assert.match(artifacts[0].handle, new RegExp(`^text:${LIST}:[0-9a-f]{16}$`));
    assert.equal(textOf(await shop.view(handleOf(result), { type: 'head', chars: 8 })), 'line one');
  });
});

describe('malformed lists', () => {
  const ok = (name) => ({ name, description: `does ${name}`, inputSchema: { type: 'object' } });
  const cases = [
    ['two of five are tools', [ok('first'), { title: 'no name' }, 'str', { name: '' }, ok('last')], ['first', 'last']],
    ['none is a tool', [{ bad: 1 }, 42, null], []],
  ];
  for (const [what, tools, names] of cases) {
    test(`${what}: those are listed, and nothing breaks`, async (t) => {
      const up = await other('stdio', 'up');
      up.tools = tools;
      const client = await connect(t, 'http', { up, good: snapshot(t, [ok('other')]) });
      await idOf(client, 'good', 'other');
      const found = await client.call('tool_browse', { path: '/up' });
      if (names.length) assert.deepEqual(cardsOf(found).map((card) => card.name), names);
      else faultOf(found, 'PATH_NOT_FOUND');
    });
  }

  test('what was left out is reported: the place of the first, the reason, how many more', async (t) => {
    const dir = tempDir(t);
    const catalog = writeJson(path.join(dir, 'c.json'), { tools: cases[0][1] });
    const r = await runToolgate(['catalog', '--json', '--catalog', catalog], { cwd: dir, env: { HOME: dir } });
    const out = JSON.parse(r.stdout);
    assert.deepEqual(out.items.map((item) => item.name), ['first', 'last']);
    const said = r.stderr + JSON.stringify(out.report);
    assert.match(said, /c\.json:\/tools\/1: is left out, and 2 more of this list/);
  });
});

describe('refresh', () => {
  const changed = async (shop, tools, seen) => {
    shop.up.tools = tools;
    await shop.up.changed('tools');
    await until(async () => seen(idsOf(await shop.client.call('tool_browse', { path: '/github' }))), 'the new list');
  };

  test('a renamed tool is not found under its old id, and nothing is called', async (t) => {
    const shop = await startShop(t);
    const tools = shop.up.tools.map((tool) => (tool.name === 'create_issue' ? { ...tool, name: 'open_issue' } : tool));
    await changed(shop, tools, (ids) => ids.includes('github:open_issue@1.4.0'));
    const fault = faultOf(await shop.execute(CREATE, { title: 'a' }), 'HYDRATE_FAILED');
    assert.equal(fault.retryable, false);
    assert.deepEqual(shop.up.seen, []);
  });

  test('a tool with a new version is told under its new id', async (t) => {
    const shop = await startShop(t);
    const next = 'github:create_issue@2.0.0';
    const tools = shop.up.tools.map((tool) =>
      (tool.name === 'create_issue' ? { ...tool, _meta: { version: '2.0.0' } } : tool));
    await changed(shop, tools, (ids) => ids.includes(next));
    const fault = faultOf(await shop.execute(CREATE, { title: 'a' }), 'HYDRATE_FAILED');
    assert.ok(JSON.stringify(fault).includes(next), JSON.stringify(fault));
    assert.deepEqual(shop.up.seen, []);
  });

  test('a removed tool is not found, the others are', async (t) => {
    const shop = await startShop(t);
    await changed(shop, shop.up.tools.filter((tool) => tool.name !== 'create_issue'), (ids) => ids.length === 2);
    faultOf(await shop.execute(CREATE, { title: 'a' }), 'HYDRATE_FAILED');
    assert.equal((await shop.execute(CLOSE, { issue_id: 1 })).isError ?? false, false);
    assert.deepEqual(shop.up.seen, [['close_issue', { issue_id: 1 }]]);
  });

  test('one name at two servers is two tools, each called at its own', async (t) => {
    const make = (name) => other('stdio', name, { more: { search: { run: () => text(`by ${name}`) } } });
    const servers = { one: await make('one'), two: await make('two') };
    const client = await connect(t, 'http', servers);
    const ids = [await idOf(client, 'one', 'search'), await idOf(client, 'two', 'search')];
    assert.notEqual(ids[0], ids[1]);
    const said = [];
    for (const tool_id of ids) said.push(textOf(await client.call('tool_execute', { tool_id, args: {} })));
    assert.deepEqual(said, ['by one', 'by two']);
  });
});

describe('cache_stable', () => {
  const MARKER = '__cache_breakpoint__';
  const start = async (t) => {
    const shop = await startShop(t, { config: { cache_stable: true }, servers: { slack: await slack() } });
    const browse = (args) => shop.client.call('tool_browse', args);
    // A server that comes later changes what the client sees, and so what counts as seen.
    const another = await open(t, shop.gateway);
    const both = () => ['github', 'slack'].every((name) => found.some((id) => id.startsWith(`${name}:`)));
    let found = [];
    await until(async () => {
      found = idsOf(await another.call('tool_browse', { query: 'issue message channel', top_k: 10 }));
      return both();
    }, () => `both servers; there is ${found}`);
    return { ...shop, browse };
  };
  const sorted = (ids) => [...ids].sort();

  test('the first browse has no marker; the same one again is the same bytes', async (t) => {
    const { browse } = await start(t);
    const first = await browse({ query: 'an issue' }), again = await browse({ query: 'an issue' });
    assert.ok(!idsOf(first).includes(MARKER));
    assert.deepEqual(idsOf(first), sorted(idsOf(first)));
    assert.equal(JSON.stringify(again), JSON.stringify(first));
  });

  test('what two queries share is the same bytes in both, before the marker; nothing is displaced', async (t) => {
    const { browse } = await start(t);
    const first = cardsOf(await browse({ query: 'close an issue', top_k: 1 }));
    assert.deepEqual(first.map((card) => card.id), [CLOSE]);
    const second = cardsOf(await browse({ query: 'issue', top_k: 3 }));
    assert.deepEqual(second.map((card) => card.id), [CLOSE, MARKER, CREATE, LIST]);
    assert.equal(JSON.stringify(second[0]), JSON.stringify(first[0]));
    assert.equal(second[1].kind, 'internal');
  });

  test('a call that was made counts as seen, one that failed does not', async (t) => {
    const { browse, execute } = await start(t);
    faultOf(await execute(CLOSE, {}), 'ARGS_INVALID');
    faultOf(await execute('github:none@1'), 'HYDRATE_FAILED');
    await execute(CREATE, { title: 'a' });
    assert.deepEqual(idsOf(await browse({ query: 'issue' })), [CREATE, MARKER, CLOSE, LIST]);
  });

  test('paths are sorted too, and errors stay errors', async (t) => {
    const { browse } = await start(t);
    assert.deepEqual(idsOf(await browse({ path: '/github' })), [CLOSE, CREATE, LIST]);
    faultOf(await browse({ path: '/none' }), 'PATH_NOT_FOUND');
    faultOf(await browse({}), 'ARGS_INVALID');
  });
});
