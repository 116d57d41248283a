// SPDX-License-Identifier: Apache-2.0
// toolgate context: prompts from sessions, calls as messages (with real servers), the archive of conversations.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { gatewayEnv, ROOT, runToolgate, toolgate } from './lib/gateway.mjs';
import { connect } from './lib/meta.mjs';
import { commandBlocks } from './lib/pages.mjs';
import { run, tempDir, until, writeJson } from './lib/process.mjs';
import { watcher } from './lib/servers.mjs';

const quickstart = name => ({ command: path.join(path.dirname(toolgate()), 'examples/quickstart', name) });

/** A folder of its own, and ways to run `toolgate context` in it. */
function place(t, servers) {
  const cwd = tempDir(t);
  const env = { HOME: cwd, XDG_STATE_HOME: path.join(cwd, 'state') };
  if (servers) writeJson(path.join(cwd, '.mcp.json'), { mcpServers: servers });
  const context = (...args) => runToolgate(['context', ...args], { cwd, env });
  const answer = async (...args) => {
    const r = await context(...args);
    assert.equal(r.status, 0, `${args.join(' ')}: ${r.stderr}`);
    return r.stdout;
  };
  const file = (name, value) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    fs.writeFileSync(path.join(cwd, name), text);
    return name;
  };
  return { cwd, env, context, answer, file };
}

const jsonl = events => events.map(e => JSON.stringify(e)).join('\n');
const lines = text => text.trim().split('\n').filter(Boolean).map(l => JSON.parse(l));
const tokens = async (here, text) =>
  Number((await runToolgate(['tokens', here.file('counted', text)], { cwd: here.cwd })).stdout);

