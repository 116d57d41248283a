// SPDX-License-Identifier: Apache-2.0
// result/view: parts of a kept piece, bounded in tokens, with a way to go on.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text/utf8.h"
#include "result/text_cut.h"
#include "result/view/view.h"
#include "text/tokens.h"

enum { ROOM = 1 << 20 };

// The view as a buffer that the caller ends.
static struct buf view(str bytes, str selector, size_t limit) {
  struct arena a;
  struct fault f = {0};
  struct buf out;
  arena_init(&a);
  buf_init(&out, ROOM);
  struct json *v = json_parse(&a, selector, &json_default_limits, &f);
  assert_non_null(v);
  if (!view_select(bytes, v, limit, STR("…"), &out, &f)) fail_msg("%.*s: %s", STR_ARG(selector), f.message);
  assert_false(out.over);
  assert_true(utf8_valid(buf_view(&out)));
  assert_true(tokens_fit(buf_view(&out), limit < VIEW_TOKENS_MIN ? VIEW_TOKENS_MIN : limit));
  arena_done(&a);
  return out;
}

static void expect(str bytes, const char *selector, str want) {
  struct buf out = view(bytes, str_of(selector), VIEW_TOKENS);
  if (!str_eq(buf_view(&out), want))
    fail_msg("%s gives \"%.*s\", not \"%.*s\"", selector, STR_ARG(buf_view(&out)), STR_ARG(want));
  buf_done(&out);
}

static void expect_fault(str bytes, const char *selector, const char *says) {
  struct arena a;
  struct fault f = {0};
  struct buf out;
  arena_init(&a);
  buf_init(&out, ROOM);
  struct json *v = json_parse(&a, str_of(selector), &json_default_limits, &f);
  assert_false(view_select(bytes, v, VIEW_TOKENS, STR("…"), &out, &f));
  assert_int_equal(f.code, FAULT_INVALID);
  assert_int_equal(out.n, 0);
  if (!strstr(f.message, says)) fail_msg("%s says \"%s\"", selector, f.message);
  assert_non_null(strstr(f.message, "{\"type\":"));
  buf_done(&out);
  arena_done(&a);
}

// The selector in the last line of a view that was cut, in the buffer; false when it was not cut. What stands before
// that line is in *out_shown.
static bool next_selector(const struct buf *out, str *out_shown, str *out_selector) {
  str all = buf_view(out);
  size_t line = all.n;
  while (line && all.p[line - 1] != '\n') line--;
  str last = str_from(all, line);
  *out_shown = (str){all.p, line};
  if (!str_starts(last, STR("… "))) return false;
  size_t at = last.n;
  while (at && !str_starts(str_from(last, at), STR("go on with "))) at--;
  *out_selector = str_from(last, at + STR("go on with ").n);
  assert_true(str_ends(*out_selector, STR("}")));
  return true;
}

static void a_head_has_500_characters_unless_it_says_how_many(void **state) {
  char text[600];
  memset(text, 'x', sizeof text);
  struct buf out = view((str){text, sizeof text}, STR("{\"type\":\"head\"}"), VIEW_TOKENS);
  assert_int_equal(out.n, 500);
  buf_done(&out);
  expect(STR("line one\nline two"), "{\"type\":\"head\",\"chars\":8}", STR("line one"));
  expect(STR("ISSUE-42 opened. detail line"), "{\"type\":\"head\",\"chars\":24}", STR("ISSUE-42 opened. detail "));
  expect(STR("abc"), "{\"type\":\"head\",\"chars\":0}", STR(""));
  expect(STR("abc"), "{\"type\":\"head\",\"chars\":null}", STR("abc"));
  expect(STR(""), "{\"type\":\"head\"}", STR(""));
}

static void a_head_counts_code_points(void **state) {
  expect(STR("äöü€𝄞x"), "{\"type\":\"head\",\"chars\":5}", STR("äöü€𝄞"));
  expect(STR("äöü€𝄞x"), "{\"type\":\"head\",\"start\":3,\"chars\":2}", STR("€𝄞"));
}

static void numbers_below_zero_count_from_the_end(void **state) {
  expect(STR("abcdef"), "{\"type\":\"head\",\"chars\":-2}", STR("abcd"));
  expect(STR("abcdef"), "{\"type\":\"head\",\"start\":-2}", STR("ef"));
  expect(STR("abcdef"), "{\"type\":\"head\",\"start\":-4,\"chars\":-1}", STR("cde"));
  expect(STR("a\nb\nc\nd"), "{\"type\":\"lines\",\"start\":-2}", STR("c\nd"));
  expect(STR("a\nb\nc\nd"), "{\"type\":\"lines\",\"end\":-3}", STR("a"));
  expect(STR("a\nb\nc\nd"), "{\"type\":\"lines\",\"start\":-9223372036854775808,\"end\":-1}", STR("a\nb\nc"));
}

