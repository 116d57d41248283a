// SPDX-License-Identifier: Apache-2.0
// Servers that a launcher (npx, uvx, ...) installs before it starts them. The launchers here are scripts that take as
// long as a test wants; npx.test.mjs has the real one.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

import { ROOT, runToolgate, startGateway } from './lib/gateway.mjs';
import { faultOf, open, startMeta, textOf } from './lib/meta.mjs';
import { assertGone, descendants, onEnd, tempDir, until, writeJson } from './lib/process.mjs';

const STEADY = path.join(ROOT, 'tests/e2e/servers/steady.mjs');
const LIMIT = 60_000;

// Notes what it does in the file `log`; installs until the file `go` is there, with a helper that has pipes of its own;
// then runs the server. If the file `fail` is there, it exits with status 1 instead. On SIGTERM it takes a moment to clean up.
const LAUNCHER = `#!${process.execPath}
const fs = require('node:fs'), { spawn } = require('node:child_process');
const [, , name] = process.argv, dir = process.env.LAUNCHER_DIR;
const note = (what) => fs.appendFileSync(dir + '/log', name + ' ' + what + '\\n');
process.on('SIGTERM', () => setTimeout(() => { note('cleaned up'); process.exit(1); }, 300));
note('begins');
const helper = spawn('sleep', ['600'], { stdio: ['pipe', 'pipe', 'pipe'] });
const go = () => {
  if (fs.existsSync(dir + '/fail-' + name)) { console.error('npm error 404 Not Found'); process.exit(1); }
  if (!fs.existsSync(dir + '/go-' + name)) return setTimeout(go, 10);
  note('installed');
  helper.kill();
  spawn(process.execPath, [${JSON.stringify(STEADY)}], { stdio: 'inherit' }).on('exit', (code) => process.exit(code));
};
go();
`;

/** A folder with launchers, and what they note. */
function workshop(t) {
  const dir = tempDir(t);
  for (const name of ['npx', 'uvx']) fs.writeFileSync(path.join(dir, name), LAUNCHER, { mode: 0o755 });
  const entry = (launcher, name, env = {}) => ({
    command: path.join(dir, launcher), args: [name], startTimeout: 3000,
    env: { LAUNCHER_DIR: dir, npm_config_cache: path.join(dir, 'cache'), ...env },
  });
  const log = () => (fs.existsSync(path.join(dir, 'log')) ? fs.readFileSync(path.join(dir, 'log'), 'utf8').trim().split('\n') : []);
  return {
    dir, log,
    npx: (name, env) => entry('npx', name, env),
    uvx: (name, env) => entry('uvx', name, env),
    fail: (name) => fs.writeFileSync(path.join(dir, `fail-${name}`), ''),
    let: (name) => fs.writeFileSync(path.join(dir, `go-${name}`), ''),
    noted: (line) => until(() => log().includes(line), () => `${line}; it has ${log()}`, LIMIT),
  };
}

test('the time to start begins when the program is installed', async (t) => {
  const w = workshop(t);
  const { program } = await startGateway(t, { servers: { a: w.npx('a') } });
  await w.noted('a begins');
  const from = Date.now();
  await until(() => Date.now() - from > 4000, 'longer than startTimeout', LIMIT);  // what is tested is time itself
  assert.doesNotMatch(program.stderr, /a: did not/);
  w.let('a');
  await program.says(/a: ready/, LIMIT);
  assert.deepEqual(w.log(), ['a begins', 'a installed']);
});

test('an agent reads what is being installed, and what waits for it', async (t) => {
  const w = workshop(t);
  const servers = { a: w.npx('a'), b: w.npx('b') };
  const client = await open(t, await startMeta(t, { servers, config: { timeouts: { start_wait: 0 } } }));
  await w.noted('a begins');
  assert.match(textOf(await client.call('tool_browse', { path: '/' })),
    /^Still starting: a \(installing, \d+ s\), b \(waiting to be installed\); try again in a few seconds\.$/m);
  for (const name of ['a', 'b']) w.let(name);
  await w.noted('b installed');
});

test('an installation that takes too long is ended, and cleans up', async (t) => {
  const w = workshop(t);
  const { program } = await startGateway(t, { servers: { a: w.npx('a') }, config: { timeouts: { install: 1 } } });
  await program.says(/a: was not installed within 1 s \(timeouts\.install\)/, LIMIT);
  await w.noted('a cleaned up');
  assert.equal(program.stderr.split('was not installed')[0].match(/a: installing the server with/g).length, 1);
});

test('after an npx that is given up, the next of its cache begins when that has cleaned up', async (t) => {
  const w = workshop(t), config = { timeouts: { install: 1 }, limits: { cold_starts: 10 } };
  w.let('b');
  await startGateway(t, { servers: { a: w.npx('a'), b: w.npx('b') }, config });
  await w.noted('b begins');
  assert.deepEqual(w.log().slice(0, 3), ['a begins', 'a cleaned up', 'b begins']);
});

