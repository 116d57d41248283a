// SPDX-License-Identifier: Apache-2.0
// io/lines: lines out of pieces, and messages as one line.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "io/stream/lines.h"

struct hearer {
  struct lines lines;
  struct buf heard;  // each line with '|' behind it
  int count, stop_at;
};

static void on_line(void *ctx, str line) {
  struct hearer *h = ctx;
  buf_str(&h->heard, line);
  buf_char(&h->heard, '|');
  if (++h->count == h->stop_at) h->lines.stop = true;
}

static void hearer_init(struct hearer *h, size_t max_line) {
  *h = (struct hearer){0};
  buf_init(&h->heard, 1 << 20);
  lines_init(&h->lines, max_line, on_line, h);
}

static void hearer_done(struct hearer *h) {
  lines_done(&h->lines);
  buf_done(&h->heard);
}

// In memory of exactly its size, so that a read past its end is found.
static bool feed(struct hearer *h, str bytes) {
  char *exact = malloc(bytes.n ? bytes.n : 1);
  if (bytes.n) memcpy(exact, bytes.p, bytes.n);
  bool ok = lines_feed(&h->lines, (str){exact, bytes.n});
  free(exact);
  return ok;
}

static void assert_heard(struct hearer *h, const char *want) {
  if (!str_eq(buf_view(&h->heard), str_of(want)))
    fail_msg("'%.*s' instead of '%s'", STR_ARG(buf_view(&h->heard)), want);
}

static void lines_end_at_lf_and_lose_one_cr(void **state) {
  struct hearer h;
  hearer_init(&h, 100);
  assert_true(feed(&h, STR("one\ntwo\r\n\n\r\nth\rree\r\r\nlast, not ended")));
  assert_heard(&h, "one|two|||th\rree\r|");
  assert_true(feed(&h, STR("\n")));
  assert_heard(&h, "one|two|||th\rree\r|last, not ended|");
  hearer_done(&h);
}

static void lines_are_the_same_wherever_they_are_cut(void **state) {
  const str text = STR("first\r\n\n{\"a\":\"\xc3\xa4\"}\n\r\nlonger than the others, by far\n");
  for (size_t a = 0; a <= text.n; a++)
    for (size_t b = a; b <= text.n; b++) {
      struct hearer h;
      hearer_init(&h, 40);
      assert_true(feed(&h, (str){text.p, a}));
      assert_true(feed(&h, (str){text.p + a, b - a}));
      assert_true(feed(&h, str_from(text, b)));
      assert_heard(&h, "first||{\"a\":\"\xc3\xa4\"}||longer than the others, by far|");
      hearer_done(&h);
    }
}

// Feeds a text in pieces of `step` bytes; gives how often it was told that a line is too long.
static int feed_by(struct hearer *h, str text, size_t step) {
  int refused = 0;
  for (; text.n; text = str_from(text, step)) refused += !feed(h, (str){text.p, text.n < step ? text.n : step});
  return refused;
}

static void a_line_that_is_too_long_is_skipped_and_told_once(void **state) {
  for (size_t step = 1; step < 7; step++) {
    struct hearer h;
    hearer_init(&h, 5);
    assert_int_equal(feed_by(&h, STR("12345\n123456\n1\n1234567890123456\n12\n"), step), 2);
    assert_heard(&h, "12345|1|12|");
    hearer_done(&h);
  }
  struct hearer h;
  hearer_init(&h, 5);
  assert_int_equal(feed_by(&h, STR("1\n123456\n1\n1234567890\n2\n"), 1000), 1);  // both in one piece
  assert_heard(&h, "1|1|2|");
  assert_int_equal(feed_by(&h, STR("123456"), 1000), 1);
  assert_int_equal(feed_by(&h, STR("the rest of it is no news"), 4), 0);
  assert_int_equal(feed_by(&h, STR("\nok\n"), 1000), 0);
  assert_heard(&h, "1|1|2|ok|");
  hearer_done(&h);
}

static void the_first_bytes_of_a_line_that_is_too_long_are_kept_in_every_split(void **state) {
  const str line = STR("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":");
  for (size_t cut = 1; cut < line.n; cut++) {
    struct hearer h;
    hearer_init(&h, line.n - 1);
    assert_true(feed(&h, (str){line.p, cut}));
    assert_false(feed(&h, str_from(line, cut)));
    assert_true(str_eq((str){h.lines.head, h.lines.head_n}, line));
    hearer_done(&h);
  }
}

static void a_long_line_that_was_skipped_leaves_no_memory_behind(void **state) {
  struct hearer h;
  hearer_init(&h, 1 << 20);
  char *text = malloc(1 << 20);
  memset(text, 'x', 1 << 20);
  assert_true(feed(&h, (str){text, 1 << 20}));
  assert_false(feed(&h, STR("x")));
  assert_true(h.lines.carry.cap <= 65536);
  feed(&h, STR("\n"));
  assert_true(feed(&h, (str){text, 100000}));
  assert_true(feed(&h, STR("\n")));
  assert_int_equal(h.heard.n, 100001);
  assert_true(h.lines.carry.cap <= 65536);
  free(text);
  hearer_done(&h);
}

static void whoever_hears_a_line_may_stop_hearing(void **state) {
  struct hearer h;
  hearer_init(&h, 100);
  h.stop_at = 2;
  assert_true(feed(&h, STR("1\n2")));
  assert_true(feed(&h, STR(" and more\n3\n4\n")));
  assert_heard(&h, "1|2 and more|");
  hearer_done(&h);
  hearer_init(&h, 100);
  h.stop_at = 1;
  assert_true(feed(&h, STR("1\n2\n")));
  assert_heard(&h, "1|");
  hearer_done(&h);
}

static void a_message_with_line_breaks_becomes_one_line(void **state) {
  struct buf scratch;
  buf_init(&scratch, 1000);
  str plain = STR("{\"a\":\"\\n\"}");
  str same = lines_flatten(plain, &scratch);
  assert_ptr_equal(same.p, plain.p);
  assert_int_equal(same.n, plain.n);
  assert_true(str_eq(lines_flatten(STR("{\r\n  \"a\":\n1\r}\n"), &scratch), STR("{    \"a\": 1 } ")));
  assert_true(str_eq(lines_flatten(STR("\r"), &scratch), STR(" ")));
  assert_true(str_eq(lines_flatten(STR("[\n]"), &scratch), STR("[ ]")));
  buf_done(&scratch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_end_at_lf_and_lose_one_cr),
      cmocka_unit_test(lines_are_the_same_wherever_they_are_cut),
      cmocka_unit_test(a_line_that_is_too_long_is_skipped_and_told_once),
      cmocka_unit_test(the_first_bytes_of_a_line_that_is_too_long_are_kept_in_every_split),
      cmocka_unit_test(a_long_line_that_was_skipped_leaves_no_memory_behind),
      cmocka_unit_test(whoever_hears_a_line_may_stop_hearing),
      cmocka_unit_test(a_message_with_line_breaks_becomes_one_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
