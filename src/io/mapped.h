// SPDX-License-Identifier: Apache-2.0
// Survives reads of a mapped file that has shrunk: by default the kernel ends the process with SIGBUS.
#pragma once

// Makes missing pages of mapped files read as zeros, and writable, until they are unmapped. Applies to the whole
// process; call it once.
void mapped_survive(void);

// Returns a number that changes with each missing page that this thread has accessed.
int mapped_missing(void);
