// SPDX-License-Identifier: Apache-2.0
// upstream/snapshot and its link: a server that is a file.
#include "link_world.h"

#include <stdlib.h>

#include "upstream/snapshot.h"
#include "upstream/upstream_impl.h"
#include "json/write.h"

static const struct hash_key seed = {1, 2};

struct fixture {
  struct owner o;
  struct snapshot *s;
};

static void on_report(void *ctx, bool fatal, str pointer, const char *message) {
  buf_printf(ctx, "%s%.*s: %s\n", fatal ? "!" : "", STR_ARG(pointer), message);
}

static struct snapshot *read_snapshot(str text, struct buf *reports) {
  struct buf file;
  buf_init(&file, KIND_FILE_MAX);
  buf_str(&file, text);
  return snapshot_new(&file, &seed, on_report, reports);
}

// Reads a file, about which there is exactly this to say.
static struct snapshot *says(str text, const char *want) {
  struct buf reports;
  buf_init(&reports, 1 << 20);
  struct snapshot *s = read_snapshot(text, &reports);
  if (!str_eq(buf_view(&reports), str_of(want)))
    fail_msg("%.*s: '%.*s' instead of '%s'", (int)(text.n < 80 ? text.n : 80), text.p, STR_ARG(buf_view(&reports)),
             want);
  buf_done(&reports);
  return s;
}

// ---- the file

static void a_list_is_a_list_of_tools(void **state) {
  struct snapshot *s = says(STR("[{\"name\":\"a\"},{ \"name\" : \"\\u0062\" }]"), "");
  assert_int_equal(s->count[ITEM_TOOL], 2);
  assert_true(str_eq(s->entries[ITEM_TOOL][1].name, STR("b")));
  assert_true(str_eq(s->entries[ITEM_TOOL][1].text, STR("{\"name\":\"\\u0062\"}")));
  assert_int_equal(s->server.n, 0);
  snapshot_free(&s);
  assert_null(s);
}

static void an_object_has_lists_and_whatever_else_is_known_of_the_server(void **state) {
  struct snapshot *s = says(STR("{\"server\":\"x\",\"licence\":\"MIT\",\"capabilities\":{\"tools\":{}},"
                                "\"instructions\":\"be \\u006bind\",\"resources\":[{\"uri\":\"a://b\"}],"
                                "\"resourceTemplates\":[{\"uriTemplate\":\"a://{b}\"}],\"prompts\":[{\"name\":\"p\"}],"
                                "\"tools\":[]}"),
                            "");
  assert_true(str_eq(s->server, STR("x")));
  assert_true(str_eq(s->instructions, STR("be kind")));
  for (int kind = 0; kind < ITEM_KINDS; kind++) assert_int_equal(s->count[kind], kind != ITEM_TOOL);
  snapshot_free(&s);
}

static void a_file_that_is_no_catalog_is_refused_at_the_place_that_is_wrong(void **state) {
  static const struct {
    str text;
    const char *report;
  } table[] = {
      {STR("5"), "!: must be an array of tools, or an object with tools, resources, resourceTemplates or prompts\n"},
      {STR("{\"tool\":[]}"), "!: must have \"tools\", \"resources\", \"resourceTemplates\" or \"prompts\"\n"},
      {STR("[]"), "!: has no usable entry: list at least one tool, resource or prompt\n"},
      {STR("{\"tools\":{\"a\":1},\"prompts\":null}"), "!/tools: must be a list\n!/prompts: must be a list\n"},
      {STR("{\"tools\":[{\"name\":\"a\"}],\"server\":1,\"instructions\":[]}"),
       "!/server: must be a string\n!/instructions: must be a string\n"},
      {STR("{\"tools\":[{\"name\":\"a\"}],\"replies\":[]}"), "!/replies: must be an object\n"},
      {STR("{\"tools\":[{\"name\":\"a\"}],\"replies\":{\"tools\":[],\"resourceTemplates\":{}}}"),
       "!/replies/tools: must be an object\n"
       "!/replies/resourceTemplates: is not a known key: must be \"tools\", \"resources\" or \"prompts\"\n"},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) assert_null(says(table[i].text, table[i].report));
  struct buf reports;
  buf_init(&reports, 1 << 20);
  assert_null(read_snapshot(STR("[\n{\"name\":\"a\",\"name\":\"b\"}]"), &reports));
  assert_null(read_snapshot(STR(""), &reports));
  assert_non_null(memmem(reports.p, reports.n, "line 2", 6));
  buf_done(&reports);
}

