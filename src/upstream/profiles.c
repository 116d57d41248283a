// SPDX-License-Identifier: Apache-2.0
// Holds the definitions of each upstream, separately for clients with different capabilities (struct profile). Builds
// the catalog from the definitions, and stores the definitions on disk.
#include <stdio.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/text/plain.h"
#include "base/text/utf8.h"
#include "upstream/upstream_impl.h"
#include "json/write.h"

enum {
  REPORT_MS = 20,  // changes within this time cause one event
  KEEP_MS = 500,
};

// ---- the catalog

// Returns the instructions of the upstream's first profile that has any, or an empty string.
str upstream_instructions(const struct upstream *u) {
  for (size_t i = 0; i < MAX_PROFILES; i++)
    if (u->profiles[i].instructions.n) return u->profiles[i].instructions;
  return STR_NONE;
}

bool upstream_serves(const void *spec, str tool) {
  return spec_serves(spec, tool);
}

// Returns a text that identifies a server. The text is made from the server's settings without secrets (`shown`), so
// that a changed secret does not change the identity.
static str identity_of(const struct upstream *u, struct arena *a) {
  const struct upstream_spec *spec = u->spec;
  return arena_printf(a, "{\"kind\":%.*s%s%.*s,\"target\":%.*s}", STR_ARG(json_escaped(a, str_of(spec->kind->name))),
                      u->server_info.n ? ",\"server\":" : "", STR_ARG(u->server_info),
                      STR_ARG(json_escaped(a, spec->shown)));
}

// Stores the name and version that a connected server reports. Ignores servers without a command or URL, because these
// report the name and version of this gateway.
static void note_server_info(struct lane *lane) {
  enum { SHOWN = 256 };
  struct upstream *u = lane->upstream;
  struct arena a;
  if (!lane->link || (!u->spec->command.n && !u->spec->url.n)) return;
  str name = link_server_name(lane->link), version = link_server_version(lane->link);
  arena_init(&a);
  str info = arena_printf(&a, "{\"name\":%.*s,\"version\":%.*s}",
                          STR_ARG(json_escaped(&a, utf8_cut(name.p ? name : STR(""), SHOWN))),
                          STR_ARG(json_escaped(&a, utf8_cut(version.p ? version : STR(""), SHOWN))));
  if (!str_eq(info, u->server_info)) {
    mem_free((char *)u->server_info.p);
    u->server_info = upstream_copy(info);
    if (u->all->ev->compares && u->all->ev->compares(u->all->ctx)) catalog_outdated(u);
  }
  arena_done(&a);
}

static void build_catalog(struct upstreams *all) {
  struct arena a;
  arena_init(&a);
  struct catalog_source *sources = ARENA_ARRAY(&a, struct catalog_source, all->count + 1);
  for (size_t i = 0; i < all->count; i++) {
    struct upstream *u = all->list[i];
    const struct definitions **definition_sets = ARENA_ARRAY(&a, const struct definitions *, MAX_PROFILES);
    size_t places = 0;
    for (size_t k = 0; k < MAX_PROFILES; k++)
      if ((definition_sets[k] = u->profiles[k].definitions)) places = k + 1;
    sources[i] = (struct catalog_source){
        .server = u->spec->name,
        .definition_sets = definition_sets,
        .definitions_count = places,
        .instructions = upstream_instructions(u),
        .identity = identity_of(u, &a),
        .version = u->version,
        .anonymous = u->spec->anonymous,
        .serves = upstream_serves,
        .serves_ctx = u->spec,
        .gone = u->gone,
        .order = u->order,
    };
  }
  if (all->ev->listed) all->ev->listed(all->ctx, sources, all->count);
  struct catalog_options opt = {all->opt.prefix_always, ++all->generation, &all->opt.loop->seed};
  catalog_unref(&all->catalog);
  all->catalog = catalog_build(sources, all->count, &opt);
  all->outdated = false;
  arena_done(&a);
}

// Returns the current catalog. Builds it only at the first use after a change: while many upstreams start, the catalog
// changes often and most versions would never be used.
struct catalog *upstreams_catalog(struct upstreams *all) {
  if (all->outdated) build_catalog(all);
  return all->catalog;
}

