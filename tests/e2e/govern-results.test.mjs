// SPDX-License-Identifier: Apache-2.0
// Governance of results: output_schemas for large results and for tasks.
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { tempDir, writeJson } from './lib/process.mjs';
import { HttpClient, startGateway } from './lib/raw.mjs';

const SERVER = fileURLToPath(new URL('./servers/priced.mjs', import.meta.url));
const LARGE = 20_000; // rows: more than 2 MiB

/** A client of a gateway with the server `shop`, whose results are validated. */
async function shop(t, output_schemas, mode = 'direct') {
  const governance = writeJson(path.join(tempDir(t), 'governance.json'), {
    output_schemas,
    adapters: [{ adapter_id: 'adp_shop', type: 'MCP', server: 'shop', capabilities: [{ name: 'price', class: 'observe', approval_mode: 'read_only' }] }],
    permissions: [{ permission_id: 'p', adapter_id: 'adp_shop', capability: 'price', allow: true }],
  });
  const servers = { shop: { command: process.execPath, args: [SERVER] } };
  const gateway = await startGateway(t, { servers, config: { governance }, args: ['--mode', mode] });
  return new HttpClient(gateway.url, { capabilities: {} }).connect();
}

const price = (client, args) => client.ask('tools/call', { name: 'price', arguments: args });
const fault = (code) => (e) => {
  assert.equal(e.data?.error, code, e.message);
  return true;
};

describe('with output_schemas: enforce', () => {
  test('a large result that matches its schema is returned', async (t) => {
    const client = await shop(t, 'enforce');
    const { structuredContent } = await price(client, { price: 5, rows: LARGE });
    assert.deepEqual([structuredContent.price, structuredContent.rows.length], [5, LARGE]);
  });

  test('a large result that violates its schema is a fault', async (t) => {
    const client = await shop(t, 'enforce');
    await assert.rejects(price(client, { price: 'five', rows: LARGE }), (e) => {
      assert.deepEqual([e.data.error, e.data.details.errors[0].pointer], ['OUTPUT_SCHEMA_INVALID', '/price']);
      return true;
    });
  });

  test('a large result is validated in gateway mode, too', async (t) => {
    const client = await shop(t, 'enforce', 'gateway');
    const answer = await client.ask('tools/call', { name: 'tool_execute', arguments: { tool_id: 'shop:price', args: { price: 'five', rows: LARGE } } });
    assert.ok(answer.isError);
    assert.equal(answer._meta['io.toolgate/fault'], 'OUTPUT_SCHEMA_INVALID');
  });

  test('the result of a task is validated when the client fetches it', async (t) => {
    const client = await shop(t, 'enforce');
    const made = async (args) => (await client.makeTask('price', args)).taskId;
    assert.equal((await client.taskResult(await made({ price: 5 }))).structuredContent.price, 5);
    await assert.rejects(client.taskResult(await made({ price: 'five' })).then((r) => assert.fail(JSON.stringify(r))), fault('OUTPUT_SCHEMA_INVALID'));
  });
});

test('with output_schemas: warn, a large invalid result is returned', async (t) => {
  const client = await shop(t, 'warn');
  const { structuredContent } = await price(client, { price: 'five', rows: LARGE });
  assert.deepEqual([structuredContent.price, structuredContent.rows.length], ['five', LARGE]);
});
