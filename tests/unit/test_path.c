// SPDX-License-Identifier: Apache-2.0
// json/path: what queries select, what is said about wrong ones, and where they end. The RFC is in test_path_suite.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "json/path/path.h"

enum { ROOM = 1 << 16 };

static const char shop[] =
    "{\"items\":[{\"name\":\"pen\",\"price\":2.50},{\"name\":\"ink\",\"price\":12},"
    "{\"name\":\"p\\u00e4d\",\"price\":9.99,\"tags\":[\"new\"]}],\"limit\":10,\"it's\":{\"a\\nb\":1}}";

static struct json_path *compile(struct arena *a, const char *query) {
  struct fault f = {0};
  struct json_path *path = json_path_compile(a, str_of(query), &f);
  if (!path) fail_msg("%s: %s", query, f.message);
  return path;
}

// The selected values, or their paths, one in each line.
static void expect_lines(const char *document, const char *query, const char *want, bool paths) {
  struct arena a;
  struct buf out;
  struct fault f = {0};
  struct json_path_nodes nodes;
  arena_init(&a);
  buf_init(&out, ROOM);
  str root = str_of(document);
  if (!json_path_find(compile(&a, query), root, &json_path_default_limits, &a, &nodes, &f)) fail_msg("%s", f.message);
  for (size_t i = 0; i < nodes.count; i++) {
    if (i) buf_char(&out, '\n');
    if (paths) json_path_locate(&out, root, nodes.list[i].p);
    else buf_str(&out, nodes.list[i]);
  }
  if (!str_eq(buf_view(&out), str_of(want))) fail_msg("%s gives %.*s", query, STR_ARG(buf_view(&out)));
  buf_done(&out);
  arena_done(&a);
}

static void expect(const char *document, const char *query, const char *want) {
  expect_lines(document, query, want, false);
}

static void expect_fault(const char *query, enum fault_code code, const char *where, const char *says) {
  struct arena a;
  struct fault f = {0};
  arena_init(&a);
  if (json_path_compile(&a, str_of(query), &f)) fail_msg("%s is accepted", query);
  assert_int_equal(f.code, code);
  if (where) assert_string_equal(f.path, where);
  if (where && strncmp(f.message, where, strlen(where)) != 0) fail_msg("%s says \"%s\"", query, f.message);
  if (!strstr(f.message, says)) fail_msg("%s says \"%s\"", query, f.message);
  arena_done(&a);
}

static void a_query_names_what_it_wants(void **state) {
  expect(shop, "$.limit", "10");
  expect(shop, "$.items[0].name", "\"pen\"");
  expect(shop, "$['items'][-1][\"name\"]", "\"p\\u00e4d\"");
  expect(shop, "$.items[*].price", "2.50\n12\n9.99");
  expect(shop, "$..price", "2.50\n12\n9.99");
  expect(shop, "$.items[0,2].name", "\"pen\"\n\"p\\u00e4d\"");
  expect(shop, "$.nothing.here", "");
}

static void slices_go_both_ways(void **state) {
  static const char six[] = "[0,1,2,3,4,5]";
  expect(six, "$[1:5:2]", "1\n3");
  expect(six, "$[::-2]", "5\n3\n1");
  expect(six, "$[-2:]", "4\n5");
  expect(six, "$[-1:-3:-1]", "5\n4");
  expect(six, "$[9007199254740991:-9007199254740991:-9007199254740991]", "5");
  expect(six, "$[1:5:9007199254740991]", "1");
  expect(six, "$[-6,-1,-7]", "0\n5");
  expect("[0,1]", "$[::0]", "");
  expect("[]", "$[::-1]", "");
}

static void a_filter_compares_with_literals_and_with_the_document(void **state) {
  expect(shop, "$.items[?@.price<10].name", "\"pen\"\n\"p\\u00e4d\"");
  expect(shop, "$.items[?@.price>$.limit].name", "\"ink\"");
  expect(shop, "$.items[?@.tags].name", "\"p\\u00e4d\"");
  expect(shop, "$.items[?!@.tags && @.price!=12].name", "\"pen\"");
  expect(shop,
         "$.items[?(@.name=='ink' || @.name=='p\xc3\xa4"
         "d')].price",
         "12\n9.99");
  expect(shop, "$.items[?@.name>'p'].name", "\"pen\"\n\"p\\u00e4d\"");
}

