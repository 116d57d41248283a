// SPDX-License-Identifier: Apache-2.0
// Files that are saved in all the ways in which people and programs save them. The clock is the test's: what settles is
// what the test lets settle.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/filewatch.h"

struct fixture {
  struct loop loop;
  struct clock clock;
  uint64_t now;
  char folder[64];
  struct filewatch *watch;
  unsigned told;
  char last[128];
  bool frees;
};

static uint64_t mono(void *ctx) {
  return *(uint64_t *)ctx;
}
static int64_t wall(void *ctx) {
  return 0;
}

static void on_changed(void *ctx, str path) {
  struct fixture *x = ctx;
  x->told++;
  snprintf(x->last, sizeof x->last, "%.*s", STR_ARG(path));
  if (x->frees) filewatch_free(&x->watch);
}

static const char *path_of(struct fixture *x, const char *name) {
  static char path[4][128];
  static unsigned next;
  char *p = path[next++ % 4];
  snprintf(p, sizeof path[0], "%s/%s", x->folder, name);
  return p;
}

static void save(struct fixture *x, const char *name, const char *text) {
  FILE *file = fopen(path_of(x, name), "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static int setup(void **state) {
  struct fixture *x = calloc(1, sizeof *x);
  struct fault f;
  *state = x;
  x->now = 1000;
  x->clock = (struct clock){mono, wall, &x->now};
  snprintf(x->folder, sizeof x->folder, "/tmp/filewatch-XXXXXX");
  assert_non_null(mkdtemp(x->folder));
  loop_init(&x->loop, NULL, &x->clock, &rand_system);
  x->watch = filewatch_new(&x->loop, 300, on_changed, x, &f);
  assert_non_null(x->watch);
  save(x, "rules.json", "one");
  filewatch_add(x->watch, str_of(path_of(x, "rules.json")));
  return 0;
}

static int teardown(void **state) {
  struct fixture *x = *state;
  char command[128];
  filewatch_free(&x->watch);
  loop_done(&x->loop);
  snprintf(command, sizeof command, "rm -r %s", x->folder);
  assert_int_equal(system(command), 0);
  free(x);
  return 0;
}

// What the kernel has to tell is taken in; then time passes.
static void pass(struct fixture *x, uint64_t ms) {
  for (int i = 0; i < 3; i++) uv_run(&x->loop.uv, UV_RUN_NOWAIT);
  x->now += ms;
  x->loop.now_known = false;
  timer_run_due(&x->loop);
}

static void assert_told(struct fixture *x, unsigned times) {
  assert_int_equal(x->told, times);
}

static void a_file_that_is_written_is_told_once_it_is_quiet(void **state) {
  struct fixture *x = *state;
  for (int i = 0; i < 5; i++) {
    save(x, "rules.json", i & 1 ? "two" : "three");
    pass(x, 50);
    assert_told(x, 0);
  }
  pass(x, 400);
  assert_told(x, 1);
  assert_string_equal(x->last, path_of(x, "rules.json"));
}

static void a_file_that_is_renamed_over_it_is_a_change(void **state) {
  struct fixture *x = *state;
  save(x, "rules.json.tmp", "two");
  assert_int_equal(rename(path_of(x, "rules.json.tmp"), path_of(x, "rules.json")), 0);
  pass(x, 400);
  assert_told(x, 1);
  save(x, "rules.json", "three");  // the new file is watched as the old one was
  pass(x, 400);
  assert_told(x, 2);
}

static void what_happens_to_other_files_is_not_told(void **state) {
  struct fixture *x = *state;
  save(x, "other.json", "x");
  unlink(path_of(x, "other.json"));
  pass(x, 400);
  assert_told(x, 0);
}

static void a_file_that_goes_and_comes_back_is_told_twice(void **state) {
  struct fixture *x = *state;
  unlink(path_of(x, "rules.json"));
  pass(x, 400);
  assert_told(x, 1);
  save(x, "rules.json", "one");
  pass(x, 400);
  assert_told(x, 2);
}

static void a_file_that_was_never_there_is_seen_when_it_comes(void **state) {
  struct fixture *x = *state;
  filewatch_add(x->watch, str_of(path_of(x, "later.json")));
  pass(x, 400);
  assert_told(x, 0);
  save(x, "later.json", "x");
  pass(x, 400);
  assert_told(x, 1);
  assert_string_equal(x->last, path_of(x, "later.json"));
}

// As volumes of configuration are updated: a link to a folder is replaced in one step.
static void a_link_that_is_led_elsewhere_is_a_change(void **state) {
  struct fixture *x = *state;
  mkdir(path_of(x, "v1"), 0700);
  mkdir(path_of(x, "v2"), 0700);
  save(x, "v1/mcp.json", "one");
  save(x, "v2/mcp.json", "two");
  assert_int_equal(symlink("v1", path_of(x, "..data")), 0);
  assert_int_equal(symlink("..data/mcp.json", path_of(x, "mcp.json")), 0);
  filewatch_add(x->watch, str_of(path_of(x, "mcp.json")));
  pass(x, 400);
  assert_told(x, 0);
  assert_int_equal(symlink("v2", path_of(x, "..new")), 0);
  assert_int_equal(rename(path_of(x, "..new"), path_of(x, "..data")), 0);
  pass(x, 400);
  assert_told(x, 1);
  save(x, "v2/mcp.json", "three");  // where it leads to now
  pass(x, 400);
  assert_told(x, 2);
  save(x, "v1/mcp.json", "four");  // where it does not lead to any more
  pass(x, 400);
  assert_told(x, 2);
}

static void two_files_are_told_apart(void **state) {
  struct fixture *x = *state;
  save(x, "b.json", "x");
  filewatch_add(x->watch, str_of(path_of(x, "b.json")));
  save(x, "b.json", "xy");
  save(x, "rules.json", "two");
  pass(x, 400);
  assert_told(x, 2);
  filewatch_drop(x->watch, str_of(path_of(x, "b.json")));
  save(x, "b.json", "x");
  pass(x, 400);
  assert_told(x, 2);
}

static void links_in_a_circle_end(void **state) {
  struct fixture *x = *state;
  assert_int_equal(symlink("loop.json", path_of(x, "loop.json")), 0);
  filewatch_add(x->watch, str_of(path_of(x, "loop.json")));
  pass(x, 400);
  assert_told(x, 0);
}

static void a_change_before_it_was_watched_is_told(void **state) {
  struct fixture *x = *state;
  save(x, "servers.json", "one");
  struct file_state before = file_state_of(path_of(x, "servers.json"));
  save(x, "servers.json", "two, which is longer");
  filewatch_add_since(x->watch, str_of(path_of(x, "servers.json")), &before);
  pass(x, 400);
  assert_told(x, 1);
  struct file_state now = file_state_of(path_of(x, "servers.json"));
  filewatch_drop(x->watch, str_of(path_of(x, "servers.json")));
  filewatch_add_since(x->watch, str_of(path_of(x, "servers.json")), &now);
  pass(x, 400);
  assert_told(x, 1);
}

static void who_is_told_may_free_the_watch(void **state) {
  struct fixture *x = *state;
  x->frees = true;
  save(x, "rules.json", "two");
  pass(x, 400);
  assert_told(x, 1);
  assert_null(x->watch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_file_that_is_written_is_told_once_it_is_quiet, setup, teardown),
      cmocka_unit_test_setup_teardown(a_file_that_is_renamed_over_it_is_a_change, setup, teardown),
      cmocka_unit_test_setup_teardown(what_happens_to_other_files_is_not_told, setup, teardown),
      cmocka_unit_test_setup_teardown(a_file_that_goes_and_comes_back_is_told_twice, setup, teardown),
      cmocka_unit_test_setup_teardown(a_file_that_was_never_there_is_seen_when_it_comes, setup, teardown),
      cmocka_unit_test_setup_teardown(a_link_that_is_led_elsewhere_is_a_change, setup, teardown),
      cmocka_unit_test_setup_teardown(two_files_are_told_apart, setup, teardown),
      cmocka_unit_test_setup_teardown(links_in_a_circle_end, setup, teardown),
      cmocka_unit_test_setup_teardown(a_change_before_it_was_watched_is_told, setup, teardown),
      cmocka_unit_test_setup_teardown(who_is_told_may_free_the_watch, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
