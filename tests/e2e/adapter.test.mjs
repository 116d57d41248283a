// SPDX-License-Identifier: Apache-2.0
// toolgate adapter: governance files from the tools of real servers, and of one with hostile names.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { PATIENT, runToolgate, startGateway } from './lib/gateway.mjs';
import { snapshot } from './lib/meta.mjs';
import { suiteScope, tempDir, writeJson } from './lib/process.mjs';
import { everything, filesystem, memory } from './lib/servers.mjs';

const object = { type: 'object' };
const tool = (name, annotations) => ({ name, inputSchema: object, ...(annotations && { annotations }) });
const sha256 = (text) => `sha256:${createHash('sha256').update(text).digest('hex')}`;

const NAMES = ['yes', 'null', '~', '0x1f', '2026-01-01', '- x', 'a: b # c', '"quoted"', "it's", 'back\\slash', '*alias', '&anchor', '!tag', '%',
  '@', '`', '<<', '{x', '[x', ' leading', 'trailing ', 'a.b.c', 'größe', '日本語', '😀', 'a\u0085b', 'a\u2028b', 'a\u00a0b', 'a\ufeffb', 'a\uffffb',
  'p\u0430ypal', 'x'.repeat(256), '${HOME}'];

/** A folder with these servers, and ways to run `toolgate adapter` in it. */
function folder(t, servers) {
  const cwd = tempDir(t);
  writeJson(path.join(cwd, '.mcp.json'), { mcpServers: typeof servers === 'function' ? servers(cwd) : servers });
  writeJson(path.join(cwd, 'toolgate.json'), PATIENT);
  const adapter = (...args) => runToolgate(['adapter', ...args], { cwd, env: { HOME: cwd }, timeoutMs: 120_000 });
  const answers = async (...args) => {
    const r = await adapter(...args);
    assert.equal(r.status, 0, `${args.join(' ')}: ${r.stderr}`);
    return r.stdout;
  };
  const draft = async (server) => JSON.parse(await answers('new', server, '--json')).adapters[0];
  return { cwd, adapter, answers, draft };
}

