// SPDX-License-Identifier: Apache-2.0
// catalog/show and catalog/wrap: what clients of both eras get of a definition, and what the gateway reads in it.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/buf.h"
#include "catalog/catalog.h"
#include "catalog/wrap.h"

static void assert_str(str have, const char *want) {
  if (!str_eq(have, (str){want, strlen(want)})) fail_msg("'%.*s' instead of '%s'", STR_ARG(have), want);
}

static struct definitions *definitions_of(struct definitions_origin origin, enum item_kind kind,
                                          const char *definition) {
  struct definitions *r = definitions_new(origin);
  struct arena a;
  struct fault f;
  arena_init(&a);
  str text = arena_printf(&a, "{\"%s\":[%s]}", item_kind_rules[kind].list_key, definition);
  const struct json *page = json_parse(&a, text, &json_default_limits, &f);
  if (!page) fail_msg("%s: %s (%s)", definition, f.message, f.path);
  assert_true(definitions_add_page(r, kind, page));
  arena_done(&a);
  return r;
}

// A catalog of one definition, of which nothing else is left. prefixed: it is shown as s__NAME.
static struct catalog *catalog_of(struct definitions_origin origin, enum item_kind kind, const char *definition,
                                  bool prefixed) {
  static const struct hash_key seed = {1, 2};
  struct definitions *r = definitions_of(origin, kind, definition);
  const struct definitions *definition_sets[] = {r};
  struct catalog_source source = {.server = STR("s"), .definition_sets = definition_sets, .definitions_count = 1};
  struct catalog *c = catalog_build(&source, 1, &(struct catalog_options){prefixed, 1, &seed});
  assert_int_equal(c->count[kind], 1);
  definitions_free(&r);
  return c;
}

static const struct definitions_origin handshake = {0}, stateless = {.stateless = true},
                                       with_tasks = {.stateless = true, .tasks = true};

// old NULL: the same text.
static void assert_texts(struct definitions_origin origin, const char *definition, const char *old) {
  struct catalog *c = catalog_of(origin, ITEM_TOOL, definition, false);
  const struct item *item = &c->items[ITEM_TOOL][0];
  assert_int_equal(item->stateless, origin.stateless);
  assert_str(item->text, definition);
  assert_str(item->old_text, old ? old : definition);
  if (!old) assert_ptr_equal(item->old_text.p, item->text.p);
  catalog_unref(&c);
}

// ---- two texts

#define OBJECT "{\"type\":\"object\"}"

static void tools_of_handshake_servers_are_shown_to_everybody_as_they_were_sent(void **state) {
  static const char *const table[] = {
      "{\"name\":\"t\"}",
      "{ \"name\" : \"t\" , \"inputSchema\" : { } , \"outputSchema\" : { \"type\" : \"array\" } }",
      "{\"name\":\"t\",\"inputSchema\":" OBJECT ",\"execution\":{\"taskSupport\":\"required\"}}",
      "{\"name\":\"t\",\"inputSchema\":{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}}}",
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    assert_texts(handshake, table[i], NULL);
    assert_texts((struct definitions_origin){.tasks = true, .http = true}, table[i], NULL);
  }
}

static void tools_of_stateless_servers_that_everybody_understands_stay_as_they_are(void **state) {
  static const char *const table[] = {
      "{ \"name\" : \"t\" }",
      "{\"name\":\"t\",\"inputSchema\":" OBJECT "}",
      "{\"name\":\"t\",\"inputSchema\": { \"type\" : \"object\" },\"outputSchema\":{\"x\":{},\"type\":\"object\"}}",
      "{\"name\":\"t\",\"inputSchema\":{\"type\":\"\\u006fbject\"},\"outputSchema\":{\"typ\\u0065\":\"object\"}}",
      "{\"name\":\"t\",\"inputSchema\":" OBJECT ",\"execution\":{\"taskSupport\":\"forbidden\"},\"x\":1e2}",
      "{\"name\":\"t\",\"inputSchema\":null,\"outputSchema\":null}",  // no schemas: nothing that we could mend
      "{\"name\":\"t\",\"inputSchema\":[],\"outputSchema\":\"string\"}",
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) assert_texts(stateless, table[i], NULL);
}

static void an_input_schema_is_made_one_of_objects(void **state) {
  assert_texts(stateless, "{\"name\":\"t\",\"inputSchema\":{}}",
               "{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}");
  assert_texts(stateless, "{\"inputSchema\": {\"anyOf\": [ ]} , \"name\":\"t\"}",
               "{\"inputSchema\": {\"anyOf\": [ ],\"type\":\"object\"} , \"name\":\"t\"}");
  assert_texts(stateless, "{\"name\":\"t\",\"inputSchema\":{\"type\":[\"object\",\"null\"],\"a\":1}}",
               "{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"a\":1}}");
}

