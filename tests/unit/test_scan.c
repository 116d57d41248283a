// SPDX-License-Identifier: Apache-2.0
// json/scan: a walk over JSON text without nodes, and what it finds wrong.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "json/scan.h"
#include "json/text.h"

enum { ROOM = 1 << 16 };

static void members_come_in_their_order_with_spans(void **state) {
  str text = STR(" {\"a\" : 1.5, \"b\":[1,{\"x\":\"]}\"}], \"\\u0063\":\"q\\\"uote\" ,\"d\":null}\n");
  static const char *const keys[] = {"a", "b", "c", "d"}, *const values[] = {"1.5", "[1,{\"x\":\"]}\"}]",
                                                                             "\"q\\\"uote\"", "null"};
  struct json_scan scan = json_scan(text);
  struct json_walk w;
  assert_true(json_walk_open(&w, &scan, json_scan_first(&scan)));
  size_t i = 0;
  for (; json_walk_next(&w); i++) {
    assert_true(json_walk_key_is(&w, str_of(keys[i])));
    assert_true(str_eq(json_walk_value(&w), str_of(values[i])));
  }
  assert_int_equal(i, 4);
  assert_int_equal(w.count, 4);
  assert_null(scan.wrong);
  assert_true(json_scan_ends(&scan, w.after));
}

static void a_value_that_is_not_taken_is_skipped(void **state) {
  struct json_scan scan = json_scan(STR("[[1,2],{\"a\":[3]},\"x\",4,true]"));
  struct json_walk w;
  json_walk_open(&w, &scan, json_scan_first(&scan));
  while (json_walk_next(&w)) {
  }
  assert_int_equal(w.count, 5);
  assert_null(scan.wrong);
}

static void the_inside_of_a_value_can_be_walked_and_left(void **state) {
  struct json_scan scan = json_scan(STR("{\"a\":{\"b\":[1,2,3],\"c\":2},\"z\":9}"));
  struct json_walk outer, inner;
  json_walk_open(&outer, &scan, json_scan_first(&scan));
  assert_true(json_walk_next(&outer));
  assert_true(json_walk_enter(&outer, &inner));
  assert_true(json_walk_next(&inner));
  assert_true(json_walk_key_is(&inner, STR("b")));
  json_walk_leave(&outer, &inner);
  assert_true(json_walk_next(&outer));
  assert_true(json_walk_key_is(&outer, STR("z")));
  assert_false(json_walk_enter(&outer, &inner));
  json_walk_leave(&outer, &inner);
  assert_false(json_walk_next(&outer));
  assert_null(scan.wrong);
}

// Rows that are alike, alike but for blanks, and not at all; the value is the number of the row.
static void a_member_is_found_by_its_name(void **state) {
  static const char text[] =
      "[{\"id\":1,\"name\":\"x\\\"y\",\"n\":0,\"z\":null},{\"id\":2,\"name\":\"a long one, with \\\\\",\"n\":1},"
      "{ \"id\" : 3,\n \"name\" : \"\", \"n\" : 2 },{\"id\":[{\"n\":9}],\"name\":true,\"n\":3},{\"n\":4,\"id\":5},"
      "{\"id\":6,\"name\":\"n\",\"\\u006e\":5},{\"id\":7,\"name\":\"no\"},{},{\"id\":8,\"name\":\"\",\"n\":8},[\"n\"]]"
      "                                ";
  static const str name = STR("n");
  struct json_scan scan = json_scan(str_of(text));
  struct json_walk rows, w;
  struct json_names names = {.list = &name, .count = 1};
  json_walk_open(&rows, &scan, json_scan_first(&scan));
  for (; json_walk_next(&rows); json_walk_leave(&rows, &w)) {
    size_t row = rows.count - 1;
    json_walk_enter(&rows, &w);
    assert_int_equal(json_walk_find(&w, &names), row == 6 || row == 7 || row == 9 ? -1 : 0);
    if (row == 9) continue;
    if (w.close) assert_true(str_eq(json_walk_value(&w), (str){&"012345678"[row], 1}));
    assert_int_equal(json_walk_find(&w, &names), -1);
  }
  assert_null(scan.wrong);
  assert_int_equal(rows.count, 10);
}