// Where a value ends is learned from how far the filter came into it, or beyond.
static void names_inside_each_other_lead_to_members_of_members(void **state) {
  static const char rows[] = "[{\"a\":{\"x\":[1],\"b\":{\"c\":3,\"z\":\"}]\"},\"y\":{}},\"id\":1},"
                             "{\"a\":{\"b\":{\"d\":3}},\"t\":\"]\",\"id\":2},"
                             "{\"a\":[3],\"id\":3},{\"id\":4},{\"a\":{\"b\":{\"c\":[3]},\"q\":[[]]},\"id\":5},7,"
                             "[{\"a\":0}],{\"a\":{\"b\":\"c\"},\"id\":6},"
                             "{\"id\":7,\"a\":{\"b\":{\"z\":\"\",\"c\":3.0}}}]";
  expect(rows, "$[?@.a.b.c==3].id", "1\n7");
  expect(rows, "$[?@.a.b.c].id", "1\n5\n7");
  expect(rows, "$[?@.a.b.c!=3 && @.id>1].id", "2\n3\n4\n5\n6");
  expect(rows, "$[?@.a.b==@.a.b && @.a.b].id", "1\n2\n5\n6\n7");
  expect(rows, "$[?@.id<9 && !@.a.b].id", "3\n4");
  expect(rows, "$[?count(@.a.b.*)==2].id", "1\n7");
}

static void numbers_are_compared_exactly(void **state) {
  expect("[9007199254740993,9007199254740992]", "$[?@>9007199254740992]", "9007199254740993");
  expect("[1,1.0,10e-1,2]", "$[?@==1]", "1\n1.0\n10e-1");
  expect("[-1,0,1,-0.5]", "$[?@<0]", "-1\n-0.5");
  expect("[0.001,1e-3,0.0011,1e400]", "$[?@<=0.001]", "0.001\n1e-3");
  expect("[-20,-3,-1e2]", "$[?@<-3]", "-20\n-1e2");
  expect("[1e400]", "$[?@>1e399]", "1e400");
}

static void strings_are_compared_by_their_characters(void **state) {
  expect("[\"\\u0061\",\"b\",\"\\ud83d\\ude00\"]", "$[?@<='a']", "\"\\u0061\"");
  expect("[\"\\u0061\",\"b\",\"\\ud83d\\ude00\"]", "$[?@>'\xef\xbf\xbd']", "\"\\ud83d\\ude00\"");
  expect("[\"a\",\"ab\",\"\\u0061\\u0062c\"]", "$[?@>'ab']", "\"\\u0061\\u0062c\"");
}

static void functions_measure_and_match(void **state) {
  expect(shop, "$.items[?length(@.name)==3].name", "\"pen\"\n\"ink\"\n\"p\\u00e4d\"");
  expect(shop, "$[?count(@.*)==3]",
         "[{\"name\":\"pen\",\"price\":2.50},{\"name\":\"ink\",\"price\":12},"
         "{\"name\":\"p\\u00e4d\",\"price\":9.99,\"tags\":[\"new\"]}]");
  expect(shop, "$.items[?match(@.name,'p..')].price", "2.50\n9.99");
  expect(shop, "$.items[?search(@.name,'[n\xc3\xa4]')].price", "2.50\n12\n9.99");
  expect(shop, "$.items[?value(@.tags[*])=='new'].price", "9.99");
  expect(shop, "$.items[?search(@.name,'\\u00e4d')].price", "9.99");
  expect("[\"\",\"a\"]", "$[?search(@,'')]", "\"\"\n\"a\"");
  expect("{\"p\":\"^a+$\",\"v\":[\"aa\",\"ba\"]}", "$.v[?search(@,$.p)]", "\"aa\"");
}

