// SPDX-License-Identifier: Apache-2.0
// Scripted upstream servers of any revision, without an SDK. Their logic runs inside the test, whatever the
// transport: a test sees every message that reaches a server, with its bytes, and decides what is answered.
import crypto from 'node:crypto';
import http from 'node:http';
import net from 'node:net';
import { fileURLToPath } from 'node:url';

import { toHandshakeServer } from '../lib/rules.mjs';
import { deferred, Inbox, lines, Peer, within } from './peer.mjs';

const PIPE = fileURLToPath(new URL('./pipe.mjs', import.meta.url));

// One connection of the gateway to an upstream: a process, an HTTP session, or an event stream.
export class Connection extends Peer {
  closed = deferred();

  constructor(upstream) {
    super({ label: upstream.name, inbox: upstream.inbox, handlers: upstream.handlers });
    this.upstream = upstream;
    upstream.connections.push(this);
    this.closed.promise.then(() => {
      upstream.connections = upstream.connections.filter((c) => c !== this);
      this.fail(new Error('connection closed'));
    });
  }

  receive(text, ctx) {
    this.upstream.inspect(text, this);
    super.receive(text, ctx);
    if (text.includes('"notifications/initialized"')) {
      this.ready = true;
      this.upstream.inbox.add({ ready: this, peer: this });
    }
  }
}

class Upstream {
  connections = [];
  handlers = new Map();
  inbox = new Inbox();
  problems = []; // rules that the gateway broke

  constructor({ name = 'upstream', rev = '2025-11-25', flags = [], env, entry = {} } = {}) {
    Object.assign(this, { name, rev, flags, env, entry });
  }

  next(match, what, ms) {
    return this.inbox.next(match, `${what ?? match} at ${this.name}`, ms);
  }

  on(method, handler) {
    this.handlers.set(method, handler);
    return this;
  }

  inspect(text, connection) {
    try {
      this.problems.push(...toHandshakeServer(JSON.parse(text), { rev: this.rev, ready: connection.ready }));
    } catch (e) {
      this.problems.push(`${e.message}: ${text}`);
    }
  }

  // To every connection that has finished its handshake.
  async broadcast(method, params) {
    await Promise.all(this.connections.filter((c) => c.ready).map((c) => c.notify(method, params)));
  }

  // ---- what differs between the eras, under one name for both

  // What the server was told that the client of a call can do.
  told({ peer }) {
    return peer.init.capabilities;
  }

  // The level of log messages that whoever made a call wants; undefined: did not say.
  levelOf({ peer }) {
    return peer.level;
  }

  // Waits until the server hears that a call is cancelled; gives the reason.
  async cancelled({ msg, peer }) {
    const own = (e) => e.msg?.method === 'notifications/cancelled' && e.msg.params.requestId === msg.id;
    return (await this.next((e) => own(e) && e.peer === peer, 'notifications/cancelled')).msg.params.reason;
  }

  changed(kind) {
    return this.broadcast(`notifications/${kind}/list_changed`);
  }

  async subscribed(uri) {
    await this.next((e) => e.msg?.method === 'resources/subscribe' && e.msg.params.uri === uri, 'resources/subscribe');
  }

  async unsubscribed(uri) {
    const asked = (e) => e.msg?.method === 'resources/unsubscribe' && e.msg.params.uri === uri;
    await this.next(asked, 'resources/unsubscribe');
  }

  async updated(uri) {
    const watching = this.connections.filter((c) => c.watched?.has(uri));
    await Promise.all(watching.map((c) => c.notify('notifications/resources/updated', { uri })));
  }
}

class StdioConnection extends Connection {
  constructor(upstream, socket, hello) {
    super(upstream);
    Object.assign(this, { socket, hello, pid: hello.pid });
    socket.on('close', () => this.closed.resolve());
  }

  transmit(text) {
    this.write(text + '\n');
  }

  write(bytes) {
    return this.socket.write(bytes);
  }
}

export class StdioUpstream extends Upstream {
  async open() {
    this.server = net.createServer((socket) => {
      let connection;
      socket.setNoDelay(true);
      socket.on('error', () => {});
      lines(socket, (line) => {
        if (connection) connection.receive(line);
        else {
          connection = new StdioConnection(this, socket, JSON.parse(line));
          this.inbox.add({ connected: connection, peer: connection });
        }
      });
    });
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  config() {
    const args = [PIPE, String(this.server.address().port), ...this.flags];
    return { command: process.execPath, args, ...(this.env && { env: this.env }), ...this.entry };
  }

  close() {
    this.connections.forEach((c) => c.socket.destroy());
    this.server.close();
  }
}

export class HttpServer extends Upstream {
  sessions = new Map();
  requests = []; // method, url, headers of every HTTP request, in order

