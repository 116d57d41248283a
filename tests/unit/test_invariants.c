// SPDX-License-Identifier: Apache-2.0
// What nothing can tune: the highest approval mode of a capability, constraints on arguments, credentials, tenants, and
// idempotency. Each test tries to weaken one of them: by members of the governance file, by requests, rules, aliases,
// versions, hints of servers, tokens, and reloads. tests/e2e/skill-run.test.mjs does the same with skills.
#include "governed_world.h"

#include "governance_world.h"

// ---- members of the governance file

// Reads a governance file in which `more` follows these members.
static struct governance *reads(const char *adapter, const char *capability, const char *permission, const char *more,
                                struct buf *problems) {
  struct arena a;
  arena_init(&a);
  str file = arena_printf(&a,
                          "{'adapters':[{'adapter_id':'adp','type':'MCP','server':'bank'%s,'capabilities':["
                          "{'name':'pay','class':'act','approval_mode':'delegated'%s},"
                          "{'name':'look','class':'observe','approval_mode':'read_only'}]}],'permissions':["
                          "{'permission_id':'p','adapter_id':'adp','capability':'pay','allow':true%s}]%s}",
                          adapter, capability, permission, more);
  struct governance *g = governance_try(arena_cstr(&a, file), problems);
  arena_done(&a);
  return g;
}

static bool is_refused(const char *adapter, const char *capability, const char *permission, const char *more) {
  struct buf problems;
  buf_init(&problems, 1 << 14);
  struct governance *g = reads(adapter, capability, permission, more, &problems);
  bool refused = !g;
  governance_unref(&g);
  buf_done(&problems);
  return refused;
}

enum part { OF_ADAPTER, OF_CAPABILITY, OF_PERMISSION, OF_FILE };

struct attempt {
  enum part part;
  const char *members;
};

#define RULES(then) \
  ",'bundles':[{'bundle_id':'b','policy_dsl':{'language':'jsonlogic','rules':[" \
  "{'rule_id':'r','then':{'allow':true" then "}}]}}]"
#define VERSION(more) ",'versions':[{'version':'2','server':'next'" more "}]"
#define ALIAS(more) ",'aliases':[{'alias':'a','capability_id':'adp.look'" more "}]"

static void all_are_refused(const struct attempt *attempts, size_t count) {
  assert_false(is_refused("", "", "", ""));
  for (size_t i = 0; i < count; i++) {
    const char *more[OF_FILE + 1] = {"", "", "", ""};
    more[attempts[i].part] = attempts[i].members;
    if (!is_refused(more[OF_ADAPTER], more[OF_CAPABILITY], more[OF_PERMISSION], more[OF_FILE]))
      fail_msg("a file with %s is accepted", attempts[i].members);
  }
}
#define ALL_ARE_REFUSED(list) all_are_refused(list, sizeof(list) / sizeof *(list))

static void a_version_a_rule_and_an_alias_alone_are_accepted(void **state) {
  assert_false(is_refused(VERSION(""), "", "", RULES("")));
  assert_false(is_refused("", "", ",'arg_constraints':{'amount':{'max':100,'unless_approved':true}}", ALIAS("")));
}

