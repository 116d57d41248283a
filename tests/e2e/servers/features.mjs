// SPDX-License-Identifier: Apache-2.0
// What a scripted server offers: every feature of the protocol once, under names that start with its tag.
import { LEVELS, MODERN, TASKS } from '../lib/rules.mjs';
import { MODERN_TRANSPORTS } from './modern.mjs';
import { Raw, RpcError, spanOf } from './peer.mjs';
import { serveTasks } from './tasks.mjs';
import { TRANSPORTS } from './upstream.mjs';

export const ERROR = new Raw(
  '{"code":-31999,"message":"no \\u00e9clair left","data":{"z":1.0,"a":[1e400,"\\ud83d\\ude00"]}}',
);

const text = (value) => ({ content: [{ type: 'text', text: value }] });
const schema = { type: 'object', properties: {}, additionalProperties: true };

function capabilities(rev) {
  return {
    tools: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    prompts: { listChanged: true },
    logging: {},
    ...(rev >= '2025-03-26' && { completions: {} }),
    ...(rev === '2025-11-25' && { tasks: { cancel: {}, requests: { tools: { call: {} } } } }),
    ...(rev === MODERN && { extensions: { [TASKS]: {} } }),
  };
}

export const NUMBERS = {
  type: 'array',
  items: { $ref: '#/$defs/number' },
  $defs: { number: { type: 'integer' } },
};

// Beside name, description and inputSchema, and from which revision on there is such a tool.
const more = (rev) => ({
  echo: {
    ...(rev === MODERN && {
      inputSchema: { ...schema, properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
    }),
  },
  numbers: { since: MODERN, outputSchema: NUMBERS },
  ...Object.fromEntries(
    ['task', 'taskOnly', 'taskAsking'].map((name) => [
      name,
      { since: '2025-11-25', ...(rev === '2025-11-25' && { execution: { taskSupport: 'required' } }) },
    ]),
  ),
});

const SAMPLE = (q) => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: q } }], maxTokens: 10 },
});
const ELICIT = (message) => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } } } },
});
const ROOTS = { method: 'roots/list' };

// Each is given the arguments, the request and its server; ask() asks the client as the server's era does.
const tools = {
  // The arguments, byte for byte.
  echo: (args, entry) => {
    const got = spanOf(entry.raw, ['params', 'arguments']) ?? 'null';
    return new Raw(`{"content":[{"type":"text","text":"ok"}],"structuredContent":{"got":${got}}}`);
  },

  // Answered when the test says so, if ever.
  hold: () => undefined,

  fail: () => {
    throw ERROR;
  },

  // Fails as a tool does, not as a request.
  broken: () => ({ ...text('out of order'), isError: true }),

  numbers: () => ({ ...text('[1,2,3]'), structuredContent: [1, 2, 3] }),

  progress: async (args, entry) => {
    const progressToken = entry.msg.params._meta?.progressToken;
    for (let progress = 1; progress <= 3; progress++) {
      await entry.peer.notify(
        'notifications/progress',
        { progressToken, progress, total: 3, message: `step ${progress}` },
        entry.ctx,
      );
    }
    return text('done');
  },

  // One message, whatever level is wanted.
  log: async (args, entry) => {
    await entry.peer.notify(
      'notifications/message',
      { level: args.level ?? 'warning', logger: 'loud', data: args },
      entry.ctx,
    );
    return text('logged');
  },

  // A message of every level that is wanted: all where nobody said, but none to a modern client that did not.
  logs: async (args, entry, { up }) => {
    const wanted = up.levelOf(entry) ?? (up.modern ? undefined : 'debug');
    const levels = wanted === undefined ? [] : LEVELS.slice(LEVELS.indexOf(wanted));
    for (const level of levels) {
      await entry.peer.notify('notifications/message', { level, logger: 'loud', data: args }, entry.ctx);
    }
    return { ...text('logged'), structuredContent: { wanted: up.levelOf(entry) ?? null } };
  },

  sample: (args, entry, { one }) => one(SAMPLE(args.q)),
  elicit: (args, entry, { one }) => one(ELICIT(args.q), { keep: true }),
  roots: (args, entry, { one }) => one(ROOTS),

  // Two questions at once.
  two: async (args, entry, { ask }) => {
    const { sample, roots } = await ask({ sample: SAMPLE(args.q), roots: ROOTS }, { keep: true });
    return { ...text('answered'), structuredContent: { sample: sample.result, roots: roots.result } };
  },

  // Two questions, the second of which depends on the answer to the first.
  rounds: async (args, entry, { ask }) => {
    const { first } = await ask({ first: SAMPLE(args.q) }, { keep: true });
    const { second } = await ask({ second: SAMPLE(first.result.content.text) }, { keep: true });
    return { ...text('answered'), structuredContent: { said: second.result.content.text } };
  },

  delay: async (args) => {
    await new Promise((resolve) => setTimeout(resolve, args.ms));
    return { ...text(args.nonce), structuredContent: args };
  },

  task: (args) => ({ ...text('done at last'), structuredContent: { got: args } }),

  taskOnly: (args) => ({ ...text('done at last'), structuredContent: { got: args } }),

  taskAsking: async (args, entry, { ask }) => {
    const { roots } = await ask({ roots: ROOTS });
    return { ...text('answered'), structuredContent: { roots: roots.result } };
  },
};

