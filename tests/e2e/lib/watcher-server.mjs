// SPDX-License-Identifier: Apache-2.0
// An MCP server on stdio that shows what reaches an upstream: whether a call was cancelled, and what a call carried.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const PATIENCE_MS = 10_000;
const server = new Server({ name: 'watcher', version: '1.0.0' }, { capabilities: { tools: {} } });
const text = t => ({ content: [{ type: 'text', text: t }] });

let cancelled = 0, waiting = 0;
let changed = () => {};
const count = change => { change(); changed(); };
/** Settles, with true, when the counts fulfil `condition`. */
const reached = condition => new Promise(resolve => {
  const timer = setTimeout(() => resolve(false), PATIENCE_MS);
  changed = () => { if (condition()) { clearTimeout(timer); resolve(true); } };
  changed();
});

const tools = {
  wait: (_request, extra) => new Promise(resolve => {
    const timer = setTimeout(() => resolve(text('not cancelled')), PATIENCE_MS);
    extra.signal.addEventListener('abort', () => { clearTimeout(timer); count(() => { cancelled++; waiting--; }); });
    count(() => { waiting++; });
  }),
  waiting: async () => text(String(await reached(() => waiting > 0))),
  cancelled: async () => text(String(await reached(() => cancelled > 0))),
  request: async request => text(JSON.stringify(request)),
};

server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: Object.keys(tools).map(name => ({ name, inputSchema: { type: 'object' } })),
}));
server.setRequestHandler(CallToolRequestSchema, (request, extra) => tools[request.params.name](request, extra));
await server.connect(new StdioServerTransport());
