// SPDX-License-Identifier: Apache-2.0
// The records of governed calls, and the commands that show them.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

import { ROOT, runToolgate } from './lib/gateway.mjs';
import { execute, faultOf, open, snapshot, startMeta } from './lib/meta.mjs';
import { tempDir, until, writeJson } from './lib/process.mjs';

const TOKENS = { ann: 'a'.repeat(32), bob: 'b'.repeat(32) };
const sha256 = (text) => crypto.createHash('sha256').update(text).digest('hex');
const tool = (name) => ({ name, description: `To ${name} goods.`, inputSchema: { type: 'object' } });

export const GOVERNANCE = {
  adapters: [{
    adapter_id: 'adp_shop', type: 'MCP', server: 'shop', capabilities: [
      { name: 'find', class: 'observe', approval_mode: 'read_only' },
      { name: 'order', class: 'act', approval_mode: 'network' },
    ],
  }],
  permissions: [
    { permission_id: 'p_find', adapter_id: 'adp_shop', capability: 'find', allow: true },
    { permission_id: 'p_order', adapter_id: 'adp_shop', capability: 'order', allow: true, roles: ['buyer'], arg_constraints: { amount: { required: true, max: 100 } } },
  ],
  context: { defaults: { role: 'buyer' }, agents: { ann: { tenant: 'acme' }, bob: { tenant: 'globex' } } },
};

/** A gateway with records, a client for each agent, and `toolgate` in its folder. */
async function startShop(t, { governance = GOVERNANCE, ...options } = {}) {
  const dir = tempDir(t);
  const file = writeJson(path.join(dir, 'governance.json'), governance);
  const tokens = Object.entries(TOKENS).map(([agent, token]) => ({ sha256: sha256(token), agent }));
  const config = { state_dir: path.join(dir, 'state'), governance: file, auth: { tokens } };
  writeJson(path.join(dir, 'toolgate.yaml'), config);  // for the commands
  const gateway = await startMeta(t, { config, servers: { shop: snapshot(t, { tools: [tool('find'), tool('order')] }) }, ...options });
  const as = (agent) => open(t, gateway, 'http', { headers: { authorization: `Bearer ${TOKENS[agent]}` } });
  const cli = (...args) => runToolgate(args, { cwd: dir });
  const lines = async (...args) => {
    const r = await cli(...args, '--json');
    assert.equal(r.status, 0, r.stderr);
    return r.stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
  };
  /** Waits until there are so many decisions. */
  const decisions = (count, ...args) => until(async () => {
    const found = await lines('decisions', 'list', ...args);
    return found.length >= count && found;
  }, `${count} decisions`);
  return { dir, gateway, as, cli, lines, decisions };
}

