// SPDX-License-Identifier: Apache-2.0
// Raw clients of 2026-07-28, the revision without a handshake, with the face of those in raw.mjs: every request says
// who asks; a question is part of an answer, and the request is made again with what the client says to it.
import http from 'node:http';

import { lines, Peer, RpcError } from '../servers/peer.mjs';
import { fetchRaw, JSON_HEADERS, STRUCTURED } from './raw.mjs';
import { headerValue, meta, mirrored, MODERN, nameOf, noteOfModern, resultOfModern, TASKS } from './rules.mjs';

const MAX_ROUNDS = 8;
const FOREVER_MS = 2 ** 30;
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const TERMINAL = ['completed', 'failed', 'cancelled'];

const key = (id) => JSON.stringify(id);

class ModernClient extends Peer {
  modern = true;
  rev = MODERN;
  problems = []; // rules that the other side broke
  rounds = []; // what was asked, a list of methods for each input_required
  running = new Map(); // id → the request, from when it is sent until it is answered
  schemas = new Map(); // of the tools that were listed
  #count = 0;
  #left = new Set(); // ids of requests that were cancelled: what crosses with that breaks no rule

  constructor({ capabilities = {}, label = `client ${MODERN}`, info = { name: 'raw', version: '1' },
    structured = true } = {}) {
    super({ label });
    Object.assign(this, { capabilities, info, structured });
  }

  envelope({ capabilities = this.capabilities, logLevel = this.logLevel } = {}) {
    return {
      [meta('protocolVersion')]: MODERN,
      [meta('clientInfo')]: this.info,
      [meta('clientCapabilities')]: capabilities,
      ...(logLevel && { [meta('logLevel')]: logLevel }),
      ...(this.structured && { [STRUCTURED]: true }),
    };
  }

  request(method, params = {}, options = {}) {
    return super.request(method, { ...params, _meta: { ...this.envelope(options), ...params._meta } }, options);
  }

