// SPDX-License-Identifier: Apache-2.0
// Opens and closes the database, runs transactions, and logs failures once.
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
  RETRY_MS = 1000,
  WRITE_PATIENCE_MS = 10 * 1000,
  READ_PATIENCE_MS = 500,  // maximum time that a read waits for a lock; short, because it blocks the loop
  PATH_SIZE = 4096,
};

// ---- the log

void database_works(struct database *d, uint64_t bytes) {
  if (d->locked) sqlite3_busy_timeout(d->write.handle, WRITE_PATIENCE_MS);
  d->locked = false;
  // A larger write has failed before; the disk may still be too full for a write of that size.
  if (bytes < d->refused) return;
  d->refused = 0;
  if (!atomic_exchange(&d->failing, false)) return;
  log_info(d->place.opt->log, "%.*s: the database can be written again", STR_ARG(d->place.opt->folder));
}

void database_fails(struct database *d, const struct fault *f) {
  if (f->code == FAULT_INVALID) d->given_up = true;
  if (atomic_exchange(&d->failing, true)) return;
  log_error(d->place.opt->log, "%.*s/" DATABASE ": %s. New data is kept in memory%s, and lost when the gateway ends",
            STR_ARG(d->place.opt->folder), f->message, d->given_up ? "" : " until it works again");
}

// ---- opening

static void path_of(const struct database *d, const char *name, char out[PATH_SIZE]) {
  snprintf(out, PATH_SIZE, "%.*s/%s", STR_ARG(d->place.opt->folder), name);
}

static bool open_folder(const char *path, int *out, struct fault *f) {
  int fd = file_open_folder(str_of(path), f);
  if (fd < 0) return false;
  *out = fd;
  return true;
}

// If the database is missing, renames the folder of piece files instead of removing it: these files may be the only
// data left.
static void put_aside(const struct database *d, const char *folder) {
  char aside[PATH_SIZE + 32];
  struct dirent *e;
  bool some = false;
  DIR *dir = database_exists(&d->place) ? NULL : opendir(folder);
  while (dir && !some && (e = readdir(dir))) some = e->d_name[0] != '.';
  if (dir) closedir(dir);
  if (!some) return;
  snprintf(aside, sizeof aside, "%s-%lld", folder, (long long)place_now(&d->place));
  if (rename(folder, aside) == 0)
    log_warn(d->place.opt->log, "%s: the database is missing; its files were moved to %s", folder, aside);
}

static bool open_on_disk(struct database *d, struct fault *f) {
  char folder[PATH_SIZE], path[PATH_SIZE];
  int above = -1;
  path_of(d, FILES, folder);
  path_of(d, DATABASE, path);
  if (!open_folder(d->place.opt->folder.p, &above, f)) return false;
  put_aside(d, folder);
  bool ok = open_folder(folder, &d->folder, f) && db_open(&d->write, path, d->locked ? 0 : WRITE_PATIENCE_MS, f);
  fsync(above);  // makes the names of new files and folders durable
  close(above);
  if (!ok && d->folder >= 0) close(d->folder);
  if (!ok) d->folder = -1;
  return ok;
}

// Returns whether another process has moved or removed the database file. Writes to such a file would be lost.
static bool has_moved(struct db *db) {
  int moved = 0;
  sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return moved;
}

static void close_writer(struct database *d, void (*close_db)(struct db *d)) {
  close_db(&d->write);
  if (d->folder >= 0) close(d->folder);
  d->folder = -1;
  d->has_notes = false;
}

void database_close_writer(struct database *d) {
  close_writer(d, db_close);
}

// Closes the connections for reading and writing. SQLite rebuilds the truncated shared memory from the write-ahead log
// only if no connection uses it.
void database_abandon_truncated(struct database *d) {
  struct fault f;
  bool emptied = d->write.handle && db_emptied(&d->write, &f);
  if (d->write.lost) db_explain(&d->write, &f);
  if (emptied || d->write.lost) database_fails(d, &f);
  if (!emptied && !d->write.lost && !d->lost) return;
  uv_mutex_lock(&d->reading);
  db_abandon(&d->read);
  close_writer(d, db_abandon);
  d->lost = false;
  uv_mutex_unlock(&d->reading);
}

