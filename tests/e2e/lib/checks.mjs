// SPDX-License-Identifier: Apache-2.0
// What a client of any revision can expect of a server of any revision, whatever stands between them. Each check is
// given { client, up, tool }: a raw client (raw.mjs, modern.mjs), a scripted server (servers/), and the names of the
// server's tools. One that the revisions do not allow throws Impossible; what has to happen instead it checks before.
import assert from 'node:assert/strict';

import { ERROR, NUMBERS } from '../servers/features.mjs';
import { spanOf } from '../servers/peer.mjs';
import { LEVELS, MODERN, TASKS } from './rules.mjs';

export class Impossible extends Error {}

const cannot = (why) => {
  throw new Impossible(why);
};

const ELICITATION = '2025-06-18';
const STRUCTURED = '2025-06-18';
const CORE_TASKS = '2025-11-25';

const isResource = (uri) => (e) => e.msg?.method === 'resources/read' && e.msg.params.uri === uri;
const calling = (name) => (e) => e.msg?.method === 'tools/call' && e.msg.params.name === name;
// Makes a call and waits for it at both ends: the request as the server got it.
const reach = async (client, up, name) => {
  const [entry] = await Promise.all([up.next(calling(name), name), client.call(name)]);
  return entry;
};

// What came of one kind of notification so far.
const drop = (client, method) => {
  const taken = client.inbox.entries.filter((e) => e.msg?.method === method);
  client.inbox.entries = client.inbox.entries.filter((e) => e.msg?.method !== method);
  return taken.map((e) => e.msg.params);
};

// ---- the answers of a client that is asked

const ROOTS = { roots: [{ uri: 'file:///home', name: 'home' }] };
const said = (text) => ({ role: 'assistant', model: 'm', content: { type: 'text', text } });

export function answering(client) {
  client.handlers.set('sampling/createMessage', (p) => said(`re: ${p.messages[0].content.text}`));
  client.handlers.set('elicitation/create', (p) => ({ action: 'accept', content: { ok: p.message === 'sure?' } }));
  client.handlers.set('roots/list', () => ROOTS);
  return client;
}

