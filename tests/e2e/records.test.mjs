// SPDX-License-Identifier: Apache-2.0
// Records of governed calls when something fails: a killed gateway, a full disk, damaged files. And what the envelopes
// say about results.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { linesOf } from './lib/audit.mjs';
import { attributes, startCollector } from './lib/collector.mjs';
import { execute, faultOf, idOf } from './lib/meta.mjs';
import { onEnd, tempDir, until, writeJson } from './lib/process.mjs';
import { assertEnvelopes, GOVERNANCE, startShop, tool } from './lib/records.mjs';
import { accept, ASKABLE, form, handshakeServer, HttpCaller, inputRequired, SERVERS, text } from './lib/stateless.mjs';

const PRICED = fileURLToPath(new URL('./servers/priced.mjs', import.meta.url));

const withRecords = (records) => ({ ...GOVERNANCE, records });
const ADMIN = { admin: { listen: '127.0.0.1:0' } };
const metricOf = async (gateway, name) => {
  const [, url] = /readiness and metrics at (\S+)/.exec(gateway.log);
  const page = await (await fetch(new URL('/metrics', url.startsWith('http') ? url : `http://${url}`))).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(page)?.[1]);
};

describe('with on_failure: refuse', () => {
  for (const mode of ['gateway', 'direct'])
    test(`no record of an answered call is lost when the gateway is killed (${mode})`, async (t) => {
      const { as, gateway, lines } = await startShop(t, { mode, governance: withRecords({ on_failure: 'refuse' }) });
      const ann = await as('ann'), CALLS = 30;
      const id = mode === 'gateway' && await idOf(ann, 'shop', 'order');
      const order = (args) => mode === 'gateway' ? ann.call('tool_execute', { tool_id: id, args })
        : ann.ask('tools/call', { name: 'order', arguments: args }).catch((e) => assert.equal(e.data.error, 'ARG_CONSTRAINT_VIOLATION'));
      for (let i = 0; i < CALLS; i++) await order({ amount: i % 5 ? i : 101 });
      await gateway.kill();
      const decided = await lines('decisions', 'list'), ended = await lines('calls', 'list');
      assert.deepEqual([decided.length, ended.length], [CALLS, CALLS]);
      assert.equal(ended.filter((it) => it.call.result.status === 'denied').length, CALLS / 5);
    });

  test('calls are refused while the disk is full, and their decisions are recorded later', async (t) => {
    const seen = [];
    const shop = await shopServer({ order: () => seen.push('order') });
    const { as, gateway, recorded } = await startShop(t, { shop, config: ADMIN, governance: withRecords({ on_failure: 'refuse' }) });
    const ann = await as('ann'), limit = (bytes) => execFileSync('prlimit', ['--pid', String(gateway.pid), `--fsize=${bytes}:`]);
    await execute(ann, 'shop', 'order', { amount: 1 });
    limit(1);
    faultOf(await execute(ann, 'shop', 'order', { amount: 2 }), 'RECORDS_UNAVAILABLE');
    faultOf(await execute(ann, 'shop', 'order', { amount: 3 }), 'RECORDS_UNAVAILABLE');
    assert.equal(await metricOf(gateway, 'toolgate_records_failing'), 1);
    limit('unlimited');
    await until(async () => await metricOf(gateway, 'toolgate_records_failing') === 0, 'records are written again');
    assert.ok(!(await execute(ann, 'shop', 'order', { amount: 4 })).isError);
    assert.equal(seen.length, 2, 'a refused call does not reach its server');
    const calls = await recorded('calls', 3);
    assert.deepEqual(calls.map((it) => [it.call.call.args.amount, it.call.result.error?.code]), [[1, undefined], [2, 'RECORDS_UNAVAILABLE'], [4, undefined]]);
    assert.equal(await metricOf(gateway, 'toolgate_records_lost_total'), 0);
  });
});

test('with on_failure: continue, records wait in memory while the disk is full', async (t) => {
  const { as, gateway, recorded, lines } = await startShop(t), ann = await as('ann');
  const limit = (bytes) => execFileSync('prlimit', ['--pid', String(gateway.pid), `--fsize=${bytes}:`]);
  limit(1);
  for (let i = 0; i < 20; i++) assert.ok(!(await execute(ann, 'shop', 'order', { amount: i })).isError);
  assert.deepEqual(await lines('calls', 'list'), []);
  limit('unlimited');
  const calls = await recorded('calls', 20);
  assert.deepEqual(calls.map((it) => it.call.call.args.amount), Array.from({ length: 20 }, (_, i) => i));
  assert.equal((await recorded('decisions', 20)).length, 20);
});

