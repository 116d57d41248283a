// SPDX-License-Identifier: Apache-2.0
// What a principal uses, request by request: who has used up its allowance waits, whatever session it comes with.
#include "call/controls/allowance.h"
#include "call/steps/steps.h"
#include "text/tokens.h"

enum { COUNTED_BYTES = 65536, BYTES_OF_TOKEN = 4 };

// Exact for what a model can be given at once; of more, enough to stand for it.
static uint64_t tokens_of(str answer) {
  str counted = {answer.p, answer.n < COUNTED_BYTES ? answer.n : COUNTED_BYTES};
  return answer.n ? tokens_count(counted) + (answer.n - counted.n) / BYTES_OF_TOKEN : 0;
}

// One that listens takes nothing while nothing happens.
static bool is_free(const struct request *r) {
  return str_eq(r->msg.method, STR("subscriptions/listen"));
}

bool calls_enter(struct call_context *x, struct request *r, struct fault *f, struct buf *details) {
  struct allowance_breach b;
  if (!x->allowances || is_free(r)) return true;
  r->accounting = allowances_enter(x->allowances, session_principal(r->session), loop_now(x->loop), &b);
  if (r->accounting) return true;
  fault_set(f, FAULT_RATE_LIMITED, "rate limit exceeded (%s): %llu %s", b.scope, (unsigned long long)b.limit,
            b.after_ms ? "in 60 seconds" : "at once");
  f->after_ms = b.after_ms;
  quota_put(details, b.scope, b.after_ms);
  return false;
}

void calls_leave(struct call_context *x, struct request *r, str answer) {
  struct allowance *of = r->accounting;
  if (!of) return;
  r->accounting = NULL;
  bool count = allowances_count_tokens(x->allowances, of, answer.n);
  uint64_t tokens = count ? tokens_of(answer) : answer.n / BYTES_OF_TOKEN;
  allowances_leave(x->allowances, of, r->value->n + answer.n, tokens, loop_now(x->loop));
}
