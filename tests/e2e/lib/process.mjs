// SPDX-License-Identifier: Apache-2.0
// Child processes of a test: started, awaited by what they say, ended, and searched for what they leave behind.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

const START_TIMEOUT_MS = 20_000;
const STOP_TIMEOUT_MS = 10_000;

const endings = new WeakMap();

/**
 * Has `action` done when the test `t` ends: the last one registered first, and each even when another one fails.
 * (node's own after hooks run first to last, so a folder would go before the program that works in it.)
 * `t` is a test's context, or what suiteScope() gives.
 */
export function onEnd(t, action) {
  if (!endings.has(t)) {
    const actions = [];
    endings.set(t, actions);
    t.after(() => runAll(actions));
  }
  endings.get(t).push(action);
}

/** What stands for `t` in a whole suite; called in the body of describe(), not in a hook, which would end first. */
export function suiteScope() {
  const scope = { after };
  onEnd(scope, () => {});
  return scope;
}

async function runAll(actions) {
  const errors = [];
  for (const action of actions.reverse()) await Promise.resolve().then(action).catch(e => errors.push(e));
  if (errors.length) throw errors[0];
}

/** A folder that is removed when the test `t` ends. A gateway that the test has stopped may still write for a moment. */
export function tempDir(t) {
  const dir = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'toolgate-e2e-'));
  onEnd(t, () => fs.rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  return dir;
}

export function writeJson(file, value) {
  fs.writeFileSync(file, JSON.stringify(value, null, 2));
  return file;
}

/** Waits until `probe()` gives something true and gives that; fails with `what` after `timeoutMs`. */
export async function until(probe, what, timeoutMs = START_TIMEOUT_MS) {
  for (const end = Date.now() + timeoutMs; ; await delay(10)) {
    const found = await probe();
    if (found) return found;
    if (Date.now() > end) assert.fail(`timed out after ${timeoutMs} ms: ${typeof what === 'function' ? what() : what}`);
  }
}

/** `{ ppid, born }` of a process, or undefined when it is gone or a zombie; `born` tells a recycled id from the old. */
function inspect(pid) {
  try {
    const fields = fs.readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/^.*\) /s, '').split(' ');
    return fields[0] === 'Z' ? undefined : { ppid: Number(fields[1]), born: fields[19] };
  } catch {
    return undefined;
  }
}

/** All living descendants of `pid`, as `{ pid, born, command }`. */
export function descendants(pid) {
  const all = fs.readdirSync('/proc').filter(n => /^\d+$/.test(n))
    .map(n => ({ pid: Number(n), ...inspect(n) })).filter(p => p.born);
  const found = [];
  for (let level = [pid]; level.length; ) {
    const next = all.filter(p => level.includes(p.ppid));
    found.push(...next);
    level = next.map(p => p.pid);
  }
  return found.map(p => ({ ...p, command: commandOf(p.pid) }));
}

/** The pid of the process that starts the servers of a gateway. */
export function guardOf(gateway) {
  return descendants(gateway).find(({ pid }) => fs.readFileSync(`/proc/${pid}/comm`, 'utf8') === 'tg-guard\n').pid;
}

function commandOf(pid) {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return '?';
  }
}

const alive = p => inspect(p.pid)?.born === p.born;

/** Fails when one of `processes` still runs after `timeoutMs`; what is left is killed first. */
export async function assertGone(processes, timeoutMs = STOP_TIMEOUT_MS) {
  for (const end = Date.now() + timeoutMs; processes.some(alive) && Date.now() < end; ) await delay(20);
  const left = processes.filter(alive);
  for (const p of left) process.kill(p.pid, 'SIGKILL');
  assert.deepEqual(left.map(p => `${p.pid} ${p.command}`), [], 'processes left behind');
}

/** A running program. Its standard error is collected; standard input and output are the caller's when `stdio` is. */
export class Program {
  stderr = '';
  stdout = '';

  constructor(command, args, { env = process.env, cwd, stdio = false, uid } = {}) {
    this.name = path.basename(command);
    this.child = spawn(command, args, { env, cwd, uid, gid: uid, stdio: [stdio ? 'pipe' : 'ignore', 'pipe', 'pipe'] });
    this.child.stderr.setEncoding('utf8').on('data', text => { this.stderr += text; });
    if (!stdio) this.child.stdout.setEncoding('utf8').on('data', text => { this.stdout += text; });
    this.exited = new Promise((resolve, reject) => {
      this.child.on('error', reject);
      this.child.on('close', (code, signal) => resolve(signal ?? code));
    });
    this.exited.catch(() => {});
    this.exited.then(status => { this.status = status; }, error => { this.status = error.message; });
  }

  get pid() { return this.child.pid; }

  /** The match of `pattern` in what the program wrote on standard error, as soon as it is there. */
  async says(pattern, timeoutMs = START_TIMEOUT_MS) {
    const look = () => {
      const found = pattern.exec(this.stderr);
      if (!found && this.status !== undefined) assert.fail(`${this.name} ended (${this.status}):\n${this.stderr}`);
      return found;
    };
    return until(look, () => `${this.name} did not say ${pattern}; it said:\n${this.stderr}`, timeoutMs);
  }

  /** Sends `signal` (unless it ended already) and gives the exit code or signal; kills it when it takes too long. */
  async stop(signal = 'SIGTERM', timeoutMs = STOP_TIMEOUT_MS) {
    const family = this.status === undefined ? descendants(this.pid) : [];
    if (this.status === undefined) this.child.kill(signal);
    const timer = setTimeout(() => this.child.kill('SIGKILL'), timeoutMs);
    const status = await this.exited.finally(() => clearTimeout(timer));
    await assertGone(family);
    return status;
  }
}

/** Runs a program to its end: `{ status, stdout, stderr }`. A program that takes longer than `timeoutMs` is killed. */
export async function run(command, args, { timeoutMs = 60_000, ...options } = {}) {
  const program = new Program(command, args, options);
  const timer = setTimeout(() => program.child.kill('SIGKILL'), timeoutMs);
  const status = await program.exited.finally(() => clearTimeout(timer));
  return { status, stdout: program.stdout, stderr: program.stderr };
}
