// SPDX-License-Identifier: Apache-2.0
// What the upstreams offer, to which kinds of clients; the catalog that is made of it; what of it is kept on disk.
#include "base/mem.h"
#include "upstream/upstream_impl.h"

enum {
  TELL_MS = 20,  // changes that come together are told together
  KEEP_MS = 500,
};

// ---- the catalog

// Of the first kind of client that was told any.
str upstream_instructions(const struct upstream *u) {
  for (size_t i = 0; i < u->profile_count; i++)
    if (u->profiles[i].instructions.n) return u->profiles[i].instructions;
  return STR_NONE;
}

static void build_catalog(struct upstreams *all) {
  struct arena a;
  arena_init(&a);
  struct catalog_source *sources = ARENA_ARRAY(&a, struct catalog_source, all->count + 1);
  for (size_t i = 0; i < all->count; i++) {
    struct upstream *u = all->list[i];
    const struct roster **rosters = ARENA_ARRAY(&a, const struct roster *, u->profile_count + 1);
    for (size_t k = 0; k < u->profile_count; k++) rosters[k] = u->profiles[k].roster;
    sources[i] = (struct catalog_source){
        .server = u->spec->name,
        .rosters = rosters,
        .roster_count = u->profile_count,
        .instructions = upstream_instructions(u),
        .version = u->version,
        .anonymous = u->spec->anonymous,
    };
  }
  struct catalog_options opt = {all->opt.prefix_always, ++all->generation, &all->opt.loop->seed};
  catalog_unref(&all->catalog);
  all->catalog = catalog_build(sources, all->count, &opt);
  all->outdated = false;
  arena_done(&a);
}

// Built when it is asked for: while many upstreams start, most of the catalogs in between are not.
struct catalog *upstreams_catalog(struct upstreams *all) {
  if (all->outdated) build_catalog(all);
  return all->catalog;
}

void catalog_tell(struct upstreams *all) {
  struct catalog *now = upstreams_catalog(all), *old = all->told;
  timer_stop(&all->tell);
  if (now == old || all->stopping) return;
  all->told = catalog_ref(now);
  bool changed[ITEM_KINDS];
  for (int kind = 0; kind < ITEM_KINDS; kind++) changed[kind] = !catalog_same(old, now, (enum item_kind)kind);
  if (now->clashes != old->clashes && !all->opt.prefix_always)
    log_info(all->opt.loop->log, "%zu names are in several servers: each is listed as server__name", now->clashes);
  catalog_unref(&old);
  all->ev->catalog_changed(all->ctx, changed);
}

static void on_tell(struct timer *t) {
  catalog_tell(CONTAINER_OF(t, struct upstreams, tell));
}

static void changed(struct upstream *u) {
  struct upstreams *all = u->all;
  u->version++;
  all->outdated = true;
  if (!all->stopping && !timer_running(&all->tell)) timer_start(all->opt.loop, &all->tell, TELL_MS);
}

// ---- profiles

struct profile *profile_find(struct upstream *u, str key) {
  for (size_t i = 0; i < u->profile_count; i++)
    if (!u->profiles[i].kept && str_eq(u->profiles[i].key, key)) return &u->profiles[i];
  return NULL;
}

struct profile *profile_kept(struct upstream *u) {
  return u->profile_count && u->profiles[0].kept ? &u->profiles[0] : NULL;
}

str upstream_copy(str s) {
  char *copy = mem_alloc(s.n + 1);
  memcpy(copy, s.p ? s.p : "", s.n);
  return (str){copy, s.n};
}

static void profile_done(struct profile *p) {
  mem_free((char *)p->key.p);
  mem_free((char *)p->instructions.p);
  roster_free(&p->roster);
}

void profiles_forget(struct upstream *u) {
  for (size_t i = 0; i < u->profile_count; i++) profile_done(&u->profiles[i]);
  u->profile_count = 0;
}

// Where the definitions for these capabilities go: over their own of before, over what was kept, or to a new place.
static struct profile *place_for(struct upstream *u, str key) {
  struct profile *p = profile_find(u, key);
  if (!p) p = profile_kept(u);
  // More kinds of clients than we keep apart: the latest takes the last place.
  if (!p && u->profile_count == MAX_PROFILES) p = &u->profiles[MAX_PROFILES - 1];
  return p ? p : &u->profiles[u->profile_count++];
}

static void keep_soon(struct upstream *u);

void profile_set(struct upstream *u, str key, struct roster *roster, str instructions) {
  struct profile *p = place_for(u, key), next = {upstream_copy(key), roster, upstream_copy(instructions), false};
  bool same = (p->kept || str_eq(p->key, key)) && p->roster && roster_same(p->roster, roster) &&
              str_eq(p->instructions, instructions);
  profile_done(p);
  *p = next;
  if (same) return;
  changed(u);
  keep_soon(u);
}

// ---- what is kept

// Those of the clients that share a lane; where there are none, of those that came first.
static const struct profile *profile_to_keep(struct upstream *u) {
  const struct profile *common = u->common ? profile_find(u, u->common->profile) : NULL;
  if (common) return common;
  return u->profile_count && !u->profiles[0].kept ? &u->profiles[0] : NULL;
}

void profiles_keep(struct upstreams *all) {
  timer_stop(&all->save);
  for (size_t i = 0; i < all->count && all->keep; i++) {
    struct upstream *u = all->list[i];
    const struct profile *p = u->unsaved ? profile_to_keep(u) : NULL;
    u->unsaved = false;
    if (p) keep_save(all->keep, u->spec, p->roster, p->instructions);
  }
}

static void on_save(struct timer *t) {
  profiles_keep(CONTAINER_OF(t, struct upstreams, save));
}

// A file is not kept in a second one.
static bool is_keepable(const struct upstream *u) {
  return u->all->keep && u->spec->transport != UPSTREAM_SNAPSHOT;
}

static void keep_soon(struct upstream *u) {
  struct upstreams *all = u->all;
  if (!is_keepable(u) || all->stopping) return;
  u->unsaved = true;
  if (!timer_running(&all->save)) timer_start(all->opt.loop, &all->save, KEEP_MS);
}

static void load_kept(struct upstream *u) {
  struct arena a;
  str instructions = STR_NONE;
  arena_init(&a);
  struct roster *r = is_keepable(u) ? keep_load(u->all->keep, u->spec, &a, &instructions) : NULL;
  if (r)
    u->profiles[u->profile_count++] = (struct profile){upstream_copy(STR_NONE), r, upstream_copy(instructions), true};
  arena_done(&a);
}

void profiles_init(struct upstreams *all) {
  timer_init(&all->tell, on_tell);
  timer_init(&all->save, on_save);
  if (all->opt.state_dir.n) all->keep = keep_open(all->opt.loop, all->opt.state_dir);
  for (size_t i = 0; i < all->count; i++) load_kept(all->list[i]);
  build_catalog(all);
  all->told = catalog_ref(all->catalog);
}

void profiles_done(struct upstreams *all) {
  timer_stop(&all->tell);
  timer_stop(&all->save);
  catalog_unref(&all->told);
  catalog_unref(&all->catalog);
  keep_close(&all->keep);
}
