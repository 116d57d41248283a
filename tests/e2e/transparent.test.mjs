// SPDX-License-Identifier: Apache-2.0
// The mode transparent: every tool is listed, without its schema; tool_hydrate gives the schema, tool_execute calls.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { MODERN, SDKS } from './lib/clients.mjs';
import { startGateway as startProgram, stdioGateway } from './lib/gateway.mjs';
import { faultOf, handleOf, namesOf, open, snapshot, startMeta, textOf, viewAll } from './lib/meta.mjs';
import { onEnd, REVISIONS, RpcError, until } from './lib/raw.mjs';
import { accept, ask, ASKABLE, cancelled, form, handshakeServer, text } from './lib/stateless.mjs';
import { countTokens } from './lib/tokens.mjs';

const META = ['tool_hydrate', 'tool_execute', 'tool_view'];
const SCHEMA = { type: 'object', properties: { title: { type: 'string', maxLength: 9 } }, required: ['title'] };
const CREATE = 'github:create_issue@1.4.0', SAFE = 'github__create_issue';
const ZEBRA = {
  tools: [
    { name: 'zebra', description: 'Last by name, first as listed.' },
    { name: 'create', description: `Does a lot. ${'And then some more of it, in many words. '.repeat(60)}` },
    { name: 'lines', description: 'one\n\n  two\u202e\u200b\tthree\u0007' },
    { name: 'plain' },
  ],
};
const GITHUB = {
  tools: [{ name: 'create_issue', description: 'Open an issue.', inputSchema: SCHEMA, _meta: { version: '1.4.0' } }],
  resources: [{ uri: 'docs://guide', name: 'Guide', text: '# Guide' }],
  replies: { tools: { create_issue: { content: [{ type: 'text', text: 'issue\n'.repeat(3000) }] } } },
};
const servers = (t) => ({ zoo: snapshot(t, ZEBRA), github: snapshot(t, GITHUB) });
const start = (t, options) => startMeta(t, { mode: 'transparent', ...options });
const stripped = (tools) => tools.slice(0, -META.length);

