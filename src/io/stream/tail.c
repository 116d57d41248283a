// SPDX-License-Identifier: Apache-2.0
#include "io/stream/tail.h"

#include "base/assert.h"
#include "base/mem.h"

struct tail_slot {
  int64_t wall_ms;
  char *text;
  size_t n;
};

struct tail {
  struct tail_slot lines[TAIL_LINES];  // line number k is at index k % TAIL_LINES
  uint64_t first, last;                // numbers of the oldest and the newest line; first > last: no lines
  size_t bytes;
};

struct tail *tail_new(void) {
  struct tail *t = MEM_NEW(struct tail);
  t->first = 1;
  return t;
}

static void drop_oldest(struct tail *t) {
  struct tail_slot *k = &t->lines[t->first++ % TAIL_LINES];
  ASSERT(k->text && t->bytes >= k->n);
  t->bytes -= k->n;
  mem_free(k->text);
  *k = (struct tail_slot){0};
}

void tail_free(struct tail **tail) {
  struct tail *t = *tail;
  if (!t) return;
  *tail = NULL;
  while (t->first <= t->last) drop_oldest(t);
  ASSERT(t->bytes == 0);
  mem_free(t);
}

void tail_add(struct tail *t, int64_t wall_ms, str line) {
  if (line.n > TAIL_BYTES) line.n = TAIL_BYTES;
  while (t->first <= t->last && (t->last - t->first + 1 >= TAIL_LINES || t->bytes + line.n > TAIL_BYTES))
    drop_oldest(t);
  struct tail_slot *k = &t->lines[++t->last % TAIL_LINES];
  ASSERT(!k->text);
  *k = (struct tail_slot){wall_ms, mem_alloc(line.n + 1), line.n};
  if (line.n) memcpy(k->text, line.p, line.n);
  t->bytes += line.n;
}

bool tail_next(const struct tail *t, uint64_t after, struct tail_line *out) {
  uint64_t number = after < t->first ? t->first : after + 1;
  if (number > t->last) return false;
  const struct tail_slot *k = &t->lines[number % TAIL_LINES];
  ASSERT(k->text);
  *out = (struct tail_line){number, k->wall_ms, {k->text, k->n}};
  return true;
}

uint64_t tail_last(const struct tail *t) {
  return t->last;
}
