// SPDX-License-Identifier: Apache-2.0
// The controls on the way of a call, as an agent meets them: given this configuration, it sees that. The cases of the
// reference are in golden-controls and golden-args; here is what goes beyond them: the other modes and eras, what may
// be repeated, whose a remembered result is, timeouts, and that none of it grows.
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test } from 'node:test';

import { runToolgate } from './lib/gateway.mjs';
import { faultOf, handleOf, idOf, open, snapshot, startMeta, textOf } from './lib/meta.mjs';
import { tempDir, writeJson } from './lib/process.mjs';
import { until } from './lib/raw.mjs';
import { ASKABLE, cancelled, text } from './lib/stateless.mjs';
import { CLOSE, CREATE, github, LIST, other, provenanceOf, startShop } from './servers/golden-shop.mjs';

const ISSUE = { title: 'a' };
const well = (result) => assert.equal(result.isError ?? false, false, JSON.stringify(result));
const silence = () => undefined;

/** A tracker behind a gateway in mode direct: its tools are called by their own names. */
async function startDirect(t, { config, kind = 'stdio', as = 'http', client: options = {}, ...rest } = {}) {
  const up = await github(kind, rest);
  const transport = as.endsWith('stdio') ? 'stdio' : 'http';
  const gateway = await startMeta(t, { servers: { github: up }, config, mode: 'direct', transport });
  const client = await open(t, gateway, as, options);
  const call = (name, args = {}, more = {}) => client.ask('tools/call', { name, arguments: args, ...more });
  return { up, gateway, client, call };
}

/** The error of a request that must fail. */
async function errorOf(answer) {
  return answer.then((result) => assert.fail(`no error: ${JSON.stringify(result)}`), (error) => error);
}

describe('what nobody configured changes nothing', () => {
  test('a result comes through byte for byte, and says nothing of its way', async (t) => {
    const { up, call } = await startDirect(t);
    const result = await call('create_issue', { title: '42' });
    assert.deepEqual(result, text('{"title":"42"}'));
    assert.deepEqual(up.seen, [['create_issue', { title: '42' }]]);
  });
});

describe('tolerant arguments in mode direct', () => {
  const config = { tolerant_args: true };

  test('text becomes what the schema wants; the result says so in its _meta', async (t) => {
    const { up, call } = await startDirect(t, { config });
    const result = await call('close_issue', { issue_id: ' 42 ' });
    assert.deepEqual(up.seen, [['close_issue', { issue_id: 42 }]]);
    assert.deepEqual(result._meta['toolgate/provenance'],
      { arg_repairs: [{ path: '$.issue_id', rule: 'str_to_integer' }] });
  });

  test('arguments that are text with an object in it are that object', async (t) => {
    const { up, call } = await startDirect(t, { config });
    well(await call('close_issue', '{"issue_id":"7"}'));
    assert.deepEqual(up.seen, [['close_issue', { issue_id: 7 }]]);
    assert.match((await errorOf(call('close_issue', 'seven'))).message, /must be an object/);
  });

  test('nothing repaired, nothing told', async (t) => {
    const { call } = await startDirect(t, { config });
    assert.equal('_meta' in (await call('close_issue', { issue_id: 42 })), false);
  });
});

