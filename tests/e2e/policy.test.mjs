// SPDX-License-Identifier: Apache-2.0
// Rules: what an agent may not use is not there for it, whichever way it looks. The judge is another gateway, without
// rules, whose servers do not have what is denied: both must answer the same.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import path from 'node:path';
import { before, describe, test } from 'node:test';

import { runToolgate } from './lib/gateway.mjs';
import { faultOf, idsOf, open, snapshot, startMeta } from './lib/meta.mjs';
import { suiteScope, tempDir, writeJson } from './lib/process.mjs';

const object = (properties, required = []) => ({ type: 'object', properties, required });
const string = { type: 'string' };
const tool = (name, description) => ({ name, description, inputSchema: object({ text: string }) });
const ORDER = tool('place_order', 'Place an order for a customer.');
const LIST = tool('list_orders', 'List the orders of a customer.');
const REFUND = tool('refund_order', 'Refund an order in zirconium, which nothing else mentions.');
const PAYROLL = tool('pay_salary', 'Pay the salary of an employee.');
const GUIDE = { uri: 'docs://guide', name: 'Guide', description: 'How to begin.', text: '# Guide' };
const LEDGER = { uri: 'ledger://2026', name: 'Ledger', description: 'All payments of 2026.', text: 'secret ledger' };
const ASK = { name: 'ask', description: 'Ask about a topic.', arguments: [{ name: 'topic', required: true }] };
const PAGES = { uriTemplate: 'docs://{page}', name: 'Pages', description: 'The pages of the manual.' };
// So many that they are shown in clusters, whose names and sizes would tell of those that are hidden.
const DEPOT = ['add', 'count', 'drop', 'find', 'move', 'weigh'].flatMap((verb) => ['box', 'crate', 'pallet', 'shelf']
  .map((thing) => tool(`${verb}_${thing}`, `To ${verb} a ${thing} of the depot, with its customer.`)));
const DELETE = ['boxes', 'crates', 'gems', 'rings'].map((things) => tool(`delete_${things}`, `Delete ${things} of an order.`));
const SHOP_RULES = 'Prices of customers are in euros.';
const DISMISS = { name: 'dismiss', description: 'Dismiss an employee.', arguments: [] };

/**
 * All that there is, and what is left of it for the agent `clerk`. What is hidden has the names of what is not, so that
 * it would show by the names of that.
 */
const everything = (t) => ({
  shop: snapshot(t, { instructions: SHOP_RULES, tools: [ORDER, REFUND, LIST] }),
  docs: snapshot(t, { tools: [tool('find_page', 'Find a page of the manual.')], resources: [GUIDE], prompts: [ASK],
    resourceTemplates: [PAGES] }),
  depot: snapshot(t, { tools: [...DELETE, ...DEPOT] }),
  payroll: snapshot(t, {
    instructions: 'Gemstones are paid out by courier, customers by cheque.',
    tools: [PAYROLL, tool('list_orders', 'List the orders of salaries.'), tool('shop__place_order', 'Order a salary.'),
      tool('find_page', 'Find a payslip.')],
    resources: [LEDGER, { ...GUIDE, text: 'secret guide' }],
    resourceTemplates: [{ uriTemplate: 'ledger://{year}', name: 'Ledgers' }, { ...PAGES, name: 'Payslips' }],
    prompts: [DISMISS, { ...ASK, description: 'Ask for a dismissal.' }],
  }),
});
const remainder = (t) => ({
  shop: snapshot(t, { instructions: SHOP_RULES, tools: [ORDER, LIST] }),
  docs: everything(t).docs,
  depot: snapshot(t, { tools: DEPOT }),
});

const RULES = {
  agents: {
    clerk: {
      allow: { servers: ['shop', 'docs', 'payroll', 'depot'], tools: { '*': ['*'] } },
      deny: { servers: ['payroll'], tools: { shop: ['refund_*'], depot: ['delete_*'] } },
    },
    accountant: { allow: { servers: ['*'], tools: { '*': ['*'] } } },
    nobody: {},
  },
  defaults: { deny_on_missing_agent: true },
};

const tokenOf = (agent) => `token-of-${agent}-0123456789abcdef`;
const sha256 = (text) => crypto.createHash('sha256').update(text).digest('hex');
const tokens = () => Object.keys(RULES.agents).map((agent) => ({ sha256: sha256(tokenOf(agent)), agent }));
const rulesFile = (t, rules = RULES) => writeJson(path.join(tempDir(t), 'rules.json'), rules);

