// SPDX-License-Identifier: Apache-2.0
// Meta-tools as an agent uses them: cards, ids, faults, and results that are read to their end.
import assert from 'node:assert/strict';
import path from 'node:path';
import { tempDir, writeJson } from './process.mjs';
import { HttpClient, onEnd, SseClient, startGateway, StdioClient } from './raw.mjs';
import { ModernHttpClient, ModernStdioClient } from './modern.mjs';
import { countTokens } from './tokens.mjs';

const VIEW_TOKENS = 2000;

export const THREE = ['tool_browse', 'tool_execute', 'tool_view'];
export const FOR_RESOURCES = ['resource_browse', 'resource_read'];
export const FOR_PROMPTS = ['prompt_browse', 'prompt_get'];

/**
 * A gateway in a mode with meta-tools. Lists wait for every server, however slow the machine; results are cut at 500
 * tokens, so that tests need not make long ones.
 */
export function startMeta(t, { mode = 'gateway', config = {}, args = [], ...options }) {
  const timeouts = { start_wait: 60, list_wait: 60, ...config.timeouts };
  const result = { budget: 500, ...config.result };
  return startGateway(t, { ...options, config: { ...config, timeouts, result }, args: [...args, '--mode', mode] });
}

/** An entry of .mcp.json for a server that is a file with this content. */
export function snapshot(t, content) {
  return { type: 'snapshot', catalog: writeJson(path.join(tempDir(t), 'catalog.json'), content) };
}

/** Clients by transport; each opens one, for a revision where there are several, and closes it with the test. */
export const OPEN = {
  http: (gateway, options) => new HttpClient(gateway.url, options),
  sse: (gateway, options) => new SseClient(gateway.url, options),
  stdio: (gateway, options) => new StdioClient(gateway, options),
  'stateless http': (gateway, options) => new ModernHttpClient(gateway.url, options),
  'stateless stdio': (gateway, options) => new ModernStdioClient(gateway, options),
};

export async function open(t, gateway, kind = 'http', options = {}) {
  const client = OPEN[kind](gateway, options);
  if (!kind.endsWith('stdio')) onEnd(t, () => client.close());  // on stdio it is the gateway that ends
  await client.connect();
  return client;
}

/** A gateway before `servers` and a client of that kind. */
export async function connect(t, kind, servers, { config, args, ...options } = {}) {
  const transport = kind.endsWith('stdio') ? 'stdio' : 'http';
  return open(t, await startMeta(t, { servers, transport, config, args }), kind, options);
}

/** The grammar of ids; `~2` stands behind those of resources and prompts that came out the same. */
export const ID = new RegExp('^((resource|prompt)::)?[a-z][a-z0-9_-]{0,63}:[A-Za-z_][A-Za-z0-9_.-]{0,127}' +
  '(@[A-Za-z0-9._-]{1,32})?(#[0-9a-f]{8})?(~[0-9]+)?$');

export const namesOf = (tools) => tools.map((tool) => tool.name);

/** The text of a result that is one text. */
export function textOf(result) {
  assert.deepEqual(result.content.map((part) => part.type), ['text'], JSON.stringify(result));
  return result.content[0].text;
}

/** Begins each line of a text that the gateway itself wrote: digits that only this session knows. */
export const MARK = /^\[tg\d{9}\] /m;

/** The mark in examples of the documentation. */
export const DOC_MARK = '[tg482913057] ';

/** A text with something else in place of the mark, where the digits do not matter. */
export const unmarked = (text, as = '… ') => text.replace(new RegExp(MARK, 'gm'), as);

/** The envelope that every result has in `_meta`. */
export const envelopeOf = (result) => result._meta['io.toolgate/envelope'];

/** A result without that envelope: what its server answered. */
export function withoutEnvelope({ _meta: { 'io.toolgate/envelope': envelope, ..._meta }, ...result }) {
  assert.ok(envelope, 'every result has its envelope');
  return Object.keys(_meta).length ? { ...result, _meta } : result;
}

