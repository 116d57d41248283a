// SPDX-License-Identifier: Apache-2.0
// An audit log with a key: nobody without the key can add a line to it, and a gateway signs nothing that it did not
// write.
#include "audit_world.h"

static const str own_key = STR("0123456789abcdef"), other_key = STR("another key of 16");
static char head[128], aside[128], aside_head[160];

static int make_names(void **state) {
  make_folder(state);
  snprintf(head, sizeof head, "%s.head", path);
  snprintf(aside, sizeof aside, "%s.unverified-1", path);
  snprintf(aside_head, sizeof aside_head, "%s.head", aside);
  return 0;
}

#define WITH_NAMES(test) cmocka_unit_test_setup_teardown(test, make_names, remove_folder)

static struct audit *open_with(str key) {
  struct audit_options opt = {.file = str_of(path), .keep = 3, .clock = &test_clock, .key = key};
  struct fault f;
  struct audit *a = audit_open(&opt, &f);
  assert_non_null(a);
  return a;
}

static void write_with(str key, size_t count) {
  struct audit *a = open_with(key);
  write_lines(a, count);
  audit_close(&a);
}

static struct audit_verdict check(const char *name, str key, struct findings *out) {
  struct audit_verdict v;
  struct fault f;
  *out = (struct findings){0};
  assert_true(audit_verify(str_of(name), key, note_finding, out, &v, &f));
  return v;
}

static struct audit_verdict assert_proved(const char *name, str key, uint64_t lines) {
  struct findings found;
  struct audit_verdict v = check(name, key, &found);
  if (found.count) fail_msg("line %llu: %s", (unsigned long long)found.line, found.message);
  assert_int_equal(v.lines, lines);
  return v;
}

static void assert_disproved(const char *name, str key, enum audit_finding what) {
  struct findings found;
  check(name, key, &found);
  assert_true(found.count > 0);
  assert_int_equal(found.first, what);
}

static bool exists(const char *name) {
  return access(name, F_OK) == 0;
}

// ---- forgers

// A line that follows the last one, made by one who knows the format but not the key.
static void append_forged(const char *mac) {
  str text = read_log();
  str last = text;
  for (size_t i = 0; memchr(last.p, '\n', last.n - 1); i++)
    last = line_at(text, i + 1), last.n = text.n - (size_t)(last.p - text.p);
  struct audit_place p;
  assert_true(audit_read_place((str){last.p, last.n - 1}, &p));
  struct buf b;
  char hash[AUDIT_HASH + 1];
  buf_init(&b, 4 << 20);
  buf_str(&b, text);
  size_t from = b.n;
  buf_printf(&b,
             AUDIT_LINE_BEGIN "2026-01-01T00:00:00.000Z\",\"agent_id\":\"innocent\"" AUDIT_SEQ_KEY "%llu" AUDIT_PREV_KEY
                              "%.*s\"",
             (unsigned long long)p.seq + 1, STR_ARG(p.hash));
  audit_hash(str_from(buf_view(&b), from), hash);
  buf_printf(&b, AUDIT_HASH_KEY "%s", hash);
  if (mac) buf_printf(&b, "\"" AUDIT_MAC_KEY "%s", mac);
  buf_str(&b, STR(AUDIT_LINE_END "\n"));
  replace_log(buf_view(&b));
  buf_done(&b);
}

static void a_line_appended_without_the_key_is_found(void **state) {
  static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";
  const char *const macs[] = {NULL, zeros};
  for (size_t i = 0; i < 2; i++) {
    write_with(own_key, 3);
    append_forged(macs[i]);
    assert_disproved(path, own_key, AUDIT_UNSIGNED);
    assert_disproved(path, STR_NONE, AUDIT_UNSIGNED);  // only the key could vouch for what follows the signed head
    remove_folder(state);
    make_names(state);
  }
}

static void the_mac_of_another_line_is_no_mac(void **state) {
  write_with(own_key, 3);
  str text = read_log();
  const char *at = memmem(text.p, text.n, AUDIT_MAC_KEY, strlen(AUDIT_MAC_KEY));
  char mac[AUDIT_HASH + 1];
  snprintf(mac, sizeof mac, "%s", at + strlen(AUDIT_MAC_KEY));
  append_forged(mac);
  assert_disproved(path, own_key, AUDIT_UNSIGNED);
}

static void every_bit_of_a_signed_line_counts(void **state) {
  write_with(own_key, 2);
  str text = read_log();
  for (size_t i = 0; i < text.n - 1; i++) {
    struct findings found;
    ((char *)text.p)[i] ^= 4;
    replace_log(text);
    check(path, own_key, &found);
    if (!found.count) fail_msg("byte %zu", i);
    ((char *)text.p)[i] ^= 4;
  }
}