describe('toolgate adapter new', () => {
  const official = folder(suiteScope(), (cwd) =>
    ({ files: filesystem(cwd), memory: memory(path.join(cwd, 'memory.json')), everything: everything() }));

  for (const server of ['files', 'memory', 'everything'])
    test(`lists every tool of a real server: ${server}`, async () => {
      const { capabilities, ...adapter } = await official.draft(server);
      const catalog = await runToolgate(['catalog', '--json'], { cwd: official.cwd, env: { HOME: official.cwd }, timeoutMs: 120_000 });
      const { items } = JSON.parse(catalog.stdout);
      assert.deepEqual(capabilities.map((it) => it.name),
        items.filter((it) => it.server === server && it.kind === 'tool').map((it) => it.name));
      const { protocol_version, version, ...rest } = adapter;
      assert.ok(version);
      assert.match(protocol_version, /^\d{4}-\d\d-\d\d$/);
      assert.deepEqual(rest, { adapter_id: `adp_${server}`, type: 'MCP', server, protocol: 'mcp', transport: 'stdio' });
      for (const it of capabilities) assert.match(it.input_schema, /^sha256:[0-9a-f]{64}$/, it.name);
    });

  test('prints YAML to edit, the same each time', async () => {
    const text = await official.answers('new', 'memory');
    assert.match(text, /^ {6}- name: "create_entities"\n {8}class: act\n {8}approval_mode: \w+\n {8}provisional: true {2}# class and mode are from the server's hints\n/m);
    assert.match(text, /^ {6}- name: "read_graph"\n {8}class: observe\n {8}approval_mode: read_only\n {8}provisional: true /m);
    assert.match(text, /^# permissions:\n# {3}- permission_id: "perm_1"\n# {5}adapter_id: "adp_memory"\n# {5}capability: "create_entities"\n/m);
    assert.equal(await official.answers('new', 'memory'), text);
  });

  test('starts no other server', async (t) => {
    const mark = path.join(tempDir(t), 'started');
    const { draft } = folder(t, { docs: snapshot(t, { tools: [tool('a')] }), other: { command: 'touch', args: [mark] } });
    assert.deepEqual((await draft('docs')).capabilities.map((it) => it.name), ['a']);
    assert.ok(!fs.existsSync(mark));
  });

  test('asks the running gateway', async (t) => {
    const dir = tempDir(t), count = path.join(dir, 'count');
    const state_dir = path.join(dir, 'state');
    const script = `echo x >> '${count}'; exec "$@"`, { command, args, env } = memory(path.join(dir, 'memory.json'));
    const servers = { memory: { command: 'sh', args: ['-c', script, 'sh', command, ...args], env, isolation: 'shared' } };
    await startGateway(t, { servers, dir, config: { ...PATIENT, state_dir } });
    const run = (...more) => runToolgate(['adapter', 'new', 'memory', '--mcp-config', path.join(dir, '.mcp.json'), ...more],
      { cwd: dir, timeoutMs: 120_000 });
    const own = await run('--fresh'), started = fs.readFileSync(count, 'utf8').length;
    const asked = await run();
    assert.deepEqual([asked.status, asked.stdout], [0, own.stdout], asked.stderr);
    assert.equal(fs.readFileSync(count, 'utf8').length, started);
  });

  test('suggests class and mode from the hints that are there', async (t) => {
    const hints = [
      [undefined, 'act/destructive'],
      [{}, 'act/destructive'],
      [{ readOnlyHint: true }, 'observe/read_only'],
      [{ readOnlyHint: true, destructiveHint: true }, 'act/destructive'],
      [{ readOnlyHint: true, openWorldHint: false }, 'observe/read_only'],
      [{ readOnlyHint: true, openWorldHint: true }, 'observe/network'],
      [{ readOnlyHint: 'true' }, 'act/destructive'],
      [{ readOnlyHint: false, destructiveHint: false, idempotentHint: true }, 'act/delegated'],
      [{ destructiveHint: false, idempotentHint: true, openWorldHint: true }, 'act/delegated'],
      [{ destructiveHint: false }, 'act/destructive'],
      [{ idempotentHint: true }, 'act/destructive'],
      [{ destructiveHint: true, idempotentHint: true }, 'act/destructive'],
    ];
    const tools = hints.map(([annotations], i) => tool(`t${i}`, annotations));
    const { capabilities } = await folder(t, { docs: snapshot(t, { tools }) }).draft('docs');
    assert.deepEqual(capabilities.map((it) => `${it.class}/${it.approval_mode}`), hints.map(([, expected]) => expected));
  });

  test('pins the canonical form of the schemas', async (t) => {
    const tools = [{ name: 'a', inputSchema: { type: 'object', properties: { 'é': { maximum: 1e21, default: '\u20ac' }, b: {} } },
      outputSchema: { type: 'object', description: 'x' } }, tool('b')];
    const { capabilities: [a, b] } = await folder(t, { docs: snapshot(t, { tools }) }).draft('docs');
    assert.equal(a.input_schema, sha256('{"properties":{"b":{},"é":{"default":"€","maximum":1e+21}},"type":"object"}'));
    assert.equal(a.output_schema, sha256('{"description":"x","type":"object"}'));
    assert.deepEqual([b.input_schema, b.output_schema], [sha256('{"type":"object"}'), undefined]);
  });

  test('quotes hostile names, of which each is readable again', async (t) => {
    const { answers, draft } = folder(t, { 'a.b "c": é': snapshot(t, { tools: NAMES.map((name) => tool(name)) }) });
    const { adapter_id, server, capabilities } = await draft('a.b "c": é');
    assert.deepEqual([adapter_id, server], ['adp_a_b__c___é', 'a.b "c": é']);
    assert.deepEqual(capabilities.map((it) => it.name), NAMES);
    const yaml = await answers('new', 'a.b "c": é');
    assert.match(yaml, /^[\n -~]*$/, 'printable ASCII');
    assert.deepEqual([...yaml.matchAll(/^ {6}- name: (".*")$/gm)].map(([, text]) =>
      JSON.parse(text.replace(/\\U([0-9a-f]{8})/g, (_, hex) => String.fromCodePoint(parseInt(hex, 16))))), NAMES);
  });

  test('leaves out names that no governance file can have, and says so', async (t) => {
    const { adapter } = folder(t, { docs: snapshot(t, { tools: ['a\nb: {}', 'y'.repeat(257), 'good'].map((name) => tool(name)) }) });
    const { status, stdout, stderr } = await adapter('new', 'docs');
    assert.equal(status, 1);
    assert.match(stderr, /^toolgate: 2 tools were left out: /m);
    assert.match(stdout, /^ {6}# left out, because .*: "a\\u000ab: \{\}"\n {6}# left out, because .*: "y{257}"\n {6}- name: "good"\n/m);
  });

  test('a server without tools has an adapter without capabilities', async (t) => {
    const { answers } = folder(t, { docs: snapshot(t, { tools: [], prompts: [{ name: 'p' }] }) });
    assert.match(await answers('new', 'docs'), /^adapters:\n {2}- adapter_id: "adp_docs"\n {4}type: MCP\n {4}server: "docs"\n {4}capabilities: \[\]\n$/m);
  });

  test('names a server that is unknown or fails', async (t) => {
    const { adapter } = folder(t, { docs: snapshot(t, { tools: [tool('a')] }), broken: { command: 'false' } });
    const [unknown, broken, none] = [await adapter('new', 'dcos'), await adapter('new', 'broken'), await adapter('new')];
    assert.deepEqual([unknown.status, broken.status, none.status], [1, 3, 2]);
    assert.match(unknown.stderr, /^toolgate: no server "dcos" is in use/m);
    assert.match(broken.stderr, /^toolgate: broken: not available: /m);
    assert.match(none.stderr, /^toolgate adapter new: give the name of a server\n/);
  });
});

test('adapter check reports tools of another version that are not compatible', async (t) => {
  const servers = {
    pay: snapshot(t, { tools: [tool('same'), tool('wider'), tool('gone'), tool('riskier', { readOnlyHint: true })] }),
    next: snapshot(t, { tools: [tool('same'), { name: 'wider', inputSchema: { type: 'object', required: ['n'] } }, tool('riskier', { readOnlyHint: false })] }),
  };
  const { cwd, adapter } = folder(t, servers);
  const capabilities = ['same', 'wider', 'gone', 'riskier'].map((name) => ({ name, class: 'act', approval_mode: 'destructive' }));
  const versions = [{ version: '2', server: 'next' }, { version: '3', server: 'none' }];
  const file = writeJson(path.join(cwd, 'governance.json'), { adapters: [{ adapter_id: 'adp', type: 'MCP', server: 'pay', versions, capabilities }] });
  const { status, stdout } = await adapter('check', file, '--json');
  assert.equal(status, 1);
  const found = JSON.parse(stdout).findings.filter((it) => it.level === 'error').map((it) => `${it.code} ${it.pointer} ${it.tool ?? ''}`);
  assert.deepEqual(found.toSorted(), ['SERVER_UNKNOWN /adapters/0/versions/1/server ', 'VERSION_INCOMPATIBLE /adapters/0/versions/0 gone',
    'VERSION_INCOMPATIBLE /adapters/0/versions/0 riskier', 'VERSION_INCOMPATIBLE /adapters/0/versions/0 wider']);
});

test('adapter check reports a version with another version number or other credentials', async (t) => {
  const { cwd, adapter } = folder(t, (dir) => ({ pay: memory(path.join(dir, 'a.json')), next: { ...memory(path.join(dir, 'b.json')), env: { TOKEN: 'x' } } }));
  const versions = [{ version: '9', server: 'next' }];
  const file = writeJson(path.join(cwd, 'governance.json'), { adapters: [{ adapter_id: 'adp', type: 'MCP', server: 'pay', versions, capabilities: [] }] });
  const { findings } = JSON.parse((await adapter('check', file, '--json')).stdout);
  const found = findings.filter((it) => it.pointer.startsWith('/adapters/0/versions')).map((it) => `${it.code} ${it.pointer}`);
  assert.deepEqual(found.toSorted(), ['VERSION_INCOMPATIBLE /adapters/0/versions/0', 'VERSION_MISMATCH /adapters/0/versions/0/version']);
});

describe('toolgate adapter check', () => {
  const official = folder(suiteScope(), (cwd) =>
    ({ files: filesystem(cwd), memory: memory(path.join(cwd, 'memory.json')), everything: everything() }));

  /** Writes a governance file into the folder of `here`. */
  const put = (here, name, text) => {
    fs.writeFileSync(path.join(here.cwd, name), typeof text === 'string' ? text : JSON.stringify(text));
    return name;
  };
  /** A draft after a person has confirmed each class and mode. */
  const confirmed = (text) => text.replace(/^ *provisional: true.*\n/gm, '').replaceAll('"provisional":true,', '');
  const found = ({ stdout }) => JSON.parse(stdout).findings.map((it) => `${it.code} ${it.pointer} ${it.tool ?? '-'}`);

  for (const server of ['files', 'memory', 'everything'])
    test(`accepts the draft for a real server, as YAML, as JSON, and with its example: ${server}`, async () => {
      const yaml = await official.answers('new', server), json = await official.answers('new', server, '--json');
      const [before, example] = yaml.split(/^(?=# permissions:)/m);
      for (const [name, text] of [['a.yaml', yaml], ['a.json', json], ['b.yaml', before + example.replace(/^# /gm, '')]])
        assert.equal(await official.answers('check', put(official, `${server}-${name}`, confirmed(text))), '0 findings, 0 remarks\n', name);
      const unconfirmed = JSON.parse(await official.answers('check', put(official, `${server}.yaml`, yaml), '--json'));
      assert.deepEqual([unconfirmed.ok, [...new Set(unconfirmed.findings.map((it) => it.code))]], [true, ['CAPABILITY_PROVISIONAL']]);
    });

  test('accepts a manifest, alone and as a part of a governance file, and names it', async (t) => {
    const here = folder(t, { docs: snapshot(t, { tools: [tool('a')] }) });
    for (const [name, json] of [['docs.yaml', []], ['docs.json', ['--json']]]) {
      const manifest = await here.answers('new', 'docs', '--manifest', ...json);
      const file = put(here, 'g.json', { manifests: [put(here, name, confirmed(manifest))] });
      assert.equal(await here.answers('check', name), '0 findings, 0 remarks\n');
      assert.equal(await here.answers('check', file), '0 findings, 0 remarks\n');
      put(here, name, manifest);
      assert.match(await here.answers('check', file), new RegExp(`^${name}:/capabilities/0: remark: CAPABILITY_PROVISIONAL: `));
    }
  });

  test('reports versions that differ from those of the server', async () => {
    const draft = JSON.parse(await official.answers('new', 'memory', '--json'));
    const { version, ...adapter } = draft.adapters[0];
    Object.assign(adapter, { version: `${version}-other`, protocol: 'a2a', protocol_version: '2024-11-05', transport: 'streamable_http' });
    const r = await official.adapter('check', put(official, 'versions.json', confirmed(JSON.stringify({ adapters: [adapter] }))), '--json');
    assert.deepEqual([r.status, found(r)], [1, ['version', 'protocol', 'protocol_version', 'transport'].map((it) => `VERSION_MISMATCH /adapters/0/${it} -`)]);
    assert.match(JSON.parse(r.stdout).findings[0].message, new RegExp(` is ${version.replaceAll('.', '\\.')}$`));
  });

  test('accepts the draft of hostile names', async (t) => {
    const here = folder(t, { 'a.b "c": é': snapshot(t, { tools: NAMES.map((name) => tool(name)) }) });
    const file = put(here, 'g.yaml', confirmed(await here.answers('new', 'a.b "c": é')));
    assert.equal(await here.answers('check', file, '--json'), '{"ok":true,"findings":[]}\n');
  });

  const CHANGED = sha256('{"type":"array"}');

  test('reports each difference with its place', async (t) => {
    const tools = [tool('gone'), tool('kept'), tool('drifted'), tool('lowered'), tool('read', { readOnlyHint: true })];
    const here = folder(t, { docs: snapshot(t, { tools: [...tools.slice(1), tool('added')] }), other: snapshot(t, { tools: [tool('x')] }) });
    const mine = (name, more) => ({ name, class: 'act', approval_mode: 'destructive', input_schema: sha256('{"type":"object"}'), ...more });
    const governance = { adapters: [
      { adapter_id: 'b', type: 'MCP', server: 'docs', capabilities: [mine('gone'), mine('kept'),
        mine('drifted', { input_schema: CHANGED, output_schema: CHANGED }), mine('lowered', { approval_mode: 'delegated' }),
        mine('read', { class: 'observe', approval_mode: 'read_only', input_schema: undefined })] },
      { adapter_id: 'c', type: 'MCP', server: 'nowhere', capabilities: [mine('x')] },
      { adapter_id: 'd', type: 'FUNCTION', capabilities: [mine('x')] },
    ] };
    const file = put(here, 'g.json', governance), asJson = await here.adapter('check', file, '--json');
    assert.equal(asJson.status, 1, asJson.stderr);
    assert.deepEqual(found(asJson), [
      'SCHEMA_DRIFT /adapters/0/capabilities/2/input_schema drifted',
      'SCHEMA_DRIFT /adapters/0/capabilities/2/output_schema drifted',
      'CAPABILITY_WITHOUT_TOOL /adapters/0/capabilities/0 gone',
      'CAPABILITY_BELOW_HINTS /adapters/0/capabilities/3 lowered',
      'TOOL_WITHOUT_CAPABILITY /adapters/0/capabilities added',
      'SERVER_UNKNOWN /adapters/1/server -',
    ]);
    const { ok, findings } = JSON.parse(asJson.stdout);
    assert.equal(ok, false);
    assert.deepEqual(findings.map((it) => it.level), ['error', 'error', 'error', 'remark', 'error', 'error']);
    const { status, stdout } = await here.adapter('check', file), lines = stdout.split('\n');
    assert.deepEqual([status, lines.length, lines[6]], [1, 8, '5 findings, 1 remark']);
    assert.equal(lines[3], 'g.json:/adapters/0/capabilities/3: remark: CAPABILITY_BELOW_HINTS: act and delegated are lower than ' +
      'the server\'s hints suggest: act and destructive');
    assert.equal(lines[0], 'g.json:/adapters/0/capabilities/2/input_schema: SCHEMA_DRIFT: the schema of the server\'s tool is ' +
      sha256('{"type":"object"}'));
    assert.match(lines[1], /is absent, or has no canonical form$/);
  });

  test('remarks alone are no findings', async (t) => {
    const here = folder(t, { docs: snapshot(t, { tools: [tool('a')] }) });
    const file = put(here, 'g.yaml', confirmed(await here.answers('new', 'docs')).replace('class: act\n        approval_mode: destructive',
      'class: observe\n        approval_mode: network'));
    assert.match(await here.answers('check', file), /: remark: CAPABILITY_BELOW_HINTS: .*\n0 findings, 1 remark\n$/);
  });

  test('starts the named servers only, and ends with 3 if one fails', async (t) => {
    const mark = path.join(tempDir(t), 'started');
    const here = folder(t, { docs: snapshot(t, { tools: [tool('a')] }), broken: { command: 'false' }, other: { command: 'touch', args: [mark] } });
    const adapter = (server) => ({ adapter_id: server, type: 'MCP', server, capabilities: [] });
    const r = await here.adapter('check', put(here, 'g.json', { adapters: [adapter('docs'), adapter('broken')] }), '--json');
    assert.equal(r.status, 3, r.stderr);
    assert.deepEqual(found(r), ['TOOL_WITHOUT_CAPABILITY /adapters/0/capabilities a', 'SERVER_UNAVAILABLE /adapters/1/server -']);
    assert.ok(!fs.existsSync(mark));
  });

  test('a file with errors is a finding, a file that is not there is none', async (t) => {
    const here = folder(t, { docs: snapshot(t, { tools: [tool('a')] }) });
    const wrong = await here.adapter('check', put(here, 'g.yaml', 'adapters:\n  - adapter_id: a.b\n    type: MCP\n    capabilities: []\n'));
    const syntax = await here.adapter('check', put(here, 'h.json', '{"adapters": [}'));
    const [none, missing] = [await here.adapter('check', 'none.yaml'), await here.adapter('check')];
    assert.deepEqual([wrong.status, syntax.status, none.status, missing.status], [1, 1, 3, 2]);
    assert.equal(wrong.stdout, 'g.yaml:/adapters/0: GOVERNANCE_INVALID: adapter_id must not contain a dot\n1 finding, 0 remarks\n');
    assert.match(syntax.stdout, /^h\.json: GOVERNANCE_INVALID: line 1, column 15: /);
    assert.match(none.stderr, /^toolgate: none\.yaml: cannot be read: /);
    assert.deepEqual([none.stdout, missing.stdout], ['', '']);
  });

  test('a configuration that cannot be used is no answer', async (t) => {
    const here = folder(t, { docs: snapshot(t, { tools: [tool('a')] }) });
    const file = put(here, 'g.yaml', await here.answers('new', 'docs'));
    const r = await here.adapter('check', file, '--mcp-config', 'none.json');
    assert.deepEqual([r.status, r.stdout], [3, ''], r.stderr);
  });
});