async function pushed(entry, questions) {
  const all = Object.entries(questions).map(async ([name, { method, params }]) => {
    const { result, error } = await entry.peer.request(method, params, { ctx: entry.ctx });
    return [name, { result, error }];
  });
  return Object.fromEntries(await Promise.all(all));
}

const asking = (up, entry) => {
  const ask = (questions, options) =>
    up.modern ? up.question(entry, questions, options) : pushed(entry, questions);
  const one = async (question, options) => {
    const { only } = await ask({ only: question }, options);
    return { ...text(only.error ? 'refused' : 'answered'), structuredContent: only };
  };
  return { up, ask, one };
};

// Gives the upstream its behaviour. Tools are called TAG_echo and so on.
export function feature(up, tag) {
  const extra = more(up.rev);
  const tool = (name) => {
    const { since, ...rest } = extra[name] ?? {};
    return { name: `${tag}_${name}`, description: `${name} of ${tag}`, inputSchema: schema, ...rest };
  };
  const run = (name, args, entry) => tools[name](args, entry, asking(up, entry));
  up.tag = tag;
  up.tools = Object.keys(tools)
    .filter((name) => !(extra[name]?.since > up.rev))
    .map(tool);
  up.counts = {};
  up.capabilities = capabilities(up.rev);
  up.on('tools/list', () => ({ tools: up.tools }));
  up.on('tools/call', ({ name, arguments: args = {} }, entry) => {
    const key = name.slice(tag.length + 1);
    up.counts[key] = (up.counts[key] ?? 0) + 1;
    if (!up.tools.some((t) => t.name === name)) throw new RpcError(-32602, `unknown tool ${name}`);
    return up.makeTask?.(key, args, entry) ?? run(key, args, entry);
  });
  resources(up, tag);
  prompts(up, tag);
  if (!up.modern) handshake(up, tag);
  if (up.rev >= '2025-11-25') serveTasks(up, ROOTS, (name, args) => run(name, args));
  return up;
}

function resources(up, tag) {
  up.on('resources/list', () => ({ resources: [{ uri: `test://${tag}/watched`, name: `${tag} watched` }] }));
  up.on('resources/templates/list', () => ({
    resourceTemplates: [{ uriTemplate: `test://${tag}/item/{id}`, name: `${tag} item` }],
  }));
  up.on('resources/read', ({ uri }) => {
    if (uri.endsWith('/none')) throw new RpcError(up.modern ? -32602 : -32002, 'no such resource', { uri });
    return { contents: [{ uri, mimeType: 'text/plain', text: `contents of ${uri}` }] };
  });
}

function prompts(up, tag) {
  const say = (value) => ({ messages: [{ role: 'user', content: { type: 'text', text: value } }] });
  up.on('prompts/list', () => ({
    prompts: [{ name: `${tag}_greet`, arguments: [{ name: 'who', required: true }] }, { name: `${tag}_asking` }],
  }));
  up.on('prompts/get', async ({ name, arguments: args }, entry) => {
    if (name === `${tag}_greet`) return say(`hello ${args.who} from ${tag}`);
    if (name !== `${tag}_asking`) throw new RpcError(-32602, `unknown prompt ${name}`);
    const { roots } = await asking(up, entry).ask({ roots: ROOTS });
    return say(roots.result.roots[0].uri);
  });
  up.on('completion/complete', ({ argument }) => ({
    completion: { values: [`${tag}:${argument.value}`], hasMore: false },
  }));
}

// What is gone with 2026-07-28.
function handshake(up, tag) {
  up.on('initialize', (params, entry) => {
    entry.peer.init = params;
    entry.peer.watched = new Set();
    return { protocolVersion: up.rev, capabilities: up.capabilities, serverInfo: { name: tag, version: '1' } };
  });
  up.on('ping', () => ({}));
  up.on('resources/subscribe', ({ uri }, { peer }) => {
    peer.watched.add(uri);
    return {};
  });
  up.on('resources/unsubscribe', ({ uri }, { peer }) => {
    peer.watched.delete(uri);
    return {};
  });
  up.on('logging/setLevel', ({ level }, { peer }) => {
    peer.level = level;
    return {};
  });
}

export const makeUpstream = async (transport, tag, options = {}) => {
  const Upstream = (options.rev === MODERN ? MODERN_TRANSPORTS : TRANSPORTS)[transport];
  return feature(await new Upstream({ name: tag, ...options }).open(), tag);
};
