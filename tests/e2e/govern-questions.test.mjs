// SPDX-License-Identifier: Apache-2.0
// Questions to `toolgate govern decide` and plans to `toolgate plan check`, with the answers that the specification
// gives, byte for byte: every code, every row of the matrix of modes (M01, M02), every value of the constraints (C01).
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { describe, test } from 'node:test';

import { toolgate } from './lib/gateway.mjs';
import { tempDir, writeJson } from './lib/process.mjs';

const PAY = 'adp_payments', KEY = 'ik_2x9k4j7m1q8w0p3z';
const capability = (name, kind, approval_mode, more) => ({ name, class: kind, approval_mode, ...more });
const permission = (permission_id, name, more) => ({ permission_id, adapter_id: PAY, capability: name, allow: true, ...more });
const rule = (rule_id, condition, then, more) => ({ rule_id, ...(condition === undefined ? {} : { if: condition }), then: { allow: true, ...then }, ...more });
const over = (amount) => ({ '>': [{ var: 'args.amount' }, amount] });

const GOVERNANCE = {
  adapters: [{
    adapter_id: PAY, type: 'MCP', server: 'payments', owner: 'payments-team',
    capabilities: [
      capability('issue_refund', 'act', 'destructive', { scopes: ['refund'], domain: 'payments' }),
      capability('book', 'act', 'delegated'),
      capability('note', 'act', 'local_write'),
      capability('find', 'observe', 'read_only'),
      capability('check', 'verify', 'network'),
      capability('close', 'act', 'destructive'),
    ],
  }],
  permissions: [
    permission('p_refund', 'issue_refund', { roles: ['agent'], approval_mode: 'destructive', arg_constraints: {
      amount_inr: { min: 1, max: 50000 }, currency: { enum: ['INR'] }, idempotency_key: { required: true, pattern: '^ik_[a-z0-9]{16}$' },
    } }),
    permission('p_book', 'book', { intents: ['travel', 'lower'], environments: ['prod'], tenants: ['acme'], arg_constraints: { nights: { max: 30 } } }),
    permission('p_book_short', 'book', { roles: ['trainee'], approval_mode: 'network', arg_constraints: { nights: { max: 3 } } }),
    permission('p_no_note', 'note', { allow: false, roles: ['intern'] }),
    permission('p_note', 'note'),
    permission('p_find', 'find'),
    permission('p_check', 'check'),
    permission('p_close', 'close'),
  ],
  bundles: [
    { bundle_id: 'late', priority: 20, policy_dsl: { language: 'jsonlogic', rules: [
      rule('r_any', { in: [{ var: 'role' }, ['agent', 'trainee', 'intern', 'lead']] }),
      rule('r_bad', { '==': [{ var: 'user.id' }, 'mallory'] }, { allow: false }),
    ] }, approval_gates: [{ gate_id: 'GATE_FINANCE', required_approver_role: 'finance' }, { gate_id: 'GATE_NIGHT', required_approver_role: 'duty', when: { var: 'run.night' } }] },
    { bundle_id: 'early', priority: 10, policy_dsl: { language: 'jsonlogic', rules: [
      rule('r_lower', { '<': [{ var: 'args.amount' }, 1000] }, { approval_mode: 'delegated' }, { applies_to: { intent: 'lower' } }),
      rule('r_read', undefined, { approval_mode: 'read_only' }, { applies_to: { intent: 'read' } }),
      rule('r_raise', undefined, { approval_mode: 'destructive' }, { applies_to: { intent: 'raise' } }),
      rule('r_gate', over(3000), { requires_approval_gate: 'GATE_FINANCE', arg_constraints: { amount: { max: 3000, unless_approved: true }, currency: { enum: ['INR'] } } },
        { applies_to: { intent: 'gate' } }),
      rule('r_ungated', over(3000), { arg_constraints: { amount: { max: 3000, unless_approved: true } } }, { applies_to: { intent: 'ungated' } }),
    ] } },
  ],
};

const no = (code, highest, rules, more = {}) => ({ code, highest, rules, ...more });
const yes = (effective, highest, rules, more = {}) => ({ effective, highest, rules, ...more });
const LEAD = { role: 'lead' };