function start(t, mode, { servers = everything(t), rules = RULES, config = {}, args = [] } = {}) {
  const auth = { tokens: tokens() };
  return startMeta(t, { mode, servers, config: { auth, ...config }, args: [...args, '--rules', rulesFile(t, rules)] });
}

/** The client of an agent. */
const as = (t, gateway, agent, options = {}) =>
  open(t, gateway, 'http', { headers: { authorization: `Bearer ${tokenOf(agent)}` }, ...options });

/** An answer, or the error that there is instead. */
const answer = async (client, method, params) => {
  const { result, error } = (await client.request(method, params)).msg;
  return result ?? error;
};

const call = (name, args) => ['tools/call', { name, arguments: args }];

describe('an agent finds no trace of tools that it may not use', () => {
  const META = [
    ['tools/list', {}],
    ...['/', '/shop', '/payroll', '/shop/refund_order', '/docs', '/depot', '/depot/box', '/depot/boxes', '/depot/crates']
      .map((p) => call('tool_browse', { path: p })),
    // Scores and their order too: how rare a word is would tell who else has it.
    ...['refund an order', 'zirconium', 'zirconum', 'pay salary', 'ledger', 'order', 'list the orders of a customer',
      'delete a box', 'weigh crates, then find their order', 'gem', 'page of a payslip', 'courier', 'euros of customers']
      .map((query) => call('tool_browse', { query })),
    ...['shop:refund_order', 'shop:place_ordr', 'payroll:pay_salary', 'depot:delete_boxes', 'depot:order_a_box_of_gems',
      'payroll:order_list'].flatMap((tool_id) => [
      call('tool_execute', { tool_id, args: {} }), call('tool_hydrate', { tool_id }),
    ]),
    ...['/', '/payroll', '/docs'].map((p) => call('resource_browse', { path: p })),
    ...['/', '/payroll', '/docs'].map((p) => call('prompt_browse', { path: p })),
    ...['ledger of payments', 'how to begin', 'pages of the manual'].map((query) => call('resource_browse', { query })),
    ...['dismiss an employee', 'ask about it'].map((query) => call('prompt_browse', { query })),
    call('resource_read', { resource_id: 'resource::payroll:Ledger' }),
    call('resource_read', { resource_id: 'resource::docs:Pages' }),
    call('resource_read', { resource_id: 'resource::docs:Pages', uri: 'docs://guide' }),
    call('prompt_get', { prompt_id: 'prompt::payroll:dismiss' }),
    call('refund_order', {}), call('payroll__pay_salary', {}),
  ];
  const DIRECT = [
    ['tools/list', {}], ['resources/list', {}], ['resources/templates/list', {}], ['prompts/list', {}],
    call('refund_order', {}), call('pay_salary', {}), call('place_ordr', {}),
    ...['list_orders', 'shop__list_orders', 'find_page', 'docs__find_page', 'shop__place_order']
      .map((name) => call(name, { text: 'x' })),
    ...['docs://guide', 'docs__docs://guide', 'docs://other'].map((uri) => ['resources/read', { uri }]),
    ...['ask', 'docs__ask'].map((name) => ['prompts/get', { name, arguments: { topic: 'x' } }]),
    ['acme/whatever', {}],
    ['resources/read', { uri: 'ledger://2026' }], ['resources/read', { uri: 'ledger://1999' }],
    ['resources/subscribe', { uri: 'ledger://2026' }],
    ['prompts/get', { name: 'dismiss', arguments: {} }],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'dismiss' }, argument: { name: 'x', value: '' } }],
    ['completion/complete', { ref: { type: 'ref/resource', uri: 'ledger://{year}' }, argument: { name: 'year', value: '' } }],
  ];
  // Here servers and tools are asked for by name, and who may not use one hears so whether it is there or not: the judge
  // has the same rules.
  const SERVERS = [
    ['tools/list', {}], ['resources/list', {}], ['prompts/list', {}],
    ...[{}, { include_metadata: true }].map((args) => call('list_servers', args)),
    ...['shop', 'docs', 'payroll', 'nowhere', ''].map((server) => call('get_server_tools', { server })),
    ...['*', 'refund_*', '*o*'].map((pattern) => call('get_server_tools', { server: 'shop', pattern })),
    ...['refund_order', 'refund_order,list_orders'].map((names) => call('get_server_tools', { server: 'shop', names })),
    ...[0, 60, 1000].map((max_schema_tokens) => call('get_server_tools', { server: 'shop', max_schema_tokens })),
    ...[['shop', 'refund_order'], ['shop', 'place_ordr'], ['payroll', 'pay_salary'], ['payroll', 'nothing'], ['nowhere', 'x']]
      .map(([server, tool]) => call('execute_tool', { server, tool, args: {} })),
    call('execute_tool', { server: 'shop', tool: 'refund_order', args: { text: 5 } }),
    call('get_gateway_status', {}), call('refund_order', {}), call('tool_view', { handle: 'x', selector: {} }),
  ];
  const ASKED = { direct: DIRECT, servers: SERVERS };
  for (const mode of ['gateway', 'transparent', 'direct', 'servers']) {
    const scope = suiteScope();
    let ruled, without;
    const args = mode === 'servers' ? ['--debug'] : [];
    const judged = (t) => mode === 'servers' ? as(t, without, 'clerk') : open(t, without);
    before(async () => {
      ruled = await start(scope, mode, { args });
      without = mode === 'servers' ? await start(scope, mode, { servers: remainder(scope), args })
        : await startMeta(scope, { mode, servers: remainder(scope) });
    });
    test(`in mode ${mode} it is told the same servers when it connects`, async (t) => {
      const [clerk, judge] = [await as(t, ruled, 'clerk'), await judged(t)];
      const plain = ({ server }) => server.instructions?.replace(/\[tg\d+\]/, '[mark]'); // random for each session
      assert.equal(plain(clerk), plain(judge));
      assert.deepEqual(clerk.server.capabilities, judge.server.capabilities);
    });
    for (const [method, params] of ASKED[mode] ?? META) {
      test(`in mode ${mode}: ${method} ${JSON.stringify(params)}`, async (t) => {
        const [clerk, judge] = [await as(t, ruled, 'clerk'), await judged(t)];
        const seen = await answer(clerk, method, params);
        assert.deepEqual(seen, await answer(judge, method, params));
        const asked = JSON.stringify(params), said = JSON.stringify(seen);
        for (const word of ['refund', 'payroll', 'salary', 'zirconium', 'ledger', 'dismiss', 'secret', 'delete', 'gem', 'courier', 'cheque'])
          if (!asked.includes(word)) assert.ok(!said.includes(word), `${word} in ${said}`);
      });
    }
  }
});

