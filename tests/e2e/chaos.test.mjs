// SPDX-License-Identifier: Apache-2.0
// The gateway is killed again and again while it keeps pieces of results, and so is the command that archives turns of a
// conversation. After each time everything that anybody was told is kept is there, whole.
//
// CHAOS_SEED chooses what happens, CHAOS_RUNS how often.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';

import { toolgate } from './lib/gateway.mjs';
import { idOf, open, startMeta } from './lib/meta.mjs';
import { Program, run, tempDir, writeJson } from './lib/process.mjs';
import { HttpClient } from './lib/raw.mjs';
import { handshakeServer, text } from './lib/stateless.mjs';

const RUNS = Number(process.env.CHAOS_RUNS ?? (process.env.TOOLGATE_LONG ? 500 : 25));
const SEED = Number(process.env.CHAOS_SEED ?? Date.now() % 1_000_000);
const CALLERS = 4;

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomness(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let x = Math.imul(a ^ (a >>> 15), 1 | a);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** What the tool gives for a number: as long as it says, and like no other. */
const content = (n, chars) => `${n} `.repeat(chars / (String(n).length + 1)).padEnd(chars, '.');

test(`nothing that was told gets lost in ${RUNS} crashes`, async (t) => {
  t.diagnostic(`table: CHAOS_SEED=${SEED} CHAOS_RUNS=${RUNS}`);
  const random = randomness(SEED);
  const below = (n) => Math.floor(random() * n);
  const dir = tempDir(t), state = path.join(dir, 'state');
  const config = {
    state_dir: state,
    cache: { read_only: true },
    artifacts: { max_bytes: '16GiB', max_owner_bytes: '16GiB', max_count: 1000000, ttl: 864000 },
  };
  const configFile = writeJson(path.join(dir, 'context.yaml'), config);
  const up = await handshakeServer('http', { name: 'up', tools: {
    make: { run: ({ n, chars }) => text(content(n, chars)), annotations: { readOnlyHint: true } },
  } });
  t.after(() => up.close());
  const start = () => startMeta(t, { servers: { up: up.config() }, config });

  const pieces = []; // { handle, hash, n, chars, run }
  const archived = []; // { context, id, text }
  let next = 0, kills = 0;

  /** Calls until the gateway is gone; notes every answer. */
  async function load(gateway, tool_id, number, until) {
    const client = new HttpClient(gateway.url);
    try {
      await client.initialize();
      while (!until.over) {
        const again = random() < 0.2 && next > 0;
        const n = again ? below(next) : next++;
        const chars = n % 4 ? 3000 + (n * 7919) % 50_000 : 66_000 + (n * 104_729) % 100_000;
        const { structuredContent } = await client.call('tool_execute', { tool_id, args: { n, chars } });
        const [{ handle, content_hash: hash }] = structuredContent.artifacts;
        assert.equal(hash, sha256(content(n, chars)));
        pieces.push({ handle, hash, n, chars, run: number });
        until.acknowledged++;
      }
    } catch (e) {
      if (!until.over) throw e;
    } finally {
      client.agent.destroy();
    }
  }

  /** Archives turns of a conversation in a process that may be killed: what it says to have moved has to be there. */
  async function archive(number, killAfter) {
    const context = `conversation ${number % 10}`;
    const messages = Array.from({ length: 3 + below(12) }, (_, i) => (
      { id: `${number}-${i}`, role: i % 2 ? 'assistant' : 'user', content: `turn ${i} of ${number}, ${'word '.repeat(below(2000))}` }));
    const file = writeJson(path.join(dir, 'conversation.json'), { messages });
    const args = ['context', 'trim', '--context', context, '--limit', '10', '--config', configFile, file];
    const program = new Program(toolgate(), args);
    const timer = setTimeout(() => program.child.kill('SIGKILL'), killAfter);
    const status = await program.exited.finally(() => clearTimeout(timer));
    kills += status === 'SIGKILL';
    assert.ok(status === 'SIGKILL' || status === 0, `${status} ${program.stderr}`);
    let stayed;
    try {
      stayed = JSON.parse(program.stdout);
    } catch {
      return; // killed before it said anything
    }
    const ids = new Set(stayed.messages.map(({ id }) => id));
    for (const { id, content: said } of messages) if (!ids.has(id)) archived.push({ context, id, said });
  }

  /** Rows and files, as they are on disk. */
  function checkDisk(which) {
    if (!which.length) return; // killed before anything was told: there may be no table yet
    const db = new DatabaseSync(path.join(state, 'toolgate.db'));
    const find = db.prepare('SELECT hex(hash) AS hash, size, bytes FROM pieces WHERE owner = ? AND handle = ?');
    for (const { handle, hash, chars } of which) {
      const row = find.get('local', handle);
      assert.ok(row, `${handle} is gone`);
      assert.equal(row.hash.toLowerCase(), hash);
      assert.equal(row.size, chars);
      const bytes = row.bytes ?? fs.readFileSync(path.join(state, 'artifacts', hash));
      assert.equal(sha256(bytes), hash, `${handle} is not whole`);
    }
    assert.equal(db.prepare('PRAGMA quick_check').get().quick_check, 'ok');
    db.close();
  }

  /** As an agent sees them: the last characters, which are there only when all are. */
  async function checkViews(client, which) {
    await Promise.all(which.map(async ({ handle, n, chars }) => {
      const selector = { type: 'head', start: chars - 40, chars: 40 };
      const result = await client.call('tool_view', { handle, selector });
      assert.equal(result.isError, false, `${handle}: ${JSON.stringify(result)}`);
      assert.equal(result.content[0].text, content(n, chars).slice(-40));
    }));
  }

  async function checkArchive(which) {
    for (const context of new Set(which.map((a) => a.context))) {
      const args = ['context', 'archive', '--context', context, '--config', configFile, '--limit', '10000'];
      const { status, stdout, stderr } = await run(toolgate(), args);
      assert.equal(status, 0, stderr);
      const found = new Map(stdout.trim().split('\n').map((line) => JSON.parse(line)).map((r) => [r.message_id, r.message]));
      for (const { context: c, id, said } of which)
        if (c === context) assert.equal(found.get(id)?.content, said, `${id} of ${c} is gone`);
    }
  }

  // Another process that uses the same folder all the time, and must not be disturbed by the deaths.
  const witness = await open(t, await start());
  for (let number = 0; number < RUNS; number++) {
    const gateway = await start();
    const first = new HttpClient(gateway.url);
    await first.initialize();
    const last = pieces.filter((p) => p.run === number - 1);
    await checkViews(number % 2 ? first : witness, last);
    const tool_id = await idOf(first, 'up', 'make');
    const until = { over: false, acknowledged: 0 }, enough = below(12), jitter = random() * 8;
    const callers = Array.from({ length: CALLERS }, () => load(gateway, tool_id, number, until));
    const archiving = archive(number, random() < 0.7 ? random() * 200 : 60_000);
    const all = Promise.all([...callers, archiving]);
    all.catch(() => {}); // awaited below
    while (until.acknowledged < enough) await sleep(1);
    await sleep(jitter);
    until.over = true;
    await gateway.kill();
    kills++;
    first.agent.destroy();
    await all;
    checkDisk(pieces.filter((p) => p.run >= number - 1));
    await checkArchive(archived.slice(-30));
  }
  checkDisk(pieces);
  await checkArchive(archived);
  await checkViews(witness, pieces.slice(-50));
  t.diagnostic(`table: ${kills} processes killed, ${pieces.length} answers and ${archived.length} turns checked`);
  assert.ok(pieces.length > RUNS && archived.length > RUNS / 2, 'there was something to lose');
});
