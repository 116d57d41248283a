// SPDX-License-Identifier: Apache-2.0
// Files that are read again while the gateway runs: what is right is taken over as a whole, what is wrong changes
// nothing, and whoever was at work when it happened ends as it began.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { namesOf, open, snapshot } from './lib/meta.mjs';
import { alive, startGateway, until } from './lib/raw.mjs';
import { tempDir, writeJson } from './lib/process.mjs';
import { json, LIMIT, rulesOf, saveAtomically, shop, tool, World } from './lib/reloading.mjs';

const THREE = ['add', 'list', 'remove'];
const start = (t, options = {}) => World.start(t, { servers: { shop: shop(t, THREE) }, ...options });
const seen = async (client) => namesOf(await client.tools());

describe('rules that are saved anew', () => {
  test('H1: are in force at once, for clients that are connected too', async (t) => {
    const w = await start(t);
    const reader = await w.client('reader');
    assert.deepEqual(await seen(reader), THREE);
    await w.write(rulesOf({ reader: ['list'] }));
    assert.deepEqual(await seen(reader), ['list']);
    await assert.rejects(reader.call('add', {}), /Unknown tool|not found/i);
    await w.write(rulesOf({ reader: ['add', 'list'] }));
    assert.deepEqual(await seen(reader), ['add', 'list']);
    assert.deepEqual((await reader.call('add', {})).content[0].text, 'add was called');
  });

  test('H2: change nothing when they are no JSON, and the log says where', async (t) => {
    const w = await start(t);
    const reader = await w.client('reader');
    const said = await w.write('{ invalid');
    assert.match(said, /error.*reload: \S*rules\.json: .*(offset|line|position|expected|at)/i);
    assert.match(said, /reload: nothing was changed/);
    assert.deepEqual([w.taken, w.refused], [0, 1]);
    assert.deepEqual(await seen(reader), THREE);
    await w.write(rulesOf({ reader: ['add'] }));
    assert.deepEqual(await seen(reader), ['add']);
  });

  test('change nothing when one entry is wrong, which is named by its JSON Pointer', async (t) => {
    const w = await start(t);
    const rules = rulesOf({ reader: ['list'] });
    rules.agents.reader.deny = { tools: { shop: [7] } };
    assert.match(await w.write(rules), /reload: \S*rules\.json:\/agents\/reader\/deny\/tools\/shop\/0: /);
    assert.deepEqual(await seen(await w.client('reader')), THREE);
  });

  test('H3: several times in a burst are read once', async (t) => {
    const w = await start(t);
    await w.reloading(() => {
      for (const name of [...THREE, 'add', 'list']) fs.writeFileSync(w.rules, json(rulesOf({ reader: [name] })));
    });
    assert.deepEqual(await seen(await w.client('reader')), ['list']);
    await w.write(rulesOf({ reader: ['add'] }));
    assert.equal(w.reloads, 2);
  });

  test('H4: by renaming another file over them are read once', async (t) => {
    const w = await start(t);
    await w.write(rulesOf({ reader: ['list'] }), saveAtomically);
    assert.deepEqual(await seen(await w.client('reader')), ['list']);
    await w.write(rulesOf({ reader: ['add'] }), saveAtomically);
    assert.equal(w.reloads, 2);
  });

  test('H5: other files in their folder do not matter', async (t) => {
    const w = await start(t);
    fs.writeFileSync(path.join(w.dir, 'other.json'), '{ invalid');
    fs.writeFileSync(path.join(w.dir, 'rules.json.bak'), '{ invalid');
    fs.writeFileSync(path.join(w.gateway.dir, 'notes.txt'), 'x');
    await w.write(rulesOf({ reader: ['add'] }));
    assert.deepEqual([w.taken, w.refused], [1, 0]);
  });

  test('H7: may name servers that are not there, with a warning that the next good ones end', async (t) => {
    const w = await start(t);
    const rules = rulesOf({ reader: ['list'] });
    rules.agents.reader.deny = { servers: ['ghost'] };
    const said = await w.write(rules);
    assert.match(said, /warn.*rules\.json:\/agents\/reader\/deny\/servers\/0: there is no server "ghost"/);
    assert.deepEqual(await seen(await w.client('reader')), ['list']);
    assert.doesNotMatch(await w.write(rulesOf({ reader: ['add'] })), /ghost/);
  });

  test('through a symbolic link are read when it leads elsewhere, as Kubernetes does it', async (t) => {
    const dir = tempDir(t), file = path.join(dir, 'rules.json');
    const version = (name, rules) => {
      fs.mkdirSync(path.join(dir, name));
      writeJson(path.join(dir, name, 'rules.json'), rules);
      fs.symlinkSync(name, path.join(dir, '..data.new'));
      fs.renameSync(path.join(dir, '..data.new'), path.join(dir, '..data'));
    };
    version('..v1', rulesOf({ reader: ['*'] }));
    fs.symlinkSync('..data/rules.json', file);
    const w = await start(t, { args: ['--rules', file] });
    const reader = await w.client('reader');
    await w.reloading(() => version('..v2', rulesOf({ reader: ['list'] })));
    assert.deepEqual(await seen(reader), ['list']);
    await w.reloading(() => {
      version('..v3', rulesOf({ reader: ['add'] }));
      fs.rmSync(path.join(dir, '..v1'), { recursive: true });
    });
    assert.deepEqual(await seen(reader), ['add']);
  });

  test('that are removed stay in force until there are others', async (t) => {
    const w = await start(t, { agents: { reader: ['list'] } });
    const reader = await w.client('reader');
    assert.match(await w.reloading(() => fs.rmSync(w.rules)), /rules\.json: cannot be read/);
    assert.deepEqual(await seen(reader), ['list']);
    await w.write(rulesOf({ reader: ['add'] }));
    assert.deepEqual(await seen(reader), ['add']);
  });

  test('that nobody names and are removed do not leave everything open', async (t) => {
    const w = new World();
    w.gateway = await startGateway(t, { servers: { shop: shop(t, THREE) }, config: { timeouts: { start_wait: 60 } } });
    const file = path.join(w.gateway.dir, '.mcp-gateway-rules.json');
    const anyone = await open(t, w.gateway);
    assert.deepEqual(await seen(anyone), THREE);
    const rules = rulesOf({ default: ['list'] }, { defaults: { deny_on_missing_agent: false } });
    await w.reloading(() => writeJson(file, rules));
    assert.deepEqual(await seen(anyone), ['list']);
    assert.match(await w.reloading(() => fs.rmSync(file)), /the rules file does not exist any more/);
    assert.deepEqual(await seen(anyone), ['list']);
  });

  test('are half written for a while, and taken when they are whole', async (t) => {
    const w = await start(t);
    const text = json(rulesOf({ reader: ['list'] })), half = text.length / 2;
    await w.write(text.slice(0, half));
    assert.equal(w.refused, 1);
    assert.deepEqual(await seen(await w.client('reader')), THREE);
    await w.reloading(() => fs.appendFileSync(w.rules, text.slice(half)));
    assert.deepEqual(await seen(await w.client('reader')), ['list']);
  });
});

