// SPDX-License-Identifier: Apache-2.0
// Given a gateway on this machine without a token, when a web page in a browser of this machine tries to use it, then no
// request of the page does or shows anything: neither from another site nor from another port of this machine.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import http from 'node:http';
import path from 'node:path';
import { describe, test } from 'node:test';

import { tempDir } from './lib/process.mjs';
import {
  askFor, deferred, fetchRaw, HttpClient, INITIALIZE, LATEST, MCP_PATHS, onEnd, SseClient, startGateway, talk,
  until, wholeResponse, within,
} from './lib/raw.mjs';
import { makeUpstream } from './servers/features.mjs';

const TOKEN = 'a-token-for-the-tests-of-browsers';

async function start(t, config = {}) {
  const up = await makeUpstream('stdio', 'up');
  const digest = crypto.createHash('sha256').update(TOKEN).digest('hex');
  const admin = { listen: '127.0.0.1:0', token_sha256: digest };
  const gateway = await startGateway(t, { servers: { up }, config: { admin, ...config } });
  const [, port] = await until(() => /readiness and metrics at \S+:(\d+)/.exec(gateway.log), 'the admin port');
  return { up, gateway, adminPort: Number(port) };
}

const PAGES = ['/healthz', '/readyz', '/metrics'].map((page) => ['GET', page]);

/** Asks for every path of both listeners with these headers. */
async function askEverywhere({ gateway, adminPort }, headers, each) {
  for (const [method, target] of [...MCP_PATHS, ...PAGES]) each(await askFor(gateway.port, method, target, headers), `${method} ${target}`);
  const authorized = { Authorization: `Bearer ${TOKEN}`, ...headers };
  for (const [method, target] of PAGES) each(await askFor(adminPort, method, target, authorized), `admin ${target}`);
}

async function sessionsOf(gateway) {
  const page = await fetchRaw(`${gateway.url}/metrics`);
  return Number(/^toolgate_sessions (\d+)/m.exec(page.text)[1]);
}

