// SPDX-License-Identifier: Apache-2.0
// result/view: the passages that hold the words of a query, the best first.
#include "view_world.h"

static const char text[] = "Toolgate keeps what does not fit into an answer, so that it can be read later.\n"
                           "Connections are opened when they are needed, and closed when nobody uses them.\n"
                           "A connection that failed is opened again; how often is written in the configuration file.\n"
                           "The budget of a result is told in tokens, and what is over it goes to the store.\n";

// The line that a search tells first.
static str first_line(const struct buf *out) {
  str head, rest, line;
  str_cut(buf_view(out), '\n', &head, &rest);
  str_cut(rest, '\n', &line, &rest);
  return line;
}

static void expect_first(const char *bytes, const char *selector, const char *begins) {
  struct buf out = view(str_of(bytes), str_of(selector), VIEW_TOKENS);
  if (!str_starts(first_line(&out), str_of(begins))) fail_msg("%s gives \"%.*s\"", selector, STR_ARG(buf_view(&out)));
  buf_done(&out);
}

static void a_passage_comes_with_its_line_and_a_selector_around_it(void **state) {
  expect(text, "{\"type\":\"search\",\"query\":\"tokens\"}",
         "1 passages hold one of: token; the best first\n"
         "line 3: The budget of a result is told in tokens, and what is over it goes to the store. | "
         "{\"type\":\"lines\",\"start\":0,\"end\":8}");
}

static void words_are_found_by_their_stems_in_any_case(void **state) {
  expect_first(text, "{\"type\":\"search\",\"query\":\"configurations\"}", "line 2: A connection");
  expect_first(text, "{\"type\":\"search\",\"query\":\"BUDGETS\"}", "line 3: ");
  expect_first("one\n\nmyParserError here\n", "{\"type\":\"search\",\"query\":\"error\"}", "line 2: myParserError");
  expect_first("the query\n\nother\n", "{\"type\":\"search\",\"query\":\"queries\"}", "line 0: the query");
}

// Text is looked at in blocks: a word is found wherever it begins in one.
static void a_word_is_found_at_every_place(void **state) {
  for (size_t before = 0; before < 200; before++) {
    struct buf bytes;
    buf_init(&bytes, VIEW_ROOM);
    for (size_t i = 0; i < before; i++) buf_char(&bytes, i % 7 ? 'x' : ' ');
    buf_str(&bytes, STR(" anErrorHere xerror eRrors"));
    for (size_t i = 0; i < before; i++) buf_char(&bytes, ' ');
    struct buf out = view(buf_view(&bytes), STR("{\"type\":\"search\",\"query\":\"error\"}"), VIEW_TOKENS);
    if (!memmem(out.p, out.n, "1 passages", 10)) fail_msg("%zu: %.*s", before, STR_ARG(buf_view(&out)));
    buf_done(&out);
    buf_done(&bytes);
  }
}

static void more_words_and_rarer_ones_rank_higher(void **state) {
  expect_first(text, "{\"type\":\"search\",\"query\":\"connection failed\"}", "line 2: ");
  expect_first(text, "{\"type\":\"search\",\"query\":\"opened budget\"}", "line 3: ");
  expect_first("disk error on a machine that is far away from here and has no name at all so far\n\n"
               "error disk on a machine that is far away from here and has no name at all so far\n",
               "{\"type\":\"search\",\"query\":\"error disk\"}", "line 2: ");
}

static void passages_that_are_alike_come_in_their_order(void **state) {
  struct buf bytes;
  buf_init(&bytes, VIEW_ROOM);
  for (int i = 0; i < 20; i++)
    buf_printf(&bytes, "%03d this is a line of the log that has a needle in it, and it is long enough\n", i);
  struct buf out = view(buf_view(&bytes), STR("{\"type\":\"search\",\"query\":\"needle\",\"top\":3}"), VIEW_TOKENS);
  const char *a = memmem(out.p, out.n, "line 0: 000", 11), *b = memmem(out.p, out.n, "line 1: 001", 11),
             *c = memmem(out.p, out.n, "line 2: 002", 11);
  assert_true(a && b && c && a < b && b < c);
  str shown, selector = STR_NONE;
  assert_true(take_selector(&out, &shown, &selector));
  assert_true(str_eq(selector, STR("{\"type\":\"search\",\"query\":\"needle\",\"top\":3,\"start\":3}")));
  buf_done(&out);
  buf_done(&bytes);
}

