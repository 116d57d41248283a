// SPDX-License-Identifier: Apache-2.0
// Raw MCP clients without an SDK, for every transport and revision, and the gateway that they talk to.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { deferred, Inbox, LIMIT_MS, lines, Peer, requestText, within } from '../servers/peer.mjs';
import { onEnd } from './process.mjs';
import { toHandshakeClient } from './rules.mjs';

export * from '../servers/peer.mjs';
export { onEnd, until } from './process.mjs';

// Those with a handshake; lib/modern.mjs has the clients of the other one.
export const REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
export const LATEST = REVISIONS.at(-1);

// The capability, and the member of a request's _meta, by which a client asks for structuredContent (docs/reference/clients.md).
export const STRUCTURED = 'io.toolgate/structured';

const INFO = { name: 'raw', version: '1' };

export class SseParser {
  #rest = '';
  #event = { data: [] };

  constructor(onEvent) {
    this.onEvent = onEvent;
  }

  push(text) {
    this.#rest += text;
    const parts = this.#rest.split('\n');
    this.#rest = parts.pop();
    for (const line of parts) this.#line(line.replace(/\r$/, ''));
  }

  #line(line) {
    if (line === '') {
      const e = this.#event;
      this.#event = { data: [] };
      if (e.data.length || e.id !== undefined || e.retry !== undefined || e.type) {
        this.onEvent({ ...e, data: e.data.length ? e.data.join('\n') : undefined });
      }
      return;
    }
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line);
    if (field === 'data') this.#event.data.push(value);
    else if (field === 'event') this.#event.type = value;
    else if (field === 'id' || field === 'retry') this.#event[field] = value;
  }
}

// One HTTP exchange. An event stream is handed over as events in `inbox` ({event}); anything else is read whole.
export function fetchRaw(url, { method = 'GET', headers = {}, body, agent, onEvent } = {}) {
  const answer = deferred();
  const req = http.request(url, { method, headers, agent }, (res) => {
    const out = { status: res.statusCode, headers: res.headers, text: '', inbox: new Inbox(), events: [], req, res };
    out.close = () => req.destroy();
    const ended = deferred();
    out.ended = ended.promise;
    res.setEncoding('utf8');
    res.on('close', () => ended.resolve());
    if (/^text\/event-stream/.test(res.headers['content-type'] ?? '')) {
      const parser = new SseParser((event) => {
        out.events.push(event);
        onEvent?.(event, out);
        out.inbox.add({ event });
      });
      res.on('data', (chunk) => parser.push(chunk));
      res.on('error', () => {});
      out.streaming = true;
      answer.resolve(out);
      return;
    }
    res.on('data', (chunk) => (out.text += chunk));
    res.on('error', (e) => answer.reject(e));
    res.on('end', () => answer.resolve(out));
  });
  req.on('error', (e) => answer.reject(e));
  req.end(body);
  answer.promise.request = req;
  return answer.promise;
}

export const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

class Client extends Peer {
  problems = []; // rules that the other side broke
  #count = 0;

  // `info` is its clientInfo; with `structured` it asks for structuredContent of meta-tools.
  constructor({ rev = LATEST, capabilities = {}, label = `client ${rev}`, info = INFO, structured = true } = {}) {
    super({ label });
    Object.assign(this, { rev, capabilities, info, structured });
    this.handlers.set('ping', () => ({}));
  }

  receive(text, ctx) {
    try {
      this.problems.push(...[JSON.parse(text)].flat().flatMap((msg) => toHandshakeClient(msg, this)));
    } catch (e) {
      this.problems.push(`${e.message}: ${text}`);
    }
    super.receive(text, ctx);
  }

  // The handshake; gives the result of initialize.
  async initialize() {
    const experimental = { ...this.capabilities.experimental, [STRUCTURED]: {} };
    const params = {
      protocolVersion: this.rev,
      capabilities: this.structured ? { ...this.capabilities, experimental } : this.capabilities,
      clientInfo: this.info,
    };
    this.server = await this.ask('initialize', params);
    this.ready = true;
    await this.notify('notifications/initialized');
    return this.server;
  }

