// SPDX-License-Identifier: Apache-2.0
// toolgate schema validate --batch: a line in, a line out.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { toolgate } from './lib/gateway.mjs';

function validate(...lines) {
  const input = lines.map(line => (typeof line === 'string' ? line : JSON.stringify(line)) + '\n').join('');
  const r = spawnSync(toolgate(), ['schema', 'validate', '--batch'], { input, encoding: 'utf8' });
  return { status: r.status, stderr: r.stderr, answers: r.stdout.split('\n').filter(Boolean).map(s => JSON.parse(s)) };
}

test('each case is answered on a line of its own, in order', () => {
  const schema = { type: 'object', required: ['a'], properties: { a: { type: 'integer' } } };
  const r = validate({ schema, instance: { a: 1 } }, '', { schema, instance: { a: 'x' } }, { schema, instance: {} });
  assert.equal(r.status, 0);
  assert.equal(r.stderr, '');
  assert.deepEqual(r.answers, [
    { valid: true },
    { valid: false, errors: [{ instance: '/a', keyword: 'type', schema: '/properties/a/type',
      message: 'must be an integer, but is a string' }] },
    { valid: false, errors: [{ instance: '', keyword: 'required', schema: '/required',
      message: 'the property "a" is missing' }] },
  ]);
});

test('a schema that is none is said to be so, with its place', () => {
  const r = validate(
    { schema: { properties: { a: { type: 'strnig' } } }, instance: {} },
    { schema: { $ref: 'http://127.0.0.1:1/never-fetched.json' }, instance: {} },
    { schema: { description: 'x'.repeat(70000) }, instance: {} },
    { schema: { $ref: '#' }, instance: {} },
  );
  assert.equal(r.status, 0);
  assert.deepEqual(r.answers.map(a => [a.valid, a.errors[0].code, a.errors[0].schema]), [
    [false, 'INVALID', '/properties/a/type'],
    [false, 'NOT_FOUND', '/$ref'],
    [false, 'LIMIT', ''],
    [false, 'LIMIT', ''],
  ]);
  assert.match(r.answers[0].errors[0].message, /unknown type "strnig"/);
});

test('a line that is no case is answered, and the rest goes on', () => {
  const r = validate('{', { schema: {} }, { schema: true, instance: 1 });
  assert.equal(r.status, 1);
  assert.deepEqual(r.answers.map(a => a.valid), [false, false, true]);
  assert.match(r.answers[1].errors[0].message, /"schema" and "instance"/);
});

test('wrong usage says what is wanted', () => {
  for (const args of [[], ['validate'], ['compile', '--batch'], ['validate', '--batch', 'more']]) {
    const r = spawnSync(toolgate(), ['schema', ...args], { input: '', encoding: 'utf8' });
    assert.equal(r.status, 2, args.join(' '));
    assert.match(r.stderr, /toolgate schema --help lists the options/);
    assert.equal(r.stdout, '');
  }
});
