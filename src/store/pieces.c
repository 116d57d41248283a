// SPDX-License-Identifier: Apache-2.0
#include "store/pieces.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "io/file.h"
#include "store/store_impl.h"

enum { ROW_COST = 256 };  // what a row takes besides its texts and bytes

// ---- a batch

struct entry {
  struct store_piece piece;
  char *block;                  // what is large lies in it
  char aside[FILE_ASIDE_SIZE];  // where it was written; empty: nowhere
  bool placed;
};

struct piece_batch {
  struct job job;
  struct store_limits limits;  // of the store, which a batch on another thread may outlive
  struct arena arena;
  str owner;
  struct piece_origin origin;
  struct entry *list;
  size_t count, cap;
  uint64_t cost;
};

static bool prepare(struct job *j, struct shelf *sh, struct fault *f);
static enum job_result apply(struct job *j, struct shelf *sh, struct fault *f);
static void settle(struct job *j, struct shelf *sh, bool committed);
static void free_job(struct job *j);

static const struct job_ops put_ops = {prepare, apply, settle, free_job};

uint64_t piece_cost(const struct store_piece *p) {
  return (uint64_t)ROW_COST + p->handle.n + p->tool_id.n + p->media_type.n + p->label.n + p->bytes.n;
}

struct piece_batch *piece_batch_new(struct store *s, str owner, struct piece_origin origin) {
  struct piece_batch *b = MEM_NEW(struct piece_batch);
  job_init(&b->job, &put_ops);
  b->limits = s->opt.limits;
  arena_init(&b->arena);
  b->owner = arena_str(&b->arena, owner);
  b->origin = (struct piece_origin){arena_str(&b->arena, origin.server), arena_str(&b->arena, origin.tool)};
  return b;
}

void piece_batch_free(struct piece_batch **batch) {
  struct piece_batch *b = *batch;
  if (!b) return;
  *batch = NULL;
  for (size_t i = 0; i < b->count; i++) mem_free(b->list[i].block);
  mem_free(b->list);
  arena_done(&b->arena);
  mem_free(b);
}

static void free_job(struct job *j) {
  struct piece_batch *b = CONTAINER_OF(j, struct piece_batch, job);
  piece_batch_free(&b);
}

static bool is_large(const struct store_piece *p) {
  return p->bytes.n > PIECE_ROW_BYTES;
}

static struct entry *new_entry(struct piece_batch *b) {
  if (b->count == b->cap) {
    b->cap = b->cap ? 2 * b->cap : 4;
    b->list = mem_grow(b->list, b->cap * sizeof *b->list);
  }
  struct entry *e = &b->list[b->count++];
  *e = (struct entry){.block = NULL};
  return e;
}

// What is small goes into the row, and needs no block of its own.
static void take_bytes(struct piece_batch *b, struct entry *e, char *block) {
  str bytes = e->piece.bytes;
  if (!is_large(&e->piece)) {
    e->piece.bytes = arena_str(&b->arena, bytes);
    mem_free(block);
    return;
  }
  e->block = block;
  if (block) return;
  e->block = mem_alloc(bytes.n);
  memcpy(e->block, bytes.p, bytes.n);
  e->piece.bytes.p = e->block;
}

bool piece_batch_add(struct piece_batch *b, const struct store_piece *p, char *block) {
  const struct store_limits *l = &b->limits;
  uint64_t cost = piece_cost(p);
  if (cost > l->piece_owner_bytes || b->cost > l->piece_owner_bytes - cost || b->count >= l->piece_count) return false;
  struct entry *e = new_entry(b);
  e->piece = *p;
  e->piece.handle = arena_str(&b->arena, p->handle);
  e->piece.tool_id = arena_str(&b->arena, p->tool_id);
  e->piece.media_type = arena_str(&b->arena, p->media_type);
  e->piece.label = arena_str(&b->arena, p->label);
  take_bytes(b, e, block);
  b->cost += cost;
  return true;
}

size_t piece_batch_count(const struct piece_batch *b) {
  return b->count;
}

str piece_batch_handle(const struct piece_batch *b, size_t i) {
  ASSERT(i < b->count);
  return b->list[i].piece.handle;
}

void pieces_put(struct store *s, struct piece_batch **batch, struct store_wait *w) {
  struct piece_batch *b = *batch;
  *batch = NULL;
  b->job.bytes = b->cost;
  store_order(s, &b->job, w);
}

// ---- writing it

