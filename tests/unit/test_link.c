// SPDX-License-Identifier: Apache-2.0
// mcp/link: what every link does, over a process that is a few lines of shell.
#include "link_world.h"

#include <signal.h>

struct fixture {
  struct owner o;
  struct guard guard;
  struct child_host *host;
};

static int setup(void **state) {
  struct fixture *x = MEM_NEW(struct fixture);
  struct fault f;
  assert_true(guard_start(&x->guard, &f));
  owner_open(&x->o, &(struct http_server_options){.max_connections = 1}, NULL);
  x->host = child_host_new(&x->o.w.loop, &x->guard);
  *state = x;
  return 0;
}

static int teardown(void **state) {
  struct fixture *x = *state;
  owner_close(&x->o);
  child_host_free(&x->host);
  world_close(&x->o.w);
  mem_free(x);
  return 0;
}

static void open_program(struct fixture *x, const char *const *argv) {
  static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
  struct link_options opt = link_options(&x->o);
  struct child_spec spec = {.file = argv[0], .argv = argv, .envp = env};
  x->o.link = link_new_stdio(&opt, x->host, &spec, &owner_events, &x->o);
  assert_false(link_ready(x->o.link));
  link_open(x->o.link);
}

static void open_script(struct fixture *x, const char *script) {
  const char *argv[] = {"sh", "-c", script, NULL};
  open_program(x, argv);
  some_turns(&x->o.w);
}

// A server that takes part in the handshake and then goes on with the rest of the script. SAY is a line; HEAR reads
// one; TELL gives it back as a notification.
#define SAY(json) "printf '%s\\n' '" json "'; "
#define HEAR "read -r l; "
#define TELL "printf '{\"jsonrpc\":\"2.0\",\"method\":\"saw\",\"params\":%s}\\n' \"$l\"; "
#define WELCOME(version) \
  HEAR SAY("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"" version \
           "\",\"capabilities\":{\"tools\":{}}," \
           "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"},\"instructions\":\"be \\u006bind\"}}") HEAR
#define SERVER WELCOME("2025-11-25")
#define REST "cat >/dev/null"

static void open_ready(struct fixture *x, const char *script) {
  open_script(x, script);
  wait_ready(&x->o);
}

// ---- the handshake

static void the_handshake_says_who_we_are_and_learns_who_they_are(void **state) {
  struct fixture *x = *state;
  open_ready(
      x, HEAR TELL SAY("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":"
                       "{\"tools\":{}},\"instructions\":\"be \\u006bind\"}}") HEAR TELL REST);
  happens(&x->o,
          "told saw {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
          "\"2025-11-25\",\"capabilities\":{\"roots\":{}},\"clientInfo\":{\"name\":\"toolgate\",\"title\":\"Toolgate\","
          "\"version\":\"" TOOLGATE_VERSION "\"}}}\n"
          "told saw {\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
  struct link *l = x->o.link;
  assert_string_equal(link_revision(l)->name, "2025-06-18");
  assert_true(str_eq(json_span(link_server_capabilities(l)), STR("{\"tools\":{}}")));
  assert_true(str_eq(link_instructions(l), STR("be kind")));
  advance(&x->o.w, 10 * START_MS);  // what is open stays open
  assert_true(link_ready(l));
}

static void every_revision_that_we_know_is_spoken(void **state) {
  static const char *const scripts[] = {WELCOME("2024-11-05") REST, WELCOME("2025-03-26") REST,
                                        WELCOME("2025-06-18") REST, WELCOME("2025-11-25") REST};
  struct fixture *x = *state;
  for (size_t i = 0; i < 4; i++) {
    x->o.ready = 0;
    open_ready(x, scripts[i]);
    assert_ptr_equal(link_revision(x->o.link), &mcp_revisions[i]);
    link_free(&x->o.link);
  }
}

static void a_handshake_that_fails_closes_the_link_and_says_why(void **state) {
  static const struct {
    const char *script;
    enum fault_code code;
    const char *text;
  } table[] = {
      {WELCOME("2020-01-01") REST, FAULT_PROTOCOL, "speaks MCP revision \"2020-01-01\", which this version"},
      {HEAR SAY("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}") REST, FAULT_PROTOCOL, "without a protocolVersion"},
      {HEAR SAY("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[]}") REST, FAULT_PROTOCOL, "without a protocolVersion"},
      {HEAR SAY("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"go away\"}}") REST,
       FAULT_UPSTREAM_ERROR, "refused initialize: go away"},
      {HEAR SAY("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}") REST, FAULT_UPSTREAM_ERROR, "refused initialize"},
      {"exit 3", FAULT_UPSTREAM_UNAVAILABLE, "exited with status 3"},
      {HEAR "kill -9 $$", FAULT_UPSTREAM_UNAVAILABLE, "was ended by signal 9"},
      {HEAR SAY("no such line") "exit 0", FAULT_UPSTREAM_UNAVAILABLE, "exited with status 0"},
  };
  struct fixture *x = *state;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    x->o.closed = 0;
    open_script(x, table[i].script);
    wait_settled(&x->o);
    assert_int_equal(x->o.closed, 1);
    assert_int_equal(x->o.ready, 0);
    assert_why(&x->o, table[i].code, table[i].text);
    assert_false(x->o.wrong_transport);
  }
}

