// SPDX-License-Identifier: Apache-2.0
// Compares the documentation with the program: the tables of docs/reference with the tables in the source, and every
// configuration that a page shows with `toolgate check`. (Other tables: commands in cli-discovery.test.mjs, faults in
// calls-schema.test.mjs, metrics in metrics.test.mjs, revisions and notifications in cli.test.mjs, configuration keys in
// test_config.c, steps of calls in test_pipeline.c, keys of the audit log in audit.test.mjs.)
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { runToolgate, startGateway, toolgate } from './lib/gateway.mjs';
import { idOf, open, snapshot, startMeta } from './lib/meta.mjs';
import { blocksOf, pages, readPage as read } from './lib/pages.mjs';
import { tempDir, until } from './lib/process.mjs';
import { HttpClient } from './lib/raw.mjs';
import { HttpCaller } from './lib/stateless.mjs';

/** The cells of the rows of the first table after `heading`, or of the first list whose items are `name`: meaning. */
function table(page, heading) {
  const text = read(page), from = text.slice(text.indexOf(heading));
  const [, rows, items] = /^\|.*\n\|[-|]+\n((?:\|.*\n)+)|^((?:- `[^`]+`(?:, `[^`]+`)*: .*\n(?: {2}.*\n)*)+)/m.exec(from);
  if (rows) return rows.trimEnd().split('\n').map((row) => row.split('|').slice(1, -1).map((cell) => cell.trim()));
  return [...items.matchAll(/^- (.*?`): /gm)].map(([, names]) => [names]);
}

/** The words between backticks. */
const quoted = (text) => [...text.matchAll(/`([^`]+)`/g)].map(([, word]) => word);
const matches = (file, pattern) => [...read(file).matchAll(pattern)].map(([, ...groups]) => groups);

test('options have the values that their command prints in its help', async () => {
  const { stdout } = await runToolgate(['help']);
  const names = [...stdout.matchAll(/^ {2}([a-z]+(?:, [a-z]+)*)/gm)].flatMap(([, list]) => list.split(', '));
  const parts = { policy: ['explain', 'lint'], govern: ['decide'], adapter: ['new', 'check'], plan: ['check'], pins: ['list', 'accept'], approvals: ['list', 'approve'], skill: ['check', 'sign', 'list'], decisions: ['list'], calls: ['list'], token: ['new'], audit: ['verify'], context: ['build', 'trim'], schema: [] };
  const known = new Set();
  for (const args of names.flatMap((name) => parts[name]?.map((part) => [name, part]) ?? [[name]]))
    for (const [, option] of (await runToolgate([...args, '--help'])).stdout.matchAll(/^ {2}(--[a-z-]+(?: [A-Z][^ ]*)?)/gm)) known.add(option);
  assert.ok(known.has('--listen HOST:PORT') && known.has('--top-k N'));
  for (const page of pages())
    for (const [, cell] of read(page).matchAll(/^(?:\||-) ((?:`--[^`]+`(?:, )?)+)(?: \||:)/gm))
      for (const option of quoted(cell).filter((it) => it.includes(' '))) assert.ok(known.has(option), `${page}: ${option}`);
});

test('docs/reference/protocol.md has the methods of each era', async (t) => {
  const [, lost, added] = /These methods are unknown in 2026-07-28: (.*?); in sessions: (.*?)\./s.exec(read('docs/reference/protocol.md'));
  const inSessions = quoted(lost), stateless = quoted(added);
  const { url } = await startGateway(t, { servers: { docs: snapshot(t, { tools: [{ name: 'a', inputSchema: { type: 'object' } }] }) } });
  const session = new HttpClient(url.replace(/\/mcp$/, '')), caller = new HttpCaller(url);
  await session.connect();
  const forwarded = matches('src/surface/direct/direct.c', /\{"([a-z]+\/[a-z]+)", CALL_BY/g).flat();
  assert.ok(forwarded.length > 5);
  const params = { name: 'a', uri: 'x://y', taskId: 'x', ref: { type: 'ref/prompt', name: 'a' }, argument: { name: 'a', value: '' }, level: 'info' };
  const isUnknown = async (answer) => (await answer).error?.code === -32601;
  for (const method of new Set([...forwarded, ...inSessions, ...stateless, 'tools/list', 'resources/list', 'prompts/list'])) {
    assert.equal(await isUnknown(session.request(method, params)), stateless.includes(method), `${method} in a session`);
    if (method !== 'subscriptions/listen') // its answer is a stream without an end
      assert.equal(await isUnknown(caller.send(method, params)), inSessions.includes(method), `${method} without a session`);
  }
  await session.close();
  caller.close();
});

test('docs/reference/faults.md has the reasons for unknown ids', () => {
  const source = matches('src/surface/meta/missing.c', /STR\("reason"\), ([^;]+);/g).flat().join();
  const reasons = [...source.matchAll(/STR\("(\w+)"\)/g)].map(([, word]) => word);
  assert.deepEqual(table('docs/reference/faults.md', '## Unknown ids').flatMap(([cell]) => quoted(cell)).toSorted(), reasons.toSorted());
});

test('docs/reference/clients.md has the known clients', () => {
  const words = { STRUCTURED: /^`structuredContent`/, TEXT: /^(the text of )?`content`/, BOTH: /^both/, UNKNOWN: /^not documented/ };
  const rows = table('docs/reference/clients.md', '## Clients').flatMap(([, names, reads]) =>
    quoted(names).map((name) => [name.toLowerCase().replace('…', ''), Object.keys(words).find((it) => words[it].test(reads))]));
  const known = matches('src/mcp/server/clients.c', /^ {4}\{"([^"]+)", "[^"]+", CLIENT_READS_(\w+)/gm);
  assert.deepEqual(rows.filter(([name]) => name !== 'mcp').toSorted(), known.toSorted()); // mcp: no single client has it
});

test('docs/reference/connect.md has the clients and their files', () => {
  const source = 'src/app/clients/client_table.c', rows = table('docs/reference/connect.md', '## import');
  const clients = matches(source, /\[(CLIENT_\w+)\] = \{"([^"]+)"/g);
  assert.deepEqual(rows.map(([name]) => quoted(name)[0]), clients.map(([, name]) => name));
  const places = matches(source, /\{(CLIENT_\w+), ([A-Z]+), "([^"]+)"/g);
  for (const [i, [id]] of clients.entries()) {
    const files = (of) => [...new Set(places.filter(([client, folder]) => client === id && of(folder)).map(([, , file]) => file))];
    assert.deepEqual(quoted(rows[i][1]), files((folder) => folder === 'PROJECT'), id);
    const user = quoted(rows[i][2]).filter((it) => /[~…]/.test(it));
    const ofUser = files((folder) => folder !== 'PROJECT');
    assert.equal(user.length, ofUser.length, id);
    for (const file of user.map((it) => it.split(/~\/(?:\.config\/)?|…\/?/).at(-1)))
      assert.ok(ofUser.some((it) => it.endsWith(file) || file.endsWith(it)), `${id}: ${file}`);
  }
});

test('docs/reference/views.md has the selectors', () => {
  const types = matches('src/result/view/view.c', /^ {4}\{STR\("(\w+)"\), \w*show\w*,/gm).flat();
  assert.ok(types.length > 5);
  const shown = table('docs/reference/views.md', '# Views').flatMap(([cell]) => quoted(cell).map((it) => /"type":"(\w+)"/.exec(it)?.[1] ?? it));
  assert.deepEqual(shown.toSorted(), types.toSorted());
});

test('docs/reference/discovery.md and servers.md have the arguments of the tools', async (t) => {
  const servers = { docs: snapshot(t, { tools: [{ name: 'a', inputSchema: { type: 'object' } }] }) };
  for (const [mode, name, page] of [['gateway', 'tool_browse', 'discovery'], ['servers', 'get_server_tools', 'servers']]) {
    const client = await open(t, await startMeta(t, { mode, servers }));
    const { inputSchema } = (await client.tools()).find((tool) => tool.name === name);
    const rows = table(`docs/reference/${page}.md`, `## ${name}`).flatMap(([cell]) => quoted(cell));
    assert.deepEqual(rows.toSorted(), Object.keys(inputSchema.properties).filter((it) => it !== 'agent_id').toSorted(), page);
  }
});

test('docs/operate/storage.md has the files of the state folder', async (t) => {
  const listed = [...new Set(table('docs/operate/storage.md', '# Storage').flatMap(([, places]) => quoted(places)))];
  const pattern = (it) => new RegExp(`^${it.replaceAll('.', '\\.').replace('/', '').replace('*', '.*').replace('ID-PID', '\\w+-\\d+')}(-wal|-shm|\\.head)?$`);
  const matching = (name) => listed.filter((it) => pattern(it).test(name));
  const long = { content: [{ type: 'text', text: 'a line of text\n'.repeat(9000) }] };
  const dir = tempDir(t), state = path.join(dir, 'state');
  const up = snapshot(t, { tools: [{ name: 'a', inputSchema: { type: 'object' } }], replies: { tools: { a: long } } });
  const servers = { docs: up, notes: { command: path.join(path.dirname(toolgate()), 'examples/quickstart/notes') } };
  const gateway = await startMeta(t, { servers, dir, config: { state_dir: state, audit: { enabled: true } } });
  const client = await open(t, gateway, 'http', { capabilities: { roots: {} } });
  await client.call('tool_execute', { tool_id: await idOf(client, 'docs', 'a'), args: {} });
  const found = () => fs.readdirSync(state).filter((it) => !it.startsWith('.')); // a file that is being written
  for (const name of listed) await until(() => found().some((it) => matching(it).includes(name)), () => `${name} in ${found()}`);
  for (const name of found()) assert.ok(matching(name).length, name);
});

// ---- configurations

/** The files that make a block a whole configuration, or null if it is none: `{ name: text }`. */
function asFiles({ kind, text }) {
  if (kind === 'yaml' && /^(adapters|aliases|approvals|context|flow|intents|manifests|output_schemas|pins|records|signing|skills|unlisted_tools):/m.test(text)) return { 'toolgate.yaml': 'governance: governance.yaml\n', 'governance.yaml': text };
  if (kind === 'yaml') return /^(scrape_configs|groups):/.test(text) ? null : { 'toolgate.yaml': `${/^transport:/m.test(text) ? '' : 'transport: http\n'}${text}` };
  if (kind !== 'json') return null;
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return null; // a part, or with …
  }
  if (value.mcpServers) return { '.mcp.json': text };
  if (value.agents) return { '.mcp-gateway-rules.json': text };
  if (value.tools && value.server) return { '.mcp.json': '{"mcpServers": {"docs": {"type": "snapshot", "catalog": "docs.json"}}}', 'docs.json': text };
  if (value.tokens) return { 'toolgate.yaml': 'transport: http\nauth: {token_file: tokens.json}\n', 'tokens.json': text };
  return null;
}

/** Writes a new private key. */
function writeKey(file) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, crypto.generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600 });
}

describe('toolgate check accepts the configurations of the documentation', { concurrency: 4 }, () => {
  const servers = '{"mcpServers": {"up": {"command": "cat"}}}';
  const BASE = { '.mcp.json': servers, '.config/toolgate/mcp.json': servers,
    'docs.json': '{"server": "docs", "tools": [{"name": "a", "inputSchema": {"type": "object"}}]}', 'governance.yaml': '{}' };
  for (const page of pages())
    for (const block of blocksOf(page)) {
      const files = asFiles(block);
      if (files) test(block.at, async (t) => {
        const dir = tempDir(t), bin = path.join(dir, 'bin'), env = { HOME: dir, XDG_CONFIG_HOME: '', PATH: `${bin}:${process.env.PATH}` };
        for (const [name, text] of Object.entries({ ...BASE, ...files })) {
          fs.mkdirSync(path.dirname(path.join(dir, name)), { recursive: true });
          fs.writeFileSync(path.join(dir, name), text.replaceAll('/srv/ada', dir), { mode: 0o600 });
        }
        fs.mkdirSync(bin);
        for (const [, name] of block.text.matchAll(/key_file: (\w[\w./-]*\.pem)/g)) writeKey(path.join(dir, name));
        for (const [, name] of block.text.matchAll(/\$\{(\w+)\}/g)) env[name] = 'a-value-of-thirty-two-characters';
        for (const [, name] of block.text.matchAll(/"command": "([\w-]+)"/g)) fs.writeFileSync(path.join(bin, name), '#!/bin/sh\n', { mode: 0o755 });
        const { status, stdout } = await runToolgate(['check', '--json'], { cwd: dir, env });
        assert.equal(status, 0, stdout);
      });
    }
});
