// SPDX-License-Identifier: Apache-2.0
// io/child: starting children, and what a child finds when it starts.
#include <sys/resource.h>

#include "child_world.h"

// ---- starting ----

static void what_is_written_to_a_child_it_reads_and_what_it_writes_comes_back(void **state) {
  struct world *w = *state;
  struct probe p;
  char text[64];
  spawn_program(w, &p, "/bin/cat", (const char *[]){"cat", NULL}, NULL);
  assert_int_equal(child_pid(p.child), 0);
  run_until(w, &p.starts);
  assert_int_equal(write(p.in, "hello\n", 6), 6);
  close(p.in);
  p.in = -1;
  assert_true(str_eq(read_all(w, p.out, text, sizeof text), STR("hello\n")));
  assert_int_equal(read_all(w, p.err, text, sizeof text).n, 0);
  run_until(w, &p.exits);
  assert_int_equal(p.status, 0);
  close_probe(&p);
}

static void our_ends_of_the_pipes_do_not_block_and_theirs_do(void **state) {
  struct world *w = *state;
  struct probe p;
  struct stat st;
  spawn_shell(w, &p, "read line; sleep $M");
  run_until(w, &p.starts);
  int ours[] = {p.in, p.out, p.err};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(fstat(ours[i], &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    assert_true(fcntl(ours[i], F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(ours[i], F_GETFD) & FD_CLOEXEC);
  }
  assert_int_equal(write(p.in, "x\n", 2), 2);  // `read` waited for it
  wait_sleepers(w, number_of(w), 1);
  close_probe(&p);
}

static void a_pipe_that_a_running_child_closes_is_closed(void **state) {
  struct world *w = *state;
  struct probe p;
  char text[8];
  spawn_shell(w, &p, "exec <&- >&- 2>&-; sleep $M");
  run_until(w, &p.starts);
  assert_int_equal(read_all(w, p.out, text, sizeof text).n, 0);
  assert_int_equal(read_all(w, p.err, text, sizeof text).n, 0);
  signal(SIGPIPE, SIG_IGN);
  assert_int_equal(write(p.in, "x", 1), -1);
  assert_int_equal(errno, EPIPE);
  signal(SIGPIPE, SIG_DFL);
  wait_sleepers(w, number_of(w), 1);
  close_probe(&p);
}

static void a_child_can_open_dev_stdout_and_dev_stderr(void **state) {
  struct world *w = *state;
  char text[64];
  int status;
  str got = run_shell(w, "exec 2>&1; echo one >/dev/stdout; echo two >/dev/stderr", text, sizeof text, &status);
  assert_true(str_eq(got, STR("one\ntwo\n")));
  assert_int_equal(status, 0);
}

static void the_exit_code_is_told_and_a_signal_as_128_and_its_number(void **state) {
  struct world *w = *state;
  char text[64];
  int status;
  run_shell(w, "exit 7", text, sizeof text, &status);
  assert_int_equal(status, 7);
  run_shell(w, "kill -TERM $$", text, sizeof text, &status);
  assert_int_equal(status, 128 + SIGTERM);
}

static void the_environment_is_exactly_what_was_given(void **state) {
  struct world *w = *state;
  struct probe p;
  char text[256];
  setenv("OF_THE_GATEWAY", "secret", 1);
  w->envp[0] = "A=1";
  w->envp[1] = "EMPTY=";
  w->envp[2] = "A b=c = d";
  spawn_program(w, &p, "/usr/bin/env", (const char *[]){"env", NULL}, NULL);
  run_until(w, &p.starts);
  assert_true(str_eq(read_all(w, p.out, text, sizeof text), STR("A=1\nEMPTY=\nA b=c = d\n")));
  close_probe(&p);
}

static void a_program_gets_its_arguments_unchanged_and_without_a_shell(void **state) {
  struct world *w = *state;
  struct probe p;
  char text[256];
  spawn_program(w, &p, "printf", (const char *[]){"printf", "[%s]", "$HOME", "", "a b;'\"*", NULL}, NULL);
  run_until(w, &p.starts);
  assert_true(str_eq(read_all(w, p.out, text, sizeof text), STR("[$HOME][][a b;'\"*]")));
  close_probe(&p);
}

static void a_child_starts_in_its_cwd(void **state) {
  struct world *w = *state;
  struct probe p;
  char text[64];
  spawn_program(w, &p, "pwd", (const char *[]){"pwd", NULL}, "/usr/bin");
  run_until(w, &p.starts);
  assert_true(str_eq(read_all(w, p.out, text, sizeof text), STR("/usr/bin\n")));
  close_probe(&p);
}

// A directory that the shell itself opens to list it shows up as 3.
static void a_child_has_only_the_descriptors_0_1_and_2(void **state) {
  struct world *w = *state;
  char text[256];
  int status, late = open("/dev/null", O_RDONLY);  // not close-on-exec
  str got = run_shell(w, "cd /proc/$$/fd && echo *", text, sizeof text, &status);
  assert_true(str_eq(got, STR("0 1 2 3\n")));
  close(late);
}

static void a_child_has_its_own_session_default_signals_and_gains_no_privileges(void **state) {
  struct world *w = *state;
  struct probe p;
  char text[512], want[64];
  int pid, group, session;
  const char *argv[] = {"grep", "-hE", "[(]grep[)]|SigBlk|SigIgn|NoNewPrivs", "/proc/self/stat", "/proc/self/status",
                        NULL};
  spawn_program(w, &p, "grep", argv, NULL);
  run_until(w, &p.starts);
  read_all(w, p.out, text, sizeof text);
  assert_int_equal(sscanf(text, "%d (grep) %*c %*d %d %d", &pid, &group, &session), 3);
  assert_int_equal(pid, child_pid(p.child));
  close_probe(&p);
  assert_int_equal(group, pid);
  assert_int_equal(session, pid);
  snprintf(want, sizeof want, "SigBlk:\t%016d\nSigIgn:\t%016d\n", 0, 0);
  assert_non_null(strstr(text, want));
  assert_non_null(strstr(text, "NoNewPrivs:\t1\n"));
}

static void limits_that_the_gateway_sets_for_itself_do_not_reach_its_children(void **state) {
  struct world *w = *state;
  struct rlimit before, now;
  char text[32];
  int status;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  now = before;
  now.rlim_cur = before.rlim_cur - 1;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
  run_shell(w, "ulimit -S -n", text, sizeof text, &status);
  assert_int_equal(atol(text), before.rlim_cur);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void many_children_asked_for_at_once_all_start(void **state) {
  struct world *w = *state;
  enum { MANY = 150 };
  struct probe p[MANY];
  for (int i = 0; i < MANY; i++) spawn_program(w, &p[i], "true", (const char *[]){"true", NULL}, NULL);
  for (int i = 0; i < MANY; i++) {
    run_until(w, &p[i].exits);
    assert_int_equal(p[i].status, 0);
    close_probe(&p[i]);
  }
}

// ---- not starting ----

static void expect_failure(struct world *w, const char *file, const char *cwd, const char *words) {
  struct probe p;
  spawn_program(w, &p, file, (const char *[]){file, NULL}, cwd);
  run_until(w, &p.fails);
  assert_int_equal(p.starts, 0);
  assert_int_equal(p.fault.code, FAULT_IO);
  if (!strstr(p.fault.message, words)) fail_msg("\"%s\" lacks \"%s\"", p.fault.message, words);
  close_probe(&p);
  assert_int_equal(p.exits, 0);
}

static void a_program_that_is_not_there_fails_with_the_places_searched(void **state) {
  struct world *w = *state;
  expect_failure(w, "no-such-program", NULL,
                 "cannot start \"no-such-program\": no such program in PATH (/usr/local/bin:/usr/bin:/bin)");
  expect_failure(w, "/no/such/program", NULL, "cannot start \"/no/such/program\": no such file");
  expect_failure(w, "", NULL, "no such file");
  w->envp[0] = "PATH=/no/such/folder";
  expect_failure(w, "sh", NULL, "no such program in PATH (/no/such/folder)");
}

static void without_path_the_usual_folders_are_searched(void **state) {
  struct world *w = *state;
  struct probe p;
  w->envp[0] = "X=1";
  spawn_program(w, &p, "true", (const char *[]){"true", NULL}, NULL);
  run_until(w, &p.exits);
  assert_int_equal(p.status, 0);
  close_probe(&p);
}

static void a_cwd_that_is_not_there_is_named(void **state) {
  struct world *w = *state;
  expect_failure(w, "sh", "/no/such/folder", "cwd \"/no/such/folder\" does not exist");
  expect_failure(w, "sh", "/etc/passwd", "cwd \"/etc/passwd\": Not a directory");
}

static void put_file(const char *path, const char *text, mode_t mode) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, strlen(text)), strlen(text));
  assert_int_equal(fchmod(fd, mode), 0);
  close(fd);
}

