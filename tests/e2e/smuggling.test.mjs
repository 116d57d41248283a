// SPDX-License-Identifier: Apache-2.0
// One message, two readings: members whose names differ only in case, methods that a server may take for others, and
// notifications that are none. Whatever a client writes, a server behind the gateway runs nothing that the rules do not
// allow, and the audit log names what ran.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { linesOf } from './lib/audit.mjs';
import { open, startMeta } from './lib/meta.mjs';
import { onEnd, Program, tempDir, writeJson } from './lib/process.mjs';
import { fetchRaw, JSON_HEADERS, Raw, RpcError } from './lib/raw.mjs';
import { handshakeServer, metaOf, MODERN, statelessServer, text } from './lib/stateless.mjs';

const SERVER = fileURLToPath(new URL('servers/folding.mjs', import.meta.url));
const AGENTS = { default: { allow: { servers: ['*'], tools: { '*': ['safe'] } } } };

/** The entry of .mcp.json for a server that ignores case, and the tools that it ran. */
async function foldingServer(t, kind, era) {
  const ran = path.join(tempDir(t), 'ran');
  const args = [SERVER, '--era', era, '--ran', ran];
  const protocol = era === 'stateless' ? MODERN : '2025-11-25';
  const runs = () => (fs.existsSync(ran) ? fs.readFileSync(ran, 'utf8').split('\n').slice(0, -1) : []);
  if (kind === 'stdio') return { entry: { command: process.execPath, args }, runs };
  const program = new Program(process.execPath, [...args, '--http']);
  onEnd(t, () => program.stop());
  const [, port] = await program.says(/listening on (\d+)/);
  return { entry: { type: 'http', url: `http://127.0.0.1:${port}/mcp` }, runs, protocol };
}

/** A gateway with rules and an audit log before such servers. `finish()` stops it and gives the lines. */
async function start(t, servers, { mode = 'direct', agents = AGENTS, config = {}, ...rest } = {}) {
  const dir = tempDir(t), file = path.join(dir, 'audit.jsonl');
  const rules = agents && writeJson(path.join(dir, 'rules.json'), { agents, defaults: { deny_on_missing_agent: false } });
  const gateway = await startMeta(t, {
    mode, servers, config: { ...config, audit: { file } }, args: rules ? ['--rules', rules] : [], ...rest,
  });
  const finish = async () => {
    await gateway.stop();
    return linesOf(file);
  };
  return { gateway, file, finish };
}

/** How the tool of the server is called in each mode: its member of params, and another spelling of the same. */
const CALLS = {
  direct: { name: 'safe', arguments: '{}', evil: 'danger' },
  transparent: { name: 'tool_execute', arguments: '{"tool_id":"up:safe","args":{}}', evil: 'tool_view' },
  gateway: { name: 'tool_execute', arguments: '{"tool_id":"up:safe","args":{}}', evil: 'danger' },
  servers: { name: 'execute_tool', arguments: '{"server":"up","tool":"safe","args":{}}', evil: 'danger' },
};

/** Texts of requests that a reader who ignores case takes for a call of `danger`. */
function disguises({ name, arguments: args, evil }, meta) {
  const call = (members) => `"method":"tools/call","params":{${members}${meta ? `,"_meta":${meta}` : ''}}`;
  const plain = `"name":"${name}","arguments":${args}`;
  return [
    call(`${plain},"Name":"${evil}"`),
    call(`"NAME":"${evil}",${plain}`),
    call(`${plain},"n\\u0041me":"${evil}"`),
    call(`${plain},"name\\u0000":"${evil}"`),
    call(`${plain},"Arguments\\u0000x":{"tool_id":"up:danger","server":"up","tool":"danger","args":{}}`),
    call(`${plain},"argument\u017f":{"tool_id":"up:danger","server":"up","tool":"danger","args":{}}`),
    call(`${plain},"Arguments":{"tool_id":"up:danger","server":"up","tool":"danger","args":{}}`),
    call(`${plain},"ta\u017f\u212a":{}`),
    call(`${plain},"_Meta":{}`),
    `${call(plain)},"Params":{"name":"danger","arguments":{}}`,
    `${call(plain)},"METHOD":"vendor/callTool"`,
    `${call(plain)},"\\u004dethod":"vendor/callTool"`,
    `"method":"vendor/callTool","params":{"name":"danger"${meta ? `,"_meta":${meta}` : ''}}`,
    ...['TOOLS/CALL', ' tools/call', 'tools/call ', '\\ttools/call', '/tools/call', 'tools\\u002fCall', 'tool\u017f/call'].map((method) =>
      `"method":"${method}","params":{"name":"danger","arguments":{}${meta ? `,"_meta":${meta}` : ''}}`),
  ];
}

