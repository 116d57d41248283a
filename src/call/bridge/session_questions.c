// SPDX-License-Identifier: Apache-2.0
// Questions that servers with a session ask clients: sampling, elicitation, roots. A question goes to the client whose
// call caused it. A client with a session gets the question as a request with an id of the gateway; the gateway sends
// the client's answer to the server with the server's id. A stateless client gets the question as the answer to its
// call (parked_calls.c), and sends its answer with its next request.
#include <stdio.h>

#include "base/assert.h"
#include "base/mem.h"
#include "call/bridge/parked_calls.h"
#include "call/bridge/session_questions.h"
#include "call/bridge/task_bridge.h"
#include "call/steps/steps.h"
#include "mcp/methods.h"
#include "json/write.h"

enum { MAX_ASKS = 256 };  // maximum number of unanswered questions on one connection

struct asks_state {
  unsigned sent;  // number of questions sent to the call's client
};

struct ask {
  struct list node;
  struct call_context *x;
  struct lane *lane;
  // lane.ready_at when the question came; a later lane.ready_at means that the lane was restarted
  uint64_t lane_opened;
  struct session *session;
  char *id;  // raw JSON: the id of the server's request
  // waits for the answer of a client with a session
  struct rpc_wait wait;
  char *token;  // raw JSON: the server's progress token, or NULL
  // for a stateless client
  char key[24];    // key in inputRequests
  char *question;  // raw: {"method":…,"params":…}
  size_t bytes;    // of `question`
  str method;      // sampling, elicitation or roots_list
  char *task;      // the server's id of the task that the question is about, or NULL
  // the call that the question belongs to; NULL if the answer to any call may contain the question
  struct call *during;
  struct call *by;  // the parked call that was answered with the question, or NULL
};

static char *copy_text(str s) {
  ASSERT(s.p || !s.n);
  char *p = mem_alloc(s.n + 1);
  if (s.n) memcpy(p, s.p, s.n);
  p[s.n] = 0;
  return p;
}

// ---- the addressee

static bool is_call(const struct lane *lane, struct link_call *via) {
  if (!via) return false;
  LIST_EACH(it, &lane->calls)
    if (call_link(call_on_lane(it)) == via) return true;
  return false;
}

struct session *calls_addressee(struct lane *lane, struct link_call *via, struct request **out_related) {
  *out_related = NULL;
  // Messages on a session's own connection are for that session, even if another session's call caused them. (Another
  // session may use the connection for calls about a task that was created on it.)
  bool other_session = is_call(lane, via) && lane->session && call_of_link(via)->session != lane->session;
  if (is_call(lane, via) && !other_session) {
    *out_related = call_of_link(via)->request;
    return call_of_link(via)->session;
  }
  // On a pipe, a message does not name the call that it belongs to. So the client for the message is known only if no
  // other client has calls in flight.
  struct session *only = lane->session;
  LIST_EACH(it, &lane->calls) {
    struct call *c = call_on_lane(it);
    if (lane->session && c->session != lane->session) continue;
    if (only && c->session != only) return NULL;
    only = c->session;
    // of several calls, the latest call's request
    if (c->request) *out_related = c->request;
  }
  return only;
}

static bool wants_logs(const struct call *c) {
  return c->request && (!call_is_stateless(c) || c->session->log_level != SESSION_LOG_UNSET);
}

struct request *calls_logged(struct lane *lane, struct link_call *via) {
  if (is_call(lane, via)) return wants_logs(call_of_link(via)) ? call_of_link(via)->request : NULL;
  struct call *only = NULL;
  LIST_EACH(it, &lane->calls) {
    struct call *c = call_on_lane(it);
    bool same_client = only && only->session == c->session && !call_is_stateless(c);
    if (only && !same_client) return NULL;
    only = c;
  }
  return only && wants_logs(only) ? only->request : NULL;
}

static const str sampling = STR("sampling/createMessage"), elicitation = STR("elicitation/create"),
                 roots_list = STR("roots/list");

static bool may_ask(const struct session *s, const struct lane *lane, str method) {
  if (str_eq(method, sampling)) return s->can_sample;
  if (str_eq(method, elicitation)) return s->can_elicit;
  if (str_eq(method, roots_list)) return s->can_list_roots;
  if (str_starts(method, STR("tasks/"))) return s->has_tasks;
  // A method of a protocol extension goes only to the client that owns the connection, and only if this client has a
  // session.
  return lane->session == s && !s->revision->stateless && method_is_foreign(method);
}

