// SPDX-License-Identifier: Apache-2.0
// The audit log: what it holds, and what happens to who tampers with it.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "observe/audit.h"
#include "json/json.h"

// ---- helpers

static uint64_t now_ms;

static uint64_t mono(void *ctx) {
  return now_ms;
}
static int64_t wall(void *ctx) {
  return 1761647400123 + (int64_t)now_ms;
}
static const struct clock clock = {mono, wall, NULL};

static char folder[64], path[96];

static int make_folder(void **state) {
  snprintf(folder, sizeof folder, "/tmp/audit-XXXXXX");
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/audit.jsonl", folder);
  now_ms = 1000;
  return 0;
}

static int remove_folder(void **state) {
  static const char *const names[] = {"", ".head", ".1", ".2", ".3", ".4"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char name[128];
    snprintf(name, sizeof name, "%s%s", path, names[i]);
    unlink(name);
  }
  rmdir(folder);
  return 0;
}

static struct audit *open_audit(uint64_t max_bytes, unsigned keep, bool required) {
  struct audit_options opt = {
      .file = str_of(path), .max_bytes = max_bytes, .keep = keep, .required = required, .clock = &clock};
  struct fault f;
  struct audit *a = audit_open(&opt, &f);
  if (!a) fail_msg("%s", f.message);
  return a;
}

static struct audit_event event_of(const char *tool) {
  return (struct audit_event){.agent = STR("researcher"),
                              .operation = STR("execute_tool"),
                              .server = STR("brave-search"),
                              .tool = str_of(tool),
                              .latency_us = 145250,
                              .counted_in = STR("hello world"),
                              .counted_out = STR("hello, wide world")};
}

static void write_lines(struct audit *a, size_t count) {
  for (size_t i = 0; i < count; i++) {
    char tool[32];
    snprintf(tool, sizeof tool, "tool_%zu", i);
    struct audit_event e = event_of(tool);
    audit_add(a, &e);
  }
  audit_flush(a);
}

static void write_log(size_t count) {
  struct audit *a = open_audit(0, 0, false);
  write_lines(a, count);
  audit_close(&a);
}

static str read_log(void) {
  static char text[4 << 20];
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t n = fread(text, 1, sizeof text, file);
  fclose(file);
  return (str){text, n};
}

static void replace_log(str text) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text.p, 1, text.n, file), text.n);
  fclose(file);
}

// The text of a line, from 0, with its end.
static str line_at(str text, size_t index) {
  for (; index; index--) text = str_from(text, (size_t)((char *)memchr(text.p, '\n', text.n) - text.p) + 1);
  return (str){text.p, (size_t)((char *)memchr(text.p, '\n', text.n) - text.p) + 1};
}

struct findings {
  size_t count;
  enum audit_finding first;
  uint64_t line;
  char message[256];
};

static void note_finding(void *ctx, enum audit_finding what, const char *file, uint64_t line, const char *message) {
  struct findings *f = ctx;
  if (f->count++) return;
  f->first = what;
  f->line = line;
  snprintf(f->message, sizeof f->message, "%s", message);
}

static struct audit_verdict verify(struct findings *out) {
  struct audit_verdict v;
  struct fault f;
  *out = (struct findings){0};
  assert_true(audit_verify(str_of(path), STR_NONE, note_finding, out, &v, &f));
  assert_int_equal(v.findings, out->count);
  return v;
}

static void assert_whole(uint64_t lines) {
  struct findings found;
  struct audit_verdict v = verify(&found);
  if (found.count) fail_msg("line %llu: %s", (unsigned long long)found.line, found.message);
  assert_int_equal(v.lines, lines);
}

static void assert_found(enum audit_finding what, uint64_t line) {
  struct findings found;
  verify(&found);
  assert_true(found.count > 0);
  assert_int_equal(found.first, what);
  assert_int_equal(found.line, line);
}

// ---- lines

