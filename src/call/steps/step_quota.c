// SPDX-License-Identifier: Apache-2.0
// How often a session may do something, where the operator sets limits: for each meta-tool, and for single tools. A
// call counts as its meta-tool in every mode: the limits protect what is behind. Clients without a session count by
// their credential.
#include <stdio.h>

#include "call/about.h"
#include "call/steps/step_quota.h"
#include "call/steps/step_resume.h"
#include "json/write.h"

// Which meta-tool a method is; STR_NONE: none of them.
static str meta_of(const struct call *c) {
  if (!call_may_ask(c)) return STR_NONE;
  if (c->method->target == CALL_BY_URI) return STR("resource_read");
  return c->method->kind == ITEM_TOOL ? STR("tool_execute") : STR("prompt_get");
}

struct book {
  char text[256];
};

static str book_of(const struct session *s, struct book *room) {
  if (!s->revision->stateless) return str_of(s->id);
  str principal = session_principal(s);
  snprintf(room->text, sizeof room->text, "principal %.*s", STR_ARG(principal));
  return str_of(room->text);
}

static void set_fault(struct fault *f, const struct limiter_breach *b) {
  fault_set(f, FAULT_RATE_LIMITED, "rate limit exceeded (%s): %u call%s %s", b->scope, b->limit,
            b->limit == 1 ? "" : "s", b->passes ? "in 60 seconds" : "in a session, and waiting does not help");
}

void call_put_limit(struct buf *out, const char *scope, uint64_t after_ms) {
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_str(&w, STR("scope"), str_of(scope));
  if (after_ms) json_member_seconds(&w, STR("retry_after"), after_ms);
  json_end_object(&w);
}

static bool take(struct call_context *x, const struct session *s, const struct limiter_use *what, bool count,
                 struct limiter_breach *out) {
  struct book room;
  struct limiter_use use = *what;
  use.book = book_of(s, &room);
  use.session = !s->revision->stateless;
  return limiter_take(x->limiter, &use, loop_now(x->loop), count, out);
}

bool calls_allow(struct call_context *x, const struct session *s, str meta, struct fault *f, struct buf *details) {
  struct limiter_breach b;
  if (!x->limiter || take(x, s, &(struct limiter_use){.meta = meta}, true, &b)) return true;
  set_fault(f, &b);
  call_put_limit(details, b.scope, b.after_ms);
  return false;
}

void calls_forget_quota(struct call_context *x, const struct session *s) {
  if (x->limiter && !s->revision->stateless) limiter_forget(x->limiter, str_of(s->id));
}

// One that answers questions is the same call once more. A rehearsal is only told.
static enum call_result run(struct call *c, void *state) {
  struct call_context *x = c->context;
  struct limiter_breach b;
  str meta = meta_of(c);
  if (!x->limiter || !meta.n || call_ticket(c)) return CALL_NEXT;
  struct limiter_use use = {.meta = meta};
  if (call_is_tool(c)) {
    use.tool = call_tool_id(c);
    use.safe = call_tool_safe(c);
  }
  if (take(x, c->session, &use, !c->options.dry_run, &b)) return CALL_NEXT;
  if (c->options.dry_run) {
    c->limited = true;
    return CALL_NEXT;
  }
  struct fault f;
  struct buf details;
  buf_init(&details, 8 * sizeof b);
  set_fault(&f, &b);
  fault_set_path(&f, c->about);
  call_put_limit(&details, b.scope, b.after_ms);
  enum call_result r = call_end(c, &f, RPC_INTERNAL_ERROR, buf_view(&details));
  buf_done(&details);
  return r;
}

const struct call_step step_quota = {
    .name = "quota",
    .does = "Is a rate limit reached?",
    .run = run,
};