static void lines_are_numbered_from_zero_and_the_end_is_not_included(void **state) {
  expect(STR("a\nb\nc\nd\n"), "{\"type\":\"lines\",\"start\":1,\"end\":3}", STR("b\nc"));
  expect(STR("a\nb\nc\nd\n"), "{\"type\":\"lines\"}", STR("a\nb\nc\nd"));
  expect(STR("a\nb\nc\nd\n"), "{\"type\":\"rows\",\"start\":2}", STR("c\nd"));
  expect(STR("a\nb"), "{\"type\":\"lines\",\"start\":0,\"end\":9223372036854775807}", STR("a\nb"));
  expect(STR(""), "{\"type\":\"lines\"}", STR(""));
}

static void what_is_beyond_the_end_is_told_with_where_the_end_is(void **state) {
  static const char *const lines[] = {"\"start\":7,\"end\":9", "\"start\":2", "\"start\":1,\"end\":1",
                                      "\"start\":1,\"end\":0"};
  static const char *const heads[] = {"\"start\":9", "\"start\":6", "\"chars\":-9", "\"start\":4,\"chars\":-4"};
  char selector[80];
  for (size_t i = 0; i < 4; i++) {
    snprintf(selector, sizeof selector, "{\"type\":\"lines\",%s}", lines[i]);
    expect(STR("a\nb"), selector, STR("… out of range: there are 2 lines, counted from 0"));
    snprintf(selector, sizeof selector, "{\"type\":\"head\",%s}", heads[i]);
    expect(STR("äöü€𝄞x"), selector, STR("… out of range: there are 6 characters, counted from 0"));
  }
}

static void every_usual_line_end_ends_a_line(void **state) {
  expect(STR("a\r\nb\rc\n\nd\r"), "{\"type\":\"lines\"}", STR("a\nb\nc\n\nd"));
  expect(STR("a\r\nb\rc\n\nd\r"), "{\"type\":\"lines\",\"start\":-2}", STR("\nd"));
  expect(STR("a\r\nb\rc\n\nd\r"), "{\"type\":\"lines\",\"start\":1,\"end\":3}", STR("b\nc"));
}

// Blocks are skipped at once; a line end in two bytes may lie over the edge of one.
static void line_ends_are_counted_alike_wherever_they_are(void **state) {
  char text[300];
  for (size_t pad = 0; pad < 140; pad++) {
    memset(text, 'x', sizeof text);
    memcpy(text + pad, "\r\nAB\rCD\n", 8);
    str s = {text, sizeof text};
    assert_int_equal(measure_lines(s), 4);
    assert_int_equal(measure_skip_lines(s, 0), 0);
    assert_int_equal(measure_skip_lines(s, 1), pad + 2);
    assert_int_equal(measure_skip_lines(s, 2), pad + 5);
    assert_int_equal(measure_skip_lines(s, 3), pad + 8);
    assert_int_equal(measure_skip_lines(s, 4), sizeof text);
  }
}

// Counted one by one, as the rule says: U+FFFD for each broken part.
static size_t count_slowly(str text) {
  struct buf repaired;
  buf_init(&repaired, 3 * text.n);
  measure_repair(&repaired, text);
  size_t count = utf8_count(buf_view(&repaired));
  buf_done(&repaired);
  return count;
}

// Blocks of well-formed text are counted at once, wherever characters lie in them and whatever breaks them.
static void characters_are_counted_alike_wherever_they_are(void **state) {
  static const char *const parts[] = {
      "a",        "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xe0\xa4\x85",     "\xed\x95\x9c", "\x80",
      "\xe2\x82", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80",     "\xf4\x90\x80\x80", "\xff",         "\xe2\x28\xa1",
      "\n"};
  uint64_t x = 88172645463325252;
  for (int round = 0; round < 3000; round++) {
    char text[400];
    size_t n = 0, kinds = round % 3 == 0 ? 3 : round % 3 == 1 ? 6 : sizeof parts / sizeof *parts;
    while (n < 300) {
      x ^= x << 13, x ^= x >> 7, x ^= x << 17;
      const char *part = parts[x % 50 < 10 ? x / 64 % kinds : x / 64 % 4];
      memcpy(text + n, part, strlen(part));
      n += strlen(part);
    }
    assert_int_equal(measure_all_chars((str){text, n}), count_slowly((str){text, n}));
  }
}

