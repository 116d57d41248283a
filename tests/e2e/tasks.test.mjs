// SPDX-License-Identifier: Apache-2.0
// Tasks of 2025-11-25 through Toolgate: a client that makes one, follows it, is asked something on the way and fetches
// the result; and a server that makes one of its client.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import { CreateMessageRequestSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

import { PATIENT, startGateway, stdioGateway } from './lib/gateway.mjs';
import { onEnd } from './lib/process.mjs';
import { everything, memory } from './lib/servers.mjs';

const INFO = { name: 'tasks', version: '1' };

const gateways = {
  stdio: async t => {
    const start = stdioGateway(t, { servers: { everything: everything(), memory: memory('/dev/null') }, config: PATIENT });
    return () => new StdioClientTransport({ ...start, stderr: 'ignore' });
  },
  http: async t => {
    const { url } = await startGateway(t, { servers: { everything: everything(), memory: memory('/dev/null') }, config: PATIENT });
    return () => new StreamableHTTPClientTransport(new URL(url));
  },
};

async function connect(t, transport, asked = []) {
  const capabilities = {
    elicitation: { form: {} },
    sampling: {},
    tasks: { requests: { sampling: { createMessage: {} } }, cancel: {} },
  };
  const client = new Client(INFO, { capabilities, taskStore: new InMemoryTaskStore() });
  client.setRequestHandler(ElicitRequestSchema, async request => {
    asked.push(request.params.message);
    const choice = request.params.requestedSchema.properties.interpretation.oneOf[0].const;
    return { action: 'accept', content: { interpretation: choice } };
  });
  client.setRequestHandler(CreateMessageRequestSchema, async (request, extra) => {
    const answer = { role: 'assistant', model: 'none', content: { type: 'text', text: 'sampled as a task' } };
    if (!request.params.task) return answer;
    const task = await extra.taskStore.createTask({ ttl: 60_000, pollInterval: 50 });
    setImmediate(() => extra.taskStore.storeTaskResult(task.taskId, 'completed', answer));
    return { task };
  });
  await client.connect(transport());
  onEnd(t, () => client.close());
  await client.listTools();
  return client;
}

for (const [name, gateway] of Object.entries(gateways)) {
  test(`a task is made, followed, asks its own client, and gives its result (${name})`, async t => {
    const asked = [];
    const client = await connect(t, await gateway(t), asked);
    const seen = [];
    let result;
    const call = { name: 'simulate-research-query', arguments: { topic: 'python', ambiguous: true } };
    for await (const message of client.experimental.tasks.callToolStream(call)) {
      seen.push(message.type);
      if (message.type === 'error') throw message.error;
      if (message.type === 'result') result = message.result;
    }
    assert.equal(seen[0], 'taskCreated');
    assert.ok(seen.includes('taskStatus'));
    assert.equal(asked.length, 1);
    assert.match(asked[0], /python/);
    assert.match(result.content[0].text, /Research Report: python \(/);
  });

  test(`a server makes a task of its client and waits for it (${name})`, async t => {
    const client = await connect(t, await gateway(t));
    const { tools } = await client.listTools();
    assert.ok(tools.some(tool => tool.name === 'trigger-sampling-request-async'));
    const result = await client.callTool({ name: 'trigger-sampling-request-async', arguments: { prompt: 'x' } });
    assert.match(JSON.stringify(result.content), /sampled as a task/);
  });
}

test('a task belongs to the session that made it: others can neither see nor cancel it', async t => {
  const transport = await gateways.http(t);
  const mine = await connect(t, transport), other = await connect(t, transport);
  const call = { name: 'simulate-research-query', arguments: { topic: 'rust', ambiguous: false } };
  let id;
  for await (const message of mine.experimental.tasks.callToolStream(call)) {
    if (message.type !== 'taskCreated') continue;
    id = message.task.taskId;
    break;
  }
  await assert.rejects(other.experimental.tasks.getTask(id), { code: -32602 });
  await assert.rejects(other.experimental.tasks.cancelTask(id), { code: -32602 });
  assert.equal((await mine.experimental.tasks.getTask(id)).status, 'working');
  await mine.experimental.tasks.cancelTask(id);
  assert.equal((await mine.experimental.tasks.getTask(id)).status, 'cancelled');
});
