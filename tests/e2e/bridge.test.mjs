// SPDX-License-Identifier: Apache-2.0
// Requests of 2026-07-28, byte by byte: told apart from those of sessions one by one, checked against their headers,
// refused with the right code, status and id, and cancelled when their client goes away.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import {
  fetchRaw, Gateway, HttpClient, httpText, JSON_HEADERS, RpcError, startGateway, talk, wholeResponse, within,
} from './lib/raw.mjs';
import {
  cancelled, handshakeServer, HttpCaller, key, metaOf, mirrored, MODERN, SERVERS, statelessServer, StdioCaller, text,
} from './lib/stateless.mjs';

const headerSchema = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    level: { type: 'integer', 'x-mcp-header': 'Level' },
    urgent: { type: 'boolean', 'x-mcp-header': 'Urgent' },
    deep: { type: 'object', properties: { er: { type: 'string', 'x-mcp-header': 'Deeper' } } },
    free: { type: 'string' },
  },
};
const behaviour = (tag) => ({
  name: tag,
  tools: {
    [`${tag}_echo`]: (args) => text(JSON.stringify(args)),
    [`${tag}_hold`]: () => undefined,
    [`${tag}_grüße`]: () => text('hello'),
    [`${tag}_headers`]: { inputSchema: headerSchema, run: (args) => text(JSON.stringify(args)) },
    [`${tag}_log`]: async (args, { msg, peer, ctx }) => {
      // Where there are no sessions, a request says whether to log.
      if (tag.startsWith('new') && !msg.params._meta[key('logLevel')]) return text('silent');
      for (const level of ['debug', 'info', 'error'])
        await peer.notify('notifications/message', { level, data: `${tag} ${level}` }, ctx);
      return text('logged');
    },
  },
  resources: [`test://${tag}/a b/ü`],
  prompts: { [`${tag}_prompt`]: () => ({ messages: [{ role: 'user', content: { type: 'text', text: tag } }] }) },
});

const ups = {};
let gateway;
let caller;
before(async () => {
  for (const kind of ['http', 'stdio']) {
    ups[`old_${kind}`] = await handshakeServer(kind, behaviour(`old_${kind}`));
    ups[`new_${kind}`] = await statelessServer(kind, behaviour(`new_${kind}`));
  }
  gateway = new Gateway({ servers: ups });
  gateway.url = await within(gateway.listening.promise, 'listening line');
  caller = new HttpCaller(gateway.url);
  const { result } = await caller.send('tools/list');
  assert.equal(result.tools.length, 20);
});
after(async () => {
  caller?.close();
  try {
    assert.equal((await gateway?.stop())?.code, 0);
  } finally {
    for (const up of Object.values(ups)) up.close();
  }
});

const tags = ['old_http', 'old_stdio', 'new_http', 'new_stdio'];
const said = ({ result }) => result.content[0].text;
/** Refused with that code and status, under the id that the request had. */
function assertRefused(answer, code, status, id) {
  assert.equal(answer.error?.code, code, JSON.stringify(answer));
  assert.equal(answer.status, status);
  assert.ok(answer.error.message.length > 5);
  if (id !== undefined) assert.strictEqual(answer.msg.id, id);
}

