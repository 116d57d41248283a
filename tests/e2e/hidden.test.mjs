// SPDX-License-Identifier: Apache-2.0
// Characters that a reader does not see, in what a server says of itself: no mode shows them to an agent.
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test } from 'node:test';

import { envelopeOf, open, startMeta } from './lib/meta.mjs';
import { tempDir, until, writeJson } from './lib/process.mjs';
import { RpcError, startGateway } from './lib/raw.mjs';
import { accept, ask, ASKABLE, form, handshakeServer, HttpCaller, text } from './lib/stateless.mjs';

const TAGS = '\u{e0068}\u{e0069}';  // "hi"
const HIDDEN = `\u001b[8m\u0007\u0085\u200b\u200e\u202e\u2066\ufeff\u2060\u180e\u061c${TAGS}`;
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/u;
const KEPT = '\u{1f469}\u200d\u{1f52c} \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u05e9\u05dc\u05d5\u05dd\nline two\r\nline three';

/** No string in the value has hidden characters. JSON.stringify writes C0 controls as escapes; CR LF is a line end. */
function assertSeen(value) {
  const json = JSON.stringify(value).replaceAll('\\r\\n', '');
  assert.doesNotMatch(json, UNSEEN);
  assert.doesNotMatch(json, /(?<!\\)\\([bfr]|u00[01])/);
}

const TOOL = {
  description: `Reads${HIDDEN} a file. ${KEPT}`,
  annotations: { title: `Read${HIDDEN}` },
  inputSchema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: `where${HIDDEN}`, pattern: '^[^\u200b]*$' },
      ending: { enum: ['\n', '\r\n'] },
      [`x${HIDDEN}`]: { type: 'string' },
    },
  },
};
const CLEAN = { description: 'Plain\u00a0text, é', inputSchema: { type: 'object' } };

async function start(t, { mode = 'direct', config = {}, tools = {}, args, instructions = `Be kind.${HIDDEN}\nAlways.`, lists = {} } = {}) {
  const all = { [`read${HIDDEN}`]: { ...TOOL, run: () => text('it ran') }, clean: { ...CLEAN, run: () => text('clean') }, ...tools };
  const up = await handshakeServer('stdio', { name: 'files', tools: all });
  up.offers = { tools: {}, resources: {}, prompts: {} };
  up.on('initialize', (params, { peer }) => {
    peer.init = params;
    return { protocolVersion: '2025-11-25', capabilities: up.offers, serverInfo: { name: 'files', version: '1' }, instructions };
  });
  const none = { 'resources/list': { resources: [] }, 'resources/templates/list': { resourceTemplates: [] }, 'prompts/list': { prompts: [] } };
  for (const [method, list] of Object.entries({ ...none, ...lists })) up.on(method, () => list);
  const gateway = await startMeta(t, { servers: { files: up }, mode, config, args });
  return { gateway, up, client: await open(t, gateway) };
}

