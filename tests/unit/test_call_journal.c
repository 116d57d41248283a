// SPDX-License-Identifier: Apache-2.0
// Records of governed calls in the journal.
#include "gateway_world.h"

#include "observe/journal.h"
#include "schema/schema.h"

#define ADAPTERS \
  "'adapters':[{'adapter_id':'adp_shop','type':'MCP','server':'shop','capabilities':[" \
  "{'name':'find','class':'observe','approval_mode':'read_only'}," \
  "{'name':'order','class':'act','approval_mode':'destructive'}]}]"
#define PERMISSIONS \
  "'permissions':[" \
  "{'permission_id':'p_find','adapter_id':'adp_shop','capability':'find','allow':true}," \
  "{'permission_id':'p_order','adapter_id':'adp_shop','capability':'order','allow':true,'roles':['buyer']," \
  "'arg_constraints':{'amount':{'required':true,'max':100}}}]"
#define BUNDLES \
  "'bundles':[{'bundle_id':'b','policy_dsl':{'language':'jsonlogic','rules':[" \
  "{'rule_id':'R_SMALL','if':{'<=':[{'var':'args.amount'},50]},'then':{'allow':true,'approval_mode':'network'}}," \
  "{'rule_id':'R_LARGE','if':{'>':[{'var':'args.amount'},50]},'then':{'allow':true," \
  "'requires_approval_gate':'GATE_LEAD'}}]}," \
  "'approval_gates':[{'gate_id':'GATE_LEAD','required_approver_role':'lead'}]}]"
#define CONTEXT "'context':{'defaults':{'tenant':'acme'},'agents':{'ann':{'role':'buyer'},'bob':{'tenant':'globex'}}}"
#define RULES ADAPTERS "," PERMISSIONS "," BUNDLES "," CONTEXT

static struct server *a_shop(struct world *w) {
  struct server *s = serves(w, "shop", NULL);
  has_tool(s, "{'name':'find','description':'Find goods.','inputSchema':{'type':'object'}}");
  has_tool(s, "{'name':'order','description':'Order goods.','inputSchema':{'type':'object'}}");
  return s;
}

// A gateway with durable state and this governance file.
static void governed_by(struct world *w, const char *members) {
  str text = arena_printf(&w->arena, "{%.*s}", STR_ARG(quoted(w, members)));
  buf_reset(&w->yaml);
  given(w, "state_dir: state\nlog: {level: \"off\"}\ngovernance: governance.json\naudit: {enabled: false}\n");
  write_file("governance.json", arena_cstr(&w->arena, text));
}

struct lines {
  struct world *w;
  const struct json *list[64];
  size_t count;
};

static bool on_line(void *ctx, str line) {
  struct lines *l = ctx;
  struct fault f;
  const struct json *v = json_parse(&l->w->arena, arena_str(&l->w->arena, line), &json_default_limits, &f);
  assert_non_null(v);
  assert_true(l->count < sizeof l->list / sizeof *l->list);
  l->list[l->count++] = v;
  return true;
}

// Waits until the records are written, and returns those of one kind.
static struct lines records(struct world *w, const char *kind) {
  struct lines all = {.w = w}, of_kind = {.w = w};
  struct fault f;
  for (int i = 0; i < 3; i++) {
    pass(w, 20);
    while (w->gateway.loop.uv.active_reqs.count) turn(w);
  }
  assert_true(journal_read(STR("state/records"), 0, on_line, &all, &f));
  for (size_t i = 0; i < all.count; i++)
    if (str_eq(member(w, all.list[i], "record"), str_of(kind))) of_kind.list[of_kind.count++] = all.list[i];
  return of_kind;
}

static void expect_member(struct world *w, const struct json *record, const char *path, const char *value) {
  str found = member(w, record, path);
  if (!str_eq(found, quoted(w, value))) fail_msg("%s is %.*s, not %s", path, STR_ARG(found), value);
}

// The record without its id, its time, its trace and its session.
static str core_of(const struct json *record) {
  return json_span(json_get(record, STR("decision")));
}

// ---- decisions

