// SPDX-License-Identifier: Apache-2.0
// What is kept of one client's results is that client's: clients are told apart by their bearer tokens, over HTTP,
// before and after a restart.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { filesBelow, LONG, start, TOKENS, tracker } from './lib/keepers.mjs';
import { faultOf, handleOf, textOf, viewAll } from './lib/meta.mjs';
import { tempDir } from './lib/process.mjs';
import { text } from './lib/stateless.mjs';
import { LIST } from './servers/golden-shop.mjs';

const HEAD = { type: 'head', chars: 80 };
const view = (client, handle, selector = HEAD) => client.call('tool_view', { handle, selector });

describe('a piece of one token\'s result', () => {
  const KINDS = ['http', 'sse', 'stateless http'];

  test('is unknown to another one, by every way of connecting and looking', async (t) => {
    const up = await tracker(t, { list_issues: () => text(LONG) });
    const { as } = await start(t, up, tempDir(t));
    const mine = await as(TOKENS[0]);
    const handle = handleOf(await mine.call('tool_execute', { tool_id: LIST, args: {} }));
    for (const kind of KINDS) {
      assert.match(textOf(await view(await as(TOKENS[0], kind), handle)), /^the first client/, kind);
      const other = await as(TOKENS[1], kind);
      for (const selector of [HEAD, { type: 'lines' }, { type: 'search', query: 'alone' }, { type: 'x' }, {}]) {
        const foreign = faultOf(await view(other, handle, selector), 'VIEW_FAILED');
        const wrong = `${handle.slice(0, -1)}${handle.endsWith('0') ? '1' : '0'}`;
        const unknown = faultOf(await view(other, wrong, selector), 'VIEW_FAILED');
        assert.deepEqual({ ...foreign, path: '' }, { ...unknown, path: '' }, 'as one that never was');
        assert.doesNotMatch(JSON.stringify(foreign), /7c1f0e/);
      }
    }
    });

  test('is the same piece for both when both made the same call, each from its own', async (t) => {
    const up = await tracker(t, { list_issues: () => text(LONG) });
    const { as } = await start(t, up, tempDir(t));
    const [first, second] = [await as(TOKENS[0]), await as(TOKENS[1])];
    const handle = handleOf(await first.call('tool_execute', { tool_id: LIST, args: {} }));
    faultOf(await view(second, handle), 'VIEW_FAILED');
    assert.equal(handleOf(await second.call('tool_execute', { tool_id: LIST, args: {} })), handle);
    assert.match(textOf(await view(second, handle)), /^the first client/);
    assert.match(textOf(await view(first, handle)), /^the first client/);
    });

  test('is there after a restart, whole, for its own and nobody else', async (t) => {
    const up = await tracker(t, { list_issues: () => text(LONG) });
    const state = tempDir(t);
    const before = await start(t, up, state);
    const mine = await before.as(TOKENS[0]);
    const handle = handleOf(await mine.call('tool_execute', { tool_id: LIST, args: {} }));
    await mine.close();
    await before.gateway.stop();

    const { as } = await start(t, up, state);
    assert.equal(await viewAll(await as(TOKENS[0]), handle), LONG);
    faultOf(await view(await as(TOKENS[1]), handle), 'VIEW_FAILED');
    assert.equal(up.seen.length, 1, 'nothing was called again');
    });

  test('is there after a crash, once it was told of', async (t) => {
    const up = await tracker(t, { list_issues: () => text(LONG) });
    const state = tempDir(t);
    const before = await start(t, up, state);
    const handle = handleOf(await (await before.as(TOKENS[0])).call('tool_execute', { tool_id: LIST, args: {} }));
    await before.gateway.kill();
    const { as } = await start(t, up, state);
    assert.equal(await viewAll(await as(TOKENS[0]), handle), LONG);
    faultOf(await view(await as(TOKENS[1]), handle), 'VIEW_FAILED');
    });

  test('is kept in files that only the operator can read, without the token', async (t) => {
    const up = await tracker(t, { list_issues: () => text(LONG) });
    const state = tempDir(t);
    const { gateway, as } = await start(t, up, state);
    await (await as(TOKENS[0])).call('tool_execute', { tool_id: LIST, args: {} });
    await gateway.stop();
    for (const [file, bytes] of filesBelow(state)) {
      assert.equal(fs.statSync(path.join(state, file)).mode & 0o077, 0, file);
      for (const token of TOKENS) assert.equal(bytes.includes(token), false, file);
    }
    });
});

test('a handle that was guessed, cut, or is no handle tells nothing', async (t) => {
  const up = await tracker(t, { list_issues: () => text(LONG) });
  const { as } = await start(t, up, tempDir(t));
  const mine = await as(TOKENS[0]);
  const handle = handleOf(await mine.call('tool_execute', { tool_id: LIST, args: {} }));
  for (const wrong of ['', 'text:', handle.slice(0, -1), `${handle}0`, handle.toUpperCase(), `../${handle}`,
    `${handle}\0`, '%', '*', "' or 1=1 --", '../../etc/passwd', 'x'.repeat(100_000)])
    faultOf(await view(mine, wrong), 'VIEW_FAILED');
  assert.match(textOf(await view(mine, handle)), /^the first client/);
});
