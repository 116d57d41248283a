// SPDX-License-Identifier: Apache-2.0
// Summarises texts that are too long to pass on. A summary depends on the kind of the text (content_kind.h):
//
//   - JSON: its shape with counts, a table of the rows if there are any, the members that take most of the size
//   - words before JSON: the beginning of the words, and the summary of the JSON
//   - tables: columns with types and ranges, the number of rows, the first and the last rows
//   - logs: number of lines, levels, time span, each different error once, first and last lines
//   - diffs: the changed files, then the beginning
//   - source code: the definitions, then the beginning
//   - HTML: title, headings, the beginning of its text
//   - prose and Markdown: the beginning, cut after a sentence if possible, and the headings
//   - binary data: type and size
//
// A text is analysed once; its summary can then be written with several budgets. Most of a long text is read only by
// fast passes: costly passes read some tens of kilobytes. Nothing is copied: the text must outlive the summary. The
// same text and budget always give the same bytes.
#pragma once
#include "result/summary/brief.h"
#include "result/summary/content_kind.h"

enum { SUMMARY_VIEWS = 2, SUMMARY_FACTS = 20, SUMMARY_FACT_CHARS = 200 };

// A proposed view (result/view/view.h) of the text.
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

// Like summary_look, but treats a text of any kind as prose.
void summary_look_text(str text, struct arena *a, struct summary *out);

// Writes lines that fit into the budget. A summary of prose starts with the unchanged beginning of the text; the
// function returns the number of bytes of this beginning. For every other kind, returns 0.
size_t summary_write(const struct summary *s, struct brief *b);

// Writes the first and the last lines of a text of any kind, as the summary of an error.
void summary_write_ends(const struct summary *s, struct brief *b);

// Returns the text as one line of at most `max` bytes, without control characters. A longer text is cut, with an
// ellipsis.
str summary_line(str text, size_t max, struct arena *a);
