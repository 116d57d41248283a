// SPDX-License-Identifier: Apache-2.0
// toolgate import and toolgate connect: the servers of other clients become Toolgate's, and the clients get Toolgate.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { gatewayEnv, ROOT, runToolgate, toolgate } from './lib/gateway.mjs';
import { commandBlocks } from './lib/pages.mjs';
import { onEnd, Program, run, tempDir, writeJson } from './lib/process.mjs';
import { gatewayPath } from './lib/raw.mjs';

/** An empty home folder and a project; `files` are written there, by paths such as `~/.cursor/mcp.json`. */
class World {
  constructor(t, files = {}) {
    const base = tempDir(t);
    [this.home, this.project] = [path.join(base, 'home'), path.join(base, 'shop')];
    for (const dir of [this.home, this.project]) fs.mkdirSync(dir);
    for (const [name, text] of Object.entries(files)) this.write(name, text);
    this.own = this.at('~/.config/toolgate/mcp.json');
    this.env = { HOME: this.home, XDG_CONFIG_HOME: '', XDG_RUNTIME_DIR: '', XDG_STATE_HOME: path.join(base, 'state') };
  }

  at(name) {
    return name.startsWith('~/') ? path.join(this.home, name.slice(2)) : path.join(this.project, name);
  }

  write(name, text, mode = 0o640) {
    const file = this.at(name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, typeof text === 'string' ? text : JSON.stringify(text, null, 2));
    fs.chmodSync(file, mode);
    return file;
  }

  read = (name) => fs.readFileSync(this.at(name), 'utf8');
  servers = () => JSON.parse(fs.readFileSync(this.own, 'utf8')).mcpServers;
  run = (...args) => runToolgate(args, { cwd: this.project, env: this.env });

  /** A gateway over HTTP in the project: `{ url, program }`. */
  async serve(t) {
    const program = new Program(toolgate(), ['serve', '--transport', 'http', '--listen', ':0'],
      { cwd: this.project, env: gatewayEnv(this.env) });
    onEnd(t, () => program.stop());
    const [, origin] = await program.says(/listening on (http:\/\/\S+:\d+)/);
    return { url: `${origin}/mcp`, program };
  }

  /** Runs a command that must end with this status, and gives what it prints as JSON. */
  async json(status, ...args) {
    const r = await this.run(...args, '--json');
    assert.equal(r.status, status, r.stderr);
    return JSON.parse(r.stdout);
  }

  /** The backups beside a file. */
  backups(name) {
    const file = this.at(name);
    return fs.readdirSync(path.dirname(file)).filter((it) => it.startsWith(`${path.basename(file)}.toolgate-`));
  }
}

const command = () => gatewayPath();
const serve = (w) => ({ command: command(), args: ['serve', '--mcp-config', w.own] });

const CLAUDE = `{
  "mcpServers": {
    "memory": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-memory"],
      "env": { "MEMORY_FILE_PATH": "\${HOME}/memory.json" },
      "alwaysAllow": ["read_graph"]
    },
    "files": { "type": "stdio", "command": "./bin/files", "args": ["."], "resultBudget": 900 },
    "issues": {
      "type": "http", "url": "https://issues.example/mcp",
      "headers": { "Authorization": "Bearer \${ISSUES_TOKEN:-none}" }
    }
  }
}
`;

