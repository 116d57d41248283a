// SPDX-License-Identifier: Apache-2.0
// The official clients see through Toolgate, on stdio and on HTTP, what they see without it: three official servers
// stand behind one gateway in direct mode, and whatever a client gets is compared with what it gets from the server.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { CLIENTS, SDKS } from './lib/clients.mjs';
import { startGateway, stdioGateway } from './lib/gateway.mjs';
import { onEnd, suiteScope, tempDir, until } from './lib/process.mjs';
import { everything, filesystem, memory, watcher } from './lib/servers.mjs';

const TRANSPORTS = {
  stdio: async (t, options) => stdioGateway(t, options),
  http: async (t, options) => ({ url: (await startGateway(t, options)).url }),
};

/** A folder with files of several kinds, and the servers; each call has a memory of its own, and the same files. */
function world(t) {
  const dir = tempDir(t);
  const files = path.join(dir, 'files');
  fs.mkdirSync(path.join(files, 'sub'), { recursive: true });
  fs.writeFileSync(path.join(files, 'umlaut.txt'), 'Grüße, 世界 🌍\nline two\n');
  fs.writeFileSync(path.join(files, 'sub/pixel.png'), Buffer.from('89504e470d0a1a0a', 'hex'));
  let memories = 0;
  return {
    files,
    home: dir,
    roots: [{ uri: pathToFileURL(files).href, name: 'files' }],
    servers: () => ({
      everything: everything(),
      filesystem: filesystem(files),
      memory: memory(path.join(dir, `memory-${memories++}.jsonl`)),
    }),
  };
}

/** Requests in an order in which each has the same answer every time; `full` adds those that take an SDK to ask. */
function requests(files, full) {
  const entity = { name: 'Toolgate', entityType: 'program', observations: ['is a gateway', 'überträgt alles'] };
  const few = [
    ['everything', 'callTool', 'echo', { message: 'Grüße 🌍 "quoted" \\ \u2028' }],
    ['filesystem', 'callTool', 'read_text_file', { path: path.join(files, 'umlaut.txt') }],
    ['memory', 'callTool', 'create_entities', { entities: [entity] }],
    ['everything', 'readResource', 'demo://resource/static/document/features.md'],
    ['everything', 'getPrompt', 'args-prompt', { city: 'Rome', state: 'Lazio' }],
  ];
  const more = [
    ['everything', 'callTool', 'get-sum', { a: 0.1, b: 1e21 }],
    ['everything', 'callTool', 'get-sum', { a: 'no number' }],
    ['everything', 'callTool', 'get-structured-content', { location: 'Chicago' }],
    ['everything', 'callTool', 'get-tiny-image', {}],
    ['everything', 'callTool', 'get-annotated-message', { messageType: 'error', includeImage: true }],
    ['everything', 'callTool', 'get-resource-links', { count: 3 }],
    ['everything', 'callTool', 'get-resource-reference', { resourceType: 'Text', resourceId: 7 }],
    ['everything', 'callTool', 'get-roots-list', {}],
    ['everything', 'callTool', 'trigger-sampling-request', { prompt: 'Say something', maxTokens: 10 }],
    ['everything', 'callTool', 'trigger-elicitation-request', {}],
    ['filesystem', 'callTool', 'list_allowed_directories', {}],
    ['filesystem', 'callTool', 'directory_tree', { path: path.join(files, 'sub') }],
    ['filesystem', 'callTool', 'read_media_file', { path: path.join(files, 'sub/pixel.png') }],
    ['filesystem', 'callTool', 'write_file', { path: path.join(files, 'new.txt'), content: 'x'.repeat(200_000) }],
    ['filesystem', 'callTool', 'read_text_file', { path: path.join(files, 'new.txt') }],
    ['filesystem', 'callTool', 'read_text_file', { path: '/etc/passwd' }],
    ['memory', 'callTool', 'read_graph', {}],
    ['memory', 'callTool', 'search_nodes', { query: 'gateway' }],
    ['memory', 'callTool', 'delete_entities', { entityNames: ['Toolgate'] }],
    ['everything', 'readResource', 'demo://resource/dynamic/text/1'],
    ['everything', 'readResource', 'demo://resource/dynamic/blob/2'],
    ['everything', 'getPrompt', 'simple-prompt'],
    ['everything', 'getPrompt', 'completable-prompt', { department: 'Sales', name: 'Eve' }],
    ['everything', 'getPrompt', 'resource-prompt', { resourceType: 'Text', resourceId: '3' }],
  ];
  return full ? [...few, ...more] : few;
}

/** Makes answers comparable that tell the time: server-everything does, in text and in base64. */
function timeless(value) {
  const noTime = text => text.replace(/\d+:\d\d:\d\d [AP]M/g, 'TIME');
  const blob = text => noTime(Buffer.from(text, 'base64').toString());
  return JSON.parse(JSON.stringify(value), (key, v) =>
    typeof v !== 'string' ? v : key === 'blob' ? blob(v) : noTime(v));
}

