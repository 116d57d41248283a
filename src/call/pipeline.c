// SPDX-License-Identifier: Apache-2.0
#include "base/assert.h"
#include "base/mem.h"
#include "call/bridge.h"
#include "call/checkers.h"
#include "call/tasks.h"

enum { CALL_MAGIC = 0x63616c6c, KEEP_CALLS = 256 };

// What happens to a call, in order. To read this table is to know what the gateway does.
static call_step *const steps[] = {
    step_resume,    // is it the answer to a question of ours?
    step_identify,  // who calls
    step_wish,      // what the caller wants besides: a rehearsal, an end to the waiting
    step_find,      // which upstream has it, under what name: of those that this caller may see
    step_policy,    // and may it be called?
    step_mirror,    // what its HTTP headers repeat is what it says
    step_repair,    // arguments that are text and should not be
    step_schema,    // its arguments are what the tool takes
    step_quota,     // it is not one too many
    step_rehearse,  // a dry run ends here
    step_recall,    // is its result known already?
    step_connect,   // the caller's connection to it
    step_turn,      // which others use too: one after the other, if there are many
    step_roots,     // its server knows the client's roots, if it asks for them
    step_dispatch,  // the request goes out, and is waited for
    step_classify,  // what the upstream calls an error is a failure of a kind
    step_remember,  // its result will be known
    step_firewall,  // what a model gets fits its context; the rest is kept
    step_note,      // how it came about
    step_store,     // what is kept is durable
    step_answer,    // the client hears of it
};
enum { STEP_COUNT = sizeof steps / sizeof *steps };

static void init_controls(struct call_context *x, const struct controls *controls) {
  if (!controls) return;
  x->controls = *controls;
  struct limiter_options limits = {controls->rules, controls->rule_count, controls->max_books, controls->idle_ms,
                                   x->loop->seed};
  if (controls->rule_count) x->limiter = limiter_new(&limits);
  const struct allowance_limits *p = &controls->principal;
  if (p->in_flight || p->requests || p->bytes || p->tokens)
    x->allowances = allowances_new(p, controls->max_principals, &x->loop->seed);
  if (controls->cache) x->cache = result_cache_new(&controls->cache_limits, x->loop->clock, &x->loop->seed);
}

void call_context_init(struct call_context *x, struct upstreams *u, const struct call_options *opt) {
  static const struct rulebook none = {0};
  *x = (struct call_context){.upstreams = u, .loop = opt->loop};
  list_init(&x->free_calls);
  list_init(&x->unsettled);
  buf_init(&x->params, opt->max_message + 65536);
  buf_init(&x->text, opt->max_message + 65536);
  arena_init(&x->scratch);
  x->results = opt->results;
  init_controls(x, opt->controls);
  x->recorder = opt->recorder;
  x->metrics = opt->metrics;
  x->tracer = opt->tracer;
  x->rules = opt->rules ? opt->rules : &none;
  x->checkers = checkers_new(&opt->schemas, &opt->loop->seed);
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
  limiter_free(&x->limiter);
  allowances_free(&x->allowances);
  result_cache_free(&x->cache);
  tasks_done(x->tasks);
  mem_free(x->tasks);
  tickets_done(&x->tickets);
  map_done(&x->parked);
  buf_done(&x->params);
  buf_done(&x->text);
  arena_done(&x->scratch);
  checkers_free(&x->checkers);
}

static struct call *call_new(struct call_context *x) {
  struct list *kept = list_pop(&x->free_calls);
  struct call *c = kept ? CONTAINER_OF(kept, struct call, node) : mem_alloc(sizeof *c);
  if (kept) x->free_count--;
  *c = (struct call){.magic = CALL_MAGIC, .context = x};
  list_init(&c->node);
  list_init(&c->questions);
  list_init(&c->waiter.node);
  turn_init(&c->turn);
  timer_init(&c->settle, NULL);
  timer_init(&c->deadline, NULL);
  return c;
}