describe('an agent', () => {
  const scope = suiteScope();
  let gateway;
  before(async () => {
    gateway = await start(scope, 'gateway');
  });
  test('that may use everything sees and calls everything', async (t) => {
    const accountant = await as(t, gateway, 'accountant');
    const [id] = idsOf(await accountant.call('tool_browse', { path: '/payroll/pay_salary' }));
    assert.equal((await accountant.call('tool_execute', { tool_id: id, args: { text: 'x' } })).isError, false);
  });
  test('an agent cannot use an id that another agent has seen', async (t) => {
    const [accountant, clerk] = [await as(t, gateway, 'accountant'), await as(t, gateway, 'clerk')];
    for (const p of ['/shop/refund_order', '/payroll/pay_salary']) {
      const [id] = idsOf(await accountant.call('tool_browse', { path: p }));
      faultOf(await clerk.call('tool_execute', { tool_id: id, args: {} }), 'HYDRATE_FAILED');
      const short = id.split('#')[0];
      const fault = faultOf(await clerk.call('tool_execute', { tool_id: short, args: {} }), 'TOOL_NOT_FOUND');
      assert.equal(JSON.stringify(fault).includes(id), false, 'the whole id is hidden');
      assert.equal(fault.details.reason, 'not_found');
    }
  });
  test('an agent whose rules allow nothing finds nothing', async (t) => {
    const nobody = await as(t, gateway, 'nobody');
    assert.equal(nobody.server.instructions.split('\n')[0], 'There is no server that you may use.');
    assert.deepEqual(idsOf(await nobody.call('tool_browse', { path: '/' })), []);
    assert.deepEqual(idsOf(await nobody.call('tool_browse', { query: 'order' })), []);
  });
});