static void patterns_are_those_of_i_regexp(void **state) {
  expect("[\"a-b\",\"a.b\",\"axb\"]", "$[?match(@,'a[-.]b')]", "\"a-b\"\n\"a.b\"");
  expect("[\"aaa\",\"aa\",\"a\"]", "$[?match(@,'a{2,3}')]", "\"aaa\"\n\"aa\"");
  expect("[\"aaa\",\"aa\",\"a\"]", "$[?match(@,'a{2,}')]", "\"aaa\"\n\"aa\"");
  expect("[\"abab\",\"ab\"]", "$[?match(@,'(ab|c){2,}')]", "\"abab\"");
  expect("[\"a\",\"\"]", "$[?match(@,'b{0,}[ab]+')]", "\"a\"");
  expect("[\"2024-01\",\"x\"]", "$[?match(@,'[0-9]{4}-[0-9]+')]", "\"2024-01\"");
  expect("[\"ab\",\"abab\",\"aba\"]", "$[?match(@,'(ab)+')]", "\"ab\"\n\"abab\"");
  expect("[\"a\",\"\",\"c\"]", "$[?match(@,'a|b?')]", "\"a\"\n\"\"");
  expect("[\"x\\ny\"]", "$[?search(@,'x\\\\ny')]", "\"x\\ny\"");
  expect("[\"\\u0000\"]", "$[?match(@,'\\u0000')]", "\"\\u0000\"");
  expect("[\"]\",\"^\"]", "$[?match(@,'[\\\\]^]')]", "\"]\"\n\"^\"");
}

// Other dialects give them meanings that differ from engine to engine.
static void a_pattern_that_is_no_i_regexp_matches_nothing_and_gives_a_hint(void **state) {
  static const char *const odd[] = {"\\\\d",       "a**",    "(?=a)", "(a",    "a)",        "[b-a]",
                                    "[]",          "a{2,1}", "a{,2}", "\\\\1", "\\\\p{Xx}", "\\\\p{",
                                    "[[:alpha:]]", "a++",    "(?i)a", "\\\\",  "[a-",       "{1}"};
  struct arena a;
  arena_init(&a);
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    const char *query = arena_printf(&a, "$[?search(@,'%s')]", odd[i]).p;
    expect("[\"a\",\"1\",\"\",\"aa\",\"[\"]", query, "");
    str hint = json_path_hint(compile(&a, query));
    if (!str_starts(hint, STR("column 4: "))) fail_msg("%s: \"%.*s\"", query, STR_ARG(hint));
  }
  assert_int_equal(json_path_hint(compile(&a, "$[?match(@.a,'a')]")).n, 0);
  arena_done(&a);
}

static void every_node_has_a_normalized_path(void **state) {
  expect_lines(shop, "$..*",
               "$['items']\n$['limit']\n$['it\\'s']\n$['items'][0]\n$['items'][1]\n$['items'][2]\n"
               "$['items'][0]['name']\n$['items'][0]['price']\n$['items'][1]['name']\n"
               "$['items'][1]['price']\n$['items'][2]['name']\n$['items'][2]['price']\n"
               "$['items'][2]['tags']\n$['items'][2]['tags'][0]\n$['it\\'s']['a\\nb']",
               true);
  expect_lines("{\"\\u0001\\\"\\\\\":{\"\":[[0]]}}", "$..[0]",
               "$['\\u0001\"\\\\'][''][0]\n$['\\u0001\"\\\\'][''][0][0]", true);
  expect_lines("[1]", "$", "$", true);
}

static void an_error_says_the_column_and_what_is_wrong(void **state) {
  expect_fault("", FAULT_INVALID, "column 1", "start of the query, but the query ends");
  expect_fault("items", FAULT_INVALID, "column 1", "start of the query, not 'i'");
  expect_fault("$ ", FAULT_INVALID, "column 2", "expected '.', '..' or '[', not ' '");
  expect_fault("$.items[", FAULT_INVALID, "column 9", "but the query ends");
  expect_fault("$.items[0", FAULT_INVALID, "column 10", "expected ',' or ']'");
  expect_fault("$.", FAULT_INVALID, "column 3", "a name or '*'");
  expect_fault("$...a", FAULT_INVALID, "column 4", "after '..', not '.'");
  expect_fault("$['\xc3\xa4\xc3\xa4' x]", FAULT_INVALID, "column 8", "not 'x'");
  expect_fault("$['abc]", FAULT_INVALID, "column 3", "no closing quote");
  expect_fault("$['\\x']", FAULT_INVALID, "column 4", "unknown escape");
  expect_fault("$['\\ud800']", FAULT_INVALID, "column 4", "surrogate");
  expect_fault("$[01]", FAULT_INVALID, "column 3", "leading zeros");
  expect_fault("$[9007199254740992]", FAULT_INVALID, "column 3", "exceeds");
  expect_fault("$[99999999999999999999999999]", FAULT_INVALID, "column 3", "exceeds");
  expect_fault("\xff", FAULT_INVALID, "column 1", "UTF-8");
}

