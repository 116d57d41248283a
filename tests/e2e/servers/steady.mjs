// SPDX-License-Identifier: Apache-2.0
// An MCP server on stdio that tells which process it is, and keeps a call waiting for as long as a test wants.
//   who   its process id and what it was started with
//   hold  answers once the file `until` is there; the file `began` says that it waits
// With --resources it has a resource, whose changes it tells of when `touch` is called.
import fs from 'node:fs';
import { createInterface } from 'node:readline';

const args = process.argv.slice(2);
const send = (msg) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...msg })}\n`);
const text = (t) => ({ content: [{ type: 'text', text: t }] });
const tool = (name, ...strings) => ({
  name, description: `Does ${name}.`,
  inputSchema: { type: 'object', properties: Object.fromEntries(strings.map((s) => [s, { type: 'string' }])) },
});
const URI = 'steady://state';

const tools = {
  who: () => text(JSON.stringify({ pid: process.pid, args })),
  hold: async ({ began, until }) => {
    fs.writeFileSync(began, '');
    while (!fs.existsSync(until)) await new Promise((resolve) => setTimeout(resolve, 10));
    return text(`held by ${process.pid}`);
  },
  touch: () => {
    send({ method: 'notifications/resources/updated', params: { uri: URI } });
    return text('told');
  },
};

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion, serverInfo: { name: 'steady', version: '1' },
    capabilities: { tools: {}, ...(args.includes('--resources') && { resources: { subscribe: true } }) },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [tool('who'), tool('hold', 'began', 'until'), tool('touch')] }),
  'resources/list': () => ({ resources: [{ uri: URI, name: 'state' }] }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
  'resources/subscribe': () => ({}),
  'resources/unsubscribe': () => ({}),
  'tools/call': ({ name, arguments: given }) => tools[name](given ?? {}),
};

createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) return;
  if (answers[method]) send({ id, result: await answers[method](params) });
  else send({ id, error: { code: -32601, message: 'Method not found' } });
}).on('close', () => process.exit(0));
