// SPDX-License-Identifier: Apache-2.0
// Run contexts: what the claims of a token add to the context of an agent, and which tokens are refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "govern/run.h"
#include "governance_world.h"

#define CONTEXT(members) "{'adapters':[],'context':{" members "}}"
static const char plain[] = CONTEXT("'defaults':{'tenant':'acme'},'claims':{'tenant':'org','role':'role'}");

static const struct hash_key seed = {1, 2};

// Returns the run context of the agent `triage`, with or without claims and a workload.
static struct run_context *run_of_workload(struct governance *g, struct arena *a, const char *claims,
                                           const char *workload, struct fault *f) {
  struct run_source source = {
      .seed = &seed,
      .agent = STR("triage"),
      .credential = STR("token-1"),
      .claims = claims ? str_of(governance_quoted(a, claims)) : STR_NONE,
      .workload = workload ? str_of(workload) : STR_NONE,
  };
  *f = (struct fault){0};
  return run_context_get(g, &source, f);
}

static struct run_context *run_of(struct governance *g, struct arena *a, const char *claims, struct fault *f) {
  return run_of_workload(g, a, claims, NULL, f);
}

// The member of the context, as JSON text with single quotes; "-" if it is absent.
static const char *member(struct arena *a, const struct run_context *r, const char *key) {
  const struct json *v = json_get(r->governed.context, str_of(key));
  if (!v) return "-";
  char *text = arena_cstr(a, json_span(v));
  for (char *c = text; *c; c++)
    if (*c == '"') *c = '\'';
  return text;
}

static void assert_member(const char *file, const char *claims, const char *key, const char *expected) {
  struct governance *g = governance_of(file);
  struct arena a;
  struct fault f;
  arena_init(&a);
  struct run_context *r = run_of(g, &a, claims, &f);
  if (!r) fail_msg("%s: %s", claims ? claims : "no claims", f.message);
  assert_string_equal(member(&a, r, key), expected);
  arena_done(&a);
  governance_unref(&g);
}

static void assert_refused(const char *file, const char *claims, enum fault_code code) {
  struct governance *g = governance_of(file);
  struct arena a;
  struct fault f;
  arena_init(&a);
  struct run_context *r = run_of(g, &a, claims, &f);
  if (r) fail_msg("%s is accepted: %.*s", claims, STR_ARG(r->key));
  assert_int_equal(f.code, code);
  arena_done(&a);
  governance_unref(&g);
}

// ---- principals

static void principals_list_the_origin_the_actors_and_the_agent(void **state) {
  assert_member(plain, "{'sub':'ann','org':'acme'}", "principals",
                "[{'kind':'user','id':'ann','tenant_id':'acme'},{'kind':'agent','id':'triage','tenant_id':'acme'}]");
  assert_member(plain, "{'sub':'ann','act':{'sub':'router','act':{'sub':'planner'}}}", "principals",
                "[{'kind':'user','id':'ann','tenant_id':'acme'},{'kind':'agent','id':'planner','tenant_id':'acme'},"
                "{'kind':'agent','id':'router','tenant_id':'acme'},{'kind':'agent','id':'triage','tenant_id':'acme'}]");
  assert_member(plain, "{'sub':'ann','act':{'sub':'triage'}}", "principals",
                "[{'kind':'user','id':'ann','tenant_id':'acme'},{'kind':'agent','id':'triage','tenant_id':'acme'}]");
  assert_member(plain, "{'sub':'ann'}", "user", "{'id':'ann'}");
  assert_member(plain, "{'sub':'ann'}", "agent", "'triage'");
}

static void a_token_that_a_client_got_for_itself_has_a_service_as_its_origin(void **state) {
  static const char origin[] =
      "[{'kind':'service','id':'nightly','tenant_id':'acme'},{'kind':'agent','id':'triage','tenant_id':'acme'}]";
  assert_member(plain, "{'sub':'nightly','client_id':'nightly'}", "principals", origin);
  assert_member(plain, "{'sub':'nightly','azp':'nightly'}", "principals", origin);
  assert_member(plain, "{'sub':'nightly','client_id':'nightly'}", "user", "-");
  assert_member(plain, "{'sub':'nightly','client_id':'app','azp':'nightly'}", "principals", origin);
  assert_member(plain, "{'sub':'nightly','cid':'nightly'}", "principals", origin);
  assert_member(plain, "{'sub':'nightly','azp':'x','gty':'client-credentials'}", "principals", origin);
  assert_member(plain, "{'sub':'nightly','azp':'x','idtyp':'app'}", "principals", origin);
  assert_member(plain, "{'sub':'nightly','azp':'x','preferred_username':'service-account-x'}", "principals", origin);
  // The user of the governance file is not the origin of such a token.
  assert_member(CONTEXT("'defaults':{'tenant':'acme','user':{'id':'ann'}}"), "{'sub':'nightly','azp':'nightly'}",
                "principals", origin);
  assert_member(CONTEXT("'defaults':{'user':{'id':'ann'}}"), "{'sub':'nightly','azp':'nightly'}", "user", "-");
}

