// SPDX-License-Identifier: Apache-2.0
// Stores pieces of results. The bytes of a piece of up to PIECE_ROW_BYTES are in a row; those of a larger piece are in
// a file of the folder artifacts/, named by the SHA-256 of the bytes.
//
// A file is complete and synced before the first row that names it is committed, and is removed after the last such
// row. Both happen while the database is locked for writing, so that no process removes a file for which another
// process has just added a row.
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/file.h"
#include "store/sqlite/database.h"

// The file with the bytes of a large piece of a batch.
struct filed {
  char aside[FILE_ASIDE_SIZE];  // temporary name under which the file was written; empty if no file was written
  bool placed;
};

static struct piece_batch *batch_of(struct store_write *w) {
  return CONTAINER_OF(w, struct piece_batch, write);
}

// ---- writing

// Writes the missing files of large pieces before the transaction, so that other processes need not wait for the lock
// while these files are written.
bool pieces_prepare(struct database *d, struct store_write *w, struct fault *f) {
  struct piece_batch *b = batch_of(w);
  ASSERT(!b->own);
  struct filed *files = b->own = mem_zero(b->count * sizeof *files);
  for (size_t i = 0; i < b->count; i++) {
    const struct store_piece *p = &b->list[i].piece;
    if (!piece_is_large(p) || database_has_file(d, p->hash, p->bytes.n)) continue;
    if (!file_write_aside(d->folder, p->bytes, &rand_system, files[i].aside, f)) return false;
  }
  return true;
}

static struct piece_usage usage_of(struct db *db, str owner) {
  struct buf name;
  buf_init(&name, owner.n + 16);
  buf_str(&name, owner.n ? STR("pieces of ") : STR("pieces"));
  buf_str(&name, owner);
  struct piece_usage usage = database_usage(db, buf_view(&name));
  buf_done(&name);
  return usage;
}

// Runs a statement whose parameters are an owner and a handle. A parameter that is STR_NONE is not bound.
static bool run_on(struct db *db, enum db_statement which, str owner, str handle, struct fault *f) {
  sqlite3_stmt *q = db_statement(db, which);
  if (owner.p) db_bind_text(q, 1, owner);
  if (handle.p) db_bind_text(q, 2, handle);
  return db_run(db, q, f);
}

// Makes room for `cost` bytes of `owner`: drops the least recently used pieces of `owner` until its limits hold, then
// those of all owners until the total is at most `most`.
static bool make_room(struct database *d, str owner, uint64_t cost, uint64_t most, struct fault *f) {
  const struct store_limits *l = &d->place.opt->limits;
  uint64_t owner_most = l->piece_owner_bytes < most ? l->piece_owner_bytes : most;
  ASSERT(cost <= owner_most);
  for (;;) {
    struct piece_usage own = usage_of(&d->write, owner);
    if (!own.count || (own.bytes <= owner_most - cost && own.count < l->piece_count)) break;
    if (!run_on(&d->write, DB_PIECE_DROP_UNUSED_OF, owner, STR_NONE, f)) return false;
    if (!sqlite3_changes(d->write.handle)) break;
  }
  for (;;) {
    struct piece_usage all = usage_of(&d->write, STR_NONE);
    if (!all.count || all.bytes <= most - cost) return true;
    if (!run_on(&d->write, DB_PIECE_DROP_UNUSED, STR_NONE, STR_NONE, f)) return false;
    if (!sqlite3_changes(d->write.handle)) return true;
  }
}

static bool add_row(struct database *d, const struct piece_batch *b, const struct store_piece *p, struct fault *f) {
  sqlite3_stmt *q = db_statement(&d->write, DB_PIECE_ADD);
  db_bind_text(q, 1, b->owner);
  db_bind_text(q, 2, p->handle);
  db_bind_int(q, 3, p->kind);
  db_bind_text(q, 4, p->tool_id);
  db_bind_text(q, 5, p->media_type);
  db_bind_text(q, 6, p->label);
  db_bind_blob(q, 7, (str){(const char *)p->hash, SHA256_SIZE});
  db_bind_int(q, 8, (int64_t)p->bytes.n);
  db_bind_int(q, 9, (int64_t)piece_cost(p));
  db_bind_blob(q, 10, piece_is_large(p) ? STR_NONE : p->bytes);
  db_bind_int(q, 11, b->write.now);
  db_bind_text(q, 12, b->origin.server);
  db_bind_text(q, 13, b->origin.tool);
  return db_run(&d->write, q, f);
}

