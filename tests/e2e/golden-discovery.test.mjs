// SPDX-License-Identifier: Apache-2.0
// Golden cases: ids, paths, cards, the selection contract and the command line, as a user of the program sees them.
// Most of these are tested case by case in tests/unit/; here they are seen from outside.
//
// | case | test | |
// |---|---|---|
// | A. format and parse of ids | tests/unit/test_tool_id.c | as the reference |
// | A. hashes of names and arguments | hashes | as the reference; those printed in the document show grammar |
// | B. infer_namespace | namespaces | as the reference; SPEC decides otherwise: a server's name comes first |
// | C. paths | tests/unit/test_tree.c, golden-runtime | as the reference; SPEC: `/` always lists namespaces |
// | D. ids of resources and prompts, ~N | kinds; tests/unit/test_directory.c | as the reference, and ~N is used |
// | E. cards: order, cuts, tags, safety | cards; tests/unit/test_card.c | as the reference |
// | K. the prompt that routes | tests/e2e/cli-discovery | SPEC decides otherwise: rendered cards, no score |
// | selection schema | selection | SPEC decides otherwise: the property is `selection` |
// | M. catalogs that cannot be used; flags; keys; "false" | the command line | as the reference |
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test } from 'node:test';

import { runToolgate } from './lib/gateway.mjs';
import { cardsOf, connect, ID, linesOf, snapshot } from './lib/meta.mjs';
import { tempDir, writeJson } from './lib/process.mjs';
import { countTokens } from './lib/tokens.mjs';

const takes = (properties, required = []) => ({
  type: 'object', properties: Object.fromEntries(properties.map((name) => [name, { type: 'string' }])), required,
});

/** Runs a command in a folder with this catalog, and this configuration if there is one. */
async function run(t, args, catalog, config) {
  const dir = tempDir(t);
  if (catalog !== undefined) writeJson(path.join(dir, 'c.json'), catalog);
  if (config !== undefined) writeJson(path.join(dir, 'toolgate.yaml'), config);
  const from = catalog !== undefined && config === undefined ? ['--catalog', 'c.json'] : [];
  return runToolgate([...args, ...from], { cwd: dir, env: { HOME: dir } });
}

const idsIn = async (t, tools) => {
  const { items } = JSON.parse((await run(t, ['catalog', '--json'], { tools })).stdout);
  return Object.fromEntries(items.map(({ name, id }) => [name, id]));
};

test('namespaces: of a catalog without a server, from the names', async (t) => {
  const expected = {
    'github.create_issue': 'github', 'github.repos.list': 'github', 'filesystem/read': 'filesystem',
    'db/tables/list': 'db', slack_send_message: 'slack', aws_s3_list_buckets: 'aws', read_file: 'mcp', search: 'mcp',
    '.hidden': 'mcp', '/path': 'mcp', _a_b: 'mcp',
  };
  const ids = await idsIn(t, Object.keys(expected).map((name) => ({ name })));
  assert.deepEqual(Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, id.split(':')[0]])), expected);
  for (const id of Object.values(ids)) assert.match(id, ID);
});

test('hashes: of the raw name and the names of arguments', async (t) => {
  const hash = async (name, inputSchema) => /#(.*)/.exec((await idsIn(t, [{ name, inputSchema }]))[name])[1];
  for (const [name, inputSchema, expected] of [
    ['read_file', undefined, '559d82ea'],
    ['read_file', takes(['path'], ['path']), '85b56782'],
    ['slack_send_message', takes([]), '2fae1fd2'],
    ['slack_send_message', takes(['channel', 'text'], ['channel', 'text']), '283a5dcf'],
    ['search_database', takes(['query', 'limit']), '547048ac'],
    ['github.create_issue', takes(['title', 'n'], ['title']), 'b153499a'],
    ['github.create_issue', takes(['title'], ['title']), '34afee88'],
    ['github.list_repos', takes([]), 'da62b2ed'],
    ['naïve', takes(['é', 'b']), 'b5306c7b'],
  ]) assert.equal(await hash(name, inputSchema), expected, name);
});

