// SPDX-License-Identifier: Apache-2.0
// Every revision and transport of a client against every revision and transport of a server, through one gateway: what
// a cell checks is in lib/checks.mjs, what the revisions make impossible in the table below.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { answering, checks, Impossible } from './lib/checks.mjs';
import { ModernHttpClient, ModernStdioClient } from './lib/modern.mjs';
import {
  Gateway,
  HttpClient,
  onEnd,
  resultText,
  REVISIONS,
  SseClient,
  startGateway,
  StdioClient,
  within,
} from './lib/raw.mjs';
import { MODERN } from './lib/rules.mjs';
import { makeUpstream } from './servers/features.mjs';

// Streamable HTTP came with 2025-03-26; HTTP+SSE went with 2026-07-28.
const TRANSPORTS = { stdio: [...REVISIONS, MODERN], http: [...REVISIONS.slice(1), MODERN], sse: REVISIONS };
const VARIANTS = Object.entries(TRANSPORTS).flatMap(([transport, revs]) => revs.map((rev) => ({ transport, rev })));
const GIVE_UP_MS = 120_000; // spent with checks that failed: the rest is then not worth its time limits

const [R24, R2503, R2506, R2511] = REVISIONS;
const ALL = [...REVISIONS, MODERN];

// What the specification makes impossible, between which clients and which servers, and why. Everything else is
// checked in every cell.
const IMPOSSIBLE = [
  ['anyStructure', ALL, REVISIONS, 'structured content is an object before 2026-07-28'],
  ['anyStructure', [R24, R2503], [MODERN], 'a client before 2025-06-18 knows text only'],
  ['ping', [MODERN], [MODERN], 'there is no ping in 2026-07-28'],
  ['elicitation', ALL, [R24, R2503], 'no elicitation at the server before 2025-06-18'],
  [
    'elicitation',
    [R24, R2503],
    [R2506, R2511, MODERN],
    'a client before 2025-06-18 cannot be asked for more than sampling and roots',
  ],
  ['rootsChanged', [MODERN], ALL, 'roots are asked for each time in 2026-07-28'],
  ['rootsChanged', REVISIONS, [MODERN], 'roots are asked for each time in 2026-07-28'],
  ['taskTold', [R2511], [R2511, MODERN], 'a change of a task need not be told in 2025-11-25'],
  ['taskTold', [MODERN], [R2511], 'a change of a task need not be told in 2025-11-25'],
  ...['task', 'taskCancelled', 'taskQuestion', 'taskTold'].flatMap((check) => [
    [check, ALL, [R24, R2503, R2506], 'no tasks at the server before 2025-11-25'],
    [check, [R24, R2503, R2506], [R2511, MODERN], 'no tasks at the client before 2025-11-25'],
  ]),
];

const tagOf = ({ transport, rev }) => `${transport}_${rev.replaceAll('-', '')}`;
const label = ({ transport, rev }) => `${transport.padEnd(5)} ${rev}`;
const cellOf = (c, s) => `${tagOf(c)}/${tagOf(s)}`;

const upstreams = new Map();
const cells = new Map(); // what came of each: { passed, failed, left: [[check, why]] }
let gateway;
let wasted = 0;

before(async () => {
  for (const s of VARIANTS) upstreams.set(tagOf(s), await makeUpstream(s.transport, tagOf(s), { rev: s.rev }));
  gateway = new Gateway({ servers: Object.fromEntries(upstreams) });
  gateway.url = await within(gateway.listening.promise, 'listening line');
});

after(async () => {
  try {
    await gateway?.stop();
  } finally {
    for (const up of upstreams.values()) up.close();
  }
});

async function connect({ transport, rev }) {
  const capabilities = {
    sampling: {},
    roots: rev === MODERN ? {} : { listChanged: true },
    ...(rev >= '2025-06-18' && { elicitation: {} }),
  };
  const options = { rev, capabilities, label: `client ${transport} ${rev}` };
  const own = () => new Gateway({ servers: Object.fromEntries(upstreams), transport: 'stdio' });
  const made = {
    http: () => (rev === MODERN ? new ModernHttpClient(gateway.url, options) : new HttpClient(gateway.url, options)),
    sse: () => new SseClient(gateway.url, options),
    stdio: () => (rev === MODERN ? new ModernStdioClient(own(), options) : new StdioClient(own(), options)),
  };
  return answering(await made[transport]().connect());
}

async function run(client, up) {
  const result = { passed: 0, failed: [], left: [] };
  const context = { client, up, tool: (name) => `${up.tag}_${name}` };
  for (const [name, check] of Object.entries(checks)) {
    if (wasted > GIVE_UP_MS) break;
    const start = Date.now();
    up.inbox.entries = [];
    try {
      await check(context);
      result.passed++;
    } catch (e) {
      if (e instanceof Impossible) {
        result.left.push([name, e.message]);
        continue;
      }
      wasted += Date.now() - start;
      result.failed.push(`${name}: ${e.message.split('\n').slice(0, 12).join('\n')}`);
    }
  }
  return result;
}