// The files first, before anybody else has to wait for the lock; not those that are there already.
static bool prepare(struct job *j, struct shelf *sh, struct fault *f) {
  struct piece_batch *b = CONTAINER_OF(j, struct piece_batch, job);
  for (size_t i = 0; i < b->count && sh->on_disk; i++) {
    struct entry *e = &b->list[i];
    if (!is_large(&e->piece) || shelf_has_file(sh, e->piece.hash, e->piece.bytes.n)) continue;
    if (!file_write_aside(sh->folder, e->piece.bytes, &rand_system, e->aside, f)) return false;
  }
  return true;
}

static struct piece_usage usage_of(struct db *db, str owner) {
  struct piece_usage usage = {0};
  struct fault ignored;
  struct buf name;
  sqlite3_stmt *q = db_statement(db, DB_USAGE);
  buf_init(&name, owner.n + 16);
  buf_str(&name, owner.n ? STR("pieces of ") : STR("pieces"));
  buf_str(&name, owner);
  if (q) db_bind_text(q, 1, buf_view(&name));
  if (db_next(db, q, &ignored) == 1)
    usage = (struct piece_usage){(uint64_t)sqlite3_column_int64(q, 0), (uint64_t)sqlite3_column_int64(q, 1)};
  sqlite3_reset(q);
  buf_done(&name);
  return usage;
}

static bool drop(struct db *db, enum db_statement which, str owner, str handle, struct fault *f) {
  sqlite3_stmt *q = db_statement(db, which);
  if (q && owner.p) db_bind_text(q, 1, owner);
  if (q && handle.p) db_bind_text(q, 2, handle);
  return db_run(db, q, f);
}

static bool drop_old(struct db *db, int64_t until, struct fault *f) {
  sqlite3_stmt *q = db_statement(db, DB_PIECE_DROP_OLD);
  if (q) db_bind_int(q, 1, until);
  return db_run(db, q, f);
}

// What was not used for the longest time leaves, the owner's own first.
static bool make_room(struct shelf *sh, str owner, uint64_t cost, uint64_t most, struct fault *f) {
  const struct store_limits *l = &sh->store->opt.limits;
  uint64_t owner_most = l->piece_owner_bytes < most ? l->piece_owner_bytes : most;
  for (;;) {
    struct piece_usage own = usage_of(&sh->write, owner);
    if (!own.count || (own.bytes <= owner_most - cost && own.count < l->piece_count)) break;
    if (!drop(&sh->write, DB_PIECE_DROP_UNUSED_OF, owner, STR_NONE, f)) return false;
    if (!sqlite3_changes(sh->write.handle)) break;
  }
  for (;;) {
    struct piece_usage all = usage_of(&sh->write, STR_NONE);
    if (!all.count || all.bytes <= most - cost) return true;
    if (!drop(&sh->write, DB_PIECE_DROP_UNUSED, STR_NONE, STR_NONE, f)) return false;
    if (!sqlite3_changes(sh->write.handle)) return true;
  }
}

static bool add_row(struct shelf *sh, const struct piece_batch *b, const struct store_piece *p, struct fault *f) {
  sqlite3_stmt *q = db_statement(&sh->write, DB_PIECE_ADD);
  if (!q) return db_run(&sh->write, q, f);
  db_bind_text(q, 1, b->owner);
  db_bind_text(q, 2, p->handle);
  db_bind_int(q, 3, p->kind);
  db_bind_text(q, 4, p->tool_id);
  db_bind_text(q, 5, p->media_type);
  db_bind_text(q, 6, p->label);
  db_bind_blob(q, 7, (str){(const char *)p->hash, SHA256_SIZE});
  db_bind_int(q, 8, (int64_t)p->bytes.n);
  db_bind_int(q, 9, (int64_t)piece_cost(p));
  db_bind_blob(q, 10, is_large(p) ? STR_NONE : p->bytes);
  db_bind_int(q, 11, b->job.now);
  db_bind_text(q, 12, b->origin.server);
  db_bind_text(q, 13, b->origin.tool);
  return db_run(&sh->write, q, f);
}

// The same bytes are there already: they are young again.
static bool renew_row(struct shelf *sh, const struct piece_batch *b, const struct store_piece *p, bool *out,
                      struct fault *f) {
  sqlite3_stmt *q = db_statement(&sh->write, DB_PIECE_RENEW);
  if (!q) return db_run(&sh->write, q, f);
  db_bind_text(q, 1, b->owner);
  db_bind_text(q, 2, p->handle);
  db_bind_blob(q, 3, (str){(const char *)p->hash, SHA256_SIZE});
  db_bind_int(q, 4, b->job.now);
  db_bind_text(q, 5, p->media_type);
  db_bind_text(q, 6, p->label);
  db_bind_text(q, 7, b->origin.server);
  db_bind_text(q, 8, b->origin.tool);
  if (!db_run(&sh->write, q, f)) return false;
  *out = sqlite3_changes(sh->write.handle) == 1;
  return true;
}

