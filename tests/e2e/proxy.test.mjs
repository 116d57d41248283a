// SPDX-License-Identifier: Apache-2.0
// HTTP servers that are reached through a proxy of the environment. The proxy of these tests knows the hosts
// *.example.test, which nothing else resolves, and counts what it is asked.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { runToolgate } from './lib/gateway.mjs';
import { tempDir, writeJson } from './lib/process.mjs';
import { HttpClient, onEnd, startGateway } from './lib/raw.mjs';
import { handshakeServer, text } from './lib/stateless.mjs';

const PASSWORD = 'correct-horse-battery';

const listen = (t, server) => new Promise((resolve) => server.listen(0, '127.0.0.1', () => {
  onEnd(t, () => {
    server.closeAllConnections?.();
    server.close();
  });
  resolve(server.address().port);
}));

/** A proxy that forwards every host to `port`; with `user`, only for whoever says user:password. */
async function startProxy(t, port, { user } = {}) {
  const proxy = { forwarded: [], tunnels: [], sockets: new Set() };
  const wanted = user && `Basic ${Buffer.from(user).toString('base64')}`;
  const lets = (req) => !wanted || req.headers['proxy-authorization'] === wanted;
  const server = http.createServer((req, res) => {
    proxy.forwarded.push(`${req.method} ${req.url}`);
    if (!lets(req)) return res.writeHead(407, { 'proxy-authenticate': 'Basic' }).end();
    const { 'proxy-authorization': _, ...headers } = req.headers;
    const { pathname, search } = new URL(req.url);
    const on = http.request({ port, host: '127.0.0.1', method: req.method, path: pathname + search, headers }, (answer) => {
      res.writeHead(answer.statusCode, answer.headers);
      answer.pipe(res);
    });
    on.on('error', () => res.destroy());
    res.on('close', () => on.destroy());
    req.pipe(on);
  });
  server.on('connect', (req, socket) => {
    proxy.tunnels.push(req.url);
    proxy.sockets.add(socket);
    socket.on('error', () => {});
    if (!lets(req)) return socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n');
    const on = net.connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(on).pipe(socket);
    });
    on.on('error', () => socket.destroy());
    socket.on('close', () => on.destroy());
  });
  onEnd(t, () => proxy.sockets.forEach((socket) => socket.destroy()));
  proxy.port = await listen(t, server);
  return proxy;
}