// Whatever was guessed: what is found is what one comes to from one member to the next.
static void members_of_several_names_come_as_they_stand(void **state) {
  static const char text[] =
      "[{\"a\":1,\"bb\":2},{\"a\":\n\n 1 ,\"bb\" : 2},{\"bb\":2,\"a\":1},{\"a\\u0062\":0,\"bb\":2},"
      "{\"a\":1,\"bb\":2,\"a key that is so long that it is never guessed\":3,\"a\":4},"
      "{\"a\":1,\"bb\":2,\"a key that is so long that it is never guessed\":3},{\"c\":{\"a\":0},\"bb\":[[\"a\"]]},"
      "{\"x member of a name\":1},{\"y member of a name\":2}]"
      "                                ";
  static const str wanted[] = {STR("bb"), STR("a"), STR("a key that is so long that it is never guessed"),
                               STR("y member of a name")};
  struct json_scan scan = json_scan(str_of(text));
  struct json_names names = {.list = wanted, .count = 4};
  struct json_walk rows, w, all;
  json_walk_open(&rows, &scan, json_scan_first(&scan));
  for (; json_walk_next(&rows); json_walk_leave(&rows, &w)) {
    json_walk_enter(&rows, &w);
    json_walk_enter(&rows, &all);
    while (json_walk_next(&all)) {
      for (int i = 0; i < 4; i++) {
        if (!json_walk_key_is(&all, wanted[i])) continue;
        assert_int_equal(json_walk_find(&w, &names), i);
        assert_true(w.value == all.value && w.count == all.count && json_walk_key_is(&w, wanted[i]));
      }
    }
    assert_int_equal(json_walk_find(&w, &names), -1);
    assert_ptr_equal(w.after, all.after);
  }
  assert_null(scan.wrong);
  assert_int_equal(rows.count, 9);
}

// In memory of exactly its size: what is read behind its end is seen.
static const char *find_in_rows_of(str text, str wanted) {
  struct json_scan scan = json_scan(text);
  struct json_names names = {.list = &wanted, .count = 1};
  struct json_walk rows, w;
  json_walk_open(&rows, &scan, json_scan_first(&scan));
  for (; json_walk_next(&rows); json_walk_leave(&rows, &w)) {
    json_walk_enter(&rows, &w);
    while (json_walk_find(&w, &names) >= 0) {
    }
  }
  return scan.wrong;
}

// Wherever a row ends, and only blanks follow: behind a key that was guessed too.
static void a_row_that_ends_anywhere_is_read_to_its_end_at_the_most(void **state) {
  enum { BLANKS = 60 };
  static const char rows[] = "[{\"first name\":1,\"b\":2},{\"first name\":1,\"b\":2},{\"first name\":1,\"b\":2}]";
  static const str names[] = {STR("b"), STR("first name"), STR("none")};
  for (size_t cut = 1; cut < sizeof rows; cut++) {
    char *text = mem_alloc(cut + BLANKS);
    memcpy(text, rows, cut);
    memset(text + cut, ' ', BLANKS);
    for (size_t i = 0; i < 3; i++) {
      const char *wrong = find_in_rows_of((str){text, cut + BLANKS}, names[i]);
      assert_true((wrong == NULL) == (cut == sizeof rows - 1));
    }
    mem_free(text);
  }
}

static void nothing_is_walked_in_what_is_no_container(void **state) {
  struct json_scan scan = json_scan(STR("7"));
  struct json_walk w;
  assert_false(json_walk_open(&w, &scan, json_scan_first(&scan)));
  assert_false(json_walk_next(&w));
  assert_null(scan.wrong);
  scan = json_scan(STR("  "));
  assert_false(json_walk_open(&w, &scan, json_scan_first(&scan)));
  assert_non_null(scan.wrong);
}

// Walks the outermost container to its end.
static const char *walk_all(struct json_scan *scan) {
  struct json_walk w;
  json_walk_open(&w, scan, json_scan_first(scan));
  while (json_walk_next(&w)) {
  }
  if (!scan->wrong && w.count) json_scan_ends(scan, w.after);
  return scan->wrong;
}

