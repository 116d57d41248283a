// SPDX-License-Identifier: Apache-2.0
// toolgate govern decide | check and toolgate plan check; JsonLogic compared with json-logic-js.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { toolgate } from './lib/gateway.mjs';
import { tempDir, writeJson } from './lib/process.mjs';

const MAY_REFUND = { scopes: ['refund'] };
const REFUND = 'adp_payments.issue_refund', KEY = 'ik_2x9k4j7m1q8w0p3z';
const adapter = (capabilities, adapter_id = 'adp_payments') => ({ adapter_id, type: 'MCP', server: 'payments', owner: 'payments-team', capabilities });
const refund = { name: 'issue_refund', class: 'act', approval_mode: 'destructive', scopes: ['refund'], domain: 'payments' };
const permission = {
  permission_id: 'perm_payments_refund_capped',
  adapter_id: 'adp_payments',
  capability: 'issue_refund',
  allow: true,
  approval_mode: 'destructive',
  arg_constraints: {
    amount_inr: { min: 1, max: 50000 },
    currency: { enum: ['INR'] },
    idempotency_key: { required: true, pattern: '^ik_[a-z0-9]{16}$' },
  },
  decision_binding: 'decision.support.refund.execute',
};
const SEED = { adapters: [adapter([refund])], permissions: [permission] };
const bundle = (rules, approval_gates = [], more = {}) => ({ bundle_id: 'b1', priority: 10, policy_dsl: { language: 'jsonlogic', rules }, approval_gates, ...more });

const run = (args, options = {}) => spawnSync(toolgate(), args, { encoding: 'utf8', maxBuffer: 1 << 26, ...options });
const fileOf = (t, governance) => writeJson(path.join(tempDir(t), 'governance.json'), governance);

/** The answers to questions, in one process. */
function decide(t, governance, questions, status = 0) {
  const input = questions.map((it) => `${typeof it === 'string' ? it : JSON.stringify(it)}\n`).join('');
  const r = run(['govern', 'decide', '--governance', fileOf(t, governance), '--batch'], { input });
  assert.equal(r.status, status, r.stderr);
  return r.stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
}

