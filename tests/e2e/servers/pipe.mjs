// SPDX-License-Identifier: Apache-2.0
// The process of a stdio upstream: it carries bytes between its stdin/stdout and the test that scripts it.
// Usage: pipe.mjs PORT [--banner TEXT] [--exit CODE] [--grandchildren] [--noise BYTES] [anything else is only reported]
// --noise writes so much to stderr first. Signals: SIGUSR2 closes stdin.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';

const args = process.argv.slice(2);
const option = (name) => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);

// One child in our group, one in a session of its own, one that was handed over by a parent that ended.
function grandchildren() {
  const own = spawn('sleep', ['1000'], { stdio: 'ignore' });
  const leader = spawn('sleep', ['1000'], { stdio: 'ignore', detached: true });
  const daemon = spawnSync('sh', ['-c', 'setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $!'], {
    encoding: 'utf8',
  });
  return [own.pid, leader.pid, Number(daemon.stdout)];
}

if (option('--banner')) process.stdout.write(option('--banner'));
if (option('--noise')) fs.writeSync(2, 'noise without end, '.repeat(Number(option('--noise')) / 19));
if (option('--exit')) process.exit(Number(option('--exit')));

const hello = {
  pid: process.pid,
  args,
  env: process.env,
  cwd: process.cwd(),
  fds: fs.readdirSync('/proc/self/fd').length,
};
hello.grandchildren = args.includes('--grandchildren') ? grandchildren() : [];

const socket = net.connect(Number(args[0]), '127.0.0.1', () => {
  socket.write(JSON.stringify(hello) + '\n');
  process.stdin.pipe(socket);
  socket.pipe(process.stdout);
});
socket.setNoDelay(true);
socket.on('close', () => process.exit(0));
socket.on('error', () => process.exit(1));
process.stdout.on('error', () => process.exit(1));
process.on('SIGUSR2', () => {
  process.stdin.unpipe(socket);
  process.stdin.destroy();
  fs.closeSync(0);
});
