// SPDX-License-Identifier: Apache-2.0
// json/: what is accepted, what is refused and why, reading and comparing values.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "json/write.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct arena arena;
static struct fault fault;

static int set_up(void **state) {
  arena_init(&arena);
  return 0;
}

static int tear_down(void **state) {
  arena_done(&arena);
  return 0;
}

static struct json *parse_with(str text, const struct json_limits *limits) {
  // First in memory of exactly its size, so that reading past it is seen by the address sanitizer.
  char *exact = memcpy(mem_alloc(text.n), text.p, text.n);
  bool good = json_parse(&arena, (str){exact, text.n}, limits, &fault);
  mem_free(exact);
  return good ? json_parse(&arena, arena_str(&arena, text), limits, &fault) : NULL;
}

static struct json *parse(const char *text) {
  return parse_with(str_of(text), &json_default_limits);
}

static struct json *must_parse(const char *text) {
  struct json *v = parse(text);
  if (!v) fail_msg("refused: %s: %s (%s)", text, fault.message, fault.path);
  return v;
}

static void expect_str(str got, const char *want) {
  if (!str_eq(got, (str){want, strlen(want)})) fail_msg("got %.*s, want %s", STR_ARG(got), want);
}

static void every_kind_of_value_may_stand_alone(void **state) {
  static const struct {
    const char *text;
    enum json_type type;
  } cases[] = {{"null", JSON_NULL},       {"true", JSON_TRUE}, {" false\r\n\t", JSON_FALSE}, {"0", JSON_NUMBER},
               {"\"text\"", JSON_STRING}, {"[]", JSON_ARRAY},  {"{ }", JSON_OBJECT}};
  for (size_t i = 0; i < COUNT(cases); i++) assert_true(json_is(must_parse(cases[i].text), cases[i].type));
  assert_false(json_is(NULL, JSON_NULL));
}

static void a_value_keeps_the_span_it_was_read_from(void **state) {
  struct json *v = must_parse(" { \"a\" : [ 1.50 , \"x\\ny\" ] , \"b\" : { } } ");
  expect_str(json_span(v), "{ \"a\" : [ 1.50 , \"x\\ny\" ] , \"b\" : { } }");
  assert_int_equal(v->count, 2);
  struct json *a = json_get(v, STR("a"));
  expect_str(json_span(a), "[ 1.50 , \"x\\ny\" ]");
  expect_str(json_span(json_at(a, 0)), "1.50");
  expect_str(json_span(json_at(a, 1)), "\"x\\ny\"");
  expect_str(json_span(json_get(v, STR("b"))), "{ }");
  assert_null(v->key);
  assert_null(v->next);
  assert_null(json_get(v, STR("b"))->next);
}

static void numbers_are_written_as_the_grammar_says(void **state) {
  static const char *const good[] = {"0",
                                     "-0",
                                     "7",
                                     "-123",
                                     "0.5",
                                     "-0.0",
                                     "1e5",
                                     "1E+5",
                                     "1.25e-7",
                                     "0e0",
                                     "1e400",
                                     "9007199254740993",
                                     "123456789012345678901234567890"};
  for (size_t i = 0; i < COUNT(good); i++) expect_str(json_span(must_parse(good[i])), good[i]);
  static const char *const bad[] = {"+1",       "01",        "-01",   "00",  "1.",  ".5",   "-.5",   "1.e5",
                                    "1e",       "1e+",       "1E-",   "-",   "--1", "0x10", "1a",    "NaN",
                                    "Infinity", "-Infinity", "1_000", "1 2", "1,5", "- 1",  "1e1.5", "\xef\xbc\x91"};
  for (size_t i = 0; i < COUNT(bad); i++)
    if (parse(bad[i])) fail_msg("accepted %s", bad[i]);
}

