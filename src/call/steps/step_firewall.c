// SPDX-License-Identifier: Apache-2.0
// What a meta-tool's call brings back: the result of a tool, a resource or a prompt as the result of the meta-tool, cut
// to what fits, the rest kept for tool_view. Afterwards the answer is the call's own, whatever becomes of the message
// that it came in.
#include "call/steps/step_firewall.h"
#include "base/mem.h"
#include "call/about.h"
#include "call/bridge/task_bridge.h"
#include "call/bridge/translate.h"
#include "call/call_metrics.h"
#include "call/scrub.h"
#include "call/steps/step_provenance.h"
#include "call/steps/step_resume.h"
#include "call/steps/step_store.h"
#include "result/envelope/envelope.h"
#include "result/envelope/fault_forms.h"
#include "result/envelope/lookalike.h"
#include "text/secrets.h"

str call_owner(struct arena *a, const struct session *s, str agent) {
  str principal = session_principal(s);
  if (!agent.n && s->principal >= 0) agent = session_agent(s);  // a token may be another agent's tomorrow
  return agent.n ? arena_printf(a, "%.*s as %.*s", STR_ARG(principal), STR_ARG(agent)) : principal;
}

struct firewall_state {
  struct call_digest *digest;  // while another thread makes the envelope
  str *handles;                // of what is kept, in memory of the request, if calls are written down
  size_t handle_count;
};

static struct firewall_state *state_of(const struct call *c) {
  return call_state(c, &step_firewall);
}

const str *call_handles(const struct call *c, size_t *count) {
  const struct firewall_state *s = state_of(c);
  *count = s->handle_count;
  return s->handles;
}

static enum call_result fail(struct call *c, enum fault_code code, const char *what) {
  struct fault f;
  fault_set(&f, code, "%s", what);
  return call_fault(c, &f);
}

// In mode direct a result is the server's, of whatever method: only its secrets are looked at.
static enum envelope_kind envelope_kind(const struct call *c) {
  if (c->method->form == CALL_DIRECT) return ENVELOPE_ANY;
  switch (c->method->kind) {
  case ITEM_TOOL: return ENVELOPE_TOOL;
  case ITEM_PROMPT: return ENVELOPE_PROMPT;
  default: return ENVELOPE_RESOURCE;
  }
}

// Tokens that the result may have: the caller's wish within the maximum, else what the server's entry says, else the
// default.
static size_t budget_of(const struct call *c) {
  const struct call_results *results = &c->context->results;
  const struct session_operator *terms = c->session->as_operator;
  if (c->options.max_tokens)
    return c->options.max_tokens < results->max_budget ? c->options.max_tokens : results->max_budget;
  if (terms && terms->result_tokens) return terms->result_tokens;
  str tool = c->item && c->item->kind == ITEM_TOOL ? c->item->name : STR_NONE;
  size_t own = upstreams_result_budget(c->context->upstreams, c->routes[c->route].source, tool);
  return own ? own : results->budget;
}

// What is told of it, and by whom it was called. The texts are the call's, or in the arena.
static struct envelope_order order_of(struct call *c) {
  struct call_context *x = c->context;
  struct client_form form = request_form(c->request, x->results.structured);
  return (struct envelope_order){
      .result = c->reply->result,
      .tool_id = call_tool_id(c),
      .owner = call_owner(&c->request->arena, c->session, c->named),
      .origin = {call_server(c), c->item && c->item->kind == ITEM_TOOL ? c->item->name : STR("")},
      .store = x->store,
      .budget = budget_of(c),
      .text_only = !form.structured,
      .reads = form.reads,
      .mark = c->method->form == CALL_DIRECT ? STR_NONE : str_of(c->session->mark),
      .apart = true,
      .provenance = call_provenance(c),
      .kind = envelope_kind(c),
      .whole = !call_is_bounded(c),
      .scrub = x->results.scrub,
      .keep_hidden = x->results.keep_hidden,
      .hidden = call_spec(c)->hidden,
  };
}

