// SPDX-License-Identifier: Apache-2.0
// io/child, io/guard: stopping, and that nothing is left behind, whoever is killed.
#include <poll.h>
#include <sys/wait.h>

#include "child_world.h"

// ---- stopping ----

static void a_stopped_child_takes_its_whole_tree_along(void **state) {
  struct world *w = *state;
  struct probe p;
  spawn_shell(w, &p, TREE "wait");
  wait_sleepers(w, number_of(w), TREE_SIZE);
  close_probe(&p);
  wait_sleepers(w, number_of(w), 0);
  wait_no_children(w, w->guard.pid);
  assert_int_equal(p.exits, 0);
}

static void stopping_one_child_leaves_the_orphans_of_another_alone(void **state) {
  struct world *w = *state;
  struct probe one, two;
  char other[80];
  snprintf(other, sizeof other, "%s77", w->marker);
  spawn_shell(w, &one, TREE "wait");
  w->envp[1] = other;
  spawn_shell(w, &two, TREE "wait");
  wait_sleepers(w, number_of(w), TREE_SIZE);
  wait_sleepers(w, other + 2, TREE_SIZE);
  close_probe(&one);
  wait_sleepers(w, number_of(w), 0);
  assert_int_equal(count_sleepers(other + 2), TREE_SIZE);
  close_probe(&two);
  wait_sleepers(w, other + 2, 0);
}

static void a_child_that_ends_by_itself_leaves_no_descendants(void **state) {
  struct world *w = *state;
  struct probe p;
  spawn_shell(w, &p, TREE "read line; exit 0");
  run_until(w, &p.starts);
  wait_sleepers(w, number_of(w), TREE_SIZE);
  assert_int_equal(write(p.in, "\n", 1), 1);
  run_until(w, &p.exits);
  assert_int_equal(p.status, 0);
  wait_sleepers(w, number_of(w), 0);
  close_probe(&p);
}

static void a_stopped_child_has_its_grace_to_tidy_up(void **state) {
  struct world *w = *state;
  struct probe p;
  char text[64];
  spawn_shell(w, &p, "trap 'sleep 0.1; echo tidy; exit' TERM; echo up; while :; do sleep 0.01; done");
  run_until(w, &p.starts);
  wait_for_text(w, p.out, "up");
  child_free(&p.child, DEADLINE_MS);
  assert_true(str_eq(read_all(w, p.out, text, sizeof text), STR("tidy\n")));
  close_probe(&p);
}

static void descendants_have_the_grace_too_when_the_first_process_is_gone(void **state) {
  struct world *w = *state;
  struct probe p;
  char text[64];
  spawn_shell(w, &p,
              "sh -c \"trap 'sleep 0.2; echo tidy; exit' TERM; echo up; while :; do sleep 0.01; done\" & "
              "trap - TERM; wait");
  run_until(w, &p.starts);
  wait_for_text(w, p.out, "up");
  child_free(&p.child, DEADLINE_MS);
  assert_non_null(strstr(read_all(w, p.out, text, sizeof text).p, "tidy\n"));
  close_probe(&p);
}

static void a_child_that_may_leave_ends_by_itself_when_its_input_does(void **state) {
  struct world *w = *state;
  struct probe p;
  char text[64];
  spawn_shell(w, &p, "trap 'echo asked; exit' TERM; echo up; read line; sleep 0.1; echo left");
  run_until(w, &p.starts);
  wait_for_text(w, p.out, "up");
  close(p.in);
  p.in = -1;
  child_leave(&p.child, DEADLINE_MS, DEADLINE_MS);
  assert_non_null(strstr(read_all(w, p.out, text, sizeof text).p, "left\n"));
  close_probe(&p);
}

static void one_that_does_not_leave_is_asked_and_then_killed(void **state) {
  struct world *w = *state;
  struct probe p;
  char text[64];
  spawn_shell(w, &p, "trap 'echo asked' TERM; echo up; while :; do sleep 0.01; done");
  run_until(w, &p.starts);
  wait_for_text(w, p.out, "up");
  uint64_t before = now_ms();
  child_leave(&p.child, 100, 100);
  assert_non_null(strstr(read_all(w, p.out, text, sizeof text).p, "asked\n"));
  assert_true(now_ms() - before >= 200);
  close_probe(&p);
}

