// SPDX-License-Identifier: Apache-2.0
// Manifests: files with one adapter each, which a governance file names.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { toolgate } from './lib/gateway.mjs';
import { namesOf, open } from './lib/meta.mjs';
import { tempDir, writeJson } from './lib/process.mjs';
import { startGateway, until } from './lib/raw.mjs';
import { saveAtomically, shop } from './lib/reloading.mjs';

const manifest = (server, names, more) => ({
  adapter_id: `adp_${server}`, type: 'MCP', server,
  capabilities: names.map((name) => ({ name, class: 'act', approval_mode: 'network', ...more })),
});
const allow = (server, name) => ({ permission_id: `p_${server}_${name}`, adapter_id: `adp_${server}`, capability: name, allow: true });
const run = (...args) => spawnSync(toolgate(), args, { encoding: 'utf8' });

/** A folder with a governance file and manifests beside it. */
function folder(t, governance, files) {
  const dir = tempDir(t);
  for (const [name, value] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(dir, name)), { recursive: true });
    if (typeof value === 'string') fs.writeFileSync(path.join(dir, name), value);
    else writeJson(path.join(dir, name), value);
  }
  return { dir, file: writeJson(path.join(dir, 'governance.json'), governance) };
}

describe('manifests of a governance file', () => {
  test('are files and patterns, and their capabilities count like those of adapters', (t) => {
    const { file } = folder(t, { manifests: ['one.json', 'more/*.yaml'], permissions: [allow('one', 'a'), allow('two', 'b')] }, {
      'one.json': manifest('one', ['a']),
      'more/two.yaml': 'adapter_id: adp_two\ntype: MCP\nserver: two\ncapabilities:\n  - { name: b, class: observe, approval_mode: read_only }\n',
      'more/three.yaml': 'adapter_id: adp_three\ntype: CUSTOM\ncapabilities: []\n',
    });
    assert.equal(run('govern', 'check', file).stdout, `${file}: no problems, 2 capabilities\n`);
    const r = run('govern', 'decide', '--governance', file, '{"capability":"adp_two.b"}');
    assert.deepEqual([r.status, r.stdout], [0, 'ALLOW  read_only  /permissions/1  (p_two_b)\n']);
  });

  test('an error names the manifest and the place in it', (t) => {
    const { dir, file } = folder(t, { manifests: ['a/*.json'] }, { 'a/bad.json': manifest('bad', ['x'], { approval_mode: 'read_only' }), 'a/ok.json': manifest('ok', []) });
    const { status, stdout } = run('govern', 'check', file, '--json');
    assert.equal(status, 1);
    assert.deepEqual(JSON.parse(stdout).problems.map((it) => [it.file, it.pointer, it.message.split(':')[0]]),
      [[fs.realpathSync(path.join(dir, 'a/bad.json')), '/capabilities/0', 'CLASS_MODE_CONFLICT']]);
  });

  test('a missing file and a pattern without a match are errors', (t) => {
    const { file } = folder(t, { manifests: ['none.json', 'none/*.json', 5] }, {});
    const { status, stdout } = run('govern', 'check', file, '--json');
    assert.equal(status, 1);
    assert.deepEqual(JSON.parse(stdout).problems.map((it) => [path.basename(it.file), it.pointer]),
      [['none.json', ''], ['governance.json', '/manifests/1'], ['governance.json', '/manifests/2']]);
  });

  test('two manifests cannot have the same adapter', (t) => {
    const { file } = folder(t, { manifests: ['*.manifest.json'], adapters: [manifest('x', [])] }, { 'x.manifest.json': manifest('x', []) });
    const { status, stdout } = run('govern', 'check', file, '--json');
    assert.equal(status, 1);
    assert.match(stdout, /the adapter_id \\"adp_x\\" is used twice/);
  });

  test('a manifest alone can be checked', (t) => {
    const { dir } = folder(t, {}, { 'one.json': manifest('one', ['a']) });
    const file = path.join(dir, 'one.json');
    assert.equal(run('govern', 'check', file).stdout, `${file}: no problems, 1 capability\n`);
  });

  test('the running gateway follows added and changed manifests', async (t) => {
    const { dir, file } = folder(t, { manifests: ['m/*.json'], permissions: [allow('shop', 'add')], context: { unlisted_servers: 'allow' } },
      { 'm/shop.json': manifest('shop', ['add']) });
    const servers = { shop: shop(t, ['add', 'list']), docs: shop(t, ['page']) };
    const gateway = await startGateway(t, { servers, config: { governance: file, timeouts: { start_wait: 60 } } });
    const client = await open(t, gateway);
    const sees = async (...names) => until(async () => namesOf(await client.tools()).sort().join() === names.join(), `the tools ${names}`);
    await sees('add', 'page');
    saveAtomically(path.join(dir, 'm/docs.json'), JSON.stringify(manifest('docs', ['page'])));  // without a permission
    await sees('add');
    saveAtomically(path.join(dir, 'm/shop.json'), JSON.stringify(manifest('shop', ['list'])));
    await until(() => /governance\.json:\/permissions\/0: no adapter registers/.test(gateway.log), 'the error');
    await sees('add');
    fs.rmSync(path.join(dir, 'm/docs.json'));
    saveAtomically(path.join(dir, 'm/shop.json'), JSON.stringify(manifest('shop', ['add', 'list'])));
    await sees('add', 'page');
  });
});