describe('eras', () => {
  test('requests of both eras share an endpoint and a connection, each told by itself', async () => {
    const old = new HttpClient(gateway.url, { maxSockets: 1 });
    const both = new HttpCaller(gateway.url);
    both.agent = old.agent;
    await old.initialize();
    for (const tag of tags) {
      assert.equal((await old.call(`${tag}_echo`, { a: 1 })).content[0].text, '{"a":1}');
      assert.equal(said(await both.call(`${tag}_echo`, { b: 2 })), '{"b":2}');
    }
    const { result } = await both.call('old_http_echo');
    assert.equal(result.resultType, 'complete');
    assert.equal(result._meta[key('serverInfo')].name, 'toolgate');
    const plain = await old.call('new_http_echo');
    assert.deepEqual(Object.keys(plain), ['content']);
    await old.close();
  });

  test('a stateless request that carries the id of a session has nothing to do with it', async () => {
    const old = new HttpClient(gateway.url);
    await old.initialize();
    const headers = { 'mcp-session-id': old.session, 'last-event-id': '0-1' };
    const exchange = caller.start('tools/call', { name: 'old_http_echo', arguments: {} }, { headers });
    assert.equal(said(await exchange.answer()), '{}');
    assert.equal(exchange.headers['mcp-session-id'], undefined);
    assert.equal(said(await caller.call('old_http_echo', {}, {}, { headers: { 'mcp-session-id': 'none' } })), '{}');
    await old.close();
  });

  test('both eras on one pipe are told apart request by request', async (t) => {
    const up = await handshakeServer('stdio', behaviour('old'));
    const child = await startGateway(t, { servers: { up }, transport: 'stdio' });
    const client = new StdioCaller(child);
    assert.equal(said(await client.call('old_echo', { a: 1 })), '{"a":1}');
    await client.initialize();
    assert.deepEqual(await client.ask('tools/call', { name: 'old_echo', arguments: { b: 2 } }), text('{"b":2}'));
    assert.equal((await client.call('old_echo', { c: 3 })).result.resultType, 'complete');
    assert.equal((await client.request('ping')).result !== undefined, true);
    assert.equal((await client.send('ping')).error.code, -32601);
  });

  test('server/discover says what is spoken and offered', async () => {
    const { status, result } = await caller.send('server/discover');
    assert.equal(status, 200);
    assert.deepEqual(result.supportedVersions, [MODERN]);
    assert.equal(result.resultType, 'complete');
    assert.equal(result.cacheScope, 'private');
    assert.equal(typeof result.ttlMs, 'number');
    for (const name of ['tools', 'resources', 'prompts', 'logging']) assert.ok(result.capabilities[name], name);
    assert.equal(result.capabilities.tasks, undefined);
  });

  test('without a claim server/discover is a method that sessions do not have', async () => {
    const old = new HttpClient(gateway.url);
    await old.initialize();
    assert.equal((await old.request('server/discover', {})).error.code, -32601);
    await old.close();
  });

  test('lists and reads say for how long and for whom they may be kept', async () => {
    for (const [method, list] of [['tools/list', 'tools'], ['resources/list', 'resources'], ['prompts/list', 'prompts'],
      ['resources/templates/list', 'resourceTemplates']]) {
      const { result } = await caller.send(method);
      assert.ok(Array.isArray(result[list]));
      assert.equal(result.resultType, 'complete');
      assert.ok(Number.isInteger(result.ttlMs) && result.ttlMs >= 0, method);
      assert.ok(['public', 'private'].includes(result.cacheScope), method);
    }
    for (const tag of tags) {
      const uri = `test://${tag}/a b/ü`;
      const name = `=?base64?${Buffer.from(uri).toString('base64')}?=`;
      const { result } = await caller.send('resources/read', { uri }, { headers: { 'mcp-name': name } });
      assert.equal(result.contents[0].text, `contents of ${uri}`);
      assert.ok(Number.isInteger(result.ttlMs) && ['public', 'private'].includes(result.cacheScope));
    }
  });
});

