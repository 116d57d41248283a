// SPDX-License-Identifier: Apache-2.0
// Records and documents: rows.
#include <limits.h>

#include "store/sqlite/database.h"

static struct archive_write *archive_of(struct store_write *w) {
  return CONTAINER_OF(w, struct archive_write, write);
}

// ---- limits

static int64_t used_bytes(struct db *db) {
  struct fault ignored;
  sqlite3_stmt *q = db_statement(db, DB_USAGE);
  if (q) db_bind_text(q, 1, STR("archive"));
  int64_t used = db_next(db, q, &ignored) == 1 ? sqlite3_column_int64(q, 1) : 0;
  sqlite3_reset(q);
  return used;
}

static bool has_room(struct database *sh, uint64_t bytes) {
  uint64_t most = place_archive_most(&sh->place);
  return bytes <= most && (uint64_t)used_bytes(&sh->write) <= most - bytes;
}

// ---- records

static bool drop_old(struct database *sh, int64_t now, struct fault *f) {
  sqlite3_stmt *q = db_statement(&sh->write, DB_RECORD_DROP_OLD);
  if (q) db_bind_int(q, 1, now - (int64_t)sh->place.opt->limits.archive_ms);
  return db_run(&sh->write, q, f);
}

static bool add_record(struct database *sh, const struct archive_write *e, const struct archive_record *r,
                       struct fault *f) {
  sqlite3_stmt *q = db_statement(&sh->write, DB_RECORD_ADD);
  if (!q) return db_run(&sh->write, q, f);
  db_bind_text(q, 1, e->owner);
  db_bind_text(q, 2, r->context);
  db_bind_text(q, 3, r->kind);
  db_bind_text(q, 4, r->message_id);
  db_bind_int(q, 5, r->time_ms ? r->time_ms : e->write.now);
  db_bind_int(q, 6, e->write.now);
  db_bind_text(q, 7, r->text);
  return db_run(&sh->write, q, f);
}

enum applied records_apply(struct database *sh, struct store_write *w, struct fault *f) {
  struct archive_write *e = archive_of(w);
  uint64_t bytes = 0;
  for (size_t i = 0; i < e->count; i++) bytes += e->records[i].text.n + ARCHIVE_ENTRY_COST;
  if (!drop_old(sh, w->now, f)) return APPLY_FAILED;
  if (!has_room(sh, bytes)) return APPLY_REFUSED;
  for (size_t i = 0; i < e->count; i++)
    if (!add_record(sh, e, &e->records[i], f)) return APPLY_FAILED;
  return APPLY_OK;
}

static enum db_statement statement_for(const struct archive_query *q) {
  if (q->context.n) return q->newest_first ? DB_RECORD_FIND_IN_BACK : DB_RECORD_FIND_IN;
  return q->newest_first ? DB_RECORD_FIND_BACK : DB_RECORD_FIND;
}

static void bind_query(sqlite3_stmt *s, const struct archive_search *x, int64_t older) {
  const struct archive_query *q = &x->query;
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
static void give(struct archive_search *x, sqlite3_stmt *s) {
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

void database_find_records(struct store_place *p, struct archive_search *x) {
  struct database *sh = database_of(p);
  struct db *db = database_read(sh);
  struct fault f;
  int got = db ? 1 : 0;
  sqlite3_stmt *s = db ? db_statement(db, statement_for(&x->query)) : NULL;
  if (s) bind_query(s, x, place_now(p) - (int64_t)p->opt->limits.archive_ms);
  while (got == 1 && !x->stopped)
    if ((got = db_next(db, s, &f)) == 1) give(x, s);
  sqlite3_reset(s);
  database_read_done(sh, db);
  store_read_over(&x->read, got >= 0, got < 0 ? &f : NULL);
}

// ---- documents

static bool drop_document(struct database *sh, const struct archive_write *e, struct fault *f) {
  sqlite3_stmt *q = db_statement(&sh->write, DB_DOCUMENT_DROP);
  if (q) db_bind_text(q, 1, e->owner);
  if (q) db_bind_text(q, 2, e->name);
  return db_run(&sh->write, q, f);
}

static bool add_document(struct database *sh, const struct archive_write *e, struct fault *f) {
  sqlite3_stmt *q = db_statement(&sh->write, DB_DOCUMENT_ADD);
  if (q) db_bind_text(q, 1, e->owner);
  if (q) db_bind_text(q, 2, e->name);
  if (q) db_bind_text(q, 3, e->text);
  return db_run(&sh->write, q, f);
}

enum applied document_apply(struct database *sh, struct store_write *w, struct fault *f) {
  struct archive_write *e = archive_of(w);
  if (e->text.p && !has_room(sh, e->text.n + ARCHIVE_ENTRY_COST)) return APPLY_REFUSED;
  if (!drop_document(sh, e, f)) return APPLY_FAILED;
  return !e->text.p || add_document(sh, e, f) ? APPLY_OK : APPLY_FAILED;
}

void database_load_document(struct store_place *p, struct archive_loading *x) {
  struct database *sh = database_of(p);
  struct db *db = database_read(sh);
  struct fault f;
  sqlite3_stmt *q = db ? db_statement(db, DB_DOCUMENT_LOAD) : NULL;
  if (q) db_bind_text(q, 1, x->owner);
  if (q) db_bind_text(q, 2, x->name);
  int got = db ? db_next(db, q, &f) : 0;
  if (got == 1) x->text = arena_str(x->arena, db_column(q, 0));
  sqlite3_reset(q);
  database_read_done(sh, db);
  store_read_over(&x->read, got == 1, got < 0 ? &f : NULL);
}

void database_list_documents(struct store_place *p, struct archive_listing *x) {
  struct database *sh = database_of(p);
  struct db *db = database_read(sh);
  struct fault f;
  sqlite3_stmt *q = db ? db_statement(db, DB_DOCUMENT_NAMES) : NULL;
  if (q) db_bind_text(q, 1, x->owner);
  if (q) db_bind_text(q, 2, x->prefix);
  if (q) db_bind_int(q, 3, (int64_t)x->names.max);
  int got = 0;
  while (db && (got = db_next(db, q, &f)) == 1) names_found_add(&x->names, db_column(q, 0));
  database_read_done(sh, db);
  store_read_over(&x->read, got == 0, got < 0 ? &f : NULL);
}
