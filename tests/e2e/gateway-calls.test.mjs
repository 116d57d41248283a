// SPDX-License-Identifier: Apache-2.0
// The mode gateway: what tool_execute, tool_view, resource_read and prompt_get bring back, and what may happen meanwhile:
// a server tells how far it is, takes too long, fails, goes away.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { before, describe, test } from 'node:test';

import { callWith, MODERN as MODERN_CLIENTS, SDKS } from './lib/clients.mjs';
import {
  cardsOf, connect, execute, faultOf, handleOf, idOf, open, snapshot, startMeta, textOf, unmarked, viewAll,
  withoutEnvelope,
} from './lib/meta.mjs';
import { suiteScope, tempDir } from './lib/process.mjs';
import { HttpClient, onEnd, RpcError, until } from './lib/raw.mjs';
import { everything, filesystem, memory } from './lib/servers.mjs';
import {
  accept, ask, ASKABLE, cancelled, form, handshakeServer, key, SERVERS, statelessServer, text,
} from './lib/stateless.mjs';
import { countTokens } from './lib/tokens.mjs';

const KINDS = ['http', 'stdio', 'stateless http', 'stateless stdio'];
const LONG = 'no end '.repeat(10_000);

/** The id of a tool that the server offers only to clients like this one: seen when the first call has opened their connection. */
async function idAfterFirstCall(client, namespace, name) {
  await execute(client, namespace, 'echo', { message: 'first' });
  return until(() => idOf(client, namespace, name).catch(() => undefined), `${name} at ${namespace}`);
}

