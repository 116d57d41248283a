// SPDX-License-Identifier: Apache-2.0
// Rules, decisions, and the rule that made them.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text/glob.h"
#include "policy/policy.h"

// ---- helpers

struct problems {
  size_t errors, warnings;
  char first[512];  // "pointer message"
};

static void note_problem(void *ctx, bool warning, str pointer, const char *message) {
  struct problems *p = ctx;
  if (!p->errors && !p->warnings) snprintf(p->first, sizeof p->first, "%.*s %s", STR_ARG(pointer), message);
  if (warning) p->warnings++;
  else p->errors++;
}

static struct policy *read_text(str text, struct problems *problems) {
  struct arena a;
  struct fault f;
  arena_init(&a);
  const struct json *root = json_parse(&a, text, &json_default_limits, &f);
  assert_non_null(root);
  struct policy *p = policy_read(root, note_problem, problems);
  arena_done(&a);  // it keeps nothing of the text
  return p;
}

static struct policy *policy_of(const char *text) {
  struct problems problems = {0};
  struct policy *p = read_text(str_of(text), &problems);
  if (!p) fail_msg("%s", problems.first);
  return p;
}

static void assert_refused(const char *text, const char *why) {
  struct problems problems = {0};
  struct policy *p = read_text(str_of(text), &problems);
  assert_null(p);
  assert_true(problems.errors > 0);
  assert_string_equal(problems.first, why);
}

static void put_answer(const struct policy *p, const char *agent, str server, str tool, struct buf *out) {
  struct policy_decision d = policy_decide(p, policy_find(p, str_of(agent)), server, tool);
  buf_str(out, d.allowed ? STR("ALLOW ") : STR("DENY "));
  policy_put_path(&d, out);
}

// "DENY agents.t.deny.tools.db[0]"
static void assert_decides(const struct policy *p, const char *agent, const char *server, const char *tool,
                           const char *expected) {
  struct buf b;
  buf_init(&b, 4096);
  put_answer(p, agent, str_of(server), str_of(tool), &b);
  buf_char(&b, 0);
  assert_string_equal(b.p, expected);
  buf_done(&b);
}

static void assert_pointer(const struct policy *p, const char *agent, const char *server, const char *tool,
                           const char *expected) {
  struct policy_decision d = policy_decide(p, policy_find(p, str_of(agent)), str_of(server), str_of(tool));
  struct buf b;
  buf_init(&b, 4096);
  policy_put_pointer(&d, &b);
  buf_char(&b, 0);
  assert_string_equal(b.p, expected);
  buf_done(&b);
}

// ---- patterns