test('versions stand for hashes, and are text', async (t) => {
  const ids = await idsIn(t, [
    { name: 'github.create_issue', _meta: { version: '1.4.0' } },
    { name: 'weather.get', _meta: { version: '2024-05' } },
  ]);
  assert.deepEqual(Object.values(ids), ['github:create_issue@1.4.0', 'weather:get@2024-05']);
});

test('kinds: a tool, a resource and a prompt of one name have three ids', async (t) => {
  const { stdout } = await run(t, ['catalog', '--json'], {
    tools: [{ name: 'search' }], resources: [{ uri: 'x://search', name: 'search' }], prompts: [{ name: 'search' }],
  });
  const ids = JSON.parse(stdout).items.map(({ id }) => id);
  assert.equal(new Set(ids).size, 3);
  assert.deepEqual(ids.map((id) => /^(\w+)::/.exec(id)?.[1]), [undefined, 'resource', 'prompt']);
});

describe('cards', () => {
  const tags = Array.from({ length: 20 }, (_, i) => `tag-${String(i).padStart(2, '0')}-${'x'.repeat(80)}`);
  const tools = [
    { name: 'X'.repeat(120), description: 'A name that is long.' },
    { name: 'tagged', description: 'Has many tags.', _meta: { tags: [...tags, 'destructive'] } },
    { name: 'both', annotations: { readOnlyHint: true, destructiveHint: true } },
    { name: 'reads', annotations: { readOnlyHint: true },
      inputSchema: { type: 'object', properties: { an_argument: { type: 'string', description: 'secret_meaning' } } } },
    { name: 'wordy', description: 'First sentence. '.repeat(100) },
    { name: 'special', description: 'Ends with <|endoftext|> and goes on.' },
  ];
  const found = async (t) => {
    const client = await connect(t, 'http', { up: snapshot(t, { tools }) });
    const result = await client.call('tool_browse', { path: '/up' });
    return { result, card: Object.fromEntries(cardsOf(result).map((one) => [one.name, one])) };
  };

  test('are cut by characters: names to 64, five tags to 24; safety is never cut', async (t) => {
    const { card } = await found(t);
    assert.ok('X'.repeat(64) in card, Object.keys(card).join());
    assert.equal(card.tagged.tags.length, 5);
    assert.ok(card.tagged.tags.includes('destructive') && card.tagged.tags.every((tag) => tag.length <= 24));
    const safety = [card.tagged, card.both, card.reads].map((one) => one.safety);
    assert.deepEqual(safety, ['destructive', 'destructive', 'read_only']);
  });

  test('are bounded as they are sent, and never hold a schema', async (t) => {
    const { result, card } = await found(t);
    for (const { line } of linesOf(result)) assert.ok(countTokens(line) <= 80, line);
    assert.doesNotMatch(JSON.stringify(result), /secret_meaning|annotations|_meta|inputSchema|args_schema/);
    assert.ok(linesOf(result).some(({ rest }) => rest.endsWith('args: an_argument?')), 'names only');
    assert.ok(card.wordy.description.endsWith('First sentence.'));
    assert.match(card.special.description, /<\|endoftext\|> and goes on/);
  });
});

test('selection: a schema whose only answers are the ids, and what was meant by an answer', async (t) => {
  const tools = [{ name: 'github.create_issue', description: 'Open an issue.', _meta: { version: '1' } },
    { name: 'github.list_issues', description: 'List issues.', _meta: { version: '1' } }];
  const choose = (...more) => run(t, ['browse', 'issue', ...more], { tools });
  const schema = JSON.parse((await choose('--schema', 'json_schema')).stdout);
  assert.deepEqual(Object.keys(schema.properties), ['selection']);
  assert.deepEqual([...schema.properties.selection.enum].sort(), ['github:create_issue@1', 'github:list_issues@1']);
  assert.deepEqual([schema.required, schema.additionalProperties], [['selection'], false]);
  assert.equal((await choose('--selected', ' github:create_issue@1\n')).status, 0);
  assert.equal((await choose('--selected', 'GITHUB:LIST')).status, 0);
  for (const wrong of ['github:', 'x', '', '  ']) assert.equal((await choose('--selected', wrong)).status, 1, wrong);
});

