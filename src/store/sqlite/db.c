// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/db.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "io/mapped.h"

// Pause between attempts to switch to write-ahead logging (WAL). A pause is necessary because SQLite does not wait for
// locks during this switch.
enum { WAL_PAUSE_MS = 20 };

static const char *const statement_texts[] = {
#define X(name, text) text,
    DB_STATEMENTS(X)
#undef X
};

// Settings of a connection. The page cache is small: the operating system caches the same pages, and an idle gateway
// should need little memory.
static const char settings[] =
    "PRAGMA cache_size = -256; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0; PRAGMA trusted_schema = OFF;"
    "PRAGMA cell_size_check = ON; PRAGMA secure_delete = FAST; PRAGMA journal_size_limit = 4194304;"
    "PRAGMA synchronous = FULL;";

// ---- failures

struct advice {
  int code;  // SQLite's primary result code
  enum fault_code fault;
  const char *text;
};

static const struct advice advices[] = {
    {SQLITE_NOTADB, FAULT_INVALID, "the file is not a database: move it away, and a new one is created"},
    {SQLITE_CORRUPT, FAULT_INVALID,
     "the database is damaged: move it away with its -wal and -shm files, and a new one is created"},
    {SQLITE_FULL, FAULT_LIMIT, "the disk is full: free some space"},
    {SQLITE_READONLY, FAULT_IO,
     "the database cannot be written: make folder and file writable, or use another state_dir"},
    {SQLITE_CANTOPEN, FAULT_IO,
     "the database cannot be opened: check the permissions of the folder, or use another state_dir"},
    {SQLITE_PERM, FAULT_IO, "no permission to open the database: check the permissions of folder and file"},
    {SQLITE_BUSY, FAULT_IO, "another process keeps the database locked: find and end this process"},
    {SQLITE_LOCKED, FAULT_IO, "another process keeps the database locked: find and end this process"},
    {SQLITE_IOERR, FAULT_IO, "the disk reports an error: check whether it is full or broken"},
};

bool db_emptied(const struct db *d, struct fault *f) {
  sqlite3_file *file = NULL;
  sqlite3_int64 size = 1;
  sqlite3_file_control(d->handle, "main", SQLITE_FCNTL_FILE_POINTER, (void *)&file);
  if (!file || !file->pMethods || file->pMethods->xFileSize(file, &size) != SQLITE_OK || size) return false;
  fault_set(f, FAULT_IO, "another process truncated the database to 0 bytes: a new database is created");
  return true;
}

void db_explain(const struct db *d, struct fault *f) {
  int code = sqlite3_errcode(d->handle) & 0xff;
  const char *said = sqlite3_errmsg(d->handle);
  if (d->lost) {
    fault_set(f, FAULT_IO, "another process truncated the -shm file: the database is opened again");
    return;
  }
  if ((code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_IOERR) && db_emptied(d, f)) return;
  for (size_t i = 0; i < sizeof advices / sizeof *advices; i++) {
    if (advices[i].code != code) continue;
    fault_set(f, advices[i].fault, "%s (%s)", advices[i].text, said);
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED) f->after_ms = DB_LOCKED_MS;
    return;
  }
  fault_set(f, FAULT_IO, "SQLite reports: %s", said);
}

static bool failed(const struct db *d, struct fault *f) {
  db_explain(d, f);
  return false;
}

// ---- statements

sqlite3_stmt *db_statement(struct db *d, enum db_statement which) {
  ASSERT(d->handle && which < DB_STATEMENT_COUNT);
  sqlite3_stmt **q = &d->statements[which];
  if (*q) {
    sqlite3_reset(*q);
    sqlite3_clear_bindings(*q);
    return *q;
  }
  sqlite3_prepare_v3(d->handle, statement_texts[which], -1, SQLITE_PREPARE_PERSISTENT, q, NULL);
  return *q;
}

void db_bind_text(sqlite3_stmt *q, int at, str s) {
  if (q) sqlite3_bind_text64(q, at, s.n ? s.p : "", s.n, SQLITE_STATIC, SQLITE_UTF8);
}

void db_bind_blob(sqlite3_stmt *q, int at, str s) {
  if (!q) return;
  if (s.p && !s.n) sqlite3_bind_zeroblob(q, at, 0);
  else if (s.p) sqlite3_bind_blob64(q, at, s.p, s.n, SQLITE_STATIC);
}