static void tools_that_may_become_tasks_say_so(void **state) {
  assert_texts(with_tasks, "{\"name\":\"t\",\"inputSchema\":" OBJECT "}",
               "{\"name\":\"t\",\"inputSchema\":" OBJECT ",\"execution\":{\"taskSupport\":\"optional\"}}");
  assert_texts(with_tasks, "{\"name\":\"t\",\"execution\":{\"taskSupport\":\"forbidden\"}}", NULL);
  assert_texts(with_tasks, "{\"name\":\"t\",\"execution\":{}}", NULL);
  assert_texts(with_tasks, "{\"name\":\"t\",\"\\u0065xecution\":null}", NULL);
  assert_texts(with_tasks, "{\"name\":\"t\",\"annotations\":{\"execution\":{}}}",
               "{\"name\":\"t\",\"annotations\":{\"execution\":{}},\"execution\":{\"taskSupport\":\"optional\"}}");
}

static void an_output_schema_of_anything_is_made_one_of_an_object_with_a_result(void **state) {
  static const struct {
    const char *schema, *old;  // NULL: as it is
  } table[] = {
      {OBJECT, NULL},
      {"{\"type\":\"array\"}",
       "{\"type\":\"object\",\"properties\":{\"result\":{\"type\":\"array\"}},\"required\":[\"result\"]}"},
      {"{ }", "{\"type\":\"object\",\"properties\":{\"result\":{ }},\"required\":[\"result\"]}"},
      {"true", "{\"type\":\"object\",\"properties\":{\"result\":true},\"required\":[\"result\"]}"},
      {"{\"type\":[\"object\"]}",
       "{\"type\":\"object\",\"properties\":{\"result\":{\"type\":[\"object\"]}},\"required\":[\"result\"]}"},
      {"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"type\":\"string\"}",
       "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"type\":\"object\",\"properties\":{\"result\":"
       "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"type\":\"string\"}},\"required\":[\"result\"]}"},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    char definition[500], old[1000];
    snprintf(definition, sizeof definition, "{\"outputSchema\" : %s , \"name\":\"t\"}", table[i].schema);
    if (table[i].old) snprintf(old, sizeof old, "{\"outputSchema\" : %s , \"name\":\"t\"}", table[i].old);
    assert_texts(stateless, definition, table[i].old ? old : NULL);
    struct catalog *c = catalog_of(stateless, ITEM_TOOL, definition, false);
    assert_int_equal(c->items[ITEM_TOOL][0].wraps_output, !!table[i].old);
    catalog_unref(&c);
    c = catalog_of(handshake, ITEM_TOOL, definition, false);
    assert_false(c->items[ITEM_TOOL][0].wraps_output);
    catalog_unref(&c);
  }
}

static void all_changes_go_together_with_the_shown_name(void **state) {
  const char *definition =
      "{ \"name\" : \"t\" , \"inputSchema\" : {} , \"outputSchema\" : {\"$ref\":\"#\"} , \"n\" : 1.0 }";
  struct catalog *c = catalog_of(with_tasks, ITEM_TOOL, definition, true);
  const struct item *item = &c->items[ITEM_TOOL][0];
  assert_str(item->text,
             "{ \"name\" : \"s__t\" , \"inputSchema\" : {} , \"outputSchema\" : {\"$ref\":\"#\"} , \"n\" : 1.0 }");
  assert_str(item->old_text,
             "{ \"name\" : \"s__t\" , \"inputSchema\" : {\"type\":\"object\"} , \"outputSchema\" : "
             "{\"type\":\"object\",\"properties\":{\"result\":{\"$ref\":\"#/properties/result\"}},\"required\":"
             "[\"result\"]} , \"n\" : 1.0,\"execution\":{\"taskSupport\":\"optional\"} }");
  catalog_unref(&c);
  c = catalog_of(stateless, ITEM_TOOL, "{\"name\":\"a b\"}", false);  // a hashed name, and nothing else to change
  assert_str(c->items[ITEM_TOOL][0].text, "{\"name\":\"a_b_92a3dad5\"}");
  assert_ptr_equal(c->items[ITEM_TOOL][0].old_text.p, c->items[ITEM_TOOL][0].text.p);
  catalog_unref(&c);
}

