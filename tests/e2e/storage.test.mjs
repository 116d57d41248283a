// SPDX-License-Identifier: Apache-2.0
// What is kept of results on disk: found after a restart, by whoever has the same token; on disk before the answer that
// names it; and what a client hears when the disk does not take it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';

import { runToolgate } from './lib/gateway.mjs';
import { faultOf, handleOf, idOf, open, startMeta, textOf, viewAll } from './lib/meta.mjs';
import { guardOf, tempDir } from './lib/process.mjs';
import { Gateway, until } from './lib/raw.mjs';
import { handshakeServer, text } from './lib/stateless.mjs';

const TOKENS = ['first-token-3f9a1c07d2', 'second-token-3f9a1c07d2'];
const LINES = Object.fromEntries(Object.entries({ small: 500, large: 20_000 }).map(([name, count]) =>
  [name, Array.from({ length: count }, (_, i) => `${name} ${i}`).join('\n')]));

/** A server with a short and a long text, and gateways in front of it, one after the other, with one folder. */
async function world(t) {
  const up = await handshakeServer('http', { name: 'up', tools: {
    small: () => text(LINES.small),
    large: () => text(LINES.large),
    of: ({ n }) => text(LINES.small.replaceAll('small', `number ${n}`)),
  } });
  t.after(() => up.close());
  const state = path.join(tempDir(t), 'toolgate');
  const w = { up, state, db: path.join(state, 'toolgate.db'), ids: {} };
  w.start = async ({ config, kind = 'http', token, ...options } = {}) => {
    const transport = kind.endsWith('stdio') ? 'stdio' : 'http';
    const gateway = await startMeta(t, {
      servers: { up: up.config() }, transport, config: { state_dir: state, log: { level: 'debug' }, ...config }, ...options,
    });
    const client = await open(t, gateway, kind, token ? { headers: { authorization: `Bearer ${token}` } } : {});
    return { gateway, client, close: async () => { await client.close(); await gateway.stop(); } };
  };
  w.execute = async (client, name, args = {}) =>
    client.call('tool_execute', { tool_id: (w.ids[name] ??= await idOf(client, 'up', name)), args });
  w.artifacts = () => fs.readdirSync(path.join(state, 'artifacts'));
  // Nobody else can write meanwhile.
  w.lock = () => {
    const db = new DatabaseSync(w.db);
    db.exec('BEGIN IMMEDIATE');
    return () => { db.exec('ROLLBACK'); db.close(); };
  };
  return w;
}

const gone = async (client, handle) =>
  faultOf(await client.call('tool_view', { handle, selector: { type: 'head' } }), 'VIEW_FAILED');

for (const kind of ['http', 'stdio', 'stateless http'])
  test(`handles of the last run lead to the same bytes (${kind})`, async (t) => {
    const w = await world(t);
    const first = await w.start({ kind });
    const handles = {};
    for (const name of ['small', 'large']) handles[name] = handleOf(await w.execute(first.client, name));
    await first.close();
    assert.equal(w.artifacts().length, 1, 'the large one is a file');
    assert.equal(fs.statSync(path.join(w.state, 'artifacts', w.artifacts()[0])).mode & 0o777, 0o600);
    assert.equal(fs.statSync(w.db).mode & 0o777, 0o600);
    assert.equal(fs.statSync(w.state).mode & 0o777, 0o700);
    const { client } = await w.start({ kind });
    for (const name of ['small', 'large']) assert.equal(await viewAll(client, handles[name]), LINES[name]);
  });

test('after a restart, only the token that stored a result finds it, whatever its place in the list of tokens', async (t) => {
  const w = await world(t);
  const first = await w.start({ config: { auth: { tokens: TOKENS } }, token: TOKENS[0] });
  const handle = handleOf(await w.execute(first.client, 'small'));
  await first.close();
  const again = await w.start({ config: { auth: { tokens: TOKENS.toReversed() } }, token: TOKENS[0] });
  assert.equal(await viewAll(again.client, handle), LINES.small);
  const other = await open(t, again.gateway, 'http', { headers: { authorization: `Bearer ${TOKENS[1]}` } });
  const foreign = await gone(other, handle);
  const unknown = await gone(other, handle.replace(/.$/, (c) => (c === '0' ? '1' : '0')));
  assert.equal(foreign.message, unknown.message);
  await again.close();
  const local = await w.start();
  await gone(local.client, handle);
});

