// SPDX-License-Identifier: Apache-2.0
#include "base/crypto/rand.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/assert.h"

static void system_fill(void *ctx, void *out, size_t n) {
  (void)ctx;
  for (char *p = out; n;) {
    ssize_t k = getrandom(p, n, 0);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) abort();
    p += k;
    n -= (size_t)k;
  }
}

const struct rand_source rand_system = {system_fill, 0};

void rand_pool_fill(struct rand_pool *p, const struct rand_source *r, void *out, size_t n) {
  ASSERT(n <= sizeof p->bytes);
  if (p->left < n) {
    rand_fill(r, p->bytes, sizeof p->bytes);
    p->left = sizeof p->bytes;
  }
  p->left -= n;
  memcpy(out, p->bytes + p->left, n);
}

struct hash_key rand_hash_key(const struct rand_source *r) {
  struct hash_key key;
  rand_fill(r, &key, sizeof key);
  return key;
}

void rand_id(const struct rand_source *r, char out[RAND_ID_SIZE]) {
  unsigned char bits[16];
  rand_fill(r, bits, sizeof bits);
  hash_hex(bits, sizeof bits, out);
}
