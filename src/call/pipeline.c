// SPDX-License-Identifier: Apache-2.0
#include "call/pipeline.h"

#include "base/assert.h"
#include "base/mem.h"
#include "call/report.h"

enum { CALL_MAGIC = 0x63616c6c };

#define CALL_STEP_ROW(id, step) &step,
static const struct call_step *const steps[STEP_COUNT] = {CALL_STEPS(CALL_STEP_ROW)};
_Static_assert((int)STEP_COUNT <= (int)CALL_MAX_STEPS, "the context has an offset for every state");

// ---- the states of steps

void calls_lay_out(struct call_context *x) {
  size_t unit = sizeof(max_align_t), n = 0;
  for (size_t i = 0; i < STEP_COUNT; i++) {
    x->state_at[i] = (uint32_t)n;
    n += (steps[i]->state + unit - 1) / unit * unit;
  }
  x->call_size = sizeof(struct call) + n;
  for (size_t i = 0; i < STEP_COUNT; i++) {
    if (steps[i]->cancel) x->cancelling[x->cancelling_count++] = (uint8_t)i;
    if (steps[i]->done) x->done[x->done_count++] = (uint8_t)i;
  }
}

const char *call_step_name(const struct call *c) {
  return c->step < STEP_COUNT ? steps[c->step]->name : NULL;
}

void calls_print_steps(struct buf *out) {
  for (size_t i = 0; i < STEP_COUNT; i++) buf_printf(out, "| %s | %s |\n", steps[i]->name, steps[i]->does);
}

void call_stop(struct call *c, str reason) {
  ASSERT_MAGIC(c, CALL_MAGIC);
  const struct call_context *x = c->context;
  for (size_t i = x->cancelling_count; i-- > 0;)
    steps[x->cancelling[i]]->cancel(c, call_state(c, x->cancelling[i]), reason);
}

void call_detach(struct call *c, struct arena *a) {
  ASSERT_MAGIC(c, CALL_MAGIC);
  for (size_t i = 0; i < STEP_COUNT; i++)
    if (steps[i]->detach) steps[i]->detach(c, call_state(c, i), a);
  if (!a) return;
  c->caller.id = call_kept(a, c->caller.id);
  c->about = call_kept(a, c->about);
  c->named = call_kept(a, c->named);
  c->place.server = call_kept(a, c->place.server);
  c->place.tool = call_kept(a, c->place.tool);
  c->task_tool = call_kept(a, c->task_tool);
  for (size_t i = 0; i < c->route_count; i++) c->routes[i].uri = call_kept(a, c->routes[i].uri);
}

// ---- running a call

static void call_free(struct call *c) {
  struct call_context *x = c->context;
  call_stop(c, STR_NONE);
  if (c->options.receiver) c->options.receiver->dropped(c->options.receiver);
  for (size_t i = 0; i < x->done_count; i++) steps[x->done[i]]->done(c, call_state(c, x->done[i]));
  catalog_unref(&c->catalog);
  policy_unref(&c->policy);
  governance_unref(&c->governance);
  run_context_unref(&c->run);
  c->magic = 0;
  if (x->free_count >= CALL_REUSED) {
    mem_free(c);
    return;
  }
  list_push(&x->free_calls, &c->node);
  x->free_count++;
}

void calls_free_unused(struct call_context *x) {
  for (struct list *n; (n = list_pop(&x->free_calls));) mem_free(CONTAINER_OF(n, struct call, node));
}

static void run(struct call *c) {
  for (; c->step < STEP_COUNT; c->step++) {
    const struct call_step *step = steps[c->step];
    if (!step->run || (step->governed && !c->governance)) continue;
    if (step->run(c, call_state(c, c->step)) != CALL_NEXT) return;
  }
}

static void on_cancel(struct work *w, struct request *r, str reason) {
  struct call *c = CONTAINER_OF(w, struct call, work);
  ASSERT(c->request == r);
  call_report(c, true);
  call_drop(c, reason.p ? reason : STR(""));
}

static const struct work_ops work_ops = {"call", on_cancel};

static struct call *begin(struct call_context *x, struct request *r, const struct call_method *method, str about) {
  ASSERT(r && !r->work && method && method->name);
  struct list *unused = list_pop(&x->free_calls);
  struct call *c = unused ? CONTAINER_OF(unused, struct call, node) : mem_alloc(x->call_size);
  if (unused) x->free_count--;
  *c = (struct call){0};
  // Separate from the assignment above, because clearing more than 2 KB at a time is slower.
  memset(c->state, 0, x->call_size - sizeof *c);
  c->magic = CALL_MAGIC;
  c->context = x;
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
  ASSERT(item);
  find_set(c, item, name);
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
  ASSERT(c->request);
  c->step++;
  run(c);
}

void call_restart(struct call *c, enum call_step_id from) {
  ASSERT_MAGIC(c, CALL_MAGIC);
  ASSERT(from < STEP_COUNT && c->request);
  c->step = from;
  run(c);
}

void call_drop(struct call *c, str reason) {
  call_stop(c, reason);
  call_free(c);
}

void call_discard(struct call *c) {
  ASSERT(c->request->work == &c->work);
  c->request->work = NULL;
  call_free(c);
}

// Callers must answer the request as their last action, because the client may send its next request immediately.
struct request *call_release_request(struct call *c) {
  struct request *r = c->request;
  call_report(c, false);
  call_discard(c);
  return r;
}
