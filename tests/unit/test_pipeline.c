// SPDX-License-Identifier: Apache-2.0
// call/pipeline: the table of steps.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "call/pipeline.h"

// The documentation has the rows of the table, in its order.
static void the_documentation_has_every_step_in_order(void **state) {
  struct buf want, have;
  char piece[4096];
  buf_init(&want, 65536);
  buf_init(&have, 1 << 20);
  buf_str(&want, STR("|---|---|\n"));
  calls_print_steps(&want);
  buf_char(&want, '\n');
  FILE *f = fopen("docs/reference/calls.md", "r");
  assert_non_null(f);
  for (size_t n; (n = fread(piece, 1, sizeof piece, f));) buf_add(&have, piece, n);
  fclose(f);
  if (!memmem(have.p, have.n, want.p, want.n))
    fail_msg("docs/reference/calls.md should have:\n%.*s", STR_ARG(buf_view(&want)));
  buf_done(&want);
  buf_done(&have);
}

// Every state has its own memory, aligned for anything.
static void the_states_of_steps_do_not_overlap(void **state) {
  static const struct {
    enum call_step_id id;
    const struct call_step *step;
  } some[] = {{STEP_RESUME, &step_resume}, {STEP_FIND, &step_find},   {STEP_CONNECT, &step_connect},
              {STEP_TURN, &step_turn},     {STEP_ROOTS, &step_roots}, {STEP_PARK, &step_park},
              {STEP_ROUNDS, &step_rounds}, {STEP_TASK, &step_task},   {STEP_STORE, &step_store}};
  struct call_context x = {0};
  calls_lay_out(&x);
  struct call *c = calloc(1, x.call_size);
  c->context = &x;
  const char *end = (const char *)c->state;
  for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
    const char *at = call_state(c, some[i].id);
    assert_true(at >= end);
    assert_int_equal((uintptr_t)at % _Alignof(max_align_t), 0);
    end = at + some[i].step->state;
  }
  assert_true(end <= (const char *)c + x.call_size);
  free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_documentation_has_every_step_in_order),
      cmocka_unit_test(the_states_of_steps_do_not_overlap),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
