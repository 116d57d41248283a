// SPDX-License-Identifier: Apache-2.0
// The official clients see through Toolgate, on stdio and on HTTP, what they see without it: three official servers
// stand behind one gateway in direct mode, and whatever a client gets is compared with what it gets from the server.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { callWith, CLIENTS, SDKS } from './lib/clients.mjs';
import { ask, requests, timeless, TRANSPORTS, world } from './lib/compare.mjs';
import { onEnd, suiteScope, until } from './lib/process.mjs';
import { watcher } from './lib/servers.mjs';

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
        assert.deepEqual(timeless(lists), timeless(direct.lists));
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
        const result = await callWith(client, session, call, options);
        assert.match(text(result), /completed/);
        const steps = all('notifications/progress').map(({ params: { progress, total } }) => ({ progress, total }));
        assert.deepEqual(steps, [1, 2, 3].map(progress => ({ progress, total: 3 })));
        assert.deepEqual(session.received.slice(-4).map(m => 'result' in m), [false, false, false, true]);
        // An SDK may drop what it received together with the result.
        assert.deepEqual(seen.slice(0, 2), steps.slice(0, 2));
      });

      test(`${client} cancels a call, and the server that runs it hears of it, on ${transport}`, async () => {
        const abort = new AbortController();
        const call = { name: 'wait', arguments: {} };
        const rejected = assert.rejects(callWith(client, session, call, { signal: abort.signal }));
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
}