static void without_a_json_web_token_the_origin_is_the_credential(void **state) {
  assert_member(plain, NULL, "principals",
                "[{'kind':'service','id':'token-1','tenant_id':'acme'},"
                "{'kind':'agent','id':'triage','tenant_id':'acme'}]");
  assert_member(CONTEXT("'agents':{'triage':{'user':{'id':'ann'}}}"), NULL, "principals",
                "[{'kind':'user','id':'ann'},{'kind':'agent','id':'triage'}]");
}

static void assert_workload(const char *file, const char *claims, const char *workload, const char *key,
                            const char *expected) {
  struct governance *g = governance_of(file);
  struct arena a;
  struct fault f;
  arena_init(&a);
  struct run_context *r = run_of_workload(g, &a, claims, workload, &f);
  if (!r) fail_msg("%s", f.message);
  assert_string_equal(member(&a, r, key), expected);
  arena_done(&a);
  governance_unref(&g);
}

static void the_workload_belongs_to_the_last_principal(void **state) {
  assert_workload(plain, "{'sub':'ann'}", "spiffe://w", "workload", "'spiffe://w'");
  assert_workload(plain, "{'sub':'ann','act':{'sub':'planner'}}", "w", "principals",
                  "[{'kind':'user','id':'ann','tenant_id':'acme'},{'kind':'agent','id':'planner','tenant_id':'acme'},"
                  "{'kind':'agent','id':'triage','tenant_id':'acme','workload':'w'}]");
  assert_workload(plain, "{'sub':'ann','act':{'sub':'triage'}}", "w", "principals",
                  "[{'kind':'user','id':'ann','tenant_id':'acme'},"
                  "{'kind':'agent','id':'triage','tenant_id':'acme','workload':'w'}]");
  assert_workload(plain, NULL, "a\"b", "workload", "'a\\'b'");
}

static void only_a_workload_token_sets_the_workload(void **state) {
  static const char stated[] = CONTEXT("'defaults':{'workload':'spiffe://w'}");
  assert_workload(stated, "{'sub':'ann','workload':'spiffe://w'}", NULL, "workload", "-");
  assert_workload(stated, NULL, "x", "workload", "'x'");
  struct buf b;
  buf_init(&b, 1 << 16);
  assert_null(governance_try(CONTEXT("'claims':{'workload':'workload'}"), &b));
  assert_true(str_starts(buf_view(&b), STR("/context/claims/workload ")));
  buf_done(&b);
}

static void workloads_do_not_share_a_context(void **state) {
  struct governance *g = governance_of(plain);
  struct arena a;
  struct fault f;
  arena_init(&a);
  struct run_context *one = run_of_workload(g, &a, "{'sub':'ann'}", "one", &f);
  assert_ptr_not_equal(one, run_of_workload(g, &a, "{'sub':'ann'}", "two", &f));
  assert_ptr_equal(one, run_of_workload(g, &a, "{'sub':'ann'}", "one", &f));
  arena_done(&a);
  governance_unref(&g);
}

static void a_capability_can_require_a_workload(void **state) {
  static const char file[] =
      "{'adapters':[{'adapter_id':'a','type':'MCP','capabilities':[{'name':'look','class':'observe',"
      "'approval_mode':'read_only','claims':['workload']}]}],"
      "'permissions':[{'permission_id':'p','adapter_id':'a','capability':'look','allow':true}]}";
  struct governance *g = governance_of(file);
  struct arena a;
  struct fault f;
  arena_init(&a);
  for (int with = 0; with < 2; with++) {
    struct run_context *r = run_of_workload(g, &a, "{'sub':'ann','workload':'x'}", with ? "w" : NULL, &f);
    struct governance_question q = {.capability = STR("a.look"), .context = r->governed.context};
    struct governance_decision d;
    governance_decide(g, &q, &a, &d);
    assert_int_equal(d.code, with ? GOVERNANCE_ALLOWED : GOVERNANCE_PERMISSION_DENIED);
  }
  arena_done(&a);
  governance_unref(&g);
}