const NOTIFICATIONS = [
  '{"jsonrpc":"2.0","method":"notifications/x","Method":"tools/call","params":{"name":"danger"}}',
  '{"jsonrpc":"2.0","method":"notifications/roots/list_changed","Method":"tools/call","params":{"name":"danger"}}',
  '{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"name":"safe"},"Params":{"name":"danger"},"METHOD":"tools/call","Id":7}',
  '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"danger"}}',
  '{"jsonrpc":"2.0","method":"vendor/callTool","params":{"name":"danger"}}',
  '{"jsonrpc":"2.0","method":"notifications/vendor/callTool","params":{"name":"danger"}}',
];

const META = JSON.stringify(metaOf({}));

/** Sends every disguise as a raw body over HTTP; gives the JSON-RPC error codes. */
async function attack(gateway, client, mode, stateless) {
  const codes = [];
  let id = 100;
  for (const members of disguises(CALLS[mode], stateless && META)) {
    const { method, params = {} } = JSON.parse(`{${members}}`);
    const extra = stateless
      ? { 'mcp-protocol-version': MODERN, 'mcp-method': method.trim(), 'mcp-name': String(params.name) }
      : { 'mcp-session-id': client.session, 'mcp-protocol-version': client.rev };
    const body = `{"jsonrpc":"2.0","id":${++id},${members}}`;
    const headers = { ...JSON_HEADERS, ...extra, 'content-length': Buffer.byteLength(body) };
    for (const h of Object.keys(headers)) headers[h] = Buffer.from(String(headers[h])).toString('latin1');
    const r = await fetchRaw(gateway.url + '/mcp', { method: 'POST', headers, body });
    if (r.streaming) await r.ended;
    const answer = r.streaming ? r.events.map((e) => e.data).filter(Boolean).at(-1) : r.text;
    codes.push(JSON.parse(answer).error?.code ?? `${body}: ${answer}`);
  }
  for (const body of stateless ? [] : NOTIFICATIONS) await client.post(body);
  return codes;
}

describe('a server that ignores the case of member names runs only the tool that the rules allowed', () => {
  for (const era of ['handshake', 'stateless'])
    for (const transport of ['stdio', 'http'])
      for (const mode of Object.keys(CALLS))
        test(`${era} server on ${transport}, mode ${mode}`, async (t) => {
          const { entry, runs } = await foldingServer(t, transport, era);
          const { gateway, finish } = await start(t, { up: entry }, { mode });
          const client = await open(t, gateway, 'http', { capabilities: { roots: { listChanged: true } } });
          const { name, arguments: args } = CALLS[mode];
          const ok = await client.call(name, JSON.parse(args));
          assert.ok(!ok.isError, JSON.stringify(ok));
          for (const stateless of [false, true])
            for (const code of await attack(gateway, client, mode, stateless))
              assert.ok([-32600, -32601, -32602, -32020].includes(code), `${stateless ? 'stateless: ' : ''}${code}`);
          await client.notify('notifications/roots/list_changed');
          await client.call(name, JSON.parse(args));
          assert.deepEqual(runs(), ['safe', 'safe']);
          const lines = await finish();
          const ran = lines.filter((l) => l.decision === 'ALLOW' && l.tool);
          assert.deepEqual(ran.map((l) => l.tool), ['safe', 'safe']);
          const told = (operation) => lines.filter((l) => l.operation === operation).map((l) => `${l.decision} ${l.code}`);
          assert.deepEqual(told('notifications/x'), ['DENY INVALID_REQUEST']);
          assert.deepEqual(told('notifications/vendor/callTool'), ['DENY METHOD_NOT_FOUND']);
          assert.ok(told('notifications/roots/list_changed').includes('ALLOW null'));
        });

  test('over stdio, in one session and without', async (t) => {
    const { entry, runs } = await foldingServer(t, 'stdio', 'handshake');
    const { gateway } = await start(t, { up: entry }, { transport: 'stdio' });
    const client = await open(t, gateway, 'stdio', { capabilities: { roots: { listChanged: true } } });
    await client.call('safe');
    const answers = [];
    const { receive } = client;
    client.receive = (line) => {
      const msg = JSON.parse(line);
      if (msg.id > 100) answers.push(msg);
      else receive.call(client, line);
    };
    let id = 100;
    for (const meta of [undefined, META])
      for (const members of disguises(CALLS.direct, meta)) client.transmit(`{"jsonrpc":"2.0","id":${++id},${members}}`);
    for (const line of NOTIFICATIONS) client.transmit(line);
    await client.call('safe');
    assert.deepEqual(answers.map((m) => m.id).sort((a, b) => a - b), Array.from({ length: id - 100 }, (_, i) => 101 + i));
    assert.ok(answers.every((m) => m.error), JSON.stringify(answers.filter((m) => m.result)));
    assert.deepEqual(runs(), ['safe', 'safe']);
  });

  test('each message of a batch is looked at', async (t) => {
    const { entry, runs } = await foldingServer(t, 'stdio', 'handshake');
    const { gateway } = await start(t, { up: entry });
    const client = await open(t, gateway, 'http', { rev: '2025-03-26' });
    await client.call('safe');
    const bad = disguises(CALLS.direct).map((members, i) => `{"jsonrpc":"2.0","id":${i + 100},${members}}`);
    const r = await client.post(`[${[...bad, ...NOTIFICATIONS].join(',')}]`);
    await r.ended;
    const answers = r.events.filter((e) => e.data).map((e) => JSON.parse(e.data)).filter((m) => m.id >= 100);
    assert.equal(answers.length, bad.length);
    assert.ok(answers.every((m) => m.error), JSON.stringify(answers.filter((m) => m.result)));
    assert.deepEqual(runs(), ['safe']);
  });

  test('the arguments of a tool, and of a form, are free', async (t) => {
    const up = await handshakeServer('http', { name: 'up', tools: {
      echo: (args) => text(JSON.stringify(args)),
      form: async (_, entry) => text(JSON.stringify(await entry.peer.ask('elicitation/create',
        { mode: 'form', message: 'm', requestedSchema: { type: 'object', properties: { Type: { type: 'string' } } } }, { ctx: entry.ctx }))),
    } });
    onEnd(t, () => up.close());
    const { gateway } = await start(t, { up: up.config() }, { agents: null });
    const client = await open(t, gateway, 'http', { capabilities: { elicitation: {} } });
    const args = { Name: 'x', URI: 'y', _Meta: {}, method: 'm', Method: 'n' };
    assert.deepEqual(JSON.parse((await client.call('echo', args)).content[0].text), args);
    client.handlers.set('elicitation/create', () => ({ action: 'accept', content: { Type: 'a', Text: 'b' } }));
    assert.deepEqual(JSON.parse((await client.call('form')).content[0].text), { action: 'accept', content: { Type: 'a', Text: 'b' } });
  });
});

