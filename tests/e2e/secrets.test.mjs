// SPDX-License-Identifier: Apache-2.0
// What an agent is not told of a server, whatever goes wrong there: the secrets it was configured with, and where it is.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { describe, test } from 'node:test';

import { startAudited } from './lib/audit.mjs';
import { runToolgate } from './lib/gateway.mjs';
import { faultOf, open, startMeta, textOf } from './lib/meta.mjs';
import { tempDir, until } from './lib/process.mjs';
import { RpcError } from './lib/raw.mjs';
import { HttpCaller, text } from './lib/stateless.mjs';
import { CREATE, github, startShop } from './servers/golden-shop.mjs';

const ISSUE = { title: 'a' };
const MASK = '[REDACTED-SECRET]';
const SECRET = 'swordfish-of-the-shop';  // known by no form
const WITH_SECRET = {
  stdio: { entry: { env: { SHOP_PASSWORD: SECRET } } },
  http: { entry: { headers: { 'X-Shop-Token': SECRET } } },
};
const fails = (message, data) => () => { throw new RpcError(-32000, message, data); };
const reports = (said) => () => ({ ...text(said), isError: true });

const shop = (t, kind, run, rest = {}) => startShop(t, { kind, ...WITH_SECRET[kind], runs: { create_issue: run }, ...rest });

for (const kind of ['stdio', 'http']) {
  describe(`what a server was configured with (${kind})`, () => {
    test('is not told in a fault, nor in its data', async (t) => {
      const { execute, gateway } = await shop(t, kind, fails(`you said ${SECRET}`, { sent: [`x${SECRET}`] }));
      const result = await execute(CREATE, ISSUE);
      const fault = faultOf(result, 'UPSTREAM_ERROR');
      assert.equal(fault.message, `you said ${MASK}`);
      assert.deepEqual(fault.details.data, { sent: [`x${MASK}`] });
      assert.ok(!JSON.stringify(result).includes(SECRET));
      assert.ok(!gateway.log.includes(SECRET), gateway.log);
    });

    test('nor if it has line breaks, which a message on one line has not', async (t) => {
      const lines = 'swordfish of\n  two lines';
      const entry = kind === 'stdio' ? { env: { SHOP_PASSWORD: lines } } : { headers: { 'X-Shop-Token': SECRET }, env: { TOKEN: lines } };
      const { execute } = await shop(t, kind, fails(`you said\n${lines}, didn't you`), { entry });
      assert.equal(faultOf(await execute(CREATE, ISSUE), 'UPSTREAM_ERROR').message, `you said ${MASK}, didn't you`);
    });

    test('nor where the cut of a long message leaves a part of it', async (t) => {
      const { execute } = await shop(t, kind, fails(`${'y'.repeat(240)} ${SECRET}`));
      assert.doesNotMatch(JSON.stringify(await execute(CREATE, ISSUE)), /swordfish/);
    });

    test('nor in what a tool reports as its error; a result that went well is as it is', async (t) => {
      const { execute } = await shop(t, kind, (args) => (args.title === 'a' ? reports(`no: ${SECRET}`)() : text(SECRET)));
      const failed = await execute(CREATE, ISSUE);
      assert.equal(failed.isError, true);
      assert.equal(textOf(failed), `no: ${MASK}`);
      assert.equal(textOf(await execute(CREATE, { title: 'b' })), SECRET);
    });

    test('nor in any result, with result.scrub', async (t) => {
      const { execute } = await shop(t, kind, () => text(`it is ${SECRET}`), { config: { result: { scrub: true } } });
      assert.equal(textOf(await execute(CREATE, ISSUE)), `it is ${MASK}`);
    });

    test('nor in mode servers', async (t) => {
      const servers = { github: await github(kind, { ...WITH_SECRET[kind], runs: { create_issue: reports(`no: ${SECRET}`) } }) };
      const client = await open(t, await startMeta(t, { servers, mode: 'servers' }));
      const call = { server: 'github', tool: 'create_issue', args: ISSUE };
      assert.equal(textOf(await client.call('execute_tool', call)), `no: ${MASK}`);
    });

    test('nor in the errors that mode direct passes on, of which the rest stays as it is', async (t) => {
      const data = { sent: SECRET, rest: 1.50 };
      const { client } = await shop(t, kind, (args) => fails(args.title === 'a' ? `line\none ${SECRET}` : 'line\ntwo', data)(),
        { mode: 'direct' });
      const error = (title) => client.call('create_issue', { title })
        .then(() => assert.fail(), ({ code, message, data: of }) => ({ code, message, data: of }));
      assert.deepEqual(await error('a'), { code: -32000, message: `line\none ${MASK}`, data: { ...data, sent: MASK } });
      assert.deepEqual(await error('b'), { code: -32000, message: 'line\ntwo', data: { ...data, sent: MASK } });
    });

    test('nor where a resource is not there, whose URI stays with it', async (t) => {
      const uri = 'test://shop/none';
      const { gateway, up } = await shop(t, kind, undefined, { mode: 'direct', resources: [uri] });
      const caller = new HttpCaller(gateway.url);
      for (const data of [undefined, { sent: SECRET }]) {
        up.on('resources/read', () => { throw new RpcError(-32002, `not with ${SECRET}`, data); });
        const { error } = await caller.send('resources/read', { uri });
        assert.deepEqual(error, { code: -32602, message: `not with ${MASK}`, data: { ...data && { sent: MASK }, uri } });
      }
      caller.close();
    });

    test('nor where a name is one, and another is called as that is then', async (t) => {
      const data = { [SECRET]: 1, [`${MASK} 1`]: 2 };
      const { client } = await shop(t, kind, fails('no', data), { mode: 'direct' });
      await assert.rejects(client.call('create_issue', ISSUE),
        (error) => assert.deepEqual(error.data, { [`${MASK} 1`]: 1, [`${MASK} 1 2`]: 2 }) ?? true);
    });

    for (const size of [100e3, 400e3, 1.5e6]) {
      test(`nor in those of ${size} bytes: what is too long to be looked through is not told`, async (t) => {
        const said = `no: ${SECRET} ${'y'.repeat(size)}`;
        const { client } = await shop(t, kind, fails(said, { sent: SECRET }), { mode: 'direct' });
        const error = await client.call('create_issue', ISSUE).then(() => assert.fail(), (e) => e);
        assert.equal(error.code, -32000);
        assert.ok(error.message.startsWith(`no: ${MASK} yyyy`), error.message.slice(0, 300));
        assert.ok(!JSON.stringify([error.message, error.data]).includes(SECRET));
        if (size < 256 * 1024) assert.equal(error.message, said.replace(SECRET, MASK));
        else assert.match(error.message, /…? \(told in part: an error of \d+ bytes\)$/);
        assert.deepEqual(error.data, size < 256 * 1024 ? { sent: MASK } : undefined);
      });

      test(`nor in what a tool reports there as its error, of ${size} bytes`, async (t) => {
        const rest = { ...text(`Bearer 0123456789abcdef ${'y'.repeat(size)}`), structuredContent: { n: 1.50 }, isError: true };
        const { client } = await shop(t, kind, ({ title }) => (title === 'a' ? { ...rest, ...text(`${SECRET} ${'y'.repeat(size)}`) } : rest),
          { mode: 'direct' });
        const failed = await client.call('create_issue', ISSUE);
        assert.deepEqual(failed, { ...rest, ...text(`${MASK} ${'y'.repeat(size)}`) });
        assert.deepEqual(await client.call('create_issue', { title: 'b' }), rest);
      });
    }
  });
}

