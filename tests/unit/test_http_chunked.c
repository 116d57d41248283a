// SPDX-License-Identifier: Apache-2.0
// io/http: chunked bodies.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "io/http/http.h"

static void assert_str(str have, const char *want) {
  if (!str_eq(have, str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(have), want);
}

// Decodes s in pieces of `step` bytes; the rest is what the decoder left of s.
static enum http_chunk_result decode(str s, size_t step, struct buf *body, str *rest) {
  struct http_chunked c = {0};
  enum http_chunk_result r = HTTP_CHUNK_MORE;
  for (size_t at = 0; at < s.n && r == HTTP_CHUNK_MORE; at += step) {
    size_t n = s.n - at < step ? s.n - at : step;
    str piece, in = {s.p + at, n};
    while ((r = http_chunk_next(&c, &in, &piece)) == HTTP_CHUNK_DATA) {
      assert_true(piece.n > 0);
      buf_str(body, piece);
    }
    if (r == HTTP_CHUNK_MORE) assert_int_equal(in.n, 0);
    *rest = str_from(s, at + n - in.n);
  }
  return r;
}

static void assert_decodes(str s, const char *body, const char *rest) {
  for (size_t step = 1; step <= s.n; step++) {
    struct buf b;
    str left = STR_NONE;
    buf_init(&b, 1000);
    assert_int_equal(decode(s, step, &b, &left), HTTP_CHUNK_DONE);
    assert_str(buf_view(&b), body);
    assert_str(left, rest);
    buf_done(&b);
  }
}

static void a_chunked_body_is_decoded_in_any_pieces(void **state) {
  assert_decodes(STR("0\r\n\r\n"), "", "");
  assert_decodes(STR("5\r\nhello\r\n0\r\n\r\n"), "hello", "");
  assert_decodes(STR("5\r\nhello\r\nB\r\n, \r\n\r\n0\r\n\r\n\r\n0\r\n\r\nGET /"), "hello, \r\n\r\n0\r\n\r\n", "GET /");
  assert_decodes(STR("9\r\n012345678\r\n0\r\n\r\n"), "012345678", "");
  assert_decodes(STR("00a\r\n0123456789\r\n1\r\n!\r\n000\r\n\r\n\r\n"), "0123456789!", "\r\n");
}

static void a_chunk_is_handed_on_before_it_is_complete(void **state) {
  struct http_chunked c = {0};
  str piece, in = STR("fffffffffffffff\r\nabc");
  assert_int_equal(http_chunk_next(&c, &in, &piece), HTTP_CHUNK_DATA);
  assert_str(piece, "abc");
  assert_int_equal(http_chunk_next(&c, &in, &piece), HTTP_CHUNK_MORE);
  assert_true(c.left == 0xfffffffffffffff - 3);
}

static const str bad_chunks[] = {
    STR("\r\n"),
    STR("x"),
    STR("0x5\r\nhello\r\n0\r\n\r\n"),
    STR("+5\r\nhello\r\n0\r\n\r\n"),
    STR("-5\r\nhello\r\n0\r\n\r\n"),
    STR(" 5\r\nhello\r\n0\r\n\r\n"),
    STR("5 \r\nhello\r\n0\r\n\r\n"),
    STR("5\t\r\nhello\r\n0\r\n\r\n"),
    STR("5;ext=1\r\nhello\r\n0\r\n\r\n"),
    STR("5;\r\nhello\r\n0\r\n\r\n"),
    STR("5\nhello\r\n0\r\n\r\n"),
    STR("5\rhello\r\n0\r\n\r\n"),
    STR("5\r\r\nhello\r\n0\r\n\r\n"),
    STR("5\0\r\nhello\r\n0\r\n\r\n"),
    STR("g\r\n"),
    STR("G\r\n"),
    STR("@\r\n"),
    STR("`\r\n"),
    STR("1_0\r\n"),
    STR("0000000000000005\r\nhello\r\n0\r\n\r\n"),
    STR("ffffffffffffffff\r\n"),
    STR("10000000000000005\r\nhello\r\n0\r\n\r\n"),
    STR("5\r\nhelloo\r\n0\r\n\r\n"),
    STR("5\r\nhell\r\n0\r\n\r\n"),
    STR("5\r\nhello\n0\r\n\r\n"),
    STR("5\r\nhello\r0\r\n\r\n"),
    STR("5\r\nhelloXX0\r\n\r\n"),
    STR("5\r\nhello0\r\n\r\n"),
    STR("5\r\nhello\r\n\r\n"),
    STR("5\r\nhello\r\n0\r\nTrailer: 1\r\n\r\n"),
    STR("0\r\nX"),
    STR("0\r\n\n"),
    STR("0\r\n\rX"),
    STR("0\n\n"),
};

static void a_chunk_that_is_not_plain_is_refused(void **state) {
  for (size_t i = 0; i < sizeof bad_chunks / sizeof *bad_chunks; i++) {
    for (size_t step = 1; step <= bad_chunks[i].n; step++) {
      struct buf b;
      str rest = STR_NONE;
      buf_init(&b, 1000);
      if (decode(bad_chunks[i], step, &b, &rest) != HTTP_CHUNK_BAD) fail_msg("%.*s passed", STR_ARG(bad_chunks[i]));
      buf_done(&b);
    }
  }
}

static void the_end_of_a_chunked_body_is_final(void **state) {
  struct http_chunked c = {0};
  str piece, in = STR("0\r\n\r\n5\r\nhello\r\n");
  assert_int_equal(http_chunk_next(&c, &in, &piece), HTTP_CHUNK_DONE);
  assert_int_equal(http_chunk_next(&c, &in, &piece), HTTP_CHUNK_DONE);
  assert_str(in, "5\r\nhello\r\n");

  c = (struct http_chunked){0};
  in = STR("x5\r\nhello\r\n");
  assert_int_equal(http_chunk_next(&c, &in, &piece), HTTP_CHUNK_BAD);
  assert_int_equal(http_chunk_next(&c, &in, &piece), HTTP_CHUNK_BAD);
  assert_str(in, "5\r\nhello\r\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_chunked_body_is_decoded_in_any_pieces),
      cmocka_unit_test(a_chunk_is_handed_on_before_it_is_complete),
      cmocka_unit_test(a_chunk_that_is_not_plain_is_refused),
      cmocka_unit_test(the_end_of_a_chunked_body_is_final),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
