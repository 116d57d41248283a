// SPDX-License-Identifier: Apache-2.0
#include "app/config/foreign.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_trusted(uid_t owner, char *const *env) {
  uint64_t caller;
  if (owner == 0 || owner == geteuid()) return true;
  return geteuid() == 0 && str_to_u64(str_env(env, STR("SUDO_UID")), &caller) && owner == caller;
}

// Returns whether another user may have written the file or folder. `what` is the subject of the error message, such as
// "it" or "its folder /tmp".
static bool is_foreign(const char *what, uid_t owner, mode_t mode, char *const *env, struct fault *f) {
  bool open = (mode & S_IWOTH) && !(S_ISDIR(mode) && (mode & S_ISVTX)) && !S_ISLNK(mode) && !S_ISCHR(mode);
  bool trusted = is_trusted(owner, env);
  if (trusted && !open) return false;
  if (open) fault_set(f, FAULT_INVALID, "%s can be changed by every user (chmod o-w)", what);
  else
    fault_set(f, FAULT_INVALID, "%s belongs to the user %u, and you are the user %u", what, (unsigned)owner,
              (unsigned)geteuid());
  return true;
}

static bool is_folder_foreign(const char *path, char *const *env, struct fault *f) {
  char copy[PATH_MAX], what[FAULT_TEXT / 2];
  struct stat st;
  if (snprintf(copy, sizeof copy, "%s", path) >= (int)sizeof copy) return false;  // cannot be opened
  const char *folder = dirname(copy);
  snprintf(what, sizeof what, "its folder %.80s", folder);
  if (stat(folder, &st) == 0 && is_foreign(what, st.st_uid, st.st_mode, env, f)) return true;
  snprintf(what, sizeof what, "the link %.80s", folder);
  return lstat(folder, &st) == 0 && S_ISLNK(st.st_mode) && is_foreign(what, st.st_uid, st.st_mode, env, f);
}

bool foreign_file(const char *path, uid_t owner, mode_t mode, char *const *env, struct fault *f) {
  char target[PATH_MAX];
  struct stat link;
  str trust = str_env(env, STR(FOREIGN_TRUST));
  if (str_eq(trust, STR("1")) || str_eq_nocase(trust, STR("true"))) return false;
  if (is_foreign("it", owner, mode, env, f) || is_folder_foreign(path, env, f)) return true;
  if (lstat(path, &link) != 0 || !S_ISLNK(link.st_mode)) return false;
  return is_foreign("the link", link.st_uid, link.st_mode, env, f) ||
         (realpath(path, target) && is_folder_foreign(target, env, f));
}