static void entries_that_cannot_be_used_are_left_out(void **state) {
  struct snapshot *s = says(STR("{\"tools\":[{\"name\":\"a\"},7],\"prompts\":[null,{\"name\":\"\"},{\"name\":\"p\"},[],"
                                "{\"name\":5}],\"resources\":[{\"name\":\"no uri\"}]}"),
                            "/tools/1: is left out: must be an object with a string \"name\"\n"
                            "/resources/0: is left out: must be an object with a string \"uri\"\n"
                            "/prompts/0: is left out, and 3 more of this list: each must be an object with a string "
                            "\"name\"\n");
  assert_int_equal(s->count[ITEM_TOOL], 1);
  assert_int_equal(s->count[ITEM_PROMPT], 1);
  assert_int_equal(s->count[ITEM_RESOURCE], 0);
  snapshot_free(&s);
  s = says(
      STR("{\"tools\":[{\"name\":\"a\"}],\"replies\":{\"tools\":{\"a\":5,\"b/c\":{}},\"resources\":{\"x:y\":{}}}}"),
      "/replies/tools/a: is left out: must be a complete result object\n"
      "/replies/tools/b~1c: is left out: the catalog lists nothing with this name\n");
  snapshot_free(&s);
}

static void hostile_files_do_no_harm(void **state) {
  struct buf text;
  buf_init(&text, 16 << 20);
  buf_str(&text, STR("{\"tools\":[{\"name\":\""));
  for (int i = 0; i < 1 << 20; i++) buf_char(&text, 'x');
  buf_str(&text, STR("\"}],\"replies\":{\"tools\":{\""));
  for (int i = 0; i < 1 << 20; i++) buf_char(&text, '/');
  buf_str(&text, STR("\":{}}}}"));
  struct buf reports;
  buf_init(&reports, 1 << 20);
  struct snapshot *s = read_snapshot(buf_view(&text), &reports);
  assert_int_equal(s->entries[ITEM_TOOL][0].name.n, 1 << 20);
  assert_true(reports.n < 8192);
  snapshot_free(&s);
  buf_reset(&text);
  for (int i = 0; i < 1 << 20; i++) buf_char(&text, '[');
  assert_null(read_snapshot(buf_view(&text), &reports));
  buf_reset(&text);
  buf_str(&text, STR("["));
  for (int i = 0; i < 200000; i++) buf_str(&text, STR("0,"));
  buf_str(&text, STR("{\"name\":\"a\"}]"));
  s = read_snapshot(buf_view(&text), &reports);
  assert_int_equal(s->count[ITEM_TOOL], 1);
  snapshot_free(&s);
  buf_done(&text);
  buf_done(&reports);
}

// ---- the server

#define TOOLS "[{\"name\":\"plain\"},{\"name\":\"formal\",\"outputSchema\":{}},{\"name\":\"canned\"}]"
#define RESOURCES \
  "[{\"uri\":\"a://listed\"},{\"uri\":\"a://text\",\"mimeType\":\"text/markdown\",\"text\":\"# \\u0041\"}]"
#define REPLIES \
  "{\"tools\":{\"canned\":{ \"content\" : [] }},\"resources\":{\"a://t/1\":{\"contents\":[1.0]}},\"prompts\":{}}"
#define CATALOG \
  "{\"instructions\":\"be kind\",\"tools\":" TOOLS ",\"resources\":" RESOURCES ",\"resourceTemplates\":" \
  "[{\"uriTemplate\":\"a://t/{x}\"}],\"prompts\":[{\"name\":\"ask\"}],\"replies\":" REPLIES "}"

static int setup(void **state) {
  struct fixture *x = MEM_NEW(struct fixture);
  owner_open(&x->o, &(struct http_server_options){.max_connections = 1}, NULL);
  *state = x;
  return 0;
}

static int teardown(void **state) {
  struct fixture *x = *state;
  owner_close(&x->o);
  world_close(&x->o.w);
  snapshot_free(&x->s);
  mem_free(x);
  return 0;
}

static void serve(struct fixture *x, const char *text, size_t max_message) {
  x->s = says(str_of(text), "");
  struct link_options opt = link_options(&x->o);
  opt.max_message = max_message;
  struct upstream_spec spec = {.own = &x->s->own};
  struct upstream u = {.spec = &spec};
  x->o.link = upstream_snapshot.open(&u, &opt, &owner_events, &x->o);
  link_open(x->o.link);
  assert_false(link_ready(x->o.link));  // never before it is told so
  wait_ready(&x->o);
}

// Asks, and is answered with exactly this, from the loop.
static void answers(struct fixture *x, const char *method, const char *params, const char *want) {
  struct ask a;
  char line[4096];
  ask_send(&a, &x->o, 'a', str_of(method), str_of(params));
  assert_int_equal(a.done, 0);
  snprintf(line, sizeof line, "a got %s\n", want);
  happens(&x->o, line);
}