/** [what, question, answer] */
const QUESTIONS = [
  // 1. the capability
  ['an unknown capability', { capability: `${PAY}.pay` }, no('CAPABILITY_UNKNOWN', null, [])],
  ['an unknown adapter', { capability: 'other.find', mode: 'admin' }, no('CAPABILITY_UNKNOWN', null, [], { requested: 'admin' })],
  ['a name without an adapter', { capability: 'find' }, no('CAPABILITY_UNKNOWN', null, [])],
  // 2. permissions
  ['no permission for the role', { capability: `${PAY}.issue_refund`, context: LEAD }, no('PERMISSION_DENIED', 'destructive', [])],
  ['no role at all', { capability: `${PAY}.issue_refund` }, no('PERMISSION_DENIED', 'destructive', [])],
  ['a denying permission wins', { capability: `${PAY}.note`, context: { role: 'intern' } }, no('PERMISSION_DENIED', 'local_write', ['p_no_note', 'p_note'])],
  ['another tenant', { capability: `${PAY}.book`, context: { ...LEAD, intent: 'travel', environment: 'prod', tenant: 'globex' } }, no('PERMISSION_DENIED', 'delegated', [])],
  ['another environment', { capability: `${PAY}.book`, context: { ...LEAD, intent: 'travel', environment: 'dev', tenant: 'acme' } }, no('PERMISSION_DENIED', 'delegated', [])],
  ['another intent', { capability: `${PAY}.book`, context: { ...LEAD, intent: 'other', environment: 'prod', tenant: 'acme' } }, no('PERMISSION_DENIED', 'delegated', [])],
  ['all of them', { capability: `${PAY}.book`, context: { ...LEAD, intent: 'travel', environment: 'prod', tenant: 'acme' } }, yes('delegated', 'delegated', ['p_book', 'r_any'])],
  ['a permission comes before the mode', { capability: `${PAY}.issue_refund`, mode: 'admin' }, no('PERMISSION_DENIED', 'destructive', [], { requested: 'admin' })],
  // 3. bundles
  ['no rule matches', { capability: `${PAY}.check`, context: { role: 'guest' } }, no('POLICY_DENIED', 'network', ['p_check'])],
  ['no rule matches, but the capability only reads', { capability: `${PAY}.find`, context: { role: 'guest' } }, yes('read_only', 'read_only', ['p_find'])],
  ['a rule denies', { capability: `${PAY}.find`, context: { ...LEAD, user: { id: 'mallory' } } }, no('POLICY_DENIED', 'read_only', ['p_find', 'r_any', 'r_bad'])],
  ['a denying rule comes before the mode', { capability: `${PAY}.find`, mode: 'destructive', context: { user: { id: 'mallory' } } }, no('POLICY_DENIED', 'read_only', ['p_find', 'r_bad'], { requested: 'destructive' })],
  // 4. the mode; M02 has eight rows
  ['M02.1 no rule names a mode', { capability: `${PAY}.close`, context: LEAD }, yes('destructive', 'destructive', ['p_close', 'r_any'])],
  ['M02.2 a rule lowers', { capability: `${PAY}.close`, args: { amount: 500 }, context: { ...LEAD, intent: 'lower' } }, yes('delegated', 'destructive', ['p_close', 'r_lower', 'r_any'])],
  ['M02.3 the rule does not match', { capability: `${PAY}.close`, args: { amount: 4200 }, context: { ...LEAD, intent: 'lower' } }, yes('destructive', 'destructive', ['p_close', 'r_any'])],
  ['M02.4 a request alone does not lower', { capability: `${PAY}.close`, mode: 'delegated', context: LEAD }, yes('destructive', 'destructive', ['p_close', 'r_any'], { requested: 'delegated' })],
  ['M02.5 a request below the rule', { capability: `${PAY}.close`, args: { amount: 1 }, mode: 'network', context: { ...LEAD, intent: 'lower' } }, yes('delegated', 'destructive', ['p_close', 'r_lower', 'r_any'], { requested: 'network' })],
  ['M02.6 a rule above the maximum', { capability: `${PAY}.check`, context: { ...LEAD, intent: 'raise' } }, no('MODE_RAISE_FORBIDDEN', 'network', ['p_check', 'r_raise', 'r_any'])],
  ['M02.7 a request above the maximum', { capability: `${PAY}.note`, mode: 'destructive', context: LEAD }, no('MODE_EXCEEDS_MAXIMUM', 'local_write', ['p_note', 'r_any'], { requested: 'destructive' })],
  ['M02.8 the ceiling of the run', { capability: `${PAY}.book`, context: { ...LEAD, intent: 'travel', environment: 'prod', tenant: 'acme', safety_mode: 'network' } }, no('MODE_ABOVE_RUN_CEILING', 'delegated', ['p_book', 'r_any'], { effective: 'delegated' })],
  ['M01 network, above read_only', { capability: `${PAY}.find`, mode: 'network', context: LEAD }, no('MODE_EXCEEDS_MAXIMUM', 'read_only', ['p_find', 'r_any'], { requested: 'network' })],
  ['a mode outside the taxonomy', { capability: `${PAY}.find`, mode: 'admin', context: LEAD }, no('MODE_INVALID', 'read_only', ['p_find', 'r_any'], { requested: 'admin' })],
  ['a request above the rule', { capability: `${PAY}.close`, args: { amount: 1 }, mode: 'destructive', context: { ...LEAD, intent: 'lower' } }, yes('destructive', 'destructive', ['p_close', 'r_lower', 'r_any'], { requested: 'destructive' })],
  ['above the lowest permission', { capability: `${PAY}.book`, context: { role: 'trainee', intent: 'travel', environment: 'prod', tenant: 'acme' } }, no('MODE_EXCEEDS_MAXIMUM', 'delegated', ['p_book', 'p_book_short', 'r_any'], { effective: 'delegated' })],
  ['an act that a rule makes read_only', { capability: `${PAY}.close`, context: { ...LEAD, intent: 'read' } }, no('CLASS_MODE_CONFLICT', 'destructive', ['p_close', 'r_read', 'r_any'], { effective: 'read_only' })],
  ['a verification that a rule makes read_only', { capability: `${PAY}.check`, context: { ...LEAD, intent: 'read' } }, yes('read_only', 'network', ['p_check', 'r_read', 'r_any'])],
  ['the ceiling comes before the class', { capability: `${PAY}.close`, context: { ...LEAD, safety_mode: 'read_only' } }, no('MODE_ABOVE_RUN_CEILING', 'destructive', ['p_close', 'r_any'], { effective: 'destructive' })],
  // 5. constraints and gates
  ['constraints of a rule and its gate', { capability: `${PAY}.close`, args: { amount: 4200, currency: 'INR' }, context: { ...LEAD, intent: 'gate' } }, yes('destructive', 'destructive', ['p_close', 'r_gate', 'r_any'], { gate: 'GATE_FINANCE' })],
  ['a gate waives only its own constraints', { capability: `${PAY}.close`, args: { amount: 4200, currency: 'USD' }, context: { ...LEAD, intent: 'gate' } },
    no('ARG_CONSTRAINT_VIOLATION', 'destructive', ['p_close', 'r_gate', 'r_any'], { effective: 'destructive', violations: ['currency enum'] })],
  ['nobody can approve', { capability: `${PAY}.close`, args: { amount: 4200 }, context: { ...LEAD, intent: 'ungated' } },
    no('ARG_CONSTRAINT_VIOLATION', 'destructive', ['p_close', 'r_ungated', 'r_any'], { effective: 'destructive', violations: ['amount max'] })],
  ['a gate by its own condition', { capability: `${PAY}.find`, context: { ...LEAD, run: { night: true } } }, yes('read_only', 'read_only', ['p_find', 'r_any'], { gate: 'GATE_NIGHT' })],
  ['constraints of two permissions add up', { capability: `${PAY}.book`, args: { nights: 31 }, mode: 'network', context: { role: 'trainee' } },
    no('MODE_EXCEEDS_MAXIMUM', 'delegated', ['p_book_short', 'r_any'], { effective: 'delegated', requested: 'network' })],
];