// ---- one question

static bool lane_alive(const struct ask *a) {
  return a->lane && a->lane->state == LANE_READY && a->lane->ready_at == a->lane_opened;
}

void call_clock(struct call *c) {
  bool paused = park_is(c);
  LIST_EACH(it, &c->context->asks.open) {
    const struct ask *a = CONTAINER_OF(it, struct ask, node);
    paused |= a->session == c->session && a->lane == c->lane && lane_alive(a);
  }
  if (paused) call_deadline_hold(c);
  else call_deadline_release(c);
  struct rpc_wait *wait = &call_link(c)->wait;
  if (!wait->pending) return;
  if (paused) rpc_wait_pause(wait);
  else rpc_wait_renew(wait);
}

static void set_clocks(const struct lane *lane, const struct session *s) {
  LIST_EACH(it, &lane->calls) {
    struct call *c = call_on_lane(it);
    if (c->session == s) call_clock(c);
  }
}

static struct ask *ask_new(struct call_context *x, struct lane *lane, struct session *s, const struct rpc_message *m) {
  struct ask *a = MEM_NEW(struct ask);
  a->x = x;
  a->lane = lane;
  a->lane_opened = lane->ready_at;
  a->session = s;
  a->id = copy_text(json_span(m->id));
  lane_asks(lane);
  list_push(&x->asks.open, &a->node);
  set_clocks(lane, s);
  return a;
}

static void ask_free(struct ask *a) {
  ASSERT(a->lane->asks > 0 && a->lane->ask_bytes >= a->bytes);
  a->lane->asks--;
  a->lane->ask_bytes -= a->bytes;
  list_remove(&a->node);
  set_clocks(a->lane, a->session);
  rpc_wait_stop(&a->wait);
  mem_free(a->id);
  mem_free(a->token);
  mem_free(a->question);
  mem_free(a->task);
  mem_free(a);
}

// Answers the server's question with an error, and frees the question.
static void ask_refuse(struct ask *a, str why) {
  if (lane_alive(a)) link_refuse(a->lane->link, str_of(a->id), RPC_INTERNAL_ERROR, why);
  ask_free(a);
}

// ---- clients with a session

static void on_answer(struct rpc_wait *w, const struct rpc_message *reply, const struct fault *f) {
  struct ask *a = CONTAINER_OF(w, struct ask, wait);
  ASSERT(!a->question && a->session);
  if (!reply) {
    bool late = f->code == FAULT_UPSTREAM_TIMEOUT;
    ask_refuse(a, late ? STR("the client did not answer in time (timeouts.request_max)") : str_of(f->message));
    return;
  }
  if (lane_alive(a) && reply->kind == RPC_RESULT) {
    link_reply(a->lane->link, str_of(a->id), json_span(reply->result));
  } else if (lane_alive(a)) {
    struct buf *b = &a->x->text;
    buf_reset(b);
    rpc_put_reply_as(b, reply, str_of(a->id));
    link_send_raw(a->lane->link, buf_view(b));
  }
  ask_free(a);
}

static void on_progress(struct rpc_wait *w, const struct rpc_message *m) {
  struct ask *a = CONTAINER_OF(w, struct ask, wait);
  if (!a->token || !lane_alive(a)) return;
  struct buf *b = &a->x->text;
  buf_reset(b);
  json_copy_edited(b, m->params, &(struct json_edit){STR("progressToken"), str_of(a->token)}, 1);
  link_notify(a->lane->link, m->method, buf_view(b));
}

static str edit_token(struct buf *out, const struct json *params, const struct ask *a) {
  const struct json *meta = json_get(params, STR("_meta"));
  struct str_digits token;
  struct buf edited;
  buf_init(&edited, (size_t)meta->n + 64);
  json_copy_edited(&edited, meta, &(struct json_edit){STR("progressToken"), str_from_u64(a->wait.id, &token)}, 1);
  json_copy_edited(out, params, &(struct json_edit){STR("_meta"), buf_view(&edited)}, 1);
  buf_done(&edited);
  return buf_view(out);
}

