// SPDX-License-Identifier: Apache-2.0
// The audit log: every operation is one line, whatever became of it, and nothing that is told in it can do harm.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { assertWhole, brief, KEYS, linesOf, startAudited, written } from './lib/audit.mjs';
import { ROOT, runToolgate } from './lib/gateway.mjs';
import { handleOf, idOf, idsOf, open, snapshot } from './lib/meta.mjs';
import { tempDir, until, writeJson } from './lib/process.mjs';
import { HttpClient, onEnd, startGateway, StdioClient } from './lib/raw.mjs';
import { HttpCaller, metaOf, mirrored, StdioCaller } from './lib/stateless.mjs';
import { countTokens } from './lib/tokens.mjs';
import { makeUpstream } from './servers/features.mjs';
import { github } from './servers/golden-shop.mjs';

const object = { type: 'object', properties: { text: { type: 'string' } } };
const tool = (name, more = {}) => ({ name, description: `The tool ${name}.`, inputSchema: object, ...more });
const sha256 = (text) => crypto.createHash('sha256').update(text).digest('hex');

/** A gateway with an audit log before a scripted server `up`, and a client of it. */
async function start(t, { mode, servers, audit, config, client: options = {}, kind = 'http', args } = {}) {
  const up = servers ? undefined : await makeUpstream('stdio', 'up');
  const world = await startAudited(t, { mode, servers: servers ?? { up }, audit, config, args });
  return { ...world, up, client: await open(t, world.gateway, kind, options) };
}

/** Asks for all of it, whatever the answers are, and gives the lines for it. */
async function audited(t, options, asked) {
  const { client, finish } = await start(t, options);
  for (const [method, params] of asked) await client.request(method, params).catch(() => {});
  return finish();
}