test('a package that cannot be installed is tried again after a minute; meanwhile calls fail with the reason', async (t) => {
  const w = workshop(t);
  w.fail('a');
  const gateway = await startMeta(t, { servers: { a: w.npx('a') } });
  const client = await open(t, gateway);
  await until(() => /a: exited with status 1/.test(gateway.log), 'the failure', LIMIT);
  assert.match(textOf(await client.call('tool_browse', { path: '/' })), /^Not available now: a \(exited with status 1/m);
  const fault = faultOf(await client.call('tool_execute', { tool_id: 'a:x', args: {} }), 'TOOL_NOT_FOUND');
  assert.match(fault.message, /exited with status 1/);
  assert.ok(fault.details.retry_after > 30 && fault.details.retry_after <= 60, JSON.stringify(fault));
  assert.deepEqual(w.log(), ['a begins']);
});

test('commands that ask a running gateway do not wait for installations, and name them', async (t) => {
  const w = workshop(t), dir = tempDir(t), env = { XDG_STATE_HOME: path.join(dir, 'state'), XDG_RUNTIME_DIR: '' };
  const steady = { command: process.execPath, args: [STEADY] };
  const config = { timeouts: { start_wait: 600, install: 60 } };  // a command that waited would see a fail
  const { program } = await startGateway(t, { servers: { a: w.npx('a'), b: w.npx('b'), steady }, config, mode: 'gateway', dir, env });
  await program.says(/steady: ready/, LIMIT);
  const ask = (...args) => runToolgate(args, { cwd: dir, env });
  const browse = await ask('browse', '--path', '/');
  assert.equal(browse.status, 0, browse.stderr);
  assert.match(browse.stdout, /^Still starting: a \(installing, \d+ s\), b \(waiting to be installed\)/m);
  assert.match(browse.stdout, /\/steady/);
  for (const command of ['catalog', 'stats']) {
    const r = await ask(command);
    assert.equal(r.status, 1, r.stderr);
    assert.match(r.stdout, /not available: is still starting \(installing, \d+ s\)/);
    assert.match(r.stdout, /not available: is still starting \(waiting to be installed\)/);
  }
  assert.deepEqual(w.log(), ['a begins']);
});

test('npx of one cache installs one after the other, and the next begins when a program runs', async (t) => {
  const w = workshop(t), other = { npm_config_cache: path.join(w.dir, 'other') };
  const servers = { a: w.npx('a'), b: w.npx('b'), c: w.npx('c', other), d: w.uvx('d') };
  const { program } = await startGateway(t, { servers, config: { limits: { cold_starts: 10 } } });
  for (const name of ['a', 'c', 'd']) await w.noted(`${name} begins`);
  assert.ok(!w.log().includes('b begins'));
  w.let('a');
  await w.noted('b begins');
  assert.ok(w.log().indexOf('a installed') < w.log().indexOf('b begins'));
  for (const name of ['b', 'c', 'd']) w.let(name);
  for (const name of ['a', 'b', 'c', 'd']) await program.says(new RegExp(`${name}: ready`), LIMIT);
});

for (const [what, most, limits] of [['limits.cold_starts', 2, { cold_starts: 2 }], ['there are processors', os.availableParallelism(), {}]])
  test(`no more install at once than ${what}`, async (t) => {
    const w = workshop(t), names = Array.from({ length: most + 3 }, (_, i) => `s${i}`);
    const servers = Object.fromEntries(names.map((n) => [n, w.uvx(n)]));
    const { program } = await startGateway(t, { servers, config: { limits } });
    for (const name of names.slice(0, most)) await w.noted(`${name} begins`);
    for (const name of names) w.let(name);
    for (const name of names) await program.says(new RegExp(`${name}: ready`), LIMIT);
    let running = 0;
    for (const line of w.log()) {
      running += line.endsWith('begins') ? 1 : -1;
      assert.ok(running <= most, w.log().join('; '));
    }
  });

test('a package that is in the cache already does not wait', async (t) => {
  const w = workshop(t);
  // What npm calls the folder of this package, and writes when it is done.
  const done = path.join(w.dir, 'cache/_npx/1f40fc92da241694/node_modules');
  fs.mkdirSync(done, { recursive: true });
  fs.writeFileSync(path.join(done, '.package-lock.json'), '{}');
  await startGateway(t, { servers: { b: w.npx('b'), a: w.npx('a') } });
  await w.noted('a begins');
  await w.noted('b begins');
});

test('a server that is removed while it waits, or fails, leaves its place to the next', async (t) => {
  const w = workshop(t), dir = tempDir(t);
  const servers = { a: w.npx('a'), b: w.npx('b'), c: w.npx('c') };
  const { program } = await startGateway(t, { servers, dir });
  await w.noted('a begins');
  writeJson(path.join(dir, '.mcp.json'), { mcpServers: { c: servers.c } });
  await w.noted('a cleaned up');
  await w.noted('c begins');
  w.let('c');
  await program.says(/c: ready/, LIMIT);
  assert.ok(!w.log().includes('b begins'));
});

for (const signal of ['SIGTERM', 'SIGKILL'])
  test(`a gateway that ends by ${signal} lets installations clean up`, async (t) => {
    const w = workshop(t);
    const { program } = await startGateway(t, { servers: { a: w.npx('a') } });
    await w.noted('a begins');
    const family = descendants(program.pid);
    onEnd(t, () => assertGone(family, LIMIT));
    program.child.kill(signal);
    await w.noted('a cleaned up');
    await assertGone(family, LIMIT);
    await program.exited;
    // It was killed on purpose: the end of the test finds nothing wrong in that.
    if (signal === 'SIGKILL') program.exited = Promise.resolve(0);
  });
