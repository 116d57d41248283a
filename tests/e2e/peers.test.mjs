// SPDX-License-Identifier: Apache-2.0
// The raw clients and the scripted servers of the other tests without a gateway between them, and beside the official
// SDK: what the matrix holds against Toolgate has to be true of them first.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { answering, checks, Impossible } from './lib/checks.mjs';
import { ModernHttpClient, ModernStdioClient } from './lib/modern.mjs';
import { deferred, HttpClient, lines, onEnd, REVISIONS, SseClient, StdioClient, within } from './lib/raw.mjs';
import { MODERN, TASKS } from './lib/rules.mjs';
import { makeUpstream } from './servers/features.mjs';

const FIXTURE = fileURLToPath(new URL('../fixture-everything/server.mjs', import.meta.url));
const CAPABILITIES = { sampling: {}, roots: {}, elicitation: { form: {} } };

// A server as a child: what a client on stdio takes for a gateway.
class Child {
  constructor(command, args) {
    this.child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.child.stdin.on('error', () => {});
    this.exited = new Promise((resolve) => this.child.on('close', resolve));
    this.listening = deferred();
    lines(this.child.stderr, (line) => {
      const port = /listening on port (\d+)/.exec(line);
      if (port) this.listening.resolve(`http://127.0.0.1:${port[1]}`);
    });
  }

  async stop() {
    this.child.kill();
    await within(this.exited, 'the end of the server');
  }
}

// ---- each client beside the server of its own revision and transport

const clients = {
  stdio: (Kind) => (up, options) => new Kind(new Child(up.config().command, up.config().args), options),
  http: (Kind) => (up, options) => new Kind(up.base, options),
};
const PAIRS = [
  ...REVISIONS.map((rev) => ['stdio', rev, clients.stdio(StdioClient)]),
  ...REVISIONS.slice(1).map((rev) => ['http', rev, clients.http(HttpClient)]),
  ...REVISIONS.map((rev) => ['sse', rev, clients.http(SseClient)]),
  ['stdio', MODERN, clients.stdio(ModernStdioClient)],
  ['http', MODERN, clients.http(ModernHttpClient)],
];

for (const [transport, rev, make] of PAIRS) {
  test(`client and server of ${rev} on ${transport} agree about everything that the matrix checks`, async (t) => {
    const up = await makeUpstream(transport, 'up', { rev });
    onEnd(t, () => up.close());
    const { elicitation, ...older } = CAPABILITIES;
    const capabilities = rev >= '2025-06-18' ? { ...older, elicitation } : older;
    const client = answering(make(up, { rev, capabilities }));
    onEnd(t, () => client.close());
    await client.connect();
    const left = [];
    for (const [name, check] of Object.entries(checks)) {
      up.inbox.entries = [];
      try {
        await check({ client, up, tool: (n) => `up_${n}` });
      } catch (e) {
        if (!(e instanceof Impossible)) throw new Error(`${name}: ${e.message}`, { cause: e });
        left.push(name);
      }
    }
    t.diagnostic(`impossible: ${left.join(', ') || 'nothing'}`);
  });
}

// ---- the official client at our server

const transports = {
  http: (up) => new StreamableHTTPClientTransport(new URL(`${up.base}/mcp`)),
  stdio: (up) => new StdioClientTransport(up.config()),
};

