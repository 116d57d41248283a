// SPDX-License-Identifier: Apache-2.0
// Runs the commands of the documentation (lib/pages.mjs): the blocks of a page run in order, in one shell, in an empty
// home folder and an empty project. A `text` block after commands shows their output: `…` on a line of its own stands for
// any lines, inside a line for any characters.
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
import { blocksOf, commandBlocks, marksOf, pages, readPage as read } from './lib/pages.mjs';
import { onEnd, Program, run, tempDir, until } from './lib/process.mjs';
import { gatewayPath, INITIALIZE, JSON_HEADERS } from './lib/raw.mjs';

const GUIDES = 'docs/guide';
const PAGE_MS = 120_000;
const END_OF_BLOCK = '\x1e';

/** Pages whose commands other tests run, and the file of the test. */
const ELSEWHERE = {
  'README.md': 'first-hour.test.mjs',
  'docs/reference/cli.md': 'cli-discovery.test.mjs',
  'docs/reference/connect.md': 'connect.test.mjs',
  'docs/reference/context.md': 'context.test.mjs',
  'docs/reference/protocol.md': 'cli.test.mjs',
};
/** Commands that a page expects to have run. */
const BEFORE = {
  'docs/operate/audit.md': `sed -n '/^\`\`\`yaml$/,/^\`\`\`$/p' "$ROOT/docs/operate/audit.md" | grep -v '^\`' > toolgate.yaml
    toolgate add memory -- npx -y @modelcontextprotocol/server-memory
    toolgate browse graph`,
  'docs/operate/metrics.md': `toolgate add memory -- npx -y @modelcontextprotocol/server-memory
    toolgate serve --listen 127.0.0.1:8811 &
    curl -s --retry 9 --retry-delay 1 --retry-connrefused http://127.0.0.1:8811/healthz`,
};

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

  const commands = commandBlocks(page), port = await freePort();
  const script = [BEFORE[page] ?? ':', ...commands.map((it) => it.text)].join(`\nprintf '${END_OF_BLOCK}'\n`).replaceAll('8811', port);
  const env = gatewayEnv({ HOME: home, PATH: `${bin}:${process.env.PATH}`, ROOT, XDG_CONFIG_HOME: '', XDG_STATE_HOME: '', XDG_RUNTIME_DIR: '' });
  const { status, stdout, stderr } = await runShell(t, script, { cwd: project, env });
  const plain = stdout.replaceAll(port, '8811').replaceAll(project, '/srv/shop').replaceAll(home, '/srv/ada');
  const outputs = plain.split(END_OF_BLOCK).slice(1);
  assert.equal(status, 0, `${commands[outputs.length - 1]?.at}: ${commands[outputs.length - 1]?.text}\n${plain}\n${stderr}`);
  for (const [n, { at, text, shown }] of commands.entries())
    if (shown !== undefined) assert.match(outputs[n].replace(/(?<!\n)$/, '\n'), shownAs(shown), `${at}: ${text}`);
}

describe('the commands of the documentation work as they are shown', { concurrency: 2 }, () => {
  for (const page of pages()) if (!ELSEWHERE[page] && commandBlocks(page).length) test(page, (t) => runPage(t, page));
});

test('every other block of commands is run by another test, or says why not', () => {
  for (const [page, file] of Object.entries(ELSEWHERE))
    assert.ok(read(`tests/e2e/${file}`).includes(`commandBlocks('${page}'`), `${commandBlocks(page)[0].at}: ${file} does not run it`);
  for (const page of pages()) {
    const marked = blocksOf(page).filter((it) => it.isCommand && it.notRun?.trim()).map((it) => it.at);
    assert.deepEqual(marksOf(page), marked, 'a mark without a reason, or without commands after it');
  }
});

test('docs/toolgate.1 has the help of the program', async () => {
  const made = await run('python3', [path.join(ROOT, 'scripts/man-page')], { env: gatewayEnv({ TOOLGATE: gatewayPath() }) });
  assert.equal(made.status, 0, made.stderr);
  assert.ok(made.stdout === read('docs/toolgate.1'), 'the help has changed: run `make man`');
});

/** All source text of the program, with the parts of long strings joined. */
function sources() {
  const files = fs.readdirSync(path.join(ROOT, 'src'), { recursive: true }).filter((it) => /\.[ch]$/.test(it));
  return files.map((it) => read(`src/${it}`)).join('\n').replace(/"\s*\n\s*"/g, '').replaceAll('\\"', '"');
}

