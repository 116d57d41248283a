// SPDX-License-Identifier: Apache-2.0
// Makes the two envelopes of a governed call, which are JSON objects: one describes the call and is made when
// governance decides about it, the other describes the result and is made when the call ends.
#include "base/assert.h"
#include "base/mem.h"
#include "call/bridge/translate.h"
#include "call/call_journal_impl.h"
#include "call/remedies.h"
#include "call/report.h"
#include "govern/effects.h"
#include "govern/versions.h"
#include "text/secrets.h"
#include "json/put.h"

enum {
  CITATIONS_MAX = 32,
  CITATION_BYTES = 1024,
  ARTIFACTS_MAX = 32,
  OUTPUT_MAX = 64 << 10,  // larger outputs are not recorded
  ENVELOPE_BYTES = 1 << 20,
  SESSION_SHOWN = 8,
  SESSION_TEXT = 5 + SESSION_SHOWN,
  RUN_HASH = 8
};

// ---- the call

// Returns the run_id of the caller's token. Without a run_id, returns a name for the session that does not reveal the
// session's id.
static str run_id(const struct call *c, struct arena *a) {
  const struct session *s = c->session;
  if (c->run->id.p) return arena_str(a, c->run->id);
  str seed = str_of(s->id);
  if (s->revision->stateless)
    seed = arena_printf(a, "%.*s %.*s", STR_ARG(session_principal(s)), STR_ARG(caller_run_agent(s, c->run)));
  uint64_t hash = hash_sip(&c->context->loop->seed, seed);
  char *text = arena_alloc(a, 4 + 2 * RUN_HASH + 1);
  memcpy(text, "run_", 4);
  hash_hex((const unsigned char *)&hash, RUN_HASH, text + 4);
  return (str){text, 4 + 2 * RUN_HASH};
}

static str auth_ref(const struct call *c, struct arena *a) {
  unsigned char digest[SHA256_SIZE];
  char hex[2 * SHA256_SIZE + 1];
  if (!c->session->claims.p) return STR_NONE;
  hash_sha256_with(c->context->governed->hasher, c->session->claims, digest);
  hash_hex(digest, sizeof digest, hex);
  return arena_printf(a, "claim_hash:sha256:%s", hex);
}

static str session_name(const struct session *s, char out[SESSION_TEXT]) {
  memcpy(out, "sess_", SESSION_TEXT - SESSION_SHOWN);
  memcpy(out + SESSION_TEXT - SESSION_SHOWN, s->id, SESSION_SHOWN);
  return (str){out, SESSION_TEXT};
}

// Returns the principals in the form of the envelope. A principal in an envelope has no member `workload`.
static str principals_of(const struct governance_question *q, str workload, struct arena *a) {
  const struct json *list = json_get(q->context, STR("principals"));
  static const struct json_edit without = {STR("workload"), {NULL, 0}};
  struct buf b;
  if (!json_is(list, JSON_ARRAY)) return STR("[{\"kind\":\"service\",\"id\":\"local\"}]");
  if (!workload.p) return json_span(list);
  buf_init(&b, 2 * (size_t)list->n);
  struct json_writer w = json_writer(&b);
  json_begin_array(&w);
  JSON_EACH(it, list) json_put_raw(&w, json_edited(a, it, &without, 1));
  json_end_array(&w);
  str text = arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}

void governed_call_begin(struct call *c, struct governed_call *g, const struct governance_question *q,
                         const struct governance_decision *d, const struct recorded_args *args) {
  struct call_journal *j = c->context->governed;
  struct arena *a = &g->arena;
  const struct session *s = c->session;
  char session[SESSION_TEXT];
  g->idempotency_key = call_kept(a, call_key(c));
  g->run_id = run_id(c, a);
  str workload = STR_NONE;
  json_string(json_get(q->context, STR("workload")), a, &workload);
  struct tool_call_envelope e = {
      .tool_call_id = g->id,
      .run_id = g->run_id,
      .trace_id = g->trace_id,
      .session_id = s->callers ? STR_NONE : session_name(s, session),
      .capability_id = g->capability_id,
      .args = args->text.p ? args->text : STR("{}"),
      .principals = principals_of(q, workload, a),
      .workload = workload,
      .requested = q->mode,
      .effective = g->effective,
      .highest = d->highest,
      .decision_id = g->decision_id,
      .governance = c->governance,
      .decision = d,
      .idempotency_key = g->idempotency_key,
      .auth_ref = auth_ref(c, a),
      .arguments = args->kept,
      .args_digest = args->has_digest ? args->digest : NULL,
  };
  buf_reset(&j->line);
  tool_call_envelope_put(&j->line, &e);
  g->envelope = j->line.over ? STR_NONE : arena_str(a, buf_view(&j->line));
}

