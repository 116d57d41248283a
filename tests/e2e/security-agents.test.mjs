// SPDX-License-Identifier: Apache-2.0
// What must hold where agents share a gateway, and where each point is shown. What stands elsewhere is named; the rest is
// below, under its number.
//
// | point | what | shown in |
// |---|---|---|
// | 12 | rules on every path: direct, search and call, batches, resources, prompts, completion, subscriptions | policy ("an agent finds no trace of tools that it may not use"), servers; batches, tasks and states here |
// | 13 | discovery never shows what a call would deny | policy (against a gateway that does not have it), servers (L2, G8); here: what is shown can be called |
// | 14 | what is decided about is what is sent: one reading of the bytes | here; golden-args, unit/test_json (duplicate keys, escapes); rules about arguments there are none |
// | 15 | what appears after a change of a list is denied unless a rule allows it | here |
// | 29 | audience, times, algorithms, kid, JWKS | auth ("tokens of an issuer", "keys"), unit/test_jwt, test_keyring, test_credentials |
// | 36 | audit: hash chain, signed head, deny when it cannot be written, redaction before it is | audit, audit-files |
// | 37 | nothing that a peer says can forge a line of a log | security, audit ("nothing that is logged begins a line"); names of principals here |
// | 38 | there is no administrative interface over HTTP; what needs no token is health and OAuth metadata | here |
// | 39 | rate, concurrency, bytes and tokens of a principal are bounded; others are not held up | here, unit/test_allowance; golden-keepers ("limits of one token …"); fairness, unit/test_turns, test_lane: turns, connections and sessions of principals |
// | 41 | what is remembered belongs to its principal and agent | golden-keepers ("an answer from the cache …"); here: agents, roles and what a stateless client may keep |
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { startIssuer } from './lib/issuer.mjs';
import { faultOf, open, startMeta } from './lib/meta.mjs';
import { tempDir, writeJson } from './lib/process.mjs';
import { deferred, fetchRaw, HttpClient, JSON_HEADERS, MODES, onEnd, requestText, until } from './lib/raw.mjs';
import { handshakeServer, text } from './lib/stateless.mjs';

const tokenOf = (agent) => `token-of-${agent}-0123456789abcdef`;
const sha256 = (value) => crypto.createHash('sha256').update(value).digest('hex');
const bearer = (agent) => ({ authorization: `Bearer ${tokenOf(agent)}` });
const READS = { readOnlyHint: true };
const tool = (name, annotations) => ({ name, description: `To ${name}.`, inputSchema: { type: 'object' }, annotations });

const AGENTS = {
  clerk: { allow: { servers: ['shop'], tools: { shop: ['list', 'buy_*'] } }, deny: { tools: { shop: ['buy_gold'] } } },
  boss: { allow: { servers: ['*'], tools: { '*': ['*'] } } },
};

/** A server whose list of tools may be changed; what it was called for is in `called`. */
async function shop(t, { run = (params, n) => text(`${params.name} ${n}`) } = {}) {
  const server = await handshakeServer('http', { name: 'shop' });
  const called = [];
  server.tools = [tool('list', READS), tool('buy_tea'), tool('refund')];
  server.on('tools/call', (params) => (called.push(params), run(params, called.length)));
  onEnd(t, () => server.close());
  return Object.assign(server, { called });
}

async function start(t, up, { mode = 'direct', config = {}, agents = AGENTS } = {}) {
  const auth = { tokens: Object.keys(agents).map((agent) => ({ sha256: sha256(tokenOf(agent)), agent })) };
  const rules = writeJson(path.join(tempDir(t), 'rules.json'), { agents });
  const gateway = await startMeta(t, { mode, servers: { shop: up.config() }, config: { modes: MODES, auth, ...config }, args: ['--rules', rules] });
  const as = (agent, kind = 'http', options = {}) => open(t, gateway, kind, { headers: bearer(agent), ...options });
  return { gateway, as };
}

const namesOf = async (client) => (await client.tools()).map((x) => x.name);
const nameIn = (params) => params.name;

