// SPDX-License-Identifier: Apache-2.0
// Calls with idempotency keys (docs/reference/governance.md): which calls need a key, what a repeated call gets, and
// what becomes of a key however its call ends.
#define GOVERNED_KEYS ""
#include "governed_world.h"

#include "effect/idempotency.h"
#include "observe/govern_metrics.h"
#include "observe/metrics.h"

#define GOVERNANCE(capability, more) \
  "'adapters':[{'adapter_id':'adp_shop','type':'MCP','server':'shop','capabilities':[" \
  "{'name':'find','class':'observe','approval_mode':'read_only'}," \
  "{'name':'order','class':'act','approval_mode':'local_write'" capability "}]}]," \
  "'permissions':[" \
  "{'permission_id':'p_find','adapter_id':'adp_shop','capability':'find','allow':true}," \
  "{'permission_id':'p_order','adapter_id':'adp_shop','capability':'order','allow':true}]," \
  "'context':{'agents':{'ann':{'tenant':'acme'},'carl':{'tenant':'acme'},'bob':{'tenant':'globex'}}}" more

#define ENVELOPES ",'records':{'return_envelope':true}"
#define KEY(key) "'_meta':{'io.toolgate/idempotency_key':'" key "'}"

static struct server *a_shop(struct world *w) {
  struct server *s = serves(w, "shop", NULL);
  has_tool(s, "{'name':'find','inputSchema':{'type':'object'}}");
  has_tool(s, "{'name':'order','inputSchema':{'type':'object','properties':{'n':{'type':'integer'},"
              "'idempotency_key':{'type':'string'}}}}");
  return s;
}

static struct server *a_governed_shop(struct world *w) {
  struct server *s = a_shop(w);
  governed_by(w, GOVERNANCE("", ENVELOPES));
  return s;
}

// Calls of the tool `order`, with a key in _meta.
static uint64_t begins_order(struct agent *a, const char *key, const char *args) {
  str call = a->mode == MODE_DIRECT ? arena_printf(&a->world->arena, "{'name':'order','arguments':%s", args)
             : a->mode == MODE_SERVERS
                 ? arena_printf(&a->world->arena,
                                "{'name':'execute_tool','arguments':{'server':'shop','tool':'order','args':%s}", args)
                 : arena_printf(&a->world->arena,
                                "{'name':'tool_execute','arguments':{'tool_id':'shop:order','args':%s}", args);
  return sends(
      a, "tools/call",
      arena_printf(&a->world->arena, "%.*s,'_meta':{'io.toolgate/idempotency_key':'%s'}}", STR_ARG(call), key).p);
}

static const struct json *orders(struct agent *a, const char *key, const char *args) {
  return hears(a, begins_order(a, key, args));
}

static str result_envelope(struct world *w, const struct json *m, const char *path) {
  const struct json *in = json_get(m, STR("result"));
  in = in ? json_get(in, STR("_meta")) : json_get(json_get(m, STR("error")), STR("data"));
  return member(w, json_get(json_get(in, STR("toolgate/envelopes")), STR("result")), path);
}

#define expect_envelope(message, path, value) \
  assert_string_equal(arena_cstr(&w->arena, result_envelope(w, message, path)), value)

// ---- a repeated call

static void a_repeated_call_gets_the_outcome_of_the_first_one(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  answers(shop, "ordered");
  const struct json *first = orders(ann, "k1", "{'n':1}"), *again = orders(ann, "k1", "{'n':1}");
  expect_text(first, "ordered");
  expect_text(again, "ordered");
  expect_called(shop, "order {'n':1}\n");
  expect_envelope(first, "status", "completed");
  expect_envelope(again, "status", "replayed");
  expect_envelope(first, "idempotency.replayed", "false");
  expect_envelope(again, "idempotency.replayed", "true");
  expect_envelope(again, "idempotency.key", "k1");
  str id = result_envelope(w, first, "tool_call_id"), hash = result_envelope(w, first, "output_hash");
  assert_true(str_eq(result_envelope(w, again, "idempotency.first_tool_call_id"), id));
  assert_false(str_eq(result_envelope(w, again, "tool_call_id"), id));
  assert_true(hash.n > 7 && str_eq(result_envelope(w, again, "output_hash"), hash));
  expect_part(again, "'toolgate/provenance':{'replayed':true");
}

