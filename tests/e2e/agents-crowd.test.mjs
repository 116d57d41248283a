// SPDX-License-Identifier: Apache-2.0
// Fifty agents before ten servers that all of them share: one process for each server, every answer to the one who
// asked, whatever ids and tokens the others use, and nothing left when the gateway stops.
// Runs alone: it starts many processes.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import path from 'node:path';
import { before, describe, test } from 'node:test';

import { open, startMeta, textOf } from './lib/meta.mjs';
import { assertGone, descendants, suiteScope, tempDir, writeJson } from './lib/process.mjs';
import { handshakeServer, text } from './lib/stateless.mjs';

const AGENTS = Array.from({ length: 50 }, (_, i) => `agent${i}`);
const SERVERS = Array.from({ length: 10 }, (_, i) => `s${i}`);
const token = (agent) => `token-of-${agent}-0123456789abcdef`;
const sha256 = (value) => crypto.createHash('sha256').update(value).digest('hex');

/** Answers come in another order than their questions. */
async function turns(count) {
  for (let i = 0; i < count; i++) await new Promise(setImmediate);
}

/**
 * A server that says who asked, and tells how it gets on meanwhile. `clashes`: ids or progress tokens that two requests
 * under way had in common.
 */
async function server(name) {
  const open = new Set(), clashes = [];
  let count = 0;
  const enter = (key) => (open.has(key) ? clashes.push(key) : open.add(key));
  const up = await handshakeServer('stdio', { name, entry: { isolation: 'shared' }, tools: {
    who: async ({ agent }, { msg, peer }) => {
      const { progressToken } = msg.params._meta ?? {};
      const keys = [`id ${msg.id}`, `token ${progressToken}`];
      keys.forEach(enter);
      await turns((count++ * 7) % 13);
      peer.notify('notifications/progress', { progressToken, progress: 1, message: `${agent} at ${name}` });
      await turns((count * 5) % 11);
      keys.forEach((key) => open.delete(key));
      return text(`${agent} at ${name}`);
    },
  } });
  return Object.assign(up, { clashes });
}

/** Every agent may use all servers but one, which is another for each of ten. */
const rules = () => ({
  agents: Object.fromEntries(AGENTS.map((agent, i) => [agent, {
    allow: { servers: ['*'], tools: { '*': ['*'] } }, deny: { servers: [SERVERS[i % 10]] },
  }])),
});

describe('fifty agents and ten servers that they share', () => {
  const scope = suiteScope();
  let gateway, ups, clients;
  before(async () => {
    ups = await Promise.all(SERVERS.map(server));
    gateway = await startMeta(scope, {
      mode: 'servers', servers: Object.fromEntries(ups.map((up) => [up.name, up])),
      args: ['--rules', writeJson(path.join(tempDir(scope), 'rules.json'), rules())],
      config: { auth: { tokens: AGENTS.map((agent) => ({ agent, sha256: sha256(token(agent)) })) } },
    });
    const kinds = ['http', 'stateless http'];
    clients = await Promise.all(AGENTS.map((agent, i) =>
      open(scope, gateway, kinds[i % 2], { headers: { authorization: `Bearer ${token(agent)}` } })));
  });

  const processes = () => descendants(gateway.pid).filter(({ command }) => command.includes('pipe.mjs'));

  test('each is listed the nine that it may use', async () => {
    await Promise.all(clients.map(async (client, i) => {
      const servers = JSON.parse(textOf(await client.call('list_servers'))).map(({ name }) => name);
      assert.deepEqual(servers, SERVERS.filter((_, k) => k !== i % 10));
    }));
  });

  test('each gets its own answers and progress, though all use the same ids and progress tokens', async () => {
    await Promise.all(clients.map((client, i) => Promise.all(SERVERS.map(async (name, k) => {
      const params = { server: name, tool: 'who', args: { agent: AGENTS[i] } };
      const result = await client.call('execute_tool', params, { rawId: String(1000 + k), meta: { progressToken: `p${k}` } });
      const denied = k === i % 10;
      const rule = `agents.${AGENTS[i]}.deny.servers[0]`;
      if (denied) assert.equal(result.structuredContent.error.rule, rule);
      else assert.equal(textOf(result), `${AGENTS[i]} at ${name}`);
    }))));
    for (const [i, client] of clients.entries()) {
      const told = client.inbox.entries.filter(({ msg }) => msg?.method === 'notifications/progress').map(({ msg }) => msg.params);
      for (const { message, progressToken } of told)
        assert.equal(message, `${AGENTS[i]} at ${SERVERS[Number(progressToken.slice(1))]}`);
      assert.equal(told.length, 9, AGENTS[i]);
    }
    for (const up of ups) {
      assert.deepEqual(up.clashes, [], `${up.name} saw one id or token twice`);
      assert.equal(up.calls, 45, 'whoever is denied does not reach it');
    }
  });

  test('there is one process for each server, and none when the gateway has stopped', async () => {
    assert.equal(processes().length, SERVERS.length);
    for (const up of ups) assert.equal(up.connections.length, 1);
    const family = descendants(gateway.pid);
    await Promise.all(clients.map((client) => client.close()));
    await gateway.stop();
    await assertGone(family);
  });
});
