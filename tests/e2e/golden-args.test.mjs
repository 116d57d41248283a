// SPDX-License-Identifier: Apache-2.0
// Golden cases: tolerant arguments. What a model wrote as text is repaired where the schema demands another type, by
// fixed rules and nothing else, and every repair is told.
//
// | case | test | |
// |---|---|---|
// | {"issue_id": "42"} | str_to_integer | repaired and told, as the reference |
// | "not-a-number" | what stays | still ARGS_INVALID, as the reference |
// | no repairs: no key | nothing to repair | as the reference |
// | literals of each type | the tables | as the reference |
// | a whole object as text | parse_stringified_object | as the document; the reference could not reach it over MCP |
// | [string, null] "null"; "yes"; "True" | what stays | as the reference |
// | off by default | off | as the reference |
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';

import { faultOf, idOf, open, startMeta, textOf } from './lib/meta.mjs';
import { suiteScope } from './lib/process.mjs';
import { CLOSE, other, provenanceOf, startShop } from './servers/golden-shop.mjs';

const ON = { tolerant_args: true };

describe('the fixture', () => {
  test('a number that is text is repaired, passed on as a number, and told', async (t) => {
    const shop = await startShop(t, { config: ON });
    const result = await shop.execute(CLOSE, { issue_id: '42' });
    assert.deepEqual(shop.up.seen, [['close_issue', { issue_id: 42 }]]);
    assert.deepEqual(provenanceOf(result).arg_repairs, [{ path: '$.issue_id', rule: 'str_to_integer' }]);
  });

  test('what is no number stays as it is, and is refused', async (t) => {
    const shop = await startShop(t, { config: ON });
    faultOf(await shop.execute(CLOSE, { issue_id: 'not-a-number' }), 'ARGS_INVALID');
    assert.deepEqual(shop.up.seen, []);
  });

  test('nothing to repair is nothing to tell', async (t) => {
    const shop = await startShop(t, { config: ON });
    assert.equal('arg_repairs' in provenanceOf(await shop.execute(CLOSE, { issue_id: 42 })), false);
  });

  test('it is off unless the operator turns it on', async (t) => {
    for (const config of [undefined, { tolerant_args: false }]) {
      const shop = await startShop(t, { config });
      faultOf(await shop.execute(CLOSE, { issue_id: '42' }), 'ARGS_INVALID');
      assert.deepEqual(shop.up.seen, []);
    }
  });

  test('arguments that are repaired are checked: a bound still holds', async (t) => {
    const more = { page: { inputSchema: { type: 'object', properties: { n: { type: 'integer', maximum: 9 } } },
      _meta: { version: '1' } } };
    const shop = await startShop(t, { config: ON, more });
    assert.equal((await shop.execute('github:page@1', { n: '9' })).isError ?? false, false);
    faultOf(await shop.execute('github:page@1', { n: '10' }), 'ARGS_INVALID');
  });

  test('a dry run repairs as the call does', async (t) => {
    const shop = await startShop(t, { config: ON });
    const { structuredContent } = await shop.execute(CLOSE, { issue_id: '42' }, { dry_run: true });
    assert.equal(structuredContent.args_valid, true);
    assert.deepEqual(shop.up.seen, []);
  });
});

