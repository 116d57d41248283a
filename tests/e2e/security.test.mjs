// SPDX-License-Identifier: Apache-2.0
// Who may talk to the gateway, and what it keeps to itself.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';

import {
  askFor, fetchRaw, Gateway, HttpClient, INITIALIZE, JSON_HEADERS, MCP_PATHS, notificationText, onEnd, requestText,
  SseClient, startGateway, talk, until, wholeResponse, within,
} from './lib/raw.mjs';
import { makeUpstream } from './servers/features.mjs';

const TOKENS = ['first-token-of-32-characters-abcd', 'second-token-of-32-characters-efgh'];
const bearer = (token) => ({ authorization: `Bearer ${token}` });

async function setup(t, { config, env, transport = 'http', upstream = {} } = {}) {
  const up = await makeUpstream(transport, 'up', upstream);
  const gateway = await startGateway(t, { servers: { up }, config, env });
  return { up, gateway };
}

const PATHS = [...MCP_PATHS, ['GET', '/healthz'], ['GET', '/nowhere']];

const statusWith = async ({ port }, ...request) => (await askFor(port, ...request)).status;

test('a foreign Host is turned away on every path', async (t) => {
  const { gateway } = await setup(t);
  for (const host of [
    'evil.example',
    'evil.example:80',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evil.example:127.0.0.1',
    '10.0.0.1',
    '[::2]',
    'localhost@evil.example',
    '0.0.0.0',
    '127.0.0.1:x@evil.example',
  ]) {
    for (const [method, path] of PATHS) {
      const status = await statusWith(gateway, method, path, { Host: host });
      assert.ok(
        status === 421 || (status === 400 && /@|:127|:x/.test(host)),
        `${method} ${path} with Host ${host}: ${status}`,
      );
    }
  }
});

test('a foreign Origin is turned away on every path', async (t) => {
  const { gateway } = await setup(t);
  for (const origin of [
    'http://evil.example',
    'https://localhost.evil.example',
    'http://evil.example:8811',
    'null',
    'file://',
    'chrome-extension://abc',
    'http://localhost@evil.example',
    'http://evil.example/localhost',
    'localhost',
    '',
  ]) {
    for (const [method, path] of PATHS) {
      assert.equal(
        await statusWith(gateway, method, path, { Origin: origin }),
        403,
        `${method} ${path} with Origin ${origin}`,
      );
    }
  }
});

test('a request with two Origin headers is turned away even if one of them is allowed', async (t) => {
  const { gateway } = await setup(t);
  const head =
    'GET /healthz HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nOrigin: http://evil.example\r\n\r\n';
  assert.ok((await talk(gateway.port, head, { enough: wholeResponse })).status >= 400);
});

test('configured names are taken too', async (t) => {
  const { gateway } = await setup(t, { config: { allowed_hosts: ['gate.example'] } });
  assert.equal(await statusWith(gateway, 'POST', '/mcp', { Host: 'gate.example' }), 200);
  assert.equal(
    await statusWith(gateway, 'POST', '/mcp', { Host: 'gate.example:8443', Origin: 'https://gate.example' }),
    200,
  );
  assert.equal(await statusWith(gateway, 'POST', '/mcp', { Host: 'x.gate.example' }), 421);
  assert.equal(await statusWith(gateway, 'POST', '/mcp', { Origin: 'https://gate.example.evil' }), 403);
});

test('an address that others can reach needs tokens', async () => {
  for (const listen of ['0.0.0.0:0', '[::]:0']) {
    const gateway = new Gateway({ listen });
    const end = await within(gateway.exited, 'the end').catch(() => gateway.kill());
    fs.rmSync(gateway.dir, { recursive: true, force: true });
    assert.ok([1, 3].includes(end?.code), `${listen}: exit code ${end?.code}`);
    assert.match(gateway.log, /auth\.tokens|--listen|insecure/, gateway.log);
  }
});

