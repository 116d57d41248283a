// SPDX-License-Identifier: Apache-2.0
// Calls that people must approve: nothing reaches the server before the approval, and then exactly what was approved,
// once. Requests for approval themselves are tested in test_approvals.c.
#include "approved_world.h"

#define ADAPTERS \
  "'adapters':[{'adapter_id':'adp_shop','type':'MCP','server':'shop','capabilities':[" \
  "{'name':'find','class':'observe','approval_mode':'read_only'}," \
  "{'name':'order','class':'act','approval_mode':'destructive'}," \
  "{'name':'notify','class':'act','approval_mode':'network'}]}]"
#define PERMISSIONS \
  "'permissions':[" \
  "{'permission_id':'p_find','adapter_id':'adp_shop','capability':'find','allow':true}," \
  "{'permission_id':'p_notify','adapter_id':'adp_shop','capability':'notify','allow':true}," \
  "{'permission_id':'p_order','adapter_id':'adp_shop','capability':'order','allow':true}]"
#define CONTEXT "'context':{'agents':{'ann':{'tenant':'acme'},'ben':{}}}"
#define RULES(more) \
  "'bundles':[{'bundle_id':'b','policy_dsl':{'language':'jsonlogic','rules':[" \
  "{'rule_id':'small','if':{'<=':[{'var':'args.amount'},3000]},'then':{'allow':true,'approval_mode':'delegated'}}," \
  "{'rule_id':'large','if':{'>':[{'var':'args.amount'},3000]},'then':{'allow':true," \
  "'requires_approval_gate':'GATE_FINANCE'}}]}," \
  "'approval_gates':[{'gate_id':'GATE_FINANCE','required_approver_role':'finance'" more "}]}]"
#define FILE_WITH(more) ADAPTERS "," PERMISSIONS "," CONTEXT "," more

static struct server *a_shop(struct world *w) {
  struct server *s = serves(w, "shop", NULL);
  has_tool(s, "{'name':'find','description':'Find goods.','inputSchema':{'type':'object'}}");
  has_tool(s, "{'name':'order','description':'Order goods.','inputSchema':{'type':'object'}}");
  has_tool(s, "{'name':'notify','description':'Send a note.','inputSchema':{'type':'object'}}");
  return s;
}

// Gives the other threads of the gateway time; the clock does not move.
static void waits(struct world *w) {
  for (int i = 0; i < 50; i++) {
    turn(w);
    usleep(200);
  }
}

static const enum surface_mode modes[] = {MODE_GATEWAY, MODE_TRANSPARENT, MODE_SERVERS, MODE_DIRECT};

// ---- A01, A02

static void a_call_above_the_limit_of_a_rule_waits_for_the_gate(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, FILE_WITH(RULES("")));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  const struct json *m = calls(ann, "shop:order", "{'amount':4200}");
  const char *id = expect_pending(m);
  expect_part(m, "'gate\\':\\'GATE_FINANCE\\'");
  expect_part(m, "'role\\':\\'finance\\'");
  expect_part(m, "'io.toolgate/approval':'areq_");
  expect_part(m, "'isError':false");
  assert_true(str_eq(str_of(id), str_of(expect_pending(redeems(ann, id)))));
  expect_called(shop, "");
  approves(w, id, "fred", "finance");
  expect_called(shop, "");
  expect_text(redeems(ann, id), "ok");
  expect_called(shop, "order {'amount':4200}\n");
  expect_state(id, COMPLETED);
}

static void the_answer_and_the_outcome_come_in_every_mode(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, FILE_WITH("'pins':'off'"));
  for (size_t i = 0; i < 4; i++) {
    struct agent *ann = arrives_as(w, modes[i], "ann");
    str args = arena_printf(&w->arena, "{'mode':%zu}", i);
    const char *id = expect_pending(calls(ann, "shop:order", args.p));
    expect_called(shop, "");
    approves(w, id, "fred", "approver");
    expect_text(redeems(ann, id), "ok");
    expect_called(shop, arena_printf(&w->arena, "order {'mode':%zu}\n", i).p);
    expect_text(redeems(ann, id), "ok");  // the stored outcome
    expect_called(shop, "");
  }
}

