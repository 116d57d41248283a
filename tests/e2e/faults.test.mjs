// SPDX-License-Identifier: Apache-2.0
// Peers that hang, stream too fast, read too slowly, forget sessions, repeat cursors or share ids.
import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import { test } from 'node:test';

import {
  fetchRaw, HttpClient, httpText, INITIALIZE, JSON_HEADERS, LATEST, onEnd, requestText, resultText, spanOf,
  SseClient, startGateway, until, within,
} from './lib/raw.mjs';
import { makeUpstream } from './servers/features.mjs';

const KB = 1024;
const calls = (tool) => (e) => e.msg?.method === 'tools/call' && e.msg.params.name === tool;
const answerTo = ({ msg, peer, ctx }, result = { content: [] }) =>
  peer.transmit(resultText(JSON.stringify(msg.id), result), ctx);

async function setup(t, { transport = 'http', up = {}, config, client: options, servers = {} } = {}) {
  const upstream = await makeUpstream(transport, 'up', up);
  const gateway = await startGateway(t, { servers: { up: upstream, ...servers }, config });
  const client = new HttpClient(gateway.url, options);
  onEnd(t, () => client.close());
  await client.initialize();
  await client.tools(); // waits for the servers
  return { up: upstream, gateway, client };
}

async function assertWorks(client, tool = 'up_echo') {
  assert.deepEqual((await client.call(tool, { a: 1 })).structuredContent.got, { a: 1 });
}

// ---- time

for (const transport of ['stdio', 'http', 'sse']) {
  test(`a call that is not answered in time fails and is cancelled at the server (${transport})`, async (t) => {
    const { up, client } = await setup(t, { transport, up: { entry: { timeout: 400 } } });
    const from = Date.now();
    const { error } = await client.request('tools/call', { name: 'up_hold', arguments: {} });
    assert.equal(error?.data?.error, 'UPSTREAM_TIMEOUT', JSON.stringify(error));
    assert.equal(error.data.retryable, true);
    assert.ok(Date.now() - from >= 390, 'not before its time');
    const { msg } = await up.next(calls('up_hold'), 'hold');
    assert.equal((await up.next('notifications/cancelled')).msg.params.requestId, msg.id);
    await assertWorks(client);
  });
}

test('an answer that comes after its time is dropped', async (t) => {
  const { up, client } = await setup(t, { transport: 'stdio', up: { entry: { timeout: 300 } } });
  const { error } = await client.request('tools/call', { name: 'up_hold', arguments: {} });
  assert.equal(error?.data?.error, 'UPSTREAM_TIMEOUT');
  await answerTo(await up.next(calls('up_hold'), 'hold'));
  await assertWorks(client);
  assert.equal(client.inbox.entries.length, 0);
});

test('progress renews the time of a call, but not for ever', async (t) => {
  const { up, client } = await setup(t, {
    transport: 'stdio',
    up: { entry: { timeout: 500 } },
    config: { timeouts: { request: 1, request_max: 2 } },
  });
  const from = Date.now();
  const answer = client.request('tools/call', { name: 'up_hold', arguments: {}, _meta: { progressToken: 1 } });
  const { msg, peer } = await up.next(calls('up_hold'), 'hold');
  const { progressToken } = msg.params._meta;
  let progress = 0;
  const timer = setInterval(() => peer.notify('notifications/progress', { progressToken, progress: ++progress }), 200);
  onEnd(t, () => clearInterval(timer));
  const { error } = await answer;
  const took = Date.now() - from;
  assert.equal(error?.data?.error, 'UPSTREAM_TIMEOUT', JSON.stringify(error));
  assert.ok(took >= 1900 && took < 5000, `${took} ms`);
});

// ---- upstream HTTP

