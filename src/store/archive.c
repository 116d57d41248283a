// SPDX-License-Identifier: Apache-2.0
#include "store/archive.h"

#include "base/assert.h"
#include "base/mem.h"
#include "store/store_impl.h"

static bool is_name(str s) {
  return s.n <= ARCHIVE_NAME_BYTES && (!s.n || !memchr(s.p, 0, s.n));
}

static bool is_text(str s) {
  return s.n <= ARCHIVE_TEXT_BYTES;
}

static void free_write(struct store_write *w) {
  struct archive_write *x = CONTAINER_OF(w, struct archive_write, write);
  arena_done(&x->arena);
  mem_free(x);
}

static struct archive_write *new_write(enum write_kind kind, str owner) {
  struct archive_write *x = MEM_NEW(struct archive_write);
  write_init(&x->write, kind, free_write);
  arena_init(&x->arena);
  x->owner = arena_str(&x->arena, owner);
  x->write.refused = !is_name(owner);
  return x;
}

// ---- records

void archive_add(struct store *s, str owner, const struct archive_record *records, size_t count, struct store_wait *w) {
  struct archive_write *x = new_write(WRITE_RECORDS, owner);
  x->records = ARENA_ARRAY(&x->arena, struct archive_record, count);
  x->count = count;
  for (size_t i = 0; i < count; i++) {
    const struct archive_record *from = &records[i];
    bool fits = is_name(from->context) && is_name(from->kind) && is_name(from->message_id) && is_text(from->text);
    if (!fits) x->write.refused = true;
    if (x->write.refused) break;
    x->records[i] = (struct archive_record){
        .context = arena_str(&x->arena, from->context),
        .kind = arena_str(&x->arena, from->kind),
        .message_id = arena_str(&x->arena, from->message_id),
        .text = arena_str(&x->arena, from->text),
        .time_ms = from->time_ms,
    };
  }
  store_order(s, &x->write, w);
}

static void find_in(struct store_place *p, struct archive_search *x) {
  if (p && x->left && !x->stopped) p->backend->find_records(p, x);
  else store_read_over(&x->read, true, NULL);
}

static void on_first(struct store_read *r) {
  struct archive_search *x = CONTAINER_OF(r, struct archive_search, read);
  if (r->ok) find_in(x->query.newest_first ? r->store->place : r->store->spare, x);
  else store_read_over(r, false, &r->fault);
}

// Searches the main place (such as a folder) and the spare place (memory). The spare place has the newer records, so it
// is searched first if newest_first is set.
void archive_find(struct store *s, str owner, struct archive_search *x) {
  ASSERT(x->each);
  size_t limit = x->query.limit;
  read_begin(&x->read, s, on_first);
  x->owner = owner;
  x->left = limit && limit < ARCHIVE_FIND_MAX ? limit : ARCHIVE_FIND_MAX;
  x->stopped = false;
  find_in(x->query.newest_first ? s->spare : s->place, x);
}

// ---- documents

void archive_save(struct store *s, str owner, str name, str text, struct store_wait *w) {
  struct archive_write *x = new_write(WRITE_DOCUMENT, owner);
  if (!is_name(name) || !name.n || !is_text(text)) x->write.refused = true;
  if (!x->write.refused) x->name = arena_str(&x->arena, name);
  if (!x->write.refused && text.p) x->text = arena_str(&x->arena, text);
  store_order(s, &x->write, w);
}

static void on_not_in_spare(struct store_read *r) {
  struct store_place *p = r->store->place;
  if (r->ok) store_read_over(r, true, NULL);
  else p->backend->load_document(p, CONTAINER_OF(r, struct archive_loading, read));
}

void archive_load(struct store *s, str owner, str name, struct arena *a, struct archive_loading *x) {
  ASSERT(a);
  struct store_place *first = s->spare ? s->spare : s->place;
  read_begin(&x->read, s, s->spare ? on_not_in_spare : NULL);
  x->owner = owner;
  x->name = name;
  x->arena = a;
  first->backend->load_document(first, x);
}

// ---- names

void names_found_add(struct names_found *n, str name) {
  size_t at = 0;
  ASSERT(n->count <= n->max);
  while (at < n->count && str_cmp(n->list[at], name) < 0) at++;
  if (at < n->count && str_eq(n->list[at], name)) return;
  if (at == n->max) return;
  if (n->count == n->max) n->count--;
  memmove(&n->list[at + 1], &n->list[at], (n->count - at) * sizeof *n->list);
  n->list[at] = arena_str(n->arena, name);
  n->count++;
}

static void on_listed(struct store_read *r) {
  struct store_place *spare = r->store->spare;
  if (r->ok && spare) spare->backend->list_documents(spare, CONTAINER_OF(r, struct archive_listing, read));
  else store_read_over(r, r->ok, r->ok ? NULL : &r->fault);
}

void archive_names(struct store *s, str owner, str prefix, size_t max, struct arena *a, struct archive_listing *x) {
  size_t most = max < ARCHIVE_FIND_MAX ? max : ARCHIVE_FIND_MAX;
  read_begin(&x->read, s, on_listed);
  x->owner = owner;
  x->prefix = prefix;
  x->names = (struct names_found){.arena = a, .list = ARENA_ARRAY(a, str, most + 1), .max = most};
  s->place->backend->list_documents(s->place, x);
}
