// SPDX-License-Identifier: Apache-2.0
// result/view: rows of tables, and what their columns hold.
#include "view_world.h"

static const char csv[] = "id,city,price,note\r\n1,Berlin,2.50,\r\n2,\"Frankfurt, Main\",12,\"said \"\"no\"\"\"\r\n"
                          "3,Bonn,9.99,x\r\n4,Berlin,-1,\r\n";
static const char json[] =
    "{\"total\":4,\"items\":[{\"id\":1,\"city\":\"Berlin\",\"price\":2.50,\"owner\":{\"team\":\"a\"}},\n"
    "{\"id\":2,\"city\":\"Frankfurt, Main\",\"price\":12,\"owner\":{\"team\":\"b\"}},\n"
    "{\"id\":3,\"city\":\"Bonn\",\"price\":9.99,\"owner\":null},\n"
    "{\"price\":-1,\"city\":\"Berl\\u0069n\",\"id\":4}]}";
static const char lines[] = "{\"id\":1,\"city\":\"Berlin\",\"price\":2.5}\n{\"id\":2,\"city\":\"Bonn\",\"price\":9}\n";
static const char markdown[] =
    "# Cities\n\n| id | city |\n|---:|:-----|\n| 1 | Berlin |\n| 2 | Bonn |\n\nThat is all.\n";

static void records_are_rows_with_a_header(void **state) {
  expect(
      csv, "{\"type\":\"records\"}",
      "id,city,price,note\n1,Berlin,2.50,\n2,\"Frankfurt, Main\",12,\"said \"\"no\"\"\"\n3,Bonn,9.99,x\n4,Berlin,-1,");
  expect(csv, "{\"type\":\"records\",\"columns\":[\"price\",\"id\"]}", "price,id\n2.50,1\n12,2\n9.99,3\n-1,4");
  expect("a\tb\n1\t2\n", "{\"type\":\"records\"}", "a,b\n1,2");
  expect("a;b\n1,5;2\n\n3;4\n", "{\"type\":\"records\"}", "a,b\n\"1,5\",2\n3,4");
}

static void json_rows_are_found_where_they_are(void **state) {
  expect(json, "{\"type\":\"records\",\"columns\":[\"id\",\"city\",\"price\"]}",
         "id,city,price\n1,Berlin,2.50\n2,\"Frankfurt, Main\",12\n3,Bonn,9.99\n4,Berlin,-1");
  expect(json, "{\"type\":\"records\",\"path\":\"$.items\",\"columns\":[\"id\"],\"limit\":1}",
         "id\n1\n… rows 0 to 1; go on with "
         "{\"type\":\"records\",\"path\":\"$.items\",\"columns\":[\"id\"],\"limit\":1,\"start\":1}");
  expect(json, "{\"type\":\"records\",\"path\":\"/items\",\"columns\":[\"id\"],\"start\":3}", "id\n4");
  expect(json, "{\"type\":\"records\",\"path\":\"$.items[*]\",\"columns\":[\"id\"],\"start\":3}", "id\n4");
  expect("[3,\"x\",null]", "{\"type\":\"records\"}", "value\n3\nx\n");
  expect("[[1,2],[3]]", "{\"type\":\"records\"}", "0,1\n1,2\n3,");
  expect("{\"a\":{\"n\":1},\"b\":{\"n\":2}}", "{\"type\":\"records\"}", "key,n\na,1\nb,2");
  expect("{\"a\":{\"n\":1},\"b\":{\"n\":2}}", "{\"type\":\"records\",\"sort\":\"-n\"}", "key,n\nb,2\na,1");
}

static void json_lines_and_markdown_are_tables_too(void **state) {
  expect(lines, "{\"type\":\"records\",\"sort\":\"-price\"}", "id,city,price\n2,Bonn,9\n1,Berlin,2.5");
  expect(markdown, "{\"type\":\"records\"}", "id,city\n1,Berlin\n2,Bonn");
  expect(markdown, "{\"type\":\"records\",\"where\":[{\"column\":\"id\",\"op\":\">\",\"value\":1}]}",
         "id,city\n2,Bonn");
}