describe('who is not known is told so', () => {
  const servers = (t) => ({ shop: snapshot(t, { tools: [ORDER] }) });
  test('strict rules refuse a request that names no agent', async (t) => {
    const gateway = await startMeta(t, { servers: servers(t), args: ['--rules', rulesFile(t)], config: { modes: ['direct', 'servers'] } });
    const client = await open(t, gateway);
    assert.equal((await client.tools()).length, 3);
    const fault = faultOf(await client.call('tool_browse', { path: '/' }), 'INVALID_AGENT_ID');
    assert.match(fault.message, /no agent identity.*a token of an agent/);
    const direct = await open(t, gateway, 'http', { path: '/mcp/direct' });
    await assert.rejects(direct.tools(), /no agent identity.*a token of an agent/);
    const byServers = await open(t, gateway, 'http', { path: '/mcp/servers' });
    assert.match(JSON.stringify(await byServers.call('list_servers', {})), /Missing required parameter 'agent_id'/);
  });
  test('and is the configured agent where the rules are lenient', async (t) => {
    const rules = { ...RULES, defaults: { deny_on_missing_agent: false } };
    const options = { servers: servers(t), args: ['--rules', rulesFile(t, rules)] };
    const known = await open(t, await startMeta(t, { ...options, env: { GATEWAY_DEFAULT_AGENT: 'clerk' } }));
    assert.deepEqual(idsOf(await known.call('tool_browse', { path: '/' })), ['/shop']);
    const none = await open(t, await startMeta(t, options));
    faultOf(await none.call('tool_browse', { path: '/' }), 'NO_FALLBACK_CONFIGURED');
  });
  test('and --agent says who a client on stdio is', async (t) => {
    const gateway = await startMeta(t, {
      servers: servers(t), transport: 'stdio', args: ['--rules', rulesFile(t), '--agent', 'clerk'],
    });
    const client = await open(t, gateway, 'stdio');
    assert.deepEqual(idsOf(await client.call('tool_browse', { path: '/' })), ['/shop']);
  });
  test('--agent without rules neither serves nor calls', async (t) => {
    const here = tempDir(t);
    writeJson(path.join(here, '.mcp.json'), { mcpServers: servers(t) });
    for (const command of [['serve'], ['call', 'shop:list_orders'], ['browse', 'orders']]) {
      const { status, stdout, stderr } = await runToolgate([...command, '--agent', 'clerk'], { cwd: here });
      assert.deepEqual([status, stdout], [1, ''], stderr);
      assert.match(stderr, /--agent: needs rules: there is no \.mcp-gateway-rules\.json/);
    }
  });
});

