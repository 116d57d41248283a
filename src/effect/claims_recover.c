// SPDX-License-Identifier: Apache-2.0
// Claims whose call cannot end any more: recovery after gateways have ended, and decisions of people.
#include "base/assert.h"
#include "base/mem.h"
#include "effect/idempotency_impl.h"

enum { PORTION = 256, PORTION_MS = 10, TEXT_MAX = 2 * SHARED_BYTES };

// ---- entries of gateways that have ended

struct orphan {
  str id, text;  // `text`: of the entry that replaces it
  int64_t version;
};

// A portion of the entries. The store must not be used while it is read, so orphans are collected first. If the store
// answers later, nobody waits any more, and this struct is freed then.
struct portion {
  struct entry_search search;
  const struct gateways *gateways;
  struct arena arena, scratch;
  struct orphan orphans[PORTION];
  size_t seen, count;
  uint64_t last;
  bool left;
};

static void portion_free(struct portion *p) {
  arena_done(&p->arena);
  arena_done(&p->scratch);
  mem_free(p);
}

static bool on_entry(void *ctx, const struct shared_entry *e) {
  struct portion *p = ctx;
  struct claim_record r;
  struct buf b;
  if (p->left) return false;
  p->seen++;
  p->last = e->number;
  if (claim_read(e->bytes, &p->scratch, &r) && claim_is_orphan(&r, p->gateways)) {
    r.state = CLAIM_UNKNOWN;
    r.reason = STR("GATEWAY_ENDED");
    buf_init(&b, TEXT_MAX);
    claim_put(&b, &r);
    str id = arena_str(&p->arena, e->id), text = arena_str(&p->arena, buf_view(&b));
    p->orphans[p->count++] = (struct orphan){id, text, e->version};
    buf_done(&b);
  }
  arena_reset(&p->scratch);
  return true;
}

static void on_read(struct store_read *read) {
  struct portion *p = CONTAINER_OF(CONTAINER_OF(read, struct entry_search, read), struct portion, search);
  if (p->left) portion_free(p);
}

static void settle_orphan(struct store *s, const struct orphan *o, struct arena *scratch) {
  struct claim_record r;
  // The letter first: a crash in between leaves an entry that is found again.
  if (claim_read(o->text, scratch, &r)) claim_put_letter(s, o->id, &r);
  entry_replace(s, CLAIM_KIND, o->id, o->version, o->text, CLAIM_MS, NULL);
}

// Makes the orphans among the next entries unknown. Returns false if there are no further entries, or if the store
// cannot be read; *out_ok says which.
static bool recover_portion(struct store *s, const struct gateways *g, uint64_t *after, bool *out_ok) {
  struct portion *p = MEM_NEW(struct portion);
  p->gateways = g;
  p->search = (struct entry_search){
      .read.done = on_read, .id = STR(""), .after = *after, .limit = PORTION, .each = on_entry, .ctx = p};
  arena_init(&p->arena);
  arena_init(&p->scratch);
  entry_find(s, CLAIM_KIND, &p->search);
  *out_ok = p->search.read.over && p->search.read.ok;
  if (!p->search.read.over) {
    p->left = true;
    return false;
  }
  for (size_t i = 0; i < p->count; i++) settle_orphan(s, &p->orphans[i], &p->scratch);
  *after = p->last;
  bool more = *out_ok && p->seen == PORTION;
  portion_free(p);
  return more;
}

static void forget_dead(const struct gateways *g, const str *ids, size_t count) {
  for (size_t k = 0; k < count; k++) gateways_forget(g, ids[k]);
}

void claims_recover_more(struct idempotency *i) {
  bool ok;
  if (recover_portion(i->opt.store, i->opt.gateways, &i->after, &ok)) {
    timer_start(i->opt.loop, &i->next, PORTION_MS);
    return;
  }
  if (!ok) i->dead_count = 0;
  // Writes are executed in order: when this one, which changes nothing, has ended, the others have ended too.
  else entry_take(i->opt.store, CLAIM_KIND, STR("none"), &i->recovered);
}

void claims_recovered(struct store_wait *w, enum store_kept kept) {
  struct idempotency *i = CONTAINER_OF(w, struct idempotency, recovered);
  if (kept == STORE_KEPT) forget_dead(i->opt.gateways, i->dead_ids, i->dead_count);
  i->dead_count = 0;
}

void idempotency_recover(struct idempotency *i) {
  if (i->stopping || i->dead_count) return;
  arena_reset(&i->dead);
  i->dead_count = gateways_dead(i->opt.gateways, &i->dead, &i->dead_ids);
  i->after = 0;
  if (!i->dead_count) return;
  log_info(i->opt.loop->log, "%zu gateway%s of this state folder ended without a shutdown: searching for their calls",
           i->dead_count, i->dead_count == 1 ? "" : "s");
  timer_start(i->opt.loop, &i->next, 0);
}

bool idempotency_recovers(struct idempotency *i) {
  idempotency_recover(i);
  return i->dead_count > 0;
}

void idempotency_recover_now(struct store *s, const struct gateways *g) {
  struct arena a;
  str *ids;
  uint64_t after = 0;
  bool ok = true;
  arena_init(&a);
  size_t count = gateways_dead(g, &a, &ids);
  while (count && recover_portion(s, g, &after, &ok)) {
  }
  if (ok) forget_dead(g, ids, count);
  arena_done(&a);
}

// ---- decisions of people

static bool is_unknown(const struct claim_record *r, const struct gateways *g) {
  return r->state == CLAIM_UNKNOWN || claim_is_orphan(r, g);
}

bool idempotency_is_unknown(struct store *s, const struct gateways *g, str id) {
  struct arena a;
  struct claim_entry e = {0};
  struct claim_record r;
  arena_init(&a);
  bool read = id.n && id.n < CLAIM_HEX && claim_load(s, id, &a, &e);
  bool unknown = !read || (e.version && claim_read(e.text, &a, &r) && is_unknown(&r, g));
  arena_done(&a);
  return unknown;
}

bool idempotency_resolve(struct store *s, const struct gateways *g, str id, bool happened, uint64_t keep_ms,
                         struct store_wait *w, struct fault *f) {
  struct arena a;
  struct claim_entry e = {0};
  struct claim_record r;
  struct buf b;
  arena_init(&a);
  bool read = id.n < CLAIM_HEX && claim_load(s, id, &a, &e), valid = read && e.version && claim_read(e.text, &a, &r);
  bool unknown = valid && is_unknown(&r, g);
  if (!read) fault_set(f, FAULT_IO, "the stored keys cannot be read");
  else if (!unknown) fault_set(f, FAULT_INVALID, "the outcome of this call is known, or its key has expired");
  if (unknown) {
    r.state = happened ? CLAIM_DONE : CLAIM_OPEN;
    r.reason = STR("RESOLVED");
    buf_init(&b, TEXT_MAX);
    claim_put(&b, &r);
    entry_replace(s, CLAIM_KIND, id, e.version, buf_view(&b), keep_ms, w);
    buf_done(&b);
  }
  arena_done(&a);
  return unknown;
}