describe('govern decide', () => {
  test('answers each question on a line, with the keys in a fixed order', (t) => {
    const args = { order_id: 'ord_881', amount_inr: 4200, currency: 'INR', idempotency_key: KEY };
    const input = [{ capability: REFUND, args, context: MAY_REFUND, mode: 'destructive' },
      { capability: REFUND, args: { ...args, amount_inr: 0, currency: 'USD' }, context: MAY_REFUND }];
    const r = run(['govern', 'decide', '--governance', fileOf(t, SEED), '--batch'], { input: input.map((it) => JSON.stringify(it)).join('\n\n') });
    assert.equal(r.stderr, '');
    assert.equal(r.stdout, '{"allowed":true,"mode_requested":"destructive","mode_effective":"destructive","mode_highest":"destructive",'
      + '"rules":["perm_payments_refund_capped"],"violations":[]}\n'
      + '{"allowed":false,"code":"ARG_CONSTRAINT_VIOLATION","mode_requested":null,"mode_effective":"destructive","mode_highest":"destructive",'
      + '"rules":["perm_payments_refund_capped"],"violations":[{"path":"amount_inr","constraint":"min"},{"path":"currency","constraint":"enum"}]}\n');
    assert.equal(r.status, 0);
  });

  test('names the gates that an allowed call needs', (t) => {
    const rules = [{ rule_id: 'R_HIGH', if: { '>': [{ var: 'args.amount_inr' }, 3000] }, then: { allow: true, requires_approval_gate: 'GATE_FINANCE' } },
      { rule_id: 'R_ANY', then: { allow: true } }];
    const gates = [{ gate_id: 'GATE_FINANCE', required_approver_role: 'finance' }, { gate_id: 'GATE_NIGHT', required_approver_role: 'duty', when: { var: 'run.night' } }];
    const args = (amount_inr) => ({ amount_inr, currency: 'INR', idempotency_key: KEY });
    const answers = decide(t, { ...SEED, bundles: [bundle(rules, gates)] }, [
      { capability: REFUND, args: args(1), context: MAY_REFUND },
      { capability: REFUND, args: args(3001), context: MAY_REFUND },
      { capability: REFUND, args: args(3001), context: { ...MAY_REFUND, run: { night: true } } },
      { capability: REFUND, args: args(50001), context: MAY_REFUND },
    ]);
    assert.deepEqual(answers.map((it) => [it.allowed, it.gate, it.gates]), [[true, undefined, undefined], [true, 'GATE_FINANCE', undefined],
      [true, 'GATE_FINANCE', ['GATE_FINANCE', 'GATE_NIGHT']], [false, undefined, undefined]]);
  });

  test('answers a malformed question with an error, and goes on', (t) => {
    const answers = decide(t, SEED, ['{', '[]', { capability: REFUND, args: [] }, { capability: REFUND, context: { safety_mode: 'x' } }, { capability: 'nope' }], 1);
    assert.deepEqual(answers.map((it) => it.error?.code), ['INVALID', 'INVALID', 'INVALID', 'INVALID', undefined]);
    assert.equal(answers[4].code, 'CAPABILITY_UNKNOWN');
  });

  test('a single question is an operand, and its exit code is the answer', (t) => {
    const file = fileOf(t, SEED), args = { amount_inr: 1, currency: 'INR', idempotency_key: KEY };
    const yes = run(['govern', 'decide', '--governance', file, JSON.stringify({ capability: REFUND, args, context: MAY_REFUND })]);
    assert.deepEqual([yes.status, yes.stdout], [0, 'ALLOW  destructive  /permissions/0  (perm_payments_refund_capped)\n']);
    const no = run(['govern', 'decide', '--governance', file, JSON.stringify({ capability: REFUND, args: {}, context: MAY_REFUND })]);
    assert.equal(no.status, 1);
    assert.match(no.stdout, /^DENY {2}ARG_CONSTRAINT_VIOLATION .*\n {2}correct .*\n {2}idempotency_key: required\n$/);
    assert.equal(JSON.parse(run(['govern', 'decide', '--governance', file, '--json', JSON.stringify({ capability: 'x' })]).stdout).code, 'CAPABILITY_UNKNOWN');
    assert.equal(run(['govern', 'decide', '--governance', file, '{}']).status, 2);
  });

  test('wrong usage and unusable files have their own exit codes', (t) => {
    const file = fileOf(t, SEED);
    for (const args of [[], ['decide'], ['decide', '--batch'], ['decide', '--governance', file], ['decide', '--governance', file, '--batch', '{}'], ['check'], ['judge']])
      assert.equal(run(['govern', ...args], { input: '' }).status, 2, args.join(' '));
    assert.equal(run(['govern', 'decide', '--governance', `${file}.no`, '--batch'], { input: '' }).status, 3);
    const bad = run(['govern', 'decide', '--governance', fileOf(t, { adapter: [] }), '--batch'], { input: '' });
    assert.equal(bad.status, 3);
    assert.match(bad.stderr, /governance\.json:\/adapter: is an unknown member; did you mean "adapters"\?/);
  });
});

test('govern check prints every problem with its place', (t) => {
  const cwd = tempDir(t);
  fs.writeFileSync(path.join(cwd, 'governance.yaml'), `
adapters:
  - adapter_id: adp
    type: MCP
    capabilities: [{ name: look, class: observe, approval_mode: read_only }, { name: think, class: think_support, approval_mode: network }]
permissions:
  - { permission_id: p, adapter_id: adp, capability: look, allow: true, approval_mode: network }
  - { permission_id: p, adapter_id: adp, capability: nope, allow: true }
bundles:
  - { bundle_id: b, policy_dsl: { language: jsonlogic, rules: [{ rule_id: r, if: { log: 1 }, then: { allow: true } }] } }
`);
  const text = run(['govern', 'check', 'governance.yaml'], { cwd }), json = run(['govern', 'check', 'governance.yaml', '--json'], { cwd });
  const pointers = ['/adapters/0/capabilities/1', '/permissions/1', '/permissions/0', '/permissions/1', '/bundles/0/policy_dsl/rules/0/if/log'];
  assert.deepEqual([text.status, json.status], [1, 1]);
  assert.deepEqual(text.stderr.trimEnd().split('\n').map((line) => line.split(':')[2].trim()), pointers);
  const { valid, problems } = JSON.parse(json.stdout);
  assert.equal(valid, false);
  assert.deepEqual(problems.map((it) => it.pointer), pointers);
  assert.match(problems[0].message, /^CLASS_MODE_CONFLICT: /);
  const good = run(['govern', 'check', fileOf(t, SEED)]);
  assert.match(good.stdout, /: no problems, 1 capability\n$/);
  assert.equal(good.status, 0);
});

