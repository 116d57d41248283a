// SPDX-License-Identifier: Apache-2.0
// The HTTP endpoint byte by byte: what it takes, what it refuses, and that what it forwards is what it read.
import assert from 'node:assert/strict';
import net from 'node:net';
import { after, before, test } from 'node:test';

import {
  fetchRaw, Gateway, HttpClient, httpText, JSON_HEADERS, LATEST, Raw, requestText, REVISIONS, spanOf, SseClient,
  startGateway, StdioClient, talk, wholeResponse, within,
} from './lib/raw.mjs';
import { makeUpstream } from './servers/features.mjs';

const ups = {};
let gateway;
let client;

before(async () => {
  for (const transport of ['stdio', 'http', 'sse']) ups[transport] = await makeUpstream(transport, transport);
  gateway = new Gateway({ servers: ups, config: { limits: { request: 1024 * 1024 } } });
  gateway.url = await within(gateway.listening.promise, 'listening line');
  client = new HttpClient(gateway.url);
  await client.initialize();
  await client.tools(); // waits for the servers
});

after(async () => {
  await client?.close();
  try {
    assert.equal((await gateway?.stop())?.code, 0);
  } finally {
    for (const up of Object.values(ups)) up.close();
  }
});

// One POST; the answer is in `text`, whether it came as JSON or as the last event of a stream.
async function post(body, headers = {}) {
  const length = { 'content-length': Buffer.byteLength(body) };
  const r = await fetchRaw(client.url, {
    method: 'POST',
    headers: { ...client.headers(), ...length, ...headers },
    body,
  });
  if (r.streaming) {
    await within(r.ended, 'the end of the stream');
    r.text = r.events.findLast((e) => e.data)?.data ?? '';
  }
  return r;
}
const ping = (rawId = '1') => requestText(rawId, 'ping');

// ---- Streamable HTTP

test('/healthz answers', async () => {
  assert.equal((await fetchRaw(`${gateway.url}/healthz`)).status, 200);
});

test('/mcp/direct is the same as /mcp', async () => {
  const other = new HttpClient(gateway.url, { path: '/mcp/direct' });
  await other.initialize();
  assert.ok((await other.tools()).length > 20);
  await other.close();
});

test('an unknown revision is answered with the latest one known', async () => {
  for (const rev of ['1999-01-01', '2099-01-01', 'x']) {
    const other = new HttpClient(gateway.url, { rev });
    const params = { protocolVersion: rev, capabilities: {}, clientInfo: { name: 'n', version: '1' } };
    assert.equal((await other.ask('initialize', params)).protocolVersion, LATEST);
    await other.close();
  }
});

test('sessions: id given, needed, checked, ended', async () => {
  const other = new HttpClient(gateway.url);
  await other.initialize();
  assert.match(other.session, /^[\x21-\x7e]{16,}$/);
  assert.equal((await post(ping(), { 'mcp-session-id': other.session })).status, 200);
  assert.equal(
    (await fetchRaw(client.url, { method: 'POST', headers: JSON_HEADERS, body: ping() })).status,
    400,
    'no session',
  );
  assert.equal((await post(ping(), { 'mcp-session-id': 'unknown' })).status, 404);
  assert.equal((await post(ping(), { 'mcp-session-id': other.session.slice(0, -1) })).status, 404);
  assert.match(String((await other.delete()).status), /^20[04]$/);
  assert.equal((await post(ping(), { 'mcp-session-id': other.session })).status, 404);
  assert.equal((await other.delete()).status, 404);
});

test('notifications and answers get 202 without a body', async () => {
  for (const body of ['{"jsonrpc":"2.0","method":"notifications/x"}', '{"jsonrpc":"2.0","id":99,"result":{}}']) {
    const r = await post(body);
    assert.deepEqual([r.status, r.text], [202, '']);
  }
});

