// SPDX-License-Identifier: Apache-2.0
// Looks up the idempotency key of a call. A call of class act must have a key; other calls may have one. If an earlier
// call with the key has ended, its outcome is returned. If one is in progress, the call waits. Otherwise the call gets
// the claim of the key (effect/idempotency.h), which step_claim stores before the call is sent.
#include "base/assert.h"
#include "base/text/utf8.h"
#include "call/bridge/task_bridge.h"
#include "call/bridge/translate.h"
#include "call/reconcile.h"
#include "call/steps/steps.h"
#include "effect/dead_letters.h"
#include "govern/idempotency.h"
#include "observe/govern_metrics.h"
#include "observe/metrics.h"
#include "result/envelope/fault_forms.h"
#include "schema/schema.h"
#include "json/write.h"

enum { ELSEWHERE_MS = 1000, MINTED_DIGITS = 32, NAME_SHOWN = 100 };

#define KEY_ARGUMENT STR("idempotency_key")

struct idempotency_state {
  struct call *call;  // NULL: the call never waited
  struct claim_wait wait;
  struct timer timer;
  str key;                  // STR_NONE if there is no key
  struct claim_name *name;  // in the request's memory; NULL before the first look-up
  str first;                // id of the first call with the key, if this one is a replay; in the request's memory
  enum fault_code problem;  // of the key; FAULT_NONE if there is no problem
  bool in_args, minted, replayed;
  bool unknown;  // the outcome of an earlier call is unknown
};

static struct idempotency_state *state_of(const struct call *c) {
  return call_state(c, STEP_IDEMPOTENCY);
}

str call_key(const struct call *c) {
  return state_of(c)->key;
}

str call_minted_key(const struct call *c) {
  const struct idempotency_state *s = state_of(c);
  return s->minted ? s->key : STR_NONE;
}

bool call_is_replayed(const struct call *c) {
  return state_of(c)->replayed;
}

bool call_found_unknown(const struct call *c) {
  return state_of(c)->unknown;
}

str call_first_id(const struct call *c) {
  return state_of(c)->first;
}

// ---- the key

static const struct json *args_of(const struct call *c) {
  return json_get(c->request->msg.params, STR("arguments"));
}

// Returns whether the argument idempotency_key is the key: the schema of the tool or a constraint must have it.
static bool takes_key(struct call *c, const struct governance_decision *d) {
  const struct schema *s = NULL;
  struct fault f;
  for (size_t i = 0; i < d->match_count; i++)
    if (d->matches[i].constraints && constraints_name(d->matches[i].constraints, KEY_ARGUMENT)) return true;
  if (!call_schema(c, &s, &f) || !s) return false;
  return json_get(json_get(schema_source(s), STR("properties")), KEY_ARGUMENT);
}

static bool read_key(const struct json *v, struct arena *a, str *out) {
  if (!v || v->type == JSON_NULL) return true;
  return json_string(v, a, out) && idempotency_is_key(*out);
}

// Derives a key from the request, so that a repeated delivery of the same request has the same key.
static str mint(struct call *c, const struct governance_capability *g) {
  struct arena *a = &c->request->arena;
  const struct session *s = c->session;
  char print[CLAIM_HEX], hex[2 * SHA256_SIZE + 1];
  unsigned char digest[SHA256_SIZE];
  str client = s->revision->stateless ? session_principal(s) : str_of(s->id);
  claim_fingerprint(c->context->idempotency, args_of(c), STR_NONE, print);
  hash_sha256(arena_printf(a, "%zu:%.*s %zu:%.*s %.*s %s %.*s", client.n, STR_ARG(client), c->request->id.n,
                           STR_ARG(c->request->id), STR_ARG(g->id), print, STR_ARG(c->options.skill_step)),
              digest);
  hash_hex(digest, sizeof digest, hex);
  return arena_printf(a, "mint_%.*s", MINTED_DIGITS, hex);
}