// P01: a chain with a repeated agent is invalid.
static void a_chain_with_a_repeated_agent_is_refused(void **state) {
  assert_refused(plain, "{'sub':'ann','act':{'sub':'a','act':{'sub':'b','act':{'sub':'a'}}}}", FAULT_IDENTITY_INVALID);
  assert_refused(plain, "{'sub':'ann','act':{'sub':'router','act':{'sub':'triage'}}}", FAULT_IDENTITY_INVALID);
}

// P03: a later actor must not have more scopes than an earlier one.
static void an_actor_must_not_have_wider_scopes_than_the_actor_before_it(void **state) {
  static const char narrower[] = "{'sub':'ann','scope':'read','act':{'sub':'b','scope':'read write','act':"
                                 "{'sub':'c','scope':'read write admin'}}}";
  assert_member(plain, narrower, "scopes", "['read']");
  assert_refused(plain, "{'sub':'ann','scope':'read write','act':{'sub':'b','scope':'read'}}", FAULT_IDENTITY_INVALID);
  assert_refused(plain,
                 "{'sub':'ann','scope':'read','act':{'sub':'b','scope':'read admin','act':"
                 "{'sub':'c','scope':'read write'}}}",
                 FAULT_IDENTITY_INVALID);
}

static void scopes_of_actors_count_in_every_form(void **state) {
  static const char *const wider[] = {
      "{'sub':'ann','scp':['read','write'],'act':{'sub':'b','scp':['read']}}",
      "{'sub':'ann','scope':'read write','act':{'sub':'b','scp':['read']}}",
      "{'sub':'ann','scp':'read write','act':{'sub':'b','scope':'read'}}",
      "{'sub':'ann','scope':'read','act':{'sub':'b','scope':''}}",
      // An actor without scopes does not hide those of the actors before it.
      "{'sub':'ann','scope':'read write','act':{'sub':'b','act':{'sub':'c','scope':'read'}}}",
      "{'sub':'ann','scope':'Read','act':{'sub':'b','scope':'read'}}",
      "{'sub':'ann','scope':'read','act':{'sub':'b','scope':5}}",
      "{'sub':'ann','scope':'read','act':{'sub':'b','scope':['read',5]}}",
  };
  for (size_t i = 0; i < sizeof wider / sizeof *wider; i++) assert_refused(plain, wider[i], FAULT_IDENTITY_INVALID);
  assert_member(plain, "{'sub':'ann','scp':['read'],'act':{'sub':'b','scope':'read write'}}", "scopes", "['read']");
  assert_refused(CONTEXT("'claims':{'scopes':'/p/list'}"),
                 "{'sub':'ann','p':{'list':['read','write']},'act':{'sub':'b','p':{'list':['read']}}}",
                 FAULT_IDENTITY_INVALID);
}

// P04: all principals belong to one tenant.
static void principals_of_another_tenant_are_refused(void **state) {
  assert_refused(plain, "{'sub':'ann','org':'globex'}", FAULT_TENANT_MISMATCH);
  assert_refused(plain, "{'sub':'ann','org':'acme','act':{'sub':'b','org':'globex'}}", FAULT_TENANT_MISMATCH);
  assert_refused(plain, "{'sub':'ann','org':'acme','act':{'sub':'b','org':['acme']}}", FAULT_TENANT_MISMATCH);
  assert_refused(CONTEXT("'claims':{'tenant':'/t/id'}"),
                 "{'sub':'ann','t':{'id':'acme'},'act':{'sub':'b','t':{'id':'globex'}}}", FAULT_TENANT_MISMATCH);
  assert_refused(CONTEXT("'claims':{'tenant':'org'}"), "{'sub':'ann','act':{'sub':'b','org':'globex'}}",
                 FAULT_TENANT_MISMATCH);
  assert_member(CONTEXT("'claims':{'tenant':'org'}"), "{'sub':'ann','org':'globex'}", "tenant", "'globex'");
}

static void a_malformed_or_long_chain_is_refused(void **state) {
  static const char *const chains[] = {
      "{'sub':'ann','act':'b'}",
      "{'sub':'ann','act':{}}",
      "{'sub':'ann','act':{'sub':5}}",
      "{'sub':'ann','act':{'sub':''}}",
      "{'sub':'ann','act':{'sub':'b','act':[]}}",
      "{'sub':'ann','act':{'sub':'1','act':{'sub':'2','act':{'sub':'3','act':{'sub':'4','act':{'sub':'5','act':"
      "{'sub':'6','act':{'sub':'7'}}}}}}}}",
  };
  for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) assert_refused(plain, chains[i], FAULT_IDENTITY_INVALID);
}