static void an_error_in_a_filter_says_what_may_stand_there(void **state) {
  expect_fault("$[?@.a==]", FAULT_INVALID, "column 9", "or a function, not ']'");
  expect_fault("$[?@.a=1]", FAULT_INVALID, "column 7", "not '='");
  expect_fault("$[?1]", FAULT_INVALID, "column 4", "a literal is not a condition");
  expect_fault("$[?@.*==1]", FAULT_INVALID, "column 4", "single node");
  expect_fault("$[?length(@.*)==1]", FAULT_INVALID, "column 11", "single node");
  expect_fault("$[?count('a')==1]", FAULT_INVALID, "column 10", "must be a query");
  expect_fault("$[?length(@.a)]", FAULT_INVALID, "column 4", "is not a condition");
  expect_fault("$[?match(@.a,'a')==true]", FAULT_INVALID, "column 4", "cannot be compared");
  expect_fault("$[?match(@.a)]", FAULT_INVALID, "column 13", "one more argument");
  expect_fault("$[?size(@.a)==1]", FAULT_INVALID, "column 4", "unknown function");
  expect_fault("$[?@.a==nul]", FAULT_INVALID, "column 9", "unknown word");
  expect_fault("$[?@.a==1.]", FAULT_INVALID, "column 9", "not valid in JSON");
  expect_fault("$[?(@.a]", FAULT_INVALID, "column 8", "expected ')'");
  expect_fault("$[?!@.a==1]", FAULT_INVALID, "column 8", "',' or ']'");
}

static void a_query_has_a_greatest_length_and_depth(void **state) {
  struct buf query;
  buf_init(&query, ROOM);
  buf_char(&query, '$');
  for (int i = 0; i < JSON_PATH_LENGTH_MAX / 2; i++) buf_str(&query, STR(".a"));
  buf_char(&query, 0);
  expect_fault(query.p, FAULT_LIMIT, NULL, "4097 bytes");
  buf_reset(&query);
  buf_str(&query, STR("$[?"));
  for (int i = 0; i < JSON_PATH_DEPTH_MAX; i++) buf_char(&query, '(');
  buf_char(&query, 0);
  expect_fault(query.p, FAULT_LIMIT, "column 36", "levels deep");
  buf_reset(&query);
  for (int i = 0; i <= JSON_PATH_DEPTH_MAX; i++) buf_str(&query, i ? STR("@[?") : STR("$[?"));
  buf_char(&query, 0);
  expect_fault(query.p, FAULT_LIMIT, "column 100", "levels deep");
  buf_done(&query);
}

static void a_regular_expression_has_a_greatest_size(void **state) {
  expect_fault("$[?match(@,'((a{100}){100}){100}')]", FAULT_LIMIT, "column 4", "too large");
  expect_fault("$[?match(@,'a{99999999999999999999}')]", FAULT_LIMIT, "column 4", "too large");
  expect_fault("$[?match(@,'((((((((((((((((((((((((((((((((((a))))))))))))))))))))))))))))))))))')]", FAULT_LIMIT,
               "column 4", "too large");
}

// ---- runs ----

// An array of n times the element.
static str repeated(struct arena *a, size_t n, str element) {
  struct buf text;
  buf_init(&text, 64 << 20);
  buf_char(&text, '[');
  for (size_t i = 0; i < n; i++) {
    if (i) buf_char(&text, ',');
    buf_str(&text, element);
  }
  buf_char(&text, ']');
  str copy = arena_str(a, buf_view(&text));
  buf_done(&text);
  return copy;
}