describe('dry run', () => {
  test('in mode direct it is asked for in _meta', async (t) => {
    const { up, call } = await startDirect(t);
    const rehearse = { _meta: { 'toolgate/dryRun': true } };
    const { structuredContent, isError } = await call('close_issue', { issue_id: 1 }, rehearse);
    assert.equal(isError, false);
    assert.deepEqual(structuredContent, {
      dry_run: true, tool_id: CLOSE, upstream_name: 'close_issue', args_valid: true,
      annotations: { destructiveHint: true, verified: false },
      checks: [{ name: 'schema_validation', status: 'pass' }, { name: 'rate_limit', status: 'pass' }],
    });
    assert.deepEqual(up.seen, []);
    assert.match((await errorOf(call('close_issue', { issue_id: 1 }, { _meta: { 'toolgate/dryRun': 'yes' } }))).message,
      /true or false/);
    assert.deepEqual(up.seen, []);
  });

  test('what stands in _meta is heard in every mode', async (t) => {
    const rehearse = { _meta: { 'toolgate/dryRun': true } };
    const args = { issue_id: 1 };
    for (const [mode, call] of [
      ['gateway', { name: 'tool_execute', arguments: { tool_id: CLOSE, args } }],
      ['gateway', { name: 'tool_execute', arguments: { tool_id: CLOSE, args, dry_run: false } }],
      ['transparent', { name: 'tool_execute', arguments: { tool_id: CLOSE, args } }],
      ['transparent', { name: CLOSE, arguments: args }],
      ['servers', { name: 'execute_tool', arguments: { server: 'github', tool: 'close_issue', args } }],
    ]) {
      const { client, up } = await startShop(t, { mode });
      const result = await client.ask('tools/call', { ...call, ...rehearse });
      assert.match(JSON.stringify(result), /dry_run/, `${mode} ${JSON.stringify(result)}`);
      assert.deepEqual(up.seen, [], mode);
    }
  });

  test('what is said to Toolgate does not reach the server', async (t) => {
    for (const mode of ['gateway', 'direct']) {
      const shop = mode === 'direct' ? await startDirect(t) : await startShop(t);
      const call = mode === 'direct' ? { name: 'close_issue', arguments: { issue_id: 1 } }
        : { name: 'tool_execute', arguments: { tool_id: CLOSE, args: { issue_id: 1 } } };
      well(await shop.client.ask('tools/call',
        { ...call, _meta: { 'toolgate/timeoutMs': 60_000, 'toolgate/dryRun': false, 'example.com/x': 1 } }));
      assert.deepEqual((await shop.up.next('tools/call')).msg.params._meta, { 'example.com/x': 1 }, mode);
    }
  });

  test('a dry run of another request than a tool call is refused, and nothing is sent', async (t) => {
    const { client } = await startDirect(t, { prompts: { hello: () => assert.fail('it was asked') } });
    const asked = client.ask('prompts/get', { name: 'hello', _meta: { 'toolgate/dryRun': true } });
    assert.match((await errorOf(asked)).message, /only for tool calls/);
  });

  test('it is for servers that are down, too', async (t) => {
    const shop = await startShop(t, { kind: 'http' });
    well(await shop.execute(CREATE, ISSUE));
    shop.up.close();
    await until(async () => (await shop.execute(CREATE, ISSUE)).isError, 'the end of the server');
    const result = await shop.execute(CREATE, ISSUE, { dry_run: true });
    assert.equal(result.structuredContent.args_valid, true, JSON.stringify(result));
  });

  test('toolgate call --dry-run prints the report', async (t) => {
    const dir = tempDir(t);
    const servers = { box: snapshot(t, { tools: [{ name: 'pay', inputSchema: { type: 'object' },
      annotations: { destructiveHint: true }, _meta: { version: '1' } }] }) };
    writeJson(path.join(dir, '.mcp.json'), { mcpServers: servers });
    const { status, stdout } = await runToolgate(['call', 'box:pay@1', '{}', '--dry-run'], { cwd: dir });
    assert.equal(status, 0);
    assert.deepEqual(JSON.parse(stdout).annotations, { destructiveHint: true, verified: false });
  });
});