test('plan check decides every step', (t) => {
  const cwd = tempDir(t);
  const capabilities = [refund, { name: 'lookup', class: 'observe', approval_mode: 'read_only' }, { name: 'verify', class: 'verify', approval_mode: 'network' }];
  const permissions = [permission, ...['lookup', 'verify'].map((capability) => ({ permission_id: capability, adapter_id: 'adp_payments', capability, allow: true }))];
  writeJson(path.join(cwd, 'governance.yaml'), { adapters: [adapter(capabilities)], permissions });
  const check = (plan, ...args) => {
    writeJson(path.join(cwd, 'plan.json'), plan);
    return run(['plan', 'check', 'plan.json', ...args], { cwd });
  };
  const steps = [{ id: 'find', capability: 'adp_payments.lookup' }, { capability: 'adp_payments.verify' }, { id: 'pay', capability: REFUND, args: { amount_inr: 7 } }];
  const verdicts = (plan) => {
    const r = check(plan, '--json'), { allowed, steps: shown } = JSON.parse(r.stdout);
    assert.equal(r.status, allowed ? 0 : 1);
    return shown.map((it) => [it.id, it.code ?? it.allowed]);
  };
  assert.deepEqual(verdicts({ intent: 'support.refund', context: MAY_REFUND, steps }), [['find', true], ['2', true], ['pay', true]]);
  assert.deepEqual(verdicts({ intent: 'read_only', steps }), [['find', true], ['2', true], ['pay', 'CLASS_INTENT_CONFLICT']]);
  assert.deepEqual(verdicts({ intent: 'read_only', context: { safety_mode: 'read_only' }, steps: steps.slice(0, 2) }), [['find', true], ['2', 'MODE_ABOVE_RUN_CEILING']]);
  assert.deepEqual(verdicts({ context: MAY_REFUND, steps: [{ ...steps[2], args_complete: true }] }), [['1', 'ARG_CONSTRAINT_VIOLATION']].map(([, code]) => ['pay', code]));
  assert.match(check({ context: MAY_REFUND, steps }).stdout, /^find {2}adp_payments\.lookup {2}ALLOW {2}read_only .*\n(.*\n){2}every step is allowed\n$/);
  const malformed = check({ steps: [{ capability: 5 }] });
  assert.equal(malformed.status, 1);
  assert.match(malformed.stderr, /plan\.json:\/steps\/0: needs the string capability/);
  assert.equal(run(['plan', 'check', 'plan.json', '--governance', 'none.yaml'], { cwd }).status, 3);
  assert.equal(run(['plan', 'check', 'none.json'], { cwd }).status, 3);
  assert.equal(run(['plan', 'check'], { cwd }).status, 2);
});

// ---- JsonLogic

/** Numbers from 0 to n - 1, always the same ones. */
function roller(seed) {
  return (n) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * n);
  };
}

const DATA = { n: 3, f: -2.5, z: 0, s: 'abc', num: '42', hex: ' 0x1f ', e: '', t: true, no: null, u: 'a😀é', l: [1, '2', null, 3], deep: [[1, 2], [3, [4]], []],
  o: { a: { b: 'x' }, l: [{ q: 1 }, { q: 5 }, { r: 2 }] }, w: ['x', 'y', 'abc'] };
const PATHS = ['n', 'f', 'z', 's', 'num', 'hex', 'e', 't', 'no', 'u', 'l', 'deep', 'o', 'w', 'o.a.b', 'o.l', 'l.0', 'l.length', 's.1', 's.length', 'u.length', 'deep.1.1.0', 'nope', 'o.nope.x'];
const SCALARS = [0, 1, 2, -1, 3.7, 1e21, 1e-7, 100, '', '0', '1', '-1', ' 7 ', '3.5kg', 'abc', 'b', 'Infinity', '1e3', '.5', '0b11', '\ufeff5', 'é', 'null', true, false, null, [], [1], [1, 2], ['x'], [null], [[]]];