test('with tokens, every request needs one of them', async (t) => {
  const { gateway } = await setup(t, { config: { auth: { tokens: TOKENS } } });
  const wrong = [
    undefined,
    'wrong-token-of-32-characters-abcde',
    TOKENS[0].slice(0, -1),
    `${TOKENS[0]}x`,
    TOKENS[0].toUpperCase(),
    '',
  ];
  for (const [method, path] of PATHS.filter(([, p]) => p !== '/healthz')) {
    for (const token of wrong) {
      const r = await fetchRaw(gateway.url + path, {
        method,
        headers: { ...JSON_HEADERS, ...(token !== undefined && bearer(token)) },
        ...(method === 'POST' && { body: INITIALIZE }),
      });
      assert.equal(r.status, 401, `${method} ${path} with ${token}`);
      assert.match(r.headers['www-authenticate'] ?? '', /^Bearer/);
    }
  }
  for (const headers of [
    { authorization: `Basic ${Buffer.from(`x:${TOKENS[0]}`).toString('base64')}` },
    { authorization: TOKENS[0] },
    { 'x-api-key': TOKENS[0] },
  ]) {
    assert.equal(
      (
        await fetchRaw(`${gateway.url}/mcp`, {
          method: 'POST',
          headers: { ...JSON_HEADERS, ...headers },
          body: INITIALIZE,
        })
      ).status,
      401,
    );
  }
  assert.equal(
    (
      await fetchRaw(`${gateway.url}/mcp?access_token=${TOKENS[0]}`, {
        method: 'POST',
        headers: JSON_HEADERS,
        body: INITIALIZE,
      })
    ).status,
    401,
  );
  for (const token of TOKENS) {
    const client = new HttpClient(gateway.url, { headers: bearer(token) });
    await client.connect();
    assert.ok((await client.tools()).length);
    await client.close();
    const old = await new SseClient(gateway.url, { headers: bearer(token) }).connect();
    assert.ok((await old.tools()).length);
    await old.close();
  }
});

test('the Host is checked before the token, and the token on each request anew', async (t) => {
  const { gateway } = await setup(t, { config: { auth: { tokens: TOKENS } } });
  assert.equal(
    await statusWith(gateway, 'POST', '/mcp', { Host: 'evil.example', Authorization: `Bearer ${TOKENS[0]}` }),
    421,
  );
  const client = new HttpClient(gateway.url, { headers: bearer(TOKENS[0]) });
  onEnd(t, () => client.close());
  await client.initialize();
  const { authorization, ...without } = client.headers();
  assert.equal(
    (await fetchRaw(client.url, { method: 'POST', headers: without, body: requestText('1', 'ping') })).status,
    401,
  );
});

test('a session of one token does not exist for another', async (t) => {
  const { gateway } = await setup(t, { config: { auth: { tokens: TOKENS } } });
  const client = new HttpClient(gateway.url, { headers: bearer(TOKENS[0]) });
  const old = await new SseClient(gateway.url, { headers: bearer(TOKENS[0]) }).connect();
  onEnd(t, () => Promise.all([client.close(), old.close()]));
  await client.initialize();
  const foreign = { ...client.headers(), ...bearer(TOKENS[1]) };
  const ping = requestText('1', 'ping');
  assert.equal((await fetchRaw(client.url, { method: 'POST', headers: foreign, body: ping })).status, 404);
  assert.equal((await fetchRaw(client.url, { headers: { ...foreign, accept: 'text/event-stream' } })).status, 404);
  assert.equal((await fetchRaw(client.url, { method: 'DELETE', headers: foreign })).status, 404);
  assert.equal(
    (await fetchRaw(old.url, { method: 'POST', headers: { ...JSON_HEADERS, ...bearer(TOKENS[1]) }, body: ping }))
      .status,
    404,
  );
  // Neither do the sessions of one transport exist on the other's path.
  const id = new URL(old.url).searchParams.get('sessionId');
  assert.equal(
    (
      await fetchRaw(`${gateway.url}/messages?sessionId=${client.session}`, {
        method: 'POST',
        headers: { ...JSON_HEADERS, ...bearer(TOKENS[0]) },
        body: ping,
      })
    ).status,
    404,
  );
  for (const method of ['DELETE', 'POST', 'GET']) {
    const headers = { ...client.headers(), 'mcp-session-id': id };
    const r = await within(fetchRaw(client.url, { method, headers, ...(method === 'POST' && { body: ping }) }), method);
    assert.equal(r.status, 404, `${method} /mcp with a session of /sse`);
    r.close();
  }
  assert.deepEqual(await client.ask('ping'), {});
  assert.deepEqual(await old.ask('ping'), {});
});

test('session ids cannot be guessed from one another', async (t) => {
  const { gateway } = await setup(t);
  const ids = new Set();
  for (let i = 0; i < 50; i++) {
    const r = await fetchRaw(`${gateway.url}/mcp`, { method: 'POST', headers: JSON_HEADERS, body: INITIALIZE });
    ids.add(r.headers['mcp-session-id']);
  }
  assert.equal(ids.size, 50);
  const all = [...ids];
  const alike = Math.max(...all.slice(1).map((id) => [...id].filter((c, i) => c === all[0][i]).length));
  assert.ok(alike < all[0].length / 2, `${alike} of ${all[0].length} characters alike`);
});

