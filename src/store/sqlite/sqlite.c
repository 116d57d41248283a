// SPDX-License-Identifier: Apache-2.0
// The backend that stores data in SQLite and in files. Each group of writes is one transaction.
#include "base/mem.h"
#include "store/sqlite/database.h"

static enum applied apply_nothing(struct database *d, struct store_write *w, struct fault *f) {
  return APPLY_OK;
}

static const struct writing writings[WRITE_KINDS] = {
    [WRITE_NOTHING] = {.apply = apply_nothing},   [WRITE_PIECES] = {pieces_prepare, pieces_apply, pieces_settle},
    [WRITE_USE] = {.apply = use_apply},           [WRITE_RECORDS] = {.apply = records_apply},
    [WRITE_DOCUMENT] = {.apply = document_apply}, [WRITE_NOTE] = {.apply = note_apply},
};

static struct store_write *write_of(struct list *node) {
  return CONTAINER_OF(node, struct store_write, node);
}

static bool apply_all(struct database *d, struct list *writes, struct fault *f) {
  LIST_EACH(it, writes) {
    struct store_write *w = write_of(it);
    enum applied got = w->refused ? APPLY_REFUSED : writings[w->kind].apply(d, w, f);
    if (got == APPLY_FAILED) return false;
    w->kept = got == APPLY_REFUSED ? STORE_LOST : STORE_KEPT;
  }
  return true;
}

static enum place_wrote note_failure(struct database *d, uint64_t bytes, const struct fault *f) {
  database_fails(d, f);
  database_abandon_truncated(d);
  database_close_writer(d);
  d->locked = f->after_ms > 0;
  if (d->locked) d->retry_at = place_now(&d->place) + DB_LOCKED_MS;
  else d->refused = bytes;
  return d->locked ? PLACE_UNAVAILABLE : PLACE_FAILED;
}

static enum place_wrote write_group(struct store_place *p, struct list *writes) {
  struct database *d = database_of(p);
  struct fault f;
  bool prepared = true, lazy = true;
  uint64_t bytes = 0;
  if (!database_ready(d, place_now(p))) return PLACE_UNAVAILABLE;
  LIST_EACH(it, writes) {
    struct store_write *w = write_of(it);
    ASSERT(w->kind < WRITE_KINDS);
    const struct writing *how = &writings[w->kind];
    lazy = lazy && w->lazy;
    bytes += w->bytes;
    if (prepared && how->prepare && !w->refused) prepared = how->prepare(d, w, &f);
  }
  bool begun = prepared && database_begin(d, lazy, &f);
  bool committed = begun && apply_all(d, writes, &f) && database_commit(d, &f);
  if (begun && !committed) database_rollback(d);
  LIST_EACH(it, writes) {
    struct store_write *w = write_of(it);
    if (writings[w->kind].settle) writings[w->kind].settle(d, w, committed);
  }
  if (!committed) return note_failure(d, bytes, &f);
  database_works(d, bytes);
  database_bury(d);
  return PLACE_WROTE;
}

static struct store_place *open_place(const struct store_options *opt, bool spare) {
  struct database *d = MEM_NEW(struct database);
  d->place = (struct store_place){&store_sqlite, opt, spare};
  d->folder = -1;
  uv_mutex_init(&d->reading);
  return &d->place;
}

// The writer's connection must be closed last, because SQLite makes a checkpoint when the last connection is closed.
static void close_place(struct store_place *p) {
  struct database *d = database_of(p);
  db_close(&d->read);
  database_close_writer(d);
  uv_mutex_destroy(&d->reading);
  mem_free(d);
}

const struct store_backend store_sqlite = {
    .name = "sqlite",
    .open = open_place,
    .close = close_place,
    .write = write_group,
    .clean = database_clean,
    .find_piece = database_find_piece,
    .count_pieces = database_count_pieces,
    .find_records = database_find_records,
    .load_document = database_load_document,
    .list_documents = database_list_documents,
    .find_notes = database_find_notes,
    .exists = database_exists,
    .probe = database_probe,
    .usable = database_usable,
    .report_damaged = database_report_damaged,
};
