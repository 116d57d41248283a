// SPDX-License-Identifier: Apache-2.0
// The modes that a gateway serves over HTTP (`modes`), and what is the same in each: who an agent may say it is
// (`agents.trust_stated`), limits, and secrets that are masked (`result.scrub`).
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import path from 'node:path';
import { describe, test } from 'node:test';

import { runToolgate } from './lib/gateway.mjs';
import { idOf, open, snapshot, startMeta, textOf } from './lib/meta.mjs';
import { tempDir, writeJson } from './lib/process.mjs';
import { fetchRaw, JSON_HEADERS, LATEST, MODES, requestText, RpcError } from './lib/raw.mjs';
import { LIMIT, World } from './lib/reloading.mjs';
import { accept, ask, ASKABLE, form, handshakeServer, inputRequired, statelessServer, text } from './lib/stateless.mjs';

const TOKEN = 'ghp_0123456789abcdefghijklmnopqrstuvwxyzAB';
const MASK = '[REDACTED-SECRET]';
const tool = (name) => ({ name, description: `To ${name}.`, inputSchema: { type: 'object' } });
const shop = (t) => ({ shop: snapshot(t, { tools: [tool('buy')], replies: { tools: { buy: text('bought') } } }) });
const INITIALIZE = requestText('0', 'initialize', {
  protocolVersion: LATEST, capabilities: {}, clientInfo: { name: 'n', version: '1' },
});

describe('which modes are served', () => {
  const statusOf = async (gateway, at) =>
    (await fetchRaw(gateway.url + at, { method: 'POST', headers: JSON_HEADERS, body: INITIALIZE })).status;

  for (const mode of MODES) {
    test(`mode ${mode} alone, if nothing else is said`, async (t) => {
      const gateway = await startMeta(t, { servers: shop(t), mode });
      assert.equal(await statusOf(gateway, '/mcp'), 200);
      for (const other of MODES) assert.equal(await statusOf(gateway, `/mcp/${other}`), other === mode ? 200 : 404, other);
    });
  }

  test('and those that `modes` names, besides `mode`', async (t) => {
    const gateway = await startMeta(t, { servers: shop(t), config: { modes: ['direct', 'servers'] } });
    const statuses = await Promise.all(MODES.map((mode) => statusOf(gateway, `/mcp/${mode}`)));
    assert.deepEqual(statuses, [200, 404, 200, 200]);
  });

  test('no client of either era and no HTTP method reaches a mode that is not served', async (t) => {
    const gateway = await startMeta(t, { servers: shop(t) });
    for (const kind of ['http', 'stateless http'])
      await assert.rejects(open(t, gateway, kind, { path: '/mcp/direct' }).then((client) => client.tools()), /HTTP 404/);
    for (const method of ['GET', 'DELETE', 'PUT'])
      assert.equal((await fetchRaw(`${gateway.url}/mcp/direct`, { method, headers: JSON_HEADERS })).status, 404, method);
  });

  test('a change of it counts from the next start on, and the log says so', { timeout: LIMIT }, async (t) => {
    const w = await World.start(t, { servers: shop(t), config: { modes: ['servers'] } });
    const said = await w.reloading(() => writeJson(w.yaml, { ...w.config, modes: ['transparent'] }));
    assert.match(said, /\bmodes\b/);
    await w.client('reader', { path: '/mcp/servers' });
    await assert.rejects(w.client('reader', { path: '/mcp/transparent' }), /HTTP 404/);
  });

  test('check names them, and refuses what is no mode', async (t) => {
    const check = async (config) => {
      const dir = tempDir(t);
      const file = writeJson(path.join(dir, 'toolgate.json'), { transport: 'http', servers: {}, ...config });
      const { status, stdout } = await runToolgate(['check', '--config', file, '--json'], { cwd: dir });
      return { status, ...JSON.parse(stdout) };
    };
    assert.deepEqual((await check({})).modes, ['gateway']);
    assert.deepEqual((await check({ mode: 'direct', modes: ['servers'] })).modes, ['direct', 'servers']);
    const wrong = await check({ modes: ['direct', 'server', 1] });
    assert.equal(wrong.status, 1);
    assert.deepEqual(wrong.problems.map(({ pointer }) => pointer), ['/modes/1', '/modes/2']);
  });
});