// In the client's revision, in the memory of the request.
static bool take_answer(struct call *c, struct buf *text) {
  struct arena *a = &c->request->arena;
  struct fault f;
  calls_unhide_text(c->context, text);
  const struct json *told = text->over ? NULL : json_parse(a, arena_str(a, buf_view(text)), &json_default_limits, &f);
  buf_reset(text);
  if (told) translate_told(c, told, text);
  if (!told || text->over) return false;
  c->answer = arena_str(a, buf_view(text));
  c->shown = told;
  return true;
}

// In mode direct it is still the server's, and goes its way as such.
static bool take_reply(struct call *c, struct buf *text) {
  struct arena *a = &c->request->arena;
  if (text->over) return false;
  str root = arena_printf(a, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%.*s}", STR_ARG(c->request->id),
                          STR_ARG(buf_view(text)));
  c->reply = call_read_again(c, root);
  return c->reply;
}

// The reply stays as it is, but for its _meta. Where the eras differ, what is translated must have it.
static enum call_result take_meta(struct call *c, const struct buf *text) {
  if (text->over) return CALL_NEXT;
  if (call_is_stateless(c) == c->to_stateless && task_kind(c) == TASK_NONE)
    c->meta = arena_str(&c->request->arena, buf_view(text));
  else c->reply = call_with_meta(c, c->reply, buf_view(text));
  return CALL_NEXT;
}

static void take_handles(struct call *c, const struct piece_batch *pieces) {
  struct arena *a = &c->request->arena;
  struct firewall_state *s = state_of(c);
  s->handle_count = piece_batch_count(pieces);
  s->handles = ARENA_ARRAY(a, str, s->handle_count);
  for (size_t i = 0; i < s->handle_count; i++) s->handles[i] = arena_str(a, piece_batch_handle(pieces, i));
}

// What was made of the result is the answer, unless that is the result as it is.
static enum call_result conclude(struct call *c, bool as_it_is, struct buf *text) {
  bool failed = false;
  json_bool(json_get(c->reply->result, STR("isError")), &failed);
  const struct piece_batch *pieces = *call_pieces(c);
  if (pieces && c->context->recorder) take_handles(c, pieces);
  if (!failed && c->about.n) c->context->used(c->context->ctx, c->session, c->about);
  if (as_it_is && text->n) return take_meta(c, text);
  if (as_it_is) return CALL_NEXT;
  bool direct = c->method->form == CALL_DIRECT;
  if (!text->n && !text->over)
    return fail(c, FAULT_UPSTREAM_ERROR, "answered with a result that is too large to be searched for secrets");
  if (!(direct ? take_reply : take_answer)(c, text))
    return fail(c, FAULT_UPSTREAM_ERROR, "answered with more than limits.message allows");
  if (direct) return CALL_NEXT;
  call_measure_saved(c, json_span(c->reply->result), c->answer);
  c->reply = NULL;
  if (c->large_message) large_message_empty(c->large_message);
  return CALL_NEXT;
}

static enum call_result make_now(struct call *c) {
  struct call_context *x = c->context;
  struct envelope_order order = order_of(c);
  order.batch = call_pieces(c);
  buf_reset(&x->text);
  bool as_it_is = envelope_make(&order, &x->scratch, &x->text);
  arena_reset(&x->scratch);
  return conclude(c, as_it_is, &x->text);
}

// ---- a large one: another thread makes its envelope, and the call waits

enum { AT_ONCE = 256 << 10 };

struct call_digest {
  struct job job;
  struct call *call;                    // NULL: it is over
  struct large_message *large_message;  // NULL: the result is copied
  str copy;
  struct envelope_order order;
  struct piece_batch *pieces;
  struct arena arena;
  struct buf text;
  bool as_it_is;
};

static void on_digest(struct job *job) {
  struct call_digest *d = CONTAINER_OF(job, struct call_digest, job);
  struct fault f;
  if (d->copy.n) d->order.result = json_parse(&d->arena, d->copy, &json_default_limits, &f);
  if (d->order.result) d->as_it_is = envelope_make(&d->order, &d->arena, &d->text);
}

