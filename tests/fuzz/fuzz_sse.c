// SPDX-License-Identifier: Apache-2.0
// Server-sent events. The first byte is the size of the first piece, the second the size of all other pieces. The split
// must not change the outcome.
#include <stdlib.h>

#include "base/assert.h"
#include "io/http/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_EVENT = 64 };

// Writes every event down again, as one that carries an id only when the read one did.
static void copy_event(void *ctx, const struct sse_event *e) {
  ASSERT(e->data.n <= MAX_EVENT && e->type.n && (e->has_data || e->has_id));
  ASSERT(e->has_data || e->data.n == 0);
  // A type with a NUL cannot be written; it comes back as the usual one, which is therefore not written either.
  str type = str_eq(e->type, STR("message")) ? STR_NONE : e->type;
  str id = e->id.n ? e->id : STR("");
  sse_write(ctx, type, e->has_id ? id : STR_NONE, e->data);
}

// False when an event was over the limit.
static bool read_all(str s, size_t first, size_t step, size_t max, struct buf *out) {
  struct sse_parser p;
  bool ok = true;
  sse_init(&p, max, copy_event, out);
  for (size_t at = 0, n; at < s.n; at += n) {
    n = at ? step : first;
    if (n > s.n - at) n = s.n - at;
    char *copy = malloc(n);
    ASSERT(copy);
    memcpy(copy, s.p + at, n);
    bool was_ok = ok;
    ok = sse_feed(&p, (str){copy, n});
    ASSERT(was_ok || !ok);
    free(copy);
  }
  sse_done(&p);
  return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  if (n < 3) return 0;
  str s = {(const char *)data + 2, n - 2};
  struct buf whole, pieces, again;
  // An event grows when written: by the name of its type, and by "data: " for each line.
  buf_init(&whole, n * 32 + 64);
  buf_init(&pieces, n * 32 + 64);
  buf_init(&again, n * 32 + 64);
  bool ok = read_all(s, s.n, s.n, MAX_EVENT, &whole);
  ASSERT(read_all(s, data[0] + 1U, data[1] + 1U, MAX_EVENT, &pieces) == ok);
  ASSERT(str_eq(buf_view(&whole), buf_view(&pieces)));
  // What was written is read as the same events. Lines are longer by at most the blank after the colon.
  ASSERT(read_all(buf_view(&whole), n, n, MAX_EVENT + 1, &again));
  ASSERT(str_eq(buf_view(&whole), buf_view(&again)));
  buf_done(&whole);
  buf_done(&pieces);
  buf_done(&again);
  return 0;
}