static void approval_status_is_listed_where_tool_execute_is_not(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  has_tool(shop, "{'name':'approval_status','description':'An imitation.','inputSchema':{'type':'object'}}");
  governed_by(w, FILE_WITH("'pins':'off'"));
  for (size_t i = 0; i < 4; i++) {
    struct agent *ann = arrives_as(w, modes[i], "ann");
    const struct json *list = asks(ann, "tools/list", "{}");
    see(w, list, "'approval_status'", i >= 2);
    expect_no_part(list, "An imitation.");
    expect_fault(uses(ann, "approval_status", "{'request_id':'areq_0000000000000000'}"), "APPROVAL_INVALID");
  }
  expect_called(shop, "");
}

// ---- byte for byte

static void the_server_gets_the_bytes_that_were_approved(void **state) {
  static const char *const frozen[] = {
      "{'b':1.0, 'a':1e2,'é':'\\u00e9\\/x' , 'n':-0.0,\\t'z':12345678901234567890}",
      "{'nested':{'z':[1.50,{'y':null}],'a':'\\\\n'},'e':1E+2}",
      "{}",
  };
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, FILE_WITH("'pins':'off'"));
  for (size_t i = 0; i < 12; i++) {
    struct agent *ann = i % 3 ? w->agents[w->agent_count - 1] : arrives_as(w, modes[i / 3], "ann");
    const char *args = i % 3 ? frozen[i % 3] : "{'b':1.0, 'a':1e2,'n':-0.0,  'z':12345678901234567890}";
    const char *id = expect_pending(calls(ann, "shop:order", args));
    expect_called(shop, "");
    approves(w, id, "fred", "approver");
    expect_text(redeems(ann, id), "ok");
    expect_called(shop, arena_printf(&w->arena, "order %s\n", args).p);
  }
}

static void a_repeated_call_gets_the_bytes_of_the_first_one(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, FILE_WITH("'pins':'off'"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann"), *direct = arrives_as(w, MODE_DIRECT, "ann");
  const char *id = expect_pending(calls(ann, "shop:order", "{'a':1.0,'b':2}"));
  assert_string_equal(expect_pending(calls(ann, "shop:order", "{ 'b':2, 'a':1.0 }")), id);
  assert_string_equal(expect_pending(calls(direct, "shop:order", "{'b':2,'a':1.0}")), id);
  assert_string_not_equal(expect_pending(calls(ann, "shop:order", "{'a':1,'b':2}")), id);
  approves(w, id, "fred", "approver");
  expect_text(calls(direct, "shop:order", "{'b':2,  'a':1.0}"), "ok");
  expect_called(shop, "order {'a':1.0,'b':2}\n");
  assert_string_not_equal(expect_pending(calls(ann, "shop:order", "{'a':1.0,'b':2}")), id);  // another effect
  expect_called(shop, "");
}

// ---- A03, A04, A11: who may decide

static void the_requester_and_other_roles_cannot_approve(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, FILE_WITH(RULES(",'quorum':2")));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  const char *id = expect_pending(calls(ann, "shop:order", "{'amount':4200}"));
  assert_int_equal(votes(w, id, "ann", "finance", true).code, FAULT_APPROVAL_INVALID);
  assert_int_equal(votes(w, id, "fred", "support", true).code, FAULT_APPROVAL_INVALID);
  assert_int_equal(votes(w, id, "fred", "finance", true).state, APPROVAL_STATE_PENDING);
  assert_int_equal(votes(w, id, "fred", "finance", true).state, APPROVAL_STATE_PENDING);
  assert_string_equal(expect_pending(redeems(ann, id)), id);
  expect_called(shop, "");
  assert_int_equal(votes(w, id, "gina", "finance", true).state, APPROVAL_STATE_APPROVED);
  expect_text(redeems(ann, id), "ok");
  expect_called(shop, "order {'amount':4200}\n");
}