static void other_items_have_one_text_whatever_they_say(void **state) {
  static const enum item_kind kinds[] = {ITEM_RESOURCE, ITEM_TEMPLATE, ITEM_PROMPT};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    char definition[200];
    snprintf(definition, sizeof definition, "{\"%s\":\"x:y\",\"outputSchema\":{},\"inputSchema\":{},\"v\":1}",
             item_kind_rules[kinds[i]].name_key);
    struct catalog *c = catalog_of(with_tasks, kinds[i], definition, false);
    const struct item *item = &c->items[kinds[i]][0];
    if (kinds[i] != ITEM_PROMPT) assert_str(item->text, definition);
    assert_ptr_equal(item->old_text.p, item->text.p);
    assert_true(item->stateless && !item->wraps_output && item->param_headers.count == 0);
    catalog_unref(&c);
  }
}

// ---- what is read

static void a_handshake_tool_says_whether_it_is_called_as_a_task(void **state) {
  static const struct {
    const char *definition;
    bool required;
  } table[] = {
      {"{\"name\":\"t\"}", false},
      {"{\"name\":\"t\",\"execution\":{\"taskSupport\":\"required\"}}", true},
      {"{\"name\":\"t\",\"execution\":{\"taskSupport\":\"optional\"}}", false},
      {"{\"name\":\"t\",\"execution\":{\"taskSupport\":\"forbidden\"}}", false},
      {"{\"name\":\"t\",\"\\u0065xecution\":{\"task\\u0053upport\":\"requ\\u0069red\"}}", true},
      {"{\"name\":\"t\",\"execution\":{\"taskSupport\":\"Required\"}}", false},
      {"{\"name\":\"t\",\"execution\":{\"taskSupport\":true}}", false},
      {"{\"name\":\"t\",\"execution\":\"required\"}", false},
      {"{\"name\":\"t\",\"_meta\":{\"execution\":{\"taskSupport\":\"required\"}}}", false},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    for (int prefixed = 0; prefixed < 2; prefixed++) {
      struct catalog *c = catalog_of(handshake, ITEM_TOOL, table[i].definition, prefixed);
      const struct item *item = &c->items[ITEM_TOOL][0];
      if (item->task_required != table[i].required) fail_msg("%s", table[i].definition);
      catalog_unref(&c);
      c = catalog_of(stateless, ITEM_TOOL, table[i].definition, prefixed);  // the extension knows no such thing
      assert_false(c->items[ITEM_TOOL][0].task_required);
      catalog_unref(&c);
    }
}

static void an_item_has_the_param_headers_of_its_tool(void **state) {
  const char *sound =
      "{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"o\":{\"properties\":{\"a\":"
      "{\"type\":\"string\",\"x-mcp-header\":\"A\"}}}}}}";
  const char *unsound =
      "{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\","
      "\"x-mcp-header\":\"A\"},\"b\":{\"type\":\"number\",\"x-mcp-header\":\"B\"}}}}";
  const struct definitions_origin origins[] = {handshake, stateless, with_tasks, {.http = true}};
  for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
    struct catalog *c = catalog_of(origins[i], ITEM_TOOL, sound, i == 1);
    const struct param_headers *m = &c->items[ITEM_TOOL][0].param_headers;
    assert_int_equal(m->count, 1);
    assert_str(m->list[0].name, "A");
    assert_int_equal(m->list[0].depth, 2);
    assert_str(m->list[0].path[0], "o");
    assert_str(m->list[0].path[1], "a");
    catalog_unref(&c);
    c = catalog_of(origins[i], ITEM_TOOL, unsound, i == 1);
    assert_int_equal(c->items[ITEM_TOOL][0].param_headers.count, 0);
    catalog_unref(&c);
  }
}

// ---- references

static void assert_wrapped(const char *schema, const char *result) {
  struct arena a;
  struct fault f;
  arena_init(&a);
  const struct json *v = json_parse(&a, str_of(schema), &json_default_limits, &f);
  if (!v) fail_msg("%s: %s", schema, f.message);
  assert_true(wrap_needed(v));
  str want = arena_printf(&a, "{\"type\":\"object\",\"properties\":{\"result\":%s},\"required\":[\"result\"]}", result);
  assert_str(wrap_schema(v, &a), want.p);
  arena_done(&a);
}

// A pointer in a schema counts from the root of the text, which is another one in the old form.
static void references_move_along_with_their_schema(void **state) {
#define R "#/properties/result"
  assert_wrapped("{\"$ref\":\"#\"}", "{\"$ref\":\"" R "\"}");
  assert_wrapped("{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"items\":{\"$ref\" : \"#/$defs/a\"}}}}",
                 "{\"$ref\":\"" R "/$defs/a\",\"$defs\":{\"a\":{\"items\":{\"$ref\" : \"" R "/$defs/a\"}}}}");
  assert_wrapped("{\"anyOf\":[{\"$ref\":\"#/definitions/x\"},{\"$dynamicRef\":\"#/y\"},[{\"$ref\":\"#/z\"}]]}",
                 "{\"anyOf\":[{\"$ref\":\"" R "/definitions/x\"},{\"$dynamicRef\":\"" R "/y\"},[{\"$ref\":\"" R
                 "/z\"}]]}");
  // Escapes do not hide them.
  assert_wrapped("{\"$\\u0072ef\":\"\\u0023\\/a\"}", "{\"$\\u0072ef\":\"\\u0023/properties/result\\/a\"}");
#undef R
}

