// SPDX-License-Identifier: Apache-2.0
// The blocks of the documentation. A block of commands is a fenced block of a shell, or a block without a language (fenced
// or indented) whose first line is a command. `<!-- not run: reason -->` on the line before excludes it from the tests.
import fs from 'node:fs';
import path from 'node:path';

import { ROOT } from './gateway.mjs';

const SHELLS = new Set(['sh', 'bash', 'console']);
const COMMAND = /^(?:\$ |(?:sudo )?(?:toolgate [a-z]|(?:cd|claude|curl|docker|git|make|ninja|npm|npx|pkill|python3) |make$|scripts\/))/;
const MARK = /^\s*<!-- not run: (.*?) -->$/;

export const readPage = (page, root = ROOT) => fs.readFileSync(path.join(root, page), 'utf8');

/** Every page of the documentation, without the list of changes. */
export function pages() {
  const below = ['docs', 'examples'].flatMap((dir) => fs.readdirSync(path.join(ROOT, dir), { recursive: true }).map((it) => `${dir}/${it}`));
  return [...fs.readdirSync(ROOT), ...below].filter((it) => it.endsWith('.md') && it !== 'CHANGELOG.md').toSorted();
}

/** The lines of a page that belong to blocks: `{ line, kind, lines }`; `kind` is undefined for an indented block. */
function cut(lines) {
  const blocks = [];
  for (let i = 0; i < lines.length; i++) {
    const [, fence, kind] = /^( *```)(\w*)$/.exec(lines[i]) ?? [];
    const indented = /^ {4}/.test(lines[i]) && (i === 0 || lines[i - 1] === '' || MARK.test(lines[i - 1]));
    if (!fence && !indented) continue;
    const first = fence ? i + 1 : i;
    let end = first;
    while (end < lines.length && (fence ? lines[end] !== fence : /^ {4}/.test(lines[end]))) end++;
    blocks.push({ line: i + 1, kind, lines: lines.slice(first, end).map((it) => (fence ? it : it.slice(4))) });
    i = fence ? end : end - 1;
  }
  return blocks;
}

/**
 * The blocks of a page, in order: `{ at, kind, text, isCommand, notRun, shown }`. `at` is page:line, `notRun` the reason
 * of a mark. `shown` is the output that the page shows for commands, if it does: the text block that follows, or in a
 * block of lines with `$ ` the other lines.
 */
export function blocksOf(page, root = ROOT) {
  const lines = readPage(page, root).split('\n');
  const blocks = cut(lines).map(({ line, kind, lines: own }) => {
    const isCommand = SHELLS.has(kind) || (!kind && COMMAND.test(own[0]));
    const prompts = isCommand && own[0].startsWith('$ ');
    const text = (prompts ? own.filter((it) => it.startsWith('$ ')).map((it) => it.slice(2)) : own).map((it) => `${it}\n`).join('');
    const shown = prompts ? own.filter((it) => !it.startsWith('$ ')).map((it) => `${it}\n`).join('') : undefined;
    return { at: `${page}:${line}`, kind, text, isCommand, notRun: MARK.exec(lines[line - 2])?.[1], shown };
  });
  for (const [i, block] of blocks.entries())
    if (block.isCommand && block.shown === undefined && blocks[i + 1]?.kind === 'text') block.shown = blocks[i + 1].text;
  return blocks;
}

/** The blocks of commands that a test of the page must run. */
export const commandBlocks = (page, root = ROOT) => blocksOf(page, root).filter((it) => it.isCommand && it.notRun === undefined);

/** The lines of a page that exclude a block, as page:line. */
export function marksOf(page) {
  return readPage(page).split('\n').flatMap((text, i) => (MARK.test(text) ? [`${page}:${i + 2}`] : []));
}