describe('hidden characters in mode direct', () => {
  test('are not in the definition of a tool, which is called all the same', async (t) => {
    const { client } = await start(t);
    const { tools } = await client.ask('tools/list');
    assertSeen(tools);
    const [read, clean] = tools;
    assert.equal(read.description, `Reads a file. ${KEPT}`);
    assert.equal(read.annotations.title, 'Read');
    assert.deepEqual(Object.keys(read.inputSchema.properties), ['path', 'ending', 'x']);
    assert.equal(read.inputSchema.properties.path.description, 'where');
    assert.equal(read.inputSchema.properties.path.pattern, '^[^\\u200b]*$', 'a pattern means the same');
    assert.deepEqual(read.inputSchema.properties.ending.enum, ['\n', '\r\n'], 'a value stays what it is');
    assert.equal(clean.description, CLEAN.description);
    assert.equal((await client.call(read.name, { path: 'a' })).content[0].text, 'it ran');
  });

  test('nor in resources, templates and prompts', async (t) => {
    const uri = `file:///a${TAGS}b`;
    const { client, up } = await start(t, { lists: {
      'resources/list': { resources: [{ uri, name: `a${HIDDEN}`, title: `b${HIDDEN}`, description: `c${HIDDEN}` }] },
      'resources/templates/list': { resourceTemplates: [{ uriTemplate: 'file:///t/{x}', name: `t${HIDDEN}` }] },
      'prompts/list': { prompts: [{ name: `p${HIDDEN}`, description: `q${HIDDEN}`, arguments: [{ name: 'r', description: `s${HIDDEN}` }] }] },
    } });
    const read = [];
    up.on('resources/read', (params) => {
      read.push(params.uri);
      return { contents: [{ uri, text: 'x' }] };
    });
    const { resources } = await client.ask('resources/list');
    const { resourceTemplates } = await client.ask('resources/templates/list');
    const { prompts } = await client.ask('prompts/list');
    assertSeen([resources, resourceTemplates, prompts]);
    assert.deepEqual(resources, [{ uri: `file:///a${encodeURIComponent(TAGS)}b`, name: 'a', title: 'b', description: 'c' }]);
    assert.equal(prompts[0].arguments[0].description, 's');
    await client.ask('resources/read', { uri: resources[0].uri });
    assert.deepEqual(read, [uri], 'the server gets its own URI');
  });

  test('nor in the instructions', async (t) => {
    const { gateway, client } = await start(t);
    await client.ask('tools/list');
    const again = await open(t, gateway);
    assert.match(again.server.instructions, /Be kind\.\nAlways\./);
    assert.doesNotMatch(again.server.instructions, UNSEEN);
  });

  test('and the log says so', async (t) => {
    const { gateway } = await start(t);
    await until(() => /files: .*hidden characters/.test(gateway.log), 'its line in the log');
  });

  test('a tool of which two properties would be the same is left out', async (t) => {
    const twins = { inputSchema: { type: 'object', properties: { a: {}, 'a\u200b': {} } }, run: () => text('') };
    const { client } = await start(t, { tools: { twins } });
    const { tools } = await client.ask('tools/list');
    assert.ok(tools.length === 2 && !tools.some(({ name }) => name === 'twins'));
  });
});

for (const mode of ['gateway', 'transparent', 'servers']) {
  test(`hidden characters are not shown in mode ${mode}`, async (t) => {
    const { client } = await start(t, { mode, tools: { plain: { ...TOOL, run: () => text('') } } });
    const calls = { gateway: ['tool_browse', { tool_id: 'files:plain' }], transparent: ['tool_hydrate', { tool_id: 'files__plain' }],
      servers: ['get_server_tools', { server: 'files' }] };
    const { tools } = await client.ask('tools/list');
    const said = await client.call(...calls[mode]);
    assert.match(JSON.stringify(said), /Reads a file/);
    assertSeen([client.server, tools, said]);
  });
}

describe('a tool in mode servers whose name has hidden characters', () => {
  const SHOWN = /^read_+[A-Za-z0-9_]*_[0-9a-f]{8}$/;

  test('is shown and called by a safe name, and by its own name', async (t) => {
    const { client } = await start(t, { mode: 'servers', tools: { read: { ...CLEAN, run: () => text('another one') } } });
    const { tools } = JSON.parse((await client.call('get_server_tools', { server: 'files', pattern: 'read*' })).content[0].text);
    const [{ name }] = tools.filter((tool) => tool.name !== 'read');
    assert.match(name, SHOWN);
    for (const tool of [name, `read${HIDDEN}`]) {
      const said = await client.call('execute_tool', { server: 'files', tool, args: {} });
      assert.equal(said.content[0].text, 'it ran');
    }
    assert.equal((await client.call('execute_tool', { server: 'files', tool: 'read', args: {} })).content[0].text, 'another one');
  });

  test('follows the rules for its own name', async (t) => {
    const own = `read${HIDDEN}`;
    const allow = { servers: ['files'], tools: { files: [own] } };
    const rules = { agents: { may: { allow }, not: { allow: { servers: ['files'] }, deny: { tools: { files: [own] } } } } };
    const file = writeJson(path.join(tempDir(t), 'rules.json'), rules);
    const { client } = await start(t, { mode: 'servers', args: ['--rules', file] });
    const as = (agent_id, tool) => client.call('execute_tool', { agent_id, server: 'files', tool, args: {} });
    const { tools } = (await client.call('get_server_tools', { agent_id: 'may', server: 'files' })).structuredContent;
    const [{ name }] = tools;
    assert.equal(tools.length, 1);
    assert.match(name, SHOWN);
    assert.equal((await as('may', name)).content[0].text, 'it ran');
    assert.equal((await as('not', name)).structuredContent.error.code, 'DENIED_BY_POLICY');
  });
});

