// SPDX-License-Identifier: Apache-2.0
#include "call/reconcile.h"

#include "base/assert.h"
#include "base/mem.h"
#include "call/report.h"
#include "call/steps/steps.h"
#include "govern/idempotency.h"
#include "json/write.h"

enum { MESSAGE_MAX = 8 << 20 };

static const struct call_method method = {"tools/call", CALL_BY_NAME, ITEM_TOOL, CALL_ANY_ERA, false, CALL_DIRECT};

// While the other call uses the request, `call` has none, like a parked call.
struct reconciling {
  struct call_receiver receiver;
  struct call *call;
  struct claim *claim;
  struct claim_record record;  // in the request's memory
  struct request *request;
  struct rpc_message message;  // of the request
  const struct json *args;
  bool by_http;
};

// Gives the request back to the call.
static struct call *finish(struct reconciling *x, struct request *r) {
  struct call *c = x->call;
  ASSERT(!c->request && r == x->request && !r->work);
  r->msg = x->message;
  r->by_http = x->by_http;
  r->work = &c->work;
  c->request = r;
  call_deadline_release(c);
  return c;
}

static enum reconciled decide(const struct reconciling *x, const struct call *c, const struct call_outcome *o) {
  const char *why = o->code ? fault_name(o->code) : "the tool reported an error";
  enum reconciled verdict = RECONCILED_FAILED;
  struct arena *a = &x->request->arena;
  if (o->ok && !o->tool_failed)
    verdict = governance_reconcile(&call_capability(c)->reconcile, x->args, call_value(a, o->result), a, &why);
  if (verdict == RECONCILED_FAILED)
    log_warn(c->context->loop->log, "cannot reconcile a call of %.*s: %s", STR_ARG(call_capability(c)->id), why);
  return verdict;
}

static void on_done(struct call_receiver *receiver, struct request *r, const struct call_outcome *o) {
  struct reconciling x = *CONTAINER_OF(receiver, struct reconciling, receiver);
  enum reconciled verdict = decide(&x, x.call, o);
  mem_free(CONTAINER_OF(receiver, struct reconciling, receiver));
  struct call *c = finish(&x, r);
  int64_t now = clock_wall_ms(c->context->loop->clock);
  if (verdict == RECONCILED_DONE) {
    claim_conclude(x.claim, CLAIM_DONE, &x.record, governance_idempotency(c->governance)->keep_s * 1000);
    idempotency_replay(c, &x.record);
  } else if (verdict == RECONCILED_NOT_DONE && now >= x.record.until) {
    call_hold_claim(c, x.claim, false);
    call_resume(c);
  } else {
    claim_conclude(x.claim, CLAIM_UNKNOWN, &x.record, 0);
    // The server may still be carrying out the earlier call.
    if (verdict == RECONCILED_NOT_DONE) idempotency_in_progress(c, (uint64_t)(x.record.until - now));
    else idempotency_unknown(c, &x.record);
  }
}

// The request was cancelled.
static void on_dropped(struct call_receiver *receiver) {
  struct reconciling x = *CONTAINER_OF(receiver, struct reconciling, receiver);
  mem_free(CONTAINER_OF(receiver, struct reconciling, receiver));
  claim_conclude(x.claim, CLAIM_UNKNOWN, &x.record, 0);
  x.request->msg = x.message;
  x.call->request = x.request;
  call_report(x.call, true);
  x.call->request = NULL;
  call_drop(x.call, STR_NONE);
}

// Writes the params of the other call. It gets the _meta of the request without the key.
static bool put_params(struct call *c, const struct governance_capability *g, str args, const struct json **out) {
  struct request *r = c->request;
  static const struct json_edit no_key = {IDEMPOTENCY_META, {0}};
  struct json_limits limits = {.max_bytes = SIZE_MAX, .max_depth = r->session->server->limits.max_depth};
  const struct json *meta = json_get(r->msg.params, STR("_meta"));
  struct fault f;
  struct buf b;
  buf_init(&b, MESSAGE_MAX);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("name"), g->name);
  json_member_raw(&w, STR("arguments"), args);
  if (json_is(meta, JSON_OBJECT)) json_member_raw(&w, STR("_meta"), json_edited(&r->arena, meta, &no_key, 1));
  json_end_object(&w);
  *out = b.over ? NULL : json_parse(&r->arena, arena_str(&r->arena, buf_view(&b)), &limits, &f);
  buf_done(&b);
  return *out;
}

enum call_result reconcile(struct call *c, struct claim *claim, const struct claim_record *record) {
  const struct governance_capability *by = call_capability(c)->reconcile.capability;
  struct request *r = c->request;
  const struct json *args = json_get(r->msg.params, STR("arguments")), *params = NULL;
  const char *why = "the arguments are too large";
  str filled;
  if (!governance_reconcile_args(&call_capability(c)->reconcile, args, &r->arena, &filled, &why) ||
      !put_params(c, by, filled, &params)) {
    log_warn(c->context->loop->log, "cannot reconcile a call of %.*s: %s", STR_ARG(call_capability(c)->id), why);
    claim_conclude(claim, CLAIM_UNKNOWN, record, 0);
    return idempotency_unknown(c, record);
  }
  struct reconciling *x = MEM_NEW(struct reconciling);
  *x = (struct reconciling){{on_done, on_dropped}, c, claim, *record, r, r->msg, args, r->by_http};
  struct caller_options options = {.receiver = &x->receiver, .agent = c->named};
  uint64_t now = loop_now(c->context->loop), until = call_deadline(c);
  if (until != UINT64_MAX) options.timeout_ms = until > now ? until - now : 1;
  call_deadline_hold(c);
  c->request = NULL;
  r->work = NULL;
  r->by_http = false;
  r->msg.params = (struct json *)params;
  r->msg.method = STR("tools/call");
  struct call_place place = {by->adapter->server, by->name};
  call_start_for(c->context, r, &method, &place, &options);
  return CALL_WAIT;
}