  // Makes a request until it is no longer answered by questions; gives the last answer.
  async converse(method, params, { rawId, ...options } = {}) {
    let more = {};
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const answer = await this.request(method, { ...params, ...more }, { ...options, ...(round === 0 && { rawId }) });
      if (answer.result?.resultType !== 'input_required') return answer;
      more = await this.respond(answer.result);
    }
    throw new Error(`${method}: still a question after ${MAX_ROUNDS} rounds`);
  }

  async respond({ inputRequests, requestState }) {
    const asked = Object.entries(inputRequests ?? {});
    this.rounds.push(asked.map(([, question]) => question.method));
    const answers = asked.map(async ([name, { method, params }]) => [name, await this.handlers.get(method)(params)]);
    return {
      ...(inputRequests && { inputResponses: Object.fromEntries(await Promise.all(answers)) }),
      ...(requestState !== undefined && { requestState }),
    };
  }

  async ask(method, params, options) {
    const { result, error } = await this.converse(method, params, options);
    if (error) throw new RpcError(error.code, error.message, error.data);
    return result;
  }

  receive(text, ctx) {
    try {
      this.#inspect(JSON.parse(text), ctx);
    } catch (e) {
      this.problems.push(`${e.message}: ${text}`);
    }
    super.receive(text, ctx);
  }

  #inspect(msg, ctx) {
    const say = (wrong) => this.problems.push(...wrong);
    if (Array.isArray(msg)) return say(['a batch']);
    if (msg.method !== undefined && msg.id !== undefined) return say([`a request ${msg.method}: it cannot be asked`]);
    if (msg.method === undefined) return this.#inspectAnswer(msg, say);
    const about = this.#about(msg, ctx);
    if (about === 'left') return undefined;
    say(noteOfModern(msg, about));
    if (about && msg.method === ACKNOWLEDGED) about.acknowledged = true;
    return undefined;
  }

  #inspectAnswer(msg, say) {
    const request = this.running.get(key(msg.id));
    this.running.delete(key(msg.id));
    if (!request && !this.#left.has(key(msg.id))) say([`an answer to nothing that was asked: ${key(msg.id)}`]);
    if (request && msg.result !== undefined) say(resultOfModern(msg.result, request));
  }

  // The request that a notification is about: by what it says, and on HTTP also by the stream that it came on.
  #about(msg, ctx) {
    const subscription = msg.params?._meta?.[meta('subscriptionId')];
    const token = msg.params?.progressToken;
    const own = ctx && this.running.get(ctx.key);
    if (this.#left.has(ctx ? ctx.key : key(subscription))) return 'left';
    const fits = (request) => {
      if (msg.method === 'notifications/progress') return request.params._meta.progressToken === token;
      if (msg.method === 'notifications/message') return request.params._meta[meta('logLevel')] !== undefined;
      return subscription !== undefined && key(request.id) === key(subscription);
    };
    if (ctx) return own && fits(own) ? own : undefined;
    return [...this.running.values()].find(fits);
  }

  // What was sent is remembered until it is answered.
  note(text) {
    const msg = JSON.parse(text);
    if (msg.id !== undefined) this.running.set(key(msg.id), msg);
    return msg;
  }

  leave(rawId) {
    this.#left.add(rawId);
    this.running.delete(rawId);
  }

  // ---- what differs between the eras, under the names that raw.mjs has for it

  async connect() {
    this.server = await this.ask('server/discover');
    return this;
  }

  async listAll(method, member) {
    const all = [];
    let cursor;
    do {
      const page = await this.ask(method, cursor === undefined ? {} : { cursor });
      all.push(...page[member]);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    if (method === 'tools/list') for (const tool of all) this.schemas.set(tool.name, tool.inputSchema);
    return all;
  }

  tools() {
    return this.listAll('tools/list', 'tools');
  }

  roundTrip() {
    return this.ask('server/discover');
  }

  start(name, args = {}) {
    const rawId = key(`call ${++this.#count}`);
    const answer = this.request('tools/call', { name, arguments: args }, { rawId });
    answer.catch(() => {}); // cancelled, it is never answered
    const cancel = async (reason) => {
      this.leave(rawId);
      await this.cancel(rawId, reason);
    };
    return { answer, cancel, abandon: () => this.abandon(rawId) };
  }

  // A subscriptions/listen stream: gives what was acknowledged, what comes, and a way to end it.
  async listen(notifications, options = {}) {
    const id = `listen ${++this.#count}`;
    const mine = (method) => (e) => e.msg?.method === method && e.msg.params?._meta?.[meta('subscriptionId')] === id;
    const how = { ...options, rawId: key(id), ms: FOREVER_MS };
    const ended = this.request('subscriptions/listen', { notifications }, how);
    const refused = ended.then(({ error }) => {
      throw new RpcError(error?.code ?? 0, error?.message ?? 'the subscription ended at once');
    });
    refused.catch(() => {});
    const ack = await Promise.race([this.next(mine(ACKNOWLEDGED), `${ACKNOWLEDGED} for ${id}`), refused]);
    return {
      honoured: ack.msg.params.notifications,
      ended,
      next: async (method) => (await this.next(mine(method), `${method} for ${id}`)).msg.params,
      drop: (method) => (this.inbox.entries = this.inbox.entries.filter((e) => !mine(method)(e))),
      close: async () => {
        this.leave(key(id));
        await this.cancel(key(id));
        this.abandon(key(id));
      },
    };
  }

  watchTools() {
    return this.listen({ toolsListChanged: true });
  }

  watchResource(uri) {
    return this.listen({ resourceSubscriptions: [uri] });
  }

  setLevel(level) {
    this.logLevel = level;
  }

  // With tasks the client says that it knows the extension.
  #tasking() {
    return { capabilities: { ...this.capabilities, extensions: { [TASKS]: {} } } };
  }

  async makeTask(name, args = {}) {
    const { resultType, ...task } = await this.ask('tools/call', { name, arguments: args }, this.#tasking());
    if (resultType !== 'task') throw new Error(`${name}: no task but ${JSON.stringify(task)}`);
    return task;
  }

  getTask(taskId) {
    return this.ask('tasks/get', { taskId }, this.#tasking());
  }

  watchTask(taskId) {
    return this.listen({ taskIds: [taskId] }, this.#tasking());
  }

  cancelTask(taskId) {
    return this.ask('tasks/cancel', { taskId }, this.#tasking());
  }

  // Follows a task to its end, and answers what it asks.
  async taskResult(taskId) {
    for (;;) {
      const task = await this.getTask(taskId);
      if (TERMINAL.includes(task.status)) {
        if (task.error) throw new RpcError(task.error.code, task.error.message, task.error.data);
        return task.result;
      }
      if (task.status === 'input_required' && Object.keys(task.inputRequests ?? {}).length) {
        const { inputResponses } = await this.respond(task);
        await this.ask('tasks/update', { taskId, inputResponses }, this.#tasking());
      }
      await new Promise((resolve) => setTimeout(resolve, task.pollIntervalMs ?? 10)); // the server says how often
    }
  }
}

// Which HTTP status a JSON answer has to come with.
const statusOf = (error) => ({ '-32601': 404, '-32020': 400, '-32021': 400, '-32022': 400 })[error?.code] ?? 200;

export class ModernHttpClient extends ModernClient {
  http = true;
  #exchanges = new Map();

  constructor(base, { path: endpoint = '/mcp', headers = {}, ...rest } = {}) {
    super(rest);
    this.url = base + endpoint;
    this.extra = headers;
    this.agent = new http.Agent({ keepAlive: true });
  }

  headers(msg) {
    const h = { ...JSON_HEADERS, ...this.extra, 'mcp-protocol-version': MODERN, 'mcp-method': msg.method };
    const name = nameOf(msg);
    if (name !== undefined) h['mcp-name'] = headerValue(name);
    if (msg.method === 'tools/call') {
      const params = mirrored(this.schemas.get(name), msg.params.arguments);
      for (const [header, value] of params) h[header] = headerValue(value);
    }
    return h;
  }

  // One POST. What comes back is dispatched with ctx, which names the request that it came for.
  async transmit(text, _, waiting) {
    const msg = this.note(text);
    const ctx = { key: key(msg.id) };
    const exchange = fetchRaw(this.url, {
      method: 'POST',
      headers: { ...this.headers(msg), 'content-length': Buffer.byteLength(text) },
      body: text,
      agent: this.agent,
      onEvent: (event) => event.data && this.receive(event.data, ctx),
    });
    this.#exchanges.set(ctx.key, exchange.request);
    try {
      await this.#take(await exchange, ctx, waiting);
    } finally {
      this.#exchanges.delete(ctx.key);
    }
  }

  async #take(r, ctx, waiting) {
    if (r.headers['mcp-session-id'] !== undefined) this.problems.push('a session');
    if (r.streaming) {
      if (r.status !== 200) this.problems.push(`a stream with status ${r.status}`);
      await r.ended;
      waiting?.reject(new Error('the stream ended without the answer')); // nothing happens when it was there
      return;
    }
    if (!/^application\/json/.test(r.headers['content-type'] ?? '')) throw new Error(`HTTP ${r.status} ${r.text}`);
    const { error } = JSON.parse(r.text);
    const malformed = error?.code === -32602 && r.status === 400; // the envelope was not in order
    if (r.status !== statusOf(error) && !malformed) this.problems.push(`HTTP ${r.status} ${r.text}`);
    this.receive(r.text, ctx);
  }

  // A request ends with its connection.
  cancel(rawId) {
    this.#exchanges.get(rawId)?.destroy();
  }

  async close() {
    for (const exchange of this.#exchanges.values()) exchange.destroy();
    this.agent.destroy();
  }
}

// A server as a child on stdio: the gateway, or anything else that has child, exited and stop().
export class ModernStdioClient extends ModernClient {
  constructor(program, options) {
    super(options);
    this.gateway = program;
    lines(program.child.stdout, (line) => this.receive(line));
    program.exited.then(() => this.fail(new Error('the server ended')));
  }

  transmit(text) {
    this.note(text);
    this.gateway.child.stdin.write(text + '\n');
  }

  cancel(rawId, reason) {
    return this.notify('notifications/cancelled', { requestId: JSON.parse(rawId), ...(reason && { reason }) });
  }

  close() {
    return this.gateway.stop();
  }
}
