// SPDX-License-Identifier: Apache-2.0
#include "surface/meta/approval_status.h"

#include "base/assert.h"
#include "call/approved_call.h"
#include "call/audit_recorder.h"
#include "govern/approvals.h"
#include "result/envelope/fault_forms.h"
#include "surface/servers/servers.h"
#include "surface/surface_state.h"

enum { ANSWER_MAX = 64 << 10 };

// A request that waits for the state of a request for approval; in the request's memory.
struct status_use {
  struct work work;
  struct surface *d;
  struct request *r;
  struct approvals *of;
  struct approvals_op *op;
  struct approvals_watch watch;
  struct timer patience;
  struct governance *governance;  // with a reference
  str id, owner, agent;
  struct approval request;  // while the use waits for a decision
};

static void stop(struct status_use *u) {
  approvals_cancel(&u->op);
  approvals_unwatch(&u->watch);
  timer_stop(&u->patience);
  governance_unref(&u->governance);
}

static void on_cancel(struct work *w, struct request *r, str reason) {
  stop(CONTAINER_OF(w, struct status_use, work));
}

static const struct work_ops work_ops = {"approval_status", on_cancel};

// Ends the use; the caller must answer the returned request.
static struct request *release(struct status_use *u) {
  struct request *r = u->r;
  stop(u);
  r->work = NULL;
  return r;
}

static void fail(struct status_use *u, const struct fault *f) {
  struct fault named = *f;
  struct surface *d = u->d;
  fault_set_path(&named, u->id);
  meta_fail(d, release(u), &named, STR_NONE);
}

// ---- the answers

static bool has_execute(const struct request *r) {
  return r->session->mode == MODE_GATEWAY || r->session->mode == MODE_TRANSPARENT;
}

static void answer_pending(struct status_use *u, const struct approval *x) {
  struct surface *d = u->d;
  struct buf text, meta;
  buf_init(&text, ANSWER_MAX);
  buf_init(&meta, ANSWER_MAX);
  approved_put_pending(x, has_execute(u->r), &text);
  struct json_writer w = json_writer(&meta);
  json_begin_object(&w);
  json_member_str(&w, STR(RESULT_APPROVAL), x->request_id);
  json_end_object(&w);
  struct request *r = release(u);
  bool structured = request_form(r, d->opt.calls.results.structured).structured;
  struct buf *out = &d->answer;
  buf_reset(out);
  audit_recorder_fault(r, FAULT_APPROVAL_REQUIRED);
  result_put(out, buf_view(&meta), buf_view(&text), structured ? buf_view(&text) : STR_NONE, false);
  request_reply(r, buf_view(out));
  buf_done(&text);
  buf_done(&meta);
}

static void execute(struct status_use *u, const struct approval *x) {
  static const struct call_method methods[] = {
      {"tools/call", CALL_BY_NAME, ITEM_TOOL, CALL_ANY_ERA, false, CALL_META},
      {"tools/call", CALL_BY_NAME, ITEM_TOOL, CALL_ANY_ERA, false, CALL_RULED},
      {"tools/call", CALL_BY_NAME, ITEM_TOOL, CALL_ANY_ERA, false, CALL_DIRECT},
  };
  struct call_context *calls = &u->d->calls;
  str agent = u->agent;
  struct request *r = release(u);
  int mode = r->session->mode;
  audit_recorder_tool(r, x->server, x->tool);
  calls_start_approved(calls, r, &methods[mode == MODE_SERVERS ? 1 : mode == MODE_DIRECT ? 2 : 0], agent, x);
}

// ---- waiting

static void on_found(void *ctx, const struct approval *x, const struct fault *f);

static void on_changed(struct approvals_watch *w) {
  struct status_use *u = CONTAINER_OF(w, struct status_use, watch);
  approvals_cancel(&u->op);
  u->op = approvals_find(u->of, u->id, u->owner, on_found, u);
}

static void on_patience(struct timer *t) {
  struct status_use *u = CONTAINER_OF(t, struct status_use, patience);
  answer_pending(u, &u->request);
}

static void wait(struct status_use *u, const struct approval *x) {
  uint64_t ms = approved_wait_ms(u->governance, false);
  approval_copy(x, &u->r->arena, &u->request);
  if (u->watch.of) return;  // one of several approvals
  if (!ms) {
    answer_pending(u, &u->request);
    return;
  }
  approvals_watch(u->of, &u->watch, x, on_changed);
  timer_start(u->d->opt.loop, &u->patience, ms);
}

