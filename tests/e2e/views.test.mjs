// SPDX-License-Identifier: Apache-2.0
// tool_view over real results of a real server, small and large: what docs/reference/views.md shows, every selector, going on to the
// end, selectors that are wrong, and clients that leave while a view is under way.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { before, describe, test } from 'node:test';

import { ROOT, runToolgate } from './lib/gateway.mjs';
import { DOC_MARK, execute, faultOf, handleOf, MARK, open, startMeta, textOf, unmarked, viewAll } from './lib/meta.mjs';
import { suiteScope, tempDir, writeJson } from './lib/process.mjs';
import { filesystem } from './lib/servers.mjs';
import { countTokens } from './lib/tokens.mjs';

const VIEW_TOKENS = 2000;

/** Follows the selectors of cut views; gives all lines, each view's header and last line left out. */
async function follow(view, first, { header = 0 } = {}) {
  const all = [];
  for (let selector = first, views = 0; ; views++) {
    assert.ok(views < 2000, 'it comes to an end');
    const lines = (await view(selector)).split('\n');
    const note = MARK.test(lines.at(-1)) ? lines.pop() : '';
    all.push(...lines.slice(header));
    const [, next] = /go on with (\{.*\})$/.exec(note) ?? [];
    if (next === undefined) return all;
    selector = JSON.parse(next);
  }
}

describe('what the documentation shows', () => {
  const scope = suiteScope();
  const doc = fs.readFileSync(path.join(ROOT, 'docs/reference/views.md'), 'utf8');
  const blocks = [...doc.matchAll(/```(\w+)\n([\s\S]*?)\n```/g)].map(([, kind, text]) => ({ kind, text }));
  const samples = { csv: blocks.find((b) => b.kind === 'csv').text, json: blocks.find((b) => b.kind === 'json').text };
  const dir = tempDir(scope);
  const handles = {};
  let client;
  before(async () => {
    for (const [kind, text] of Object.entries(samples)) fs.writeFileSync(path.join(dir, `sample.${kind}`), text);
    const gateway = await startMeta(scope, { servers: { files: filesystem(dir) }, config: { result: { budget: 50 } } });
    client = await open(scope, gateway);
    for (const kind of Object.keys(samples)) {
      const file = path.join(dir, `sample.${kind}`);
      handles[kind] = handleOf(await execute(client, 'files', 'read_text_file', { path: file }));
    }
  });

  const examples = blocks.slice(2).filter((b) => b.kind === 'json').map((b) => {
    const at = blocks.indexOf(b);
    return { selector: b.text, answer: blocks[at + 1].text };
  });
  test('there are examples', () => assert.ok(examples.length >= 9, `${examples.length}`));
  for (const { selector, answer } of examples) {
    test(selector.slice(0, 70), async () => {
      const before = doc.slice(0, doc.indexOf(selector));
      const kind = before.lastIndexOf('Of the CSV:') > before.lastIndexOf('Of the JSON:') ? 'csv' : 'json';
      const result = await client.call('tool_view', { handle: handles[kind], selector: JSON.parse(selector) });
      assert.equal(unmarked(textOf(result), DOC_MARK), answer);
    });
  }
});