  async listAll(method, key) {
    const all = [];
    let cursor;
    do {
      const page = await this.ask(method, cursor === undefined ? {} : { cursor });
      all.push(...page[key]);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return all;
  }

  tools() {
    return this.listAll('tools/list', 'tools');
  }

  // ---- what differs between the eras, under one name for both

  // When it is over, what was sent before has been read at the other side, and what it said to that has arrived.
  roundTrip() {
    return this.ask('ping');
  }

  // A call that is meant to be cancelled.
  start(name, args = {}) {
    const requestId = `call ${++this.#count}`;
    const rawId = JSON.stringify(requestId);
    const answer = this.request('tools/call', { name, arguments: args }, { rawId });
    answer.catch(() => {}); // never answered; the stream of its POST may end
    const cancel = (reason) => this.notify('notifications/cancelled', { requestId, reason });
    return { answer, cancel, abandon: () => this.abandon(rawId) };
  }

  #watched(close) {
    return {
      next: async (method) => (await this.next(method)).msg.params,
      drop: (method) => (this.inbox.entries = this.inbox.entries.filter((e) => e.msg?.method !== method)),
      close,
    };
  }

  // Hears of changes of the list of tools: a client with a handshake does anyhow.
  async watchTools() {
    return this.#watched(() => {});
  }

  async watchResource(uri) {
    await this.ask('resources/subscribe', { uri });
    return this.#watched(() => this.ask('resources/unsubscribe', { uri }));
  }

  setLevel(level) {
    return this.ask('logging/setLevel', { level });
  }

  async makeTask(name, args = {}) {
    const { task, ...rest } = await this.ask('tools/call', { name, arguments: args, task: { ttl: 60_000 } });
    if (!task) throw new Error(`${name}: no task but ${JSON.stringify(rest)}`);
    return task;
  }

  getTask(taskId) {
    return this.ask('tasks/get', { taskId });
  }

  cancelTask(taskId) {
    return this.ask('tasks/cancel', { taskId });
  }

  taskResult(taskId) {
    return this.ask('tasks/result', { taskId });
  }
}

// Streamable HTTP.
export class HttpClient extends Client {
  constructor(base, { path: endpoint = '/mcp', headers = {}, maxSockets = Infinity, ...rest } = {}) {
    super(rest);
    this.url = base + endpoint;
    this.extra = headers;
    this.agent = new http.Agent({ keepAlive: true, maxSockets });
  }

  headers() {
    const h = { ...JSON_HEADERS, ...this.extra };
    if (this.session) h['mcp-session-id'] = this.session;
    if (this.ready && this.rev >= '2025-06-18') h['mcp-protocol-version'] = this.rev;
    return h;
  }

  // One POST, whatever it holds; messages in the answer are dispatched.
  async post(body, headers = {}) {
    const r = await fetchRaw(this.url, {
      method: 'POST',
      headers: { ...this.headers(), 'content-length': Buffer.byteLength(body), ...headers },
      body,
      agent: this.agent,
      onEvent: (event, out) => event.data && this.receive(event.data, out),
    });
    if (r.headers['mcp-session-id']) this.session = r.headers['mcp-session-id'];
    if (!r.streaming && /^application\/json/.test(r.headers['content-type'] ?? '') && r.text) {
      if (r.status === 200) this.receive(r.text, r);
    }
    return r;
  }

  async transmit(text, ctx, waiting) {
    const r = await this.post(text);
    if (r.status !== 200 && r.status !== 202) {
      throw Object.assign(new Error(`HTTP ${r.status} ${r.text}`), { status: r.status, body: r.text });
    }
    if (waiting && r.streaming) this.#follow(r, waiting).catch((e) => waiting.reject(e));
  }

  // A stream may end before the answer came, and say when to ask for the rest of it.
  async #follow(stream, waiting) {
    let settled = false;
    const settle = () => (settled = true);
    waiting.promise.then(settle, settle);
    await stream.ended;
    const last = stream.events.findLast((e) => e.id)?.id;
    const retry = stream.events.findLast((e) => e.retry)?.retry;
    if (settled) return;
    if (last === undefined || retry === undefined) throw new Error('the stream ended without the answer');
    await new Promise((resolve) => setTimeout(resolve, Number(retry)));
    const onEvent = (event, out) => event.data && this.receive(event.data, out);
    const headers = { ...this.headers(), accept: 'text/event-stream', 'last-event-id': last };
    const rest = await fetchRaw(this.url, { headers, onEvent });
    if (rest.status !== 200) throw new Error(`resuming: HTTP ${rest.status} ${rest.text}`);
    await this.#follow(rest, waiting);
  }

  // The stream for what belongs to no request.
  async listen(headers = {}) {
    const r = await fetchRaw(this.url, {
      headers: { ...this.headers(), accept: 'text/event-stream', ...headers },
      onEvent: (event, out) => event.data && this.receive(event.data, out),
    });
    if (r.status !== 200) throw Object.assign(new Error(`GET: HTTP ${r.status} ${r.text}`), { status: r.status });
    this.stream = r;
    return r;
  }

  async connect() {
    await this.initialize();
    await this.listen();
    return this;
  }

  delete() {
    return fetchRaw(this.url, { method: 'DELETE', headers: this.headers(), agent: this.agent });
  }

  async close() {
    this.stream?.close();
    if (this.session) await this.delete().catch(() => {});
    this.agent.destroy();
  }
}

