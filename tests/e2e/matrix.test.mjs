// SPDX-License-Identifier: Apache-2.0
// Every revision and transport of a client against every revision and transport of a server, through one gateway.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import {
  Gateway,
  HttpClient,
  onEnd,
  resultText,
  REVISIONS,
  SseClient,
  startGateway,
  StdioClient,
  spanOf,
  within,
} from './lib/raw.mjs';
import { ERROR, makeUpstream } from './servers/features.mjs';

// Streamable HTTP came with 2025-03-26.
const variants = (transports) =>
  transports.flatMap((transport) =>
    REVISIONS.filter((rev) => transport !== 'http' || rev > '2024-11-05').map((rev) => ({ transport, rev })),
  );
const CLIENTS = variants(['stdio', 'http', 'sse']);
const SERVERS = variants(['stdio', 'http', 'sse']);
const GIVE_UP = 40; // failed checks, after which the rest is not worth its time limits

const tagOf = ({ transport, rev }) => `${transport}_${rev.replaceAll('-', '')}`;
const label = ({ transport, rev }) => `${transport.padEnd(5)} ${rev}`;
const elicits = (client, up) => client.rev >= '2025-06-18' && up.rev >= '2025-06-18';

const checks = {
  async negotiate({ client, up, tool }) {
    assert.equal(client.server.protocolVersion, client.rev);
    await client.tools(); // waits for the servers
    client.call(tool('echo'), {}).catch(() => {});
    const { peer, ctx } = await up.next((e) => e.msg?.params?.name === tool('echo'), 'echo');
    assert.ok(
      peer.init.capabilities.sampling && peer.init.capabilities.roots,
      'the server is told what the client can',
    );
    assert.equal(Boolean(peer.init.capabilities.elicitation), client.rev >= '2025-06-18');
    if (up.requests && up.constructor.name === 'HttpUpstream' && up.rev >= '2025-06-18') {
      assert.equal(ctx.req.headers['mcp-protocol-version'], up.rev);
    }
  },

  async list({ client, up, tool }) {
    const listed = (await client.tools()).filter((t) => t.name.startsWith(`${up.tag}_`));
    assert.deepEqual(listed.map((t) => t.name).sort(), up.tools.map((t) => t.name).sort());
    assert.deepEqual(listed.find((t) => t.name === tool('echo')).inputSchema, up.tools[0].inputSchema);
  },

  async call({ client, tool }) {
    const result = await client.call(tool('echo'), { n: 1, s: 'é' });
    assert.deepEqual(result.structuredContent.got, { n: 1, s: 'é' });
  },

  async progress({ client, tool }) {
    const progressToken = 'tok"en é';
    await client.call(tool('progress'), {}, { meta: { progressToken } });
    const seen = client.inbox.entries
      .filter((e) => e.msg?.method === 'notifications/progress')
      .map((e) => e.msg.params);
    client.inbox.entries = client.inbox.entries.filter((e) => e.msg?.method !== 'notifications/progress');
    assert.deepEqual(
      seen,
      [1, 2, 3].map((progress) => ({ progressToken, progress, total: 3, message: `step ${progress}` })),
    );
  },

  async cancel({ client, up, tool }) {
    const answer = client.request('tools/call', { name: tool('hold'), arguments: {} }, { rawId: '"to cancel"' });
    answer.catch(() => {}); // never answered; the stream of its POST may end
    const call = await up.next((e) => e.msg?.params?.name === tool('hold'), 'hold');
    await client.notify('notifications/cancelled', { requestId: 'to cancel', reason: 'enough' });
    const seen = await up.next('notifications/cancelled');
    assert.deepEqual([seen.msg.params.requestId, seen.msg.params.reason], [call.msg.id, 'enough']);
    await client.ask('ping');
    const late = await Promise.race([
      answer.then(
        (a) => a.msg,
        () => 'none',
      ),
      Promise.resolve('none'),
    ]);
    client.abandon('"to cancel"');
    assert.equal(late, 'none', 'a cancelled request is not answered');
  },

  async error({ client, tool }) {
    const { error, raw } = await client.request('tools/call', { name: tool('fail'), arguments: {} });
    assert.ok(error, raw);
    for (const key of ['code', 'message', 'data']) {
      assert.equal(spanOf(raw, ['error', key]), spanOf(ERROR.text, [key]));
    }
  },

  async ping({ client, up, tool }) {
    assert.deepEqual(await client.ask('ping'), {});
    client.call(tool('echo')).catch(() => {});
    const { peer } = await up.next((e) => e.msg?.params?.name === tool('echo'), 'echo');
    assert.deepEqual(await peer.ask('ping'), {});
  },

  async sampling({ client, tool }) {
    client.handlers.set('sampling/createMessage', (p) => ({
      role: 'assistant',
      model: 'm',
      content: { type: 'text', text: `re: ${p.messages[0].content.text}` },
    }));
    const { structuredContent } = await client.call(tool('sample'), { q: 'why' });
    assert.deepEqual(structuredContent.result, {
      role: 'assistant',
      model: 'm',
      content: { type: 'text', text: 're: why' },
    });
  },

  async elicitation({ client, up, tool }) {
    if (!elicits(client, up)) return;
    client.handlers.set('elicitation/create', (p) => ({ action: 'accept', content: { ok: p.message === 'sure?' } }));
    const { structuredContent } = await client.call(tool('elicit'), { q: 'sure?' });
    assert.deepEqual(structuredContent.result, { action: 'accept', content: { ok: true } });
  },

  async roots({ client, up, tool }) {
    client.handlers.set('roots/list', () => ({ roots: [{ uri: 'file:///home', name: 'home' }] }));
    const { structuredContent } = await client.call(tool('roots'));
    assert.deepEqual(structuredContent.result, { roots: [{ uri: 'file:///home', name: 'home' }] });
    await client.notify('notifications/roots/list_changed');
    await up.next('notifications/roots/list_changed');
  },

  async logging({ client, up, tool }) {
    await client.ask('logging/setLevel', { level: 'info' });
    const set = await up.next('logging/setLevel');
    assert.equal(set.msg.params.level, 'info');
    await client.call(tool('log'), { n: 7 });
    const { msg } = await client.next('notifications/message');
    assert.deepEqual([msg.params.level, msg.params.data], ['warning', { n: 7 }]);
  },

  async resources({ client, up }) {
    const uri = `test://${up.tag}/watched`;
    assert.ok((await client.listAll('resources/list', 'resources')).some((r) => r.uri === uri));
    assert.equal((await client.ask('resources/read', { uri })).contents[0].text, `contents of ${uri}`);
    const templates = await client.listAll('resources/templates/list', 'resourceTemplates');
    assert.ok(templates.some((r) => r.uriTemplate === `test://${up.tag}/item/{id}`));
    const item = await client.ask('resources/read', { uri: `test://${up.tag}/item/42` });
    assert.equal(item.contents[0].text, `contents of test://${up.tag}/item/42`);
    assert.deepEqual(await client.ask('resources/subscribe', { uri }), {});
    const { peer } = await up.next('resources/subscribe');
    await peer.notify('notifications/resources/updated', { uri });
    assert.equal((await client.next('notifications/resources/updated')).msg.params.uri, uri);
    assert.deepEqual(await client.ask('resources/unsubscribe', { uri }), {});
    await up.next('resources/unsubscribe');
  },

  async prompts({ client, up }) {
    const name = `${up.tag}_greet`;
    assert.ok((await client.listAll('prompts/list', 'prompts')).some((p) => p.name === name));
    const { messages } = await client.ask('prompts/get', { name, arguments: { who: 'Ada' } });
    assert.equal(messages[0].content.text, `hello Ada from ${up.tag}`);
  },

  async completion({ client, up }) {
    const complete = (ref) => client.ask('completion/complete', { ref, argument: { name: 'who', value: 'A' } });
    const prompt = await complete({ type: 'ref/prompt', name: `${up.tag}_greet` });
    assert.deepEqual(prompt.completion.values, [`${up.tag}:A`]);
    const template = await complete({ type: 'ref/resource', uri: `test://${up.tag}/item/{id}` });
    assert.deepEqual(template.completion.values, [`${up.tag}:A`]);
  },

  async listChanged({ client, up }) {
    const name = `${up.tag}_new`;
    const has = async () => (await client.tools()).some((t) => t.name === name);
    const change = async (wanted) => {
      client.inbox.entries = client.inbox.entries.filter((e) => e.msg?.method !== 'notifications/tools/list_changed');
      await up.broadcast('notifications/tools/list_changed');
      do await client.next('notifications/tools/list_changed');
      while ((await has()) !== wanted);
    };
    const before = up.tools;
    up.tools = [...before, { ...before[0], name }];
    await change(true);
    up.tools = before;
    await change(false);
  },
};