describe('retry', () => {
  const retry = (more) => ({ retry: { max_attempts: 3, base_delay: 0.01, max_delay: 0.05, ...more } });
  const thirdTime = (args, entry, count) => (count < 3 ? undefined : text('at last'));
  const impatient = { entry: { timeout: 300 } };

  test('a result that took several attempts says how many', async (t) => {
    const shop = await startShop(t, { ...impatient, config: retry(), runs: { list_issues: thirdTime } });
    const result = await shop.execute(LIST);
    assert.equal(textOf(result), 'at last');
    assert.equal(provenanceOf(result).attempts, 3);
    assert.equal('attempts' in provenanceOf(await shop.execute(LIST)), false);
  });

  test('in mode direct, too', async (t) => {
    const { call } = await startDirect(t, { ...impatient, config: retry(), runs: { list_issues: thirdTime } });
    const result = await call('list_issues');
    assert.deepEqual(result._meta['toolgate/provenance'], { attempts: 3 });
  });

  test('a call of a destructive tool is not repeated if it may have run', async (t) => {
    const shop = await startShop(t, { ...impatient, config: retry(), runs: { close_issue: silence } });
    faultOf(await shop.execute(CLOSE, { issue_id: 1 }), 'UPSTREAM_TIMEOUT');
    assert.equal(shop.up.seen.length, 1);
  });

  test('neither is one that says nothing; one that only reads is', async (t) => {
    const shop = await startShop(t, {
      ...impatient, config: retry(), runs: { create_issue: thirdTime, list_issues: thirdTime },
    });
    faultOf(await shop.execute(CREATE, ISSUE), 'UPSTREAM_TIMEOUT');
    assert.equal(shop.up.seen.length, 1);
    assert.equal(textOf(await shop.execute(LIST)), 'at last');
  });

  test('with unsafe: true one that says nothing is repeated, too', async (t) => {
    const shop = await startShop(t, { ...impatient, config: retry({ unsafe: true }), runs: { create_issue: thirdTime } });
    assert.equal(textOf(await shop.execute(CREATE, ISSUE)), 'at last');
  });

  test('what was certainly not carried out is repeated, whatever the tool says of itself', async (t) => {
    const shop = await startShop(t, { kind: 'http', config: retry() });
    let refused = 0;
    shop.up.intercept = (req, res, body) => {
      if (!body.includes('"tools/call"') || ++refused > 2) return false;
      res.writeHead(503).end();
      return true;
    };
    well(await shop.execute(CLOSE, { issue_id: 1 }));
    assert.deepEqual(shop.up.seen, [['close_issue', { issue_id: 1 }]]);
  });

  test('a server says when to come back, and is left alone until then', async (t) => {
    const shop = await startShop(t, { kind: 'http', config: retry({ max_attempts: 2 }) });
    const times = [];
    shop.up.intercept = (req, res, body) => {
      if (!body.includes('"tools/call"')) return false;
      if (times.push(Date.now()) > 1) return false;
      res.writeHead(503, { 'retry-after': '1' }).end();
      return true;
    };
    well(await shop.execute(LIST));
    assert.ok(times[1] - times[0] >= 1000, `${times[1] - times[0]} ms`);
  });

  test('a server says so with a date, or on the older transport', async (t) => {
    for (const kind of ['http', 'sse']) {
      const shop = await startShop(t, { kind, config: retry({ max_attempts: 2 }) });
      const times = [];
      let until = 0;
      shop.up.intercept = (req, res, body) => {
        if (!body.includes('"tools/call"')) return false;
        if (times.push(Date.now()) > 1) return false;
        until = 1000 * Math.ceil((Date.now() + 1000) / 1000);
        res.writeHead(503, { 'retry-after': new Date(until).toUTCString() }).end();
        return true;
      };
      well(await shop.execute(LIST));
      assert.ok(times[1] >= until - 1, `${kind}: ${until - times[1]} ms too early`);
    }
  });

  test('where its wish does not fit into the time of the call, there is no further attempt', async (t) => {
    const shop = await startShop(t, { kind: 'http', config: retry() });
    let asked = 0;
    shop.up.intercept = (req, res, body) => {
      if (!body.includes('"tools/call"')) return false;
      asked++;
      res.writeHead(503, { 'retry-after': '3600' }).end();
      return true;
    };
    const fault = faultOf(await shop.execute(LIST), 'UPSTREAM_UNAVAILABLE');
    assert.equal(fault.retryable, true);
    assert.equal(asked, 1);
  });

  test('all attempts together have the time of one call', async (t) => {
    const shop = await startShop(t, {
      config: { ...retry({ max_attempts: 100 }), timeouts: { request: 0.4, request_max: 1 } },
      runs: { list_issues: silence },
    });
    faultOf(await shop.execute(LIST), 'UPSTREAM_TIMEOUT');
    assert.ok(shop.up.seen.length >= 2 && shop.up.seen.length <= 4, `${shop.up.seen.length} attempts`);
  });

  test('an attempt that is given up is cancelled at the server', async (t) => {
    const shop = await startShop(t, { ...impatient, config: retry({ max_attempts: 2 }), runs: { list_issues: silence } });
    const done = shop.execute(LIST);
    const first = await shop.up.next('tools/call');
    await cancelled(shop.up, first);
    await cancelled(shop.up, await shop.up.next('tools/call'));
    faultOf(await done, 'UPSTREAM_TIMEOUT');
  });
});

