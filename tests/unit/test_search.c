// SPDX-License-Identifier: Apache-2.0
// text/search: which tools a query finds, and in which order.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "text/search/search_doc.h"

static const struct hash_key seed = {1, 2};

#define TOOL(id_, name_, description_) \
  { \
    .id = {id_, sizeof(id_) - 1}, .fields = { \
      [SEARCH_NAME] = {name_, sizeof(name_) - 1}, \
      [SEARCH_DESCRIPTION] = {description_, sizeof(description_) - 1} \
    } \
  }

static const struct search_doc github[] = {
    TOOL("github:create_issue#678543c8", "create_issue", "Open a new issue in a repository"),
    TOOL("github:list_issues#11111111", "list_issues", "List the issues of a repository"),
    TOOL("github:merge_pull_request#22222222", "merge_pull_request", "Merge a pull request"),
    TOOL("github:search_code#33333333", "search_code", "Search for code across repositories"),
};
static const struct search_doc office[] = {
    TOOL("office:send_email#44444444", "send_email", "Send a message to one or more recipients"),
    TOOL("office:create_event#55555555", "createEvent", "Put a meeting into the calendar"),
    TOOL("office:search#66666666", "search", "Find mails and events"),
};
static const struct search_doc weather[] = {
    TOOL("weather:forecast#77777777", "forecast", "Weather forecast for a city, with temperature and rain"),
    TOOL("weather:search#88888888", "search", "Find a weather station"),
    TOOL("weather:about#99999999", "about", "What this is"),
};

struct world {
  struct search_part *parts[3];
  struct search_index *index;
  struct arena scratch;
  struct search_hit hits[SEARCH_MOST_HITS];
  size_t count;
};

static struct search_part *part_of(const char *server, const struct search_doc *docs, size_t count) {
  return search_part_new(&(struct search_source){.server = str_of(server), .docs = docs, .count = count}, &seed);
}

static int setup(void **state) {
  struct world *w = MEM_NEW(struct world);
  w->parts[0] = part_of("github", github, 4);
  w->parts[1] = part_of("office", office, 3);
  w->parts[2] = part_of("weather", weather, 3);
  w->index = search_index_new(w->parts, 3, &seed);
  arena_init(&w->scratch);
  *state = w;
  return 0;
}

static int teardown(void **state) {
  struct world *w = *state;
  for (int i = 0; i < 3; i++) search_part_unref(&w->parts[i]);
  search_index_free(&w->index);
  arena_done(&w->scratch);
  mem_free(w);
  return 0;
}

static void ask_for(struct world *w, str text, size_t top_k) {
  arena_reset(&w->scratch);
  struct search_query q = {.text = text, .top_k = top_k};
  w->count = search_run(w->index, &q, &w->scratch, w->hits);
}

static void ask(struct world *w, const char *text) {
  ask_for(w, str_of(text), 10);
}

static void first_is(struct world *w, const char *query, const char *id) {
  ask(w, query);
  assert_true(w->count > 0);
  str got = search_index_id(w->index, w->hits[0].doc);
  if (!str_eq(got, str_of(id))) fail_msg("\"%s\" finds %.*s first, not %s", query, STR_ARG(got), id);
}

static bool found(struct world *w, const char *id) {
  for (size_t i = 0; i < w->count; i++)
    if (str_eq(search_index_id(w->index, w->hits[i].doc), str_of(id))) return true;
  return false;
}

static void a_request_finds_the_tool_that_serves_it(void **state) {
  struct world *w = *state;
  first_is(w, "Please open an issue in my repository", "github:create_issue#678543c8");
  first_is(w, "what is the weather forecast for Paris?", "weather:forecast#77777777");
  first_is(w, "I want to merge the pull request", "github:merge_pull_request#22222222");
}

static void forms_of_a_word_are_the_same_word(void **state) {
  struct world *w = *state;
  first_is(w, "merging pull requests", "github:merge_pull_request#22222222");
  first_is(w, "forecasts", "weather:forecast#77777777");
}

static void other_words_for_the_same_thing_are_known(void **state) {
  struct world *w = *state;
  ask(w, "schedule an appointment");
  assert_true(found(w, "office:create_event#55555555"));
}

static void the_name_of_a_tool_finds_it_however_it_is_written(void **state) {
  struct world *w = *state;
  first_is(w, "create_issue", "github:create_issue#678543c8");
  first_is(w, "createIssue", "github:create_issue#678543c8");
  first_is(w, "Create Issue", "github:create_issue#678543c8");
  first_is(w, "create_event", "office:create_event#55555555");
  first_is(w, "github:create_issue", "github:create_issue#678543c8");
  first_is(w, "about", "weather:about#99999999");  // though it is a word that says nothing
}