for (const c of VARIANTS) {
  test(`client ${label(c)}`, async (t) => {
    const client = await connect(c);
    try {
      for (const s of VARIANTS) {
        await t.test(`server ${label(s)}`, async () => {
          const result = await run(client, upstreams.get(tagOf(s)));
          cells.set(cellOf(c, s), result);
          assert.equal(result.failed.length, 0, result.failed.join('\n'));
          assert.ok(wasted <= GIVE_UP_MS, 'not run: too much failed before');
          assert.deepEqual(result.left, expected(c, s), 'only what is impossible may be left out');
        });
      }
    } finally {
      await client.close();
    }
  });
}

function expected(c, s) {
  const order = Object.keys(checks);
  return IMPOSSIBLE.filter(([, clients, servers]) => clients.includes(c.rev) && servers.includes(s.rev))
    .map(([check, , , why]) => [check, why])
    .sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0]));
}

// Rows are clients, columns servers; the numbers are those of the reasons why something was left out.
test('the matrix as a table', (t) => {
  const reasons = [...new Set(IMPOSSIBLE.map(([, , , why]) => why))];
  const heads = VARIANTS.map((s) => `${s.transport}${s.rev.slice(2, 7)}`);
  const text = (cell) => {
    if (!cell) return 'not run';
    const notes = [...new Set(cell.left.map(([, why]) => reasons.indexOf(why) + 1))].sort().join();
    return cell.failed.length ? `${cell.failed.length} failed` : `ok ${cell.passed}${notes && ` (${notes})`}`;
  };
  const rows = VARIANTS.map((c) => [label(c), ...VARIANTS.map((s) => text(cells.get(cellOf(c, s))))]);
  const table = [['client \\ server', ...heads], ...rows];
  const widths = table[0].map((_, i) => Math.max(...table.map((row) => row[i].length)) + 2);
  for (const row of table) t.diagnostic(`table: ${row.map((x, i) => x.padEnd(widths[i])).join('').trimEnd()}`);
  reasons.forEach((why, i) => {
    const left = [...new Set(IMPOSSIBLE.filter((x) => x[3] === why).map(([check]) => check))];
    t.diagnostic(`table: (${i + 1}) ${left.join(', ')}: ${why}`);
  });
  assert.equal(cells.size, VARIANTS.length ** 2);
});

test('shared and unsafe names are made unique and safe, and lead to the right server', async (t) => {
  const long = 'n'.repeat(100);
  const names = ['shared', 'with.dot/slash é', long, 'only_a'];
  const servers = {};
  for (const name of ['a', 'b']) {
    servers[name] = await makeUpstream('http', name);
    const own = names.filter((n) => n !== 'only_a' || name === 'a');
    servers[name].on('tools/list', () => ({ tools: own.map((n) => ({ name: n, inputSchema: { type: 'object' } })) }));
    servers[name].on('tools/call', (p) => ({ content: [{ type: 'text', text: `${name}: ${p.name}` }] }));
    servers[name].on('prompts/list', () => ({ prompts: [{ name: 'greet' }] }));
    const say = (text) => ({ messages: [{ role: 'user', content: { type: 'text', text } }] });
    servers[name].on('prompts/get', (p) => say(`${name}: ${p.name}`));
    servers[name].on('resources/list', () => ({ resources: [{ uri: 'test://same', name: 'same' }] }));
    servers[name].on('resources/read', ({ uri }) => ({ contents: [{ uri, text: `${name}: ${uri}` }] }));
  }
  const own = await startGateway(t, { servers });
  const client = await new HttpClient(own.url).connect();
  onEnd(t, () => client.close());
  const listed = (await client.tools()).map((x) => x.name);
  assert.equal(new Set(listed).size, 7, String(listed));
  assert.ok(
    listed.every((n) => /^[A-Za-z0-9_-]{1,64}$/.test(n)),
    String(listed),
  );
  for (const n of ['only_a', 'a__shared', 'b__shared']) assert.ok(listed.includes(n), n);
  const answers = [];
  for (const name of listed) answers.push((await client.call(name)).content[0].text);
  const wanted = names.flatMap((n) => (n === 'only_a' ? ['a: only_a'] : [`a: ${n}`, `b: ${n}`]));
  assert.deepEqual(answers.sort(), wanted.sort());
  const prompts = (await client.listAll('prompts/list', 'prompts')).map((p) => p.name);
  assert.deepEqual(prompts.sort(), ['a__greet', 'b__greet']);
  assert.equal((await client.ask('prompts/get', { name: 'b__greet' })).messages[0].content.text, 'b: greet');
  const uris = (await client.listAll('resources/list', 'resources')).map((r) => r.uri);
  assert.equal(new Set(uris).size, 2);
  const read = [];
  for (const uri of uris) read.push((await client.ask('resources/read', { uri })).contents[0].text);
  assert.deepEqual(read.sort(), ['a: test://same', 'b: test://same']);
});