/** What clients write, what Toolgate makes of it (w: the world), and how the client's file looks with Toolgate alone. */
const CLIENTS = {
  'claude-code': {
    file: '.mcp.json',
    text: CLAUDE,
    servers: (w) => ({
      memory: {
        command: 'npx', args: ['-y', '@modelcontextprotocol/server-memory'], env: { MEMORY_FILE_PATH: '${HOME}/memory.json' },
        cwd: w.project,
      },
      files: { command: `${w.project}/./bin/files`, args: ['.'], cwd: w.project, resultBudget: 900 },
      issues: { type: 'http', url: 'https://issues.example/mcp', headers: { Authorization: 'Bearer ${ISSUES_TOKEN:-none}' } },
    }),
    notes: { memory: [/"alwaysAllow" is ignored/] },
    after: (w) => `{
  "mcpServers": {
    "toolgate": {
      "command": "${command()}",
      "args": ["serve", "--mcp-config", "${w.own}"]
    }
  }
}
`,
  },
  'claude-desktop': {
    file: '~/.config/Claude/claude_desktop_config.json',
    text: '{"globalShortcut":"","mcpServers":{"fs":{"command":"npx","args":["-y","fs","/srv"],"env":{}}}}',
    servers: () => ({ fs: { command: 'npx', args: ['-y', 'fs', '/srv'] } }),
    after: (w) => `{"globalShortcut":"","mcpServers":{
  "toolgate": {
    "command": "${command()}",
    "args": ["serve", "--mcp-config", "${w.own}"]
  }
}}`,
  },
  cursor: {
    file: '~/.cursor/mcp.json',
    text: `{
\t"mcpServers": {
\t\t"db": { "command": "uvx", "args": ["db-server"], "env": { "URL": "\${env:DB_URL}" }, "envFile": "\${workspaceFolder}/.env" },
\t\t"old": { "url": "https://old.example/sse", "disabled": true }
\t}
}
`,
    servers: () => ({
      db: { command: 'uvx', args: ['db-server'], env: { URL: '${DB_URL}' } },
      old: { url: 'https://old.example/sse', disabled: true },
    }),
    notes: { db: [/"envFile" is not read/] },
    after: (w) => `{
\t"mcpServers": {
\t\t"toolgate": {
\t\t\t"command": "${command()}",
\t\t\t"args": ["serve", "--mcp-config", "${w.own}"]
\t\t}
\t}
}
`,
  },
  vscode: {
    file: '.vscode/mcp.json',
    text: `{
  // The editor asks for these.
  "inputs": [
    { "type": "promptString", "id": "github-token", "description": "token", "password": true },
  ],
  "servers": {
    /* remote */
    "github": {
      "type": "http",
      "url": "https://api.example/mcp/",
      "headers": { "Authorization": "Bearer \${input:github-token}" }, // secret
    },
    "build": { "type": "stdio", "command": "node", "args": ["\${workspaceFolder}/build.js"], },
  },
}
`,
    servers: (w) => ({
      github: { type: 'http', url: 'https://api.example/mcp/', headers: { Authorization: 'Bearer ${GITHUB_TOKEN}' } },
      build: { command: 'node', args: [`${w.project}/build.js`], cwd: w.project },
    }),
    notes: { github: [/set the variable GITHUB_TOKEN/] },
    after: (w) => `{
  // The editor asks for these.
  "inputs": [
    { "type": "promptString", "id": "github-token", "description": "token", "password": true },
  ],
  "servers": {
    "toolgate": {
      "type": "stdio",
      "command": "${command()}",
      "args": ["serve", "--mcp-config", "${w.own}"]
    }
    /* remote */

  },
}
`,
  },
  windsurf: {
    file: '~/.codeium/windsurf/mcp_config.json',
    text: '{ "mcpServers": { "docs": { "serverUrl": "https://docs.example/mcp", "disabledTools": ["drop"] } } }',
    servers: () => ({ docs: { url: 'https://docs.example/mcp', disabledTools: ['drop'] } }),
    after: (w) => `{ "mcpServers": {
  "toolgate": {
    "command": "${command()}",
    "args": ["serve", "--mcp-config", "${w.own}"]
  }
 } }`,
  },
  gemini: {
    file: '~/.gemini/settings.json',
    text: `{
  "theme": "Dark", // mine
  "mcpServers": {
    "a": { "httpUrl": "https://a.example/mcp", "timeout": 5000, "trust": true },
    "b": { "url": "https://b.example/sse", "includeTools": ["read"], "excludeTools": ["write"] },
    "c": { "command": "python", "args": ["-m", "c"], "cwd": "/srv/c", "env": { "KEY": "$C_KEY" } }
  }
}
`,
    servers: () => ({
      a: { type: 'http', url: 'https://a.example/mcp', timeout: 5000 },
      b: { type: 'sse', url: 'https://b.example/sse', enabledTools: ['read'], disabledTools: ['write'] },
      c: { command: 'python', args: ['-m', 'c'], cwd: '/srv/c', env: { KEY: '${C_KEY}' } },
    }),
    notes: { a: [/"trust" is ignored/] },
    after: (w) => `{
  "theme": "Dark", // mine
  "mcpServers": {
    "toolgate": {
      "command": "${command()}",
      "args": ["serve", "--mcp-config", "${w.own}"]
    }
  }
}
`,
  },
  codex: {
    file: '~/.codex/config.toml',
    text: `model = "gpt-5" # mine
approval_policy = "on-request"

# Documentation.
[mcp_servers.docs]
command = "npx"
args = ["-y", "docs-server"] # latest
startup_timeout_sec = 20
tool_timeout_sec = 60.5
enabled_tools = ["search", 'read']

[mcp_servers.docs.env]
"DOCS_KEY" = 'x"y'

[mcp_servers."far away"]
url = "https://far.example/mcp"
bearer_token_env_var = "FAR_TOKEN"
http_headers = { "X-Region" = "eu" }
env_http_headers = { "X-Team" = "TEAM" }
enabled = false

# The screen.
[tui]
notifications = true
`,
    servers: () => ({
      docs: {
        command: 'npx', args: ['-y', 'docs-server'], env: { DOCS_KEY: 'x"y' }, timeout: 60500, startTimeout: 20000,
        enabledTools: ['search', 'read'],
      },
      'far away': {
        url: 'https://far.example/mcp', disabled: true,
        headers: { Authorization: 'Bearer ${FAR_TOKEN}', 'X-Region': 'eu', 'X-Team': '${TEAM}' },
      },
    }),
    after: (w) => `model = "gpt-5" # mine
approval_policy = "on-request"

# Documentation.
# The screen.
[tui]
notifications = true

[mcp_servers.toolgate]
command = "${command()}"
args = ["serve", "--mcp-config", "${w.own}"]
`,
  },
  opencode: {
    file: '~/.config/opencode/opencode.jsonc',
    text: `{
  "$schema": "https://opencode.ai/config.json",
  // servers
  "mcp": {
    "local": { "type": "local", "command": ["bun", "x", "thing"], "environment": { "K": "{env:THING_KEY}" }, "enabled": false },
    "far": { "type": "remote", "url": "https://far.example/mcp", "enabled": true, "headers": { "X-Key": "1" } },
  },
}
`,
    servers: () => ({
      local: { command: 'bun', args: ['x', 'thing'], env: { K: '${THING_KEY}' }, disabled: true },
      far: { url: 'https://far.example/mcp', headers: { 'X-Key': '1' } },
    }),
    after: (w) => `{
  "$schema": "https://opencode.ai/config.json",
  // servers
  "mcp": {
    "toolgate": {
      "type": "local",
      "command": ["${command()}", "serve", "--mcp-config", "${w.own}"],
      "enabled": true
    }
  },
}
`,
  },
  zed: {
    file: '~/.config/zed/settings.json',
    text: `// Zed settings
{
  "buffer_font_size": 15,
  "context_servers": {
    "mine": { "source": "custom", "command": "my-server", "args": ["--x"], "env": { "A": "1" } },
    "older": { "command": { "path": "old-server", "args": ["y"], "env": null } },
    "from-extension": { "source": "extension", "settings": { "token": "t" } },
  },
}
`,
    servers: () => ({
      mine: { command: 'my-server', args: ['--x'], env: { A: '1' } },
      older: { command: 'old-server', args: ['y'] },
    }),
    refused: { 'from-extension': /an extension of Zed starts it; it cannot be moved/ },
    after: (w) => `// Zed settings
{
  "buffer_font_size": 15,
  "context_servers": {
    "from-extension": { "source": "extension", "settings": { "token": "t" } },
    "toolgate": {
      "source": "custom",
      "command": "${command()}",
      "args": ["serve", "--mcp-config", "${w.own}"],
      "env": {}
    }
  },
}
`,
  },
};

