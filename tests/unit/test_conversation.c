// SPDX-License-Identifier: Apache-2.0
// context/conversation: the oldest turns go to the archive before they leave, and are found there.
#include <signal.h>
#include <sys/wait.h>

#include "context/conversation.h"
#include "context/recorder.h"
#include "context/retrieve.h"
#include "store_world.h"
#include "json/write.h"

// ---- a store as the commands use it

static struct store *open_direct(struct world *x) {
  struct store_options opt = {.log = &x->log,
                              .clock = &x->clock,
                              .rand = &rand_system,
                              .folder = str_of(x->folder),
                              .limits = store_default_limits};
  return store_new(&opt);
}

static void close_direct(struct store **s) {
  bool closed = false;
  store_close(s, on_store_closed, &closed);
  assert_true(closed);
}

struct talk {
  struct arena arena;
  struct conversation c;
  struct trimmed t;
  struct fault f;
};

static void parse(struct talk *k, str text) {
  const struct json *root = json_parse(&k->arena, text, &json_default_limits, &k->f);
  assert_non_null(root);
  if (!conversation_read(root, &k->arena, &k->c, &k->f)) fail_msg("%s", k->f.message);
}

static void begin(struct talk *k, const char *text) {
  *k = (struct talk){0};
  arena_init(&k->arena);
  parse(k, str_of(text));
}

static bool trim_with(struct talk *k, struct store *s, size_t limit, bool estimated) {
  struct trim_order o = {s, STR("talk 1"), limit, estimated};
  return conversation_trim(&o, &k->c, &k->arena, &k->t, &k->f);
}

static void trim(struct talk *k, struct store *s, size_t limit) {
  if (!trim_with(k, s, limit, false)) fail_msg("%s", k->f.message);
}

static void expect(str got, const char *want) {
  if (!str_eq(got, str_of(want))) fail_msg("%.*s\nnot\n%s", STR_ARG(got), want);
}

// What the archive has of "talk 1", as texts with a | between.
static bool note(void *ctx, const struct archive_record *r) {
  struct buf *b = ctx;
  struct arena a;
  struct fault f;
  arena_init(&a);
  if (b->n) buf_char(b, '|');
  buf_str(b, conversation_text(json_parse(&a, r->text, &json_default_limits, &f), &a));
  arena_done(&a);
  return true;
}

static void expect_archived(struct store *s, const char *want) {
  struct buf b;
  struct fault f;
  struct archive_search search = {
      .query = {.context = STR("talk 1"), .kind = STR(CONVERSATION_KIND)}, .each = note, .ctx = &b};
  buf_init(&b, 1 << 20);
  archive_find(s, STR(CONVERSATION_OWNER), &search);
  assert_true(store_answered(&search.read, &f));
  expect(buf_view(&b), want);
  buf_done(&b);
}

// Ten words are ten tokens.
#define TEN "one two three four five six seven eight nine ten"
#define FORTY(n) n " " TEN " " TEN " " TEN " one two three four five six seven eight nine"
#define SYSTEM "{\"role\":\"system\",\"content\":\"rules\"}"
#define USER(text) "{\"role\":\"user\",\"content\":\"" text "\"}"
#define MARKER(n, id) \
  "{\"role\":\"system\",\"content\":\"[archive] " n " earlier messages are kept, the last is " id \
  ": toolgate context archive --context \\\"talk 1\\\"\"}"

static void what_is_over_the_limit_is_archived_in_order(void **state) {
  struct world *x = *state;
  struct talk k;
  struct store *s = open_direct(x);
  begin(&k, "{\"messages\":[{\"role\":\"system\",\"content\":\"" FORTY("s") "\"}," USER(FORTY("a")) "," USER(
                FORTY("b")) "," USER(FORTY("c")) "," USER(FORTY("d")) "]}");
  assert_int_equal(conversation_tokens(k.c.messages[1], &k.arena), 40);
  trim(&k, s, 100);
  assert_int_equal(k.t.moved, 2);
  assert_int_equal(k.t.size, 80);
  assert_false(k.t.over);
  expect_archived(s, FORTY("a") "|" FORTY("b"));
  parse(&k, k.t.text);
  assert_int_equal(k.c.count, 4);  // system, marker, the last two
  assert_int_equal(k.c.leading, 2);
  expect(conversation_text(k.c.messages[2], &k.arena), FORTY("c"));
  arena_done(&k.arena);
  close_direct(&s);
}

