// SPDX-License-Identifier: Apache-2.0
// `toolgate tokens` beside tiktoken: the same ids for every text, and what the command prints.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { get_encoding } from 'tiktoken';
import { assertNoReport, gatewayEnv, ROOT, runToolgate, toolgate } from './lib/gateway.mjs';
import { tempDir } from './lib/process.mjs';

const encoding = get_encoding('cl100k_base');
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** What tiktoken says of a text (a string, or bytes): its ids, joined by blanks. */
const idsOf = text => encoding.encode_ordinary(typeof text === 'string' ? text : decoder.decode(text)).join(' ');

const shown = text => JSON.stringify(typeof text === 'string' ? text : text.toString('latin1')).slice(0, 300);

function assertSame(texts, answers) {
  assert.equal(answers.length, texts.length);
  for (const [i, text] of texts.entries()) {
    const expected = idsOf(text);
    if (answers[i] !== expected) assert.fail(`${shown(text)}\ntoolgate ${answers[i]}\ntiktoken ${expected}`);
  }
}

/** Asks about texts without newlines, as the lines of one file. */
async function assertLines(t, lines) {
  const file = path.join(tempDir(t), 'lines');
  fs.writeFileSync(file, Buffer.concat(lines.flatMap(line => [Buffer.from(line), Buffer.from('\n')])));
  const { status, stdout, stderr } = await runToolgate(['tokens', '--ids', '--lines', file], { timeoutMs: 120_000 });
  assert.equal(status, 0, stderr);
  assertSame(lines, stdout.split('\n').slice(0, -1));
}

/** Asks about any texts, each as a file. */
async function assertFiles(t, texts) {
  const cwd = tempDir(t);
  const names = texts.map((_, i) => String(i));
  for (const [i, text] of texts.entries()) fs.writeFileSync(path.join(cwd, names[i]), text);
  const { status, stdout, stderr } = await runToolgate(['tokens', '--ids', ...names], { cwd, timeoutMs: 120_000 });
  assert.equal(status, 0, stderr);
  const answers = stdout.split('\n').slice(0, -1);
  assertSame(texts, answers.map((line, i) => {
    assert.ok(line.endsWith(`  ${i}`), line.slice(-40));
    return line.slice(0, -`  ${i}`.length);
  }));
}

// ---- chance, the same in every run ----

function chance(seed) {
  let state = seed;
  const below = (n) => {
    state = Math.imul(state ^ state >>> 15, 0x2c1b3c6d) + 0x9e3779b9 | 0;
    const x = Math.imul(state ^ state >>> 12, 0x297a2d39);
    return ((x ^ x >>> 15) >>> 0) % n;
  };
  const pick = list => list[below(list.length)];
  const some = (n, make) => Array.from({ length: n }, make);
  return { below, pick, some, text: (n, list) => some(n, () => pick(list)).join('') };
}

const characters = function* (first, last) {
  for (let c = first; c <= last; c++) if (c < 0xd800 || c > 0xdfff) yield String.fromCodePoint(c);
};
const LIVELY = [...characters(0, 0x3ffff), ...characters(0xe0000, 0xe0fff)];  // the rest is private, or nothing yet
const matching = pattern => LIVELY.filter(c => pattern.test(c));
const SPACES = matching(/\p{White_Space}/u).filter(c => c !== '\n');

// ---- texts that people and programs wrote ----

function filesBelow(folder, pattern, maxBytes) {
  const names = fs.readdirSync(folder, { recursive: true }).filter(n => pattern.test(n)).sort();
  const files = [];
  for (let i = 0, total = 0; i < names.length && total < maxBytes; i++) {
    const file = path.join(folder, names[i]);
    const stat = fs.statSync(file);
    if (!stat.isFile() || stat.size > 100_000) continue;
    files.push(file);
    total += stat.size;
  }
  return files;
}

const linesOf = files => files.flatMap(file => fs.readFileSync(file, 'utf8').split('\n'));

test('every line of this project has the ids that tiktoken gives', async (t) => {
  const files = execFileSync('find', ['src', 'tests', 'docs', 'scripts', 'bench', '(', '-name', 'node_modules', '-o', '-name',
    'corpus', ')', '-prune', '-o', '-type', 'f', '-size', '-200k', '-print'], { cwd: ROOT, encoding: 'utf8' });
  const lines = linesOf(files.trim().split('\n').sort().map(name => path.join(ROOT, name)));
  assert.ok(lines.length > 20_000);
  await assertLines(t, lines);
});

