// SPDX-License-Identifier: Apache-2.0
// Resident memory of a gateway (VmRSS) before, during (VmHWM) and after a flood of large requests that no server
// answers. Each request comes in a session of its own; each kind of request gets a gateway of its own. Prints a table as
// Markdown.
//
//   TOOLGATE=build/toolgate scripts/node bench/memory.mjs [--count N] [--bytes N] [--kind values,text,half]
//
//   values  calls with an array of ones, two bytes a value
//   text    calls with one long string
//   half    connections that send all of a request but its last byte
import fs from 'node:fs';
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { HttpClient, httpText, JSON_HEADERS, startGateway } from '../tests/e2e/lib/raw.mjs';
import { makeUpstream } from '../tests/e2e/servers/features.mjs';

const SETTLE_MS = 3000;

const { values: options } = parseArgs({
  options: {
    count: { type: 'string', default: '20' },
    bytes: { type: 'string', default: String((4 << 20) - 4096) },
    kind: { type: 'string', default: 'values,text,half' },
  },
});
const COUNT = Number(options.count), BYTES = Number(options.bytes);

const argument = {
  values: () => `[1${',1'.repeat(BYTES / 2 - 1)}]`,
  text: () => JSON.stringify('x'.repeat(BYTES)),
  half: () => JSON.stringify('x'.repeat(BYTES)),
};
const callOf = (id, kind) => `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"up_hold","arguments":{"x":${argument[kind]()}}}}`;

function megabytes(gateway, field) {
  const kb = new RegExp(`${field}:\\s+(\\d+)`).exec(fs.readFileSync(`/proc/${gateway.pid}/status`, 'utf8'))[1];
  return (Number(kb) / 1024).toFixed(0);
}

function sendHalf(gateway, client, body) {
  const socket = net.connect(gateway.port, '127.0.0.1');
  socket.on('error', () => {});
  const text = httpText('POST /mcp', { ...JSON_HEADERS, 'Mcp-Session-Id': client.session }, body);
  return new Promise((resolve) => {
    socket.on('close', resolve).on('data', resolve);
    socket.write(text.slice(0, -1), resolve);
  }).then(() => ({ close: () => socket.destroy() }));
}

async function openSession(gateway) {
  const client = new HttpClient(gateway.url);
  await client.initialize();
  await client.tools();
  return client;
}

async function flood(gateway, clients, kind) {
  const body = callOf(1000, kind);
  if (kind === 'half') return Promise.all(clients.map((client) => sendHalf(gateway, client, body)));
  const requests = clients.map((client) => client.post(body).catch(() => {}));
  await Promise.race([Promise.all(requests), delay(5000)]);
  return clients.map((client) => ({ close: () => client.agent.destroy() }));
}

const endings = [];
const t = { after: (f) => endings.push(f) };
console.log(`${COUNT} requests of ${BYTES} bytes; MB of resident memory\n`);
console.log('| requests | before | highest | after |\n|---|---|---|---|');
for (const kind of options.kind.split(',')) {
  const gateway = await startGateway(t, { servers: { up: await makeUpstream('stdio', 'up') } });
  const clients = await Promise.all(Array.from({ length: COUNT }, () => openSession(gateway)));
  const before = megabytes(gateway, 'VmRSS');
  const open = await flood(gateway, clients, kind);
  await delay(500);
  const highest = megabytes(gateway, 'VmHWM');
  for (const it of open) it.close();
  await delay(SETTLE_MS);
  console.log(`| ${kind} | ${before} | ${highest} | ${megabytes(gateway, 'VmRSS')} |`);
}
for (const end of endings) await end();
process.exit(0);
