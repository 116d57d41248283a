// SPDX-License-Identifier: Apache-2.0
// toolgate token: a token is shown once, kept as its hash, and counts in a gateway that runs until it is revoked.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { runToolgate } from './lib/gateway.mjs';
import { open } from './lib/meta.mjs';
import { tempDir, until, writeJson } from './lib/process.mjs';
import { startGateway } from './lib/raw.mjs';
import { rulesOf, shop } from './lib/reloading.mjs';

const LIMIT = 60_000;

function world(t) {
  const home = tempDir(t), file = path.join(home, '.config/toolgate/tokens.json');
  const token = (...args) => runToolgate(['token', ...args], { cwd: home, env: { HOME: home } });
  const json = async (...args) => {
    const r = await token(...args, '--json');
    assert.equal(r.status, 0, r.stderr);
    return JSON.parse(r.stdout);
  };
  return { home, file, token, json, kept: () => JSON.parse(fs.readFileSync(file, 'utf8')).tokens };
}

test('a new token is printed alone on standard output, and its SHA-256 is kept for the owner alone', async (t) => {
  const w = world(t);
  const r = await w.token('new', '--agent', 'team.reader', '--name', 'laptop');
  assert.equal(r.status, 0, r.stderr);
  assert.match(r.stdout, /^tg_[A-Za-z0-9_-]{43}\n$/);
  const [kept] = w.kept();
  assert.equal(kept.sha256, crypto.createHash('sha256').update(r.stdout.trim()).digest('hex'));
  assert.deepEqual([kept.agent, kept.name], ['team.reader', 'laptop']);
  assert.equal(fs.statSync(w.file).mode & 0o777, 0o600);
  assert.ok(!fs.readFileSync(w.file, 'utf8').includes(r.stdout.trim()));
  assert.ok(!r.stderr.includes(r.stdout.trim()));
  const alone = await w.token('new');
  assert.match(alone.stderr, /^token [^\n]+\n$/, 'one line on standard error');
});

test('tokens are listed, and revoked by id or name; what is unclear changes nothing', async (t) => {
  const w = world(t);
  const [a, b, c] = [await w.json('new', '--agent', 'x', '--name', 'same'), await w.json('new', '--name', 'hand'),
    await w.json('new', '--name', 'other')];
  fs.writeFileSync(w.file, fs.readFileSync(w.file, 'utf8').replace('"hand"', '"same"'));
  const listed = await w.json('list');
  assert.deepEqual(listed.map((it) => it.id), [a.id, b.id, c.id]);
  assert.equal(listed[0].agent, 'x');
  assert.match((await w.token('list')).stdout, new RegExp(`^${a.id} +x .*same\n${b.id} `));
  for (const id of ['same', 'nobody', '', a.id.slice(0, 4)]) assert.equal((await w.token('revoke', id)).status, 1, id);
  assert.equal(w.kept().length, 3);
  await w.json('revoke', a.id);
  await w.json('revoke', 'other');
  assert.deepEqual((await w.json('list')).map((it) => it.id), [b.id]);
});

test('a long name is kept whole', async (t) => {
  const w = world(t), name = 'n'.repeat(70_000);
  await w.json('new', '--name', name);
  assert.equal(w.kept()[0].name, name);
});

test('a name that a token has is refused, with the id to revoke', async (t) => {
  const w = world(t);
  const { id } = await w.json('new', '--name', 'laptop');
  const r = await w.token('new', '--name', 'laptop');
  assert.deepEqual([r.status, r.stdout], [1, '']);
  assert.match(r.stderr, new RegExp(`token revoke ${id}`));
  assert.equal(w.kept().length, 1);
  await w.json('new');
  await w.json('new');
  assert.equal(w.kept().length, 3, 'tokens without a name are no problem');
});

test('an agent that no rule knows is warned of, and gets its token', async (t) => {
  const w = world(t);
  const rules = writeJson(path.join(w.home, 'r.json'), { agents: { team: { allow: { servers: ['*'] } } } });
  for (const [agent, known, ...more] of [['ghost', true], ['ghost', false, '--rules', rules], ['team.x', true, '--rules', rules]]) {
    const r = await w.token('new', '--agent', agent, ...more);
    assert.equal(r.status, 0, r.stderr);
    assert.equal(/warning: no rule of .* knows the agent "ghost"/.test(r.stderr), !known, r.stderr);
  }
  fs.renameSync(rules, path.join(w.home, '.mcp-gateway-rules.json'));
  writeJson(path.join(w.home, 'toolgate.json'), { auth: { token_file: 'first.json' } });
  assert.match((await w.token('new', '--agent', 'ghost')).stderr, /no rule of .* knows the agent/);
});

