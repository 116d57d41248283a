// SPDX-License-Identifier: Apache-2.0
// Who may come over HTTP: tokens of an issuer beside configured ones, its keys and their changes, what OAuth clients are
// told, and that nothing of it reaches a server.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';

import { runToolgate } from './lib/gateway.mjs';
import { makeKey, seconds, signed, startIssuer } from './lib/issuer.mjs';
import { faultOf, open, snapshot, startMeta, THREE } from './lib/meta.mjs';
import { tempDir, writeJson } from './lib/process.mjs';
import {
  fetchRaw, HttpClient, httpText, JSON_HEADERS, LATEST, onEnd, requestText, startGateway, talk, until, wholeResponse, within,
} from './lib/raw.mjs';
import { handshakeServer, HttpCaller, text } from './lib/stateless.mjs';
import { makeUpstream } from './servers/features.mjs';

const STATIC = 'a-configured-token-of-32-characters';
const GOOD_SECRET = '3f9a1c07d2e85b643f9a1c07d2e85b64';
const sha256 = (text) => crypto.createHash('sha256').update(text).digest('hex');
const bearer = (token) => ({ authorization: `Bearer ${token}` });
const INITIALIZE = requestText('0', 'initialize', {
  protocolVersion: LATEST, capabilities: {}, clientInfo: { name: 'n', version: '1' },
});
const tool = (name) => ({ name, description: `To ${name}.`, inputSchema: { type: 'object' } });
const servers = (t) => ({ shop: snapshot(t, { tools: [tool('buy'), tool('refund')] }) });

const jwtOf = (issuer, more) => ({ issuer: issuer.url, jwks_url: issuer.jwksUrl, ...more });
const resourceOf = (gateway) => `${gateway.url}/mcp`;

async function setup(t, { issuer, jwt = {}, auth = {}, rules, ...options } = {}) {
  issuer ??= await startIssuer(t);
  const args = rules ? ['--rules', writeJson(path.join(tempDir(t), 'rules.json'), rules)] : [];
  const config = { modes: ['direct', 'servers'], auth: { jwt: jwtOf(issuer, jwt), ...auth } };
  const gateway = await startMeta(t, { servers: servers(t), config, args, ...options });
  const token = (claims, more) => issuer.token(resourceOf(gateway), claims, more);
  return { issuer, gateway, token };
}

/** The answer to a handshake with this token. */
const knock = (gateway, token, { path: at = '/mcp', headers = {} } = {}) =>
  fetchRaw(gateway.url + at, {
    method: 'POST', headers: { ...JSON_HEADERS, ...(token && bearer(token)), ...headers }, body: INITIALIZE,
  });

const statusOf = async (gateway, token) => (await knock(gateway, token)).status;