static void ask_by_request(struct ask *a, struct request *related, const struct rpc_message *m) {
  const struct json *token = json_get(json_get(m->params, STR("_meta")), STR("progressToken"));
  if (token) a->token = copy_text(json_span(token));
  a->wait.done = on_answer;
  a->wait.progress = on_progress;
  rpc_wait_start(&a->session->asks, &a->wait, upstreams_timeout_max(a->x->upstreams), 0);
  struct buf *b = &a->x->text, params;
  struct str_digits id;
  str raw = m->params ? json_span(m->params) : STR_NONE;
  buf_init(&params, raw.n + 4096);
  if (a->token) raw = edit_token(&params, m->params, a);
  buf_reset(b);
  rpc_put_request(b, str_from_u64(a->wait.id, &id), m->method, raw);
  session_send(a->session, related, buf_view(b));
  buf_done(&params);
}

// ---- stateless clients

static bool can_send(const struct call *c, const struct session *s) {
  return c->session == s && c->request && call_may_ask(c);
}

// Returns the call that waits for the task and can send the task's questions to its client. Returns NULL if there is no
// such call; then the answer to tasks/get contains the questions.
static struct call *call_for_task(struct lane *lane, const char *task, const struct session *s) {
  LIST_EACH(it, &lane->calls) {
    struct call *c = call_on_lane(it);
    if (c->session == s && str_eq(task_id(c), str_of(task)) && (can_send(c, s) || park_is(c))) return c;
  }
  return NULL;
}

// Returns the call that a question belongs to, or NULL if it is unknown. Over HTTP this is the call of `via`; on a
// pipe, it is the latest call that can send the question to its client.
static struct call *call_during(struct lane *lane, struct link_call *via, const struct session *s, const char *task) {
  struct call *latest = NULL;
  if (task) return call_for_task(lane, task, s);
  if (is_call(lane, via))
    return can_send(call_of_link(via), s) || park_is(call_of_link(via)) ? call_of_link(via) : NULL;
  LIST_EACH(it, &lane->calls) {
    struct call *c = call_on_lane(it);
    if (can_send(c, s) || (c->session == s && park_is(c))) latest = c;
  }
  return latest;
}

// Returns a call whose answer can contain the question, or NULL. If the question belongs to a call, only that call is
// considered.
static struct call *sender_of(const struct ask *a) {
  LIST_EACH(it, &a->lane->calls) {
    struct call *c = call_on_lane(it);
    if (can_send(c, a->session) && (a->during ? a->during == c : !a->task)) return c;
  }
  return NULL;
}

// Returns whether the question is for this client and may be part of an answer: of the answer to the call `by` or, if
// `by` is NULL, of the answer to tasks/get.
static bool is_for(const struct ask *a, const struct session *s, const struct lane *lane, const struct call *by) {
  if (by && a->task && a->during != by) return false;
  bool free = (!a->by || a->by == by) && (!a->during || !by || a->during == by);
  return a->question && free && a->session == s && a->lane == lane && lane_alive(a);
}

static bool is_open(const struct call_context *x, const struct ask *which) {
  LIST_EACH(it, &x->asks.open)
    if (CONTAINER_OF(it, struct ask, node) == which) return true;
  return false;
}

// Sends questions to stateless clients. Runs at the end of an iteration of the event loop, so that questions that
// arrive together are sent together.
static void on_due(struct deferred *d) {
  struct call_context *x = CONTAINER_OF(d, struct call_context, asks.due);
  for (bool again = true; again;) {
    again = false;
    LIST_EACH(it, &x->asks.open) {
      struct ask *a = CONTAINER_OF(it, struct ask, node);
      struct call *c = a->question && !a->by && lane_alive(a) ? sender_of(a) : NULL;
      if (!c) continue;
      // park either sends all open questions for this client or frees some of them, so the list must be read from its
      // start.
      if (!park(c) && is_open(x, a)) ask_refuse(a, STR("the client cannot receive questions now"));
      again = true;
      break;
    }
  }
}

void asks_due(struct call *c) {
  struct call_context *x = c->context;
  LIST_EACH(it, &x->asks.open) {
    struct ask *a = CONTAINER_OF(it, struct ask, node);
    if (is_for(a, c->session, c->lane, c) && !a->by) loop_defer(x->loop, &x->asks.due);
  }
}

