// SPDX-License-Identifier: Apache-2.0
// The flow guard with real clients and servers: what survives a restart, and results of tasks; toolgate stats
// --governance.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import path from 'node:path';
import { test } from 'node:test';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

import { gatewayEnv, PATIENT, startGateway, toolgate } from './lib/gateway.mjs';
import { onEnd, run, tempDir, writeJson } from './lib/process.mjs';
import { everything } from './lib/servers.mjs';
import { HttpCaller } from './lib/stateless.mjs';

const MARKS = [
  { tools: ['everything:get-env'], flow: ['reads_private'] },
  { tools: ['everything:simulate-*', 'everything:get-sum'], flow: ['untrusted_input'] },
  { tools: ['everything:echo'], flow: ['sends_out'] },
];
const governed = (flow) => ({ context: { unlisted_servers: 'allow' }, flow });

async function connect(t, url) {
  const client = new Client({ name: 'flow', version: '1' }, { capabilities: { elicitation: { form: {} } }, taskStore: new InMemoryTaskStore() });
  client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'cancel' }));
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  onEnd(t, () => client.close());
  await client.listTools();
  return client;
}

const echo = (client) => client.callTool({ name: 'echo', arguments: { message: 'out' } });
const refused = (error) => error.data?.error === 'FLOW_DENIED';

function world(t, flow) {
  const dir = tempDir(t);
  const file = writeJson(path.join(dir, 'governance.json'), governed(flow));
  const config = { ...PATIENT, governance: file, state_dir: path.join(dir, 'state'), reload: 'signal' };
  return { dir, file, start: () => startGateway(t, { servers: { everything: everything() }, dir, config }) };
}

test('with scope agent, the marks of an agent survive a restart of the gateway', async (t) => {
  const w = world(t, { scope: 'agent', marks: MARKS });
  const first = await w.start();
  const before = await connect(t, first.url);
  await before.callTool({ name: 'get-env', arguments: {} });
  await echo(before);
  await before.close();
  await first.stop();
  const after = await connect(t, (await w.start()).url);
  await echo(after);
  const call = after.callTool({ name: 'get-sum', arguments: { a: 1, b: 2 } });
  await assert.rejects(call, (error) => refused(error) && error.data.details.flow.earlier.some((it) => it.tool === 'get-env'));
});

test('requests without a session are one run, whatever client and descendant of the agent they name', async (t) => {
  const dir = tempDir(t), token = 'a'.repeat(32), sha256 = createHash('sha256').update(token).digest('hex');
  const governance = writeJson(path.join(dir, 'governance.json'), governed({ marks: MARKS }));
  const config = { ...PATIENT, governance, state_dir: path.join(dir, 'state'), modes: ['servers'], auth: { tokens: [{ sha256, agent: 'ann' }] } };
  const { url } = await startGateway(t, { servers: { everything: everything() }, dir, config });
  const call = async (agent_id, tool, args) => {
    const client = Object.assign(new HttpCaller(url, { token, client: { name: `client of ${agent_id}`, version: '1' } }), { url: `${url}/servers` });
    onEnd(t, () => client.close());
    return (await client.call('execute_tool', { server: 'everything', tool, args, agent_id })).result;
  };
  await call('ann.one', 'get-env', {});
  await call('ann.two', 'get-sum', { a: 1, b: 2 });
  for (const agent of ['ann.three', 'ann']) assert.equal((await call(agent, 'echo', { message: 'out' }))._meta['io.toolgate/fault'], 'FLOW_DENIED');
});

test('the result of a task gives the marks of its tool to the session that reads the result', async (t) => {
  const w = world(t, { mode: 'off', marks: MARKS });
  const { url, program } = await w.start();
  const client = await connect(t, url);
  let id;
  for await (const message of client.experimental.tasks.callToolStream({ name: 'simulate-research-query', arguments: { topic: 'x' } })) {
    if (message.type === 'error') throw message.error;
    if (message.type === 'taskCreated') id = message.task.taskId;
  }
  writeJson(w.file, governed({ marks: MARKS }));
  process.kill(program.pid, 'SIGHUP');
  await program.says(/reload: applied/);
  await client.callTool({ name: 'get-env', arguments: {} });
  await client.experimental.tasks.getTaskResult(id, CallToolResultSchema);
  await assert.rejects(echo(client), (error) => refused(error) && error.data.details.flow.earlier.some((it) => it.tool === 'simulate-research-query'));
});

test('toolgate stats --governance prints the counters of the running gateway', async (t) => {
  const dir = tempDir(t), governance = path.join(dir, 'governance.json');
  writeJson(governance, {
    adapters: [{ adapter_id: 'adp', type: 'MCP', server: 'everything', capabilities: [{ name: 'echo', class: 'act', approval_mode: 'network' }] }],
    permissions: [{ permission_id: 'p', adapter_id: 'adp', capability: 'echo', allow: true, arg_constraints: { message: { enum: ['out'] } } }],
    idempotency: { mint: 'request' },
  });
  const config = { ...PATIENT, governance, state_dir: path.join(dir, 'state') };
  const { url } = await startGateway(t, { servers: { everything: everything() }, dir, config });
  const client = await connect(t, url);
  await echo(client);
  await assert.rejects(client.callTool({ name: 'echo', arguments: { message: 'in' } }));
  const stats = (...args) => run(toolgate(), ['stats', '--governance', ...args], { cwd: dir, env: gatewayEnv() });
  const { status, stdout, stderr } = await stats('--json');
  assert.equal(status, 0, stderr);
  const { capabilities, decisions, adapters } = JSON.parse(stdout);
  assert.deepEqual(decisions, { ALLOWED: 1, ARG_CONSTRAINT_VIOLATION: 1 });
  assert.deepEqual([capabilities[0].adapter, capabilities[0].capability, capabilities[0].completed, capabilities[0].denied, capabilities[0].success_rate], ['adp', 'echo', 1, 1, 1]);
  assert.equal(adapters[0].audited, 1);
  assert.match((await stats()).stdout, /^adp\.echo +2 +1 +0 +0 +0 +1 +100\.0 %$/m);
  const page = await (await fetch(new URL('/metrics', url))).text();
  assert.match(page, /^toolgate_govern_calls_total\{adapter="adp",capability="echo",outcome="completed"\} 1$/m);
});
