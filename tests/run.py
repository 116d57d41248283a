#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of a build: the unit test programs, then the end-to-end tests, and counts what passed.

usage: tests/run.py [--build DIR] [--filter NAME] [--long] [--without-data] [--again]

  --build DIR    the build to test (default: build-asan, or build when there is none)
  --filter NAME  only test files whose name contains NAME
  --long         also what takes long: sets TOOLGATE_LONG for the tests and gives them more time
  --without-data only test files that can read data beside the repository, and without that data: TOOLGATE_SHARED
                 names a folder that does not exist
  --again        test files that fail are run once more, alone, after all others: what passes then is listed as
                 unsteady and does not fail the run

The last line is "N passed, N failed" (", N skipped"); the exit code is 1 when something failed.
"""
import argparse
import concurrent.futures
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 2  # test files at a time
SANITIZERS = {
    "ASAN_OPTIONS": "abort_on_error=0:exitcode=99",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
EXIT_LEFT_BEHIND = 98
EXIT_TIMED_OUT = 97
GRACE_S = 3  # for children of a test that ended to end too


class Result:
    """What one test file gave: counts, and a text for each failure."""

    def __init__(self, file):
        self.file = file
        self.passed = self.skipped = 0
        self.failures = []
        self.notes = []
        self.seconds = 0.0

    def fail(self, name, text):
        self.failures.append(f"{self.file}: {name}\n{text.rstrip()}\n")


# --- one file under supervision, in a process of its own -------------------------------------------------------------


def descendants():
    """Living processes below this one; as it is their subreaper, none can get away from it."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = stat.read_text(errors="replace").split(" ", 1)
        except (OSError, ValueError):
            continue
        state, parent = rest.rpartition(") ")[2].split(" ")[:2]
        if state != "Z":
            parents[int(pid)] = int(parent)
    found, level = [], {os.getpid()}
    while level:
        level = {pid for pid, parent in parents.items() if parent in level}
        found += level
    return found


def command_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return "?"


def kill_descendants():
    for pid in descendants():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def supervise(timeout, command):
    """Runs a command; kills what is left of it, which is an error. Gives the exit code."""
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda *_: (kill_descendants(), os._exit(EXIT_TIMED_OUT)))
    child = subprocess.Popen(command)
    try:
        code = child.wait(timeout)
    except subprocess.TimeoutExpired:
        print(f"timed out after {timeout} s", file=sys.stderr)
        kill_descendants()
        return EXIT_TIMED_OUT
    end = time.monotonic() + GRACE_S
    while (left := descendants()) and time.monotonic() < end:
        time.sleep(0.02)
    for pid in left:
        print(f"left behind: {pid} {command_of(pid)}", file=sys.stderr)
    kill_descendants()
    return code or (EXIT_LEFT_BEHIND if left else 0)