static void a_handshake_that_takes_too_long_is_given_up(void **state) {
  struct fixture *x = *state;
  open_script(x, HEAR TELL REST);
  wait_for(&x->o.w, &x->o.lines, 1);
  advance(&x->o.w, START_MS - 100);
  assert_int_equal(x->o.closed, 0);
  advance(&x->o.w, 200);
  assert_int_equal(x->o.closed, 1);
  assert_why(&x->o, FAULT_UPSTREAM_TIMEOUT, "did not complete the handshake within 5 s (timeouts.start)");
}

static void a_program_that_cannot_be_started_closes_the_link(void **state) {
  struct fixture *x = *state;
  open_program(x, (const char *[]){"no-such-program-here", NULL});
  wait_closed(&x->o);
  assert_why(&x->o, FAULT_IO, "no such program");
}

// ---- calls

static void calls_get_their_own_replies_in_whatever_order_they_come(void **state) {
  struct fixture *x = *state;
  open_ready(x, SERVER HEAR TELL HEAR TELL SAY("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"n\":1.0}}")
                    SAY("{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":7,\"message\":\"m\"}}") REST);
  struct ask a, b;
  ask_send(&a, &x->o, 'a', STR("tools/call"), STR("{\"name\":\"t\"}"));
  ask_send(&b, &x->o, 'b', STR("ping"), STR_NONE);
  assert_int_equal(a.call.wait.id, 2);
  happens(&x->o, "told saw {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n"
                 "told saw {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}\n"
                 "b got {\"n\":1.0}\na got {\"code\":7,\"message\":\"m\"}\n");
}

static void what_makes_no_sense_is_ignored_and_the_link_lives(void **state) {
  struct fixture *x = *state;
  open_ready(
      x, SERVER HEAR SAY("") SAY("hello, this is a log line") SAY("{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}")
             SAY("{\"jsonrpc\":\"2.0\",\"id\":\"2\",\"result\":{}}") SAY("{\"jsonrpc\":\"2.0\",\"id\":99}") SAY("[]")
                 SAY("[1,[]]") SAY("{\"id\":99,\"result\":{}}") SAY("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},}")
                     SAY("{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"?\"}}")
                         SAY("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"real\":1}}\r") REST);
  struct ask a;
  ask_send(&a, &x->o, 'a', STR("m"), STR_NONE);
  happens(&x->o, "a got {\"real\":1}\n");
  assert_true(link_ready(x->o.link));
}

