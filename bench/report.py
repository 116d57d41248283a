# SPDX-License-Identifier: Apache-2.0
"""The results of run.py as Markdown: the best round of each target, ratios, and how far the rounds lie apart."""
import statistics

MIB = 1024 * 1024
HEAD = ["conn.", "target", "calls/s", "÷ direct", "÷ nginx", "p50 µs", "p95 µs", "p99 µs",
        "p50, p95, p99 × direct", "× nginx", "CPU µs/call", "spread"]
TIMES = ["p50_us", "p95_us", "p99_us"]
NAMES = ["direct", "nginx", "toolgate to HTTP", "toolgate, tool_execute", "toolgate, tool_execute, audit",
         "toolgate, tool_execute, governed",
         "toolgate to stdio"]

# Era of the client → era of the server; the others are compared with the first.
ERAS = ["handshake → handshake", "modern → modern", "modern → handshake", "handshake → modern"]
ERA_HEAD = ["client → server", "calls/s", "÷ first", "p50 µs", "p95 µs", "p99 µs", "p50, p95, p99 × first",
            "CPU µs/call", "spread"]


def select(rounds, target, connections):
    return [r for one in rounds for r in one if r["target"] == target and r["connections"] == connections]


def best(runs, field):
    values = [r[field] for r in runs]
    return max(values) if field == "per_second" else min(values)


def rate_ratio(runs, base):
    """Best against best, and the range of the ratios within each round."""
    if not base:
        return "–"
    pairs = [a["per_second"] / b["per_second"] for a, b in zip(runs, base) if b["per_second"]]
    if not pairs:
        return "–"
    return f"{best(runs, 'per_second') / best(base, 'per_second'):.2f} ({min(pairs):.2f}–{max(pairs):.2f})"


def time_ratios(runs, base):
    if not base or not all(best(base, field) for field in TIMES):
        return "–"
    return ", ".join(f"{best(runs, field) / best(base, field):.2f}" for field in TIMES)


def cpu_cell(runs, base, base_name):
    cpu = best(runs, "cpu_us")
    return f"{cpu:.1f}" + (f" ({cpu / best(base, 'cpu_us'):.2f} × {base_name})" if base else "")


def spread(rates):
    return f"{100 * (max(rates) - min(rates)) / max(rates):.0f} %" if max(rates) else "–"


def row(rounds, target, connections):
    runs = select(rounds, target, connections)
    direct, nginx = (select(rounds, name, connections) for name in ("direct", "nginx"))
    to_direct = direct if target != "direct" else None
    to_nginx = nginx if target.startswith("toolgate") else None
    rates = [r["per_second"] for r in runs]
    cells = [str(connections), target, f"{max(rates):,.0f}", rate_ratio(runs, to_direct), rate_ratio(runs, to_nginx)]
    cells += [f"{best(runs, field):.1f}" for field in TIMES]
    cells += [time_ratios(runs, to_direct), time_ratios(runs, to_nginx), cpu_cell(runs, to_nginx, "nginx")]
    return cells + [spread(rates)]


def era_row(rounds, eras, connections):
    runs = select(rounds, eras, connections)
    first = select(rounds, ERAS[0], connections) if eras != ERAS[0] else None
    rates = [r["per_second"] for r in runs]
    cells = [eras, f"{max(rates):,.0f}", rate_ratio(runs, first)]
    cells += [f"{best(runs, field):.1f}" for field in TIMES]
    return cells + [time_ratios(runs, first), cpu_cell(runs, first, "first"), spread(rates)]


def added_p50(rounds, target):
    return best(select(rounds, target, 1), "p50_us") - best(select(rounds, "direct", 1), "p50_us")


def single_figures(results, names):
    start, idle = results["start"], results["idle"]
    gateway, upstream = min(start["gateway_ms"]), min(start["upstream_ms"])
    for name in names:
        if name != "direct":
            added = added_p50(results["rounds"], name)
            yield f"Added to the p50 of the direct upstream at 1 connection, {name}", f"{added:.1f} µs"
    yield "Start-up to the first list of tools, one stdio upstream", \
        f"{gateway:.1f} ms (median {statistics.median(start['gateway_ms']):.1f}); the upstream alone {upstream:.1f} ms"
    yield "Start-up over the upstream's own", f"{gateway - upstream:.1f} ms"
    yield f"Memory at rest with {idle['upstreams']} stdio upstreams, all Toolgate processes", \
        f"{idle['resident'] / MIB:.1f} MiB resident, {idle['proportional'] / MIB:.1f} MiB with shared pages divided"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(cells) + " |" for cells in rows])


def target_tables(results):
    rounds = results["rounds"]
    found = {r["target"] for one in rounds for r in one}
    names = [name for name in NAMES if name in found]
    counts = sorted({r["connections"] for one in rounds for r in one})
    return [table(HEAD, [row(rounds, name, count) for count in counts for name in names]),
            table(["figure", "value"], single_figures(results, names))]


def era_table(rounds):
    count = rounds[0][0]["connections"]
    return [f"Toolgate between clients and servers of both eras, HTTP to HTTP, {count} connections:",
            table(ERA_HEAD, [era_row(rounds, eras, count) for eras in ERAS])]


def markdown(results):
    options = results["options"]
    parts = target_tables(results) if results["rounds"] else []
    parts += era_table(results["eras"]) if results["eras"] else []
    parts.append(
        f"{options['rounds']} rounds of {options['secs']} s for each cell, {options['payload']}-byte messages, "
        f"{results['cpus']} CPUs. Figures are those of the best round; in brackets after a ratio are the lowest and "
        f"highest ratio within one round; spread is that of calls/s over the rounds. Wrong or missing answers: "
        f"{results['errors']}. Other programs took {100 * results['noise']:.0f} % of the machine meanwhile (median).")
    return "\n\n".join(parts) + "\n"