void idempotency_read(struct call *c, const struct governance_decision *d) {
  struct idempotency_state *s = state_of(c);
  struct arena *a = &c->request->arena;
  const struct json *in_meta = json_get(json_get(c->request->msg.params, STR("_meta")), IDEMPOTENCY_META);
  const struct json *in_args = json_get(args_of(c), KEY_ARGUMENT);
  const struct governance_capability *g = d->capability;
  str key = STR_NONE, other = STR_NONE;
  if (!g || !c->context->idempotency) return;
  s->in_args = in_args && takes_key(c, d);
  if (!read_key(in_meta, a, &key) || (s->in_args && !read_key(in_args, a, &other))) s->problem = FAULT_ARGS_INVALID;
  else if (key.p && other.p && !str_eq(key, other)) s->problem = FAULT_IDEMPOTENCY_KEY_MISMATCH;
  s->key = key.p ? key : other;
  bool mints = governance_idempotency(c->governance)->mint == MINT_REQUEST && d->code == GOVERNANCE_ALLOWED;
  if (s->problem || s->key.p || g->class != CLASS_ACT || !mints || c->options.dry_run) return;
  s->key = mint(c, g);
  s->minted = true;
}

// ---- refusals

static void count(const struct call *c, enum key_event event) {
  if (c->context->metrics) govern_metrics_key(metrics_governed(c->context->metrics), event);
}

static enum call_result refuse(struct call *c, struct fault *f, str details) {
  bool theirs = f->code == FAULT_IDEMPOTENCY_IN_PROGRESS || f->code == FAULT_EFFECTS_UNAVAILABLE;
  fault_set_path(f, c->about);
  return call_end(c, f, theirs ? RPC_INTERNAL_ERROR : RPC_INVALID_PARAMS, details);
}

static enum call_result refuse_key(struct call *c, const struct idempotency_state *s) {
  str id = utf8_cut(call_capability(c)->id, NAME_SHOWN);
  struct fault f;
  if (s->problem == FAULT_IDEMPOTENCY_KEY_MISMATCH)
    fault_set(&f, s->problem, "the argument idempotency_key differs from _meta[\"io.toolgate/idempotency_key\"]");
  else if (s->problem)
    fault_set(&f, s->problem, "an idempotency key must be a string of 1 to %d bytes without control characters",
              IDEMPOTENCY_KEY_MAX);
  else
    fault_set(
        &f, FAULT_IDEMPOTENCY_KEY_REQUIRED,
        "%.*s has an effect and needs an idempotency key: set _meta[\"io.toolgate/idempotency_key\"]%s, or ask the "
        "operator to set idempotency.mint",
        STR_ARG(id), s->in_args ? " or the argument idempotency_key" : "");
  return refuse(c, &f, STR_NONE);
}

enum call_result effects_unavailable(struct call *c, const char *why) {
  struct fault f;
  fault_set(&f, FAULT_EFFECTS_UNAVAILABLE, "the call was not sent, because %s", why);
  count(c, KEY_UNAVAILABLE);
  return refuse(c, &f, STR_NONE);
}

static enum call_result conflict(struct call *c, bool other_caller) {
  struct fault f;
  fault_set(&f, FAULT_IDEMPOTENCY_CONFLICT, "the idempotency key was used before %s",
            other_caller ? "by another caller" : "with other arguments");
  count(c, KEY_CONFLICT);
  return refuse(c, &f, STR_NONE);
}

enum call_result idempotency_in_progress(struct call *c, uint64_t after_ms) {
  struct fault f;
  fault_set(&f, FAULT_IDEMPOTENCY_IN_PROGRESS,
            "a call with this idempotency key has not ended; repeat the call later with the same key");
  f.after_ms = after_ms;
  count(c, KEY_IN_PROGRESS);
  return refuse(c, &f, call_fault_details(c, &f));
}

enum call_result idempotency_unknown(struct call *c, const struct claim_record *record) {
  struct idempotency_state *s = state_of(c);
  struct arena *a = &c->request->arena;
  char letter[DEAD_LETTER_ID_SIZE];
  struct fault f;
  s->unknown = true;
  claim_letter_id(str_of(s->name->id), letter);
  fault_set(&f, FAULT_EFFECT_UNKNOWN,
            "an earlier call with this key was sent, and its outcome is unknown: check whether its effect happened");
  count(c, KEY_FOUND_UNKNOWN);
  str first = record->tool_call_id.p ? record->tool_call_id : STR("");
  return refuse(c, &f,
                arena_printf(a, "{\"effect\":\"unknown\",\"first_tool_call_id\":%.*s,\"dead_letter\":\"%s\"}",
                             STR_ARG(json_escaped(a, first)), letter));
}

