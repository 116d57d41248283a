// SPDX-License-Identifier: Apache-2.0
// What a large result costs: for each kind of result, transport and mode a gateway is started afresh and called once,
// while another client pings it. Prints a table as Markdown.
//
//   scripts/node bench/big.mjs [--bytes N] [--mode gateway,direct] [--from stdio,json,events,sse] [--kind plain,…]
//                              [--clients N] [--gateway PROGRAM]
//
// Memory is the highest resident memory of the gateway's process during the call, over that before it (VmHWM after
// a reset), as a multiple of the message. The longest stall is that of the pings, which are sent one after the other by
// a thread of their own.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SERVER = path.join(ROOT, 'tests/e2e/servers/big.mjs');
const KINDS = ['plain', 'log', 'escaped', 'rows', 'numbers', 'nested', 'keys', 'image', 'blob', 'parts'];
const FROM = ['stdio', 'json', 'events', 'sse'];
const VERSION = '2025-11-25';

// ---- a client: sessions, calls, and how much came back

class Client {
  #agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  #id = 0;

  constructor(url) {
    this.url = url;
  }

  /** `{ status, bytes, text }`; the text only up to its first 64 KiB: nobody here reads more. */
  async post(message) {
    const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
    if (this.session) headers['Mcp-Session-Id'] = this.session;
    const request = http.request(this.url, { method: 'POST', agent: this.#agent, headers });
    request.end(JSON.stringify({ jsonrpc: '2.0', ...message }));
    const [response] = await once(request, 'response');
    this.session ??= response.headers['mcp-session-id'];
    let bytes = 0, text = '';
    for await (const chunk of response) {
      bytes += chunk.length;
      if (text.length < 65536) text += chunk.toString('latin1');
    }
    return { status: response.statusCode, bytes, text };
  }

  ask(method, params) {
    return this.post({ id: ++this.#id, method, params });
  }

  async open() {
    const clientInfo = { name: 'bench', version: '1' };
    await this.ask('initialize', { protocolVersion: VERSION, capabilities: {}, clientInfo });
    await this.post({ method: 'notifications/initialized' });
    return this;
  }

  close() {
    this.#agent.destroy();
  }
}

// ---- the thread that pings, and tells the longest time that one took

async function ping({ url }) {
  const client = await new Client(url).open();
  let longest = 0, going = true;
  parentPort.on('message', what => {
    if (what === 'start') longest = 0;
    else going = false;
  });
  parentPort.postMessage('ready');
  while (going) {
    const began = performance.now();
    await client.ask('ping');
    longest = Math.max(longest, performance.now() - began);
  }
  client.close();
  parentPort.postMessage(longest);
  parentPort.close();
}

// ---- programs

async function said(child, pattern) {
  let text = '';
  for await (const chunk of child.stderr.setEncoding('utf8')) {
    text += chunk;
    const found = pattern.exec(text);
    if (!found) continue;
    child.stderr.resume();
    return found[1];
  }
  throw new Error(`ended without ${pattern}: ${text}`);
}

function start(command, args, options) {
  return spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], ...options });
}

async function startGateway(program, mode, from, port, dir) {
  const servers = {
    stdio: { command: process.execPath, args: [SERVER, '--stdio'] },
    json: { type: 'http', url: `http://127.0.0.1:${port}/json` },
    events: { type: 'http', url: `http://127.0.0.1:${port}/events` },
    sse: { type: 'sse', url: `http://127.0.0.1:${port}/sse` },
  };
  const config = path.join(dir, '.mcp.json');
  fs.writeFileSync(config, JSON.stringify({ mcpServers: { big: servers[from] } }));
  const child = start(program, ['serve', '--mcp-config', config, '--mode', mode, '--transport', 'http', '--listen', '127.0.0.1:0'],
    { cwd: dir, env: { ...process.env, XDG_STATE_HOME: path.join(dir, 'state') } });
  child.url = `${await said(child, /listening on (http:\/\/\S+:\d+)/)}/mcp`;
  return child;
}

async function stop(child) {
  child.kill('SIGTERM');
  if (child.exitCode === null) await once(child, 'exit');
}

const memory = (pid, name) =>
  Number(new RegExp(`${name}:\\s+(\\d+)`).exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;

// ---- one cell of the table

async function nameOf(client, mode, kind) {
  if (mode === 'direct') {
    await client.ask('tools/list');
    return kind;
  }
  const browse = { name: 'tool_browse', arguments: { query: kind, top_k: 50 }, _meta: { 'io.toolgate/structured': true } };
  const { text } = await client.ask('tools/call', browse);
  return new RegExp(`"(big:${kind}[^"]*)"`).exec(text)[1];
}

const paramsOf = (mode, name, bytes) => mode === 'direct'
  ? { name, arguments: { bytes } }
  : { name: 'tool_execute', arguments: { tool_id: name, args: { bytes } } };

async function measure({ program, mode, from, kind, bytes, clients, port }) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'toolgate-big-'));
  const gateway = await startGateway(program, mode, from, port, dir);
  try {
    const others = await Promise.all(Array.from({ length: clients }, () => new Client(gateway.url).open()));
    const name = await nameOf(others[0], mode, kind);
    // A small one first: what the first call of all needs is not the size's.
    await others[0].ask('tools/call', paramsOf(mode, name, 100));
    const pinger = new Worker(fileURLToPath(import.meta.url), { workerData: { url: gateway.url } });
    await once(pinger, 'message');
    await prepare(others[0], mode, from, name, bytes, port, kind);
    fs.writeFileSync(`/proc/${gateway.pid}/clear_refs`, '5');
    const before = memory(gateway.pid, 'VmRSS');
    pinger.postMessage('start');
    const began = performance.now();
    const answers = await Promise.all(others.map(client => client.ask('tools/call', paramsOf(mode, name, bytes))));
    const took = performance.now() - began;
    pinger.postMessage('stop');
    const [stall] = await once(pinger, 'message');
    const peak = memory(gateway.pid, 'VmHWM') - before;
    await delay(300);
    const kept = memory(gateway.pid, 'VmRSS') - before;
    const failed = answers.filter(({ status, text }) => status !== 200 || /"isError":true|"error":/.test(text));
    const result = { mode, from, kind, bytes, before, peak, kept, took, stall, answer: answers[0].bytes, failed: failed.length,
      why: failed[0]?.text.slice(0, 300) };
    others.forEach(client => client.close());
    return result;
  } finally {
    await stop(gateway);
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

// The server makes an answer when it is first asked for it: not while it is measured. Over HTTP it can be asked directly;
// over stdio it makes it in the time of the call.
async function prepare(client, mode, from, name, bytes, port, kind) {
  if (from === 'stdio') return;
  const direct = await new Client(`http://127.0.0.1:${port}/json`).open();
  await direct.ask('tools/call', { name: kind, arguments: { bytes } });
  direct.close();
}

const mib = n => (n / 2 ** 20).toFixed(1);

async function main() {
  const { values } = parseArgs({
    options: {
      bytes: { type: 'string', default: String(50 << 20) }, mode: { type: 'string', default: 'gateway,direct' },
      from: { type: 'string', default: FROM.join() }, kind: { type: 'string', default: KINDS.join() },
      clients: { type: 'string', default: '1' }, gateway: { type: 'string', default: path.join(ROOT, 'build/toolgate') },
    },
  });
  const upstream = start(process.execPath, [SERVER, '--port', '0']);
  const port = await said(upstream, /listening on port (\d+)/);
  console.log(`| mode | from | result | message MiB | peak MiB | peak ÷ message | kept MiB | answer | ms | longest stall ms |`);
  console.log('| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |');
  try {
    for (const mode of values.mode.split(',')) for (const from of values.from.split(',')) for (const kind of values.kind.split(',')) {
      const r = await measure({ program: path.resolve(values.gateway), mode, from, kind, bytes: Number(values.bytes),
        clients: Number(values.clients), port });
      console.log(`| ${mode} | ${from} | ${kind} | ${mib(r.bytes)} | ${mib(r.peak)} | ${(r.peak / r.bytes).toFixed(2)} | ` +
        `${mib(r.kept)} | ${r.answer} | ${r.took.toFixed(0)} | ${r.stall.toFixed(0)} |${r.failed ? ` ${r.failed} failed: ${r.why}` : ''}`);
    }
  } finally {
    await stop(upstream);
  }
}

if (isMainThread) await main();
else await ping(workerData);
