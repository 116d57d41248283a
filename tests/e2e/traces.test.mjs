// SPDX-License-Identifier: Apache-2.0
// Given a client that says to which trace its call belongs, in _meta or in headers, when it calls, then its server
// hears the same, and a collector gets a span that stands between the two.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { attributes, startCollector } from './lib/collector.mjs';
import { idOf, open, startMeta } from './lib/meta.mjs';
import { until } from './lib/raw.mjs';
import { handshakeServer, text } from './lib/stateless.mjs';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const PARENT = `00-${TRACE}-${SPAN}-01`;

async function start(t, { kind = 'http', config, mode = 'direct' } = {}) {
  const up = await handshakeServer(kind, { name: 'tracker' });
  up.calls = [];
  up.on('tools/list', () => ({ tools: ['add', 'fail'].map((name) => ({ name, inputSchema: { type: 'object' } })) }));
  up.on('tools/call', (params, entry) => {
    up.calls.push({ params, headers: entry.ctx?.req.headers });
    return { ...text('done'), isError: params.name === 'fail' };
  });
  const gateway = await startMeta(t, { servers: { tracker: up }, config, mode });
  return { up, gateway };
}

const call = (client, name, _meta) => client.request('tools/call', { name, arguments: {}, ...(_meta && { _meta }) });

describe('without a collector', () => {
  test('what stands in _meta reaches the server as it is, and in headers', async (t) => {
    const { up, gateway } = await start(t);
    const client = await open(t, gateway);
    await call(client, 'add', { traceparent: PARENT, tracestate: 'vendor=1', other: 1 });
    const [{ params, headers }] = up.calls;
    assert.deepEqual(params._meta, { traceparent: PARENT, tracestate: 'vendor=1', other: 1 });
    assert.equal(headers.traceparent, PARENT);
    assert.equal(headers.tracestate, 'vendor=1');
  });

  test('what stands in headers reaches a server on a pipe in _meta', async (t) => {
    const { up, gateway } = await start(t, { kind: 'stdio' });
    const client = await open(t, gateway, 'http', { headers: { traceparent: PARENT, tracestate: 'vendor=1' } });
    await call(client, 'add');
    assert.deepEqual(up.calls[0].params._meta, { traceparent: PARENT, tracestate: 'vendor=1' });
  });

  test('what is no trace is not told, and cannot add a header', async (t) => {
    const { up, gateway } = await start(t);
    const client = await open(t, gateway);
    const wrong = ['nonsense', `00-${'0'.repeat(32)}-${SPAN}-01`, `ff-${TRACE}-${SPAN}-01`, `00-${TRACE.toUpperCase()}-${SPAN}-01`,
      `${PARENT}-more`, `01-${TRACE}-${SPAN}-01x`, 7, null, {}];
    for (const traceparent of wrong) await call(client, 'add', { traceparent });
    await call(client, 'add', { traceparent: `01-${TRACE}-${SPAN}-01-\r\nevil: 1`, tracestate: 'a\r\nevil: 1' });
    for (const { headers } of up.calls.slice(0, -1)) assert.equal(headers.traceparent, undefined);
    const last = up.calls.at(-1).headers;
    assert.equal(last.traceparent, PARENT);  // of a later version, in the words of this one
    assert.equal(last.tracestate, undefined);
    assert.equal(last.evil, undefined);
  });

  test('a call without a trace is forwarded byte for byte', async (t) => {
    const { up, gateway } = await start(t);
    await call(await open(t, gateway), 'add');
    assert.deepEqual(up.calls[0].params, { name: 'add', arguments: {} });
    assert.equal(up.calls[0].headers.traceparent, undefined);
  });
});