describe('rate limits', () => {
  test('a call in mode direct counts as tool_execute, and by the id of its tool', async (t) => {
    const rate_limits = {
      tool_execute: { max_calls_per_session: 3 }, tools: { [CREATE]: { max_calls_per_minute: 1 } },
    };
    const { up, call } = await startDirect(t, { config: { rate_limits } });
    well(await call('create_issue', ISSUE));
    const { data } = await errorOf(call('create_issue', ISSUE));
    assert.deepEqual([data.error, data.retryable, data.details.scope], ['RATE_LIMITED', true, `tool:${CREATE}/minute`]);
    for (let i = 0; i < 2; i++) well(await call('list_issues'));
    assert.equal((await errorOf(call('list_issues'))).data.details.scope, 'tool_execute/session');
    assert.equal(up.seen.length, 3);
  });

  test('a pattern is one limit for all that it matches', async (t) => {
    const shop = await startShop(t, { config: { rate_limits: { tools: { 'github:*': { max_calls_per_session: 2 } } } } });
    well(await shop.execute(CREATE, ISSUE));
    well(await shop.execute(LIST));
    assert.equal(faultOf(await shop.execute(CLOSE, { issue_id: 1 }), 'RATE_LIMITED').details.scope,
      'tool:github:*/session');
  });

  test('a tool can be named as mode transparent lists it', async (t) => {
    const tools = { github__create_issue: { max_calls_per_session: 1 } };
    const shop = await startShop(t, { config: { rate_limits: { tools } } });
    well(await shop.execute(CREATE, ISSUE));
    assert.equal(faultOf(await shop.execute(CREATE, ISSUE), 'RATE_LIMITED').details.scope,
      'tool:github__create_issue/session');
    well(await shop.execute(LIST));
  });

  test('clients without a session count by their credential', async (t) => {
    const shop = await startShop(t, {
      config: { rate_limits: { tool_execute: { max_calls_per_session: 1 } } }, client: 'stateless http',
    });
    const another = await open(t, shop.gateway, 'stateless http');
    well(await shop.execute(CREATE, ISSUE));
    faultOf(await another.call('tool_execute', { tool_id: CREATE, args: ISSUE }), 'RATE_LIMITED');
    const session = await open(t, shop.gateway);
    well(await session.call('tool_execute', { tool_id: CREATE, args: ISSUE }));
  });

  test('resources and prompts count as their meta-tools, in every mode', async (t) => {
    const rate_limits = { resource_read: { max_calls_per_session: 1 }, prompt_get: { max_calls_per_session: 1 } };
    const uri = 'test://a';
    const offers = { resources: [uri], prompts: { hello: () => ({ messages: [] }) } };
    const { gateway, client } = await startDirect(t, { config: { modes: ['gateway'], rate_limits }, ...offers });
    await client.ask('resources/read', { uri });
    assert.equal((await errorOf(client.ask('resources/read', { uri }))).data.details.scope, 'resource_read/session');
    await client.ask('prompts/get', { name: 'hello' });
    assert.equal((await errorOf(client.ask('prompts/get', { name: 'hello' }))).data.error, 'RATE_LIMITED');
    const agent = await open(t, gateway, 'http', { path: '/mcp/gateway' });
    const resource_id = await idOf(agent, 'github', uri, 'resource');
    well(await agent.call('resource_read', { resource_id }));
    faultOf(await agent.call('resource_read', { resource_id }), 'RATE_LIMITED');
  });

  test('a browse counts before its arguments are looked at', async (t) => {
    const shop = await startShop(t, { config: { rate_limits: { tool_browse: { max_calls_per_session: 1 } } } });
    faultOf(await shop.client.call('tool_browse', {}), 'ARGS_INVALID');
    faultOf(await shop.client.call('tool_browse', { query: 'issue' }), 'RATE_LIMITED');
  });
});

