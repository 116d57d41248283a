// SPDX-License-Identifier: Apache-2.0
// Workload tokens: a second token proves which program sends the requests of a user.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';

import { startIssuer } from './lib/issuer.mjs';
import { snapshot, startMeta } from './lib/meta.mjs';
import { tempDir, writeJson } from './lib/process.mjs';
import { fetchRaw, HttpClient, INITIALIZE, JSON_HEADERS } from './lib/raw.mjs';

const WORKLOAD = 'spiffe://acme/ns/prod/sa/triage', AUDIENCE = 'toolgate-workloads';
const tool = (name) => ({ name, description: `To ${name}.`, inputSchema: { type: 'object' } });

const GOVERNANCE = {
  adapters: [{
    adapter_id: 'adp_shop', type: 'MCP', server: 'shop',
    capabilities: [
      { name: 'find', class: 'observe', approval_mode: 'read_only' },
      { name: 'refund', class: 'observe', approval_mode: 'read_only', claims: ['workload'] },
    ],
  }],
  permissions: ['find', 'refund'].map((name) => ({ permission_id: `p_${name}`, adapter_id: 'adp_shop', capability: name, allow: true })),
};

/** A gateway whose users have tokens of one issuer, and whose workloads have tokens of another one. */
async function setup(t, workload = {}) {
  const users = await startIssuer(t), workloads = await startIssuer(t);
  const governance = writeJson(path.join(tempDir(t), 'governance.json'), GOVERNANCE);
  const auth = {
    jwt: { issuer: users.url, jwks_url: users.jwksUrl },
    workload: { issuer: workloads.url, jwks_url: workloads.jwksUrl, audience: AUDIENCE, ...workload },
  };
  const gateway = await startMeta(t, {
    servers: { shop: snapshot(t, { tools: [tool('find'), tool('refund')] }) }, config: { modes: ['direct'], governance, auth },
  });
  const user = (claims) => ({ authorization: `Bearer ${users.token(`${gateway.url}/mcp`, claims)}` });
  const proof = (claims) => ({ 'toolgate-workload': workloads.token(AUDIENCE, { sub: WORKLOAD, agent: undefined, ...claims }) });
  const status = async (headers) => (await fetchRaw(`${gateway.url}/mcp`, {
    method: 'POST', headers: { ...JSON_HEADERS, ...headers }, body: INITIALIZE,
  })).status;
  const tools = async (headers) => {
    const client = await new HttpClient(gateway.url, { path: '/mcp/direct', headers }).connect();
    const names = (await client.ask('tools/list', {})).tools.map((it) => it.name).sort();
    await client.close();
    return names;
  };
  return { gateway, users, workloads, user, proof, status, tools };
}

test('a tool that requires a workload exists only for a client with a workload token', async (t) => {
  const { user, proof, tools } = await setup(t);
  assert.deepEqual(await tools(user()), ['find']);
  assert.deepEqual(await tools({ ...user(), ...proof() }), ['find', 'refund']);
  assert.deepEqual(await tools(user({ workload: WORKLOAD })), ['find']);
});

test('the first request waits until the keys of both issuers are fetched', async (t) => {
  const { users, workloads, user, proof, status } = await setup(t);
  assert.deepEqual([users.count('GET /jwks.json'), workloads.count('GET /jwks.json')], [0, 0]);
  assert.equal(await status({ ...user(), ...proof() }), 200);
  assert.deepEqual([users.count('GET /jwks.json'), workloads.count('GET /jwks.json')], [1, 1]);
});

test('an invalid workload token is refused, and does not replace the token of the user', async (t) => {
  const { users, gateway, user, proof, status } = await setup(t);
  const asUser = { 'toolgate-workload': users.token(`${gateway.url}/mcp`) };
  assert.equal(await status({ ...user(), ...asUser }), 401);
  assert.equal(await status({ ...user(), ...proof({ aud: 'other' }) }), 401);
  assert.equal(await status({ ...user(), ...proof({ exp: 1 }) }), 401);
  assert.equal(await status({ ...user(), 'toolgate-workload': 'x' }), 401);
  assert.equal(await status(proof()), 401);
  assert.equal(await status(user()), 200);
});

test('with required: true, every request needs a workload token', async (t) => {
  const { user, proof, status } = await setup(t, { required: true });
  assert.equal(await status(user()), 401);
  assert.equal(await status({ ...user(), ...proof() }), 200);
});

test('a session of one workload does not exist for another workload of the same user', async (t) => {
  const { gateway, user, proof } = await setup(t);
  const client = await new HttpClient(gateway.url, { path: '/mcp/direct', headers: { ...user(), ...proof() } }).connect();
  const body = JSON.stringify({ jsonrpc: '2.0', id: 9, method: 'tools/list' });
  const use = async (headers) => (await fetchRaw(`${gateway.url}/mcp/direct`, {
    method: 'POST', headers: { ...client.headers(), 'toolgate-workload': '', ...headers }, body,
  })).status;
  assert.equal(await use({ ...user(), ...proof() }), 200);
  assert.equal(await use({ ...user(), ...proof({ sub: 'spiffe://acme/ns/prod/sa/other' }) }), 404);
  const { 'toolgate-workload': _, ...bare } = client.headers();
  assert.equal((await fetchRaw(`${gateway.url}/mcp/direct`, { method: 'POST', headers: { ...bare, ...user() }, body })).status, 404);
  await client.close();
});
