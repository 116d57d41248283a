#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// A server on HTTP whose tool `write` has an effect that a crash cannot undo: a line in the file FILE, with fsync.
//
//   node effects.mjs PORT FILE
//
// Arguments of `write`: `id` (the line), `before` and `after` (milliseconds of waiting), `fail` (an error of the tool,
// without an effect), `large` (bytes of the result). The tool `find` says whether the line `id` exists.
import fs from 'node:fs';
import http from 'node:http';

const [port, file] = process.argv.slice(2);
const sleep = (ms) => ms && new Promise((resolve) => setTimeout(resolve, ms));
const text = (value, more) => ({ content: [{ type: 'text', text: value }], ...more });
const schema = (properties) => ({ type: 'object', properties, additionalProperties: true });
const tools = [
  { name: 'write', inputSchema: schema({ id: { type: 'string' }, idempotency_key: { type: 'string' } }) },
  { name: 'find', inputSchema: schema({ id: { type: 'string' } }) },
];

function append(line) {
  const fd = fs.openSync(file, 'a');
  fs.writeSync(fd, `${line}\n`);
  fs.fsyncSync(fd);
  fs.closeSync(fd);
}

const linesOf = () => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n') : []);

async function call({ name, arguments: args = {} }) {
  if (name === 'find') return text(JSON.stringify({ found: linesOf().includes(args.id) }));
  await sleep(args.before);
  if (args.fail) return text('refused', { isError: true });
  append(args.id);
  await sleep(args.after);
  return text(args.large ? 'x'.repeat(args.large) : `wrote ${args.id} as ${Math.random()}`);
}

const methods = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'effects', version: '1' } }),
  ping: () => ({}),
  'tools/list': () => ({ tools }),
  'tools/call': call,
};

http.createServer(async (req, res) => {
  if (req.method !== 'POST') return res.writeHead(405).end();
  const chunks = [];
  for await (const chunk of req) chunks.push(chunk);
  const { id, method, params } = JSON.parse(Buffer.concat(chunks));
  if (id === undefined) return res.writeHead(202).end();
  const answer = methods[method] ? { result: await methods[method](params) } : { error: { code: -32601, message: 'unknown' } };
  return res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
}).listen(Number(port), '127.0.0.1', function listening() {
  process.stderr.write(`effects on port ${this.address().port}\n`);
});
