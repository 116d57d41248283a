// SPDX-License-Identifier: Apache-2.0
// The files of an audit log: rotation, several writers, and what happens when they cannot be written.
#include <sys/mman.h>

#include "audit_world.h"

// ---- files

static void a_file_that_is_full_is_rotated_and_the_chain_goes_on(void **state) {
  struct audit *a = open_audit(1250, 3, false);
  for (int i = 0; i < 12; i++) write_lines(a, 1);
  struct findings found;
  struct audit_verdict v = verify(&found);
  if (found.count) fail_msg("line %llu: %s", (unsigned long long)found.line, found.message);
  assert_int_equal(v.files, 4);
  assert_int_equal(v.last_seq, 12);
  for (int i = 0; i < 30; i++) write_lines(a, 1);
  audit_close(&a);
  v = verify(&found);  // the oldest are gone, as they should be
  assert_int_equal(found.count, 0);
  assert_int_equal(v.files, 4);
  assert_true(v.first_seq > 1);
  assert_int_equal(v.last_seq, 42);
  char oldest[128];
  snprintf(oldest, sizeof oldest, "%s.3", path);
  assert_int_equal(unlink(oldest), 0);
  verify(&found);
  assert_int_equal(found.first, AUDIT_SHORTENED);
}

static void one_who_asks_for_it_gets_a_new_file(void **state) {
  struct audit *a = open_audit(0, 2, false);
  audit_rotate(a);
  audit_flush(a);  // it is empty: there is nothing to put aside
  write_lines(a, 2);
  audit_rotate(a);
  audit_flush(a);
  struct findings found;
  assert_int_equal(verify(&found).files, 2);
  assert_int_equal(found.count, 0);
  write_lines(a, 1);
  audit_close(&a);
  assert_whole(3);
}

static void of_a_log_that_keeps_nothing_an_empty_file_is_whole(void **state) {
  struct audit *a = open_audit(0, 0, false);
  write_lines(a, 2);
  audit_rotate(a);
  audit_flush(a);
  assert_whole(0);
  write_lines(a, 1);
  audit_close(&a);
  struct findings found;
  assert_int_equal(verify(&found).last_seq, 3);
  assert_int_equal(found.count, 0);
}

static void a_torn_line_costs_itself_alone(void **state) {
  write_log(3);
  str text = read_log();
  text.n -= 40;
  replace_log(text);
  write_log(2);
  struct findings found;
  struct audit_verdict v = verify(&found);
  assert_int_equal(v.lines, 5);
  assert_int_equal(found.first, AUDIT_MALFORMED);
  assert_int_equal(found.line, 3);
}

static void processes_share_a_file_and_its_chain(void **state) {
  enum { PROCESSES = 4, TURNS = 50 };
  for (int p = 0; p < PROCESSES; p++) {
    pid_t child = fork();
    if (child) continue;
    struct audit *a = open_audit(40000, 4, false);
    for (int i = 0; i < TURNS; i++) write_lines(a, 2);
    audit_close(&a);
    _exit(0);
  }
  for (int p = 0; p < PROCESSES; p++) {
    int status;
    wait(&status);
    assert_int_equal(status, 0);
  }
  assert_whole(PROCESSES * TURNS * 2);
}

static void one_who_moves_the_file_away_gets_a_new_one(void **state) {
  struct audit *a = open_audit(0, 0, false);
  write_lines(a, 2);
  char moved[128];
  snprintf(moved, sizeof moved, "%s.1", path);
  assert_int_equal(rename(path, moved), 0);
  write_lines(a, 2);
  audit_close(&a);
  assert_whole(4);
}

// ---- evidence is not pushed out by volume

static struct audit *open_bounded(uint64_t max_total, bool required) {
  struct audit_options opt = {.file = str_of(path),
                              .max_bytes = 1250,
                              .keep = 2,
                              .keep_ms = UINT64_C(86400000),
                              .max_total = max_total,
                              .required = required,
                              .clock = &test_clock};
  struct fault f;
  struct audit *a = audit_open(&opt, &f);
  assert_non_null(a);
  return a;
}

// The file was last written long before the day that the clock shows.
static void make_old(unsigned number) {
  char name[128];
  static const struct timespec times[2] = {{.tv_sec = 1600000000}, {.tv_sec = 1600000000}};
  snprintf(name, sizeof name, "%s.%u", path, number);
  assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
}