describe('hidden characters in what a server answers', () => {
  const SAID = `Done.${HIDDEN} ${KEPT}\r\nthree\rfour`;
  const HEARD = `Done. ${KEPT}\r\nthree\nfour`;
  const DATA = { text: `exact${HIDDEN}` };
  const blob = Buffer.from(HIDDEN).toString('base64');
  const uri = 'file:///x';
  const result = {
    content: [{ type: 'text', text: SAID, _meta: { 'x/y': HIDDEN } }, { type: 'image', mimeType: 'image/png', data: blob },
      { type: 'resource', resource: { uri, text: SAID } }, { type: 'resource', resource: { uri, blob } },
      { type: 'resource_link', uri, name: `l${HIDDEN}`, description: `d${HIDDEN}` }],
    structuredContent: DATA,
  };
  const tools = {
    result: { ...CLEAN, run: () => result },
    error: { ...CLEAN, run: () => ({ ...text(SAID), isError: true }) },
    large: { ...CLEAN, run: () => text(`${'x'.repeat(3 << 20)}${HIDDEN}`) },
    many: { ...CLEAN, run: () => ({ content: Array(70000).fill({ type: 'text', text: `y${HIDDEN}` }) }) },
  };

  for (const mode of ['direct', 'transparent', 'servers', 'gateway']) {
    test(`are removed from texts in mode ${mode}`, async (t) => {
      const { client } = await start(t, { mode, tools, config: { result: { budget: 20000 } } });
      const names = { direct: 'result', transparent: 'files__result' };
      const calls = { servers: ['execute_tool', { server: 'files', tool: 'result', args: {} }],
        gateway: ['tool_execute', { tool_id: 'files:result', args: {} }] };
      await client.ask('tools/list');
      const said = await client.call(...(calls[mode] ?? [names[mode], {}]));
      assert.equal(said.content[0].text, HEARD);
      const embedded = said.content.find(({ resource }) => resource?.text);
      if (embedded) assert.equal(embedded.resource.text, HEARD);
      assertSeen(said.content.map(({ _meta, ...part }) => part));
    });
  }

  test('and data stays as it is', async (t) => {
    const { client } = await start(t, { tools });
    const said = await client.call('result', {});
    assert.deepEqual(said.structuredContent, DATA);
    assert.deepEqual(said.content[0]._meta, result.content[0]._meta);
    assert.equal(said.content[1].data, blob);
    assert.equal(said.content[3].resource.blob, blob);
    assert.deepEqual(said.content[4], { type: 'resource_link', uri, name: 'l', description: 'd' });
  });

  test('hidden characters are removed from the error of a tool', async (t) => {
    const { client } = await start(t, { tools });
    const said = await client.call('error', {});
    assert.ok(said.isError);
    assert.equal(said.content[0].text, HEARD);
  });

  test('hidden characters are removed from large results, and from results with many parts', async (t) => {
    const { client } = await start(t, { tools });
    assert.equal((await client.call('large', {})).content[0].text, 'x'.repeat(3 << 20));
    const { content } = await client.call('many', {});
    assert.ok(content.length === 70000 && content.every((part) => part.text === 'y'));
  });

  test('are removed from prompts, from resources, and from the message of an error', async (t) => {
    const { client, up } = await start(t, { lists: {
      'prompts/list': { prompts: [{ name: 'p' }] }, 'resources/list': { resources: [{ uri, name: 'x' }] },
    } });
    up.on('prompts/get', () => ({ description: `d${HIDDEN}`, messages: [{ role: 'user', content: { type: 'text', text: SAID } }] }));
    up.on('resources/read', () => ({ contents: [{ uri, text: SAID }, { uri, blob }] }));
    await client.ask('resources/list');
    await client.ask('prompts/list');
    assert.deepEqual(await client.ask('prompts/get', { name: 'p' }),
      { description: 'd', messages: [{ role: 'user', content: { type: 'text', text: HEARD } }] });
    assert.deepEqual(await client.ask('resources/read', { uri }), { contents: [{ uri, text: HEARD }, { uri, blob }] });
    up.on('prompts/get', () => { throw Object.assign(new Error(`no${HIDDEN}pe`), { code: -32000 }); });
    await assert.rejects(client.ask('prompts/get', { name: 'p' }), (e) => !UNSEEN.test(e.message) && /nope/.test(e.message));
  });

  test('are not in what Toolgate itself writes about data: summaries, facts, views, faults', async (t) => {
    const rows = Array.from({ length: 300 }, (_, n) => ({ n, note: `row${HIDDEN} ${n}` }));
    const escaped = JSON.stringify({ note: `a${HIDDEN}`, rows }).replace(/[^ -~]/gu, (c) =>
      c.split('').map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''));
    const { client } = await start(t, { mode: 'gateway', tools: {
      data: { ...CLEAN, run: () => ({ content: [], structuredContent: { note: `a${HIDDEN}`, rows } }) },
      escaped: { ...CLEAN, run: () => text(escaped) },
      fails: { ...CLEAN, run: () => { throw new RpcError(-32000, 'no', { note: `a${HIDDEN}` }); } },
    } });
    const call = (tool) => client.call('tool_execute', { tool_id: `files:${tool}`, args: {} });
    for (const tool of ['data', 'escaped']) {
      const said = await call(tool);
      assertSeen(said);
      for (const { handle } of envelopeOf(said).artifacts)
        for (const selector of [{ type: 'head', chars: 400 }, { type: 'path', path: '$.note' }]) {
          const view = await client.call('tool_view', { handle, selector });
          assert.ok(!view.isError, JSON.stringify(view));
          assertSeen(view.content);
        }
    }
    assertSeen((await call('fails')).content);
  });

  test('are removed from a result that is not an object, after the client of the call was asked', async (t) => {
    const up = await handshakeServer('http', { tools: { odd: async (args, entry) => {
      await ask(entry, 'elicitation/create', form('Name?'));
      return [{ text: `a${HIDDEN}b` }];
    } } });
    const gateway = await startGateway(t, { servers: { up } });
    const caller = new HttpCaller(gateway.url, { capabilities: ASKABLE });
    const { result: { inputRequests, requestState } } = await caller.call('odd');
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((k) => [k, accept('Ada')]));
    assert.deepEqual((await caller.call('odd', {}, { inputResponses, requestState })).result, [{ text: 'ab' }]);
  });

  test('stay with result.hidden_characters: keep', async (t) => {
    const { client } = await start(t, { tools, config: { result: { hidden_characters: 'keep' } } });
    assert.deepEqual(await client.call('result', {}), result);
    assert.ok((await client.call('large', {})).content[0].text.endsWith(HIDDEN));
  });
});