static void ask_by_answer(struct ask *a, struct link_call *via, const struct rpc_message *m) {
  // Members of a question's params that the stateless revision does not have.
  static const struct json_edit gone[] = {{STR("_meta"), {0}}, {STR("task"), {0}}, {STR("elicitationId"), {0}}};
  ASSERT(!a->question && a->session->revision->stateless);
  struct buf b;
  buf_init(&b, (m->params ? m->params->n : 0) + m->method.n * 6 + 64);
  buf_str(&b, STR("{\"method\":"));
  json_escape(&b, m->method);
  if (json_is(m->params, JSON_OBJECT)) {
    buf_str(&b, STR(",\"params\":"));
    json_copy_edited(&b, m->params, gone, sizeof gone / sizeof *gone);
  }
  buf_char(&b, '}');
  a->question = copy_text(buf_view(&b));
  a->bytes = b.n;
  a->lane->ask_bytes += a->bytes;
  a->during = call_during(a->lane, via, a->session, a->task);
  a->method = str_eq(m->method, sampling) ? sampling : str_eq(m->method, elicitation) ? elicitation : roots_list;
  buf_done(&b);
  loop_defer(a->x->loop, &a->x->asks.due);
}

bool asks_open(const struct call *c) {
  LIST_EACH(it, &c->context->asks.open)
    if (is_for(CONTAINER_OF(it, struct ask, node), c->session, c->lane, c)) return true;
  return false;
}

bool asks_declared(struct call *c) {
  bool any = false;
  LIST_EACH(it, &c->context->asks.open) {
    struct ask *a = CONTAINER_OF(it, struct ask, node);
    if (!is_for(a, c->session, c->lane, c)) continue;
    if (may_ask(c->request->session, a->lane, a->method)) any = true;
    else ask_refuse(a, STR("the client no longer declares the capability for this"));
  }
  return any;
}

static bool is_of_task(const struct ask *a, str task) {
  return a->task ? str_eq(str_of(a->task), task) : !task.p;
}

void asks_put(struct call_context *x, struct session *s, struct lane *lane, struct call *by, str task,
              struct buf *out) {
  bool any = false;
  LIST_EACH(it, &x->asks.open) {
    struct ask *a = CONTAINER_OF(it, struct ask, node);
    if (!is_for(a, s, lane, by) || (!by && !is_of_task(a, task))) continue;
    if (!a->key[0]) {
      // The keys of questions are q1, q2, … in answers to a call. They are t1, t2, … in answers to tasks/get.
      struct asks_state *sent = by ? call_state(by, STEP_ASKS) : NULL;
      if (sent) snprintf(a->key, sizeof a->key, "q%u", ++sent->sent);
      else snprintf(a->key, sizeof a->key, "t%llu", (unsigned long long)++x->asks.next);
    }
    buf_printf(out, "%s\"%s\":", any ? "," : "", a->key);
    buf_str(out, str_of(a->question));
    a->by = by;
    if (by) a->during = by;
    any = true;
  }
}

void asks_answer(struct call_context *x, struct session *s, struct lane *lane, struct call *by, str task,
                 const struct json *responses) {
  bool missing = false;
  LIST_EACH(it, &x->asks.open) {
    struct ask *a = CONTAINER_OF(it, struct ask, node);
    if (!is_for(a, s, lane, by) || (!by && !is_of_task(a, task))) continue;
    const struct json *answer = a->key[0] ? json_get(responses, str_of(a->key)) : NULL;
    a->by = NULL;
    if (!json_is(answer, JSON_OBJECT)) {
      missing = true;
      continue;
    }
    ASSERT(lane_alive(a));
    link_reply(a->lane->link, str_of(a->id), json_span(answer));
    if (str_eq(a->method, roots_list)) a->lane->rooted = true;
    ask_free(a);
  }
  if (missing) loop_defer(x->loop, &x->asks.due);
}

void asks_refuse(struct call *c, str why) {
  LIST_EACH(it, &c->context->asks.open) {
    struct ask *a = CONTAINER_OF(it, struct ask, node);
    if (a->by == c || a->during == c) ask_refuse(a, why);
  }
}

unsigned asks_sent(const struct call *c) {
  const struct asks_state *s = call_state(c, STEP_ASKS);
  return s->sent;
}

// Refuses the questions of a call that ends.
static void cancel(struct call *c, void *state, str reason) {
  if (list_empty(&c->context->asks.open)) return;
  asks_refuse(c, !reason.p                     ? STR("the call has ended")
                 : reason.n && reason.n <= 512 ? reason
                                               : STR("the client cancelled the request"));
}

const struct call_step step_asks = {
    .name = "asks",
    .does = "A server with a session asks its client something during the call.",
    .state = sizeof(struct asks_state),
    .cancel = cancel,
};