static void expect_limit(str root, const char *query, const struct json_path_limits *limits, const char *says) {
  struct arena a;
  struct fault f = {0};
  struct json_path_nodes nodes = {.count = 77};
  arena_init(&a);
  if (json_path_find(compile(&a, query), root, limits, &a, &nodes, &f)) fail_msg("%s ends", query);
  assert_int_equal(f.code, FAULT_LIMIT);
  assert_int_equal(nodes.count, 77);
  if (!strstr(f.message, says)) fail_msg("%s says \"%s\"", query, f.message);
  assert_true(a.total < 8 << 20);
  arena_done(&a);
}

static void a_query_that_explodes_ends_at_its_steps(void **state) {
  static const char *const hostile[] = {
      "$..*..*..*..*..*",
      "$..[?count(@..*)>1000000]..[?count($..*)>1]",
      "$[*,*,*,*][*,*,*,*]..[*,*,*,*]..[?@]",
      "$[?$[?$[?$[?$..a]]]]",
      "$[?$[4999]=='']",
      "$[?$[::-1]]..[?$[::-1][?@==$]]",
      "$[?$[0]==$[4000]&&$==$]",
      "$[?search($[0][0],$[0][1])||match($[1][0],$[1][1])]",
  };
  static const struct json_path_limits limits = {.max_steps = 200000, .max_nodes = 100000};
  struct arena a;
  arena_init(&a);
  str root = repeated(&a, 5000, STR("[\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"(a*)*b\",[[[[1]]]]]"));
  for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++)
    expect_limit(root, hostile[i], &limits, "too many steps");
  arena_done(&a);
}

// Twenty objects in each other around a long string: whoever passes over the innermost passes over 100 steps of bytes.
static void what_is_skipped_is_counted(void **state) {
  static const char *const hostile[] = {
      "$..*..*", "$..*[*]", "$..[?@..*]", "$..a..a", "$..[?@.*]", "$..[?count(@.*)==2]", "$..*",
  };
  static const struct json_path_limits limits = {.max_steps = 1800, .max_nodes = 100000};
  struct buf text;
  struct json_path_nodes nodes;
  struct fault f = {0};
  struct arena a;
  arena_init(&a);
  buf_init(&text, ROOM);
  for (size_t i = 0; i < 20; i++) buf_str(&text, STR("{\"a\":"));
  buf_char(&text, '"');
  for (size_t i = 0; i < 6400; i++) buf_char(&text, 'x');
  buf_char(&text, '"');
  for (size_t i = 0; i < 20; i++) buf_char(&text, '}');
  for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++)
    expect_limit(buf_view(&text), hostile[i], &limits, "too many steps");
  assert_true(json_path_find(compile(&a, "$.a.a.a"), buf_view(&text), &limits, &a, &nodes, &f));
  buf_done(&text);
  arena_done(&a);
}

// What is looked for in each of many values is looked for in the text once.
static void a_search_in_every_row_takes_few_steps(void **state) {
  enum { COUNT = 3000 };
  static const char *const queries[] = {
      "$[*]..nothing",     "$[?@..nothing]",  "$[?match(@.text,'x.*needle.*')]", "$[?search(@.text,'needles?[0-9]')]",
      "$..[?@.nothing<1]", "$..['no','none']"};
  struct json_path_limits limits = {.max_steps = 20 * COUNT, .max_nodes = 100};
  struct json_path_nodes nodes;
  struct fault f = {0};
  struct arena a;
  struct buf text;
  arena_init(&a);
  buf_init(&text, 1 << 20);
  buf_char(&text, '[');
  for (int i = 0; i < COUNT; i++)
    buf_printf(&text, "%s{\"text\":\"a text that nothing matches, row %d of them\",\"list\":[1,2]}", i ? "," : "", i);
  buf_char(&text, ']');
  for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
    if (!json_path_find(compile(&a, queries[i]), buf_view(&text), &limits, &a, &nodes, &f))
      fail_msg("%s: %s", queries[i], f.message);
    assert_int_equal(nodes.count, 0);
  }
  buf_done(&text);
  arena_done(&a);
}