describe('context build', () => {
  const session = [
    { id: 'p1', type: 'policy', text: 'Never show card numbers.' },
    { id: 'u1', type: 'user_turn', text: 'Which invoices are open?' },
    { id: 'tc1', type: 'tool_call', text: '{"status":"open"}', parent_id: 'u1', metadata: { function_name: 'invoices.search' } },
    { id: 'tr1', type: 'tool_result', parent_id: 'tc1',
      content: 'Total: 120\n' + Array.from({ length: 120 }, (_, i) => `invoice ${i}: ${i * 10} EUR, open`).join('\n') },
    { id: 's1', type: 'tool_result', text: 'card 4111 1111', sensitivity: 'restricted' },
    { id: 'a1', type: 'agent_msg', text: 'There are 120 open invoices.', parent_id: 'tr1' },
    { id: 'u2', type: 'user_turn', text: 'And which of them is the oldest?' },
  ];

  test('what is printed has at most the tokens of the budget, whatever that is', async t => {
    const here = place(t);
    here.file('s.jsonl', jsonl(session));
    here.file('head.txt', '[GOAL]\nHelp with invoices.\n');
    here.file('foot.txt', 'Answer in one sentence.');
    for (const budget of [40, 60, 100, 200, 400]) {
      const args = ['build', '--session', 's.jsonl', '--query', 'oldest invoice', '--budget', String(budget),
        '--header', 'head.txt', '--footer', 'foot.txt'];
      const prompt = await here.answer(...args);
      assert.ok(await tokens(here, prompt) <= budget);
      assert.equal(await here.answer(...args), prompt, 'the same again');
      const pack = JSON.parse(await here.answer(...args, '--json'));
      assert.equal(pack.prompt, prompt);
      assert.equal(pack.tokens, await tokens(here, prompt));
      assert.equal(pack.included.length + pack.dropped.length, pack.stats.total_candidates);
      const sum = Object.values(pack.stats.tokens_per_section).reduce((a, b) => a + b, pack.stats.header_footer_tokens);
      assert.equal(sum, pack.tokens);
    }
  });

  test('it is chronological, without what is sensitive, and long results are summarised', async t => {
    const here = place(t);
    here.file('s.jsonl', jsonl(session));
    const pack = JSON.parse(await here.answer('build', '--session', 's.jsonl', '--query', 'invoices', '--json', '--explain'));
    assert.deepEqual(pack.included.map(i => i.id), ['p1', 'u1', 'tc1', 'tr1', 'a1', 'u2']);
    assert.deepEqual(pack.dropped, [{ id: 's1', reason: 'sensitivity' }]);
    assert.equal(pack.artifacts[0].handle, 'artifact:tr1');
    assert.ok(pack.facts.includes('total: 120'));
    assert.match(pack.prompt, /\[TOOL CALL\]\ninvoices\.search\(\{"status":"open"\}\)/);
    assert.ok(!pack.prompt.includes('4111'));
    assert.ok(!pack.prompt.includes('invoice 119:'));
    assert.equal(pack.scores.length, session.length);
    const rest = await here.answer('view', '--session', 's.jsonl', 'artifact:tr1', '{"type":"lines","start":120,"end":121}');
    assert.equal(rest, 'invoice 119: 1190 EUR, open');
    for (const [handle, ...more] of [['artifact:s1'], ['artifact:u1'], ['tr1'], ['artifact:tr1', '{"type":"x"}']])
      assert.equal((await here.context('view', '--session', 's.jsonl', handle, ...more)).status, 1, handle);
    assert.equal(await here.answer('view', '--session', 's.jsonl', 'artifact:s1', '--floor', 'none'), 'card 4111 1111');
    const redacted = await here.answer('build', '--session', 's.jsonl', '--redact');
    assert.match(redacted, /\[TOOL RESULT\]\n\[REDACTED: restricted\]/);
    const all = await here.answer('build', '--session', 's.jsonl', '--floor', 'none');
    assert.ok(all.includes('4111'));
  });

  test('--explain puts the scores on stderr, and the prompt stays as it is', async t => {
    const here = place(t);
    here.file('s.jsonl', jsonl(session));
    const r = await here.context('build', '--session', 's.jsonl', '--phase', 'route', '--explain');
    assert.equal(r.stdout, '[POLICY]\nNever show card numbers.\n\n[USER]\nWhich invoices are open?\n\n'
      + '[USER]\nAnd which of them is the oldest?');
    assert.match(r.stderr, /^score .*\n0\.\d+ .* included +user_turn +u2\n/);
  });

  test('a budget that is too small for anything is said, and ends with 1', async t => {
    const here = place(t);
    here.file('s.jsonl', jsonl(session));
    const args = ['build', '--session', 's.jsonl', '--budget', '5'];
    const r = await here.context(...args);
    assert.equal(r.status, 1);
    assert.equal(r.stdout, '');
    assert.match(r.stderr, /^toolgate: no event of the session fits into the budget of 5 tokens: the smallest has 8\n$/);
    assert.equal(JSON.parse(await here.answer(...args, '--json')).included.length, 0);
    here.file('head.txt', 'Be kind.');
    const framed = await here.context(...args, '--header', 'head.txt');
    assert.equal(framed.status, 0);
    assert.equal(framed.stdout, 'Be kind.');
    assert.match(framed.stderr, /no event of the session fits/);
    const empty = await here.context('build', '--session', here.file('none.jsonl', ''), '--budget', '5');
    assert.equal(empty.status + empty.stderr, '0');
  });

  test('a result is found by what was called, and comes with its call', async t => {
    const here = place(t);
    const call = (n, name, text, answer) => [
      { id: `c${n}`, type: 'tool_call', text, metadata: { function_name: name } },
      { id: `r${n}`, type: 'tool_result', parent_id: `c${n}`, text: answer },
    ];
    const rows = (what) => Array.from({ length: 40 }, (_, i) => `${what} ${i}: ${i * i % 97}`).join('\n');
    here.file('s.jsonl', jsonl([
      ...call(1, 'weather.forecast', '{"city":"Rhodes"}', rows('hour')),
      ...[2, 3, 4, 5].flatMap((n) => call(n, `stock.prices${n}`, `{"of":"share ${n}"}`, rows(`value of ${n}`))),
    ]));
    const pack = JSON.parse(await here.answer('build', '--session', 's.jsonl', '--query', 'weather forecast for Rhodes',
      '--budget', '700', '--json'));
    const ids = pack.included.map(i => i.id);
    assert.ok(ids.includes('c1') && ids.includes('r1'), ids.join(' '));
    for (const n of [1, 2, 3, 4, 5]) assert.equal(ids.includes(`c${n}`), ids.includes(`r${n}`), ids.join(' '));
  });

  test('a wrong line is named, and ends with 1', async t => {
    const here = place(t);
    for (const [text, message] of [
      ['{}\n{"id":', /Invalid JSON at line 2: /],
      ['{}\n[]', /Expected JSON object at line 2, got list/],
      ['{"id":"a"}\n{"id":"a"}', /Invalid context item at line 2: line 1 already has the id "a"/],
      ['{}\n{"type":"user_trun"}', /Invalid context item at line 2: unknown type "user_trun"; did you mean user_turn\?/],
    ]) {
      const r = await here.context('build', '--session', here.file('s.jsonl', text));
      assert.equal(r.status, 1);
      assert.match(r.stderr, message);
      assert.equal(r.stdout, '');
    }
    assert.equal((await here.context('build', '--session', 'missing.jsonl')).status, 3);
    for (const wrong of [[], ['--session', 's.jsonl', '--phase', 'x'], ['--session', 's.jsonl', '--budget', '0'],
      ['--session', 's.jsonl', '--floor', 'x']])
      assert.equal((await here.context('build', ...wrong)).status, 2, wrong.join(' '));
  });
});

