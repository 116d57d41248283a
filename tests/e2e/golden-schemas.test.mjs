// SPDX-License-Identifier: Apache-2.0
// Golden cases: arguments against schemas, and schemas that nobody should trust.
//
// | case | test | |
// |---|---|---|
// | execute {} and other arguments that do not fit | arguments | ARGS_INVALID; SPEC: every error, with its schema |
// | depth 40 with max_depth 8; size; properties | schemas | registered and reported, as the reference |
// | type "strnig" | schemas | SCHEMA_INVALID, as the reference |
// | compiled once; refresh clears it | a schema that changed | as far as it can be seen: the new one holds |
import assert from 'node:assert/strict';
import path from 'node:path';
import { before, describe, test } from 'node:test';

import { runToolgate } from './lib/gateway.mjs';
import {
  cardsOf, connect, execute as executeByName, faultOf, idOf, open, snapshot, startMeta, textOf,
} from './lib/meta.mjs';
import { suiteScope, tempDir, writeJson } from './lib/process.mjs';
import { until } from './lib/raw.mjs';
import { CREATE, CREATE_SCHEMA, other, startShop } from './servers/golden-shop.mjs';

describe('arguments that do not fit the schema', () => {
  const scope = suiteScope();
  const inputSchema = {
    type: 'object', required: ['name', 'size'], additionalProperties: false,
    properties: {
      name: { type: 'string', minLength: 2 }, size: { type: 'integer', minimum: 1 }, kind: { enum: ['a', 'b'] },
      tags: { type: 'array', items: { type: 'string' } },
    },
  };
  let client, gateway, up, tool_id;
  before(async () => {
    up = await other('stdio', 'up', { more: { make: { inputSchema }, free: { inputSchema: {} } } });
    gateway = await startMeta(scope, { servers: { up }, config: { modes: ['direct', 'transparent'] } });
    client = await open(scope, gateway);
    tool_id = await idOf(client, 'up', 'make');
  });
  const refuse = async (args) => {
    const before = up.seen.length;
    const fault = faultOf(await client.call('tool_execute', { tool_id, args }), 'ARGS_INVALID');
    assert.equal(up.seen.length, before, 'nothing reached the server');
    return fault;
  };
  const told = (fault) => fault.details.errors.map(({ pointer, keyword }) => [pointer, keyword]);

  for (const [what, args, errors] of [
    ['one that is missing', { name: 'ab' }, [['', 'required']]],
    ['a wrong type', { name: 1, size: 1 }, [['/name', 'type']]],
    ['one that is not known', { name: 'ab', size: 1, z: 1 }, [['', 'additionalProperties']]],
    ['a bound', { name: 'ab', size: 0 }, [['/size', 'minimum']]],
    ['a choice', { name: 'ab', size: 1, kind: 'c' }, [['/kind', 'enum']]],
    ['a part of a list', { name: 'ab', size: 1, tags: ['x', 2] }, [['/tags/1', 'type']]],
  ]) {
    test(`are refused: ${what}`, async () => {
      const fault = await refuse(args);
      assert.equal(fault.path, tool_id);
      const [[pointer, keyword]] = errors;
      const found = told(fault);
      assert.equal(found.length, 1, JSON.stringify(found));
      assert.ok(found[0][0] === pointer || found[0][0] === '/z', JSON.stringify(found));
      assert.equal(found[0][1], keyword);
      assert.ok(fault.details.errors.every(({ message }) => message.length > 5));
    });
  }

  test('are told all at once', async () => {
    const fault = await refuse({ name: 1, kind: 'c', tags: [1] });
    assert.deepEqual(told(fault).map((error) => error.join(' ')).sort(),
      [' required', '/kind enum', '/name type', '/tags/0 type']);
  });

  test('are told with the schema of the part that failed', async () => {
    const fault = JSON.stringify(await refuse({ name: 'ab', size: 'large' }));
    assert.ok(fault.includes('"minimum":1'), fault);
    assert.ok(!fault.includes('minLength'), 'and only of that');
  });

  test('are told in bounds, however many', async () => {
    const fault = await refuse({ name: 'ab', size: 1, tags: Array(10_000).fill(5) });
    assert.ok(JSON.stringify(fault).length < 16_000, String(JSON.stringify(fault).length));
  });

  test('are refused in every mode, each in its form', async (t) => {
    const before = up.seen.length, bad = { name: 1, size: 1 };
    const direct = await open(t, gateway, 'http', { path: '/mcp/direct' });
    const { error } = await direct.request('tools/call', { name: 'make', arguments: bad });
    assert.deepEqual([error.code, error.data.error], [-32602, 'ARGS_INVALID'], JSON.stringify(error));
    assert.deepEqual(error.data.details.errors.map(({ pointer, keyword }) => [pointer, keyword]), [['/name', 'type']]);
    const stripped = await open(t, gateway, 'http', { path: '/mcp/transparent' });
    faultOf(await stripped.call('tool_execute', { tool_id, args: bad }), 'ARGS_INVALID');
    faultOf(await stripped.call(tool_id, bad), 'ARGS_INVALID');
    assert.equal(up.seen.length, before);
  });

  test('a tool without a schema takes what it is given', async () => {
    const result = await executeByName(client, 'up', 'free', { anything: [1, { a: null }] });
    assert.deepEqual(JSON.parse(textOf(result)), { anything: [1, { a: null }] });
  });
});

