// SPDX-License-Identifier: Apache-2.0
#include "store/archive.h"

#include <limits.h>

#include "base/mem.h"
#include "store/store_impl.h"

enum { ENTRY_COST = 200 };  // as in tables.c

// Records to be added, or a document to be replaced.
struct entry {
  struct job job;
  struct arena arena;
  str owner;
  struct archive_record *records;
  size_t count;
  str name, text;  // of a document; no text: it is removed
};

static bool is_name(str s) {
  return s.n <= ARCHIVE_NAME_BYTES && (!s.n || !memchr(s.p, 0, s.n));
}

static bool is_text(str s) {
  return s.n <= ARCHIVE_TEXT_BYTES;
}

static void free_entry(struct job *j) {
  struct entry *e = CONTAINER_OF(j, struct entry, job);
  arena_done(&e->arena);
  mem_free(e);
}

static struct entry *new_entry(const struct job_ops *ops, str owner) {
  struct entry *e = MEM_NEW(struct entry);
  job_init(&e->job, ops);
  arena_init(&e->arena);
  e->owner = arena_str(&e->arena, owner);
  e->job.refused = !is_name(owner);
  return e;
}

// ---- bounds

static int64_t used_bytes(struct db *db) {
  struct fault ignored;
  sqlite3_stmt *q = db_statement(db, DB_USAGE);
  if (q) db_bind_text(q, 1, STR("archive"));
  int64_t used = db_next(db, q, &ignored) == 1 ? sqlite3_column_int64(q, 1) : 0;
  sqlite3_reset(q);
  return used;
}

static bool has_room(struct shelf *sh, uint64_t bytes) {
  const struct store_limits *l = &sh->store->opt.limits;
  uint64_t most = sh->on_disk || l->archive_bytes < l->memory_bytes ? l->archive_bytes : l->memory_bytes;
  return bytes <= most && (uint64_t)used_bytes(&sh->write) <= most - bytes;
}

// ---- records

static bool drop_old(struct shelf *sh, int64_t now, struct fault *f) {
  sqlite3_stmt *q = db_statement(&sh->write, DB_RECORD_DROP_OLD);
  if (q) db_bind_int(q, 1, now - (int64_t)sh->store->opt.limits.archive_ms);
  return db_run(&sh->write, q, f);
}

static bool add_record(struct shelf *sh, const struct entry *e, const struct archive_record *r, struct fault *f) {
  sqlite3_stmt *q = db_statement(&sh->write, DB_RECORD_ADD);
  if (!q) return db_run(&sh->write, q, f);
  db_bind_text(q, 1, e->owner);
  db_bind_text(q, 2, r->context);
  db_bind_text(q, 3, r->kind);
  db_bind_text(q, 4, r->message_id);
  db_bind_int(q, 5, r->time_ms ? r->time_ms : e->job.now);
  db_bind_int(q, 6, e->job.now);
  db_bind_text(q, 7, r->text);
  return db_run(&sh->write, q, f);
}

static enum job_result apply_add(struct job *j, struct shelf *sh, struct fault *f) {
  struct entry *e = CONTAINER_OF(j, struct entry, job);
  uint64_t bytes = 0;
  for (size_t i = 0; i < e->count; i++) bytes += e->records[i].text.n + ENTRY_COST;
  if (!drop_old(sh, j->now, f)) return JOB_FAILED;
  if (!has_room(sh, bytes)) return JOB_REFUSED;
  for (size_t i = 0; i < e->count; i++)
    if (!add_record(sh, e, &e->records[i], f)) return JOB_FAILED;
  return JOB_OK;
}

static const struct job_ops add_ops = {.apply = apply_add, .free = free_entry};

void archive_add(struct store *s, str owner, const struct archive_record *records, size_t count, struct store_wait *w) {
  struct entry *e = new_entry(&add_ops, owner);
  e->records = ARENA_ARRAY(&e->arena, struct archive_record, count);
  e->count = count;
  for (size_t i = 0; i < count; i++) {
    const struct archive_record *from = &records[i];
    bool fits = is_name(from->context) && is_name(from->kind) && is_name(from->message_id) && is_text(from->text);
    if (!fits) e->job.refused = true;
    if (e->job.refused) break;
    e->records[i] = (struct archive_record){
        .context = arena_str(&e->arena, from->context),
        .kind = arena_str(&e->arena, from->kind),
        .message_id = arena_str(&e->arena, from->message_id),
        .text = arena_str(&e->arena, from->text),
        .time_ms = from->time_ms,
    };
  }
  store_order(s, &e->job, w);
}

