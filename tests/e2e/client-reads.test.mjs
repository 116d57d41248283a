// SPDX-License-Identifier: Apache-2.0
// What reaches the model: some clients give it structuredContent instead of the text, some both, some the text alone.
// Toolgate sends what is complete and cheapest for the client that asks (docs/reference/clients.md).
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';

import { faultOf, linesOf, open, snapshot, startMeta, textOf } from './lib/meta.mjs';
import { suiteScope } from './lib/process.mjs';
import { STRUCTURED } from './lib/raw.mjs';
import { handshakeServer, text } from './lib/stateless.mjs';
import { countTokens } from './lib/tokens.mjs';

const DATA = { items: [{ id: 1, name: 'one' }, { id: 2, name: 'two' }] };
const JSON_TEXT = text(JSON.stringify(DATA, null, 2)); // as servers repeat structuredContent
const RESULTS = {
  same: { ...JSON_TEXT, structuredContent: DATA },
  summary: { ...text('2 items'), structuredContent: DATA },
  bare: { content: [], structuredContent: DATA },
};
const schema = { type: 'object', properties: { q: { type: 'string' } } };
const SHOP = { tools: Array.from({ length: 12 }, (_, i) => ({
  name: `list_things_${i}`, description: `List the things of shelf ${i}.`, inputSchema: schema })) };

const named = (name) => ({ info: { name, version: '1' }, structured: false });

/** What the client's model reads of a result, as docs/reference/clients.md says. */
const READS = {
  structured: ({ content, structuredContent }) =>
    structuredContent ? JSON.stringify(structuredContent) : content.map((part) => part.text).join('\n'),
  text: ({ content }) => content.map((part) => part.text).join('\n'),
};