static void what_ignores_sigterm_is_killed_after_the_grace(void **state) {
  struct world *w = *state;
  struct probe p;
  spawn_shell(w, &p, "trap '' TERM; " TREE "wait");
  wait_sleepers(w, number_of(w), TREE_SIZE);
  uint64_t before = now_ms();
  child_free(&p.child, 300);
  wait_sleepers(w, number_of(w), 0);
  assert_true(now_ms() - before >= 300);
  close_probe(&p);
}

// Each of its processes lives for some milliseconds, loses its parent, and forks the next one.
static void a_child_that_keeps_forking_away_is_caught(void **state) {
  struct world *w = *state;
  struct probe p;
  spawn_shell(w, &p, "run() { sleep 0.005; (run &) ; }; for i in 1 2 3 4 5; do run & done; sleep $M");
  wait_sleepers(w, number_of(w), 1);
  close_probe(&p);
  wait_no_children(w, w->guard.pid);
}

static void a_child_freed_before_its_start_is_never_heard_of(void **state) {
  struct world *w = *state;
  struct probe queued, asked;
  char text[8];
  int status;
  spawn_shell(w, &queued, TREE "wait");
  child_free(&queued.child, 0);
  spawn_shell(w, &asked, TREE "wait");
  uv_run(&w->loop.uv, UV_RUN_NOWAIT);
  child_free(&asked.child, 0);
  run_shell(w, "exit 0", text, sizeof text, &status);  // by now the guard knows of the others
  wait_no_children(w, w->guard.pid);
  wait_sleepers(w, number_of(w), 0);
  assert_int_equal(queued.starts + queued.fails + queued.exits + asked.starts + asked.fails + asked.exits, 0);
}

static void a_child_freed_before_its_start_is_asked_to_end_when_it_starts(void **state) {
  struct world *w = *state;
  struct probe p;
  char text[8];
  int status;
  uint64_t before = now_ms();
  spawn_program(w, &p, "sleep", (const char *[]){"sleep", number_of(w), NULL}, NULL);
  child_free(&p.child, 60000);
  run_shell(w, "exit 0", text, sizeof text, &status);  // by now the guard knows of the other
  wait_no_children(w, w->guard.pid);
  assert_true(now_ms() - before < 60000);
}

struct farewell {
  struct world *world;
  struct probe probe;
};

static void keep_pipes(void *ctx, struct child *c, int in, int out, int err) {
  struct farewell *f = ctx;
  on_start(&f->probe, c, in, out, err);
}

static void free_host(void *ctx, struct child *c, int status) {
  struct farewell *f = ctx;
  child_host_free(&f->world->host);
}

static void the_host_may_be_freed_inside_a_callback(void **state) {
  struct world *w = *state;
  static const struct child_events last = {.on_start = keep_pipes, .on_exit = free_host};
  struct farewell f = {.world = w};
  struct probe p;
  spawn_shell(w, &p, TREE "wait");
  wait_sleepers(w, number_of(w), TREE_SIZE);
  struct child_spec spec = {.file = "true", .argv = (const char *[]){"true", NULL}, .envp = w->envp};
  f.probe.child = child_spawn(w->host, &spec, &last, &f);
  loop_run(&w->loop);
  assert_null(w->host);
  assert_int_equal(count_sleepers(number_of(w)), 0);
  close_probe(&f.probe);
  close_probe(&p);
}

static void a_child_may_be_freed_inside_its_callbacks(void **state) {
  struct world *w = *state;
  struct probe p;
  spawn_shell(w, &p, "sleep $M");
  p.free_in_callback = true;
  run_until(w, &p.starts);
  close_probe(&p);
  spawn_program(w, &p, "no-such-program", (const char *[]){"x", NULL}, NULL);
  p.free_in_callback = true;
  run_until(w, &p.fails);
  wait_sleepers(w, number_of(w), 0);
  assert_int_equal(p.exits, 0);
}

// ---- ends ----

static void freeing_the_host_kills_everything_and_ends_the_guard(void **state) {
  struct world *w = *state;
  struct probe p;
  spawn_shell(w, &p, TREE "wait");
  wait_sleepers(w, number_of(w), TREE_SIZE);
  child_host_free(&w->host);
  assert_int_equal(count_sleepers(number_of(w)), 0);
  assert_int_equal(kill(w->guard.pid, 0), -1);
  close_probe(&p);  // after its host
}

static void freeing_the_host_leaves_a_stopped_child_its_grace(void **state) {
  struct world *w = *state;
  struct probe p;
  char text[64];
  spawn_shell(w, &p, "trap 'sleep 0.2; echo tidy; exit' TERM; echo up; while :; do sleep 0.01; done");
  run_until(w, &p.starts);
  wait_for_text(w, p.out, "up");
  child_free(&p.child, DEADLINE_MS);
  child_host_free(&w->host);
  assert_true(str_eq(read_all(w, p.out, text, sizeof text), STR("tidy\n")));
  close_probe(&p);
}

