# SPDX-License-Identifier: Apache-2.0
"""A stdio MCP server whose tool `spy` tries every way to read another process, and whose tool `sh` runs a command.

{"pid": N, "above": K}  the process K levels above this one (1: its parent), or the process with that id.
The result is an object: for each way "denied" or "allowed"; and the process's id, name and environment.

{"command": C}  The result is an object: what the shell command C wrote, and its exit status.
"""
import ctypes
import json
import os
import subprocess
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
PTRACE_SEIZE, PTRACE_DETACH = 0x4206, 17
PIDFD_OPEN, PIDFD_GETFD = 434, 438


def call(number, *args):
    """A system call; gives its result, or raises OSError."""
    result = LIBC.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in args])
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]


def first_mapping(pid):
    with open(f"/proc/{pid}/maps") as f:
        return int(f.readline().split("-")[0], 16)


def read_file(pid, name):
    with open(f"/proc/{pid}/{name}", "rb") as f:
        return f.read()


def read_mem(pid):
    at = first_mapping(pid)
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as f:
        f.seek(at)
        return f.read(16)


def read_vm(pid):
    """Memory at the address of our own buffer: where there is nothing (EFAULT), the way was open all the same."""
    buffer = ctypes.create_string_buffer(16)
    here = Iovec(ctypes.addressof(buffer), 16)
    ctypes.set_errno(0)
    if LIBC.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(here), 1, 0) < 0 and ctypes.get_errno() != 14:
        raise OSError(ctypes.get_errno(), "process_vm_readv")


def trace(pid):
    LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if LIBC.ptrace(PTRACE_SEIZE, pid, None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")
    LIBC.ptrace(PTRACE_DETACH, pid, None, None)


def take_descriptor(pid):
    os.close(call(PIDFD_GETFD, call(PIDFD_OPEN, pid, 0), 2, 0))


WAYS = {
    "environ": lambda pid: read_file(pid, "environ"),
    "maps": first_mapping,
    "mem": read_mem,
    "fd": lambda pid: os.readlink(f"/proc/{pid}/fd/2"),
    "fd_open": lambda pid: os.close(os.open(f"/proc/{pid}/fd/2", os.O_WRONLY)),
    "cwd": lambda pid: os.readlink(f"/proc/{pid}/cwd"),
    "auxv": lambda pid: read_file(pid, "auxv"),
    "ptrace": trace,
    "process_vm_readv": read_vm,
    "pidfd_getfd": take_descriptor,
}


def parent(pid):
    return int(read_file(pid, "stat").rpartition(b") ")[2].split()[1])


def spy(pid=None, above=0):
    pid = pid or os.getpid()
    for _ in range(above):
        pid = parent(pid)
    found = {"pid": pid, "name": read_file(pid, "comm").decode().strip(), "environment": "", "ways": {}}
    for name, way in WAYS.items():
        try:
            got = way(pid)
            found["ways"][name] = "allowed"
            if name == "environ":
                found["environment"] = got.decode(errors="replace")
        except OSError:
            found["ways"][name] = "denied"
    return found


def sh(command):
    done = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    return {"said": done.stdout.decode(errors="replace"), "status": done.returncode}


TOOLS = {"spy": spy, "sh": sh}


def answer(method, params):
    if method == "initialize":
        info = {"name": "spy", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": json.dumps(TOOLS[params["name"]](**params["arguments"]))}]}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = answer(message["method"], message.get("params", {}))
    reply = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)
