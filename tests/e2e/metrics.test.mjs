// SPDX-License-Identifier: Apache-2.0
// Given a gateway that runs, when somebody watches it, then its pages say whether it can be used, how its servers are
// and what was done; and they tell nobody of servers that he may not know of.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { gatewayEnv, ROOT, toolgate } from './lib/gateway.mjs';
import { idOf, open, startMeta } from './lib/meta.mjs';
import { run, tempDir, writeJson } from './lib/process.mjs';
import { fetchRaw, until } from './lib/raw.mjs';
import { handshakeServer, text } from './lib/stateless.mjs';

const DOWN = { command: '/nonexistent/program' };
const LONG = 'A line of a long result, one of very many.\n'.repeat(2000);
const sha256 = (token) => crypto.createHash('sha256').update(token).digest('hex');

async function start(t, { servers = {}, config = {}, headers = {} } = {}) {
  const up = await handshakeServer('stdio', { name: 'tracker' });
  up.on('tools/list', (params, { peer }) => {
    up.peer = peer;
    return { tools: ['add', 'fail', 'long'].map((name) => ({ name, inputSchema: { type: 'object' } })) };
  });
  up.on('tools/call', ({ name }) => ({ ...text(name === 'long' ? LONG : name), isError: name === 'fail' }));
  const gateway = await startMeta(t, { servers: { tracker: up, ...servers }, config });
  const get = (path, options = {}, origin = gateway.url) => fetch(new URL(path, origin), options);
  return { up, gateway, get, client: (options) => open(t, gateway, 'http', { headers, ...options }) };
}

/** The value of one line of the page. */
function valueOf(page, line) {
  const found = page.split('\n').find((it) => it.startsWith(`${line} `));
  return found === undefined ? undefined : Number(found.slice(line.length + 1));
}

/** Where the pages are when they have an address of their own. */
async function adminOf(gateway) {
  const said = await until(() => /readiness and metrics at (\S+):(\d+)/.exec(gateway.log), 'the address of the pages');
  return `http://${said[1]}:${said[2]}`;
}

describe('readiness', () => {
  test('names each server with its state, and why one is down', async (t) => {
    const { get } = await start(t, { servers: { gone: DOWN } });
    const said = await until(async () => {
      const r = await get('/readyz');
      const body = await r.json();
      return body.servers.gone.state === 'down' && body.servers.tracker.state === 'ready' && { status: r.status, body };
    }, 'both servers to be settled');
    assert.equal(said.status, 200);
    assert.equal(said.body.status, 'ready');
    assert.equal(said.body.servers_configured, 2);
    assert.equal(said.body.servers_usable, 1);
    assert.match(said.body.servers.gone.error, /nonexistent/);
  });

  test('is 503 while no server can be used', async (t) => {
    const gateway = await startMeta(t, { servers: { gone: DOWN } });
    const said = await until(async () => {
      const r = await fetch(new URL('/readyz', gateway.url));
      return (await r.json()).servers.gone.state === 'down' && r;
    }, 'the server to be down');
    assert.equal(said.status, 503);
    assert.equal((await fetch(new URL('/healthz', gateway.url))).status, 200);
  });
});