test('two gateways on stdio share a folder', async (t) => {
  const w = await world(t);
  const one = await w.start({ kind: 'stdio' }), two = await w.start({ kind: 'stdio' });
  const handles = await Promise.all([one, two].map(async ({ client }, n) => handleOf(await w.execute(client, 'of', { n }))));
  assert.match(await viewAll(two.client, handles[0]), /^number 0 0\n/);
  assert.match(await viewAll(one.client, handles[1]), /^number 1 0\n/);
});

test('gateways for other agents share a folder, but not what is kept', async (t) => {
  const w = await world(t);
  const rules = { agents: Object.fromEntries(['a', 'b'].map((name) => [name, { allow: { servers: ['*'], tools: { '*': ['*'] } } }])) };
  const file = path.join(tempDir(t), 'rules.json');
  fs.writeFileSync(file, JSON.stringify(rules));
  const as = (agent) => w.start({ kind: 'stdio', args: ['--rules', file, '--agent', agent] });
  const [one, two, again] = [await as('a'), await as('b'), await as('a')];
  const handle = handleOf(await w.execute(one.client, 'small'));
  await gone(two.client, handle);
  assert.equal(await viewAll(again.client, handle), LINES.small);
});

test('what is too old or one too many is gone', async (t) => {
  const w = await world(t);
  const { client } = await w.start({ config: { artifacts: { max_count: 2, ttl: 3600 } } });
  const handles = [];
  for (const n of [1, 2, 3]) handles.push(handleOf(await w.execute(client, 'of', { n })));
  await gone(client, handles[0]);
  assert.match(await viewAll(client, handles[1]), /^number 2 0\n/);
  await w.execute(client, 'of', { n: 4 });
  await gone(client, handles[2]);
  assert.match(await viewAll(client, handles[1]), /^number 2 0\n/, 'it was used');
});

test('without a folder it lasts as long as the gateway, and nothing is said', async (t) => {
  const w = await world(t);
  const first = await w.start({ config: { state_dir: 'none' } });
  const result = await w.execute(first.client, 'large');
  textOf(result);
  assert.equal(await viewAll(first.client, handleOf(result)), LINES.large);
  await first.close();
  assert.ok(!fs.existsSync(w.state));
  const { client } = await w.start({ config: { state_dir: 'none' } });
  await gone(client, handleOf(result));
});

const NOTE = /in memory only: they are lost when the gateway stops/;

test('a damaged database is not changed, and the answer and the log say that results are in memory only', async (t) => {
  const w = await world(t);
  fs.mkdirSync(w.state, { mode: 0o700 });
  fs.writeFileSync(w.db, 'no database at all, '.repeat(1000));
  const { gateway, client } = await w.start();
  for (const name of ['small', 'large']) {
    const result = await w.execute(client, name);
    assert.match(result.content.at(-1).text, NOTE);
    assert.equal(await viewAll(client, handleOf(result)), LINES[name]);
  }
  assert.equal(gateway.log.match(/toolgate\.db: the file is not a database: move it away/g)?.length, 1, 'once');
  assert.ok(fs.readFileSync(w.db, 'utf8').startsWith('no database'));
});

test('a result that a full disk cannot store lasts until the gateway stops; then the disk is used again', async (t) => {
  const w = await world(t);
  const first = await w.start();
  const before = handleOf(await w.execute(first.client, 'of', { n: 0 }));
  const limit = (bytes) => execFileSync('prlimit', ['--pid', String(first.gateway.pid), `--fsize=${bytes}:`]);
  limit(20_000);
  const full = await w.execute(first.client, 'large');
  assert.match(full.content.at(-1).text, NOTE);
  assert.equal(await viewAll(first.client, handleOf(full)), LINES.large);
  limit('unlimited');
  let after;
  await until(async () => (after = await w.execute(first.client, 'small')).content.length === 1, 'a disk with room');
  assert.doesNotMatch(first.gateway.log, /can be written again/, 'a full disk may take what is small');
  assert.equal((await w.execute(first.client, 'large')).content.length, 1);
  assert.match(first.gateway.log, /can be written again/);
  await first.close();
  const { client } = await w.start();
  assert.match(await viewAll(client, before), /^number 0 0\n/);
  assert.equal(await viewAll(client, handleOf(after)), LINES.small);
  assert.equal(await viewAll(client, handleOf(full)), LINES.large);
});

