// SPDX-License-Identifier: Apache-2.0
// Counts tokens with Toolgate and with tiktoken (npm, WebAssembly) on the same texts, in turns, and prints a table.
//
//   scripts/node bench/tokens.mjs [ROUNDS]      after `make -C bench tokens`
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const BIN = path.join(ROOT, 'build/bench');
const ROUNDS = Number(process.argv[2] ?? 7);
const TRIAL_MS = 100;

// The package is with those of the end-to-end tests.
const { get_encoding } = createRequire(path.join(ROOT, 'tests/e2e/'))('tiktoken');
const encoding = get_encoding('cl100k_base');

// ---- the texts, the same in every run ----

let state = 1;
const below = (n) => {
  state = Math.imul(state, 1664525) + 1013904223 | 0;
  return (state >>> 8) % n;
};
const pick = list => list[below(list.length)];
const some = (n, make) => Array.from({ length: n }, make);

function files(...patterns) {
  const names = fs.readdirSync(ROOT, { recursive: true }).filter(n => patterns.some(p => p.test(n))).sort();
  return names.map(name => fs.readFileSync(path.join(ROOT, name), 'utf8')).join('\n');
}

/** A list of tools, described in words of the documentation. */
function json(prose) {
  const words = prose.match(/\b[a-z]{2,}\b/g);
  const phrase = n => some(n, () => pick(words)).join(' ');
  const property = () => ({ type: pick(['string', 'integer', 'boolean', 'array']), description: `${phrase(8)}.` });
  const tool = () => ({
    name: `${pick(words)}_${pick(words)}`,
    description: `${phrase(25)}.`,
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(some(1 + below(6), () => [`${pick(words)}_${pick(words)}`, property()])),
      required: [pick(words)],
    },
  });
  return JSON.stringify({ tools: some(400, tool) });
}

/** Sentences of the names that a language has for countries, languages, scripts and currencies. */
function sentences(locale, blank, stop) {
  const codes = { region: some(676, (_, i) => pair(i)),
    language: some(676, (_, i) => pair(i).toLowerCase()), currency: Intl.supportedValuesOf('currency') };
  const names = Object.entries(codes).flatMap(([type, list]) => {
    const display = new Intl.DisplayNames([locale], { type, fallback: 'none' });
    return list.map(code => display.of(code)).filter(Boolean);
  });
  return some(2500, () => some(3 + below(6), () => pick(names)).join(blank) + stop).join('');
}
const pair = i => String.fromCharCode(65 + Math.floor(i / 26), 65 + i % 26);

function texts() {
  const prose = files(/^[A-Z]+\.md$/, /^docs\/.*\.md$/, /^LICENSE$/);
  return {
    'English (documentation)': prose,
    'C (src/json, src/io)': files(/^src\/(json|io)\/.*\.[ch]$/),
    'JSON (400 tools)': json(prose),
    'Chinese (names)': sentences('zh', '', '，'),
    'Japanese (names)': sentences('ja', 'と', '。'),
    'Chinese (characters by chance)': some(60000, () => (below(12) ? String.fromCodePoint(0x4e00 + below(3000)) : '。')).join(''),
    'random base64': Buffer.from(some(200000, () => below(256))).toString('base64'),
    'random letters, 20 KB in one word': some(20000, () => String.fromCharCode(97 + below(26))).join(''),
  };
}

// ---- measuring ----

/** Time of the processor, as in tokens_bench: others who use the machine disturb it less. */
const cpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

function tiktokenMs(text) {
  let best = Infinity, tokens;
  for (const begin = performance.now(); performance.now() - begin < TRIAL_MS;) {
    const start = cpuMs();
    tokens = encoding.encode_ordinary(text).length;
    best = Math.min(best, cpuMs() - start);
  }
  return { tokens, ms: best };
}

function toolgateMs(file) {
  const { tokens, count_ns: count, encode_ns: encode } = JSON.parse(execFileSync(path.join(BIN, 'tokens_bench'), [file]));
  return { tokens, count: count / 1e6, encode: encode / 1e6 };
}

function measure(name, text) {
  const file = path.join(BIN, 'tokens.txt');
  fs.writeFileSync(file, text);
  const rounds = some(ROUNDS, () => ({ theirs: tiktokenMs(text), ours: toolgateMs(file) }));
  for (const { theirs, ours } of rounds)
    if (theirs.tokens !== ours.tokens) throw new Error(`${name}: ${ours.tokens} tokens, tiktoken has ${theirs.tokens}`);
  const least = value => Math.min(...rounds.map(value));
  const [theirs, ids, count] = [least(r => r.theirs.ms), least(r => r.ours.encode), least(r => r.ours.count)];
  const ratio = (ours, best) => {
    const all = rounds.map(r => r.theirs.ms / ours(r)).sort((a, b) => a - b);
    return `${shown(theirs / best)} (${shown(all[0])} to ${shown(all.at(-1))})`;
  };
  return [name, Math.round(fs.statSync(file).size / 1000), rounds[0].ours.tokens, shown(theirs), shown(count),
    ratio(r => r.ours.count, count), shown(ids), ratio(r => r.ours.encode, ids)];
}

const shown = x => (x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2));

console.log(`best of ${ROUNDS} rounds in turns, time of the processor
ratio: the time of tiktoken by that of Toolgate, from the best of each (lowest and highest of the rounds)\n`);
console.log('| text | KB | tokens | tiktoken ms | count ms | ratio | ids ms | ratio |');
console.log('|---|---:|---:|---:|---:|---:|---:|---:|');
for (const [name, text] of Object.entries(texts())) console.log(`| ${measure(name, text).join(' | ')} |`);