static void every_digit_of_a_signed_head_counts(void **state) {
  write_with(own_key, 2);
  char room[AUDIT_HEAD_MAX];
  str text = read_whole(head, room, sizeof room);
  for (size_t i = 0; i < text.n; i++) {
    if (room[i] < '0' || room[i] > 'f') continue;
    struct findings found;
    room[i] ^= 1;
    replace_file(head, text);
    check(path, own_key, &found);
    if (!found.count) fail_msg("byte %zu", i);
    room[i] ^= 1;
  }
}

// ---- a gateway that starts

// What a start makes of a log that was tampered with: it is there under another name, byte for byte, and is not signed.
static void assert_set_aside(void **state, void tamper(void), const char *reason) {
  write_with(own_key, 4);
  tamper();
  static char before[1 << 16];
  str text = read_whole(path, before, sizeof before);
  now_ms += 5000;
  write_with(own_key, 2);
  char room[1 << 16];
  assert_true(str_eq(read_whole(aside, room, sizeof room), text));
  struct audit_verdict v = assert_proved(path, own_key, 3);
  assert_int_equal(v.breaks, 1);
  str first = line_at(read_log(), 0);
  assert_non_null(memmem(first.p, first.n, "\"operation\":\"audit_break\"", 25));
  assert_non_null(memmem(first.p, first.n, aside, strlen(aside)));
  if (!memmem(first.p, first.n, reason, strlen(reason))) fail_msg("%.*s", STR_ARG(first));
  struct findings found;
  check(aside, own_key, &found);
  assert_true(found.count > 0);
  remove_folder(state);
  make_names(state);
}

static void append_plain(void) {
  append_forged(NULL);
}
static void cut_line(void) {
  str text = read_log();
  replace_log((str){text.p, line_at(text, 0).n + line_at(text, 1).n});
}
static void cut_line_end(void) {
  str text = read_log();
  replace_log((str){text.p, text.n - 1});
}
static void alter_last(void) {
  str text = read_log();
  ((char *)line_at(text, 3).p)[20] ^= 1;
  replace_log(text);
}
static void add_garbage(void) {
  FILE *file = fopen(path, "ab");
  fputs("{}\n", file);
  fclose(file);
}
static void replace_all(void) {
  replace_log(STR("{\"timestamp\":\"nothing happened\"}"));
}
static void remove_head(void) {
  assert_int_equal(unlink(head), 0);
}
static void cut_first_line_and_remove_head(void) {
  replace_log((str){read_log().p, 20});
  remove_head();
}
static void put_folder(void) {
  remove_head();
  assert_int_equal(mkdir(head, 0700), 0);
}
static void unsign_head(void) {
  struct audit_head h;
  char text[AUDIT_HEAD_MAX];
  assert_true(audit_read_head(head, &h));
  replace_file(head, (str){text, audit_put_head(&h, NULL, text)});
}
static void raise_head(void) {
  str text = read_log();
  struct audit_place p;
  append_forged(NULL);
  text = read_log();
  text = line_at(text, 4);
  assert_true(audit_read_place((str){text.p, text.n - 1}, &p));
  struct audit_head h = {.seq = 5, .begins = 1};
  char line[AUDIT_HEAD_MAX];
  memcpy(h.hash, p.hash.p, AUDIT_HASH);
  struct hmac *key = hmac_new(other_key);
  replace_file(head, (str){line, audit_put_head(&h, key, line)});
  hmac_free(&key);
}

static void what_the_key_does_not_vouch_for_is_set_aside_and_not_signed(void **state) {
  assert_set_aside(state, append_plain, "not signed with the key");
  assert_set_aside(state, cut_line, "lines are missing");
  assert_set_aside(state, cut_line_end, "lines are missing");
  assert_set_aside(state, alter_last, "altered");
  assert_set_aside(state, add_garbage, "not an audit line");
  assert_set_aside(state, replace_all, "lines are missing");
  assert_set_aside(state, remove_head, "head file is missing");
  assert_set_aside(state, cut_first_line_and_remove_head, "head file is missing");
  assert_set_aside(state, put_folder, "head file is not signed");
  assert_set_aside(state, unsign_head, "head file is not signed");
  assert_set_aside(state, raise_head, "head file is not signed");
}

static void rotated_files_are_set_aside_with_their_log(void **state) {
  struct audit *a = open_with(own_key);
  for (int i = 0; i < 2; i++) {
    write_lines(a, 2);
    audit_rotate(a);
    audit_flush(a);
  }
  write_lines(a, 2);
  audit_close(&a);
  append_forged(NULL);
  write_with(own_key, 1);
  assert_proved(path, own_key, 2);
  struct findings found;
  assert_int_equal(check(aside, own_key, &found).files, 3);
  assert_int_equal(found.count, 1);
  assert_int_equal(found.first, AUDIT_UNSIGNED);
}