// ---- claims

static void configured_claims_become_members_of_the_context(void **state) {
  static const char file[] =
      CONTEXT("'agents':{'triage':{'role':'intern'}},"
              "'claims':{'role':'/realm/roles/0','intent':'purpose','environment':'env','team':'team'}");
  static const char claims[] = "{'sub':'ann','realm':{'roles':['lead']},'purpose':'support.refund','team':{'n':7}}";
  assert_member(file, claims, "role", "'lead'");
  assert_member(file, claims, "intent", "'support.refund'");
  assert_member(file, claims, "team", "{'n':7}");
  assert_member(file, claims, "environment", "-");
  assert_member(file, "{'sub':'ann'}", "role", "'intern'");
  assert_refused(file, "{'sub':'ann','purpose':5}", FAULT_IDENTITY_INVALID);
}

static void scopes_come_from_the_token_only(void **state) {
  static const char file[] = CONTEXT("'defaults':{'scopes':['refund','admin']}");
  assert_member(file, "{'sub':'ann','scope':'refund read'}", "scopes", "['refund','read']");
  assert_member(file, "{'sub':'ann','scp':['refund']}", "scopes", "['refund']");
  assert_member(file, "{'sub':'ann','scp':'refund read'}", "scopes", "['refund','read']");
  assert_member(file, "{'sub':'ann'}", "scopes", "[]");
  assert_member(file, "{'sub':'ann','scope':null,'scp':null}", "scopes", "[]");
  assert_member(file, "{'sub':'ann','Scope':'admin','SCOPE':'admin'}", "scopes", "[]");
  assert_member(file, NULL, "scopes", "['refund','admin']");
  assert_member(plain, NULL, "scopes", "[]");
  static const char *const malformed[] = {"{'sub':'ann','scp':[5]}", "{'sub':'ann','scp':{'admin':true}}",
                                          "{'sub':'ann','scope':5}", "{'sub':'ann','scope':[['admin']]}"};
  for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
    assert_refused(file, malformed[i], FAULT_IDENTITY_INVALID);
}

static void scopes_of_a_token_that_cannot_be_read_are_not_those_of_the_file(void **state) {
  struct buf b;
  buf_init(&b, 1 << 16);
  buf_str(&b, STR("{'sub':'ann','scope':'read"));
  while (b.n < 5000) buf_str(&b, STR(" read"));
  buf_str(&b, STR("'}"));
  buf_char(&b, 0);
  assert_refused(CONTEXT("'defaults':{'scopes':['admin']}"), b.p, FAULT_IDENTITY_INVALID);
  buf_done(&b);
}

static void a_configured_claim_is_the_only_one_with_scopes(void **state) {
  static const char file[] = CONTEXT("'defaults':{'scopes':['admin']},'claims':{'scopes':'permissions'}");
  assert_member(file, "{'sub':'ann','permissions':['refund'],'scope':'admin'}", "scopes", "['refund']");
  assert_member(file, "{'sub':'ann','permissions':'refund read','scp':['admin']}", "scopes", "['refund','read']");
  assert_member(file, "{'sub':'ann','scope':'admin','scp':['admin']}", "scopes", "[]");
}

static void a_claim_of_another_type_is_refused(void **state) {
  static const char file[] =
      CONTEXT("'defaults':{'role':'intern','tenant':'acme'},'claims':{'role':'role','intent':'role','tenant':'org',"
              "'run_id':'run','delegation_expires':'until','safety_mode':'mode','budget':'budget'}");
  static const char *const wrong[] = {
      "'role':['lead']",
      "'role':{'name':'lead'}",
      "'role':true",
      "'org':['acme']",
      "'org':{'id':'acme'}",
      "'org':5",
      "'org':''",
      "'run':5",
      "'run':''",
      "'run':'a\\n'",
      "'until':'soon'",
      "'mode':['read_only']",
      "'mode':''",
      "'mode':'Destructive'",
      "'budget':[]",
  };
  struct arena a;
  arena_init(&a);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    str claims = arena_printf(&a, "{'sub':'ann',%s}", wrong[i]);
    assert_refused(file, arena_cstr(&a, claims), FAULT_IDENTITY_INVALID);
  }
  arena_done(&a);
  assert_member(file, "{'sub':'ann','role':null,'org':null}", "role", "'intern'");
  assert_member(file, "{'sub':'ann','ROLE':'lead','Role':'lead'}", "role", "'intern'");
}