static void a_name_leads_into_members(void **state) {
  expect(json, "{\"type\":\"records\",\"columns\":[\"id\",\"owner.team\",\"/owner/team\"]}",
         "id,owner.team,/owner/team\n1,a,a\n2,b,b\n3,,\n4,,");
  expect("[{\"a.b\":1,\"a\":{\"b\":2}},{\"a\":{\"b\":2}}]", "{\"type\":\"records\",\"columns\":[\"a.b\"]}",
         "a.b\n1\n2");
}

static void of_members_with_one_name_the_first_counts(void **state) {
  static const char rows[] = "[{\"a\":1,\"a\":100,\"b\":\"x\"},{\"a\":2,\"b\":\"y\",\"b\":\"z\"}]";
  expect(rows, "{\"type\":\"records\",\"columns\":[\"a\",\"b\"]}", "a,b\n1,x\n2,y");
  expect(rows, "{\"type\":\"records\",\"columns\":[\"b\",\"a\"],\"sort\":\"-a\"}", "b,a\ny,2\nx,1");
}

static void expect_ids(const char *where, const char *want) {
  char selector[300], answer[100];
  const char *const texts[] = {csv, json};
  for (size_t i = 0; i < 2; i++) {
    snprintf(selector, sizeof selector, "{\"type\":\"records\",\"columns\":[\"id\"],\"where\":[%s]}", where);
    snprintf(answer, sizeof answer, "id\n%s", want);
    expect(texts[i], selector, answer);
  }
}

static void conditions_compare_numbers_as_numbers_and_the_rest_as_text(void **state) {
  expect_ids("{\"column\":\"price\",\"op\":\"<\",\"value\":9.990}", "1\n4");
  expect_ids("{\"column\":\"price\",\"op\":\"<=\",\"value\":\"9.99\"}", "1\n3\n4");
  expect_ids("{\"column\":\"price\",\"op\":\">\",\"value\":2.5}", "2\n3");
  expect_ids("{\"column\":\"price\",\"op\":\">=\",\"value\":2.5}", "1\n2\n3");
  expect_ids("{\"column\":\"price\",\"op\":\"=\",\"value\":12.0}", "2");
  expect_ids("{\"column\":\"price\",\"op\":\"!=\",\"value\":12}", "1\n3\n4");
  expect_ids("{\"column\":\"city\",\"op\":\"=\",\"value\":\"Berlin\"}", "1\n4");
  expect_ids("{\"column\":\"city\",\"op\":\">\",\"value\":\"Bf\"}", "2\n3");
  expect_ids("{\"column\":\"city\",\"op\":\"contains\",\"value\":\"furt, \"}", "2");
  expect_ids("{\"column\":\"city\",\"op\":\"starts\",\"value\":\"B\"}", "1\n3\n4");
  expect_ids("{\"column\":\"id\",\"op\":\"in\",\"value\":[4,\"1\",7]}", "1\n4");
  expect_ids("{\"column\":\"city\",\"op\":\"starts\",\"value\":\"B\"},"
             "{\"column\":\"price\",\"op\":\"<\",\"value\":0}",
             "4");
  expect(csv, "{\"type\":\"records\",\"columns\":[\"id\"],\"where\":[{\"column\":\"note\",\"op\":\"is_null\"}]}",
         "id\n1\n4");
  expect(csv,
         "{\"type\":\"records\",\"columns\":[\"id\"],\"where\":"
         "[{\"column\":\"note\",\"op\":\"is_null\",\"value\":false}]}",
         "id\n2\n3");
  expect(json,
         "{\"type\":\"records\",\"columns\":[\"id\"],\"where\":[{\"column\":\"owner\",\"op\":\"=\",\"value\":null}]}",
         "id\n3\n4");
}

static void rows_that_nobody_meets_are_told(void **state) {
  expect(csv, "{\"type\":\"records\",\"columns\":[\"id\"],\"where\":[{\"column\":\"id\",\"op\":\">\",\"value\":9}]}",
         "id\n… no more rows: 0 of 4 meet the conditions");
}