for (const [client, it] of Object.entries(CLIENTS)) {
  test(`${client}: import, connect, connect again, undo`, async (t) => {
    const w = new World(t, { [it.file]: it.text });

    const imported = await w.json(0, 'import', client);
    assert.deepEqual(w.servers(), it.servers(w));
    assert.equal(fs.statSync(w.own).mode & 0o777, 0o600);
    assert.equal(w.read(it.file), it.text);
    for (const server of imported.servers) {
      const wanted = it.notes?.[server.name] ?? [];
      assert.equal(server.notes.length, wanted.length, `${server.notes}`);
      wanted.forEach((pattern, i) => assert.match(server.notes[i], pattern));
      assert.equal(server.status, it.refused?.[server.name] ? 'refused' : 'added');
      if (it.refused?.[server.name]) assert.match(server.reason, it.refused[server.name]);
    }

    const connected = await w.json(0, 'connect', client);
    assert.equal(connected.changed, true);
    assert.equal(w.read(it.file), it.after(w));
    assert.equal(fs.statSync(w.at(it.file)).mode & 0o777, 0o640);
    assert.deepEqual(w.servers(), it.servers(w));

    assert.equal((await w.json(0, 'connect', client)).changed, false);
    assert.equal(w.read(it.file), it.after(w));
    assert.equal(w.backups(it.file).length, 1);

    await w.json(0, 'connect', client, '--undo');
    assert.equal(w.read(it.file), it.text);
    assert.equal(fs.statSync(w.at(it.file)).mode & 0o777, 0o640);
    assert.deepEqual(w.backups(it.file), []);
  });
}

test('without a client, import takes over from all that are found; equal servers once, others with a suffix', async (t) => {
  const w = new World(t, {
    '.mcp.json': { mcpServers: { web: { url: 'https://a.example/mcp' }, time: { url: 'https://time.example/mcp' } } },
    '~/.cursor/mcp.json': { mcpServers: { web: { url: 'https://b.example/mcp' }, time: { url: 'https://time.example/mcp' } } },
    '~/.claude.json': {
      mcpServers: { user: { command: 'u' } },
      projects: { '/elsewhere': { mcpServers: { no: { command: 'n' } } } },
    },
  });
  const claude = JSON.parse(w.read('~/.claude.json'));
  claude.projects[w.project] = { mcpServers: { local: { command: 'l' } } };
  w.write('~/.claude.json', claude);
  const dry = await w.json(0, 'import', '--dry-run');
  assert.equal(fs.existsSync(w.own), false);
  const real = await w.json(0, 'import');
  assert.deepEqual(real.servers, dry.servers);
  assert.deepEqual(Object.keys(w.servers()), ['web', 'time', 'user', 'local', 'web-cursor']);
  assert.deepEqual(w.servers().local, { command: 'l', cwd: w.project });
  const again = await w.json(0, 'import');
  assert.deepEqual(again.servers.map((s) => s.status), Array(6).fill('present'));
});