static void an_id_finds_its_tool_among_those_of_that_name(void **state) {
  struct world *w = *state;
  first_is(w, "weather:search#88888888", "weather:search#88888888");
  first_is(w, "office:search#66666666", "office:search#66666666");
  ask(w, "search");
  assert_true(w->count >= 2);
  assert_true(found(w, "weather:search#88888888") && found(w, "office:search#66666666"));
  for (size_t i = 0; i < 2; i++) {
    str id = search_index_id(w->index, w->hits[i].doc);
    assert_true(str_eq(id, STR("weather:search#88888888")) || str_eq(id, STR("office:search#66666666")));
  }
}

static void a_slip_of_the_pen_is_forgiven(void **state) {
  struct world *w = *state;
  first_is(w, "wheather forcast", "weather:forecast#77777777");
  first_is(w, "reciepients", "office:send_email#44444444");
  first_is(w, "calednar", "office:create_event#55555555");
  ask(w, "xorecast");  // not in the first letter
  assert_int_equal(w->count, 0);
}

static void short_forms_and_compounds_are_understood(void **state) {
  struct world *w = *state;
  first_is(w, "merge the PR", "github:merge_pull_request#22222222");
  struct search_doc docs[] = {TOOL("a", "keyvault_get", "Read from the store"), TOOL("b", "door_get", "Read the door")};
  struct search_part *part = part_of("", docs, 2);
  struct search_index *x = search_index_new(&part, 1, &seed);
  struct search_hit hits[2];
  struct search_query q = {.text = STR("open my key vault"), .top_k = 2};
  assert_true(search_run(x, &q, &w->scratch, hits) >= 1);
  assert_int_equal(hits[0].doc, 0);
  search_index_free(&x);
  search_part_unref(&part);
}

static void a_tool_that_does_the_opposite_comes_later(void **state) {
  struct search_doc docs[] = {TOOL("a", "delete_user", "User of the system"),
                              TOOL("b", "create_user", "User of the system")};
  struct search_part *part = part_of("", docs, 2);
  struct search_index *x = search_index_new(&part, 1, &seed);
  struct arena scratch;
  struct search_hit hits[2];
  arena_init(&scratch);
  struct search_query q = {.text = STR("register a user"), .top_k = 2};
  assert_int_equal(search_run(x, &q, &scratch, hits), 2);
  assert_int_equal(hits[0].doc, 1);
  arena_done(&scratch);
  search_index_free(&x);
  search_part_unref(&part);
}

static void a_tool_that_says_it_is_deprecated_comes_later_unless_it_is_named(void **state) {
  struct search_doc docs[] = {
      TOOL("a", "read_file", "Read the complete contents of a file as text. DEPRECATED: Use read_text_file instead."),
      TOOL("b", "read_text_file", "Read the complete contents of a file from the file system as text"),
      TOOL("c", "list_directory", "List what is in a folder")};
  struct search_part *part = part_of("files", docs, 3);
  struct search_index *x = search_index_new(&part, 1, &seed);
  struct arena scratch;
  struct search_hit hits[3];
  arena_init(&scratch);
  struct search_query q = {.text = STR("read the contents of a file"), .top_k = 3};
  assert_true(search_run(x, &q, &scratch, hits) >= 2);
  assert_int_equal(hits[0].doc, 1);
  assert_int_equal(hits[1].doc, 0);
  q.text = STR("read a file");
  assert_true(search_run(x, &q, &scratch, hits) >= 2);
  assert_int_equal(hits[0].doc, 1);
  q.text = STR("read_file");
  assert_true(search_run(x, &q, &scratch, hits) >= 1);
  assert_int_equal(hits[0].doc, 0);
  arena_done(&scratch);
  search_index_free(&x);
  search_part_unref(&part);
}