describe('decisions', () => {
  test('list and show print recorded decisions while the gateway runs and afterwards', async (t) => {
    const { as, cli, decisions, gateway } = await startShop(t), ann = await as('ann');
    await execute(ann, 'shop', 'find', {});
    const fault = faultOf(await execute(ann, 'shop', 'order', { amount: 500 }), 'ARG_CONSTRAINT_VIOLATION');
    const found = await decisions(2);
    assert.deepEqual(found.map((it) => [it.decision.question.capability, it.decision.code]), [['adp_shop.find', null], ['adp_shop.order', 'ARG_CONSTRAINT_VIOLATION']]);
    assert.equal(found[1].id, fault.details.decision_id);
    const text = await cli('decisions', 'list');
    assert.match(text.stdout, /^\S+Z {2}pol_\w+ {2}ALLOW {2}read_only {2}ann {2}adp_shop\.find\n\S+Z {2}pol_\w+ {2}DENY {2}ARG_CONSTRAINT_VIOLATION {2}ann {2}adp_shop\.order\n$/);
    await gateway.stop();
    const shown = await cli('decisions', 'show', fault.details.decision_id);
    assert.equal(shown.status, 0, shown.stderr);
    assert.match(shown.stdout, /^arguments +\{"amount":500\}$/m);
    assert.match(shown.stdout, /^matched +\/permissions\/1 {2}p_order$/m);
    assert.match(shown.stdout, /^violated +amount {2}max$/m);
    const json = JSON.parse((await cli('decisions', 'show', fault.details.decision_id, '--json')).stdout);
    assert.deepEqual(json, found[1]);
  });

  test('a filter leaves out the records of other tenants, agents and times', async (t) => {
    const { as, cli, decisions } = await startShop(t), ann = await as('ann'), bob = await as('bob');
    await execute(ann, 'shop', 'find', {});
    await execute(bob, 'shop', 'find', {});
    await execute(bob, 'shop', 'order', { amount: 1 });
    const all = await decisions(3);
    const tenants = async (...args) => (await decisions(0, ...args)).map((it) => it.decision.tenant);
    assert.deepEqual(await tenants('--tenant', 'acme'), ['acme']);
    assert.deepEqual(await tenants('--agent', 'bob'), ['globex', 'globex']);
    assert.deepEqual(await tenants('--tenant', 'acme', '--agent', 'bob'), []);
    assert.deepEqual(await tenants('--limit', '2'), ['globex', 'globex']);
    assert.deepEqual(await tenants('--since', '2026-01-01'), ['acme', 'globex', 'globex']);
    assert.deepEqual(await tenants('--since', '2999-01-01'), []);
    // The id of a record of another tenant is not found.
    assert.equal((await cli('decisions', 'show', all[0].id, '--tenant', 'acme')).status, 0);
    const foreign = await cli('decisions', 'show', all[0].id, '--tenant', 'globex');
    assert.deepEqual([foreign.status, foreign.stdout], [1, '']);
  });

  test('check says where decisions are recorded, or why they are not', async (t) => {
    const { cli, dir } = await startShop(t);
    writeJson(path.join(dir, '.mcp.json'), { mcpServers: { shop: snapshot(t, { tools: [tool('find')] }) } });
    assert.match((await cli('check')).stdout, /^records: \S+state\/records, for 30 days, with arguments; /m);
    assert.equal(JSON.parse((await cli('check', '--json')).stdout).records.enabled, true);
    const config = JSON.parse(fs.readFileSync(path.join(dir, 'toolgate.yaml'), 'utf8'));
    writeJson(path.join(dir, 'toolgate.yaml'), { ...config, state_dir: 'none' });
    assert.match((await cli('check')).stdout, /^records: off; state_dir /m);
  });

  test('the files can be read by their owner only', async (t) => {
    const { as, decisions, dir } = await startShop(t);
    await execute(await as('ann'), 'shop', 'find', {});
    await decisions(1);
    const folder = path.join(dir, 'state/records'), [file] = fs.readdirSync(folder);
    assert.equal(fs.statSync(folder).mode & 0o077, 0);
    assert.equal(fs.statSync(path.join(folder, file)).mode & 0o777, 0o600);
  });

  test('wrong options and a configuration without state have their own exit codes', async (t) => {
    const { cli } = await startShop(t);
    for (const args of [[], ['list', '--limit', '0'], ['list', '--since', 'soon'], ['list', 'x'], ['show'], ['judge']])
      assert.equal((await cli('decisions', ...args)).status, 2, args.join(' '));
    assert.equal((await cli('decisions', 'show', 'pol_0')).status, 1);
    const stateless = tempDir(t);
    writeJson(path.join(stateless, 'toolgate.yaml'), { state_dir: 'none' });
    assert.equal((await runToolgate(['decisions', 'list'], { cwd: stateless })).status, 3);
    assert.deepEqual((await runToolgate(['decisions', 'list', '--json'], { cwd: tempDir(t) })).stdout, '');
  });
});

