// SPDX-License-Identifier: Apache-2.0
// The request goes out under an id of ours, and its answer comes back: the last, or one that asks for more.
#include "call/steps/step_dispatch.h"
#include "call/about.h"
#include "call/bridge/ask.h"
#include "call/bridge/park.h"
#include "call/bridge/rounds.h"
#include "call/bridge/task_bridge.h"
#include "call/bridge/translate.h"
#include "call/scrub.h"
#include "call/steps/step_param_headers.h"
#include "call/steps/step_resume.h"
#include "call/steps/step_retry.h"
#include "call/steps/step_trace.h"
#include "mcp/server/callers.h"
#include "json/write.h"

struct dispatch_state {
  call_done *done;               // of what was sent
  void (*next)(struct call *c);  // what is sent once the lane is there; NULL: the request
  bool replayed;                 // in a new session of the server, which had forgotten the first
};

static struct dispatch_state *state_of(const struct call *c) {
  return call_state(c, &step_dispatch);
}

bool call_continues(const struct call *c) {
  return state_of(c)->next;
}

static void on_progress(struct link_call *lc, const struct rpc_message *m) {
  struct call *c = CONTAINER_OF(lc, struct call, link);
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

// What the upstream does to us we may do to the client: let go of its connection until there is an answer.
static void on_polled(struct link_call *lc) {
  struct call *c = CONTAINER_OF(lc, struct call, link);
  if (c->request) request_suspend(c->request);
}

// Only for a URI that was routed by guessing: this upstream just does not have it. What was asked and answered is
// between the client and that one.
bool call_try_next(struct call *c) {
  if (c->route + 1 >= c->route_count || call_is_bound(c)) return false;
  c->route++;
  call_restart(c, &step_connect);
  return true;
}

void call_on_done(struct link_call *lc, const struct rpc_message *reply, const struct fault *f) {
  struct call *c = CONTAINER_OF(lc, struct call, link);
  list_remove(&c->node);
  if (park_is(c)) {
    park_keep(c, reply, f);
  } else if (f && f->code == FAULT_UPSTREAM_SESSION_LOST && !state_of(c)->replayed && !c->parking && !task_id(c).n) {
    state_of(c)->replayed = true;
    call_restart(c, &step_connect);
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
    fail(c, "answered with a resultType that is not known");
    return;
  }
  if (reply->kind == RPC_ERROR && call_try_next(c)) return;
  if (type == RESULT_INPUT_REQUIRED && !(reply = call_scrub_questions(c, reply))) {
    fail(c, "asks something that cannot be searched for secrets");
    return;
  }
  if (asks) rounds_begin(c, reply);
  else if (!task_reply(c, reply)) call_answer(c, reply);
}

// The call may be gone when its `done` returns, and what it was given is used until then.
static void on_opened(void *ctx, struct large_message *p) {
  struct call *c = ctx;
  large_message_ref(p);
  c->link.done(&c->link, p->good ? &p->message : NULL, p->good ? NULL : &p->fault);
  large_message_unref(&p);
}

static void on_large(struct link_call *lc, struct large_message *reply) {
  struct call *c = CONTAINER_OF(lc, struct call, link);
  list_remove(&c->node);
  turn_end(&c->turn);
  timer_stop(&c->deadline);  // it was kept: the rest is our own time
  c->held_ms = 0;
  large_message_unref(&c->large_message);
  c->large_message = reply;
  reply->remove_hidden = !c->context->results.keep_hidden;
  large_message_open(reply, on_opened, c);
}

void call_continue(struct call *c, void (*next)(struct call *c)) {
  state_of(c)->next = next;
  call_restart(c, &step_connect);
}

// The next may have its turn.
static void on_done(struct link_call *lc, const struct rpc_message *reply, const struct fault *f) {
  struct call *c = CONTAINER_OF(lc, struct call, link);
  turn_end(&c->turn);
  state_of(c)->done(lc, reply ? calls_unhide(c->context, reply, call_arena(c)) : NULL, f);
}

void call_begin(struct call *c, call_done *done, uint64_t timeout_ms) {
  state_of(c)->done = done;
  c->link.done = on_done;
  c->link.take = on_large;
  c->link.progress = on_progress;
  c->link.polled = on_polled;
  list_push(&c->lane->calls, &c->node);
  link_call_begin(c->lane->link, &c->link, timeout_ms, call_time_max(c));
  if (c->lane->asks) call_clock(c);
}

static void note_user(struct lane *lane, const struct session *s) {
  // A session that is lent to several clients at once is several users.
  if (s->callers && s->lent == LENT_SHARED && !s->callers->opt.one_client) lane->mixed = true;
  if (!lane->user[0]) memcpy(lane->user, s->id, sizeof lane->user);
  else if (!lane->mixed) lane->mixed = memcmp(lane->user, s->id, sizeof lane->user) != 0;
}

uint64_t call_timeout(const struct call *c) {
  const struct upstreams *u = c->context->upstreams;
  unsigned index = c->routes[c->route].source;
  bool tool = c->item && call_is_tool(c);
  return tool ? upstreams_tool_timeout(u, index, c->item->name) : upstreams_timeout(u, index);
}

static void begin(struct call *c) {
  const struct upstreams *u = c->context->upstreams;
  unsigned index = lane_index(c->lane);
  str tool = c->item && call_is_tool(c) ? c->item->name : STR_NONE;
  call_begin(c, call_on_done, call_timeout(c));
  c->link.wait.limit = upstreams_timeout_name(u, index, tool);
}

static enum call_result run(struct call *c, void *state) {
  if (c->method->local) return c->context->local(c->context->ctx, c);
  note_user(c->lane, c->session);
  // Whoever asks for a task will ask again.
  if (c->method->target == CALL_BY_TASK)
    c->lane->kept_until = loop_now(c->context->loop) + upstreams_timeout_max(c->context->upstreams);
  c->to_stateless = lane_stateless(c->lane);
  const struct dispatch_state *s = state;
  if (s->next) {
    s->next(c);
    return CALL_WAIT;
  }
  if (task_method(c)) return CALL_WAIT;
  task_prepare(c);
  begin(c);
  if (call_is_stateless(c)) asks_due(c);
  str params;
  bool fits = call_set_headers(c);
  call_trace_headers(c);
  if (fits && translate_params(c, &params)) {
    c->sent = true;
    request_holds(c->request, params.n);
    link_call_send(&c->link, c->request->msg.method, params);
    return CALL_WAIT;
  }
  link_call_forget(&c->link);
  return call_refuse(c, RPC_INVALID_PARAMS,
                     fits ? "the request, with its answers, is larger than limits.message"
                          : "an argument that is repeated in a header is larger than 64 KiB",
                     STR_NONE);
}

static void cancel(struct call *c, void *state) {
  if (c->method->local) c->context->local_over(c->context->ctx, c);
}

const struct call_step step_dispatch = {
    .name = "dispatch",
    .does = "The request goes out, and its answer is waited for.",
    .state = sizeof(struct dispatch_state),
    .run = run,
    .cancel = cancel,
};
