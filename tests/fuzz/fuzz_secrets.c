// SPDX-License-Identifier: Apache-2.0
// Masking of secrets: what was text stays text, what was JSON stays JSON, and what was masked has nothing left to mask.
#include "base/assert.h"
#include "base/text/utf8.h"
#include "text/secrets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  str text = {(const char *)data, n};
  struct arena a;
  struct fault f;
  arena_init(&a);
  str masked = secrets_mask(&a, text, NULL);
  ASSERT(!utf8_valid(text) || utf8_valid(masked));
  ASSERT(n || !masked.n);
  struct json *v = json_parse(&a, text, &json_default_limits, &f);
  if (v) {
    str json = secrets_mask_json(&a, v, NULL);
    ASSERT(json_parse(&a, json, &json_default_limits, &f));
  }
  // The first bytes as a value that is known.
  str value = {text.p, n < 12 ? n : 12};
  struct secrets_known known = {&value, n >= SECRETS_LEAST, 0};
  masked = secrets_mask(&a, text, &known);
  ASSERT(!utf8_valid(text) || !utf8_valid(value) || utf8_valid(masked));
  bool is_mask = str_starts(STR(SECRETS_MASK), value);  // which stands there afterwards, too
  ASSERT(!known.count || is_mask || !str_starts(masked, value));
  if (v) {
    str json = secrets_mask_json(&a, v, &known);
    ASSERT(json_parse(&a, json, &json_default_limits, &f));
  }
  // The same bytes as an address.
  struct secrets_known address = {&value, known.count, known.count};
  masked = secrets_mask(&a, text, &address);
  ASSERT(!utf8_valid(text) || !utf8_valid(value) || utf8_valid(masked));
  if (v) {
    str json = secrets_mask_json(&a, v, &address);
    ASSERT(json_parse(&a, json, &json_default_limits, &f));
  }
  arena_done(&a);
  return 0;
}
