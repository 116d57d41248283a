// SPDX-License-Identifier: Apache-2.0
// The official conformance suites. Server mode: through Toolgate (direct mode) to the fixture server, which stands
// behind it on HTTP or on stdio, of one era or of both. Client mode: the suite plays the upstream, so that Toolgate's
// own client is judged.
// Runs alone: the suites measure the time that a reconnection takes.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startGateway } from './lib/gateway.mjs';
import { run, tempDir } from './lib/process.mjs';
import { fixture, packageFile, startFixture } from './lib/servers.mjs';

/**
 * By transport and by the eras that the fixture is reached in. With sessions only, a client of the older revisions has
 * them all the way; on stdio the fixture always speaks both, so there Toolgate is told what to speak.
 */
const UPSTREAMS = {
  'http, both eras': async t => ({ type: 'http', url: (await startFixture(t)).url }),
  'http, sessions only': async t => ({ type: 'http', url: (await startFixture(t, '--era', 'legacy')).url }),
  'stdio, both eras': async () => fixture(),
  'stdio, sessions only': async () => ({ ...fixture(), protocol: 'legacy' }),
};

/**
 * Every scenario has to pass, with at least so many checks. The scenarios server-sse-* have more to check where the
 * answers are event streams, as they are when the upstream has sessions on HTTP and closes its streams.
 */
const SUITES = [
  {
    version: '0.1', args: ['--suite', 'all'], scenarios: 32,
    checks: { 'http, both eras': 43, 'http, sessions only': 46, 'stdio, both eras': 43, 'stdio, sessions only': 43 },
  },
  {
    version: '0.2', args: ['--requirements', '2025-11-25'], scenarios: 33,
    checks: { 'http, both eras': 80, 'http, sessions only': 83, 'stdio, both eras': 80, 'stdio, sessions only': 80 },
  },
  {
    version: '0.2', args: ['--requirements', '2026-07-28'], scenarios: 50,
    checks: { 'http, both eras': 196, 'stdio, both eras': 194 },
  },
];

/** With the checks that each has without a gateway; a gateway that connects twice is checked twice. */
const CLIENT_SCENARIOS = {
  '2025-11-25': {
    initialize: 1,
    tools_call: 2,
    'elicitation-sep1034-client-defaults': 5,
    'sse-retry': 3,
    'json-schema-2020-12-preservation': 9,
  },
  '2026-07-28': {
    tools_call: 2,
    'request-metadata': 8,
    'http-standard-headers': 9,
    'http-custom-headers': 18,
    'http-invalid-tool-headers': 12,
    'json-schema-ref-no-deref': 1,
    'json-schema-2020-12-preservation': 9,
    'sep-2322-client-request-state': 5,
  },
};

function conformance(version, args, cwd) {
  const suite = packageFile(`conformance-${version}`, 'dist/index.js');
  return run(process.execPath, [suite, ...args], { cwd, timeoutMs: 120_000, env: { ...process.env, NO_COLOR: '1' } });
}

/** The summary of a run in server mode: `{ scenarios: [name], failed: [line], checks }`. */
function summary(stdout) {
  const lines = stdout.slice(stdout.indexOf('=== SUMMARY ===')).split('\n');
  const results = lines.map(l => /^(\S) (\S+): (\d+) passed, (\d+) failed/.exec(l)).filter(Boolean);
  return {
    scenarios: results.map(r => r[2]),
    failed: results.filter(r => r[1] !== '✓' || r[4] !== '0').map(r => r[0]),
    checks: results.reduce((sum, r) => sum + Number(r[3]), 0),
  };
}

/** `http://127.0.0.1:N/mcp` by the name that the suite's own Host checks know. */
const byName = url => url.replace('127.0.0.1', 'localhost');

describe('conformance of the server side', () => {
  const runs = SUITES.flatMap(suite => Object.entries(suite.checks).map(([upstream, least]) =>
    ({ ...suite, upstream, least })));
  for (const { version, args, scenarios, upstream, least } of runs) {
    test(`suite ${version} ${args.join(' ')} passes with the fixture behind Toolgate on ${upstream}`, async t => {
      const gateway = await startGateway(t, { servers: { fixture: await UPSTREAMS[upstream](t) } });
      const result = await conformance(version, ['server', '--url', byName(gateway.url), ...args], tempDir(t));
      const { stdout, stderr } = result;
      const found = summary(stdout);
      assert.deepEqual(found.failed, [], `failing scenarios:\n${stdout}${stderr}\n${gateway.program.stderr}`);
      assert.equal(found.scenarios.length, scenarios, `scenarios run: ${stdout}${stderr}`);
      assert.ok(found.checks >= least, `${found.checks} checks passed, not ${least}: ${stdout}`);
      assert.equal(result.status, 0);
      t.diagnostic(`${found.scenarios.length} scenarios, ${found.checks} checks`);
    });
  }
});

describe('conformance of the upstream side', () => {
  const driver = fileURLToPath(new URL('../fixture-everything/client-driver.mjs', import.meta.url));
  const runs = Object.entries(CLIENT_SCENARIOS).flatMap(([revision, scenarios]) =>
    Object.entries(scenarios).map(([scenario, checks]) => ({ revision, scenario, checks })));
  for (const { revision, scenario, checks } of runs) {
    test(`client scenario ${scenario} of ${revision} passes with Toolgate as the client`, async t => {
      const result = await conformance('0.2', ['client', '--command', `${process.execPath} ${driver} --toolgate`,
        '--scenario', scenario, '--spec-version', revision], tempDir(t));
      const said = result.stdout + result.stderr;
      const [, passed] = /Passed: (\d+)\/\1, 0 failed, 0 warnings/.exec(said) ?? [];
      assert.ok(Number(passed) >= checks, `all of at least ${checks} checks: ${said}`);
      assert.match(said, /OVERALL: PASSED/);
      assert.equal(result.status, 0, said);
      t.diagnostic(`${passed} checks`);
    });
  }
});
