// SPDX-License-Identifier: Apache-2.0
// The upstream servers of the tests, as entries of a .mcp.json; those that speak HTTP are started here.
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { onEnd, Program } from './process.mjs';

const require = createRequire(import.meta.url);
const here = name => fileURLToPath(new URL(name, import.meta.url));

/** The file of an installed package, wherever it is. */
export function packageFile(name, file) {
  const base = require.resolve.paths(name).map(p => path.join(p, name)).find(p => require('node:fs').existsSync(p));
  return path.join(base, file);
}

const node = (script, ...args) => ({ command: process.execPath, args: [script, ...args] });
const official = (name, ...args) => node(packageFile(`@modelcontextprotocol/${name}`, 'dist/index.js'), ...args);

export const everything = () => official('server-everything', 'stdio');
export const filesystem = dir => official('server-filesystem', dir);
export const memory = file => ({ ...official('server-memory'), env: { MEMORY_FILE_PATH: file } });

const FIXTURE = here('../../fixture-everything/server.mjs');
export const fixture = (...args) => node(FIXTURE, '--stdio', ...args);

/** A server to watch: tools that wait, and tell how they ended. `--modern`: one of 2026-07-28. */
export const watcher = (...args) => node(here('watcher-server.mjs'), ...args);

/** Starts the fixture server on HTTP and gives `{ url, program }`; it is ended with the test `t`. */
export async function startFixture(t, ...args) {
  const program = new Program(process.execPath, [FIXTURE, '--port', '0', ...args]);
  onEnd(t, () => program.stop());
  const [, port] = await program.says(/listening on port (\d+)/);
  return { url: `http://localhost:${port}/mcp`, program };
}
