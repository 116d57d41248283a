// SPDX-License-Identifier: Apache-2.0
// The tool get_server_tools of servers mode: returns definitions of the visible tools of a server. The caller can
// select tools by name and pattern, and can limit the tokens of the answer.
#include "base/assert.h"
#include "base/text/wildcard.h"
#include "catalog/naming/names.h"
#include "surface/servers/servers.h"
#include "surface/surface_state.h"
#include "surface/visibility.h"
#include "text/tokens.h"

enum { NAMES_MOST = 10000, PATTERN_BYTES = 256 };

struct choice {
  struct map names;  // names of the requested tools; empty if all names are requested
  str pattern;       // pattern that the names of tools must match; STR_NONE if all names match
  int64_t budget;    // maximum tokens of all definitions
  bool has_budget;
};

// ---- arguments

static bool given(const struct json *v) {
  return v && v->type != JSON_NULL;
}

static bool add_name(struct choice *c, str name) {
  name = str_trim(name);
  if (name.n) map_add(&c->names, name, c);
  return map_count(&c->names) <= NAMES_MOST;
}

// Reads names from an array, or from one string with commas between the names.
static bool read_names(struct servers_ask *a, struct choice *c) {
  const struct json *v = json_get(a->args, STR("names"));
  str text, name;
  if (!given(v)) return true;
  if (json_string(v, &a->r->arena, &text)) {
    for (bool more = true; more;) {
      more = str_cut(text, ',', &name, &text);
      if (!add_name(c, name)) return false;
    }
    return true;
  }
  if (v->type != JSON_ARRAY) return false;
  JSON_EACH(it, v)
    if (!json_string(it, &a->r->arena, &text) || !add_name(c, text)) return false;
  return true;
}

// Reads the arguments that select tools. Returns NULL on success, otherwise the error message.
static const char *read_choice(struct servers_ask *a, struct choice *c) {
  const struct json *pattern = json_get(a->args, STR("pattern")), *budget = json_get(a->args, STR("max_schema_tokens"));
  if (!read_names(a, c)) return "names must be an array or a comma-separated string of at most 10000 names";
  if (given(pattern) && (!json_string(pattern, &a->r->arena, &c->pattern) || c->pattern.n > PATTERN_BYTES))
    return "pattern must be a string such as get_*, of at most 256 bytes";
  c->has_budget = given(budget);
  return c->has_budget && !json_int(budget, &c->budget) ? "max_schema_tokens must be a whole number" : NULL;
}

// ---- the selected tools

// Returns whether a tool is selected. A requested name must equal the shown name, or the server's own name, of the
// tool; a pattern must match the shown name.
static bool is_chosen(const struct choice *c, str shown, str name) {
  if (map_count(&c->names) && !map_find(&c->names, shown) && !map_find(&c->names, name)) return false;
  return !c->pattern.p || wildcard_match(c->pattern, shown);
}

struct shown {
  struct buf tools;  // the returned definitions, with commas between them
  size_t available, returned;
  int64_t used;  // tokens of the returned definitions
  bool full;     // a definition did not fit; later tools are only counted
};

static str definition_of(struct servers_ask *a, const struct item *item, str shown) {
  struct arena *scratch = &a->d->scratch;
  struct fault f;
  const struct json *text = json_parse(scratch, item->text, &json_default_limits, &f);
  const struct json *description = json_get(text, STR("description")), *schema = json_get(text, STR("inputSchema"));
  struct buf b;
  buf_init(&b, item->text.n + 6 * item->name.n + 256);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("name"), shown);
  json_member_raw(&w, STR("description"), json_is(description, JSON_STRING) ? json_span(description) : STR("\"\""));
  json_member_raw(&w, STR("inputSchema"), schema ? json_compacted(scratch, json_span(schema)) : STR("{}"));
  json_end_object(&w);
  str definition = arena_str(scratch, buf_view(&b));
  buf_done(&b);
  return definition;
}

// Adds the tokens of a definition to s->used. Returns false if the definition does not fit the budget.
static bool fits(const struct choice *c, struct shown *s, str definition) {
  if (!c->has_budget) return true;
  int64_t left = c->budget - s->used;
  if (left <= 0 || !tokens_fit(definition, (size_t)left)) return false;
  s->used += (int64_t)tokens_count(definition);
  ASSERT(s->used <= c->budget);
  return true;
}