describe('a "cwd" that import adds does not make a second server', () => {
  const memory = { command: 'npx', args: ['-y', '@modelcontextprotocol/server-memory@1.2.3', '--dir=/srv'], env: { A: 'b' } };
  const toml = (it) => `[mcp_servers.memory]\ncommand = "${it.command}"\nargs = ${JSON.stringify(it.args)}\nenv = { A = "b" }\n`;
  const worldOf = (t, it) => new World(t, { '.mcp.json': { mcpServers: { memory: it } }, '~/.codex/config.toml': toml(it) });

  test('of a project and of Codex, in one import and in later ones', async (t) => {
    const w = worldOf(t, memory);
    for (const args of [['import'], ['import'], ['import', 'codex']]) {
      await w.json(0, ...args);
      assert.deepEqual(w.servers(), { memory: { ...memory, cwd: w.project } }, `${args}`);
    }
  });

  test('of Codex first: its entry stays without "cwd"', async (t) => {
    const w = worldOf(t, memory);
    for (const client of ['codex', 'claude-code']) await w.json(0, 'connect', client);
    assert.deepEqual(w.servers(), { memory });
  });

  test('but relative paths, another "cwd" and another variable do', async (t) => {
    for (const last of ['.', './data', '--dir=data/x', 'server.js', 'folder']) {
      const w = worldOf(t, { ...memory, args: [...memory.args, last] });
      fs.mkdirSync(w.at('folder'));
      await w.json(0, 'import');
      assert.deepEqual(Object.keys(w.servers()), ['memory', 'memory-codex'], last);
    }
    const w = worldOf(t, { ...memory, command: './bin/memory' });
    writeJson(w.at('own.json'), { mcpServers: { memory: { ...memory, command: './bin/memory', cwd: w.project } } });
    await w.json(0, 'import', 'codex', '--mcp-config', w.at('own.json'));
    assert.match(w.read('own.json'), /"memory-codex"/);
    for (const more of [{ cwd: '/srv' }, { env: { A: 'c' } }]) {
      const w = worldOf(t, memory);
      w.write('.mcp.json', { mcpServers: { memory: { ...memory, ...more } } });
      await w.json(0, 'import');
      assert.deepEqual(Object.keys(w.servers()), ['memory', 'memory-codex'], JSON.stringify(more));
    }
  });
});

test('connect imports what it moves, and an entry for Toolgate is never imported', async (t) => {
  const w = new World(t, { '.mcp.json': CLAUDE });
  assert.equal((await w.run('connect', 'claude-code')).status, 0);
  assert.deepEqual(Object.keys(w.servers()), ['memory', 'files', 'issues']);
  const imported = await w.json(0, 'import');
  assert.deepEqual(imported.servers.map((s) => [s.name, s.status]), [['toolgate', 'own']]);
  assert.deepEqual(Object.keys(w.servers()), ['memory', 'files', 'issues']);
});

test('in a connected project, commands read the servers that moved', async (t) => {
  const w = new World(t, { '.mcp.json': { mcpServers: { shout: { command: 'cat' } } } });
  await w.run('connect', 'claude-code');
  const checked = await w.json(0, 'check');
  assert.match(JSON.stringify(checked), /shout/);
});

test('a client that starts programs only is not given a URL; others are', async (t) => {
  const w = new World(t);
  const url = 'http://127.0.0.1:8811/mcp';
  assert.equal((await w.run('connect', 'claude-desktop', '--http', url)).status, 2);
  await w.json(0, 'connect', 'gemini', '--user', '--http', url);
  assert.deepEqual(JSON.parse(w.read('~/.gemini/settings.json')), { mcpServers: { toolgate: { httpUrl: url } } });
  await w.json(0, 'connect', 'gemini', '--undo');
  assert.equal(fs.existsSync(w.at('~/.gemini/settings.json')), false);
});

describe('a project whose client connects to the gateway that serves it', () => {
  const textkit = () => ({ command: path.join(path.dirname(toolgate()), 'examples/quickstart/textkit') });
  const names = async (w) => (await w.json(0, 'status')).servers.map((s) => s.name);

  test('the gateway serves the servers that moved, after the reload and after a restart', async (t) => {
    const w = new World(t, { '.mcp.json': { mcpServers: { textkit: textkit() } } });
    const first = await w.serve(t);
    await w.json(0, 'connect', 'claude-code', '--http', first.url);
    await first.program.says(/reload: applied/);
    assert.deepEqual(await names(w), ['textkit']);
    assert.doesNotMatch(first.program.stderr, /is this gateway itself|no server is configured/);
    assert.equal((await w.json(0, 'status')).pid, first.program.pid);
    await first.program.stop();

    const second = await w.serve(t);
    assert.deepEqual(await names(w), ['textkit']);
    const found = await w.run('browse', 'count words', '--log-level', 'info');
    assert.match(found.stdout, /textkit:word_count/);
    assert.match(found.stderr, new RegExp(`using the running gateway, pid ${second.program.pid}`));
    await w.json(0, 'add', 'more', 'https://more.example/mcp');
    assert.deepEqual(Object.keys(w.servers()), ['textkit', 'more'], 'added where the servers are');
    await second.program.says(/reload: applied/);
    await w.json(0, 'connect', 'claude-code', '--undo');
    assert.deepEqual(JSON.parse(w.read('.mcp.json')), { mcpServers: { textkit: textkit() } });
  });

  test('check reads the servers that moved, without warnings', async (t) => {
    const w = new World(t, { '.mcp.json': { mcpServers: { textkit: textkit() } } });
    await w.json(0, 'connect', 'claude-code', '--http', 'http://127.0.0.1:1/mcp');
    const checked = await w.run('check');
    assert.equal(checked.status, 0, checked.stdout);
    assert.match(checked.stdout, /textkit/);
    assert.match(checked.stdout, /^ok: 0 errors, 0 warnings$/m);
  });

  test('an entry under another name counts when its URL is the address of the gateway', async (t) => {
    const w = new World(t, { '~/.config/toolgate/mcp.json': { mcpServers: { textkit: textkit() } } });
    const address = { host: '127.0.0.1', port: 1, transport: 'http' };
    w.write('toolgate.json', address);
    const checked = async (url) => {
      w.write('.mcp.json', { mcpServers: { gate: { type: 'http', url } } });
      return (await w.run('check')).stdout;
    };
    assert.match(await checked('http://localhost:1/mcp'), /textkit/);
    assert.doesNotMatch(await checked('http://localhost:2/mcp'), /textkit/);
  });

  test('an entry for Toolgate is a server like any other while the user has no file of servers', async (t) => {
    const w = new World(t, { '.mcp.json': { mcpServers: { toolgate: { url: 'http://127.0.0.1:1/mcp' } } } });
    const checked = await w.run('check');
    assert.equal(checked.status, 0, checked.stdout);
    assert.match(checked.stdout, /http:\/\/127\.0\.0\.1:1\/mcp/);
  });
});

