# SPDX-License-Identifier: Apache-2.0
"""Runs a program in as many Landlock domains as a process may be in: it can enter no further one.

usage: domains.py PROGRAM [ARGUMENT...]
"""
import ctypes
import os
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
PATH_BENEATH, REFER = 1, 1 << 13
PR_SET_NO_NEW_PRIVS = 38


class Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def enter():
    handled = ctypes.c_uint64(REFER)
    rules = LIBC.syscall(CREATE_RULESET, ctypes.byref(handled), ctypes.c_size_t(8), 0)
    rule = Rule(REFER, os.open("/", os.O_PATH))
    LIBC.syscall(ADD_RULE, rules, PATH_BENEATH, ctypes.byref(rule), 0)
    entered = LIBC.syscall(RESTRICT_SELF, rules, 0) == 0
    os.close(rules)
    os.close(rule.parent)
    return entered


LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
while enter():
    pass
os.execvp(sys.argv[1], sys.argv[1:])
