// SPDX-License-Identifier: Apache-2.0
// io/http: request and response heads.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "http_probes.h"
#include "io/http/http.h"

typedef long parse_fn(const char *p, size_t n, const struct http_limits *limits, size_t *seen, struct http_head *out,
                      struct http_error *err);

static const struct http_limits roomy = {.max_head = 16384, .max_body = 1 << 20};

// The input of the last parse, in a block of exactly its size, so that reading past its end is found.
static char *input;

static char *exact_copy(str s) {
  char *p = malloc(s.n ? s.n : 1);
  assert_non_null(p);
  if (s.n) memcpy(p, s.p, s.n);
  return p;
}

static int forget_input(void **state) {
  free(input);
  input = NULL;
  return 0;
}

// As a connection would: more and more of the bytes, always with the same `seen`, until there is a result.
static long parse_growing(parse_fn *fn, str s, size_t step, const struct http_limits *limits, struct http_error *err) {
  struct http_head h;
  size_t seen = 0;
  for (size_t n = 0;; n += step) {
    if (n > s.n) n = s.n;
    char *copy = exact_copy((str){s.p, n});
    long r = fn(copy, n, limits, &seen, &h, err);
    free(copy);
    if (r != HTTP_MORE || n == s.n) return r;
  }
}

static long parse(parse_fn *fn, str s, const struct http_limits *limits, struct http_head *h, struct http_error *err) {
  free(input);
  input = exact_copy(s);
  size_t seen = 0;
  *err = (struct http_error){0, NULL};
  long r = fn(input, s.n, limits, &seen, h, err);
  for (size_t step = 1; step < 8; step++) {
    struct http_error piecewise = {0, NULL};
    assert_int_equal(parse_growing(fn, s, step, limits, &piecewise), r);
    assert_int_equal(piecewise.status, err->status);
    if (r == HTTP_BAD) assert_string_equal(piecewise.text, err->text);
  }
  return r;
}

static struct http_head request(const char *text) {
  struct http_head h;
  struct http_error err;
  assert_int_equal(parse(http_parse_request, str_of(text), &roomy, &h, &err), strlen(text));
  return h;
}

static struct http_head response(const char *text) {
  struct http_head h;
  struct http_error err;
  assert_int_equal(parse(http_parse_response, str_of(text), &roomy, &h, &err), strlen(text));
  return h;
}

