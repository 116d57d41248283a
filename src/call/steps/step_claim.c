// SPDX-License-Identifier: Apache-2.0
// Makes sure that a call with an idempotency key has its effect at most once. Stores the claim of the key before the
// call is sent, and the outcome before the call is answered. If the call ends after it was sent and without an answer
// of the server, its outcome is unknown: nothing sends it again but a person, or a rule of the governance file.
#include "base/assert.h"
#include "call/bridge/task_bridge.h"
#include "call/bridge/translate.h"
#include "call/call_journal.h"
#include "call/steps/steps.h"
#include "effect/dead_letters.h"
#include "govern/idempotency.h"
#include "observe/govern_metrics.h"
#include "observe/metrics.h"
#include "result/envelope/fault_forms.h"

enum { ARGS_MAX = 64 << 10, ERROR_MAX = 64 << 10, ID_RANDOM = 8, ID_SIZE = 5 + 2 * ID_RANDOM + 1 };

struct held_claim {
  struct call *call;    // NULL: the call never held a claim
  struct claim *claim;  // NULL after the outcome is known
  struct claim_wait wait;
  uint64_t keep_ms;
  bool stored;   // the claim is stored
  bool sent;     // something was sent since the claim is held
  bool exposed;  // an earlier attempt may have been carried out
  bool asked;    // the last answer of the server was a question, and nothing was sent since then
  bool settles;  // the call waits until the outcome is stored
  bool unknown;  // the outcome is unknown
};

static struct held_claim *state_of(const struct call *c) {
  return call_state(c, STEP_CLAIM);
}

bool call_effect_is_unknown(const struct call *c) {
  return state_of(c)->unknown;
}

// ---- the claim

static void on_kept(struct claim_wait *w, enum claim_kept kept);

void call_hold_claim(struct call *c, struct claim *claim, bool exposed) {
  struct held_claim *s = state_of(c);
  ASSERT(!s->claim);
  *s = (struct held_claim){.call = c, .claim = claim, .exposed = exposed};
  s->keep_ms = governance_idempotency(c->governance)->keep_s * 1000;
  claim_wait_init(&s->wait, on_kept);
}

// Returns the id of the call in its envelope. Makes one if the call is not recorded.
static str call_id(struct call *c) {
  str id = call_journal_id(c);
  unsigned char random[ID_RANDOM];
  char hex[2 * ID_RANDOM + 1];
  if (id.p) return id;
  rand_pool_fill(&c->context->governed_ids, c->context->loop->rand, random, sizeof random);
  hash_hex(random, sizeof random, hex);
  return arena_printf(&c->request->arena, "tool_%s", hex);
}

// Returns the wall clock time at which the server can no longer carry out the call.
static int64_t latest_end(const struct call *c) {
  struct call_context *x = c->context;
  uint64_t now = loop_now(x->loop), ms = upstreams_timeout_max(x->upstreams), until = call_deadline(c);
  if (until != UINT64_MAX && until < now + ms) ms = until > now ? until - now : 0;
  return clock_wall_ms(x->loop->clock) + (int64_t)ms;
}

static enum call_result claim(struct call *c, void *state) {
  struct held_claim *s = state;
  struct fault f;
  if (!s->claim || s->stored) return CALL_NEXT;
  const struct json *args = json_get(c->request->msg.params, STR("arguments"));
  struct claim_call call = {
      .tenant = c->run->governed.subject.tenant,
      .agent = c->caller.id,
      .server = call_server(c),
      .tool = c->item->name,
      .capability = call_capability(c)->id,
      .key = call_key(c),
      .tool_call_id = call_id(c),
      .args = !args                 ? STR("{}")
              : args->n <= ARGS_MAX ? json_span(args)
                                    : STR_NONE,
  };
  if (claim_store(s->claim, &call, latest_end(c), &s->wait, &f)) return CALL_WAIT;
  log_error(c->context->loop->log, "calls that have an effect are refused: %s", f.message);
  return effects_unavailable(c, "this gateway cannot lock its file in state_dir");
}

static void on_claimed(struct call *c, struct held_claim *s, enum claim_kept kept) {
  s->stored = kept == CLAIM_KEPT;
  if (!s->stored) s->claim = NULL;
  if (kept == CLAIM_KEPT) call_resume(c);
  else if (kept == CLAIM_TAKEN) call_restart(c, STEP_IDEMPOTENCY);
  else effects_unavailable(c, "its idempotency key cannot be stored");
}

// ---- events of the call

void call_claim_sent(struct call *c) {
  struct held_claim *s = state_of(c);
  s->sent = true;
  s->asked = false;
}

void call_claim_asked(struct call *c) {
  state_of(c)->asked = true;
}

void call_claim_retried(struct call *c, bool sent) {
  state_of(c)->exposed |= sent;
}

// ---- the outcome

static str hash_of(struct call *c, const struct json *result) {
  unsigned char digest[SHA256_SIZE];
  char hex[2 * SHA256_SIZE + 1];
  hash_sha256(json_span(result), digest);
  hash_hex(digest, sizeof digest, hex);
  return arena_printf(&c->request->arena, "sha256:%s", hex);
}

static void read_result(struct call *c, const struct rpc_message *reply, struct claim_record *out) {
  const struct json *result = reply->result;
  out->state = result_type(c, reply) == RESULT_INPUT_REQUIRED ? CLAIM_OPEN : CLAIM_DONE;
  out->stateless = c->to_stateless;
  out->failed = c->tool_failed;
  if (out->state == CLAIM_OPEN) return;
  if (!reply->large_message && result->n <= IDEMPOTENCY_RESULT_MAX) out->result = json_span(result);
  else if (!reply->large_message) out->hash = hash_of(c, result);
}

