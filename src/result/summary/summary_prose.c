// SPDX-License-Identifier: Apache-2.0
// Prose and Markdown: how it begins, as it is, and its headings.
#include "base/ascii.h"
#include "result/summary/summary_impl.h"
#include "result/text_cut.h"

enum { HEADINGS = 64, HEADING_CHARS = 70, HEADINGS_BYTES = 8 << 20 };

struct heading {
  str text;  // with its signs
  size_t line;
};

struct prose {
  struct heading headings[HEADINGS];
  size_t count, more;
  bool several;  // worth to be listed
};

// # Title, and not #!/bin/sh or #define.
static bool is_heading(str line) {
  size_t depth = 0;
  while (depth < line.n && line.p[depth] == '#') depth++;
  return depth && depth <= 6 && depth + 1 < line.n && line.p[depth] == ' ';
}

static void read_headings(str text, struct prose *p) {
  bool fenced = false;
  size_t number = 0;
  for (str rest = {text.p, text.n < HEADINGS_BYTES ? text.n : HEADINGS_BYTES}; rest.n; number++) {
    str line = measure_next_line(&rest);
    if (str_starts(line, STR("```"))) fenced = !fenced;
    if (fenced || !line.n || *line.p != '#' || !is_heading(line)) continue;
    if (p->count < HEADINGS) p->headings[p->count++] = (struct heading){line, number};
    else p->more++;
  }
}

void summary_look_prose(struct summary *s) {
  struct prose *p = ARENA_NEW(s->a, struct prose);
  s->found = p;
  read_headings(s->text, p);
  p->several = p->count >= 3;
  if (p->several) {
    size_t at = p->headings[1].line, end = p->headings[2].line;
    summary_add_view(s, "a section", "{\"type\":\"lines\",\"start\":%zu,\"end\":%zu}", at, end);
  }
}

static void write_headings(const struct prose *p, struct brief *b) {
  size_t at = 0;
  if (!brief_line(b, STR("headings, with their lines:"))) return;
  for (; at < p->count; at++) {
    struct buf line;
    buf_init(&line, 1024);
    buf_printf(&line, "%zu: ", p->headings[at].line);
    brief_cell(&line, p->headings[at].text, HEADING_CHARS);
    bool fits = b->left > 12 && brief_line(b, buf_view(&line));
    buf_done(&line);
    if (!fits) break;
  }
  size_t left = p->count - at + p->more;
  if (left) brief_printf(b, "… %zu more", left);
}

size_t summary_write_prose(const struct summary *s, struct brief *b) {
  const struct prose *p = s->found;
  size_t shown = brief_beginning(b, s->text, p->several ? b->left * 3 / 5 : b->left);
  if (p->several) write_headings(p, b);
  return shown;
}
