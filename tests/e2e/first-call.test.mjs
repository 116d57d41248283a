// SPDX-License-Identifier: Apache-2.0
// First-call success: how often the first call of a tool is accepted when the agent knows nothing of it but its card.
//
// The agent has a sensible value for every parameter that it knows by name, and passes those. It learns names from the
// signature at the end of the card's line; without a signature, only from words of the card that are names of
// parameters. Each tool of the catalogs is called once, through tool_execute; its server accepts what its schema allows.
// The catalogs are those of tests/data, and of those beside the repository a sample, or all with TOOLGATE_LONG.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';

import { BESIDE, IN_TREE, readCatalog } from './lib/beside.mjs';
import { linesOf, open, startMeta } from './lib/meta.mjs';
import { suiteScope } from './lib/process.mjs';
import { handshakeServer } from './lib/stateless.mjs';
import { countTokens } from './lib/tokens.mjs';
import { judge, make } from './servers/golden-generate.mjs';

const EVERY = process.env.TOOLGATE_LONG ? 1 : 6;
const WIDTH = 8;  // calls at a time
const SHARE = 0.97;  // of first calls that are accepted

/** What an agent reads in the line of a card: its text, and the parameters of its signature if there is one. */
export function readCard(line) {
  const [, text, signature] = /^(.*?)(?: args: ([^[\]]*|.*?))?$/s.exec(line);
  const names = signature === undefined || signature === '{}' ? [] : signature.split(', ').filter((name) => name !== '…');
  return { text, known: signature !== undefined, names: names.map((name) => name.replace(/\?$/, '')) };
}

const propertiesOf = (schema) => Object.keys(schema.properties ?? {});
const withNames = (value, names) => Object.fromEntries(Object.entries(value).filter(([name]) => names.has(name)));
const wordsOf = (text) => new Set(text.match(/[\w$.-]*\w/g));

async function inParallel(jobs, run) {
  const left = [...jobs];
  await Promise.all(Array.from({ length: WIDTH }, async () => {
    for (let job; (job = left.shift()); ) await run(job);
  }));
}

describe('an agent that has seen only the card of a tool', () => {
  const scope = suiteScope();
  const tools = [];  // { id, line, schema }
  let client;
  before(async () => {
    const servers = {};
    const files = [...IN_TREE, ...BESIDE.filter((_, i) => i % EVERY === 0)];
    for (const [i, file] of files.entries()) {
      const up = await handshakeServer('http', { name: `s${i}` });
      up.tools = readCatalog(file).tools;
      up.on('tools/call', () => ({ content: [{ type: 'text', text: 'done' }] }));
      servers[`s${i}`] = up;
    }
    client = await open(scope, await startMeta(scope, { servers }));
    for (const [server, up] of Object.entries(servers)) {
      const schemas = new Map(up.tools.map((tool) => [tool.name, tool.inputSchema ?? {}]));
      for (const left = [`/${server}`]; left.length; ) {
        for (const { id, line } of linesOf(await client.call('tool_browse', { path: left.pop() }))) {
          const schema = schemas.get(id.split(/[:@#]/)[1]);
          if (id.startsWith('/')) left.push(id);
          else if (schema && judge(schema)?.(make(schema))) tools.push({ id, line, schema });
        }
      }
    }
  });

  /** The share of tools whose first call is accepted, with the names that `learn` finds in a line. */
  async function accepted(learn) {
    let count = 0;
    await inParallel(tools, async ({ id, line, schema }) => {
      const args = withNames(make(schema), learn(line, schema));
      const result = await client.call('tool_execute', { tool_id: id, args });
      if (result.isError !== true) count++;
    });
    return count / tools.length;
  }

  test('calls it with success', async (t) => {
    const signed = await accepted((line) => new Set(readCard(line).names));
    const unsigned = await accepted((line, schema) => {
      const words = wordsOf(readCard(line).text);
      return new Set(propertiesOf(schema).filter((name) => words.has(name)));
    });
    const percent = (share) => `${(100 * share).toFixed(1)} %`;
    t.diagnostic(`${tools.length} tools: ${percent(signed)} of first calls are accepted, ${percent(unsigned)} without signatures`);
    assert.ok(signed >= SHARE, percent(signed));
    assert.ok(signed >= unsigned + 0.2);
  });

  test('knows every required parameter, for hardly more tokens', async (t) => {
    const named = tools.filter(({ line, schema }) => {
      const known = new Set(readCard(line).names);
      return (schema.required ?? []).every((name) => known.has(name));
    });
    const counts = tools.map(({ line }) => countTokens(`${line}\n`));
    const mean = counts.reduce((sum, n) => sum + n, 0) / counts.length;
    t.diagnostic(`${named.length} of ${tools.length} cards name every required parameter; ${mean.toFixed(1)} tokens on average, ` +
      `${counts.filter((n) => n > 60).length} over 60`);
    assert.ok(named.length >= tools.length * SHARE, `${named.length} of ${tools.length}`);
    assert.ok(Math.max(...counts) <= 80);
  });
});
