// SPDX-License-Identifier: Apache-2.0
// The official clients of either era with a server of either era: through Toolgate each gets what it gets without it
// from a server of its own era, is asked what the server asks, and hears of progress and changes.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { callWith, MODERN, SDKS } from './lib/clients.mjs';
import { outcome, sorted, timeless, TRANSPORTS } from './lib/compare.mjs';
import { onEnd, until } from './lib/process.mjs';
import { fixture, startFixture } from './lib/servers.mjs';

const CLIENTS = { ...SDKS, ...MODERN };

/** What the fixture is asked: plain things, and everything that asks the client back. */
const FIXTURE_REQUESTS = [
  ['callTool', 'echo', { message: 'Grüße 🌍' }],
  ['callTool', 'add', { a: 0.5, b: 2 }],
  ['callTool', 'test_image_content', {}],
  ['callTool', 'test_multiple_content_types', {}],
  ['callTool', 'test_error_handling', {}],
  ['callTool', 'test_custom_headers', { region: ' eu ü', level: 3, urgent: true, query: 'x' }],
  ['callTool', 'test_sampling', { prompt: 'Say something' }],
  ['callTool', 'test_elicitation', { message: 'Who?' }],
  ['callTool', 'test_input_required_result_elicitation', {}],
  ['callTool', 'test_input_required_result_sampling', {}],
  ['callTool', 'test_input_required_result_list_roots', {}],
  ['callTool', 'test_input_required_result_multiple_inputs', {}],
  ['readResource', 'test://static-text'],
  ['readResource', 'test://static-binary'],
  ['readResource', 'test://template/7/data'],
  ['getPrompt', 'test_simple_prompt'],
  ['getPrompt', 'test_prompt_with_arguments', { arg1: 'a', arg2: 'ü' }],
  ['getPrompt', 'test_prompt_with_embedded_resource', { resourceUri: 'test://x' }],
];
const ROOTS = [{ uri: 'file:///srv/one', name: 'one' }, { uri: 'file:///srv/two' }];

async function everythingOf(session) {
  const lists = {};
  for (const method of ['listTools', 'listResources', 'listResourceTemplates', 'listPrompts'])
    lists[method] = sorted(await session[method](), 'name');
  const outcomes = [];
  for (const request of FIXTURE_REQUESTS) outcomes.push(await outcome(session, ['', ...request]));
  return timeless({ lists, outcomes });
}

const UPSTREAMS = {
  'of 2026-07-28 on stdio': async () => fixture('--era', 'modern'),
  'of 2026-07-28 on HTTP': async t => ({ type: 'http', url: (await startFixture(t, '--era', 'modern')).url }),
  'of both eras on HTTP': async t => ({ type: 'http', url: (await startFixture(t)).url }),
  'with sessions on HTTP': async t => ({ type: 'http', url: (await startFixture(t, '--era', 'legacy')).url }),
};

/** A client with a session has one all the way with a server that has them, as other tests show. */
const upstreamsOf = client =>
  Object.entries(UPSTREAMS).filter(([name]) => client in MODERN || name.startsWith('of 2026'));

/** Where the fixture has no memory of a connection, a change of its list of tools really is one. */
const CHANGING = ['of 2026-07-28 on HTTP', 'of both eras on HTTP'];

for (const [client, open] of Object.entries(CLIENTS)) {
  describe(`${client} and the fixture`, () => {
    let direct;
    before(async () => {
      const session = await open(fixture(), { roots: ROOTS });
      direct = await everythingOf(session);
      await session.close();
    });

    for (const [upstream, make] of upstreamsOf(client)) {
      for (const [transport, start] of Object.entries(TRANSPORTS)) {
        test(`${client} on ${transport} gets from a server ${upstream} what it gets without Toolgate`, async t => {
          const target = await start(t, { servers: { fixture: await make(t) } });
          const session = await open(target, { roots: ROOTS });
          onEnd(t, () => session.close());
          const version = client in MODERN ? '2026-07-28' : '2025-11-25';
          assert.equal(session.client.getNegotiatedProtocolVersion?.() ?? '2025-11-25', version);
          assert.deepEqual(await everythingOf(session), direct);
          await followProgress(client, session);
          await hearChanges(client, session, CHANGING.includes(upstream));
        });
      }
    }
  });
}

async function followProgress(client, session) {
  const seen = [];
  const options = { onprogress: p => seen.push(p.progress) };
  await callWith(client, session, { name: 'test_tool_with_progress', arguments: {} }, options);
  // An SDK may drop what it received together with the result.
  assert.deepEqual(seen.slice(0, 2), [0, 50]);
}

async function hearChanges(client, session, listChanges) {
  const uri = 'test://watched-resource';
  /** The notification that comes after a call. */
  const heardAfter = async (method, ...call) => {
    const before = session.received.length;
    await session.callTool(...call);
    await until(() => session.received.slice(before).some(m => m.method === method),
      () => `no ${method}; received: ${JSON.stringify(session.received.slice(before))}`);
  };
  let subscription;
  if (client in MODERN) {
    const filter = { toolsListChanged: true, resourceSubscriptions: [uri] };
    subscription = await session.client.listen(filter);
    assert.deepEqual(subscription.honoredFilter, filter);
  } else {
    await session.client.subscribeResource({ uri });
  }
  await heardAfter('notifications/resources/updated', 'test_trigger_resource_update', { uri });
  if (listChanges) {
    await heardAfter('notifications/tools/list_changed', 'test_trigger_tool_change', {});
    assert.ok((await session.listTools()).some(tool => tool.name === 'test_dynamic_tool'));
  }
  if (!subscription) return;
  await subscription.close();
  assert.equal(await subscription.closed, 'local');
}
