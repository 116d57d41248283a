// SPDX-License-Identifier: Apache-2.0
// Real servers from npm, started by the real npx, in a home folder without an npx cache.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { SDKS } from './lib/clients.mjs';
import { gatewayEnv, startGateway, toolgate } from './lib/gateway.mjs';
import { assertGone, descendants, onEnd, Program, tempDir, until, writeJson } from './lib/process.mjs';

const LONG = Boolean(process.env.TOOLGATE_LONG);
const INSTALL = (LONG ? 1200 : 170) * 1000;

// Public servers that need no credentials to start. The first six are used in every run.
const PACKAGES = [
  '@modelcontextprotocol/server-memory', '@modelcontextprotocol/server-everything',
  '@modelcontextprotocol/server-sequential-thinking', '@modelcontextprotocol/server-filesystem',
  'mcp-server-code-runner', '@kazuph/mcp-taskmanager',
  '@antv/mcp-server-chart', '@magicuidesign/mcp', '@eslint/mcp', '@mastra/mcp-docs-server', 'mcp-mermaid',
  '@upstash/context7-mcp', '@playwright/mcp', 'chrome-devtools-mcp', '@drawio/mcp', '@cyanheads/git-mcp-server',
  '@dangahagan/weather-mcp', 'duckduckgo-mcp-server', '@mobilenext/mobile-mcp', 'kubernetes-mcp-server',
  'mcp-server-kubernetes', '@executeautomation/playwright-mcp-server', '@wonderwhy-er/desktop-commander',
  'edgeone-pages-mcp',
];

const npmConfig = (key) => spawnSync('npm', ['config', 'get', key], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).stdout?.trim();
const registry = npmConfig('registry');
const reachable = registry && spawnSync('npm', ['view', PACKAGES[0], 'version'], { stdio: 'ignore' }).status === 0;
const skip = reachable ? false : 'npm, or its registry, cannot be reached';

/** A home folder whose npx cache is empty; what was downloaded before is shared. */
function home(t) {
  const dir = tempDir(t), downloads = path.join(npmConfig('cache'), '_cacache');
  fs.mkdirSync(path.join(dir, '.npm'));
  fs.mkdirSync(downloads, { recursive: true });
  fs.symlinkSync(downloads, path.join(dir, '.npm/_cacache'));
  const env = { HOME: dir, npm_config_registry: registry, npm_config_prefer_offline: 'true', npm_config_update_notifier: 'false' };
  for (const name of ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE']) if (process.env[name]) env[name] = process.env[name];
  return { dir, env };
}

const nameOf = (pkg) => pkg.replace(/^@/, '').replace('/', '-');
const argsOf = (pkg, dir) => ['-y', pkg, ...(pkg.endsWith('server-filesystem') ? [dir] : [])];
const HELLO = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'toolgate-e2e', version: '1' } } };

/** Does plain npx start this server? */
async function starts(pkg, { dir, env }, timeoutMs = 60_000) {
  const program = new Program('npx', argsOf(pkg, dir), { env: { PATH: process.env.PATH, ...env }, cwd: dir, stdio: true });
  let answer = '';
  program.child.stdout.setEncoding('utf8').on('data', (text) => { answer += text; });
  program.child.stdin.on('error', () => {});
  program.child.stdin.write(`${JSON.stringify(HELLO)}\n`);
  await until(() => /"protocolVersion"/.test(answer) || program.status !== undefined, pkg, timeoutMs).catch(() => {});
  // npx ends without its server, which may not notice.
  for (const { pid, command } of descendants(program.pid)) if (!/npm exec/.test(command)) process.kill(pid, 'SIGKILL');
  await program.stop();
  return /"protocolVersion"/.test(answer);
}

describe('npx in an empty home folder', { skip }, () => {
  test(`${LONG ? 24 : 6} cold servers start in one go, and plain npx works afterwards`, { timeout: 2 * INSTALL }, async (t) => {
    const packages = LONG ? PACKAGES : PACKAGES.slice(0, 6), where = home(t);
    const servers = Object.fromEntries(packages.map((pkg) =>
      [nameOf(pkg), { command: 'npx', args: argsOf(pkg, where.dir), env: where.env, startTimeout: LONG ? 15_000 : 6000 }]));
    const { program, stop } = await startGateway(t, { servers });
    const ready = () => packages.filter((pkg) => program.stderr.includes(` ${nameOf(pkg)}: ready in `));
    const failed = () => packages.filter((pkg) => new RegExp(` warn +${nameOf(pkg)}: (?!\\d+ tools|ignored a line)`).test(program.stderr));
    await until(() => new Set([...ready(), ...failed()]).size === packages.length, () => program.stderr, INSTALL);
    const up = ready();
    await stop();
    // A server that does not come up here does not do so with plain npx either.
    for (const pkg of LONG ? packages : packages.slice(0, 2))
      assert.equal(await starts(pkg, where), up.includes(pkg), `${pkg}\n${program.stderr}`);
    assert.ok(up.length >= (LONG ? 16 : 6), `${up.length} came up: ${program.stderr}`);
  });

  test('a gateway that is stopped in the middle of an installation leaves a cache that works', { timeout: 2 * INSTALL }, async (t) => {
    const where = home(t), pkg = PACKAGES[1];
    const { program, stop } = await startGateway(t, { servers: { a: { command: 'npx', args: argsOf(pkg), env: where.env, startTimeout: 2000 } } });
    const cache = path.join(where.dir, '.npm/_npx');
    await until(() => fs.existsSync(cache) && fs.readdirSync(cache).some((d) => fs.readdirSync(path.join(cache, d)).length), 'the installation', INSTALL);
    const family = descendants(program.pid);
    program.child.kill('SIGTERM');
    await program.exited;
    await assertGone(family, INSTALL);
    await stop();
    assert.ok(await starts(pkg, where, 120_000), 'plain npx works');
  });

  test('the entry of the gateway itself is skipped beside a server of npx', { timeout: INSTALL }, async (t) => {
    const where = home(t), pkg = PACKAGES[0];
    writeJson(path.join(where.dir, '.mcp.json'), { mcpServers: {
      toolgate: { command: toolgate(), args: ['serve'] },
      again: { command: 'npx', args: ['-y', 'toolgate', 'serve'] },
      memory: { command: 'npx', args: argsOf(pkg), env: where.env },
    } });
    const config = { mode: 'direct', timeouts: { start_wait: 170 } };
    writeJson(path.join(where.dir, 'toolgate.json'), config);
    const client = await SDKS['client 2.x']({ command: toolgate(), args: ['serve'], cwd: where.dir, env: gatewayEnv({ HOME: where.dir }) });
    onEnd(t, () => client.close());
    const tools = await until(async () => (await client.listTools()).length, () => client.stderr, INSTALL);
    assert.equal(tools, 9);
    // The guard, a keeper, npx, its shell and the server.
    assert.ok(descendants(client.transport._process.pid).length <= 6);
  });
});