describe('results of real servers', () => {
  const scope = suiteScope();
  const dir = tempDir(scope);
  const lines = Array.from({ length: 2000 }, (_, i) => `${i}: größer 🙂 "${'x'.repeat(i % 50)}"\t日本`);
  fs.writeFileSync(path.join(dir, 'small.txt'), 'one line\n');
  fs.writeFileSync(path.join(dir, 'large.txt'), lines.join('\n'));
  fs.writeFileSync(path.join(dir, 'long.txt'), LONG);
  let gateway, direct, client;
  before(async () => {
    const servers = { all: everything(), files: filesystem(dir), memory: memory(path.join(dir, 'memory.json')) };
    gateway = await startMeta(scope, { servers, config: { modes: ['direct'] } });
    client = await open(scope, gateway);
    direct = await new HttpClient(gateway.url, { path: '/mcp/direct' }).connect();
    onEnd(scope, () => direct.close());
  });

  const file = (name) => ({ path: path.join(dir, name) });
  for (const [server, name, args] of [
    ['all', 'echo', { message: 'hello "you"' }],
    ['all', 'get-sum', { a: 1.5, b: 2 }],
    ['all', 'get-structured-content', { location: 'Chicago' }],
    ['all', 'get-tiny-image', {}],
    ['all', 'get-annotated-message', { messageType: 'error', includeImage: true }],
    ['all', 'get-resource-links', { count: 3 }],
    ['all', 'get-resource-reference', { resourceType: 'Text', resourceId: 1 }],
    ['files', 'read_text_file', file('small.txt')],
    ['files', 'list_directory', { path: dir }],
    ['files', 'read_text_file', file('none.txt')],
    ['memory', 'read_graph', {}],
  ]) {
    test(`${name} ${JSON.stringify(args).slice(0, 30)} gives what it gives in the mode direct`, async () => {
      assert.deepEqual(withoutEnvelope(await execute(client, server, name, args)), await direct.call(name, args));
    });
  }

  test('what a tool reports as an error stays one', async () => {
    const result = await execute(client, 'files', 'read_text_file', file('none.txt'));
    assert.equal(result.isError, true);
    assert.match(textOf(result), /ENOENT/);
  });

  test('a long result is cut to 500 tokens, with handles by which all of it can be read', async () => {
    const result = await execute(client, 'files', 'read_text_file', file('large.txt'));
    const shown = textOf(result);
    assert.ok(countTokens(shown) <= 500, `${countTokens(shown)} tokens`);
    assert.ok(countTokens(shown) > 300, 'much of what may be shown is');
    assert.ok(shown.startsWith(lines.slice(0, 5).join('\n')), 'it begins as the file does');
    const { status, summary, artifacts, provenance } = result.structuredContent;
    assert.equal(status, 'ok');
    assert.ok(shown.startsWith(summary.slice(0, 100)));
    assert.equal(provenance.tool_id, await idOf(client, 'files', 'read_text_file'));
    const handle = handleOf(result);
    assert.ok(shown.includes(handle), 'the text names the handle');
    const whole = lines.join('\n');
    assert.equal(artifacts.find((a) => a.handle === handle).size_bytes, Buffer.byteLength(whole));
    assert.deepEqual(artifacts.map((a) => a.handle), [handle], 'structured content that is this text is not kept twice');
    assert.equal(await viewAll(client, handle), whole);
  });

  test('lines, the end, and nothing of a kept piece', async () => {
    const handle = handleOf(await execute(client, 'files', 'read_text_file', file('large.txt')));
    const view = async (selector) => unmarked(textOf(await client.call('tool_view', { handle, selector })));
    assert.equal(await view({ type: 'lines', start: 10, end: 13 }), lines.slice(10, 13).join('\n'));
    assert.equal(await view({ type: 'rows', start: -2 }), lines.slice(-2).join('\n'));
    assert.equal(await view({ type: 'head', chars: 8 }), lines[0].slice(0, 8));
    assert.equal(await view({ type: 'lines', start: 6000 }), '… out of range: there are 2000 lines, counted from 0');
    const cut = await view({ type: 'lines' });
    const [, from] = /\n… cut at line (\d+) of 2000; go on with \{"type":"lines","start":\1,"end":2000\}$/.exec(cut);
    assert.equal(cut.slice(0, cut.lastIndexOf('…')), `${lines.slice(0, from).join('\n')}\n`);
    for (const selector of [{}, { type: 'tail' }, { type: 'head', chars: 'x' }, { type: 'json_keys', keys: ['a'] }]) {
      const fault = faultOf(await client.call('tool_view', { handle, selector }), 'VIEW_FAILED');
      assert.equal(fault.path, handle);
    }
  });

  test('one line without end is read to its end too', async () => {
    const handle = handleOf(await execute(client, 'files', 'read_text_file', file('long.txt')));
    assert.equal(await viewAll(client, handle), LONG);
  });

  test('what a server offers only to clients that can be asked, others neither find nor call', async (t) => {
    const able = await open(t, gateway, 'http', { capabilities: ASKABLE });
    able.handlers.set('roots/list', () => ({ roots: [] }));
    const tool_id = await idAfterFirstCall(able, 'all', 'trigger-elicitation-request');
    const count = async (who) => {
      const cards = cardsOf(await who.call('tool_browse', { path: '/' }));
      return Number(/^(\d+) tools/.exec(cards.find((card) => card.id === '/all').description)[1]);
    };
    assert.ok(await count(able) > await count(client), 'counts do not tell of them either');
    const fault = faultOf(await client.call('tool_execute', { tool_id, args: {} }), 'HYDRATE_FAILED');
    assert.equal(fault.details.suggestions.includes(tool_id), false);
    const found = cardsOf(await client.call('tool_browse', { query: 'trigger elicitation request', top_k: 50 }));
    assert.equal(found.some((card) => card.id === tool_id), false);
  });

  for (const [name, connectTo] of Object.entries({ ...SDKS, ...MODERN_CLIENTS })) {
    test(`${name} is asked for what a tool needs to know, and told how far it is`, async (t) => {
      const session = await connectTo({ url: `${gateway.url}/mcp` }, { roots: [{ uri: 'file:///projects' }] });
      onEnd(t, () => session.close());
      const caller = { call: (tool, args) => session.callTool(tool, args) };
      await idAfterFirstCall(caller, 'all', 'trigger-elicitation-request');
      for (const [tool, args, answer] of [
        ['trigger-elicitation-request', {}, /Ada/],
        ['trigger-sampling-request', { prompt: 'p' }, /sampled/],
        ['get-roots-list', {}, /file:\/\/\/projects/],
      ]) {
        const result = await execute(caller, 'all', tool, args);
        assert.match(JSON.stringify(result.content), answer, tool);
      }
      const tool_id = await idOf(caller, 'all', 'trigger-long-running-operation');
      const call = { name: 'tool_execute', arguments: { tool_id, args: { duration: 0.2, steps: 2 } } };
      const result = await callWith(name, session, call, { onprogress: () => {} });
      assert.match(textOf(result), /completed/i);
      const told = session.received.filter((msg) => msg.method === 'notifications/progress');
      assert.deepEqual(told.map((msg) => msg.params.progress), [1, 2]);
    });
  }
});