for (const [what, transport, fault] of [
  ['an HTTP server that drops the connection', 'http', (call) => call.ctx.res.destroy()],
  [
    'an HTTP server that ends its answer too early',
    'http',
    (call) =>
      call.ctx.res
        .writeHead(200, { 'content-length': 100, connection: 'close', 'content-type': 'application/json' })
        .end('{"jsonrpc"'),
  ],
  [
    'an HTTP server that ends its stream without the answer',
    'http',
    (call) => call.ctx.res.writeHead(200, { 'content-type': 'text/event-stream' }).end(': bye\n\n'),
  ],
  ['an HTTP+SSE server whose stream ends', 'sse', (call) => call.peer.res.end()],
  ['an HTTP+SSE server whose stream breaks', 'sse', (call) => call.peer.res.destroy()],
]) {
  test(`${what} fails the call; the next one works`, async (t) => {
    const { up, client } = await setup(t, { transport });
    const answer = client.request('tools/call', { name: 'up_hold', arguments: {} });
    fault(await up.next(calls('up_hold'), 'hold'));
    const { error } = await answer;
    assert.equal(error?.data?.error, 'UPSTREAM_UNAVAILABLE', JSON.stringify(error));
    assert.equal(error.data.retryable, true);
    await until(
      async () => !(await client.request('tools/call', { name: 'up_echo', arguments: {} })).error,
      'a call that works',
    );
  });
}

for (const [what, status, type, body] of [
  ['500', 500, 'text/plain', 'out of order'],
  ['502 in HTML', 502, 'text/html', '<html>'],
  ['200 that is no JSON', 200, 'application/json', '{"jsonrpc":"2.0",'],
  ['200 of another type', 200, 'text/html', '<html>'],
  ['200 with another id', 200, 'application/json', '{"jsonrpc":"2.0","id":"someone else","result":{}}'],
  ['202 to a request', 202, 'text/plain', ''],
  ['a redirect', 307, 'text/plain', ''],
  ['401', 401, 'text/plain', 'who?'],
]) {
  test(`an HTTP server that answers a call with ${what} fails that call only`, async (t) => {
    const { up, client } = await setup(t, { up: { entry: { timeout: 5000 } } });
    up.intercept = (req, res, text) => {
      if (!text.includes('up_hold')) return false;
      res.writeHead(status, { 'content-type': type, location: `${up.base}/elsewhere` }).end(body);
      return true;
    };
    const { error } = await client.request('tools/call', { name: 'up_hold', arguments: {} });
    assert.match(error?.data?.error ?? '', /^UPSTREAM_|^AUTH_FAILED$/, JSON.stringify(error));
    await until(
      async () => !(await client.request('tools/call', { name: 'up_echo', arguments: {} })).error,
      'a call that works',
    );
    assert.ok(!up.requests.some((r) => r.url === '/elsewhere'), 'redirects are not followed');
  });
}

test('a server that forgot the session is initialized again', async (t) => {
  const { up, client } = await setup(t);
  await assertWorks(client);
  for (const c of up.connections) up.forget(c);
  up.inbox.entries = [];
  // This one may fail (whether a call ran cannot be known in general), later ones may not.
  await client.request('tools/call', { name: 'up_echo', arguments: {} });
  await until(
    async () => !(await client.request('tools/call', { name: 'up_echo', arguments: {} })).error,
    'a call that works',
  );
  const again = await up.next('initialize');
  assert.equal(again.ctx.req.headers['mcp-session-id'], undefined, 'without the old session id');
  await assertWorks(client);
});

test('a server that closes the stream of a call and asks to poll is polled', async (t) => {
  const { up, client } = await setup(t, { up: { rev: LATEST } });
  const answer = client.request('tools/call', { name: 'up_hold', arguments: {} });
  const call = await up.next(calls('up_hold'), 'hold');
  const polled = new Promise((resolve) => {
    up.intercept = (req, res) => {
      if (req.method !== 'GET' || !req.headers['last-event-id']) return false;
      resolve({ id: req.headers['last-event-id'], at: Date.now() });
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      const text = resultText(JSON.stringify(call.msg.id), { content: [{ type: 'text', text: 'resumed' }] });
      res.end(`id: ev-2\nevent: message\ndata: ${text}\n\n`);
      return true;
    };
  });
  const closed = Date.now();
  call.ctx.res.writeHead(200, { 'content-type': 'text/event-stream' }).end('id: ev-1\nretry: 300\ndata: \n\n');
  const poll = await within(polled, 'a GET with Last-Event-ID');
  assert.equal(poll.id, 'ev-1');
  assert.ok(poll.at - closed >= 290, `polled after ${poll.at - closed} ms, asked for 300`);
  assert.equal((await answer).result?.content[0].text, 'resumed');
});

