// SPDX-License-Identifier: Apache-2.0
// Applies the rate limits of sessions, if configured: limits for each meta-tool, and for tools. Because the limits
// protect the servers, a call counts as a use of a meta-tool in every mode; for example, tools/call counts as
// tool_execute. Calls of clients without a session are counted for each principal.
#include <stdio.h>

#include "base/assert.h"
#include "call/steps/steps.h"
#include "json/write.h"

struct quota_state {
  bool reached;  // this is a dry run, and a limit is reached
};

bool quota_reached(const struct call *c) {
  const struct quota_state *s = call_state(c, STEP_QUOTA);
  return s->reached;
}

static void set_fault(struct fault *f, const struct limiter_breach *b) {
  fault_set(f, FAULT_RATE_LIMITED, "rate limit exceeded (%s): %u call%s %s", b->scope, b->limit,
            b->limit == 1 ? "" : "s", b->passes ? "in 60 seconds" : "per session; waiting does not help");
}

void quota_put(struct buf *out, const char *scope, uint64_t after_ms) {
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_str(&w, STR("scope"), str_of(scope));
  if (after_ms) json_member_seconds(&w, STR("retry_after"), after_ms);
  json_end_object(&w);
}

static bool take(struct call_context *x, const struct session *s, const struct limiter_use *what, bool count,
                 struct limiter_breach *out) {
  ASSERT(x->limiter);
  char principal[256];
  struct limiter_use use = *what;
  use.session = !s->revision->stateless;
  use.book = str_of(s->id);
  if (!use.session) {
    snprintf(principal, sizeof principal, "principal %.*s", STR_ARG(session_principal(s)));
    use.book = str_of(principal);
  }
  return limiter_take(x->limiter, &use, loop_now(x->loop), count, out);
}

bool calls_allow(struct call_context *x, const struct session *s, str meta, struct fault *f, struct buf *details) {
  struct limiter_breach b;
  if (!x->limiter || take(x, s, &(struct limiter_use){.meta = meta}, true, &b)) return true;
  set_fault(f, &b);
  quota_put(details, b.scope, b.after_ms);
  return false;
}

void quota_forget(struct call_context *x, const struct session *s) {
  if (x->limiter && !s->revision->stateless) limiter_forget(x->limiter, str_of(s->id));
}

// A request that continues a call with answers is not counted again. A dry run is not counted; it reports whether a
// limit is reached.
static enum call_result run(struct call *c, void *state) {
  struct call_context *x = c->context;
  struct limiter_breach b;
  if (!x->limiter || !call_may_ask(c) || call_ticket(c)) return CALL_NEXT;
  struct limiter_use use = {.meta = c->method->target == CALL_BY_URI ? STR("resource_read")
                                    : c->method->kind == ITEM_TOOL   ? STR("tool_execute")
                                                                     : STR("prompt_get")};
  if (call_is_tool(c)) {
    use.tool = call_tool_id(c);
    use.safe = call_tool_safe(c);
  }
  if (take(x, c->session, &use, !c->options.dry_run, &b)) return CALL_NEXT;
  if (c->options.dry_run) {
    ((struct quota_state *)state)->reached = true;
    return CALL_NEXT;
  }
  struct fault f;
  struct buf details;
  buf_init(&details, 8 * sizeof b);
  set_fault(&f, &b);
  fault_set_path(&f, c->about);
  quota_put(&details, b.scope, b.after_ms);
  enum call_result r = call_end(c, &f, RPC_INTERNAL_ERROR, buf_view(&details));
  buf_done(&details);
  return r;
}

const struct call_step step_quota = {
    .name = "quota",
    .does = "Applies rate limits.",
    .state = sizeof(struct quota_state),
    .run = run,
};
