// SPDX-License-Identifier: Apache-2.0
// Parked calls. A server with a session may ask a question during the call of a stateless client. The client cannot
// receive a request, so the gateway answers the client's request with input_required: the questions and an encrypted
// ticket. The call is then parked: it stays in memory without a request. The client sends its request again, with its
// answers and the ticket. The new request continues the call, and the server gets the answers.
#include "call/bridge/parked_calls.h"
#include "base/assert.h"
#include "base/mem.h"
#include "call/bridge/session_questions.h"
#include "call/bridge/task_bridge.h"
#include "call/bridge/tasks.h"
#include "call/flow_guard.h"
#include "call/report.h"
#include "call/steps/steps.h"
#include "mcp/meta.h"

// Maximum number of parked calls, and of bytes of all replies stored for them.
enum { MAX_PARKED = 100000, MAX_KEPT = 64 << 20 };

struct parking {
  struct list node;
  struct call *call;
  uint64_t number;  // number of the parked call, its key in parked.waiting; 0 while the call runs
  struct timer expiry;
  char *reply;  // the server's reply if it came while the call was parked, otherwise NULL
  size_t reply_n;
  // the server's reply if it is a large message (a mebibyte or more), otherwise NULL
  struct large_message *large_message;
  bool failed;  // the call failed while it was parked
  struct fault why;
  struct arena arena;  // copies of data from the call's first request, which has ended
  bool moved;
};

struct park_state {
  struct parking *parking;  // NULL if the call was never parked
};

static struct parking *parking_of(const struct call *c) {
  const struct park_state *s = call_state(c, STEP_PARK);
  return s->parking;
}

static str key_of(const uint64_t *number) {
  return (str){(const char *)number, sizeof *number};
}

struct arena *call_arena(struct call *c) {
  struct parking *p = parking_of(c);
  return p ? &p->arena : &c->request->arena;
}

bool park_was(const struct call *c) {
  return parking_of(c);
}

bool park_is(const struct call *c) {
  const struct parking *p = parking_of(c);
  return p && p->number;
}

void park_give_up(struct call *c, const char *why) {
  ASSERT(park_is(c) && !c->request);
  log_info(c->context->loop->log, "session %.8s: cancelled a %s call that was waiting for its client: %s",
           c->session->id, c->method->name, why);
  call_drop(c, str_of(why));
}

static void on_expired(struct timer *t) {
  park_give_up(CONTAINER_OF(t, struct parking, expiry)->call, "the client did not answer in time");
}

static struct parking *parking_new(struct call *c) {
  struct park_state *s = call_state(c, STEP_PARK);
  ASSERT(!s->parking);
  struct parking *p = s->parking = MEM_NEW(struct parking);
  p->call = c;
  arena_init(&p->arena);
  list_push(&c->context->parked.all, &p->node);
  timer_init(&p->expiry, on_expired);
  // From now on the call may have no request, so the call itself must keep the session open.
  session_park(c->session);
  return p;
}

static void unlist(struct parking *p) {
  timer_stop(&p->expiry);
  if (p->number) map_remove(&p->call->context->parked.waiting, key_of(&p->number));
  p->number = 0;
}

static void put_questions(struct call *c, const struct ticket_use *use, struct buf *out) {
  struct ticket ticket = {.kind = TICKET_PARKED, .number = parking_of(c)->number};
  buf_reset(out);
  buf_str(out, STR("{\"resultType\":\"input_required\",\"inputRequests\":{"));
  asks_put(c->context, c->session, c->lane, c, STR_NONE, out);
  buf_str(out, STR("},\"requestState\":\""));
  ticket_issue(&c->context->tickets, &ticket, use, out);
  buf_str(out, STR("\",\"_meta\":"));
  buf_str(out, META_OF_TOOLGATE);
  buf_char(out, '}');
}

bool park(struct call *c) {
  if (c->options.receiver) return false;  // the receiver must get the outcome while this request is open
  struct call_context *x = c->context;
  if (!asks_declared(c)) return false;
  if (map_count(&x->parked.waiting) >= MAX_PARKED) {
    asks_refuse(c, STR("too many calls wait for their clients' answers"));
    return false;
  }
  struct parking *p = park_was(c) ? parking_of(c) : parking_new(c);
  ASSERT(!p->number && c->request);
  p->number = ++x->parked.next;
  map_add(&x->parked.waiting, key_of(&p->number), p);
  timer_start(x->loop, &p->expiry, x->tickets.life_ms);
  call_clock(c);
  struct ticket_use use = call_use(c);  // must be called before call_detach, which drops the arguments
  call_detach(c, p->moved ? NULL : &p->arena);
  p->moved = true;
  put_questions(c, &use, &x->text);
  if (x->text.over) {
    unlist(p);
    asks_refuse(c, STR("the questions are larger than limits.message"));
    return false;
  }
  struct request *r = c->request;
  call_audit(c, true);
  c->request = NULL;
  r->work = NULL;
  log_debug(x->loop->log, "session %.8s: %s call waits until the client answers the server's questions", c->session->id,
            c->method->name);
  request_reply_whole(r, buf_view(&x->text));
  return true;
}

// Returns whether a parked call holds a connection to the server that the call `c` wants to reach.
static bool takes_place(const struct parking *p, const struct call *c) {
  const struct call *other = p->call;
  return p->number && other->routes[other->route].source == c->routes[c->route].source && other->session->callers;
}

// Returns how many parked calls of a principal hold a connection to the server that the call `c` wants to reach.
static size_t count_of(const struct call *c, int principal) {
  size_t n = 0;
  LIST_EACH(it, &c->context->parked.all) {
    const struct parking *p = CONTAINER_OF(it, struct parking, node);
    n += takes_place(p, c) && p->call->session->principal == principal;
  }
  return n;
}