test('a server without a stream of its own (405) is used all the same', async (t) => {
  const upstream = await makeUpstream('http', 'plain');
  upstream.noStream = true;
  const { client } = await setup(t, { servers: { plain: upstream } });
  await assertWorks(client, 'plain_echo');
});

test('a server that always streams its answers is used all the same', async (t) => {
  const upstream = await makeUpstream('http', 'streams');
  upstream.alwaysStream = true;
  const { client } = await setup(t, { servers: { streams: upstream } });
  await assertWorks(client, 'streams_echo');
});

// ---- lists

const pageOf = (tag, n, count) => ({
  tools: [{ name: `${tag}_p${n}`, inputSchema: { type: 'object' } }],
  ...(n < count && { nextCursor: n === 3 ? '' : `after ${n} "é"` }),
});

test('all pages of a server are listed, an empty cursor included', async (t) => {
  const { up, client } = await setup(t, { config: { limits: { page_size: 3 } } });
  up.on('tools/list', ({ cursor } = {}) =>
    pageOf('up', cursor === undefined ? 1 : cursor === '' ? 4 : Number(cursor.split(' ')[1]) + 1, 7),
  );
  await until(() => up.connections.some((c) => c.ready), 'a connection');
  await client.listen();
  await up.broadcast('notifications/tools/list_changed');
  let listed;
  do {
    await client.next('notifications/tools/list_changed');
    listed = (await client.tools()).map((x) => x.name);
  } while (listed.includes('up_echo')); // the list may change between two of its pages
  const all = [1, 2, 3, 4, 5, 6, 7].map((n) => `up_p${n}`);
  assert.deepEqual(listed.sort(), all);
  assert.equal((await client.ask('tools/list', {})).tools.length, 3);
  const { error } = await client.request('tools/list', { cursor: 'made up' });
  assert.equal(error?.code, -32602);
});

test('a server that repeats its cursor for ever, or never ends, is cut short', async (t) => {
  const make = async (tag, cursorOf) => {
    const upstream = await makeUpstream('http', tag);
    upstream.pages = 0;
    upstream.on('tools/list', () => ({
      ...pageOf(tag, upstream.pages++, Infinity),
      nextCursor: cursorOf(upstream.pages),
    }));
    return upstream;
  };
  const servers = { same: await make('same', () => 'again'), endless: await make('endless', (n) => `n${n}`) };
  const { client, gateway } = await setup(t, { servers, config: { timeouts: { start_wait: 20 } } });
  const names = (await client.tools()).map((x) => x.name);
  assert.ok(names.includes('up_echo'));
  t.diagnostic(`pages read: ${servers.same.pages} of the same cursor, ${servers.endless.pages} of the endless list`);
  assert.ok(servers.same.pages <= 3, `${servers.same.pages} pages with the same cursor`);
  await until(async () => {
    const pages = servers.endless.pages;
    await client.ask('ping');
    return pages === servers.endless.pages;
  }, 'the end of reading pages');
  assert.ok(servers.endless.pages <= 10_000);
  assert.match(gateway.log, /same|endless/);
});

// ---- what a client cannot do

test('a question for a client that cannot be asked is refused, and the call goes on', async (t) => {
  for (const transport of ['stdio', 'http', 'sse']) {
    const { client } = await setup(t, { transport });
    for (const tool of ['up_sample', 'up_elicit', 'up_roots']) {
      const { structuredContent } = await client.call(tool, { q: '?' });
      assert.equal(structuredContent.error?.code, -32601, `${transport} ${tool}: ${JSON.stringify(structuredContent)}`);
    }
    assert.ok(!client.inbox.has((e) => e.msg?.id !== undefined), 'nothing reached the client');
  }
});

test('the error with which a client answers a question reaches the server', async (t) => {
  const { client } = await setup(t, { transport: 'stdio', client: { capabilities: { sampling: {} } } });
  client.handlers.set('sampling/createMessage', () => {
    throw Object.assign(new Error('user rejected'), { code: -1, data: { why: 'no' } });
  });
  const { structuredContent } = await client.call('up_sample', { q: '?' });
  assert.deepEqual(structuredContent.error, { code: -1, message: 'user rejected', data: { why: 'no' } });
});

