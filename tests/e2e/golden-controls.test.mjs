// SPDX-License-Identifier: Apache-2.0
// Golden cases: retry, quotas, dry run and the cache of read-only calls. All of them are off until they are configured.
// What depends on time alone is tested with a clock of its own: delays of 0.5 and 1 s in tests/unit/test_backoff.c, the
// window of 60 s in test_limiter.c, entries that expire in test_result_cache.c.
//
// | case | test | |
// |---|---|---|
// | fails twice, three attempts | retry | three calls, as the reference, by what happened on the wire |
// | always down | retry | UPSTREAM_UNAVAILABLE after three, as the reference |
// | isError; ValueError | retry | one call, as the reference |
// | session 1: the second execute, browse, view | quotas | RATE_LIMITED, retryable, as the reference |
// | a failed view counts | quotas | as the reference |
// | per tool; partial breach | quotas | as the reference |
// | 2 a minute: scope, retry_after | quotas | as the reference |
// | a dry run takes nothing of it | quotas, dry run | as the reference |
// | dry run: no call, no artifacts, verified false | dry run | as the reference |
// | two identical read-only calls | cache | one dispatch, cache_hit, as the reference |
// | mutating, error, refresh | cache | dispatched, as the reference |
// | LRU touch; order of keys | cache | as the reference |
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';

import { cardsOf, faultOf, handleOf, open, textOf } from './lib/meta.mjs';
import { suiteScope } from './lib/process.mjs';
import { HttpClient, onEnd, RpcError, until } from './lib/raw.mjs';
import { text } from './lib/stateless.mjs';
import { CLOSE, CREATE, LIST, other, provenanceOf, startShop } from './servers/golden-shop.mjs';

const ISSUE = { title: 'a' };
const LONG = text('a line of a long answer\n'.repeat(600));
const well = (result) => assert.equal(result.isError ?? false, false, JSON.stringify(result));

