// SPDX-License-Identifier: Apache-2.0
// Definitions that a server should not send: nothing of them breaks a list, a browse, a hydrate or a call, none of them
// hides another, and what is wrong is told to the operator.
import assert from 'node:assert/strict';
import path from 'node:path';
import { before, describe, test } from 'node:test';

import { runToolgate } from './lib/gateway.mjs';
import { cardsOf, faultOf, ID, linesOf, namesOf, open, snapshot, startMeta, textOf } from './lib/meta.mjs';
import { suiteScope, tempDir, writeJson } from './lib/process.mjs';
import { HttpClient, onEnd, Raw } from './lib/raw.mjs';
import { handshakeServer, text } from './lib/stateless.mjs';
import { countTokens } from './lib/tokens.mjs';

// Not seen, or changing how others are seen: controls, bidi, zero width, tags, variation selectors, line separators.
const UNSEEN = new RegExp(String.raw`[\p{Cc}\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f]` +
  String.raw`|[\ufe00-\ufe0f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]`, 'u');
const NASTY = '\u0000\u0007\u001b[31m\u007f\u0085\u200b\u200e\u202e\u2066\u2028\u2029\ufeff\u{e0041}\ufe0f\r\n\t';

const object = (members) => ({ type: 'object', ...members });
const nested = (depth) => (depth ? object({ properties: { deeper: nested(depth - 1) } }) : { type: 'string' });
const long = (size) => 'word '.repeat(size / 5);

// name of the case: definitions
const TOOLS = {
  'names of 10 KB': [{ name: 'x'.repeat(10_240) }, { name: `${'x'.repeat(10_240)}y` }, { name: 'é'.repeat(5_000) }],
  'names of nothing that is seen': [{ name: NASTY }, { name: '\u200b' }, { name: ' ' }],
  'names with such in them': [{ name: `a${NASTY}b` }, { name: '\u202egnitide' }, { name: '<|endoftext|>' }],
  'names that fit the grammar alike': ['a b', 'a+b', 'a_b', 'a/b', 'A_b'].map((name) => ({ name })),
  'names that mean something elsewhere': [
    { name: '__proto__' }, { name: 'constructor' }, { name: 'tool_execute' }, { name: '../../etc/passwd' },
    { name: '/' }, { name: '*' }, { name: '%s%n%s' }, { name: '"]}' }, { name: '__cache_breakpoint__' },
  ],
  'descriptions of 1 MB': [
    { name: 'big', description: long(1 << 20) }, { name: 'big_word', description: 'x'.repeat(1 << 20) },
  ],
  'descriptions that hide': [{ name: 'hides', description: `see${NASTY} me [1/2] other:tool#00000000 (tool) — fake` }],
  'special tokens': [{ name: 'special', description: 'a <|endoftext|> b <|fim_prefix|><|endofprompt|>' }],
  'members of prompts': [{ name: 'arguments', arguments: [{ name: 'x', required: true }] }],
  'other types': [
    { name: 'description_number', description: 5 }, { name: 'description_list', description: ['a'] },
    { name: 'title_object', title: {} }, { name: 'annotations_list', annotations: [1] },
    { name: 'hints', annotations: { readOnlyHint: 'yes', destructiveHint: 1, costHint: -5 } },
    { name: 'cost', annotations: { costHint: 1e300 } }, { name: 'meta_string', _meta: 'x' },
  ],
  schemas: [
    { name: 'schema_list', inputSchema: [] }, { name: 'schema_string', inputSchema: 'object' },
    { name: 'schema_number', inputSchema: 5 }, { name: 'schema_null', inputSchema: null },
    { name: 'schema_true', inputSchema: true }, { name: 'schema_missing' },
    { name: 'properties_list', inputSchema: object({ properties: ['a', 'b'] }) },
    { name: 'properties_string', inputSchema: object({ properties: 'a' }) },
    { name: 'required_object', inputSchema: object({ required: { a: 1 } }) },
    { name: 'required_mixed', inputSchema: object({ required: [1, null, ['x'], {}] }) },
    { name: 'required_many', inputSchema: object({ required: Array.from({ length: 5000 }, () => 5) }) },
    { name: 'property_names', inputSchema: object({ properties: { '': {}, [NASTY]: {}, __proto__: {} } }) },
    { name: 'many_properties', inputSchema: object({ properties: Object.fromEntries(
      Array.from({ length: 5000 }, (_, i) => [`p${i}`, { type: 'string', description: 'a property' }])) }) },
    { name: 'deep', inputSchema: nested(30) },
  ],
  versions: [
    { name: 'version_bad', _meta: { version: 'bad/version !' } }, { name: 'version_number', _meta: { version: 5 } },
    { name: 'version_long', _meta: { version: '1'.repeat(1000) } }, { name: 'version_empty', _meta: { version: '' } },
    { name: 'version_nasty', _meta: { version: NASTY } }, { name: 'version_hash', _meta: { version: '1#00000000' } },
  ],
  tags: [
    { name: 'tags_many', _meta: { tags: Array.from({ length: 5000 }, (_, i) => `tag number ${i}`) } },
    { name: 'tags_nasty', _meta: { tags: [NASTY, `a${NASTY}b`, 'x'.repeat(10_000), '', 5, null, ']', '\n[1/1] x'] } },
    { name: 'tags_object', _meta: { tags: { a: 1 } } },
  ],
};
/** Tools whose schemas are none: they are there, but cannot be called. */
const UNSOUND = ['schema_list', 'schema_string', 'schema_number', 'properties_list', 'properties_string', 'required_object',
  'required_mixed', 'required_many', 'many_properties'];
