// SPDX-License-Identifier: Apache-2.0
// Servers that are files: --catalog, the key `catalog`, and entries of .mcp.json.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { BESIDE, IN_TREE, nameOf, readCatalog } from './lib/beside.mjs';
import { runToolgate } from './lib/gateway.mjs';
import { tempDir, writeJson } from './lib/process.mjs';
import { HttpClient, onEnd, startGateway, StdioClient } from './lib/raw.mjs';
import { ModernHttpClient } from './lib/modern.mjs';

const DOCS = {
  server: 'docs',
  instructions: 'Read the guide.',
  version: 'anything else is ignored',
  tools: [
    { name: 'search', description: 'Finds pages.', inputSchema: { type: 'object' } },
    { name: 'count', inputSchema: { type: 'object' }, outputSchema: { type: 'object' } },
  ],
  resources: [
    { uri: 'docs://guide', name: 'Guide', mimeType: 'text/markdown', text: '# Guide' },
    { uri: 'docs://other', name: 'Other' },
  ],
  resourceTemplates: [{ uriTemplate: 'docs://page/{name}', name: 'Page' }],
  prompts: [{ name: 'ask', arguments: [{ name: 'topic', required: true }] }],
  replies: {
    tools: { count: { content: [], structuredContent: { pages: 2 } } },
    resources: { 'docs://page/1': { contents: [{ uri: 'docs://page/1', text: 'first' }] } },
    prompts: { ask: { messages: [{ role: 'user', content: { type: 'text', text: 'What?' } }] } },
  },
};

const CLIENTS = {
  'a client with a session': (t, gateway) => new HttpClient(gateway.url),
  'a client that can be asked': (t, gateway) => new HttpClient(gateway.url, { capabilities: { sampling: {} } }),
  'a stateless client': (t, gateway) => new ModernHttpClient(gateway.url),
};

async function connect(t, client) {
  onEnd(t, () => client.close());
  await client.initialize?.();
  return client;
}

for (const [who, make] of Object.entries(CLIENTS)) {
  test(`${who} lists, calls, reads and gets what a catalog holds`, async (t) => {
    const dir = tempDir(t);
    const args = ['--catalog', writeJson(path.join(dir, 'docs.json'), DOCS)];
    const gateway = await startGateway(t, { servers: {}, args });
    const client = await connect(t, make(t, gateway));
    assert.deepEqual((await client.tools()).map((tool) => tool.name), ['search', 'count']);
    assert.deepEqual(await client.listAll('resources/list', 'resources'), DOCS.resources);
    assert.deepEqual(await client.listAll('prompts/list', 'prompts'), DOCS.prompts);
    assert.match((await client.call('search', { q: 'x' })).content[0].text, /static catalog.*nothing was called.*"q":"x"/s);
    assert.deepEqual((await client.call('count')).structuredContent, { pages: 2 });
    const read = async (uri) => (await client.ask('resources/read', { uri })).contents[0].text;
    assert.equal(await read('docs://guide'), '# Guide');
    assert.equal(await read('docs://page/1'), 'first');
    assert.match(await read('docs://page/2'), /static catalog/);
    assert.equal((await client.ask('prompts/get', { name: 'ask', arguments: { topic: 'x' } })).messages.length, 1);
    for (const [method, params] of [
      ['tools/call', { name: 'other', arguments: {} }],
      ['resources/read', { uri: 'docs://none' }],
      ['prompts/get', { name: 'other' }],
      ['completion/complete', { ref: { type: 'ref/prompt', name: 'ask' }, argument: { name: 'topic', value: '' } }],
    ]) {
      const { error } = await client.request(method, params);
      assert.ok([-32602, -32002, -32601].includes(error?.code), `${method}: ${JSON.stringify(error)}`);
    }
  });
}

