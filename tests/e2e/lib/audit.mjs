// SPDX-License-Identifier: Apache-2.0
// The audit log of a gateway, as its operator reads it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { runToolgate } from './gateway.mjs';
import { startMeta } from './meta.mjs';
import { tempDir, until } from './process.mjs';

/** The keys that every line has, in their order. */
export const KEYS = ['timestamp', 'agent_id', 'operation', 'server', 'tool', 'decision', 'latency_ms', 'rule', 'code',
  'mode', 'request_id', 'session', 'principal', 'bytes_in', 'bytes_out', 'tokens_in', 'tokens_out', 'seq', 'prev', 'hash'];

/** The lines of a log that is there: each must be whole, and plain ASCII. */
export function linesOf(file) {
  const text = fs.readFileSync(file, 'utf8');
  assert.match(text, /^([\x20-\x7e]+\n)*$/, 'lines of printable ASCII');
  return text.split('\n').slice(0, -1).map((line) => JSON.parse(line));
}

/** What a line says in short: `operation decision code`. */
export const brief = ({ operation, decision, code }) => [operation, decision, code].filter(Boolean).join(' ');

/**
 * A gateway with an audit log: `{ gateway, file, finish }`. `finish()` stops it and gives all of its lines; what is in
 * `audit` is besides its file.
 */
export async function startAudited(t, { audit = {}, config = {}, file = path.join(tempDir(t), 'audit.jsonl'), ...rest }) {
  const gateway = await startMeta(t, { ...rest, config: { ...config, audit: { file, ...audit } } });
  const finish = async () => {
    await gateway.stop();
    return linesOf(file);
  };
  return { gateway, file, finish };
}

/** The lines as soon as there are so many of them. */
export function written(file, count) {
  const read = () => fs.existsSync(file) ? linesOf(file) : [];
  return until(() => read().length >= count && read(), () => `${count} lines; there are ${read().length}`);
}

/** What `toolgate audit verify` says: its status, its findings, its verdict. */
export async function verify(file, ...args) {
  const { status, stdout, stderr } = await runToolgate(['audit', 'verify', file, '--json', ...args]);
  const told = stdout.trim().split('\n').filter(Boolean).map((line) => JSON.parse(line));
  return { status, stderr, findings: told.slice(0, -1), verdict: told.at(-1) };
}

export async function assertWhole(file, lines, ...args) {
  const { status, findings, verdict, stderr } = await verify(file, ...args);
  assert.deepEqual(findings, [], stderr);
  assert.equal(status, 0);
  if (lines !== undefined) assert.equal(verdict.last, lines);
  return verdict;
}