describe('metrics', () => {
  test('count calls by server and end, with their times, faults and what was not shown', async (t) => {
    const { get, client } = await start(t);
    const c = await client();
    const execute = async (name) => c.call('tool_execute', { tool_id: await idOf(c, 'tracker', name), args: {} });
    await execute('add');
    await execute('add');
    await execute('fail');
    await execute('long');
    await c.call('tool_execute', { tool_id: 'tracker:nothing#00000000', args: {} });
    await c.call('tool_execute', { tool_id: await idOf(c, 'tracker', 'add'), args: {}, dry_run: true });
    const r = await get('/metrics');
    assert.match(r.headers.get('content-type'), /^text\/plain; version=0\.0\.4/);
    const page = await r.text();
    assert.equal(valueOf(page, 'toolgate_calls_total{server="tracker",outcome="ok"}'), 3);
    assert.equal(valueOf(page, 'toolgate_calls_total{server="tracker",outcome="dry_run"}'), 1, 'a dry run is no call that went well');
    assert.equal(valueOf(page, 'toolgate_calls_total{server="tracker",outcome="tool_error"}'), 1);
    assert.equal(valueOf(page, 'toolgate_call_seconds_count{server="tracker"}'), 4);
    assert.equal(valueOf(page, 'toolgate_call_seconds_bucket{server="tracker",le="+Inf"}'), 4);
    assert.ok(valueOf(page, 'toolgate_result_tokens_saved_total') > 5000, page);
    assert.equal(valueOf(page, 'toolgate_server_up{server="tracker"}'), 1);
    assert.equal(valueOf(page, 'toolgate_server_in_flight{server="tracker"}'), 0);
    assert.equal(valueOf(page, 'toolgate_server_queue{server="tracker"}'), 0);
    assert.ok(valueOf(page, 'toolgate_sessions') >= 1);
    for (const work of ['request', 'reply', 'line', 'timer', 'deferred', 'job', 'store', 'files', 'index'])
      for (const name of ['toolgate_loop_slow_total', 'toolgate_loop_slow_milliseconds_total'])
        assert.ok(valueOf(page, `${name}{work="${work}",callback=""}`) >= 0, `${name} of ${work}`);
    assert.ok(valueOf(page, 'toolgate_loop_slow_max_milliseconds') >= 0);
  });

  test('every line is one that Prometheus reads', async (t) => {
    const { get, client } = await start(t, { servers: { 'odd-one': DOWN } });
    await (await client()).call('tool_browse', { path: '/' });
    const page = await (await get('/metrics')).text();
    const sample = /^[a-z_]+(\{[a-z_]+="([^"\\\n]|\\["\\n])*"(,[a-z_]+="([^"\\\n]|\\["\\n])*")*\})? [0-9.]+$/;
    const typed = new Set();
    for (const line of page.trimEnd().split('\n')) {
      const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line);
      if (type) typed.add(type[1]);
      else if (!line.startsWith('# HELP ')) {
        assert.match(line, sample);
        assert.ok(typed.has(line.split(/[{ ]/)[0].replace(/_(bucket|sum|count)$/, '')) || typed.has(line.split(/[{ ]/)[0]), line);
      }
    }
  });

  test('docs/reference/metrics.md has every metric, reason and kind of work, and no other', async (t) => {
    const collector = { endpoint: 'http://127.0.0.1:1/v1/x' }, file = path.join(tempDir(t), 'audit.jsonl');
    const governance = writeJson(path.join(tempDir(t), 'governance.json'), {});
    const { get } = await start(t, { config: { audit: { file }, governance, traces: collector, logs: collector } });
    const page = await (await get('/metrics')).text();
    const tables = fs.readFileSync(path.join(ROOT, 'docs/reference/metrics.md'), 'utf8').split(/^## /m)
      .map((section) => section.split('\n').filter((line) => /^\| `[^|]*` \| (?!callback)/.test(line)).map((line) => line.split(' | ')));
    const names = (table) => table.flatMap(([cell]) => cell.match(/\w+/g)).toSorted();
    const values = (label) => [...new Set([...page.matchAll(label)].map((m) => m[1]))].toSorted();
    assert.deepEqual(tables[0].map(([name, type]) => `${name.match(/\w+/)} ${type}`).toSorted(), values(/^# TYPE (.*)$/gm));
    assert.deepEqual(names(tables[1]), values(/reason="(\w+)"/g));
    const kinds = /loop_work_names\[LOOP_WORKS\] = .*?\};/s.exec(fs.readFileSync(path.join(ROOT, 'src/io/loop.c'), 'utf8'));
    assert.deepEqual(names(tables[2]), [...kinds[0].matchAll(/"(\w+)"/g)].map((m) => m[1]).toSorted());
  });

  test('a server that crashed and came back is counted', async (t) => {
    const { get, client, up } = await start(t);
    const c = await client();
    await c.call('tool_execute', { tool_id: await idOf(c, 'tracker', 'add'), args: {} });
    process.kill(up.peer.pid, 'SIGKILL');
    const value = async (name) => valueOf(await (await get('/metrics')).text(), `${name}{server="tracker"}`);
    await until(async () => (await value('toolgate_server_restarts_total')) >= 1, 'the restart');
    assert.ok((await value('toolgate_server_failures_total')) >= 1);
  });
});

describe('whom the pages tell', () => {
  const TOKEN = 'a-token-of-thirty-two-characters';
  const config = { auth: { tokens: [{ sha256: sha256(TOKEN) }] } };

  test('with tokens the endpoint has no metrics, and its readiness only the status', async (t) => {
    const { get } = await start(t, { config });
    const headers = { authorization: `Bearer ${TOKEN}` };
    assert.equal((await get('/metrics')).status, 401);
    assert.equal((await get('/metrics', { headers })).status, 404);
    assert.deepEqual(Object.keys(await (await get('/readyz')).json()), ['status']);
  });

  test('at an address of their own they are whole, for whoever has the token of that', async (t) => {
    const ADMIN = 'another-token-for-those-who-watch';
    const { gateway, get } = await start(t, { config: { ...config, admin: { listen: '127.0.0.1:0', token_sha256: sha256(ADMIN) } } });
    const origin = await adminOf(gateway);
    assert.equal((await get('/healthz', {}, origin)).status, 200);
    for (const headers of [{}, { authorization: `Bearer ${TOKEN}` }, { authorization: 'Bearer ' }]) {
      assert.equal((await get('/metrics', { headers }, origin)).status, 401);
      assert.equal((await get('/readyz', { headers }, origin)).status, 401);
    }
    const headers = { authorization: `Bearer ${ADMIN}` };
    assert.match(await (await get('/metrics', { headers }, origin)).text(), /toolgate_server_up\{server="tracker"\}/);
    assert.match(await (await get('/readyz', { headers }, origin)).text(), /tracker/);
    const missing = await get('/mcp', { headers, method: 'POST', body: '{}' }, origin);
    assert.equal(missing.status, 404);
    assert.match(await missing.text(), /the pages are \/healthz, \/\.well-known\/jwks\.json, \/readyz, \/metrics, \/status, \/events, \/reload\n$/);
    assert.equal((await get('/metrics', { headers, method: 'POST', body: '{}' }, origin)).status, 405);
    // A web page that has its name point here is not let in.
    assert.equal((await get('/metrics', { headers: { ...headers, origin: 'http://evil.example' } }, origin)).status, 403);
  });

  test('an address that is taken ends a gateway on HTTP, and costs one on stdio its pages', async (t) => {
    const { gateway } = await start(t, { config: { admin: { listen: '127.0.0.1:0' } } });
    const taken = new URL(await adminOf(gateway)).host;
    const config = writeJson(path.join(tempDir(t), 'toolgate.json'), { admin: { listen: taken }, servers: { gone: DOWN } });
    const serve = (...args) => run(toolgate(), ['serve', '--config', config, '--transport', ...args],
      { cwd: path.dirname(config), env: gatewayEnv({}) });
    const http = await serve('http', '--listen', '127.0.0.1:0');
    assert.equal(http.status, 3);
    assert.match(http.stderr, /address already in use; set another address in admin\.listen/);
    assert.doesNotMatch(http.stderr, /--listen/);
    const stdio = await serve('stdio');
    assert.equal(stdio.status, 0, stdio.stderr);
    assert.match(stdio.stderr, /warn.*readiness and metrics are not available: .*; set another address in admin\.listen/);
  });

  test('a listener on all addresses answers under each of them, and under the names of admin.allowed_hosts', async (t) => {
    const guard = { token_sha256: sha256(TOKEN), allowed_hosts: ['scrape.example', 'gate.example:9464'] };
    for (const host of ['0.0.0.0', '[::]']) {
      const { gateway } = await start(t, { config: { admin: { ...guard, listen: `${host}:0` } } });
      const port = new URL(await adminOf(gateway)).port;
      const status = async (name, header = `${name}:${port}`) => (await fetchRaw(`http://${name}:${port}/metrics`,
        { headers: { host: header, authorization: `Bearer ${TOKEN}` } })).status;
      assert.equal(await status('127.0.0.2'), 200);
      assert.equal(await status('127.0.0.2', '127.0.0.2'), 200, 'without a port');
      assert.equal(await status('127.0.0.1', 'scrape.example:9464'), 200);
      assert.equal(await status('127.0.0.1', 'gate.example:9464'), 200);
      for (const wrong of ['gate.example:9465', 'evil.example', '127.0.0.3', '127.0.0.2:1'])
        assert.equal(await status('127.0.0.2', wrong), 421, wrong);
    }
  });

  test('an IPv6 address has its brackets in the log and in Host', async (t) => {
    const { gateway } = await start(t, { config: { admin: { listen: '[0:0::1]:0' } } });
    const { hostname, port } = new URL(await adminOf(gateway));
    assert.equal(hostname, '[::1]');
    assert.equal((await fetchRaw(`http://[::1]:${port}/metrics`)).status, 200);
  });

  test('the state of the gateway is one page, and a stream of events when it changes', async (t) => {
    const { gateway, client } = await start(t, { config: { admin: { listen: '127.0.0.1:0' } } });
    const origin = await adminOf(gateway), c = await client(), id = await idOf(c, 'tracker', 'add');
    const said = await (await fetch(`${origin}/status`)).json();
    assert.deepEqual(said.servers.map((it) => [it.name, it.state, it.tools, it.calls]), [['tracker', 'ready', 3, 0]]);
    assert.equal(said.rules.enforced, false);
    assert.equal(said.in_flight, 0);
    assert.deepEqual(said.last_calls, []);
    assert.ok(said.sessions >= 1);
    for (const inside of ['files', 'clients']) assert.equal(said[inside], undefined);
    assert.equal(said.servers[0].pids, undefined);
    const stream = await fetchRaw(`${origin}/events`);
    assert.match(stream.headers['content-type'], /^text\/event-stream/);
    const calls = () => stream.events.filter((it) => it.type === 'status').map((it) => JSON.parse(it.data).servers[0].calls);
    await until(() => calls().length > 0, 'the first state');
    await c.call('tool_execute', { tool_id: id, args: {} });
    await until(() => calls().at(-1) === 1, 'the state after a call');
    assert.deepEqual(JSON.parse(stream.events.at(-1).data).last_calls.map((it) => [it.server, it.outcome]), [['tracker', 'ok']]);
    stream.close();
    assert.equal((await fetch(new URL('/status', gateway.url))).status, 404, 'not at the endpoint');
  });

  test('who reads cannot change anything: that needs the token of operators', async (t) => {
    const OPERATOR = 'the-token-of-those-who-change-it';
    const reload = async (origin, token) => fetch(`${origin}/reload`, { method: 'POST', headers: token ? { authorization: `Bearer ${token}` } : {} });
    const guard = { listen: '127.0.0.1:0', token_sha256: sha256(TOKEN) };
    const { gateway } = await start(t, { config: { admin: { ...guard, operator_token_sha256: sha256(OPERATOR) } } });
    const origin = await adminOf(gateway);
    assert.equal((await reload(origin)).status, 401);
    assert.equal((await reload(origin, 'x'.repeat(32))).status, 401);
    assert.equal((await reload(origin, TOKEN)).status, 403);
    assert.equal((await reload(origin, OPERATOR)).status, 202);
    const page = async () => (await fetch(`${origin}/metrics`, { headers: { authorization: `Bearer ${OPERATOR}` } })).text();
    await until(async () => valueOf(await page(), 'toolgate_reloads_total{result="taken"}') === 1, 'the reload');
    const wrong = await fetch(`${origin}/reload`, { headers: { authorization: `Bearer ${OPERATOR}` } });
    assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'POST']);

    const open = await start(t, { config: { admin: { listen: '127.0.0.1:0' } } });
    const unguarded = await adminOf(open.gateway);
    assert.equal((await fetch(`${unguarded}/metrics`)).status, 200);
    assert.equal((await reload(unguarded)).status, 401, 'without the key nobody is an operator');
  });

  test('an address that others reach needs a token', async (t) => {
    const config = writeJson(path.join(tempDir(t), 'toolgate.json'), { admin: { listen: '0.0.0.0:0' }, servers: { gone: DOWN } });
    const r = await run(toolgate(), ['check', '--config', config], { cwd: path.dirname(config), env: gatewayEnv({}) });
    assert.equal(r.status, 1);
    assert.match(r.stdout + r.stderr, /\/admin\/listen: .*admin\.token_sha256/);
  });
});