static void an_answer_that_cannot_be_read_fails_its_call_at_once(void **state) {
  struct fixture *x = *state;
  open_ready(x, SERVER HEAR SAY("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\":01}}")
                    HEAR SAY("{\"result\":{\"a\":01},\"jsonrpc\":\"2.0\",\"id\":3}")
                        HEAR SAY("{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"m\",\"params\":{\"a\":01}}")
                            SAY("{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}") REST);
  struct ask a, b, c;
  ask_send(&a, &x->o, 'a', STR("m"), STR_NONE);
  happens(&x->o, "a failed PROTOCOL\n");
  ask_send(&b, &x->o, 'b', STR("m"), STR_NONE);
  happens(&x->o, "b failed PROTOCOL\n");
  ask_send(&c, &x->o, 'c', STR("m"), STR_NONE);  // a question is no answer
  happens(&x->o, "c got {}\n");
}

static void a_batch_from_the_server_is_taken_apart(void **state) {
  struct fixture *x = *state;
  open_ready(
      x, SERVER HEAR HEAR SAY("[{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":3}, {\"jsonrpc\":\"2.0\",\"method\":\"n\"},"
                              "17,{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":2}]") REST);
  struct ask a, b;
  ask_send(&a, &x->o, 'a', STR("m"), STR_NONE);
  ask_send(&b, &x->o, 'b', STR("m"), STR_NONE);
  happens(&x->o, "b got 3\ntold n\na got 2\n");
}

// Whoever waits for it need not wait until the end of his patience.
static void an_answer_that_is_no_reply_fails_its_call_at_once(void **state) {
  struct fixture *x = *state;
  open_ready(x,
             SERVER HEAR SAY("{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":\"boom\"}") HEAR SAY("{\"id\":3,\"result\":{}}")
                 HEAR SAY("{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{},\"error\":null}")
                     HEAR SAY("{\"jsonrpc\":\"2.0\",\"id\":5}") HEAR SAY("{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":{}}")
                         REST);
  for (int i = 0; i < 4; i++) {
    struct ask a;
    ask_send(&a, &x->o, 'a', STR("m"), STR_NONE);
    happens(&x->o, "a failed UPSTREAM_ERROR\n");
  }
  struct ask b;
  ask_send(&b, &x->o, 'b', STR("m"), STR_NONE);
  happens(&x->o, "b got {}\n");
}

// The call that it answers fails, where its beginning says which one that is; others and the link live.
static void a_line_that_is_too_long_is_skipped(void **state) {
  struct fixture *x = *state;
  open_ready(x, SERVER HEAR HEAR "printf '{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"'; head -c 70000 /dev/zero | "
                                 "tr '\\0' 'x'; printf '\"}\\n'; " SAY("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}")
                                     REST);
  struct ask a, b;
  ask_send(&a, &x->o, 'a', STR("m"), STR_NONE);
  ask_send(&b, &x->o, 'b', STR("m"), STR_NONE);
  happens(&x->o, "a failed UPSTREAM_ERROR\nb got {}\n");
  assert_true(link_ready(x->o.link));
}

static void progress_reaches_its_call_and_renews_its_time(void **state) {
  struct fixture *x = *state;
  open_ready(x, SERVER HEAR
             "while read -r l; do " SAY("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
                                        "{\"progressToken\":2,\"progress\":1}}") "done");
  struct ask a;
  ask_send(&a, &x->o, 'a', STR("m"), STR_NONE);
  for (int i = 1; i <= 3; i++) {
    advance(&x->o.w, 1900);
    link_notify(x->o.link, STR("go"), STR_NONE);
    wait_for(&x->o.w, &a.progress, i);
  }
  assert_int_equal(a.done, 0);
  advance(&x->o.w, 2100);
  // The server answers the cancellation in the same way, and progress of nobody is a notification like any other.
  happens(&x->o, "a failed UPSTREAM_TIMEOUT\n"
                 "told notifications/progress {\"progressToken\":2,\"progress\":1}\n");
}