describe('12: rules on every path', () => {
  test('the rules decide each request of a batch separately', async (t) => {
    const up = await shop(t), { as } = await start(t, up);
    const clerk = await as('clerk', 'http', { rev: '2025-03-26' });
    const call = (id, name) => requestText(id, 'tools/call', { name, arguments: {} });
    const r = await clerk.post(`[${call('91', 'buy_tea')},${call('92', 'refund')},${call('93', 'list')}]`);
    await r.ended;
    const answers = Object.fromEntries(r.events.filter((e) => e.data).map((e) => JSON.parse(e.data)).map((m) => [m.id, m]));
    assert.ok(answers[91].result && answers[93].result && answers[92].error, JSON.stringify(answers));
    assert.deepEqual(up.called.map(nameIn).sort(), ['buy_tea', 'list']);
  });

  test('a denied call reaches no server, in any mode and from any kind of client', async (t) => {
    const up = await shop(t), { as } = await start(t, up);
    for (const mode of ['direct', 'transparent', 'gateway', 'servers']) {
      for (const kind of ['http', 'stateless http']) {
        const clerk = await as('clerk', kind, { path: `/mcp/${mode}` });
        for (const [name, args] of [
          ['refund', {}], ['shop__refund', {}], ['tool_execute', { tool_id: 'shop:refund', args: {} }],
          ['execute_tool', { server: 'shop', tool: 'refund', args: {} }],
        ]) {
          const { result, error } = (await clerk.request('tools/call', { name, arguments: args })).msg;
          assert.ok(error || result.isError, `${mode} ${name}`);
        }
      }
    }
    assert.deepEqual(up.called, []);
  });
});

test('13: an agent sees exactly the tools that it can call', async (t) => {
  const up = await shop(t), { as } = await start(t, up);
  for (const agent of ['clerk', 'boss']) {
    const client = await as(agent);
    const shown = await namesOf(client);
    for (const { name } of up.tools) {
      const { result } = (await client.request('tools/call', { name, arguments: {} })).msg;
      assert.equal(shown.includes(name), result !== undefined && !result.isError, `${agent} ${name}`);
    }
  }
});

