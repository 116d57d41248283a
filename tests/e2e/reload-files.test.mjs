// SPDX-License-Identifier: Apache-2.0
// Which files are watched while the gateway runs, what happens when one of them is gone, and what nobody has to notice.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { makeKey, seconds, signed } from './lib/issuer.mjs';
import { namesOf, open } from './lib/meta.mjs';
import { gatewayPath, onEnd, startGateway, until } from './lib/raw.mjs';
import { tempDir, writeJson } from './lib/process.mjs';
import { json, LIMIT, rulesOf, saveAtomically, shop, tokenOf, World } from './lib/reloading.mjs';

const THREE = ['add', 'list', 'remove'];
const wait = { timeouts: { start_wait: 60 } };
const seen = async (client) => namesOf(await client.tools());
const openRules = (tools) => rulesOf({ default: tools }, { defaults: { deny_on_missing_agent: false } });

/** A gateway that finds its rules where they usually are. */
async function startPlain(t, { rules = {}, config = wait, ...more } = {}) {
  const w = new World();
  w.t = t;
  w.gateway = await startGateway(t, { servers: { shop: shop(t, THREE) }, config, ...more });
  w.in = (name) => path.join(w.gateway.dir, name);
  for (const [name, value] of Object.entries(rules)) await w.reloading(() => writeJson(w.in(name), value));
  return w;
}