describe('headers', () => {
  const echo = { name: 'old_http_echo', arguments: {} };
  const callText = (params) =>
    JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { ...params, _meta: metaOf({}) } });
  const refused = async (headers, id = 'x') =>
    assertRefused(await caller.send('tools/call', echo, { headers, id }), -32020, 400, id);

  test('a header that is missing is a mismatch', async () => {
    for (const name of ['mcp-protocol-version', 'mcp-method', 'mcp-name']) await refused({ [name]: undefined });
  });

  test('a header that says something else than the body is a mismatch', async () => {
    await refused({ 'mcp-protocol-version': '2025-11-25' });
    await refused({ 'mcp-protocol-version': 'x' });
    for (const value of ['tools/list', 'TOOLS/CALL', 'tools/call2', '']) await refused({ 'mcp-method': value });
    for (const value of ['old_http_hold', 'Old_http_echo', 'old_http_echo,x', '']) await refused({ 'mcp-name': value });
  });

  test('a header given twice is refused, even when both say the same', async () => {
    const body = callText(echo);
    const one = { ...JSON_HEADERS, ...mirrored('tools/call', echo) };
    for (const name of ['Mcp-Protocol-Version', 'Mcp-Method', 'Mcp-Name']) {
      const bytes = httpText('POST /mcp', { ...one, [name]: one[name.toLowerCase()] }, body);
      const { status, text: answer } = await talk(gateway.port, bytes, { enough: wholeResponse });
      assert.equal(status, 400, name);
      assert.doesNotMatch(answer, /"result"/, name);
    }
  });

  test('names of headers have no case, and blanks around values do not count', async () => {
    const body = callText(echo);
    const headers = {
      ...JSON_HEADERS,
      'MCP-PROTOCOL-VERSION': `  ${MODERN}\t`,
      'mCP-mETHOD': ' tools/call ',
      'MCP-NAME': '\told_http_echo ',
    };
    const { status } = await talk(gateway.port, httpText('POST /mcp', headers, body), { enough: wholeResponse });
    assert.equal(status, 200);
  });

  test('Mcp-Name repeats what the method names: tool, prompt, resource, task', async () => {
    const uri = 'test://old_http/a b/ü';
    const base64 = (value) => `=?base64?${Buffer.from(value).toString('base64')}?=`;
    const cases = [
      ['tools/call', { name: 'old_http_echo' }, 'old_http_echo', 200],
      ['prompts/get', { name: 'old_http_prompt' }, 'old_http_prompt', 200],
      ['resources/read', { uri }, base64(uri), 200],
    ];
    for (const [method, params, name, status] of cases) {
      const send = (value) => caller.send(method, params, { headers: { 'mcp-name': value } });
      assert.equal((await send(name)).status, status, method);
      assertRefused(await send(undefined), -32020, 400);
      assertRefused(await send('other'), -32020, 400);
    }
    const capabilities = { extensions: { [key('tasks')]: {} } };
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const send = (headers) => caller.send(method, { taskId: 'none' }, { headers, meta: { capabilities } });
      assertRefused(await send({ 'mcp-name': 'other' }), -32020, 400);
      assertRefused(await send({ 'mcp-name': undefined }), -32020, 400);
      assertRefused(await send({}), -32602, 200);
    }
    // No other method has one; what comes anyway does not matter.
    assert.equal((await caller.send('tools/list', {}, { headers: { 'mcp-name': 'x' } })).status, 200);
  });

  test('a value in base64 is compared with what it says', async () => {
    const { tools } = (await caller.send('tools/list')).result;
    const shown = tools.find((tool) => tool.name.startsWith('old_http_gr')).name;
    const send = (value, called = shown) =>
      caller.send('tools/call', { name: called, arguments: {} }, { headers: { 'mcp-name': value } });
    const coded = Buffer.from(shown).toString('base64');
    assert.equal((await send(`=?base64?${coded}?=`)).status, 200);
    const wrong = [
      `=?base64?${Buffer.from('other').toString('base64')}?=`, '=?base64?????=', `=?base64?${coded.slice(0, -1)}?=`,
      `=?base64?${coded}`, `=?BASE64?${coded}?=`, '=?base64?/////w==?=', '=?base64??=', coded,
    ];
    for (const value of wrong) assertRefused(await send(value), -32020, 400);
  });

  for (const tag of tags) {
    test(`Mcp-Param headers repeat the arguments that a tool of ${tag} says`, async () => {
      const name = `${tag}_headers`;
      const send = (args, headers) => caller.send('tools/call', { name, arguments: args }, { headers });
      const full = { region: 'eu west', level: -7, urgent: false, deep: { er: 'grün' }, free: 'x' };
      const right = {
        'mcp-param-region': 'eu west', 'mcp-param-level': '-7', 'mcp-param-urgent': 'false',
        'mcp-param-deeper': `=?base64?${Buffer.from('grün').toString('base64')}?=`,
      };
      assert.equal(said(await send(full, right)), JSON.stringify(full));
      assert.equal(said(await send({}, {})), '{}', 'nothing to repeat');
      assert.equal(said(await send({ region: null }, {})), '{"region":null}', 'null is not repeated');
      assert.equal(said(await send({}, { 'mcp-param-unknown': 'x' })), '{}', 'unknown ones do not matter');
      for (const header of Object.keys(right)) {
        assertRefused(await send(full, { ...right, [header]: undefined }), -32020, 400);
        assertRefused(await send(full, { ...right, [header]: 'else' }), -32020, 400);
      }
      const differ = [
        [{ level: 1 }, { 'mcp-param-level': '01' }], [{ level: 1 }, { 'mcp-param-level': '1.0' }],
        [{ urgent: true }, { 'mcp-param-urgent': 'True' }], [{ urgent: true }, { 'mcp-param-urgent': '1' }],
        [{ region: 'a' }, { 'mcp-param-region': 'A' }], [{ region: 'a' }, { 'mcp-param-region': '=?base64?!?=' }],
        [{ deep: {} }, { 'mcp-param-deeper': 'x' }], [{}, { 'mcp-param-region': 'x' }],
      ];
      for (const [args, headers] of differ) assertRefused(await send(args, headers), -32020, 400);
    });
  }

  test('an Mcp-Param header given twice is a mismatch', async () => {
    const params = { name: 'new_http_headers', arguments: { region: 'a' } };
    const body = callText(params);
    const twice = { 'Mcp-Param-Region': 'a', 'mcp-param-region': 'a' };
    const bytes = httpText('POST /mcp', { ...JSON_HEADERS, ...mirrored('tools/call', params), ...twice }, body);
    const { status, text: answer } = await talk(gateway.port, bytes, { enough: wholeResponse });
    assert.equal(status, 400);
    assert.match(answer, /-32020/);
  });

  test('a stateless server on HTTP gets the headers of its tool, whoever calls', async () => {
    const old = new HttpClient(gateway.url);
    await old.initialize();
    const args = { region: ' blank', level: 3, urgent: true, deep: { er: '=?base64?x?=' } };
    await old.call('new_http_headers', args);
    const { headers } = ups.new_http.requests.at(-1);
    const base64 = (value) => `=?base64?${Buffer.from(value).toString('base64')}?=`;
    assert.equal(headers['mcp-param-region'], base64(' blank'));
    assert.equal(headers['mcp-param-level'], '3');
    assert.equal(headers['mcp-param-urgent'], 'true');
    assert.equal(headers['mcp-param-deeper'], base64('=?base64?x?='));
    assert.equal(headers['mcp-name'], 'new_http_headers');
    assert.equal(headers['mcp-method'], 'tools/call');
    assert.equal(headers['mcp-protocol-version'], MODERN);
    assert.equal(headers['mcp-session-id'], undefined);
    await old.close();
  });
});

