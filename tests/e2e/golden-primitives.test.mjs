// SPDX-License-Identifier: Apache-2.0
// Golden cases: resources and prompts, found and read as tools are.
//
// | case | test | |
// |---|---|---|
// | three resources, two prompts; kinds and ids of cards | cards | as the reference |
// | both selectors; top_k "5" and 0 | browse | ARGS_INVALID that names the meta-tool, as the reference |
// | unknown ids | unknown ids | RESOURCE_NOT_FOUND, PROMPT_NOT_FOUND, as the reference |
// | timeout | silence | UPSTREAM_TIMEOUT, as the reference |
// | a required argument of a prompt | arguments | ARGS_INVALID, as the reference |
// | blobs are decoded, "!!!" is kept raw | blobs | as the reference, over the budget |
// | duplicates | duplicates | SPEC decides otherwise: `~2` is used, nothing is dropped |
// | the full text of a long read is listed | reads | SPEC decides otherwise: the reference kept it unlisted |
// | a prompt's summary is its description | prompts | SPEC decides otherwise: it is the rendered text |
// | no resources or prompts: three tools | tools only | as the reference |
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { before, describe, test } from 'node:test';

import {
  cardsOf, connect, faultOf, FOR_PROMPTS, FOR_RESOURCES, handleOf, idOf, idsOf, namesOf, open, snapshot, startMeta,
  textOf, THREE, viewAll,
} from './lib/meta.mjs';
import { suiteScope } from './lib/process.mjs';
import { RpcError } from './lib/raw.mjs';
import { handshakeServer } from './lib/stateless.mjs';
import { countTokens } from './lib/tokens.mjs';

const sha256 = (bytes) => crypto.createHash('sha256').update(bytes).digest('hex');
const blob = Buffer.alloc(90_000, 3);
const long = 'A paragraph about the schema of the database.\n'.repeat(500);

const RESOURCES = {
  'file:///readme.md': { name: 'README', mimeType: 'text/markdown', contents: [{ text: '# Hello' }] },
  'db://users': { name: 'users', description: 'The users of the database.', contents: [{ text: long }] },
  'file:///logo.png': { name: 'logo', mimeType: 'image/png', contents: [{ blob: blob.toString('base64') }] },
};
const PROMPTS = {
  summarize_pr: {
    description: 'Summarize a pull request.', arguments: [{ name: 'repo', required: true }, { name: 'style' }],
    render: ({ repo, style = 'short' }) => `Summarize ${repo}, ${style}.`,
  },
  triage: { description: 'stub prompt triage', render: () => long },
};

/** A server with these resources and prompts; `seen` is what was asked of it. */
async function library({ resources = RESOURCES, prompts = PROMPTS, kind = 'stdio', ...options } = {}) {
  const up = await handshakeServer(kind, { name: 'docs', ...options });
  const seen = [];
  up.on('resources/list', () => ({
    resources: Object.entries(resources).map(([uri, { contents, ...rest }]) => ({ uri, ...rest })),
  }));
  up.on('resources/read', ({ uri }) => {
    seen.push(uri);
    return { contents: resources[uri].contents.map((part) => ({ uri, mimeType: resources[uri].mimeType, ...part })) };
  });
  up.on('prompts/list', () => ({
    prompts: Object.entries(prompts).map(([name, { render, ...rest }]) => ({ name, ...rest })),
  }));
  up.on('prompts/get', ({ name, arguments: args = {} }) => {
    seen.push([name, args]);
    const { description, render } = prompts[name];
    return { description, messages: [{ role: 'user', content: { type: 'text', text: render(args) } }] };
  });
  return Object.assign(up, { seen });
}

