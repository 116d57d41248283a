// SPDX-License-Identifier: Apache-2.0
// Summaries of texts that are too long to pass on. A summary depends on the kind of the text (content_kind.h):
//
//   JSON              shape with counts, a table of the rows if there are any, the members that take most of the size
//   words and JSON    the beginning of the words, and the summary of the JSON
//   tables            columns with types and ranges, the number of rows, the first and the last rows
//   logs              number of lines, levels, time span, each different error once, first and last lines
//   diffs, source     files or definitions, then the beginning
//   HTML              title, headings, the beginning of its text
//   prose, Markdown   the beginning, by sentences, and the headings
//   binary data       type and size
//
// A text is analysed once; its summary can then be written with several budgets. Fast passes read the whole text;
// costly passes read some tens of kilobytes. Nothing is copied: the text must outlive the summary. The same text and
// budget give the same bytes.
#pragma once
#include "result/summary/brief.h"
#include "result/summary/content_kind.h"

enum { SUMMARY_VIEWS = 2, SUMMARY_FACTS = 20, SUMMARY_FACT_CHARS = 200 };

// A view of the text (result/view/view.h) that the summary proposes.
struct summary_view {
  const char *label;
  str selector;  // JSON
};

struct summary {
  struct content content;
  str text;
  struct arena *a;
  void *found;  // results of the analysis; the type depends on the kind of the text
  struct summary_view views[SUMMARY_VIEWS];
  size_t view_count;
  str facts[SUMMARY_FACTS];  // such as "rows: 120"
  size_t fact_count;
};

// Analyses a text, which must not be empty.
void summary_look(str text, struct arena *a, struct summary *out);

// The same, but treats the text as prose.
void summary_look_text(str text, struct arena *a, struct summary *out);

// Writes lines that fit into the budget. For prose, the lines begin with the unchanged beginning of the text; returns
// its number of bytes. Returns 0 for every other kind.
size_t summary_write(const struct summary *s, struct brief *b);

// Writes the first and the last lines of any kind of text, as the summary of an error.
void summary_write_ends(const struct summary *s, struct brief *b);

// Returns one line without control characters, at most `max` bytes, with an ellipsis if the text was longer.
str summary_line(str text, size_t max, struct arena *a);
