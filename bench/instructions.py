#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of a call in the gateway's own code (user space), for one program or more; prints Markdown.

  python3 bench/instructions.py [--connections N] [--secs N] PROGRAM...

Needs valgrind. On a shared machine times vary by a fifth even between two runs of one program; this count varies by
less than one per cent. The gateway runs under callgrind twice, with a short and a long load: the difference of the
instructions divided by the difference of the calls leaves out the start. Only 127.0.0.1 is used.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing is built outside build/
import targets

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BENCH = os.path.join(ROOT, "build/bench")
WARMUP = 100
AUDIT = {"audit": {"file": "audit.jsonl", "on_failure": "deny"}}
KINDS = {  # name: configuration, whether tool_execute makes the calls
    "toolgate to HTTP": ({}, False),
    "toolgate, tool_execute": ({}, True),
    "toolgate, tool_execute, audit": (AUDIT, True),
    "toolgate, tool_execute, governed": (targets.GOVERNED, True),
    "toolgate, tool_execute, governed, audit": ({**targets.GOVERNED, **AUDIT}, True),
}


def run(program, config, execute, upstream, secs, connections):
    """The calls that were answered and the instructions of the gateway, its start included."""
    # The guard of the gateway can outlive it for a moment and write its own profile then.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        port = targets.free_port()
        servers = {"up": {"url": f"http://127.0.0.1:{upstream}/mcp"}}
        with open(os.path.join(folder, "toolgate.json"), "w") as f:
            json.dump({**config, "mode": "direct", "modes": ["gateway"], "servers": servers}, f)
        targets.write_governance(folder)
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out.%p", program, "serve",
                   "--config", f.name, "--transport", "http", "--listen", f"127.0.0.1:{port}"]
        gateway = targets.Target("gateway", port, command, folder)
        try:
            gateway.start()
            load = [os.path.join(BENCH, "mcpload"), "-c", str(connections), "-t", str(secs), "-w", str(WARMUP)]
            load += ["-x", targets.tool_id(port, "echo"), f"127.0.0.1:{port}/mcp/gateway"] if execute else \
                [f"127.0.0.1:{port}/mcp"]
            result = json.loads(subprocess.run(load, stdout=subprocess.PIPE, check=True, text=True).stdout)
        finally:
            gateway.stop()
        # The guard writes a profile too, a small one.
        profile = max(glob.glob(f"{folder}/out.*"), key=os.path.getsize)
        with open(profile) as f:
            total = int(re.search(r"^(?:summary|totals): (\d+)", f.read(), re.MULTILINE)[1])
        return result["ok"] + WARMUP, total


def per_call(program, kind, upstream, options):
    """None if the program does not start with this configuration: an older one may not know its keys."""
    config, execute = KINDS[kind]
    try:
        few, start = run(program, config, execute, upstream, 1, options.connections)
        many, end = run(program, config, execute, upstream, options.secs, options.connections)
    except RuntimeError:
        return None
    return (end - start) / (many - few)


def cell(count, base):
    if count is None:
        return " – |"
    return f" {count:,.0f} |" if base is None or base is count else f" {count:,.0f} ({count / base:.3f}) |"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--secs", type=int, default=6, help="of the longer load")
    parser.add_argument("programs", nargs="+")
    options = parser.parse_args()
    port = targets.free_port()
    upstream = targets.Target("upstream", port, [os.path.join(BENCH, "upstream_http"), str(port), "handshake"], BENCH)
    upstream.start()
    try:
        print("| target |" + "".join(f" {program} |" for program in options.programs))
        print("| --- |" + " ---: |" * len(options.programs))
        for kind in KINDS:
            counts = [per_call(os.path.abspath(program), kind, port, options) for program in options.programs]
            print(f"| {kind} |" + "".join(cell(count, counts[0]) for count in counts), flush=True)
    finally:
        upstream.stop()


if __name__ == "__main__":
    main()
