// SPDX-License-Identifier: Apache-2.0
// Keys of URIs from any bytes: tabs in a URI do not change its key, and a URI meets itself. What follows the first
// newline is a template.
#include "base/assert.h"
#include "catalog/naming/uri_key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static str with_tabs(struct arena *a, str s) {
  char *p = arena_alloc(a, 2 * s.n + 1);
  for (size_t i = 0; i < s.n; i++) {
    p[2 * i] = s.p[i];
    p[2 * i + 1] = '\t';
  }
  return (str){p, 2 * s.n};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  enum { LONGEST = 512, STEPS = 4 << 20 };
  str uri, template_ = STR("");
  struct arena a;
  if (n > LONGEST) return 0;
  str_cut((str){(const char *)data, n}, '\n', &uri, &template_);
  arena_init(&a);
  str key = uri_key(&a, uri);
  ASSERT(str_eq(uri_key(&a, with_tabs(&a, uri)), key));
  ASSERT(uri_after(uri, 0).n <= uri.n && uri_after(uri, n).n == 0);
  size_t steps = STEPS;
  ASSERT(uri_meets(key, key, &steps));
  uri_meets(uri_template_key(&a, template_), key, &steps);
  arena_done(&a);
  return 0;
}
