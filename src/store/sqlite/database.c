// SPDX-License-Identifier: Apache-2.0
// Opening, transactions, and telling the log when something does not work.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/file.h"
#include "store/sqlite/database.h"

#define DATABASE "toolgate.db"
#define FILES "artifacts"

enum {
  AGAIN_MS = 1000,
  WRITE_PATIENCE_MS = 10 * 1000,
  READ_PATIENCE_MS = 500,  // the loop may be waiting
  PATH_SIZE = 4096,
};

// ---- what the log is told, once

void database_works(struct database *sh, uint64_t bytes) {
  if (sh->locked) sqlite3_busy_timeout(sh->write.handle, WRITE_PATIENCE_MS);
  sh->locked = false;
  if (bytes < sh->refused) return;  // a full disk may still take what is small
  sh->refused = 0;
  if (!atomic_exchange(&sh->complaining, false)) return;
  log_info(sh->place.opt->log, "%.*s: can be written again", STR_ARG(sh->place.opt->folder));
}

void database_fails(struct database *sh, const struct fault *f) {
  if (f->code == FAULT_INVALID) sh->given_up = true;
  if (atomic_exchange(&sh->complaining, true)) return;
  log_error(sh->place.opt->log,
            "%.*s/" DATABASE ": %s. What is to be kept is kept in memory%s, and ends with this process",
            STR_ARG(sh->place.opt->folder), f->message, sh->given_up ? "" : " until then");
}

// ---- opening

static void path_of(const struct database *sh, const char *name, char out[PATH_SIZE]) {
  snprintf(out, PATH_SIZE, "%.*s/%s", STR_ARG(sh->place.opt->folder), name);
}

static bool open_folder(const char *path, int *out, struct fault *f) {
  int fd = file_open_folder(str_of(path), f);
  if (fd < 0) return false;
  *out = fd;
  return true;
}

// Files whose database is gone are nobody's now, but may be all that can be saved of it: they are put aside.
static void put_aside(const struct database *sh, const char *folder) {
  char aside[PATH_SIZE + 32];
  struct dirent *e;
  bool some = false;
  DIR *dir = database_exists(&sh->place) ? NULL : opendir(folder);
  while (dir && !some && (e = readdir(dir))) some = e->d_name[0] != '.';
  if (dir) closedir(dir);
  if (!some) return;
  snprintf(aside, sizeof aside, "%s-%lld", folder, (long long)place_now(&sh->place));
  if (rename(folder, aside) == 0)
    log_warn(sh->place.opt->log, "%s: its database is gone; what it holds is in %s now", folder, aside);
}

static bool open_on_disk(struct database *sh, struct fault *f) {
  char folder[PATH_SIZE], path[PATH_SIZE];
  int above = -1;
  path_of(sh, FILES, folder);
  path_of(sh, DATABASE, path);
  if (!open_folder(sh->place.opt->folder.p, &above, f)) return false;
  put_aside(sh, folder);
  bool ok = open_folder(folder, &sh->folder, f) && db_open(&sh->write, path, sh->locked ? 0 : WRITE_PATIENCE_MS, f);
  fsync(above);  // the names of what was just made
  close(above);
  if (!ok && sh->folder >= 0) close(sh->folder);
  if (!ok) sh->folder = -1;
  return ok;
}

// Somebody has moved or removed the file: what is written to it, nobody will find.
static bool has_moved(struct db *db) {
  int moved = 0;
  sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return moved;
}

static void close_writer(struct database *sh, void (*close_db)(struct db *d)) {
  close_db(&sh->write);
  if (sh->folder >= 0) close(sh->folder);
  sh->folder = -1;
  sh->has_notes = false;
}

void database_close_writer(struct database *sh) {
  close_writer(sh, db_close);
}

static void abandon(struct database *sh) {
  uv_mutex_lock(&sh->reading);
  db_abandon(&sh->read);
  close_writer(sh, db_abandon);
  sh->lost = false;
  uv_mutex_unlock(&sh->reading);
}