// If a row with the piece's owner, handle and bytes exists, updates the row as if the piece were new. Sets *out to
// whether the row exists.
static bool renew_row(struct database *d, const struct piece_batch *b, const struct store_piece *p, bool *out,
                      struct fault *f) {
  sqlite3_stmt *q = db_statement(&d->write, DB_PIECE_RENEW);
  db_bind_text(q, 1, b->owner);
  db_bind_text(q, 2, p->handle);
  db_bind_blob(q, 3, (str){(const char *)p->hash, SHA256_SIZE});
  db_bind_int(q, 4, b->write.now);
  db_bind_text(q, 5, p->media_type);
  db_bind_text(q, 6, p->label);
  db_bind_text(q, 7, b->origin.server);
  db_bind_text(q, 8, b->origin.tool);
  if (!db_run(&d->write, q, f)) return false;
  *out = sqlite3_changes(d->write.handle) == 1;
  return true;
}

static bool put_entry(struct database *d, struct piece_batch *b, size_t i, uint64_t most, struct fault *f) {
  const struct store_piece *p = &b->list[i].piece;
  bool renewed = false;
  ASSERT(i < b->count && b->own);
  if (piece_is_large(p)) {
    struct filed *file = (struct filed *)b->own + i;
    if (!database_place(d, p->hash, p->bytes, file->aside[0] ? file->aside : NULL, f)) return false;
    file->aside[0] = 0;
    file->placed = true;
  }
  if (!renew_row(d, b, p, &renewed, f)) return false;
  if (renewed) return true;
  if (!run_on(&d->write, DB_PIECE_DROP, b->owner, p->handle, f)) return false;
  if (!make_room(d, b->owner, piece_cost(p), most, f)) return false;
  return add_row(d, b, p, f);
}

enum applied pieces_apply(struct database *d, struct store_write *w, struct fault *f) {
  struct piece_batch *b = batch_of(w);
  uint64_t most = place_piece_limit(&d->place);
  if (b->cost > most) return APPLY_REFUSED;
  int64_t oldest = w->now - (int64_t)d->place.opt->limits.piece_ms;
  if (!db_do_int(&d->write, DB_PIECE_DROP_OLD, oldest, f)) return APPLY_FAILED;
  for (size_t i = 0; i < b->count; i++)
    if (!put_entry(d, b, i, most, f)) return APPLY_FAILED;
  return APPLY_OK;
}

void pieces_settle(struct database *d, struct store_write *w, bool committed) {
  struct piece_batch *b = batch_of(w);
  struct filed *files = b->own;
  for (size_t i = 0; i < b->count && files; i++) {
    struct piece_entry *e = &b->list[i];
    if (files[i].aside[0]) unlinkat(d->folder, files[i].aside, 0);
    if (files[i].placed && !committed) database_remove_unnamed(d, e->piece.hash);
    if (!committed) continue;
    mem_free(e->block);  // freed now, not with the batch, because it may be large
    e->block = NULL;
  }
  mem_free(files);
  b->own = NULL;
}

enum applied use_apply(struct database *d, struct store_write *w, struct fault *f) {
  struct piece_use *u = CONTAINER_OF(w, struct piece_use, write);
  return run_on(&d->write, DB_PIECE_USED, u->owner, u->handle, f) ? APPLY_OK : APPLY_FAILED;
}

// ---- finding

// The bytes of a row or of a mapped file. If a file shrinks, the missing bytes read as zeros (io/mapped.h).
struct held {
  struct piece_hold hold;
  void *mapped;
  size_t mapped_n;
  int file;
  char text[];
};

static bool held_intact(const struct piece_hold *hold, const struct store_piece *p) {
  const struct held *h = CONTAINER_OF(hold, struct held, hold);
  unsigned char hash[SHA256_SIZE];
  struct stat st;
  if (!h->mapped) return true;
  if (h->mapped_n <= PIECE_CHECKED_BYTES) {
    hash_sha256(p->bytes, hash);
    if (memcmp(hash, p->hash, SHA256_SIZE) != 0) return false;
  }
  return fstat(h->file, &st) == 0 && (size_t)st.st_size == h->mapped_n;
}

static void held_release(struct piece_hold *hold) {
  struct held *h = CONTAINER_OF(hold, struct held, hold);
  if (h->mapped) {
    munmap(h->mapped, h->mapped_n);
    close(h->file);
  }
  mem_free(h);
}

