// SPDX-License-Identifier: Apache-2.0
// All tools of many real servers behind one gateway: each has an id and a card, can be reached, and what an agent is
// shown of them is a thousandth of what they are. The answers of those servers are in a folder beside the repository,
// ../shared/data/catalogs, or below $TOOLGATE_SHARED; without it there is nothing to test.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { ROOT, runToolgate } from './lib/gateway.mjs';
import { cardsOf, linesOf, open, startMeta, textOf } from './lib/meta.mjs';
import { suiteScope, tempDir, writeJson } from './lib/process.mjs';
import { countTokens } from './lib/tokens.mjs';

const SHARED = process.env.TOOLGATE_SHARED ?? path.join(ROOT, '../shared');
const FOLDER = path.join(SHARED, 'data/catalogs');
const skip = fs.existsSync(FOLDER) ? false : `there are no catalogs of real servers at ${FOLDER}`;

const WIDTH = 8;  // requests at a time
const LARGE = 100;  // tools of a server for which gateways are made
const EVERY = process.env.TOOLGATE_LONG ? 1 : 11;  // the how many-th name is looked for

const read = (file) => JSON.parse(fs.readFileSync(path.join(FOLDER, file), 'utf8'));
const files = skip ? [] : fs.readdirSync(FOLDER).filter((file) => file.endsWith('.json'));
const nameOf = (file) => path.basename(file, '.json');

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

describe('the catalogs of real servers', { skip }, () => {
  const scope = suiteScope();
  const servers = Object.fromEntries(files.map((file) => [nameOf(file), { catalog: path.join(FOLDER, file) }]));
  const offered = Object.fromEntries(files.map((file) => [nameOf(file), read(file)]));
  const all = (key) => Object.values(offered).flatMap((catalog) => catalog[key] ?? []);
  let client, items, walked;

  test('all are served at once', async (t) => {
    const gateway = await startMeta(scope, { servers });
    client = await open(scope, gateway);
    assert.equal((await client.tools()).length, 7);
    t.diagnostic(`${files.length} servers, ${all('tools').length} tools`);
  });

  test('every tool, resource and prompt has an id of its own, or its name in the report', async (t) => {
    const config = writeJson(path.join(tempDir(t), '.mcp.json'), { mcpServers: servers });
    const { stdout, stderr, status } = await runToolgate(['catalog', '--json', '--mcp-config', config]);
    assert.ok(status === 0 || status === 1, stderr);
    const catalog = JSON.parse(stdout);
    items = catalog.items;
    const skipped = catalog.report.filter((note) => note.skipped);
    for (const note of catalog.report) t.diagnostic(`${note.server}: ${note.name}: ${note.reason}`);
    const count = (kind) => items.filter((item) => item.kind === kind).length;
    assert.equal(count('tool') + skipped.length, all('tools').length);
    assert.equal(count('tool'), 3770);
    assert.equal(count('resource'), all('resources').length + all('resourceTemplates').length);
    assert.equal(count('prompt'), all('prompts').length);
    const ids = items.map((item) => item.id);
    assert.equal(new Set(ids).size, ids.length);
    const grammar =
      /^((resource|prompt)::)?[a-z][a-z0-9_-]{0,63}:[A-Za-z_][A-Za-z0-9_.-]{0,127}(@[\w.-]{1,32})?(#[0-9a-f]{8})?(~\d+)?$/;
    assert.deepEqual(ids.filter((id) => !grammar.test(id) || id.length > 240), []);
  });

  test('every one is reached by walking the paths from /, once, and the way there is never crowded', async () => {
    walked = [];
    for (const kind of ['tool', 'resource', 'prompt']) {
      const found = [];
      for (let level = ['/'], depth = 0; level.length; depth++) {
        assert.ok(depth < 8, level[0]);
        const results = await each(level, (where) => client.call(`${kind}_browse`, { path: where }));
        results.forEach((result, i) => assert.ok(cardsOf(result).length <= (level[i] === '/' ? 400 : 50), level[i]));
        const lines = results.flatMap(linesOf);
        const cards = results.flatMap(cardsOf);
        walked.push(...lines.map(({ line }) => line));
        level = cards.filter((card) => card.kind === 'internal').map((card) => card.id);
        found.push(...cards.filter((card) => card.kind !== 'internal').map((card) => card.id));
      }
      const expected = items.filter((item) => item.kind === kind).map((item) => item.id);
      assert.deepEqual(found.sort(), expected.sort());
    }
  });

  test('no card has more than 80 tokens, and hardly one more than 60', async (t) => {
    const counts = walked.map((line) => countTokens(`${line}\n`));
    const largest = Math.max(...counts);
    assert.ok(largest <= 80, walked[counts.indexOf(largest)]);
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
    t.diagnostic(`${asked.length} of ${names.size} names were looked for${EVERY > 1 ? ' (all of them with --long)' : ''}`);
    assert.deepEqual(missed, []);
  });

  test('what an agent is shown is a thousandth of what there is, and a twentieth of any large server', async (t) => {
    const tools = (await client.tools()).slice(0, 3);
    const meta = countTokens(JSON.stringify(tools));
    const cost = async (query) => meta + countTokens(textOf(await client.call('tool_browse', { query })));
    const saved = (shown, whole) => 100 * (1 - shown / whole);
    const sizes = Object.entries(offered).map(([server, { tools: list = [] }]) =>
      ({ server, count: list.length, whole: countTokens(JSON.stringify(list)), query: list[0]?.description?.slice(0, 80) }));
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