static void following_the_selectors_tells_every_passage_once(void **state) {
  struct buf bytes;
  bool seen[100] = {false};
  buf_init(&bytes, VIEW_ROOM);
  for (int i = 0; i < 100; i++)
    buf_printf(&bytes, "row %d has the needle, and some more words so that it is a passage of its own\n", i);
  struct buf selector;
  buf_init(&selector, 4096);
  buf_str(&selector, STR("{\"type\":\"search\",\"query\":\"needle\",\"top\":50}"));
  for (bool more = true; more;) {
    struct buf out = view(buf_view(&bytes), buf_view(&selector), 400);
    str shown, next;
    more = take_selector(&out, &shown, &next);
    for (const char *p = out.p, *end = p + out.n; (p = memmem(p, (size_t)(end - p), ": row ", 6)); p += 6) {
      int row = 0;
      for (const char *digit = p + 6; *digit >= '0' && *digit <= '9'; digit++) row = row * 10 + *digit - '0';
      assert_false(seen[row]);
      seen[row] = true;
    }
    buf_reset(&selector);
    if (more) buf_str(&selector, next);
    buf_done(&out);
  }
  for (int i = 0; i < 100; i++) assert_true(seen[i]);
  buf_done(&selector);
  buf_done(&bytes);
}

static void text_without_lines_is_told_by_characters(void **state) {
  struct buf bytes;
  buf_init(&bytes, VIEW_ROOM);
  for (int i = 0; i < 3000; i++) buf_str(&bytes, STR("w\xc3\xb6rter "));
  buf_str(&bytes, STR("the needle and more"));
  struct buf out = view(buf_view(&bytes), STR("{\"type\":\"search\",\"query\":\"needle\"}"), VIEW_TOKENS);
  str line = first_line(&out);
  assert_true(str_starts(line, STR("character 20")));
  assert_non_null(memmem(line.p, line.n, "{\"type\":\"head\",\"start\":", 22));
  buf_done(&out);
  buf_done(&bytes);
}

// Rows as one program or another writes them: begun by `first`, with `comma` between them, ended by `last`.
static void expect_row(int which, const char *first, const char *comma, const char *last) {
  static const char row[] = ": {\"id\":77,\"name\":\"needle\"} | {\"type\":\"head\"";
  struct buf bytes;
  buf_init(&bytes, VIEW_ROOM);
  for (int i = 0; i < 300; i++)
    buf_printf(&bytes, "%s{\"id\":%d,\"name\":\"%s\"}", i ? comma : first, i == which ? 77 : i,
               i == which ? "needle" : "hay");
  buf_str(&bytes, str_of(last));
  struct buf out = view(buf_view(&bytes), STR("{\"type\":\"search\",\"query\":\"needle\"}"), VIEW_TOKENS);
  if (!memmem(out.p, out.n, row, sizeof row - 1)) fail_msg("%.*s", STR_ARG(buf_view(&out)));
  buf_done(&out);
  buf_done(&bytes);
}

static void a_row_of_json_is_a_passage_however_it_is_written(void **state) {
  static const int rows[] = {0, 77, 299};
  for (int i = 0; i < 3; i++) {
    expect_row(rows[i], "[", ",", "]");
    expect_row(rows[i], "[", ", ", "]");
    expect_row(rows[i], "[ ", " ,  ", " ]");
  }
}

static void words_beyond_ascii_are_found_as_they_are_written(void **state) {
  expect_first("nichts\n\n\xc3\x9c"
               "berfall auf die Bank\n",
               "{\"type\":\"search\",\"query\":\"\xc3\x9c"
               "berfall\"}",
               "line 2: ");
  expect_first("nothing\n\n\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\n",
               "{\"type\":\"search\",\"query\":\"\xe6\x97\xa5\xe6\x9c\xac\"}", "line 2: ");
}

static void what_is_not_there_is_told(void **state) {
  expect(text, "{\"type\":\"search\",\"query\":\"zebra\"}", "0 passages hold one of: zebra");
  expect("", "{\"type\":\"search\",\"query\":\"zebra\"}", "0 passages hold one of: zebra");
}

static void a_wrong_search_is_shown_the_right_one(void **state) {
  expect_fault(text, "{\"type\":\"search\"}", "query must be a string");
  expect_fault(text, "{\"type\":\"search\",\"query\":\"  \"}", "query must be one or more words");
  expect_fault(text, "{\"type\":\"search\",\"query\":\"a\",\"top\":0}", "top must be a number from 1 to 50");
  expect_fault(text, "{\"type\":\"search\",\"query\":\"a\",\"start\":-1}", "start must be");
  expect_fault(text, "{\"type\":\"search\",\"query\":\"a\",\"limit\":3}", "search has no member \"limit\"");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_passage_comes_with_its_line_and_a_selector_around_it),
      cmocka_unit_test(words_are_found_by_their_stems_in_any_case),
      cmocka_unit_test(a_word_is_found_at_every_place),
      cmocka_unit_test(more_words_and_rarer_ones_rank_higher),
      cmocka_unit_test(passages_that_are_alike_come_in_their_order),
      cmocka_unit_test(following_the_selectors_tells_every_passage_once),
      cmocka_unit_test(text_without_lines_is_told_by_characters),
      cmocka_unit_test(a_row_of_json_is_a_passage_however_it_is_written),
      cmocka_unit_test(words_beyond_ascii_are_found_as_they_are_written),
      cmocka_unit_test(what_is_not_there_is_told),
      cmocka_unit_test(a_wrong_search_is_shown_the_right_one),
  };
  return cmocka_run_group_tests_name("view_search", tests, NULL, NULL);
}
