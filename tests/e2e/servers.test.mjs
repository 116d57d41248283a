// SPDX-License-Identifier: Apache-2.0
// Mode servers: what an agent sees of servers and their tools, how it calls them, and what it is told when it may not.
// The cases of the reference have their numbers; where the answer is deliberately another, the table says so.
//
// | case | test | |
// |---|---|---|
// | L1, L3-L9 | list_servers | as the reference; keys that would be null are left out but for `description` |
// | L2 | list_servers | a denied server is not listed |
// | L5 | list_servers | an agent that nobody knows is INVALID_AGENT_ID |
// | L6 | list_servers | a server that is allowed twice is listed once |
// | G1-G7, G9, G13 | get_server_tools | as the reference |
// | G8 | get_server_tools | what is denied is not counted either |
// | G10-G12, G15 | get_server_tools | told as errors with a code; G15: who may use every server hears what is missing |
// | G14, budgets of §3 | max_schema_tokens | the same budgets, in exact tokens |
// | E9 | servers come and go | as the reference |
// | E1-E8 | execute_tool | as the reference, with codes; E5: as the server said it |
// | I01-I14 | who an agent is | as the reference; I12, I13: INVALID_AGENT_ID |
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { before, describe, test } from 'node:test';

import { SDKS } from './lib/clients.mjs';
import { TRANSPORTS } from './lib/compare.mjs';
import { ROOT } from './lib/gateway.mjs';
import { handleOf, namesOf, open, snapshot, startMeta, textOf, viewAll } from './lib/meta.mjs';
import { onEnd, suiteScope, tempDir, until, writeJson } from './lib/process.mjs';
import { everything, filesystem, memory } from './lib/servers.mjs';
import {
  accept, ask, ASKABLE, form, handshakeServer, HttpCaller, inputRequired, statelessServer, text,
} from './lib/stateless.mjs';
import { countTokens } from './lib/tokens.mjs';
import { other } from './servers/golden-shop.mjs';

const THREE = ['list_servers', 'get_server_tools', 'execute_tool'];
const object = (properties) => ({ type: 'object', properties });
const string = { type: 'string' };
const user = (name, description, properties) => ({ name, description, inputSchema: object(properties) });

/** The five tools of the reference's cases. */
const USERS = [
  user('get_user', 'Get user by ID', { id: string }),
  user('get_users', 'List all users', { limit: { type: 'integer' } }),
  user('create_user', 'Create a new user', { name: string }),
  user('delete_user', 'Delete a user', { id: string }),
  user('update_user', 'Update user details', { id: string }),
];

const ALL = { allow: { servers: ['*'], tools: { '*': ['*'] } } };
const rulesFile = (t, agents, defaults) => writeJson(path.join(tempDir(t), 'rules.json'), { agents, defaults });

/** A gateway in this mode and a client of it. Without `agents` there are no rules. */
async function start(t, { servers, agents, defaults, kind = 'http', args = [], client = {}, ...options }) {
  const rules = agents ? ['--rules', rulesFile(t, agents, defaults)] : [];
  const transport = kind.endsWith('stdio') ? 'stdio' : 'http';
  const gateway = await startMeta(t, { mode: 'servers', servers, transport, args: [...args, ...rules], ...options });
  return open(t, gateway, kind, client);
}

/** What a meta-tool answers: the same as text and for programs. */
function valueOf(result) {
  assert.equal(result.isError, false, JSON.stringify(result));
  const value = JSON.parse(textOf(result));
  assert.deepEqual(result.structuredContent, Array.isArray(value) ? { result: value } : value);
  return value;
}

/** What it tells instead: the code, and the rule that decided. */
function errorOf(result, code, rule = null) {
  assert.equal(result.isError, true, JSON.stringify(result));
  const told = JSON.parse(textOf(result));
  assert.deepEqual(result.structuredContent, told);
  assert.deepEqual(Object.keys(told), ['error']);
  assert.deepEqual(Object.keys(told.error).filter((key) => key !== 'details'), ['code', 'message', 'rule']);
  assert.match(told.error.message, /^[^\p{Cc}]{1,256}$/u, 'one line of at most 256 characters');
  assert.deepEqual([told.error.code, told.error.rule], [code, rule], told.error.message);
  return told.error;
}

const list = async (client, args = {}) => valueOf(await client.call('list_servers', args));
const tools = async (client, args) => valueOf(await client.call('get_server_tools', args));
const execute = (client, server, tool, args = {}, more = {}) =>
  client.call('execute_tool', { server, tool, args, ...more });

describe('tools/list', () => {
  const servers = (t) => ({ users: snapshot(t, { tools: USERS }) });
  test('has three tools for everybody, whatever the rules say', async (t) => {
    const client = await start(t, { servers: servers(t), agents: { nobody: {} } });
    assert.deepEqual(namesOf(await client.tools()), THREE);
  });
  test('costs at most 400 tokens', async (t) => {
    const client = await start(t, { servers: servers(t) });
    const cost = countTokens(JSON.stringify(await client.tools()));
    assert.ok(cost <= 400, `${cost} tokens`);
  });
  test('has get_gateway_status with --debug, and GATEWAY_DEBUG', async (t) => {
    for (const options of [{ args: ['--debug'] }, { env: { GATEWAY_DEBUG: 'yes' } }, { config: { debug: true } }]) {
      const client = await start(t, { servers: servers(t), ...options });
      assert.deepEqual(namesOf(await client.tools()), [...THREE, 'get_gateway_status']);
    }
  });
  test('what is not listed is no tool', async (t) => {
    const client = await start(t, { servers: servers(t) });
    for (const name of ['get_gateway_status', 'tool_view', 'tool_browse', 'get_user'])
      await assert.rejects(client.call(name, {}), { code: -32602 });
  });
  test('no argument is taken that is not there', async (t) => {
    const client = await start(t, { servers: servers(t) });
    for (const name of THREE) errorOf(await client.call(name, { server: 'users', tool: 'x', agent: 'a' }), 'ARGS_INVALID');
  });
});

