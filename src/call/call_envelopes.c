// SPDX-License-Identifier: Apache-2.0
// Makes the two envelopes of a governed call, which are JSON objects: one describes the call and is made when
// governance decides about it, the other describes the result and is made when the call ends.
#include "base/assert.h"
#include "base/mem.h"
#include "call/call_journal_impl.h"
#include "call/remedies.h"
#include "call/report.h"
#include "govern/versions.h"
#include "json/put.h"

enum {
  CITATIONS_MAX = 32,
  CITATION_BYTES = 1024,
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
  str seed = s->revision->stateless ? c->run->agent : str_of(s->id);
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
  hash_sha256(c->session->claims, digest);
  hash_hex(digest, sizeof digest, hex);
  return arena_printf(a, "claim_hash:sha256:%s", hex);
}

static str session_name(const struct session *s, char out[SESSION_TEXT]) {
  memcpy(out, "sess_", SESSION_TEXT - SESSION_SHOWN);
  memcpy(out + SESSION_TEXT - SESSION_SHOWN, s->id, SESSION_SHOWN);
  return (str){out, SESSION_TEXT};
}

static str principals_of(const struct governance_question *q) {
  const struct json *list = json_get(q->context, STR("principals"));
  return json_is(list, JSON_ARRAY) ? json_span(list) : STR("[{\"kind\":\"service\",\"id\":\"local\"}]");
}

