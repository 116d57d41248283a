// SPDX-License-Identifier: Apache-2.0
// Signs a skill file in place: replaces its signatures and its hashes of other files, and leaves the rest unchanged.
#pragma once
#include "base/arena.h"
#include "base/fault.h"

struct ed25519;

// Signs the file at `path`. `now` is in milliseconds since 1970. On failure, returns false and changes nothing.
bool sign_file(const char *path, const struct ed25519 *key, int64_t now, struct arena *a, struct fault *f);
