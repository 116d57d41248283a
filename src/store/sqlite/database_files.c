// SPDX-License-Identifier: Apache-2.0
// Stores pieces that are too large for a row as files, named by the hash of their bytes. A file is created before the
// first row that names it and removed after the last such row, while the database is locked for writing.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/file.h"
#include "store/sqlite/database.h"

enum { UNFINISHED_S = 3600 };  // unfinished files older than this many seconds remain from a crash

static str key_of(const unsigned char hash[SHA256_SIZE]) {
  return (str){(const char *)hash, SHA256_SIZE};
}

// ---- files

bool database_has_file(const struct database *d, const unsigned char hash[SHA256_SIZE], size_t n) {
  char name[DATABASE_FILE_NAME];
  struct stat st;
  hash_hex(hash, SHA256_SIZE, name);
  return fstatat(d->folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && (size_t)st.st_size == n;
}

bool database_place(struct database *d, const unsigned char hash[SHA256_SIZE], str bytes, const char *aside,
                    struct fault *f) {
  char name[DATABASE_FILE_NAME], written[FILE_ASIDE_SIZE];
  hash_hex(hash, SHA256_SIZE, name);
  if (aside) return file_rename(d->folder, aside, name, f);
  if (database_has_file(d, hash, bytes.n)) return true;
  return file_write_aside(d->folder, bytes, &rand_system, written, f) && file_rename(d->folder, written, name, f);
}

static void remove_one(struct database *d, const unsigned char hash[SHA256_SIZE]) {
  char name[DATABASE_FILE_NAME];
  hash_hex(hash, SHA256_SIZE, name);
  unlinkat(d->folder, name, 0);
}

static bool is_named(struct database *d, const unsigned char hash[SHA256_SIZE]) {
  struct fault ignored;
  sqlite3_stmt *q = db_statement(&d->write, DB_PIECE_NAMES_FILE);
  if (!q) return true;
  db_bind_blob(q, 1, key_of(hash));
  int got = db_next(&d->write, q, &ignored);
  sqlite3_reset(q);
  return got != 0;  // returns true also if the read failed, so that the file stays
}

void database_remove_unnamed(struct database *d, const unsigned char hash[SHA256_SIZE]) {
  struct fault ignored;
  if (!database_begin(d, true, &ignored)) return;
  if (!is_named(d, hash)) remove_one(d, hash);
  database_rollback(d);
}

// ---- files without rows

static bool next_doomed(struct database *d, unsigned char out[SHA256_SIZE]) {
  struct fault ignored;
  sqlite3_stmt *q = db_statement(&d->write, DB_DOOMED_NEXT);
  bool some = db_next(&d->write, q, &ignored) == 1;
  str hash = some ? db_column(q, 0) : STR_NONE;
  if (some && hash.n == SHA256_SIZE) memcpy(out, hash.p, SHA256_SIZE);
  sqlite3_reset(q);
  return some && hash.n == SHA256_SIZE;
}

// Removes the piece files that no row names any more. The transaction that deleted the rows must be committed first, so
// this is a separate transaction. If a crash prevents the removal, the next call removes the files.
void database_bury(struct database *d) {
  unsigned char hash[SHA256_SIZE];
  struct fault f;
  if (!next_doomed(d, hash) || !database_begin(d, true, &f)) return;
  while (next_doomed(d, hash)) {
    if (!is_named(d, hash)) remove_one(d, hash);
    sqlite3_stmt *q = db_statement(&d->write, DB_DOOMED_DROP);
    db_bind_blob(q, 1, key_of(hash));
    if (!db_run(&d->write, q, &f)) break;
  }
  if (!database_commit(d, &f)) database_rollback(d);
}

// ---- old data and leftover files

static bool parse_name(str name, unsigned char out[SHA256_SIZE]) {
  static const char hex[] = "0123456789abcdef";
  if (name.n != 2 * SHA256_SIZE) return false;
  memset(out, 0, SHA256_SIZE);
  for (size_t i = 0; i < name.n; i++) {
    const char *digit = memchr(hex, name.p[i], sizeof hex - 1);
    if (!digit) return false;
    out[i / 2] = (unsigned char)(out[i / 2] << 4 | (digit - hex));
  }
  return true;
}

static void sweep(struct database *d, int64_t now) {
  unsigned char hash[SHA256_SIZE];
  int fd = openat(d->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = fd < 0 ? NULL : fdopendir(fd);
  if (!dir) return;
  for (struct dirent *e; (e = readdir(dir));) {
    str name = str_of(e->d_name);
    struct stat st;
    bool remove = false;
    if (parse_name(name, hash)) remove = !is_named(d, hash);
    else if (str_ends(name, STR(FILE_UNFINISHED)) && fstatat(d->folder, name.p, &st, AT_SYMLINK_NOFOLLOW) == 0)
      remove = now / 1000 - st.st_mtim.tv_sec > UNFINISHED_S;  // a newer file may still be in use by another process
    if (remove) unlinkat(d->folder, name.p, 0);
  }
  closedir(dir);
}

void database_clean(struct store_place *p, int64_t now) {
  struct database *d = database_of(p);
  struct fault f;
  const struct store_limits *l = &p->opt->limits;
  if (!d->write.handle || d->given_up || !database_begin(d, true, &f)) return;
  db_do_int(&d->write, DB_PIECE_DROP_OLD, now - (int64_t)l->piece_ms, &f);
  db_do_int(&d->write, DB_RECORD_DROP_OLD, now - (int64_t)l->archive_ms, &f);
  sweep(d, now);
  if (!database_commit(d, &f)) database_rollback(d);
  else database_bury(d);
}
