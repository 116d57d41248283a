// SPDX-License-Identifier: Apache-2.0
// A stdio server that does as a file says: { mood: 'well' | 'hang' | 'gone', tools, instructions, version }. While it
// hangs it takes what it is sent and answers nothing; it looks at the file again and goes on when it is well.
// Usage: moody.mjs FILE [anything]
import fs from 'node:fs';
import readline from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

const look = () => JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
if (look().mood === 'gone') process.exit(1);

const answers = {
  initialize: ({ params }) => ({
    protocolVersion: params.protocolVersion,
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: 'moody', version: look().version ?? '1' },
    instructions: look().instructions,
  }),
  'tools/list': () => ({ tools: look().tools.map((name) => ({ name, inputSchema: { type: 'object' } })) }),
  'tools/call': ({ params }) => ({ content: [{ type: 'text', text: `called ${params.name}` }] }),
};

function answer(msg) {
  if (msg.id === undefined) return;
  const make = answers[msg.method];
  const rest = make ? { result: make(msg) } : { error: { code: -32601, message: 'Method not found' } };
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: msg.id, ...rest }) + '\n');
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  while (look().mood === 'hang') await delay(50);
  answer(JSON.parse(line));
}