describe('list_servers', () => {
  const ENTRIES = {
    s: { command: '/nonexistent/x', description: 'D' },
    notion: { url: 'http://127.0.0.1:1/n' },
    h: { url: 'http://127.0.0.1:1/h?token=secret', headers: { authorization: 'Bearer secret' } },
  };
  const AGENTS = {
    all: ALL,
    L2: { ...ALL, deny: { servers: ['notion'] } },
    L6: { allow: { servers: ['s', 's'] } },
    L7: { allow: { servers: ['missing'] } },
    researcher: { allow: { servers: ['notion'] } },
    backend: { allow: { servers: ['s', 'h'] } },
    pattern: { allow: { servers: ['*o*'] } },
    nobody: {},
  };
  const scope = suiteScope();
  let client;
  before(async () => {
    client = await start(scope, { servers: ENTRIES, agents: AGENTS });
  });
  const names = async (agent_id) => namesOf(await list(client, { agent_id }));

  test('L1: all servers, in the order of the configuration', async () => {
    assert.deepEqual(await names('all'), ['s', 'notion', 'h']);
  });
  test('L2: without those that are denied', async () => {
    assert.deepEqual(await names('L2'), ['s', 'h']);
  });
  test('L3: how they are reached, without secrets', async () => {
    assert.deepEqual(await list(client, { agent_id: 'backend', include_metadata: true }), [
      { name: 's', description: 'D', transport: 'stdio', command: '/nonexistent/x' },
      { name: 'h', description: null, transport: 'http', url: 'http://127.0.0.1:1/h?***' },
    ]);
  });
  test('L4: nothing of that unless it is asked for', async () => {
    const without = [{ name: 's', description: 'D' }, { name: 'h', description: null }];
    assert.deepEqual(await list(client, { agent_id: 'backend' }), without);
    assert.deepEqual(await list(client, { agent_id: 'backend', include_metadata: false }), without);
  });
  test('L5: an agent that nobody knows is refused', async () => {
    errorOf(await client.call('list_servers', { agent_id: 'ghost' }), 'INVALID_AGENT_ID', 'agents');
  });
  test('L6: once, however often it is allowed', async () => {
    assert.deepEqual(await names('L6'), ['s']);
  });
  test('L7: not what is allowed and not there', async () => {
    assert.deepEqual(await names('L7'), []);
  });
  test('L8: for each agent its own', async () => {
    assert.deepEqual([await names('researcher'), await names('backend'), await names('nobody')], [['notion'], ['s', 'h'], []]);
    assert.deepEqual(await names('pattern'), ['notion']);
  });
  test('a server without a description says what it is for, in its own words', async (t) => {
    const servers = { everything: everything(), said: { ...everything(), description: 'In ours.' } };
    const found = await start(t, { servers });
    await tools(found, { server: 'everything' });
    await tools(found, { server: 'said' });
    const [own, ours] = await list(found);
    assert.ok(own.description.length > 10 && countTokens(own.description) <= 40, own.description);
    assert.equal(ours.description, 'In ours.');
  });
  test('and those are what it says to this agent', async (t) => {
    const up = await other('stdio', 'up', { more: { x: {} } });
    let count = 0;
    const plain = up.handlers.get('initialize');
    up.on('initialize', (...args) => ({ ...plain(...args), instructions: `For connection ${++count}.` }));
    const found = await start(t, { servers: { up }, agents: { a: ALL, b: ALL } });
    for (const agent_id of ['a', 'b']) await execute(found, 'up', 'x', {}, { agent_id });
    for (const [i, agent_id] of ['a', 'b'].entries())
      assert.equal((await list(found, { agent_id }))[0].description, `For connection ${i + 1}.`);
  });
  test('wrong arguments are told', async () => {
    errorOf(await client.call('list_servers', { agent_id: 'all', include_metadata: 'yes' }), 'ARGS_INVALID');
  });
});

describe('get_server_tools', () => {
  const AGENTS = {
    all: ALL,
    G8: { ...ALL, deny: { tools: { users: ['delete_user'] } } },
    G9: { allow: { servers: ['*'], tools: { users: ['get_*', 'update_user'] } } },
    G10: { ...ALL, deny: { servers: ['users'] } },
    G11: { allow: { servers: ['users', 'gone'], tools: { '*': ['*'] } } },
  };
  const scope = suiteScope();
  let client;
  before(async () => {
    const servers = {
      users: snapshot(scope, { tools: USERS }), empty: snapshot(scope, { tools: [], prompts: [{ name: 'p' }] }),
      down: { command: '/nonexistent/server' },
      odd: snapshot(scope, { tools: ['get_1', 'get_4', 'get_ä', 'get_a_id', 'bare'].map((name) => ({ name })) }),
    };
    client = await start(scope, { servers, agents: AGENTS });
  });
  const users = (args = {}) => tools(client, { agent_id: 'all', server: 'users', ...args });
  const picked = async (args) => namesOf((await users(args)).tools);

  test('G1: all of them, in the order of the server', async () => {
    assert.deepEqual(await users(), {
      tools: USERS, server: 'users', total_available: 5, returned: 5, tokens_used: null, error: null,
    });
  });
  test('G2, G3: by their names, which do not change the order', async () => {
    assert.deepEqual(await picked({ names: 'get_user' }), ['get_user']);
    assert.deepEqual(await picked({ names: 'delete_user, get_user' }), ['get_user', 'delete_user']);
    assert.deepEqual(await picked({ names: ['delete_user', 'get_user'] }), ['get_user', 'delete_user']);
  });
  test('G4: a name that nothing has', async () => {
    const { total_available, returned } = await users({ names: 'nonexistent_tool' });
    assert.deepEqual([returned, total_available], [0, 5]);
  });
  test('G5: by a pattern', async () => {
    for (const [pattern, count] of [['get_*', 2], ['*_user', 4], ['*', 5], ['admin_*', 0], ['', 0], ['get_user', 1]])
      assert.equal((await picked({ pattern })).length, count, pattern);
    assert.ok(!(await picked({ pattern: '*_user' })).includes('get_users'));
    for (const [pattern, names] of [
      ['get_*_id', ['get_a_id']], ['get_?', ['get_1', 'get_4', 'get_ä']], ['get_[123]', ['get_1']],
      ['get_[!123]', ['get_4', 'get_ä']], ['get_[0-9]', ['get_1', 'get_4']], ['GET_*', []], ['[bare', []],
    ]) {
      const { tools: found } = await tools(client, { agent_id: 'all', server: 'odd', pattern });
      assert.deepEqual(namesOf(found), names, pattern);
    }
  });
  test('G6: by both', async () => {
    assert.deepEqual(await picked({ names: 'get_user,create_user', pattern: 'get_*' }), ['get_user']);
  });
  test('G7: no names are no choice', async () => {
    for (const names of ['', ' , ,', [], [''], null]) assert.equal((await picked({ names })).length, 5);
    assert.equal((await picked({ pattern: null, max_schema_tokens: null })).length, 5);
  });
  test('G8: what is denied is neither there nor counted', async () => {
    const { tools: found, total_available, returned } = await users({ agent_id: 'G8' });
    assert.deepEqual([returned, total_available], [4, 4]);
    assert.ok(!namesOf(found).includes('delete_user'));
    assert.deepEqual(await picked({ agent_id: 'G8', names: 'delete_user' }), []);
  });
  test('G9: what is allowed', async () => {
    assert.deepEqual(await picked({ agent_id: 'G9' }), ['get_user', 'get_users', 'update_user']);
  });
  test('G10: a server that is denied', async () => {
    const error = errorOf(await client.call('get_server_tools', { agent_id: 'G10', server: 'users' }), 'DENIED_BY_POLICY',
      'agents.G10.deny.servers[0]');
    assert.equal(error.message, "Agent 'G10' denied server 'users'");
  });
  test('G11: a server that is allowed and not there', async () => {
    const error = errorOf(await client.call('get_server_tools', { agent_id: 'G11', server: 'gone' }), 'SERVER_UNAVAILABLE');
    assert.match(error.message, /'gone' not found in configured servers/);
  });
  test('G12: a server that is down', async () => {
    const error = errorOf(await client.call('get_server_tools', { agent_id: 'all', server: 'down' }), 'SERVER_UNAVAILABLE');
    assert.match(error.message, /down.*cannot start/);
    assert.ok((await list(client, { agent_id: 'all' })).some(({ name }) => name === 'down'), 'it is listed all the same');
  });
  test('G13: a server without tools', async () => {
    const { total_available, returned } = await tools(client, { agent_id: 'all', server: 'empty' });
    assert.deepEqual([returned, total_available], [0, 0]);
  });
  test('G15: no server', async () => {
    errorOf(await client.call('get_server_tools', { agent_id: 'G11' }), 'DENIED_BY_POLICY', 'agents.G11.allow.servers');
    for (const server of [undefined, null, ''])
      assert.match(errorOf(await client.call('get_server_tools', { agent_id: 'all', server }), 'ARGS_INVALID').message, /^server is required/);
  });
  test('a tool that says little about itself', async () => {
    const { tools: [bare] } = await tools(client, { agent_id: 'all', server: 'odd', names: 'bare' });
    assert.deepEqual(Object.keys(bare), ['name', 'description', 'inputSchema']);
    assert.equal(bare.description, '');
  });
  test('wrong arguments are told', async () => {
    for (const wrong of [{ server: {} }, { names: 5 }, { names: [5] }, { pattern: [] }, { pattern: '*'.repeat(257) }, { max_schema_tokens: 1.5 },
      { max_schema_tokens: 'many' }])
      errorOf(await client.call('get_server_tools', { agent_id: 'all', server: 'users', ...wrong }), 'ARGS_INVALID');
  });
});