static void a_star_stands_for_any_run(void **state) {
  static const struct {
    const char *pattern, *text;
    bool matches;
  } cases[] = {
      {"*", "", true},
      {"*", "x", true},
      {"get_*", "get_", true},
      {"get_*", "get", false},
      {"get_*", "xget_", false},
      {"*_query", "read_query", true},
      {"*_query", "query", false},
      {"a*b*c", "aXbYc", true},
      {"a*b*c", "aXbY", false},
      {"*a*", "banana", true},
      {"**", "x", true},
      {"get?", "get1", false},
      {"get?", "get?", true},
      {"drop_[ab]", "drop_a", false},
      {"A*", "a", false},
      {"", "", true},
      {"", "x", false},
      {"a*a*a*b", "aaaaaaaaaaaaaaaaaaaac", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(glob_match(str_of(cases[i].pattern), str_of(cases[i].text)), cases[i].matches);
}

// ---- decisions

static const char document[] =
    "{\"agents\":{\"t\":{\"allow\":{\"servers\":[\"db\",\"x*\"],\"tools\":{\"db\":[\"*\",\"drop_old\"]}},"
    "\"deny\":{\"servers\":[\"xprod\"],\"tools\":{\"db\":[\"drop_*\",\"never\"]}}}}}";

static void an_explicit_allow_beats_a_wildcard_deny_as_the_document_says(void **state) {
  struct policy *p = policy_of(document);
  assert_decides(p, "t", "db", "query", "ALLOW agents.t.allow.tools.db[0]");
  assert_decides(p, "t", "db", "drop_old", "ALLOW agents.t.allow.tools.db[1]");
  assert_decides(p, "t", "db", "drop_new", "DENY agents.t.deny.tools.db[0]");
  assert_decides(p, "t", "db", "never", "DENY agents.t.deny.tools.db[1]");
  assert_decides(p, "t", "xdev", NULL, "ALLOW agents.t.allow.servers[1]");
  assert_decides(p, "t", "xdev", "any", "DENY agents.t.allow.tools.xdev");
  assert_decides(p, "t", "xprod", "any", "DENY agents.t.deny.servers[0]");
  assert_decides(p, "t", "other", NULL, "DENY agents.t.allow.servers");
  assert_decides(p, "nobody", "db", "query", "DENY agents");
  policy_unref(&p);
}

static void deny_first_denies_before_it_allows_and_grants_what_no_list_names(void **state) {
  char text[1024];
  snprintf(text, sizeof text, "%.*s,\"defaults\":{\"precedence\":\"deny-first\"}}", (int)sizeof document - 2, document);
  struct policy *p = policy_of(text);
  assert_decides(p, "t", "db", "drop_old", "DENY agents.t.deny.tools.db[0]");
  assert_decides(p, "t", "xdev", "any", "ALLOW agents.t.allow.servers[1]");
  assert_decides(p, "t", "xprod", "any", "DENY agents.t.deny.servers[0]");
  policy_unref(&p);
}

static void an_empty_list_restricts_nothing_in_deny_first_and_allows_nothing_in_the_document(void **state) {
#define EMPTY "{\"agents\":{\"t\":{\"allow\":{\"servers\":[\"db\"],\"tools\":{\"db\":[]}}}}"
  struct policy *p = policy_of(EMPTY ",\"defaults\":{\"precedence\":\"deny-first\"}}");
  assert_decides(p, "t", "db", "query", "ALLOW agents.t.allow.servers[0]");
  policy_unref(&p);
  p = policy_of(EMPTY "}");
  assert_decides(p, "t", "db", "query", "DENY agents.t.allow.tools.db");
  policy_unref(&p);
}

static void a_role_has_the_rules_of_its_team_behind_its_own(void **state) {
  struct policy *p = policy_of(
      "{\"agents\":{\"team\":{\"allow\":{\"servers\":[\"*\"],\"tools\":{\"*\":[\"read_*\"],\"db\":[\"query\"]}},"
      "\"deny\":{\"tools\":{\"db\":[\"read_secret\"]}}},"
      "\"team.ops\":{\"allow\":{\"tools\":{\"*\":[\"query\"]}},\"deny\":{\"tools\":{\"*\":[\"read_logs\"]}}}}}");
  assert_decides(p, "team.ops", "db", "query", "ALLOW agents.team.ops.allow.tools.*[0]");
  assert_decides(p, "team", "db", "query", "ALLOW agents.team.allow.tools.db[0]");
  assert_decides(p, "team.ops", "db", "read_secret", "DENY agents.team.deny.tools.db[0]");
  assert_decides(p, "team.ops", "db", "read_logs", "DENY agents.team.ops.deny.tools.*[0]");
  assert_decides(p, "team.ops", "db", "read_x", "ALLOW agents.team.allow.tools.*[0]");
  // One that no rule names has those of its nearest ancestor, and is told of as such.
  assert_decides(p, "team.web.junior", "db", "write", "DENY agents.team.allow.tools.db");
  assert_decides(p, "teams", "db", "query", "DENY agents");
  policy_unref(&p);
}

static void a_pointer_leads_to_the_rule_whatever_its_names_are(void **state) {
  struct policy *p = policy_of(
      "{\"agents\":{\"a.b\":{\"allow\":{\"servers\":[\"s/1\"],\"tools\":{\"s/1\":[\"x\",\"y\"],\"~\":[]}}}}}");
  assert_pointer(p, "a.b", "s/1", "y", "/agents/a.b/allow/tools/s~11/1");
  assert_pointer(p, "a.b", "s/1", "z", "/agents/a.b/allow/tools/s~11");
  assert_pointer(p, "a.b", "q", "z", "/agents/a.b/allow/servers");
  assert_pointer(p, "c", "q", "z", "/agents");
  policy_unref(&p);
}

// ---- the file

static void what_is_wrong_is_told_with_its_place(void **state) {
  assert_refused("[]", " must be an object");
  assert_refused("{\"agents\":[]}", "/agents must be an object");
  assert_refused("{\"agents\":{\"a b\":{}}}",
                 "/agents/a b is not a valid agent name; use letters, digits, _ and -, with dots between parts");
  assert_refused("{\"agents\":{\"a..b\":{}}}",
                 "/agents/a..b is not a valid agent name; use letters, digits, _ and -, with dots between parts");
  assert_refused("{\"agents\":{\"a\":{\"dney\":{}}}}", "/agents/a/dney is an unknown key; use \"allow\" and \"deny\"");
  assert_refused("{\"agents\":{\"a\":{\"deny\":{\"server\":[]}}}}",
                 "/agents/a/deny/server is an unknown key; use \"servers\", \"tools\" and \"methods\"");
  assert_refused("{\"agents\":{\"a\":{\"deny\":{\"servers\":\"*\"}}}}",
                 "/agents/a/deny/servers must be a list of names");
  assert_refused("{\"agents\":{\"a\":{\"deny\":{\"tools\":{\"db\":[\"x\",7]}}}}}",
                 "/agents/a/deny/tools/db/1 must be a name or a pattern with *");
  assert_refused("{\"defaults\":{\"deny_on_missing_agent\":1}}",
                 "/defaults/deny_on_missing_agent must be true or false");
  assert_refused("{\"defaults\":{\"precedence\":\"allow-first\"}}",
                 "/defaults/precedence must be \"document\" or \"deny-first\"");
  assert_refused("{\"agents\":{\"a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a\":{}}}",
                 "/agents/a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a has more than 16 dots");
}

static void a_missing_agent_is_denied_unless_the_file_says_otherwise(void **state) {
  struct policy *strict = policy_of("{\"agents\":{}}");
  struct policy *lenient =
      policy_of("{\"$schema\":\"x\",\"agents\":{\"_note\":1},\"defaults\":{\"deny_on_missing_agent\":false}}");
  assert_true(policy_denies_missing(strict));
  assert_false(policy_denies_missing(lenient));
  assert_int_equal(policy_agent_count(lenient), 0);
  policy_unref(&strict);
  policy_unref(&lenient);
}

static void ids_of_agents_are_words_with_dots(void **state) {
  assert_true(policy_is_agent_id(STR("team-backend_v2")));
  assert_true(policy_is_agent_id(STR("a.b.c")));
  assert_false(policy_is_agent_id(STR("")));
  assert_false(policy_is_agent_id(STR("a.")));
  assert_false(policy_is_agent_id(STR(".a")));
  assert_false(policy_is_agent_id(STR("a\n")));
  assert_false(policy_is_agent_id(STR("ä")));
}

// ---- the cases of the reference

static void run_case(const struct json *rulesets, const struct json *c, const char *order, const char *precedence,
                     struct arena *a) {
  str name, agent, server, tool = STR_NONE, decision, rule;
  const struct json *expected = json_get(c, str_of(order));
  assert_true(json_string(json_get(c, STR("rules")), a, &name));
  assert_true(json_string(json_get(c, STR("agent")), a, &agent) && json_string(json_get(c, STR("server")), a, &server));
  json_string(json_get(c, STR("tool")), a, &tool);
  assert_true(json_string(json_get(expected, STR("decision")), a, &decision));
  assert_true(json_string(json_get(expected, STR("rule")), a, &rule));
  const struct json *rules = json_get(rulesets, name);
  bool denies = true;
  json_bool(json_get(json_get(rules, STR("defaults")), STR("deny_on_missing_agent")), &denies);
  str text = arena_printf(a, "{\"agents\":%.*s,\"defaults\":{\"deny_on_missing_agent\":%s,\"precedence\":\"%s\"}}",
                          STR_ARG(json_span(json_get(rules, STR("agents")))), denies ? "true" : "false", precedence);
  struct policy *p = policy_of(text.p);
  struct buf b;
  buf_init(&b, 4096);
  put_answer(p, arena_cstr(a, agent), server, tool, &b);
  str wanted = arena_printf(a, "%.*s %.*s", STR_ARG(decision), STR_ARG(rule));
  if (!str_eq(wanted, buf_view(&b))) fail_msg("%.*s, %s: %.*s", STR_ARG(json_span(c)), order, STR_ARG(buf_view(&b)));
  buf_done(&b);
  policy_unref(&p);
}

static void every_case_of_the_reference_is_decided_as_it_says_in_both_orders(void **state) {
  FILE *file = fopen("tests/data/policy-cases.json", "rb");
  assert_non_null(file);
  struct buf text;
  struct arena a;
  struct fault f;
  buf_init(&text, 1 << 20);
  for (size_t n = 1; n;) {
    char *room = buf_room(&text, 65536);
    n = fread(room, 1, 65536, file);
    text.n += n;
  }
  fclose(file);
  arena_init(&a);
  const struct json *root = json_parse(&a, buf_view(&text), &json_default_limits, &f);
  const struct json *cases = json_get(root, STR("cases"));
  assert_int_equal(cases->count, 104);
  JSON_EACH(it, cases) {
    run_case(json_get(root, STR("rulesets")), it, "document", "document", &a);
    run_case(json_get(root, STR("rulesets")), it, "deny_first", "deny-first", &a);
  }
  arena_done(&a);
  buf_done(&text);
}

// ---- a naive judge

static uint64_t next_random(uint64_t *s) {
  *s ^= *s << 13;
  *s ^= *s >> 7;
  return *s ^= *s << 17;
}

static const char *const agents[] = {"a", "a.b", "a.b.c", "b", "b.c", "d"};
static const char *const servers[] = {"db", "api", "d"};
static const char *const server_words[] = {"db", "api", "*", "d*", "*i", "x"};
static const char *const keys[] = {"db", "api", "*", "d"};
static const char *const tool_words[] = {"get", "get_*", "*_x", "set", "*", "g*t", "get_x", "drop"};
static const char *const tools[] = {"get", "get_x", "set", "drop", "gut", ""};

#define PICK(list, s) list[next_random(s) % (sizeof list / sizeof *list)]

static void put_words(struct buf *b, const char *const *words, size_t count, uint64_t *s) {
  size_t n = next_random(s) % 4;
  buf_char(b, '[');
  for (size_t i = 0; i < n; i++) buf_printf(b, "%s\"%s\"", i ? "," : "", words[next_random(s) % count]);
  buf_char(b, ']');
}

static void put_section(struct buf *b, const char *name, uint64_t *s) {
  buf_printf(b, "\"%s\":{\"servers\":", name);
  put_words(b, server_words, sizeof server_words / sizeof *server_words, s);
  buf_str(b, STR(",\"tools\":{"));
  unsigned mask = (unsigned)(next_random(s) % 16);
  bool comma = false;
  for (unsigned k = 0; k < 4; k++) {
    if (!(mask >> k & 1)) continue;
    buf_printf(b, "%s\"%s\":", comma ? "," : "", keys[k]);
    put_words(b, tool_words, sizeof tool_words / sizeof *tool_words, s);
    comma = true;
  }
  buf_str(b, STR("}}"));
}

static bool put_rules(struct buf *b, uint64_t *s) {
  bool deny_first = next_random(s) & 1;
  unsigned mask = (unsigned)(next_random(s) % 64);
  bool comma = false;
  buf_str(b, STR("{\"agents\":{"));
  for (unsigned i = 0; i < 6; i++) {
    if (!(mask >> i & 1)) continue;
    buf_printf(b, "%s\"%s\":{", comma ? "," : "", agents[i]);
    put_section(b, "allow", s);
    buf_char(b, ',');
    put_section(b, "deny", s);
    buf_char(b, '}');
    comma = true;
  }
  buf_printf(b, "},\"defaults\":{\"precedence\":\"%s\"}}", deny_first ? "deny-first" : "document");
  return deny_first;
}

// The shortest program that could be right: every list is walked for every class, by the words of the document.
static bool naive_glob(const char *p, const char *t) {
  if (!*p) return !*t;
  if (*p == '*') return naive_glob(p + 1, t) || (*t && naive_glob(p, t + 1));
  return *p == *t && naive_glob(p + 1, t + 1);
}

static void join_list(struct buf *out, const char *agent, const char *section, const char *key) {
  if (key) buf_printf(out, "agents.%s.%s.tools.%s", agent, section, key);
  else buf_printf(out, "agents.%s.%s.servers", agent, section);
}

static bool naive_list(const struct json *root, const char *agent, const char *section, const char *key, int pattern,
                       const char *name, struct buf *out) {
  const struct json *s = json_get(json_get(json_get(root, STR("agents")), str_of(agent)), str_of(section));
  const struct json *list = key ? json_get(json_get(s, STR("tools")), str_of(key)) : json_get(s, STR("servers"));
  unsigned index = 0;
  for (const struct json *it = list ? list->child : NULL; it; it = it->next, index++) {
    char word[32] = {0};
    memcpy(word, it->p + 1, it->n - 2);
    bool star = strchr(word, '*');
    if ((pattern >= 0 && star != pattern) || !naive_glob(word, name)) continue;
    join_list(out, agent, section, key);
    buf_printf(out, "[%u]", index);
    return true;
  }
  return false;
}

// The agent's own name, then what is left when its last part is taken off.
static bool naive_chain(const struct json *root, const char *agent, const char *section, const char *server,
                        int pattern, const char *name, struct buf *out) {
  char id[32];
  snprintf(id, sizeof id, "%s", agent);
  for (;;) {
    if (naive_list(root, id, section, server, pattern, name, out)) return true;
    if (server && naive_list(root, id, section, "*", pattern, name, out)) return true;
    char *dot = strrchr(id, '.');
    if (!dot) return false;
    *dot = 0;
  }
}

static bool naive_has_list(const struct json *root, const char *agent, const char *server) {
  char id[32];
  snprintf(id, sizeof id, "%s", agent);
  for (;;) {
    const struct json *t =
        json_get(json_get(json_get(json_get(root, STR("agents")), str_of(id)), STR("allow")), STR("tools"));
    const struct json *own = json_get(t, str_of(server)), *any = json_get(t, STR("*"));
    if ((own && own->count) || (any && any->count)) return true;
    char *dot = strrchr(id, '.');
    if (!dot) return false;
    *dot = 0;
  }
}

static const char *naive_named(const struct json *root, const char *agent, char id[32]) {
  snprintf(id, 32, "%s", agent);
  for (;;) {
    if (json_get(json_get(root, STR("agents")), str_of(id))) return id;
    char *dot = strrchr(id, '.');
    if (!dot) return NULL;
    *dot = 0;
  }
}

static void naive(const struct json *root, bool deny_first, const char *agent, const char *server, const char *tool,
                  struct buf *out) {
  static const char *const order[2][4] = {{"deny", "allow", "deny", "allow"}, {"deny", "deny", "allow", "allow"}};
  static const int patterns[2][4] = {{0, 0, 1, 1}, {0, 1, 0, 1}};
  char id[32];
  const char *named = naive_named(root, agent, id);
  if (!named) {
    buf_str(out, STR("DENY agents"));
    return;
  }
  buf_str(out, STR("DENY "));
  if (naive_chain(root, agent, "deny", NULL, -1, server, out)) return;
  buf_reset(out);
  buf_str(out, STR("ALLOW "));
  bool served = naive_chain(root, agent, "allow", NULL, -1, server, out);
  if (served && !tool) return;
  if (!served) {
    buf_reset(out);
    buf_printf(out, "DENY agents.%s.allow.servers", named);
    return;
  }
  char implicit[256];
  snprintf(implicit, sizeof implicit, "%.*s", STR_ARG(buf_view(out)));
  for (int i = 0; i < 4; i++) {
    buf_reset(out);
    buf_str(out, order[deny_first][i][0] == 'd' ? STR("DENY ") : STR("ALLOW "));
    if (naive_chain(root, agent, order[deny_first][i], server, patterns[deny_first][i], tool, out)) return;
  }
  buf_reset(out);
  if (deny_first && !naive_has_list(root, agent, server)) buf_str(out, str_of(implicit));
  else buf_printf(out, "DENY agents.%s.allow.tools.%s", named, server);
}

static void compiled_decisions_are_those_of_a_naive_evaluator(void **state) {
  enum { ROUNDS = 100000, QUESTIONS = 3 };
  uint64_t seed = 0x746f6f6c67617465;
  struct buf text, got, wanted;
  struct arena a;
  buf_init(&text, 65536);
  buf_init(&got, 4096);
  buf_init(&wanted, 4096);
  arena_init(&a);
  for (int i = 0; i < ROUNDS; i++) {
    struct problems problems = {0};
    struct fault f;
    buf_reset(&text);
    bool deny_first = put_rules(&text, &seed);
    const struct json *root = json_parse(&a, buf_view(&text), &json_default_limits, &f);
    struct policy *p = policy_read(root, note_problem, &problems);
    assert_non_null(p);
    for (int q = 0; q < QUESTIONS; q++) {
      const char *agent = PICK(agents, &seed), *server = PICK(servers, &seed), *tool = PICK(tools, &seed);
      if (next_random(&seed) % 8 == 0) tool = NULL;
      buf_reset(&got);
      buf_reset(&wanted);
      put_answer(p, agent, str_of(server), tool ? (str){tool, strlen(tool)} : STR_NONE, &got);
      naive(root, deny_first, agent, server, tool, &wanted);
      if (!str_eq(buf_view(&got), buf_view(&wanted)))
        fail_msg("%.*s: %s %s %s: %.*s, not %.*s", STR_ARG(buf_view(&text)), agent, server, tool ? tool : "-",
                 STR_ARG(buf_view(&got)), STR_ARG(buf_view(&wanted)));
    }
    policy_unref(&p);
    arena_reset(&a);
  }
  arena_done(&a);
  buf_done(&text);
  buf_done(&got);
  buf_done(&wanted);
}

static void a_policy_lives_as_long_as_somebody_holds_it(void **state) {
  struct policy *p = policy_of(document), *held = policy_ref(p);
  policy_unref(&p);
  assert_null(p);
  assert_decides(held, "t", "db", "query", "ALLOW agents.t.allow.tools.db[0]");
  policy_unref(&held);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_star_stands_for_any_run),
      cmocka_unit_test(an_explicit_allow_beats_a_wildcard_deny_as_the_document_says),
      cmocka_unit_test(deny_first_denies_before_it_allows_and_grants_what_no_list_names),
      cmocka_unit_test(an_empty_list_restricts_nothing_in_deny_first_and_allows_nothing_in_the_document),
      cmocka_unit_test(a_role_has_the_rules_of_its_team_behind_its_own),
      cmocka_unit_test(a_pointer_leads_to_the_rule_whatever_its_names_are),
      cmocka_unit_test(what_is_wrong_is_told_with_its_place),
      cmocka_unit_test(a_missing_agent_is_denied_unless_the_file_says_otherwise),
      cmocka_unit_test(ids_of_agents_are_words_with_dots),
      cmocka_unit_test(every_case_of_the_reference_is_decided_as_it_says_in_both_orders),
      cmocka_unit_test(compiled_decisions_are_those_of_a_naive_evaluator),
      cmocka_unit_test(a_policy_lives_as_long_as_somebody_holds_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