test('the commands show the records of damaged files, and warn', async (t) => {
  const { as, cli, decisions, folder, gateway } = await startShop(t), ann = await as('ann');
  await execute(ann, 'shop', 'find', {});
  const [{ id }] = await decisions(1);
  await gateway.stop();
  const [name] = fs.readdirSync(folder), file = path.join(folder, name), whole = fs.readFileSync(file);
  const damaged = ['{"record":"decision","id":"pol_x"', 'no JSON', '\u0000\u0000', '{"record":"decision","id":3,"time":{}}'].join('\n');
  fs.writeFileSync(file, Buffer.concat([Buffer.from(damaged + '\n'), whole, Buffer.from([0xff, 0xfe, 0x0a]), Buffer.from('{"record":"deci')]));
  fs.symlinkSync('/etc/passwd', path.join(folder, '999999999999999999-00000000.jsonl'));
  fs.writeFileSync(path.join(folder, 'notes.txt'), 'not a record\n');
  for (const args of [['decisions', 'list'], ['decisions', 'show', id], ['decisions', 'explain', id], ['decisions', 'replay', '--rules', 'governance.json'], ['calls', 'list']]) {
    const r = await cli(...args);
    assert.equal(r.status, 0, r.stderr);
    assert.match(r.stderr, /warning: \d lines in \S+\/records are damaged/);
    assert.match(r.stdout, args[1] === 'replay' ? /^1 decisions: 1 the same/ : /find/);
  }
});

test('the commands read records while the oldest files are removed', async (t) => {
  const { as, cli, folder, gateway, lines } = await startShop(t, { governance: withRecords({ max_bytes: 1 << 20, on_failure: 'refuse' }) });
  const ann = await as('ann'), id = await idOf(ann, 'shop', 'order');
  const CALLS = 60, note = 'n'.repeat(12_000);  // two lines of 12 KB for each call, so 1.4 MB in all
  for (let i = 0; i < CALLS; i++) {
    await ann.call('tool_execute', { tool_id: id, args: { amount: i, note } });
    if (i % 10 === 9) assert.equal((await cli('decisions', 'list', '--limit', '1')).status, 0);
  }
  const amounts = (await lines('decisions', 'list', '--limit', '1000')).map((it) => it.decision.question.args.amount);
  assert.ok(amounts.length < CALLS && amounts.length > CALLS / 3, `${amounts.length} decisions`);
  assert.deepEqual(amounts, Array.from({ length: amounts.length }, (_, i) => CALLS - amounts.length + i));
  const bytes = fs.readdirSync(folder).reduce((sum, name) => sum + fs.statSync(path.join(folder, name)).size, 0);
  assert.ok(bytes <= (1 << 20) + (1 << 16), `${bytes} bytes`);
  assert.equal((await lines('calls', 'show', (await lines('calls', 'list', '--limit', '1'))[0].id)).length, 1);
  assert.ok(gateway.pid);
});

/** A server whose tools answer as `tools` says: name → function that gives a result, or anything else for "ok". */
async function shopServer(tools, definitions = {}) {
  const shop = await handshakeServer('stdio', { name: 'shop' });
  const own = (name) => ({ ...tool(name), ...definitions[name] });
  shop.on('tools/list', () => ({ tools: ['find', 'order'].map(own) }));
  shop.on('tools/call', ({ name, arguments: args }) => {
    const result = tools[name]?.(args);
    return result?.content ? result : text('ok');
  });
  return shop;
}