describe('what a browser says of a request', () => {
  test('cross-site and same-site requests are refused on every path', async (t) => {
    const world = await start(t);
    for (const site of ['cross-site', 'same-site', 'unknown', '']) {
      await askEverywhere(world, { 'Sec-Fetch-Site': site }, (r, what) => assert.equal(r.status, 403, `${what}: ${site}`));
    }
    assert.equal(await sessionsOf(world.gateway), 0);
    for (const site of ['same-origin', 'none']) assert.equal((await askFor(world.gateway.port, 'POST', '/mcp', { 'Sec-Fetch-Site': site })).status, 200);
  });

  test('the port of Origin must be the listening port', async (t) => {
    const world = await start(t);
    const { port } = world.gateway;
    for (const origin of ['http://localhost:1', 'http://localhost', 'http://127.0.0.1:3000', 'http://[::1]:3000', `https://localhost:${port}`, 'null']) {
      await askEverywhere(world, { Origin: origin }, (r, what) => assert.equal(r.status, 403, `${what}: ${origin}`));
    }
    for (const name of ['localhost', '127.0.0.1', '[::1]', 'LOCALHOST']) assert.equal((await askFor(port, 'POST', '/mcp', { Origin: `http://${name}:${port}` })).status, 200, name);
  });

  test('a wrong Host or Origin is a line of the log, of many only the first in a second', async (t) => {
    const { gateway, adminPort } = await start(t);
    const lines = () => gateway.log.match(/warn.*refused a request from .* with HTTP 4\d\d: .*/g) ?? [];
    await askFor(gateway.port, 'POST', '/mcp', { Host: 'evil.example' });
    const [host] = await until(() => lines().length === 1 && lines(), 'its line');
    assert.match(host, /from 127\.0\.0\.1\S* with HTTP 421: Host "evil\.example".*allowed_hosts/);
    await askFor(adminPort, 'GET', '/metrics', { Host: 'other.example' });
    await until(() => /with HTTP 421: Host "other\.example"/.test(gateway.log), 'the line of the other listener');
    await askFor(gateway.port, 'POST', '/mcp', { Origin: 'http://evil.example' });
    await until(() => /with HTTP 403: Host .*Origin http:\/\/evil\.example/.test(gateway.log), 'the line of a page');
    const [before, began] = [lines().length, Date.now()];
    await Promise.all(Array.from({ length: 60 }, () => askFor(gateway.port, 'POST', '/mcp', { Host: 'many.example' })));
    const most = 5 * (2 + Math.floor((Date.now() - began) / 1000)); // five in each second that they took part of
    assert.ok(lines().length - before <= most, `${lines().length - before} lines, at most ${most}`);
    await until(async () => {
      await askFor(gateway.port, 'POST', '/mcp', { Host: 'late.example' });
      return /Host "(late|many)\.example".* \([1-9]\d* similar messages suppressed\)/.test(gateway.log);
    }, 'the number of requests without a line');
  });

  test('Host must have the port listened on, if it has one', async (t) => {
    const world = await start(t);
    for (const host of ['localhost:1', '127.0.0.1:65535', '[::1]:80', 'localhost.', `evil.example:${world.gateway.port}`, '[0:0:0:0:0:0:0:1]', '127.1']) {
      await askEverywhere(world, { Host: host }, (r, what) => assert.equal(r.status, 421, `${what}: ${host}`));
    }
    for (const host of ['', 'user@localhost', 'localhost:x']) {
      await askEverywhere(world, { Host: host }, (r, what) => assert.ok([400, 421].includes(r.status), `${what}: ${host}`));
    }
    for (const name of ['localhost', '127.0.0.1', '[::1]', 'LOCALHOST']) {
      for (const suffix of ['', `:${world.gateway.port}`]) assert.equal((await askFor(world.gateway.port, 'POST', '/mcp', { Host: name + suffix })).status, 200, name + suffix);
    }
  });

  test('configured names have any port, or the configured one, and may call from a browser', async (t) => {
    const { gateway } = await start(t, { allowed_hosts: ['app.example', 'gate.example:8443', 'fd00::1'] });
    const status = async (headers) => (await askFor(gateway.port, 'POST', '/mcp', headers)).status;
    assert.equal(await status({ Host: 'app.example:1234' }), 200);
    assert.equal(await status({ Host: '[fd00::1]:1234' }), 200);
    assert.equal(await status({ Host: 'gate.example:8443' }), 200);
    assert.equal(await status({ Host: 'gate.example:8444' }), 421);
    assert.equal(await status({ Origin: 'https://app.example', 'Sec-Fetch-Site': 'cross-site' }), 200);
    assert.equal(await status({ Origin: 'https://gate.example', 'Sec-Fetch-Site': 'cross-site' }), 403);
    assert.equal(await status({ 'Sec-Fetch-Site': 'cross-site' }), 403);
  });

  test('headers that replace the host or the method have no effect', async (t) => {
    const { gateway } = await start(t);
    const others = { 'X-Forwarded-Host': 'evil.example', Forwarded: 'host=evil.example', 'X-HTTP-Method-Override': 'DELETE', Cookie: 'a=b' };
    assert.equal((await askFor(gateway.port, 'POST', '/mcp', others)).status, 200);
    assert.equal((await askFor(gateway.port, 'POST', '/mcp', { Host: 'evil.example', 'X-Forwarded-Host': 'localhost' })).status, 421);
    assert.equal((await askFor(gateway.port, 'POST', 'http://evil.example/mcp', {})).status, 400);
  });
});

