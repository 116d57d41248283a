// SPDX-License-Identifier: Apache-2.0
// The files of the audit log: the chain and who tampers with it, rotation, several gateways, and what happens when it
// cannot be written.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import crypto from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { assertWhole, brief, linesOf, startAudited, verify, written } from './lib/audit.mjs';
import { runToolgate } from './lib/gateway.mjs';
import { faultOf, open } from './lib/meta.mjs';
import { tempDir, until } from './lib/process.mjs';
import { github, LIST } from './servers/golden-shop.mjs';

/** A gateway with an audit log before a tracker; `call()` calls a tool that lists. */
async function start(t, options = {}) {
  const up = await github('stdio');
  const world = await startAudited(t, { servers: { github: up }, ...options });
  const client = await open(t, world.gateway);
  const call = (repo = 'a') => client.call('tool_execute', { tool_id: LIST, args: { repo } });
  return { ...world, up, client, call };
}

/** A log of so many lines, whose gateway has ended. */
async function log(t, count, options) {
  const { call, finish, file } = await start(t, options);
  for (let i = 0; i < count; i++) await call();
  assert.equal((await finish()).length, count);
  return file;
}

const textOf = (file) => fs.readFileSync(file, 'utf8').split('\n').slice(0, -1);
const headOf = (file) => fs.existsSync(`${file}.head`) ? fs.readFileSync(`${file}.head`, 'utf8') : '';
const write = (file, lines) => fs.writeFileSync(file, lines.map((line) => `${line}\n`).join(''));

describe('tampering is found', () => {
  const found = async (file) => {
    const { status, findings } = await verify(file);
    assert.equal(status, 1);
    return findings.map(({ finding, line }) => `${finding} ${line}`);
  };

  test('an altered, removed, inserted or moved line', async (t) => {
    const file = await log(t, 6);
    const lines = textOf(file);
    const tamper = async (change) => {
      const changed = [...lines];
      change(changed);
      write(file, changed);
      const result = await found(file);
      write(file, lines);
      await assertWhole(file, 6);
      return result;
    };
    assert.deepEqual(await tamper((l) => { l[2] = l[2].replace('ALLOW', 'DENYY'); }), ['altered 3']);
    assert.deepEqual(await tamper((l) => l.splice(2, 1)), ['unlinked 3']);
    assert.deepEqual(await tamper((l) => l.splice(0, 2)), ['shortened 1']);
    assert.deepEqual(await tamper((l) => l.splice(4, 2)), ['shortened 4']);
    assert.deepEqual(await tamper((l) => l.splice(3, 0, l[1])), ['unlinked 4', 'unlinked 5']);
    assert.deepEqual(await tamper((l) => l.splice(3, 0, '{"agent_id":"root"}')), ['malformed 4']);
    assert.deepEqual(await tamper((l) => l.splice(1, 2, l[2], l[1])), ['unlinked 2', 'unlinked 3', 'unlinked 4']);
  });

  test('a line that was written anew with a hash that fits', async (t) => {
    const file = await log(t, 3);
    const lines = textOf(file);
    const body = lines[1].replace('"ALLOW"', '"DENY"').replace(/,"hash":.*/, '');
    const hash = crypto.createHash('sha256').update(body).digest('hex');
    write(file, [lines[0], `${body},"hash":"${hash}"}`, lines[2]]);
    assert.deepEqual(await found(file), ['unlinked 3']);
  });

  test('the head is missed, and a head that is not signed with the key', async (t) => {
    const dir = tempDir(t), key = path.join(dir, 'key'), other = path.join(dir, 'other');
    fs.writeFileSync(key, 'a secret of some length\n');
    fs.writeFileSync(other, 'another secret of some length\n');
    const file = await log(t, 3, { audit: { key_file: key } });
    const head = fs.readFileSync(`${file}.head`, 'utf8');
    await assertWhole(file, 3);
    await assertWhole(file, 3, '--key', key);
    assert.deepEqual((await verify(file, '--key', other)).findings.map((f) => `${f.finding} ${f.line}`),
      ['unsigned 1', 'unsigned 2', 'unsigned 3', 'unsigned 3'], 'every line, and the head');
    // Whoever writes the whole log anew cannot sign its end.
    const { mac, ...rest } = JSON.parse(head);
    assert.match(mac, /^[0-9a-f]{64}$/);
    fs.writeFileSync(`${file}.head`, JSON.stringify({ ...rest, begins: 2 }));
    assert.deepEqual((await verify(file, '--key', key)).findings.map((f) => f.finding), ['unsigned']);
    fs.unlinkSync(`${file}.head`);
    assert.deepEqual(await found(file), ['shortened 3']);
    const short = path.join(dir, 'short');
    fs.writeFileSync(short, 'too short');
    const refused = await runToolgate(['audit', 'verify', file, '--key', short]);
    assert.equal(refused.status, 3);
    assert.match(refused.stderr, /fewer than 16 bytes/);
  });

  test('lines that were taken off the end, when the gateway has gone on since', async (t) => {
    const { call, file, finish } = await start(t);
    for (let i = 1; i <= 4; i++) await call();
    await written(file, 4);
    await until(() => headOf(file).includes('"seq":4,'), 'the head');
    write(file, textOf(file).slice(0, 2));
    await call();
    await finish();
    assert.deepEqual(await found(file), ['unlinked 3']);
  });

  test('a last line without its end; what was never finished is none', async (t) => {
    const file = await log(t, 3);
    const head = headOf(file), text = fs.readFileSync(file, 'utf8');
    fs.truncateSync(file, text.length - 1);
    assert.deepEqual(await found(file), ['malformed 3']);
    // As if it had been stopped in the middle of the third.
    const { seq, hash } = JSON.parse(text.split('\n')[1]);
    fs.writeFileSync(`${file}.head`, JSON.stringify({ ...JSON.parse(head), seq, hash }));
    const { verdict } = { verdict: await assertWhole(file, 2) };
    assert.equal(verdict.torn, true);
    assert.match((await runToolgate(['audit', 'verify', file])).stdout, /^ok: 2 lines.*\nthe last line is incomplete/);
    const next = await start(t, { file });
    await next.call();
    await next.finish();
    await assertWhole(file, 3);
  });

  test('what is no log, or an empty one without its head', async (t) => {
    for (const file of ['/dev/zero', '/dev/null', tempDir(t)]) {
      const { status, stderr } = await runToolgate(['audit', 'verify', file]);
      assert.equal(status, 3);
      assert.match(stderr, /is not a regular file/);
    }
    const file = path.join(tempDir(t), 'empty');
    fs.writeFileSync(file, '');
    assert.deepEqual(await found(file), ['shortened 0']);
    const unused = await start(t);
    await unused.finish();
    assert.equal((await runToolgate(['audit', 'verify', unused.file])).stdout, 'ok: no lines\n');
  });

  test('for people: what is wrong and where', async (t) => {
    const file = await log(t, 3);
    const whole = await runToolgate(['audit', 'verify', file]);
    assert.equal(whole.stdout, 'ok: 3 lines, from number 1 to 3, in 1 file\n');
    write(file, textOf(file).toSpliced(1, 1));
    const { status, stdout } = await runToolgate(['audit', 'verify', file]);
    assert.equal(status, 1);
    assert.equal(stdout, `${file}:2: 1 lines are missing before this line: number 3 follows number 1\n` +
      'damaged: 1 finding in 2 lines\n');
    assert.equal((await runToolgate(['audit', 'verify', `${file}.gone`])).status, 3);
  });
});