describe('one line for every operation', () => {
  test('in mode direct', async (t) => {
    const uri = 'test://up/watched';
    const lines = await audited(t, { mode: 'direct' }, [
      ['tools/list', {}],
      ['resources/list', {}],
      ['resources/templates/list', {}],
      ['prompts/list', {}],
      ['tools/call', { name: 'up_echo', arguments: { a: 1 } }],
      ['tools/call', { name: 'gone', arguments: {} }],
      ['resources/read', { uri }],
      ['prompts/get', { name: 'up_greet', arguments: { who: 'you' } }],
      ['completion/complete', { ref: { type: 'ref/prompt', name: 'up_greet' }, argument: { name: 'who', value: 'y' } }],
      ['resources/subscribe', { uri }],
      ['resources/unsubscribe', { uri }],
      ['logging/setLevel', { level: 'error' }],
      ['tools/burn', {}],
      ['ping', {}],
    ]);
    assert.deepEqual(lines.map((l) => [brief(l), l.server, l.tool ?? l.target ?? null]), [
      ['tools/list ALLOW', null, null],
      ['resources/list ALLOW', null, null],
      ['resources/templates/list ALLOW', null, null],
      ['prompts/list ALLOW', null, null],
      ['tools/call ALLOW', 'up', 'up_echo'],
      ['tools/call ERROR ARGS_INVALID', null, 'gone'],
      ['resources/read ALLOW', 'up', uri],
      ['prompts/get ALLOW', 'up', 'up_greet'],
      ['completion/complete ALLOW', 'up', 'up_greet'],
      ['resources/subscribe ALLOW', 'up', uri],
      ['resources/unsubscribe ALLOW', null, uri],
      ['logging/setLevel ALLOW', null, null],
      ['tools/burn ERROR METHOD_NOT_FOUND', null, null],
    ]);
    for (const line of lines) assert.equal(line.mode, 'direct');
  });

  test('in mode gateway', async (t) => {
    const { client, finish } = await start(t);
    const echo = await idOf(client, 'up', 'up_echo');
    const [watched] = idsOf(await client.call('resource_browse', { query: 'watched' }));
    const greet = await idOf(client, 'up', 'up_greet', 'prompt');
    const long = { text: 'word '.repeat(4000) };
    const handle = handleOf(await client.call('tool_execute', { tool_id: echo, args: long }));
    await client.call('tool_view', { handle, selector: { type: 'head' } });
    await client.call('tool_view', { handle: 'nothing', selector: { type: 'head' } });
    await client.call('tool_execute', { tool_id: echo, args: {}, dry_run: true });
    await client.call('tool_execute', { tool_id: 'up:gone', args: {} });
    await client.call('tool_execute', { tool_id: echo, args: [] });
    await client.call('resource_read', { resource_id: watched });
    await client.call('prompt_get', { prompt_id: greet, args: { who: 'you' } });
    await client.call('prompt_get', { prompt_id: greet, args: {} });
    const lines = await finish();
    assert.deepEqual(lines.slice(3).map((l) => [brief(l), l.server, l.tool ?? l.target ?? null]), [
      ['tool_execute ALLOW', 'up', 'up_echo'],
      ['tool_view ALLOW', null, handle],
      ['tool_view ERROR VIEW_FAILED', null, 'nothing'],
      ['tool_execute DRY_RUN', 'up', 'up_echo'],
      ['tool_execute ERROR TOOL_NOT_FOUND', null, 'up:gone'],
      ['tool_execute ERROR ARGS_INVALID', null, null],
      ['resource_read ALLOW', 'up', 'test://up/watched'],
      ['prompt_get ALLOW', 'up', 'up_greet'],
      ['prompt_get ERROR ARGS_INVALID', 'up', 'up_greet'],
    ]);
    assert.deepEqual(lines.slice(0, 3).map(brief), ['tool_browse ALLOW', 'resource_browse ALLOW', 'prompt_browse ALLOW']);
    assert.deepEqual(lines.map((l) => l.dry_run ?? false).indexOf(true), 6);
  });

  test('in mode transparent', async (t) => {
    const { client, finish } = await start(t, { mode: 'transparent' });
    const id = (await client.ask('tools/list', {})).tools.find((entry) => entry.name.startsWith('up__up_echo')).name;
    await client.call('tool_hydrate', { tool_id: id });
    await client.call('tool_execute', { tool_id: id, args: {} });
    await client.ask('tools/call', { name: id, arguments: {} });
    assert.deepEqual((await finish()).map((l) => [brief(l), l.tool]), [
      ['tools/list ALLOW', null],
      ['tool_hydrate ALLOW', 'up_echo'],
      ['tool_execute ALLOW', 'up_echo'],
      ['tools/call ALLOW', 'up_echo'],
    ]);
  });

  test('of a client without a session; one that listens has its line at once', async (t) => {
    const { client, file, finish } = await start(t, { mode: 'direct', kind: 'stateless http' });
    await client.tools();
    const watch = await client.watchTools();
    const early = await written(file, 2);
    assert.deepEqual(early.map(brief), ['tools/list ALLOW', 'subscriptions/listen ALLOW']);
    assert.deepEqual(early.map((l) => l.session), [null, null]);
    await watch.close();
    assert.equal((await finish()).length, 2, 'its end is no line');
  });

  test('of a client without a session that is refused, with its principal and the code', async (t) => {
    const token = 'a-token-that-nobody-guesses';
    const tokens = [{ sha256: sha256(token), agent: 'writer', name: 'laptop' }];
    const up = await makeUpstream('stdio', 'up');
    const { gateway, finish } = await startAudited(t, { mode: 'direct', servers: { up }, config: { auth: { tokens } } });
    const caller = new HttpCaller(gateway.url, { token });
    onEnd(t, () => caller.close());
    await caller.send('tools/list', {}, { id: 'a', meta: { capabilities: 5 } });
    await caller.send('tools/list', {}, { id: 'b', meta: { version: '2099-01-01' } });
    await caller.send('tools/call', { name: 'x' }, { id: 'c', headers: { 'mcp-name': 'y' } });
    await caller.send('ping', {}, { id: 'd' });
    await caller.post('{"jsonrpc":"1.0","id":"e","method":"tools/list"}', mirrored('tools/list')).answer();
    await caller.send('tools/list', {}, { id: 'f' });
    const lines = await finish();
    assert.deepEqual(lines.map((l) => [brief(l), l.request_id]), [
      ['tools/list ERROR INVALID_PARAMS', 'a'],
      ['tools/list ERROR UNSUPPORTED_VERSION', 'b'],
      ['tools/call ERROR HEADER_MISMATCH', 'c'],
      ['ping ERROR METHOD_NOT_FOUND', 'd'],
      ['tools/list ERROR INVALID_REQUEST', 'e'],
      ['tools/list ALLOW', 'f'],
    ]);
    for (const line of lines) {
      assert.deepEqual([line.agent_id, line.principal, line.session], ['writer', lines.at(-1).principal, null]);
    }
  });

  test('of a client without a session on stdio that is refused', async (t) => {
    const up = await makeUpstream('stdio', 'up');
    const { gateway, finish } = await startAudited(t, { mode: 'direct', transport: 'stdio', servers: { up } });
    const caller = new StdioCaller(gateway);
    await caller.send('tools/list', {}, { meta: { version: '2099-01-01' } }).catch(() => {});
    assert.deepEqual((await finish()).map(brief), ['tools/list ERROR UNSUPPORTED_VERSION']);
  });

  test('of what comes before the handshake', async (t) => {
    const up = await makeUpstream('stdio', 'up');
    const { gateway, finish } = await startAudited(t, { mode: 'direct', transport: 'stdio', servers: { up } });
    const client = new StdioClient(gateway);
    await client.request('tools/list', {}).catch(() => {});
    assert.deepEqual((await finish()).map(brief), ['tools/list ERROR INVALID_REQUEST']);
  });

  const call = (params, id = '"id":1,') => `{"jsonrpc":"2.0",${id}"method":"tools/call","params":${params}}`;
  const UNREAD = [
    call('{"name":"x","name":"y"}'),
    call('{"name":"x","n\\u0061me":"y"}'),
    '\ufeff' + call('{"name":"x"}'),
    Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'), Buffer.from([0xc1, 0xb9]), Buffer.from('"}')]),
    call('{"name":"\\ud800"}'),
    `[${call('{"name":"x"}')}]`,
  ];
  const STATED = JSON.stringify(metaOf({}));
  const note = (method, members = '') => `{"jsonrpc":"2.0","method":"${method}","params":{${members}"_meta":${STATED}}}`;

  for (const kind of ['http', 'sse', 'stdio']) {
    test(`of messages in a session that cannot be read, on ${kind}`, async (t) => {
      const up = await makeUpstream('stdio', 'up');
      const transport = kind === 'stdio' ? 'stdio' : 'http';
      const { gateway, finish } = await startAudited(t, { mode: 'direct', transport, servers: { up } });
      const client = await open(t, gateway, kind);
      for (const body of UNREAD) {
        if (kind === 'stdio') gateway.child.stdin.write(Buffer.concat([Buffer.from(body), Buffer.from('\n')]));
        else assert.equal((await client.post(body)).status, 400);
      }
      await client.roundTrip();
      const lines = await finish();
      assert.deepEqual(lines.map(brief), UNREAD.map(() => 'message DENY INVALID_REQUEST'));
      assert.equal(new Set(lines.map((l) => l.session)).size, 1);
      assert.ok(lines.every((l) => l.session && l.bytes_in > 0));
    });
  }

  test('of what a client without a session sends that is no request; repeated ones have few lines', async (t) => {
    const { gateway, finish } = await startAudited(t, {
      mode: 'direct', servers: { up: await makeUpstream('stdio', 'up') }, audit: { refusals_per_minute: 2 },
    });
    const client = new HttpClient(gateway.url);
    onEnd(t, () => client.close());
    assert.equal((await client.post(UNREAD[0], mirrored('tools/call', { name: 'x' }))).status, 400);
    const sent = ['notifications/cancelled', 'tools/call', 'notifications/a', 'notifications/b'];
    for (const method of sent) assert.equal((await client.post(note(method), mirrored(method))).status, 202);
    const lines = await finish();
    assert.deepEqual(lines.map((l) => [brief(l), l.session, l.omitted ?? 0]), [
      ['message ERROR INVALID_REQUEST', null, 0],
      ['notifications/cancelled ERROR METHOD_NOT_FOUND', null, 0],
      ['tools/call ERROR METHOD_NOT_FOUND', null, 0],
      ['refusals ERROR METHOD_NOT_FOUND', null, 2],
    ]);
  });

  test('of what a client without a session sends on stdio that is no request', async (t) => {
    const up = await makeUpstream('stdio', 'up');
    const { gateway, finish } = await startAudited(t, { mode: 'direct', transport: 'stdio', servers: { up } });
    const caller = new StdioCaller(gateway);
    const held = caller.call('up_hold', {}, {}, { id: 's' });
    held.catch(() => {});  // cancelled, it is never answered
    const entry = await up.next((e) => e.msg?.params?.name === 'up_hold', 'the call');
    caller.transmit(note('notifications/cancelled', '"requestId":"s",'));
    await up.cancelled(entry);
    for (const method of ['notifications/cancelled', 'notifications/roots/list_changed', 'tools/call']) {
      caller.transmit(note(method, '"requestId":"gone",'));
    }
    await caller.send('server/discover');
    assert.deepEqual((await finish()).map(brief), [
      'notifications/cancelled ALLOW',
      'tools/call ERROR CANCELLED',
      'notifications/cancelled ALLOW',
      'notifications/roots/list_changed ERROR METHOD_NOT_FOUND',
      'tools/call ERROR METHOD_NOT_FOUND',
    ]);
  });

  test('of a command that calls a tool', async (t) => {
    const dir = tempDir(t), file = path.join(dir, 'logs/today/audit.jsonl');  // folders are made
    const servers = writeJson(path.join(dir, 'mcp.json'), { mcpServers: { files: snapshot(t, { tools: [tool('read')] }) } });
    await runToolgate(['browse', 'read', '--mcp-config', servers], { cwd: dir, env: { GATEWAY_AUDIT_LOG: file } });
    assert.equal(linesOf(file).filter((l) => l.operation === 'tool_browse').length, 1);
    await assertWhole(file);
    assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  });
});

