// SPDX-License-Identifier: Apache-2.0
// What a server's process can reach of the gateway, of its guard and keepers, and of other servers.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { assertNoReport, gatewayEnv, toolgate } from './lib/gateway.mjs';
import { onEnd, Program, run, tempDir, until, writeJson } from './lib/process.mjs';
import { alive, HttpClient } from './lib/raw.mjs';

const SERVERS = fileURLToPath(new URL('servers', import.meta.url));
const KEY = 'the-key-of-another-server';
const NOBODY = 65534;
const root = process.getuid() === 0;
const NO_LANDLOCK = 'no Landlock in this kernel';
const landlock = () => fs.readFileSync('/proc/kallsyms', 'latin1').includes('landlock_restrict_self');

// A gateway with two servers, as root or as an ordinary user who can read nothing but a folder of its own. With
// `crowded`, it runs in so many Landlock domains that no server can enter another one.
async function start(t, user, { crowded, entry } = {}) {
  const dir = tempDir(t);
  const parent = path.dirname(dir);
  if (root && !(fs.statSync(parent).mode & 1)) fs.chmodSync(parent, 0o711);
  const program = path.join(dir, 'toolgate');
  fs.copyFileSync(toolgate(), program);
  for (const name of ['spy.py', 'domains.py']) fs.copyFileSync(path.join(SERVERS, name), path.join(dir, name));
  const spy = { command: 'python3', args: [path.join(dir, 'spy.py')] };
  const servers = { spy: { ...spy, ...entry }, other: { ...spy, env: { OTHER_KEY: '${OTHER_KEY}' } } };
  writeJson(path.join(dir, '.mcp.json'), { mcpServers: servers });
  const own = user === 'root' ? process.getuid() : NOBODY;
  for (const name of ['', ...fs.readdirSync(dir)]) if (root) fs.chownSync(path.join(dir, name), own, own);
  const drop = root && own ? ['setpriv', `--reuid=${own}`, `--regid=${own}`, '--clear-groups'] : [];
  const crowd = crowded ? ['python3', path.join(dir, 'domains.py')] : [];
  const [first, ...args] = [...drop, ...crowd, program, 'serve', '--mode', 'direct', '--transport', 'http', '--listen', '127.0.0.1:0'];
  const env = gatewayEnv({ HOME: dir, XDG_STATE_HOME: path.join(dir, 'state'), PATH: '/usr/local/bin:/usr/bin:/bin', OTHER_KEY: KEY });
  const gateway = new Program(first, args, { env, cwd: dir });
  onEnd(t, async () => {
    const status = await gateway.stop();
    assertNoReport(gateway.stderr);
    assert.equal(status, 0, gateway.stderr);
  });
  const [, origin] = await gateway.says(/listening on (http:\/\/\S+:\d+)/);
  const client = new HttpClient(origin);
  onEnd(t, () => client.close());
  await client.initialize();
  await client.tools();
  const ask = async (name, args) => JSON.parse((await client.call(name, args)).content[0].text);
  const look = (server, args) => ask(`${server}__spy`, args);
  const sh = (server, command) => ask(`${server}__sh`, { command });
  const command = (...args) => [...drop, 'env', `HOME=${dir}`, `XDG_STATE_HOME=${env.XDG_STATE_HOME}`, program, ...args];
  return { dir, gateway, client, look, sh, command };
}

// For a server: what it runs to know its keeper, its guard and its gateway as $k, $g and $w.
const ABOVE = 'above() { sed -n "s/^PPid:\\t//p" "/proc/$1/status"; }; k=$(above $PPID); g=$(above $k); w=$(above $g);';
const [major, minor] = os.release().split('.').map(Number);
const OLD = (!landlock() && NO_LANDLOCK) || ((major < 6 || (major === 6 && minor < 12)) && 'needs Linux 6.12');

const reached = ({ ways }) => Object.keys(ways).filter((w) => ways[w] === 'allowed');

