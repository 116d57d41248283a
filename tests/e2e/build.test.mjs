// SPDX-License-Identifier: Apache-2.0
// How the program is built, and what it is built from.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { ROOT, toolgate } from './lib/gateway.mjs';
import { run, tempDir } from './lib/process.mjs';

async function output(command, args) {
  const { status, stdout, stderr } = await run(command, args, { cwd: ROOT });
  assert.equal(status, 0, stderr);
  return stdout;
}

// The tests run a build with sanitizers, which has other options. A whole build would take minutes: this configures one
// with the default options, looks at its commands, and compiles one file.
test('make builds with the protections that compiler and linker have', async (t) => {
  const dir = path.join(tempDir(t), 'build');
  await output('meson', ['setup', dir]);
  const commands = JSON.parse(fs.readFileSync(path.join(dir, 'compile_commands.json')));
  const ours = commands.filter(({ file }) => file.includes('src/'));
  assert.ok(ours.length > 100);
  for (const { command } of ours)
    for (const flag of ['-D_FORTIFY_SOURCE=3', '-O2', '-fstack-protector-strong', '-fstack-clash-protection', ...(process.arch === 'x64' ? ['-fcf-protection=full'] : [])])
      assert.ok(command.includes(flag), `${flag} in: ${command}`);
  const link = (await output('ninja', ['-C', dir, '-t', 'commands', 'toolgate'])).trim().split('\n').at(-1);
  for (const flag of ['-pie', '-Wl,-z,relro', '-Wl,-z,now', '-Wl,-z,noexecstack']) assert.ok(link.includes(flag), `${flag} in: ${link}`);
  if (process.arch !== 'x64') return;
  const { output: object } = ours.find(({ file }) => file.endsWith('src/base/buf.c'));
  await output('ninja', ['-C', dir, object]);
  assert.match(await output('readelf', ['-nW', path.join(dir, object)]), /IBT, SHSTK/);
});

// Only where there is one, such as after make.
const release = path.join(ROOT, 'build/toolgate');
test('the program itself is position independent, with read-only relocations and no executable stack',
  { skip: !fs.existsSync(release) && 'there is no build/toolgate' }, async () => {
    assert.match(await output('readelf', ['-dW', release]), /FLAGS_1\).*NOW PIE/);
    const segments = await output('readelf', ['-lW', release]);
    assert.match(segments, /GNU_RELRO/);
    assert.match(segments, /GNU_STACK.* RW /);
    assert.match(await output('readelf', ['-sW', '--dyn-syms', release]), /__memcpy_chk/);
  });

test('scripts/sbom lists the libraries of the program with their versions, the same each time', async () => {
  const text = await output('scripts/sbom', [toolgate()]);
  const sbom = JSON.parse(text);
  assert.equal(sbom.spdxVersion, 'SPDX-2.3');
  const version = Object.fromEntries(sbom.packages.map((p) => [p.name, p.versionInfo]));
  assert.match(version.toolgate, /^\d+\.\d+\.\d+$/);
  for (const name of ['uv', 'ssl', 'yaml', 'utf8proc', 'pcre2', 'sqlite3'])
    assert.ok(Object.keys(version).some((n) => n.includes(name) && /^\d|^NOASSERTION$/.test(version[n])), `${name} in ${Object.keys(version)}`);
  const ids = new Set(sbom.packages.map((p) => p.SPDXID));
  for (const r of sbom.relationships) assert.ok(ids.has(r.relatedSpdxElement), r.relatedSpdxElement);
  assert.equal(await output('scripts/sbom', [toolgate()]), text);
});