describe('who an agent may say it is', () => {
  const sha256 = (value) => crypto.createHash('sha256').update(value).digest('hex');
  const AGENTS = {
    default: { allow: { servers: ['nothing'] } }, boss: { allow: { servers: ['*'], tools: { '*': ['*'] } } }, 'boss.night': {},
  };
  const RULES = { agents: AGENTS, defaults: { deny_on_missing_agent: false } };
  const start = (t, options) => startMeta(t, {
    servers: shop(t), args: ['--rules', writeJson(path.join(tempDir(t), 'rules.json'), RULES)], ...options,
  });
  const buy = (client, agent_id) => client.call('execute_tool', { server: 'shop', tool: 'buy', args: {}, agent_id });
  const codeOf = (result) => (result.isError ? JSON.parse(textOf(result)).error.code : undefined);

  test('without a credential: whom it likes, where mode servers is served', async (t) => {
    const client = await open(t, await start(t, { mode: 'servers' }));
    assert.equal(codeOf(await buy(client)), 'DENIED_BY_POLICY');
    assert.equal(textOf(await buy(client, 'boss')), 'bought');
  });

  test('a client cannot name its agent if mode servers is not served', async (t) => {
    const gateway = await start(t, { mode: 'gateway' });
    await assert.rejects(open(t, gateway, 'http', { path: '/mcp/servers' }));
    const client = await open(t, gateway);
    const named = { _meta: { agent_id: 'boss', 'toolgate/agent': 'boss' } };
    const result = await client.ask('tools/call', { name: 'tool_execute', arguments: { tool_id: 'shop:buy', args: {} }, ...named });
    assert.equal(result.isError, true, JSON.stringify(result));
  });

  for (const kind of ['http', 'stateless http', 'stdio']) {
    test(`nobody, with agents.trust_stated: false (${kind})`, async (t) => {
      const transport = kind === 'stdio' ? 'stdio' : 'http';
      const gateway = await start(t, { mode: 'servers', transport, config: { agents: { trust_stated: false } } });
      const client = await open(t, gateway, kind);
      assert.equal(codeOf(await buy(client, 'boss')), 'INVALID_AGENT_ID');
      assert.equal(codeOf(await buy(client)), 'DENIED_BY_POLICY');
      assert.equal(codeOf(await client.call('list_servers', { agent_id: 'boss' })), 'INVALID_AGENT_ID');
    });
  }

  test('with a credential for no agent, the same', async (t) => {
    const auth = { tokens: [{ sha256: sha256(TOKEN) }] };
    for (const [trust_stated, code] of [[true, undefined], [false, 'INVALID_AGENT_ID']]) {
      const gateway = await start(t, { mode: 'servers', config: { auth, agents: { trust_stated } } });
      const client = await open(t, gateway, 'http', { headers: { authorization: `Bearer ${TOKEN}` } });
      assert.equal(codeOf(await buy(client, 'boss')), code);
    }
  });

  test('with a credential for an agent: that one, or one below it, whatever is trusted', async (t) => {
    const auth = { tokens: [{ sha256: sha256(TOKEN), agent: 'boss' }] };
    for (const trust_stated of [true, false]) {
      const gateway = await start(t, { mode: 'servers', config: { auth, agents: { trust_stated } } });
      const client = await open(t, gateway, 'http', { headers: { authorization: `Bearer ${TOKEN}` } });
      for (const agent of ['boss', 'boss.night']) assert.equal(textOf(await buy(client, agent)), 'bought');
      assert.equal(codeOf(await buy(client, 'default')), 'INVALID_AGENT_ID');
    }
  });

  test('check says which holds', async (t) => {
    const check = async (config, args = []) => {
      const file = writeJson(path.join(tempDir(t), 'toolgate.json'), { transport: 'http', servers: {}, ...config });
      const rules = writeJson(path.join(tempDir(t), 'rules.json'), RULES);
      const { stdout } = await runToolgate(['check', '--config', file, '--rules', rules, '--json', ...args]);
      return JSON.parse(stdout).stated_agents;
    };
    const bound = { tokens: [{ sha256: sha256(TOKEN), agent: 'boss' }] }, free = { tokens: [{ sha256: sha256(TOKEN) }] };
    assert.equal(await check({}), undefined);
    assert.equal(await check({ modes: ['servers'] }), 'trusted');
    assert.equal(await check({ mode: 'servers', transport: 'stdio' }), 'trusted');
    assert.equal(await check({ modes: ['servers'], agents: { trust_stated: false } }), 'refused');
    assert.equal(await check({ modes: ['servers'], auth: free }), 'trusted');
    assert.equal(await check({ modes: ['servers'], auth: bound }), undefined);
    assert.equal(await check({ mode: 'servers' }, ['--agent', 'boss']), undefined);
  });
});