// HTTP+SSE of 2024-11-05.
export class SseClient extends Client {
  constructor(base, { headers = {}, ...rest } = {}) {
    super(rest);
    Object.assign(this, { base, extra: headers });
    this.agent = new http.Agent({ keepAlive: true });
  }

  async open() {
    const endpoint = deferred();
    this.stream = await fetchRaw(this.base + '/sse', {
      headers: { accept: 'text/event-stream', ...this.extra },
      onEvent: (event, out) => {
        if (event.type === 'endpoint') endpoint.resolve(event.data);
        else this.receive(event.data, out);
      },
    });
    if (this.stream.status !== 200) throw new Error(`GET /sse: HTTP ${this.stream.status} ${this.stream.text}`);
    this.url = new URL(await within(endpoint.promise, 'endpoint event'), this.base).href;
    return this;
  }

  async connect() {
    await this.open();
    await this.initialize();
    return this;
  }

  post(body, headers = {}) {
    const length = { 'content-length': Buffer.byteLength(body) };
    const all = { 'content-type': 'application/json', ...this.extra, ...length, ...headers };
    return fetchRaw(this.url, { method: 'POST', headers: all, body, agent: this.agent });
  }

  async transmit(text) {
    const r = await this.post(text);
    if (r.status !== 202)
      throw Object.assign(new Error(`HTTP ${r.status} ${r.text}`), { status: r.status, body: r.text });
  }

  async close() {
    this.stream?.close();
    this.agent.destroy();
  }
}

// The gateway itself as a child on stdio.
export class StdioClient extends Client {
  constructor(gateway, options) {
    super(options);
    this.gateway = gateway;
    lines(gateway.child.stdout, (line) => this.receive(line));
    gateway.exited.then(() => this.fail(new Error('the gateway ended')));
  }

  async connect() {
    await this.initialize();
    return this;
  }

  transmit(text) {
    this.gateway.child.stdin.write(text + '\n');
  }

  close() {
    return this.gateway.stop();
  }
}

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');

export function gatewayPath() {
  if (process.env.TOOLGATE) return path.resolve(process.env.TOOLGATE);
  return ['build-asan', 'build'].map((d) => path.join(ROOT, d, 'toolgate')).find((f) => fs.existsSync(f));
}

const SANITIZER = /ERROR: (Address|Leak|Undefined)\w*Sanitizer|runtime error:|assert(ion)? .*failed/i;

/** Every mode, for a gateway that serves them all. */
export const MODES = ['gateway', 'transparent', 'servers', 'direct'];

