// SPDX-License-Identifier: Apache-2.0
// The cases of tests/data/policy-cases.json, asked of a running gateway in mode servers: what each agent is told of each
// server and tool, with the rule, in both orders.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { ROOT } from './lib/gateway.mjs';
import { open, snapshot, startMeta } from './lib/meta.mjs';
import { tempDir, writeJson } from './lib/process.mjs';

const { rulesets, cases } = JSON.parse(fs.readFileSync(path.join(ROOT, 'tests/data/policy-cases.json'), 'utf8'));
const ORDERS = { document: 'document', deny_first: 'deny-first' };

/** The decision as an agent sees it: none of the servers is there, which is told to whoever may use them. */
async function decided(client, { agent, server, tool }) {
  const asked = { agent_id: agent, server };
  const { structuredContent: { error } } =
    await (tool === null || tool === undefined ? client.call('get_server_tools', asked)
      : client.call('execute_tool', { ...asked, tool, args: {} }));
  if (error.code === 'SERVER_UNAVAILABLE') return { decision: 'ALLOW' };
  assert.ok(['DENIED_BY_POLICY', 'INVALID_AGENT_ID'].includes(error.code), error.code);
  return { decision: 'DENY', rule: error.rule };
}

for (const [key, precedence] of Object.entries(ORDERS)) {
  describe(`in the order ${precedence}`, { concurrency: 4 }, () => {
    for (const [name, rules] of Object.entries(rulesets)) {
      const mine = cases.filter((c) => c.rules === name);
      test(`${name}: ${mine.map(({ id }) => id).join(' ')}`, async (t) => {
        const file = writeJson(path.join(tempDir(t), 'rules.json'), { ...rules, defaults: { ...rules.defaults, precedence } });
        const servers = { 'a server of another name': snapshot(t, { tools: [{ name: 'x' }] }) };
        const client = await open(t, await startMeta(t, { mode: 'servers', servers, args: ['--rules', file] }));
        for (const c of mine) {
          const { decision, rule } = c[key];
          assert.deepEqual(await decided(client, c), decision === 'ALLOW' ? { decision } : { decision, rule }, c.id);
        }
      });
    }
  });
}
