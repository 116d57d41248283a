// SPDX-License-Identifier: Apache-2.0
// Golden cases: what goes over the wire. The catalog and the answers are those of the reference, byte for byte; where
// SPEC.md decides otherwise than the reference did, the test says so.
//
// | case | test | |
// |---|---|---|
// | tools/list: three tools | the transcript | as the reference; SPEC decides otherwise: texts of our own |
// | browse "open a github issue" | the transcript | same ids; SPEC decides otherwise: flat, no score in the text |
// | execute: handle, size, hash of 4217 bytes | the transcript | as the reference |
// | execute: summary of 500 characters | the transcript | SPEC decides otherwise: tokens of `result.budget` |
// | view head 24 | the transcript | as the reference |
// | view of an unknown handle | the transcript | as the reference, in plain words |
// | envelopes of text, errors, images, JSON | envelopes | as the reference, over the budget; what fits passes whole |
// | a blob of a resource; the second result | envelopes, a second result | not as the reference, which lost them |
// | views: head, lines, rows, json_keys | views | as the reference, but bounded |
// | views: unknown or wrong selectors | views | VIEW_FAILED, where the reference threw or gave "" |
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { before, describe, test } from 'node:test';

import {
  cardsOf, execute, faultOf, handleOf, linesOf, namesOf, open, snapshot, startMeta, textOf, THREE, unmarked,
  viewAll,
} from './lib/meta.mjs';
import { suiteScope, tempDir, writeJson } from './lib/process.mjs';
import { countTokens } from './lib/tokens.mjs';

const BODY = `ISSUE-42 opened. ${'detail line for the created issue. '.repeat(120)}`;
const SHA256 = 'a484a05ff295ca21c5aca718c4b7304f17dda108d56d4f5ee256619383a6f866';
const CREATE = 'github:create_issue#34afee88', REPOS = 'github:list_repos#da62b2ed';
const HANDLE = `text:${CREATE}:${SHA256.slice(0, 16)}`;

const string = { type: 'string' };
const CATALOG = {
  tools: [
    {
      name: 'github.create_issue', description: 'Open a new issue in a GitHub repository.',
      inputSchema: { type: 'object', properties: { title: string }, required: ['title'] },
    },
    {
      name: 'github.list_repos', description: 'List GitHub repositories.',
      inputSchema: { type: 'object', properties: {} },
    },
    {
      name: 'slack_send_message', description: 'Post a message to a channel.',
      inputSchema: { type: 'object', properties: { channel: string, text: string }, required: ['channel', 'text'] },
    },
  ],
  replies: { tools: { 'github.create_issue': { content: [{ type: 'text', text: BODY }] } } },
};

const sha256 = (bytes) => crypto.createHash('sha256').update(bytes).digest('hex');

test('the body of the reference is the one that is meant', () => {
  assert.deepEqual([BODY.length, sha256(BODY)], [4217, SHA256]);
});

