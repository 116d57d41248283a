// SPDX-License-Identifier: Apache-2.0
// Who it was: every line of the audit log leads to a token or a subject, and those who are not let in are counted and
// logged, however many they are.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { assertWhole, brief, startAudited, written } from './lib/audit.mjs';
import { makeKey, seconds, signed, startIssuer } from './lib/issuer.mjs';
import { faultOf, open, snapshot } from './lib/meta.mjs';
import { tempDir, until, writeJson } from './lib/process.mjs';
import { fetchRaw, JSON_HEADERS, LATEST, requestText } from './lib/raw.mjs';

const sha256 = (text) => crypto.createHash('sha256').update(text).digest('hex');
const bearer = (token) => ({ authorization: `Bearer ${token}` });
const tool = (name) => ({ name, description: `To ${name}.`, inputSchema: { type: 'object' } });
const TOKENS = { named: 'n'.repeat(32), bound: 'b'.repeat(32), bare: 'x'.repeat(32) };
const INITIALIZE = requestText('0', 'initialize', {
  protocolVersion: LATEST, capabilities: {}, clientInfo: { name: 'n', version: '1' },
});

/** A gateway with an audit log, tokens of an issuer and three of its own, and its pages at an address of their own. */
async function start(t, { rules, jwt = {}, admin = {}, ...options } = {}) {
  const issuer = await startIssuer(t);
  const tokens = [
    { sha256: sha256(TOKENS.named), agent: 'clerk', name: 'the till' },
    { sha256: sha256(TOKENS.bound), agent: 'clerk' },
    { sha256: sha256(TOKENS.bare) },
  ];
  const world = await startAudited(t, {
    servers: { shop: snapshot(t, { tools: [tool('buy'), tool('refund')] }) },
    config: {
      auth: { tokens, jwt: { issuer: issuer.url, jwks_url: issuer.jwksUrl, ...jwt } },
      admin: { listen: '127.0.0.1:0', ...admin },
    },
    args: rules ? ['--rules', writeJson(path.join(tempDir(t), 'rules.json'), rules)] : [],
    ...options,
  });
  const { gateway } = world;
  const said = await until(() => /readiness and metrics at (\S+):(\d+)/.exec(gateway.log), 'the pages');
  const pages = `http://${said[1]}:${said[2]}`;
  const knock = (token, headers = {}) => fetchRaw(`${gateway.url}/mcp`, {
    method: 'POST', headers: { ...JSON_HEADERS, ...(token && bearer(token)), ...headers }, body: INITIALIZE,
  });
  const token = (claims, more) => issuer.token(`${gateway.url}/mcp`, claims, more);
  /** What was counted: the reasons that are not zero. */
  const failures = async () => {
    const page = await (await fetch(`${pages}/metrics`)).text();
    const found = page.matchAll(/^toolgate_auth_failures_total\{reason="(\w+)"\} (\d+)$/gm);
    return Object.fromEntries([...found].map(([, reason, n]) => [reason, Number(n)]).filter(([, n]) => n));
  };
  return { ...world, issuer, pages, knock, token, failures };
}

describe('who it was', () => {
  test('the name of a token, its agent or how its hash begins; issuer and subject of a JSON Web Token', async (t) => {
    const { gateway, issuer, token, file, finish } = await start(t);
    const secret = 'ghp_0123456789abcdefghijklmnopqrstuvwxyz';
    const jwts = [token({ sub: 'alice@example.com', agent: 'ops' }), token({ sub: `u ${secret}`, agent: 'ops' }),
      token({ sub: '\u00e9'.repeat(2000), agent: 'ops' })];
    for (const shown of [...Object.values(TOKENS), ...jwts])
      await (await open(t, gateway, 'http', { headers: bearer(shown) })).tools();
    const lines = (await finish()).filter((l) => l.operation === 'tools/list');
    assert.deepEqual(lines.slice(0, 4).map(({ agent_id, subject, issuer: by }) => [agent_id, subject, by]), [
      ['clerk', 'the till', undefined],
      ['clerk', 'clerk', undefined],
      [null, `sha256:${sha256(TOKENS.bare).slice(0, 8)}`, undefined],
      ['ops', 'alice@example.com', issuer.url],
    ]);
    assert.equal(new Set(lines.map((l) => l.principal)).size, 6, 'each is another principal');
    const [masked, long] = lines.slice(4);
    assert.match(masked.subject, /^u \S/);
    assert.ok(long.subject.length <= 256 && long.subject.startsWith('\u00e9\u00e9'));
    const text = fs.readFileSync(file, 'utf8');
    for (const shown of [secret, ...Object.values(TOKENS), ...jwts]) assert.ok(!text.includes(shown), 'never the token');
    await assertWhole(file);
  });

  test('whoever comes without a credential has neither', async (t) => {
    const { gateway, finish } = await startAudited(t, { servers: { shop: snapshot(t, { tools: [tool('buy')] }) } });
    await (await open(t, gateway)).tools();
    const [line] = await finish();
    assert.ok(!('subject' in line) && !('issuer' in line));
  });
});

