// SPDX-License-Identifier: Apache-2.0
// call/ticket: what a client brings back with its answers is good once, for the same request, for a while.
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/text/base64.h"
#include "call/bridge/ticket.h"

enum { LIFE_MS = 300000, WINDOW = 1 << 20 };

static uint64_t fake_mono(void *ctx) {
  return *(uint64_t *)ctx;
}
static int64_t fake_wall(void *ctx) {
  return 0;
}

struct fixture {
  struct loop loop;
  struct clock clock;
  uint64_t now;
  struct tickets tickets;
  struct arena arena;
  struct buf text;
  struct ticket got;
  struct fault fault;
};

static void setup(struct fixture *x) {
  x->now = 1000000;
  x->clock = (struct clock){fake_mono, fake_wall, &x->now};
  loop_init(&x->loop, NULL, &x->clock, &rand_system);
  tickets_init(&x->tickets, &x->loop, LIFE_MS);
  arena_init(&x->arena);
  buf_init(&x->text, 1 << 20);
}

static void done(struct fixture *x) {
  tickets_done(&x->tickets);
  loop_done(&x->loop);
  arena_done(&x->arena);
  buf_done(&x->text);
}

static void advance(struct fixture *x, uint64_t ms) {
  x->now += ms;
  x->loop.now_known = false;
}

static const struct json *parsed(struct fixture *x, const char *text) {
  struct fault f;
  const struct json *v =
      json_parse(&x->arena, str_of(text), &(struct json_limits){.max_bytes = 1 << 20, .max_depth = JSON_DEEPEST}, &f);
  if (!v) fail_msg("%s: %s", text, f.message);
  return v;
}

// Of principal 3, tools/call; params NULL: none.
static struct ticket_use use_of(struct fixture *x, const char *params) {
  return (struct ticket_use){3, STR("tools/call"), params ? parsed(x, params) : NULL};
}

static str issue(struct fixture *x, const struct ticket *t, struct ticket_use use) {
  buf_reset(&x->text);
  ticket_issue(&x->tickets, t, &use, &x->text);
  return arena_str(&x->arena, buf_view(&x->text));
}

static str issue_plain(struct fixture *x, const char *params) {
  return issue(x, &(struct ticket){TICKET_PARKED, .number = 7}, use_of(x, params));
}

static bool redeem(struct fixture *x, str text, struct ticket_use use) {
  x->fault = (struct fault){0};
  return ticket_redeem(&x->tickets, text, &use, &x->arena, &x->got, &x->fault);
}

// Refused, with all of a ticket left untouched and a message that says why and what to do.
static void assert_refused(struct fixture *x, str text, struct ticket_use use, const char *why) {
  struct ticket before = {TICKET_AGAIN, 99, 98, true, STR("97"), 0};
  x->got = before;
  assert_false(redeem(x, text, use));
  assert_int_equal(x->got.kind, before.kind);
  assert_true(x->got.number == before.number);
  assert_int_equal(x->got.source, before.source);
  assert_ptr_equal(x->got.state.p, before.state.p);
  assert_int_equal(x->fault.code, FAULT_INVALID);
  if (!strstr(x->fault.message, why)) fail_msg("'%s' instead of '%s'", x->fault.message, why);
  assert_non_null(strstr(x->fault.message, "send the request again without requestState"));
  assert_null(strstr(x->fault.message, "..."));
}

#define FOREIGN "does not match this request"
#define PARAMS "{\"name\":\"deploy\",\"arguments\":{\"where\":\"test\",\"n\":1}}"