describe('what became of it', () => {
  const isHold = (e) => e.msg?.params?.name === 'up_hold';

  test('failures of tools and of servers, and what takes too long', async (t) => {
    const { client, finish } = await start(t, { mode: 'direct', config: { timeouts: { request: 0.5 } } });
    for (const name of ['up_broken', 'up_fail', 'up_hold']) await client.request('tools/call', { name, arguments: {} });
    const lines = await finish();
    assert.deepEqual(lines.map((l) => [brief(l), l.tool, l.tool_error ?? false]), [
      ['tools/call ALLOW', 'up_broken', true],
      ['tools/call ERROR UPSTREAM_ERROR', 'up_fail', false],
      ['tools/call TIMEOUT UPSTREAM_TIMEOUT', 'up_hold', false],
    ]);
    assert.ok(lines[2].latency_ms >= 500, 'as long as it was waited');
  });

  test('what its client cancels, or leaves behind', async (t) => {
    const { client, gateway, up, file, finish } = await start(t, { mode: 'direct' });
    const held = client.start('up_hold');
    const entry = await up.next(isHold, 'the first call');
    await held.cancel('enough');
    await up.cancelled(entry);
    const other = await open(t, gateway);
    other.start('up_hold');
    await up.next(isHold, 'the second call');
    await other.delete();
    await written(file, 3);
    const lines = await finish();
    assert.deepEqual(lines.map((l) => [brief(l), l.server, l.tool, l.bytes_out]), [
      ['notifications/cancelled ALLOW', null, null, 0],
      ['tools/call ERROR CANCELLED', 'up', 'up_hold', 0],
      ['tools/call ERROR CANCELLED', 'up', 'up_hold', 0],
    ]);
    assert.equal(lines[0].session, lines[1].session);
    assert.notEqual(lines[1].session, lines[2].session);
  });

  test('what was remembered, what was one too many, what the schema does not take', async (t) => {
    const up = await github('stdio');
    const config = {
      cache: { read_only: true },
      rate_limits: { tools: { 'github:close_issue@1.4.0': { max_calls_per_session: 1 } } },
    };
    const { client, finish } = await start(t, { servers: { github: up }, config });
    const call = (name, args) => client.call('tool_execute', { tool_id: `github:${name}@1.4.0`, args });
    await call('list_issues', { repo: 'a' });
    await call('list_issues', { repo: 'a' });
    await call('close_issue', { issue_id: 1 });
    await call('close_issue', { issue_id: 1 });
    await call('close_issue', { issue_id: 'x' });
    const lines = await finish();
    assert.deepEqual(lines.map((l) => [brief(l), l.cached ?? false]), [
      ['tool_execute ALLOW', false],
      ['tool_execute ALLOW', true],
      ['tool_execute ALLOW', false],
      ['tool_execute ERROR RATE_LIMITED', false],
      ['tool_execute ERROR ARGS_INVALID', false],
    ]);
  });
});