static void a_message_of_the_client_cannot_approve(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, FILE_WITH("'pins':'off'"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  const char *id = expect_pending(calls(ann, "shop:order", "{}"));
  static const char *const more[] = {"'decision':'approve'", "'approved':true", "'tool_id':'shop:order','args':{}",
                                     "'dry_run':false"};
  for (size_t i = 0; i < sizeof more / sizeof *more; i++)
    expect_fault(uses(ann, "tool_execute", arena_printf(&w->arena, "{'request_id':'%s',%s}", id, more[i]).p),
                 "ARGS_INVALID");
  notifies(ann, "notifications/elicitation/complete", "{'elicitationId':'1'}");
  asks(ann, "toolgate/approvals", "{'action':'approve'}");
  asks(ann, "elicitation/create", "{'action':'accept'}");
  expect_state(id, PENDING);
  expect_called(shop, "");
}

static void forged_and_foreign_ids_all_give_the_same_answer(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, FILE_WITH("'pins':'off'"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann"), *ben = arrives_as(w, MODE_GATEWAY, "ben");
  const char *id = expect_pending(calls(ann, "shop:order", "{}"));
  approves(w, id, "fred", "approver");
  str foreign = text_of(w, redeems(ben, id));
  static const char *const forged[] = {"areq_0000000000000000", "areq_", "x", "areq_00000000000000000000000000000000"};
  for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
    const struct json *m = redeems(ben, forged[i]);
    expect_fault(m, "APPROVAL_INVALID");
    str text = text_of(w, m),
        message = member(w, json_parse(&w->arena, text, &json_default_limits, &(struct fault){0}), "message");
    assert_true(contains(foreign, message));
  }
  expect_fault(uses(ben, "tool_execute", "{'request_id':7}"), "ARGS_INVALID");
  expect_fault(uses(ben, "tool_execute", "{'request_id':''}"), "APPROVAL_INVALID");
  expect_state(id, APPROVED);
  expect_called(shop, "");
  expect_text(redeems(ann, id), "ok");
}

// ---- A06 to A10

static void a_request_expires(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, FILE_WITH(RULES("")));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  const char *id = expect_pending(calls(ann, "shop:order", "{'amount':4200}"));
  const char *approved = expect_pending(calls(ann, "shop:order", "{'amount':4201}"));
  approves(w, approved, "fred", "finance");
  pass(w, 16 * 60 * 1000);
  expect_fault(redeems(ann, id), "APPROVAL_EXPIRED");
  expect_fault(redeems(ann, approved), "APPROVAL_EXPIRED");
  assert_int_equal(votes(w, id, "fred", "finance", true).code, FAULT_APPROVAL_EXPIRED);
  assert_string_not_equal(expect_pending(calls(ann, "shop:order", "{'amount':4200}")), id);
  expect_called(shop, "");
}

static void gates_have_lifetimes_of_their_own(void **state) {
  struct world *w = *state;
  a_shop(w);
  governed_by(w, FILE_WITH("'approvals':{'ttl_s':600}," RULES(",'ttl_s':60")));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  const char *id = expect_pending(calls(ann, "shop:order", "{'amount':4200}"));
  pass(w, 59 * 1000);
  expect_state(id, PENDING);
  pass(w, 2000);
  expect_state(id, EXPIRED);
}