static void a_line_has_the_keys_of_the_document_first(void **state) {
  struct audit *a = open_audit(0, 0, false);
  struct audit_event e = event_of("search");
  audit_add(a, &e);
  audit_close(&a);
  str text = read_log();
  assert_true(str_starts(
      text,
      STR("{\"timestamp\":\"2025-10-28T10:30:01.123Z\",\"agent_id\":\"researcher\",\"operation\":\"execute_tool\","
          "\"server\":\"brave-search\",\"tool\":\"search\",\"decision\":\"ALLOW\",\"latency_ms\":145.250,"
          "\"rule\":null,\"code\":null,\"mode\":null,\"request_id\":null,\"session\":null,\"principal\":null,"
          "\"bytes_in\":0,\"bytes_out\":0,\"tokens_in\":2,\"tokens_out\":4,\"seq\":1,\"prev\":\"0000")));
  struct arena arena;
  struct fault f;
  arena_init(&arena);
  assert_non_null(json_parse(&arena, line_at(text, 0), &json_default_limits, &f));
  arena_done(&arena);
}

static void nothing_that_is_logged_can_forge_a_line(void **state) {
  struct audit *a = open_audit(0, 0, false);
  struct audit_event e = event_of("x\"},\n{\"agent_id\":\"root");
  e.arguments = STR("{\"a\":\"b\\nc\"}");
  audit_add(a, &e);
  audit_close(&a);
  assert_whole(1);
}

static void denials_and_faults_are_told_with_their_rule(void **state) {
  struct audit *a = open_audit(0, 0, false);
  struct audit_event e = event_of("drop_table");
  e.decision = AUDIT_DENY;
  e.rule = STR("agents.t.deny.tools.db[0]");
  e.code = STR("DENIED_BY_POLICY");
  audit_add(a, &e);
  audit_close(&a);
  str text = read_log();
  assert_non_null(memmem(text.p, text.n, "\"decision\":\"DENY\"", 17));
  assert_non_null(memmem(text.p, text.n, "\"rule\":\"agents.t.deny.tools.db[0]\"", 34));
}

static void a_line_is_plain_ascii_whatever_it_tells_of(void **state) {
  struct audit *a = open_audit(0, 0, false);
  struct audit_event e = event_of("\x1b[2J\xc2\x9b\xe2\x80\xae\xf0\x9f\x98\x80\x7f\xff\"\\");
  e.arguments = STR("{\n\"\xc3\xa9\":\t\"\xe2\x80\xa8\"\r\n}");
  audit_add(a, &e);
  audit_close(&a);
  str text = read_log();
  static const str tool = STR("\"tool\":\"\\u001b[2J\\u009b\\u202e\\ud83d\\ude00\\u007f\\ufffd\\u0022\\u005c\",");
  static const str arguments = STR("\"arguments\":{ \"\\u00e9\": \"\\u2028\"  },");
  assert_non_null(memmem(text.p, text.n, tool.p, tool.n));
  assert_non_null(memmem(text.p, text.n, arguments.p, arguments.n));
  assert_whole(1);
}

static void names_are_cut_and_long_arguments_left_out(void **state) {
  static char name[1000], arguments[20000];
  memset(name, 'n', sizeof name - 1);
  memset(arguments, '1', sizeof arguments);
  struct audit *a = open_audit(0, 0, false);
  struct audit_event e = event_of(name);
  e.arguments = (str){arguments, sizeof arguments};
  audit_add(a, &e);
  audit_close(&a);
  str text = read_log();
  assert_true(text.n < 1500);
  assert_non_null(memmem(text.p, text.n, "\"arguments\":null", 16));
  assert_whole(1);
}

// ---- writing, while others are added

static void lines_that_come_while_others_are_written_are_next(void **state) {
  struct audit *a = open_audit(0, 0, false);
  struct audit_event e = event_of("first");
  assert_false(audit_take(a));  // there is nothing
  audit_add(a, &e);
  assert_true(audit_take(a));
  e = event_of("second");
  audit_add(a, &e);
  assert_false(audit_take(a));  // one at a time
  audit_write(a);
  audit_settle(a);
  assert_whole(1);
  assert_true(audit_take(a));
  audit_write(a);
  audit_settle(a);
  assert_false(audit_take(a));
  assert_whole(2);
  audit_close(&a);
}

static void what_is_too_much_to_keep_is_lost_and_counted(void **state) {
  struct audit *a = open_audit(0, 0, false);
  unlink(path);
  rmdir(folder);
  struct audit_event e = event_of("kept");
  for (int i = 0; i < 100000; i++) audit_add(a, &e);
  audit_flush(a);
  assert_true(audit_failing(a));
  assert_true(audit_ready(a));  // it is not required
  for (int i = 0; i < 100000; i++) audit_add(a, &e);
  uint64_t lost = audit_lost(a);
  assert_true(lost > 0 && lost < 200000);
  assert_int_equal(mkdir(folder, 0700), 0);
  now_ms += 2000;
  audit_close(&a);
  assert_whole(200000 - lost);
}