static void each_decision_is_recorded_with_its_inputs_its_rules_and_its_outcome(void **state) {
  struct world *w = *state;
  a_shop(w);
  governed_by(w, RULES);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_text(calls(ann, "shop:order", "{'amount':7}"), "ok");
  expect_words(calls(ann, "shop:order", "{'amount':70}"), "approval_required");
  const struct json *denied = calls(ann, "shop:order", "{'amount':101}");
  expect_fault(denied, "ARG_CONSTRAINT_VIOLATION");
  struct lines all = records(w, "decision");
  assert_int_equal(all.count, 3);
  const struct json *first = all.list[0], *second = all.list[1], *third = all.list[2];
  expect_member(w, first, "decision.allowed", "true");
  expect_member(w, first, "decision.code", "null");
  expect_member(w, first, "decision.tenant", "acme");
  expect_member(w, first, "decision.agent", "ann");
  expect_member(w, first, "decision.server", "shop");
  expect_member(w, first, "decision.question.capability", "adp_shop.order");
  expect_member(w, first, "decision.question.args", "{'amount':7}");
  expect_member(w, first, "decision.arguments", "full");
  expect_member(w, first, "decision.mode_requested", "null");
  expect_member(w, first, "decision.mode_effective", "network");
  expect_member(w, first, "decision.mode_highest", "destructive");
  expect_member(w, first, "decision.matches",
                "[{'id':'p_order','pointer':'/permissions/1'},"
                "{'id':'R_SMALL','pointer':'/bundles/0/policy_dsl/rules/0'}]");
  expect_member(w, first, "decision.gates", "[]");
  expect_member(w, first, "decision.violations", "[]");
  assert_true(str_starts(member(w, first, "decision.inputs"), STR("sha256:")));
  expect_member(w, second, "decision.gates", "[{'id':'GATE_LEAD','role':'lead'}]");
  expect_member(w, third, "decision.allowed", "false");
  expect_member(w, third, "decision.code", "ARG_CONSTRAINT_VIOLATION");
  expect_member(w, third, "decision.violations",
                "[{'path':'amount','constraint':'max','pointer':'/permissions/1/arg_constraints/amount'}]");
  assert_true(contains(raw(denied), member(w, third, "id")));
  str digest = member(w, first, "decision.rules.governance");
  assert_true(str_starts(digest, STR("sha256:")) && str_eq(digest, member(w, third, "decision.rules.governance")));
}

static void the_same_question_and_the_same_rules_give_the_same_bytes(void **state) {
  struct world *w = *state;
  a_shop(w);
  governed_by(w, RULES);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  calls(ann, "shop:order", "{'amount':7,'note':'a'}");
  pass(w, 5000);
  calls(ann, "shop:order", "{'amount':7,'note':'a'}");
  calls(ann, "shop:order", "{ 'note' : 'a', 'amount' : 7.0 }");
  calls(ann, "shop:order", "{'amount':8,'note':'a'}");
  struct lines all = records(w, "decision");
  assert_int_equal(all.count, 4);
  assert_true(str_eq(core_of(all.list[0]), core_of(all.list[1])));
  assert_false(str_eq(member(w, all.list[0], "id"), member(w, all.list[1], "id")));
  assert_false(str_eq(member(w, all.list[0], "time"), member(w, all.list[1], "time")));
  // The digest is that of the canonical form.
  assert_true(str_eq(member(w, all.list[0], "decision.inputs"), member(w, all.list[2], "decision.inputs")));
  assert_false(str_eq(member(w, all.list[0], "decision.inputs"), member(w, all.list[3], "decision.inputs")));
}

static void a_record_has_the_marks_that_the_run_had_before_the_call(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, "'adapters':[{'adapter_id':'adp_shop','type':'MCP','server':'shop','capabilities':["
                 "{'name':'find','class':'observe','approval_mode':'read_only','flow':['reads_private',"
                 "'untrusted_input']},"
                 "{'name':'order','class':'act','approval_mode':'destructive','flow':['sends_out']}]}]," PERMISSIONS
                 "," CONTEXT);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_text(calls(ann, "shop:find", "{}"), "ok");
  expect_fault(calls(ann, "shop:order", "{'amount':1}"), "FLOW_DENIED");
  expect_called(shop, "find {}\n");
  struct lines all = records(w, "decision");
  assert_int_equal(all.count, 2);
  expect_member(w, all.list[0], "decision.question.flow", "");
  expect_member(w, all.list[1], "decision.question.flow", "['reads_private','untrusted_input']");
  expect_member(w, all.list[1], "decision.code", "FLOW_DENIED");
  struct lines ended = records(w, "call");
  expect_member(w, ended.list[1], "call.result.status", "denied");
  expect_member(w, ended.list[1], "call.result.error.code", "FLOW_DENIED");
}

