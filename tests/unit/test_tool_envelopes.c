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

static void every_code_of_governance_has_a_remedy(void **state) {
  static const enum fault_code codes[] = {
      FAULT_CAPABILITY_UNKNOWN,     FAULT_PERMISSION_DENIED,
      FAULT_POLICY_DENIED,          FAULT_MODE_INVALID,
      FAULT_MODE_RAISE_FORBIDDEN,   FAULT_MODE_EXCEEDS_MAXIMUM,
      FAULT_MODE_ABOVE_RUN_CEILING, FAULT_ARGS_INVALID,
      FAULT_IDENTITY_INVALID,       FAULT_ARG_CONSTRAINT_VIOLATION,
      FAULT_APPROVAL_REQUIRED,      FAULT_DELEGATION_REQUIRED,
      FAULT_DELEGATION_EXPIRED,     FAULT_UPSTREAM_TIMEOUT,
      FAULT_UPSTREAM_ERROR,         FAULT_OUTPUT_SCHEMA_INVALID,
      FAULT_SCHEMA_DRIFT,           FAULT_TENANT_MISMATCH,
      FAULT_VERSION_MISMATCH,       FAULT_POLICY_EVAL_ERROR,
      FAULT_CLASS_MODE_CONFLICT,    FAULT_RUN_BUDGET_EXCEEDED,
      FAULT_RATE_LIMITED,           FAULT_TOOL_QUARANTINED,
  };
  const char *generic = call_remedy(FAULT_PATH_NOT_FOUND);
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    const char *remedy = call_remedy(codes[i]);
    if (!strlen(remedy) || !strcmp(remedy, generic)) fail_msg("%s has no remedy", fault_name(codes[i]));
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
      cmocka_unit_test(every_code_of_governance_has_a_remedy),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
