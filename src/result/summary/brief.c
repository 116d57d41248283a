// SPDX-License-Identifier: Apache-2.0
#include "result/summary/brief.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/text/utf8.h"
#include "result/text_cut.h"
#include "text/tokens.h"
#include "json/text.h"

enum { LINE_MAX_BYTES = 64 << 10 };

// ---- lines ----

bool brief_end(struct brief *b, size_t begin) {
  ASSERT(begin <= b->out->n);
  buf_char(b->out, '\n');
  str added = str_from(buf_view(b->out), begin);
  if (!b->out->over && tokens_fit(added, b->left)) {
    b->left -= tokens_count(added);
    return true;
  }
  b->out->n = begin;
  b->out->over = false;
  return false;
}

bool brief_line(struct brief *b, str line) {
  size_t begin = brief_begin(b);
  buf_str(b->out, line);
  return brief_end(b, begin);
}

bool brief_printf(struct brief *b, const char *fmt, ...) {
  char line[2048];
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  return n >= 0 &&
         brief_line(b, utf8_cut((str){line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1}, (size_t)n));
}

struct brief brief_share(const struct brief *b, size_t tokens) {
  ASSERT(b->out);
  size_t given = tokens < b->left ? tokens : b->left;
  return (struct brief){b->out, given, given};
}

void brief_take_back(struct brief *b, const struct brief *share) {
  ASSERT(share->left <= share->given && share->given - share->left <= b->left);
  b->left -= share->given - share->left;
}

size_t brief_lines(struct brief *b, str text, size_t tokens) {
  struct brief share = brief_share(b, tokens);
  str rest = text;
  while (rest.n) {
    str before = rest, line = measure_next_line(&rest), shown = utf8_cut(line, BRIEF_LINE_BYTES);
    size_t begin = brief_begin(&share);
    buf_str(share.out, line.n <= BRIEF_LINE_BYTES ? line : shown);
    if (line.n > BRIEF_LINE_BYTES) buf_str(share.out, STR("…"));
    if (brief_end(&share, begin)) continue;
    rest = before;
    break;
  }
  brief_take_back(b, &share);
  return text.n - rest.n;
}

static str cut_text(str text, size_t tokens) {
  text.n = measure_cut_nicely(text, measure_cut_tokens(text, tokens));
  while (text.n && memchr(" \n\r\t", text.p[text.n - 1], 4)) text.n--;
  return text;
}

size_t brief_beginning(struct brief *b, str text, size_t tokens) {
  if (tokens > b->left) tokens = b->left;
  str head = cut_text(text, tokens > 2 ? tokens - 2 : 0);
  while (head.n && !brief_line(b, head)) head = cut_text(head, tokens = tokens * 3 / 4);
  ASSERT(head.n <= text.n);
  return head.n;
}

size_t brief_last_lines(struct brief *b, str text, size_t tokens, size_t max) {
  enum { LINE_TOKENS = 2 };  // tokens of a line end and an ellipsis together
  size_t at = text.n, left = tokens < b->left ? tokens : b->left;
  for (size_t count = 0; at && count < max; count++) {
    size_t begin = at - (text.p[at - 1] == '\n');
    while (begin && text.p[begin - 1] != '\n') begin--;
    size_t cost = tokens_count(utf8_cut((str){text.p + begin, at - begin}, BRIEF_LINE_BYTES)) + LINE_TOKENS;
    if (cost > left) break;
    left -= cost;
    at = begin;
  }
  ASSERT(at <= text.n);
  brief_lines(b, str_from(text, at), tokens);
  return at;
}

// ---- lists ----

void brief_list_begin(struct brief_list *l, const struct brief *b, size_t tokens, str title) {
  *l = (struct brief_list){.tokens = tokens < b->left ? tokens : b->left};
  buf_init(&l->line, LINE_MAX_BYTES);
  buf_str(&l->line, title);
}

struct buf *brief_list_item(struct brief_list *l) {
  ASSERT(l->line.max);
  l->item = l->line.n;
  if (l->shown) buf_str(&l->line, STR(", "));
  return &l->line;
}

