// SPDX-License-Identifier: Apache-2.0
// Signed decisions: servers verify who may call what, with keys that they fetch from the gateway.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { createLocalJWKSet, createRemoteJWKSet, jwtVerify } from 'jose';

import { toolgate } from './lib/gateway.mjs';
import { tempDir, until, writeJson } from './lib/process.mjs';
import { fetchRaw, HttpClient, startGateway } from './lib/raw.mjs';
import { SERVERS, text } from './lib/stateless.mjs';

const META = 'io.toolgate/decision', HEADER = 'toolgate-decision', CAPABILITY = 'adp_shop.order';
const TYPE = { typ: 'toolgate-decision+jwt', algorithms: ['EdDSA'] };
const ARGS = { b: 1e2, a: 'é', nested: { z: [1, 2], y: null } };
const CANONICAL = '{"a":"é","b":100,"nested":{"y":null,"z":[1,2]}}';
const sha256 = (value) => crypto.createHash('sha256').update(value).digest('hex');

/** A new private key in a file that only its owner can read. */
function keyFile(folder, name = 'key.pem') {
  const pem = crypto.generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' });
  fs.writeFileSync(path.join(folder, name), pem, { mode: 0o600 });
  return name;
}

const governanceOf = (signing, more = {}) => ({
  adapters: [{
    adapter_id: 'adp_shop', type: 'MCP', server: 'shop', sign_metadata: signing !== undefined, ...more,
    capabilities: [{ name: 'order', class: 'observe', approval_mode: 'network' }],
  }],
  permissions: [{ permission_id: 'p', adapter_id: 'adp_shop', capability: 'order', allow: true }],
  context: { defaults: { tenant: 'acme', scopes: ['shop'] } },
  ...(signing && { signing }),
});

/** A gateway with the scripted server `shop`, whose requests are in `seen` as { token, meta, header }. */
async function signingGateway(t, { kind = 'http', era = 'handshake', signing, adapter, retry, intercept } = {}) {
  const folder = tempDir(t), seen = [];
  const named = signing === undefined ? { key_file: keyFile(folder) } : signing ?? undefined;
  const order = (args, { msg, ctx }) => {
    const meta = msg.params._meta ?? {}, header = ctx?.req?.headers[HEADER];
    seen.push({ token: meta[META], meta, header });
    return text('ordered');
  };
  const shop = await SERVERS[era](kind, { tools: { order } });
  shop.intercept = intercept;
  const governance = writeJson(path.join(folder, 'governance.json'), governanceOf(named, adapter));
  const gateway = await startGateway(t, { servers: { shop }, config: { governance, ...(retry && { retry }) }, args: ['--mode', 'direct'] });
  const client = await new HttpClient(gateway.url, { headers: { 'toolgate-decision': 'forged' } }).connect();
  const call = (more = {}) => client.ask('tools/call', { name: 'order', arguments: ARGS, ...more });
  const keys = createRemoteJWKSet(new URL(`${gateway.url}/.well-known/jwks.json`));
  const verify = (token, options = {}) => jwtVerify(token, keys, { ...TYPE, issuer: 'toolgate', audience: 'shop', ...options });
  return { folder, gateway, governance, client, call, seen, verify, shop };
}

