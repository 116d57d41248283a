// SPDX-License-Identifier: Apache-2.0
// Configuration that is found, not named: where it is looked for, and what is refused because another user may have
// written it. Most of it needs root, which can give files to others and run programs as them.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { gatewayEnv, runToolgate, toolgate } from './lib/gateway.mjs';
import { snapshot } from './lib/meta.mjs';
import { onEnd, Program, tempDir, writeJson } from './lib/process.mjs';

const ROOT = 0, NOBODY = 65534, OTHER = 65533;
const asRoot = { skip: process.getuid() !== 0 && 'only root can give files away' };
const servers = (t) => ({ mcpServers: { box: snapshot(t, { tools: [{ name: 'open', inputSchema: { type: 'object' } }] }) } });
const RULES = { agents: { a: { allow: { servers: ['*'], tools: { '*': ['*'] } } } } };

/** A folder of `owner` with a .mcp.json of `owner`. */
function folder(t, owner = process.getuid()) {
  const dir = path.join(tempDir(t), 'project');
  fs.chmodSync(path.dirname(dir), 0o755);
  fs.mkdirSync(dir);
  writeJson(path.join(dir, '.mcp.json'), servers(t));
  for (const file of [dir, path.join(dir, '.mcp.json')]) fs.chownSync(file, owner, owner);
  return dir;
}

async function check(dir, { args = [], env = {}, uid } = {}) {
  const home = path.join(dir, 'none');
  const { status, stdout } = await runToolgate(['check', '--json', ...args], { cwd: dir, uid, env: { HOME: home, XDG_STATE_HOME: '', ...env } });
  const { problems, mcp_config: file } = JSON.parse(stdout);
  return { status, file, foreign: problems.filter(({ message }) => message.startsWith('refused, because another user')).map((p) => p.file) };
}

describe('servers are looked for', () => {
  test('in ./config, where there is no .mcp.json in the folder itself', async (t) => {
    const dir = tempDir(t);
    fs.mkdirSync(path.join(dir, 'config'));
    writeJson(path.join(dir, 'config/.mcp.json'), servers(t));
    assert.deepEqual(await check(dir), { status: 0, file: 'config/.mcp.json', foreign: [] });
    const { status, stdout } = await runToolgate(['catalog', '--json'], { cwd: dir });
    assert.equal(status, 0);
    assert.match(stdout, /box:open/);
    writeJson(path.join(dir, '.mcp.json'), servers(t));
    assert.equal((await check(dir)).file, '.mcp.json');
  });
});

describe('a file that is found is not used', asRoot, () => {
  const user = { uid: NOBODY };

  test('a file that belongs to another user is not used', async (t) => {
    const dir = folder(t, OTHER);
    for (const as of [{ uid: ROOT }, user]) assert.deepEqual(await check(dir, as), { status: 1, file: undefined, foreign: ['.mcp.json'] });
    fs.chownSync(dir, NOBODY, NOBODY);
    assert.deepEqual((await check(dir, user)).foreign, ['.mcp.json']);
  });

  test('a file whose folder belongs to another user is not used', async (t) => {
    const dir = folder(t, OTHER);
    fs.chownSync(path.join(dir, '.mcp.json'), NOBODY, NOBODY);
    assert.deepEqual((await check(dir, user)).foreign, ['.mcp.json']);
  });

  test('a file is not used if every user can write it or its folder', async (t) => {
    const dir = folder(t, NOBODY);
    fs.chmodSync(dir, 0o777);
    assert.deepEqual((await check(dir, user)).foreign, ['.mcp.json']);
    fs.chmodSync(dir, 0o755);
    fs.chmodSync(path.join(dir, '.mcp.json'), 0o666);
    assert.deepEqual((await check(dir, user)).foreign, ['.mcp.json']);
  });

  test('if it is a link to such a file, or to a file in such a folder', async (t) => {
    const theirs = folder(t, OTHER), dir = folder(t, NOBODY);
    fs.rmSync(path.join(dir, '.mcp.json'));
    fs.symlinkSync(path.join(theirs, '.mcp.json'), path.join(dir, '.mcp.json'));
    fs.lchownSync(path.join(dir, '.mcp.json'), NOBODY, NOBODY);
    assert.deepEqual((await check(dir, user)).foreign, ['.mcp.json']);
    fs.chownSync(path.join(theirs, '.mcp.json'), NOBODY, NOBODY);
    assert.deepEqual((await check(dir, user)).foreign, ['.mcp.json']);
  });

  test('if ./config is a link of another user, whoever owns the folder that it leads to', async (t) => {
    const mine = folder(t, NOBODY), dir = path.join(tempDir(t), 'shared'), link = path.join(dir, 'config');
    fs.chmodSync(path.dirname(dir), 0o755);
    fs.mkdirSync(dir);
    fs.chmodSync(dir, 0o1777);
    fs.symlinkSync(mine, link);
    fs.lchownSync(link, OTHER, OTHER);
    assert.deepEqual(await check(dir, user), { status: 1, file: undefined, foreign: ['config/.mcp.json'] });
    fs.lchownSync(link, NOBODY, NOBODY);
    assert.deepEqual((await check(dir, user)).foreign, []);
  });

  for (const [name, content] of [
    ['toolgate.yaml', { mode: 'direct' }],
    ['toolgate.json', { mode: 'direct' }],
    ['.mcp-gateway-rules.json', RULES],
    ['config/.mcp-gateway-rules.json', RULES],
  ]) {
    test(`the same goes for ${name}`, async (t) => {
      const dir = folder(t, NOBODY), file = path.join(dir, name);
      fs.mkdirSync(path.dirname(file), { recursive: true });
      writeJson(file, content);
      fs.chownSync(file, OTHER, OTHER);
      assert.deepEqual((await check(dir, user)).foreign, [name]);
    });
  }

  test('and the message says what such a file decides, and how to name it', async (t) => {
    const dir = folder(t, NOBODY), home = tempDir(t), own = path.join(home, '.config/toolgate');
    fs.mkdirSync(own, { recursive: true });
    for (const [file, decides, option] of [
      [path.join(dir, '.mcp-gateway-rules.json'), 'who may use which tools', '(--rules)'],
      [path.join(dir, '.mcp.json'), 'which programs are started', '(--mcp-config)'],
      [path.join(own, 'tokens.json'), 'which tokens are accepted', '(auth.token_file)'],
    ]) {
      if (!fs.existsSync(file)) writeJson(file, {});
      fs.chownSync(file, OTHER, OTHER);
      const { stdout } = await runToolgate(['check', '--json'], { cwd: dir, env: { HOME: home, XDG_CONFIG_HOME: '' } });
      const { message } = JSON.parse(stdout).problems.find((p) => p.file.endsWith(path.basename(file)));
      assert.ok(message.includes(` and decide ${decides};`) && message.includes(option), message);
    }
  });

  test('by no command', async (t) => {
    const dir = folder(t, OTHER), env = { HOME: tempDir(t) };
    for (const args of [['serve'], ['catalog'], ['call', 'box:open', '{}'], ['browse', 'open'], ['import'], ['stats']]) {
      const { status, stderr } = await runToolgate(args, { cwd: dir, env });
      assert.equal(status, 1, `${args}: ${stderr}`);
      assert.match(stderr, /\.mcp\.json.*refused, because another user/, `${args}`);
    }
  });

  test('a file that becomes foreign while a gateway runs is not read again, and its previous content stays in force', async (t) => {
    const dir = folder(t, ROOT), file = path.join(dir, '.mcp.json');
    const program = new Program(toolgate(), ['serve', '--transport', 'http', '--listen', '127.0.0.1:0'],
      { cwd: dir, env: gatewayEnv() });
    onEnd(t, () => program.stop());
    await program.says(/listening on/);
    fs.chownSync(file, OTHER, OTHER);
    fs.writeFileSync(file, '{"mcpServers": {"evil": {"command": "/bin/false"}}}');
    await program.says(/refused, because another user[^]*reload: nothing was changed/);
  });
});