test('commands that run at once do not undo each other: what was reported is in the file', async (t) => {
  const w = world(t);
  const old = [];
  for (let i = 0; i < 8; i++) old.push(await w.json('new'));
  const made = [], revoked = [];
  await Promise.all(old.flatMap(({ id }) => [
    w.token('new', '--json').then((r) => r.status === 0 && made.push(JSON.parse(r.stdout).id)),
    w.token('revoke', id).then((r) => r.status === 0 && revoked.push(id)),
  ]));
  const ids = w.kept().map((it) => it.sha256.slice(0, 8));
  const wanted = [...old.map(({ id }) => id).filter((id) => !revoked.includes(id)), ...made];
  assert.deepEqual(ids.sort(), wanted.sort());
});

test('the configuration names another file, which serve must find', async (t) => {
  const w = world(t);
  writeJson(path.join(w.home, 'toolgate.json'), { auth: { token_file: 'keys/tokens.json' }, servers: { s: { command: 'cat' } } });
  const check = () => runToolgate(['check'], { cwd: w.home, env: { HOME: w.home } });
  const before = await check();
  assert.equal(before.status, 1);
  assert.match(before.stderr + before.stdout, /keys\/tokens\.json.*cannot be read/);
  await w.json('new');
  assert.ok(fs.existsSync(path.join(w.home, 'keys/tokens.json')));
  assert.equal((await check()).status, 0);
  fs.chmodSync(path.join(w.home, 'keys/tokens.json'), 0o606);
  assert.equal((await check()).status, 1);
});

test('a gateway that runs lets a new token in, and nobody once the last one is revoked', async (t) => {
  const w = world(t);
  const first = await w.json('new');
  const gateway = await startGateway(t, {
    servers: { shop: shop(t, ['list']) }, config: { auth: { token_file: w.file }, timeouts: { start_wait: 60 } }, env: { HOME: w.home },
  });
  const comes = (token) => open(t, gateway, 'http', { headers: { authorization: `Bearer ${token}` } });
  const status = async (token) => (await fetch(gateway.url, {
    method: 'POST', headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  })).status;
  assert.equal((await (await comes(first.token)).tools()).length > 0, true);
  assert.equal(await status('tg_wrong'), 401);
  const second = await w.json('new', '--name', 'second');
  await until(async () => (await status(second.token)) !== 401, () => gateway.log, LIMIT);
  for (const id of [first.id, second.id]) await w.json('revoke', id);
  await until(async () => (await status(second.token)) === 401 && (await status(first.token)) === 401, () => gateway.log, LIMIT);
});

test('a wrong command line ends with 2, and a file that is no JSON is left as it is', async (t) => {
  const w = world(t);
  for (const args of [[], ['make'], ['new', 'x'], ['new', '--agent', 'a b'], ['revoke'], ['list', 'x']])
    assert.equal((await w.token(...args)).status, 2, `${args}`);
  fs.mkdirSync(path.dirname(w.file), { recursive: true });
  fs.writeFileSync(w.file, '{"tokens": 1}');
  for (const args of [['new'], ['list'], ['revoke', 'x']]) assert.equal((await w.token(...args)).status, 1, `${args}`);
  assert.equal(fs.readFileSync(w.file, 'utf8'), '{"tokens": 1}');
});

test('what else the file holds stays: comments, keys, tokens written by hand', async (t) => {
  const w = world(t);
  const hand = `// Tokens of the team.
{
  "owner": "ada", // ask her
  "tokens": [
    {
      "sha256": "${'a'.repeat(64)}",
      "note": "by hand"
    }
  ]
}
`;
  fs.mkdirSync(path.dirname(w.file), { recursive: true });
  fs.writeFileSync(w.file, hand);
  const { id } = await w.json('new');
  assert.match(fs.readFileSync(w.file, 'utf8'), new RegExp(`^// Tokens of the team[^]*// ask her[^]*by hand[^]*"${id}`));
  await w.json('revoke', id);
  assert.equal(fs.readFileSync(w.file, 'utf8'), hand);
});

test('a comment in the list of tokens is not thrown away: the command refuses', async (t) => {
  const w = world(t);
  const hand = `{"tokens": [{"sha256": "${'a'.repeat(64)}"} /* laptop */]}`;
  fs.mkdirSync(path.dirname(w.file), { recursive: true });
  fs.writeFileSync(w.file, hand);
  for (const args of [['new'], ['revoke', 'aaaaaaaa']]) {
    const r = await w.token(...args);
    assert.deepEqual([r.status, r.stdout], [1, ''], `${args}`);
    assert.match(r.stderr, /tokens\.json: the list "tokens" has comments/);
  }
  assert.equal(fs.readFileSync(w.file, 'utf8'), hand);
  assert.equal((await w.json('list')).length, 1);
});