describe('toolgate policy', () => {
  const scope = suiteScope();
  const setup = (t) => {
    const mcp = writeJson(path.join(tempDir(t), '.mcp.json'), { mcpServers: everything(t) });
    return ['--rules', rulesFile(t), '--mcp-config', mcp];
  };
  test('explains a decision by its rule', async () => {
    const rules = ['--rules', rulesFile(scope)];
    const denied = await runToolgate(['policy', 'explain', 'clerk', 'shop', 'refund_order', ...rules]);
    assert.equal(denied.status, 1);
    assert.match(denied.stdout, /^DENY  agents\.clerk\.deny\.tools\.shop\[0\]/);
    const json = await runToolgate(['policy', 'explain', 'clerk', 'shop', 'list_orders', '--json', ...rules]);
    assert.equal(json.status, 0);
    const { decision, rule, pointer } = JSON.parse(json.stdout);
    assert.deepEqual({ decision, rule, pointer },
      { decision: 'ALLOW', rule: 'agents.clerk.allow.tools.*[0]', pointer: '/agents/clerk/allow/tools/*/0' });
  });
  test('explains which rule allows or denies a method that the protocol does not have', async (t) => {
    const lists = { allow: { servers: ['shop'], methods: ['vendor/*'] }, deny: { methods: ['vendor/callTool'] } };
    const file = writeJson(path.join(tempDir(t), 'rules.json'), { agents: { clerk: lists } });
    const explain = async (agent, method) => {
      const { status, stdout } = await runToolgate(['policy', 'explain', agent, '--method', method, '--json', '--rules', file]);
      const { decision, rule, pointer, class: by, method: asked } = JSON.parse(stdout);
      assert.equal(asked, method);
      return [status, decision, rule, pointer, by];
    };
    assert.deepEqual(await explain('clerk', 'vendor/callTool'),
      [1, 'DENY', 'agents.clerk.deny.methods[0]', '/agents/clerk/deny/methods/0', 'explicit']);
    assert.deepEqual(await explain('clerk', 'vendor/search'),
      [0, 'ALLOW', 'agents.clerk.allow.methods[0]', '/agents/clerk/allow/methods/0', 'wildcard']);
    assert.deepEqual((await explain('clerk', 'other/search')).slice(0, 3), [1, 'DENY', 'agents.clerk.allow.methods']);
    assert.deepEqual((await explain('stranger', 'vendor/search')).slice(0, 3), [1, 'DENY', 'agents']);
    const wrong = [['clerk', 'shop', '--method', 'vendor/search'], ['clerk', '--method', 'tools/call'], ['clerk']];
    for (const args of wrong) assert.equal((await runToolgate(['policy', 'explain', ...args, '--rules', file])).status, 2);
  });
  test('remarks that it is asked about a server which is not configured', async (t) => {
    const options = setup(t), REMARK = 'no server of that name is configured';
    const wrong = await runToolgate(['policy', 'explain', 'clerk', 'shpo', 'list_orders', ...options]);
    assert.ok(wrong.stderr.includes(`toolgate: ${REMARK}: shpo\n`), wrong.stderr);
    assert.match(wrong.stdout, /^DENY /);
    const asked = async (server) => JSON.parse((await runToolgate(['policy', 'explain', 'clerk', server, '--json', ...options])).stdout);
    assert.equal((await asked('shpo')).remark, REMARK);
    assert.equal((await asked('shop')).remark, undefined);
    // Rules without any configuration of servers: nobody knows which there are.
    const alone = await runToolgate(['policy', 'explain', 'clerk', 'shpo', ...options.slice(0, 2)], { cwd: tempDir(t), env: { HOME: '/nowhere' } });
    assert.ok(!alone.stderr.includes(REMARK), alone.stderr);
  });
  test('shows all decisions as a table', async () => {
    const { status, stdout } = await runToolgate(['policy', 'matrix', ...setup(scope)]);
    assert.equal(status, 0);
    assert.match(stdout, /^tool +clerk +accountant +nobody$/m);
    assert.match(stdout, /^shop\/refund_order +\. +\+ +\.$/m);
    assert.match(stdout, /^shop\/list_orders +\+ +\+ +\.$/m);
  });
  test('finds rules that never matter', async () => {
    const { status, stdout } = await runToolgate(['policy', 'lint', '--json', ...setup(scope)]);
    assert.equal(status, 1);
    const found = stdout.trim().split('\n').map((line) => JSON.parse(line));
    assert.deepEqual(found.map(({ pointer, kind }) => [pointer, kind]), [
      ['/agents/clerk/allow/servers/2', 'shadowed'],
      ['/agents/accountant', 'reaches_everything'],
      ['/agents/nobody', 'reaches_nothing'],
    ]);
  });
  test('goes by the rules that the configuration names, and says which', async (t) => {
    const here = tempDir(t), elsewhere = tempDir(t);
    const config = writeJson(path.join(here, 'toolgate.json'), { rules: 'mine.json', servers: everything(t) });
    const mine = writeJson(path.join(here, 'mine.json'), RULES);
    writeJson(path.join(here, '.mcp-gateway-rules.json'), { agents: { other: {} } });
    const asked = { explain: ['clerk', 'shop', 'list_orders'], matrix: [], lint: [] };
    for (const [what, operands] of Object.entries(asked)) {
      for (const [cwd, options] of [[here, []], [elsewhere, ['--config', config]]]) {
        const { stdout, stderr } = await runToolgate(['policy', what, ...operands, ...options], { cwd });
        assert.match(stdout, /clerk/, stderr);
        assert.equal(stderr.split(`toolgate: the rules are those of ${mine}\n`).length, 2, stderr);
      }
    }
    const other = rulesFile(t, { agents: { clerk: {} } });
    for (const [options, env] of [[['--rules', other], {}], [[], { GATEWAY_RULES: other }]]) {
      const { status, stderr } = await runToolgate(['policy', 'explain', 'clerk', 'shop', ...options], { cwd: here, env });
      assert.equal(status, 1);
      assert.equal(stderr, `toolgate: the rules are those of ${other}\n`);
    }
  });
  test('has no lines for programs when there is nothing to remark', async (t) => {
    const rules = rulesFile(t, { agents: { seller: { allow: { servers: ['shop'], tools: { shop: ['*'] } } } } });
    const mcp = writeJson(path.join(tempDir(t), '.mcp.json'), { mcpServers: everything(t) });
    const lint = await runToolgate(['policy', 'lint', '--json', '--rules', rules, '--mcp-config', mcp]);
    assert.deepEqual([lint.status, lint.stdout], [0, '']);
  });
  test('says what is wrong with a file, with its place', async () => {
    const file = rulesFile(scope, { agents: { a: { dney: {} } } });
    const { status, stderr } = await runToolgate(['policy', 'explain', 'a', 'b', '--rules', file]);
    assert.equal(status, 3);
    assert.match(stderr, /:\/agents\/a\/dney: is an unknown key/);
  });
});
