// SPDX-License-Identifier: Apache-2.0
// Golden cases: what an agent is told when a server fails. Failures are those of real servers: messages of JSON-RPC,
// statuses of HTTP, silence, death.
//
// | case | test | |
// |---|---|---|
// | RuntimeError("transport collapsed") | an error of the server | UPSTREAM_ERROR with the text, as the reference |
// | TimeoutError | silence | UPSTREAM_TIMEOUT, retryable, as the reference |
// | connection lost | death | UPSTREAM_UNAVAILABLE, retryable, as the reference |
// | "401 Unauthorized: invalid api key" | words of an error | AUTH_FAILED, not retryable, as the reference |
// | "order 40123 failed" | words of an error | SPEC decides otherwise: whole words, so UPSTREAM_ERROR |
// | (no HTTP there) | statuses | SPEC: classified from what happened |
// | isError results | what a tool reports | stay results, as the reference |
// | redact(...) | one line | as the reference, and without the tails of escape sequences |
// | (no scrubbing there) | secrets | SPEC decides otherwise: scrubbed |
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { faultOf, textOf } from './lib/meta.mjs';
import { RpcError } from './lib/raw.mjs';
import { text } from './lib/stateless.mjs';
import { CREATE, startShop } from './servers/golden-shop.mjs';

const ISSUE = { title: 'a' };
const fails = (code, message, data) => () => { throw new RpcError(code, message, data); };

describe('an error of the server', () => {
  test('is told with its text, and that it is the server\'s', async (t) => {
    const { execute } = await startShop(t, { runs: { create_issue: fails(-32000, 'transport collapsed') } });
    const fault = faultOf(await execute(CREATE, ISSUE), 'UPSTREAM_ERROR');
    assert.match(fault.message, /transport collapsed/);
    assert.equal(fault.retryable, false);
    assert.equal(fault.details.server, 'github');
    assert.equal(fault.path, CREATE);
  });

  for (const kind of ['stdio', 'http']) {
    test(`silence is a timeout, which may pass (${kind})`, async (t) => {
      const { execute, up } = await startShop(t, {
        kind, entry: { timeout: 300 }, runs: { create_issue: () => undefined },
      });
      const fault = faultOf(await execute(CREATE, ISSUE), 'UPSTREAM_TIMEOUT');
      assert.equal(fault.retryable, true);
      assert.equal(fault.path, CREATE);
      assert.equal(up.seen.length, 1);
    });
  }

  test('death during a call is told, and may pass', async (t) => {
    const { execute } = await startShop(t, {
      runs: { create_issue: (args, { peer }) => { peer.socket.destroy(); } },
    });
    assert.equal(faultOf(await execute(CREATE, ISSUE), 'UPSTREAM_UNAVAILABLE').retryable, true);
  });

  test('what a tool itself reports stays its result, whatever its words are', async (t) => {
    const { execute } = await startShop(t, {
      runs: { create_issue: () => ({ ...text('401 Unauthorized: invalid api key'), isError: true }) },
    });
    const result = await execute(CREATE, ISSUE);
    assert.equal(result.isError, true);
    assert.equal(textOf(result), '401 Unauthorized: invalid api key');
  });
});

describe('the words of an error', () => {
  for (const [message, code, retryable] of [
    ['401 Unauthorized: invalid api key', 'AUTH_FAILED', false],
    ['authentication failed', 'AUTH_FAILED', false],
    ['HTTP 403: access denied', 'PERMISSION_DENIED', false],
    ['permission denied for repository', 'PERMISSION_DENIED', false],
    ['rate limit exceeded, slow down', 'RATE_LIMITED', true],
    ['429 Too Many Requests', 'RATE_LIMITED', true],
    ['the request timed out', 'UPSTREAM_TIMEOUT', true],
    ['order 40123 failed', 'UPSTREAM_ERROR', false],
    ['got 401 rows', 'UPSTREAM_ERROR', false],
    ['invalid value for timeout', 'UPSTREAM_ERROR', false],
    ['invoice 14290 is closed', 'UPSTREAM_ERROR', false],
    ['something else', 'UPSTREAM_ERROR', false],
  ]) {
    test(`"${message}" is ${code}`, async (t) => {
      const { execute } = await startShop(t, { runs: { create_issue: fails(-32000, message) } });
      const fault = faultOf(await execute(CREATE, ISSUE), code);
      assert.equal(fault.retryable, retryable);
      assert.ok(fault.message.includes(message), fault.message);
    });
  }
});

describe('statuses that a server gives with an error', () => {
  for (const [code, data, kind] of [
    [429, undefined, 'RATE_LIMITED'], [-32000, { status: 401 }, 'AUTH_FAILED'], [-32603, { statusCode: 504 }, 'UPSTREAM_TIMEOUT'],
    [-32602, { status: 429 }, 'UPSTREAM_ERROR'],
  ]) {
    test(`${code} with ${JSON.stringify(data)} is ${kind}`, async (t) => {
      const { execute } = await startShop(t, { runs: { create_issue: fails(code, 'no', data) } });
      faultOf(await execute(CREATE, ISSUE), kind);
    });
  }
});