static void what_is_wrong_is_told_with_its_place(void **state) {
  static const struct {
    const char *text, *says, *where;
  } cases[] = {
      {"[1,\n 2", "expected ',' or ']', but the text ends", "line 2, column 3"},
      {"{\"a\":1,}", "a key in quotes", "line 1, column 8"},
      {"{\"\xc3\xa4\" 1}", "':' after a key", "line 1, column 6"},
      {"[1 2]", "',' or ']'", "line 1, column 4"},
      {"[,1]", "a value", "line 1, column 2"},
      {"[\"abc", "the closing quote of a string", "line 1, column 6"},
      {"[[1,[2]", "a closing bracket", "line 1, column 8"},
      {"[1]]", "the end of the text", "line 1, column 4"},
      {"[tru]", "a value", "line 1, column 2"},
      {"{\"\\x\":1}", "after a backslash", "line 1, column 4"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct json_scan scan = json_scan(str_of(cases[i].text));
    struct fault f;
    assert_non_null(walk_all(&scan));
    json_scan_fault(&scan, &f);
    if (!strstr(f.message, cases[i].says)) fail_msg("%s: %s", cases[i].text, f.message);
    assert_string_equal(f.path, cases[i].where);
  }
}

static void a_skip_trusts_what_a_strict_one_refuses(void **state) {
  static const char *const texts[] = {"[[1,,2]]", "[{\"a\"}]", "[[\"\\q\"]]", "[[1}]", "[[01]]", "[\"\xff\"]", "[-]"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct json_scan trusting = json_scan(str_of(texts[i])), strict = json_scan_strict(str_of(texts[i]));
    if (walk_all(&trusting)) fail_msg("%s: %s", texts[i], trusting.what);
    if (!walk_all(&strict)) fail_msg("%s is taken", texts[i]);
  }
}

// Brackets and quotes in strings, escapes and ends wherever they lie in a block.
static void skipping_is_the_same_at_every_place_of_a_block(void **state) {
  static const char inside[] = "{\"k\\\\\":[\"]}\\\"[{\",{}],\"\\\\\\\\\":\"\\\"\"}";
  char text[400];
  for (size_t pad = 0; pad < 200; pad++) {
    int n = snprintf(text, sizeof text, "[%*s%s,\"%*s\\\"\",7]", (int)pad, "", inside, (int)(pad % 70), "");
    str exact = {mem_alloc((size_t)n), (size_t)n};  // so that a read beyond its end is seen
    memcpy((char *)exact.p, text, exact.n);
    struct json_scan scan = json_scan(exact);
    const char *behind = json_scan_skip(&scan, exact.p);
    assert_ptr_equal(behind, exact.p + exact.n);
    assert_ptr_equal(json_scan_skip(&scan, exact.p + 1 + pad), exact.p + 1 + pad + sizeof inside - 1);
    for (size_t cut = 1; cut < exact.n; cut++) {
      struct json_scan part = json_scan((str){exact.p, cut});
      assert_null(json_scan_skip(&part, exact.p));
    }
    mem_free((char *)exact.p);
  }
}

static void a_check_bounds_the_depth(void **state) {
  char text[300];
  memset(text, '[', 150);
  memset(text + 150, ']', 150);
  struct fault f;
  assert_false(json_scan_check((str){text, 300}, &json_default_limits, &f));
  assert_int_equal(f.code, FAULT_LIMIT);
  assert_true(json_scan_check((str){text + 22, 256}, &json_default_limits, &f));
}

// ---- beside json_parse

static uint64_t next_random(uint64_t *x) {
  *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
  return *x;
}

static void write_random(struct buf *b, uint64_t *x, unsigned depth) {
  static const char *const scalars[] = {"1",    "-0.5e+3", "\"a\\\"b\"", "\"\xc3\xa4\\u00e4\"",
                                        "true", "null",    "\"[{\"",     "0"};
  uint64_t kind = next_random(x) % (depth > 5 ? 8 : 14);
  if (kind < 8) {
    buf_str(b, str_of(scalars[kind]));
    return;
  }
  bool object = kind % 2;
  buf_char(b, object ? '{' : '[');
  for (uint64_t i = 0, n = next_random(x) % 5; i < n; i++) {
    if (i) buf_str(b, next_random(x) % 3 ? STR(",") : STR(" ,\n "));
    if (object) buf_printf(b, "\"k%d\\n\": ", (int)i);
    write_random(b, x, depth + 1);
  }
  buf_char(b, object ? '}' : ']');
}

static bool duplicate(const struct fault *f) {
  return strstr(f->message, "occurs twice");
}

static bool agrees(struct arena *a, str text) {
  struct fault parse_fault = {0}, check_fault = {0};
  arena_reset(a);
  bool parsed = json_parse(a, text, &json_default_limits, &parse_fault);
  bool checked = json_scan_check(text, &json_default_limits, &check_fault);
  return parsed == checked || (checked && duplicate(&parse_fault));
}

static void a_check_takes_what_the_parser_takes(void **state) {
  struct arena a;
  struct buf b;
  uint64_t x = 88172645463325252;
  arena_init(&a);
  buf_init(&b, ROOM);
  for (int i = 0; i < 4000; i++) {
    buf_reset(&b);
    write_random(&b, &x, 0);
    if (!b.n) continue;
    if (!agrees(&a, buf_view(&b))) fail_msg("%.*s", STR_ARG(buf_view(&b)));
    // One byte changed, or the end cut off.
    b.p[next_random(&x) % b.n] = "{}[],:\"\\ 1e.-tn\x80\xc3\n\x01"[next_random(&x) % 20];
    if (!agrees(&a, buf_view(&b))) fail_msg("%.*s", STR_ARG(buf_view(&b)));
    b.n = next_random(&x) % (b.n + 1);
    if (!agrees(&a, buf_view(&b))) fail_msg("%.*s", STR_ARG(buf_view(&b)));
  }
  buf_done(&b);
  arena_done(&a);
}

// Spans, keys and types of all values are those of the nodes.
static void compare(struct json_scan *scan, const char *value, const struct json *node) {
  struct json_walk w;
  assert_int_equal(json_scan_type(scan, value), node->type);
  assert_ptr_equal(json_scan_skip(scan, value), node->p + node->n);
  json_walk_open(&w, scan, value);
  const struct json *child = node->child;
  for (; json_walk_next(&w); child = child->next) {
    assert_non_null(child);
    assert_ptr_equal(w.value, child->p);
    if (child->key) assert_true(str_eq(w.key, (str){child->key, child->key_n}));
    compare(scan, w.value, child);
  }
  assert_null(child);
  assert_null(scan->wrong);
}

static void a_walk_finds_what_the_parser_finds(void **state) {
  struct arena a;
  struct buf b;
  struct fault f;
  uint64_t x = 362436069362436069;
  arena_init(&a);
  buf_init(&b, ROOM);
  for (int i = 0; i < 2000; i++) {
    buf_reset(&b);
    arena_reset(&a);
    write_random(&b, &x, 0);
    struct json *root = json_parse(&a, buf_view(&b), &json_default_limits, &f);
    assert_non_null(root);
    struct json_scan scan = i % 2 ? json_scan(buf_view(&b)) : json_scan_strict(buf_view(&b));
    compare(&scan, json_scan_first(&scan), root);
  }
  buf_done(&b);
  arena_done(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(members_come_in_their_order_with_spans),
      cmocka_unit_test(a_value_that_is_not_taken_is_skipped),
      cmocka_unit_test(the_inside_of_a_value_can_be_walked_and_left),
      cmocka_unit_test(a_member_is_found_by_its_name),
      cmocka_unit_test(members_of_several_names_come_as_they_stand),
      cmocka_unit_test(a_row_that_ends_anywhere_is_read_to_its_end_at_the_most),
      cmocka_unit_test(nothing_is_walked_in_what_is_no_container),
      cmocka_unit_test(what_is_wrong_is_told_with_its_place),
      cmocka_unit_test(a_skip_trusts_what_a_strict_one_refuses),
      cmocka_unit_test(skipping_is_the_same_at_every_place_of_a_block),
      cmocka_unit_test(a_check_bounds_the_depth),
      cmocka_unit_test(a_check_takes_what_the_parser_takes),
      cmocka_unit_test(a_walk_finds_what_the_parser_finds),
  };
  return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