describe('max_schema_tokens', () => {
  const scope = suiteScope();
  const cost = USERS.map((tool) => countTokens(JSON.stringify(tool)));
  const upTo = (n) => cost.slice(0, n).reduce((sum, c) => sum + c, 0);
  const ODD = [
    { name: 'x', inputSchema: { type: 'object' } },
    { name: 'é'.repeat(8), description: '日本語', inputSchema: { type: 'object', title: '日' } },
  ];
  const ROOMY = { name: 'roomy', description: 'd', inputSchema: object({ a: string, b: { type: 'integer' } }) };
  let client;
  before(async () => {
    client = await start(scope, {
      servers: {
        users: snapshot(scope, { tools: USERS }), odd: snapshot(scope, { tools: ODD }),
        large: snapshot(scope, { tools: [USERS[0], user('big', 'word '.repeat(500), {}), USERS[1]] }),
        roomy: snapshot(scope, { tools: [ROOMY] }),
      },
    });
  });
  // The budgets of the reference, by what they stand for: there a token is four characters.
  for (const [name, reference, budget, returned] of [
    ['nothing', 0, 0, 0],
    ['one token', 1, 1, 0],
    ['one less than the first', 19, cost[0] - 1, 0],
    ['the first', 20, cost[0], 1],
    ['the first, and some', 22, cost[0] + 2, 1],
    ['the first two', 41, upTo(2), 2],
    ['one less than three', 60, upTo(3) - 1, 2],
    ['the first three', 63, upTo(3), 3],
    ['one less than five', 87, upTo(5) - 1, 4],
    ['all five', 106, upTo(5), 5],
    ['more than all', 500, 500, 5],
    ['less than nothing', -1, -1, 0],
  ]) {
    test(`budget ${reference} of the reference: ${name}`, async () => {
      const found = await tools(client, { server: 'users', max_schema_tokens: budget });
      assert.deepEqual(namesOf(found.tools), namesOf(USERS.slice(0, returned)));
      assert.deepEqual([found.returned, found.tokens_used, found.total_available], [returned, upTo(returned), 5]);
    });
  }
  test('the first that does not fit ends it, even if a later one would', async () => {
    const { tools: found } = await tools(client, { server: 'large', max_schema_tokens: 200 });
    assert.deepEqual(namesOf(found), ['get_user']);
  });
  test('a choice is made before anything is counted', async () => {
    const found = await tools(client, { server: 'large', names: 'get_user,get_users', max_schema_tokens: 200 });
    assert.deepEqual([found.returned, found.tokens_used], [2, upTo(2)]);
  });
  test('what is counted is what is sent: x, é and 日本語', async () => {
    const found = await tools(client, { server: 'odd', max_schema_tokens: 1000 });
    assert.equal(found.tokens_used, found.tools.reduce((sum, tool) => sum + countTokens(JSON.stringify(tool)), 0));
    assert.equal(found.returned, 2);
  });
});

