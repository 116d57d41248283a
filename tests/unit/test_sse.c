// SPDX-License-Identifier: Apache-2.0
// io/sse: server-sent events, read and written.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "io/http/sse.h"

static void add_event(void *ctx, const struct sse_event *e) {
  struct buf *log = ctx;
  buf_printf(log, "%.*s", STR_ARG(e->type));
  if (e->id.n || e->has_id) buf_printf(log, e->has_id ? " id=%.*s" : " last=%.*s", STR_ARG(e->id));
  if (e->has_data) {
    buf_str(log, STR(" ["));
    buf_str(log, e->data);
    buf_char(log, ']');
  }
  buf_char(log, ';');
}

// A block of exactly that size, so that reading past its end is found.
static char *exact_copy(str s) {
  char *copy = malloc(s.n ? s.n : 1);
  assert_non_null(copy);
  if (s.n) memcpy(copy, s.p, s.n);
  return copy;
}

static bool feed(struct sse_parser *p, str s) {
  char *copy = exact_copy(s);
  bool ok = sse_feed(p, (str){copy, s.n});
  free(copy);
  return ok;
}

struct outcome {
  bool ok;
  int64_t retry_ms;
  struct buf log;
};

static void start(struct sse_parser *p, struct outcome *o, size_t max) {
  *o = (struct outcome){.ok = true};
  buf_init(&o->log, 65536);
  sse_init(p, max, add_event, &o->log);
}

static void finish(struct sse_parser *p, struct outcome *o) {
  o->retry_ms = p->retry_ms;
  sse_done(p);
}

static void assert_same(struct outcome *pieces, const struct outcome *whole) {
  assert_int_equal(pieces->ok, whole->ok);
  assert_true(pieces->retry_ms == whole->retry_ms);
  str a = buf_view(&pieces->log), b = buf_view(&whole->log);
  if (!str_eq(a, b)) fail_msg("in pieces: %.*s\nas a whole: %.*s", STR_ARG(a), STR_ARG(b));
  buf_done(&pieces->log);
}

// Reads the bytes whole, cut in two at every place, and one by one: with the same outcome.
static struct outcome read_with_limit(str s, size_t max) {
  struct sse_parser p;
  struct outcome whole, pieces;
  start(&p, &whole, max);
  whole.ok = feed(&p, s);
  finish(&p, &whole);
  for (size_t cut = 0; cut <= s.n; cut++) {
    start(&p, &pieces, max);
    feed(&p, (str){s.p, cut});
    pieces.ok = feed(&p, str_from(s, cut));
    finish(&p, &pieces);
    assert_same(&pieces, &whole);
  }
  start(&p, &pieces, max);
  for (size_t i = 0; i < s.n; i++) pieces.ok = feed(&p, (str){s.p + i, 1});
  finish(&p, &pieces);
  assert_same(&pieces, &whole);
  return whole;
}

static void assert_events(str s, const char *want) {
  struct outcome o = read_with_limit(s, 1000);
  assert_true(o.ok);
  if (!str_eq(buf_view(&o.log), str_of(want)))
    fail_msg("%.*s\ngave %.*s instead of %s", STR_ARG(s), STR_ARG(buf_view(&o.log)), want);
  buf_done(&o.log);
}

static void an_event_ends_with_a_blank_line(void **state) {
  assert_events(STR("data: a\n\ndata: b\n\n"), "message [a];message [b];");
  assert_events(STR("data: a\n\ndata: dropped\n"), "message [a];");
  assert_events(STR("data: a\n\ndata: dropped"), "message [a];");
  assert_events(STR("data: dropped"), "");
  assert_events(STR(""), "");
}

static void lines_end_with_lf_cr_or_both(void **state) {
  assert_events(STR("data: a\r\n\r\ndata: b\r\n\r\n"), "message [a];message [b];");
  assert_events(STR("data: a\r\rdata: b\r\r"), "message [a];message [b];");
  assert_events(STR("data: a\n\r\ndata: b\r\n\rdata: c\r\n\n"), "message [a];message [b];message [c];");
  assert_events(STR("data: a\r\ndata: b\rdata: c\n\n"), "message [a\nb\nc];");
  assert_events(STR("data: a\n\r\n\r\n\r\rdata: b\n\n"), "message [a];message [b];");
}

static void data_lines_are_joined(void **state) {
  assert_events(STR("data: a\ndata: b\ndata:\ndata: d\n\n"), "message [a\nb\n\nd];");
  assert_events(STR("data:\ndata:\n\n"), "message [\n];");
  assert_events(STR("data\ndata\n\n"), "message [\n];");
}