// ---- the chain

static void a_chain_that_nobody_touched_is_whole(void **state) {
  write_log(5);
  assert_whole(5);
  write_log(3);  // goes on behind what is there
  assert_whole(8);
}

static void an_altered_line_is_found(void **state) {
  write_log(5);
  for (size_t line = 0; line < 5; line++) {
    str text = read_log();
    char *at = (char *)line_at(text, line).p + 20;
    *at ^= 1;
    replace_log(text);
    assert_found(AUDIT_ALTERED, line + 1);
    *at ^= 1;
    replace_log(text);
    assert_whole(5);
  }
}

static void every_bit_of_a_line_counts(void **state) {
  write_log(2);
  str text = read_log();
  size_t n = line_at(text, 0).n;
  for (size_t i = 0; i < n; i++) {
    struct findings found;
    ((char *)text.p)[i] ^= 4;
    replace_log(text);
    verify(&found);
    if (!found.count) fail_msg("byte %zu", i);
    ((char *)text.p)[i] ^= 4;
  }
}

static void replace_without(size_t from, size_t count) {
  str text = read_log(), first = line_at(text, from), last = line_at(text, from + count - 1);
  struct buf b;
  buf_init(&b, 1 << 20);
  buf_add(&b, text.p, (size_t)(first.p - text.p));
  buf_str(&b, str_from(text, (size_t)(last.p - text.p) + last.n));
  replace_log(buf_view(&b));
  buf_done(&b);
}

static void a_removed_line_is_found_wherever_it_stood(void **state) {
  write_log(5);
  replace_without(2, 1);
  assert_found(AUDIT_UNLINKED, 3);
  remove_folder(state);
  make_folder(state);
  write_log(5);
  replace_without(0, 2);
  assert_found(AUDIT_SHORTENED, 3);
  remove_folder(state);
  make_folder(state);
  write_log(5);
  replace_without(3, 2);
  assert_found(AUDIT_SHORTENED, 3);
}

static void an_inserted_or_moved_line_is_found(void **state) {
  write_log(5);
  str text = read_log(), second = line_at(text, 1);
  struct buf b;
  buf_init(&b, 1 << 20);
  buf_str(&b, text);
  buf_str(&b, second);
  replace_log(buf_view(&b));
  assert_found(AUDIT_UNLINKED, 6);
  buf_reset(&b);
  buf_str(&b, line_at(text, 0));
  buf_str(&b, line_at(text, 2));
  buf_str(&b, line_at(text, 1));
  buf_str(&b, line_at(text, 3));
  buf_str(&b, line_at(text, 4));
  replace_log(buf_view(&b));
  assert_found(AUDIT_UNLINKED, 2);
  buf_reset(&b);
  buf_str(&b, text);
  buf_str(&b, STR("{}\n"));
  replace_log(buf_view(&b));
  assert_found(AUDIT_MALFORMED, 6);
  buf_done(&b);
}

static void a_head_that_is_behind_is_no_finding_and_a_missing_one_is(void **state) {
  char head[128], old[128];
  snprintf(head, sizeof head, "%s.head", path);
  snprintf(old, sizeof old, "%s.1", path);
  write_log(3);
  assert_int_equal(rename(head, old), 0);
  write_log(2);
  assert_int_equal(rename(old, head), 0);  // as it was when the last two were written, and the gateway killed
  struct findings found;
  struct audit_verdict v = verify(&found);
  assert_int_equal(found.count, 0);
  assert_int_equal(v.behind, 2);
  assert_int_equal(unlink(head), 0);
  assert_found(AUDIT_SHORTENED, 5);
}

static void a_head_tells_of_a_line_not_of_a_number(void **state) {
  char head[128], old[128];
  snprintf(head, sizeof head, "%s.head", path);
  snprintf(old, sizeof old, "%s.2", path);
  write_log(3);
  assert_int_equal(rename(head, old), 0);
  assert_int_equal(unlink(path), 0);
  now_ms += 5000;
  write_log(3);  // another log of the same length
  assert_int_equal(rename(old, head), 0);
  assert_found(AUDIT_SHORTENED, 3);
}