const AGENT = { role: 'agent', scopes: ['refund'] };
const GOOD = { order_id: 'ord_881', amount_inr: 4200, currency: 'INR', idempotency_key: KEY };
/** C01: [arguments, violations] of the permission for refunds. */
const REFUNDS = [
  [GOOD, []],
  [{ ...GOOD, amount_inr: 0 }, ['amount_inr min']],
  [{ ...GOOD, amount_inr: 50001 }, ['amount_inr max']],
  [{ ...GOOD, amount_inr: 50000 }, []],
  [{ ...GOOD, amount_inr: 1 }, []],
  [{ ...GOOD, amount_inr: '4200' }, ['amount_inr type']],
  [{ ...GOOD, amount_inr: null }, []],
  [{ ...GOOD, currency: 'USD' }, ['currency enum']],
  [{ ...GOOD, idempotency_key: undefined }, ['idempotency_key required']],
  [{ ...GOOD, idempotency_key: null }, ['idempotency_key required']],
  [{ ...GOOD, idempotency_key: 'ik_2X9k4j7m1q8w0p3z' }, ['idempotency_key pattern']],
  [{ ...GOOD, idempotency_key: 'ik_2x9k4j7m1q8w0p3' }, ['idempotency_key pattern']],
  [{ ...GOOD, idempotency_key: 'ik_2x9k4j7m1q8w0p3z7' }, ['idempotency_key pattern']],
  [{ ...GOOD, idempotency_key: `${KEY}\n` }, ['idempotency_key pattern']],
  [{ ...GOOD, amount_inr: 0, currency: 'USD' }, ['amount_inr min', 'currency enum']],
];

