// SPDX-License-Identifier: Apache-2.0
// The backend that keeps everything in SQLite and files: a group of writes is one transaction.
#include "base/mem.h"
#include "store/sqlite/database.h"

static enum applied apply_nothing(struct database *sh, struct store_write *w, struct fault *f) {
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

static bool all_lazy(const struct list *writes) {
  LIST_EACH(it, writes)
    if (!write_of(it)->lazy) return false;
  return true;
}

static uint64_t bytes_of(const struct list *writes) {
  uint64_t bytes = 0;
  LIST_EACH(it, writes) bytes += write_of(it)->bytes;
  return bytes;
}

static bool prepare_all(struct database *sh, struct list *writes, struct fault *f) {
  LIST_EACH(it, writes) {
    struct store_write *w = write_of(it);
    const struct writing *how = &writings[w->kind];
    if (how->prepare && !w->refused && !how->prepare(sh, w, f)) return false;
  }
  return true;
}

static bool apply_all(struct database *sh, struct list *writes, struct fault *f) {
  LIST_EACH(it, writes) {
    struct store_write *w = write_of(it);
    enum applied got = w->refused ? APPLY_REFUSED : writings[w->kind].apply(sh, w, f);
    if (got == APPLY_FAILED) return false;
    w->kept = got == APPLY_REFUSED ? STORE_LOST : STORE_KEPT;
  }
  return true;
}

static void settle_all(struct database *sh, struct list *writes, bool committed) {
  LIST_EACH(it, writes) {
    struct store_write *w = write_of(it);
    if (writings[w->kind].settle) writings[w->kind].settle(sh, w, committed);
  }
}

static enum place_wrote note_failure(struct database *sh, const struct list *writes, const struct fault *f) {
  database_fails(sh, f);
  database_abandon_truncated(sh);
  database_close_writer(sh);
  sh->locked = f->after_ms > 0;
  if (sh->locked) sh->again_at = place_now(&sh->place) + DB_LOCKED_MS;
  else sh->refused = bytes_of(writes);
  return sh->locked ? PLACE_AWAY : PLACE_FAILED;
}

static enum place_wrote write_group(struct store_place *p, struct list *writes) {
  struct database *sh = database_of(p);
  struct fault f;
  if (!database_ready(sh, place_now(p))) return PLACE_AWAY;
  bool begun = prepare_all(sh, writes, &f) && database_begin(sh, all_lazy(writes), &f);
  bool committed = begun && apply_all(sh, writes, &f) && database_commit(sh, &f);
  if (begun && !committed) database_rollback(sh);
  settle_all(sh, writes, committed);
  if (!committed) return note_failure(sh, writes, &f);
  database_works(sh, bytes_of(writes));
  database_bury(sh);
  return PLACE_WROTE;
}

static struct store_place *open_place(const struct store_options *opt, bool spare) {
  struct database *sh = MEM_NEW(struct database);
  sh->place = (struct store_place){&store_sqlite, opt, spare};
  sh->folder = -1;
  uv_mutex_init(&sh->reading);
  return &sh->place;
}

// The writer's connection is the last, and tidies up.
static void close_place(struct store_place *p) {
  struct database *sh = database_of(p);
  db_close(&sh->read);
  database_close_writer(sh);
  uv_mutex_destroy(&sh->reading);
  mem_free(sh);
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
    .tell_damaged = database_tell_damaged,
};
