// SPDX-License-Identifier: Apache-2.0
// Toolgate under test. $TOOLGATE names the program; tests/run.py sets it to that of the build it tests.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { onEnd, Program, run, tempDir, writeJson } from './process.mjs';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

const SANITIZER_REPORT = /ERROR: \w+Sanitizer|WARNING: \w+Sanitizer|runtime error:|SUMMARY: \w+Sanitizer/;

export function toolgate() {
  const candidates = [process.env.TOOLGATE, path.join(ROOT, 'build-asan/toolgate'), path.join(ROOT, 'build/toolgate')];
  const found = candidates.find(c => c && fs.existsSync(c));
  assert.ok(found, 'no Toolgate to test: set TOOLGATE or run make');
  return found;
}

let states = 0;
let own;

/** A folder for what a gateway keeps, which no other has. */
function freshState(dir) {
  return path.join(dir, `state-${++states}`);
}

/** A folder that is removed with this process. */
function ownDir() {
  if (own) return own;
  own = fs.mkdtempSync(path.join(os.tmpdir(), 'toolgate-state-'));
  process.on('exit', () => fs.rmSync(own, { recursive: true, force: true }));
  return own;
}

/** The environment of a gateway: a sanitizer's finding is an exit code of its own and a report. */
export function gatewayEnv(extra = {}) {
  return {
    ...process.env,
    XDG_STATE_HOME: freshState(ownDir()),
    ASAN_OPTIONS: 'abort_on_error=0:exitcode=99',
    UBSAN_OPTIONS: 'halt_on_error=1:print_stacktrace=1',
    ...extra,
  };
}

/** Fails when a sanitizer reported something on standard error. */
export function assertNoReport(stderr) {
  assert.ok(!SANITIZER_REPORT.test(stderr), `a sanitizer reported:\n${stderr}`);
}

/** What lets servers take their time to start where much else runs. */
export const PATIENT = { timeouts: { start_wait: 60, list_wait: 60 } };

/** The arguments of `toolgate serve`; `servers` (the mcpServers of a .mcp.json) and `config` are written into `dir`. */
function serveArgs(dir, { servers, config, mode = 'direct', args = [] }) {
  const file = writeJson(path.join(dir, '.mcp.json'), { mcpServers: servers });
  // It is found in the folder that the gateway runs in: the Inspector takes a --config of its own.
  if (config) writeJson(path.join(dir, 'toolgate.json'), config);
  return ['serve', '--mcp-config', file, '--mode', mode, ...args];
}

/**
 * Starts a gateway on HTTP and gives `{ url, program, stop }` once it listens. It is stopped when the test `t` ends,
 * or before by `stop()`; either way it must exit with 0, without a sanitizer's report and without a child left.
 */
export async function startGateway(t, { servers, config, mode, args = [], env, dir = tempDir(t) }) {
  const program = new Program(toolgate(),
    serveArgs(dir, { servers, config, mode, args: ['--transport', 'http', '--listen', '127.0.0.1:0', ...args] }),
    { env: gatewayEnv({ XDG_STATE_HOME: freshState(dir), ...env }), cwd: dir });
  let stopping;
  const stop = () => stopping ??= stopGateway(program);
  onEnd(t, stop);
  const [, origin] = await program.says(/listening on (http:\/\/\S+:\d+)/);
  return { url: `${origin}/mcp`, program, stop };
}

async function stopGateway(program) {
  const status = await program.stop();
  assertNoReport(program.stderr);
  assert.equal(status, 0, `exit status of the gateway; it said:\n${program.stderr}`);
}

/**
 * How a client starts a gateway on stdio: `{ command, args, env, cwd, check }`. Since the client owns the process, a
 * sanitizer is told to write into files, and `check()`, run when the test `t` ends, fails when there is one.
 */
export function stdioGateway(t, { servers, config, mode, args = [], env, dir = tempDir(t) }) {
  const report = path.join(dir, 'sanitizer');
  const log = `log_path=${report}`;
  const check = () => {
    for (const f of fs.readdirSync(dir).filter(n => n.startsWith('sanitizer.')))
      assert.fail(`a sanitizer reported:\n${fs.readFileSync(path.join(dir, f), 'utf8')}`);
  };
  onEnd(t, check);
  const base = gatewayEnv({ XDG_STATE_HOME: freshState(dir), ...env });
  return {
    command: toolgate(),
    args: serveArgs(dir, { servers, config, mode, args }),
    env: { ...base, ASAN_OPTIONS: `${base.ASAN_OPTIONS}:${log}`, UBSAN_OPTIONS: `${base.UBSAN_OPTIONS}:${log}` },
    cwd: dir,
    check,
  };
}

/** Runs a command of Toolgate to its end: `{ status, stdout, stderr }`. */
export async function runToolgate(args, { env, ...options } = {}) {
  const result = await run(toolgate(), args, { env: gatewayEnv(env), ...options });
  assertNoReport(result.stderr);
  return result;
}
