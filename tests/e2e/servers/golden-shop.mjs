// SPDX-License-Identifier: Apache-2.0
// The servers of the golden cases: an issue tracker and a chat, real processes or HTTP servers whose tools do as a test
// says. Every call that reaches them is counted and kept.
import { startMeta, open } from '../lib/meta.mjs';
import { handshakeServer, text } from '../lib/stateless.mjs';

const string = { type: 'string' };
const object = (properties, required) => ({ type: 'object', properties, required, additionalProperties: false });
const VERSION = { version: '1.4.0' };

export const CREATE = 'github:create_issue@1.4.0';
export const CLOSE = 'github:close_issue@1.4.0';
export const LIST = 'github:list_issues@1.4.0';
export const SEND = 'slack:send_message@1.4.0';

export const CREATE_SCHEMA = object({ title: string, body: string }, ['title']);

const GITHUB = {
  create_issue: { description: 'Open a new issue in a repository.', inputSchema: CREATE_SCHEMA, _meta: VERSION },
  close_issue: {
    description: 'Close an issue.', inputSchema: object({ issue_id: { type: 'integer' } }, ['issue_id']),
    annotations: { destructiveHint: true }, _meta: VERSION,
  },
  list_issues: {
    description: 'List the issues of a repository.',
    inputSchema: object({ repo: string, state: string, page: { type: 'integer' } }, []), _meta: VERSION,
    annotations: { readOnlyHint: true },
  },
};
const SLACK = {
  send_message: {
    description: 'Post a message to a channel.', _meta: VERSION,
    inputSchema: object({ channel: string, text: string }, ['channel', 'text']),
  },
};

/** Answers with the arguments as they arrived. */
export const echo = (args) => text(JSON.stringify(args));

/**
 * A server whose tools are those of `definitions`. `runs` says what each does (echo where it says nothing); `more` has
 * further tools, { run, ...definition } each. `seen` is what was called: [name, arguments].
 */
async function server(kind, name, definitions, { runs = {}, more = {}, ...options }) {
  const seen = [];
  const wrap = (tool, run = echo) => (args, entry) => {
    seen.push([tool, args]);
    return run(args, entry, seen.filter(([called]) => called === tool).length);
  };
  const tools = Object.entries(definitions).map(([tool, def]) => [tool, { ...def, run: wrap(tool, runs[tool]) }]);
  const others = Object.entries(more).map(([tool, { run, ...def }]) => [tool, { ...def, run: wrap(tool, run) }]);
  const up = await handshakeServer(kind, { name, tools: Object.fromEntries([...tools, ...others]), ...options });
  return Object.assign(up, { seen });
}

export const github = (kind = 'stdio', options = {}) => server(kind, 'github', GITHUB, options);
export const slack = (kind = 'stdio', options = {}) => server(kind, 'slack', SLACK, options);
export const other = (kind, name, options = {}) => server(kind, name, {}, options);

/**
 * A gateway before the tracker (and what else there is in `servers`) and a client of it, with a bearer token where one
 * is given: `{ gateway, client, up, execute, view }`. The rest of the options are those of the tracker.
 */
export async function startShop(t, options = {}) {
  const { kind = 'stdio', client: as = 'http', token, config, servers = {}, mode, ...rest } = options;
  const up = await github(kind, rest);
  const transport = as.endsWith('stdio') ? 'stdio' : 'http';
  const gateway = await startMeta(t, { servers: { github: up, ...servers }, config, mode, transport });
  const client = await open(t, gateway, as, token ? { headers: { authorization: `Bearer ${token}` } } : {});
  const execute = (tool_id, args = {}, more = {}) => client.call('tool_execute', { tool_id, args, ...more });
  const view = (handle, selector) => client.call('tool_view', { handle, selector });
  return { gateway, client, up, execute, view };
}

/** What an envelope tells of the way of a call; {} when it tells nothing. */
export function provenanceOf(result) {
  return result.structuredContent?.provenance ?? result._meta?.['io.toolgate/envelope']?.provenance ?? {};
}
