// SPDX-License-Identifier: Apache-2.0
// Access rules and governance are one decision: for each call, `policy explain`, the fault, the audit line, the record
// and `govern decide` name the same rule, and what an agent sees is what it may call.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { linesOf } from './lib/audit.mjs';
import { runToolgate } from './lib/gateway.mjs';
import { open, startMeta } from './lib/meta.mjs';
import { tempDir, until, writeJson } from './lib/process.mjs';

const ORDERS = fileURLToPath(new URL('servers/orders.mjs', import.meta.url));
const AGENTS = ['ann', 'bob', 'eve'], SERVERS = ['orders', 'desk'], TOOLS = ['lookup', 'verify'];
const sha256 = (text) => crypto.createHash('sha256').update(text).digest('hex');
const tokenOf = (agent) => agent.repeat(12);

const RULES = {
  agents: {
    ann: { allow: { servers: ['orders', 'desk'], tools: { '*': ['*'] } } },
    bob: { allow: { servers: ['orders'], tools: { orders: ['*'] } }, deny: { tools: { orders: ['verify'] } } },
    eve: { allow: { servers: ['*'], tools: { '*': ['*'] } } },
  },
};
const adapter = (server, ...capabilities) => ({ adapter_id: `adp_${server}`, type: 'MCP', server, capabilities });
const permission = (permission_id, server, capability, more) => ({ permission_id, adapter_id: `adp_${server}`, capability, allow: true, ...more });
const GOVERNANCE = {
  adapters: [
    adapter('orders', { name: 'lookup', class: 'observe', approval_mode: 'read_only' }, { name: 'verify', class: 'act', approval_mode: 'destructive' }),
    adapter('desk', { name: 'lookup', class: 'verify', approval_mode: 'network' }, { name: 'verify', class: 'act', approval_mode: 'delegated' }),
  ],
  permissions: [
    permission('p_lookup', 'orders', 'lookup'),
    permission('p_verify', 'orders', 'verify', { roles: ['buyer'], arg_constraints: { amount: { max: 100 } } }),
    permission('p_desk', 'desk', 'lookup'),
    permission('p_desk_verify', 'desk', 'verify'),
    permission('p_no_trainee', 'desk', 'verify', { allow: false, roles: ['trainee'] }),
  ],
  bundles: [{
    bundle_id: 'b', policy_dsl: { language: 'jsonlogic', rules: [
      { rule_id: 'r_any', then: { allow: true } },
      { rule_id: 'r_trial', if: { and: [{ '==': [{ var: 'plan' }, 'trial'] }, { '==': [{ var: 'capability' }, 'adp_desk.lookup'] }] }, then: { allow: false } },
      { rule_id: 'r_large', if: { '>': [{ var: 'args.amount' }, 50] }, then: { allow: true, requires_approval_gate: 'LEAD' } },
      { rule_id: 'r_odd', if: { '==': [{ var: 'args.amount' }, 13] }, then: { allow: false } },
    ] },
    approval_gates: [{ gate_id: 'LEAD', required_approver_role: 'lead' }],
  }],
  context: { agents: { ann: { role: 'buyer' }, bob: { role: 'buyer' }, eve: { role: 'trainee', plan: 'trial' } } },
};
/** governance.permissions[0] for /permissions/0. */
const pathOf = (pointer) => `governance${pointer.replace(/\/(\d+)/g, '[$1]').replaceAll('/', '.')}`;

async function start(t, { rules = RULES } = {}) {
  const dir = tempDir(t), calls = path.join(dir, 'calls');
  fs.writeFileSync(calls, '');
  const config = {
    state_dir: path.join(dir, 'state'), governance: writeJson(path.join(dir, 'governance.json'), GOVERNANCE),
    rules: rules && writeJson(path.join(dir, 'rules.json'), rules), audit: { file: path.join(dir, 'audit.jsonl') },
    auth: { tokens: AGENTS.map((agent) => ({ sha256: sha256(tokenOf(agent)), agent })) },
  };
  if (!rules) delete config.rules;
  const servers = Object.fromEntries(SERVERS.map((name) => [name, { command: process.execPath, args: [ORDERS], env: { CALLS: calls } }]));
  writeJson(path.join(dir, 'toolgate.yaml'), { ...config, servers });  // for the commands
  const gateway = await startMeta(t, { mode: 'servers', config, servers });
  const clients = Object.fromEntries(await Promise.all(AGENTS.map(async (agent) =>
    [agent, await open(t, gateway, 'http', { headers: { authorization: `Bearer ${tokenOf(agent)}` } })])));
  const cli = async (...args) => JSON.parse((await runToolgate([...args, '--json'], { cwd: dir })).stdout);
  let count = 0;
  /** Makes a call, and returns what each of them says about it. */
  const call = async (agent, server, tool, args = {}) => {
    const result = await clients[agent].call('execute_tool', { server, tool, args });
    const lines = await until(() => {
      const all = linesOf(config.audit.file).filter((line) => line.operation === 'execute_tool');
      return all.length > count && all;
    }, 'the audit line');
    const audit = lines[count++];
    const record = audit.decision_id ? await until(async () => {
      const r = await runToolgate(['decisions', 'show', audit.decision_id, '--json'], { cwd: dir });
      return r.status === 0 && JSON.parse(r.stdout).decision;
    }, 'the record') : undefined;
    const explained = await cli('policy', 'explain', agent, server, tool);
    return { error: result.isError ? result.structuredContent.error : undefined, audit, record, explained };
  };
  const decide = async ({ question: { capability, args, context, mode } }) => (await runToolgate(
    ['govern', 'decide', '--governance', 'governance.json', JSON.stringify({ capability, args, context, mode })], { cwd: dir })).stdout;
  return { dir, calls, clients, cli, call, decide };
}