// What the process that stands for a gateway does: a tree, and then nothing until it is killed.
static void pretend_gateway(void) {
  struct world *w;
  struct probe p;
  set_up((void **)&w);
  snprintf(w->marker, sizeof w->marker, "M=3600.%d999", (int)getpid());
  spawn_shell(w, &p, "trap '' TERM HUP INT; " TREE "wait");
  loop_run(&w->loop);
}

static void a_gateway_killed_with_sigkill_leaves_no_process_and_no_open_pipe(void **state) {
  int out[2];
  char number[64], c;
  assert_int_equal(pipe2(out, O_CLOEXEC), 0);
  pid_t gateway = fork();
  if (gateway == 0) {
    setpgid(0, 0);
    dup2(out[1], 0);
    dup2(out[1], 1);
    pretend_gateway();
    _exit(0);
  }
  close(out[1]);
  snprintf(number, sizeof number, "3600.%d999", (int)gateway);
  wait_sleepers(NULL, number, TREE_SIZE);
  kill(-gateway, SIGKILL);  // its whole group
  waitpid(gateway, NULL, 0);
  struct pollfd p = {out[0], POLLIN, 0};
  assert_int_equal(poll(&p, 1, DEADLINE_MS), 1);
  assert_int_equal(read(out[0], &c, 1), 0);  // nobody holds what was its stdout
  close(out[0]);
  wait_sleepers(NULL, number, 0);
}