static void no_member_of_the_file_raises_a_mode_above_the_highest(void **state) {
  static const struct attempt attempts[] = {
      {OF_ADAPTER, ",'approval_mode':'destructive'"},
      {OF_ADAPTER, ",'max_mode':'destructive'"},
      {OF_ADAPTER, VERSION(",'approval_mode':'destructive'")},
      {OF_ADAPTER, VERSION(",'capabilities':[{'name':'pay','class':'act','approval_mode':'destructive'}]")},
      {OF_CAPABILITY, ",'modes':['destructive']"},
      {OF_PERMISSION, ",'approval_mode':'destructive'"},
      {OF_PERMISSION, ",'approval_mode':'all'"},
      {OF_FILE, ALIAS(",'approval_mode':'destructive'")},
      {OF_FILE, ",'aliases':[{'alias':'a','capability_id':'adp.pay'}]"},  // an effect that looks like a read
      {OF_FILE, ",'intents':{'read_only':{'classes':['act']}}"},
      {OF_FILE, ",'intents':{'x':{'classes':['act'],'approval_mode':'destructive'}}"},
      {OF_FILE, RULES(",'approval_mode':'all'")},
      {OF_FILE, RULES(",'max_mode':'destructive'")},
      {OF_FILE, ",'bundles':[{'bundle_id':'b','approval_mode':'destructive'}]"},
      {OF_FILE, ",'context':{'defaults':{'safety_mode':'all'}}"},
      {OF_FILE, ",'context':{'approval_modes':{'adp.pay':'destructive'}}"},
      // Another adapter for the same server, or the same capability.
      {OF_FILE, ",'manifests':{'x':{'adapter_id':'other','type':'MCP','server':'bank','capabilities':["
                "{'name':'pay','class':'act','approval_mode':'destructive'}]}}"},
      {OF_FILE, ",'manifests':{'x':{'adapter_id':'adp','type':'MCP','capabilities':["
                "{'name':'pay','class':'act','approval_mode':'destructive'}]}}"},
      {OF_FILE, ",'servers':{'bank':{'adapter':{'adapter_id':'adp','type':'MCP','capabilities':["
                "{'name':'pay','class':'act','approval_mode':'destructive'}]}}}"},
  };
  ALL_ARE_REFUSED(attempts);
}

static void no_member_of_the_file_drops_an_argument_constraint(void **state) {
  static const struct attempt attempts[] = {
      {OF_ADAPTER, ",'arg_constraints':{}"},
      {OF_ADAPTER, VERSION(",'arg_constraints':{}")},
      {OF_CAPABILITY, ",'arg_constraints':{}"},
      {OF_PERMISSION, ",'arg_constraints':{'amount':{'max':100,'optional':true}}"},
      {OF_PERMISSION, ",'arg_constraints':{'amount':{'max':'100'}}"},
      {OF_PERMISSION, ",'arg_constraints':{'amount':{'max':100,'unless_approved':'no'}}"},
      {OF_PERMISSION, ",'arg_constraints':null"},
      {OF_FILE, ALIAS(",'arg_constraints':{}")},
      {OF_FILE, RULES(",'ignore_constraints':true")},
      {OF_FILE, RULES(",'arg_constraints':false")},
  };
  ALL_ARE_REFUSED(attempts);
}

static void no_member_of_the_file_changes_credentials(void **state) {
  static const char *const members[] = {",'credentials':'none'", ",'exchange':false", ",'auth':{}",
                                        ",'token':'x'",          ",'headers':{}",     ",'env':{}"};
  for (size_t i = 0; i < sizeof members / sizeof *members; i++)
    for (int part = OF_ADAPTER; part <= OF_FILE; part++) {
      struct attempt attempt = {(enum part)part, members[i]};
      all_are_refused(&attempt, 1);
    }
  static const struct attempt attempts[] = {
      {OF_ADAPTER, VERSION(",'headers':{}")},    {OF_ADAPTER, ",'sign_metadata':'no'"},
      {OF_ADAPTER, ",'sign_metadata':true"},  // without a key
      {OF_FILE, ALIAS(",'credentials':'none'")}, {OF_FILE, RULES(",'credentials':'none'")},
  };
  ALL_ARE_REFUSED(attempts);
}

static void no_member_of_the_file_lets_a_token_set_who_it_is(void **state) {
  static const struct attempt attempts[] = {
      {OF_FILE, ",'context':{'claims':{'agent':'x'}}"},
      {OF_FILE, ",'context':{'claims':{'principals':'x'}}"},
      {OF_FILE, ",'context':{'claims':{'user':'x'}}"},
      {OF_FILE, ",'context':{'claims':{'workload':'x'}}"},
      {OF_FILE, ",'context':{'defaults':{'tenant':['*']}}"},
      {OF_PERMISSION, ",'tenants':'*'"},
      {OF_ADAPTER, ",'tenants':['*']"},
      {OF_CAPABILITY, ",'tenants':['*']"},
  };
  ALL_ARE_REFUSED(attempts);
}