static void a_ticket_gives_back_what_it_was_issued_with(void **state) {
  static const struct ticket table[] = {
      {TICKET_PARKED, .number = 7},
      {TICKET_PARKED, .number = UINT64_MAX},
      {TICKET_UPSTREAM, .source = 5, .has_state = true, .state = STR("opaque \"\xc3\xa9\" \0 text")},
      {TICKET_UPSTREAM, .source = UINT32_MAX, .has_state = true, .state = STR("")},
      {TICKET_UPSTREAM, .source = 0, .has_state = false},
      {.kind = TICKET_AGAIN},
  };
  struct fixture x;
  setup(&x);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    str text = issue(&x, &table[i], use_of(&x, PARAMS));
    assert_true(redeem(&x, text, use_of(&x, PARAMS)));
    assert_int_equal(x.got.kind, table[i].kind);
    assert_true(x.got.number == table[i].number);
    assert_int_equal(x.got.source, table[i].source);
    assert_int_equal(x.got.has_state, table[i].has_state);
    assert_true(str_eq(x.got.state, table[i].state));
  }
  done(&x);
}

static void a_state_may_be_long(void **state) {
  struct fixture x;
  setup(&x);
  char *long_state = arena_alloc(&x.arena, 300000);
  memset(long_state, 'x', 300000);
  struct ticket t = {TICKET_UPSTREAM, .has_state = true, .state = {long_state, 300000}};
  assert_true(redeem(&x, issue(&x, &t, use_of(&x, PARAMS)), use_of(&x, PARAMS)));
  assert_true(str_eq(x.got.state, t.state));
  done(&x);
}

static void a_ticket_shows_nothing_of_what_is_in_it_and_is_short(void **state) {
  struct fixture x;
  setup(&x);
  str a = issue_plain(&x, PARAMS), b = issue_plain(&x, PARAMS);
  assert_int_equal(a.n, b.n);
  assert_in_range(a.n, 1, 100);
  assert_false(str_eq(a, b));
  struct buf bytes;
  buf_init(&bytes, 1000);
  struct ticket t = {TICKET_UPSTREAM, .has_state = true, .state = STR("the upstream's own secret")};
  assert_true(base64_decode(issue(&x, &t, use_of(&x, PARAMS)), BASE64_URL, &bytes));
  assert_null(memmem(bytes.p, bytes.n, "secret", 6));
  buf_done(&bytes);
  done(&x);
}

static void a_ticket_is_valid_for_one_retry(void **state) {
  struct fixture x;
  setup(&x);
  str first = issue_plain(&x, PARAMS), second = issue_plain(&x, PARAMS);
  assert_true(redeem(&x, second, use_of(&x, PARAMS)));
  for (int i = 0; i < 3; i++) assert_refused(&x, second, use_of(&x, PARAMS), "was used already");
  assert_true(redeem(&x, first, use_of(&x, PARAMS)));  // each stands for itself, in any order
  assert_refused(&x, first, use_of(&x, PARAMS), "was used already");
  str third = issue_plain(&x, PARAMS);
  assert_refused(&x, first, use_of(&x, PARAMS), "was used already");
  assert_true(redeem(&x, third, use_of(&x, PARAMS)));
  done(&x);
}

static void a_ticket_expires(void **state) {
  struct fixture x;
  setup(&x);
  str kept = issue_plain(&x, PARAMS), used = issue_plain(&x, PARAMS);
  advance(&x, LIFE_MS - 1);
  assert_true(redeem(&x, used, use_of(&x, PARAMS)));
  advance(&x, 1);
  assert_refused(&x, kept, use_of(&x, PARAMS), "has expired");
  assert_refused(&x, used, use_of(&x, PARAMS), "has expired");
  str later = issue_plain(&x, PARAMS);
  assert_true(redeem(&x, later, use_of(&x, PARAMS)));
  advance(&x, UINT32_MAX);
  assert_refused(&x, kept, use_of(&x, PARAMS), "has expired");
  done(&x);
}

static void a_forged_or_altered_ticket_is_refused(void **state) {
  static const char *const forged[] = {
      "", "x", "null", "eyJhIjoxfQ", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "=", "not even base64!", "\xff"};
  struct fixture x;
  setup(&x);
  for (size_t i = 0; i < sizeof forged / sizeof *forged; i++)
    assert_refused(&x, str_of(forged[i]), use_of(&x, PARAMS), FOREIGN);
  str text = issue_plain(&x, PARAMS);
  char *p = (char *)text.p;
  for (size_t i = 0; i < text.n * 8; i++) {
    p[i / 8] ^= (char)(1 << i % 8);
    assert_refused(&x, text, use_of(&x, PARAMS), FOREIGN);
    p[i / 8] ^= (char)(1 << i % 8);
  }
  for (size_t n = 0; n < text.n; n++) assert_refused(&x, (str){text.p, n}, use_of(&x, PARAMS), FOREIGN);
  assert_null(x.tickets.used);
  assert_true(redeem(&x, text, use_of(&x, PARAMS)));  // none of that used it up
  done(&x);
}