// A server may list resources with URIs that another server owns. Logs the first such resource of the server `source`,
// and the number of further ones. Ignores resources for which this was already true in the catalog `old`.
static void log_shadowed_of(const struct upstreams *all, unsigned source, const struct catalog *now,
                            const struct catalog *old) {
  enum { URI_LOGGED = 200 };
  const struct item *first = NULL;
  char more[64] = "";
  size_t count = 0;
  for (int kind = ITEM_RESOURCE; kind <= ITEM_TEMPLATE; kind++)
    for (size_t i = 0; i < now->count[kind]; i++) {
      const struct item *item = &now->items[kind][i];
      if (item->source != source || !item->owner) continue;
      const struct item *before = catalog_find(old, (enum item_kind)kind, item->shown);
      if (before && before->owner) continue;
      if (!count++) first = item;
    }
  if (!first) return;
  if (count > 1) snprintf(more, sizeof more, "; also renamed: %zu more (toolgate catalog)", count - 1);
  log_warn(all->opt.loop->log,
           "%.*s: the URI \"%.*s\" is also used by server %.*s, so the resource is listed as \"%.*s\"%s",
           STR_ARG(now->parts[source].server), STR_ARG(utf8_cut(first->name, URI_LOGGED)),
           STR_ARG(now->parts[first->owner - 1].server), STR_ARG(utf8_cut(first->shown, URI_LOGGED)), more);
}

void catalog_report(struct upstreams *all) {
  struct catalog *now = upstreams_catalog(all), *old = all->reported;
  timer_stop(&all->tell);
  if (now == old || all->stopping) return;
  all->reported = catalog_ref(now);
  bool changed[ITEM_KINDS];
  for (int kind = 0; kind < ITEM_KINDS; kind++) changed[kind] = !catalog_same(old, now, (enum item_kind)kind);
  size_t names = now->contested - now->shadowed;
  if (names != old->contested - old->shadowed && !all->opt.prefix_always)
    log_info(all->opt.loop->log, "%zu names are used by several servers and are listed as server__name", names);
  for (unsigned i = 0; now->shadowed && i < now->part_count; i++) log_shadowed_of(all, i, now, old);
  catalog_unref(&old);
  all->ev->catalog_changed(all->ctx, changed);
}

static void on_report(struct timer *t) {
  catalog_report(CONTAINER_OF(t, struct upstreams, tell));
}

void catalog_outdated(struct upstream *u) {
  struct upstreams *all = u->all;
  u->version++;
  all->outdated = true;
  if (!all->stopping && !timer_running(&all->tell)) timer_start(all->opt.loop, &all->tell, REPORT_MS);
}

void upstreams_rebuild(struct upstreams *all) {
  all->outdated = true;
  upstreams_catalog(all);
  if (!all->stopping && !timer_running(&all->tell)) timer_start(all->opt.loop, &all->tell, REPORT_MS);
}

// ---- profiles

static struct profile *profile_at(struct upstream *u, size_t i) {
  return u->profiles[i].definitions ? &u->profiles[i] : NULL;
}

struct profile *profile_find(struct upstream *u, str key) {
  for (size_t i = 0; i < MAX_PROFILES; i++) {
    struct profile *p = profile_at(u, i);
    if (p && p->base && str_eq(p->key, key)) return p;
  }
  return NULL;
}

struct profile *profile_kept(struct upstream *u) {
  struct profile *p = profile_at(u, 0);
  return p && p->kept ? p : NULL;
}

struct profile *profile_of(const struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  return lane->view ? lane->view : profile_find(lane->upstream, lane->profile);
}

bool lane_tool(const struct lane *lane, str name, str *out) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  if (!lane->view || lane->listing || lane->stale[ITEM_TOOL]) return false;
  const struct definitions *d = lane->view->definitions;
  *out = STR_NONE;
  for (size_t i = 0; i < d->count[ITEM_TOOL] && !out->p; i++)
    if (str_eq(d->defs[ITEM_TOOL][i].name, name)) *out = d->defs[ITEM_TOOL][i].text;
  return true;
}

struct profile *profile_seen(struct upstream *u, const struct lane_user *who) {
  const struct lane *lane = lanes_find(u, who);
  str key = lanes_profile(u, who->session);
  struct profile *p = lane && lane->view && str_eq(lane->profile, key) ? lane->view : profile_find(u, key);
  if (!p && u->common) p = u->common->view;
  if (!p) p = profile_find(u, lane_shared_profile(u));
  for (size_t i = 0; !p && i < MAX_PROFILES; i++)
    if (u->profiles[i].base) p = &u->profiles[i];
  return p ? p : profile_kept(u);
}

str upstream_copy(str s) {
  char *copy = mem_alloc(s.n + 1);
  memcpy(copy, s.p ? s.p : "", s.n);
  return (str){copy, s.n};
}

static void profile_done(struct upstream *u, struct profile *p) {
  mem_free((char *)p->key.p);
  mem_free((char *)p->instructions.p);
  definitions_free(&p->definitions);
  *p = (struct profile){.key = STR_NONE};
  u->profile_count--;
}

static void profile_fill(struct upstream *u, struct profile *p, str key, struct definitions *definitions,
                         str instructions) {
  struct profile next = {upstream_copy(key), definitions, upstream_copy(instructions), p->kept, p->base, p->lanes};
  if (p->definitions) profile_done(u, p);
  *p = next;
  u->profile_count++;
}