static void rows_are_sorted_and_rows_that_are_alike_stay_in_order(void **state) {
  expect(csv, "{\"type\":\"records\",\"columns\":[\"id\"],\"sort\":\"price\"}", "id\n4\n1\n3\n2");
  expect(csv, "{\"type\":\"records\",\"columns\":[\"id\"],\"sort\":\"-price\"}", "id\n2\n3\n1\n4");
  expect(csv, "{\"type\":\"records\",\"columns\":[\"id\"],\"sort\":\"city\"}", "id\n1\n4\n3\n2");
  expect(csv, "{\"type\":\"records\",\"columns\":[\"id\"],\"sort\":\"-city\"}", "id\n2\n3\n1\n4");
  expect(csv, "{\"type\":\"records\",\"columns\":[\"id\"],\"sort\":\"note\"}", "id\n2\n3\n1\n4");
  expect(csv, "{\"type\":\"records\",\"columns\":[\"id\"],\"sort\":\"-note\"}", "id\n3\n2\n1\n4");
  expect(csv, "{\"type\":\"records\",\"columns\":[\"id\"],\"sort\":\"-price\",\"start\":1,\"limit\":2}",
         "id\n3\n1\n… rows 1 to 3 of 4; go on with "
         "{\"type\":\"records\",\"columns\":[\"id\"],\"sort\":\"-price\",\"start\":3,\"limit\":2}");
}

static void follow(str bytes, const char *first, size_t limit, struct buf *all) {
  struct buf out = view(bytes, str_of(first), limit);
  str shown, selector;
  bool header = true;
  while (take_selector(&out, &shown, &selector)) {
    str rows = header ? shown : str_from(shown, (size_t)((const char *)memchr(shown.p, '\n', shown.n) + 1 - shown.p));
    assert_true(rows.n > 0);
    buf_str(all, rows);
    header = false;
    struct buf next = view(bytes, selector, limit);
    buf_done(&out);
    out = next;
  }
  shown = buf_view(&out);
  buf_str(all, header ? shown : str_from(shown, (size_t)((const char *)memchr(shown.p, '\n', shown.n) + 1 - shown.p)));
  buf_done(&out);
}

static void following_the_selectors_shows_every_row_once(void **state) {
  struct buf text, all;
  buf_init(&text, VIEW_ROOM);
  buf_init(&all, VIEW_ROOM);
  buf_str(&text, STR("id,name\n"));
  for (int i = 0; i < 700; i++) buf_printf(&text, "%d,name of number %d\n", i, i);
  follow(buf_view(&text), "{\"type\":\"records\"}", 500, &all);
  assert_true(str_eq(buf_view(&all), ((str){text.p, text.n - 1})));
  buf_reset(&all);
  follow(buf_view(&text), "{\"type\":\"records\",\"sort\":\"id\",\"limit\":1000}", 500, &all);
  assert_true(str_eq(buf_view(&all), ((str){text.p, text.n - 1})));
  buf_done(&all);
  buf_done(&text);
}

static void stats_of_a_column_count_and_add_up(void **state) {
  expect(csv, "{\"type\":\"stats\",\"column\":\"price\"}",
         "4 rows, 4 columns\nprice: count 4, nulls 0, distinct 4, min -1, max 12, sum 23.49, "
         "mean 5.8725\nmost frequent:\n2.50 ×1\n12 ×1\n9.99 ×1\n-1 ×1");
  expect(csv, "{\"type\":\"stats\",\"column\":\"city\"}",
         "4 rows, 4 columns\ncity: count 4, nulls 0, distinct 3, first Berlin, last \"Frankfurt, Main\"\n"
         "most frequent:\nBerlin ×2\n\"Frankfurt, Main\" ×1\nBonn ×1");
  expect("[1,\"x\",null,1]", "{\"type\":\"stats\"}",
         "4 rows, 1 columns\nvalue: count 4, nulls 1, distinct 2, min 1, max 1, sum 2, mean 1, 1 are not numbers, "
         "first x, last x\nmost frequent:\n1 ×2\nx ×1");
}