static bool place(struct shelf *sh, struct entry *e, struct fault *f) {
  if (!is_large(&e->piece)) return true;
  if (!shelf_place(sh, e->piece.hash, e->piece.bytes, &e->block, e->aside[0] ? e->aside : NULL, f)) return false;
  e->aside[0] = 0;
  e->placed = true;
  return true;
}

static bool put_entry(struct shelf *sh, struct piece_batch *b, struct entry *e, uint64_t most, struct fault *f) {
  bool renewed = false;
  if (!place(sh, e, f) || !renew_row(sh, b, &e->piece, &renewed, f)) return false;
  if (renewed) return true;
  if (!drop(&sh->write, DB_PIECE_DROP, b->owner, e->piece.handle, f)) return false;
  if (!make_room(sh, b->owner, piece_cost(&e->piece), most, f)) return false;
  return add_row(sh, b, &e->piece, f);
}

static enum job_result apply(struct job *j, struct shelf *sh, struct fault *f) {
  struct piece_batch *b = CONTAINER_OF(j, struct piece_batch, job);
  const struct store_limits *l = &sh->store->opt.limits;
  uint64_t most = sh->on_disk || l->piece_bytes < l->memory_bytes ? l->piece_bytes : l->memory_bytes;
  if (b->cost > most) return JOB_REFUSED;
  if (!drop_old(&sh->write, j->now - (int64_t)l->piece_ms, f)) return JOB_FAILED;
  for (size_t i = 0; i < b->count; i++)
    if (!put_entry(sh, b, &b->list[i], most, f)) return JOB_FAILED;
  return JOB_OK;
}

static void settle(struct job *j, struct shelf *sh, bool committed) {
  struct piece_batch *b = CONTAINER_OF(j, struct piece_batch, job);
  for (size_t i = 0; i < b->count; i++) {
    struct entry *e = &b->list[i];
    if (e->aside[0]) unlinkat(sh->folder, e->aside, 0);
    if (e->placed && !committed) shelf_remove_unnamed(sh, e->piece.hash);
    e->aside[0] = 0;
    e->placed = false;
    if (!committed) continue;
    mem_free(e->block);  // as soon as it is not needed: it may be large
    e->block = NULL;
  }
}

// ---- use

struct use {
  struct job job;
  str owner, handle;
  char text[];
};

static enum job_result apply_use(struct job *j, struct shelf *sh, struct fault *f) {
  struct use *u = CONTAINER_OF(j, struct use, job);
  return drop(&sh->write, DB_PIECE_USED, u->owner, u->handle, f) ? JOB_OK : JOB_FAILED;
}

static void free_use(struct job *j) {
  mem_free(CONTAINER_OF(j, struct use, job));
}

static const struct job_ops use_ops = {.apply = apply_use, .free = free_use};

static void note_use(struct store *s, str owner, str handle) {
  struct use *u = mem_zero(sizeof *u + owner.n + handle.n);
  job_init(&u->job, &use_ops);
  u->job.lazy = true;
  u->owner = (str){u->text, owner.n};
  u->handle = (str){u->text + owner.n, handle.n};
  memcpy(u->text, owner.p, owner.n);
  memcpy(u->text + owner.n, handle.p, handle.n);
  store_order(s, &u->job, NULL);
}

// ---- finding

static str append(char **to, str s) {
  char *at = *to;
  if (s.n) memcpy(at, s.p, s.n);
  *to += s.n;
  return (str){at, s.n};
}

// Columns as in DB_PIECE_FIND. What is large is not read yet.
static void copy_row(sqlite3_stmt *q, str handle, struct found_piece *out) {
  str tool_id = db_column(q, 1), media_type = db_column(q, 2), label = db_column(q, 3), hash = db_column(q, 4);
  str bytes = db_column(q, 6), server = db_column(q, 7), tool = db_column(q, 8);
  char *to = mem_alloc(handle.n + tool_id.n + media_type.n + label.n + bytes.n + server.n + tool.n + 1);
  out->memory = to;
  out->piece.handle = append(&to, handle);
  out->piece.kind = sqlite3_column_int(q, 0);
  out->piece.tool_id = append(&to, tool_id);
  out->piece.media_type = append(&to, media_type);
  out->piece.label = append(&to, label);
  out->piece.bytes = append(&to, bytes);
  out->piece.origin.server = append(&to, server);
  out->piece.origin.tool = append(&to, tool);
  if (hash.n == SHA256_SIZE) memcpy(out->piece.hash, hash.p, SHA256_SIZE);
  if (sqlite3_column_type(q, 6) == SQLITE_NULL) out->piece.bytes = (str){NULL, (size_t)sqlite3_column_int64(q, 5)};
}

