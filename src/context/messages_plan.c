// SPDX-License-Identifier: Apache-2.0
// Reads the calls from an input, checks them, and puts them in the order in which they are made.
#include <stdio.h>

#include "base/assert.h"
#include "base/crypto/rand.h"
#include "base/map.h"
#include "context/messages.h"

struct planner {
  struct arena *a;
  struct map ids;              // call id -> struct planned_call
  struct planned_call *calls;  // calls in the order of the input
  const struct json **depends;
  size_t count;
  struct fault *f;
};

static bool wrong(struct planner *p, size_t i, const char *what) {
  char place[64];
  fault_set(p->f, FAULT_INVALID, "%s", what);
  int n = snprintf(place, sizeof place, "/tool_calls/%zu", i);
  fault_set_path(p->f, (str){place, (size_t)n});
  return false;
}

// Reads a call's id, a number or a string, as the text that placeholders contain.
static bool read_id(const struct json *v, struct arena *a, str *out) {
  if (json_is(v, JSON_NUMBER)) *out = json_span(v);
  return json_is(v, JSON_NUMBER) || (json_string(v, a, out) && out->n);
}

// ---- reading

static bool read_resource(struct planner *p, size_t i, const struct json *params) {
  struct planned_call *c = &p->calls[i];
  c->is_resource = true;
  p->depends[i] = json_get(params, STR("depends"));
  return json_string(json_get(params, STR("uri")), p->a, &c->target) || wrong(p, i, "params.uri must be a string");
}

static bool read_tool(struct planner *p, size_t i, const struct json *params) {
  struct planned_call *c = &p->calls[i];
  const struct json *arguments = json_get(params, STR("arguments"));
  bool named = json_string(json_get(params, STR("name")), p->a, &c->target) ||
               json_string(json_get(params, STR("tool_name")), p->a, &c->target);
  if (!named) return wrong(p, i, "params.name (or tool_name) must be a string");
  if (arguments && arguments->type != JSON_OBJECT) return wrong(p, i, "params.arguments must be an object");
  c->arguments = arguments;
  p->depends[i] = json_get(arguments, STR("depends"));
  return true;
}

static bool read_call(struct planner *p, size_t i, const struct json *entry) {
  const struct json *resource = json_get(entry, STR("resource_call")), *tool = json_get(entry, STR("tool_call"));
  const struct json *rpc = resource ? resource : tool, *params = json_get(rpc, STR("params"));
  struct planned_call *c = &p->calls[i];
  if (!json_is(rpc, JSON_OBJECT) || (resource && tool))
    return wrong(p, i, "must have either resource_call or tool_call");
  if (!json_equals_str(json_get(rpc, STR("method")), resource ? STR("resources/read") : STR("tools/call")))
    return wrong(p, i, resource ? "the method must be resources/read" : "the method must be tools/call");
  if (!read_id(json_get(rpc, STR("id")), p->a, &c->id)) return wrong(p, i, "id must be a number or a non-empty string");
  if (!json_is(params, JSON_OBJECT)) return wrong(p, i, "params must be an object");
  if (!map_add(&p->ids, c->id, c)) return wrong(p, i, "another call has the same id");
  c->meta = json_get(params, STR("_meta"));
  return resource ? read_resource(p, i, params) : read_tool(p, i, params);
}

// ---- dependencies

static bool add_dependency(struct planner *p, size_t i, const struct json *v) {
  struct planned_call *c = &p->calls[i];
  str id;
  if (!read_id(v, p->a, &id)) return wrong(p, i, "depends must be an id, or a list of ids");
  const struct planned_call *other = map_find(&p->ids, id);
  if (!other) return wrong(p, i, "depends on an unknown id");
  if (other == c) return wrong(p, i, "depends on itself");
  c->depends[c->depend_count++] = (size_t)(other - p->calls);
  return true;
}