test('so has every line of packages from npm, in many formats', async (t) => {
  const packages = path.join(ROOT, 'tests/e2e/node_modules');
  for (const [pattern, bytes] of [[/\.md$/, 600_000], [/\.json$/, 400_000], [/\.[cm]?js$/, 600_000], [/\.d\.[cm]?ts$/, 400_000]])
    await assertLines(t, linesOf(filesBelow(packages, pattern, bytes)).filter(line => line.length < 20_000));
});

test('so has every file as a whole, with its newlines', async (t) => {
  const files = [...filesBelow(path.join(ROOT, 'src'), /\.[ch]$/, 400_000), ...filesBelow(path.join(ROOT, 'docs'), /./, 100_000),
    ...filesBelow(path.join(ROOT, 'tests/fuzz/corpus'), /./, 100_000)];
  await assertFiles(t, files.map(file => fs.readFileSync(file)));
});

// ---- characters ----

function slices(list, make) {
  const lines = [];
  for (let i = 0; i < list.length; i += 128) lines.push(list.slice(i, i + 128).filter(c => c !== '\n').map(make).join(''));
  return lines;
}

test('every code point is split as tiktoken splits it', async (t) => {
  // Whether an apostrophe, three digits or two blanks beside it stay together tells letter, number, space and others.
  await assertLines(t, slices(LIVELY, c => `${c}'s${c}123  ${c}`));
  await assertLines(t, slices([...characters(0x40000, 0xdffff), ...characters(0xe1000, 0x10ffff)], (c, i) => (i % 8 ? c : `${c}'s`)));
});

test('words in thirty scripts, with their marks and digits', async (t) => {
  const { below, some, pick, text } = chance(1);
  const scripts = `Arabic Armenian Bengali Cherokee Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Han Hangul
    Hebrew Hiragana Kannada Katakana Khmer Lao Latin Malayalam Mongolian Myanmar Oriya Sinhala Tamil Telugu Thaana Thai
    Tibetan Yi Adlam Gothic Cuneiform Egyptian_Hieroglyphs`.split(/\s+/);
  const signs = [...'.,;:!?-()«»„“”…/_*#@&%', '。', '、', '،', '।', '׃', ' ', ' ', ' ', '\t', '\u00a0', '  '];
  for (const script of scripts) {
    const own = matching(new RegExp(`[\\p{Script=${script}}&&\\p{L}]`, 'v'));
    const extended = matching(new RegExp(`[\\p{Script_Extensions=${script}}--\\p{L}]`, 'v'));
    const word = () => text(1 + below(12), own) + (extended.length && below(3) === 0 ? text(1 + below(3), extended) : '');
    await assertLines(t, some(40, () => some(1 + below(30), () => word() + pick(signs)).join('')));
  }
});

test('emoji in sequences, and letters under piles of marks', async (t) => {
  const { below, some, pick, text } = chance(2);
  const emoji = matching(/\p{Emoji_Presentation}/u);
  const joiners = ['\u200d', '\ufe0f', '\u20e3', '🏽', '🏿', '', '', ' ', '#\ufe0f\u20e3', '🇩🇪', '🇯🇵', '👩‍👩‍👧‍👦', '🏴󠁧󠁢󠁳󠁣󠁴󠁿'];
  await assertLines(t, some(400, () => some(below(40), () => pick(emoji) + pick(joiners)).join('')));
  const marks = matching(/\p{M}/u), letters = [...'aeioucnzяघกあ한ا '];
  await assertLines(t, some(600, () => some(below(20), () => pick(letters) + text(below(4), marks)).join('')));
});

test('digits and numbers of every kind', async (t) => {
  const { below, some, text } = chance(3);
  const numbers = matching(/\p{N}/u);
  await assertLines(t, some(3000, () => text(1 + below(9), numbers) + text(below(3), [' ', '.', ',', 'e', '-'])
    + text(below(12), [...'0123456789'])));
});

test('contractions in every case and place', async (t) => {
  const cases = word => word.length ? cases(word.slice(1)).flatMap(rest => [word[0] + rest, word[0].toUpperCase() + rest]) : [''];
  const words = ['s', 't', 're', 've', 'm', 'll', 'd', 'ſ', 'r', 'l', 'v', 'e', 'x', 'ß', 'ſſ', 'le', 'lſ'].flatMap(cases);
  const before = ['', ' ', 'I', 'x ', '!', "'", '1', '\t', 'é', '　', '\u0301', '€'];
  const behind = ['', ' ', 'x', "'s", '!', '9', 'ſ', 'the', 'É', '\r', '  a'];
  const quotes = ["'", '’', "''", "' "];
  await assertLines(t, before.flatMap(b => quotes.flatMap(q => words.flatMap(w => behind.map(e => b + q + w + e)))));
});