describe('tokens of an issuer', () => {
  test('one that is good is let in, on every transport, and each algorithm works', async (t) => {
    const keys = ['ES256', 'RS256', 'EdDSA'].map((alg) => makeKey(alg));
    const { gateway, token } = await setup(t, { issuer: await startIssuer(t, { keys }) });
    for (const key of keys) {
      for (const kind of ['http', 'sse', 'stateless http']) {
        const client = await open(t, gateway, kind, { headers: bearer(token({}, { key })) });
        assert.deepEqual((await client.tools()).map((x) => x.name), THREE);
      }
    }
  });

  test('everything that is wrong with one is told, and nothing is served', async (t) => {
    const { issuer, gateway, token } = await setup(t);
    const [key] = issuer.keys, other = makeKey('ES256', key.kid);
    const none = (alg) => {
      const [header, claims] = token().split('.');
      return `${Buffer.from(JSON.stringify({ alg })).toString('base64url')}.${claims}.${header ? '' : 'x'}`;
    };
    const claims = { iss: issuer.url, aud: resourceOf(gateway), sub: 'x', agent: 'backend', exp: seconds() + 600 };
    const cases = {
      'has expired': token({ exp: seconds() - 31 }),
      'is not valid yet': token({ nbf: seconds() + 60 }),
      'has no valid expiry time': token({ exp: undefined }),
      'is from another issuer': token({ iss: 'https://evil.example' }),
      'is for another audience': issuer.token('https://another.example/mcp'),
      'does not name an agent': token({ agent: undefined }),
      'has a wrong signature': signed({ alg: 'ES256', kid: key.kid }, claims, other.privateKey),
      'is signed with an algorithm that is not accepted':
        signed({ alg: 'HS256', kid: key.kid }, claims, key.pem),
      'requires unknown extensions': token({}, { header: { crit: ['b64'], b64: false } }),
      'is not an access token (typ)': token({}, { header: { typ: 'dpop+jwt' } }),
      'is not a JSON Web Token': none('none'),
    };
    for (const [what, bad] of Object.entries(cases)) {
      const r = await knock(gateway, bad);
      assert.equal(r.status, 401, what);
      assert.ok(r.headers['www-authenticate'].includes(`error="invalid_token", error_description="the token ${what}"`), what);
    }
    assert.equal(await statusOf(gateway, token()), 200);
  });

  test('kid, jku, jwk and x5u can select known keys only', async (t) => {
    const { issuer, gateway, token } = await setup(t);
    const evil = await startIssuer(t);
    assert.equal(await statusOf(gateway, token()), 200);
    const claims = { iss: issuer.url, aud: resourceOf(gateway), agent: 'backend', exp: seconds() + 600 };
    const [key] = evil.keys;
    for (const header of [
      { jku: evil.jwksUrl }, { jwk: key.jwk }, { x5u: evil.jwksUrl }, { kid: '../../../etc/passwd' },
      { kid: evil.jwksUrl }, { kid: "' OR 1=1 --" }, { kid: 7 }, { kid: '' }, { kid: 'k'.repeat(8000) },
    ]) assert.equal(await statusOf(gateway, signed({ alg: 'ES256', ...header }, claims, key.privateKey)), 401);
    assert.deepEqual(evil.asked, []);
  });

  test('configured tokens are good beside them', async (t) => {
    const { gateway, token } = await setup(t, { auth: { tokens: [STATIC, { sha256: sha256('x'.repeat(32)), agent: 'a' }] } });
    for (const good of [STATIC, 'x'.repeat(32), token()]) assert.equal(await statusOf(gateway, good), 200);
    for (const bad of [undefined, 'y'.repeat(32), `${STATIC}.a.b`, 'a.b.c']) assert.equal(await statusOf(gateway, bad), 401);
  });

  test('the claim decides which agent it is, and rules what that may use', async (t) => {
    const rules = {
      agents: {
        backend: { allow: { servers: ['shop'], tools: { shop: ['buy'] } } },
        boss: { allow: { servers: ['shop'], tools: { shop: ['*'] } } },
      },
    };
    const { gateway, token } = await setup(t, { rules, jwt: { agent_claim: 'client_id' } });
    const tools = async (claims) => {
      const client = await open(t, gateway, 'http', { path: '/mcp/direct', headers: bearer(token(claims)) });
      return (await client.tools()).map((x) => x.name);
    };
    assert.deepEqual(await tools({ client_id: 'backend' }), ['buy']);
    assert.deepEqual(await tools({ client_id: 'boss', agent: 'backend' }), ['buy', 'refund']);
    assert.deepEqual(await tools({ client_id: 'backend.night', sub: 'bob' }), ['buy']);
    // A good token of somebody whom no rule knows.
    const stranger = await open(t, gateway, 'http', { headers: bearer(token({ client_id: 'stranger' })) });
    faultOf(await stranger.call('tool_browse', { query: 'buy' }), 'INVALID_AGENT_ID');
    assert.equal(await statusOf(gateway, token({ client_id: undefined })), 401);
    // What a request names besides may be the same or one below.
    const boss = await open(t, gateway, 'http', { headers: bearer(token({ client_id: 'backend' })) });
    faultOf(await boss.call('tool_browse', { query: 'buy', agent_id: 'boss' }), 'ARGS_INVALID');
  });

  test('when one expires, the next request gets 401, and a new one of the same subject goes on', async (t) => {
    const { gateway, token } = await setup(t, { jwt: { leeway: 0 } });
    const client = new HttpClient(gateway.url, { headers: bearer(token({ exp: seconds() + 3 })) });
    onEnd(t, () => client.close());
    await client.initialize();
    const refused = await until(async () => {
      const r = await client.post(requestText('1', 'ping'));
      return r.status !== 200 && r;
    }, 'the end of the token', 60_000);
    assert.equal(refused.status, 401);
    assert.match(refused.headers['www-authenticate'], /error="invalid_token", error_description="the token has expired"/);
    client.extra = bearer(token());
    assert.deepEqual(await client.ask('ping'), {});
  });

  test('streams that only listen end with the token, on every transport', async (t) => {
    const { gateway, token } = await setup(t, { jwt: { leeway: 0 }, servers: servers(t) });
    const headers = () => bearer(token({ exp: seconds() + 4 }));
    const http = await open(t, gateway, 'http', { headers: headers() });
    const sse = await open(t, gateway, 'sse', { headers: headers() });
    const stateless = new HttpCaller(gateway.url, { token: token({ exp: seconds() + 4 }) });
    onEnd(t, () => stateless.close());
    const listening = await stateless.listen({ toolsListChanged: true });
    const lasting = await open(t, gateway, 'http', { headers: bearer(token()) });
    await Promise.all([http.stream.ended, sse.stream.ended, listening.answer()]);
    assert.deepEqual(await lasting.ask('ping'), {});
    http.session = undefined;
  });

  test('one that does not name its subject is no token: nobody shares a principal by accident', async (t) => {
    const { gateway, token } = await setup(t);
    assert.equal(await statusOf(gateway, token({ sub: 'a' })), 200);
    for (const sub of [undefined, null, '', 7, true, ['alice'], { id: 'alice' }, 'alice\0', 'alice\0bob', '\0'])
      assert.equal(await statusOf(gateway, token({ sub })), 401, JSON.stringify(sub));
  });

  test('a session of one subject does not exist for another, nor for another agent', async (t) => {
    const { gateway, token } = await setup(t, { auth: { tokens: [STATIC] } });
    const client = new HttpClient(gateway.url, { headers: bearer(token({ sub: 'alice' })) });
    onEnd(t, () => client.close());
    await client.initialize();
    const ping = requestText('1', 'ping');
    for (const foreign of [token({ sub: 'bob' }), token({ sub: 'alice', agent: 'other' }), STATIC]) {
      const headers = { ...client.headers(), ...bearer(foreign) };
      for (const method of ['POST', 'GET', 'DELETE']) {
        const r = await fetchRaw(client.url, { method, headers, ...(method === 'POST' && { body: ping }) });
        assert.equal(r.status, 404, method);
      }
    }
    assert.deepEqual(await client.ask('ping'), {});
  });

  test('what is kept of a result is found by its subject only', async (t) => {
    const up = await makeUpstream('http', 'up');
    up.handlers.set('tools/call', () => ({ content: [{ type: 'text', text: 'line of text\n'.repeat(5000) }] }));
    const { gateway, token } = await setup(t, { servers: { up } });
    const as = (sub) => open(t, gateway, 'http', { headers: bearer(token({ sub })) });
    const alice = await as('alice');
    const found = await alice.call('tool_browse', { query: 'echo' });
    const result = await alice.call('tool_execute', { tool_id: found.structuredContent.cards[0].id, args: {} });
    const [{ handle }] = result.structuredContent.artifacts;
    const view = (client) => client.call('tool_view', { handle, selector: { type: 'head', chars: 10 } });
    assert.equal((await view(await as('alice'))).isError, false);
    faultOf(await view(await as('bob')), 'VIEW_FAILED');
  });
});

