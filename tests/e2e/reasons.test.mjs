// SPDX-License-Identifier: Apache-2.0
// Why a server cannot be used, in the words that help: its own, or the key of the configuration to change.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { runToolgate } from './lib/gateway.mjs';
import { open, startMeta, textOf } from './lib/meta.mjs';
import { tempDir, writeJson } from './lib/process.mjs';
import { onEnd } from './lib/raw.mjs';
import { handshakeServer } from './lib/stateless.mjs';

/** What `toolgate COMMAND` says of these servers. The last argument may be a configuration. */
async function runs(t, servers, command, ...args) {
  const config = typeof args.at(-1) === 'object' ? args.pop() : undefined;
  const dir = tempDir(t);
  writeJson(path.join(dir, '.mcp.json'), { mcpServers: servers });
  if (config) writeJson(path.join(dir, 'toolgate.json'), config);
  return runToolgate([command, ...args], { cwd: dir, timeoutMs: 60_000, env: { HOME: dir } });
}

/** What `check --connect` says of one server: { error, status }. */
async function failure(t, server, config = {}) {
  const { stdout, status } = await runs(t, { s: server }, 'check', '--connect', '--json', config);
  return { status, ...JSON.parse(stdout).servers[0] };
}

const node = (...lines) => ({ command: process.execPath, args: ['-e', lines.join('\n')] });

describe('a server that starts but refuses tools/list', () => {
  const refusing = async (t) => {
    const up = await handshakeServer('http', { name: 'up' });
    onEnd(t, () => up.close());
    up.tools = [{ name: 'a', inputSchema: { type: 'object' } }];
    up.on('tools/list', () => { throw Object.assign(new Error('the licence has expired'), { code: -32000 }); });
    return up;
  };

  test('is not ready, and its own words say why', async (t) => {
    const up = await refusing(t);
    const { status, available, error } = await failure(t, up.config());
    assert.deepEqual([status, available], [1, false]);
    assert.match(error, /^refused tools\/list: the licence has expired$/);
  });

  test('is named to agents with that reason', async (t) => {
    const up = await refusing(t);
    const client = await open(t, await startMeta(t, { servers: { up } }));
    const browsed = await client.call('tool_browse', { query: 'anything' });
    assert.match(textOf(browsed), /Not available now: up \(refused tools\/list: the licence has expired\)/);
  });
});

describe('of what a program wrote on stderr, the most telling line is shown', () => {
  const cases = {
    'an error, not the frames behind it': [
      ['Error: The SLACK_TOKEN variable is needed', '    at throwError (/srv/a.js:1:2)', '    at main (/srv/b.js:3:4)', '', 'Node.js v22.1.0'],
      'Error: The SLACK_TOKEN variable is needed'],
    'what is missing, not the advice behind it': [
      ['starting', 'GITHUB_TOKEN is required', 'See the documentation for more', 'bye'], 'GITHUB_TOKEN is required'],
    'an error, not the help of the options that follows it': [
      ['Error: no context is defined', 'Usage:', '  server [flags]', ...Array(40).fill('  # an example'), 'Flags:',
        '      --log-file string   The log file. Required in stdio mode.'], 'Error: no context is defined'],
    'the last exception of a traceback': [
      ['Traceback (most recent call last):', '  File "/srv/a.py", line 1, in error_handler', "KeyError: 'x'",
        'During handling of the above exception, another exception occurred:', '  File "/srv/a.py", line 9, in main',
        "ModuleNotFoundError: No module named 'mcp'"], "ModuleNotFoundError: No module named 'mcp'"],
    'a file that cannot be found': [
      ['node:internal/modules/cjs/loader:1228', '  throw err;', '  ^', '', "Error: Cannot find module '/srv/server.js'",
        '    at Module._resolveFilename (node:internal/x:1:2)', "  code: 'MODULE_NOT_FOUND',", '}', 'Node.js v22.1.0'],
      "Error: Cannot find module '/srv/server.js'"],
  };
  for (const [name, [lines, wanted]] of Object.entries(cases))
    test(name, async (t) => {
      const { error } = await failure(t, node(`process.stderr.write(${JSON.stringify(`${lines.join('\n')}\n`)})`, 'process.exitCode = 1'));
      assert.ok(error.endsWith(`it said: ${wanted}`), error);
    });
});

test('a server that does not start in time is told with the seconds and the key to change', async (t) => {
  const silent = node('setInterval(() => {}, 1000)');
  assert.match((await failure(t, { ...silent, startTimeout: 1500 })).error, /within 1\.5 s \(startTimeout\)/);
  assert.match((await failure(t, silent, { timeouts: { start: 1 } })).error, /within 1 s \(timeouts\.start\)/);
});

