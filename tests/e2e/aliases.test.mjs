// SPDX-License-Identifier: Apache-2.0
// Read-only aliases of real servers. tests/unit/test_aliases.c has most tests of aliases.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { tempDir, writeJson } from './lib/process.mjs';
import { HttpClient, startGateway, until } from './lib/raw.mjs';

const SERVER = fileURLToPath(new URL('./servers/versioned.mjs', import.meta.url));

for (const pins of ['off', 'warn'])
  test(`another version of the running server gives an alias another epoch (pins: ${pins})`, async (t) => {
    const dir = tempDir(t), file = (name) => path.join(dir, name);
    fs.writeFileSync(file('version'), '1');
    const governance = writeJson(file('governance.json'), { pins,
      adapters: [{ adapter_id: 'adp_shop', type: 'MCP', server: 'shop', capabilities: [{ name: 'find', class: 'observe', approval_mode: 'read_only' }] }],
      permissions: [{ permission_id: 'p', adapter_id: 'adp_shop', capability: 'find', allow: true }],
      aliases: [{ alias: 'find_goods', capability_id: 'adp_shop.find', ttl_s: 1000 }] });
    const gateway = await startGateway(t, { servers: { shop: { command: process.execPath, args: [SERVER], env: { VERSION: file('version') } } }, config: { governance, state_dir: file('state') }, args: ['--mode', 'gateway'] });
    const client = await new HttpClient(gateway.url).connect();
    const call = async (args) => (await client.ask('tools/call', { name: 'find_goods', arguments: args })).content[0].text;
    const epoch = async () => (await client.tools()).find((it) => it.name === 'find_goods')?._meta['toolgate/alias'].epoch;
    assert.equal(await call({}), '1');
    const first = await epoch();
    assert.equal(await epoch(), first);
    fs.writeFileSync(file('version'), '2');
    assert.equal(await call({ exit: true }), '1');
    await until(() => gateway.log.match(/shop: ready/g)?.length === 2, () => `the next start: ${gateway.log}`);
    assert.equal(await call({}), '2');
    await until(async () => await epoch() !== first, 'another epoch');
  });