static void stats_without_a_column_have_a_line_for_each(void **state) {
  expect(csv, "{\"type\":\"stats\"}",
         "4 rows, 4 columns\nid: count 4, nulls 0, distinct 4, min 1, max 4, sum 10, mean 2.5; often 1 ×1 2 ×1 3 ×1\n"
         "city: count 4, nulls 0, distinct 3, first Berlin, last \"Frankfurt, Main\"; often Berlin ×2 "
         "\"Frankfurt, Main\" ×1 Bonn ×1\n"
         "price: count 4, nulls 0, distinct 4, min -1, max 12, sum 23.49, mean 5.8725; often "
         "2.50 ×1 12 ×1 9.99 ×1\n"
         "note: count 4, nulls 2, distinct 2, first \"said \"\"no\"\"\", last x; often \"said \"\"no\"\"\" ×1 x ×1");
}

static void stats_by_a_column_are_groups(void **state) {
  expect(csv, "{\"type\":\"stats\",\"by\":\"city\"}",
         "4 rows, 3 groups\ncity,count\nBerlin,2\n\"Frankfurt, Main\",1\nBonn,1");
  expect(csv, "{\"type\":\"stats\",\"column\":\"price\",\"by\":\"city\"}",
         "4 rows, 3 groups\ncity,count,min,max,sum,mean\nBerlin,2,-1,2.5,1.5,0.75\n\"Frankfurt, Main\",1,12,12,12,12\n"
         "Bonn,1,9.99,9.99,9.99,9.99");
  expect(csv, "{\"type\":\"stats\",\"by\":\"city\",\"where\":[{\"column\":\"price\",\"op\":\">\",\"value\":0}]}",
         "3 rows, 3 groups\ncity,count\nBerlin,1\n\"Frankfurt, Main\",1\nBonn,1");
}

static void more_values_than_can_be_told_apart_are_told(void **state) {
  struct buf text;
  buf_init(&text, VIEW_ROOM);
  buf_str(&text, STR("id,kind\n"));
  for (int i = 0; i < 6000; i++) buf_printf(&text, "%d,k%d\n", i, i % 7);
  struct buf out = view(buf_view(&text), STR("{\"type\":\"stats\"}"), VIEW_TOKENS);
  static const char many[] = "id: count 6000, nulls 0, distinct more than 4096",
                    few[] = "kind: count 6000, nulls 0, distinct 7";
  if (!memmem(out.p, out.n, many, sizeof many - 1)) fail_msg("%.*s", STR_ARG(buf_view(&out)));
  assert_non_null(memmem(out.p, out.n, few, sizeof few - 1));
  buf_done(&out);
  buf_done(&text);
}

static void a_wrong_selector_is_shown_the_right_one(void **state) {
  expect_fault("just words\nand more", "{\"type\":\"records\"}", "not a table");
  expect_fault("just words\nand more", "{\"type\":\"stats\",\"path\":\"$.a\"}", "path needs JSON");
  expect_fault(csv, "{\"type\":\"records\",\"columns\":[\"nothing\"]}",
               "unknown column \"nothing\"; known names: id, city, price");
  expect_fault(csv, "{\"type\":\"records\",\"columns\":\"id\"}", "columns must be a list of names");
  expect_fault(csv, "{\"type\":\"records\",\"sort\":\"-nothing\"}", "unknown column \"nothing\"");
  expect_fault(csv, "{\"type\":\"records\",\"colums\":[\"id\"]}", "records has no member \"colums\"");
  expect_fault(csv, "{\"type\":\"records\",\"start\":-1}", "start must be");
  expect_fault(csv, "{\"type\":\"records\",\"limit\":0}", "limit must be 1 or more");
  expect_fault(csv, "{\"type\":\"records\",\"where\":{}}", "where must be a list");
  expect_fault(csv, "{\"type\":\"records\",\"where\":[{\"column\":\"id\",\"op\":\"like\",\"value\":1}]}",
               "where must be a list");
  expect_fault(csv, "{\"type\":\"records\",\"where\":[{\"column\":\"id\",\"op\":\"<\",\"value\":null}]}",
               "where must be a list");
  expect_fault(csv, "{\"type\":\"records\",\"where\":[{\"column\":\"id\",\"op\":\"in\",\"value\":1}]}",
               "where must be a list");
  expect_fault(json, "{\"type\":\"records\",\"path\":\"$.nothing\"}", "path selects nothing");
  expect_fault(json, "{\"type\":\"records\",\"path\":\"$.total\"}", "single value");
  expect_fault(json, "{\"type\":\"records\",\"path\":\"items\"}", "column 1: expected '$'");
  expect_fault(csv, "{\"type\":\"stats\",\"column\":7}", "column must be a string");
  expect_fault("[{\"a\":1},{\"a\" 2}]", "{\"type\":\"records\"}", "line 1, column 15");
}