describe('execute_tool', () => {
  const AGENTS = {
    all: ALL,
    E2: { allow: { servers: ['other'], tools: { '*': ['*'] } } },
    frontend: { ...ALL, deny: { tools: { db: ['drop_table'] } } },
    wild: { ...ALL, deny: { tools: { '*': ['drop_*'] } } },
    named: { allow: { servers: ['db'], tools: { db: ['two'] } } },
  };
  const IMAGE = { type: 'image', data: 'aGVsbG8=', mimeType: 'image/png' };
  const TWO = { content: [{ type: 'text', text: 'one' }, IMAGE], structuredContent: { n: 1e2, deep: [{}] }, _meta: { x: 1 } };
  const scope = suiteScope();
  let client, up;
  before(async () => {
    up = await other('stdio', 'db', { more: {
      two: { run: () => TWO },
      echo: {},
      drop_table: {},
      slow: { run: () => new Promise(() => {}) },
      fails: { run: () => ({ content: [{ type: 'text', text: 'disk full' }], isError: true }) },
      refuses: { run: () => { throw new Error('not today'); } },
      strict: { inputSchema: { ...object({ n: { type: 'integer' } }), required: ['n'] } },
      large: { run: () => text('a line of a long answer\n'.repeat(2000)) },
      five: { run: () => 5 },
      list: { run: () => [1, { a: 2 }] },
      string: { run: () => 'as it is' },
      says: { run: (_args, entry) => text(JSON.stringify(entry.msg.params)) },
    } });
    client = await start(scope, { servers: { db: up, down: { command: '/nonexistent/server' } }, agents: AGENTS });
  });
  const call = (tool, args, more) => execute(client, 'db', tool, args, { agent_id: 'all', ...more });
  const reached = (tool) => up.seen.filter(([name]) => name === tool).length;

  test('E1: the result as it came, part by part', async () => {
    const { _meta, ...rest } = await call('two');
    const { _meta: sent, ...was } = TWO;
    assert.deepEqual(rest, was);
    assert.deepEqual(_meta, sent);
  });
  test('E1: however long it is', async () => {
    assert.equal(textOf(await call('large')), 'a line of a long answer\n'.repeat(2000));
  });
  test('E2: a server that is denied is not asked', async () => {
    const error = errorOf(await call('echo', {}, { agent_id: 'E2' }), 'DENIED_BY_POLICY', 'agents.E2.allow.servers');
    assert.equal(error.message, "Agent 'E2' denied server 'db'");
  });
  test('E3: nor is it for a tool that is denied', async () => {
    const result = await call('drop_table', {}, { agent_id: 'frontend' });
    assert.deepEqual(JSON.parse(textOf(result)), { error: {
      code: 'DENIED_BY_POLICY', message: "Agent 'frontend' denied tool 'drop_table'",
      rule: 'agents.frontend.deny.tools.db[0]',
    } });
    errorOf(await call('drop_table', {}, { agent_id: 'wild' }), 'DENIED_BY_POLICY', 'agents.wild.deny.tools.*[0]');
    errorOf(await call('echo', {}, { agent_id: 'named' }), 'DENIED_BY_POLICY', 'agents.named.allow.tools.db');
    assert.deepEqual([reached('drop_table'), reached('echo')], [0, 0]);
  });
  test('E3: whether it is there or not', async () => {
    errorOf(await call('drop_nothing', {}, { agent_id: 'wild' }), 'DENIED_BY_POLICY', 'agents.wild.deny.tools.*[0]');
    errorOf(await execute(client, 'nowhere', 'drop_x', {}, { agent_id: 'wild' }), 'DENIED_BY_POLICY', 'agents.wild.deny.tools.*[0]');
  });
  test('E4: for no longer than the caller says', async () => {
    const error = errorOf(await call('slow', {}, { timeout_ms: 100 }), 'TIMEOUT');
    assert.match(error.message, /timed out after 100ms/);
  });
  test('E5: what a tool says of its failure', async () => {
    assert.deepEqual(await call('fails'), { content: [{ type: 'text', text: 'disk full' }], isError: true });
  });
  test('E5: what a server says of it', async () => {
    const error = errorOf(await call('refuses'), 'UPSTREAM_ERROR');
    assert.match(error.message, /not today/);
  });
  test('E6: arguments go as they are, and who calls is not told', async () => {
    const args = { agent_id: 'inner', n: 1, deep: { a: [null, '"', 'ü'] }, timeout_ms: 5 };
    assert.equal(textOf(await call('echo', args, { timeout_ms: 60_000 })), JSON.stringify(args));
    assert.deepEqual(JSON.parse(textOf(await call('says', args))), { name: 'says', arguments: args });
    assert.deepEqual(JSON.parse(textOf(await client.call('execute_tool', { agent_id: 'all', server: 'db', tool: 'says' }))),
      { name: 'says', arguments: {} });
  });
  test('E7: what is no result of a tool, as one text', async () => {
    for (const [tool, said] of [['five', '5'], ['list', '[1,{"a":2}]'], ['string', 'as it is']])
      assert.deepEqual(await call(tool), { content: [{ type: 'text', text: said }], isError: false });
  });
  test('E8: calls of three agents at once do not mix', async () => {
    const agents = ['all', 'wild', 'frontend'];
    const calls = Array.from({ length: 30 }, (_, i) => [agents[i % 3], { i }]);
    const answers = await Promise.all(calls.map(([agent_id, args]) => call('echo', args, { agent_id })));
    assert.deepEqual(answers.map((a) => JSON.parse(textOf(a))), calls.map(([, args]) => args));
  });
  test('a tool that is not there', async () => {
    assert.match(errorOf(await call('nothing'), 'TOOL_NOT_FOUND').message, /'nothing' not found on server 'db'/);
    errorOf(await client.call('execute_tool', { agent_id: 'all', server: 'db', args: {} }), 'TOOL_NOT_FOUND');
  });
  test('a tool whose name is mistyped, of those that the agent may use', async () => {
    assert.match(errorOf(await call('ech'), 'TOOL_NOT_FOUND').message, /did you mean 'echo'\?$/);
    assert.doesNotMatch(errorOf(await call('drp_table', {}, { agent_id: 'frontend' }), 'TOOL_NOT_FOUND').message, /drop_table/);
  });
  test('a server that is not there, or down', async () => {
    errorOf(await execute(client, 'nowhere', 'x', {}, { agent_id: 'all' }), 'SERVER_UNAVAILABLE');
    errorOf(await execute(client, 'down', 'x', {}, { agent_id: 'all' }), 'SERVER_UNAVAILABLE');
  });
  test('arguments that the schema of the tool does not take', async () => {
    const { details } = errorOf(await call('strict', { n: 'x' }), 'ARGS_INVALID');
    assert.equal(details.errors[0].pointer, '/n');
    assert.equal(reached('strict'), 0);
  });
  test('wrong arguments are told', async () => {
    for (const wrong of [{ timeout_ms: -1 }, { timeout_ms: 'x' }, { args: [] }, { args: 'x' }, { server: 5 }, { tool: ['echo'] }])
      errorOf(await call('echo', {}, wrong), 'ARGS_INVALID');
    assert.equal(textOf(await call('echo', {}, { timeout_ms: 0 })), '{}');
  });
});

