// SPDX-License-Identifier: Apache-2.0
#include "io/filewatch.h"

#include <errno.h>
#include <limits.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/mem.h"

enum {
  MAGIC = 0x66777463,
  EVENTS = IN_CLOSE_WRITE | IN_MODIFY | IN_ATTRIB | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MOVE_SELF,
  PLACES = FILEWATCH_FILES * (FILEWATCH_LINKS + 1),
};

// A directory entry to watch: a watched file, or a symbolic link or a missing folder on its path.
struct watched_name {
  int folder;  // inotify watch descriptor
  str name;
};

struct file {
  char *path;
  struct file_state state;
};

struct filewatch {
  uint32_t magic;
  struct loop *loop;
  int fd;
  uv_poll_t poll;
  struct timer settle;
  uint64_t settle_ms;
  filewatch_changed *changed;
  void *ctx;
  struct file files[FILEWATCH_FILES];
  size_t file_count;
  struct watched_name places[PLACES];
  size_t place_count;
  size_t failed, told;  // number of folders that this scan (failed) and the previous scan (told) could not watch
  struct arena arena;   // holds the names of the places
  bool *gone;           // while callbacks run: points to a flag that filewatch_free sets
};

// ---- places

struct file_state file_state_of(const char *path) {
  struct stat st;
  if (stat(path, &st) != 0) return (struct file_state){0};
  return (struct file_state){true, st.st_dev, st.st_ino, st.st_size, st.st_ctim, st.st_mtim};
}