// Rows of JSON may differ, so that it is known at their end only.
static void a_name_that_no_row_has_is_no_column(void **state) {
  const char *const texts[] = {csv, json, lines};
  const char *const selectors[] = {
      "{\"type\":\"records\",\"columns\":[\"idd\"]}",
      "{\"type\":\"records\",\"columns\":[\"id\",\"idd\"],\"limit\":1}",
      "{\"type\":\"records\",\"where\":[{\"column\":\"idd\",\"op\":\"=\",\"value\":\"Bonn\"}]}",
      "{\"type\":\"records\",\"where\":[{\"column\":\"idd\",\"op\":\"is_null\"}],\"limit\":1}",
      "{\"type\":\"records\",\"sort\":\"-idd\"}",
      "{\"type\":\"stats\",\"column\":\"idd\"}",
      "{\"type\":\"stats\",\"column\":\"price\",\"by\":\"idd\"}",
      "{\"type\":\"stats\",\"where\":[{\"column\":\"idd\",\"op\":\"!=\",\"value\":1}]}",
  };
  for (size_t i = 0; i < 3; i++)
    for (size_t k = 0; k < sizeof selectors / sizeof *selectors; k++)
      expect_fault(texts[i], selectors[k], "unknown column \"idd\"; known names: id, city, price");
  expect_fault(json, "{\"type\":\"stats\",\"column\":\"owner.taem\"}", "unknown column \"owner.taem\"");
  expect("[]", "{\"type\":\"records\",\"columns\":[\"a\"]}", "a\n… no more rows: 0 of 0 meet the conditions");
}

static void a_name_that_one_late_row_has_is_a_column(void **state) {
  struct buf text;
  buf_init(&text, 1 << 20);
  buf_char(&text, '[');
  for (int i = 0; i < 5000; i++) buf_printf(&text, "{\"id\":%d},", i);
  buf_str(&text, STR("{\"id\":5000,\"late\":null,\"more\":{\"x\":1}}]\0"));
  expect(text.p, "{\"type\":\"records\",\"columns\":[\"id\",\"late\",\"more.x\"],\"start\":5000}",
         "id,late,more.x\n5000,,1");
  expect(text.p,
         "{\"type\":\"records\",\"columns\":[\"id\"],\"limit\":1,"
         "\"where\":[{\"column\":\"late\",\"op\":\"is_null\"}],\"start\":5000}",
         "id\n5000");
  buf_done(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_name_that_no_row_has_is_no_column),
      cmocka_unit_test(a_name_that_one_late_row_has_is_a_column),
      cmocka_unit_test(records_are_rows_with_a_header),
      cmocka_unit_test(json_rows_are_found_where_they_are),
      cmocka_unit_test(json_lines_and_markdown_are_tables_too),
      cmocka_unit_test(a_name_leads_into_members),
      cmocka_unit_test(of_members_with_one_name_the_first_counts),
      cmocka_unit_test(conditions_compare_numbers_as_numbers_and_the_rest_as_text),
      cmocka_unit_test(rows_that_nobody_meets_are_told),
      cmocka_unit_test(rows_are_sorted_and_rows_that_are_alike_stay_in_order),
      cmocka_unit_test(following_the_selectors_shows_every_row_once),
      cmocka_unit_test(stats_of_a_column_count_and_add_up),
      cmocka_unit_test(stats_without_a_column_have_a_line_for_each),
      cmocka_unit_test(stats_by_a_column_are_groups),
      cmocka_unit_test(more_values_than_can_be_told_apart_are_told),
      cmocka_unit_test(a_wrong_selector_is_shown_the_right_one),
  };
  return cmocka_run_group_tests_name("view_table", tests, NULL, NULL);
}