static void what_fits_stays_byte_for_byte(void **state) {
  struct world *x = *state;
  struct talk k;
  struct store *s = open_direct(x);
  const char *text = "{ \"messages\" : [ " USER("hello") " ] , \"model\":1.0}";
  begin(&k, text);
  trim(&k, s, 1);
  expect(k.t.text, text);
  assert_int_equal(k.t.moved, 0);
  expect_archived(s, "");
  arena_done(&k.arena);
  close_direct(&s);
}

static void the_marker_counts_on(void **state) {
  struct world *x = *state;
  struct talk k;
  struct store *s = open_direct(x);
  begin(&k, "{\"messages\":[" SYSTEM
            "," USER("one") ",{\"id\":\"m2\",\"role\":\"user\",\"content\":\"two\"}," USER("three") "],\"n\":1}");
  trim(&k, s, 1);
  expect(k.t.text, "{\"messages\":[" SYSTEM "," MARKER("2", "m2") "," USER("three") "],\"n\":1}");
  parse(&k, STR("{\"messages\":[" SYSTEM "," MARKER("2", "m2") "," USER("three") "," USER("four") "]}"));
  trim(&k, s, 1);
  expect(k.t.text, "{\"messages\":[" SYSTEM "," MARKER("3", "186867247e06c62a") "," USER("four") "]}");
  expect_archived(s, "one|two|three");
  arena_done(&k.arena);
  close_direct(&s);
}

#define CALLS(...) "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" __VA_ARGS__ "]}"
#define CALL(id) "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"look\",\"arguments\":\"{}\"}}"
#define REPLY(id, text) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"" text "\"}"

static void a_reply_is_never_kept_without_its_call(void **state) {
  struct world *x = *state;
  struct store *s = open_direct(x);
  for (size_t limit = 0; limit < 40; limit++) {
    struct talk k;
    begin(
        &k,
        "{\"messages\":[" SYSTEM
        "," USER("question") "," CALLS(CALL("a") "," CALL("b")) "," REPLY("a", "first") "," USER("meanwhile") "," REPLY(
            "b", "second") "," CALLS(CALL("a")) "," REPLY("a", "third") "," USER("thanks") "]}");
    trim(&k, s, limit);
    parse(&k, k.t.text);
    for (size_t i = 0; i < k.c.count; i++) {
      if (!json_equals_str(json_get(k.c.messages[i], STR("role")), STR("tool"))) continue;
      bool called = false;
      str id;
      assert_true(json_string(json_get(k.c.messages[i], STR("tool_call_id")), &k.arena, &id));
      for (size_t n = 0; n < i; n++) {
        str span = json_span(k.c.messages[n]);
        called |= memmem(span.p, span.n, "tool_calls", 10) && memmem(span.p, span.n, id.p, id.n);
      }
      assert_true(called);
    }
    arena_done(&k.arena);
  }
  close_direct(&s);
}

static void turns_begin_where_somebody_speaks(void **state) {
  struct talk k;
  size_t n, *turns;
  begin(&k, "{\"messages\":[" SYSTEM "," SYSTEM "," REPLY("?", "stray") "," USER("1") "," CALLS(CALL("a")) "," REPLY(
                "a", "x") "," SYSTEM "," USER("2") "," REPLY("a", "late") "," USER("3") "]}");
  assert_int_equal(k.c.leading, 2);
  turns = conversation_turns(&k.c, &k.arena, &n);
  assert_int_equal(n, 4);
  assert_int_equal(turns[0], 2);
  assert_int_equal(turns[1], 3);
  assert_int_equal(turns[2], 4);
  assert_int_equal(turns[3], 9);
  arena_done(&k.arena);
}

static void the_last_turn_stays_whatever_it_weighs(void **state) {
  struct world *x = *state;
  struct talk k;
  struct store *s = open_direct(x);
  begin(&k, "{\"messages\":[" USER("one two") "," USER(TEN) "]}");
  trim(&k, s, 5);
  assert_int_equal(k.t.moved, 1);
  assert_true(k.t.over);
  assert_int_equal(k.t.size, 10);
  arena_done(&k.arena);
  close_direct(&s);
}