describe('a signed decision', () => {
  for (const [kind, era] of [['http', 'handshake'], ['http', 'stateless'], ['stdio', 'handshake'], ['sse', 'handshake']])
    test(`reaches a ${era} server on ${kind}`, async (t) => {
      const { call, seen, verify } = await signingGateway(t, { kind, era });
      await call();
      assert.equal(seen.length, 1);
      const [{ token, header }] = seen;
      if (kind === 'http') assert.equal(header, token);
      const { payload } = await verify(token);
      assert.deepEqual([payload.capability, payload.mode, payload.tenant, payload.sub, payload.scopes],
        [CAPABILITY, 'network', 'acme', 'local', ['shop']]);
      assert.match(payload.jti, /^pol_[0-9a-f]{16}$/);
      assert.equal(payload.exp - payload.iat, 60);
      assert.equal(payload.args_sha256, sha256(CANONICAL));
    });

  test('names another decision for every call', async (t) => {
    const { call, seen, verify } = await signingGateway(t);
    await call();
    await call();
    const [one, two] = await Promise.all(seen.map(async ({ token }) => (await verify(token)).payload.jti));
    assert.notEqual(one, two);
  });

  test('is not valid for another server, and not as the token of a client', async (t) => {
    const { call, seen, verify } = await signingGateway(t);
    await call();
    await assert.rejects(verify(seen[0].token, { audience: 'bank' }), { code: 'ERR_JWT_CLAIM_VALIDATION_FAILED' });
    await assert.rejects(verify(seen[0].token, { typ: 'at+jwt' }), { code: 'ERR_JWT_CLAIM_VALIDATION_FAILED' });
  });

  test('of one server, sent by a client that has seen it, does not reach another server', async (t) => {
    const folder = tempDir(t), seen = {};
    const server = (name) => SERVERS.handshake('http', { tools: { [name]: (args, { msg }) => {
      seen[name] = msg.params._meta?.[META];
      return text(seen[name] ?? 'none');  // a careless server shows its token to the client
    } } });
    const adapter = (name, sign_metadata) => ({ adapter_id: `adp_${name}`, type: 'MCP', server: name, sign_metadata,
      capabilities: [{ name, class: 'observe', approval_mode: 'network' }] });
    const governance = writeJson(path.join(folder, 'governance.json'), {
      adapters: [adapter('shop', true), adapter('bank', true), adapter('wiki', false)],
      permissions: ['shop', 'bank', 'wiki'].map((name) => ({ permission_id: `p_${name}`, adapter_id: `adp_${name}`, capability: name, allow: true })),
      signing: { key_file: keyFile(folder) },
    });
    const servers = { shop: await server('shop'), bank: await server('bank'), wiki: await server('wiki') };
    const gateway = await startGateway(t, { servers, config: { governance }, args: ['--mode', 'direct'] });
    const client = await new HttpClient(gateway.url).connect();
    const call = (name, token) => client.ask('tools/call', { name, arguments: {}, _meta: token && { [META]: token } });
    const [{ text: token }] = (await call('shop')).content;
    await call('bank', token);
    await call('wiki', token);
    assert.equal(seen.shop, token);
    assert.equal(seen.wiki, undefined);
    const keys = createRemoteJWKSet(new URL(`${gateway.url}/.well-known/jwks.json`)), options = { ...TYPE, issuer: 'toolgate', audience: 'bank' };
    assert.equal((await jwtVerify(seen.bank, keys, options)).payload.capability, 'adp_bank.bank');
    await assert.rejects(jwtVerify(token, keys, options), { code: 'ERR_JWT_CLAIM_VALIDATION_FAILED' });
  });

  test('replaces the one that a client sends, and leaves the other members of _meta', async (t) => {
    const { call, seen, verify } = await signingGateway(t);
    await call({ _meta: { [META]: 'forged', 'example.com/kept': 1 } });
    const [{ token, header, meta }] = seen;
    assert.equal(header, token);
    assert.equal((await verify(token)).payload.capability, CAPABILITY);
    assert.equal(meta['example.com/kept'], 1);
  });

  test('is made again for every attempt of a call', async (t) => {
    const tokens = [];
    const intercept = (req, res, body) => {
      if (req.method !== 'POST' || !body.includes('"tools/call"')) return false;
      tokens.push(req.headers[HEADER]);
      if (tokens.length > 1) return false;
      // The next attempt starts in a later second, so that its token differs.
      res.writeHead(503, { 'retry-after': '1' }).end();
      return true;
    };
    const { call, verify } = await signingGateway(t, { adapter: { retry: { max_attempts: 2, base_delay: 1.1 } }, intercept });
    await call();
    assert.equal(tokens.length, 2);
    const [first, second] = await Promise.all(tokens.map(async (token) => (await verify(token)).payload));
    assert.ok(second.iat > first.iat);
    assert.equal(second.jti, first.jti);
  });
});

