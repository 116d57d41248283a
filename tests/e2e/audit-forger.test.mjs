// SPDX-License-Identifier: Apache-2.0
// Given a log with a key, when somebody who can write its files but does not have the key edits them, then
// `audit verify --key` finds it, and the next gateway signs nothing of it: it sets the log aside as it is.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { assertWhole, linesOf, startAudited, verify, written } from './lib/audit.mjs';
import { runToolgate } from './lib/gateway.mjs';
import { open } from './lib/meta.mjs';
import { tempDir, until } from './lib/process.mjs';
import { github, LIST } from './servers/golden-shop.mjs';

const LINES = 5;

/** A folder with a key and a place for a log. */
function place(t) {
  const dir = tempDir(t), key = path.join(dir, 'audit.key'), file = path.join(dir, 'audit.jsonl');
  fs.writeFileSync(key, `${crypto.randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  return { dir, key, file, head: `${file}.head`, aside: `${file}.unverified-1` };
}

/** A gateway that writes there; `call()` is one line. */
async function start(t, { file, key }, audit = {}) {
  const world = await startAudited(t, { servers: { github: await github('stdio') }, file, audit: { key_file: key, ...audit } });
  const client = await open(t, world.gateway);
  return { ...world, call: () => client.call('tool_execute', { tool_id: LIST, args: { repo: 'a' } }) };
}

/** A log of LINES lines whose gateway has ended. */
async function log(t, at = place(t)) {
  const { call, finish } = await start(t, at);
  for (let i = 0; i < LINES; i++) await call();
  assert.equal((await finish()).length, LINES);
  await assertWhole(at.file, LINES, '--key', at.key);
  return at;
}

const textOf = (file) => fs.readFileSync(file, 'utf8').split('\n').slice(0, -1);
const write = (file, lines) => fs.writeFileSync(file, lines.map((line) => `${line}\n`).join(''));
const sha256 = (text) => crypto.createHash('sha256').update(text).digest('hex');

/** The line with another text and a hash that fits; `mac` as it was, of another key, or none. */
function forge(line, change, mac) {
  const body = change(line.replace(/,"hash":.*/, ''));
  const hash = sha256(body), own = /"mac":"([0-9a-f]{64})"/.exec(line)?.[1];
  const macs = { kept: own, guessed: crypto.createHmac('sha256', 'not the key').update(hash).digest('hex') };
  return `${body},"hash":"${hash}"${macs[mac] ? `,"mac":"${macs[mac]}"` : ''}}`;
}
const hashOf = (line) => JSON.parse(line).hash;

/** A line that follows the last. */
function following(lines, mac) {
  const last = JSON.parse(lines.at(-1));
  return forge(lines.at(-1), (body) => body.replace(/"agent_id":[^,]*/, '"agent_id":"innocent"')
    .replace(/,"seq":.*/, `,"seq":${last.seq + 1},"prev":"${last.hash}"`), mac);
}

/** The whole chain from line `from` on written anew, each line with a hash that fits. */
function rewrite(lines, from, mac) {
  const out = lines.slice(0, from);
  for (const line of lines.slice(from))
    out.push(forge(line, (body) => body.replace(/"tool":[^,]*/, '"tool":"harmless"')
      .replace(/"prev":"[0-9a-f]*"/, `"prev":"${out.length ? hashOf(out.at(-1)) : '0'.repeat(64)}"`), mac));
  return out;
}

function writeHead(at, change, mac) {
  const { mac: own, ...rest } = JSON.parse(fs.readFileSync(at.head, 'utf8'));
  const changed = { ...rest, ...change };
  const claim = JSON.stringify(changed).slice(0, -1);
  const guessed = crypto.createHmac('sha256', 'not the key').update(claim).digest('hex');
  fs.writeFileSync(at.head, `${JSON.stringify({ ...changed, ...{ none: {}, kept: { mac: own }, guessed: { mac: guessed } }[mac] })}\n`);
}

const editLines = (edit) => (at) => write(at.file, edit(textOf(at.file)));

// What can be done without the key; whether the next gateway can tell (it looks at the end only) is the second part.
const forgeries = {
  'appends a line without a mac': [editLines((l) => [...l, following(l)]), true],
  'appends a line with the mac of another': [editLines((l) => [...l, following(l, 'kept')]), true],
  'appends a line with a mac of another key': [editLines((l) => [...l, following(l, 'guessed')]), true],
  'appends a line and a head that names it': [(at) => {
    const lines = textOf(at.file), more = following(lines, 'guessed');
    write(at.file, [...lines, more]);
    writeHead(at, { seq: LINES + 1, hash: hashOf(more) }, 'guessed');
  }, true],
  'appends a copy of a line': [editLines((l) => [...l, l[1]]), true],
  'appends what is no line': [(at) => fs.appendFileSync(at.file, '{"agent_id":"root"}\n'), true],
  'appends bytes that are not text': [(at) => fs.appendFileSync(at.file, Buffer.from([0, 255, 10, 27, 10])), true],
  'removes the last line': [editLines((l) => l.slice(0, -1)), true],
  'removes the last lines and lowers the head': [(at) => {
    const lines = textOf(at.file).slice(0, 2);
    write(at.file, lines);
    writeHead(at, { seq: 2, hash: hashOf(lines[1]) }, 'kept');
  }, true],
  'removes the last lines and takes the signature off the head': [(at) => {
    const lines = textOf(at.file).slice(0, 2);
    write(at.file, lines);
    writeHead(at, { seq: 2, hash: hashOf(lines[1]) }, 'none');
  }, true],
  'cuts the last line in the middle': [(at) => fs.truncateSync(at.file, fs.statSync(at.file).size - 40), true],
  'alters the last line': [editLines((l) => l.with(-1, l.at(-1).replace('ALLOW', 'DENY!'))), true],
  'alters the last line with a hash that fits': [editLines((l) => rewrite(l, LINES - 1, 'kept')), true],
  'writes the whole chain anew': [editLines((l) => rewrite(l, 0, 'guessed')), true],
  'writes the whole chain and its head anew, as if there were no key': [(at) => {
    const lines = rewrite(textOf(at.file), 0);
    write(at.file, lines);
    writeHead(at, { hash: hashOf(lines.at(-1)) }, 'none');
  }, true],
  'empties the file': [(at) => fs.truncateSync(at.file, 0), false],
  'removes the head': [(at) => fs.unlinkSync(at.head), true],
  'puts a folder in place of the head': [(at) => {
    fs.unlinkSync(at.head);
    fs.mkdirSync(at.head);
  }, true],
  'alters a line in the middle': [editLines((l) => l.with(2, l[2].replace('ALLOW', 'DENY!'))), false],
  'alters a line in the middle with a hash that fits': [editLines((l) => l.with(2, forge(l[2], (b) => b.replace('ALLOW', 'DENY'), 'kept'))), false],
  'removes a line in the middle': [editLines((l) => l.toSpliced(2, 1)), false],
  'removes the first line': [editLines((l) => l.slice(1)), false],
  'swaps two lines': [editLines((l) => l.with(1, l[2]).with(2, l[1])), false],
};

describe('forgeries of a program without the key are found', () => {
  for (const [what, [tamper, ends]] of Object.entries(forgeries))
    test(what, async (t) => {
      const at = await log(t);
      tamper(at);
      const { status, findings } = await verify(at.file, '--key', at.key);
      assert.equal(status, 1, 'it is found');
      assert.ok(findings.length);
      const before = fs.readFileSync(at.file);
      const { gateway, call, finish } = await start(t, at);
      await call();
      const lines = await finish();
      if (!ends) {
        assert.equal((await verify(at.file, '--key', at.key)).status, 1, 'it stays found');
        return;
      }
      assert.deepEqual(fs.readFileSync(at.aside), before, 'the log is there, untouched');
      assert.equal((await verify(at.aside, '--key', at.key)).status, 1);
      assert.match(gateway.log, /cannot be verified: .* audit\.jsonl\.unverified-1/);
      const [{ operation, decision, code, target, reason, seq }] = lines;
      assert.deepEqual([operation, decision, code, target, seq], ['audit_break', 'ERROR', 'AUDIT_UNVERIFIED', at.aside, 1]);
      assert.ok(reason);
      const verdict = await assertWhole(at.file, 2, '--key', at.key);
      assert.deepEqual([verdict.breaks, verdict.checked], [1, 'key']);
    });
});

test('a crash between writing lines and the head is not a finding, because the lines have MACs', async (t) => {
  const at = await log(t);
  const head = fs.readFileSync(at.head);
  const more = await start(t, at);
  await more.call();
  await more.finish();
  fs.writeFileSync(at.head, head);
  assert.equal((await assertWhole(at.file, LINES + 1, '--key', at.key)).behind, 1);
  const { status, findings } = await verify(at.file);
  assert.deepEqual([status, findings.map((f) => f.finding)], [1, ['unsigned']], 'without the key nobody knows');
  const next = await start(t, at);
  await next.call();
  await next.finish();
  await assertWhole(at.file, LINES + 2, '--key', at.key);
  assert.ok(!fs.existsSync(at.aside));
});

test('a gateway that is killed under load leaves a log that the key vouches for', async (t) => {
  const at = place(t), { gateway, call } = await start(t, at);
  let going = true;
  const load = Promise.all(Array.from({ length: 4 }, async () => {
    while (going) await call().catch(() => { going = false; });
  }));
  await written(at.file, 50);
  await gateway.kill();
  going = false;
  await load;
  const { last } = await assertWhole(at.file, undefined, '--key', at.key);
  const next = await start(t, at);
  await next.call();
  await next.finish();
  await assertWhole(at.file, last + 1, '--key', at.key);
});

test('a log that is replaced by an older one while a gateway runs is set aside, and the gateway goes on', async (t) => {
  const at = place(t), { call, gateway, finish } = await start(t, at);
  const seq = () => JSON.parse(fs.readFileSync(at.head, 'utf8')).seq;
  await call();
  await until(() => seq() === 1, 'the first line');
  const [file, head] = [fs.readFileSync(at.file), fs.readFileSync(at.head)];
  await call();
  await until(() => seq() === 2, 'the second line');
  fs.writeFileSync(at.head, head);
  fs.writeFileSync(at.file, file);
  await call();
  await until(() => /is renamed to/.test(gateway.log), 'a word about it');
  const metrics = await (await fetch(new URL('/metrics', gateway.url))).text();
  assert.match(metrics, /^toolgate_audit_breaks_total 1$/m);
  await finish();
  assert.equal(linesOf(at.file)[0].operation, 'audit_break');
  await assertWhole(at.file, 2, '--key', at.key);
});

test('a log with another key is set aside, and each log is intact with its own key', async (t) => {
  const at = await log(t);
  const other = path.join(at.dir, 'other.key');
  fs.writeFileSync(other, 'another secret of some length\n', { mode: 0o600 });
  const { call, finish } = await start(t, { ...at, key: other });
  await call();
  await finish();
  await assertWhole(at.aside, LINES, '--key', at.key);
  await assertWhole(at.file, 2, '--key', other);
  assert.equal((await verify(at.file, '--key', at.key)).status, 1);
});

test('a log that cannot be set aside is not written to', { skip: process.getuid() === 0 && 'root may write everywhere' }, async (t) => {
  const at = await log(t);
  fs.appendFileSync(at.file, 'x\n');
  fs.chmodSync(at.dir, 0o500);
  const before = fs.readFileSync(at.file);
  const config = path.join(tempDir(t), 'toolgate.json');
  fs.writeFileSync(config, JSON.stringify({ servers: {}, transport: 'http', port: 0,
    audit: { file: at.file, key_file: at.key, on_failure: 'deny' } }));
  const { status, stderr } = await runToolgate(['serve', '--config', config]);
  fs.chmodSync(at.dir, 0o700);
  assert.equal(status, 3);
  assert.match(stderr, /cannot be set aside/);
  assert.deepEqual(fs.readFileSync(at.file), before);
});

test('verify says what it has proved', async (t) => {
  const at = await log(t);
  assert.match((await runToolgate(['audit', 'verify', at.file])).stdout, /^ok: 5 lines.*\nonly hashes were checked/);
  assert.equal((await verify(at.file)).verdict.checked, 'hashes');
  assert.doesNotMatch((await runToolgate(['audit', 'verify', at.file, '--key', at.key])).stdout, /only hashes/);
});
