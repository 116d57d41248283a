// SPDX-License-Identifier: Apache-2.0
#include "result/summary/summary.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/text/utf8.h"
#include "result/summary/summary_impl.h"

// Returns the formatted text in the arena, or STR_NONE if it is too long.
__attribute__((format(printf, 2, 0))) static str format(struct arena *a, const char *fmt, va_list ap) {
  char text[1024];
  int n = vsnprintf(text, sizeof text, fmt, ap);
  return n >= 0 && (size_t)n < sizeof text ? arena_str(a, (str){text, (size_t)n}) : STR_NONE;
}

void summary_add_view(struct summary *s, const char *label, const char *selector, ...) {
  va_list ap;
  ASSERT(s->a && s->view_count <= SUMMARY_VIEWS);
  if (s->view_count == SUMMARY_VIEWS) return;
  va_start(ap, selector);
  str text = format(s->a, selector, ap);
  va_end(ap);
  if (text.p) s->views[s->view_count++] = (struct summary_view){label, text};
}

void summary_add_fact(struct summary *s, const char *fact, ...) {
  va_list ap;
  ASSERT(s->a && s->fact_count <= SUMMARY_FACTS);
  if (s->fact_count == SUMMARY_FACTS) return;
  va_start(ap, fact);
  str text = format(s->a, fact, ap);
  va_end(ap);
  if (text.p) s->facts[s->fact_count++] = text;
}

void summary_look(str text, struct arena *a, struct summary *out) {
  ASSERT(text.n > 0);
  *out = (struct summary){.content = content_look(text), .text = text, .a = a};
  switch (out->content.kind) {
  case CONTENT_PROSE: summary_look_prose(out); break;
  case CONTENT_HTML: summary_look_html(out); break;
  case CONTENT_JSON: summary_look_json(out); break;
  case CONTENT_MIXED: summary_look_mixed(out); break;
  case CONTENT_TABLE: summary_look_table(out); break;
  case CONTENT_LOG: summary_look_log(out); break;
  case CONTENT_DIFF: summary_look_diff(out); break;
  case CONTENT_CODE: summary_look_code(out); break;
  case CONTENT_BLOB: summary_look_blob(out); break;
  }
  ASSERT(out->found);
}

void summary_fall_back(struct summary *s) {
  s->content = (struct content){.kind = CONTENT_PROSE, .what = "text"};
  summary_look_prose(s);
}

void summary_look_text(str text, struct arena *a, struct summary *out) {
  *out = (struct summary){.text = text, .a = a};
  summary_fall_back(out);
}

size_t summary_write(const struct summary *s, struct brief *b) {
  ASSERT(s->found);
  switch (s->content.kind) {
  case CONTENT_PROSE: return summary_write_prose(s, b);
  case CONTENT_HTML: summary_write_html(s, b); break;
  case CONTENT_JSON: summary_write_json(s, b); break;
  case CONTENT_MIXED: summary_write_mixed(s, b); break;
  case CONTENT_TABLE: summary_write_table(s, b); break;
  case CONTENT_LOG: summary_write_log(s, b); break;
  case CONTENT_DIFF: summary_write_diff(s, b); break;
  case CONTENT_CODE: summary_write_code(s, b); break;
  case CONTENT_BLOB: summary_write_blob(s, b); break;
  }
  return 0;
}

void summary_write_ends(const struct summary *s, struct brief *b) {
  enum { LAST_LINES = 12 };
  size_t shown = brief_lines(b, s->text, b->left / 2);
  if (!shown) shown = brief_beginning(b, s->text, b->left / 2);
  ASSERT(shown <= s->text.n);
  str rest = str_from(s->text, shown);
  if (!rest.n || !brief_line(b, STR("…"))) return;
  brief_last_lines(b, rest, b->left, LAST_LINES);
}

void summary_write_numbered(struct brief *b, const struct numbered_line *lines, size_t count, size_t more,
                            size_t chars) {
  enum { REST_TOKENS = 12 };  // tokens reserved for the line that says how many more lines there are
  size_t at = 0;
  for (; at < count; at++) {
    size_t begin = brief_begin(b);
    buf_printf(b->out, "%zu: ", lines[at].number);
    brief_cell(b->out, lines[at].text, chars);
    if (b->left <= REST_TOKENS) b->out->n = begin;
    if (b->left <= REST_TOKENS || !brief_end(b, begin)) break;
  }
  if (count - at + more) brief_printf(b, "… %zu more", count - at + more);
}

str summary_line(str text, size_t max, struct arena *a) {
  str first = utf8_cut(text, max);
  char *line = arena_alloc(a, first.n + STR("…").n);
  if (first.n) memcpy(line, first.p, first.n);
  str_mask_controls(line, first.n);
  if (first.n == text.n) return (str){line, first.n};
  memcpy(line + first.n, "…", STR("…").n);
  return (str){line, first.n + STR("…").n};
}
