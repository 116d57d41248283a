// SPDX-License-Identifier: Apache-2.0
// An MCP server on stdio whose tool `price` declares an output schema, and returns what a test asks for: the value
// `price` in its structured content, and a list of `rows` rows. Calls with `task` become tasks.
import { createInterface } from 'node:readline';

const send = (msg) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...msg })}\n`);
const tasks = new Map();
const outputSchema = {
  type: 'object',
  properties: { price: { type: 'number' }, rows: { type: 'array', items: { type: 'object', required: ['id'] } } },
  required: ['price'],
};
const inputSchema = { type: 'object' };
const tool = { name: 'price', description: 'A price.', inputSchema, outputSchema, execution: { taskSupport: 'optional' } };

const result = ({ price, rows = 0 }) => ({
  content: [{ type: 'text', text: 'a price' }],
  structuredContent: { price, rows: Array.from({ length: rows }, (_, id) => ({ id, text: 'x'.repeat(100) })) },
});

function task(args) {
  const now = '2026-11-16T00:00:00Z';
  const made = { taskId: `t${tasks.size}`, status: 'completed', createdAt: now, lastUpdatedAt: now, ttl: 60_000 };
  tasks.set(made.taskId, { made, args });
  return { task: { ...made, status: 'working' } };
}

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion, serverInfo: { name: 'priced', version: '1.2.3' },
    capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [tool] }),
  'tools/call': ({ arguments: args, task: wanted }) => (wanted ? task(args) : result(args)),
  'tasks/get': ({ taskId }) => tasks.get(taskId).made,
  'tasks/result': ({ taskId }) =>
    ({ ...result(tasks.get(taskId).args), _meta: { 'io.modelcontextprotocol/related-task': { taskId } } }),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) return;
  if (answers[method]) send({ id, result: answers[method](params) });
  else send({ id, error: { code: -32601, message: 'Method not found' } });
}).on('close', () => process.exit(0));
