// SPDX-License-Identifier: Apache-2.0
// Who an agent is, by what it says, by what is configured, and by its credential: the cases I01 to I14 over stdio and
// HTTP, for clients with a session and without, and with a token of an issuer beside them.
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test } from 'node:test';

import { startIssuer } from './lib/issuer.mjs';
import { open, snapshot, startMeta } from './lib/meta.mjs';
import { tempDir, writeJson } from './lib/process.mjs';

const tool = { name: 'look', description: 'To look.', inputSchema: { type: 'object' } };
/** Every agent sees the server that has its name, so that what is listed tells who it is. */
const only = (...names) => Object.fromEntries(names.map((name) => [name, { allow: { servers: [name] } }]));
const NAMES = ['backend', 'researcher', 'default', 'team-backend_v2', 'team'];
const servers = (t) => Object.fromEntries(NAMES.map((name) => [name, snapshot(t, { tools: [tool] })]));

const STRICT = { deny_on_missing_agent: true }, LENIENT = { deny_on_missing_agent: false };
const FALLBACK = (GATEWAY_DEFAULT_AGENT) => ({ GATEWAY_DEFAULT_AGENT });
const MISSING = /^Missing required parameter 'agent_id'\. All tool calls must include agent identity\.$/;

// [id, agents, defaults, environment, agent_id of the request, who it is or the error, its message]
const CASES = [
  ['I01', ['backend', 'researcher'], STRICT, FALLBACK('researcher'), 'backend', 'backend'],
  ['I01', ['backend', 'researcher'], LENIENT, FALLBACK('researcher'), 'backend', 'backend'],
  ['I02', ['researcher'], STRICT, FALLBACK('researcher'), undefined, 'INVALID_AGENT_ID', MISSING],
  ['I03', ['researcher'], STRICT, {}, '', 'INVALID_AGENT_ID', MISSING],
  ['I04', ['researcher'], STRICT, {}, null, 'INVALID_AGENT_ID', MISSING],
  ['I05', ['default'], {}, {}, undefined, 'INVALID_AGENT_ID', MISSING],
  ['I06', ['researcher'], LENIENT, FALLBACK('researcher'), undefined, 'researcher'],
  ['I07', ['researcher', 'default'], LENIENT, FALLBACK('researcher'), undefined, 'researcher'],
  ['I08', ['default'], LENIENT, FALLBACK('nonexistent'), undefined, 'FALLBACK_AGENT_NOT_IN_RULES', /'nonexistent' is not configured/],
  ['I09', ['default'], LENIENT, {}, undefined, 'default'],
  ['I10', ['default'], LENIENT, FALLBACK(''), undefined, 'default'],
  ['I11', ['backend'], LENIENT, {}, undefined, 'NO_FALLBACK_CONFIGURED', /no fallback agent configured/],
  ['I12', ['backend'], STRICT, {}, 'ghost', 'INVALID_AGENT_ID', /'ghost' is not configured/],
  ['I13', ['backend'], LENIENT, {}, 'ghost', 'INVALID_AGENT_ID', /'ghost' is not configured/],
  ['I14', ['team-backend_v2'], STRICT, {}, 'team-backend_v2', 'team-backend_v2'],
];

const rulesFile = (t, agents, defaults) =>
  writeJson(path.join(tempDir(t), 'rules.json'), { agents: only(...agents), defaults });

/** What list_servers says: the one server that is seen, or the code of the error and its message. */
async function whoIs(client, agent_id) {
  const result = await client.call('list_servers', agent_id === undefined ? {} : { agent_id });
  if (result.isError) return [result.structuredContent.error.code, result.structuredContent.error.message];
  return [result.structuredContent.result.map((server) => server.name).join()];
}

const KINDS = { stdio: 'stdio', 'stateless stdio': 'stdio', http: 'http', 'stateless http': 'http', sse: 'http' };

for (const [kind, transport] of Object.entries(KINDS)) {
  describe(`over ${kind}`, () => {
    for (const [id, agents, defaults, env, named, who, message] of CASES) {
      test(`${id}: ${JSON.stringify(named) ?? 'nobody'} among ${agents}, ${JSON.stringify({ ...defaults, ...env })}`, async (t) => {
        const args = ['--rules', rulesFile(t, agents, defaults)];
        const gateway = await startMeta(t, { mode: 'servers', transport, servers: servers(t), args, env });
        const [found, said] = await whoIs(await open(t, gateway, kind), named);
        assert.equal(found, who);
        if (message) assert.match(said, message);
      });
    }
  });
}

test('a credential decides, whatever is configured for those who say nothing', async (t) => {
  const issuer = await startIssuer(t);
  const rules = rulesFile(t, ['backend', 'researcher', 'team'], LENIENT);
  const gateway = await startMeta(t, {
    mode: 'servers', servers: servers(t), args: ['--rules', rules], env: FALLBACK('researcher'),
    config: { auth: { jwt: { issuer: issuer.url, jwks_url: issuer.jwksUrl } } },
  });
  for (const kind of ['http', 'stateless http', 'sse']) {
    const as = (agent) => open(t, gateway, kind, { headers: { authorization: `Bearer ${issuer.token(`${gateway.url}/mcp`, { agent })}` } });
    const team = await as('team'), ghost = await as('ghost');
    assert.deepEqual(await whoIs(team), ['team']);
    assert.deepEqual(await whoIs(team, 'team'), ['team']);
    assert.deepEqual(await whoIs(team, 'team.night'), ['team']);  // one below it, with the rules of the one above
    for (const other of ['backend', 'teams', 'tea', 'TEAM', 'team.', 'default'])
      assert.equal((await whoIs(team, other))[0], 'INVALID_AGENT_ID', other);
    for (const said of [undefined, 'ghost', 'backend']) assert.equal((await whoIs(ghost, said))[0], 'INVALID_AGENT_ID', said);
  }
});
