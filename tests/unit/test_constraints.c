// SPDX-License-Identifier: Apache-2.0
// Constraints on arguments: every keyword, paths, exact numbers, errors in a governance file.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "govern/constraints.h"

static struct json *parse(struct arena *a, const char *text) {
  struct fault f;
  struct json *v = json_parse(a, str_of(text), &json_default_limits, &f);
  if (!v) fail_msg("%s: %s", f.message, text);
  return v;
}

static void put_problem(void *ctx, str pointer, const char *message) {
  struct buf *b = ctx;
  buf_printf(b, "%s%.*s %s", b->n ? "\n" : "", STR_ARG(pointer), message);
}

// "amount type, items[0].sku pattern"
static void put_violations(struct buf *out, const struct violations *all) {
  for (const struct violation *v = all->first; v; v = v->next)
    buf_printf(out, "%s%.*s %s", out->n ? ", " : "", STR_ARG(v->path), v->constraint);
}

static void assert_finds_in(const char *source, const char *args, bool partial, const char *expected) {
  struct arena a;
  struct buf b;
  struct constraints c;
  struct violations found = {0};
  arena_init(&a);
  buf_init(&b, 1 << 16);
  bool ok = constraints_read(&a, parse(&a, source), STR("/c"), put_problem, &b, &c);
  if (!ok) fail_msg("%s: %.*s", source, STR_ARG(buf_view(&b)));
  struct constraints_budget budget = {CONSTRAINTS_STEPS, CONSTRAINTS_BYTES};
  constraints_check(&c, args ? parse(&a, args) : NULL, partial, &a, &budget, &found);
  put_violations(&b, &found);
  buf_char(&b, 0);
  assert_string_equal(b.p, expected);
  buf_done(&b);
  arena_done(&a);
}

static void assert_finds(const char *source, const char *args, const char *expected) {
  assert_finds_in(source, args, false, expected);
}

static void assert_refused(const char *source, const char *expected) {
  struct arena a;
  struct buf b;
  struct constraints c;
  arena_init(&a);
  buf_init(&b, 1 << 16);
  assert_false(constraints_read(&a, parse(&a, source), STR("/c"), put_problem, &b, &c));
  buf_char(&b, 0);
  assert_string_equal(b.p, expected);
  buf_done(&b);
  arena_done(&a);
}

// The constraints of the specification's own permission.
static const char refund[] = "{\"amount_inr\":{\"min\":1,\"max\":50000},\"currency\":{\"enum\":[\"INR\"]},"
                             "\"idempotency_key\":{\"required\":true,\"pattern\":\"^ik_[a-z0-9]{16}$\"}}";