test('a file that shrinks or changes while it is viewed is told as damaged, and the gateway lives', async (t) => {
  const w = await world(t);
  const { client } = await w.start();
  const handle = handleOf(await w.execute(client, 'large'));
  const file = path.join(w.state, 'artifacts', w.artifacts()[0]);
  const bytes = fs.readFileSync(file);
  const views = [];
  const look = () => client.call('tool_view', { handle, selector: { type: 'search', query: 'line' } });
  for (let i = 0; i < 20; i++) {
    views.push(look());
    fs.truncateSync(file, 10);
    fs.writeFileSync(file, bytes);
  }
  for (const view of views) {
    const result = await view;
    if (result.isError) faultOf(result, 'VIEW_FAILED');
  }
  bytes[1000] ^= 1;
  fs.writeFileSync(file, bytes);
  assert.match(faultOf(await look(), 'VIEW_FAILED').message, /damaged/);
  bytes[1000] ^= 1;
  fs.writeFileSync(file, bytes);
  assert.equal(await viewAll(client, handle), LINES.large);
});

test('a file that has shrunk is told as damaged, by the log with its name, until the tool is called again', async (t) => {
  const w = await world(t);
  const { client, gateway } = await w.start();
  const handle = handleOf(await w.execute(client, 'large'));
  const file = path.join(w.state, 'artifacts', w.artifacts()[0]);
  const dir = tempDir(t);
  fs.writeFileSync(path.join(dir, 'toolgate.yaml'), `state_dir: ${w.state}\n`);
  for (const size of [1000, 0]) {
    fs.truncateSync(file, size);
    assert.match((await gone(client, handle)).message, /is damaged; call the tool again/);
    const shown = await runToolgate(['view', handle], { cwd: dir, env: { HOME: dir } });
    assert.equal(shown.status, 1);
    assert.match(shown.stderr, /is damaged; call the tool again/);
  }
  assert.ok(gateway.log.includes(`${file}: the file is damaged`), gateway.log);
  await w.execute(client, 'large');
  assert.equal(await viewAll(client, handle), LINES.large);
});

/** What the server's process, or any other of this user, can do to files that the gateway has open. */
for (const [what, ends, log] of [
  ['-shm', ['-shm'], /another process truncated the -shm file/g],
  ['database', [''], /another process truncated the database to 0 bytes/g],
  ['database, -wal and -shm', ['', '-wal', '-shm'], /another process truncated the database to 0 bytes/g],
])
  test(`a ${what} that is truncated while results are kept ends nothing, and results are kept on disk again`, async (t) => {
    const w = await world(t);
    const first = await w.start();
    const before = handleOf(await w.execute(first.client, 'of', { n: 0 }));
    assert.match(await viewAll(first.client, before), /^number 0 0\n/);
    for (const end of ends) fs.truncateSync(w.db + end);
    const handles = [];
    for (let n = 1; n <= 3; n++) {
      const result = await w.execute(first.client, 'of', { n });
      assert.equal(result._meta['io.toolgate/envelope'].provenance.kept_in, undefined);
      handles.push(handleOf(result));
      assert.match(await viewAll(first.client, handles.at(-1)), new RegExp(`^number ${n} 0\n`));
    }
    assert.equal(first.gateway.log.match(log)?.length, 1, first.gateway.log);
    assert.match(first.gateway.log, /can be written again/);
    assert.doesNotMatch(first.gateway.log, /keeps the database locked/);
    await first.close();
    const { client } = await w.start();
    for (const [i, handle] of handles.entries()) assert.match(await viewAll(client, handle), new RegExp(`^number ${i + 1} 0\n`));
    if (ends[0]) assert.match(await viewAll(client, before), /^number 0 0\n/);
    else await gone(client, before);
  });

