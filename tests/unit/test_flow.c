// SPDX-License-Identifier: Apache-2.0
// The flow guard: which calls and views it refuses, what belongs to the same run, and what survives.
#include "governed_world.h"

#include "call/controls/flows.h"

// Server "data" has an adapter, server "net" has none.
#define CAPABILITY(name, more) "{'name':'" name "','class':'observe','approval_mode':'read_only'" more "}"
#define PRIVATE ",'flow':['reads_private']"
#define CAPABILITIES CAPABILITY("mail", PRIVATE) "," CAPABILITY("notes", PRIVATE) "," CAPABILITY("time", "")
#define ADAPTERS "'adapters':[{'adapter_id':'adp','type':'MCP','server':'data','capabilities':[" CAPABILITIES "]}]"
#define PERMIT(name) "{'permission_id':'p_" name "','adapter_id':'adp','capability':'" name "','allow':true}"
#define PERMISSIONS "'permissions':[" PERMIT("mail") "," PERMIT("notes") "," PERMIT("time") "]"
#define MARKS "{'tools':['net:fetch*'],'flow':['untrusted_input']},{'tools':['net:post'],'flow':['sends_out']}"
#define CONTEXT "'context':{'unlisted_servers':'allow','claims':{'run_id':'run','tenant':'org'}}"
#define FILE_WITH(flow) ADAPTERS "," PERMISSIONS "," CONTEXT ",'flow':{" flow "'marks':[" MARKS "]}"

static void add_tools(struct server *s, const char *const *names) {
  for (; *names; names++)
    has_tool(s, arena_printf(&s->world->arena,
                             "{'name':'%s','description':'Do it.','inputSchema':{'type':'object'},"
                             "'annotations':{'readOnlyHint':true}}",
                             *names)
                    .p);
}

struct servers {
  struct server *data, *net;
};

static struct servers two_servers(struct world *w) {
  static const char *const data[] = {"mail", "notes", "time", NULL};
  static const char *const net[] = {"fetch", "fetch_all", "post", NULL};
  struct servers s = {serves(w, "data", NULL), serves(w, "net", NULL)};
  add_tools(s.data, data);
  add_tools(s.net, net);
  return s;
}

static struct servers guarded(struct world *w, const char *members) {
  struct servers s = two_servers(w);
  governed_by(w, members);
  return s;
}

static struct agent *arrives_with(struct world *w, const char *name, const char *claims) {
  return enters(w,
                (struct client_identity){
                    .mode = MODE_GATEWAY, .name = str_of(name), .agent = str_of(name), .claims = quoted(w, claims)},
                "{}");
}

static void the_call_that_joins_all_three_marks_is_refused(void **state) {
  struct world *w = *state;
  struct servers s = guarded(w, FILE_WITH(""));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  expect_text(calls(ann, "data:mail", "{}"), "ok");
  expect_text(calls(ann, "net:fetch", "{}"), "ok");
  expect_text(calls(ann, "net:fetch", "{}"), "ok");
  const struct json *m = calls(ann, "net:post", "{}");
  expect_fault(m, "FLOW_DENIED");
  expect_part(m, "\\\"rule\\\":\\\"governance.flow.marks[1]\\\"");
  expect_part(m, "\\\"marks\\\":[\\\"sends_out\\\"]");
  expect_part(m, "{\\\"marks\\\":[\\\"reads_private\\\"],\\\"server\\\":\\\"data\\\",\\\"tool\\\":\\\"mail\\\","
                 "\\\"decision_id\\\":\\\"pol_");
  expect_part(m, "{\\\"marks\\\":[\\\"untrusted_input\\\"],\\\"server\\\":\\\"net\\\",\\\"tool\\\":\\\"fetch\\\"}]");
  expect_called(s.net, "fetch {}\nfetch {}\n");
}

