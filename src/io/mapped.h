// SPDX-License-Identifier: Apache-2.0
// Files that are mapped may shrink while they are read: the system then ends the process, unless it is asked not to.
#pragma once

// From now on what is missing of a mapped file reads as zeros, and can be written, until it is unmapped. For the whole
// process, once.
void mapped_survive(void);

// A number that changes with each page that this thread found missing.
int mapped_missing(void);
