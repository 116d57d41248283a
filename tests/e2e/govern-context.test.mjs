// SPDX-License-Identifier: Apache-2.0
// Run contexts from real tokens: who acts (P01 to P04), which budget a run has, and that no client can widen its context.
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test } from 'node:test';

import { startIssuer } from './lib/issuer.mjs';
import { tempDir, writeJson } from './lib/process.mjs';
import { HttpClient, onEnd, startGateway } from './lib/raw.mjs';
import { accept, form, handshakeServer, HttpCaller, inputRequired, statelessServer, text } from './lib/stateless.mjs';

const capability = (name, kind, approval_mode, more) => ({ name, class: kind, approval_mode, ...more });
const GOVERNANCE = {
  adapters: [{
    adapter_id: 'adp_shop', type: 'MCP', server: 'shop',
    capabilities: [
      capability('look', 'observe', 'read_only'),
      capability('mail', 'act', 'delegated'),
      capability('refund', 'act', 'destructive', { scopes: ['refund'] }),
      capability('ask', 'observe', 'read_only'),
    ],
  }],
  permissions: ['look', 'mail', 'refund', 'ask'].map((name) => ({
    permission_id: `p_${name}`, adapter_id: 'adp_shop', capability: name, allow: true, ...(name === 'refund' && { roles: ['lead'] }),
  })),
  context: {
    defaults: { role: 'intern', scopes: ['refund'], budget: { max_calls: 3 } },
    agents: { backend: { tenant: 'acme' } },
    claims: { tenant: 'org', role: 'role', run_id: 'run', safety_mode: 'ceiling', budget: 'budget', delegation_expires: 'until' },
  },
};

/** A gateway before a server of one era, and clients of both eras with tokens that have these claims. */
async function setup(t, { serve = handshakeServer } = {}) {
  const issuer = await startIssuer(t), ran = [];
  const tools = Object.fromEntries(['look', 'mail', 'refund'].map((name) => [name, (args) => {
    ran.push(name);
    return text(`${name} ${JSON.stringify(args)}`);
  }]));
  tools.ask = (args, { msg: { params: { inputResponses } } }) => {
    ran.push('ask');
    return inputResponses ? text('answered') : inputRequired({ q: { method: 'elicitation/create', params: form('?') } }, 'state');
  };
  const shop = await serve('stdio', { name: 'shop', tools });
  const governance = writeJson(path.join(tempDir(t), 'governance.json'), GOVERNANCE);
  const gateway = await startGateway(t, {
    servers: { shop }, config: { governance, auth: { jwt: { issuer: issuer.url, jwks_url: issuer.jwksUrl } } },
  });
  const token = (claims) => issuer.token(`${gateway.url}/mcp`, claims);
  const stateless = (claims) => {
    const client = new HttpCaller(gateway.url, { token: token(claims), capabilities: { elicitation: { form: {} } } });
    onEnd(t, () => client.close());
    return client;
  };
  const session = async (claims) => {
    const client = await new HttpClient(gateway.url, { headers: { authorization: `Bearer ${token(claims)}` } }).connect();
    onEnd(t, () => client.close());
    return client;
  };
  /** How a call ends: "ok", or the code of its fault. */
  const outcome = async (client, name, args = {}, meta = {}) => {
    const { result, error } = await client.call(name, args, {}, { meta });
    return error ? error.data?.error ?? error.data?.code ?? error.message : result.isError ? JSON.parse(result.content[0].text).error : 'ok';
  };
  return { gateway, ran, stateless, session, outcome, token };
}

const NESTED = (...names) => names.reduceRight((act, sub) => ({ sub, ...(act && { act }) }), undefined);

