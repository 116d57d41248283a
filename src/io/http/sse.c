// SPDX-License-Identifier: Apache-2.0
#include "io/http/sse.h"

#include "base/assert.h"

enum { KEEP = 65536 };

void sse_init(struct sse_parser *p, size_t max_event, void (*on_event)(void *ctx, const struct sse_event *),
              void *ctx) {
  *p = (struct sse_parser){.at_start = true, .retry_ms = -1, .on_event = on_event, .ctx = ctx};
  size_t max_line = sizeof "data: " - 1 + max_event;
  ASSERT(max_line > max_event);
  buf_init(&p->line, max_line);
  buf_init(&p->data, max_event);
  buf_init(&p->type, max_line);
  buf_init(&p->id, max_line);
}

void sse_done(struct sse_parser *p) {
  if (p->gone) *p->gone = true;
  p->gone = NULL;
  p->on_event = NULL;
  buf_done(&p->line);
  buf_done(&p->data);
  buf_done(&p->type);
  buf_done(&p->id);
}

// Finds line ends (CR or LF) in time linear in the length of the text, whether it contains CR, LF or both.
struct line_ends {
  // `lf` is the position of the next LF, or `end` if there is none. next_line_end updates it when it is no longer
  // ahead.
  const char *end, *lf;
};

static const char *next_line_end(struct line_ends *e, const char *from) {
  if (!e->lf || e->lf < from) {
    e->lf = memchr(from, '\n', (size_t)(e->end - from));
    if (!e->lf) e->lf = e->end;
  }
  const char *cr = memchr(from, '\r', (size_t)(e->lf - from));
  return cr ? cr : e->lf;
}

static void set(struct buf *b, str value) {
  buf_reset(b);
  buf_str(b, value);
}

static void set_retry(struct sse_parser *p, str value) {
  uint64_t ms;
  if (str_to_u64(value, &ms) && ms <= INT64_MAX) p->retry_ms = (int64_t)ms;
}

static void begin_data(struct sse_parser *p, str value) {
  if (p->any_data) buf_char(&p->data, '\n');
  buf_str(&p->data, value);
  p->any_data = true;
}

static void take_field(struct sse_parser *p, str line) {
  str name, value;
  str_cut(line, ':', &name, &value);
  if (value.n && value.p[0] == ' ') value = str_from(value, 1);
  if (str_eq(name, STR("data"))) {
    begin_data(p, value);
  } else if (str_eq(name, STR("event"))) {
    set(&p->type, value);
  } else if (str_eq(name, STR("id"))) {
    if (value.n && memchr(value.p, 0, value.n)) return;
    set(&p->id, value);
    p->any_id = true;
  } else if (str_eq(name, STR("retry"))) {
    set_retry(p, value);
  }
}

// Passes a complete event to the callback. Returns false if the callback called sse_done: the parser must then not be
// used any more.
static bool dispatch(struct sse_parser *p) {
  struct sse_event e = {.type = p->type.n ? buf_view(&p->type) : STR("message"),
                        .data = buf_view(&p->data),
                        .id = buf_view(&p->id),
                        .has_data = p->any_data,
                        .has_id = p->any_id};
  if (p->any_data || p->any_id) {
    bool gone = false;
    ASSERT(p->on_event && !p->gone);
    p->gone = &gone;
    p->on_event(p->ctx, &e);
    if (gone) return false;
    p->gone = NULL;
  }
  buf_reset(&p->data);
  buf_trim(&p->data, KEEP);
  buf_reset(&p->type);
  p->any_data = p->any_id = false;
  return true;
}

static bool take_line(struct sse_parser *p, str line) {
  ASSERT(!p->in_data);
  if (p->at_start && str_starts(line, STR("\xef\xbb\xbf"))) line = str_from(line, 3);
  p->at_start = false;
  if (line.n == 0) return dispatch(p);
  if (line.p[0] != ':') take_field(p, line);
  return true;
}

// Adds a part of a line that does not contain the line end. As soon as the line begins with "data: ", its bytes go to
// p->data directly, so that long data is not copied twice. The limit is reached at the same byte wherever the line was
// split.
static void go_on_line(struct sse_parser *p, str piece) {
  static const str data = STR("data: ");
  if (p->in_data) {
    buf_str(&p->data, piece);
    return;
  }
  if (p->line.n || !str_starts(piece, data)) {
    buf_str(&p->line, piece);
    piece = buf_view(&p->line);
  }
  if (p->line.over || !str_starts(piece, data)) return;
  begin_data(p, str_from(piece, data.n));
  buf_reset(&p->line);
  p->in_data = true;
  p->at_start = false;
}

// Handles the line that ends with `piece`. go_on_line may have received the beginning of this line.
static bool end_line(struct sse_parser *p, str piece) {
  if (p->in_data) {
    buf_str(&p->data, piece);
    p->in_data = false;
    return true;
  }
  if (p->line.n == 0 && piece.n <= p->line.max) return take_line(p, piece);
  buf_str(&p->line, piece);
  if (p->line.over) return true;
  if (!take_line(p, buf_view(&p->line))) return false;
  buf_reset(&p->line);
  buf_trim(&p->line, KEEP);
  return true;
}

bool sse_feed(struct sse_parser *p, str bytes) {
  ASSERT(!p->gone);
  const char *at = bytes.p, *end = bytes.n ? at + bytes.n : at;
  struct line_ends ends = {.end = end};
  while (at < end && p->on_event && !p->line.over && !p->data.over) {
    if (p->after_cr) {
      p->after_cr = false;
      if (*at == '\n' && ++at == end) break;
    }
    const char *eol = next_line_end(&ends, at);
    str piece = {at, (size_t)(eol - at)};
    if (eol == end) {
      go_on_line(p, piece);
      break;
    }
    p->after_cr = *eol == '\r';
    if (!end_line(p, piece)) return true;
    at = eol + 1;
  }
  return !p->line.over && !p->data.over;
}

static bool can_carry(str s) {
  for (size_t i = 0; i < s.n; i++)
    if (s.p[i] == '\r' || s.p[i] == '\n' || s.p[i] == 0) return false;
  return true;
}

static void write_field(struct buf *out, str name, str value) {
  buf_str(out, name);
  buf_str(out, value);
  buf_char(out, '\n');
}

static void write_data(struct buf *out, str data) {
  const char *at = data.p ? data.p : "", *end = at + data.n;
  struct line_ends ends = {.end = end};
  for (;;) {
    const char *eol = next_line_end(&ends, at);
    write_field(out, STR("data: "), (str){at, (size_t)(eol - at)});
    if (eol == end) return;
    at = eol + (eol + 1 < end && eol[0] == '\r' && eol[1] == '\n' ? 2 : 1);
  }
}

void sse_write(struct buf *out, str type, str id, str data) {
  if (type.n && can_carry(type)) write_field(out, STR("event: "), type);
  if (id.p && can_carry(id)) write_field(out, STR("id: "), id);
  write_data(out, data);
  buf_char(out, '\n');
}
