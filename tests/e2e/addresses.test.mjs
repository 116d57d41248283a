// SPDX-License-Identifier: Apache-2.0
// The address of a server (URL, origin, host and port) is not in the errors that agents read. It stays in results that
// went well, in the log and in what the operator's commands print.
import assert from 'node:assert/strict';
import net from 'node:net';
import path from 'node:path';
import { describe, test } from 'node:test';

import { runToolgate } from './lib/gateway.mjs';
import { faultOf, open, startMeta, textOf } from './lib/meta.mjs';
import { until } from './lib/process.mjs';
import { onEnd, RpcError } from './lib/raw.mjs';
import { HttpCaller, SERVERS, handshakeServer, statelessServer, TASKS, text } from './lib/stateless.mjs';

const ADDRESS = '[server address]', MASK = '[REDACTED-SECRET]';
const SECRET = 'swordfish-of-the-shop';  // known by no form
const MODES = ['gateway', 'servers', 'transparent', 'direct'];
const CLIENTS = ['http', 'stateless http'];
const TASK = { taskId: 't1', createdAt: '2026-01-01T00:00:00Z', lastUpdatedAt: '2026-01-01T00:00:00Z' };

const urlOf = (up) => up.config().url;
/** Every spelling of its own address that a server may write. */
const spellings = (up) => {
  const { href, origin, host, port } = new URL(urlOf(up));
  return [href, `${origin}/other?x=1`, origin, host, `127.0.0.1 port ${port}`, `HTTP://LOCALHOST:${port}`,
    `connect ECONNREFUSED ::1:${port}`, `[::1]:${port}`, `x=${encodeURIComponent(href)}`];
};
const words = (up) => `no: ${spellings(up).join(' , ')}.`;
const dataOf = (up) => ({ at: spellings(up), [urlOf(up)]: 1, deep: [{ cause: { message: words(up) } }] });

/** Nothing of an answer tells the port, and the mask tells that there was something. */
function hides(up, answer) {
  const raw = typeof answer === 'string' ? answer : JSON.stringify(answer);
  const { port } = new URL(urlOf(up));
  assert.ok(!raw.includes(port), `${port} in: ${raw}`);
  assert.ok(raw.includes(ADDRESS), raw);
}

/** What a call brings, as text: a result or an error. */
const answerOf = (promise) => promise.then((r) => JSON.stringify(r), (e) => JSON.stringify([e.code, e.message, e.data]));

/** Calls a tool of the server `up` as an agent does in each mode. */
const CALLS = {
  gateway: (client, tool) => client.call('tool_execute', { tool_id: `up:${tool}@1`, args: {} }),
  transparent: (client, tool) => client.call('tool_execute', { tool_id: `up:${tool}@1`, args: {} }),
  servers: (client, tool) => client.call('execute_tool', { server: 'up', tool, args: {} }),
  direct: (client, tool) => client.call(tool, {}),
};

const tools = (run) => Object.fromEntries(Object.entries(run).map(([name, f]) => [name, { run: f, _meta: { version: '1' } }]));

/** A server that names its address in errors of every kind, and in a result that went well. */
async function talkative(make, kind) {
  const up = await make(kind, { name: 'up', resources: ['test://up/a'], tools: tools({
    fails: () => { throw new RpcError(-32000, words(up), dataOf(up)); },
    refuses: () => { throw new RpcError(-32602, words(up), dataOf(up)); },
    reports: () => ({ ...text(words(up)), structuredContent: dataOf(up), isError: true }),
    large: () => ({ ...text(`${'y'.repeat(400e3)} ${words(up)}`), isError: true }),
    works: () => text(urlOf(up)),
  }) });
  return up;
}