static void idempotency_can_be_required_or_native_and_nothing_else(void **state) {
  static const char *const values[] = {"'none'", "'off'", "'optional'", "'REQUIRED'", "''", "false", "null", "0", "{}"};
  char member[64];
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    snprintf(member, sizeof member, ",'default_idempotency':%s", values[i]);
    struct attempt attempts[] = {
        {OF_ADAPTER, member}, {OF_CAPABILITY, member}, {OF_PERMISSION, member}, {OF_FILE, member}};
    ALL_ARE_REFUSED(attempts);
  }
  static const struct attempt attempts[] = {
      {OF_ADAPTER, VERSION(",'default_idempotency':'native'")},
      {OF_PERMISSION, ",'default_idempotency':'native'"},
      {OF_FILE, ALIAS(",'default_idempotency':'native'")},
      {OF_FILE, RULES(",'default_idempotency':'native'")},
      {OF_FILE, ",'idempotency':false"},
  };
  ALL_ARE_REFUSED(attempts);
  assert_false(is_refused(",'default_idempotency':'native'", ",'default_idempotency':'required'", "", ""));
}

// ---- calls

#define BANK(pay_more, permission_more, more) \
  "'adapters':[{'adapter_id':'adp','type':'MCP','server':'bank','capabilities':[" \
  "{'name':'pay','class':'act','approval_mode':'delegated'" pay_more "}," \
  "{'name':'look','class':'observe','approval_mode':'read_only'}]}]," \
  "'permissions':[{'permission_id':'p_pay','adapter_id':'adp','capability':'pay','allow':true," \
  "'arg_constraints':{'amount':{'required':true,'max':100}}" permission_more "}," \
  "{'permission_id':'p_look','adapter_id':'adp','capability':'look','allow':true,'arg_constraints':{'n':{'max':5}}}]," \
  "'context':{'agents':{'ann':{'user':{'id':'u'},'tenant':'acme'},'low':{'user':{'id':'u'},'safety_mode':'network'}," \
  "'eve':{'user':{'id':'u'},'tenant':'globex'}},'claims':{'tenant':'org','safety_mode':'mode'}}" more
#define RULE(id, condition, then) "{'rule_id':'" id "','if':" condition ",'then':{'allow':true" then "}}"
#define BUNDLE(rules) \
  ",'bundles':[{'bundle_id':'b','policy_dsl':{'language':'jsonlogic','rules':[" rules "]},'approval_gates':[" \
  "{'gate_id':'G','required_approver_role':'lead'}]}]"
#define AMOUNT(operator, n) "{'" operator"':[{'var':'args.amount'}," n "]}"

// A server with two tools: `pay`, whose annotations are `hints`, and `look`.
static struct server *a_bank(struct world *w, const char *name, const char *members, const char *hints) {
  struct server *s = serves(w, name, members);
  char pay[256];
  snprintf(pay, sizeof pay, "{'name':'pay','inputSchema':{'type':'object'},'annotations':%s}", hints);
  has_tool(s, pay);
  has_tool(s, "{'name':'look','inputSchema':{'type':'object','properties':{'n':{'type':'integer'}}},"
              "'annotations':{'readOnlyHint':true}}");
  return s;
}

// Members of _meta by which a client could try to get more than the file allows.
static const char *const metas[] = {
    "'toolgate/safetyMode':'destructive'",
    "'toolgate/mode':'network'",
    "'toolgate/mode':'delegated','toolgate/safetyMode':'delegated'",
    "'toolgate/approved':true,'toolgate/approval':{'gate_id':'G','status':'approved'}",
    "'toolgate/context':{'role':'lead','tenant':'globex','safety_mode':'destructive'}",
    "'toolgate/tenant':'globex','toolgate/role':'lead','toolgate/intent':'any'",
    "'toolgate/run':{'id':'r','maxCalls':9}",
    "'io.toolgate/decision':'eyJhbGciOiJub25lIn0..','io.toolgate/idempotency_key':'ik_0123456789abcdef'",
    "'toolgate/alias':'pay','toolgate/version':'2','toolgate/provisional':false",
};

static void every_meta_ends_with(struct world *w, struct agent *a, const char *args, const char *code) {
  char more[512];
  expect_fault(calls(a, "bank:pay", args), code);
  for (size_t i = 0; i < sizeof metas / sizeof *metas; i++) {
    snprintf(more, sizeof more, "'_meta':{%s}", metas[i]);
    expect_fault(calls_with(a, "bank:pay", args, more), code);
  }
}