test('unacceptable requests are refused, each with its HTTP status', async () => {
  const cases = [
    [415, post(ping(), { 'content-type': 'text/plain' })],
    [415, post(ping(), { 'content-type': 'application/x-www-form-urlencoded' })],
    [400, post(ping(), { 'mcp-protocol-version': '1999-01-01' })],
    [406, post(ping(), { accept: 'text/html' })],
    [405, fetchRaw(client.url, { method: 'PUT', headers: client.headers() })],
    [404, fetchRaw(`${gateway.url}/nowhere`, { headers: client.headers() })],
    [404, fetchRaw(`${gateway.url}/mcp/`, { headers: client.headers() })],
    [404, fetchRaw(`${gateway.url}/mcp/../mcp%2f`, { headers: client.headers() })],
    [405, fetchRaw(`${gateway.url}/sse`, { method: 'POST', headers: client.headers() })],
    [405, fetchRaw(`${gateway.url}/messages`, { headers: client.headers() })],
    [406, fetchRaw(client.url, { headers: { ...client.headers(), accept: 'application/json' } })],
  ];
  for (const [i, [status, answer]] of cases.entries()) assert.equal((await answer).status, status, `case ${i}`);
});

test('an Accept that leaves it open is taken', async () => {
  for (const accept of [
    '*/*',
    'application/json, text/event-stream;q=0.5',
    'text/*, application/*',
    'Application/JSON,Text/Event-Stream',
  ]) {
    assert.equal((await post(ping(), { accept })).status, 200, accept);
  }
});

test('initialize in a session that has one already is refused', async () => {
  const r = await post(
    requestText('1', 'initialize', {
      protocolVersion: LATEST,
      capabilities: {},
      clientInfo: { name: 'n', version: '1' },
    }),
  );
  assert.ok(r.status === 400 || JSON.parse(r.text).error?.code === -32600, `${r.status} ${r.text}`);
});