static void a_repeated_call_gets_its_outcome_in_every_mode(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  static const enum surface_mode modes[] = {MODE_GATEWAY, MODE_TRANSPARENT, MODE_SERVERS, MODE_DIRECT};
  answers(shop, "ordered");
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    struct agent *ann = arrives_as(w, modes[i], "ann");
    expect_text(orders(ann, "k1", "{'n':1}"), "ordered");
  }
  expect_called(shop, "order {'n':1}\n");
}

static void the_order_of_members_does_not_count(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_text(orders(ann, "k1", "{'n':1,'m':2.0}"), "ok");
  expect_text(orders(ann, "k1", "{'m':2, 'n':1}"), "ok");
  expect_called(shop, "order {'n':1,'m':2.0}\n");
}

static void a_key_belongs_to_its_arguments(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_text(orders(ann, "k1", "{'n':1}"), "ok");
  expect_fault(orders(ann, "k1", "{'n':2}"), "IDEMPOTENCY_CONFLICT");
  expect_text(orders(ann, "k2", "{'n':2}"), "ok");
  expect_called(shop, "order {'n':1}\norder {'n':2}\n");
}

static void a_key_belongs_to_its_caller(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann"), *carl = arrives_as(w, MODE_DIRECT, "carl");
  answers(shop, "secret");
  expect_text(orders(ann, "k1", "{}"), "secret");
  const struct json *m = orders(carl, "k1", "{}");
  expect_fault(m, "IDEMPOTENCY_CONFLICT");
  expect_no_part(m, "secret");
  expect_called(shop, "order {}\n");
}

static void tenants_have_keys_of_their_own(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann"), *bob = arrives_as(w, MODE_DIRECT, "bob");
  answers(shop, "one");
  answers(shop, "two");
  expect_text(orders(ann, "k1", "{}"), "one");
  expect_text(orders(bob, "k1", "{}"), "two");
  expect_called(shop, "order {}\norder {}\n");
}

static void a_call_waits_for_the_call_with_the_same_key(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann"), *other = arrives_as(w, MODE_DIRECT, "ann");
  holds(shop);
  uint64_t first = begins_order(ann, "k1", "{}"), second = begins_order(other, "k1", "{}");
  uint64_t third = begins_order(ann, "k1", "{}");
  is_asked(shop);
  assert_false(is_answered(other, second));
  releases(shop, "ordered");
  expect_text(hears(ann, first), "ordered");
  expect_text(hears(other, second), "ordered");
  expect_text(hears(ann, third), "ordered");
  expect_called(shop, "order {}\n");
}

static void a_call_that_waits_too_long_can_be_repeated(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, GOVERNANCE("", ""));
  given(w, "timeouts: {request: 5}\n");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann"), *other = arrives_as(w, MODE_DIRECT, "ann");
  holds(shop);
  uint64_t first = begins_order(ann, "k1", "{}");
  is_asked(shop);
  pass(w, 4000);
  uint64_t second = sends(other, "tools/call",
                          "{'name':'order','arguments':{},'_meta':{"
                          "'io.toolgate/idempotency_key':'k1','toolgate/timeoutMs':500}}");
  pass(w, 600);
  expect_fault(hears(other, second), "IDEMPOTENCY_IN_PROGRESS");
  expect_part(find_reply(other, second), "'retryable':true");
  releases(shop, "ordered");
  expect_text(hears(ann, first), "ordered");
  expect_called(shop, "order {}\n");
}