test('with prefix: always every name carries its server', async (t) => {
  const own = await startGateway(t, {
    servers: { a: await makeUpstream('http', 'x') },
    config: { direct: { prefix: 'always' } },
  });
  const client = new HttpClient(own.url);
  onEnd(t, () => client.close());
  await client.initialize();
  const listed = (await client.tools()).map((x) => x.name);
  assert.ok(listed.length > 5 && listed.every((n) => n.startsWith('a__x_')), String(listed));
  assert.deepEqual((await client.call('a__x_echo', { n: 1 })).structuredContent.got, { n: 1 });
  assert.equal((await client.request('tools/call', { name: 'x_echo', arguments: {} })).error?.code, -32602);
});

// ---- questions of a server to a client, in detail

async function askable(t, transport, capabilities) {
  const up = await makeUpstream(transport, 'up');
  const own = await startGateway(t, { servers: { up } });
  const client = new HttpClient(own.url, { capabilities });
  onEnd(t, () => client.close());
  await client.connect();
  await client.tools();
  return { up, client };
}

for (const transport of ['stdio', 'http', 'sse']) {
  test(`progress and cancellation of a question pass, each with the ids of its own side (${transport})`, async (t) => {
    const { up, client } = await askable(t, transport, { sampling: {} });
    client.handlers.set('sampling/createMessage', () => undefined);
    up.on('tools/call', async (params, entry) => {
      const _meta = { progressToken: 'mine' };
      const ask = entry.peer.request(
        'sampling/createMessage',
        { messages: [], maxTokens: 1, _meta },
        { rawId: '"q1"', ctx: entry.ctx },
      );
      ask.catch(() => {});
      return undefined;
    });
    const answer = client.request('tools/call', { name: 'up_echo', arguments: {} });
    answer.catch(() => {});
    const call = await up.next('tools/call');
    const question = await client.next('sampling/createMessage');
    const progressToken = question.msg.params._meta.progressToken;
    await client.notify('notifications/progress', { progressToken, progress: 1 });
    assert.deepEqual((await up.next('notifications/progress')).msg.params, { progressToken: 'mine', progress: 1 });
    await call.peer.notify('notifications/cancelled', { requestId: 'q1', reason: 'never mind' }, call.ctx);
    const cancelled = await client.next('notifications/cancelled');
    assert.deepEqual(cancelled.msg.params, { requestId: question.msg.id, reason: 'never mind' });
    // An answer that crossed with the cancellation reaches nobody.
    await client.transmit(resultText(JSON.stringify(question.msg.id), { role: 'assistant', model: 'm', content: [] }));
    call.peer.abandon('"q1"');
    await call.peer.transmit(resultText(JSON.stringify(call.msg.id), { content: [] }), call.ctx);
    assert.deepEqual((await answer).result, { content: [] });
    assert.ok(!up.inbox.has((e) => e.msg?.id === 'q1'));
  });

  test(`several questions at once during several calls find their way (${transport})`, async (t) => {
    const { client } = await askable(t, transport, { sampling: {}, elicitation: {} });
    client.handlers.set('sampling/createMessage', async (p) => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
      return { role: 'assistant', model: 'm', content: { type: 'text', text: `re: ${p.messages[0].content.text}` } };
    });
    client.handlers.set('elicitation/create', (p) => ({ action: 'accept', content: { said: p.message } }));
    const results = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        const { structuredContent } = await client.call(i % 2 ? 'up_sample' : 'up_elicit', { q: `q${i}` });
        const { result } = structuredContent;
        return i % 2 ? result.content.text === `re: q${i}` : result.content.said === `q${i}`;
      }),
    );
    assert.ok(results.every(Boolean));
  });
}

test('a call that is cancelled while its question is open cancels the question too', async (t) => {
  const { up, client } = await askable(t, 'stdio', { sampling: {} });
  client.handlers.set('sampling/createMessage', () => undefined);
  client.request('tools/call', { name: 'up_sample', arguments: { q: '?' } }, { rawId: '7' }).catch(() => {});
  const call = await up.next('tools/call');
  await client.next('sampling/createMessage');
  await client.notify('notifications/cancelled', { requestId: 7 });
  assert.equal((await up.next('notifications/cancelled')).msg.params.requestId, call.msg.id);
  client.abandon('7');
  assert.deepEqual(await client.ask('ping'), {});
});