// The value at a JSON pointer within a schema.
function resolve(schema, ref) {
  assert.match(ref, /^#/, 'a reference within the schema');
  const keys = ref.slice(1).split('/').slice(1);
  return keys.reduce((at, key) => at[key.replaceAll('~1', '/').replaceAll('~0', '~')], schema);
}

const unknown = async (client, method, params) => {
  const { result, error } = await client.request(method, params);
  assert.ok(error, `an error, not ${JSON.stringify(result)}`);
  return error.code;
};

export const checks = {
  async negotiate({ client, up, tool }) {
    const { server } = client;
    if (client.modern) {
      assert.ok(server.supportedVersions.includes(MODERN), JSON.stringify(server));
      for (const c of ['tools', 'resources', 'prompts', 'completions']) assert.ok(server.capabilities[c], c);
      assert.ok(server.capabilities.tools.listChanged && server.capabilities.resources.subscribe);
    } else {
      assert.equal(server.protocolVersion, client.rev);
    }
    await client.tools(); // waits for the servers
    const entry = await reach(client, up, tool('echo'));
    const told = up.told(entry);
    assert.ok(told.sampling && told.roots, 'the server is told what the client can');
    assert.equal(Boolean(told.elicitation), client.rev >= ELICITATION);
    const header = entry.ctx?.req?.headers['mcp-protocol-version'];
    if (up.sessions && up.rev >= '2025-06-18' && entry.ctx?.res) assert.equal(header, up.rev);
  },

  async list({ client, up, tool }) {
    const listed = (await client.tools()).filter((t) => t.name.startsWith(`${up.tag}_`));
    assert.deepEqual(listed.map((t) => t.name).sort(), up.tools.map((t) => t.name).sort());
    assert.deepEqual(listed.find((t) => t.name === tool('echo')).inputSchema, up.tools[0].inputSchema);
    const uri = `test://${up.tag}/watched`;
    assert.ok((await client.listAll('resources/list', 'resources')).some((r) => r.uri === uri));
    const templates = await client.listAll('resources/templates/list', 'resourceTemplates');
    assert.ok(templates.some((r) => r.uriTemplate === `test://${up.tag}/item/{id}`));
    const prompts = (await client.listAll('prompts/list', 'prompts')).filter((p) => p.name.startsWith(`${up.tag}_`));
    assert.deepEqual(prompts.map((p) => p.name).sort(), [`${up.tag}_asking`, `${up.tag}_greet`]);
  },

  // The region is repeated in a header where a server of 2026-07-28 is reached by HTTP.
  async call({ client, tool }) {
    const args = { n: 1, s: 'é', region: 'Zürich' };
    const result = await client.call(tool('echo'), args);
    assert.deepEqual(result.structuredContent.got, args);
    assert.deepEqual(result.content, [{ type: 'text', text: 'ok' }]);
  },

  async read({ client, up }) {
    for (const uri of [`test://${up.tag}/watched`, `test://${up.tag}/item/42`]) {
      const { contents } = await client.ask('resources/read', { uri });
      assert.deepEqual(contents, [{ uri, mimeType: 'text/plain', text: `contents of ${uri}` }]);
    }
    const { messages } = await client.ask('prompts/get', { name: `${up.tag}_greet`, arguments: { who: 'Ada' } });
    assert.equal(messages[0].content.text, `hello Ada from ${up.tag}`);
  },

  async progress({ client, tool }) {
    const progressToken = 'tok"en é';
    await client.call(tool('progress'), {}, { meta: { progressToken } });
    assert.deepEqual(
      drop(client, 'notifications/progress'),
      [1, 2, 3].map((progress) => ({ progressToken, progress, total: 3, message: `step ${progress}` })),
    );
  },

  async cancel({ client, up, tool }) {
    const call = client.start(tool('hold'));
    const entry = await up.next(calling(tool('hold')), 'hold');
    const heard = up.cancelled(entry);
    await call.cancel('enough');
    const reason = await heard;
    // Between closed streams of HTTP there is no way to say why.
    if (!(client.modern && client.http) && !(up.modern && up.http)) assert.equal(reason, 'enough');
    await client.roundTrip();
    const none = () => 'none';
    const late = await Promise.race([call.answer.then((a) => a.raw, none), Promise.resolve('none')]);
    call.abandon();
    assert.equal(late, 'none', 'a cancelled request is not answered');
  },

  async error({ client, tool }) {
    const { error, raw } = await client.request('tools/call', { name: tool('fail'), arguments: {} });
    assert.ok(error, raw);
    for (const key of ['code', 'message', 'data']) {
      assert.equal(spanOf(raw, ['error', key]), spanOf(ERROR.text, [key]));
    }
    assert.equal(await unknown(client, 'tools/call', { name: tool('nothing'), arguments: {} }), -32602);
    assert.equal(await unknown(client, 'prompts/get', { name: `${tool('nothing')}` }), -32602);
  },

  // One that no server has, and one that the server of a template does not find.
  async missing({ client, up }) {
    const code = client.modern ? -32602 : -32002;
    const found = `test://${up.tag}/item/none`;
    assert.equal(await unknown(client, 'resources/read', { uri: `nowhere://${up.tag}/none` }), code);
    assert.equal(await unknown(client, 'resources/read', { uri: found }), code);
    await up.next(isResource(found), 'the reading');
  },

  async toolError({ client, tool }) {
    const { isError, content } = await client.call(tool('broken'));
    assert.deepEqual([isError, content], [true, [{ type: 'text', text: 'out of order' }]]);
  },

  async anyStructure({ client, up, tool }) {
    if (!up.modern) cannot('structured content is an object before 2026-07-28');
    const listed = (await client.tools()).find((t) => t.name === tool('numbers'));
    const { structuredContent, content } = await client.call(tool('numbers'));
    assert.deepEqual(content, [{ type: 'text', text: '[1,2,3]' }]);
    if (client.rev < STRUCTURED) cannot('a client before 2025-06-18 knows text only');
    if (client.modern) {
      assert.deepEqual([structuredContent, listed.outputSchema], [[1, 2, 3], NUMBERS]);
      return;
    }
    assert.deepEqual(structuredContent, { result: [1, 2, 3] });
    const { type, properties, required } = listed.outputSchema;
    assert.deepEqual([type, required, properties.result.type], ['object', ['result'], 'array']);
    assert.deepEqual(resolve(listed.outputSchema, properties.result.items.$ref), NUMBERS.$defs.number);
  },

  async ping({ client, up, tool }) {
    if (client.modern && up.modern) cannot('there is no ping in 2026-07-28');
    if (!client.modern) assert.deepEqual(await client.ask('ping'), {});
    if (up.modern) return;
    const { peer } = await reach(client, up, tool('echo'));
    assert.deepEqual(await peer.ask('ping'), {});
  },

  async sampling({ client, tool }) {
    const { structuredContent } = await client.call(tool('sample'), { q: 'why' });
    assert.deepEqual(structuredContent.result, said('re: why'));
  },

  async elicitation({ client, up, tool }) {
    if (up.rev < ELICITATION) cannot('no elicitation at the server before 2025-06-18');
    if (client.rev < ELICITATION) {
      const { result, error } = await client.request('tools/call', { name: tool('elicit'), arguments: { q: 'sure?' } });
      if (up.modern) assert.deepEqual(error?.data, { requiredCapabilities: { elicitation: {} } });
      else assert.equal(result.structuredContent.error.code, -32601);
      cannot('a client before 2025-06-18 cannot be asked for more than sampling and roots');
    }
    const { structuredContent } = await client.call(tool('elicit'), { q: 'sure?' });
    assert.deepEqual(structuredContent.result, { action: 'accept', content: { ok: true } });
  },

  async roots({ client, tool }) {
    const { structuredContent } = await client.call(tool('roots'));
    assert.deepEqual(structuredContent.result, ROOTS);
  },

  async rootsChanged({ client, up }) {
    if (client.modern || up.modern) cannot('roots are asked for each time in 2026-07-28');
    await client.notify('notifications/roots/list_changed');
    await up.next('notifications/roots/list_changed');
  },

  async twoQuestions({ client, tool }) {
    const { structuredContent } = await client.call(tool('two'), { q: 'a' });
    assert.deepEqual(structuredContent, { sample: said('re: a'), roots: ROOTS });
  },

  async twoRounds({ client, tool }) {
    const { structuredContent } = await client.call(tool('rounds'), { q: 'a' });
    assert.deepEqual(structuredContent, { said: 're: re: a' });
  },

  async promptQuestion({ client, up }) {
    const { messages } = await client.ask('prompts/get', { name: `${up.tag}_asking` });
    assert.equal(messages[0].content.text, ROOTS.roots[0].uri);
  },

  async logging({ client, up, tool }) {
    const heard = () => drop(client, 'notifications/message').map((m) => [m.level, m.data]);
    heard();
    await client.setLevel('error');
    const { structuredContent } = await client.call(tool('logs'), { n: 7 });
    // An older server need not be told by a client that says it with every request; the client is told no more anyhow.
    if (!client.modern || up.modern) assert.equal(structuredContent.wanted, 'error');
    assert.deepEqual(
      heard(),
      LEVELS.slice(LEVELS.indexOf('error')).map((level) => [level, { n: 7 }]),
    );
    if (!client.modern) return;
    client.setLevel(undefined);
    await client.call(tool('logs'), { n: 8 });
    assert.deepEqual(heard(), [], 'nothing is logged unless it is asked for');
  },

  async completion({ client, up }) {
    const complete = (ref) => client.ask('completion/complete', { ref, argument: { name: 'who', value: 'A' } });
    const prompt = await complete({ type: 'ref/prompt', name: `${up.tag}_greet` });
    assert.deepEqual(prompt.completion, { values: [`${up.tag}:A`], hasMore: false });
    const template = await complete({ type: 'ref/resource', uri: `test://${up.tag}/item/{id}` });
    assert.deepEqual(template.completion.values, [`${up.tag}:A`]);
  },

  async listChanged({ client, up }) {
    const name = `${up.tag}_new`;
    const note = 'notifications/tools/list_changed';
    const watch = await client.watchTools();
    const has = async () => (await client.tools()).some((t) => t.name === name);
    const change = async (wanted) => {
      watch.drop(note);
      await up.changed('tools');
      do await watch.next(note);
      while ((await has()) !== wanted);
    };
    const before = up.tools;
    up.tools = [...before, { ...before[0], name }];
    await change(true);
    up.tools = before;
    await change(false);
    await watch.close();
  },

  async subscription({ client, up }) {
    const uri = `test://${up.tag}/watched`;
    const watch = await client.watchResource(uri);
    if (client.modern) assert.deepEqual(watch.honoured, { resourceSubscriptions: [uri] });
    await up.subscribed(uri);
    await up.updated(uri);
    assert.equal((await watch.next('notifications/resources/updated')).uri, uri);
    await watch.close();
    await up.unsubscribed(uri);
  },

  async task({ client, up, tool }) {
    if (up.rev >= CORE_TASKS && client.rev !== CORE_TASKS) await needsNoTask(client, up, tool);
    tasksOf(client, up);
    if (client.modern) assert.ok(client.server.capabilities.extensions?.[TASKS], 'the extension is offered');
    else await offersTasks(client, tool);
    const task = await client.makeTask(tool('task'), { n: 3 });
    assert.deepEqual([typeof task.taskId, task.status], ['string', 'working']);
    assert.match(task.createdAt, /^\d{4}-\d\d-\d\dT/);
    const life = client.modern ? task.ttlMs : task.ttl;
    assert.ok(life === null || Number.isInteger(life), JSON.stringify(task));
    const seen = await client.getTask(task.taskId);
    assert.deepEqual([seen.taskId, seen.createdAt], [task.taskId, task.createdAt]);
    assert.ok(['working', 'completed'].includes(seen.status), seen.status);
    const { resultType, content, structuredContent } = await client.taskResult(task.taskId);
    assert.equal(resultType, client.modern ? 'complete' : undefined, 'the result is that of a call of its revision');
    assert.deepEqual(content, [{ type: 'text', text: 'done at last' }]);
    assert.deepEqual(structuredContent, { got: { n: 3 } });
    assert.equal((await client.getTask(task.taskId)).status, 'completed');
    await assert.rejects(client.getTask('no such task'), { code: -32602 });
  },

  async taskCancelled({ client, up, tool }) {
    tasksOf(client, up);
    const { taskId } = await client.makeTask(tool('task'), {});
    await client.cancelTask(taskId);
    assert.equal((await client.getTask(taskId)).status, 'cancelled');
  },

  async taskQuestion({ client, up, tool }) {
    tasksOf(client, up);
    const { taskId } = await client.makeTask(tool('taskAsking'), {});
    assert.deepEqual((await client.taskResult(taskId)).structuredContent, { roots: ROOTS });
  },

  async taskTold({ client, up, tool }) {
    tasksOf(client, up);
    if (!client.modern || !up.modern) cannot('a change of a task need not be told in 2025-11-25');
    const { taskId } = await client.makeTask(tool('task'), { n: 4 });
    const watch = await client.watchTask(taskId);
    assert.deepEqual(watch.honoured, { taskIds: [taskId] });
    await up.finishTask();
    const told = await watch.next('notifications/tasks');
    assert.deepEqual([told.taskId, told.status, told.result.structuredContent.got], [taskId, 'completed', { n: 4 }]);
    await watch.close();
  },

  // The rules of single messages, which both ends have been watching.
  async rules({ client, up }) {
    const broken = [...client.problems, ...up.problems];
    client.problems = [];
    up.problems = [];
    assert.deepEqual([...new Set(broken)], []);
  },
};

function tasksOf(client, up) {
  if (up.rev < CORE_TASKS) cannot('no tasks at the server before 2025-11-25');
  if (client.rev < CORE_TASKS) cannot('no tasks at the client before 2025-11-25');
}

// A client that knows nothing of tasks, or does not say that it does, gets the result of a tool that runs as a task.
// Only where both are of 2026-07-28 it is for the server to say that it must know them.
async function needsNoTask(client, up, tool) {
  const names = client.modern && up.modern ? ['task'] : ['task', 'taskOnly'];
  for (const name of names) {
    const { structuredContent } = await client.call(tool(name), { n: 3 });
    assert.deepEqual(structuredContent, { got: { n: 3 } });
  }
}

// A client of 2025-11-25 asks for tasks where it is told that it may, and then it gets one, though the server of
// 2026-07-28 behind the tool decides for itself and may have answered at once.
async function offersTasks(client, tool) {
  assert.ok(client.server.capabilities.tasks?.requests?.tools?.call, 'tasks are offered');
  const listed = await client.tools();
  const support = (name) => listed.find((t) => t.name === tool(name)).execution?.taskSupport ?? 'forbidden';
  assert.notEqual(support('task'), 'forbidden');
  if (support('echo') === 'forbidden') {
    await assert.rejects(client.makeTask(tool('echo'), { n: 3 }), { code: -32601 });
  } else {
    const { taskId } = await client.makeTask(tool('echo'), { n: 3 });
    assert.deepEqual((await client.taskResult(taskId)).structuredContent.got, { n: 3 });
  }
}