describe('remembered results', () => {
  const config = { cache: { read_only: true } };
  const counted = (args, entry, n) => text(`answer ${n}`);

  test('in mode direct the same bytes come again, with a note', async (t) => {
    const odd = { content: [{ type: 'text', text: 'x' }], structuredContent: { n: 1.5 }, other: [1] };
    const { up, call } = await startDirect(t, { config, runs: { list_issues: () => odd } });
    assert.deepEqual(await call('list_issues'), odd);
    assert.deepEqual(await call('list_issues'), { ...odd, _meta: { 'toolgate/provenance': { cache_hit: true } } });
    assert.equal(up.seen.length, 1);
  });

  test('a large one is told as it was the first time, also to those who do not wait for it', async (t) => {
    const rows = Array.from({ length: 30_000 }, (_, i) => `row ${i} of the list`).join('\n');
    const shop = await startShop(t, { config: { ...config, limits: { message: 8 << 20 } }, runs: { list_issues: () => text(rows) } });
    const first = await shop.execute(LIST);
    const again = await shop.execute(LIST);
    assert.equal(textOf(again), textOf(first));
    assert.equal(handleOf(again), handleOf(first));
    for (let i = 0; i < 5; i++) {
      const other = await open(t, shop.gateway);
      other.start('tool_execute', { tool_id: LIST, args: {} });
      await other.close();
    }
    assert.equal(textOf(await shop.execute(LIST)), textOf(first));
    assert.ok(shop.up.seen.length <= 2, 'it is remembered');
  });

  test('whoever asks for progress, or says something else to the server, is answered by it', async (t) => {
    const { up, call } = await startDirect(t, { config });
    for (const _meta of [{ progressToken: 1 }, { tenant: 'a' }, undefined, { tenant: 'a' }])
      well(await call('list_issues', {}, _meta && { _meta }));
    assert.equal(up.seen.length, 4);
    well(await call('list_issues', {}, { _meta: { traceparent: '00-0-0-00' } }));
    assert.equal(up.seen.length, 4);
  });

  test('a client with a connection of its own has its own', async (t) => {
    const shop = await startShop(t, { config, runs: { list_issues: counted } });
    const list = async (client) => textOf(await client.call('tool_execute', { tool_id: LIST, args: {} }));
    const [one, two] = [await open(t, shop.gateway, 'http', { capabilities: ASKABLE }),
      await open(t, shop.gateway, 'http', { capabilities: ASKABLE })];
    // The first connections of their sort change what is offered, and to whom: then all is forgotten.
    for (const client of [one, two])
      await until(async () => (await list(client)) === (await list(client)), 'a remembered result');
    const first = await list(one), second = await list(two);
    assert.notEqual(first, second);
    assert.deepEqual([await list(one), await list(two)], [first, second]);
  });

  test('repaired arguments are the same call; each answer tells its own repairs', async (t) => {
    const shop = await startShop(t, { config: { ...config, tolerant_args: true }, runs: { list_issues: counted } });
    const first = await shop.execute(LIST, { page: '2' }), second = await shop.execute(LIST, { page: 2 });
    const about = { tool_id: LIST, protocol: 'mcp' };
    assert.deepEqual(provenanceOf(first), { ...about, arg_repairs: [{ path: '$.page', rule: 'str_to_integer' }] });
    assert.deepEqual(provenanceOf(second), { ...about, cache_hit: true });
    assert.equal(shop.up.seen.length, 1);
  });

  test('both eras are answered with the same', async (t) => {
    const shop = await startShop(t, { config, runs: { list_issues: counted } });
    const modern = await open(t, shop.gateway, 'stateless http');
    assert.equal(textOf(await shop.execute(LIST)), 'answer 1');
    assert.equal(textOf(await modern.call('tool_execute', { tool_id: LIST, args: {} })), 'answer 1');
  });

  test('what is larger than all of the cache is fetched each time', async (t) => {
    const shop = await startShop(t, {
      config: { cache: { read_only: true, max_bytes: 1000 } }, runs: { list_issues: () => text('x'.repeat(2000)) },
    });
    for (let i = 0; i < 2; i++) well(await shop.execute(LIST));
    assert.equal(shop.up.seen.length, 2);
  });

  test('after its time it is fetched again', async (t) => {
    const shop = await startShop(t, {
      config: { cache: { read_only: true, ttl: 0 } }, runs: { list_issues: counted },
    });
    assert.deepEqual([textOf(await shop.execute(LIST)), textOf(await shop.execute(LIST))], ['answer 1', 'answer 2']);
  });
});

