// SPDX-License-Identifier: Apache-2.0
// All tools of many servers behind one gateway: each has an id and a card, can be reached, and what an agent is shown of
// them is a thousandth of what they are. The servers are the catalogs of many real ones that may lie beside the
// repository (lib/beside.mjs), or else the small ones of tests/data.
import assert from 'node:assert/strict';
import path from 'node:path';
import { before, describe, test } from 'node:test';

import { BESIDE, IN_TREE, nameOf, readCatalog, skip } from './lib/beside.mjs';
import { runToolgate } from './lib/gateway.mjs';
import { cardsOf, ID, linesOf, open, startMeta, textOf } from './lib/meta.mjs';
import { suiteScope, tempDir, writeJson } from './lib/process.mjs';
import { countTokens } from './lib/tokens.mjs';

const WIDTH = 8;  // requests at a time
const LARGE = 100;  // tools of a server for which gateways are made
const EVERY = process.env.TOOLGATE_LONG ? 1 : 11;  // the how many-th name is looked for

const files = BESIDE.length ? BESIDE : IN_TREE;

/** Does `work` for all of `list`, a few at a time; gives the results in order. */
async function each(list, work) {
  const results = [];
  let next = 0;
  const worker = async () => {
    for (let i; (i = next++) < list.length; ) results[i] = await work(list[i], i);
  };
  await Promise.all(Array.from({ length: WIDTH }, worker));
  return results;
}

/** Everything that is found by following paths from /, a level at a time. */
async function walk(client, kind) {
  const found = { cards: [], lines: [], widths: [], depth: 0 };
  for (let level = ['/']; level.length; found.depth++) {
    const results = await each(level, (where) => client.call(`${kind}_browse`, { path: where }));
    const cards = results.map(cardsOf);
    if (found.depth) found.widths.push(...cards.map((list) => list.length));
    found.lines.push(...results.flatMap(linesOf));
    found.cards.push(...cards.flat().filter((card) => card.kind !== 'internal'));
    level = cards.flat().filter((card) => card.kind === 'internal').map((card) => card.id);
  }
  return found;
}

describe('the catalogs of many servers', () => {
  const scope = suiteScope();
  const servers = Object.fromEntries(files.map((file) => [nameOf(file), { catalog: file }]));
  const offered = Object.fromEntries(files.map((file) => [nameOf(file), readCatalog(file)]));
  const all = (key) => Object.values(offered).flatMap((catalog) => catalog[key] ?? []);
  let client, catalog, items, walks;

  before(async () => {
    client = await open(scope, await startMeta(scope, { servers }));
    const config = writeJson(path.join(tempDir(scope), '.mcp.json'), { mcpServers: servers });
    const { stdout, stderr, status } = await runToolgate(['catalog', '--json', '--mcp-config', config]);
    assert.ok(status === 0 || status === 1, stderr);
    catalog = JSON.parse(stdout);
    items = catalog.items;
    walks = {};
    for (const kind of ['tool', 'resource', 'prompt']) walks[kind] = await walk(client, kind);
  });

  test('every tool, resource and prompt has an id of its own, or its name in the report', async (t) => {
    t.diagnostic(`${files.length} servers, ${all('tools').length} tools`);
    const skipped = catalog.report.filter((note) => note.skipped);
    for (const note of catalog.report) t.diagnostic(`${note.server}: ${note.name}: ${note.reason}`);
    const count = (kind) => items.filter((item) => item.kind === kind).length;
    assert.equal(count('tool') + skipped.length, all('tools').length);
    assert.equal(count('tool'), BESIDE.length ? 3770 : 54);
    assert.equal(count('resource'), all('resources').length + all('resourceTemplates').length);
    assert.equal(count('prompt'), all('prompts').length);
    const ids = items.map((item) => item.id);
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual(ids.filter((id) => !ID.test(id) || id.length > 240), []);
  });

  test('every one is reached by walking the paths from /, once', () => {
    for (const [kind, { cards }] of Object.entries(walks)) {
      const expected = items.filter((item) => item.kind === kind).map((item) => item.id);
      assert.deepEqual(cards.map((card) => card.id).sort(), expected.sort());
    }
  });

  test('the way there is short, and never crowded', (t) => {
    const widest = Math.max(...Object.values(walks).flatMap(({ widths }) => widths));
    const deepest = Math.max(...Object.values(walks).map(({ depth }) => depth));
    t.diagnostic(`at most ${deepest} steps, and ${widest} cards below a path that is not /`);
    assert.ok(widest <= 50 && deepest <= 6);
  });

  test('no card has more than 80 tokens, and hardly one more than 60', async (t) => {
    const lines = Object.values(walks).flatMap((found) => found.lines);
    const counts = lines.map(({ line }) => countTokens(`${line}\n`));
    const largest = Math.max(...counts);
    assert.ok(largest <= 80, lines[counts.indexOf(largest)].line);
    const over = counts.filter((count) => count > 60).length;
    const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length;
    t.diagnostic(`${counts.length} cards, ${mean.toFixed(1)} tokens on average, at most ${largest}, ${over} over 60`);
    assert.ok(over <= counts.length / 100, `${over} over 60`);
  });

  test('a tool is among the first ten that its own name finds; others of that name do not count', async (t) => {
    const tools = items.filter((item) => item.kind === 'tool');
    const names = Map.groupBy(tools, (tool) => tool.name);
    const asked = [...names.keys()].filter((_, i) => i % EVERY === 0);
    const missed = [];
    await each(asked, async (name) => {
      const found = cardsOf(await client.call('tool_browse', { query: name, top_k: 50 }));
      const own = new Set(names.get(name).map((tool) => tool.id));
      const others = found.findIndex((_, i) => found.slice(0, i + 1).filter((card) => !own.has(card.id)).length === 10);
      const near = new Set((others < 0 ? found : found.slice(0, others)).map((card) => card.id));
      for (const id of [...own].slice(0, 40)) if (!near.has(id)) missed.push(id);
    });
    const more = EVERY > 1 ? ' (all of them with --long)' : '';
    t.diagnostic(`${asked.length} of ${names.size} names were looked for${more}`);
    assert.deepEqual(missed, []);
  });

  test('what an agent is shown is a thousandth of what there is, and a twentieth of any large server', { skip }, async (t) => {
    const tools = (await client.tools()).slice(0, 3);
    const meta = countTokens(JSON.stringify(tools));
    const cost = async (query) => meta + countTokens(textOf(await client.call('tool_browse', { query })));
    const saved = (shown, whole) => 100 * (1 - shown / whole);
    const sizes = Object.entries(offered).map(([server, { tools: list = [] }]) => {
      const query = list[0]?.description?.slice(0, 80);
      return { server, query, count: list.length, whole: countTokens(JSON.stringify(list)) };
    });
    const whole = sizes.reduce((sum, size) => sum + size.whole, 0);
    const shown = await cost('send a message to a channel');
    t.diagnostic(`${meta} + ${shown - meta} tokens instead of ${whole}: ${saved(shown, whole).toFixed(2)} % less`);
    assert.ok(saved(shown, whole) >= 99.9);
    const large = sizes.filter(({ count }) => count >= LARGE);
    assert.ok(large.length >= 5);
    for (const { server, query, whole: size } of large) {
      const less = saved(await cost(query ?? server), size);
      assert.ok(less >= 95, `${server}: ${less.toFixed(1)} %`);
    }
  });
});
