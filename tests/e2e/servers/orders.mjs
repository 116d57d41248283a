#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// A server with the tools of the example skill: `lookup` (the owner of an order) and `verify` (a person). Each call is a
// line in the file that CALLS names. The order "slow" is answered never, "none" with an error.
import fs from 'node:fs';
import readline from 'node:readline';

const answer = (id, result) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
const tools = ['lookup', 'verify'].map((name) => ({ name, description: name, inputSchema: { type: 'object' } }));

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize') answer(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'orders', version: '1' } });
  if (method === 'ping') answer(id, {});
  if (method === 'tools/list') answer(id, { tools });
  if (method !== 'tools/call') {
    const known = ['initialize', 'ping', 'tools/list'].includes(method);
    if (id !== undefined && !known) process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } })}\n`);
    continue;
  }
  fs.appendFileSync(process.env.CALLS, `${params.name} ${JSON.stringify(params.arguments)}\n`);
  const failed = params.arguments.id === 'none';
  if (params.arguments.id === 'slow') continue;
  if (params.name === 'lookup') answer(id, { content: [{ type: 'text', text: failed ? 'no such order' : JSON.stringify({ owner: 'c1' }) }], isError: failed });
  else answer(id, { content: [{ type: 'text', text: '{"ok":true}' }], structuredContent: { ok: true } });
}
