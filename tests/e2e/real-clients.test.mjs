// SPDX-License-Identifier: Apache-2.0
// Claude Code, Codex, opencode and Gemini CLI, as npm installs them, work through Toolgate against a scripted model. The
// model finds a tool, calls it and reads on in its long result; the tests assert what reached the model.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { before, describe, test } from 'node:test';

import { AGENTS, askAgent, skipWithout } from './lib/agents.mjs';
import { startGateway, stdioGateway } from './lib/gateway.mjs';
import { open, textOf, THREE } from './lib/meta.mjs';
import { startModel, toolOf } from './lib/model.mjs';
import { descendants, suiteScope, tempDir, until } from './lib/process.mjs';
import { everything, filesystem, memory } from './lib/servers.mjs';
import { countTokens } from './lib/tokens.mjs';

const LINES = 3000;
const DEFINITIONS_TOKENS = 600;  // of the three meta-tools, as JSON
const LISTED_TOKENS = 700;       // of ten cards of at most 60 tokens, and what is said about them
const RESULT_TOKENS = 2100;      // result.budget and the line that says how to read on

/** Starts a gateway on HTTP and waits until its servers are ready, as they are when a person opens a client. */
async function readyGateway(t, options) {
  const gateway = await startGateway(t, { mode: 'gateway', ...options });
  const ready = new URL('/readyz', gateway.url);
  await until(async () => {
    const { servers } = await (await fetch(ready)).json();
    return Object.values(servers).every(({ state }) => state === 'ready');
  }, 'all servers are ready');
  return gateway;
}

/** How an agent reaches Toolgate, by transport. */
const ENTRY = {
  http: async (t, options) => ({ url: (await readyGateway(t, options)).url }),
  stdio: async (t, options) => {
    const { command, args, env } = stdioGateway(t, { mode: 'gateway', ...options });
    const { XDG_STATE_HOME, ASAN_OPTIONS, UBSAN_OPTIONS } = env;
    return { command, args, env: { XDG_STATE_HOME, ASAN_OPTIONS, UBSAN_OPTIONS } };
  },
};

const RUNS = [['Claude Code', 'stdio'], ['Claude Code', 'http'], ['Codex', 'stdio'], ['Codex', 'http'],
  ['opencode', 'stdio'], ['Gemini CLI', 'http']];