test('control characters in a URI are percent-encoded, and the server gets its own URI', async (t) => {
  const uri = 'file:///a\u007fb\u0085c\nd';
  const { client, up } = await start(t, { lists: { 'resources/list': { resources: [{ uri, name: 'a' }] } } });
  const read = [];
  up.on('resources/read', (params) => {
    read.push(params.uri);
    return { contents: [] };
  });
  const { resources } = await client.ask('resources/list');
  assert.equal(resources[0].uri, 'file:///a%7Fb%C2%85c%0Ad');
  await client.ask('resources/read', { uri: resources[0].uri });
  assert.deepEqual(read, [uri]);
});

describe('limits.description', () => {
  const long = 'é'.repeat(400);
  const config = { limits: { description: 301 } };

  test('a description above limits.description is cut between two characters, and the log reports it', async (t) => {
    const { client, gateway } = await start(t, { config, tools: { long: { ...CLEAN, description: long, run: () => text('') } } });
    const { tools } = await client.ask('tools/list');
    assert.equal(tools.find(({ name }) => name === 'long').description, `${'é'.repeat(150)}…`);
    await until(() => /limits\.description/.test(gateway.log), 'its line in the log');
  });

  test('cuts longer instructions', async (t) => {
    const { gateway, client } = await start(t, { config, instructions: long });
    await client.ask('tools/list');
    const { server: init } = await open(t, gateway);
    assert.ok(init.instructions.endsWith(`\n${'é'.repeat(150)}…`), init.instructions);
  });
});