describe('who acts', () => {
  const refused = {
    'P01: a chain with a repeated agent': [{ act: NESTED('a', 'b', 'a') }, 'IDENTITY_INVALID'],
    'P01: the agent of the token, which acted before': [{ act: NESTED('a', 'backend') }, 'IDENTITY_INVALID'],
    'P03: an actor with more scopes than the actor before it': [{ scope: 'a b', act: { sub: 'x', scope: 'a' } }, 'IDENTITY_INVALID'],
    'P03: the same with scp': [{ scp: ['a', 'b'], act: { sub: 'x', scp: ['a'] } }, 'IDENTITY_INVALID'],
    'P04: a token of another tenant': [{ org: 'globex' }, 'TENANT_MISMATCH'],
    'P04: an actor of another tenant': [{ org: 'acme', act: { sub: 'x', org: 'globex' } }, 'TENANT_MISMATCH'],
    'an actor without a subject': [{ act: { act: { sub: 'x' } } }, 'IDENTITY_INVALID'],
    'a list of actors': [{ act: [{ sub: 'x' }] }, 'IDENTITY_INVALID'],
    'a role that is a list': [{ role: ['lead'] }, 'IDENTITY_INVALID'],
    'a ceiling that is no mode': [{ ceiling: 'Destructive' }, 'IDENTITY_INVALID'],
    'a budget of another kind': [{ budget: { calls: 9 } }, 'IDENTITY_INVALID'],
    'scopes that cannot be read': [{ scope: 'refund '.repeat(700) }, 'IDENTITY_INVALID'],
  };
  test('a token with a wrong chain or claim cannot use anything', async (t) => {
    const { stateless, session, outcome, ran } = await setup(t);
    for (const [what, [claims, code]] of Object.entries(refused)) {
      assert.equal(await outcome(stateless(claims), 'look'), code, what);
      const list = await stateless(claims).send('tools/list');
      assert.equal(list.error?.data?.error ?? list.error?.data?.code, code, `${what}: ${JSON.stringify(list)}`);
      const { error } = await (await session(claims)).request('tools/call', { name: 'look', arguments: {} });
      assert.ok(error, what);
    }
    assert.deepEqual(ran, []);
    assert.equal(await outcome(stateless({ org: 'acme', act: NESTED('a', 'b') }), 'look'), 'ok');
  });

  test('P02: mode delegated needs a user whose delegation has not ended', async (t) => {
    const { stateless, outcome, ran } = await setup(t);
    const seen = async (claims) => (await stateless(claims).send('tools/list')).result.tools.map((tool) => tool.name).includes('mail');
    assert.deepEqual([await outcome(stateless({ sub: 'ann' }), 'mail'), await seen({ sub: 'ann' })], ['ok', true]);
    for (const claims of [{ sub: 'job', client_id: 'job' }, { sub: 'x', gty: 'client-credentials' }, { sub: 'x', azp: 'y', preferred_username: 'service-account-y' }]) {
      assert.equal(await seen(claims), false);
      assert.notEqual(await outcome(stateless(claims), 'mail', {}, { more: { 'toolgate/mode': 'delegated' } }), 'ok');
    }
    assert.equal(await outcome(stateless({ sub: 'ann', until: 1 }), 'mail'), 'DELEGATION_EXPIRED');
    assert.deepEqual(ran, ['mail']);
  });

  test('scopes of the governance file are not those of a token', async (t) => {
    const { stateless, outcome } = await setup(t);
    const seen = async (claims) => (await stateless(claims).send('tools/list')).result.tools.map((tool) => tool.name).includes('refund');
    assert.equal(await seen({ role: 'lead', scope: 'refund' }), true);
    assert.equal(await outcome(stateless({ role: 'lead', scope: 'refund' }), 'refund'), 'ok');
    for (const claims of [{ role: 'lead' }, { role: 'lead', scope: 'Refund' }, { role: 'lead', Scope: 'refund' }, { scope: 'refund' }])
      assert.equal(await seen(claims), false, JSON.stringify(claims));
  });
});

describe('which budget', () => {
  test('all tokens of a run share it, also at the same time; a run of another tenant has its own', async (t) => {
    const { stateless, session, outcome, ran } = await setup(t);
    const run = { run: 'r1', org: 'acme' };
    const clients = [stateless({ ...run, sub: 'ann' }), stateless({ ...run, sub: 'bob' }), stateless({ ...run, sub: 'ann', agent: 'backend.night' })];
    const outcomes = await Promise.all(Array.from({ length: 12 }, (_, i) => outcome(clients[i % 3], 'look')));
    assert.deepEqual(outcomes.toSorted(), [...Array(9).fill('RUN_BUDGET_EXCEEDED'), 'ok', 'ok', 'ok']);
    assert.deepEqual(ran, ['look', 'look', 'look']);
    const again = await session({ ...run, sub: 'ann' });
    assert.ok((await again.request('tools/call', { name: 'look', arguments: {} })).error);
    assert.equal(await outcome(stateless({ run: 'r1', org: 'globex', agent: 'other', sub: 'eve' }), 'look'), 'ok');
  });

  test('a token can only lower the budget of the file', async (t) => {
    const { stateless, outcome } = await setup(t);
    const wide = stateless({ run: 'a', budget: { max_calls: 100, max_cost: 5 } }), narrow = stateless({ run: 'b', budget: { max_calls: 1 } });
    const many = async (client, n) => { for (let i = 0, all = []; ; i++) if (all.push(await outcome(client, 'look')) === n) return all; };
    assert.deepEqual(await many(wide, 4), ['ok', 'ok', 'ok', 'RUN_BUDGET_EXCEEDED']);
    assert.deepEqual(await many(narrow, 2), ['ok', 'RUN_BUDGET_EXCEEDED']);
  });

  test('a call that goes on with answers counts once', async (t) => {
    const { stateless, ran } = await setup(t, { serve: statelessServer });
    const client = stateless({ run: 'r', budget: { max_calls: 1 } });
    const first = await client.call('ask');
    assert.equal(first.result?.resultType, 'input_required', JSON.stringify(first));
    const answers = { inputResponses: { q: accept('x') }, requestState: first.result.requestState };
    assert.equal((await client.call('ask', {}, answers)).result?.content[0].text, 'answered');
    const { error } = await client.call('ask', {}, answers);  // a requestState is valid once
    assert.ok(error);
    const { error: exceeded } = await client.call('ask');
    assert.equal(exceeded?.data?.error ?? exceeded?.data?.code, 'RUN_BUDGET_EXCEEDED', JSON.stringify(exceeded));
    assert.deepEqual(ran, ['ask', 'ask']);
  });
});