static void a_log_that_lost_all_its_lines_says_so(void **state) {
  write_with(own_key, 3);
  replace_log(STR(""));
  write_with(own_key, 1);
  str first = line_at(read_log(), 0);
  assert_non_null(memmem(first.p, first.n, "\"operation\":\"audit_break\"", 25));
  assert_disproved(path, own_key, AUDIT_SHORTENED);
}

static void a_log_that_was_rotated_says_nothing(void **state) {
  struct audit *a = open_with(own_key);
  write_lines(a, 3);
  audit_rotate(a);
  audit_flush(a);
  audit_close(&a);
  write_with(own_key, 1);
  assert_int_equal(assert_proved(path, own_key, 4).breaks, 0);
}

// ---- crashes

static void lines_that_a_crash_left_after_the_head_are_vouched_for_by_their_macs(void **state) {
  char room[AUDIT_HEAD_MAX];
  write_with(own_key, 3);
  str old = read_whole(head, room, sizeof room);
  write_with(own_key, 2);
  replace_file(head, old);
  assert_int_equal(assert_proved(path, own_key, 5).behind, 2);
  write_with(own_key, 1);
  assert_proved(path, own_key, 6);
  assert_false(exists(aside));
}

static void so_are_they_before_a_line_that_was_never_finished(void **state) {
  char room[AUDIT_HEAD_MAX];
  write_with(own_key, 3);
  str old = read_whole(head, room, sizeof room);
  write_with(own_key, 2);
  replace_file(head, old);
  str text = read_log();
  replace_log((str){text.p, text.n - 30});
  assert_true(assert_proved(path, own_key, 4).torn);
  write_with(own_key, 1);
  assert_proved(path, own_key, 5);
}

// ---- keys that come, go and change

static void a_log_from_before_lines_were_signed_goes_on(void **state) {
  struct audit_head h;
  char line[AUDIT_HEAD_MAX];
  write_log(3);
  assert_true(audit_read_head(head, &h));
  struct hmac *key = hmac_new(own_key);
  replace_file(head, (str){line, audit_put_head(&h, key, line)});
  hmac_free(&key);
  assert_proved(path, own_key, 3);
  write_with(own_key, 2);
  assert_proved(path, own_key, 5);
  assert_false(exists(aside));
  append_forged(NULL);
  assert_disproved(path, own_key, AUDIT_UNSIGNED);
}

static void a_log_without_a_key_is_set_aside_when_there_is_one(void **state) {
  write_log(3);
  write_with(own_key, 1);
  assert_proved(aside, STR_NONE, 3);
  assert_proved(path, own_key, 2);
}

static void a_log_of_another_key_is_set_aside_and_good_with_that_key(void **state) {
  write_with(other_key, 3);
  write_with(own_key, 1);
  assert_proved(aside, other_key, 3);
  assert_proved(path, own_key, 2);
  assert_disproved(path, other_key, AUDIT_UNSIGNED);
}

static void gateways_with_different_keys_do_not_set_logs_aside_forever(void **state) {
  struct audit *a = open_with(own_key), *b = open_with(other_key);
  for (int i = 0; i < 10; i++) {
    write_lines(a, 1);
    write_lines(b, 1);
    now_ms += 1001;
  }
  assert_true(audit_failing(a) || audit_failing(b));
  char third[128];
  snprintf(third, sizeof third, "%s.unverified-3", path);
  assert_false(exists(third));
  audit_close(&a);
  audit_close(&b);
}

// ---- while it runs

static void a_log_that_is_replaced_while_a_gateway_runs_is_set_aside(void **state) {
  char room[AUDIT_HEAD_MAX], lines[1 << 16];
  struct audit *a = open_with(own_key);
  write_lines(a, 2);
  str old_head = read_whole(head, room, sizeof room), old = read_whole(path, lines, sizeof lines);
  write_lines(a, 2);
  replace_file(head, old_head);  // both are older, and good
  replace_log(old);
  now_ms += 10;
  write_lines(a, 1);
  assert_int_equal(audit_breaks(a), 1);
  audit_close(&a);
  assert_proved(path, own_key, 2);
  assert_proved(aside, own_key, 2);
}

static void remove_log_and_head(void) {
  assert_int_equal(unlink(path), 0);
  assert_int_equal(unlink(head), 0);
}

static void empty_log(void) {
  replace_log(STR(""));
}