describe('one call has one rule', () => {
  test('an allowed call', async (t) => {
    const { call, decide } = await start(t);
    const { error, audit, record, explained } = await call('ann', 'orders', 'lookup');
    assert.equal(error, undefined);
    assert.deepEqual([audit.decision, audit.rule, audit.code], ['ALLOW', 'governance.permissions[0]', null]);
    assert.deepEqual([explained.decision, explained.rule, explained.pointer, explained.access_rule],
      ['ALLOW', audit.rule, record.pointer, 'agents.ann.allow.tools.*[0]']);
    assert.deepEqual([record.allowed, pathOf(record.pointer)], [true, audit.rule]);
    assert.match(await decide(record), /^ALLOW {2}read_only {2}\/permissions\/0 /);
  });

  test('a call that a constraint, a rule or a gate refuses', async (t) => {
    const { call, decide, calls } = await start(t);
    const cases = [
      [{ amount: 101 }, 'ARG_CONSTRAINT_VIOLATION', '/permissions/1/arg_constraints/amount', 'DENY'],
      [{ amount: 13 }, 'POLICY_DENIED', '/bundles/0/policy_dsl/rules/3', 'DENY'],
      [{ amount: 51 }, 'APPROVAL_REQUIRED', '/bundles/0/approval_gates/0', 'ERROR'],
    ];
    for (const [args, code, pointer, decision] of cases) {
      const { error, audit, record, explained } = await call('ann', 'orders', 'verify', args);
      assert.deepEqual([error.code, error.rule], [code, pathOf(pointer)]);
      assert.deepEqual([audit.decision, audit.rule, audit.code], [decision, pathOf(pointer), code]);
      assert.equal(record.pointer, pointer);
      assert.ok((await decide(record)).includes(`  ${pointer}  `), pointer);
      assert.deepEqual([explained.decision, explained.rule], ['ALLOW', 'governance.permissions[1]']);  // other arguments may pass
    }
    assert.equal(fs.readFileSync(calls, 'utf8'), '');
  });

  test('a tool that governance hides', async (t) => {
    const { call } = await start(t);
    const cases = [
      ['eve', 'orders', 'verify', 'PERMISSION_DENIED', '/permissions'],
      ['eve', 'desk', 'verify', 'PERMISSION_DENIED', '/permissions/4'],
      ['eve', 'desk', 'lookup', 'POLICY_DENIED', '/bundles/0/policy_dsl/rules/1'],
      ['ann', 'desk', 'verify', 'DELEGATION_REQUIRED', '/adapters/1/capabilities/1'],  // a token of a service
      ['ann', 'desk', 'none', 'CAPABILITY_UNKNOWN', '/adapters/1'],
    ];
    for (const [agent, server, tool, code, pointer] of cases) {
      const { error, audit, record, explained } = await call(agent, server, tool);
      assert.deepEqual([error.code, error.rule], ['DENIED_BY_POLICY', 'governance'], `${agent} ${server} ${tool}`);
      assert.deepEqual([record.allowed, record.code, record.pointer], [false, code, pointer]);
      assert.deepEqual([audit.decision, audit.rule], ['DENY', pathOf(pointer)]);
      if (code === 'DELEGATION_REQUIRED') continue;  // `policy explain` asks for the local user
      assert.deepEqual([explained.decision, explained.code, explained.rule, explained.pointer], ['DENY', code, audit.rule, pointer]);
    }
  });

  test('a tool that access rules deny', async (t) => {
    const { call } = await start(t);
    for (const [server, tool, rule] of [['orders', 'verify', 'agents.bob.deny.tools.orders[0]'], ['desk', 'lookup', 'agents.bob.allow.servers']]) {
      const { error, audit, record, explained } = await call('bob', server, tool);
      assert.deepEqual([error.code, error.rule], ['DENIED_BY_POLICY', rule]);
      assert.deepEqual([record.allowed, record.code, record.pointer], [false, 'DENIED_BY_POLICY', explained.pointer]);
      assert.deepEqual([audit.decision, audit.rule], ['DENY', rule]);
      assert.deepEqual([explained.decision, explained.rule, explained.code], ['DENY', rule, undefined]);
    }
  });

  test('without access rules, no rule of an agent is named', async (t) => {
    const { call } = await start(t, { rules: null });
    const { audit, explained } = await call('ann', 'orders', 'lookup');
    assert.deepEqual([audit.decision, audit.rule], ['ALLOW', 'governance.permissions[0]']);
    assert.deepEqual([explained.decision, explained.rule, 'access_rule' in explained], ['ALLOW', audit.rule, false]);
  });
});

