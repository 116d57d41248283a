// SPDX-License-Identifier: Apache-2.0
// subscriptions/listen: what a stateless client asks for is told, tagged with its id, and nothing else; servers of both
// eras are asked for it once for all, and no longer when the last one has gone.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { HttpClient, startGateway, until } from './lib/raw.mjs';
import { HttpCaller, key, SERVERS, StdioCaller, text } from './lib/stateless.mjs';

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const UPDATED = 'notifications/resources/updated';
const tag = (message) => message.params._meta[key('subscriptionId')];
const URIS = ['test://a', 'test://b'];

/** Waits until the server has been asked to tell of `uri`, or, with `no`, no longer is. */
const watched = (up, uri, no = false) => until(() => {
  const watching = up.modern
    ? [...up.listens].some((l) => l.wishes.resourceSubscriptions?.includes(uri))
    : up.connections.some((c) => c.uris?.has(uri));
  return watching !== no;
}, `${uri} ${no ? 'no longer ' : ''}to be watched`);

async function start(t, era, kind, options = {}) {
  const up = await SERVERS[era](kind, { name: 'up', tools: { tool: () => text('x') }, resources: URIS,
    prompts: { prompt: () => ({ messages: [] }) } });
  up.change = async (what) => {
    const name = `more_${up.tools.length}`;
    if (what === 'tools') up.tools = [...up.tools, { name, inputSchema: { type: 'object' } }];
    else if (what === 'prompts') up.on('prompts/list', () => ({ prompts: [{ name }] }));
    else up.on('resources/list', () => ({ resources: [...URIS, `test://${name}`].map((uri) => ({ uri, name: uri })) }));
    const method = `notifications/${what}/list_changed`;
    const wishing = up.modern && [...up.listens].filter((l) => l.wishes[`${what}ListChanged`]);
    if (up.modern) await Promise.all(wishing.map((l) => up.tell(l, method)));
    else await up.broadcast(method);
  };
  const gateway = await startGateway(t, { servers: { up }, ...options });
  return { up, gateway };
}