test('14: no spelling of the name of a denied tool reaches a server', async (t) => {
  const up = await shop(t), { gateway } = await start(t, up);
  const clerk = new HttpClient(gateway.url, { headers: bearer('clerk') });
  onEnd(t, () => clerk.close());
  await clerk.initialize();
  const ask = async (params) => {
    const r = await clerk.post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${params}}`);
    await (r.streaming ? r.ended : undefined);
    const said = r.streaming ? r.events.map((e) => e.data).join('') : r.text;
    return !/"error"|"isError":true/.test(said);
  };
  for (const params of [
    '{"name":"refund"}', '{"name":"\\u0072efund"}', '{"name":"list","name":"refund"}', '{"name":"refund","name":"list"}',
    '{"name":"list","\\u006eame":"refund"}', '{"Name":"list","name":"refund"}', '{"NAME":"refund"}', '{"name":["refund"]}',
    '{"name":"list","Name":"refund"}', '{"Name":"refund","name":"list"}', '{"nam\\u0065":"list","NAME":"refund"}',
    '{"name":"refund\\u0000"}', '{"name":"REFUND"}', '{"name":" refund"}', '{"name":"buy_gold"}', '{"name":"buy_gol\\u0064"}',
  ]) assert.equal(await ask(params), false, params);
  assert.deepEqual(up.called, []);
  // A member that the protocol does not have decides nothing.
  assert.equal(await ask('{"ﬀ":1,"name":"l\\u0069st"}'), true);
  assert.deepEqual(up.called.map(nameIn), ['list']);
});

test('15: a tool that a server adds is denied unless a rule allows it', async (t) => {
  const up = await shop(t), { as } = await start(t, up);
  const clerk = await as('clerk'), boss = await as('boss');
  assert.deepEqual(await namesOf(clerk), ['list', 'buy_tea']);
  up.tools = [...up.tools, tool('drain'), tool('buy_milk'), tool('buy_gold'), tool('List')];
  await Promise.all(up.connections.map((c) => c.notify('notifications/tools/list_changed')));
  await until(async () => (await namesOf(boss)).includes('drain'), 'the new list', 60_000);
  assert.deepEqual(await namesOf(clerk), ['list', 'buy_tea', 'buy_milk']);
  for (const name of ['drain', 'buy_gold', 'List', 'refund'])
    assert.ok((await clerk.request('tools/call', { name, arguments: {} })).msg.error, name);
  assert.deepEqual(up.called, []);
});

test('37: no name of a principal can forge a line', async (t) => {
  const up = await shop(t), issuer = await startIssuer(t), file = path.join(tempDir(t), 'audit.jsonl');
  const config = { auth: { jwt: { issuer: issuer.url, jwks_url: issuer.jwksUrl } }, audit: { file }, log: { level: 'debug' } };
  const gateway = await startMeta(t, { mode: 'direct', servers: { shop: up.config() }, config });
  const evil = 'x"}\n{"agent_id":"boss","decision":"allow"}\r\n2026-01-01T00:00:00.000Z info  forged \u001b[2J';
  const token = (claims) => issuer.token(`${gateway.url}/mcp`, claims);
  const client = await open(t, gateway, 'http', { headers: { authorization: `Bearer ${token({ sub: evil })}` } });
  await client.call('list', {});
  for (const claims of [{ agent: evil }, { iss: evil }, { aud: evil }]) {
    const r = await fetchRaw(client.url, { method: 'POST', headers: { ...JSON_HEADERS, authorization: `Bearer ${token(claims)}` }, body: '{}' });
    assert.equal(r.status, 401);
    assert.ok(!/forged|\u001b/.test(r.text + r.headers['www-authenticate']));
  }
  await gateway.stop();
  assert.ok(!/forged|\u001b/.test(gateway.log));
  const lines = fs.readFileSync(file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line));
  assert.ok(lines.length && lines.every((line) => line.agent_id !== 'boss'));
});

test('38: a client without a token gets only health and OAuth metadata', async (t) => {
  const up = await shop(t), { gateway } = await start(t, up);
  assert.equal((await fetchRaw(`${gateway.url}/healthz`)).status, 200);
  const paths = [
    '/', '/admin', '/api', '/config', '/reload', '/policy', '/audit', '/shutdown', '/debug/pprof', '/status', '/sse',
    '/mcp', '/mcp/direct', '/mcp/gateway', '/mcp/transparent', '/mcp/servers', '/healthz/', '/healthz/../mcp', '//mcp', '/MCP',
    '/mcp/', '/.well-known/', '/.well-known/oauth-protected-resource/../../mcp', '/%6dcp',
  ];
  for (const at of paths) {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const r = await fetchRaw(gateway.url + at, { method, headers: JSON_HEADERS });
      assert.equal(r.status, 401, `${method} ${at}`);
      r.close();
    }
  }
  // With one, what is no endpoint is not there.
  for (const at of ['/admin', '/config', '/reload', '/audit', '/shutdown'])
    assert.equal((await fetchRaw(gateway.url + at, { method: 'POST', headers: bearer('boss') })).status, 404, at);
});

describe('39: what a principal may use', () => {
  const limited = (principal) => ({ config: { rate_limits: { principal } } });
  const list = (client) => client.request('tools/call', { name: 'list', arguments: {} }).then((m) => m.msg);
  const breach = ({ error }) => [error?.data?.error, error?.data?.details?.scope];

  test('the requests of a principal in a minute are limited over all its sessions', async (t) => {
    const up = await shop(t), { as } = await start(t, up, limited({ max_requests_per_minute: 4 }));
    const [a, b, c] = [await as('clerk'), await as('clerk'), await as('clerk', 'stateless http')];
    for (const client of [a, b, c, a]) assert.ok((await list(client)).result);
    for (const client of [a, b, c]) assert.deepEqual(breach(await list(client)), ['RATE_LIMITED', 'principal/requests']);
    const { error } = await list(await as('clerk'));
    assert.equal(error.data.retryable, true);
    assert.ok(error.data.details.retry_after > 0 && error.data.details.retry_after <= 60);
    assert.equal(up.called.length, 4);
    assert.ok((await list(await as('boss'))).result);  // another one has its own
  });

  test('requests at once', async (t) => {
    const gate = deferred();
    const up = await shop(t, { run: () => gate.promise.then(() => text('done')) });
    const { as } = await start(t, up, limited({ max_in_flight: 2 }));
    const [a, b, c, boss] = [await as('clerk'), await as('clerk'), await as('clerk'), await as('boss')];
    const waiting = [list(a), list(b).catch(() => {})];
    await until(() => up.called.length === 2, 'two calls');
    assert.deepEqual(breach(await list(c)), ['RATE_LIMITED', 'principal/in_flight']);
    const other = list(boss);
    await until(() => up.called.length === 3, 'the call of another');
    // One that its client gives up makes room.
    b.agent.destroy();
    b.stream.close();
    await until(async () => {
      const answer = await Promise.race([list(c), new Promise((resolve) => setTimeout(resolve, 200, 'waits'))]);
      return answer === 'waits';
    }, 'room for another', 60_000);
    gate.resolve();
    assert.ok((await waiting[0]).result && (await other).result);
  });

  test('bytes and tokens of the answers to a principal are limited', async (t) => {
    const long = 'a word or two of an answer. '.repeat(2000);
    for (const [limit, scope] of [[{ max_bytes_per_minute: 50_000 }, 'principal/bytes'], [{ max_tokens_per_minute: 8000 }, 'principal/tokens']]) {
      const up = await shop(t, { run: () => text(long) });
      const { as } = await start(t, up, limited(limit));
      const clerk = await as('clerk');
      assert.ok((await list(clerk)).result);  // whole, though it is more than is left
      assert.deepEqual(breach(await list(await as('clerk'))), ['RATE_LIMITED', scope]);
      assert.ok((await list(await as('boss'))).result);
      assert.equal(up.called.length, 2);
    }
  });

  test('in the modes with meta-tools an agent is told in their form', async (t) => {
    const up = await shop(t), { as } = await start(t, up, { mode: 'gateway', ...limited({ max_requests_per_minute: 1 }) });
    const clerk = await as('clerk');
    assert.equal((await clerk.call('tool_browse', { query: 'tea' })).isError, false);
    const fault = faultOf(await clerk.call('tool_browse', { query: 'tea' }), 'RATE_LIMITED');
    assert.equal(fault.message, 'rate limit exceeded (principal/requests): 1 in 60 seconds');
    const servers = await as('boss', 'http', { path: '/mcp/servers' });
    await servers.call('list_servers', {});
    assert.equal((await servers.call('list_servers', {})).structuredContent.error.code, 'RATE_LIMITED');
  });

  test('a ping and the handshake are free, so that a client finds out why', async (t) => {
    const up = await shop(t), { as } = await start(t, up, limited({ max_requests_per_minute: 1 }));
    const clerk = await as('clerk');
    await list(clerk);
    for (let i = 0; i < 5; i++) assert.deepEqual(await clerk.ask('ping'), {});
    await as('clerk');
  });
});

describe('41: what is remembered', () => {
  const agents = { ...AGENTS, 'clerk.night': {} };
  test('a cached result belongs to one principal and one agent', async (t) => {
    const up = await shop(t), { as } = await start(t, up, { agents, config: { cache: { read_only: true } } });
    const said = async (client) => (await client.call('list', {})).content[0].text;
    assert.equal(await said(await as('clerk')), 'list 1');
    assert.equal(await said(await as('boss')), 'list 2');
    assert.equal(await said(await as('clerk.night')), 'list 3');
    assert.equal(await said(await as('clerk')), 'list 1');
    assert.equal(await said(await as('boss')), 'list 2');
    // One credential for two roles: what was read for one is not for the other.
    const servers = await as('clerk', 'http', { path: '/mcp/servers' });
    const role = async (agent_id) =>
      (await servers.call('execute_tool', { server: 'shop', tool: 'list', args: {}, agent_id })).content[0].text;
    assert.equal(await role('clerk.night'), 'list 4');
    assert.equal(await role('clerk'), 'list 1');
  });

  test('a list that depends on who asks is no other client\'s to keep', async (t) => {
    const up = await shop(t), { as } = await start(t, up);
    for (const mode of ['direct', 'gateway', 'transparent', 'servers']) {
      const clerk = await as('clerk', 'stateless http', { path: `/mcp/${mode}` });
      const { result } = (await clerk.request('tools/list', {})).msg;
      assert.equal(result.cacheScope, 'private', mode);
    }
  });
});
