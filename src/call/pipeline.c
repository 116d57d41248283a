// SPDX-License-Identifier: Apache-2.0
#include "base/assert.h"
#include "base/mem.h"
#include "call/bridge.h"

enum { CALL_MAGIC = 0x63616c6c, KEEP_CALLS = 256 };

// What happens to a call, in order. To read this table is to know what the gateway does.
static call_step *const steps[] = {
    step_resume,    // is it the answer to a question of ours?
    step_chain,     // does it come from this gateway itself, through others?
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