describe('rotation', () => {
  test('by size: the chain goes on, and only so many files are kept', async (t) => {
    const { call, file, finish } = await start(t, { audit: { max_bytes: 4000, keep: 2, keep_days: 0 } });
    for (let i = 1; i <= 40; i++) {
      await call();
      // One at a time: what comes together is written together.
      await until(() => headOf(file).includes(`"seq":${i},`), `line ${i}`);
    }
    await finish();
    const folder = fs.readdirSync(path.dirname(file)).toSorted();
    assert.deepEqual(folder, ['', '.1', '.2', '.head'].map((end) => `audit.jsonl${end}`));
    for (const end of ['', '.1', '.2']) assert.ok(fs.statSync(file + end).size <= 4000, 'none is larger');
    const verdict = await assertWhole(file, 40);
    assert.equal(verdict.files, 3);
    assert.ok(verdict.first > 1);
    fs.unlinkSync(`${file}.2`);
    assert.equal((await verify(file)).status, 1, 'a file that should be there is missed');
  });

  test('by SIGUSR1, and when somebody moves the file away', async (t) => {
    const { gateway, call, file, finish } = await start(t);
    await call();
    await written(file, 1);
    process.kill(gateway.pid, 'SIGUSR1');
    await until(() => fs.existsSync(`${file}.1`), 'the old file');
    await call();
    await written(file, 1);
    fs.renameSync(`${file}.1`, `${file}.2`);
    fs.renameSync(file, `${file}.1`);
    await call();
    await written(file, 1);
    assert.deepEqual((await finish()).map((l) => l.seq), [3]);
    assert.equal((await assertWhole(file, 3)).files, 3);
  });

  test('a signal without a log, or with an empty one, does nothing', async (t) => {
    const { gateway, call, file, finish } = await start(t);
    process.kill(gateway.pid, 'SIGUSR1');
    await call();
    await written(file, 1);
    assert.ok(!fs.existsSync(`${file}.1`));
    assert.equal((await finish()).length, 1);
  });
});