describe('limits are the same in each mode', () => {
  test('calls of tools', async (t) => {
    const config = { modes: MODES, rate_limits: { tool_execute: { max_calls_per_session: 1 } } };
    const gateway = await startMeta(t, { servers: shop(t), config });
    const calls = {
      gateway: async (client) => client.call('tool_execute', { tool_id: await idOf(client, 'shop', 'buy'), args: {} }),
      transparent: (client) => client.call('tool_execute', { tool_id: 'shop:buy', args: {} }),
      servers: (client) => client.call('execute_tool', { server: 'shop', tool: 'buy', args: {} }),
      direct: (client) => client.request('tools/call', { name: 'buy', arguments: {} }).then(({ msg }) => msg.error ?? msg.result),
    };
    for (const [mode, call] of Object.entries(calls)) {
      const client = await open(t, gateway, 'http', { path: `/mcp/${mode}` });
      assert.match(JSON.stringify(await call(client)), /bought/, mode);
      assert.match(JSON.stringify(await call(client)), /RATE_LIMITED/, mode);
    }
  });
});

// ---- secrets

const said = `use ${TOKEN} for it`;
const clean = (value) => {
  const raw = JSON.stringify(value);
  assert.ok(!raw.includes(TOKEN) && raw.includes(MASK), raw);
};

