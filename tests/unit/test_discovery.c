// SPDX-License-Identifier: Apache-2.0
// Discovery by a governance file: an agent sees a tool exactly if it may call the tool with some arguments and some
// requested mode. Compared with the decisions about calls, over random files.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "govern/run.h"
#include "random_governance.h"

enum { FILES = 1500, AGENTS = 4, CALLS = 6 };

static const struct {
  const char *server, *tool, *capability;
} tools[] = {{"s", "c0", "a.c0"}, {"s", "c1", "a.c1"}, {"s", "c2", "a.c2"},  {"s", "c3", "a.c3"},
             {"s", "c4", "a.c4"}, {"s", "c9", "a.c9"}, {"t", "x", "mcp_t.x"}};
enum { TOOLS = sizeof tools / sizeof *tools };

struct look {
  const struct governance *g;
  const struct json *context;
  struct arena *arena;
  size_t tool;
};

static struct governance_decision decide(const struct look *l, const struct json *args, const char *mode) {
  struct governance_question q = {
      .capability = str_of(tools[l->tool].capability),
      .context = l->context,
      .args = args,
      .mode = mode ? str_of(mode) : STR_NONE,
      .partial = true,
  };
  struct governance_decision d;
  governance_decide(l->g, &q, l->arena, &d);
  return d;
}

static bool shows(const struct look *l, struct governance_verdict *out) {
  struct governance_agent agent = {0};
  governance_agent_settle(&agent, l->context, l->arena);
  governance_agent_look(l->g, &agent, l->arena);
  bool first = governance_shows(l->g, &agent, str_of(tools[l->tool].server), str_of(tools[l->tool].tool), out);
  // The second answer may come from what the agent remembers.
  assert_int_equal(governance_shows(l->g, &agent, str_of(tools[l->tool].server), str_of(tools[l->tool].tool), out),
                   first);
  return first;
}

static struct json *random_value(struct arena *a, void (*put)(struct buf *b)) {
  struct buf b;
  struct fault f;
  buf_init(&b, 1 << 20);
  put(&b);
  struct json *v = json_parse(a, arena_str(a, buf_view(&b)), &json_default_limits, &f);
  assert_non_null(v);
  buf_done(&b);
  return v;
}

// With rules that read no arguments, discovery and calls agree exactly.
static void assert_agrees(const struct look *l, size_t *out_hidden) {
  struct governance_verdict v;
  bool shown = shows(l, &v), callable = decide(l, NULL, NULL).code == GOVERNANCE_ALLOWED;
  for (int mode = 0; mode < 5 && !callable; mode++) callable = decide(l, NULL, modes[mode]).code == GOVERNANCE_ALLOWED;
  if (shown != callable)
    fail_msg("%s is %s, but calls are %s: %.*s", tools[l->tool].capability, shown ? "shown" : "hidden",
             callable ? "allowed" : "denied", STR_ARG(json_span(l->context)));
  if (shown) return;
  struct governance_decision d = decide(l, NULL, NULL);
  assert_string_equal(governance_code_name(v.code), governance_code_name(d.code));
  if (!str_eq(v.pointer, d.pointer)) fail_msg("%.*s is not %.*s", STR_ARG(v.pointer), STR_ARG(d.pointer));
  ++*out_hidden;
}

// If rules read arguments, some shown tools may have no arguments that are allowed. But no call of a hidden tool is.
static void assert_hides_only_denied(const struct look *l, size_t *out_hidden) {
  struct governance_verdict v;
  if (shows(l, &v)) return;
  ++*out_hidden;
  for (int i = 0; i < CALLS; i++) {
    const char *mode = roll(3) ? modes[roll(5)] : NULL;
    struct governance_decision d = decide(l, random_value(l->arena, put_arguments), mode);
    if (d.code == GOVERNANCE_ALLOWED) fail_msg("%s is hidden, but a call is allowed", tools[l->tool].capability);
  }
}

static void look_at_files(void (*check)(const struct look *l, size_t *out_hidden)) {
  struct arena a;
  struct buf problems;
  size_t hidden = 0;
  buf_init(&problems, 1 << 16);
  arena_init(&a);
  for (int i = 0; i < FILES; i++) {
    const struct json *file = random_value(&a, put_file);
    struct governance *g = governance_read(file, governance_note, &problems);
    if (!g) fail_msg("%.*s", STR_ARG(buf_view(&problems)));
    for (int k = 0; k < AGENTS * (int)TOOLS; k++) {
      struct look l = {g, random_value(&a, put_context), &a, (size_t)k % TOOLS};
      check(&l, &hidden);
    }
    governance_unref(&g);
    arena_reset(&a);
  }
  size_t all = (size_t)FILES * AGENTS * TOOLS;
  if (hidden < all / 10 || hidden > all / 10 * 9) fail_msg("%zu of %zu tools are hidden", hidden, all);
  arena_done(&a);
  buf_done(&problems);
}

static void a_tool_is_shown_exactly_if_some_call_is_allowed(void **state) {
  without_arguments = true;
  look_at_files(assert_agrees);
}