describe('retry', () => {
  const retry = (more) => ({ retry: { max_attempts: 3, base_delay: 0.01, max_delay: 0.05, ...more } });

  /** A shop on HTTP whose first `bad` calls of a tool are answered with a status; `attempts()` counts them all. */
  async function flaky(t, { bad, status = 503, config }) {
    const shop = await startShop(t, { kind: 'http', config });
    let attempts = 0;
    shop.up.intercept = (req, res, body) => {
      if (!body.includes('"tools/call"') || ++attempts > bad) return false;
      res.writeHead(status).end();
      return true;
    };
    return { ...shop, attempts: () => attempts };
  }

  test('a server that is away twice is asked three times, and answers', async (t) => {
    const shop = await flaky(t, { bad: 2, config: retry() });
    assert.equal(textOf(await shop.execute(CREATE, ISSUE)), JSON.stringify(ISSUE));
    assert.equal(shop.attempts(), 3);
    assert.deepEqual(shop.up.seen, [['create_issue', ISSUE]]);
  });

  test('one that stays away is told after the last attempt', async (t) => {
    const shop = await flaky(t, { bad: Infinity, config: retry() });
    assert.equal(faultOf(await shop.execute(CREATE, ISSUE), 'UPSTREAM_UNAVAILABLE').retryable, true);
    assert.equal(shop.attempts(), 3);
  });

  test('nothing is tried again unless it is configured', async (t) => {
    const shop = await flaky(t, { bad: 1 });
    faultOf(await shop.execute(CREATE, ISSUE), 'UPSTREAM_UNAVAILABLE');
    assert.equal(shop.attempts(), 1);
  });

  for (const [id, args] of [[CREATE, ISSUE], [LIST, {}]]) {
    test(`silence is tried again (${id})`, async (t) => {
      const later = (got, entry, count) => (count < 3 ? undefined : text('at last'));
      const shop = await startShop(t, {
        entry: { timeout: 300 }, config: retry({ unsafe: true }), runs: { create_issue: later, list_issues: later },
      });
      assert.equal(textOf(await shop.execute(id, args)), 'at last');
      assert.equal(shop.up.seen.length, 3);
    });
  }

  test('a process that died is started again and asked again', async (t) => {
    const shop = await startShop(t, {
      config: retry({ max_attempts: 5, base_delay: 0.5, max_delay: 3 }),
      runs: {
        list_issues: (args, { peer }, count) => {
          if (count > 1) return text('back');
          peer.socket.destroy();
          return undefined;
        },
      },
    });
    assert.equal(textOf(await shop.execute(LIST)), 'back');
  });

  test('what the tool reports as an error is not tried again', async (t) => {
    const shop = await startShop(t, {
      config: retry(), runs: { create_issue: () => ({ ...text('rate limit exceeded'), isError: true }) },
    });
    assert.equal((await shop.execute(CREATE, ISSUE)).isError, true);
    assert.equal(shop.up.seen.length, 1);
  });

  test('an error that will not pass is not tried again', async (t) => {
    const shop = await startShop(t, {
      config: retry(), runs: { create_issue: () => { throw new RpcError(-32000, 'no such repository'); } },
    });
    faultOf(await shop.execute(CREATE, ISSUE), 'UPSTREAM_ERROR');
    assert.equal(shop.up.seen.length, 1);
  });

  test('only the codes that are named are tried again', async (t) => {
    const limited = await flaky(t, { bad: 1, status: 429, config: retry() });
    assert.equal(faultOf(await limited.execute(CREATE, ISSUE), 'RATE_LIMITED').retryable, true);
    assert.equal(limited.attempts(), 1);
    const named = await flaky(t, { bad: 1, status: 429, config: retry({ retryable_codes: ['RATE_LIMITED'] }) });
    well(await named.execute(CREATE, ISSUE));
    assert.equal(named.attempts(), 2);
  });

  test('a call that is cancelled while it waits is not tried again', async (t) => {
    const shop = await flaky(t, { bad: 1, config: retry({ base_delay: 60, max_delay: 60 }) });
    const call = shop.client.start('tool_execute', { tool_id: CREATE, args: ISSUE });
    await until(() => shop.attempts() === 1, 'the first attempt');
    await call.cancel('enough');
    call.abandon();
    well(await shop.execute(CLOSE, { issue_id: 1 }));
    assert.deepEqual([shop.attempts(), shop.up.seen], [2, [['close_issue', { issue_id: 1 }]]]);
  });
});

