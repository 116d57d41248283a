// SPDX-License-Identifier: Apache-2.0
// Given rules, when an agent asks for what it may not use, then it hears that there is no such thing; and those who watch
// the gateway read in metrics, spans and audit log that it was denied, in every mode.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import path from 'node:path';
import { describe, test } from 'node:test';

import { brief, startAudited } from './lib/audit.mjs';
import { attributes, startCollector } from './lib/collector.mjs';
import { idOf, open, snapshot, startMeta } from './lib/meta.mjs';
import { tempDir, until, writeJson } from './lib/process.mjs';

const sha256 = (text) => crypto.createHash('sha256').update(text).digest('hex');
const tool = (name) => ({ name, description: `To ${name}.`, inputSchema: { type: 'object' } });
const tokenOf = (agent) => `token-of-${agent}-0123456789abcdef`;
const RULES = {
  agents: {
    clerk: { allow: { servers: ['shop'], tools: { shop: ['*'] } }, deny: { tools: { shop: ['refund'] } } },
    chief: { allow: { servers: ['*'], tools: { '*': ['*'] } } },
  },
};

/** A gateway in some mode, watched by all means (audit: false: but that); `as(agent)` is a client with the token of that agent. */
async function start(t, mode, { audit = true } = {}) {
  const collector = await startCollector(t);
  const options = {
    mode,
    servers: {
      shop: snapshot(t, { tools: [tool('buy'), tool('refund')] }),
      vault: snapshot(t, { tools: [tool('unlock')], resources: [{ uri: 'vault://gold', name: 'Gold', text: 'gold' }] }),
    },
    config: {
      auth: { tokens: ['clerk', 'chief', 'ghost'].map((agent) => ({ sha256: sha256(tokenOf(agent)), agent })) },
      admin: { listen: '127.0.0.1:0' },
      traces: { endpoint: collector.url, sample: 1 },
    },
    args: ['--rules', writeJson(path.join(tempDir(t), 'rules.json'), RULES)],
  };
  const world = audit ? await startAudited(t, options) : { gateway: await startMeta(t, options) };
  const { gateway } = world;
  const said = await until(() => /readiness and metrics at (\S+):(\d+)/.exec(gateway.log), 'the pages');
  const as = (agent) => open(t, gateway, 'http', { headers: { authorization: `Bearer ${tokenOf(agent)}` } });
  /** Counted calls, as `server outcome`, with how many there are. */
  const counted = async () => {
    const page = await (await fetch(`http://${said[1]}:${said[2]}/metrics`)).text();
    const lines = page.matchAll(/^toolgate_calls_total\{server="(.*)",outcome="(\w+)"\} (\d+)$/gm);
    const faults = page.matchAll(/^toolgate_faults_total\{code="(\w+)"\} (\d+)$/gm);
    return {
      calls: Object.fromEntries([...lines].map(([, server, outcome, n]) => [`${server} ${outcome}`, Number(n)])),
      faults: Object.fromEntries([...faults].map(([, code, n]) => [code, Number(n)])),
      unknown: Number(/^toolgate_auth_failures_total\{reason="unknown_agent"\} (\d+)$/m.exec(page)[1]),
    };
  };
  /** What spans say: `server tool error`. */
  const spans = (count) => until(() => collector.spans.length >= count && collector.spans.map((span) => {
    const a = attributes(span);
    return [a['toolgate.server'] ?? '', a['gen_ai.tool.name'] ?? '', a['error.type'] ?? 'ok'].join(' ').trim();
  }), () => `${count} spans; there are ${collector.spans.length}`);
  return { ...world, as, counted, spans };
}

