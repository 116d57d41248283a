// SPDX-License-Identifier: Apache-2.0
// Which agent a request is from. The numbers are those of the reference's table.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "policy/identity.h"
#include "policy/survey.h"

static void ignore_problem(void *ctx, bool warning, str pointer, const char *message) {
  fail_msg("%.*s %s", STR_ARG(pointer), message);
}

static struct policy *policy_of(const char *text) {
  struct arena a;
  struct fault f;
  arena_init(&a);
  struct policy *p = policy_read(json_parse(&a, str_of(text), &json_default_limits, &f), ignore_problem, NULL);
  arena_done(&a);
  assert_non_null(p);
  return p;
}

#define AGENT(name) "\"" name "\":{}"
#define LENIENT ",\"defaults\":{\"deny_on_missing_agent\":false}}"
#define STRICT ",\"defaults\":{\"deny_on_missing_agent\":true}}"

static void assert_identity(const char *rules, const char *named, const char *fallback, const char *credential,
                            const char *expected) {
  struct policy *p = rules ? policy_of(rules) : NULL;
  struct identity_question q = {p, str_of(credential), str_of(named), str_of(fallback), false};
  struct fault f;
  str agent;
  char got[300];
  if (identity_find(&q, &agent, &f)) snprintf(got, sizeof got, "%.*s", STR_ARG(agent));
  else snprintf(got, sizeof got, "%s", fault_name(f.code));
  assert_string_equal(got, expected);
  policy_unref(&p);
}

static void a_named_agent_is_that_agent(void **state) {
  assert_identity("{\"agents\":{" AGENT("backend") "}" STRICT, "backend", "researcher", NULL, "backend");  // I01
  assert_identity("{\"agents\":{" AGENT("team-backend_v2") "}}", "team-backend_v2", NULL, NULL,
                  "team-backend_v2");  // I14
  assert_identity("{\"agents\":{" AGENT("team") "}}", "team.role", NULL, NULL, "team.role");
}

static void a_missing_agent_is_refused_where_the_rules_are_strict(void **state) {
  static const char strict[] = "{\"agents\":{" AGENT("researcher") "," AGENT("default") "}" STRICT;
  assert_identity(strict, NULL, "researcher", NULL, "INVALID_AGENT_ID");  // I02
  assert_identity(strict, "", NULL, NULL, "INVALID_AGENT_ID");            // I03, I04
  assert_identity("{\"agents\":{" AGENT("default") "},\"defaults\":{}}", NULL, NULL, NULL, "INVALID_AGENT_ID");  // I05
}

static void a_missing_agent_is_the_configured_one_else_default(void **state) {
  static const char both[] = "{\"agents\":{" AGENT("researcher") "," AGENT("default") "}" LENIENT;
  assert_identity("{\"agents\":{" AGENT("researcher") "}" LENIENT, NULL, "researcher", NULL, "researcher");  // I06
  assert_identity(both, NULL, "researcher", NULL, "researcher");                                             // I07
  assert_identity(both, NULL, "nonexistent", NULL, "FALLBACK_AGENT_NOT_IN_RULES");                           // I08
  assert_identity(both, NULL, NULL, NULL, "default");                                                        // I09
  assert_identity(both, NULL, "", NULL, "default");                                                          // I10
  assert_identity("{\"agents\":{" AGENT("a") "}" LENIENT, NULL, NULL, NULL, "NO_FALLBACK_CONFIGURED");       // I11
}

// The reference trusts them, or lets them in to be denied: no rule knows them, so nobody does.
static void an_agent_that_no_rule_knows_is_nobody(void **state) {
  assert_identity("{\"agents\":{" AGENT("a") "}" STRICT, "ghost", NULL, NULL, "INVALID_AGENT_ID");   // I12
  assert_identity("{\"agents\":{" AGENT("a") "}" LENIENT, "ghost", NULL, NULL, "INVALID_AGENT_ID");  // I13
  assert_identity("{\"agents\":{" AGENT("a") "}" LENIENT, "a b", NULL, NULL, "INVALID_AGENT_ID");
}

static void a_credential_decides_the_agent_and_only_agents_below_it_may_be_named(void **state) {
  static const char rules[] = "{\"agents\":{" AGENT("team") "," AGENT("teams") "," AGENT("other") "}" LENIENT;
  assert_identity(rules, NULL, "other", "team", "team");
  assert_identity(rules, "team", NULL, "team", "team");
  assert_identity(rules, "team.role", NULL, "team", "team.role");
  assert_identity(rules, "teams", NULL, "team", "INVALID_AGENT_ID");
  assert_identity(rules, "other", NULL, "team", "INVALID_AGENT_ID");
  assert_identity(rules, "team", NULL, "team.role", "INVALID_AGENT_ID");
  assert_identity(rules, NULL, NULL, "gone", "INVALID_AGENT_ID");
}

static void without_rules_any_name_will_do(void **state) {
  assert_identity(NULL, "anyone", NULL, NULL, "anyone");
  assert_identity(NULL, NULL, "dev", NULL, "dev");
  assert_identity(NULL, NULL, NULL, NULL, "");
  assert_identity(NULL, "other", NULL, "team", "INVALID_AGENT_ID");
}

// ---- what rules come to