static void a_limit_may_be_estimated_by_characters(void **state) {
  struct world *x = *state;
  struct talk k;
  struct store *s = open_direct(x);
  begin(&k, "{\"messages\":[" USER("12345") "," USER("éééé") "]}");
  assert_int_equal(conversation_quarters(k.c.messages[0], &k.arena), 2);
  assert_int_equal(conversation_quarters(k.c.messages[1], &k.arena), 1);
  assert_true(trim_with(&k, s, 3, true));
  assert_int_equal(k.t.moved, 0);
  assert_true(trim_with(&k, s, 2, true));
  assert_int_equal(k.t.moved, 1);
  arena_done(&k.arena);
  close_direct(&s);
}

static const char long_talk[] = "{\"messages\":[" USER("yes") "," USER("yes") "," USER("yes") "," USER("no") "]}";

enum death { BEFORE, BETWEEN, AFTER };

// Saves the talk, trims it and saves it again, but is killed at some point.
static void die_trimming(struct world *x, enum death when) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    struct talk k;
    struct store *s = open_direct(x);
    begin(&k, long_talk);
    if (!conversation_save(s, STR("talk 1"), str_of(long_talk), &k.f)) _exit(1);
    if (when == BEFORE) kill(getpid(), SIGKILL);
    if (!trim_with(&k, s, 1, false)) _exit(2);
    if (when == BETWEEN) kill(getpid(), SIGKILL);
    if (!conversation_save(s, STR("talk 1"), k.t.text, &k.f)) _exit(3);
    kill(getpid(), SIGKILL);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
}

static void whoever_is_killed_loses_nothing_and_archives_nothing_twice(void **state) {
  struct world *x = *state;
  for (int when = BEFORE; when <= AFTER; when++) {
    struct talk k;
    str saved;
    die_trimming(x, (enum death)when);
    struct store *s = open_direct(x);
    *(&k) = (struct talk){0};
    arena_init(&k.arena);
    assert_true(conversation_load(s, STR("talk 1"), &k.arena, &saved, &k.f));
    parse(&k, saved);
    assert_int_equal(k.c.count, when == AFTER ? 2 : 4);
    trim(&k, s, 1);
    assert_int_equal(k.t.moved, when == AFTER ? 0 : 3);
    expect_archived(s, "yes|yes|yes");
    arena_done(&k.arena);
    close_direct(&s);
  }
}

static void what_cannot_be_archived_does_not_leave(void **state) {
  struct world *x = *state;
  struct talk k;
  struct store_options opt = {.log = &x->log,
                              .clock = &x->clock,
                              .rand = &rand_system,
                              .folder = str_of(x->folder),
                              .limits = store_default_limits};
  opt.limits.archive_bytes = 10;
  struct store *s = store_new(&opt);
  begin(&k, long_talk);
  assert_false(trim_with(&k, s, 1, false));
  assert_int_equal(k.f.code, FAULT_IO);
  assert_null(k.t.text.p);
  arena_done(&k.arena);
  close_direct(&s);
}

static void a_saved_conversation_comes_back_byte_for_byte(void **state) {
  struct world *x = *state;
  struct arena a;
  struct fault f;
  str out;
  static const char first[] = "{ \"messages\":[ ],\t\"x\": 1.00, \"\\u00e9\":\"é\" }\n\n",
                    second[] = "{\"messages\":[]}";
  arena_init(&a);
  struct store *s = open_direct(x);
  assert_false(conversation_load(s, STR("A"), &a, &out, &f));
  assert_int_equal(f.code, FAULT_NOT_FOUND);
  assert_true(conversation_save(s, STR("A"), str_of(first), &f));
  assert_true(conversation_save(s, STR("B"), str_of(second), &f));
  close_direct(&s);
  s = open_direct(x);
  assert_true(conversation_load(s, STR("A"), &a, &out, &f));
  expect(out, first);
  assert_true(conversation_load(s, STR("B"), &a, &out, &f));
  expect(out, second);
  close_direct(&s);
  arena_done(&a);
}

// ---- finding

static bool note_found(void *ctx, const struct retrieved *r) {
  struct buf *b = ctx;
  struct arena a;
  struct fault f;
  arena_init(&a);
  str text = conversation_text(json_parse(&a, r->message, &json_default_limits, &f), &a);
  buf_printf(b, "%s%.*s%s", b->n ? "|" : "", STR_ARG(text), r->duplicate ? "!" : "");
  arena_done(&a);
  return true;
}

static void expect_found(struct retrieve_order o, const char *want) {
  struct buf b;
  struct fault f;
  buf_init(&b, 1 << 20);
  assert_true(retrieve(&o, note_found, &b, &f));
  expect(buf_view(&b), want);
  buf_done(&b);
}