void db_bind_int(sqlite3_stmt *q, int at, int64_t v) {
  if (q) sqlite3_bind_int64(q, at, v);
}

str db_column(sqlite3_stmt *q, int at) {
  const void *p = sqlite3_column_blob(q, at);
  int n = sqlite3_column_bytes(q, at);
  return (str){p ? p : "", p ? (size_t)n : 0};
}

// Steps a statement. If pages of SQLite's shared memory were missing during the step, its result may be wrong, so this
// function sets d->lost. It then restarts a read that has not returned a row, but only once; SQLite recovers its shared
// memory when a read begins. Otherwise it returns an error.
static int step(struct db *d, sqlite3_stmt *q) {
  int before = mapped_missing();
  bool first = !sqlite3_stmt_busy(q) && sqlite3_get_autocommit(d->handle) && sqlite3_stmt_readonly(q);
  int rc = sqlite3_step(q);
  if (mapped_missing() == before) return rc;
  d->lost = true;
  if (!first) return SQLITE_IOERR;
  sqlite3_reset(q);
  before = mapped_missing();
  rc = sqlite3_step(q);
  return mapped_missing() == before ? rc : SQLITE_IOERR;
}

int db_next(struct db *d, sqlite3_stmt *q, struct fault *f) {
  int rc = q ? step(d, q) : SQLITE_ERROR;
  if (rc == SQLITE_ROW) return 1;
  if (rc != SQLITE_DONE) db_explain(d, f);
  sqlite3_reset(q);
  return rc == SQLITE_DONE ? 0 : -1;
}

bool db_run(struct db *d, sqlite3_stmt *q, struct fault *f) {
  int got = db_next(d, q, f);
  if (got == 1) sqlite3_reset(q);
  return got >= 0;
}

bool db_do(struct db *d, enum db_statement which, struct fault *f) {
  return db_run(d, db_statement(d, which), f);
}

bool db_do_int(struct db *d, enum db_statement which, int64_t value, struct fault *f) {
  sqlite3_stmt *q = db_statement(d, which);
  db_bind_int(q, 1, value);
  return db_run(d, q, f);
}

// ---- opening

static bool exec(struct db *d, const char *text, struct fault *f) {
  int before = mapped_missing();
  bool ok = sqlite3_exec(d->handle, text, NULL, NULL, NULL) == SQLITE_OK;
  if (mapped_missing() != before) d->lost = true;
  return (ok && !d->lost) || failed(d, f);
}

static bool read_number(struct db *d, const char *text, int64_t *out, struct fault *f) {
  sqlite3_stmt *q = NULL;
  bool ok = sqlite3_prepare_v2(d->handle, text, -1, &q, NULL) == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW;
  if (ok) *out = sqlite3_column_int64(q, 0);
  else db_explain(d, f);
  sqlite3_finalize(q);
  return ok;
}

// Switches to write-ahead logging (WAL). If several processes start together, one of them makes the change. The others
// immediately get SQLITE_BUSY and must try again.
static bool use_wal(struct db *d, int patience_ms, struct fault *f) {
  for (int waited = 0; waited <= patience_ms; waited += WAL_PAUSE_MS) {
    sqlite3_stmt *q = NULL;
    bool in_wal = sqlite3_prepare_v2(d->handle, "PRAGMA journal_mode = WAL", -1, &q, NULL) == SQLITE_OK &&
                  sqlite3_step(q) == SQLITE_ROW && str_eq(db_column(q, 0), STR("wal"));
    sqlite3_finalize(q);
    if (in_wal) return true;
    int code = sqlite3_errcode(d->handle) & 0xff;
    if (code != SQLITE_BUSY && code != SQLITE_LOCKED) break;
    usleep(WAL_PAUSE_MS * 1000);
  }
  if (sqlite3_errcode(d->handle) != SQLITE_OK) return failed(d, f);
  fault_set(f, FAULT_INVALID,
            "SQLite cannot use its write-ahead log on this file system: set state_dir to a folder on a local disk");
  return false;
}