export class Gateway {
  // servers: name → upstream (anything with config()), or the entry of .mcp.json itself.
  constructor({ servers = {}, config, args = [], env = {}, transport = 'http', listen = '127.0.0.1:0' }) {
    this.dir = fs.mkdtempSync(path.join(os.tmpdir(), 'toolgate-e2e-'));
    const entries = Object.entries(servers).map(([name, s]) => [name, s.config ? s.config() : s]);
    const argv = ['serve', '--mode', 'direct', '--mcp-config', this.file('mcp.json', { mcpServers: Object.fromEntries(entries) })];
    if (config) argv.push('--config', this.file('toolgate.yaml', config));
    argv.push('--mode', 'direct');
    if (transport === 'http') argv.push('--transport', 'http', '--listen', listen);
    // A small quarantine: memory measured under AddressSanitizer is then memory in use.
    const sanitizer = {
      ASAN_OPTIONS: 'quarantine_size_mb=1:thread_local_quarantine_size_kb=64',
      UBSAN_OPTIONS: 'halt_on_error=1:print_stacktrace=1',
    };
    this.log = '';
    this.logged = new Inbox();
    this.child = spawn(gatewayPath(), [...argv, ...args], {
      cwd: this.dir,
      env: { PATH: process.env.PATH, HOME: this.dir, ...sanitizer, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.child.stdin.on('error', () => {});
    lines(this.child.stderr, (line) => {
      this.log += line + '\n';
      this.logged.add({ line });
      const m = /listening on (http:\/\/\S+?:\d+)/.exec(line);
      if (m) this.listening.resolve(m[1]);
    });
    this.listening = deferred();
    this.exited = new Promise((resolve) => this.child.on('close', (code, signal) => resolve({ code, signal })));
    this.child.on('error', (e) => this.listening.reject(e));
    this.exited.then(() => this.listening.reject(new Error(`the gateway ended at start:\n${this.log}`)));
  }

  file(name, value) {
    const f = path.join(this.dir, name);
    fs.writeFileSync(f, JSON.stringify(value, null, 1));
    return f;
  }

  get pid() {
    return this.child.pid;
  }

  get port() {
    return Number(new URL(this.url).port);
  }

  rssKb() {
    return Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${this.pid}/status`, 'utf8'))[1]);
  }

  // Kills it as the kernel would.
  async kill() {
    this.stopped = this.killed = true;
    this.child.kill('SIGKILL');
    await this.exited;
    fs.rmSync(this.dir, { recursive: true, force: true });
  }

  // Ends it as an operator would; throws when it does not end well or a sanitizer had something to say.
  async stop() {
    if (this.stopped) return this.exited;
    this.stopped = true;
    let end;
    try {
      this.child.kill('SIGTERM');
      end = await within(this.exited, 'the end of the gateway');
    } catch (e) {
      this.child.kill('SIGKILL');
      await this.exited;
      throw new Error(`${e.message}\n${this.log.slice(-2000)}`);
    } finally {
      fs.rmSync(this.dir, { recursive: true, force: true });
    }
    if (SANITIZER.test(this.log)) throw new Error(`sanitizer report:\n${this.log.slice(-6000)}`);
    return end;
  }
}

// A gateway for a test: started, and stopped after it. Upstreams given are closed after the gateway.
export async function startGateway(t, options) {
  const gateway = new Gateway(options);
  onEnd(t, async () => {
    try {
      const end = await gateway.stop();
      if (!gateway.killed && end.code !== 0)
        throw new Error(`gateway ended with ${JSON.stringify(end)}\n${gateway.log.slice(-3000)}`);
    } finally {
      await Promise.all(Object.values(options.servers ?? {}).map((s) => s.close?.()));
    }
  });
  if (options.transport !== 'stdio') gateway.url = await within(gateway.listening.promise, 'listening line');
  return gateway;
}

// A request as text; an empty body gives no Content-Length.
export function httpText(line, headers, body = '') {
  const all = { Host: 'localhost', ...headers, ...(body && { 'Content-Length': Buffer.byteLength(body) }) };
  const fields = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${fields.join('')}\r\n${body}`;
}

// Sends bytes on a fresh connection; gives everything that came back until `enough` says so or the peer closed.
export function talk(port, bytes, { enough = () => false, ms = LIMIT_MS, host = '127.0.0.1' } = {}) {
  const socket = net.connect(port, host);
  const chunks = [];
  const done = deferred();
  const text = () => Buffer.concat(chunks).toString('latin1');
  socket.on('data', (c) => {
    chunks.push(c);
    if (enough(text())) done.resolve('answered');
  });
  socket.on('close', () => done.resolve('closed'));
  socket.on('error', () => done.resolve('closed'));
  socket.write(bytes);
  return within(done.promise, 'an answer or the end of the connection', ms)
    .catch(() => 'silent')
    .then((end) => {
      socket.destroy();
      return { end, text: text(), status: Number(/^HTTP\/1\.[01] (\d+)/.exec(text())?.[1] ?? 0) };
    });
}

/** A request that opens a session. */
export const INITIALIZE = requestText('0', 'initialize', {
  protocolVersion: LATEST,
  capabilities: {},
  clientInfo: { name: 'client', version: '1' },
});

/** What the listener for MCP takes, as [method, target]. */
export const MCP_PATHS = [
  ['POST', '/mcp'],
  ['GET', '/mcp'],
  ['DELETE', '/mcp'],
  ['POST', '/mcp/direct'],
  ['GET', '/sse'],
  ['POST', '/messages?sessionId=x'],
  ['OPTIONS', '/mcp'],
];

/** One request to such a target; a POST initializes unless there is another body. */
export async function askFor(port, method, target, headers, body = method === 'POST' ? INITIALIZE : '') {
  const bytes = httpText(`${method} ${target}`, { ...JSON_HEADERS, ...headers }, body);
  return talk(port, bytes, { enough: (text) => wholeResponse(text) || /event-stream/.test(text) });
}

// Is a whole HTTP response with a Content-Length there?
export function wholeResponse(text) {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return false;
  const length = /content-length: *(\d+)/i.exec(text.slice(0, head));
  return !length || text.length >= head + 4 + Number(length[1]);
}

export const alive = (pid) => {
  try {
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};