static void a_call_that_takes_too_long_is_cancelled_at_the_server(void **state) {
  struct fixture *x = *state;
  open_ready(x, SERVER HEAR HEAR TELL SAY("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}")
                    HEAR SAY("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}") REST);
  struct ask a;
  ask_send(&a, &x->o, 'a', STR("m"), STR_NONE);
  advance(&x->o.w, 2100);
  happens(&x->o, "a failed UPSTREAM_TIMEOUT\n"
                 "told saw {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2,"
                 "\"reason\":\"timed out\"}}\n");
  ask_send(&a, &x->o, 'b', STR("m"), STR_NONE);  // the late answer is nobody's
  happens(&x->o, "b got {}\n");
}

static void a_call_that_was_given_up_is_cancelled_and_never_heard_of_again(void **state) {
  struct fixture *x = *state;
  open_ready(x, SERVER HEAR HEAR TELL SAY("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}")
                    SAY("{\"jsonrpc\":\"2.0\",\"method\":\"end\"}") REST);
  struct ask a;
  ask_send(&a, &x->o, 'a', STR("m"), STR_NONE);
  link_call_cancel(&a.call, STR("the \"user\""));
  assert_null(a.call.link);
  link_call_cancel(&a.call, STR("again"));
  happens(&x->o,
          "told saw {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2,\"reason\":"
          "\"the \\\"user\\\"\"}}\ntold end\n");
  assert_int_equal(a.done, 0);
}

static void when_the_server_dies_its_calls_fail_after_the_link_is_closed(void **state) {
  struct fixture *x = *state;
  open_ready(x, SERVER HEAR HEAR SAY("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}") "exit 9");
  struct ask a, b;
  ask_send(&a, &x->o, 'a', STR("m"), STR_NONE);
  ask_send(&b, &x->o, 'b', STR("m"), STR_NONE);
  happens(&x->o, "b got {}\nclosed\na failed UPSTREAM_UNAVAILABLE\n");
  assert_why(&x->o, FAULT_UPSTREAM_UNAVAILABLE, "exited with status 9");
  assert_string_equal(a.fault.message, x->o.why.message);
}

static void a_server_that_only_closes_its_output_is_as_good_as_dead(void **state) {
  struct fixture *x = *state;
  open_ready(x, SERVER SAY("{\"jsonrpc\":\"2.0\",\"method\":\"bye\"}") "exec >&-; " REST);
  happens(&x->o, "told bye\n");
  for (uint64_t until = real_ms() + DEADLINE_MS; !x->o.closed;) {
    advance(&x->o.w, 50);
    turn(&x->o.w, -1, until);
  }
  assert_why(&x->o, FAULT_UPSTREAM_UNAVAILABLE, "closed its output");
}

// ---- the server asks and tells

static void the_server_may_ask_and_is_answered(void **state) {
  struct fixture *x = *state;
  open_ready(x, SERVER SAY("{\"jsonrpc\":\"2.0\",\"id\":\"q\\u0031\",\"method\":\"roots/list\"}")
                    HEAR TELL SAY("{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"ping\",\"params\":{}}") HEAR TELL REST);
  happens(&x->o, "asked roots/list\n"
                 "told saw {\"jsonrpc\":\"2.0\",\"id\":\"q\\u0031\",\"result\":{\"ok\":true}}\n"
                 "told saw {\"jsonrpc\":\"2.0\",\"id\":1.0,\"result\":{}}\n");
}

static void a_question_may_be_refused(void **state) {
  struct fixture *x = *state;
  x->o.refuse = true;
  open_ready(x, SERVER SAY("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"x\"}") HEAR TELL REST);
  happens(&x->o,
          "asked x\ntold saw {\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32601,\"message\":\"not here\"}}\n");
}

static void a_message_with_line_breaks_is_sent_as_one_line(void **state) {
  struct fixture *x = *state;
  open_ready(x, SERVER HEAR TELL REST);
  link_send_raw(x->o.link, STR("{\"jsonrpc\":\r\n \"2.0\",\n\"method\":\"x\\n\"}"));
  happens(&x->o, "told saw {\"jsonrpc\":   \"2.0\", \"method\":\"x\\n\"}\n");
}