test('each of two clients that share a server gets its own log, from the level it asked for', async (t) => {
  const { gateway, client: loud } = await setup(t, { transport: 'http' });
  const quiet = new HttpClient(gateway.url);
  onEnd(t, () => quiet.close());
  await quiet.connect();
  await loud.listen();
  await loud.ask('logging/setLevel', { level: 'debug' });
  await quiet.ask('logging/setLevel', { level: 'error' });
  await quiet.call('up_log', { level: 'info', n: 1 });
  await quiet.call('up_log', { level: 'critical', n: 2 });
  await loud.call('up_log', { level: 'info', n: 3 });
  const heard = (c) =>
    c.inbox.entries.filter((e) => e.msg?.method === 'notifications/message').map((e) => e.msg.params.data.n);
  assert.deepEqual(heard(quiet), [2]);
  assert.deepEqual(heard(loud), [3]);
  assert.equal((await loud.request('logging/setLevel', { level: 'loud' })).error?.code, -32602);
});

test('on a pipe that two clients share, a log that may be about either of them reaches neither', async (t) => {
  const { gateway, client: one } = await setup(t, { transport: 'stdio' });
  const other = new HttpClient(gateway.url);
  onEnd(t, () => other.close());
  const heard = (c) => c.inbox.entries.filter((e) => e.msg?.method === 'notifications/message').length;
  await one.call('up_log', { level: 'error', n: 1 });
  assert.equal(heard(one), 1, 'while it is the only one, it is its log');
  await other.connect();
  await other.call('up_log', { level: 'error', n: 2 });
  await one.call('up_log', { level: 'error', n: 3 });
  assert.equal(heard(one), 1);
  assert.equal(heard(other), 0);
});

test('two clients watch resources; each hears only of its own', async (t) => {
  const { up, gateway, client: a } = await setup(t, { transport: 'stdio' });
  const b = new HttpClient(gateway.url);
  onEnd(t, () => b.close());
  await b.connect();
  await a.listen();
  const uri = (n) => `test://up/item/${n}`; // of which one is the beginning of another
  await a.ask('resources/subscribe', { uri: uri(1) });
  await b.ask('resources/subscribe', { uri: uri(2) });
  await b.ask('resources/subscribe', { uri: uri(3) });
  await a.ask('resources/subscribe', { uri: uri(3) });
  await b.ask('resources/unsubscribe', { uri: uri(3) });
  const { peer } = await up.next('resources/subscribe');
  for (const n of [1, 10, 2, 3]) await peer.notify('notifications/resources/updated', { uri: uri(n) });
  assert.equal((await a.next('notifications/resources/updated')).msg.params.uri, uri(1));
  assert.equal((await a.next('notifications/resources/updated')).msg.params.uri, uri(3));
  assert.equal((await b.next('notifications/resources/updated')).msg.params.uri, uri(2));
  await b.ask('ping');
  assert.ok(!b.inbox.has('notifications/resources/updated'));
});

// ---- isolation

test("clients with equal ids and progress tokens never receive replies or progress of each other", async (t) => {
  const { up, gateway } = await setup(t, { transport: 'stdio' });
  up.on('tools/call', async ({ arguments: args, _meta }, entry) => {
    await new Promise((resolve) => setTimeout(resolve, args.ms));
    if (_meta)
      await entry.peer.notify('notifications/progress', {
        progressToken: _meta.progressToken,
        progress: 1,
        message: args.nonce,
      });
    return { content: [{ type: 'text', text: args.nonce }] };
  });
  const clients = [0, 1, 2].map(() => new HttpClient(gateway.url)).concat(new SseClient(gateway.url));
  onEnd(t, () => Promise.all(clients.map((c) => c.close())));
  for (const c of clients) await (c instanceof SseClient ? c.connect() : c.initialize());
  let wrong = 0;
  const run = async (client, name) => {
    for (let round = 0; round < 25; round++) {
      const batch = Array.from({ length: 40 }, async (_, i) => {
        const nonce = `${name}/${round}/${i}`;
        const params = {
          name: 'up_echo',
          arguments: { nonce, ms: Math.floor(Math.random() * 8) },
          _meta: { progressToken: i },
        };
        const { result } = await client.request('tools/call', params, { rawId: String(i) });
        if (result?.content[0].text !== nonce) wrong++;
      });
      await Promise.all(batch);
    }
    const seen = client.inbox.entries
      .filter((e) => e.msg?.method === 'notifications/progress')
      .map((e) => e.msg.params);
    wrong += seen.filter(
      (p) => !p.message.startsWith(`${name}/`) || Number(p.message.split('/')[2]) !== p.progressToken,
    ).length;
    assert.equal(seen.length, 1000, 'every call had its progress');
  };
  await Promise.all(clients.map((c, i) => run(c, `client ${i}`)));
  assert.equal(wrong, 0);
});