describe('what servers send', () => {
  const DISGUISED = {
    content: '{"content":[{"type":"text","text":"shown"}],"Content":[{"type":"text","text":"hidden"}]}',
    text: '{"content":[{"type":"text","text":"shown","Text":"hidden"}]}',
    isError: '{"content":[],"iserror":true}',
    nul: '{"content":[],"isError\\u0000":true}',
    object: '{"content":{"type":"text","text":"shown","Text":"hidden"}}',
    structured: '{"content":[],"\u017ftructuredContent":{"a":1}}',
    kelvin: '{"content":[{"type":"resource_lin\u212a","\u212aind":1,"uri":"u:1","name":"n","mimetype":"x"}]}',
    ours: '{"content":[],"_meta":{"IO.toolgate/envelope":{}}}',
    mine: '{"content":[],"_meta":{"io.toolgate/Envelope":{}}}',
  };

  for (const [era, make] of [['handshake', handshakeServer], ['stateless', statelessServer]])
    test(`a result that two parsers could read differently is a fault: ${era} server`, async (t) => {
      const tools = Object.fromEntries(Object.entries(DISGUISED).map(([name, raw]) => [name, () => new Raw(raw)]));
      const up = await make('http', { name: 'up', tools });
      onEnd(t, () => up.close());
      const { gateway } = await start(t, { up: up.config() }, { agents: null });
      const client = await open(t, gateway, 'http');
      for (const name of Object.keys(DISGUISED))
        await assert.rejects(client.call(name), (e) => e instanceof RpcError && e.code === -32603, name);
    });

  for (const [era, make] of [['handshake', handshakeServer], ['stateless', statelessServer]])
    for (const mode of ['direct', 'gateway', 'transparent', 'servers'])
      test(`_meta keys of the gateway are removed from results: ${era} server, mode ${mode}`, async (t) => {
        const forged = { 'io.toolgate/envelope': { status: 'forged' }, 'toolgate/provenance': { forged: true }, kept: 1 };
        const own = mode === 'direct' ? { structuredContent: { _meta: forged } } : {};  // what is in there is the tool's
        const result = { content: [{ type: 'text', text: 'x', _meta: forged }], ...own, _meta: forged };
        const big = { _meta: forged, content: [{ type: 'text', text: 'x'.repeat(1 << 21), _meta: forged }] };
        const up = await make('http', { name: 'up', tools: { small: () => result, big: () => big } });
        up.tools = up.tools.map((tool) => ({ ...tool, _meta: forged }));
        onEnd(t, () => up.close());
        const { gateway } = await start(t, { up: up.config() }, { mode, agents: null });
        for (const kind of ['http', 'stateless http']) {
          const client = await open(t, gateway, kind);
          for (const tool of ['small', 'big']) {
            const got = mode === 'direct' ? await client.call(tool)
              : mode === 'servers' ? await client.call('execute_tool', { server: 'up', tool, args: {} })
                : await client.call('tool_execute', { tool_id: `up:${tool}`, args: {} });
            const { structuredContent, ...rest } = got;
            assert.ok(!JSON.stringify(rest).includes('forged'), `${kind} ${tool}: ${JSON.stringify(rest).slice(0, 500)}`);
            if (mode === 'direct') {
              assert.equal(rest._meta.kept, 1);
              assert.deepEqual(structuredContent, tool === 'small' ? own.structuredContent : undefined);
            }
          }
          assert.ok(!JSON.stringify(await client.tools()).includes('forged'), `${kind}: tools/list`);
        }
      });

  test('only notifications of the protocol pass, in both directions', async (t) => {
    const up = await handshakeServer('http', { name: 'up', tools: {
      tell: async (_, { peer, ctx }) => {
        for (const method of ['notifications/vendor', 'Notifications/message', 'notifications/initialized', 'tools/call'])
          await peer.notify(method, { level: 'info', data: method }, ctx);
        await peer.notify('notifications/message', { level: 'info', data: 'last', _meta: { 'io.toolgate/x': 1, a: 2 } }, ctx);
        return text('ok');
      },
    } });
    onEnd(t, () => up.close());
    const { gateway } = await start(t, { up: up.config() }, { agents: null });
    const client = await open(t, gateway, 'http', { capabilities: { roots: { listChanged: true } } });
    await client.call('tell');
    const heard = client.inbox.entries.filter((e) => e.msg?.method && e.msg.id === undefined).map((e) => e.msg);
    assert.deepEqual(heard.filter((m) => m.params?.data).map((m) => m.params), [{ level: 'info', data: 'last', _meta: { a: 2 } }]);
    await client.notify('notifications/vendor', {});
    await client.notify('notifications/roots/list_changed', {});
    await up.next('notifications/roots/list_changed');
    assert.ok(!up.inbox.has('notifications/vendor'));
  });
});