for (const mode of MODES)
  for (const [era, kind] of [['handshake', 'http'], ['handshake', 'sse'], ['stateless', 'http']])
    describe(`mode ${mode}, a ${era} server on ${kind}`, () => {
      for (const as of CLIENTS)
        test(`errors do not tell a client on ${as} where the server is; a result that went well may`, async (t) => {
          const up = await talkative(SERVERS[era], kind);
          const gateway = await startMeta(t, { servers: { up }, mode });
          const client = await open(t, gateway, as);
          for (const tool of ['fails', 'refuses', 'reports']) hides(up, await answerOf(CALLS[mode](client, tool)));
          assert.ok((await answerOf(CALLS[mode](client, 'works'))).includes(urlOf(up)));
          assert.ok(gateway.log.includes(urlOf(up)), 'the log has it');
        });

      test('nor does an error of 400 kB', async (t) => {
        const up = await talkative(SERVERS[era], kind);
        const client = await open(t, await startMeta(t, { servers: { up }, mode }));
        const said = await answerOf(CALLS[mode](client, 'large'));
        assert.ok(!said.includes(new URL(urlOf(up)).port), said.slice(-500));
      });
    });

describe('errors of other methods', () => {
  test('of prompts and resources', async (t) => {
    const up = await talkative(handshakeServer, 'http');
    up.on('resources/read', () => { throw new RpcError(-32002, words(up), dataOf(up)); });
    up.on('prompts/list', () => ({ prompts: [{ name: 'p' }] }));
    up.on('prompts/get', () => { throw new RpcError(-32000, words(up), dataOf(up)); });
    const gateway = await startMeta(t, { servers: { up }, mode: 'direct' });
    for (const as of CLIENTS) {
      const client = await open(t, gateway, as);
      for (const [method, params] of [['resources/read', { uri: 'test://up/a' }], ['prompts/get', { name: 'p' }]]) {
        const { error } = await (as === 'http' ? client.request(method, params) : new HttpCaller(gateway.url).send(method, params));
        hides(up, error);
      }
    }
  });

  test('in the JSON-RPC error of an HTTP 500', async (t) => {
    const up = await talkative(handshakeServer, 'http');
    up.intercept = (req, res, body) => {
      if (!body.includes('"tools/call"')) return false;
      const error = { code: -32000, message: words(up), data: dataOf(up) };
      res.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, error }));
      return true;
    };
    const gateway = await startMeta(t, { servers: { up }, config: { modes: ['direct'] } });
    hides(up, await CALLS.gateway(await open(t, gateway), 'works'));
    hides(up, await answerOf(CALLS.direct(await open(t, gateway, 'http', { path: '/mcp/direct' }), 'works')));
  });
});

describe('a server that cannot be used', () => {
  const closedPort = () => new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

  /** What agents read of the server `up` in each mode. */
  const asked = {
    gateway: async (client) => [await client.call('tool_browse', { query: 'anything' }), await CALLS.gateway(client, 'a')],
    transparent: async (client) => [await CALLS.transparent(client, 'a'), await client.call('tool_hydrate', { tool_id: 'up:a@1' })],
    servers: async (client) => [await client.call('get_server_tools', { server: 'up' }), await CALLS.servers(client, 'a'),
      await client.call('list_servers', {})],
    direct: async (client) => [await client.tools(), await answerOf(CALLS.direct(client, 'a'))],
  };

  for (const mode of MODES)
    for (const method of ['tools/list', 'initialize'])
      test(`as it refuses ${method} in its own words, in mode ${mode}`, async (t) => {
        const up = await handshakeServer('http', { name: 'up', tools: tools({ a: () => text('ok') }) });
        onEnd(t, () => up.close());
        up.on(method, () => { throw new RpcError(-32000, `ask ${new URL(urlOf(up)).host} first`); });
        const said = JSON.stringify(await asked[mode](await open(t, await startMeta(t, { servers: { up }, mode }))));
        assert.ok(!said.includes(new URL(urlOf(up)).port), said);
        const told = mode === 'gateway' || (mode === 'servers' && method === 'initialize');
        if (told) assert.ok(said.includes(`ask ${ADDRESS} first`), said);
      });

  for (const mode of MODES)
    for (const type of ['http', 'sse'])
      test(`as its port refuses connections, in mode ${mode} (${type})`, async (t) => {
        const port = await closedPort();
        const gateway = await startMeta(t, { servers: { up: { type, url: `http://127.0.0.1:${port}/mcp` } }, mode });
        const said = JSON.stringify(await asked[mode](await open(t, gateway)));
        assert.ok(!said.includes(port) && !said.includes('127.0.0.1'), said);
        await until(() => gateway.log.includes(`127.0.0.1 port ${port}`), 'its line in the log');
      });

  test('as its proxy refuses connections, and the proxy is not told either', async (t) => {
    const port = await closedPort(), env = { http_proxy: `http://127.0.0.1:${port}`, no_proxy: '' };
    const gateway = await startMeta(t, { servers: { up: { type: 'http', url: 'http://mcp.internal:8123/mcp' } }, env });
    const said = JSON.stringify(await asked.gateway(await open(t, gateway)));
    assert.match(said, /up \(cannot connect: connection refused\)/);
    assert.ok(!said.includes(port) && !said.includes('8123'), said);
    await until(() => gateway.log.includes(`through the proxy 127.0.0.1 port ${port}`), 'its line in the log');
  });

  test('as initialize is refused; the operator reads all of it', async (t) => {
    const up = await handshakeServer('http', { name: 'up' });
    onEnd(t, () => up.close());
    up.on('initialize', () => { throw new RpcError(-32000, `not from ${urlOf(up)}`); });
    const gateway = await startMeta(t, { servers: { up } });
    const client = await open(t, gateway);
    hides(up, await client.call('tool_browse', { query: 'anything' }));
    const config = ['--mcp-config', path.join(gateway.dir, 'mcp.json')];
    for (const args of [['check', '--connect'], ['status']]) {
      const { stdout, stderr } = await runToolgate([...args, ...config], { cwd: gateway.dir, env: { HOME: gateway.dir, XDG_STATE_HOME: '' } });
      assert.ok((stdout + stderr).includes(`not from ${urlOf(up)}`), stdout + stderr);
    }
  });
});

