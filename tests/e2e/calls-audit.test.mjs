// SPDX-License-Identifier: Apache-2.0
// The metrics of governance after a run of known calls, and toolgate calls audit: what operators state about calls.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { PATIENT, runToolgate, startGateway } from './lib/gateway.mjs';
import { onEnd, tempDir, until, writeJson } from './lib/process.mjs';
import { HttpClient } from './lib/raw.mjs';
import { handshakeServer, text } from './lib/stateless.mjs';

const NAMES = ['find', 'break', 'hang', 'post', 'hide'];
const GOVERNANCE = {
  adapters: [{
    adapter_id: 'adp', type: 'MCP', server: 'shop',
    capabilities: NAMES.map((name) => ({ name, class: name === 'post' ? 'act' : 'observe', approval_mode: name === 'post' ? 'delegated' : 'read_only' })),
  }],
  permissions: NAMES.filter((name) => name !== 'hide').map((name) => ({ permission_id: `p_${name}`, adapter_id: 'adp', capability: name, allow: true, arg_constraints: { n: { max: 5 } } })),
  context: { defaults: { tenant: 'acme', user: { id: 'ann' } } },
};

/** A gateway before one server, with an audit log; and the commands. */
async function world(t) {
  const dir = tempDir(t), audit = path.join(dir, 'audit.jsonl');
  const shop = await handshakeServer('stdio', {
    name: 'shop', entry: { timeout: 1000 },
    tools: { ...Object.fromEntries(NAMES.map((name) => [name, () => text(name)])), break: () => ({ ...text('no'), isError: true }), hang: () => undefined },
  });
  onEnd(t, () => shop.close());
  writeJson(path.join(dir, 'governance.json'), GOVERNANCE);
  const config = { ...PATIENT, governance: 'governance.json', state_dir: path.join(dir, 'state'), audit: { file: audit }, modes: ['servers'] };
  const env = { HOME: dir, XDG_STATE_HOME: path.join(dir, 'home'), XDG_RUNTIME_DIR: '' };
  const gateway = await startGateway(t, { servers: { shop: shop.config() }, config, dir, env });
  const client = await new HttpClient(gateway.url.replace(/\/mcp$/, '')).connect();
  onEnd(t, () => client.close());
  const cli = (...args) => runToolgate(args, { cwd: dir, env });
  const call = (name, args = {}, _meta) => client.request('tools/call', { name, arguments: args, ...(_meta && { _meta }) });
  const calls = (count) => until(async () => {
    const lines = (await cli('calls', 'list', '--json')).stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
    return lines.length >= count && lines;
  }, `${count} calls`);
  const stats = async () => JSON.parse((await cli('stats', '--governance', '--json')).stdout);
  const metric = async (name) => Object.fromEntries((await (await fetch(new URL('/metrics', gateway.url))).text()).split('\n')
    .filter((line) => line.startsWith(`${name}{`)).map((line) => [/\{(.*)\}/.exec(line)[1], Number(line.split(' ').at(-1))]));
  return { dir, gateway, client, cli, call, calls, stats, metric, audited: () => fs.readFileSync(audit, 'utf8').trim().split('\n').map((line) => JSON.parse(line)) };
}

test('the metrics of a run of known calls are those that their definitions give', async (t) => {
  const { client, call, calls, stats, metric } = await world(t);
  for (let i = 0; i < 3; i++) await call('find', { n: i });
  await call('break');
  await call('hang');
  const left = client.start('hang');
  await left.cancel('no longer needed');
  await call('find', { n: 6 });
  for (const mode of ['network', 'admin']) await call('find', {}, { 'toolgate/mode': mode });
  await call('hide');
  await call('post');

  const records = await calls(11);
  const statuses = records.map((it) => it.call.result.status).toSorted();
  assert.deepEqual(statuses, ['cancelled', ...Array(3).fill('completed'), ...Array(4).fill('denied'), 'failed', 'timeout', 'completed'].toSorted());
  const { decisions, rejected_modes, rejected_mode_rate, violations_per_thousand, capabilities, adapters: [adapter] } = await stats();
  assert.deepEqual(decisions, { ALLOWED: 7, PERMISSION_DENIED: 1, MODE_INVALID: 1, MODE_EXCEEDS_MAXIMUM: 1, ARG_CONSTRAINT_VIOLATION: 1 });
  assert.deepEqual([rejected_modes, rejected_mode_rate.toFixed(4), violations_per_thousand.toFixed(2)], [2, (2 / 11).toFixed(4), (4000 / 11).toFixed(2)]);
  const rates = Object.fromEntries(capabilities.map((it) => [it.capability, [it.completed, it.failed, it.timeout, it.cancelled, it.denied, it.success_rate]]));
  assert.deepEqual(rates, { find: [3, 0, 0, 0, 3, 1], break: [0, 1, 0, 0, 0, 0], hang: [0, 0, 1, 1, 0, 0], hide: [0, 0, 0, 0, 1, null], post: [1, 0, 0, 0, 0, 1] });
  assert.deepEqual([adapter.calls, adapter.success_rate.toFixed(4)], [11, (4 / 6).toFixed(4)]);
  // Six calls were sent and not cancelled, and one of them took the whole timeout.
  assert.equal(adapter.audited, 6);
  const seconds = await metric('toolgate_govern_call_seconds_count');
  assert.equal(seconds['adapter="adp"'], adapter.audited);
  assert.ok(adapter.p99_us >= 1_000_000 && adapter.mean_us >= 1_000_000 / adapter.audited && adapter.mean_us < adapter.p99_us, JSON.stringify(adapter));
  const outcomes = await metric('toolgate_govern_calls_total');
  assert.equal(outcomes['adapter="adp",capability="find",outcome="completed"'], 3);
  assert.equal(outcomes['adapter="adp",capability="hide",outcome="denied"'], 1);
});

