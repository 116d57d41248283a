// SPDX-License-Identifier: Apache-2.0
// A gateway that records governed calls, and the commands that read the records.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

import { ROOT, runToolgate } from './gateway.mjs';
import { open, snapshot, startMeta } from './meta.mjs';
import { tempDir, until, writeJson } from './process.mjs';

const TOKENS = { ann: 'a'.repeat(32), bob: 'b'.repeat(32) };
const sha256 = (text) => crypto.createHash('sha256').update(text).digest('hex');
export const tool = (name) => ({ name, description: `To ${name} goods.`, inputSchema: { type: 'object', properties: { idempotency_key: {} } } });

export const GOVERNANCE = {
  adapters: [{
    adapter_id: 'adp_shop', type: 'MCP', server: 'shop', capabilities: [
      { name: 'find', class: 'observe', approval_mode: 'read_only' },
      { name: 'order', class: 'act', approval_mode: 'destructive' },
    ],
  }],
  permissions: [
    { permission_id: 'p_find', adapter_id: 'adp_shop', capability: 'find', allow: true },
    { permission_id: 'p_order', adapter_id: 'adp_shop', capability: 'order', allow: true, roles: ['buyer'], arg_constraints: { amount: { required: true, max: 100 } } },
  ],
  idempotency: { mint: 'request' },
  context: { defaults: { role: 'buyer' }, agents: { ann: { tenant: 'acme' }, bob: { tenant: 'globex' } } },
};

/**
 * A gateway with records, a client for each agent, and `toolgate` in its folder. `shop` is its server; without it, one
 * that answers every call of `find` and `order`.
 */
export async function startShop(t, { governance = GOVERNANCE, config: more = {}, shop = snapshot(t, { tools: [tool('find'), tool('order')] }), ...options } = {}) {
  const dir = tempDir(t);
  const file = writeJson(path.join(dir, 'governance.json'), governance);
  const tokens = Object.entries(TOKENS).map(([agent, token]) => ({ sha256: sha256(token), agent }));
  const config = { state_dir: path.join(dir, 'state'), governance: file, auth: { tokens }, ...more };
  writeJson(path.join(dir, 'toolgate.yaml'), config);  // for the commands
  const gateway = await startMeta(t, { config, servers: { shop }, ...options });
  const as = (agent, kind = 'http') => open(t, gateway, kind, { headers: { authorization: `Bearer ${TOKENS[agent]}` } });
  const cli = (...args) => runToolgate(args, { cwd: dir });
  const lines = async (...args) => {
    const r = await cli(...args, '--json');
    assert.equal(r.status, 0, r.stderr);
    return r.stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
  };
  /** Waits until there are so many records of a kind, `decisions` or `calls`. */
  const recorded = (kind, count, ...args) => until(async () => {
    const found = await lines(kind, 'list', ...args);
    return found.length >= count && found;
  }, `${count} ${kind}`);
  const decisions = (count, ...args) => recorded('decisions', count, ...args);
  return { dir, gateway, as, cli, lines, recorded, decisions, folder: path.join(dir, 'state/records') };
}

const ajv = new Ajv2020({ strict: false, allErrors: true });
(addFormats.default ?? addFormats)(ajv);
const schemas = Object.fromEntries(['call', 'result'].map((kind) =>
  [kind, ajv.compile(JSON.parse(fs.readFileSync(path.join(ROOT, `data/schemas/contextos.tool_${kind}.v1.json`), 'utf8')))]));

/** Fails unless both envelopes `{ call, result }` match their schemas. */
export function assertEnvelopes(both) {
  for (const kind of ['call', 'result']) assert.ok(schemas[kind](both[kind]), ajv.errorsText(schemas[kind].errors));
}