static void a_rotated_file_is_kept_for_its_days_whatever_the_number_of_files(void **state) {
  struct audit *a = open_bounded(0, false);
  for (int i = 0; i < 20; i++) write_lines(a, 1);
  struct findings found;
  struct audit_verdict v = verify(&found);
  assert_int_equal(found.count, 0);
  assert_int_equal(v.first_seq, 1);
  assert_true(v.files > 5);
  for (unsigned i = 3; i < v.files; i++) make_old(i);
  for (int i = 0; i < 2; i++) write_lines(a, 1);
  audit_close(&a);
  assert_int_equal(verify(&found).files, 4);  // the two that are kept in any case, a young one, and the newest
  assert_int_equal(found.count, 0);
}

static void files_of_their_full_size_end_the_writing_until_there_is_room(void **state) {
  struct audit *a = open_bounded(6000, false);
  for (int i = 0; i < 15; i++) write_lines(a, 1), now_ms += 1001;
  assert_true(audit_failing(a));
  assert_non_null(strstr(audit_why(a), "audit.max_total"));
  struct findings found;
  struct audit_verdict v = verify(&found);
  assert_int_equal(found.count, 0);
  assert_int_equal(v.first_seq, 1);  // nothing was removed
  assert_true(v.last_seq < 15);
  for (unsigned i = 1; i < v.files; i++) make_old(i);
  now_ms += 2000;
  audit_flush(a);
  assert_false(audit_failing(a));
  audit_close(&a);
  assert_int_equal(verify(&found).last_seq, 15);
  assert_int_equal(found.count, 0);
}

// As the gateway does: writes if that decides whether an operation may begin.
static bool is_ready(struct audit *a) {
  if (audit_ready(a) == AUDIT_WAIT) audit_flush(a);
  assert_int_not_equal(audit_ready(a), AUDIT_WAIT);
  return audit_ready(a) == AUDIT_READY;
}

static void requests_are_refused_before_a_required_log_is_full(void **state) {
  struct audit *a = open_bounded((1 << 20) + 4000, true);
  assert_true(is_ready(a));
  for (int i = 0; i < 40 && is_ready(a); i++) write_lines(a, 1), now_ms += 1001;
  assert_false(is_ready(a));
  uint64_t before = read_log().n;
  write_lines(a, 1);  // of what was under way
  assert_true(read_log().n != before);
  audit_close(&a);
}

// ---- failure

static void limit_files(rlim_t bytes) {
  struct rlimit r;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &r), 0);
  r.rlim_cur = bytes;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &r), 0);
}

static void a_required_log_that_cannot_be_written_says_so_until_it_can(void **state) {
  signal(SIGXFSZ, SIG_IGN);
  struct audit *a = open_audit(0, 0, true);
  write_lines(a, 2);
  limit_files(1000);
  write_lines(a, 5);
  assert_false(is_ready(a));
  limit_files(RLIM_INFINITY);
  audit_flush(a);
  assert_false(is_ready(a));  // it was tried a moment ago
  now_ms += 2000;
  audit_flush(a);
  assert_true(is_ready(a));
  audit_close(&a);
  assert_whole(7);
}

static void a_required_log_is_refused_before_there_is_no_room(void **state) {
  signal(SIGXFSZ, SIG_IGN);
  struct audit *a = open_audit(0, 0, true);
  write_lines(a, 1);
  assert_true(is_ready(a));
  limit_files(1200 << 10);
  for (int i = 0; i < 3000 && is_ready(a); i++) write_lines(a, 1);
  assert_false(is_ready(a));
  size_t n = read_log().n;
  assert_true(n < 1000 << 10);  // there is room left, for what is under way
  now_ms += 2000;
  write_lines(a, 3);
  assert_true(read_log().n > n);
  assert_false(is_ready(a));
  limit_files(RLIM_INFINITY);
  now_ms += 2000;
  audit_flush(a);
  assert_true(is_ready(a));
  audit_close(&a);
  struct findings found;
  verify(&found);
  assert_int_equal(found.count, 0);
}

static void a_required_log_whose_folder_is_gone_is_noticed_at_once(void **state) {
  char away[96];
  snprintf(away, sizeof away, "%s.away", folder);
  struct audit *a = open_audit(0, 0, true);
  write_lines(a, 1);
  assert_true(is_ready(a));
  now_ms++;
  assert_int_equal(rename(folder, away), 0);
  assert_false(is_ready(a));
  assert_int_equal(rename(away, folder), 0);
  now_ms += 2000;
  audit_flush(a);
  assert_true(is_ready(a));
  audit_close(&a);
  assert_whole(1);
}