describe('large results', () => {
  const scope = suiteScope();
  const dir = tempDir(scope);
  const cities = ['Berlin', 'Bonn', 'Köln', 'Frankfurt, Main'];
  const rows = Array.from({ length: 20_000 }, (_, i) => ({ id: i, city: cities[i % 4], price: (i * 7) % 1000, ok: i % 3 === 0 }));
  const quoted = (text) => (text.includes(',') ? `"${text}"` : text);
  const texts = {
    csv: `id,city,price\n${rows.map((r) => `${r.id},${quoted(r.city)},${r.price}`).join('\n')}\n`,
    json: JSON.stringify({ total: rows.length, items: rows }),
    log: `${rows.map((r) => `2026-05-01 ${r.id % 997 === 996 ? 'ERROR' : 'INFO'} request ${r.id} for ${r.city} took ${r.price} ms`).join('\n')}\n`,
  };
  const handles = {};
  let gateway, client;
  const view = async (kind, selector) => {
    const result = await client.call('tool_view', { handle: handles[kind], selector });
    assert.equal(result.isError, false, JSON.stringify(result).slice(0, 300));
    const text = textOf(result);
    assert.ok(countTokens(text) <= VIEW_TOKENS, `${countTokens(text)} tokens`);
    return text;
  };
  before(async () => {
    gateway = await startMeta(scope, { servers: { files: filesystem(dir) } });
    client = await open(scope, gateway);
    for (const [kind, text] of Object.entries(texts)) {
      const file = path.join(dir, `large.${kind}`);
      fs.writeFileSync(file, text);
      assert.ok(text.length > 300_000, 'large enough to be looked at by another thread');
      handles[kind] = handleOf(await execute(client, 'files', 'read_text_file', { path: file }));
    }
  });

  test('all characters and all lines', async () => {
    assert.equal(await viewAll(client, handles.json, texts.json.length), texts.json);
    const lines = await follow((s) => view('log', s), { type: 'lines', start: 19_000 });
    assert.deepEqual(lines, texts.log.trimEnd().split('\n').slice(19_000));
  });

  test('all results of a path', async () => {
    const found = await follow((s) => view('json', s), { type: 'path', path: '$.items[?@.price<50].id' });
    assert.deepEqual(found.map(Number), rows.filter((r) => r.price < 50).map((r) => r.id));
    assert.equal(await view('json', { type: 'path', path: '$.items[-1].id' }), '19999');
    assert.equal(await view('json', { type: 'pointer', pointer: '/items/12345/price' }), String(rows[12345].price));
    assert.equal(await view('json', { type: 'json_keys', keys: ['total'] }), '{\n  "total": 20000\n}');
  });

  for (const kind of ['csv', 'json']) {
    test(`all records that meet a condition, of ${kind}`, async () => {
      const where = [{ column: 'city', op: 'starts', value: 'Frank' }, { column: 'price', op: '>=', value: 900 }];
      const found = await follow((s) => view(kind, s), { type: 'records', columns: ['id', 'city'], where }, { header: 1 });
      const want = rows.filter((r) => r.city === cities[3] && r.price >= 900);
      assert.deepEqual(found, want.map((r) => `${r.id},"Frankfurt, Main"`));
    });

    test(`records in an order, of ${kind}`, async () => {
      const text = await view(kind, { type: 'records', columns: ['id'], sort: '-price', limit: 3 });
      const want = rows.toSorted((a, b) => b.price - a.price || a.id - b.id).slice(0, 3);
      assert.deepEqual(text.split('\n').slice(0, 4), ['id', ...want.map((r) => String(r.id))]);
    });

    test(`statistics, of ${kind}`, async () => {
      const sum = rows.reduce((all, r) => all + r.price, 0);
      const text = await view(kind, { type: 'stats', column: 'price' });
      assert.ok(text.includes(`price: count 20000, nulls 0, distinct 1000, min 0, max 999, sum ${sum}, mean ${sum / 20000}`), text);
      const groups = (await view(kind, { type: 'stats', by: 'city' })).split('\n').slice(2);
      assert.deepEqual(groups, ['Berlin,5000', 'Bonn,5000', 'Köln,5000', '"Frankfurt, Main",5000']);
    });
  }

  test('the passages for some words, and the lines around them', async () => {
    const text = await view('log', { type: 'search', query: 'errors', top: 50 });
    const found = text.split('\n').slice(1).filter((line) => line.startsWith('line '));
    const want = rows.filter((r) => r.id % 997 === 996).map((r) => r.id);
    assert.deepEqual(found.map((line) => Number(/^line (\d+): /.exec(line)[1])).toSorted((a, b) => a - b), want);
    const around = JSON.parse(found[0].slice(found[0].indexOf(' | ') + 3));
    const [, first] = /^line (\d+): /.exec(found[0]);
    assert.ok((await view('log', around)).split('\n').includes(texts.log.split('\n')[first]));
  });

  test('selectors that are wrong, or mean harm', async () => {
    const deep = `$${'[?@'.repeat(20)}${']'.repeat(20)}`;
    for (const selector of [
      {}, { type: 'no' }, { type: ['head'] }, { type: 'head', chars: 'all' }, { type: 'head', characters: 5 },
      { type: 'lines', start: 1e300 }, { type: 'search' }, { type: 'search', query: '' }, { type: 'search', query: 'x', top: 1e9 },
      { type: 'search', query: 'x'.repeat(1000) }, { type: 'path', path: '$..[?' }, { type: 'path', path: deep.slice(0, -1) },
      { type: 'path', path: '$.items[?count($.items[*])<1]' }, { type: 'pointer', pointer: 'items' }, { type: 'pointer', pointer: '/items/-1' },
      { type: 'json_keys', keys: { a: 1 } }, { type: 'records', columns: [1] }, { type: 'records', columns: Array(100).fill('a').map((a, i) => a + i) },
      { type: 'records', where: [{ column: 'id', op: ';', value: 1 }] }, { type: 'records', where: Array(40).fill({ column: 'id', op: '=', value: 1 }) },
      { type: 'records', sort: 'id', start: 1e9 }, { type: 'records', path: '$.total' }, { type: 'stats', column: {} }, { type: 'stats', path: '/nothing' },
    ]) {
      const result = await client.call('tool_view', { handle: handles.json, selector });
      assert.ok(result.isError, JSON.stringify(selector));
      const fault = faultOf(result, 'VIEW_FAILED');
      assert.equal(fault.path, handles.json);
      assert.ok(fault.message.length > 10, JSON.stringify(selector));
    }
  });

  test('handles that are wrong, of others, or of nobody look the same', async (t) => {
    const said = async (handle) => faultOf(await client.call('tool_view', { handle, selector: { type: 'head' } }), 'VIEW_FAILED').message;
    const messages = new Set([await said('text:a:b'), await said(''), await said(`${handles.csv.slice(0, -1)}g`), await said('../../etc/passwd')]);
    assert.equal(messages.size, 1);
  });

  test('a client that gives up, or leaves, while a view is under way', async (t) => {
    const slow = { handle: handles.json, selector: { type: 'path', path: '$..[?@.price==-1]' } };
    for (let i = 0; i < 10; i++) {
      const other = await open(t, gateway);
      const views = Array.from({ length: 8 }, () => other.start('tool_view', slow));
      if (i % 2) await views[0].cancel('enough');
      await other.close();
    }
    assert.equal(await view('csv', { type: 'lines', end: 1 }), 'id,city,price');
  });

  test('a query that takes long ends with a fault, and others are served before', async (t) => {
    const deep = path.join(dir, 'deep.json');
    fs.writeFileSync(deep, `${'{"a":'.repeat(120)}"${'some words '.repeat(3000)}"${'}'.repeat(120)}`);
    const handle = handleOf(await execute(client, 'files', 'read_text_file', { path: deep }));
    const order = [];
    const slow = client.call('tool_view', { handle, selector: { type: 'path', path: '$..*..*..*..*' } });
    const looked = slow.then((result) => order.push('view') && result);
    const other = await open(t, gateway);
    await other.ask('ping', {});
    order.push('ping');
    assert.match(faultOf(await looked, 'VIEW_FAILED').message, /too many steps/);
    assert.deepEqual(order, ['ping', 'view']);
  });

  test('the gateway ends while views are under way', async (t) => {
    const other = await startMeta(t, { servers: { files: filesystem(dir) } });
    const someone = await open(t, other);
    const handle = handleOf(await execute(someone, 'files', 'read_text_file', { path: path.join(dir, 'large.json') }));
    for (let i = 0; i < 8; i++) someone.start('tool_view', { handle, selector: { type: 'path', path: '$..[?@.price==-1]' } });
    await other.stop();
  });
});