  async open() {
    this.server = http.createServer({ keepAliveTimeout: 60_000 }, (req, res) => {
      this.requests.push({ method: req.method, url: req.url, headers: req.headers, rawHeaders: req.rawHeaders });
      let body = '';
      req.setEncoding('utf8');
      req.on('data', (chunk) => (body += chunk));
      req.on('end', () => this.handle(req, res, body));
      req.on('error', () => {});
      res.on('error', () => {});
    });
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.base = `http://127.0.0.1:${this.server.address().port}`;
    return this;
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

export const SSE_HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };
const event = (text, id) =>
  `${id === undefined ? '' : `id: ${id}\n`}event: message\n${text
    .split('\n')
    .map((l) => `data: ${l}\n`)
    .join('')}\n`;

// Says something on the response of a POST: plain JSON if the first thing said is the answer, an event stream
// otherwise.
export function say(text, ctx, { stream = false, status = 200 } = {}) {
  const answer = /^\{"jsonrpc":"2.0","id":[^{]*?"(result|error)":/.test(text);
  const { res } = ctx;
  if (answer && !res.headersSent && !stream) {
    res.writeHead(status, { 'content-type': 'application/json', ...ctx.headers }).end(text);
    return;
  }
  if (!res.headersSent) res.writeHead(200, { ...SSE_HEADERS, ...ctx.headers });
  res.write(event(text));
  if (answer) res.end();
}

// A session of Streamable HTTP. ctx of a message is the POST that brought it.
class HttpConnection extends Connection {
  id = crypto.randomUUID();
  stream = deferred(); // the response of the GET

  // Answers on the POST's own response when there is one. What belongs to no request goes to the stream of the GET.
  async transmit(text, ctx) {
    if (ctx?.res) {
      say(text, ctx, { stream: this.upstream.alwaysStream });
      return;
    }
    const stream = await within(this.stream.promise, `GET stream at ${this.upstream.name}`);
    stream.write(event(text));
  }
}

export class HttpUpstream extends HttpServer {
  config() {
    return { type: 'http', url: `${this.base}/mcp`, ...this.entry };
  }

  handle(req, res, body) {
    if (this.intercept?.(req, res, body)) return;
    const connection = this.sessions.get(req.headers['mcp-session-id']);
    if (req.method === 'POST' && JSON.parse(body).method === 'initialize') this.#start(req, res, body);
    else if (!req.headers['mcp-session-id']) res.writeHead(400).end('no session');
    else if (!connection) res.writeHead(404).end('no such session');
    else if (req.method === 'POST') this.#message(connection, req, res, body);
    else if (req.method === 'GET') this.#listen(connection, res);
    else if (req.method === 'DELETE') this.#end(connection, res);
    else res.writeHead(405).end();
  }

  #start(req, res, body) {
    const connection = new HttpConnection(this);
    this.sessions.set(connection.id, connection);
    connection.receive(body, { res, req, headers: { 'mcp-session-id': connection.id } });
  }

  #message(connection, req, res, body) {
    const isRequest = /"method"/.test(body) && JSON.parse(body).id !== undefined;
    if (!isRequest) res.writeHead(202).end();
    connection.receive(body, isRequest ? { res, req } : { req });
  }

  #listen(connection, res) {
    if (this.noStream) {
      res.writeHead(405).end();
      return;
    }
    res.writeHead(200, SSE_HEADERS);
    res.flushHeaders();
    connection.stream.resolve(res);
    connection.listener = res;
  }

  #end(connection, res) {
    this.forget(connection);
    res.writeHead(200).end();
  }

  // As if the server had restarted: the session is unknown from now on.
  forget(connection) {
    this.sessions.delete(connection.id);
    connection.listener?.end();
    connection.closed.resolve();
  }
}

class SseConnection extends Connection {
  id = crypto.randomUUID();

  constructor(upstream, res) {
    super(upstream);
    this.res = res;
    res.on('close', () => {
      upstream.sessions.delete(this.id);
      this.closed.resolve();
    });
  }

  transmit(text) {
    this.res.write(event(text));
  }
}

export class SseUpstream extends HttpServer {
  config() {
    return { type: 'sse', url: `${this.base}/sse`, ...this.entry };
  }

  handle(req, res, body) {
    const url = new URL(req.url, this.base);
    if (this.intercept?.(req, res, body)) return;
    if (req.method === 'GET' && url.pathname === '/sse') this.#open(res);
    else if (req.method === 'POST' && url.pathname === '/message')
      this.#message(url.searchParams.get('sessionId'), req, res, body);
    else res.writeHead(404).end();
  }

  #open(res) {
    const connection = new SseConnection(this, res);
    this.sessions.set(connection.id, connection);
    res.writeHead(200, SSE_HEADERS);
    res.write(`event: endpoint\ndata: /message?sessionId=${connection.id}\n\n`);
  }

  #message(id, req, res, body) {
    const connection = this.sessions.get(id);
    if (!connection) {
      res.writeHead(404).end();
      return;
    }
    res.writeHead(202).end('Accepted');
    connection.receive(body, { req });
  }
}

export const TRANSPORTS = { stdio: StdioUpstream, http: HttpUpstream, sse: SseUpstream };
