// SPDX-License-Identifier: Apache-2.0
#include "call/context.h"

#include "base/assert.h"
#include "base/mem.h"
#include "call/bridge/session_questions.h"
#include "call/bridge/tasks.h"
#include "call/call_journal.h"
#include "call/controls/checkers.h"
#include "call/controls/flows.h"
#include "call/pipeline.h"
#include "effect/breakers.h"
#include "effect/egress.h"

void calls_limit_principals(struct call_context *x, const struct allowance_limits *limits) {
  bool any = limits->in_flight || limits->requests || limits->bytes || limits->tokens;
  if (x->allowances) allowances_limit(x->allowances, limits);
  else if (any) x->allowances = allowances_new(limits, x->controls.max_principals, &x->loop->seed);
}

void call_context_init(struct call_context *x, struct upstreams *u, const struct call_options *opt) {
  static const struct rulebook none = {.trust_stated = true};
  ASSERT(u && opt->loop);
  *x = (struct call_context){.upstreams = u, .loop = opt->loop};
  list_init(&x->free_calls);
  calls_lay_out(x);
  list_init(&x->unsettled);
  list_init(&x->unlisted);
  buf_init(&x->params, opt->max_message + 65536);
  buf_init(&x->text, opt->max_message + 65536);
  arena_init(&x->scratch);
  x->results = opt->results;
  if (opt->controls) {
    const struct controls *controls = &x->controls;
    x->controls = *opt->controls;
    struct limiter_options limits = {controls->rules, controls->rule_count, controls->max_books, controls->idle_ms,
                                     x->loop->seed};
    if (controls->rule_count) x->limiter = limiter_new(&limits);
    calls_limit_principals(x, &controls->principal);
    if (controls->cache) x->cache = result_cache_new(&controls->cache_limits, x->loop->clock, &x->loop->seed);
  }
  x->recorder = opt->recorder;
  x->metrics = opt->metrics;
  x->tracer = opt->tracer;
  x->records = opt->records;
  x->chain = opt->chain;
  x->rules = opt->rules ? opt->rules : &none;
  x->governed = call_journal_new(opt->journal);
  x->idempotency = opt->idempotency;
  x->run_budgets = run_budgets_new(&x->loop->seed);
  x->flows = flows_new(&x->loop->seed);
  x->checkers = checkers_new("inputSchema", &opt->schemas, &opt->loop->seed);
  x->output_checkers = checkers_new("outputSchema", &opt->schemas, &opt->loop->seed);
  map_init(&x->parked.waiting, &opt->loop->seed);
  list_init(&x->parked.all);
  x->tasks = MEM_NEW(struct tasks);
  tasks_init(x->tasks, opt->loop);
  tickets_init(&x->tickets, opt->loop, opt->input_ms);
  asks_init(x);
}

void call_context_done(struct call_context *x) {
  ASSERT(list_empty(&x->asks.open) && list_empty(&x->parked.all) && list_empty(&x->unsettled) &&
         list_empty(&x->unlisted));
  ASSERT(!map_count(&x->parked.waiting));
  calls_free_unused(x);
  deferred_cancel(&x->asks.due);
  limiter_free(&x->limiter);
  allowances_free(&x->allowances);
  result_cache_free(&x->cache);
  run_budgets_free(&x->run_budgets);
  call_journal_free(&x->governed);
  flows_free(&x->flows);
  breakers_free(&x->breakers);
  egress_free(&x->egress);
  tasks_done(x->tasks);
  mem_free(x->tasks);
  tickets_done(&x->tickets);
  map_done(&x->parked.waiting);
  buf_done(&x->params);
  buf_done(&x->text);
  arena_done(&x->scratch);
  checkers_free(&x->checkers);
  checkers_free(&x->output_checkers);
}
