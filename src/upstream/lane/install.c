// SPDX-License-Identifier: Apache-2.0
// Launchers (npx, uvx, docker run, ...) install a program before they start it. Only a few lanes may install at the
// same time, and only one lane may change an npm cache; other lanes wait. A lane installs until its program runs or the
// attempt has failed. After a failed attempt, no other lane may use the npm cache until the npx process has ended,
// because the process may still be changing the cache.
#include <errno.h>
#include <openssl/evp.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/crypto/hash.h"
#include "base/mem.h"
#include "upstream/upstream_impl.h"

enum {
  REPORT_MS = 30 * 1000,                     // interval of the log messages about installations
  LOOK_MS = 50,                              // interval of the checks whether a process has ended
  LEAVE_MS = CHILD_INSTALL_GRACE_MS + 5000,  // time within which the guard process kills a process that must end
};

static struct loop *loop_of(const struct lane *lane) {
  return lane->upstream->all->opt.loop;
}

// ---- the cache of npx

// Returns the value of a variable in the server's environment, or STR_NONE if the variable is not set.
static str variable(const struct upstream *u, str name) {
  for (const char *const *e = u->child.envp; *e; e++) {
    str key, value;
    if (str_cut(str_of(*e), '=', &key, &value) && str_eq_nocase(key, name)) return value;
  }
  return STR_NONE;
}

void install_prepare(struct upstream *u) {
  u->launcher = spec_launcher(u->spec);
  u->child.launcher = u->launcher != UPSTREAM_NO_LAUNCHER;
  if (u->launcher != UPSTREAM_NPX) return;
  str cache = variable(u, STR("npm_config_cache"));
  u->npm_cache = cache.n ? cache : arena_printf(&u->arena, "%.*s/.npm", STR_ARG(variable(u, STR("HOME"))));
}

// Returns the package that npx will run: the first argument other than "-y" and "--yes". Returns STR_NONE if another
// option comes first, or if the command is not npx.
static str package_of(const struct upstream_spec *s) {
  size_t i = 0;
  while (i < s->arg_count && (str_eq(s->args[i], STR("-y")) || str_eq(s->args[i], STR("--yes")))) i++;
  bool known = i < s->arg_count && !str_starts(s->args[i], STR("-"));
  return known && str_ends(s->command, STR("npx")) ? s->args[i] : STR_NONE;
}

// Returns whether the npm cache already has the package. npm installs a package into _npx/HASH, where HASH is the start
// of the SHA-512 of the package's name, and writes the file .package-lock.json last.
static bool is_in_npm_cache(struct upstream *u) {
  enum { HASH = 8 };
  unsigned char digest[EVP_MAX_MD_SIZE];
  char hex[2 * HASH + 1];
  str package = package_of(u->spec);
  if (!package.n || !EVP_Digest(package.p, package.n, digest, NULL, EVP_sha512(), NULL)) return false;
  hash_hex(digest, HASH, hex);
  struct arena_mark mark = arena_mark(&u->arena);
  str file = arena_printf(&u->arena, "%.*s/_npx/%s/node_modules/.package-lock.json", STR_ARG(u->npm_cache), hex);
  bool there = access(file.p, F_OK) == 0;
  arena_rewind(&u->arena, &mark);
  return there;
}

static bool is_cold(struct upstream *u) {
  if (!u->launcher || u->installed) return false;
  return u->launcher != UPSTREAM_NPX || !is_in_npm_cache(u);
}

// ---- processes that are ending

struct leaving {
  struct list node;
  int pid;
  uint64_t until;
  str npm_cache;  // owned
};

static bool is_gone(int pid) {
  return kill(pid, 0) != 0 && errno == ESRCH;
}

static void leaving_free(struct leaving *l) {
  list_remove(&l->node);
  mem_free((char *)l->npm_cache.p);
  mem_free(l);
}

static void note_leaving(const struct lane *lane) {
  const struct upstream *u = lane->upstream;
  struct installs *q = &u->all->installs;
  int pid = lane->link ? link_pid(lane->link) : 0;
  if (u->launcher != UPSTREAM_NPX || u->installed || u->all->stopping || !pid || is_gone(pid)) return;
  struct leaving *l = MEM_NEW(struct leaving);
  l->pid = pid;
  l->until = loop_now(loop_of(lane)) + LEAVE_MS;
  l->npm_cache = upstream_copy(u->npm_cache);
  list_push(&q->leaving, &l->node);
  if (!timer_running(&q->look)) timer_start(loop_of(lane), &q->look, LOOK_MS);
}

// ---- turns

static size_t count(const struct list *l) {
  size_t n = 0;
  LIST_EACH(it, (struct list *)l) n++;
  return n;
}