static void assert_str(str have, const char *want) {
  if (!str_eq(have, str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(have), want);
}

static void a_request_is_taken_apart(void **state) {
  struct http_head h = request("POST /mcp/a%20b?x=1&y=?2 HTTP/1.1\r\n"
                               "Host: tools.example:8080\r\n"
                               "content-LENGTH: 12\r\n"
                               "Accept:\t application/json, text/event-stream \t\r\n"
                               "X-Empty:\r\n"
                               "X-Blank: \t\r\n"
                               "X-Text: a\tb \xc3\xa4\r\n\r\n");
  assert_str(h.method, "POST");
  assert_str(h.target, "/mcp/a%20b?x=1&y=?2");
  assert_str(h.path, "/mcp/a%20b");
  assert_str(h.query, "x=1&y=?2");
  assert_str(h.host, "tools.example:8080");
  assert_int_equal(h.minor, 1);
  assert_int_equal(h.header_count, 6);
  assert_true(h.has_length && h.keep_alive && !h.chunked && !h.expect_continue);
  assert_int_equal(h.content_length, 12);
  assert_str(http_value(&h, STR("ACCEPT")), "application/json, text/event-stream");
  assert_str(http_value(&h, STR("x-text")), "a\tb \xc3\xa4");
  assert_non_null(http_value(&h, STR("x-empty")).p);
  assert_int_equal(http_value(&h, STR("x-empty")).n, 0);
  assert_non_null(http_find(&h, STR("x-blank")));
  assert_int_equal(http_value(&h, STR("x-blank")).n, 0);
  assert_null(http_value(&h, STR("x-other")).p);
  assert_null(http_find(&h, STR("")));
}

static void a_path_without_a_query_has_none(void **state) {
  struct http_head h = request("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  assert_str(h.path, "/");
  assert_null(h.query.p);
  assert_false(h.has_length);
  h = request("GET /? HTTP/1.1\r\nHost: h\r\n\r\n");
  assert_str(h.path, "/");
  assert_non_null(h.query.p);
  assert_int_equal(h.query.n, 0);
}

static void an_asterisk_is_a_target_of_options(void **state) {
  struct http_head h = request("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n");
  assert_str(h.target, "*");
  assert_str(h.path, "*");
}

static void a_repeated_header_is_counted_and_its_first_value_found(void **state) {
  struct http_head h = request("GET / HTTP/1.1\r\nX-A: 1\r\nHost: h\r\nx-a: 2\r\nX-A: 3\r\nX-B: 4\r\nX-A: 5\r\n\r\n");
  assert_str(http_value(&h, STR("X-A")), "1");
  assert_int_equal(http_count(&h, STR("X-a")), 4);
  assert_int_equal(http_count(&h, STR("x-b")), 1);
  assert_int_equal(http_count(&h, STR("x-c")), 0);
}

static void a_chunked_request_has_no_length(void **state) {
  struct http_head h = request("POST / HTTP/1.1\r\nHost: h\r\ntransfer-encoding: Chunked\r\n\r\n");
  assert_true(h.chunked && !h.has_length);
}

static void a_name_that_only_resembles_a_known_one_means_nothing(void **state) {
  struct http_head h = request("POST / HTTP/1.1\r\n"
                               "Host: h\r\n"
                               "Hash: a b\r\n"
                               "Except: x\r\n"
                               "Correction: close\r\n"
                               "Content-Lenght: x\r\n"
                               "Transfer-Encodino: gzip\r\n\r\n");
  assert_true(h.keep_alive && !h.has_length && !h.chunked && !h.expect_continue);
  assert_str(h.host, "h");
}

static void what_follows_the_head_does_not_matter(void **state) {
  static const char text[] = "GET / HTTP/1.1\r\nHost: h\r\n\r\n\n\r\n:\r\n\r\nGET / HTTP/9.9\r\n\r\n";
  struct http_head h;
  struct http_error err;
  assert_int_equal(parse(http_parse_request, str_of(text), &roomy, &h, &err), 27);
  assert_int_equal(h.header_count, 1);
}

static void heads_that_follow_each_other_are_parsed_one_by_one(void **state) {
  static const char text[] = "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n";
  struct http_head h;
  struct http_error err;
  size_t seen = 0, n = sizeof text - 1;
  assert_int_equal(http_parse_request(text, 20, &roomy, &seen, &h, &err), HTTP_MORE);
  assert_int_equal(seen, 20);
  long first = http_parse_request(text, n, &roomy, &seen, &h, &err);
  assert_int_equal(first, 28);
  assert_int_equal(seen, 0);
  assert_int_equal(http_parse_request(text + first, n - (size_t)first, &roomy, &seen, &h, &err), 28);
  assert_str(h.path, "/2");
}

static void a_connection_is_kept_as_version_and_tokens_say(void **state) {
  static const struct {
    const char *version, *headers;
    bool keep;
  } cases[] = {
      {"1.1", "", true},
      {"1.1", "Connection: close\r\n", false},
      {"1.1", "Connection: Close\r\n", false},
      {"1.1", "Connection: keep-alive\r\n", true},
      {"1.1", "Connection: upgrade , close\r\n", false},
      {"1.1", "Connection: keep-alive\r\nconnection: close\r\n", false},
      {"1.1", "Connection: closed\r\n", true},
      {"1.1", "Connection:\r\n", true},
      {"1.0", "", false},
      {"1.0", "Connection: keep-alive\r\n", true},
      {"1.0", "Connection: Keep-Alive, foo\r\n", true},
      {"1.0", "Connection: keep-alive, close\r\n", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[200];
    snprintf(text, sizeof text, "GET / HTTP/%s\r\nHost: h\r\n%s\r\n", cases[i].version, cases[i].headers);
    assert_int_equal(request(text).keep_alive, cases[i].keep);
    snprintf(text, sizeof text, "HTTP/%s 200 OK\r\n%s\r\n", cases[i].version, cases[i].headers);
    assert_int_equal(response(text).keep_alive, cases[i].keep);
  }
}

static void a_client_that_waits_for_100_is_noticed(void **state) {
  assert_true(request("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\n\r\n").expect_continue);
  assert_false(request("POST / HTTP/1.0\r\nHost: h\r\nExpect: 100-continue\r\n\r\n").expect_continue);
}

static void any_host_and_port_is_a_host(void **state) {
  static const char *hosts[] = {"h", "EXAMPLE.org", "127.0.0.1:65535", "[::1]", "[fe80::1]:80", "my_host-1.local:8080"};
  for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
    char text[100];
    snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", hosts[i]);
    assert_str(request(text).host, hosts[i]);
  }
}

static void a_request_that_parsers_could_read_differently_is_refused(void **state) {
  for (size_t i = 0; i < sizeof http_probes / sizeof *http_probes; i++) {
    struct http_head h;
    struct http_error err;
    long r = parse(http_parse_request, http_probes[i].bytes, &roomy, &h, &err);
    if (r != HTTP_BAD || err.status != http_probes[i].status || !err.text || !*err.text)
      fail_msg("%.*s\ngave %ld, %d instead of %d", STR_ARG(http_probes[i].bytes), r, err.status, http_probes[i].status);
  }
}

static void a_refusal_says_what_is_wrong(void **state) {
  static const struct {
    const char *line, *text;
  } cases[] = {
      {" folded", "folded header line"},
      {"\tfolded", "folded header line"},
      {"X : 1", "blank between a header name and its colon"},
      {"X\t: 1", "blank between a header name and its colon"},
      {"X{}: 1", "malformed header name"},
      {"X: \001", "unexpected character in a line of the head"},
      {"X: 1\r2", "carriage return without a line feed"},
      {"X: 1\n2", "line feed without a carriage return"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[100];
    struct http_head h;
    struct http_error err;
    snprintf(text, sizeof text, LINE HOST "%s\r\n" END, cases[i].line);
    assert_int_equal(parse(http_parse_request, str_of(text), &roomy, &h, &err), HTTP_BAD);
    assert_string_equal(err.text, cases[i].text);
  }
}

static void a_line_that_is_wrong_is_refused_before_the_head_ends(void **state) {
  static const char text[] = "GET / HTTP/1.1\r\nBad Header: 1\r\n";
  struct http_head h;
  struct http_error err;
  assert_int_equal(parse(http_parse_request, str_of(text), &roomy, &h, &err), HTTP_BAD);
}

static void an_unfinished_head_waits_for_more(void **state) {
  static const char *starts[] = {
      "", "G", "GET", "GET / HTTP/9", LINE, LINE "Ho", LINE "Host: h\r", LINE HOST, LINE HOST "\r",
  };
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
    struct http_head h;
    struct http_error err;
    assert_int_equal(parse(http_parse_request, str_of(starts[i]), &roomy, &h, &err), HTTP_MORE);
  }
}

static void every_byte_is_either_a_part_of_a_name_or_refused(void **state) {
  for (int c = 0; c < 256; c++) {
    char text[] = LINE HOST "X_: 1\r\n" END;
    text[sizeof LINE HOST "X" - 1] = (char)c;
    bool token = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                 (c && strchr("!#$%&'*+-.^_`|~", c)) || c == ':';
    struct http_head h;
    struct http_error err;
    long r = parse(http_parse_request, (str){text, sizeof text - 1}, &roomy, &h, &err);
    if ((r > 0) != token) fail_msg("byte %d in a header name gave %ld", c, r);
  }
}

static void every_byte_is_either_a_part_of_a_value_or_refused(void **state) {
  // At each place in a word of eight bytes, as the parser looks at so many at once.
  for (int c = 0; c < 256; c++) {
    for (size_t at = 0; at < 16; at++) {
      char text[] = LINE HOST "X: 0123456789abcdefghij\r\n" END;
      text[sizeof LINE HOST "X: 0" - 1 + at] = (char)c;
      bool value = c == '\t' || (c >= ' ' && c != 0x7f);
      struct http_head h;
      struct http_error err;
      size_t seen = 0;
      long r = http_parse_request(text, sizeof text - 1, &roomy, &seen, &h, &err);
      if ((r > 0) != value) fail_msg("byte %d in a header value gave %ld", c, r);
    }
  }
}

static long parse_limited(str s, size_t max_head, int *out_status) {
  struct http_head h;
  struct http_error err;
  struct http_limits limits = {.max_head = max_head, .max_body = 10};
  long r = parse(http_parse_request, s, &limits, &h, &err);
  *out_status = err.status;
  return r;
}

static void a_head_may_be_as_large_as_the_limit_and_no_larger(void **state) {
  static const char text[] = "GET /a HTTP/1.1\r\nHost: h\r\nX: 1\r\n\r\nand a body";
  long head = sizeof "GET /a HTTP/1.1\r\nHost: h\r\nX: 1\r\n\r\n" - 1;
  int status = 0;
  for (size_t max = 0; max < sizeof text; max++) {
    long r = parse_limited(str_of(text), max, &status);
    assert_int_equal(r, max >= (size_t)head ? head : HTTP_BAD);
    if (r == HTTP_BAD) assert_int_equal(status, max < 17 ? 414 : 431);
  }
  assert_int_equal(parse_limited((str){text, 20}, 21, &status), HTTP_MORE);
  assert_int_equal(parse_limited((str){text, 20}, 20, &status), HTTP_BAD);
}

static void a_body_may_be_as_large_as_the_limit_and_no_larger(void **state) {
  int status = 0;
  assert_true(parse_limited(STR(LINE HOST "Content-Length: 10\r\n" END), 1000, &status) > 0);
  assert_int_equal(parse_limited(STR(LINE HOST "Content-Length: 11\r\n" END), 1000, &status), HTTP_BAD);
  assert_int_equal(status, 413);

  struct http_head h;
  struct http_error err;
  struct http_limits any = {.max_head = 1000, .max_body = 0};
  str large = STR(LINE HOST "Content-Length: 999999999999999999\r\n" END);
  assert_true(parse(http_parse_request, large, &any, &h, &err) > 0);
  assert_true(h.content_length == 999999999999999999);
}

static void there_are_at_most_64_headers(void **state) {
  struct buf b;
  buf_init(&b, 4096);
  buf_str(&b, STR(LINE HOST));
  for (int i = 1; i < HTTP_MAX_HEADERS; i++) buf_printf(&b, "X-%d: %d\r\n", i, i);
  struct http_head h;
  struct http_error err;
  size_t lines = b.n;
  buf_str(&b, STR(END));
  assert_int_equal(parse(http_parse_request, buf_view(&b), &roomy, &h, &err), b.n);
  assert_int_equal(h.header_count, HTTP_MAX_HEADERS);
  assert_str(http_value(&h, STR("x-63")), "63");
  assert_null(http_find(&h, STR("x-64")));

  b.n = lines;
  buf_str(&b, STR("X-64: 64\r\n" END));
  assert_int_equal(parse(http_parse_request, buf_view(&b), &roomy, &h, &err), HTTP_BAD);
  assert_int_equal(err.status, 431);
  buf_done(&b);
}

static void a_response_is_taken_apart(void **state) {
  struct http_head h = response("HTTP/1.1 404 Not \xc3\xa4 Found\r\n"
                                "Content-Length: 3\r\n"
                                "Host: a b\r\n"
                                "Expect: x\r\n\r\n");
  assert_int_equal(h.status, 404);
  assert_int_equal(h.minor, 1);
  assert_true(h.has_length);
  assert_int_equal(h.content_length, 3);
  assert_null(h.method.p);
  assert_int_equal(response("HTTP/1.0 200 \r\n\r\n").status, 200);
  assert_int_equal(response("HTTP/1.1 100 Continue\r\n\r\n").status, 100);
  assert_int_equal(response("HTTP/1.1 599\r\n\r\n").status, 599);
  assert_true(response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").chunked);
  assert_false(response("HTTP/1.1 200 OK\r\n\r\n").has_length);
}

static const str bad_responses[] = {
    STR("\r\nHTTP/1.1 200 OK\r\n\r\n"),
    STR("<html>"),
    STR("HTTP/1.1\r\n\r\n"),
    STR("HTTP/1.1 \r\n\r\n"),
    STR("HTTP/1.1 20\r\n\r\n"),
    STR("HTTP/1.1 2000 OK\r\n\r\n"),
    STR("HTTP/1.1 200OK\r\n\r\n"),
    STR("HTTP/1.1 099 OK\r\n\r\n"),
    STR("HTTP/1.1 600 OK\r\n\r\n"),
    STR("HTTP/1.1 +20 OK\r\n\r\n"),
    STR("HTTP/1.1  200 OK\r\n\r\n"),
    STR("HTTP/1.1\t200 OK\r\n\r\n"),
    STR("HTTP/2.0 200 OK\r\n\r\n"),
    STR("HTTP/2 200\r\n\r\n"),
    STR("HTTP/1.1 200 O\0K\r\n\r\n"),
    STR("HTTP/1.1 200 OK\n\n"),
    STR("HTTP/1.1 200\n"),
    STR("HTTP/1.1 20\n"),
    STR("HTTP/1.1 200 OK\rX: 1\r\n\r\n"),
    STR("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n"),
    STR("HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n"),
    STR("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
    STR("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
    STR("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
    STR("HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n"),
    STR("HTTP/1.1 200 OK\r\nX: 1\r\n folded\r\n\r\n"),
    STR("HTTP/1.1 200 OK\r\nX : 1\r\n\r\n"),
    STR("HTTP/1.1 200 OK\r\nX: 1\n\r\n"),
};

static void a_response_in_doubt_is_a_bad_gateway(void **state) {
  for (size_t i = 0; i < sizeof bad_responses / sizeof *bad_responses; i++) {
    struct http_head h;
    struct http_error err;
    long r = parse(http_parse_response, bad_responses[i], &roomy, &h, &err);
    if (r != HTTP_BAD || err.status != 502) fail_msg("%.*s\ngave %ld, %d", STR_ARG(bad_responses[i]), r, err.status);
  }
}

static void a_response_of_another_version_is_named_as_that(void **state) {
  struct http_head h;
  struct http_error err;
  assert_int_equal(parse(http_parse_response, STR("HTTP/2.0 200 OK\r\n"), &roomy, &h, &err), HTTP_BAD);
  assert_string_equal(err.text, "unsupported HTTP version: only 1.0 and 1.1 are supported");
}

static void a_list_is_searched_item_by_item(void **state) {
  static const struct {
    const char *list, *token;
    bool found;
  } cases[] = {
      {"application/json, text/event-stream", "text/event-stream", true},
      {"application/json,text/event-stream", "application/json", true},
      {"application/json,text/event-stream", "text/event-stream", true},
      {"Application/JSON; charset=utf-8", "application/json", true},
      {"a ;q=0.5\t,\tb", "b", true},
      {",, close ,", "close", true},
      {"application/jsonp", "application/json", false},
      {"application", "application/json", false},
      {"x; title=\"a, close, b\"", "close", false},
      {"x; title=\"\\\", close\", keep-alive", "close", false},
      {"x; title=\"\\\", close\", keep-alive", "keep-alive", true},
      {"x; title=\"open, close", "close", false},
      {"", "close", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    str list = str_of(cases[i].list);
    char *copy = exact_copy(list);
    bool found = http_list_has((str){copy, list.n}, str_of(cases[i].token));
    if (found != cases[i].found) fail_msg("%s in %s", cases[i].token, cases[i].list);
    free(copy);
  }
  assert_false(http_list_has(STR_NONE, STR("close")));
}

static void a_status_has_its_reason(void **state) {
  assert_string_equal(http_reason(200), "OK");
  assert_string_equal(http_reason(431), "Request Header Fields Too Large");
  assert_string_equal(http_reason(599), "Unknown");
  assert_string_equal(http_reason(-1), "Unknown");
  // Whatever the parser answers with is known.
  for (size_t i = 0; i < sizeof http_probes / sizeof *http_probes; i++)
    assert_string_not_equal(http_reason(http_probes[i].status), "Unknown");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_request_is_taken_apart),
      cmocka_unit_test(a_path_without_a_query_has_none),
      cmocka_unit_test(an_asterisk_is_a_target_of_options),
      cmocka_unit_test(a_repeated_header_is_counted_and_its_first_value_found),
      cmocka_unit_test(a_chunked_request_has_no_length),
      cmocka_unit_test(a_name_that_only_resembles_a_known_one_means_nothing),
      cmocka_unit_test(what_follows_the_head_does_not_matter),
      cmocka_unit_test(heads_that_follow_each_other_are_parsed_one_by_one),
      cmocka_unit_test(a_connection_is_kept_as_version_and_tokens_say),
      cmocka_unit_test(a_client_that_waits_for_100_is_noticed),
      cmocka_unit_test(any_host_and_port_is_a_host),
      cmocka_unit_test(a_request_that_parsers_could_read_differently_is_refused),
      cmocka_unit_test(a_refusal_says_what_is_wrong),
      cmocka_unit_test(a_line_that_is_wrong_is_refused_before_the_head_ends),
      cmocka_unit_test(an_unfinished_head_waits_for_more),
      cmocka_unit_test(every_byte_is_either_a_part_of_a_name_or_refused),
      cmocka_unit_test(every_byte_is_either_a_part_of_a_value_or_refused),
      cmocka_unit_test(a_head_may_be_as_large_as_the_limit_and_no_larger),
      cmocka_unit_test(a_body_may_be_as_large_as_the_limit_and_no_larger),
      cmocka_unit_test(there_are_at_most_64_headers),
      cmocka_unit_test(a_response_is_taken_apart),
      cmocka_unit_test(a_response_in_doubt_is_a_bad_gateway),
      cmocka_unit_test(a_response_of_another_version_is_named_as_that),
      cmocka_unit_test(a_list_is_searched_item_by_item),
      cmocka_unit_test(a_status_has_its_reason),
  };
  return cmocka_run_group_tests(tests, NULL, forget_input);
}