static void a_refusal_names_the_part_of_the_rules_that_made_it(void **state) {
  struct policy *lenient = policy_of("{\"agents\":{\"a\":{}},\"defaults\":{\"deny_on_missing_agent\":false}}");
  struct policy *strict = policy_of("{\"agents\":{\"a\":{}},\"defaults\":{\"deny_on_missing_agent\":true}}");
  const struct {
    struct identity_question q;
    str rule;
  } cases[] = {
      {{strict, STR_NONE, STR_NONE, STR("a"), false}, STR("defaults.deny_on_missing_agent")},
      {{strict, STR_NONE, STR("ghost"), STR_NONE, false}, STR("agents")},
      {{strict, STR("ghost"), STR_NONE, STR_NONE, false}, STR("agents")},
      {{strict, STR("a"), STR("b"), STR_NONE, false}, STR_NONE},
      {{lenient, STR_NONE, STR_NONE, STR("ghost"), false}, STR("agents")},
      {{lenient, STR_NONE, STR_NONE, STR_NONE, false}, STR("agents.default")},
      {{lenient, STR_NONE, STR("a"), STR("a"), true}, STR_NONE},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fault f;
    str id;
    assert_false(identity_find(&cases[i].q, &id, &f));
    str rule = identity_rule(&cases[i].q, &f);
    if (!str_eq(rule, cases[i].rule)) fail_msg("case %zu: %.*s", i, STR_ARG(rule));
  }
  policy_unref(&lenient);
  policy_unref(&strict);
}

// Only a request with a parameter for the agent is asked to use it; others get advice for the user.
static void a_request_without_an_agent_gets_advice(void **state) {
  struct policy *lenient = policy_of("{\"agents\":{\"a\":{}}" LENIENT),
                *strict = policy_of("{\"agents\":{\"a\":{}}" STRICT);
  const struct {
    const struct policy *policy;
    str fallback;
    const char *missing, *unnamed;
  } cases[] = {
      {strict, STR_NONE, "Missing required parameter 'agent_id'.", "You have no agent identity, and the rules"},
      {lenient, STR_NONE, "Missing 'agent_id' parameter and no fallback", "You have no agent identity and no f"},
      {lenient, STR("ghost"), "Missing 'agent_id' parameter and fallback agent 'ghost'",
       "You have no agent identity and fallback agent 'ghost' is not configured in gateway rules."},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fault f;
    str id;
    assert_false(identity_find(
        &(struct identity_question){cases[i].policy, STR_NONE, STR(""), cases[i].fallback, false}, &id, &f));
    assert_true(str_starts(str_of(f.message), str_of(cases[i].missing)));
    assert_false(identity_find(
        &(struct identity_question){cases[i].policy, STR_NONE, STR_NONE, cases[i].fallback, false}, &id, &f));
    assert_true(str_starts(str_of(f.message), str_of(cases[i].unnamed)));
    assert_null(strstr(f.message, "agent_id"));
    assert_non_null(strstr(f.message, "auth.tokens"));
    assert_null(strstr(f.message, "…"));  // all of it is there
  }
  policy_unref(&lenient);
  policy_unref(&strict);
}

static void a_survey_finds_entries_that_never_match_or_never_decide(void **state) {
  static const str db[] = {STR("query"), STR("drop_table")}, api[] = {STR("get")};
  static const struct survey_server servers[] = {{STR("db"), db, 2}, {STR("api"), api, 1}};
  struct policy *p = policy_of("{\"agents\":{\"a\":{\"allow\":{\"servers\":[\"*\",\"db\",\"gone\"],"
                               "\"tools\":{\"db\":[\"*\",\"query\"],\"api\":[\"set\"]}},"
                               "\"deny\":{\"tools\":{\"db\":[\"drop_*\",\"drop_table\"]}}},\"none\":{}}}");
  struct arena a;
  arena_init(&a);
  struct survey s = policy_survey(p, servers, 2, &a);
  assert_int_equal(s.agents[0].allowed, 1);
  assert_int_equal(s.agents[0].tools, 3);
  assert_int_equal(s.agents[1].allowed, 0);
  for (size_t i = 0; i < s.agents[0].entry_count; i++) {
    const struct survey_entry *e = &s.agents[0].entries[i];
    struct buf b;
    buf_init(&b, 256);
    policy_put_entry_pointer(e->entry, &b);
    bool gone = str_ends(buf_view(&b), STR("servers/2")) || str_ends(buf_view(&b), STR("api/0"));
    bool shadowed = str_eq(buf_view(&b), STR("/agents/a/allow/servers/1")) ||  // "*" is before "db"
                    str_eq(buf_view(&b), STR("/agents/a/allow/tools/db/0")) ||
                    str_eq(buf_view(&b), STR("/agents/a/deny/tools/db/0"));
    if (e->matches == gone || e->decides == (gone || shadowed)) fail_msg("%.*s", STR_ARG(buf_view(&b)));
    assert_int_equal(e->over != NULL, shadowed);
    buf_done(&b);
  }
  arena_done(&a);
  policy_unref(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_named_agent_is_that_agent),
      cmocka_unit_test(a_missing_agent_is_refused_where_the_rules_are_strict),
      cmocka_unit_test(a_missing_agent_is_the_configured_one_else_default),
      cmocka_unit_test(an_agent_that_no_rule_knows_is_nobody),
      cmocka_unit_test(a_credential_decides_the_agent_and_only_agents_below_it_may_be_named),
      cmocka_unit_test(without_rules_any_name_will_do),
      cmocka_unit_test(a_refusal_names_the_part_of_the_rules_that_made_it),
      cmocka_unit_test(a_request_without_an_agent_gets_advice),
      cmocka_unit_test(a_survey_finds_entries_that_never_match_or_never_decide),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
