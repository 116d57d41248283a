#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the upstream itself, nginx and Toolgate side by side, and prints Markdown.

  python3 bench/run.py [--rounds N] [--secs N] [--payload N] [--gateway PROGRAM]

In every round each target is started afresh, and for each number of connections all targets are loaded right after
each other, in an order that changes from round to round, so that what else the machine does hits all of them alike.
All results go to build/bench/results.json, the printed text to build/bench/results.md. Only 127.0.0.1 is used.
"""
import argparse
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
WARMUP, START_SAMPLES, IDLE_UPSTREAMS = 300, 7, 3


def load(target, connections, options):
    """One run of the load generator against a target, with the CPU time that the target took."""
    pids = machine.own_processes(target.process.pid) or [target.process.pid]
    if target.name == "direct":
        pids = [target.process.pid]
    noise, before = machine.Noise(), machine.cpu_seconds(pids)
    command = [os.path.join(BENCH, "mcpload"), "-c", str(connections), "-t", str(options.secs), "-w", str(WARMUP),
               "-p", str(options.payload), f"127.0.0.1:{target.port}/mcp"]
    done = subprocess.run(command, capture_output=True, text=True)
    result = json.loads(done.stdout)
    calls = result["ok"] + WARMUP
    result.update(target=target.name, cpu_us=(machine.cpu_seconds(pids) - before) * 1e6 / calls,
                  noise=noise.share(), note=done.stderr.strip())
    return result


def run_round(factory, number, options):
    direct = factory.direct()
    started = []
    try:
        all_targets = [direct]
        if factory.nginx_program:
            all_targets.append(factory.nginx(direct.port))
        all_targets += [factory.toolgate_http(direct.port), factory.toolgate_stdio()]
        for target in all_targets:
            target.start()
            started.append(target)
        turn = number % len(all_targets)
        results = []
        for connections in CONNECTIONS:
            for target in all_targets[turn:] + all_targets[:turn]:
                result = load(target, connections, options)
                results.append(result)
                print(f"round {number + 1}, {connections:2} connections, {target.name}: "
                      f"{result['per_second']:.0f} calls/s, p50 {result['p50_us']} us {result['note']}", file=sys.stderr)
        return results
    finally:
        for target in reversed(started):
            target.stop()


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
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--secs", type=int, default=3, help="of each run of the load generator")
    parser.add_argument("--payload", type=int, default=32, help="bytes of the echoed message")
    parser.add_argument("--gateway", default=os.path.join(ROOT, "build/toolgate"))
    return parser.parse_args()


def main():
    options = parse_arguments()
    shutil.rmtree(os.path.join(BENCH, "run"), ignore_errors=True)
    factory = targets.Factory(BENCH, os.path.abspath(options.gateway))
    if not factory.nginx_program:
        print("nginx is not here: going on without it", file=sys.stderr)
    results = {"options": {"rounds": options.rounds, "secs": options.secs, "payload": options.payload},
               "cpus": os.cpu_count(), "rounds": [], "start": measure_start(factory), "idle": measure_idle(factory)}
    for number in range(options.rounds):
        results["rounds"].append(run_round(factory, number, options))
    results["noise"] = statistics.median(r["noise"] for one in results["rounds"] for r in one)
    text = report.markdown(results)
    with open(os.path.join(BENCH, "results.json"), "w") as f:
        json.dump(results, f, indent=1)
    with open(os.path.join(BENCH, "results.md"), "w") as f:
        f.write(text)
    print(text)
    return 1 if any(r["errors"] for one in results["rounds"] for r in one) else 0


if __name__ == "__main__":
    sys.exit(main())