const upstreams = new Map();
const table = new Map();
let gateway;
let failures = 0;

before(async () => {
  for (const s of SERVERS) upstreams.set(tagOf(s), await makeUpstream(s.transport, tagOf(s), { rev: s.rev }));
  gateway = new Gateway({ servers: Object.fromEntries(upstreams) });
  gateway.url = await within(gateway.listening.promise, 'listening line');
});

after(async () => {
  print();
  try {
    await gateway?.stop();
  } finally {
    for (const up of upstreams.values()) up.close();
  }
});

function print() {
  const heads = SERVERS.map((s) => `${s.transport}${s.rev.slice(2, 7)}`);
  console.log(`${'client \\ server'.padEnd(17)}${heads.map((h) => h.padEnd(11)).join('')}`);
  for (const c of CLIENTS) {
    const cells = SERVERS.map((s) => table.get(`${tagOf(c)}/${tagOf(s)}`) ?? 'not run');
    console.log(label(c).padEnd(17) + cells.map((x) => x.padEnd(11)).join(''));
  }
}

async function connect({ transport, rev }) {
  const capabilities = { sampling: {}, roots: { listChanged: true }, ...(rev >= '2025-06-18' && { elicitation: {} }) };
  const options = { rev, capabilities, label: `client ${transport} ${rev}` };
  if (transport === 'http') return new HttpClient(gateway.url, options).connect();
  if (transport === 'sse') return new SseClient(gateway.url, options).connect();
  return new StdioClient(
    new Gateway({ servers: Object.fromEntries(upstreams), transport: 'stdio' }),
    options,
  ).connect();
}

async function cell(client, up) {
  const failed = [];
  const context = { client, up, tool: (name) => `${up.tag}_${name}` };
  for (const [name, check] of Object.entries(checks)) {
    if (failures >= GIVE_UP) break;
    up.inbox.entries = [];
    try {
      await check(context);
    } catch (e) {
      failures++;
      failed.push(`${name}: ${e.message.split('\n').slice(0, 12).join('\n')}`);
    }
  }
  return failed;
}

for (const c of CLIENTS) {
  test(`client ${label(c)}`, async (t) => {
    const client = await connect(c);
    try {
      for (const s of SERVERS) {
        await t.test(`server ${label(s)}`, async () => {
          const failed = await cell(client, upstreams.get(tagOf(s)));
          table.set(`${tagOf(c)}/${tagOf(s)}`, failed.length ? `${failed.length} failed` : 'ok');
          assert.equal(failed.length, 0, failed.join('\n'));
          assert.ok(failures < GIVE_UP, 'not run: too much failed before');
        });
      }
    } finally {
      await client.close();
    }
  });
}

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
        { messages: [], _meta },
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
