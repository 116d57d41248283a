// SPDX-License-Identifier: Apache-2.0
// The command line: what each command prints, where, and how it ends.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT, runToolgate, startGateway } from './lib/gateway.mjs';
import { commandBlocks } from './lib/pages.mjs';
import { run, tempDir, writeJson } from './lib/process.mjs';
import { memory } from './lib/servers.mjs';

/** A folder with this .mcp.json, and a way to run Toolgate in it. */
function folder(t, mcpServers) {
  const cwd = tempDir(t);
  if (mcpServers) writeJson(path.join(cwd, '.mcp.json'), { mcpServers });
  return { cwd, toolgate: (...args) => runToolgate(args, { cwd, env: { HOME: cwd } }) };
}

const GOOD = { cat: { command: 'cat' } };

test('every command has --help, on standard output', async (t) => {
  const { toolgate } = folder(t);
  const commands = ['serve', 'check', 'catalog', 'browse', 'hydrate', 'call', 'view', 'stats', 'rank', 'policy', 'adapter', 'audit', 'context', 'tokens', 'version',
    'import', 'connect', 'add', 'remove', 'enable', 'disable', 'token', 'status', 'top', 'logs'];
  for (const command of commands) {
    for (const option of ['--help', '-h']) {
      const r = await toolgate(command, option);
      assert.equal(r.status, 0, r.stderr);
      assert.match(r.stdout, new RegExp(`^usage: toolgate ${command}`));
      assert.equal(r.stderr, '');
    }
  }
  const all = await toolgate('--help');
  assert.equal(all.status, 0);
  assert.match(all.stdout, /^ {2}serve .*^ {2}check .*^ {2}version /sm);
});

test('version says which', async (t) => {
  const { toolgate } = folder(t);
  for (const command of ['version', '--version']) {
    const r = await toolgate(command);
    assert.equal(r.status, 0);
    assert.match(r.stdout, /^toolgate \d+\.\d+\.\d+\n$/);
  }
});

test('a mistyped command or option is told with the one that may be meant', async (t) => {
  const { toolgate } = folder(t);
  const [command, option] = [await toolgate('srve'), await toolgate('serve', '--trasport', 'http')];
  assert.deepEqual([command.status, option.status], [2, 2]);
  assert.match(command.stderr, /unknown command "srve"; did you mean "serve"\?/);
  assert.match(option.stderr, /'--trasport'\ndid you mean --transport\?\n/);
  const part = await toolgate('policy', 'explan');
  assert.equal(part.status, 2);
  assert.match(part.stderr, /toolgate policy: unknown command "explan"; did you mean "explain"\?/);
});

test('a wrong command line ends with 2, names the command and points to --help', async (t) => {
  const { toolgate } = folder(t, GOOD);
  for (const [command, ...rest] of [
    ['serve', '--nonsense'],
    ['serve', '--listen'],
    ['serve', '--json'],
    ['serve', 'extra'],
    ['check', '--nonsense'],
    ['context', 'build', '--nonsense'],
    ['context', 'nonsense'],
    ['context'],
    ['version', 'extra'],
  ]) {
    const r = await toolgate(command, ...rest);
    assert.equal(r.status, 2, `${command} ${rest}`);
    assert.match(r.stderr, new RegExp(`^toolgate ${command}( build)?: .*\n.*toolgate ${command}( build)? --help`));
    assert.equal(r.stdout, '');
  }
  for (const args of [[], ['srve']]) assert.equal((await toolgate(...args)).status, 2, `${args}`);
});

test('a wrong value of an option ends with 2, in serve and in check', async (t) => {
  const { toolgate } = folder(t, GOOD);
  for (const [option, value] of [
    ['--listen', '8811'],
    ['--mode', 'foo'],
    ['--transport', 'htp'],
    ['--log-level', 'loud'],
  ]) {
    for (const command of ['serve', 'check']) {
      const r = await toolgate(command, option, value);
      assert.equal(r.status, 2, `${command} ${option} ${value}`);
      assert.match(command === 'serve' ? r.stderr : r.stdout, new RegExp(`command line:${option}: must be`));
    }
  }
});