test('a token that the file has no room for is not made, and the message says why', async (t) => {
  const w = world(t);
  const tokens = (count, name) => Array.from({ length: count }, (_, i) => ({ sha256: `${i}`.padStart(64, '0'), name }));
  const refuses = async (list, pattern) => {
    writeJson(w.file, { tokens: list });
    const before = fs.readFileSync(w.file, 'utf8'), r = await w.token('new');
    assert.deepEqual([r.status, r.stdout], [1, '']);
    assert.match(r.stderr, pattern);
    assert.equal(fs.readFileSync(w.file, 'utf8'), before);
  };
  fs.mkdirSync(path.dirname(w.file), { recursive: true });
  await refuses(tokens(1024), /contains 1024 tokens, which is the limit: revoke one/);
  await w.json('revoke', '0'.repeat(61) + '123');
  await w.json('new');
  await refuses(tokens(1, 'x'.repeat((1 << 20) - 150)), /would be larger than 1048576 bytes/);
});

describe('a revoked token is refused although other files are wrong', () => {
  const rules = rulesOf({ a: ['*'], b: ['*'] });
  const start = async (t, w, configured = []) => {
    const dir = tempDir(t), file = writeJson(path.join(dir, 'rules.json'), rules);
    const gateway = await startGateway(t, {
      servers: { shop: shop(t, ['list']) }, args: ['--rules', file], env: { HOME: tempDir(t) },
      config: { auth: { token_file: w.file, tokens: configured }, timeouts: { start_wait: 60 } },
    });
    const request = (token) => fetch(gateway.url, {
      method: 'POST', headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    });
    const comes = async (token) => (await request(token)).status !== 401;
    const logged = (pattern) => until(() => pattern.test(gateway.log), () => gateway.log, LIMIT);
    return { gateway, comes, logged, rules: file, yaml: path.join(gateway.dir, 'toolgate.yaml') };
  };
  const broken = { agents: { a: { denny: {} } } };

  test('with invalid rules, the session of a revoked token ends, other tokens work, and a restored token works again', async (t) => {
    const w = world(t), [a, b] = [await w.json('new', '--agent', 'a'), await w.json('new', '--agent', 'b')];
    const g = await start(t, w);
    const client = await open(t, g.gateway, 'http', { headers: { authorization: `Bearer ${a.token}` } });
    writeJson(g.rules, broken);
    await g.logged(/reload: nothing was changed/);
    const kept = fs.readFileSync(w.file, 'utf8');
    await w.json('revoke', a.id);
    await g.logged(/reload: revoked 1 token; nothing else was changed/);
    assert.deepEqual([await g.comes(a.token), await g.comes(b.token)], [false, true]);
    await assert.rejects(client.tools());
    const c = await w.json('new', '--agent', 'a');
    fs.writeFileSync(w.file, kept);
    writeJson(g.rules, rules);
    await until(() => g.comes(a.token), () => g.gateway.log, LIMIT);
    assert.equal(await g.comes(c.token), false);
  });

  test('in the configuration file, which names the file of tokens', async (t) => {
    const w = world(t), [a, b] = [await w.json('new', '--agent', 'a'), await w.json('new', '--agent', 'b')];
    const g = await start(t, w);
    fs.writeFileSync(g.yaml, 'auth: [');
    await g.logged(/reload: nothing was changed/);
    await w.json('revoke', a.id);
    await g.logged(/reload: revoked 1 token/);
    assert.deepEqual([await g.comes(a.token), await g.comes(b.token)], [false, true]);
  });

  test('in the rules, if it stood in the configuration file', async (t) => {
    const w = world(t), sha256 = (text) => crypto.createHash('sha256').update(text).digest('hex');
    const b = await w.json('new', '--agent', 'b');
    const g = await start(t, w, [{ sha256: sha256('a token of the configuration') }]);
    assert.equal(await g.comes('a token of the configuration'), true);
    writeJson(g.rules, broken);
    await g.logged(/reload: nothing was changed/);
    const config = JSON.parse(fs.readFileSync(g.yaml, 'utf8'));
    config.auth.tokens = [];
    writeJson(g.yaml, config);
    await g.logged(/reload: revoked 1 token/);
    assert.deepEqual([await g.comes('a token of the configuration'), await g.comes(b.token)], [false, true]);
  });

  test('but a file of tokens that cannot be read changes nothing, and the log names it', async (t) => {
    const w = world(t), a = await w.json('new', '--agent', 'a');
    const g = await start(t, w);
    fs.writeFileSync(g.yaml, 'auth: [');
    await g.logged(/reload: nothing was changed/);
    fs.writeFileSync(w.file, '{"tokens": [');
    await g.logged(/error.*reload: \S*tokens\.json: /);
    assert.equal(await g.comes(a.token), true);
  });
});