// Patterns are tried only on texts that hold what all matches have in common: that must be in all of them.
static void a_pattern_matches_whatever_is_fixed_in_it(void **state) {
  static const char list[] = "[\"abc\",\"ac\",\"abbbc\",\"xabcx\",\"b\",\"\\u0061bc\",\"a.c\",\"\\u00e4bc\",\"\"]";
  expect(list, "$[?match(@,'ab?c')]", "\"abc\"\n\"ac\"\n\"\\u0061bc\"");
  expect(list, "$[?match(@,'ab*c')]", "\"abc\"\n\"ac\"\n\"abbbc\"\n\"\\u0061bc\"");
  expect(list, "$[?match(@,'ab+c')]", "\"abc\"\n\"abbbc\"\n\"\\u0061bc\"");
  expect(list, "$[?match(@,'ab{3}c')]", "\"abbbc\"");
  expect(list, "$[?match(@,'ab{0,1}c')]", "\"abc\"\n\"ac\"\n\"\\u0061bc\"");
  expect(list, "$[?match(@,'ac|b')]", "\"ac\"\n\"b\"");
  expect(list, "$[?match(@,'a(bc|c)')]", "\"abc\"\n\"ac\"\n\"\\u0061bc\"");
  expect(list, "$[?match(@,'a\\\\.c')]", "\"a.c\"");
  expect(list, "$[?match(@,'.bc')]", "\"abc\"\n\"\\u0061bc\"\n\"\\u00e4bc\"");
  expect(list,
         "$[?match(@,'\xc3\xa4"
         "b.')]",
         "\"\\u00e4bc\"");
  expect(list, "$[?search(@,'(x|y)a.c')]", "\"xabcx\"");
  expect(list, "$[?match(@,'(abc)?')]", "\"abc\"\n\"\\u0061bc\"\n\"\"");
}

static void a_small_text_takes_fewer_steps(void **state) {
  assert_int_equal(json_path_limits_for(0).max_steps, 3000000);
  assert_int_equal(json_path_limits_for(4000000).max_steps, 4000000);
  assert_int_equal(json_path_limits_for(1 << 30).max_steps, json_path_default_limits.max_steps);
}

static void a_query_ends_at_its_greatest_number_of_nodes(void **state) {
  struct json_path_limits limits = {.max_steps = 1000000, .max_nodes = 100};
  struct arena a;
  struct json_path_nodes nodes;
  struct fault f = {0};
  arena_init(&a);
  expect_limit(repeated(&a, 101, STR("1")), "$[*]", &limits, "more than 100 values");
  assert_true(json_path_find(compile(&a, "$[*]"), repeated(&a, 100, STR("1")), &limits, &a, &nodes, &f));
  assert_int_equal(nodes.count, 100);
  arena_done(&a);
}

static void filters_inside_filters_do_not_use_up_the_stack(void **state) {
  struct arena a;
  struct buf text;
  arena_init(&a);
  buf_init(&text, ROOM);
  for (int i = 0; i < 1000; i++) buf_char(&text, '[');
  for (int i = 0; i < 1000; i++) buf_char(&text, ']');
  str root = buf_view(&text);
  // Each filter begins again at the root, down below in the one around it.
  expect_limit(root, "$..[?$..[?$..[?$..[?$..[?$..[?$..[?$..a]]]]]]]", &json_path_default_limits, "too");
  expect_limit(root, "$..[?count(@..*)==0 && $..[?count(@..*)==0 && $..[?count(@..*)==0 && $..[?@.a]]]]",
               &json_path_default_limits, "too");
  buf_done(&text);
  arena_done(&a);
}

static void a_search_takes_time_by_the_length_of_the_text_only(void **state) {
  static const char *const patterns[] = {"(a*)*b",  "(a|a)*b", "[^b]*(b|c)", "a*a*a*a*a*b", "(a+)+$b",
                                         ".*.*.*b", "[ab]+c",  "[ab]{3,}c",  "(.+)+c",      "((ab?){2,})+c"};
  struct arena a;
  arena_init(&a);
  char *text = arena_alloc(&a, 200002);
  memset(text, 'a', 200002);
  text[0] = text[200001] = '"';
  str root = repeated(&a, 1, (str){text, 200002});
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
    struct json_path_nodes nodes;
    struct fault f = {0};
    str query = arena_printf(&a, "$[?search(@,'%s')]", patterns[i]);
    struct json_path *path = compile(&a, query.p);
    if (!json_path_find(path, root, &json_path_default_limits, &a, &nodes, &f)) fail_msg("%s: %s", query.p, f.message);
    assert_int_equal(nodes.count, 0);
    assert_int_equal(json_path_hint(path).n, 0);
  }
  arena_done(&a);
}

