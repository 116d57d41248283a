// SPDX-License-Identifier: Apache-2.0
// disabledTools and enabledTools of a server: what they hide is neither listed nor found nor called, in any mode.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';

import { runToolgate } from './lib/gateway.mjs';
import { idsOf, namesOf, open, startMeta, textOf } from './lib/meta.mjs';
import { tempDir, writeJson } from './lib/process.mjs';
import { shop } from './lib/reloading.mjs';

const ALL = ['list_notes', 'read_note', 'delete_note', 'delete_all'];
const CASES = {
  'a name': [{ disabledTools: ['delete_all'] }, ['list_notes', 'read_note', 'delete_note']],
  'a pattern': [{ excludeTools: ['delete_*'] }, ['list_notes', 'read_note']],
  'only some': [{ enabledTools: ['*_note'] }, ['read_note', 'delete_note']],
  'only some, less others': [{ includeTools: ['*_note'], disabledTools: ['delete_*'] }, ['read_note']],
  none: [{ enabledTools: [] }, []],
};

for (const [what, [filter, left]] of Object.entries(CASES)) {
  test(`${what}: direct mode lists what is left, and no other can be called`, async (t) => {
    const gateway = await startMeta(t, { mode: 'direct', servers: { shop: { ...shop(t, ALL), ...filter } } });
    const client = await open(t, gateway);
    assert.deepEqual(namesOf(await client.tools()).sort(), [...left].sort());
    for (const name of ALL) {
      if (left.includes(name)) assert.equal(textOf(await client.call(name, {})), `${name} was called`);
      else await assert.rejects(client.call(name, {}), /Unknown tool|not found/i);
    }
  });
}

test('modes with meta-tools do not find or call what is hidden', async (t) => {
  const servers = { shop: { ...shop(t, ALL), disabledTools: ['delete_*'] } };
  const gateway = await startMeta(t, { servers });
  const client = await open(t, gateway);
  const found = idsOf(await client.call('tool_browse', { query: 'delete all notes' }));
  assert.ok(found.length > 0 && found.every((id) => !/delete/.test(id)), `${found}`);
  for (const tool_id of ['shop:delete_all', 'shop:delete_note'])
    assert.equal((await client.call('tool_execute', { tool_id, args: {} })).isError, true);

  const other = await startMeta(t, { mode: 'servers', servers });
  const names = await open(t, other);
  assert.doesNotMatch(textOf(await names.call('get_server_tools', { server: 'shop' })), /delete/);
  assert.equal((await names.call('execute_tool', { server: 'shop', tool: 'delete_all', args: {} })).isError, true);
});

test('a list that cannot be read leaves the server out: nothing is served that it would hide', async (t) => {
  const dir = tempDir(t);
  writeJson(path.join(dir, '.mcp.json'), { mcpServers: { s: { command: 'cat', disabledTools: 'delete' }, t: { command: 'cat', enabledTools: [1] } } });
  const r = await runToolgate(['check', '--json'], { cwd: dir, env: { HOME: dir } });
  assert.equal(r.status, 1);
  assert.match(r.stdout, /\/mcpServers\/s\/disabledTools/);
  assert.match(r.stdout, /\/mcpServers\/t\/enabledTools\/0/);
});
