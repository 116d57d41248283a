// SPDX-License-Identifier: Apache-2.0
#include "catalog/definitions_json.h"

static bool read_origin(const struct json *v, struct definitions_origin *out) {
  return json_bool(json_get(v, STR("stateless")), &out->stateless) &&
         json_bool(json_get(v, STR("tasks")), &out->tasks) && json_bool(json_get(v, STR("http")), &out->http);
}

static bool read_lists(struct definitions *r, const struct json *lists) {
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    const struct json *page = json_get(lists, str_of(item_kind_rules[kind].list_method));
    if (page && !definitions_add_page(r, (enum item_kind)kind, page)) return false;
  }
  return json_is(lists, JSON_OBJECT) && !r->skipped && !r->refused;
}

struct definitions *definitions_read(const struct json *v) {
  struct definitions_origin origin;
  if (!read_origin(json_get(v, STR("origin")), &origin)) return NULL;
  struct definitions *r = definitions_new(origin);
  if (!read_lists(r, json_get(v, STR("lists")))) definitions_free(&r);
  return r;
}

static void put_origin(struct json_writer *w, const struct definitions_origin *o) {
  json_put_key(w, STR("origin"));
  json_begin_object(w);
  json_member_bool(w, STR("stateless"), o->stateless);
  json_member_bool(w, STR("tasks"), o->tasks);
  json_member_bool(w, STR("http"), o->http);
  json_end_object(w);
}

struct tool_filter {
  bool (*serves)(const void *ctx, str tool);  // NULL: all tools
  const void *ctx;
};

static void put_list(struct json_writer *w, const struct definitions *r, enum item_kind kind,
                     struct tool_filter tools) {
  if (!r->paged[kind]) return;
  json_put_key(w, str_of(item_kind_rules[kind].list_method));
  json_begin_object(w);
  json_put_key(w, str_of(item_kind_rules[kind].list_key));
  json_begin_array(w);
  for (size_t i = 0; i < r->count[kind]; i++) {
    const struct definition *d = &r->defs[kind][i];
    if (kind != ITEM_TOOL || !tools.serves || tools.serves(tools.ctx, d->name)) json_put_raw(w, d->text);
  }
  json_end_array(w);
  json_member_u64(w, STR("ttlMs"), r->ttl_ms[kind]);
  json_member_str(w, STR("cacheScope"), r->is_public[kind] ? STR("public") : STR("private"));
  json_end_object(w);
}

void definitions_put(struct json_writer *w, const struct definitions *r, bool (*serves)(const void *ctx, str tool),
                     const void *ctx) {
  put_origin(w, &r->origin);
  json_put_key(w, STR("lists"));
  json_begin_object(w);
  for (int kind = 0; kind < ITEM_KINDS; kind++) put_list(w, r, (enum item_kind)kind, (struct tool_filter){serves, ctx});
  json_end_object(w);
}
