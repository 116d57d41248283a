// SPDX-License-Identifier: Apache-2.0
#include "app/visit/inventory.h"

#include "catalog/definitions_json.h"
#include "text/tokens.h"
#include "upstream/lane/upstream_status.h"

// ---- how the servers are

// For a session that sees them; the texts are in the arena, or those of the upstreams.
static struct inventory_server look_at(const struct upstreams *all, unsigned index, const struct session *session,
                                       struct arena *a) {
  const struct lane *lane = upstreams_lane_seen(all, index, session);
  const char *error = lane_missing(lane), *said = lane ? lane->said : "";
  struct inventory_server s = {.name = upstreams_name(all, index), .available = !error};
  if (lane && lane->state == LANE_READY) {
    s.revision = link_revision(lane->link)->name;
    s.start_ms = lane->ready_at - lane->started_at;
  }
  char progress[LANE_PROGRESS];
  if (error && lane && lane_starting(lane) && lane_progress(lane, progress)) {
    s.error = arena_cstr(a, arena_printf(a, "is still starting (%s)", progress));
  } else if (error) {
    str text = arena_printf(a, "%s%s%s", error, *said ? "; it said: " : "", said);
    s.error = arena_cstr(a, secrets_mask(a, text, &upstreams_spec(all, index)->secrets));
  }
  return s;
}

static void take_own(struct visit *v, struct inventory *i) {
  const struct upstreams *all = v->gateway.upstreams;
  struct directory_options options = {&v->gateway.loop.seed, &v->config.schemas};
  i->directory = directory_new(upstreams_catalog(v->gateway.upstreams), NULL, &options);
  i->server_count = upstreams_count(all);
  i->servers = ARENA_ARRAY(&v->arena, struct inventory_server, i->server_count + 1);
  for (unsigned k = 0; k < i->server_count; k++)
    i->servers[k] = look_at(all, k, loopback_session(v->clients[MODE_DIRECT]), &v->arena);
}

// ---- those of a running gateway

void inventory_put_offers(const struct gateway *g, const struct session *session, struct json_writer *w) {
  struct arena a;
  arena_init(&a);
  json_begin_object(w);
  json_member_bool(w, STR("prefix_always"), g->config->prefix == CONFIG_PREFIX_ALWAYS);
  json_put_key(w, STR("servers"));
  json_begin_array(w);
  for (unsigned k = 0; k < upstreams_count(g->upstreams); k++) {
    if (upstreams_gone(g->upstreams, k)) continue;
    struct inventory_server s = look_at(g->upstreams, k, session, &a);
    json_begin_object(w);
    json_member_str(w, STR("name"), s.name);
    if (s.error) json_member_str(w, STR("error"), str_of(s.error));
    if (s.revision) json_member_str(w, STR("revision"), str_of(s.revision));
    json_member_u64(w, STR("start_ms"), s.start_ms);
    upstreams_put_definitions(g->upstreams, k, w);
    json_end_object(w);
    arena_reset(&a);
  }
  json_end_array(w);
  json_end_object(w);
  arena_done(&a);
}

static const char *text_of(const struct json *v, str key, struct arena *a) {
  str text;
  return json_string(json_get(v, key), a, &text) ? arena_cstr(a, text) : NULL;
}

static void read_server(const struct json *v, struct arena *a, struct inventory_server *out) {
  int64_t start_ms = 0;
  json_string(json_get(v, STR("name")), a, &out->name);
  json_int(json_get(v, STR("start_ms")), &start_ms);
  out->start_ms = (uint64_t)start_ms;
  out->error = text_of(v, STR("error"), a);
  out->revision = text_of(v, STR("revision"), a);
  out->available = !out->error;
}

enum { MOST_DEFINITION_SETS = 32 };  // of one server: as many as a catalog takes

struct definition_sets {
  struct definitions *list[MOST_DEFINITION_SETS];
};

static struct catalog_source read_source(const struct json *v, struct arena *a, struct definition_sets *out) {
  const struct json *definition_sets = json_get(v, STR("rosters"));
  struct catalog_source s = {.version = 1, .definition_sets = (const struct definitions *const *)out->list};
  json_string(json_get(v, STR("name")), a, &s.server);
  json_string(json_get(v, STR("instructions")), a, &s.instructions);
  json_bool(json_get(v, STR("anonymous")), &s.anonymous);
  int64_t order = 0;
  if (json_int(json_get(v, STR("order")), &order)) s.order = (unsigned)order;
  if (json_is(definition_sets, JSON_ARRAY))
    JSON_EACH(it, definition_sets)
      if (s.definitions_count < MOST_DEFINITION_SETS) out->list[s.definitions_count++] = definitions_read(it);
  return s;
}

