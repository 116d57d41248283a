// SPDX-License-Identifier: Apache-2.0
// Keeps the secrets of the gateway's processes from the servers that it starts.
//
// A server runs as the same user as the gateway. The kernel lets a process read the memory, the environment and the
// descriptors of another process of its user, unless that process is not dumpable. So the gateway, its guard and its
// keepers are not dumpable, and a server starts without the capabilities that bypass this, and in a Landlock domain of
// its own: a process in one domain cannot read a process outside that domain, not even as root.
#pragma once
#include <stdbool.h>

// Makes the calling process not dumpable: other processes of its user cannot trace it, read its memory or open its
// files below /proc, and it writes no core file. A fork inherits this, execve ends it.
void lockdown_process(void);

// Moves the environment to locked memory and overwrites the original, which /proc/PID/environ shows. To be called
// first in main: pointers that were taken from the environment before are no longer valid. A fork gets an empty
// environment.
void lockdown_environment(void);

// Enters a new Landlock domain, which the server that is started from here shares: its processes cannot read or signal
// any process outside of it. Sets no_new_privs. True without a new domain: the kernel has no domains, or the process is
// in as many nested domains as the kernel allows; lockdown_gaps reports both. False, with errno: it failed otherwise.
bool lockdown_domain(void);

// For the child between fork and execve: drops the capabilities that servers do not get.
void lockdown_capabilities(void);

// Protections that this kernel or the privileges of this process do not allow, for the log.
struct lockdown_gaps {
  bool swappable;           // RLIMIT_MEMLOCK is used up: some secrets can be written to swap
  bool no_domains;          // servers can read each other's environment and memory
  bool deepest_domain;      // the same: this process is in as many nested domains as the kernel allows
  bool keeps_capabilities;  // the bounding set cannot be changed: a server of root can read the gateway
};
struct lockdown_gaps lockdown_gaps(void);

// Denies the system calls that the gateway never needs, in all its threads: it starts no programs, traces nothing and
// loads nothing into the kernel. Cannot be undone. False, with errno: this kernel has no such filter.
bool lockdown_calls(void);
