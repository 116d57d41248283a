// SPDX-License-Identifier: Apache-2.0
// Turns a result into the answer. For a meta-tool, the answer is an envelope within the budget, and the rest of the
// result is stored for tool_view. The answer is in the request's memory, so the upstream's message may be freed after
// this step.
#include "base/assert.h"
#include "base/mem.h"
#include "call/bridge/task_bridge.h"
#include "call/bridge/translate.h"
#include "call/call_journal.h"
#include "call/report.h"
#include "call/scrub.h"
#include "call/steps/steps.h"
#include "result/envelope/envelope.h"
#include "result/envelope/fault_forms.h"
#include "result/envelope/lookalike.h"
#include "text/secrets.h"

str call_owner(struct arena *a, const struct session *s, str agent) {
  str principal = session_principal(s);
  if (!agent.n && s->principal >= 0) agent = session_agent(s);  // the token's agent may change later
  return agent.n ? arena_printf(a, "%.*s as %.*s", STR_ARG(principal), STR_ARG(agent)) : principal;
}

struct firewall_state {
  struct call_digest *digest;  // not NULL while another thread makes the envelope
  str *handles;                // handles of the stored pieces, in the request's memory, if calls are recorded
  size_t handle_count;
};

static struct firewall_state *state_of(const struct call *c) {
  return call_state(c, STEP_FIREWALL);
}

const str *firewall_handles(const struct call *c, size_t *count) {
  const struct firewall_state *s = state_of(c);
  *count = s->handle_count;
  return s->handles;
}

static enum call_result fail(struct call *c, enum fault_code code, const char *what) {
  struct fault f;
  fault_set(&f, code, "%s", what);
  return call_fault(c, &f);
}

// In direct mode, all results keep the server's form; only secrets in them are masked.
static enum envelope_kind envelope_kind(const struct call *c) {
  if (c->method->form == CALL_DIRECT) return ENVELOPE_ANY;
  switch (c->method->kind) {
  case ITEM_TOOL: return ENVELOPE_TOOL;
  case ITEM_PROMPT: return ENVELOPE_PROMPT;
  default: return ENVELOPE_RESOURCE;
  }
}

// Returns the budget of the result in tokens: the caller's choice up to the maximum, otherwise the configured budget of
// the server or tool, otherwise the default.
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

// Returns the options for the envelope. Strings in them belong to the call or are in the request's arena.
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

// Stores the envelope `text` as the call's answer: in the client's revision, and in the memory of the request. Returns
// false if the answer is too large.
static bool take_answer(struct call *c, struct buf *text) {
  struct arena *a = &c->request->arena;
  struct fault f;
  calls_unhide_text(c->context, text);
  const struct json *made = text->over ? NULL : json_parse(a, arena_str(a, buf_view(text)), &json_default_limits, &f);
  buf_reset(text);
  if (made) translate_made(c, made, text);
  if (!made || text->over) return false;
  c->answer = arena_str(a, buf_view(text));
  c->shown = made;
  return true;
}

// Replaces the result in the server's reply by the masked result `text`. Used in direct mode. Returns false if the
// masked result is too large.
static bool take_reply(struct call *c, struct buf *text) {
  struct arena *a = &c->request->arena;
  if (text->over) return false;
  str root = arena_printf(a, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%.*s}", STR_ARG(c->request->id),
                          STR_ARG(buf_view(text)));
  c->reply = call_read_again(c, root);
  return c->reply;
}

// Continues after envelope_make. If `unchanged` is set, the client gets the server's result, and `text` is the new
// _meta of the result, or empty. Otherwise `text` is the envelope.
static enum call_result conclude(struct call *c, bool unchanged, struct buf *text) {
  struct arena *a = &c->request->arena;
  struct firewall_state *s = state_of(c);
  bool failed = false;
  json_bool(json_get(c->reply->result, STR("isError")), &failed);
  const struct piece_batch *pieces = *call_pieces(c);
  if (pieces && c->context->recorder) {
    s->handle_count = piece_batch_count(pieces);
    s->handles = ARENA_ARRAY(a, str, s->handle_count);
    for (size_t i = 0; i < s->handle_count; i++) s->handles[i] = arena_str(a, piece_batch_handle(pieces, i));
  }
  if (!failed && c->about.n) c->context->surface->used(c->context->ctx, c->session, c->about);
  if (unchanged && text->n) {
    // Only the result's _meta changes. If the reply must be translated for the client later, set its new _meta now.
    bool same = call_is_stateless(c) == c->to_stateless && task_kind(c) == TASK_NONE;
    if (text->over) return CALL_NEXT;
    if (same) c->meta = arena_str(a, buf_view(text));
    else c->reply = call_with_meta(c, c->reply, buf_view(text));
    return CALL_NEXT;
  }
  if (unchanged) return CALL_NEXT;
  bool direct = c->method->form == CALL_DIRECT;
  if (!text->n && !text->over)
    return fail(c, FAULT_UPSTREAM_ERROR, "answered with a result that is too large to search for secrets");
  if (!(direct ? take_reply : take_answer)(c, text))
    return fail(c, FAULT_UPSTREAM_ERROR, "answered with a result larger than limits.message");
  if (direct) return CALL_NEXT;
  call_measure_saved(c, json_span(c->reply->result), c->answer);
  c->reply = NULL;
  call_empty_large(c);
  return CALL_NEXT;
}

// ---- large results: another thread makes the envelope, and the call waits

enum { AT_ONCE = 256 << 10 };