bool park_make_room(const struct call *c, bool own) {
  struct parking *found = NULL;
  size_t most = 0;
  LIST_EACH(it, &c->context->parked.all) {
    struct parking *p = CONTAINER_OF(it, struct parking, node);
    int principal = p->call->session->principal;
    bool may = takes_place(p, c) && (!own || principal == c->session->principal);
    size_t n = may ? count_of(c, principal) : 0;
    if (n <= most) continue;
    most = n;
    found = p;
  }
  if (!found) return false;
  park_give_up(found->call, "another call needs its connection");
  return true;
}

struct call *park_find(struct call_context *x, uint64_t number) {
  struct parking *p = map_find(&x->parked.waiting, key_of(&number));
  return p ? p->call : NULL;
}

bool park_allowed(struct call *c, const struct call *by) {
  struct caller now;
  struct fault f;
  if (!caller_find(c->context->rules, by->session, by->named, &now, &f) || !str_eq(now.id, c->caller.id)) return false;
  str tool = call_tool_name(c);
  if (!caller_may(&now, call_server(c), tool.p ? ITEM_TOOL : ITEM_RESOURCE, tool)) return false;
  // The call's arguments were checked with an older governance file or run context.
  if (now.governance != c->governance || now.run != c->run) return false;
  now.id = c->caller.id;
  c->caller = now;
  policy_unref(&c->policy);
  if (now.policy) c->policy = policy_ref(c->context->rules->policy);
  return true;
}

void park_keep(struct call *c, const struct rpc_message *reply, const struct fault *f) {
  struct parking *p = parking_of(c);
  struct fault full;
  size_t bytes = 0;
  ASSERT(p && !p->reply && !p->large_message);
  fault_set(&full, FAULT_UPSTREAM_ERROR,
            "answered, but the gateway already stores 64 MiB of answers; call again later");
  LIST_EACH(it, &c->context->parked.all) {
    const struct parking *other = CONTAINER_OF(it, struct parking, node);
    if (other->reply || other->large_message) bytes += other->reply_n;
  }
  if (!f && bytes && bytes + reply->root->n > MAX_KEPT) f = &full;
  if (f) {
    p->failed = true;
    p->why = *f;
    return;
  }
  call_claim_answered(c, reply);
  p->reply_n = reply->root->n;
  if (reply->large_message) {
    p->large_message = large_message_ref(reply->large_message);
    return;
  }
  p->reply = mem_alloc(p->reply_n);
  memcpy(p->reply, reply->root->p, p->reply_n);
}

// Handles the server's reply that was stored while the call was parked. Removes the stored reply, because the call may
// be parked again and get another one.
static void answer_kept(struct call *c) {
  struct parking *p = parking_of(c);
  struct large_message *large_message = p->large_message;
  if (large_message) {
    p->large_message = NULL;
    call_replied(c, &large_message->message);
    large_message_unref(&large_message);
    return;
  }
  ASSERT(p->reply && c->request);
  struct arena *a = &c->request->arena;
  str text = arena_str(a, (str){p->reply, p->reply_n});
  mem_free(p->reply);
  p->reply = NULL;
  struct rpc_message reply;
  struct rpc_error err;
  struct fault f;
  const struct json *root = json_parse(a, text, &c->session->server->limits, &f);
  if (root && rpc_read(root, a, &reply, &err)) {
    call_replied(c, &reply);
    return;
  }
  fault_set(&f, FAULT_PROTOCOL, "answered with invalid JSON-RPC");
  call_fault(c, &f);
}

void park_resume(struct call *c, struct request *r) {
  struct parking *p = parking_of(c);
  ASSERT(p && p->number && !c->request && !r->work);
  unlist(p);
  c->request = r;
  r->work = &c->work;
  asks_answer(c->context, c->session, c->lane, c, STR_NONE, json_get(r->msg.params, STR("inputResponses")));
  call_clock(c);
  if (p->failed) call_fault(c, &p->why);
  else if (p->reply || p->large_message) answer_kept(c);
  else if (!call_link(c)->link && !call_large(c)) roots_answered(c);
}

static void done(struct call *c, void *state) {
  struct parking *p = ((struct park_state *)state)->parking;
  if (!p) return;
  unlist(p);
  list_remove(&p->node);
  mem_free(p->reply);
  large_message_unref(&p->large_message);
  arena_done(&p->arena);
  mem_free(p);
  session_unpark(c->session);
}

const struct call_step step_park = {
    .name = "park",
    .does = "Waits without a request until a stateless client has answered the server's questions.",
    .state = sizeof(struct park_state),
    .done = done,
};

void calls_forget(struct call_context *x, struct session *s) {
  quota_forget(x, s);
  budget_forget(x, s);
  flow_forget(x, s);
  tasks_forget(x->tasks, s);
  asks_forget(x, s);
  struct fault f;
  LIST_EACH(it, &x->parked.all) {
    struct call *c = CONTAINER_OF(it, struct parking, node)->call;
    if (c->session != s) continue;
    if (!c->request) {
      call_drop(c, STR("the client is gone"));
      continue;
    }
    // Another session's request has continued this call and still needs an answer.
    call_stop(c, STR("the client is gone"));
    fault_set(&f, FAULT_SHUTTING_DOWN, "server \"%.*s\" is being disconnected; call again", STR_ARG(call_server(c)));
    call_end(c, &f, RPC_INTERNAL_ERROR, STR_NONE);
  }
}