const RULES = { agents: { reader: { allow: { servers: ['*'] } } } };
const argsOf = (w, file = '.mcp.json') => JSON.parse(w.read(file)).mcpServers.toolgate.args;
const plain = (w) => ['serve', '--mcp-config', w.own];

describe('the entry names the files that hold in the project', () => {
  test('configuration and rules, wherever the client starts Toolgate', async (t) => {
    const w = new World(t, { '.mcp.json': CLAUDE, 'toolgate.yaml': 'result:\n  scrub: true\n', '.mcp-gateway-rules.json': RULES });
    await w.json(0, 'connect', 'claude-code');
    const named = [...plain(w), '--config', w.at('toolgate.yaml'), '--rules', w.at('.mcp-gateway-rules.json')];
    assert.deepEqual(argsOf(w), named);
    assert.equal((await w.json(0, 'connect', 'claude-code')).changed, false);
    fs.mkdirSync(w.at('sub'));
    const seen = await run(toolgate(), ['check', ...named.slice(1)], { cwd: w.at('sub'), env: gatewayEnv(w.env) });
    assert.match(seen.stdout, /^rules: 1 agent/m);
    await w.json(0, 'connect', 'claude-code', '--undo');
    assert.equal(w.read('.mcp.json'), CLAUDE);
  });

  test('rules that the configuration names need no option', async (t) => {
    const w = new World(t, { '.mcp.json': CLAUDE, 'toolgate.yaml': 'rules: mine.json\n', 'mine.json': RULES });
    await w.json(0, 'connect', 'claude-code');
    assert.deepEqual(argsOf(w), [...plain(w), '--config', w.at('toolgate.yaml')]);
  });

  test('and stdio, if the configuration or the environment says http', async (t) => {
    const w = new World(t, { '.mcp.json': CLAUDE, 'toolgate.yaml': 'transport: http\n' });
    await w.json(0, 'connect', 'claude-code');
    assert.deepEqual(argsOf(w), [...plain(w), '--config', w.at('toolgate.yaml'), '--transport', 'stdio']);
    const other = new World(t, { '.mcp.json': CLAUDE });
    other.env.GATEWAY_TRANSPORT = 'http';
    await other.json(0, 'connect', 'claude-code');
    assert.deepEqual(argsOf(other), [...plain(other), '--transport', 'stdio']);
  });

  test('--config and --rules name others; files that cannot be used are refused', async (t) => {
    const w = new World(t, { '.mcp.json': CLAUDE, 'a.yaml': '', 'toolgate.yaml': 'no_such_key: 1\n', 'r.json': RULES });
    assert.equal((await w.run('connect', 'claude-code')).status, 1);
    assert.equal(w.read('.mcp.json'), CLAUDE);
    await w.json(0, 'connect', 'claude-code', '--config', 'a.yaml', '--rules', 'r.json');
    assert.deepEqual(argsOf(w), [...plain(w), '--config', w.at('a.yaml'), '--rules', w.at('r.json')]);
  });

  test('an entry with a URL names none', async (t) => {
    const w = new World(t, { '.mcp.json': CLAUDE, 'toolgate.yaml': 'no_such_key: 1\n' });
    await w.json(0, 'connect', 'claude-code', '--http', 'http://127.0.0.1:1/mcp');
    assert.deepEqual(JSON.parse(w.read('.mcp.json')).mcpServers.toolgate, { type: 'http', url: 'http://127.0.0.1:1/mcp' });
  });
});