// Reads an error of the server. Returns false if it does not say how the call has ended: the gateway asked about the
// task of the call, and the server does not know the task.
static bool read_error(const struct call *c, const struct rpc_message *reply, struct claim_record *out) {
  int64_t code = 0;
  json_int(json_get(reply->error, STR("code")), &code);
  if (task_id(c).n && (c->to_stateless || code == RPC_INVALID_PARAMS)) return false;
  bool refused = code == RPC_URL_NEEDED || (c->failure && c->failure->fault.code == FAULT_RATE_LIMITED);
  out->state = refused ? CLAIM_OPEN : CLAIM_DONE;
  out->stateless = c->to_stateless;
  if (!refused && reply->error->n <= ERROR_MAX) out->error = json_span(reply->error);
  return true;
}

// The server has not answered the last request.
static void read_failure(const struct call *c, const struct held_claim *s, struct claim_record *out) {
  bool undone = !c->sent || s->asked || (c->failure && c->failure->fault.undone && !task_id(c).n);
  out->state = undone && !s->exposed ? CLAIM_OPEN : CLAIM_UNKNOWN;
  out->reason = str_of(fault_name(c->failure ? fault_public_code(c->failure->fault.code) : FAULT_CANCELLED));
}

// Adds to the details of the failure that the effect may have happened.
static void say_unknown(struct call *c, str id) {
  struct call_failure *f = c->failure;
  char letter[DEAD_LETTER_ID_SIZE];
  if (!f || !c->request) return;
  claim_letter_id(id, letter);
  str inner = f->details.n > 2 ? (str){f->details.p + 1, f->details.n - 2} : STR("");
  f->details = arena_printf(&c->request->arena, "{%.*s%s\"effect\":\"unknown\",\"dead_letter\":\"%s\"}", STR_ARG(inner),
                            inner.n ? "," : "", letter);
}

static void store(struct call *c, struct held_claim *s, const struct claim_record *outcome) {
  struct claim *claim = s->claim;
  s->claim = NULL;
  s->unknown = outcome->state == CLAIM_UNKNOWN;
  if (s->unknown) {
    if (c->context->metrics) govern_metrics_key(metrics_governed(c->context->metrics), KEY_UNKNOWN);
    say_unknown(c, claim_entry_id(claim));
  }
  claim_settle(claim, outcome, s->keep_ms, &s->wait);
}

// Ends the claim. `reply` is the answer of the server, or NULL.
static void settle(struct call *c, const struct rpc_message *reply) {
  struct held_claim *s = state_of(c);
  struct claim_record outcome = {0};
  if (!s->claim) return;
  if (!s->stored || !s->sent) {
    claim_release(s->claim);
    s->claim = NULL;
    return;
  }
  if (reply && reply->kind == RPC_RESULT) read_result(c, reply, &outcome);
  else if (!reply || !read_error(c, reply, &outcome)) read_failure(c, s, &outcome);
  store(c, s, &outcome);
}

void call_claim_answered(struct call *c, const struct rpc_message *reply) {
  bool final = reply->kind == RPC_RESULT && result_type(c, reply) == RESULT_COMPLETE;
  if (final && !json_get(reply->result, STR("task"))) settle(c, reply);
}

bool call_claim_task(struct call *c, const struct rpc_message *result, str answer) {
  struct held_claim *s = state_of(c);
  struct claim_record outcome = {.state = CLAIM_DONE, .stateless = call_is_stateless(c)};
  if (!s->claim) return false;
  c->answer = arena_str(&c->request->arena, answer);
  if (result) read_result(c, result, &outcome);
  else outcome.answer = c->answer;
  outcome.as_task = result != NULL;
  store(c, s, &outcome);
  call_restart(c, STEP_SETTLE);
  return true;
}

void call_claim_end(struct call *c) {
  settle(c, NULL);
}

static enum call_result take_outcome(struct call *c, void *state) {
  settle(c, c->reply);
  return CALL_NEXT;
}

static enum call_result await_outcome(struct call *c, void *state) {
  struct held_claim *s = state_of(c);
  settle(c, NULL);
  if (!s->call || !claim_waiting(&s->wait)) return CALL_NEXT;
  if (!call_keep_reply(c))
    return call_refuse(c, RPC_INTERNAL_ERROR, "cannot keep the answer of the server until its outcome is stored",
                       STR_NONE);
  s->settles = true;
  return CALL_WAIT;
}

static void on_kept(struct claim_wait *w, enum claim_kept kept) {
  struct held_claim *s = CONTAINER_OF(w, struct held_claim, wait);
  struct call *c = s->call;
  if (s->claim) {
    on_claimed(c, s, kept);
    return;
  }
  if (kept != CLAIM_KEPT)
    log_error(c->context->loop->log, "the outcome of a call of %.*s is only in memory: state_dir cannot be written",
              STR_ARG(call_capability(c)->id));
  if (!s->settles) return;
  s->settles = false;
  call_resume(c);
}

static void cancel(struct call *c, void *state, str reason) {
  struct held_claim *s = state;
  if (s->call) claim_wait_cancel(&s->wait);
}

// The call ends without an answer to its client.
static void done(struct call *c, void *state) {
  settle(c, NULL);
  cancel(c, state, STR_NONE);
}

const struct call_step step_claim = {
    .name = "claim",
    .does = "Stores the claim of the idempotency key.",
    .state = sizeof(struct held_claim),
    .run = claim,
    .cancel = cancel,
    .done = done,
};

const struct call_step step_outcome = {
    .name = "outcome",
    .does = "Stores the outcome of a call with an idempotency key.",
    .run = take_outcome,
};

const struct call_step step_settle = {
    .name = "settle",
    .does = "Waits until that outcome is durable.",
    .run = await_outcome,
};