static bool may_run(const struct lane *lane) {
  const struct upstream *u = lane->upstream;
  struct installs *q = &u->all->installs;
  size_t most = u->all->opt.cold_starts;
  if (most && count(&q->running) >= most) return false;
  if (u->launcher != UPSTREAM_NPX) return true;
  LIST_EACH(it, &q->leaving)
    if (str_eq(CONTAINER_OF(it, struct leaving, node)->npm_cache, u->npm_cache)) return false;
  LIST_EACH(it, &q->running) {
    const struct upstream *other = CONTAINER_OF(it, struct lane, install)->upstream;
    if (other->launcher == UPSTREAM_NPX && str_eq(other->npm_cache, u->npm_cache)) return false;
  }
  return true;
}

static void run(struct lane *lane) {
  struct installs *q = &lane->upstream->all->installs;
  lane->installs = INSTALL_RUNS;
  lane->install_from = lane->started_at = loop_now(loop_of(lane));
  list_push(&q->running, &lane->install);
  if (!timer_running(&q->tell)) timer_start(loop_of(lane), &q->tell, REPORT_MS);
}

// Adds the lane to the queue. First attempts come before retries.
static void wait_in_line(struct installs *q, struct lane *lane) {
  struct list *before = &q->waiting;
  if (!lane->upstream->install_failures)
    LIST_EACH(it, &q->waiting) {
      if (!CONTAINER_OF(it, struct lane, install)->upstream->install_failures) continue;
      before = it;
      break;
    }
  list_push(before, &lane->install);
}

bool install_enter(struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  struct installs *q = &lane->upstream->all->installs;
  if (!is_cold(lane->upstream)) return true;
  log_info(loop_of(lane)->log, "%.*s: installing the server with %.*s", STR_ARG(lane_name(lane)),
           STR_ARG(lane->upstream->spec->program));
  if (may_run(lane)) {
    run(lane);
    return true;
  }
  lane->installs = INSTALL_WAITS;
  lane->install_from = loop_now(loop_of(lane));
  wait_in_line(q, lane);
  return false;
}

// Starts the waiting lanes that may install now, or that need no installation any more, in the order of the queue.
static void start_next(struct upstreams *all) {
  struct installs *q = &all->installs;
  if (all->stopping) return;
  LIST_EACH(it, &q->waiting) {
    struct lane *lane = CONTAINER_OF(it, struct lane, install);
    bool cold = is_cold(lane->upstream);  // false if another lane has installed this program meanwhile
    if (cold && !may_run(lane)) continue;
    list_remove(&lane->install);
    lane->installs = INSTALL_NO;
    if (cold) run(lane);
    lane_begin(lane);
    start_next(all);  // examines the list from the beginning again, because it may have changed
    return;
  }
}

void install_leave(struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  if (lane->installs == INSTALL_NO) return;
  if (lane->installs == INSTALL_RUNS) note_leaving(lane);
  list_remove(&lane->install);
  lane->installs = INSTALL_NO;
  start_next(lane->upstream->all);
}

static void on_look(struct timer *t) {
  struct upstreams *all = CONTAINER_OF(CONTAINER_OF(t, struct installs, look), struct upstreams, installs);
  uint64_t now = loop_now(all->opt.loop);
  LIST_EACH(it, &all->installs.leaving) {
    struct leaving *l = CONTAINER_OF(it, struct leaving, node);
    if (is_gone(l->pid) || now >= l->until) leaving_free(l);
  }
  if (!list_empty(&all->installs.leaving)) timer_start(all->opt.loop, t, LOOK_MS);
  start_next(all);
}

// ---- progress

bool lane_progress(const struct lane *lane, char out[LANE_PROGRESS]) {
  unsigned long long s = (loop_now(loop_of(lane)) - lane->install_from) / 1000;
  if (lane->installs == INSTALL_NO) return false;
  if (lane->installs == INSTALL_WAITS) snprintf(out, LANE_PROGRESS, "waiting to be installed");
  else snprintf(out, LANE_PROGRESS, "installing, %llu s", s);
  return true;
}

static void on_report(struct timer *t) {
  struct installs *q = CONTAINER_OF(t, struct installs, tell);
  struct loop *loop = NULL;
  char text[LANE_PROGRESS];
  LIST_EACH(it, &q->running) {
    const struct lane *lane = CONTAINER_OF(it, struct lane, install);
    loop = loop_of(lane);
    lane_progress(lane, text);
    log_info(loop->log, "%.*s: %s; %zu more installations are waiting", STR_ARG(lane_name(lane)), text,
             count(&q->waiting));
  }
  if (loop) timer_start(loop, t, REPORT_MS);
}

void installs_init(struct upstreams *all) {
  list_init(&all->installs.waiting);
  list_init(&all->installs.running);
  list_init(&all->installs.leaving);
  timer_init(&all->installs.tell, on_report);
  timer_init(&all->installs.look, on_look);
}

void installs_stop(struct upstreams *all) {
  struct list *leaving = &all->installs.leaving;
  timer_stop(&all->installs.tell);
  timer_stop(&all->installs.look);
  while (!list_empty(leaving)) leaving_free(CONTAINER_OF(leaving->next, struct leaving, node));
}