for (const era of Object.keys(SERVERS)) {
  for (const kind of ['http', 'stdio']) {
    describe(`a ${era} server on ${kind}`, () => {
      const open = async (t) => {
        const { up, gateway } = await start(t, era, kind);
        const caller = new HttpCaller(gateway.url);
        await caller.send('tools/list');
        return { up, gateway, caller };
      };

      test('the acknowledgement comes first and says what will be told; all has the tag of the request', async (t) => {
        const { up, caller } = await open(t);
        const wanted = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true,
          resourceSubscriptions: ['test://a', 'nowhere://x'], somethingElse: true };
        for (const id of [17, '17', 'ü"\\']) {
          const stream = await caller.listen(wanted, { id });
          assert.equal(stream.status, 200);
          assert.match(stream.headers['content-type'], /^text\/event-stream/);
          assert.equal(stream.notes[0].method, ACKNOWLEDGED);
          assert.deepEqual(stream.acknowledged.notifications, { toolsListChanged: true, promptsListChanged: true,
            resourcesListChanged: true, resourceSubscriptions: ['test://a'] });
          for (const what of ['tools', 'prompts', 'resources']) {
            await up.change(what);
            await stream.next(`notifications/${what}/list_changed`);
          }
          await up.updated('test://a');
          assert.equal((await stream.next(UPDATED)).params.uri, 'test://a');
          for (const note of stream.notes) assert.strictEqual(tag(note), id, JSON.stringify(note));
          stream.close();
          await watched(up, 'test://a', true);
        }
      });

      test('each listener hears what it asked for, and no more', async (t) => {
        const { up, caller } = await open(t);
        const tools = await caller.listen({ toolsListChanged: true }, { id: 'tools' });
        const a = await caller.listen({ resourceSubscriptions: ['test://a'] }, { id: 'a' });
        const both = await caller.listen({ resourceSubscriptions: URIS, toolsListChanged: false }, { id: 'both' });
        const nothing = await caller.listen({}, { id: 'nothing' });
        assert.deepEqual(nothing.acknowledged.notifications, {});
        await up.updated('test://a');
        await up.updated('test://b');
        await up.change('tools');
        assert.equal((await a.next(UPDATED)).params.uri, 'test://a');
        await both.next((e) => e.msg.params.uri === 'test://a');
        await both.next((e) => e.msg.params.uri === 'test://b');
        await tools.next('notifications/tools/list_changed');
        // Whatever else there is would have been told before this.
        await up.updated('test://a');
        await both.next((e) => e.msg.params.uri === 'test://a');
        await a.next(UPDATED);
        const heard = (stream) => stream.notes.map((n) => `${tag(n)} ${n.method} ${n.params.uri ?? ''}`.trim());
        assert.deepEqual(heard(tools), [`tools ${ACKNOWLEDGED}`, 'tools notifications/tools/list_changed']);
        assert.deepEqual(heard(a), [`a ${ACKNOWLEDGED}`, `a ${UPDATED} test://a`, `a ${UPDATED} test://a`]);
        assert.deepEqual(heard(nothing), [`nothing ${ACKNOWLEDGED}`]);
        assert.equal(heard(both).length, 4);
        for (const stream of [tools, a, both, nothing]) stream.close();
      });

      test('the server is asked once for all, and no longer when the last one has gone', async (t) => {
        const { up, gateway, caller } = await open(t);
        const old = new HttpClient(gateway.url);
        await old.connect();
        const wanted = { resourceSubscriptions: ['test://a'] };
        const streams = [];
        for (const c of [caller, caller, new HttpCaller(gateway.url)]) streams.push(await c.listen(wanted));
        await old.ask('resources/subscribe', { uri: 'test://a' });
        await watched(up, 'test://a');
        await up.updated('test://a');
        for (const stream of streams) assert.equal((await stream.next(UPDATED)).params.uri, 'test://a');
        await old.next(UPDATED);
        for (const stream of streams) stream.close();
        await old.ask('ping');
        await up.updated('test://a');
        assert.deepEqual((await old.next(UPDATED)).msg.params, { uri: 'test://a' }, 'the session still hears it');
        await old.ask('resources/unsubscribe', { uri: 'test://a' });
        await watched(up, 'test://a', true);
        if (!up.modern) {
          const asked = up.inbox.entries.filter((e) => e.msg?.method === 'resources/subscribe');
          assert.equal(asked.length, 1, 'asked once');
        }
        await old.close();
      });

      test('a listener ends with a result when the gateway is stopped', async (t) => {
        const { gateway, caller } = await open(t);
        const streams = [];
        const wanted = { toolsListChanged: true, resourceSubscriptions: ['test://a'] };
        for (const id of [5, 'five']) streams.push(await caller.listen(wanted, { id }));
        const [end, ...answers] = await Promise.all([gateway.stop(), ...streams.map((s) => s.answer())]);
        assert.equal(end.code, 0);
        for (const [i, { msg, result }] of answers.entries()) {
          assert.strictEqual(msg.id, streams[i].id);
          assert.equal(result.resultType, 'complete');
          assert.strictEqual(result._meta[key('subscriptionId')], streams[i].id);
          await streams[i].ended;
        }
      });

      test('on stdio several listeners share the pipe, and each ends by its notification', async (t) => {
        const { up, gateway } = await start(t, era, kind, { transport: 'stdio' });
        const client = new StdioCaller(gateway);
        await client.send('tools/list');
        const listen = (id, notifications) => {
          const answer = client.send('subscriptions/listen', { notifications }, { id });
          answer.catch(() => {});
          return answer;
        };
        const mine = (id) => (e) => e.msg?.method !== undefined && tag(e.msg) === id;
        const answers = [listen(1, { resourceSubscriptions: ['test://a'] })];
        answers.push(listen('1', { resourceSubscriptions: URIS }));
        for (const id of [1, '1']) assert.equal((await client.next(mine(id))).msg.method, ACKNOWLEDGED);
        await up.updated('test://a');
        for (const id of [1, '1']) assert.equal((await client.next(mine(id))).msg.params.uri, 'test://a');
        await client.notify('notifications/cancelled', { requestId: '1' });
        await watched(up, 'test://b', true);
        await up.updated('test://a');
        assert.equal((await client.next(mine(1))).msg.params.uri, 'test://a');
        assert.deepEqual(client.inbox.entries.filter(mine('1')).map((e) => e.raw), []);
        client.abandon('"1"');
        await answers[1].catch(() => {});
        gateway.child.kill('SIGTERM');
        const { result } = await answers[0];
        assert.equal(result.resultType, 'complete');
        assert.strictEqual(result._meta[key('subscriptionId')], 1);
      });
    });
  }
}

test('a request to listen that says nothing useful is refused', async (t) => {
  const { gateway } = await start(t, 'handshake', 'stdio');
  const caller = new HttpCaller(gateway.url);
  for (const params of [{}, { notifications: null }, { notifications: [] }, { notifications: 'all' }]) {
    const { status, error } = await caller.send('subscriptions/listen', params);
    assert.equal(error.code, -32602);
    assert.equal(status, 200);
  }
  const odd = { toolsListChanged: 'yes', resourceSubscriptions: [5, null, {}], promptsListChanged: 1 };
  const stream = await caller.listen(odd);
  assert.deepEqual(stream.acknowledged.notifications, { resourceSubscriptions: [] });
  stream.close();
});

test('a server that restarts is asked again, and its listener hears on', async (t) => {
  for (const era of Object.keys(SERVERS)) {
    const { up, gateway } = await start(t, era, 'stdio');
    const caller = new HttpCaller(gateway.url);
    await caller.send('tools/list');
    const stream = await caller.listen({ resourceSubscriptions: ['test://a'], toolsListChanged: true });
    await watched(up, 'test://a');
    for (const c of up.connections) c.socket.destroy();
    await watched(up, 'test://a', true);
    await watched(up, 'test://a');
    await up.updated('test://a');
    await stream.next(UPDATED);
    stream.close();
  }
});

test('a listener that comes while the servers start is promised what they have', async (t) => {
  for (const era of Object.keys(SERVERS)) {
    const { up, gateway } = await start(t, era, 'stdio');
    const stream = await new HttpCaller(gateway.url).listen({ resourceSubscriptions: ['test://a'] });
    assert.deepEqual(stream.acknowledged.notifications.resourceSubscriptions, ['test://a']);
    await up.updated('test://a');
    await stream.next(UPDATED);
    stream.close();
  }
});