static void a_ticket_is_for_its_caller_method_and_arguments_only(void **state) {
  static const char *const others[] = {
      NULL,
      "{}",
      "[]",
      "{\"name\":\"deploy\"}",
      "{\"name\":\"destroy\",\"arguments\":{\"where\":\"test\",\"n\":1}}",
      "{\"name\":\"deploy\",\"arguments\":{\"where\":\"production\",\"n\":1}}",
      "{\"name\":\"deploy\",\"arguments\":{\"where\":\"test\",\"n\":2}}",
      "{\"name\":\"deploy\",\"arguments\":{\"where\":\"test\",\"n\":\"1\"}}",
      "{\"name\":\"deploy\",\"arguments\":{\"where\":\"test\",\"n\":1,\"force\":true}}",
      "{\"name\":\"deploy\",\"arguments\":{\"where\":\"test\",\"n\":1},\"more\":null}",
      "{\"name\":\"deploy\",\"arguments\":{\"where\":\"test\",\"n\":1,\"_meta\":{}}}",  // only those at the top
      "{\"name\":\"deploy\",\"arguments\":{\"where\":\"test\",\"n\":1,\"requestState\":\"x\"}}",
      "{\"name\":\"deploy\",\"arguments\":[{\"where\":\"test\",\"n\":1}]}",
  };
  struct fixture x;
  setup(&x);
  str text = issue_plain(&x, PARAMS);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) assert_refused(&x, text, use_of(&x, others[i]), FOREIGN);
  static const int principals[] = {0, 2, 4, -3, INT32_MAX, 3 + 256};
  static const str methods[] = {STR("tools/cal"), STR("tools/callx"), STR(""), STR("prompts/get"), STR("Tools/call")};
  struct ticket_use use = use_of(&x, PARAMS);
  for (size_t i = 0; i < sizeof principals / sizeof *principals; i++) {
    use.principal = principals[i];
    assert_refused(&x, text, use, FOREIGN);
  }
  use.principal = 3;
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    use.method = methods[i];
    assert_refused(&x, text, use, FOREIGN);
  }
  assert_true(redeem(&x, text, use_of(&x, PARAMS)));
  done(&x);
}

static void a_ticket_of_another_process_is_refused(void **state) {
  struct fixture x, other;
  setup(&x);
  setup(&other);
  str text = issue_plain(&other, PARAMS);
  assert_refused(&x, text, use_of(&x, PARAMS), FOREIGN);
  assert_true(redeem(&other, text, use_of(&other, PARAMS)));
  done(&x);
  done(&other);
}

static void the_same_arguments_may_be_written_differently(void **state) {
  static const char *const same[] = {
      " { \"arguments\" : { \"n\" : 1 , \"where\" : \"test\" } ,\n\t\"name\" : \"deploy\" } ",
      "{\"arguments\":{\"where\":\"t\\u0065st\",\"n\":1},\"n\\u0061me\":\"deploy\"}",
      "{\"_meta\":{\"progressToken\":1},\"name\":\"deploy\",\"arguments\":{\"where\":\"test\",\"n\":1}}",
      "{\"name\":\"deploy\",\"inputResponses\":{\"a\":{}},\"arguments\":{\"where\":\"test\",\"n\":1}}",
      "{\"name\":\"deploy\",\"arguments\":{\"where\":\"test\",\"n\":1},\"requestState\":\"abc\"}",
      "{\"requestState\":\"abc\",\"_meta\":{},\"inputResponses\":{},\"name\":\"deploy\",\"arguments\":{\"where\":"
      "\"test\",\"n\":1}}",
      "{\"_m\\u0065ta\":{},\"name\":\"deploy\",\"arguments\":{\"where\":\"test\",\"n\":1}}",
  };
  struct fixture x;
  setup(&x);
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    str one = issue_plain(&x, PARAMS), two = issue_plain(&x, same[i]);
    if (!redeem(&x, one, use_of(&x, same[i]))) fail_msg("%s: %s", same[i], x.fault.message);
    if (!redeem(&x, two, use_of(&x, PARAMS))) fail_msg("%s: %s", same[i], x.fault.message);
  }
  // A second round of questions: the request that asks carries the state and the answers of the first.
  str again =
      issue_plain(&x, "{\"name\":\"deploy\",\"arguments\":{\"where\":\"test\",\"n\":1},\"requestState\":\"one\"}");
  assert_true(redeem(
      &x, again,
      use_of(&x,
             "{\"name\":\"deploy\",\"arguments\":{\"where\":\"test\",\"n\":1},\"requestState\":\"two\",\"_meta\":1}")));
  done(&x);
}