describe('who an agent is', () => {
  const servers = (t) => ({ users: snapshot(t, { tools: USERS }), other: snapshot(t, { tools: USERS }) });
  const AGENTS = {
    backend: { allow: { servers: ['users'] } }, researcher: { allow: { servers: ['other'] } },
    'team-backend_v2': { allow: { servers: ['users'] } },
    team: { allow: { servers: ['users'] } }, 'team.lead': { allow: { servers: ['other'] } },
  };
  const DEFAULT = { default: { allow: { servers: ['users', 'other'] } } };
  const LENIENT = { deny_on_missing_agent: false }, STRICT = { deny_on_missing_agent: true };
  const MISSING = [{}, { agent_id: '' }, { agent_id: null }];
  const seen = async (client, args) => namesOf(await list(client, args));

  test('I01, I14: the one that it names', async (t) => {
    for (const defaults of [LENIENT, STRICT]) {
      const client = await start(t, { servers: servers(t), agents: AGENTS, defaults, env: { GATEWAY_DEFAULT_AGENT: 'researcher' } });
      assert.deepEqual(await seen(client, { agent_id: 'backend' }), ['users']);
      assert.deepEqual(await seen(client, { agent_id: 'team-backend_v2' }), ['users']);
    }
  });
  test('I02-I05: nobody, where one must be named', async (t) => {
    for (const defaults of [STRICT, {}]) {
      const client = await start(t, {
        servers: servers(t), agents: { ...AGENTS, ...DEFAULT }, defaults, env: { GATEWAY_DEFAULT_AGENT: 'researcher' },
      });
      for (const args of MISSING) for (const tool of THREE) {
        const error = errorOf(await client.call(tool, args), 'INVALID_AGENT_ID', 'defaults.deny_on_missing_agent');
        assert.equal(error.message, "Missing required parameter 'agent_id'. All tool calls must include agent identity.");
      }
    }
  });
  test('I06, I07: the configured one', async (t) => {
    for (const agents of [AGENTS, { ...AGENTS, ...DEFAULT }]) {
      const client = await start(t, { servers: servers(t), agents, defaults: LENIENT, env: { GATEWAY_DEFAULT_AGENT: 'researcher' } });
      for (const args of MISSING) assert.deepEqual(await seen(client, args), ['other']);
    }
  });
  test('I08: a configured one that the rules do not know', async (t) => {
    const client = await start(t, {
      servers: servers(t), agents: { ...AGENTS, ...DEFAULT }, defaults: LENIENT, env: { GATEWAY_DEFAULT_AGENT: 'nonexistent' },
    });
    for (const tool of THREE) {
      const error = errorOf(await client.call(tool, {}), 'FALLBACK_AGENT_NOT_IN_RULES', 'agents');
      assert.match(error.message, /fallback agent 'nonexistent' is not configured in gateway rules/);
    }
  });
  test('I09, I10: the one that is called default', async (t) => {
    for (const env of [{}, { GATEWAY_DEFAULT_AGENT: '' }]) {
      const client = await start(t, { servers: servers(t), agents: { ...AGENTS, ...DEFAULT }, defaults: LENIENT, env });
      assert.deepEqual(await seen(client, {}), ['users', 'other']);
    }
  });
  test('I11: nobody at all', async (t) => {
    const client = await start(t, { servers: servers(t), agents: AGENTS, defaults: LENIENT });
    for (const tool of THREE) errorOf(await client.call(tool, {}), 'NO_FALLBACK_CONFIGURED', 'agents.default');
  });
  test('I12, I13: one that no rule knows is never trusted', async (t) => {
    for (const defaults of [LENIENT, STRICT]) {
      const client = await start(t, { servers: servers(t), agents: AGENTS, defaults });
      for (const tool of THREE)
        errorOf(await client.call(tool, { agent_id: 'ghost', server: 'users' }), 'INVALID_AGENT_ID', 'agents');
    }
  });
  test('a name must be a text', async (t) => {
    const client = await start(t, { servers: servers(t), agents: AGENTS });
    for (const agent_id of [5, {}, ['backend'], true])
      for (const tool of THREE) errorOf(await client.call(tool, { agent_id }), 'INVALID_AGENT_ID');
  });
  test('without rules it may say what it wants', async (t) => {
    const client = await start(t, { servers: servers(t) });
    assert.deepEqual(await seen(client, { agent_id: 'anybody' }), ['users', 'other']);
    assert.deepEqual(await seen(client, {}), ['users', 'other']);
  });

  describe('whose token is an agent\'s', () => {
    const scope = suiteScope();
    const token = (agent) => `token-of-${agent}-0123456789abcdef`;
    const sha256 = (value) => crypto.createHash('sha256').update(value).digest('hex');
    let gateway;
    before(async () => {
      gateway = await startMeta(scope, {
        mode: 'servers', servers: servers(scope), args: ['--rules', rulesFile(scope, AGENTS, LENIENT)],
        config: { auth: { tokens: ['team', 'backend'].map((agent) => ({ agent, sha256: sha256(token(agent)) })) } },
      });
    });
    const as = (t, agent) => open(t, gateway, 'http', { headers: { authorization: `Bearer ${token(agent)}` } });
    test('is that agent, and may say so', async (t) => {
      const client = await as(t, 'team');
      assert.deepEqual(await seen(client, {}), ['users']);
      assert.deepEqual(await seen(client, { agent_id: 'team' }), ['users']);
    });
    test('may be one below it', async (t) => {
      assert.deepEqual(await seen(await as(t, 'team'), { agent_id: 'team.lead' }), ['users', 'other']);
    });
    test('the token of an agent permits no other agent_id, whatever the model writes', async (t) => {
      const client = await as(t, 'backend');
      for (const agent_id of ['team', 'researcher', 'default', 'ghost', 'backendx'])
        for (const tool of THREE) errorOf(await client.call(tool, { agent_id, server: 'other' }), 'INVALID_AGENT_ID');
    });
  });
});

describe('get_gateway_status', () => {
  test('tells an agent of the servers that it may use, and of nobody else', async (t) => {
    const client = await start(t, {
      servers: { users: snapshot(t, { tools: USERS }), secret: snapshot(t, { tools: USERS }), down: { command: '/nonexistent/x' } },
      agents: { a: { allow: { servers: ['users', 'down'], tools: { users: ['get_*'] } } }, hidden: ALL }, args: ['--debug'],
    });
    await tools(client, { agent_id: 'a', server: 'users' });
    errorOf(await client.call('get_server_tools', { agent_id: 'a', server: 'down' }), 'SERVER_UNAVAILABLE');
    const status = valueOf(await client.call('get_gateway_status', { agent_id: 'a' }));
    assert.deepEqual(status.available_servers, [
      { name: 'users', state: 'ready', tools: 2 }, { name: 'down', state: 'down', tools: 0 },
    ]);
    assert.equal(status.policy_state.agent_id, 'a');
    assert.doesNotMatch(JSON.stringify(status), /secret|hidden|\/nonexistent/);
    errorOf(await client.call('get_gateway_status', {}), 'INVALID_AGENT_ID', 'defaults.deny_on_missing_agent');
  });
});

