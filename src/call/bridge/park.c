// SPDX-License-Identifier: Apache-2.0
// A server with a session asks while a stateless client waits for its call. The client cannot be sent a request, so its
// call is answered: input_required, with the questions and a sealed ticket. The call itself stays as it is, without a
// request: parked. The client calls again with answers and ticket; that request takes the call up, the answers go to
// the server, and the call goes on from where it was.
#include "call/bridge/park.h"
#include "base/assert.h"
#include "base/mem.h"
#include "call/about.h"
#include "call/bridge/ask.h"
#include "call/bridge/task_bridge.h"
#include "call/bridge/tasks.h"
#include "call/call_audit.h"
#include "call/steps/step_dispatch.h"
#include "call/steps/step_quota.h"
#include "call/steps/step_roots.h"
#include "mcp/meta.h"

enum { MAX_PARKED = 100000, MAX_KEPT = 64 << 20 };  // calls, and bytes of answers to them

struct parking {
  struct list node;
  struct call *call;
  uint64_t number;  // under which it waits; 0: a request has it
  struct timer expiry;
  char *reply;  // what the upstream answered meanwhile, or NULL
  size_t reply_n;
  struct large_message *large_message;  // the same, when it is large
  bool failed;                          // or why it can no longer answer
  struct fault why;
  struct arena arena;  // what the call has from the request it came with, which is gone
  bool moved;
};

static str key_of(const uint64_t *number) {
  return (str){(const char *)number, sizeof *number};
}

struct arena *call_arena(struct call *c) {
  return c->parking ? &c->parking->arena : &c->request->arena;
}

bool park_is(const struct call *c) {
  return c->parking && c->parking->number;
}

void park_give_up(struct call *c, const char *why) {
  log_info(c->context->loop->log, "session %.8s: %s given up: %s", c->session->id, c->method->name, why);
  asks_refuse(c, why);
  task_abandon(c);
  call_drop(c, str_of(why));
}

static void on_expired(struct timer *t) {
  park_give_up(CONTAINER_OF(t, struct parking, expiry)->call, "the client did not answer in time");
}

static struct parking *parking_of(struct call *c) {
  if (c->parking) return c->parking;
  struct parking *p = c->parking = MEM_NEW(struct parking);
  p->call = c;
  arena_init(&p->arena);
  list_push(&c->context->parkings, &p->node);
  timer_init(&p->expiry, on_expired);
  // From now on the call may be without a request, whose session it therefore keeps.
  session_park(c->session);
  return p;
}

static void unlist(struct parking *p) {
  timer_stop(&p->expiry);
  if (p->number) map_remove(&p->call->context->parked, key_of(&p->number));
  p->number = 0;
}

static void put_questions(struct call *c, const struct ticket_use *use, struct buf *out) {
  struct ticket ticket = {.kind = TICKET_PARKED, .number = c->parking->number};
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
  struct call_context *x = c->context;
  if (!asks_declared(c)) return false;
  if (map_count(&x->parked) >= MAX_PARKED) {
    asks_refuse(c, "too many calls wait for their clients' answers");
    return false;
  }
  struct parking *p = parking_of(c);
  ASSERT(!p->number);
  p->number = ++x->next_parked;
  map_add(&x->parked, key_of(&p->number), p);
  timer_start(x->loop, &p->expiry, x->tickets.life_ms);
  call_clock(c);
  struct ticket_use use = call_use(c);  // before the call forgets how its arguments were written
  call_detach(c, p->moved ? NULL : &p->arena);
  p->moved = true;
  put_questions(c, &use, &x->text);
  if (x->text.over) {
    unlist(p);
    asks_refuse(c, "the questions are larger than limits.message");
    return false;
  }
  struct request *r = c->request;
  call_audit(c, true);
  c->request = NULL;
  r->work = NULL;
  log_debug(x->loop->log, "session %.8s: %s waits for its client's answers", c->session->id, c->method->name);
  request_reply_whole(r, buf_view(&x->text));
  return true;
}

static bool takes_place(const struct parking *p, const struct call *c) {
  const struct call *other = p->call;
  return p->number && other->routes[other->route].source == c->routes[c->route].source && other->session->callers;
}

static size_t count_of(const struct call *c, int principal) {
  size_t n = 0;
  LIST_EACH(it, &c->context->parkings) {
    const struct parking *p = CONTAINER_OF(it, struct parking, node);
    n += takes_place(p, c) && p->call->session->principal == principal;
  }
  return n;
}

