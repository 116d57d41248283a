// SPDX-License-Identifier: Apache-2.0
// catalog/definitions: the definitions that one upstream lists, as it sent them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/buf.h"
#include "catalog/definitions.h"

static void assert_str(str have, const char *want) {
  if (!str_eq(have, str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(have), want);
}

static bool add_page(struct definitions *r, enum item_kind kind, str text) {
  struct arena a;
  struct fault f;
  arena_init(&a);
  const struct json *result = json_parse(&a, text, &json_default_limits, &f);
  if (!result) fail_msg("%.*s: %s", STR_ARG(text), f.message);
  bool ok = definitions_add_page(r, kind, result);
  arena_done(&a);
  return ok;
}

static struct definitions *definitions_of(enum item_kind kind, const char *page) {
  struct definitions *r = definitions_new((struct definitions_origin){0});
  assert_true(add_page(r, kind, str_of(page)));
  return r;
}

static void what_a_tool_says_about_itself_is_read_and_only_what_is_true(void **state) {
  struct definitions *r =
      definitions_of(ITEM_TOOL, "{\"tools\":[{\"name\":\"a\",\"annotations\":{\"readOnlyHint\":true,"
                                "\"destructiveHint\":false}},{\"name\":\"b\",\"annotations\":{\"idempotentHint\":true,"
                                "\"destructiveHint\":true,\"readOnlyHint\":\"true\"}},{\"name\":\"c\"}]}");
  struct definitions *copy = definitions_new((struct definitions_origin){0});
  definitions_copy(copy, r, ITEM_TOOL);
  const struct definition *d = copy->defs[ITEM_TOOL];
  assert_true(d[0].hints.read_only && !d[0].hints.destructive && !d[0].hints.idempotent);
  assert_true(!d[1].hints.read_only && d[1].hints.destructive && d[1].hints.idempotent);
  assert_true(!d[2].hints.read_only && !d[2].hints.destructive && !d[2].hints.idempotent);
  definitions_free(&r);
  definitions_free(&copy);
}

static void a_roster_keeps_definitions_as_they_were_sent_page_by_page(void **state) {
  struct definitions *r = definitions_new((struct definitions_origin){0});
  assert_true(add_page(r, ITEM_TOOL,
                       STR("{\"tools\":[{\"name\":\"a\", \"x\":1.0},{\"name\":\"\\u0062\"}],\"nextCursor\":\"2\"}")));
  assert_true(add_page(r, ITEM_TOOL, STR("{\"tools\":[]}")));
  assert_true(add_page(r, ITEM_TOOL, STR("{\"tools\":[ { \"name\" : \"c\" } ]}")));
  assert_true(add_page(r, ITEM_RESOURCE, STR("{\"resources\":[{\"uri\":\"file:///a\",\"name\":\"n\"}]}")));
  assert_true(add_page(r, ITEM_TEMPLATE, STR("{\"resourceTemplates\":[{\"uriTemplate\":\"file:///{a}\"}]}")));
  assert_true(add_page(r, ITEM_PROMPT, STR("{\"prompts\":[{\"name\":\"p\"}]}")));
  assert_int_equal(r->count[ITEM_TOOL], 3);
  assert_str(r->defs[ITEM_TOOL][0].text, "{\"name\":\"a\", \"x\":1.0}");
  assert_str(r->defs[ITEM_TOOL][1].name, "b");
  assert_str(r->defs[ITEM_TOOL][1].text, "{\"name\":\"\\u0062\"}");
  assert_str(r->defs[ITEM_TOOL][2].text, "{ \"name\" : \"c\" }");
  assert_str(r->defs[ITEM_RESOURCE][0].name, "file:///a");
  assert_str(r->defs[ITEM_TEMPLATE][0].name, "file:///{a}");
  assert_str(r->defs[ITEM_PROMPT][0].name, "p");
  assert_int_equal(r->skipped, 0);
  definitions_free(&r);
  assert_null(r);
  definitions_free(&r);
}

static void entries_without_a_usable_name_are_left_out_and_counted(void **state) {
  struct definitions *r =
      definitions_of(ITEM_TOOL, "{\"tools\":[1,null,{},{\"name\":\"\"},{\"name\":1},{\"name\":\"ok\"},[\"name\"],"
                                "{\"uri\":\"x\"},{\"Name\":\"x\"}]}");
  assert_int_equal(r->count[ITEM_TOOL], 1);
  assert_int_equal(r->skipped, 8);
  definitions_free(&r);
}

static void what_is_no_list_result_is_refused(void **state) {
  static const char *const bad[] = {"{}",       "[]", "null", "{\"tools\":{}}", "{\"tools\":null}", "{\"prompts\":[]}",
                                    "\"tools\""};
  struct definitions *r = definitions_new((struct definitions_origin){0});
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(add_page(r, ITEM_TOOL, str_of(bad[i])));
  assert_int_equal(r->count[ITEM_TOOL], 0);
  definitions_free(&r);
}

static void a_roster_does_not_grow_without_end(void **state) {
  struct buf b;
  buf_init(&b, 16 << 20);
  buf_str(&b, STR("{\"tools\":["));
  for (int i = 0; i <= DEFINITIONS_MAX_ITEMS + 10; i++) buf_printf(&b, "%s{\"name\":\"t%d\"}", i ? "," : "", i);
  buf_str(&b, STR("]}"));
  struct definitions *r = definitions_new((struct definitions_origin){0});
  assert_true(add_page(r, ITEM_TOOL, buf_view(&b)));
  assert_int_equal(r->count[ITEM_TOOL], DEFINITIONS_MAX_ITEMS);
  assert_int_equal(r->skipped, 11);
  definitions_free(&r);
  buf_done(&b);
}

static void rosters_are_the_same_when_every_byte_and_the_order_are(void **state) {
  struct definitions *a = definitions_of(ITEM_TOOL, "{\"tools\":[{\"name\":\"a\"},{\"name\":\"b\"}]}");
  static const char *const others[] = {
      "{\"tools\":[{\"name\":\"b\"},{\"name\":\"a\"}]}",
      "{\"tools\":[{\"name\":\"a\"}]}",
      "{\"tools\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}]}",
      "{\"tools\":[{\"name\":\"a\"},{\"name\": \"b\"}]}",
  };
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    struct definitions *b = definitions_of(ITEM_TOOL, others[i]);
    assert_false(definitions_same(a, b));
    definitions_free(&b);
  }
  struct definitions *b = definitions_of(ITEM_TOOL, "{ \"tools\" : [ {\"name\":\"a\"} ] }");
  assert_true(add_page(b, ITEM_TOOL, STR("{\"tools\":[{\"name\":\"b\"}]}")));
  assert_true(definitions_same(a, b));
  assert_true(add_page(b, ITEM_PROMPT, STR("{\"prompts\":[{\"name\":\"b\"}]}")));
  assert_false(definitions_same(a, b));
  definitions_free(&a);
  definitions_free(&b);
}