describe('a result that is larger than its budget', () => {
  const large = { content: [{ type: 'text', text: 'line\n'.repeat(5000) }] };
  const rows = Array.from({ length: 500 }, (_, id) => ({ id, name: `row ${id}` }));
  const data = Buffer.alloc(300_000, 7).toString('base64');
  const catalog = {
    tools: ['fails', 'table', 'image', 'small'].map((name) => ({ name })),
    replies: {
      tools: {
        fails: { ...large, isError: true, _meta: { 'example.com/kept': 1 } },
        table: { content: [{ type: 'text', text: JSON.stringify({ total: 500, rows }) }],
          structuredContent: { total: 500, rows } },
        image: { content: [{ type: 'image', data, mimeType: 'image/png' }] },
        small: { content: [{ type: 'text', text: 'word '.repeat(100) }] },
      },
    },
  };

  test('stays an error, and keeps what else it said', async (t) => {
    const client = await connect(t, 'http', { up: snapshot(t, catalog) });
    const result = await execute(client, 'up', 'fails');
    assert.equal(result.isError, true);
    assert.deepEqual(withoutEnvelope(result)._meta, { 'example.com/kept': 1 });
    assert.equal(result.structuredContent.status, 'error');
    assert.equal(await viewAll(client, handleOf(result)), 'line\n'.repeat(5000));
  });

  test('that is JSON can be read by its members', async (t) => {
    const client = await connect(t, 'http', { up: snapshot(t, catalog) });
    const handle = handleOf(await execute(client, 'up', 'table'));
    const view = await client.call('tool_view', { handle, selector: { type: 'json_keys', keys: ['total'] } });
    assert.deepEqual(JSON.parse(textOf(view)), { total: 500 });
    assert.deepEqual(JSON.parse(await viewAll(client, handle)), { total: 500, rows });
  });

  test('that is a large image is kept, and said to be', async (t) => {
    const client = await connect(t, 'http', { up: snapshot(t, catalog) });
    const result = await execute(client, 'up', 'image');
    const [{ handle, media_type, size_bytes }] = result.structuredContent.artifacts;
    assert.deepEqual([media_type, size_bytes], ['image/png', 300_000]);
    assert.ok(textOf(result).includes(handle));
  });

  test('result.budget says what is large', async (t) => {
    const client = await connect(t, 'http', { up: snapshot(t, catalog) }, { config: { result: { budget: 60 } } });
    const result = await execute(client, 'up', 'small');
    assert.ok(countTokens(textOf(result)) <= 60, textOf(result));
    assert.equal(await viewAll(client, handleOf(result)), 'word '.repeat(100));
  });

  test('is all text where structured content is off', async (t) => {
    const config = { gateway: { structured: false } };
    const client = await connect(t, 'http', { up: snapshot(t, catalog) }, { config });
    const id = async (name) => {
      const [, found] = new RegExp(`(up:${name}#\\w+)`).exec(textOf(await client.call('tool_browse', { path: '/up' })));
      return found;
    };
    const result = await client.call('tool_execute', { tool_id: await id('table'), args: {} });
    assert.equal(result.structuredContent, undefined);
    const [, handle] = /tool_view handle="([^"]+)"/.exec(textOf(result)) ?? assert.fail(textOf(result));
    assert.deepEqual(JSON.parse(await viewAll(client, handle)), { total: 500, rows });
  });

  test('is kept for whoever has the same token, and nobody else', async (t) => {
    const tokens = ['token-of-the-first-client', 'token-of-the-other-one'];
    const gateway = await startMeta(t, { servers: { up: snapshot(t, catalog) }, config: { auth: { tokens } } });
    const [mine, again, other] = await Promise.all([tokens[0], tokens[0], tokens[1]].map((token) =>
      open(t, gateway, 'http', { headers: { authorization: `Bearer ${token}` } })));
    const handle = handleOf(await execute(mine, 'up', 'fails'));
    assert.equal(await viewAll(again, handle), 'line\n'.repeat(5000));
    const view = (client, what) => client.call('tool_view', { handle: what, selector: { type: 'head' } });
    const foreign = faultOf(await view(other, handle), 'VIEW_FAILED');
    const unknown = faultOf(await view(other, `${handle}x`), 'VIEW_FAILED');
    assert.equal(foreign.message, unknown.message);
  });
});