// ---- an earlier call has ended

// Answers with a report in place of an outcome that is not stored.
static enum call_result answer_without(struct call *c, const struct claim_record *record) {
  struct arena *a = &c->request->arena;
  bool structured =
      c->method->form == CALL_DIRECT || request_form(c->request, c->context->results.structured).structured;
  struct fault f;
  struct buf report, result;
  buf_init(&report, 4096);
  struct json_writer w = json_writer(&report);
  json_begin_object(&w);
  json_member_str(&w, STR("status"), STR("replayed"));
  json_member_str_or_null(&w, STR("first_tool_call_id"), record->tool_call_id);
  json_member_str_or_null(&w, STR("output_hash"), record->hash);
  json_member_str(&w, STR("message"),
                  STR("This call was made before with the same idempotency key, and had its "
                      "effect. Its result is not stored."));
  json_end_object(&w);
  buf_init(&result, 8 * report.n + 256);
  result_put(&result, STR_NONE, buf_view(&report), structured ? buf_view(&report) : STR_NONE, record->failed);
  const struct json *made = json_parse(a, arena_str(a, buf_view(&result)), &json_default_limits, &f);
  buf_reset(&c->context->text);
  if (made) translate_made(c, made, &c->context->text);
  c->answer = arena_str(a, buf_view(&c->context->text));
  buf_done(&report);
  buf_done(&result);
  if (!made) return call_refuse(c, RPC_INTERNAL_ERROR, f.message, STR_NONE);
  call_restart(c, STEP_SETTLE);
  return CALL_DONE;
}

enum call_result idempotency_replay(struct call *c, const struct claim_record *record) {
  struct idempotency_state *s = state_of(c);
  struct arena *a = &c->request->arena;
  s->replayed = true;
  s->first = record->tool_call_id.p ? arena_str(a, record->tool_call_id) : STR_NONE;
  call_deadline_end(c);
  count(c, KEY_REPLAYED);
  if (record->answer.p && record->stateless == call_is_stateless(c)) {
    c->answer = arena_str(a, record->answer);
    call_restart(c, STEP_SETTLE);
    return CALL_DONE;
  }
  str raw = record->result.p ? record->result : record->error;
  const char *member = record->result.p ? "result" : "error";
  const struct rpc_message *reply = NULL;
  if (raw.p)
    reply = call_read_again(c, arena_printf(a, "{\"jsonrpc\":\"2.0\",\"id\":0,\"%s\":%.*s}", member, STR_ARG(raw)));
  if (!reply) return answer_without(c, record);
  c->to_stateless = record->stateless;
  if (record->as_task && task_finish_replayed(c, reply)) return CALL_DONE;
  c->reply = reply;
  call_restart(c, STEP_CLASSIFY);
  return CALL_DONE;
}

// ---- an earlier call is in progress

static void stop_waiting(struct idempotency_state *s) {
  claim_wait_cancel(&s->wait);
  timer_stop(&s->timer);
}

static void on_ended(struct claim_wait *w, enum claim_kept kept) {
  struct idempotency_state *s = CONTAINER_OF(w, struct idempotency_state, wait);
  stop_waiting(s);
  call_restart(s->call, STEP_IDEMPOTENCY);
}

static void on_late(struct timer *t) {
  struct idempotency_state *s = CONTAINER_OF(t, struct idempotency_state, timer);
  stop_waiting(s);
  idempotency_in_progress(s->call, ELSEWHERE_MS);
}

// Waits as long as a call of the tool may take, but ends before the caller's deadline.
static enum call_result await(struct call *c, struct idempotency_state *s, struct claim *claim) {
  uint64_t now = loop_now(c->context->loop), ms = call_timeout(c), until = call_deadline(c);
  if (until != UINT64_MAX && until < now + ms + 2 * TIMER_TICK_MS)
    ms = until > now + 3 * TIMER_TICK_MS ? until - now - 2 * TIMER_TICK_MS : 1;
  if (!s->call) {
    claim_wait_init(&s->wait, on_ended);
    timer_init(&s->timer, on_late);
  }
  s->call = c;
  timer_start(c->context->loop, &s->timer, ms);
  claim_await(claim, &s->wait);
  return CALL_WAIT;
}