static void a_file_that_cannot_be_executed_fails_with_the_reason(void **state) {
  struct world *w = *state;
  char dir[] = "/tmp/test-child-XXXXXX", path[64], variable[64];
  assert_non_null(mkdtemp(dir));
  snprintf(path, sizeof path, "%s/program", dir);
  snprintf(variable, sizeof variable, "PATH=%s", dir);
  put_file(path, "#!/bin/sh\n", 0600);
  expect_failure(w, path, NULL, "permission denied");
  w->envp[0] = variable;
  expect_failure(w, "program", NULL, "permission denied");
  put_file(path, "just text\n", 0700);
  expect_failure(w, path, NULL, "script with a #! line");
  put_file(path, "#!/no/such/interpreter\n", 0700);
  expect_failure(w, "program", NULL, "interpreter");
  unlink(path);
  rmdir(dir);
}

static void a_large_environment_arrives_and_one_over_a_megabyte_is_refused(void **state) {
  struct world *w = *state;
  enum { PART = 100000, PARTS = 9 };
  static char large[PART + 1];
  const char *envp[PARTS + 8] = {w->envp[0]};
  memset(large, 'x', PART);
  large[1] = '=';
  for (int i = 0; i < PARTS; i++) envp[1 + i] = large;
  struct probe p = {.in = -1, .out = -1, .err = -1};
  struct child_spec spec = {
      .file = "sh", .argv = (const char *[]){"sh", "-c", "tr -cd x </proc/$$/environ | wc -c", NULL}, .envp = envp};
  char text[64];
  p.child = child_spawn(w->host, &spec, &events, &p);
  run_until(w, &p.starts);
  assert_int_equal(atoi(read_all(w, p.out, text, sizeof text).p), PARTS * (PART - 1));
  close_probe(&p);

  envp[1 + PARTS] = envp[2 + PARTS] = large;
  p = (struct probe){.in = -1, .out = -1, .err = -1};
  p.child = child_spawn(w->host, &spec, &events, &p);
  assert_int_equal(p.fails, 0);
  loop_run(&w->loop);
  assert_int_equal(p.fails, 1);
  assert_int_equal(p.fault.code, FAULT_LIMIT);
  close_probe(&p);
}

