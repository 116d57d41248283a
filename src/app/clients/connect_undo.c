// SPDX-License-Identifier: Apache-2.0
#include "app/clients/connect_undo.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto/hash.h"

#define BACKUP ".toolgate-backup-"
#define CREATED ".toolgate-created-"

enum { HASH_SHOWN = 8 };

static str backup_path(const struct text_file *t, const char *kind, str next, struct arena *a) {
  unsigned char sha256[SHA256_SIZE];
  char hex[2 * HASH_SHOWN + 1];
  hash_sha256(next, sha256);
  hash_hex(sha256, HASH_SHOWN, hex);
  return arena_printf(a, "%.*s%s%s", STR_ARG(t->path), kind, hex);
}

static bool exists(str path, struct arena *a) {
  return access(arena_cstr(a, path), F_OK) == 0;
}

// If a file with the name of the new backup exists, renames that file by adding a number. It is a backup of an earlier
// `connect` that wrote the same text, and may be the only copy of the original file.
static bool set_aside(str path, struct arena *a, struct fault *f) {
  str other = path;
  for (unsigned i = 1; exists(other, a); i++) other = arena_printf(a, "%.*s-%u", STR_ARG(path), i);
  if (str_eq(other, path) || rename(arena_cstr(a, path), other.p) == 0) return true;
  fault_set(f, FAULT_IO, "cannot rename the backup %.*s: %s", STR_ARG(path), strerror(errno));
  return false;
}

bool connect_backup(const struct text_file *t, str next, struct arena *a, str *out, struct fault *f) {
  *out = backup_path(t, t->exists ? BACKUP : CREATED, next, a);
  return set_aside(*out, a, f) && text_file_write_beside(t, *out, t->text, f);
}

// Returns the path of the newest backup of the file, or an empty text.
static str newest_backup(const struct text_file *t, struct arena *a) {
  const char *folder = dirname(arena_cstr(a, t->path)), *name = basename(arena_cstr(a, t->path));
  str before = arena_printf(a, "%s.toolgate-", name), found = STR_NONE;
  struct timespec newest = {0};
  DIR *dir = opendir(folder);
  for (struct dirent *it; dir && (it = readdir(dir));) {
    struct stat st;
    if (!str_starts(str_of(it->d_name), before) || fstatat(dirfd(dir), it->d_name, &st, 0) != 0) continue;
    bool later = st.st_mtim.tv_sec > newest.tv_sec ||
                 (st.st_mtim.tv_sec == newest.tv_sec && st.st_mtim.tv_nsec > newest.tv_nsec);
    if (!later) continue;
    newest = st.st_mtim;
    found = arena_printf(a, "%s/%s", folder, it->d_name);
  }
  if (dir) closedir(dir);
  return found;
}

// Reads a backup. Refuses a link, because `connect` writes backups as regular files, and a link could lead to any file.
static bool open_backup(struct text_file *out, str path, const struct connect_undoing *how, struct fault *f) {
  struct fault why;
  bool opened = text_file_open(out, path, how->world->arena, &why);
  if (opened && !str_eq(out->path, path)) {
    fault_set(&why, FAULT_IO, "it is a link");
    opened = false;
  }
  if (opened && !client_file_is_foreign(out, how->world, path, &why)) return true;
  fault_set(f, why.code, "cannot use the backup %.*s: %s", STR_ARG(path), why.message);
  return false;
}

static bool put_back(struct text_file *t, str backup, bool changed, const struct connect_undoing *how,
                     struct fault *f) {
  ASSERT(backup.n && (!changed || how->force));
  struct arena *a = how->world->arena;
  struct text_file before;
  bool created = strstr(basename(arena_cstr(a, backup)), CREATED) != NULL;
  if (!open_backup(&before, backup, how, f)) return false;
  str text = before.text;
  if (changed && t->exists && !connect_restored(how, t->text, before.text, &text, f)) return false;
  if (how->dry) return true;
  if (!changed) t->mode = before.mode;
  bool removes = created && !changed;
  bool ok = removes ? unlink(arena_cstr(a, t->path)) == 0 : text_file_replace(t, text, a, f);
  if (!ok && removes) fault_set(f, FAULT_IO, "cannot remove the file: %s", strerror(errno));
  if (ok) unlink(arena_cstr(a, backup));
  return ok;
}

enum connect_undo connect_undo(struct text_file *t, const struct connect_undoing *how, struct fault *f) {
  ASSERT(how->place_count > 0);
  struct arena *a = how->world->arena;
  str backup = backup_path(t, BACKUP, t->text, a);
  if (!exists(backup, a)) backup = backup_path(t, CREATED, t->text, a);
  bool changed = !t->exists || !exists(backup, a);
  if (changed) backup = newest_backup(t, a);
  if (!backup.n) return CONNECT_NOT_CONNECTED;
  if (changed && !how->force) return CONNECT_CHANGED;
  return put_back(t, backup, changed, how, f) ? CONNECT_UNDONE : CONNECT_FAILED;
}