describe('the transcript', () => {
  const scope = suiteScope();
  let client;
  before(async () => {
    const args = ['--catalog', writeJson(`${tempDir(scope)}/catalog.json`, CATALOG)];
    client = await open(scope, await startMeta(scope, { servers: {}, args }));
  });
  const view = (handle, selector) => client.call('tool_view', { handle, selector });
  const create = () => client.call('tool_execute', { tool_id: CREATE, args: { title: 'x' } });

  test('tools/list: three meta-tools and what they take', async () => {
    const tools = await client.tools();
    assert.deepEqual(namesOf(tools), THREE);
    const takes = Object.fromEntries(tools.map(({ name, inputSchema }) => [name, inputSchema]));
    for (const schema of Object.values(takes))
      assert.deepEqual([schema.type, schema.additionalProperties], ['object', false]);
    const types = (name) => Object.fromEntries(
      Object.entries(takes[name].properties).map(([key, { type }]) => [key, type]));
    assert.deepEqual(types('tool_browse'), { query: 'string', path: 'string', tool_id: 'string', top_k: 'integer' });
    const { minimum, maximum } = takes.tool_browse.properties.top_k;
    assert.deepEqual([minimum, maximum], [1, 50]);
    const { tool_id, args } = types('tool_execute');
    assert.deepEqual([tool_id, args], ['string', 'object']);
    assert.deepEqual(types('tool_view'), { handle: 'string', selector: 'object', max_tokens: 'integer' });
    assert.deepEqual(takes.tool_view.required, ['handle', 'selector']);
    assert.ok(takes.tool_execute.required.includes('tool_id'));
  });

  test('browse: the tool that is meant first, then the other of its namespace', async () => {
    const result = await client.call('tool_browse', { query: 'open a github issue' });
    assert.deepEqual(cardsOf(result).slice(0, 2).map((card) => card.id), [CREATE, REPOS]);
    const [first, second] = cardsOf(result);
    assert.ok(first.score > second.score && second.score > 0);
    assert.equal(Object.keys(first).at(-1), 'score', 'score is the last member of a card');
    assert.doesNotMatch(textOf(result), /score|0\.\d/);
    assert.ok(linesOf(result).every(({ line }) => countTokens(line) <= 60));
  });

  test('execute: the text is kept under a handle of its content', async () => {
    const { status, artifacts, provenance } = (await create()).structuredContent;
    assert.equal(status, 'ok');
    const [{ handle, media_type, size_bytes, content_hash, label }] = artifacts;
    assert.equal(artifacts.length, 1);
    assert.deepEqual({ handle, media_type, size_bytes, content_hash, label }, {
      handle: HANDLE, media_type: 'text/plain', size_bytes: 4217, content_hash: SHA256,
      label: `text result from ${CREATE}`,
    });
    assert.deepEqual([provenance.tool_id, provenance.protocol], [CREATE, 'mcp']);
  });

  test('execute: the summary is of the content, within the budget, without facts that there are not', async () => {
    const result = await create();
    const { summary, facts } = result.structuredContent;
    assert.ok(countTokens(textOf(result)) <= 500, 'of tokens, not of characters');
    assert.ok(summary.startsWith('ISSUE-42 opened. '), summary);
    assert.ok(summary.length < BODY.length);
    assert.deepEqual(facts, []);
    assert.ok(textOf(result).includes(HANDLE));
  });

  test('execute: the same call gives the same bytes', async () => {
    assert.equal(JSON.stringify(await create()), JSON.stringify(await create()));
  });

  test('view: the first 24 characters, as plain text', async () => {
    await create();
    const result = await view(HANDLE, { type: 'head', chars: 24 });
    assert.equal(result.isError, false);
    assert.equal(textOf(result), 'ISSUE-42 opened. detail ');
    assert.equal(await viewAll(client, HANDLE), BODY);
  });

  test('view: a handle that is unknown', async () => {
    const fault = faultOf(await view('artifact:missing', { type: 'head' }), 'VIEW_FAILED');
    assert.deepEqual([fault.path, fault.retryable], ['artifact:missing', false]);
    assert.doesNotMatch(fault.message, /CW_|\[/, 'no inner codes');
  });
});

describe('envelopes', () => {
  const scope = suiteScope();
  const png = Buffer.alloc(40, 1).toString('base64');
  const large = Buffer.alloc(90_000, 2);
  const rows = 'row of a long table that goes on and on\n'.repeat(40);
  const list = Array.from({ length: 300 }, (_, i) => `item ${i}`);
  const structured = { n: 1, list, nested: { a: null, b: true } };
  const text = (...texts) => ({ content: texts.map((value) => ({ type: 'text', text: value })) });
  const replies = {
    small: text('line one\nline two'),
    status: text(`Status: ok\nFound 3 rows\n${rows}`),
    fails: { ...text(`ERROR: rate limit exceeded\n${rows}`), isError: true },
    fails_small: { ...text('ERROR: rate limit exceeded'), isError: true },
    screenshot: { content: [{ type: 'image', data: png, mimeType: 'image/png' }] },
    poster: { content: [{ type: 'image', data: large.toString('base64'), mimeType: 'image/png' }] },
    sound: { content: [{ type: 'audio', data: large.toString('base64') }] },
    broken: { content: [{ type: 'image', data: `!!!${'x'.repeat(90_000)}`, mimeType: 'image/png' }] },
    embedded: { content: [{ type: 'resource', resource: { uri: 'file:///a.bin', blob: large.toString('base64') } }] },
    link: { content: [
      { type: 'resource_link', uri: 'https://example.com/a', name: 'a', mimeType: 'text/html' },
      { type: 'text', text: rows },
    ] },
    noted: { content: [{ type: 'text', text: rows, annotations: { audience: ['user'], priority: 1 } }] },
    empty: { content: [] },
    structured_one: { content: [], structuredContent: structured },
  };
  let client;
  before(async () => {
    const tools = Object.keys(replies).map((name) => ({ name }));
    const up = snapshot(scope, { tools, replies: { tools: replies } });
    client = await open(scope, await startMeta(scope, { servers: { up }, config: { result: { budget: 200 } } }));
  });
  const get = async (name) => {
    const result = await execute(client, 'up', name);
    return { result, ...result.structuredContent };
  };
  const only = ({ artifacts }, kind) => {
    const found = artifacts.filter(({ handle }) => handle.startsWith(`${kind}:`));
    assert.equal(found.length, 1, JSON.stringify(artifacts));
    return found[0];
  };

  test('a result that fits passes whole: SPEC decides otherwise than one artifact for every result', async () => {
    for (const name of ['small', 'fails_small', 'screenshot']) {
      const { content, isError } = await execute(client, 'up', name);
      assert.deepEqual(content, replies[name].content);
      assert.equal(isError ?? false, replies[name].isError ?? false);
    }
  });

  test('facts are the short lines with a colon', async () => {
    const { status, facts, artifacts } = await get('status');
    assert.equal(status, 'ok');
    assert.deepEqual(facts, ['Status: ok']);
    assert.equal(artifacts.at(-1).handle.split(':')[0], 'text', 'the text is the last of the pieces');
  });

  test('what a tool reports as an error is one, with its facts', async () => {
    const { result, status, facts } = await get('fails');
    assert.deepEqual([result.isError, status], [true, 'error']);
    assert.deepEqual(facts, ['ERROR: rate limit exceeded']);
    assert.match(textOf(result), /ERROR: rate limit exceeded/);
  });

  test('images and sounds are kept with their bytes, kind and size', async () => {
    const image = only(await get('poster'), 'image');
    assert.deepEqual([image.media_type, image.size_bytes, image.content_hash], ['image/png', 90_000, sha256(large)]);
    assert.match(image.label, /^image from up:poster/);
    const audio = only(await get('sound'), 'audio');
    assert.deepEqual([audio.media_type, audio.size_bytes], ['audio/wav', 90_000]);
  });

  test('data that is no base64 is kept as it was written', async () => {
    const { data } = replies.broken.content[0];
    const image = only(await get('broken'), 'image');
    assert.deepEqual([image.size_bytes, image.content_hash], [data.length, sha256(data)]);
  });

  test('a blob of a resource is kept; the reference stored nothing of it', async () => {
    const { size_bytes, content_hash, label } = only(await get('embedded'), 'resource');
    assert.deepEqual([size_bytes, content_hash, label], [90_000, sha256(large), 'file:///a.bin']);
  });

  test('a link stays a link', async () => {
    const { content } = await execute(client, 'up', 'link');
    assert.deepEqual(content.find((part) => part.type === 'resource_link'), replies.link.content[0]);
  });

  test('annotations of parts are told with the number of the part', async () => {
    const { provenance } = await get('noted');
    assert.deepEqual(provenance.content_annotations, [{ part_index: 0, audience: ['user'], priority: 1 }]);
  });

  test('structured content is kept as JSON', async () => {
    const piece = only(await get('structured_one'), 'structured');
    assert.equal(piece.media_type, 'application/json');
    assert.deepEqual(JSON.parse(await viewAll(client, piece.handle)), structured);
  });

  test('no content is no error', async () => {
    const result = await execute(client, 'up', 'empty');
    assert.notEqual(result.isError, true);
  });
});

test('a second result is never read under the handle of the first', async (t) => {
  const reply = (n) => ({ content: [], structuredContent: { n, list: Array(400).fill(n) } });
  const up = (n) => snapshot(t, { tools: [{ name: 'count' }], replies: { tools: { count: reply(n) } } });
  const gateway = await startMeta(t, { servers: { one: up(1), two: up(2) } });
  const client = await open(t, gateway);
  const handles = [];
  for (const server of ['one', 'two', 'one'])
    handles.push(handleOf(await execute(client, server, 'count'), 'structured'));
  assert.equal(new Set(handles).size, 2);
  const numbers = [];
  for (const handle of handles) numbers.push(JSON.parse(await viewAll(client, handle)).n);
  assert.deepEqual(numbers, [1, 2, 1]);
});

describe('views', () => {
  const scope = suiteScope();
  const lines = Array.from({ length: 300 }, (_, i) => `line ${i} and some more words`);
  const value = { count: 42, nested: { a: null, b: true }, list: Array.from({ length: 900 }, (_, i) => i) };
  let client, handles;
  before(async () => {
    const reply = (text) => ({ content: [{ type: 'text', text }] });
    const replies = { lines: reply(lines.join('\n')), json: reply(JSON.stringify(value)) };
    const tools = Object.keys(replies).map((name) => ({ name }));
    const up = snapshot(scope, { tools, replies: { tools: replies } });
    client = await open(scope, await startMeta(scope, { servers: { up } }));
    handles = {};
    for (const name of Object.keys(replies)) handles[name] = handleOf(await execute(client, 'up', name));
  });
  const view = (name, selector) => client.call('tool_view', { handle: handles[name], selector });
  const shown = async (name, selector) => unmarked(textOf(await view(name, selector)));

  test('head: characters from the front; below zero, all but the last', async () => {
    assert.equal(await shown('lines', { type: 'head', chars: 8 }), 'line 0 a');
    assert.equal(await shown('lines', { type: 'head' }), lines.join('\n').slice(0, 500));
    assert.equal(await shown('lines', { type: 'head', chars: 0 }), '');
    assert.equal(await shown('lines', { type: 'head', chars: 8 - lines.join('\n').length }), 'line 0 a');
  });

  test('lines: counted from 0, without the end; below zero from the end', async () => {
    assert.equal(await shown('lines', { type: 'lines', start: 1, end: 3 }), lines.slice(1, 3).join('\n'));
    assert.equal(await shown('lines', { type: 'lines', start: -2 }), lines.slice(-2).join('\n'));
    assert.equal(await shown('lines', { type: 'lines', start: 2, end: -296 }), lines.slice(2, -296).join('\n'));
    // The reference says nothing at all here; a model is told how many there are.
    const nothing = '… out of range: there are 300 lines, counted from 0';
    assert.equal(await shown('lines', { type: 'lines', start: 5, end: 5 }), nothing);
    assert.equal(await shown('lines', { type: 'lines', start: 1000 }), nothing);
  });

  test('rows: as lines', async () => {
    assert.equal(await shown('lines', { type: 'rows', start: 1, end: 3 }), lines.slice(1, 3).join('\n'));
  });

  test('json_keys: those of the named members that there are', async () => {
    const selected = JSON.parse(await shown('json', { type: 'json_keys', keys: ['nested', 'count', 'zz'] }));
    assert.deepEqual(selected, { count: 42, nested: { a: null, b: true } });
  });

  test('whatever is not understood is a fault, never an exception, and names the handle', async () => {
    for (const [name, selector] of [
      ['lines', {}], ['lines', { type: 'x' }], ['lines', { type: 5 }], ['lines', { type: 'head', chars: '5' }],
      ['lines', { type: 'lines', start: 'a' }], ['json', { type: 'json_keys', keys: 'count' }],
      ['lines', { type: 'json_keys', keys: ['a'] }],
    ]) {
      const fault = faultOf(await view(name, selector), 'VIEW_FAILED');
      assert.deepEqual([fault.path, fault.retryable], [handles[name], false], JSON.stringify(selector));
    }
  });

  test('a view is bounded, and says how to go on', async () => {
    const text = await shown('lines', { type: 'head', chars: 1e9 });
    assert.ok(countTokens(text) <= 2000);
    assert.equal(await viewAll(client, handles.lines), lines.join('\n'));
  });

  for (const [what, args] of [
    ['no handle', { selector: { type: 'head' } }], ['no selector', { handle: 'text:x' }],
    ['a selector that is no object', { handle: 'text:x', selector: 'head' }],
    ['something else', { handle: 'text:x', selector: {}, more: 1 }],
  ]) {
    test(`tool_view with ${what} is told what it needs`, async () => {
      assert.match(faultOf(await client.call('tool_view', args), 'ARGS_INVALID').message, /tool_view|selector|more/);
    });
  }
});
