// SPDX-License-Identifier: Apache-2.0
// base/: slices, arenas, bounded buffers, maps, faults, log lines.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/crypto/rand.h"
#include "base/fault.h"
#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/shares.h"
#include "base/text/glob.h"
#include "base/text/plain.h"
#include "base/text/utf8.h"
#include "base/text/wildcard.h"

static void a_slice_is_cut_at_the_first_separator(void **state) {
  str head, tail;
  assert_true(str_cut(STR("a=b=c"), '=', &head, &tail));
  assert_true(str_eq(head, STR("a")));
  assert_true(str_eq(tail, STR("b=c")));
  assert_false(str_cut(STR("abc"), '=', &head, &tail));
  assert_true(str_eq(head, STR("abc")));
  assert_int_equal(tail.n, 0);
}

static void a_number_is_decimal_and_fits(void **state) {
  uint64_t v = 7;
  assert_true(str_to_u64(STR("18446744073709551615"), &v));
  assert_true(v == UINT64_MAX);
  assert_false(str_to_u64(STR("18446744073709551616"), &v));
  assert_false(str_to_u64(STR("-1"), &v));
  assert_false(str_to_u64(STR("+1"), &v));
  assert_false(str_to_u64(STR(""), &v));
  struct str_digits room;
  assert_true(str_eq(str_from_u64(0, &room), STR("0")));
  assert_true(str_eq(str_from_u64(UINT64_MAX, &room), STR("18446744073709551615")));
}

static bool same_without_case(unsigned char a, unsigned char b) {
  if (a >= 'A' && a <= 'Z') a += 32;
  if (b >= 'A' && b <= 'Z') b += 32;
  return a == b;
}

static void case_is_ignored_for_ascii_letters_and_nothing_else(void **state) {
  char x[20], y[20];
  for (size_t n = 1; n <= sizeof x; n++) {
    memset(x, 'q', n);
    memset(y, 'Q', n);
    assert_true(str_eq_nocase((str){x, n}, (str){y, n}));
    size_t at = n - 1, middle = n / 2;
    for (int a = 0; a < 256; a++) {
      for (int b = 0; b < 256; b++) {
        x[at] = x[middle] = (char)a;
        y[at] = y[middle] = (char)b;
        bool same = same_without_case((unsigned char)a, (unsigned char)b);
        assert_int_equal(str_eq_nocase((str){x, n}, (str){y, n}), same);
      }
    }
  }
  assert_false(str_eq_nocase(STR("ab"), STR("abc")));
}

static void nothing_from_an_empty_arena_is_something(void **state) {
  struct arena a;
  arena_init(&a);
  assert_non_null(ARENA_ARRAY(&a, int, 0));
  arena_done(&a);
}

static void an_arena_keeps_what_was_put_into_it(void **state) {
  struct arena a;
  arena_init(&a);
  str kept[1000];
  for (int i = 0; i < 1000; i++) kept[i] = arena_printf(&a, "value %d", i);
  char *large = arena_alloc(&a, 1 << 20);
  memset(large, 'x', 1 << 20);
  for (int i = 0; i < 1000; i++) {
    char want[32];
    snprintf(want, sizeof want, "value %d", i);
    assert_true(str_eq(kept[i], str_of(want)));
  }
  arena_reset(&a);
  assert_true(a.total <= 65536);
  assert_int_equal((uintptr_t)arena_alloc(&a, 1) % 16, 0);
  arena_done(&a);
}

static void a_buffer_never_grows_past_its_maximum(void **state) {
  struct buf b;
  buf_init(&b, 10);
  buf_str(&b, STR("12345"));
  buf_str(&b, STR("67890"));
  assert_false(b.over);
  buf_char(&b, 'x');
  assert_true(b.over);
  assert_int_equal(b.n, 10);
  buf_reset(&b);
  buf_u64(&b, UINT64_MAX);
  assert_true(b.over);
  buf_reset(&b);
  buf_u64(&b, 1203);
  assert_true(str_eq(buf_view(&b), STR("1203")));
  buf_drop(&b, 2);
  assert_true(str_eq(buf_view(&b), STR("03")));
  buf_done(&b);
}

