// SPDX-License-Identifier: Apache-2.0
// How much of a result reaches the model: result.budget, what a server's entry says instead, and what a call asks for.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';

import { execute, faultOf, handleOf, open, startMeta, textOf } from './lib/meta.mjs';
import { suiteScope } from './lib/process.mjs';
import { handshakeServer, text } from './lib/stateless.mjs';
import { countTokens } from './lib/tokens.mjs';

const words = (n) => Array.from({ length: n }, () => 'word').join(' '); // one token each
const tools = { say: ({ n }) => text(words(n)), export_all: ({ n }) => text(words(n)) };
const server = async (entry) => handshakeServer('http', { name: 'up', tools, entry });

/** Whether a result of so many tokens comes as it is; a cut one is within `budget`. */
async function isWhole(client, tokens, budget, { tool = 'say', ...more } = {}) {
  const { tool_id } = await find(client, tool);
  const result = await client.call('tool_execute', { tool_id, args: { n: tokens }, ...more });
  assert.equal(result.isError ?? false, false, JSON.stringify(result));
  if (textOf(result) === words(tokens)) return true;
  assert.ok(countTokens(textOf(result)) <= budget, `${countTokens(textOf(result))} tokens`);
  assert.ok(handleOf(result));
  return false;
}
const find = async (client, name) => {
  const { structuredContent: { cards } } = await client.call('tool_browse', { path: '/up' });
  return { tool_id: cards.find((card) => card.name === name).id };
};

async function start(t, entry = {}, result = {}) {
  const up = await server();
  const servers = { up: { ...up.config(), ...entry } };
  const gateway = await startMeta(t, { servers, config: { result: { budget: undefined, ...result } } });
  return open(t, gateway);
}

describe('without any configuration', () => {
  const scope = suiteScope();
  let client;
  before(async () => (client = await start(scope)));

  test('a result of up to 2000 tokens comes as it is, a longer one is cut to that', async () => {
    assert.ok(await isWhole(client, 2000, 2000));
    assert.ok(!(await isWhole(client, 2001, 2000)));
  });

  test('max_tokens asks for less, or for more up to 20000', async () => {
    assert.ok(!(await isWhole(client, 1000, 300, { max_tokens: 300 })));
    assert.ok(await isWhole(client, 6000, 6000, { max_tokens: 6000 }));
    assert.ok(await isWhole(client, 20_000, 20_000, { max_tokens: 1_000_000 }));
    assert.ok(!(await isWhole(client, 20_001, 20_000, { max_tokens: 1_000_000 })));
    assert.ok(await isWhole(client, 2000, 2000, { max_tokens: null }), 'null is as good as nothing');
  });

  test('tool_view takes it too, and shows 2000 tokens without it', async () => {
    const handle = handleOf(await execute(client, 'up', 'say', { n: 30_000 }));
    const view = async (more) => countTokens(textOf(await client.call('tool_view',
      { handle, selector: { type: 'head', start: 0, chars: 1_000_000 }, ...more })));
    const [usual, less, more] = [await view(), await view({ max_tokens: 500 }), await view({ max_tokens: 1_000_000 })];
    assert.ok(usual > 1500 && usual <= 2000, `${usual}`);
    assert.ok(less > 300 && less <= 500, `${less}`);
    assert.ok(more > 19_000 && more <= 20_000, `${more}`);
  });

  test('what is no number of tokens is refused', async () => {
    const { tool_id } = await find(client, 'say');
    for (const max_tokens of [0, -5, 1.5, '100', true]) {
      faultOf(await client.call('tool_execute', { tool_id, args: { n: 1 }, max_tokens }), 'ARGS_INVALID');
      faultOf(await client.call('tool_view', { handle: 'x', selector: {}, max_tokens }), 'ARGS_INVALID');
    }
  });
});

test('the entry of a server says another budget, and one for some of its tools', async (t) => {
  const client = await start(t, { resultBudget: 300, toolResultBudgets: { 'export_*': 4000 } });
  assert.ok(await isWhole(client, 300, 300));
  assert.ok(!(await isWhole(client, 301, 300)));
  assert.ok(await isWhole(client, 4000, 4000, { tool: 'export_all' }));
  assert.ok(!(await isWhole(client, 4001, 4000, { tool: 'export_all' })));
  assert.ok(await isWhole(client, 1000, 1000, { max_tokens: 1000 }), 'a call may still ask');
});

test('result.max_budget bounds what a call asks for', async (t) => {
  const client = await start(t, {}, { budget: 100, max_budget: 400 });
  assert.ok(!(await isWhole(client, 101, 100)));
  assert.ok(await isWhole(client, 400, 400, { max_tokens: 5000 }));
  assert.ok(!(await isWhole(client, 401, 400, { max_tokens: 5000 })));
});