static void a_pattern_of_the_document_is_bounded_as_well(void **state) {
  struct arena a;
  arena_init(&a);
  str root = STR("[{\"v\":\"a\",\"p\":\"((a{100}){100}){100}\"}]");
  expect_limit(root, "$[?match(@.v,@.p)]", &json_path_default_limits, "too large");
  root = repeated(&a, 20000, STR("{\"v\":\"a\",\"p\":\"a\"},{\"v\":\"b\",\"p\":\"[ab]|c\"}"));
  struct json_path_nodes nodes;
  struct fault f = {0};
  struct arena scratch;
  arena_init(&scratch);
  struct json_path *path = compile(&a, "$[?match(@.v,@.p)]");
  assert_true(json_path_find(path, root, &json_path_default_limits, &scratch, &nodes, &f));
  assert_int_equal(nodes.count, 40000);
  assert_true(scratch.total < 4 << 20);  // the list, and no pattern that is not needed any more
  arena_done(&scratch);
  arena_done(&a);
}

static bool stop_at_third(void *ctx, const char *value, const char **out_after) {
  return ++*(int *)ctx < 3;
}

static void a_visitor_ends_a_run_when_it_has_enough(void **state) {
  struct arena a;
  struct fault f = {0};
  int seen = 0;
  arena_init(&a);
  str root = repeated(&a, 1000, STR("1"));
  struct json_path_limits few = {.max_steps = 100};
  assert_true(json_path_each(compile(&a, "$[*]"), root, &few, &a, stop_at_third, &seen, &f));
  assert_int_equal(seen, 3);
  arena_done(&a);
}

static void expect_invalid(const char *text, const char *query, const char *where) {
  struct arena a;
  struct fault f = {0};
  struct json_path_nodes nodes;
  arena_init(&a);
  if (json_path_find(compile(&a, query), str_of(text), &json_path_default_limits, &a, &nodes, &f))
    fail_msg("%s finds something in %s", query, text);
  assert_int_equal(f.code, FAULT_INVALID);
  assert_string_equal(f.path, where);
  arena_done(&a);
}

static void a_text_that_is_no_json_is_told_where_a_run_comes_to_it(void **state) {
  expect_invalid("", "$", "line 1, column 1");
  expect_invalid("12 monkeys", "$", "line 1, column 4");
  expect_invalid("[1,\n 2", "$[*]", "line 2, column 3");
  expect_invalid("[{\"a\":1},{\"a\" 2}]", "$[*].a", "line 1, column 15");
  expect_invalid("[\"\\ud800\"]", "$[?@=='a']", "line 1, column 3");
  expect_invalid("[01]", "$[?@>0]", "line 1, column 2");
  expect_invalid("[[1,,2],[1]]", "$[?@==$[1]]", "line 1, column 4");
  expect("[{\"a\":1}, never read", "$[0].a", "1");
}

// What the end of a value is told by differs with the way through it; what is found does not.
static void results_are_the_same_wherever_a_member_stands(void **state) {
  static const char *const documents[] = {
      "[{\"a\":1,\"b\":{\"a\":[2,{\"a\":3}]}},{\"b\":[],\"a\":{\"x\":4}}]",
      "[ {\"a\" : 1 , \"b\" : {\"a\" : [2, {\"a\" : 3} ]} } , { \"b\" : [ ] , \"a\" : {\"x\" : 4} } ]"};
  for (size_t i = 0; i < 2; i++) {
    expect(documents[i], "$..x", "4");
    expect(documents[i], "$[?@.a==1].b.a[0]", "2");
    expect(documents[i], "$[?@.b.a].a", "1");
    expect(documents[i], "$[*]..a..a[0]", "");
    expect(documents[i], "$..a[?@.a].a", "3");
    expect(documents[i], "$[?@.a.x==4 || @.zz].a.x", "4");
    expect(documents[i], "$[-1,0].a.x", "4");
  }
}

