// SPDX-License-Identifier: Apache-2.0
// The audit log: what its lines say, and what is found of who tampers with them.
#include "audit_world.h"

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

static void a_line_is_bounded_as_it_is_written(void **state) {
  static char name[1000], arguments[8000];
  memset(name, 1, sizeof name - 1);
  memset(arguments, 0x7f, sizeof arguments);
  arguments[0] = arguments[sizeof arguments - 1] = '"';
  struct audit *a = open_audit(0, 0, false);
  struct audit_event e = event_of(name);
  e.agent = e.operation = e.server = e.request_id = e.target = e.tool;
  e.arguments = (str){arguments, sizeof arguments};
  audit_add(a, &e);
  audit_close(&a);
  str text = read_log();
  assert_true(text.n < 6 * 800 + 600);
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
  remove_folder(state);
  struct audit_event e = event_of("kept");
  for (int i = 0; i < 100000; i++) audit_add(a, &e);
  audit_flush(a);
  assert_true(audit_failing(a));
  assert_int_equal(audit_ready(a), AUDIT_READY);  // it is not required
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
  assert_found(AUDIT_SHORTENED, 1);  // where it should stand
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

// ---- what is taken away while nobody looks is missed afterwards too

static void lines_taken_off_the_end_are_missed_by_those_that_follow(void **state) {
  write_log(5);
  replace_without(3, 2);
  write_log(2);  // the head knew better
  assert_found(AUDIT_UNLINKED, 4);
  struct findings found;
  assert_int_equal(verify(&found).last_seq, 7);
}

static void a_last_line_that_was_replaced_is_missed_by_those_that_follow(void **state) {
  struct audit *a = open_audit(0, 0, false);
  write_lines(a, 2);
  struct buf b;
  buf_init(&b, 1 << 20);
  buf_str(&b, line_at(read_log(), 0));
  // Another second line, with a hash that fits.
  str second = line_at(read_log(), 1);
  char hash[AUDIT_HASH + 1];
  size_t from = b.n;
  const char *at = memmem(second.p, second.n, AUDIT_HASH_KEY, strlen(AUDIT_HASH_KEY));
  buf_str(&b, STR("{\"agent_id\":\"root\","));
  buf_add(&b, second.p + 1, (size_t)(at - second.p) - 1);
  audit_hash(str_from(buf_view(&b), from), hash);
  buf_printf(&b, "%s%s%s\n", AUDIT_HASH_KEY, hash, AUDIT_LINE_END);
  replace_log(buf_view(&b));
  buf_done(&b);
  write_lines(a, 1);
  audit_close(&a);
  assert_found(AUDIT_UNLINKED, 3);
}

// ---- what is no log

static void a_file_without_a_line_is_whole_only_if_its_head_says_so(void **state) {
  char head[128];
  snprintf(head, sizeof head, "%s.head", path);
  struct audit *a = open_audit(0, 0, false);
  assert_whole(0);
  audit_close(&a);
  assert_int_equal(unlink(head), 0);
  assert_found(AUDIT_SHORTENED, 0);
}

static void what_is_no_file_is_not_verified(void **state) {
  static const char *const names[] = {"/dev/zero", "/dev/null", "/tmp"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct findings found = {0};
    struct audit_verdict v;
    struct fault f;
    assert_false(audit_verify(str_of(names[i]), STR_NONE, note_finding, &found, &v, &f));
    assert_non_null(strstr(f.message, "not a regular file"));
  }
  assert_int_equal(mkfifo(path, 0600), 0);  // nobody is waited for
  struct findings found = {0};
  struct audit_verdict v;
  struct fault f;
  assert_false(audit_verify(str_of(path), STR_NONE, note_finding, &found, &v, &f));
}

static void a_line_of_any_length_is_read_in_little_room(void **state) {
  write_log(2);
  struct buf b;
  buf_init(&b, 4 << 20);
  buf_str(&b, line_at(read_log(), 0));
  for (size_t i = 0; i < 3 << 20; i++) buf_char(&b, i % 7 ? 'a' : '"');
  buf_char(&b, '\n');
  buf_str(&b, line_at(read_log(), 1));
  replace_log(buf_view(&b));
  buf_done(&b);
  struct findings found;
  struct audit_verdict v = verify(&found);
  assert_int_equal(found.count, 1);
  assert_int_equal(found.line, 2);
  assert_int_equal(v.lines, 3);
}

static void of_very_many_findings_the_first_are_told(void **state) {
  write_log(1);
  struct buf b;
  buf_init(&b, 1 << 20);
  for (size_t i = 0; i < 5000; i++) buf_str(&b, STR("x\n"));
  replace_log(buf_view(&b));
  buf_done(&b);
  struct findings found = {0};
  struct audit_verdict v;
  struct fault f;
  assert_true(audit_verify(str_of(path), STR_NONE, note_finding, &found, &v, &f));
  assert_int_equal(found.count, 1000);
  assert_true(v.findings >= 5000);
}

// ---- a last line that is cut short

static void cut(size_t bytes) {
  str text = read_log();
  text.n -= bytes;
  replace_log(text);
}

static void a_last_line_without_its_end_is_found(void **state) {
  write_log(3);
  cut(1);
  assert_found(AUDIT_MALFORMED, 3);
  struct findings found;
  verify(&found);
  assert_int_equal(found.count, 1);  // else it is as it was
}

// The gateway was stopped in the middle of writing: the head tells of what was finished.
static void a_line_that_was_never_finished_is_no_finding_and_taken_off(void **state) {
  static const size_t bytes[] = {1, 40};
  for (size_t i = 0; i < 2; i++) {
    char head[128], old[128];
    snprintf(head, sizeof head, "%s.head", path);
    snprintf(old, sizeof old, "%s.4", path);
    write_log(2);
    assert_int_equal(rename(head, old), 0);
    write_log(1);
    assert_int_equal(rename(old, head), 0);
    cut(bytes[i]);
    struct findings found;
    struct audit_verdict v = verify(&found);
    if (found.count) fail_msg("%s", found.message);
    assert_true(v.torn);
    assert_int_equal(v.last_seq, 2);
    write_log(1);
    assert_whole(3);
    remove_folder(state);
    make_folder(state);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_FOLDER(a_line_has_the_keys_of_the_document_first),
      WITH_FOLDER(nothing_that_is_logged_can_forge_a_line),
      WITH_FOLDER(denials_and_faults_are_told_with_their_rule),
      WITH_FOLDER(a_line_is_plain_ascii_whatever_it_tells_of),
      WITH_FOLDER(names_are_cut_and_long_arguments_left_out),
      WITH_FOLDER(a_line_is_bounded_as_it_is_written),
      WITH_FOLDER(lines_that_come_while_others_are_written_are_next),
      WITH_FOLDER(what_is_too_much_to_keep_is_lost_and_counted),
      WITH_FOLDER(a_chain_that_nobody_touched_is_whole),
      WITH_FOLDER(an_altered_line_is_found),
      WITH_FOLDER(every_bit_of_a_line_counts),
      WITH_FOLDER(a_removed_line_is_found_wherever_it_stood),
      WITH_FOLDER(an_inserted_or_moved_line_is_found),
      WITH_FOLDER(a_head_that_is_behind_is_no_finding_and_a_missing_one_is),
      WITH_FOLDER(a_head_tells_of_a_line_not_of_a_number),
      WITH_FOLDER(lines_taken_off_the_end_are_missed_by_those_that_follow),
      WITH_FOLDER(a_last_line_that_was_replaced_is_missed_by_those_that_follow),
      WITH_FOLDER(a_file_without_a_line_is_whole_only_if_its_head_says_so),
      WITH_FOLDER(what_is_no_file_is_not_verified),
      WITH_FOLDER(a_line_of_any_length_is_read_in_little_room),
      WITH_FOLDER(of_very_many_findings_the_first_are_told),
      WITH_FOLDER(a_last_line_without_its_end_is_found),
      WITH_FOLDER(a_line_that_was_never_finished_is_no_finding_and_taken_off),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