test('a body over the limit gives 413 and is not read to its end', async () => {
  const head = httpText('POST /mcp', { ...JSON_HEADERS, 'content-length': 64 * 1024 * 1024 });
  const r = await talk(gateway.port, head, { enough: wholeResponse });
  assert.equal(r.status, 413);
  assert.equal(
    (await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', params: { pad: 'x'.repeat(900_000) } })))
      .status,
    200,
  );
});

// ---- batches

const batch = (...items) => `[${items.join(',')}]`;

test('a client of 2025-03-26 may send batches', async () => {
  const old = new HttpClient(gateway.url, { rev: '2025-03-26' });
  await old.initialize();
  const call = requestText('"b"', 'tools/call', { name: 'stdio_echo', arguments: { a: 1 } });
  const r = await old.post(
    batch(ping('"a"'), '{"jsonrpc":"2.0","method":"notifications/x"}', call, requestText('"c"', 'no/such')),
  );
  assert.equal(r.status, 200);
  const got = {};
  for (let i = 0; i < 3; i++) {
    const { msg } = await old.next((e) => e.msg && e.msg.method === undefined, 'an answer of the batch');
    got[msg.id] = msg;
  }
  assert.deepEqual(got.a.result, {});
  assert.deepEqual(got.b.result.structuredContent.got, { a: 1 });
  assert.equal(got.c.error.code, -32601);
  assert.equal((await old.post(batch('{"jsonrpc":"2.0","method":"notifications/x"}'))).status, 202);
  assert.equal((await old.post('[]')).status, 400);
  await old.close();
});

test('initialize is never part of a batch', async () => {
  const body = batch(
    requestText('1', 'initialize', {
      protocolVersion: '2025-03-26',
      capabilities: {},
      clientInfo: { name: 'n', version: '1' },
    }),
  );
  const r = await fetchRaw(client.url, { method: 'POST', headers: JSON_HEADERS, body });
  assert.equal(r.status, 400);
});

test('a client of 2025-06-18 or later may not', async () => {
  for (const rev of REVISIONS.filter((r) => r >= '2025-06-18')) {
    const other = new HttpClient(gateway.url, { rev });
    await other.initialize();
    const r = await other.post(batch(ping(), ping('2')));
    assert.equal(r.status, 400);
    assert.equal(JSON.parse(r.text).error.code, -32600);
    await other.close();
  }
});

// ---- ids

const GOOD_IDS = [
  '0',
  '-1',
  '-0',
  '1',
  '"1"',
  '""',
  '9007199254740993',
  '12345678901234567890123',
  '-170141183460469231731687303715884105728',
  '"a\\u0062\\"\\\\\\/\\ud83d\\ude00\\n"',
  '"é 😀"',
  '"{\\"id\\":1}"',
  `"${'x'.repeat(500)}"`,
];

test('ids come back byte for byte', async () => {
  for (const rawId of GOOD_IDS) {
    for (const body of [
      ping(rawId),
      requestText(rawId, 'tools/call', { name: 'stdio_echo', arguments: {} }),
      requestText(rawId, 'no/such/method'),
      requestText(rawId, 'tools/call', { name: 'stdio_fail', arguments: {} }),
    ]) {
      const r = await post(body);
      assert.equal(r.status, 200, `${body}: ${r.text}`);
      assert.equal(spanOf(r.text, ['id']), rawId, r.text);
    }
  }
});

test('ids of a client never reach a server', async () => {
  ups.stdio.inbox.entries = [];
  await post(requestText('"mine alone"', 'tools/call', { name: 'stdio_echo', arguments: {} }));
  const { raw } = await ups.stdio.next('tools/call');
  assert.ok(!raw.includes('mine alone'));
});

test('what is no id, or no message, is refused', async () => {
  const bodies = ['null', 'true', '{}', '[1]', '{"a":1}']
    .map((id) => ping(id))
    .concat([
      '{}',
      '1',
      '"x"',
      'null',
      '{"jsonrpc":"1.0","id":1,"method":"ping"}',
      '{"id":1,"method":"ping"}',
      '{"jsonrpc":"2.0","id":1}',
      '{"jsonrpc":"2.0","id":1,"method":7}',
      '{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}',
      '{"JSONRPC":"2.0","ID":1,"METHOD":"ping"}',
      '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}',
    ]);
  for (const body of bodies) {
    const r = await post(body);
    const code = r.text ? JSON.parse(r.text).error?.code : undefined;
    assert.ok(r.status === 400 || (r.status === 200 && code === -32600), `${body}: ${r.status} ${r.text}`);
    assert.equal(code, -32600, `${body}: ${r.text}`);
  }
});

// ---- JSON

const NOT_JSON = [
  ['nothing', ''],
  ['half', '{"jsonrpc":"2.0","id":1,'],
  ['bytes behind', `${ping()}x`],
  ['two messages', `${ping()}\n${ping()}`],
  ['duplicate keys', '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}'],
  ['duplicate keys after unescaping', '{"jsonrpc":"2.0","id":1,"method":"ping","m\\u0065thod":"tools/call"}'],
  ['duplicate keys deep inside', '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[{"b":1,"b":2}]}}'],
  [
    'invalid UTF-8',
    Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":"'), Buffer.from([0xff]), Buffer.from('","method":"ping"}')]),
  ],
  [
    'overlong UTF-8',
    Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","id":"'),
      Buffer.from([0xc0, 0xaf]),
      Buffer.from('","method":"ping"}'),
    ]),
  ],
  [
    'a surrogate in UTF-8',
    Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","id":"'),
      Buffer.from([0xed, 0xa0, 0x80]),
      Buffer.from('","method":"ping"}'),
    ]),
  ],
  ['a lone surrogate escape', ping('"\\ud800"')],
  ['a raw control character', ping('"a\u0001"')],
  ['a raw tab in a string', ping('"\t"')],
  ['a number with a leading zero', ping('01')],
  ['a number that ends in a point', ping('1.')],
  ['NaN', ping('NaN')],
  ['a comment', `/**/${ping()}`],
  ['a trailing comma', '{"jsonrpc":"2.0","id":1,"method":"ping",}'],
  ['single quotes', "{'jsonrpc':'2.0'}"],
  ['a byte order mark', `\ufeff${ping()}`],
];
const TOO_DEEP = requestText('1', 'ping', new Raw(`{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`));

test('the error for a message that is nested too deeply has the id of the message', async () => {
  const r = await post(TOO_DEEP);
  assert.equal(r.status, 413, r.text);
  const { id, error } = JSON.parse(r.text);
  assert.deepEqual([id, error.code], [1, -32600]);
});

