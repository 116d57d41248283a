// SPDX-License-Identifier: Apache-2.0
// Arguments are what a tool's input schema says before anything reaches its server: in every mode, with everything that
// is wrong told at once, so that one more call puts it right. Schemas themselves are not believed.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { ROOT, runToolgate } from './lib/gateway.mjs';
import { faultOf, idOf, open, startMeta, textOf } from './lib/meta.mjs';
import { tempDir, writeJson } from './lib/process.mjs';
import { until } from './lib/raw.mjs';
import { handshakeServer, text } from './lib/stateless.mjs';

const object = (properties, more = {}) => ({ type: 'object', properties, ...more });
const nested = (depth) => (depth ? object({ a: nested(depth - 1) }) : { type: 'string' });

const ORDER = object({
  item: { type: 'string', minLength: 1 },
  count: { type: 'integer', minimum: 1 },
  address: object({ city: { type: 'string' }, zip: { type: 'string', pattern: '^[0-9]{5}$' } }, { required: ['city'] }),
  when: { type: 'string', format: 'date' },
}, { required: ['item', 'count'], additionalProperties: false });

const TOOLS = [
  { name: 'order', description: 'Order an item', inputSchema: ORDER },
  { name: 'free', description: 'Takes anything', inputSchema: {} },
  { name: 'bare', description: 'Says nothing of what it takes' },
  { name: 'misspelt', description: 'A schema that is none', inputSchema: object({ x: { type: 'strnig' } }) },
  { name: 'remote', description: 'A schema elsewhere', inputSchema: { $ref: 'https://example.com/schema.json' } },
  { name: 'deep', description: 'A schema that is too deep', inputSchema: nested(40) },
];

async function shop(tools = TOOLS) {
  const up = await handshakeServer('stdio', { name: 'shop', capabilities: { tools: { listChanged: true } } });
  up.tools = tools;
  up.called = [];
  up.on('tools/list', (params, { peer }) => {
    up.peer = peer;
    return { tools: up.tools };
  });
  up.on('tools/call', (params) => {
    up.called.push(params);
    return text(JSON.stringify(params.arguments ?? null));
  });
  return up;
}

async function start(t, { config, mode } = {}) {
  const up = await shop();
  const gateway = await startMeta(t, { servers: { shop: up }, config, mode });
  const client = await open(t, gateway);
  const execute = async (name, args) => client.call('tool_execute', { tool_id: await idOf(client, 'shop', name), args });
  return { up, gateway, client, execute };
}

const places = (fault) => fault.details.errors.map(({ pointer, keyword }) => `${pointer} ${keyword}`).sort();

describe('arguments that are wrong', () => {
  test('are refused with every error, and do not reach the server', async (t) => {
    const { up, execute } = await start(t);
    const fault = faultOf(await execute('order', { count: 0, address: { zip: 'x' }, colour: 'red' }), 'ARGS_INVALID');
    assert.deepEqual(places(fault),
      [' required', '/address required', '/address/zip pattern', '/colour additionalProperties', '/count minimum']);
    assert.ok(fault.details.errors.every(({ message }) => message.length > 5));
    assert.equal(fault.retryable, false);
    assert.match(fault.path, /^shop:order/);
    assert.deepEqual(fault.details.schema, ORDER, 'the errors are all over it: all of it is shown');
    assert.equal(up.called.length, 0);
  });

  test('are told with the part of the schema that they are about', async (t) => {
    const { execute } = await start(t);
    const good = { item: 'a', count: 1 };
    const cases = [
      [{ ...good, count: '1' }, '/count', ORDER.properties.count],
      [{ ...good, address: { city: 5 } }, '/address/city', ORDER.properties.address.properties.city],
      [{ ...good, address: {} }, '/address', ORDER.properties.address],
      [{ item: 'a' }, '', ORDER],
    ];
    for (const [args, pointer, schema] of cases) {
      const fault = faultOf(await execute('order', args), 'ARGS_INVALID');
      assert.equal(fault.details.errors[0].pointer, pointer);
      assert.deepEqual(fault.details.schema, schema);
      assert.ok(fault.message.startsWith(`arguments${pointer}: `), fault.message);
    }
  });

  test('are put right with what was told', async (t) => {
    const { up, execute } = await start(t);
    const fault = faultOf(await execute('order', {}), 'ARGS_INVALID');
    const { properties, required } = fault.details.schema;
    const value = { string: 'x', integer: 3 };
    const args = Object.fromEntries(required.map((name) => [name, value[properties[name].type]]));
    assert.equal(textOf(await execute('order', args)), JSON.stringify(args));
    assert.equal(up.called.length, 1);
  });

  test('are an error -32602 with the same details in mode direct', async (t) => {
    const { up, client } = await start(t, { mode: 'direct' });
    const call = (args) => client.request('tools/call', { name: 'order', arguments: args });
    const { error } = await call({ count: 'many' });
    assert.equal(error.code, -32602);
    assert.equal(error.data.error, 'ARGS_INVALID');
    assert.deepEqual(error.data.details.errors.map((e) => e.pointer).sort(), ['', '/count']);
    assert.equal((await call(undefined)).error.data.error, 'ARGS_INVALID', 'no arguments are an empty object');
    assert.equal((await call({ item: 'a', count: 1, when: null })).error, undefined, 'null stands for what is not given');
    assert.equal((await call({ item: null, count: 1 })).error.code, -32602, 'but not for what must be');
    assert.equal((await call({ item: 'a', count: 1, evil: null })).error.code, -32602, 'nor for what is not known');
    assert.equal(up.called.length, 1);
  });

  test('are refused in mode transparent too', async (t) => {
    const { up, client } = await start(t, { mode: 'transparent' });
    const name = (await client.tools()).find((tool) => tool.name.startsWith('shop__order')).name;
    faultOf(await client.call(name, { item: 5, count: 1 }), 'ARGS_INVALID');
    assert.equal(up.called.length, 0);
  });
});