/** What a request gives: its result, or its error as a client sees it. */
const outcome = (session, [, method, ...args]) => session[method](...args).then(timeless, error => {
  if (typeof error.code !== 'number') throw error;
  return { code: error.code, message: error.message, data: error.data };
});

const LISTS = {
  listTools: { key: 'name', servers: ['everything', 'filesystem', 'memory'] },
  listResources: { key: 'uri', servers: ['everything', 'memory'] },
  listResourceTemplates: { key: 'uriTemplate', servers: ['everything'] },
  listPrompts: { key: 'name', servers: ['everything'] },
};

const sorted = (list, key) => list.toSorted((a, b) => (a[key] < b[key] ? -1 : 1));

/** `items.map(work)`, `width` at a time. */
async function mapWide(items, width, work) {
  const results = [];
  const left = [...items.entries()];
  const worker = async () => {
    for (let next; (next = left.shift()); ) results[next[0]] = await work(next[1]);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}

/**
 * What a client gets: `{ lists: { method: [entry] }, outcomes: [value] }`. `sessions` has one for each server, which
 * through Toolgate is the same one. An SDK asks in order; the Inspector's requests depend on nothing and take long.
 */
async function ask(sessions, requested, width) {
  const parts = Object.entries(LISTS).flatMap(([method, { servers }]) =>
    [...new Set(servers.map(name => sessions[name]))].map(session => ({ method, session })));
  const found = await mapWide(parts, width, ({ method, session }) => session[method]());
  const lists = Object.fromEntries(Object.entries(LISTS).map(([method, { key }]) =>
    [method, sorted(found.filter((_, i) => parts[i].method === method).flat(), key)]));
  return { lists, outcomes: await mapWide(requested, width, request => outcome(sessions[request[0]], request)) };
}

for (const [client, open] of Object.entries(CLIENTS)) {
  describe(client, () => {
    const suite = suiteScope();
    const here = world(suite);
    const requested = requests(here.files, client in SDKS);
    const width = client in SDKS ? 1 : 4;
    let direct;
    before(async () => {
      const sessions = {};
      for (const [name, server] of Object.entries(here.servers())) {
        const session = sessions[name] = await open(server, here);
        onEnd(suite, () => session.close());
      }
      direct = await ask(sessions, requested, width);
    });

    for (const [transport, start] of Object.entries(TRANSPORTS)) {
      test(`${client} gets the lists and answers of three servers through Toolgate on ${transport}`, async t => {
        const session = await open(await start(t, { servers: here.servers() }), here);
        onEnd(t, () => session.close());
        const sessions = { everything: session, filesystem: session, memory: session };
        const { lists, outcomes } = await ask(sessions, requested, width);
        assert.deepEqual(lists, direct.lists);
        for (const [i, request] of requested.entries())
          assert.deepEqual(outcomes[i], direct.outcomes[i], JSON.stringify(request).slice(0, 200));
      });
    }
  });
}

for (const [client, open] of Object.entries(SDKS)) {
  for (const [transport, start] of Object.entries(TRANSPORTS)) {
    describe(`${client} on ${transport}`, () => {
      const suite = suiteScope();
      const here = world(suite);
      let session;
      before(async () => {
        const target = await start(suite, { servers: { ...here.servers(), watcher: watcher() } });
        session = await open(target, here);
        onEnd(suite, () => session.close());
        await session.listTools();
      });
      const text = result => result.content[0].text;
      const callWith = (call, options) =>
        session.client.callTool(call, ...(client === 'sdk 1.x' ? [undefined, options] : [options]));
      const all = method => session.received.filter(m => m.method === method);
      const noted = (method, check = () => true) =>
        until(() => all(method).find(n => check(n.params)),
          () => `no such ${method}; received: ${JSON.stringify(session.received)}`);

      test(`${client} completes arguments of prompts and resource templates on ${transport}`, async () => {
        const complete = async (ref, argument, context) =>
          (await session.client.complete({ ref, argument, context })).completion.values;
        const prompt = { type: 'ref/prompt', name: 'completable-prompt' };
        assert.deepEqual(await complete(prompt, { name: 'department', value: 'S' }), ['Sales', 'Support']);
        assert.deepEqual(
          await complete(prompt, { name: 'name', value: '' }, { arguments: { department: 'Sales' } }),
          ['David', 'Eve', 'Frank']);
        const template = { type: 'ref/resource', uri: 'demo://resource/dynamic/text/{resourceId}' };
        assert.deepEqual(await complete(template, { name: 'resourceId', value: '42' }), ['42']);
      });

      test(`${client} hears of updates of a resource only while it subscribes, and logs, on ${transport}`, async () => {
        const uri = 'demo://resource/static/document/features.md';
        const toggle = () => session.callTool('toggle-subscriber-updates', {});
        const updates = () => all('notifications/resources/updated').length;
        await session.client.setLoggingLevel('debug');
        await session.client.subscribeResource({ uri });
        await noted('notifications/message',
          p => p.level === 'info' && String(p.data).includes(`Subscribe Resource request for URI: ${uri}`));
        await toggle();
        await noted('notifications/resources/updated', p => p.uri === uri);
        await toggle();
        await session.client.unsubscribeResource({ uri });
        await noted('notifications/message', p => String(p.data).includes('Unsubscribe'));
        const before = updates();
        await toggle();
        await toggle();
        await session.client.ping();
        assert.equal(updates(), before);
      });

      test(`${client} gets no log below the level that it set on ${transport}`, async () => {
        const logs = () => all('notifications/message').length;
        await session.client.setLoggingLevel('error');
        const before = logs();
        await session.client.subscribeResource({ uri: 'demo://resource/static/document/features.md' });
        await session.client.unsubscribeResource({ uri: 'demo://resource/static/document/features.md' });
        await session.client.ping();
        assert.equal(logs(), before);
      });

      test(`${client} follows the progress of a call on ${transport}`, async () => {
        const seen = [];
        const options = { onprogress: p => seen.push(p) };
        const call = { name: 'trigger-long-running-operation', arguments: { duration: 0.3, steps: 3 } };
        const result = await callWith(call, options);
        assert.match(text(result), /completed/);
        const steps = all('notifications/progress').map(({ params: { progress, total } }) => ({ progress, total }));
        assert.deepEqual(steps, [1, 2, 3].map(progress => ({ progress, total: 3 })));
        assert.deepEqual(session.received.slice(-4).map(m => 'result' in m), [false, false, false, true]);
        // An SDK may drop what it received together with the result.
        assert.deepEqual(seen.slice(0, 2), steps.slice(0, 2));
      });

      test(`${client} cancels a call, and the server that runs it hears of it, on ${transport}`, async () => {
        const abort = new AbortController();
        const rejected = assert.rejects(callWith({ name: 'wait', arguments: {} }, { signal: abort.signal }));
        assert.equal(text(await session.callTool('waiting', {})), 'true');
        abort.abort('changed my mind');
        await rejected;
        assert.equal(text(await session.callTool('cancelled', {})), 'true');
      });

      test(`${client} hands _meta and unusual arguments to the server unchanged on ${transport}`, async () => {
        const args = { float: 1.5, tiny: 5e-324, nested: { list: [null, true, [], {}, ''] }, 'ключ "x"': '\u0000\t🌍' };
        const { content } = await session.client.callTool(
          { name: 'request', arguments: args, _meta: { 'example.com/trace': 'a-1' } });
        const { params } = JSON.parse(content[0].text);
        assert.deepEqual(params.arguments, args);
        assert.equal(params._meta['example.com/trace'], 'a-1');
        assert.equal(params.name, 'request');
      });

      test(`${client} is told of a tool, resource or prompt that does not exist on ${transport}`, async () => {
        await assert.rejects(session.callTool('no-such-tool', {}), { code: -32602 });
        await assert.rejects(session.getPrompt('no-such-prompt'), { code: -32602 });
        await assert.rejects(session.readResource('nowhere://at/all'), e => [-32002, -32602].includes(e.code));
      });
    });
  }
}

for (const [transport, start] of Object.entries(TRANSPORTS)) {
  const connect = async (t, client, options) => {
    const here = world(t);
    const session = await SDKS[client](await start(t, { servers: here.servers() }), { ...here, ...options });
    onEnd(t, () => session.close());
    return session;
  };
  const hello = { content: [{ type: 'text', text: 'Echo: hello' }] };

  test(`what is asked while the servers start is answered when they have started, on ${transport}`, async t => {
    const session = await connect(t, 'sdk 1.x');
    const [tool, prompt, resource, dynamic] = await Promise.all([
      session.callTool('echo', { message: 'hello' }),
      session.getPrompt('simple-prompt'),
      session.readResource('demo://resource/static/document/features.md'),
      session.readResource('demo://resource/dynamic/text/1'),
    ]);
    assert.deepEqual(tool, hello);
    assert.equal(prompt.messages.length, 1);
    assert.match(resource.contents[0].text, /^# Everything Server/);
    assert.match(dynamic.contents[0].text, /^Resource 1:/);
  });

  test(`client 2.x that looks for the newer protocol first finds a session on ${transport}`, async t => {
    const session = await connect(t, 'client 2.x', { negotiation: 'auto' });
    await session.listTools();
    assert.deepEqual(await session.callTool('echo', { message: 'hello' }), hello);
  });
}