// ---- how long, by whom

static struct definitions *definitions_by(struct definitions_origin origin, const char *page) {
  struct definitions *r = definitions_new(origin);
  assert_true(add_page(r, ITEM_TOOL, str_of(page)));
  return r;
}

static void a_list_may_be_kept_as_long_as_every_page_says_and_shown_to_whom_every_page_says(void **state) {
  static const struct {
    const char *first, *second;
    uint64_t ttl_ms;
    bool is_public;
  } table[] = {
      {"{\"tools\":[],\"ttlMs\":5000,\"cacheScope\":\"public\"}", NULL, 5000, true},
      {"{\"tools\":[],\"ttlMs\":5000,\"cacheScope\":\"private\"}", NULL, 5000, false},
      {"{\"tools\":[],\"ttlMs\":5000}", NULL, 5000, false},
      {"{\"tools\":[],\"cacheScope\":\"public\"}", NULL, 0, true},
      {"{\"tools\":[]}", NULL, 0, false},
      {"{\"tools\":[],\"ttlMs\":-1,\"cacheScope\":\"Public\"}", NULL, 0, false},
      {"{\"tools\":[],\"ttlMs\":\"5\",\"cacheScope\":true}", NULL, 0, false},
      {"{\"tools\":[],\"ttlMs\":1.5,\"cacheScope\":\"\"}", NULL, 0, false},
      {"{\"tools\":[],\"ttlMs\":1e99,\"cacheScope\":\"publi\\u0063\"}", NULL, 0, true},
      {"{\"tools\":[],\"ttlMs\":3e3,\"cacheScope\":\"public\"}", NULL, 3000, true},
      {"{\"tools\":[],\"ttlMs\":9007199254740991}", NULL, 9007199254740991, false},
      {"{\"tools\":[],\"ttlMs\":10,\"cacheScope\":\"public\"}", "{\"tools\":[],\"ttlMs\":20,\"cacheScope\":\"public\"}",
       10, true},
      {"{\"tools\":[],\"ttlMs\":20,\"cacheScope\":\"private\"}",
       "{\"tools\":[],\"ttlMs\":10,\"cacheScope\":\"public\"}", 10, false},
      {"{\"tools\":[],\"ttlMs\":20,\"cacheScope\":\"public\"}", "{\"tools\":[]}", 0, false},
      {"{\"tools\":[]}", "{\"tools\":[],\"ttlMs\":20,\"cacheScope\":\"public\"}", 0, false},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    struct definitions *r = definitions_of(ITEM_TOOL, table[i].first),
                       *copy = definitions_new((struct definitions_origin){0});
    if (table[i].second) assert_true(add_page(r, ITEM_TOOL, str_of(table[i].second)));
    assert_true(r->ttl_ms[ITEM_TOOL] == table[i].ttl_ms);
    assert_int_equal(r->is_public[ITEM_TOOL], table[i].is_public);
    assert_int_equal(r->ttl_ms[ITEM_PROMPT], 0);
    assert_true(r->paged[ITEM_TOOL] && !r->paged[ITEM_PROMPT]);
    definitions_copy(copy, r, ITEM_TOOL);
    definitions_copy(copy, r, ITEM_PROMPT);
    assert_true(definitions_same(copy, r));
    assert_true(copy->paged[ITEM_TOOL] && !copy->paged[ITEM_PROMPT]);
    definitions_free(&r);
    definitions_free(&copy);
  }
}