test('the messages of docs/guide/troubleshooting.md are messages of the program', () => {
  const source = sources().replace(/%[-.*\d]*[a-z]+/g, '…').replace(/"\s*PRI\w+\s*"/g, '…');
  const quoted = [...read(`${GUIDES}/troubleshooting.md`).matchAll(/^\| (?:\d+ )?`([^`]{12,})` \|/gm)].map(([, text]) => text);
  assert.ok(quoted.length > 8);
  for (const message of quoted)
    for (const part of message.split(/"?…"?/).filter((it) => it.length > 3)) assert.ok(source.includes(part), `${message}: ${part}`);
});

test('every metric of the dashboard and of docs/guide/prometheus.md exists', () => {
  const source = sources();
  for (const file of ['examples/grafana/toolgate.json', `${GUIDES}/prometheus.md`]) {
    const names = new Set(read(file).match(/\btoolgate_[a-z_]+/g));
    assert.ok(names.size > 4, file);
    for (const name of names) assert.ok(source.includes(`"${name.replace(/_(bucket|sum|count)$/, '')}"`), `${file}: ${name}`);
  }
  const { panels } = JSON.parse(read('examples/grafana/toolgate.json'));
  assert.equal(new Set(panels.map((it) => it.id)).size, panels.length);
});

test('systemd accepts the unit of examples/systemd', async (t) => {
  if ((await run('sh', ['-c', 'command -v systemd-analyze'])).status !== 0) return t.skip('there is no systemd-analyze');
  const unit = path.join(tempDir(t), 'toolgate.service');
  const text = read('examples/systemd/toolgate.service');
  fs.writeFileSync(unit, text.replace('/usr/local/bin/toolgate', gatewayPath()).replace(/^Documentation=.*\n/m, ''));
  const { status, stderr } = await run('systemd-analyze', ['verify', unit]);
  assert.equal(status, 0, stderr);
  assert.equal(stderr, '');
});

describe('the proxies of docs/guide/tls.md', () => {
  const HOST = 'tools.example.com';
  const block = (kind) => blocksOf(`${GUIDES}/tls.md`).find((it) => it.kind === kind).text;

  /** Starts a gateway with a token and `allowed_hosts`: `{ dir, port, token }`. */
  async function gateway(t) {
    const dir = tempDir(t), env = gatewayEnv({ HOME: dir, XDG_CONFIG_HOME: '', XDG_STATE_HOME: '' });
    const cert = await run('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
      '-days', '2', '-subj', `/CN=${HOST}`, '-addext', `subjectAltName=DNS:${HOST}`, '-keyout', 'key.pem', '-out', 'cert.pem'], { cwd: dir });
    assert.equal(cert.status, 0, cert.stderr);
    fs.writeFileSync(path.join(dir, 'toolgate.yaml'), `allowed_hosts: [${HOST}]\ncatalog: tools.json\nlog: {level: info}\n`);
    fs.writeFileSync(path.join(dir, 'tools.json'), '[{"name": "a", "inputSchema": {"type": "object"}}]');
    const token = (await run(gatewayPath(), ['token', 'new'], { cwd: dir, env })).stdout.trim();
    const program = new Program(gatewayPath(), ['serve', '--listen', '127.0.0.1:0'], { cwd: dir, env });
    onEnd(t, () => program.stop());
    const [, port] = await program.says(/listening on http:\/\/127\.0\.0\.1:(\d+)/);
    return { dir, port, token };
  }

  /** Asks through the proxy with curl: the status and the body. */
  async function ask(dir, port, ...headers) {
    const args = ['-s', '-k', '-w', '\n%{http_code}', '--resolve', `${HOST}:${port}:127.0.0.1`, `https://${HOST}:${port}/mcp`, '-d', INITIALIZE];
    for (const [name, value] of Object.entries(JSON_HEADERS)) args.push('-H', `${name}: ${value}`);
    for (const header of headers) args.push('-H', header);
    const { stdout } = await run('curl', args, { cwd: dir });
    const [, body, status] = /^(.*)\n(\d+)$/s.exec(stdout);
    return { status: Number(status), body };
  }

  async function check(dir, port, token) {
    await until(async () => (await ask(dir, port)).status === 401, 'the proxy answers');
    const { status, body } = await ask(dir, port, `Authorization: Bearer ${token}`);
    assert.equal(status, 200, body);
    assert.match(body, /serverInfo/);
  }

  const missing = async (name) => (await run('sh', ['-c', `command -v ${name}`], { env: { PATH: `${process.env.PATH}:/usr/sbin` } })).status !== 0;

  test('nginx', async (t) => {
    if (await missing('nginx')) return t.skip('there is no nginx');
    const { dir, port, token } = await gateway(t), own = await freePort();
    const site = block('nginx').replace('listen 443', `listen 127.0.0.1:${own}`).replace('8811', port)
      .replace(/ssl_certificate .*;/, `ssl_certificate ${dir}/cert.pem;`).replace(/ssl_certificate_key .*;/, `ssl_certificate_key ${dir}/key.pem;`);
    const file = path.join(dir, 'nginx.conf');
    fs.writeFileSync(file, `daemon off; pid ${dir}/nginx.pid; error_log ${dir}/error.log;\nevents {}\nhttp { access_log off;\n${site}}\n`);
    const nginx = new Program('nginx', ['-c', file, '-e', `${dir}/error.log`], { cwd: dir, env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` } });
    onEnd(t, () => nginx.stop());
    await check(dir, own, token);
  });

  test('Caddy', async (t) => {
    if (await missing('caddy')) return t.skip('there is no caddy');
    const { dir, port, token } = await gateway(t), own = await freePort();
    const site = block('caddyfile').replace(`${HOST} {`, `${HOST}:${own} {\n\ttls ${dir}/cert.pem ${dir}/key.pem`).replace('8811', port);
    const file = path.join(dir, 'Caddyfile');
    fs.writeFileSync(file, `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${site}`);
    const caddy = new Program('caddy', ['run', '--config', file], { cwd: dir, env: { ...process.env, HOME: dir } });
    onEnd(t, () => caddy.stop());
    await check(dir, own, token);
  });
});