describe('a second connect changes only what must change', () => {
  test('arguments and variables that were added stay, and the backup is that of the first', async (t) => {
    const w = new World(t, { '.mcp.json': CLAUDE });
    await w.json(0, 'connect', 'claude-code');
    const entry = { ...serve(w), args: ['serve', '--agent', 'reader', '--mcp-config', w.own], env: { A: 'b' } };
    w.write('.mcp.json', { mcpServers: { toolgate: entry } });
    const edited = w.read('.mcp.json');
    assert.equal((await w.json(0, 'connect', 'claude-code')).changed, false);
    assert.equal(w.read('.mcp.json'), edited);
    w.write('.mcp-gateway-rules.json', RULES);
    await w.json(0, 'connect', 'claude-code');
    assert.deepEqual(JSON.parse(w.read('.mcp.json')).mcpServers.toolgate,
      { ...entry, args: [...entry.args, '--rules', w.at('.mcp-gateway-rules.json')] });
    assert.ok(w.backups('.mcp.json').some((name) => w.read(name) === CLAUDE), 'the original is there');
  });

  test('another file of servers, rules that were named, and headers beside a URL stay', async (t) => {
    const w = new World(t, { '.mcp-gateway-rules.json': RULES, 'mine.json': RULES });
    const args = ['serve', `--mcp-config=${w.at('~/own.json')}`, '--rules', w.at('mine.json')];
    w.write('.mcp.json', { mcpServers: { toolgate: { command: command(), args }, late: { url: 'https://late.example/mcp' } } });
    await w.json(0, 'connect', 'claude-code');
    assert.deepEqual(argsOf(w), args);
    assert.deepEqual(Object.keys(JSON.parse(w.read('~/own.json')).mcpServers), ['late']);
    const headers = { 'X-Team': 'a' };
    w.write('.mcp.json', { mcpServers: { toolgate: { type: 'http', url: 'http://127.0.0.1:1/mcp', headers } } });
    await w.json(0, 'connect', 'claude-code', '--http', 'http://127.0.0.1:2/mcp');
    assert.deepEqual(JSON.parse(w.read('.mcp.json')).mcpServers.toolgate,
      { type: 'http', url: 'http://127.0.0.1:2/mcp', headers });
  });

  test('an entry that names the file that it is in gets another one, so that no server is lost', async (t) => {
    const w = new World(t);
    const args = ['serve', '--mcp-config', w.at('.mcp.json')];
    w.write('.mcp.json', { mcpServers: { toolgate: { command: command(), args }, web: { url: 'https://web.example/mcp' } } });
    await w.json(0, 'connect', 'claude-code');
    assert.deepEqual([argsOf(w), Object.keys(w.servers())], [plain(w), ['web']]);
  });

  test('in the tables of Codex and the one list of opencode too', async (t) => {
    const toml = `[mcp_servers.toolgate]\ncommand = "toolgate"\nargs = ["serve", "--agent", "reader"]\n\n[mcp_servers.toolgate.env]\nA = "b"\n`;
    const w = new World(t, { '~/.codex/config.toml': toml });
    await w.json(0, 'connect', 'codex');
    assert.equal(w.read('~/.codex/config.toml'), `[mcp_servers.toolgate]\ncommand = "${command()}"
args = ["serve", "--agent", "reader", "--mcp-config", "${w.own}"]\nenv = { "A" = "b" }\n`);
    w.write('opencode.json', { mcp: { toolgate: { type: 'local', command: ['toolgate', 'serve', '--debug'], enabled: false } } });
    await w.json(0, 'connect', 'opencode');
    assert.deepEqual(JSON.parse(w.read('opencode.json')).mcp.toolgate,
      { type: 'local', command: [command(), 'serve', '--debug', '--mcp-config', w.own], enabled: false });
  });

  test('no backup is overwritten: undo puts back the text before the last connect, and the older backup stays', async (t) => {
    const w = new World(t, { '.mcp.json': CLAUDE });
    await w.json(0, 'connect', 'claude-code');
    const again = JSON.stringify(JSON.parse(CLAUDE), null, 2) + '\n';
    w.write('.mcp.json', again);
    await w.json(0, 'connect', 'claude-code');
    assert.deepEqual(w.backups('.mcp.json').map(w.read).sort(), [CLAUDE, again].sort());
    await w.json(0, 'connect', 'claude-code', '--undo');
    assert.equal(w.read('.mcp.json'), again);
    assert.deepEqual(w.backups('.mcp.json').map(w.read), [CLAUDE]);
  });
});

describe('who the client is', () => {
  const url = 'http://127.0.0.1:1/mcp';
  const TOKENS = {
    'claude-code': { type: 'http', url, headers: { Authorization: 'Bearer ${GATE_TOKEN}' } },
    cursor: { url, headers: { Authorization: 'Bearer ${env:GATE_TOKEN}' } },
    vscode: { type: 'http', url, headers: { Authorization: 'Bearer ${env:GATE_TOKEN}' } },
    windsurf: { serverUrl: url, headers: { Authorization: 'Bearer ${env:GATE_TOKEN}' } },
    gemini: { httpUrl: url, headers: { Authorization: 'Bearer ${GATE_TOKEN}' } },
    codex: { url, bearer_token_env_var: 'GATE_TOKEN' },
    opencode: { type: 'remote', url, enabled: true, headers: { Authorization: 'Bearer {env:GATE_TOKEN}' } },
  };
  for (const [client, entry] of Object.entries(TOKENS))
    test(`--token-env: ${client} reads its token from a variable`, async (t) => {
      const w = new World(t);
      const connected = await w.json(0, 'connect', client, '--user', '--http', url, '--token-env', 'GATE_TOKEN');
      assert.deepEqual(connected.entry, entry);
      const again = await w.json(0, 'connect', client, '--user', '--http', url);
      assert.deepEqual([again.changed, again.entry], [false, entry], 'the token stays');
    });

  test('other headers stay beside the token', async (t) => {
    const headers = { 'X-Team': 'a', Authorization: 'Bearer old' };
    const w = new World(t, { '.mcp.json': { mcpServers: { toolgate: { type: 'http', url, headers } } } });
    const { entry } = await w.json(0, 'connect', 'claude-code', '--http', url, '--token-env', 'T');
    assert.deepEqual(entry.headers, { 'X-Team': 'a', Authorization: 'Bearer ${T}' });
  });

  test('--agent: Toolgate is started as an agent of the rules', async (t) => {
    const w = new World(t, { '.mcp.json': CLAUDE });
    assert.equal((await w.run('connect', 'claude-code', '--agent', 'reader')).status, 1, 'there are no rules');
    w.write('.mcp-gateway-rules.json', RULES);
    assert.equal((await w.run('connect', 'claude-code', '--agent', 'ghost')).status, 1, 'no rule knows it');
    assert.equal(w.read('.mcp.json'), CLAUDE);
    await w.json(0, 'connect', 'claude-code', '--agent', 'reader');
    assert.deepEqual(argsOf(w), [...plain(w), '--rules', w.at('.mcp-gateway-rules.json'), '--agent', 'reader']);
    assert.equal((await w.json(0, 'connect', 'claude-code')).changed, false);
  });

  test('what does not go together ends with 2 and says what to do', async (t) => {
    const w = new World(t);
    for (const [pattern, ...args] of [
      [/token new --agent/, 'cursor', '--http', url, '--agent', 'reader'],
      [/--http/, 'cursor', '--token-env', 'T'],
      [/name of a variable/, 'cursor', '--http', url, '--token-env', 'a b'],
      [/cannot refer to a variable/, 'zed', '--http', url, '--token-env', 'T'],
    ]) {
      const r = await w.run('connect', ...args);
      assert.equal(r.status, 2, `${args}`);
      assert.match(r.stderr, pattern);
    }
  });
});