describe('what is listed', () => {
  test('with transparent.names: id, every tool under its id', async (t) => {
    const client = await open(t, await start(t, { servers: servers(t), config: { transparent: { names: 'id' } } }));
    const ids = namesOf(stripped(await client.tools()));
    assert.deepEqual(ids, [...ids].sort());
    assert.deepEqual(ids.map((id) => id.replace(/#[0-9a-f]{8}$/, '')),
      [CREATE, 'zoo:create', 'zoo:lines', 'zoo:plain', 'zoo:zebra']);
  });

  test('names that are too long, have other characters or are ambiguous end in a hash of the id', async (t) => {
    const odd = ['a.b', 'a b', 'a/b', '_x', 'x'.repeat(80), 'ok'];
    const up = { my_up: snapshot(t, { tools: odd.map((name) => ({ name })),
      replies: { tools: Object.fromEntries(odd.map((name) => [name, { content: [{ type: 'text', text: name }] }])) } }) };
    const client = await open(t, await start(t, { servers: up }));
    const names = namesOf(stripped(await client.tools()));
    assert.equal(new Set(names).size, odd.length);
    for (const name of names) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/);
    assert.deepEqual(names.filter((name) => !/_[0-9a-f]{8}$/.test(name)), ['my_up__ok']);
    const called = await Promise.all(names.map(async (name) => textOf(await client.call(name, {}))));
    assert.deepEqual(called.sort(), [...odd].sort());
  });

  test('every tool under a name that all clients take, with a short description and no schema; then the meta-tools', async (t) => {
    const client = await open(t, await start(t, { servers: servers(t) }));
    const tools = await client.tools();
    assert.deepEqual(namesOf(tools.slice(-META.length)), META);
    assert.deepEqual(namesOf(stripped(tools)), [SAFE, 'zoo__create', 'zoo__lines', 'zoo__plain', 'zoo__zebra']);
    for (const tool of stripped(tools)) {
      assert.deepEqual(Object.keys(tool), ['name', 'description', 'inputSchema']);
      assert.deepEqual(tool.inputSchema, { type: 'object' });
      assert.ok(countTokens(tool.description) <= 60, tool.description);
    }
    const [issue, long, lines] = stripped(tools);
    assert.equal(issue.description, 'Open an issue.');
    assert.match(long.description, /^Does a lot\. And then .*\.$/, 'cut behind a sentence');
    assert.equal(lines.description, 'one two three', 'on one line');
  });

  test('the meta-tools take at most 400 tokens', async (t) => {
    const client = await open(t, await start(t, { servers: servers(t) }));
    const count = countTokens(JSON.stringify((await client.tools()).slice(-META.length)));
    assert.ok(count <= 400, `${count} tokens`);
  });

  test('page by page: as many as configured, each once, the meta-tools on the last', async (t) => {
    const gateway = await start(t, { servers: servers(t), config: { limits: { page_size: 2 } } });
    for (const kind of ['http', 'stateless http']) {
      const client = await open(t, gateway, kind);
      const pages = [];
      let cursor;
      do {
        const page = await client.ask('tools/list', cursor === undefined ? {} : { cursor });
        pages.push(namesOf(page.tools));
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      assert.deepEqual(pages.map((page) => page.length), [2, 2, 1 + META.length]);
      assert.equal(new Set(pages.flat()).size, 8);
      await assert.rejects(client.ask('tools/list', { cursor: 'x' }), { code: -32602 });
      await assert.rejects(client.ask('tools/list', { cursor: 5 }), { code: -32602 });
      assert.deepEqual(client.problems, []);
    }
  });

  for (const rev of REVISIONS) {
    test(`to clients of ${rev}, on HTTP and stdio`, async (t) => {
      const gateway = await start(t, { servers: servers(t) });
      const child = await start(t, { servers: servers(t), transport: 'stdio' });
      for (const client of [await open(t, gateway, 'http', { rev }), await open(t, child, 'stdio', { rev })]) {
        assert.equal((await client.tools()).length, 5 + META.length);
        assert.deepEqual(client.problems, []);
      }
    });
  }

  test('on HTTP+SSE', async (t) => {
    const client = await open(t, await start(t, { servers: servers(t) }), 'sse', { rev: '2024-11-05' });
    assert.equal((await client.tools()).length, 5 + META.length);
  });

  test('and to stateless clients, who are told that it is for them alone', async (t) => {
    const child = await start(t, { servers: servers(t), transport: 'stdio' });
    const client = await open(t, child, 'stateless stdio');
    const page = await client.ask('tools/list');
    assert.deepEqual([page.ttlMs, page.cacheScope, page.tools.length], [0, 'private', 5 + META.length]);
    assert.deepEqual(client.problems, []);
  });
});

describe('tool_hydrate', () => {
  const hydrate = (client, tool_id) => client.call('tool_hydrate', { tool_id });
  test('gives the description and the schema as they are, as text and as JSON', async (t) => {
    const client = await open(t, await start(t, { servers: servers(t) }));
    const result = await hydrate(client, CREATE);
    assert.equal(result.isError, false);
    assert.deepEqual(result.structuredContent, {
      tool_id: CREATE, description: 'Open an issue.', args_schema: SCHEMA, examples: [], constraints: {},
    });
    assert.deepEqual(JSON.parse(textOf(result)), result.structuredContent);
    assert.deepEqual((await hydrate(client, 'zoo__plain')).structuredContent.args_schema, {});
    assert.deepEqual(await hydrate(client, SAFE), result, 'by its other name');
  });

  test('gives the output schema too, if it is one that can be used', async (t) => {
    const output = { type: 'object', properties: { number: { type: 'integer' } } };
    const tools = [{ name: 'good', outputSchema: output }, { name: 'bad', outputSchema: { type: 'nothing' } },
      { name: 'deep', outputSchema: { type: 'object', properties: { a: { properties: { b: { properties: { c: {} } } } } } } }];
    const config = { schema_limits: { max_depth: 4 } };
    const client = await open(t, await start(t, { servers: { up: snapshot(t, { tools }) }, config }));
    const shown = async (name) => (await hydrate(client, `up:${name}`)).structuredContent.output_schema;
    assert.deepEqual(await shown('good'), output);
    assert.equal(await shown('bad'), undefined);
    assert.equal(await shown('deep'), undefined);
  });

  test('takes an id without its version, and suggests an id that is near', async (t) => {
    const client = await open(t, await start(t, { servers: servers(t) }));
    assert.equal((await hydrate(client, 'github:create_issue')).structuredContent.tool_id, CREATE);
    const fault = faultOf(await hydrate(client, 'github:create_isue'), 'TOOL_NOT_FOUND');
    assert.deepEqual([fault.path, fault.details.suggestions[0]], ['github:create_isue', CREATE]);
    assert.ok(fault.message.includes(CREATE), fault.message);
    for (const args of [{}, { tool_id: 5 }, { tool_id: null }])
      assert.match(faultOf(await client.call('tool_hydrate', args), 'ARGS_INVALID').message, /needs tool_id/);
    const extra = await client.call('tool_hydrate', { tool_id: CREATE, args: {} });
    assert.match(faultOf(extra, 'ARGS_INVALID').message, /"args"/);
  });
});

describe('calling', () => {
  for (const kind of ['http', 'stateless http']) {
    test(`with tool_execute and by the id itself is the same (${kind})`, async (t) => {
      const client = await open(t, await start(t, { servers: servers(t) }), kind);
      const args = { title: 'x' };
      const executed = await client.call('tool_execute', { tool_id: CREATE, args });
      const called = await client.call(CREATE, args);
      assert.equal(textOf(await client.call(SAFE, args)), textOf(called), 'by its other name');
      assert.deepEqual(called, executed);
      assert.ok(countTokens(textOf(called)) <= 500);
      assert.equal(await viewAll(client, handleOf(called)), 'issue\n'.repeat(3000));
      const lacking = [await client.call('tool_execute', { tool_id: CREATE, args: {} }), await client.call(CREATE)];
      for (const result of lacking) assert.deepEqual(faultOf(result, 'ARGS_INVALID').details.schema, SCHEMA);
      assert.deepEqual(client.problems, []);
    });
  }

  test('a direct call whose arguments are no object is refused, not called without', async (t) => {
    const up = await handshakeServer('http', { name: 'up', tools: { echo: (args) => text(JSON.stringify(args)) } });
    const client = await open(t, await start(t, { servers: { up } }));
    const [{ name }] = await client.tools();
    for (const wrong of [[], ['a'], 'x', 5, true]) {
      const { result, error } = await client.request('tools/call', { name, arguments: wrong });
      if (!error) faultOf(result, 'ARGS_INVALID');
    }
    assert.equal(up.calls, 0);
    assert.equal(textOf(await client.call(name, { a: 1 })), '{"a":1}');
  });

  test('what is no tool is an error of the request', async (t) => {
    const client = await open(t, await start(t, { servers: servers(t) }));
    for (const name of ['create_issue', 'tool_browse', 'github:create_isue', 'resource_read', ''])
      await assert.rejects(client.call(name), { code: -32602 }, name);
    for (const method of ['resources/list', 'prompts/list', 'resources/read'])
      await assert.rejects(client.ask(method, {}), { code: -32601 }, method);
  });

  test('by id can be cancelled, brings progress, and asks', async (t) => {
    const up = await handshakeServer('http', { name: 'up', tools: {
      hold: () => undefined,
      step: async (args, { msg, peer, ctx }) => {
        const { progressToken } = msg.params._meta;
        await peer.notify('notifications/progress', { progressToken, progress: 1 }, ctx);
        return text(JSON.stringify(await ask({ peer, ctx }, 'elicitation/create', form('Who?'))));
      },
      fail: () => { throw new RpcError(-31999, 'broken'); },
    } });
    const gateway = await start(t, { servers: { up } });
    for (const kind of ['http', 'stateless http']) {
      const client = await open(t, gateway, kind, { capabilities: ASKABLE });
      client.handlers.set('elicitation/create', () => accept('Ada'));
      const [fail, hold, step] = namesOf(await client.tools());
      const call = client.start(hold);
      const entry = await up.next((e) => e.msg?.method === 'tools/call' && e.msg.params.name === 'hold', 'hold');
      await call.cancel();
      await cancelled(up, entry);
      call.abandon();
      const told = client.next('notifications/progress');
      const result = client.ask('tools/call', { name: step, arguments: {}, _meta: { progressToken: 'p' } });
      assert.equal((await told).msg.params.progressToken, 'p');
      assert.match(textOf(await result), /Ada/);
      assert.equal(faultOf(await client.call(fail), 'UPSTREAM_ERROR').details.code, -31999);
    }
  });

  for (const [name, connect] of Object.entries({ ...SDKS, ...MODERN })) {
    test(`by ${name}, on HTTP and stdio`, async (t) => {
      const options = { servers: servers(t), mode: 'transparent' };
      for (const target of [await startProgram(t, options), stdioGateway(t, options)]) {
        const session = await connect(target);
        onEnd(t, () => session.close());
        assert.equal((await session.listTools())[0].name, SAFE);
        const { structuredContent } = await session.callTool('tool_hydrate', { tool_id: CREATE });
        assert.deepEqual(structuredContent.args_schema, SCHEMA);
        for (const name of [CREATE, SAFE])
          assert.match(textOf(await session.callTool(name, { title: 'x' })), /^issue\nissue/);
      }
    });
  }
});

test('changes of the tools are told, those of anything else are not', async (t) => {
  const CHANGED = 'notifications/tools/list_changed';
  for (const kind of ['stdio', 'stateless stdio']) {
    const up = await handshakeServer('stdio', { name: 'up', tools: { first: () => text('1') } });
    let prompts = [], asked = 0;
    up.on('prompts/list', () => (asked++, { prompts }));
    const client = await open(t, await start(t, { servers: { up }, transport: 'stdio' }), kind);
    assert.equal((await client.tools()).length, 1 + META.length);
    const watch = await client.watchTools();
    watch.drop(CHANGED);

    prompts = [{ name: 'ask' }];
    const before = asked;
    await up.changed('prompts');
    await until(() => asked > before, 'the prompts to be listed again');
    await client.roundTrip();

    up.tools = [...up.tools, { name: 'second', inputSchema: { type: 'object' } }];
    await up.changed('tools');
    await watch.next(CHANGED);
    assert.deepEqual(namesOf(await client.tools()).slice(0, 2), ['up__first', 'up__second']);
    assert.equal(client.inbox.has(CHANGED), false, 'once');
    assert.deepEqual(client.problems, []);
  }
});

test('the list does not depend on what was hydrated, even where cache_stable is on', async (t) => {
  const gateway = await start(t, { servers: servers(t), config: { cache_stable: true } });
  const client = await open(t, gateway);
  const before = JSON.stringify(await client.tools());
  await client.call('tool_hydrate', { tool_id: CREATE });
  assert.equal(JSON.stringify(await client.tools()), before, 'the list is in order of ids anyhow');
});