struct call_digest {
  struct job job;
  struct call *call;                    // NULL: the call has ended
  struct large_message *large_message;  // NULL if the result is in `copy`
  str copy;
  struct envelope_order order;
  struct piece_batch *pieces;
  struct arena arena;
  struct buf text;
  bool unchanged;
};

static void on_digest(struct job *job) {
  struct call_digest *d = CONTAINER_OF(job, struct call_digest, job);
  struct fault f;
  if (d->copy.n) d->order.result = json_parse(&d->arena, d->copy, &json_default_limits, &f);
  if (d->order.result) d->unchanged = envelope_make(&d->order, &d->arena, &d->text);
}

static void on_digested(struct job *job) {
  struct call_digest *d = CONTAINER_OF(job, struct call_digest, job);
  struct call *c = d->call;
  enum call_result next = CALL_DONE;
  if (c) {
    ASSERT(state_of(c)->digest == d);
    state_of(c)->digest = NULL;
    if (piece_batch_count(d->pieces)) {
      *call_pieces(c) = d->pieces;
      d->pieces = NULL;
    }
    next = conclude(c, d->unchanged, &d->text);
  }
  piece_batch_free(&d->pieces);
  large_message_unref(&d->large_message);
  arena_done(&d->arena);
  buf_done(&d->text);
  mem_free(d);
  if (next == CALL_NEXT) call_resume(c);
}

static enum call_result make_elsewhere(struct call *c) {
  ASSERT(!state_of(c)->digest);
  struct call_digest *d = state_of(c)->digest = MEM_NEW(struct call_digest);
  arena_init(&d->arena);
  buf_init(&d->text, c->context->text.max);
  d->call = c;
  d->order = order_of(c);
  ASSERT(d->order.result || c->reply->large_message);
  if (c->reply->large_message) d->large_message = call_hold_large(c);
  // Copies the result and the strings, because the request and the call may end before the thread does.
  else d->copy = arena_str(&d->arena, json_span(d->order.result));
  d->order.batch = &d->pieces;
  d->order.tool_id = arena_str(&d->arena, d->order.tool_id);
  d->order.owner = arena_str(&d->arena, d->order.owner);
  d->order.mark = arena_str(&d->arena, d->order.mark);
  d->order.provenance = arena_str(&d->arena, d->order.provenance);
  d->order.hidden = secrets_copy(&d->order.hidden, &d->arena);
  // Creates the batch of store writes on this thread, because the other thread must not use the store.
  d->pieces = piece_batch_new(d->order.store, d->order.owner, d->order.origin);
  d->job.run = on_digest;
  d->job.done = on_digested;
  job_start(c->context->loop, &d->job);
  return CALL_WAIT;
}

static void cancel(struct call *c, void *state, str reason) {
  struct firewall_state *s = state;
  if (s->digest) s->digest->call = NULL;
  s->digest = NULL;
}

// Handles an invalid result of a tool, which is not an object: makes a text result from it.
static enum call_result make_text(struct call *c) {
  struct buf *out = &c->context->text;
  str text = json_span(c->reply->result);
  json_string(c->reply->result, &c->request->arena, &text);
  if (c->context->results.scrub) text = secrets_mask(&c->request->arena, text, &call_spec(c)->secrets);
  buf_reset(out);
  result_put(out, STR_NONE, text, STR_NONE, false);
  return conclude(c, false, out);
}

// Returns whether envelope_make must check the result. A result without a budget must be checked in each of these
// cases: secrets are masked in all results; the result imitates texts of the gateway; the result reports an error,
// which may repeat secrets that were sent to the server.
static bool is_checked(const struct call *c) {
  bool ruled = c->method->form == CALL_RULED;
  if (call_is_bounded(c) || c->context->results.scrub) return true;
  if (ruled && !c->reply->large_message && lookalike_json(c->reply->result, STR_NONE)) return true;
  return call_spec(c)->hidden.count && envelope_is_error(c->reply->result);
}

// Failures, and questions to the client, pass this step unchanged.
static enum call_result run(struct call *c, void *state) {
  ASSERT(c->failure || c->reply);
  bool result = !c->failure && c->reply->kind == RPC_RESULT;
  bool odd = result && !json_is(c->reply->result, JSON_OBJECT);
  if (c->governance && result && !c->reply->large_message && result_type(c, c->reply) != RESULT_INPUT_REQUIRED)
    call_journal_result(c, c->reply->result);
  if (odd && c->method->form == CALL_RULED && !call_is_bounded(c)) return make_text(c);
  if (!result || !is_checked(c) || result_type(c, c->reply) == RESULT_INPUT_REQUIRED) return CALL_NEXT;
  if (odd && c->method->form != CALL_DIRECT)
    return fail(c, FAULT_PROTOCOL, "answered with a result that is not an object");
  // Another thread can make the envelope only if the reply stays valid when this function returns: a large message, or
  // a reply from the cache.
  bool large = c->reply->large_message || (cache_answered(c) && c->reply->result->n > AT_ONCE);
  if (large) return make_elsewhere(c);
  struct call_context *x = c->context;
  struct envelope_order order = order_of(c);
  order.batch = call_pieces(c);
  buf_reset(&x->text);
  bool unchanged = envelope_make(&order, &x->scratch, &x->text);
  arena_reset(&x->scratch);
  return conclude(c, unchanged, &x->text);
}

const struct call_step step_firewall = {
    .name = "firewall",
    .does = "Cuts the result to its budget, and stores the rest.",
    .state = sizeof(struct firewall_state),
    .run = run,
    .cancel = cancel,
};
