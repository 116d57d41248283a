// SPDX-License-Identifier: Apache-2.0
// Whole files, read within a bound and written so that a reader sees the old one or the new one, never a part. These
// calls wait for the disk: at the start, or on libuv's pool.
#pragma once
#include "base/buf.h"
#include "base/fault.h"
#include "base/rand.h"

// As much as there is. False: FAULT_LIMIT when it is more than `max`, else FAULT_IO.
bool file_read(int fd, size_t max, struct buf *out, struct fault *f);

// Puts `text` under `name` in an open folder, for its owner alone (0600). `exclusive`: false, with FAULT_INVALID, when
// there is one already. `rand` names the file that it is until then.
bool file_write(int folder, const char *name, str text, bool exclusive, const struct rand_source *rand,
                struct fault *f);

// The end of the names of files that were being written; one that is old was left behind.
#define FILE_UNFINISHED ".new"