describe('schemas that nobody should trust', () => {
  const deep = (levels) => (levels ? { type: 'object', properties: { a: deep(levels - 1) } } : { type: 'string' });
  const wide = { type: 'object', properties: Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`p${i}`, {}])) };
  const catalog = {
    tools: [
      { name: 'deep', inputSchema: deep(20) }, { name: 'wide', inputSchema: wide },
      { name: 'long', inputSchema: { type: 'object', description: 'x'.repeat(5000) } },
      { name: 'typo', inputSchema: { type: 'object', properties: { a: { type: 'strnig' } } } },
      { name: 'fine', inputSchema: { type: 'object', properties: { a: { type: 'string' } } } },
    ],
  };
  const limits = { schema_limits: { max_bytes: 4096, max_depth: 8, max_properties: 30 } };

  test('are registered all the same, and reported with what is wrong', async (t) => {
    const dir = tempDir(t);
    writeJson(path.join(dir, 'c.json'), catalog);
    writeJson(path.join(dir, 'toolgate.yaml'), { ...limits, catalog: 'c.json' });
    const r = await runToolgate(['catalog', '--json'], { cwd: dir, env: { HOME: dir } });
    const out = JSON.parse(r.stdout);
    assert.deepEqual(out.items.map((item) => item.name).sort(), ['deep', 'fine', 'long', 'typo', 'wide']);
    const about = (name) => JSON.stringify(out.report.filter((entry) => JSON.stringify(entry).includes(name)));
    assert.match(about('deep'), /depth|deep/);
    assert.match(about('wide'), /propert/);
    assert.match(about('long'), /bytes/);
    assert.match(about('typo'), /strnig|type/);
    assert.doesNotMatch(about('fine'), /schema/i);
  });

  test('a schema that is none fails its call, not the arguments', async (t) => {
    const client = await connect(t, 'http', { up: snapshot(t, catalog) });
    const fault = faultOf(await executeByName(client, 'up', 'typo', { a: 'x' }), 'SCHEMA_INVALID');
    assert.equal(fault.retryable, false);
    assert.equal((await executeByName(client, 'up', 'fine', { a: 'x' })).isError ?? false, false);
  });

  test('on_invalid: raise does not take such a catalog', async (t) => {
    const gateway = await startMeta(t, { servers: { up: snapshot(t, catalog) }, config: { on_invalid: 'raise' } });
    const client = await open(t, gateway);
    faultOf(await client.call('tool_browse', { path: '/up' }), 'PATH_NOT_FOUND');
    assert.match(gateway.log, /rejected the new catalog .*schema/);
  });

  test('a remote reference is never fetched', async (t) => {
    const up = await other('http', 'up');
    let fetched = 0;
    const handle = up.handle.bind(up);
    up.handle = (req, res, body) => (req.url === '/schema.json' ? (fetched++, res.end('{}')) : handle(req, res, body));
    const properties = { a: { $ref: `${up.base}/schema.json` } };
    up.tools = [{ name: 'far', inputSchema: { type: 'object', properties } }];
    const client = await connect(t, 'http', { up });
    faultOf(await executeByName(client, 'up', 'far', { a: 1 }), 'SCHEMA_INVALID');
    assert.deepEqual([fetched, up.calls], [0, 0]);
  });
});

test('a schema that changed under the same id holds from then on', async (t) => {
  const shop = await startShop(t);
  for (let i = 0; i < 3; i++) assert.equal((await shop.execute(CREATE, { title: 'a' })).isError ?? false, false);
  const inputSchema = { ...CREATE_SCHEMA, properties: { title: { type: 'integer' }, body: { type: 'string' } } };
  const tools = shop.up.tools.map((tool) =>
    (tool.name === 'create_issue' ? { ...tool, inputSchema, description: 'Changed.' } : tool));
  shop.up.tools = tools;
  await shop.up.changed('tools');
  const described = async () => JSON.stringify(cardsOf(await shop.client.call('tool_browse', { path: '/github' })));
  await until(async () => (await described()).includes('Changed.'), 'the new description');
  faultOf(await shop.execute(CREATE, { title: 'a' }), 'ARGS_INVALID');
  assert.equal((await shop.execute(CREATE, { title: 1 })).isError ?? false, false);
});