for (const [what, body] of NOT_JSON) {
  test(`refused as JSON: ${what}`, async () => {
    const r = await post(body);
    assert.equal(r.status, 400, r.text);
    assert.equal(JSON.parse(r.text).error.code, -32700);
  });
}

// Arguments whose value, and whose bytes, must survive.
const ODD = [
  '{"b":1,"a":2,"":3,"A":4}',
  '[1.0,1e400,-0,-0.0,1E5,0.10000000000000001,12345678901234567890123,9007199254740993]'.replace(/^/, '{"n":') + '}',
  '{"s":"\\u0061\\/\\u00e9\\ud83d\\ude00\\u0000\\b","é":"é😀\u2028"}',
  '{"t":{"u":{"v":[[],{},null,true,false,""]}}}',
  `{"long":"${'y'.repeat(100_000)}"}`,
  '{"__proto__":1,"constructor":{"prototype":2},"id":5,"method":"x","params":{},"progressToken":3}',
  '{}',
];

for (const transport of ['stdio', 'http', 'sse']) {
  test(`arguments and results pass byte for byte (${transport})`, async () => {
    const up = ups[transport];
    for (const args of ODD) {
      up.inbox.entries = [];
      const params = `{"arguments":${args},"name":"${transport}_echo","_meta":{"x":1.0},"extra":"\\u0041"}`;
      const r = await post(requestText('1', 'tools/call', new Raw(params)));
      const seen = await up.next('tools/call');
      assert.equal(spanOf(seen.raw, ['params', 'arguments']), args, 'at the server');
      assert.equal(spanOf(seen.raw, ['params', 'extra']), '"\\u0041"');
      assert.equal(spanOf(seen.raw, ['params', '_meta', 'x']), '1.0');
      assert.equal(spanOf(r.text, ['result', 'structuredContent', 'got']), args, 'and back');
    }
  });

  test(`white space between tokens does not break the framing (${transport})`, async () => {
    const up = ups[transport];
    up.inbox.entries = [];
    const args = { a: [1, { b: 'x\ny' }], c: null };
    const pretty = JSON.stringify(
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: `${transport}_echo`, arguments: args } },
      null,
      2,
    );
    for (const body of [pretty, pretty.replaceAll('\n', '\r\n'), `\n\t ${pretty} \r\n`]) {
      const r = await post(body);
      assert.deepEqual(JSON.parse(r.text).result?.structuredContent.got, args, r.text);
      const seen = await up.next('tools/call');
      assert.deepEqual(seen.msg.params.arguments, args);
    }
  });
}

test('a server that answers over several lines is understood by every client', async (t) => {
  const up = await makeUpstream('http', 'pretty');
  const result = { content: [{ type: 'text', text: 'a\nb' }], structuredContent: { deep: [1, 2, { x: null }] } };
  up.on('tools/call', () => new Raw(JSON.stringify(result, null, 2)));
  const own = await startGateway(t, { servers: { pretty: up } });
  const stdio = await startGateway(t, { servers: { pretty: up }, transport: 'stdio' });
  const clients = [
    await new HttpClient(own.url).connect(),
    await new SseClient(own.url).connect(),
    await new StdioClient(stdio).connect(),
  ];
  for (const c of clients) {
    await c.tools();
    assert.deepEqual(await c.call('pretty_echo'), result);
  }
  await clients[0].close();
  await clients[1].close();
});

test('on stdio, what is no message gets an error and the rest is served', async (t) => {
  const own = await startGateway(t, { servers: { up: await makeUpstream('stdio', 'up') }, transport: 'stdio' });
  const c = await new StdioClient(own).connect();
  await c.tools();
  const send = (bytes) => own.child.stdin.write(bytes);
  const refusal = async (code) => {
    const { msg } = await c.next((e) => e.msg?.error, 'an error');
    assert.equal(msg.error.code, code, JSON.stringify(msg));
  };
  for (const [what, body] of NOT_JSON.filter(([w]) => w !== 'nothing' && w !== 'two messages')) {
    send(body);
    send('\n');
    await refusal(-32700).catch((e) => assert.fail(`${what}: ${e.message}`));
  }
  send('\n\r\n   \n'); // blank lines are nothing
  send(`${ping('{}')}\n`);
  await refusal(-32600);
  send('{"jsonrpc":"2.0","id":1,"method":"ping"');
  send(',"params":{}}\r\n');
  await c.next((e) => e.msg?.id === 1 && e.msg.result, 'a line in two parts, with CRLF');
  assert.deepEqual((await c.call('up_echo', { x: 1 })).structuredContent.got, { x: 1 });
  assert.ok(!c.inbox.entries.some((e) => e.invalid), 'stdout holds nothing but messages');
});

