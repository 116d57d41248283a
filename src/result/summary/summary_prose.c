// SPDX-License-Identifier: Apache-2.0
// Summary of prose and Markdown: the beginning, unchanged, and the headings.
#include "result/summary/summary_impl.h"
#include "result/text_cut.h"

enum { HEADINGS = 64, HEADING_CHARS = 70, HEADINGS_BYTES = 8 << 20 };

struct prose {
  struct numbered_line headings[HEADINGS];
  size_t count, more;
  bool several;  // whether there are enough headings to show a list of them
};

// Returns whether a line is a heading, such as "# Title", but not #!/bin/sh or #define.
static bool is_heading(str line) {
  size_t depth = 0;
  while (depth < line.n && line.p[depth] == '#') depth++;
  return depth && depth <= 6 && depth + 1 < line.n && line.p[depth] == ' ';
}

void summary_look_prose(struct summary *s) {
  struct prose *p = ARENA_NEW(s->a, struct prose);
  bool fenced = false;
  size_t number = 0;
  s->found = p;
  for (str rest = {s->text.p, s->text.n < HEADINGS_BYTES ? s->text.n : HEADINGS_BYTES}; rest.n; number++) {
    str line = measure_next_line(&rest);
    if (str_starts(line, STR("```"))) fenced = !fenced;
    if (fenced || !line.n || *line.p != '#' || !is_heading(line)) continue;
    if (p->count < HEADINGS) p->headings[p->count++] = (struct numbered_line){line, number};
    else p->more++;
  }
  p->several = p->count >= 3;
  if (p->several) {
    size_t at = p->headings[1].number, end = p->headings[2].number;
    summary_add_view(s, "a section", "{\"type\":\"lines\",\"start\":%zu,\"end\":%zu}", at, end);
  }
}

size_t summary_write_prose(const struct summary *s, struct brief *b) {
  const struct prose *p = s->found;
  size_t shown = brief_beginning(b, s->text, p->several ? b->left * 3 / 5 : b->left);
  if (p->several && brief_line(b, STR("headings, with their lines:")))
    summary_write_numbered(b, p->headings, p->count, p->more, HEADING_CHARS);
  return shown;
}
