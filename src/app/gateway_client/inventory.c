// SPDX-License-Identifier: Apache-2.0
#include "app/gateway_client/inventory.h"

#include "base/assert.h"
#include "catalog/definitions_json.h"
#include "text/tokens.h"
#include "upstream/lane/upstream_status.h"

// ---- a gateway in this process

// Describes the state of a server as the session sees it. The texts in the result are in the arena, or belong to the
// upstreams.
static struct inventory_server describe_server(const struct upstreams *all, unsigned index,
                                               const struct session *session, struct arena *a) {
  const struct lane *lane = upstreams_lane_seen(all, index, session);
  const char *error = lane_missing(lane), *said = lane ? lane->said : "";
  struct inventory_server s = {.name = upstreams_name(all, index), .available = !error};
  if (lane && lane->state == LANE_READY) {
    s.revision = link_revision(lane->link)->name;
    str version = link_server_version(lane->link);
    s.version = version.p ? arena_cstr(a, version) : NULL;
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

static void take_in_process(struct gateway_client *client, struct inventory *i) {
  const struct upstreams *all = client->gateway.upstreams;
  ASSERT(client->in_process && client->loopbacks[MODE_DIRECT]);
  struct directory_options options = {&client->gateway.loop.seed, &client->config.schemas};
  i->directory = directory_new(upstreams_catalog(client->gateway.upstreams), NULL, &options);
  i->server_count = upstreams_count(all);
  i->servers = ARENA_ARRAY(&client->arena, struct inventory_server, i->server_count + 1);
  for (unsigned k = 0; k < i->server_count; k++)
    i->servers[k] = describe_server(all, k, loopback_session(client->loopbacks[MODE_DIRECT]), &client->arena);
}

// ---- a running gateway

void inventory_put_definitions(const struct gateway *g, const struct session *session, struct json_writer *w) {
  struct arena a;
  arena_init(&a);
  json_begin_object(w);
  json_member_bool(w, STR("prefix_always"), g->config->prefix == CONFIG_PREFIX_ALWAYS);
  json_put_key(w, STR("servers"));
  json_begin_array(w);
  for (unsigned k = 0; k < upstreams_count(g->upstreams); k++) {
    if (upstreams_gone(g->upstreams, k)) continue;
    struct inventory_server s = describe_server(g->upstreams, k, session, &a);
    json_begin_object(w);
    json_member_str(w, STR("name"), s.name);
    if (s.error) json_member_str(w, STR("error"), str_of(s.error));
    if (s.revision) json_member_str(w, STR("revision"), str_of(s.revision));
    if (s.version) json_member_str(w, STR("version"), str_of(s.version));
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
  out->version = text_of(v, STR("version"), a);
  out->available = !out->error;
}

enum { MAX_DEFINITION_SETS = 32 };  // maximum number of definition sets of one server; a catalog has the same limit

struct definition_sets {
  struct definitions *list[MAX_DEFINITION_SETS];
};

static struct catalog_source read_source(const struct json *v, struct arena *a, struct definition_sets *out) {
  const struct json *definition_sets = json_get(v, STR("definitions"));
  struct catalog_source s = {.version = 1, .definition_sets = (const struct definitions *const *)out->list};
  json_string(json_get(v, STR("name")), a, &s.server);
  json_string(json_get(v, STR("instructions")), a, &s.instructions);
  json_bool(json_get(v, STR("anonymous")), &s.anonymous);
  int64_t order = 0;
  if (json_int(json_get(v, STR("order")), &order)) s.order = (unsigned)order;
  if (json_is(definition_sets, JSON_ARRAY))
    JSON_EACH(it, definition_sets)
      if (s.definitions_count < MAX_DEFINITION_SETS) out->list[s.definitions_count++] = definitions_read(it);
  return s;
}

// Requests the definitions from a running gateway. Builds the catalog in this process, so that the gateway need not
// spend time on counting tokens.
static bool take_running(struct gateway_client *client, struct inventory *i, struct fault *f) {
  const struct json *offers =
      control_client_request(client->running, &client->arena, STR("toolgate/definitions"), STR_NONE, f);
  const struct json *servers = json_get(offers, STR("servers"));
  if (offers && !json_is(servers, JSON_ARRAY))
    fault_set(f, FAULT_PROTOCOL, "the gateway's answer to toolgate/definitions has no list \"servers\"");
  if (!json_is(servers, JSON_ARRAY)) return false;
  struct definition_sets *definition_sets = ARENA_ARRAY(&client->arena, struct definition_sets, servers->count + 1);
  struct catalog_source *sources = ARENA_ARRAY(&client->arena, struct catalog_source, servers->count + 1);
  struct catalog_options options = {.generation = 1, .seed = &client->seed};
  i->servers = ARENA_ARRAY(&client->arena, struct inventory_server, servers->count + 1);
  JSON_EACH(it, servers) {
    size_t k = i->server_count++;
    read_server(it, &client->arena, &i->servers[k]);
    sources[k] = read_source(it, &client->arena, &definition_sets[k]);
  }
  ASSERT(i->server_count == servers->count);
  json_bool(json_get(offers, STR("prefix_always")), &options.prefix_always);
  struct catalog *c = catalog_build(sources, i->server_count, &options);
  i->directory = directory_new(c, NULL, &(struct directory_options){&client->seed, &client->config.schemas});
  catalog_unref(&c);
  for (size_t k = 0; k < i->server_count; k++)
    for (size_t n = 0; n < MAX_DEFINITION_SETS; n++) definitions_free(&definition_sets[k].list[n]);
  return true;
}

// ---- both

static void count_tokens(struct gateway_client *client, struct inventory *i) {
  for (int kind = 0; kind < DIRECTORY_KINDS; kind++) {
    const struct kind_index *kind_index = &i->directory->kind_indexes[kind];
    i->tokens[kind] = ARENA_ARRAY(&client->arena, size_t, kind_index->count + 1);
    for (size_t k = 0; k < kind_index->count; k++) {
      const struct entry *e = &kind_index->entries[k];
      if (e->hidden) continue;
      ASSERT(e->source < i->server_count);
      struct inventory_server *s = &i->servers[e->source];
      i->tokens[kind][k] = tokens_count(e->item->text);
      s->tokens += i->tokens[kind][k];
      if (kind == DIRECTORY_TOOLS) s->tool_tokens += i->tokens[kind][k];
      s->count[kind]++;
    }
  }
}

bool inventory_take(struct gateway_client *client, struct inventory *out, struct fault *f) {
  // In this mode, the gateway answers a list request when every server is ready or has failed.
  gateway_client_set_mode(client, MODE_DIRECT);
  *out = (struct inventory){.tools = gateway_client_request(client, STR("tools/list"), STR("{}"), f)};
  if (!out->tools) return false;
  if (!client->running) take_in_process(client, out);
  else if (!take_running(client, out, f)) return false;
  count_tokens(client, out);
  return true;
}

void inventory_done(struct inventory *i) {
  ASSERT(i->directory);  // inventory_take has set it
  directory_unref(&i->directory);
}

bool inventory_complete(const struct inventory *i) {
  for (size_t k = 0; k < i->server_count; k++)
    if (!i->servers[k].available) return false;
  return !i->directory->skipped;
}

void inventory_put_server(struct json_writer *w, const struct inventory_server *s) {
  ASSERT(s->available == !s->error && s->tool_tokens <= s->tokens);
  json_member_str(w, STR("name"), s->name);
  json_member_bool(w, STR("available"), s->available);
  if (s->error) json_member_str(w, STR("error"), str_of(s->error));
  json_member_u64(w, STR("tools"), s->count[DIRECTORY_TOOLS]);
  json_member_u64(w, STR("resources"), s->count[DIRECTORY_RESOURCES]);
  json_member_u64(w, STR("prompts"), s->count[DIRECTORY_PROMPTS]);
  json_member_u64(w, STR("tokens"), s->tokens);
  json_member_u64(w, STR("tool_tokens"), s->tool_tokens);
}
