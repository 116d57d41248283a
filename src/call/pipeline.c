// SPDX-License-Identifier: Apache-2.0
#include "base/assert.h"
#include "base/mem.h"
#include "call/bridge.h"
#include "call/tasks.h"

enum { CALL_MAGIC = 0x63616c6c, KEEP_CALLS = 256 };

// What happens to a call, in order. To read this table is to know what the gateway does.
static call_step *const steps[] = {
    step_resume,    // is it the answer to a question of ours?
    step_find,      // which upstream has it, under what name
    step_mirror,    // what its HTTP headers repeat is what it says
    step_connect,   // the caller's connection to it
    step_roots,     // its server knows the client's roots, if it asks for them
    step_dispatch,  // the request goes out; its answer comes back
};
enum { STEP_COUNT = sizeof steps / sizeof *steps };

void call_context_init(struct call_context *x, struct upstreams *u, const struct call_options *opt) {
  *x = (struct call_context){.upstreams = u, .loop = opt->loop};
  list_init(&x->free_calls);
  list_init(&x->unsettled);
  buf_init(&x->params, opt->max_message + 65536);
  buf_init(&x->text, opt->max_message + 65536);
  map_init(&x->parked, &opt->loop->seed);
  list_init(&x->parkings);
  x->tasks = MEM_NEW(struct tasks);
  tasks_init(x->tasks, opt->loop);
  tickets_init(&x->tickets, opt->loop, opt->input_ms);
  asks_init(x);
}

void call_context_done(struct call_context *x) {
  ASSERT(list_empty(&x->asks) && list_empty(&x->parkings));
  for (struct list *n; (n = list_pop(&x->free_calls));) mem_free(CONTAINER_OF(n, struct call, node));
  deferred_cancel(&x->due);
  tasks_done(x->tasks);
  mem_free(x->tasks);
  tickets_done(&x->tickets);
  map_done(&x->parked);
  buf_done(&x->params);
  buf_done(&x->text);
}

static struct call *call_new(struct call_context *x) {
  struct list *kept = list_pop(&x->free_calls);
  struct call *c = kept ? CONTAINER_OF(kept, struct call, node) : mem_alloc(sizeof *c);
  if (kept) x->free_count--;
  *c = (struct call){.magic = CALL_MAGIC, .context = x};
  list_init(&c->node);
  list_init(&c->questions);
  list_init(&c->waiter.node);
  timer_init(&c->settle, NULL);
  return c;
}

static void call_free(struct call *c) {
  struct call_context *x = c->context;
  ASSERT_MAGIC(c, CALL_MAGIC);
  ASSERT(!c->link.link);
  list_remove(&c->node);
  lane_unwait(&c->waiter);
  // A question that is still open is no other call's.
  if (!list_empty(&x->asks)) asks_refuse(c, "the call is over");
  timer_stop(&c->settle);
  catalog_unref(&c->catalog);
  park_free(c);
  c->magic = 0;
  if (x->free_count >= KEEP_CALLS) {
    mem_free(c);
    return;
  }
  list_push(&x->free_calls, &c->node);
  x->free_count++;
}

static void run(struct call *c) {
  while (c->step < STEP_COUNT) {
    if (steps[c->step](c) != CALL_NEXT) return;
    c->step++;
  }
}

static struct call *begin(struct call_context *x, struct request *r, const struct call_method *method, str about) {
  struct call *c = call_new(x);
  c->request = r;
  c->session = c->owner = r->session;
  c->method = method;
  c->about = about;
  c->catalog = catalog_ref(upstreams_catalog(x->upstreams));
  r->work = c;
  return c;
}

void call_start(struct call_context *x, struct request *r, const struct call_method *method, str about) {
  run(begin(x, r, method, about));
}

void call_start_at(struct call_context *x, struct request *r, const struct call_method *method, str about,
                   const struct item *item, str name) {
  struct call *c = begin(x, r, method, about);
  c->placed = true;
  if (method->target == CALL_BY_NAME) c->item = item;
  c->routes[0] = (struct catalog_route){item->source, name, true};
  c->route_count = 1;
  run(c);
}

void call_resume(struct call *c) {
  ASSERT_MAGIC(c, CALL_MAGIC);
  c->step++;
  run(c);
}

void call_restart(struct call *c, call_step *from) {
  ASSERT_MAGIC(c, CALL_MAGIC);
  c->step = 0;
  while (steps[c->step] != from) c->step++;
  run(c);
}

void call_drop(struct call *c, str reason) {
  link_call_cancel(&c->link, reason);
  rounds_stop(c);
  call_free(c);
}

void call_cancel(struct call *c, str reason) {
  c->request->work = NULL;
  // What the server asked meanwhile goes with the call.
  asks_refuse(c, "the client cancelled the request");
  task_abandon(c);
  call_drop(c, reason);
}

void call_discard(struct call *c) {
  c->request->work = NULL;
  call_free(c);
}

// The request is answered last: that may bring in the client's next one.
struct request *call_release_request(struct call *c) {
  struct request *r = c->request;
  call_discard(c);
  return r;
}

static const struct log *log_of(const struct request *r) {
  return r->session->server->loop->log;
}

enum call_result call_answer(struct call *c, const struct rpc_message *reply) {
  struct request *r = c->request;
  log_debug(log_of(r), "session %.8s: %.*s answered by %.*s%s", r->session->id, STR_ARG(r->msg.method),
            STR_ARG(upstreams_name(c->context->upstreams, c->routes[c->route].source)),
            reply->kind == RPC_ERROR ? " with an error" : "");
  translate_reply(c, reply);
  return CALL_DONE;
}

enum call_result call_fault(struct call *c, const struct fault *f) {
  struct upstreams *u = c->context->upstreams;
  str server = upstreams_name(u, c->routes[c->route].source);
  struct fault named = *f;
  bool has_name = str_starts(str_of(f->message), STR("server \""));
  if (!has_name) fault_set(&named, f->code, "server \"%.*s\" %s", STR_ARG(server), f->message);
  task_abandon(c);
  const struct call_teller *teller = c->method->teller;
  void *ctx = c->context->ctx;
  struct request *r = call_release_request(c);
  log_info(log_of(r), "session %.8s: %.*s failed: %s", r->session->id, STR_ARG(r->msg.method), named.message);
  if (teller) teller->fault(ctx, r, &named, server, RPC_INTERNAL_ERROR, STR_NONE);
  else request_fault(r, &named, server);
  return CALL_DONE;
}

enum call_result call_refuse(struct call *c, int code, const char *message, str data) {
  const struct call_teller *teller = c->method->teller;
  void *ctx = c->context->ctx;
  struct request *r = call_release_request(c);
  struct fault f;
  fault_set(&f, code == RPC_INVALID_PARAMS ? FAULT_INVALID : FAULT_UPSTREAM_ERROR, "%s", message);
  if (teller) teller->fault(ctx, r, &f, STR_NONE, code, data);
  else request_fail(r, code, message, data);
  return CALL_DONE;
}

enum call_result call_reply(struct call *c, str result) {
  request_reply(call_release_request(c), result);
  return CALL_DONE;
}