describe('refusals that repeat', () => {
  const MANY = 30, FEW = 5;
  const config = { rate_limits: { tools: { 'github:close_issue@1.4.0': { max_calls_per_session: 1 } } } };

  /** Lines of refusals by their code: how many have a line, how many were counted. */
  function refusals(lines) {
    const out = {};
    for (const { code, operation, omitted = 0 } of lines.filter((l) => l.code)) {
      out[code] ??= { lines: 0, summaries: 0, omitted: 0 };
      out[code][operation === 'refusals' ? 'summaries' : 'lines']++;
      out[code].omitted += omitted;
    }
    return out;
  }

  test('have few lines, and one with their number and times; what is done has its line all the same', async (t) => {
    const { client, file, finish } = await start(t, { servers: { github: await github('stdio') }, config, audit: { refusals_per_minute: FEW } });
    const call = (id, args) => client.call('tool_execute', { tool_id: id, args });
    const began = Date.now();
    await call('github:close_issue@1.4.0', { issue_id: 1 });
    for (let i = 0; i < MANY; i++) {
      await call('github:close_issue@1.4.0', { issue_id: 1 });
      await call('github:list_issues@1.4.0', { repo: 5 });
      await call(`github:none_${i}`, {});
      await client.request(`no/such/${i}`).catch(() => {});
      await call('github:list_issues@1.4.0', { repo: 'a' });
    }
    const lines = await finish(), all = { lines: FEW, summaries: 1, omitted: MANY - FEW };
    const { RATE_LIMITED, ARGS_INVALID, TOOL_NOT_FOUND, METHOD_NOT_FOUND, ...others } = refusals(lines);
    assert.deepEqual([RATE_LIMITED, ARGS_INVALID, TOOL_NOT_FOUND, METHOD_NOT_FOUND, others], [all, all, all, all, {}]);
    assert.equal(lines.filter((l) => brief(l) === 'tool_execute ALLOW').length, 1 + MANY);
    for (const line of lines.filter((l) => l.operation === 'refusals')) {
      assert.deepEqual([line.principal, line.server, line.tool], ['local', null, null]);
      const [from, until] = [Date.parse(line.omitted_from), Date.parse(line.omitted_until)];
      assert.ok(began <= from && from <= until && until <= Date.parse(line.timestamp));
    }
    await assertWhole(file, lines.length);
  });

  test('of resources that do not exist, whatever is asked of them, have few lines and say so', async (t) => {
    const asked = (uri) => [['resources/read', { uri }], ['resources/subscribe', { uri }],
      ['completion/complete', { ref: { type: 'ref/resource', uri }, argument: { name: 'a', value: '' } }]];
    const lines = await audited(t, { mode: 'direct', audit: { refusals_per_minute: FEW } },
      Array.from({ length: MANY }, (_, i) => asked(`none://${i}`)).flat());
    assert.deepEqual(refusals(lines), { RESOURCE_NOT_FOUND: { lines: FEW, summaries: 1, omitted: 3 * MANY - FEW } });
  });

  test('of methods that no one server can be asked for have few lines', async (t) => {
    const rules = { agents: { a: { allow: { servers: ['one', 'two'], methods: ['vendor/*'] } } } };
    const servers = { one: await makeUpstream('stdio', 'one'), two: await makeUpstream('stdio', 'two') };
    const lines = await audited(t, {
      mode: 'direct', servers, audit: { refusals_per_minute: 2 },
      args: ['--rules', writeJson(path.join(tempDir(t), 'rules.json'), rules), '--agent', 'a'],
    }, Array.from({ length: 8 }, () => ['vendor/ask', {}]));
    assert.deepEqual(Object.values(refusals(lines)), [{ lines: 2, summaries: 1, omitted: 6 }]);
  });

  test('have a line each with refusals_per_minute: 0', async (t) => {
    const lines = await audited(t, { audit: { refusals_per_minute: 0 } },
      Array.from({ length: 70 }, (_, i) => [`no/such/${i}`, {}]));
    assert.deepEqual(refusals(lines), { METHOD_NOT_FOUND: { lines: 70, summaries: 0, omitted: 0 } });
  });

  test('of a server always have lines: it may have done something', async (t) => {
    const lines = await audited(t, { mode: 'direct', audit: { refusals_per_minute: 2 } },
      Array.from({ length: 8 }, (_, i) => ['tools/call', { name: i % 2 ? 'up_fail' : 'up_broken', arguments: {} }]));
    assert.equal(lines.length, 8);
  });

  test('of what the rules deny are counted for each principal', async (t) => {
    const rules = { agents: { a: { allow: { servers: ['up'], tools: { up: ['up_echo'] } } } } };
    const lines = await audited(t, {
      mode: 'direct', audit: { refusals_per_minute: 2 },
      args: ['--rules', writeJson(path.join(tempDir(t), 'rules.json'), rules), '--agent', 'a'],
    }, Array.from({ length: 8 }, () => ['tools/call', { name: 'up_fail', arguments: {} }]));
    assert.deepEqual(refusals(lines), { DENIED_BY_POLICY: { lines: 2, summaries: 1, omitted: 6 } });
    assert.equal(lines.at(-1).principal, 'local/a');
    assert.equal(lines.at(-1).decision, 'DENY');
  });
});