static void a_waiting_call_goes_on_if_the_other_one_was_not_sent(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, GOVERNANCE("", ""));
  given(w, "limits: {server_in_flight: 1}\n");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann"), *other = arrives_as(w, MODE_DIRECT, "ann");
  holds(shop);
  uint64_t busy = begins(ann, "shop:find", "{}");
  uint64_t first = begins_order(ann, "k1", "{}"), second = begins_order(other, "k1", "{}");
  cancels(ann, first);
  releases(shop, "found");
  expect_text(hears(ann, busy), "found");
  expect_text(hears(other, second), "ok");
  expect_called(shop, "find {}\norder {}\n");
}

static void a_revoked_permission_comes_before_a_stored_outcome(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_SERVERS, "ann");
  answers(shop, "secret");
  expect_text(orders(ann, "k1", "{}"), "secret");
  assert_true(is_governed_anew_by(
      w, "'adapters':[{'adapter_id':'adp_shop','type':'MCP','server':'shop','capabilities':["
         "{'name':'order','class':'act','approval_mode':'local_write'}]}],'permissions':["
         "{'permission_id':'p','adapter_id':'adp_shop','capability':'order','allow':true,"
         "'arg_constraints':{'n':{'required':true}}}],'context':{'agents':{'ann':{'tenant':'acme'}}}"));
  const struct json *m = orders(ann, "k1", "{}");
  expect_fault(m, "ARG_CONSTRAINT_VIOLATION");
  assert_true(is_governed_anew_by(w,
                                  "'adapters':[{'adapter_id':'adp_shop','type':'MCP','server':'shop','capabilities':["
                                  "{'name':'order','class':'act','approval_mode':'local_write'}]}],'permissions':[],"
                                  "'context':{'agents':{'ann':{'tenant':'acme'}}}"));
  m = orders(ann, "k1", "{}");
  expect_fault(m, "DENIED_BY_POLICY");
  expect_no_part(m, "secret");
  expect_called(shop, "order {}\n");
}

static void a_key_is_forgotten_after_keep_s(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, GOVERNANCE("", ",'idempotency':{'keep_s':100}"));
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_text(orders(ann, "k1", "{}"), "ok");
  pass(w, 90000);
  expect_text(orders(ann, "k1", "{}"), "ok");
  expect_called(shop, "order {}\n");
  pass(w, 20000);
  expect_text(orders(ann, "k1", "{}"), "ok");
  expect_called(shop, "order {}\n");
}

#define DAY (INT64_C(24) * 3600000)

static void a_clock_that_is_set_forward_does_not_end_a_call_in_progress(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann"), *other = arrives_as(w, MODE_DIRECT, "ann");
  holds(shop);
  uint64_t first = begins_order(ann, "k1", "{}");
  is_asked(shop);
  w->jumped = 40 * DAY;
  uint64_t second = begins_order(other, "k1", "{}");
  assert_false(is_answered(other, second));
  releases(shop, "ordered");
  expect_text(hears(ann, first), "ordered");
  expect_text(hears(other, second), "ordered");
  expect_text(orders(ann, "k1", "{}"), "ordered");
  expect_called(shop, "order {}\n");
}

static void a_clock_that_is_set_back_keeps_outcomes(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  answers(shop, "ordered");
  expect_text(orders(ann, "k1", "{}"), "ordered");
  w->jumped = -10 * DAY;
  expect_text(orders(ann, "k1", "{}"), "ordered");
  breaks(shop);
  expect_fault(orders(ann, "k2", "{}"), "UPSTREAM_UNAVAILABLE");
  w->jumped = 0;
  expect_fault(orders(ann, "k2", "{}"), "EFFECT_UNKNOWN");
  expect_called(shop, "order {}\norder {}\ncancelled order\n");
}

// ---- the key

static void a_call_of_class_act_needs_a_key(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  expect_fault(calls(ann, "shop:order", "{}"), "IDEMPOTENCY_KEY_REQUIRED");
  expect_text(calls(ann, "shop:find", "{}"), "ok");
  expect_called(shop, "find {}\n");
}