describe('SIGHUP', () => {
  test('has the files read again where they are not watched', async (t) => {
    const w = await start(t, { config: { reload: 'signal' } });
    const reader = await w.client('reader');
    fs.writeFileSync(w.rules, '{ invalid');
    assert.match(await w.hangup(), /nothing was changed/);
    fs.writeFileSync(w.rules, json(rulesOf({ reader: ['list'] })));
    assert.deepEqual(await seen(reader), THREE);
    assert.match(await w.hangup(), /reload: applied/);
    assert.deepEqual(await seen(reader), ['list']);
    assert.equal(w.reloads, 2);
  });

  test('is ignored where nothing is to be read again', async (t) => {
    const w = await start(t, { config: { reload: 'off' } });
    process.kill(w.gateway.pid, 'SIGHUP');
    await until(() => /SIGHUP is ignored/.test(w.gateway.log), 'a line about SIGHUP', LIMIT);
    assert.equal(w.reloads, 0);
  });
});

describe('who is told that a list is another', () => {
  const CHANGED = 'notifications/tools/list_changed';
  /** What it sees once the servers are up, and has heard of. */
  const settled = async (client) => {
    const names = await seen(client);
    await client.roundTrip();
    client.inbox.entries.length = 0;
    return names;
  };

  test('those whose agent sees something else now, and no others', async (t) => {
    const agents = { reader: ['list'], writer: ['add', 'list'] };
    const w = await start(t, { agents });
    const [reader, second, writer] = [await w.client('reader'), await w.client('reader'), await w.client('writer')];
    for (const client of [reader, second, writer]) await settled(client);
    await w.write(rulesOf({ ...agents, writer: ['add'] }));
    await writer.next(CHANGED);
    await w.write(rulesOf({ reader: ['list', 'remove'], writer: ['a*'] }));
    await Promise.all([reader.next(CHANGED), second.next(CHANGED)]);
    for (const client of [reader, second, writer]) {
      await client.roundTrip();
      assert.ok(!client.inbox.has(CHANGED), 'nothing more is told');
    }
  });

  test('resources and prompts are told by their own names', async (t) => {
    const docs = snapshot(t, {
      tools: [tool('find')], resources: [{ uri: 'docs://a', name: 'A' }], prompts: [{ name: 'ask' }],
    });
    const servers = { shop: shop(t, THREE), docs };
    const w = await World.start(t, { servers, agents: { reader: ['*'] } });
    const reader = await w.client('reader');
    await settled(reader);
    const rules = rulesOf({ reader: ['*'] });
    rules.agents.reader.deny = { servers: ['docs'] };
    await w.write(rules);
    for (const kind of ['tools', 'resources', 'prompts']) await reader.next(`notifications/${kind}/list_changed`);
    assert.deepEqual((await reader.ask('resources/list')).resources, []);
    const onlyTools = rulesOf({ reader: ['*'] });
    onlyTools.agents.reader.deny = { servers: ['docs'], tools: { shop: ['add'] } };
    await w.write(onlyTools);
    await reader.next(CHANGED);
    await reader.roundTrip();
    assert.ok(!reader.inbox.has((e) => /resources|prompts/.test(e.msg?.method)));
  });

  test('in the mode transparent of tools, in the mode gateway of meta-tools only', async (t) => {
    const docs = snapshot(t, { tools: [tool('find')], resources: [{ uri: 'docs://a', name: 'A' }] });
    const w = await World.start(t, { servers: { shop: shop(t, THREE), docs }, config: { modes: ['transparent', 'gateway'] } });
    const transparent = await w.client('reader', { path: '/mcp/transparent' });
    const gateway = await w.client('reader', { path: '/mcp/gateway' });
    await settled(transparent);
    assert.ok((await settled(gateway)).includes('resource_read'));
    await w.write(rulesOf({ reader: ['list'] }));
    await transparent.next(CHANGED);
    await gateway.roundTrip();
    assert.ok(!gateway.inbox.has(CHANGED));
    const rules = rulesOf({ reader: ['list'] });
    rules.agents.reader.deny = { servers: ['docs'] };
    await w.write(rules);
    await gateway.next(CHANGED);
    assert.ok(!(await seen(gateway)).includes('resource_read'));
  });

  test('a page of a list goes on in the same list only', async (t) => {
    const w = await start(t, { config: { limits: { page_size: 1 } } });
    const reader = await w.client('reader');
    const { nextCursor } = await reader.ask('tools/list');
    await w.write(rulesOf({ reader: ['list', 'remove'] }));
    await assert.rejects(reader.ask('tools/list', { cursor: nextCursor }), /cursor/i);
  });
});

