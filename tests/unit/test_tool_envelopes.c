// SPDX-License-Identifier: Apache-2.0
// The JSON Schemas of the envelopes, and the check that they cannot express.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/mem.h"
#include "call/remedies.h"
#include "govern/tool_envelopes.h"
#include "schema/schema.h"

// The example of the specification.
#define SEED \
  "{\"envelope_version\":\"contextos.tool_call.v1\",\"tool_call_id\":\"tool_118\"," \
  "\"run_id\":\"run_a1b2c3d4e5f60718\",\"trace_id\":\"4bf92f3577b34da6a3ce929d0e0e4736\"," \
  "\"session_id\":\"sess_42f1\",\"capability_id\":\"adp_payments.issue_refund\"," \
  "\"approval_mode_requested\":\"destructive\",\"approval_mode_effective\":\"destructive\"," \
  "\"approval_mode_highest\":\"destructive\",\"policy_decision_id\":\"pol_9901\"," \
  "\"args\":{\"order_id\":\"ord_881\",\"amount_inr\":4200,\"currency\":\"INR\"," \
  "\"idempotency_key\":\"ik_2x9k4j7m1q8w0p3z\"}," \
  "\"principal_chain\":[{\"kind\":\"user\",\"id\":\"usr_771\",\"tenant_id\":\"tenant_acme_prod\"}," \
  "{\"kind\":\"agent\",\"id\":\"agent:contextos/support-refund@1.2.0\",\"tenant_id\":\"tenant_acme_prod\"}]," \
  "\"evidence_refs\":[\"policy:POLICY_RETURNS_V1#R_HIGH_VALUE_REQUIRES_APPROVAL\"]," \
  "\"idempotency_key\":\"ik_2x9k4j7m1q8w0p3z\",\"auth_ref\":\"claim_hash:sha256:...\"}"

struct fixture {
  struct arena arena;
  struct schema *schema;
  const struct json *seed;
};

static const struct json *parsed(struct fixture *x, str text) {
  struct fault f;
  const struct json *v = json_parse(&x->arena, text, &json_default_limits, &f);
  if (!v) fail_msg("%s: %.*s", f.message, STR_ARG(text));
  return v;
}

static int setup(void **state) {
  struct fixture *x = MEM_NEW(struct fixture);
  static char text[65536];
  struct fault f;
  FILE *file = fopen("data/schemas/contextos.tool_call.v1.json", "rb");
  arena_init(&x->arena);
  assert_non_null(file);
  size_t n = fread(text, 1, sizeof text, file);
  fclose(file);
  x->schema = schema_compile(parsed(x, (str){text, n}), &schema_default_options, &f);
  assert_non_null(x->schema);
  x->seed = parsed(x, STR(SEED));
  *state = x;
  return 0;
}

static int teardown(void **state) {
  struct fixture *x = *state;
  schema_free(&x->schema);
  arena_done(&x->arena);
  mem_free(x);
  return 0;
}

// Returns whether the seed with one member changed matches the schema. raw: NULL removes the member.
static bool is_valid_with(struct fixture *x, const char *key, const char *raw) {
  struct schema_result r;
  struct json_edit edit = {str_of(key), raw ? str_of(raw) : STR_NONE};
  str text = json_edited(&x->arena, x->seed, &edit, 1);
  return schema_validate(x->schema, parsed(x, text), &x->arena, &r);
}

static void the_envelope_of_the_specification_is_valid(void **state) {  // E01
  struct fixture *x = *state;
  struct schema_result r;
  struct fault f;
  assert_true(schema_validate(x->schema, x->seed, &x->arena, &r));
  assert_true(tool_call_envelope_check(x->seed, &f));
}

static void an_envelope_without_evidence_refs_is_invalid(void **state) {  // E02
  struct fixture *x = *state;
  assert_false(is_valid_with(x, "evidence_refs", NULL));
  assert_true(is_valid_with(x, "evidence_refs", "[]"));
  assert_true(is_valid_with(x, "metadata", NULL));
}

static void an_envelope_with_an_unknown_member_is_invalid(void **state) {  // E03
  struct fixture *x = *state;
  assert_false(is_valid_with(x, "tool_name", "\"issue_refund\""));
  assert_true(is_valid_with(x, "metadata", "{\"tool_name\":\"issue_refund\"}"));
}

static void an_envelope_with_an_unknown_mode_is_invalid(void **state) {  // E04
  struct fixture *x = *state;
  assert_false(is_valid_with(x, "approval_mode_requested", "\"admin\""));
  assert_false(is_valid_with(x, "approval_mode_effective", "\"admin\""));
  assert_true(is_valid_with(x, "approval_mode_effective", "\"delegated\""));
}

static void an_envelope_with_an_unknown_kind_of_principal_is_invalid(void **state) {  // E05
  struct fixture *x = *state;
  assert_false(is_valid_with(x, "principal_chain", "[{\"kind\":\"robot\",\"id\":\"r2\"}]"));
  assert_false(is_valid_with(x, "principal_chain", "[{\"kind\":\"user\",\"id\":\"u\",\"role\":\"admin\"}]"));
  assert_true(is_valid_with(x, "principal_chain", "[{\"kind\":\"automation\",\"id\":\"r2\"}]"));
}