describe('secrets are masked in mode direct', () => {
  const config = { result: { scrub: true } };
  const start = async (t, up, kind = 'http', options = {}) => {
    const transport = kind.endsWith('stdio') ? 'stdio' : 'http';
    return open(t, await startMeta(t, { servers: { up }, mode: 'direct', transport, config }), kind, options);
  };
  const behaviour = {
    name: 'up',
    tools: {
      say: () => text(said),
      structure: () => ({ ...text('{}'), structuredContent: { note: said, api_key: 'something-secret' } }),
      large: () => text(`${said} ${'x'.repeat(3 << 20)}`),
      clean: () => text('nothing to hide'),
    },
    prompts: { hello: () => ({ messages: [{ role: 'user', content: { type: 'text', text: said } }] }) },
    resources: ['test://a'],
  };
  const speak = (up) => {
    up.on('resources/read', ({ uri }) => ({ contents: [{ uri, text: said }] }));
    up.on('completion/complete', () => ({ completion: { values: [TOKEN] } }));
    return up;
  };
  const SERVERS = { handshake: handshakeServer, stateless: statelessServer };

  for (const [era, server] of Object.entries(SERVERS)) {
    for (const kind of ['http', 'stdio', 'stateless http', 'stateless stdio']) {
      test(`in results of a ${era} server (${kind})`, async (t) => {
        const up = speak(await server('http', behaviour));
        up.offers = { ...up.offers, completions: {} };
        const client = await start(t, up, kind);
        for (const name of ['say', 'structure', 'large']) clean(await client.call(name));
        clean(await client.ask('resources/read', { uri: 'test://a' }));
        clean(await client.ask('prompts/get', { name: 'hello' }));
        clean(await client.ask('completion/complete', { ref: { type: 'ref/prompt', name: 'hello' }, argument: { name: 'a', value: '' } }));
        assert.equal(textOf(await client.call('clean')), 'nothing to hide');
      });
    }
  }

  test('in log messages and progress', async (t) => {
    const up = await handshakeServer('http', { name: 'up', tools: {
      talk: async (args, { msg, peer, ctx }) => {
        const { progressToken } = msg.params._meta;
        await peer.notify('notifications/message', { level: 'error', data: { note: said } }, ctx);
        await peer.notify('notifications/progress', { progressToken, progress: 1, message: said }, ctx);
        return text('done');
      },
    } });
    const client = await start(t, up);
    const params = { name: 'talk', arguments: {}, _meta: { progressToken: 'a-long-token-of-the-client' } };
    assert.equal(textOf(await client.ask('tools/call', params)), 'done');
    for (const method of ['notifications/message', 'notifications/progress']) {
      const { msg } = await client.next(method);
      clean(msg);
      if (msg.params.progressToken) assert.equal(msg.params.progressToken, 'a-long-token-of-the-client');
    }
  });

  for (const kind of ['http', 'stateless http']) {
    const url = { mode: 'url', message: said, url: 'https://example.com/login?token=0123456789abcdef' };
    test(`in questions, whose URL stays as it is (${kind})`, async (t) => {
      const heard = [];
      const old = await handshakeServer('http', { name: 'old', tools: {
        old: async (args, entry) => {
          await ask(entry, 'elicitation/create', form(said));
          return text(JSON.stringify(await ask(entry, 'elicitation/create', { ...url, elicitationId: 'e1' })));
        },
      } });
      const young = await statelessServer('http', { name: 'young', tools: {
        young: (args, { msg: { params } }) => (params.inputResponses ? text(JSON.stringify(params.inputResponses)) : inputRequired({
          a: { method: 'elicitation/create', params: form(said) }, b: { method: 'elicitation/create', params: url },
        }, TOKEN)),
      } });
      const gateway = await startMeta(t, { servers: { old, young }, mode: 'direct', config });
      const client = await open(t, gateway, kind, { capabilities: ASKABLE });
      client.handlers.set('elicitation/create', (params) => (heard.push(params), accept('Ada')));
      for (const name of ['old', 'young']) assert.match(textOf(await client.call(name)), /Ada/);
      assert.equal(heard.length, 4);
      heard.forEach(clean);
      assert.deepEqual(heard.map((params) => params.url).filter(Boolean), [url.url, url.url]);
    });
  }

  test('in the result, the error and the state of a task', async (t) => {
    const made = (taskId) => ({ task: { taskId, status: 'working', statusMessage: said, createdAt: '2026-01-01T00:00:00Z', lastUpdatedAt: '2026-01-01T00:00:00Z', ttl: null } });
    const up = await handshakeServer('http', { name: 'up', tools: {
      slow: { execution: { taskSupport: 'optional' }, run: ({ id = 'good' }) => made(id) },
    }, capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } } });
    up.on('tasks/get', ({ taskId }) => ({ ...made(taskId).task, status: taskId === 'good' ? 'completed' : 'failed' }));
    up.on('tasks/result', ({ taskId }) => {
      if (taskId === 'good') return text(said);
      throw new RpcError(-32000, said);
    });
    const gateway = await startMeta(t, { servers: { up }, mode: 'direct', config });
    const client = await open(t, gateway);
    clean(await client.ask('tools/call', { name: 'slow', arguments: {}, task: {} }));
    clean(await client.ask('tasks/get', { taskId: 'good' }));
    clean(await client.ask('tasks/result', { taskId: 'good' }));
    clean(await client.ask('tools/call', { name: 'slow', arguments: { id: 'bad' }, task: {} }));
    clean(await client.ask('tasks/get', { taskId: 'bad' }));
    clean((await client.request('tasks/result', { taskId: 'bad' })).error);
  });

  test('and nothing is changed without result.scrub', async (t) => {
    const up = speak(await handshakeServer('http', behaviour));
    const client = await open(t, await startMeta(t, { servers: { up }, mode: 'direct' }));
    assert.equal(textOf(await client.call('say')), said);
    assert.deepEqual((await client.ask('resources/read', { uri: 'test://a' })).contents, [{ uri: 'test://a', text: said }]);
  });
});
