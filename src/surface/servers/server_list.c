// SPDX-License-Identifier: Apache-2.0
// The tools list_servers and execute_tool of servers mode.
#include "catalog/directory/card.h"
#include "surface/meta/execute.h"
#include "surface/servers/servers.h"
#include "surface/surface_state.h"
#include "surface/visibility.h"
#include "text/oneline.h"
#include "upstream/kind.h"

// ---- list_servers

// A server without a description is described by the first line of its instructions, cut to this many tokens.
enum { SAID_TOKENS = 40 };

static str describe(struct servers_ask *a, unsigned source) {
  const struct upstream_spec *spec = upstreams_spec(a->d->upstreams, source);
  if (spec->description.n) return spec->description;
  str said = upstreams_instructions(a->d->upstreams, source, &a->who), line = STR_NONE, rest;
  for (bool more = said.n > 0; more && !line.n;) {
    more = str_cut(said, '\n', &line, &rest);
    line = str_trim(line);
    said = rest;
  }
  struct arena *scratch = &a->r->arena;
  return line.n ? card_truncate(scratch, oneline(scratch, line), SAID_TOKENS) : STR_NONE;
}

static void put_server(struct servers_ask *a, unsigned source, bool metadata, struct json_writer *w) {
  const struct upstream_spec *spec = upstreams_spec(a->d->upstreams, source);
  str description = describe(a, source);
  json_begin_object(w);
  json_member_str(w, STR("name"), spec->name);
  json_put_key(w, STR("description"));
  if (description.n) json_put_str(w, description);
  else json_put_null(w);
  const struct upstream_kind *k = spec->kind;
  if (metadata) json_member_str(w, STR("transport"), str_of(k->brief));
  if (metadata && k->public_place) json_member_str(w, str_of(k->place), k->public_place(spec));
  json_end_object(w);
}

void servers_list(struct servers_ask *a) {
  static const str names[] = {STR("agent_id"), STR("include_metadata")};
  const struct json *wanted = json_get(a->args, names[1]);
  bool metadata = false;
  if (!meta_known_args(a->d, a->r, names, 2)) return;
  if (wanted && wanted->type != JSON_NULL && !json_bool(wanted, &metadata)) {
    meta_refuse(a->d, a->r, "include_metadata must be true or false");
    return;
  }
  struct buf b;
  buf_init(&b, 16 << 20);
  buf_str(&b, STR("{\"result\":"));
  struct json_writer w = json_writer(&b);
  json_begin_array(&w);
  for (unsigned i = 0; i < upstreams_count(a->d->upstreams); i++)
    if (surface_lists_server(a->d, &a->caller, i)) put_server(a, i, metadata, &w);
  json_end_array(&w);
  buf_char(&b, '}');
  str all = buf_view(&b), value = str_from(all, 10);
  value.n--;
  meta_reply(a->d, a->r, value, all);
  buf_done(&b);
}

// ---- execute_tool

// Reads a whole number of milliseconds; 0 if `v` is absent or null, which means no limit. Returns false if `v` has
// another value.
static bool read_timeout(const struct json *v, uint64_t *out) {
  int64_t ms = 0;
  if (v && v->type != JSON_NULL && (!json_int(v, &ms) || ms < 0)) return false;
  *out = (uint64_t)ms;
  return true;
}

void servers_execute(struct servers_ask *a) {
  static const struct call_method method = {"tools/call", CALL_BY_NAME, ITEM_TOOL, CALL_ANY_ERA, false, CALL_RULED};
  static const str names[] = {STR("agent_id"), STR("server"), STR("tool"), STR("args"), STR("timeout_ms")};
  const struct json *args = json_get(a->args, STR("args"));
  struct caller_options options = {.agent = servers_named(a->r)};
  struct call_place place = {servers_string(a, STR("server")), servers_string(a, STR("tool"))};
  if (!meta_known_args(a->d, a->r, names, 5)) return;
  if (!meta_takes_args(a->d, args)) {
    meta_refuse(a->d, a->r, "args, if given, must be an object");
    return;
  }
  if (!read_timeout(json_get(a->args, STR("timeout_ms")), &options.timeout_ms)) {
    meta_refuse(a->d, a->r, "timeout_ms must be a whole number of milliseconds");
    return;
  }
  meta_rewrite(a->r, &method, place.tool, meta_args_text(args));
  call_start_for(&a->d->calls, a->r, &method, STR_NONE, &place, &options);
}
