// SPDX-License-Identifier: Apache-2.0
// One copy of each server: real npx, real npm servers, an empty HOME, and a client that declares roots, elicitation and
// sampling, as Claude Code and others do. What is counted are the processes below the gateway.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';

import { execute } from './lib/meta.mjs';
import { descendants, run, suiteScope, tempDir } from './lib/process.mjs';
import { HttpClient, onEnd, startGateway, StdioClient, until } from './lib/raw.mjs';

const VERSION = '2026.8.31';
const PACKAGES = ['server-memory', 'server-everything', 'server-filesystem'].map((n) => `@modelcontextprotocol/${n}@${VERSION}`);
const CAPABILITIES = { roots: {}, elicitation: {}, sampling: {} };
const WAIT_MS = 120_000;
const CALLS = [['memory', 'read_graph'], ['everything', 'echo', { message: 'hi' }], ['files', 'list_allowed_directories']];

const npx = (spec, ...args) => ({ command: 'npx', args: ['-y', spec, ...args] });

describe('one copy of each server', () => {
  const scope = suiteScope();
  const home = tempDir(scope);
  const env = { HOME: home, XDG_STATE_HOME: undefined };
  let impossible;

  before(async () => {
    for (const spec of PACKAGES) {
      const options = { env: { PATH: process.env.PATH, HOME: home }, timeoutMs: WAIT_MS };
      const { status, stderr } = await run('npx', ['-y', '-p', spec, '--', 'node', '--version'], options);
      if (status !== 0) impossible = `npx cannot install ${spec}: ${stderr.trim().split('\n').at(-1)}`;
    }
  }, { timeout: 3 * WAIT_MS });

  /** A gateway before four servers. Those of one `state` know what the one before them kept. */
  async function start(t, state, transport) {
    if (impossible) {
      t.skip(impossible);
      return undefined;
    }
    const [memory, everything, filesystem] = PACKAGES;
    const servers = {
      memory: { ...npx(memory), env: { MEMORY_FILE_PATH: `${home}/memory.json` } },
      notes: { ...npx(memory), env: { MEMORY_FILE_PATH: `${home}/notes.json` } },
      everything: npx(everything),
      files: npx(filesystem, home),
    };
    for (const entry of Object.values(servers)) entry.startTimeout = WAIT_MS;
    const config = { timeouts: { start_wait: 120 } };
    return startGateway(t, { servers, config, transport, env: { ...env, XDG_STATE_HOME: state }, args: ['--mode', 'gateway'] });
  }

  const processes = (gateway) => descendants(gateway.pid).map(({ pid, command }) => `${pid} ${command}`).sort();
  /** How many times each server's own program runs, whatever started it. */
  const copies = (gateway) => descendants(gateway.pid).filter(({ command }) => /^node \S*mcp-server-/.test(command)).length;
  const ready = (gateway) => until(() => gateway.log.match(/: ready in /g)?.length >= 4, () => `the servers:\n${gateway.log}`, WAIT_MS);

  /** A client that connects, lists and looks around. */
  async function visit(t, gateway, transport) {
    const client = transport === 'stdio' ? new StdioClient(gateway, { capabilities: CAPABILITIES })
      : new HttpClient(gateway.url, { capabilities: CAPABILITIES });
    client.handlers.set('roots/list', () => ({ roots: [{ uri: `file://${home}` }] }));
    if (transport !== 'stdio') onEnd(t, () => client.close());
    await client.connect();
    await client.tools();
    for (const args of [{ path: '/' }, { query: 'read a graph of notes' }]) await client.call('tool_browse', args);
    return client;
  }

  async function callThree(client) {
    for (const [server, tool, args] of CALLS) {
      const result = await execute(client, server, tool, args);
      assert.ok(!result.isError, JSON.stringify(result));
    }
  }

  test('HTTP: a client that looks starts nothing; the only one that calls, nothing more', { timeout: 3 * WAIT_MS }, async (t) => {
    const state = tempDir(t);
    for (const first of [true, false]) {
      const gateway = await start(t, state, 'http');
      if (!gateway) return;
      await ready(gateway);
      assert.equal(copies(gateway), 4);
      const alone = processes(gateway);

      const client = await visit(t, gateway, 'http');
      assert.deepEqual(processes(gateway), alone, 'nothing was started, nothing ended');

      await execute(client, 'notes', 'read_graph');
      // At another start the servers were told the capabilities of this client: it takes the process over as it is.
      if (!first) assert.deepEqual(processes(gateway), alone);
      await callThree(client);
      await until(() => processes(gateway).length === alone.length, () => processes(gateway).join('\n'));
      assert.equal(copies(gateway), 4);
      if (!first) continue;

      const other = await visit(t, gateway, 'http');
      assert.equal(processes(gateway).length, alone.length);
      await callThree(other);
      assert.equal(copies(gateway), 4 + 3);
      await other.close();
      await until(() => processes(gateway).length === alone.length, () => processes(gateway).join('\n'));
      await gateway.stop();
    }
  });

  test('stdio: every server runs once, at the first start and at another', { timeout: 3 * WAIT_MS }, async (t) => {
    const state = tempDir(t);
    for (let round = 0; round < 2; round++) {
      const gateway = await start(t, state, 'stdio');
      if (!gateway) return;
      const client = await visit(t, gateway, 'stdio');
      await ready(gateway);
      assert.equal(copies(gateway), 4);
      const before = processes(gateway);
      await callThree(client);
      assert.deepEqual(processes(gateway), before);
      await gateway.stop();
    }
  });
});
