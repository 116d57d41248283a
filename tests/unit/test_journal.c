// SPDX-License-Identifier: Apache-2.0
// Journals: lines in files of one folder. The clock is the test's.
#include <dirent.h>
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

#include "base/assert.h"
#include "observe/journal.h"

struct fixture {
  struct loop loop;
  struct clock clock;
  uint64_t now;
  struct log log;
  char home[64], folder[96];
  struct buf read;
  size_t stop_after;
  uv_async_t awake;  // keeps the loop alive
};

static uint64_t mono(void *ctx) {
  return *(uint64_t *)ctx;
}
static int64_t wall(void *ctx) {
  return INT64_C(1800000000000) + (int64_t) * (uint64_t *)ctx;
}

static int setup(void **state) {
  struct fixture *x = calloc(1, sizeof *x);
  x->now = 1000;
  x->clock = (struct clock){mono, wall, &x->now};
  x->log = (struct log){STDERR_FILENO, LOG_OFF, &x->clock};
  snprintf(x->home, sizeof x->home, "/tmp/journal-XXXXXX");
  assert_non_null(mkdtemp(x->home));
  snprintf(x->folder, sizeof x->folder, "%s/records", x->home);
  loop_init(&x->loop, &x->log, &x->clock, &rand_system);
  uv_async_init(&x->loop.uv, &x->awake, NULL);
  buf_init(&x->read, 1 << 24);
  *state = x;
  return 0;
}

static int teardown(void **state) {
  struct fixture *x = *state;
  char command[160];
  uv_close((uv_handle_t *)&x->awake, NULL);
  loop_run(&x->loop);
  loop_done(&x->loop);
  buf_done(&x->read);
  snprintf(command, sizeof command, "rm -r %s", x->home);
  assert_int_equal(system(command), 0);
  free(x);
  return 0;
}

static struct journal *a_journal(struct fixture *x, uint64_t max_bytes, uint64_t keep_ms) {
  return journal_new(&x->loop, str_of(x->folder), &(struct journal_limits){max_bytes, keep_ms});
}

// Writes what is pending.
static void settles(struct fixture *x) {
  for (int i = 0; i < 4; i++) {
    x->now += 20;
    x->loop.now_known = false;
    timer_run_due(&x->loop);
    uv_run(&x->loop.uv, UV_RUN_NOWAIT);
    while (x->loop.uv.active_reqs.count) uv_run(&x->loop.uv, UV_RUN_ONCE);
  }
}

static bool on_line(void *ctx, str line) {
  struct fixture *x = ctx;
  buf_str(&x->read, line);
  buf_char(&x->read, '|');
  return !x->stop_after || --x->stop_after;
}

static const char *read_all(struct fixture *x, int64_t since_ms) {
  struct fault f;
  buf_reset(&x->read);
  assert_true(journal_read(str_of(x->folder), since_ms, on_line, x, &f));
  buf_char(&x->read, 0);
  return x->read.p;
}

// Returns the number of files. Sets `newest` to the path of the newest one.
static size_t count_files(struct fixture *x, char newest[256]) {
  DIR *dir = opendir(x->folder);
  size_t n = 0;
  *newest = 0;
  assert_non_null(dir);
  for (struct dirent *e; (e = readdir(dir));) {
    char path[256];
    if (e->d_name[0] == '.') continue;
    n++;
    snprintf(path, sizeof path, "%s/%s", x->folder, e->d_name);
    if (strcmp(path, newest) > 0) memcpy(newest, path, sizeof path);
  }
  closedir(dir);
  return n;
}

