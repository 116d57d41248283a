// SPDX-License-Identifier: Apache-2.0
// A scripted language model on loopback, for tests with real clients. It speaks Anthropic's Messages API, OpenAI's Chat
// Completions and Responses APIs and Gemini's generateContent, answers each turn with the next step of a script, and
// records what it was sent.
import http from 'node:http';

import { onEnd } from './process.mjs';

const parse = (text) => { try { return JSON.parse(text); } catch { return text; } };
const asText = (content) => typeof content === 'string' ? content
  : (content ?? []).map((part) => part.text ?? part.output ?? JSON.stringify(part)).join('\n');

// Each API has `read`, which turns a request into `{ system, tools, results, calls }`, and `write`, which turns a step
// into the events of a stream and into a plain response. A step is `{ tool, input }` or `{ text }`.

const usage = { input_tokens: 10, output_tokens: 10 };

const messages = {
  read: (body) => {
    const parts = body.messages.flatMap(({ content }) => typeof content === 'string' ? [] : content);
    return {
      system: asText(body.system),
      messages: body.messages.map(({ content }) => asText(content)).join('\n'),
      tools: (body.tools ?? []).map(({ name, description, input_schema: schema }) => ({ name, description, schema })),
      results: parts.filter(({ type }) => type === 'tool_result').map((part) => asText(part.content)),
    };
  },
  write: (step, { model }, n) => {
    const block = step.tool ? { type: 'tool_use', id: `toolu_${n}`, name: step.tool, input: step.input }
      : { type: 'text', text: step.text };
    const stop_reason = step.tool ? 'tool_use' : 'end_turn';
    const plain = { id: `msg_${n}`, type: 'message', role: 'assistant', model, content: [block], stop_reason,
      stop_sequence: null, usage };
    const delta = step.tool ? { type: 'input_json_delta', partial_json: JSON.stringify(step.input) }
      : { type: 'text_delta', text: step.text };
    const events = [
      { type: 'message_start', message: { ...plain, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: step.tool ? { ...block, input: {} } : { ...block, text: '' } },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
      { type: 'message_stop' },
    ];
    return { plain, stream: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('') };
  },
};

const completions = {
  read: (body) => ({
    system: body.messages.filter(({ role }) => role === 'system').map(({ content }) => asText(content)).join('\n'),
    messages: body.messages.map(({ content }) => asText(content)).join('\n'),
    tools: (body.tools ?? []).map(({ function: f }) => ({ name: f.name, description: f.description, schema: f.parameters })),
    results: body.messages.filter(({ role }) => role === 'tool').map(({ content }) => asText(content)),
  }),
  write: (step, { model }, n) => {
    const message = step.tool
      ? { role: 'assistant', content: null, tool_calls: [{ index: 0, id: `call_${n}`, type: 'function',
        function: { name: step.tool, arguments: JSON.stringify(step.input) } }] }
      : { role: 'assistant', content: step.text };
    const finish_reason = step.tool ? 'tool_calls' : 'stop';
    const head = { id: `chatcmpl-${n}`, created: 1, model };
    const counts = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
    const chunk = (delta, reason, more = {}) =>
      `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: reason }], ...more })}\n\n`;
    return {
      plain: { ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason }], usage: counts },
      stream: chunk(message, null) + chunk({}, finish_reason, { usage: counts }) + 'data: [DONE]\n\n',
    };
  },
};

const responsesTool = ({ name, description, parameters: schema }) => ({ name, description, schema });

const responses = {
  read: (body) => {
    const input = typeof body.input === 'string' ? [] : body.input;
    return {
      system: [body.instructions, ...input.filter(({ role }) => /system|developer/.test(role)).map((i) => asText(i.content))].join('\n'),
      messages: input.map(({ content }) => asText(content)).join('\n'),
      tools: (body.tools ?? []).flatMap((tool) => tool.type !== 'namespace' ? [responsesTool(tool)]
        : tool.tools.map((inner) => ({ ...responsesTool(inner), namespace: tool.name }))),
      results: input.filter(({ type }) => type === 'function_call_output').map(({ output }) => asText(output)),
    };
  },
  write: (step, { model }, n) => {
    const item = step.tool
      ? { type: 'function_call', id: `fc_${n}`, call_id: `call_${n}`, name: step.tool, namespace: step.namespace,
        arguments: JSON.stringify(step.input), status: 'completed' }
      : { type: 'message', id: `msg_${n}`, role: 'assistant', status: 'completed',
        content: [{ type: 'output_text', text: step.text, annotations: [] }] };
    const plain = { id: `resp_${n}`, object: 'response', created_at: 1, status: 'completed', model, output: [item],
      usage: { ...usage, total_tokens: 20, input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } } };
    const events = [
      { type: 'response.created', response: { ...plain, status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: plain },
    ];
    return { plain, stream: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('') };
  },
};