test('status, top and logs ask a gateway whose .mcp.json belongs to another user', asRoot, async (t) => {
  const dir = folder(t, ROOT), file = path.join(dir, '.mcp.json');
  writeJson(file, { mcpServers: { box: { command: 'cat' } } });
  fs.chownSync(file, OTHER, OTHER);
  const env = { XDG_STATE_HOME: tempDir(t) };
  const program = new Program(toolgate(), ['serve', '--listen', '127.0.0.1:0', '--mcp-config', file], { cwd: dir, env: gatewayEnv(env) });
  onEnd(t, () => program.stop());
  await program.says(/listening on/);
  for (const args of [['status'], ['top'], ['logs', 'box']]) {
    const { status, stderr } = await runToolgate(args, { cwd: dir, env });
    assert.equal(status, 0, `${args}: ${stderr}`);
    assert.match(stderr, /\.mcp\.json: refused, because another user[^]*using the running gateway/, `${args}`);
  }
});

describe('a file that is found is used', asRoot, () => {
  test('if it belongs to the user, or to root', async (t) => {
    for (const owner of [NOBODY, ROOT]) assert.deepEqual((await check(folder(t, owner), { uid: NOBODY })).foreign, []);
    assert.deepEqual((await check(folder(t, ROOT), { uid: ROOT })).foreign, []);
  });

  test('if a group can write it, or every user its folder, which has the sticky bit', async (t) => {
    const dir = folder(t, NOBODY);
    fs.chmodSync(path.join(dir, '.mcp.json'), 0o664);
    fs.chmodSync(dir, 0o1777);
    assert.deepEqual((await check(dir, { uid: NOBODY })).foreign, []);
  });

  test('if it belongs to the user who called sudo', async (t) => {
    const dir = folder(t, OTHER);
    assert.deepEqual((await check(dir, { env: { SUDO_UID: String(OTHER) } })).foreign, []);
    assert.deepEqual((await check(dir, { env: { SUDO_UID: String(NOBODY) } })).foreign, ['.mcp.json']);
    assert.deepEqual((await check(dir, { uid: NOBODY, env: { SUDO_UID: String(OTHER) } })).foreign, ['.mcp.json']);
  });

  test('if somebody names it, or trusts all', async (t) => {
    const dir = folder(t, OTHER);
    assert.deepEqual((await check(dir, { args: ['--mcp-config', '.mcp.json'] })).foreign, []);
    assert.deepEqual((await check(dir, { env: { GATEWAY_MCP_CONFIG: '.mcp.json' } })).foreign, []);
    assert.deepEqual((await check(dir, { env: { TOOLGATE_TRUST_CONFIG: '1' } })).foreign, []);
    assert.deepEqual((await check(dir, { env: { TOOLGATE_TRUST_CONFIG: '0' } })).foreign, ['.mcp.json']);
  });
});
