// SPDX-License-Identifier: Apache-2.0
// catalog/tool_id, catalog/identify: the grammar of ids, and ids from definitions.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/text/utf8.h"
#include "catalog/naming/identify.h"

static struct arena arena;

static int setup(void **state) {
  arena_init(&arena);
  return 0;
}

static int teardown(void **state) {
  arena_done(&arena);
  return 0;
}

static void assert_str(str got, const char *want) {
  if (!str_eq(got, str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(got), want);
}

static void assert_says(const struct fault *f, const char *part) {
  if (!strstr(f->message, part)) fail_msg("'%s' does not say '%s'", f->message, part);
}

static void assert_malformed(str id, const char *part) {
  struct tool_id_parts p = {.name = STR("untouched")};
  struct fault f = {0};
  if (primitive_id_parse(id, &p, &f)) fail_msg("%.*s was taken", STR_ARG(id));
  assert_str(p.name, "untouched");
  assert_int_equal(f.code, FAULT_INVALID);
  assert_says(&f, part);
}

static void assert_round_trip(const char *id) {
  struct tool_id_parts p;
  struct fault f;
  str again;
  if (!primitive_id_parse(str_of(id), &p, &f)) fail_msg("%s: %s", id, f.message);
  assert_true(tool_id_format(&p, &arena, &again, &f));
  assert_str(again, id);
}

static void an_id_is_written_from_its_parts(void **state) {
  struct fault f;
  str id;
  struct tool_id_parts versioned = {.namespace = STR("github"), .name = STR("create_issue"), .version = STR("1.4.0")};
  assert_true(tool_id_format(&versioned, &arena, &id, &f));
  assert_str(id, "github:create_issue@1.4.0");
  struct tool_id_parts both = {.namespace = STR("a"), .name = STR("b"), .version = STR("1"), .hash8 = STR("0123abcd")};
  assert_true(tool_id_format(&both, &arena, &id, &f));
  assert_str(id, "a:b@1#0123abcd");
}

static void parts_that_break_the_grammar_are_refused(void **state) {
  struct tool_id_parts p = {.namespace = STR("a"), .name = STR("b")};
  struct fault f;
  str id = STR("untouched");
  assert_false(tool_id_format(&p, &arena, &id, &f));
  assert_says(&f, "requires hash8 when version is absent");
  p.hash8 = STR("GG");
  assert_false(tool_id_format(&p, &arena, &id, &f));
  assert_says(&f, "hash8");
  p.version = STR("bad/version");
  assert_false(tool_id_format(&p, &arena, &id, &f));
  assert_says(&f, "version");
  p.namespace = STR("GitHub");
  assert_false(tool_id_format(&p, &arena, &id, &f));
  assert_says(&f, "namespace");
  assert_str(id, "untouched");
}

static void an_id_is_taken_apart_and_put_together_again(void **state) {
  assert_round_trip("github:create_issue@1.4.0");
  assert_round_trip("weather:get@2024-05");
  assert_round_trip("a:b@1#0123abcd");
  assert_round_trip("x:x.#29068a9f");
  assert_round_trip("resource::db:users@2024-05");
  assert_round_trip("prompt::gh:summarize#deadbeef");
  struct tool_id_parts p;
  struct fault f;
  assert_true(primitive_id_parse(STR("resource::db:us.er-s@2024-05#00ff00ff"), &p, &f));
  assert_int_equal(p.kind, TOOL_ID_RESOURCE);
  assert_str(p.namespace, "db");
  assert_str(p.name, "us.er-s");
  assert_str(p.version, "2024-05");
  assert_str(p.hash8, "00ff00ff");
  assert_true(tool_id_parse(STR("a:b@1"), &p, &f));
  assert_null(p.hash8.p);
}

static void malformed_ids_are_refused_in_plain_words(void **state) {
  char longest[303];
  snprintf(longest, sizeof longest, "a:%0300d", 0);
  memset(longest + 2, 'b', 300);
  assert_malformed(str_of(longest), "240");
  assert_malformed(STR("nosep"), "namespace separator");
  assert_malformed(STR(""), "namespace separator");
  assert_malformed(STR("GitHub:x@1"), "namespace");
  assert_malformed(STR(":x@1"), "namespace");
  assert_malformed(STR("a:@1"), "name");
  assert_malformed(STR("a:9@1"), "name");
  assert_malformed(STR("a:b@"), "version");
  assert_malformed(STR("a:b#"), "hash8");
  assert_malformed(STR("a:b"), "hash8 when version is absent");
  assert_malformed(STR("a:b@1@2#0123abcd"), "name");
  assert_malformed(STR("a:b#x#01234567"), "name");
  assert_malformed(STR("a:b:c#01234567"), "name");
  assert_malformed(STR("a:b#0123ABCD"), "hash8");
  assert_malformed(STR("a:b@1\n"), "version");
  assert_malformed(STR("a:b#0123abcd\n"), "hash8");
  assert_malformed(STR("a:b@1\0"), "version");
  assert_malformed(STR("a:b#0123abcd~2"), "hash8");
}

static void only_resources_and_prompts_have_a_kind_in_front(void **state) {
  struct tool_id_parts p;
  struct fault f;
  assert_malformed(STR("widget::a:b@1"), "unknown kind prefix 'widget'");
  assert_malformed(STR("tool::a:b@1"), "unknown kind prefix 'tool'");
  assert_malformed(STR("::a:b@1"), "unknown kind prefix ''");
  assert_malformed(STR("resource::resource::a:b@1"), "name");
  assert_false(tool_id_parse(STR("resource::a:b@1"), &p, &f));
}

static void a_namespace_is_inferred_from_a_name(void **state) {
  static const char *const cases[][3] = {
      {"github.create_issue", "github", "create_issue"},
      {"github.repos.list", "github", "repos.list"},
      {"filesystem/read", "filesystem", "read"},
      {"db/tables/list", "db", "tables/list"},
      {"slack_send_message", "slack", "slack_send_message"},
      {"aws_s3_list_buckets", "aws", "aws_s3_list_buckets"},
      {"read_file", "mcp", "read_file"},
      {"search", "mcp", "search"},
      {"", "mcp", ""},
      {".hidden", "mcp", ".hidden"},
      {"/path", "mcp", "/path"},
      {"_a_b", "mcp", "_a_b"},
      {"a__b", "a", "a__b"},
      {"a/b.c", "a/b", "c"},
      {"a.b/c", "a", "b/c"},
      {"x.", "x", "x."},
      {"GitHub.create", "GitHub", "create"},
      {"mcp__github__create_issue", "mcp", "mcp__github__create_issue"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_str(tool_id_infer_namespace(str_of(cases[i][0])), cases[i][1]);
    assert_str(tool_id_infer_name(str_of(cases[i][0])), cases[i][2]);
  }
  assert_str(tool_id_infer_namespace(STR_NONE), "mcp");
}

typedef bool identifier(const struct identify_rules *, const struct json *, struct arena *, struct identity *,
                        struct fault *);

static struct identity identified(identifier *identify, const char *namespace, const char *definition) {
  struct identify_rules rules = {.namespace = str_of(namespace)};
  struct identity id = {0};
  struct fault f;
  str text = arena_str(&arena, str_of(definition));
  struct json *v = json_parse(&arena, text, &json_default_limits, &f);
  if (!v || !identify(&rules, v, &arena, &id, &f)) fail_msg("%s: %s", definition, f.message);
  return id;
}

static void assert_id(identifier *identify, const char *namespace, const char *definition, const char *want) {
  assert_str(identified(identify, namespace, definition).id, want);
  if (!strchr(want, '~')) assert_round_trip(want);
}

static void assert_tool(const char *definition, const char *want) {
  assert_id(identify_tool, "", definition, want);
}

static void tools_without_a_server_get_the_ids_of_the_table(void **state) {
  assert_tool("{\"name\":\"github.create_issue\"}", "github:create_issue#678543c8");
  assert_tool("{\"name\":\"gitlab.create_issue\"}", "gitlab:create_issue#a410274a");
  assert_tool("{\"name\":\"filesystem/read\"}", "filesystem:read#2a7b574b");
  assert_tool("{\"name\":\"slack_send_message\"}", "slack:slack_send_message#2fae1fd2");
  assert_tool("{\"name\":\"read_file\"}", "mcp:read_file#559d82ea");
  assert_tool("{\"name\":\"search_database\"}", "mcp:search_database#35f286b2");
  assert_tool("{\"name\":\"a.b.c\"}", "a:b.c#98265582");
  assert_tool("{\"name\":\"get_user_by_id\"}", "get:get_user_by_id#10bd3d41");
  assert_tool("{\"name\":\"a__b\"}", "a:a__b#b4f85354");
  assert_tool("{\"name\":\"_a_b\"}", "mcp:_a_b#690f8341");
  assert_tool("{\"name\":\"_a_b_c\"}", "mcp:_a_b_c#f2b81b4b");
  assert_tool("{\"name\":\"mcp__github__create_issue\"}", "mcp:mcp__github__create_issue#a45ba81c");
  assert_tool("{\"name\":\"list-things-now\"}", "mcp:list-things-now#56dcce4f");
  assert_tool("{\"name\":\"UPPER\"}", "mcp:UPPER#a74f330b");
  assert_tool("{\"name\":\"x.\"}", "x:x.#29068a9f");
}

static void names_outside_the_grammar_are_made_to_fit_and_hashed_raw(void **state) {
  assert_tool("{\"name\":\"GitHub.create\"}", "github:create#5b457408");
  assert_tool("{\"name\":\"Slack_Send_Message\"}", "slack:Slack_Send_Message#cbce0638");
  assert_tool("{\"name\":\"a/b/c\"}", "a:b_c#3b71729d");
  assert_tool("{\"name\":\"a.b/c\"}", "a:b_c#f1736645");
  assert_tool("{\"name\":\"a/b.c\"}", "a-b:c#f9867381");
  assert_tool("{\"name\":\".hidden\"}", "mcp:hidden#1fca87f1");
  assert_tool("{\"name\":\"/x\"}", "mcp:_x#31907e49");
  assert_tool("{\"name\":\"foo bar\"}", "mcp:foo_bar#4fec13fa");
  assert_tool("{\"name\":\"x:y\"}", "mcp:x_y#43818e24");
  assert_tool("{\"name\":\"a..b\"}", "a:b#1026418d");
  assert_tool("{\"name\":\"9lives.go\"}", "mcp-9lives:go#811d17e4");
  assert_tool("{\"name\":\"résumé.get\"}", "r-sum:get#debb72c8");
  assert_tool("{\"name\":\"https://x.y/z\"}", "https---x:y_z#dcf56ce9");
  assert_tool("{\"name\":\"日本語\"}", "mcp:___#0f5ecb99");
}

static void with_a_server_the_name_is_the_whole_upstream_name(void **state) {
  assert_id(identify_tool, "fs", "{\"name\":\"read_file\"}", "fs:read_file#559d82ea");
  assert_id(identify_tool, "hub", "{\"name\":\"github.create_issue\"}", "hub:github.create_issue#678543c8");
  assert_id(identify_tool, "hub", "{\"name\":\"x.\"}", "hub:x.#29068a9f");
  assert_id(identify_tool, "hub", "{\"name\":\"foo bar\"}", "hub:foo_bar#4fec13fa");
  assert_id(identify_resource, "docs", "{\"uri\":\"file:///docs/readme.md\",\"name\":\"README\"}",
            "resource::docs:README#a8c506b1");
  assert_id(identify_prompt, "gh", "{\"name\":\"gh.review.pr\"}", "prompt::gh:gh.review.pr#70a1482a");
}

static void the_hash_covers_the_name_and_the_names_of_arguments(void **state) {
  assert_tool("{\"name\":\"read_file\",\"inputSchema\":{\"properties\":{\"path\":{}},\"required\":[\"path\"]}}",
              "mcp:read_file#85b56782");
  assert_tool("{\"name\":\"slack_send_message\",\"inputSchema\":{\"properties\":{\"text\":{},\"channel\":{}},"
              "\"required\":[\"text\",\"channel\"]}}",
              "slack:slack_send_message#283a5dcf");
  assert_tool("{\"name\":\"search_database\",\"inputSchema\":{\"properties\":{\"query\":{},\"limit\":{}}}}",
              "mcp:search_database#547048ac");
  assert_tool("{\"name\":\"github.create_issue\",\"inputSchema\":{\"properties\":{\"title\":{},\"n\":{}},"
              "\"required\":[\"title\"]}}",
              "github:create_issue#b153499a");
  assert_tool("{\"name\":\"github.create_issue\",\"inputSchema\":{\"properties\":{\"title\":{\"type\":\"string\","
              "\"description\":\"prose\"}},\"required\":[\"title\"]}}",
              "github:create_issue#34afee88");
  assert_tool("{\"name\":\"github.list_repos\",\"inputSchema\":{\"properties\":{}}}", "github:list_repos#da62b2ed");
  assert_tool("{\"name\":\"read_file\",\"inputSchema\":null}", "mcp:read_file#559d82ea");
}

static void what_is_hashed_is_ascii(void **state) {
  struct fault f;
  struct json *v = json_parse(&arena, STR("{\"properties\":{\"é\":{},\"b\":{}}}"), &json_default_limits, &f);
  assert_str(identify_hash_tool(&arena, STR("naïve"), v), "b5306c7b");
  v = json_parse(&arena, STR("{\"properties\":{\"\\u007f\\\"\\\\\\n\\u0001😀\":{}}}"), &json_default_limits, &f);
  assert_str(identify_hash_tool(&arena, STR("x"), v), "82f64025");
}

static void a_declared_version_stands_for_the_hash(void **state) {
  assert_tool("{\"name\":\"github.create_issue\",\"_meta\":{\"version\":\"1.4.0\"}}", "github:create_issue@1.4.0");
  assert_tool("{\"name\":\"weather.get\",\"_meta\":{\"version\":\"2024-05\"}}", "weather:get@2024-05");
  assert_tool("{\"name\":\"a.b\",\"_meta\":{\"version\":2}}", "a:b@2");
  assert_tool("{\"name\":\"a.b\",\"_meta\":{\"version\":1.5}}", "a:b@1.5");
  static const char *const absent[] = {"0", "0.0", "\"\"", "null", "false"};
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
    str text = arena_printf(&arena, "{\"name\":\"read_file\",\"_meta\":{\"version\":%s}}", absent[i]);
    assert_tool(text.p, "mcp:read_file#559d82ea");
  }
  assert_tool("{\"name\":\"read_file\",\"_meta\":[]}", "mcp:read_file#559d82ea");
  // Two names that are made to fit may become one: then the version is not enough.
  assert_id(identify_tool, "s", "{\"name\":\"foo bar\",\"_meta\":{\"version\":\"1\"}}", "s:foo_bar@1#4fec13fa");
}

static void a_version_that_does_not_fit_costs_a_note_not_the_tool(void **state) {
  static const char *const bad[] = {
      "\"bad/version\"", "\"1\\n\"", "\"123456789012345678901234567890123\"", "true", "{}", "[1]", "\"é\"", "1e+9"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    str text = arena_printf(&arena, "{\"name\":\"read_file\",\"_meta\":{\"version\":%s}}", bad[i]);
    struct identity id = identified(identify_tool, "", text.p);
    assert_str(id.id, "mcp:read_file#559d82ea");
    assert_str(id.note, "the version does not fit the grammar of ids: a hash replaces it");
  }
  assert_int_equal(identified(identify_tool, "", "{\"name\":\"read_file\"}").note.n, 0);
}

static void assert_resource(const char *definition, const char *want) {
  assert_id(identify_resource, "", definition, want);
}

static void resources_are_known_by_their_uri(void **state) {
  assert_resource("{\"uri\":\"file:///docs/readme.md\",\"name\":\"README\"}", "resource::file:README#a8c506b1");
  assert_resource("{\"uri\":\"file:///docs/readme.md\"}", "resource::file:readme.md#a8c506b1");
  assert_resource("{\"uri\":\"postgres://db/users\",\"name\":\"users table\"}",
                  "resource::postgres:users_table#45d2490d");
  assert_resource("{\"uri\":\"mailto:x@y.z\"}", "resource::mailto:mailto_x_y.z#139f50b3");
  assert_resource("{\"uri\":\"plain\"}", "resource::mcp:plain#8a9c1294");
  assert_resource("{\"uri\":\"9p://a/b\"}", "resource::mcp-9p:b#f7e2ebd5");
  assert_resource("{\"uri\":\"file:///日本.md\"}", "resource::file:__.md#2ed37000");
  assert_resource("{\"uri\":\"file:///x.md\",\"name\":\"123 go\"}", "resource::file:r_123_go#fe064e4e");
  assert_resource("{\"uri\":\"s3+x://b/k.\"}", "resource::s3-x:k#51c2cfb1");
  assert_resource("{\"uri\":\"file:///-.-\"}", "resource::file:item#ba61afec");
  assert_resource("{\"uriTemplate\":\"plain\",\"name\":\"\"}", "resource::mcp:plain#8a9c1294");
  assert_str(identify_hash_resource(&arena, STR("")), "533513c1");
}

static void assert_prompt(const char *definition, const char *want) {
  assert_id(identify_prompt, "", definition, want);
}

static void prompts_are_known_by_their_raw_name_and_arguments(void **state) {
  assert_prompt("{\"name\":\"summarize_pr\",\"arguments\":[{\"name\":\"repo\"},{\"name\":\"number\"}]}",
                "prompt::mcp:summarize_pr#a93d35bc");
  assert_prompt("{\"name\":\"summarize_pr\",\"arguments\":[{\"name\":\"number\"},{\"name\":\"repo\"}]}",
                "prompt::mcp:summarize_pr#a93d35bc");
  assert_prompt("{\"name\":\"greet\",\"arguments\":[{\"name\":\"who\"}]}", "prompt::mcp:greet#51466730");
  assert_prompt("{\"name\":\"gh.review.pr\"}", "prompt::gh:gh.review.pr#70a1482a");
  assert_prompt("{\"name\":\"a/b\"}", "prompt::a:a_b#e901d1cd");
  assert_prompt("{\"name\":\"9go\"}", "prompt::mcp:r_9go#8c328723");
  assert_prompt("{\"name\":\"GH.x\"}", "prompt::gh:GH.x#3b1d6017");
  assert_prompt("{\"name\":\"Foo Bar\"}", "prompt::mcp:Foo_Bar#5faf5037");
  assert_prompt("{\"name\":\"Foo_Bar\"}", "prompt::mcp:Foo_Bar#5d629662");
  assert_str(identify_hash_prompt(&arena, STR("p"), NULL), "c758fcaa");
}

static void servers_never_share_a_namespace(void **state) {
  str servers[] = {STR("GitHub"), STR("github"), STR("My Server"), STR("my server"),
                   STR("9p"),     STR("Solo"),   STR("..."),       STR("my_server")};
  enum { N = sizeof servers / sizeof *servers };
  str spaces[N], backwards[N], reversed[N];
  assert_int_equal(identify_namespaces(servers, N, NULL, &arena, spaces), 3);
  assert_str(spaces[1], "github");
  assert_true(str_starts(spaces[0], STR("github-")) && spaces[0].n == 15);
  assert_true(str_starts(spaces[2], STR("my-server-")) && str_starts(spaces[3], STR("my-server-")));
  assert_str(spaces[4], "mcp-9p");
  assert_str(spaces[5], "solo");
  assert_str(spaces[6], "mcp");
  assert_str(spaces[7], "my_server");
  for (size_t i = 0; i < N; i++) reversed[i] = servers[N - 1 - i];
  identify_namespaces(reversed, N, NULL, &arena, backwards);
  for (size_t i = 0; i < N; i++) {
    assert_true(str_eq(backwards[N - 1 - i], spaces[i]));
    assert_true(tool_id_is_namespace(spaces[i]));
    for (size_t k = 0; k < i; k++) assert_false(str_eq(spaces[i], spaces[k]));
  }
  // Whoever takes the name that the hash made does not get it either.
  str thief[] = {servers[0], servers[1], spaces[0]};
  assert_int_equal(identify_namespaces(thief, 3, NULL, &arena, backwards), 1);
  assert_false(str_eq(backwards[0], spaces[0]));
}

static bool at_most_40(str id) {
  return id.n <= 40;
}

static void an_id_that_does_not_fit_is_shortened_to_its_hash_form(void **state) {
  struct identify_rules rules = {.namespace = STR("srv"), .fits = at_most_40};
  struct identity one, two, brief;
  struct fault f;
  str text = STR("{\"name\":\"a_name_that_goes_on_and_on_and_on_1\",\"_meta\":{\"version\":\"1\"}}");
  str other = STR("{\"name\":\"a_name_that_goes_on_and_on_and_on_2\",\"_meta\":{\"version\":\"1\"}}");
  assert_true(identify_tool(&rules, json_parse(&arena, text, &json_default_limits, &f), &arena, &one, &f));
  assert_true(identify_tool(&rules, json_parse(&arena, other, &json_default_limits, &f), &arena, &two, &f));
  assert_true(one.id.n <= 40 && str_starts(one.id, STR("srv:a_name_that_goe")) && !one.parts.version.p);
  assert_false(str_eq(one.id, two.id));
  assert_str(one.note, "the id was shortened");
  str small = STR("{\"name\":\"x\",\"_meta\":{\"version\":\"1\"}}");
  assert_true(identify_tool(&rules, json_parse(&arena, small, &json_default_limits, &f), &arena, &brief, &f));
  assert_str(brief.id, "srv:x@1");
}

static bool at_most_50(str id) {
  return id.n <= 50;
}

static void a_namespace_that_leaves_no_room_is_shortened(void **state) {
  str servers[] = {STR("a-very-long-name-of-a-server-one"), STR("a-very-long-name-of-a-server-two")};
  str spaces[2];
  identify_namespaces(servers, 2, at_most_50, &arena, spaces);
  assert_true(str_starts(spaces[0], STR("a-very-long-name-")) && spaces[0].n == 25);
  assert_false(str_eq(spaces[0], spaces[1]));
}

// Whatever the definition holds, there is a valid id or a fault.
static bool try_all_kinds(const char *definition) {
  static identifier *const kinds[] = {identify_tool, identify_resource, identify_prompt};
  struct identify_rules rules = {.namespace = STR_NONE};
  struct fault f;
  bool any = false;
  struct json *v = json_parse(&arena, str_of(definition), &json_default_limits, &f);
  if (!v) fail_msg("%s: %s", definition, f.message);
  for (size_t k = 0; k < 3; k++) {
    struct identity id;
    if (!kinds[k](&rules, v, &arena, &id, &f)) continue;
    struct tool_id_parts p;
    if (!primitive_id_parse(id.id, &p, &f)) fail_msg("%s: %s", definition, f.message);
    any = true;
  }
  return any;
}

static void a_hostile_definition_gives_a_valid_id_or_a_fault(void **state) {
  static const char *const named[] = {
      "{\"name\":\"\\u0000\"}",
      "{\"name\":\"\\u202eevil\\u200b\\u0007.x\"}",
      "{\"name\":\"...\"}",
      "{\"name\":\" \"}",
      "{\"name\":\"::\"}",
      "{\"name\":\"a\",\"inputSchema\":{\"properties\":[1,2],\"required\":{\"a\":1}}}",
      "{\"name\":\"a\",\"inputSchema\":{\"properties\":\"x\",\"required\":[1,null,\"b\",{}]}}",
      "{\"name\":\"a\",\"inputSchema\":[]}",
      "{\"name\":\"a\",\"arguments\":{\"name\":1},\"uri\":\":\"}",
      "{\"name\":\"a\",\"arguments\":[1,{\"name\":2},{}],\"uri\":\"//\"}",
      "{\"name\":\"😀.😀\",\"uri\":\"😀://😀\",\"_meta\":{\"version\":\"😀\"}}",
  };
  static const char *const nameless[] = {
      "{}", "[]", "1", "null", "{\"name\":\"\"}", "{\"name\":1,\"uri\":[]}", "{\"uriTemplate\":1}"};
  for (size_t i = 0; i < sizeof named / sizeof *named; i++) assert_true(try_all_kinds(named[i]));
  for (size_t i = 0; i < sizeof nameless / sizeof *nameless; i++) assert_false(try_all_kinds(nameless[i]));
}

static void very_long_names_are_cut_and_still_differ(void **state) {
  char name[10241], text[10300];
  memset(name, 'b', 10240);
  name[10240] = 0;
  snprintf(text, sizeof text, "{\"name\":\"%s\",\"_meta\":{\"version\":\"1\"}}", name);
  struct identity id = identified(identify_tool, "", text);
  assert_int_equal(id.parts.name.n, TOOL_ID_NAME_MAX);
  assert_str(id.parts.hash8, "b8000463");
  assert_str(id.parts.version, "1");
  memset(name, '-', 10240);
  snprintf(text, sizeof text, "{\"name\":\"%s\"}", name);
  assert_str(identified(identify_tool, "", text).parts.name, "item");
}

static void characters_are_taken_off_the_front_of_text(void **state) {
  str s = STR("aé€😀\xff\xc3");
  uint32_t want[] = {'a', 0xe9, 0x20ac, 0x1f600, 0xfffd, 0xfffd};
  for (size_t i = 0; i < sizeof want / sizeof *want; i++) assert_int_equal(utf8_next(&s), want[i]);
  assert_int_equal(s.n, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_id_is_written_from_its_parts),
      cmocka_unit_test(parts_that_break_the_grammar_are_refused),
      cmocka_unit_test(an_id_is_taken_apart_and_put_together_again),
      cmocka_unit_test(malformed_ids_are_refused_in_plain_words),
      cmocka_unit_test(only_resources_and_prompts_have_a_kind_in_front),
      cmocka_unit_test(a_namespace_is_inferred_from_a_name),
      cmocka_unit_test(tools_without_a_server_get_the_ids_of_the_table),
      cmocka_unit_test(names_outside_the_grammar_are_made_to_fit_and_hashed_raw),
      cmocka_unit_test(with_a_server_the_name_is_the_whole_upstream_name),
      cmocka_unit_test(the_hash_covers_the_name_and_the_names_of_arguments),
      cmocka_unit_test(what_is_hashed_is_ascii),
      cmocka_unit_test(a_declared_version_stands_for_the_hash),
      cmocka_unit_test(a_version_that_does_not_fit_costs_a_note_not_the_tool),
      cmocka_unit_test(resources_are_known_by_their_uri),
      cmocka_unit_test(prompts_are_known_by_their_raw_name_and_arguments),
      cmocka_unit_test(servers_never_share_a_namespace),
      cmocka_unit_test(an_id_that_does_not_fit_is_shortened_to_its_hash_form),
      cmocka_unit_test(a_namespace_that_leaves_no_room_is_shortened),
      cmocka_unit_test(a_hostile_definition_gives_a_valid_id_or_a_fault),
      cmocka_unit_test(very_long_names_are_cut_and_still_differ),
      cmocka_unit_test(characters_are_taken_off_the_front_of_text),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