describe('refusals', () => {
  const ids = [0, -1, 9007199254740993n, 'x', '', '1', '"\\ü\u2028'];
  const json = (id) => (typeof id === 'bigint' ? String(id) : JSON.stringify(id));
  const raw = (id, method, params, headers = {}) =>
    caller.post(`{"jsonrpc":"2.0","id":${json(id)},"method":"${method}","params":${JSON.stringify(params)}}`,
      { ...mirrored(method, params), ...headers }).answer();

  test('an id comes back with its type, in every kind of answer', async () => {
    for (const id of ids) {
      const name = 'old_http_echo';
      const answers = [
        await raw(id, 'tools/call', { name, _meta: metaOf({}) }),
        await raw(id, 'tools/call', { name, _meta: metaOf({}) }, { 'mcp-name': 'other' }),
        await raw(id, 'tools/call', { name: 'none', _meta: metaOf({}) }),
        await raw(id, 'tools/call', { name, _meta: {} }),
        await raw(id, 'ping', { _meta: metaOf({}) }),
        await raw(id, 'tools/list', { _meta: metaOf({ version: '2099' }) }, { 'mcp-protocol-version': '2099' }),
      ];
      const codes = [undefined, -32020, -32602, -32602, -32601, -32022];
      const statuses = [200, 400, 200, 400, 404, 400];
      for (const [i, answer] of answers.entries()) {
        assert.ok(answer.raw.includes(`"id":${json(id)},`), answer.raw);
        assert.equal(answer.error?.code, codes[i], answer.raw);
        assert.equal(answer.status, statuses[i], answer.raw);
      }
    }
  });

  test('an id that is none is refused, and not repeated', async () => {
    for (const id of ['null', 'true', '[1]', '{}']) {
      const params = JSON.stringify({ _meta: metaOf({}) });
      const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/list","params":${params}}`;
      const answer = await caller.post(body, mirrored('tools/list')).answer();
      assertRefused(answer, -32600, 400, null);
    }
  });

  test('what this revision no longer has, or nobody has, is 404', async () => {
    const methods = [
      'initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe', 'tasks/list',
      'tasks/result', 'no/such', 'tools/none', 'sampling/createMessage', 'elicitation/create', 'roots/list',
    ];
    for (const method of methods)
      assertRefused(await caller.send(method, { uri: 'test://old_http/a', level: 'info', taskId: 'x' }), -32601, 404);
  });

  test('_meta without what it needs is invalid', async () => {
    const metas = {
      'no _meta': undefined,
      'an empty one': {},
      'no version': { ...metaOf({}), [key('protocolVersion')]: undefined },
      'a version that is no string': { ...metaOf({}), [key('protocolVersion')]: 20260728 },
      'no capabilities': { ...metaOf({}), [key('clientCapabilities')]: undefined },
      'capabilities that are no object': { ...metaOf({}), [key('clientCapabilities')]: [] },
      'null for capabilities': { ...metaOf({}), [key('clientCapabilities')]: null },
      'a client that is no object': { ...metaOf({}), [key('clientInfo')]: 'me' },
      'a level that is none': { ...metaOf({}), [key('logLevel')]: 'loud' },
      'a level that is no string': { ...metaOf({}), [key('logLevel')]: 3 },
    };
    for (const [what, _meta] of Object.entries(metas)) {
      const answer = await raw(1, 'tools/list', { ...(_meta && { _meta }) });
      assert.equal(answer.error?.code, -32602, `${what}: ${answer.raw}`);
      assert.equal(answer.status, 400, what);
    }
    const { status } = await raw(1, 'tools/list', { _meta: { ...metaOf({}), [key('clientInfo')]: undefined } });
    assert.equal(status, 200, 'nobody has to say who it is');
  });

  test('a revision that is not spoken, or has sessions, is refused with what is', async () => {
    for (const version of ['2099-01-01', '2025-11-25', '2024-11-05', 'x', '', 'ü'.repeat(500)]) {
      const plain = /^[\x21-\x7e]+$/.test(version);
      const coded = plain ? version : `=?base64?${Buffer.from(version).toString('base64')}?=`;
      const answer = await raw(1, 'tools/list', { _meta: metaOf({ version }) }, { 'mcp-protocol-version': coded });
      assertRefused(answer, -32022, 400, 1);
      assert.deepEqual(answer.error.data.supported, [MODERN]);
      if (version.length < 60) assert.equal(answer.error.data.requested, version);
    }
  });

  test('the header alone makes a claim that the body has to confirm', async () => {
    assertRefused(await raw(1, 'tools/list', {}), -32602, 400, 1);
    const params = { protocolVersion: MODERN, capabilities: {}, clientInfo: { name: 'x', version: '1' } };
    assertRefused(await raw(1, 'initialize', params), -32602, 400, 1);
  });

  test('an initialize that asks for this revision gets the latest that has a handshake', async () => {
    const old = new HttpClient(gateway.url, { rev: MODERN });
    assert.equal((await old.initialize()).protocolVersion, '2025-11-25');
    await old.close();
  });

  test('a resource that nobody has, or its server has not, is −32602 with its URI', async () => {
    const absent = ['nowhere://at/all', ...tags.map((tag) => `test://${tag}/none`)];
    for (const uri of absent) {
      const answer = await caller.send('resources/read', { uri });
      assertRefused(answer, -32602, 200);
      assert.equal(answer.error.data.uri, uri);
    }
    const old = new HttpClient(gateway.url);
    await old.initialize();
    for (const uri of absent) assert.equal((await old.request('resources/read', { uri })).error.code, -32002, uri);
    await old.close();
  });

  test('a member given twice is refused, wherever it is', async () => {
    const meta = JSON.stringify(metaOf({})).slice(1, -1);
    const escaped = '"io.modelcontextprotocol\\u002fprotocolVersion":"x"';
    const method = '"method":"tools/list"';
    const twice = [
      `${method},"params":{"_meta":{${meta},${meta}}}`,
      `${method},"params":{"_meta":{${meta}},"_meta":{${meta}}}`,
      `${method},"params":{"_meta":{${meta},${escaped}}}`,
      `${method},${method},"params":{"_meta":{${meta}}}`,
    ];
    for (const members of twice) {
      const exchange = caller.post(`{"jsonrpc":"2.0","id":1,${members}}`, mirrored('tools/list'));
      assertRefused(await exchange.answer(), -32700, 400, null);
    }
  });

  test('a notification is taken and forgotten', async () => {
    const calls = Object.values(ups).map((up) => up.calls);
    for (const method of ['notifications/cancelled', 'notifications/initialized', 'notifications/x', 'tools/call'])
      for (const params of [{ _meta: metaOf({}) }, {}, { requestId: 1, _meta: metaOf({}) }]) {
        const body = JSON.stringify({ jsonrpc: '2.0', method, params });
        const { status, raw: answer } = await caller.post(body, mirrored(method)).answer();
        assert.equal(status, 202, method);
        assert.equal(answer, undefined);
      }
    assert.deepEqual(Object.values(ups).map((up) => up.calls), calls);
  });

  test('a response, a batch, and what is no message are refused', async () => {
    const request = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: metaOf({}) } };
    const bodies = [
      { jsonrpc: '2.0', id: 1, result: {} }, { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'x' } },
      [request], [], [request, request], 'text', 17, null, {},
      { ...request, jsonrpc: '1.0' }, { ...request, jsonrpc: undefined },
      { ...request, method: 5 },
    ];
    for (const body of bodies) {
      const answer = await caller.post(JSON.stringify(body), mirrored('tools/list')).answer();
      assert.equal(answer.status, 400, JSON.stringify(body));
      assert.equal(answer.error?.code, -32600, `${JSON.stringify(body)}: ${answer.raw}`);
    }
    assertRefused(await caller.post('{"jsonrpc":', mirrored('tools/list')).answer(), -32700, 400, null);
  });

  test('GET and DELETE do not exist in this revision', async () => {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const headers = { 'mcp-protocol-version': MODERN, accept: 'text/event-stream' };
      const { status, headers: said405 } = await fetchRaw(caller.url, { method, headers });
      assert.equal(status, 405, method);
      assert.equal(said405.allow, 'POST');
    }
  });

  test('capabilities may be large, and too large is refused', async () => {
    const capabilities = (n) => ({ experimental: { x: { text: 'y'.repeat(n) } }, elicitation: {} });
    const send = (n) => caller.call('new_http_echo', {}, {}, { meta: { capabilities: capabilities(n) } });
    assert.equal((await send(60_000)).status, 200);
    assertRefused(await send(70_000), -32602, 400);
    const told = await caller.call('old_stdio_echo', {}, {}, { meta: { capabilities: capabilities(60_000) } });
    assert.equal(told.status, 200);
    const deep = JSON.parse(`${'{"a":'.repeat(60)}{}${'}'.repeat(60)}`);
    const meta = { capabilities: { experimental: deep } };
    assert.equal((await caller.call('old_http_echo', {}, {}, { meta })).status, 200);
  });

  test('what a server needs of its client and the client has not declared is −32021', async (t) => {
    const needs = () => {
      throw new RpcError(-32021, 'needs sampling', { requiredCapabilities: { sampling: {} } });
    };
    for (const kind of ['http', 'stdio']) {
      const up = await statelessServer(kind, { tools: { needs } });
      const other = await startGateway(t, { servers: { up } });
      const answer = await new HttpCaller(other.url).call('needs');
      assertRefused(answer, -32021, 400);
      assert.deepEqual(answer.error.data.requiredCapabilities, { sampling: {} });
    }
  });
});