test("a client cannot cancel, answer or resume calls of another client", async (t) => {
  const { up, gateway, client: a } = await setup(t, { transport: 'stdio', client: { capabilities: { sampling: {} } } });
  const b = new HttpClient(gateway.url, { capabilities: { sampling: {} } });
  onEnd(t, () => b.close());
  await b.initialize();
  a.handlers.set('sampling/createMessage', async () => undefined);
  const answer = a.request('tools/call', { name: 'up_sample', arguments: { q: '?' } }, { rawId: '7' });
  const question = await a.next('sampling/createMessage');
  const rawId = spanOf(question.raw, ['id']);
  assert.equal(
    (await b.post(resultText(rawId, { role: 'assistant', model: 'evil', content: { type: 'text', text: 'x' } })))
      .status,
    202,
  );
  await b.notify('notifications/cancelled', { requestId: 7 });
  await b.ask('ping');
  assert.equal(
    (await a.post(resultText(rawId, { role: 'assistant', model: 'own', content: { type: 'text', text: 'y' } }))).status,
    202,
  );
  assert.equal((await answer).result?.structuredContent.result.model, 'own');
  assert.ok(!up.inbox.has('notifications/cancelled'));
});

// ---- streams

// One POST as a stream, under the test's control.
const openCall = (client, rawId, params, headers = {}) => {
  const body = requestText(rawId, 'tools/call', params);
  return fetchRaw(client.url, {
    method: 'POST',
    headers: { ...client.headers(), 'content-length': Buffer.byteLength(body), ...headers },
    body,
  });
};
const messages = (stream) => stream.events.filter((e) => e.data).map((e) => JSON.parse(e.data));

test('a broken stream of a call is taken up again where it was, and holds nothing else', async (t) => {
  const { up, client } = await setup(t, { transport: 'stdio' });
  const meta = (progressToken) => ({ name: 'up_hold', arguments: {}, _meta: { progressToken } });
  const [first, second] = [openCall(client, '"first"', meta('one')), openCall(client, '"second"', meta('two'))];
  const seen = [await up.next(calls('up_hold'), 'hold'), await up.next(calls('up_hold'), 'hold')];
  // Which of the two came first is not known: each is told apart by its own progress.
  const say = (call, from, to) => {
    for (let progress = from; progress <= to; progress++) {
      call.peer.notify('notifications/progress', { progressToken: call.msg.params._meta.progressToken, progress });
    }
  };
  seen.forEach((call) => say(call, 1, 3));
  const streams = await Promise.all([first, second]);
  for (const s of streams) while (messages(s).length < 3) await s.inbox.next(() => true, 'event');
  const [broken, other] = streams;
  const last = broken.events.filter((e) => e.data)[1].id; // as if the third had been lost on the way
  assert.ok(last, 'events have ids');
  broken.close();
  await broken.ended;
  seen.forEach((call) => say(call, 4, 6));
  await Promise.all(seen.map((call) => answerTo(call)));
  await within(other.ended, 'the end of the other stream');
  const resumed = await fetchRaw(client.url, {
    headers: { ...client.headers(), accept: 'text/event-stream', 'last-event-id': last },
  });
  assert.equal(resumed.status, 200, resumed.text);
  await resumed.inbox.next((e) => e.event.data?.includes('"result"'), 'the answer');
  const got = messages(resumed).map((m) => m.params?.progress ?? m.id);
  assert.deepEqual(got, [3, 4, 5, 6, 'first']);
  assert.ok(messages(resumed).every((m) => !m.params || m.params.progressToken === 'one'));
  assert.deepEqual(
    messages(other).map((m) => m.params?.progress ?? m.id),
    [1, 2, 3, 4, 5, 6, 'second'],
  );
  const ids = [...resumed.events, ...broken.events, ...other.events].filter((e) => e.data).map((e) => e.id);
  assert.equal(new Set(ids).size, ids.length - 1, 'ids are unique in the session (the third event came twice)');
});