static bool read_depends(struct planner *p, size_t i) {
  const struct json *v = p->depends[i];
  bool ok = true;
  if (!v || v->type == JSON_NULL) return true;
  p->calls[i].depends = ARENA_ARRAY(p->a, size_t, v->count + 1);
  if (v->type != JSON_ARRAY) return add_dependency(p, i, v);
  for (const struct json *id = v->child; id && ok; id = id->next) ok = add_dependency(p, i, id);
  return ok;
}

static bool is_free(const struct planned_call *c, const size_t *place) {
  for (size_t i = 0; i < c->depend_count; i++)
    if (place[c->depends[i]] == SIZE_MAX) return false;
  return true;
}

// Returns the index of the first call that has no place in the order yet, but whose dependencies all have one. Returns
// p->count if there is no such call.
static size_t next_free(const struct planner *p, const size_t *place) {
  size_t i = 0;
  while (i < p->count && (place[i] != SIZE_MAX || !is_free(&p->calls[i], place))) i++;
  return i;
}

static size_t first_left(const struct planner *p, const size_t *place) {
  size_t i = 0;
  while (i < p->count && place[i] != SIZE_MAX) i++;
  return i;
}

// Puts the calls in an order that respects their dependencies. Kahn's algorithm: repeatedly takes the first call whose
// dependencies were all taken.
static bool put_in_order(struct planner *p, struct planned_call *out) {
  size_t *place = ARENA_ARRAY(p->a, size_t, p->count + 1);
  for (size_t i = 0; i < p->count; i++) place[i] = SIZE_MAX;
  for (size_t n = 0; n < p->count; n++) {
    size_t i = next_free(p, place);
    if (i == p->count) return wrong(p, first_left(p, place), "is part of a dependency cycle, or depends on one");
    place[i] = n;
    out[n] = p->calls[i];
  }
  for (size_t n = 0; n < p->count; n++)
    for (size_t i = 0; i < out[n].depend_count; i++) out[n].depends[i] = place[out[n].depends[i]];
  return true;
}

static bool check_input(const struct json *input, struct fault *f) {
  const struct json *messages = json_get(input, STR("messages")), *calls = json_get(input, STR("tool_calls"));
  const char *what = NULL;
  if (!json_is(input, JSON_OBJECT)) what = "must be an object";
  else if (!json_is(messages, JSON_ARRAY)) what = "messages must be a list";
  else if (calls && calls->type != JSON_ARRAY) what = "tool_calls must be a list";
  if (what) fault_set(f, FAULT_INVALID, "%s", what);
  else if (calls && calls->count > MESSAGES_CALLS)
    fault_set(f, FAULT_LIMIT, "too many calls in tool_calls: the maximum is %d", MESSAGES_CALLS);
  else return true;
  return false;
}

bool messages_plan(const struct json *input, struct arena *a, struct messages_plan *out, struct fault *f) {
  ASSERT(a && out && f);
  if (!check_input(input, f)) return false;
  const struct json *calls = json_get(input, STR("tool_calls"));
  struct planner p = {.a = a, .count = calls ? calls->count : 0, .f = f};
  struct hash_key seed = rand_hash_key(&rand_system);
  struct planned_call *ordered = ARENA_ARRAY(a, struct planned_call, p.count + 1);
  p.calls = ARENA_ARRAY(a, struct planned_call, p.count + 1);
  p.depends = ARENA_ARRAY(a, const struct json *, p.count + 1);
  map_init(&p.ids, &seed);
  bool ok = true;
  size_t n = 0;
  for (const struct json *entry = calls ? calls->child : NULL; entry && ok; entry = entry->next)
    ok = read_call(&p, n++, entry);
  for (size_t i = 0; i < p.count && ok; i++) ok = read_depends(&p, i);
  ok = ok && put_in_order(&p, ordered);
  map_done(&p.ids);
  if (ok) *out = (struct messages_plan){input, ordered, p.count};
  return ok;
}
