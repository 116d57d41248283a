// SPDX-License-Identifier: Apache-2.0
// Both sides of 2026-07-28, the revision without sessions, for tests of the bridge between the eras: clients that send
// what a test says, right or wrong, and servers of either era whose tools are functions of the test.
import http from 'node:http';

import { HttpUpstream, SseUpstream, StdioUpstream } from '../servers/upstream.mjs';
import { deferred, fetchRaw, Inbox, JSON_HEADERS, Peer, Raw, RpcError, StdioClient, within } from './raw.mjs';

export const MODERN = '2026-07-28';
export const key = (name) => `io.modelcontextprotocol/${name}`;
export const ASKABLE = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
export const TASKS = 'io.modelcontextprotocol/tasks';

const INFO = { name: 'raw', version: '1' };

/** What `_meta` of a request says: `level` is its logLevel, `more` is added as it is. */
export const metaOf = ({ version = MODERN, capabilities = {}, client = INFO, level, more }) => ({
  [key('protocolVersion')]: version,
  [key('clientCapabilities')]: capabilities,
  [key('clientInfo')]: client,
  ...(level && { [key('logLevel')]: level }),
  ...more,
});

const NAMED = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** The headers that repeat what the body says. */
export const mirrored = (method, params = {}, version = MODERN) => ({
  'mcp-protocol-version': version,
  'mcp-method': method,
  ...(NAMED[method] && params[NAMED[method]] !== undefined && { 'mcp-name': params[NAMED[method]] }),
});

/** One request on HTTP and what comes back. */
class Exchange {
  inbox = new Inbox(); // notifications, as { msg }
  notes = []; // the same, in order, whether or not somebody took them
  #answer = deferred();

