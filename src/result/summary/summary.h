// SPDX-License-Identifier: Apache-2.0
// Summaries of texts that are too long to pass on. A summary depends on the kind of the text (content_kind.h):
//
//   JSON              shape with counts, a table of the rows if there are any, the members that take most of the size
//   words and JSON    the beginning of the words, and the summary of the JSON
//   tables            columns with types and ranges, the number of rows, the first and the last rows
//   logs              lines and levels, the time span, errors first, each once; first and last lines
//   diffs, source     files or definitions, then the beginning
//   HTML              title, headings, the beginning of its text
//   prose, Markdown   the beginning, by sentences, and the headings
//   binary data       type and size
//
// The text is looked at once and can then be written with several budgets. Fast passes read all of it; costly ones read
// some tens of kilobytes. Nothing is copied: the text must outlive the summary. The same text and budget give the same
// bytes.
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
  void *found;  // of its kind: what the look found
  struct summary_view views[SUMMARY_VIEWS];
  size_t view_count;
  str facts[SUMMARY_FACTS];  // such as "rows: 120"
  size_t fact_count;
};

// Looks at a text that is not empty.
void summary_look(str text, struct arena *a, struct summary *out);

// The same, but treats the text as prose.
void summary_look_text(str text, struct arena *a, struct summary *out);

// Writes lines that fit into the budget. Of prose they show the beginning of the text unchanged: returns how many bytes
// of it; 0 for every other kind.
size_t summary_write(const struct summary *s, struct brief *b);

// Writes the first and the last lines of any kind of text, as the summary of an error.
void summary_write_ends(const struct summary *s, struct brief *b);

// Returns one line without control characters, at most `max` bytes, with an ellipsis if it was longer.
str summary_line(str text, size_t max, struct arena *a);