describe('the rules', () => {
  const scope = suiteScope();
  const any = {};
  const inputSchema = {
    type: 'object',
    properties: {
      i: { type: 'integer' }, n: { type: 'number' }, b: { type: 'boolean' }, z: { type: 'null' }, s: { type: 'string' },
      ni: { type: ['number', 'integer'] }, is: { type: ['integer', 'string'] }, sz: { type: ['string', 'null'] },
      iz: { type: ['integer', 'null'] }, any, order_id: { type: 'string' }, amount: { type: 'number' },
      o: { type: 'object', properties: { i: { type: 'integer' } } },
    },
  };
  let client, up, tool_id;
  before(async () => {
    up = await other('stdio', 'up', { more: { take: { inputSchema } } });
    client = await open(scope, await startMeta(scope, { servers: { up }, config: ON }));
    tool_id = await idOf(client, 'up', 'take');
  });
  const take = (args) => client.call('tool_execute', { tool_id, args });

  for (const [key, written, value, rule] of [
    ['i', '42', 42, 'str_to_integer'], ['i', ' 42 ', 42, 'str_to_integer'], ['i', '-7', -7, 'str_to_integer'],
    ['i', '-0', 0, 'str_to_integer'], ['i', '12345678901234567890', 12345678901234567890, 'str_to_integer'],
    ['n', '1.5', 1.5, 'str_to_number'], ['n', '-2e3', -2000, 'str_to_number'], ['n', '3', 3, 'str_to_number'],
    ['b', 'true', true, 'str_to_boolean'], ['b', 'false', false, 'str_to_boolean'], ['z', 'null', null, 'str_to_null'],
    ['ni', '7', 7, 'str_to_integer'], ['ni', '7.5', 7.5, 'str_to_number'], ['iz', 'null', null, 'str_to_null'],
    ['iz', '5', 5, 'str_to_integer'],
  ]) {
    test(`${rule}: ${key} ${JSON.stringify(written)} is ${value}`, async () => {
      const result = await take({ [key]: written });
      assert.equal(result.isError ?? false, false, JSON.stringify(result));
      const [, args] = up.seen.at(-1);
      assert.ok(args[key] === value || args[key] + 0 === value, JSON.stringify(args));
      assert.deepEqual(provenanceOf(result).arg_repairs, [{ path: `$.${key}`, rule }]);
    });
  }

  for (const [key, written] of [
    ['i', '+42'], ['i', '042'], ['i', '4.0'], ['i', '1e3'], ['i', ''], ['i', '4 2'], ['i', '0x10'],
    ['n', '1e999'], ['n', 'NaN'], ['n', 'Infinity'], ['n', '.5'], ['n', '1.'], ['n', '01'],
    ['b', 'True'], ['b', 'yes'], ['b', '1'], ['z', 'None'], ['z', 'NULL'], ['z', ''],
  ]) {
    test(`what stays and is refused: ${key} ${JSON.stringify(written)}`, async () => {
      const before = up.seen.length;
      faultOf(await take({ [key]: written }), 'ARGS_INVALID');
      assert.equal(up.seen.length, before);
    });
  }

  for (const [key, written] of [['s', '42'], ['s', 'true'], ['is', '42'], ['sz', 'null'], ['any', '42']]) {
    test(`what stays because it may be text: ${key} ${JSON.stringify(written)}`, async () => {
      const result = await take({ [key]: written });
      assert.deepEqual(up.seen.at(-1)[1], { [key]: written });
      assert.equal('arg_repairs' in provenanceOf(result), false);
    });
  }

  test('only members of the arguments themselves, not what is deeper', async () => {
    faultOf(await take({ o: { i: '1' } }), 'ARGS_INVALID');
  });

  test('what is not known is neither renamed nor dropped', async () => {
    await take({ I: '1', more: { x: '2' } });
    assert.deepEqual(up.seen.at(-1)[1], { I: '1', more: { x: '2' } });
  });

  test('several at once are told in the order of the arguments or of the schema, each once', async () => {
    const result = await take({ n: '1.5', i: '2', s: '3', b: 'true' });
    assert.deepEqual(up.seen.at(-1)[1], { n: 1.5, i: 2, s: '3', b: true });
    const rules = provenanceOf(result).arg_repairs.map(({ path, rule }) => `${path} ${rule}`).sort();
    assert.deepEqual(rules, ['$.b str_to_boolean', '$.i str_to_integer', '$.n str_to_number']);
  });

  test('parse_stringified_object: arguments that are one text', async () => {
    const result = await take('{"order_id":"4471","amount":"129.0"}');
    assert.equal(result.isError ?? false, false, JSON.stringify(result));
    assert.deepEqual(up.seen.at(-1)[1], { order_id: '4471', amount: 129 });
    assert.deepEqual(provenanceOf(result).arg_repairs, [
      { path: '$', rule: 'parse_stringified_object' }, { path: '$.amount', rule: 'str_to_number' },
    ]);
    await take('\ufeff  {"i": 5}\n');
    assert.deepEqual(up.seen.at(-1)[1], { i: 5 });
  });

  for (const args of ['', 'x', '[1]', '5', '{"i":', '{"i":1} more', '{"i":1,"i":2}']) {
    test(`a text that is no object is refused: ${JSON.stringify(args)}`, async () => {
      const before = up.seen.length;
      faultOf(await take(args), 'ARGS_INVALID');
      assert.equal(up.seen.length, before);
    });
  }
});

test('numbers are passed on with the digits that were written', async (t) => {
  const up = await other('stdio', 'up', {
    more: { take: { inputSchema: { type: 'object', properties: { n: { type: 'number' } } } } },
  });
  const client = await open(t, await startMeta(t, { servers: { up }, config: ON }));
  const tool_id = await idOf(client, 'up', 'take');
  const call = client.call('tool_execute', { tool_id, args: { n: '123456789012345678901234567890.5' } });
  const { raw } = await up.next('tools/call');
  assert.match(raw, /"n":123456789012345678901234567890\.5[,}]/);
  assert.equal((await call).isError ?? false, false);
  assert.match(textOf(await call), /^\{"n":/);
});