/** A port of this machine at which nobody listens. */
async function closedPort() {
  const server = net.createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function startUpstream(t) {
  const up = await handshakeServer('http', { name: 'far' });
  onEnd(t, () => up.close());
  up.tools = [{ name: 'greet', inputSchema: { type: 'object' } }];
  up.on('tools/call', () => text('hello'));
  up.port = Number(new URL(up.base).port);
  return up;
}

async function call(t, gateway) {
  const client = new HttpClient(gateway.url);
  onEnd(t, () => client.close());
  await client.initialize();
  assert.deepEqual((await client.tools()).map(({ name }) => name), ['greet']);
  return (await client.call('greet')).content[0].text;
}

const far = (scheme) => ({ far: { type: 'http', url: `${scheme}://mcp.example.test/mcp?k=v` } });

async function check(t, servers, env, ...args) {
  const dir = tempDir(t);
  writeJson(path.join(dir, '.mcp.json'), { mcpServers: servers });
  return runToolgate(['check', ...args], { cwd: dir, timeoutMs: 60_000, env: { HOME: dir, ...env } });
}

describe('a proxy of the environment', () => {
  test('forwards the requests for http servers', async (t) => {
    const up = await startUpstream(t);
    const proxy = await startProxy(t, up.port, { user: `joe:${PASSWORD}` });
    const env = { HTTP_PROXY: `http://joe:${PASSWORD}@127.0.0.1:${proxy.port}` };
    const gateway = await startGateway(t, { servers: far('http'), env, args: ['--log-level', 'debug'] });
    assert.equal(await call(t, gateway), 'hello');
    assert.ok(proxy.forwarded.length >= 3);
    for (const line of proxy.forwarded) assert.match(line, /^(POST|GET|DELETE) http:\/\/mcp\.example\.test\/mcp\?k=v$/);
    assert.deepEqual(proxy.tunnels, []);
    assert.ok(!gateway.log.includes(PASSWORD) && !gateway.log.includes(Buffer.from(`joe:${PASSWORD}`).toString('base64')));
  });

  test('gives a tunnel to https servers, whose certificate is checked', async (t) => {
    const dir = tempDir(t);
    const [key, cert] = ['key.pem', 'cert.pem'].map((file) => path.join(dir, file));
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2',
      '-subj', '/CN=mcp.example.test', '-addext', 'subjectAltName=DNS:mcp.example.test', '-keyout', key, '-out', cert],
    { stdio: 'ignore' });
    const up = await startUpstream(t);
    const secure = https.createServer({ key: fs.readFileSync(key), cert: fs.readFileSync(cert) }, (req, res) => {
      const on = http.request({ port: up.port, host: '127.0.0.1', method: req.method, path: req.url, headers: req.headers },
        (answer) => answer.pipe(res.writeHead(answer.statusCode, answer.headers)));
      on.on('error', () => res.destroy());
      res.on('close', () => on.destroy());
      req.pipe(on);
    });
    const proxy = await startProxy(t, await listen(t, secure), { user: `joe:${PASSWORD}` });
    const env = { HTTPS_PROXY: `http://joe:${PASSWORD}@127.0.0.1:${proxy.port}`, SSL_CERT_FILE: cert };
    const gateway = await startGateway(t, { servers: far('https'), env });
    assert.equal(await call(t, gateway), 'hello');
    assert.ok(proxy.tunnels.length > 0);
    for (const target of proxy.tunnels) assert.equal(target, 'mcp.example.test:443');
    const { stdout } = await check(t, far('https'), { ...env, SSL_CERT_FILE: '/dev/null' }, '--connect');
    assert.match(stdout, /failed: .*certificate/);
  });

  test('is not asked for this machine and for what NO_PROXY names', async (t) => {
    const up = await startUpstream(t);
    const dead = `http://127.0.0.1:${await closedPort()}`;
    const gateway = await startGateway(t, { servers: { far: up }, env: { ALL_PROXY: dead } });
    assert.equal(await call(t, gateway), 'hello');
    const { stdout } = await check(t, far('http'), { ALL_PROXY: dead, NO_PROXY: '.example.test' }, '--connect');
    assert.match(stdout, /failed: .*mcp\.example\.test port 80: no such host/);
  });

  test('that refuses or is not there is named in the reason', async (t) => {
    const up = await startUpstream(t);
    const proxy = await startProxy(t, up.port, { user: `joe:${PASSWORD}` });
    const at = `127.0.0.1:${proxy.port}`, none = await closedPort();
    for (const scheme of ['http', 'https']) {
      const variable = `${scheme.toUpperCase()}_PROXY`;
      const failure = async (url) => {
        const { status, stdout } = await check(t, far(scheme), { [variable]: url }, '--connect');
        assert.equal(status, 1);
        assert.ok(!stdout.includes('wrong-password'));
        return /failed: (.*)/.exec(stdout)[1];
      };
      assert.match(await failure(`http://${at}`), new RegExp(`proxy 127.0.0.1 port ${proxy.port} needs credentials.*407.*${variable}`));
      assert.match(await failure(`http://joe:wrong-password@${at}`), new RegExp(`rejected the user and password in ${variable}`));
      assert.match(await failure(`127.0.0.1:${none}`), new RegExp(`through the proxy 127.0.0.1 port ${none} \\(${variable}\\): connection refused`));
    }
  });

  test('with a URL that cannot be used is a problem of the servers that need it', async (t) => {
    for (const url of ['socks5://p:1', `http://joe:${PASSWORD}@p:x`, 'https://p']) {
      const { status, stdout } = await check(t, { ...far('https'), near: { url: 'http://127.0.0.1:9/mcp' } }, { HTTPS_PROXY: url }, '--json');
      assert.equal(status, 1);
      const { problems } = JSON.parse(stdout);
      assert.deepEqual(problems.map(({ level, pointer }) => [level, pointer]), [['error', '/mcpServers/far/url']]);
      assert.match(problems[0].message, /HTTPS_PROXY must be http:/);
      assert.ok(!stdout.includes(PASSWORD));
    }
  });
});
