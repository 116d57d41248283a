// SPDX-License-Identifier: Apache-2.0
// Governance files and decisions. The input is a file, a newline, and a question. A file is refused with at least one
// problem; a decision keeps within the capability's highest mode, is complete, and is the same twice.
#include "base/assert.h"
#include "govern/decision_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void count_problem(void *ctx, str pointer, const char *message) {
  ASSERT(message[0] && (!pointer.n || pointer.p[0] == '/'));
  ++*(size_t *)ctx;
}

static void check(const struct governance_decision *d) {
  ASSERT(d->effective == APPROVAL_NONE || (d->capability && d->effective <= d->highest));
  ASSERT((d->code == GOVERNANCE_CAPABILITY_UNKNOWN) == !d->capability);
  ASSERT((d->code == GOVERNANCE_ARG_CONSTRAINT_VIOLATION) == (d->violations.first != NULL));
  ASSERT((d->code == GOVERNANCE_POLICY_EVAL_ERROR) == (d->why != NULL));
  if (d->code == GOVERNANCE_ALLOWED) ASSERT(d->match_count && d->effective != APPROVAL_NONE);
}

static void decide(const struct governance *g, const struct governance_question *q, struct arena *a, struct buf *out) {
  struct governance_decision d;
  struct json_writer w = json_writer(out);
  governance_decide(g, q, a, &d);
  check(&d);
  json_begin_object(&w);
  governance_put_members(&w, &d);
  json_end_object(&w);
}

static void ask(const struct governance *g, const struct json *v, struct arena *a) {
  struct governance_question q;
  struct fault f = {0};
  struct buf first, second;
  buf_init(&first, 1 << 24);
  buf_init(&second, 1 << 24);
  if (governance_read_question(v, a, &q, &f)) {
    decide(g, &q, a, &first);
    decide(g, &q, a, &second);
    ASSERT(str_eq(buf_view(&first), buf_view(&second)));
    ASSERT(json_parse(a, buf_view(&first), &json_default_limits, &f));
  } else {
    ASSERT(f.code && f.message[0]);
  }
  buf_done(&first);
  buf_done(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct arena arena;
  struct fault f;
  size_t problems = 0;
  str file, question = STR("");
  str_cut((str){(const char *)data, n}, '\n', &file, &question);
  arena_init(&arena);
  struct json *root = json_parse(&arena, file, &json_default_limits, &f);
  struct governance *g = root ? governance_read(root, count_problem, &problems) : NULL;
  if (root) ASSERT(!g == (problems > 0));
  struct json *v = g && question.p ? json_parse(&arena, question, &json_default_limits, &f) : NULL;
  if (v) ask(g, v, &arena);
  governance_unref(&g);
  arena_done(&arena);
  return 0;
}