test('white space in every mixture, with newlines too', async (t) => {
  const { below, some, text } = chance(4);
  const others = [...'aZé中1٣!.\'"', '🙂', '\u0301'];
  const mixed = spaces => some(1 + below(8), () => text(below(7), spaces) + text(below(3), others)).join('');
  await assertLines(t, some(8000, () => mixed(SPACES)));
  await assertLines(t, some(4000, () => mixed([' ', ' ', ' ', '\t', '\r'])));
  await assertFiles(t, some(700, () => mixed([' ', '\n', '\r', '\t', '\r\n', '\u0085', '\u2028', '\u3000'])));
});

test('characters by chance, from everywhere', async (t) => {
  const { below, some, pick } = chance(5);
  const blocks = [[0, 0x7f], [0, 0x7f], [0x80, 0x24f], [0x370, 0x1fff], [0x2000, 0x2bff], [0x3000, 0x9fff], [0xa000, 0xd7ff],
    [0xf900, 0xffff], [0x10000, 0x1ffff], [0x20000, 0x10ffff]];
  const character = () => {
    const [first, last] = pick(blocks);
    return String.fromCodePoint(first + below(last - first + 1)).replace('\n', ' ');
  };
  await assertLines(t, some(6000, () => some(below(60), character).join('')));
});

test('what looks like a special token is ordinary text', async (t) => {
  const special = ['<|endoftext|>', '<|fim_prefix|>', '<|fim_middle|>', '<|fim_suffix|>', '<|endofprompt|>', '<|im_start|>'];
  await assertLines(t, special.flatMap(s => [s, `a${s}b`, ` ${s} `, s.repeat(3)]));
});

// ---- bytes ----

test('bytes that are no UTF-8 count as TextDecoder reads them', async (t) => {
  const { below, some, pick } = chance(6);
  const leads = [0xc0, 0xc2, 0xdf, 0xe0, 0xe2, 0xed, 0xef, 0xf0, 0xf3, 0xf4, 0xf5, 0xff];
  const byte = () => pick([below(256), 0x80 + below(64), pick(leads), 0x20 + below(95)]);
  const line = () => Buffer.from(some(below(60), byte).filter(b => b !== 10));
  await assertLines(t, some(12_000, line));
  // Valid text with a byte lost, changed or added.
  const valid = Buffer.from('naïve café — 中文字符, こんにちは 🙂🙃 don\'t Ünïcödé ﷺ \u{10ffff}');
  await assertLines(t, some(4000, () => {
    const at = below(valid.length);
    return Buffer.concat([valid.subarray(0, at), Buffer.from(pick([[], [byte()].filter(b => b !== 10)])),
      valid.subarray(at + below(2))]);
  }));
  await assertFiles(t, some(60, () => Buffer.from(some(below(3000), () => below(256)))));
});

// ---- long pieces ----

test('pieces of hundreds and thousands of bytes', async (t) => {
  const { below, some, pick, text } = chance(7);
  const lengths = [60, 63, 64, 65, 100, 126, 127, 128, 129, 130, 200, 255, 256, 257, 500, 1000, 2500];
  const alphabets = ['a', 'ab', 'x', 'abcdefghijklmnopqrstuvwxyz', 'etaoin', 'ABCdef', '中', '的一是不了在人有', 'é', '=', '-*', '!?.',
    '🙂', '0', ' ', '\t ', '\u00a0', '\r', '\u0301'].map(s => [...s]);
  await assertLines(t, lengths.flatMap(n => alphabets.flatMap(alphabet => [text(n, alphabet), ` ${text(n, alphabet)}x`])));
  await assertLines(t, some(200, () => Buffer.from(some(below(400), () => below(256))).toString(pick(['base64', 'hex', 'base64url']))));
});

// ---- the command ----

const ask = (args, input) => {
  const r = spawnSync(toolgate(), ['tokens', ...args], { input, env: gatewayEnv(), encoding: 'utf8' });
  assertNoReport(r.stderr);
  return r;
};