static void one_that_is_not_required_may_come_later(void **state) {
  unlink(path);
  rmdir(folder);
  FILE *in_the_way = fopen(folder, "w");
  assert_non_null(in_the_way);
  fclose(in_the_way);
  struct audit *a = open_audit(0, 0, false);
  assert_true(audit_failing(a));
  struct audit_event e = event_of("early");
  audit_add(a, &e);
  assert_int_equal(unlink(folder), 0);
  assert_int_equal(mkdir(folder, 0700), 0);
  now_ms += 2000;
  audit_flush(a);
  assert_false(audit_failing(a));
  audit_close(&a);
  assert_whole(1);
}

static void a_log_that_cannot_be_opened_is_told(void **state) {
  struct audit_options opt = {.file = STR("/proc/nowhere/audit.jsonl"), .required = true, .clock = &test_clock};
  struct fault f;
  assert_null(audit_open(&opt, &f));
  assert_non_null(strstr(f.message, "/proc/nowhere"));
}

static void a_file_that_holds_something_else_is_not_written_to(void **state) {
  static const char *const others[] = {"some notes\n", "some notes", "{\"timestamp\":\"2026\"}\n", "\n"};
  struct audit_options opt = {.file = str_of(path), .required = true, .clock = &test_clock};
  struct fault f;
  for (size_t i = 0; i < 4; i++) {
    replace_log(str_of(others[i]));
    assert_false(audit_can_open(str_of(path), &f));
    assert_non_null(strstr(f.message, "is not an audit log; choose another path"));
    assert_null(audit_open(&opt, &f));
    assert_non_null(strstr(f.message, "is not an audit log; choose another path"));
    assert_true(str_eq(read_log(), str_of(others[i])));
  }
}

// A crash in the middle of the very first line, or somebody who altered it: the log goes on.
static void a_log_whose_first_line_is_broken_is_one(void **state) {
  struct fault f;
  replace_log(STR("{\"timest"));
  assert_true(audit_can_open(str_of(path), &f));
  write_log(2);
  str text = read_log();
  char altered[1 << 16];
  snprintf(altered, sizeof altered, "x%.*s", STR_ARG(text));
  replace_log(str_of(altered));
  assert_true(audit_can_open(str_of(path), &f));
  write_log(1);
  assert_true(read_log().n > text.n + 100);
}

static void a_part_that_was_rotated_is_verified_with_its_log(void **state) {
  struct audit *a = open_audit(1250, 3, false);
  for (int i = 0; i < 12; i++) write_lines(a, 1);
  audit_close(&a);
  char part[128];
  struct findings found = {0};
  struct audit_verdict verdict;
  struct fault f;
  snprintf(part, sizeof part, "%s.1", path);
  assert_false(audit_verify(str_of(part), STR_NONE, note_finding, &found, &verdict, &f));
  assert_non_null(strstr(f.message, "audit.jsonl.1 is a rotated file of the log"));
  assert_non_null(strstr(f.message, "audit.jsonl; verify that log"));
  assert_int_equal(unlink(path), 0);  // what is there alone is looked at alone
  assert_true(audit_verify(str_of(part), STR_NONE, note_finding, &found, &verdict, &f));
  assert_true(verdict.findings > 0);
}

// ---- what is there instead of the log is found out before anything is done

static void stand_in(struct audit *a, int (*put)(void)) {
  write_lines(a, 1);
  assert_true(is_ready(a));
  now_ms++;
  assert_int_equal(unlink(path), 0);
  assert_int_equal(put(), 0);
  assert_false(is_ready(a));
  assert_true(audit_failing(a));
  remove(path);
  now_ms += 2000;
  audit_flush(a);
  assert_true(is_ready(a));
}

static int put_folder(void) {
  return mkdir(path, 0700);
}
static int put_pipe(void) {
  return mkfifo(path, 0600);
}
static int put_link(void) {
  return symlink("/dev/null", path);
}

static void a_folder_a_pipe_or_a_link_in_place_of_a_required_log_is_noticed_at_once(void **state) {
  static int (*const others[])(void) = {put_folder, put_pipe, put_link};
  struct audit *a = open_audit(0, 0, true);
  for (size_t i = 0; i < 3; i++) stand_in(a, others[i]);
  audit_close(&a);
}

static void another_file_that_can_be_written_is_taken(void **state) {
  struct audit *a = open_audit(0, 0, true);
  write_lines(a, 1);
  now_ms++;
  char moved[128];
  snprintf(moved, sizeof moved, "%s.1", path);
  assert_int_equal(rename(path, moved), 0);
  replace_log(STR(""));  // as a program does that rotates logs
  assert_true(is_ready(a));
  write_lines(a, 1);
  audit_close(&a);
  assert_whole(2);
}

// One who locks the file until it is told to go.
struct holder {
  pid_t pid;
  int stop;
};