const gemini = {
  read: (body) => {
    const parts = body.contents.flatMap((content) => content.parts);
    const asked = parts.filter((part) => part.functionResponse).map(({ functionResponse: f }) => f.response);
    return {
      system: asText(body.systemInstruction?.parts),
      messages: asText(parts),
      tools: (body.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? [])
        .map(({ name, description, parametersJsonSchema: schema }) => ({ name, description, schema })),
      results: asked.map(({ output, error }) => output ?? error),
    };
  },
  write: (step) => {
    const part = step.tool ? { functionCall: { name: step.tool, args: step.input } } : { text: step.text };
    const plain = { candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 10, totalTokenCount: 20 } };
    return { plain, stream: `data: ${JSON.stringify(plain)}\n\n` };
  },
};

const APIS = [[/\/messages$/, messages], [/\/chat\/completions$/, completions], [/\/responses$/, responses],
  [/:(stream)?[gG]enerateContent$/, gemini]];

/** The definition that reached the model of a server's tool. Clients put the server's name before the tool's. */
export const toolOf = (turn, name) => turn.tools.find((tool) => new RegExp(`(^|_)${name}$`).test(tool.name));

/**
 * Starts a model. `script` is a list of steps, or one function for all turns. A step is `{ tool, input }`, `{ text }`, or
 * a function of the turn that returns one, or a promise of one. A turn gets the step whose index is the number of tool
 * results in it, so that a request that a client repeats gets the same answer.
 *
 * `turns` holds the requests that carry tools, as `{ system, messages, tools, results, body }`; `requests` holds
 * `{ method, path, headers, body }` of every request; `failures` holds the errors that steps threw. The model is also a
 * proxy, which refuses every host and records it in `refused`.
 */
export async function startModel(t, script) {
  const model = { turns: [], requests: [], refused: [], failures: [] };
  const answer = async (api, body) => {
    const turn = { ...api.read(body), body };
    if (!turn.tools.length) return { text: 'ok' };  // a side request: a title, a summary
    model.turns.push(turn);
    const scripted = typeof script === 'function' ? script : script[turn.results.length] ?? { text: 'done' };
    const step = typeof scripted !== 'function' ? scripted
      : await Promise.resolve(turn).then(scripted).catch((error) => { model.failures.push(error); return { text: error.message }; });
    if (!step.tool) return step;
    const tool = toolOf(turn, step.tool);
    return tool ? { ...step, tool: tool.name, namespace: tool.namespace } : { text: `the client has no tool ${step.tool}` };
  };
  const server = http.createServer(async (req, res) => {
    let text = '';
    for await (const part of req) text += part;
    const path = req.url.replace(/\?.*$/, '');
    const body = parse(text);
    model.requests.push({ method: req.method, path, headers: req.headers, body });
    const json = (status, value) => res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (path.endsWith('/count_tokens')) return json(200, { input_tokens: 10 });
    const [, api] = APIS.find(([pattern]) => req.method === 'POST' && pattern.test(path)) ?? [];
    if (!api) return json(404, { error: { type: 'not_found_error', message: `nothing at ${path}` } });
    const { plain, stream } = api.write(await answer(api, body), body, model.requests.length);
    if (!body.stream && !/:stream/.test(path)) return json(200, plain);
    res.writeHead(200, { 'content-type': 'text/event-stream' }).end(stream);
  });
  server.on('connect', (req, socket) => {
    model.refused.push(req.url);
    socket.on('error', () => {}).end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(t, () => new Promise((resolve) => { server.closeAllConnections(); server.close(resolve); }));
  model.url = `http://127.0.0.1:${server.address().port}`;
  return model;
}
