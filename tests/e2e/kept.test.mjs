// SPDX-License-Identifier: Apache-2.0
// What a gateway knows of its servers when it is started again, before they are up.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { tempDir, writeJson } from './lib/process.mjs';
import { HttpClient, onEnd, startGateway, StdioClient, until } from './lib/raw.mjs';

const MOODY = fileURLToPath(new URL('./servers/moody.mjs', import.meta.url));
const SECRETS = { arg: 'argument-secret-7', env: 'variable-secret-8' };
const START_WAIT = 0.7;

/** A server with moods, and gateways in front of it that keep what they know in one folder. */
function world(t) {
  const dir = tempDir(t);
  const moodFile = path.join(dir, 'mood.json');
  const state = path.join(dir, 'state', 'toolgate');
  const w = { dir, state, args: [MOODY, moodFile, `--token=${SECRETS.arg}`] };
  w.mood = (mood, tools = ['a', 'b'], instructions = 'Be kind.') => writeJson(moodFile, { mood, tools, instructions });
  w.files = () => fs.readdirSync(state).filter((f) => f.endsWith('.json')).map((f) => path.join(state, f));
  w.start = async ({ transport = 'http', args, config, ...client } = {}) => {
    const moody = { command: process.execPath, args: w.args, cwd: dir, env: { TOKEN: SECRETS.env } };
    const gateway = await startGateway(t, {
      servers: { moody },
      transport,
      args,
      config: { timeouts: { start_wait: START_WAIT }, ...config },
      env: { XDG_STATE_HOME: path.join(dir, 'state') },
    });
    const one = transport === 'http' ? new HttpClient(gateway.url, client) : new StdioClient(gateway, client);
    onEnd(t, () => one.close());
    await one.initialize();
    return { gateway, client: one };
  };
  // A run in which the server was well, and everything was written.
  w.learn = async (options) => {
    w.mood('well');
    const { gateway, client } = await w.start(options);
    await until(async () => (await client.tools()).length === 2, 'the list of the server');
    await client.close();
    await gateway.stop();
    assert.equal(w.files().length, 1);
  };
  return w;
}

const shown = (tools) => tools.map((tool) => `${tool.name}${tool._meta?.['toolgate/available'] === false ? ' (down)' : ''}`);

test('what was kept is listed when the server hangs, and a call waits until it is back', async (t) => {
  const w = world(t);
  await w.learn();
  w.mood('hang');
  const { client } = await w.start();
  assert.match(client.server.instructions, /Be kind\./);
  const from = Date.now();
  assert.deepEqual(shown(await client.tools()), ['a (down)', 'b (down)']);
  assert.ok(Date.now() - from < START_WAIT * 1000 + 5000, 'not longer than it may wait');
  const call = client.call('a');
  w.mood('well');
  assert.equal((await call).content[0].text, 'called a');
  await until(async () => shown(await client.tools()).join() === 'a,b', 'the server is back');
  const changes = client.inbox.entries.filter((e) => e.msg?.method === 'notifications/tools/list_changed');
  assert.deepEqual(changes, [], 'nothing changed');
});

test('what was kept is listed when the server does not start, and a call says so', async (t) => {
  const w = world(t);
  await w.learn();
  w.mood('gone');
  const { client } = await w.start();
  assert.deepEqual(shown(await client.tools()), ['a (down)', 'b (down)']);
  const { error } = await client.request('tools/call', { name: 'a', arguments: {} });
  assert.equal(error?.data?.error, 'UPSTREAM_UNAVAILABLE', JSON.stringify(error));
  w.mood('well', ['b', 'c']);
  await client.listen();
  await until(async () => shown(await client.tools()).join() === 'b,c', 'the new list');
  await client.next('notifications/tools/list_changed');
});

test('a gateway that was killed left whole files behind', async (t) => {
  const w = world(t);
  w.mood('well');
  const first = await w.start();
  await until(() => fs.existsSync(w.state) && w.files().length === 1, 'the file');
  await first.gateway.kill();
  w.mood('gone');
  const { client } = await w.start();
  assert.deepEqual(shown(await client.tools()), ['a (down)', 'b (down)']);
});