void governed_call_begin(struct call *c, struct governed_call *g, const struct governance_question *q,
                         const struct governance_decision *d, const struct recorded_args *args) {
  struct call_journal *j = c->context->governed;
  struct arena *a = &g->arena;
  const struct session *s = c->session;
  char session[SESSION_TEXT];
  if (json_string(json_get(q->args, STR("idempotency_key")), a, &g->idempotency_key))
    g->idempotency_key = arena_str(a, g->idempotency_key);
  g->run_id = run_id(c, a);
  struct tool_call_envelope e = {
      .tool_call_id = g->id,
      .run_id = g->run_id,
      .trace_id = g->trace_id,
      .session_id = s->callers ? STR_NONE : session_name(s, session),
      .capability = g->capability,
      .args = args->text.p ? args->text : STR("{}"),
      .principals = principals_of(q),
      .requested = q->mode,
      .effective = g->effective,
      .highest = d->highest,
      .decision_id = g->decision_id,
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

void call_journal_result(struct call *c, const struct json *result) {
  struct governed_call *g = *call_governed(c);
  struct call_journal *j = c->context->governed;
  unsigned char digest[SHA256_SIZE];
  if (!g || !json_is(result, JSON_OBJECT) || json_is_folded(result)) return;
  hash_sha256(json_span(result), digest);
  memcpy(g->output_hash, "sha256:", 7);
  hash_hex(digest, sizeof digest, g->output_hash + 7);
  g->hashed = true;
  buf_reset(&j->line);
  struct json_writer w = json_writer(&j->line);
  put_citations(&w, json_get(result, STR("content")));
  if (j->line.n && !j->line.over) g->citations = arena_str(&g->arena, buf_view(&j->line));
}

// Returns whether the call may have had an effect although its outcome is not known.
static bool is_uncertain(const struct call *c, const struct governed_call *g) {
  return c->sent && g->effective > APPROVAL_READ_ONLY && !(c->failure && c->failure->fault.undone);
}

static enum tool_status status_of(const struct call *c, const struct governed_call *g, bool cancelled) {
  if (g->code != GOVERNANCE_ALLOWED) return TOOL_DENIED;
  if (cancelled) return is_uncertain(c, g) ? TOOL_UNKNOWN : TOOL_CANCELLED;
  if (!c->failure) return c->tool_failed ? TOOL_FAILED : TOOL_COMPLETED;
  switch (c->failure->fault.code) {
  case FAULT_APPROVAL_REQUIRED: return TOOL_APPROVAL_REQUIRED;
  case FAULT_UPSTREAM_TIMEOUT: return is_uncertain(c, g) ? TOOL_UNKNOWN : TOOL_TIMEOUT;
  case FAULT_UPSTREAM_UNAVAILABLE:
  case FAULT_PROTOCOL: return is_uncertain(c, g) ? TOOL_UNKNOWN : TOOL_FAILED;
  case FAULT_CANCELLED: return is_uncertain(c, g) ? TOOL_UNKNOWN : TOOL_CANCELLED;
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
  bool denied = g->code != GOVERNANCE_ALLOWED;
  e->code = denied ? governance_code_name(g->code) : fault_name(code);
  e->remedy = denied ? governance_code_advice(g->code) : call_remedy(code);
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

static void put_result(struct call *c, const struct governed_call *g, bool cancelled, str completed, uint64_t us,
                       struct buf *out) {
  struct call_context *x = c->context;
  char span[2 * TRACE_SPAN_ID + 1];
  if (x->tracer) hash_hex(call_trace(c)->span, TRACE_SPAN_ID, span);
  bool routed = c->governance && c->route_count;
  const struct governance_version *version = routed ? governance_version_of(c->governance, call_server(c)) : NULL;
  struct tool_result_envelope e = {
      .tool_call_id = g->id,
      .run_id = g->run_id,
      .trace_id = g->trace_id,
      .capability = g->capability,
      .decision_id = g->decision_id,
      .status = status_of(c, g, cancelled),
      .effective = g->effective,
      .citations = g->citations,
      .gate = g->gate,
      .idempotency_key = g->idempotency_key,
      .attempts = c->sent ? call_retries(c) + 1 : 0,
      .took_us = us,
      .started = g->started,
      .completed = completed,
      .adapter = g->adapter,
      .version = version ? version->version : STR_NONE,
      .span_id = x->tracer ? str_of(span) : STR_NONE,
      .output_hash = g->hashed ? str_of(g->output_hash) : STR_NONE,
      .cached = cache_answered(c),
  };
  if (e.status != TOOL_COMPLETED) set_error(c, g, cancelled, &e);
  tool_result_envelope_put(out, &e);
}

str call_journal_envelopes(struct call *c) {
  const struct governed_call *g = *call_governed(c);
  struct buf b;
  if (!g || !g->envelope.p || !governance_records(c->governance)->return_envelope) return STR_NONE;
  buf_init(&b, 2 * ENVELOPE_BYTES);
  JSON_PUT_RAW(&b, "{\"call\":", g->envelope);
  JSON_PUT(&b, ",\"result\":");
  str now = call_journal_time(g->journal, clock_wall_ms(c->context->loop->clock));
  put_result(c, g, false, now, call_took_us(c), &b);
  buf_char(&b, '}');
  str text = b.over ? STR_NONE : arena_str(&c->request->arena, buf_view(&b));
  buf_done(&b);
  return text;
}

// ---- the end of a call

static void write_call(struct call *c, const struct governed_call *g, bool cancelled, uint64_t us) {
  struct call_journal *j = c->context->governed;
  str now = call_journal_time(j, clock_wall_ms(c->context->loop->clock));
  struct buf *out = call_journal_begin(j, "call", g->id, now);
  JSON_PUT_TEXT(out, ",\"call\":{\"tenant\":", g->tenant);
  JSON_PUT_TEXT(out, ",\"agent\":", g->agent);
  JSON_PUT_TEXT(out, ",\"server\":", g->server);
  JSON_PUT_TEXT(out, ",\"tool\":", g->tool);
  JSON_PUT_RAW(out, ",\"call\":", g->envelope);
  JSON_PUT(out, ",\"result\":");
  put_result(c, g, cancelled, now, us, out);
  JSON_PUT(out, "}}");
  journal_end(j->journal);
}

// Makes the governance decision about a call of a tool that the caller may not see. Returns the call's record if the
// governance file denies the call, otherwise NULL.
static struct governed_call *decide_hidden(struct call *c) {
  struct call_context *x = c->context;
  const struct governance *g = c->governance;
  const struct call_hidden *hidden = policy_hidden(c);
  str server = call_ended_at(c), tool = hidden ? hidden->tool : c->place.tool;
  if (!g || !c->run || c->options.dry_run || !c->failure || !call_is_tool(c) || !server.p || !tool.n) return NULL;
  if (!(hidden || c->failure->fault.code == FAULT_DENIED_BY_POLICY)) return NULL;
  if (governance_allows_unlisted(g) && !governance_governs(g, server)) return NULL;
  int64_t now = clock_wall_ms(x->loop->clock);
  const struct json *args = json_get(c->request->msg.params, STR("arguments"));
  const struct governance_capability *capability = governance_find_tool(g, server, tool);
  struct governance_question q = {
      .capability = capability ? capability->id : STR(""),
      .provisional = capability && capability->unlisted ? capability : NULL,
      .args = json_is(args, JSON_OBJECT) ? args : NULL,
      .context = governance_context(&c->run->governed, APPROVAL_NONE, &c->request->arena),
      .subject = &c->run->governed.subject,
      .mode = c->options.mode,
      .now = now / 1000,
  };
  struct governance_decision d;
  unsigned char random[8];
  char hex[2 * sizeof random + 1];
  governance_decide(g, &q, &c->request->arena, &d);
  if (d.code == GOVERNANCE_ALLOWED) return NULL;  // the access rules, not the governance file, hide the tool
  rand_pool_fill(&x->governed_ids, x->loop->rand, random, sizeof random);
  hash_hex(random, sizeof random, hex);
  return call_journal_decided(c, &q, &d, arena_printf(&c->request->arena, "pol_%s", hex), now);
}

void call_journal_ended(struct call *c, bool cancelled, uint64_t us) {
  struct governed_call **g = call_governed(c);
  if (!c->request) return;
  if (!*g) *g = decide_hidden(c);
  if (!*g || !(*g)->recorded || !(*g)->envelope.p) return;
  (*g)->recorded = false;
  write_call(c, *g, cancelled, us);
}