for (const [era, makeServer] of Object.entries(SERVERS)) {
  describe(`calls to a ${era} server`, () => {
    test('a result that was cut is in the terms of its client, and has every member once', async (t) => {
      const result = {
        content: [{ type: 'text', text: 'word '.repeat(3000) }], structuredContent: { n: 1 },
        _meta: { 'example.com/x': 1, ...(era === 'stateless' && { [key('serverInfo')]: { name: 'up', version: '1' } }) },
      };
      const up = await makeServer('http', { name: 'up', tools: { large: () => result } });
      const gateway = await startMeta(t, { servers: { up } });
      for (const kind of ['http', 'stateless http']) {
        const client = await open(t, gateway, kind);
        const args = { tool_id: await idOf(client, 'up', 'large'), args: {} };
        const { raw, result: got } = await client.request('tools/call', { name: 'tool_execute', arguments: args });
        assert.equal(raw.match(/"_meta":/g).length, 1, raw);
        assert.equal(got._meta['example.com/x'], 1);
        assert.equal(got.resultType, kind === 'http' ? undefined : 'complete');
        assert.equal(await viewAll(client, handleOf(got)), 'word '.repeat(3000));
        assert.deepEqual(client.problems, []);
      }
    });

    const holding = (kind, entry) => makeServer(kind, {
      name: 'up', entry, tools: { hold: () => undefined, echo: (args) => text(JSON.stringify(args)) },
    });

    for (const kind of KINDS) {
      test(`cancelled by the client, they end at the server (${kind})`, async (t) => {
        const up = await holding('http');
        const client = await connect(t, kind, { up });
        const args = { tool_id: await idOf(client, 'up', 'hold'), args: { n: 1 } };
        const call = client.start('tool_execute', args);
        const entry = await up.next('tools/call');
        assert.deepEqual([entry.msg.params.name, entry.msg.params.arguments], ['hold', { n: 1 }]);
        await call.cancel('enough');
        await cancelled(up, entry);
        call.abandon();
        assert.equal(textOf(await execute(client, 'up', 'echo', { a: 1 })), '{"a":1}');
      });

      test(`bring progress under the client's own token (${kind})`, async (t) => {
        const up = await makeServer('http', { name: 'up', tools: {
          step: async (args, { msg, peer, ctx }) => {
            const { progressToken } = msg.params._meta;
            for (const progress of [1, 2])
              await peer.notify('notifications/progress', { progressToken, progress }, ctx);
            return text('done');
          },
        } });
        const client = await connect(t, kind, { up });
        const params = { name: 'tool_execute', arguments: { tool_id: await idOf(client, 'up', 'step'), args: {} } };
        const result = client.ask('tools/call', { ...params, _meta: { progressToken: 'mine' } });
        for (const progress of [1, 2]) {
          const { params: told } = (await client.next('notifications/progress')).msg;
          assert.deepEqual([told.progressToken, told.progress], ['mine', progress]);
        }
        assert.equal(textOf(await result), 'done');
      });
    }

    test('that take too long are given up, and may be tried again', async (t) => {
      const up = await holding('http', { timeout: 300 });
      const client = await connect(t, 'http', { up });
      const fault = faultOf(await execute(client, 'up', 'hold'), 'UPSTREAM_TIMEOUT');
      assert.equal(fault.retryable, true);
      assert.equal(fault.details.server, 'up');
    });

    test('to one that is gone say so, and may be tried again; browsing goes on', async (t) => {
      const up = await holding('stdio');
      const client = await connect(t, 'http', { up });
      const tool_id = await idOf(client, 'up', 'hold');
      const lost = client.call('tool_execute', { tool_id, args: {} });
      await up.next('tools/call');
      up.close();
      assert.equal(faultOf(await lost, 'UPSTREAM_UNAVAILABLE').retryable, true);
      const again = faultOf(await client.call('tool_execute', { tool_id, args: {} }), 'UPSTREAM_UNAVAILABLE');
      assert.deepEqual([again.retryable, again.details.server], [true, 'up']);
      const card = async () => cardsOf(await client.call('tool_browse', { query: 'hold' }))[0];
      assert.deepEqual([(await card()).id, (await card()).available], [tool_id, false]);
    });

    test('that the server answers with an error tell its message, code and data', async (t) => {
      const up = await makeServer('http', { name: 'up', tools: {
        fail: () => { throw new RpcError(-31999, 'no\néclair\u001b[31m left', { z: 1 }); },
      } });
      const client = await connect(t, 'http', { up });
      const fault = faultOf(await execute(client, 'up', 'fail'), 'UPSTREAM_ERROR');
      assert.match(fault.message, /no.éclair.*left/);
      assert.deepEqual(fault.details, { server: 'up', code: -31999, data: { z: 1 } });
    });

    test('log messages stay where no client asked for them', async (t) => {
      const up = await makeServer('stdio', { name: 'up', tools: {
        log: async (args, { peer, ctx }) => {
          await peer.notify('notifications/message', { level: 'error', data: 'x' }, ctx);
          return text('logged');
        },
      } });
      const client = await connect(t, 'stdio', { up });
      assert.equal(textOf(await execute(client, 'up', 'log')), 'logged');
      assert.equal(client.inbox.has('notifications/message'), false);
    });
  });
}

