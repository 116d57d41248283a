// SPDX-License-Identifier: Apache-2.0
// Sealed text for a client to send back: the client cannot read it, change it or use it elsewhere (AES-256-GCM under a
// key that lives as long as the process, as URL-safe base64).
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/crypto/rand.h"

struct seal {
  unsigned char key[32];
  const struct rand_source *rand;
};

void seal_init(struct seal *s, const struct rand_source *r);

// Seals the text. `bound` is not part of it, but seal_open needs the same bytes.
void seal_close(const struct seal *s, str plain, str bound, struct buf *out);

// False if another seal closed the text, it is bound to other bytes, or it was changed.
bool seal_open(const struct seal *s, str text, str bound, struct arena *a, str *out_plain);