describe('cancelling', () => {
  for (const tag of tags) {
    test(`closing the stream of a call cancels it at ${tag}`, async () => {
      const exchange = caller.start('tools/call', { name: `${tag}_hold`, arguments: { n: 1 } });
      exchange.answer().catch(() => {});
      const call = await ups[tag].next((e) => e.msg?.params?.name === `${tag}_hold`);
      exchange.close();
      await cancelled(ups[tag], call);
    });

    test(`on stdio the notification cancels a call at ${tag}, by the type of its id too`, async (t) => {
      const up = await SERVERS[tag.startsWith('old') ? 'handshake' : 'stateless'](tag.slice(4), behaviour(tag));
      const child = await startGateway(t, { servers: { up }, transport: 'stdio' });
      const client = new StdioCaller(child);
      const held = client.send('tools/call', { name: `${tag}_hold`, arguments: {} }, { id: '5' });
      held.catch(() => {});
      const call = await up.next((e) => e.msg?.params?.name === `${tag}_hold`);
      await client.notify('notifications/cancelled', { requestId: 5 });
      assert.equal((await client.call(`${tag}_echo`)).error, undefined);
      assert.ok(!up.inbox.has((e) => e.msg?.method === 'notifications/cancelled' || e.closed), 'not by the number 5');
      await client.notify('notifications/cancelled', { requestId: '5', _meta: metaOf({}) });
      await cancelled(up, call);
    });
  }
});