for (const user of root ? ['root', 'an ordinary user'] : ['an ordinary user']) {
  describe(`a server of a gateway that runs as ${user}`, () => {
    for (const crowded of [false, true]) {
      const where = crowded ? ', without a Landlock domain of its own' : '';
      test(`cannot read the environment, memory or descriptors of the gateway, the guard or its keeper${where}`, async (t) => {
        const { gateway, look } = await start(t, user, { crowded });
        const names = [];
        for (const above of [1, 2, 3]) {
          const found = await look('spy', { above });
          names.push(found.name);
          assert.deepEqual(reached(found), [], `${found.name}: ${JSON.stringify(found.ways)}`);
          if (above === 3) assert.equal(found.pid, gateway.pid);
        }
        assert.deepEqual(names.slice(0, 2), ['tg-keeper', 'tg-guard']);
        assert.equal(/nested Landlock domains/.test(gateway.stderr), Boolean(crowded && landlock()), gateway.stderr);
      });
    }

    test('cannot read the environment, memory or descriptors of another server', { skip: !landlock() && NO_LANDLOCK }, async (t) => {
      const { look } = await start(t, user);
      const other = await look('other', {});
      assert.match(other.environment, new RegExp(`OTHER_KEY=${KEY}`)); // every process can read itself
      assert.deepEqual(reached(await look('spy', { pid: other.pid })), []);
      const keeper = await look('other', { above: 1 });
      assert.deepEqual(reached(await look('spy', { pid: keeper.pid })), []);
    });

    test('does not become the operator by running commands of Toolgate', async (t) => {
      const { dir, gateway, sh, command } = await start(t, user);
      const [first, ...rest] = command('status', '--json');
      assert.equal((await run(first, rest, { cwd: dir })).status, 0);
      const { said, status } = await sh('spy', command('status', '--json').slice(command().indexOf('env')).join(' '));
      assert.deepEqual([said, status], ['', 3]);
      await gateway.says(/refused a connection of a server/);
    });

    test('does not become the operator through a process that connects for it and ends', async (t) => {
      const { dir, sh } = await start(t, user);
      const folder = path.join(dir, 'state/toolgate');
      const [name] = fs.readdirSync(folder).filter((n) => n.endsWith('.sock'));
      fs.writeFileSync(path.join(dir, 'connect.py'), [
        'import os, socket',
        's = socket.socket(socket.AF_UNIX)',
        'child = os.fork()',
        `if not child: s.connect(${JSON.stringify(path.join(folder, name))}); os._exit(0)`,
        'os.waitpid(child, 0)',
        's.settimeout(10)',
        'try:',
        '  s.send(b\'{"jsonrpc":"2.0","id":1,"method":"toolgate/hello","params":{"version":"1"}}\\n\')',
        '  print("answered" if s.recv(100) else "refused")',
        'except ConnectionError: print("refused")',
      ].join('\n'));
      assert.equal((await sh('spy', `python3 ${dir}/connect.py`)).said.trim(), 'refused');
    });

    test('sends no signals to the gateway, its guard or another server', { skip: OLD }, async (t) => {
      const { gateway, look, sh } = await start(t, user);
      const { pid } = await look('other', {});
      const keeper = await look('other', { above: 1 });
      const tries = `for p in $w $g ${gateway.pid} ${pid} ${keeper.pid}; do kill -9 $p 2>/dev/null && echo $p; done`;
      assert.equal((await sh('spy', `${ABOVE} ${tries}; kill -0 $k && echo its own keeper`)).said, 'its own keeper\n');
      assert.equal((await look('other', {})).pid, pid);
    });

    test('that kills its keeper leaves nothing behind', async (t) => {
      const { client, sh } = await start(t, user);
      const { said } = await sh('spy', 'setsid sleep 100 >/dev/null & echo $!');
      assert.ok(alive(Number(said)));
      await client.request('tools/call', { name: 'spy__sh', arguments: { command: `${ABOVE} kill -9 $k` } });
      await until(() => !alive(Number(said)), 'the end of what the server started');
      assert.equal((await sh('other', 'echo on')).said, 'on\n');
    });

    test('that stops its keeper ends with the gateway', async (t) => {
      const { gateway, sh } = await start(t, user);
      assert.equal((await sh('spy', `${ABOVE} kill -STOP $k`)).status, 0);
      assert.equal(await gateway.stop(), 0); // and no process is left
    });

    test('that ends while a process of it still writes harms nobody else', async (t) => {
      const { client, sh } = await start(t, user);
      const flood = `yes '{"jsonrpc":"2.0","method":"notifications/x"}' >/proc/$PPID/fd/1 & sleep 0.1; kill -9 $PPID`;
      const { error } = await client.request('tools/call', { name: 'spy__sh', arguments: { command: flood } });
      assert.equal(error.data.error, 'UPSTREAM_UNAVAILABLE');
      assert.equal((await sh('other', 'echo on')).said, 'on\n');
    });
  });
}

test('a server with "confine": false keeps its capabilities and can read other servers', async (t) => {
  const { look } = await start(t, root ? 'root' : 'an ordinary user', { entry: { confine: false } });
  const { pid } = await look('other', {});
  const { environment, ways } = await look('spy', { pid });
  assert.match(environment, new RegExp(`OTHER_KEY=${KEY}`));
  assert.equal(ways.process_vm_readv, 'allowed');
});

test('the gateway, the guard and the keepers overwrite their environment after they have read it',
  { skip: !root && 'only root can look' }, async (t) => {
    const { gateway, look } = await start(t, 'root');
    const read = (pid) => fs.readFileSync(`/proc/${pid}/environ`, 'latin1').replaceAll('\0', '');
    const { pid } = await look('other', {});
    assert.match(read(pid), new RegExp(KEY));
    for (const above of [1, 2, 3]) assert.equal(read((await look('spy', { above })).pid), '');
    assert.equal(read(gateway.pid), '');
  });

test('the system calls of the gateway are restricted in all its threads', async (t) => {
  const { gateway, look } = await start(t, root ? 'root' : 'an ordinary user');
  await look('spy', {});
  const threads = fs.readdirSync(`/proc/${gateway.pid}/task`);
  for (const thread of threads)
    assert.match(fs.readFileSync(`/proc/${gateway.pid}/task/${thread}/status`, 'latin1'), /^Seccomp:\t2$/m);
});