describe('a server that answers 401 or 403', () => {
  const cases = [
    [401, undefined, /it needs credentials; set them in "headers"/],
    [401, { 'X-Team': 'blue' }, /it needs credentials; set them in "headers"/],
    [401, { Authorization: 'Bearer old-token-of-mine' }, /it rejected the credentials in "headers"/],
    [403, { 'X-Api-Key': 'old-key-of-mine' }, /it rejected the credentials in "headers"/],
  ];
  for (const [status, headers, why] of cases)
    for (const type of ['http', 'sse'])
      test(`${status} on ${type} ${headers ? `with ${Object.keys(headers)}` : 'without headers'}`, async (t) => {
        const up = await handshakeServer(type, { name: 'up' });
        onEnd(t, () => up.close());
        up.intercept = (req, res) => res.writeHead(status).end();
        const { error } = await failure(t, { ...up.config(), headers });
        assert.match(error, new RegExp(`HTTP ${status}`));
        assert.match(error, why);
        assert.ok(!error.includes('of-mine'));
      });
});

test('an outputSchema that is only ignored does not make a tool one that cannot be called', async (t) => {
  const file = writeJson(path.join(tempDir(t), 'c.json'),
    { tools: [{ name: 'odd', inputSchema: { type: 'object' }, outputSchema: { type: 'no such type' } }] });
  const checked = await runs(t, { s: { catalog: file } }, 'check', '--connect');
  assert.equal(checked.status, 0, checked.stdout);
  assert.doesNotMatch(checked.stdout, /cannot be called/);
  const { stdout } = await runs(t, { s: { catalog: file } }, 'catalog');
  assert.match(stdout, /odd: its outputSchema cannot be used and is ignored/);
  assert.doesNotMatch(stdout, /calls fail/);
});

test('catalog exits with 1 when an entry is left out, and lists the others', async (t) => {
  const file = writeJson(path.join(tempDir(t), 'c.json'), { tools: [{ name: 'fine' }] });
  const servers = { s: { catalog: file }, bad: { command: 'cat', env: { K: '${NOT_SET_ANYWHERE}' } } };
  const { status, stdout, stderr } = await runs(t, servers, 'catalog');
  assert.equal(status, 1);
  assert.match(stdout, / s:fine#/);
  assert.match(stderr, /NOT_SET_ANYWHERE/);
});

describe('how often a server is started', () => {
  const starts = async (t, ...lines) => {
    const file = path.join(tempDir(t), 'starts');
    const { error } = await failure(t, node(`require('fs').appendFileSync(${JSON.stringify(file)}, 'x')`, ...lines));
    return [fs.readFileSync(file, 'utf8').length, error];
  };

  test('once, when it crashes before it has read what it was asked', async (t) => {
    const [count, error] = await starts(t, 'console.error("Error: no licence"); process.exit(3)');
    assert.equal(count, 1);
    assert.match(error, /exited with status 3; it said: Error: no licence/);
  });

  test('twice, when it may have crashed because of the question', async (t) => {
    const [count] = await starts(t, 'process.stdin.once("data", () => process.exit(3))');
    assert.equal(count, 2);
  });
});

test('check warns when tokens are served beyond this machine without TLS', async (t) => {
  const token = '3f9a1c07d2e85b64'.repeat(4);
  const dir = tempDir(t), file = writeJson(path.join(dir, 'c.json'), { tools: [{ name: 'fine' }] });
  const said = async (auth) => {
    writeJson(path.join(dir, 'toolgate.json'),
      { transport: 'http', host: '0.0.0.0', port: 0, servers: { s: { catalog: file } }, auth: { tokens: [token], ...auth } });
    return (await runToolgate(['check'], { cwd: dir, env: { HOME: dir } })).stdout;
  };
  assert.match(await said({}), /\/host: warning: .*without TLS: tokens can be read/);
  assert.doesNotMatch(await said({ resource: 'https://gate.example/mcp' }), /without TLS/);
});

test('check says under which names clients reach a gateway that listens beyond this machine', async (t) => {
  const dir = tempDir(t), file = writeJson(path.join(dir, 'c.json'), { tools: [{ name: 'fine' }] });
  const hosts = async (keys, ...args) => {
    writeJson(path.join(dir, 'toolgate.json'),
      { transport: 'http', port: 0, servers: { s: { catalog: file } }, auth: { tokens: ['3f9a1c07d2e85b64'.repeat(4)] }, ...keys });
    const { stdout } = await runToolgate(['check', ...args], { cwd: dir, env: { HOME: dir } });
    return args.length ? JSON.parse(stdout).allowed_hosts : stdout.match(/^hosts: (.*);/m)?.[1].split(', ');
  };
  const local = ['localhost', '127.0.0.1', '[::1]'];
  assert.equal(await hosts({}), undefined);
  assert.deepEqual(await hosts({ host: '0.0.0.0' }), local);
  assert.deepEqual(await hosts({ host: '192.0.2.7', allowed_hosts: ['gate.example:8443'] }), [...local, '192.0.2.7', 'gate.example:8443']);
  assert.deepEqual(await hosts({ allowed_hosts: ['gate.example'] }), [...local, 'gate.example']);
  assert.deepEqual(await hosts({ allowed_hosts: ['gate.example'] }, '--json'), ['gate.example']);
});

test('a folder without a configuration is told what to write, and nothing of places that nobody knows', async (t) => {
  const dir = tempDir(t);
  const { status, stdout } = await runToolgate(['check'], { cwd: dir, env: { HOME: dir } });
  assert.equal(status, 1);
  assert.match(stdout, /write \.mcp\.json/);
  assert.doesNotMatch(stdout, /erasmus/);
});