describe('log messages', () => {
  const levels = ({ notes }) => notes.filter((n) => n.method === 'notifications/message').map((n) => n.params.level);
  const log = (tag, level) => caller.call(`${tag}_log`, {}, {}, { meta: { level } });

  for (const tag of tags) {
    test(`a call at ${tag} hears what its logLevel says, and nothing without it`, async () => {
      assert.deepEqual(levels(await log(tag)), []);
      assert.deepEqual(levels(await log(tag, 'debug')), ['debug', 'info', 'error']);
      assert.deepEqual(levels(await log(tag, 'error')), ['error']);
      assert.deepEqual(levels(await log(tag, 'emergency')), []);
    });

    test(`what a call at ${tag} logs is heard on its own stream and no other`, async () => {
      const params = { name: `${tag}_hold`, arguments: { n: 2 } };
      const held = caller.start('tools/call', params, { meta: { level: 'debug' } });
      held.answer().catch(() => {});
      await ups[tag].next((e) => e.msg?.params?.arguments?.n === 2);
      const [silent, heard] = await Promise.all([log(tag), log(tag, 'debug')]);
      assert.deepEqual(levels(silent), []);
      // A stateless server on a pipe does not say which call it is about: of two that want to hear it, none does.
      assert.deepEqual(levels(heard), tag === 'new_stdio' ? [] : ['debug', 'info', 'error']);
      assert.deepEqual(held.notes, []);
      held.close();
    });
  }

  for (const kind of ['http', 'stdio']) {
    test(`on stdio a log message of a server on ${kind} that comes when no call is under way is nobody's`, async (t) => {
      const up = await handshakeServer(kind, behaviour('up'));
      const client = new StdioCaller(await startGateway(t, { servers: { up }, transport: 'stdio' }));
      await client.call('up_log', {}, {}, { meta: { level: 'debug' } });
      assert.equal(client.inbox.entries.length, 3);
      await up.broadcast('notifications/message', { level: 'error', data: 'by itself' });
      // An answer shows that what was said before has been read.
      await Promise.all(up.connections.map((c) => c.request('ping')));
      await client.call('up_echo');
      assert.equal(client.inbox.entries.length, 3);
    });
  }
});
