// SPDX-License-Identifier: Apache-2.0
// Keeps the process alive when it reads a part of a mapped file that no longer exists because the file has shrunk.
// Without this, the kernel ends the process with SIGBUS.
#pragma once

// Makes missing pages of mapped files readable as zeros, and writable, until they are unmapped. Applies to the whole
// process; must be called once.
void mapped_survive(void);

// Returns a number that changes each time this thread accesses a missing page.
int mapped_missing(void);