void calls_lane_ready(struct call_context *x, struct lane *lane) {
  LIST_EACH(it, &x->asks.open) {
    struct ask *a = CONTAINER_OF(it, struct ask, node);
    if (a->lane == lane && a->question && !lane_alive(a)) ask_free(a);
  }
}

void asks_forget(struct call_context *x, const struct session *s) {
  LIST_EACH(it, &x->asks.open) {
    struct ask *a = CONTAINER_OF(it, struct ask, node);
    // Also refuse questions for other clients on the session's own connections, because these connections end with the
    // session.
    if (a->session == s || a->lane->session == s) ask_refuse(a, STR("the client is gone"));
  }
}

void asks_init(struct call_context *x) {
  list_init(&x->asks.open);
  deferred_init(&x->asks.due, on_due);
}

// ---- from the server

static const struct json *related_task(const struct json *params) {
  const struct json *related = json_get(json_get(params, STR("_meta")), STR("io.modelcontextprotocol/related-task"));
  const struct json *id = json_get(related, STR("taskId"));
  return json_is(id, JSON_STRING) ? id : NULL;
}

// Returns the agent that the client named in the call that a server's message belongs to. If that call is unknown, uses
// any call of this client that is in flight on the same connection.
static str named_by(const struct lane *lane, struct link_call *via, const struct session *s) {
  if (is_call(lane, via)) return call_of_link(via)->named;
  LIST_EACH(it, &lane->calls) {
    const struct call *c = call_on_lane(it);
    if (c->session == s) return c->named;
  }
  return STR_NONE;
}

void calls_ask(struct call_context *x, struct lane *lane, struct link_call *via, const struct rpc_message *m) {
  ASSERT(lane->link && m->id);
  struct request *related;
  struct session *s = calls_addressee(lane, via, &related);
  if (s && !policy_lets_hear(x, s, named_by(lane, via, s), lane_index(lane), STR_NONE)) s = NULL;
  if (!s || !may_ask(s, lane, m->method)) {
    link_refuse(lane->link, json_span(m->id), RPC_METHOD_NOT_FOUND,
                s ? STR("the client has not declared the capability for this")
                  : STR("no client can be asked at the moment"));
    return;
  }
  enum { MAX_ASK_ID = 1024 };  // stored with the question
  size_t size = (m->params ? m->params->n : 0) + (m->id->n > MAX_ASK_ID ? x->text.max : 0);
  if (lane->asks >= MAX_ASKS || lane->ask_bytes + size > x->text.max) {
    link_refuse(lane->link, json_span(m->id), RPC_INTERNAL_ERROR, STR("too many questions are unanswered"));
    return;
  }
  const struct json *task = related_task(m->params);
  // Outside of a call, a server may ask a stateless client only for roots. The answer to the client's next call then
  // contains the question. Other questions would appear in the answer to an unrelated call.
  bool without_session =
      s->revision->stateless && !task && !str_eq(m->method, roots_list) && !call_during(lane, via, s, NULL);
  if (without_session) {
    link_refuse(lane->link, json_span(m->id), RPC_INTERNAL_ERROR,
                STR("this question does not belong to a call in flight"));
    return;
  }
  struct ask *a = ask_new(x, lane, s, m);
  if (s->revision->stateless && task) {
    struct arena scratch;
    str id = STR_NONE;
    arena_init(&scratch);
    json_string(task, &scratch, &id);
    a->task = copy_text(id);
    arena_done(&scratch);
  }
  if (s->revision->stateless) ask_by_answer(a, via, m);
  else ask_by_request(a, related, m);
}

void calls_ask_cancelled(struct call_context *x, struct lane *lane, const struct rpc_message *m) {
  const struct json *id = json_get(m->params, STR("requestId"));
  if (!id) return;
  LIST_EACH(it, &x->asks.open) {
    struct ask *a = CONTAINER_OF(it, struct ask, node);
    if (a->lane != lane || !str_eq(str_of(a->id), json_span(id))) continue;
    struct session *s = a->session;
    bool by_request = !a->question;
    struct str_digits digits;
    str number = str_from_u64(a->wait.id, &digits);
    ask_free(a);
    if (!by_request) return;
    struct buf *b = &x->text;
    buf_reset(b);
    json_copy_edited(b, m->params, &(struct json_edit){STR("requestId"), number}, 1);
    session_notify(s, NULL, m->method, buf_view(b));
    return;
  }
}