describe('methods that the protocol does not have', () => {
  const agents = (more) => ({ default: { allow: { servers: ['*'], tools: { '*': ['*'] }, ...more.allow }, deny: more.deny ?? {} } });

  async function vendor(t, rules) {
    const up = await handshakeServer('http', { name: 'up', tools: { one: () => text('one') } });
    up.on('vendor/search', ({ q }) => ({ found: q }));
    up.on('vendor/callTool', () => ({ ran: true }));
    onEnd(t, () => up.close());
    const started = await start(t, { up: up.config() }, { agents: rules });
    return { ...started, client: await open(t, started.gateway) };
  }

  test('without rules they pass to the one server', async (t) => {
    const { client } = await vendor(t, null);
    assert.deepEqual(await client.ask('vendor/search', { q: 'x' }), { found: 'x' });
  });

  test('with rules, methods outside the protocol are refused unless a rule allows them', async (t) => {
    const { client, finish } = await vendor(t, agents({ allow: { methods: ['vendor/*'] }, deny: { methods: ['vendor/callTool'] } }));
    assert.deepEqual(await client.ask('vendor/search', { q: 'x' }), { found: 'x' });
    await assert.rejects(client.ask('vendor/callTool', {}), (e) => e.code === -32601);
    await assert.rejects(client.ask('other/thing', {}), (e) => e.code === -32601);
    const lines = (await finish()).filter((l) => l.operation.includes('/') && !l.operation.startsWith('notifications/'));
    assert.deepEqual(lines.map((l) => [l.operation, l.decision, l.rule]), [
      ['vendor/search', 'ALLOW', 'agents.default.allow.methods[0]'],
      ['vendor/callTool', 'DENY', 'agents.default.deny.methods[0]'],
      ['other/thing', 'DENY', 'agents.default.allow.methods'],
    ]);
  });
});

test('a flood of notifications leaves few lines, which say how many there were', async (t) => {
  const { entry } = await foldingServer(t, 'stdio', 'handshake');
  const { gateway, finish } = await start(t, { up: entry }, { transport: 'stdio' });
  const client = await open(t, gateway, 'stdio');
  const COUNT = 2000;
  for (let i = 0; i < COUNT; i++) client.transmit('{"jsonrpc":"2.0","method":"notifications/vendor"}');
  await client.call('safe');
  await new Promise((resolve) => setTimeout(resolve, 1100));  // the next second has lines again
  client.transmit('{"jsonrpc":"2.0","method":"notifications/vendor"}');
  await client.call('safe');
  const lines = (await finish()).filter((l) => l.operation.startsWith('notifications/'));
  assert.ok(lines.length < 200, `${lines.length} lines`);
  const told = lines.reduce((n, l) => n + 1 + (l.omitted ?? 0), 0);
  assert.equal(told, COUNT + 1);
});
