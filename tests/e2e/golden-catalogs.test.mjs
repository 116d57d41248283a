// SPDX-License-Identifier: Apache-2.0
// The tools of real servers, called with arguments that are made from their schemas: what Ajv calls valid reaches the
// server as it is; what it calls invalid is refused, with the place and the keyword, and reaches nobody. The catalogs
// are those of tests/data, and of those beside the repository a sample, or all with TOOLGATE_LONG.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';

import { cardsOf, faultOf, open, startMeta } from './lib/meta.mjs';
import { BESIDE, IN_TREE, readCatalog } from './lib/beside.mjs';
import { suiteScope } from './lib/process.mjs';
import { handshakeServer } from './lib/stateless.mjs';
import { judge, make, spoil } from './servers/golden-generate.mjs';

const EVERY = process.env.TOOLGATE_LONG ? 1 : 3;  // the how many-th server is called
const WIDTH = 8;  // calls at a time

const load = () => [...IN_TREE, ...BESIDE.filter((_, i) => i % EVERY === 0)]
  .map((file, i) => [`s${i}`, readCatalog(file).tools]);

/** A server with these tools, which answers every call with what it was called with. */
async function echoing(name, tools) {
  const up = await handshakeServer('http', { name });
  up.tools = tools;
  up.on('tools/call', (params) => {
    up.calls++;
    return { content: [], structuredContent: { name: params.name, got: params.arguments } };
  });
  return up;
}

/** The ids of all tools below a path, by the names that their server has. */
async function idsBelow(client, from) {
  const ids = {};
  for (const left = [from]; left.length; ) {
    for (const card of cardsOf(await client.call('tool_browse', { path: left.pop() }))) {
      if (card.kind === 'internal') left.push(card.id);
      else ids[card.name] = card.id;
    }
  }
  return ids;
}

async function inParallel(jobs, run) {
  const left = [...jobs];
  await Promise.all(Array.from({ length: WIDTH }, async () => {
    for (let job; (job = left.shift()); ) await run(job);
  }));
}

describe('the tools of catalogs', () => {
  const scope = suiteScope();
  const calls = [];  // { server, tool, id, schema, valid }
  const servers = {};
  let client;
  before(async () => {
    const catalogs = load();
    for (const [name, tools] of catalogs) servers[name] = await echoing(name, tools);
    client = await open(scope, await startMeta(scope, { servers, config: { result: { budget: 100_000 } } }));
    for (const [server, tools] of catalogs) {
      const ids = await idsBelow(client, `/${server}`);
      for (const { name, inputSchema: schema = {} } of tools)
        if (ids[name] && tools.filter((other) => other.name === name).length === 1)
          calls.push({ server, tool: name, id: ids[name], schema, valid: judge(schema) });
    }
  });
  const execute = ({ id }, args) => client.call('tool_execute', { tool_id: id, args });
  const dispatched = () => Object.values(servers).reduce((sum, up) => sum + up.calls, 0);

  test('take what their schemas allow, with few arguments and with all, as it was written', async () => {
    let made = 0;
    await inParallel(calls, async (call) => {
      const values = [make(call.schema), make(call.schema, { full: true })].filter((value) => call.valid?.(value));
      made += values.length > 0;
      for (const value of values) {
        const result = await execute(call, value);
        assert.notEqual(result.isError, true, `${call.id} ${JSON.stringify(value)}: ${JSON.stringify(result)}`);
        assert.deepEqual(result.structuredContent, { name: call.tool, got: value }, call.id);
      }
    });
    assert.ok(made >= calls.length * 0.95, `arguments were found for ${made} of ${calls.length} tools`);
  });

  test('refuse what their schemas forbid: the place, the keyword, and no call', async () => {
    const before = dispatched();
    const kinds = { required: 0, type: 0, additionalProperties: 0 };
    await inParallel(calls, async (call) => {
      const value = make(call.schema);
      if (!call.valid?.(value)) return;
      for (const way of spoil(call.schema, value)) {
        const where = `${call.server} ${call.id} ${way.what}`;
        assert.equal(call.valid(way.value), false, where);
        const fault = faultOf(await execute(call, way.value), 'ARGS_INVALID');
        assert.equal(fault.path, call.id);
        const told = fault.details.errors.map(({ pointer, keyword }) => `${pointer} ${keyword}`);
        const known = [`${way.pointer} ${way.keyword}`, `/no such argument ${way.keyword}`];
        assert.ok(told.some((error) => known.includes(error)), `${where}: ${JSON.stringify(fault.details)}`);
        kinds[way.keyword]++;
      }
    });
    assert.equal(dispatched(), before, 'nothing reached a server');
    for (const [keyword, count] of Object.entries(kinds)) assert.ok(count > calls.length / 10, `${keyword}: ${count}`);
  });

  test('a dry run of each says that its arguments fit, and calls nothing', async () => {
    const before = dispatched();
    await inParallel(calls.filter((_, i) => i % 5 === 0), async (call) => {
      const args = make(call.schema);
      if (!call.valid?.(args)) return;
      const { structuredContent } = await client.call('tool_execute', { tool_id: call.id, args, dry_run: true });
      assert.deepEqual([structuredContent.tool_id, structuredContent.args_valid], [call.id, true]);
      assert.equal(structuredContent.upstream_name, call.tool);
    });
    assert.equal(dispatched(), before);
  });
});