static void put(struct store *s, const char *context, const char *id, const char *message, int64_t time) {
  struct archive_record r = {str_of(context), STR(CONVERSATION_KIND), str_of(id), str_of(message), time, 0};
  archive_add(s, STR(CONVERSATION_OWNER), &r, 1, NULL);
}

static void messages_are_found_by_context_time_and_what_they_say(void **state) {
  struct world *x = *state;
  struct store *s = open_direct(x);
  put(s, "a", "1", USER("the ship to Rhodes"), x->wall);
  put(s, "a", "2", USER("caf\\u00e9 \\\"ship\\\""), x->wall + 1000);
  put(s, "b", "1", USER("an invoice"), x->wall + 2000);
  expect_found((struct retrieve_order){.store = s, .context = STR("a")}, "the ship to Rhodes|café \"ship\"");
  expect_found((struct retrieve_order){.store = s, .context = STR("")}, "the ship to Rhodes|café \"ship\"|an invoice");
  expect_found((struct retrieve_order){.store = s, .contains = STR("SHIP")}, "the ship to Rhodes|café \"ship\"");
  expect_found((struct retrieve_order){.store = s, .contains = STR("é \"s")}, "café \"ship\"");
  expect_found((struct retrieve_order){.store = s, .contains = STR("ships")}, "");
  expect_found((struct retrieve_order){.store = s, .from_ms = x->wall + 1000, .until_ms = x->wall + 2000},
               "café \"ship\"");
  expect_found((struct retrieve_order){.store = s, .limit = 1}, "the ship to Rhodes");
  expect_found((struct retrieve_order){.store = s, .search = STR("invoices"), .limit = 5}, "an invoice");
  close_direct(&s);
}

static void what_was_archived_twice_is_marked(void **state) {
  struct world *x = *state;
  struct store *s = open_direct(x);
  for (int i = 0; i < 2; i++) {
    put(s, "a", "1", USER("once"), x->wall);
    put(s, i ? "a" : "b", "2", USER("twice"), x->wall);
  }
  expect_found((struct retrieve_order){.store = s, .context = STR("")}, "once|twice|once!|twice");
  close_direct(&s);
}

// ---- calls that are written down

static void calls_become_events_that_a_session_is_read_from(void **state) {
  struct world *x = *state;
  struct store *s = open_direct(x);
  struct recorder *r = recorder_new(s, &x->log, &x->clock, 1 << 20);
  static const str handles[] = {STR("text:t:1"), STR("image:t:2")};
  struct recorded_call call = {
      .session = STR("s1"), .client = STR("me 1"), .principal = STR("local"), .name = STR("t:id")};
  uint64_t recorded = 0;
  struct arena a;
  struct buf lines;
  struct fault f;
  struct event_log log;
  arena_init(&a);
  call.arguments = STR("{\"q\": 1}");
  call.text = STR("first, with password=hunter2222");
  recorder_add(r, &call, &recorded);
  call.failed = true;
  call.artifacts = handles;
  call.artifact_count = 2;
  char *large = arena_zero(&a, 100000);
  memset(large, 'x', 99999);
  call.text = str_of(large);
  recorder_add(r, &call, &recorded);
  buf_init(&lines, 1 << 20);
  assert_false(recorder_export(s, STR("nobody"), &lines, &f));
  assert_int_equal(f.code, FAULT_NOT_FOUND);
  assert_true(recorder_export(s, STR("s1"), &lines, &f));
  assert_true(session_read(&a, buf_view(&lines), &session_default_limits, &log, &f));
  assert_int_equal(log.count, 4);
  assert_int_equal(log.list[0].kind, EVENT_TOOL_CALL);
  expect(log.list[0].text, "{\"q\": 1}");
  expect(log.list[0].function_name, "t:id");
  expect(log.list[1].text, "first, with password=[REDACTED-SECRET]");
  assert_true(str_eq(log.list[3].parent, log.list[2].id));
  expect(log.list[3].artifact, "text:t:1");
  assert_int_equal(log.list[3].text.n, RECORDER_TEXT_BYTES + strlen("…"));
  struct recorded_session *sessions;
  size_t n;
  assert_true(recorder_list(s, &a, &sessions, &n, &f));
  assert_int_equal(n, 1);
  assert_int_equal(sessions[0].calls, 2);
  expect(sessions[0].client, "me 1");
  buf_done(&lines);
  arena_done(&a);
  recorder_free(&r);
  close_direct(&s);
}

