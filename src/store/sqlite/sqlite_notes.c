// SPDX-License-Identifier: Apache-2.0
// Stores counters, leases, keys and entries as rows of one table. Each change reads and replaces a row in one
// transaction.
#include "store/sqlite/database.h"

// Reads a row of the result of a statement whose SQL text begins with NOTE_HEAD.
static struct note note_of(sqlite3_stmt *q, str space) {
  return (struct note){
      .space = space,
      .number = (uint64_t)sqlite3_column_int64(q, 0),
      .id = db_column(q, 1),
      .text = db_column(q, 2),
      .value = sqlite3_column_int64(q, 3),
      .until = sqlite3_column_int64(q, 4),
  };
}

// Prepares the statement that finds the notes of `space`: the note `id`, or all notes if `id` is empty.
static sqlite3_stmt *query(struct db *db, str space, str id, int64_t now, uint64_t after, size_t limit) {
  sqlite3_stmt *q = db_statement(db, id.n ? DB_NOTE_FIND : DB_NOTE_LIST);
  db_bind_text(q, 1, space);
  db_bind_int(q, 2, now);
  db_bind_int(q, 3, after > INT64_MAX ? INT64_MAX : (int64_t)after);
  if (id.n) db_bind_text(q, 4, id);
  db_bind_int(q, 5, (int64_t)limit);
  return q;
}

// Returns whether the limits of a space allow a note in place of `before`, or a new note if `before` is NULL.
static bool has_room(struct database *d, const struct note *to, const struct note *before) {
  uint64_t most = place_kind_limit(&d->place);
  struct buf name;
  buf_init(&name, SHARED_NAME_BYTES + 16);
  buf_printf(&name, "notes of %.*s", STR_ARG(to->space));
  struct piece_usage usage = database_usage(&d->write, buf_view(&name));
  buf_done(&name);
  if (before) return to->text.n <= before->text.n || usage.bytes + to->text.n - before->text.n <= most;
  return usage.count < SHARED_MAX && usage.bytes + to->text.n + SHARED_COST <= most;
}

static enum applied change(struct db *db, enum note_change what, const struct note *to, struct fault *f) {
  if (what == NOTE_STAYS) return APPLY_OK;
  ASSERT(what == NOTE_REPLACED || to->number);
  if (what == NOTE_REMOVED) return db_do_int(db, DB_NOTE_DROP, (int64_t)to->number, f) ? APPLY_OK : APPLY_FAILED;
  sqlite3_stmt *q = db_statement(db, DB_NOTE_PUT);
  db_bind_text(q, 1, to->space);
  db_bind_text(q, 2, to->id);
  db_bind_blob(q, 3, to->text);
  db_bind_int(q, 4, to->value);
  db_bind_int(q, 5, to->until);
  return db_run(db, q, f) ? APPLY_OK : APPLY_FAILED;
}

enum applied note_apply(struct database *d, struct store_write *w, struct fault *f) {
  struct note_write *x = CONTAINER_OF(w, struct note_write, write);
  struct db *db = &d->write;
  if (!d->has_notes && !db_make_notes(db, f)) return APPLY_FAILED;
  d->has_notes = true;
  if (!db_do_int(db, DB_NOTE_DROP_OLD, w->now, f)) return APPLY_FAILED;
  sqlite3_stmt *q = query(db, x->space, x->id, w->now, 0, 1);
  int got = db_next(db, q, f);
  if (got < 0) return APPLY_FAILED;
  struct note at = got == 1 ? note_of(q, x->space) : (struct note){0}, to;
  enum note_change what = note_decide(x, got == 1 ? &at : NULL, &to);
  bool fits = what != NOTE_REPLACED || has_room(d, &to, got == 1 ? &at : NULL);
  sqlite3_reset(q);
  return fits ? change(db, what, &to, f) : APPLY_REFUSED;
}

// If the statement cannot be prepared, the table of notes does not exist, so there are no notes.
void database_find_notes(struct store_place *p, struct entry_search *x) {
  struct database *d = database_of(p);
  struct db *db = database_read(d);
  struct fault f;
  sqlite3_stmt *q = db ? query(db, x->space, x->id, place_now(p), x->after, x->left) : NULL;
  int got = q ? 1 : 0;
  while (got == 1 && !x->stopped) {
    if ((got = db_next(db, q, &f)) != 1) break;
    struct note n = note_of(q, x->space);
    x->left--;
    x->stopped = !x->each(x->ctx, &(struct shared_entry){n.id, n.text, n.number, n.value, n.until});
  }
  sqlite3_reset(q);
  database_read_done(d, db);
  store_read_over(&x->read, got >= 0, got < 0 ? &f : NULL);
}