describe('timeouts', () => {
  const quiet = { create_issue: silence, list_issues: silence };

  /** Waits until the server has answered a call, so that a short time is not spent on its start. */
  async function started({ execute, up }) {
    await until(async () => !(await execute(CLOSE, { issue_id: 1 })).isError);
    await up.next('tools/call');
  }

  test('the caller may wait for less: timeout_ms, and the server hears that the call is cancelled', async (t) => {
    const shop = await startShop(t, { runs: quiet });
    await started(shop);
    const done = shop.execute(CREATE, ISSUE, { timeout_ms: 100 });
    await cancelled(shop.up, await shop.up.next('tools/call'));
    assert.match(faultOf(await done, 'UPSTREAM_TIMEOUT').message, /within the caller's timeout of 0\.1 s/);
    well(await shop.execute(CLOSE, { issue_id: 1 }, { timeout_ms: 60_000 }));
  });

  test('in mode direct it stands in _meta', async (t) => {
    const { up, call } = await startDirect(t, { runs: quiet });
    well(await call('close_issue', { issue_id: 1 }));
    await up.next('tools/call');
    const done = errorOf(call('create_issue', ISSUE, { _meta: { 'toolgate/timeoutMs': 100 } }));
    await cancelled(up, await up.next('tools/call'));
    assert.equal((await done).data.error, 'UPSTREAM_TIMEOUT');
    assert.match((await errorOf(call('create_issue', ISSUE, { _meta: { 'toolgate/timeoutMs': 0 } }))).message,
      /whole number/);
  });

  test('the caller cannot wait for more than the operator allows', async (t) => {
    const shop = await startShop(t, { entry: { timeout: 200 }, runs: quiet });
    await started(shop);
    assert.match(faultOf(await shop.execute(CREATE, ISSUE, { timeout_ms: 3_600_000 }), 'UPSTREAM_TIMEOUT').message,
      /within 0\.2 s/);
  });

  test('a tool may have its own, by name or pattern: toolTimeouts', async (t) => {
    const shop = await startShop(t, {
      entry: { timeout: 60_000, toolTimeouts: { create_issue: 150, 'list_*': 250 } }, runs: quiet,
    });
    await started(shop);
    assert.match(faultOf(await shop.execute(CREATE, ISSUE), 'UPSTREAM_TIMEOUT').message, /within 0\.15 s \(limit: the server's toolTimeouts\)$/);
    assert.match(faultOf(await shop.execute(LIST), 'UPSTREAM_TIMEOUT').message, /within 0\.25 s/);
    well(await shop.execute(CLOSE, { issue_id: 1 }));
  });

  test('it ends the waiting for a further attempt, too', async (t) => {
    const shop = await startShop(t, {
      kind: 'http', config: { retry: { max_attempts: 3, base_delay: 30, max_delay: 30 } },
    });
    shop.up.intercept = (req, res, body) => {
      if (!body.includes('"tools/call"')) return false;
      res.writeHead(503).end();
      return true;
    };
    // 30 s do not fit into it, so that the first failure is the last.
    faultOf(await shop.execute(CREATE, ISSUE, { timeout_ms: 5000 }), 'UPSTREAM_UNAVAILABLE');
  });

  test('wrong wishes are refused', async (t) => {
    const shop = await startShop(t);
    for (const more of [{ dry_run: 'yes' }, { timeout_ms: 0 }, { timeout_ms: '5' }, { timeout_ms: 1.5 }])
      faultOf(await shop.execute(CREATE, ISSUE, more), 'ARGS_INVALID');
    assert.deepEqual(shop.up.seen, []);
  });
});

test('the same call again and again, with all of them on, takes no more memory', async (t) => {
  const CALLS = process.env.TOOLGATE_LONG ? 10_000 : 2_000;
  const shop = await startShop(t, {
    config: {
      tolerant_args: true,
      retry: { max_attempts: 3, base_delay: 0.001 },
      cache: { read_only: true, ttl: 0.5, max_entries: 16 },
      rate_limits: {
        tool_execute: { max_calls_per_minute: 1_000_000, max_calls_per_session: 1_000_000 },
        tools: { 'github:*': { max_calls_per_minute: 1_000_000 } },
      },
    },
    runs: { list_issues: () => text('a line of a long answer\n'.repeat(200)) },
  });
  const resident = () => shop.gateway.rssKb() * 1024;
  const repeat = async (count) => {
    for (let i = 0; i < count; i += 20) {
      const some = Array.from({ length: 20 }, (_, k) => shop.execute(LIST, { page: String(k % 4) }));
      for (const result of await Promise.all(some)) well(result);
    }
  };
  await repeat(CALLS / 2);
  const before = resident();
  await repeat(CALLS);
  const grown = resident() - before;
  assert.ok(grown < 16 * 1024 * 1024, `${grown} bytes more after ${CALLS} calls`);
  well(await shop.view(handleOf(await shop.execute(LIST, { page: 1 })), { type: 'head' }));
});
