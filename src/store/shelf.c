// SPDX-License-Identifier: Apache-2.0
// Opening, transactions, and telling the log when something does not work.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/file.h"
#include "store/store_impl.h"

#define DATABASE "toolgate.db"
#define FILES "artifacts"

enum {
  AGAIN_MS = 1000,
  WRITE_PATIENCE_MS = 10 * 1000,
  READ_PATIENCE_MS = 500,  // the loop may be waiting
  PATH_SIZE = 4096,
};

// Records that are only in memory come after all that are on disk.
#define NUMBER_IN_MEMORY "INSERT INTO sqlite_sequence (name, seq) VALUES ('records', 1 << 48)"

void shelf_init(struct shelf *sh, const struct store *s, bool on_disk) {
  *sh = (struct shelf){.store = s, .on_disk = on_disk, .folder = -1, .seed = rand_hash_key(s->opt.rand)};
  uv_mutex_init(&sh->reading);
  map_init(&sh->blocks, &sh->seed);
}

void shelf_done(struct shelf *sh) {
  uv_mutex_destroy(&sh->reading);
}

void shelf_close_reader(struct shelf *sh) {
  uv_mutex_lock(&sh->reading);
  db_close(&sh->read);
  uv_mutex_unlock(&sh->reading);
}

// ---- what the log is told, once

void shelf_works(struct shelf *sh, uint64_t bytes) {
  if (sh->locked) sqlite3_busy_timeout(sh->write.handle, WRITE_PATIENCE_MS);
  sh->locked = false;
  if (bytes < sh->refused) return;  // a full disk may still take what is small
  sh->refused = 0;
  if (!atomic_exchange(&sh->complaining, false)) return;
  log_info(sh->store->opt.log, "%.*s: can be written again", STR_ARG(sh->store->opt.folder));
}

void shelf_fails(struct shelf *sh, const struct fault *f) {
  if (f->code == FAULT_INVALID) sh->given_up = true;
  if (atomic_exchange(&sh->complaining, true)) return;
  if (sh->on_disk)
    log_error(sh->store->opt.log,
              "%.*s/" DATABASE ": %s. What is to be kept is kept in memory%s, and ends with this process",
              STR_ARG(sh->store->opt.folder), f->message, sh->given_up ? "" : " until then");
  else log_error(sh->store->opt.log, "what is to be kept cannot be kept in memory: %s", f->message);
}

// ---- opening

static void path_of(const struct shelf *sh, const char *name, char out[PATH_SIZE]) {
  snprintf(out, PATH_SIZE, "%.*s/%s", STR_ARG(sh->store->opt.folder), name);
}

static bool open_folder(const char *path, int *out, struct fault *f) {
  int fd = file_open_folder(str_of(path), f);
  if (fd < 0) return false;
  *out = fd;
  return true;
}

// Files whose database is gone are nobody's now, but may be all that can be saved of it: they are put aside.
static void put_aside(const struct shelf *sh, const char *folder) {
  char aside[PATH_SIZE + 32];
  struct dirent *e;
  bool some = false;
  DIR *dir = shelf_exists(sh) ? NULL : opendir(folder);
  while (dir && !some && (e = readdir(dir))) some = e->d_name[0] != '.';
  if (dir) closedir(dir);
  if (!some) return;
  snprintf(aside, sizeof aside, "%s-%lld", folder, (long long)store_now(sh->store));
  if (rename(folder, aside) == 0)
    log_warn(sh->store->opt.log, "%s: its database is gone; what it holds is in %s now", folder, aside);
}

static bool open_on_disk(struct shelf *sh, struct fault *f) {
  char folder[PATH_SIZE], path[PATH_SIZE];
  int above = -1;
  path_of(sh, FILES, folder);
  path_of(sh, DATABASE, path);
  if (!open_folder(sh->store->opt.folder.p, &above, f)) return false;
  put_aside(sh, folder);
  bool ok = open_folder(folder, &sh->folder, f) && db_open(&sh->write, path, sh->locked ? 0 : WRITE_PATIENCE_MS, f);
  fsync(above);  // the names of what was just made
  close(above);
  if (!ok && sh->folder >= 0) close(sh->folder);
  if (!ok) sh->folder = -1;
  return ok;
}

static bool open_in_memory(struct shelf *sh, struct fault *f) {
  uv_mutex_lock(&sh->reading);
  bool ok = db_open(&sh->write, NULL, 0, f);
  if (ok && sh->store->opt.folder.n) sqlite3_exec(sh->write.handle, NUMBER_IN_MEMORY, NULL, NULL, NULL);
  uv_mutex_unlock(&sh->reading);
  return ok;
}