describe('rules and identity', () => {
  const RULES = {
    agents: {
      clerk: { allow: { servers: ['shop', 'docs'], tools: { shop: ['*'] } }, deny: { tools: { shop: ['refund_*'] } } },
      chief: { allow: { servers: ['*'], tools: { '*': ['*'] } } },
    },
    defaults: { deny_on_missing_agent: true },
  };
  const tokenOf = (agent) => `token-of-${agent}-0123456789abcdef`;
  const servers = (t) => ({
    shop: snapshot(t, { tools: [tool('place_order'), tool('refund_order')] }),
    vault: snapshot(t, { tools: [tool('open_vault')], resources: [{ uri: 'vault://gold', name: 'Gold', text: 'gold' }] }),
  });
  const rules = (t) => ['--rules', writeJson(path.join(tempDir(t), 'rules.json'), RULES)];
  const auth = { tokens: ['clerk', 'chief'].map((agent) => ({ sha256: sha256(tokenOf(agent)), agent }))
    .concat({ sha256: sha256(tokenOf('nobody')) }) };
  const as = (agent) => ({ headers: { authorization: `Bearer ${tokenOf(agent)}` } });
  const short = (l) => [brief(l), l.agent_id, l.server, l.tool, l.rule];

  test('what is hidden from an agent is in the log as what it is, in mode gateway', async (t) => {
    const { gateway, client, finish } = await start(t, { servers: servers(t), config: { auth }, args: rules(t), client: as('clerk') });
    const chief = await open(t, gateway, 'http', as('chief'));
    const ids = {};
    for (const [server, name] of [['shop', 'refund_order'], ['shop', 'place_order'], ['vault', 'open_vault']])
      ids[name] = await idOf(chief, server, name);
    for (const tool_id of Object.values(ids)) await client.call('tool_execute', { tool_id, args: {} });
    const lines = (await finish()).filter((l) => l.operation === 'tool_execute');
    assert.deepEqual(lines.map(short), [
      ['tool_execute DENY DENIED_BY_POLICY', 'clerk', 'shop', 'refund_order', 'agents.clerk.deny.tools.shop[0]'],
      ['tool_execute ALLOW', 'clerk', 'shop', 'place_order', 'agents.clerk.allow.tools.shop[0]'],
      ['tool_execute DENY DENIED_BY_POLICY', 'clerk', 'vault', 'open_vault', 'agents.clerk.allow.servers'],
    ]);
    assert.ok(lines.every((l) => /^\S+$/.test(l.principal) && !l.principal.includes(tokenOf('clerk'))));
  });

  test('and in mode direct, for tools and resources', async (t) => {
    const { client, finish } = await start(t,
      { mode: 'direct', servers: servers(t), config: { auth }, args: rules(t), client: as('clerk') });
    await client.request('tools/call', { name: 'refund_order', arguments: {} });
    await client.request('resources/read', { uri: 'vault://gold' });
    await client.request('resources/subscribe', { uri: 'vault://gold' });
    assert.deepEqual((await finish()).map(short), [
      ['tools/call DENY DENIED_BY_POLICY', 'clerk', 'shop', 'refund_order', 'agents.clerk.deny.tools.shop[0]'],
      ['resources/read DENY DENIED_BY_POLICY', 'clerk', 'vault', null, 'agents.clerk.allow.servers'],
      ['resources/subscribe DENY DENIED_BY_POLICY', 'clerk', 'vault', null, 'agents.clerk.allow.servers'],
    ]);
  });

  test('who is nobody is denied, with the reason', async (t) => {
    const { client, finish } = await start(t, { servers: servers(t), config: { auth }, args: rules(t), client: as('nobody') });
    await client.call('tool_browse', { query: 'order' });
    await client.call('tool_execute', { tool_id: 'shop:place_order', args: {} });
    assert.deepEqual((await finish()).map(short), [
      ['tool_browse DENY INVALID_AGENT_ID', null, null, null, 'defaults.deny_on_missing_agent'],
      ['tool_execute DENY INVALID_AGENT_ID', null, null, null, 'defaults.deny_on_missing_agent'],
    ]);
  });

  test('in mode servers, where requests name their agent', async (t) => {
    const { client, finish } = await start(t, { mode: 'servers', servers: servers(t), args: [...rules(t), '--debug'] });
    const asked = [
      ['list_servers', { agent_id: 'clerk' }],
      ['get_server_tools', { agent_id: 'clerk', server: 'shop' }],
      ['get_server_tools', { agent_id: 'clerk', server: 'vault' }],
      ['execute_tool', { agent_id: 'clerk', server: 'shop', tool: 'place_order', args: {} }],
      ['execute_tool', { agent_id: 'clerk', server: 'shop', tool: 'refund_order', args: {} }],
      ['execute_tool', { agent_id: 'clerk', server: 'vault', tool: 'open_vault', args: {} }],
      ['execute_tool', { agent_id: 'clerk', server: 'shop', tool: 'no_such', args: {} }],
      ['execute_tool', { agent_id: 'ghost', server: 'shop', tool: 'place_order', args: {} }],
      ['list_servers', {}],
      ['get_gateway_status', { agent_id: 'chief' }],
    ];
    for (const [name, args] of asked) await client.call(name, args);
    const allow = 'agents.clerk.allow.tools.shop[0]', no = 'agents.clerk.allow.servers';
    assert.deepEqual((await finish()).map(short), [
      ['list_servers ALLOW', 'clerk', null, null, null],
      ['get_server_tools ALLOW', 'clerk', 'shop', null, 'agents.clerk.allow.servers[0]'],
      ['get_server_tools DENY DENIED_BY_POLICY', 'clerk', 'vault', null, no],
      ['execute_tool ALLOW', 'clerk', 'shop', 'place_order', allow],
      ['execute_tool DENY DENIED_BY_POLICY', 'clerk', 'shop', 'refund_order', 'agents.clerk.deny.tools.shop[0]'],
      ['execute_tool DENY DENIED_BY_POLICY', 'clerk', 'vault', 'open_vault', no],
      ['execute_tool ERROR HYDRATE_FAILED', 'clerk', 'shop', 'no_such', allow],
      ['execute_tool DENY INVALID_AGENT_ID', 'ghost', 'shop', 'place_order', 'agents'],
      ['list_servers DENY INVALID_AGENT_ID', null, null, null, 'defaults.deny_on_missing_agent'],
      ['get_gateway_status ALLOW', 'chief', null, null, null],
    ]);
  });
});