static void what_is_no_list_result_does_not_say_how_long_to_keep_the_list(void **state) {
  struct definitions *r = definitions_of(ITEM_TOOL, "{\"tools\":[],\"ttlMs\":9,\"cacheScope\":\"public\"}");
  assert_false(add_page(r, ITEM_TOOL, STR("{\"ttlMs\":1}")));
  assert_int_equal(r->ttl_ms[ITEM_TOOL], 9);
  assert_true(r->is_public[ITEM_TOOL]);
  definitions_free(&r);
}

static void rosters_differ_in_how_long_they_may_be_kept_and_by_whom_they_were_given(void **state) {
  static const char *const pages[] = {"{\"tools\":[{\"name\":\"a\"}]}", "{\"tools\":[{\"name\":\"a\"}],\"ttlMs\":1}",
                                      "{\"tools\":[{\"name\":\"a\"}],\"cacheScope\":\"public\"}"};
  static const struct definitions_origin origins[] = {{0}, {.stateless = true}, {.tasks = true}, {.http = true}};
  struct definitions *all[12];
  for (size_t i = 0; i < 12; i++) all[i] = definitions_by(origins[i / 3], pages[i % 3]);
  for (size_t i = 0; i < 12; i++)
    for (size_t k = 0; k < 12; k++) assert_int_equal(definitions_same(all[i], all[k]), i == k);
  for (size_t i = 0; i < 12; i++) definitions_free(&all[i]);
}

// ---- mirrors

#define TEN "aaaaaaaaaa"
#define SIXTY TEN TEN TEN TEN TEN TEN
#define UNSOUND(name) "{\"name\":\"" name "\",\"inputSchema\":{\"x-mcp-header\":\"A\"}}"