describe('tasks that fail', () => {
  const entry = { headers: { 'X-Shop-Token': SECRET } };
  const extension = { capabilities: { extensions: { [TASKS]: {} } } };
  const core = { capabilities: { tools: {}, tasks: { cancel: {}, requests: { tools: { call: {} } } } } };
  const clean = (up, value) => {
    hides(up, value);
    assert.ok(!JSON.stringify(value).includes(SECRET) && JSON.stringify(value).includes(MASK), JSON.stringify(value));
  };
  const direct = (t, up) => startMeta(t, { mode: 'direct', servers: { up } });
  const made = { ...TASK, status: 'working', ttl: null };

  const coreServer = (run = () => ({ task: made })) => handshakeServer('http', { name: 'up', entry, ...core,
    tools: { work: { execution: { taskSupport: 'optional' }, run } } });
  const statelessTasks = () => statelessServer('http', { name: 'up', entry, capabilities: { tools: {}, extensions: { [TASKS]: {} } },
    tools: { work: () => ({ resultType: 'task', ...TASK, status: 'working', ttlMs: 60_000 }) } });

  test('of a server with a session: status, result, and a task that fails at once', async (t) => {
    const up = await coreServer();
    const said = `${SECRET} at ${urlOf(up)}`;
    const client = await open(t, await direct(t, up));
    await client.request('tools/call', { name: 'work', arguments: {}, task: {} });
    for (const status of ['failed', 'cancelled']) {
      up.on('tasks/get', () => ({ ...made, status, statusMessage: said }));
      clean(up, (await client.request('tasks/get', { taskId: 't1' })).result);
    }
    up.on('tasks/result', () => { throw new RpcError(-32000, said, { said }); });
    clean(up, (await client.request('tasks/result', { taskId: 't1' })).error);
    up.on('tools/call', () => ({ task: { ...made, status: 'failed', statusMessage: said } }));
    clean(up, (await client.request('tools/call', { name: 'work', arguments: {}, task: {} })).result);
  });

  test('of a server with a session, for a stateless client', async (t) => {
    const up = await handshakeServer('http', { name: 'up', entry, ...core,
      tools: { work: { execution: { taskSupport: 'required' }, run: () => ({ task: made }) } } });
    const said = `${SECRET} at ${urlOf(up)}`;
    const caller = new HttpCaller((await direct(t, up)).url, extension);
    const { taskId } = (await caller.call('work')).result;
    up.on('tasks/get', () => ({ ...made, status: 'failed', statusMessage: said }));
    up.on('tasks/result', () => { throw new RpcError(-32000, said, { said }); });
    clean(up, (await caller.send('tasks/get', { taskId })).result);
  });

  test('of a stateless server', async (t) => {
    const up = await statelessTasks();
    const said = `${SECRET} at ${urlOf(up)}`;
    const caller = new HttpCaller((await direct(t, up)).url, extension);
    const { taskId } = (await caller.call('work')).result;
    for (const state of [{ error: { code: -1, message: said, data: { said } } }, { error: { code: -1, message: 'no' }, statusMessage: said }]) {
      up.on('tasks/get', () => ({ ...TASK, ttlMs: 60_000, status: 'failed', ...state }));
      clean(up, (await caller.send('tasks/get', { taskId })).result);
    }
  });

  test('in notifications/tasks/status, whose id stays; one that went well is as it came', async (t) => {
    const up = await coreServer();
    up.on('tasks/get', () => made);
    const taskId = `${urlOf(up)}#${SECRET}`, said = `${SECRET} at ${urlOf(up)}`;
    up.on('tools/call', () => ({ task: { ...made, taskId } }));
    const client = await open(t, await direct(t, up));
    await client.request('tools/call', { name: 'work', arguments: {}, task: {} });
    const tell = async (status) => {
      await up.broadcast('notifications/tasks/status', { ...made, taskId, status, statusMessage: said });
      return (await client.next('notifications/tasks/status')).msg.params;
    };
    assert.deepEqual(await tell('failed'), { ...made, taskId, status: 'failed', statusMessage: `${MASK} at ${ADDRESS}` });
    assert.deepEqual(await tell('completed'), { ...made, taskId, status: 'completed', statusMessage: said });
  });

  test('the address is masked in notifications/tasks of a stateless server', async (t) => {
    const up = await statelessTasks();
    const said = `${SECRET} at ${urlOf(up)}`;
    const caller = new HttpCaller((await direct(t, up)).url, extension);
    const { taskId } = (await caller.call('work')).result;
    const stream = await caller.listen({ taskIds: [taskId] });
    onEnd(t, () => stream.close());
    const { listened } = await up.next((e) => e.listened?.wishes.taskIds, 'a listen stream');
    const tell = async (more) => {
      await up.tell(listened, 'notifications/tasks', { ...TASK, ttlMs: 60_000, ...more });
      return (await stream.next('notifications/tasks')).params;
    };
    clean(up, await tell({ status: 'failed', error: { code: -1, message: said, data: { said } } }));
    assert.ok(JSON.stringify(await tell({ status: 'completed', result: text(said) })).includes(said));
  });

  test('a log message of level error, not one of level info', async (t) => {
    const up = await handshakeServer('http', { name: 'up', entry, tools: {
      work: async (args, { peer, ctx }) => {
        for (const level of ['error', 'info']) await peer.notify('notifications/message', { level, data: { said: `${SECRET} at ${urlOf(up)}` } }, ctx);
        return text('ok');
      },
    } });
    const client = await open(t, await direct(t, up));
    await client.call('work');
    const next = async () => (await client.next('notifications/message')).msg.params.data.said;
    assert.deepEqual([await next(), await next()], [`${MASK} at ${ADDRESS}`, `${SECRET} at ${urlOf(up)}`]);
  });
});

test('with result.scrub, a result that went well keeps the address of its server', async (t) => {
  const up = await talkative(handshakeServer, 'http');
  const client = await open(t, await startMeta(t, { servers: { up }, config: { result: { scrub: true } } }));
  assert.equal(textOf(await CALLS.gateway(client, 'works')), urlOf(up));
  hides(up, await CALLS.gateway(client, 'reports'));
});

test('a fault keeps the rest of what the server said', async (t) => {
  const up = await talkative(handshakeServer, 'http');
  up.on('tools/call', () => { throw new RpcError(-32000, `no answer of ${urlOf(up)} for "up"`); });
  const client = await open(t, await startMeta(t, { servers: { up } }));
  assert.equal(faultOf(await CALLS.gateway(client, 'works'), 'UPSTREAM_ERROR').message, `no answer of ${ADDRESS} for "up"`);
});
