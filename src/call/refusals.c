// SPDX-License-Identifier: Apache-2.0
#include "call/refusals.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/mem.h"

enum { KEY_MOST = 512 };  // maximum bytes of a key: a principal and a reason

struct pair {
  struct list node;
  str key;  // reason, blank, principal
  str code, principal;
  enum audit_decision decision;
  uint64_t began;  // start of the minute
  unsigned logged;
  uint64_t omitted;
  int64_t first, last;  // wall-clock times of the first and the last counted refusal
  char text[];
};

void refusals_init(struct refusals *r, unsigned whole, const struct hash_key *seed,
                   void (*write)(void *ctx, const struct audit_event *e), void *ctx) {
  ASSERT(write);
  *r = (struct refusals){.whole = whole, .write = write, .ctx = ctx};
  map_init(&r->pairs, seed);
  list_init(&r->by_age);
}

static void finish(struct refusals *r, struct pair *p) {
  struct audit_event e = {
      .operation = STR("refusals"),
      .decision = p->decision,
      .code = p->code,
      .principal = p->principal,
      .omitted = p->omitted,
      .omitted_from = p->first,
      .omitted_until = p->last,
  };
  if (p->omitted) r->write(r->ctx, &e);
  map_remove(&r->pairs, p->key);
  list_remove(&p->node);
  mem_free(p);
}

static struct pair *oldest(const struct refusals *r) {
  return list_empty(&r->by_age) ? NULL : CONTAINER_OF(r->by_age.next, struct pair, node);
}

static struct pair *begin(struct refusals *r, str key, const struct audit_event *e, uint64_t now) {
  if (map_count(&r->pairs) >= REFUSALS_MOST) finish(r, oldest(r));
  ASSERT(key.n > e->code.n);
  struct pair *p = mem_zero(sizeof *p + key.n);
  memcpy(p->text, key.p, key.n);
  p->key = (str){p->text, key.n};
  p->code = (str){p->text, e->code.n};
  p->principal = str_from(p->key, e->code.n + 1);
  p->decision = e->decision;
  p->began = now;
  map_add(&r->pairs, p->key, p);
  list_push(&r->by_age, &p->node);
  return p;
}

bool refusals_log(struct refusals *r, const struct audit_event *e, uint64_t now_ms, int64_t wall_ms) {
  char text[KEY_MOST];
  if (!r->whole || e->code.n + 1 + e->principal.n >= sizeof text) return true;
  int n = snprintf(text, sizeof text, "%.*s %.*s", STR_ARG(e->code), STR_ARG(e->principal));
  struct pair *p = map_find(&r->pairs, (str){text, (size_t)n});
  if (p && now_ms - p->began >= REFUSALS_WINDOW_MS) {
    finish(r, p);
    p = NULL;
  }
  if (!p) p = begin(r, (str){text, (size_t)n}, e, now_ms);
  if (p->logged < r->whole) {
    p->logged++;
    return true;
  }
  if (!p->omitted++) p->first = wall_ms;
  p->last = wall_ms;
  return false;
}

uint64_t refusals_settle(struct refusals *r, uint64_t now_ms) {
  struct pair *p;
  while ((p = oldest(r)) && now_ms - p->began >= REFUSALS_WINDOW_MS) finish(r, p);
  return p ? p->began + REFUSALS_WINDOW_MS - now_ms : 0;
}

void refusals_done(struct refusals *r) {
  for (struct pair *p; (p = oldest(r));) finish(r, p);
  map_done(&r->pairs);
}