test('an agent sees what it may call, and policy matrix shows the same', async (t) => {
  const { clients, dir } = await start(t);
  const { stdout } = await runToolgate(['policy', 'matrix', '--json'], { cwd: dir });
  const matrix = Object.fromEntries(stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line)).map((it) => [`${it.server}/${it.tool}`, it.agents]));
  for (const agent of AGENTS)
    for (const server of SERVERS) {
      const listed = await clients[agent].call('get_server_tools', { server });
      const seen = listed.isError ? [] : listed.structuredContent.tools.map((tool) => tool.name).sort();
      const allowed = [];
      for (const tool of TOOLS) {
        const decision = matrix[`${server}/${tool}`][agent];
        // The clients of this gateway have tokens, so they are no users: mode delegated is not for them.
        if (decision === 'ALLOW' && !(server === 'desk' && tool === 'verify')) allowed.push(tool);
        const result = await clients[agent].call('execute_tool', { server, tool, args: {} });
        assert.equal(!result.isError, seen.includes(tool), `${agent} ${server} ${tool}: ${JSON.stringify(result)}`);
      }
      assert.deepEqual(seen, allowed, `${agent} ${server}`);
    }
});

test('claims of a token change what policy explain answers', async (t) => {
  const dir = tempDir(t);
  const governance = { ...GOVERNANCE, context: { claims: { role: 'role' } } };
  writeJson(path.join(dir, 'toolgate.yaml'), { governance: writeJson(path.join(dir, 'governance.json'), governance) });
  const explain = async (...more) => {
    const r = await runToolgate(['policy', 'explain', 'ann', 'orders', 'verify', '--json', ...more], { cwd: dir });
    return [r.status, r.status === 2 || !r.stdout ? r.stderr : JSON.parse(r.stdout)];
  };
  const [status, without] = await explain();
  assert.deepEqual([status, without.decision, without.code], [1, 'DENY', 'PERMISSION_DENIED']);
  assert.match(without.remark, /--claims/);
  const [allowed, answer] = await explain('--claims', '{"sub":"u","role":"buyer"}');
  assert.deepEqual([allowed, answer.decision, answer.rule], [0, 'ALLOW', 'governance.permissions[1]']);
  for (const wrong of ['{', '[]', '{"role":"buyer"}', '{"sub":"u","act":{"sub":"x","act":{"sub":"x"}}}']) {
    const [code, text] = await explain('--claims', wrong);
    assert.equal(code, 1, wrong);
    assert.equal(typeof text, 'string');
  }
});

test('policy explain can read another governance file', async (t) => {
  const dir = tempDir(t), answer = async (...args) => {
    const { status, stdout, stderr } = await runToolgate(['policy', 'explain', ...args], { cwd: dir });
    return `${status} ${stdout}${stdout ? '' : stderr}`;
  };
  writeJson(path.join(dir, 'g.json'), GOVERNANCE);
  assert.match(await answer('ann', 'orders', 'verify', '--governance', 'g.json'), /^0 ALLOW {2}governance\.permissions\[1\] /);
  assert.match(await answer('eve', 'orders', 'verify', '--governance', 'g.json'), /^1 DENY {2}PERMISSION_DENIED {2}governance\.permissions /);
  assert.match(await answer('ann', '--method', 'vendor/x', '--governance', 'g.json'), /^1 DENY {2}CAPABILITY_UNKNOWN {2}governance\.adapters /);
  assert.match(await answer('ann', 'orders', '--governance', 'none.json'), /^3 /);
  writeJson(path.join(dir, 'pinned.json'), { ...GOVERNANCE, pins: 'enforce' });
  const pinned = await runToolgate(['policy', 'explain', 'ann', 'orders', 'lookup', '--governance', 'pinned.json'], { cwd: dir });
  assert.match(pinned.stderr, /unless the tool is quarantined/);
  assert.match(await answer('ann', 'orders'), /^3 /);
});