test('nor is it in the audit log, where an agent says it again', async (t) => {
  const servers = { github: await github('stdio', WITH_SECRET.stdio) };
  const { gateway, finish } = await startAudited(t, { servers, audit: { arguments: true } });
  const client = await open(t, gateway);
  await client.call('tool_execute', { tool_id: CREATE, args: { title: `is it ${SECRET}?` } });
  const [line] = (await finish()).filter(({ operation }) => operation === 'tool_execute');
  assert.ok(JSON.stringify(line.arguments).includes(`is it ${MASK}?`), JSON.stringify(line));
  assert.ok(!JSON.stringify(line).includes(SECRET));
});

test('nor in what is recorded', async (t) => {
  const dir = tempDir(t);
  const { execute, gateway } = await shop(t, 'stdio', () => text(`it is ${SECRET}`),
    { config: { state_dir: dir, context: { record: true } } });
  await execute(CREATE, { title: SECRET });
  const config = path.join(dir, 'toolgate.yaml');
  fs.copyFileSync(path.join(gateway.dir, 'toolgate.yaml'), config);
  await gateway.stop();
  const sessions = await runToolgate(['context', 'sessions', '--config', config, '--json'], { cwd: dir });
  const { session } = JSON.parse(sessions.stdout.trim().split('\n')[0]);
  const { stdout } = await runToolgate(['context', 'export', session, '--config', config], { cwd: dir });
  assert.ok(stdout.includes(MASK), stdout);
  assert.ok(!stdout.includes(SECRET), stdout);
});

describe('where a server is', () => {
  const closedPort = () => new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

  test('is told to nobody who calls it, but stands in the log', async (t) => {
    const { execute, gateway, up } = await shop(t, 'http', () => text('ok'));
    await execute(CREATE, ISSUE);
    const { port } = new URL(up.config().url);
    await up.close();
    const result = await execute(CREATE, ISSUE);
    const fault = faultOf(result, 'UPSTREAM_UNAVAILABLE');
    assert.match(fault.message, /server "github" .*connect/);
    assert.equal(fault.path, CREATE);
    assert.ok(!JSON.stringify(result).includes(port) && !fault.message.includes('127.0.0.1'), fault.message);
    await until(() => gateway.log.includes(`127.0.0.1 port ${port}`), 'its line in the log');
    const direct = await open(t, gateway, 'http', { path: '/mcp/direct' });
    await assert.rejects(direct.call('create_issue', ISSUE), (error) => {
      assert.ok(!`${error.message} ${JSON.stringify(error.data)}`.includes(port), error.message);
      return true;
    });
  });

  test('nor to who browses', async (t) => {
    const port = await closedPort();
    const servers = { away: { url: `http://127.0.0.1:${port}/mcp` }, gone: { command: '/opt/nowhere/program' } };
    const client = await open(t, await startMeta(t, { servers }));
    const said = JSON.stringify(await client.call('tool_browse', { path: '/' }));
    assert.match(said, /away \(cannot connect: connection refused\)/);
    assert.match(said, /gone \(cannot start: no such file/);
    assert.ok(!said.includes(port) && !said.includes('nowhere'), said);
  });
});
