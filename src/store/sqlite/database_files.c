// SPDX-License-Identifier: Apache-2.0
// What is too large for a row: files, named by the hash of their bytes, put before the row that names them and removed
// after the last one, while the database is locked for writing.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/file.h"
#include "store/sqlite/database.h"

enum { UNFINISHED_S = 3600 };  // one that is older was left behind

static str key_of(const unsigned char hash[SHA256_SIZE]) {
  return (str){(const char *)hash, SHA256_SIZE};
}

// ---- files

bool database_has_file(const struct database *sh, const unsigned char hash[SHA256_SIZE], size_t n) {
  char name[DATABASE_FILE_NAME];
  struct stat st;
  hash_hex(hash, SHA256_SIZE, name);
  return fstatat(sh->folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && (size_t)st.st_size == n;
}

bool database_place(struct database *sh, const unsigned char hash[SHA256_SIZE], str bytes, const char *aside,
                    struct fault *f) {
  char name[DATABASE_FILE_NAME], written[FILE_ASIDE_SIZE];
  hash_hex(hash, SHA256_SIZE, name);
  if (aside) return file_rename(sh->folder, aside, name, f);
  if (database_has_file(sh, hash, bytes.n)) return true;
  return file_write_aside(sh->folder, bytes, &rand_system, written, f) && file_rename(sh->folder, written, name, f);
}

static void remove_one(struct database *sh, const unsigned char hash[SHA256_SIZE]) {
  char name[DATABASE_FILE_NAME];
  hash_hex(hash, SHA256_SIZE, name);
  unlinkat(sh->folder, name, 0);
}

static bool is_named(struct database *sh, const unsigned char hash[SHA256_SIZE]) {
  struct fault ignored;
  sqlite3_stmt *q = db_statement(&sh->write, DB_PIECE_NAMES_FILE);
  if (!q) return true;
  db_bind_blob(q, 1, key_of(hash));
  int got = db_next(&sh->write, q, &ignored);
  sqlite3_reset(q);
  return got != 0;  // what cannot be told is left alone
}

void database_remove_unnamed(struct database *sh, const unsigned char hash[SHA256_SIZE]) {
  struct fault ignored;
  if (!database_begin(sh, true, &ignored)) return;
  if (!is_named(sh, hash)) remove_one(sh, hash);
  database_rollback(sh);
}

// ---- what lost its rows

static bool next_doomed(struct database *sh, unsigned char out[SHA256_SIZE]) {
  struct fault ignored;
  sqlite3_stmt *q = db_statement(&sh->write, DB_DOOMED_NEXT);
  bool some = db_next(&sh->write, q, &ignored) == 1;
  str hash = some ? db_column(q, 0) : STR_NONE;
  if (some && hash.n == SHA256_SIZE) memcpy(out, hash.p, SHA256_SIZE);
  sqlite3_reset(q);
  return some && hash.n == SHA256_SIZE;
}

static bool any_doomed(struct database *sh) {
  struct fault ignored;
  sqlite3_stmt *q = db_statement(&sh->write, DB_DOOMED_ANY);
  bool some = db_next(&sh->write, q, &ignored) == 1;
  sqlite3_reset(q);
  return some;
}

static bool bury_next(struct database *sh, struct fault *f) {
  unsigned char hash[SHA256_SIZE];
  if (!next_doomed(sh, hash)) return false;
  if (!is_named(sh, hash)) remove_one(sh, hash);
  sqlite3_stmt *q = db_statement(&sh->write, DB_DOOMED_DROP);
  db_bind_blob(q, 1, key_of(hash));
  return db_run(&sh->write, q, f);
}

// A transaction of its own, since the one that dropped the rows had to be committed first. It may be lost when the
// machine fails: then the same is done again.
void database_bury(struct database *sh) {
  struct fault f;
  if (!any_doomed(sh) || !database_begin(sh, true, &f)) return;
  while (bury_next(sh, &f)) continue;
  if (!database_commit(sh, &f)) database_rollback(sh);
}

// ---- what a crash left behind

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

// Another process may be writing one, before it takes the lock.
static bool was_left(const struct database *sh, const char *name, int64_t now) {
  struct stat st;
  return str_ends(str_of(name), STR(FILE_UNFINISHED)) && fstatat(sh->folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
         now / 1000 - st.st_mtim.tv_sec > UNFINISHED_S;
}

static void sweep(struct database *sh, int64_t now) {
  unsigned char hash[SHA256_SIZE];
  int fd = openat(sh->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = fd < 0 ? NULL : fdopendir(fd);
  if (!dir) return;
  for (struct dirent *e; (e = readdir(dir));) {
    bool ours = parse_name(str_of(e->d_name), hash);
    if (ours ? !is_named(sh, hash) : was_left(sh, e->d_name, now)) unlinkat(sh->folder, e->d_name, 0);
  }
  closedir(dir);
}

static void drop_old(struct database *sh, enum db_statement which, int64_t until) {
  struct fault ignored;
  sqlite3_stmt *q = db_statement(&sh->write, which);
  if (!q) return;
  db_bind_int(q, 1, until);
  db_run(&sh->write, q, &ignored);
}

void database_clean(struct store_place *p, int64_t now) {
  struct database *sh = database_of(p);
  struct fault f;
  const struct store_limits *l = &p->opt->limits;
  if (!sh->write.handle || sh->given_up || !database_begin(sh, true, &f)) return;
  drop_old(sh, DB_PIECE_DROP_OLD, now - (int64_t)l->piece_ms);
  drop_old(sh, DB_RECORD_DROP_OLD, now - (int64_t)l->archive_ms);
  sweep(sh, now);
  if (!database_commit(sh, &f)) database_rollback(sh);
  else database_bury(sh);
}
