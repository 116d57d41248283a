// SPDX-License-Identifier: Apache-2.0
// The official conformance suites. Server mode: through Toolgate (direct mode) to the fixture server, which stands
// behind it on HTTP or on stdio. Client mode: the suite plays the upstream, so that Toolgate's own client is judged.
// Runs alone: the suites measure the time that a reconnection takes.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startGateway } from './lib/gateway.mjs';
import { run, tempDir } from './lib/process.mjs';
import { fixture, packageFile, startFixture } from './lib/servers.mjs';

/**
 * Every scenario has to pass, with at least so many checks. Without a gateway the fixture has a few more (44 and 84):
 * they ask about the event streams of server-sse-*, and give information only when the answers are plain JSON.
 */
const SUITES = [
  { version: '0.1', args: ['--suite', 'all'], scenarios: 32, checks: 43 },
  { version: '0.2', args: ['--requirements', '2025-11-25'], scenarios: 33, checks: 80 },
];

const UPSTREAMS = {
  http: async t => ({ type: 'http', url: (await startFixture(t)).url }),
  stdio: async () => fixture(),
};

/** With the checks that each has at least; a gateway that connects twice is checked twice. */
const CLIENT_SCENARIOS = {
  initialize: 1,
  tools_call: 2,
  'elicitation-sep1034-client-defaults': 5,
  'sse-retry': 3,
  'json-schema-2020-12-preservation': 9,
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
  for (const suite of SUITES) {
    for (const [kind, upstream] of Object.entries(UPSTREAMS)) {
      const name = `suite ${suite.version} ${suite.args.join(' ')}`;
      test(`${name} passes with the fixture behind Toolgate on ${kind}`, async t => {
        const gateway = await startGateway(t, { servers: { fixture: await upstream(t) } });
        const args = ['server', '--url', byName(gateway.url), ...suite.args];
        const result = await conformance(suite.version, args, tempDir(t));
        const { scenarios, failed, checks } = summary(result.stdout);
        assert.deepEqual(failed, [], `failing scenarios:\n${result.stdout}${result.stderr}\n${gateway.program.stderr}`);
        assert.equal(scenarios.length, suite.scenarios, `scenarios run: ${result.stdout}${result.stderr}`);
        assert.ok(checks >= suite.checks, `${checks} checks passed, not ${suite.checks}: ${result.stdout}`);
        assert.equal(result.status, 0);
        t.diagnostic(`${scenarios.length} scenarios, ${checks} checks`);
      });
    }
  }
});

describe('conformance of the upstream side', () => {
  const driver = fileURLToPath(new URL('../fixture-everything/client-driver.mjs', import.meta.url));
  for (const [scenario, checks] of Object.entries(CLIENT_SCENARIOS)) {
    test(`client scenario ${scenario} of 2025-11-25 passes with Toolgate as the client`, async t => {
      const result = await conformance('0.2', ['client', '--command', `${process.execPath} ${driver} --toolgate`,
        '--scenario', scenario, '--spec-version', '2025-11-25'], tempDir(t));
      const said = result.stdout + result.stderr;
      const [, passed] = /Passed: (\d+)\/\1, 0 failed, 0 warnings/.exec(said) ?? [];
      assert.ok(Number(passed) >= checks, `all of at least ${checks} checks: ${said}`);
      assert.match(said, /OVERALL: PASSED/);
      assert.equal(result.status, 0, said);
    });
  }
});