static bool find_row(struct shelf *sh, struct db *db, str owner, str handle, struct found_piece *out) {
  struct fault f;
  sqlite3_stmt *q = db_statement(db, DB_PIECE_FIND);
  if (q) db_bind_text(q, 1, owner);
  if (q) db_bind_text(q, 2, handle);
  if (q) db_bind_int(q, 3, store_now(sh->store) - (int64_t)sh->store->opt.limits.piece_ms);
  int got = db_next(db, q, &f);
  if (got == 1) copy_row(q, handle, out);
  if (got < 0) shelf_fails(sh, &f);
  sqlite3_reset(q);
  return got == 1;
}

static void path_of(const struct store *s, const struct store_piece *p, char out[4096]) {
  char name[SHELF_FILE_NAME];
  hash_hex(p->hash, SHA256_SIZE, name);
  snprintf(out, 4096, "%s/artifacts/%s", s->opt.folder.p, name);
}

// A file that is there, and is not what it was, has no bytes: found_piece_intact tells.
static bool map_file(struct shelf *sh, struct found_piece *p) {
  char path[4096];
  struct stat st;
  path_of(sh->store, &p->piece, path);
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  bool whole = fstat(fd, &st) == 0 && (size_t)st.st_size == p->piece.bytes.n;
  void *at = whole ? mmap(NULL, p->piece.bytes.n, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  if (at == MAP_FAILED) {
    close(fd);
    p->damaged = true;
    p->piece.bytes = STR("");
    return true;
  }
  p->file = fd;
  p->mapped = at;
  p->mapped_n = p->piece.bytes.n;
  p->piece.bytes.p = at;
  return true;
}

static bool share_block(struct shelf *sh, struct found_piece *p) {
  struct shared_bytes *b = map_find(&sh->blocks, (str){(const char *)p->piece.hash, SHA256_SIZE});
  if (!b) return false;
  p->shared = shared_ref(b);
  p->piece.bytes = b->bytes;
  return true;
}

static bool find_on(struct shelf *sh, str owner, str handle, struct found_piece *out) {
  struct found_piece found = {.memory = NULL};
  struct db *db = shelf_read(sh);
  if (!db) return false;
  bool ok = find_row(sh, db, owner, handle, &found);
  bool large = ok && !found.piece.bytes.p;
  if (large && !sh->on_disk) ok = share_block(sh, &found);
  shelf_read_done(sh);
  if (large && sh->on_disk) ok = map_file(sh, &found);
  if (ok) *out = found;
  else found_piece_release(&found);
  return ok;
}

bool pieces_find(struct store *s, str owner, str handle, struct found_piece *out) {
  struct found_piece other;
  bool found = find_on(&s->disk, owner, handle, out);
  if ((!found || out->damaged) && find_on(&s->memory, owner, handle, &other)) {
    if (found) found_piece_release(out);
    *out = other;
    found = true;
  }
  if (found) note_use(s, owner, handle);
  return found;
}

void pieces_tell_damaged(const struct store *s, const struct found_piece *p) {
  char path[4096];
  path_of(s, &p->piece, path);
  log_warn(s->opt.log, "%s: it is damaged; what was kept in it is told as damaged too, until its tool is called again",
           path);
}

bool found_piece_intact(const struct found_piece *p) {
  unsigned char hash[SHA256_SIZE];
  struct stat st;
  if (!p->mapped) return !p->damaged;
  if (p->mapped_n <= PIECE_CHECKED_BYTES) {
    hash_sha256(p->piece.bytes, hash);
    if (memcmp(hash, p->piece.hash, SHA256_SIZE) != 0) return false;
  }
  return fstat(p->file, &st) == 0 && (size_t)st.st_size == p->mapped_n;
}

void found_piece_release(struct found_piece *p) {
  if (p->mapped) {
    munmap(p->mapped, p->mapped_n);
    close(p->file);
  }
  shared_unref(&p->shared);
  mem_free(p->memory);
  *p = (struct found_piece){.memory = NULL};
}

struct piece_usage pieces_usage(struct store *s, str owner) {
  struct shelf *shelves[] = {&s->disk, &s->memory};
  struct piece_usage sum = {0};
  for (int i = 0; i < 2; i++) {
    struct db *db = shelf_read(shelves[i]);
    if (!db) continue;
    struct piece_usage one = usage_of(db, owner);
    shelf_read_done(shelves[i]);
    sum = (struct piece_usage){sum.count + one.count, sum.bytes + one.bytes};
  }
  return sum;
}
