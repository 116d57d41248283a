// SPDX-License-Identifier: Apache-2.0
// Removal of hidden characters: what was JSON stays JSON and fits the room, what was UTF-8 stays UTF-8, nothing becomes
// longer, and detection finds everything that is removed.
#include "base/assert.h"
#include "base/mem.h"
#include "base/text/plain.h"
#include "base/text/utf8.h"
#include "text/hidden.h"
#include "json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_plain(str text) {
  char *once = mem_alloc(text.n + 1), *twice = mem_alloc(text.n + 1);
  for (int exact = 0; exact < 2; exact++) {
    str clean = {once, plain_text(text, exact, once)};
    ASSERT(clean.n <= text.n && (!utf8_valid(text) || utf8_valid(clean)));
    ASSERT(plain_text(clean, exact, twice) <= clean.n);
  }
  mem_free(once);
  mem_free(twice);
}

static void check_json(struct arena *a, const struct json *v) {
  struct fault f;
  struct buf once;
  str said = json_span(v);
  buf_init(&once, hidden_json_max(said));
  if (hidden_put_json(&once, said)) {
    ASSERT(hidden_in_json(said) && !once.over);
    struct json *clean = json_parse(a, arena_str(a, buf_view(&once)), &json_default_limits, &f);
    ASSERT(clean && clean->type == v->type && clean->count == v->count);
  }
  buf_done(&once);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  str text = {(const char *)data, n};
  struct arena a;
  struct fault f;
  arena_init(&a);
  check_plain(text);
  struct json *v = json_parse(&a, text, &json_default_limits, &f);
  if (v) check_json(&a, v);
  arena_done(&a);
  return 0;
}
