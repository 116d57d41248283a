// SPDX-License-Identifier: Apache-2.0
#include "surface/changes.h"
#include "base/assert.h"
#include "base/map.h"
#include "base/mem.h"
#include "surface/direct/direct_listen.h"
#include "surface/direct/direct_watch.h"
#include "surface/meta/aliases.h"
#include "surface/surface_state.h"
#include "surface/visibility.h"

enum { SLICE_US = 2000 };  // microseconds after which a comparison lets other callbacks of the loop run

// The items of a catalog that one agent sees through its connections.
struct catalog_view {
  const struct catalog *catalog;
  struct caller caller;
  const uint32_t *views;  // for each server: bits of item.seen, the sets of definitions that the agent gets
  size_t count;
};

// The key under which the result of a comparison is cached. Clients of the same agent have the same key if their
// connections show the same items.
struct comparison_key {
  const struct policy_agent *agents[2];
  const struct run_context *runs[2];
  const struct catalog *catalogs[2];
  uint32_t unknown[2];  // 1 if the rules do not know the caller, before and after the change
  uint64_t digests[2];  // hashes of `views`, before and after the change
};

struct difference {
  struct comparison_key key;
  bool lists[ITEM_KINDS];
  bool meta;  // the list of meta-tools differs
};

// A comparison of the lists that clients saw under the rules `before` with the lists that they see under `after`.
struct comparison {
  struct surface *d;
  const struct rulebook *before, *after;
  struct map memo;  // results of comparisons, by the bytes of their comparison_key
  struct arena arena;
  size_t compared;  // number of comparisons that were not in `memo`, for the log
};

static void comparison_init(struct comparison *x, struct surface *d, const struct rulebook *before) {
  *x = (struct comparison){.d = d, .before = before, .after = d->calls.rules};
  map_init(&x->memo, &d->opt.loop->seed);
  arena_init(&x->arena);
}

static void comparison_done(struct comparison *x) {
  map_done(&x->memo);
  arena_done(&x->arena);
}

// ---- one client

// Returns whether the rules do not know the agent. Such an agent sees no items.
static bool is_unknown(const struct caller *c) {
  return (c->policy && !c->agent) || (c->governance && !c->run);
}

// Returns the first visible item at or after index *at, and sets *at to the index after this item. Returns NULL at the
// end of the list.
static const struct item *next_visible(struct surface *d, const struct catalog_view *v, enum item_kind kind,
                                       size_t *at) {
  while (*at < v->catalog->count[kind]) {
    const struct item *item = &v->catalog->items[kind][(*at)++];
    bool shown = item->source >= v->count || item->seen & v->views[item->source];
    if (shown && !is_unknown(&v->caller) && surface_sees(d, &v->caller, v->catalog, item)) return item;
  }
  return NULL;
}

// Returns the names of items for the agent. For an unknown agent, returns any names, because this agent sees no items.
static struct naming names_in(struct surface *d, const struct catalog_view *v) {
  return is_unknown(&v->caller) ? naming_of_all(v->catalog) : surface_naming(d, &v->caller, v->catalog);
}

static bool same_list(struct surface *d, const struct catalog_view *before, const struct catalog_view *after,
                      enum item_kind kind) {
  struct naming old_names = names_in(d, before), new_names = names_in(d, after);
  for (size_t i = 0, k = 0;;) {
    const struct item *a = next_visible(d, before, kind, &i), *b = next_visible(d, after, kind, &k);
    if (!a || !b) return a == b;
    if (!naming_same_item(&old_names, a, &new_names, b)) return false;
  }
}

// Returns which meta-tools a client has, as bits: 1 for the meta-tools for resources, if the client sees a resource or
// a template; 2 for the meta-tools for prompts, if the client sees a prompt.
static unsigned meta_tools_for(struct surface *d, const struct catalog_view *v) {
  bool any[ITEM_KINDS];
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    size_t at = 0;
    any[kind] = next_visible(d, v, (enum item_kind)kind, &at) != NULL;
  }
  return (any[ITEM_RESOURCE] || any[ITEM_TEMPLATE] ? 1 : 0) | (any[ITEM_PROMPT] ? 2 : 0);
}

