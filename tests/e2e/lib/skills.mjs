// SPDX-License-Identifier: Apache-2.0
// A folder with a signed skill, its golden set, and a governance file.
import { generateKeyPairSync } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import { toolgate } from './gateway.mjs';
import { tempDir, writeJson } from './process.mjs';

export const ID = 'skill.support.identity_verification';

/** The skill of the specification, as it is printed there. */
export const SPECIFIED = `skill_id: skill.support.identity_verification
version: "1.2.0"
purpose: "Verify that the requesting customer matches the order's owner."
required_capabilities:
  - capability_class: verify
    name: adp_idv.verify
  - capability_class: observe
    name: adp_orders.lookup
preconditions:
  - "request.context.customer_id is present"
postconditions:
  - "evidence_refs includes idv.verified"
prompt_fragment_ref: "prompts/skills/identity_verification.v1.2"
evaluation_set_ref: "evals/skills/identity_verification.golden.v1"
owner_role: support_ops
`;

/** The same skill with steps. */
export const SKILL = {
  skill_id: ID,
  version: '1.2.0',
  purpose: "Verify that the requesting customer matches the order's owner.",
  required_capabilities: [{ capability_class: 'verify', name: 'adp_idv.verify' }, { capability_class: 'observe', name: 'adp_orders.lookup' }],
  preconditions: ['request.context.customer_id is present', { '!!': { var: 'input.customer_id' } }],
  postconditions: ['evidence_refs includes idv.verified', { in: ['idv.verified', { var: 'evidence_refs' }] },
    { '==': [{ var: 'steps.lookup.result.owner' }, { var: 'input.customer_id' }] }],
  inputs: { type: 'object', properties: { order_id: { type: 'string' }, customer_id: { type: 'string' } }, required: ['order_id'] },
  steps: [{ id: 'lookup', capability: 'adp_orders.lookup', args: { id: { var: 'input.order_id' } } },
    { id: 'verify', capability: 'adp_idv.verify', args: { person: { var: 'steps.lookup.result.owner' } } }],
  output: { verified: { var: 'steps.verify.result.ok' } },
  prompt_fragment_ref: 'fragment.md',
  evaluation_set_ref: 'golden.jsonl',
  owner_role: 'support_ops',
};

const results = { lookup: { result: { owner: 'c1' } }, verify: { result: { ok: true } } };
const input = { order_id: 'o1', customer_id: 'c1' };
export const GOLDEN = [
  { name: 'owner', input, results, expect: { outcome: 'completed', steps: { lookup: 'completed', verify: 'completed' }, args: { verify: { person: 'c1' } }, output: { verified: true } } },
  { name: 'other', input: { ...input, customer_id: 'c2' }, results, expect: { outcome: 'failed', code: 'POSTCONDITION_FAILED', postconditions: [null, true, false] } },
  { name: 'nobody', input: { order_id: 'o1' }, expect: { outcome: 'failed', code: 'PRECONDITION_FAILED', steps: {} } },
];

const capability = (name, cls, more = {}) => ({ name, class: cls, approval_mode: 'read_only', ...more });
export const ADAPTERS = [
  { adapter_id: 'adp_idv', type: 'MCP', server: 'idv', capabilities: [capability('verify', 'verify', { evidence: ['idv.verified'] })] },
  { adapter_id: 'adp_orders', type: 'MCP', server: 'orders', capabilities: [capability('lookup', 'observe', { approval_mode: 'network' })] },
];
export const PERMISSIONS = [{ permission_id: 'p1', adapter_id: 'adp_idv', capability: 'verify', allow: true },
  { permission_id: 'p2', adapter_id: 'adp_orders', capability: 'lookup', allow: true }];

/** A folder with the files; `skills` are written as skill0.json, skill1.json, and so on, and signed. */
export function skillFolder(t, { skills = [SKILL], golden = GOLDEN, files = {}, governance = {}, owner = 'support_ops' } = {}) {
  const cwd = tempDir(t), file = (name) => path.join(cwd, name);
  const run = (...args) => spawnSync(toolgate(), ['skill', ...args], { cwd, encoding: 'utf8', env: { ...process.env, HOME: cwd } });
  const { privateKey } = generateKeyPairSync('ed25519');
  fs.writeFileSync(file('key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  fs.writeFileSync(file('fragment.md'), 'Verify the customer before you show an order.\n');
  fs.writeFileSync(file('golden.jsonl'), golden.map((it) => `${JSON.stringify(it)}\n`).join(''));
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(file(name)), { recursive: true });
    fs.writeFileSync(file(name), text);
  }
  let key;
  const sign = (name) => {
    const r = run('sign', name, '--key', 'key.pem', '--json');
    if (r.status !== 0) throw new Error(r.stderr);
    key = JSON.parse(r.stdout);
    return key;
  };
  skills.forEach((skill, i) => {
    const name = typeof skill === 'string' ? `skill${i}.yaml` : `skill${i}.json`;
    if (typeof skill === 'string') fs.writeFileSync(file(name), skill);
    else writeJson(file(name), skill);
    sign(name);
  });
  writeJson(file('governance.json'), { adapters: ADAPTERS, permissions: PERMISSIONS, skills: ['skill*.json', ...(skills.some((it) => typeof it === 'string') ? ['skill*.yaml'] : [])], skill_keys: [{ ...key, owner_role: owner }], ...governance });
  fs.writeFileSync(file('toolgate.yaml'), 'governance: governance.json\nstate_dir: state\n');
  const check = (name = 'skill0.json') => {
    const r = run('check', name, '--json');
    return { status: r.status, ...(r.stdout ? JSON.parse(r.stdout) : {}), stderr: r.stderr };
  };
  const states = () => JSON.parse(run('list', '--json').stdout).map((it) => [it.version, it.state]);
  return { cwd, file, run, sign, check, states, read: (name) => JSON.parse(fs.readFileSync(file(name), 'utf8')) };
}

/** A folder with the skill of the specification, signed, and the files that it names. */
export function specifiedSkill(t) {
  const golden = { name: 'no steps', input: {}, expect: { outcome: 'completed', steps: {}, postconditions: [null] } };
  return skillFolder(t, { skills: [SPECIFIED], files: {
    'prompts/skills/identity_verification.v1.2': 'Verify the customer before you show an order.\n',
    'evals/skills/identity_verification.golden.v1': `${JSON.stringify(golden)}\n`,
  } });
}