test('toolgate view reads what a gateway has left', async (t) => {
  const dir = tempDir(t);
  const lines = Array.from({ length: 3000 }, (_, i) => `line ${i} of the file`);
  fs.writeFileSync(path.join(dir, 'data.txt'), lines.join('\n'));
  fs.writeFileSync(path.join(dir, 'toolgate.yaml'), 'state_dir: state\n');
  const config = { state_dir: path.join(dir, 'state') };
  const gateway = await startMeta(t, { servers: { files: filesystem(dir) }, config });
  const client = await open(t, gateway);
  const handle = handleOf(await execute(client, 'files', 'read_text_file', { path: path.join(dir, 'data.txt') }));
  const toolgate = (...args) => runToolgate(args, { cwd: dir, env: { HOME: dir } });
  const seen = await toolgate('view', handle, '{"type":"lines","start":2998}');
  assert.deepEqual([seen.status, seen.stdout], [0, 'line 2998 of the file\nline 2999 of the file\n'], seen.stderr);
  const asJson = JSON.parse((await toolgate('view', handle, '{"type":"head","chars":6}', '--json')).stdout);
  assert.deepEqual(asJson, { handle, media_type: 'text/plain', size: lines.join('\n').length, text: 'line 0' });
  assert.match((await toolgate('view', handle)).stdout,
    /^line 0 of the file\n[^]*\n… cut at character (\d+) .*; go on with \{"type":"head","start":\1,"chars":\d+\}\n$/);
  const wrong = await toolgate('view', handle, '{"type":"nothing"}');
  assert.equal(wrong.status, 1);
  assert.match(wrong.stderr, /VIEW_FAILED: unknown selector type/);
  assert.equal((await toolgate('view', 'text:none:0')).status, 1);
  const fault = JSON.parse((await toolgate('view', 'text:none:0', '--json')).stdout);
  assert.deepEqual([fault.error, fault.path, fault.retryable], ['VIEW_FAILED', 'text:none:0', false]);
  assert.match((await toolgate('view', handle, '{"type":', '"head"}')).stderr, /put the selector in single quotes/);
  assert.equal((await toolgate('view', handle, 'head')).status, 2);
});