static void a_link_that_is_held_up_goes_on_where_it_was(void **state) {
  struct fixture *x = *state;
  open_ready(x, SERVER HEAR TELL HEAR TELL REST);
  link_flow(x->o.link, false);
  link_send_raw(x->o.link, STR("{\"n\":1}"));
  link_send_raw(x->o.link, STR("{\"n\":2}"));
  for (int i = 0; i < 10; i++) {
    some_turns(&x->o.w);
    poll(NULL, 0, 2);
  }
  assert_int_equal(x->o.lines, 0);
  link_flow(x->o.link, true);
  happens(&x->o, "told saw {\"n\":1}\ntold saw {\"n\":2}\n");
}

// ---- servers of either era

#define FOUND(id) \
  SAY("{\"jsonrpc\":\"2.0\",\"id\":" id \
      ",\"result\":{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}}," \
      "\"instructions\":\"be kind\"}}")
#define UNKNOWN_METHOD SAY("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no such method\"}}")
#define HELLO_2 \
  SAY("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}}")
#define INITIALIZED "told saw {\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"

static void a_server_that_answers_discover_is_ready_at_once(void **state) {
  struct fixture *x = *state;
  x->o.era = LINK_ERA_UNKNOWN;
  open_ready(x, HEAR TELL FOUND("1") REST);
  happens(&x->o, "told saw {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{\"_meta\":{"
                 "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientInfo\":{"
                 "\"name\":\"toolgate\",\"title\":\"Toolgate\",\"version\":\"" TOOLGATE_VERSION "\"},"
                 "\"io.modelcontextprotocol/clientCapabilities\":{\"roots\":{}}}}}\n");
  assert_true(link_revision(x->o.link)->stateless);
  assert_true(str_eq(json_span(link_server_capabilities(x->o.link)), STR("{\"tools\":{}}")));
  assert_true(str_eq(link_instructions(x->o.link), STR("be kind")));
  assert_true(str_starts(link_meta(x->o.link), STR("{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"")));
  advance(&x->o.w, 10 * START_MS);
  assert_true(link_ready(x->o.link));
}

static void a_server_that_refuses_discover_gets_the_handshake(void **state) {
  static const char *const scripts[] = {
      HEAR UNKNOWN_METHOD HEAR HELLO_2 HEAR TELL REST,
      HEAR SAY("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}") HEAR HELLO_2 HEAR TELL REST,
      HEAR SAY("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":\"m\",\"data\":{\"supported\":["
               "\"2025-11-25\"]}}}") HEAR HELLO_2 HEAR TELL REST,
  };
  struct fixture *x = *state;
  x->o.era = LINK_ERA_UNKNOWN;
  for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
    x->o.ready = 0;
    open_ready(x, scripts[i]);
    happens(&x->o, INITIALIZED);
    assert_string_equal(link_revision(x->o.link)->name, "2025-11-25");
    assert_null(link_meta(x->o.link).p);
    link_free(&x->o.link);
  }
}

static void a_server_that_is_silent_is_asked_both_and_the_first_good_answer_counts(void **state) {
  static const struct {
    const char *script, *revision, *heard;
  } table[] = {
      {HEAR "l='{}'; " TELL HEAR HELLO_2 FOUND("1") HEAR TELL REST, "2025-11-25", INITIALIZED},
      {HEAR "l='{}'; " TELL HEAR UNKNOWN_METHOD HELLO_2 HEAR TELL REST, "2025-11-25", INITIALIZED},
      {HEAR "l='{}'; " TELL HEAR FOUND("1") HELLO_2 SAY("{\"jsonrpc\":\"2.0\",\"method\":\"end\"}") REST, "2026-07-28",
       "told end\n"},
      {HEAR "l='{}'; " TELL HEAR SAY("{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":1,\"message\":\"m\"}}")
           FOUND("1") REST,
       "2026-07-28", ""},
      // initialize was refused while it had discover to answer: it is asked once more
      {HEAR "l='{}'; " TELL HEAR SAY("{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":1,\"message\":\"m\"}}")
           UNKNOWN_METHOD HEAR SAY("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"protocolVersion\":\"2025-11-25\"}}")
               HEAR TELL REST,
       "2025-11-25", INITIALIZED},
  };
  struct fixture *x = *state;
  x->o.era = LINK_ERA_UNKNOWN;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    x->o.ready = 0;
    open_script(x, table[i].script);
    happens(&x->o, "told saw {}\n");
    advance(&x->o.w, START_MS / 2 + 100);
    wait_ready(&x->o);
    happens(&x->o, table[i].heard);
    assert_true(link_ready(x->o.link));
    assert_string_equal(link_revision(x->o.link)->name, table[i].revision);
    link_free(&x->o.link);
  }
}

static void a_server_that_ends_over_the_probe_may_be_one_with_a_handshake(void **state) {
  static const struct {
    const char *script, *text;
    bool probe_failed;
  } table[] = {
      {HEAR "exit 1", "exited with status 1", true},
      {HEAR UNKNOWN_METHOD "exit 1", "exited with status 1", true},
      {HEAR UNKNOWN_METHOD HEAR SAY("{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":1,\"message\":\"too late\"}}")
           REST,
       "refused initialize: too late", true},
      {HEAR SAY("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":\"m\",\"data\":{\"supported\":["
                "\"2026-07-28\"]}}}") REST,
       "refused MCP revision 2026-07-28, which it claims to support", false},
      {HEAR SAY("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"supportedVersions\":[\"2099-01-01\"]}}") REST,
       "speaks MCP revisions [\"2099-01-01\"], none of which", false},
  };
  struct fixture *x = *state;
  for (int era = LINK_ERA_UNKNOWN; era <= LINK_ERA_HANDSHAKE; era++) {
    x->o.era = (enum link_era)era;
    for (size_t i = 0; i < (era == LINK_ERA_UNKNOWN ? sizeof table / sizeof *table : 1); i++) {
      x->o.closed = 0;
      open_script(x, table[i].script);
      wait_closed(&x->o);
      if (!strstr(x->o.why.message, table[i].text)) fail_msg("%s", x->o.why.message);
      assert_int_equal(x->o.probe_failed, table[i].probe_failed && era == LINK_ERA_UNKNOWN);
    }
  }
}

static void a_server_that_never_answers_may_be_one_that_the_probe_has_upset(void **state) {
  struct fixture *x = *state;
  x->o.era = LINK_ERA_UNKNOWN;
  open_script(x, HEAR "l='{}'; " TELL REST);
  happens(&x->o, "told saw {}\n");
  advance(&x->o.w, START_MS + 100);
  assert_int_equal(x->o.closed, 1);
  assert_why(&x->o, FAULT_UPSTREAM_TIMEOUT, "did not complete the handshake within 5 s (timeouts.start)");
  assert_true(x->o.probe_failed);
}

static void a_server_known_to_be_stateless_gets_no_handshake(void **state) {
  struct fixture *x = *state;
  x->o.era = LINK_ERA_STATELESS;
  open_ready(x, HEAR FOUND("1") REST);
  assert_true(link_revision(x->o.link)->stateless);
  link_free(&x->o.link);
  open_script(x, HEAR UNKNOWN_METHOD REST);
  wait_closed(&x->o);
  assert_why(&x->o, FAULT_PROTOCOL, "it refused server/discover: no such method");
  assert_false(x->o.probe_failed);
  x->o.closed = 0;
  open_script(x, HEAR "exit 1");
  wait_closed(&x->o);
  assert_why(&x->o, FAULT_UPSTREAM_UNAVAILABLE, "exited with status 1");
  assert_false(x->o.probe_failed);
}

static void a_stateless_server_on_a_pipe_is_told_of_cancellation_and_nothing_else(void **state) {
  struct fixture *x = *state;
  x->o.era = LINK_ERA_STATELESS;
  open_ready(x, HEAR FOUND("1") HEAR TELL HEAR TELL HEAR TELL HEAR TELL HEAR TELL REST);
  struct ask a, b;
  ask_send(&a, &x->o, 'a', STR("m"), STR_NONE);
  link_call_cancel(&a.call, STR("enough"));
  link_notify(x->o.link, STR("notifications/roots/list_changed"), STR_NONE);
  link_reply(x->o.link, STR("1"), STR("{}"));
  link_refuse(x->o.link, STR("1"), RPC_INTERNAL_ERROR, STR("no"));
  link_send_raw(x->o.link, STR("{\"jsonrpc\":\"2.0\",\"method\":\"n\"}"));
  ask_send(&b, &x->o, 'b', STR("m"), STR_NONE);
  happens(&x->o, "told saw {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"m\"}\n"
                 "told saw {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2,"
                 "\"reason\":\"enough\"}}\n"
                 "told saw {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"m\"}\n");
  advance(&x->o.w, 2100);
  happens(&x->o, "b failed UPSTREAM_TIMEOUT\n"
                 "told saw {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":3,"
                 "\"reason\":\"timed out\"}}\n");
}

static void a_stateless_server_may_not_ask(void **state) {
  struct fixture *x = *state;
  x->o.era = LINK_ERA_UNKNOWN;
  open_ready(x, HEAR FOUND("1") SAY("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}")
                    SAY("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"roots/list\"}")
                        SAY("{\"jsonrpc\":\"2.0\",\"method\":\"n\"}") HEAR TELL REST);
  happens(&x->o, "told n\n");
  struct ask a;
  ask_send(&a, &x->o, 'a', STR("m"), STR_NONE);
  happens(&x->o, "told saw {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"m\"}\n");
  link_free(&x->o.link);
  happens(&x->o, "a failed SHUTTING_DOWN\n");
}

// ---- freeing

static void freeing_a_link_fails_its_calls_and_lets_the_process_leave(void **state) {
  struct fixture *x = *state;
  open_ready(x, SERVER "l=\"{\\\"pid\\\":$$}\"; " TELL REST);
  wait_for(&x->o.w, &x->o.lines, 1);
  int pid = 0;
  assert_int_equal(sscanf(x->o.heard.p, "told saw {\"pid\":%d}", &pid), 1);
  assert_int_equal(kill(pid, 0), 0);
  buf_reset(&x->o.heard);
  struct ask a;
  ask_send(&a, &x->o, 'a', STR("m"), STR_NONE);
  link_free(&x->o.link);
  assert_null(x->o.link);
  happens(&x->o, "a failed SHUTTING_DOWN\n");
  for (uint64_t until = real_ms() + DEADLINE_MS; kill(pid, 0) == 0;) turn(&x->o.w, -1, until);
  link_free(&x->o.link);
  assert_int_equal(x->o.closed, 0);
}

static void a_link_may_be_freed_in_any_of_its_callbacks(void **state) {
  struct fixture *x = *state;
  x->o.free_when_ready = true;
  open_script(x, SERVER REST);
  wait_for(&x->o.w, &x->o.ready, 1);
  assert_null(x->o.link);
  x->o.free_when_ready = false;
  x->o.ready = 0;

  x->o.free_when_told = true;
  open_ready(x,
             SERVER HEAR "printf '%s\\n%s\\n%s\\n' '{\"jsonrpc\":\"2.0\",\"method\":\"1\"}' "
                         "'[{\"jsonrpc\":\"2.0\",\"method\":\"2\"}]' '{\"jsonrpc\":\"2.0\",\"method\":\"3\"}'; " REST);
  link_notify(x->o.link, STR("go"), STR_NONE);
  happens(&x->o, "told 1\n");
  assert_null(x->o.link);
  x->o.ready = 0;

  open_ready(x,
             SERVER HEAR SAY("[{\"jsonrpc\":\"2.0\",\"method\":\"1\"},{\"jsonrpc\":\"2.0\",\"method\":\"2\"}]") REST);
  link_notify(x->o.link, STR("go"), STR_NONE);
  happens(&x->o, "told 1\n");
  assert_null(x->o.link);
  x->o.free_when_told = false;
  x->o.ready = 0;

  open_ready(x, SERVER HEAR HEAR SAY("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":2}") REST);
  struct ask a, b;
  ask_send(&a, &x->o, 'a', STR("m"), STR_NONE);
  ask_send(&b, &x->o, 'b', STR("m"), STR_NONE);
  a.free_link = true;
  happens(&x->o, "a got 2\nb failed SHUTTING_DOWN\n");
  x->o.ready = 0;

  open_ready(x, SERVER HEAR REST);  // when a call times out
  ask_send(&a, &x->o, 'a', STR("m"), STR_NONE);
  a.free_link = true;
  advance(&x->o.w, 2100);
  happens(&x->o, "a failed UPSTREAM_TIMEOUT\n");
  assert_null(x->o.link);
  some_turns(&x->o.w);
  assert_int_equal(x->o.closed, 0);
}

static void a_link_may_be_freed_before_it_is_open(void **state) {
  struct fixture *x = *state;
  open_program(x, (const char *[]){"cat", NULL});
  link_free(&x->o.link);
  open_script(x, HEAR TELL REST);
  wait_for(&x->o.w, &x->o.lines, 1);
  link_free(&x->o.link);
  some_turns(&x->o.w);
  assert_int_equal(x->o.ready + x->o.closed, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  const struct CMUnitTest tests[] = {
      TEST(the_handshake_says_who_we_are_and_learns_who_they_are),
      TEST(every_revision_that_we_know_is_spoken),
      TEST(a_handshake_that_fails_closes_the_link_and_says_why),
      TEST(a_handshake_that_takes_too_long_is_given_up),
      TEST(a_program_that_cannot_be_started_closes_the_link),
      TEST(calls_get_their_own_replies_in_whatever_order_they_come),
      TEST(what_makes_no_sense_is_ignored_and_the_link_lives),
      TEST(an_answer_that_cannot_be_read_fails_its_call_at_once),
      TEST(a_batch_from_the_server_is_taken_apart),
      TEST(an_answer_that_is_no_reply_fails_its_call_at_once),
      TEST(a_line_that_is_too_long_is_skipped),
      TEST(progress_reaches_its_call_and_renews_its_time),
      TEST(a_call_that_takes_too_long_is_cancelled_at_the_server),
      TEST(a_call_that_was_given_up_is_cancelled_and_never_heard_of_again),
      TEST(when_the_server_dies_its_calls_fail_after_the_link_is_closed),
      TEST(a_server_that_only_closes_its_output_is_as_good_as_dead),
      TEST(the_server_may_ask_and_is_answered),
      TEST(a_question_may_be_refused),
      TEST(a_message_with_line_breaks_is_sent_as_one_line),
      TEST(a_link_that_is_held_up_goes_on_where_it_was),
      TEST(a_server_that_answers_discover_is_ready_at_once),
      TEST(a_server_that_refuses_discover_gets_the_handshake),
      TEST(a_server_that_is_silent_is_asked_both_and_the_first_good_answer_counts),
      TEST(a_server_that_ends_over_the_probe_may_be_one_with_a_handshake),
      TEST(a_server_that_never_answers_may_be_one_that_the_probe_has_upset),
      TEST(a_server_known_to_be_stateless_gets_no_handshake),
      TEST(a_stateless_server_on_a_pipe_is_told_of_cancellation_and_nothing_else),
      TEST(a_stateless_server_may_not_ask),
      TEST(freeing_a_link_fails_its_calls_and_lets_the_process_leave),
      TEST(a_link_may_be_freed_in_any_of_its_callbacks),
      TEST(a_link_may_be_freed_before_it_is_open),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
