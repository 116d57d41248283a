// SPDX-License-Identifier: Apache-2.0
// What the specification says of single messages, whatever is being talked about: the peers of the tests hold every
// message that the gateway sends them against it. A rule that is broken is a sentence in a list.
export const MODERN = '2026-07-28';
export const meta = (name) => `io.modelcontextprotocol/${name}`;
export const TASKS = meta('tasks');
export const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

// Requests whose answer says how long it may be kept, and those that may be answered by a question.
export const CACHEABLE = [
  'server/discover',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'prompts/list',
  'resources/read',
];
export const ASKING = ['tools/call', 'prompts/get', 'resources/read'];

// The capability that a client needs to be asked.
export const QUESTIONS = {
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
};

const COMMON = [
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
];
const HANDSHAKE = [...COMMON, 'initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'];
const CORE_TASKS = ['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/list'];
const STATELESS = [...COMMON, 'server/discover', 'subscriptions/listen', 'tasks/get', 'tasks/update', 'tasks/cancel'];
const MODERN_META = ['protocolVersion', 'clientCapabilities', 'clientInfo', 'logLevel'].map(meta);

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const has = (value, key) => isObject(value) && Object.hasOwn(value, key);

// What a header may hold as it is; anything else goes as base64.
export function headerValue(value) {
  const plain = /^[\x21-\x7e]([\t\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !/^=\?base64\?.*\?=$/.test(value);
  return plain ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}

function headerText(value) {
  const coded = /^=\?base64\?(.*)\?=$/.exec(value.trim());
  return coded ? Buffer.from(coded[1], 'base64').toString() : value.trim();
}

// The value of Mcp-Name; undefined for methods that have none.
export function nameOf({ method, params }) {
  if (method === 'tools/call' || method === 'prompts/get') return params.name;
  if (method === 'resources/read') return params.uri;
  if (/^tasks\/(get|update|cancel)$/.test(method)) return params.taskId;
  return undefined;
}

// The headers that repeat arguments of a call: [name, text] of every property that asks for it and is there.
export function mirrored(schema, args) {
  return Object.entries(schema?.properties ?? {}).flatMap(([key, property]) => {
    const value = args?.[key];
    if (value === undefined || value === null) return [];
    const name = property['x-mcp-header'];
    const own = name ? [[`mcp-param-${name.toLowerCase()}`, String(value)]] : [];
    return [...own, ...(isObject(value) ? mirrored(property, value) : [])];
  });
}

// ---- to a server

export function toHandshakeServer(msg, { rev, ready }) {
  if (!isObject(msg)) return ['is no object'];
  if (msg.method === undefined) return [];
  const wrong = [];
  if (msg.method === 'server/discover') return ready ? ['server/discover after the handshake'] : [];
  const tasks = rev >= '2025-11-25' ? CORE_TASKS : [];
  if (msg.id !== undefined && ![...HANDSHAKE, ...tasks].includes(msg.method)) {
    wrong.push(`a request ${msg.method} of another revision`);
  }
  const { params = {} } = msg;
  for (const key of MODERN_META) if (has(params._meta, key)) wrong.push(`${msg.method} with _meta ${key}`);
  for (const key of ['inputResponses', 'requestState']) if (has(params, key)) wrong.push(`${msg.method} with ${key}`);
  if (has(params, 'task') && rev < '2025-11-25') wrong.push(`${msg.method} with task`);
  return wrong;
}

// A request without a usable envelope cannot be served at all: it is refused with −32602.
export function envelope({ method, params }) {
  const _meta = params?._meta;
  const wrong = [];
  if (_meta?.[meta('protocolVersion')] !== MODERN) wrong.push(`${method} without the version`);
  if (!isObject(_meta?.[meta('clientCapabilities')])) wrong.push(`${method} without the client's capabilities`);
  return wrong;
}

export function toModernServer(msg, { http }) {
  if (!isObject(msg)) return ['is no object'];
  if (msg.method === undefined) return ['a response: nobody asked'];
  if (msg.id === undefined) {
    return !http && msg.method === 'notifications/cancelled' ? [] : [`a notification ${msg.method}`];
  }
  const wrong = envelope(msg);
  if (!STATELESS.includes(msg.method)) wrong.push(`a request ${msg.method} of another revision`);
  if (typeof msg.id !== 'string' && !Number.isInteger(msg.id)) wrong.push(`${msg.method} with id ${msg.id}`);
  const client = msg.params?._meta?.[meta('clientInfo')];
  if (!isObject(client) || typeof client.name !== 'string' || typeof client.version !== 'string') {
    wrong.push(`${msg.method} without the client's name and version`);
  }
  for (const key of ['task']) if (has(msg.params, key)) wrong.push(`${msg.method} with ${key}`);
  return wrong;
}

// The headers of a POST beside its body; `schema` is that of the called tool.
export function headersOf(msg, headers, schema) {
  const wrong = [];
  const expect = (name, value) => {
    if (headers[name] === undefined) wrong.push(`${msg.method}: no header ${name}`);
    else if (headerText(headers[name]) !== value) wrong.push(`${msg.method}: header ${name} is ${headers[name]}`);
  };
  expect('mcp-protocol-version', msg.params?._meta?.[meta('protocolVersion')]);
  expect('mcp-method', msg.method);
  if (nameOf(msg) !== undefined) expect('mcp-name', nameOf(msg));
  if (msg.method === 'tools/call') {
    for (const [name, value] of mirrored(schema, msg.params.arguments)) expect(name, value);
  }
  for (const type of ['application/json', 'text/event-stream']) {
    if (!headers.accept?.includes(type)) wrong.push(`${msg.method}: ${type} is not accepted`);
  }
  if (headers['mcp-session-id'] !== undefined) wrong.push(`${msg.method} with a session`);
  return wrong;
}

// ---- to a client

const HANDSHAKE_NOTES = [
  'notifications/progress',
  'notifications/message',
  'notifications/cancelled',
  'notifications/resources/updated',
  'notifications/resources/list_changed',
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/elicitation/complete',
  'notifications/tasks/status',
];

export function toHandshakeClient(msg, { rev, capabilities }) {
  if (!isObject(msg)) return ['is no object'];
  if (msg.method === undefined) return resultOfHandshake(msg.result);
  const wrong = [];
  if (msg.id !== undefined) {
    const needs = QUESTIONS[msg.method];
    if (needs && !capabilities[needs]) wrong.push(`asked for ${msg.method}, which it cannot do`);
    if (!needs && msg.method !== 'ping' && rev < '2025-11-25') wrong.push(`asked for ${msg.method}`);
  } else if (!HANDSHAKE_NOTES.includes(msg.method)) {
    wrong.push(`a notification ${msg.method} of another revision`);
  }
  if (has(msg.params?._meta, meta('subscriptionId'))) wrong.push(`${msg.method} with a subscriptionId`);
  return wrong;
}

function resultOfHandshake(result) {
  const wrong = ['resultType', 'ttlMs', 'cacheScope', 'inputRequests', 'requestState']
    .filter((key) => has(result, key))
    .map((key) => `a result with ${key}`);
  if (has(result?._meta, meta('serverInfo'))) wrong.push('a result with _meta serverInfo');
  if (has(result, 'structuredContent') && !isObject(result.structuredContent)) wrong.push('structured content of 2026');
  for (const tool of Array.isArray(result?.tools) ? result.tools : []) {
    if (tool.inputSchema?.type !== 'object') wrong.push(`${tool.name}: an inputSchema that is no object`);
    if (tool.outputSchema && tool.outputSchema.type !== 'object') wrong.push(`${tool.name}: an outputSchema of 2026`);
  }
  return wrong;
}

// Which wish of a listening client a notification serves.
export const WISHES = {
  'notifications/tools/list_changed': 'toolsListChanged',
  'notifications/prompts/list_changed': 'promptsListChanged',
  'notifications/resources/list_changed': 'resourcesListChanged',
  'notifications/resources/updated': 'resourceSubscriptions',
  'notifications/tasks': 'taskIds',
};

// The result of a request that a modern client made.
export function resultOfModern(result, request) {
  const { method, params } = request;
  const { resultType } = result;
  const wrong = [];
  const say = (text) => wrong.push(`${method}: ${text}`);
  if (!isObject(result._meta?.[meta('serverInfo')])) say('the result does not say whose it is (_meta serverInfo)');
  if (resultType === 'input_required') return [...wrong, ...questions(result, request)];
  if (resultType === 'task') {
    const may = has(params._meta[meta('clientCapabilities')].extensions, TASKS);
    if (method !== 'tools/call' || !may) say('answered by a task');
    return wrong;
  }
  if (resultType !== 'complete') say(`resultType ${resultType}`);
  if (CACHEABLE.includes(method)) {
    if (!Number.isInteger(result.ttlMs) || result.ttlMs < 0) say(`ttlMs ${result.ttlMs}`);
    if (!['public', 'private'].includes(result.cacheScope)) say(`cacheScope ${result.cacheScope}`);
  }
  return wrong;
}

function questions({ inputRequests, requestState }, { method, params }) {
  const wrong = [];
  const can = params._meta[meta('clientCapabilities')];
  if (!ASKING.includes(method)) wrong.push(`${method}: answered by a question`);
  if (inputRequests === undefined && requestState === undefined) wrong.push(`${method}: neither question nor state`);
  if (requestState !== undefined && typeof requestState !== 'string') wrong.push(`${method}: a state that is no text`);
  for (const question of Object.values(inputRequests ?? {})) {
    const what = question.method;
    if (!has(can, QUESTIONS[what])) wrong.push(`${method}: asked for ${what}, which the client cannot do`);
    if (has(question, 'id') || has(question, 'jsonrpc')) wrong.push(`${method}: a question that is a whole request`);
  }
  return wrong;
}

// A notification to a modern client. `about` is the request of ours that it belongs to, if there is one.
export function noteOfModern(msg, about) {
  if (msg.method === 'notifications/progress') return about ? [] : ['progress for no request'];
  if (msg.method === 'notifications/message') return logOfModern(msg, about);
  const wish = WISHES[msg.method];
  if (!wish && msg.method !== 'notifications/subscriptions/acknowledged') return [`a notification ${msg.method}`];
  if (about?.method !== 'subscriptions/listen') return [`${msg.method} without a subscriptionId of ours`];
  if (!about.acknowledged && wish) return [`${msg.method} before the acknowledgement`];
  if (wish && !about.params.notifications[wish]) return [`${msg.method}, which was not asked for`];
  return [];
}

function logOfModern({ params }, about) {
  const level = about?.params._meta[meta('logLevel')];
  if (level === undefined) return ['a log message, which was not asked for'];
  return LEVELS.indexOf(params.level) < LEVELS.indexOf(level) ? [`a log message of level ${params.level}`] : [];
}