static const struct difference *compare(struct comparison *x, const struct catalog_view *before,
                                        const struct catalog_view *after) {
  const struct hash_key *seed = &x->d->opt.loop->seed;
  struct comparison_key key = {
      .agents = {before->caller.agent, after->caller.agent},
      .runs = {before->caller.run, after->caller.run},
      .unknown = {is_unknown(&before->caller), is_unknown(&after->caller)},
      .catalogs = {before->catalog, after->catalog},
      .digests = {hash_sip(seed, (str){(const char *)before->views, before->count * sizeof *before->views}),
                  hash_sip(seed, (str){(const char *)after->views, after->count * sizeof *after->views})},
  };
  struct difference *found = map_find(&x->memo, (str){(const char *)&key, sizeof key});
  if (found) return found;
  found = ARENA_NEW(&x->arena, struct difference);
  found->key = key;
  found->meta = meta_tools_for(x->d, before) != meta_tools_for(x->d, after);
  found->meta |= meta_aliases_digest(x->d, &before->caller, before->catalog, before->views, before->count) !=
                 meta_aliases_digest(x->d, &after->caller, after->catalog, after->views, after->count);
  for (int kind = 0; kind < ITEM_KINDS; kind++)
    found->lists[kind] = !same_list(x->d, before, after, (enum item_kind)kind);
  ASSERT(map_add(&x->memo, (str){(const char *)&found->key, sizeof found->key}, found));
  x->compared++;
  return found;
}

// Returns the items of client->shown that the client sees under `rules`. The catalog must outlive the result. A client
// whose agent the rules do not know sees no items.
static struct catalog_view view_of(const struct surface_client *client, const struct rulebook *rules) {
  ASSERT(client->shown && client->views);
  struct catalog_view v = {
      client->shown, {.policy = rules->policy, .governance = rules->governance}, client->views, client->view_count};
  struct fault f;
  caller_find(rules, client->session, STR_NONE, &v.caller, &f);
  return v;
}

static void note_views(struct surface_client *client) {
  struct surface *d = client->d;
  struct caller c = {.id = STR_NONE};
  struct fault f;
  surface_caller(d, client->session, &c, &f);
  struct lane_user who = {client->session, c.id};
  size_t count = upstreams_count(d->upstreams);
  client->shown = catalog_ref(upstreams_catalog(d->upstreams));
  client->views = mem_alloc((count + 1) * sizeof *client->views);
  client->view_count = count;
  for (unsigned i = 0; i < count; i++) client->views[i] = upstreams_view_for(d->upstreams, i, &who);
}

void surface_changes_attach(struct surface_client *client) {
  ASSERT(!client->shown && !client->views);
  note_views(client);
}

void surface_changes_detach(struct surface_client *client) {
  catalog_unref(&client->shown);
  mem_free(client->views);
  client->views = NULL;
}

// If a list that the client sees has changed, forgets which search results (cards) were shown to the client.
static void forget_seen(struct surface_client *client, const struct difference *d) {
  bool any = false;
  for (int kind = 0; kind < ITEM_KINDS; kind++) any |= d->lists[kind];
  if (any) seen_clear(&client->seen);
}

void surface_check_shown(struct surface_client *client) {
  struct surface *d = client->d;
  if (client->shown == upstreams_catalog(d->upstreams)) return;
  struct comparison x;
  comparison_init(&x, d, d->calls.rules);
  struct surface_client now = {.d = d, .session = client->session};
  note_views(&now);
  struct catalog_view before = view_of(client, x.before), after = view_of(&now, x.after);
  forget_seen(client, compare(&x, &before, &after));
  surface_changes_detach(&now);
  comparison_done(&x);
}