describe('keys', () => {
  test('are fetched once, when first needed, and requests wait for them', async (t) => {
    let answer;
    const issuer = await startIssuer(t, { jwks: (_, res) => (answer = res) });
    const { gateway, token } = await setup(t, { issuer });
    const waiting = [1, 2, 3].map((n) => statusOf(gateway, token({ sub: `u${n}` })));
    await until(() => answer, 'the request for keys');
    // Others do not wait: neither health, nor those without a token, nor those whose token is configured.
    assert.equal((await fetchRaw(`${gateway.url}/healthz`)).status, 200);
    assert.equal(await statusOf(gateway), 401);
    answer.end(JSON.stringify({ keys: issuer.keys.map((key) => key.jwk) }));
    assert.deepEqual(await Promise.all(waiting), [200, 200, 200]);
    assert.equal(await statusOf(gateway, token()), 200);
    assert.equal(issuer.count('GET /jwks.json'), 1);
  });

  test('a client that leaves while it waits leaves nothing behind', async (t) => {
    const answers = [];
    const issuer = await startIssuer(t, { jwks: (_, res) => answers.push(res) });
    const { gateway, token } = await setup(t, { issuer });
    const leaving = knock(gateway, token());
    await until(() => answers.length, 'the request for keys');
    leaving.request.destroy();
    await assert.rejects(leaving);
    const staying = statusOf(gateway, token());
    answers[0].end(JSON.stringify({ keys: issuer.keys.map((key) => key.jwk) }));
    assert.equal(await staying, 200);
  });

  test('a gateway can be stopped while requests wait for them', async (t) => {
    let answer;
    const issuer = await startIssuer(t, { jwks: (_, res) => (answer = res) });
    const { gateway, token } = await setup(t, { issuer });
    const waiting = knock(gateway, token()).catch((e) => e);
    await until(() => answer, 'the request for keys');
    gateway.child.kill('SIGTERM');
    gateway.child.kill('SIGTERM');
    await gateway.stop();
    await waiting;
  });

  test('a new one is found at once, and strangers cannot make the gateway ask for it again and again', async (t) => {
    const { issuer, gateway, token } = await setup(t);
    assert.equal(await statusOf(gateway, token()), 200);
    const [old] = issuer.keys, fresh = makeKey('EdDSA');
    issuer.keys = [fresh];
    assert.equal(await statusOf(gateway, token()), 200);
    assert.equal(issuer.count('GET /jwks.json'), 2);
    // The old one is gone, with all that it had signed.
    assert.equal(await statusOf(gateway, token({}, { key: old })), 401);
    for (let i = 0; i < 50; i++) assert.equal(await statusOf(gateway, token({}, { key: makeKey() })), 401);
    assert.equal(issuer.count('GET /jwks.json'), 2);
  });

  test('while there are none, the answer is 503, and good tokens are let in once there are', async (t) => {
    const issuer = await startIssuer(t, { jwks: (_, res) => res.writeHead(500).end() });
    const { gateway, token } = await setup(t, { issuer });
    const r = await knock(gateway, token());
    assert.deepEqual([r.status, r.headers['retry-after']], [503, '5']);
    issuer.jwks = undefined;
    await until(async () => (await statusOf(gateway, token())) === 200, 'another attempt', 60_000);
  });

  test('what is at the URL can be no secret, nor too much', async (t) => {
    const secret = crypto.randomBytes(32);
    const oct = { kty: 'oct', kid: 's', k: secret.toString('base64url'), alg: 'HS256' };
    for (const body of [JSON.stringify({ keys: [oct] }), JSON.stringify({ keys: [makeKey().jwk], x: 'x'.repeat(300_000) })]) {
      const issuer = await startIssuer(t, { jwks: (_, res) => res.end(body) });
      const { gateway } = await setup(t, { issuer });
      const claims = { iss: issuer.url, aud: resourceOf(gateway), agent: 'backend', exp: seconds() + 600 };
      assert.notEqual(await statusOf(gateway, signed({ alg: 'HS256', kid: 's' }, claims, secret)), 200);
    }
  });

  for (const [what, make] of Object.entries({
    'a JWK set in a file': (t, key) => ({ key_file: writeJson(path.join(tempDir(t), 'keys.json'), { keys: [key.jwk] }) }),
    'PEM in a file': (t, key) => {
      const file = path.join(tempDir(t), 'key.pem');
      fs.writeFileSync(file, key.pem);
      return { key_file: file };
    },
  })) {
    test(`may come as ${what}`, async (t) => {
      for (const alg of ['ES256', 'RS256', 'EdDSA']) {
        const key = makeKey(alg), issuer = await startIssuer(t, { keys: [key] });
        const { gateway, token } = await setup(t, { issuer, jwt: { jwks_url: undefined, ...make(t, key) } });
        assert.equal(await statusOf(gateway, token()), 200);
        assert.equal(await statusOf(gateway, token({}, { key: makeKey(alg) })), 401);
        assert.deepEqual(issuer.asked, []);
      }
    });
  }

  test('may be a secret in a variable', async (t) => {
    const secret = crypto.randomBytes(24).toString('hex');
    const { issuer, gateway } = await setup(t, {
      jwt: { jwks_url: undefined, secret: '${JWT_SECRET}', issuer: 'us', audience: 'gw' }, env: { JWT_SECRET: secret },
    });
    const claims = { iss: 'us', aud: ['x', 'gw'], sub: 'alice', agent: 'backend', exp: seconds() + 600 };
    assert.equal(await statusOf(gateway, signed({ alg: 'HS256' }, claims, secret)), 200);
    assert.equal(await statusOf(gateway, signed({ alg: 'HS256' }, claims, `${secret}x`)), 401);
    const [key] = issuer.keys;
    assert.equal(await statusOf(gateway, signed({ alg: 'ES256', kid: key.kid }, claims, key.privateKey)), 401);
    // An issuer that is no URL is nobody a client could look for.
    const r = await knock(gateway);
    assert.equal(r.headers['www-authenticate'], 'Bearer realm="toolgate"');
    assert.equal((await fetchRaw(`${gateway.url}/.well-known/oauth-protected-resource`)).status, 401);
  });
});