static void several_needs_are_all_served_before_one_is_served_twice(void **state) {
  struct search_doc docs[] = {
      TOOL("a1", "weather_now", "Current weather of a city"),
      TOOL("a2", "weather_now", "Current weather of a city"),
      TOOL("a3", "weather_now", "Current weather of a city"),
      TOOL("b", "convert_currency", "Convert money"),
      TOOL("c", "translate_text", "Translate to other languages"),
  };
  struct search_part *part = part_of("", docs, 5);
  struct search_index *x = search_index_new(&part, 1, &seed);
  struct arena scratch;
  struct search_hit hits[3];
  arena_init(&scratch);
  struct search_query q = {
      .text = STR("What is the current weather of the city? Then convert the currency. Finally translate the text."),
      .top_k = 3};
  assert_int_equal(search_run(x, &q, &scratch, hits), 3);
  bool served[5] = {0};
  for (size_t i = 0; i < 3; i++) served[hits[i].doc] = true;
  assert_true(served[3] && served[4]);
  arena_done(&scratch);
  search_index_free(&x);
  search_part_unref(&part);
}

static void a_server_is_found_by_what_it_says_about_itself(void **state) {
  struct search_doc one[] = {TOOL("a", "open", "Opens a thing")}, two[] = {TOOL("b", "open", "Opens a thing")};
  struct search_part *parts[] = {
      search_part_new(&(struct search_source){STR("first"), STR("Doors and windows"), one, 1}, &seed),
      search_part_new(&(struct search_source){STR("second"), STR("Spreadsheets and documents"), two, 1}, &seed)};
  struct search_index *x = search_index_new(parts, 2, &seed);
  struct arena scratch;
  struct search_hit hits[2];
  arena_init(&scratch);
  struct search_query q = {.text = STR("open a thing in my spreadsheets"), .top_k = 2};
  assert_int_equal(search_run(x, &q, &scratch, hits), 2);
  assert_int_equal(hits[0].doc, 1);
  arena_done(&scratch);
  search_index_free(&x);
  for (int i = 0; i < 2; i++) search_part_unref(&parts[i]);
}

static void words_that_no_tool_has_find_nothing(void **state) {
  struct world *w = *state;
  const char *none[] = {"", "   ", "xyzzy plugh", "!!!", "\xff\xfe", "of the"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    ask(w, none[i]);
    assert_int_equal(w->count, 0);
  }
}

// ---- what somebody may see of it ----

// Two indexes answer the same, to the last bit.
static void same_answer(const struct search_index *a, const struct search_index *b, str query, struct arena *scratch) {
  struct search_hit hits[10], others[10];
  struct search_query q = {.text = query, .top_k = 10};
  size_t n = search_run(a, &q, scratch, hits);
  assert_int_equal(search_run(b, &q, scratch, others), n);
  for (size_t k = 0; k < n; k++) {
    assert_true(str_eq(search_index_id(a, hits[k].doc), search_index_id(b, others[k].doc)));
    assert_true(hits[k].score == others[k].score);
  }
}

static void same_answers(const struct search_index *a, const struct search_index *b, struct arena *scratch) {
  static const char *const asked[] = {"create_issue",
                                      "search",
                                      "issues of a repository",
                                      "find a mail about the weather",
                                      "rain in the city",
                                      "repositry",
                                      "merge",
                                      "github",
                                      "send the forecast and the pull request, then open an event",
                                      "octocat",
                                      "zephyr",
                                      "weather:search#88888888"};
  assert_int_equal(search_index_count(a), search_index_count(b));
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) same_answer(a, b, str_of(asked[i]), scratch);
}

static struct search_part *talking(const struct search_doc *docs, size_t count) {
  return search_part_new(
      &(struct search_source){STR("github"), STR("Repositories, issues and the octocat"), docs, count}, &seed);
}

// Whichever documents of a part are left: the rest leaves no trace in words, scores or order.
static void a_sifted_part_is_the_part_of_what_is_left(void **state) {
  struct world *w = *state;
  struct search_part *whole = talking(github, 4);
  for (uint64_t keep = 0; keep < 1 << 4; keep++) {
    struct search_doc left[4];
    size_t n = 0;
    for (size_t i = 0; i < 4; i++)
      if (keep >> i & 1) left[n++] = github[i];
    struct search_part *sifted = search_part_sift(whole, &keep), *fresh = talking(left, n);
    struct search_index *a = search_index_new((struct search_part *[]){sifted, w->parts[1], w->parts[2]}, 3, &seed);
    struct search_index *b = search_index_new((struct search_part *[]){fresh, w->parts[1], w->parts[2]}, 3, &seed);
    same_answers(a, b, &w->scratch);
    search_index_free(&a);
    search_index_free(&b);
    search_part_unref(&sifted);
    search_part_unref(&fresh);
  }
  search_part_unref(&whole);
}