void profiles_forget(struct upstream *u) {
  mem_free((char *)u->server_info.p);
  u->server_info = STR_NONE;
  for (size_t i = 0; i < MAX_PROFILES; i++)
    if (profile_at(u, i)) profile_done(u, profile_at(u, i));
}

static bool has_same(const struct profile *p, const struct definitions *definitions, str instructions) {
  return definitions_same(p->definitions, definitions) && str_eq(p->instructions, instructions);
}

static struct profile *find_same(struct upstream *u, str key, const struct definitions *definitions, str instructions) {
  for (size_t i = 0; i < MAX_PROFILES; i++) {
    struct profile *p = profile_at(u, i);
    if (p && !p->kept && str_eq(p->key, key) && has_same(p, definitions, instructions)) return p;
  }
  return NULL;
}

// Returns an unused element of u->profiles, otherwise one that no lane uses, otherwise NULL. An element that has just
// been freed is reused as late as possible, because users of an old catalog could mistake the element's new list for
// its old one.
static struct profile *free_place(struct upstream *u) {
  for (size_t i = 0; i < MAX_PROFILES; i++) {
    size_t k = (u->next_profile + i) % MAX_PROFILES;
    if (u->profiles[k].definitions) continue;
    u->next_profile = k + 1;
    return &u->profiles[k];
  }
  for (size_t i = 0; i < MAX_PROFILES; i++)
    if (!u->profiles[i].lanes) return &u->profiles[i];
  return NULL;
}

// Returns whether clients without a lane should see the list of this lane, because a new connection would probably get
// the same list. This holds for the first list of every lane, and for all lists of the common lane. If there is no
// common lane, it also holds for all lists of sessions' own lanes, if these have neither an agent nor a credential.
static bool sets_base(const struct lane *lane) {
  bool tells = !lane->session || !lane->upstream->common;
  return lane->fresh || (tells && lane->owner.scope == LANE_OF_ALL);
}

// Returns the element of u->profiles in which to store a list of this lane. No other lane may use this element. Returns
// NULL if no element is free.
static struct profile *place_for(struct lane *lane) {
  struct upstream *u = lane->upstream;
  struct profile *own = lane->view, *base = profile_find(u, lane->profile), *kept = profile_kept(u);
  if (own && own->lanes == 1 && (!own->base || sets_base(lane))) return own;
  if (kept) return kept;
  if (base && !base->lanes && sets_base(lane)) return base;
  return free_place(u);
}

static void drop_unused(struct upstream *u, struct profile *p) {
  if (!p || !p->definitions || p->lanes || p->base || p->kept) return;
  profile_done(u, p);
  catalog_outdated(u);
}

// Makes `p` the list that clients without a lane see, if there is no such list yet or sets_base(lane) is true. Returns
// whether `p` has replaced another list.
static bool make_base(struct lane *lane, struct profile *p) {
  struct upstream *u = lane->upstream;
  struct profile *old = profile_find(u, lane->profile);
  if (old == p || (old && !sets_base(lane))) return false;
  p->base = true;
  if (old) old->base = false;
  drop_unused(u, old);
  return old;
}

static void look_at(struct lane *lane, struct profile *p) {
  struct profile *old = lane->view;
  lane->view = p;
  if (p) p->lanes++;
  if (old) old->lanes--;
}

void profile_leave(struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  struct profile *old = lane->view;
  look_at(lane, NULL);
  drop_unused(lane->upstream, old);
}

// Stores the list of a lane in `p`. Returns whether the contents of `p` have changed.
static bool put(struct lane *lane, struct profile *p, struct definitions *definitions, str instructions) {
  bool same = p->definitions && has_same(p, definitions, instructions) && (p->kept || str_eq(p->key, lane->profile));
  p->kept = false;
  if (!p->lanes) p->base = false;
  profile_fill(lane->upstream, p, lane->profile, definitions, instructions);
  return !same;
}

static bool take(struct lane *lane, struct definitions *definitions, str instructions, struct profile **out) {
  struct upstream *u = lane->upstream;
  *out = find_same(u, lane->profile, definitions, instructions);
  struct profile *p = *out ? NULL : place_for(lane);
  if (p) {
    *out = p;
    return put(lane, p, definitions, instructions);
  }
  if (!*out)
    log_warn(
        u->all->opt.loop->log,
        "%.*s: the server's connections list different definitions; ignoring a list, because %d are stored already",
        STR_ARG(u->spec->name), MAX_PROFILES);
  definitions_free(&definitions);
  return false;
}

static void keep_soon(struct upstream *u);

// Called after a change of the list `now`. Drops lists that no lane uses, because they are probably outdated too.
static void drop_outdated(struct upstream *u, const struct profile *now) {
  for (size_t i = 0; i < MAX_PROFILES; i++) {
    struct profile *p = profile_at(u, i);
    if (!p || p == now || p->lanes) continue;
    p->base = false;
    drop_unused(u, p);
  }
}

