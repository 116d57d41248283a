// SPDX-License-Identifier: Apache-2.0
// A gateway whose files change while it runs, and what its log says of that.
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

import { open, snapshot } from './meta.mjs';
import { startGateway, until } from './raw.mjs';
import { tempDir, writeJson } from './process.mjs';

export const LIMIT = 60_000;

export const tool = (name) => ({ name, description: `Does ${name}.`, inputSchema: { type: 'object' } });
export const reply = (text) => ({ content: [{ type: 'text', text }] });
export const shop = (t, names) => snapshot(t, {
  tools: names.map(tool), replies: { tools: Object.fromEntries(names.map((n) => [n, reply(`${n} was called`)])) },
});

/** Rules for agents: which tools each may use, of any server. */
export const rulesOf = (agents, more = {}) => ({
  agents: Object.fromEntries(Object.entries(agents).map(([agent, tools]) =>
    [agent, { allow: { servers: ['*'], tools: { '*': tools } } }])),
  ...more,
});

export const tokenOf = (agent) => `token-of-${agent}-0123456789abcdef`;
const sha256 = (text) => crypto.createHash('sha256').update(text).digest('hex');

/** A file beside the one that is meant, moved over it: how most editors save. */
export function saveAtomically(file, text) {
  fs.writeFileSync(`${file}.new`, text);
  fs.renameSync(`${file}.new`, file);
}
export const json = (value) => JSON.stringify(value, null, 1);

/** A gateway with rules in a file of its own, and what happens to it. */
export class World {
  static async start(t, { servers, agents = { reader: ['*'] }, rules = rulesOf(agents), config = {}, args = [], ...more }) {
    const w = new World();
    w.t = t;
    w.dir = tempDir(t);
    w.rules = writeJson(path.join(w.dir, 'rules.json'), rules);
    const tokens = Object.keys(rules.agents).map((agent) => ({ sha256: sha256(tokenOf(agent)), agent }));
    w.config = { auth: { tokens }, ...config, timeouts: { start_wait: 60, ...config.timeouts } };
    w.servers = servers;
    w.gateway = await startGateway(t, { servers, config: w.config, args: ['--rules', w.rules, ...args], ...more });
    w.mcp = path.join(w.gateway.dir, 'mcp.json');
    w.yaml = path.join(w.gateway.dir, 'toolgate.yaml');
    return w;
  }

  client(agent, options = {}) {
    return open(this.t, this.gateway, 'http', { headers: { authorization: `Bearer ${tokenOf(agent)}` }, ...options });
  }

  count(pattern) {
    return [...this.gateway.log.matchAll(pattern)].length;
  }
  get taken() { return this.count(/reload: applied/g); }
  get refused() { return this.count(/reload: .*nothing (else )?was changed/g); }
  get reloads() { return this.taken + this.refused; }

  /** What the log says from now on until the files have been read once more. */
  async reloading(change) {
    const { reloads, gateway } = this, from = gateway.log.length;
    await change();
    await until(() => this.reloads > reloads, () => `not read again:\n${gateway.log}`, LIMIT);
    return gateway.log.slice(from);
  }

  write(rules, save = fs.writeFileSync) {
    return this.reloading(() => save(this.rules, typeof rules === 'string' ? rules : json(rules)));
  }
  hangup() {
    return this.reloading(() => process.kill(this.gateway.pid, 'SIGHUP'));
  }
}