test('what a client missed between two standing streams comes with the next', async (t) => {
  const { up, client } = await setup(t, { transport: 'stdio' });
  await client.ask('resources/subscribe', { uri: 'test://up/watched' });
  const { peer } = await up.next('resources/subscribe');
  const update = () => peer.notify('notifications/resources/updated', { uri: 'test://up/watched' });
  const stream = await client.listen();
  await update();
  const { event } = await stream.inbox.next((e) => e.event.data?.includes('resources/updated'), 'update');
  stream.close();
  await stream.ended;
  await update();
  await update();
  await assertWorks(client); // by now both have been seen
  const again = await client.listen({ 'last-event-id': event.id });
  for (let i = 0; i < 2; i++)
    await again.inbox.next((e) => e.event.data?.includes('resources/updated'), 'missed update');
  await client.ask('ping');
  assert.equal(messages(again).filter((m) => m.method === 'notifications/resources/updated').length, 2, 'each once');
});

test('an unknown Last-Event-ID is refused or gives nothing of the past', async (t) => {
  const { client } = await setup(t);
  for (const id of ['nonsense', '99999-1', '0-999999999999', '-1', '1-1-1', '18446744073709551616-0', '%00']) {
    const r = await fetchRaw(client.url, {
      headers: { ...client.headers(), accept: 'text/event-stream', 'last-event-id': id },
    });
    r.close();
    assert.ok(r.status === 400 || r.status === 404 || r.status === 200, `${id}: ${r.status}`);
    assert.equal(messages(r).length, 0);
  }
  await assertWorks(client);
});

// A socket that opens a stream and then reads nothing.
function stubborn(t, gateway, head) {
  const socket = net.connect(gateway.port, '127.0.0.1');
  socket.on('error', () => {});
  onEnd(t, () => socket.destroy());
  socket.pause();
  socket.write(head);
  return socket;
}

for (const where of ['a standing stream', 'the stream of a call']) {
  test(`a client that does not read ${where} costs bounded memory`, async (t) => {
    const config = { limits: { message: 1024 * KB } }; // one message of that size may wait, not many
    const { up, gateway, client } = await setup(t, { transport: 'stdio', config });
    const slow = new HttpClient(gateway.url);
    await slow.initialize();
    const common = { 'mcp-session-id': slow.session, 'mcp-protocol-version': LATEST };
    let call;
    if (where === 'a standing stream') {
      stubborn(t, gateway, httpText('GET /mcp', { accept: 'text/event-stream', ...common }));
      await slow.ask('logging/setLevel', { level: 'debug' });
      await assertWorks(slow);
      call = await up.next(calls('up_echo'), 'echo');
    } else {
      const body = requestText('1', 'tools/call', { name: 'up_hold', arguments: {}, _meta: { progressToken: 1 } });
      stubborn(t, gateway, httpText('POST /mcp', { ...JSON_HEADERS, ...common }, body));
      call = await up.next(calls('up_hold'), 'hold');
    }
    const before = gateway.rssKb();
    const pad = 'x'.repeat(64 * KB);
    let peak = 0;
    const said = (i) =>
      call.msg.params._meta
        ? ['notifications/progress', { progressToken: call.msg.params._meta.progressToken, progress: i, message: pad }]
        : ['notifications/message', { level: 'error', data: pad }];
    // Faster than it reads: either the gateway stops reading from the server, or it gives the slow client up.
    const blocked = () =>
      Promise.race([
        new Promise((resolve) => call.peer.socket.once('drain', () => resolve(false))),
        new Promise((resolve) => setTimeout(() => resolve(true), 1000)),
      ]);
    for (let i = 1; i <= 2000; i++) {
      call.peer.notify(...said(i));
      if (call.peer.socket.writableNeedDrain && (await blocked())) break;
      if (i % 50 === 0) peak = Math.max(peak, gateway.rssKb() - before);
    }
    peak = Math.max(peak, gateway.rssKb() - before);
    t.diagnostic(`memory grew by ${peak} KB at most`);
    assert.ok(peak < 24 * KB, `${peak} KB`);
    assert.deepEqual(await client.ask('ping'), {}, 'others are served');
    slow.agent.destroy();
  });
}

