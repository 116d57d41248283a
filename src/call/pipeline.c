// SPDX-License-Identifier: Apache-2.0
#include "base/assert.h"
#include "base/mem.h"
#include "call/bridge/ask.h"
#include "call/bridge/park.h"
#include "call/bridge/task_bridge.h"
#include "call/call_audit.h"
#include "call/call_metrics.h"
#include "call/events.h"
#include "call/steps/step_trace.h"

enum { CALL_MAGIC = 0x63616c6c, KEEP_CALLS = 256 };

// The steps of a call, in order: this table is what the gateway does. Indented rows do not run in turn: the steps
// around them wait there.
static const struct call_step *const steps[] = {
    &step_resume,         // is it the answer to a question of ours?
    &step_chain,          // does it come from this gateway itself, through others?
    &step_identify,       // who calls
    &step_options,        // a dry run, a deadline
    &step_find,           // the upstream that has it, and its name there
    &step_policy,         // and may it be called?
    &step_param_headers,  // its HTTP headers repeat its arguments correctly
    &step_repair,         // arguments that are text and should not be
    &step_schema,         // its arguments are what the tool takes
    &step_quota,          // it is not one too many
    &step_dry_run,        // a dry run ends here
    &step_cache_lookup,   // is its result known already?
    &step_connect,        // the caller's connection to it
    &step_turn,           // which others use too: one after the other, if there are many
    &step_roots,          // its server knows the client's roots, if it asks for them
    &step_dispatch,       // the request goes out, and is waited for
    &step_retry,          //   it failed, and is tried again after a while
    &step_asks,           //   its server asks something meanwhile
    &step_rounds,         //   its server answers with questions
    &step_task,           //   its server makes a task of it
    &step_classify,       // an error of the upstream becomes a failure of a kind
    &step_cache_store,    // its result will be known
    &step_firewall,       // the result fits the context of a model; the rest is kept
    &step_note,           // how it came about
    &step_store,          // the rest is durable
    &step_answer,         // the client hears of it
    &step_trace,          //   where it belongs, for those who watch
};
enum { STEP_COUNT = sizeof steps / sizeof *steps };

// ---- the states of steps

void calls_lay_out(struct call_context *x) {
  size_t unit = sizeof(max_align_t), n = 0;
  ASSERT((size_t)STEP_COUNT <= CALL_MAX_STEPS);
  for (size_t i = 0; i < STEP_COUNT; i++) {
    x->state_at[i] = (uint32_t)n;
    n += (steps[i]->state + unit - 1) / unit * unit;
  }
  x->call_size = sizeof(struct call) + n;
}

// From the end: the states that every call asks for belong to late steps.
static size_t index_of(const struct call_step *step) {
  size_t i = STEP_COUNT - 1;
  while (steps[i] != step) i--;
  return i;
}

static void *state_at(const struct call *c, size_t i) {
  return (char *)c->state + c->context->state_at[i];
}

void *call_state(const struct call *c, const struct call_step *step) {
  return state_at(c, index_of(step));
}

const char *call_step_name(const struct call *c) {
  return c->step < STEP_COUNT ? steps[c->step]->name : NULL;
}

void calls_print_steps(struct buf *out) {
  for (size_t i = 0; i < STEP_COUNT; i++) buf_printf(out, "| %s | %s |\n", steps[i]->name, steps[i]->does);
}

static void cancel_all(struct call *c) {
  for (size_t i = 0; i < STEP_COUNT; i++)
    if (steps[i]->cancel) steps[i]->cancel(c, state_at(c, i));
}