describe('OAuth', () => {
  test('whoever has no good token is told where to get one, on every path', async (t) => {
    const { issuer, gateway, token } = await setup(t, { jwt: { scopes: ['mcp', 'tools:call'] } });
    const metadata = `${gateway.url}/.well-known/oauth-protected-resource/mcp`;
    const scope = 'scope="mcp tools:call"';
    const part = { '/mcp/direct': '/direct', '/mcp/servers': '/servers' };  // each path is a resource of its own
    for (const at of ['/mcp', '/mcp/direct', '/mcp/servers', '/mcp/nothing', '/messages?sessionId=x']) {
      const r = await knock(gateway, undefined, { path: at });
      assert.equal(r.status, 401);
      assert.equal(r.headers['www-authenticate'], `Bearer resource_metadata="${metadata}${part[at] ?? ''}", ${scope}`);
    }
    const lacking = await knock(gateway, token({ scope: 'mcp' }));
    assert.equal(lacking.status, 403);
    assert.equal(lacking.headers['www-authenticate'], `Bearer resource_metadata="${metadata}", ` +
      `error="insufficient_scope", error_description="the token lacks a required scope", ${scope}`);
    assert.equal(await statusOf(gateway, token({ scope: 'x tools:call mcp' })), 200);
    const document = {
      resource: `${gateway.url}/mcp`, authorization_servers: [issuer.url], scopes_supported: ['mcp', 'tools:call'],
      bearer_methods_supported: ['header'], resource_name: 'Toolgate',
    };
    for (const at of ['', '/mcp', '/mcp/gateway', '/mcp/transparent', '/mcp/servers', '/mcp/direct']) {
      const r = await fetchRaw(`${gateway.url}/.well-known/oauth-protected-resource${at}`);
      const of = { ...document, resource: `${gateway.url}${at || '/mcp'}` };
      assert.deepEqual([r.status, r.headers['content-type'], JSON.parse(r.text)], [200, 'application/json', of]);
    }
    assert.equal((await fetchRaw(`${gateway.url}/.well-known/oauth-protected-resource/mcp/x`)).status, 401);
    assert.equal((await fetchRaw(metadata, { method: 'POST', body: '{}' })).status, 405);
    assert.equal((await fetchRaw(`${gateway.url}/.well-known/oauth-protected-resource/x`)).status, 401);
    assert.equal((await fetchRaw(metadata, { headers: { host: 'evil.example' } })).status, 421);
    assert.equal((await fetchRaw(metadata, { headers: { origin: 'http://evil.example' } })).status, 403);
  });

  test('a token for a path of the gateway is good for the gateway', async (t) => {
    const { issuer, gateway } = await setup(t);
    for (const at of ['', '/direct', '/gateway'])
      assert.equal(await statusOf(gateway, issuer.token(resourceOf(gateway) + at)), 200, at);
    for (const at of ['/x', '/', '/directs']) assert.equal(await statusOf(gateway, issuer.token(resourceOf(gateway) + at)), 401, at);
    const audience = 'https://tools.example.com/';  // who says what the audience is means that
    const other = await setup(t, { issuer, jwt: { audience } });
    assert.equal(await statusOf(other.gateway, issuer.token(audience)), 200);
    assert.equal(await statusOf(other.gateway, issuer.token(`${resourceOf(other.gateway)}/direct`)), 401);
  });

  test('two Authorization headers are a malformed request', async (t) => {
    const { gateway, token } = await setup(t);
    const bytes = httpText('POST /mcp', { ...JSON_HEADERS, Host: 'localhost' }, INITIALIZE)
      .replace('\r\n', `\r\nAuthorization: Bearer ${token()}\r\nAuthorization: Bearer ${token()}\r\n`);
    assert.equal((await talk(gateway.port, bytes, { enough: wholeResponse })).status, 400);
  });

  test('the public URL may be another than the one that is listened on', async (t) => {
    const resource = 'https://tools.example.com/gw/mcp';
    const { issuer, gateway } = await setup(t, { auth: { resource } });
    const r = await knock(gateway);
    assert.equal(r.headers['www-authenticate'],
      'Bearer resource_metadata="https://tools.example.com/.well-known/oauth-protected-resource/gw/mcp"');
    for (const at of ['', '/gw/mcp', '/mcp']) {
      const found = await fetchRaw(`${gateway.url}/.well-known/oauth-protected-resource${at}`);
      assert.equal(JSON.parse(found.text).resource, resource);
    }
    for (const at of ['/gw/mcp/direct', '/mcp/direct']) {
      const found = await fetchRaw(`${gateway.url}/.well-known/oauth-protected-resource${at}`);
      assert.equal(JSON.parse(found.text).resource, `${resource}/direct`);
    }
    assert.equal(await statusOf(gateway, issuer.token(resource)), 200);
    assert.equal(await statusOf(gateway, issuer.token(resourceOf(gateway))), 401);
  });

  /** What the official clients want of whoever keeps their state; `redirect` follows the user to the login page. */
  function provider() {
    const state = {};
    return {
      state: () => 'some-state',
      redirectUrl: 'http://127.0.0.1:1/back',
      clientMetadata: { client_name: 'test', redirect_uris: ['http://127.0.0.1:1/back'] },
      clientInformation: () => state.client,
      saveClientInformation: (client) => { state.client = client; },
      tokens: () => state.tokens,
      saveTokens: (tokens) => { state.tokens = tokens; },
      codeVerifier: () => state.verifier,
      saveCodeVerifier: (verifier) => { state.verifier = verifier; },
      redirectToAuthorization: (url) => { state.page = url; },
      taken: state,
    };
  }

  for (const [name, [Client, Http]] of Object.entries({ 'sdk 1.x': [Client1, Http1], 'client 2.x': [Client2, Http2] })) {
    for (const at of ['/mcp', '/mcp/direct']) {
      test(`the official ${name} finds the authorization server of ${at} by itself and is let in with its token`, async (t) => {
        const { issuer, gateway } = await setup(t, { jwt: { scopes: ['mcp'] } });
        const url = new URL(gateway.url + at);
        const authProvider = provider();
        const first = new Http(url, { authProvider });
        await assert.rejects(new Client({ name: 'x', version: '1' }).connect(first), /Unauthorized/i);
        const { page } = authProvider.taken;
        assert.equal(page.origin, issuer.url);
        assert.equal(page.searchParams.get('resource'), url.href);
        assert.equal(page.searchParams.get('scope'), 'mcp');
        const login = await fetchRaw(page.href);
        const back = new URL(login.headers.location);
        await first.finishAuth(back.searchParams.get('code'));
        const client = new Client({ name: 'x', version: '1' });
        onEnd(t, () => client.close());
        await client.connect(new Http(url, { authProvider }));
        assert.ok((await client.listTools()).tools.length);
        assert.ok(issuer.asked.includes('POST /register') && issuer.asked.includes('POST /token'));
      });
    }
  }
});