test('a catalog is described to clients by its instructions', async (t) => {
  const dir = tempDir(t);
  const args = ['--catalog', writeJson(path.join(dir, 'docs.json'), DOCS)];
  const gateway = await startGateway(t, { servers: {}, args });
  const client = await connect(t, new HttpClient(gateway.url));
  assert.match(client.server.instructions, /# docs\n\nRead the guide\./);
});

test('catalogs and other servers are served together', async (t) => {
  const dir = tempDir(t);
  const servers = {
    one: { type: 'snapshot', catalog: writeJson(path.join(dir, 'one.json'), [{ name: 'a' }, { name: 'b' }]) },
    two: { catalog: writeJson(path.join(dir, 'two.json'), { tools: [{ name: 'b' }, 5], prompts: [{ name: 'p' }] }) },
    broken: { catalog: writeJson(path.join(dir, 'broken.json'), { tools: 5 }) },
  };
  const gateway = await startGateway(t, { servers, transport: 'stdio' });
  const client = await connect(t, new StdioClient(gateway));
  assert.deepEqual((await client.tools()).map((tool) => tool.name), ['a', 'one__b', 'two__b']);
  assert.match(gateway.log, /warning: \S*two\.json:\/tools\/1: is left out/);
  assert.match(gateway.log, /warning: \S*broken\.json:\/tools: must be a list/);
});

test('check and serve refuse a catalog that cannot be used, and say where it is wrong', async (t) => {
  const dir = tempDir(t);
  const file = path.join(dir, 'c.json');
  for (const [text, place] of [
    ['', /c\.json: line 1/],
    ['[]', /c\.json: has no usable entry/],
    ['{"tools": {}}', /c\.json:\/tools: must be a list/],
    ['{"tools": [{"name": "a"}], "replies": {"tool": {}}}', /c\.json:\/replies\/tool: is not a known key/],
  ]) {
    fs.writeFileSync(file, text);
    for (const command of ['check', 'serve']) {
      const r = await runToolgate([command, '--catalog', 'c.json'], { cwd: dir, env: { HOME: dir } });
      assert.equal(r.status, 1, r.stderr);
      assert.match(r.stdout + r.stderr, place);
    }
  }
  fs.writeFileSync(file, '[{"name": "a"}]');
  const r = await runToolgate(['check', '--json', '--catalog', 'c.json'], { cwd: dir, env: { HOME: dir } });
  assert.equal(r.status, 0, r.stdout);
  assert.deepEqual(JSON.parse(r.stdout).servers, [{ name: 'catalog', transport: 'snapshot', catalog: 'c.json' }]);
});

test('hostile entries do no harm', async (t) => {
  const dir = tempDir(t);
  const long = 'x'.repeat(1 << 20);
  const tools = [1, null, [], { name: long }, { name: long }, { name: '\u0000\u001b[31m' }, { name: 'ok', inputSchema: 5 }];
  const catalog = writeJson(path.join(dir, 'c.json'), { tools, resources: [{ uri: long }], prompts: [{ name: '\ud83d\ude00' }] });
  const gateway = await startGateway(t, { servers: { c: { catalog } } });
  const client = await connect(t, new HttpClient(gateway.url));
  const names = (await client.tools()).map((tool) => tool.name);
  assert.equal(names.length, 3);
  for (const name of names) {
    assert.ok(name.length <= 64, 'a name that clients take');
    if (name !== 'ok') assert.match((await client.call(name)).content[0].text, /static catalog/);
  }
  await assert.rejects(client.call('ok'), /input schema is invalid/);
});

test('the answers of many servers are served as they are, but for hidden characters', async (t) => {
  const files = [...IN_TREE, ...BESIDE];
  const servers = Object.fromEntries(files.map((file) => [nameOf(file).slice(0, 64), { type: 'snapshot', catalog: file }]));
  const gateway = await startGateway(t, { servers, config: { timeouts: { start_wait: 60 }, limits: { description: '1MiB' } } });
  const client = await connect(t, new HttpClient(gateway.url));
  const tools = await client.tools();
  const all = files.flatMap((file) => readCatalog(file).tools);
  assert.equal(tools.length, all.length);
  const plain = ({ name, ...rest }) => JSON.parse(JSON.stringify(rest).replace(/\u200b|\ufeff/g, ''));
  assert.deepEqual(tools.map(plain), all.map(plain));
  const { name } = tools.findLast((tool) => !tool.inputSchema.required?.length);
  assert.match((await client.call(name)).content[0].text, /nothing was called/);
});