test('a client on stdio that can be asked sees what was kept until its own list came', async (t) => {
  const w = world(t);
  const options = { transport: 'stdio', capabilities: { sampling: {}, elicitation: {} } };
  await w.learn(options);
  w.mood('hang');
  const { client } = await w.start(options);
  assert.deepEqual(shown(await client.tools()), ['a (down)', 'b (down)']);
  w.mood('well', ['c']);
  await client.next('notifications/tools/list_changed');
  assert.deepEqual(shown(await client.tools()), ['c']);
});

test('a client on stdio reads in mode gateway the instructions that were kept, before the server answers', async (t) => {
  const w = world(t);
  await w.learn({ transport: 'stdio' });
  w.mood('hang');
  const { client } = await w.start({ transport: 'stdio', args: ['--mode', 'gateway'] });
  assert.match(client.server.instructions, /^- moody: "Be kind\."$/m);
});

test('instructions that an older version kept have no hidden characters', async (t) => {
  const w = world(t);
  await w.learn();
  const [file] = w.files();
  const kept = fs.readFileSync(file, 'utf8');
  assert.ok(kept.includes('Be kind.'));
  fs.writeFileSync(file, kept.replace('Be kind.', 'Be\u200b ki\u202end.\u{e0068}'));
  w.mood('hang');
  const { client } = await w.start();
  assert.match(client.server.instructions, /Be kind\./);
  assert.doesNotMatch(client.server.instructions, /[\u200b\u202e\u{e0068}]/u);
});

test('with lazy start a server is started when it is called', async (t) => {
  const w = world(t);
  await w.learn();
  const { client, gateway } = await w.start({ config: { init_strategy: 'lazy' } });
  assert.deepEqual(shown(await client.tools()), ['a', 'b']);
  assert.doesNotMatch(gateway.log, /moody: ready/);
  assert.equal((await client.call('b')).content[0].text, 'called b');
  await until(() => /moody: ready/.test(gateway.log), 'it was started');
});

test('files are for their owner and hold no secrets', async (t) => {
  const w = world(t);
  await w.learn();
  assert.equal(fs.statSync(w.state).mode & 0o777, 0o700);
  for (const name of fs.readdirSync(w.state)) {
    const file = path.join(w.state, name);
    assert.equal(fs.statSync(file).mode & 0o777, 0o600, name);
    const text = fs.readFileSync(file, 'latin1');
    for (const secret of [...Object.values(SECRETS), MOODY]) assert.ok(!text.includes(secret), `${name}: ${secret}`);
  }
});

test('a server that is reached in another way is not taken for the one before', async (t) => {
  const w = world(t);
  await w.learn();
  w.mood('hang');
  w.args.push('--other');
  const { client } = await w.start();
  assert.deepEqual(await client.tools(), []);
});

test('a damaged file is ignored with one line, and written anew', async (t) => {
  const w = world(t);
  await w.learn();
  const [file] = w.files();
  const whole = fs.readFileSync(file);
  for (const damaged of [whole.subarray(0, whole.length / 2), Buffer.from('\0garbage'), Buffer.alloc(0)]) {
    fs.writeFileSync(file, damaged);
    w.mood('hang');
    const { client, gateway } = await w.start();
    assert.deepEqual(await client.tools(), []);
    assert.equal(gateway.log.match(/ignoring the stored definitions in /g).length, 1, gateway.log);
    w.mood('well');
    await until(() => fs.readFileSync(file).equals(whole), 'the file as it was');
    await client.close();
    await gateway.stop();
  }
});

test('state_dir: none keeps nothing', async (t) => {
  const w = world(t);
  w.mood('well');
  const { client, gateway } = await w.start({ config: { state_dir: 'none' } });
  assert.equal((await client.tools()).length, 2);
  await client.close();
  await gateway.stop();
  assert.ok(!fs.existsSync(w.state));
});