describe('context messages', () => {
  const read = (id, uri, depends) =>
    ({ resource_call: { jsonrpc: '2.0', method: 'resources/read', params: { uri, name: 'n', depends }, id } });
  const call = (id, name, args) =>
    ({ tool_call: { jsonrpc: '2.0', method: 'tools/call', params: { tool_name: name, arguments: args }, id } });
  const system = { role: 'system', content: 'compiled context document' };
  const input = (...calls) => ({ messages: [system], tool_calls: calls });
  const servers = { notes: quickstart('notes'), textkit: quickstart('textkit'), watcher: watcher() };
  const roles = messages => messages.map(m => m.role);

  const execute = async (here, value, ...more) => {
    const r = await here.context('messages', here.file('in.json', value), '--execute', ...more);
    return { status: r.status, stderr: r.stderr, ...JSON.parse(r.stdout) };
  };

  test('a resource and a tool that depends on it become five messages, in whatever order they are written', async t => {
    const here = place(t, servers);
    const calls = [read('R', 'note://1'), call('T', 'word_count', { depends: 'R', text: '<R response>' })];
    const first = await execute(here, input(...calls));
    assert.equal(first.status, 0, first.stderr);
    assert.deepEqual(roles(first.messages), ['system', 'assistant', 'system', 'assistant', 'tool']);
    const note = first.messages[2].content;
    const words = note.split(/\s+/).filter(Boolean).length;
    assert.match(first.messages[4].content, new RegExp(`\\b${words}\\b`));
    assert.equal(first.messages[1].content, 'resource request: note://1');
    assert.match(first.messages[3].content, /^tool request using <R> response: word_count \{"text":"<R response>"\}$/);
    const second = await execute(here, input(...calls.reverse()));
    assert.deepEqual(second.messages, first.messages);
  });

  test('an unknown tool returns a code of docs/reference/faults.md', async t => {
    const here = place(t, servers);
    const r = await execute(here, input(call('T', 'no_such_tool', {}), call('U', 'textkit:no_such#00000000', {})));
    assert.equal(r.status, 1);
    const codes = r.messages.filter(m => m.role === 'tool').map(m => /"(?:error|code)":\s*"(\w+)"/.exec(m.content)?.[1]);
    assert.deepEqual(codes, ['ARGS_INVALID', 'HYDRATE_FAILED']);
  });

  test('what depends on something does not reach the tool, what it gave does', async t => {
    const here = place(t, servers);
    const r = await execute(here, input(
      read('A', 'note://1'),
      call('B', 'sha256', { text: 'x' }),
      call('C', 'request', { depends: ['A', 'B'], both: ['<A response>', { b: 'got <B response>, <D response>' }] })));
    assert.equal(r.status, 0, r.stderr);
    const sent = JSON.parse(r.messages.at(-1).content);
    const args = sent.params.arguments;
    assert.deepEqual(Object.keys(args), ['both']);
    assert.equal(args.both[0], r.messages[2].content);
    assert.match(args.both[1].b, /^got .*[0-9a-f]{64}.*, <D response>$/s);
  });

  test('without dependencies calls are made as they are written, and ids of the gateway work too', async t => {
    const here = place(t, servers);
    const tools = JSON.parse((await runToolgate(['catalog', '--json'], { cwd: here.cwd, env: here.env })).stdout).items;
    const id = tools.find(i => i.id.startsWith('textkit:sha256')).id;
    const r = await execute(here, input(call('1', id, { text: 'x' }), call('2', 'sha256', { text: 'x' }), read('3', 'note://2')));
    assert.equal(r.status, 0, r.stderr);
    assert.deepEqual(roles(r.messages), ['system', 'assistant', 'tool', 'assistant', 'tool', 'assistant', 'system']);
    assert.equal(r.messages[2].content, r.messages[4].content);
  });

  test('behind a resource that is not there nothing is called', async t => {
    const here = place(t, servers);
    const r = await execute(here, input(
      read('R', 'note://none'), call('T', 'request', { depends: 'R', text: '<R response>' }), call('S', 'sha256', { text: 'x' })));
    assert.equal(r.status, 1);
    assert.ok(JSON.parse(r.messages[2].content).error.message);
    assert.deepEqual(JSON.parse(r.messages[4].content), { error: { code: 'DEPENDENCY_FAILED', depends: 'R' } });
    assert.match(r.messages[6].content, /[0-9a-f]{64}/);
  });

  test('circles, unknown and repeated ids are refused before anything is started', async t => {
    const here = place(t);  // no server at all
    for (const [calls, message] of [
      [[call('A', 'x', { depends: 'B' }), call('B', 'x', { depends: 'A' })], /cycle/],
      [[call('A', 'x', { depends: 'A' })], /itself/],
      [[call('A', 'x', { depends: 'nobody' })], /unknown id/],
      [[call('A', 'x', {}), read('A', 'note://1')], /same id/],
    ]) {
      const r = await execute(here, input(...calls));
      assert.equal(r.status, 1);
      assert.equal(r.error.code, -32602);
      assert.match(r.error.message, message);
      assert.match(r.error.path, /^\/tool_calls\/\d$/);
    }
  });

  test('what the rules do not let an agent call is not called', async t => {
    const here = place(t, servers);
    here.file('rules.json', { agents: { reader: { allow: { servers: ['notes'] , tools: { notes: ['*'] } } } } });
    const value = input(read('R', 'note://1'), call('T', 'sha256', { depends: 'R', text: '<R response>' }));
    const r = await execute(here, value, '--rules', 'rules.json', '--agent', 'reader');
    assert.equal(r.status, 1, JSON.stringify(r));
    assert.ok(JSON.parse(r.messages[4].content).error);
    const all = await execute(here, value);
    assert.equal(all.status, 0);
  });

  test('in the shape of OpenAI every tool message answers an id', async t => {
    const here = place(t, servers);
    const r = await execute(here, input(read('R', 'note://1'), call('T', 'sha256', { depends: 'R', text: '<R response>' })),
      '--shape', 'openai');
    assert.deepEqual(roles(r.messages), ['system', 'assistant', 'tool', 'assistant', 'tool']);
    for (const at of [1, 3]) {
      const [asked] = r.messages[at].tool_calls;
      assert.equal(asked.type, 'function');
      assert.match(asked.function.name, /^[A-Za-z0-9_-]{1,64}$/);
      JSON.parse(asked.function.arguments);
      assert.equal(r.messages[at + 1].tool_call_id, asked.id);
    }
    assert.deepEqual(r.messages.filter(m => m.tool_calls).map(m => m.tool_calls[0].function.name), ['resources_read', 'sha256']);
  });

  test('responses may come from a file, or stay as they are written', async t => {
    const here = place(t);
    here.file('in.json', input(read('R', 'note://1'), call('T', 'x', { depends: 'R', text: '<R response>' })));
    const plain = JSON.parse(await here.answer('messages', 'in.json'));
    assert.deepEqual(plain.messages.map(m => m.content).filter(c => c.endsWith('response>')), ['<R response>', '<T response>']);
    here.file('out.json', { R: { contents: [{ uri: 'note://1', text: 'words' }] }, T: { result: { content: [{ type: 'json', json: { n: 1 } }] } } });
    const filled = JSON.parse(await here.answer('messages', 'in.json', '--responses', 'out.json'));
    assert.deepEqual([filled.messages[2].content, filled.messages[4].content], ['words', '{"n":1}']);
    here.file('out.json', { R: { error: { code: -32002, message: 'gone' } }, T: 'never' });
    const failed = await here.context('messages', 'in.json', '--responses', 'out.json');
    assert.equal(failed.status, 1);
    assert.match(JSON.parse(failed.stdout).messages[4].content, /DEPENDENCY_FAILED/);
  });
});