static void a_key_of_another_class_is_honoured(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  for (int i = 0; i < 2; i++)
    expect_text(asks(ann, "tools/call", "{'name':'find','arguments':{}," KEY("k1") "}"), "ok");
  expect_called(shop, "find {}\n");
}

static void the_key_may_be_an_argument_of_the_schema(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  for (int i = 0; i < 2; i++) expect_text(calls(ann, "shop:order", "{'n':1,'idempotency_key':'k1'}"), "ok");
  expect_text(orders(ann, "k1", "{'n':1}"), "ok");
  expect_called(shop, "order {'n':1,'idempotency_key':'k1'}\n");
}

static void the_key_may_be_an_argument_of_a_constraint(void **state) {
  struct world *w = *state;
  struct server *shop = serves(w, "payments", NULL);
  has_tool(shop, "{'name':'issue_refund','inputSchema':{'type':'object'}}");
  governed_by(w, "'adapters':[{'adapter_id':'adp_payments','type':'MCP','server':'payments','capabilities':["
                 "{'name':'issue_refund','class':'act','approval_mode':'network'}]}],"
                 "'permissions':[{'permission_id':'perm','adapter_id':'adp_payments','capability':'issue_refund',"
                 "'allow':true,'arg_constraints':{'amount_inr':{'min':1,'max':50000},'currency':{'enum':['INR']},"
                 "'idempotency_key':{'required':true,'pattern':'^ik_[a-z0-9]{16}$'}}}]");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  static const char args[] = "{'amount_inr':4200,'currency':'INR','idempotency_key':'ik_2x9k4j7m1q8w0p3z'}";
  expect_text(calls(ann, "payments:issue_refund", args), "ok");
  expect_text(calls(ann, "payments:issue_refund", args), "ok");
  expect_text(calls_with(ann, "payments:issue_refund", args, KEY("ik_2x9k4j7m1q8w0p3z")), "ok");
  expect_fault(calls_with(ann, "payments:issue_refund", args, KEY("ik_0000000000000000")), "IDEMPOTENCY_KEY_MISMATCH");
  expect_fault(calls(ann, "payments:issue_refund", "{'amount_inr':4200,'idempotency_key':'ik_2X9k4j7m1q8w0p3z'}"),
               "ARG_CONSTRAINT_VIOLATION");
  expect_fault(calls(ann, "payments:issue_refund", "{'amount_inr':4201,'idempotency_key':'ik_2x9k4j7m1q8w0p3z'}"),
               "IDEMPOTENCY_CONFLICT");
  expect_called(shop, "issue_refund {'amount_inr':4200,'currency':'INR','idempotency_key':'ik_2x9k4j7m1q8w0p3z'}\n");
}

static void an_argument_that_neither_schema_nor_constraint_has_is_no_key(void **state) {
  struct world *w = *state;
  struct server *shop = serves(w, "shop", NULL);
  has_tool(shop, "{'name':'order','inputSchema':{'type':'object'}}");
  governed_by(w, GOVERNANCE("", ""));
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_fault(calls(ann, "shop:order", "{'idempotency_key':'k1'}"), "IDEMPOTENCY_KEY_REQUIRED");
  expect_called(shop, "");
}

static void a_malformed_key_is_refused(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  char longest[2 * IDEMPOTENCY_KEY_MAX];
  memset(longest, 'k', sizeof longest);
  longest[IDEMPOTENCY_KEY_MAX + 1] = 0;
  expect_fault(orders(ann, longest, "{}"), "ARGS_INVALID");
  expect_fault(orders(ann, "", "{}"), "ARGS_INVALID");
  expect_fault(orders(ann, "a\\nb", "{}"), "ARGS_INVALID");
  expect_fault(asks(ann, "tools/call", "{'name':'order','_meta':{'io.toolgate/idempotency_key':7}}"), "ARGS_INVALID");
  expect_called(shop, "");
  longest[IDEMPOTENCY_KEY_MAX] = 0;
  expect_text(orders(ann, longest, "{}"), "ok");
}

