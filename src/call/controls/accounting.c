// SPDX-License-Identifier: Apache-2.0
// Counts what each principal uses, in all its sessions together, and refuses a principal that has used up its
// allowance.
#include "base/assert.h"
#include "call/controls/allowance.h"
#include "call/steps/steps.h"
#include "text/tokens.h"

enum { COUNTED_BYTES = 65536, BYTES_OF_TOKEN = 4 };

bool calls_enter(struct call_context *x, struct request *r, struct fault *f, struct buf *details) {
  struct allowance_breach b;
  // A request subscriptions/listen is not counted, because it uses nothing while it waits for events.
  if (!x->allowances || str_eq(r->msg.method, STR("subscriptions/listen"))) return true;
  ASSERT(!r->accounting);
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
  // Near the limit, the tokens in the first COUNTED_BYTES of the answer are counted exactly. The tokens in the rest are
  // estimated.
  uint64_t exact = answer.n < COUNTED_BYTES ? answer.n : COUNTED_BYTES, tokens = answer.n / BYTES_OF_TOKEN;
  if (allowances_count_tokens(x->allowances, of, answer.n))
    tokens = answer.n ? tokens_count((str){answer.p, exact}) + (answer.n - exact) / BYTES_OF_TOKEN : 0;
  allowances_leave(x->allowances, of, r->value->n + answer.n, tokens, loop_now(x->loop));
}