test('without sign_metadata, no server gets a signed decision, and a client cannot forge one', async (t) => {
  const { gateway, call, seen } = await signingGateway(t, { signing: null, adapter: { sign_metadata: false } });
  await call({ _meta: { [META]: 'forged', 'example.com/kept': 1 } });
  const [{ token, header, meta }] = seen;
  assert.deepEqual([token, header, meta['example.com/kept']], [undefined, undefined, 1]);
  assert.equal((await fetchRaw(`${gateway.url}/.well-known/jwks.json`)).status, 404);
});

test('the keys need no credential, and contain no private part', async (t) => {
  const folder = tempDir(t), signing = { keys: [{ key_file: path.join(folder, keyFile(folder, 'new.pem')), kid: 'new' }, { key_file: path.join(folder, keyFile(folder, 'old.pem')) }] };
  const governance = writeJson(path.join(folder, 'governance.json'), governanceOf(signing));
  const auth = { tokens: [{ sha256: sha256('x'.repeat(32)) }], resource: 'https://tools.example.com/mcp' };
  const gateway = await startGateway(t, { servers: {}, config: { governance, auth } });
  const served = await fetchRaw(`${gateway.url}/.well-known/jwks.json`);
  assert.equal(served.status, 200);
  const { keys } = JSON.parse(served.text);
  assert.deepEqual(keys.map((key) => Object.keys(key).sort().join()), Array(2).fill('alg,crv,kid,kty,use,x'));
  assert.equal(keys[0].kid, 'new');
  // The thumbprint of RFC 7638.
  assert.equal(keys[1].kid, crypto.createHash('sha256').update(`{"crv":"Ed25519","kty":"OKP","x":"${keys[1].x}"}`).digest('base64url'));
});

test('when a new key signs, servers can still verify older decisions', async (t) => {
  const { folder, gateway, governance, call, seen, verify } = await signingGateway(t);
  await call();
  const old = seen[0].token;
  writeJson(governance, governanceOf({ keys: [{ key_file: keyFile(folder, 'next.pem') }, { key_file: 'key.pem' }] }));
  const jwks = async () => JSON.parse((await fetchRaw(`${gateway.url}/.well-known/jwks.json`)).text);
  await until(async () => (await jwks()).keys.length === 2, 'both keys');
  await call();
  const keys = createLocalJWKSet(await jwks()), options = { ...TYPE, issuer: 'toolgate', audience: 'shop' };
  const [first, second] = await Promise.all([old, seen[1].token].map((token) => jwtVerify(token, keys, options)));
  assert.notEqual(first.protectedHeader.kid, second.protectedHeader.kid);
  assert.ok(await verify(old));
});

describe('govern keys', () => {
  const run = (...args) => spawnSync(toolgate(), ['govern', 'keys', ...args], { encoding: 'utf8' });

  test('prints the JWK set', (t) => {
    const folder = tempDir(t), file = writeJson(path.join(folder, 'governance.json'), governanceOf({ key_file: keyFile(folder) }));
    const r = run(file);
    assert.deepEqual([r.status, r.stderr], [0, '']);
    assert.equal(JSON.parse(r.stdout).keys[0].crv, 'Ed25519');
  });

  test('reports a key that cannot be used, with its file and its place', (t) => {
    const folder = tempDir(t), file = writeJson(path.join(folder, 'governance.json'), governanceOf({ keys: [{ key_file: 'key.pem' }] }));
    assert.equal(run(file).status, 3);
    assert.match(run(file).stderr, /key\.pem.*\n/);
    fs.writeFileSync(path.join(folder, 'key.pem'), 'no key');
    const bad = run(file);
    assert.equal(bad.status, 3);
    assert.match(bad.stderr, /key\.pem: .*governance\.json:\/signing\/keys\/0/);
    keyFile(folder);
    fs.chmodSync(path.join(folder, 'key.pem'), 0o644);
    const open = run(file);
    assert.equal(open.status, 0);
    assert.match(open.stderr, /warning: .*key\.pem/);
  });

  test('ends with 1 if the file names no key', (t) => {
    assert.equal(run(writeJson(path.join(tempDir(t), 'governance.json'), governanceOf(undefined))).status, 1);
  });
});