describe('while the gateway runs', () => {
  /** Writes the configuration anew, and waits until it was read. */
  async function rewrite(gateway, config, answer = /reload: applied/g) {
    const count = () => [...gateway.log.matchAll(answer)].length, before = count();
    gateway.file('toolgate.yaml', config);
    await until(() => count() > before, () => `not read again:\n${gateway.log}`, 60_000);
  }
  const OTHER = 'b-configured-token-of-32-characters';
  const configOf = (auth) => ({ auth, timeouts: { start_wait: 60 } });

  test('the stream of HTTP+SSE ends after the calls that are under way, unless its client shows a good token', async (t) => {
    const calls = [];
    const up = await handshakeServer('stdio', { name: 'up', tools: {
      wait: () => new Promise((resolve) => calls.push(() => resolve(text('done')))) } });
    const gateway = await startGateway(t, { servers: { up }, config: configOf({ tokens: [STATIC, OTHER] }) });
    const lost = await open(t, gateway, 'sse', { headers: bearer(STATIC) });
    const kept = await open(t, gateway, 'sse', { headers: bearer(OTHER) });
    const answers = [lost, kept].map((client) => client.ask('tools/call', { name: 'wait', arguments: {} }));
    await until(() => calls.length === 2, 'both calls to begin');
    await rewrite(gateway, configOf({ tokens: [OTHER] }));
    await assert.rejects(lost.ask('ping'), { status: 401 });
    assert.deepEqual(await kept.ask('ping'), {});
    for (const finish of calls) finish();
    for (const answer of answers) assert.deepEqual(await answer, text('done'));
    await within(lost.stream.ended, 'the stream of the revoked token to end');
    assert.deepEqual(await kept.ask('ping'), {});
  });

  test('a token that is taken away is good for nothing, at once; others go on', async (t) => {
    const gateway = await startMeta(t, { servers: servers(t), config: configOf({ tokens: [STATIC, OTHER] }) });
    const [lost, kept] = [await open(t, gateway, 'http', { headers: bearer(STATIC) }), await open(t, gateway, 'http', { headers: bearer(OTHER) })];
    const listening = lost.stream.ended;
    await rewrite(gateway, configOf({ tokens: [OTHER] }));
    assert.equal((await lost.post(requestText('1', 'ping'))).status, 401);
    await listening;
    await assert.rejects(lost.listen(), { status: 401 });
    assert.deepEqual(await kept.ask('ping'), {});
    await kept.listen();
    await rewrite(gateway, configOf({ tokens: [STATIC, OTHER] }));
    lost.extra = bearer(STATIC);
    assert.deepEqual(await lost.ask('ping'), {});  // its session waited for it
    lost.session = undefined;
  });

  test('a token that becomes another agent\'s does not take the session along', async (t) => {
    const agents = (agent) => configOf({ tokens: [{ sha256: sha256(STATIC), agent }] });
    const gateway = await startMeta(t, { servers: servers(t), config: agents('one') });
    const client = await open(t, gateway, 'http', { headers: bearer(STATIC) });
    await rewrite(gateway, agents('two'));
    assert.equal((await client.post(requestText('1', 'ping'))).status, 404);
    client.session = undefined;
  });

  test('an issuer may come and go, and keys stay when only rules change', async (t) => {
    const issuer = await startIssuer(t);
    const gateway = await startMeta(t, { servers: servers(t), config: configOf({ tokens: [STATIC] }) });
    const token = issuer.token(resourceOf(gateway));
    assert.equal(await statusOf(gateway, token), 401);
    const both = { tokens: [STATIC], jwt: jwtOf(issuer) };
    await rewrite(gateway, configOf(both));
    assert.equal(await statusOf(gateway, token), 200);
    await rewrite(gateway, { ...configOf(both), log: { level: 'debug' } });
    assert.equal(await statusOf(gateway, token), 200);
    assert.equal(issuer.count('GET /jwks.json'), 1);
    await rewrite(gateway, configOf({ tokens: [STATIC] }));
    assert.equal(await statusOf(gateway, token), 401);
  });

  test('the first token brings the limits of principals with it', async (t) => {
    const principal = { max_requests_per_minute: 3 };
    const gateway = await startMeta(t, { servers: servers(t), config: {} });
    assert.equal(await statusOf(gateway), 200);
    await rewrite(gateway, { ...configOf({ tokens: [STATIC] }), rate_limits: { principal } });
    assert.doesNotMatch(gateway.log, /need a restart: .*rate_limits/);
    const client = await open(t, gateway, 'http', { headers: bearer(STATIC) });
    const codes = [];
    for (let i = 0; i < 5; i++) codes.push((await client.request('tools/list', {})).error?.data.error ?? 'ok');
    assert.deepEqual(codes, ['ok', 'ok', 'ok', 'RATE_LIMITED', 'RATE_LIMITED']);
    await rewrite(gateway, { ...configOf({ tokens: [STATIC] }), rate_limits: { principal: { max_requests_per_minute: 100 } } });
    assert.equal((await client.request('tools/list', {})).error, undefined, 'a higher limit counts at once, too');
  });

  test('a configuration without any credential is not taken', async (t) => {
    const gateway = await startMeta(t, { servers: servers(t), config: configOf({ tokens: [STATIC] }) });
    for (const auth of [undefined, { tokens: [] }, { tokens: ['short'] }]) {
      await rewrite(gateway, configOf(auth), /reload: nothing was changed/g);
      assert.equal(await statusOf(gateway), 401);
      assert.equal(await statusOf(gateway, STATIC), 200);
    }
    assert.match(gateway.log, /the previous authentication stays in force/);
  });
});