  constructor(url, { id, body, headers, agent }) {
    this.id = id;
    const sent = fetchRaw(url, {
      method: 'POST',
      headers: { ...JSON_HEADERS, 'content-length': Buffer.byteLength(body), ...headers },
      body,
      agent,
      onEvent: (event) => event.data && this.#receive(event.data),
    });
    this.request = sent.request;
    this.head = sent.then((r) => this.#begin(r));
    this.head.catch((e) => this.#answer.reject(e));
  }

  #begin(r) {
    Object.assign(this, { status: r.status, headers: r.headers, streaming: r.streaming, ended: r.ended, text: r.text });
    if (r.streaming) r.ended.then(() => this.#answer.reject(new Error(`the stream ended without the answer`)));
    else if (r.text) this.#receive(r.text);
    else this.#answer.resolve({ status: r.status });
    return this;
  }

  #receive(text) {
    let msg;
    try {
      msg = JSON.parse(text);
    } catch {
      this.#answer.resolve({ status: this.status, text });
      return;
    }
    if (msg.method === undefined) {
      const { status, notes } = this;
      this.#answer.resolve({ status, raw: text, msg, result: msg.result, error: msg.error, notes });
      return;
    }
    this.notes.push(msg);
    this.inbox.add({ msg });
  }

  /** `{ status, msg, raw, result, error, notes }`. */
  answer() {
    return within(this.#answer.promise, `the answer to request ${this.id}`);
  }

  next(method) {
    return this.inbox.next(method).then((e) => e.msg);
  }

  close() {
    this.request.destroy();
  }
}

/** A stateless client on HTTP. What it says of itself may differ from request to request. */
export class HttpCaller {
  #lastId = 0;

  constructor(url, { capabilities = {}, client, token } = {}) {
    this.url = url.endsWith('/mcp') ? url : `${url}/mcp`;
    Object.assign(this, { capabilities, client });
    this.extra = token ? { authorization: `Bearer ${token}` } : {};
    this.agent = new http.Agent({ keepAlive: true });
  }

  /** Sends bytes as they are. */
  post(body, headers = {}, id = undefined) {
    return new Exchange(this.url, { id, body, headers: { ...this.extra, ...headers }, agent: this.agent });
  }

  /** Starts a request and gives its exchange. `headers` replace those that repeat the body; undefined omits one. */
  start(method, params = {}, { id = ++this.#lastId, headers = {}, meta = {}, args } = {}) {
    const said = metaOf({ capabilities: this.capabilities, client: this.client, ...meta });
    const body = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":${JSON.stringify(method)},"params":{${[
      ...Object.entries(params).map(([k, v]) => `${JSON.stringify(k)}:${JSON.stringify(v)}`),
      ...(args === undefined ? [] : [`"arguments":${args}`]),
      `"_meta":${JSON.stringify(said)}`,
    ].join(',')}}}`;
    const all = { ...mirrored(method, params, meta.version), ...headers };
    return this.post(body, Object.fromEntries(Object.entries(all).filter(([, v]) => v !== undefined)), id);
  }

  send(method, params, options) {
    return this.start(method, params, options).answer();
  }

  /** Calls a tool; `more` are further members of params, such as inputResponses and requestState. */
  call(name, args = {}, more = {}, options = {}) {
    return this.send('tools/call', { name, arguments: args, ...more }, options);
  }

  /** Opens a listen stream and gives it when it is acknowledged, with what was. */
  async listen(notifications, options) {
    const stream = this.start('subscriptions/listen', { notifications }, options);
    stream.acknowledged = (await stream.next('notifications/subscriptions/acknowledged')).params;
    return stream;
  }

  close() {
    this.agent.destroy();
  }
}

/** A stateless client that has Toolgate as its child. */
export class StdioCaller extends StdioClient {
  constructor(gateway, { client, ...options } = {}) {
    super(gateway, options);
    this.client = client;
  }

  async send(method, params = {}, { id, meta = {} } = {}) {
    const _meta = metaOf({ capabilities: this.capabilities, client: this.client, ...meta });
    const { msg, raw, result, error } = await this.request(
      method,
      { ...params, _meta },
      id === undefined ? {} : { rawId: JSON.stringify(id) },
    );
    return { msg, raw, result, error };
  }

  call(name, args = {}, more = {}, options = {}) {
    return this.send('tools/call', { name, arguments: args, ...more }, options);
  }
}

export const text = (value) => ({ content: [{ type: 'text', text: value }] });
export const form = (message) => ({
  mode: 'form',
  message,
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
});
export const accept = (name) => ({ action: 'accept', content: { name } });

/** A server with a session asks its client; gives the answer, or throws the client's error. */
export const ask = (entry, method, params) => entry.peer.ask(method, params, { ctx: entry.ctx });
/** What a stateless server asks. */
export const inputRequired = (inputRequests, requestState) => ({
  resultType: 'input_required',
  ...(inputRequests && { inputRequests }),
  ...(requestState !== undefined && { requestState }),
});

const ANY = { type: 'object', properties: {}, additionalProperties: true };
const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  logging: {},
};

/**
 * Gives a server its behaviour. `tools`: name → function of (arguments, entry), or { run, ...members of its
 * definition }; entry has the message, its connection (`peer`) and, on HTTP, its exchange (`ctx`).
 */
function script(up, { tools = {}, resources = [], prompts = {}, capabilities = CAPABILITIES }) {
  const all = Object.entries(tools).map(([name, t]) => (typeof t === 'function' ? { name, run: t } : { name, ...t }));
  up.tools = all.map(({ run, ...definition }) => ({ inputSchema: ANY, ...definition }));
  up.calls = 0;
  up.offers = capabilities;
  const runs = new Map(all.map((t) => [t.name, t.run]));
  up.on('tools/list', () => ({ tools: up.tools }));
  up.on('tools/call', ({ name, arguments: args = {} }, entry) => {
    up.calls++;
    if (!runs.has(name)) throw new RpcError(-32602, `unknown tool ${name}`);
    return runs.get(name)(args, entry);
  });
  up.on('resources/list', () => ({ resources: resources.map((uri) => ({ uri, name: uri })) }));
  up.on('resources/templates/list', () => ({ resourceTemplates: [] }));
  up.on('resources/read', ({ uri }) => {
    if (!resources.includes(uri)) throw new RpcError(up.modern ? -32602 : -32002, 'Resource not found', { uri });
    return { contents: [{ uri, text: `contents of ${uri}` }] };
  });
  up.on('prompts/list', () => ({ prompts: Object.keys(prompts).map((name) => ({ name })) }));
  up.on('prompts/get', ({ name }, entry) => prompts[name](entry));
  return up;
}

const HANDSHAKE = { http: HttpUpstream, sse: SseUpstream, stdio: StdioUpstream };

/** A scripted server of the revisions with a handshake. */
export async function handshakeServer(kind, { rev = '2025-11-25', name, entry, flags, ...behaviour } = {}) {
  const up = script(await new HANDSHAKE[kind]({ name, rev, entry, flags }).open(), behaviour);
  up.on('initialize', (params, { peer }) => {
    peer.init = params;
    return { protocolVersion: rev, capabilities: up.offers, serverInfo: { name: up.name, version: '1' } };
  });
  up.on('ping', () => ({}));
  up.on('logging/setLevel', ({ level }, { peer }) => {
    peer.level = level;
    return {};
  });
  for (const [method, change] of [['subscribe', 'add'], ['unsubscribe', 'delete']])
    up.on(`resources/${method}`, ({ uri }, { peer }) => {
      (peer.uris ??= new Set())[change](uri);
      return {};
    });
  up.updated = (uri) => {
    const watching = up.connections.filter((c) => c.uris?.has(uri));
    return Promise.all(watching.map((c) => c.notify('notifications/resources/updated', { uri })));
  };
  return up;
}

const CACHED = [
  'server/discover', 'tools/list', 'resources/list', 'resources/templates/list', 'prompts/list', 'resources/read',
];
const STATUS = { '-32601': 404, '-32020': 400, '-32021': 400, '-32022': 400 };

const complete = (method, result) => ({
  resultType: 'complete',
  ...(CACHED.includes(method) && { ttlMs: 0, cacheScope: 'private' }),
  ...result,
});

/** Makes a stateless server of what has handlers: results are completed, listen streams are kept. */
function stateless(up) {
  up.modern = true;
  up.listens = new Set(); // { id, peer, ctx, wishes }
  const plain = up.on.bind(up);
  up.on = (method, handler) =>
    plain(method, async (params, entry) => {
      const result = await handler(params, entry);
      return result === undefined || result instanceof Raw ? result : complete(method, result);
    });
  up.tell = ({ id, peer, ctx }, method, params = {}) =>
    peer.notify(method, { ...params, _meta: { [key('subscriptionId')]: id } }, ctx);
  up.on('server/discover', () => ({ supportedVersions: [MODERN], capabilities: up.offers }));
  up.on('subscriptions/listen', ({ notifications }, { msg, peer, ctx }) => {
    const listen = { id: msg.id, peer, ctx, wishes: notifications };
    up.listens.add(listen);
    const end = () => up.listens.delete(listen) && up.inbox.add({ unlistened: listen });
    (ctx?.closed ?? peer.closed)?.promise.then(end);
    listen.end = end;
    up.tell(listen, 'notifications/subscriptions/acknowledged', { notifications });
    up.inbox.add({ listened: listen });
  });
  plain('notifications/cancelled', ({ requestId }, { peer }) => {
    for (const l of up.listens) if (l.peer === peer && l.id === requestId) l.end();
  });
  up.updated = (uri) =>
    Promise.all([...up.listens].filter((l) => l.wishes.resourceSubscriptions?.includes(uri))
      .map((l) => up.tell(l, 'notifications/resources/updated', { uri })));
  return up;
}

/** All exchanges of a stateless server on HTTP: there are no sessions, so it is one peer. */
class Exchanges extends Peer {
  transmit(line, { res }) {
    const { method, error } = JSON.parse(line);
    if (method === undefined && !res.headersSent) {
      res.writeHead(STATUS[error?.code] ?? 200, { 'content-type': 'application/json' }).end(line);
      return;
    }
    if (!res.headersSent) res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(`data: ${line}\n\n`);
    if (method === undefined) res.end();
  }
}

class StatelessHttp extends HttpUpstream {
  async open() {
    this.peer = new Exchanges({ label: this.name, inbox: this.inbox, handlers: this.handlers });
    return super.open();
  }

  handle(req, res, body) {
    if (this.intercept?.(req, res, body)) return;
    if (req.method !== 'POST') {
      res.writeHead(405).end();
      return;
    }
    const msg = JSON.parse(body);
    if (msg.id === undefined) {
      res.writeHead(202).end();
      this.peer.receive(body, { req });
      return;
    }
    if (msg.method === 'initialize') {
      const error = { code: -32022, message: 'stateless', data: { supported: [MODERN] } };
      const answer = JSON.stringify({ jsonrpc: '2.0', id: msg.id, error });
      res.writeHead(400, { 'content-type': 'application/json' }).end(answer);
      return;
    }
    const ctx = { req, res, closed: deferred() };
    res.on('close', () => {
      if (res.writableFinished) return;
      ctx.closed.resolve();
      this.inbox.add({ closed: msg });
    });
    this.peer.receive(body, ctx);
  }
}

/** A scripted server of 2026-07-28. */
export async function statelessServer(kind, { name, entry, flags, ...behaviour } = {}) {
  const Server = kind === 'http' ? StatelessHttp : StdioUpstream;
  return script(stateless(await new Server({ name, rev: MODERN, entry, flags }).open()), behaviour);
}

/** Both eras under one name, for tests that are run with each. */
export const SERVERS = { handshake: handshakeServer, stateless: statelessServer };

/** Waits until the server hears, in the manner of its era and transport, that the request `msg` was cancelled. */
export function cancelled(up, { msg }) {
  const told = (e) => e.msg?.method === 'notifications/cancelled' && e.msg.params.requestId === msg.id;
  return up.next((e) => told(e) || e.closed?.id === msg.id, `the end of ${msg.method}`);
}