static void one_blank_after_the_colon_is_not_part_of_the_value(void **state) {
  assert_events(STR("data:a\n\n"), "message [a];");
  assert_events(STR("data:  a \n\n"), "message [ a ];");
  assert_events(STR("data:\ta\n\n"), "message [\ta];");
  assert_events(STR("data: \n\n"), "message [];");
  assert_events(STR("data:  \n\n"), "message [ ];");
  assert_events(STR("data::a:b\n\n"), "message [:a:b];");
}

static void an_event_may_have_a_type(void **state) {
  assert_events(STR("event: endpoint\ndata: /x\n\ndata: y\n\n"), "endpoint [/x];message [y];");
  assert_events(STR("event: a\nevent: b\ndata: x\n\n"), "b [x];");
  assert_events(STR("event: a\nevent\ndata: x\n\n"), "message [x];");
  assert_events(STR("event: a\n\ndata: x\n\n"), "message [x];");
}

static void an_id_lasts_until_the_next_one(void **state) {
  assert_events(STR("id: 1\ndata: a\n\ndata: b\n\nid: 2\ndata: c\n\n"),
                "message id=1 [a];message last=1 [b];message id=2 [c];");
  assert_events(STR("id: 1\ndata: a\n\nid\ndata: b\n\ndata: c\n\n"), "message id=1 [a];message id= [b];message [c];");
  assert_events(STR("id: 1\nid: 2\ndata: a\n\n"), "message id=2 [a];");
  assert_events(STR("id: 1\n\nid: 2\0\ndata: a\n\n"), "message id=1;message last=1 [a];");
}

static void a_priming_event_is_delivered(void **state) {
  assert_events(STR("id: 7\ndata:\n\n"), "message id=7 [];");
  assert_events(STR("id: 7\n\n"), "message id=7;");
  assert_events(STR("retry: 500\nid: 7\ndata: \n\n"), "message id=7 [];");
  assert_events(STR("data\n\n"), "message [];");
}

static void a_block_without_data_and_id_is_no_event(void **state) {
  assert_events(STR("\n\n\n"), "");
  assert_events(STR(": keep-alive\n\n:\n\n"), "");
  assert_events(STR("retry: 500\n\nevent: x\n\n"), "");
  assert_events(STR("unknown: x\nDATA: x\n data: x\nid\0: 1\n\n"), "");
}

static void comments_are_skipped(void **state) {
  assert_events(STR(": a\ndata: x\n: data: b\n:\ndata: y\n\n"), "message [x\ny];");
}

static void a_byte_order_mark_at_the_start_is_skipped(void **state) {
  assert_events(STR("\xef\xbb\xbf"
                    "data: a\n\n"),
                "message [a];");
  assert_events(STR("\xef\xbb\xbf\ndata: a\n\n"), "message [a];");
  assert_events(STR("\xef\xbb\xbf\xef\xbb\xbf"
                    "data: a\n\n"),
                "");
  assert_events(STR("\xef\xbb"
                    "data: a\n\n"),
                "");
  assert_events(STR("data: a\n\xef\xbb\xbf"
                    "data: b\n\n"),
                "message [a];");
  assert_events(STR("\n\xef\xbb\xbf"
                    "data: b\n\n"),
                "");
}

static void data_may_hold_any_byte_but_line_ends(void **state) {
  struct outcome o = read_with_limit(STR("data: a\0\x80\xff\xef\xbb\xbf\n\n"), 100);
  assert_true(o.ok);
  assert_true(str_eq(buf_view(&o.log), STR("message [a\0\x80\xff\xef\xbb\xbf];")));
  buf_done(&o.log);
  assert_events(STR("data: \xc3\xa4\xf0\x9f\x98\x80\n\n"), "message [\xc3\xa4\xf0\x9f\x98\x80];");
}