test('an operator states the real modes of calls, which are recorded, audited and counted', async (t) => {
  const { dir, gateway, cli, call, calls, stats, metric, audited } = await world(t);
  for (const name of ['find', 'break', 'post']) await call(name);
  await call('find', { n: 6 });
  const [find, broken, post, denied] = (await calls(4)).map((it) => it.id);
  const state = async (...args) => {
    const { status, stdout, stderr } = await cli('calls', 'audit', ...args);
    return [status, stdout, stderr];
  };
  assert.deepEqual(await state(find, '--mode', 'read_only'), [0, `${find}: read_only, effective mode read_only\n`, '']);
  assert.deepEqual(await state(broken, '--mode', 'destructive', '--note', 'It deleted a file.'), [0, `${broken}: destructive, effective mode read_only: misclassified\n`, '']);
  assert.equal((await state(post, '--mode', 'delegated', '--json'))[1], '{"misclassified":false}\n');
  const counted = async () => {
    const { adapters: [it] } = await stats();
    const pages = [await metric('toolgate_govern_audited_total'), await metric('toolgate_govern_misclassified_total')];
    assert.deepEqual(pages.map((page) => page['adapter="adp",by="operator"']), [it.audited_by_operator, it.misclassified_by_operator]);
    return [it.audited_by_operator, it.misclassified_by_operator, it.misclassification_rate.toFixed(4)];
  };
  assert.deepEqual(await counted(), [3, 1, '0.3333']);
  assert.match((await cli('stats', '--governance')).stdout, /^adp .* 1 of 3$/m);

  // A later statement replaces the earlier one.
  const shown = async (id) => JSON.parse((await cli('calls', 'show', id, '--json')).stdout).audits?.map(({ audit }) => [audit.approval_mode_real, audit.misclassified, audit.note]);
  await until(async () => (await shown(broken))?.length === 1, 'the first statement');
  await state(broken, '--mode', 'network');
  assert.deepEqual(await counted(), [3, 1, '0.3333']);
  await until(async () => (await shown(broken)).length === 2, 'the second statement');
  assert.deepEqual(await shown(broken), [['destructive', true, 'It deleted a file.'], ['network', true, null]]);
  assert.match((await cli('calls', 'show', broken)).stdout, /^audited +destructive +\S+Z {2}It deleted a file\.$/m);
  assert.equal(await shown(denied), undefined);
  assert.deepEqual(audited().filter((it) => it.operation === 'calls audit').map((it) => [it.target, it.tool, it.tenant, it.reason]), [
    [find, 'find', 'acme', 'was read_only, recorded as read_only'], [broken, 'break', 'acme', 'was destructive, recorded as read_only: It deleted a file.'],
    [post, 'post', 'acme', 'was delegated, recorded as delegated'], [broken, 'break', 'acme', 'was network, recorded as read_only']]);

  // Calls of other tenants, calls that were not made, wrong usage, and no gateway
  assert.deepEqual((await state(find, '--mode', 'network', '--tenant', 'globex')).slice(0, 2), [1, '']);
  assert.equal((await state(find, '--mode', 'network', '--tenant', 'acme'))[0], 0);
  assert.equal((await state('tool_0', '--mode', 'network'))[0], 1);
  assert.equal((await state(denied, '--mode', 'network'))[0], 1);
  for (const args of [[], [find], [find, '--mode', 'admin'], ['--mode', 'network'], [find, '--mode', 'network', '--note', 'x'.repeat(1025)]]) assert.equal((await state(...args))[0], 2, args.join(' '));
  const before = fs.readdirSync(path.join(dir, 'state/records'));
  await gateway.stop();
  assert.equal((await state(find, '--mode', 'network'))[0], 3);
  assert.deepEqual(fs.readdirSync(path.join(dir, 'state/records')), before);
});