static void it_says_what_it_has_and_no_more(void **state) {
  struct fixture *x = *state;
  serve(x, CATALOG, MAX_MESSAGE);
  assert_string_equal(link_revision(x->o.link)->name, "2025-11-25");
  assert_true(
      str_eq(json_span(link_server_capabilities(x->o.link)), STR("{\"tools\":{},\"resources\":{},\"prompts\":{}}")));
  assert_true(str_eq(link_instructions(x->o.link), STR("be kind")));
  answers(x, "ping", "", "{}");
  answers(x, "prompts/list", "", "{\"prompts\":[{\"name\":\"ask\"}]}");
  answers(x, "resources/templates/list", "{}", "{\"resourceTemplates\":[{\"uriTemplate\":\"a://t/{x}\"}]}");
  answers(x, "tools/list", "{\"cursor\":\"3\"}", "{\"code\":-32602,\"message\":\"Invalid cursor\"}");
  answers(x, "completion/complete", "{}", "{\"code\":-32601,\"message\":\"Method not found\"}");
  answers(x, "logging/setLevel", "{}", "{\"code\":-32601,\"message\":\"Method not found\"}");
  answers(x, "resources/subscribe", "{\"uri\":\"a://listed\"}", "{\"code\":-32601,\"message\":\"Method not found\"}");
}

static void a_tool_is_not_called_and_the_answer_says_so(void **state) {
  struct fixture *x = *state;
  serve(x, CATALOG, MAX_MESSAGE);
  answers(x, "tools/call", "{\"name\":\"plain\",\"arguments\":{\"n\":1.0,\"s\":\"\\\"\"}}",
          "{\"content\":[{\"type\":\"text\",\"text\":\"The tool plain is listed in a static catalog, and nothing "
          "was called. Arguments: {\\\"n\\\":1.0,\\\"s\\\":\\\"\\\\\\\"\\\"}\"}],\"isError\":false}");
  // What it must keep to, and nothing invented would.
  answers(x, "tools/call", "{\"name\":\"formal\"}",
          "{\"content\":[{\"type\":\"text\",\"text\":\"The tool formal is listed in a static catalog, and nothing was "
          "called.\"}],\"isError\":true}");
  answers(x, "tools/call", "{\"name\":\"canned\"}", "{\"content\":[]}");
  answers(x, "tools/call", "{\"name\":\"other\"}", "{\"code\":-32602,\"message\":\"Unknown tool: other\"}");
  answers(x, "tools/call", "{\"name\":5}", "{\"code\":-32602,\"message\":\"Invalid params\"}");
  answers(x, "tools/call", "", "{\"code\":-32602,\"message\":\"Invalid params\"}");
}

static void resources_and_prompts_are_answered_likewise(void **state) {
  struct fixture *x = *state;
  serve(x, CATALOG, MAX_MESSAGE);
  answers(x, "resources/read", "{\"uri\":\"a://text\"}",
          "{\"contents\":[{\"uri\":\"a://text\",\"mimeType\":\"text/markdown\",\"text\":\"# \\u0041\"}]}");
  answers(x, "resources/read", "{\"uri\":\"a://listed\"}",
          "{\"contents\":[{\"uri\":\"a://listed\",\"mimeType\":\"text/plain\",\"text\":\"The resource a://listed is "
          "listed in a static catalog, and nothing was called.\"}]}");
  answers(x, "resources/read", "{\"uri\":\"a://t/1\"}", "{\"contents\":[1.0]}");
  answers(
      x, "resources/read", "{\"uri\":\"a://t/2\"}",
      "{\"contents\":[{\"uri\":\"a://t/2\",\"mimeType\":\"text/plain\",\"text\":\"The resource a://t/2 is listed in a "
      "static catalog, and nothing was called.\"}]}");
  answers(x, "resources/read", "{\"uri\":\"a://u\"}",
          "{\"code\":-32002,\"message\":\"Resource not found\",\"data\":{\"uri\":\"a://u\"}}");
  answers(x, "prompts/get", "{\"name\":\"ask\"}",
          "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"The prompt ask is listed in "
          "a static catalog, and nothing was called.\"}}]}");
  answers(x, "prompts/get", "{\"name\":\"tell\"}", "{\"code\":-32602,\"message\":\"Unknown prompt: tell\"}");
}

