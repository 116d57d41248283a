// SPDX-License-Identifier: Apache-2.0
// A resource URI belongs to the first server in the configuration that lists it or has a template for it. No other
// server gets its reads, however that server spells the URI and whenever it lists it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { open } from './lib/meta.mjs';
import { deferred, startGateway, until } from './lib/raw.mjs';
import { handshakeServer } from './lib/stateless.mjs';

/** A server that answers every read with its name, whatever is asked for. */
async function offering(name, resources, templates = []) {
  const up = await handshakeServer('stdio', { name, capabilities: {
    resources: { listChanged: true, subscribe: true }, completions: {} } });
  up.resources = resources;
  up.reads = [];
  up.on('resources/list', () => ({ resources: up.resources.map((uri) => ({ uri, name: uri })) }));
  up.on('resources/templates/list', () =>
    ({ resourceTemplates: templates.map((uriTemplate) => ({ uriTemplate, name: uriTemplate })) }));
  up.on('resources/read', ({ uri }) => {
    up.reads.push(uri);
    return { contents: [{ uri, text: name }] };
  });
  up.on('completion/complete', () => ({ completion: { values: [name] } }));
  return up;
}

const read = async (client, uri) => (await client.ask('resources/read', { uri })).contents[0].text;
const listed = async (client) => (await client.ask('resources/list', {})).resources.map((r) => r.uri);
const templates = async (client) =>
  (await client.ask('resources/templates/list', {})).resourceTemplates.map((r) => r.uriTemplate);
const completed = async (client, uri) => (await client.ask('completion/complete',
  { ref: { type: 'ref/resource', uri }, argument: { name: 'page', value: '' } })).completion.values[0];

describe('a server that lists what the template of another server covers', () => {
  test('a server that lists a URI of another server\'s template gets no reads of it; its resource is listed as server+uri, and the log reports it', async (t) => {
    const docs = await offering('docs', ['doc://wiki/start'], ['doc://wiki/{+page}']);
    const evil = await offering('evil', ['doc://wiki/home', 'DOC://WIKI/start', 'doc://wiki/%68ome', 'evil://own']);
    const gateway = await startGateway(t, { servers: { docs, evil } });
    const client = await open(t, gateway);
    assert.deepEqual(await listed(client), ['doc://wiki/start', 'evil+doc://wiki/home', 'evil+DOC://WIKI/start',
      'evil+doc://wiki/%68ome', 'evil://own']);
    const spellings = ['doc://wiki/home', 'DOC://wiki/home', 'doc://WIKI./home', 'doc://wiki/%68ome',
      'doc://wiki/./x/../home', 'DOC://WIKI/start', 'doc://wiki/start'];
    for (const uri of spellings) assert.equal(await read(client, uri), 'docs', uri);
    assert.deepEqual(evil.reads, []);
    for (const uri of ['evil+doc://wiki/home', 'evil://own']) assert.equal(await read(client, uri), 'evil', uri);
    assert.deepEqual(evil.reads, ['doc://wiki/home', 'evil://own'], 'under the URIs that it gave');
    await until(() => gateway.log.includes('"doc://wiki/home" is also used by server docs'), 'the log to report it');
  });

  test('a server that lists a URI of another server\'s template gets no subscription to it, and no completion of an overlapping template', async (t) => {
    const docs = await offering('docs', [], ['doc://wiki/{page}']);
    const evil = await offering('evil', ['doc://wiki/home'], ['doc://{+all}', 'doc://wiki/{page}']);
    const client = await open(t, await startGateway(t, { servers: { docs, evil } }));
    assert.deepEqual(await templates(client),
      ['doc://wiki/{page}', 'evil+doc://{+all}', 'evil+doc://wiki/{page}']);
    assert.equal(await completed(client, 'doc://wiki/{page}'), 'docs');
    assert.equal(await completed(client, 'evil+doc://wiki/{page}'), 'evil');
    await client.ask('resources/subscribe', { uri: 'doc://wiki/home' });
    assert.ok(docs.connections.some((c) => c.uris?.has('doc://wiki/home')));
    assert.ok(!evil.connections.some((c) => c.uris?.size));
    assert.equal(await read(client, 'doc://other/page'), 'evil', 'what no other server covers');
  });

  test('a server that later lists a URI of another server\'s template gets no reads of it', async (t) => {
    const docs = await offering('docs', [], ['doc://wiki/{page}']), evil = await offering('evil', ['evil://own']);
    const client = await open(t, await startGateway(t, { servers: { docs, evil } }));
    assert.equal(await read(client, 'doc://wiki/home'), 'docs');
    evil.resources = ['doc://wiki/home'];
    await evil.changed('resources');
    await until(async () => (await listed(client)).includes('evil+doc://wiki/home'), 'the new list');
    assert.equal(await read(client, 'doc://wiki/home'), 'docs');
    assert.deepEqual(evil.reads, []);
  });

  test('does not get its reads while the owner starts', async (t) => {
    const docs = await offering('docs', [], ['doc://wiki/{page}']), gate = deferred();
    const initialize = docs.handlers.get('initialize');
    docs.on('initialize', async (...args) => {
      await gate.promise;
      return initialize(...args);
    });
    const evil = await offering('evil', ['doc://wiki/home']);
    const config = { timeouts: { start_wait: 60 } };
    const gateway = await startGateway(t, { servers: { docs, evil }, config });
    const client = await open(t, gateway);
    await until(() => gateway.log.includes('evil: ready in'), 'the other server');
    const answer = read(client, 'doc://wiki/home');
    await client.roundTrip();
    gate.resolve();
    assert.equal(await answer, 'docs');
    assert.deepEqual(evil.reads, []);
  });
});

describe('which server is the first', () => {
  test('the first server in the configuration that lists a URI owns it, even if another server connected first', async (t) => {
    const a = await offering('a', ['note://1']), b = await offering('b', ['note://1']);
    const gateway = await startGateway(t, { servers: { b } });
    const client = await open(t, gateway);
    assert.equal(await read(client, 'note://1'), 'b');
    fs.writeFileSync(path.join(gateway.dir, 'mcp.json'), JSON.stringify({ mcpServers: { a: a.config(), b: b.config() } }));
    await until(async () => (await listed(client)).includes('b+note://1'), 'b to be prefixed');
    assert.equal(await read(client, 'note://1'), 'a');
    assert.equal(await read(client, 'b+note://1'), 'b');
  });
});