describe('with a collector', () => {
  test('a span stands between the client and the server', async (t) => {
    const collector = await startCollector(t);
    const { up, gateway } = await start(t, { config: { traces: { endpoint: collector.url } } });
    await call(await open(t, gateway), 'add', { traceparent: PARENT, tracestate: 'vendor=1' });
    await until(() => collector.spans.length, 'the span');
    const [span] = collector.spans;
    assert.equal(span.traceId, TRACE);
    assert.equal(span.parentSpanId, SPAN);
    assert.match(span.spanId, /^[0-9a-f]{16}$/);
    assert.equal(span.name, 'tools/call add');
    assert.ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano));
    assert.ok(Math.abs(Number(BigInt(span.startTimeUnixNano) / 1_000_000n) - Date.now()) < 600_000);
    assert.equal(span.status, undefined);
    assert.equal(attributes(span)['toolgate.server'], 'tracker');
    assert.equal(attributes(span)['mcp.method.name'], 'tools/call');
    const [{ params, headers }] = up.calls;
    const told = `00-${TRACE}-${span.spanId}-01`;
    assert.equal(params._meta.traceparent, told);
    assert.equal(params._meta.tracestate, 'vendor=1');
    assert.equal(headers.traceparent, told);
  });

  test('a trace begins here when the client names none; what failed says so', async (t) => {
    const collector = await startCollector(t);
    const { gateway } = await start(t, { config: { traces: { endpoint: collector.url } }, mode: 'gateway' });
    const client = await open(t, gateway);
    await client.call('tool_execute', { tool_id: await idOf(client, 'tracker', 'fail'), args: {} });
    await until(() => collector.spans.length, 'the span');
    const [span] = collector.spans;
    assert.equal(span.parentSpanId, undefined);
    assert.match(span.traceId, /^[0-9a-f]{32}$/);
    assert.deepEqual(span.status, { code: 2, message: 'tool_error' });
    assert.equal(attributes(span)['error.type'], 'tool_error');
    assert.equal(attributes(span)['gen_ai.tool.name'], 'fail');
  });

  test('a trace that its client does not collect is not collected here, and passed on as such', async (t) => {
    const collector = await startCollector(t);
    const { up, gateway } = await start(t, { config: { traces: { endpoint: collector.url } } });
    const client = await open(t, gateway);
    await call(client, 'add', { traceparent: `00-${TRACE}-${SPAN}-00` });
    await call(client, 'fail', { traceparent: PARENT });
    await until(() => collector.spans.length, 'the span of the second');
    assert.deepEqual(collector.spans.map((span) => span.name), ['tools/call fail']);
    assert.match(up.calls[0].params._meta.traceparent, new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
  });

  test('sample: 0 collects no trace that begins here', async (t) => {
    const collector = await startCollector(t);
    const { up, gateway } = await start(t, { config: { traces: { endpoint: collector.url, sample: 0 } } });
    const client = await open(t, gateway);
    for (let i = 0; i < 20; i++) await call(client, 'add');
    await call(client, 'fail', { traceparent: PARENT });
    await until(() => collector.spans.length, 'the one that its client collects');
    assert.equal(collector.spans.length, 1);
    assert.match(up.calls[0].params._meta.traceparent, /-00$/);
  });

  test('one that is away or refuses costs spans, not calls, and is counted', async (t) => {
    const collector = await startCollector(t, { status: 500 });
    const { gateway } = await start(t, { config: { traces: { endpoint: collector.url } } });
    const client = await open(t, gateway);
    for (let i = 0; i < 30; i++) assert.equal((await call(client, 'add')).result.content[0].text, 'done');
    const dropped = async () => {
      const page = await (await fetch(new URL('/metrics', gateway.url))).text();
      return Number(/^toolgate_spans_dropped_total (\d+)$/m.exec(page)[1]);
    };
    await until(async () => (await dropped()) === 30, 'all to be dropped');
    collector.status = 200;
    await call(client, 'fail');
    await until(() => collector.spans.length, 'a span once it takes them again');
    assert.match(gateway.log, /rejected the request; spans are dropped/);
  });

  test('what is left is sent when the gateway stops', async (t) => {
    const collector = await startCollector(t);
    const { gateway } = await start(t, { config: { traces: { endpoint: collector.url } } });
    await call(await open(t, gateway), 'add');
    await gateway.stop();
    assert.equal(collector.spans.length, 1);
  });

  test('one that never answers does not keep the gateway from stopping', async (t) => {
    const collector = await startCollector(t);
    const { gateway } = await start(t, { config: { traces: { endpoint: collector.url } } });
    collector.held = new Promise(() => {});
    await call(await open(t, gateway), 'add');
    assert.equal((await gateway.stop()).code, 0);
    assert.match(gateway.log, /traces: 1 spans were not sent/);
    assert.doesNotMatch(gateway.log, /does not answer/, 'it was not waited for as at other times');
  });
});