describe('who is not let in', () => {
  test('is counted and logged by the reason', async (t) => {
    const { gateway, issuer, token, knock, failures, file, finish } = await start(t, { jwt: { scopes: ['tools'] } });
    const good = (claims, more) => token({ scope: 'tools', ...claims }, more);
    const [key] = issuer.keys, other = makeKey('ES256', key.kid);
    const claims = { iss: issuer.url, aud: `${gateway.url}/mcp`, agent: 'ops', exp: seconds() + 600 };
    const cases = {
      missing: undefined,
      unknown_token: 'w'.repeat(32),
      invalid_token: 'a.b.c',
      expired: good({ exp: seconds() - 60 }),
      not_yet_valid: good({ nbf: seconds() + 60 }),
      issuer: good({ iss: 'https://evil.example' }),
      audience: issuer.token('https://another.example/mcp', { scope: 'tools' }),
      no_agent: good({ agent: 'a b' }),
      signature: signed({ alg: 'ES256', kid: key.kid }, claims, other.privateKey),
      unknown_key: signed({ alg: 'ES256', kid: 'another' }, claims, other.privateKey),
      algorithm: signed({ alg: 'HS256', kid: key.kid }, claims, key.pem),
      scope: token({ scope: 'other' }),
    };
    for (const [reason, shown] of Object.entries(cases))
      assert.equal((await knock(shown)).status, reason === 'scope' ? 403 : 401, reason);
    assert.equal((await knock(good())).status, 200);
    assert.deepEqual(await failures(), Object.fromEntries(Object.keys(cases).map((reason) => [reason, 1])));
    await written(file, Object.keys(cases).length);
    const lines = await finish();
    assert.deepEqual(lines.map((l) => [brief(l), l.reason, l.peer]),
      Object.keys(cases).map((reason) => ['authenticate DENY CREDENTIAL_REFUSED', reason, '127.0.0.1']));
    assert.ok(lines.every((l) => l.agent_id === null && l.principal === null && !('omitted' in l)));
    for (const reason of Object.keys(cases)) assert.match(gateway.log, new RegExp(`credential refused: ${reason}, from 127`));
    const text = fs.readFileSync(file, 'utf8') + gateway.log;
    for (const shown of Object.values(cases)) assert.ok(!shown || !text.includes(shown), 'never what was shown');
    await assertWhole(file, lines.length);
  });

  test('has few lines, however often it comes; the number of all is counted', async (t) => {
    const { gateway, knock, failures, file, finish } = await start(t);
    await Promise.all(Array.from({ length: 200 }, (_, i) => knock(`wrong-${i}-0123456789abcdef`)));
    assert.deepEqual(await failures(), { unknown_token: 200 });
    assert.equal((await knock('a.b.c')).status, 401, 'another reason has lines of its own');
    await written(file, 11);
    const lines = await finish();
    assert.deepEqual(lines.map((l) => l.reason).toSorted(), ['invalid_token', ...Array(10).fill('unknown_token')]);
    assert.equal(gateway.log.match(/credential refused/g).length, 11);
  });

  test('nor is who has no token for the pages', async (t) => {
    const { pages, failures, finish } = await start(t, {});
    assert.equal(await fetch(`${pages}/metrics`).then((r) => r.status), 200);
    assert.deepEqual(await failures(), {});
    await finish();
    const guarded = await start(t, { admin: { token_sha256: sha256('p'.repeat(32)) } });
    for (const headers of [{}, bearer('q'.repeat(32))])
      assert.equal((await fetch(`${guarded.pages}/metrics`, { headers })).status, 401);
    const page = await (await fetch(`${guarded.pages}/metrics`, { headers: bearer('p'.repeat(32)) })).text();
    assert.match(page, /^toolgate_auth_failures_total\{reason="unknown_token"\} 1$/m);
    const lines = await guarded.finish();
    assert.deepEqual(lines.map((l) => [brief(l), l.reason, l.target]), [
      ['authenticate DENY CREDENTIAL_REFUSED', 'missing', 'admin'],
      ['authenticate DENY CREDENTIAL_REFUSED', 'unknown_token', 'admin'],
    ]);
  });
});