describe('the archive of conversations', () => {
  const user = text => ({ role: 'user', content: text });
  const ten = 'one two three four five six seven eight nine ten';
  const forty = name => `${name} ${ten} ${ten} ${ten} ${ten.slice(0, -4)}`;

  test('what is over the limit goes to the archive, and is found by context, time and text', async t => {
    const here = place(t);
    const system = { role: 'system', content: 'rules' };
    here.file('c.json', { messages: [system, ...['a', 'b', 'c', 'd'].map(n => user(forty(n)))], model: 'm' });
    const before = new Date(Date.now() - 1000).toISOString();
    const kept = JSON.parse(await here.answer('trim', '--context', 'talk 1', '--limit', '100', 'c.json'));
    assert.deepEqual(kept.messages.slice(2), [user(forty('c')), user(forty('d'))]);
    assert.deepEqual(kept.messages[0], system);
    assert.match(kept.messages[1].content, /^\[archive\] 2 earlier messages are kept, .*--context "talk 1"$/);
    assert.equal(kept.model, 'm');
    const found = async (...args) => lines(await here.answer('archive', ...args)).map(r => r.message.content);
    assert.deepEqual(await found('--context', 'talk 1'), [forty('a'), forty('b')]);
    assert.deepEqual(await found('--contains', 'B ONE'), [forty('b')]);
    assert.deepEqual(await found('--since', before), [forty('a'), forty('b')]);
    assert.deepEqual(await found('--until', before), []);
    assert.deepEqual(await found('--context', 'talk 2'), []);
    assert.deepEqual(await found('--limit', '1'), [forty('a')]);
  });

  test('a search ranks what fits best', async t => {
    const here = place(t);
    here.file('c.json', { messages: ['ships sail', 'the invoice of March', 'invoices and ships', 'bye'].map(user) });
    await here.answer('trim', '--context', 'x', '--limit', '0', 'c.json');
    const found = lines(await here.answer('archive', '--search', 'invoice march'));
    assert.equal(found[0].message.content, 'the invoice of March');
    assert.equal(found.length, 2);
    assert.ok(found[0].score > found[1].score);
  });

  test('swapping contexts gives back every byte', async t => {
    const here = place(t);
    const a = '{ "messages": [ {"role":"user","content":"\\u00e9"} ],\n\t"x": 1.00 }\n\n', b = '{"messages":[]}';
    here.file('a.json', a);
    here.file('b.json', b);
    assert.equal(await here.answer('swap', 'A', 'B', 'a.json'), '{"context_id":"B","messages":[]}\n');
    assert.equal(await here.answer('swap', 'B', 'A', 'b.json'), a);
    assert.equal(await here.answer('load', 'B'), b);
    assert.equal(await here.answer('saved'), 'A\nB\n');
    assert.equal((await here.context('load', 'C')).status, 1);
    here.file('wrong.json', '{"messages":7}');
    assert.equal((await here.context('save', 'A', 'wrong.json')).status, 1);
    assert.equal(await here.answer('load', 'A'), a);
  });

  test('without a place to keep it nothing leaves the conversation', async t => {
    const here = place(t);
    here.file('toolgate.yaml', 'state_dir: none\n');
    here.file('c.json', { messages: [user('one'), user('two')] });
    const r = await here.context('trim', '--context', 'x', '--limit', '1', 'c.json');
    assert.equal(r.status, 3);
    assert.match(r.stderr, /state_dir: none/);
    assert.equal(r.stdout, '');
  });

  test('what cannot be saved says why', async t => {
    const here = place(t);
    fs.mkdirSync(path.join(here.cwd, 'open'));
    fs.chmodSync(path.join(here.cwd, 'open'), 0o777);
    here.file('toolgate.yaml', 'state_dir: open\n');
    here.file('c.json', { messages: [user('one')] });
    const r = await here.context('save', 'x', 'c.json');
    assert.equal(r.status, 3);
    assert.match(r.stderr, /cannot save the conversation: \S+open: other users can write to this file or folder/);
  });

  /** Runs `toolgate context`, and kills it after so many milliseconds; true when it had ended before. */
  const runKilled = (here, after, ...args) => new Promise((resolve, reject) => {
    const child = spawn(toolgate(), ['context', ...args], { cwd: here.cwd, env: gatewayEnv(here.env), stdio: 'ignore' });
    const timer = setTimeout(() => child.kill('SIGKILL'), after);
    child.on('error', reject);
    child.on('exit', (code, signal) => { clearTimeout(timer); resolve(signal === null && code === 0); });
  });

  test('killed at any point, a trim loses no message and keeps none twice', async t => {
    const here = place(t);
    const all = Array.from({ length: 60 }, (_, i) => user(`message ${i % 7} of many`));
    let killed = 0;
    for (let round = 0; round < 24; round++) {
      const id = `talk ${round}`;
      here.file('c.json', { messages: all });
      await here.answer('save', id, 'c.json');
      // Longer every time, so that the kill comes everywhere between the start and the end.
      if (!await runKilled(here, 4 * round, 'trim', '--context', id, '--limit', String(round))) killed++;
      const check = async () => {
        const archived = lines(await here.answer('archive', '--context', id));
        const saved = JSON.parse(await here.answer('load', id)).messages.filter(m => m.role !== 'system');
        return { archived, saved };
      };
      const { archived, saved } = await check();
      const shared = archived.length + saved.length - all.length;  // archived, but not yet gone from the conversation
      assert.ok(shared >= 0, `${archived.length} archived, ${saved.length} saved`);
      assert.deepEqual([...archived.map(r => r.message), ...saved.slice(shared)], all);
      await here.answer('trim', '--context', id, '--limit', String(round));
      const end = await check();
      assert.deepEqual([...end.archived.map(r => r.message), ...end.saved], all);
      assert.ok(end.archived.every(r => !r.duplicate));
    }
    assert.ok(killed > 0, 'none was killed in time');
  });
});