static void secrets_in_recorded_arguments_are_masked(void **state) {
  struct world *w = *state;
  a_shop(w);
  governed_by(w, RULES);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  calls(ann, "shop:order", "{'amount':7,'api_key':'sk-live-0123456789abcdef'}");
  struct lines all = records(w, "decision");
  assert_int_equal(all.count, 1);
  assert_false(contains(json_span(all.list[0]), STR("0123456789abcdef")));
  expect_member(w, all.list[0], "decision.arguments", "masked");
}

static void arguments_can_be_recorded_as_a_digest_or_not_at_all(void **state) {
  struct world *w = *state;
  a_shop(w);
  governed_by(w, RULES ",'records':{'arguments':'digest'}");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  calls(ann, "shop:order", "{'amount':7}");
  struct lines all = records(w, "decision");
  assert_int_equal(all.count, 1);
  expect_member(w, all.list[0], "decision.question.args", "");
  expect_member(w, all.list[0], "decision.arguments", "digest");
  // printf '{"amount":7}' | sha256sum
  expect_member(w, all.list[0], "decision.arguments_digest",
                "sha256:fb6632bd6651ff35747457d7d6aab3f5d91ff8521f5a79f7382c412da5ef081b");
}

static void without_a_folder_for_state_nothing_is_recorded(void **state) {
  struct world *w = *state;
  a_shop(w);
  governed_by(w, RULES);
  buf_reset(&w->yaml);
  given(w, "state_dir: none\nlog: {level: \"off\"}\ngovernance: governance.json\naudit: {enabled: false}\n");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_text(calls(ann, "shop:order", "{'amount':7}"), "ok");
  assert_int_not_equal(access("state", F_OK), 0);
}

static void calls_are_refused_while_required_records_cannot_be_written(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, RULES ",'records':{'on_failure':'refuse'}");
  assert_int_equal(mkdir("state", 0700), 0);
  write_file("state/records", "a file with the name of the folder");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_fault(calls(ann, "shop:order", "{'amount':7}"), "RECORDS_UNAVAILABLE");
  expect_called(shop, "");
  assert_int_equal(unlink("state/records"), 0);
  expect_text(calls(ann, "shop:order", "{'amount':7}"), "ok");
  assert_int_equal(records(w, "decision").count, 1);
}

static void calls_that_are_not_governed_and_dry_runs_leave_no_record(void **state) {
  struct world *w = *state;
  a_shop(w);
  struct server *docs = serves(w, "docs", NULL);
  has_tool(docs, "{'name':'page','description':'Show a page.','inputSchema':{'type':'object'}}");
  governed_by(w, ADAPTERS "," PERMISSIONS ",'context':{'unlisted_servers':'allow','defaults':{'role':'buyer'}}");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_text(calls(ann, "docs:page", "{}"), "ok");
  calls_with(ann, "shop:order", "{'amount':7}", "'_meta':{'toolgate/dryRun':true}");
  assert_int_equal(records(w, "decision").count, 0);
  calls(ann, "shop:order", "{'amount':7}");
  assert_int_equal(records(w, "decision").count, 1);
}

static void records_can_be_switched_off(void **state) {
  struct world *w = *state;
  a_shop(w);
  governed_by(w, RULES ",'records':{'enabled':false}");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_text(calls(ann, "shop:order", "{'amount':7}"), "ok");
  assert_int_equal(records(w, "decision").count, 0);
}

// ---- envelopes

static struct schema *schema_of(struct world *w, const char *name) {
  char path[PATH_MAX], *text = malloc(65536);
  struct fault f;
  snprintf(path, sizeof path, "data/schemas/%s.json", name);
  int fd = openat(w->place->origin, path, O_RDONLY | O_CLOEXEC);
  FILE *file = fd < 0 ? NULL : fdopen(fd, "rb");
  assert_non_null(file);
  size_t n = fread(text, 1, 65536, file);
  fclose(file);
  const struct json *root = json_parse(&w->arena, arena_str(&w->arena, (str){text, n}), &json_default_limits, &f);
  struct schema_options options = schema_default_options;
  options.assert_formats = true;
  struct schema *s = schema_compile(root, &options, &f);
  assert_non_null(s);
  free(text);
  return s;
}

static void expect_valid(struct world *w, const char *schema, const struct json *v) {
  struct schema_result r;
  struct fault f;
  struct schema *s = schema_of(w, schema);
  assert_non_null(v);
  // Validation needs a value that was parsed alone.
  const struct json *alone = json_parse(&w->arena, arena_str(&w->arena, json_span(v)), &json_default_limits, &f);
  if (!schema_validate(s, alone, &w->arena, &r))
    fail_msg("%.*s %.*s: %.*s", STR_ARG(r.errors[0].instance), STR_ARG(r.errors[0].message), STR_ARG(json_span(v)));
  schema_free(&s);
}

