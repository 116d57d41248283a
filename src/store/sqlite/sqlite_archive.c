// SPDX-License-Identifier: Apache-2.0
// Stores the records and documents of the archive as rows of the SQLite database.
#include <limits.h>

#include "store/sqlite/database.h"

static struct archive_write *archive_of(struct store_write *w) {
  return CONTAINER_OF(w, struct archive_write, write);
}

static bool has_room(struct database *d, uint64_t bytes) {
  uint64_t most = place_archive_limit(&d->place);
  return bytes <= most && database_usage(&d->write, STR("archive")).bytes <= most - bytes;
}

// ---- records

static bool add_record(struct database *d, const struct archive_write *e, const struct archive_record *r,
                       struct fault *f) {
  sqlite3_stmt *q = db_statement(&d->write, DB_RECORD_ADD);
  db_bind_text(q, 1, e->owner);
  db_bind_text(q, 2, r->context);
  db_bind_text(q, 3, r->kind);
  db_bind_text(q, 4, r->message_id);
  db_bind_int(q, 5, r->time_ms ? r->time_ms : e->write.now);
  db_bind_int(q, 6, e->write.now);
  db_bind_text(q, 7, r->text);
  return db_run(&d->write, q, f);
}

enum applied records_apply(struct database *d, struct store_write *w, struct fault *f) {
  struct archive_write *e = archive_of(w);
  uint64_t bytes = 0;
  int64_t oldest = w->now - (int64_t)d->place.opt->limits.archive_ms;
  for (size_t i = 0; i < e->count; i++) bytes += e->records[i].text.n + ARCHIVE_ENTRY_COST;
  if (!db_do_int(&d->write, DB_RECORD_DROP_OLD, oldest, f)) return APPLY_FAILED;
  if (!has_room(d, bytes)) return APPLY_REFUSED;
  for (size_t i = 0; i < e->count; i++)
    if (!add_record(d, e, &e->records[i], f)) return APPLY_FAILED;
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

// Passes one row of a result to x->each. The SQL text of the statement must begin with RECORD_FIND_HEAD.
static void pass_record(struct archive_search *x, sqlite3_stmt *s) {
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
  struct database *d = database_of(p);
  struct db *db = database_read(d);
  struct fault f;
  int got = db ? 1 : 0;
  sqlite3_stmt *s = db ? db_statement(db, statement_for(&x->query)) : NULL;
  bind_query(s, x, place_now(p) - (int64_t)p->opt->limits.archive_ms);
  while (got == 1 && !x->stopped)
    if ((got = db_next(db, s, &f)) == 1) pass_record(x, s);
  sqlite3_reset(s);
  database_read_done(d, db);
  store_read_over(&x->read, got >= 0, got < 0 ? &f : NULL);
}

// ---- documents

enum applied document_apply(struct database *d, struct store_write *w, struct fault *f) {
  struct archive_write *e = archive_of(w);
  if (e->text.p && !has_room(d, e->text.n + ARCHIVE_ENTRY_COST)) return APPLY_REFUSED;
  sqlite3_stmt *q = db_statement(&d->write, DB_DOCUMENT_DROP);
  db_bind_text(q, 1, e->owner);
  db_bind_text(q, 2, e->name);
  if (!db_run(&d->write, q, f)) return APPLY_FAILED;
  if (!e->text.p) return APPLY_OK;
  q = db_statement(&d->write, DB_DOCUMENT_ADD);
  db_bind_text(q, 1, e->owner);
  db_bind_text(q, 2, e->name);
  db_bind_text(q, 3, e->text);
  return db_run(&d->write, q, f) ? APPLY_OK : APPLY_FAILED;
}

void database_load_document(struct store_place *p, struct archive_loading *x) {
  struct database *d = database_of(p);
  struct db *db = database_read(d);
  struct fault f;
  sqlite3_stmt *q = db ? db_statement(db, DB_DOCUMENT_LOAD) : NULL;
  db_bind_text(q, 1, x->owner);
  db_bind_text(q, 2, x->name);
  int got = db ? db_next(db, q, &f) : 0;
  if (got == 1) x->text = arena_str(x->arena, db_column(q, 0));
  sqlite3_reset(q);
  database_read_done(d, db);
  store_read_over(&x->read, got == 1, got < 0 ? &f : NULL);
}

void database_list_documents(struct store_place *p, struct archive_listing *x) {
  struct database *d = database_of(p);
  struct db *db = database_read(d);
  struct fault f;
  sqlite3_stmt *q = db ? db_statement(db, DB_DOCUMENT_NAMES) : NULL;
  db_bind_text(q, 1, x->owner);
  db_bind_text(q, 2, x->prefix);
  db_bind_int(q, 3, (int64_t)x->names.max);
  int got = 0;
  while (db && (got = db_next(db, q, &f)) == 1) names_found_add(&x->names, db_column(q, 0));
  database_read_done(d, db);
  store_read_over(&x->read, got == 0, got < 0 ? &f : NULL);
}