describe('changes of what is in force', () => {
  const rulesOf = (tools) => ({ agents: { default: { allow: { servers: ['up'], tools: { up: tools } } } } });

  test('rules and servers that were taken, and what was refused, with the hash of the rules', async (t) => {
    const rules = path.join(tempDir(t), 'rules.json');
    writeJson(rules, rulesOf(['a']));
    const hashOf = () => sha256(fs.readFileSync(rules));
    const hashes = [hashOf()];
    const { gateway, file, finish } = await start(t, { config: { reload: 'signal', admin: { listen: '127.0.0.1:0' } },
      args: ['--rules', rules], servers: { up: snapshot(t, { tools: [tool('a'), tool('b')] }) } });
    const again = async (text, said) => {
      const before = gateway.log.length;
      fs.writeFileSync(rules, text);
      process.kill(gateway.pid, 'SIGHUP');
      await until(() => said.test(gateway.log.slice(before)), 'a word about the reload');
    };
    await again(JSON.stringify(rulesOf(['b'])), /reload: applied/);
    hashes.push(hashOf());
    await again('{ "agents": 7 }', /nothing was changed/);
    await written(file, 2);
    const [, host, port] = /readiness and metrics at (\S+):(\d+)/.exec(gateway.log);
    const page = await (await fetch(`http://${host}:${port}/metrics`)).text();
    for (const line of ['toolgate_reloads_total{result="taken"} 1', 'toolgate_reloads_total{result="refused"} 1', 'toolgate_reload_failing 1'])
      assert.ok(page.split('\n').includes(line), line);
    await again(JSON.stringify(rulesOf(['b'])), /reload: applied/);
    const lines = (await finish()).filter((l) => l.operation === 'reload');
    assert.deepEqual(lines.map((l) => [brief(l), l.rules_before, l.rules_after]), [
      ['reload ALLOW', hashes[0], hashes[1]],
      ['reload ERROR RELOAD_REFUSED', hashes[1], hashes[1]],
      ['reload ALLOW', hashes[1], hashes[1]],
    ]);
    assert.match(lines[0].target, /^applied: 1 server/);
    assert.match(lines[1].target, /rules\.json:\/agents/);
    assert.deepEqual(lines.map((l) => [l.agent_id, l.principal, l.mode]), Array(3).fill([null, null, null]));
    await assertWhole(file);
  });
});

