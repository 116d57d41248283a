// SPDX-License-Identifier: Apache-2.0
// What a client gets from three official servers, in a form that can be compared: with and without Toolgate, in one era
// and in the other.
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { PATIENT, startGateway, stdioGateway } from './gateway.mjs';
import { tempDir } from './process.mjs';
import { everything, filesystem, memory } from './servers.mjs';

/** How a client reaches Toolgate: `start(t, options)` gives a target for those of clients.mjs. */
export const TRANSPORTS = {
  stdio: async (t, options) => stdioGateway(t, { config: PATIENT, ...options }),
  http: (t, options) => startGateway(t, { config: PATIENT, ...options }),
};

/** A folder with files of several kinds, and the servers; each call has a memory of its own, and the same files. */
export function world(t) {
  const dir = tempDir(t);
  const files = path.join(dir, 'files');
  fs.mkdirSync(path.join(files, 'sub'), { recursive: true });
  fs.writeFileSync(path.join(files, 'umlaut.txt'), 'Grüße, 世界 🌍\nline two\n');
  fs.writeFileSync(path.join(files, 'sub/pixel.png'), Buffer.from('89504e470d0a1a0a', 'hex'));
  let memories = 0;
  return {
    files,
    home: dir,
    roots: [{ uri: pathToFileURL(files).href, name: 'files' }],
    servers: () => ({
      everything: everything(),
      filesystem: filesystem(files),
      memory: memory(path.join(dir, `memory-${memories++}.jsonl`)),
    }),
  };
}

/**
 * Requests in an order in which each has the same answer every time; `full` adds those that take an SDK to ask. None
 * has arguments that its tool's schema does not allow: those are answered by Toolgate (calls-schema.test.mjs).
 */
export function requests(files, full) {
  const entity = { name: 'Toolgate', entityType: 'program', observations: ['is a gateway', 'überträgt alles'] };
  const few = [
    ['everything', 'callTool', 'echo', { message: 'Grüße 🌍 "quoted" \\ \u2028' }],
    ['filesystem', 'callTool', 'read_text_file', { path: path.join(files, 'umlaut.txt') }],
    ['memory', 'callTool', 'create_entities', { entities: [entity] }],
    ['everything', 'readResource', 'demo://resource/static/document/features.md'],
    ['everything', 'getPrompt', 'args-prompt', { city: 'Rome', state: 'Lazio' }],
  ];
  const more = [
    ['everything', 'callTool', 'get-sum', { a: 0.1, b: 1e21 }],
    ['everything', 'callTool', 'get-structured-content', { location: 'Chicago' }],
    ['everything', 'callTool', 'get-tiny-image', {}],
    ['everything', 'callTool', 'get-annotated-message', { messageType: 'error', includeImage: true }],
    ['everything', 'callTool', 'get-resource-links', { count: 3 }],
    ['everything', 'callTool', 'get-resource-reference', { resourceType: 'Text', resourceId: 7 }],
    ['everything', 'callTool', 'get-roots-list', {}],
    ['everything', 'callTool', 'trigger-sampling-request', { prompt: 'Say something', maxTokens: 10 }],
    ['everything', 'callTool', 'trigger-elicitation-request', {}],
    ['filesystem', 'callTool', 'list_allowed_directories', {}],
    ['filesystem', 'callTool', 'directory_tree', { path: path.join(files, 'sub') }],
    ['filesystem', 'callTool', 'read_media_file', { path: path.join(files, 'sub/pixel.png') }],
    ['filesystem', 'callTool', 'write_file', { path: path.join(files, 'new.txt'), content: 'x'.repeat(200_000) }],
    ['filesystem', 'callTool', 'read_text_file', { path: path.join(files, 'new.txt') }],
    ['filesystem', 'callTool', 'read_text_file', { path: '/etc/passwd' }],
    ['memory', 'callTool', 'read_graph', {}],
    ['memory', 'callTool', 'search_nodes', { query: 'gateway' }],
    ['memory', 'callTool', 'delete_entities', { entityNames: ['Toolgate'] }],
    ['everything', 'readResource', 'demo://resource/dynamic/text/1'],
    ['everything', 'readResource', 'demo://resource/dynamic/blob/2'],
    ['everything', 'getPrompt', 'simple-prompt'],
    ['everything', 'getPrompt', 'completable-prompt', { department: 'Sales', name: 'Eve' }],
    ['everything', 'getPrompt', 'resource-prompt', { resourceType: 'Text', resourceId: '3' }],
  ];
  return full ? [...few, ...more] : few;
}

const OF_THE_ERA = ['execution', 'resultType', 'ttlMs', 'cacheScope', 'io.modelcontextprotocol/serverInfo'];

/**
 * Makes answers comparable that tell the time (server-everything does, in text and in base64), and that have what only
 * one of the eras has.
 */
export function timeless(value) {
  const noTime = text => text.replace(/\d+:\d\d:\d\d [AP]M/g, 'TIME');
  const blob = text => noTime(Buffer.from(text, 'base64').toString());
  return JSON.parse(JSON.stringify(value), (key, v) => {
    if (OF_THE_ERA.includes(key) || (key === '_meta' && Object.keys(v).length === 0)) return undefined;
    return typeof v !== 'string' ? v : key === 'blob' ? blob(v) : noTime(v);
  });
}

/** What a request gives: its result, or its error as a client sees it. */
export const outcome = (session, [, method, ...args]) => session[method](...args).then(timeless, error => {
  if (typeof error.code !== 'number') throw error;
  return { code: error.code, message: error.message, data: error.data };
});

const LISTS = {
  listTools: { key: 'name', servers: ['everything', 'filesystem', 'memory'] },
  listResources: { key: 'uri', servers: ['everything', 'memory'] },
  listResourceTemplates: { key: 'uriTemplate', servers: ['everything'] },
  listPrompts: { key: 'name', servers: ['everything'] },
};

export const sorted = (list, key) => list.toSorted((a, b) => (a[key] < b[key] ? -1 : 1));

/** `items.map(work)`, `width` at a time. */
async function mapWide(items, width, work) {
  const results = [];
  const left = [...items.entries()];
  const worker = async () => {
    for (let next; (next = left.shift()); ) results[next[0]] = await work(next[1]);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}

/**
 * What a client gets: `{ lists: { method: [entry] }, outcomes: [value] }`. `sessions` has one for each server, which
 * through Toolgate is the same one. An SDK asks in order; the Inspector's requests depend on nothing and take long.
 */
export async function ask(sessions, requested, width) {
  const parts = Object.entries(LISTS).flatMap(([method, { servers }]) =>
    [...new Set(servers.map(name => sessions[name]))].map(session => ({ method, session })));
  const found = await mapWide(parts, width, ({ method, session }) => session[method]());
  const lists = Object.fromEntries(Object.entries(LISTS).map(([method, { key }]) =>
    [method, sorted(found.filter((_, i) => parts[i].method === method).flat(), key)]));
  return { lists, outcomes: await mapWide(requested, width, request => outcome(sessions[request[0]], request)) };
}