// ---- the result

// Appends a citation of each resource that the result links to or contains.
static void put_citations(struct json_writer *w, const struct json *content) {
  size_t count = 0;
  if (!json_is(content, JSON_ARRAY) || json_is_folded(content)) return;
  JSON_EACH(it, content) {
    if (!json_is(it, JSON_OBJECT) || json_is_folded(it)) continue;
    const struct json *resource = json_get(it, STR("resource"));
    bool embedded = json_is(resource, JSON_OBJECT) && !json_is_folded(resource);
    const struct json *uri = embedded ? json_get(resource, STR("uri")) : json_get(it, STR("uri"));
    if (!json_is(uri, JSON_STRING) || uri->n > CITATION_BYTES || count++ >= CITATIONS_MAX) continue;
    json_begin_object(w);
    json_member_raw(w, STR("ref"), json_span(uri));
    json_end_object(w);
  }
}

static void take_hash(struct call_journal *j, struct governed_call *g, const struct json *result) {
  unsigned char digest[SHA256_SIZE];
  hash_sha256_with(j->hasher, json_span(result), digest);
  memcpy(g->output_hash, "sha256:", 7);
  hash_hex(digest, sizeof digest, g->output_hash + 7);
  g->hashed = true;
}

static str taken(struct governed_call *g, struct buf *from) {
  str text = from->n && !from->over ? arena_str(&g->arena, buf_view(from)) : STR_NONE;
  buf_reset(from);
  return text;
}

// Notes the evidence and the mutations of a result that reports no error.
static void take_effects(struct call *c, struct governed_call *g, const struct json *result) {
  struct call_journal *j = c->context->governed;
  struct effects_of e = {
      .capability = g->capability,
      .result = result,
      .tool_call_id = g->id,
      .repeated = cache_answered(c) || call_is_replayed(c),
      .secrets = &call_spec(c)->secrets,
  };
  effects_put_evidence(&j->line, &e);
  g->evidence = taken(g, &j->line);
  effects_put_places(&j->line, &e);
  g->places = taken(g, &j->line);
  effects_put_mutations(&j->line, &e, &g->arena);
  g->mutations = taken(g, &j->line);
}

// Notes the whole result, if the governance file asks for it.
static void take_output(struct call *c, struct governed_call *g, const struct json *result) {
  struct call_journal *j = c->context->governed;
  if (!g->recorded || governance_records(c->governance)->output != RECORDS_OUTPUT_FULL) return;
  g->output_kept = "too_large";
  if (!result || result->n > OUTPUT_MAX) return;
  bool masked = secrets_put_json(&j->line, result, &call_spec(c)->secrets);
  g->output = taken(g, &j->line);
  if (g->output.p) g->output_kept = masked ? "masked" : "full";
}

// Returns whether the server has answered with a task, whose result is not known yet.
static bool is_task(const struct call *c) {
  bool asked = json_get(c->request->msg.params, STR("task"));
  return result_type(c, c->reply) == RESULT_TASK ||
         (asked && json_is(c->reply->result, JSON_OBJECT) && json_get(c->reply->result, STR("task")));
}

void call_journal_result(struct call *c) {
  struct governed_call *g = *call_governed(c);
  struct call_journal *j = c->context->governed;
  const struct json *result = c->reply->result;
  if (!g || result_type(c, c->reply) == RESULT_INPUT_REQUIRED || is_task(c)) return;
  g->returned = true;
  // The members of a large result are not read, because this would take too long.
  if (c->reply->large_message || !json_is(result, JSON_OBJECT) || json_is_folded(result)) result = NULL;
  buf_reset(&j->line);
  if (result) {
    take_hash(j, g, result);
    struct json_writer w = json_writer(&j->line);
    put_citations(&w, json_get(result, STR("content")));
    g->citations = taken(g, &j->line);
  }
  if (!c->tool_failed && g->capability) take_effects(c, g, result);
  take_output(c, g, result);
}

