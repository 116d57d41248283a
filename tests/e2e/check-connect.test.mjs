// SPDX-License-Identifier: Apache-2.0
// toolgate check --connect: the configuration is right, and so is what its servers are and offer.
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { runToolgate } from './lib/gateway.mjs';
import { snapshot } from './lib/meta.mjs';
import { tempDir, writeJson } from './lib/process.mjs';

const MOODY = fileURLToPath(new URL('servers/moody.mjs', import.meta.url));
const STEADY = fileURLToPath(new URL('servers/steady.mjs', import.meta.url));
const steady = { command: process.execPath, args: [STEADY, '--resources'] };
const broken = { command: process.execPath, args: ['-e', 'console.error("no licence"); process.exit(3)'] };
const tool = (name) => ({ name, description: `Does ${name}.`, inputSchema: { type: 'object' } });

async function check(t, servers, ...args) {
  const dir = tempDir(t);
  writeJson(path.join(dir, '.mcp.json'), { mcpServers: servers });
  return runToolgate(['check', '--connect', ...args], { cwd: dir, timeoutMs: 120_000 });
}

describe('toolgate check --connect', () => {
  test('starts the servers and lists what they offer', async (t) => {
    const docs = snapshot(t, { tools: [tool('find')], prompts: [{ name: 'ask' }] });
    const { status, stdout } = await check(t, { steady, docs });
    assert.equal(status, 0, stdout);
    assert.match(stdout, /steady \(stdio\): .*\n {4}ready in \d+ ms, MCP 2025-11-25: 3 tools, 1 resource, 0 prompts\n/);
    assert.match(stdout, / {4}tools: who, hold, touch\n {4}resources: steady:\/\/state\n/);
    assert.match(stdout, /docs \(snapshot\): .*\n.*1 tool, 0 resources, 1 prompt\n {4}tools: find\n {4}prompts: ask\n/);
    assert.match(stdout, /\nok: 0 errors, 0 warnings\n$/);
  });

  test('says which server failed and why, and exits with 1', async (t) => {
    const { status, stdout } = await check(t, { steady, broken });
    assert.equal(status, 1, stdout);
    assert.match(stdout, /broken \(stdio\): .*\n {4}failed: .*no licence/);
    assert.match(stdout, /steady \(stdio\): .*\n {4}ready in/);
    assert.match(stdout, /\nthe configuration is ok: 0 errors, 0 warnings\n1 of 2 servers failed: broken\n$/);
  });

  test('starts the other servers when the entry of one is wrong', async (t) => {
    const keyless = { command: 'cat', env: { KEY: '${TOOLGATE_TEST_UNSET}' } };
    const { status, stdout } = await check(t, { keyless, steady });
    assert.equal(status, 1, stdout);
    assert.match(stdout, /^\.mcp\.json:\/mcpServers\/keyless\/env\/KEY: .*TOOLGATE_TEST_UNSET/m);
    assert.match(stdout, /steady \(stdio\): .*\n {4}ready in/);
    assert.match(stdout, /\n1 of 2 servers is left out: 1 error, 0 warnings\n$/);
    const { servers, left_out } = JSON.parse((await check(t, { keyless, steady }, '--json')).stdout);
    assert.deepEqual([left_out, servers.map(({ name, available }) => [name, available])], [1, [['steady', true]]]);
  });

  test('says the same to programs', async (t) => {
    const { status, stdout } = await check(t, { steady, broken }, '--json');
    const { ok, servers } = JSON.parse(stdout);
    assert.deepEqual([status, ok], [1, false]);
    const [first, second] = servers;
    assert.deepEqual([first.available, first.revision, first.tools, first.resources, first.prompts, first.faults],
      [true, '2025-11-25', ['who', 'hold', 'touch'], ['steady://state'], [], []]);
    assert.equal(typeof first.start_ms, 'number');
    assert.deepEqual([second.available, second.tools], [false, []]);
    assert.match(second.error, /no licence/);
  });

  test('says of what a failed server offers that it did so before', async (t) => {
    const dir = tempDir(t), mood = path.join(dir, 'mood.json');
    const config = writeJson(path.join(dir, 'toolgate.json'),
      { state_dir: 'state', servers: { moody: { command: process.execPath, args: [MOODY, mood] } } });
    const run = (...args) => runToolgate(['check', '--connect', '--config', config, ...args], { cwd: dir, timeoutMs: 120_000 });
    writeJson(mood, { mood: 'well', tools: ['a', 'b'] });
    const well = await run();
    assert.equal(well.status, 0, well.stdout);
    assert.doesNotMatch(well.stdout, /before/);
    writeJson(mood, { mood: 'gone' });
    const { stdout } = await run();
    assert.match(stdout, / {4}failed: .*\n {4}definitions of its last successful start:\n {4}tools: a, b\n/);
    const [moody] = JSON.parse((await run('--json')).stdout).servers;
    assert.deepEqual([moody.available, moody.remembered, moody.tools], [false, true, ['a', 'b']]);
  });

  test('names definitions that are left out', async (t) => {
    const { status, stdout } = await check(t, { docs: snapshot(t, { tools: [tool('find'), tool('find')] }) });
    assert.equal(status, 1, stdout);
    assert.match(stdout, /left out: find: /);
  });

  test('starts nothing when the configuration is wrong', async (t) => {
    const { status, stdout } = await check(t, { steady: { ...steady, env: { KEY: '${NOT_SET_ANYWHERE}' } } });
    assert.equal(status, 1);
    assert.match(stdout, /NOT_SET_ANYWHERE/);
    assert.doesNotMatch(stdout, /ready in/);
  });
});
