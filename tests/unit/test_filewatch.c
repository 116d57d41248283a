// SPDX-License-Identifier: Apache-2.0
// Files that are saved in all the ways in which people and programs save them. The clock is the test's: what settles is
// what the test lets settle.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

// All that the setup watches.
static bool is_rules(void *ctx, str path) {
  return str_eq(path, str_of(path_of(ctx, "rules.json")));
}

// Of this process, as the kernel knows them.
static int count_watches(void) {
  int count = 0;
  for (int fd = 3; fd < 64; fd++) {
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) count += strncmp(line, "inotify wd:", 11) == 0;
    if (file) fclose(file);
  }
  return count;
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

// Rules in a folder of their own, which somebody makes when there are rules to put into it.
static void a_file_is_seen_when_its_folder_comes(void **state) {
  struct fixture *x = *state;
  filewatch_add(x->watch, str_of(path_of(x, "etc/deep/rules.json")));
  pass(x, 400);
  assert_told(x, 0);
  mkdir(path_of(x, "etc"), 0700);
  pass(x, 400);
  assert_told(x, 0);
  mkdir(path_of(x, "etc/deep"), 0700);
  save(x, "etc/deep/rules.json", "one");
  pass(x, 400);
  assert_told(x, 1);
  assert_string_equal(x->last, path_of(x, "etc/deep/rules.json"));
  save(x, "etc/deep/rules.json", "two, which is longer");
  pass(x, 400);
  assert_told(x, 2);
}

static void a_file_is_seen_when_its_folder_goes_and_another_comes(void **state) {
  struct fixture *x = *state;
  mkdir(path_of(x, "etc"), 0700);
  mkdir(path_of(x, "new"), 0700);
  save(x, "etc/rules.json", "one");
  save(x, "new/rules.json", "two, which is longer");
  filewatch_add(x->watch, str_of(path_of(x, "etc/rules.json")));
  assert_int_equal(rename(path_of(x, "etc"), path_of(x, "old")), 0);
  pass(x, 400);
  assert_told(x, 1);
  assert_int_equal(rename(path_of(x, "new"), path_of(x, "etc")), 0);
  pass(x, 400);
  assert_told(x, 2);
  save(x, "old/rules.json", "what is there now is nobody's");
  pass(x, 400);
  assert_told(x, 2);
}

// A folder that is not there is nothing to complain of; one that may not be looked into is, once.
static void only_what_cannot_be_watched_is_complained_of(void **state) {
  struct fixture *x = *state;
  char said[4096];
  int ends[2];
  assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
  struct log log = {ends[1], LOG_INFO, &clock_system};
  x->loop.log = &log;
  filewatch_add(x->watch, str_of(path_of(x, "nowhere/rules.json")));
  pass(x, 400);
  assert_int_equal(read(ends[0], said, sizeof said), -1);
  save(x, "file", "");
  filewatch_add(x->watch, str_of(path_of(x, "file/rules.json")));
  assert_int_equal(read(ends[0], said, sizeof said), -1);
  assert_int_equal(mkdir(path_of(x, "closed"), 0), 0);
  if (getuid() != 0) {
    filewatch_add(x->watch, str_of(path_of(x, "closed/rules.json")));
    assert_true(read(ends[0], said, sizeof said) > 0);
    save(x, "rules.json", "two");
    pass(x, 400);
    assert_int_equal(read(ends[0], said, sizeof said), -1);
  }
  x->loop.log = NULL;
  close(ends[0]);
  close(ends[1]);
}

// As long as nothing is kept of what is watched no more, there is no end to how often that may change.
static void folders_that_nobody_needs_are_let_go(void **state) {
  struct fixture *x = *state;
  char name[32];
  for (int i = 0; i < 2000; i++) {
    snprintf(name, sizeof name, "v%d", i % 50);
    mkdir(path_of(x, name), 0700);
    snprintf(name, sizeof name, "v%d/rules.json", i % 50);
    filewatch_add(x->watch, str_of(path_of(x, name)));
    filewatch_keep(x->watch, is_rules, x);
  }
  assert_int_equal(count_watches(), 1);
}

static void two_files_are_told_apart(void **state) {
  struct fixture *x = *state;
  save(x, "b.json", "x");
  filewatch_add(x->watch, str_of(path_of(x, "b.json")));
  save(x, "b.json", "xy");
  save(x, "rules.json", "two");
  pass(x, 400);
  assert_told(x, 2);
  filewatch_keep(x->watch, is_rules, x);
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
  filewatch_keep(x->watch, is_rules, x);
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
      cmocka_unit_test_setup_teardown(a_file_is_seen_when_its_folder_comes, setup, teardown),
      cmocka_unit_test_setup_teardown(a_file_is_seen_when_its_folder_goes_and_another_comes, setup, teardown),
      cmocka_unit_test_setup_teardown(only_what_cannot_be_watched_is_complained_of, setup, teardown),
      cmocka_unit_test_setup_teardown(folders_that_nobody_needs_are_let_go, setup, teardown),
      cmocka_unit_test_setup_teardown(two_files_are_told_apart, setup, teardown),
      cmocka_unit_test_setup_teardown(links_in_a_circle_end, setup, teardown),
      cmocka_unit_test_setup_teardown(a_change_before_it_was_watched_is_told, setup, teardown),
      cmocka_unit_test_setup_teardown(who_is_told_may_free_the_watch, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