// Reads the version of the tables, which is 0 for an empty file. Returns false if another program or a newer version of
// Toolgate created the file.
static bool read_version(struct db *d, int64_t *out, struct fault *f) {
  int64_t application, tables;
  if (!read_number(d, "PRAGMA user_version", out, f) || !read_number(d, "PRAGMA application_id", &application, f) ||
      !read_number(d, "SELECT count(*) FROM sqlite_schema", &tables, f))
    return false;
  if (application == DB_APPLICATION && *out > db_version)
    fault_set(f, FAULT_INVALID,
              "a newer version of Toolgate wrote this database (format %lld, supported: %d): use that version, "
              "or another state_dir",
              (long long)*out, db_version);
  else if (*out >= 0 && (application == DB_APPLICATION || (!application && !tables))) return true;
  else
    fault_set(f, FAULT_INVALID,
              "the database belongs to another program: move the file away, or use another state_dir");
  return false;
}

// Upgrades the tables to this version. Reads the version again under the lock, because another process may have
// upgraded the tables already.
static bool migrate(struct db *d, struct fault *f) {
  int64_t version;
  char marks[96];
  snprintf(marks, sizeof marks, "PRAGMA application_id = %d; PRAGMA user_version = %d", DB_APPLICATION, db_version);
  if (!exec(d, "BEGIN IMMEDIATE", f)) return false;
  bool ok = read_version(d, &version, f);
  for (; ok && version < db_version; version++) ok = exec(d, db_migrations[version], f);
  ok = ok && exec(d, marks, f) && exec(d, "COMMIT", f);
  if (!ok) sqlite3_exec(d->handle, "ROLLBACK", NULL, NULL, NULL);
  return ok;
}

static bool prepare(struct db *d, int patience_ms, struct fault *f) {
  int64_t version;
  sqlite3_extended_result_codes(d->handle, 1);
  sqlite3_busy_timeout(d->handle, patience_ms);
  // Within a transaction, all queries of read_version see the same state of the file.
  if (!exec(d, "BEGIN", f)) return false;
  bool known = read_version(d, &version, f);
  sqlite3_exec(d->handle, "ROLLBACK", NULL, NULL, NULL);
  return known && use_wal(d, patience_ms, f) && exec(d, settings, f) && (version == db_version || migrate(d, f));
}

// Creates the file with mode 0600; SQLite then uses this mode for its other files, too. A file created by SQLite would
// be readable for everybody. An existing file is not opened here, because closing it would drop the locks of this
// process's other connections.
static bool make_private(const char *path, struct fault *f) {
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
  else if (errno != EEXIST) fault_set(f, FAULT_IO, "cannot create the database: %s", strerror(errno));
  return fd >= 0 || errno == EEXIST;
}

// Returns false if another user owns the file or can write to it. Sets the mode of this user's files to 0600.
static bool is_own(const char *path, const char *suffix, struct fault *f) {
  char name[PATH_MAX];
  struct stat st;
  if (snprintf(name, sizeof name, "%s%s", path, suffix) >= (int)sizeof name) return true;  // no file can exist
  if (lstat(name, &st) != 0) return true;
  bool own = S_ISREG(st.st_mode) && st.st_uid == geteuid();
  if (!own || (st.st_mode & (S_IWGRP | S_IWOTH)))
    fault_set(f, FAULT_INVALID,
              "%s belongs to another user or can be written by other users: move it away, and a new one is created",
              *suffix ? suffix : "the database");
  else if ((st.st_mode & 077) == 0 || chmod(name, 0600) == 0) return true;
  else fault_set(f, FAULT_IO, "cannot set the mode of the database files to 0600: %s", strerror(errno));
  return false;
}

bool db_open(struct db *d, const char *path, int patience_ms, struct fault *f) {
  *d = (struct db){0};
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, before = mapped_missing();
  if (!make_private(path, f)) return false;
  if (!is_own(path, "", f) || !is_own(path, "-wal", f) || !is_own(path, "-shm", f)) return false;
  bool ok = sqlite3_open_v2(path, &d->handle, flags, NULL) == SQLITE_OK;
  if (!ok) db_explain(d, f);
  ok = ok && prepare(d, patience_ms, f);
  if (mapped_missing() != before) {
    d->lost = true;
    db_explain(d, f);
    db_abandon(d);
    d->lost = true;
    return false;
  }
  if (!ok) db_close(d);
  return ok;
}

bool db_make_notes(struct db *d, struct fault *f) {
  return exec(d, db_notes, f);
}

void db_close(struct db *d) {
  for (size_t i = 0; i < DB_STATEMENT_COUNT; i++) sqlite3_finalize(d->statements[i]);
  sqlite3_close(d->handle);
  *d = (struct db){0};
}

void db_abandon(struct db *d) {
  if (d->handle) sqlite3_db_config(d->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
  db_close(d);
}
