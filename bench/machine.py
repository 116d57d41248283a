# SPDX-License-Identifier: Apache-2.0
"""Processes as the kernel shows them in /proc: trees, memory, CPU time, and what other programs take."""
import os

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def _stat(pid):
    """Fields of /proc/PID/stat behind the name; None when the process is gone."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()
    except OSError:
        return None


def tree(root):
    """The pids of a process and everything below it."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := _stat(name)):
            children.setdefault(int(fields[1]), []).append(int(name))
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        found.append(pid)
        todo += children.get(pid, [])
    return found


def program(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return ""


def own_processes(root):
    """The tree without the upstreams that a gateway started: their cost is not its own."""
    return [pid for pid in tree(root) if program(pid) and not program(pid).startswith("upstream_")]


def memory(pids):
    """(resident, proportional) bytes; the second counts a page that n processes share as 1/n."""
    resident = proportional = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/statm") as f:
                resident += int(f.read().split()[1]) * PAGE
            with open(f"/proc/{pid}/smaps_rollup") as f:
                proportional += sum(int(line.split()[1]) * 1024 for line in f if line.startswith("Pss:"))
        except OSError:
            pass
    return resident, proportional


def cpu_seconds(pids):
    """User and system time; by the nanosecond where the kernel counts so."""
    total = 0.0
    for pid in pids:
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/schedstat") as f:
                    total += int(f.read().split()[0]) / 1e9
        except OSError:
            if fields := _stat(pid):
                total += (int(fields[11]) + int(fields[12])) / TICK
    return total


class Noise:
    """The share of the machine that programs other than ours take between the start and share()."""

    def __init__(self):
        self.before = self._now()

    @staticmethod
    def _now():
        with open("/proc/stat") as f:
            ticks = [int(x) for x in f.readline().split()[1:9]]
        busy = sum(ticks) - ticks[3] - ticks[4]
        times = os.times()
        own = sum(int(s[11]) + int(s[12]) for pid in tree(os.getpid()) if (s := _stat(pid)))
        return sum(ticks), busy, own + (times.children_user + times.children_system) * TICK

    def share(self):
        after = self._now()
        total, busy, own = (b - a for a, b in zip(self.before, after))
        return max(0.0, (busy - own) / max(1, total))
