// SPDX-License-Identifier: Apache-2.0
// io/lockdown: what the gateway's processes cannot do any more. Each test locks down a process of its own.
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/crypto/locked.h"
#include "io/process/lockdown.h"

// Runs it in another process; gives the exit code, or 128 + signal.
static int status_of(void (*run)(void)) {
  int status;
  pid_t pid = fork();
  if (pid == 0) {
    run();
    _exit(0);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void expect(bool ok, int code) {
  if (!ok) _exit(code);
}

// ---- system calls

static void run_a_program(void) {
  expect(lockdown_calls(), 1);
  execl("/bin/true", "true", (char *)NULL);
}

static void read_a_process(void) {
  expect(lockdown_calls(), 1);
  syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0);
}

static void *run_a_program_when_told(void *arg) {
  char byte;
  if (read(*(int *)arg, &byte, 1) == 1) execl("/bin/true", "true", (char *)NULL);
  return NULL;
}

static void run_a_program_in_an_older_thread(void) {
  pthread_t thread;
  int pair[2];
  expect(pipe(pair) == 0 && pthread_create(&thread, NULL, run_a_program_when_told, &pair[0]) == 0, 1);
  expect(lockdown_calls(), 2);
  expect(write(pair[1], "x", 1) == 1, 3);
  pthread_join(thread, NULL);
}

static void try_what_libraries_try(void) {
  expect(lockdown_calls(), 1);
  expect(syscall(SYS_io_uring_setup, 1, NULL) == -1 && errno == EPERM, 2);
  expect(syscall(SYS_userfaultfd, 0) == -1 && errno == EPERM, 3);
  expect(syscall(SYS_bpf, 0, NULL, 0) == -1 && errno == EPERM, 4);
  expect(syscall(SYS_keyctl, 0, 0, 0, 0, 0) == -1 && errno == EPERM, 5);
}

static void *do_nothing(void *arg) {
  return arg;
}

static void work(void) {
  struct addrinfo *found = NULL;
  pthread_t thread;
  expect(lockdown_calls(), 1);
  expect(getaddrinfo("localhost", "80", NULL, &found) == 0, 2);
  freeaddrinfo(found);
  expect(pthread_create(&thread, NULL, do_nothing, NULL) == 0 && pthread_join(thread, NULL) == 0, 3);
  int fds[2];
  expect(pipe(fds) == 0 && memfd_create("x", MFD_CLOEXEC) >= 0, 4);
}

static void a_locked_down_gateway_that_starts_a_program_is_killed(void **state) {
  assert_int_equal(status_of(run_a_program), 128 + SIGSYS);
}

static void a_locked_down_gateway_that_reads_a_process_is_killed(void **state) {
  assert_int_equal(status_of(read_a_process), 128 + SIGSYS);
}

static void threads_that_ran_before_are_locked_down_too(void **state) {
  assert_int_equal(status_of(run_a_program_in_an_older_thread), 128 + SIGSYS);
}

static void calls_that_libraries_can_do_without_fail(void **state) {
  assert_int_equal(status_of(try_what_libraries_try), 0);
}

static void the_rest_of_the_system_calls_works(void **state) {
  assert_int_equal(status_of(work), 0);
}

// ---- memory

static void put_a_word(struct arena *a, const char *word, char **out) {
  arena_init_secret(a);
  *out = arena_cstr(a, str_of(word));
}

static void find_it_empty(void) {
  struct arena a;
  char *word;
  put_a_word(&a, "swordfish", &word);
  int status;
  pid_t pid = fork();
  if (pid == 0) _exit(*word ? 1 : 0);
  expect(waitpid(pid, &status, 0) == pid, 2);
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, 3);
  expect(strcmp(word, "swordfish") == 0, 4);
}

static void a_forked_process_has_no_secrets(void **state) {
  assert_int_equal(status_of(find_it_empty), 0);
}

static void a_secret_arena_grows_and_is_emptied_by_a_reset(void **state) {
  struct arena a;
  char *word;
  put_a_word(&a, "swordfish", &word);
  char *large = arena_zero(&a, 100000);
  memset(large, 'x', 100000);
  assert_string_equal(word, "swordfish");
  arena_reset(&a);
  assert_int_equal(word[0], 0);
  arena_done(&a);
}

#define MOVE_THE_ENVIRONMENT "move the environment"

// What the kernel shows is the memory that execve filled, so the program starts again with the variable.
static void start_again(void) {
  setenv("TEST_SECRET", "swordfish", 1);
  execl("/proc/self/exe", "test_lockdown", MOVE_THE_ENVIRONMENT, (char *)NULL);
  _exit(9);
}

static bool kernel_shows_secret(void) {
  static char text[1 << 16];
  int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
  ssize_t n = 0, all = 0;
  while (fd >= 0 && (n = read(fd, text + all, sizeof text - (size_t)all)) > 0) all += n;
  expect(fd >= 0 && all > 0 && (size_t)all < sizeof text, 8);
  close(fd);
  return memmem(text, (size_t)all, "swordfish", 9);
}

static int move_the_environment(void) {
  expect(kernel_shows_secret(), 1);
  lockdown_environment();
  expect(strcmp(getenv("TEST_SECRET"), "swordfish") == 0, 2);
  expect(!kernel_shows_secret(), 3);
  return 0;
}

static void the_environment_is_moved_and_its_original_overwritten(void **state) {
  assert_int_equal(status_of(start_again), 0);
}

// ---- the process

static void fall(void) {
  lockdown_process();
  expect(prctl(PR_GET_DUMPABLE) == 0, 1);
}

static void a_locked_down_process_is_not_dumpable(void **state) {
  assert_int_equal(status_of(fall), 0);
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], MOVE_THE_ENVIRONMENT) == 0) return move_the_environment();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_locked_down_gateway_that_starts_a_program_is_killed),
      cmocka_unit_test(a_locked_down_gateway_that_reads_a_process_is_killed),
      cmocka_unit_test(threads_that_ran_before_are_locked_down_too),
      cmocka_unit_test(calls_that_libraries_can_do_without_fail),
      cmocka_unit_test(the_rest_of_the_system_calls_works),
      cmocka_unit_test(a_forked_process_has_no_secrets),
      cmocka_unit_test(a_secret_arena_grows_and_is_emptied_by_a_reset),
      cmocka_unit_test(the_environment_is_moved_and_its_original_overwritten),
      cmocka_unit_test(a_locked_down_process_is_not_dumpable),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
