// SPDX-License-Identifier: Apache-2.0
// A governed server whose effects can be counted (servers/effects.mjs), and gateways in front of it, with one state
// folder.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { runToolgate } from './gateway.mjs';
import { startMeta } from './meta.mjs';
import { onEnd, Program, tempDir, writeJson } from './process.mjs';
import { HttpCaller } from './stateless.mjs';

const SERVER = fileURLToPath(new URL('../servers/effects.mjs', import.meta.url));
export const KEY = 'io.toolgate/idempotency_key';

export const governance = ({ write = {}, ...more } = {}) => ({
  adapters: [{
    adapter_id: 'adp_store', type: 'MCP', server: 'store', capabilities: [
      { name: 'find', class: 'observe', approval_mode: 'read_only' },
      { name: 'write', class: 'act', approval_mode: 'local_write', ...write },
    ],
  }],
  permissions: ['find', 'write'].map((capability) => ({ permission_id: capability, adapter_id: 'adp_store', capability, allow: true })),
  ...more,
});

/** Starts the server, on the same port again if it was started before. */
class EffectsServer {
  port = 0;

  constructor(t, file) {
    this.file = file;
    onEnd(t, () => this.kill());
  }

  async start() {
    this.program = new Program(process.execPath, [SERVER, String(this.port), this.file]);
    const [, port] = await this.program.says(/effects on port (\d+)/);
    this.port = Number(port);
  }

  async kill() {
    if (this.program?.status === undefined) this.program?.child.kill('SIGKILL');
    await this.program?.exited;
  }

  /** The effects so far: the id of each. */
  effects() {
    return fs.existsSync(this.file) ? fs.readFileSync(this.file, 'utf8').split('\n').filter(Boolean) : [];
  }
}

/** The server, gateways, callers and `toolgate` in one folder. */
export async function world(t, { rules = governance(), config = {} } = {}) {
  const dir = tempDir(t), state = path.join(dir, 'state');
  const server = new EffectsServer(t, path.join(dir, 'effects'));
  await server.start();
  const w = { dir, state, server };
  w.govern = (file) => writeJson(path.join(dir, 'governance.json'), file);
  const all = { state_dir: state, governance: w.govern(rules), audit: { enabled: true }, ...config };
  writeJson(path.join(dir, 'toolgate.yaml'), all);  // for the commands
  writeJson(path.join(dir, '.mcp.json'), { mcpServers: { store: { url: `http://127.0.0.1:${server.port}/mcp` } } });
  w.start = async (options = {}) => {
    const gateway = await startMeta(t, {
      mode: 'direct', config: all, servers: { store: { url: `http://127.0.0.1:${server.port}/mcp` } }, ...options,
    });
    const caller = new HttpCaller(gateway.url);
    onEnd(t, () => caller.close());
    return { gateway, caller };
  };
  w.cli = (...args) => runToolgate(args, { cwd: dir });
  w.letters = async () => {
    const { status, stdout, stderr } = await w.cli('dead-letters', 'list', '--json');
    assert.equal(status, 0, stderr);
    return JSON.parse(stdout);
  };
  return w;
}

/** Calls `write`; gives the whole answer. */
export const write = (caller, key, args, meta = {}) =>
  caller.call('write', args, {}, { meta: { more: { ...(key && { [KEY]: key }), ...meta } } });

/** The text of a result. */
export function said({ result, error }) {
  assert.ok(result, JSON.stringify(error));
  assert.ok(!result.isError, JSON.stringify(result));
  return result.content[0].text;
}

/** The fault of an answer, with its code. */
export function refused({ result, error }, code) {
  assert.equal(error?.data?.error, code, JSON.stringify(result ?? error));
  return error.data;
}

export const isReplayed = ({ result }) => Boolean(result?._meta?.['toolgate/provenance']?.replayed);