void call_detach(struct call *c, struct arena *a) {
  for (size_t i = 0; i < STEP_COUNT; i++)
    if (steps[i]->detach) steps[i]->detach(c, state_at(c, i), a);
  if (!a) return;
  c->caller.id = call_kept(a, c->caller.id);
  c->about = call_kept(a, c->about);
  c->named = call_kept(a, c->named);
  c->place.server = call_kept(a, c->place.server);
  c->place.tool = call_kept(a, c->place.tool);
  c->repairs = call_kept(a, c->repairs);
  c->task_tool = call_kept(a, c->task_tool);
  for (size_t i = 0; i < c->route_count; i++) c->routes[i].uri = call_kept(a, c->routes[i].uri);
}

// ---- from the beginning to the end

static struct call *call_new(struct call_context *x) {
  struct list *kept = list_pop(&x->free_calls);
  struct call *c = kept ? CONTAINER_OF(kept, struct call, node) : mem_alloc(x->call_size);
  if (kept) x->free_count--;
  memset(c, 0, x->call_size);
  c->magic = CALL_MAGIC;
  c->context = x;
  list_init(&c->node);
  turn_init(&c->turn);
  timer_init(&c->deadline, NULL);
  return c;
}

static void call_free(struct call *c) {
  struct call_context *x = c->context;
  ASSERT_MAGIC(c, CALL_MAGIC);
  ASSERT(!c->link.link);
  list_remove(&c->node);
  cancel_all(c);
  turn_leave(&c->turn);
  timer_stop(&c->deadline);
  if (c->large_message) large_message_forget(c->large_message);
  large_message_unref(&c->large_message);
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

void call_stop(struct call *c, str reason) {
  ASSERT_MAGIC(c, CALL_MAGIC);
  link_call_cancel(&c->link, reason);
  list_remove(&c->node);
  cancel_all(c);
  turn_leave(&c->turn);
}

static void run(struct call *c) {
  for (; c->step < STEP_COUNT; c->step++)
    if (steps[c->step]->run && steps[c->step]->run(c, state_at(c, c->step)) != CALL_NEXT) return;
}

static void on_cancel(struct work *w, struct request *r, str reason) {
  struct call *c = CONTAINER_OF(w, struct call, work);
  call_audit(c, false);
  call_measure(c, true);
  call_trace_end(c, true);
  call_event(c, true);
  // Open questions of the server end with the call.
  asks_refuse(c, "the client cancelled the request");
  task_abandon(c);
  call_drop(c, reason);
}

static const struct work_ops work_ops = {"call", on_cancel};

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
  c->work.ops = &work_ops;
  r->work = &c->work;
  return c;
}

void call_start(struct call_context *x, struct request *r, const struct call_method *method, str about) {
  run(begin(x, r, method, about));
}

void call_start_at(struct call_context *x, struct request *r, const struct call_method *method, str about,
                   const struct item *item, str name, const struct caller_options *options) {
  struct call *c = begin(x, r, method, about);
  c->options = *options;
  c->placed = true;
  if (method->target == CALL_BY_NAME) c->item = item;
  c->routes[0] = (struct catalog_route){item->source, name, true};
  c->route_count = 1;
  run(c);
}

void call_start_for(struct call_context *x, struct request *r, const struct call_method *method,
                    const struct call_place *place, const struct caller_options *options) {
  struct call *c = begin(x, r, method, STR_NONE);
  c->options = *options;
  c->named = options->agent;
  c->place = *place;
  run(c);
}

void call_resume(struct call *c) {
  ASSERT_MAGIC(c, CALL_MAGIC);
  c->step++;
  run(c);
}

void call_restart(struct call *c, const struct call_step *from) {
  ASSERT_MAGIC(c, CALL_MAGIC);
  c->step = index_of(from);
  run(c);
}

enum call_result call_go_home(struct call *c) {
  ASSERT_MAGIC(c, CALL_MAGIC);
  c->step = index_of(&step_dispatch) + 1;
  timer_stop(&c->deadline);
  c->held_ms = 0;
  run(c);
  return CALL_DONE;
}

void call_drop(struct call *c, str reason) {
  call_stop(c, reason);
  call_free(c);
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
  call_event(c, false);
  call_discard(c);
  return r;
}
