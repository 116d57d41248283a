// SPDX-License-Identifier: Apache-2.0
// The commands that ask something and end: catalog, browse, hydrate, call, stats. With real servers.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { gatewayEnv, PATIENT, ROOT, runToolgate, startGateway, toolgate } from './lib/gateway.mjs';
import { commandBlocks } from './lib/pages.mjs';
import { assertGone, descendants, Program, run, suiteScope, tempDir, until, writeJson } from './lib/process.mjs';
import { everything, filesystem, memory } from './lib/servers.mjs';

const quickstart = name => ({ command: path.join(path.dirname(toolgate()), 'examples/quickstart', name) });
const QUICKSTART = { notes: quickstart('notes'), textkit: quickstart('textkit') };

/** A folder with these servers in its .mcp.json, and ways to run Toolgate in it. */
function folder(t, servers) {
  const cwd = tempDir(t);
  writeJson(path.join(cwd, '.mcp.json'), { mcpServers: typeof servers === 'function' ? servers(cwd) : servers });
  writeJson(path.join(cwd, 'toolgate.json'), PATIENT);
  const options = { cwd, env: { HOME: cwd, COLUMNS: '' } };
  const runs = (...args) => runToolgate(args, options);
  const answers = async (...args) => {
    const r = await runs(...args);
    assert.equal(r.status, 0, `${args.join(' ')}: ${r.stderr}`);
    // On a busy machine servers are waited for, which is told.
    assert.equal(r.stderr.replace(/^toolgate: starting \d+ servers?: .*\n/gm, ''), '', args.join(' '));
    return r.stdout;
  };
  const json = async (...args) => JSON.parse(await answers(...args, '--json'));
  const shell = command => run('sh', ['-c', command],
    { cwd, env: gatewayEnv({ ...options.env, PATH: `${path.dirname(toolgate())}:${process.env.PATH}` }) });
  return { cwd, runs, answers, json, shell };
}

const official = cwd => {
  fs.writeFileSync(path.join(cwd, 'poem.txt'), 'roses are red\nviolets are blue\n');
  return { files: filesystem(cwd), memory: memory(path.join(cwd, 'memory.json')), everything: everything() };
};

/** The fault that a command ended with, on standard error. */
function assertFault(r, code, pattern) {
  assert.equal(r.status, 1, r.stderr);
  const [, told, message] = /^toolgate: ([A-Z_]+): (.*)$/m.exec(r.stderr) ?? assert.fail(r.stderr);
  assert.equal(told, code);
  assert.match(message, pattern);
}

