// SPDX-License-Identifier: Apache-2.0
// The HTTP codec. The first byte says what the rest is: q request head, r response head, c chunked body, u URL.
// The second says in pieces of what size it comes, which must not matter.
#include <stdlib.h>

#include "base/assert.h"
#include "base/buf.h"
#include "io/http/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

typedef long parse_fn(const char *p, size_t n, const struct http_limits *limits, size_t *seen, struct http_head *out,
                      struct http_error *err);

static const struct http_limits limits = {.max_head = 2048, .max_body = 1 << 20};

// A block of exactly that size, so that reading past its end is found.
static char *exact_copy(str s) {
  char *p = malloc(s.n ? s.n : 1);
  ASSERT(p);
  if (s.n) memcpy(p, s.p, s.n);
  return p;
}

static long parse_growing(parse_fn *fn, str s, size_t step, struct http_error *err) {
  struct http_head h;
  size_t seen = 0;
  for (size_t n = 0;; n += step) {
    if (n > s.n) n = s.n;
    char *copy = exact_copy((str){s.p, n});
    long r = fn(copy, n, &limits, &seen, &h, err);
    free(copy);
    if (r != HTTP_MORE || n == s.n) return r;
  }
}

static void write_head(struct buf *b, const struct http_head *h, bool request) {
  if (request) buf_printf(b, "%.*s %.*s HTTP/1.%d\r\n", STR_ARG(h->method), STR_ARG(h->target), h->minor);
  else buf_printf(b, "HTTP/1.%d %d \r\n", h->minor, h->status);
  for (size_t i = 0; i < h->header_count; i++) {
    buf_str(b, h->headers[i].name);
    buf_char(b, ':');
    buf_str(b, h->headers[i].value);
    buf_str(b, STR("\r\n"));
  }
  buf_str(b, STR("\r\n"));
}

static void check_lines(str head) {
  for (size_t i = 0; i < head.n; i++) {
    char c = head.p[i];
    if (c == '\n') ASSERT(i > 0 && head.p[i - 1] == '\r');
    else if (c == '\r') ASSERT(i + 1 < head.n && head.p[i + 1] == '\n');
    else ASSERT(c != 0x7f && ((unsigned char)c >= ' ' || c == '\t'));
  }
}

// What was accepted, written down again from its parts, is accepted as the same.
static void check_head(parse_fn *fn, str head, const struct http_head *h, bool request) {
  check_lines(head);
  ASSERT(!(h->has_length && h->chunked));
  ASSERT(h->has_length ? h->content_length <= limits.max_body : h->content_length == 0);
  ASSERT(!request || (h->host.n && http_count(h, STR("host")) == 1));
  struct buf b;
  struct http_head again;
  struct http_error err;
  size_t seen = 0;
  buf_init(&b, 8192);
  write_head(&b, h, request);
  ASSERT(fn(b.p, b.n, &limits, &seen, &again, &err) == (long)b.n || b.n > limits.max_head);
  if (b.n <= limits.max_head) {
    ASSERT(again.header_count == h->header_count && again.content_length == h->content_length);
    ASSERT(again.chunked == h->chunked && again.keep_alive == h->keep_alive);
    for (size_t i = 0; i < h->header_count; i++) ASSERT(str_eq(again.headers[i].value, h->headers[i].value));
  }
  buf_done(&b);
}

static void fuzz_head(parse_fn *fn, str s, size_t step, bool request) {
  struct http_head h;
  struct http_error err = {0, NULL}, piecewise = {0, NULL};
  size_t seen = 0;
  char *copy = exact_copy(s);
  long r = fn(copy, s.n, &limits, &seen, &h, &err);
  ASSERT(parse_growing(fn, s, step, &piecewise) == r);
  if (r == HTTP_BAD) ASSERT(err.status == piecewise.status && strcmp(err.text, piecewise.text) == 0);
  if (r > 0) check_head(fn, (str){copy, (size_t)r}, &h, request);
  free(copy);
}

static enum http_chunk_result decode(str s, size_t step, struct buf *body, size_t *out_used) {
  struct http_chunked c = {0};
  enum http_chunk_result r = HTTP_CHUNK_MORE;
  for (size_t at = 0; at < s.n && r == HTTP_CHUNK_MORE; at += step) {
    size_t n = s.n - at < step ? s.n - at : step;
    char *copy = exact_copy((str){s.p + at, n});
    str piece, in = {copy, n};
    while ((r = http_chunk_next(&c, &in, &piece)) == HTTP_CHUNK_DATA) buf_str(body, piece);
    *out_used = at + n - in.n;
    free(copy);
  }
  return r;
}

static void fuzz_chunked(str s, size_t step) {
  struct buf whole, pieces;
  size_t used = 0, used_in_pieces = 0;
  buf_init(&whole, s.n);
  buf_init(&pieces, s.n);
  enum http_chunk_result r = s.n ? decode(s, s.n, &whole, &used) : HTTP_CHUNK_MORE;
  ASSERT(decode(s, step, &pieces, &used_in_pieces) == r);
  ASSERT(used == used_in_pieces && str_eq(buf_view(&whole), buf_view(&pieces)));
  buf_done(&whole);
  buf_done(&pieces);
}

static void fuzz_url(str s) {
  struct http_url u;
  char *copy = exact_copy(s);
  if (http_url_parse((str){copy, s.n}, &u)) {
    ASSERT(u.host.n && u.authority.n >= u.host.n && u.target.n && u.target.p[0] == '/' && u.port);
    // Authority and target, as they will be sent, cannot hold a line of their own.
    for (size_t i = 0; i < s.n; i++) ASSERT(copy[i] > ' ' && copy[i] != 0x7f);
  }
  free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  if (n < 2) return 0;
  str s = {(const char *)data + 2, n - 2};
  size_t step = data[1] % 32 + 1;
  http_list_has(s, STR("close"));
  switch (data[0]) {
  case 'q': fuzz_head(http_parse_request, s, step, true); break;
  case 'r': fuzz_head(http_parse_response, s, step, false); break;
  case 'c': fuzz_chunked(s, step); break;
  case 'u': fuzz_url(s); break;
  default: return -1;
  }
  return 0;
}
