// SPDX-License-Identifier: Apache-2.0
// Reports one JSON line for each test that ended, for tests/run.py: { name, status, message?, ms }; and { note } for
// each diagnostic that begins with "table: ", which is to be shown however the tests end.
const statusOf = (type, { skip, todo }) =>
  skip !== undefined || todo !== undefined ? 'skipped' : type === 'test:pass' ? 'passed' : 'failed';

/** What a failure has to say: its text with the trace, and that of its cause, which is the error thrown in the test. */
const messageOf = error => String(error?.cause?.stack ?? error?.cause ?? error?.stack ?? error);

export default async function* reporter(source) {
  for await (const { type, data } of source) {
    if (type === 'test:diagnostic' && data.message.startsWith('table: ')) {
      yield `${JSON.stringify({ note: data.message.slice(7) })}\n`;
    }
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const { error, type: kind, duration_ms: ms } = data.details;
    // A suite fails when one of its tests does, and that one was counted; it counts itself only when a hook failed.
    // A suite that is skipped is one line: none of its tests is reported.
    if (kind === 'suite' && data.skip === undefined && (!error || error.failureType === 'subtestsFailed')) continue;
    if (error?.failureType === 'subtestsFailed') continue;
    const status = statusOf(type, data);
    const message = error ? messageOf(error) : typeof data.skip === 'string' ? data.skip : undefined;
    yield `${JSON.stringify({ name: data.name, status, message, ms: Math.round(ms) })}\n`;
  }
}
