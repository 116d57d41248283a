// SPDX-License-Identifier: Apache-2.0
// Tolerant arguments, if configured: converts arguments that the client sent as text to the types that the schema
// requires (call/controls/literals.h), before step_schema validates them. The result lists these repairs.
#include "call/controls/literals.h"
#include "call/steps/steps.h"
#include "json/write.h"

struct repair_state {
  const struct json *original;  // the client's params; NULL if nothing was repaired
  str list;                     // the repairs: raw JSON, or STR_NONE
};

const struct json *repair_original(const struct call *c) {
  const struct repair_state *s = call_state(c, STEP_REPAIR);
  return s->original;
}

str repair_list(const struct call *c) {
  const struct repair_state *s = call_state(c, STEP_REPAIR);
  return s->list;
}

// Drops the original params when the call is parked, because the client's next request contains them again.
static void detach(struct call *c, void *state, struct arena *a) {
  struct repair_state *s = state;
  s->original = NULL;
  if (a) s->list = call_kept(a, s->list);
}

static const struct json *schema_of(struct call *c) {
  struct fault f;
  const struct json *definition = json_parse(&c->request->arena, c->item->text, &json_default_limits, &f);
  return json_get(definition, STR("inputSchema"));
}

// Replaces the arguments in the request's params. Stores the client's original params in the step's state, because
// tickets are bound to them.
static void replace(struct call *c, str args) {
  struct request *r = c->request;
  struct json_limits limits = {.max_bytes = SIZE_MAX, .max_depth = r->session->server->limits.max_depth};
  struct json_edit edit = {STR("arguments"), args};
  struct fault f;
  const struct json *params = json_parse(&r->arena, json_edited(&r->arena, r->msg.params, &edit, 1), &limits, &f);
  if (!params) return;  // nested too deeply; step_schema will refuse the original arguments
  struct repair_state *s = call_state(c, STEP_REPAIR);
  if (!s->original) s->original = r->msg.params;
  r->msg.params = params;
}

static const struct json *arguments_of(const struct call *c) {
  return json_get(c->request->msg.params, STR("arguments"));
}

static enum call_result run(struct call *c, void *state) {
  struct arena *a = &c->request->arena;
  struct literal_repairs repairs = {0};
  str args;
  if (!c->context->controls.tolerant_args || !call_is_tool(c) || !c->item) return CALL_NEXT;
  if (literal_object(arguments_of(c), &c->session->server->request_limits, a, &args)) {
    repairs.list = ARENA_NEW(a, struct literal_repair);
    *repairs.list = (struct literal_repair){LITERAL_OBJECT, STR_NONE};
    repairs.count = 1;
    replace(c, args);
  }
  if (literal_suspects(arguments_of(c)) && literal_repair(arguments_of(c), schema_of(c), a, &args, &repairs))
    replace(c, args);
  if (repairs.count) ((struct repair_state *)state)->list = literal_list(&repairs, a);
  if (!json_is(arguments_of(c), JSON_STRING)) return CALL_NEXT;
  // Refuse a string that is not an object: step_schema would let it pass if the tool has no schema.
  struct fault f;
  fault_set(&f, FAULT_ARGS_INVALID, "the arguments must be an object, or a string that contains a JSON object");
  fault_set_path(&f, c->about);
  return call_end(c, &f, RPC_INVALID_PARAMS, STR_NONE);
}

const struct call_step step_repair = {
    .name = "repair",
    .does = "Parses arguments that were written as text, if `tolerant_args` is set.",
    .state = sizeof(struct repair_state),
    .run = run,
    .detach = detach,
};