static void no_request_raises_the_mode_of_a_call(void **state) {
  struct world *w = *state;
  struct server *bank = a_bank(w, "bank", NULL, "{}");
  governed_by(w, BANK("", "",
                      BUNDLE(RULE("small", AMOUNT("<=", "10"),
                                  ",'approval_mode':'network'") "," RULE("other", AMOUNT(">", "10"), ""))));
  struct agent *low = arrives_as(w, MODE_DIRECT, "low"), *ann = arrives_as(w, MODE_DIRECT, "ann");
  every_meta_ends_with(w, low, "{'amount':50}", "MODE_ABOVE_RUN_CEILING");
  expect_fault(calls_with(ann, "bank:pay", "{'amount':50}", "'_meta':{'toolgate/mode':'destructive'}"),
               "MODE_EXCEEDS_MAXIMUM");
  expect_called(bank, "");
  expect_text(calls(low, "bank:pay", "{'amount':10}"), "ok");
  expect_called(bank, "pay {'amount':10}\n");
}

#define UP RULE("up", AMOUNT("==", "1"), ",'approval_mode':'destructive'")
#define DOWN RULE("down", AMOUNT("==", "2"), ",'approval_mode':'read_only'")
#define BOTH \
  RULE("b1", AMOUNT("==", "3"), ",'approval_mode':'network'") \
  "," RULE("b2", AMOUNT("==", "3"), ",'approval_mode':'destructive'")
static void no_rule_raises_a_mode_or_lowers_an_effect_to_a_read(void **state) {
  struct world *w = *state;
  struct server *bank = a_bank(w, "bank", NULL, "{}");
  governed_by(w, BANK("", "", BUNDLE(UP "," DOWN "," BOTH)));
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_fault(calls(ann, "bank:pay", "{'amount':1}"), "MODE_RAISE_FORBIDDEN");
  expect_fault(calls(ann, "bank:pay", "{'amount':2}"), "CLASS_MODE_CONFLICT");
  expect_fault(calls(ann, "bank:pay", "{'amount':3}"), "MODE_RAISE_FORBIDDEN");
  expect_called(bank, "");
}

static void no_token_raises_safety_mode_or_changes_the_tenant(void **state) {
  struct world *w = *state;
  struct server *bank = a_bank(w, "bank", NULL, "{}");
  governed_by(w, BANK("", ",'tenants':['acme']", ""));
  static const struct {
    const char *agent, *claims, *code;
  } tokens[] = {
      {"low", "{\"sub\":\"u\",\"org\":\"acme\",\"mode\":\"destructive\"}", "ARGS_INVALID"},  // the tool is hidden
      {"eve", "{\"sub\":\"u\",\"org\":\"acme\"}", "TENANT_MISMATCH"},
      {"eve", "{\"sub\":\"u\",\"tenant\":\"acme\",\"org\":\"globex\"}", "ARGS_INVALID"},
      {"ann", "{\"sub\":\"u\",\"org\":\"globex\"}", "TENANT_MISMATCH"},
      {"ann", "{\"sub\":\"u\",\"org\":\"acme\",\"act\":{\"sub\":\"x\",\"org\":\"globex\"}}", "TENANT_MISMATCH"},
  };
  for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
    struct client_identity who = {.mode = MODE_DIRECT,
                                  .name = str_of(tokens[i].agent),
                                  .agent = str_of(tokens[i].agent),
                                  .claims = str_of(tokens[i].claims)};
    expect_fault(calls(enters(w, who, "{}"), "bank:pay", "{'amount':1}"), tokens[i].code);
  }
  expect_called(bank, "");
}

static void no_member_of_a_request_crosses_tenants(void **state) {
  struct world *w = *state;
  struct server *bank = a_bank(w, "bank", NULL, "{}");
  governed_by(w, BANK("", ",'tenants':['acme']", ""));
  struct agent *eve = arrives_as(w, MODE_DIRECT, "eve");
  every_meta_ends_with(w, eve, "{'amount':1,'tenant':'acme'}", "ARGS_INVALID");
  struct agent *named = arrives_as(w, MODE_GATEWAY, "eve");
  expect_fault(calls(named, "bank:pay", "{'amount':1}"), "TOOL_NOT_FOUND");
  expect_called(bank, "");
}