static struct holder hold(void) {
  int ready[2], stop[2];
  char c;
  assert_int_equal(pipe(ready) | pipe(stop), 0);
  pid_t pid = fork();
  if (!pid) {
    int fd = open(path, O_RDWR);
    close(stop[1]);
    bool held = fd >= 0 && flock(fd, LOCK_EX) == 0 && write(ready[1], "x", 1) == 1;
    _exit(held && read(stop[0], &c, 1) == 0 ? 0 : 1);
  }
  assert_int_equal(read(ready[0], &c, 1), 1);
  close(ready[0]);
  close(ready[1]);
  close(stop[0]);
  return (struct holder){pid, stop[1]};
}

static void let_go(struct holder h) {
  int status;
  close(h.stop);
  assert_int_equal(waitpid(h.pid, &status, 0), h.pid);
  assert_int_equal(status, 0);
}

static void a_required_log_that_another_keeps_locked_is_noticed_at_once(void **state) {
  struct audit *a = open_audit(0, 0, true);
  write_lines(a, 1);
  assert_true(is_ready(a));
  now_ms++;
  struct holder h = hold();
  assert_false(is_ready(a));
  let_go(h);
  now_ms += 200;  // not a whole second: it may only have been slow
  audit_flush(a);
  assert_true(is_ready(a));
  audit_close(&a);
  assert_whole(1);
}

static void *write_on_a_thread(void *audit) {
  audit_write(audit);
  return NULL;
}

static void and_while_lines_wait_for_it(void **state) {
  struct audit *a = open_audit(0, 0, true);
  struct audit_event e = event_of("waits");
  pthread_t thread;
  struct holder h = hold();
  audit_add(a, &e);
  assert_true(audit_take(a));
  assert_int_equal(pthread_create(&thread, NULL, write_on_a_thread, a), 0);
  for (int i = 0; i < 60000 && audit_ready(a) == AUDIT_READY; i++) usleep(1000);  // until the thread has met the lock
  assert_int_equal(audit_ready(a), AUDIT_WAIT);
  now_ms += 50;
  assert_int_equal(audit_ready(a), AUDIT_REFUSE);
  let_go(h);
  pthread_join(thread, NULL);
  audit_settle(a);
  now_ms += 200;  // not a whole second: it may only have been slow
  audit_flush(a);
  assert_true(is_ready(a));
  audit_close(&a);
  assert_whole(1);
}

static void a_disk_that_does_not_come_back_is_none(void **state) {
  struct audit *a = open_audit(0, 0, true);
  struct audit_event e = event_of("slow");
  audit_add(a, &e);
  assert_true(audit_take(a));
  assert_int_equal(audit_ready(a), AUDIT_READY);
  now_ms += 5000;
  assert_int_equal(audit_ready(a), AUDIT_REFUSE);
  audit_write(a);
  audit_settle(a);
  assert_true(is_ready(a));
  audit_close(&a);
}

// ---- the head

static void a_required_log_needs_its_head(void **state) {
  char head[128];
  snprintf(head, sizeof head, "%s.head", path);
  struct audit *a = open_audit(0, 0, true);
  write_lines(a, 1);
  assert_true(is_ready(a));
  now_ms++;
  assert_int_equal(unlink(head), 0);
  assert_int_equal(mkdir(head, 0700), 0);
  assert_false(is_ready(a));
  assert_int_equal(rmdir(head), 0);
  now_ms += 2000;
  audit_flush(a);
  assert_true(is_ready(a));
  audit_close(&a);
  assert_whole(1);
}

static void and_is_not_opened_without_it(void **state) {
  char head[128];
  snprintf(head, sizeof head, "%s.head", path);
  assert_int_equal(mkdir(head, 0700), 0);
  struct audit_options opt = {.file = str_of(path), .required = true, .clock = &test_clock};
  struct fault f;
  assert_null(audit_open(&opt, &f));
  assert_non_null(strstr(f.message, "audit.jsonl.head cannot be written"));
  assert_int_equal(rmdir(head), 0);
}

static void a_head_that_was_moved_is_written_anew(void **state) {
  char head[128], moved[128];
  snprintf(head, sizeof head, "%s.head", path);
  snprintf(moved, sizeof moved, "%s.4", path);
  struct audit *a = open_audit(0, 0, false);
  write_lines(a, 1);
  assert_int_equal(rename(head, moved), 0);
  write_lines(a, 1);
  audit_close(&a);
  assert_whole(2);
}

enum { NOBODY = 65534 };