test('arguments that a stateless server wants in headers are there, as it wants them', async (t) => {
  const inputSchema = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } };
  const up = await statelessServer('http', { name: 'up', tools: { where: { inputSchema, run: () => text('ok') } } });
  const gateway = await startMeta(t, { servers: { up } });
  for (const kind of ['http', 'stateless http']) {
    const client = await open(t, gateway, kind);
    assert.equal(textOf(await execute(client, 'up', 'where', { region: kind })), 'ok');
    const { headers } = up.requests.findLast((request) => request.headers['mcp-method'] === 'tools/call');
    assert.deepEqual([headers['mcp-name'], headers['mcp-param-region']], ['where', kind]);
  }
});

describe('resources and prompts', () => {
  const blob = Buffer.from([0, 1, 2, 255]).toString('base64');
  const long = 'a paragraph of text\n'.repeat(2000);
  const catalog = {
    resources: [
      { uri: 'docs://guide', name: 'guide', mimeType: 'text/markdown', text: '# Guide' },
      { uri: 'docs://logo', name: 'logo', mimeType: 'image/png' },
      { uri: 'docs://long', name: 'long', text: long },
    ],
    resourceTemplates: [{ uriTemplate: 'docs://page/{name}', name: 'page' }],
    prompts: [{ name: 'ask', arguments: [{ name: 'topic', required: true }] }, { name: 'picture' }],
    replies: {
      resources: {
        'docs://logo': { contents: [{ uri: 'docs://logo', mimeType: 'image/png', blob }] },
        'docs://page/one': { contents: [{ uri: 'docs://page/one', text: 'first' }] },
      },
      prompts: {
        ask: { messages: [
          { role: 'user', content: { type: 'text', text: 'What is it?' } },
          { role: 'assistant', content: { type: 'text', text: 'A topic.' } },
        ] },
        picture: { messages: [{ role: 'user', content: { type: 'image', data: blob, mimeType: 'image/png' } }] },
      },
    },
  };
  for (const kind of ['http', 'stateless http']) {
    test(`are read and got as results of a tool (${kind})`, async (t) => {
      const client = await connect(t, kind, { docs: snapshot(t, catalog) });
      const read = async (uri, more) =>
        client.call('resource_read', { resource_id: await idOf(client, 'docs', uri, 'resource'), ...more });
      const [guide] = (await read('docs://guide')).content;
      assert.equal(guide.type, 'resource');
      assert.deepEqual([guide.resource.uri, guide.resource.text], ['docs://guide', '# Guide']);
      const [logo] = (await read('docs://logo')).content;
      assert.deepEqual(logo.resource, { uri: 'docs://logo', mimeType: 'image/png', blob });
      const cut = await read('docs://long');
      assert.ok(countTokens(textOf(cut)) <= 500);
      assert.equal(await viewAll(client, handleOf(cut, 'resource')), long);

      const template = 'docs://page/{name}';
      assert.equal((await read(template, { uri: 'docs://page/one' })).content[0].resource.text, 'first');
      for (const more of [{}, { uri: 'docs://other/one' }, { uri: 5 }])
        assert.match(faultOf(await read(template, more), 'ARGS_INVALID').message, /docs:\/\/page\/\{name\}/);

      const get = async (name, args) =>
        client.call('prompt_get', { prompt_id: await idOf(client, 'docs', name, 'prompt'), args });
      const { content } = await get('ask', { topic: 't' });
      assert.deepEqual(content.map((part) => part.text), ['[user] What is it?', '[assistant] A topic.']);
      const picture = (await get('picture')).content;
      assert.deepEqual(picture.map((part) => part.type), ['text', 'image']);
      assert.equal(picture[1].data, blob);
    });
  }

  test('a resource that its server does not have any more is told as the server tells it', async (t) => {
    const up = await handshakeServer('http', { name: 'up', resources: ['test://a'] });
    const client = await connect(t, 'http', { up });
    const resource_id = await idOf(client, 'up', 'test://a', 'resource');
    const { content } = await client.call('resource_read', { resource_id });
    assert.equal(content[0].resource.text, 'contents of test://a');
    up.on('resources/read', () => { throw new RpcError(-32002, 'Resource not found', { uri: 'test://a' }); });
    const fault = faultOf(await client.call('resource_read', { resource_id }));
    assert.match(fault.message, /not found/i);
    assert.equal(fault.details.code, -32002);
  });

  test('many parts that say nothing are the results of tools too', async (t) => {
    const nothing = Array(3000).fill({});
    const client = await connect(t, 'http', { up: snapshot(t, {
      prompts: [{ name: 'many' }, { name: 'odd' }],
      resources: [{ uri: 'test://many', name: 'many' }],
      replies: {
        prompts: { many: { messages: nothing }, odd: { messages: [1, { role: 'user', content: 'a\0b' }, null] } },
        resources: { 'test://many': { contents: nothing } },
      },
    }) });
    const get = async (name) => client.call('prompt_get', { prompt_id: await idOf(client, 'up', name, 'prompt') });
    assert.equal(textOf(await get('odd')), '[user] ab');
    assert.match(textOf(await get('many')), /^\[\]( \n\[\])* *\n/);
    const resource_id = await idOf(client, 'up', 'test://many', 'resource');
    const { contents, content } = await client.call('resource_read', { resource_id });
    assert.equal(contents, undefined);
    assert.ok(content.length > 0);
  });

  test('a server may ask while it fills in a prompt', async (t) => {
    const up = await handshakeServer('http', { name: 'up', prompts: {
      who: async (entry) => {
        const { content } = await ask(entry, 'elicitation/create', form('Who?'));
        return { messages: [{ role: 'user', content: { type: 'text', text: `I am ${content.name}` } }] };
      },
    } });
    const gateway = await startMeta(t, { servers: { up } });
    for (const kind of ['http', 'stateless http']) {
      const client = await open(t, gateway, kind, { capabilities: ASKABLE });
      client.handlers.set('elicitation/create', () => accept('Ada'));
      const prompt_id = await idOf(client, 'up', 'who', 'prompt');
      assert.equal(textOf(await client.call('prompt_get', { prompt_id })), '[user] I am Ada');
    }
  });
});

