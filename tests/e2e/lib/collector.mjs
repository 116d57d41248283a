// SPDX-License-Identifier: Apache-2.0
// A collector of spans and log records, as OpenTelemetry has them.
import assert from 'node:assert/strict';
import http from 'node:http';

import { onEnd } from './raw.mjs';

/** What a span says of itself. */
export const attributes = (span) => Object.fromEntries(span.attributes.map(({ key, value }) => [key, value.stringValue]));

/** A collector that keeps every span and every log record it gets. */
export async function startCollector(t, { status = 200 } = {}) {
  const collector = { spans: [], records: [], requests: 0, status };
  const server = http.createServer(async (req, res) => {
    let body = '';
    for await (const part of req) body += part;
    collector.requests++;
    await collector.held;
    assert.equal(req.headers['content-type'], 'application/json');
    if (collector.status === 200) {
      const { resourceSpans = [], resourceLogs = [] } = JSON.parse(body);
      assert.equal(req.url, resourceLogs.length ? '/v1/logs' : '/v1/traces');
      for (const { scopeSpans } of resourceSpans) for (const { spans } of scopeSpans) collector.spans.push(...spans);
      for (const { scopeLogs } of resourceLogs) for (const { logRecords } of scopeLogs) collector.records.push(...logRecords);
    }
    res.writeHead(collector.status, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(t, () => new Promise((resolve) => { server.closeAllConnections(); server.close(resolve); }));
  collector.url = `http://127.0.0.1:${server.address().port}/v1/traces`;
  collector.logs = `http://127.0.0.1:${server.address().port}/v1/logs`;
  return collector;
}