static void a_map_finds_what_was_added_in_order_of_insertion(void **state) {
  struct map m;
  struct hash_key seed = {1, 2};
  map_init(&m, &seed);
  static char keys[5000][8];
  for (intptr_t i = 0; i < 5000; i++) {
    snprintf(keys[i], sizeof keys[i], "k%d", (int)i);
    assert_true(map_add(&m, str_of(keys[i]), (void *)(i + 1)));
    assert_false(map_add(&m, str_of(keys[i]), (void *)(i + 1)));
  }
  for (intptr_t i = 0; i < 5000; i += 2) assert_ptr_equal(map_remove(&m, str_of(keys[i])), (void *)(i + 1));
  assert_int_equal(map_count(&m), 2500);
  for (intptr_t i = 0; i < 5000; i++) assert_ptr_equal(map_find(&m, str_of(keys[i])), i % 2 ? (void *)(i + 1) : NULL);
  size_t at = 0;
  intptr_t want = 2;
  for (void *v; (v = map_next(&m, &at)); want += 2) assert_ptr_equal(v, (void *)want);
  map_done(&m);
}

static void a_map_used_as_a_queue_stays_small(void **state) {
  struct map m;
  struct hash_key seed = {1, 2};
  map_init(&m, &seed);
  uint64_t ids[3];
  for (uint64_t i = 0; i < 100000; i++) {
    ids[i % 3] = i;
    str key = {(char *)&ids[i % 3], sizeof(uint64_t)};
    assert_true(map_add(&m, key, &ids[i % 3]));
    if (i < 2) continue;
    uint64_t old = i - 2;
    assert_ptr_equal(map_remove(&m, (str){(char *)&old, sizeof old}), &ids[old % 3]);
  }
  assert_true(m.cap <= 64);
  map_done(&m);
}

static void a_fault_is_one_line(void **state) {
  struct fault f;
  fault_set(&f, FAULT_INVALID, "bad \"%s\"", "a\nb\x1b[31m\t\xc2\x85 c");
  assert_string_equal(f.message, "bad \"a b c\"");
  fault_set(&f, FAULT_INVALID, "%s%c%s", "line one\nline\ttwo\x1b", 1, "  three\r\n");
  assert_string_equal(f.message, "line one line two three");
  fault_set_path(&f, STR("a\0b\n"));
  assert_string_equal(f.path, "a?b?");
  assert_string_equal(fault_name(f.code), "INVALID");
  assert_false(fault_retryable(FAULT_INVALID));
  assert_true(fault_retryable(FAULT_UPSTREAM_TIMEOUT));
}