/** The line that answers: its keys are in this order. */
function line({ code, requested = null, effective = null, highest, gate, rules, violations = [] }) {
  return JSON.stringify({
    allowed: code === undefined, code, mode_requested: requested, mode_effective: effective, mode_highest: highest, gate, rules,
    violations: violations.map((it) => ({ path: it.split(' ')[0], constraint: it.split(' ')[1] })),
  });
}

const run = (args, options = {}) => spawnSync(toolgate(), args, { encoding: 'utf8', ...options });

function decide(t, questions) {
  const file = writeJson(path.join(tempDir(t), 'governance.json'), GOVERNANCE);
  const r = run(['govern', 'decide', '--governance', file, '--batch'], { input: questions.map((it) => `${JSON.stringify(it)}\n`).join('') });
  assert.equal(r.stderr, '');
  assert.equal(r.status, 0);
  return r.stdout.split('\n').slice(0, -1);
}

describe('govern decide', () => {
  test('answers every question as the specification does', (t) => {
    const answers = decide(t, QUESTIONS.map(([, question]) => question));
    assert.equal(answers.length, QUESTIONS.length);
    QUESTIONS.forEach(([what, , expected], i) => assert.equal(answers[i], line(expected), what));
  });

  test('C01: the constraints of the permission of the specification', (t) => {
    const answers = decide(t, REFUNDS.map(([args]) => ({ capability: `${PAY}.issue_refund`, args, context: AGENT })));
    REFUNDS.forEach(([args, violations], i) => {
      const expected = { effective: 'destructive', highest: 'destructive', rules: ['p_refund', 'r_any'], violations };
      if (violations.length) expected.code = 'ARG_CONSTRAINT_VIOLATION';
      assert.equal(answers[i], line(expected), JSON.stringify(args));
    });
  });

  test('the answer does not depend on the order of the members of a question', (t) => {
    const shuffled = QUESTIONS.map(([, question]) => Object.fromEntries(Object.entries(question).reverse()));
    assert.deepEqual(decide(t, shuffled), decide(t, QUESTIONS.map(([, question]) => question)));
  });
});

test('plan check --json prints a decision for each step', (t) => {
  const cwd = tempDir(t);
  writeJson(path.join(cwd, 'governance.json'), GOVERNANCE);
  const check = (plan) => {
    writeJson(path.join(cwd, 'plan.json'), plan);
    const r = run(['plan', 'check', 'plan.json', '--governance', 'governance.json', '--json'], { cwd });
    assert.equal(r.stderr, '');
    return [r.status, r.stdout];
  };
  const step = (id, name, more) => ({ id, capability: `${PAY}.${name}`, ...more });
  const answer = (id, name, expected) => JSON.stringify({ id, capability: `${PAY}.${name}`, ...JSON.parse(line(expected)) });
  const plan = (allowed, ...steps) => `{"allowed":${allowed},"steps":[${steps.join(',')}]}\n`;

  // M03: an intent that only reads has no act; M04: it may verify, up to the ceiling of the run.
  const steps = [step('a', 'find'), step('b', 'check'), step('c', 'close')];
  const find = answer('a', 'find', yes('read_only', 'read_only', ['p_find', 'r_any']));
  assert.deepEqual(check({ intent: 'read_only', context: LEAD, steps }), [1, plan(false, find,
    answer('b', 'check', yes('network', 'network', ['p_check', 'r_any'])),
    answer('c', 'close', no('CLASS_INTENT_CONFLICT', 'destructive', ['p_close'])))]);
  assert.deepEqual(check({ intent: 'read_only', context: { ...LEAD, safety_mode: 'read_only' }, steps: steps.slice(0, 2) }), [1, plan(false, find,
    answer('b', 'check', no('MODE_ABOVE_RUN_CEILING', 'network', ['p_check', 'r_any'], { effective: 'network' })))]);
  assert.deepEqual(check({ context: LEAD, steps: [step('a', 'find')] }), [0, plan(true, find)]);
  assert.deepEqual(check({ steps: [] }), [0, plan(true)]);
  // Arguments that are not known yet are no violation, unless the step says that they are complete.
  const refund = [step('a', 'issue_refund', { args: { amount_inr: 1 } }), step('b', 'issue_refund', { args: { amount_inr: 0 }, args_complete: true })];
  const paid = { effective: 'destructive', highest: 'destructive', rules: ['p_refund', 'r_any'] };
  assert.deepEqual(check({ context: AGENT, steps: refund }), [1, plan(false, answer('a', 'issue_refund', paid),
    answer('b', 'issue_refund', { ...paid, code: 'ARG_CONSTRAINT_VIOLATION', violations: ['amount_inr min', 'idempotency_key required'] }))]);
});