/** The cards of a browse: those of its structuredContent, which must be the ones that its text shows. */
export function cardsOf(result) {
  assert.equal(result.isError, false, JSON.stringify(result));
  const { cards } = result.structuredContent;
  assert.deepEqual(linesOf(result).map((line) => line.id), cards.map((card) => card.id));
  return cards;
}

/**
 * The lines of a browse, taken apart: `{ line, number, of, id, rest }`, without numbers in `cache_stable`. The first
 * line of the text is about them; last ones may say how many there was no room for, and which servers are not available.
 */
export function linesOf(result) {
  const [cards] = textOf(result).split(/\nInstructions of \S+ \(/);
  const lines = cards.split('\n').slice(1);
  if (/^Not available now: /.test(lines.at(-1))) lines.pop();
  if (/^… \d+ more/.test(lines.at(-1))) lines.pop();
  return lines.map((line) => {
    const [, number, of, id, rest] =
      /^(?:\[(\d+)\/(\d+)\]|-) (\S+) (\(.*)$/s.exec(line) ?? assert.fail(`no card: ${line}`);
    return { line, number: Number(number), of: Number(of), id, rest };
  });
}

export const idsOf = (result) => cardsOf(result).map((card) => card.id);

/** A fault that a meta-tool tells, the same as text and as JSON; with its code when one is expected. */
export function faultOf(result, code) {
  assert.equal(result.isError, true, JSON.stringify(result));
  const fault = JSON.parse(textOf(result));
  if (result.structuredContent !== undefined) assert.deepEqual(result.structuredContent, fault);
  assert.deepEqual(Object.keys(fault).filter((key) => key !== 'details'), ['error', 'message', 'path', 'retryable']);
  assert.match(fault.message, /^[^\p{Cc}]{1,256}$/u, 'one line of at most 256 characters');
  assert.equal(result._meta['io.toolgate/fault'], fault.error, 'only the gateway says so in _meta');
  if (code !== undefined) assert.equal(fault.error, code, fault.message);
  return fault;
}

/** The id that a name has at a server: found, as an agent would, below the server's path. */
export async function idOf(client, namespace, name, kind = 'tool') {
  for (const left = [`/${namespace}`]; left.length; ) {
    for (const card of cardsOf(await client.call(`${kind}_browse`, { path: left.pop() }))) {
      if (card.kind === 'internal') left.push(card.id);
      else if (card.name === name) return card.id;
    }
  }
  return assert.fail(`there is no ${kind} ${name} below /${namespace}`);
}

export const execute = async (client, namespace, name, args = {}) =>
  client.call('tool_execute', { tool_id: await idOf(client, namespace, name), args });

/** The handle of the text of a result that was cut, or of another kind of piece. */
export function handleOf(result, kind = 'text') {
  const found = result.structuredContent.artifacts.find(({ handle }) => handle.startsWith(`${kind}:`));
  return (found ?? assert.fail(`no ${kind}: ${JSON.stringify(result.structuredContent)}`)).handle;
}

/** All characters of a kept piece, from view to view as each of them says. */
export async function viewAll(client, handle, chars = 1_000_000) {
  let all = '';
  for (let selector = { type: 'head', start: 0, chars }; ; ) {
    const result = await client.call('tool_view', { handle, selector });
    assert.equal(result.isError, false, JSON.stringify(result));
    const text = unmarked(textOf(result));
    assert.ok(countTokens(textOf(result)) <= VIEW_TOKENS, 'a view fits a context window');
    const [, next] = /\n… cut at [^\n]*(\{"type":"head",[^\n]*\})$/.exec(text) ?? [];
    if (next === undefined) return all + text;
    const { start, ...rest } = JSON.parse(next);
    assert.ok(start > selector.start, 'each view goes on');
    all += [...text].slice(0, start - selector.start).join('');
    selector = { start, ...rest };
  }
}
