// SPDX-License-Identifier: Apache-2.0
// Agents as npm installs them work through Toolgate against a scripted model; the tests assert what reached the model.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { askAgent, skipWithout } from './lib/agents.mjs';
import { stdioGateway } from './lib/gateway.mjs';
import { THREE } from './lib/meta.mjs';
import { startModel, toolOf } from './lib/model.mjs';
import { tempDir } from './lib/process.mjs';
import { filesystem } from './lib/servers.mjs';

/** How an agent reaches Toolgate, by transport. */
const ENTRY = {
  stdio: async (t, options) => {
    const { command, args, env } = stdioGateway(t, { mode: 'gateway', ...options });
    const { XDG_STATE_HOME, ASAN_OPTIONS, UBSAN_OPTIONS } = env;
    return { command, args, env: { XDG_STATE_HOME, ASAN_OPTIONS, UBSAN_OPTIONS } };
  },
};

describe('an agent whose model is asked while a server is still starting', () => {
  const installing = { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'] };
  for (const agent of ['Claude Code', 'Codex']) {
    test(`${agent} has the meta-tools in its first request`, async (t) => {
      if (await skipWithout(t, agent)) return;
      const folder = tempDir(t);
      const model = await startModel(t, [{ text: 'FINISHED' }]);
      const entry = await ENTRY.stdio(t, { servers: { files: filesystem(folder), installing } });
      const { status, stderr } = await askAgent(agent, { home: tempDir(t), cwd: folder, entry, model });
      assert.equal(status, 0, stderr);
      assert.deepEqual(THREE.filter((name) => !toolOf(model.turns[0], name)), []);
    });
  }
});