describe('statuses of HTTP', () => {
  for (const [status, code, retryable] of [
    [401, 'AUTH_FAILED', false],
    [403, 'PERMISSION_DENIED', false],
    [429, 'RATE_LIMITED', true],
    [503, 'UPSTREAM_UNAVAILABLE', true],
  ]) {
    test(`${status} is ${code}`, async (t) => {
      const { execute, up } = await startShop(t, { kind: 'http' });
      up.intercept = (req, res, body) => {
        if (!body.includes('"tools/call"')) return false;
        res.writeHead(status, { 'content-type': 'text/plain' }).end('no');
        return true;
      };
      assert.equal(faultOf(await execute(CREATE, ISSUE), code).retryable, retryable);
      up.intercept = undefined;
      assert.equal(textOf(await execute(CREATE, ISSUE)), JSON.stringify(ISSUE), 'the next call is answered');
    });
  }
});

describe('one line', () => {
  const told = async (t, message) => {
    const { execute, gateway } = await startShop(t, { runs: { create_issue: fails(-32000, message) } });
    return { fault: faultOf(await execute(CREATE, ISSUE)), gateway };
  };

  test('without control characters or doubled blanks', async (t) => {
    const { fault } = await told(t, 'line one\nline\ttwo\u001b\u0000  three');
    assert.equal(fault.message, 'line one line two three');
  });

  test('without what colours a terminal, which the reference leaves the tail of', async (t) => {
    const { fault } = await told(t, '\u001b[1;31mError:\u001b[0m no such\u001b]0;title\u0007 file');
    assert.equal(fault.message, 'Error: no such file');
  });

  test('of at most 256 characters, with an ellipsis where it was cut', async (t) => {
    const { fault } = await told(t, 'x'.repeat(1000));
    assert.equal(fault.message, `${'x'.repeat(255)}…`);
    assert.equal((await told(t, 'x'.repeat(256))).fault.message, 'x'.repeat(256));
  });

  test('cut between characters, not within one', async (t) => {
    const { fault } = await told(t, 'ü日🙂'.repeat(300));
    assert.equal(fault.message, `${'ü日🙂'.repeat(85)}…`);
  });
});

describe('secrets that a server puts into its errors', () => {
  const b62 = (n) => 'aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0z'.repeat(3).slice(0, n);
  const secrets = {
    'an AWS id': `AKIA${'ABCDEFGH12345678'}`,
    'a Google key': `AIza${b62(35)}`,
    'a GitHub token': `ghp_${b62(36)}`,
    'a fine-grained GitHub token': `github_pat_${b62(30)}`,
    'a Slack token': 'xoxb-123456789012-abcdefghij',
    'an Anthropic key': `sk-ant-${b62(24)}`,
    'an OpenAI key': `sk-proj-${b62(24)}`,
    'a Stripe key': `sk_live_${b62(20)}`,
    'a JWT': `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${b62(43)}`,
    'a bearer token': 'Bearer Zm9vYmFyYmF6cXV4MTIz',
    'a password in a URL': 'postgres://admin:hunter2secret@db.internal/x',
    'a named key': 'api_key=c2VjcmV0LXZhbHVl',
    'a named password': 'password: correct-horse-battery',
  };
  const hidden = {
    'a bearer token': 'Zm9vYmFyYmF6cXV4MTIz', 'a password in a URL': 'hunter2secret', 'a named key': 'c2VjcmV0LXZhbHVl',
    'a named password': 'correct-horse-battery',
  };
  for (const [what, secret] of Object.entries(secrets)) {
    test(`${what} is not told`, async (t) => {
      const fail = fails(-32000, `failed with ${secret} at once`);
      const { execute } = await startShop(t, { runs: { create_issue: fail } });
      const result = await execute(CREATE, ISSUE);
      const fault = faultOf(result, 'UPSTREAM_ERROR');
      assert.match(fault.message, /failed with/, 'the rest is');
      assert.ok(!JSON.stringify(result).includes(hidden[what] ?? secret), fault.message);
    });
  }

  test('nor in the data of the error', async (t) => {
    const data = { header: secrets['a bearer token'], deep: [secrets['a GitHub token']] };
    const { execute } = await startShop(t, { runs: { create_issue: fails(-32000, 'failed', data) } });
    const result = JSON.stringify(await execute(CREATE, ISSUE));
    assert.ok(!result.includes(hidden['a bearer token']), result);
    assert.ok(!result.includes(secrets['a GitHub token']), result);
  });

  test('nor where the cut of a long message would leave a part of it', async (t) => {
    for (const before of [180, 200, 210, 220, 230]) {
      const message = `${'y'.repeat(before)} ${secrets['a GitHub token']}`;
      const { execute } = await startShop(t, { runs: { create_issue: fails(-32000, message) } });
      assert.doesNotMatch(JSON.stringify(await execute(CREATE, ISSUE)), /ghp_aB3dE5/);
    }
  });
});