bool database_ready(struct database *d, int64_t now) {
  struct fault f;
  database_abandon_truncated(d);
  if (d->write.handle && has_moved(&d->write)) database_close_writer(d);
  if (d->write.handle && !d->given_up) return true;
  if (d->given_up || now < d->retry_at) return false;
  if (open_on_disk(d, &f)) {
    if (d->place.opt->loop && !d->swept) database_clean(&d->place, now);
    d->swept = true;
    return true;
  }
  d->retry_at = now + RETRY_MS;
  d->locked = f.after_ms > 0;
  database_fails(d, &f);
  return false;
}

// ---- reading

bool database_exists(const struct store_place *p) {
  const struct database *d = CONTAINER_OF(p, const struct database, place);
  char path[PATH_SIZE];
  struct stat st;
  path_of(d, DATABASE, path);
  return stat(path, &st) == 0 && st.st_size > 0;
}

bool database_probe(struct store_place *p, struct fault *f) {
  struct database *d = database_of(p);
  struct stat st;
  struct fault why;
  char path[PATH_SIZE];
  path_of(d, DATABASE, path);
  if (stat(path, &st) != 0 && errno == ENOENT) return true;
  if (d->read.handle || db_open(&d->read, path, READ_PATIENCE_MS, &why)) return true;
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

static bool open_reader(struct database *d) {
  char path[PATH_SIZE];
  struct fault f;
  path_of(d, DATABASE, path);
  if (d->given_up || !database_exists(&d->place)) return false;
  if (db_open(&d->read, path, READ_PATIENCE_MS, &f)) return true;
  if (d->read.lost) d->lost = true;
  database_fails(d, &f);
  return false;
}

struct db *database_read(struct database *d) {
  struct fault ignored;
  uv_mutex_lock(&d->reading);
  if (d->read.handle && db_emptied(&d->read, &ignored)) db_abandon(&d->read);
  if (d->read.handle && has_moved(&d->read)) db_close(&d->read);
  if (d->read.handle || open_reader(d)) return &d->read;
  uv_mutex_unlock(&d->reading);
  return NULL;
}

void database_read_done(struct database *d, struct db *db) {
  struct fault f;
  if (!db) return;
  ASSERT(db == &d->read);
  bool lost = db->lost && !atomic_exchange(&d->lost, true);
  if (lost) db_explain(db, &f);
  uv_mutex_unlock(&d->reading);
  if (lost) database_fails(d, &f);
}

struct piece_usage database_usage(struct db *db, str name) {
  struct piece_usage usage = {0};
  struct fault ignored;
  sqlite3_stmt *q = db_statement(db, DB_USAGE);
  db_bind_text(q, 1, name);
  if (db_next(db, q, &ignored) == 1)
    usage = (struct piece_usage){(uint64_t)sqlite3_column_int64(q, 0), (uint64_t)sqlite3_column_int64(q, 1)};
  sqlite3_reset(q);
  return usage;
}

// ---- transactions

bool database_begin(struct database *d, bool lazy, struct fault *f) {
  d->lazy = lazy && db_do(&d->write, DB_TRUST_THE_SYSTEM, f);
  return db_do(&d->write, DB_BEGIN, f);
}

static void end_transaction(struct database *d) {
  struct fault ignored;
  if (d->lazy) db_do(&d->write, DB_SYNC_COMMITS, &ignored);
}

bool database_commit(struct database *d, struct fault *f) {
  // An earlier statement has failed; perhaps its result was not checked.
  if (d->write.lost) db_explain(&d->write, f);
  if (d->write.lost || !db_do(&d->write, DB_COMMIT, f)) return false;
  end_transaction(d);
  return true;
}

void database_rollback(struct database *d) {
  struct fault ignored;
  // SQLite has rolled back already in some cases, for example when the disk was full.
  if (!sqlite3_get_autocommit(d->write.handle)) db_do(&d->write, DB_ROLLBACK, &ignored);
  end_transaction(d);
}
