#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// client-driver.mjs - drives the client scenarios of the conformance suite through Toolgate.
//
//   conformance client --command "node client-driver.mjs [--toolgate]" --scenario S
//
// The suite starts a test server and appends its URL.  With --toolgate, a gateway is started whose only upstream is
// that URL and the driver talks to the gateway, so that what the test server sees is the gateway's client side.
// Without it the driver talks to the test server itself (a check of the driver).
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { startGateway } from '../e2e/lib/gateway.mjs';

const args = process.argv.slice(2), target = args.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? 'initialize';
const version = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION ?? '2025-11-25';
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');

const endings = [];
const gateway = args.includes('--toolgate')
    ? await startGateway({ after: f => endings.push(f) }, { servers: { mock: { type: 'http', url: target } } }) : undefined;

const modern = version >= '2026-07-28';
const client = new Client({ name: 'conformance-driver', version: '1.0.0' }, {
    capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} },
    versionNegotiation: { mode: modern ? 'auto' : 'legacy' },
});
client.setRequestHandler('elicitation/create', async r => ({ action: 'accept', content: r.params.requestedSchema?.properties?.confirmed ? { confirmed: true } : {} }));
client.setRequestHandler('sampling/createMessage', async () => ({ role: 'assistant', content: { type: 'text', text: 'ok' }, model: 'none' }));
client.setRequestHandler('roots/list', async () => ({ roots: [] }));

const call = (name, a = {}) => client.callTool({ name, arguments: a });
const steps = {
    initialize: async () => {},
    tools_call: () => call('add_numbers', { a: 5, b: 3 }),
    'elicitation-sep1034-client-defaults': () => call('test_client_elicitation_defaults'),
    'sse-retry': () => call('test_reconnection'),
    'request-metadata': async () => {},
    'http-standard-headers': async tools => {
        for (const t of tools) await call(t.name);
        for (const r of (await client.listResources()).resources) await client.readResource({ uri: r.uri });
        for (const p of (await client.listPrompts()).prompts) await client.getPrompt({ name: p.name });
    },
    'http-custom-headers': async () => { for (const c of context.toolCalls ?? []) await call(c.name, c.arguments); },
    'http-invalid-tool-headers': async tools => { for (const t of tools) if (t.name.endsWith('valid_tool')) await call('valid_tool', { region: 'us-west1' }); },
    'json-schema-ref-no-deref': async () => {},
    'json-schema-2020-12-preservation': tools => call('json_schema_echo', { schema: tools.find(t => t.name.endsWith('json_schema_2020_12_tool'))?.inputSchema }),
    'sep-2322-client-request-state': async () => {
        for (const t of ['test_mrtr_echo_state', 'test_mrtr_unrelated', 'test_mrtr_no_state', 'test_mrtr_no_result_type']) await call(t).catch(e => console.error(`${t}: ${e.message}`));
    },
};

let code = 0;
try {
    await client.connect(new StreamableHTTPClientTransport(new URL(gateway?.url ?? target)));
    const { tools } = await client.listTools();
    await (steps[scenario] ?? (async () => { throw new Error(`no steps for ${scenario}`); }))(tools);
    await client.close();
} catch (e) {
    console.error(`${scenario}: ${e.message}`);
    code = 1;
}
try {
    for (const end of endings) await end();
} catch (e) {
    console.error(e.message);
    code = 1;
}
process.exit(code);