void brief_list_item_end(struct brief_list *l) {
  enum { MORE_TOKENS = 6 };
  ASSERT(l->item <= l->line.n);
  bool fits =
      !l->more && !l->line.over && l->tokens > MORE_TOKENS && tokens_fit(buf_view(&l->line), l->tokens - MORE_TOKENS);
  if (fits) {
    l->shown++;
    return;
  }
  l->line.n = l->item;
  l->line.over = false;
  l->more++;
}

void brief_list_end(struct brief_list *l, struct brief *b) {
  if (l->shown && l->more) buf_printf(&l->line, ", … %zu more", l->more);
  if (l->shown) brief_line(b, buf_view(&l->line));
  buf_done(&l->line);
}

// ---- untrusted text ----

struct line_writer {
  struct buf *out;
  size_t begin, left;
  bool blank, cut;
};

// Appends a character. Returns false if the line is full.
static bool put(struct line_writer *c, uint32_t code) {
  char bytes[4];
  if (code <= ' ' || code == 0x7f || (code >= 0x80 && code < 0xa0) || code == 0x2028 || code == 0x2029) {
    c->blank = c->out->n > c->begin;
    return true;
  }
  if (c->left <= c->blank) {
    c->cut = true;
    return false;
  }
  if (c->blank) buf_char(c->out, ' ');
  c->left -= 1 + c->blank;
  c->blank = false;
  buf_add(c->out, bytes, utf8_put(code, bytes));
  return true;
}

// Removes an escape from the start of *rest, and returns its character, or '?' if the escape is invalid. A surrogate
// pair is one character.
static uint32_t take_escape(str *rest) {
  static const char letters[] = "bfnrt";
  char kind = rest->n > 1 ? rest->p[1] : 0;
  if (kind != 'u') {
    *rest = str_from(*rest, 2);
    if (!kind) return '?';
    return strchr(letters, kind) ? ' ' : (unsigned char)kind < 0x80 ? (uint32_t)kind : '?';
  }
  int c = rest->n >= 6 ? json_text_hex4(rest->p + 2) : -1;
  *rest = str_from(*rest, 6);
  if (c < 0xd800 || c > 0xdfff) return c < 0 ? '?' : (uint32_t)c;
  int low = c < 0xdc00 && rest->n >= 6 && rest->p[0] == '\\' && rest->p[1] == 'u' ? json_text_hex4(rest->p + 2) : -1;
  if (low < 0xdc00 || low > 0xdfff) return '?';
  *rest = str_from(*rest, 6);
  return 0x10000 + (((uint32_t)c - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
}

static void put_line(struct buf *out, str text, size_t max, bool escaped) {
  struct line_writer c = {.out = out, .begin = out->n, .left = max};
  str rest = utf8_cut(text, 8 * max + 64);
  c.cut = rest.n < text.n;
  while (rest.n)
    if (!put(&c, escaped && *rest.p == '\\' ? take_escape(&rest) : utf8_next(&rest))) break;
  if (c.cut) buf_str(out, STR("…"));
}

void brief_cell(struct buf *out, str text, size_t max) {
  put_line(out, text, max, false);
}

void brief_json_cell(struct buf *out, str escaped, size_t max) {
  put_line(out, escaped, max, true);
}

const char *brief_size_of(size_t bytes, struct brief_size *room) {
  static const char *const units[] = {"KB", "MB", "GB", "TB"};
  if (bytes < 1000) {
    snprintf(room->text, sizeof room->text, "%zu byte%s", bytes, bytes == 1 ? "" : "s");
    return room->text;
  }
  size_t tenths = (bytes + 50) / 100, unit = 0;
  while (tenths >= 10000 && unit < 3) tenths = (tenths + 500) / 1000, unit++;
  if (tenths < 100) snprintf(room->text, sizeof room->text, "%zu.%zu %s", tenths / 10, tenths % 10, units[unit]);
  else snprintf(room->text, sizeof room->text, "%zu %s", (tenths + 5) / 10, units[unit]);
  return room->text;
}

void brief_size(struct buf *out, size_t bytes) {
  struct brief_size room;
  buf_str(out, str_of(brief_size_of(bytes, &room)));
}