// Sums of rarities depend on the order of what is added, if only in their last bit: it is that of the words in what is
// left, not of those that stood before it.
static void not_even_the_order_of_words_is_that_of_what_was_left_out(void **state) {
  struct world *w = *state;
  static const char *const words[] = {"rain", "city", "issue", "list",    "search", "file",  "user",
                                      "data", "text", "video", "account", "image",  "story", "octocat"};
  enum { WORDS = sizeof words / sizeof *words };
  str backwards = STR(""), forwards = STR("");
  for (size_t i = 0; i < WORDS; i++) {
    forwards = arena_printf(&w->scratch, "%.*s %s", STR_ARG(forwards), words[i]);
    backwards = arena_printf(&w->scratch, "%s %.*s", words[i], STR_ARG(backwards));
  }
  struct search_doc docs[] = {{.id = STR("a"), .fields[SEARCH_NAME] = backwards},
                              {.id = STR("b"), .fields[SEARCH_NAME] = forwards},
                              TOOL("c", "list_file_user", "Data of a user in the city"),
                              TOOL("d", "search_text", "Image and text of the octocat, a story of rain")};
  const uint64_t keep = ~UINT64_C(1);
  struct search_part *whole = talking(docs, 4), *sifted = search_part_sift(whole, &keep), *fresh = talking(docs + 1, 3);
  struct search_index *a = search_index_new(&sifted, 1, &seed), *b = search_index_new(&fresh, 1, &seed);
  for (size_t i = 0; i < WORDS * WORDS; i++) {
    str query = arena_printf(&w->scratch, "%s %s", words[i / WORDS], words[i % WORDS]);
    same_answer(a, b, query, &w->scratch);
  }
  search_index_free(&a);
  search_index_free(&b);
  search_part_unref(&whole);
  search_part_unref(&sifted);
  search_part_unref(&fresh);
}

static void a_part_without_documents_changes_nothing(void **state) {
  struct world *w = *state;
  uint64_t none = 0;
  struct search_part *nothing = search_part_sift(w->parts[0], &none), *silent = talking(NULL, 0);
  struct search_part *parts[] = {nothing, w->parts[1], silent, w->parts[2]};
  struct search_index *a = search_index_new(parts, 4, &seed), *b = search_index_new(w->parts + 1, 2, &seed);
  same_answers(a, b, &w->scratch);
  search_index_free(&a);
  search_index_free(&b);
  search_part_unref(&nothing);
  search_part_unref(&silent);
}

static void scores_fall_and_are_above_zero(void **state) {
  struct world *w = *state;
  ask(w, "search the repository for an issue about the weather forecast");
  assert_true(w->count > 3);
  for (size_t i = 0; i < w->count; i++) {
    assert_true(w->hits[i].score > 0);
    if (i) assert_true(w->hits[i].score <= w->hits[i - 1].score);
  }
}

static void fewer_hits_are_the_first_of_more(void **state) {
  struct world *w = *state;
  struct search_hit all[10];
  ask(w, "search the repository for an issue about the weather forecast");
  memcpy(all, w->hits, sizeof all);
  size_t total = w->count;
  for (size_t k = 0; k <= total; k++) {
    ask_for(w, STR("search the repository for an issue about the weather forecast"), k);
    assert_int_equal(w->count, k);
    for (size_t i = 0; i < k; i++) assert_int_equal(w->hits[i].doc, all[i].doc);
  }
}

static void equal_scores_are_in_order_of_ids(void **state) {
  struct search_doc twins[] = {TOOL("b", "ping", "Same"), TOOL("c", "ping", "Same"), TOOL("a", "ping", "Same")};
  struct search_part *part = part_of("", twins, 3);
  struct search_index *x = search_index_new(&part, 1, &seed);
  struct arena scratch;
  struct search_hit hits[3];
  arena_init(&scratch);
  assert_int_equal(search_run(x, &(struct search_query){.text = STR("ping"), .top_k = 3}, &scratch, hits), 3);
  assert_true(str_eq(search_index_id(x, hits[0].doc), STR("a")));
  assert_true(str_eq(search_index_id(x, hits[1].doc), STR("b")));
  assert_true(str_eq(search_index_id(x, hits[2].doc), STR("c")));
  arena_done(&scratch);
  search_index_free(&x);
  search_part_unref(&part);
}

