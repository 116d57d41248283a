// SPDX-License-Identifier: Apache-2.0
// A server whose tools answer with as much as they are asked for, of one kind each: { bytes } is the size of the whole
// message, as near as it comes. An answer is made once and kept, so that what is measured is not this program.
//
//   big.mjs --stdio
//   big.mjs --port N      Streamable HTTP: /json answers with JSON, /events with an event; /sse is the older transport
import http from 'node:http';
import { once } from 'node:events';

const WORDS = ['the', 'harbour', 'was', 'quiet', 'and', 'nobody', 'came', 'to', 'see', 'what', 'had', 'been', 'left'];

/** `make(i)` again and again, until there are so many bytes. */
function fill(bytes, make, between = '') {
  const pieces = [];
  for (let i = 0, n = 0; n < bytes; i++) {
    pieces.push(make(i));
    n += pieces.at(-1).length + between.length;
  }
  return pieces.join(between);
}

const row = i => `{"id":${i},"name":"item ${i % 977}","price":${i % 89}.5}`;
const text = value => `{"type":"text","text":${value}}`;
const quoted = value => JSON.stringify(value);
const base64 = bytes => Buffer.alloc(bytes / 4 * 3, 'not really an image').toString('base64');

/** What each tool answers with: the members of a result, as JSON. */
const KINDS = {
  plain: n => `"content":[${text(quoted(fill(n, i => WORDS[i % 13], ' ')))}]`,
  log: n => `"content":[${text(quoted(fill(n, i => `2026-01-01T00:00:00Z ${i % 50 ? 'INFO' : 'ERROR'} step ${i} done\n`)))}]`,
  escaped: n => `"content":[${text(quoted(`[${fill(n / 1.25, row, ',')}]`))}]`,
  rows: n => {
    const rows = `{"rows":[${fill(n / 2.25, row, ',')}]}`;
    return `"content":[${text(quoted(rows))}],"structuredContent":${rows}`;
  },
  numbers: n => `"content":[],"structuredContent":{"numbers":[${fill(n, i => String(i % 7), ',')}]}`,
  nested: n => `"content":[],"structuredContent":{"deep":[${fill(n, () => '[[[[[]]]]]', ',')}]}`,
  keys: n => `"content":[],"structuredContent":{${fill(n, i => `"k${i}":${i % 7}`, ',')}}`,
  image: n => `"content":[{"type":"image","mimeType":"image/png","data":"${base64(n)}"}]`,
  blob: n => `"content":[{"type":"resource","resource":{"uri":"file:///disk.img","blob":"${base64(n)}"}}]`,
  parts: n => `"content":[${fill(n, i => text(`"part ${i} of very many"`), ',')}]`,
};

const made = new Map();

function answerOf(kind, bytes) {
  const key = `${kind} ${bytes}`;
  if (!made.has(key)) made.set(key, Buffer.from(`,"result":{${KINDS[kind](bytes)}}}`));
  return made.get(key);
}

const tools = Object.keys(KINDS).map(name => ({
  name,
  description: `Gives a large result: ${name}`,
  inputSchema: { type: 'object', properties: { bytes: { type: 'integer' } }, required: ['bytes'] },
}));

/** The pieces of the answer to a message, or nothing. */
function answer({ id, method, params }) {
  if (id === undefined) return undefined;
  const start = `{"jsonrpc":"2.0","id":${JSON.stringify(id)}`;
  const result = value => [Buffer.from(`${start},"result":${JSON.stringify(value)}}`)];
  switch (method) {
    case 'initialize':
      return result({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'big', version: '1' } });
    case 'ping': return result({});
    case 'tools/list': return result({ tools });
    case 'tools/call': return [Buffer.from(start), answerOf(params.name, params.arguments.bytes)];
    default: return [Buffer.from(`${start},"error":{"code":-32601,"message":"no such method"}}`)];
  }
}

function serveStdio() {
  let rest = '';
  process.stdin.setEncoding('utf8').on('data', chunk => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines.filter(Boolean))
      for (const piece of [...answer(JSON.parse(line)) ?? [], ...JSON.parse(line).id === undefined ? [] : ['\n']]) process.stdout.write(piece);
  });
}

const HEAD = {
  json: { 'Content-Type': 'application/json' },
  events: { 'Content-Type': 'text/event-stream' },
};
const asEvent = pieces => ['event: message\ndata: ', ...pieces, '\n\n'];
const length = pieces => pieces.reduce((n, piece) => n + piece.length, 0);

function serveHttp(port) {
  const streams = new Map();

  function openStream(response) {
    const id = String(streams.size + 1);
    response.writeHead(200, HEAD.events).write(`event: endpoint\ndata: /messages?${id}\n\n`);
    streams.set(id, response);
  }

  const server = http.createServer(async (request, response) => {
    const [path, query] = request.url.split('?');
    if (request.method === 'GET' && path === '/sse') return openStream(response);
    if (request.method !== 'POST') return response.writeHead(405).end();
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const pieces = answer(JSON.parse(body));
    if (path === '/messages') {
      response.writeHead(202).end();
      for (const piece of pieces ? asEvent(pieces) : []) streams.get(query).write(piece);
    } else if (!pieces) {
      response.writeHead(202).end();
    } else if (path === '/json') {
      response.writeHead(200, { ...HEAD.json, 'Content-Length': length(pieces) });
      for (const piece of pieces) response.write(piece);
      response.end();
    } else {
      response.writeHead(200, HEAD.events);
      for (const piece of asEvent(pieces)) response.write(piece);
      response.end();
    }
  });
  server.keepAliveTimeout = 600_000;
  server.listen(port, '127.0.0.1');
  once(server, 'listening').then(() => console.error(`listening on port ${server.address().port}`));
}

const at = process.argv.indexOf('--port');
if (at > 0) serveHttp(Number(process.argv[at + 1]));
else serveStdio();