static void on_found(void *ctx, const struct approval *x, const struct fault *f) {
  struct status_use *u = ctx;
  struct fault why;
  u->op = NULL;
  if (!x) {
    fail(u, f);
    return;
  }
  switch (x->state) {
  case APPROVAL_STATE_PENDING: wait(u, x); return;
  case APPROVAL_STATE_APPROVED:
  case APPROVAL_STATE_EXECUTING:
  case APPROVAL_STATE_COMPLETED:
  case APPROVAL_STATE_FAILED: execute(u, x); return;
  default: approvals_refuse(x, &why); fail(u, &why);
  }
}

void meta_redeem(struct surface *d, struct request *r, str id) {
  struct fault f;
  struct caller caller;
  str agent = r->session->mode == MODE_SERVERS ? servers_named(r) : STR_NONE;
  str named = r->session->mode != MODE_SERVERS ? STR_NONE : agent.p ? agent : STR("");
  audit_recorder_target(r, id);
  if (!caller_find(d->calls.rules, r->session, named, &caller, &f)) {
    meta_fail(d, r, &f, STR_NONE);
    return;
  }
  if (!caller.governance || !d->calls.rules->approvals) {
    fault_set(&f, FAULT_APPROVAL_INVALID, "unknown request_id: there is no governance file");
    meta_fail(d, r, &f, STR_NONE);
    return;
  }
  ASSERT(!r->work);
  struct status_use *u = ARENA_NEW(&r->arena, struct status_use);
  u->work.ops = &work_ops;
  u->d = d;
  u->r = r;
  u->of = d->calls.rules->approvals;
  u->governance = governance_ref(d->calls.rules->governance);
  u->id = arena_str(&r->arena, id);
  u->agent = agent;
  u->owner = approved_owner(&caller, r->session, &r->arena);
  timer_init(&u->patience, on_patience);
  r->work = &u->work;
  u->op = approvals_find(u->of, u->id, u->owner, on_found, u);
}

// ---- the meta-tool

static bool is_governed(const struct surface *d) {
  return d->calls.rules && d->calls.rules->governance;
}

bool meta_lists_approval_status(const struct surface *d) {
  return is_governed(d) && governance_may_need_approval(d->calls.rules->governance);
}

bool meta_is_approval_status(const struct surface *d, const struct request *r) {
  return is_governed(d) && str_eq(r->msg.method, STR("tools/call")) &&
         json_equals_str(json_get(r->msg.params, STR("name")), APPROVAL_STATUS);
}

void meta_approval_status(struct surface *d, struct request *r) {
  static const str names[] = {STR("request_id"), STR("agent_id")};
  struct fault f;
  struct buf details;
  str id;
  buf_init(&details, 4096);
  if (!calls_allow(&d->calls, r->session, APPROVAL_STATUS, &f, &details)) meta_fail(d, r, &f, buf_view(&details));
  else if (!meta_known_args(d, r, names, r->session->mode == MODE_SERVERS ? 2 : 1)) buf_reset(&details);
  else if (meta_string(r, STR("request_id"), &id)) meta_redeem(d, r, id);
  else meta_refuse(d, r, "approval_status needs request_id (a string)");
  buf_done(&details);
}

void meta_put_approval_status(struct surface *d, const struct session *s, bool comma, struct buf *out) {
#define AGENT ",\"agent_id\":{\"type\":\"string\"}"
#define SCHEMA(more) \
  "{\"type\":\"object\",\"properties\":{\"request_id\":{\"type\":\"string\"}" more \
  "},\"required\":[\"request_id\"],\"additionalProperties\":false}"
  if (!meta_lists_approval_status(d)) return;
  if (comma) buf_char(out, ',');
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_str(&w, STR("name"), APPROVAL_STATUS);
  json_member_str(
      &w, STR("description"),
      STR("Get the outcome of a call that answered approval_required, by its request_id. Runs the call once "
          "a person has approved it."));
  json_member_raw(&w, STR("inputSchema"), s->mode == MODE_SERVERS ? STR(SCHEMA(AGENT)) : STR(SCHEMA("")));
  json_end_object(&w);
}