static void the_seed_has_no_influence(void **state) {
  struct world *w = *state;
  struct search_index *other = search_index_new(w->parts, 3, &(struct hash_key){77, 99});
  struct search_hit hits[10];
  ask(w, "find an issue in the calendar");
  struct search_query q = {.text = STR("find an issue in the calendar"), .top_k = 10};
  assert_int_equal(search_run(other, &q, &w->scratch, hits), w->count);
  for (size_t i = 0; i < w->count; i++) {
    assert_int_equal(hits[i].doc, w->hits[i].doc);
    assert_true(hits[i].score == w->hits[i].score);
  }
  search_index_free(&other);
}

static void a_changed_server_leaves_the_other_parts_as_they_are(void **state) {
  struct world *w = *state;
  struct search_doc changed[] = {TOOL("weather:tides", "tides", "Tide tables of a harbour")};
  struct search_part *part = part_of("weather", changed, 1);
  struct search_part *parts[] = {w->parts[0], w->parts[1], part};
  struct search_index *x = search_index_new(parts, 3, &seed);
  search_part_unref(&part);  // the index holds it
  struct search_hit hit;
  assert_int_equal(search_index_count(x), 8);
  struct search_query q = {.text = STR("harbour"), .top_k = 1};
  assert_int_equal(search_run(x, &q, &w->scratch, &hit), 1);
  assert_int_equal(hit.doc, 7);
  search_index_free(&x);
  ask(w, "harbour");
  assert_int_equal(w->count, 0);
}

static void an_index_of_nothing_finds_nothing(void **state) {
  struct search_part *empty = part_of("empty", NULL, 0);
  struct arena scratch;
  struct search_hit hit;
  arena_init(&scratch);
  for (size_t n = 0; n < 2; n++) {
    struct search_index *x = search_index_new(&empty, n, &seed);
    struct search_query q = {.text = STR("empty"), .top_k = 1};
    assert_int_equal(search_run(x, &q, &scratch, &hit), 0);
    search_index_free(&x);
  }
  search_part_unref(&empty);
  arena_done(&scratch);
}

static void texts_beyond_the_bounds_are_cut_not_refused(void **state) {
  enum { HUGE = 1 << 20 };
  char *text = mem_alloc(HUGE);
  for (size_t i = 0; i < HUGE; i++) text[i] = i % 7 ? (char)('a' + i * 2654435761U % 26) : ' ';
  memcpy(text, "needle ", 7);
  memcpy(text + HUGE - 9, " haystack", 9);
  struct search_doc doc = {.id = STR("huge"), .fields[SEARCH_DESCRIPTION] = {text, HUGE}};
  struct search_part *part = part_of("huge", &doc, 1);
  struct search_index *x = search_index_new(&part, 1, &seed);
  struct arena scratch;
  struct search_hit hit;
  arena_init(&scratch);
  assert_true(search_index_bytes(x) < 1 << 20);
  assert_int_equal(search_run(x, &(struct search_query){.text = STR("needle"), .top_k = 1}, &scratch, &hit), 1);
  assert_int_equal(search_run(x, &(struct search_query){.text = STR("haystack"), .top_k = 1}, &scratch, &hit), 0);
  assert_int_equal(search_run(x, &(struct search_query){.text = {text, HUGE}, .top_k = 1}, &scratch, &hit), 1);
  assert_true(scratch.total < 2 << 20);
  arena_done(&scratch);
  search_index_free(&x);
  search_part_unref(&part);
  mem_free(text);
}

static void a_definition_gives_its_fields(void **state) {
  struct arena a;
  struct fault f;
  struct search_doc d;
  arena_init(&a);
  str text =
      STR("{\"name\":\"get_weather\",\"annotations\":{\"title\":\"Weather\"},\"description\":\"Says \\\"hi\\\"\","
          "\"tags\":[\"sky\",1,\"rain\"],\"inputSchema\":{\"type\":\"object\",\"properties\":{"
          "\"unit\":{\"description\":\"Which scale\",\"enum\":[\"celsius\",\"kelvin\",3]},"
          "\"where\":{\"type\":\"array\",\"items\":{\"properties\":{\"town\":{\"type\":\"string\"}}}}}}}");
  search_doc_from_tool(json_parse(&a, text, &json_default_limits, &f), &a, &d);
  assert_true(str_eq(d.fields[SEARCH_NAME], STR("get_weather")));
  assert_true(str_eq(d.fields[SEARCH_TITLE], STR("Weather")));
  assert_true(str_eq(d.fields[SEARCH_DESCRIPTION], STR("Says \"hi\"")));
  assert_true(str_eq(d.fields[SEARCH_PARAMS], STR("unit\nwhere\ntown\n")));
  assert_true(str_eq(d.fields[SEARCH_PARAM_TEXTS], STR("Which scale\ncelsius\nkelvin\n")));
  assert_true(str_eq(d.fields[SEARCH_TAGS], STR("sky\nrain\n")));
  search_doc_from_tool(json_parse(&a, STR("{\"name\":7,\"inputSchema\":true,\"tags\":{}}"), &json_default_limits, &f),
                       &a, &d);
  for (int i = 0; i < SEARCH_FIELDS; i++) assert_int_equal(d.fields[i].n, 0);
  arena_done(&a);
}

