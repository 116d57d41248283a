// SPDX-License-Identifier: Apache-2.0
// Receipts of governed calls: proofs that are verified without the audit log, here also by code that shares nothing
// with the gateway.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { runToolgate } from './lib/gateway.mjs';
import { execute, open, snapshot, startMeta } from './lib/meta.mjs';
import { tempDir, until, writeJson } from './lib/process.mjs';

const tool = { name: 'find', description: 'Finds goods.', inputSchema: { type: 'object' } };
const GOVERNANCE = {
  adapters: [{ adapter_id: 'adp_shop', type: 'MCP', server: 'shop', capabilities: [{ name: 'find', class: 'observe', approval_mode: 'read_only' }] }],
  permissions: [{ permission_id: 'p_find', adapter_id: 'adp_shop', capability: 'find', allow: true }],
};

async function startShop(t, audit = {}) {
  const dir = tempDir(t), log = path.join(dir, 'audit.jsonl');
  const config = {
    state_dir: path.join(dir, 'state'), governance: writeJson(path.join(dir, 'governance.json'), GOVERNANCE),
    audit: { file: log, head_interval: 1, ...audit },
  };
  writeJson(path.join(dir, 'toolgate.yaml'), config);
  const gateway = await startMeta(t, { config, servers: { shop: snapshot(t, { tools: [tool] }) } });
  const cli = (...args) => runToolgate(args, { cwd: dir });
  const calls = () => until(async () => {
    const r = await cli('calls', 'list', '--json');
    const found = r.stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
    return found.length && found;
  }, 'recorded calls');
  return { dir, log, gateway, cli, calls, client: await open(t, gateway, 'http') };
}

const sha256 = (...parts) => parts.reduce((h, part) => h.update(part), crypto.createHash('sha256')).digest();

/** Verifies a receipt as RFC 6962 and RFC 8037 describe; throws if it is not valid. */
function verify(receipt) {
  const line = JSON.parse(receipt.line), { head } = receipt;
  assert.equal(line.envelope_hash, `sha256:${sha256(receipt.envelopes).toString('hex')}`);
  const hash = sha256(receipt.line.slice(0, receipt.line.indexOf(',"hash":')));
  assert.equal(line.hash, hash.toString('hex'));
  let node = sha256(Buffer.from([0]), hash), at = receipt.index, last = receipt.size - 1;
  for (const hex of receipt.path) {
    const other = Buffer.from(hex, 'hex');
    if (at % 2 === 1 || at === last) {
      node = sha256(Buffer.from([1]), other, node);
      while (at % 2 === 0 && at > 0) { at /= 2; last = Math.floor(last / 2); }
    } else node = sha256(Buffer.from([1]), node, other);
    at = Math.floor(at / 2);
    last = Math.floor(last / 2);
  }
  assert.equal(node.toString('hex'), head.root);
  assert.equal(head.size, receipt.size);
  const key = crypto.createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x: head.key } });
  const signed = `toolgate-audit-head\n${head.first}\n${head.size}\n${head.root}\n${head.time}\n`;
  assert.ok(crypto.verify(null, Buffer.from(signed), key, Buffer.from(head.sig, 'base64url')));
  return JSON.parse(receipt.envelopes);
}

describe('receipts', () => {
  test('prove makes a receipt for each call, while the gateway runs and afterwards', async (t) => {
    const { dir, gateway, cli, calls, client } = await startShop(t);
    for (let i = 0; i < 5; i++) await execute(client, 'shop', 'find', { i });
    const [first] = await calls();
    // A head is signed a second after the call, although no further line is written.
    const made = await until(async () => {
      const r = await cli('audit', 'prove', first.id);
      return r.status === 0 && r.stdout;
    }, 'a receipt');
    const { call, result } = verify(JSON.parse(made));
    assert.equal(call.tool_call_id, first.id);
    assert.equal(result.status, 'completed');
    await gateway.stop();
    for (const { id } of await calls()) {
      const r = await cli('audit', 'prove', id);
      assert.equal(r.status, 0, r.stderr);
      verify(JSON.parse(r.stdout));
    }
    const byDecision = await cli('audit', 'prove', call.policy_decision_id);
    assert.equal(JSON.parse(byDecision.stdout).line, JSON.parse(made).line);

    // Offline: neither the log nor the state folder is needed.
    const file = path.join(tempDir(t), 'receipt.json');
    fs.writeFileSync(file, made);
    fs.rmSync(path.join(dir, 'state'), { recursive: true });
    const { key } = JSON.parse(made).head;
    const checked = await runToolgate(['audit', 'check-proof', file, '--json', `--key=${key}`], { cwd: path.dirname(file) });
    assert.equal(checked.status, 0, checked.stderr);
    assert.equal(JSON.parse(checked.stdout).tool_call_id, first.id);
    fs.writeFileSync(file, made.replace('completed', 'cancelled'));
    assert.equal((await runToolgate(['audit', 'check-proof', file], { cwd: dir })).status, 1);
    fs.writeFileSync(file, made);
    const other = crypto.generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }).x;
    assert.equal((await runToolgate(['audit', 'check-proof', file, `--key=${other}`], { cwd: dir })).status, 1);
  });

  test('a call without a record or a log without receipts is reported', async (t) => {
    const { cli, calls, client } = await startShop(t, { receipts: false });
    await execute(client, 'shop', 'find', {});
    const [{ id }] = await calls();
    assert.equal((await cli('audit', 'prove', 'tool_0000000000000000')).status, 1);
    assert.equal((await cli('audit', 'prove', id)).status, 3);
  });

  test('the key is in state_dir, and only its owner can read it', async (t) => {
    const { dir } = await startShop(t);
    const key = path.join(dir, 'state/gateway.pem');
    assert.equal(fs.statSync(key).mode & 0o777, 0o600);
  });
});