// Within the deadline: a keeper has a pipe to its child until that runs its program.
static void expect_link(pid_t pid, int fd, const char *want) {
  char path[64], got[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
  for (int ms = 0; ms < DEADLINE_MS; ms += 10) {
    memset(got, 0, sizeof got);
    if (readlink(path, got, sizeof got - 1) < 0) memcpy(got, "closed", sizeof "closed");
    if (strcmp(got, want) == 0) return;
    poll(NULL, 0, 10);
  }
  assert_string_equal(got, want);
}

// The pipes of a client that started the gateway must end with the gateway.
static void the_guard_and_its_keepers_do_not_hold_stdin_and_stdout(void **state) {
  struct world *w = *state;
  struct probe p;
  spawn_shell(w, &p, "sleep $M");
  wait_sleepers(w, number_of(w), 1);
  pid_t keeper = only_child(w->guard.pid);
  for (int fd = 0; fd < 2; fd++) {
    expect_link(w->guard.pid, fd, "/dev/null");
    expect_link(keeper, fd, "/dev/null");
  }
  expect_link(keeper, 3, "closed");  // the guard's socket
  close_probe(&p);
}

static void a_gateway_started_without_stdin_stdout_and_stderr_has_children_all_the_same(void **state) {
  char number[64];
  pid_t gateway = fork();
  if (gateway == 0) {
    closefrom(0);
    pretend_gateway();
    _exit(0);
  }
  snprintf(number, sizeof number, "3600.%d999", (int)gateway);
  wait_sleepers(NULL, number, TREE_SIZE);
  kill(gateway, SIGKILL);
  waitpid(gateway, NULL, 0);
  wait_sleepers(NULL, number, 0);
}

static void when_the_guard_is_killed_children_end_and_none_can_be_started(void **state) {
  struct world *w = *state;
  struct probe running, late;
  spawn_shell(w, &running, TREE "wait");
  wait_sleepers(w, number_of(w), TREE_SIZE);
  kill(w->guard.pid, SIGKILL);
  run_until(w, &running.exits);
  assert_int_equal(running.status, 128 + SIGKILL);
  wait_sleepers(w, number_of(w), 0);
  spawn_shell(w, &late, "exit 0");
  assert_int_equal(late.fails, 0);
  loop_run(&w->loop);
  assert_int_equal(late.fails, 1);
  assert_non_null(strstr(late.fault.message, "guard of child processes has died"));
  close_probe(&running);
  close_probe(&late);
}

static void when_a_keeper_is_killed_its_child_counts_as_killed(void **state) {
  struct world *w = *state;
  struct probe p;
  spawn_shell(w, &p, "sleep $M; exit 0");
  wait_sleepers(w, number_of(w), 1);
  pid_t keeper = only_child(w->guard.pid);
  kill(keeper, SIGKILL);
  run_until(w, &p.exits);
  assert_int_equal(p.status, 128 + SIGKILL);
  close_probe(&p);
  child_host_free(&w->host);
  assert_int_equal(count_sleepers(number_of(w)), 0);
}

// 'R', 'S', 'T' (stopped) and so on; 0: there is no such process.
static char state_of(pid_t pid) {
  char path[64], text[512] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *f = fopen(path, "r");
  size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
  if (f) fclose(f);
  text[n] = 0;
  const char *name_end = strrchr(text, ')');
  return name_end ? name_end[2] : 0;
}

static void a_keeper_that_is_stopped_goes_on_at_once(void **state) {
  struct world *w = *state;
  struct probe p;
  spawn_program(w, &p, "cat", (const char *[]){"cat", NULL}, NULL);
  run_until(w, &p.starts);
  kill(only_child(w->guard.pid), SIGSTOP);
  close(p.in);
  p.in = -1;
  run_until(w, &p.exits);  // only the keeper can tell
  assert_int_equal(p.status, 0);
  close_probe(&p);
}

// The guard has no time to continue its keeper: the kernel does.
static void all_processes_below_a_stopped_keeper_end_when_the_guard_dies(void **state) {
  struct world *w = *state;
  struct probe p;
  spawn_shell(w, &p, TREE "wait");
  wait_sleepers(w, number_of(w), TREE_SIZE);
  pid_t stopped[] = {w->guard.pid, only_child(w->guard.pid)};
  for (size_t i = 0; i < 2; i++) {
    kill(stopped[i], SIGSTOP);
    for (int ms = 0; ms < DEADLINE_MS && state_of(stopped[i]) != 'T'; ms += 10) poll(NULL, 0, 10);
    assert_int_equal(state_of(stopped[i]), 'T');
  }
  kill(w->guard.pid, SIGKILL);
  run_until(w, &p.exits);
  wait_sleepers(w, number_of(w), 0);
  close_probe(&p);
}

static void the_guard_and_its_keepers_do_not_heed_sigterm_sigint_and_sighup(void **state) {
  struct world *w = *state;
  struct probe p;
  char text[64];
  spawn_program(w, &p, "cat", (const char *[]){"cat", NULL}, NULL);
  run_until(w, &p.starts);
  pid_t keeper = only_child(w->guard.pid);
  int signals[] = {SIGTERM, SIGINT, SIGHUP};
  for (int i = 0; i < 3; i++) {
    kill(keeper, signals[i]);
    kill(w->guard.pid, signals[i]);
  }
  assert_int_equal(write(p.in, "still here", 10), 10);
  close(p.in);
  p.in = -1;
  assert_true(str_eq(read_all(w, p.out, text, sizeof text), STR("still here")));
  run_until(w, &p.exits);
  assert_int_equal(p.status, 0);
  close_probe(&p);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      T(a_stopped_child_takes_its_whole_tree_along),
      T(stopping_one_child_leaves_the_orphans_of_another_alone),
      T(a_child_that_ends_by_itself_leaves_no_descendants),
      T(a_stopped_child_has_its_grace_to_tidy_up),
      T(descendants_have_the_grace_too_when_the_first_process_is_gone),
      T(a_child_that_may_leave_ends_by_itself_when_its_input_does),
      T(one_that_does_not_leave_is_asked_and_then_killed),
      T(what_ignores_sigterm_is_killed_after_the_grace),
      T(a_child_that_keeps_forking_away_is_caught),
      T(a_child_freed_before_its_start_is_never_heard_of),
      T(a_child_freed_before_its_start_is_asked_to_end_when_it_starts),
      T(the_host_may_be_freed_inside_a_callback),
      T(a_child_may_be_freed_inside_its_callbacks),
      T(freeing_the_host_kills_everything_and_ends_the_guard),
      T(freeing_the_host_leaves_a_stopped_child_its_grace),
      cmocka_unit_test(a_gateway_killed_with_sigkill_leaves_no_process_and_no_open_pipe),
      T(the_guard_and_its_keepers_do_not_hold_stdin_and_stdout),
      cmocka_unit_test(a_gateway_started_without_stdin_stdout_and_stderr_has_children_all_the_same),
      T(when_the_guard_is_killed_children_end_and_none_can_be_started),
      T(when_a_keeper_is_killed_its_child_counts_as_killed),
      T(a_keeper_that_is_stopped_goes_on_at_once),
      T(all_processes_below_a_stopped_keeper_end_when_the_guard_dies),
      T(the_guard_and_its_keepers_do_not_heed_sigterm_sigint_and_sighup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