describe('a call that returns no result yet', () => {
  test('has no mutations, and its envelope names the task', async (t) => {
    const price = { name: 'price', class: 'act', approval_mode: 'destructive' };
    const governance = { ...GOVERNANCE,
      adapters: [{ ...GOVERNANCE.adapters[0], capabilities: [price] }],
      permissions: [{ permission_id: 'p', adapter_id: 'adp_shop', capability: 'price', allow: true }] };
    const { as, recorded } = await startShop(t, { mode: 'direct', governance, shop: { command: process.execPath, args: [PRICED] } });
    const ann = await as('ann');
    await ann.ask('tools/call', { name: 'price', arguments: { price: 5 }, task: { ttl: 60_000 } });
    await ann.ask('tools/call', { name: 'price', arguments: { price: 5 } });
    const [made, called] = (await recorded('calls', 2)).map(({ call }) => (assertEnvelopes(call), call.result));
    assert.deepEqual([made.metadata.pending, made.mutations, made.output_hash], ['task', [], null]);
    assert.deepEqual([called.metadata, called.mutations.length], [undefined, 1]);
  });

  test('has no mutations, and its envelope says that the server asks a question', async (t) => {
    const order = (args, { msg }) => msg.params.inputResponses ? text('ordered')
      : inputRequired({ name: { method: 'elicitation/create', params: form('Your name?') } }, 's');
    const shop = await SERVERS.stateless('http', { tools: { order } });
    const { gateway, recorded } = await startShop(t, { mode: 'direct', shop });
    const caller = new HttpCaller(gateway.url, { capabilities: ASKABLE, token: 'a'.repeat(32) });
    onEnd(t, () => caller.close());
    const { result } = await caller.call('order', { amount: 1 });
    await caller.call('order', { amount: 1 }, { requestState: result.requestState, inputResponses: { name: accept('Ann') } });
    const [asked, called] = (await recorded('calls', 2)).map(({ call }) => (assertEnvelopes(call), call.result));
    assert.deepEqual([asked.metadata.pending, asked.mutations], ['input_required', []]);
    assert.deepEqual([called.metadata, called.mutations.length], [undefined, 1]);
  });
});

describe('every decision', () => {
  test('has the same id in its record, the fault, the audit line, the span and the envelope', async (t) => {
    const collector = await startCollector(t), audit = path.join(tempDir(t), 'audit.jsonl');
    const { as, recorded, gateway } = await startShop(t, {
      governance: withRecords({ return_envelope: true }),
      config: { audit: { file: audit }, traces: { endpoint: collector.url } },
    });
    const ann = await as('ann');
    const allowed = await execute(ann, 'shop', 'order', { amount: 1 });
    const fault = faultOf(await execute(ann, 'shop', 'order', { amount: 500 }), 'ARG_CONSTRAINT_VIOLATION');
    const calls = await recorded('calls', 2), ids = (await recorded('decisions', 2)).map((it) => it.id);
    assert.deepEqual(calls.map((it) => it.call.result.policy_decision_id), ids);
    assert.equal(allowed._meta['toolgate/envelopes'].call.policy_decision_id, ids[0]);
    assert.equal(fault.details.decision_id, ids[1]);
    await gateway.stop();
    const governed = linesOf(audit).filter((it) => it.decision_id);
    assert.deepEqual(governed.map((it) => [it.decision_id, it.decision]), [[ids[0], 'ALLOW'], [ids[1], 'DENY']]);
    const spans = collector.spans.map(attributes).filter((it) => it.policy_decision_id);
    assert.deepEqual(spans.map((it) => it.policy_decision_id).toSorted(), ids.toSorted());
  });

  test('of access rules about a governed tool is recorded, and replayed by other access rules', async (t) => {
    const dir = tempDir(t), audit = path.join(dir, 'audit.jsonl');
    const rulesOf = (deny) => ({ agents: { ann: { allow: { servers: ['shop'], tools: { shop: ['*'] } }, ...deny } } });
    const rules = writeJson(path.join(dir, 'rules.json'), rulesOf({ deny: { tools: { shop: ['order'] } } }));
    const shop = await startShop(t, { mode: 'servers', config: { rules, audit: { file: audit } } }), ann = await shop.as('ann');
    const denied = await ann.ask('tools/call', { name: 'execute_tool', arguments: { server: 'shop', tool: 'order', args: { amount: 1 } } });
    assert.equal(denied._meta['io.toolgate/fault'], 'DENIED_BY_POLICY');
    const [record] = await shop.decisions(1), [{ call }] = await shop.recorded('calls', 1);
    assert.deepEqual([record.decision.allowed, record.decision.code, record.decision.pointer], [false, 'DENIED_BY_POLICY', '/agents/ann/deny/tools/shop/0']);
    assert.deepEqual(record.decision.governed.code, null);
    assertEnvelopes(call);
    assert.deepEqual([call.result.status, call.result.error.code], ['denied', 'DENIED_BY_POLICY']);
    assert.match((await shop.cli('decisions', 'explain', record.id)).stdout, /denied with DENIED_BY_POLICY, decided at \/agents\/ann\/deny\/tools\/shop\/0 of the access rules/);
    await shop.gateway.stop();
    assert.deepEqual(linesOf(audit).map((it) => it.decision_id).filter(Boolean), [record.id]);
    const replay = async (file, ...args) => JSON.parse((await shop.cli('decisions', 'replay', '--rules', file, '--json', ...args)).stdout);
    const open = writeJson(path.join(dir, 'open.json'), rulesOf()), governance = path.join(shop.dir, 'governance.json');
    assert.deepEqual((await replay(rules)).changed, []);
    assert.deepEqual((await replay(open)).changed.map((it) => [it.before.code, it.after.code, it.after.mode]), [['DENIED_BY_POLICY', 'ALLOWED', 'destructive']]);
    // Another governance file does not change what the access rules refuse.
    const none = writeJson(path.join(dir, 'none.json'), { ...GOVERNANCE, permissions: [] });
    assert.deepEqual((await replay(governance)).changed, []);
    assert.deepEqual((await replay(none)).changed, []);
    assert.deepEqual((await replay(open, '--governance', none)).changed.map((it) => it.after.code), ['PERMISSION_DENIED']);
  });

  test('is recorded if the call is refused later: by its arguments, a rate limit or the budget of its run', async (t) => {
    const shop = await shopServer({}, { order: { inputSchema: { type: 'object', properties: { amount: { type: 'integer' } } } } });
    const { as, recorded, decisions } = await startShop(t, {
      shop, config: { rate_limits: { tool_execute: { max_calls_per_minute: 3 } } },
      governance: { ...GOVERNANCE, context: { ...GOVERNANCE.context, defaults: { role: 'buyer', budget: { max_calls: 2 } } } },
    });
    const ann = await as('ann');
    faultOf(await execute(ann, 'shop', 'order', { amount: 'many' }), 'ARGS_INVALID');
    for (const code of [undefined, undefined, 'RUN_BUDGET_EXCEEDED', 'RATE_LIMITED']) {
      const result = await execute(ann, 'shop', 'order', { amount: 1 });
      if (code) faultOf(result, code);
    }
    const calls = await recorded('calls', 5), ids = (await decisions(5)).map((it) => it.id);
    for (const { call } of calls) assertEnvelopes(call);
    assert.deepEqual(calls.map((it) => it.call.result.policy_decision_id), ids);
    assert.deepEqual(calls.map(({ call: { result } }) => [result.status, result.error?.code, result.error?.retryable]), [
      ['failed', 'ARGS_INVALID', false], ['completed', undefined, undefined], ['completed', undefined, undefined],
      ['denied', 'RUN_BUDGET_EXCEEDED', false], ['failed', 'RATE_LIMITED', calls[4].call.result.error.retryable]]);
    for (const { call: { result } } of calls) if (result.error) assert.ok(result.error.remediation.length > 10);
  });
});

