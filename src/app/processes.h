// SPDX-License-Identifier: Apache-2.0
// How many processes there are from one process downwards, and their memory, as /proc says. For commands: it reads many
// small files.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct processes {
  size_t count;
  uint64_t bytes;  // resident
};

// Adds the process `pid` and everything below it.
void processes_add(struct processes *p, int pid);