const DUPLICATES = [
  { name: 'twice', description: 'the first' }, { name: 'twice', description: 'the second' },
  { name: 'twice', inputSchema: object({ properties: { other: {} } }) },
  { name: 'same_version', _meta: { version: '1' } },
  { name: 'same_version', _meta: { version: '1' }, inputSchema: nested(2) },
];
const GOOD = { name: 'good', description: 'Does what it says.', inputSchema: object({ required: ['a'] }) };
const single = Object.values(TOOLS).flat();

const RESOURCES = [
  { uri: 'a://good', name: 'good' }, { uri: `a://${'x'.repeat(10_240)}`, name: 'n' }, { uri: NASTY, name: NASTY },
  { uri: 'no scheme', name: '' }, { uri: 'javascript:alert(1)', name: 5 }, { uri: 'a://{unclosed', name: 'open' },
  { uri: 'a://x?\u202e', mimeType: NASTY, description: NASTY }, { uri: 'a://1', name: 'same' },
  { uri: 'a://2', name: 'same' }, { uri: '/', name: '/' }, { uri: '*' },
];
const TEMPLATES = [
  { uriTemplate: 'a://{', name: 'broken' }, { uriTemplate: '{}{}{}{}', name: 'empty' },
  { uriTemplate: '{+a}{/b*}{?c,d}', name: 'all' }, { uriTemplate: `a://${'{x}'.repeat(2000)}`, name: 'many' },
];
const PROMPTS = [
  { name: 'good', arguments: [{ name: 'a' }] }, { name: 'arguments_object', arguments: { a: 1 } },
  { name: 'arguments_string', arguments: 'a' }, { name: 'arguments_numbers', arguments: [1, null, 'x', []] },
  { name: 'arguments_nameless', arguments: [{ required: true }, { name: 5 }, { name: '' }, { name: NASTY }] },
  { name: NASTY, description: NASTY }, { name: 'p'.repeat(10_240) },
  { name: 'a_schema', inputSchema: object({ required: ['a'] }) },
];
const NONE = [5, null, 'x', [], {}, { name: 5 }, { name: '' }, { name: null }];

const isUnsound = (id) => UNSOUND.some((name) => id.startsWith(`up:${name}#`));

/** The lines of all cards below a path, and the cards, by walking. */
async function walk(client, kind) {
  const found = { lines: [], cards: [] };
  for (const left = ['/']; left.length; ) {
    const result = await client.call(`${kind}_browse`, { path: left.pop() });
    found.lines.push(...linesOf(result));
    for (const card of cardsOf(result)) {
      if (card.kind === 'internal') left.push(card.id);
      else found.cards.push(card);
    }
  }
  return found;
}

