// SPDX-License-Identifier: Apache-2.0
// Who is told that a list is another: those clients that see something else than before, and no other. That something
// changed that an agent may not see, or that only another's connection shows, is none of its business.
#include "surface/changes.h"
#include "base/map.h"
#include "base/mem.h"
#include "surface/direct/direct_listen.h"
#include "surface/direct/direct_watch.h"
#include "surface/surface_impl.h"
#include "surface/visibility.h"

// What may be seen by whom at some time.
struct moment {
  const struct rulebook *rules;
  const struct catalog *catalog;
};

// What somebody sees at such a time: as that agent, of what its connections show (bits of item.seen, by source).
struct look {
  struct caller caller;
  const uint32_t *views;
  size_t count;
  uint64_t digest;  // of the views
};

// Who is compared: many clients are the same agent's, with connections that show the same.
struct subject {
  const struct policy_agent *before, *after;
  uint64_t digests[2];  // of what its connections show
};

// The difference for a subject between two moments.
struct difference {
  struct subject subject;
  bool lists[ITEM_KINDS];
  bool meta;  // the meta-tools
};

struct comparison {
  struct surface *d;
  struct moment before, after;
  struct map memo;  // of struct difference, by the bytes of its subject
  struct arena arena;
  size_t compared;  // subjects, with the whole of both catalogs
};

static void begin(struct comparison *x, struct surface *d, struct moment before, struct moment after) {
  *x = (struct comparison){.d = d, .before = before, .after = after};
  map_init(&x->memo, &d->opt.loop->seed);
  arena_init(&x->arena);
}

static void end(struct comparison *x) {
  map_done(&x->memo);
  arena_done(&x->arena);
}

// ---- one agent

// Nobody who is known sees everything where there are no rules, and nothing where there are.
static struct caller caller_at(const struct moment *m, const struct session *s) {
  struct caller c = {.policy = m->rules->policy};
  struct fault f;
  caller_find(m->rules, s, STR_NONE, &c, &f);
  return c;
}

static bool sees(struct surface *d, const struct look *l, const struct catalog *catalog, const struct item *item) {
  const struct caller *c = &l->caller;
  bool shown = item->source >= l->count || item->seen & l->views[item->source];
  return shown && (!c->policy || (c->agent && surface_sees(d, c, catalog, item)));
}

// The next item that is seen, from *at on; NULL: there is none.
static const struct item *next_seen(struct surface *d, const struct look *l, const struct catalog *catalog,
                                    enum item_kind kind, size_t *at) {
  while (*at < catalog->count[kind]) {
    const struct item *item = &catalog->items[kind][(*at)++];
    if (sees(d, l, catalog, item)) return item;
  }
  return NULL;
}

// The names by which it is seen; nobody who is known sees nothing.
static struct naming naming_at(struct surface *d, const struct look *l, const struct catalog *catalog) {
  return l->caller.policy && !l->caller.agent ? naming_of_all(catalog) : surface_naming(d, &l->caller, catalog);
}

static bool same_list(struct comparison *x, const struct look *before, const struct look *after, enum item_kind kind) {
  struct naming was = naming_at(x->d, before, x->before.catalog), is = naming_at(x->d, after, x->after.catalog);
  for (size_t i = 0, k = 0;;) {
    const struct item *a = next_seen(x->d, before, x->before.catalog, kind, &i);
    const struct item *b = next_seen(x->d, after, x->after.catalog, kind, &k);
    if (!a || !b) return a == b;
    if (!naming_same_item(&was, a, &is, b)) return false;
  }
}

static bool any_seen(struct surface *d, const struct look *l, const struct catalog *catalog, enum item_kind kind) {
  size_t at = 0;
  return next_seen(d, l, catalog, kind, &at) != NULL;
}

// Which meta-tools there are depends on whether there are resources and prompts.
static bool same_meta(struct comparison *x, const struct look *before, const struct look *after) {
  bool some[2][ITEM_KINDS];
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    some[0][kind] = any_seen(x->d, before, x->before.catalog, (enum item_kind)kind);
    some[1][kind] = any_seen(x->d, after, x->after.catalog, (enum item_kind)kind);
  }
  bool resources =
      (some[0][ITEM_RESOURCE] || some[0][ITEM_TEMPLATE]) == (some[1][ITEM_RESOURCE] || some[1][ITEM_TEMPLATE]);
  return resources && some[0][ITEM_PROMPT] == some[1][ITEM_PROMPT];
}

static uint64_t digest_of(const struct surface *d, const uint32_t *views, size_t count) {
  return hash_sip(&d->opt.loop->seed, (str){(const char *)views, count * sizeof *views});
}