// Returns whether the call may have had an effect although its outcome is not known.
static bool is_uncertain(const struct call *c, const struct governed_call *g) {
  return c->sent && g->effective > APPROVAL_READ_ONLY && !(c->failure && c->failure->fault.undone);
}

static enum tool_status status_of(const struct call *c, const struct governed_call *g, bool cancelled) {
  if (g->denied) return TOOL_DENIED;
  if (call_is_replayed(c)) return TOOL_REPLAYED;
  if (call_effect_is_unknown(c) || call_found_unknown(c)) return TOOL_UNKNOWN;
  if (cancelled) return is_uncertain(c, g) ? TOOL_UNKNOWN : TOOL_CANCELLED;
  if (!c->failure) return c->tool_failed ? TOOL_FAILED : TOOL_COMPLETED;
  switch (c->failure->fault.code) {
  case FAULT_APPROVAL_REQUIRED: return TOOL_APPROVAL_REQUIRED;
  case FAULT_UPSTREAM_TIMEOUT: return is_uncertain(c, g) ? TOOL_UNKNOWN : TOOL_TIMEOUT;
  case FAULT_UPSTREAM_UNAVAILABLE:
  case FAULT_PROTOCOL: return is_uncertain(c, g) ? TOOL_UNKNOWN : TOOL_FAILED;
  case FAULT_CANCELLED: return is_uncertain(c, g) ? TOOL_UNKNOWN : TOOL_CANCELLED;
  case FAULT_DENIED_BY_POLICY:
  case FAULT_FLOW_DENIED:
  case FAULT_RUN_BUDGET_EXCEEDED:
  case FAULT_TOOL_QUARANTINED:
  case FAULT_SCHEMA_DRIFT:
  case FAULT_VERSION_MISMATCH: return c->sent ? TOOL_FAILED : TOOL_DENIED;
  default: return TOOL_FAILED;
  }
}

static void set_error(const struct call *c, const struct governed_call *g, bool cancelled,
                      struct tool_result_envelope *e) {
  enum fault_code code = c->failure ? c->failure->fault.code : cancelled ? FAULT_CANCELLED : FAULT_UPSTREAM_ERROR;
  e->code = g->denied ? g->denied : fault_name(code);
  e->remedy = g->denied ? g->remedy : call_remedy(code);
  e->message = c->failure  ? str_of(c->failure->fault.message)
               : cancelled ? STR("the client cancelled the call")
                           : STR("the tool reported an error");
  e->retryable = fault_retryable(code) || (c->failure && c->failure->fault.passes);
  // A write whose outcome is unknown must not be repeated.
  if (e->status == TOOL_UNKNOWN) e->retryable = false;
  if (c->failure) {
    e->after_ms = c->failure->fault.after_ms;
    e->details = c->failure->details.n > 2 ? c->failure->details : STR_NONE;
  }
}

// Returns the handles of the stored parts of the result, as elements of a JSON array.
static str artifacts_of(const struct call *c, struct arena *a) {
  size_t count;
  const str *handles = firewall_handles(c, &count);
  struct buf b;
  if (!count) return STR_NONE;
  buf_init(&b, ENVELOPE_BYTES);
  struct json_writer w = json_writer(&b);
  for (size_t i = 0; i < count && i < ARTIFACTS_MAX; i++) json_put_str(&w, handles[i]);
  str text = arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}

static const char *pending_of(const struct call *c, const struct governed_call *g) {
  if (g->returned || c->failure) return NULL;
  bool asks = c->reply && c->reply->kind == RPC_RESULT && result_type(c, c->reply) == RESULT_INPUT_REQUIRED;
  return asks ? "input_required" : "task";
}