describe('live sessions', () => {
  const config = dir => ({ state_dir: path.join(dir, 'kept'), context: { record: true }, result: { budget: 60 } });

  test('calls are written down as events, of which a prompt is built', async t => {
    const here = place(t);
    here.file('toolgate.json', config(here.cwd));
    const servers = { notes: quickstart('notes'), textkit: quickstart('textkit') };
    const client = await connect(t, 'http', servers, { config: config(here.cwd) });
    const ids = (await client.call('tool_browse', { path: '/textkit' })).structuredContent.cards.map(c => c.id);
    const id = name => ids.find(i => i.startsWith(`textkit:${name}`));
    await client.call('tool_execute', { tool_id: id('sha256'), args: { text: 'secret words' } });
    await client.call('tool_execute', { tool_id: id('base64_encode'), args: { text: 'long text '.repeat(400) } });
    await client.call('tool_execute', { tool_id: id('base64_decode'), args: { base64: '***' } });
    await client.close();
    // Nobody waits for the disk: it is looked at until it is there.
    const sessions = await until(async () => {
      const found = lines(await here.answer('sessions', '--json'));
      return found[0]?.calls === 3 && found;
    }, () => 'three calls were not recorded');
    assert.equal(sessions.length, 1);
    const exported = await here.answer('export', sessions[0].session);
    const events = lines(exported);
    assert.deepEqual(events.map(e => e.type), Array(3).fill(['tool_call', 'tool_result']).flat());
    assert.deepEqual(JSON.parse(events[0].text), { text: 'secret words' });
    assert.equal(events[0].metadata.function_name, id('sha256'));
    assert.equal(events[1].parent_id, events[0].id);
    assert.match(events[1].text, /[0-9a-f]{64}/);
    assert.match(events[3].artifact_ref, /^text:textkit:base64_encode/);
    assert.equal(events[5].metadata.failed, true);
    here.file('s.jsonl', exported);
    const fromFile = await here.answer('build', '--session', 's.jsonl', '--query', 'hash');
    assert.equal(await here.answer('build', '--session', `live:${sessions[0].session}`, '--query', 'hash'), fromFile);
    assert.ok(fromFile.includes(`[TOOL CALL]\n${id('sha256')}({"text":"secret words"})`));
    assert.ok(fromFile.includes(`[TOOL RESULT [${events[3].artifact_ref}]]`));
    // The beginning of an id will do, if it is that of one.
    const begin = sessions[0].session.slice(0, 6);
    assert.equal(await here.answer('export', begin), exported);
    assert.equal(await here.answer('build', '--session', `live:${begin}`, '--query', 'hash'), fromFile);
    const nobody = await here.context('export', 'nobody');
    assert.equal(nobody.status, 1);
    assert.match(nobody.stderr, /unknown session "nobody"; toolgate context sessions lists all/);
  });

  test('nothing is recorded without context.record', async t => {
    const here = place(t);
    const off = { ...config(here.cwd), context: {} };
    here.file('toolgate.json', off);
    const client = await connect(t, 'http', { textkit: quickstart('textkit') }, { config: off });
    const cards = (await client.call('tool_browse', { query: 'sha256' })).structuredContent.cards;
    await client.call('tool_execute', { tool_id: cards[0].id, args: { text: 'x' } });
    await client.close();
    assert.equal(await here.answer('sessions'), '');
  });

  test('of one session only so much is written', async t => {
    const here = place(t);
    const little = { ...config(here.cwd), context: { record: true, session_bytes: 1024 } };
    here.file('toolgate.json', little);
    const client = await connect(t, 'http', { textkit: quickstart('textkit') }, { config: little });
    const cards = (await client.call('tool_browse', { query: 'sha256' })).structuredContent.cards;
    for (let i = 0; i < 10; i++) await client.call('tool_execute', { tool_id: cards[0].id, args: { text: 'x'.repeat(200) } });
    await client.close();
    const [session] = await until(async () => {
      const found = lines(await here.answer('sessions', '--json'));
      return found.length && found;
    }, () => 'nothing was recorded');
    assert.ok(session.calls < 10, `${session.calls} calls`);
  });
});

test('the examples of docs/reference/context.md print what is shown there', async t => {
  const here = place(t, { notes: quickstart('notes'), textkit: quickstart('textkit') });
  const env = gatewayEnv({ ...here.env, PATH: `${path.dirname(toolgate())}:${process.env.PATH}` });
  const same = text => text.trimEnd()
    .replace(/\b[0-9a-f]{16}\b/g, 'ID').replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/("tool_call_id":"R","content":)"(?:[^"\\]|\\.)*"/, '$1"NOTE"')
    .replace(/("tool_call_id":"T","content":)"(?:[^"\\]|\\.)*"/, '$1"COUNT"');
  for (const { at, text, shown } of commandBlocks('docs/reference/context.md')) {
    const r = await run('sh', ['-ec', text], { cwd: here.cwd, env });
    assert.equal(r.status, 0, `${at}: ${r.stderr}`);
    assert.equal(same(r.stdout), same(shown), at);
  }
});