def supervised(timeout, command, env):
    """Runs a command as supervise() does, in another process: its exit code and all its output."""
    whole = [sys.executable, __file__, "--supervise", str(timeout), *command]
    done = subprocess.run(whole, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    return done.returncode, done.stdout


# --- unit tests: cmocka programs that print TAP ----------------------------------------------------------------------

TAP_LINE = re.compile(r"^(not )?ok\b(?: \d+)?(?: - )?(.*)$")
TAP_PLAN = re.compile(r"^1\.\.(\d+)")


def run_unit(program, timeout):
    result = Result(program.name)
    env = {**os.environ, **SANITIZERS, "CMOCKA_MESSAGE_OUTPUT": "TAP"}
    code, output = supervised(timeout, [str(program)], env)
    planned = 0
    failed = []
    for line in output.splitlines():
        if plan := TAP_PLAN.match(line):
            planned += int(plan[1])
            result.skipped += "# SKIP" in line  # the whole program: what it needs is not here
        elif test := TAP_LINE.match(line):
            if "# SKIP" in line:  # cmocka says "not ok" to these
                result.skipped += 1
            elif test[1]:
                failed.append(test[2])
            else:
                result.passed += 1
    if failed:
        result.fail(", ".join(failed), output)
        result.failures += [f"{result.file}: {name}\n" for name in failed[1:]]
    elif code != 0 or result.passed + result.skipped < max(planned, 1):
        result.fail(f"exit code {code}, {result.passed} of {planned} tests", output)
    return result


# --- the source itself ---------------------------------------------------------------------------------------------------


def run_source_check(script, timeout):
    result = Result(script.name)
    code, output = supervised(timeout, [str(script)], dict(os.environ))
    if code:
        result.fail("the rules of the source", output)
    else:
        result.passed = 1
    return result


# --- end-to-end tests: node's own runner -----------------------------------------------------------------------------


def run_e2e(file, node, toolgate, long, timeout):
    result = Result(file.name)
    env = {**os.environ, **SANITIZERS, "TOOLGATE": str(toolgate), **({"TOOLGATE_LONG": "1"} if long else {})}
    with tempfile.TemporaryDirectory(prefix="toolgate-run-") as folder:
        os.chmod(folder, 0o711)  # tests that run the program as another user have their files below it
        report = Path(folder, "report")
        code, output = supervised(timeout, [
            node, "--test-force-exit", f"--test-reporter={ROOT / 'tests/e2e/lib/reporter.mjs'}",
            f"--test-reporter-destination={report}", str(file)],
            {**env, "TMPDIR": folder, "XDG_STATE_HOME": str(Path(folder, "state"))})
        lines = report.read_text().splitlines() if report.exists() else []
    for test in map(json.loads, lines):
        if "note" in test:
            result.notes.append(test["note"])
        elif test["status"] == "failed":
            result.fail(test["name"], test.get("message") or "")
        elif test["status"] == "skipped":
            result.skipped += 1
            if (reason := f"skipped: {test.get('message')}") not in result.notes and test.get("message"):
                result.notes.append(reason)
        else:
            result.passed += 1
    if code in (EXIT_TIMED_OUT, EXIT_LEFT_BEHIND) or not result.failures and (code != 0 or not lines):
        result.fail(f"exit code {code} after {len(lines)} tests", output)
    return result


def runs_alone(file):
    """Whether a test file asks, in its opening comment, not to be run beside another one."""
    return "// Runs alone:" in file.read_text()[:2000]


def reads_data(name):
    """Whether a test file reads data beside the repository; NAME is a file of tests/e2e or a unit test program."""
    source = next((f for f in (ROOT / "tests/e2e" / name, ROOT / "tests/unit" / f"{name}.c") if f.exists()), None)
    return source is not None and any(h in source.read_text() for h in ('"beside.h"', "lib/beside.mjs"))


# --- all of them -----------------------------------------------------------------------------------------------------


def summary(passed, failed, skipped):
    return f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")


def timed(work, *args):
    start = time.monotonic()
    result = work(*args)
    result.seconds = time.monotonic() - start
    counts = summary(result.passed, len(result.failures), result.skipped)
    print(f"{result.file:32} {counts}  ({result.seconds:.1f} s)", flush=True)
    for note in result.notes:
        print(f"    {note}", flush=True)
    for failure in result.failures:
        print(f"\nFAILED {failure}", flush=True)
    return result


def run_all(jobs, width):
    with concurrent.futures.ThreadPoolExecutor(width) as pool:
        return [f.result() for f in [pool.submit(timed, *job) for job in jobs]]


def run_again(jobs, results):
    """Runs the files that failed once more, one at a time. Gives the results, and the failures that did not return."""
    unsteady = []
    for i, (job, first) in enumerate(zip(jobs, results)):
        if first.failures:
            results[i] = timed(*job)
            unsteady += [] if results[i].failures else first.failures
    return results, unsteady


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=Path, help="the build to test")
    parser.add_argument("--filter", default="", help="only test files whose name contains this")
    parser.add_argument("--long", action="store_true", help="also what takes long")
    parser.add_argument("--without-data", action="store_true",
                        help="only what can read data beside the repository, without that data")
    parser.add_argument("--again", action="store_true", help="run what failed once more, alone")
    chosen = parser.parse_args()
    if chosen.build is None:
        chosen.build = next((b for b in (ROOT / "build-asan", ROOT / "build") if b.exists()), ROOT / "build")
    chosen.build = chosen.build.resolve()
    return chosen


def main():
    chosen = options()
    timeout = 3600 if chosen.long else 300
    units = [p for p in sorted((chosen.build / "tests").glob("*/test_*"))
             if p.is_file() and os.access(p, os.X_OK) and chosen.filter in p.name]
    e2e = [f for f in sorted((ROOT / "tests/e2e").glob("*.test.mjs")) if chosen.filter in f.name]
    if chosen.without_data:
        os.environ["TOOLGATE_SHARED"] = str(ROOT / "tests/no-such-folder")
        units, e2e = ([f for f in files if reads_data(f.name)] for files in (units, e2e))
    if not units and not e2e:
        sys.exit(f"no test file has {chosen.filter!r} in its name")

    # Also installs the packages that hold test suites, which unit tests read.
    node = subprocess.run([ROOT / "scripts/node", "-p", "process.execPath"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()
    jobs = [(run_unit, program, timeout) for program in units]
    if chosen.filter in "check-source" and not chosen.without_data:
        jobs.append((run_source_check, ROOT / "scripts/check-source", timeout))
        jobs.append((run_source_check, ROOT / "scripts/check-security", timeout))
    done, results = list(jobs), run_all(jobs, WIDTH)
    if e2e:
        toolgate = chosen.build / "toolgate"
        if not toolgate.exists():
            sys.exit(f"{toolgate} is not there: build it first")
        alone = [f for f in e2e if runs_alone(f)]
        for files, width in (([f for f in e2e if f not in alone], WIDTH), (alone, 1)):
            jobs = [(run_e2e, f, node, toolgate, chosen.long, timeout) for f in files]
            done, results = done + jobs, results + run_all(jobs, width)
    if chosen.again:
        results, unsteady = run_again(done, results)
        for failure in unsteady:
            print(f"UNSTEADY (passed when run again) {failure}", flush=True)

    failed = sum(len(r.failures) for r in results)
    print(summary(sum(r.passed for r in results), failed, sum(r.skipped for r in results)))
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--supervise"]:
        sys.exit(supervise(float(sys.argv[2]), sys.argv[3:]))
    sys.exit(main())
