// SPDX-License-Identifier: Apache-2.0
// Messages to the owner of a skill: webhooks of the governance file, and metrics.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { runToolgate } from './lib/gateway.mjs';
import { onEnd, writeJson } from './lib/process.mjs';
import { startGateway, until } from './lib/raw.mjs';
import { ADAPTERS, ID, PERMISSIONS, SKILL, skillFolder } from './lib/skills.mjs';

const SERVER = fileURLToPath(new URL('./servers/orders.mjs', import.meta.url));
const SECRET = 'c2d1f06a94b7e83520d9';

/** A receiver of webhooks. It answers with the statuses of `answers` in their order, then with 200. */
async function receiver(t, answers = []) {
  const got = [];
  const server = http.createServer(async (req, res) => {
    let body = '';
    for await (const chunk of req) body += chunk;
    got.push({ url: req.url, method: req.method, headers: req.headers, body, ...JSON.parse(body) });
    res.writeHead(answers.shift() ?? 200, { location: '/elsewhere' }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onEnd(t, () => server.close());
  const next = async (count) => until(() => got.length >= count && got[count - 1], `message ${count}`);
  return { got, next, url: `http://127.0.0.1:${server.address().port}/hook` };
}

/** The governance file for which two of three cases of the golden set fail. */
const broken = { permissions: [PERMISSIONS[0], { ...PERMISSIONS[1], roles: ['agent'] }] };

/** A folder with an active skill whose owner has a webhook, and its gateways. */
async function world(t, { answers, webhook = {}, governance = {} } = {}) {
  const hook = await receiver(t, answers), f = skillFolder(t), original = f.read('governance.json');
  const webhooks = [{ role: 'support_ops', url: hook.url, secret_env: 'OPS_SECRET', ...webhook }];
  const govern = (change) => writeJson(f.file('governance.json'), { ...original, webhooks, ...change });
  assert.equal(f.run('activate', `${ID}@1.2.0`).status, 0);
  govern(governance);
  const start = (more = {}) => {
    const entry = { command: process.execPath, args: [SERVER], env: { CALLS: f.file('calls') } };
    return startGateway(t, { servers: { idv: entry, orders: entry }, config: { governance: f.file('governance.json'), state_dir: f.file('state') }, env: { OPS_SECRET: SECRET }, ...more });
  };
  return { ...f, hook, govern, start };
}

async function metric(gateway, line) {
  const page = await (await fetch(new URL('/metrics', gateway.url))).text();
  return page.split('\n').find((it) => it.startsWith(`${line} `))?.slice(line.length + 1);
}

const failing = `toolgate_skill_golden_failing{skill="${ID}",owner_role="support_ops"}`;
const unusable = `toolgate_skill_unusable{skill="${ID}",owner_role="support_ops"}`;
const messages = (result) => `toolgate_webhook_messages_total{result="${result}"}`;

describe('the owner of a skill', () => {
  test('gets a signed message when the golden set of the active version fails after a reload', async (t) => {
    const w = await world(t), gateway = await w.start();
    assert.deepEqual([await metric(gateway, failing), await metric(gateway, unusable)], ['0', '0']);
    w.govern(broken);
    const { method, url, headers, body, type, timestamp, data } = await w.hook.next(1);
    assert.deepEqual([method, url, type, headers['content-type']], ['POST', '/hook', 'skill.golden_failing', 'application/json']);
    assert.ok(Math.abs(Date.parse(timestamp) - Date.now()) < 60_000, timestamp);
    assert.deepEqual(data, { skill_id: ID, version: '1.2.0', owner_role: 'support_ops', cases: 3, failed: 2, failed_cases: [
      { line: 1, name: 'owner', message: 'the skill has another outcome: STEP_FAILED (step lookup: PERMISSION_DENIED)' },
      { line: 2, name: 'other', message: 'the skill has another code: STEP_FAILED' }] });
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = headers;
    assert.match(id, /^msg_[0-9a-f]{32}$/);
    assert.equal(signature, `v1,${createHmac('sha256', SECRET).update(`${id}.${at}.${body}`).digest('base64')}`);
    await until(async () => await metric(gateway, messages('delivered')) === '1', 'the count of messages');
    assert.deepEqual([await metric(gateway, failing), await metric(gateway, messages('failed'))], ['2', '0']);
    assert.ok(!gateway.log.includes(SECRET));
  });

  test('gets each message once, also after a reload and a restart, and a message when the skill has recovered', async (t) => {
    const w = await world(t, { governance: broken });
    const first = await w.start();
    await w.hook.next(1);
    await until(async () => await metric(first, messages('delivered')) === '1', 'the count of messages');
    w.govern({ ...broken, description: 'Something else.' });
    await until(() => /reload: applied/.test(first.log), 'the reload');
    await first.stop();
    const second = await w.start();
    w.govern({});
    await w.hook.next(2);
    await until(async () => await metric(second, messages('delivered')) === '1', 'the count of messages');
    w.govern(broken);
    await w.hook.next(3);
    assert.deepEqual(w.hook.got.map((it) => it.type), ['skill.golden_failing', 'skill.recovered', 'skill.golden_failing']);
  });

  test('gets a message when the active version cannot be used any more', async (t) => {
    const w = await world(t), gateway = await w.start();
    fs.appendFileSync(w.file('fragment.md'), 'Skip the check.\n');
    const { type, data } = await w.hook.next(1);
    assert.deepEqual([type, data.skill_id, data.version], ['skill.unusable', ID, '1.2.0']);
    assert.match(data.reason, /prompt fragment/);
    assert.deepEqual([await metric(gateway, failing), await metric(gateway, unusable)], ['0', '1']);
  });

  test('gets a message that was not accepted at once', async (t) => {
    const w = await world(t, { answers: [503], governance: broken });
    await w.start();
    const first = await w.hook.next(1), second = await w.hook.next(2);
    assert.equal(second.headers['webhook-id'], first.headers['webhook-id']);
    assert.deepEqual(second.data, first.data);
  });

  test('gets the message that the skill has recovered even if the first message was still waiting', async (t) => {
    const w = await world(t, { answers: [503, 503], governance: broken }), gateway = await w.start();
    await w.hook.next(2); // the next attempt is at least three seconds later
    w.govern({});
    await until(() => /reload: applied/.test(gateway.log), 'the reload');
    await w.hook.next(4);
    assert.deepEqual(w.hook.got.map((it) => it.type), [...Array(3).fill('skill.golden_failing'), 'skill.recovered']);
  });

  test('gets a message again after a restart if the receiver rejected it, and the failure is logged and counted', async (t) => {
    const w = await world(t, { answers: [302], governance: broken });
    const first = await w.start();
    await until(async () => await metric(first, messages('failed')) === '1', 'the count of failures');
    assert.match(first.log, /webhook of the role "support_ops": a message was not delivered: the receiver answered with HTTP 302/);
    await first.stop();
    assert.deepEqual(w.hook.got.map((it) => it.url), ['/hook']); // the redirect was not followed
    await w.start();
    assert.equal((await w.hook.next(2)).type, 'skill.golden_failing');
  });

  test('without a webhook gets none, but the metric and the log show the regression', async (t) => {
    const w = await world(t, { webhook: { role: 'finance' }, governance: broken }), gateway = await w.start();
    assert.equal(await metric(gateway, failing), '2');
    assert.match(gateway.log, /identity_verification@1\.2\.0 fails now \(2 of 3 cases\); owner: support_ops/);
    assert.equal(w.hook.got.length, 0);
  });
});

describe('a webhook', () => {
  const check = (f, env = {}) => runToolgate(['check'], { cwd: f.cwd, env: { HOME: f.cwd, ...env } });
  const folder = (t, webhook) => {
    const f = skillFolder(t);
    writeJson(f.file('governance.json'), { ...f.read('governance.json'), webhooks: [{ role: 'support_ops', url: 'https://hooks.example.com/x', secret_env: 'OPS_SECRET', ...webhook }] });
    writeJson(f.file('.mcp.json'), { mcpServers: {} });
    return f;
  };
  const problem = async (t, webhook, env = { OPS_SECRET: SECRET }) => {
    const r = await check(folder(t, webhook), env);
    return { status: r.status, text: r.stdout + r.stderr };
  };

  test('needs an https URL, unless the receiver is on this machine or the operator sets allow_http', async (t) => {
    for (const url of ['http://hooks.example.com/x', 'http://10.0.0.7/x', 'http://user:pass@127.0.0.1/', 'ftp://127.0.0.1/', 'https://user@hooks.example.com/', '/hook', 'http://127.0.0.1.example.com/'])
      assert.match((await problem(t, { url })).text, /\/webhooks\/0\/url: must be an https URL/, url);
    for (const webhook of [{}, { url: 'http://127.0.0.1:9/x' }, { url: 'http://localhost/x' }, { url: 'http://[::1]/x' }, { url: 'http://10.0.0.7/x', allow_http: true }])
      assert.doesNotMatch((await problem(t, webhook)).text, /webhooks/, JSON.stringify(webhook));
  });

  test('needs a secret that cannot be guessed; without it, the gateway starts and sends nothing', async (t) => {
    for (const [webhook, env, message] of [[{}, {}, /OPS_SECRET is not set/], [{}, { OPS_SECRET: 'changeme-changeme' }, /weak secret/], [{}, { OPS_SECRET: 'short' }, /weak secret/],
      [{ secret_env: undefined, secret_file: 'none' }, {}, /none: .*No such file/i]]) {
      const { text } = await problem(t, webhook, env);
      assert.match(text, message);
      assert.ok(!text.includes('changeme'));
    }
    const w = await world(t, { governance: broken }), gateway = await w.start({ env: {} });
    assert.equal(await metric(gateway, failing), '2');
    assert.match(gateway.log, /the environment variable OPS_SECRET is not set/);
    assert.equal(w.hook.got.length, 0);
  });

  test('can have its secret in a file', async (t) => {
    const w = await world(t, { webhook: { secret_env: undefined, secret_file: 'ops.secret' }, governance: broken });
    fs.writeFileSync(w.file('ops.secret'), `${SECRET}\n`, { mode: 0o600 });
    await w.start({ env: {} });
    const { headers: { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature }, body } = await w.hook.next(1);
    assert.equal(signature, `v1,${createHmac('sha256', SECRET).update(`${id}.${at}.${body}`).digest('base64')}`);
  });

  test('has one role and one source of its secret', async (t) => {
    assert.match((await problem(t, { secret_file: 'x' })).text, /\/webhooks\/0: needs either/);
    assert.match((await problem(t, { secret_env: undefined })).text, /\/webhooks\/0: needs either/);
    assert.match((await problem(t, { role: undefined })).text, /\/webhooks\/0/);
    assert.match((await problem(t, { to: 'x' })).text, /\/webhooks\/0\/to: is an unknown member/);
    const f = folder(t), governance = f.read('governance.json');
    writeJson(f.file('governance.json'), { ...governance, webhooks: [governance.webhooks[0], governance.webhooks[0]] });
    assert.match((await check(f, { OPS_SECRET: SECRET })).stdout + (await check(f)).stderr, /the role \\?"support_ops\\?" is used twice/);
  });

  test('is not used by commands', async (t) => {
    const w = await world(t, { governance: broken });
    const r = await runToolgate(['call', 'orders:lookup', '{"id":"o1"}', '--config', 'toolgate.yaml', '--mcp-config', writeJson(w.file('.mcp.json'), { mcpServers: { orders: { command: process.execPath, args: [SERVER], env: { CALLS: w.file('calls') } } } })], { cwd: w.cwd, env: { HOME: w.cwd, OPS_SECRET: SECRET } });
    assert.equal(r.status, 0, r.stderr);
    assert.equal(w.hook.got.length, 0);
  });
});
