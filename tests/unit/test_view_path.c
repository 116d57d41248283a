// SPDX-License-Identifier: Apache-2.0
// result/view: the values that a JSONPath query or a JSON Pointer selects.
#include "view_world.h"

static const char shop[] = "{\"items\": [{\"name\": \"pen\", \"price\": 2.50},\n {\"name\": \"ink\", \"price\": 12},\n "
                           "{\"name\": \"p\\u00e4d\", \"price\": 9.99}], \"a/b\": {\"\xc3\xa4\": [1, 2]}}";

static void a_path_shows_each_value_on_a_line(void **state) {
  expect(shop, "{\"type\":\"path\",\"path\":\"$.items[?@.price<10].name\"}", "\"pen\"\n\"p\\u00e4d\"");
  expect(shop, "{\"type\":\"path\",\"path\":\"$.items[:2]\"}",
         "{\"name\":\"pen\",\"price\":2.50}\n{\"name\":\"ink\",\"price\":12}");
  expect(shop, "{\"type\":\"path\",\"path\":\"$..nothing\"}", "… 0 matches");
}

static void start_says_how_many_results_to_leave_out(void **state) {
  expect(shop, "{\"type\":\"path\",\"path\":\"$..price\",\"start\":1}", "12\n9.99");
  expect(shop, "{\"type\":\"path\",\"path\":\"$..price\",\"start\":-1}", "9.99");
  expect(shop, "{\"type\":\"path\",\"path\":\"$..price\",\"start\":-9}", "2.50\n12\n9.99");
  expect(shop, "{\"type\":\"path\",\"path\":\"$..price\",\"start\":3}", "");
  expect(shop, "{\"type\":\"path\",\"path\":\"$..price\",\"start\":-9223372036854775808}", "2.50\n12\n9.99");
}

static void add_items(struct buf *text, int count) {
  buf_char(text, '[');
  for (int i = 0; i < count; i++)
    buf_printf(text, "%s\n  {\"id\": %d, \"name\": \"number %d of \xc3\xa4 few\"}", i ? "," : "", i, i);
  buf_char(text, ']');
}

static void following_the_last_lines_shows_all_results_once(void **state) {
  struct buf text, seen, want;
  buf_init(&text, VIEW_ROOM);
  buf_init(&seen, VIEW_ROOM);
  buf_init(&want, VIEW_ROOM);
  add_items(&text, 500);
  for (int i = 0; i < 500; i++) buf_printf(&want, "\"number %d of \xc3\xa4 few\"\n", i);
  struct buf out = view(buf_view(&text), STR("{\"type\":\"path\",\"path\":\"$[?@['name']].name\"}"), 300);
  str shown, selector;
  unsigned views = 1;
  for (; take_selector(&out, &shown, &selector); views++) {
    assert_true(shown.n > 0);
    buf_str(&seen, shown);
    struct buf next = view(buf_view(&text), selector, 300);
    buf_done(&out);
    out = next;
  }
  buf_str(&seen, buf_view(&out));
  buf_char(&seen, '\n');
  assert_true(str_eq(buf_view(&seen), buf_view(&want)));
  assert_in_range(views, 5, 50);
  buf_done(&out);
  buf_done(&want);
  buf_done(&seen);
  buf_done(&text);
}

static void a_result_that_does_not_fit_is_told_where_it_is(void **state) {
  struct buf text;
  buf_init(&text, VIEW_ROOM);
  buf_str(&text, STR("{\"\xc3\xa4\":1,\"list\":"));
  size_t begin = text.n;
  add_items(&text, 500);
  size_t n = text.n - begin;
  buf_str(&text, STR(",\"end\":2}"));
  struct buf out = view(buf_view(&text), STR("{\"type\":\"path\",\"path\":\"$.*\"}"), 300);
  assert_true(str_eq(buf_view(&out),
                     STR("1\n… cut at result 1 of 3; go on with {\"type\":\"path\",\"path\":\"$.*\",\"start\":1}")));
  buf_done(&out);
  out = view(buf_view(&text), STR("{\"type\":\"path\",\"path\":\"$.*\",\"start\":1}"), 300);
  struct buf want;
  buf_init(&want, VIEW_ROOM);
  buf_printf(&want,
             "… result 1 does not fit; read it with {\"type\":\"head\",\"start\":%zu,\"chars\":%zu}; "
             "go on with {\"type\":\"path\",\"path\":\"$.*\",\"start\":2}",
             begin - 1, n - 500);
  if (!str_eq(buf_view(&out), buf_view(&want))) fail_msg("%.*s", STR_ARG(buf_view(&out)));
  buf_done(&want);
  buf_done(&out);
  buf_done(&text);
}

static void a_long_query_is_not_repeated_in_the_last_line(void **state) {
  struct buf text;
  buf_init(&text, VIEW_ROOM);
  add_items(&text, 100);
  struct buf out = view(buf_view(&text),
                        STR("{\"type\":\"path\",\"path\":\"$[?@.name && @.name != 'a name that is so long that nobody "
                            "would want to read it once more, and that goes on and on and on, until there is hardly "
                            "any room left for what one really wants to see, which are the names'].name\"}"),
                        200);
  static const char note[] = "; go on with the same selector and \"start\":";
  assert_non_null(memmem(out.p, out.n, note, sizeof note - 1));
  buf_done(&out);
  buf_done(&text);
}