static void no_params_are_the_same_as_empty_ones(void **state) {
  static const char *const empty[] = {NULL, "{}", "{ }", "{\"_meta\":{\"a\":1}}",
                                      "{\"requestState\":\"x\",\"inputResponses\":{}}"};
  const size_t count = sizeof empty / sizeof *empty;
  struct fixture x;
  setup(&x);
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < count; k++) assert_true(redeem(&x, issue_plain(&x, empty[i]), use_of(&x, empty[k])));
  assert_refused(&x, issue_plain(&x, NULL), use_of(&x, "null"), FOREIGN);
  assert_true(redeem(&x, issue_plain(&x, "[1, 2]"), use_of(&x, "[1,2]")));
  done(&x);
}

// 1e400 is JSON, but no double; nor is 500 levels deep what the parser takes unless it is told to.
static void arguments_without_a_canonical_form_are_compared_as_they_are_written(void **state) {
  struct fixture x;
  setup(&x);
  str text = issue_plain(&x, "{\"a\":1e400,\"_meta\":1}");
  assert_refused(&x, text, use_of(&x, "{\"a\": 1e400}"), FOREIGN);
  assert_refused(&x, text, use_of(&x, "{\"a\":1e401}"), FOREIGN);
  assert_true(redeem(&x, text, use_of(&x, "{\"a\":1e400,\"requestState\":\"x\"}")));
  char deep[1100] = "{\"a\":", *p = deep + strlen(deep);
  memset(p, '[', 500);
  memset(p + 500, ']', 500);
  memcpy(p + 1000, "}", 2);
  text = issue_plain(&x, deep);
  p[1000] = ' ';
  memcpy(p + 1001, "}", 2);
  assert_refused(&x, text, use_of(&x, deep), FOREIGN);
  memcpy(p + 1000, "}", 2);
  assert_true(redeem(&x, text, use_of(&x, deep)));
  done(&x);
}

static void numbers_that_grow_when_canonical_are_fine(void **state) {
  struct fixture x;
  setup(&x);
  struct buf b;
  buf_init(&b, 1 << 20);
  buf_str(&b, STR("[9e20"));
  for (int i = 0; i < 1000; i++) buf_str(&b, STR(",9e20"));
  buf_str(&b, STR("]"));
  buf_char(&b, 0);
  str text = issue_plain(&x, b.p);
  assert_true(redeem(&x, text, use_of(&x, b.p)));
  assert_true(redeem(&x, issue_plain(&x, "9e20"), use_of(&x, "900000000000000000000.0")));
  buf_done(&b);
  done(&x);
}

static void issue_many(struct fixture *x, unsigned count) {
  struct ticket_use use = {3, STR("tools/call"), NULL};
  struct ticket t = {.kind = TICKET_AGAIN};
  for (unsigned i = 0; i < count; i++) {
    buf_reset(&x->text);
    ticket_issue(&x->tickets, &t, &use, &x->text);
  }
}

