// SPDX-License-Identifier: Apache-2.0
// Records a call and its result as an event of the session (context/recorder.h), if recording is configured.
#include "base/assert.h"
#include "call/bridge/translate.h"
#include "call/report.h"
#include "call/steps/steps.h"
#include "context/messages.h"

enum { MOST_HANDLES = 32 };

// Returns the name and the version that the client declared, as one text.
static str client_of(const struct session *s, struct arena *a) {
  struct fault f;
  const struct json *v = s->client.n ? json_parse(a, s->client, &json_default_limits, &f) : NULL;
  str name = STR(""), version = STR("");
  json_string(json_get(v, STR("name")), a, &name);
  json_string(json_get(v, STR("version")), a, &version);
  return version.n ? arena_printf(a, "%.*s %.*s", STR_ARG(name), STR_ARG(version)) : name;
}

static void put_result(struct call *c, const struct json *result, struct arena *a, struct recorded_call *out) {
  const struct json *messages = json_get(result, STR("messages"));
  out->text = messages_result_text(messages ? messages : result, a);
  json_bool(json_get(result, STR("isError")), &out->failed);
  size_t count;
  out->artifacts = firewall_handles(c, &count);
  out->artifact_count = count < MOST_HANDLES ? count : MOST_HANDLES;
}

static void put_outcome(struct call *c, struct arena *a, struct recorded_call *out) {
  struct fault f;
  if (c->failure) {
    out->failed = true;
    out->text = arena_printf(a, "%s: %s", fault_name(c->failure->fault.code), c->failure->fault.message);
  } else if (c->answer.p) {
    put_result(c, json_parse(a, c->answer, &json_default_limits, &f), a, out);
  } else if (c->reply && c->reply->kind == RPC_RESULT && c->reply->large_message) {
    // The text of a large result is not recorded: it would not fit into a prompt, and the parser may have made no nodes
    // for it.
    json_bool(json_get(c->reply->result, STR("isError")), &out->failed);
    out->text = arena_printf(a, "(a result of %u bytes)", c->reply->result->n);
  } else if (c->reply && c->reply->kind == RPC_RESULT) {
    put_result(c, c->reply->result, a, out);
  }
}

void call_record(struct call *c) {
  ASSERT(c->context->recorder && c->request);
  struct arena a;
  const struct json *arguments = json_get(c->request->msg.params, STR("arguments"));
  enum call_target target = c->method->target;
  bool ends =
      !c->reply || c->failure || (c->reply->kind != RPC_ERROR && result_type(c, c->reply) != RESULT_INPUT_REQUIRED);
  bool recorded = (target == CALL_BY_NAME || target == CALL_BY_URI) && !c->method->local && ends;
  if (!recorded || c->session->as_operator) return;
  arena_init(&a);
  str name = c->about.n ? c->about : STR("");  // name of the target, as the caller gave it
  str member = target == CALL_BY_URI ? STR("uri") : STR("name");
  if (!name.n) json_string(json_get(c->request->msg.params, member), &a, &name);
  struct recorded_call call = {
      .session = str_of(c->session->id),
      .client = client_of(c->session, &a),
      .principal = session_principal(c->session),
      .name = name,
      .arguments = arguments ? json_span(arguments) : STR_NONE,
      .text = STR(""),
      .secrets = c->route_count ? call_spec(c)->secrets : (struct secrets_known){0},
  };
  put_outcome(c, &a, &call);
  recorder_add(c->context->recorder, &call, &c->session->recorded);
  arena_done(&a);
}