static void retry_is_digits_only(void **state) {
  static const struct {
    str bytes;
    int64_t retry_ms;
  } cases[] = {
      {STR("retry: 500\n"), 500},
      {STR("retry:0\n"), 0},
      {STR("retry: 500\nretry: 700\n\n"), 700},
      {STR("retry: 500\nretry: x\n"), 500},
      {STR("retry: 500"), -1},
      {STR("retry: 5 \n"), -1},
      {STR("retry:  5\n"), -1},
      {STR("retry: -5\n"), -1},
      {STR("retry: +5\n"), -1},
      {STR("retry: 5.0\n"), -1},
      {STR("retry:\n"), -1},
      {STR("retry\n"), -1},
      {STR("retry: 9223372036854775807\n"), INT64_MAX},
      {STR("retry: 9223372036854775808\n"), -1},
      {STR("retry: 99999999999999999999\n"), -1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct outcome o = read_with_limit(cases[i].bytes, 100);
    assert_true(o.ok);
    assert_true(o.retry_ms == cases[i].retry_ms);
    buf_done(&o.log);
  }
}

static void assert_limited(str s, size_t max, bool ok, const char *events) {
  struct outcome o = read_with_limit(s, max);
  assert_int_equal(o.ok, ok);
  assert_true(str_eq(buf_view(&o.log), str_of(events)));
  buf_done(&o.log);
}

static void data_on_one_line_may_be_as_long_as_the_limit(void **state) {
  assert_limited(STR("data: 1234\n\n"), 4, true, "message [1234];");
  assert_limited(STR("data: 12345\n\n"), 4, false, "");
  assert_limited(STR("data:1234\n\n"), 4, true, "message [1234];");
  assert_limited(STR("data:12345\n\n"), 4, false, "");
}

static void data_on_several_lines_may_be_as_long_as_the_limit(void **state) {
  assert_limited(STR("data: 1234\ndata: 5678\n\ndata: 9\n\n"), 9, true, "message [1234\n5678];message [9];");
  assert_limited(STR("data: 1234\ndata: 56789\n\n"), 9, false, "");
  assert_limited(STR("data\ndata\ndata\n\n"), 2, true, "message [\n\n];");
  assert_limited(STR("data\ndata\ndata\ndata\n\n"), 2, false, "");
}

static void the_limit_is_reached_at_the_same_byte_in_every_split(void **state) {
  // The line break that joins two data lines counts from the moment the second line is known to be data.
  assert_limited(STR("data: 1234\ndata:"), 4, true, "");
  assert_limited(STR("data: 1234\ndata: "), 4, false, "");
  assert_limited(STR("data: 12\ndata: 34"), 4, false, "");
  assert_limited(STR("data: 12\ndata: 3"), 4, true, "");
}

static void any_other_line_is_limited_too(void **state) {
  assert_limited(STR(":123456789\n"), 4, true, "");
  assert_limited(STR(":1234567890"), 4, false, "");
  assert_limited(STR("data: a\n\n:1234567890\ndata: b\n\n"), 4, false, "message [a];");
  assert_limited(STR("id: 123456\n\n"), 4, true, "message id=123456;");
  assert_limited(STR("id: 1234567\n\n"), 4, false, "");
  assert_limited(STR("event:1234\nid\n\n"), 4, true, "1234 id=;");
}

static void what_is_over_the_limit_stays_so(void **state) {
  struct buf log;
  struct sse_parser p;
  buf_init(&log, 1000);
  sse_init(&p, 10, add_event, &log);
  assert_false(sse_feed(&p, STR("data: far too long")));
  assert_false(sse_feed(&p, STR("\n\ndata: a\n\n")));
  assert_false(sse_feed(&p, STR_NONE));
  assert_int_equal(log.n, 0);
  sse_done(&p);
}

struct listener {
  struct sse_parser *p;
  int events;
};

static void stop_listening(void *ctx, const struct sse_event *e) {
  struct listener *l = ctx;
  l->events++;
  l->p->on_event = NULL;
  assert_true(str_eq(e->data, STR("a")));
}

static void a_listener_may_stop_listening(void **state) {
  struct sse_parser p;
  struct listener l = {.p = &p};
  sse_init(&p, 100, stop_listening, &l);
  assert_true(sse_feed(&p, STR("data: a\n\ndata: b\n\n")));
  assert_true(sse_feed(&p, STR("data: c\n\n")));
  assert_int_equal(l.events, 1);
  sse_done(&p);
}

static void free_parser(void *ctx, const struct sse_event *e) {
  struct listener *l = ctx;
  l->events++;
  sse_done(l->p);
  free(l->p);
}

static void a_listener_may_end_and_free_the_parser(void **state) {
  static const str ends[] = {STR("\n"), STR("\r\n"), STR("\r"), STR("\n\ndata: b\n\n")};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    struct listener l = {.p = malloc(sizeof *l.p)};
    sse_init(l.p, 100, free_parser, &l);
    assert_true(sse_feed(l.p, STR("data: a\nid: 1\n")));
    assert_true(sse_feed(l.p, ends[i]));
    assert_int_equal(l.events, 1);
  }
}

static void a_parser_that_was_ended_hears_nothing(void **state) {
  struct buf log;
  struct sse_parser p;
  buf_init(&log, 100);
  sse_init(&p, 100, add_event, &log);
  sse_done(&p);
  assert_true(sse_feed(&p, STR("data: a\n\n")));
  assert_int_equal(log.n, 0);
  sse_done(&p);
}