test('--project and --user say which file; servers in the other one are named', async (t) => {
  const w = new World(t, { '.mcp.json': CLAUDE, '~/.claude.json': { mcpServers: { u: { command: 'u' } } } });
  const r = await w.run('connect', 'claude-code', '--user');
  assert.equal(r.status, 0, r.stderr);
  assert.match(r.stderr, /\.mcp\.json has 3 more servers; toolgate connect claude-code --project moves them/);
  assert.equal(w.read('.mcp.json'), CLAUDE);
  assert.deepEqual(JSON.parse(w.read('~/.claude.json')), { mcpServers: { toolgate: serve(w) } });
});

test('the entry names the program as PATH does, when that is this program', async (t) => {
  const w = new World(t);
  fs.mkdirSync(w.at('~/bin'));
  fs.symlinkSync(gatewayPath(), w.at('~/bin/toolgate'));
  const env = { PATH: `${w.at('~/bin')}:${process.env.PATH}`, HOME: w.home };
  const r = await run(gatewayPath(), ['connect', 'claude-code', '--project'], { cwd: w.project, env });
  assert.equal(r.status, 0, r.stderr);
  assert.equal(JSON.parse(w.read('.mcp.json')).mcpServers.toolgate.command, 'toolgate');
});

describe('files are changed as a whole or not at all', () => {
  test('what is no JSON is refused with its line, and nothing is written', async (t) => {
    const bad = '{\n  // mine\n  "mcpServers": {\n    "a" {}\n  }\n}\n';
    const w = new World(t, { '.mcp.json': bad });
    for (const command of ['import', 'connect']) {
      const r = await w.run(command, 'claude-code');
      assert.equal(r.status, 1);
      assert.match(r.stderr, /\.mcp\.json:4:9: /);
    }
    assert.equal(w.read('.mcp.json'), bad);
    assert.equal(fs.existsSync(w.own), false);
    assert.deepEqual(w.backups('.mcp.json'), []);
  });

  test('--dry-run writes nothing', async (t) => {
    const w = new World(t, { '.mcp.json': CLAUDE });
    assert.equal((await w.json(0, 'connect', 'claude-code', '--dry-run')).changed, true);
    assert.equal(w.read('.mcp.json'), CLAUDE);
    assert.equal(fs.existsSync(w.own), false);
  });

  test('a link stays a link, and its file is changed', async (t) => {
    const w = new World(t, { 'dotfiles/mcp.json': CLAUDE });
    fs.symlinkSync('dotfiles/mcp.json', w.at('.mcp.json'));
    await w.json(0, 'connect', 'claude-code');
    assert.ok(fs.lstatSync(w.at('.mcp.json')).isSymbolicLink());
    assert.deepEqual(Object.keys(JSON.parse(w.read('dotfiles/mcp.json')).mcpServers), ['toolgate']);
    await w.json(0, 'connect', 'claude-code', '--undo');
    assert.equal(w.read('dotfiles/mcp.json'), CLAUDE);
  });

  test('a link to a file that does not exist is refused and stays', async (t) => {
    const w = new World(t);
    fs.symlinkSync('dotfiles/mcp.json', w.at('.mcp.json'));
    for (const args of [[], ['--project'], ['--dry-run']]) {
      const r = await w.run('connect', 'claude-code', ...args);
      assert.equal(r.status, 1, `${args}: ${r.stdout}`);
      assert.match(r.stderr, /\.mcp\.json: the path is a link to a file that does not exist/);
    }
    assert.equal(fs.readlinkSync(w.at('.mcp.json')), 'dotfiles/mcp.json');
    assert.deepEqual([fs.existsSync(w.own), fs.existsSync(w.at('~/.claude.json'))], [false, false]);
  });

  const asRoot = { skip: process.getuid() !== 0 && 'only root can give files away' };
  test('undo refuses a link in place of a backup', async (t) => {
    const w = new World(t, { '.mcp.json': CLAUDE });
    await w.json(0, 'connect', 'claude-code');
    const [backup] = w.backups('.mcp.json'), connected = w.read('.mcp.json');
    const secret = w.write('secret.json', { mcpServers: {}, token: 'of the user' });
    fs.rmSync(w.at(backup));
    fs.symlinkSync(secret, w.at(backup));
    for (const args of [[], ['--force']]) {
      const r = await w.run('connect', 'claude-code', '--undo', ...args);
      assert.equal(r.status, 3, `${args}: ${r.stdout}`);
      assert.match(r.stderr, /cannot use the backup .*: it is a link/);
    }
    assert.equal(w.read('.mcp.json'), connected);
  });

  test('undo refuses a backup that another user may have written', asRoot, async (t) => {
    const NOBODY = 65534, w = new World(t, { '.mcp.json': CLAUDE });
    await w.json(0, 'connect', 'claude-code');
    const backup = fs.readdirSync(w.project).find((name) => name.includes('.toolgate-backup-')), connected = w.read('.mcp.json');
    w.write(backup, { mcpServers: { evil: { command: '/bin/false' } } }, 0o644);
    fs.chownSync(w.at(backup), NOBODY, NOBODY);
    for (const args of [[], ['--force'], ['--dry-run']]) {
      const r = await w.run('connect', 'claude-code', '--undo', ...args);
      assert.notEqual(r.status, 0, `${args}: ${r.stdout}`);
      assert.match(r.stderr, /cannot use the backup .*: refused, because another user/);
    }
    assert.equal(w.read('.mcp.json'), connected);
  });

  test('undo restores a file in a folder with any name', async (t) => {
    const w = new World(t, { '.mcp.json': CLAUDE });
    const odd = `${w.project}.toolgate-created-1`;
    fs.renameSync(w.project, odd);
    w.project = odd;
    await w.json(0, 'connect', 'claude-code');
    await w.json(0, 'connect', 'claude-code', '--undo');
    assert.equal(w.read('.mcp.json'), CLAUDE);
  });

  for (const [client, it] of Object.entries(CLIENTS)) {
    test(`${client}: undo refuses a file that was changed since; --force puts the servers back and keeps the change`, async (t) => {
      const w = new World(t, { [it.file]: it.text });
      await w.json(0, 'connect', client);
      const toml = it.file.endsWith('.toml');
      const changed = toml ? `new = 1\n${w.read(it.file)}` : w.read(it.file).replace('{', '{"new": 1, ');
      w.write(it.file, changed);
      const r = await w.run('connect', client, '--undo');
      assert.equal(r.status, 1);
      assert.match(r.stderr, /the file was changed after `toolgate connect`/);
      assert.equal(w.read(it.file), changed);
      await w.json(0, 'connect', client, '--undo', '--force');
      assert.match(w.read(it.file), /new/);
      assert.doesNotMatch(w.read(it.file), /toolgate/);
      fs.rmSync(w.own);
      await w.json(0, 'import', client);
      assert.deepEqual(w.servers(), it.servers(w));
      assert.equal((await w.run('connect', client, '--undo')).status, 1);
    });
  }
});