static void strings_are_unescaped_when_they_are_asked_for(void **state) {
  static const struct {
    const char *text, *want;
  } cases[] = {
      {"\"\"", ""},
      {"\"plain\"", "plain"},
      {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
      {"\"\\u0041\\u00e9\\u20AC\\uFFFF\"", "A\xc3\xa9\xe2\x82\xac\xef\xbf\xbf"},
      {"\"\\ud83d\\ude00\\uDBFF\\uDFFF\"", "\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf"},
      {"\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \x7f\"", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \x7f"},
      {"\"seventeen bytes..\"", "seventeen bytes.."},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    struct json *v = must_parse(cases[i].text);
    str s;
    assert_true(json_string(v, &arena, &s));
    expect_str(s, cases[i].want);
    assert_true(json_equals_str(v, str_of(cases[i].want)));
    assert_false(json_equals_str(v, STR("something else")));
  }
  str s, nul = {"a\0b", 3};
  assert_true(json_string(must_parse("\"a\\u0000b\""), &arena, &s));
  assert_true(str_eq(s, nul));
}

static void a_string_without_escapes_is_not_copied(void **state) {
  struct json *v = must_parse("[\"abc\"]")->child;
  str s;
  assert_true(json_string(v, &arena, &s));
  assert_ptr_equal(s.p, v->p + 1);
}

static void bad_strings_are_refused(void **state) {
  static const char *const bad[] = {
      "\"",
      "\"abc",
      "\"\\\"",
      "\"\\",
      "\"\\x\"",
      "\"\\u\"",
      "\"\\u12\"",
      "\"\\u12g4\"",
      "\"\\U0041\"",
      "'a'",
      "\"a\nb\"",
      "\"a\tb\"",
      "\"\x1f\"",
      "\"\\\n\"",
      "\"\\ud800\"",
      "\"\\udc00\"",
      "\"\\ud800x\"",
      "\"\\ud800\\n\"",
      "\"\\ud800\\ud800\"",
      "\"\\ude00\\ud83d\"",
      "\"\\ud800\\u12\"",
      "\"\xff\"",
      "\"\xc0\xaf\"",
      "\"\xc3\"",
      "\"\xe2\x82\"",
      "\"\xed\xa0\x80\"",
      "\"\xf4\x90\x80\x80\"",
      "\"\x80\"",
      "\"12345678\xff\"",
      "\"1234567\x01\"",
      "\"\xf0\x80\x80\xaf\"",
  };
  for (size_t i = 0; i < COUNT(bad); i++)
    if (parse(bad[i])) fail_msg("accepted case %zu: %s", i, bad[i]);
  assert_null(parse_with((str){"\"a\0b\"", 5}, &json_default_limits));
}

static void every_byte_of_a_string_is_looked_at(void **state) {
  // At each offset of the eight bytes that are checked at once.
  for (int length = 1; length < 40; length++)
    for (int at = 0; at < length; at++) {
      char text[48];
      memset(text, 'x', sizeof text);
      text[0] = text[length + 1] = '"';
      for (int c = 0; c < 256; c++) {
        text[at + 1] = (char)c;
        bool plain = c >= ' ' && c < 0x80 && c != '"' && c != '\\';
        bool accepted = json_parse(&arena, (str){text, (size_t)length + 2}, &json_default_limits, &fault);
        if (accepted != plain) fail_msg("byte %d at %d of %d", c, at, length);
        arena_reset(&arena);
      }
    }
}

static void structure_is_strict(void **state) {
  static const char *const bad[] = {
      "",
      " ",
      "nul",
      "True",
      "nulll",
      "truefalse",
      "[",
      "]",
      "[1",
      "[1,",
      "[,1]",
      "[1,]",
      "[1 2]",
      "[1,,2]",
      "[1}",
      "{",
      "}",
      "{\"a\"",
      "{\"a\"}",
      "{\"a\":",
      "{\"a\":}",
      "{\"a\":1",
      "{\"a\":1,",
      "{\"a\":1,}",
      "{a:1}",
      "{1:1}",
      "{'a':1}",
      "{\"a\" 1}",
      "{\"a\":1 \"b\":2}",
      "{,}",
      "{\"a\":1]",
      "{\"a\"::1}",
      "[]]",
      "{}{}",
      "[] x",
      "1 1",
      "// x\n1",
      "/**/1",
      "[1]#",
      "\f1",
      "\xc2\xa0"
      "1",
      "\xe2\x80\xa8"
      "1",
      "[\v1]",
      "\\u0031",
      "\xef\xbb\xbf{}",
      "\xff\xfe"
      "1",
      "{null:1}",
      "{\"a\",1}",
      "[\"a\":1]",
      "*",
      "<null>",
      "[\"a\"",
      "{[]:1}",
  };
  for (size_t i = 0; i < COUNT(bad); i++)
    if (parse(bad[i])) fail_msg("accepted case %zu: %s", i, bad[i]);
  assert_null(parse_with((str){"1\0", 2}, &json_default_limits));
  assert_null(parse_with((str){"\0", 1}, &json_default_limits));
  must_parse(" [ [ ] , { } , { \"a\" : [ { } ] , \"\" : 0 } ]\n");
}

static void a_refusal_says_what_was_expected_and_where(void **state) {
  static const struct {
    const char *text, *message, *path;
  } cases[] = {
      {"", "expected a value, but the text ends", "line 1, column 1"},
      {"[1,\n 2 3]", "expected ',' or ']', not '3'", "line 2, column 4"},
      {"{\"a\":1;}", "expected ',' or '}', not ';'", "line 1, column 7"},
      {"{\"a\" 1}", "expected ':' after a key, not '1'", "line 1, column 6"},
      {"{\"a\":1,}", "expected a key in quotes, not '}'", "line 1, column 8"},
      {"[1] x", "expected the end of the text, not 'x'", "line 1, column 5"},
      {"[\"\xc3\xa9\", x]", "expected a value, not 'x'", "line 1, column 7"},
      {"[\x01]", "expected a value, not byte 0x01", "line 1, column 2"},
      {"\"abc", "expected the closing quote of a string, but the text ends", "line 1, column 5"},
      {"\"\\q\"", "expected one of \"\\/bfnrtu after a backslash, not 'q'", "line 1, column 3"},
      {"\"\\u00g0\"", "\\u must be followed by four hexadecimal digits", "line 1, column 2"},
      {"\"\\ud800\"", "a surrogate escape is not part of a pair", "line 1, column 2"},
      {"\"a\nb\"", "a control character in a string must be escaped", "line 1, column 3"},
      {"\"\xff\"", "the string is not valid UTF-8", "line 1, column 2"},
      {"[01]", "a number must not have leading zeros", "line 1, column 2"},
      {"[-x]", "expected a digit, not 'x'", "line 1, column 3"},
      {"\xef\xbb\xbf{}", "the JSON text must not begin with a byte order mark", "line 1, column 1"},
      {"{\"k\":1,\n\"k\":2}", "the key \"k\" occurs twice in an object", "line 2, column 1"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    assert_null(parse(cases[i].text));
    assert_int_equal(fault.code, FAULT_INVALID);
    assert_string_equal(fault.message, cases[i].message);
    assert_string_equal(fault.path, cases[i].path);
  }
}

static void duplicate_keys_are_refused_after_unescaping(void **state) {
  static const char *const bad[] = {"{\"a\":1,\"a\":1}",
                                    "{\"a\":1,\"b\":2,\"a\":3}",
                                    "{\"\":1,\"\":2}",
                                    "{\"a\":1,\"\\u0061\":2}",
                                    "{\"\\u0061\":1,\"a\":2}",
                                    "{\"\\u0061\":1,\"\\u0061\":2}",
                                    "{\"\xc3\xa9\":1,\"\\u00E9\":2}",
                                    "{\"x\":{\"/\":1,\"\\/\":2}}",
                                    "[{\"\xf0\x9f\x98\x80\":1,\"b\":1,\"\\ud83d\\ude00\":2}]"};
  for (size_t i = 0; i < COUNT(bad); i++)
    if (parse(bad[i])) fail_msg("accepted %s", bad[i]);
  must_parse("{\"a\":1,\"A\":2,\"a \":3,\"\":4,\"\\u0000\":5,\"ab\":{\"a\":1}}");
}

static void duplicate_keys_are_found_in_objects_of_any_size(void **state) {
  for (int count = 2; count < 200; count++)
    for (int variant = 0; variant < 3; variant++) {
      struct buf b;
      buf_init(&b, 1 << 20);
      struct json_writer w = json_writer(&b);
      json_begin_object(&w);
      for (int i = 0; i < count; i++) {
        char key[16];
        // Variant 1 repeats the first key at the end, variant 2 the last but one.
        int n = i == count - 1 && variant ? (variant == 1 ? 0 : count - 2) : i;
        snprintf(key, sizeof key, "key%d", n);
        json_put_key(&w, str_of(key));
        json_put_int(&w, i);
      }
      json_end_object(&w);
      assert_true(!json_parse(&arena, buf_view(&b), &json_default_limits, &fault) == (variant != 0));
      arena_reset(&arena);
      buf_done(&b);
    }
}

static void limits_on_bytes_and_depth_hold_exactly(void **state) {
  struct json_limits limits = {.max_bytes = 8, .max_depth = 3};
  assert_non_null(parse_with(STR("[[[12]]]"), &limits));
  assert_null(parse_with(STR("[[[123]]]"), &limits));
  assert_int_equal(fault.code, FAULT_LIMIT);
  assert_string_equal(fault.message, "the text has more than 8 bytes");
  assert_null(parse_with(STR("[[[[]]]]"), &limits));
  assert_int_equal(fault.code, FAULT_LIMIT);
  assert_string_equal(fault.message, "the text has more than 3 levels of nesting");
  assert_string_equal(fault.path, "line 1, column 4");
  limits.max_depth = 0;
  assert_non_null(parse_with(STR("1"), &limits));
  assert_null(parse_with(STR("[]"), &limits));
}

static void endless_nesting_is_refused_even_without_a_limit(void **state) {
  struct json_limits none = {.max_bytes = SIZE_MAX, .max_depth = UINT32_MAX};
  enum { N = 100000 };
  char *text = mem_alloc(N);
  memset(text, '[', N);
  assert_null(json_parse(&arena, (str){text, N}, &none, &fault));
  assert_int_equal(fault.code, FAULT_LIMIT);
  memset(text + JSON_DEEPEST, ']', JSON_DEEPEST);
  assert_non_null(json_parse(&arena, (str){text, 2 * JSON_DEEPEST}, &none, &fault));
  mem_free(text);
}

static void more_values_than_memory_can_take_are_refused(void **state) {
  size_t n = 2 * (size_t)JSON_MOST_VALUES + 1;
  char *text = mem_alloc(n);
  for (size_t i = 0; i < n; i++) text[i] = i % 2 ? '0' : ',';
  text[0] = '[';
  text[n - 1] = ']';
  assert_null(json_parse(&arena, (str){text, n}, &json_default_limits, &fault));
  assert_int_equal(fault.code, FAULT_LIMIT);
  assert_string_equal(fault.message, "the text has more than 8388608 values");
  mem_free(text);
}

// ---- folding

static struct json *parse_folding(str text, unsigned depth, uint32_t values) {
  const struct json_fold fold = {depth, values};
  return json_parse_folding(&arena, text, &json_default_limits, &fold, &fault);
}

// {"small":[1,2],"large":[0,0,…],"last":true}
static str with_large_member(size_t elements) {
  struct buf b;
  buf_init(&b, 64 << 20);
  buf_str(&b, STR("{\"small\":[1,2],\"large\":["));
  for (size_t i = 0; i < elements; i++) buf_str(&b, i ? STR(",0") : STR("0"));
  buf_str(&b, STR("],\"last\":true}"));
  str text = arena_str(&arena, buf_view(&b));
  buf_done(&b);
  return text;
}

static void a_container_with_many_values_is_folded_and_its_neighbours_are_not(void **state) {
  struct json *v = parse_folding(with_large_member(5000), 2, 1000);
  struct json *large = json_get(v, STR("large"));
  assert_true(json_is_folded(large));
  assert_true(json_is(large, JSON_ARRAY));
  assert_int_equal(large->count, 5000);
  assert_int_equal(large->n, 10001);
  assert_false(json_is_folded(json_get(v, STR("small"))));
  expect_str(json_span(json_at(json_get(v, STR("small")), 1)), "2");
  assert_true(json_is(json_get(v, STR("last")), JSON_TRUE));
}

static void a_folded_container_has_its_values_when_it_is_unfolded(void **state) {
  str text = with_large_member(5000);
  struct json *v = parse_folding(text, 2, 1000), *large = json_get(v, STR("large"));
  assert_true(json_unfold(&arena, large, &json_default_limits, NULL, &fault));
  assert_false(json_is_folded(large));
  assert_true(json_same(v, json_parse(&arena, text, &json_default_limits, &fault)));
  expect_str((str){large->key, large->key_n}, "large");
  assert_true(json_unfold(&arena, large, &json_default_limits, NULL, &fault));
}

static void folding_takes_no_memory_for_what_it_folds(void **state) {
  str text = with_large_member(4 << 20);
  size_t before = arena.total;
  assert_non_null(parse_folding(text, 2, 1000));
  assert_true(arena.total - before < 1 << 20);
  assert_null(json_parse(&arena, with_large_member(9 << 20), &json_default_limits, &fault));
  assert_non_null(parse_folding(with_large_member(9 << 20), 2, 1000));
}

// Members that are each just small enough do not add up to more than a few times what was allowed.
static void many_containers_that_are_not_folded_are_bounded_too(void **state) {
  struct buf b;
  buf_init(&b, 64 << 20);
  for (size_t i = 0; i < 20000; i++) buf_printf(&b, "%c\"k%zu\":[1,2,3]", i ? ',' : '{', i);
  buf_char(&b, '}');
  assert_null(parse_folding(buf_view(&b), 2, 1000));
  assert_int_equal(fault.code, FAULT_LIMIT);
  buf_done(&b);
}

static void what_is_folded_is_checked_as_anything_else(void **state) {
  static const struct {
    const char *text, *message, *path;
  } cases[] = {
      {"[[1,2,03]]", "a number must not have leading zeros", "line 1, column 7"},
      {"[{\"a\":1,\n\"a\":2}]", "the key \"a\" occurs twice in an object", "line 2, column 1"},
      {"[[{\"a\":1,\"\\u0061\":2}]]", "the key \"a\" occurs twice in an object", "line 1, column 10"},
      {"[[1,2]", "expected ',' or ']', but the text ends", "line 1, column 7"},
      {"[[1,2}]", "expected ',' or ']', not '}'", "line 1, column 6"},
      {"[{\"a\":1,}]", "expected a key in quotes, not '}'", "line 1, column 9"},
      {"[[\"\xff\"]]", "the string is not valid UTF-8", "line 1, column 4"},
      {"[[1] 2]", "expected ',' or ']', not '2'", "line 1, column 6"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    for (unsigned depth = 1; depth < 3; depth++) {
      assert_null(parse_folding(str_of(cases[i].text), depth, 0));
      assert_string_equal(fault.message, cases[i].message);
      assert_string_equal(fault.path, cases[i].path);
    }
  }
}

static void what_is_folded_is_no_deeper_than_anything_else(void **state) {
  const struct json_limits three = {.max_bytes = 1000, .max_depth = 3};
  const struct json_fold all = {.depth = 2};
  assert_non_null(json_parse_folding(&arena, STR("[[[1]]]"), &three, &all, &fault));
  assert_null(json_parse_folding(&arena, STR("[[[[1]]]]"), &three, &all, &fault));
  assert_string_equal(fault.message, "the text has more than 3 levels of nesting");
}

// One of its keys occurs twice, `first` and `second`; escaped: the second time in another spelling.
static str large_object(size_t keys, size_t second, bool escaped) {
  struct buf b;
  buf_init(&b, 64 << 20);
  for (size_t i = 0; i < keys; i++) {
    if (i == second) buf_printf(&b, ",\"%s7\":0", escaped ? "\\u006b" : "k");
    else buf_printf(&b, "%c\"k%zu\":0", i ? ',' : '{', i);
  }
  buf_char(&b, '}');
  str text = arena_str(&arena, buf_view(&b));
  buf_done(&b);
  return text;
}

static void a_key_that_occurs_twice_among_many_is_found(void **state) {
  assert_non_null(parse_folding(large_object(100000, SIZE_MAX, false), 1, 0));
  for (unsigned i = 0; i < 2; i++) {
    assert_null(parse_folding(large_object(100000, 50000, i == 1), 1, 0));
    assert_string_equal(fault.message, "the key \"k7\" occurs twice in an object");
  }
  assert_null(parse_folding(large_object(100, 50, false), 1, 0));
  assert_non_null(parse_folding(large_object(100, SIZE_MAX, false), 1, 0));
}

static void text_cut_anywhere_is_refused(void **state) {
  const char *text = "{\"a\":[1.5e3,true,\"x\\u00e9\\n\xe2\x82\xac\"],\"b\":{\"c\":null}}";
  must_parse(text);
  for (size_t n = 0; n < strlen(text); n++) assert_null(parse_with((str){text, n}, &json_default_limits));
}

static void members_are_found_by_their_unescaped_key(void **state) {
  struct json *v = must_parse("{\"a\":1,\"na\\u006de\":2,\"\xc3\xa9\":3,\"\":4}");
  expect_str(json_span(json_get(v, STR("name"))), "2");
  expect_str(json_span(json_get(v, STR("\xc3\xa9"))), "3");
  expect_str(json_span(json_get(v, STR(""))), "4");
  assert_null(json_get(v, STR("nam")));
  assert_null(json_get(v, STR("names")));
  assert_null(json_get(v, STR("na\\u006de")));
  assert_null(json_get(NULL, STR("a")));
  assert_null(json_get(json_get(v, STR("a")), STR("a")));
  expect_str(json_key(json_get(v, STR("name")), &arena), "name");
}

static void elements_are_found_by_their_index(void **state) {
  struct json *v = must_parse("[10,[20],30]");
  expect_str(json_span(json_at(v, 0)), "10");
  expect_str(json_span(json_at(v, 2)), "30");
  assert_null(json_at(v, 3));
  assert_null(json_at(NULL, 0));
  assert_null(json_at(must_parse("{\"a\":1}"), 0));
  int seen = 0;
  JSON_EACH(e, v) seen++;
  assert_int_equal(seen, 3);
}

static void what_is_not_asked_for_stays_untouched(void **state) {
  struct json *number = must_parse("1");
  str s = STR("before");
  bool b = true;
  double d = 7;
  int64_t i = 7;
  assert_false(json_string(number, &arena, &s));
  assert_false(json_string(NULL, &arena, &s));
  expect_str(s, "before");
  assert_false(json_bool(number, &b));
  assert_true(b);
  assert_false(json_double(must_parse("\"1\""), &d));
  assert_false(json_double(NULL, &d));
  assert_true(d == 7);
  assert_false(json_int(must_parse("\"1\""), &i));
  assert_false(json_int(NULL, &i));
  assert_int_equal(i, 7);
  assert_false(json_equals_str(number, STR("1")));
  assert_false(json_equals_str(NULL, STR("")));
  assert_true(json_bool(must_parse("false"), &b));
  assert_false(b);
}

static void integers_are_exact_or_refused(void **state) {
  static const struct {
    const char *text;
    int64_t want;
  } good[] = {{"0", 0},
              {"-0", 0},
              {"-0.0e9", 0},
              {"42", 42},
              {"-42", -42},
              {"1.0", 1},
              {"10e-1", 1},
              {"1.50e1", 15},
              {"12e3", 12000},
              {"0.001e3", 1},
              {"9223372036854775807", INT64_MAX},
              {"-9223372036854775808", INT64_MIN},
              {"922337203685477580.7e1", INT64_MAX},
              {"0e99999999999999999999999", 0},
              {"1000000000000000000000000000000e-30", 1}};
  for (size_t i = 0; i < COUNT(good); i++) {
    int64_t v = -1;
    if (!json_int(must_parse(good[i].text), &v) || v != good[i].want) fail_msg("%s", good[i].text);
  }
  static const char *const bad[] = {"0.5",
                                    "1e-1",
                                    "1.05e1",
                                    "9223372036854775808",
                                    "-9223372036854775809",
                                    "1e19",
                                    "18446744073709551616",
                                    "1e999999999",
                                    "1e99999999999999999999",
                                    "123e-2"};
  for (size_t i = 0; i < COUNT(bad); i++) {
    int64_t v = -1;
    if (json_int(must_parse(bad[i]), &v) || v != -1) fail_msg("%s", bad[i]);
  }
}

static void doubles_are_the_nearest_ones(void **state) {
  double d;
  assert_true(json_double(must_parse("0.1"), &d) && d == 0.1);
  assert_true(json_double(must_parse("-12.5e2"), &d) && d == -1250);
  assert_true(json_double(must_parse("1e-400"), &d) && d == 0);
  assert_true(json_double(must_parse("1.7976931348623157e308"), &d) && d == 1.7976931348623157e308);
  assert_false(json_double(must_parse("1e400"), &d));
  assert_false(json_double(must_parse("-1e999999999999"), &d));
  char text[2003] = "1";
  memset(text + 1, '0', 300);
  memcpy(text + 301, ".", 1);
  memset(text + 302, '9', 1700);
  assert_true(json_double(must_parse(text), &d) && d == 1e300);
}

static void same_looks_at_values_not_at_their_writing(void **state) {
  static const char *const same[][2] = {{"1", "1.0"},
                                        {"1", "10e-1"},
                                        {"100", "1E2"},
                                        {"0", "-0.00e7"},
                                        {"0.05", "5e-2"},
                                        {"-12.50", "-125e-1"},
                                        {"1e999999999", "10e999999998"},
                                        {"1e-999999999", "0.1e-999999998"},
                                        {"1e0000000000000000000000002", "100"},
                                        {"9007199254740993", "9007199254740993.0"},
                                        {"1e99999999999999999999", "1e99999999999999999999"},
                                        {"\"a\\u0062\\n\"", "\"ab\\u000a\""},
                                        {"\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""},
                                        {"\"\\/\"", "\"/\""},
                                        {"[1, [2], {}]", "[1.0,[2e0],{ }]"},
                                        {"{\"a\":1,\"b\":[true]}", "{\"b\":[ true ],\"\\u0061\":1}"},
                                        {"null", " null "}};
  for (size_t i = 0; i < COUNT(same); i++) {
    struct json *a = must_parse(same[i][0]), *b = must_parse(same[i][1]);
    if (!json_same(a, b) || !json_same(b, a)) fail_msg("%s is not %s", same[i][0], same[i][1]);
  }
  static const char *const different[][2] = {{"1", "2"},
                                             {"1", "-1"},
                                             {"1", "10"},
                                             {"1", "1.0000000000000000000000001"},
                                             {"9007199254740993", "9007199254740992"},
                                             {"1e999999999", "1e999999998"},
                                             {"12", "1.2"},
                                             {"0.1", "0.01"},
                                             {"105", "15"},
                                             {"1", "\"1\""},
                                             {"true", "false"},
                                             {"\"a\"", "\"A\""},
                                             {"\"a\"", "\"ab\""},
                                             {"\"\\n\"", "\"n\""},
                                             {"\"\\n\\n\"", "\"\\n\""},
                                             {"[1,2]", "[2,1]"},
                                             {"[1]", "[1,1]"},
                                             {"[]", "{}"},
                                             {"{\"a\":1}", "{\"a\":2}"},
                                             {"{\"a\":1}", "{\"b\":1}"},
                                             {"{\"a\":1}", "{\"a\":1,\"b\":1}"},
                                             {"1e99999999999999999999", "1e99999999999999999998"}};
  for (size_t i = 0; i < COUNT(different); i++) {
    struct json *a = must_parse(different[i][0]), *b = must_parse(different[i][1]);
    if (json_same(a, b) || json_same(b, a)) fail_msg("%s is %s", different[i][0], different[i][1]);
  }
}

static void same_compares_large_objects_in_any_order(void **state) {
  struct buf up, down;
  buf_init(&up, 1 << 20);
  buf_init(&down, 1 << 20);
  struct json_writer u = json_writer(&up), d = json_writer(&down);
  json_begin_object(&u), json_begin_object(&d);
  for (int i = 0; i < 1000; i++) {
    char a[16], b[16];
    snprintf(a, sizeof a, "k%d", i);
    snprintf(b, sizeof b, "k%d", 999 - i);
    json_put_key(&u, str_of(a)), json_put_int(&u, i);
    json_put_key(&d, str_of(b)), json_put_int(&d, 999 - i);
  }
  json_end_object(&u), json_end_object(&d);
  struct json *a = json_parse(&arena, buf_view(&up), &json_default_limits, &fault);
  struct json *b = json_parse(&arena, buf_view(&down), &json_default_limits, &fault);
  assert_true(json_same(a, b));
  memcpy(strstr(down.p, ":500,"), ":501,", 5);
  b = json_parse(&arena, buf_view(&down), &json_default_limits, &fault);
  assert_false(json_same(a, b));
  buf_done(&up);
  buf_done(&down);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_of_value_may_stand_alone),
      cmocka_unit_test(a_value_keeps_the_span_it_was_read_from),
      cmocka_unit_test(numbers_are_written_as_the_grammar_says),
      cmocka_unit_test(strings_are_unescaped_when_they_are_asked_for),
      cmocka_unit_test(a_string_without_escapes_is_not_copied),
      cmocka_unit_test(bad_strings_are_refused),
      cmocka_unit_test(every_byte_of_a_string_is_looked_at),
      cmocka_unit_test(structure_is_strict),
      cmocka_unit_test(a_refusal_says_what_was_expected_and_where),
      cmocka_unit_test(duplicate_keys_are_refused_after_unescaping),
      cmocka_unit_test(duplicate_keys_are_found_in_objects_of_any_size),
      cmocka_unit_test(limits_on_bytes_and_depth_hold_exactly),
      cmocka_unit_test(endless_nesting_is_refused_even_without_a_limit),
      cmocka_unit_test(more_values_than_memory_can_take_are_refused),
      cmocka_unit_test(a_container_with_many_values_is_folded_and_its_neighbours_are_not),
      cmocka_unit_test(a_folded_container_has_its_values_when_it_is_unfolded),
      cmocka_unit_test(folding_takes_no_memory_for_what_it_folds),
      cmocka_unit_test(many_containers_that_are_not_folded_are_bounded_too),
      cmocka_unit_test(what_is_folded_is_checked_as_anything_else),
      cmocka_unit_test(what_is_folded_is_no_deeper_than_anything_else),
      cmocka_unit_test(a_key_that_occurs_twice_among_many_is_found),
      cmocka_unit_test(text_cut_anywhere_is_refused),
      cmocka_unit_test(members_are_found_by_their_unescaped_key),
      cmocka_unit_test(elements_are_found_by_their_index),
      cmocka_unit_test(what_is_not_asked_for_stays_untouched),
      cmocka_unit_test(integers_are_exact_or_refused),
      cmocka_unit_test(doubles_are_the_nearest_ones),
      cmocka_unit_test(same_looks_at_values_not_at_their_writing),
      cmocka_unit_test(same_compares_large_objects_in_any_order),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
