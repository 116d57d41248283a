// SPDX-License-Identifier: Apache-2.0
// toolgate check and toolgate serve: what the one refuses, the other does, for the same reason.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { describe, test } from 'node:test';

import { ROOT, runToolgate } from './lib/gateway.mjs';
import { onEnd, tempDir, until, writeJson } from './lib/process.mjs';
import { gatewayPath } from './lib/raw.mjs';

const LIMIT = 60_000;
const SECRET = '3f9a1c07d2e85b64'.repeat(2);

/** A folder with a configuration; `files` are written there, as they are. */
function folder(t, config, files = {}) {
  const dir = tempDir(t);
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(dir, name), text, { mode: 0o600 });
  writeJson(path.join(dir, 'toolgate.json'), { servers: { s: { command: 'cat' } }, state_dir: 'none', ...config });
  fs.chmodSync(path.join(dir, 'toolgate.json'), 0o600);
  return dir;
}

const check = (dir, ...args) => runToolgate(['check', ...args], { cwd: dir, env: { HOME: dir } });

/** Starts to serve, until it ends, or listens: `{ status, log }`; status undefined: it does. */
async function serve(t, dir) {
  const child = spawn(gatewayPath(), ['serve'], {
    cwd: dir, env: { PATH: process.env.PATH, HOME: dir }, stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'close');
  let log = '', status;
  child.stderr.setEncoding('utf8').on('data', (text) => { log += text; });
  exited.then(([code]) => { status = code; });
  onEnd(t, async () => {
    child.kill();
    await exited;
  });
  await until(() => status !== undefined || /listening on/.test(log), () => log, LIMIT);
  return { status, log };
}

const http = { transport: 'http', port: 0 };
const jwt = { issuer: 'https://id.example', secret: SECRET };

describe('what check refuses, serve refuses', () => {
  const cases = {
    'a short key of the audit log': [{ audit: { file: 'a.log', key_file: 'key' } }, /has fewer than 16 bytes/, { key: 'short\n' }],
    'a lost key of the audit log': [{ audit: { file: 'a.log', key_file: 'key' } }, /key does not exist, but the log .*openssl rand/, { 'a.log': '' }],
    'an audit log that cannot be opened and must be': [{ audit: { file: 'key/a.log', on_failure: 'deny' } }, /key\/a\.log cannot be opened.*Not a directory/, { key: '' }],
    'traces to what is no URL': [{ traces: { endpoint: 'collector' } }, /must be the http or https URL of a collector/],
    'readiness where clients are': [{ port: 8811, admin: { listen: ':8811' } }, /is the address at which clients connect/],
    'readiness at a name': [{ admin: { listen: 'gate.example:1', token_sha256: SECRET.repeat(2) } }, /is not an IP address/],
    'a name to listen on': [{ host: 'gate.example', auth: { tokens: [SECRET] } }, /is not an IP address/],
    'more for one agent than for all': [{ artifacts: { max_bytes: 2 << 20, max_owner_bytes: 3 << 20 } }, /is more than artifacts\.max_bytes/],
    'keys of an issuer that are none': [{ auth: { jwt: { issuer: 'https://id.example', key_file: 'key' } } }, /key: /, { key: 'none' }],
  };
  for (const [name, [config, why, files]] of Object.entries(cases)) {
    test(name, async (t) => {
      const dir = folder(t, { ...http, ...config }, files);
      const said = await check(dir);
      assert.equal(said.status, 1, said.stdout);
      assert.match(said.stdout, why);
      assert.match(said.stdout, /\nnot usable: 1 error, /);
      const served = await serve(t, dir);
      assert.ok(served.status > 0, served.log);
      assert.match(served.log, why);
    });
  }

  test('an agent that no rule knows, where serve is given one', async (t) => {
    const rules = JSON.stringify({ agents: { ann: { allow: { servers: ['s'] } } } });
    const dir = folder(t, { rules: 'rules.json' }, { 'rules.json': rules });
    const [known, unknown] = [await check(dir, '--agent', 'ann'), await check(dir, '--agent', 'bob')];
    assert.equal(known.status, 0, known.stdout);
    assert.equal(unknown.status, 1);
    assert.match(unknown.stdout, /--agent: the rules do not name the agent "bob"/);
  });

  test('rules without agents get a warning: no client may use anything', async (t) => {
    for (const rules of ['{}', '{"agents":{}}']) {
      const dir = folder(t, { rules: 'rules.json' }, { 'rules.json': rules });
      const said = await check(dir);
      assert.equal(said.status, 0, said.stdout);
      assert.match(said.stdout, /rules\.json:\/agents: warning: no agent has rules here: no client may use anything/);
    }
  });

  test('a state_dir that others can write to, or that cannot be made, is not used, and both say why', async (t) => {
    for (const [state_dir, why] of [['open', /other users can write to this file or folder/], ['key/state', /Not a directory/]]) {
      const dir = folder(t, { ...http, state_dir }, { key: '' });
      fs.mkdirSync(path.join(dir, 'open'));
      fs.chmodSync(path.join(dir, 'open'), 0o777);
      const said = await check(dir);
      assert.equal(said.status, 0, said.stdout);
      assert.match(said.stdout, /\/state_dir: warning: .* will be lost when the process ends/);
      assert.match(said.stdout, why);
      const served = await serve(t, dir);
      assert.match(served.log, /cannot use this folder, so results/);
      assert.match(served.log, why);
    }
  });

  test('and what it accepts is served, as it is shown', async (t) => {
    const files = { key: `${SECRET}\n` };
    const dir = folder(t, {
      ...http, auth: { jwt, tokens: [SECRET] }, audit: { file: 'new/a.log', key_file: 'key', on_failure: 'deny' },
      admin: { listen: '127.0.0.1:0' }, traces: { endpoint: 'http://127.0.0.1:4318/v1/traces' }, artifacts: { max_bytes: 2 << 20 },
    }, files);
    const { status, stdout } = await check(dir);
    assert.equal(status, 0, stdout);
    assert.match(stdout, /^issuer: https:\/\/id\.example; a secret; HS256; /m);
    assert.match(stdout, /^audit: \S*new\/a\.log, signed; if it cannot be written, requests are refused$/m);
    assert.match(stdout, /^readiness and metrics: 127\.0\.0\.1 port 0, without a token$/m);
    assert.match(stdout, /^traces: http:\/\/127\.0\.0\.1:4318\/v1\/traces, 100\.0 % of the traces that start here$/m);
    assert.match(stdout, /^ok: 0 errors, 0 warnings$/m);
    assert.ok(!stdout.includes(SECRET));
    assert.ok(!fs.existsSync(path.join(dir, 'new')), 'check makes nothing');
    assert.equal((await serve(t, dir)).status, undefined);
    assert.ok(fs.existsSync(path.join(dir, 'new/a.log')));
  });
});

describe('make run', () => {
  const run = (dir, listen) => spawn(path.join(ROOT, 'scripts/run'), [gatewayPath(), listen], {
    env: { PATH: process.env.PATH, HOME: dir }, stdio: ['ignore', 'pipe', 'pipe'],
  });

  test('says how to take another address when the port is taken', async (t) => {
    const server = net.createServer().listen(0, '127.0.0.1');
    onEnd(t, () => server.close());
    await once(server, 'listening');
    const child = run(tempDir(t), `127.0.0.1:${server.address().port}`);
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (text) => { log += text; });
    const [status] = await once(child, 'close');
    assert.equal(status, 3, log);
    assert.match(log, /address already in use[^]*make run LISTEN=127\.0\.0\.1:8899\n$/);
  });

  test('ends as the program does', async (t) => {
    const child = run(tempDir(t), '127.0.0.1:0');
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (text) => { log += text; });
    await until(() => /listening on/.test(log), () => log, LIMIT);
    child.kill('SIGTERM');
    const [status] = await once(child, 'close');
    assert.equal(status, 0, log);
    assert.doesNotMatch(log, /LISTEN=/);
  });
});