describe('quotas', () => {
  const start = (t, rate_limits, options) => startShop(t, { config: { rate_limits }, ...options });
  const limited = (result, scope) => {
    const fault = faultOf(result, 'RATE_LIMITED');
    assert.equal(fault.retryable, true);
    assert.equal(fault.details.scope, scope);
    return { ...fault.details, message: fault.message };
  };

  test('a session has so many executes and no more; another session has its own', async (t) => {
    const shop = await start(t, { tool_execute: { max_calls_per_session: 1 } });
    well(await shop.execute(CREATE, ISSUE));
    const details = limited(await shop.execute(CREATE, ISSUE), 'tool_execute/session');
    assert.equal('retry_after' in details, false, 'waiting does not help');
    assert.equal(details.message,
      'rate limit exceeded (tool_execute/session): 1 call per session; waiting does not help');
    assert.equal(shop.up.seen.length, 1, 'nothing was called');
    const again = await open(t, shop.gateway);
    well(await again.call('tool_execute', { tool_id: CREATE, args: ISSUE }));
  });

  test('browse and view are counted by themselves; a view that fails counts', async (t) => {
    const shop = await start(t, { tool_browse: { max_calls_per_session: 1 }, tool_view: { max_calls_per_session: 1 } });
    well(await shop.client.call('tool_browse', { query: 'issue' }));
    limited(await shop.client.call('tool_browse', { query: 'issue' }), 'tool_browse/session');
    faultOf(await shop.view('artifact:missing', { type: 'head' }), 'VIEW_FAILED');
    limited(await shop.view('artifact:missing', { type: 'head' }), 'tool_view/session');
    well(await shop.execute(CREATE, ISSUE));
  });

  test('so many in a minute, then when to come back', async (t) => {
    const shop = await start(t, { tool_execute: { max_calls_per_minute: 2 } });
    for (let i = 0; i < 2; i++) well(await shop.execute(CREATE, ISSUE));
    const { retry_after, message } = limited(await shop.execute(CREATE, ISSUE), 'tool_execute/minute');
    assert.equal(message, 'rate limit exceeded (tool_execute/minute): 2 calls in 60 seconds');
    assert.ok(retry_after > 0 && retry_after <= 60, `${retry_after} s`);
  });

  test('a tool has its own, independent of the others', async (t) => {
    const shop = await start(t, { tools: { [CREATE]: { max_calls_per_session: 1 } } });
    well(await shop.execute(CREATE, ISSUE));
    limited(await shop.execute(CREATE, ISSUE), `tool:${CREATE}/session`);
    for (let i = 0; i < 3; i++) well(await shop.execute(CLOSE, { issue_id: 1 }));
  });

  test('a call that one limit refuses takes nothing of the others', async (t) => {
    const shop = await start(t, {
      tool_execute: { max_calls_per_session: 2 }, tools: { [CREATE]: { max_calls_per_session: 1 } },
    });
    well(await shop.execute(CREATE, ISSUE));
    limited(await shop.execute(CREATE, ISSUE), `tool:${CREATE}/session`);
    well(await shop.execute(CLOSE, { issue_id: 1 }));
    limited(await shop.execute(CLOSE, { issue_id: 1 }), 'tool_execute/session');
  });

  test('arguments that do not fit and tools that are not there cost nothing', async (t) => {
    const shop = await start(t, { tool_execute: { max_calls_per_session: 1 } });
    faultOf(await shop.execute(CREATE, {}), 'ARGS_INVALID');
    faultOf(await shop.execute('github:none@1'), 'HYDRATE_FAILED');
    well(await shop.execute(CREATE, ISSUE));
  });

  test('a dry run costs nothing, and says when there is nothing left', async (t) => {
    const shop = await start(t, { tool_execute: { max_calls_per_session: 1 } });
    const check = async () => {
      const { structuredContent } = await shop.execute(CREATE, ISSUE, { dry_run: true });
      return structuredContent.checks.find(({ name }) => name === 'rate_limit').status;
    };
    for (let i = 0; i < 3; i++) assert.equal(await check(), 'pass');
    well(await shop.execute(CREATE, ISSUE));
    assert.equal(await check(), 'fail');
    assert.equal(shop.up.seen.length, 1);
  });

  test('an answer from the cache costs as any other', async (t) => {
    const shop = await startShop(t, {
      config: { rate_limits: { tool_execute: { max_calls_per_session: 2 } }, cache: { read_only: true } },
    });
    for (let i = 0; i < 2; i++) well(await shop.execute(LIST));
    limited(await shop.execute(LIST), 'tool_execute/session');
    assert.equal(shop.up.seen.length, 1);
  });

  test('without limits there are none', async (t) => {
    const shop = await startShop(t);
    for (let i = 0; i < 50; i++) well(await shop.execute(CREATE, ISSUE));
  });
});