static void every_order_of_the_marks_is_refused_at_the_third(void **state) {
  static const char *const orders[][3] = {
      {"data:mail", "net:post", "net:fetch"},
      {"net:post", "net:fetch", "data:mail"},
      {"net:fetch", "net:post", "data:notes"},
      {"net:post", "data:mail", "net:fetch"},
  };
  struct world *w = *state;
  guarded(w, FILE_WITH(""));
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
    for (size_t k = 0; k < 2; k++) expect_text(calls(ann, orders[i][k], "{}"), "ok");
    expect_fault(calls(ann, orders[i][2], "{}"), "FLOW_DENIED");
    expect_text(calls(ann, orders[i][0], "{}"), "ok");  // a refused call gives no mark
    expect_text(calls(ann, "data:time", "{}"), "ok");
  }
}

static void a_refusal_of_a_capability_names_its_place_in_the_file(void **state) {
  struct world *w = *state;
  guarded(w, FILE_WITH(""));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  calls(ann, "net:fetch", "{}");
  calls(ann, "net:post", "{}");
  const struct json *m = calls(ann, "data:notes", "{}");
  expect_fault(m, "FLOW_DENIED");
  expect_part(m, "\\\"pointer\\\":\\\"/adapters/0/capabilities/1/flow\\\"");
  expect_part(m, "\\\"decision_id\\\":\\\"pol_");
}

static void of_two_calls_at_the_same_time_only_the_first_passes(void **state) {
  struct world *w = *state;
  struct servers s = guarded(w, FILE_WITH(""));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  calls(ann, "net:fetch", "{}");
  holds(s.data);
  uint64_t first = begins(ann, "data:mail", "{}");
  turn(w);
  assert_false(is_answered(ann, first));
  expect_fault(calls(ann, "net:post", "{}"), "FLOW_DENIED");
  releases(s.data, "a letter");
  expect_text(hears(ann, first), "a letter");
  expect_called(s.net, "fetch {}\n");
}

static void sessions_without_a_run_do_not_share_marks(void **state) {
  struct world *w = *state;
  guarded(w, FILE_WITH(""));
  struct agent *one = arrives_as(w, MODE_GATEWAY, "ann"), *other = arrives_as(w, MODE_GATEWAY, "ann");
  calls(one, "data:mail", "{}");
  calls(one, "net:fetch", "{}");
  expect_text(calls(other, "net:post", "{}"), "ok");
}

static void with_scope_agent_the_sessions_of_an_agent_share_marks(void **state) {
  struct world *w = *state;
  guarded(w, FILE_WITH("'scope':'agent',"));
  struct agent *one = arrives_as(w, MODE_GATEWAY, "ann"), *bob = arrives_as(w, MODE_GATEWAY, "bob");
  calls(one, "data:mail", "{}");
  leaves(one);
  struct agent *other = arrives_as(w, MODE_GATEWAY, "ann");
  calls(other, "net:fetch", "{}");
  expect_fault(calls(other, "net:post", "{}"), "FLOW_DENIED");
  expect_text(calls(bob, "net:post", "{}"), "ok");
}

static void sessions_with_the_same_run_of_a_token_share_marks(void **state) {
  struct world *w = *state;
  guarded(w, FILE_WITH(""));
  struct agent *ann = arrives_with(w, "ann", "{'sub':'ann','run':'r1','org':'acme'}");
  struct agent *bob = arrives_with(w, "bob", "{'sub':'bob','run':'r1','org':'acme'}");
  struct agent *other = arrives_with(w, "bob", "{'sub':'bob','run':'r2','org':'acme'}");
  struct agent *foreign = arrives_with(w, "eve", "{'sub':'eve','run':'r1','org':'evil'}");
  calls(ann, "data:mail", "{}");
  leaves(ann);
  calls(bob, "net:fetch", "{}");
  expect_part(calls(bob, "net:post", "{}"), "\\\"tool\\\":\\\"mail\\\"");
  expect_text(calls(other, "net:post", "{}"), "ok");
  calls(foreign, "net:fetch", "{}");
  expect_text(calls(foreign, "net:post", "{}"), "ok");
}