test('the answer is a number; of several files each has its name behind', async (t) => {
  const cwd = tempDir(t);
  fs.writeFileSync(path.join(cwd, 'a'), 'hello world\n\n1234567890');
  fs.writeFileSync(path.join(cwd, 'b b'), '');
  const said = async (...args) => (await runToolgate(['tokens', ...args], { cwd })).stdout;
  assert.equal(await said('a'), '7\n');
  assert.equal(await said('a', 'b b'), '7  a\n0  b b\n');
  assert.equal(await said('--ids', 'a'), '15339 1917 271 4513 10961 16474 15\n');
  assert.equal(await said('--lines', 'a'), '2\n0\n4\n');
  assert.equal(await said('--lines', 'a', 'b b'), '2  a:1\n0  a:2\n4  a:3\n');
  assert.equal(await said('--lines', '--ids', 'a'), '15339 1917\n\n4513 10961 16474 15\n');
});

test('standard input is counted when no file is named, and where - is', () => {
  assert.equal(ask([], 'hello world').stdout, '2\n');
  assert.equal(ask(['-'], 'hello world').stdout, '2\n');
  assert.equal(ask([], '').stdout, '0\n');
  assert.equal(ask(['--lines'], 'a\nb c\n').stdout, '1\n2\n');
  assert.equal(ask(['--lines'], '\n').stdout, '0\n');
  assert.equal(ask(['--lines'], '').stdout, '');
});

test('--json prints an object for each file', async (t) => {
  const cwd = tempDir(t);
  fs.writeFileSync(path.join(cwd, 'ä"'), 'hello world\nx');
  const said = async (...args) => JSON.parse((await runToolgate(['tokens', '--json', ...args], { cwd })).stdout);
  assert.deepEqual(await said('ä"'), { file: 'ä"', tokens: 4 });
  assert.deepEqual(await said('--ids', 'ä"'), { file: 'ä"', ids: [15339, 1917, 198, 87] });
  assert.deepEqual(await said('--lines', 'ä"'), { file: 'ä"', lines: [2, 1] });
  assert.deepEqual(await said('--lines', '--ids', 'ä"'), { file: 'ä"', lines: [[15339, 1917], [87]] });
  assert.deepEqual(JSON.parse(ask(['--json'], 'x').stdout), { file: null, tokens: 1 });
  const both = await runToolgate(['tokens', '--json', 'ä"', 'ä"'], { cwd });
  assert.deepEqual(both.stdout.trim().split('\n').map(line => JSON.parse(line).tokens), [4, 4]);
});

test('--help says how, on standard output', () => {
  const r = ask(['--help']);
  assert.equal(r.status, 0);
  assert.match(r.stdout, /^usage: toolgate tokens .*--ids.*--lines.*--json/s);
  assert.equal(r.stderr, '');
});

test('a file that cannot be read ends with 3, and the others are answered', async (t) => {
  const cwd = tempDir(t);
  fs.writeFileSync(path.join(cwd, 'a'), 'hello world');
  const r = await runToolgate(['tokens', 'gone', 'a', '.'], { cwd });
  assert.equal(r.status, 3);
  assert.equal(r.stdout, '2  a\n');
  assert.equal(r.stderr, 'toolgate: gone: No such file or directory\ntoolgate: .: Is a directory\n');
  assert.equal(ask(['--nonsense']).status, 2);
  const full = spawnSync('sh', ['-c', '"$0" tokens a > /dev/full', toolgate()], { cwd, env: gatewayEnv(), encoding: 'utf8' });
  assert.equal(full.status, 3);
  assert.equal(full.stderr, 'toolgate: the output could not be written\n');
});

test('binary files and long runs are counted in moments', async (t) => {
  const cwd = tempDir(t);
  const { some, below, text } = chance(8);
  const runs = { spaces: ' ', letters: 'a', signs: '=', newlines: '\n', zeros: '\0', han: '中', random: null, base64: null, word: null };
  for (const [name, unit] of Object.entries(runs)) if (unit) fs.writeFileSync(path.join(cwd, name), unit.repeat(200_000));
  const bytes = Buffer.from(some(200_000, () => below(256)));
  fs.writeFileSync(path.join(cwd, 'random'), bytes);
  fs.writeFileSync(path.join(cwd, 'base64'), bytes.toString('base64'));
  fs.writeFileSync(path.join(cwd, 'word'), text(200_000, [...'abcdefghijklmnopqrstuvwxyz']));
  const start = Date.now();
  const r = await runToolgate(['tokens', ...Object.keys(runs)], { cwd });
  assert.equal(r.status, 0, r.stderr);
  assert.equal(r.stdout.split('\n').length - 1, Object.keys(runs).length);
  assert.ok(Date.now() - start < 20_000, `${Date.now() - start} ms`);
});