static void assert_written(str type, str id, str data, const char *want) {
  struct buf b;
  buf_init(&b, 1000);
  char *copy = exact_copy(data);
  sse_write(&b, type, id, (str){copy, data.n});
  free(copy);
  if (!str_eq(buf_view(&b), str_of(want))) fail_msg("%.*s instead of %s", STR_ARG(buf_view(&b)), want);
  buf_done(&b);
}

static void an_event_is_written_with_what_it_has(void **state) {
  assert_written(STR_NONE, STR_NONE, STR("{}"), "data: {}\n\n");
  assert_written(STR("endpoint"), STR_NONE, STR("/x"), "event: endpoint\ndata: /x\n\n");
  assert_written(STR("message"), STR("7"), STR("x"), "event: message\nid: 7\ndata: x\n\n");
  assert_written(STR_NONE, STR(""), STR("x"), "id: \ndata: x\n\n");
  assert_written(STR(""), STR("7"), STR(""), "id: 7\ndata: \n\n");
}

static void data_is_written_line_by_line(void **state) {
  assert_written(STR_NONE, STR_NONE, STR("a\nb\n\nc"), "data: a\ndata: b\ndata: \ndata: c\n\n");
  assert_written(STR_NONE, STR_NONE, STR("a\r\n"), "data: a\ndata: \n\n");
  assert_written(STR_NONE, STR_NONE, STR("a\n"), "data: a\ndata: \n\n");
  assert_written(STR_NONE, STR_NONE, STR("{\r\n \"a\": 1\r}\r"), "data: {\ndata:  \"a\": 1\ndata: }\ndata: \n\n");
  assert_written(STR_NONE, STR_NONE, STR("\r\r\n\n\r"), "data: \ndata: \ndata: \ndata: \ndata: \n\n");
}

static void an_event_without_data_is_written_with_an_empty_line_of_it(void **state) {
  struct buf b;
  buf_init(&b, 1000);
  sse_write(&b, STR_NONE, STR("7"), STR_NONE);
  assert_true(str_eq(buf_view(&b), STR("id: 7\ndata: \n\n")));
  buf_done(&b);
}

static void no_field_can_break_out_of_its_line(void **state) {
  assert_written(STR("a\ndata: x"), STR("1\r2"), STR("x"), "data: x\n\n");
  assert_written(STR("a\0"), STR("1\0"), STR("x"), "data: x\n\n");
}

static void what_is_written_is_read_again(void **state) {
  static const str texts[] = {
      STR(""), STR("a"), STR(" a"), STR("a\n\nb"), STR("\n"), STR("data: x"), STR(": x"), STR("\xef\xbb\xbf"),
  };
  struct buf b, want;
  buf_init(&b, 1000);
  buf_init(&want, 1000);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    sse_write(&b, STR("t"), STR("i"), texts[i]);
    buf_printf(&want, "t id=i [%.*s];", STR_ARG(texts[i]));
  }
  buf_char(&want, 0);
  assert_events(buf_view(&b), want.p);
  buf_done(&b);
  buf_done(&want);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_event_ends_with_a_blank_line),
      cmocka_unit_test(lines_end_with_lf_cr_or_both),
      cmocka_unit_test(data_lines_are_joined),
      cmocka_unit_test(one_blank_after_the_colon_is_not_part_of_the_value),
      cmocka_unit_test(an_event_may_have_a_type),
      cmocka_unit_test(an_id_lasts_until_the_next_one),
      cmocka_unit_test(a_priming_event_is_delivered),
      cmocka_unit_test(a_block_without_data_and_id_is_no_event),
      cmocka_unit_test(comments_are_skipped),
      cmocka_unit_test(a_byte_order_mark_at_the_start_is_skipped),
      cmocka_unit_test(data_may_hold_any_byte_but_line_ends),
      cmocka_unit_test(retry_is_digits_only),
      cmocka_unit_test(data_on_one_line_may_be_as_long_as_the_limit),
      cmocka_unit_test(data_on_several_lines_may_be_as_long_as_the_limit),
      cmocka_unit_test(the_limit_is_reached_at_the_same_byte_in_every_split),
      cmocka_unit_test(any_other_line_is_limited_too),
      cmocka_unit_test(what_is_over_the_limit_stays_so),
      cmocka_unit_test(a_listener_may_stop_listening),
      cmocka_unit_test(a_listener_may_end_and_free_the_parser),
      cmocka_unit_test(a_parser_that_was_ended_hears_nothing),
      cmocka_unit_test(an_event_is_written_with_what_it_has),
      cmocka_unit_test(data_is_written_line_by_line),
      cmocka_unit_test(an_event_without_data_is_written_with_an_empty_line_of_it),
      cmocka_unit_test(no_field_can_break_out_of_its_line),
      cmocka_unit_test(what_is_written_is_read_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