test('a tool that is gone when it is called by its id is not found, and nothing is called', async (t) => {
  const up = await handshakeServer('http', { name: 'up', tools: { old: () => text('old'), kept: () => text('kept') } });
  const client = await connect(t, 'http', { up });
  const tool_id = await idOf(client, 'up', 'old');
  up.tools = up.tools.map((tool) => ({ ...tool, name: tool.name === 'old' ? 'renamed' : tool.name }));
  await up.changed('tools');
  const names = async () => cardsOf(await client.call('tool_browse', { path: '/up' })).map((card) => card.name);
  await until(async () => (await names()).includes('renamed'), 'the renamed tool');
  faultOf(await client.call('tool_execute', { tool_id, args: {} }), 'HYDRATE_FAILED');
  assert.equal(up.calls, 0);
});

test('what a server offered last is browsed when it does not come up again, and said to be unavailable', async (t) => {
  const up = await handshakeServer('http', { name: 'up', tools: { echo: () => text('hello') } });
  const options = { servers: { up: up.config() }, env: { XDG_STATE_HOME: tempDir(t) } };
  const first = await startMeta(t, options);
  const client = await open(t, first);
  const tool_id = await idOf(client, 'up', 'echo');
  assert.equal(textOf(await client.call('tool_execute', { tool_id, args: {} })), 'hello');
  await first.stop();
  up.close();
  const again = await open(t, await startMeta(t, options));
  const result = await again.call('tool_browse', { query: 'echo' });
  assert.deepEqual(cardsOf(result).map((card) => [card.id, card.available]), [[tool_id, false]]);
  assert.match(textOf(result), /\(tool, side effects, unavailable\)/);
  const fault = faultOf(await again.call('tool_execute', { tool_id, args: {} }), 'UPSTREAM_UNAVAILABLE');
  assert.equal(fault.retryable, true);
});
