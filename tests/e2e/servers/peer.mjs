// SPDX-License-Identifier: Apache-2.0
// One side of a JSON-RPC conversation without an SDK: exact control of ids and bytes, on the side of a client as on
// that of a server. Nothing waits by time; everything waits for something that happens, with a limit.
export const LIMIT_MS = 15_000;

export class RpcError extends Error {
  constructor(code, message, data) {
    super(message);
    Object.assign(this, { code, data });
  }
}

// Text that goes onto the wire as it is, where otherwise a value would be serialised.
export class Raw {
  constructor(text) {
    this.text = text;
  }
}

const write = (value) => (value instanceof Raw ? value.text : JSON.stringify(value));
const member = (name, value) => (value === undefined ? '' : `,${JSON.stringify(name)}:${write(value)}`);

export const requestText = (rawId, method, params) =>
  `{"jsonrpc":"2.0","id":${rawId}${member('method', method)}${member('params', params)}}`;
export const notificationText = (method, params) =>
  `{"jsonrpc":"2.0"${member('method', method)}${member('params', params)}}`;
export const resultText = (rawId, result) => `{"jsonrpc":"2.0","id":${rawId}${member('result', result)}}`;
export const errorText = (rawId, { code, message, data, text }) =>
  `{"jsonrpc":"2.0","id":${rawId}${member('error', text ? new Raw(text) : { code, message, data })}}`;

// The source text of the value at a path of keys and indexes; undefined when there is none.
export function spanOf(text, keys) {
  let at = 0;
  const blank = () => {
    while (' \t\r\n'.includes(text[at]) && at < text.length) at++;
  };
  const string = () => {
    const from = at++;
    while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
    at++;
    return text.slice(from, at);
  };
  function value(rest) {
    blank();
    const from = at;
    let found;
    if (text[at] === '{' || text[at] === '[') {
      const object = text[at] === '{';
      at++;
      blank();
      for (let i = 0; text[at] !== '}' && text[at] !== ']'; i++) {
        let key = i;
        if (object) {
          key = JSON.parse(string());
          blank();
          at++;
        }
        const inner = value(rest && rest[0] === key ? rest.slice(1) : undefined);
        if (rest && rest[0] === key) found = inner;
        blank();
        if (text[at] === ',') at++;
        blank();
      }
      at++;
    } else if (text[at] === '"') {
      string();
    } else {
      while (at < text.length && !',]} \t\r\n'.includes(text[at])) at++;
    }
    return rest?.length === 0 ? text.slice(from, at) : found;
  }
  return value(keys);
}

export const deferred = () => {
  const d = {};
  d.promise = new Promise((resolve, reject) => Object.assign(d, { resolve, reject }));
  d.promise.catch(() => {});
  return d;
};

export function within(promise, what, ms = LIMIT_MS) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${ms} ms: ${what}`)), ms);
    timer.unref(); // what is waited for keeps the program running, not the waiting
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// What arrived and was not asked for yet.
export class Inbox {
  entries = [];
  #waiters = new Set();

  add(entry) {
    for (const w of this.#waiters) {
      if (!w.match(entry)) continue;
      this.#waiters.delete(w);
      w.resolve(entry);
      return;
    }
    this.entries.push(entry);
  }

  // The first entry that matches (a method name, or a function), now or later; it is taken out.
  next(match, what = String(match), ms = LIMIT_MS) {
    const test = typeof match === 'string' ? (e) => e.msg?.method === match : match;
    const i = this.entries.findIndex(test);
    if (i >= 0) return Promise.resolve(this.entries.splice(i, 1)[0]);
    const w = { ...deferred(), match: test };
    this.#waiters.add(w);
    return within(w.promise, `message ${what}`, ms).finally(() => this.#waiters.delete(w));
  }

  has(match) {
    return this.entries.some(typeof match === 'string' ? (e) => e.msg?.method === match : match);
  }
}

// One side of a JSON-RPC conversation. A subclass gives transmit(text, ctx); ctx names the stream, if it matters.
export class Peer {
  #pending = new Map();
  #lastId = 0;

  constructor({ label = 'peer', inbox = new Inbox(), handlers = new Map() } = {}) {
    Object.assign(this, { label, inbox, handlers });
  }

  next(match, what, ms) {
    return this.inbox.next(match, `${what ?? match} at ${this.label}`, ms);
  }

  receive(text, ctx) {
    let msg;
    try {
      msg = JSON.parse(text);
    } catch {
      this.inbox.add({ invalid: true, raw: text, peer: this, ctx });
      return;
    }
    if (Array.isArray(msg)) msg.forEach((m, i) => this.#dispatch(m, spanOf(text, [i]), ctx));
    else this.#dispatch(msg, text, ctx);
  }

  #dispatch(msg, raw, ctx) {
    const entry = { msg, raw, peer: this, ctx };
    if (msg.method === undefined) {
      const waiting = this.#pending.get(JSON.stringify(msg.id));
      this.#pending.delete(JSON.stringify(msg.id));
      if (waiting) waiting.resolve({ ...entry, result: msg.result, error: msg.error });
      else this.inbox.add(entry);
      return;
    }
    this.inbox.add(entry);
    const handler = this.handlers.get(msg.method);
    if (msg.id !== undefined) this.#answer(handler, entry);
    else if (String(msg.method).startsWith('notifications/')) handler?.(msg.params, entry);
  }

  async #answer(handler, entry) {
    const rawId = spanOf(entry.raw, ['id']);
    let text;
    try {
      if (!handler) throw new RpcError(-32601, `no handler for ${entry.msg.method}`);
      const result = await handler(entry.msg.params, entry);
      if (result === undefined) return; // never answered, or answered by hand
      text = resultText(rawId, result);
    } catch (e) {
      text = errorText(rawId, e instanceof Raw || e.code ? e : new RpcError(-32603, String(e?.stack ?? e)));
    }
    await this.transmit(text, entry.ctx);
  }

  // Sends a request; gives the whole answer {msg, raw, result, error}.
  async request(method, params, { rawId = String(++this.#lastId), ctx, ms = LIMIT_MS } = {}) {
    const key = JSON.stringify(JSON.parse(rawId));
    const waiting = deferred();
    this.#pending.set(key, waiting);
    try {
      const sent = this.transmit(requestText(rawId, method, params), ctx, waiting);
      sent?.catch?.((e) => waiting.reject(e));
      return await within(waiting.promise, `answer to ${method} at ${this.label}`, ms);
    } finally {
      this.#pending.delete(key);
    }
  }

  // Sends a request; gives its result, or throws its error as RpcError.
  async ask(method, params, options) {
    const { result, error } = await this.request(method, params, options);
    if (error) throw new RpcError(error.code, error.message, error.data);
    return result;
  }

  notify(method, params, ctx) {
    return this.transmit(notificationText(method, params), ctx);
  }

  call(name, args = {}, options) {
    return this.ask('tools/call', { name, arguments: args, ...(options?.meta && { _meta: options.meta }) }, options);
  }

  // No longer waits for the answer to that request.
  abandon(rawId) {
    this.#pending.get(JSON.stringify(JSON.parse(rawId)))?.reject(new Error('abandoned'));
  }

  fail(error) {
    for (const w of this.#pending.values()) w.reject(error);
    this.#pending.clear();
  }
}

// Splits a byte stream into lines.
export function lines(stream, onLine) {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk) => {
    rest += chunk;
    const parts = rest.split('\n');
    rest = parts.pop();
    parts.forEach(onLine);
  });
}