describe('a request that a browser sends without a preflight', () => {
  const SIMPLE = [
    'text/plain',
    'text/plain;charset=utf-8',
    'text/plain;a=b,application/json',
    'text/plain, application/json',
    'application/json, text/plain',
    'application/json;a=b',
    'application/json;charset=utf-16',
    'application/json;charset=utf-8;a=b',
    'application/json;',
    'application/jsonx',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=application/json',
    'application/json; profile=utf-8',
    '',
  ];

  test('a request without a preflight is refused because of its Content-Type', async (t) => {
    const { gateway } = await start(t);
    const sse = await new SseClient(gateway.url).connect();
    onEnd(t, () => sse.close());
    const { pathname, search } = new URL(sse.url);
    for (const type of SIMPLE) {
      for (const target of ['/mcp', '/mcp/direct', pathname + search]) {
        assert.equal((await askFor(gateway.port, 'POST', target, { 'content-type': type })).status, 415, `${target}: ${type}`);
      }
    }
    assert.equal(await sessionsOf(gateway), 1);
    for (const type of ['application/json', 'Application/JSON', 'application/json; charset=utf-8', 'application/json;charset="UTF-8"']) {
      assert.equal((await askFor(gateway.port, 'POST', '/mcp', { 'content-type': type })).status, 200, type);
    }
  });

  test('no answer has CORS headers, not even the answer to a preflight', async (t) => {
    const world = await start(t);
    const preflight = {
      Origin: `http://localhost:${world.gateway.port}`,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'content-type',
      'Access-Control-Request-Private-Network': 'true',
    };
    for (const headers of [{}, preflight, { ...preflight, Origin: 'http://evil.example' }]) {
      await askEverywhere(world, headers, (r, what) => assert.doesNotMatch(r.text, /access-control-/i, what));
    }
    for (const [, page] of PAGES) assert.doesNotMatch((await askFor(world.gateway.port, 'HEAD', page, {})).text, /access-control-/i);
  });

  test('a WebSocket does not open', async (t) => {
    const { gateway } = await start(t);
    const upgrade = { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==', 'Sec-WebSocket-Version': '13' };
    for (const target of ['/mcp', '/sse']) assert.notEqual((await askFor(gateway.port, 'GET', target, upgrade)).status, 101);
  });
});

test('a request that repeats a header that may occur only once is refused', async (t) => {
  const { gateway, adminPort } = await start(t);
  const values = {
    Host: 'localhost',
    Origin: `http://localhost:${gateway.port}`,
    'Content-Type': 'application/json',
    'Content-Length': String(INITIALIZE.length),
    Authorization: 'Bearer x',
    'Mcp-Session-Id': 'x',
    'MCP-Protocol-Version': LATEST,
    'Mcp-Method': 'initialize',
    'Mcp-Name': 'x',
    'Last-Event-ID': '1-1',
    'Sec-Fetch-Site': 'none',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  };
  const usual = { Host: 'localhost', 'Content-Type': 'application/json', 'Content-Length': String(INITIALIZE.length) };
  for (const [name, value] of Object.entries(values)) {
    const rest = Object.entries(usual).filter(([other]) => other !== name);
    const lines = [...rest, [name, value], [name.toLowerCase(), value]].map(([n, v]) => `${n}: ${v}\r\n`).join('');
    const { status, text } = await talk(gateway.port, `POST /mcp HTTP/1.1\r\n${lines}\r\n${INITIALIZE}`, { enough: wholeResponse });
    assert.equal(status, 400, name);
    assert.ok(text.split('\r\n\r\n')[1].includes(name), `${name}: ${text}`);
    if (name === 'Authorization') continue;
    const page = `GET /metrics HTTP/1.1\r\nAuthorization: Bearer ${TOKEN}\r\n${lines}\r\n${INITIALIZE}`;
    assert.equal((await talk(adminPort, page, { enough: wholeResponse })).status, 400, `admin ${name}`);
  }
  assert.equal(await sessionsOf(gateway), 0);
});

test('sessions that were opened and never used give way to others', async (t) => {
  const { gateway } = await start(t, { limits: { sessions: 8 } });
  const used = new HttpClient(gateway.url);
  onEnd(t, () => used.close());
  await used.initialize();
  await used.ask('ping');
  for (let i = 0; i < 30; i++) assert.equal((await askFor(gateway.port, 'POST', '/mcp', {})).status, 200, `initialize ${i}`);
  await used.ask('ping');
  const late = new HttpClient(gateway.url);
  onEnd(t, () => late.close());
  await late.initialize();
  await late.ask('ping');
  assert.equal(await sessionsOf(gateway), 8);
});

test('sessions that were used once give way to others, and those in use do not', async (t) => {
  const { gateway } = await start(t, { limits: { sessions: 8 } });
  const clients = Array.from({ length: 3 }, () => new HttpClient(gateway.url));
  const [listens, old, late] = clients;
  onEnd(t, () => Promise.all(clients.map((c) => c.close())));
  await listens.connect();
  await old.initialize();
  await old.ask('ping');
  for (let i = 0; i < 30; i++) {
    const client = new HttpClient(gateway.url);
    await client.initialize();
    await client.ask('ping');
    client.agent.destroy();
  }
  await listens.ask('ping');
  await late.initialize();
  await late.ask('ping');
  await assert.rejects(old.ask('ping'), (e) => e.status === 404);
  old.session = undefined;
  assert.equal(await sessionsOf(gateway), 8);
});

// ---- a real browser

const BROWSER = ['chromium', 'chromium-browser'].find((name) => spawnSync(name, ['--version']).status === 0);

/** Everything that a page can send to `target` (a URL without a path), and then a report to its own server. */
function attack(target, body) {
  const run = async ([base, text, wait]) => {
    const url = `${base}/mcp`;
    const types = ['text/plain', 'text/plain;a=b,application/json', 'application/x-www-form-urlencoded'];
    const tries = types.map((type) => () => fetch(url, { method: 'POST', mode: 'no-cors', headers: { 'Content-Type': type }, body: text }));
    const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
    tries.push(
      () => fetch(url, { method: 'POST', headers: json, body: text }),
      () => fetch(url, { method: 'POST', mode: 'no-cors', body: new Blob([text]) }),
      () => fetch(`${base}/sse`, { mode: 'no-cors' }),
      () => fetch(`${base}/metrics`).then((r) => r.text()),
      () => fetch(`${base}/readyz`, { mode: 'no-cors' }),
      () => navigator.sendBeacon(url, new Blob([text], { type: 'text/plain;charset=utf-8' })),
    );
    const opened = [];
    for (const path of ['/sse', '/mcp', '/metrics']) {
      const events = new EventSource(base + path);
      events.onopen = () => opened.push(`EventSource ${path}`);
      const image = new Image();
      image.onload = () => opened.push(`image ${path}`);
      image.src = base + path;
      const script = document.createElement('script');
      script.onload = () => opened.push(`script ${path}`);
      script.src = base + path;
      document.head.append(script);
      const socket = new WebSocket(base.replace('http', 'ws') + path);
      socket.onopen = () => opened.push(`WebSocket ${path}`);
    }
    for (const enctype of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const frame = document.createElement('iframe');
      frame.name = `frame-${enctype}`;
      const form = Object.assign(document.createElement('form'), { method: 'POST', action: url, enctype, target: frame.name });
      const input = Object.assign(document.createElement('input'), { name: text.slice(0, -1) + ',"x":"', value: '"}' });
      form.append(input);
      document.body.append(frame, form);
      form.submit();
    }
    for (const one of tries) {
      try {
        const r = await Promise.race([one(), new Promise((resolve, reject) => setTimeout(reject, wait))]);
        if (typeof r === 'string') opened.push(`read ${r.slice(0, 40)}`);
        else if (r?.status) opened.push(`read ${r.status}`);
      } catch {
        // refused
      }
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
    await fetch('/done', { method: 'POST', body: JSON.stringify(opened) });
  };
  return `<!doctype html><body><script>(${run})(${JSON.stringify([target, body, 1000]).replaceAll('<', '\\u003c')})</script>`;
}

/** Serves the page of the attacker, and hears its report. */
async function servePage(t, page) {
  const report = deferred();
  const server = http.createServer((req, res) => {
    if (req.url !== '/done') return res.setHeader('content-type', 'text/html').end(page);
    req.setEncoding('utf8').on('data', (text) => report.resolve(JSON.parse(text)));
    req.on('end', () => res.end());
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(t, () => [server.closeAllConnections(), server.close()]);
  return { port: server.address().port, report: report.promise };
}

/** A server that takes everything: shows that the attacks get as far as a server. */
async function serveVictim(t) {
  const seen = new Set();
  const server = http.createServer((req, res) => {
    seen.add(`${req.method} ${req.headers['content-type'] ?? req.url}`.replace(/;.*|boundary.*/, ''));
    res.setHeader('access-control-allow-origin', '*').setHeader('access-control-allow-headers', '*').end('{}');
  });
  server.on('upgrade', (req, socket) => [seen.add('WebSocket'), socket.destroy()]);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(t, () => [server.closeAllConnections(), server.close()]);
  return { port: server.address().port, seen };
}

async function browse(t, url, report) {
  const profile = path.join(tempDir(t), 'profile');
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update',
    '--disable-sync', `--user-data-dir=${profile}`, '--host-resolver-rules=MAP evil.example 127.0.0.1, MAP rebound.example 127.0.0.1', '--remote-debugging-port=0', url];
  const child = spawn(BROWSER, flags, { stdio: 'ignore', detached: true });
  const ended = new Promise((resolve) => child.on('close', resolve));
  try {
    return await within(report, 'the report of the page', 120_000);
  } finally {
    process.kill(-child.pid, 'SIGKILL');
    await ended;
  }
}

describe('Chromium', { skip: !BROWSER && 'chromium is not installed' }, () => {
  for (const [name, target] of [['evil.example', 'localhost'], ['localhost', 'localhost'], ['localhost', '127.0.0.1'], ['evil.example', 'rebound.example']]) {
    test(`a page of http://${name} cannot use the gateway at http://${target}`, async (t) => {
      const { up, gateway } = await start(t);
      const { port, report } = await servePage(t, attack(`http://${target}:${gateway.port}`, INITIALIZE));
      assert.deepEqual(await browse(t, `http://${name}:${port}/`, report), []);
      assert.equal(await sessionsOf(gateway), 0);
      assert.deepEqual(up.counts, {});
    });
  }

  test('the same page reaches a server that takes everything', async (t) => {
    const victim = await serveVictim(t);
    const { port, report } = await servePage(t, attack(`http://localhost:${victim.port}`, INITIALIZE));
    assert.notDeepEqual(await browse(t, `http://evil.example:${port}/`, report), []);
    for (const what of ['POST text/plain', 'POST application/json', 'POST application/x-www-form-urlencoded', 'POST multipart/form-data', 'GET /sse', 'GET /metrics', 'WebSocket']) {
      assert.ok(victim.seen.has(what), `${what} is not among ${[...victim.seen]}`);
    }
  });
});