for (const transport of ['http', 'stdio']) {
  test(`the official client finds in our server of 2026-07-28 what it expects (${transport})`, async (t) => {
    const up = await makeUpstream(transport, 'up', { rev: MODERN });
    onEnd(t, () => up.close());
    const options = { capabilities: CAPABILITIES, versionNegotiation: { mode: { pin: MODERN } } };
    const client = new Client({ name: 'official', version: '1' }, options);
    client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { ok: true } }));
    client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///home' }] }));
    client.setRequestHandler('sampling/createMessage', async ({ params }) => ({
      role: 'assistant',
      model: 'm',
      content: { type: 'text', text: `re: ${params.messages[0].content.text}` },
    }));
    await client.connect(transports[transport](up));
    onEnd(t, () => client.close());
    assert.deepEqual(client.getServerCapabilities(), up.capabilities);
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((tool) => tool.name), up.tools.map((tool) => tool.name));
    const call = (name, args = {}, more) => client.callTool({ name: `up_${name}`, arguments: args }, more);
    const place = { n: 1, region: 'Zürich' };
    assert.deepEqual((await call('echo', place)).structuredContent.got, place);
    assert.deepEqual((await call('numbers')).structuredContent, [1, 2, 3]);
    assert.equal((await call('elicit', { q: 'sure?' })).structuredContent.result.content.ok, true);
    assert.deepEqual((await call('two', { q: 'a' })).structuredContent.roots, { roots: [{ uri: 'file:///home' }] });
    assert.deepEqual((await call('rounds', { q: 'a' })).structuredContent, { said: 're: re: a' });
    await assert.rejects(call('nothing'), { code: -32602 });
    await assert.rejects(client.readResource({ uri: 'test://up/item/none' }), { code: -32602 });
    const { contents } = await client.readResource({ uri: 'test://up/item/1' });
    assert.equal(contents[0].text, 'contents of test://up/item/1');
    const prompt = await client.getPrompt({ name: 'up_asking' });
    assert.equal(prompt.messages[0].content.text, 'file:///home');
    assert.deepEqual(up.problems, []);
  });

  test(`the official client hears of progress and changes at our server of 2026-07-28 (${transport})`, async (t) => {
    const up = await makeUpstream(transport, 'up', { rev: MODERN });
    onEnd(t, () => up.close());
    const client = new Client({ name: 'official', version: '1' }, { versionNegotiation: { mode: { pin: MODERN } } });
    await client.connect(transports[transport](up));
    onEnd(t, () => client.close());
    const abort = new AbortController();
    const step = deferred(); // the client drops progress that comes in one piece with the answer
    const more = { signal: abort.signal, onprogress: (p) => step.resolve(p.progress) };
    const held = client.callTool({ name: 'up_hold', arguments: {} }, more);
    held.catch(() => {});
    const entry = await up.next((e) => e.msg?.params?.name === 'up_hold', 'hold');
    const { progressToken } = entry.msg.params._meta;
    await entry.peer.notify('notifications/progress', { progressToken, progress: 0.5 }, entry.ctx);
    assert.equal(await within(step.promise, 'progress'), 0.5);
    const heard = up.cancelled(entry);
    abort.abort('enough');
    await heard;
    const updated = deferred();
    const changed = deferred();
    client.setNotificationHandler('notifications/resources/updated', (n) => updated.resolve(n.params.uri));
    client.setNotificationHandler('notifications/tools/list_changed', () => changed.resolve(true));
    const uri = 'test://up/watched';
    const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] });
    await up.subscribed(uri);
    await up.updated(uri);
    await up.changed('tools');
    assert.equal(await within(updated.promise, 'the update'), uri);
    assert.ok(await within(changed.promise, 'the change'));
    await subscription.close();
    await up.unsubscribed(uri);
    // It says on HTTP too that it cancels, which is not defined there.
    assert.deepEqual([...new Set(up.problems)], transport === 'http' ? ['a notification notifications/cancelled'] : []);
  });
}

// ---- our client at a server of the official SDK

const OPTIONS = { capabilities: CAPABILITIES };
const fixtures = {
  http: async (child) => new ModernHttpClient(await within(child.listening.promise, 'the port'), OPTIONS),
  stdio: (child) => new ModernStdioClient(child, OPTIONS),
};

for (const transport of ['http', 'stdio']) {
  test(`our client of 2026-07-28 gets along with a server of the official SDK (${transport})`, async (t) => {
    const args = transport === 'http' ? ['--port', '0'] : ['--stdio'];
    const child = new Child(process.execPath, [path.resolve(FIXTURE), ...args]);
    onEnd(t, () => child.stop());
    const client = answering(await fixtures[transport](child));
    onEnd(t, () => client.close());
    await client.connect();
    assert.ok(client.server.capabilities.extensions[TASKS]);
    const text = async (name, more = {}) => (await client.call(name, more)).content[0].text;
    assert.ok((await client.tools()).some((tool) => tool.name === 'test_custom_headers'));
    assert.equal(await text('test_custom_headers', { region: 'Zürich', level: 3, urgent: true }), 'ran in Zürich');
    client.handlers.set('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada', color: 'red' } }));
    assert.equal(await text('test_input_required_result_multi_round'), 'Ada likes red');
    assert.equal(await text('test_input_required_result_multiple_inputs'), 're: Generate a greeting Ada, 1 roots');
    assert.equal(await text('test_input_required_result_list_roots'), 'Roots: file:///home');
    await client.call('test_tool_with_progress', {}, { meta: { progressToken: 7 } });
    const steps = client.inbox.entries.filter((e) => e.msg?.method === 'notifications/progress');
    assert.deepEqual(steps.map((e) => e.msg.params.progress), [0, 50, 100]);
    client.setLevel('info');
    await client.call('test_logging_tool');
    assert.equal((await client.next('notifications/message')).msg.params.level, 'info');
    client.setLevel(undefined);
    await client.call('test_logging_tool');
    const watch = await client.watchResource('test://watched-resource');
    await client.call('test_trigger_resource_update', { uri: 'test://watched-resource' });
    assert.equal((await watch.next('notifications/resources/updated')).uri, 'test://watched-resource');
    await watch.close();
    const tools = await client.watchTools();
    await client.call('test_trigger_tool_change');
    await tools.next('notifications/tools/list_changed');
    await tools.close();
    const { taskId } = await client.makeTask('slow_compute', { seconds: 0.02, label: 'x' });
    assert.equal((await client.taskResult(taskId)).content[0].text, 'Computed x in 0.02 s');
    client.handlers.set('elicitation/create', () => ({ action: 'accept', content: { confirm: true } }));
    const asking = await client.makeTask('confirm_delete', { filename: 'a' });
    assert.equal((await client.taskResult(asking.taskId)).content[0].text, 'Deleted a');
    const { error } = await client.request('resources/read', { uri: 'test://none' });
    assert.equal(error.code, -32602);
    assert.deepEqual([...new Set(client.problems)], []);
  });
}