static void a_name_is_found_below_however_it_is_written(void **state) {
  expect("{\"a\":{\"n\\u0061me\":1},\"name\":2,\"z\":[{\"name\":3},[{\"x\":{\"name\":4}}]],\"n\":\"name\"}", "$..name",
         "2\n1\n3\n4");
  expect("{\"a/b\":1,\"c\":{\"a\\/b\":2}}", "$..['a/b']", "1\n2");
  expect("{\"a\":[\"name\"],\"b\":{\"c\":\"\\\"name\\\"\"}}", "$..name", "");
}

// More than are remembered on the way.
static void many_that_hold_a_name_are_all_gone_down_into(void **state) {
  struct buf text, want;
  buf_init(&text, ROOM);
  buf_init(&want, ROOM);
  buf_char(&text, '{');
  for (int i = 0; i < 100; i++) {
    buf_printf(&text, "%s\"k%d\":%s\"n\":%d}%s", i ? "," : "", i, i % 2 ? "[{" : "{", i, i % 2 ? "]" : "");
    buf_printf(&want, "%s%d", i ? "\n" : "", i);
  }
  buf_str(&text, STR("}"));
  buf_char(&text, 0);
  buf_char(&want, 0);
  expect(text.p, "$..n", want.p);
  buf_done(&want);
  buf_done(&text);
}

static void long_arrays_are_sliced_backwards(void **state) {
  struct buf text, want;
  buf_init(&text, ROOM);
  buf_init(&want, ROOM);
  for (int i = 0; i < 5000; i++) buf_printf(&text, "%c%d", i ? ',' : '[', i);
  buf_str(&text, STR("]"));
  buf_char(&text, 0);
  for (int i = 4990; i > 100; i -= 97) buf_printf(&want, "%s%d", i == 4990 ? "" : "\n", i);
  buf_char(&want, 0);
  expect(text.p, "$[4990:100:-97]", want.p);
  expect(text.p, "$[-64,-65,-5000,-5001]", "4936\n4935\n0");
  buf_done(&want);
  buf_done(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_query_names_what_it_wants),
      cmocka_unit_test(slices_go_both_ways),
      cmocka_unit_test(a_filter_compares_with_literals_and_with_the_document),
      cmocka_unit_test(names_inside_each_other_lead_to_members_of_members),
      cmocka_unit_test(numbers_are_compared_exactly),
      cmocka_unit_test(strings_are_compared_by_their_characters),
      cmocka_unit_test(functions_measure_and_match),
      cmocka_unit_test(patterns_are_those_of_i_regexp),
      cmocka_unit_test(a_pattern_that_is_no_i_regexp_matches_nothing_and_gives_a_hint),
      cmocka_unit_test(every_node_has_a_normalized_path),
      cmocka_unit_test(an_error_says_the_column_and_what_is_wrong),
      cmocka_unit_test(an_error_in_a_filter_says_what_may_stand_there),
      cmocka_unit_test(a_query_has_a_greatest_length_and_depth),
      cmocka_unit_test(a_regular_expression_has_a_greatest_size),
      cmocka_unit_test(a_query_that_explodes_ends_at_its_steps),
      cmocka_unit_test(what_is_skipped_is_counted),
      cmocka_unit_test(a_search_in_every_row_takes_few_steps),
      cmocka_unit_test(a_pattern_matches_whatever_is_fixed_in_it),
      cmocka_unit_test(a_small_text_takes_fewer_steps),
      cmocka_unit_test(a_query_ends_at_its_greatest_number_of_nodes),
      cmocka_unit_test(filters_inside_filters_do_not_use_up_the_stack),
      cmocka_unit_test(a_search_takes_time_by_the_length_of_the_text_only),
      cmocka_unit_test(a_pattern_of_the_document_is_bounded_as_well),
      cmocka_unit_test(a_visitor_ends_a_run_when_it_has_enough),
      cmocka_unit_test(a_text_that_is_no_json_is_told_where_a_run_comes_to_it),
      cmocka_unit_test(results_are_the_same_wherever_a_member_stands),
      cmocka_unit_test(a_name_is_found_below_however_it_is_written),
      cmocka_unit_test(many_that_hold_a_name_are_all_gone_down_into),
      cmocka_unit_test(long_arrays_are_sliced_backwards),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