test('a -shm that is truncated again and again while two gateways keep results loses none', async (t) => {
  const w = await world(t);
  const runs = [await w.start(), await w.start()];
  await w.execute(runs[0].client, 'of', { n: 'x' });
  const shm = `${w.db}-shm`;
  const handles = [];
  for (let n = 0; n < 20; n++) {
    const calls = runs.map((run, i) => w.execute(run.client, 'of', { n: `${i}-${n}` }));
    fs.truncateSync(shm);
    for (const [i, call] of calls.entries()) handles.push([i, `${i}-${n}`, handleOf(await call)]);
  }
  for (const [i, n, handle] of handles) assert.match(await viewAll(runs[i].client, handle), new RegExp(`^number ${n} 0\n`));
  for (const run of runs) await run.close();
});

test('the files of a database that is gone are put aside', async (t) => {
  const w = await world(t);
  const first = await w.start();
  await w.execute(first.client, 'large');
  await first.close();
  const [name] = w.artifacts();
  for (const end of ['', '-wal', '-shm']) fs.rmSync(w.db + end, { force: true });
  const { client, gateway } = await w.start();
  await w.execute(client, 'small');
  assert.deepEqual(w.artifacts(), []);
  const [aside] = fs.readdirSync(w.state).filter((entry) => /^artifacts-\d+$/.test(entry));
  assert.deepEqual(fs.readdirSync(path.join(w.state, aside)), [name]);
  assert.match(gateway.log, /the database is missing; its files were moved to /);
});

test('a token that stands for another agent now does not find what it kept before', async (t) => {
  const w = await world(t);
  const everything = { allow: { servers: ['up'], tools: { up: ['*'] } } };
  const rules = path.join(w.state, '..', 'rules.json');
  fs.writeFileSync(rules, JSON.stringify({ agents: { alice: everything, bob: everything } }));
  const sha256 = crypto.createHash('sha256').update(TOKENS[0]).digest('hex');
  const as = (agent) => w.start({ config: { rules, auth: { tokens: [{ sha256, agent }] } }, token: TOKENS[0] });
  const first = await as('alice');
  const handle = handleOf(await w.execute(first.client, 'small'));
  assert.equal(await viewAll(first.client, handle), LINES.small);
  await first.close();
  const second = await as('bob');
  await gone(second.client, handle);
  await second.close();
  const third = await as('alice');
  assert.equal(await viewAll(third.client, handle), LINES.small);
});

// ---- while it is being written

/** A call that was answered by its server, and waits until its pieces are written. */
async function waiting(w, { gateway, client }, n) {
  const answers = () => gateway.log.match(/answered by server up/g)?.length ?? 0;
  const tool_id = w.ids.of ??= await idOf(client, 'up', 'of');
  const before = answers();
  const call = client.start('tool_execute', { tool_id, args: { n } });
  let told = false;
  call.answer.then(() => { told = true; }, () => {});
  await until(() => answers() > before, 'the answer of the server');
  await client.roundTrip();
  assert.equal(told, false, 'nothing is told before it is written');
  return call;
}

for (const kind of ['http', 'stdio'])
  test(`an answer waits until what it names is written; one who gives up leaves nothing behind (${kind})`, async (t) => {
    const w = await world(t);
    const run = await w.start({ kind });
    const known = handleOf(await w.execute(run.client, 'of', { n: 0 }));
    const unlock = w.lock();
    const kept = await waiting(w, run, 1);
    const cancelled = await waiting(w, run, 2);
    await cancelled.cancel('enough');
    assert.match(await viewAll(run.client, known), /^number 0 0\n/, 'reading goes on');
    unlock();
    const { result } = await kept.answer;
    assert.match(await viewAll(run.client, handleOf(result)), /^number 1 0\n/);
    assert.match(await viewAll(run.client, handleOf(await w.execute(run.client, 'of', { n: 3 }))), /^number 3 0\n/);
  });