// Somebody has moved or removed the file: what is written to it, nobody will find.
static bool has_moved(struct db *db) {
  int moved = 0;
  sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return moved;
}

static void close_writer(struct shelf *sh) {
  db_close(&sh->write);
  if (sh->folder >= 0) close(sh->folder);
  sh->folder = -1;
}

void shelf_reopen(struct shelf *sh) {
  if (sh->on_disk) close_writer(sh);
}

void shelf_close(struct shelf *sh) {
  struct shared_bytes *b;
  close_writer(sh);
  for (size_t at = 0; (b = map_next(&sh->blocks, &at));) shared_unref(&b);
  map_done(&sh->blocks);
}

bool shelf_ready(struct shelf *sh, int64_t now) {
  struct fault f;
  if (sh->on_disk && sh->write.handle && has_moved(&sh->write)) close_writer(sh);
  if (sh->write.handle && !sh->given_up) return true;
  if (sh->given_up || now < sh->again_at) return false;
  if (sh->on_disk ? open_on_disk(sh, &f) : open_in_memory(sh, &f)) {
    if (sh->on_disk && sh->store->opt.loop && !sh->swept) shelf_clean(sh, now);
    sh->swept = true;
    return true;
  }
  sh->again_at = now + AGAIN_MS;
  sh->locked = f.after_ms > 0;
  shelf_fails(sh, &f);
  return false;
}

// ---- reading

bool shelf_exists(const struct shelf *sh) {
  char path[PATH_SIZE];
  path_of(sh, DATABASE, path);
  return sh->store->opt.folder.n && access(path, F_OK) == 0;
}

bool store_probe(struct store *s, struct fault *f) {
  struct shelf *sh = &s->disk;
  struct stat st;
  struct fault why;
  char path[PATH_SIZE];
  path_of(sh, DATABASE, path);
  if (!s->opt.folder.n || (stat(path, &st) != 0 && errno == ENOENT)) return true;
  uv_mutex_lock(&sh->reading);
  bool ok = sh->read.handle || db_open(&sh->read, path, READ_PATIENCE_MS, &why);
  uv_mutex_unlock(&sh->reading);
  if (ok) return true;
  const char *message = stat(path, &st) == 0 ? why.message : strerror(errno);
  fault_set(f, FAULT_IO, "%s: %s", path, message);
  return false;
}

bool store_usable(const struct store *s, struct fault *f) {
  struct fault why;
  if (!s->opt.folder.n || file_folder_fits(s->opt.folder, &why)) return true;
  fault_set(f, FAULT_IO, "%.*s: %s", STR_ARG(s->opt.folder), why.message);
  return false;
}

static bool open_reader(struct shelf *sh) {
  char path[PATH_SIZE];
  struct fault f;
  path_of(sh, DATABASE, path);
  if (sh->given_up || !shelf_exists(sh)) return false;
  if (db_open(&sh->read, path, READ_PATIENCE_MS, &f)) return true;
  shelf_fails(sh, &f);
  return false;
}

struct db *shelf_read(struct shelf *sh) {
  uv_mutex_lock(&sh->reading);
  if (!sh->on_disk && sh->write.handle) return &sh->write;
  if (sh->on_disk && sh->read.handle && has_moved(&sh->read)) db_close(&sh->read);
  if (sh->on_disk && (sh->read.handle || open_reader(sh))) return &sh->read;
  uv_mutex_unlock(&sh->reading);
  return NULL;
}

void shelf_read_done(struct shelf *sh) {
  uv_mutex_unlock(&sh->reading);
}

// ---- transactions

bool shelf_begin(struct shelf *sh, bool lazy, struct fault *f) {
  if (!sh->on_disk) uv_mutex_lock(&sh->reading);
  sh->lazy = lazy && db_do(&sh->write, DB_TRUST_THE_SYSTEM, f);
  if (db_do(&sh->write, DB_BEGIN, f)) return true;
  if (!sh->on_disk) uv_mutex_unlock(&sh->reading);
  return false;
}

static void end(struct shelf *sh) {
  struct fault ignored;
  if (sh->lazy) db_do(&sh->write, DB_SYNC_COMMITS, &ignored);
  if (!sh->on_disk) uv_mutex_unlock(&sh->reading);
}

bool shelf_commit(struct shelf *sh, struct fault *f) {
  if (!db_do(&sh->write, DB_COMMIT, f)) return false;
  end(sh);
  return true;
}

void shelf_rollback(struct shelf *sh) {
  struct fault ignored;
  // SQLite may have rolled back by itself, when the disk was full.
  if (!sqlite3_get_autocommit(sh->write.handle)) db_do(&sh->write, DB_ROLLBACK, &ignored);
  end(sh);
}
