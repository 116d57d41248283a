// SPDX-License-Identifier: Apache-2.0
// Idempotency keys with a real server: what happens once, what is returned again, and what is unknown after a crash.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { governance, isReplayed, KEY, refused, said, world, write } from './lib/effects.mjs';
import { HttpClient } from './lib/raw.mjs';
import { onEnd, until } from './lib/process.mjs';
import { HttpCaller } from './lib/stateless.mjs';

const sha256 = (text) => execFileSync('sha256sum', { input: text, encoding: 'utf8' }).split(' ')[0];
const envelopes = { records: { return_envelope: true } };
const resultOf = ({ result, error }) => (result?._meta ?? error?.data)['toolgate/envelopes'].result;

describe('a key', () => {
  test('I01: a repeated call is replayed, with the same output_hash', async (t) => {
    const w = await world(t, { rules: governance(envelopes) }), { caller } = await w.start();
    const first = await write(caller, 'k1', { id: 'a' }), again = await write(caller, 'k1', { id: 'a' });
    assert.equal(said(again), said(first));
    assert.deepEqual([resultOf(first).status, resultOf(again).status], ['completed', 'replayed']);
    assert.equal(resultOf(again).output_hash, resultOf(first).output_hash);
    assert.deepEqual(resultOf(again).idempotency, { key: 'k1', replayed: true, first_tool_call_id: resultOf(first).tool_call_id });
    assert.deepEqual(w.server.effects(), ['a']);
  });

  test('I02: a key with other arguments is a conflict', async (t) => {
    const w = await world(t), { caller } = await w.start();
    said(await write(caller, 'k1', { id: 'a' }));
    refused(await write(caller, 'k1', { id: 'b' }), 'IDEMPOTENCY_CONFLICT');
    assert.deepEqual(w.server.effects(), ['a']);
  });

  test('I03: of concurrent calls, one is sent', async (t) => {
    const w = await world(t), { caller } = await w.start();
    const answers = await Promise.all(Array.from({ length: 20 }, () => write(caller, 'k1', { id: 'a', before: 100 })));
    assert.equal(new Set(answers.map(said)).size, 1);
    assert.equal(answers.filter((a) => !isReplayed(a)).length, 1);
    assert.deepEqual(w.server.effects(), ['a']);
  });

  test('I04: after a crash, a call that was sent is unknown and is not sent again', async (t) => {
    const w = await world(t), { gateway, caller } = await w.start();
    write(caller, 'k1', { id: 'a', after: 60_000 }).catch(() => {});
    await until(() => w.server.effects().length, 'the effect');
    await gateway.kill();
    const again = await w.start();
    const fault = refused(await write(again.caller, 'k1', { id: 'a', after: 60_000 }), 'EFFECT_UNKNOWN');
    assert.equal(fault.retryable, false);
    const [letter, ...others] = await w.letters();
    assert.deepEqual(others, []);
    assert.equal(letter.id, fault.details.dead_letter);
    assert.deepEqual([letter.kind, letter.reason, letter.capability, letter.key], ['call', 'GATEWAY_ENDED', 'adp_store.write', 'k1']);
    assert.deepEqual(w.server.effects(), ['a']);
  });

  test('I05: a revoked permission comes before a stored outcome', async (t) => {
    const w = await world(t), { gateway, caller } = await w.start();
    const text = said(await write(caller, 'k1', { id: 'a' }));
    const rules = governance();
    rules.permissions[1].allow = false;
    w.govern(rules);
    let answer;
    await until(async () => (answer = await write(caller, 'k1', { id: 'a' })).error, 'the new rules');
    assert.ok(!JSON.stringify(answer).includes(text));
    assert.match(gateway.log, /applied/);
  });

  test('I06, I07: a call that only reads needs no key; a call that writes does', async (t) => {
    const w = await world(t), { caller } = await w.start();
    assert.equal((await caller.call('find', { id: 'a' })).result.content[0].text, '{"found":false}');
    refused(await write(caller, undefined, { id: 'a' }), 'IDEMPOTENCY_KEY_REQUIRED');
    assert.deepEqual(w.server.effects(), []);
  });

  test('I08: another tenant has keys of its own', async (t) => {
    const tokens = { ann: 'a'.repeat(32), bob: 'b'.repeat(32) };
    const context = { agents: { ann: { tenant: 'acme' }, bob: { tenant: 'globex' } } };
    const auth = { tokens: Object.entries(tokens).map(([agent, token]) => ({ sha256: sha256(token), agent })) };
    const w = await world(t, { rules: governance({ context }), config: { auth } }), { gateway } = await w.start();
    const [ann, bob] = Object.values(tokens).map((token) => new HttpCaller(gateway.url, { token }));
    said(await write(ann, 'k1', { id: 'a' }));
    said(await write(bob, 'k1', { id: 'b' }));
    assert.deepEqual(w.server.effects(), ['a', 'b']);
    ann.close();
    bob.close();
  });

  test('as an argument, it must be that of _meta', async (t) => {
    const w = await world(t), { caller } = await w.start();
    const key = 'ik_2x9k4j7m1q8w0p3z', args = { id: 'a', idempotency_key: key };
    const first = said(await write(caller, undefined, args));
    assert.equal(said(await write(caller, key, args)), first);
    refused(await write(caller, 'ik_0000000000000000', args), 'IDEMPOTENCY_KEY_MISMATCH');
    assert.deepEqual(w.server.effects(), ['a']);
  });

  test('a session client gets its outcome in mode gateway, and the audit log names the key', async (t) => {
    const w = await world(t), { gateway } = await w.start({ mode: 'gateway' });
    const client = new HttpClient(gateway.url);
    await client.initialize();
    const call = () => client.request('tools/call', { name: 'tool_execute', arguments: { tool_id: 'store:write', args: { id: 'a' } }, _meta: { [KEY]: 'k1' } });
    const [first, again] = [await call(), await call()];
    assert.equal(again.result.content[0].text, first.result.content[0].text);
    await client.close();
    await gateway.stop();
    const lines = fs.readFileSync(path.join(w.state, 'audit.jsonl'), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
    const calls = lines.filter((line) => line.tool === 'write');
    assert.deepEqual(calls.map((line) => [line.idempotency_key, line.replayed ?? false]), [['k1', false], ['k1', true]]);
    assert.deepEqual(w.server.effects(), ['a']);
  });
});

describe('a stored outcome', () => {
  test('is returned after a restart, also that of a failed tool', async (t) => {
    const w = await world(t), one = await w.start();
    const text = said(await write(one.caller, 'k1', { id: 'a' }));
    const failed = (await write(one.caller, 'k2', { id: 'b', fail: true })).result;
    await one.gateway.stop();
    const two = await w.start();
    const again = await write(two.caller, 'k1', { id: 'a' });
    assert.equal(said(again), text);
    assert.ok(isReplayed(again));
    assert.deepEqual((await write(two.caller, 'k2', { id: 'b', fail: true })).result.content, failed.content);
    assert.deepEqual(w.server.effects(), ['a']);
  });

  test('is found by another gateway with the same state folder', async (t) => {
    const w = await world(t), one = await w.start(), two = await w.start();
    const text = said(await write(one.caller, 'k1', { id: 'a' }));
    assert.equal(said(await write(two.caller, 'k1', { id: 'a' })), text);
    assert.deepEqual(w.server.effects(), ['a']);
  });

  test('of a gateway that lives is awaited by its clients, not by those of another gateway', async (t) => {
    const w = await world(t), one = await w.start(), two = await w.start();
    const first = write(one.caller, 'k1', { id: 'a', after: 1500 });
    await until(() => w.server.effects().length, 'the effect');
    const fault = refused(await write(two.caller, 'k1', { id: 'a', after: 1500 }), 'IDEMPOTENCY_IN_PROGRESS');
    assert.equal(fault.retryable, true);
    const text = said(await first);
    assert.equal(said(await write(two.caller, 'k1', { id: 'a', after: 1500 })), text);
    assert.deepEqual(w.server.effects(), ['a']);
  });

  test('of a gateway that was killed is unknown to another gateway at once', async (t) => {
    const w = await world(t), one = await w.start(), two = await w.start();
    write(one.caller, 'k1', { id: 'a', after: 60_000 }).catch(() => {});
    await until(() => w.server.effects().length, 'the effect');
    await one.gateway.kill();
    refused(await write(two.caller, 'k1', { id: 'a', after: 60_000 }), 'EFFECT_UNKNOWN');
    assert.deepEqual((await w.letters()).map(({ key }) => key), ['k1']);
  });
});

describe('a full disk', () => {
  const limit = (gateway, bytes) => execFileSync('prlimit', ['--pid', String(gateway.pid), `--fsize=${bytes}:`]);

  test('refuses calls that have an effect, and sends nothing', async (t) => {
    const w = await world(t), { gateway, caller } = await w.start();
    said(await write(caller, 'k1', { id: 'a' }));
    limit(gateway, 4096);
    assert.equal(refused(await write(caller, 'k2', { id: 'b' }), 'EFFECTS_UNAVAILABLE').retryable, true);
    assert.equal((await caller.call('find', { id: 'a' })).result.content[0].text, '{"found":true}');
    limit(gateway, 'unlimited');
    await until(async () => (await write(caller, 'k2', { id: 'b' })).result, 'room on the disk');
    assert.deepEqual(w.server.effects(), ['a', 'b']);
  });

  test('that fills during a call costs no effect: the outcome is stored later', async (t) => {
    const w = await world(t), { gateway, caller } = await w.start();
    const first = write(caller, 'k1', { id: 'a', after: 1000 });
    await until(() => w.server.effects().length, 'the effect');
    limit(gateway, 4096);
    const text = said(await first);
    assert.equal(said(await write(caller, 'k1', { id: 'a', after: 1000 })), text, 'from memory');
    assert.match(gateway.log, /only in memory/);
    limit(gateway, 'unlimited');
    await until(async () => (await write(caller, 'k2', { id: 'b' })).result, 'room on the disk');
    await until(async () => {
      const two = await w.start();
      const answer = await write(two.caller, 'k1', { id: 'a', after: 1000 });
      await two.gateway.stop();
      return answer.result && said(answer) === text;
    }, 'the outcome on the disk');
    assert.deepEqual(w.server.effects(), ['a', 'b']);
  });
});

describe('dead letters', () => {
  /** A gateway after a crash during a call, whose effect has happened. */
  async function crashed(t, options) {
    const w = await world(t, options), { gateway, caller } = await w.start();
    write(caller, 'k1', { id: 'a', after: 1000 }).catch(() => {});
    await until(() => w.server.effects().length, 'the effect');
    await gateway.kill();
    return w;
  }

  for (const running of [true, false])
    test(`a person resolves a call as done (${running ? 'while a gateway runs' : 'without a gateway'})`, async (t) => {
      const w = await crashed(t);
      let gateway = running && await w.start();
      const [{ id }] = await w.letters();
      const shown = await w.cli('dead-letters', 'show', id);
      assert.match(shown.stdout, /^args +\{"id":"a","after":1000\}$/m);
      const wrong = await w.cli('dead-letters', 'resolve', id);
      assert.equal(wrong.status, 2);
      const done = await w.cli('dead-letters', 'resolve', id, '--outcome', 'done', '--as', 'carol', '--note', 'seen in the file');
      assert.equal(done.status, 0, done.stderr);
      assert.deepEqual(await w.letters(), []);
      assert.equal((await w.cli('dead-letters', 'show', id)).status, 1);
      gateway ||= await w.start();
      const text = said(await write(gateway.caller, 'k1', { id: 'a', after: 1000 }));
      assert.equal(JSON.parse(text).status, 'replayed');
      await gateway.gateway.stop();
      assert.deepEqual(w.server.effects(), ['a']);
      const audit = fs.readFileSync(path.join(w.state, 'audit.jsonl'), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
      const act = audit.find(({ operation }) => operation === 'dead_letters');
      assert.deepEqual([act.target, act.principal, act.reason], [id, 'carol', 'resolved as done: seen in the file']);
    });

  test('a call that is resolved as not done is sent by its caller', async (t) => {
    const w = await crashed(t), { caller } = await w.start();
    const [{ id }] = await w.letters();
    assert.equal((await w.cli('dead-letters', 'resolve', id, '--outcome', 'not-done')).status, 0);
    said(await write(caller, 'k1', { id: 'a', after: 1000 }));
    assert.deepEqual(w.server.effects(), ['a', 'a']);
    assert.deepEqual(await w.letters(), []);
  });

  test('a person sends a call again, for its agent, and its caller gets the result', async (t) => {
    const token = 'a'.repeat(32), auth = { tokens: [{ sha256: sha256(token), agent: 'ann' }] };
    const context = { agents: { ann: { tenant: 'acme' } } };
    const w = await world(t, { rules: governance({ context }), config: { auth } });
    const ann = ({ gateway }) => {
      const caller = new HttpCaller(gateway.url, { token });
      onEnd(t, () => caller.close());
      return caller;
    };
    const one = await w.start();
    write(ann(one), 'k1', { id: 'a', after: 1000 }).catch(() => {});
    await until(() => w.server.effects().length, 'the effect');
    await one.gateway.kill();
    const caller = ann(await w.start());
    const [{ id, agent }] = await w.letters();
    assert.equal(agent, 'ann');
    assert.equal((await w.cli('dead-letters', 'retry', id)).status, 2, 'without --yes');
    const sent = await w.cli('dead-letters', 'retry', id, '--yes', '--as', 'carol');
    assert.equal(sent.status, 0, sent.stderr);
    const text = said(await write(caller, 'k1', { id: 'a', after: 1000 }));
    assert.ok(sent.stdout.includes(text), sent.stdout);
    assert.deepEqual(w.server.effects(), ['a', 'a']);
    assert.deepEqual(await w.letters(), []);
  });

  test('a capability that reads finds out what has happened', async (t) => {
    const reconcile = { capability: 'find', args: { id: { var: 'args.id' } }, done: { var: 'result.found' } };
    const w = await crashed(t, { rules: governance({ write: { reconcile } }) }), { caller } = await w.start();
    const answer = await write(caller, 'k1', { id: 'a', after: 1000 });
    assert.equal(JSON.parse(said(answer)).status, 'replayed');
    assert.deepEqual(w.server.effects(), ['a']);
    await until(async () => !(await w.letters()).length, 'the letter is settled');
  });
});