static void tools_whose_param_headers_break_a_rule_are_left_out_where_headers_are_sent(void **state) {
  const char *page = "{\"tools\":[{\"name\":\"a\"}," UNSOUND("b") "," UNSOUND("c") ",{\"name\":\"d\"},{\"name\":7}]}";
  struct definitions *r = definitions_by((struct definitions_origin){.stateless = true, .http = true}, page);
  assert_int_equal(r->count[ITEM_TOOL], 2);
  assert_str(r->defs[ITEM_TOOL][1].name, "d");
  assert_int_equal(r->skipped, 1);
  assert_int_equal(r->refused, 2);
  assert_string_equal(r->refused_why,
                      "b: x-mcp-header is allowed only under \"properties\", not in arrays or other subschemas");
  struct definitions *copy = definitions_new(r->origin);
  definitions_copy(copy, r, ITEM_PROMPT);
  assert_int_equal(copy->refused, 0);
  definitions_copy(copy, r, ITEM_TOOL);
  assert_int_equal(copy->refused, 2);
  assert_string_equal(copy->refused_why, r->refused_why);
  definitions_free(&copy);
  definitions_free(&r);
  static const struct definitions_origin harmless[] = {
      {0}, {.stateless = true}, {.http = true}, {.tasks = true, .http = true}};
  for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
    r = definitions_by(harmless[i], page);
    assert_int_equal(r->count[ITEM_TOOL], 4);
    assert_int_equal(r->refused, 0);
    assert_string_equal(r->refused_why, "");
    definitions_free(&r);
  }
  r = definitions_new((struct definitions_origin){.stateless = true, .http = true});
  assert_true(
      add_page(r, ITEM_PROMPT, STR("{\"prompts\":[" UNSOUND("p") "]}")));  // only tools have arguments of that kind
  assert_int_equal(r->count[ITEM_PROMPT], 1);
  definitions_free(&r);
}

static void a_tool_is_plain_unless_it_declares_param_headers_or_tasks(void **state) {
  static const struct {
    const char *members;
    bool plain;
  } table[] = {
      {"", true},
      {",\"execution\":{\"taskSupport\":\"forbidden\"}", true},
      {",\"execution\":{\"taskSupport\":\"optional\"}", false},
      {",\"execution\":{\"taskSupport\":\"required\"}", false},
      {",\"inputSchema\":{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}}", false},
      {",\"inputSchema\":{\"properties\":{\"a\":{\"type\":\"number\",\"x-mcp-header\":\"A\"}}}", true},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    char page[200];
    snprintf(page, sizeof page, "{\"tools\":[{\"name\":\"t\"%s}]}", table[i].members);
    struct definitions *r = definitions_of(ITEM_TOOL, page), *copy = definitions_new((struct definitions_origin){0});
    definitions_copy(copy, r, ITEM_TOOL);
    assert_int_equal(r->defs[ITEM_TOOL][0].plain, table[i].plain);
    assert_int_equal(copy->defs[ITEM_TOOL][0].plain, table[i].plain);
    definitions_free(&r);
    definitions_free(&copy);
  }
}

static void a_long_name_leaves_room_for_the_reason_and_is_cut_between_characters(void **state) {
  struct definitions *r = definitions_by((struct definitions_origin){.stateless = true, .http = true},
                                         "{\"tools\":[" UNSOUND(SIXTY "b") "," UNSOUND("c") "]}");
  assert_string_equal(r->refused_why,
                      SIXTY ": x-mcp-header is allowed only under \"properties\", not in arrays or other subschemas");
  definitions_free(&r);
  r = definitions_by((struct definitions_origin){.stateless = true, .http = true},
                     "{\"tools\":[" UNSOUND(TEN TEN TEN TEN TEN "aaaaaaaa\xe4\xb8\x96\xe4\xb8\x96") "]}");
  assert_non_null(strstr(r->refused_why, "aaaaaaaa: x-mcp"));
  definitions_free(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_roster_keeps_definitions_as_they_were_sent_page_by_page),
      cmocka_unit_test(what_a_tool_says_about_itself_is_read_and_only_what_is_true),
      cmocka_unit_test(entries_without_a_usable_name_are_left_out_and_counted),
      cmocka_unit_test(what_is_no_list_result_is_refused),
      cmocka_unit_test(a_roster_does_not_grow_without_end),
      cmocka_unit_test(rosters_are_the_same_when_every_byte_and_the_order_are),
      cmocka_unit_test(a_list_may_be_kept_as_long_as_every_page_says_and_shown_to_whom_every_page_says),
      cmocka_unit_test(what_is_no_list_result_does_not_say_how_long_to_keep_the_list),
      cmocka_unit_test(rosters_differ_in_how_long_they_may_be_kept_and_by_whom_they_were_given),
      cmocka_unit_test(tools_whose_param_headers_break_a_rule_are_left_out_where_headers_are_sent),
      cmocka_unit_test(a_tool_is_plain_unless_it_declares_param_headers_or_tasks),
      cmocka_unit_test(a_long_name_leaves_room_for_the_reason_and_is_cut_between_characters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