describe('what is denied is counted, traced and logged as that', () => {
  test('in mode direct', async (t) => {
    const { as, counted, spans, finish } = await start(t, 'direct');
    const clerk = await as('clerk');
    for (const name of ['buy', 'refund', 'unlock', 'nothing']) await clerk.request('tools/call', { name, arguments: {} });
    await clerk.request('resources/read', { uri: 'vault://gold' });
    const { calls, faults } = await counted();
    assert.deepEqual(calls, {
      'shop ok': 1, 'shop DENIED_BY_POLICY': 1, 'vault DENIED_BY_POLICY': 2, ' ARGS_INVALID': 1,
    });
    assert.equal(faults.DENIED_BY_POLICY, 3);
    const told = await spans(5);
    assert.deepEqual(told.filter((s) => /DENIED/.test(s)).toSorted(),
      ['shop refund DENIED_BY_POLICY', 'vault  DENIED_BY_POLICY', 'vault unlock DENIED_BY_POLICY']);
    assert.equal((await finish()).filter((l) => l.code === 'DENIED_BY_POLICY').length, 3);
  });

  test('in mode direct, where there is no audit log', async (t) => {
    const { as, counted, spans } = await start(t, 'direct', { audit: false });
    const clerk = await as('clerk');
    for (const name of ['refund', 'unlock', 'nothing']) await clerk.request('tools/call', { name, arguments: {} });
    await clerk.request('resources/read', { uri: 'vault://gold' });
    const { calls } = await counted();
    assert.deepEqual(calls, { 'shop DENIED_BY_POLICY': 1, 'vault DENIED_BY_POLICY': 2, ' ARGS_INVALID': 1 });
    assert.deepEqual((await spans(4)).filter((s) => /DENIED/.test(s)).toSorted(),
      ['shop refund DENIED_BY_POLICY', 'vault  DENIED_BY_POLICY', 'vault unlock DENIED_BY_POLICY']);
  });

  test('in mode gateway', async (t) => {
    const { as, counted, spans, finish } = await start(t, 'gateway');
    const chief = await as('chief'), clerk = await as('clerk');
    const ids = [await idOf(chief, 'shop', 'refund'), await idOf(chief, 'vault', 'unlock'), 'shop:none#00000000',
      'shop:none', 'shop:refund'];
    for (const tool_id of ids) await clerk.call('tool_execute', { tool_id, args: {} });
    await clerk.call('tool_execute', { tool_id: 7 });
    await clerk.call('tool_browse', { path: '/nowhere' });  // no call
    assert.deepEqual((await counted()).calls, {
      'shop DENIED_BY_POLICY': 2, 'vault DENIED_BY_POLICY': 1, ' HYDRATE_FAILED': 1, ' TOOL_NOT_FOUND': 1,
      ' ARGS_INVALID': 1,
    });
    assert.deepEqual((await spans(6)).filter((s) => /DENIED/.test(s)).toSorted(),
      ['shop refund DENIED_BY_POLICY', 'shop refund DENIED_BY_POLICY', 'vault unlock DENIED_BY_POLICY']);
    const lines = (await finish()).filter((l) => l.operation === 'tool_execute');
    assert.deepEqual(lines.map((l) => l.code), ['DENIED_BY_POLICY', 'DENIED_BY_POLICY', 'HYDRATE_FAILED',
      'TOOL_NOT_FOUND', 'DENIED_BY_POLICY', 'ARGS_INVALID']);
  });

  test('in mode transparent, by its name and with tool_execute', async (t) => {
    const { as, counted, finish } = await start(t, 'transparent');
    const chief = await as('chief'), clerk = await as('clerk');
    const names = (await chief.tools()).map((x) => x.name);
    for (const name of names.filter((n) => /refund|unlock/.test(n))) {
      await clerk.request('tools/call', { name, arguments: {} });
      await clerk.call('tool_execute', { tool_id: name, args: {} });
    }
    assert.deepEqual((await counted()).calls, { 'shop DENIED_BY_POLICY': 2, 'vault DENIED_BY_POLICY': 2 });
    const lines = (await finish()).filter((l) => /^tool(s\/call|_execute)$/.test(l.operation));
    assert.deepEqual(lines.map((l) => [brief(l), l.tool]).toSorted(), [
      ['tool_execute DENY DENIED_BY_POLICY', 'refund'], ['tool_execute DENY DENIED_BY_POLICY', 'unlock'],
      ['tools/call DENY DENIED_BY_POLICY', 'refund'], ['tools/call DENY DENIED_BY_POLICY', 'unlock'],
    ]);
  });

  test('in mode servers', async (t) => {
    const { as, counted, spans } = await start(t, 'servers');
    const clerk = await as('clerk');
    const execute = (server, name, more) => clerk.call('execute_tool', { server, tool: name, args: {}, ...more });
    await execute('shop', 'refund');
    await execute('vault', 'unlock');
    await execute('elsewhere', 'unlock');
    await execute('shop', 'buy', { agent_id: 'chief' });
    await execute('shop', 7);
    await clerk.call('get_server_tools', { server: 'vault' });
    assert.deepEqual((await counted()).calls, {
      'shop DENIED_BY_POLICY': 1, 'vault DENIED_BY_POLICY': 1, ' DENIED_BY_POLICY': 1, 'shop INVALID_AGENT_ID': 1,
      'shop ARGS_INVALID': 1,
    });
    assert.equal((await spans(5)).length, 5);
  });
});

describe('an agent that no rule knows', () => {
  test('is denied what it asks for, with the part of the rules that says so, and counted', async (t) => {
    const { as, counted, finish } = await start(t, 'gateway');
    const ghost = await as('ghost');
    await ghost.tools();
    await ghost.call('tool_browse', { query: 'buy' });
    await ghost.call('tool_execute', { tool_id: 'shop:buy#00000000', args: {} });
    const { calls, unknown } = await counted();
    assert.deepEqual([calls, unknown], [{ ' INVALID_AGENT_ID': 1 }, 2]);
    assert.deepEqual((await finish()).map((l) => [brief(l), l.agent_id, l.rule]), [
      ['tools/list ALLOW', 'ghost', null],  // the meta-tools: they are the same for everybody, and tell nothing
      ['tool_browse DENY INVALID_AGENT_ID', 'ghost', 'agents'],
      ['tool_execute DENY INVALID_AGENT_ID', 'ghost', 'agents'],
    ]);
  });

  test('in mode direct', async (t) => {
    const { as, counted, finish } = await start(t, 'direct');
    const ghost = await as('ghost');
    await ghost.request('tools/list', {});
    await ghost.request('tools/call', { name: 'buy', arguments: {} });
    assert.equal((await counted()).unknown, 2);
    assert.deepEqual((await finish()).map((l) => [brief(l), l.rule]), [
      ['tools/list DENY INVALID_AGENT_ID', 'agents'],
      ['tools/call DENY INVALID_AGENT_ID', 'agents'],
    ]);
  });
});
