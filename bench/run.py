#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the upstream itself, nginx and Toolgate side by side, and Toolgate between the eras; prints Markdown.

  python3 bench/run.py [--rounds N] [--secs N] [--payload N] [--gateway PROGRAM] [--only targets|eras]

In every round each target is started afresh, and for each number of connections all targets are loaded right after
each other, in an order that changes from round to round, so that what else the machine does hits all of them alike.
Then come, in the same way, the four pairs of a client's era and a server's, with Toolgate between them.
All results go to build/bench/results.json, the printed text to build/bench/results.md. Only 127.0.0.1 is used.
"""
import argparse
import collections
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # nothing is built outside build/
import machine
import report
import targets

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BENCH = os.path.join(ROOT, "build/bench")
CONNECTIONS = [1, 16, 64]
ERA_CONNECTIONS = 64
WARMUP, START_SAMPLES, IDLE_UPSTREAMS = 300, 7, 3


# One cell: who is loaded, under which name it is reported, and in which era the load generator speaks.
Case = collections.namedtuple("Case", "name target connections era execute", defaults=[None])


def load(case, options):
    """One run of the load generator against a target, with the CPU time that the target took."""
    target = case.target
    pids = machine.own_processes(target.process.pid) or [target.process.pid]
    noise, before = machine.Noise(), machine.cpu_seconds(pids)
    command = [os.path.join(BENCH, "mcpload"), "-c", str(case.connections), "-t", str(options.secs), "-w", str(WARMUP),
               "-p", str(options.payload), "--era", case.era]
    if case.execute:
        command += ["-x", targets.tool_id(target.port, case.execute), f"127.0.0.1:{target.port}/mcp/gateway"]
    else:
        command += [f"127.0.0.1:{target.port}/mcp"]
    done = subprocess.run(command, capture_output=True, text=True)
    result = json.loads(done.stdout)
    calls = result["ok"] + WARMUP
    result.update(target=case.name, cpu_us=(machine.cpu_seconds(pids) - before) * 1e6 / calls,
                  noise=noise.share(), note=done.stderr.strip())
    return result


def run_blocks(number, servers, blocks, options):
    """Starts the servers and runs the cases, those of a block right after each other."""
    results = []
    try:
        for server in servers:
            server.start()
        for block in blocks:
            turn = number % len(block)
            for case in block[turn:] + block[:turn]:
                result = load(case, options)
                results.append(result)
                print(f"round {number + 1}, {case.connections:2} connections, {case.name}: "
                      f"{result['per_second']:.0f} calls/s, p50 {result['p50_us']} us {result['note']}", file=sys.stderr)
        return results
    finally:
        for server in reversed(servers):
            server.stop()  # one that did not come up, too


def run_targets(factory, number, options):
    direct = factory.direct()
    servers = [direct]
    if factory.nginx_program:
        servers.append(factory.nginx(direct.port))
    gateway, audited = factory.toolgate_http(direct.port), factory.toolgate_http(direct.port, audit=True)
    governed = factory.toolgate_http(direct.port, governed=True)
    servers += [gateway, factory.toolgate_stdio()]
    blocks = [[Case(server.name, server, count, "handshake") for server in servers] +
              [Case("toolgate, tool_execute", gateway, count, "handshake", "echo"),
               Case("toolgate, tool_execute, audit", audited, count, "handshake", "echo"),
               Case("toolgate, tool_execute, governed", governed, count, "handshake", "echo")] for count in CONNECTIONS]
    return run_blocks(number, servers + [audited, governed], blocks, options)


def run_eras(factory, number, options):
    """Toolgate in front of one server of each era, loaded by clients of each era."""
    upstreams = {era: factory.direct(era) for era in ("handshake", "modern")}
    gateways = {era: factory.toolgate_http(upstream.port) for era, upstream in upstreams.items()}
    block = [Case(f"{client} → {server}", gateways[server], ERA_CONNECTIONS, client)
             for client, server in (pair.split(" → ") for pair in report.ERAS)]
    return run_blocks(number, [*upstreams.values(), *gateways.values()], [block], options)


def measure_start(factory):
    """Start-up of the gateway with one stdio upstream, and of that upstream alone, in turns."""
    gateway, alone = [], []
    for _ in range(START_SAMPLES):
        alone.append(targets.start_upstream_alone(BENCH))
        target = factory.toolgate_stdio()
        try:
            target.start()
        finally:
            target.stop()
        gateway.append(target.start_seconds)
    return {"gateway_ms": [s * 1000 for s in gateway], "upstream_ms": [s * 1000 for s in alone]}


def measure_idle(factory):
    target = factory.toolgate_stdio(IDLE_UPSTREAMS)
    try:
        target.start()
        time.sleep(1)
        resident, proportional = machine.memory(machine.own_processes(target.process.pid))
        return {"upstreams": IDLE_UPSTREAMS, "resident": resident, "proportional": proportional}
    finally:
        target.stop()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--secs", type=int, default=2, help="of each run of the load generator")
    parser.add_argument("--payload", type=int, default=32, help="bytes of the echoed message")
    parser.add_argument("--only", choices=["targets", "eras"], help="one of the two tables")
    parser.add_argument("--gateway", default=os.path.join(ROOT, "build/toolgate"))
    return parser.parse_args()


def main():
    options = parse_arguments()
    shutil.rmtree(os.path.join(BENCH, "run"), ignore_errors=True)
    factory = targets.Factory(BENCH, os.path.abspath(options.gateway))
    if not factory.nginx_program:
        print("nginx is not here: going on without it", file=sys.stderr)
    results = {"options": {"rounds": options.rounds, "secs": options.secs, "payload": options.payload},
               "cpus": os.cpu_count(), "rounds": [], "eras": []}
    if options.only != "eras":
        results.update(start=measure_start(factory), idle=measure_idle(factory))
    for number in range(options.rounds):
        if options.only != "eras":
            results["rounds"].append(run_targets(factory, number, options))
        if options.only != "targets":
            results["eras"].append(run_eras(factory, number, options))
    runs = [r for one in results["rounds"] + results["eras"] for r in one]
    results.update(noise=statistics.median(r["noise"] for r in runs), errors=sum(r["errors"] for r in runs))
    text = report.markdown(results)
    with open(os.path.join(BENCH, "results.json"), "w") as f:
        json.dump(results, f, indent=1)
    with open(os.path.join(BENCH, "results.md"), "w") as f:
        f.write(text)
    print(text)
    return 1 if results["errors"] else 0


if __name__ == "__main__":
    sys.exit(main())