static void a_key_in_the_arguments_must_equal_that_of_the_envelope(void **state) {  // E06
  struct fixture *x = *state;
  struct fault f;
  struct json_edit other = {STR("idempotency_key"), STR("\"ik_0000000000000000\"")};
  assert_false(tool_call_envelope_check(parsed(x, json_edited(&x->arena, x->seed, &other, 1)), &f));
  assert_non_null(strstr(f.message, "IDEMPOTENCY_KEY_MISMATCH"));
  struct json_edit none = {STR("idempotency_key"), STR("null")};
  assert_true(tool_call_envelope_check(parsed(x, json_edited(&x->arena, x->seed, &none, 1)), &f));
}

static void the_effective_mode_must_not_be_above_the_highest(void **state) {
  struct fixture *x = *state;
  struct fault f;
  struct json_edit highest = {STR("approval_mode_highest"), STR("\"network\"")};
  assert_false(tool_call_envelope_check(parsed(x, json_edited(&x->arena, x->seed, &highest, 1)), &f));
}

// The codes of the specification, and whether a call can be repeated. `own` is Toolgate's name, if it differs. The
// table also has codes that no call can end with yet.
static const struct {
  const char *name, *own;
  bool retryable;
} codes[] = {
    {"CAPABILITY_UNKNOWN", NULL, false},
    {"PERMISSION_DENIED", NULL, false},
    {"POLICY_DENIED", NULL, false},
    {"MODE_INVALID", NULL, false},
    {"MODE_EXCEEDS_MAXIMUM", NULL, false},
    {"MODE_RAISE_FORBIDDEN", NULL, false},
    {"MODE_ABOVE_RUN_CEILING", NULL, false},
    {"ARGS_SCHEMA_INVALID", "ARGS_INVALID", false},
    {"ARG_CONSTRAINT_VIOLATION", NULL, false},
    {"IDEMPOTENCY_KEY_REQUIRED", NULL, false},
    {"IDEMPOTENCY_KEY_MISMATCH", NULL, false},
    {"IDEMPOTENCY_CONFLICT", NULL, false},
    {"IDEMPOTENCY_IN_PROGRESS", NULL, true},
    {"APPROVAL_REQUIRED", NULL, false},
    {"APPROVAL_REJECTED", NULL, false},
    {"APPROVAL_EXPIRED", NULL, false},
    {"APPROVAL_INVALID", NULL, false},
    {"APPROVAL_ALREADY_REDEEMED", NULL, false},
    {"EVIDENCE_CHANGED", NULL, false},
    {"IDENTITY_INVALID", NULL, false},
    {"DELEGATION_REQUIRED", NULL, false},
    {"DELEGATION_EXPIRED", NULL, false},
    {"CIRCUIT_OPEN", NULL, true},
    {"EGRESS_BUDGET_EXCEEDED", NULL, true},
    {"ADAPTER_TIMEOUT", "UPSTREAM_TIMEOUT", true},
    {"ADAPTER_ERROR", "UPSTREAM_ERROR", false},
    {"OUTPUT_SCHEMA_INVALID", NULL, false},
    {"SCHEMA_DRIFT", NULL, false},
    {"SKILL_UNAVAILABLE", NULL, false},
    {"TENANT_MISMATCH", NULL, false},
};

static enum fault_code find_code(const char *name) {
  for (int c = 1; c < FAULT_COUNT; c++)
    if (!strcmp(fault_name((enum fault_code)c), name)) return (enum fault_code)c;
  return FAULT_NONE;
}

static void every_code_of_the_specification_says_whether_to_repeat_the_call_and_what_else_to_do(void **state) {
  size_t found = 0;
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    enum fault_code code = find_code(codes[i].own ? codes[i].own : codes[i].name);
    if (codes[i].own) assert_int_not_equal(code, FAULT_NONE);
    if (code == FAULT_NONE) continue;
    if (fault_retryable(code) != codes[i].retryable) fail_msg("%s: retryable", codes[i].name);
    found++;
  }
  assert_true(found >= 19);
}

static void every_fault_has_a_remedy(void **state) {
  for (int c = 1; c < FAULT_COUNT; c++) {
    const char *remedy = call_remedy((enum fault_code)c);
    size_t n = strlen(remedy);
    if (n < 10 || remedy[n - 1] == '.') fail_msg("%s has no remedy", fault_name((enum fault_code)c));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_envelope_of_the_specification_is_valid),
      cmocka_unit_test(an_envelope_without_evidence_refs_is_invalid),
      cmocka_unit_test(an_envelope_with_an_unknown_member_is_invalid),
      cmocka_unit_test(an_envelope_with_an_unknown_mode_is_invalid),
      cmocka_unit_test(an_envelope_with_an_unknown_kind_of_principal_is_invalid),
      cmocka_unit_test(a_key_in_the_arguments_must_equal_that_of_the_envelope),
      cmocka_unit_test(the_effective_mode_must_not_be_above_the_highest),
      cmocka_unit_test(every_code_of_the_specification_says_whether_to_repeat_the_call_and_what_else_to_do),
      cmocka_unit_test(every_fault_has_a_remedy),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
