// SPDX-License-Identifier: Apache-2.0
#include "io/stream/lines.h"

#include "base/assert.h"

enum { KEEP = 65536 };

void lines_init(struct lines *l, size_t max_line, void (*on_line)(void *ctx, str line), void *ctx) {
  ASSERT(on_line);
  *l = (struct lines){.on_line = on_line, .ctx = ctx};
  buf_init(&l->carry, max_line);
}

void lines_done(struct lines *l) {
  buf_done(&l->carry);
}

static str without_cr(str line) {
  if (line.n && line.p[line.n - 1] == '\r') line.n--;
  return line;
}

static void add_to_head(struct lines *l, str more) {
  ASSERT(l->head_n <= sizeof l->head);
  size_t room = sizeof l->head - l->head_n, n = more.n < room ? more.n : room;
  if (n) memcpy(l->head + l->head_n, more.p, n);
  l->head_n += n;
}

// If adding `more` makes the line too long, stores the beginning of the line in `head`.
static void keep_head(struct lines *l, str more) {
  if (l->carry.n + more.n <= l->carry.max) return;
  l->head_n = 0;
  add_to_head(l, buf_view(&l->carry));
  add_to_head(l, more);
}

static bool emit(struct lines *l, str piece) {
  if (l->skipping) {
    l->skipping = false;
    return true;
  }
  if (l->carry.n == 0 && piece.n <= l->carry.max) {
    l->on_line(l->ctx, without_cr(piece));
    return true;
  }
  keep_head(l, piece);
  buf_str(&l->carry, piece);
  bool fits = !l->carry.over;
  if (fits) l->on_line(l->ctx, without_cr(buf_view(&l->carry)));
  if (l->stop) return fits;
  buf_reset(&l->carry);
  buf_trim(&l->carry, KEEP);
  return fits;
}

bool lines_feed(struct lines *l, str bytes) {
  bool ok = true;
  while (bytes.n) {
    const char *nl = memchr(bytes.p, '\n', bytes.n);
    if (!nl) {
      if (l->skipping) return ok;
      keep_head(l, bytes);
      buf_str(&l->carry, bytes);
      if (!l->carry.over) return ok;
      l->skipping = true;
      buf_reset(&l->carry);
      buf_trim(&l->carry, KEEP);
      return false;
    }
    str piece = {bytes.p, (size_t)(nl - bytes.p)};
    bytes = str_from(bytes, piece.n + 1);
    if (!emit(l, piece)) ok = false;
    if (l->stop) return ok;
  }
  return ok;
}

str lines_flatten(str message, struct buf *scratch) {
  if (!memchr(message.p, '\n', message.n) && !memchr(message.p, '\r', message.n)) return message;
  buf_reset(scratch);
  buf_str(scratch, message);
  for (size_t i = 0; i < scratch->n; i++)
    if (scratch->p[i] == '\n' || scratch->p[i] == '\r') scratch->p[i] = ' ';
  return buf_view(scratch);
}
