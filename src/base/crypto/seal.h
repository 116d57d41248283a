// SPDX-License-Identifier: Apache-2.0
// Sealed text: what we hand to a client to be brought back, which it can neither read nor change nor use elsewhere
// (AES-256-GCM under a key that lives as long as the process, as URL-safe base64).
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/crypto/rand.h"

struct seal {
  unsigned char key[32];
  const struct rand_source *rand;
};

void seal_init(struct seal *s, const struct rand_source *r);

// `bound` is not in the text, but it opens only with the same.
void seal_close(const struct seal *s, str plain, str bound, struct buf *out);

// False: it was not closed by this seal, or bound to something else, or changed.
bool seal_open(const struct seal *s, str text, str bound, struct arena *a, str *out_plain);
