// SPDX-License-Identifier: Apache-2.0
// What a scripted server offers: every feature of the protocol once, under names that start with its tag.
import { Raw, RpcError, spanOf } from './peer.mjs';
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
  };
}

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

  log: async (args, entry) => {
    await entry.peer.notify(
      'notifications/message',
      { level: args.level ?? 'warning', logger: 'loud', data: args },
      entry.ctx,
    );
    return text('logged');
  },

  sample: (args, entry) =>
    question(entry, 'sampling/createMessage', {
      messages: [{ role: 'user', content: { type: 'text', text: args.q } }],
      maxTokens: 10,
    }),

  elicit: (args, entry) =>
    question(entry, 'elicitation/create', {
      message: args.q,
      requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } } },
    }),

  roots: (args, entry) => question(entry, 'roots/list'),

  delay: async (args) => {
    await new Promise((resolve) => setTimeout(resolve, args.ms));
    return { ...text(args.nonce), structuredContent: args };
  },
};

async function question(entry, method, params) {
  const { result, error } = await entry.peer.request(method, params, { ctx: entry.ctx });
  return { ...text(error ? 'refused' : 'answered'), structuredContent: { result, error } };
}

// Gives the upstream its behaviour. Tools are called TAG_echo and so on.
export function feature(up, tag) {
  const tool = (name) => ({ name: `${tag}_${name}`, description: `${name} of ${tag}`, inputSchema: schema });
  up.tag = tag;
  up.tools = Object.keys(tools).map(tool);
  up.counts = {};
  up.on('initialize', (params, entry) => {
    entry.peer.init = params;
    return { protocolVersion: up.rev, capabilities: capabilities(up.rev), serverInfo: { name: tag, version: '1' } };
  });
  up.on('ping', () => ({}));
  up.on('tools/list', () => ({ tools: up.tools }));
  up.on('tools/call', ({ name, arguments: args = {} }, entry) => {
    const key = name.slice(tag.length + 1);
    up.counts[key] = (up.counts[key] ?? 0) + 1;
    if (!tools[key]) throw new RpcError(-32602, `unknown tool ${name}`);
    return tools[key](args, entry);
  });
  up.on('resources/list', () => ({ resources: [{ uri: `test://${tag}/watched`, name: `${tag} watched` }] }));
  up.on('resources/templates/list', () => ({
    resourceTemplates: [{ uriTemplate: `test://${tag}/item/{id}`, name: `${tag} item` }],
  }));
  up.on('resources/read', ({ uri }) => ({ contents: [{ uri, mimeType: 'text/plain', text: `contents of ${uri}` }] }));
  up.on('resources/subscribe', () => ({}));
  up.on('resources/unsubscribe', () => ({}));
  up.on('prompts/list', () => ({ prompts: [{ name: `${tag}_greet`, arguments: [{ name: 'who', required: true }] }] }));
  up.on('prompts/get', ({ arguments: args }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `hello ${args.who} from ${tag}` } }],
  }));
  up.on('completion/complete', ({ argument }) => ({
    completion: { values: [`${tag}:${argument.value}`], hasMore: false },
  }));
  up.on('logging/setLevel', () => ({}));
  return up;
}

export const makeUpstream = async (transport, tag, options = {}) =>
  feature(await new TRANSPORTS[transport]({ name: tag, ...options }).open(), tag);
