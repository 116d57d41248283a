// SPDX-License-Identifier: Apache-2.0
// Ends a dry run. The checks of the earlier steps have run; nothing was sent, stored or counted. So a dry run works
// even if the server is down.
#include "call/steps/steps.h"
#include "result/envelope/fault_forms.h"
#include "json/write.h"

static void put_check(struct json_writer *w, const char *name, bool pass) {
  json_begin_object(w);
  json_member_str(w, STR("name"), str_of(name));
  json_member_str(w, STR("status"), pass ? STR("pass") : STR("fail"));
  json_end_object(w);
}

// Writes the first gate that would have to approve the call.
static void put_gate(struct json_writer *w, const struct call_gates *gates) {
  if (!gates->count) return;
  json_put_key(w, STR("approval"));
  json_begin_object(w);
  json_member_str(w, STR("gate"), gates->list[0]->gate_id);
  json_member_str(w, STR("role"), gates->list[0]->role);
  json_end_object(w);
}

static void put_report(struct call *c, str annotations, struct buf *out) {
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_bool(&w, STR("dry_run"), true);
  json_member_str(&w, STR("tool_id"), call_tool_id(c));
  json_member_str(&w, STR("upstream_name"), c->item->name);
  json_member_bool(&w, STR("args_valid"), true);
  json_member_raw(&w, STR("annotations"), annotations);
  json_put_key(&w, STR("checks"));
  json_begin_array(&w);
  put_check(&w, "schema_validation", true);
  put_check(&w, "rate_limit", !quota_reached(c));
  json_end_array(&w);
  if (repair_list(c).n) json_member_raw(&w, STR("arg_repairs"), repair_list(c));
  put_gate(&w, call_gates(c));
  json_end_object(&w);
}

static enum call_result run(struct call *c, void *state) {
  // The gateway has not verified the server's annotations.
  static const struct json_edit unverified = {STR("verified"), STR("false")};
  struct arena *a = &c->request->arena;
  struct fault f;
  if (!c->options.dry_run) return CALL_NEXT;
  const struct json *definition = json_parse(a, c->item->text, &json_default_limits, &f);
  const struct json *hints = json_get(definition, STR("annotations"));
  str annotations = json_edited(a, json_is(hints, JSON_OBJECT) ? hints : &json_empty_object, &unverified, 1);
  bool structured =
      c->method->form == CALL_DIRECT || request_form(c->request, c->context->results.structured).structured;
  struct buf report, result;
  buf_init(&report, annotations.n + repair_list(c).n + 6 * (c->item->name.n + 3 * (size_t)GOVERNANCE_ID_MAX) + 1024);
  put_report(c, annotations, &report);
  buf_init(&result, 8 * report.n + 256);
  result_put(&result, STR("{\"" RESULT_DRY_RUN "\":true}"), buf_view(&report),
             structured ? buf_view(&report) : STR_NONE, false);
  enum call_result r = call_reply(c, buf_view(&result));
  buf_done(&report);
  buf_done(&result);
  return r;
}

const struct call_step step_dry_run = {
    .name = "dry_run",
    .does = "Ends a dry run.",
    .run = run,
};