describe('dry run', () => {
  const scope = suiteScope();
  let shop;
  before(async () => { shop = await startShop(scope, { runs: { create_issue: () => LONG } }); });
  const dry = (id, args) => shop.execute(id, args, { dry_run: true });

  test('is an argument of tool_execute', async () => {
    const { inputSchema } = (await shop.client.tools()).find(({ name }) => name === 'tool_execute');
    assert.equal(inputSchema.properties.dry_run.type, 'boolean');
    assert.ok(!inputSchema.required.includes('dry_run'));
  });

  test('reports what would be called, and calls nothing', async () => {
    const result = await dry(CLOSE, { issue_id: 5 });
    well(result);
    const report = result.structuredContent;
    assert.deepEqual(JSON.parse(textOf(result)), report);
    const { checks, ...rest } = report;
    assert.deepEqual(rest, {
      dry_run: true, tool_id: CLOSE, upstream_name: 'close_issue', args_valid: true,
      annotations: { destructiveHint: true, verified: false },
    });
    const passed = checks.filter(({ status }) => status === 'pass').map(({ name }) => name);
    for (const name of ['schema_validation', 'rate_limit']) assert.ok(passed.includes(name), JSON.stringify(checks));
    assert.deepEqual(shop.up.seen, []);
  });

  test('says of a tool without annotations only that nobody verified them', async () => {
    const { annotations } = (await dry(CREATE, ISSUE)).structuredContent;
    assert.deepEqual(annotations, { verified: false });
  });

  test('refuses as the call would', async () => {
    assert.deepEqual(faultOf(await dry(CREATE, {}), 'ARGS_INVALID'), faultOf(await shop.execute(CREATE, {})));
    faultOf(await dry('github:none@1', {}), 'HYDRATE_FAILED');
    assert.deepEqual(shop.up.seen, []);
  });

  test('that is false is a call, which keeps what is long', async () => {
    const result = await shop.execute(CREATE, ISSUE, { dry_run: false });
    assert.deepEqual(shop.up.seen, [['create_issue', ISSUE]]);
    assert.equal(textOf(await shop.view(handleOf(result), { type: 'head', chars: 6 })), 'a line');
  });
});