static void a_signed_head_is_checked_with_the_key(void **state) {
  struct audit_options opt = {.file = str_of(path), .clock = &clock, .key = STR("0123456789abcdef")};
  struct fault f;
  struct audit_verdict v;
  struct findings found = {0};
  struct audit *a = audit_open(&opt, &f);
  write_lines(a, 2);
  audit_close(&a);
  assert_true(audit_verify(str_of(path), opt.key, note_finding, &found, &v, &f));
  assert_int_equal(found.count, 0);
  assert_true(audit_verify(str_of(path), STR("another key of 16"), note_finding, &found, &v, &f));
  assert_int_equal(found.first, AUDIT_UNSIGNED);
}

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
  assert_false(audit_ready(a));
  limit_files(RLIM_INFINITY);
  audit_flush(a);
  assert_false(audit_ready(a));  // it was tried a moment ago
  now_ms += 2000;
  audit_flush(a);
  assert_true(audit_ready(a));
  audit_close(&a);
  assert_whole(7);
}

static void a_required_log_is_refused_before_there_is_no_room(void **state) {
  signal(SIGXFSZ, SIG_IGN);
  struct audit *a = open_audit(0, 0, true);
  write_lines(a, 1);
  assert_true(audit_ready(a));
  limit_files(1200 << 10);
  for (int i = 0; i < 3000 && audit_ready(a); i++) write_lines(a, 1);
  assert_false(audit_ready(a));
  size_t n = read_log().n;
  assert_true(n < 1000 << 10);  // there is room left, for what is under way
  now_ms += 2000;
  write_lines(a, 3);
  assert_true(read_log().n > n);
  assert_false(audit_ready(a));
  limit_files(RLIM_INFINITY);
  now_ms += 2000;
  audit_flush(a);
  assert_true(audit_ready(a));
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
  assert_true(audit_ready(a));
  now_ms++;
  assert_int_equal(rename(folder, away), 0);
  assert_false(audit_ready(a));
  assert_int_equal(rename(away, folder), 0);
  now_ms += 2000;
  audit_flush(a);
  assert_true(audit_ready(a));
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
  struct audit_options opt = {.file = STR("/proc/nowhere/audit.jsonl"), .required = true, .clock = &clock};
  struct fault f;
  assert_null(audit_open(&opt, &f));
  assert_non_null(strstr(f.message, "/proc/nowhere"));
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_FOLDER(a_line_has_the_keys_of_the_document_first),
      WITH_FOLDER(nothing_that_is_logged_can_forge_a_line),
      WITH_FOLDER(denials_and_faults_are_told_with_their_rule),
      WITH_FOLDER(a_chain_that_nobody_touched_is_whole),
      WITH_FOLDER(an_altered_line_is_found),
      WITH_FOLDER(every_bit_of_a_line_counts),
      WITH_FOLDER(a_removed_line_is_found_wherever_it_stood),
      WITH_FOLDER(an_inserted_or_moved_line_is_found),
      WITH_FOLDER(a_file_that_is_full_is_rotated_and_the_chain_goes_on),
      WITH_FOLDER(a_torn_line_costs_itself_alone),
      WITH_FOLDER(processes_share_a_file_and_its_chain),
      WITH_FOLDER(one_who_moves_the_file_away_gets_a_new_one),
      WITH_FOLDER(a_required_log_that_cannot_be_written_says_so_until_it_can),
      WITH_FOLDER(a_log_that_cannot_be_opened_is_told),
      WITH_FOLDER(a_line_is_plain_ascii_whatever_it_tells_of),
      WITH_FOLDER(names_are_cut_and_long_arguments_left_out),
      WITH_FOLDER(lines_that_come_while_others_are_written_are_next),
      WITH_FOLDER(what_is_too_much_to_keep_is_lost_and_counted),
      WITH_FOLDER(a_head_that_is_behind_is_no_finding_and_a_missing_one_is),
      WITH_FOLDER(a_head_tells_of_a_line_not_of_a_number),
      WITH_FOLDER(a_signed_head_is_checked_with_the_key),
      WITH_FOLDER(one_who_asks_for_it_gets_a_new_file),
      WITH_FOLDER(of_a_log_that_keeps_nothing_an_empty_file_is_whole),
      WITH_FOLDER(a_required_log_is_refused_before_there_is_no_room),
      WITH_FOLDER(a_required_log_whose_folder_is_gone_is_noticed_at_once),
      WITH_FOLDER(one_that_is_not_required_may_come_later),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
