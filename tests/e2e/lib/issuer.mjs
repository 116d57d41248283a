// SPDX-License-Identifier: Apache-2.0
// An authorization server of a test: signs JSON Web Tokens, publishes its keys, and speaks as much OAuth as a client
// needs that registers itself and is let in at once.
import crypto from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';

import { onEnd } from './process.mjs';

const base64url = (value) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

const MAKE = {
  ES256: () => crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  RS256: () => crypto.generateKeyPairSync('rsa', { modulusLength: 2048 }),
  EdDSA: () => crypto.generateKeyPairSync('ed25519'),
};

function signature(algorithm, key, text) {
  if (algorithm === 'HS256') return crypto.createHmac('sha256', key).update(text).digest();
  if (algorithm === 'ES256') return crypto.sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
  return crypto.sign(algorithm === 'RS256' ? 'sha256' : null, Buffer.from(text), key);
}

/** A token with this header and these claims, signed with a private key or a secret. */
export function signed(header, claims, key) {
  const text = `${base64url(header)}.${base64url(claims)}`;
  return `${text}.${signature(header.alg, key, text).toString('base64url')}`;
}

/** A pair of keys under an id: `{ kid, alg, privateKey, publicKey, jwk, pem }`. */
export function makeKey(alg = 'ES256', kid = crypto.randomUUID()) {
  const { privateKey, publicKey } = MAKE[alg]();
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' };
  return { kid, alg, privateKey, publicKey, jwk, pem: publicKey.export({ format: 'pem', type: 'spki' }) };
}

export const seconds = () => Math.floor(Date.now() / 1000);

/**
 * Starts one. `keys` is what it publishes, and may be changed; `jwks` answers in place of that: a function of request
 * and response. What it was asked is in `asked`, as "METHOD /path".
 */
export async function startIssuer(t, { keys = [makeKey()], headers = {}, jwks } = {}) {
  const issuer = { keys, headers, jwks, asked: [], grants: new Map(), agent: 'backend' };
  const server = http.createServer((req, res) => serve(issuer, req, res));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onEnd(t, () => {
    server.closeAllConnections();
    server.close();
  });
  issuer.url = `http://127.0.0.1:${server.address().port}`;
  issuer.jwksUrl = `${issuer.url}/jwks.json`;
  issuer.count = (line) => issuer.asked.filter((entry) => entry === line).length;
  /** A good token of this agent for that audience, unless the claims say something else. */
  issuer.token = (audience, claims = {}, { key = issuer.keys[0], header = {} } = {}) =>
    signed({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header },
      { iss: issuer.url, aud: audience, sub: 'alice', agent: 'backend', exp: seconds() + 600, ...claims },
      key.privateKey);
  return issuer;
}

const reply = (res, status, value, headers = {}) => {
  res.writeHead(status, { 'content-type': 'application/json', ...headers });
  res.end(JSON.stringify(value));
};

async function bodyOf(req) {
  let text = '';
  for await (const chunk of req) text += chunk;
  return text;
}

async function serve(issuer, req, res) {
  const url = new URL(req.url, issuer.url);
  issuer.asked.push(`${req.method} ${url.pathname}`);
  if (url.pathname === '/jwks.json') {
    if (issuer.jwks) issuer.jwks(req, res);
    else reply(res, 200, { keys: issuer.keys.map((key) => key.jwk) }, issuer.headers);
  } else if (url.pathname === '/.well-known/oauth-authorization-server') {
    reply(res, 200, {
      issuer: issuer.url,
      authorization_endpoint: `${issuer.url}/authorize`,
      token_endpoint: `${issuer.url}/token`,
      registration_endpoint: `${issuer.url}/register`,
      jwks_uri: issuer.jwksUrl,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
    });
  } else if (url.pathname === '/register') {
    reply(res, 201, { ...JSON.parse(await bodyOf(req)), client_id: 'a-client' });
  } else if (url.pathname === '/authorize') {
    authorize(issuer, url, res);
  } else if (url.pathname === '/token') {
    exchange(issuer, new URLSearchParams(await bodyOf(req)), res);
  } else {
    reply(res, 404, {});
  }
}

/** The user agrees at once. */
function authorize(issuer, url, res) {
  const code = crypto.randomUUID();
  issuer.grants.set(code, Object.fromEntries(url.searchParams));
  const back = new URL(url.searchParams.get('redirect_uri'));
  back.searchParams.set('code', code);
  if (url.searchParams.has('state')) back.searchParams.set('state', url.searchParams.get('state'));
  res.writeHead(302, { location: back.href });
  res.end();
}

function exchange(issuer, form, res) {
  const grant = issuer.grants.get(form.get('code'));
  const challenge = crypto.createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url');
  if (!grant || grant.code_challenge !== challenge || grant.resource !== form.get('resource')) {
    reply(res, 400, { error: 'invalid_grant' });
    return;
  }
  issuer.grants.delete(form.get('code'));
  const scope = grant.scope ?? '';
  const token = issuer.token(grant.resource, { scope, agent: issuer.agent });
  reply(res, 200, { access_token: token, token_type: 'Bearer', expires_in: 600, scope });
}