// As if so many had been issued, without the time that takes: serials pass through the ring just the same.
static void skip_serials(struct fixture *x, uint64_t count) {
  if (x->tickets.used && count >= WINDOW) memset(x->tickets.used, 0, WINDOW / 8);
  else assert_null(x->tickets.used);
  x->tickets.next += count;
}

static void a_ticket_outside_the_window_is_too_old(void **state) {
  struct fixture x;
  setup(&x);
  struct ticket_use use = use_of(&x, NULL);
  str first = issue_plain(&x, NULL), second = issue_plain(&x, NULL);
  skip_serials(&x, WINDOW - 2);
  assert_int_equal(x.tickets.next, 1 + WINDOW);
  str newest = issue_plain(&x, NULL);
  assert_refused(&x, first, use, "too old");
  assert_true(redeem(&x, second, use));  // the oldest of the window
  assert_refused(&x, second, use, "was used already");
  assert_true(redeem(&x, newest, use));  // its bit lies where that of the first was
  assert_refused(&x, newest, use, "was used already");
  str after = issue_plain(&x, NULL);  // takes the place of the second, which was used
  assert_refused(&x, second, use, "too old");
  assert_true(redeem(&x, after, use));
  assert_refused(&x, after, use, "was used already");
  skip_serials(&x, 10 * (uint64_t)WINDOW);
  assert_refused(&x, after, use, "too old");
  assert_refused(&x, newest, use, "too old");
  done(&x);
}

static void each_of_a_run_of_tickets_longer_than_a_word_of_the_ring_is_used_once(void **state) {
  struct fixture x;
  setup(&x);
  struct ticket_use use = use_of(&x, NULL);
  skip_serials(&x, WINDOW - 100);  // across the end of the ring
  str texts[300];
  for (int i = 0; i < 300; i++) texts[i] = issue_plain(&x, NULL);
  for (int i = 0; i < 300; i += 2) assert_true(redeem(&x, texts[i], use));
  for (int i = 0; i < 300; i += 2) assert_refused(&x, texts[i], use, "was used already");
  for (int i = 1; i < 300; i += 2) assert_true(redeem(&x, texts[i], use));
  for (int i = 0; i < 300; i++) assert_refused(&x, texts[i], use, "was used already");
  done(&x);
}

#ifdef __SANITIZE_ADDRESS__
size_t __sanitizer_get_current_allocated_bytes(void);  // its header is not installed everywhere
#endif

static size_t heap_in_use(void) {
#ifdef __SANITIZE_ADDRESS__
  return __sanitizer_get_current_allocated_bytes();
#else
  return mallinfo2().uordblks;
#endif
}

static void tickets_that_nobody_redeems_take_no_memory(void **state) {
  struct fixture x;
  setup(&x);
  issue_many(&x, 10);  // the libraries have what they keep for themselves
  size_t before = heap_in_use();
  issue_many(&x, 100000);
  assert_null(x.tickets.used);
  assert_int_equal(heap_in_use(), before);
  assert_int_equal(x.tickets.next, 100011);
  done(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_ticket_gives_back_what_it_was_issued_with),
      cmocka_unit_test(a_state_may_be_long),
      cmocka_unit_test(a_ticket_shows_nothing_of_what_is_in_it_and_is_short),
      cmocka_unit_test(a_ticket_is_valid_for_one_retry),
      cmocka_unit_test(a_ticket_expires),
      cmocka_unit_test(a_forged_or_altered_ticket_is_refused),
      cmocka_unit_test(a_ticket_is_for_its_caller_method_and_arguments_only),
      cmocka_unit_test(a_ticket_of_another_process_is_refused),
      cmocka_unit_test(the_same_arguments_may_be_written_differently),
      cmocka_unit_test(no_params_are_the_same_as_empty_ones),
      cmocka_unit_test(arguments_without_a_canonical_form_are_compared_as_they_are_written),
      cmocka_unit_test(numbers_that_grow_when_canonical_are_fine),
      cmocka_unit_test(a_ticket_outside_the_window_is_too_old),
      cmocka_unit_test(each_of_a_run_of_tickets_longer_than_a_word_of_the_ring_is_used_once),
      cmocka_unit_test(tickets_that_nobody_redeems_take_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
