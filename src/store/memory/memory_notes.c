// SPDX-License-Identifier: Apache-2.0
// Stores counters, leases, keys and entries in memory.
#include "base/mem.h"
#include "store/memory/memory.h"

// The notes of one space. A space without notes has none.
struct kept_kind {
  struct piece_usage usage;
  char space[];
};

struct kept_note {
  struct list node;
  struct arena arena;
  str key;
  struct note note;
  struct kept_kind *kind;
};

static struct kept_note *note_at(struct list *node) {
  return CONTAINER_OF(node, struct kept_note, node);
}

static struct kept_kind *kind_of(struct memory *m, str space) {
  struct kept_kind *k = map_find(&m->kinds, space);
  if (k) return k;
  k = mem_alloc(sizeof *k + space.n);
  *k = (struct kept_kind){0};
  memcpy(k->space, space.p, space.n);
  map_add(&m->kinds, (str){k->space, space.n}, k);
  return k;
}

static void drop(struct memory *m, struct kept_note *k) {
  k->kind->usage.bytes -= k->note.text.n + SHARED_COST;
  if (!--k->kind->usage.count) {
    map_remove(&m->kinds, k->note.space);
    mem_free(k->kind);
  }
  map_remove(&m->notes_by_id, k->key);
  list_remove(&k->node);
  memory_key_free(k->key);
  arena_done(&k->arena);
  mem_free(k);
}

void memory_drop_old_notes(struct memory *m, int64_t now) {
  LIST_EACH(it, &m->notes)
    if (note_at(it)->note.until <= now) drop(m, note_at(it));
}

void memory_drop_notes(struct memory *m) {
  while (!list_empty(&m->notes)) drop(m, note_at(m->notes.next));
}

// Returns the first note of a space that has not expired, or NULL.
static struct kept_note *first_of(struct memory *m, str space, int64_t now) {
  LIST_EACH(it, &m->notes)
    if (note_at(it)->note.until > now && str_eq(note_at(it)->note.space, space)) return note_at(it);
  return NULL;
}

static struct kept_note *find(struct memory *m, str space, str id, int64_t now) {
  struct kept_note *k = memory_find(&m->notes_by_id, space, id);
  if (!k || k->note.until > now) return k;
  drop(m, k);
  return NULL;
}

static struct kept_note *add(struct memory *m, const struct note *n) {
  struct kept_note *k = MEM_NEW(struct kept_note);
  arena_init(&k->arena);
  k->key = memory_key(n->space, n->id);
  k->note.number = ++m->last_note;
  k->kind = kind_of(m, n->space);
  k->kind->usage.count++;
  k->kind->usage.bytes += SHARED_COST;
  list_push(&m->notes, &k->node);
  map_add(&m->notes_by_id, k->key, k);
  return k;
}

static void set(struct kept_note *k, const struct note *n) {
  k->kind->usage.bytes += n->text.n - k->note.text.n;
  arena_reset(&k->arena);
  k->note = (struct note){arena_str(&k->arena, n->space),
                          arena_str(&k->arena, n->id),
                          arena_str(&k->arena, n->text),
                          n->value,
                          n->until,
                          k->note.number};
}

// Returns whether the limits of a space allow a note in place of `before`, or a new note if `before` is NULL.
static bool has_room(const struct memory *m, const struct note *to, const struct kept_note *before) {
  uint64_t most = place_kind_limit(&m->place);
  const struct kept_kind *kind = map_find(&m->kinds, to->space);
  if (before) return kind->usage.bytes - before->note.text.n + to->text.n <= most;
  return !kind || (kind->usage.count < SHARED_MAX && kind->usage.bytes + to->text.n + SHARED_COST <= most);
}

bool memory_write_note(struct memory *m, struct store_write *w) {
  struct note_write *x = CONTAINER_OF(w, struct note_write, write);
  struct kept_note *k = x->id.n ? find(m, x->space, x->id, w->now) : first_of(m, x->space, w->now);
  struct note to;
  enum note_change what = note_decide(x, k ? &k->note : NULL, &to);
  ASSERT(k || what != NOTE_REMOVED);
  if (what == NOTE_REMOVED) drop(m, k);
  if (what != NOTE_REPLACED) return true;
  if (!has_room(m, &to, k)) memory_drop_old_notes(m, w->now);
  if (!has_room(m, &to, k)) return false;
  set(k ? k : add(m, &to), &to);
  return true;
}

void memory_find_notes(struct store_place *p, struct entry_search *x) {
  struct memory *m = memory_of(p);
  int64_t now = place_now(p);
  uv_mutex_lock(&m->lock);
  LIST_EACH(it, &m->notes) {
    const struct note *n = &note_at(it)->note;
    if (!x->left || x->stopped) break;
    if (n->until <= now || n->number <= x->after || !str_eq(n->space, x->space)) continue;
    if (x->id.n && !str_eq(n->id, x->id)) continue;
    x->left--;
    x->stopped = !x->each(x->ctx, &(struct shared_entry){n->id, n->text, n->number, n->value, n->until});
  }
  uv_mutex_unlock(&m->lock);
  store_read_over(&x->read, true, NULL);
}