// C01
static void the_refund_constraints_hold_for_every_value_of_the_reference(void **state) {
  static const struct {
    const char *amount, *currency, *key, *expected;
  } cases[] = {
      {"4200", "\"INR\"", "\"ik_2x9k4j7m1q8w0p3z\"", ""},
      {"0", "\"INR\"", "\"ik_2x9k4j7m1q8w0p3z\"", "amount_inr min"},
      {"1", "\"INR\"", "\"ik_2x9k4j7m1q8w0p3z\"", ""},
      {"50000", "\"INR\"", "\"ik_2x9k4j7m1q8w0p3z\"", ""},
      {"50001", "\"INR\"", "\"ik_2x9k4j7m1q8w0p3z\"", "amount_inr max"},
      {"50000.0000000001", "\"INR\"", "\"ik_2x9k4j7m1q8w0p3z\"", "amount_inr max"},
      {"50000.000000000000000000000000001", "\"INR\"", "\"ik_2x9k4j7m1q8w0p3z\"", "amount_inr max"},
      {"5e4", "\"INR\"", "\"ik_2x9k4j7m1q8w0p3z\"", ""},
      {"\"4200\"", "\"INR\"", "\"ik_2x9k4j7m1q8w0p3z\"", "amount_inr type"},
      {"4200", "\"USD\"", "\"ik_2x9k4j7m1q8w0p3z\"", "currency enum"},
      {"4200", "\"INR\"", "null", "idempotency_key required"},
      {"4200", "\"INR\"", "\"ik_2X9k4j7m1q8w0p3z\"", "idempotency_key pattern"},
      {"4200", "\"INR\"", "\"ik_2x9k4j7m1q8w0p3\"", "idempotency_key pattern"},
      {"4200", "\"INR\"", "\"ik_2x9k4j7m1q8w0p3z1\"", "idempotency_key pattern"},
      {"4200", "\"INR\"", "\"ik_2x9k4j7m1q8w0p3z\\n\"", "idempotency_key pattern"},
      {"4200", "\"INR\"", "\"\\nik_2x9k4j7m1q8w0p3z\"", "idempotency_key pattern"},
      {"4200", "\"INR\"", "12", "idempotency_key type"},
      {"0", "\"USD\"", "\"ik_2x9k4j7m1q8w0p3z\"", "amount_inr min, currency enum"},
      {"null", "null", "\"ik_2x9k4j7m1q8w0p3z\"", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char args[256];
    snprintf(args, sizeof args, "{\"amount_inr\":%s,\"currency\":%s,\"idempotency_key\":%s}", cases[i].amount,
             cases[i].currency, cases[i].key);
    assert_finds(refund, args, cases[i].expected);
  }
  assert_finds(refund, "{\"amount_inr\":4200}", "idempotency_key required");
  assert_finds(refund, NULL, "idempotency_key required");
}

static void numbers_compare_without_rounding(void **state) {
  assert_finds("{\"n\":{\"max\":9007199254740992}}", "{\"n\":9007199254740993}", "n max");
  assert_finds("{\"n\":{\"min\":9007199254740993}}", "{\"n\":9007199254740992}", "n min");
  assert_finds("{\"n\":{\"max\":1e400}}", "{\"n\":9e399}", "");
  assert_finds("{\"n\":{\"enum\":[1]}}", "{\"n\":1.0}", "");
  assert_finds("{\"n\":{\"const\":12345678901234567890}}", "{\"n\":12345678901234567891}", "n const");
}

static void each_keyword_has_its_own_violation(void **state) {
  assert_finds("{\"s\":{\"minLength\":2,\"maxLength\":3}}", "{\"s\":\"\\ud83d\\ude00\"}", "s minLength");
  assert_finds("{\"s\":{\"minLength\":2,\"maxLength\":3}}", "{\"s\":\"\\u00e9\\u00e9\\u00e9\"}", "");
  assert_finds("{\"s\":{\"maxLength\":3}}", "{\"s\":\"abcd\"}", "s maxLength");
  assert_finds("{\"l\":{\"maxItems\":1}}", "{\"l\":[1,2]}", "l maxItems");
  assert_finds("{\"l\":{\"maxItems\":1}}", "{\"l\":\"ab\"}", "l type");
  assert_finds("{\"d\":{\"format\":\"date\"}}", "{\"d\":\"2026-02-30\"}", "d format");
  assert_finds("{\"d\":{\"format\":\"date\"}}", "{\"d\":\"2026-02-28\"}", "");
  assert_finds("{\"o\":{\"const\":{\"a\":[1,{\"b\":null}]}}}", "{\"o\":{\"a\":[1.0,{\"b\":null}]}}", "");
  assert_finds("{\"o\":{\"enum\":[\"1\"]}}", "{\"o\":1}", "o enum");
  assert_finds("{\"n\":{\"min\":5,\"enum\":[1],\"max\":2}}", "{\"n\":3}", "n min, n enum, n max");
  assert_finds("{\"n\":{\"enum\":[1],\"min\":5}}", "{\"n\":\"x\"}", "n type, n enum");
  assert_finds("{\"b\":{\"const\":false}}", "{\"b\":false}", "");
  assert_finds("{\"b\":{}}", "{\"b\":false}", "");
}

static void a_pattern_must_match_the_whole_value(void **state) {
  assert_finds("{\"s\":{\"pattern\":\"a|b\"}}", "{\"s\":\"ab\"}", "s pattern");
  assert_finds("{\"s\":{\"pattern\":\"a|b\"}}", "{\"s\":\"b\"}", "");
  assert_finds("{\"s\":{\"pattern\":\"[0-9]+\"}}", "{\"s\":\"12\\n\"}", "s pattern");
  assert_finds("{\"s\":{\"pattern\":\"\"}}", "{\"s\":\"\"}", "");
  assert_finds("{\"s\":{\"pattern\":\"(a+)+b\"}}", "{\"s\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac\"}", "s pattern");
  struct buf b;
  buf_init(&b, 1 << 16);
  for (size_t n = CONSTRAINT_TEXT_MAX; n <= CONSTRAINT_TEXT_MAX + 1; n++) {
    buf_reset(&b);
    buf_str(&b, STR("{\"s\":\""));
    for (size_t i = 0; i < n; i++) buf_char(&b, 'a');
    buf_str(&b, STR("\"}"));
    buf_char(&b, 0);
    assert_finds("{\"s\":{\"pattern\":\"a*\"}}", b.p, n > CONSTRAINT_TEXT_MAX ? "s pattern" : "");
  }
  buf_done(&b);
}

static void paths_lead_into_objects_and_arrays(void **state) {
  const char *c = "{\"a.b[1].c\":{\"required\":true,\"max\":5}}";
  assert_finds(c, "{\"a\":{\"b\":[0,{\"c\":5}]}}", "");
  assert_finds(c, "{\"a\":{\"b\":[0,{\"c\":6}]}}", "a.b[1].c max");
  assert_finds(c, "{\"a\":{\"b\":[0]}}", "a.b[1].c required");
  assert_finds(c, "{\"a\":{\"b\":{\"1\":{\"c\":5}}}}", "a.b[1].c required");
  assert_finds(c, "{\"a.b[1].c\":5}", "a.b[1].c required");
  // An argument with the name of the path must satisfy the constraint, too.
  assert_finds(c, "{\"a\":{\"b\":[0,{\"c\":5}]},\"a.b[1].c\":6}", "a.b[1].c max");
  assert_finds("{\"page.size\":{\"max\":100}}", "{\"page.size\":101}", "page.size max");
  assert_finds("{\"page.size\":{\"max\":100}}", "{\"page.size\":null}", "");
  assert_finds("{\"a\":{\"required\":true}}", "{\"a\":{}}", "");
}

static void an_argument_of_a_plan_may_be_unknown(void **state) {
  assert_finds_in(refund, "{\"amount_inr\":0}", true, "amount_inr min");
  assert_finds_in(refund, NULL, true, "");
}

static void malformed_constraints_are_refused_with_their_place(void **state) {
  assert_refused("[]", "/c must be an object");
  assert_refused("{\"a\":5}", "/c/a must be an object of constraints");
  assert_refused("{\"a\":{\"minimum\":5}}",
                 "/c/a/minimum is not a constraint; use required, min, max, enum, const, pattern, minLength, "
                 "maxLength, maxItems, format or unless_approved");
  assert_refused("{\"a\":{\"min\":\"5\"}}", "/c/a/min must be a number");
  assert_refused("{\"a\":{\"enum\":[]}}", "/c/a/enum must be a list of at least one value");
  assert_refused("{\"a\":{\"maxLength\":-1}}", "/c/a/maxLength must be a whole number, 0 or more");
  assert_refused("{\"a\":{\"maxItems\":1.5}}", "/c/a/maxItems must be a whole number, 0 or more");
  assert_refused("{\"a\":{\"required\":1}}", "/c/a/required must be true or false");
  assert_refused("{\"a\":{\"unless_approved\":\"yes\"}}", "/c/a/unless_approved must be true or false");
  assert_refused("{\"a\":{\"pattern\":5}}", "/c/a/pattern must be a regular expression");
  assert_refused("{\"a\":{\"pattern\":\"a)|(b\"}}", "/c/a/pattern not a regular expression of ECMA-262");
  assert_refused("{\"a\":{\"format\":\"nonsense\"}}",
                 "/c/a/format must be a format of JSON Schema, such as \"date\" or \"uuid\"");
  static const char *const paths[] = {"",     "a..b", ".a", "a.",  "a[",    "a[]",
                                      "a[x]", "a[0",  "a]", "[0]", "a[0]b", "a[-1]"};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    char source[64], expected[128];
    snprintf(source, sizeof source, "{\"%s\":{}}", paths[i]);
    snprintf(expected, sizeof expected, "/c/%s must be the name of an argument, or a path such as a.b[0].c", paths[i]);
    assert_refused(source, expected);
  }
  assert_refused("{\"a\":{\"min\":\"x\"},\"b\":{\"max\":null}}",
                 "/c/a/min must be a number\n/c/b/max must be a number");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_refund_constraints_hold_for_every_value_of_the_reference),
      cmocka_unit_test(numbers_compare_without_rounding),
      cmocka_unit_test(each_keyword_has_its_own_violation),
      cmocka_unit_test(a_pattern_must_match_the_whole_value),
      cmocka_unit_test(paths_lead_into_objects_and_arrays),
      cmocka_unit_test(an_argument_of_a_plan_may_be_unknown),
      cmocka_unit_test(malformed_constraints_are_refused_with_their_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
