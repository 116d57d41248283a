// SPDX-License-Identifier: Apache-2.0
// Exact counts of cl100k_base tokens, by another hand than that of src/text/: only the ranks are the same file.
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from './gateway.mjs';

// JavaScript's \s and case folding are not those of the encoding's own expression, so they are spelled out.
const S = String.raw`\p{White_Space}`;
const PIECES = new RegExp(
  String.raw`'(?:[sSſ]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}` +
  String.raw`| ?[^${S}\p{L}\p{N}]+[\r\n]*|${S}*[\r\n]+|${S}+(?!\P{White_Space})|${S}+`, 'gu');

let ranks;

function load() {
  const { bpe_ranks } = JSON.parse(fs.readFileSync(path.join(ROOT, 'data/cl100k_base.json'), 'utf8'));
  const tokens = bpe_ranks.split(' ').slice(2);
  ranks = new Map(tokens.map((token, rank) => [Buffer.from(token, 'base64').toString('latin1'), rank]));
}

// Merges the neighbours of the lowest rank, the first of them first, until none is a token.
function encodePiece(piece) {
  if (ranks.has(piece)) return [ranks.get(piece)];
  const parts = [...piece];
  for (;;) {
    let best = Infinity, at = -1;
    for (let i = 0; i + 1 < parts.length; i++) {
      const rank = ranks.get(parts[i] + parts[i + 1]);
      if (rank < best) [best, at] = [rank, i];
    }
    if (at < 0) return parts.map((part) => ranks.get(part));
    parts.splice(at, 2, parts[at] + parts[at + 1]);
  }
}

/** The tokens of a text; special tokens in it are ordinary text. */
export function tokens(text) {
  if (!ranks) load();
  return (text.match(PIECES) ?? []).flatMap((piece) => encodePiece(Buffer.from(piece).toString('latin1')));
}

const known = new Map();

/** How many tokens a text has. */
export function countTokens(text) {
  if (!ranks) load();
  let count = 0;
  for (const piece of text.match(PIECES) ?? []) {
    if (!known.has(piece)) known.set(piece, encodePiece(Buffer.from(piece).toString('latin1')).length);
    count += known.get(piece);
  }
  return count;
}