static void no_form_of_the_arguments_passes_a_constraint(void **state) {
  struct world *w = *state;
  struct server *bank = a_bank(w, "bank", NULL, "{}");
  given(w, "tolerant_args: true\n");
  governed_by(w, BANK("", "", ""));
  static const char *const args[] = {
      "{'amount':101}",
      "{'amount':1e3}",
      "{'amount':100.0000000000000000001}",
      "{'amount':'1'}",
      "{'amount':[1]}",
      "{'amount':null}",
      "{'\\u0061mount':101}",
      "{}",
      "{'x':{'amount':1}}",
  };
  struct agent *direct = arrives_as(w, MODE_DIRECT, "ann"), *gateway = arrives_as(w, MODE_GATEWAY, "ann");
  struct agent *servers = arrives_as(w, MODE_SERVERS, "ann");
  for (size_t i = 0; i < sizeof args / sizeof *args; i++) {
    expect_fault(calls(direct, "bank:pay", args[i]), "ARG_CONSTRAINT_VIOLATION");
    expect_fault(calls(gateway, "bank:pay", args[i]), "ARG_CONSTRAINT_VIOLATION");
    expect_fault(calls(servers, "bank:pay", args[i]), "ARG_CONSTRAINT_VIOLATION");
  }
  // A server may read a name in another case as the constrained argument.
  expect_fault(calls(direct, "bank:pay", "{'amount':1,'Amount':101}"), "ARGS_INVALID");
  every_meta_ends_with(w, direct, "{'amount':101}", "ARG_CONSTRAINT_VIOLATION");
  expect_called(bank, "");
}

static void a_rule_with_a_lower_mode_drops_no_constraint(void **state) {
  struct world *w = *state;
  struct server *bank = a_bank(w, "bank", NULL, "{}");
  governed_by(w, BANK("", "",
                      BUNDLE(RULE("any", "true",
                                  ",'approval_mode':'local_write','arg_constraints':{"
                                  "'amount':{'max':1000,'required':false}}"))));
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_fault(calls(ann, "bank:pay", "{'amount':101}"), "ARG_CONSTRAINT_VIOLATION");
  expect_fault(calls(ann, "bank:pay", "{}"), "ARG_CONSTRAINT_VIOLATION");
  expect_called(bank, "");
}

#define WAIVABLE ",'arg_constraints':{'amount':{'max':20,'unless_approved':true}}"
static void unless_approved_waives_nothing_without_an_approval(void **state) {
  struct world *w = *state;
  struct server *bank = a_bank(w, "bank", NULL, "{}");
  governed_by(w, BANK("", "",
                      BUNDLE(RULE("free", AMOUNT("<", "50"), WAIVABLE) "," RULE(
                          "gated", AMOUNT(">=", "50"), ",'requires_approval_gate':'G'" WAIVABLE))));
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  every_meta_ends_with(w, ann, "{'amount':49}", "ARG_CONSTRAINT_VIOLATION");   // no gate can approve the call
  every_meta_ends_with(w, ann, "{'amount':60}", "APPROVAL_REQUIRED");          // nobody has approved it
  every_meta_ends_with(w, ann, "{'amount':101}", "ARG_CONSTRAINT_VIOLATION");  // no approval waives the permission's
  expect_called(bank, "");
}