static void references_that_do_not_count_from_the_root_stay(void **state) {
  static const char *const table[] = {
      "{\"type\":\"string\"}",
      "{\"$ref\":\"#anchor\",\"$anchor\":\"anchor\"}",
      "{\"$ref\":\"other.json#/a\"}",
      "{\"$ref\":\"https://example.com/s#/a\"}",
      "{\"$ref\":\"\"}",
      "{\"$ref\":\"/#/a\"}",
      "{\"$ref\":7}",
      "{\"$dynamicRef\":\"#node\"}",
      "{\"$id\":\"https://example.com/s\",\"$ref\":\"#/$defs/a\"}",      // a document of its own
      "{\"anyOf\":[{\"$id\":\"urn:x\",\"items\":{\"$ref\":\"#/a\"}}]}",  // so is a part
      "{\"const\":{\"$ref\":\"#/a\"},\"enum\":[{\"$ref\":\"#/a\"}]}",    // data, not schemas
      "{\"items\":{\"default\":{\"$ref\":\"#/a\"},\"examples\":[{\"x\":{\"$ref\":\"#\"}}]}}",
      "{\"properties\":{\"$ref\":\"#/a\"}}",  // the name of a property
      "{\"description\":\"see #/a\",\"x\":\"$ref\"}",
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) assert_wrapped(table[i], table[i]);
}

static void names_of_properties_are_no_keywords(void **state) {
  static const char *const holders[] = {"properties",  "patternProperties", "$defs",
                                        "definitions", "dependentSchemas",  "dependencies"};
  static const char *const names[] = {"const", "enum", "default", "examples", "$ref", "$id", "properties"};
  for (size_t i = 0; i < sizeof holders / sizeof *holders; i++)
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
      char schema[200], want[200];
      snprintf(schema, sizeof schema, "{\"%s\":{\"%s\":{\"$ref\":\"#/a\"}}}", holders[i], names[k]);
      snprintf(want, sizeof want, "{\"%s\":{\"%s\":{\"$ref\":\"#/properties/result/a\"}}}", holders[i], names[k]);
      assert_wrapped(schema, want);
    }
  assert_wrapped("{\"$id\":\"#item\",\"$ref\":\"#/a\"}", "{\"$id\":\"#item\",\"$ref\":\"#/properties/result/a\"}");
}

static void a_schema_of_nothing_but_references_fits(void **state) {
  struct buf schema, want;
  buf_init(&schema, 1 << 20);
  buf_init(&want, 1 << 20);
  buf_str(&schema, STR("{\"allOf\":["));
  buf_str(&want, STR("{\"allOf\":["));
  for (int i = 0; i < 5000; i++) {
    buf_printf(&schema, "%s{\"$ref\":\"#\"}", i ? "," : "");
    buf_printf(&want, "%s{\"$ref\":\"#/properties/result\"}", i ? "," : "");
  }
  buf_add(&schema, "]}", 3);
  buf_add(&want, "]}", 3);
  assert_wrapped(schema.p, want.p);
  buf_done(&schema);
  buf_done(&want);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tools_of_handshake_servers_are_shown_to_everybody_as_they_were_sent),
      cmocka_unit_test(tools_of_stateless_servers_that_everybody_understands_stay_as_they_are),
      cmocka_unit_test(an_input_schema_is_made_one_of_objects),
      cmocka_unit_test(tools_that_may_become_tasks_say_so),
      cmocka_unit_test(an_output_schema_of_anything_is_made_one_of_an_object_with_a_result),
      cmocka_unit_test(all_changes_go_together_with_the_shown_name),
      cmocka_unit_test(other_items_have_one_text_whatever_they_say),
      cmocka_unit_test(a_handshake_tool_says_whether_it_is_called_as_a_task),
      cmocka_unit_test(an_item_has_the_param_headers_of_its_tool),
      cmocka_unit_test(references_move_along_with_their_schema),
      cmocka_unit_test(references_that_do_not_count_from_the_root_stay),
      cmocka_unit_test(names_of_properties_are_no_keywords),
      cmocka_unit_test(a_schema_of_nothing_but_references_fits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