bool park_make_room(const struct call *c, bool own) {
  struct parking *found = NULL;
  size_t most = 0;
  LIST_EACH(it, &c->context->parkings) {
    struct parking *p = CONTAINER_OF(it, struct parking, node);
    int principal = p->call->session->principal;
    bool may = takes_place(p, c) && (!own || principal == c->session->principal);
    size_t n = may ? count_of(c, principal) : 0;
    if (n <= most) continue;
    most = n;
    found = p;
  }
  if (!found) return false;
  park_give_up(found->call, "others need the connection that it holds");
  return true;
}

struct call *park_find(struct call_context *x, uint64_t number) {
  struct parking *p = map_find(&x->parked, key_of(&number));
  return p ? p->call : NULL;
}

bool park_allowed(struct call *c, const struct call *by) {
  struct caller now;
  struct fault f;
  if (!caller_find(c->context->rules, by->session, by->named, &now, &f) || !str_eq(now.id, c->caller.id)) return false;
  str tool = call_tool_name(c);
  if (!caller_may(&now, call_server(c), tool.p ? ITEM_TOOL : ITEM_RESOURCE, tool)) return false;
  now.id = c->caller.id;
  c->caller = now;
  policy_unref(&c->policy);
  if (now.policy) c->policy = policy_ref(c->context->rules->policy);
  return true;
}

static size_t bytes_kept(const struct call_context *x) {
  size_t n = 0;
  LIST_EACH(it, &x->parkings) {
    const struct parking *p = CONTAINER_OF(it, struct parking, node);
    if (p->reply || p->large_message) n += p->reply_n;
  }
  return n;
}

void park_keep(struct call *c, const struct rpc_message *reply, const struct fault *f) {
  struct parking *p = c->parking;
  struct fault full;
  fault_set(&full, FAULT_UPSTREAM_ERROR, "answered while too many answers waited for clients that were asked");
  size_t kept = bytes_kept(c->context);
  if (!f && kept && kept + reply->root->n > MAX_KEPT) f = &full;
  if (f) {
    p->failed = true;
    p->why = *f;
    return;
  }
  p->reply_n = reply->root->n;
  if (reply->large_message) {
    p->large_message = large_message_ref(reply->large_message);
    return;
  }
  p->reply = mem_alloc(p->reply_n);
  memcpy(p->reply, reply->root->p, p->reply_n);
}

// Once: what follows may be another reply.
static void answer_kept(struct call *c) {
  struct parking *p = c->parking;
  struct large_message *large_message = p->large_message;
  if (large_message) {
    p->large_message = NULL;
    call_replied(c, &large_message->message);
    large_message_unref(&large_message);
    return;
  }
  struct arena *a = &c->request->arena;
  str text = arena_str(a, (str){p->reply, p->reply_n});
  mem_free(p->reply);
  p->reply = NULL;
  struct rpc_message reply;
  struct rpc_error err;
  struct fault f;
  const struct json *root = json_parse(a, text, &c->session->server->limits, &f);
  bool read = root && rpc_read(root, a, &reply, &err);
  ASSERT(read);  // it was read when it came
  call_replied(c, &reply);
}

void park_resume(struct call *c, struct request *r) {
  struct parking *p = c->parking;
  unlist(p);
  c->request = r;
  r->work = &c->work;
  asks_answer(c->context, c->session, c->lane, c, STR_NONE, json_get(r->msg.params, STR("inputResponses")));
  call_clock(c);
  if (p->failed) call_fault(c, &p->why);
  else if (p->reply || p->large_message) answer_kept(c);
  else if (!c->link.link && !c->large_message) roots_answered(c);
}

void park_free(struct call *c) {
  struct parking *p = c->parking;
  if (!p) return;
  unlist(p);
  list_remove(&p->node);
  mem_free(p->reply);
  large_message_unref(&p->large_message);
  arena_done(&p->arena);
  mem_free(p);
  c->parking = NULL;
  session_unpark(c->session);
}

void calls_forget(struct call_context *x, struct session *s) {
  calls_forget_quota(x, s);
  tasks_forget(x->tasks, s);
  asks_forget(x, s);
  struct fault f;
  LIST_EACH(it, &x->parkings) {
    struct call *c = CONTAINER_OF(it, struct parking, node)->call;
    if (c->session != s) continue;
    // A request of another session may have taken it up.
    if (!c->request) {
      call_drop(c, STR("the client is gone"));
      continue;
    }
    link_call_cancel(&c->link, STR("the client is gone"));
    task_abandon(c);
    fault_set(&f, FAULT_SHUTTING_DOWN, "server \"%.*s\" is being disconnected", STR_ARG(call_server(c)));
    call_end(c, &f, RPC_INTERNAL_ERROR, STR_NONE);
  }
}