// ---- HTTP framing

const head = (extra = '') =>
  'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
  `Accept: application/json, text/event-stream\r\nMcp-Session-Id: ${client.session}\r\n${extra}`;
// If this reaches the server, something was smuggled.
const trip = (id = '1') => requestText(id, 'tools/call', { name: 'http_echo', arguments: { trip: true } });
const whole = (extra = '', body = trip()) => `${head(extra)}Content-Length: ${body.length}\r\n\r\n${body}`;
const hex = (text) => text.length.toString(16);
const chunked = (extra = '', body = trip(), size = hex(body)) =>
  `${head(extra)}Transfer-Encoding: chunked\r\n\r\n${size}\r\n${body}\r\n0\r\n\r\n`;
const withLength = (lines, body = trip()) => `${head(lines.replaceAll('N', String(body.length)))}\r\n${body}`;

const ACCEPTED = {
  'a plain request': () => whole(),
  'a chunked request': () => chunked(),
  'a chunked request in two chunks': () =>
    `${head()}Transfer-Encoding: chunked\r\n\r\n2\r\n{"\r\n` +
    `${hex(trip().slice(2)).toUpperCase()}\r\n${trip().slice(2)}\r\n0\r\n\r\n`,
  'header names in any case': () => whole().replace('Content-Type', 'cOnTeNt-TyPe'),
  'blanks around a value': () => whole('X-Blank: \t x \t \r\n'),
  'Connection: close': () => whole('Connection: close\r\n'),
  'an empty header value': () => whole('X-Empty:\r\n'),
  'a query': () => whole().replace('/mcp', '/mcp?x=1'),
};

