// SPDX-License-Identifier: Apache-2.0
// Every place that shows the class or mode of a provisional capability says that it is provisional.
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test } from 'node:test';

import { runToolgate } from './lib/gateway.mjs';
import { execute, faultOf, open, snapshot, startMeta } from './lib/meta.mjs';
import { suiteScope, tempDir, until, writeJson } from './lib/process.mjs';

const tool = (name, annotations) => ({ name, description: `To ${name} goods.`, inputSchema: { type: 'object' }, annotations });
const GOVERNANCE = {
  adapters: [{
    adapter_id: 'adp_shop', type: 'MCP', server: 'shop', capabilities: [
      { name: 'find', class: 'observe', approval_mode: 'read_only', provisional: true },
      { name: 'count', class: 'observe', approval_mode: 'read_only' },
    ],
  }],
  permissions: ['find', 'count'].map((capability) => ({ permission_id: capability, adapter_id: 'adp_shop', capability, allow: true, arg_constraints: { n: { max: 5 } } })),
  context: { unlisted_servers: 'provisional' },
  plan_check: true,
};

describe('a provisional capability is shown as such', () => {
  const scope = suiteScope();
  let started;
  /** One gateway for all tests: `shop` with two capabilities, and `docs` without an adapter. */
  const world = () => (started ??= (async () => {
    const dir = tempDir(scope), state_dir = path.join(dir, 'state');
    const config = { state_dir, governance: writeJson(path.join(dir, 'governance.json'), GOVERNANCE) };
    const servers = {
      shop: snapshot(scope, { tools: [tool('find', { readOnlyHint: true }), tool('count', { readOnlyHint: true })] }),
      docs: snapshot(scope, { tools: [tool('page', { readOnlyHint: true }), tool('wipe')] }),
    };
    writeJson(path.join(dir, 'toolgate.yaml'), { ...config, servers });  // for the commands
    const gateway = await startMeta(scope, { config, servers }), client = await open(scope, gateway);
    for (const name of ['find', 'count']) await execute(client, 'shop', name, {});
    await execute(client, 'docs', 'page', {});
    const cli = async (...args) => {
      const r = await runToolgate(args, { cwd: dir, env: { HOME: dir } });
      return r.stdout + (r.stdout ? '' : r.stderr);
    };
    const lines = async (kind) => (await cli(kind, 'list', '--json')).split('\n').filter(Boolean).map((line) => JSON.parse(line));
    const recorded = (kind, count) => until(async () => {
      const all = await lines(kind);
      return all.length >= count && all;
    }, `${count} ${kind}`);
    return { dir, client, gateway, cli, recorded };
  })());
  const use = async (name, args) => (await world()).client.ask('tools/call', { name, arguments: args });

  test('in cards', async () => {
    const { content, structuredContent } = await use('tool_browse', { query: 'goods' });
    const marks = Object.fromEntries(structuredContent.cards.map((it) => [it.capability, it.provisional]));
    assert.deepEqual(marks, { 'adp_shop.find': true, 'adp_shop.count': undefined, 'mcp_docs.page': true, 'mcp_docs.wipe': true });
    assert.match(content[0].text, /shop:find\S* \(tool, observe read_only \(provisional\)\)/);
    assert.match(content[0].text, /shop:count\S* \(tool, observe read_only\)/);
    assert.match(content[0].text, /docs:wipe\S* \(tool, act destructive \(provisional\)\)/);
  });

  test('in plan_check', async () => {
    const steps = ['shop:find', 'shop:count', 'docs:wipe'].map((tool_id) => ({ tool_id }));
    const { content, structuredContent } = await use('plan_check', { steps });
    assert.deepEqual(structuredContent.steps.map((it) => it.provisional), [true, undefined, true]);
    assert.match(content[0].text, /^1: shop:find ALLOWED read_only \(provisional\)\n2: shop:count ALLOWED read_only\n3: docs:wipe ALLOWED destructive \(provisional\)$/m);
  });

  test('in faults', async () => {
    const { client } = await world();
    const fault = async (server, name, args, more) => faultOf(await client.ask('tools/call', { name: 'tool_execute', arguments: { tool_id: `${server}:${name}`, args }, ...more })).details;
    assert.equal((await fault('shop', 'find', { n: 6 })).provisional, true);
    assert.equal((await fault('shop', 'count', { n: 6 })).provisional, undefined);
    assert.equal((await fault('docs', 'wipe', {}, { _meta: { 'toolgate/safetyMode': 'network' } })).provisional, true);
  });

  test('in toolgate plan check and govern decide', async () => {
    const { dir, cli } = await world();
    const plan = writeJson(path.join(dir, 'plan.json'), { steps: ['adp_shop.find', 'adp_shop.count', 'mcp_docs.wipe'].map((capability) => ({ capability })) });
    const text = await cli('plan', 'check', plan, '--governance', 'toolgate.yaml');
    assert.match(text, /^1 {2}adp_shop\.find {2}ALLOW {2}read_only {2}provisional .*\n2 {2}adp_shop\.count {2}ALLOW {2}read_only {2}\/.*\n3 {2}mcp_docs\.wipe {2}ALLOW {2}destructive {2}provisional /);
    const decided = (capability) => cli('govern', 'decide', '--governance', 'governance.json', JSON.stringify({ capability }), '--json').then(JSON.parse);
    assert.deepEqual([(await decided('adp_shop.find')).provisional, (await decided('adp_shop.count')).provisional], [true, undefined]);
  });

  test('in toolgate decisions', async () => {
    const { cli, recorded } = await world(), all = await recorded('decisions', 3);
    const of = (capability) => all.find((it) => it.decision.question.capability === capability);
    assert.deepEqual(['adp_shop.find', 'adp_shop.count', 'mcp_docs.page'].map((it) => of(it).decision.provisional), [true, undefined, true]);
    const list = await cli('decisions', 'list');
    assert.match(list, / adp_shop\.find \(provisional\)$/m);
    assert.match(list, / adp_shop\.count$/m);
    const [find, count] = [of('adp_shop.find').id, of('adp_shop.count').id];
    assert.match(await cli('decisions', 'show', find), /^modes .*, highest read_only \(provisional\)$/m);
    assert.match(await cli('decisions', 'show', count), /^modes .*, highest read_only$/m);
    assert.match(await cli('decisions', 'explain', find), /with the highest mode read_only \(provisional\)\.$/m);
    const stricter = writeJson(path.join((await world()).dir, 'stricter.json'), { ...GOVERNANCE, permissions: [] });
    assert.match(await cli('decisions', 'replay', '--rules', stricter), /ALLOW read_only \(provisional\) -> DENY PERMISSION_DENIED \(provisional\)/);
  });

  test('in toolgate calls and in envelopes', async () => {
    const { cli, recorded } = await world(), all = await recorded('calls', 3);
    const of = (capability) => all.find((it) => it.call.call.capability_id === capability);
    assert.deepEqual(['adp_shop.find', 'adp_shop.count', 'mcp_docs.page'].map((it) => of(it).call.call.metadata.provisional), [true, undefined, true]);
    assert.match(await cli('calls', 'list'), / adp_shop\.find \(provisional\) /);
    assert.match(await cli('calls', 'show', of('mcp_docs.page').id), / mcp_docs\.page \(provisional\) /);
    assert.doesNotMatch(await cli('calls', 'show', of('adp_shop.count').id), /provisional/);
  });

  test('in toolgate check, catalog and stats', async () => {
    const { cli } = await world();
    assert.match(await cli('check'), /^governance: 2 capabilities \(1 provisional\), .* tools of servers without an adapter are provisional$/m);
    const catalog = await cli('catalog');
    assert.match(catalog, /^ {2}tool +observe +read_only \(provisional\) +read_only +\d+ +shop:find#/m);
    assert.match(catalog, /^ {2}tool +observe +read_only +read_only +\d+ +shop:count#/m);
    assert.match(catalog, /^ {2}tool +act +destructive \(provisional\) +- +\d+ +docs:wipe#/m);
    const { items } = JSON.parse(await cli('catalog', '--json'));
    assert.deepEqual(items.map((it) => [it.name, it.approval_mode, it.provisional]).toSorted(),
      [['count', 'read_only', undefined], ['find', 'read_only', true], ['page', 'read_only', true], ['wipe', 'destructive', true]]);
    const { gateway } = await world();
    const stats = await cli('stats', '--governance', '--config', path.join(gateway.dir, 'toolgate.yaml'), '--mcp-config', path.join(gateway.dir, 'mcp.json'));
    assert.match(stats, /^adp_shop\.find \(provisional\) /m);
    assert.match(stats, /^adp_shop\.count +\d/m);
  });
});

test('without a governance file, the catalog has no approval modes', async (t) => {
  const cwd = tempDir(t);
  writeJson(path.join(cwd, 'toolgate.yaml'), { state_dir: 'none', servers: { docs: snapshot(t, { tools: [tool('wipe')] }) } });
  const { stdout } = await runToolgate(['catalog', '--json'], { cwd, env: { HOME: cwd } });
  assert.doesNotMatch(stdout, /provisional|approval_mode/);
});