test('selection: a routing decision has the cards, and what was meant by an answer', async (t) => {
  const tools = [{ name: 'github.create_issue', description: 'Open an issue.', _meta: { version: '1' } },
    { name: 'github.list_issues', description: 'List issues.', _meta: { version: '1' } }];
  const decide = async (...more) => {
    const { status, stdout } = await run(t, ['browse', 'issue', '--decision', ...more], { tools });
    return { status, ...JSON.parse(stdout) };
  };
  const open = await decide();
  assert.match(open.id, /^rd-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.match(open.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.deepEqual(open.choice_cards.map((card) => card.id).sort(), ['github:create_issue@1', 'github:list_issues@1']);
  assert.deepEqual([open.status, open.selected_item_id, open.selected_card_id, open.context_summary], [0, null, null, null]);
  const { clarifying_question: question, ...metadata } = open.metadata.contextweaver;
  assert.deepEqual(metadata,
    { is_ambiguous: question !== undefined, excluded_count: 0, gated_count: 0, context_boost_applied: false });

  const id = 'github:list_issues@1';
  for (const [said, selection] of [
    [id, { status: 'accepted', selected_id: id, raw_id: id, repair: null, reason: null }],
    ['GITHUB:LIST', { status: 'repaired', selected_id: id, raw_id: 'GITHUB:LIST', repair: 'prefix', reason: null }],
    ['github:', { status: 'rejected', selected_id: null, raw_id: 'github:', repair: null, reason: 'ambiguous_prefix' }],
    ['', { status: 'rejected', selected_id: null, raw_id: '', repair: null, reason: 'empty_selection' }],
  ]) {
    const made = await decide('--selected', said);
    assert.deepEqual(made.metadata.contextweaver.selection, selection);
    assert.equal(made.selected_item_id, selection.selected_id ?? said, 'what was rejected stays as it was said');
    assert.equal(made.selected_card_id, selection.selected_id);
    assert.equal(made.status, selection.status === 'rejected' ? 1 : 0);
  }
  const none = await run(t, ['browse', 'zzzzzz', '--decision'], { tools });
  assert.deepEqual([none.status, none.stdout], [1, '']);
  for (const wrong of [['--path', '/', '--decision'], ['issue', '--decision', '--schema', 'openai']])
    assert.equal((await run(t, ['browse', ...wrong], { tools })).status, 2, wrong.join(' '));
});

describe('the command line', () => {
  test('a catalog that is missing, empty or no catalog is refused', async (t) => {
    assert.notEqual((await run(t, ['catalog', '--catalog', 'none.json'])).status, 0);
    for (const bad of [[], {}, 5, { tools: 5 }])
      assert.equal((await run(t, ['catalog'], bad)).status, 1, JSON.stringify(bad));
  });

  test('a key or a word that is not known is refused; a quoted "false" is false', async (t) => {
    for (const config of [{ catlog: 'c.json' }, { catalog: 'c.json', cache_stable: 'no' }, { mode: 'proxy' }]) {
      const r = await run(t, ['check'], [{ name: 'a' }], config);
      assert.equal(r.status, 1, JSON.stringify(config));
      assert.match(r.stdout + r.stderr, /toolgate\.yaml:\/(catlog|cache_stable|mode)/);
    }
    assert.equal((await run(t, ['check'], [{ name: 'a' }], { catalog: 'c.json', cache_stable: 'false' })).status, 0);
  });

  test('relative paths are of the folder of the configuration, and a flag beats it', async (t) => {
    const dir = tempDir(t);
    writeJson(path.join(dir, 'one.json'), [{ name: 'first' }]);
    writeJson(path.join(dir, 'two.json'), [{ name: 'second' }]);
    const config = writeJson(path.join(dir, 'toolgate.yaml'), { catalog: 'one.json' });
    const names = async (...more) => {
      const r = await runToolgate(['catalog', '--json', '--config', config, ...more], { cwd: '/', env: { HOME: dir } });
      return JSON.parse(r.stdout).items.map(({ name }) => name);
    };
    assert.deepEqual(await names(), ['first']);
    assert.deepEqual(await names('--catalog', path.join(dir, 'two.json')), ['second']);
  });
});
