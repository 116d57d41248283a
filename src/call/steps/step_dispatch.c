// SPDX-License-Identifier: Apache-2.0
// Sends the request to the server with an id of the gateway, and handles the reply: an outcome, or a request for more
// input.
#include "base/assert.h"
#include "call/bridge/parked_calls.h"
#include "call/bridge/session_questions.h"
#include "call/bridge/stateless_questions.h"
#include "call/bridge/task_bridge.h"
#include "call/bridge/translate.h"
#include "call/scrub.h"
#include "call/steps/steps.h"
#include "mcp/server/callers.h"
#include "json/write.h"

struct dispatch_state {
  struct call *call;                    // NULL: the call was never on a lane
  struct list node;                     // in lane.calls
  struct link_call link;                // the request in flight
  struct large_message *large_message;  // the reply, even while it is being parsed; NULL if the reply is not large
  call_done *done;                      // callback of the request in flight
  void (*next)(struct call *c);         // sends when the lane is ready; NULL: the call's own request is sent
  bool replayed;                        // the request was sent again, because the server had lost the session
};

static struct dispatch_state *state_of(const struct call *c) {
  return call_state(c, STEP_DISPATCH);
}

struct link_call *call_link(const struct call *c) {
  return &state_of(c)->link;
}

struct call *call_of_link(struct link_call *lc) {
  struct call *c = CONTAINER_OF(lc, struct dispatch_state, link)->call;
  ASSERT(c);
  return c;
}

struct call *call_on_lane(struct list *node) {
  return CONTAINER_OF(node, struct dispatch_state, node)->call;
}

void call_join_lane(struct call *c) {
  struct dispatch_state *s = state_of(c);
  if (!s->call) list_init(&s->node);
  s->call = c;
  ASSERT(list_empty(&s->node));
  list_push(&c->lane->calls, &s->node);
}

void call_leave_lane(struct call *c) {
  struct dispatch_state *s = state_of(c);
  if (s->call) list_remove(&s->node);
}

const struct large_message *call_large(const struct call *c) {
  return state_of(c)->large_message;
}

struct large_message *call_hold_large(const struct call *c) {
  struct large_message *m = state_of(c)->large_message;
  return m ? large_message_ref(m) : NULL;
}

void call_empty_large(struct call *c) {
  struct large_message *m = state_of(c)->large_message;
  if (m) large_message_empty(m);
}

bool call_continues(const struct call *c) {
  return state_of(c)->next;
}

void call_continue(struct call *c, void (*next)(struct call *c)) {
  ASSERT(next);
  state_of(c)->next = next;
  call_restart(c, STEP_CONNECT);
}

// A call that is bound to its server (call_is_bound) is not sent to another server.
bool call_try_next(struct call *c) {
  if (c->route + 1 >= c->route_count || call_is_bound(c)) return false;
  c->route++;
  call_restart(c, STEP_CONNECT);
  return true;
}

// ---- the reply

static void on_progress(struct link_call *lc, const struct rpc_message *m) {
  struct call *c = call_of_link(lc);
  const struct json *token = c->request ? request_progress_token(c->request) : NULL;
  if (!token) return;
  struct arena a;
  struct buf b;
  arena_init(&a);
  m = calls_scrub(c->context, c->lane, m, &a);
  if (m) {
    buf_init(&b, (size_t)m->params->n + token->n + 64);
    json_copy_edited(&b, m->params, &(struct json_edit){STR("progressToken"), json_span(token)}, 1);
    session_notify(c->request->session, c->request, m->method, buf_view(&b));
    buf_done(&b);
  }
  arena_done(&a);
}

// Called when the upstream has closed its response stream and will answer on a new one. The gateway may then close the
// client's response stream in the same way.
static void on_polled(struct link_call *lc) {
  struct call *c = call_of_link(lc);
  if (c->request) request_suspend(c->request);
}

void call_on_done(struct link_call *lc, const struct rpc_message *reply, const struct fault *f) {
  struct call *c = call_of_link(lc);
  struct dispatch_state *s = state_of(c);
  if (park_is(c)) {
    park_keep(c, reply, f);
  } else if (f && f->code == FAULT_UPSTREAM_SESSION_LOST && !s->replayed && !park_was(c) && !task_id(c).n) {
    s->replayed = true;
    c->sent = false;
    call_restart(c, STEP_CONNECT);
  } else if (f) {
    if (!call_retry(c, f)) call_fault(c, f);
  } else {
    call_replied(c, reply);
  }
}

static void fail(struct call *c, const char *what) {
  struct fault f;
  fault_set(&f, FAULT_PROTOCOL, "%s", what);
  call_fault(c, &f);
}

void call_replied(struct call *c, const struct rpc_message *reply) {
  enum result_type type = result_type(c, reply);
  bool asks = type == RESULT_INPUT_REQUIRED && !call_is_stateless(c);
  if (type == RESULT_UNKNOWN && !call_is_stateless(c)) {
    fail(c, "answered with an unknown resultType");
    return;
  }
  if (reply->kind == RPC_ERROR && call_try_next(c)) return;
  if (type == RESULT_INPUT_REQUIRED && !(reply = call_scrub_questions(c, reply))) {
    fail(c, "asked a question in which secrets cannot be masked");
    return;
  }
  if (asks) call_claim_asked(c);
  if (asks) rounds_begin(c, reply);
  else if (!task_reply(c, reply)) call_answer(c, reply);
}