bool profiles_alike(struct upstream *u) {
  const struct profile *first = NULL;
  for (size_t i = 0; i < MAX_PROFILES; i++) {
    const struct profile *p = profile_at(u, i);
    if (!p || !p->base) continue;
    if (first && has_same(first, p->definitions, p->instructions)) return true;
    if (!first) first = p;
  }
  return false;
}

void profile_set(struct lane *lane, struct definitions *definitions, str instructions) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  struct upstream *u = lane->upstream;
  struct profile *before = profile_of(lane), *old = lane->view, *p;
  note_server_info(lane);
  bool news = take(lane, definitions, instructions, &p);
  look_at(lane, p);
  if (p && make_base(lane, p)) news = true;
  if (before && before != profile_of(lane)) news = true;
  if (p && old && news && sets_base(lane)) drop_outdated(u, p);
  lane->fresh = false;
  if (old != p) drop_unused(u, old);
  if (!news) return;
  catalog_outdated(u);
  keep_soon(u);
}

// ---- storage on disk

// Returns the list to store on disk: the list of the shared lanes or, if there is none, the first list for clients
// without a lane.
static const struct profile *profile_to_keep(struct upstream *u) {
  const struct profile *shared = profile_find(u, lane_shared_profile(u));
  for (size_t i = 0; !shared && i < MAX_PROFILES; i++)
    if (u->profiles[i].base) shared = &u->profiles[i];
  return shared;
}

void profiles_keep(struct upstreams *all) {
  timer_stop(&all->save);
  if (all->unsaved && all->cache) definition_cache_save_client(all->cache, all->client);
  all->unsaved = false;
  for (size_t i = 0; i < all->count && all->cache; i++) {
    struct upstream *u = all->list[i];
    const struct profile *p = u->unsaved ? profile_to_keep(u) : NULL;
    u->unsaved = false;
    if (p) definition_cache_save(all->cache, u->spec, p->definitions, p->instructions);
  }
}

static void on_save(struct timer *t) {
  profiles_keep(CONTAINER_OF(t, struct upstreams, save));
}

static bool is_keepable(const struct upstream *u) {
  return u->all->cache && u->spec->kind->kept;
}

static void keep_soon(struct upstream *u) {
  struct upstreams *all = u->all;
  if (!is_keepable(u) || all->stopping) return;
  u->unsaved = true;
  if (!timer_running(&all->save)) timer_start(all->opt.loop, &all->save, KEEP_MS);
}

// Ignores clients with an agent or a credential, because the lanes of other clients must not declare the capabilities
// of such a client.
void profiles_note_client(struct upstreams *all, const struct lane_user *who) {
  const struct session *s = who->session;
  bool apart = s->principal >= 0 || who->agent.n || s->as_operator;
  if (!all->ahead || apart || str_eq(all->client, s->profile)) return;
  mem_free((char *)all->client.p);
  all->client = upstream_copy(s->profile);
  all->unsaved = true;
  if (all->cache && !all->stopping && !timer_running(&all->save)) timer_start(all->opt.loop, &all->save, KEEP_MS);
}

static void load_client(struct upstreams *all) {
  struct arena a;
  arena_init(&a);
  str client = all->cache ? definition_cache_load_client(all->cache, &a) : STR_NONE;
  if (client.n) all->client = upstream_copy(client);
  arena_done(&a);
}

void profiles_load(struct upstream *u) {
  struct arena a;
  str instructions = STR_NONE;
  arena_init(&a);
  struct definitions *r = is_keepable(u) ? definition_cache_load(u->all->cache, u->spec, &a, &instructions) : NULL;
  if (r) {
    // Remove hidden characters, because an earlier version of the gateway may have stored them.
    instructions = plain_shortened(&a, plain_copy(&a, instructions, false), u->all->opt.description_max);
    profile_fill(u, &u->profiles[0], STR_NONE, r, instructions);
    u->profiles[0].kept = true;
  }
  arena_done(&a);
}

void profiles_init(struct upstreams *all) {
  timer_init(&all->tell, on_report);
  timer_init(&all->save, on_save);
  if (all->opt.state_dir.n) all->cache = definition_cache_open(all->opt.loop, all->opt.state_dir);
  load_client(all);
  for (size_t i = 0; i < all->count; i++) profiles_load(all->list[i]);
  build_catalog(all);
  all->reported = catalog_ref(all->catalog);
}

void profiles_done(struct upstreams *all) {
  timer_stop(&all->tell);
  timer_stop(&all->save);
  catalog_unref(&all->reported);
  catalog_unref(&all->catalog);
  definition_cache_close(&all->cache);
}