static void json_keys_are_sorted_and_indented(void **state) {
  str object = STR("{\"zz\":1, \"nested\":{\"b\":[1,2.50,{}],\"a\":null},\"count\" : 42,\"\\u0061\":\"\\u00e4 \\\"\"}");
  expect(object, "{\"type\":\"json_keys\",\"keys\":[\"nested\",\"count\",\"no\"]}",
         STR("{\n  \"count\": 42,\n  \"nested\": {\n    \"a\": null,\n    \"b\": [\n      1,\n      2.50,\n      {}\n"
             "    ]\n  }\n}"));
  expect(object, "{\"type\":\"json_keys\",\"keys\":[\"a\",\"a\"]}", STR("{\n  \"a\": \"\\u00e4 \\\"\"\n}"));
  expect(object, "{\"type\":\"json_keys\",\"keys\":[]}", STR("{}"));
  expect(object, "{\"type\":\"json_keys\"}", STR("{}"));
  expect(object, "{\"type\":\"json_keys\",\"keys\":[\"count\",\"zz\"],\"start\":1}", STR("{\n  \"zz\": 1\n}"));
  expect(STR(" {} "), "{\"type\":\"json_keys\",\"keys\":[\"a\"]}", STR("{}"));
}

static void json_keys_of_which_none_is_there_are_refused(void **state) {
  expect_fault(STR("{\"items\":[],\"total\":3}"), "{\"type\":\"json_keys\",\"keys\":[\"totl\",\"no\"]}",
               "unknown member \"totl\"; known names: total, items");
}