describe('by default', () => {
  const scope = suiteScope();
  let gateway;
  before(async () => {
    const tools = Object.fromEntries(Object.entries(RESULTS).map(([name, result]) => [name, () => result]));
    const heard = (args, { msg, peer }) => text(JSON.stringify([msg.params._meta, peer.init.capabilities]));
    const up = await handshakeServer('http', { name: 'up', tools: { ...tools, heard } });
    gateway = await startMeta(scope, { servers: { shop: snapshot(scope, SHOP), up }, config: { modes: ['servers', 'direct'] } });
  });
  const as = (t, options, kind = 'http') => open(t, gateway, kind, options);
  const call = async (client, name) => {
    const found = await client.call('tool_browse', { path: '/up' });
    const { id } = linesOf(found).find((line) => line.id.startsWith(`up:${name}#`));
    const { _meta, ...result } = await client.call('tool_execute', { tool_id: id, args: {} });
    assert.equal(_meta['io.toolgate/envelope'].tool_id, id); // models do not read it
    return result;
  };

  for (const name of ['claude-code', 'Visual Studio Code', 'codex-mcp-client', 'gemini-cli-mcp-client', 'nobody-knows-it'])
    for (const kind of ['http', 'stateless http'])
      test(`${name} (${kind}) gets browse answers and faults as text alone`, async (t) => {
        const client = await as(t, named(name), kind);
        const found = await client.call('tool_browse', { query: 'list things', top_k: 10 });
        assert.equal(found.structuredContent, undefined);
        assert.equal(linesOf(found).length, 10);
        const fault = await client.call('tool_execute', { tool_id: 'none', args: {} });
        assert.equal(fault.structuredContent, undefined);
        faultOf(fault);
      });

  test('the model of Claude Code reads the instruction line, for less than half of the JSON', async (t) => {
    const args = { query: 'list things', top_k: 10 };
    const shown = READS.structured(await (await as(t, named('claude-code'))).call('tool_browse', args));
    assert.match(shown, /tool_execute/);
    const json = READS.structured(await (await as(t, { info: { name: 'claude-code' } })).call('tool_browse', args));
    assert.ok(countTokens(shown) * 3 < countTokens(json) * 2, `${countTokens(shown)} of ${countTokens(json)} tokens`);
    assert.doesNotMatch(json, /\d\.\d{4,}|has_schema|""|\[\]/, 'nor has the JSON what says nothing');
  });

  test('a client that asks gets the cards as JSON too: at its handshake, or with a request', async (t) => {
    const args = { path: '/shop' };
    const asking = await as(t, { structured: true });
    assert.equal((await asking.call('tool_browse', args)).structuredContent.cards.length, 12);
    const plain = await as(t, named('nobody'));
    assert.equal((await plain.call('tool_browse', args)).structuredContent, undefined);
    const ask = (client, wanted) => client.ask('tools/call', { name: 'tool_browse', arguments: args, _meta: { [STRUCTURED]: wanted } });
    assert.equal((await ask(plain, true)).structuredContent.cards.length, 12);
    assert.equal((await ask(asking, false)).structuredContent, undefined);
  });

  test('the Inspector, which people read, gets both', async (t) => {
    const client = await as(t, named('mcp-inspector'));
    assert.equal((await client.call('tool_browse', { path: '/shop' })).structuredContent.cards.length, 12);
  });

  test('an unknown client and one that asks get results of tools as they came', async (t) => {
    for (const options of [named('nobody'), { structured: true }])
      for (const [name, result] of Object.entries(RESULTS))
        assert.deepEqual(await call(await as(t, options), name), result, name);
  });

  test('of a result with both, a client that hides the text shows all of it to its model', async (t) => {
    const client = await as(t, named('claude-code'));
    assert.deepEqual(await call(client, 'same'), RESULTS.same, 'the JSON says what the text says, in fewer tokens');
    assert.deepEqual(await call(client, 'bare'), RESULTS.bare);
    const summary = await call(client, 'summary');
    assert.deepEqual(READS.structured(summary), `2 items\n${JSON.stringify(DATA)}`);
  });

  test('a client that shows text alone gets what only structuredContent says as text', async (t) => {
    const client = await as(t, named('gemini-cli-mcp-client'));
    assert.deepEqual(await call(client, 'same'), RESULTS.same);
    assert.equal(READS.text(await call(client, 'bare')), JSON.stringify(DATA));
    assert.equal(READS.text(await call(client, 'summary')), `2 items\n${JSON.stringify(DATA)}`);
  });

  test('a client that shows both gets what they both say once', async (t) => {
    const client = await as(t, named('github-copilot-developer'));
    assert.deepEqual(await call(client, 'same'), JSON_TEXT);
    assert.deepEqual(await call(client, 'summary'), RESULTS.summary);
  });

  test('in the mode servers the text is the JSON, and in the mode direct nothing changes', async (t) => {
    const servers = await as(t, { ...named('claude-code'), path: '/mcp/servers' });
    const listed = await servers.call('list_servers');
    assert.equal(listed.structuredContent, undefined);
    assert.deepEqual(JSON.parse(textOf(listed)).map((server) => server.name).sort(), ['shop', 'up']);
    const direct = await as(t, { ...named('claude-code'), path: '/mcp/direct' });
    for (const [name, result] of Object.entries(RESULTS)) assert.deepEqual(await direct.call(name), result);
  });

  test('servers do not hear that a client asked', async (t) => {
    const capabilities = { experimental: { other: {} }, elicitation: {} }; // gets a connection of its own
    const client = await as(t, { capabilities, structured: true, path: '/mcp/direct' });
    const call = { name: 'heard', arguments: {}, _meta: { [STRUCTURED]: true, x: 1 } };
    const [meta, told] = JSON.parse(textOf(await client.ask('tools/call', call)));
    assert.deepEqual(meta, { x: 1 });
    assert.deepEqual(told, capabilities);
  });
});

describe('gateway.structured', () => {
  for (const [value, client, expected] of [
    ['always', named('claude-code'), true], [true, named('nobody'), true],
    ['never', { structured: true }, false], [false, named('mcp-inspector'), false], ['auto', named('nobody'), false],
  ])
    test(`${value}: ${client.info?.name ?? 'a client that asks'} ${expected ? 'gets' : 'does not get'} it`, async (t) => {
      const config = { gateway: { structured: value } };
      const gateway = await startMeta(t, { servers: { shop: snapshot(t, SHOP) }, config });
      const found = await (await open(t, gateway, 'http', client)).call('tool_browse', { path: '/' });
      assert.equal('structuredContent' in found, expected);
    });
});