// ---- finding records

struct finding {
  const struct archive_query *query;
  str owner;
  size_t left;
  bool (*each)(void *ctx, const struct archive_record *r);
  void *ctx;
  bool stopped;
};

static enum db_statement statement_for(const struct archive_query *q) {
  if (q->context.n) return q->newest_first ? DB_RECORD_FIND_IN_BACK : DB_RECORD_FIND_IN;
  return q->newest_first ? DB_RECORD_FIND_BACK : DB_RECORD_FIND;
}

static void bind_query(sqlite3_stmt *s, const struct finding *x, int64_t older) {
  const struct archive_query *q = x->query;
  db_bind_text(s, 1, x->owner);
  if (q->context.n) db_bind_text(s, 2, q->context);
  db_bind_text(s, 3, q->kind);
  db_bind_text(s, 4, q->message_id);
  db_bind_text(s, 5, q->contains);
  db_bind_int(s, 6, q->from_ms ? q->from_ms : INT64_MIN);
  db_bind_int(s, 7, q->until_ms ? q->until_ms : INT64_MAX);
  db_bind_int(s, 8, q->after > INT64_MAX ? INT64_MAX : (int64_t)q->after);
  db_bind_int(s, 9, (int64_t)x->left);
  db_bind_int(s, 10, older);
}

// Columns as in RECORD_FIND_HEAD.
static void give(struct finding *x, sqlite3_stmt *s) {
  struct archive_record r = {
      .number = (uint64_t)sqlite3_column_int64(s, 0),
      .context = db_column(s, 1),
      .kind = db_column(s, 2),
      .message_id = db_column(s, 3),
      .time_ms = sqlite3_column_int64(s, 4),
      .text = db_column(s, 5),
  };
  x->left--;
  x->stopped = !x->each(x->ctx, &r);
}

static bool find_on(struct shelf *sh, struct finding *x, struct fault *f) {
  struct db *db = x->stopped || !x->left ? NULL : shelf_read(sh);
  if (!db) return true;
  int got = 1;
  sqlite3_stmt *s = db_statement(db, statement_for(x->query));
  if (s) bind_query(s, x, store_now(sh->store) - (int64_t)sh->store->opt.limits.archive_ms);
  while (!x->stopped && (got = db_next(db, s, f)) == 1) give(x, s);
  sqlite3_reset(s);
  shelf_read_done(sh);
  return got >= 0;
}

bool archive_find(struct store *s, str owner, const struct archive_query *q,
                  bool (*each)(void *ctx, const struct archive_record *r), void *ctx, struct fault *f) {
  size_t left = q->limit && q->limit < ARCHIVE_FIND_MAX ? q->limit : ARCHIVE_FIND_MAX;
  struct finding x = {.query = q, .owner = owner, .left = left, .each = each, .ctx = ctx};
  struct shelf *first = q->newest_first ? &s->memory : &s->disk, *second = q->newest_first ? &s->disk : &s->memory;
  return find_on(first, &x, f) && find_on(second, &x, f);
}

// ---- documents

static bool drop_document(struct shelf *sh, const struct entry *e, struct fault *f) {
  sqlite3_stmt *q = db_statement(&sh->write, DB_DOCUMENT_DROP);
  if (q) db_bind_text(q, 1, e->owner);
  if (q) db_bind_text(q, 2, e->name);
  return db_run(&sh->write, q, f);
}

static bool add_document(struct shelf *sh, const struct entry *e, struct fault *f) {
  sqlite3_stmt *q = db_statement(&sh->write, DB_DOCUMENT_ADD);
  if (q) db_bind_text(q, 1, e->owner);
  if (q) db_bind_text(q, 2, e->name);
  if (q) db_bind_text(q, 3, e->text);
  return db_run(&sh->write, q, f);
}