static void no_call_of_a_hidden_tool_is_allowed(void **state) {
  without_arguments = false;
  look_at_files(assert_hides_only_denied);
}

// ---- single cases

static void assert_sees(const char *file, const char *context, const char *expected) {
  struct governance *g = governance_of(file);
  struct arena a;
  struct governance_verdict v;
  arena_init(&a);
  struct look l = {g, governance_parse(&a, governance_quoted(&a, context)), &a, 0};
  if (shows(&l, &v)) assert_string_equal("", expected);
  else
    assert_string_equal(arena_cstr(&a, arena_printf(&a, "%s %.*s", governance_code_name(v.code), STR_ARG(v.pointer))),
                        expected);
  arena_done(&a);
  governance_unref(&g);
}

#define FILE_WITH(mode, rules) \
  "{'adapters':[{'adapter_id':'a','type':'MCP','server':'s','capabilities':[" \
  "{'name':'c0','class':'act','approval_mode':'" mode "'}]}]," \
  "'permissions':[{'permission_id':'p','adapter_id':'a','capability':'c0','allow':true}]" \
  ",'bundles':[{'bundle_id':'b','policy_dsl':{'language':'jsonlogic','rules':[" rules "]}}]}"
#define ANY "{'rule_id':'any','then':{'allow':true}}"
#define RULE(condition, then) "{'rule_id':'r','if':" condition ",'then':{" then "}}," ANY

static void a_rule_about_the_context_hides_what_it_denies(void **state) {
  static const char by_role[] = FILE_WITH("destructive", RULE("{'==':[{'var':'role'},'intern']}", "'allow':false"));
  static const char by_tool[] =
      FILE_WITH("destructive", RULE("{'and':[{'==':[{'var':'capability'},'a.c0']},{'==':[{'var':'role'},'intern']}]}",
                                    "'allow':false"));
  static const char by_scope[] =
      FILE_WITH("destructive", RULE("{'some':[{'var':'scopes'},{'==':[{'var':''},'trial']}]}", "'allow':false"));
  static const char by_argument[] = FILE_WITH(
      "destructive", RULE("{'and':[{'==':[{'var':'role'},'intern']},{'>':[{'var':'args.n'},5]}]}", "'allow':false"));
  static const char *const files[] = {by_role, by_tool, by_scope};
  for (size_t i = 0; i < 3; i++) {
    assert_sees(files[i], "{'role':'lead','scopes':['full']}", "");
    assert_sees(files[i], "{'role':'intern','scopes':['trial']}", "POLICY_DENIED /bundles/0/policy_dsl/rules/0");
  }
  assert_sees(by_argument, "{'role':'intern'}", "");
}

static void a_tool_that_only_a_user_may_use_is_hidden_from_a_service(void **state) {
  static const char delegated[] = FILE_WITH("delegated", ANY);
  static const char lowered[] =
      FILE_WITH("delegated", RULE("{'>':[{'var':'args.n'},5]}", "'allow':true,'approval_mode':'network'"));
  static const char *const user = "{'principals':[{'kind':'user','id':'u'}]}";
  static const char *const service = "{'principals':[{'kind':'service','id':'u'}]}";
  assert_sees(delegated, user, "");
  assert_sees(delegated, service, "DELEGATION_REQUIRED /adapters/0/capabilities/0");
  assert_sees(lowered, service, "");
}

// Otherwise the answer would show which tools exist.
static void a_name_that_no_tool_has_is_treated_like_an_unknown_tool(void **state) {
  struct governance *g = governance_of("{'adapters':[{'adapter_id':'a','type':'MCP','server':'s','capabilities':[]}],"
                                       "'context':{'unlisted_tools':'provisional','unlisted_servers':'provisional'}}");
  static const char *const names[] = {"none", "", "a\nb"};
  static const char *const servers[] = {"s", "t"};
  struct arena a;
  struct governance_agent agent = {0};
  arena_init(&a);
  governance_agent_settle(&agent, governance_parse(&a, "{}"), &a);
  governance_agent_look(g, &agent, &a);
  for (size_t i = 0; i < 6; i++) {
    struct governance_verdict v;
    assert_true(governance_shows(g, &agent, str_of(servers[i % 2]), str_of(names[i / 2]), &v));
  }
  agent.safety = APPROVAL_READ_ONLY;
  for (size_t i = 0; i < 6; i++) {
    struct governance_verdict v;
    assert_false(governance_shows(g, &agent, str_of(servers[i % 2]), str_of(names[i / 2]), &v));
    assert_int_equal(v.code, GOVERNANCE_MODE_ABOVE_RUN_CEILING);
  }
  arena_done(&a);
  governance_unref(&g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_tool_is_shown_exactly_if_some_call_is_allowed),
      cmocka_unit_test(no_call_of_a_hidden_tool_is_allowed),
      cmocka_unit_test(a_rule_about_the_context_hides_what_it_denies),
      cmocka_unit_test(a_tool_that_only_a_user_may_use_is_hidden_from_a_service),
      cmocka_unit_test(a_name_that_no_tool_has_is_treated_like_an_unknown_tool),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