static void the_key_reaches_the_server_unchanged(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  expect_text(orders(ann, "k1", "{}"), "ok");
  assert_true(contains(shop->request, STR("\"io.toolgate/idempotency_key\":\"k1\"")));
}

static void with_mint_request_a_key_is_made_for_the_request(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, GOVERNANCE("", ENVELOPES ",'idempotency':{'mint':'request'}"));
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  const struct json *m = calls(ann, "shop:order", "{}");
  expect_text(m, "ok");
  assert_true(str_starts(result_envelope(w, m, "idempotency.key"), STR("mint_")));
  assert_true(contains(shop->request, STR("\"io.toolgate/idempotency_key\":\"mint_")));
  expect_text(calls(ann, "shop:order", "{}"), "ok");  // another request
  expect_called(shop, "order {}\norder {}\n");
}

static void with_mint_request_the_same_request_has_the_same_key(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, GOVERNANCE("", ",'idempotency':{'mint':'request'}"));
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_text(calls(ann, "shop:order", "{}"), "ok");
  ann->next_id--;
  ann->first = NULL, ann->end = &ann->first;
  expect_text(calls(ann, "shop:order", "{}"), "ok");
  expect_called(shop, "order {}\n");
}

static void a_dry_run_needs_no_key_and_uses_none(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  expect_text(calls_with(ann, "shop:order", "{}", "'dry_run':true"), "'dry_run':true");
  expect_text(orders(ann, "k1", "{}"), "ok");
  expect_called(shop, "order {}\n");
}

// ---- how calls end

static void an_error_of_the_tool_is_an_outcome(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  reports(shop, "no stock");
  for (int i = 0; i < 2; i++) {
    const struct json *m = orders(ann, "k1", "{}");
    expect_words(m, "no stock");
    expect_part(m, "'isError':true");
    expect_envelope(m, "status", i ? "replayed" : "failed");
  }
  expect_called(shop, "order {}\n");
}

static void an_error_of_the_server_is_an_outcome(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  fails(shop, -32602, "no such article", "{'article':7}");
  for (int i = 0; i < 2; i++) {
    const struct json *m = orders(ann, "k1", "{}");
    expect_part(m, "'code':-32602");
    expect_part(m, "no such article");
    expect_part(m, "'article':7");
  }
  expect_called(shop, "order {}\n");
}

static void a_call_that_the_server_refuses_for_its_rate_can_be_repeated(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  fails(shop, -32000, "Rate limit exceeded", NULL);
  expect_part(orders(ann, "k1", "{}"), "Rate limit exceeded");
  expect_fault(orders(ann, "k1", "{'n':1}"), "IDEMPOTENCY_CONFLICT");
  expect_text(orders(ann, "k1", "{}"), "ok");
  expect_called(shop, "order {}\norder {}\n");
}

// The outcome of the first call is unknown: a repeated call is not sent.
static void is_unknown(struct world *w, struct server *shop, struct agent *ann) {
  const struct json *m = orders(ann, "k1", "{}");
  expect_fault(m, "EFFECT_UNKNOWN");
  expect_part(m, "'effect':'unknown'");
  expect_part(m, "'retryable':false");
  expect_part(m, "'dead_letter':'dl_");
  expect_called(shop, "order {}\ncancelled order\n");
}

static void after_a_timeout_the_outcome_is_unknown(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, GOVERNANCE("", ENVELOPES));
  given(w, "timeouts: {request: 5}\n");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  holds(shop);
  uint64_t id = begins_order(ann, "k1", "{}");
  is_asked(shop);
  pass(w, 6000);
  const struct json *m = hears(ann, id);
  expect_fault(m, "UPSTREAM_TIMEOUT");
  expect_part(m, "'effect':'unknown'");
  expect_envelope(m, "status", "unknown");
  is_unknown(w, shop, ann);
}