static void json_keys_of_what_is_no_object_are_refused(void **state) {
  static const char *const texts[] = {
      "",           "[1]",  "{\"a\":1", "{\"a\" 1}",   "{\"a\":}",    "{a:1}",        "{\"a\":1}x",   "{\"a\":[1}",
      "{\"a\":1,}", "{\"a", "text",     "{\"a\":\"x}", "{\"a\":tru}", "{\"a\":[1,]}", "{\"\\ua\":1}", "{\"a\":\"\\"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    expect_fault(str_of(texts[i]), "{\"type\":\"json_keys\",\"keys\":[\"a\"]}", "JSON object");
}

static void a_wrong_selector_is_told_the_right_ones(void **state) {
  expect_fault(STR("x"), "{\"type\":\"tail\"}", "\"json_keys\"");
  expect_fault(STR("x"), "{\"type\":7}", "\"lines\"");
  expect_fault(STR("x"), "{}", "\"rows\"");
  expect_fault(STR("x"), "[]", "\"head\"");
  expect_fault(STR("x"), "{\"type\":\"head\",\"chars\":\"5\"}", "chars must be a whole number");
  expect_fault(STR("x"), "{\"type\":\"head\",\"chars\":1.5}", "chars must be");
  expect_fault(STR("x"), "{\"type\":\"head\",\"start\":1e99}", "start must be");
  expect_fault(STR("x"), "{\"type\":\"lines\",\"end\":[]}", "end must be");
  expect_fault(STR("{}"), "{\"type\":\"json_keys\",\"keys\":\"a\"}", "keys must be a list");
  expect_fault(STR("{}"), "{\"type\":\"json_keys\",\"keys\":[1]}", "keys must be a list");
  expect_fault(STR("{}"), "{\"type\":\"json_keys\",\"start\":true}", "start must be");
}

static void what_is_no_utf8_is_shown_as_replacements(void **state) {
  str bytes = {"a\xff\xe2\x82z\x80\x80\xf0\x9f", 9};
  expect(bytes, "{\"type\":\"head\"}", STR("a\ufffd\ufffdz\ufffd\ufffd\ufffd"));
  expect(bytes, "{\"type\":\"lines\"}", STR("a\ufffd\ufffdz\ufffd\ufffd\ufffd"));
  expect(bytes, "{\"type\":\"head\",\"start\":2,\"chars\":2}", STR("\ufffdz"));
  expect(bytes, "{\"type\":\"head\",\"start\":-3,\"chars\":1}", STR("\ufffd"));
}

static struct buf numbered_lines(size_t count) {
  struct buf b;
  buf_init(&b, 64 << 20);
  for (size_t i = 0; i < count; i++) buf_printf(&b, "%zu: a line of the log, with some words\n", i);
  return b;
}

static void a_cut_view_says_how_to_go_on(void **state) {
  struct buf text = numbered_lines(4000);
  struct buf out = view(buf_view(&text), STR("{\"type\":\"lines\",\"start\":10,\"end\":3000}"), 300);
  str shown, next;
  assert_true(next_selector(&out, &shown, &next));
  size_t lines = measure_lines(shown);
  char want[120];
  snprintf(want, sizeof want, "{\"type\":\"lines\",\"start\":%zu,\"end\":3000}", 10 + lines);
  assert_true(str_eq(next, str_of(want)));
  assert_true(lines > 10);
  snprintf(want, sizeof want, "… cut at line %zu of 4000; go on with ", 10 + lines);
  assert_true(str_starts(str_from(buf_view(&out), shown.n), str_of(want)));
  buf_done(&out);
  out = view(buf_view(&text), STR("{\"type\":\"head\",\"chars\":100000}"), 300);
  assert_true(next_selector(&out, &shown, &next));
  snprintf(want, sizeof want, "{\"type\":\"head\",\"start\":%zu,\"chars\":%zu}", shown.n, 100000 - shown.n);
  assert_true(str_eq(next, str_of(want)));
  buf_done(&out);
  buf_done(&text);
}

// Follows the selectors; what the views show together goes to *all.
static size_t follow(str bytes, const char *first, size_t limit, struct buf *all) {
  struct buf selector;
  buf_init(&selector, 4096);
  buf_str(&selector, str_of(first));
  for (size_t views = 1;; views++) {
    str shown, next;
    struct buf out = view(bytes, buf_view(&selector), limit);
    bool more = next_selector(&out, &shown, &next);
    buf_str(all, more ? shown : buf_view(&out));
    buf_reset(&selector);
    if (more) buf_str(&selector, next);
    buf_done(&out);
    if (more) continue;
    buf_done(&selector);
    return views;
  }
}

static void following_the_selectors_shows_every_line(void **state) {
  struct buf text = numbered_lines(1000), all;
  buf_init(&all, 1 << 20);
  assert_true(follow(buf_view(&text), "{\"type\":\"rows\"}", 500, &all) > 10);
  assert_true(str_eq(buf_view(&all), ((str){text.p, text.n - 1})));
  buf_done(&all);
  buf_done(&text);
}

// Cuts are told apart from the text's own line ends by leaving all of these out.
static void drop_newlines(struct buf *b) {
  size_t n = 0;
  for (size_t i = 0; i < b->n; i++)
    if (b->p[i] != '\n') b->p[n++] = b->p[i];
  b->n = n;
}

static void following_the_selectors_shows_every_character(void **state) {
  struct buf text, all;
  buf_init(&text, 1 << 20);
  buf_init(&all, 1 << 20);
  for (int i = 0; i < 3000; i++) buf_str(&text, i % 7 ? STR("wörter, ") : STR("𝄞€\xff\n"));
  buf_str(&text, STR("end"));
  assert_true(follow(buf_view(&text), "{\"type\":\"head\",\"chars\":1000000}", 600, &all) > 5);
  struct buf want;
  buf_init(&want, 1 << 20);
  measure_repair(&want, buf_view(&text));
  drop_newlines(&want);
  drop_newlines(&all);
  assert_true(str_eq(buf_view(&all), buf_view(&want)));
  buf_done(&want);
  buf_done(&all);
  buf_done(&text);
}

static void a_line_too_long_goes_on_by_characters(void **state) {
  struct buf text, all;
  buf_init(&text, 1 << 20);
  buf_init(&all, 1 << 20);
  buf_str(&text, STR("first\n"));
  for (int i = 0; i < 5000; i++) buf_printf(&text, "%d,", i);
  buf_str(&text, STR("\nlast"));
  struct buf out = view(buf_view(&text), STR("{\"type\":\"lines\",\"start\":1,\"end\":2}"), 300);
  str shown, next;
  assert_true(next_selector(&out, &shown, &next));
  assert_true(str_starts(next, STR("{\"type\":\"head\",\"start\":")));
  buf_done(&out);
  follow(buf_view(&text), "{\"type\":\"lines\"}", 700, &all);
  drop_newlines(&all);
  drop_newlines(&text);
  assert_true(str_eq(buf_view(&all), buf_view(&text)));
  buf_done(&all);
  buf_done(&text);
}

static void members_that_do_not_fit_go_on_with_the_next(void **state) {
  struct buf text;
  buf_init(&text, 1 << 20);
  buf_str(&text, STR("{\"a\":\"small\",\"b\":["));
  for (int i = 0; i < 5000; i++) buf_printf(&text, "%s%d", i ? "," : "", i);
  buf_str(&text, STR("],\"c\":3}"));
  struct buf out = view(buf_view(&text), STR("{\"type\":\"json_keys\",\"keys\":[\"c\",\"b\",\n \"a\"]}"), 300);
  assert_true(str_eq(buf_view(&out), STR("{\n  \"a\": \"small\"\n}\n… cut at member 1 of 3; go on with "
                                         "{\"type\":\"json_keys\",\"keys\":[\"c\",\"b\",\"a\"],\"start\":1}")));
  buf_done(&out);
  out = view(buf_view(&text), STR("{\"type\":\"json_keys\",\"keys\":[\"c\",\"b\",\"a\"],\"start\":1}"), 300);
  char want[300];
  snprintf(want, sizeof want,
           "… \"b\" does not fit; read it with {\"type\":\"head\",\"start\":17,\"chars\":%zu}; go on with "
           "{\"type\":\"json_keys\",\"keys\":[\"c\",\"b\",\"a\"],\"start\":2}",
           text.n - 17 - 7);
  assert_true(str_eq(buf_view(&out), str_of(want)));
  buf_done(&out);
  buf_done(&text);
}

// Of the processor: others may be at work on the machine.
static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// Generous, as it runs under sanitizers too: what is quadratic takes minutes.
static void large_pieces_are_viewed_in_no_time(void **state) {
  static const char *const selectors[] = {
      "{\"type\":\"head\"}",
      "{\"type\":\"head\",\"start\":-3000,\"chars\":100000}",
      "{\"type\":\"head\",\"start\":5000000,\"chars\":100000000}",
      "{\"type\":\"lines\",\"end\":1000000000}",
      "{\"type\":\"lines\",\"start\":-5}",
      "{\"type\":\"lines\",\"start\":100000}",
  };
  static const char *const fills[] = {
      "some words of a line of 50 characters, and a dot.\n", "x", " ", "\n", "\x80", "{"};
  enum { BYTES = 8 << 20 };
  char *text = mem_alloc(BYTES);
  for (size_t i = 0; i < sizeof fills / sizeof *fills; i++) {
    size_t width = strlen(fills[i]);
    for (size_t at = 0; at < BYTES; at++) text[at] = fills[i][at % width];
    for (size_t k = 0; k < sizeof selectors / sizeof *selectors; k++) {
      double before = seconds();
      struct buf out = view((str){text, BYTES}, str_of(selectors[k]), VIEW_TOKENS);
      buf_done(&out);
      double took = seconds() - before;
      if (took > 3) fail_msg("%s of \"%s\" took %.3f s", selectors[k], fills[i], took);
    }
  }
  mem_free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_head_has_500_characters_unless_it_says_how_many),
      cmocka_unit_test(a_head_counts_code_points),
      cmocka_unit_test(numbers_below_zero_count_from_the_end),
      cmocka_unit_test(lines_are_numbered_from_zero_and_the_end_is_not_included),
      cmocka_unit_test(what_is_beyond_the_end_is_told_with_where_the_end_is),
      cmocka_unit_test(every_usual_line_end_ends_a_line),
      cmocka_unit_test(line_ends_are_counted_alike_wherever_they_are),
      cmocka_unit_test(characters_are_counted_alike_wherever_they_are),
      cmocka_unit_test(json_keys_are_sorted_and_indented),
      cmocka_unit_test(json_keys_of_which_none_is_there_are_refused),
      cmocka_unit_test(json_keys_of_what_is_no_object_are_refused),
      cmocka_unit_test(a_wrong_selector_is_told_the_right_ones),
      cmocka_unit_test(what_is_no_utf8_is_shown_as_replacements),
      cmocka_unit_test(a_cut_view_says_how_to_go_on),
      cmocka_unit_test(following_the_selectors_shows_every_line),
      cmocka_unit_test(following_the_selectors_shows_every_character),
      cmocka_unit_test(a_line_too_long_goes_on_by_characters),
      cmocka_unit_test(members_that_do_not_fit_go_on_with_the_next),
      cmocka_unit_test(large_pieces_are_viewed_in_no_time),
  };
  return cmocka_run_group_tests_name("view", tests, NULL, NULL);
}