describe('nothing of a credential reaches a server', () => {
  for (const transport of ['http', 'sse', 'stdio']) {
    for (const kind of ['http', 'stateless http']) {
      test(`of a client over ${kind}, to one over ${transport}`, async (t) => {
        const up = await makeUpstream(transport, 'up', {});
        const heard = [];
        const issuer = await startIssuer(t);
        const config = { auth: { jwt: jwtOf(issuer) } };
        const gateway = await startGateway(t, { servers: { up }, config });
        if (transport === 'stdio') {
          const { connected } = await up.next((e) => e.connected, 'process');
          const receive = connected.receive.bind(connected);
          connected.receive = (line, ...rest) => (heard.push(line), receive(line, ...rest));
          heard.push(JSON.stringify(connected.hello));
        }
        const token = issuer.token(resourceOf(gateway), { sub: 'the-subject' });
        const headers = { ...bearer(token), cookie: 'secret=cookie' };
        const client = await open(t, gateway, kind, { headers });
        await client.tools();
        assert.ok((await client.call('up_echo', {})).content);
        const seen = JSON.stringify([heard, up.requests ?? []]);
        assert.ok(seen.includes('tools/call') || transport !== 'stdio');
        for (const part of [token, ...token.split('.'), 'the-subject', 'secret=cookie', issuer.url])
          assert.ok(!seen.includes(part), part);
        assert.ok(!gateway.log.includes(token.split('.')[2]));
      });
    }
  }
});