static void a_log_that_loses_all_lines_while_a_gateway_runs_is_reported(void **state) {
  void (*const tamper[])(void) = {empty_log, remove_log_and_head};
  for (size_t i = 0; i < 2; i++) {
    struct audit *a = open_with(own_key);
    write_lines(a, 3);
    tamper[i]();
    write_lines(a, 1);
    write_lines(a, 1);
    assert_int_equal(audit_breaks(a), 1);
    audit_close(&a);
    str first = line_at(read_log(), 0);
    assert_non_null(memmem(first.p, first.n, "\"operation\":\"audit_break\"", 25));
    assert_disproved(path, own_key, AUDIT_SHORTENED);
    remove_folder(state);
    make_names(state);
  }
}

// The head does not tell, and neither does the last line: it is one that was written.
static void a_log_with_a_copied_line_is_set_aside_while_a_gateway_runs(void **state) {
  static char room[1 << 16];
  struct audit *a = open_with(own_key);
  write_lines(a, 3);
  str text = read_whole(path, room, sizeof room / 2), last = line_at(text, 2);
  memmove(room + text.n, last.p, text.n - (size_t)(last.p - text.p));
  replace_log((str){room, 2 * text.n - (size_t)(last.p - text.p)});
  now_ms += 10;
  write_lines(a, 2);
  assert_int_equal(audit_breaks(a), 1);
  audit_close(&a);
  assert_true(exists(aside));
  assert_proved(path, own_key, 3);
}

// Another gateway rotates it: the last line is in the file before.
static void a_log_that_another_gateway_rotated_says_nothing(void **state) {
  struct audit *a = open_with(own_key), *b = open_with(own_key);
  write_lines(a, 2);
  write_lines(b, 2);
  audit_rotate(b);
  audit_flush(b);
  write_lines(a, 1);
  assert_int_equal(audit_breaks(a) + audit_breaks(b), 0);
  audit_close(&a);
  audit_close(&b);
  assert_proved(path, own_key, 5);
}

// It is signed, and has more lines than the new one, so that only the time at which a chain began tells them apart.
static void a_log_from_before_the_break_does_not_replace_the_one_after_it(void **state) {
  char room[AUDIT_HEAD_MAX], lines[1 << 16];
  write_with(own_key, 5);
  str old_head = read_whole(head, room, sizeof room), old = read_whole(path, lines, sizeof lines);
  append_forged(NULL);
  struct audit *a = open_with(own_key);
  assert_int_equal(audit_breaks(a), 1);
  now_ms += 3600 * 1000;
  replace_file(head, old_head);
  replace_log(old);
  write_lines(a, 1);
  assert_int_equal(audit_breaks(a), 2);
  audit_close(&a);
  assert_proved(path, own_key, 2);
}

static void another_gateway_follows_to_the_new_log(void **state) {
  struct audit *a = open_with(own_key), *b = open_with(own_key);
  write_lines(a, 2);
  write_lines(b, 2);
  append_forged(NULL);
  now_ms += 10;
  write_lines(a, 1);
  write_lines(b, 2);
  write_lines(a, 1);
  audit_close(&a);
  audit_close(&b);
  assert_int_equal(assert_proved(path, own_key, 5).breaks, 1);
  char second[128];
  snprintf(second, sizeof second, "%s.unverified-2", path);
  assert_false(exists(second));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_NAMES(a_line_appended_without_the_key_is_found),
      WITH_NAMES(the_mac_of_another_line_is_no_mac),
      WITH_NAMES(every_bit_of_a_signed_line_counts),
      WITH_NAMES(every_digit_of_a_signed_head_counts),
      WITH_NAMES(what_the_key_does_not_vouch_for_is_set_aside_and_not_signed),
      WITH_NAMES(rotated_files_are_set_aside_with_their_log),
      WITH_NAMES(a_log_that_lost_all_its_lines_says_so),
      WITH_NAMES(a_log_that_was_rotated_says_nothing),
      WITH_NAMES(lines_that_a_crash_left_after_the_head_are_vouched_for_by_their_macs),
      WITH_NAMES(so_are_they_before_a_line_that_was_never_finished),
      WITH_NAMES(a_log_from_before_lines_were_signed_goes_on),
      WITH_NAMES(a_log_without_a_key_is_set_aside_when_there_is_one),
      WITH_NAMES(a_log_of_another_key_is_set_aside_and_good_with_that_key),
      WITH_NAMES(gateways_with_different_keys_do_not_set_logs_aside_forever),
      WITH_NAMES(a_log_that_is_replaced_while_a_gateway_runs_is_set_aside),
      WITH_NAMES(a_log_that_loses_all_lines_while_a_gateway_runs_is_reported),
      WITH_NAMES(a_log_with_a_copied_line_is_set_aside_while_a_gateway_runs),
      WITH_NAMES(a_log_that_another_gateway_rotated_says_nothing),
      WITH_NAMES(a_log_from_before_the_break_does_not_replace_the_one_after_it),
      WITH_NAMES(another_gateway_follows_to_the_new_log),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