describe('a result that is to fit (result.servers: bounded)', () => {
  const LONG = 'a line of a long answer\n'.repeat(2000);
  const scope = suiteScope();
  let client;
  before(async () => {
    const up = await other('stdio', 'db', { more: { large: { run: () => text(LONG) }, small: { run: () => text('small') } } });
    client = await start(scope, {
      servers: { db: up }, config: { result: { servers: 'bounded' } }, agents: { a: ALL, b: ALL },
    });
  });
  test('there is tool_view', async () => {
    assert.deepEqual(namesOf(await client.tools()), [...THREE, 'tool_view']);
  });
  test('what is long is cut, and the rest is kept', async () => {
    const result = await execute(client, 'db', 'large', {}, { agent_id: 'a' });
    assert.ok(countTokens(result.content[0].text) <= 500);
    const handle = handleOf(result);
    const as = (agent_id) => ({ call: (name, args) => client.call(name, { agent_id, ...args }) });
    assert.equal(await viewAll(as('a'), handle), LONG);
    const view = { handle, selector: { type: 'head' } };
    errorOf(await as('b').call('tool_view', view), 'VIEW_FAILED');
    errorOf(await client.call('tool_view', view), 'INVALID_AGENT_ID', 'defaults.deny_on_missing_agent');
  });
  test('what is short is not', async () => {
    assert.equal(textOf(await execute(client, 'db', 'small', {}, { agent_id: 'a' })), 'small');
  });
});