static void digest_free(struct call_digest *d) {
  piece_batch_free(&d->pieces);
  large_message_unref(&d->large_message);
  arena_done(&d->arena);
  buf_done(&d->text);
  mem_free(d);
}

static void on_digested(struct job *job) {
  struct call_digest *d = CONTAINER_OF(job, struct call_digest, job);
  struct call *c = d->call;
  enum call_result next = CALL_DONE;
  if (c) {
    state_of(c)->digest = NULL;
    if (piece_batch_count(d->pieces)) {
      *call_pieces(c) = d->pieces;
      d->pieces = NULL;
    }
    next = conclude(c, d->as_it_is, &d->text);
  }
  digest_free(d);
  if (next == CALL_NEXT) call_resume(c);
}

static enum call_result make_elsewhere(struct call *c) {
  struct call_digest *d = state_of(c)->digest = MEM_NEW(struct call_digest);
  arena_init(&d->arena);
  buf_init(&d->text, c->context->text.max);
  d->call = c;
  d->order = order_of(c);
  if (c->reply->large_message) d->large_message = large_message_ref(c->large_message);
  else d->copy = arena_str(&d->arena, json_span(d->order.result));  // remembered: the request's, which may leave
  d->order.batch = &d->pieces;
  // The call may be over before.
  d->order.tool_id = arena_str(&d->arena, d->order.tool_id);
  d->order.owner = arena_str(&d->arena, d->order.owner);
  d->order.mark = arena_str(&d->arena, d->order.mark);
  d->order.provenance = arena_str(&d->arena, d->order.provenance);
  d->order.hidden = secrets_copy(&d->order.hidden, &d->arena);
  d->pieces = piece_batch_new(d->order.store, d->order.owner, d->order.origin);  // nor is the store another thread's
  d->job.run = on_digest;
  d->job.done = on_digested;
  job_start(c->context->loop, &d->job);
  return CALL_WAIT;
}

static void cancel(struct call *c, void *state) {
  struct firewall_state *s = state;
  if (s->digest) s->digest->call = NULL;
  s->digest = NULL;
}

// What is no result of a tool, as the result of one that says it.
static enum call_result make_text(struct call *c) {
  struct buf *out = &c->context->text;
  str text = json_span(c->reply->result);
  json_string(c->reply->result, &c->request->arena, &text);
  if (c->context->results.scrub) text = secrets_mask(&c->request->arena, text, &call_spec(c)->secrets);
  buf_reset(out);
  result_put(out, STR_NONE, text, STR_NONE, false);
  return conclude(c, false, out);
}

// Results that are passed on as they are need no look, unless secrets are to be masked in them, or they imitate what
// their surface says in text. What a tool reports as its error may tell what was sent to the server, in every mode.
static bool is_looked_at(const struct call *c) {
  bool ruled = c->method->form == CALL_RULED;
  if (call_is_bounded(c) || c->context->results.scrub) return true;
  if (ruled && !c->reply->large_message && lookalike_json(c->reply->result, STR_NONE)) return true;
  return call_spec(c)->hidden.count && envelope_tells_error(c->reply->result);
}

// Not what the client has to answer first.
static enum call_result run(struct call *c, void *state) {
  bool result = !c->failure && c->reply->kind == RPC_RESULT;
  bool odd = result && !json_is(c->reply->result, JSON_OBJECT);
  if (odd && c->method->form == CALL_RULED && !call_is_bounded(c)) return make_text(c);
  if (!result || !is_looked_at(c) || result_type(c, c->reply) == RESULT_INPUT_REQUIRED) return CALL_NEXT;
  if (odd && c->method->form != CALL_DIRECT) return fail(c, FAULT_PROTOCOL, "answered with a result that is no object");
  // One that is remembered is the request's; any other without a parcel is gone when we return.
  bool large = c->reply->large_message || (c->recalled && c->reply->result->n > AT_ONCE);
  return large ? make_elsewhere(c) : make_now(c);
}

const struct call_step step_firewall = {
    .name = "firewall",
    .does = "The result is cut to what fits, and the rest is kept.",
    .state = sizeof(struct firewall_state),
    .run = run,
    .cancel = cancel,
};