const REFUSED = {
  'Content-Length and Transfer-Encoding': () => chunked(`Content-Length: ${trip().length}\r\n`),
  'Transfer-Encoding and Content-Length': () =>
    `${head(`Transfer-Encoding: chunked\r\nContent-Length: 4\r\n`)}\r\n${hex(trip())}\r\n${trip()}\r\n0\r\n\r\n`,
  'two different lengths': () => withLength('Content-Length: N\r\nContent-Length: 5\r\n'),
  'the same length twice': () => withLength('Content-Length: N\r\nContent-Length: N\r\n'),
  'a list of lengths': () => withLength('Content-Length: N, N\r\n'),
  'a length with a plus': () => withLength('Content-Length: +N\r\n'),
  'a negative length': () => withLength('Content-Length: -N\r\n'),
  'a hexadecimal length': () => withLength('Content-Length: 0xN\r\n'),
  'a length with letters behind': () => withLength('Content-Length: Nabc\r\n'),
  'a length with a blank inside': () => withLength('Content-Length: N 0\r\n'),
  'an empty length': () => withLength('Content-Length: \r\n'),
  'a length beyond 64 bits': () => withLength('Content-Length: 18446744073709551617\r\n'),
  'a blank before the colon': () => withLength('Content-Length : N\r\n'),
  'a tab before the colon': () => withLength('Content-Length\t: N\r\n'),
  'transfer coding xchunked': () => chunked().replace('chunked', 'xchunked'),
  'transfer coding gzip, chunked': () => chunked().replace('chunked', 'gzip, chunked'),
  'transfer coding identity': () => chunked().replace('chunked', 'identity'),
  'transfer coding chunked, chunked': () => chunked().replace('chunked', 'chunked, chunked'),
  'transfer coding twice': () => chunked('Transfer-Encoding: chunked\r\n'),
  'transfer coding in quotes': () => chunked().replace(': chunked', ': "chunked"'),
  'transfer coding after a vertical tab': () => chunked().replace(': chunked', ': \vchunked'),
  'transfer coding in HTTP/1.0': () => chunked().replace('HTTP/1.1', 'HTTP/1.0'),
  'chunk size 0x': () => chunked('', trip(), `0x${hex(trip())}`),
  'chunk size with a plus': () => chunked('', trip(), `+${hex(trip())}`),
  'chunk size after a blank': () => chunked('', trip(), ` ${hex(trip())}`),
  'chunk size before a blank': () => chunked('', trip(), `${hex(trip())} `),
  'chunk size empty': () => chunked('', trip(), ''),
  'chunk size negative': () => chunked('', trip(), '-1'),
  'chunk size beyond 64 bits': () => chunked('', trip(), '10000000000000001'),
  'chunk size too small': () => chunked('', trip(), '5'),
  'chunk size line ended by LF': () => chunked().replace(/\r\n([0-9a-f]+)\r\n/, '\r\n$1\n'),
  'chunk data not followed by CRLF': () => chunked().replace('}\r\n0\r\n', '}XX0\r\n'),
  'chunk extension with a line feed': () => chunked('', trip(), `${hex(trip())};a\nb`),
  'lines ended by LF': () => whole().replaceAll('\r\n', '\n'),
  'one line ended by LF': () => whole('X-A: b\nX-C: d\r\n'),
  'lines ended by CR': () => whole('X-A: b\rX-C: d\r\n'),
  'a folded header': () => whole('X-A: b\r\n folded\r\n'),
  'a folded length': () => `${head()}Content-Length:\r\n ${trip().length}\r\n\r\n${trip()}`,
  'a blank first header line': () => whole().replace('\r\nHost', '\r\n Host'),
  'NUL in a value': () => whole('X-A: a\0b\r\n'),
  'a control character in a value': () => whole('X-A: a\x01b\r\n'),
  'NUL in a name': () => whole('X\0A: b\r\n'),
  'a header without a colon': () => whole('Nonsense\r\n'),
  'a header without a name': () => whole(': x\r\n'),
  'a name with brackets': () => whole('X(A): b\r\n'),
  'no Host': () => whole().replace('Host: localhost\r\n', ''),
  'two Host': () => whole('Host: localhost\r\n'),
  'two different Host': () => whole('Host: evil.example\r\n'),
  'a Host list': () => whole().replace('Host: localhost', 'Host: localhost, evil.example'),
  'a Host with user info': () => whole().replace('Host: localhost', 'Host: evil.example@localhost'),
  'an absolute target of another host': () => whole().replace('/mcp', 'http://evil.example/mcp'),
  'a target without a slash': () => whole().replace('/mcp', 'mcp'),
  CONNECT: () => whole().replace('POST /mcp', 'CONNECT localhost:80'),
  'HTTP/1.2 with LF': () => whole().replace('HTTP/1.1\r\n', 'HTTP/1.2\n'),
  'HTTP/2.0': () => whole().replace('HTTP/1.1', 'HTTP/2.0'),
  'HTTP/0.9': () => 'POST /mcp\r\n\r\n',
  'the preface of HTTP/2': () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a version in small letters': () => whole().replace('HTTP/1.1', 'http/1.1'),
  'two blanks in the request line': () => whole().replace('POST /mcp', 'POST  /mcp'),
  'a tab in the request line': () => whole().replace('POST /mcp', 'POST\t/mcp'),
  'a blank in the target': () => whole().replace('/mcp', '/mcp x'),
  'a method in small letters': () => whole().replace('POST', 'post'),
  'a header too long': () => whole(`X-Long: ${'x'.repeat(20_000)}\r\n`),
  'too many headers': () => whole(Array.from({ length: 500 }, (_, i) => `X-${i}: y\r\n`).join('')),
  'a target too long': () => whole().replace('/mcp', `/mcp?${'x'.repeat(20_000)}`),
  'TLS where there is none': () => Buffer.from('16030100c5010000c10303', 'hex').toString('latin1') + '\0'.repeat(64),
  'a form from a web page': () => whole().replace('application/json', 'text/plain'),
  'a body behind GET': () =>
    `GET /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${trip().length}\r\n\r\n${trip()}`,
  'a second request in a body that is too long': () => `${head()}Content-Length: 0\r\n\r\n${'G'}${whole()}`,
};

