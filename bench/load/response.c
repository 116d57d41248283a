// SPDX-License-Identifier: Apache-2.0
#include "response.h"

#include <stdlib.h>

enum { MAX_BODY = 64 << 20 };

void response_init(struct response *r) {
  *r = (struct response){0};
  buf_init(&r->body, MAX_BODY);
}

void response_done(struct response *r) {
  buf_done(&r->body);
}

void response_reset(struct response *r) {
  struct buf body = r->body;
  *r = (struct response){.body = body};
  buf_reset(&r->body);
}

static bool contains(str s, str needle) {
  return s.n && memmem(s.p, s.n, needle.p, needle.n);
}

static void take_header(struct response *r, str name, str value) {
  uint64_t length;
  if (str_eq_nocase(name, STR("content-length")) && str_to_u64(value, &length)) {
    r->left = length;
    r->state = length ? RESPONSE_BODY : RESPONSE_DONE;
  } else if (str_eq_nocase(name, STR("transfer-encoding"))) {
    r->chunked = contains(value, STR("chunked"));
  } else if (str_eq_nocase(name, STR("connection"))) {
    r->close = contains(value, STR("close"));
  } else if (str_eq_nocase(name, STR("content-type"))) {
    r->events = contains(value, STR("text/event-stream"));
  } else if (str_eq_nocase(name, STR("mcp-session-id")) && value.n < SESSION_MAX) {
    memcpy(r->session, value.p, value.n);
    r->session[value.n] = 0;
  }
}

static void take_head(struct response *r, str head) {
  uint64_t status;
  if (head.n < 12 || !str_starts(head, STR("HTTP/1.1 ")) || !str_to_u64((str){head.p + 9, 3}, &status)) {
    r->state = RESPONSE_BAD;
    return;
  }
  r->status = (int)status;
  r->state = status == 202 || status == 204 ? RESPONSE_DONE : RESPONSE_UNTIL_CLOSE;
  str line, tail, name, value;
  for (str rest = head; str_cut(rest, '\n', &line, &tail); rest = tail) {
    if (!str_cut(line, ':', &name, &value)) continue;
    if (value.n && value.p[value.n - 1] == '\r') value.n--;
    take_header(r, name, str_trim(value));
  }
  if (r->chunked) r->state = RESPONSE_CHUNK_SIZE;
}

// Bytes of the head with its empty line; 0 when it is not complete.
static size_t head_size(str in) {
  const char *end = in.n ? memmem(in.p, in.n, "\r\n\r\n", 4) : NULL;
  return end ? (size_t)(end - in.p) + 4 : 0;
}

static size_t feed_body(struct response *r, str in) {
  size_t k = in.n < r->left ? in.n : r->left;
  // A chunk's CRLF counts in `left` but is no part of the body.
  size_t ending = r->chunked ? 2 : 0;
  size_t content = r->left > ending ? r->left - ending : 0;
  buf_add(&r->body, in.p, k < content ? k : content);
  r->left -= k;
  if (r->left == 0) r->state = r->chunked ? RESPONSE_CHUNK_SIZE : RESPONSE_DONE;
  return k;
}

static size_t feed_chunk_size(struct response *r, str in) {
  const char *end = in.n ? memchr(in.p, '\n', in.n) : NULL;
  if (!end) return 0;
  size_t line = (size_t)(end - in.p) + 1, size = strtoul(in.p, NULL, 16);
  if (size) {
    r->left = size + 2;
    r->state = RESPONSE_BODY;
    return line;
  }
  if (in.n < line + 2) return 0;
  r->state = RESPONSE_DONE;
  return line + 2;
}

// One step; gives the bytes that it used, 0 when it needs more.
static size_t feed_step(struct response *r, str in) {
  size_t k;
  switch (r->state) {
  case RESPONSE_HEAD:
    if ((k = head_size(in))) take_head(r, (str){in.p, k});
    return k;
  case RESPONSE_BODY: return feed_body(r, in);
  case RESPONSE_CHUNK_SIZE: return feed_chunk_size(r, in);
  case RESPONSE_UNTIL_CLOSE:
    r->close = true;
    buf_str(&r->body, in);
    return in.n;
  default: return 0;
  }
}

void response_feed(struct response *r, struct buf *in) {
  str rest = buf_view(in);
  for (size_t k; rest.n && (k = feed_step(r, rest)) > 0;) rest = str_from(rest, k);
  buf_drop(in, in->n - rest.n);
  if (r->body.over) r->state = RESPONSE_BAD;
}

void response_end(struct response *r) {
  if (r->state == RESPONSE_UNTIL_CLOSE) r->state = RESPONSE_DONE;
}

bool response_next_event(struct response *r, struct buf *out) {
  str body = buf_view(&r->body);
  const char *end = body.n ? memmem(body.p, body.n, "\n\n", 2) : NULL;
  if (!end) return false;
  str event = {body.p, (size_t)(end - body.p) + 1}, line, tail;
  buf_reset(out);
  for (; str_cut(event, '\n', &line, &tail); event = tail)
    if (str_starts(line, STR("data:"))) buf_str(out, str_trim(str_from(line, 5)));
  buf_drop(&r->body, (size_t)(end - body.p) + 2);
  return true;
}