static void give_away(const char *end) {
  char name[128];
  snprintf(name, sizeof name, "%s%s", path, end);
  assert_int_equal(chown(name, NOBODY, NOBODY), 0);
}

// Rotates a log of three files as a user who owns only one of the two rotated ones: in a folder with the sticky bit the
// other one cannot be renamed.
static void assert_goes_on(void **state, const char *own) {
  int told = memfd_create("log", MFD_CLOEXEC);
  struct log log = {told, LOG_ERROR, &test_clock};
  struct audit_options opt = {.file = str_of(path), .keep = 9, .clock = &test_clock, .log = &log};
  struct fault f;
  struct audit *a = audit_open(&opt, &f);
  struct findings found;
  assert_non_null(a);
  for (int i = 0; i < 3; i++) {
    if (i) audit_rotate(a);
    write_lines(a, 1);
  }
  give_away(""), give_away(".head"), give_away(own);
  assert_int_equal(chmod(folder, 01777), 0);
  assert_int_equal(seteuid(NOBODY), 0);
  audit_rotate(a);
  write_lines(a, 1);
  assert_int_equal(seteuid(0), 0);
  assert_true(lseek(told, 0, SEEK_END) > 0);
  assert_whole(4);
  assert_int_equal(verify(&found).files, 3);
  audit_rotate(a);
  write_lines(a, 1);
  audit_close(&a);
  assert_whole(5);
  assert_int_equal(verify(&found).files, 4);
  close(told);
  remove_folder(state);
  make_folder(state);
}

static void a_file_that_cannot_be_rotated_replaces_no_other_and_goes_on(void **state) {
  if (geteuid() != 0) skip();
  assert_goes_on(state, ".1");
  assert_goes_on(state, ".2");
}

static void a_rotated_file_that_somebody_removed_is_missed_after_the_next_rotation(void **state) {
  struct audit *a = open_audit(0, 4, false);
  for (int i = 0; i < 3; i++) {
    write_lines(a, 1);
    audit_rotate(a);
    audit_flush(a);
  }
  char oldest[128];
  snprintf(oldest, sizeof oldest, "%s.3", path);
  assert_int_equal(unlink(oldest), 0);
  write_lines(a, 1);
  audit_rotate(a);
  audit_flush(a);
  audit_close(&a);
  assert_found(AUDIT_SHORTENED, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_FOLDER(a_file_that_is_full_is_rotated_and_the_chain_goes_on),
      WITH_FOLDER(one_who_asks_for_it_gets_a_new_file),
      WITH_FOLDER(of_a_log_that_keeps_nothing_an_empty_file_is_whole),
      WITH_FOLDER(a_torn_line_costs_itself_alone),
      WITH_FOLDER(processes_share_a_file_and_its_chain),
      WITH_FOLDER(one_who_moves_the_file_away_gets_a_new_one),
      WITH_FOLDER(a_rotated_file_is_kept_for_its_days_whatever_the_number_of_files),
      WITH_FOLDER(files_of_their_full_size_end_the_writing_until_there_is_room),
      WITH_FOLDER(requests_are_refused_before_a_required_log_is_full),
      WITH_FOLDER(a_required_log_that_cannot_be_written_says_so_until_it_can),
      WITH_FOLDER(a_required_log_is_refused_before_there_is_no_room),
      WITH_FOLDER(a_required_log_whose_folder_is_gone_is_noticed_at_once),
      WITH_FOLDER(one_that_is_not_required_may_come_later),
      WITH_FOLDER(a_log_that_cannot_be_opened_is_told),
      WITH_FOLDER(a_file_that_holds_something_else_is_not_written_to),
      WITH_FOLDER(a_log_whose_first_line_is_broken_is_one),
      WITH_FOLDER(a_part_that_was_rotated_is_verified_with_its_log),
      WITH_FOLDER(a_folder_a_pipe_or_a_link_in_place_of_a_required_log_is_noticed_at_once),
      WITH_FOLDER(another_file_that_can_be_written_is_taken),
      WITH_FOLDER(a_required_log_that_another_keeps_locked_is_noticed_at_once),
      WITH_FOLDER(and_while_lines_wait_for_it),
      WITH_FOLDER(a_disk_that_does_not_come_back_is_none),
      WITH_FOLDER(a_required_log_needs_its_head),
      WITH_FOLDER(and_is_not_opened_without_it),
      WITH_FOLDER(a_head_that_was_moved_is_written_anew),
      WITH_FOLDER(a_file_that_cannot_be_rotated_replaces_no_other_and_goes_on),
      WITH_FOLDER(a_rotated_file_that_somebody_removed_is_missed_after_the_next_rotation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