test('the examples of docs/reference/connect.md print what is shown there', async (t) => {
  const page = fs.readFileSync(path.join(ROOT, 'docs/reference/connect.md'), 'utf8');
  const w = new World(t, { '.mcp.json': /```json\n([^`]+)```/.exec(page)[1] });
  const bin = w.at('~/bin');
  fs.mkdirSync(bin);
  fs.symlinkSync(gatewayPath(), path.join(bin, 'toolgate'));
  const env = { PATH: `${bin}:${process.env.PATH}`, HOME: w.home };
  for (const { at, text, shown } of commandBlocks('docs/reference/connect.md')) {
    const r = await run('/bin/sh', ['-e', '-c', text], { cwd: w.project, env });
    assert.equal(r.status, 0, `${at}: ${r.stderr}`);
    const said = r.stdout.replaceAll(w.project, '/srv/shop').replaceAll(w.home, '/srv/ada');
    if (shown !== undefined) assert.equal(said, shown, at);
  }
});

test('a wrong command line ends with 2', async (t) => {
  const w = new World(t);
  for (const args of [
    ['import', 'emacs'], ['import', 'zed', 'zed'], ['connect'], ['connect', 'emacs'], ['connect', 'zed', '--http', 'no'],
    ['connect', 'zed', '--http', ''],
    ['connect', 'claude-desktop', '--project'], ['connect', 'cursor', '--project', '--user'],
  ]) {
    const r = await w.run(...args);
    assert.equal(r.status, 2, `${args}: ${r.stdout}${r.stderr}`);
    assert.match(r.stderr, new RegExp(`^toolgate ${args[0]}: `));
  }
  assert.match((await w.run('connect', 'emacs')).stderr, /"emacs".* claude-code, .*zed$/m, 'which clients there are');
  assert.equal((await w.run('import')).status, 1);
});

test('an entry that grows too large when its variables are replaced is refused; the others are imported', async (t) => {
  const home = tempDir(t), cwd = path.join(home, 'p'.repeat(200));
  fs.mkdirSync(path.join(cwd, '.cursor'), { recursive: true });
  const mcpServers = { big: { command: 'x', args: Array(11_000).fill('${workspaceFolder}') }, small: { command: 'y' } };
  fs.writeFileSync(path.join(cwd, '.cursor/mcp.json'), JSON.stringify({ mcpServers }));
  const r = await runToolgate(['import', 'cursor'], { cwd, env: { HOME: home } });
  assert.equal(r.status, 0, r.stderr);
  assert.match(r.stdout, /! big {2}cannot be used: the entry is too large once its variables are replaced/);
  assert.match(r.stdout, /\+ small {2}y/);
});