test('the credentials and cookies of a client never reach a server', async (t) => {
  const headers = {
    ...bearer(TOKENS[0]),
    cookie: 'secret=cookie',
    'x-forwarded-for': '1.2.3.4',
    'x-api-key': 'client-key',
    'proxy-authorization': 'Basic eA==',
  };
  for (const transport of ['http', 'sse']) {
    const upstream = { entry: { headers: { Authorization: 'Bearer of-the-gateway', 'X-Own': 'y' } } };
    const { up, gateway } = await setup(t, { transport, upstream, config: { auth: { tokens: TOKENS } } });
    const client = new HttpClient(gateway.url, { headers, capabilities: { roots: {} } });
    onEnd(t, () => client.close());
    await client.connect();
    await client.tools();
    assert.ok((await client.call('up_echo')).content);
    const seen = JSON.stringify(up.requests);
    for (const secret of [TOKENS[0], 'secret=cookie', '1.2.3.4', 'client-key', 'Basic eA', client.session])
      assert.ok(!seen.includes(secret), secret);
    for (const r of up.requests)
      assert.deepEqual([r.headers.authorization, r.headers['x-own']], ['Bearer of-the-gateway', 'y']);
  }
});

test('a server gets only a few variables and those of its configuration', async (t) => {
  const secrets = {
    AWS_SECRET_ACCESS_KEY: 'not-for-children-1',
    GITHUB_TOKEN: 'not-for-children-2',
    TOOLGATE_X: 'not-for-children-3',
    LD_PRELOAD_X: 'not-for-children-4',
    NODE_OPTIONS: '',
  };
  const network = Object.fromEntries([
    'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'all_proxy', 'no_proxy',
    'SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS', 'REQUESTS_CA_BUNDLE',
  ].map((name) => [name, `/nowhere/${name}`]));
  const { up, gateway } = await setup(t, {
    transport: 'stdio',
    env: { ...secrets, ...network, FOR_CHILD: 'expanded' },
    upstream: { env: { OWN: 'yes', FROM: '${FOR_CHILD}' } },
  });
  const { connected } = await up.next((e) => e.connected, 'process');
  const { env, args, cwd, fds } = connected.hello;
  assert.equal(env.OWN, 'yes');
  assert.equal(env.FROM, 'expanded');
  assert.ok(env.PATH);
  for (const name of Object.keys(secrets)) assert.equal(env[name], undefined, name);
  for (const name of Object.keys(network)) assert.equal(env[name], network[name], name);
  assert.ok(!JSON.stringify(env).includes('not-for-children'));
  const usual = new Set([
    'PATH',
    'TOOLGATE_CHAIN', // which gateways the server is started by
    'HOME',
    'LANG',
    'LC_ALL',
    'LC_CTYPE',
    'TERM',
    'TZ',
    'TMPDIR',
    'USER',
    'LOGNAME',
    'SHELL',
    'PWD',
    'OWN',
    'FROM',
    ...Object.keys(network),
  ]);
  assert.deepEqual(
    Object.keys(env).filter((k) => !usual.has(k)),
    [],
  );
  assert.ok(args.length >= 1 && cwd === fs.realpathSync(gateway.dir), cwd);
  const status = fs.readFileSync(`/proc/${connected.pid}/status`, 'utf8');
  assert.match(status, /NoNewPrivs:\s+1/);
  t.diagnostic(`open descriptors of the child at start: ${fds}`);
});

test('arguments of a server are given to it as they are, without a shell', async (t) => {
  const odd = ['$(touch pwned)', '`id`', '; exit 1', '* ?', '"quoted" \'twice\'', 'a\tb', 'é😀', '', '$HOME'];
  const { up, gateway } = await setup(t, { transport: 'stdio', upstream: { flags: odd } });
  const { connected } = await up.next((e) => e.connected, 'process');
  assert.deepEqual(connected.hello.args.slice(1), odd);
  assert.ok(!fs.readdirSync(gateway.dir).includes('pwned'));
});

