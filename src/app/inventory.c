// SPDX-License-Identifier: Apache-2.0
#include "app/inventory.h"

#include "text/tokens.h"

static void look_at_servers(struct visit *v, struct inventory *i) {
  const struct upstreams *all = v->gateway.upstreams;
  i->server_count = upstreams_count(all);
  i->servers = ARENA_ARRAY(&v->arena, struct inventory_server, i->server_count + 1);
  for (unsigned k = 0; k < i->server_count; k++) {
    struct inventory_server *s = &i->servers[k];
    const struct lane *lane = upstreams_lane_seen(all, k, loopback_session(v->client));
    const char *error = lane_missing(lane);
    s->name = upstreams_name(all, k);
    s->available = !error;
    if (lane && lane->state == LANE_READY) {
      s->revision = link_revision(lane->link)->name;
      s->start_ms = lane->ready_at - lane->started_at;
    }
    const char *said = lane ? lane->said : "";
    if (error) s->error = arena_printf(&v->arena, "%s%s%s", error, *said ? "; it said last: " : "", said).p;
  }
}

static void weigh(struct visit *v, struct inventory *i) {
  for (int kind = 0; kind < DIRECTORY_KINDS; kind++) {
    const struct shelf *shelf = &i->directory->shelves[kind];
    i->tokens[kind] = ARENA_ARRAY(&v->arena, size_t, shelf->count + 1);
    for (size_t k = 0; k < shelf->count; k++) {
      const struct entry *e = &shelf->entries[k];
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
  struct directory_options options = {&v->gateway.loop.seed, &v->config.schemas};
  out->directory = directory_new(upstreams_catalog(v->gateway.upstreams), NULL, &options);
  look_at_servers(v, out);
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