static enum job_result apply_save(struct job *j, struct shelf *sh, struct fault *f) {
  struct entry *e = CONTAINER_OF(j, struct entry, job);
  if (e->text.p && !has_room(sh, e->text.n + ENTRY_COST)) return JOB_REFUSED;
  if (!drop_document(sh, e, f)) return JOB_FAILED;
  return !e->text.p || add_document(sh, e, f) ? JOB_OK : JOB_FAILED;
}

// What disk did not take before, memory has; it would hide what disk has now.
static void settle_save(struct job *j, struct shelf *sh, bool committed) {
  struct entry *e = CONTAINER_OF(j, struct entry, job);
  struct shelf *memory = (struct shelf *)&sh->store->memory;
  struct fault ignored;
  if (!committed || !sh->on_disk || !memory->write.handle) return;
  uv_mutex_lock(&memory->reading);
  drop_document(memory, e, &ignored);
  uv_mutex_unlock(&memory->reading);
}

static const struct job_ops save_ops = {.apply = apply_save, .settle = settle_save, .free = free_entry};

void archive_save(struct store *s, str owner, str name, str text, struct store_wait *w) {
  struct entry *e = new_entry(&save_ops, owner);
  if (!is_name(name) || !name.n || !is_text(text)) e->job.refused = true;
  if (!e->job.refused) e->name = arena_str(&e->arena, name);
  if (!e->job.refused && text.p) e->text = arena_str(&e->arena, text);
  store_order(s, &e->job, w);
}

static int load_from(struct shelf *sh, str owner, str name, struct arena *a, str *out, struct fault *f) {
  struct db *db = shelf_read(sh);
  if (!db) return 0;
  sqlite3_stmt *q = db_statement(db, DB_DOCUMENT_LOAD);
  if (q) db_bind_text(q, 1, owner);
  if (q) db_bind_text(q, 2, name);
  int got = db_next(db, q, f);
  if (got == 1) *out = arena_str(a, db_column(q, 0));
  sqlite3_reset(q);
  shelf_read_done(sh);
  return got;
}

bool archive_load(struct store *s, str owner, str name, struct arena *a, str *out, struct fault *f) {
  int got = load_from(&s->memory, owner, name, a, out, f);
  if (!got) got = load_from(&s->disk, owner, name, a, out, f);
  if (!got) fault_set(f, FAULT_NOT_FOUND, "there is no such document");
  return got == 1;
}

// ---- names

struct names {
  struct arena *arena;
  str *list;
  size_t count, max;
};

// Keeps the list sorted, each name once.
static void add_name(struct names *n, str name) {
  size_t at = 0;
  while (at < n->count && str_cmp(n->list[at], name) < 0) at++;
  if (at < n->count && str_eq(n->list[at], name)) return;
  if (at == n->max) return;
  if (n->count == n->max) n->count--;
  memmove(&n->list[at + 1], &n->list[at], (n->count - at) * sizeof *n->list);
  n->list[at] = arena_str(n->arena, name);
  n->count++;
}

static bool names_from(struct shelf *sh, str owner, str prefix, struct names *n, struct fault *f) {
  struct db *db = shelf_read(sh);
  if (!db) return true;
  sqlite3_stmt *q = db_statement(db, DB_DOCUMENT_NAMES);
  if (q) db_bind_text(q, 1, owner);
  if (q) db_bind_text(q, 2, prefix);
  if (q) db_bind_int(q, 3, (int64_t)n->max);
  int got;
  while ((got = db_next(db, q, f)) == 1) add_name(n, db_column(q, 0));
  shelf_read_done(sh);
  return got == 0;
}

bool archive_names(struct store *s, str owner, str prefix, size_t max, struct arena *a, str **out, size_t *out_count,
                   struct fault *f) {
  size_t most = max < ARCHIVE_FIND_MAX ? max : ARCHIVE_FIND_MAX;
  struct names n = {.arena = a, .list = ARENA_ARRAY(a, str, most + 1), .max = most};
  if (!names_from(&s->disk, owner, prefix, &n, f) || !names_from(&s->memory, owner, prefix, &n, f)) return false;
  *out = n.list;
  *out_count = n.count;
  return true;
}