test('a thousand idle streams are cheap and leave the gateway answering', async (t) => {
  const { gateway, client } = await setup(t);
  await assertWorks(client);
  const COUNT = 1000;
  const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
  onEnd(t, () => agent.destroy());
  const sessions = [];
  for (let i = 0; i < COUNT; i++) {
    const c = new HttpClient(gateway.url);
    c.agent = agent;
    await c.initialize();
    sessions.push(c);
  }
  const before = gateway.rssKb();
  const streams = await Promise.all(sessions.map((c) => c.listen()));
  onEnd(t, () => streams.forEach((s) => s.close()));
  const grown = gateway.rssKb() - before;
  t.diagnostic(`${((grown * KB) / COUNT).toFixed(0)} bytes of memory for each idle stream`);
  assert.ok(grown < COUNT * 32, `${grown} KB`);
  const from = performance.now();
  await client.ask('ping');
  t.diagnostic(`ping took ${(performance.now() - from).toFixed(1)} ms`);
  await assertWorks(client);
});

test('ten thousand sessions one after the other leave nothing behind', async (t) => {
  // So few at once are allowed that a session which outlives its DELETE is noticed at once.
  const { gateway, client } = await setup(t, { config: { limits: { sessions: 3 } } });
  await assertWorks(client);
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  onEnd(t, () => agent.destroy());
  const send = (method, session, body) =>
    fetchRaw(client.url, {
      method,
      agent,
      body,
      headers: {
        ...JSON_HEADERS,
        ...(session && { 'mcp-session-id': session }),
        ...(body && { 'content-length': body.length }),
      },
    });
  const one = async () => {
    const opened = await send('POST', undefined, INITIALIZE);
    assert.equal(opened.status, 200, opened.text);
    const session = opened.headers['mcp-session-id'];
    assert.equal((await send('POST', session, '{"jsonrpc":"2.0","method":"notifications/initialized"}')).status, 202);
    assert.equal((await send('DELETE', session)).status, 200);
  };
  for (let i = 0; i < 2000; i++) await one();
  const warm = gateway.rssKb();
  for (let i = 0; i < 8000; i++) await one();
  const grown = gateway.rssKb() - warm;
  t.diagnostic(`memory grew by ${grown} KB over the last 8 000 sessions`);
  assert.ok(grown < 4 * KB, `${grown} KB`);
  await assertWorks(client);
});

test('a session beyond the limit is refused until another ends', async (t) => {
  const { gateway, client } = await setup(t, { config: { limits: { sessions: 2 } } });
  const second = new HttpClient(gateway.url);
  const third = new HttpClient(gateway.url);
  onEnd(t, () => Promise.all([second.close(), third.close()]));
  await client.listen();
  await second.connect();
  await assert.rejects(third.initialize(), (e) => e.status === 503 || e.status === 429);
  await assertWorks(client);
  assert.equal((await second.delete()).status, 200);
  await third.initialize();
  await assertWorks(third);
});

test('a session that nobody uses ends', async (t) => {
  const { client } = await setup(t, { config: { timeouts: { session_idle: 1 } } });
  await assertWorks(client);
  const asked = Date.now();
  await new Promise((resolve) => setTimeout(resolve, 2500)); // what is tested is the passing of time itself
  await assert.rejects(client.ask('tools/list', {}), (e) => e.status === 404, `after ${Date.now() - asked} ms`);
  client.session = undefined;
});
