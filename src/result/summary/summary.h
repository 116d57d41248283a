// SPDX-License-Identifier: Apache-2.0
// What stands for a text that is too long to be passed on. It follows what the text is (result/summary/content_kind.h):
//
//   JSON              its shape with counts, a table of the rows where there are any, where the size is
//   words and JSON    the words as they begin, and the same of the JSON
//   tables            columns with types and ranges, the number of rows, the first and the last
//   logs              lines and levels, the time they span, errors first, each once; first and last lines
//   diffs, source     files or definitions, then the beginning
//   HTML              title, headings, the beginning of its text
//   prose, Markdown   the beginning, by sentences, and the headings
//   what is no text   what it is and how large, none of it
//
// The text is looked at once, whatever is written of it later. All of it is read at most a few times, fast; what is
// costly is done with some tens of kilobytes of it. Nothing is copied: the text must outlive the summary. The same text
// and budget give the same bytes.
#pragma once
#include "result/summary/brief.h"
#include "result/summary/content_kind.h"

enum { SUMMARY_VIEWS = 2, SUMMARY_FACTS = 20, SUMMARY_FACT_CHARS = 200 };

// A look at the text that is worth its while (result/view/view.h).
struct summary_view {
  const char *label;
  str selector;  // JSON
};

struct summary {
  struct content content;
  str text;
  struct arena *a;
  void *found;  // by its kind
  struct summary_view views[SUMMARY_VIEWS];
  size_t view_count;
  str facts[SUMMARY_FACTS];  // that follow from what it is: "rows: 120"
  size_t fact_count;
};

// Looks at a text that is not empty.
void summary_look(str text, struct arena *a, struct summary *out);

// The same for what is to be read as prose, whatever it looks like.
void summary_look_text(str text, struct arena *a, struct summary *out);

// Writes what fits into the budget, lines that end in \n. What is shown of prose and of errors is the beginning of the
// text as it is: gives how many bytes of it; 0 for everything else.
size_t summary_write(const struct summary *s, struct brief *b);

// The first and the last lines, whatever the text is: of an error nothing else will do.
void summary_write_ends(const struct summary *s, struct brief *b);

// One line without control characters, at most `max` bytes; with an ellipsis when it was longer.
str summary_line(str text, size_t max, struct arena *a);
