// SPDX-License-Identifier: Apache-2.0
#include "govern/schema_pin.h"

#include "base/crypto/hash.h"
#include "json/canon.h"

enum { MAX_CANONICAL = 1 << 20 };

bool schema_pin(const struct json *schema, char out[SCHEMA_PIN_SIZE]) {
  static const char prefix[] = "sha256:";
  unsigned char digest[SHA256_SIZE];
  struct buf canonical;
  struct fault f;
  if (!schema || json_is(schema, JSON_NULL)) return false;
  buf_init(&canonical, MAX_CANONICAL);
  bool ok = json_canon(&canonical, schema, JSON_CANON_JCS, &f) && !canonical.over;
  if (ok) {
    hash_sha256(buf_view(&canonical), digest);
    memcpy(out, prefix, sizeof prefix - 1);
    hash_hex(digest, sizeof digest, out + sizeof prefix - 1);
  }
  buf_done(&canonical);
  return ok;
}
