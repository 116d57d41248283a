// SPDX-License-Identifier: Apache-2.0
// Real agents from npm, run to the end of one question against the scripted model of model.mjs. Each gets an empty
// home folder, and a proxy that refuses every host but loopback, so that no test depends on a network.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { run, writeJson } from './process.mjs';

const FOLDER = fileURLToPath(new URL('../clients/', import.meta.url));
const INSTALL_MS = 200_000;
const installed = (...parts) => path.join(FOLDER, 'node_modules', ...parts);

/** Writes a file and the folders above it. */
function write(file, content) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  if (typeof content === 'string') fs.writeFileSync(file, content);
  else writeJson(file, content);
}

const toml = (value) => JSON.stringify(value);  // strings and lists of strings are the same in both
const tomlTable = (name, table) => `[${name}]\n${Object.entries(table).map(([k, v]) => `${k} = ${toml(v)}\n`).join('')}`;

/** The environment in which Claude Code asks `model` and no other host. */
export const claudeEnv = (model) =>
  ({ ANTHROPIC_BASE_URL: model, ANTHROPIC_API_KEY: 'none', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' });

/**
 * Each agent: `program` is its path below node_modules. `setup` writes its files into `home` for an `entry`
 * (`{ command, args, env }` or `{ url }`) and a `model` URL, and returns the arguments and environment for a question.
 * `unframe` takes off what the agent puts around a tool's result.
 */
export const AGENTS = {
  'Claude Code': {
    program: ['@anthropic-ai', `claude-code-linux-${process.arch}`, 'claude'],
    setup: ({ home, entry, model, question }) => {
      const file = path.join(home, 'mcp.json');
      write(file, { mcpServers: { toolgate: entry.url ? { type: 'http', ...entry } : entry } });
      return {
        args: ['-p', question, '--allowedTools', 'mcp__toolgate', '--mcp-config', file, '--strict-mcp-config'],
        env: claudeEnv(model),
      };
    },
  },
  Codex: {
    unframe: (result) => result.replace(/^Wall time: [\d.]+ seconds\nOutput:\n/, ''),
    program: ['@openai', `codex-linux-${process.arch}`, 'vendor',
      `${process.arch === 'x64' ? 'x86_64' : 'aarch64'}-unknown-linux-musl`, 'bin', 'codex'],
    setup: ({ home, entry: { env, ...entry }, model, question }) => {
      write(path.join(home, '.codex', 'config.toml'),
        `model = "scripted"\nmodel_provider = "scripted"\ncheck_for_update_on_startup = false\n` +
        tomlTable('model_providers.scripted', { name: 'scripted', base_url: `${model}/v1`, wire_api: 'responses' }) +
        tomlTable('mcp_servers.toolgate', entry) + (env ? tomlTable('mcp_servers.toolgate.env', env) : ''));
      return { args: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', question], env: {} };
    },
  },
  opencode: {
    program: [`opencode-linux-${process.arch}`, 'bin', 'opencode'],
    setup: ({ home, entry: { url, command, args, env }, model, question }) => {
      write(path.join(home, '.config', 'opencode', 'opencode.json'), {
        model: 'scripted/m', small_model: 'scripted/m', autoupdate: false, share: 'disabled',
        provider: { scripted: { npm: '@ai-sdk/openai-compatible', options: { baseURL: `${model}/v1`, apiKey: 'none' },
          models: { m: { tool_call: true, limit: { context: 100_000, output: 1000 } } } } },
        mcp: { toolgate: url ? { type: 'remote', url } : { type: 'local', command: [command, ...args], environment: env } },
      });
      return { args: ['run', question], env: { OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_DEFAULT_PLUGINS: '1' } };
    },
  },
  'Gemini CLI': {
    unframe: (result) => result.replace(/^<untrusted_context>\n(.*)\n<\/untrusted_context>$/s, '$1'),
    program: ['@google', 'gemini-cli', 'bundle', 'gemini.js'],
    setup: ({ home, entry: { url, ...entry }, model, question }) => {
      write(path.join(home, '.gemini', 'settings.json'), {
        security: { auth: { selectedType: 'gemini-api-key' } }, privacy: { usageStatisticsEnabled: false },
        general: { enableAutoUpdate: false },
        mcpServers: { toolgate: { trust: true, ...(url ? { httpUrl: url } : entry) } },
      });
      return {
        args: ['-p', question, '-m', 'gemini-2.5-flash', '--yolo', '--skip-trust'],
        env: { GOOGLE_GEMINI_BASE_URL: model, GEMINI_API_KEY: 'none' },
      };
    },
  },
};

const UNREACHABLE = /npm error code (ECONN\w+|ENOTFOUND|EAI_AGAIN|E\w*TIMEDOUT|ENETUNREACH|EHOSTUNREACH|E403|E404|E5\d\d)\b/;

/** Installs the agents once; returns why the registry cannot be used, or undefined. Fails for any other reason. */
async function install() {
  // Two test files may come here at once: the second waits for the lock and finds the work done.
  const script = 'cmp -s package-lock.json node_modules/.installed-lock || ' +
    '{ npm ci --loglevel=error --fetch-retries=1 && cp package-lock.json node_modules/.installed-lock; }';
  const { status, stderr } =
    await run('flock', ['package.json', 'sh', '-c', script], { cwd: FOLDER, timeoutMs: INSTALL_MS });
  if (status === 0) return undefined;
  if (status === 'SIGKILL') return `npm did not install the agents within ${INSTALL_MS / 1000} s`;
  const [, code] = UNREACHABLE.exec(stderr) ?? assert.fail(`npm cannot install the agents (${status}):\n${stderr}`);
  return `npm cannot install the agents: ${code}`;
}

let missing;

/** Skips the test `t` with the reason if the agents cannot be installed here; returns whether it did. */
export async function skipWithout(t, name) {
  const reason = await (missing ??= install()) ??
    (fs.existsSync(agentProgram(name)) ? undefined : `${name} has no program for ${process.arch}`);
  if (reason) t.skip(reason);
  return reason !== undefined;
}

/** The path of an installed agent. */
export const agentProgram = (name) => installed(...AGENTS[name].program);

/**
 * Asks an agent one question in the folder `cwd` and returns `{ status, stdout, stderr }` after it ended. `home` is its
 * home folder; `entry` is how it reaches Toolgate.
 */
export async function askAgent(name, { home, entry, model, question = 'Do it.', cwd = home, env = {}, ...options }) {
  const file = agentProgram(name);
  const { args, env: own } = AGENTS[name].setup({ home, entry, model: model.url, question });
  const [command, first] = file.endsWith('.js') ? [process.execPath, [file]] : [file, []];
  return run(command, [...first, ...args], {
    cwd,
    env: { PATH: process.env.PATH, HOME: home, HTTPS_PROXY: model.url, HTTP_PROXY: model.url,
      NO_PROXY: '127.0.0.1,localhost', ...own, ...env },
    ...options,
  });
}