describe('several gateways and crashes', () => {
  test('two gateways write one file, and its chain runs through the lines of both', async (t) => {
    const file = path.join(tempDir(t), 'audit.jsonl');
    const worlds = [await start(t, { file }), await start(t, { file })];
    await Promise.all(worlds.map(async ({ call }) => {
      for (let i = 0; i < 60; i++) await Promise.all([call(), call(), call()]);
    }));
    for (const { finish } of worlds) await finish();
    assert.equal(new Set(linesOf(file).map((l) => l.session)).size, 2);
    assert.equal((await assertWhole(file, 360)).lines, 360);
  });

  test('after a kill in the middle the log is what was written, and the next run goes on behind it', async (t) => {
    const file = path.join(tempDir(t), 'audit.jsonl');
    const { gateway, call } = await start(t, { file });
    let going = true;
    const load = Promise.all(Array.from({ length: 8 }, async () => {
      while (going) await call().catch(() => { going = false; });
    }));
    await written(file, 200);
    await gateway.kill();
    going = false;
    await load;
    const verdict = await assertWhole(file);
    assert.ok(verdict.lines >= 200);
    const next = await start(t, { file });
    await next.call();
    await next.finish();
    await assertWhole(file, verdict.lines + 1);
  });

  test('a line that was torn costs itself alone, and is told', async (t) => {
    const file = await log(t, 3);
    fs.truncateSync(file, fs.statSync(file).size - 100);
    const next = await start(t, { file });
    await next.call();
    await next.gateway.stop();
    const { findings, verdict } = await verify(file);
    // It was finished once, so that the next line misses it.
    assert.deepEqual(findings.map((f) => `${f.finding} ${f.line}`), ['malformed 3', 'unlinked 4']);
    assert.equal(verdict.last, 4);
  });
});

