// SPDX-License-Identifier: Apache-2.0
#include "store/shared.h"

#include "base/assert.h"
#include "base/mem.h"
#include "store/store_impl.h"

// Values of `space` for the notes of counters, leases and keys. The `space` of an entry is its kind, which must not
// begin with a dot.
#define COUNTERS ".counter"
#define LEASES ".lease"
#define KEYS ".once"

#define LONGEST_MS (UINT64_C(1) << 56)

static void free_write(struct store_write *w) {
  struct note_write *x = CONTAINER_OF(w, struct note_write, write);
  buf_done(&w->answer);
  arena_done(&x->arena);
  mem_free(x);
}

static bool is_name(str s) {
  return s.n <= SHARED_NAME_BYTES && (!s.n || !memchr(s.p, 0, s.n));
}

static struct note_write *new_write(enum note_op op, str space, str id, str text, uint64_t ms) {
  struct note_write *x = MEM_NEW(struct note_write);
  write_init(&x->write, WRITE_NOTE, free_write);
  buf_init(&x->write.answer, SHARED_BYTES);
  arena_init(&x->arena);
  x->op = op;
  x->ms = ms < LONGEST_MS ? ms : LONGEST_MS;
  x->write.refused = !is_name(space) || !is_name(id) || !space.n || (!id.n && op != NOTE_TAKE) ||
                     text.n > (op == NOTE_LEASE ? SHARED_NAME_BYTES : SHARED_BYTES);
  if (x->write.refused) return x;
  x->space = arena_str(&x->arena, space);
  x->id = arena_str(&x->arena, id);
  x->text = arena_str(&x->arena, text);
  x->write.bytes = text.n;
  return x;
}

void counter_add(struct store *s, str name, int64_t delta, uint64_t window_ms, struct store_wait *w) {
  struct note_write *x = new_write(NOTE_COUNT, STR(COUNTERS), name, STR(""), window_ms);
  x->delta = delta;
  store_order(s, &x->write, w);
}

void lease_take(struct store *s, str name, str holder, uint64_t ms, struct store_wait *w) {
  store_order(s, &new_write(NOTE_LEASE, STR(LEASES), name, holder, ms)->write, w);
}

void once(struct store *s, str key, uint64_t ms, struct store_wait *w) {
  store_order(s, &new_write(NOTE_ONCE, STR(KEYS), key, STR(""), ms)->write, w);
}

static void order_entry(struct store *s, struct note_write *x, struct store_wait *w) {
  if (!x->write.refused) x->write.refused = x->space.p[0] == '.';
  store_order(s, &x->write, w);
}

void entry_put(struct store *s, str kind, str id, str bytes, uint64_t ms, struct store_wait *w) {
  order_entry(s, new_write(NOTE_PUT, kind, id, bytes, ms), w);
}

void entry_add(struct store *s, str kind, str id, str bytes, uint64_t ms, struct store_wait *w) {
  order_entry(s, new_write(NOTE_ADD, kind, id, bytes, ms), w);
}

void entry_replace(struct store *s, str kind, str id, int64_t version, str bytes, uint64_t ms, struct store_wait *w) {
  struct note_write *x = new_write(NOTE_REPLACE, kind, id, bytes, ms);
  x->delta = version;
  order_entry(s, x, w);
}

void entry_take(struct store *s, str kind, str id, struct store_wait *w) {
  order_entry(s, new_write(NOTE_TAKE, kind, id, STR(""), 0), w);
}

// ---- changes of a note

static void answer(struct note_write *w, int64_t value, str bytes) {
  w->write.value = value;
  buf_reset(&w->write.answer);
  buf_str(&w->write.answer, bytes);
}

static enum note_change take_lease(struct note_write *w, const struct note *at, struct note *out) {
  bool foreign = at && !str_eq(at->text, w->text);
  answer(w, !foreign, foreign ? at->text : STR(""));
  if (foreign) return NOTE_STAYS;
  if (!w->ms) return at ? NOTE_REMOVED : NOTE_STAYS;
  out->text = w->text;
  return NOTE_REPLACED;
}

static enum note_change count(struct note_write *w, const struct note *at, struct note *out) {
  if (__builtin_add_overflow(out->value, w->delta, &out->value)) out->value = w->delta < 0 ? INT64_MIN : INT64_MAX;
  if (at) out->until = at->until;
  answer(w, out->value, STR(""));
  return NOTE_REPLACED;
}

// Returns whether the write may change the entry. If it may not, answers with the bytes of the entry.
static bool may_store(struct note_write *w, const struct note *at) {
  bool may = w->op == NOTE_PUT || (w->op == NOTE_ADD ? !at : at && at->value == w->delta);
  if (!may) answer(w, 0, at ? at->text : STR(""));
  return may;
}

enum note_change note_decide(struct note_write *w, const struct note *at, struct note *out) {
  ASSERT(w->op <= NOTE_TAKE && !w->write.refused);
  int64_t until = w->write.now + (int64_t)w->ms;
  *out = (struct note){w->space, w->id, STR(""), at ? at->value : 0, until, at ? at->number : 0};
  switch (w->op) {
  case NOTE_COUNT: return count(w, at, out);
  case NOTE_LEASE: return take_lease(w, at, out);
  case NOTE_ONCE: answer(w, !at, STR("")); return at ? NOTE_STAYS : NOTE_REPLACED;
  case NOTE_PUT:
  case NOTE_ADD:
  case NOTE_REPLACE: break;
  case NOTE_TAKE: answer(w, at != NULL, at ? at->text : STR("")); return at ? NOTE_REMOVED : NOTE_STAYS;
  }
  if (!may_store(w, at)) return NOTE_STAYS;
  answer(w, ++out->value, STR(""));
  out->text = w->text;
  return NOTE_REPLACED;
}

// ---- reading

static void find_in(struct store_place *p, struct entry_search *x) {
  if (p && x->left && !x->stopped) p->backend->find_notes(p, x);
  else store_read_over(&x->read, true, NULL);
}

static void on_first(struct store_read *r) {
  struct entry_search *x = CONTAINER_OF(r, struct entry_search, read);
  if (r->ok) find_in(r->store->spare, x);
  else store_read_over(r, false, &r->fault);
}

// Searches the main place, then the spare place (memory), which has the newer entries.
void entry_find(struct store *s, str kind, struct entry_search *x) {
  ASSERT(x->each);
  read_begin(&x->read, s, on_first);
  x->space = kind;
  x->left = x->limit && x->limit < SHARED_MAX ? x->limit : SHARED_MAX;
  x->stopped = false;
  find_in(s->place, x);
}