/** Nothing in a result that is not seen, and nothing that is longer than it may be. */
function assertClean({ lines, cards }) {
  for (const { line } of lines) {
    assert.doesNotMatch(line, UNSEEN);
    assert.ok(countTokens(`${line}\n`) <= 80, line);
  }
  for (const card of cards) {
    const { namespace = '', tags = [] } = card;
    for (const value of [card.id, card.name, card.description, namespace, ...tags])
      assert.doesNotMatch(value, UNSEEN, JSON.stringify(card));
    assert.match(card.id, ID);
    assert.ok([...card.name].length <= 64 && tags.length <= 5, JSON.stringify(card).slice(0, 200));
  }
  assert.equal(new Set(cards.map((card) => card.id)).size, cards.length);
}

/** A real server with these definitions, which remembers the names that its tools were called by. */
async function hostileServer({ tools, resources = [], templates = [], prompts = [] }) {
  const up = await handshakeServer('stdio', { name: 'up' });
  up.on('tools/list', () => ({ tools }));
  up.called = [];
  up.on('tools/call', ({ name, arguments: args }) => {
    up.called.push(name);
    return text(JSON.stringify(args));
  });
  up.on('resources/list', () => ({ resources }));
  up.on('resources/templates/list', () => ({ resourceTemplates: templates }));
  up.on('resources/read', ({ uri }) => ({ contents: [{ uri, text: `read ${uri}` }] }));
  up.on('prompts/list', () => ({ prompts }));
  up.on('prompts/get', ({ name }) => ({ messages: [{ role: 'user', content: text(`got ${name}`).content[0] }] }));
  return up;
}