describe('toolgate call', () => {
  const scope = suiteScope();
  const dir = tempDir(scope);
  const lines = Array.from({ length: 3000 }, (_, i) => `line ${i} of the file`);
  const ask = (...args) => runToolgate(args, { cwd: dir, env: { HOME: dir } });
  let id;
  const args = () => [id, JSON.stringify({ path: path.join(dir, 'data.txt') })];
  before(async () => {
    fs.writeFileSync(path.join(dir, 'data.txt'), lines.join('\n'));
    fs.writeFileSync(path.join(dir, 'toolgate.yaml'), 'state_dir: state\nresult: {budget: 300}\n');
    writeJson(path.join(dir, '.mcp.json'), { mcpServers: { files: filesystem(dir) } });
    const { items } = JSON.parse((await ask('catalog', '--json')).stdout);
    id = items.find(({ name }) => name === 'read_text_file').id;
  });
  const lastLine = (text) => text.trimEnd().split('\n').at(-1);
  /** The words of a command line whose arguments stand in single quotes. */
  const words = (command) => command.match(/'[^']*'|\S+/g).map((word) => word.replace(/^'|'$/g, ''));

  test('cuts a long answer to the budget, and says what to type to see more', async () => {
    const { status, stdout } = await ask('call', ...args());
    assert.equal(status, 0);
    assert.ok(stdout.length < 3000, `${stdout.length} characters`);
    const [program, ...rest] = words(lastLine(stdout));
    assert.equal(program, 'toolgate');
    const more = await ask(...rest);
    assert.deepEqual([more.status, more.stderr], [0, '']);
    assert.match(more.stdout, /^line \d+ of the file$/m);
  });
  for (const [what, folder] of [['no folder to keep it in', 'none'], ['one that cannot be made', 'data.txt/state']])
    test(`points to --full where there is ${what}`, async () => {
      fs.writeFileSync(path.join(dir, 'other.yaml'), `state_dir: ${folder}\nresult: {budget: 300}\n`);
      const { stdout } = await ask('call', ...args(), '--config', 'other.yaml');
      assert.match(lastLine(stdout), /^the rest of the result is not stored on disk: repeat the call with --full /);
    });
  test('shows all of it with --full', async () => {
    assert.equal((await ask('call', ...args(), '--full')).stdout, `${lines.join('\n')}\n`);
  });
  test('keeps what an agent called for that agent', async () => {
    writeJson(path.join(dir, 'rules.json'), {
      agents: { clerk: { allow: { servers: ['*'], tools: { '*': ['*'] } } } },
    });
    const { stdout } = await ask('call', ...args(), '--rules', 'rules.json', '--agent', 'clerk');
    const [, ...rest] = words(lastLine(stdout));
    assert.deepEqual(rest.slice(-4), ['--rules', 'rules.json', '--agent', 'clerk']);
    assert.equal((await ask(...rest)).status, 0);
    fs.rmSync(path.join(dir, 'state'), { recursive: true });
    await ask('call', ...args(), '--rules', 'rules.json', '--agent', 'clerk');
    assert.equal((await ask(...rest.slice(0, 3))).status, 1);
    assert.equal((await ask(...rest)).status, 0);
  });
});

describe('what is kept and cannot be read', () => {
  const commands = [['view', 'text:none:0'], ['context', 'sessions'], ['context', 'saved']];
  const expect = async (t, spoil, why) => {
    const dir = tempDir(t);
    fs.writeFileSync(path.join(dir, 'toolgate.yaml'), 'state_dir: state\n');
    spoil(path.join(dir, 'state'));
    for (const command of commands) {
      const { status, stdout, stderr } = await runToolgate(command, { cwd: dir, env: { HOME: dir } });
      assert.deepEqual([status, stdout], [3, ''], command.join(' '));
      assert.match(stderr, why);
    }
  };
  test('is not taken for nothing: a file in place of the folder', (t) =>
    expect(t, (state) => fs.writeFileSync(state, ''), /state\/toolgate\.db: Not a directory/));
  test('is not taken for nothing: a damaged database', (t) =>
    expect(t, (state) => {
      fs.mkdirSync(state, { mode: 0o700 });
      fs.writeFileSync(path.join(state, 'toolgate.db'), 'x'.repeat(8192), { mode: 0o600 });
    }, /toolgate\.db: /));
});
