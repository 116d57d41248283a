// SPDX-License-Identifier: Apache-2.0
// Encrypts text that a client stores and sends back. The client can neither read nor change the text, nor use it in
// another context (`bound`). The cipher is AES-256-GCM with a key that lives as long as the process; the result is
// URL-safe base64.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/crypto/rand.h"

struct seal {
  unsigned char key[32];
  const struct rand_source *rand;
};

void seal_init(struct seal *s, const struct rand_source *r);

// Encrypts the text. The result does not contain `bound`, so seal_open must be called with the same `bound`.
void seal_close(const struct seal *s, str plain, str bound, struct buf *out);

// Decrypts the text. Returns false if the text was changed, or was sealed with another key or another `bound`.
bool seal_open(const struct seal *s, str text, str bound, struct arena *a, str *out_plain);
