// SPDX-License-Identifier: Apache-2.0
// Scripted upstream servers of 2026-07-28, the revision without a handshake, with the face of those in upstream.mjs.
// They are strict: what the gateway gets wrong is refused, and kept in `problems`.
import { envelope, headersOf, meta, MODERN, QUESTIONS, CACHEABLE, toModernServer, WISHES } from '../lib/rules.mjs';
import { deferred, errorText, Raw, RpcError, within } from './peer.mjs';
import { Connection, HttpServer, say, StdioUpstream } from './upstream.mjs';

const KEEP = { ttlMs: 60_000, cacheScope: 'public' };

// Thrown by whatever needs something of the client before it can go on.
export class InputRequired extends Error {
  constructor(inputRequests, requestState) {
    super('input required');
    this.result = { resultType: 'input_required', inputRequests, ...(requestState !== undefined && { requestState }) };
  }
}

// What every modern server does, whatever carries its messages.
const Modern = (Base) =>
  class extends Base {
    modern = true;
    rev = MODERN;
    listens = new Set(); // streams of changes: { id, peer, wishes, ctx }
    states = new Map(); // every requestState that was given out, and for which request

    constructor(options) {
      super({ ...options, rev: MODERN });
      this.on('server/discover', () => ({ supportedVersions: [MODERN], capabilities: this.capabilities ?? {} }));
      this.on('subscriptions/listen', (params, entry) => this.#listen(params, entry));
      this.handlers.set('notifications/cancelled', ({ requestId }, { peer }) => {
        for (const l of this.listens) if (l.peer === peer && l.id === requestId) this.#unlisten(l);
      });
    }

    inspect(text) {
      try {
        this.problems.push(...toModernServer(JSON.parse(text), { http: this.http }));
      } catch (e) {
        this.problems.push(`${e.message}: ${text}`);
      }
    }

    // The handler gives a result as older revisions have it; what this one adds is added here.
    on(method, handler) {
      return super.on(method, async (params, entry) => {
        if (envelope(entry.msg).length) throw new RpcError(-32602, envelope(entry.msg)[0]);
        try {
          return this.#complete(method, await handler(params, entry));
        } catch (e) {
          if (e instanceof InputRequired) return this.#complete(method, e.result);
          throw e;
        }
      });
    }

    #complete(method, result) {
      if (result === undefined) return undefined;
      const serverInfo = { [meta('serverInfo')]: { name: this.tag ?? this.name, version: '1' } };
      if (result instanceof Raw) {
        return new Raw(`{"resultType":"complete","_meta":${JSON.stringify(serverInfo)},${result.text.slice(1)}`);
      }
      const complete = { resultType: 'complete', ...(CACHEABLE.includes(method) && KEEP) };
      return { ...(result.resultType ? {} : complete), ...result, _meta: { ...serverInfo, ...result._meta } };
    }

    // Asks the client of a request: { name: { method, params } } gives { name: { result } }. Either all that is asked
    // has been answered by this retry or an earlier one, or the request ends here with the questions. With `keep` the
    // answers go with the state, so that a later retry need not bring them again.
    async question(entry, questions, { keep = false } = {}) {
      const { inputResponses = {} } = entry.msg.params;
      const known = { ...this.#state(entry), ...inputResponses };
      for (const { method } of Object.values(questions)) {
        const requiredCapabilities = { [QUESTIONS[method]]: {} };
        if (this.told(entry)[QUESTIONS[method]]) continue;
        throw new RpcError(-32021, `the client cannot do ${method}`, { requiredCapabilities });
      }
      const open = Object.entries(questions).filter(([name]) => !Object.hasOwn(known, name));
      const answers = Object.keys(questions).map((name) => [name, { result: known[name] }]);
      if (!open.length) return Object.fromEntries(answers);
      throw new InputRequired(Object.fromEntries(open), keep ? this.#mint(entry, known) : undefined);
    }

    // Text that has to come back as it is, with what JSON and headers have trouble with.
    #mint({ msg }, known) {
      const state = `état ${this.states.size} "\\ \u{1f600} ${JSON.stringify(known)}`;
      this.states.set(state, { known, msg });
      return state;
    }

    #state({ msg }) {
      const { requestState, name, arguments: args } = msg.params;
      if (requestState === undefined) return {};
      const first = this.states.get(requestState);
      if (!first) {
        this.problems.push(`${msg.method} with a state that was not given: ${requestState}`);
        throw new RpcError(-32602, 'unknown requestState');
      }
      const same = JSON.stringify([first.msg.params.name, first.msg.params.arguments]) === JSON.stringify([name, args]);
      if (!same) this.problems.push(`${msg.method} with the state of another request`);
      if (first.msg.id === msg.id) this.problems.push(`${msg.method} made again under its first id`);
      return first.known;
    }

    #listen({ notifications }, { msg, peer, ctx }) {
      const listen = { id: msg.id, peer, ctx, wishes: notifications };
      this.listens.add(listen);
      const gone = ctx?.closed ?? peer.closed;
      gone.promise.then(() => this.#unlisten(listen));
      this.#tell(listen, 'notifications/subscriptions/acknowledged', { notifications });
      this.inbox.add({ listen });
    }

    #unlisten(listen) {
      if (this.listens.delete(listen)) this.inbox.add({ unlisten: listen });
    }

    #tell({ id, peer, ctx }, method, params = {}) {
      return peer.notify(method, { ...params, _meta: { [meta('subscriptionId')]: id } }, ctx);
    }

    async broadcast(method, params, wanted = () => true) {
      const wish = WISHES[method];
      const interested = [...this.listens].filter((l) => l.wishes[wish] && wanted(l.wishes[wish]));
      await Promise.all(interested.map((l) => this.#tell(l, method, params)));
    }

    // ---- what differs between the eras, under the names that upstream.mjs has for it

    told({ msg }) {
      return msg.params._meta[meta('clientCapabilities')];
    }

    levelOf({ msg }) {
      return msg.params._meta[meta('logLevel')];
    }

    #watching(uri) {
      return [...this.listens].some((l) => l.wishes.resourceSubscriptions?.includes(uri));
    }

    async subscribed(uri) {
      await this.listened(() => this.#watching(uri), `a subscription to ${uri}`);
    }

    async unsubscribed(uri) {
      await this.listened(() => !this.#watching(uri), `the end of the subscription to ${uri}`);
    }

    // Waits until the streams that there are fit.
    async listened(fit, what) {
      while (!fit()) await this.next((e) => e.listen || e.unlisten, what);
    }

    updated(uri) {
      return this.broadcast('notifications/resources/updated', { uri }, (uris) => uris.includes(uri));
    }
  };

export class ModernStdioUpstream extends Modern(StdioUpstream) {}

const STATUS = { '-32601': 404, '-32020': 400, '-32021': 400, '-32022': 400 };

// All exchanges are one peer: there are no sessions. ctx of a message is the POST that brought it.
class ModernHttpConnection extends Connection {
  transmit(text, ctx) {
    const status = STATUS[JSON.parse(text).error?.code];
    say(text, ctx, { stream: this.upstream.alwaysStream && !status, status });
  }
}

export class ModernHttpUpstream extends Modern(HttpServer) {
  http = true;
  #peer;

  config() {
    return { type: 'http', url: `${this.base}/mcp`, ...this.entry };
  }

  handle(req, res, body) {
    if (this.intercept?.(req, res, body)) return;
    if (req.method !== 'POST') {
      this.problems.push(`${req.method} ${req.url}`);
      res.writeHead(405).end();
      return;
    }
    const msg = JSON.parse(body);
    const tool = this.tools?.find((t) => t.name === msg.params?.name);
    const wrong = headersOf(msg, req.headers, tool?.inputSchema);
    if (msg.id !== undefined && wrong.length) {
      this.problems.push(...wrong);
      const text = errorText(JSON.stringify(msg.id), new RpcError(-32020, `Header mismatch: ${wrong.join('; ')}`));
      res.writeHead(400, { 'content-type': 'application/json' }).end(text);
      return;
    }
    const ctx = { req, res, closed: deferred() };
    res.on('close', () => res.writableFinished || ctx.closed.resolve());
    this.#peer ??= new ModernHttpConnection(this);
    if (msg.id === undefined) res.writeHead(202).end();
    this.#peer.receive(body, ctx);
  }

  // The stream of the request closes.
  async cancelled({ ctx }) {
    await within(ctx.closed.promise, `the stream to close at ${this.name}`);
  }
}

export const MODERN_TRANSPORTS = { stdio: ModernStdioUpstream, http: ModernHttpUpstream };