static void a_run_that_requests_name_counts_in_addition(void **state) {
  struct world *w = *state;
  guarded(w, FILE_WITH(""));
  struct agent *one = arrives_as(w, MODE_DIRECT, "ann"), *other = arrives_as(w, MODE_DIRECT, "ann");
  static const char run[] = "'_meta':{'toolgate/run':{'id':'r1'}}", another[] = "'_meta':{'toolgate/run':{'id':'r2'}}";
  expect_text(calls_with(one, "data:mail", "{}", run), "ok");
  expect_text(calls_with(other, "net:fetch", "{}", run), "ok");
  expect_fault(calls_with(other, "net:post", "{}", run), "FLOW_DENIED");
  expect_text(calls_with(other, "net:post", "{}", another), "ok");  // this session has not read private data
  expect_fault(calls_with(one, "net:fetch", "{}", another), "FLOW_DENIED");
  // Another name does not drop the marks of the session.
  expect_text(calls_with(one, "net:fetch", "{}", "'_meta':{'toolgate/run':{'id':'r3'}}"), "ok");
  expect_fault(calls_with(one, "net:post", "{}", "'_meta':{'toolgate/run':{'id':'r4'}}"), "FLOW_DENIED");
}

static void a_dry_run_is_refused_too_but_gives_no_mark(void **state) {
  struct world *w = *state;
  guarded(w, FILE_WITH(""));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  calls(ann, "net:fetch", "{}");
  expect_part(calls_with(ann, "data:mail", "{}", "'dry_run':true"), "dry_run");
  expect_text(calls(ann, "net:post", "{}"), "ok");
  expect_fault(calls_with(ann, "data:mail", "{}", "'dry_run':true"), "FLOW_DENIED");
}