// The same catalog as the gateway has, built here: the gateway has other things to do than to count tokens.
static bool take_remote(struct visit *v, struct inventory *i, struct fault *f) {
  const struct json *offers = remote_request(v->remote, &v->arena, STR("toolgate/rosters"), STR_NONE, f);
  const struct json *servers = json_get(offers, STR("servers"));
  if (offers && !json_is(servers, JSON_ARRAY)) fault_set(f, FAULT_PROTOCOL, "the gateway's answer has no servers");
  if (!json_is(servers, JSON_ARRAY)) return false;
  struct definition_sets *definition_sets = ARENA_ARRAY(&v->arena, struct definition_sets, servers->count + 1);
  struct catalog_source *sources = ARENA_ARRAY(&v->arena, struct catalog_source, servers->count + 1);
  struct catalog_options options = {.generation = 1, .seed = &v->seed};
  i->servers = ARENA_ARRAY(&v->arena, struct inventory_server, servers->count + 1);
  JSON_EACH(it, servers) {
    size_t k = i->server_count++;
    read_server(it, &v->arena, &i->servers[k]);
    sources[k] = read_source(it, &v->arena, &definition_sets[k]);
  }
  json_bool(json_get(offers, STR("prefix_always")), &options.prefix_always);
  struct catalog *c = catalog_build(sources, i->server_count, &options);
  i->directory = directory_new(c, NULL, &(struct directory_options){&v->seed, &v->config.schemas});
  catalog_unref(&c);
  for (size_t k = 0; k < i->server_count; k++)
    for (size_t n = 0; n < MOST_DEFINITION_SETS; n++) definitions_free(&definition_sets[k].list[n]);
  return true;
}

// ---- both

static void weigh(struct visit *v, struct inventory *i) {
  for (int kind = 0; kind < DIRECTORY_KINDS; kind++) {
    const struct kind_index *kind_index = &i->directory->shelves[kind];
    i->tokens[kind] = ARENA_ARRAY(&v->arena, size_t, kind_index->count + 1);
    for (size_t k = 0; k < kind_index->count; k++) {
      const struct entry *e = &kind_index->entries[k];
      if (e->hidden) continue;
      struct inventory_server *s = &i->servers[e->source];
      i->tokens[kind][k] = tokens_count(e->item->text);
      s->tokens += i->tokens[kind][k];
      if (kind == DIRECTORY_TOOLS) s->tool_tokens += i->tokens[kind][k];
      s->count[kind]++;
    }
  }
}

bool inventory_take(struct visit *v, struct inventory *out, struct fault *f) {
  // A list is answered once the servers have settled.
  visit_enter(v, MODE_DIRECT);
  *out = (struct inventory){.tools = visit_request(v, STR("tools/list"), STR("{}"), f)};
  if (!out->tools) return false;
  if (!v->remote) take_own(v, out);
  else if (!take_remote(v, out, f)) return false;
  weigh(v, out);
  return true;
}

void inventory_done(struct inventory *i) {
  directory_unref(&i->directory);
}

bool inventory_whole(const struct inventory *i) {
  for (size_t k = 0; k < i->server_count; k++)
    if (!i->servers[k].available) return false;
  return !i->directory->skipped;
}

void inventory_put_server(struct json_writer *w, const struct inventory_server *s) {
  json_member_str(w, STR("name"), s->name);
  json_member_bool(w, STR("available"), s->available);
  if (s->error) json_member_str(w, STR("error"), str_of(s->error));
  json_member_u64(w, STR("tools"), s->count[DIRECTORY_TOOLS]);
  json_member_u64(w, STR("resources"), s->count[DIRECTORY_RESOURCES]);
  json_member_u64(w, STR("prompts"), s->count[DIRECTORY_PROMPTS]);
  json_member_u64(w, STR("tokens"), s->tokens);
  json_member_u64(w, STR("tool_tokens"), s->tool_tokens);
}