test('a lock that stays is waited for once, by all together; then memory takes what comes', async (t) => {
  const w = await world(t);
  const run = await w.start();
  await w.execute(run.client, 'of', { n: 0 });
  const unlock = w.lock();
  const calls = [];
  for (let n = 1; n <= 5; n++) calls.push(await waiting(w, run, n));
  for (const call of calls) {
    const { result } = await call.answer;
    assert.match(result.content.at(-1).text, NOTE);
    assert.equal(result.structuredContent.provenance.kept_in, 'memory');
    assert.equal(result._meta['io.toolgate/envelope'].provenance.kept_in, 'memory');
  }
  for (let n = 6; n <= 12; n++) assert.match((await w.execute(run.client, 'of', { n })).content.at(-1).text, NOTE);
  assert.equal(run.gateway.log.match(/keeps the database locked/g).length, 1, 'it was waited for once');
  unlock();
  await until(async () => {
    const { content } = await w.execute(run.client, 'of', { n: Math.random() });
    return !NOTE.test(content.at(-1).text);
  }, 'the disk to be used again');
});

test('a session that ends while its answer waits is ended', async (t) => {
  const w = await world(t);
  const run = await w.start();
  await w.execute(run.client, 'of', { n: 0 });
  const unlock = w.lock();
  await waiting(w, run, 1);
  await run.client.delete();
  unlock();
  const other = await open(t, run.gateway);
  assert.match(await viewAll(other, handleOf(await w.execute(other, 'of', { n: 1 }))), /^number 1 0\n/);
});

test('a gateway that is told to stop answers, and writes what it has accepted', async (t) => {
  const w = await world(t);
  const run = await w.start();
  await w.execute(run.client, 'of', { n: 0 });
  const unlock = w.lock();
  const calls = [await waiting(w, run, 1), await waiting(w, run, 2)];
  run.gateway.child.kill('SIGTERM');
  await until(() => /stopping: finishing calls in flight/.test(run.gateway.log), 'the signal');
  unlock();
  const handles = await Promise.all(calls.map(async (call) => handleOf((await call.answer).result)));
  await run.gateway.stop();
  const { client } = await w.start();
  assert.match(await viewAll(client, handles[0]), /^number 1 0\n/);
  assert.match(await viewAll(client, handles[1]), /^number 2 0\n/);
});

test('a gateway whose start failed ends with 3, also if it is told to stop and its guard dies meanwhile', async (t) => {
  const w = await world(t);
  const run = await w.start();
  await w.execute(run.client, 'small');
  await run.close();
  const unlock = w.lock();  // the end waits for the store
  const { host } = new URL(w.up.config().url);
  const gateway = new Gateway({ config: { state_dir: w.state }, listen: host });
  t.after(() => gateway.kill());
  gateway.listening.promise.catch(() => {});
  await until(() => /cannot listen/.test(gateway.log), 'the failure');
  gateway.child.kill('SIGTERM');
  process.kill(guardOf(gateway.pid), 'SIGKILL');
  await until(() => /guard of child processes has died/.test(gateway.log), 'both to be noticed');
  unlock();
  assert.deepEqual(await gateway.exited, { code: 3, signal: null }, gateway.log);
});

test('a gateway that is told twice to stop ends without an answer, and has written what was accepted', async (t) => {
  const w = await world(t);
  const run = await w.start();
  const name = handleOf(await w.execute(run.client, 'of', { n: 0 }));
  const unlock = w.lock();
  await waiting(w, run, 1);
  run.gateway.child.kill('SIGTERM');
  await until(() => /stopping: finishing calls in flight/.test(run.gateway.log), 'the signal');
  run.gateway.child.kill('SIGTERM');
  unlock();
  await run.gateway.exited;
  const rows = new DatabaseSync(w.db);
  assert.equal(rows.prepare('SELECT count(*) AS n FROM pieces').get().n, 2);
  rows.close();
  const { client } = await w.start();
  assert.match(await viewAll(client, name), /^number 0 0\n/);
});