describe('toolgate check', () => {
  const problems = async (t, auth, { rules, host } = {}) => {
    const dir = tempDir(t);
    const file = writeJson(path.join(dir, 'toolgate.json'), { transport: 'http', auth, servers: servers(t), ...(host && { host }) });
    const args = rules ? ['--rules', writeJson(path.join(dir, 'rules.json'), rules)] : [];
    const { status, stdout } = await runToolgate(['check', '--config', file, '--json', ...args], { cwd: dir });
    return { status, found: JSON.parse(stdout).problems.map((p) => `${p.pointer} ${p.message}`) };
  };
  const good = { issuer: 'https://id.example', jwks_url: 'https://id.example/keys' };
  for (const [what, jwt, expected] of [
    ['an issuer', { ...good, issuer: undefined }, /^\/auth\/jwt needs "issuer"/],
    ['keys', { issuer: 'https://id.example' }, /^\/auth\/jwt needs one of jwks_url, key_file and secret/],
    ['one source of keys', { ...good, secret: GOOD_SECRET }, /^\/auth\/jwt needs one of/],
    ['keys by https', { ...good, jwks_url: 'http://id.example/keys' }, /^\/auth\/jwt\/jwks_url must be an https URL/],
    ['a URL', { ...good, jwks_url: 'ftp://id.example/keys' }, /^\/auth\/jwt\/jwks_url must be an https URL/],
    ['a strong secret', { issuer: 'us', audience: 'gw', secret: 'short' }, /^\/auth\/jwt\/secret is a weak secret/],
    ['a secret that cannot be guessed', { issuer: 'us', audience: 'gw', secret: 'x'.repeat(32) }, /^\/auth\/jwt\/secret is a weak secret/],
    ['algorithms that exist', { ...good, algorithms: ['none'] }, /^\/auth\/jwt\/algorithms\/0 must be one of HS256/],
    ['no secret from a URL', { ...good, algorithms: ['HS256'] }, /^\/auth\/jwt\/algorithms HS256 needs a shared secret/],
    ['algorithms for its keys', { issuer: 'us', secret: GOOD_SECRET, algorithms: ['ES256'] }, /^\/auth\/jwt\/algorithms the configured keys support none/],
    ['scopes without quotes', { ...good, scopes: ['a"b'] }, /^\/auth\/jwt\/scopes\/0 must be a scope/],
    ['a file that is there', { issuer: 'us', key_file: 'nowhere.pem' }, / cannot be read: .*key_file/],
    ['keys that are known', { ...good, isuer: 'x' }, /^\/auth\/jwt\/isuer is not a known key.*issuer/],
    ['the right types', { ...good, leeway: -1 }, /^\/auth\/jwt\/leeway must be seconds/],
  ]) {
    test(`wants ${what}`, async (t) => {
      const { status, found } = await problems(t, { jwt });
      assert.equal(status, 1);
      assert.ok(found.some((line) => expected.test(line)), found.join('\n'));
    });
  }
  test('wants the public URL where it cannot be known', async (t) => {
    const beyond = await problems(t, { jwt: good }, { host: '0.0.0.0' });
    assert.match(beyond.found.join('\n'), /^\/auth\/resource is required with auth.jwt/m);
    assert.equal((await problems(t, { jwt: good, resource: 'https://x.example/mcp' }, { host: '0.0.0.0' })).status, 0);
    assert.equal((await problems(t, { jwt: good, resource: 'https://x.example/mcp?x' })).status, 1);
  });
  test('tells tokens that are the same, and agents that no rule knows', async (t) => {
    const digest = sha256('x'), rules = { agents: { backend: { allow: { servers: ['shop'] } } } };
    const twice = await problems(t, { tokens: [{ sha256: digest, agent: 'a' }, { sha256: digest, agent: 'b' }] });
    assert.equal(twice.status, 1);
    assert.match(twice.found.join('\n'), /tokens 0 and 1 are equal/);
    const known = { sha256: sha256('y'), agent: 'backend' };
    const unknown = await problems(t, { tokens: [known, { sha256: digest, agent: 'ghost' }] }, { rules });
    assert.equal(unknown.status, 0);
    assert.match(unknown.found.join('\n'), /^\/auth\/tokens\/1\/agent the rules do not name the agent "ghost"/m);
  });
});