static void the_run_is_named_by_the_token(void **state) {
  static const char file[] = CONTEXT("'claims':{'run_id':'rid'}");
  assert_member(file, "{'sub':'ann','rid':'r-7'}", "run", "{'id':'r-7'}");
  assert_member(file, "{'sub':'ann'}", "run", "-");
}

static void a_claim_lowers_safety_mode_and_never_raises_it(void **state) {
  static const char file[] = CONTEXT("'defaults':{'safety_mode':'network'},'claims':{'safety_mode':'ceiling'}");
  assert_member(file, "{'sub':'ann','ceiling':'read_only'}", "safety_mode", "'read_only'");
  assert_member(file, "{'sub':'ann','ceiling':'destructive'}", "safety_mode", "'network'");
  assert_refused(file, "{'sub':'ann','ceiling':'admin'}", FAULT_IDENTITY_INVALID);
  assert_refused(file, "{'sub':'ann','ceiling':5}", FAULT_IDENTITY_INVALID);
}

static void a_claim_lowers_a_budget_and_never_raises_it(void **state) {
  static const char file[] =
      CONTEXT("'defaults':{'budget':{'max_calls':10,'max_cost':2}},'claims':{'budget':'budget'}");
  assert_member(file, "{'sub':'ann','budget':{'max_calls':3,'max_wall_ms':500}}", "budget",
                "{'max_calls':3,'max_wall_ms':500,'max_cost':2}");
  assert_member(file, "{'sub':'ann','budget':{'max_calls':99,'max_cost':50}}", "budget",
                "{'max_calls':10,'max_cost':2}");
  assert_member(file, "{'sub':'ann','budget':{'max_cost':0}}", "budget", "{'max_calls':10,'max_cost':0}");
  assert_refused(file, "{'sub':'ann','budget':{'calls':3}}", FAULT_IDENTITY_INVALID);
  assert_refused(file, "{'sub':'ann','budget':{'max_calls':-1}}", FAULT_IDENTITY_INVALID);
  assert_refused(file, "{'sub':'ann','budget':7}", FAULT_IDENTITY_INVALID);
}

static void a_claim_cannot_replace_what_the_gateway_sets(void **state) {
  static const char *const fixed[] = {"agent", "principals", "user", "run", "args", "capability"};
  struct buf b;
  struct arena a;
  arena_init(&a);
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
    buf_init(&b, 1 << 16);
    str text = arena_printf(&a, CONTEXT("'claims':{'%s':'x'}"), fixed[i]);
    assert_null(governance_try(arena_cstr(&a, text), &b));
    assert_non_null(memmem(b.p, b.n, "/context/claims/", 16));
    buf_done(&b);
  }
  arena_done(&a);
}

// They are part of the keys of breakers and budgets.
static void tenant_and_run_of_an_agent_must_be_names(void **state) {
  struct buf b;
  struct arena a;
  char name[GOVERNANCE_ID_MAX + 2] = "";
  memset(name, 't', GOVERNANCE_ID_MAX + 1);
  arena_init(&a);
  str longest = arena_printf(&a, CONTEXT("'defaults':{'tenant':'%s'}"), name + 1);
  struct governance *g = governance_of(arena_cstr(&a, longest));
  governance_unref(&g);
  str texts[] = {arena_printf(&a, CONTEXT("'defaults':{'tenant':'%s'}"), name),
                 arena_printf(&a, CONTEXT("'agents':{'x':{'tenant':'%s'}}"), name),
                 STR(CONTEXT("'defaults':{'tenant':'a\\u0000b'}")), STR(CONTEXT("'defaults':{'run_id':''}"))};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    buf_init(&b, 1 << 16);
    assert_null(governance_try(arena_cstr(&a, texts[i]), &b));
    assert_true(str_starts(buf_view(&b), i == 1 ? STR("/context/agents/x ") : STR("/context/defaults ")));
    buf_done(&b);
  }
  arena_done(&a);
}

// ---- decisions