const idIn = (text, name) => new RegExp(`files:${name}[#\\w]*`).exec(text)?.[0];
const handleIn = (text) => /text:[^\s"]+/.exec(text)?.[0];

describe('an agent finds a tool, calls it and reads on', () => {
  const suite = suiteScope();
  const folder = tempDir(suite);
  const servers = { files: filesystem(folder) };
  const log = path.join(folder, 'log.txt');
  fs.writeFileSync(log, Array.from({ length: LINES }, (_, i) => `line ${i} of the log\n`).join(''));

  // The three requests; each of the later ones depends on the text of the one before, which is all that a model has.
  const steps = [
    () => ({ tool: 'tool_browse', input: { query: 'read a text file' } }),
    ([found]) => ({ tool: 'tool_execute', input: { tool_id: idIn(found, 'read_text_file'), args: { path: log } } }),
    ([, cut]) => ({ tool: 'tool_view', input: { handle: handleIn(cut), selector: { type: 'search', query: '2999' } } }),
  ];
  let expected;  // the texts that Toolgate sends to a client that shows them as they are

  before(async () => {
    const { url } = await readyGateway(suite, { servers });
    const client = await open(suite, { url: new URL(url).origin });
    expected = [];
    for (const step of steps) {
      const { tool, input } = step(expected);
      expected.push(textOf(await client.call(tool, input)));
    }
    assert.match(expected[2], /line 2999 of the log/);
  });

  for (const [agent, transport] of RUNS) {
    test(`${agent} on ${transport}: its model reads the texts of Toolgate, and no more`, async (t) => {
      if (await skipWithout(t, agent)) return;
      const model = await startModel(t, [...steps.map((step) => ({ results }) => step(results)), { text: 'FINISHED' }]);
      const entry = await ENTRY[transport](t, { servers });
      const { status, stdout, stderr } = await askAgent(agent, { home: tempDir(t), cwd: folder, entry, model });
      assert.equal(status, 0, stderr);
      assert.match(stdout, /FINISHED/, JSON.stringify(model.turns.at(-1)?.results));

      const [first, last] = [model.turns[0], model.turns.at(-1)];
      const definitions = THREE.map((name) => toolOf(first, name));
      assert.deepEqual(first.tools.filter(({ name }) => /(tool|resource|prompt)_(browse|execute|view|read|get)$/.test(name))
        .map(({ name }) => name).sort(), definitions.map(({ name }) => name).sort(), 'the three meta-tools');
      assert.match(JSON.stringify(first.body), /tool_browse and called with tool_execute: files/, 'the instructions');

      const { unframe = (result) => result } = AGENTS[agent];
      const unmarked = (text) => text.replace(/\[tg\d+\]/g, '[mark]'); // random for each session
      assert.deepEqual(last.results.map(unframe).map(unmarked), expected.map(unmarked));

      const tokens = [JSON.stringify(definitions), ...last.results].map(countTokens);
      t.diagnostic(`table: ${agent} on ${transport}: tokens of definitions ${tokens[0]}, browse ${tokens[1]}, ` +
        `execute ${tokens[2]}, view ${tokens[3]}`);
      for (const [i, most] of [DEFINITIONS_TOKENS, LISTED_TOKENS, RESULT_TOKENS, RESULT_TOKENS].entries())
        assert.ok(tokens[i] <= most, `${tokens[i]} tokens, more than ${most}`);
    });
  }
});

describe('an agent whose model is asked while a server is still starting', () => {
  const installing = { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'] };
  for (const agent of ['Claude Code', 'Codex']) {
    test(`${agent} has the meta-tools in its first request`, async (t) => {
      if (await skipWithout(t, agent)) return;
      const folder = tempDir(t);
      const model = await startModel(t, [{ text: 'FINISHED' }]);
      const entry = await ENTRY.stdio(t, { servers: { files: filesystem(folder), installing } });
      const { status, stderr } = await askAgent(agent, { home: tempDir(t), cwd: folder, entry, model });
      assert.equal(status, 0, stderr);
      assert.deepEqual(THREE.filter((name) => !toolOf(model.turns[0], name)), []);
    });
  }
});

test('Claude Code, connected and idle, starts no process; as the only client it needs none more for its calls', async (t) => {
  if (await skipWithout(t, 'Claude Code')) return;
  const folder = tempDir(t);
  const servers = { files: filesystem(folder), memory: memory(path.join(folder, 'memory.json')), everything: everything() };
  const gateway = await readyGateway(t, { servers });
  const commands = () => descendants(gateway.program.pid).map(({ command }) => command).sort();
  const ahead = commands();
  // A server that gives way to the one that the client uses takes a moment to end.
  const settled = () => until(() => commands().length === ahead.length, () => `${ahead.join('\n')}\nare now\n${commands().join('\n')}`);
  const call = (query, pattern, args) => [
    async () => (await settled(), { tool: 'tool_browse', input: { query } }),
    ({ results }) => ({ tool: 'tool_execute', input: { tool_id: pattern.exec(results.at(-1))[0], args } }),
  ];
  const model = await startModel(t, [
    async () => { assert.deepEqual(commands(), ahead); return { tool: 'tool_browse', input: { path: '/' } }; },
    ...call('list a directory', /files:list_directory\b[#\w]*/, { path: folder }),
    ...call('read the knowledge graph', /memory:read_graph[#\w]*/, {}),
    ...call('add two numbers', /everything:get-sum[#\w]*/, { a: 1, b: 2 }),
    async () => (await settled(), { text: 'FINISHED' }),
  ]);
  const { status, stdout, stderr } = await askAgent('Claude Code', { home: tempDir(t), cwd: folder, entry: { url: gateway.url }, model });
  assert.ifError(model.failures[0]);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /FINISHED/);
  assert.match(model.turns.at(-1).results.at(-1), /3/);
});