describe('the commands with the servers of the quickstart', () => {
  const here = folder(suiteScope(), QUICKSTART);

  test('the examples of docs/reference/cli.md print what is shown there', async () => {
    for (const { at, text, shown } of commandBlocks('docs/reference/cli.md')) {
      const r = await here.shell(text);
      assert.equal(r.status, 0, `${at}: ${r.stderr}`);
      if (shown !== undefined) assert.equal(r.stdout, shown, at);
      if (text.includes('--json')) JSON.parse(r.stdout);
    }
  });

  test('docs/reference has every command with exactly its options', async () => {
    const source = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8');
    const names = (text) => [...text.matchAll(/\{"(\w+)", \w+\}/g)].map(([, name]) => name);
    const parts = Object.fromEntries(['policy', 'govern', 'adapter', 'plan', 'audit', 'token', 'context/context', 'pins/pins', 'records/decisions', 'records/calls', 'skill/skill'].map((file) => [path.basename(file),
      names(/struct command_part \w+\[\] = (.*?);/s.exec(source(`src/app/cli/${file.replace(/\w+$/, 'cmd_$&')}.c`))[1])]));
    parts.schema = ['validate'];
    const commands = names(source('src/app/main.c')).flatMap((name) => parts[name]?.map((part) => `${name} ${part}`) ?? [name]);
    const page = source('docs/reference/cli.md') + source('docs/reference/context.md');
    const [, files] = /^FILES stands for (.*)\.$/m.exec(page);
    const options = (text) => [...text.matchAll(/--[a-z-]+/g)].map(([name]) => name).toSorted();
    const shown = {};
    for (const [, first, last] of page.matchAll(/^\| ([^|]*`[a-z ]+`[^|]*) \| [^|]+ \| ((?:FILES|`--|\|)[^|\n]*)/gm))
      for (const [, name] of first.matchAll(/`([a-z ]+)`/g)) shown[name] = options(last.replace('FILES', files));
    assert.deepEqual(Object.keys(shown).toSorted(), commands.toSorted());
    for (const name of commands) {
      const help = await here.answers(...name.split(' '), '--help');
      assert.deepEqual(shown[name], options([...help.matchAll(/^  --[a-z-]+/gm)].join()), name);
    }
  });

  test('words for a hash find sha256 first', async () => {
    for (const query of ['hash', 'checksum', 'digest', 'hash a text'])
      assert.match(await here.answers('browse', query), /^\[1\/\d+\] textkit:sha256#/m, query);
  });

  test('every command has --help, on standard output', async () => {
    for (const command of ['catalog', 'browse', 'hydrate', 'call', 'stats']) {
      const r = await here.runs(command, '--help');
      assert.equal(r.status, 0, r.stderr);
      assert.match(r.stdout, new RegExp(`^usage: toolgate ${command} `));
      assert.equal(r.stderr, '');
    }
  });

  test('a wrong command line ends with 2 before anything is started', async () => {
    for (const [command, ...rest] of [
      ['catalog', 'extra'],
      ['catalog', '--listen', ':0'],
      ['browse'],
      ['browse', 'words', 'more'],
      ['browse', 'words', '--path', '/'],
      ['browse', 'words', '--kind', 'thing'],
      ['browse', 'words', '--top-k', '0'],
      ['browse', 'words', '--top-k', 'many'],
      ['hydrate'],
      ['hydrate', 'a:b#00000000', 'more'],
      ['call'],
      ['call', 'a:b#00000000', '{}', 'more'],
      ['call', 'a:b#00000000', '{"text"'],
      ['call', 'a:b#00000000', '[]'],
      ['stats', '--top-k', '3'],
    ]) {
      const r = await here.runs(command, ...rest);
      assert.equal(r.status, 2, `${command} ${rest}`);
      assert.match(r.stderr, new RegExp(`^toolgate ${command}: `), `${command} ${rest}`);
      assert.equal(r.stdout, '');
    }
  });

  test('a configuration that cannot be used ends with 1', async () => {
    for (const args of [['catalog'], ['browse', 'x'], ['hydrate', 'x'], ['call', 'x'], ['stats']]) {
      const r = await here.runs(...args, '--mcp-config', '/no/such');
      assert.equal(r.status, 1);
      assert.match(r.stderr, /\/no\/such: cannot be read: .* \(named by --mcp-config\)/);
    }
  });

  test('output that cannot be written ends with 3', async () => {
    for (const args of ['version', 'catalog', 'browse words --json']) {
      const r = await here.shell(`toolgate ${args} > /dev/full`);
      assert.equal(r.status, 3, args);
      assert.match(r.stderr, /the output could not be written/);
    }
  });

  test('what is on a pipe that is closed early does not keep a command', async () => {
    const r = await here.shell('toolgate catalog | head -1');
    assert.equal(r.status, 0, r.stderr);
    assert.match(r.stdout, /^notes: 5 tools/);
    assert.equal(r.stderr, '');
  });

  test('a small catalog is cheaper without meta-tools, and stats says so', async () => {
    const said = await here.json('stats');
    assert.equal(said.advice, 'direct');
    assert.ok(said.gateway.tokens > said.direct.tokens);
    assert.match(await here.answers('stats'), /^Use mode: direct for them\.$/m);
  });
});

describe('the commands with the official servers', () => {
  const here = folder(suiteScope(), official);

  test('catalog has every definition of every server, weighed', async (t) => {
    const { items, servers, report } = await here.json('catalog');
    assert.deepEqual(servers.map(s => [s.name, s.available]), [['files', true], ['memory', true], ['everything', true]]);
    assert.deepEqual(report, []);
    assert.equal(new Set(items.map(i => i.id)).size, items.length);
    for (const s of servers) {
      const own = items.filter(i => i.server === s.name);
      for (const kind of ['tool', 'resource', 'prompt'])
        assert.equal(own.filter(i => i.kind === kind).length, s[`${kind}s`], `${s.name} ${kind}`);
      assert.equal(own.reduce((sum, i) => sum + i.tokens, 0), s.tokens);
      assert.ok(own.every(i => i.available && i.namespace === s.name && i.tokens > 0));
    }
    const read = items.find(i => i.name === 'read_text_file');
    assert.match(read.id, /^files:read_text_file#[0-9a-f]{8}$/);
    assert.deepEqual([read.kind, read.class, read.safety], ['tool', 'observe', 'read_only']);
    assert.equal(items.find(i => i.name === 'write_file').safety, 'destructive');
    assert.ok(items.some(i => i.template && i.kind === 'resource'));

    const text = await here.answers('catalog');
    for (const i of items) assert.ok(text.includes(` ${i.id}`), i.id);
    assert.match(text, new RegExp(`^3 servers, ${items.length} items, \\d+ tokens\n`, 'm'));

    // The same as a client of `serve` sees.
    const { url } = await startGateway(t, { servers: official(here.cwd) });
    const listed = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json',
      'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/list' }, body: JSON.stringify({
      jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} } },
    }) }).then(r => r.json());
    assert.deepEqual(listed.result.tools.map(tool => tool.name),
      items.filter(i => i.kind === 'tool').map(i => i.name));
  });

  test('browse finds by words, and along paths down to the tools', async () => {
    const { cards } = await here.json('browse', 'create a new directory', '--top-k', '3');
    assert.ok(cards.length <= 3);
    assert.match(cards[0].id, /^files:create_directory#/);
    const text = await here.answers('browse', 'create a new directory', '--top-k', '3');
    assert.ok(cards.every(card => text.includes(card.id)));
    assert.ok(!text.includes('{'), 'text for people, not JSON');

    const top = (await here.json('browse', '--path', '/')).cards.map(card => card.id);
    assert.deepEqual(top.toSorted(), ['/everything', '/files', '/memory']);
    const below = (await here.json('browse', '--path', '/memory', '--top-k', '50')).cards;
    assert.ok(below.some(card => card.id.startsWith('memory:read_graph#')));
  });

  test('browse finds resources and prompts where it is told to', async () => {
    const resources = await here.json('browse', 'architecture', '--kind', 'resource');
    assert.match(resources.cards[0].id, /^resource::everything:/);
    const prompts = await here.json('browse', 'simple prompt', '--kind', 'prompt');
    assert.match(prompts.cards[0].id, /^prompt::everything:simple-prompt#/);
    const tools = await here.json('browse', 'echo', '--kind', 'tool');
    assert.match(tools.cards[0].id, /^everything:echo#/);
  });

  test('what browse does not take is a fault: one line on standard error, and JSON for programs', async () => {
    assertFault(await here.runs('browse', '--path', '/no/such'), 'PATH_NOT_FOUND', /\/no\/such/);
    assertFault(await here.runs('browse', '--path', 'files'), 'PATH_INVALID', /start with/);
    const r = await here.runs('browse', '--path', '/no/such', '--json');
    assertFault(r, 'PATH_NOT_FOUND', /./);
    assert.equal(JSON.parse(r.stdout).error, 'PATH_NOT_FOUND');
  });

  test('hydrate gives the schema that the server has', async () => {
    const { items } = await here.json('catalog');
    const { id } = items.find(i => i.name === 'get-sum');
    const said = await here.json('hydrate', id);
    assert.equal(said.tool_id, id);
    assert.deepEqual(Object.keys(said.args_schema.properties), ['a', 'b']);
    const { output_schema: output } = await here.json('hydrate', 'everything:get-structured-content');
    assert.deepEqual(Object.keys(output.properties), ['temperature', 'conditions', 'humidity']);
    assertFault(await here.runs('hydrate', 'everything:get-sum#00000000'), 'HYDRATE_FAILED', /get-sum/);
    assertFault(await here.runs('hydrate', 'nonsense'), 'TOOL_NOT_FOUND', /./);
    assert.deepEqual(await here.json('hydrate', 'everything:get-sum'), said);
    assertFault(await here.runs('hydrate', 'everything:get-sun'), 'TOOL_NOT_FOUND', new RegExp(id));
  });

  test('call gives arguments to the tool and prints its text', async () => {
    const { items } = await here.json('catalog');
    const id = name => items.find(i => i.name === name).id;
    assert.match(await here.answers('call', id('get-sum'), '{"a": 2, "b": 40}'), /42/);
    const file = path.join(here.cwd, 'poem.txt');
    assert.equal(await here.answers('call', id('read_text_file'), JSON.stringify({ path: file })),
      'roses are red\nviolets are blue\n');
    const piped = await here.shell(`printf '{"message": "by pipe"}' | toolgate call '${id('echo')}' -`);
    assert.equal(piped.status, 0, piped.stderr);
    assert.match(piped.stdout, /by pipe/);
    assert.match(await here.answers('call', id('get-tiny-image')), /^\[image image\/png: \d+ characters of base64/m);
    assert.match(await here.answers('call', id('get-resource-links'), '{"count": 2}'), /^\[resource_link demo:\/\/\S+\]$/m);
    const whole = await here.json('call', id('echo'), '{"message": "as it is"}');
    assert.match(whole.content[0].text, /as it is/);
  });

  test('call ends with 1 when the tool says that it failed', async () => {
    const { items } = await here.json('catalog');
    const id = name => items.find(i => i.name === name).id;
    const outside = ['call', id('read_text_file'), '{"path": "/etc/passwd"}'];
    const r = await here.runs(...outside);
    assert.equal(r.status, 1);
    assert.match(r.stdout, /Access denied/);
    assert.equal(JSON.parse((await here.runs(...outside, '--json')).stdout).isError, true);
    assertFault(await here.runs('call', id('get-sum'), '{}'), 'ARGS_INVALID', /a/);
    assertFault(await here.runs('call', 'everything:nothing#00000000'), 'HYDRATE_FAILED', /unknown tool/);
    assertFault(await here.runs('call', 'zzzzqqqq'), 'TOOL_NOT_FOUND', /run toolgate browse to find tools/);
    assert.match(await here.answers('call', 'everything:echo', '{"message": "short id"}'), /short id/);
    const fault = await here.runs('call', 'everything:nothing#00000000', '--json');
    assert.equal(JSON.parse(fault.stdout).error, 'HYDRATE_FAILED');
    const spoken = await here.runs('browse', 'read', 'a', 'file');
    assert.equal(spoken.status, 2);
    assert.match(spoken.stderr, /unexpected argument 'a': put a query of several words in quotes/);
    assert.match(await here.answers('browse', 'zzzzqqqq'), /^Nothing found\. toolgate browse --path \/ lists/);
  });

  test('stats measures what clients get', async () => {
    const { items } = await here.json('catalog');
    const said = await here.json('stats');
    const tools = items.filter(i => i.kind === 'tool');
    const sum = tools.reduce((n, i) => n + i.tokens, 0);
    assert.equal(said.direct.tools, tools.length);
    // The list is the definitions, brackets and commas.
    assert.ok(Math.abs(said.direct.tokens - sum) <= tools.length, `${said.direct.tokens} and ${sum}`);
    assert.equal(said.servers.reduce((n, s) => n + s.tool_tokens, 0), sum);
    assert.equal(said.gateway.tokens, said.gateway.meta_tools + said.gateway.browse);
    assert.equal(said.gateway.queries, 8);
    assert.ok(said.gateway.browse >= said.gateway.browse_average && said.gateway.browse_average > 0);
    assert.ok(said.gateway.tokens * 4 < said.direct.tokens, 'a fourth at most');
    assert.ok(said.direct.names_and_descriptions < said.direct.tokens);
    assert.equal(said.advice, 'gateway');
  });

  test('docs/reference/cli.md says what stats measures of them', async () => {
    const page = fs.readFileSync(path.join(ROOT, 'docs/reference/cli.md'), 'utf8'), { gateway, direct } = await here.json('stats');
    const [, through, all] = /(\d+) tokens\s+instead of\s+(\d+)/.exec(page) ?? assert.fail('no numbers');
    assert.deepEqual([Number(through), Number(all)], [gateway.tokens, direct.tokens]);
  });

  test('stats says what reaches the model of each client', async () => {
    const { clients, gateway } = await here.json('stats');
    const of = (name) => clients.find((client) => client.client === name) ?? assert.fail(name);
    for (const { client, definitions, browse } of clients.filter(({ client }) => !client.startsWith('MCP Inspector')))
      assert.deepEqual([definitions, browse], [gateway.meta_tools, gateway.browse], client);
    assert.ok(of('MCP Inspector').browse > 2 * gateway.browse, 'text and JSON');
    assert.ok(of('Claude Code').result < of('Gemini CLI').result, 'JSON without blanks instead of indented JSON');
    assert.equal(of('Copilot CLI').result, of('Gemini CLI').result, 'the same thing once');
    assert.deepEqual([of('Claude Code').reads, of('others').reads], ['structured', 'unknown']);
  });

  test('the chart of stats is as wide as the terminal', async () => {
    for (const [COLUMNS, width] of [['', 80], ['120', 120], ['nonsense', 80]]) {
      const r = await runToolgate(['stats'], { cwd: here.cwd, env: { HOME: here.cwd, COLUMNS } });
      const lines = r.stdout.split('\n').filter(l => l.includes('#'));
      assert.equal(Math.max(...lines.map(l => l.length)), width, r.stdout);
      assert.ok(!/\x1b/.test(r.stdout));
    }
  });
});

test('a server that fails is told, the others are listed, and the catalog is not whole', async (t) => {
  const here = folder(t, {
    ...QUICKSTART,
    gone: { command: 'no-such-program-anywhere' },
    dies: { command: 'sh', args: ['-c', 'exit 7'] },
  });
  for (const args of [['catalog', '--json'], ['stats', '--json']]) {
    const r = await here.runs(...args);
    assert.equal(r.status, 1);
    const { servers } = JSON.parse(r.stdout);
    const errors = Object.fromEntries(servers.map(s => [s.name, s.error]));
    assert.match(errors.gone, /no such program/);
    assert.match(errors.dies, /status 7/);
    assert.equal(errors.notes, undefined);
    assert.equal(servers.find(s => s.name === 'textkit').tools, 6);
  }
  const r = await here.runs('catalog');
  assert.equal(r.status, 1);
  assert.match(r.stdout, /^dies: 0 tools.*\n {2}not available: .*status 7/m);
  assert.match(r.stderr, / warn +dies: /);
  // What works can be used.
  assert.equal((await here.runs('browse', 'words', '--log-level', 'off')).status, 0);
});

test('browse says when there is nothing of a kind', async (t) => {
  const here = folder(t, { textkit: QUICKSTART.textkit });
  for (const kind of ['resource', 'prompt']) {
    const r = await here.runs('browse', 'anything', '--kind', kind);
    assert.equal(r.status, 1);
    assert.equal(r.stderr, `toolgate: the servers have no ${kind}s\n`);
  }
});

const tool = (name, version) => ({ name, inputSchema: { type: 'object' }, _meta: { version } });

test('a definition whose name was changed is told in the report', async (t) => {
  const here = folder(t, QUICKSTART);
  const file = writeJson(path.join(here.cwd, 'snapshot.json'), { tools: [tool('do it'), tool('line\nbreak')] });
  const { items, report } = await here.json('catalog', '--catalog', file);
  assert.deepEqual(report.map(n => [n.server, n.name, n.skipped]),
    [['catalog', 'do it', false], ['catalog', 'line break', false]]);
  assert.ok(items.some(i => i.name === 'line\nbreak'));
  const text = await here.answers('catalog', '--catalog', file);
  assert.match(text, /^ {2}tool .*:do_it#[0-9a-f]{8} {2}\(do it\)$/m);
  assert.match(text, /\(line break\)$/m);
  assert.match(text, /^report\n {2}catalog: do it: /m);
});

test('tags that a card has no room for are told in the report, and the catalog is whole', async (t) => {
  const here = folder(t, QUICKSTART);
  const tagged = (name, tags) => ({ ...tool(name), annotations: { readOnlyHint: true }, _meta: { tags } });
  const tools = [tagged('few', ['alpha', 'beta']), tagged('many', ['alpha', 'beta', 'delta', 'gamma', 'omega', 'zeta'])];
  const file = writeJson(path.join(here.cwd, 'snapshot.json'), { tools });
  const { report } = await here.json('catalog', '--catalog', file);
  assert.deepEqual(report.map(n => [n.server, n.name, n.skipped]), [['catalog', 'many', false]]);
  const { cards } = await here.json('browse', 'many', '--catalog', file);
  const shown = cards.find(card => card.name === 'many').tags;
  for (const tag of ['alpha', 'beta', 'delta', 'gamma', 'omega', 'zeta'])
    assert.notEqual(shown.includes(tag), JSON.stringify(report).includes(tag), `${tag}: on the card or in the report`);
  assert.match(await here.answers('catalog', '--catalog', file), /^report\n {2}catalog: many: /m);
});

test('a definition that was left out is told, and the catalog is not whole', async (t) => {
  const here = folder(t, QUICKSTART);
  const tools = [tool('crm.find', '1'), tool('crm/find', '1')]; // both are crm:find@1
  const file = writeJson(path.join(here.cwd, 'snapshot.json'), { tools });
  const r = await here.runs('catalog', '--catalog', file, '--json');
  assert.equal(r.status, 1, r.stdout);
  const { items, servers, report } = JSON.parse(r.stdout);
  assert.deepEqual(items.filter(i => i.server === 'catalog').map(i => i.id), ['crm:find@1']);
  assert.equal(servers.find(s => s.name === 'catalog').tools, 1);
  assert.deepEqual(report.map(n => [n.server, n.name, n.skipped]), [['catalog', 'crm/find', true]]);
});

test('commands wait for a server that is slower than agents are told to wait', async (t) => {
  const { command } = quickstart('textkit');
  const here = folder(t, { slow: { command: 'sh', args: ['-c', `sleep 4; exec '${command}'`], protocol: 'legacy' } });
  const r = await here.runs('browse', 'count words');
  assert.equal(r.status, 0, r.stderr);
  assert.match(r.stdout, /slow:word_count#/);
  assert.match(r.stderr, /^toolgate: starting 1 server: (0 ready, waiting for slow|1 ready)$/m);
});

test('who calls a tool of one server does not wait for another', async (t) => {
  const here = folder(t, { ...QUICKSTART, hangs: { command: 'sleep', args: ['100'], protocol: 'legacy' } });
  const r = await here.runs('call', 'textkit:word_count#8d2d5fbb', '{"text": "a b"}');
  assert.equal(r.status, 0, r.stderr);
  assert.equal(JSON.parse(r.stdout).words, 2);
  // On a busy machine all that start are named; one that had been waited for would be told as not there in the end.
  assert.equal(r.stderr.replace(/^toolgate: starting \d+ servers?: .*\n/gm, ''), '');
});

test('the log says what a server that does not come up said', async (t) => {
  const here = folder(t, { ...QUICKSTART, bad: { command: 'sh', args: ['-c', 'echo KEY missing >&2; exit 3'] } });
  const r = await here.runs('catalog');
  assert.equal(r.status, 1);
  assert.match(r.stderr, /bad: exited with status 3; it said: KEY missing/);
  for (const args of [['catalog'], ['stats']])
    assert.match((await here.runs(...args)).stdout, /not available: exited with status 3; it said: KEY missing/);
});

test('a line that tells an error counts more than what follows it', async (t) => {
  const file = path.join(tempDir(t), 'bad.mjs');
  fs.writeFileSync(file, 'throw new Error("KEY is not set");\n');
  const here = folder(t, { bad: { command: process.execPath, args: [file] } });
  const r = await here.runs('catalog');
  assert.equal(r.status, 1);
  assert.match(r.stdout, /it said: Error: KEY is not set\n/);
});

test('of what npm says, the reason counts most', async (t) => {
  // As npm has it; versions before 10.9 write ERR! in place of error.
  const says = (prefix, lines) => ({
    command: 'sh', args: ['-c', `printf '${prefix} %s\\n' ${lines.map((l) => `"${l}"`).join(' ')} >&2; exit 1`],
  });
  const log = 'A complete log of this run can be found in: ~/.npm/_logs/2026-debug-0.log';
  const unknown = ['code E404', '404 Not Found - GET https://registry.example/severx - Not found', '404',
    '404  severx@* is not in this registry.', '404', '404 Note that you can also install from a tarball', log];
  const version = ['code ETARGET', 'notarget No matching version found for server@99.', 'notarget In most cases you are', log];
  const folded = ['code EACCES', 'syscall mkdir', 'path ~/.npm', 'errno -13', 'Error: EACCES: permission denied', log];
  const here = folder(t, {
    a: says('npm error', unknown), b: says('npm ERR!', version), c: says('npm error', folded), d: says('npm error', ['code 7', log]),
  });
  const { stdout } = await here.runs('catalog');
  assert.match(stdout, /it said: npm error 404 Not Found - GET \S+severx - Not found\n/);
  assert.match(stdout, /it said: npm ERR! notarget No matching version found for server@99\.\n/);
  assert.match(stdout, /it said: npm error Error: EACCES: permission denied\n/);
  assert.match(stdout, /it said: npm error code 7\n/);
});

test('the second time, with what was kept, browse shows what is there now', async (t) => {
  const here = folder(t, QUICKSTART);
  const first = await here.answers('browse', 'count words');
  assert.equal(await here.answers('browse', 'count words'), first);
  assert.doesNotMatch(first, /unavailable/);
});

test('a server that never starts is given up after timeouts.start', async (t) => {
  const here = folder(t, { ...QUICKSTART, hangs: { command: 'sleep', args: ['100'], startTimeout: 1 } });
  const began = Date.now();
  const r = await here.runs('catalog', '--json');
  assert.ok(Date.now() - began < 8000);
  assert.equal(r.status, 1);
  assert.ok(JSON.parse(r.stdout).servers.find(s => s.name === 'hangs').error);
});

test('what a server asks of its client is refused', async (t) => {
  const here = folder(t, { everything: { ...everything(), isolation: 'shared' } });
  const { items } = await here.json('catalog');
  const { id } = items.find(i => /sampling/.test(i.name));
  const r = await here.runs('call', id, '{"prompt": "hello"}');
  assert.equal(r.status, 1, r.stdout);
  assert.match(r.stdout + r.stderr, /has not declared the capability/);
});

test('control characters of a tool do not reach a terminal', { skip: !fs.existsSync('/usr/bin/script') }, async (t) => {
  const here = folder(t, official);
  const { items } = await here.json('catalog');
  const { id } = items.find(i => i.name === 'read_text_file');
  fs.writeFileSync(path.join(here.cwd, 'trap.txt'), 'before\x1b]0;owned\x07after\n');
  const args = JSON.stringify({ path: path.join(here.cwd, 'trap.txt') });
  const command = `toolgate call '${id}' '${args}'`;
  assert.match((await here.shell(command)).stdout, /^beforeafter$/m);
  writeJson(path.join(here.cwd, 'toolgate.json'), { ...PATIENT, result: { hidden_characters: 'keep' } });
  assert.ok((await here.shell(command)).stdout.includes('\x1b]0;owned'), 'a file gets the bytes');
  const r = await here.shell(`script -qec "${command.replaceAll('"', '\\"')}" /dev/null`);
  assert.match(r.stdout, /before\?\]0;owned\?after/);
});

test('a command that is interrupted leaves no process behind', async (t) => {
  const here = folder(t, { ...QUICKSTART, hangs: { command: 'sleep', args: ['100'] } });
  const program = new Program(toolgate(), ['catalog'], { cwd: here.cwd, env: gatewayEnv({ HOME: here.cwd }) });
  const family = await until(() => {
    const now = descendants(program.pid);
    return now.some(p => /^sleep 100/.test(p.command)) && now;
  }, 'the servers did not start');
  program.child.kill('SIGINT');
  assert.equal(await program.exited, 'SIGINT');
  await assertGone(family);
});
