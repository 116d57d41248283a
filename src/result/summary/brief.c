// SPDX-License-Identifier: Apache-2.0
#include "result/summary/brief.h"

#include <stdio.h>

#include "base/text/utf8.h"
#include "result/text_cut.h"
#include "text/tokens.h"
#include "json/text.h"

enum { LINE_MAX_BYTES = 64 << 10 };

// ---- lines ----

bool brief_line(struct brief *b, str line) {
  size_t begin = b->out->n;
  buf_str(b->out, line);
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

bool brief_printf(struct brief *b, const char *fmt, ...) {
  char line[2048];
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  return n >= 0 &&
         brief_line(b, utf8_cut((str){line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1}, (size_t)n));
}

// A line as it is, or its beginning.
static bool add_line(struct brief *b, str line) {
  if (line.n <= BRIEF_LINE_BYTES) return brief_line(b, line);
  char cut[BRIEF_LINE_BYTES + 4];
  str first = utf8_cut(line, BRIEF_LINE_BYTES);
  memcpy(cut, first.p, first.n);
  memcpy(cut + first.n, "…", STR("…").n);
  return brief_line(b, (str){cut, first.n + STR("…").n});
}

// Part of the budget, and what is given back of it.
static struct brief share_of(const struct brief *b, size_t tokens) {
  return (struct brief){b->out, tokens < b->left ? tokens : b->left};
}

size_t brief_lines(struct brief *b, str text, size_t tokens) {
  struct brief share = share_of(b, tokens);
  size_t had = share.left;
  str rest = text;
  while (rest.n) {
    str before = rest;
    if (!add_line(&share, measure_next_line(&rest))) {
      rest = before;
      break;
    }
  }
  b->left -= had - share.left;
  return text.n - rest.n;
}

static str without_blanks_behind(str s) {
  while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\n' || s.p[s.n - 1] == '\r' || s.p[s.n - 1] == '\t')) s.n--;
  return s;
}

static str cut_text(str text, size_t tokens) {
  return without_blanks_behind((str){text.p, measure_cut_nicely(text, measure_cut_tokens(text, tokens))});
}

size_t brief_beginning(struct brief *b, str text, size_t tokens) {
  if (tokens > b->left) tokens = b->left;
  str head = cut_text(text, tokens > 2 ? tokens - 2 : 0);
  while (head.n && !brief_line(b, head)) head = cut_text(head, tokens = tokens * 3 / 4);
  return head.n;
}

// Where the last line of a text that is not empty begins; the end of the text belongs to it.
static size_t last_line(str text) {
  size_t at = text.n;
  if (at && text.p[at - 1] == '\n') at--;
  while (at && text.p[at - 1] != '\n') at--;
  return at;
}

static size_t line_cost(str line) {
  str shown = utf8_cut(line, BRIEF_LINE_BYTES);
  return tokens_count(shown) + 2;
}

size_t brief_last_lines(struct brief *b, str text, size_t tokens, size_t max) {
  size_t at = text.n, left = tokens < b->left ? tokens : b->left;
  for (size_t count = 0; at && count < max; count++) {
    size_t begin = last_line((str){text.p, at}), cost = line_cost((str){text.p + begin, at - begin});
    if (cost > left) break;
    left -= cost;
    at = begin;
  }
  brief_lines(b, str_from(text, at), tokens);
  return at;
}

// ---- lists ----

void brief_list_begin(struct brief_list *l, const struct brief *b, size_t tokens, str title) {
  *l = (struct brief_list){.tokens = tokens < b->left ? tokens : b->left};
  buf_init(&l->line, LINE_MAX_BYTES);
  buf_str(&l->line, title);
}

void brief_list_add(struct brief_list *l, str item) {
  enum { MORE_TOKENS = 6 };
  size_t begin = l->line.n;
  if (!l->more) {
    if (l->shown) buf_str(&l->line, STR(", "));
    buf_str(&l->line, item);
  }
  if (!l->more && !l->line.over && l->tokens > MORE_TOKENS && tokens_fit(buf_view(&l->line), l->tokens - MORE_TOKENS)) {
    l->shown++;
    return;
  }
  if (!l->more) l->line.n = begin;
  l->line.over = false;
  l->more++;
}

void brief_list_end(struct brief_list *l, struct brief *b) {
  if (l->shown && l->more) buf_printf(&l->line, ", … %zu more", l->more);
  if (l->shown) brief_line(b, buf_view(&l->line));
  buf_done(&l->line);
}

// ---- text from outside ----

struct cell {
  struct buf *out;
  size_t begin, left;
  bool blank, cut;
};

// False: it is full.
static bool put(struct cell *c, uint32_t code) {
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

static str near_of(str text, size_t max) {
  return utf8_cut(text, 8 * max + 64);
}

void brief_cell(struct buf *out, str text, size_t max) {
  struct cell c = {.out = out, .begin = out->n, .left = max};
  str rest = near_of(text, max);
  c.cut = rest.n < text.n;
  while (rest.n)
    if (!put(&c, utf8_next(&rest))) break;
  if (c.cut) buf_str(out, STR("…"));
}

static bool is_low(int c) {
  return c >= 0xdc00 && c <= 0xdfff;
}

// The character of an escape; what is none is a question mark. Surrogates that belong together are one.
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
  if (!is_low(low)) return '?';
  *rest = str_from(*rest, 6);
  return 0x10000 + (((uint32_t)c - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
}

void brief_json_cell(struct buf *out, str escaped, size_t max) {
  struct cell c = {.out = out, .begin = out->n, .left = max};
  str rest = near_of(escaped, max);
  c.cut = rest.n < escaped.n;
  while (rest.n)
    if (!put(&c, *rest.p == '\\' ? take_escape(&rest) : utf8_next(&rest))) break;
  if (c.cut) buf_str(out, STR("…"));
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