describe('a log that cannot be written', () => {
  const limit = (gateway, bytes) => execFileSync('prlimit', ['--pid', String(gateway.pid), `--fsize=${bytes}:`]);
  const refused = (result) => faultOf(result, 'AUDIT_UNAVAILABLE');
  const hide = (file) => fs.renameSync(path.dirname(file), `${path.dirname(file)}.away`);
  const show = (file) => fs.renameSync(`${path.dirname(file)}.away`, path.dirname(file));
  const inFolder = (t) => {
    const folder = path.join(tempDir(t), 'log');
    fs.mkdirSync(folder);
    return path.join(folder, 'audit.jsonl');
  };

  test('on_failure: deny: nothing is called while its folder is gone, and all goes on when it is back', async (t) => {
    const { up, client, call, file, gateway, finish } = await start(t, {
      file: inFolder(t),
      audit: { on_failure: 'deny', arguments: true },
    });
    await call();
    await written(file, 1);
    hide(file);
    const { retryable, message } = refused(await call());
    assert.equal(retryable, true);
    assert.match(message, /audit log cannot be written/);
    refused(await client.call('tool_browse', { query: 'issue' }));
    assert.equal((await client.request('tools/list', {})).msg.error.data.error, 'AUDIT_UNAVAILABLE');
    assert.equal(up.seen.length, 1, 'the first call is all that was made');
    assert.match(gateway.log, /all requests are refused until the log can be written/);
    show(file);
    await until(async () => !(await call()).isError, 'a call that is made again');
    const lines = await finish();
    assert.equal(lines.filter((l) => l.decision === 'ALLOW').length, up.seen.length, 'one line for each call');
    const refusals = lines.filter((l) => brief(l) === 'tool_execute DENY AUDIT_UNAVAILABLE');
    assert.ok(refusals.length >= 1, 'refusals too');
    assert.ok(lines[0].arguments && !refusals[0].arguments, 'with arguments only if something was done with them');
    assert.match(gateway.log, /can be written again/);
    await assertWhole(file, lines.length);
  });

  /** Keeps the log locked until it is let go. */
  async function keepLocked(file) {
    const holder = spawn('flock', ['-x', file, '-c', 'echo held; read line'], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(holder.stdout, 'data');
    return () => {
      holder.stdin.end('\n');
      return once(holder, 'exit');
    };
  }

  const stand_ins = {
    'a folder in its place': (file) => {
      fs.renameSync(file, `${file}.1`);
      fs.mkdirSync(file);
      return () => fs.rmdirSync(file);
    },
    'a pipe in its place': (file) => {
      fs.renameSync(file, `${file}.1`);
      execFileSync('mkfifo', [file]);
      return () => fs.unlinkSync(file);
    },
    'a folder in place of its head': (file) => {
      fs.unlinkSync(`${file}.head`);
      fs.mkdirSync(`${file}.head`);
      return () => fs.rmdirSync(`${file}.head`);
    },
    'one who keeps it locked': keepLocked,
  };
  for (const [what, put] of Object.entries(stand_ins))
    test(`on_failure: deny: not one call is made with ${what}; it is not ready meanwhile`, async (t) => {
      const { up, call, file, gateway, finish } = await start(t, { audit: { on_failure: 'deny' } });
      const ready = async () => {
        const r = await fetch(new URL('/readyz', gateway.url));
        return { status: r.status, ...await r.json() };
      };
      await call();
      await written(file, 1);
      await until(() => headOf(file).includes('"seq":1,'), 'the head');
      const { audit: none, ...well } = await ready();
      assert.deepEqual([none, well.status], [undefined, 'ready']);
      const back = await put(file);
      refused(await call());
      refused(await call());
      assert.equal(up.seen.length, 1, 'the first call is all that was made');
      const { status, audit } = await ready();
      assert.match(audit, /audit/);
      assert.equal(status, 'not ready');
      assert.equal((await fetch(new URL('/readyz', gateway.url))).status, 503);
      await back();
      // Nobody calls: it finds out by itself.
      await until(async () => (await ready()).status === 'ready', 'readiness');
      assert.ok(!(await call()).isError);
      await finish();
      await assertWhole(file, 4);
    });

  test('on_failure: deny: no call is made that there is no room for', async (t) => {
    const { gateway, up, call, file, finish } = await start(t, { audit: { on_failure: 'deny' } });
    await call();
    await written(file, 1);
    limit(gateway, fs.statSync(file).size + 100);
    // What is under way when the disk fills up still gets its line: it is kept until it can be written.
    await until(async () => (await call()).isError, 'a refusal');
    const made = up.seen.length;
    for (let i = 0; i < 20; i++) refused(await call());
    assert.equal(up.seen.length, made);
    limit(gateway, 'unlimited');
    await until(async () => !(await call()).isError, 'a call that is made again');
    const lines = await finish();
    assert.equal(lines.filter((l) => l.decision === 'ALLOW').length, up.seen.length, 'every call has its line');
    await assertWhole(file, lines.length);
  });

  test('on_failure: deny: a gateway does not start without its log', async (t) => {
    const dir = tempDir(t);
    fs.writeFileSync(path.join(dir, 'occupied'), '');
    fs.writeFileSync(path.join(dir, 'toolgate.json'), JSON.stringify({
      servers: {}, transport: 'http', port: 0, audit: { file: 'occupied/audit.jsonl', on_failure: 'deny' } }));
    const { status, stderr } = await runToolgate(['serve'], { cwd: dir });
    assert.equal(status, 3);
    assert.match(stderr, /the audit log .*occupied\/audit\.jsonl cannot be opened/);
  });

  for (const word of ['continue', 'allow'])
    test(`on_failure: ${word}: calls go on, and their lines are written later`, async (t) => {
      const { up, call, file, gateway, finish } = await start(t, { file: inFolder(t), audit: { on_failure: word } });
      await call();
      await written(file, 1);
      hide(file);
      for (let i = 0; i < 5; i++) assert.ok(!(await call()).isError);
      await until(() => /lines are kept in memory/.test(gateway.log), 'a word about it');
      const metrics = async () => (await fetch(new URL('/metrics', gateway.url))).text();
      assert.match(await metrics(), /^toolgate_audit_failing 1$/m);
      show(file);
      await written(file, 6);
      assert.match(await metrics(), /^toolgate_audit_lost_total 0$/m);
      assert.equal((await finish()).length, up.seen.length);
      await assertWhole(file, 6);
    });

  test('one who keeps it locked does not stop the gateway', async (t) => {
    const { call, client, file, finish, gateway } = await start(t);
    await call();
    await written(file, 1);
    const letGo = await keepLocked(file);
    for (let i = 0; i < 5; i++) assert.ok(!(await call()).isError);
    await client.ask('ping');
    await until(() => /another process keeps it locked/.test(gateway.log), 'a word about it');
    await letGo();
    await written(file, 6);
    await finish();
    await assertWhole(file, 6);
  });
});