// Returns the arena for a changed copy of a reply. It is the request's arena if possible, because the request may be
// answered with the copy after the call is freed.
static struct arena *reply_arena(struct call *c) {
  return c->request ? &c->request->arena : call_arena(c);
}

// Called when the request in flight has ended. Gives up the call's place among the calls in flight, so that the next
// waiting call is sent.
static void on_done(struct link_call *lc, const struct rpc_message *reply, const struct fault *f) {
  struct call *c = call_of_link(lc);
  call_leave_lane(c);
  call_turn_end(c);
  ASSERT(state_of(c)->done && (reply || f));
  if (reply) reply = calls_unhide(c->context, reply, reply_arena(c));
  struct fault unreadable;
  if (!reply && !f) {
    fault_set(&unreadable, FAULT_PROTOCOL,
              "answered with invalid JSON-RPC, even after the gateway removed hidden characters");
    f = &unreadable;
  }
  state_of(c)->done(lc, reply, f);
}

// Holds a reference to the message until `done` returns, because `done` may free the call and the call's reference.
static void on_opened(void *ctx, struct large_message *p) {
  struct link_call *link = call_link(ctx);
  large_message_ref(p);
  link->done(link, p->good ? &p->message : NULL, p->good ? NULL : &p->fault);
  large_message_unref(&p);
}

static void on_large(struct link_call *lc, struct large_message *reply) {
  struct call *c = call_of_link(lc);
  struct dispatch_state *s = state_of(c);
  call_leave_lane(c);
  call_turn_end(c);
  call_deadline_end(c);  // the server has answered before the deadline
  large_message_unref(&s->large_message);
  s->large_message = reply;
  reply->remove_hidden = !c->context->results.keep_hidden;
  large_message_open(reply, on_opened, c);
}

// ---- the request

void call_begin(struct call *c, call_done *done, uint64_t timeout_ms) {
  struct dispatch_state *s = state_of(c);
  ASSERT(!s->link.link && c->lane && link_ready(c->lane->link) && done);
  s->done = done;
  s->link.done = on_done;
  s->link.take = on_large;
  s->link.progress = on_progress;
  s->link.polled = on_polled;
  call_join_lane(c);
  link_call_begin(c->lane->link, &s->link, timeout_ms, call_time_max(c));
  if (c->lane->asks) call_clock(c);
}

uint64_t call_timeout(const struct call *c) {
  const struct upstreams *u = c->context->upstreams;
  unsigned index = c->routes[c->route].source;
  bool tool = c->item && call_is_tool(c);
  return tool ? upstreams_tool_timeout(u, index, c->item->name) : upstreams_timeout(u, index);
}

static void note_user(struct lane *lane, const struct session *s) {
  // A session that several clients share at the same time counts as several users of the connection.
  if (s->callers && s->lent == LENT_SHARED && !s->callers->opt.one_client) lane->mixed = true;
  if (!lane->user[0]) memcpy(lane->user, s->id, sizeof lane->user);
  else if (!lane->mixed) lane->mixed = memcmp(lane->user, s->id, sizeof lane->user) != 0;
}

static enum call_result run(struct call *c, void *state) {
  struct dispatch_state *s = state;
  struct call_context *x = c->context;
  if (c->method->local) return x->surface->local(x->ctx, c);
  ASSERT(c->lane->link);
  note_user(c->lane, c->session);
  // Keep the connection open, because a client that asks about a task will ask again.
  if (c->method->target == CALL_BY_TASK) c->lane->kept_until = loop_now(x->loop) + upstreams_timeout_max(x->upstreams);
  c->to_stateless = lane_stateless(c->lane);
  if (s->next) {
    s->next(c);
    return CALL_WAIT;
  }
  if (task_method(c)) return CALL_WAIT;
  task_prepare(c);
  call_begin(c, call_on_done, call_timeout(c));
  str tool = c->item && call_is_tool(c) ? c->item->name : STR_NONE, params;
  s->link.wait.limit = upstreams_timeout_name(x->upstreams, lane_index(c->lane), tool);
  if (call_is_stateless(c)) asks_due(c);
  bool fits = call_put_headers(c, &s->link.name, &s->link.headers);
  call_trace_headers(c, &s->link.headers);
  call_sign_header(c, &s->link.headers);
  if (fits && translate_params(c, &params)) {
    c->sent = true;
    call_claim_sent(c);
    request_holds(c->request, params.n);
    link_call_send(&s->link, c->request->msg.method, params);
    return CALL_WAIT;
  }
  link_call_forget(&s->link);
  return call_refuse(c, RPC_INVALID_PARAMS,
                     fits ? "the request, with its answers, is larger than limits.message"
                          : "an argument that is repeated in a header is larger than 64 KiB",
                     STR_NONE);
}

static void cancel(struct call *c, void *state, str reason) {
  struct dispatch_state *s = state;
  if (reason.p) link_call_cancel(&s->link, reason);
  ASSERT(!s->link.link);
  call_leave_lane(c);
  if (c->method->local) c->context->surface->local_over(c->context->ctx, c);
}

static void done(struct call *c, void *state) {
  struct dispatch_state *s = state;
  if (s->large_message) large_message_forget(s->large_message);
  large_message_unref(&s->large_message);
}

const struct call_step step_dispatch = {
    .name = "dispatch",
    .does = "Sends the request, and waits for the answer.",
    .state = sizeof(struct dispatch_state),
    .run = run,
    .cancel = cancel,
    .done = done,
};