static void after_the_deadline_of_the_caller_the_outcome_is_unknown(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  holds(shop);
  uint64_t id = sends(ann, "tools/call",
                      "{'name':'order','arguments':{},'_meta':{"
                      "'io.toolgate/idempotency_key':'k1','toolgate/timeoutMs':1000}}");
  is_asked(shop);
  pass(w, 1100);
  expect_fault(hears(ann, id), "UPSTREAM_TIMEOUT");
  is_unknown(w, shop, ann);
}

static void after_a_lost_connection_the_outcome_is_unknown(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  breaks(shop);
  expect_fault(orders(ann, "k1", "{}"), "UPSTREAM_UNAVAILABLE");
  pass(w, 3000);
  is_unknown(w, shop, ann);
}

static void after_the_client_has_cancelled_the_outcome_is_unknown(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  holds(shop);
  uint64_t id = begins_order(ann, "k1", "{}");
  is_asked(shop);
  cancels(ann, id);
  is_unknown(w, shop, ann);
}

static void after_the_client_has_left_the_outcome_is_unknown(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann"), *other = arrives_as(w, MODE_DIRECT, "ann");
  holds(shop);
  begins_order(ann, "k1", "{}");
  is_asked(shop);
  leaves(ann);
  is_unknown(w, shop, other);
}

static void a_call_that_was_not_sent_frees_its_key(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, GOVERNANCE("", ""));
  given(w, "timeouts: {request: 5, start: 5}\n");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  shop->starts_slowly = true;
  ends(shop);
  uint64_t id = begins_order(ann, "k1", "{'n':1}");
  for (int i = 0; i < 20 && !is_answered(ann, id); i++) pass(w, 1000), sched_yield();
  assert_true(fault_of(w, hears(ann, id)).n > 0);
  expect_no_part(find_reply(ann, id), "unknown");
  shop->starts_slowly = false;
  pass(w, 30000);
  expect_text(orders(ann, "k1", "{'n':2}"), "ok");
  expect_called(shop, "order {'n':2}\n");
}

static void a_call_that_is_cancelled_before_it_is_sent_frees_its_key(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  for (int i = 0; i < 20; i++) {
    cancels(ann, begins_order(ann, "k1", "{'n':1}"));  // perhaps while the claim is being stored
    if (shop->log.n) break;
  }
  if (!shop->log.n) expect_text(orders(ann, "k1", "{'n':2}"), "ok");
}

static void a_large_result_is_replayed_by_its_hash(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  char *large = mem_zero(IDEMPOTENCY_RESULT_MAX + 1);
  memset(large, 'x', IDEMPOTENCY_RESULT_MAX);
  answers(shop, large);
  const struct json *first = orders(ann, "k1", "{}"), *again = orders(ann, "k1", "{}");
  expect_part(first, "xxxx");
  expect_no_part(again, "xxxx");
  expect_text(again, "'status':'replayed'");
  expect_envelope(again, "status", "replayed");
  str hash = result_envelope(w, first, "output_hash");
  expect_words(again, arena_cstr(&w->arena, hash));
  expect_called(shop, "order {}\n");
  mem_free(large);
}

// ---- repeated by the gateway

static void attempts_of_the_gateway_have_one_claim(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, GOVERNANCE(",'default_idempotency':'native','retry':{'max_attempts':3}", ""));
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  breaks(shop);
  uint64_t id = begins_order(ann, "k1", "{}");
  is_asked(shop);
  pass(w, 3000);
  expect_text(hears(ann, id), "ok");
  expect_text(orders(ann, "k1", "{}"), "ok");
  expect_called(shop, "order {}\ncancelled order\norder {}\n");
}