describe('H12: many readers while the rules change again and again', () => {
  const READERS = 100, RELOADS = 1000, VERSIONS = 50;

  test('every answer is that of one version, and none comes back', { timeout: 600_000 }, async (t) => {
    const names = (v) => ['a', 'b'].map((x) => `v${v % VERSIONS}_${x}`);
    const all = Array.from({ length: VERSIONS }, (_, v) => names(v)).flat();
    const version = (v) => rulesOf({ reader: [names(v)[0].replace('_a', '_*')] });
    const w = await World.start(t, { servers: { shop: shop(t, all) }, rules: version(0),
      config: { reload: 'signal', rate_limits: { principal: { max_requests_per_minute: 0 } } } });
    const readers = await Promise.all(Array.from({ length: READERS }, () => w.client('reader')));
    let over = false, answers = 0;
    const read = async (client) => {
      for (let last = 0; !over; answers++) {
        const found = await seen(client), v = Number(/^v(\d+)_/.exec(found[0])?.[1]);
        assert.deepEqual(found, names(v));
        assert.ok((v - last + VERSIONS) % VERSIONS < VERSIONS / 2, `version ${v} after ${last}`);
        last = v;
        client.inbox.entries.length = 0;
      }
    };
    const reading = Promise.all(readers.map(read));
    reading.catch(() => { over = true; });
    let early;
    for (let v = 1; v <= RELOADS && !over; v++) {
      saveAtomically(w.rules, json(version(v)));
      await w.hangup();
      if (v === RELOADS / 5) early = w.gateway.rssKb();
    }
    over = true;
    await reading;
    assert.equal(w.refused, 0);
    assert.ok(w.taken >= RELOADS);
    assert.deepEqual(await seen(readers[0]), names(RELOADS));
    t.diagnostic(`${answers} answers, ${w.taken} reloads`);
    const grown = w.gateway.rssKb() - early;
    assert.ok(grown < 16 * 1024, `${grown} KiB more after ${RELOADS} reloads than after ${RELOADS / 5}`);
  });
});