static void without_descriptors_left_a_start_fails_and_the_next_one_works(void **state) {
  struct world *w = *state;
  struct probe p;
  struct rlimit before;
  int used = count_fds();
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  int highest = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(highest);
  for (int room = 0; room < 7; room++) {
    struct rlimit tight = {(rlim_t)(highest + room), before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    spawn_shell(w, &p, "exit 0");
    loop_run(&w->loop);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(p.fails, 1);
    assert_string_equal(p.fault.message, "cannot start \"sh\": Too many open files");
    close_probe(&p);
    assert_int_equal(count_fds(), used);
  }
  spawn_shell(w, &p, "exit 0");
  run_until(w, &p.exits);
  close_probe(&p);
}

static void two_hundred_children_in_a_row_leave_no_descriptor_and_no_zombie(void **state) {
  struct world *w = *state;
  int before = count_fds();
  for (int i = 0; i < 200; i++) {
    struct probe p;
    spawn_program(w, &p, i % 4 ? "true" : "no-such-program", (const char *[]){"true", NULL}, NULL);
    run_until(w, i % 4 ? &p.exits : &p.fails);
    close_probe(&p);
  }
  assert_int_equal(count_fds(), before);
  wait_no_children(w, w->guard.pid);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      T(what_is_written_to_a_child_it_reads_and_what_it_writes_comes_back),
      T(our_ends_of_the_pipes_do_not_block_and_theirs_do),
      T(a_pipe_that_a_running_child_closes_is_closed),
      T(a_child_can_open_dev_stdout_and_dev_stderr),
      T(the_exit_code_is_told_and_a_signal_as_128_and_its_number),
      T(the_environment_is_exactly_what_was_given),
      T(a_program_gets_its_arguments_unchanged_and_without_a_shell),
      T(a_child_starts_in_its_cwd),
      T(a_child_has_only_the_descriptors_0_1_and_2),
      T(a_child_has_its_own_session_default_signals_and_gains_no_privileges),
      T(limits_that_the_gateway_sets_for_itself_do_not_reach_its_children),
      T(many_children_asked_for_at_once_all_start),
      T(a_program_that_is_not_there_fails_with_the_places_searched),
      T(without_path_the_usual_folders_are_searched),
      T(a_cwd_that_is_not_there_is_named),
      T(a_file_that_cannot_be_executed_fails_with_the_reason),
      T(a_large_environment_arrives_and_one_over_a_megabyte_is_refused),
      T(without_descriptors_left_a_start_fails_and_the_next_one_works),
      T(two_hundred_children_in_a_row_leave_no_descriptor_and_no_zombie),
  };
  int inherited = open("/dev/null", O_RDONLY);  // by every guard; not close-on-exec
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  close(inherited);
  return failed;
}