describe('what a line says', () => {
  test('its keys, in their order; sizes in bytes and exact tokens', async (t) => {
    const { client, finish, file } = await start(t, { mode: 'direct' });
    const args = { text: 'how many tokens are these?' };
    const { msg } = await client.request('tools/call', { name: 'up_echo', arguments: args }, { rawId: '"id-7"' });
    const [line] = await finish();
    assert.deepEqual(Object.keys(line), KEYS);
    assert.equal(line.request_id, 'id-7');
    assert.equal(line.session, client.session.slice(0, 8));
    assert.equal(line.principal, 'local');
    assert.equal(line.tokens_in, countTokens(JSON.stringify(args)));
    assert.equal(line.tokens_out, countTokens(msg.result.content.map((part) => part.text).join('\n')));
    assert.ok(line.bytes_out >= JSON.stringify(msg.result).length);
    assert.match(line.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.ok(Math.abs(new Date(line.timestamp) - fs.statSync(file).mtime) < 60_000);
    const text = fs.readFileSync(file, 'utf8').trim();
    assert.equal(line.hash, sha256(text.slice(0, text.lastIndexOf(',"hash":"'))), 'of the line up to it');
  });

  test('the table of docs/operate/audit.md has every key, and no other', () => {
    const page = fs.readFileSync(path.join(ROOT, 'docs/operate/audit.md'), 'utf8');
    const rows = page.split('\n').filter((line) => /^\| `/.test(line)).flatMap((line) => line.split('|')[1].match(/\w+/g));
    const rare = ['tenant', 'subject', 'issuer', 'target', 'trace_id', 'decision_id', 'envelope_hash', 'retries', 'tool_error', 'cached', 'dry_run', 'input_required',
      'arguments', 'reason', 'peer', 'omitted', 'omitted_from', 'omitted_until', 'rules_before', 'rules_after', 'mac'];
    assert.deepEqual(rows.toSorted(), [...KEYS, ...rare].toSorted());
  });

  test('the trace that its client says it belongs to', async (t) => {
    const { client, finish } = await start(t, { mode: 'direct' });
    const call = (traceparent) => client.ask('tools/call', { name: 'up_echo', arguments: {}, _meta: { traceparent } });
    await call('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01');
    await call('nonsense');
    assert.deepEqual((await finish()).map((l) => l.trace_id), ['0af7651916cd43dd8448eb211c80319c', undefined]);
  });

  test('the configuration of docs/operate/audit.md is one', async (t) => {
    const dir = tempDir(t), page = fs.readFileSync(path.join(ROOT, 'docs/operate/audit.md'), 'utf8');
    fs.writeFileSync(path.join(dir, 'toolgate.yaml'), /```yaml\n(.*?)```/s.exec(page)[1]);
    writeJson(path.join(dir, '.mcp.json'), { mcpServers: { files: snapshot(t, { tools: [tool('read')] }) } });
    const home = tempDir(t), key = path.join(home, '.config/toolgate/audit.key'), options = { cwd: dir, env: { HOME: home } };
    const { status, stderr, stdout } = await runToolgate(['check'], options);
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, /\/audit\/key_file: warning: .*audit\.key does not exist yet/);
    assert.match((await runToolgate(['browse', 'read'], options)).stderr, /created .*audit\.key/);
    assert.deepEqual([key, path.dirname(key)].map((name) => fs.statSync(name).mode & 0o777), [0o600, 0o700]);
    await assertWhole(path.join(dir, 'audit.jsonl'), undefined, '--key', key);
  });

  test('commands that write no line make no key', async (t) => {
    const dir = tempDir(t), key = path.join(dir, 'audit.key');
    writeJson(path.join(dir, 'toolgate.json'), { audit: { file: 'audit.jsonl', key_file: key }, state_dir: 'none' });
    writeJson(path.join(dir, '.mcp.json'), { mcpServers: { files: snapshot(t, { tools: [tool('read')] }), odd: { command: 'cat', args: ['${NOT_SET}'] } } });
    writeJson(path.join(dir, '.mcp-gateway-rules.json'), { agents: { a: { allow: { servers: ['files'] } } } });
    const codes = [[0, 'policy', 'explain', 'a', 'files'], [1, 'check'], [3, 'status'], [3, 'logs', 'files']];
    for (const [status, ...args] of codes) {
      assert.equal((await runToolgate(args, { cwd: dir })).status, status, `${args}`);
      assert.ok(!fs.existsSync(key), `${args}`);
    }
    assert.equal((await runToolgate(['browse', 'read'], { cwd: dir })).status, 0);
    assert.ok(fs.existsSync(key));
  });

  test('commands that make the key at the same time agree on one', async (t) => {
    for (let round = 0; round < 4; round++) {
      const dir = tempDir(t);
      writeJson(path.join(dir, 'toolgate.json'), { audit: { file: 'audit.jsonl', key_file: 'audit.key' }, state_dir: 'none' });
      writeJson(path.join(dir, '.mcp.json'), { mcpServers: { files: snapshot(t, { tools: [tool('read')] }) } });
      const all = await Promise.all(Array.from({ length: 8 }, () => runToolgate(['browse', 'read'], { cwd: dir })));
      for (const { status, stderr } of all) assert.equal(status, 0, stderr);
      assert.deepEqual(fs.readdirSync(dir).filter((name) => name.startsWith('audit.key')), ['audit.key']);
    }
  });

  test('arguments are not there unless they are wanted, and never with a secret in them', async (t) => {
    const secret = 'ghp_0123456789abcdefghijklmnopqrstuvwxyz';
    const args = { text: `use ${secret} now`, password: 'correct horse', note: 'plain' };
    const url = `test://user:${secret}@up/none`;
    for (const wanted of [false, true]) {
      const { client, finish, file } = await start(t, { mode: 'direct', audit: { arguments: wanted } });
      await client.request('tools/call', { name: 'up_echo', arguments: args });
      await client.request('tools/call', { name: secret, arguments: args });
      await client.request('resources/read', { uri: url });
      const lines = await finish();
      assert.equal(lines.length, 3);
      const text = fs.readFileSync(file, 'utf8');
      assert.ok(!text.includes(secret) && !text.includes('correct horse'), text);
      if (!wanted) assert.ok(lines.every((l) => !('arguments' in l)) && !text.includes('plain'));
      else assert.deepEqual(lines[0].arguments.note, 'plain');
    }
  });

  test('nothing that is logged begins a line, ends one, or moves a cursor', async (t) => {
    const evil = 'x\n{"agent_id":"root","decision":"ALLOW"}\r\u001b[2J\u009b31m\u202eABC\u2028\u0000"\\\ud83d\ude00';
    const { client, file, finish } = await start(t, { mode: 'direct', audit: { arguments: true } });
    await client.request('tools/call', { name: evil, arguments: { [evil]: evil } }, { rawId: JSON.stringify(evil) });
    await client.request(`tools/${evil}`, {});
    await client.request('resources/read', { uri: `test://${evil}` });
    const spaced = '{\n"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"up_echo",\n"arguments":{\n"a":\t[\r\n1]}}}';
    await client.post(spaced);
    const lines = await finish();
    assert.equal(lines.length, 4);
    assert.equal(lines[0].request_id, evil, 'it is all there, for who reads it as JSON');
    assert.deepEqual(lines[0].arguments, { [evil]: evil });
    assert.deepEqual(lines[3].arguments, { a: [1] });
    await assertWhole(file, 4);
  });

  test('names are cut, and arguments that are too long are left out', async (t) => {
    const { client, finish, file } = await start(t, { mode: 'direct', audit: { arguments: true } });
    await client.request('tools/call', { name: '\u00e9'.repeat(100_000), arguments: { text: 'a'.repeat(100_000) } });
    const [line] = await finish();
    assert.ok(line.target.length <= 256 && line.tokens_in === null && line.arguments === null);
    assert.ok(line.bytes_in > 200_000);
    await assertWhole(file, 1);
  });
});

describe('whether there is a log', () => {
  const rules = { agents: { clerk: { allow: { servers: ['*'], tools: { '*': ['*'] } } } } };

  /** A folder with a snapshot for a server, what else it has, and what commands in it say. */
  function folder(t, config, withRules) {
    const dir = tempDir(t), state = path.join(dir, 'state');
    writeJson(path.join(dir, '.mcp.json'), { mcpServers: { files: snapshot(t, { tools: [tool('read')] }) } });
    writeJson(path.join(dir, 'toolgate.json'), { state_dir: 'state', ...config });
    if (withRules) writeJson(path.join(dir, '.mcp-gateway-rules.json'), rules);
    const run = (...args) => runToolgate(args, { cwd: dir });
    return { run, file: path.join(state, 'audit.jsonl'), check: async () => JSON.parse((await run('check', '--json')).stdout).audit };
  }

  test('with rules there is one, in the state folder', async (t) => {
    const { run, file, check } = folder(t, {}, true);
    assert.deepEqual([(await check()).enabled, (await check()).file], [true, file]);
    assert.match((await run('check')).stdout, /^audit: \S*state\/audit\.jsonl; /m);
    assert.ok(!fs.existsSync(file), 'check writes nothing');
    assert.equal((await run('browse', 'read', '--agent', 'clerk')).status, 0);
    assert.ok(linesOf(file).some((line) => line.agent_id === 'clerk' && line.decision === 'ALLOW'));
  });

  test('without rules there is none; one can be turned on', async (t) => {
    const off = folder(t, {}, false);
    assert.equal((await off.check()).enabled, false);
    assert.match((await off.run('check')).stdout, /^audit: off; there is no rules file/m);
    await off.run('browse', 'read');
    assert.ok(!fs.existsSync(off.file));
    const on = folder(t, { audit: { enabled: true } }, false);
    assert.equal((await on.check()).file, on.file);
  });

  test('rules that come while a gateway runs turn it on, from that reload on', async (t) => {
    const state = tempDir(t), file = path.join(state, 'audit.jsonl');
    const gateway = await startGateway(t, {
      servers: { files: snapshot(t, { tools: [tool('read')] }) },
      config: { state_dir: state, reload: 'signal', timeouts: { start_wait: 60 } },
    });
    const again = async () => {
      const before = gateway.log.length;
      process.kill(gateway.pid, 'SIGHUP');
      await until(() => /reload: applied/.test(gateway.log.slice(before)), () => gateway.log);
      return gateway.log.slice(before);
    };
    const client = await open(t, gateway);
    await client.tools();
    assert.ok(!fs.existsSync(file));
    writeJson(path.join(gateway.dir, '.mcp-gateway-rules.json'), { ...rules, agents: { default: rules.agents.clerk }, defaults: { deny_on_missing_agent: false } });
    const said = await again();
    assert.doesNotMatch(said, /need a restart/);
    await client.tools();
    await gateway.stop();
    assert.deepEqual(linesOf(file).map(brief), ['reload ALLOW', 'tools/list ALLOW']);
    await assertWhole(file);
  });

  test('with rules it can be turned off, and check says so', async (t) => {
    for (const audit of [{ enabled: false }, { enabled: false, file: 'other.jsonl', on_failure: 'deny' }]) {
      const { run, file, check } = folder(t, { audit }, true);
      assert.deepEqual(await check(), { enabled: false, reason: 'audit.enabled is false' });
      assert.match((await run('check')).stdout, /^audit: off; audit\.enabled is false$/m);
      await run('browse', 'read', '--agent', 'clerk');
      assert.ok(!fs.existsSync(file));
    }
  });

  test('a file that is named is taken', async (t) => {
    const { check } = folder(t, { audit: { file: 'mine.jsonl' } }, true);
    assert.match((await check()).file, /mine\.jsonl$/);
  });
});
