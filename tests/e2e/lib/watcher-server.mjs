// SPDX-License-Identifier: Apache-2.0
// An MCP server on stdio that shows what reaches an upstream: whether a call was cancelled, and what a call carried.
// With --modern it speaks 2026-07-28 and nothing else, otherwise the revisions with a handshake.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const PATIENCE_MS = 10_000;
const INFO = { name: 'watcher', version: '1.0.0' };
const text = t => ({ content: [{ type: 'text', text: t }] });

let cancelled = 0, waiting = 0;
let changed = () => {};
const count = (change, what) => { change(); changed(); console.error(`a call ${what}`); };
/** Settles, with true, when the counts fulfil `condition`. */
const reached = condition => new Promise(resolve => {
  const timer = setTimeout(() => resolve(false), PATIENCE_MS);
  changed = () => { if (condition()) { clearTimeout(timer); resolve(true); } };
  changed();
});

const tools = {
  wait: (_request, signal) => new Promise(resolve => {
    const timer = setTimeout(() => resolve(text('not cancelled')), PATIENCE_MS);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      count(() => { cancelled++; waiting--; }, 'was cancelled');
    });
    count(() => { waiting++; }, 'waits');
  }),
  waiting: async () => text(String(await reached(() => waiting > 0))),
  cancelled: async () => text(String(await reached(() => cancelled > 0))),
  request: async request => text(JSON.stringify(request)),
};

function modern() {
  const server = new McpServer(INFO, { capabilities: { tools: {} } });
  const inputSchema = fromJsonSchema({ type: 'object' });
  for (const [name, run] of Object.entries(tools))
    server.registerTool(name, { inputSchema }, (args, ctx) => run(args, ctx.mcpReq.signal));
  return server;
}

async function handshake() {
  const server = new Server(INFO, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: Object.keys(tools).map(name => ({ name, inputSchema: { type: 'object' } })),
  }));
  server.setRequestHandler(CallToolRequestSchema, (request, extra) =>
    tools[request.params.name](request, extra.signal));
  await server.connect(new StdioServerTransport());
}

if (process.argv.includes('--modern')) serveStdio(modern, { legacy: 'reject' });
else await handshake();