// As many characters as may be told, of one to four bytes each, and one more of them.
static void a_fault_has_at_most_256_characters(void **state) {
  static const char *const chars[] = {"x", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
  for (size_t i = 0; i < 4; i++) {
    struct fault f;
    char text[FAULT_TEXT + 8] = "";
    for (size_t n = 0; n < FAULT_CHARS; n++) memcpy(text + n * (i + 1), chars[i], i + 1);
    fault_set(&f, FAULT_INVALID, "%s", text);
    assert_string_equal(f.message, text);
    fault_set(&f, FAULT_INVALID, "%sx", text);
    assert_true(str_ends(str_of(f.message), STR("\u2026")) && utf8_valid(str_of(f.message)));
    assert_int_equal(utf8_count(str_of(f.message)), FAULT_CHARS);
    assert_memory_equal(f.message, text, (FAULT_CHARS - 1) * (i + 1));
  }
}

static void what_is_cut_ends_with_no_blank_and_no_half_character(void **state) {
  struct fault f;
  static char text[70000];
  memset(text, '\xe2', sizeof text - 1);
  fault_set(&f, FAULT_INVALID, "%s", text);
  assert_int_equal(strlen(f.message), FAULT_CHARS - 1 + strlen("\u2026"));
  memset(text, '\x80', sizeof text - 1);
  fault_set(&f, FAULT_INVALID, "%s", text);
  assert_true(strlen(f.message) < FAULT_TEXT);
  fault_set(&f, FAULT_INVALID, "%254s %s", "x", "yz");
  assert_true(str_ends(str_of(f.message), STR("x yz")));
  memset(text, 'x', FAULT_CHARS - 2);
  memcpy(text + FAULT_CHARS - 2, " yz", 4);
  fault_set(&f, FAULT_INVALID, "%s", text);
  assert_true(str_ends(str_of(f.message), STR("xx\u2026")));
}

static void expect_plain(str text, const char *want) {
  char made[200];
  memcpy(made, text.p, text.n);
  made[plain_line(made, text.n)] = 0;
  assert_string_equal(made, want);
}

static void a_plain_line_has_nothing_that_a_terminal_obeys(void **state) {
  expect_plain(STR("line one\nline\ttwo\x1b\0  three"), "line one line two three");
  expect_plain(STR("\x1b[1;31mred\x1b[0m and\x1b[K \xc2\x9b"
                   "2Jmore"),
               "red and more");
  expect_plain(STR("\x1b]0;title\x07"
                   "a\x1b]8;;http://x/\x1b\\link\x1b]8;;\x1b\\"),
               "alink");
  expect_plain(STR("a\x1b(Bb\x1b"), "ab");
  expect_plain(STR("\x1b]0;no end"), "]0;no end");
  expect_plain(STR("\x1b[31"), "");
  expect_plain(STR(" \xe2\x80\xa8\xc3\xa9\x7f "), "\xc3\xa9");
  expect_plain(STR("exe.\u202egpj\u200b \u2066x"), "exe.gpj x");
  expect_plain(STR("[31m stays when nothing began it"), "[31m stays when nothing began it");
}

static void expect_text(const char *text, bool exact, const char *want) {
  struct arena a;
  arena_init(&a);
  str made = plain_copy(&a, str_of(text), exact);
  if (!str_eq(made, str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(made), want);
  if (strcmp(text, want) == 0) assert_ptr_equal(made.p, text);
  else assert_ptr_equal(plain_copy(&a, made, exact).p, made.p);
  arena_done(&a);
}

static void a_plain_text_has_nothing_that_a_reader_does_not_see(void **state) {
  expect_text("a\u202eb\u2066c\u2069\u200e\u200f\u061c", false, "abc");
  expect_text("a\u200bb\u2060c\ufeffd\u180e", false, "abcd");
  expect_text("say\U000e0068\U000e0069 it", false, "say it");
  expect_text("a\u200db\u200c \u00e9\u200d\u00e9", false, "ab \u00e9\u00e9");
  expect_text("one\r\n\ttwo\x1b[8mthree\x07\xc2\x85", false, "one\r\n\ttwothree");
  expect_text("10%\r20%\r\u200b\n", false, "10%\n20%\n\n");
  expect_text("\U0001f469\ufe0f\ufe0e\ufe0f", false, "\U0001f469\ufe0f");
  expect_text("\r\n\x1f\x1b[31m\u200b", true, "\r\n\x1f");
}

static void a_plain_text_keeps_what_a_reader_needs(void **state) {
  static const char *const kept[] = {
      "two lines\n\tof text",
      "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",                                       // RTL
      "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0915\u094d\u200d\u0937",                     // joiners
      "\U0001f469\U0001f3fd\u200d\U0001f52c \u2764\ufe0f\u200d\U0001f525 1\ufe0f\u20e3 \u00a9\ufe0f",  // emoji
      "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",                        // England
  };
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) expect_text(kept[i], false, kept[i]);
  expect_plain(str_of(kept[2]), kept[2]);
  expect_plain(str_of(kept[4]), kept[4]);
}

static void a_flag_hides_no_words(void **state) {
  expect_text("\U0001f3f4\U000e0068\U000e0069\U000e007f", false, "\U0001f3f4");                        // too short
  expect_text("\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067 ", false, "\U0001f3f4 ");  // no end
  expect_text("\U0001f3f4\U000e0061\U000e0020\U000e0061\U000e0061\U000e007f", false, "\U0001f3f4");    // a blank
}

static void masked_text_has_nothing_that_a_reader_does_not_see(void **state) {
  char text[] = "a\u202e\x1b\U000e0041\xc3\xa9\u200b";
  str_mask_controls(text, sizeof text - 1);
  assert_string_equal(text, "a????"
                            "????\xc3\xa9???");
}

static int64_t fixed_wall(void *ctx) {
  return 1700000000123;
}

// The C library is the judge, for a moment of every day from 1970 to 9999.
static void a_time_is_written_as_the_calendar_has_it(void **state) {
  char ours[CLOCK_TEXT], theirs[64];
  for (int64_t day = 0; day < 2932897; day++) {
    time_t second = (time_t)(day * 86400 + day * 7919 % 86400);
    struct tm tm;
    gmtime_r(&second, &tm);
    strftime(theirs, sizeof theirs, "%Y-%m-%dT%H:%M:%SZ", &tm);
    assert_int_equal(clock_print_second(second * 1000 + 999, ours), 20);
    assert_string_equal(ours, theirs);
  }
  assert_int_equal(clock_print(1761647400123, ours), 24);
  assert_string_equal(ours, "2025-10-28T10:30:00.123Z");
  clock_print(-5, ours);
  assert_string_equal(ours, "1970-01-01T00:00:00.000Z");
  clock_print(INT64_MAX, ours);
  assert_string_equal(ours, "9999-12-31T23:59:59.999Z");
}

static void a_log_line_cannot_be_forged(void **state) {
  int fds[2];
  assert_int_equal(pipe(fds), 0);
  struct clock clock = {NULL, fixed_wall, NULL};
  struct log l = {fds[1], LOG_INFO, &clock};
  log_debug(&l, "not shown");
  log_warn(&l, "upstream said %s", "x\n2026-01-01 error forged \x1b[2J \xc2\x9b\u202e");
  char line[512];
  ssize_t n = read(fds[0], line, sizeof line - 1);
  line[n] = 0;
  assert_string_equal(line, "2023-11-14T22:13:20.123Z warn  upstream said x\\x0a"
                            "2026-01-01 error forged \\x1b[2J \\xc2\\x9b\\xe2\\x80\\xae\n");
  close(fds[0]);
  close(fds[1]);
}

static void utf8_is_checked_as_rfc_3629_says(void **state) {
  assert_true(utf8_valid(STR("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80")));
  static const char *const bad[] = {
      "\xff", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf0\x80\x80\x80", "\xc3", "\xe2\x82"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(utf8_valid(str_of(bad[i])));
  for (uint32_t c = 0; c < 0x110000; c++) {
    if (c >= 0xd800 && c < 0xe000) continue;
    char out[4];
    size_t n = utf8_put(c, out);
    assert_int_equal(utf8_char(out, n), n);
  }
}

static void text_is_cut_between_characters(void **state) {
  str text = STR("a\xe2\x82\xac\xf0\x9f\x98\x80");
  static const size_t want[] = {0, 1, 1, 1, 4, 4, 4, 4, 8, 8};
  for (size_t max = 0; max < sizeof want / sizeof *want; max++) assert_int_equal(utf8_cut(text, max).n, want[max]);
  assert_int_equal(utf8_cut(STR("\x80\x80\x80\x80\x80\x80"), 5).n, 5);  // no character, wherever it is cut
  assert_int_equal(utf8_cut(STR_NONE, 5).n, 0);
  assert_int_equal(utf8_count(text), 3);
}

static void siphash_matches_its_published_property_of_being_keyed(void **state) {
  struct hash_key a = {1, 2}, b = {1, 3};
  assert_true(hash_sip(&a, STR("key")) == hash_sip(&a, STR("key")));
  assert_true(hash_sip(&a, STR("key")) != hash_sip(&b, STR("key")));
  unsigned char digest[SHA256_SIZE];
  char hex[2 * SHA256_SIZE + 1];
  hash_sha256(STR("abc"), digest);
  hash_hex(digest, sizeof digest, hex);
  assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void random_ids_do_not_repeat(void **state) {
  char a[RAND_ID_SIZE], b[RAND_ID_SIZE];
  rand_id(&rand_system, a);
  rand_id(&rand_system, b);
  assert_int_equal(strlen(a), 32);
  assert_string_not_equal(a, b);
}

static void out_of_memory_ends_the_program_with_a_line(void **state) {
  int fds[2];
  assert_int_equal(pipe(fds), 0);
  pid_t pid = fork();
  if (pid == 0) {
    dup2(fds[1], STDERR_FILENO);
    signal(SIGABRT, SIG_DFL);
    void *volatile p = mem_grow(NULL, SIZE_MAX / 4);
    _exit(p ? 0 : 1);
  }
  close(fds[1]);
  int status;
  waitpid(pid, &status, 0);
  assert_int_not_equal(status, 0);
  char line[256];
  assert_true(read(fds[0], line, sizeof line) > 0);
  assert_true(memmem(line, sizeof line, "memory", 6) || memmem(line, sizeof line, "allocat", 7));
  close(fds[0]);
}

static void a_star_stands_for_any_run_of_characters(void **state) {
  assert_true(glob_match(STR("github:create_issue"), STR("github:create_issue")));
  assert_false(glob_match(STR("github:create_issue"), STR("github:create_issue2")));
  assert_true(glob_match(STR("github:*"), STR("github:")));
  assert_true(glob_match(STR("*_read*"), STR("db_read_all")));
  assert_true(glob_match(STR("a*b*c"), STR("aXbYbZc")));
  assert_false(glob_match(STR("a*b*c"), STR("aXbYbZ")));
  assert_true(glob_match(STR("**"), STR("")));
  assert_false(glob_match(STR(""), STR("a")));
  assert_false(glob_match(STR("A*"), STR("abc")));
  assert_false(glob_match(STR("a.c"), STR("abc")));
  assert_true(glob_is_plain(STR("a?b")) && !glob_is_plain(STR("a*")));
}

// As fnmatch of Python and of shells.
static void a_wildcard_has_sets_and_single_characters_too(void **state) {
  static const struct {
    str pattern, text;
    bool matches;
  } cases[] = {
      {STR("get_*"), STR("get_user"), true},
      {STR("get_*"), STR("get_"), true},
      {STR("get_*"), STR("xget_"), false},
      {STR("*_user"), STR("get_users"), false},
      {STR("g?t"), STR("get"), true},
      {STR("g?t"), STR("gt"), false},
      {STR("g?t"), STR("gät"), true},
      {STR("get[123]"), STR("get2"), true},
      {STR("get[123]"), STR("get4"), false},
      {STR("get[!123]"), STR("get4"), true},
      {STR("get[!123]"), STR("get1"), false},
      {STR("[a-c]*"), STR("bell"), true},
      {STR("[a-c]*"), STR("dell"), false},
      {STR("[]x]"), STR("]"), true},
      {STR("[!]x]"), STR("]"), false},
      {STR("[a-]"), STR("-"), true},
      {STR("[abc"), STR("[abc"), true},
      {STR("[abc"), STR("a"), false},
      {STR("[ä-ü]"), STR("ö"), true},
      {STR("*[0-9]*x"), STR("a1b2x"), true},
      {STR(""), STR(""), true},
      {STR(""), STR("a"), false},
      {STR("**"), STR(""), true},
      {STR("Get"), STR("get"), false},
      {STR("[]"), STR("[]"), true},
      {STR("[!]"), STR("[!]"), true},
      {STR("*a*a*a*b"), STR("aaaaaaaa"), false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (wildcard_match(cases[i].pattern, cases[i].text) != cases[i].matches)
      fail_msg("%.*s and %.*s", STR_ARG(cases[i].pattern), STR_ARG(cases[i].text));
}

// Each takes what it may, in turn, until none may have more; gives it all back.
static void divide(size_t max, const char *const *names, const size_t *want, size_t n) {
  struct shares s;
  struct share *taken[100];
  shares_init(&s, &(struct hash_key){1, 2}, max);
  for (bool any = true; any;) {
    any = false;
    for (size_t i = 0; i < n; i++) {
      if (!shares_allow(&s, str_of(names[i]), 0)) continue;
      size_t at = s.total;
      taken[at] = shares_take(&s, str_of(names[i]));
      any = true;
    }
  }
  for (size_t i = 0; i < n; i++) assert_int_equal(shares_count(&s, str_of(names[i])), want[i]);
  while (s.total) {
    struct share *last = taken[s.total - 1];
    shares_drop(&s, &last);
  }
  assert_int_equal(map_count(&s.by_name), 0);
  shares_done(&s);
}

static void nobody_with_a_name_gets_all_places(void **state) {
  static const char *const names[] = {"a", "b", "c"}, *const nobody[] = {""};
  divide(64, names, (size_t[]){32}, 1);
  divide(64, names, (size_t[]){22, 21}, 2);
  divide(64, names, (size_t[]){16, 16, 16}, 3);
  divide(3, names, (size_t[]){1, 1, 1}, 3);
  divide(1, names, (size_t[]){1, 0}, 2);
  divide(64, nobody, (size_t[]){64}, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_slice_is_cut_at_the_first_separator),
      cmocka_unit_test(a_star_stands_for_any_run_of_characters),
      cmocka_unit_test(a_wildcard_has_sets_and_single_characters_too),
      cmocka_unit_test(a_number_is_decimal_and_fits),
      cmocka_unit_test(case_is_ignored_for_ascii_letters_and_nothing_else),
      cmocka_unit_test(nothing_from_an_empty_arena_is_something),
      cmocka_unit_test(an_arena_keeps_what_was_put_into_it),
      cmocka_unit_test(a_buffer_never_grows_past_its_maximum),
      cmocka_unit_test(a_map_finds_what_was_added_in_order_of_insertion),
      cmocka_unit_test(a_map_used_as_a_queue_stays_small),
      cmocka_unit_test(nobody_with_a_name_gets_all_places),
      cmocka_unit_test(a_fault_is_one_line),
      cmocka_unit_test(a_fault_has_at_most_256_characters),
      cmocka_unit_test(what_is_cut_ends_with_no_blank_and_no_half_character),
      cmocka_unit_test(a_plain_line_has_nothing_that_a_terminal_obeys),
      cmocka_unit_test(a_plain_text_has_nothing_that_a_reader_does_not_see),
      cmocka_unit_test(a_plain_text_keeps_what_a_reader_needs),
      cmocka_unit_test(a_flag_hides_no_words),
      cmocka_unit_test(masked_text_has_nothing_that_a_reader_does_not_see),
      cmocka_unit_test(a_time_is_written_as_the_calendar_has_it),
      cmocka_unit_test(a_log_line_cannot_be_forged),
      cmocka_unit_test(utf8_is_checked_as_rfc_3629_says),
      cmocka_unit_test(text_is_cut_between_characters),
      cmocka_unit_test(siphash_matches_its_published_property_of_being_keyed),
      cmocka_unit_test(random_ids_do_not_repeat),
      cmocka_unit_test(out_of_memory_ends_the_program_with_a_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