/** A gateway that is told nothing, in a folder that is its home too. */
function startProgram(t, home) {
  const child = spawn(gatewayPath(), ['serve', '--transport', 'http', '--listen', '127.0.0.1:0'], {
    cwd: home, env: { PATH: process.env.PATH, HOME: home }, stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit'), it = { log: '', pid: child.pid };
  child.stderr.setEncoding('utf8').on('data', (text) => { it.log += text; });
  onEnd(t, async () => {
    child.kill();
    await exited;
  });
  return it;
}

/** How many folders the kernel watches for it. */
function watches(pid) {
  const dir = `/proc/${pid}/fdinfo`;
  const texts = fs.readdirSync(dir).map((fd) => fs.readFileSync(path.join(dir, fd), 'utf8'));
  return texts.join('').match(/^inotify wd:/gm)?.length ?? 0;
}

describe('rules in the folder config', () => {
  const FILE = 'config/.mcp-gateway-rules.json';

  test('are seen when the folder comes, which nobody misses before', async (t) => {
    const w = await startPlain(t);
    const anyone = await open(t, w.gateway);
    assert.deepEqual(await seen(anyone), THREE);
    await w.reloading(() => {
      fs.mkdirSync(w.in('config'));
      writeJson(w.in(FILE), openRules(['list']));
    });
    assert.deepEqual(await seen(anyone), ['list']);
    await w.reloading(() => saveAtomically(w.in(FILE), json(openRules(['add']))));
    assert.deepEqual(await seen(anyone), ['add']);
    assert.doesNotMatch(w.gateway.log, /cannot be watched/);
  });

  test('are seen when the folder is made long before them', async (t) => {
    const w = await startPlain(t);
    const anyone = await open(t, w.gateway), before = watches(w.gateway.pid);
    fs.mkdirSync(w.in('config'));
    await until(() => watches(w.gateway.pid) > before, 'a look into the folder', LIMIT);
    await w.reloading(() => writeJson(w.in(FILE), openRules(['list'])));
    assert.deepEqual(await seen(anyone), ['list']);
  });
});

describe('a file that is gone for a while', () => {
  const RULES = '.mcp-gateway-rules.json';

  test('rules: those from before stay, and nobody is told that there are none', async (t) => {
    const auth = { tokens: [{ sha256: '0'.repeat(64), agent: 'default' }] };
    const w = await startPlain(t, { config: { ...wait, auth: { tokens: [tokenOf('default'), ...auth.tokens] } } });
    const client = await open(t, w.gateway, 'http', { headers: { authorization: `Bearer ${tokenOf('default')}` } });
    assert.match(w.gateway.log + await w.hangup(), /there are no rules: a client with this token/);
    await w.reloading(() => writeJson(w.in(RULES), openRules(['list'])));
    const said = await w.reloading(() => fs.renameSync(w.in(RULES), w.in('aside.json')));
    assert.match(said, /error reload: \.mcp-gateway-rules\.json: the rules file does not exist any more: its rules stay in force/);
    assert.doesNotMatch(said, /there are no rules/);
    assert.deepEqual(await seen(client), ['list']);
    const back = await w.reloading(() => fs.renameSync(w.in('aside.json'), w.in(RULES)));
    assert.match(back, /reload: applied/);
    assert.deepEqual(await seen(client), ['list']);
  });

  test('rules: others that stand behind them are not used in their place', async (t) => {
    const w = await startPlain(t);
    const anyone = await open(t, w.gateway);
    fs.mkdirSync(w.in('config'));
    await w.reloading(() => writeJson(w.in(`config/${RULES}`), openRules(['*'])));
    await w.reloading(() => writeJson(w.in(RULES), openRules(['list'])));
    assert.deepEqual(await seen(anyone), ['list']);
    assert.match(await w.reloading(() => fs.rmSync(w.in(RULES))), /the rules file does not exist any more/);
    assert.deepEqual(await seen(anyone), ['list']);
    assert.match(await w.reloading(() => fs.rmSync(w.in(`config/${RULES}`))), /the rules file does not exist any more/);
    assert.deepEqual(await seen(anyone), ['list']);
    await w.reloading(() => writeJson(w.in(RULES), openRules(['add'])));
    assert.deepEqual(await seen(anyone), ['add']);
  });

  test('rules that are saved anew within a moment are never missed', async (t) => {
    const w = await startPlain(t, { rules: { [RULES]: openRules(['list']) } });
    const anyone = await open(t, w.gateway);
    const said = await w.reloading(() => {
      fs.rmSync(w.in(RULES));
      writeJson(w.in(RULES), openRules(['add']));
    });
    assert.match(said, /reload: applied/);
    assert.equal(w.refused, 0);
    assert.deepEqual(await seen(anyone), ['add']);
  });

  test('the configuration: what it said stays', async (t) => {
    const w = new World();
    const config = writeJson(path.join(tempDir(t), 'toolgate.yaml'), wait);
    w.gateway = await startGateway(t, { servers: { shop: shop(t, THREE) }, args: ['--config', config] });
    const anyone = await open(t, w.gateway);
    assert.match(await w.reloading(() => fs.rmSync(config)), /toolgate\.yaml: cannot be read/);
    assert.deepEqual(await seen(anyone), THREE);
    assert.match(await w.reloading(() => writeJson(config, wait)), /reload: applied/);
  });

  test('servers that nobody names: those from before stay', async (t) => {
    const w = new World();
    const home = tempDir(t);
    fs.mkdirSync(path.join(home, '.erasmus/mcp'), { recursive: true });
    writeJson(path.join(home, '.erasmus/mcp/config.json'), { mcpServers: { other: shop(t, ['other']) } });
    const file = writeJson(path.join(home, '.mcp.json'), { mcpServers: { shop: shop(t, THREE) } });
    const child = startProgram(t, home);
    w.gateway = child;
    await until(() => /listening/.test(child.log), () => child.log, LIMIT);
    assert.match(await w.reloading(() => fs.rmSync(file)), /error reload: \.mcp\.json: the file does not exist any more: its servers stay in force/);
    assert.match(await w.reloading(() => writeJson(file, { mcpServers: {} })), /applied: 0 servers \(0 added, 0 changed, 1 removed\)/);
  });

  test('a configuration that nobody names: what it said stays', async (t) => {
    const w = await startPlain(t, { config: null });
    await w.reloading(() => writeJson(w.in('toolgate.json'), { ...wait, log: { level: 'debug' } }));
    const said = await w.reloading(() => fs.rmSync(w.in('toolgate.json')));
    assert.match(said, /error reload: toolgate\.json: the file does not exist any more: its content stays in force/);
    assert.match(said, /nothing was changed/);
  });
});

describe('what is watched', () => {
  const start = (t, more) => World.start(t, { servers: { shop: shop(t, THREE) }, ...more });
  const configOf = (w, more) => json({ ...w.config, ...more });

  test('the files of an attempt that failed, until there is another', async (t) => {
    const w = await World.start(t, { servers: { shop: shop(t, THREE) } });
    const key = makeKey(), file = path.join(w.dir, 'keys.json');
    fs.writeFileSync(file, '{');
    const jwt = { issuer: 'https://id.example', key_file: file };
    const auth = { ...w.config.auth, jwt };
    assert.match(await w.reloading(() => saveAtomically(w.yaml, configOf(w, { auth }))), /nothing was changed/);
    assert.match(await w.reloading(() => writeJson(file, { keys: [key.jwk] })), /keys\.json changed[^]*reload: applied/);
    assert.match(await w.reloading(() => fs.writeFileSync(file, '{')), /keys\.json changed[^]*nothing was changed/);
    // Given up: what is in force then is what was at the start.
    await w.reloading(() => saveAtomically(w.yaml, configOf(w, {})));
    const other = path.join(w.dir, 'keys.pem');
    fs.writeFileSync(other, 'no key');
    await w.reloading(() => saveAtomically(w.yaml, configOf(w, { auth: { ...auth, jwt: { ...jwt, key_file: other } } })));
    await w.reloading(() => saveAtomically(w.yaml, configOf(w, {})));
    const { reloads } = w;
    for (const nobodys of [file, other]) fs.writeFileSync(nobodys, 'still no key');
    assert.doesNotMatch(await w.write(rulesOf({ reader: ['add'] })), /keys\./);
    assert.equal(w.reloads, reloads + 1);
  });

  test('the files in force, whatever was tried meanwhile', async (t) => {
    const w = await start(t);
    const reader = await w.client('reader');
    await w.reloading(() => saveAtomically(w.yaml, configOf(w, { auth: { ...w.config.auth, jwt: { issuer: 'x', key_file: 'none.pem' } } })));
    assert.match(await w.write(rulesOf({ reader: ['list'] })), /rules\.json changed[^]*nothing was changed/);
    assert.deepEqual(await seen(reader), THREE);
    await w.reloading(() => saveAtomically(w.yaml, configOf(w, {})));
    assert.deepEqual(await seen(reader), ['list']);
  });

  test('nothing more, however often something is tried in vain', async (t) => {
    const w = await start(t);
    const attempt = (name) => w.reloading(() => {
      const dir = path.join(w.dir, name);
      fs.mkdirSync(dir);
      fs.writeFileSync(path.join(dir, 'key.pem'), 'no key');
      saveAtomically(w.yaml, configOf(w, { auth: { ...w.config.auth, jwt: { issuer: 'https://id.example', key_file: path.join(dir, 'key.pem') } } }));
    });
    await w.client('reader');  // once it is answered, it is watched too
    const before = watches(w.gateway.pid);
    const watched = (count) => until(() => watches(w.gateway.pid) === count, () => `${count} folders, not ${watches(w.gateway.pid)}`, LIMIT);
    for (let i = 0; i < 5; i++) {
      await attempt(`try${i}`);
      await watched(before + 1);
    }
    assert.equal(w.refused, 5);
    await w.reloading(() => saveAtomically(w.yaml, configOf(w, {})));
    await watched(before);
  });
});

describe('who listens', () => {
  const SECRET = 'a secret that has more than thirty-two bytes';
  const RESOURCE = 'https://gate.example/mcp';
  const claims = { iss: 'https://id.example', aud: RESOURCE, sub: 'alice', agent: 'reader', exp: seconds() + 3600 };
  const key = makeKey();
  const tokens = {
    key_file: signed({ alg: key.alg, kid: key.kid, typ: 'at+jwt' }, claims, key.privateKey),
    secret: signed({ alg: 'HS256', typ: 'at+jwt' }, claims, SECRET),
  };

  for (const [kind, token] of Object.entries(tokens)) {
    test(`is not disturbed when files are read again and the issuer's ${kind} is the same`, async (t) => {
      const w = new World();
      const file = writeJson(path.join(tempDir(t), 'keys.json'), { keys: [key.jwk] });
      const configOf = (given) => ({ ...wait, auth: { resource: RESOURCE, jwt: { issuer: 'https://id.example', ...given } } });
      const given = kind === 'secret' ? { secret: SECRET } : { key_file: file };
      w.gateway = await startGateway(t, { servers: { shop: shop(t, THREE) }, config: configOf(given) });
      w.yaml = path.join(w.gateway.dir, 'toolgate.yaml');
      const client = await open(t, w.gateway, 'http', { headers: { authorization: `Bearer ${token}` } });
      let ended = false;
      const end = client.stream.ended.then(() => { ended = true; });
      await w.hangup();
      await w.reloading(() => saveAtomically(w.yaml, json(configOf(given))));
      assert.deepEqual(await seen(client), THREE);
      assert.ok(!ended, 'the stream stands');
      if (kind === 'secret') await w.reloading(() => saveAtomically(w.yaml, json(configOf({ secret: `another one: ${SECRET}` }))));
      else await w.reloading(() => saveAtomically(file, json({ keys: [makeKey().jwk] })));
      await end;
      client.session = undefined;
    });
  }
});
