// SPDX-License-Identifier: Apache-2.0
// What belongs to one client stays with it: answers from the cache, limits, secrets in errors; and a dry run leaves
// nothing behind. Clients are told apart by their bearer tokens, over HTTP. What is kept of results: golden-artifacts.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { filesBelow, LONG, start, TOKENS, tracker } from './lib/keepers.mjs';
import { execute, faultOf, idOf, open, textOf } from './lib/meta.mjs';
import { tempDir } from './lib/process.mjs';
import { RpcError } from './lib/raw.mjs';
import { text } from './lib/stateless.mjs';
import { CREATE, github, LIST, provenanceOf, startShop } from './servers/golden-shop.mjs';

test('an answer from the cache goes to the token that it was given to, in every session of it', async (t) => {
  const up = await tracker(t, { list_issues: (args, entry, count) => text(`answer ${count}`) });
  const { as } = await start(t, up, tempDir(t), { cache: { read_only: true } });
  const list = async (client) => {
    const result = await client.call('tool_execute', { tool_id: LIST, args: {} });
    return [textOf(result), provenanceOf(result).cache_hit];
  };
  const [first, again, second] = [await as(TOKENS[0]), await as(TOKENS[0]), await as(TOKENS[1])];
  assert.deepEqual(await list(first), ['answer 1', undefined]);
  assert.deepEqual(await list(second), ['answer 2', undefined]);
  assert.deepEqual(await list(again), ['answer 1', true]);
  assert.deepEqual(await list(second), ['answer 2', true]);
});

test('limits of one token are not used up by another', async (t) => {
  const up = await tracker(t);
  const { as } = await start(t, up, tempDir(t), { rate_limits: { tool_execute: { max_calls_per_minute: 1 } } });
  const [first, second] = [await as(TOKENS[0]), await as(TOKENS[1])];
  const call = (client) => client.call('tool_execute', { tool_id: LIST, args: {} });
  assert.equal((await call(first)).isError ?? false, false);
  faultOf(await call(first), 'RATE_LIMITED');
  assert.equal((await call(second)).isError ?? false, false);
});

describe('a dry run', () => {
  test('writes nothing, keeps nothing, calls nothing', async (t) => {
    const state = tempDir(t);
    const up = await tracker(t, { create_issue: () => text(LONG) });
    const { gateway, as } = await start(t, up, state, { cache: { read_only: true } });
    const client = await as(TOKENS[0]);
    await idOf(client, 'github', 'create_issue');
    const marker = 'dry-run-marker-4711';
    const args = { title: marker, body: marker.repeat(1000) };
    const { structuredContent } = await client.call('tool_execute', { tool_id: CREATE, args, dry_run: true });
    assert.equal(structuredContent.dry_run, true);
    assert.equal(JSON.stringify(structuredContent).includes('artifact'), false);
    await gateway.stop();
    for (const [file, bytes] of filesBelow(state)) assert.equal(bytes.includes(marker), false, file);
    assert.deepEqual(up.seen, []);
    });
});

describe('secrets that a server puts into an error', () => {
  const secret = 'ghp_aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zaB3dE5';
  const fail = () => { throw new RpcError(-32000, `clone of https://bot:${secret}@example.com failed`, { secret }); };

  for (const mode of ['gateway', 'transparent']) {
    test(`are not told in mode ${mode}, in any session`, async (t) => {
      const shop = await startShop(t, { mode, runs: { create_issue: fail } });
      for (const kind of ['http', 'stateless http']) {
        const client = await open(t, shop.gateway, kind);
        const result = await client.call('tool_execute', { tool_id: CREATE, args: { title: 'a' } });
        assert.match(faultOf(result).message, /clone of/);
        assert.doesNotMatch(JSON.stringify(result), /aB3dE5gH7j/);
      }
    });
  }

  test('are not told for resources and prompts', async (t) => {
    const shop = await startShop(t, { resources: ['test://a'], prompts: { ask: fail } });
    shop.up.on('resources/read', fail);
    const resource_id = await idOf(shop.client, 'github', 'test://a', 'resource');
    const prompt_id = await idOf(shop.client, 'github', 'ask', 'prompt');
    for (const result of [await shop.client.call('resource_read', { resource_id }),
      await shop.client.call('prompt_get', { prompt_id })]) {
      faultOf(result);
      assert.doesNotMatch(JSON.stringify(result), /aB3dE5gH7j/);
    }
  });

  test('arguments that were refused are not repeated in full', async (t) => {
    const shop = await startShop(t);
    const result = await shop.execute(CREATE, { title: 5, body: secret });
    faultOf(result, 'ARGS_INVALID');
    assert.doesNotMatch(JSON.stringify(result), /aB3dE5gH7j/);
  });
});

test('results are not scrubbed or changed: what a tool gives is what it gives', async (t) => {
  const words = 'Authorization: Bearer Zm9vYmFyYmF6cXV4MTIz';
  const shop = await startShop(t, { runs: { create_issue: () => text(words) } });
  assert.equal(textOf(await execute(shop.client, 'github', 'create_issue', { title: 'a' })), words);
});