// Instructions match by little: after every tool that has a word of the query itself.
static void a_word_that_only_instructions_have_finds_the_tools_of_that_server(void **state) {
  struct world *w = *state;
  struct search_source source = {
      .server = STR("bank"), .instructions = STR("Reconciliation of weather."), .docs = office, .count = 3};
  struct search_part *parts[] = {search_part_new(&source, &seed), w->parts[0], w->parts[2]};
  struct search_index *x = search_index_new(parts, 3, &seed);
  struct search_query q = {.text = STR("reconciliation"), .top_k = 10};
  struct search_hit hits[10];
  assert_int_equal(search_run(x, &q, &w->scratch, hits), 3);
  for (size_t i = 0; i < 3; i++) assert_true(hits[i].doc < 3 && hits[i].score > 0);
  q.text = STR("reconciliation forecast");
  size_t n = search_run(x, &q, &w->scratch, hits);
  assert_true(n > 3 && hits[0].doc >= 3 && hits[n - 1].doc < 3);
  uint64_t keep = 1;
  struct search_part *some[] = {search_part_sift(parts[0], &keep)};
  struct search_index *y = search_index_new(some, 1, &seed);
  q.text = STR("reconciliation");
  assert_int_equal(search_run(y, &q, &w->scratch, hits), 1);
  search_index_free(&x);
  search_index_free(&y);
  search_part_unref(&parts[0]);
  search_part_unref(&some[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_request_finds_the_tool_that_serves_it, setup, teardown),
      cmocka_unit_test_setup_teardown(forms_of_a_word_are_the_same_word, setup, teardown),
      cmocka_unit_test_setup_teardown(a_word_that_only_instructions_have_finds_the_tools_of_that_server, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(other_words_for_the_same_thing_are_known, setup, teardown),
      cmocka_unit_test_setup_teardown(the_name_of_a_tool_finds_it_however_it_is_written, setup, teardown),
      cmocka_unit_test_setup_teardown(an_id_finds_its_tool_among_those_of_that_name, setup, teardown),
      cmocka_unit_test_setup_teardown(a_slip_of_the_pen_is_forgiven, setup, teardown),
      cmocka_unit_test_setup_teardown(short_forms_and_compounds_are_understood, setup, teardown),
      cmocka_unit_test(a_tool_that_does_the_opposite_comes_later),
      cmocka_unit_test(a_tool_that_says_it_is_deprecated_comes_later_unless_it_is_named),
      cmocka_unit_test(several_needs_are_all_served_before_one_is_served_twice),
      cmocka_unit_test(a_server_is_found_by_what_it_says_about_itself),
      cmocka_unit_test_setup_teardown(words_that_no_tool_has_find_nothing, setup, teardown),
      cmocka_unit_test_setup_teardown(a_sifted_part_is_the_part_of_what_is_left, setup, teardown),
      cmocka_unit_test_setup_teardown(not_even_the_order_of_words_is_that_of_what_was_left_out, setup, teardown),
      cmocka_unit_test_setup_teardown(a_part_without_documents_changes_nothing, setup, teardown),
      cmocka_unit_test_setup_teardown(scores_fall_and_are_above_zero, setup, teardown),
      cmocka_unit_test_setup_teardown(fewer_hits_are_the_first_of_more, setup, teardown),
      cmocka_unit_test(equal_scores_are_in_order_of_ids),
      cmocka_unit_test_setup_teardown(the_seed_has_no_influence, setup, teardown),
      cmocka_unit_test_setup_teardown(a_changed_server_leaves_the_other_parts_as_they_are, setup, teardown),
      cmocka_unit_test(an_index_of_nothing_finds_nothing),
      cmocka_unit_test(texts_beyond_the_bounds_are_cut_not_refused),
      cmocka_unit_test(a_definition_gives_its_fields),
  };
  return cmocka_run_group_tests_name("search", tests, NULL, NULL);
}