test('a format is a remark, unless schema.formats says that it counts', async (t) => {
  const args = { item: 'a', count: 1, when: 'tomorrow' };
  const lax = await start(t), strict = await start(t, { config: { schema: { formats: true } } });
  assert.equal(textOf(await lax.execute('order', args)), JSON.stringify(args));
  assert.deepEqual(places(faultOf(await strict.execute('order', args), 'ARGS_INVALID')), ['/when format']);
});

test('a tool without a schema takes anything', async (t) => {
  const { execute } = await start(t);
  for (const name of ['free', 'bare']) assert.equal(textOf(await execute(name, { any: [1] })), '{"any":[1]}');
});

describe('a schema that is none', () => {
  test('leaves its tool there; a call of it says where and why, and goes nowhere', async (t) => {
    const { up, execute, gateway } = await start(t);
    const wrong = faultOf(await execute('misspelt', {}), 'SCHEMA_INVALID');
    assert.equal(wrong.details.pointer, '/properties/x/type');
    assert.ok(wrong.details.reason);
    assert.match(faultOf(await execute('remote', {}), 'SCHEMA_INVALID').message, /never fetched/);
    assert.match(faultOf(await execute('deep', {}), 'SCHEMA_INVALID').message, /32 levels deep/);
    assert.equal(up.called.length, 0);
    assert.match(gateway.log, /warn +shop: "misspelt": its inputSchema cannot be used at \/properties\/x\/type/);
  });

  test('may be deeper or larger where schema_limits says so', async (t) => {
    const { execute } = await start(t, { config: { schema_limits: { max_depth: 128 } } });
    assert.equal(textOf(await execute('deep', {})), '{}');
  });

  test('is in the report of toolgate catalog', async (t) => {
    const catalog = writeJson(`${tempDir(t)}/c.json`, { tools: TOOLS });
    const { stdout, status } = await runToolgate(['catalog', '--json', '--catalog', catalog], { cwd: tempDir(t) });
    assert.equal(status, 0);
    const { report } = JSON.parse(stdout);
    assert.deepEqual(report.map((note) => note.name).sort(), ['deep', 'misspelt', 'remote']);
    assert.ok(report.every((note) => !note.skipped && /inputSchema cannot be used/.test(note.reason)));
  });

  test('keeps a catalog from being taken with on_invalid: raise', async (t) => {
    const up = await shop();
    const gateway = await startMeta(t, { servers: { shop: up }, config: { on_invalid: 'raise' } });
    const client = await open(t, gateway);
    assert.doesNotMatch(textOf(await client.call('tool_browse', { path: '/' })), /shop/);
    assert.match(gateway.log, /rejected the new catalog \(on_invalid: raise\): a schema is invalid/);
  });
});

test('a schema that changed counts from then on', async (t) => {
  const { up, execute } = await start(t);
  const args = { item: 'a', count: 1 };
  assert.equal(textOf(await execute('order', args)), JSON.stringify(args));
  const stricter = { ...ORDER, properties: { ...ORDER.properties, count: { type: 'integer', minimum: 10 } } };
  up.tools = [{ ...TOOLS[0], inputSchema: stricter }];
  up.peer.notify('notifications/tools/list_changed');
  await until(async () => (await execute('order', args)).isError, 'the new schema');
  assert.deepEqual(places(faultOf(await execute('order', args), 'ARGS_INVALID')), ['/count minimum']);
});

describe('the documentation', () => {
  const source = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8');

  test('docs/reference/calls.md shows the fault for invalid arguments', async (t) => {
    const page = source('docs/reference/calls.md');
    const shown = JSON.parse(page.match(/```json\n(\{"error": "ARGS_INVALID".*?)```/s)[1]);
    const up = await shop([{ name: 'file', inputSchema: shown.details.schema }]);
    const client = await open(t, await startMeta(t, { servers: { shop: up } }));
    const result = await client.call('tool_execute', { tool_id: shown.path, args: { labels: 'bug' } });
    assert.deepEqual(faultOf(result, 'ARGS_INVALID'), shown);
  });

  test('docs/reference/faults.md has a row for every code', () => {
    const page = source('docs/reference/faults.md');
    const forms = source('src/result/envelope/fault_forms.c').split('default:')[0];
    const reportedAs = {};  // the mapping of internal codes in fault_told_as
    let group = [];
    for (const [, inner, outer] of forms.matchAll(/case FAULT_([A-Z_]+)|return FAULT_([A-Z_]+)/g)) {
      if (inner) group.push(inner);
      else group = group.splice(0).forEach((code) => (reportedAs[code] = outer)) ?? [];
    }
    const want = [...source('src/base/fault.h').matchAll(/X\(([A-Z_]+), (true|false)\)/g)].map(([, code, retryable]) =>
      `${code} ${reportedAs[code] ?? (retryable === 'true' ? 'yes' : 'no')}`);
    const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| (?:(yes|no)|`([A-Z_]+)`) \|/gm)].map((m) => `${m[1]} ${m[2] ?? m[3]}`);
    assert.ok(want.length > 20);
    assert.deepEqual(rows.toSorted(), want.toSorted());
  });
});
