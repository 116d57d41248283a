#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the operations of mode servers take, as an agent sees it: on stdio, before real servers on stdio.

usage: bench/agents.py [--calls N] [--servers N] [--tools N] [--agents N] [--audit] [--gateway PROGRAM]

An agent of many, each with rules of its own, asks one thing after the other and waits for each answer. A round does each
operation once, with the gateway and, for execute_tool, with the server itself, so that what else the machine does hits
all of them alike. The overhead of execute_tool is that of one round: through the gateway, minus without it.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
UPSTREAM = ROOT / "build/bench/upstream_stdio"
WARM_UP = 200


class Peer:
    """An MCP server on stdio that is asked one thing at a time."""

    def __init__(self, argv, cwd):
        self.process = subprocess.Popen(argv, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, bufsize=0)
        self.lines = open(self.process.stdout.fileno(), "rb", closefd=False)
        self.id = 0
        client = {"name": "bench", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def ask(self, method, params):
        """Microseconds until the answer, and the answer."""
        self.id += 1
        text = json.dumps({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}).encode() + b"\n"
        began = time.perf_counter_ns()
        self.process.stdin.write(text)
        while True:
            line = self.lines.readline()
            took = (time.perf_counter_ns() - began) / 1000
            if not line:
                raise SystemExit(f"{self.process.args[0]} ended")
            answer = json.loads(line)
            if answer.get("id") == self.id:
                return took, answer

    def call(self, name, arguments):
        took, answer = self.ask("tools/call", {"name": name, "arguments": arguments})
        if "error" in answer or answer["result"].get("isError"):
            raise SystemExit(f"{name} failed: {answer}")
        return took

    def stop(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)


def configure(folder, options):
    servers = {f"s{i}": {"command": str(UPSTREAM), "args": [str(options.tools)], "isolation": "shared",
                         "description": f"Server number {i}"} for i in range(options.servers)}
    agents = {f"agent{i}": {"allow": {"servers": ["*"], "tools": {"*": ["echo", "pad_*"]}},
                            "deny": {"tools": {"s1": ["pad_0002"]}}} for i in range(options.agents)}
    config = {"mode": "servers", "rules": "rules.json", "state_dir": "none"}
    if options.audit:
        config["audit"] = {"file": "audit.jsonl"}
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    (folder / "rules.json").write_text(json.dumps({"agents": agents}))
    (folder / "toolgate.json").write_text(json.dumps(config))


def operations(gateway, server, agent):
    """Name, and what does it once and gives its microseconds."""
    me = {"agent_id": agent}
    echo = {"message": "hello"}
    execute = {**me, "server": "s0", "tool": "echo", "args": echo}
    return {
        "list_servers": lambda: gateway.call("list_servers", me),
        "get_server_tools": lambda: gateway.call("get_server_tools", {**me, "server": "s1"}),
        "get_server_tools, 1000 tokens": lambda: gateway.call(
            "get_server_tools", {**me, "server": "s1", "max_schema_tokens": 1000}),
        "execute_tool": lambda: gateway.call("execute_tool", execute),
        "the server itself": lambda: server.call("echo", echo),
    }


def measure(gateway, server, options):
    ops = operations(gateway, server, f"agent{options.agents // 2}")
    times = {name: [] for name in ops}
    for i in range(options.calls + WARM_UP):
        for name, run in ops.items():
            took = run()
            if i >= WARM_UP:
                times[name].append(took)
    times["execute_tool, overhead"] = [a - b for a, b in zip(times["execute_tool"], times["the server itself"])]
    return times


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def report(times, options):
    print(f"{options.servers} servers of {options.tools} tools, {options.agents} agents, "
          f"audit {'on' if options.audit else 'off'}, {options.calls} rounds\n")
    print("| operation | p50 | p95 | p99 |\n| --- | ---: | ---: | ---: |")
    for name, values in times.items():
        print(f"| {name} | " + " | ".join(f"{percentile(values, p) / 1000:.3f} ms" for p in (0.5, 0.95, 0.99)) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    for name, value in {"calls": 2000, "servers": 10, "tools": 50, "agents": 50}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--audit", action="store_true")
    parser.add_argument("--gateway", default=str(ROOT / "build/toolgate"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        configure(pathlib.Path(folder), options)
        gateway = Peer([str(pathlib.Path(options.gateway).resolve()), "serve", "--config", "toolgate.json"], folder)
        server = Peer([str(UPSTREAM), str(options.tools)], folder)
        report(measure(gateway, server, options), options)
        gateway.stop()
        server.stop()


if __name__ == "__main__":
    main()