static void expect_envelopes(struct world *w, const struct json *both) {
  expect_valid(w, "contextos.tool_call.v1", json_get(both, STR("call")));
  expect_valid(w, "contextos.tool_result.v1", json_get(both, STR("result")));
}

static void each_governed_call_has_two_envelopes_that_match_their_schemas(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, RULES);
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  expect_text(calls(ann, "shop:order", "{'amount':7,'idempotency_key':'ik_1'}"), "ok");
  reports(shop, "sold out");
  calls(ann, "shop:order", "{'amount':7}");
  fails(shop, -32000, "broken", NULL);
  calls(ann, "shop:order", "{'amount':7}");
  calls(ann, "shop:order", "{'amount':70}");
  calls(ann, "shop:order", "{'amount':101}");
  calls_with(ann, "shop:order", "{'amount':7}", "'mode':'admin'");
  struct lines all = records(w, "call");
  assert_true(all.count >= 5);
  for (size_t i = 0; i < all.count; i++) expect_envelopes(w, json_get(all.list[i], STR("call")));
  const struct json *first = all.list[0];
  expect_member(w, first, "call.tenant", "acme");
  expect_member(w, first, "call.call.capability_id", "adp_shop.order");
  expect_member(w, first, "call.call.args", "{'amount':7,'idempotency_key':'ik_1'}");
  expect_member(w, first, "call.call.idempotency_key", "ik_1");
  expect_member(w, first, "call.call.approval_mode_requested", "destructive");
  expect_member(w, first, "call.call.approval_mode_effective", "network");
  expect_member(w, first, "call.call.evidence_refs", "['permission:p_order','policy:b#R_SMALL']");
  expect_member(w, first, "call.result.status", "completed");
  expect_member(w, first, "call.result.error", "null");
  expect_member(w, first, "call.result.attempts", "1");
  assert_true(str_starts(member(w, first, "call.result.output_hash"), STR("sha256:")));
  expect_member(w, all.list[1], "call.result.status", "failed");
  expect_member(w, all.list[2], "call.result.status", "failed");
  expect_member(w, all.list[2], "call.result.error.code", "UPSTREAM_ERROR");
  expect_member(w, all.list[3], "call.result.status", "approval_required");
  expect_member(w, all.list[3], "call.result.approval", "{'gate_id':'GATE_LEAD','signature_ids':[]}");
  expect_member(w, all.list[4], "call.result.status", "denied");
  expect_member(w, all.list[4], "call.result.error.code", "ARG_CONSTRAINT_VIOLATION");
  expect_member(w, all.list[4], "call.result.error.retryable", "false");
  expect_member(w, all.list[4], "call.result.attempts", "0");
  // The decision has the id of the call, and the envelope that of the decision.
  struct lines decisions = records(w, "decision");
  expect_member(w, decisions.list[0], "call_id", arena_cstr(&w->arena, member(w, first, "id")));
  expect_member(w, first, "call.result.policy_decision_id", arena_cstr(&w->arena, member(w, decisions.list[0], "id")));
}

static void a_write_that_ends_without_an_answer_has_an_unknown_outcome(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w,
              ADAPTERS "," PERMISSIONS "," CONTEXT ",'bundles':[{'bundle_id':'b','policy_dsl':{'language':'jsonlogic',"
                       "'rules':[{'rule_id':'r','if':{'var':'args.amount'},"
                       "'then':{'allow':true,'approval_mode':'network'}}]}}]");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  holds(shop);
  cancels(ann, begins(ann, "shop:order", "{'amount':7}"));
  holds(shop);
  cancels(ann, begins(ann, "shop:find", "{}"));
  struct lines all = records(w, "call");
  assert_int_equal(all.count, 2);
  for (size_t i = 0; i < all.count; i++) expect_envelopes(w, json_get(all.list[i], STR("call")));
  expect_member(w, all.list[0], "call.result.status", "unknown");
  expect_member(w, all.list[0], "call.result.error.retryable", "false");
  expect_member(w, all.list[1], "call.result.status", "cancelled");
}

static void the_result_cites_the_resources_that_it_links_to(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, ADAPTERS "," PERMISSIONS "," CONTEXT);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  returns(shop, "{'content':[{'type':'text','text':'x'},{'type':'resource_link','uri':'docs://a','name':'a'},"
                "{'type':'resource','resource':{'uri':'docs://b','text':'b'}}]}");
  calls(ann, "shop:find", "{}");
  struct lines all = records(w, "call");
  assert_int_equal(all.count, 1);
  expect_envelopes(w, json_get(all.list[0], STR("call")));
  expect_member(w, all.list[0], "call.result.citations", "[{'ref':'docs://a'},{'ref':'docs://b'}]");
}

