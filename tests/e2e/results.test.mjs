// SPDX-License-Identifier: Apache-2.0
// What an agent gets of long results, by what they are: the examples of docs/reference/results.md, and what holds for all of them.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { before, describe, test } from 'node:test';

import { ROOT } from './lib/gateway.mjs';
import { DOC_MARK, execute, handleOf, open, snapshot, startMeta, textOf, unmarked, viewAll } from './lib/meta.mjs';
import { suiteScope } from './lib/process.mjs';
import { countTokens } from './lib/tokens.mjs';

const times = (n, make) => Array.from({ length: n }, (_, i) => make(i));
const two = (i) => String(i).padStart(2, '0');

const SAMPLES = {
  issues: JSON.stringify({
    total_count: 1234,
    items: times(120, (i) => ({
      number: i + 1, title: `Crash ${i + 1} when saving`, state: i % 3 ? 'open' : 'closed',
      user: { login: `user${i % 7}`, id: i % 7 }, created_at: `2024-03-${two(i % 28 + 1)}T10:00:00Z`,
      body: 'It fails.\n'.repeat(60),
    })),
  }),
  orders: `id,customer,amount,created\n${times(500, (i) => `${i},"Doe, Jane ${i}",${i}.25,2024-01-${two(i % 28 + 1)}\n`).join('')}`,
  log: times(2000, (i) => {
    const failed = i % 97 === 5;
    const said = failed ? `connection to db-${i % 3} refused after ${i} ms` : `GET /api/items/${i} 200`;
    return `2024-05-01T10:${two(Math.floor(i / 60))}:${two(i % 60)}Z ${failed ? 'ERROR' : 'INFO'} ${said}\n`;
  }).join(''),
  guide: `# Guide\n\nThis tool reads files. It writes others.\n\n${times(20, (i) =>
    `## Part ${i + 1}\n\n${'Some words about it follow here. '.repeat(8).trimEnd()}\n\n`).join('')}`,
  picture: `iVBORw0KGgoAAAANSUhEUgAA${'QUJD'.repeat(3000)}`,
};

describe('long results', () => {
  const scope = suiteScope();
  let client;
  before(async () => {
    const replies = Object.fromEntries(
      Object.entries(SAMPLES).map(([name, value]) => [name, { content: [{ type: 'text', text: value }] }]));
    const up = snapshot(scope, { tools: Object.keys(SAMPLES).map((name) => ({ name })), replies: { tools: replies } });
    client = await open(scope, await startMeta(scope, { servers: { up }, config: { result: { budget: 300 } } }));
  });

  const page = fs.readFileSync(path.join(ROOT, 'docs/reference/results.md'), 'utf8');
  for (const name of Object.keys(SAMPLES)) {
    if (name === 'guide') test('guide: the beginning and the headings with their lines', async () => {
      const text = unmarked(textOf(await execute(client, 'up', name)), DOC_MARK);
      assert.match(text, /^# Guide\n\nThis tool reads files[^]*\nheadings, with their lines:\n0: # Guide\n4: ## Part 1\n[^]*\n… \d+ more\n\[tg/);
    });
    else test(`${name}: as docs/reference/results.md shows it`, async () => {
      const [, shown] = new RegExp(`<!-- ${name} -->\n\`\`\`\n([^]*?)\n\`\`\``).exec(page) ?? assert.fail('no example');
      assert.equal(unmarked(textOf(await execute(client, 'up', name)), DOC_MARK), shown);
    });

    test(`${name}: text and envelope are within the budget, each by itself; the handle leads to all of it`, async () => {
      const result = await execute(client, 'up', name);
      assert.ok(countTokens(textOf(result)) <= 300);
      assert.ok(countTokens(JSON.stringify(result.structuredContent)) <= 300);
      assert.equal(await viewAll(client, handleOf(result)), SAMPLES[name]);
    });

    test(`${name}: the views that are proposed show something`, async () => {
      const result = await execute(client, 'up', name);
      const [, proposed] = /selector=(.*)$/.exec(textOf(result)) ?? assert.fail(textOf(result));
      for (const selector of proposed.split(' or ')) {
        const view = await client.call('tool_view', { handle: handleOf(result), selector: JSON.parse(selector) });
        assert.ok(!view.isError && textOf(view).length > 0, textOf(view));
      }
    });
  }

  test('the same call gives the same bytes', async () => {
    for (const name of Object.keys(SAMPLES))
      assert.equal(JSON.stringify(await execute(client, 'up', name)), JSON.stringify(await execute(client, 'up', name)));
  });
});

test('with result.scrub, secrets are neither told nor kept', async (t) => {
  const secret = `ghp_${'a1B2'.repeat(9)}`;
  const text = `token: ${secret}\n${'some words of a line\n'.repeat(400)}`;
  const replies = { long: { content: [{ type: 'text', text }] }, short: { content: [{ type: 'text', text: secret }] } };
  const up = snapshot(t, { tools: [{ name: 'long' }, { name: 'short' }], replies: { tools: replies } });
  const client = await open(t, await startMeta(t, { servers: { up }, config: { result: { scrub: true } } }));
  assert.equal(textOf(await execute(client, 'up', 'short')), '[REDACTED-SECRET]');
  const result = await execute(client, 'up', 'long');
  assert.ok(!JSON.stringify(result).includes(secret));
  assert.equal(await viewAll(client, handleOf(result)), text.replace(secret, '[REDACTED-SECRET]'));
});
