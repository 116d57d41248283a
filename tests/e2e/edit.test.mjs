// SPDX-License-Identifier: Apache-2.0
// toolgate add, remove, enable, disable: one server of the configured file changes, all else stays as it was written.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { runToolgate } from './lib/gateway.mjs';
import { tempDir } from './lib/process.mjs';

const FILE = `{
  // The servers of the shop.
  "mcpServers": {
    "time": { "command": "uvx", "args": ["mcp-server-time"] }, // UTC
    "notes": {
      "command": "notes"
    }
  }
}
`;

function world(t, text = FILE) {
  const cwd = tempDir(t), home = tempDir(t), file = path.join(cwd, '.mcp.json');
  if (text) fs.writeFileSync(file, text);
  const toolgate = (...args) => runToolgate(args, { cwd, env: { HOME: home } });
  const runs = async (...args) => {
    const r = await toolgate(...args);
    assert.equal(r.status, 0, r.stderr);
    return r;
  };
  return { cwd, home, file, toolgate, runs, text: () => fs.readFileSync(file, 'utf8') };
}

test('a program is added after the last server, in the layout of the file', async (t) => {
  const w = world(t);
  await w.runs('add', 'git', '--env', 'A=b=c', '--', 'npx', '-y', 'git-server', '--json');
  assert.equal(w.text(), FILE.replace('"command": "notes"\n    }\n', `"command": "notes"
    },
    "git": {
      "command": "npx",
      "args": ["-y", "git-server", "--json"],
      "env": {
        "A": "b=c"
      }
    }
`));
});

test('a URL is added with its headers', async (t) => {
  const w = world(t);
  const r = await w.runs('add', 'docs', 'https://docs.example/mcp', '--header', 'Authorization: Bearer ${TOKEN}', '--json');
  assert.deepEqual(JSON.parse(r.stdout), { file: w.file, name: 'docs', changed: true });
  assert.match(w.text(), /"url": "https:\/\/docs.example\/mcp",\n      "headers": \{\n        "Authorization": "Bearer \$\{TOKEN\}"/);
});

test('what was added is removed without a trace', async (t) => {
  const w = world(t);
  await w.runs('add', 'git', '--', 'git-server');
  await w.runs('remove', 'git');
  assert.equal(w.text(), FILE);
  await w.runs('remove', 'time');
  assert.equal(w.text(), FILE.replace(/\n    "time".*,/, ''));
});

test('a server is switched off and on; twice is once', async (t) => {
  const w = world(t);
  await w.runs('disable', 'notes');
  const off = w.text();
  assert.equal(off, FILE.replace('"command": "notes"\n', '"command": "notes",\n      "disabled": true\n'));
  await w.runs('disable', 'notes');
  assert.equal(w.text(), off);
  // check names programs that are not installed, but does not look for one that is switched off.
  const named = async () => /mcpServers\/notes/.test((await w.toolgate('check')).stdout);
  assert.equal(await named(), false);
  await w.runs('enable', 'notes');
  assert.equal(w.text(), FILE);
  assert.equal(await named(), true);
});

test('each command says what it did', async (t) => {
  const w = world(t);
  for (const [args, said] of [
    [['add', 'cat', '--', 'cat'], 'added "cat" to FILE'],
    [['add', 'cat', '--force', '--', 'cat', '-u'], 'replaced "cat" in FILE'],
    [['add', 'cat', '--force', '--', 'cat', '-u'], 'replaced "cat" in FILE'],
    [['disable', 'cat'], 'disabled "cat" in FILE'],
    [['disable', 'cat'], '"cat" is already disabled in FILE'],
    [['enable', 'cat'], 'enabled "cat" in FILE'],
    [['enable', 'cat'], '"cat" is already enabled in FILE'],
    [['remove', 'cat'], 'removed "cat" from FILE'],
  ]) {
    const r = await w.runs(...args);
    assert.deepEqual([r.stdout, r.stderr], [`${said.replace('FILE', w.file)}\n`, ''], `${args}`);
  }
});

test('a program that is not there is added with a warning', async (t) => {
  const w = world(t);
  fs.writeFileSync(path.join(w.cwd, 'here'), '#!/bin/sh\n', { mode: 0o755 });
  for (const [command, warned] of [['no-such-program', true], ['./no-such', true], ['/bin/cat', false], ['./here', false], ['${X}', false]]) {
    const r = await w.runs('add', 'x', '--force', '--', command);
    assert.equal(/^toolgate add: warning: .* not found/.test(r.stderr), warned, `${command}: ${r.stderr}`);
  }
  assert.equal((await w.runs('add', 'y', '--env', `PATH=${w.cwd}`, '--', 'here')).stderr, '');
});

test('without a file, the one of the user is made, and serve reads it', async (t) => {
  const w = world(t, null);
  const r = await w.runs('add', 'cat', '--json', '--', 'cat');
  const { file } = JSON.parse(r.stdout);
  assert.equal(file, path.join(w.home, '.config/toolgate/mcp.json'));
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  assert.match((await w.runs('check')).stdout, /cat/);
});

test('a configuration file with servers in it is not changed', async (t) => {
  const w = world(t, null);
  fs.writeFileSync(path.join(w.cwd, 'toolgate.yaml'), 'servers:\n  a: {command: cat}\n');
  const r = await w.toolgate('add', 'b', '--', 'cat');
  assert.equal(r.status, 1);
  assert.match(r.stderr, /toolgate\.yaml:\/servers: /);
});

test('a name that is taken, or not there, ends with 1 and changes nothing', async (t) => {
  const w = world(t);
  for (const args of [['add', 'time', '--', 'x'], ['remove', 'no'], ['enable', 'no'], ['disable', 'no']]) {
    const r = await w.toolgate(...args);
    assert.equal(r.status, 1, `${args}`);
    assert.match(r.stderr, new RegExp(`^toolgate ${args[0]}: .*\\.mcp\\.json (already )?has `));
  }
  assert.equal(w.text(), FILE);
  await w.runs('add', 'time', '--force', '--', 'x');
  assert.match(w.text(), /"time": \{\n      "command": "x"\n/);
});

test('a wrong command line ends with 2', async (t) => {
  const w = world(t);
  for (const args of [
    ['add'], ['add', 'x'], ['add', 'x', 'npx', '-y', 'y'], ['add', 'x', 'npx'], ['add', 'x', 'ftp://x'],
    ['add', 'x', '--env', 'novalue', '--', 'y'], ['add', 'x', 'https://x', '--header', 'none'],
    ['add', 'x', '--header', 'A: b', '--', 'y'], ['add', 'x', 'https://x', '--env', 'A=b'], ['add', 'x'.repeat(65), '--', 'y'],
    ['remove'], ['remove', 'a', 'b'], ['enable'], ['disable'],
  ]) {
    const r = await w.toolgate(...args);
    assert.equal(r.status, 2, `${args}: ${r.stdout}${r.stderr}`);
  }
  assert.equal(w.text(), FILE);
});