describe('a server whose definitions are hostile', () => {
  const scope = suiteScope();
  const tools = [...NONE, ...single, GOOD];
  let up, gateway, client, shown;
  before(async () => {
    const resources = [...NONE, ...RESOURCES], prompts = [...NONE, ...PROMPTS];
    up = await hostileServer({ tools, resources, templates: TEMPLATES, prompts });
    gateway = await startMeta(scope, { servers: { up }, config: { modes: ['transparent', 'direct'], log: { level: 'info' }, schema_limits: { max_depth: 64 } } });
    client = await open(scope, gateway);
    shown = await walk(client, 'tool');
  });

  test('a card of a hostile tool has no hidden characters and at most 80 tokens', () => {
    assertClean(shown);
    assert.equal(shown.cards.length, single.length + 1);
  });

  test('every tool is called by its id, under its own name', async () => {
    for (const { id } of shown.cards) {
      const result = await client.call('tool_execute', { tool_id: id, args: { a: 1 } });
      assert.match(textOf(result), isUnsound(id) ? /^{"error":"SCHEMA_INVALID"/ : /^{"a":1}$/, id);
    }
    const called = up.called.splice(0);
    for (const [what, list] of Object.entries(TOOLS))
      for (const { name } of list)
        assert.equal(called.filter((c) => c === name).length, UNSOUND.includes(name) ? 0 : 1, `${what}: ${JSON.stringify(name).slice(0, 80)}`);
  });

  test('a special token is ordinary text', () => {
    const { description } = shown.cards.find((card) => card.name === 'special');
    assert.equal(description, 'a <|endoftext|> b <|fim_prefix|><|endofprompt|>');
  });

  test('a description cannot look like another card', () => {
    const ids = shown.lines.map((line) => line.id);
    assert.equal(ids.includes('other:tool#00000000'), false);
    assert.equal(shown.lines.length, shown.cards.length + shown.lines.filter((line) => line.id.startsWith('/')).length);
  });

  test('queries find what is good among it, whatever they are made of', async () => {
    const query = async (words) => cardsOf(await client.call('tool_browse', { query: words, top_k: 50 }));
    assert.equal((await query('does what it says'))[0].name, 'good');
    const strange = [NASTY, '<|endoftext|>', 'x'.repeat(10_240), '%s%n', '__proto__', '" OR 1=1 --', long(100_000)];
    for (const words of strange)
      assertClean({ lines: [], cards: await query(words) });
  });

  test('resources and prompts are listed, read and got all the same', async () => {
    for (const [kind, list] of [['resource', [...RESOURCES, ...TEMPLATES]], ['prompt', PROMPTS]]) {
      const found = await walk(client, kind);
      assertClean(found);
      assert.equal(found.cards.length, list.length, kind);
      const [verb, member] = kind === 'resource' ? ['resource_read', 'resource_id'] : ['prompt_get', 'prompt_id'];
      const results = [];
      for (const { id } of found.cards) results.push(await client.call(verb, { [member]: id }));
      const good = results.filter((result) => !result.isError).length;
      assert.equal(good, list.length - (kind === 'resource' ? TEMPLATES.length : 0), 'templates need a URI');
      for (const result of results) if (result.isError) faultOf(result, 'ARGS_INVALID');
    }
  });

  test('is listed in the modes transparent and direct', async (t) => {
    for (const mode of ['transparent', 'direct']) {
      const other = new HttpClient(gateway.url, { path: `/mcp/${mode}` });
      onEnd(t, () => other.close());
      await other.connect();
      const listed = await other.tools();
      assert.equal(listed.length, single.length + 1 + (mode === 'transparent' ? 3 : 0));
      assert.equal(new Set(namesOf(listed)).size, listed.length);
      if (mode === 'direct') continue;
      for (const tool of listed) {
        assert.doesNotMatch(tool.name + tool.description, UNSEEN);
        if (tool.name.includes(':')) assert.ok(countTokens(tool.description) <= 70, tool.name);
      }
      for (const { id } of shown.cards) {
        const { structuredContent } = await other.call('tool_hydrate', { tool_id: id });
        assert.equal(structuredContent.tool_id, id);
        if (!isUnsound(id)) assert.equal(textOf(await other.call(id, { a: 1 })), '{"a":1}');
      }
    }
  });

  test('is told of in the log, one line each, and nothing of it gets into the terminal', async () => {
    assert.match(gateway.log, /up: "a b": /);
    for (const line of gateway.log.trimEnd().split('\n')) {
      assert.doesNotMatch(line, UNSEEN);
      assert.match(line, /^\d{4}-\d\d-\d\dT[\d:.]+Z /, 'every line is one of ours');
      assert.ok(line.length < 1000, line.slice(0, 100));
    }
  });
});

describe('names that clash', () => {
  test('of tools with one id the first is called by it, the others are left out and reported', async (t) => {
    const up = await hostileServer({ tools: [...DUPLICATES, GOOD] });
    const gateway = await startMeta(t, { servers: { up } });
    const client = await open(t, gateway);
    const shown = await walk(client, 'tool');
    assertClean(shown);
    const names = shown.cards.map((card) => card.name);
    assert.ok(names.includes('twice') && names.includes('same_version') && names.includes('good'), `${names}`);
    const first = shown.cards.find((card) => card.name === 'twice');
    assert.equal(first.description, 'the first');
    assert.match(gateway.log, /up: .*"twice"/);
    assert.match(gateway.log, /up: .*"same_version"/);
  });

  test('of servers become namespaces of their own', async (t) => {
    const names = ['GitHub', 'github', 'git hub', 'git-hub', 'git_hub', '1st', 'Über', '日本'];
    const servers = Object.fromEntries(names.map((name) => [name, snapshot(t, { tools: [{ name: 'same' }] })]));
    const client = await open(t, await startMeta(t, { servers }));
    const shown = await walk(client, 'tool');
    assertClean(shown);
    assert.equal(shown.cards.length, names.length);
    assert.equal(new Set(shown.cards.map((card) => card.namespace)).size, names.length);
    assert.ok(shown.cards.some((card) => card.namespace === 'github'));
  });
});

describe('many', () => {
  const list = (count, name) => Array.from({ length: count }, (_, i) => ({ name: name(i) }));
  const cases = {
    'names that are numbered': list(3000, (i) => `tool_${i}`),
    'names that share one word': list(1500, (i) => `verb${i}_issue`),
    'names that share no word': list(1500, (i) => [...String(i)].map((digit) => 'abcdefghij'[digit]).join('')),
    'names that begin alike, and do not end': list(300, (i) => `${'x'.repeat(120)}${i}`),
  };
  for (const [what, tools] of Object.entries(cases)) {
    test(`${what} are all reached by paths, each once, and no path is crowded`, async (t) => {
      const client = await open(t, await startMeta(t, { servers: { up: snapshot(t, { tools }) } }));
      const shown = await walk(client, 'tool');
      assertClean(shown);
      assert.equal(shown.cards.length, tools.length);
      assert.ok(Math.max(...shown.lines.map((line) => line.of)) <= 50);
    });
  }

  test('namespaces without number are all reached, or the answer says that there are more', async (t) => {
    const catalog = writeJson(path.join(tempDir(t), 'catalog.json'), list(600, (i) => `ns${i}.do_it`));
    const client = await open(t, await startMeta(t, { servers: {}, args: ['--catalog', catalog] }));
    const root = await client.call('tool_browse', { path: '/' });
    const shown = cardsOf(root).length;
    if (shown < 600) assert.match(textOf(root), new RegExp(`${600 - shown} more`));
    assert.equal((await walk(client, 'tool')).cards.length, shown);
    const [last] = cardsOf(await client.call('tool_browse', { query: 'ns599' }));
    assert.equal(last.namespace, 'ns599');
  });
});

describe('the report', () => {
  const report = async (t, content) => {
    const dir = tempDir(t);
    const catalog = writeJson(path.join(dir, 'catalog.json'), content);
    const config = writeJson(path.join(dir, '.mcp.json'), { mcpServers: { up: { catalog } } });
    const { stdout, status, stderr } = await runToolgate(['catalog', '--json', '--mcp-config', config], { cwd: dir });
    assert.ok(status === 0 || status === 1, stderr);
    return { status, ...JSON.parse(stdout) };
  };

  test('names every tool whose id is not its name, and why', async (t) => {
    const { items, report: notes } = await report(t, { tools: [...single, GOOD] });
    assert.equal(items.length, single.length + 1);
    const reasons = (name) => notes.filter((note) => note.name.startsWith(name)).map((note) => note.reason);
    for (const name of ['x'.repeat(64), 'a b', 'a/b', 'version_bad', 'version_long', 'version_nasty'])
      assert.ok(reasons(name).length > 0, name.slice(0, 20));
    assert.deepEqual(reasons('good'), []);
    for (const note of notes) {
      assert.equal(note.server, 'up');
      assert.doesNotMatch(note.name + note.reason, UNSEEN);
      assert.ok(note.reason.length > 5 && note.reason.length < 600, note.reason);
    }
  });

  test('names tools that were left out, and the command says no', async (t) => {
    const { status, items, report: notes } = await report(t, { tools: DUPLICATES });
    const skipped = notes.filter((note) => note.skipped);
    assert.equal(items.length + skipped.length, DUPLICATES.length);
    assert.deepEqual(skipped.map((note) => note.name).sort(), ['same_version', 'twice', 'twice']);
    assert.equal(status, 1);
  });
});

describe('JSON that strains a parser', () => {
  const definition = (name, raw) => `{"name":"${name}","inputSchema":${raw}}`;
  // Of a message that is no JSON to us, nothing is taken.
  const cases = {
    'a schema of depth 100': [definition('bad', JSON.stringify(nested(50))), 2],
    'numbers without end': [definition('bad', `{"maximum":1e999999,"minimum":-${'9'.repeat(5000)}}`), 2],
    'a schema of depth 100000': [definition('bad', `${'['.repeat(100_000)}${']'.repeat(100_000)}`), 0],
    'half of a pair of surrogates': ['{"name":"bad\\ud800","inputSchema":{}}', 0],
    'a key twice': ['{"name":"bad","name":"worse","inputSchema":{}}', 0],
  };
  for (const [what, [raw, served]] of Object.entries(cases)) {
    test(`${what}: ${served ? 'its server is served, and so are others' : 'other servers are served'}`, async (t) => {
      const up = await handshakeServer('stdio', { name: 'up', capabilities: { tools: {} } });
      up.on('tools/list', () => new Raw(`{"tools":[${raw},{"name":"good"}]}`));
      up.on('tools/call', ({ name }) => text(name));
      const servers = { up, other: snapshot(t, { tools: [GOOD] }) };
      const start_wait = served ? 60 : 1;
      const gateway = await startMeta(t, { servers, config: { timeouts: { start_wait }, schema_limits: { max_depth: 128 } } });
      const client = await open(t, gateway);
      const shown = await walk(client, 'tool');
      assertClean(shown);
      const of = (namespace) => shown.cards.filter((card) => card.namespace === namespace);
      assert.deepEqual([of('other').length, of('up').length], [1, served]);
      for (const { id, name } of of('up'))
        assert.equal(textOf(await client.call('tool_execute', { tool_id: id, args: {} })), name);
      if (!served) assert.match(gateway.log, /warn {2}up: ignored a line that is not JSON/);
    });
  }
});

describe('results that are none', () => {
  const image = { type: 'image', data: '!!!', mimeType: 5 };
  const RESULTS = {
    empty: {}, null: { content: null }, string: { content: 'x' }, mixed: { content: [5, null, 'x', {}, []] },
    no_text: { content: [{ type: 'text' }, { type: 'text', text: 5 }] }, image: { content: [image] },
    image_large: { content: [{ ...image, data: '!'.repeat(300_000) }] }, resource: { content: [{ type: 'resource' }] },
    many: { content: Array.from({ length: 20_000 }, () => ({ type: 'text', text: 'x' })) },
    unknown: { content: [{ type: 'hologram', data: 'x'.repeat(100_000) }] }, list: { structuredContent: [1, 2] },
    error: { isError: 'yes', content: [{ type: 'text', text: 'x' }] }, meta: { _meta: 5, content: [] },
    nasty: { content: [{ type: 'text', text: NASTY.repeat(5000) }] }, nested: { structuredContent: nested(50) },
    special: { content: [{ type: 'text', text: '<|endoftext|>'.repeat(2000) }] },
    word: { content: [{ type: 'text', text: 'x'.repeat(3 << 20) }] },
  };
  const CONTENTS = [undefined, 'x', [5, null, 'x'], [{}], [{ uri: 5, text: 5 }], [{ uri: 'a:b', blob: '!!!' }]];
  const MESSAGES = [undefined, 'x', [5, null], [{}], [{ role: 5, content: 5 }], [{ role: 'user', content: ['x'] }],
    [{ role: NASTY, content: { type: 'text', text: 'x' } }], [{ role: 'user', content: { type: 'image' } }]];
  const numbered = (list, make) => list.map((_, i) => make(String(i)));

  test('are answered all the same, and the next call is well', async (t) => {
    const tools = Object.keys(RESULTS).map((name) => ({ name }));
    const up = await hostileServer({
      tools: [...tools, { name: 'good' }], resources: numbered(CONTENTS, (i) => ({ uri: `a://${i}`, name: i })),
      prompts: numbered(MESSAGES, (name) => ({ name })),
    });
    up.on('tools/call', ({ name }) => RESULTS[name] ?? text('well'));
    up.on('resources/read', ({ uri }) => ({ contents: CONTENTS[uri.at(-1)] }));
    up.on('prompts/get', ({ name }) => ({ messages: MESSAGES[name] }));
    const gateway = await startMeta(t, { servers: { up } });
    for (const kind of ['http', 'stateless http']) {
      const client = await open(t, gateway, kind);
      const good = (await walk(client, 'tool')).cards.find((card) => card.name === 'good');
      for (const [what, verb] of [['tool', 'tool_execute'], ['resource', 'resource_read'], ['prompt', 'prompt_get']]) {
        for (const { id, name } of (await walk(client, what)).cards) {
          const args = { [`${what}_id`]: id, ...(what === 'tool' && { args: {} }) };
          const { result, error } = await client.request('tools/call', { name: verb, arguments: args });
          assert.ok(result || error, `${what} ${name}`);
          if (result && what !== 'tool') assertContent(result, `${what} ${name}`);
          for (const part of result?.structuredContent?.artifacts ? result.content : [])
            assert.ok(countTokens(String(part.text ?? part.resource?.text ?? '')) <= 500, `${what} ${name}`);
          assert.equal(textOf(await client.call('tool_execute', { tool_id: good.id, args: {} })), 'well');
        }
      }
    }
  });

  /** What we make of a resource or a prompt is the result of a tool, whatever it was. */
  function assertContent({ content }, what) {
    assert.ok(Array.isArray(content), what);
    for (const part of content) {
      if (part.type === 'text') assert.equal(typeof part.text, 'string', what);
      else if (part.type === 'resource') assert.equal(part.resource?.constructor, Object, what);
      else assert.equal(typeof part.type, 'string', what);
    }
  }
});