static void show(struct servers_ask *a, const struct choice *c, const struct item *item, struct shown *s) {
  s->available++;
  str shown = names_shown(&a->d->scratch, upstreams_name(a->d->upstreams, item->source), item->name);
  if (s->full || !is_chosen(c, shown, item->name)) return;
  str definition = definition_of(a, item, shown);
  s->full = !fits(c, s, definition);
  if (!s->full) {
    if (s->returned++) buf_char(&s->tools, ',');
    buf_str(&s->tools, definition);
  }
  arena_reset(&a->d->scratch);
}

static void show_all(struct servers_ask *a, unsigned source, const struct choice *c, struct shown *s) {
  const struct catalog *catalog = upstreams_catalog(a->d->upstreams);
  ASSERT(source < catalog->part_count);
  const struct catalog_part *part = &catalog->parts[source];
  uint32_t view = upstreams_view_for(a->d->upstreams, source, &a->who);
  for (size_t i = 0; i < part->count[ITEM_TOOL]; i++) {
    const struct item *item = &catalog->items[ITEM_TOOL][part->first[ITEM_TOOL] + i];
    if (item->seen & view && surface_sees(a->d, &a->caller, catalog, item)) show(a, c, item, s);
  }
}

// ---- the answer

static void answer(struct servers_ask *a, unsigned source, const struct choice *c, const struct shown *s) {
  struct buf b;
  buf_init(&b, s->tools.n + 8192);
  buf_str(&b, STR("{\"tools\":["));
  buf_str(&b, buf_view(&s->tools));
  buf_str(&b, STR("],\"server\":"));
  json_escape(&b, upstreams_name(a->d->upstreams, source));
  buf_printf(&b, ",\"total_available\":%zu,\"returned\":%zu,\"tokens_used\":", s->available, s->returned);
  if (c->has_budget) buf_printf(&b, "%lld", (long long)s->used);
  else buf_str(&b, STR("null"));
  buf_str(&b, STR(",\"error\":null}"));
  meta_reply(a->d, a->r, buf_view(&b), buf_view(&b));
  buf_done(&b);
}

// Answers with a fault, because the tools of the server are unknown and the server is not connected.
static void fail_unavailable(struct servers_ask *a, unsigned source) {
  struct fault f, shown;
  upstreams_why(a->d->upstreams, source, &a->who, &f);
  const struct upstream_spec *spec = upstreams_spec(a->d->upstreams, source);
  fault_set(&shown, f.code, "%.*s", STR_ARG(call_said(&a->r->arena, spec, str_of(f.message))));
  meta_fail(a->d, a->r, &shown, STR_NONE);
}

static void answer_choice(struct servers_ask *a, unsigned source, const struct choice *c) {
  struct shown s = {0};
  buf_init(&s.tools, 1u << 29);
  show_all(a, source, c, &s);
  answer(a, source, c, &s);
  buf_done(&s.tools);
}

void servers_tools(struct servers_ask *a) {
  static const str names[] = {STR("agent_id"), STR("server"), STR("names"), STR("pattern"), STR("max_schema_tokens")};
  struct choice c = {.pattern = STR_NONE};
  unsigned source;
  if (!meta_known_args(a->d, a->r, names, 5) || !servers_find(a, &source)) return;
  map_init(&c.names, &a->d->opt.loop->seed);
  const char *wrong = read_choice(a, &c);
  if (wrong) meta_refuse(a->d, a->r, wrong);
  else if (!upstreams_listed(a->d->upstreams, source)) fail_unavailable(a, source);
  else answer_choice(a, source, &c);
  map_done(&c.names);
}

bool servers_tools_ready(struct surface *d, const struct request *r) {
  struct servers_ask a = {.d = d, .r = (struct request *)r, .args = meta_args(r)};
  struct fault f;
  unsigned source;
  if (!caller_find(d->calls.rules, r->session, servers_named(r), &a.caller, &f)) return true;
  if (!upstreams_find(d->upstreams, servers_string(&a, STR("server")), &source)) return true;
  a.who = (struct lane_user){r->session, caller_owner(&a.caller)};
  return !surface_sees_server(d, &a.caller, source) || upstreams_listed(d->upstreams, source) ||
         upstreams_settle_one(d->upstreams, source, &a.who);
}
