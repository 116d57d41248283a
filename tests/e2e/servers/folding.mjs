// SPDX-License-Identifier: Apache-2.0
// A server that reads member names as encoding/json of Go does: it ignores case, folds the long s and the Kelvin sign,
// and takes the last of several members. As json-c does, it ends a name at a NUL. It trims and lowers method names too, and runs a tool wherever a message asks
// for one: a request, a notification, a method of a vendor. Every tool that runs is a line of the file `--ran`.
//
//   node folding.mjs --era handshake|stateless --ran FILE [--http]
import fs from 'node:fs';
import http from 'node:http';
import readline from 'node:readline';
import { parseArgs } from 'node:util';

const { values: said } = parseArgs({
  options: { era: { type: 'string' }, ran: { type: 'string' }, http: { type: 'boolean' } },
});
const stateless = said.era === 'stateless';
const fold = (name) => name.split('\0')[0].replaceAll('\u017f', 's').replaceAll('\u212a', 'k').toLowerCase();

function folded(value) {
  if (Array.isArray(value)) return value.map(folded);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, v]) => [fold(name), folded(v)]));
}

const tool = (name) => ({ name, description: `Runs ${name}.`, inputSchema: { type: 'object' } });
const CAPABILITIES = { tools: { listChanged: true } };
const answers = {
  initialize: ({ protocolversion }) => ({
    protocolVersion: protocolversion, capabilities: CAPABILITIES, serverInfo: { name: 'folding', version: '1' },
  }),
  'server/discover': () => ({ supportedVersions: ['2026-07-28'], capabilities: CAPABILITIES, ttlMs: 0, cacheScope: 'private' }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [tool('safe'), tool('danger')], ttlMs: 0, cacheScope: 'private' }),
  'tools/call': ({ name }) => {
    fs.appendFileSync(said.ran, `${name}\n`);
    return { content: [{ type: 'text', text: `ran ${name}` }] };
  },
};
answers['vendor/calltool'] = answers['tools/call'];

function answer(text) {
  const { id, method = '', params = {} } = folded(JSON.parse(text));
  const known = fold(String(method)).trim();
  const absent = stateless ? 'initialize' : 'server/discover';
  const run = known === absent ? undefined : answers[known];
  const result = run && (stateless ? { resultType: 'complete', ...run(params) } : run(params));
  if (id === undefined) return undefined;
  if (!run) return JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
  return JSON.stringify({ jsonrpc: '2.0', id, result });
}

if (said.http) {
  const server = http.createServer(async (req, res) => {
    if (req.method !== 'POST') return res.writeHead(405).end();
    let body = '';
    for await (const chunk of req) body += chunk;
    const reply = answer(body);
    if (reply === undefined) return res.writeHead(202).end();
    return res.writeHead(200, { 'content-type': 'application/json' }).end(reply);
  });
  server.listen(0, '127.0.0.1', () => process.stderr.write(`listening on ${server.address().port}\n`));
} else {
  readline.createInterface({ input: process.stdin }).on('line', (line) => {
    const reply = answer(line);
    if (reply !== undefined) process.stdout.write(`${reply}\n`);
  });
}