const trips = () => ups.http.counts.echo ?? 0;
const send = (bytes) => talk(gateway.port, Buffer.from(bytes, 'latin1'), { enough: wholeResponse, ms: 3000 });

for (const [what, make] of Object.entries(ACCEPTED)) {
  test(`taken: ${what}`, async () => {
    const before = trips();
    const r = await send(make());
    assert.equal(r.status, 200, r.text);
    assert.equal(trips(), before + 1);
  });
}

test(`malformed or ambiguous requests are refused and not forwarded: ${Object.keys(REFUSED).length} kinds`, async (t) => {
  for (const [what, make] of Object.entries(REFUSED)) {
    await t.test(what, async () => {
      const before = trips();
      const r = await send(make());
      assert.ok(
        r.status >= 400 || (r.status === 0 && r.end === 'closed'),
        `${r.end} ${JSON.stringify(r.text.slice(0, 300))}`,
      );
      assert.equal(trips(), before, 'a call was forwarded');
      assert.equal((await fetchRaw(`${gateway.url}/healthz`)).status, 200);
    });
  }
});

test('after a refused head the connection ends, and further bytes are not read as a request', async () => {
  const before = trips();
  const r = await talk(gateway.port, Buffer.from(REFUSED['two different lengths']() + whole(), 'latin1'), { ms: 5000 });
  assert.equal(r.end, 'closed');
  assert.equal(r.text.split('HTTP/1.1 ').length, 2, r.text);
  assert.equal(trips(), before);
});

test('pipelined requests are answered in their order', async () => {
  const slow = requestText('"slow"', 'tools/call', { name: 'http_delay', arguments: { ms: 100, nonce: 'n' } });
  const bytes = whole('', slow) + whole('', ping('"two"')) + whole('', ping('"three"'));
  const r = await talk(gateway.port, bytes, { enough: (text) => text.includes('"three"') });
  const order = ['"slow"', '"two"', '"three"'].map((id) => r.text.indexOf(`"id":${id}`));
  assert.ok(order.every((at) => at > 0) && order[0] < order[1] && order[1] < order[2], r.text);
});

test('Expect: 100-continue is answered before the body is sent', async () => {
  const body = ping();
  const r = await talk(gateway.port, `${head(`Expect: 100-continue\r\nContent-Length: ${body.length}\r\n`)}\r\n`, {
    enough: (x) => x.includes('\r\n\r\n'),
  });
  assert.equal(r.status, 100, r.text);
});

test('HTTP/1.0 gets an answer and the end of the connection', async () => {
  const r = await talk(gateway.port, 'GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n');
  assert.deepEqual([r.end, r.status], ['closed', 200]);
});

test('a request that comes byte by byte is read', async () => {
  const bytes = whole();
  const socket = net.connect(gateway.port, '127.0.0.1');
  socket.setNoDelay(true);
  const answer = new Promise((resolve) => {
    let text = '';
    socket.on('data', (c) => {
      text += c;
      if (wholeResponse(text)) resolve(text);
    });
  });
  for (const byte of bytes) await new Promise((resolve) => socket.write(byte, resolve));
  assert.match(await within(answer, 'an answer'), /^HTTP\/1\.1 200/);
  socket.destroy();
});

test('many incomplete requests do not lock out other clients', async () => {
  const sockets = Array.from({ length: 200 }, () => {
    const s = net.connect(gateway.port, '127.0.0.1');
    s.on('error', () => {});
    s.write('POST /mcp HTTP/1.1\r\nHost: local');
    return s;
  });
  assert.deepEqual(await client.ask('ping'), {});
  sockets.forEach((s) => s.destroy());
  assert.deepEqual(await client.ask('ping'), {});
});

test('headers of a server cannot inject headers of ours', async () => {
  const r = await post(requestText('1', 'tools/call', { name: 'http_echo\r\nX-Evil: 1', arguments: {} }));
  assert.equal(r.headers['x-evil'], undefined);
  assert.equal(JSON.parse(r.text).error?.code, -32602);
});