// P02: mode delegated needs a user.
static void mode_delegated_needs_a_user_as_the_origin(void **state) {
  struct governance *g =
      governance_of("{'adapters':[{'adapter_id':'crm','type':'MCP','capabilities':["
                    "{'name':'mail','class':'act','approval_mode':'delegated','scopes':['mail']}]}],'permissions':["
                    "{'permission_id':'p','adapter_id':'crm','capability':'mail','allow':true}],"
                    "'context':{'claims':{'delegation_expires':'/delegation/exp'}}}");
  static const struct {
    const char *claims;
    enum governance_code code;
  } cases[] = {
      {"{'sub':'ann','scope':'mail'}", GOVERNANCE_ALLOWED},
      {"{'sub':'ann','scope':'read'}", GOVERNANCE_DELEGATION_REQUIRED},
      {"{'sub':'nightly','client_id':'nightly','scope':'mail'}", GOVERNANCE_DELEGATION_REQUIRED},
      {"{'sub':'ann','scope':'mail','delegation':{'exp':1001}}", GOVERNANCE_ALLOWED},
      {"{'sub':'ann','scope':'mail','delegation':{'exp':1000}}", GOVERNANCE_DELEGATION_EXPIRED},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct arena a;
    struct fault f;
    struct governance_decision d;
    arena_init(&a);
    struct run_context *r = run_of(g, &a, cases[i].claims, &f);
    assert_non_null(r);
    struct governance_question q = {.capability = STR("crm.mail"), .context = r->governed.context, .now = 1000};
    governance_decide(g, &q, &a, &d);
    assert_string_equal(governance_code_name(d.code), governance_code_name(cases[i].code));
    arena_done(&a);
  }
  governance_unref(&g);
}

// ---- lifetime

static void equal_claims_share_a_context_and_many_others_do_not_exhaust_memory(void **state) {
  enum { OTHERS = 5000 };
  struct governance *g = governance_of(CONTEXT("'claims':{'run_id':'rid'}"));
  struct arena a;
  struct fault f;
  arena_init(&a);
  struct run_context *held = run_context_ref(run_of(g, &a, "{'sub':'ann','rid':'r1'}", &f));
  assert_ptr_equal(held, run_of(g, &a, "{'sub':'ann','rid':'r1'}", &f));
  assert_true(str_eq(held->id, STR("r1")));
  for (int i = 0; i < OTHERS; i++) {
    arena_reset(&a);
    assert_non_null(run_of(g, &a, arena_cstr(&a, arena_printf(&a, "{'sub':'user-%d'}", i)), &f));
    assert_true(map_count(&g->runs) < 2000);
  }
  assert_ptr_equal(held, run_of(g, &a, "{'sub':'ann','rid':'r1'}", &f));
  // The context keeps the governance until it is released itself.
  governance_unref(&g);
  assert_true(str_eq(held->agent, STR("triage")));
  run_context_unref(&held);
  arena_done(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(principals_list_the_origin_the_actors_and_the_agent),
      cmocka_unit_test(a_token_that_a_client_got_for_itself_has_a_service_as_its_origin),
      cmocka_unit_test(without_a_json_web_token_the_origin_is_the_credential),
      cmocka_unit_test(a_chain_with_a_repeated_agent_is_refused),
      cmocka_unit_test(an_actor_must_not_have_wider_scopes_than_the_actor_before_it),
      cmocka_unit_test(scopes_of_actors_count_in_every_form),
      cmocka_unit_test(principals_of_another_tenant_are_refused),
      cmocka_unit_test(a_malformed_or_long_chain_is_refused),
      cmocka_unit_test(configured_claims_become_members_of_the_context),
      cmocka_unit_test(scopes_come_from_the_token_only),
      cmocka_unit_test(scopes_of_a_token_that_cannot_be_read_are_not_those_of_the_file),
      cmocka_unit_test(a_configured_claim_is_the_only_one_with_scopes),
      cmocka_unit_test(a_claim_of_another_type_is_refused),
      cmocka_unit_test(the_run_is_named_by_the_token),
      cmocka_unit_test(a_claim_lowers_safety_mode_and_never_raises_it),
      cmocka_unit_test(a_claim_lowers_a_budget_and_never_raises_it),
      cmocka_unit_test(tenant_and_run_of_an_agent_must_be_names),
      cmocka_unit_test(a_claim_cannot_replace_what_the_gateway_sets),
      cmocka_unit_test(the_workload_belongs_to_the_last_principal),
      cmocka_unit_test(only_a_workload_token_sets_the_workload),
      cmocka_unit_test(workloads_do_not_share_a_context),
      cmocka_unit_test(a_capability_can_require_a_workload),
      cmocka_unit_test(mode_delegated_needs_a_user_as_the_origin),
      cmocka_unit_test(equal_claims_share_a_context_and_many_others_do_not_exhaust_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