static void a_call_of_a_hidden_tool_is_recorded_as_denied(void **state) {
  struct world *w = *state;
  a_shop(w);
  governed_by(w, RULES);
  struct agent *bob = arrives_as(w, MODE_SERVERS, "bob"), *direct = arrives_as(w, MODE_DIRECT, "bob");
  expect_fault(calls(bob, "shop:order", "{'amount':7}"), "DENIED_BY_POLICY");
  struct lines all = records(w, "decision");
  assert_int_equal(all.count, 1);
  expect_member(w, all.list[0], "decision.code", "PERMISSION_DENIED");
  expect_member(w, all.list[0], "decision.tenant", "globex");
  struct lines ended = records(w, "call");
  assert_int_equal(ended.count, 1);
  expect_envelopes(w, json_get(ended.list[0], STR("call")));
  expect_member(w, ended.list[0], "call.result.status", "denied");
  expect_member(w, ended.list[0], "call.result.error.code", "PERMISSION_DENIED");
  expect_fault(calls(direct, "shop:order", "{'amount':7}"), "ARGS_INVALID");
  assert_int_equal(records(w, "decision").count, 2);
}

static const struct json *part(const struct json *v, const char *path) {
  str rest = str_of(path), name;
  for (bool more = true; more && v;) {
    more = str_cut(rest, '.', &name, &rest);
    v = json_get(v, name);
  }
  return v;
}

static void the_answer_has_the_envelopes_if_the_file_asks_for_them(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, RULES ",'records':{'return_envelope':true}");
  static const enum surface_mode modes[] = {MODE_DIRECT, MODE_GATEWAY, MODE_SERVERS};
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    struct agent *ann = arrives_as(w, modes[i], "ann");
    returns(shop, "{'content':[{'type':'text','text':'ok'}],'_meta':{'own':1}}");
    const struct json *m = calls(ann, "shop:order", "{'amount':7}");
    expect_text(m, "ok");
    const struct json *both = json_get(part(m, "result._meta"), STR("toolgate/envelopes"));
    assert_non_null(both);
    expect_envelopes(w, both);
    assert_true(str_eq(member(w, both, "result.status"), STR("completed")));
    m = calls(ann, "shop:order", "{'amount':101}");
    expect_fault(m, "ARG_CONSTRAINT_VIOLATION");
    both = json_get(part(m, modes[i] == MODE_DIRECT ? "error.data" : "result._meta"), STR("toolgate/envelopes"));
    assert_non_null(both);
    expect_envelopes(w, both);
    assert_true(str_eq(member(w, both, "result.error.code"), STR("ARG_CONSTRAINT_VIOLATION")));
  }
}

static void without_the_setting_no_answer_has_envelopes(void **state) {
  struct world *w = *state;
  a_shop(w);
  governed_by(w, RULES);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_no_part(calls(ann, "shop:order", "{'amount':7}"), "contextos.tool");
  expect_no_part(calls(ann, "shop:order", "{'amount':101}"), "contextos.tool");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_A_WORLD(each_decision_is_recorded_with_its_inputs_its_rules_and_its_outcome),
      IN_A_WORLD(the_same_question_and_the_same_rules_give_the_same_bytes),
      IN_A_WORLD(a_record_has_the_marks_that_the_run_had_before_the_call),
      IN_A_WORLD(secrets_in_recorded_arguments_are_masked),
      IN_A_WORLD(arguments_can_be_recorded_as_a_digest_or_not_at_all),
      IN_A_WORLD(without_a_folder_for_state_nothing_is_recorded),
      IN_A_WORLD(calls_are_refused_while_required_records_cannot_be_written),
      IN_A_WORLD(calls_that_are_not_governed_and_dry_runs_leave_no_record),
      IN_A_WORLD(records_can_be_switched_off),
      IN_A_WORLD(each_governed_call_has_two_envelopes_that_match_their_schemas),
      IN_A_WORLD(a_write_that_ends_without_an_answer_has_an_unknown_outcome),
      IN_A_WORLD(the_result_cites_the_resources_that_it_links_to),
      IN_A_WORLD(a_call_of_a_hidden_tool_is_recorded_as_denied),
      IN_A_WORLD(the_answer_has_the_envelopes_if_the_file_asks_for_them),
      IN_A_WORLD(without_the_setting_no_answer_has_envelopes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
