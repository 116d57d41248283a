// SPDX-License-Identifier: Apache-2.0
// Replaces the servers while the gateway runs. A server keeps its index as long as the gateway runs, because older
// catalogs, calls and tasks refer to the server by index. If the configuration of a server has changed, a new struct
// upstream with the same index replaces the old one. The old one gets no new calls; each of its lanes closes when the
// calls on the lane have ended.
#include "base/mem.h"
#include "upstream/upstream_impl.h"

enum {
  MOST_PLACES = 4096,  // maximum number of different server names since the start of the gateway
  TICK_MS = 20,
  QUIET_MS = 1000,  // maximum time for sending the last messages to a server
};

// ---- leaving

static void drain(struct upstream *u) {
  LIST_EACH(it, &u->lanes) {
    struct lane *lane = CONTAINER_OF(it, struct lane, node);
    if (lane_is_idle(lane)) lane_free(&lane);
  }
}

// Returns whether a replaced upstream can be freed: it has no lanes any more, and its last messages have been sent.
static bool has_left(struct upstream *u) {
  if (!list_empty(&u->lanes)) return false;
  if (!u->quiet_at) u->quiet_at = loop_now(u->all->opt.loop) + QUIET_MS;
  return !u->origin || http_origin_quiet(u->origin) || loop_now(u->all->opt.loop) >= u->quiet_at;
}

static bool drain_all(struct upstreams *all) {
  bool more = false;
  LIST_EACH(it, &all->leaving) {
    struct upstream *u = CONTAINER_OF(it, struct upstream, node);
    drain(u);
    if (!has_left(u)) {
      more = true;
      continue;
    }
    log_debug(all->opt.loop->log, "%.*s: the last connection with the old configuration is closed",
              STR_ARG(u->spec->name));
    list_remove(&u->node);
    upstream_free(&u);
  }
  for (size_t i = 0; i < all->count; i++) {
    struct upstream *u = all->list[i];
    if (u->gone) drain(u);
    more |= u->gone && !list_empty(&u->lanes);
  }
  return more;
}

static void on_tick(struct timer *t) {
  struct upstreams *all = CONTAINER_OF(t, struct upstreams, drain);
  if (drain_all(all)) timer_start(all->opt.loop, t, TICK_MS);
}

static void retire(struct upstream *u, const struct fault *f) {
  u->left = true;
  u->unsaved = false;
  LIST_EACH(it, &u->lanes) lane_retire(CONTAINER_OF(it, struct lane, node), f);
}

static void remove_one(struct upstream *u) {
  struct fault f;
  fault_set(&f, FAULT_NOT_FOUND, "server \"%.*s\" was removed from the configuration", STR_ARG(u->spec->name));
  f.undone = true;
  u->gone = true;
  retire(u, &f);
  profiles_forget(u);
  catalog_outdated(u);
}

// Copies the counters of the old upstream to the new one.
static void take_over(struct upstream *next, const struct upstream *before) {
  next->version = before->version;
  next->starts = before->starts;
  next->restarts = before->restarts;
  next->losses = before->losses;
}

static void put(struct upstreams *all, struct upstream *next) {
  struct upstream *before = next->index < all->count ? all->list[next->index] : NULL;
  struct fault f;
  all->list[next->index] = next;
  if (before) take_over(next, before);
  else all->count++;
  profiles_load(next);
  catalog_outdated(next);
  if (!before) return;
  list_push(&all->leaving, &before->node);
  fault_set(&f, FAULT_UPSTREAM_UNAVAILABLE, "server \"%.*s\" has a new configuration; try again",
            STR_ARG(next->spec->name));
  f.undone = f.again = true;
  retire(before, &f);
}

// ---- comparing

static struct upstream *find(const struct upstreams *all, str name) {
  for (size_t i = 0; i < all->count; i++)
    if (str_eq(all->list[i]->spec->name, name)) return all->list[i];
  return NULL;
}

static bool is_named(const struct upstream_spec *specs, size_t count, str name) {
  for (size_t i = 0; i < count; i++)
    if (str_eq(specs[i].name, name)) return true;
  return false;
}

static void forget(struct upstream **made, size_t count) {
  for (size_t i = 0; i < count; i++) upstream_free(&made[i]);
  mem_free(made);
}

// Creates an upstream for each new or changed server. Returns an array with one element for each spec; an element is
// NULL if the server is unchanged. Returns NULL, with the reason in `f`, on failure.
static struct upstream **make(struct upstreams *all, const struct upstream_spec *specs, size_t count,
                              struct upstreams_change *change, struct fault *f) {
  struct upstream **made = mem_zero(sizeof *made * (count + 1));
  size_t places = all->count;
  for (size_t i = 0; i < count; i++) {
    const struct upstream *old = find(all, specs[i].name);
    bool there = old && !old->gone;
    if (there && spec_same(old->spec, &specs[i])) {
      change->kept++;
      continue;
    }
    if (!there) change->added++;
    else change->changed++;
    made[i] = upstream_new(all, old ? old->index : (unsigned)places++, &specs[i], f);
    if (made[i] && places <= MOST_PLACES) continue;
    if (made[i])
      fault_set(f, FAULT_LIMIT, "more than %d server names since the gateway was started; restart the gateway",
                MOST_PLACES);
    forget(made, count);
    return NULL;
  }
  all->list = mem_grow(all->list, sizeof *all->list * (places + 1));
  return made;
}

// Stores the position of each server in the new configuration. Unlike its index, the position of a server can change.
static void set_orders(struct upstreams *all, const struct upstream_spec *specs, size_t count) {
  for (unsigned i = 0; i < count; i++) {
    struct upstream *u = find(all, specs[i].name);
    if (u->order == i) continue;
    u->order = i;
    catalog_outdated(u);
  }
}

bool upstreams_replace(struct upstreams *all, const struct upstream_spec *specs, size_t count,
                       struct upstreams_change *out, struct fault *f) {
  struct upstreams_change change = {0};
  struct upstream **made = make(all, specs, count, &change, f);
  if (!made) return false;
  for (size_t i = 0; i < all->count; i++) {
    struct upstream *u = all->list[i];
    if (u->gone || is_named(specs, count, u->spec->name)) continue;
    remove_one(u);
    change.removed++;
  }
  for (size_t i = 0; i < count; i++)
    if (made[i]) put(all, made[i]);
  set_orders(all, specs, count);
  mem_free(made);
  if (drain_all(all)) timer_start(all->opt.loop, &all->drain, TICK_MS);
  *out = change;
  return true;
}

void replace_init(struct upstreams *all) {
  list_init(&all->leaving);
  timer_init(&all->drain, on_tick);
}

void replace_stop(struct upstreams *all) {
  timer_stop(&all->drain);
  LIST_EACH(it, &all->leaving) upstream_close(CONTAINER_OF(it, struct upstream, node));
}

void replace_done(struct upstreams *all) {
  replace_stop(all);
  LIST_EACH(it, &all->leaving) {
    struct upstream *u = CONTAINER_OF(it, struct upstream, node);
    list_remove(&u->node);
    upstream_free(&u);
  }
}