// ---- the step

static struct claim_name *make_name(struct call *c, const struct idempotency_state *s) {
  struct idempotency *i = c->context->idempotency;
  struct arena *a = &c->request->arena;
  struct claim_name *n = ARENA_NEW(a, struct claim_name);
  str tenant = c->run->governed.subject.tenant;
  claim_id(i, tenant.p ? tenant : STR(""), call_capability(c)->id, s->key, n->id);
  claim_fingerprint(i, args_of(c), s->in_args ? KEY_ARGUMENT : STR_NONE, n->fingerprint);
  n->owner = call_owner(a, c->session, c->named);
  return n;
}

// The outcome of an earlier call is unknown. An operator, or a server that recognises repeated keys, may repeat it.
static enum call_result repeat(struct call *c, struct claim *claim, const struct claim_record *record) {
  const struct governance_capability *g = call_capability(c);
  if (g->idempotency == IDEMPOTENCY_NATIVE || c->options.resend_unknown.p) {
    call_hold_claim(c, claim, true);
    return CALL_NEXT;
  }
  if (g->reconcile.capability && record->fingerprint.p) return reconcile(c, claim, record);
  claim_conclude(claim, CLAIM_UNKNOWN, record, 0);
  return idempotency_unknown(c, record);
}

// Returns whether the call is the one whose dead letter the request names, if it names one.
static bool is_meant(const struct call *c, const struct idempotency_state *s) {
  char letter[DEAD_LETTER_ID_SIZE];
  claim_letter_id(str_of(s->name->id), letter);
  return !c->options.resend_unknown.p || str_eq(c->options.resend_unknown, str_of(letter));
}

static enum call_result refuse_other(struct call *c) {
  struct fault f;
  fault_set(
      &f, FAULT_ARGS_INVALID,
      "the dead letter is about a call with another context: ask its caller to repeat it after dead-letters resolve");
  return refuse(c, &f, STR_NONE);
}

static enum call_result run(struct call *c, void *state) {
  struct idempotency_state *s = state;
  const struct governance_capability *g = call_capability(c);
  struct claim *claim;
  struct claim_record record;
  if (!g || (!s->key.p && !s->problem && g->class != CLASS_ACT)) return CALL_NEXT;
  if (!c->context->idempotency) return effects_unavailable(c, "this program stores no idempotency keys");
  if (s->problem || !s->key.p) return refuse_key(c, s);
  if (!s->name) s->name = make_name(c, s);
  if (!is_meant(c, s)) return refuse_other(c);
  struct arena *a = &c->request->arena;
  switch (claim_find(c->context->idempotency, s->name, c->options.resend_unknown.p, a, &claim, &record)) {
  case CLAIM_FREE: call_hold_claim(c, claim, false); return CALL_NEXT;
  case CLAIM_IS_DONE: return idempotency_replay(c, &record);
  case CLAIM_IS_UNKNOWN: return repeat(c, claim, &record);
  case CLAIM_HERE: return await(c, s, claim);
  case CLAIM_ELSEWHERE: return idempotency_in_progress(c, ELSEWHERE_MS);
  case CLAIM_OTHER_ARGS: return conflict(c, false);
  case CLAIM_OTHER_OWNER: return conflict(c, true);
  case CLAIM_UNREADABLE: break;
  }
  return effects_unavailable(c, "the stored idempotency keys cannot be read");
}

static void cancel(struct call *c, void *state, str reason) {
  struct idempotency_state *s = state;
  if (s->call) stop_waiting(s);
}

static void detach(struct call *c, void *state, struct arena *a) {
  struct idempotency_state *s = state;
  s->name = NULL;
  if (a) s->key = call_kept(a, s->key);
}

const struct call_step step_idempotency = {
    .name = "idempotency",
    .does = "Looks up the idempotency key: returns the outcome of an earlier call, or waits for it.",
    .state = sizeof(struct idempotency_state),
    .run = run,
    .cancel = cancel,
    .detach = detach,
};