static void an_attempt_that_is_not_sent_does_not_make_earlier_ones_undone(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, GOVERNANCE(",'default_idempotency':'native','retry':{'max_attempts':2,'base_delay':0.1}", ENVELOPES));
  given(w, "timeouts: {request: 5, start: 5}\n");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  breaks(shop);
  shop->starts_slowly = true;
  uint64_t id = begins_order(ann, "k1", "{}");
  is_asked(shop);
  for (int i = 0; i < 40 && !is_answered(ann, id); i++) pass(w, 1000), sched_yield();
  expect_envelope(hears(ann, id), "status", "unknown");
}

static void a_native_server_gets_an_unknown_call_again(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, GOVERNANCE(",'default_idempotency':'native'", ENVELOPES));
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  breaks(shop);
  expect_fault(orders(ann, "k1", "{}"), "UPSTREAM_UNAVAILABLE");
  pass(w, 3000);
  const struct json *m = orders(ann, "k1", "{}");
  expect_text(m, "ok");
  expect_envelope(m, "status", "completed");
  expect_envelope(orders(ann, "k1", "{}"), "status", "replayed");
  expect_called(shop, "order {}\ncancelled order\norder {}\n");
}

#define RECONCILE \
  ",'reconcile':{'capability':'find','args':{'order':{'var':'args.n'}},'done':{'!!':[{'var':'result.found'}]}}"

// A call whose outcome is unknown, and which the server cannot carry out any more.
static struct agent *with_an_unknown_call(struct world *w, struct server *shop) {
  given(w, "timeouts: {request: 5, request_max: 5}\n");
  governed_by(w, GOVERNANCE(RECONCILE, ENVELOPES));
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  breaks(shop);
  expect_fault(orders(ann, "k1", "{'n':7}"), "UPSTREAM_UNAVAILABLE");
  pass(w, 3000);
  expect_called(shop, "order {'n':7}\ncancelled order\n");
  return ann;
}

static void an_unknown_call_that_had_its_effect_is_replayed(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  struct agent *ann = with_an_unknown_call(w, shop);
  returns(shop, "{'content':[],'structuredContent':{'found':true}}");
  const struct json *m = orders(ann, "k1", "{'n':7}");
  expect_text(m, "'status':'replayed'");
  expect_envelope(m, "status", "replayed");
  expect_text(orders(ann, "k1", "{'n':7}"), "'status':'replayed'");
  expect_called(shop, "find {'order':7}\n");
}

static void an_unknown_call_that_had_no_effect_is_sent_again(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  struct agent *ann = with_an_unknown_call(w, shop);
  answers(shop, "{}");
  expect_fault(orders(ann, "k1", "{'n':7}"), "IDEMPOTENCY_IN_PROGRESS");  // the server may still carry it out
  pass(w, 6000);
  answers(shop, "{}");
  answers(shop, "ordered");
  expect_text(orders(ann, "k1", "{'n':7}"), "ordered");
  expect_text(orders(ann, "k1", "{'n':7}"), "ordered");
  expect_called(shop, "find {'order':7}\nfind {'order':7}\norder {'n':7}\n");
}

static void an_unknown_call_that_cannot_be_checked_stays_unknown(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  struct agent *ann = with_an_unknown_call(w, shop);
  pass(w, 6000);
  reports(shop, "out of order");
  expect_fault(orders(ann, "k1", "{'n':7}"), "EFFECT_UNKNOWN");
  expect_called(shop, "find {'order':7}\n");
}

static void a_cancelled_check_leaves_the_call_unknown(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  struct agent *ann = with_an_unknown_call(w, shop);
  pass(w, 6000);
  holds(shop);
  uint64_t id = begins_order(ann, "k1", "{'n':7}");
  is_asked(shop);
  cancels(ann, id);
  returns(shop, "{'content':[],'structuredContent':{'found':true}}");
  expect_text(orders(ann, "k1", "{'n':7}"), "'status':'replayed'");
  expect_called(shop, "find {'order':7}\ncancelled find\nfind {'order':7}\n");
}

