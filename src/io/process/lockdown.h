// SPDX-License-Identifier: Apache-2.0
// Protects the secrets of the gateway's processes from the servers that it starts.
//
// A server runs as the same user as the gateway. The kernel lets a process read the memory, the environment and the
// descriptors of another process of its user, unless that process is not dumpable. So the gateway, its guard and its
// keepers are not dumpable. A server starts without the capabilities that bypass this protection, and in its own
// Landlock domain: a process in a domain cannot read a process outside that domain, not even as root.
#pragma once
#include <stdbool.h>

// Makes the calling process not dumpable: other processes of its user cannot trace it, read its memory or open its
// files under /proc, and it writes no core file. Forked processes inherit this; execve ends it.
void lockdown_process(void);

// Moves the environment to locked memory and overwrites the original, which /proc/PID/environ shows. Must be called
// first in main: it invalidates pointers into the environment. A forked process gets an empty environment.
void lockdown_environment(void);

// Enters a new Landlock domain, in which the server that this process starts will run: its processes cannot read or
// signal any process outside. Sets no_new_privs. Also returns true, without a new domain, if the kernel has no domains
// or allows no deeper nesting; lockdown_gaps reports both. Returns false and sets errno if it fails for another reason.
bool lockdown_domain(void);

// Drops the capabilities that servers must not have. Must be called in the child between fork and execve.
void lockdown_capabilities(void);

// Protections that this kernel or the privileges of this process do not allow. The gateway logs them.
struct lockdown_gaps {
  bool swappable;   // RLIMIT_MEMLOCK is used up: some secrets can be swapped to disk
  bool no_domains;  // servers can read each other's environment and memory
  // This process is already in the maximum number of nested domains. Same effect as no_domains.
  bool deepest_domain;
  bool keeps_capabilities;  // the bounding set cannot be changed: a server that runs as root can read the gateway
};
struct lockdown_gaps lockdown_gaps(void);

// Denies, for all threads of the gateway, system calls that it never needs, such as those that start programs, trace
// processes or load code into the kernel. Cannot be undone. Returns false and sets errno if this kernel does not
// support system call filters.
bool lockdown_calls(void);
