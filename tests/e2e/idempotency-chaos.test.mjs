// SPDX-License-Identifier: Apache-2.0
// Write calls are delivered again and again, in any order and at the same time, while the gateway and the server are
// killed. Each effect happens once, or the caller gets the fault that it is unknown; what was acknowledged stays
// acknowledged.
//
// CHAOS_SEED chooses what happens, CHAOS_RUNS how often the gateway is killed.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { governance, KEY, world } from './lib/effects.mjs';
import { HttpCaller } from './lib/stateless.mjs';

const RUNS = Number(process.env.CHAOS_RUNS ?? (process.env.TOOLGATE_LONG ? 500 : 25));
const SEED = Number(process.env.CHAOS_SEED ?? Date.now() % 1_000_000);
const KEYS = 100, DELIVERIES = 1000, AT_ONCE = 8;

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

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

test(`${DELIVERIES} deliveries of ${KEYS} calls have each effect once in ${RUNS} crashes`, async (t) => {
  t.diagnostic(`table: CHAOS_SEED=${SEED} CHAOS_RUNS=${RUNS}`);
  const random = randomness(SEED), below = (n) => Math.floor(random() * n);
  const rules = governance({ write: { breaker: { enabled: false } } });
  const w = await world(t, { rules, config: { timeouts: { request: 5, request_max: 5 } } });
  const args = Array.from({ length: KEYS }, (_, k) => ({ id: `effect ${k}`, before: below(4) * 5, after: below(4) * 5 }));
  const acknowledged = new Map();  // key → text of the result
  const counts = {};
  const note = (what) => { counts[what] = (counts[what] ?? 0) + 1; };

  // Each call ten times, in any order.
  const deliveries = Array.from({ length: DELIVERIES }, (_, i) => i % KEYS);
  for (let i = deliveries.length - 1; i > 0; i--) {
    const j = below(i + 1);
    [deliveries[i], deliveries[j]] = [deliveries[j], deliveries[i]];
  }
  let next = 0;

  /** Delivers one call. Everything that is acknowledged must agree with what was acknowledged before. */
  async function deliver(caller, k) {
    const { result, error } = await caller.call('write', args[k], {}, { meta: { more: { [KEY]: `key ${k}` } } });
    if (result) {
      const text = result.content[0].text;
      assert.match(text, new RegExp(`^wrote effect ${k} as `));
      if (acknowledged.has(k)) assert.equal(text, acknowledged.get(k), `key ${k} has two outcomes`);
      acknowledged.set(k, text);
      note(result._meta?.['toolgate/provenance']?.replayed ? 'replayed' : 'completed');
      return 'done';
    }
    const code = error.data?.error ?? assert.fail(JSON.stringify(error));
    const unknown = error.data.details?.effect === 'unknown';
    if (unknown) assert.ok(!acknowledged.has(k), `key ${k} was acknowledged, and is unknown now`);
    if (error.message === 'Unknown tool: write') return 'absent';  // its server was killed
    assert.ok(['UPSTREAM_UNAVAILABLE', 'UPSTREAM_TIMEOUT', 'EFFECT_UNKNOWN', 'IDEMPOTENCY_IN_PROGRESS'].includes(code), JSON.stringify(error));
    note(unknown ? 'unknown' : code);
    return unknown ? 'unknown' : 'again';
  }

  async function work(gateway, over, wrong) {
    const caller = new HttpCaller(gateway.url);
    while (!over.is && next < DELIVERIES) {
      try {
        const k = deliveries[next++];
        while (await deliver(caller, k) === 'absent' && !over.is) await sleep(10);
      } catch (e) {
        if (e instanceof assert.AssertionError) wrong.push(e);
        else if (!over.is) note('lost');
      }
    }
    caller.close();
  }

  let serverKills = 0;
  for (let run = 0; run < RUNS; run++) {
    const { gateway } = await w.start();
    const over = { is: false }, wrong = [], from = next;
    const workers = Array.from({ length: AT_ONCE }, () => work(gateway, over, wrong));
    const share = Math.ceil((DELIVERIES * (run + 1)) / RUNS);
    while (next < share && next - from < DELIVERIES && !wrong.length) await sleep(1);
    if (below(5) === 0) {
      await w.server.kill();
      await sleep(below(20));
      await w.server.start();
      serverKills++;
    }
    await sleep(random() * 30);
    over.is = true;
    await gateway.kill();
    await Promise.all(workers);
    if (wrong.length) throw wrong[0];
  }

  // At the end, every key has an outcome, or the fault says that it is unknown.
  const { caller } = await w.start();
  const unknown = [];
  for (let k = 0; k < KEYS; k++) {
    let end;
    for (let i = 0; i < 100 && ['again', 'absent'].includes(end = await deliver(caller, k)); i++) await sleep(50);
    assert.ok(['done', 'unknown'].includes(end), `key ${k} has no outcome`);
    if (end === 'unknown') unknown.push(k);
  }
  const effects = new Map();
  for (const id of w.server.effects()) effects.set(id, (effects.get(id) ?? 0) + 1);
  for (let k = 0; k < KEYS; k++) {
    const times = effects.get(`effect ${k}`) ?? 0;
    assert.ok(times <= 1, `effect ${k} happened ${times} times`);
    if (acknowledged.has(k)) assert.equal(times, 1, `effect ${k} was acknowledged`);
  }
  const letters = (await w.letters()).map(({ key }) => key).toSorted();
  assert.deepEqual(letters, unknown.map((k) => `key ${k}`).toSorted(), 'each unknown call is a dead letter');
  t.diagnostic(`table: ${RUNS} gateways and ${serverKills} servers killed: ${JSON.stringify(counts)}; ${unknown.length} of ${KEYS} keys unknown`);
  assert.ok(acknowledged.size > KEYS / 4 && (counts.replayed ?? 0) > 0, 'something was acknowledged and replayed');
});
