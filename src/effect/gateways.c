// SPDX-License-Identifier: Apache-2.0
#include "effect/gateways.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/crypto/hash.h"
#include "base/mem.h"
#include "io/file.h"

#define ENDING ".lock"

enum { ID_RANDOM = 8, TRIES = 8, DEAD_MAX = 10000, NAME_SIZE = GATEWAY_ID_SIZE + sizeof ENDING };

struct gateways {
  char id[GATEWAY_ID_SIZE];
  struct arena arena;
  str folder;  // empty: no folder
  int fd;      // the locked file, or -1
};

struct gateways *gateways_new(str folder, const struct rand_source *rand) {
  struct gateways *g = MEM_NEW(struct gateways);
  unsigned char random[ID_RANDOM];
  rand_fill(rand, random, sizeof random);
  memcpy(g->id, "gw_", 3);
  hash_hex(random, sizeof random, g->id + 3);
  arena_init(&g->arena);
  g->folder = folder.n ? arena_printf(&g->arena, "%.*s/gateways", STR_ARG(folder)) : STR("");
  g->fd = -1;
  return g;
}

str gateways_own(const struct gateways *g) {
  return str_of(g->id);
}

static bool is_id(str id) {
  size_t digits = id.n == GATEWAY_ID_SIZE - 1 && str_starts(id, STR("gw_")) ? 3 : 0;
  while (digits && digits < id.n && strchr("0123456789abcdef", id.p[digits])) digits++;
  return digits == GATEWAY_ID_SIZE - 1;
}

static void make_name(str id, char out[NAME_SIZE]) {
  ASSERT(id.n < GATEWAY_ID_SIZE);
  char *at = mempcpy(out, id.p, id.n);
  memcpy(at, ENDING, sizeof ENDING);
}

static int open_folder(const struct gateways *g) {
  ASSERT(g->folder.n);
  return open(g->folder.p, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

// ---- the own file

// Creates and locks the file. Returns -1 if this fails, also if another process has removed the file in between because
// it was not locked yet.
static int lock_new(int folder, const char *name) {
  struct stat st;
  int fd = openat(folder, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

bool gateways_join(struct gateways *g, struct fault *f) {
  char name[NAME_SIZE];
  if (!g->folder.n || g->fd >= 0) return true;
  int folder = file_open_folder(g->folder, f);
  if (folder < 0) return false;
  make_name(gateways_own(g), name);
  for (int i = 0; i < TRIES && g->fd < 0; i++) g->fd = lock_new(folder, name);
  if (g->fd < 0) fault_set(f, FAULT_IO, "cannot lock a file in %.*s: %s", STR_ARG(g->folder), strerror(errno));
  close(folder);
  return g->fd >= 0;
}

void gateways_free(struct gateways **gateways) {
  struct gateways *g = *gateways;
  if (!g) return;
  *gateways = NULL;
  int folder = g->fd >= 0 ? open_folder(g) : -1;
  char name[NAME_SIZE];
  make_name(gateways_own(g), name);
  if (folder >= 0) unlinkat(folder, name, 0);
  if (folder >= 0) close(folder);
  if (g->fd >= 0) close(g->fd);
  arena_done(&g->arena);
  mem_free(g);
}

// ---- other gateways

// Returns whether the file exists and no process has locked it. A shared lock does not disturb other processes that
// look at the same file.
static bool is_unlocked(int folder, const char *name, bool *out_missing) {
  int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  *out_missing = fd < 0 && errno == ENOENT;
  bool unlocked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0;
  if (fd >= 0) close(fd);
  return unlocked;
}

bool gateways_live(const struct gateways *g, str id) {
  char name[NAME_SIZE];
  bool missing;
  if (str_eq(id, gateways_own(g))) return true;
  if (!g->folder.n || !is_id(id)) return false;
  int folder = open_folder(g);
  if (folder < 0) return errno != ENOENT;
  make_name(id, name);
  bool dead = is_unlocked(folder, name, &missing) || missing;
  close(folder);
  return !dead;
}

static bool is_dead(const struct gateways *g, int folder, const char *name, str *out_id) {
  size_t n = strlen(name);
  bool missing;
  if (n != NAME_SIZE - 2 || strcmp(name + GATEWAY_ID_SIZE - 1, ENDING) != 0) return false;
  *out_id = (str){name, GATEWAY_ID_SIZE - 1};
  return is_id(*out_id) && !str_eq(*out_id, gateways_own(g)) && is_unlocked(folder, name, &missing);
}

size_t gateways_dead(const struct gateways *g, struct arena *a, str **out_ids) {
  int folder = g->folder.n ? open_folder(g) : -1;
  DIR *dir = folder < 0 ? NULL : fdopendir(folder);
  size_t count = 0, room = 16;
  *out_ids = ARENA_ARRAY(a, str, room);
  if (!dir && folder >= 0) close(folder);
  if (!dir) return 0;
  for (struct dirent *e; count < DEAD_MAX && (e = readdir(dir));) {
    str id;
    if (!is_dead(g, dirfd(dir), e->d_name, &id)) continue;
    if (count == room) {
      str *more = ARENA_ARRAY(a, str, 2 * room);
      memcpy(more, *out_ids, room * sizeof *more);
      *out_ids = more;
      room *= 2;
    }
    (*out_ids)[count++] = arena_str(a, id);
  }
  closedir(dir);
  return count;
}

void gateways_forget(const struct gateways *g, str id) {
  char name[NAME_SIZE];
  int folder = g->folder.n && is_id(id) ? open_folder(g) : -1;
  if (folder < 0) return;
  make_name(id, name);
  int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) unlinkat(folder, name, 0);
  if (fd >= 0) close(fd);
  close(folder);
}