static void notify(struct surface_client *client, enum item_kind kind) {
  struct session *s = client->session;
  str method = str_of(item_kind_rules[kind].changed);
  if (s->revision->stateless && direct_listens(client, kind)) direct_listen_notify(client, method, STR_NONE);
  else if (!s->revision->stateless && s->state == SESSION_OPEN) session_notify(s, NULL, method, STR_NONE);
}

static void update(struct comparison *x, struct surface_client *client) {
  struct surface_client now = {.d = client->d, .session = client->session};
  note_views(&now);
  struct catalog_view before = view_of(client, x->before), after = view_of(&now, x->after);
  const struct difference *d = compare(x, &before, &after);
  surface_changes_detach(client);
  ASSERT(!client->shown && now.shown);
  client->shown = now.shown;
  client->views = now.views;
  client->view_count = now.view_count;
  forget_seen(client, d);
  switch ((enum surface_mode)client->session->mode) {
  case MODE_DIRECT:
    for (int kind = 0; kind < ITEM_KINDS; kind++) {
      bool sent = kind == ITEM_TEMPLATE && d->lists[ITEM_RESOURCE];  // resources and templates share a notification
      if (d->lists[kind] && !sent) notify(client, (enum item_kind)kind);
    }
    break;
  case MODE_TRANSPARENT:
    if (d->lists[ITEM_TOOL]) notify(client, ITEM_TOOL);
    break;
  case MODE_GATEWAY:
    if (d->meta) notify(client, ITEM_TOOL);
    break;
  case MODE_SERVERS: break;
  }
}

// ---- all clients

// Compares the lists of clients that were last compared with an earlier catalog. After SLICE_US, leaves the remaining
// clients to the timer.
static void run_slice(struct surface *d) {
  const struct catalog *now = upstreams_catalog(d->upstreams);
  ASSERT(!timer_running(&d->changes));
  uint64_t began = clock_mono_us(d->opt.loop->clock);
  struct comparison x;
  bool more = false;
  loop_name(d->opt.loop, LOOP_CATALOG);
  comparison_init(&x, d, d->calls.rules);
  LIST_EACH(it, &d->server->sessions) {
    struct surface_client *client = surface_client(CONTAINER_OF(it, struct session, node));
    if (!client || client->shown == now) continue;
    more = clock_mono_us(d->opt.loop->clock) - began > SLICE_US;
    if (more) break;
    update(&x, client);
  }
  log_debug(d->opt.loop->log, "the catalog has changed: compared %zu visible lists%s", x.compared,
            more ? "; more will follow" : "");
  comparison_done(&x);
  if (more) timer_start(d->opt.loop, &d->changes, 1);
  else surface_forget_old_visibilities(d);
}

static void on_next_slice(struct timer *t) {
  run_slice(CONTAINER_OF(t, struct surface, changes));
}

void surface_changes_init(struct surface *d) {
  timer_init(&d->changes, on_next_slice);
}

void surface_catalog_changed(struct surface *d) {
  if (!timer_running(&d->changes)) run_slice(d);
}

void surface_rules_changed(struct surface *d, const struct rulebook *before) {
  struct comparison x;
  loop_name(d->opt.loop, LOOP_CATALOG);
  timer_stop(&d->changes);
  comparison_init(&x, d, before);
  LIST_EACH(it, &d->server->sessions) {
    struct surface_client *client = surface_client(CONTAINER_OF(it, struct session, node));
    if (client) update(&x, client);
  }
  comparison_done(&x);
  direct_unsubscribe_denied(d);
  meta_aliases_forget(d);
  surface_forget_visibilities(d);
}

void surface_servers_changed(struct surface *d) {
  d->began = loop_now(d->opt.loop);
  LIST_EACH(it, &d->server->sessions) {
    struct session *s = CONTAINER_OF(it, struct session, node);
    if (s->state == SESSION_OPEN) upstreams_settle(d->upstreams, s);
  }
  direct_watch_anew(d);
}