test('the envelopes of a completed call have its evidence, its mutations and its output', async (t) => {
  const order = () => ({
    content: [{ type: 'text', text: 'ordered' }], structuredContent: { order: { id: 'ord_881' }, receipt: 'r_1' },
    _meta: { 'contextos/mutations': [{ ref: 'stock/7', kind: 'update' }, { ref: 7, kind: 'burn' }] },
  });
  const [adapter] = GOVERNANCE.adapters, [find, act] = adapter.capabilities;
  const capability = { ...act, evidence: ['order.accepted', { name: 'receipt', pointer: '/structuredContent/receipt' }], mutations: [{ kind: 'create', pointer: '/structuredContent/order/id' }] };
  const { as, cli, recorded } = await startShop(t, {
    shop: await shopServer({ order }),
    governance: { ...GOVERNANCE, adapters: [{ ...adapter, capabilities: [find, capability] }], records: { return_envelope: true, output: 'full' } },
  });
  const result = await execute(await as('ann'), 'shop', 'order', { amount: 1 });
  const [{ id, call }] = await recorded('calls', 1), answered = result._meta['toolgate/envelopes'];
  assertEnvelopes(call);
  assertEnvelopes(answered);
  const mutations = [{ ref: 'ord_881', kind: 'create', source: 'result' }, { ref: 'stock/7', kind: 'update', source: 'server' }];
  for (const envelope of [call.result, answered.result]) {
    assert.deepEqual(envelope.mutations, mutations);
    assert.deepEqual(envelope.evidence_refs, ['order.accepted', 'receipt']);
    assert.deepEqual(envelope.metadata.evidence, { receipt: '/structuredContent/receipt' });
  }
  assert.deepEqual(call.result.output.structuredContent, order().structuredContent);
  assert.equal(answered.result.output, null);
  const shown = await cli('calls', 'show', id);
  assert.match(shown.stdout, /^mutations +\[\{"ref":"ord_881",/m);
  assert.match(shown.stdout, /^evidence +\["order\.accepted","receipt"\]$/m);
  assert.match(shown.stdout, /^output +\{"content":/m);
});