static void call_free(struct call *c) {
  struct call_context *x = c->context;
  ASSERT_MAGIC(c, CALL_MAGIC);
  ASSERT(!c->link.link);
  list_remove(&c->node);
  lane_unwait(&c->waiter);
  turn_leave(&c->turn);
  // A question that is still open is no other call's.
  if (!list_empty(&x->asks)) asks_refuse(c, "the call is over");
  timer_stop(&c->settle);
  call_unstore(c);
  timer_stop(&c->deadline);
  call_undigest(c);
  if (c->parcel) parcel_forget(c->parcel);
  parcel_unref(&c->parcel);
  catalog_unref(&c->catalog);
  policy_unref(&c->policy);
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
  c->began = loop_now(x->loop);
  if (x->metrics || x->tracer) c->began_us = clock_mono_us(x->loop->clock);
  call_trace_begin(c);
  c->catalog = catalog_ref(upstreams_catalog(x->upstreams));
  r->work = c;
  return c;
}

void call_start(struct call_context *x, struct request *r, const struct call_method *method, str about) {
  run(begin(x, r, method, about));
}

void call_start_at(struct call_context *x, struct request *r, const struct call_method *method, str about,
                   const struct item *item, str name, const struct call_wish *wish) {
  struct call *c = begin(x, r, method, about);
  c->wish = *wish;
  c->placed = true;
  if (method->target == CALL_BY_NAME) c->item = item;
  c->routes[0] = (struct catalog_route){item->source, name, true};
  c->route_count = 1;
  run(c);
}

void call_start_for(struct call_context *x, struct request *r, const struct call_method *method,
                    const struct call_place *place, const struct call_wish *wish) {
  struct call *c = begin(x, r, method, STR_NONE);
  c->wish = *wish;
  c->named = wish->agent;
  c->place = *place;
  run(c);
}

void call_resume(struct call *c) {
  ASSERT_MAGIC(c, CALL_MAGIC);
  c->step++;
  run(c);
}

static size_t index_of(call_step *step) {
  size_t i = 0;
  while (steps[i] != step) i++;
  return i;
}

void call_restart(struct call *c, call_step *from) {
  ASSERT_MAGIC(c, CALL_MAGIC);
  c->step = index_of(from);
  run(c);
}

enum call_result call_go_home(struct call *c) {
  ASSERT_MAGIC(c, CALL_MAGIC);
  c->step = index_of(step_dispatch) + 1;
  timer_stop(&c->deadline);
  run(c);
  return CALL_DONE;
}

void call_drop(struct call *c, str reason) {
  link_call_cancel(&c->link, reason);
  rounds_stop(c);
  call_free(c);
}

void call_cancel(struct call *c, str reason) {
  c->request->work = NULL;
  call_audit(c, false);
  call_measure(c, true);
  call_trace_end(c, true);
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
  call_audit(c, false);
  call_measure(c, false);
  call_trace_end(c, false);
  call_discard(c);
  return r;
}

// ---- what calls are about

bool call_is_tool(const struct call *c) {
  return c->method->target == CALL_BY_NAME && c->method->kind == ITEM_TOOL;
}

bool call_is_bounded(const struct call *c) {
  return c->method->form == CALL_META || (c->method->form == CALL_RULED && c->context->results.bounded);
}

str call_tool_id(struct call *c) {
  if (c->about.n || !c->item) return c->about;
  return c->context->id_of(c->context->ctx, c->item);
}

// Who it says it is, and at which server it calls, belong to what is called.
struct ticket_use call_use(const struct call *c) {
  struct request *r = c->request;
  str method = r->msg.method, agent = c->named, server = c->place.server;
  if (server.p)
    method = arena_printf(&r->arena, "%.*s %zu:%.*s %.*s", STR_ARG(method), agent.n, STR_ARG(agent), STR_ARG(server));
  return (struct ticket_use){r->session->principal, method, c->said ? c->said : r->msg.params};
}