static void an_alias_keeps_the_constraints_of_its_capability(void **state) {
  struct world *w = *state;
  struct server *bank = a_bank(w, "bank", NULL, "{}");
  governed_by(w, BANK("", "",
                      ",'aliases':[{'alias':'peek','capability_id':'adp.look'},"
                      "{'alias':'peek_all','capability_id':'adp.look','args_template':{'n':9}}]"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  expect_fault(uses(ann, "peek", "{'n':6}"), "ARG_CONSTRAINT_VIOLATION");
  expect_fault(uses(ann, "peek_all", "{}"), "ARG_CONSTRAINT_VIOLATION");
  expect_fault(uses(ann, "peek_all", "{'n':1}"), "ARG_CONSTRAINT_VIOLATION");  // a call cannot replace the fixed value
  expect_called(bank, "");
  expect_text(uses(ann, "peek", "{'n':5}"), "ok");
  expect_called(bank, "look {'n':5}\n");
}

static void a_version_has_the_modes_constraints_and_tenants_of_its_adapter(void **state) {
  struct world *w = *state;
  struct server *bank = a_bank(w, "bank", NULL, "{}"), *next = a_bank(w, "next", NULL, "{'readOnlyHint':true}");
  governed_by(w, "'adapters':[{'adapter_id':'adp','type':'MCP','server':'bank','versions':["
                 "{'version':'2','server':'next'}],'capabilities':["
                 "{'name':'pay','class':'act','approval_mode':'delegated'}]}],"
                 "'permissions':[{'permission_id':'p','adapter_id':'adp','capability':'pay','allow':true,"
                 "'tenants':['acme'],'arg_constraints':{'amount':{'max':100}}}],"
                 "'context':{'defaults':{'user':{'id':'u'}},'agents':{'ann':{'tenant':'acme'},"
                 "'low':{'tenant':'acme','safety_mode':'network'},'eve':{'tenant':'globex'}}}");
  struct agent *ann = arrives_as(w, MODE_SERVERS, "ann"), *low = arrives_as(w, MODE_SERVERS, "low");
  struct agent *eve = arrives_as(w, MODE_SERVERS, "eve");
  static const char *const names[] = {"bank:pay", "next:pay"};
  for (size_t i = 0; i < 2; i++) {
    expect_fault(calls(ann, names[i], "{'amount':101}"), "ARG_CONSTRAINT_VIOLATION");
    expect_fault(calls_with(ann, names[i], "{'amount':1}", "'_meta':{'toolgate/mode':'destructive'}"), "ARGS_INVALID");
    expect_fault(calls(low, names[i], "{'amount':1}"), "DENIED_BY_POLICY");
    expect_fault(calls(eve, names[i], "{'amount':1}"), "DENIED_BY_POLICY");
  }
  expect_called(bank, "");
  expect_called(next, "");
}

static void a_version_with_other_credentials_gets_no_calls(void **state) {
  struct world *w = *state;
  struct server *bank = a_bank(w, "bank", "'env':{'TOKEN':'x'}", "{}"), *next = a_bank(w, "next", NULL, "{}");
  governed_by(w, "'adapters':[{'adapter_id':'adp','type':'MCP','server':'bank','versions':["
                 "{'version':'2','server':'next'}],'capabilities':["
                 "{'name':'pay','class':'act','approval_mode':'delegated'}]}],"
                 "'permissions':[{'permission_id':'p','adapter_id':'adp','capability':'pay','allow':true}],"
                 "'context':{'defaults':{'user':{'id':'u'}}}");
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  expect_text(calls(ann, "bank:pay", "{}"), "ok");
  expect_called(bank, "pay {}\n");
  expect_called(next, "");
}

// ---- hints of servers

static void hints_of_a_server_change_no_listed_capability(void **state) {
  struct world *w = *state;
  struct server *bank = a_bank(w, "bank", NULL, "{'readOnlyHint':true,'destructiveHint':false}");
  governed_by(w, BANK("", "", ""));
  struct agent *low = arrives_as(w, MODE_DIRECT, "low"), *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_fault(calls(low, "bank:pay", "{'amount':1}"), "ARGS_INVALID");  // delegated: hidden
  expect_fault(calls(ann, "bank:pay", "{'amount':101}"), "ARG_CONSTRAINT_VIOLATION");
  expect_called(bank, "");
}

static void a_provisional_effect_is_destructive_whatever_else_is_said(void **state) {
  struct world *w = *state;
  struct server *bank = a_bank(w, "bank", NULL, "{'readOnlyHint':true,'destructiveHint':true}");
  struct server *shop = a_bank(w, "shop", NULL, "{'destructiveHint':false,'idempotentHint':true}");
  governed_by(w, "'context':{'unlisted_servers':'provisional','agents':{'low':{'safety_mode':'delegated'}}}");
  struct agent *low = arrives_as(w, MODE_SERVERS, "low");
  expect_fault(calls(low, "bank:pay", "{}"), "DENIED_BY_POLICY");
  expect_fault(calls(low, "shop:pay", "{}"), "DENIED_BY_POLICY");
  assert_true(is_governed_anew_by(w, BANK(",'provisional':true", "", "")));
  struct agent *ann = arrives_as(w, MODE_SERVERS, "ann");
  expect_text(calls(ann, "bank:pay", "{'amount':1}"), "ok");
  assert_true(is_governed_anew_by(w, BANK(",'provisional':true", ",'approval_mode':'delegated'", "")));
  expect_fault(calls(ann, "bank:pay", "{'amount':1}"), "DENIED_BY_POLICY");  // destructive, above the permission
  expect_called(bank, "pay {'amount':1}\n");
  expect_called(shop, "");
}

// ---- what servers get

static void a_client_cannot_pass_a_decision_to_the_server(void **state) {
  struct world *w = *state;
  struct server *bank = a_bank(w, "bank", NULL, "{}");
  governed_by(w, BANK("", "", ""));
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_text(calls_with(ann, "bank:pay", "{'amount':1}", "'_meta':{'io.toolgate/decision':'forged','own':1}"), "ok");
  assert_true(contains(bank->request, STR("\"own\":1")));
  assert_false(contains(bank->request, STR("forged")));
}

// ---- reloads

// The gateway reads toolgate.yaml again. Returns whether the new configuration is in force.
static bool takes(struct world *w, const char *yaml) {
  char *const env[] = {(char *)"PATH=/bin", NULL};
  struct config next = {0};
  struct config_options options = w->place->options;
  write_file("toolgate.yaml", yaml);
  options.before = w->gateway.config;
  config_problems_done(&w->place->problems);
  bool ok = config_load(&next, &options, env, &w->place->problems);
  config_done(&next);
  return ok;
}

static void no_reload_weakens_a_file_that_is_in_force(void **state) {
  struct world *w = *state;
  struct server *bank = a_bank(w, "bank", NULL, "{}");
  governed_by(w, BANK("", "", ""));
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_fault(calls(ann, "bank:pay", "{'amount':101}"), "ARG_CONSTRAINT_VIOLATION");
  assert_false(is_governed_anew_by(w, BANK("", ",'approval_mode':'destructive'", "")));
  assert_false(is_governed_anew_by(w, BANK(",'default_idempotency':'none'", "", "")));
  assert_false(is_governed_anew_by(w, BANK("", ",'unconstrained':true", "")));
  assert_false(is_governed_anew_by(w, BANK("", "", ",'aliases':[{'alias':'a','capability_id':'adp.pay'}]")));
  assert_false(is_governed_anew_by(w, BANK("", "", ",'context':{}")));  // a second member with the same name
  write_file("governance.json", "");
  assert_false(takes(w, "state_dir: none\ngovernance: governance.json\n"));
  assert_false(takes(w, "state_dir: none\ngovernance: absent.json\n"));
  assert_false(takes(w, "state_dir: none\n"));  // without the key
  expect_fault(calls(ann, "bank:pay", "{'amount':101}"), "ARG_CONSTRAINT_VIOLATION");
  expect_called(bank, "");
}

static void a_cached_result_does_not_outlive_its_permission(void **state) {
  struct world *w = *state;
  struct server *bank = a_bank(w, "bank", NULL, "{}");
  given(w, "cache: {read_only: true}\n");
  governed_by(w, BANK("", "", ""));
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_text(calls(ann, "bank:look", "{'n':1}"), "ok");
  expect_text(calls(ann, "bank:look", "{'n':1}"), "ok");
  expect_called(bank, "look {'n':1}\n");
  assert_true(is_governed_anew_by(w, "'adapters':[{'adapter_id':'adp','type':'MCP','server':'bank','capabilities':["
                                     "{'name':'look','class':'observe','approval_mode':'read_only'}]}],"
                                     "'permissions':[{'permission_id':'p','adapter_id':'adp','capability':'look',"
                                     "'allow':true,'arg_constraints':{'n':{'min':2}}}]"));
  expect_fault(calls(ann, "bank:look", "{'n':1}"), "ARG_CONSTRAINT_VIOLATION");
  expect_called(bank, "");
}

// ---- idempotency

static void a_key_outside_of_the_arguments_does_not_satisfy_a_constraint_on_the_key(void **state) {
  struct world *w = *state;
  struct server *bank = a_bank(w, "bank", NULL, "{}");
  governed_by(w, "'adapters':[{'adapter_id':'adp','type':'MCP','server':'bank','capabilities':["
                 "{'name':'pay','class':'act','approval_mode':'delegated'}]}],"
                 "'permissions':[{'permission_id':'p','adapter_id':'adp','capability':'pay','allow':true,"
                 "'arg_constraints':{'idempotency_key':{'required':true,'pattern':'^ik_[a-z0-9]{16}$'}}}],"
                 "'context':{'defaults':{'user':{'id':'u'}}}");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  every_meta_ends_with(w, ann, "{}", "ARG_CONSTRAINT_VIOLATION");
  every_meta_ends_with(w, ann, "{'idempotency_key':'ik_short'}", "ARG_CONSTRAINT_VIOLATION");
  expect_called(bank, "");
}

// ---- without a governance file

static void without_a_governance_file_nothing_changes_for_anybody(void **state) {
  struct world *w = *state;
  struct server *bank = a_bank(w, "bank", NULL, "{}");
  struct agent *gateway = arrives(w, MODE_GATEWAY), *direct = arrives(w, MODE_DIRECT);
  static const char *const members[] = {"filter", "plan_check", "toolgate/alias"};
  const struct json *list = asks(gateway, "tools/list", "{}");
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) expect_no_part(list, members[i]);
  const struct json *cards = uses(gateway, "tool_browse", "{'query':'pay'}");
  expect_no_part(cards, "approval_mode");
  expect_no_part(cards, "provisional");
  expect_part(uses(gateway, "plan_check", "{'steps':[]}"), "Unknown tool");
  const struct json *m = calls(direct, "bank:pay", "{'amount':101}");
  expect_text(m, "ok");
  expect_no_part(m, "toolgate");
  assert_false(contains(bank->request, STR("toolgate")));
  expect_called(bank, "pay {'amount':101}\n");
}

#define TEST(name) IN_A_WORLD(name)
int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_version_a_rule_and_an_alias_alone_are_accepted),
      cmocka_unit_test(no_member_of_the_file_raises_a_mode_above_the_highest),
      cmocka_unit_test(no_member_of_the_file_drops_an_argument_constraint),
      cmocka_unit_test(no_member_of_the_file_changes_credentials),
      cmocka_unit_test(no_member_of_the_file_lets_a_token_set_who_it_is),
      cmocka_unit_test(idempotency_can_be_required_or_native_and_nothing_else),
      TEST(no_request_raises_the_mode_of_a_call),
      TEST(no_rule_raises_a_mode_or_lowers_an_effect_to_a_read),
      TEST(no_token_raises_safety_mode_or_changes_the_tenant),
      TEST(no_member_of_a_request_crosses_tenants),
      TEST(no_form_of_the_arguments_passes_a_constraint),
      TEST(a_rule_with_a_lower_mode_drops_no_constraint),
      TEST(unless_approved_waives_nothing_without_an_approval),
      TEST(an_alias_keeps_the_constraints_of_its_capability),
      TEST(a_version_has_the_modes_constraints_and_tenants_of_its_adapter),
      TEST(a_version_with_other_credentials_gets_no_calls),
      TEST(hints_of_a_server_change_no_listed_capability),
      TEST(a_provisional_effect_is_destructive_whatever_else_is_said),
      TEST(a_client_cannot_pass_a_decision_to_the_server),
      TEST(no_reload_weakens_a_file_that_is_in_force),
      TEST(a_cached_result_does_not_outlive_its_permission),
      TEST(a_key_outside_of_the_arguments_does_not_satisfy_a_constraint_on_the_key),
      TEST(without_a_governance_file_nothing_changes_for_anybody),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