// Of a long text its beginning is looked at alone: what the masks made shorter does not bring its end into sight, where
// half a token may stand.
static void of_a_long_text_no_part_of_a_secret_is_kept(void **state) {
  struct world *x = *state;
  struct store *s = open_direct(x);
  struct recorder *r = recorder_new(s, &x->log, &x->clock, 1 << 20);
  struct recorded_call call = {.session = STR("s1"), .client = STR("me 1"), .name = STR("t:id")};
  uint64_t recorded = 0;
  struct arena a;
  struct buf lines, text;
  struct fault f;
  struct event_log log;
  arena_init(&a);
  buf_init(&lines, 1 << 20);
  buf_init(&text, 1 << 20);
  buf_str(&text, STR("-----BEGIN PRIVATE KEY-----"));
  while (text.n < RECORDER_TEXT_BYTES + 40000) buf_str(&text, STR("MIIE"));
  buf_str(&text, STR("-----END PRIVATE KEY----- "));
  while (text.n < 2 * RECORDER_TEXT_BYTES - 20) buf_char(&text, '.');
  buf_str(&text, STR("ghp_aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zaB3dE5 and more"));
  call.text = buf_view(&text);
  recorder_add(r, &call, &recorded);
  assert_true(recorder_export(s, STR("s1"), &lines, &f));
  assert_true(session_read(&a, buf_view(&lines), &session_default_limits, &log, &f));
  assert_true(str_starts(log.list[1].text, STR("[REDACTED-SECRET] ....")));
  assert_true(str_ends(log.list[1].text, STR("....…")));
  buf_done(&lines);
  buf_done(&text);
  arena_done(&a);
  recorder_free(&r);
  close_direct(&s);
}

static void a_session_that_has_said_enough_is_not_written_on(void **state) {
  struct world *x = *state;
  struct store *s = open_direct(x);
  struct recorder *r = recorder_new(s, &x->log, &x->clock, 400);
  struct recorded_call call = {.session = STR("s1"), .name = STR("t"), .text = STR("some text of some length")};
  uint64_t recorded = 0;
  struct arena a;
  struct fault f;
  struct recorded_session *sessions;
  size_t n;
  arena_init(&a);
  for (int i = 0; i < 100; i++) recorder_add(r, &call, &recorded);
  assert_true(recorder_list(s, &a, &sessions, &n, &f));
  assert_int_equal(sessions[0].calls, 2);
  arena_done(&a);
  recorder_free(&r);
  close_direct(&s);
}

static void what_is_no_conversation_is_refused(void **state) {
  static const char *const wrong[] = {"{}", "[]", "{\"messages\":{}}", "{\"messages\":[1]}"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct arena a;
    struct fault f;
    struct conversation c;
    arena_init(&a);
    assert_false(conversation_read(json_parse(&a, str_of(wrong[i]), &json_default_limits, &f), &a, &c, &f));
    assert_int_equal(f.code, FAULT_INVALID);
    arena_done(&a);
  }
  assert_true(conversation_id_ok(STR("talk 1")));
  assert_false(conversation_id_ok(STR("")));
  assert_false(conversation_id_ok(STR("a\nb")));
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_A_FOLDER(what_is_over_the_limit_is_archived_in_order),
      IN_A_FOLDER(what_fits_stays_byte_for_byte),
      IN_A_FOLDER(the_marker_counts_on),
      IN_A_FOLDER(a_reply_is_never_kept_without_its_call),
      IN_A_FOLDER(turns_begin_where_somebody_speaks),
      IN_A_FOLDER(the_last_turn_stays_whatever_it_weighs),
      IN_A_FOLDER(a_limit_may_be_estimated_by_characters),
      IN_A_FOLDER(whoever_is_killed_loses_nothing_and_archives_nothing_twice),
      IN_A_FOLDER(what_cannot_be_archived_does_not_leave),
      IN_A_FOLDER(a_saved_conversation_comes_back_byte_for_byte),
      IN_A_FOLDER(messages_are_found_by_context_time_and_what_they_say),
      IN_A_FOLDER(what_was_archived_twice_is_marked),
      IN_A_FOLDER(calls_become_events_that_a_session_is_read_from),
      IN_A_FOLDER(of_a_long_text_no_part_of_a_secret_is_kept),
      IN_A_FOLDER(a_session_that_has_said_enough_is_not_written_on),
      IN_A_FOLDER(what_is_no_conversation_is_refused),
  };
  return cmocka_run_group_tests_name("conversation", tests, NULL, NULL);
}