// `stored`: the envelope is for the records. The answer to the client has the output itself.
static void put_result(struct call *c, struct governed_call *g, bool stored, bool cancelled, str completed,
                       struct buf *out) {
  struct call_context *x = c->context;
  char span[2 * TRACE_SPAN_ID + 1];
  hash_hex(call_trace(c)->span, TRACE_SPAN_ID, span);
  bool routed = c->governance && c->route_count;
  const struct governance_version *version = routed ? governance_version_of(c->governance, call_server(c)) : NULL;
  struct tool_result_envelope e = {
      .tool_call_id = g->id,
      .run_id = g->run_id,
      .trace_id = g->trace_id,
      .capability_id = g->capability_id,
      .decision_id = g->decision_id,
      .status = status_of(c, g, cancelled),
      .effective = g->effective,
      .citations = g->citations,
      .evidence = g->evidence,
      .places = g->places,
      .mutations = g->mutations,
      .output = stored ? g->output : STR_NONE,
      .output_kept = stored ? g->output_kept : NULL,
      .artifacts = artifacts_of(c, &g->arena),
      .pending = cancelled ? NULL : pending_of(c, g),
      .gate = g->gate,
      .idempotency_key = g->idempotency_key,
      .replayed = call_is_replayed(c),
      .first_tool_call_id = call_first_id(c),
      .attempts = c->sent ? call_retries(c) + 1 : 0,
      .took_us = c->began_us ? clock_mono_us(x->loop->clock) - c->began_us : 0,
      .started = g->started,
      .completed = completed,
      .adapter = g->capability ? g->capability->adapter : NULL,
      .version = version ? version->version : STR_NONE,
      .span_id = x->tracer ? str_of(span) : STR_NONE,
      .output_hash = g->hashed ? str_of(g->output_hash) : STR_NONE,
      .cached = cache_answered(c),
  };
  bool ok = e.status == TOOL_COMPLETED || (e.status == TOOL_REPLAYED && !c->failure && !c->tool_failed);
  if (!ok) set_error(c, g, cancelled, &e);
  tool_result_envelope_put(out, &e);
}

static str now_text(const struct call *c, char time[CLOCK_TEXT]) {
  size_t n = clock_print(clock_wall_ms(c->context->loop->clock), time);
  return (str){time, n};
}

str call_journal_envelopes(struct call *c) {
  struct governed_call *g = *call_governed(c);
  struct buf b;
  char time[CLOCK_TEXT];
  if (!g || g->hidden || !g->envelope.p || !governance_records(c->governance)->return_envelope) return STR_NONE;
  buf_init(&b, 2 * ENVELOPE_BYTES);
  JSON_PUT_RAW(&b, "{\"call\":", g->envelope);
  JSON_PUT(&b, ",\"result\":");
  put_result(c, g, false, false, now_text(c, time), &b);
  buf_char(&b, '}');
  str text = b.over ? STR_NONE : arena_str(&c->request->arena, buf_view(&b));
  buf_done(&b);
  return text;
}

// ---- the end of a call

// Stores the hash of the envelopes for the audit line. `from` is the position of the comma before the member `call`.
// The hashed text is {"call":…,"result":…}: a brace replaces the comma meanwhile.
static void hash_envelopes(struct governed_call *g, struct buf *out, size_t from) {
  unsigned char digest[SHA256_SIZE];
  if (out->over) return;
  ASSERT(out->p[from] == ',');
  out->p[from] = '{';
  hash_sha256_with(g->journal->hasher, (str){out->p + from, out->n - from}, digest);
  out->p[from] = ',';
  memcpy(g->envelope_hash, "sha256:", 7);
  hash_hex(digest, sizeof digest, g->envelope_hash + 7);
}

str call_journal_hash(const struct call *c) {
  const struct governed_call *g = *call_governed(c);
  return g && *g->envelope_hash ? str_of(g->envelope_hash) : STR_NONE;
}

static void write_call(struct call *c, struct governed_call *g, bool cancelled) {
  struct call_journal *j = c->context->governed;
  struct buf *out = &j->line;
  char time[CLOCK_TEXT];
  str now = now_text(c, time);
  call_journal_begin_line(j, "call", g->id, now);
  JSON_PUT_TEXT(out, ",\"call\":{\"tenant\":", g->tenant);
  JSON_PUT_TEXT(out, ",\"agent\":", g->agent);
  JSON_PUT_TEXT(out, ",\"server\":", g->server);
  JSON_PUT_TEXT(out, ",\"tool\":", g->tool);
  size_t from = out->n;
  JSON_PUT_RAW(out, ",\"call\":", g->envelope);
  JSON_PUT(out, ",\"result\":");
  put_result(c, g, true, cancelled, now, out);
  buf_char(out, '}');
  call_journal_join_lines(j);
  if (c->request->note) hash_envelopes(g, out, from);
  buf_char(out, '}');
  call_journal_add(j);
}

void call_journal_ended(struct call *c, bool cancelled) {
  if (!c->governance || !c->request) return;
  call_journal_decide_late(c);
  struct governed_call *g = *call_governed(c);
  if (!g || !g->recorded || !g->envelope.p) return;
  g->recorded = false;
  write_call(c, g, cancelled);
}