test('the conversation of docs/reference/servers.md goes as it is printed there', async (t) => {
  const page = fs.readFileSync(path.join(ROOT, 'docs/reference/servers.md'), 'utf8');
  const [, rules] = /```json\n(\{"agents".*?)```/s.exec(page);
  const open = { ...object({ url: string }), required: ['url'] };
  const servers = {
    postgres: { ...snapshot(t, { tools: [user('drop_table', 'Drop a table.', { name: string })] }), description: 'Orders and customers.' },
    browser: snapshot(t, { tools: [
      { name: 'navigate', description: 'Open a page.', inputSchema: open }, user('get_text', 'Get its text.', {}), user('click', 'Click.', {}),
    ] }),
  };
  const client = await start(t, { servers, args: ['--debug'], ...JSON.parse(rules) });
  await tools(client, { agent_id: 'frontend', server: 'browser' });
  const printed = [...page.matchAll(/^(\w+) (\{[^\n]*\})\n→ (.*?)\n(?=\n|```)/gms)];
  assert.equal(printed.length, 5);
  for (const [, name, args, answer] of printed)
    assert.deepEqual(JSON.parse(textOf(await client.call(name, JSON.parse(args)))), JSON.parse(answer));
  const cost = countTokens(JSON.stringify((await client.tools()).slice(0, 3)));
  assert.match(page, new RegExp(`${cost} tokens in total`));
  assert.match(fs.readFileSync(path.join(ROOT, 'README.md'), 'utf8'), new RegExp(`\\(${cost} tokens\\)`));
});

test('secrets are masked in whole results too, where that is configured', async (t) => {
  const up = await other('stdio', 'db', { more: { leak: { run: () => text('key AKIAIOSFODNN7EXAMPLE end') } } });
  const client = await start(t, { servers: { db: up }, config: { result: { scrub: true } } });
  assert.doesNotMatch(textOf(await execute(client, 'db', 'leak')), /AKIA/);
});

describe('a server that takes its time', () => {
  test('is not started before it is needed (init_strategy: lazy)', async (t) => {
    const ups = await Promise.all(['one', 'two'].map((name) => other('stdio', name, { more: { echo: {} } })));
    const servers = Object.fromEntries(ups.map((up) => [up.name, up]));
    for (const kind of ['stdio', 'http', 'stateless http']) {
      const client = await start(t, { servers, kind, config: { init_strategy: 'lazy' } });
      const before = ups.map((up) => up.connections.length);
      assert.deepEqual(namesOf(await list(client)), ['one', 'two']);
      await client.tools();
      await tools(client, { server: 'two' });
      assert.equal(textOf(await execute(client, 'two', 'echo')), '{}');
      assert.deepEqual(ups.map((up) => up.connections.length), [before[0], before[1] + 1], kind);
    }
  });
  test('is waited for', async (t) => {
    const up = await other('stdio', 'db', { more: { echo: {} } });
    let go;
    const gate = new Promise((resolve) => (go = resolve));
    const plain = up.handlers.get('tools/list');
    up.on('tools/list', async (...args) => (await gate, plain(...args)));
    const client = await start(t, { servers: { db: up } });
    const answers = [tools(client, { server: 'db' }), execute(client, 'db', 'echo', { a: 1 })];
    assert.deepEqual(namesOf(await list(client)), ['db']);  // meanwhile others are answered
    go();
    const [found, result] = await Promise.all(answers);
    assert.deepEqual(namesOf(found.tools), ['echo']);
    assert.equal(textOf(result), '{"a":1}');
  });
});

describe('questions of a server during execute_tool', () => {
  const asking = {
    handshake: () => handshakeServer('stdio', { name: 'up', tools: {
      ask: async (args, entry) => text(`hello ${(await ask(entry, 'elicitation/create', form('Who?'))).content.name}`),
    } }),
    stateless: () => statelessServer('stdio', { name: 'up', tools: {
      ask: (args, { msg: { params } }) => params.inputResponses ? text(`hello ${params.inputResponses.q.content.name}`)
        : inputRequired({ q: { method: 'elicitation/create', params: form('Who?') } }, 'state'),
    } }),
  };
  for (const [era, server] of Object.entries(asking)) {
    for (const kind of ['http', 'stdio', 'stateless http', 'stateless stdio']) {
      test(`a client on ${kind} answers a ${era} server`, async (t) => {
        const client = await start(t, { servers: { up: await server() }, agents: { a: ALL }, kind, client: { capabilities: ASKABLE } });
        client.handlers.set('elicitation/create', () => accept('Ada'));
        assert.equal(textOf(await execute(client, 'up', 'ask', {}, { agent_id: 'a' })), 'hello Ada');
      });
    }
    test(`only the agent that called can answer a question of the server: ${era}`, async (t) => {
      const servers = { up: await server(), other: await server() };
      const args = ['--rules', rulesFile(t, { a: ALL, b: ALL })];
      const gateway = await startMeta(t, { mode: 'servers', servers, args });
      const caller = new HttpCaller(gateway.url, { capabilities: ASKABLE });
      onEnd(t, () => caller.close());
      const call = { agent_id: 'a', server: 'up', tool: 'ask', args: {} };
      const { result } = await caller.call('execute_tool', call);
      assert.equal(result.resultType, 'input_required', JSON.stringify(result));
      const back = { inputResponses: { [Object.keys(result.inputRequests)[0]]: accept('Ada') }, requestState: result.requestState };
      for (const other of [{ agent_id: 'b' }, { server: 'other' }, { agent_id: 'a', args: { x: 1 } }]) {
        const refused = await caller.call('execute_tool', { ...call, ...other }, back);
        assert.equal(refused.result?.isError ?? refused.error !== undefined, true, JSON.stringify(refused));
      }
      assert.equal(textOf((await caller.call('execute_tool', call, back)).result), 'hello Ada');
    });
  }
});

test('names are those of the servers, whatever others are called', async (t) => {
  const names = ['same', 'with blank', 'Ünïcode', 'a'.repeat(100), 'dots.and/slashes'];
  const make = (name) => handshakeServer('stdio', {
    name, tools: Object.fromEntries(names.map((tool) => [tool, () => text(`${tool} of ${name}`)])),
  });
  const client = await start(t, { servers: { 'one server': await make('one'), two: await make('two') } });
  for (const [server, name] of [['one server', 'one'], ['two', 'two']]) {
    assert.deepEqual(namesOf((await tools(client, { server })).tools), names);
    for (const tool of names) assert.equal(textOf(await execute(client, server, tool)), `${tool} of ${name}`);
  }
});

test('on stdio, --agent says who asks, and agent_id names no other', async (t) => {
  const client = await start(t, {
    servers: { users: snapshot(t, { tools: USERS }) }, agents: { a: ALL, b: ALL, 'a.x': {} }, kind: 'stdio', args: ['--agent', 'a'],
  });
  for (const args of [{}, { agent_id: 'a' }, { agent_id: 'a.x' }]) assert.deepEqual(namesOf(await list(client, args)), ['users']);
  errorOf(await client.call('list_servers', { agent_id: 'b' }), 'INVALID_AGENT_ID');
});

test('over HTTP the mode is there beside the others', async (t) => {
  const gateway = await startMeta(t, { servers: { users: snapshot(t, { tools: USERS }) }, config: { modes: ['servers'] } });
  for (const kind of ['http', 'stateless http']) {
    const client = await open(t, gateway, kind, { path: '/mcp/servers' });
    assert.deepEqual(namesOf(await client.tools()), THREE);
    assert.deepEqual(namesOf(await list(client)), ['users']);
  }
});

test('a server that lists other tools now is shown with those, and nobody is told: tools/list is the same', async (t) => {
  const up = await other('stdio', 'db', { more: { one: {} } });
  const client = await start(t, { servers: { db: up } });
  assert.deepEqual(namesOf((await tools(client, { server: 'db' })).tools), ['one']);
  up.tools = [...up.tools, { name: 'two', inputSchema: { type: 'object' } }];
  await up.changed('tools');
  await until(async () => (await tools(client, { server: 'db' })).total_available === 2, 'the other list');
  await client.roundTrip();
  assert.ok(!client.inbox.has('notifications/tools/list_changed'));
});

test('rules that change are asked from the next request on', async (t) => {
  const rules = rulesFile(t, { a: { allow: { servers: ['users'] } } });
  const servers = { users: snapshot(t, { tools: USERS }), more: snapshot(t, { tools: USERS }) };
  const gateway = await startMeta(t, { mode: 'servers', servers, args: ['--rules', rules] });
  const client = await open(t, gateway);
  assert.deepEqual(namesOf(await list(client, { agent_id: 'a' })), ['users']);
  writeJson(rules, { agents: { a: { ...ALL, deny: { servers: ['users'] } } } });
  await until(async () => namesOf(await list(client, { agent_id: 'a' })).includes('more'), 'the new rules');
  assert.deepEqual(namesOf(await list(client, { agent_id: 'a' })), ['more']);
  errorOf(await execute(client, 'users', 'get_user', {}, { agent_id: 'a' }), 'DENIED_BY_POLICY', 'agents.a.deny.servers[0]');
});

test('L9, E9: servers come and go while it runs', async (t) => {
  const entries = { first: snapshot(t, { tools: USERS }), second: snapshot(t, { tools: USERS.slice(0, 2) }) };
  const gateway = await startMeta(t, { mode: 'servers', servers: { first: entries.first } });
  const client = await open(t, gateway);
  const file = path.join(gateway.dir, 'mcp.json');
  assert.deepEqual(namesOf(await list(client)), ['first']);
  writeJson(file, { mcpServers: entries });
  await until(async () => namesOf(await list(client)).includes('second'), 'the new server');
  assert.equal((await tools(client, { server: 'second' })).total_available, 2);
  writeJson(file, { mcpServers: { second: entries.second } });
  await until(async () => !namesOf(await list(client)).includes('first'), 'the end of the old one');
  assert.match(errorOf(await execute(client, 'first', 'get_user'), 'SERVER_UNAVAILABLE').message, /not found/);
  errorOf(await client.call('get_server_tools', { server: 'first' }), 'SERVER_UNAVAILABLE');
  assert.equal((await execute(client, 'second', 'get_user')).isError, false);
});

test('what is listed can be called, and nothing else', async (t) => {
  const agents = {
    all: ALL, none: {}, some: { allow: { servers: ['a', 'b'], tools: { a: ['get_*'], '*': ['update_user'] } } },
    less: { ...ALL, deny: { servers: ['b'], tools: { '*': ['*_user'], c: ['get_users'] } } },
    'less.still': { deny: { tools: { a: ['*'] } } }, named: { ...ALL, deny: { tools: { a: ['get_user'], '*': ['delete_*'] } } },
  };
  const names = ['a', 'b', 'c'];
  const servers = Object.fromEntries(names.map((name) => [name, snapshot(t, { tools: USERS })]));
  for (const precedence of ['document', 'deny-first']) {
    const client = await start(t, { servers, agents, defaults: { precedence } });
    for (const agent_id of Object.keys(agents)) {
      const listed = namesOf(await list(client, { agent_id }));
      for (const server of names) {
        const shown = listed.includes(server) ? namesOf((await tools(client, { agent_id, server })).tools) : [];
        for (const { name } of USERS) {
          const result = await execute(client, server, name, {}, { agent_id });
          const denied = result.structuredContent?.error?.code === 'DENIED_BY_POLICY';
          assert.equal(!denied, shown.includes(name), `${precedence}: ${agent_id} ${server} ${name}`);
        }
      }
    }
  }
});

test('a result that is remembered for one agent is not another\'s', async (t) => {
  const up = await other('stdio', 'db', { more: { read: { annotations: { readOnlyHint: true } } } });
  const client = await start(t, { servers: { db: up }, agents: { a: ALL, b: ALL }, config: { cache: { read_only: true } } });
  for (const agent_id of ['a', 'a', 'b', 'a', 'b']) await execute(client, 'db', 'read', { x: 1 }, { agent_id });
  assert.equal(up.seen.length, 2);
});

test('limits count for each meta-tool', async (t) => {
  const client = await start(t, {
    servers: { users: snapshot(t, { tools: USERS }) },
    config: { rate_limits: Object.fromEntries(['list_servers', 'get_server_tools', 'tool_execute'].map((tool) => [tool, { max_calls_per_session: 1 }])) },
  });
  const args = { server: 'users', tool: 'get_user', args: {} };
  for (const [tool, more] of [['list_servers', {}], ['get_server_tools', { server: 'users' }], ['execute_tool', args]]) {
    assert.equal((await client.call(tool, more)).isError, false, tool);
    errorOf(await client.call(tool, more), 'RATE_LIMITED');
  }
});

test('every operation is a line of the audit log, with who asked, for what, and the rule', async (t) => {
  const file = path.join(tempDir(t), 'audit.jsonl');
  const agents = { a: { ...ALL, deny: { servers: ['secret'], tools: { users: ['delete_*'] } } } };
  const gateway = await startMeta(t, {
    mode: 'servers', servers: { users: snapshot(t, { tools: USERS }), secret: snapshot(t, { tools: USERS }) },
    config: { audit: { file } }, args: ['--rules', rulesFile(t, agents)],
  });
  const client = await open(t, gateway, 'http');
  const me = { agent_id: 'a' };
  await client.call('list_servers', me);
  await client.call('get_server_tools', { ...me, server: 'users' });
  await client.call('get_server_tools', { ...me, server: 'secret' });
  await execute(client, 'users', 'get_user', {}, me);
  await execute(client, 'users', 'delete_user', {}, me);
  await execute(client, 'users', 'nothing', {}, me);
  await execute(client, 'nowhere', 'x', {}, me);
  await execute(client, 'users', 'get_user', {}, { agent_id: 'ghost' });
  await client.close();
  await gateway.stop();
  const lines = fs.readFileSync(file, 'utf8').trim().split('\n').map((line) => JSON.parse(line)).filter(({ operation }) => operation);
  assert.deepEqual(lines.map((l) => [l.operation, l.agent_id, l.server, l.tool, l.decision, l.code, l.rule, l.mode]), [
    ['list_servers', 'a', null, null, 'ALLOW', null, null, 'servers'],
    ['get_server_tools', 'a', 'users', null, 'ALLOW', null, 'agents.a.allow.servers[0]', 'servers'],
    ['get_server_tools', 'a', 'secret', null, 'DENY', 'DENIED_BY_POLICY', 'agents.a.deny.servers[0]', 'servers'],
    ['execute_tool', 'a', 'users', 'get_user', 'ALLOW', null, 'agents.a.allow.tools.*[0]', 'servers'],
    ['execute_tool', 'a', 'users', 'delete_user', 'DENY', 'DENIED_BY_POLICY', 'agents.a.deny.tools.users[0]', 'servers'],
    ['execute_tool', 'a', 'users', 'nothing', 'ERROR', 'HYDRATE_FAILED', 'agents.a.allow.tools.*[0]', 'servers'],
    ['execute_tool', 'a', 'nowhere', 'x', 'ERROR', 'UPSTREAM_UNAVAILABLE', 'agents.a.allow.tools.*[0]', 'servers'],
    ['execute_tool', 'ghost', 'users', 'get_user', 'DENY', 'INVALID_AGENT_ID', 'agents', 'servers'],
  ]);
});

for (const kind of ['http', 'sse', 'stdio', 'stateless http', 'stateless stdio']) {
  for (const [era, server] of [['handshake', handshakeServer], ['stateless', statelessServer]]) {
    test(`a client on ${kind} uses a ${era} server`, async (t) => {
      const up = await server('stdio', { name: 'db', tools: { echo: (args) => text(JSON.stringify(args)) } });
      const client = await start(t, { servers: { db: up }, agents: { a: ALL }, kind });
      assert.deepEqual(namesOf(await client.tools()), THREE);
      assert.deepEqual(namesOf(await list(client, { agent_id: 'a' })), ['db']);
      assert.deepEqual(namesOf((await tools(client, { agent_id: 'a', server: 'db' })).tools), ['echo']);
      assert.equal(textOf(await execute(client, 'db', 'echo', { a: 1 }, { agent_id: 'a' })), '{"a":1}');
      errorOf(await execute(client, 'db', 'echo', {}), 'INVALID_AGENT_ID', 'defaults.deny_on_missing_agent');
    });
  }
}

for (const [name, openClient] of Object.entries(SDKS)) {
  for (const [transport, startOn] of Object.entries(TRANSPORTS)) {
    test(`${name} works its way through three real servers on ${transport}`, async (t) => {
      const files = tempDir(t);
      const servers = { everything: everything(), files: filesystem(files), memory: memory(path.join(files, 'm.json')) };
      const agents = { clerk: { ...ALL, deny: { servers: ['memory'], tools: { files: ['*write*', 'edit_*', 'move_*'] } } } };
      const args = ['--rules', rulesFile(t, agents)];
      const session = await openClient(await startOn(t, { servers, mode: 'servers', args }), {});
      onEnd(t, () => session.close());
      const call = (tool, more = {}) => session.callTool(tool, { agent_id: 'clerk', ...more });
      assert.deepEqual(namesOf(await session.listTools()), THREE);
      assert.deepEqual(namesOf(valueOf(await call('list_servers'))), ['everything', 'files']);
      const found = valueOf(await call('get_server_tools', { server: 'files', pattern: '*file' }));
      assert.ok(namesOf(found.tools).includes('read_text_file') && !namesOf(found.tools).includes('write_file'));
      const echoed = await call('execute_tool', { server: 'everything', tool: 'echo', args: { message: 'hello' } });
      assert.match(echoed.content[0].text, /hello/);
      errorOf(await call('execute_tool', { server: 'files', tool: 'write_file', args: { path: 'x', content: '' } }),
        'DENIED_BY_POLICY', 'agents.clerk.deny.tools.files[0]');
      errorOf(await call('execute_tool', { server: 'memory', tool: 'read_graph', args: {} }),
        'DENIED_BY_POLICY', 'agents.clerk.deny.servers[0]');
    });
  }
}
