// SPDX-License-Identifier: Apache-2.0
// The official clients behind one face, so that one test is run with each of them. A target is `{ url }` or what
// starts a server on stdio, `{ command, args, env, cwd }`. All results are plain JSON.
import assert from 'node:assert/strict';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { assertNoReport } from './gateway.mjs';
import { assertGone, descendants, run } from './process.mjs';
import { packageFile } from './servers.mjs';

const CAPABILITIES = { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true },
  experimental: { 'io.toolgate/structured': {} } };
const INFO = { name: 'toolgate-e2e', version: '1.0.0' };
const plain = value => JSON.parse(JSON.stringify(value));

const sample = { role: 'assistant', model: 'none', content: { type: 'text', text: 'sampled' } };
const answers = roots => ({
  'sampling/createMessage': () => sample,
  'elicitation/create': () => ({ action: 'accept', content: { name: 'Ada' } }),
  'roots/list': () => ({ roots }),
});
const REQUESTS = {
  'sampling/createMessage': types.CreateMessageRequestSchema,
  'elicitation/create': types.ElicitRequestSchema,
  'roots/list': types.ListRootsRequestSchema,
};
/** A session of one of the SDKs: `client` is its own object; `received` has every message that came in, in order. */
class Session {
  received = [];

  constructor(client, transport) {
    this.client = client;
    this.transport = transport;
  }

  async #all(method, key) {
    const found = [];
    let cursor;
    do {
      const page = await this.client[method]({ cursor });
      found.push(...page[key]);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return plain(found);
  }

  listTools() { return this.#all('listTools', 'tools'); }
  listResources() { return this.#all('listResources', 'resources'); }
  listResourceTemplates() { return this.#all('listResourceTemplates', 'resourceTemplates'); }
  listPrompts() { return this.#all('listPrompts', 'prompts'); }
  async callTool(name, args) { return plain(await this.client.callTool({ name, arguments: args })); }
  async readResource(uri) { return plain(await this.client.readResource({ uri })); }
  async getPrompt(name, args) { return plain(await this.client.getPrompt({ name, arguments: args })); }

  /** Ends the session. A server on stdio has to follow on its own and to leave nothing behind. */
  async close() {
    const child = this.transport._process;  // the SDK gives no other way to the exit code
    if (!child) {
      await this.transport.terminateSession?.();
      return this.client.close();
    }
    const family = descendants(child.pid);
    await this.client.close();
    await assertGone(family);
    if (this.ownsExit) assert.equal(child.exitCode ?? child.signalCode, 0, `exit status; it said:\n${this.stderr}`);
    assertNoReport(this.stderr);
  }
}

async function open(session, target) {
  session.stderr = '';
  session.ownsExit = target.check !== undefined;  // only Toolgate promises to exit with 0 at the end of its input
  session.transport.stderr?.on('data', chunk => { session.stderr += chunk; });
  await session.client.connect(session.transport);
  const handle = session.transport.onmessage;
  session.transport.onmessage = (message, extra) => {
    session.received.push(message);
    handle(message, extra);
  };
  return session;
}

async function openSdk1(target, { roots = [] } = {}) {
  const client = new Client1(INFO, { capabilities: CAPABILITIES });
  const transport = target.url ? new Http1(new URL(target.url)) : new Stdio1({ ...target, stderr: 'pipe' });
  const session = new Session(client, transport);
  for (const [method, answer] of Object.entries(answers(roots))) client.setRequestHandler(REQUESTS[method], answer);
  return open(session, target);
}

async function openClient2(target, { roots = [], negotiation = 'legacy' } = {}) {
  const client = new Client2(INFO, { capabilities: CAPABILITIES, versionNegotiation: { mode: negotiation } });
  const transport = target.url ? new Http2(new URL(target.url)) : new Stdio2({ ...target, stderr: 'pipe' });
  const session = new Session(client, transport);
  for (const [method, answer] of Object.entries(answers(roots))) client.setRequestHandler(method, answer);
  return open(session, target);
}

const EXIT_TOOL_ERROR = 5;  // of the Inspector: there is a result, and it has isError

/** `inspector --cli`: a process, and a connection, for each request. */
class Inspector {
  #target;
  #env;

  constructor(target, home) {
    this.#target = target;
    this.#env = { ...process.env, HOME: home };  // it keeps state in the home folder
  }

  async #ask(method, ...options) {
    const { url, command, args, env = {}, cwd } = this.#target;
    const where = url ? [url, '--transport', 'http'] : [command, ...args, '--transport', 'stdio'];
    // It takes no empty values, such as make's own MFLAGS.
    const vars = url ? [] : Object.entries(env).filter(([, v]) => v).flatMap(([k, v]) => ['-e', `${k}=${v}`]);
    const launcher = packageFile('@modelcontextprotocol/inspector', 'clients/launcher/build/index.js');
    const result = await run(process.execPath, [launcher, '--cli', ...vars, ...(cwd ? ['--cwd', cwd] : []), ...where,
      '--method', method, '--format', 'json', ...options], { env: this.#env });
    const ok = result.status === 0 || result.status === EXIT_TOOL_ERROR;
    assert.ok(ok, `inspector ${method} (${result.status}): ${result.stderr}${result.stdout}`);
    return JSON.parse(result.stdout).result;
  }

  async listTools() { return (await this.#ask('tools/list')).tools; }
  async listResources() { return (await this.#ask('resources/list')).resources; }
  async listResourceTemplates() { return (await this.#ask('resources/templates/list')).resourceTemplates; }
  async listPrompts() { return (await this.#ask('prompts/list')).prompts; }
  callTool(name, args) {
    return this.#ask('tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args));
  }
  readResource(uri) { return this.#ask('resources/read', '--uri', uri); }
  getPrompt(name, args = {}) {
    const pairs = Object.entries(args).flatMap(([k, v]) => ['--prompt-args', `${k}=${v}`]);
    return this.#ask('prompts/get', '--prompt-name', name, ...pairs);
  }
  async close() {}
}

const negotiating = negotiation => (target, options) => openClient2(target, { ...options, negotiation });

/** By name: `open(target, { roots, negotiation, home })`. */
export const SDKS = { 'sdk 1.x': openSdk1, 'client 2.x': openClient2 };
/** Those that speak 2026-07-28: `auto` asks for it and takes what there is, `pinned` takes nothing else. */
export const MODERN = {
  'client 2.x, auto': negotiating('auto'),
  'client 2.x, pinned': negotiating({ pin: '2026-07-28' }),
};
export const CLIENTS = { ...SDKS, 'inspector --cli': async (target, { home }) => new Inspector(target, home) };

/** Calls a tool with options of a request, such as `signal` and `onprogress`. */
export const callWith = (client, session, call, options) =>
  session.client.callTool(call, ...(client === 'sdk 1.x' ? [undefined, options] : [options]));