static void mode_warn_lets_the_call_pass(void **state) {
  struct world *w = *state;
  struct servers s = guarded(w, FILE_WITH("'mode':'warn',"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  calls(ann, "data:mail", "{}");
  calls(ann, "net:fetch", "{}");
  expect_text(calls(ann, "net:post", "{}"), "ok");
  expect_called(s.net, "fetch {}\npost {}\n");
}

static void marks_survive_a_reload_of_the_file(void **state) {
  struct world *w = *state;
  guarded(w, FILE_WITH("'mode':'warn',"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  calls(ann, "data:mail", "{}");
  calls(ann, "net:fetch", "{}");
  assert_true(is_governed_anew_by(w, FILE_WITH("")));
  expect_fault(calls(ann, "net:post", "{}"), "FLOW_DENIED");
  assert_true(is_governed_anew_by(w, FILE_WITH("'mode':'off',")));
  expect_text(calls(ann, "net:post", "{}"), "ok");
}

static void a_result_from_the_cache_gives_the_marks_of_its_tool(void **state) {
  struct world *w = *state;
  given(w, "cache: {read_only: true, ttl: 60}\n");
  struct servers s = guarded(w, FILE_WITH(""));
  struct agent *one = arrives_as(w, MODE_DIRECT, "ann"), *other = arrives_as(w, MODE_DIRECT, "ann");
  calls(one, "data:mail", "{}");
  expect_part(calls(other, "data:mail", "{}"), "'cache_hit':true");
  calls(other, "net:fetch", "{}");
  expect_fault(calls(other, "net:post", "{}"), "FLOW_DENIED");
  expect_called(s.data, "mail {}\n");
}

// The view of an artifact of `data:mail`, as arguments of tool_view.
static const char *view_of(struct world *w, const struct json *m) {
  str text = text_of(w, m);
  const char *at = memmem(text.p, text.n, "text:data:", 10);
  if (!at) fail_msg("no handle: %.*s", STR_ARG(text));
  size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789:#");
  return arena_printf(&w->arena, "{'handle':'%.*s','selector':{'type':'head'}}", (int)n, at).p;
}

static void answer_at_length(struct server *s) {
  struct buf b;
  buf_init(&b, 1 << 20);
  for (int i = 0; i < 500; i++) buf_printf(&b, "line %d of the letter\n", i);
  answers(s, arena_cstr(&s->world->arena, buf_view(&b)));
  buf_done(&b);
}

static void a_view_gives_the_marks_of_the_tool_that_made_the_artifact(void **state) {
  struct world *w = *state;
  given(w, "result: {budget: 200}\n");
  struct servers s = guarded(w, FILE_WITH(""));
  struct agent *one = arrives_as(w, MODE_GATEWAY, "ann"), *other = arrives_as(w, MODE_GATEWAY, "ann");
  answer_at_length(s.data);
  const char *view = view_of(w, calls(one, "data:mail", "{}"));
  expect_text(uses(other, "tool_view", view), "line 0 of the letter");
  calls(other, "net:fetch", "{}");
  expect_fault(calls(other, "net:post", "{}"), "FLOW_DENIED");
}

static void a_view_that_would_join_all_three_marks_is_refused(void **state) {
  struct world *w = *state;
  given(w, "result: {budget: 200}\n");
  struct servers s = guarded(w, FILE_WITH(""));
  struct agent *one = arrives_as(w, MODE_GATEWAY, "ann"), *other = arrives_as(w, MODE_GATEWAY, "ann");
  answer_at_length(s.data);
  const char *view = view_of(w, calls(one, "data:mail", "{}"));
  calls(other, "net:fetch", "{}");
  calls(other, "net:post", "{}");
  const struct json *m = uses(other, "tool_view", view);
  expect_fault(m, "FLOW_DENIED");
  expect_no_part(m, "of the letter");
  expect_part(m, "\\\"pointer\\\":\\\"/adapters/0/capabilities/0/flow\\\"");
}

static void resources_of_a_marked_server_give_its_marks(void **state) {
  struct world *w = *state;
  struct servers s = two_servers(w);
  has_resource(s.net, "{'uri':'net://page','name':'page'}");
  governed_by(w,
              ADAPTERS "," PERMISSIONS "," CONTEXT ",'flow':{'marks':[{'servers':['net'],'flow':['untrusted_input']},"
                       "{'tools':['*:post'],'flow':['sends_out']}]}");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  calls(ann, "data:mail", "{}");
  asks(ann, "resources/read", "{'uri':'net://page'}");
  expect_fault(calls(ann, "net:post", "{}"), "FLOW_DENIED");
}

// ---- evasions

static void every_mode_gives_marks_to_the_run(void **state) {
  static const enum surface_mode modes[] = {MODE_GATEWAY, MODE_TRANSPARENT, MODE_DIRECT, MODE_SERVERS};
  struct world *w = *state;
  guarded(w, FILE_WITH("'scope':'agent',"));
  for (size_t i = 0; i < 4; i++) {
    char name[] = {'a', (char)('0' + i), 0};
    struct agent *one = arrives_as(w, modes[i], name), *two = arrives_as(w, modes[(i + 1) % 4], name);
    calls(one, "data:mail", "{}");
    calls(two, "net:fetch", "{}");
    expect_fault(calls(one, "net:post", "{}"), "FLOW_DENIED");
    expect_fault(calls(two, "net:post", "{}"), "FLOW_DENIED");
  }
}

static void an_agent_cannot_begin_another_run_under_the_name_of_a_descendant(void **state) {
  struct world *w = *state;
  guarded(w, FILE_WITH("'scope':'agent',"));
  struct agent *ann = arrives_as(w, MODE_SERVERS, "ann");
  calls_with(ann, "data:mail", "{}", "'agent_id':'ann.one'");
  calls_with(ann, "net:fetch", "{}", "'agent_id':'ann.two'");
  expect_fault(calls_with(ann, "net:post", "{}", "'agent_id':'ann.three'"), "FLOW_DENIED");
  expect_fault(calls(ann, "net:post", "{}"), "FLOW_DENIED");
}

#define MARKED_SERVER \
  ADAPTERS "," PERMISSIONS "," CONTEXT ",'flow':{'marks':[{'servers':['net'],'flow':['untrusted_input']}," \
           "{'tools':['*:post'],'flow':['sends_out']}]}"

static void every_request_to_a_marked_server_gives_its_marks(void **state) {
  static const char *const requests[][2] = {
      {"resources/read", "{'uri':'net://page'}"},
      {"resources/subscribe", "{'uri':'net://page'}"},
      {"prompts/get", "{'name':'sum'}"},
      {"completion/complete", "{'ref':{'type':'ref/prompt','name':'sum'},'argument':{'name':'x','value':'y'}}"},
      {"completion/complete", "{'ref':{'type':'ref/resource','uri':'net://page'},'argument':{'name':'x','value':'y'}}"},
  };
  struct world *w = *state;
  struct servers s = two_servers(w);
  has_resource(s.net, "{'uri':'net://page','name':'page'}");
  has_prompt(s.net, "{'name':'sum','arguments':[{'name':'x'}]}");
  governed_by(w, MARKED_SERVER);
  for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
    struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
    calls(ann, "data:mail", "{}");
    asks(ann, requests[i][0], requests[i][1]);
    const struct json *m = calls(ann, "net:post", "{}");
    if (!str_eq(fault_of(w, m), STR("FLOW_DENIED"))) fail_msg("%s: %.*s", requests[i][0], STR_ARG(raw(m)));
    leaves(ann);
  }
}

static void requests_to_a_marked_server_are_refused_at_the_third_mark(void **state) {
  struct world *w = *state;
  struct servers s = two_servers(w);
  has_resource(s.net, "{'uri':'net://page','name':'page'}");
  has_prompt(s.net, "{'name':'sum'}");
  governed_by(w, ADAPTERS "," PERMISSIONS "," CONTEXT ",'flow':{'marks':[{'servers':['net'],'flow':['sends_out']},"
                          "{'tools':['data:notes'],'flow':['untrusted_input']}]}");
  struct agent *direct = arrives_as(w, MODE_DIRECT, "ann"), *gateway = arrives_as(w, MODE_GATEWAY, "ann");
  calls(direct, "data:notes", "{}");
  calls(gateway, "data:notes", "{}");
  expect_fault(asks(direct, "prompts/get", "{'name':'sum'}"), "FLOW_DENIED");
  expect_fault(asks(direct, "resources/read", "{'uri':'net://page'}"), "FLOW_DENIED");
  expect_fault(asks(direct, "completion/complete",
                    "{'ref':{'type':'ref/prompt','name':'sum'},'argument':{'name':'x','value':'secret'}}"),
               "FLOW_DENIED");
  expect_fault(uses(gateway, "prompt_get", "{'prompt_id':'prompt::net:sum'}"), "FLOW_DENIED");
  expect_called(s.net, "");
}

static void an_artifact_of_a_removed_server_counts_as_private_and_untrusted(void **state) {
  struct world *w = *state;
  given(w, "result: {budget: 200}\n");
  struct servers s = guarded(w, FILE_WITH(""));
  struct agent *one = arrives_as(w, MODE_GATEWAY, "ann"), *other = arrives_as(w, MODE_GATEWAY, "ann");
  answer_at_length(s.data);
  const char *view = view_of(w, calls(one, "data:mail", "{}"));
  s.data->name = STR("letters");  // the configuration gives the server another name
  write_servers(w);
  assert_true(is_governed_anew_by(w, CONTEXT ",'flow':{'marks':[" MARKS
                                             ",{'tools':['letters:mail'],'flow':['reads_private']}]}"));
  pass(w, 1000);
  expect_text(uses(other, "tool_view", view), "line 0 of the letter");
  expect_fault(calls(other, "net:post", "{}"), "FLOW_DENIED");
}

static void a_call_whose_marks_cannot_be_stored_is_refused(void **state) {
  struct world *w = *state;
  struct servers s = guarded(w, FILE_WITH("'scope':'agent',"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann"), *bob = arrives_as(w, MODE_GATEWAY, "bob");
  expect_text(calls(ann, "data:mail", "{}"), "ok");
  char id[16];
  for (int i = 0; i < SHARED_MAX; i++) {  // the store is full
    snprintf(id, sizeof id, "%d", i);
    entry_put(w->gateway.store, STR("flow"), str_of(id), STR("x"), UINT64_MAX, NULL);
  }
  expect_fault(calls(bob, "data:mail", "{}"), "FLOW_DENIED");
  expect_text(calls(bob, "data:time", "{}"), "ok");
  expect_text(calls(ann, "data:mail", "{}"), "ok");  // this run is stored
  expect_called(s.data, "mail {}\ntime {}\nmail {}\n");
}

// ---- the memory of runs

static const struct hash_key seed = {1, 2};
enum { KEEP = 80000 };

static struct flow_run *run_of(struct flows *f, struct store *s, const char *principal, const char *run, uint64_t now) {
  struct flow_name name = {str_of(principal), str_of(run), s != NULL};
  struct flow_run *r = NULL;
  assert_int_equal(flows_get(f, s, &name, now, KEEP, &r), FLOW_RUN_FOUND);
  return r;
}

static struct store *memory_store(void) {
  struct store_options opt = {.clock = &clock_system, .rand = &rand_system, .limits = store_default_limits};
  return store_new(&opt);
}

static void ignore(void *ctx) {
}

static void marks_of_a_stored_run_survive_a_restart(void **state) {
  struct store *s = memory_store();
  struct flows *f = flows_new(&seed);
  struct flow_call c = {FLOW_READS_PRIVATE, STR("data"), STR("mail"), STR("pol_1")};
  struct flow_run *r = run_of(f, s, "ann", "r1", 1);
  assert_true(flows_add(f, r, &c, 1, KEEP));
  flows_store(s, r, 1, KEEP, NULL);
  assert_false(flows_add(f, r, &c, 2, KEEP));        // nothing new to store
  assert_true(flows_add(f, r, &c, KEEP / 2, KEEP));  // only that the run is still used
  flows_free(&f);
  f = flows_new(&seed);
  r = run_of(f, s, "ann", "r1", 1);
  assert_int_equal(flow_run_marks(r), FLOW_READS_PRIVATE);
  assert_int_equal(flow_run_count(r), 1);
  assert_true(str_eq(flow_run_call(r, 0).call, STR("pol_1")));
  assert_int_equal(flow_run_marks(run_of(f, s, "bob", "r1", 1)), 0);
  flows_free(&f);
  store_close(&s, ignore, NULL);
}

static void a_stored_run_that_cannot_be_read_may_have_any_marks(void **state) {
  struct store *s = memory_store();
  struct flows *f = flows_new(&seed);
  struct flow_name name = {STR("ann"), STR("r1"), true};
  struct flow_run *r = run_of(f, s, "ann", "r1", 1);
  flows_add(f, r, &(struct flow_call){FLOW_SENDS_OUT, STR("net"), STR("post"), STR_NONE}, 1, KEEP);
  flows_store(s, r, 1, KEEP, NULL);
  flows_free(&f);
  char id[2 * SHA256_SIZE + 1];
  unsigned char hash[SHA256_SIZE];
  hash_sha256(STR("3 ann r1"), hash);
  hash_hex(hash, sizeof hash, id);
  entry_put(s, STR("flow"), str_of(id), STR("{\"calls\":[{\"marks\":[\"unheard\"],\"server\":\"net\"}]}"), KEEP, NULL);
  f = flows_new(&seed);
  assert_int_equal(flows_get(f, s, &name, 1, KEEP, &r), FLOW_RUN_UNREADABLE);
  flows_free(&f);
  store_close(&s, ignore, NULL);
}

static void a_stored_run_is_forgotten_after_its_time_and_a_session_is_not(void **state) {
  struct flows *f = flows_new(&seed);
  struct store *s = memory_store();
  struct flow_call c = {FLOW_SENDS_OUT, STR("net"), STR("post"), STR_NONE};
  flows_add(f, run_of(f, s, "ann", "r1", 1), &c, 1, KEEP);
  flows_add(f, run_of(f, NULL, "ann", "session", 1), &c, 1, KEEP);
  assert_int_equal(flow_run_marks(run_of(f, s, "ann", "r1", KEEP)), FLOW_SENDS_OUT);
  assert_int_equal(flow_run_marks(run_of(f, s, "ann", "r1", KEEP + 1)), 0);
  assert_int_equal(flow_run_marks(run_of(f, NULL, "ann", "session", 9 * KEEP)), FLOW_SENDS_OUT);
  flows_forget(f, STR("ann"), STR("session"));
  assert_int_equal(flow_run_marks(run_of(f, NULL, "ann", "session", 9 * KEEP)), 0);
  flows_free(&f);
  store_close(&s, ignore, NULL);
}

static void a_run_keeps_the_first_calls_of_different_tools(void **state) {
  struct flows *f = flows_new(&seed);
  struct flow_run *r = run_of(f, NULL, "ann", "r", 1);
  char name[16];
  for (int i = 0; i < 20; i++) {
    snprintf(name, sizeof name, "t%d", i / 2);
    flows_add(f, r, &(struct flow_call){FLOW_READS_PRIVATE, STR("s"), str_of(name), STR_NONE}, 1, KEEP);
  }
  assert_int_equal(flow_run_count(r), FLOW_CALLS_PER_MARK);
  assert_true(str_eq(flow_run_call(r, 3).tool, STR("t3")));
  flows_add(f, r, &(struct flow_call){FLOW_READS_PRIVATE | FLOW_SENDS_OUT, STR("s"), STR("t9"), STR_NONE}, 1, KEEP);
  assert_int_equal(flow_run_marks(r), FLOW_READS_PRIVATE | FLOW_SENDS_OUT);
  assert_int_equal(flow_run_call(r, 4).marks, FLOW_SENDS_OUT);
  flows_free(&f);
}

static void a_principal_with_too_many_runs_cannot_begin_another(void **state) {
  struct flows *f = flows_new(&seed);
  struct flow_name name = {.principal = STR("ann")};
  struct flow_run *r;
  char run[16];
  int n = 0;
  for (enum flow_found found = FLOW_RUN_FOUND; found == FLOW_RUN_FOUND; n++) {
    snprintf(run, sizeof run, "%d", n);
    name.run = str_of(run);
    found = flows_get(f, NULL, &name, 1, KEEP, &r);
    if (found == FLOW_RUN_FOUND) continue;
    assert_int_equal(found, FLOW_RUN_NO_ROOM);
    break;
  }
  assert_in_range(n, 1000, 1 << 14);
  run_of(f, NULL, "bob", "1", 1);
  run_of(f, NULL, "ann", "1", 1);
  flows_free(&f);
}

#define TEST(name) IN_A_WORLD(name)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(the_call_that_joins_all_three_marks_is_refused),
      TEST(every_order_of_the_marks_is_refused_at_the_third),
      TEST(a_refusal_of_a_capability_names_its_place_in_the_file),
      TEST(of_two_calls_at_the_same_time_only_the_first_passes),
      TEST(sessions_without_a_run_do_not_share_marks),
      TEST(with_scope_agent_the_sessions_of_an_agent_share_marks),
      TEST(sessions_with_the_same_run_of_a_token_share_marks),
      TEST(a_run_that_requests_name_counts_in_addition),
      TEST(a_dry_run_is_refused_too_but_gives_no_mark),
      TEST(mode_warn_lets_the_call_pass),
      TEST(marks_survive_a_reload_of_the_file),
      TEST(a_result_from_the_cache_gives_the_marks_of_its_tool),
      TEST(a_view_gives_the_marks_of_the_tool_that_made_the_artifact),
      TEST(a_view_that_would_join_all_three_marks_is_refused),
      TEST(resources_of_a_marked_server_give_its_marks),
      TEST(every_mode_gives_marks_to_the_run),
      TEST(an_agent_cannot_begin_another_run_under_the_name_of_a_descendant),
      TEST(every_request_to_a_marked_server_gives_its_marks),
      TEST(requests_to_a_marked_server_are_refused_at_the_third_mark),
      TEST(an_artifact_of_a_removed_server_counts_as_private_and_untrusted),
      TEST(a_call_whose_marks_cannot_be_stored_is_refused),
      cmocka_unit_test(marks_of_a_stored_run_survive_a_restart),
      cmocka_unit_test(a_stored_run_that_cannot_be_read_may_have_any_marks),
      cmocka_unit_test(a_stored_run_is_forgotten_after_its_time_and_a_session_is_not),
      cmocka_unit_test(a_run_keeps_the_first_calls_of_different_tools),
      cmocka_unit_test(a_principal_with_too_many_runs_cannot_begin_another),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