static void lines_are_read_in_the_order_in_which_they_were_added(void **state) {
  struct fixture *x = *state;
  struct journal *j = a_journal(x, 1 << 24, 0);
  const char *why;
  struct stat st;
  char file[256];
  assert_string_equal(read_all(x, 0), "");  // there is no folder yet
  assert_true(journal_works(j, &why));
  assert_true(journal_add(j, STR("{\"n\":1}")));
  assert_true(journal_add(j, STR("{\"n\":2}")));
  settles(x);
  assert_true(journal_add(j, STR("{\"n\":3}")));
  settles(x);
  assert_string_equal(read_all(x, 0), "{\"n\":1}|{\"n\":2}|{\"n\":3}|");
  assert_int_equal(count_files(x, file), 1);
  assert_int_equal(stat(file, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
  x->stop_after = 2;
  assert_string_equal(read_all(x, 0), "{\"n\":1}|{\"n\":2}|");
  assert_true(journal_add(j, STR("{\"n\":4}")));
  journal_free(&j);  // writes pending lines
  assert_string_equal(read_all(x, 0), "{\"n\":1}|{\"n\":2}|{\"n\":3}|{\"n\":4}|");
}

static void an_incomplete_line_is_ignored_and_removed_by_the_next_writer(void **state) {
  struct fixture *x = *state;
  char file[256];
  struct journal *j = a_journal(x, 1 << 24, 0);
  journal_add(j, STR("{\"n\":1}"));
  journal_free(&j);
  assert_int_equal(count_files(x, file), 1);
  FILE *torn = fopen(file, "a");
  fputs("{\"n\":2,\"te", torn);
  fclose(torn);
  assert_string_equal(read_all(x, 0), "{\"n\":1}|");
  j = a_journal(x, 1 << 24, 0);
  journal_add(j, STR("{\"n\":3}"));
  journal_free(&j);
  assert_string_equal(read_all(x, 0), "{\"n\":1}|{\"n\":3}|");
  assert_int_equal(count_files(x, file), 1);
}

static void two_gateways_write_to_files_of_their_own(void **state) {
  struct fixture *x = *state;
  char file[256];
  struct journal *one = a_journal(x, 1 << 24, 0), *two = a_journal(x, 1 << 24, 0);
  journal_add(one, STR("{\"by\":1}"));
  settles(x);
  journal_add(two, STR("{\"by\":2}"));
  settles(x);
  journal_add(one, STR("{\"by\":1}"));
  settles(x);
  assert_int_equal(count_files(x, file), 2);
  assert_string_equal(read_all(x, 0), "{\"by\":1}|{\"by\":1}|{\"by\":2}|");
  journal_free(&one);
  journal_free(&two);
}

static void the_oldest_files_are_removed_when_all_together_are_too_large(void **state) {
  struct fixture *x = *state;
  enum { ROOM = 1 << 20, LINE = 10000 };
  char file[256], line[LINE + 1];
  struct journal *j = a_journal(x, ROOM, 0);
  for (int i = 0; i < 400; i++) {
    memset(line, 'x', LINE);
    line[snprintf(line, 32, "%d ", i)] = 'x';
    line[LINE] = 0;
    assert_true(journal_add(j, (str){line, LINE}));
    settles(x);
  }
  journal_free(&j);
  const char *all = read_all(x, 0);
  assert_true(strlen(all) <= ROOM + (1 << 16) + LINE);
  assert_true(strlen(all) >= ROOM / 2);
  assert_non_null(strstr(all, "399 "));
  assert_null(strstr(all, "|100 "));
  assert_true(count_files(x, file) > 4);
}

static void files_older_than_the_limit_are_removed(void **state) {
  struct fixture *x = *state;
  char file[256];
  struct journal *j = a_journal(x, 1 << 24, 5000);
  journal_add(j, STR("old"));
  journal_free(&j);
  count_files(x, file);
  struct timespec times[2] = {{1799999990, 0}, {1799999990, 0}};
  assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
  j = a_journal(x, 1 << 24, 5000);
  char moved[256];
  snprintf(moved, sizeof moved, "%s/000001799999990000-00000000.jsonl", x->folder);
  assert_int_equal(rename(file, moved), 0);
  FILE *full = fopen(file, "w");  // the newest file is full, so that a new one is opened
  for (int i = 0; i < 1 << 17; i++) fputs("0123456789abcde\n", full);
  fclose(full);
  times[0].tv_sec = times[1].tv_sec = 1800000000;
  assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
  journal_add(j, STR("new"));
  journal_free(&j);
  assert_int_not_equal(access(moved, F_OK), 0);
  assert_int_equal(access(file, F_OK), 0);
}

static void lines_wait_while_the_folder_cannot_be_written(void **state) {
  struct fixture *x = *state;
  const char *why = NULL;
  FILE *file = fopen(x->folder, "w");  // a file with the name of the folder
  fclose(file);
  struct journal *j = a_journal(x, 1 << 24, 0);
  assert_false(journal_works(j, &why));
  assert_true(strlen(why) > 0);
  assert_true(journal_add(j, STR("{\"n\":1}")));
  settles(x);
  assert_false(journal_works(j, &why));
  assert_int_equal(unlink(x->folder), 0);
  x->now += JOURNAL_RETRY_MS;
  settles(x);
  assert_true(journal_works(j, &why));
  assert_string_equal(read_all(x, 0), "{\"n\":1}|");
  assert_int_equal(journal_lost(j), 0);
  journal_free(&j);
}

static void lines_beyond_the_room_are_counted_as_lost(void **state) {
  struct fixture *x = *state;
  char *line = malloc(JOURNAL_LINE_MAX + 1);
  memset(line, 'x', JOURNAL_LINE_MAX + 1);
  struct journal *j = a_journal(x, 1 << 26, 0);
  assert_false(journal_add(j, (str){line, JOURNAL_LINE_MAX + 1}));
  size_t added = 0;
  while (journal_add(j, (str){line, JOURNAL_LINE_MAX})) added++;
  assert_int_equal(added, JOURNAL_PENDING_MAX / JOURNAL_LINE_MAX - 1);
  assert_int_equal(journal_lost(j), 2);
  journal_free(&j);
  free(line);
}

static void the_lines_after_a_line_that_is_too_long_are_read(void **state) {
  struct fixture *x = *state;
  char file[256];
  struct journal *j = a_journal(x, 1 << 24, 0);
  journal_add(j, STR("{\"n\":1}"));
  journal_free(&j);
  count_files(x, file);
  FILE *damaged = fopen(file, "a");
  for (int i = 0; i < 5 * JOURNAL_LINE_MAX / 16; i++) fputs("0123456789abcdef", damaged);
  fputs("\n{\"n\":2}\n", damaged);
  fclose(damaged);
  const char *all = read_all(x, 0);
  assert_int_equal(strncmp(all, "{\"n\":1}|0123456789abcdef", 24), 0);
  assert_int_equal(strlen(all), 8 + 2 * JOURNAL_LINE_MAX + 1 + 8);
  assert_string_equal(strrchr(all, '{'), "{\"n\":2}|");
}

struct waiting {
  struct journal_wait wait;
  bool done, written;
};

static void on_waited(struct journal_wait *w, bool written) {
  struct waiting *x = CONTAINER_OF(w, struct waiting, wait);
  x->done = true;
  x->written = written;
}

static enum journal_state waits(struct journal *j, struct waiting *w) {
  *w = (struct waiting){0};
  journal_wait_init(&w->wait, on_waited);
  return journal_wait(j, &w->wait);
}

static void a_wait_ends_when_the_lines_before_it_are_written(void **state) {
  struct fixture *x = *state;
  struct waiting one, two, three;
  struct journal *j = a_journal(x, 1 << 24, 0);
  assert_int_equal(waits(j, &one), JOURNAL_WRITTEN);
  for (int i = 0; i < 3; i++) {  // also during a burst, without the time that gathers lines
    journal_add(j, STR("{\"n\":1}"));
    assert_int_equal(waits(j, &one), JOURNAL_WAITS);
    journal_add(j, STR("{\"n\":2}"));
    assert_int_equal(waits(j, &two), JOURNAL_WAITS);
    assert_int_equal(waits(j, &three), JOURNAL_WAITS);
    journal_wait_cancel(&three.wait);
    while (!two.done) uv_run(&x->loop.uv, UV_RUN_ONCE);
    assert_true(one.done && one.written && two.written && !three.done);
  }
  assert_string_equal(read_all(x, 0), "{\"n\":1}|{\"n\":2}|{\"n\":1}|{\"n\":2}|{\"n\":1}|{\"n\":2}|");
  journal_free(&j);
}

static void a_wait_fails_if_the_lines_cannot_be_written(void **state) {
  struct fixture *x = *state;
  struct waiting one, two;
  fclose(fopen(x->folder, "w"));  // a file with the name of the folder
  struct journal *j = a_journal(x, 1 << 24, 0);
  journal_add(j, STR("{\"n\":1}"));
  assert_int_equal(waits(j, &one), JOURNAL_WAITS);
  while (!one.done) uv_run(&x->loop.uv, UV_RUN_ONCE);
  assert_false(one.written);
  assert_int_equal(waits(j, &two), JOURNAL_FAILS);
  assert_int_equal(unlink(x->folder), 0);
  x->now += JOURNAL_RETRY_MS;
  settles(x);
  assert_int_equal(waits(j, &two), JOURNAL_WRITTEN);
  assert_string_equal(read_all(x, 0), "{\"n\":1}|");  // the line was kept
  journal_free(&j);
}

static void files_that_no_gateway_has_made_are_neither_read_nor_removed(void **state) {
  struct fixture *x = *state;
  char path[160];
  struct journal *j = a_journal(x, 1 << 24, 0);
  journal_add(j, STR("{\"n\":1}"));
  journal_free(&j);
  snprintf(path, sizeof path, "%s/999999999999999999-00000000.jsonl", x->folder);
  assert_int_equal(symlink("/etc/passwd", path), 0);
  snprintf(path, sizeof path, "%s/999999999999999998-00000000.jsonl", x->folder);
  assert_int_equal(mkdir(path, 0700), 0);
  snprintf(path, sizeof path, "%s/999999999999999997-00000000.jsonl", x->folder);
  assert_int_equal(mkfifo(path, 0600), 0);
  snprintf(path, sizeof path, "%s/notes.txt", x->folder);
  fclose(fopen(path, "w"));
  assert_string_equal(read_all(x, 0), "{\"n\":1}|");
  j = a_journal(x, 1 << 20, 1);  // removes the old file
  journal_add(j, STR("{\"n\":2}"));
  journal_free(&j);
  assert_string_equal(read_all(x, 0), "{\"n\":2}|");
  assert_int_equal(access(path, F_OK), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(lines_are_read_in_the_order_in_which_they_were_added, setup, teardown),
      cmocka_unit_test_setup_teardown(an_incomplete_line_is_ignored_and_removed_by_the_next_writer, setup, teardown),
      cmocka_unit_test_setup_teardown(two_gateways_write_to_files_of_their_own, setup, teardown),
      cmocka_unit_test_setup_teardown(the_oldest_files_are_removed_when_all_together_are_too_large, setup, teardown),
      cmocka_unit_test_setup_teardown(files_older_than_the_limit_are_removed, setup, teardown),
      cmocka_unit_test_setup_teardown(lines_wait_while_the_folder_cannot_be_written, setup, teardown),
      cmocka_unit_test_setup_teardown(the_lines_after_a_line_that_is_too_long_are_read, setup, teardown),
      cmocka_unit_test_setup_teardown(a_wait_ends_when_the_lines_before_it_are_written, setup, teardown),
      cmocka_unit_test_setup_teardown(a_wait_fails_if_the_lines_cannot_be_written, setup, teardown),
      cmocka_unit_test_setup_teardown(files_that_no_gateway_has_made_are_neither_read_nor_removed, setup, teardown),
      cmocka_unit_test_setup_teardown(lines_beyond_the_room_are_counted_as_lost, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