describe('explain and replay', () => {
  const replay = async (cli, dir, governance, ...args) => {
    const file = writeJson(path.join(dir, 'new.json'), governance);
    const r = await cli('decisions', 'replay', '--rules', file, '--json', ...args);
    return { status: r.status, stderr: r.stderr, ...(r.stdout && JSON.parse(r.stdout)) };
  };
  const withPermission = (change) => ({ ...GOVERNANCE, permissions: GOVERNANCE.permissions.map((it) => (it.permission_id === 'p_order' ? { ...it, ...change } : it)) });

  test('explain says what was asked, what matched and why', async (t) => {
    const { as, cli, decisions, dir } = await startShop(t);
    faultOf(await execute(await as('ann'), 'shop', 'order', { amount: 500 }), 'ARG_CONSTRAINT_VIOLATION');
    const [{ id }] = await decisions(1);
    const { status, stdout } = await cli('decisions', 'explain', id);
    assert.equal(status, 0);
    for (const part of [/^Agent ann \(tenant acme\) called tool order of server shop with \{"amount":500\}\.$/m, /^Permission p_order matched \(\/permissions\/1\)\.$/m,
      /^Argument amount violates the constraint max \(/m, /^The call is denied with ARG_CONSTRAINT_VIOLATION, decided at \/permissions\/1\/arg_constraints\/amount\.$/m,
      /^To be allowed: correct /m, /^The governance file has not changed/m]) assert.match(stdout, part);
    writeJson(path.join(dir, 'governance.json'), withPermission({ arg_constraints: {} }));
    assert.match((await cli('decisions', 'explain', id)).stdout, /^The governance file has changed/m);
    assert.equal((await cli('decisions', 'explain', 'pol_0')).status, 1);
  });

  test('replay has the marks of the flow guard that the run had', async (t) => {
    const marked = { ...GOVERNANCE, adapters: [{ ...GOVERNANCE.adapters[0], capabilities: [
      { ...GOVERNANCE.adapters[0].capabilities[0], flow: ['reads_private', 'untrusted_input'] },
      { ...GOVERNANCE.adapters[0].capabilities[1], flow: ['sends_out'] }] }] };
    const { as, cli, decisions, dir } = await startShop(t, { governance: marked }), ann = await as('ann');
    await execute(ann, 'shop', 'find', {});
    faultOf(await execute(ann, 'shop', 'order', { amount: 1 }), 'FLOW_DENIED');
    const [, denied] = (await decisions(2)).toSorted((a, b) => a.decision.allowed < b.decision.allowed ? 1 : -1);
    assert.equal(denied.decision.code, 'FLOW_DENIED');
    assert.deepEqual(denied.decision.question.flow, ['reads_private', 'untrusted_input']);
    const { same } = await replay(cli, dir, marked);
    assert.equal(same, 2);
    const { changed } = await replay(cli, dir, { ...marked, flow: 'off' });
    assert.equal(changed.length, 1);
  });

  test('replay by the same file changes nothing, and by another file prints what would change', async (t) => {
    const { as, cli, decisions, dir, gateway } = await startShop(t), ann = await as('ann');
    for (const amount of [1, 60, 500]) await execute(ann, 'shop', 'order', { amount });
    await execute(await as('bob'), 'shop', 'find', {});
    const recorded = await decisions(4);
    await gateway.stop();
    assert.deepEqual(await replay(cli, dir, GOVERNANCE), { status: 0, stderr: '', decisions: 4, same: 4, changed: [], undecided: [] });
    const lower = await replay(cli, dir, withPermission({ arg_constraints: { amount: { max: 50 } } }));
    assert.equal(lower.status, 1);
    assert.deepEqual(lower.changed.map((it) => [it.id, it.before.code, it.after.code]), [[recorded[1].id, 'ALLOWED', 'ARG_CONSTRAINT_VIOLATION']]);
    const none = await replay(cli, dir, withPermission({ allow: false }));
    assert.deepEqual(none.changed.map((it) => it.after.code), ['PERMISSION_DENIED', 'PERMISSION_DENIED', 'PERMISSION_DENIED']);
    assert.equal((await replay(cli, dir, withPermission({ allow: false }), '--tenant', 'globex')).status, 0);
    assert.equal((await replay(cli, dir, withPermission({ allow: false }), '--since', '2999-01-01')).decisions, 0);
    const text = await cli('decisions', 'replay', '--rules', path.join(dir, 'new.json'));
    assert.match(text.stdout, /^\S+Z {2}pol_\w+ {2}ann {2}shop\.order {2}ALLOW network -> DENY PERMISSION_DENIED {2}\/permissions\/1$/m);
    assert.match(text.stdout, /^4 decisions: 1 the same, 3 changed, 0 cannot be decided$/m);
  });

  test('replay uses the contexts of agents in the new file', async (t) => {
    const { as, cli, decisions, dir } = await startShop(t);
    await execute(await as('ann'), 'shop', 'order', { amount: 1 });
    await decisions(1);
    const other = { ...GOVERNANCE, context: { ...GOVERNANCE.context, agents: { ...GOVERNANCE.context.agents, ann: { tenant: 'acme', role: 'visitor' } } } };
    assert.deepEqual((await replay(cli, dir, other)).changed.map((it) => it.after.code), ['PERMISSION_DENIED']);
  });

  test('replay applies access rules', async (t) => {
    const { as, cli, decisions, dir } = await startShop(t);
    await execute(await as('ann'), 'shop', 'order', { amount: 1 });
    await execute(await as('bob'), 'shop', 'order', { amount: 1 });
    await decisions(2);
    const rules = { agents: { ann: { allow: { servers: ['shop'], tools: { '*': ['*'] } } }, bob: { allow: { servers: ['shop'], tools: { '*': ['*'] } }, deny: { tools: { shop: ['order'] } } } } };
    const { status, changed } = await replay(cli, dir, rules);
    assert.equal(status, 1);
    assert.deepEqual(changed.map((it) => [it.agent, it.after.code, it.after.pointer]), [['bob', 'DENIED_BY_POLICY', '/agents/bob/deny/tools/shop/0']]);
  });

  test('replay says which decisions it cannot decide', async (t) => {
    const { as, cli, decisions, dir } = await startShop(t, { governance: { ...GOVERNANCE, records: { arguments: 'digest' } } });
    await execute(await as('ann'), 'shop', 'order', { amount: 1 });
    const [{ id }] = await decisions(1);
    const { status, undecided, changed } = await replay(cli, dir, withPermission({ allow: false }));
    assert.deepEqual([status, changed, undecided.map((it) => it.id)], [3, [], [id]]);
    assert.match(undecided[0].reason, /digest/);
    assert.equal((await cli('decisions', 'replay')).status, 2);
    assert.equal((await cli('decisions', 'replay', '--rules', path.join(dir, 'none.json'))).status, 3);
    assert.equal((await replay(cli, dir, { adapter: [] })).status, 3);
  });
});

describe('calls', () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  (addFormats.default ?? addFormats)(ajv);
  const schemas = Object.fromEntries(['call', 'result'].map((kind) =>
    [kind, ajv.compile(JSON.parse(fs.readFileSync(path.join(ROOT, `data/schemas/contextos.tool_${kind}.v1.json`), 'utf8')))]));
  const assertValid = (kind, envelope) => assert.ok(schemas[kind](envelope), ajv.errorsText(schemas[kind].errors));

  test('both envelopes of a call match their schemas and name the decision', async (t) => {
    const { as, cli, lines, decisions } = await startShop(t), ann = await as('ann');
    await execute(ann, 'shop', 'find', {});
    await execute(ann, 'shop', 'order', { amount: 1, idempotency_key: 'ik_1' });
    faultOf(await execute(ann, 'shop', 'order', { amount: 500 }), 'ARG_CONSTRAINT_VIOLATION');
    const decided = await decisions(3);
    const calls = await until(async () => {
      const found = await lines('calls', 'list');
      return found.length >= 3 && found;
    }, 'three calls');
    for (const { call } of calls) for (const kind of ['call', 'result']) assertValid(kind, call[kind]);
    assert.deepEqual(calls.map((it) => it.call.result.status), ['completed', 'completed', 'denied']);
    assert.deepEqual(calls.map((it) => it.call.call.policy_decision_id), decided.map((it) => it.id));
    assert.deepEqual(calls.map((it) => it.id), decided.map((it) => it.call_id));
    assert.equal(calls[1].call.call.idempotency_key, 'ik_1');
    assert.deepEqual(calls[1].call.call.principal_chain.at(-1), { kind: 'agent', id: 'ann', tenant_id: 'acme' });
    assert.match((await cli('calls', 'list')).stdout, /^(\S+Z {2}tool_\w{16} {2}(completed|denied) {2}ann {2}adp_shop\.\w+ {2}[\d.]+ ms\n){3}$/);
    const shown = await cli('calls', 'show', calls[2].id);
    assert.match(shown.stdout, /^error +ARG_CONSTRAINT_VIOLATION$/m);
    assert.match(shown.stdout, /^remediation +correct /m);
    assert.equal((await cli('calls', 'show', calls[2].id, '--tenant', 'globex')).status, 1);
  });

  test('an answer has the envelopes if the governance file asks for them', async (t) => {
    const { as } = await startShop(t, { governance: { ...GOVERNANCE, records: { return_envelope: true } } }), ann = await as('ann');
    for (const amount of [1, 500]) {
      const result = await execute(ann, 'shop', 'order', { amount }), both = result._meta['toolgate/envelopes'];
      for (const kind of ['call', 'result']) assertValid(kind, both[kind]);
      assert.equal(both.result.status, amount === 1 ? 'completed' : 'denied');
      assert.equal(both.result.tool_call_id, both.call.tool_call_id);
    }
  });
});