describe('servers that are configured anew', () => {
  const STEADY = fileURLToPath(new URL('servers/steady.mjs', import.meta.url));
  const steady = (...args) => ({ command: process.execPath, args: [STEADY, ...args] });
  const prefix = { direct: { prefix: 'always' } };
  const startWith = (t, servers, more = {}) => World.start(t, { servers, config: { ...prefix, ...more.config }, ...more });
  const textOf = (result) => result.content[0].text;
  const who = async (client, server) => JSON.parse(textOf(await client.call(`${server}__who`, {})));
  const save = (w, servers, how = fs.writeFileSync) =>
    w.reloading(() => how(w.mcp, json({ mcpServers: servers })));
  const servers = async (client) => [...new Set((await seen(client)).map((name) => name.split('__')[0]))].sort();
  const isGone = (pid) => until(() => !alive(pid), `the end of process ${pid}`, LIMIT);

  /** A call that waits at its server until it is let go. */
  async function hold(w, client, server) {
    const began = path.join(w.dir, `${server}.began`), go = path.join(w.dir, `${server}.go`);
    const answer = client.call(`${server}__hold`, { began, until: go });
    answer.catch(() => {});
    await until(() => fs.existsSync(began), 'the call at its server', LIMIT);
    return { answer, go: () => fs.writeFileSync(go, '') };
  }

  test('H8: a server that is added is served, and one that stays keeps its process', async (t) => {
    const w = await startWith(t, { a: steady() });
    const reader = await w.client('reader'), before = await who(reader, 'a');
    const said = await save(w, { a: steady(), b: steady('--second') });
    assert.match(said, /applied: 2 servers \(1 added, 0 changed, 0 removed\)/);
    assert.deepEqual(await servers(reader), ['a', 'b']);
    assert.deepEqual(await who(reader, 'a'), before);
    assert.deepEqual((await who(reader, 'b')).args, ['--second']);
    await reader.next('notifications/tools/list_changed');
  });

  test('H9: a server with other arguments is another process', async (t) => {
    const w = await startWith(t, { a: steady('--one'), b: steady() });
    const reader = await w.client('reader'), before = await who(reader, 'a'), other = await who(reader, 'b');
    assert.match(await save(w, { a: steady('--two'), b: steady() }), /\(0 added, 1 changed, 0 removed\)/);
    const after = await who(reader, 'a');
    assert.deepEqual([before.args, after.args], [['--one'], ['--two']]);
    assert.notEqual(after.pid, before.pid);
    assert.deepEqual(await who(reader, 'b'), other);
    await isGone(before.pid);
  });

  test('H10: a server that is removed is not found any more, and its process ends', async (t) => {
    const w = await startWith(t, { a: steady(), b: steady() });
    const reader = await w.client('reader'), { pid } = await who(reader, 'a');
    assert.match(await save(w, { b: steady() }), /\(0 added, 0 changed, 1 removed\)/);
    await assert.rejects(who(reader, 'a'), /Unknown tool|not found/i);
    assert.deepEqual(await servers(reader), ['b']);
    await isGone(pid);
    await save(w, { b: steady(), a: steady() });
    assert.notEqual((await who(reader, 'a')).pid, pid);
    assert.deepEqual(await servers(reader), ['a', 'b']);
  });

  test('a server that stays gets no second process, whoever has its first', async (t) => {
    const config = { ...prefix, admin: { listen: '127.0.0.1:0' } };
    const w = await startWith(t, { a: steady(), b: steady() }, { config });
    const reader = await w.client('reader'), before = await who(reader, 'b');
    await save(w, { b: steady() });
    assert.deepEqual(await who(reader, 'b'), before);
    const [, host, port] = /readiness and metrics at (\S+):(\d+)/.exec(w.gateway.log);
    const page = await (await fetch(`http://${host}:${port}/metrics`)).text();
    assert.match(page, /^toolgate_server_starts_total\{server="b"\} 1$/m);
  });

  test('H11: none at all is a configuration too', async (t) => {
    const w = await startWith(t, { a: steady() });
    const reader = await w.client('reader'), { pid } = await who(reader, 'a');
    assert.match(await save(w, {}), /applied: 0 servers/);
    assert.deepEqual(await seen(reader), []);
    await isGone(pid);
  });

  test('H13: a variable that is not set changes nothing', async (t) => {
    const w = await startWith(t, { a: steady() });
    const reader = await w.client('reader'), before = await who(reader, 'a');
    const said = await save(w, { a: steady('--x'), b: { ...steady(), env: { KEY: '${NOT_SET_ANYWHERE}' } } });
    assert.match(said, / error reload: \S*mcp\.json:\/mcpServers\/b\/env\/KEY: uses \$\{NOT_SET_ANYWHERE\}/);
    assert.doesNotMatch(said, /left out/); // nothing was
    assert.equal(w.refused, 1);
    assert.deepEqual(await who(reader, 'a'), before);
    assert.deepEqual(await servers(reader), ['a']);
  });

  test('a server that was left out from the start does not stand in the way of others', async (t) => {
    const broken = { ...steady(), env: { KEY: '${NOT_SET_ANYWHERE}' } };
    const w = await startWith(t, { a: steady(), b: broken });
    assert.match(await save(w, { a: steady(), b: broken, c: steady() }), /applied: 2 servers \(1 added/);
    assert.deepEqual(await servers(await w.client('reader')), ['a', 'c']);
  });

  test('H6: both files in one go are taken together', async (t) => {
    const w = await startWith(t, { a: steady() });
    const reader = await w.client('reader');
    await w.reloading(() => {
      saveAtomically(w.mcp, json({ mcpServers: { a: steady(), b: steady() } }));
      saveAtomically(w.rules, json(rulesOf({ reader: ['who'] })));
    });
    assert.equal(w.reloads, 1);
    assert.deepEqual(await seen(reader), ['a__who', 'b__who']);
  });

  test('neither file is taken when one of them is wrong', async (t) => {
    const w = await startWith(t, { a: steady() });
    const reader = await w.client('reader');
    await w.reloading(() => {
      saveAtomically(w.mcp, json({ mcpServers: { a: steady(), b: steady() } }));
      saveAtomically(w.rules, '{');
    });
    assert.deepEqual([w.taken, w.refused], [0, 1]);
    assert.deepEqual(await servers(reader), ['a']);
    await w.write(rulesOf({ reader: ['*'] }));
    assert.deepEqual(await servers(reader), ['a', 'b']);
  });

  test('a call under way finishes at the server of before, while others go to the new one', async (t) => {
    const w = await startWith(t, { a: steady('--one') });
    const reader = await w.client('reader'), before = await who(reader, 'a');
    const held = await hold(w, reader, 'a');
    await save(w, { a: steady('--two') });
    const after = await who(reader, 'a');
    assert.notEqual(after.pid, before.pid);
    assert.ok(alive(before.pid), 'it is still at work');
    held.go();
    assert.equal(textOf(await held.answer), `held by ${before.pid}`);
    await isGone(before.pid);
    assert.deepEqual(await who(reader, 'a'), after);
  });

  test('a call under way finishes at a server that was removed', async (t) => {
    const w = await startWith(t, { a: steady(), b: steady() });
    const reader = await w.client('reader'), { pid } = await who(reader, 'a');
    const held = await hold(w, reader, 'a');
    await save(w, { b: steady() });
    assert.deepEqual(await servers(reader), ['b']);
    held.go();
    assert.equal(textOf(await held.answer), `held by ${pid}`);
    await isGone(pid);
  });

  test('a call under way finishes under the rules it began with, which deny it now', async (t) => {
    const w = await startWith(t, { a: steady() });
    const reader = await w.client('reader'), { pid } = await who(reader, 'a');
    const held = await hold(w, reader, 'a');
    await w.write(rulesOf({ reader: ['who'] }));
    await assert.rejects(reader.call('a__hold', {}), /Unknown tool|not found/i);
    held.go();
    assert.equal(textOf(await held.answer), `held by ${pid}`);
    assert.deepEqual(await seen(reader), ['a__who']);
  });

  test('subscriptions go on at the new process', async (t) => {
    const w = await startWith(t, { a: steady('--resources', '--one') });
    const reader = await w.client('reader'), before = await who(reader, 'a');
    await reader.watchResource('steady://state');
    await reader.call('a__touch', {});
    await reader.next('notifications/resources/updated');
    await save(w, { a: steady('--resources', '--two') });
    await until(async () => (await who(reader, 'a')).pid !== before.pid, 'another process', LIMIT);
    await until(async () => {
      await reader.call('a__touch', {});
      await reader.roundTrip();
      return reader.inbox.has('notifications/resources/updated');
    }, 'news from the new process', LIMIT);
  });

  test('subscriptions end when the rules no longer allow them', async (t) => {
    const w = await startWith(t, { a: steady('--resources'), b: steady() }, { agents: { reader: ['*'], writer: ['*'] } });
    const [reader, writer] = [await w.client('reader'), await w.client('writer')];
    await reader.watchResource('steady://state');
    const rules = rulesOf({ reader: ['*'], writer: ['*'] });
    rules.agents.reader.deny = { servers: ['a'] };
    await w.write(rules);
    await writer.call('a__touch', {});
    await reader.roundTrip();
    assert.ok(!reader.inbox.has('notifications/resources/updated'));
  });

  test('in the mode servers: lists, calls, and the counts of what was read again (H2)', async (t) => {
    const w = await startWith(t, { a: steady(), b: steady() }, { args: ['--debug'], config: { ...prefix, modes: ['servers'] } });
    const reader = await w.client('reader', { path: '/mcp/servers' });
    const ask = async (name, args = {}) => JSON.parse(textOf(await reader.call(name, args)));
    const listed = async () => (await ask('list_servers')).map(({ name }) => name);
    const counts = async () => {
      const { mcp_config: servers, gateway_rules: rules } = (await ask('get_gateway_status')).reload_status;
      return [servers, rules].map((r) => [r.attempt_count, r.success_count, r.last_error !== null]);
    };
    assert.deepEqual(await listed(), ['a', 'b']);
    assert.deepEqual(await counts(), [[0, 0, false], [0, 0, false]]);
    await save(w, { b: steady() });
    assert.deepEqual(await listed(), ['b']);
    assert.deepEqual(await counts(), [[1, 1, false], [0, 0, false]]);
    const gone = await reader.call('execute_tool', { server: 'a', tool: 'who', args: {} });
    assert.match(textOf(gone), /Server 'a' not found in configured servers/);
    await w.write('{ invalid');
    assert.deepEqual(await counts(), [[1, 1, false], [1, 0, true]]);
    await w.write(rulesOf({ reader: ['who'] }));
    assert.deepEqual(await counts(), [[1, 1, false], [2, 1, false]]);
    await w.reloading(() => {
      saveAtomically(w.mcp, json({ mcpServers: { b: steady(), c: steady() } }));
      saveAtomically(w.rules, json(rulesOf({ reader: ['*'] })));
    });
    assert.deepEqual(await counts(), [[2, 2, false], [3, 2, false]]);
    assert.deepEqual(await listed(), ['b', 'c']);
  });

  test('on stdio too', async (t) => {
    const dir = tempDir(t), rules = writeJson(path.join(dir, 'rules.json'), rulesOf({ reader: ['*'] }));
    const w = new World();
    w.gateway = await startGateway(t, { servers: { a: steady() }, transport: 'stdio', config: { ...prefix, timeouts: { start_wait: 60 } },
      args: ['--rules', rules, '--agent', 'reader'] });
    w.mcp = path.join(w.gateway.dir, 'mcp.json');
    const reader = await open(t, w.gateway, 'stdio'), before = await who(reader, 'a');
    await save(w, { a: steady(), b: steady() });
    assert.deepEqual(await servers(reader), ['a', 'b']);
    assert.deepEqual(await who(reader, 'a'), before);
  });

  test('what cannot change is named, and the rest is taken over', async (t) => {
    const w = await startWith(t, { a: steady() });
    const reader = await w.client('reader');
    const config = { ...w.config, port: 1, limits: { sessions: 7 }, log: { level: 'debug' } };
    const said = await w.reloading(() => {
      saveAtomically(w.yaml, json(config));
      saveAtomically(w.rules, json(rulesOf({ reader: ['who'] })));
    });
    assert.match(said, /reload: these keys need a restart: limits\.sessions/);
    assert.deepEqual(await seen(reader), ['a__who']);
    assert.doesNotMatch(await w.reloading(() => saveAtomically(w.yaml, json(w.config))), /restart/);
  });

  test('again and again: the server that stays keeps its process, and memory does not grow', { timeout: 600_000 }, async (t) => {
    const ROUNDS = process.env.TOOLGATE_LONG ? 1000 : 300;
    const w = await startWith(t, { a: steady() }, { config: { reload: 'signal', ...prefix } });
    const reader = await w.client('reader'), before = await who(reader, 'a');
    const other = (round) => snapshot(t, { tools: [tool(`t${round}`)] });
    let early;
    for (let round = 1; round <= ROUNDS; round++) {
      const all = { a: steady(), ...(round % 3 && { [`b${round % 2}`]: other(round) }) };
      saveAtomically(w.mcp, json({ mcpServers: all }));
      assert.match(await w.hangup(), /reload: applied/);
      assert.deepEqual(await servers(reader), Object.keys(all).sort());
      if (round === ROUNDS / 3) early = w.gateway.rssKb();
    }
    assert.deepEqual(await who(reader, 'a'), before);
    const grown = w.gateway.rssKb() - early;
    assert.ok(grown < 16 * 1024, `${grown} KiB more after ${ROUNDS} reloads than after ${ROUNDS / 3}`);
  });
});