function expression(roll, depth, scope) {
  const pick = (list) => list[roll(list.length)], sub = () => expression(roll, depth - 1, scope), some = (least, most) => Array.from({ length: least + roll(most - least + 1) }, sub);
  const element = (names) => expression(roll, Math.min(depth - 1, 2), names);
  const list = () => (roll(3) ? { var: pick(scope === PATHS ? ['args.l', 'args.deep', 'args.w', 'args.o.l'] : scope) } : sub());
  if (!depth || !roll(4)) return roll(3) ? { var: roll(8) ? pick(scope === PATHS ? PATHS.map((it) => `args.${it}`) : scope) : [pick(scope), pick(SCALARS)] } : pick(SCALARS);
  return pick([
    () => ({ [pick(['==', '===', '!=', '!==', '>', '>=', '<', '<=', 'in', '-', '/', '%'])]: [sub(), sub()] }),
    () => ({ [pick(['<', '<='])]: [sub(), sub(), sub()] }),
    () => ({ [pick(['!', '!!', '-', '+'])]: [sub()] }),
    () => ({ [pick(['and', 'or', 'max', 'min', '+', '*'])]: some(1, 3) }),
    () => ({ [pick(['if', '?:'])]: some(0, 5) }),
    () => ({ [pick(['cat', 'merge'])]: some(0, 3) }),
    () => ({ substr: [sub(), roll(7) - 3, ...(roll(2) ? [roll(7) - 3] : [])] }),
    () => ({ substr: [sub(), sub(), sub()] }),
    () => ({ [pick(['map', 'filter', 'all', 'none', 'some'])]: [list(), element(['', 'q', 'length', '0'])] }),
    () => ({ reduce: [list(), element(['current', 'accumulator', 'current.q', 'accumulator.length']), ...(roll(2) ? [sub()] : [])] }),
    () => ({ missing: some(0, 1).concat(['args.n', 'args.nope', 'args.e']).map((it) => (typeof it === 'object' ? 'args.no' : it)) }),
    () => ({ missing_some: [roll(3), ['args.n', 'args.nope', 'args.no', 'args.s']] }),
  ])();
}

/** A value as an expression that is exactly equal to it; arrays become their text. */
function equals(rule, value) {
  if (Array.isArray(value)) return { and: [{ '===': [{ cat: [rule] }, value.join()] }] };
  if (typeof value === 'number' && !Number.isFinite(value)) return { '===': [{ cat: [rule] }, String(value)] };
  if (typeof value === 'object' && value !== null) return { '===': [{ cat: [rule] }, '[object Object]'] };
  return { '===': [rule, value] };
}

test('JsonLogic gives the results of json-logic-js', async (t) => {
  const logic = await import('json-logic-js').then((it) => it.default, () => null);
  if (!logic) return t.skip('json-logic-js is not installed');
  const roll = roller(20260101), context = { role: 'ops' }, data = { ...context, args: DATA, capability: 'a.c' };
  const rules = [], expected = [];
  while (rules.length < 2500) {
    const rule = expression(roll, 4, PATHS);
    let value;
    try {
      value = logic.apply(rule, data);
    } catch {
      continue; // TypeError: it has no meaning there
    }
    if (typeof value === 'string' && !value.isWellFormed()) continue; // half of a surrogate pair
    if (value === undefined || typeof value === 'function') continue;
    if (Object.is(value, -0)) value = 0;
    rules.push({ rule_id: `r${rules.length}`, applies_to: { intent: `i${rules.length}` }, if: equals(rule, value), then: { allow: true } });
    expected.push(value);
  }
  const permissions = [{ permission_id: 'p', adapter_id: 'a', capability: 'c', allow: true }];
  const governance = { adapters: [adapter([{ name: 'c', class: 'observe', approval_mode: 'read_only' }], 'a')], permissions, bundles: [bundle(rules)] };
  const answers = decide(t, governance, rules.map((_, i) => ({ capability: 'a.c', args: DATA, context: { ...context, intent: `i${i}` } })));
  const wrong = answers.flatMap((it, i) => (it.rules.includes(`r${i}`) ? [] : [`${JSON.stringify(rules[i].if)} is not ${JSON.stringify(expected[i])}: ${JSON.stringify(it)}`]));
  assert.deepEqual(wrong, []);
});
