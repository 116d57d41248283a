// SPDX-License-Identifier: Apache-2.0
// Runs the commands of the guides: the `sh` blocks of a page run in order, in one shell, in an empty home folder and an
// empty project. A `text` block after commands shows their output: `…` on a line of its own stands for any lines, inside
// a line for any characters. `<!-- not run: reason -->` before a block excludes it.
//
// The machine differs from a user's in these ways: `npx` starts the servers that the tests install, `sudo` runs the
// command as it is, the port 8811 is a free one, and /srv/shop and /srv/ada stand for the project and the home folder.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { describe, test } from 'node:test';

import { gatewayEnv, ROOT } from './lib/gateway.mjs';
import { onEnd, tempDir } from './lib/process.mjs';
import { gatewayPath } from './lib/raw.mjs';

const GUIDES = 'docs/guide';
const PAGE_MS = 120_000;
const END_OF_BLOCK = '\x1e';
const SHELLS = new Set(['sh', 'bash', 'console']);

/** Pages whose commands other tests run, and the file of the test. */
const ELSEWHERE = {
  'docs/reference/cli.md': 'cli-discovery.test.mjs',
  'docs/reference/connect.md': 'connect.test.mjs',
  'docs/reference/context.md': 'context.test.mjs',
  'docs/reference/protocol.md': 'cli.test.mjs',
};
/** Further pages that run here. */
const MORE = ['docs/operate/auth.md', 'docs/operate/configuration.md', 'docs/operate/metrics.md'];
/** Commands that a page expects to have run. */
const BEFORE = {
  'docs/operate/metrics.md': `toolgate add memory -- npx -y @modelcontextprotocol/server-memory
    toolgate serve --listen 127.0.0.1:8811 &
    curl -s --retry 9 --retry-delay 1 --retry-connrefused http://127.0.0.1:8811/healthz`,
};

const read = (page) => fs.readFileSync(path.join(ROOT, page), 'utf8');
const guides = () => fs.readdirSync(path.join(ROOT, GUIDES)).filter((it) => it.endsWith('.md')).map((it) => `${GUIDES}/${it}`);

/** The fenced blocks of a page: `{ kind, text, notRun }`. */
function blocksOf(page) {
  return [...read(page).matchAll(/(<!-- not run: [^>]+ -->\n)?^```(\w*)\n(.*?)^```$/gms)]
    .map(([, notRun, kind, text]) => ({ kind, text, notRun: Boolean(notRun) }));
}

/** Every page of the documentation. */
function pages() {
  const docs = fs.readdirSync(path.join(ROOT, 'docs'), { recursive: true }).map((it) => `docs/${it}`);
  const top = fs.readdirSync(ROOT);
  return [...top, ...docs].filter((it) => it.endsWith('.md'));
}

function shim(folder, name, script) {
  fs.writeFileSync(path.join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return String(port);
}

/** Runs a script in its own process group, which ends with it: `{ status, stdout, stderr }`. */
async function runShell(t, script, options) {
  const shell = spawn('/bin/sh', ['-e', '-c', script], { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const end = (signal) => {
    try {
      process.kill(-shell.pid, signal);
    } catch {} // the group has ended
  };
  onEnd(t, () => end('SIGTERM'));
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) shell[name].setEncoding('utf8').on('data', (text) => { said[name] += text; });
  const timer = setTimeout(() => end('SIGKILL'), PAGE_MS);
  const status = await new Promise((done) => shell.once('exit', done));
  clearTimeout(timer);
  return { status, ...said };
}

/** A pattern for the output that a page shows. */
function shownAs(text) {
  const quote = (part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const lines = text.split('\n').slice(0, -1)
    .map((line) => (line === '…' ? '(?:.*\\n)*?' : `${line.split(/(?<=.)…|…(?=\S| {2})/).map(quote).join('.*')}\\n`));
  return new RegExp(`^${lines.join('')}$`);
}

async function runPage(t, page) {
  const base = tempDir(t);
  const [home, project, bin] = ['ada', 'shop', 'bin'].map((name) => path.join(base, name));
  for (const dir of [home, project, bin]) fs.mkdirSync(dir);
  fs.symlinkSync(gatewayPath(), path.join(bin, 'toolgate'));
  const modules = path.join(ROOT, 'tests/e2e/node_modules');
  shim(bin, 'npx', `shift; name=\${1#@modelcontextprotocol/}; shift\nexec '${process.execPath}' "$(readlink -f '${modules}/.bin/mcp-'"$name")" "$@"`);
  shim(bin, 'sudo', 'exec "$@"');

  const blocks = blocksOf(page), port = await freePort();
  const commands = blocks.filter((it) => SHELLS.has(it.kind) && !it.notRun);
  const script = [BEFORE[page] ?? ':', ...commands.map((it) => it.text)].join(`\nprintf '${END_OF_BLOCK}'\n`).replaceAll('8811', port);
  const env = gatewayEnv({ HOME: home, PATH: `${bin}:${process.env.PATH}`, ROOT, XDG_CONFIG_HOME: '', XDG_STATE_HOME: '', XDG_RUNTIME_DIR: '' });
  const { status, stdout, stderr } = await runShell(t, script, { cwd: project, env });
  const plain = stdout.replaceAll(port, '8811').replaceAll(project, '/srv/shop').replaceAll(home, '/srv/ada');
  const outputs = plain.split(END_OF_BLOCK).slice(1);
  assert.equal(status, 0, `after\n${commands[outputs.length - 1]?.text}\n${plain}\n${stderr}`);
  for (const [n, command] of commands.entries()) {
    const after = blocks[blocks.indexOf(command) + 1];
    if (after?.kind === 'text') assert.match(outputs[n].replace(/(?<!\n)$/, '\n'), shownAs(after.text), command.text);
  }
}

describe('the commands of the guides work as they are shown', { concurrency: 2 }, () => {
  for (const page of [...guides(), ...MORE]) test(page, (t) => runPage(t, page));
});

test('every command block of the documentation is run by a test, or says why not', () => {
  for (const page of pages()) {
    const blocks = blocksOf(page).filter((it) => SHELLS.has(it.kind) && !it.notRun);
    if (!blocks.length || page.startsWith(GUIDES) || MORE.includes(page)) continue;
    assert.ok(ELSEWHERE[page], `${page} has commands that no test runs:\n${blocks[0].text}`);
    assert.ok(read(`tests/e2e/${ELSEWHERE[page]}`).includes(page), `${ELSEWHERE[page]} does not read ${page}`);
  }
});