static str append(char **to, str s) {
  char *at = *to;
  if (s.n) memcpy(at, s.p, s.n);
  *to += s.n;
  return (str){at, s.n};
}

// Copies a row found by DB_PIECE_FIND to *out. Does not copy the bytes of a large piece, which are in a file.
static void copy_row(sqlite3_stmt *q, str handle, struct found_piece *out) {
  str tool_id = db_column(q, 1), media_type = db_column(q, 2), label = db_column(q, 3), hash = db_column(q, 4);
  str bytes = db_column(q, 6), server = db_column(q, 7), tool = db_column(q, 8);
  size_t n = handle.n + tool_id.n + media_type.n + label.n + bytes.n + server.n + tool.n;
  struct held *h = mem_alloc(sizeof *h + n + 1);
  *h = (struct held){.hold = {held_intact, held_release}};
  char *to = h->text;
  out->hold = &h->hold;
  out->piece.handle = append(&to, handle);
  out->piece.kind = sqlite3_column_int(q, 0);
  out->piece.tool_id = append(&to, tool_id);
  out->piece.media_type = append(&to, media_type);
  out->piece.label = append(&to, label);
  out->piece.bytes = append(&to, bytes);
  out->piece.origin.server = append(&to, server);
  out->piece.origin.tool = append(&to, tool);
  ASSERT(to == h->text + n);
  if (hash.n == SHA256_SIZE) memcpy(out->piece.hash, hash.p, SHA256_SIZE);
  if (sqlite3_column_type(q, 6) == SQLITE_NULL) out->piece.bytes = (str){NULL, (size_t)sqlite3_column_int64(q, 5)};
}

static bool find_row(struct database *d, struct db *db, str owner, str handle, struct found_piece *out) {
  struct fault f;
  sqlite3_stmt *q = db_statement(db, DB_PIECE_FIND);
  db_bind_text(q, 1, owner);
  db_bind_text(q, 2, handle);
  db_bind_int(q, 3, place_now(&d->place) - (int64_t)d->place.opt->limits.piece_ms);
  int got = db_next(db, q, &f);
  if (got == 1) copy_row(q, handle, out);
  if (got < 0) database_fails(d, &f);
  sqlite3_reset(q);
  return got == 1;
}

static void path_of(const struct store_place *place, const struct store_piece *p, char out[4096]) {
  char name[DATABASE_FILE_NAME];
  hash_hex(p->hash, SHA256_SIZE, name);
  snprintf(out, 4096, "%s/artifacts/%s", place->opt->folder.p, name);
}

// Maps the file of a large piece into memory. Sets p->damaged if the file has the wrong size. Returns false if there is
// no file.
static bool map_file(struct database *d, struct found_piece *p) {
  struct held *h = CONTAINER_OF(p->hold, struct held, hold);
  char path[4096];
  struct stat st;
  ASSERT(!h->mapped);
  path_of(&d->place, &p->piece, path);
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  bool whole = fstat(fd, &st) == 0 && (size_t)st.st_size == p->piece.bytes.n;
  void *at = whole ? mmap(NULL, p->piece.bytes.n, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  if (at == MAP_FAILED) {
    close(fd);
    p->damaged = true;
    p->piece.bytes = STR("");
    return true;
  }
  h->file = fd;
  h->mapped = at;
  h->mapped_n = p->piece.bytes.n;
  p->piece.bytes.p = at;
  return true;
}

void database_find_piece(struct store_place *p, struct piece_find *r) {
  struct database *d = database_of(p);
  struct found_piece found = {0};
  struct db *db = database_read(d);
  bool ok = db && find_row(d, db, r->owner, r->handle, &found);
  database_read_done(d, db);
  if (ok && !found.piece.bytes.p) ok = map_file(d, &found);
  if (ok) r->found = found;
  else found_piece_release(&found);
  store_read_over(&r->read, ok, NULL);
}

void database_report_damaged(const struct store_place *place, const struct store_piece *p) {
  char path[4096];
  path_of(place, p, path);
  log_warn(place->opt->log, "%s: the file is damaged; to store the result again, repeat the tool call", path);
}

void database_count_pieces(struct store_place *p, struct piece_count *r) {
  struct database *d = database_of(p);
  struct db *db = database_read(d);
  struct piece_usage one = db ? usage_of(db, r->owner) : (struct piece_usage){0};
  database_read_done(d, db);
  r->usage = (struct piece_usage){r->usage.count + one.count, r->usage.bytes + one.bytes};
  store_read_over(&r->read, true, NULL);
}
