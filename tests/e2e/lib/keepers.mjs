// SPDX-License-Identifier: Apache-2.0
// What the tests share that tell clients apart by their bearer tokens, over HTTP.
import fs from 'node:fs';
import path from 'node:path';

import { github } from '../servers/golden-shop.mjs';
import { open, startMeta } from './meta.mjs';
import { onEnd } from './raw.mjs';

export const TOKENS = ['token-of-the-first-client', 'token-of-the-other-one'];
export const SECRET = 'the first client alone may read this: 7c1f0e\n';
export const LONG = SECRET.repeat(2000);

export const bearer = (token) => ({ headers: { authorization: `Bearer ${token}` } });

/** Every file below a folder, with its content. */
export function filesBelow(dir) {
  return fs.readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name)).sort()
    .map((file) => [path.relative(dir, file), fs.readFileSync(file)]);
}

export async function tracker(t, runs) {
  const up = await github('http', { runs });
  onEnd(t, () => up.close());
  return up;
}

/** A gateway that keeps its state in `state`, with both tokens. */
export async function start(t, up, state, config = {}) {
  const gateway = await startMeta(t, {
    servers: { github: up.config() }, config: { auth: { tokens: TOKENS }, ...config }, env: { XDG_STATE_HOME: state },
  });
  const as = (token, kind = 'http') => open(t, gateway, kind, bearer(token));
  return { gateway, as };
}
