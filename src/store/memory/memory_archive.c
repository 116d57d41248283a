// SPDX-License-Identifier: Apache-2.0
// Stores the records and documents of the archive in memory.
#include <limits.h>

#include "base/mem.h"
#include "base/text/find.h"
#include "store/memory/memory.h"

struct kept_record {
  struct list node;
  struct arena arena;
  str owner;
  struct archive_record record;
  int64_t added;
};

struct kept_document {
  str key, owner, name, text;
  struct arena arena;
};

static bool has_room(struct memory *m, uint64_t bytes) {
  uint64_t most = place_archive_limit(&m->place);
  return bytes <= most && m->archive_bytes <= most - bytes;
}

// ---- records

static void drop_record(struct memory *m, struct kept_record *k) {
  ASSERT(m->archive_bytes >= k->record.text.n + ARCHIVE_ENTRY_COST);
  m->archive_bytes -= k->record.text.n + ARCHIVE_ENTRY_COST;
  list_remove(&k->node);
  arena_done(&k->arena);
  mem_free(k);
}

static struct kept_record *record_at(struct list *node) {
  return CONTAINER_OF(node, struct kept_record, node);
}

void memory_drop_old_records(struct memory *m, int64_t now) {
  int64_t until = now - (int64_t)m->place.opt->limits.archive_ms;
  while (!list_empty(&m->records) && record_at(m->records.next)->added <= until)
    drop_record(m, record_at(m->records.next));
}

static void add_record(struct memory *m, const struct archive_write *x, const struct archive_record *r) {
  struct kept_record *k = MEM_NEW(struct kept_record);
  arena_init(&k->arena);
  k->owner = arena_str(&k->arena, x->owner);
  k->added = x->write.now;
  k->record = (struct archive_record){
      .context = arena_str(&k->arena, r->context),
      .kind = arena_str(&k->arena, r->kind),
      .message_id = arena_str(&k->arena, r->message_id),
      .text = arena_str(&k->arena, r->text),
      .time_ms = r->time_ms ? r->time_ms : x->write.now,
      .number = ++m->last_record,
  };
  list_push(&m->records, &k->node);
  m->archive_bytes += r->text.n + ARCHIVE_ENTRY_COST;
}

bool memory_add_records(struct memory *m, struct store_write *w) {
  struct archive_write *x = CONTAINER_OF(w, struct archive_write, write);
  uint64_t bytes = 0;
  for (size_t i = 0; i < x->count; i++) bytes += x->records[i].text.n + ARCHIVE_ENTRY_COST;
  memory_drop_old_records(m, w->now);
  if (!has_room(m, bytes)) return false;
  for (size_t i = 0; i < x->count; i++) add_record(m, x, &x->records[i]);
  return true;
}

static bool is_any(str wanted, str s) {
  return !wanted.n || str_eq(wanted, s);
}

static bool matches(const struct archive_search *x, const struct kept_record *k, int64_t older) {
  const struct archive_query *q = &x->query;
  const struct archive_record *r = &k->record;
  return k->added > older && str_eq(k->owner, x->owner) && is_any(q->context, r->context) && is_any(q->kind, r->kind) &&
         is_any(q->message_id, r->message_id) && r->number > q->after &&
         r->time_ms >= (q->from_ms ? q->from_ms : INT64_MIN) && r->time_ms < (q->until_ms ? q->until_ms : INT64_MAX) &&
         (!q->contains.n || find_nocase(r->text, q->contains));
}

void memory_find_records(struct store_place *p, struct archive_search *x) {
  struct memory *m = memory_of(p);
  int64_t older = place_now(p) - (int64_t)p->opt->limits.archive_ms;
  bool back = x->query.newest_first;
  uv_mutex_lock(&m->lock);
  for (struct list *n = back ? m->records.prev : m->records.next; n != &m->records && x->left && !x->stopped;
       n = back ? n->prev : n->next) {
    if (!matches(x, record_at(n), older)) continue;
    x->left--;
    x->stopped = !x->each(x->ctx, &record_at(n)->record);
  }
  uv_mutex_unlock(&m->lock);
  store_read_over(&x->read, true, NULL);
}

// ---- documents

static void drop_document(struct memory *m, struct kept_document *d) {
  ASSERT(m->archive_bytes >= d->text.n + ARCHIVE_ENTRY_COST);
  m->archive_bytes -= d->text.n + ARCHIVE_ENTRY_COST;
  map_remove(&m->documents, d->key);
  memory_key_free(d->key);
  arena_done(&d->arena);
  mem_free(d);
}

bool memory_save_document(struct memory *m, struct store_write *w) {
  struct archive_write *x = CONTAINER_OF(w, struct archive_write, write);
  struct kept_document *old = memory_find(&m->documents, x->owner, x->name);
  if (x->text.p && !has_room(m, x->text.n + ARCHIVE_ENTRY_COST)) return false;
  if (old) drop_document(m, old);
  if (!x->text.p) return true;
  struct kept_document *d = MEM_NEW(struct kept_document);
  arena_init(&d->arena);
  d->key = memory_key(x->owner, x->name);
  d->owner = arena_str(&d->arena, x->owner);
  d->name = arena_str(&d->arena, x->name);
  d->text = arena_str(&d->arena, x->text);
  map_add(&m->documents, d->key, d);
  m->archive_bytes += d->text.n + ARCHIVE_ENTRY_COST;
  return true;
}

void memory_load_document(struct store_place *p, struct archive_loading *x) {
  struct memory *m = memory_of(p);
  uv_mutex_lock(&m->lock);
  const struct kept_document *d = memory_find(&m->documents, x->owner, x->name);
  if (d) x->text = arena_str(x->arena, d->text);
  uv_mutex_unlock(&m->lock);
  store_read_over(&x->read, d, NULL);
}

void memory_list_documents(struct store_place *p, struct archive_listing *x) {
  struct memory *m = memory_of(p);
  const struct kept_document *d;
  uv_mutex_lock(&m->lock);
  for (size_t at = 0; (d = map_next(&m->documents, &at));)
    if (str_eq(d->owner, x->owner) && str_starts(d->name, x->prefix)) names_found_add(&x->names, d->name);
  uv_mutex_unlock(&m->lock);
  store_read_over(&x->read, true, NULL);
}

void memory_drop_archive(struct memory *m) {
  struct kept_document *d;
  while (!list_empty(&m->records)) drop_record(m, record_at(m->records.next));
  for (size_t at = 0; (d = map_next(&m->documents, &at));) drop_document(m, d);
}