test('a configuration that cannot be used ends with 1, in serve and in check', async (t) => {
  const { toolgate } = folder(t);
  for (const command of ['serve', 'check']) {
    assert.equal((await toolgate(command)).status, 1, 'no servers');
    const r = await toolgate(command, '--mcp-config', '/no/such');
    assert.equal(r.status, 1);
    assert.match(r.stdout + r.stderr, /\/no\/such: cannot be read: .* \(named by --mcp-config\)/);
  }
});

test('check ends with 1 when a server cannot start', async (t) => {
  const { cwd, toolgate } = folder(t, GOOD);
  const well = await toolgate('check');
  assert.equal(well.status, 0, well.stdout);
  assert.match(well.stdout, /^ok: 0 errors, 0 warnings$/m);
  writeJson(path.join(cwd, '.mcp.json'), { mcpServers: {
    ...GOOD,
    gone: { command: 'no-such-program-anywhere' },
    joined: { command: 'cat -u' },
    off: { command: 'cat', disabled: true },
  } });
  const r = await toolgate('check');
  assert.equal(r.status, 1, r.stdout);
  assert.match(r.stdout, /^\.mcp\.json:\/mcpServers\/gone\/command: there is no such program in PATH/m);
  assert.match(r.stdout, /^\.mcp\.json:\/mcpServers\/joined\/command: .*"args"$/m);
  assert.match(r.stdout, /^ {2}off \(disabled\)$/m);
  assert.match(r.stdout, /^not every server can work: 2 errors, 0 warnings$/m);
});

test('check --json prints one object', async (t) => {
  const { toolgate } = folder(t, { ...GOOD, off: { command: 'cat', disabled: true } });
  const r = await toolgate('check', '--json', '--listen', ':0');
  assert.equal(r.status, 0, r.stderr);
  const said = JSON.parse(r.stdout);
  assert.equal(said.ok, true);
  assert.equal(said.config, null);
  assert.equal(said.mcp_config, '.mcp.json');
  assert.deepEqual(said.servers, [{ name: 'cat', transport: 'stdio', command: 'cat', env: [] }]);
  assert.deepEqual(said.disabled, ['off']);
  const wrong = await toolgate('check', '--json', '--listen', '8811');
  assert.equal(wrong.status, 2);
  assert.deepEqual(JSON.parse(wrong.stdout).problems.map((p) => [p.file, p.pointer]), [['command line', '--listen']]);
});

test('docs/reference/protocol.md has the revisions and notifications of the tables', () => {
  const source = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8');
  const page = source('docs/reference/protocol.md');
  const revisions = [...page.matchAll(/^\| (\d{4}-[-\d, ]+) \|/gm)].flatMap(([, names]) => names.split(', '));
  assert.deepEqual(revisions, [...source('src/mcp/revision.c').matchAll(/\.name = "([\d-]+)"/g)].map(([, name]) => name));
  const words = { BY_CLIENT: 'client', BY_SERVER: 'server', BY_BOTH: 'both', ANY_ERA: 'all', WITH_SESSION: 'up to 2025-11-25',
    STATELESS: '2026-07-28', WITH_TASKS: '2025-11-25' };
  const rows = [...source('src/mcp/methods.c').matchAll(/\{STR\("notifications\/(\S+)"\), (\w+), (\w+)\}/g)]
    .map(([, name, by, era]) => `| \`${name}\` | ${words[by]} | ${words[era]} |\n`);
  assert.ok(rows.length > 10 && page.includes(`|---|---|---|\n${rows.join('')}\n`), rows.join(''));
});

test('the requests by hand of docs/reference/protocol.md work as they are printed', async (t) => {
  const servers = { memory: memory(path.join(tempDir(t), 'memory.json')) };
  const { url } = await startGateway(t, { mode: 'gateway', servers });
  const results = [];
  for (const { at, text } of commandBlocks('docs/reference/protocol.md')) {
    const r = await run('sh', ['-c', text.replace('http://127.0.0.1:8811/mcp', url)]);
    assert.equal(r.status, 0, `${at}: ${r.stderr}`);
    results.push(JSON.parse(r.stdout).result);
  }
  assert.ok(results[0].tools.some((tool) => tool.name === 'tool_browse'));
  assert.match(results[1].content[0].text, /\/memory/);
  for (const result of results) assert.equal(result.resultType, 'complete');
});