void surface_note_views(struct client *client) {
  struct surface *d = client->d;
  struct caller c = {.id = STR_NONE};
  struct fault f;
  surface_caller(d, client->session, &c, &f);
  struct lane_user who = {client->session, c.id};
  size_t count = upstreams_count(d->upstreams);
  client->views = mem_grow(client->views, (count + 1) * sizeof *client->views);
  client->view_count = count;
  for (unsigned i = 0; i < count; i++) client->views[i] = upstreams_view_for(d->upstreams, i, &who);
}

static str key_of(const struct subject *s) {
  return (str){(const char *)s, sizeof *s};
}

static struct difference compare(struct comparison *x, const struct look *before, const struct look *after) {
  struct subject who = {before->caller.agent, after->caller.agent, {before->digest, after->digest}};
  struct difference *d = map_find(&x->memo, key_of(&who));
  if (d) return *d;
  d = ARENA_NEW(&x->arena, struct difference);
  x->compared++;
  d->subject = who;
  d->meta = !same_meta(x, before, after);
  for (int kind = 0; kind < ITEM_KINDS; kind++) d->lists[kind] = !same_list(x, before, after, (enum item_kind)kind);
  map_add(&x->memo, key_of(&d->subject), d);
  return *d;
}

// Of a client's connections as they were and as they are: they may show it something else by now.
static struct difference between(struct comparison *x, const struct client *was, const struct client *is) {
  struct surface *d = x->d;
  struct look before = {caller_at(&x->before, was->session), was->views, was->view_count,
                        digest_of(d, was->views, was->view_count)};
  struct look after = {caller_at(&x->after, is->session), is->views, is->view_count,
                       digest_of(d, is->views, is->view_count)};
  return compare(x, &before, &after);
}

static struct difference difference_of(struct comparison *x, struct client *client) {
  struct client is = {.d = client->d, .session = client->session};
  surface_note_views(&is);
  struct difference found = between(x, client, &is);
  mem_free(client->views);
  client->views = is.views;
  client->view_count = is.view_count;
  return found;
}

// ---- all clients

static void tell(struct session *s, enum item_kind kind) {
  struct client *client = surface_client(s);
  str method = str_of(item_kind_rules[kind].changed);
  if (s->revision->stateless && direct_listens(client, kind)) direct_tell(client, method, STR_NONE);
  else if (!s->revision->stateless && s->state == SESSION_OPEN) session_notify(s, NULL, method, STR_NONE);
}

static void tell_lists(struct session *s, const bool changed[ITEM_KINDS]) {
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    bool told = kind == ITEM_TEMPLATE && changed[ITEM_RESOURCE];  // one notification is for both
    if (changed[kind] && !told) tell(s, (enum item_kind)kind);
  }
}

// What it was shown is not begun anew for a change that it does not see.
static void forget_shown(struct client *client, const bool changed[ITEM_KINDS]) {
  bool any = false;
  for (int kind = 0; kind < ITEM_KINDS; kind++) any |= changed[kind];
  if (any) seen_clear(&client->seen);
}

void surface_check_shown(struct client *client) {
  struct surface *d = client->d;
  struct catalog *now = upstreams_catalog(d->upstreams);
  if (now == d->shown) return;
  struct comparison x;
  begin(&x, d, (struct moment){d->calls.rules, d->shown}, (struct moment){d->calls.rules, now});
  struct client is = {.d = d, .session = client->session};
  surface_note_views(&is);
  forget_shown(client, between(&x, client, &is).lists);
  mem_free(is.views);
  end(&x);
}

static void tell_all(struct comparison *x) {
  size_t clients = 0;
  loop_name(x->d->opt.loop, LOOP_CATALOG);
  LIST_EACH(it, &x->d->server->sessions) {
    struct session *s = CONTAINER_OF(it, struct session, node);
    struct client *client = surface_client(s);
    if (!client) continue;
    clients++;
    struct difference d = difference_of(x, client);
    forget_shown(client, d.lists);
    if (s->mode == MODE_DIRECT) tell_lists(s, d.lists);
    else if (s->mode == MODE_TRANSPARENT ? d.lists[ITEM_TOOL] : s->mode == MODE_GATEWAY && d.meta) tell(s, ITEM_TOOL);
  }
  log_debug(x->d->opt.loop->log, "a change was compared %zu times for %zu clients", x->compared, clients);
}

void surface_rules_changed(struct surface *d, const struct rulebook *before) {
  struct catalog *now = upstreams_catalog(d->upstreams);
  struct comparison x;
  begin(&x, d, (struct moment){before, now}, (struct moment){d->calls.rules, now});
  tell_all(&x);
  end(&x);
  direct_unsubscribe_denied(d);
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

void surface_catalog_changed(struct surface *d) {
  struct catalog *before = d->shown, *now = catalog_ref(upstreams_catalog(d->upstreams));
  struct comparison x;
  begin(&x, d, (struct moment){d->calls.rules, before}, (struct moment){d->calls.rules, now});
  d->shown = now;
  tell_all(&x);
  end(&x);
  surface_forget_old_visibilities(d);
  catalog_unref(&before);
}
