// SPDX-License-Identifier: Apache-2.0
// catalog/decision: the record of the cards that a query found and of the one that was selected.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "catalog/directory/decision.h"

#define CREATE "{\"id\":\"github:create_issue@1\",\"name\":\"create_issue\",\"namespace\":\"github\",\"score\":%s}"
#define LIST "{\"id\":\"github:list_issues@1\",\"name\":\"list_issues\",\"namespace\":\"github\",\"score\":%s}"
#define QUERY "{\"id\":\"db:query@1\",\"name\":\"query\",\"namespace\":\"db\",\"score\":%s}"

static const str ids[] = {STR("github:create_issue@1"), STR("github:list_issues@1")};

struct world {
  struct arena arena;
  struct buf out;
};

static int set_up(void **state) {
  static struct world w;
  arena_init(&w.arena);
  buf_init(&w.out, 1 << 16);
  *state = &w;
  return 0;
}

static int tear_down(void **state) {
  struct world *w = *state;
  buf_done(&w->out);
  arena_done(&w->arena);
  return 0;
}

static const struct json *parse(struct world *w, str text) {
  struct fault f;
  const struct json *v = json_parse(&w->arena, text, &json_default_limits, &f);
  if (!v) fail_msg("%s: %.*s", f.message, STR_ARG(text));
  return v;
}

// The decision about these cards, parsed.
static const struct json *decide(struct world *w, str cards, const struct selection *s) {
  struct fault f;
  struct json_writer writer = json_writer(&w->out);
  struct decision d = {STR("rd-1"), STR("2026-01-31T12:00:00.000Z"), STR("issue"), parse(w, cards), s};
  buf_reset(&w->out);
  assert_true(decision_write(&writer, &d, &w->arena, &f));
  return parse(w, buf_view(&w->out));
}

static const struct json *metadata(const struct json *decision) {
  return json_get(json_get(decision, STR("metadata")), STR("contextweaver"));
}

static void assert_text(const struct json *v, const char *want) {
  if (!v || !str_eq(json_span(v), str_of(want)))
    fail_msg("'%.*s' instead of '%s'", v ? (int)v->n : 0, v ? v->p : "", want);
}

static void a_decision_has_the_cards_and_what_is_known_of_them(void **state) {
  struct world *w = *state;
  str card = arena_printf(&w->arena, "[" CREATE "]", "2.5");
  decide(w, card, NULL);
  str want = arena_printf(&w->arena,
                          "{\"id\":\"rd-1\",\"choice_cards\":%.*s,\"timestamp\":\"2026-01-31T12:00:00.000Z\","
                          "\"selected_item_id\":null,\"selected_card_id\":null,\"context_summary\":null,"
                          "\"metadata\":{\"contextweaver\":{\"is_ambiguous\":false,\"excluded_count\":0,"
                          "\"gated_count\":0,\"context_boost_applied\":false}}}",
                          STR_ARG(card));
  if (!str_eq(buf_view(&w->out), want)) fail_msg("%.*s", STR_ARG(buf_view(&w->out)));
}

static void assert_selected(struct world *w, str said, const char *item, const char *card, const char *status) {
  struct selection s = selection_check(said, ids, 2);
  const struct json *d = decide(w, arena_printf(&w->arena, "[" CREATE "," LIST "]", "2", "1"), &s);
  assert_text(json_get(d, STR("selected_item_id")), item);
  assert_text(json_get(d, STR("selected_card_id")), card);
  assert_text(json_get(json_get(metadata(d), STR("selection")), STR("status")), status);
}

static void a_selection_is_stored_as_the_id_that_it_resolves_to(void **state) {
  assert_selected(*state, ids[1], "\"github:list_issues@1\"", "\"github:list_issues@1\"", "\"accepted\"");
  assert_selected(*state, STR(" GITHUB:LIST\n"), "\"github:list_issues@1\"", "\"github:list_issues@1\"",
                  "\"repaired\"");
}

static void a_rejected_selection_is_kept_as_it_was_said_and_selects_no_card(void **state) {
  assert_selected(*state, STR("github:"), "\"github:\"", "null", "\"rejected\"");
  assert_selected(*state, STR(""), "\"\"", "null", "\"rejected\"");
}

static void assert_question(struct world *w, str cards, const char *question) {
  const struct json *m = metadata(decide(w, cards, NULL));
  assert_text(json_get(m, STR("is_ambiguous")), question ? "true" : "false");
  if (question) assert_text(json_get(m, STR("clarifying_question")), question);
  else assert_null(json_get(m, STR("clarifying_question")));
}

static void cards_of_almost_the_same_score_are_ambiguous(void **state) {
  struct world *w = *state;
  const char *names = "\"Multiple tools could handle 'issue': 'create_issue', 'list_issues'. Which did you mean?\"";
  const char *namespaces = "\"Did you mean 'db', 'github'? Multiple namespaces matched 'issue'.\"";
  assert_question(w, arena_printf(&w->arena, "[" CREATE "," LIST "]", "10", "8.6"), names);
  assert_question(w, arena_printf(&w->arena, "[" CREATE "," LIST "]", "10", "8.4"), NULL);
  assert_question(w, arena_printf(&w->arena, "[" CREATE "," LIST "]", "0", "0"), names);
  assert_question(w, arena_printf(&w->arena, "[" CREATE "," LIST "," QUERY "]", "3", "3", "1"), namespaces);
  // Cards can be in order of their id. The score decides all the same.
  assert_question(w,
                  arena_printf(&w->arena, "[" QUERY "," CREATE "," LIST "," LIST "," LIST "]", "1", "9", "9", "9", "1"),
                  "\"Multiple tools could handle 'issue': 'create_issue', 'list_issues', 'list_issues'. Which did you "
                  "mean?\"");
}

static void without_cards_there_is_no_decision(void **state) {
  struct world *w = *state;
  struct fault f;
  struct json_writer writer = json_writer(&w->out);
  struct decision d = {.cards = parse(w, STR("[]"))};
  assert_false(decision_write(&writer, &d, &w->arena, &f));
  assert_int_equal(f.code, FAULT_INVALID);
  assert_int_equal(w->out.n, 0);
}

static void an_id_is_a_random_uuid(void **state) {
  struct rand_source random = rand_system;
  char one[DECISION_ID_SIZE], two[DECISION_ID_SIZE];
  decision_id(&random, one);
  decision_id(&random, two);
  assert_string_not_equal(one, two);
  assert_int_equal(strlen(one), DECISION_ID_SIZE - 1);
  for (size_t i = 0; i < 3; i++) assert_int_equal(one[i], "rd-"[i]);
  assert_int_equal(one[17], '4');
  assert_non_null(strchr("89ab", one[22]));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_decision_has_the_cards_and_what_is_known_of_them, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_selection_is_stored_as_the_id_that_it_resolves_to, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_rejected_selection_is_kept_as_it_was_said_and_selects_no_card, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(cards_of_almost_the_same_score_are_ambiguous, set_up, tear_down),
      cmocka_unit_test_setup_teardown(without_cards_there_is_no_decision, set_up, tear_down),
      cmocka_unit_test(an_id_is_a_random_uuid),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