static void a_denied_call_is_rejected_and_does_not_ask_again(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, FILE_WITH("'pins':'off'"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  const char *id = expect_pending(calls(ann, "shop:order", "{}"));
  denies(w, id, "fred", "approver");
  const struct json *m = redeems(ann, id);
  expect_fault(m, "APPROVAL_REJECTED");
  expect_part(m, "because");
  expect_fault(calls(ann, "shop:order", "{}"), "APPROVAL_REJECTED");
  expect_called(shop, "");
}

static void a_call_is_executed_once(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, FILE_WITH("'pins':'off'"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann"), *again = arrives_as(w, MODE_GATEWAY, "ann");
  const char *id = expect_pending(calls(ann, "shop:order", "{}"));
  approves(w, id, "fred", "approver");
  holds(shop);
  uint64_t first = begins_to_redeem(ann, id), second = begins_to_redeem(again, id);
  uint64_t third = begins_to_redeem(again, id), fourth = begins(again, "shop:order", "{}");
  expect_state(id, EXECUTING);
  waits(w);
  expect_called(shop, "order {}\n");
  assert_false(is_answered(ann, first) || is_answered(again, second) || is_answered(again, third));
  releases(shop, "sent");
  expect_text(hears(ann, first), "sent");
  expect_text(hears(again, second), "sent");
  expect_text(hears(again, third), "sent");
  expect_pending(hears(again, fourth));  // a further call asks for its own approval
  expect_called(shop, "");
}

static void an_error_of_the_server_is_the_outcome_too(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, FILE_WITH("'pins':'off'"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  const char *failed = expect_pending(calls(ann, "shop:order", "{'a':1}"));
  const char *broken = expect_pending(calls(ann, "shop:order", "{'a':2}"));
  const char *lost = expect_pending(calls(ann, "shop:order", "{'a':3}"));
  approves(w, failed, "fred", "approver");
  approves(w, broken, "fred", "approver");
  approves(w, lost, "fred", "approver");
  reports(shop, "sold out");
  fails(shop, -32000, "no", NULL);
  breaks(shop);
  expect_words(redeems(ann, failed), "sold out");
  expect_words(redeems(ann, failed), "sold out");
  expect_state(failed, FAILED);
  expect_fault(redeems(ann, broken), "UPSTREAM_ERROR");
  expect_fault(redeems(ann, broken), "APPROVAL_ALREADY_REDEEMED");
  expect_state(broken, FAILED);
  expect_fault(redeems(ann, lost), "UPSTREAM_UNAVAILABLE");
  expect_state(lost, UNKNOWN);
  expect_fault(redeems(ann, lost), "APPROVAL_ALREADY_REDEEMED");
  expect_called(shop, "order {'a':1}\norder {'a':2}\norder {'a':3}\ncancelled order\n");
}

static void a_cancelled_execution_has_an_unknown_outcome(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, FILE_WITH("'pins':'off'"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  const char *id = expect_pending(calls(ann, "shop:order", "{}"));
  approves(w, id, "fred", "approver");
  holds(shop);
  uint64_t call = begins_to_redeem(ann, id);
  expect_state(id, EXECUTING);
  waits(w);
  cancels(ann, call);
  waits(w);
  expect_state(id, UNKNOWN);
  expect_called(shop, "order {}\ncancelled order\n");
  expect_fault(redeems(ann, id), "APPROVAL_ALREADY_REDEEMED");
  expect_called(shop, "");
}

static void without_a_gate_lower_modes_run_at_once(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, ADAPTERS "," PERMISSIONS ",'context':{'agents':{'ann':{'user':{'id':'ulla'}}}}," RULES(""));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  expect_text(calls(ann, "shop:order", "{'amount':2500}"), "ok");
  expect_called(shop, "order {'amount':2500}\n");
  assert_true(is_governed_anew_by(w, FILE_WITH("'pins':'off'")));
  expect_text(calls(ann, "shop:notify", "{}"), "ok");
  expect_text(calls(ann, "shop:find", "{}"), "ok");
  expect_called(shop, "notify {}\nfind {}\n");
  assert_int_equal(approvals_open(w->gateway.approvals), 0);
}

static void a_revoked_permission_counts_after_the_approval(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, FILE_WITH(RULES("")));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  const char *id = expect_pending(calls(ann, "shop:order", "{'amount':4200}"));
  const char *other = expect_pending(calls(ann, "shop:order", "{'amount':4300}"));
  const char *third = expect_pending(calls(ann, "shop:order", "{'amount':4400}"));
  approves(w, id, "fred", "finance");
  approves(w, other, "fred", "finance");
  approves(w, third, "fred", "finance");
  assert_true(is_governed_anew_by(
      w, FILE_WITH("'bundles':[{'bundle_id':'b','policy_dsl':{'language':'jsonlogic','rules':["
                   "{'rule_id':'no','if':{'==':[{'var':'args.amount'},4200]},'then':{'allow':false}},"
                   "{'rule_id':'yes','then':{'allow':true}}]}}]")));
  expect_fault(redeems(ann, id), "POLICY_DENIED");
  expect_state(id, INVALIDATED);
  expect_fault(redeems(ann, other), "APPROVAL_INVALID");  // the approval was given under other rules
  expect_state(other, INVALIDATED);
  assert_true(is_governed_anew_by(w, ADAPTERS "," CONTEXT));
  expect_fault(redeems(ann, third), "PERMISSION_DENIED");
  expect_state(third, INVALIDATED);
  assert_true(is_governed_anew_by(w, FILE_WITH(RULES(""))));
  expect_fault(redeems(ann, third), "APPROVAL_INVALID");  // it stays invalid
  expect_called(shop, "");
}

static void an_approval_of_another_gate_does_not_count(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, FILE_WITH("'pins':'off'"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  const char *id = expect_pending(calls(ann, "shop:order", "{'amount':4200}"));
  approves(w, id, "fred", "approver");
  assert_true(is_governed_anew_by(w, FILE_WITH(RULES(""))));
  expect_fault(redeems(ann, id), "APPROVAL_INVALID");
  expect_called(shop, "");
}

// ---- sessions

static void the_requests_of_a_client_that_leaves_are_withdrawn(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, FILE_WITH("'pins':'off'"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann"), *lost = arrives_as(w, MODE_GATEWAY, "ann");
  const char *gone = expect_pending(calls(ann, "shop:order", "{'a':1}"));
  const char *kept = expect_pending(calls(lost, "shop:order", "{'a':2}"));
  ann->session->left = true;
  leaves(ann);
  leaves(lost);  // its connection was lost
  waits(w);
  expect_state(gone, WITHDRAWN);
  expect_state(kept, PENDING);
  struct agent *back = arrives_as(w, MODE_GATEWAY, "ann");
  expect_fault(redeems(back, gone), "APPROVAL_INVALID");
  approves(w, kept, "fred", "approver");
  expect_text(redeems(back, kept), "ok");
  expect_called(shop, "order {'a':2}\n");
}

static void with_withdraw_never_the_requests_stay(void **state) {
  struct world *w = *state;
  a_shop(w);
  governed_by(w, FILE_WITH("'approvals':{'withdraw':'never'}"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  const char *id = expect_pending(calls(ann, "shop:order", "{}"));
  ann->session->left = true;
  leaves(ann);
  waits(w);
  expect_state(id, PENDING);
}

// ---- waiting

static void a_call_can_wait_for_the_decision(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, FILE_WITH("'approvals':{'wait_s':60}"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann"), *direct = arrives_as(w, MODE_DIRECT, "ann");
  uint64_t approved = begins(ann, "shop:order", "{'a': 1}"), denied = begins(direct, "shop:order", "{'a':2}");
  uint64_t late = begins(ann, "shop:order", "{'a':3}");
  waits(w);
  assert_false(is_answered(ann, approved) || is_answered(direct, denied) || is_answered(ann, late));
  pass(w, 61000);
  const char *id = expect_pending(hears(ann, approved));
  expect_pending(hears(direct, denied));
  const char *last = expect_pending(hears(ann, late));
  approved = begins(ann, "shop:order", "{ 'a': 1 }");
  uint64_t status = begins_to_redeem(ann, last);
  waits(w);
  approves(w, id, "fred", "approver");
  expect_text(hears(ann, approved), "ok");
  denies(w, last, "fred", "approver");
  expect_fault(hears(ann, status), "APPROVAL_REJECTED");
  expect_called(shop, "order {'a': 1}\n");
}

static void a_cancelled_wait_leaves_the_request_pending(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, FILE_WITH("'approvals':{'wait_s':60}"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  uint64_t call = begins(ann, "shop:order", "{}");
  waits(w);
  cancels(ann, call);
  pass(w, 61000);
  assert_int_equal(approvals_open(w->gateway.approvals), 1);
  expect_called(shop, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_A_WORLD(a_call_above_the_limit_of_a_rule_waits_for_the_gate),
      IN_A_WORLD(the_answer_and_the_outcome_come_in_every_mode),
      IN_A_WORLD(approval_status_is_listed_where_tool_execute_is_not),
      IN_A_WORLD(the_server_gets_the_bytes_that_were_approved),
      IN_A_WORLD(a_repeated_call_gets_the_bytes_of_the_first_one),
      IN_A_WORLD(the_requester_and_other_roles_cannot_approve),
      IN_A_WORLD(a_message_of_the_client_cannot_approve),
      IN_A_WORLD(forged_and_foreign_ids_all_give_the_same_answer),
      IN_A_WORLD(a_request_expires),
      IN_A_WORLD(gates_have_lifetimes_of_their_own),
      IN_A_WORLD(a_denied_call_is_rejected_and_does_not_ask_again),
      IN_A_WORLD(a_call_is_executed_once),
      IN_A_WORLD(an_error_of_the_server_is_the_outcome_too),
      IN_A_WORLD(a_cancelled_execution_has_an_unknown_outcome),
      IN_A_WORLD(without_a_gate_lower_modes_run_at_once),
      IN_A_WORLD(a_revoked_permission_counts_after_the_approval),
      IN_A_WORLD(an_approval_of_another_gate_does_not_count),
      IN_A_WORLD(the_requests_of_a_client_that_leaves_are_withdrawn),
      IN_A_WORLD(with_withdraw_never_the_requests_stay),
      IN_A_WORLD(a_call_can_wait_for_the_decision),
      IN_A_WORLD(a_cancelled_wait_leaves_the_request_pending),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
