// SPDX-License-Identifier: Apache-2.0
// catalog/card, text/oneline: what an agent is shown of an item.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "catalog/directory/card.h"
#include "catalog/naming/identify.h"
#include "text/oneline.h"
#include "text/tokens.h"

static int setup(void **state) {
  struct arena *a = malloc(sizeof *a);
  arena_init(a);
  *state = a;
  return 0;
}

static int teardown(void **state) {
  arena_done(*state);
  free(*state);
  return 0;
}

static void assert_str(str got, const char *want) {
  if (!str_eq(got, str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(got), want);
}

static str repeat(struct arena *a, const char *text, size_t times) {
  size_t n = strlen(text);
  char *p = arena_alloc(a, n * times + 1);
  for (size_t i = 0; i < times; i++) memcpy(p + i * n, text, n);
  p[n * times] = 0;
  return (str){p, n * times};
}

static struct card make(struct arena *a, const struct card_source *s) {
  struct card c;
  struct fault f;
  if (!card_make(s, a, &c, NULL, &f)) fail_msg("%s", f.message);
  assert_true(card_tokens(&c) <= CARD_HARD);
  return c;
}

static void assert_line(const struct card *c, const char *want) {
  struct buf b;
  buf_init(&b, 100000);
  card_render(c, 1, 1, &b);
  assert_str(buf_view(&b), want);
  buf_done(&b);
}

static void a_text_is_put_on_one_line_without_what_is_not_seen(void **state) {
  static const char *const cases[][2] = {
      {"line one\nline\ttwo\x1b  three", "line one line two three"},
      {"  a  ", "a"},
      {"a", "a"},
      {"", ""},
      {" \n\t ", ""},
      {"a b", "a b"},
      {"a\u202eb\u200bc\u2066d\ufeff", "abcd"},
      {"a\u00a0\u3000b\u2028c\xc2\x85"
       "d",
       "a b c d"},
      {"x\U000e0041\U000e0042y\ufe0f", "xy"},
      {"a \u200b b", "a b"},
      {"\u2764\ufe0f\u200d\U0001f525\nfire", "\u2764\ufe0f\u200d\U0001f525 fire"},
      {"naïve 日本", "naïve 日本"},
      {"\u200b", ""},
      {"a\x7f\x01", "a"},
      {"\x1b[31mred\x1b[0m\x1b]0;title\x07 rose", "red rose"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_str(oneline(*state, str_of(cases[i][0])), cases[i][1]);
  assert_str(oneline(*state, STR("a\0b")), "a b");
  str same = STR("already fine");
  assert_ptr_equal(oneline(*state, same).p, same.p);
}

static void assert_cut(struct arena *a, str text, size_t max, const char *want) {
  str got = card_truncate(a, text, max);
  if (!str_eq(got, str_of(want))) fail_msg("%zu: '%.*s' instead of '%s'", max, STR_ARG(got), want);
  assert_true(tokens_count(got) <= max);
}

#define SENTENCE_1 "Search the repository for issues matching a query."
#define SENTENCE_2 " Supports advanced qualifiers such as label:, author:, is:open and more!"
#define SENTENCE_3 " Returns up to 100 results per page, sorted by relevance?"

static void a_description_is_cut_at_the_end_of_a_sentence(void **state) {
  str t = repeat(*state, SENTENCE_1 SENTENCE_2 SENTENCE_3 " ", 3);
  assert_cut(*state, t, 0, "");
  assert_cut(*state, t, 5, "Search the repository for…");
  for (size_t max = 10; max <= 20; max++) assert_cut(*state, t, max, SENTENCE_1);
  assert_cut(*state, t, 30, SENTENCE_1 SENTENCE_2);
  assert_cut(*state, t, 40, SENTENCE_1 SENTENCE_2 SENTENCE_3);
  assert_cut(*state, t, 60, SENTENCE_1 SENTENCE_2 SENTENCE_3 " " SENTENCE_1);
  assert_int_equal(tokens_count(card_truncate(*state, t, 60)), 46);
  assert_cut(*state, STR("First sentence. Second sentence. Third sentence that is much longer than the rest."), 10,
             "First sentence. Second sentence.");
  assert_cut(*state, STR("It fits."), 10, "It fits.");
}

static void a_description_without_sentences_is_cut_with_an_ellipsis(void **state) {
  str t = repeat(*state, "supercalifragilistic ", 30);
  assert_cut(*state, t, 1, "…");
  assert_cut(*state, t, 2, "super…");
  assert_cut(*state, t, 5, "supercalifr…");
  assert_cut(*state, t, 10, "supercalifragilistic supercal…");
  assert_cut(*state, repeat(*state, "x", 800), 5, "xxxxxxxxxxxxxxxxxxxxxxxxxxxx…");
  assert_cut(*state, STR("日本語のテキストがここにあります。もっと長い文章です。さらに続きます。"), 8, "日本語のテキ…");
  assert_cut(*state, STR("see v1.2.3 of there.World and so on and on"), 6, "see v1.2…");
}

static void a_description_of_a_megabyte_is_cut_at_once(void **state) {
  static const char *const kinds[] = {"x", "word ", ". ", "Sentence. ", "日", " ", "!?.", "🙂 "};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    str t = repeat(*state, kinds[i], (1 << 20) / strlen(kinds[i]));
    str got = card_truncate(*state, t, 40);
    assert_true(got.n > 0 && tokens_count(got) <= 40);
  }
  str t = repeat(*state, "Sentence. ", 100000);
  str got = card_truncate(*state, t, 40);
  assert_int_equal(got.n, 199);
}

static const str usual_tags[] = {STR("read-only"), STR("mcp")};

static struct card_source issue(void) {
  return (struct card_source){.id = STR("github:create_issue@1.4.0"),
                              .name = STR("github.create_issue"),
                              .description = STR("Create an issue in a GitHub repository."),
                              .tags = usual_tags,
                              .tag_count = 2,
                              .namespace = STR("github"),
                              .side_effects = true};
}

static void a_card_is_one_line_without_its_score(void **state) {
  struct card_source s = issue();
  struct card c = make(*state, &s);
  c.has_score = true;
  c.score = 0.8234;
  const char *line =
      "[1/1] github:create_issue@1.4.0 (tool, side effects) — Create an issue in a GitHub repository. [mcp, read-only]";
  assert_line(&c, line);
  assert_int_equal(card_tokens(&c), tokens_count(str_of(line)));
  assert_int_equal(tokens_count(arena_printf(*state, "%s score=0.82", line)), 41);
  s.tag_count = 0;
  c = make(*state, &s);
  assert_line(&c, "[1/1] github:create_issue@1.4.0 (tool, side effects) — Create an issue in a GitHub repository.");
  s.cost_hint = 2.5;
  s.side_effects = false;
  c = make(*state, &s);
  assert_line(&c, "[1/1] github:create_issue@1.4.0 (tool, cost 2.5) — Create an issue in a GitHub repository.");
}

static void a_card_is_json_in_a_fixed_order_without_empty_members(void **state) {
  struct card_source s = issue();
  struct card c = make(*state, &s);
  struct buf b;
  buf_init(&b, 10000);
  struct json_writer w = json_writer(&b);
  const char *start =
      "{\"id\":\"github:create_issue@1.4.0\",\"name\":\"github.create_issue\",\"description\":\"Create an "
      "issue in a GitHub repository.\",\"tags\":[\"mcp\",\"read-only\"],\"kind\":\"tool\",\"namespace\":"
      "\"github\",\"side_effects\":true,\"safety\":\"read_only\"";
  card_write(&w, &c);
  assert_str(buf_view(&b), arena_printf(*state, "%s}", start).p);
  buf_reset(&b);
  c.has_score = true;
  c.score = 0.8234;
  w = json_writer(&b);
  card_write(&w, &c);
  assert_str(buf_view(&b), arena_printf(*state, "%s,\"score\":0.823}", start).p);
  buf_done(&b);
}

static void assert_tags(struct arena *a, const char *const *tags, size_t n, const char *want, enum card_safety safety) {
  str list[32];
  for (size_t i = 0; i < n; i++) list[i] = str_of(tags[i]);
  struct card_source s = {.id = STR("a:b@1"), .description = STR("x"), .tags = list, .tag_count = n};
  struct card c = make(a, &s);
  struct buf b;
  buf_init(&b, 1000);
  for (size_t i = 0; i < c.tag_count; i++) buf_printf(&b, "%s%.*s", i ? "," : "", STR_ARG(c.tags[i]));
  assert_str(buf_view(&b), want);
  assert_int_equal(c.safety, safety);
  buf_done(&b);
}

#define ASSERT_TAGS(a, want, safety, ...) \
  do { \
    static const char *const tags[] = {__VA_ARGS__}; \
    assert_tags(a, tags, sizeof tags / sizeof *tags, want, safety); \
  } while (0)

static void tags_that_tell_the_safety_are_never_pushed_out(void **state) {
  ASSERT_TAGS(*state, "alpha,beta,delta,destructive,epsilon", CARD_DESTRUCTIVE, "zeta", "alpha", "beta", "gamma",
              "delta", "epsilon", "destructive");
  ASSERT_TAGS(*state, "Read-Only,a,b,c,destructive", CARD_DESTRUCTIVE, "a", "b", "c", "d", "e", "f", "Read-Only",
              "destructive");
  ASSERT_TAGS(*state, "aaa,bbb,ccc,ddd,destructive", CARD_DESTRUCTIVE, "aaa", "bbb", "ccc", "ddd", "eee",
              "destructive");
  ASSERT_TAGS(*state, "read_only", CARD_READ_ONLY, "read_only");
  ASSERT_TAGS(*state, "read-only", CARD_READ_ONLY, "read-only");
  ASSERT_TAGS(*state, "a,b", CARD_UNKNOWN, "b", "a", "b", "", "\n");
}

static void names_and_tags_are_cut_by_characters(void **state) {
  str tag = repeat(*state, "é", 100);
  struct card_source s = {.id = STR("a:b@1"), .name = repeat(*state, "日", 200), .tags = &tag, .tag_count = 1};
  struct card c = make(*state, &s);
  assert_int_equal(c.name.n, 64 * 3);
  assert_int_equal(c.tags[0].n, 24 * 2);
}

static void safety_that_the_source_states_has_its_tag(void **state) {
  str tags[] = {STR("mcp"), STR("read-only")};
  struct card_source s = {.id = STR("a:b@1"), .description = STR("x"), .tags = tags, .tag_count = 2};
  s.safety = CARD_DESTRUCTIVE;
  struct card c = make(*state, &s);
  assert_int_equal(c.safety, CARD_DESTRUCTIVE);
  assert_line(&c, "[1/1] a:b@1 (tool) — x [destructive, mcp, read-only]");
}

static void a_card_without_a_description_shows_its_name(void **state) {
  struct card_source s = {.id = STR("a:b@1"), .name = STR("Do\nthings"), .description = STR("\u200b")};
  struct card c = make(*state, &s);
  assert_line(&c, "[1/1] a:b@1 (tool) — Do things");
  s.name = STR_NONE;
  c = make(*state, &s);
  assert_line(&c, "[1/1] a:b@1 (tool) — a:b@1");
}

static void a_long_description_is_cut_to_the_target(void **state) {
  str tag = STR("mcp");
  struct card_source s = {.id = STR("acme:search#0123abcd"), .tags = &tag, .tag_count = 1};
  s.description = STR(SENTENCE_1 SENTENCE_2 SENTENCE_3);
  struct card c = make(*state, &s);
  assert_str(c.description, SENTENCE_1 SENTENCE_2 SENTENCE_3);
  s.description = STR(SENTENCE_1 SENTENCE_2 SENTENCE_3 " One more.");
  c = make(*state, &s);
  assert_str(c.description, SENTENCE_1 SENTENCE_2 SENTENCE_3);
  s.description = repeat(*state, "word ", 120);
  c = make(*state, &s);
  assert_in_range(card_tokens(&c), 57, CARD_TARGET);
  assert_true(str_ends(c.description, STR("…")));
  s.description = repeat(*state, "<|endoftext|>", 1000);
  c = make(*state, &s);
  assert_true(card_tokens(&c) <= CARD_TARGET);
}

static const str params[] = {STR("repo"), STR("title"), STR("body"), STR("labels")};

static void a_line_ends_with_the_signature(void **state) {
  struct card_params p = {.names = params, .count = 3, .required = 2};
  struct card_source s = issue();
  s.params = &p;
  struct card c = make(*state, &s);
  assert_line(
      &c,
      "[1/1] github:create_issue@1.4.0 (tool, side effects) — Create an issue in a GitHub repository. [mcp, read-only] "
      "args: repo, title, body?");
  p.more = true;
  c = make(*state, &s);
  assert_str(c.signature, "repo, title, body?, …");
  p = (struct card_params){.names = params};
  c = make(*state, &s);
  assert_str(c.signature, "{}");
  static const str odd[] = {STR("two words"), STR("x, y"), STR("a\nb"), STR("$filter"), STR("ids[]")};
  p = (struct card_params){.names = odd, .count = 5, .required = 5};
  c = make(*state, &s);
  assert_str(c.signature, "\"two words\", \"x, y\", \"a b\", $filter, ids[]");
}

// What a model needs for its first call comes before the end of a long description.
static void required_parameters_come_before_the_description_and_that_before_optional_ones(void **state) {
  static str many[CARD_PARAMS];
  for (size_t i = 0; i < CARD_PARAMS; i++) many[i] = arena_printf(*state, "parameter_%zu", i);
  struct card_params p = {.names = many, .count = CARD_PARAMS, .required = 4};
  struct card_source s = {.id = STR("acme:search#0123abcd"), .description = STR(SENTENCE_1 SENTENCE_2), .params = &p};
  struct card c = make(*state, &s);
  assert_true(card_tokens(&c) <= CARD_TARGET);
  assert_true(str_starts(c.description, STR(SENTENCE_1)));
  assert_true(str_starts(c.signature, STR("parameter_0, parameter_1, parameter_2, parameter_3, ")));
  assert_true(str_ends(c.signature, STR("…")));
  p.required = 11;
  c = make(*state, &s);
  assert_in_range(card_tokens(&c), CARD_TARGET + 1, CARD_HARD);
  assert_true(str_ends(c.signature, STR("parameter_10, …")));
  assert_true(c.description.n > 0);
  p.required = CARD_PARAMS;
  c = make(*state, &s);
  assert_true(card_tokens(&c) <= CARD_HARD && c.signature.n > 0);
  s.id = repeat(*state, "a1_-", 16);
  c = make(*state, &s);
}

static void the_number_of_a_card_never_changes_what_it_takes(void **state) {
  struct card_source s = issue();
  struct card c = make(*state, &s);
  static const size_t numbers[][2] = {{1, 1}, {1, 9}, {10, 10}, {7, 100}, {999, 999}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct buf b;
    buf_init(&b, 1000);
    card_render(&c, numbers[i][0], numbers[i][1], &b);
    buf_char(&b, '\n');
    assert_int_equal(tokens_count(buf_view(&b)), card_tokens(&c));
    buf_done(&b);
  }
}

static void tags_that_do_not_fit_are_counted(void **state) {
  str tags[] = {STR("a1b2c3d4e5f6g7h8i9j0k1l2"), STR("b1b2c3d4e5f6g7h8i9j0k1l2"), STR("c1b2c3d4e5f6g7h8i9j0k1l2"),
                STR("destructive"), STR("d1b2c3d4e5f6g7h8i9j0k1l2")};
  struct card_source s = {.id = STR("a:b@1"),
                          .description = STR("Text that is long enough to be cut. More of it."),
                          .tags = tags,
                          .tag_count = 5};
  struct card c;
  struct fault f;
  struct buf dropped;
  buf_init(&dropped, 4096);
  assert_true(card_make(&s, *state, &c, &dropped, &f));
  size_t names = 1;
  for (size_t i = 0; i < dropped.n; i++) names += dropped.p[i] == ',';
  assert_true(names >= 2 && c.tag_count == 5 - names);
  buf_done(&dropped);
  assert_true(card_tokens(&c) <= CARD_HARD);
  bool kept = false;
  for (size_t i = 0; i < c.tag_count; i++) kept |= str_eq(c.tags[i], STR("destructive"));
  assert_true(kept);
}

static void an_id_that_cannot_fit_is_found_and_shortened(void **state) {
  str hostile = repeat(*state, "a1_-", 32), server = repeat(*state, "x9-_", 16), namespace;
  str text = arena_printf(*state, "{\"name\":\"%.*s\",\"_meta\":{\"version\":\"1.1.1.1.1.1.1\"}}", STR_ARG(hostile));
  str long_id = arena_printf(*state, "%.*s:%.*s@1", STR_ARG(server), STR_ARG(hostile));
  struct card_source s = {.id = long_id, .description = STR("x")};
  struct card c;
  struct fault f;
  assert_false(card_id_fits(long_id));
  assert_false(card_make(&s, *state, &c, NULL, &f));
  assert_int_equal(f.code, FAULT_LIMIT);
  assert_non_null(strstr(f.message, "the limit of 80 tokens"));
  identify_namespaces(&server, 1, card_id_fits, *state, &namespace);
  struct identify_rules rules = {.namespace = namespace, .fits = card_id_fits};
  struct identity id;
  assert_true(identify_tool(&rules, json_parse(*state, text, &json_default_limits, &f), *state, &id, &f));
  assert_true(card_id_fits(id.id));
  s.id = id.id;
  s.tags = usual_tags;
  s.tag_count = 2;
  make(*state, &s);
}

static void an_answer_says_what_to_do_with_the_cards(void **state) {
  struct card cards[3] = {{.id = STR("a:b@1"), .description = STR("B.")},
                          {.id = STR("a:c@1"), .description = STR("C.")},
                          {.id = STR("/a"), .description = STR("2 tools: b, c"), .kind = CARD_INTERNAL}};
  struct buf b;
  buf_init(&b, 10000);
  card_render_answer(CARD_TOOL, cards, 2, true, &b);
  assert_str(buf_view(&b), "Pass one of these ids to tool_execute as tool_id.\n[1/2] a:b@1 (tool) — B.\n"
                           "[2/2] a:c@1 (tool) — C.");
  buf_reset(&b);
  card_render_answer(CARD_TOOL, cards + 2, 1, true, &b);
  assert_str(buf_view(&b), "Pass one of these paths to tool_browse as path.\n[1/1] /a (server) — 2 tools: b, c");
  buf_done(&b);
  struct card group = {.id = STR("/a/issues"), .description = STR("2 tools"), .kind = CARD_INTERNAL};
  assert_line(&group, "[1/1] /a/issues (group) — 2 tools");
  for (enum card_kind kind_index = CARD_TOOL; kind_index <= CARD_PROMPT; kind_index++)
    for (size_t n = 0; n <= 3; n++) {
      str line = arena_printf(*state, "%.*s\n", STR_ARG(card_preamble(kind_index, cards + (n == 1 ? 2 : 0), n)));
      assert_true(line.n > 1 && tokens_count(line) <= CARD_PREAMBLE);
    }
  assert_int_equal(card_preamble(CARD_AGENT, cards, 2).n, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_text_is_put_on_one_line_without_what_is_not_seen),
      TEST(a_description_is_cut_at_the_end_of_a_sentence),
      TEST(a_description_without_sentences_is_cut_with_an_ellipsis),
      TEST(a_description_of_a_megabyte_is_cut_at_once),
      TEST(a_card_is_one_line_without_its_score),
      TEST(a_card_is_json_in_a_fixed_order_without_empty_members),
      TEST(tags_that_tell_the_safety_are_never_pushed_out),
      TEST(names_and_tags_are_cut_by_characters),
      TEST(safety_that_the_source_states_has_its_tag),
      TEST(a_card_without_a_description_shows_its_name),
      TEST(a_long_description_is_cut_to_the_target),
      TEST(a_line_ends_with_the_signature),
      TEST(required_parameters_come_before_the_description_and_that_before_optional_ones),
      TEST(the_number_of_a_card_never_changes_what_it_takes),
      TEST(tags_that_do_not_fit_are_counted),
      TEST(an_id_that_cannot_fit_is_found_and_shortened),
      TEST(an_answer_says_what_to_do_with_the_cards),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