describe('cache', () => {
  const on = (more) => ({ cache: { read_only: true, ...more } });
  const hit = (result) => provenanceOf(result).cache_hit;

  for (const [size, answer] of [['short', text('two issues')], ['long', LONG]]) {
    test(`the same read-only call is made once, and the second answer says so (${size})`, async (t) => {
      const shop = await startShop(t, { config: on(), runs: { list_issues: () => answer } });
      const first = await shop.execute(LIST, { repo: 'a', state: 'open' });
      const second = await shop.execute(LIST, { state: 'open', repo: 'a' });
      assert.equal(shop.up.seen.length, 1, 'whatever the order of arguments');
      assert.deepEqual([hit(first), hit(second)], [undefined, true]);
      assert.deepEqual(second.content, first.content);
      if (size === 'long') {
        assert.deepEqual(second.structuredContent.artifacts, first.structuredContent.artifacts);
        well(await shop.view(handleOf(second), { type: 'head' }));
      }
    });
  }

  test('other arguments are another call', async (t) => {
    const shop = await startShop(t, { config: on() });
    for (const args of [{ page: 1 }, { page: 2 }, { repo: '1' }, {}])
      assert.equal(hit(await shop.execute(LIST, args)), undefined);
    assert.equal(shop.up.seen.length, 4);
  });

  test('tools that may change something are always called', async (t) => {
    const shop = await startShop(t, { config: on() });
    for (let i = 0; i < 2; i++) well(await shop.execute(CREATE, ISSUE));
    for (let i = 0; i < 2; i++) well(await shop.execute(CLOSE, { issue_id: 1 }));
    assert.equal(shop.up.seen.length, 4);
  });

  test('errors are not kept', async (t) => {
    const shop = await startShop(t, {
      config: on(),
      runs: {
        list_issues: (args, entry, count) => {
          if (count === 1) return { ...text('not now'), isError: true };
          if (count === 2) throw new RpcError(-32000, 'nor now');
          return text(`answer ${count}`);
        },
      },
    });
    assert.equal((await shop.execute(LIST)).isError, true);
    faultOf(await shop.execute(LIST), 'UPSTREAM_ERROR');
    assert.equal(textOf(await shop.execute(LIST)), 'answer 3');
    assert.equal(textOf(await shop.execute(LIST)), 'answer 3');
  });

  test('a change of the catalog forgets all of it', async (t) => {
    const shop = await startShop(t, { config: on(), runs: { list_issues: (args, entry, n) => text(`answer ${n}`) } });
    await shop.execute(LIST);
    shop.up.tools = shop.up.tools.filter((tool) => tool.name !== 'create_issue');
    await shop.up.changed('tools');
    const listed = async () => cardsOf(await shop.client.call('tool_browse', { path: '/github' })).length;
    await until(async () => (await listed()) === 2, 'the new list');
    assert.equal(textOf(await shop.execute(LIST)), 'answer 2');
  });

  test('it is off unless the operator turns it on', async (t) => {
    for (const config of [undefined, { cache: { ttl: 60 } }, { cache: { read_only: false } }]) {
      const shop = await startShop(t, { config });
      for (let i = 0; i < 2; i++) assert.equal(hit(await shop.execute(LIST)), undefined);
      assert.equal(shop.up.seen.length, 2);
    }
  });

  for (const [form, name] of [['ids', LIST], ['client-safe names', 'github__list_issues']])
    test(`a list of tools narrows it, by ${form}`, async (t) => {
      const shop = await startShop(t, {
        config: on({ allow: [name] }),
        more: { read: { annotations: { readOnlyHint: true }, run: () => text('read'), _meta: { version: '1' } } },
      });
      for (let i = 0; i < 2; i++) await shop.execute(LIST);
      for (let i = 0; i < 2; i++) await shop.execute('github:read@1');
      assert.deepEqual(shop.up.seen.map(([called]) => called), ['list_issues', 'read', 'read']);
    });

  test('what was used last stays when there is no room', async (t) => {
    const shop = await startShop(t, { config: on({ max_entries: 2 }) });
    const hits = [];
    for (const page of [1, 2, 1, 3, 1, 2]) hits.push(hit(await shop.execute(LIST, { page })) ?? false);
    assert.deepEqual(hits, [false, false, true, false, true, false]);
  });

  test('a dry run neither asks it nor fills it', async (t) => {
    const shop = await startShop(t, { config: on() });
    assert.equal((await shop.execute(LIST, {}, { dry_run: true })).structuredContent.dry_run, true);
    assert.equal(hit(await shop.execute(LIST)), undefined);
    assert.equal((await shop.execute(LIST, {}, { dry_run: true })).structuredContent.dry_run, true);
    assert.equal(shop.up.seen.length, 1);
  });

  test('a tool that says it reads and destroys is not trusted', async (t) => {
    const annotations = { readOnlyHint: true, destructiveHint: true };
    const up = await other('stdio', 'odd', { more: { both: { annotations, _meta: { version: '1' } } } });
    const shop = await startShop(t, { config: on(), servers: { odd: up } });
    for (let i = 0; i < 2; i++) await shop.execute('odd:both@1');
    assert.equal(up.seen.length, 2);
  });

  test('one token never gets what was answered to another', async (t) => {
    const tokens = ['token-of-the-first-client', 'token-of-the-other-one'];
    const shop = await startShop(t, {
      config: { ...on(), auth: { tokens } }, client: 'http', token: tokens[0],
      runs: { list_issues: (args, entry, n) => text(`answer ${n}`) },
    });
    const as = async (token) => {
      const client = new HttpClient(shop.gateway.url, { headers: { authorization: `Bearer ${token}` } });
      onEnd(t, () => client.close());
      await client.connect();
      return client;
    };
    const [first, second] = [await as(tokens[0]), await as(tokens[1])];
    const list = async (client) => textOf(await client.call('tool_execute', { tool_id: LIST, args: {} }));
    assert.deepEqual([await list(first), await list(second), await list(first), await list(second)],
      ['answer 1', 'answer 2', 'answer 1', 'answer 2']);
  });
});
