# SPDX-License-Identifier: Apache-2.0
"""What is measured: the upstream itself, nginx in front of it, and Toolgate in front of an upstream of each kind.

An upstream speaks one era of the protocol: "handshake" (2025-11-25) or "modern" (2026-07-28, stateless).
"""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import time

NGINX_CONFIG = """
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  keepalive_requests 100000000; client_body_buffer_size 1m;
  upstream up {{ server 127.0.0.1:{upstream}; keepalive 256; keepalive_requests 100000000; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }}
  }}
}}
"""

INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
MODERN_LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}}

START_LIMIT = 20.0


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def find_nginx(bench):
    unpacked = os.path.join(bench, "nginx/usr/sbin/nginx")
    return shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin") or \
        (unpacked if os.access(unpacked, os.X_OK) else None)


def _reply(response):
    text = response.read().decode()
    if "text/event-stream" in response.getheader("Content-Type", ""):
        text = next(line[5:] for line in text.splitlines() if line.startswith("data:") and '"result"' in line)
    return json.loads(text) if text else None


class Endpoint:
    """An MCP endpoint, asked over one connection; with a session from shake_hands on."""

    def __init__(self, port, path):
        self.path = path
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=START_LIMIT)
        self.headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def post(self, message):
        """The answer, and the id of the session that it opens, if it does."""
        self.connection.request("POST", self.path, json.dumps(message), self.headers)
        response = self.connection.getresponse()
        return _reply(response), response.getheader("Mcp-Session-Id")

    def shake_hands(self):
        _, session = self.post(INITIALIZE)
        self.headers["MCP-Protocol-Version"] = "2025-11-25"
        if session:
            self.headers["Mcp-Session-Id"] = session
        self.post(INITIALIZED)


def list_tools(port, era):
    """The names of the tools that an MCP endpoint lists, after a handshake of its own where the era has one."""
    with Endpoint(port, "/mcp") as endpoint:
        if era == "modern":
            endpoint.headers.update({"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"})
        else:
            endpoint.shake_hands()
        answer, _ = endpoint.post(MODERN_LIST if era == "modern" else LIST)
        return [tool["name"] for tool in answer["result"]["tools"]]


GOVERNANCE = {  # a permission with constraints, a rule with a condition, and records of every decision and call
    "adapters": [{"adapter_id": "adp_up", "type": "MCP", "server": "up", "capabilities": [
        {"name": "echo", "class": "act", "approval_mode": "network"}]}],
    "permissions": [{"permission_id": "p", "adapter_id": "adp_up", "capability": "echo", "allow": True,
                     "arg_constraints": {"message": {"required": True, "maxLength": 1000}}}],
    "bundles": [{"bundle_id": "b", "policy_dsl": {"language": "jsonlogic", "rules": [
        {"rule_id": "r", "if": {"!=": [{"var": "args.message"}, "no"]}, "then": {"allow": True}}]}}],
}
GOVERNED = {"governance": "governance.json", "state_dir": "state"}


def write_governance(folder):
    with open(os.path.join(folder, GOVERNED["governance"]), "w") as f:
        json.dump(GOVERNANCE, f)


def tool_id(port, name):
    """The id by which tool_execute calls a tool."""
    with Endpoint(port, "/mcp/gateway") as endpoint:
        endpoint.shake_hands()
        asks = {"io.toolgate/structured": True}
        browse = {"name": "tool_browse", "arguments": {"query": name}, "_meta": asks}
        answer, _ = endpoint.post({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": browse})
        cards = answer["result"]["structuredContent"]["cards"]
        return next(card["id"] for card in cards if card["name"] == name)


class Target:
    """A process that serves MCP on a port of 127.0.0.1."""

    def __init__(self, name, port, command, folder, era="handshake"):
        self.name, self.port, self.command, self.folder, self.era = name, port, command, folder, era
        self.process = None
        self.start_seconds = None

    def start(self):
        """Starts it and waits until its list holds the tool; remembers how long that took."""
        log = open(os.path.join(self.folder, self.name.replace(" ", "-") + ".log"), "w")
        begun = time.monotonic()
        # What a gateway kept in another run must not be what is measured.
        env = {**os.environ, "XDG_STATE_HOME": os.path.join(self.folder, "state")}
        self.process = subprocess.Popen(self.command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                        env=env)
        log.close()
        while time.monotonic() - begun < START_LIMIT:
            if self.process.poll() is not None:
                break
            try:
                # Where several upstreams have it, it is called UPSTREAM__echo.
                if any(name.endswith("echo") for name in list_tools(self.port, self.era)):
                    self.start_seconds = time.monotonic() - begun
                    return
            except (OSError, http.client.HTTPException, StopIteration, ValueError, KeyError, TypeError):
                pass  # not yet
            time.sleep(0.0005)
        with open(log.name) as f:
            raise RuntimeError(f"{self.name} did not start: {' '.join(self.command)}\n{f.read()[-2000:]}")

    def stop(self):
        if not self.process:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Factory:
    """Makes targets; each has ports and a folder of its own."""

    def __init__(self, bench, gateway):
        self.bench, self.gateway = bench, gateway
        self.nginx_program = find_nginx(bench)
        self.count = 0

    def _folder(self):
        self.count += 1
        folder = os.path.join(self.bench, "run", str(self.count))
        os.makedirs(folder)
        return folder

    def direct(self, era="handshake"):
        port = free_port()
        return Target("direct", port, [os.path.join(self.bench, "upstream_http"), str(port), era], self._folder(), era)

    def nginx(self, upstream_port):
        port, folder = free_port(), self._folder()
        with open(os.path.join(folder, "nginx.conf"), "w") as f:
            f.write(NGINX_CONFIG.format(folder=folder, upstream=upstream_port, port=port))
        log = os.path.join(folder, "nginx.log")
        return Target("nginx", port, [self.nginx_program, "-p", folder, "-e", log, "-c", f.name], folder)

    def _toolgate(self, name, servers, config=None):
        port, folder = free_port(), self._folder()
        write_governance(folder)
        with open(os.path.join(folder, "toolgate.json"), "w") as f:
            json.dump({**(config or {}), "modes": ["gateway"], "servers": servers}, f)
        return Target(name, port, [self.gateway, "serve", "--config", f.name, "--mode", "direct", "--transport",
                                   "http", "--listen", f"127.0.0.1:{port}"], folder)

    def toolgate_http(self, upstream_port, audit=False, governed=False):
        config = {"audit": {"file": "audit.jsonl", "on_failure": "deny"}} if audit else GOVERNED if governed else {}
        return self._toolgate("toolgate to HTTP" + (", audit" if audit else ", governed" if governed else ""),
                              {"up": {"url": f"http://127.0.0.1:{upstream_port}/mcp"}}, config)

    def toolgate_stdio(self, upstreams=1):
        command = os.path.join(self.bench, "upstream_stdio")
        names = ["up"] + [f"more{i}" for i in range(1, upstreams)]
        return self._toolgate("toolgate to stdio", {name: {"command": command} for name in names})


def start_upstream_alone(bench):
    """Seconds from starting the stdio upstream to its list of tools, without any gateway."""
    begun = time.monotonic()
    child = subprocess.Popen([os.path.join(bench, "upstream_stdio")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for message in (INITIALIZE, INITIALIZED, LIST):
        child.stdin.write(json.dumps(message).encode() + b"\n")
        child.stdin.flush()
        if "id" in message:
            child.stdout.readline()
    seconds = time.monotonic() - begun
    child.stdin.close()
    child.wait()
    return seconds