static void only_the_beginning_of_long_arguments_is_repeated(void **state) {
  struct fixture *x = *state;
  serve(x, CATALOG, MAX_MESSAGE);
  struct buf params;
  struct ask a;
  buf_init(&params, 1 << 20);
  buf_str(&params, STR("{\"name\":\"plain\",\"arguments\":\""));
  for (int i = 0; i < 5000; i++) buf_str(&params, STR("\xc3\xa9"));  // two bytes each
  buf_str(&params, STR("\"}"));
  ask_send(&a, &x->o, 'a', STR("tools/call"), buf_view(&params));
  buf_done(&params);
  for (uint64_t until = real_ms() + DEADLINE_MS; !a.done;) turn(&x->o.w, -1, until);
  str heard = buf_view(&x->o.heard);
  assert_true(heard.n < 2400);
  assert_non_null(memmem(heard.p, heard.n, "\xc3\xa9\xe2\x80\xa6\"", 6));  // whole characters, and a sign
}

static void a_list_that_is_larger_than_a_message_comes_in_pages(void **state) {
  struct fixture *x = *state;
  char text[8192] = "[";
  size_t n = 1;
  for (int i = 0; i < 60; i++) n += (size_t)snprintf(text + n, sizeof text - n, "{\"name\":\"tool number %02d\"},", i);
  snprintf(text + n, sizeof text - n, "{\"name\":\"big\",\"description\":\"%0700d\"},{\"name\":\"last\"}]", 0);
  serve(x, text, 1024);
  struct ask a;
  char params[64] = "";
  size_t tools = 0, pages = 0;
  for (bool more = true; more; pages++) {
    ask_send(&a, &x->o, 'a', STR("tools/list"), str_of(params));
    for (uint64_t until = real_ms() + DEADLINE_MS; !a.done;) turn(&x->o.w, -1, until);
    assert_true(x->o.heard.n <= 1024);
    buf_char(&x->o.heard, 0);
    for (const char *p = x->o.heard.p; (p = strstr(p, "\"name\":")); p++) tools++;
    const char *next = strstr(x->o.heard.p, "\"nextCursor\":\"");
    if (next) snprintf(params, sizeof params, "{\"cursor\":\"%d\"}", atoi(next + 14));
    more = next;
    if (!more) assert_non_null(strstr(x->o.heard.p, "last"));
    buf_reset(&x->o.heard);
  }
  assert_int_equal(tools, 61);  // all but the one that no message can carry
  assert_true(pages > 1);
}

static void an_answer_that_is_larger_than_a_message_is_an_error(void **state) {
  struct fixture *x = *state;
  char text[4096];
  snprintf(text, sizeof text,
           "{\"tools\":[{\"name\":\"a\"}],\"replies\":{\"tools\":{\"a\":{\"content\":\"%02000d\"}}}}", 0);
  serve(x, text, 1024);
  answers(x, "tools/call", "{\"name\":\"a\"}",
          "{\"code\":-32603,\"message\":\"the reply in the catalog file is larger than limits.message\"}");
}

static void requests_can_be_cancelled_and_the_link_freed_at_any_time(void **state) {
  struct fixture *x = *state;
  struct ask a, b, c;
  serve(x, CATALOG, MAX_MESSAGE);
  ask_send(&a, &x->o, 'a', STR("ping"), STR_NONE);
  ask_send(&b, &x->o, 'b', STR("ping"), STR_NONE);
  ask_send(&c, &x->o, 'c', STR("ping"), STR_NONE);
  link_call_cancel(&a.call, STR("no longer needed"));
  link_notify(x->o.link, STR("notifications/roots/list_changed"), STR_NONE);
  b.free_link = true;
  happens(&x->o, "b got {}\nc failed SHUTTING_DOWN\n");
  assert_int_equal(a.done, 0);
}

static void it_waits_while_nobody_reads(void **state) {
  struct fixture *x = *state;
  struct ask a;
  serve(x, CATALOG, MAX_MESSAGE);
  link_flow(x->o.link, false);
  ask_send(&a, &x->o, 'a', STR("ping"), STR_NONE);
  some_turns(&x->o.w);
  assert_int_equal(a.done, 0);
  link_flow(x->o.link, true);
  happens(&x->o, "a got {}\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_list_is_a_list_of_tools),
      cmocka_unit_test(an_object_has_lists_and_whatever_else_is_known_of_the_server),
      cmocka_unit_test(a_file_that_is_no_catalog_is_refused_at_the_place_that_is_wrong),
      cmocka_unit_test(entries_that_cannot_be_used_are_left_out),
      cmocka_unit_test(hostile_files_do_no_harm),
      TEST(it_says_what_it_has_and_no_more),
      TEST(a_tool_is_not_called_and_the_answer_says_so),
      TEST(resources_and_prompts_are_answered_likewise),
      TEST(only_the_beginning_of_long_arguments_is_repeated),
      TEST(a_list_that_is_larger_than_a_message_comes_in_pages),
      TEST(an_answer_that_is_larger_than_a_message_is_an_error),
      TEST(requests_can_be_cancelled_and_the_link_freed_at_any_time),
      TEST(it_waits_while_nobody_reads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
