// SPDX-License-Identifier: Apache-2.0
// A new user does what README.md says, word by word: the commands are read from it and run in a fresh clone, with an
// empty home folder in which a Claude Code project has three servers that npx installs.
//
// The machine differs from a user's in these ways: make takes its address and its prefix from the environment, the
// compiler may find what an earlier run compiled (ccache), `sudo` runs the command as it is, and `claude` does not wait
// at a terminal (-p) and asks a scripted model.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { agentProgram, claudeEnv, skipWithout } from './lib/agents.mjs';
import { ROOT } from './lib/gateway.mjs';
import { startModel, toolOf } from './lib/model.mjs';
import { commandBlocks } from './lib/pages.mjs';
import { onEnd, Program, run, tempDir, writeJson } from './lib/process.mjs';

const BUILD_MS = 200_000;
const FIRST_QUESTION_MS = 120_000;
const TRIES = 30;

/** A program on PATH. */
function shim(folder, name, command) {
  fs.writeFileSync(path.join(folder, name), `#!/bin/sh\nexec ${command}\n`, { mode: 0o755 });
}

/** The servers of the project: npx, and the versions that the tests use elsewhere too. */
function projectServers() {
  const { dependencies } = JSON.parse(fs.readFileSync(path.join(ROOT, 'tests/e2e/package.json'), 'utf8'));
  const npx = (name, ...args) => ({ command: 'npx', args: ['-y', `${name}@${dependencies[name]}`, ...args] });
  return {
    files: npx('@modelcontextprotocol/server-filesystem', '.'),
    memory: npx('@modelcontextprotocol/server-memory'),
    everything: npx('@modelcontextprotocol/server-everything'),
  };
}

/** A model that looks for a tool until its server is there, calls it and ends. */
function reader() {
  const asked = ({ body }) => body.messages.flatMap(({ content }) => content).findLast(({ type }) => type === 'tool_use');
  return async (turn) => {
    const last = turn.results.at(-1) ?? '';
    const [id] = /memory:read_graph[#\w]*/.exec(last) ?? [];
    if (asked(turn)?.name.endsWith('tool_execute')) return { text: `It holds: ${last}` };
    if (id) return { tool: 'tool_execute', input: { tool_id: id, args: {} } };
    if (turn.results.length > TRIES) return { text: `no memory:read_graph in: ${last}` };
    if (turn.results.length) await delay(1000);
    return { tool: 'tool_browse', input: { query: 'read the whole knowledge graph' } };
  };
}

test('the commands of README.md lead from a clone to an answer of Claude Code', async (t) => {
  if (await skipWithout(t, 'Claude Code')) return;
  if (!fs.existsSync(path.join(ROOT, '.git'))) return t.skip('this is no clone: there is no history to clone from');
  const registry = await run('npm', ['view', '@modelcontextprotocol/server-memory', 'version']);
  if (registry.status !== 0) return t.skip(`npx cannot install servers: ${registry.stderr.trim().split('\n')[0]}`);
  const home = tempDir(t);
  const [clone, bin, project] = ['toolgate', 'bin', 'my-project'].map((name) => path.join(home, name));
  const cloned = await run('git', ['clone', '-q', ROOT, clone]);
  assert.equal(cloned.status, 0, cloned.stderr);
  fs.mkdirSync(bin);
  fs.mkdirSync(project);
  const before = fs.readFileSync(writeJson(path.join(project, '.mcp.json'), { mcpServers: projectServers() }));

  const model = await startModel(t, reader());
  shim(bin, 'sudo', '"$@"');
  shim(bin, 'claude', `'${agentProgram('Claude Code')}' -p "$@" --allowedTools mcp__toolgate`);
  const env = { HOME: home, PATH: `${bin}:${home}/.local/bin:${process.env.PATH}`, PREFIX: path.join(home, '.local'),
    LISTEN: '127.0.0.1:0', CCACHE_DIR: process.env.CCACHE_DIR ?? path.join(os.homedir(), '.cache/ccache'),
    CCACHE_NOHASHDIR: '1', ...claudeEnv(model.url) };

  const [first, ...commands] = commandBlocks('README.md', clone).map((it) => it.text);
  assert.equal(first, 'make run\n');
  const served = new Program('make', ['run'], { cwd: clone, env });
  onEnd(t, () => served.stop());
  await served.says(/listening on http/, BUILD_MS);
  const [, curl] = /Try it +(curl .*)/.exec(served.stdout) ?? assert.fail(served.stdout);
  assert.match((await run('sh', ['-c', curl], { env })).stdout, /tool_browse/);
  await served.stop();

  const script = commands.join('\n');
  const { status, stdout, stderr } = await run('sh', ['-e', '-c', script], { cwd: clone, env, timeoutMs: FIRST_QUESTION_MS });
  assert.equal(status, 0, `${script}\n${stdout}\n${stderr}`);
  assert.match(stdout, /It holds: .*entities/s, stderr);
  for (const name of ['tool_browse', 'tool_execute', 'tool_view']) assert.ok(toolOf(model.turns[0], name), name);

  const entries = (file) => Object.keys(JSON.parse(fs.readFileSync(file, 'utf8')).mcpServers).sort();
  assert.deepEqual(entries(path.join(project, '.mcp.json')), ['toolgate']);
  assert.deepEqual(entries(path.join(home, '.config/toolgate/mcp.json')), ['everything', 'files', 'memory']);
  assert.equal((await run('toolgate', ['connect', 'claude-code', '--undo'], { cwd: project, env })).status, 0);
  assert.deepEqual(fs.readFileSync(path.join(project, '.mcp.json')), before);
});