static void metrics_count_events_of_keys(void **state) {
  struct world *w = *state;
  struct server *shop = a_governed_shop(w);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  struct buf page;
  orders(ann, "k1", "{}");
  orders(ann, "k1", "{}");
  orders(ann, "k1", "{'n':1}");
  breaks(shop);
  orders(ann, "k2", "{}");
  buf_init(&page, 1 << 20);
  govern_metrics_write(metrics_governed(w->gateway.metrics), &page);
  str text = buf_view(&page);
  assert_true(contains(text, STR("toolgate_govern_keys_total{event=\"replayed\"} 1\n")));
  assert_true(contains(text, STR("toolgate_govern_keys_total{event=\"conflict\"} 1\n")));
  assert_true(contains(text, STR("toolgate_govern_keys_total{event=\"unknown\"} 1\n")));
  assert_true(contains(text, STR("capability=\"order\",outcome=\"replayed\"} 1\n")));
  buf_done(&page);
}

#define TEST(name) IN_A_WORLD(name)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_repeated_call_gets_the_outcome_of_the_first_one),
      TEST(a_repeated_call_gets_its_outcome_in_every_mode),
      TEST(the_order_of_members_does_not_count),
      TEST(a_key_belongs_to_its_arguments),
      TEST(a_key_belongs_to_its_caller),
      TEST(tenants_have_keys_of_their_own),
      TEST(a_call_waits_for_the_call_with_the_same_key),
      TEST(a_call_that_waits_too_long_can_be_repeated),
      TEST(a_waiting_call_goes_on_if_the_other_one_was_not_sent),
      TEST(a_revoked_permission_comes_before_a_stored_outcome),
      TEST(a_key_is_forgotten_after_keep_s),
      TEST(a_clock_that_is_set_forward_does_not_end_a_call_in_progress),
      TEST(a_clock_that_is_set_back_keeps_outcomes),
      TEST(a_call_of_class_act_needs_a_key),
      TEST(a_key_of_another_class_is_honoured),
      TEST(the_key_may_be_an_argument_of_the_schema),
      TEST(the_key_may_be_an_argument_of_a_constraint),
      TEST(an_argument_that_neither_schema_nor_constraint_has_is_no_key),
      TEST(a_malformed_key_is_refused),
      TEST(the_key_reaches_the_server_unchanged),
      TEST(with_mint_request_a_key_is_made_for_the_request),
      TEST(with_mint_request_the_same_request_has_the_same_key),
      TEST(a_dry_run_needs_no_key_and_uses_none),
      TEST(an_error_of_the_tool_is_an_outcome),
      TEST(an_error_of_the_server_is_an_outcome),
      TEST(a_call_that_the_server_refuses_for_its_rate_can_be_repeated),
      TEST(after_a_timeout_the_outcome_is_unknown),
      TEST(after_the_deadline_of_the_caller_the_outcome_is_unknown),
      TEST(after_a_lost_connection_the_outcome_is_unknown),
      TEST(after_the_client_has_cancelled_the_outcome_is_unknown),
      TEST(after_the_client_has_left_the_outcome_is_unknown),
      TEST(a_call_that_was_not_sent_frees_its_key),
      TEST(a_call_that_is_cancelled_before_it_is_sent_frees_its_key),
      TEST(a_large_result_is_replayed_by_its_hash),
      TEST(attempts_of_the_gateway_have_one_claim),
      TEST(an_attempt_that_is_not_sent_does_not_make_earlier_ones_undone),
      TEST(a_native_server_gets_an_unknown_call_again),
      TEST(an_unknown_call_that_had_its_effect_is_replayed),
      TEST(an_unknown_call_that_had_no_effect_is_sent_again),
      TEST(an_unknown_call_that_cannot_be_checked_stays_unknown),
      TEST(a_cancelled_check_leaves_the_call_unknown),
      TEST(metrics_count_events_of_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