describe('diagnostic events', () => {
  const fieldsOf = (gateway, event) => gateway.log.split('\n').filter((line) => line.includes(` ${event} {`))
    .map((line) => JSON.parse(line.slice(line.indexOf('{')).replaceAll('\\\\', '\\')));

  test('a call is execute.completed, a dry run execute.dry_run: for a collector, with the ids of their spans', async (t) => {
    const collector = await startCollector(t);
    const config = { traces: { endpoint: collector.url }, logs: { endpoint: collector.logs } };
    const { gateway } = await start(t, { config, mode: 'gateway' });
    const client = await open(t, gateway);
    const [add, fail] = [await idOf(client, 'tracker', 'add'), await idOf(client, 'tracker', 'fail')];
    await client.call('tool_execute', { tool_id: add, args: {} });
    await client.call('tool_execute', { tool_id: add, args: {}, dry_run: true });
    await client.call('tool_execute', { tool_id: fail, args: {} });
    await gateway.stop();
    assert.deepEqual(collector.records.map((r) => [r.eventName, r.severityText, attributes(r).outcome, attributes(r).attempts]), [
      ['execute.completed', 'INFO', 'ok', '1'],
      ['execute.dry_run', 'INFO', 'ok', '0'],
      ['execute.completed', 'WARN', 'tool_error', '1'],
    ]);
    assert.deepEqual(collector.records.map((r) => [r.traceId, r.spanId]), collector.spans.map((s) => [s.traceId, s.spanId]));
    const [{ body, attributes: all }] = collector.records;
    assert.equal(body.stringValue, 'execute.completed');
    const said = attributes({ attributes: all });
    assert.deepEqual([said.server, said.tool, said.tool_id], ['tracker', 'add', add]);
    assert.ok(Number(said.duration_ms) >= 0);
    assert.doesNotMatch(gateway.log, /execute\.completed/, 'not in the log at its usual level');
  });

  test('a line each in the log at level debug', async (t) => {
    const { gateway } = await start(t, { config: { log: { level: 'debug' } }, mode: 'gateway' });
    const client = await open(t, gateway);
    const add = await idOf(client, 'tracker', 'add');
    await client.call('tool_execute', { tool_id: add, args: {} });
    await client.call('tool_execute', { tool_id: add, args: {}, dry_run: true });
    await gateway.stop();
    const [[completed, ...more], [dry, ...others]] = [fieldsOf(gateway, 'execute.completed'), fieldsOf(gateway, 'execute.dry_run')];
    assert.deepEqual([more, others], [[], []]);
    assert.deepEqual([completed.outcome, completed.server, completed.tool, completed.tool_id], ['ok', 'tracker', 'add', add]);
    assert.deepEqual([dry.outcome, dry.attempts], ['ok', '0']);
  });

  test('a collector that refuses records costs no call, and they are counted', async (t) => {
    const collector = await startCollector(t, { status: 500 });
    const { gateway } = await start(t, { config: { logs: { endpoint: collector.logs } } });
    const client = await open(t, gateway);
    for (let i = 0; i < 3; i++) await call(client, 'add');
    const page = async () => (await fetch(new URL('/metrics', gateway.url))).text();
    await until(async () => /^toolgate_log_records_dropped_total 3$/m.test(await page()), 'all to be dropped');
  });
});