// SQLite recovers truncated shared memory from its log when nobody uses the old memory any more.
void database_abandon_truncated(struct database *sh) {
  struct fault f;
  bool emptied = sh->write.handle && db_emptied(&sh->write, &f);
  if (sh->write.lost) db_explain(&sh->write, &f);
  if (emptied || sh->write.lost) database_fails(sh, &f);
  if (emptied || sh->write.lost || sh->lost) abandon(sh);
}

bool database_ready(struct database *sh, int64_t now) {
  struct fault f;
  database_abandon_truncated(sh);
  if (sh->write.handle && has_moved(&sh->write)) database_close_writer(sh);
  if (sh->write.handle && !sh->given_up) return true;
  if (sh->given_up || now < sh->again_at) return false;
  if (open_on_disk(sh, &f)) {
    if (sh->place.opt->loop && !sh->swept) database_clean(&sh->place, now);
    sh->swept = true;
    return true;
  }
  sh->again_at = now + AGAIN_MS;
  sh->locked = f.after_ms > 0;
  database_fails(sh, &f);
  return false;
}

// ---- reading

bool database_exists(const struct store_place *p) {
  const struct database *sh = CONTAINER_OF(p, const struct database, place);
  char path[PATH_SIZE];
  struct stat st;
  path_of(sh, DATABASE, path);
  return stat(path, &st) == 0 && st.st_size > 0;
}

bool database_probe(struct store_place *p, struct fault *f) {
  struct database *sh = database_of(p);
  struct stat st;
  struct fault why;
  char path[PATH_SIZE];
  path_of(sh, DATABASE, path);
  if (stat(path, &st) != 0 && errno == ENOENT) return true;
  if (sh->read.handle || db_open(&sh->read, path, READ_PATIENCE_MS, &why)) return true;
  const char *message = stat(path, &st) == 0 ? why.message : strerror(errno);
  fault_set(f, FAULT_IO, "%s: %s", path, message);
  return false;
}

bool database_usable(const struct store_place *p, struct fault *f) {
  struct fault why;
  if (file_folder_fits(p->opt->folder, &why)) return true;
  fault_set(f, FAULT_IO, "%.*s: %s", STR_ARG(p->opt->folder), why.message);
  return false;
}

static bool open_reader(struct database *sh) {
  char path[PATH_SIZE];
  struct fault f;
  path_of(sh, DATABASE, path);
  if (sh->given_up || !database_exists(&sh->place)) return false;
  if (db_open(&sh->read, path, READ_PATIENCE_MS, &f)) return true;
  if (sh->read.lost) sh->lost = true;
  database_fails(sh, &f);
  return false;
}

struct db *database_read(struct database *sh) {
  struct fault ignored;
  uv_mutex_lock(&sh->reading);
  if (sh->read.handle && db_emptied(&sh->read, &ignored)) db_abandon(&sh->read);
  if (sh->read.handle && has_moved(&sh->read)) db_close(&sh->read);
  if (sh->read.handle || open_reader(sh)) return &sh->read;
  uv_mutex_unlock(&sh->reading);
  return NULL;
}

void database_read_done(struct database *sh, struct db *db) {
  struct fault f;
  if (!db) return;
  bool lost = db->lost && !atomic_exchange(&sh->lost, true);
  if (lost) db_explain(db, &f);
  uv_mutex_unlock(&sh->reading);
  if (lost) database_fails(sh, &f);
}

// ---- transactions

bool database_begin(struct database *sh, bool lazy, struct fault *f) {
  sh->lazy = lazy && db_do(&sh->write, DB_TRUST_THE_SYSTEM, f);
  return db_do(&sh->write, DB_BEGIN, f);
}

static void end(struct database *sh) {
  struct fault ignored;
  if (sh->lazy) db_do(&sh->write, DB_SYNC_COMMITS, &ignored);
}

bool database_commit(struct database *sh, struct fault *f) {
  if (sh->write.lost) db_explain(&sh->write, f);  // a statement whose failure was ignored
  if (sh->write.lost || !db_do(&sh->write, DB_COMMIT, f)) return false;
  end(sh);
  return true;
}

void database_rollback(struct database *sh) {
  struct fault ignored;
  // SQLite may have rolled back by itself, when the disk was full.
  if (!sqlite3_get_autocommit(sh->write.handle)) db_do(&sh->write, DB_ROLLBACK, &ignored);
  end(sh);
}