static bool same_time(struct timespec a, struct timespec b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool same(const struct file_state *a, const struct file_state *b) {
  return a->there == b->there && a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
         same_time(a->changed, b->changed) && same_time(a->modified, b->modified);
}

// Logs that a folder cannot be watched, if this scan has more such folders than the previous scan.
static void complain(struct filewatch *w, str folder) {
  w->failed++;
  if (w->failed > w->told)
    log_warn(w->loop->log, "%.*s cannot be watched for changes: %s", STR_ARG(folder), strerror(errno));
}

static void add_place(struct filewatch *w, str path) {
  size_t name = path.n;
  while (name && path.p[name - 1] != '/') name--;
  ASSERT(w->place_count <= PLACES);
  str folder = name == 0 ? STR(".") : name == 1 ? STR("/") : (str){path.p, name - 1};
  if (w->place_count == PLACES) return;
  int number = inotify_add_watch(w->fd, arena_cstr(&w->arena, folder), EVENTS);
  if (number >= 0)
    w->places[w->place_count++] = (struct watched_name){number, arena_str(&w->arena, str_from(path, name))};
  else if (errno != ENOENT && errno != ENOTDIR) complain(w, folder);
}

// If `link` is a symbolic link, returns the path that it leads to: its target followed by `rest`. Otherwise returns
// STR_NONE, and sets *out_missing to whether `link` does not exist.
static str follow(struct filewatch *w, str link, str rest, bool *out_missing) {
  char target[PATH_MAX];
  ssize_t n = readlink(arena_cstr(&w->arena, link), target, sizeof target);
  *out_missing = n < 0 && (errno == ENOENT || errno == ENOTDIR);
  if (n <= 0 || n == sizeof target) return STR_NONE;
  const char *slash = memrchr(link.p, '/', link.n);
  int above = target[0] == '/' || !slash ? 0 : (int)(slash - link.p) + 1;
  return arena_printf(&w->arena, "%.*s%.*s%.*s", above, link.p, (int)n, target, STR_ARG(rest));
}

// Watches every entry on the path that may change: the last entry, links among the parent folders, and the first
// missing folder, which may be created later.
static void add_places(struct filewatch *w, str path, unsigned links) {
  for (size_t i = 1; i <= path.n; i++) {
    if (i < path.n && path.p[i] != '/') continue;
    str part = {path.p, i};
    bool missing;
    str led = follow(w, part, str_from(path, i), &missing);
    if (i == path.n || led.p || missing) add_place(w, part);
    if (led.p && links < FILEWATCH_LINKS) add_places(w, led, links + 1);
    if (led.p || missing) return;
  }
}

static bool is_watched(const struct filewatch *w, int folder) {
  for (size_t i = 0; i < w->place_count; i++)
    if (w->places[i].folder == folder) return true;
  return false;
}

// Updates the list of watched entries (w->places), and removes the inotify watches of folders that have no entry in
// this list any more.
static void find_places(struct filewatch *w) {
  int before[PLACES];
  size_t count = w->place_count;
  ASSERT(count <= PLACES && w->file_count <= FILEWATCH_FILES);
  for (size_t i = 0; i < count; i++) before[i] = w->places[i].folder;
  arena_reset(&w->arena);
  w->place_count = 0;
  w->failed = 0;
  for (size_t i = 0; i < w->file_count; i++) add_places(w, str_of(w->files[i].path), 0);
  w->told = w->failed;
  for (size_t i = 0; i < count; i++)
    // If `before` contains a folder twice, the second removal of its watch fails without effect.
    if (!is_watched(w, before[i])) inotify_rm_watch(w->fd, before[i]);
}

// ---- events

static bool concerns(const struct filewatch *w, const struct inotify_event *e) {
  if (e->mask & IN_Q_OVERFLOW) return true;
  if (e->mask & (IN_IGNORED | IN_MOVE_SELF)) return is_watched(w, e->wd);  // the folder was removed or moved
  for (size_t i = 0; i < w->place_count; i++)
    if (w->places[i].folder == e->wd &&
        (!w->places[i].name.n || str_eq(w->places[i].name, str_of(e->len ? e->name : ""))))
      return true;
  return false;
}

static void on_event(uv_poll_t *poll, int status, int events) {
  struct filewatch *w = poll->data;
  _Alignas(struct inotify_event) char room[8192];
  bool any = false;
  ASSERT_MAGIC(w, MAGIC);
  for (ssize_t n; (n = read(w->fd, room, sizeof room)) > 0;) {
    for (char *p = room; p < room + n;) {
      const struct inotify_event *e = (const struct inotify_event *)p;
      any |= concerns(w, e);
      p += sizeof *e + e->len;
    }
  }
  if (any) timer_start(w->loop, &w->settle, w->settle_ms);
}

static void on_settled(struct timer *t) {
  struct filewatch *w = CONTAINER_OF(t, struct filewatch, settle);
  bool gone = false;
  ASSERT_MAGIC(w, MAGIC);
  loop_name(w->loop, LOOP_FILES);
  w->gone = &gone;
  find_places(w);
  for (size_t i = 0; i < w->file_count; i++) {
    struct file_state now = file_state_of(w->files[i].path);
    if (same(&now, &w->files[i].state)) continue;
    w->files[i].state = now;
    w->changed(w->ctx, str_of(w->files[i].path));
    if (gone) return;
  }
  w->gone = NULL;
}

// ---- interface

static size_t find(const struct filewatch *w, str path) {
  size_t i = 0;
  while (i < w->file_count && !str_eq(str_of(w->files[i].path), path)) i++;
  return i;
}

void filewatch_add(struct filewatch *w, str path) {
  ASSERT_MAGIC(w, MAGIC);
  if (!path.n || find(w, path) < w->file_count || w->file_count == FILEWATCH_FILES) return;
  struct file *f = &w->files[w->file_count++];
  f->path = mem_alloc(path.n + 1);
  memcpy(f->path, path.p, path.n);
  f->path[path.n] = 0;
  // Sets the watches before the state of the files is read, so that no change in between is missed.
  find_places(w);
  f->state = file_state_of(f->path);
}

void filewatch_add_since(struct filewatch *w, str path, const struct file_state *state) {
  filewatch_add(w, path);
  size_t i = find(w, path);
  if (i == w->file_count || same(&w->files[i].state, state)) return;
  w->files[i].state = *state;
  timer_start(w->loop, &w->settle, w->settle_ms);
}

void filewatch_keep(struct filewatch *w, filewatch_wanted *wanted, void *ctx) {
  ASSERT_MAGIC(w, MAGIC);
  size_t kept = 0;
  for (size_t i = 0; i < w->file_count; i++) {
    if (wanted(ctx, str_of(w->files[i].path))) w->files[kept++] = w->files[i];
    else mem_free(w->files[i].path);
  }
  if (kept == w->file_count) return;
  w->file_count = kept;
  find_places(w);
}

struct filewatch *filewatch_new(struct loop *l, uint64_t settle_ms, filewatch_changed *changed, void *ctx,
                                struct fault *f) {
  ASSERT(changed);
  int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd < 0) {
    fault_set(f, FAULT_IO, "cannot watch files for changes: %s", strerror(errno));
    return NULL;
  }
  struct filewatch *w = MEM_NEW(struct filewatch);
  w->magic = MAGIC;
  w->loop = l;
  w->fd = fd;
  w->settle_ms = settle_ms;
  w->changed = changed;
  w->ctx = ctx;
  arena_init(&w->arena);
  timer_init(&w->settle, on_settled);
  uv_poll_init(&l->uv, &w->poll, fd);
  w->poll.data = w;
  uv_poll_start(&w->poll, UV_READABLE, on_event);
  return w;
}

static void on_closed(uv_handle_t *handle) {
  struct filewatch *w = handle->data;
  close(w->fd);
  mem_free(w);
}

void filewatch_free(struct filewatch **watch) {
  struct filewatch *w = *watch;
  if (!w) return;
  ASSERT_MAGIC(w, MAGIC);
  *watch = NULL;
  if (w->gone) *w->gone = true;
  w->magic = 0;
  timer_stop(&w->settle);
  for (size_t i = 0; i < w->file_count; i++) mem_free(w->files[i].path);
  arena_done(&w->arena);
  uv_close((uv_handle_t *)&w->poll, on_closed);
}