describe('a server of three resources and two prompts', () => {
  const scope = suiteScope();
  let client, up;
  before(async () => {
    up = await library();
    client = await open(scope, await startMeta(scope, { servers: { docs: up } }));
  });
  const browse = (kind, args) => client.call(`${kind}_browse`, args);
  const read = async (uri) =>
    client.call('resource_read', { resource_id: await idOf(client, 'docs', uri, 'resource') });
  const get = async (name, args) =>
    client.call('prompt_get', { prompt_id: await idOf(client, 'docs', name, 'prompt'), ...(args && { args }) });

  test('lists their meta-tools', async () => {
    assert.deepEqual(namesOf(await client.tools()), [...THREE, ...FOR_RESOURCES, ...FOR_PROMPTS]);
  });

  test('cards are of one kind, with the ids of that kind', async () => {
    for (const [kind, count] of [['resource', 3], ['prompt', 2]]) {
      const cards = cardsOf(await browse(kind, { path: '/docs' }));
      assert.equal(cards.length, count);
      for (const card of cards) {
        assert.equal(card.kind, kind);
        assert.match(card.id, new RegExp(`^${kind}::docs:`));
        assert.equal(card.side_effects, undefined, 'reading changes nothing');
      }
    }
    const best = async (kind, query) => idsOf(await browse(kind, { query }))[0];
    assert.match(await best('prompt', 'summarize a pull request'), /^prompt::docs:summarize_pr#/);
    assert.match(await best('resource', 'users of the database'), /^resource::docs:users#/);
    assert.deepEqual(idsOf(await browse('resource', { query: 'users', top_k: 1 })).length, 1);
  });

  test('browse takes one selector and a number that is one, and names itself', async () => {
    for (const kind of ['resource', 'prompt']) {
      for (const args of [{}, { query: 'x', path: '/' }]) {
        const { message } = faultOf(await browse(kind, args), 'ARGS_INVALID');
        assert.ok(message.includes(`${kind}_browse`), message);
      }
      for (const top_k of ['5', 0, -1, 1.5]) faultOf(await browse(kind, { query: 'x', top_k }), 'ARGS_INVALID');
    }
  });

  test('unknown ids', async () => {
    const before = up.seen.length;
    const resource = faultOf(await client.call('resource_read', { resource_id: 'resource::docs:none#00000000' }),
      'RESOURCE_NOT_FOUND');
    assert.deepEqual([resource.path, resource.retryable], ['resource::docs:none#00000000', false]);
    faultOf(await client.call('prompt_get', { prompt_id: 'prompt::docs:none#00000000', args: {} }), 'PROMPT_NOT_FOUND');
    faultOf(await client.call('prompt_get', { prompt_id: await idOf(client, 'docs', 'db://users', 'resource') }),
      'PROMPT_NOT_FOUND');
    for (const name of ['resource_read', 'prompt_get']) faultOf(await client.call(name, {}), 'ARGS_INVALID');
    assert.equal(up.seen.length, before);
  });

  test('reads: what is short is there whole', async () => {
    const result = await read('file:///readme.md');
    assert.match(JSON.stringify(result.content), /# Hello/);
    assert.equal(up.seen.at(-1), 'file:///readme.md');
  });

  test('reads: what is long is cut, and every piece of it is listed and can be read', async () => {
    const result = await read('db://users');
    assert.ok(countTokens(textOf(result)) <= 500);
    const { provenance, artifacts, status } = result.structuredContent;
    assert.equal(status, 'ok');
    assert.match(JSON.stringify(provenance), /resource::docs:users#/);
    assert.ok(artifacts.length >= 1);
    assert.equal(await viewAll(client, artifacts[0].handle), long);
  });

  test('blobs are kept as bytes', async () => {
    const [{ size_bytes, content_hash, media_type }] = (await read('file:///logo.png')).structuredContent.artifacts;
    assert.deepEqual([size_bytes, content_hash, media_type], [90_000, sha256(blob), 'image/png']);
  });

  test('prompts are rendered with their arguments', async () => {
    assert.equal(textOf(await get('summarize_pr', { repo: 'a/b' })), '[user] Summarize a/b, short.');
    assert.deepEqual(up.seen.at(-1), ['summarize_pr', { repo: 'a/b' }]);
  });

  test('prompts: what is shown of a long one is the prompt, not its description', async () => {
    const result = await get('triage');
    assert.match(textOf(result), /^\[user\] A paragraph about the schema/);
    assert.doesNotMatch(result.structuredContent.summary, /stub prompt/);
    assert.match(await viewAll(client, handleOf(result)), /A paragraph[^]*A paragraph/);
  });

  test('arguments of a prompt are checked before anything is asked', async () => {
    const before = up.seen.length;
    const fault = faultOf(await get('summarize_pr', {}), 'ARGS_INVALID');
    assert.match(JSON.stringify(fault), /repo/);
    assert.match(fault.path, /^prompt::docs:summarize_pr#/);
    faultOf(await get('summarize_pr'), 'ARGS_INVALID');
    for (const args of [{ repo: 5 }, { repo: null }, { repo: ['a'] }])
      faultOf(await get('summarize_pr', args), 'ARGS_INVALID');
    assert.equal(up.seen.length, before);
  });
});

test('silence of a server is a timeout for reads and prompts too', async (t) => {
  const up = await library({ entry: { timeout: 300 } });
  const client = await connect(t, 'http', { docs: up });
  const resource_id = await idOf(client, 'docs', 'db://users', 'resource');
  const prompt_id = await idOf(client, 'docs', 'triage', 'prompt');
  up.on('resources/read', () => undefined);
  up.on('prompts/get', () => undefined);
  assert.equal(faultOf(await client.call('resource_read', { resource_id }), 'UPSTREAM_TIMEOUT').retryable, true);
  assert.equal(faultOf(await client.call('prompt_get', { prompt_id }), 'UPSTREAM_TIMEOUT').retryable, true);
});

test('errors of a server are classified as those of tools', async (t) => {
  const up = await library();
  const client = await connect(t, 'http', { docs: up });
  const resource_id = await idOf(client, 'docs', 'db://users', 'resource');
  const prompt_id = await idOf(client, 'docs', 'triage', 'prompt');
  const fail = () => { throw new RpcError(-32000, '401 Unauthorized: invalid api key'); };
  up.on('resources/read', fail);
  up.on('prompts/get', fail);
  assert.equal(faultOf(await client.call('resource_read', { resource_id }), 'AUTH_FAILED').retryable, false);
  assert.equal(faultOf(await client.call('prompt_get', { prompt_id }), 'AUTH_FAILED').retryable, false);
});

test('a blob that is no base64 is kept as it was written', async (t) => {
  const data = `!!!${'x'.repeat(90_000)}`;
  const up = await library({ resources: { 'x://bad': { name: 'bad', contents: [{ blob: data }] } } });
  const client = await connect(t, 'http', { docs: up });
  const resource_id = await idOf(client, 'docs', 'x://bad', 'resource');
  const { artifacts } = (await client.call('resource_read', { resource_id })).structuredContent;
  const [{ size_bytes, content_hash }] = artifacts;
  assert.deepEqual([size_bytes, content_hash], [data.length, sha256(data)]);
});

test('two of one id are told apart, and each is read at its own', async (t) => {
  const up = await library({ resources: {
    'x://a': { name: 'same', contents: [{ text: 'one' }] }, 'x://b': { name: 'same', contents: [{ text: 'two' }] },
  } });
  const client = await connect(t, 'http', { docs: up });
  const ids = idsOf(await client.call('resource_browse', { path: '/docs' }));
  assert.equal(new Set(ids).size, 2);
  const texts = [];
  for (const resource_id of ids) texts.push(JSON.stringify(await client.call('resource_read', { resource_id })));
  assert.match(texts.sort()[0], /one/);
  assert.match(texts.sort()[1], /two/);
});

test('a gateway without resources and prompts lists three tools', async (t) => {
  const client = await connect(t, 'http', { up: snapshot(t, [{ name: 'a' }]) });
  assert.deepEqual(namesOf(await client.tools()), THREE);
});