test('secrets are in no log line and no command line', async (t) => {
  const secrets = {
    token: TOKENS[0],
    header: 'upstream-header-secret',
    env: 'child-env-secret',
    url: 'url-query-secret',
  };
  const up = await makeUpstream('http', 'up', { entry: { headers: { Authorization: `Bearer ${secrets.header}` } } });
  const child = await makeUpstream('stdio', 'child', { env: { API_KEY: secrets.env } });
  const broken = {
    type: 'http',
    url: `http://127.0.0.1:9/mcp?key=${secrets.url}`,
    headers: { 'X-Key': secrets.header },
  };
  const gateway = await startGateway(t, {
    servers: { up, child, broken },
    config: { auth: { tokens: TOKENS }, log: { level: 'debug' } },
  });
  const client = new HttpClient(gateway.url, { headers: bearer(TOKENS[0]) });
  onEnd(t, () => client.close());
  await client.initialize();
  await client.tools();
  assert.ok((await client.call('up_echo')).content);
  assert.ok((await client.call('child_echo')).content);
  await client.request('tools/call', { name: 'up_fail', arguments: {} });
  await fetchRaw(client.url, {
    method: 'POST',
    headers: { ...JSON_HEADERS, ...bearer('a-wrong-token-that-was-typed-in') },
    body: INITIALIZE,
  });
  await until(() => gateway.log.includes('broken'), 'a word on the broken server');
  const everything = gateway.log + fs.readFileSync(`/proc/${gateway.pid}/cmdline`, 'latin1');
  for (const [what, secret] of Object.entries(secrets))
    assert.ok(
      !everything.includes(secret),
      `${what} is logged:\n${everything
        .split('\n')
        .filter((l) => l.includes(secret))
        .join('\n')}`,
    );
  assert.ok(!everything.includes('a-wrong-token'), 'a wrong token is logged');
  assert.ok(!everything.includes(client.session), 'a session id is logged');
});

test('texts of clients and servers cannot forge log lines', async (t) => {
  const { up, gateway } = await setup(t, { transport: 'stdio', config: { log: { level: 'debug' } } });
  const { connected } = await up.next((e) => e.connected, 'process');
  connected.write('junk \x1b[31m\x07 line\n');
  connected.write('x'.repeat(1000) + '\r2099-01-01 forged line\n');
  const r = await fetchRaw(`${gateway.url}/no%0aforged-path?x`, { headers: { 'user-agent': 'agent\tforged' } });
  assert.equal(r.status, 404);
  const client = new HttpClient(gateway.url);
  onEnd(t, () => client.close());
  await client.initialize();
  await client.tools();
  await client.request('tools/call', { name: 'nope\nforged tool', arguments: {} });
  assert.ok((await client.call('up_echo')).content);
  assert.ok(!/[\x00-\x08\x0b-\x1f\x7f]/.test(gateway.log), 'control characters in the log');
  assert.ok(!gateway.log.split('\n').some((l) => /^(2099|forged)/.test(l)), gateway.log);
});

test('the endpoint event of an upstream may not point to another origin', async (t) => {
  const victim = await makeUpstream('http', 'victim');
  const evil = await makeUpstream('sse', 'evil');
  evil.handle = (req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(`event: endpoint\ndata: ${victim.base}/mcp\n\n`);
  };
  const good = await makeUpstream('http', 'good');
  const gateway = await startGateway(t, { servers: { evil, good }, config: { timeouts: { start_wait: 1 } } });
  onEnd(t, () => victim.close());
  const client = new HttpClient(gateway.url);
  onEnd(t, () => client.close());
  await client.initialize();
  await client.tools();
  assert.ok((await client.call('good_echo')).content);
  await until(() => /evil/.test(gateway.log), 'a word on the evil server');
  assert.equal(victim.requests.length, 0);
});

test('a call without an id is no notification: it does not slip past to a server', async (t) => {
  for (const capabilities of [{}, { roots: {} }]) {
    const { up, gateway } = await setup(t, { transport: 'stdio' });
    const client = new HttpClient(gateway.url, { capabilities });
    onEnd(t, () => client.close());
    await client.connect();
    await client.tools();
    await client.call('up_echo');
    up.inbox.entries = [];
    for (const method of ['tools/call', 'resources/read', 'prompts/get', 'initialize', 'logging/setLevel']) {
      await client.post(notificationText(method, { name: 'up_echo', arguments: {}, uri: 'test://up/watched' }));
    }
    await client.call('up_echo', { last: true });
    // The gateway's own handshake, on the connection that other clients share, may come at any time.
    const seen = up.inbox.entries
      .filter((e) => e.msg && e.msg.id === undefined && e.msg.method !== 'notifications/initialized')
      .map((e) => e.msg.method);
    assert.deepEqual(seen, [], JSON.stringify(capabilities));
  }
});
