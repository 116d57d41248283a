#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// A server that reports the version that the file VERSION has when it starts. The argument `exit` ends it after the answer.
import fs from 'node:fs';
import readline from 'node:readline';

const version = fs.readFileSync(process.env.VERSION, 'utf8');
const send = (id, message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...message })}\n`);

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  if (method === 'initialize') send(id, { result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'versioned', version } } });
  else if (method === 'ping') send(id, { result: {} });
  else if (method === 'tools/list') send(id, { result: { tools: [{ name: 'find', description: 'Find goods.', inputSchema: { type: 'object' } }] } });
  else if (method === 'tools/call') send(id, { result: { content: [{ type: 'text', text: version }] } });
  else send(id, { error: { code: -32601, message: 'Method not found' } });
  if (method === 'tools/call' && params.arguments.exit) process.exit(0);
}