static void a_wrong_query_is_told_what_is_wrong_with_it(void **state) {
  expect_fault(shop, "{\"type\":\"path\"}", "path must be a string");
  expect_fault(shop, "{\"type\":\"path\",\"path\":7}", "path must be a string");
  expect_fault(shop, "{\"type\":\"path\",\"path\":\"items[0]\"}", "column 1: expected '$' at the start of the query");
  expect_fault(shop, "{\"type\":\"path\",\"path\":\"$.items[?@.price<]\"}", "column 18: ");
  expect_fault(shop, "{\"type\":\"path\",\"path\":\"$\",\"start\":\"x\"}", "start must be a whole number");
  expect_fault("no JSON", "{\"type\":\"path\",\"path\":\"$\"}", "path needs JSON");
  expect_fault(shop, "{\"type\":\"path\",\"path\":\"$.items[?match(@.name,'\\\\\\\\w+')]\"}", "not a valid I-Regexp");
}

static void a_pointer_shows_a_value_as_it_is_written(void **state) {
  expect(shop, "{\"type\":\"pointer\",\"pointer\":\"/items/1\"}", "{\"name\": \"ink\", \"price\": 12}");
  expect(shop, "{\"type\":\"pointer\",\"pointer\":\"/a~1b/\xc3\xa4/1\"}", "2");
  expect("[1, 2]", "{\"type\":\"pointer\",\"pointer\":\"\"}", "[1, 2]");
}

static void a_value_that_is_too_long_goes_on_by_its_characters(void **state) {
  struct buf text, seen;
  buf_init(&text, VIEW_ROOM);
  buf_init(&seen, VIEW_ROOM);
  buf_str(&text, STR("{\"\xc3\xa4\":0,\"list\":"));
  size_t begin = text.n;
  add_items(&text, 200);
  size_t n = text.n - begin;
  buf_str(&text, STR(",\"end\":2}"));
  struct buf out = view(buf_view(&text), STR("{\"type\":\"pointer\",\"pointer\":\"/list\"}"), 500);
  str shown, selector;
  while (take_selector(&out, &shown, &selector)) {
    buf_str(&seen, shown);
    struct buf next = view(buf_view(&text), selector, 500);
    buf_done(&out);
    out = next;
  }
  buf_str(&seen, buf_view(&out));
  assert_true(str_eq(buf_view(&seen), (str){text.p + begin, n}));
  buf_done(&out);
  buf_done(&seen);
  buf_done(&text);
}

static void a_pointer_to_nothing_is_told_how_far_it_leads(void **state) {
  expect_fault(shop, "{\"type\":\"pointer\",\"pointer\":\"/items/3/name\"}", "\"/items\" has 3 elements");
  expect_fault(shop, "{\"type\":\"pointer\",\"pointer\":\"/nothing\"}",
               "unknown member \"nothing\"; known names: items");
  expect_fault("2026-01-01 INFO a log\nwith lines", "{\"type\":\"pointer\",\"pointer\":\"/a\"}", "pointer needs JSON");
  expect_fault(shop, "{\"type\":\"pointer\",\"pointer\":\"/items/0/name/x\"}", "\"/items/0/name\" is a string");
  expect_fault(shop, "{\"type\":\"pointer\",\"pointer\":\"items\"}", "must begin with '/'");
  expect_fault(shop, "{\"type\":\"pointer\"}", "pointer must be a string");
  expect_fault("{", "{\"type\":\"pointer\",\"pointer\":\"\"}", "pointer needs JSON");
}

static void a_query_that_takes_too_long_is_refused(void **state) {
  struct buf text;
  struct arena a;
  struct fault f = {0};
  struct buf out;
  buf_init(&text, VIEW_ROOM);
  buf_init(&out, VIEW_ROOM);
  arena_init(&a);
  add_items(&text, 10000);
  struct json *selector = json_parse(&a, STR("{\"type\":\"path\",\"path\":\"$[?count($..*)>count($.*)&&$[9999]==1]\"}"),
                                     &json_default_limits, &f);
  assert_false(view_select(buf_view(&text), selector, VIEW_TOKENS, STR("…"), &out, &f));
  assert_int_equal(f.code, FAULT_LIMIT);
  assert_int_equal(out.n, 0);
  arena_done(&a);
  buf_done(&out);
  buf_done(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_path_shows_each_value_on_a_line),
      cmocka_unit_test(start_says_how_many_results_to_leave_out),
      cmocka_unit_test(following_the_last_lines_shows_all_results_once),
      cmocka_unit_test(a_result_that_does_not_fit_is_told_where_it_is),
      cmocka_unit_test(a_long_query_is_not_repeated_in_the_last_line),
      cmocka_unit_test(a_wrong_query_is_told_what_is_wrong_with_it),
      cmocka_unit_test(a_pointer_shows_a_value_as_it_is_written),
      cmocka_unit_test(a_value_that_is_too_long_goes_on_by_its_characters),
      cmocka_unit_test(a_pointer_to_nothing_is_told_how_far_it_leads),
      cmocka_unit_test(a_query_that_takes_too_long_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
