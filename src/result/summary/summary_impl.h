// SPDX-License-Identifier: Apache-2.0
// Functions for the files that implement summary.h. For each kind of text, one function analyses the text, and another
// writes the summary.
#pragma once
#include "result/summary/summary.h"

void summary_look_json(struct summary *s);
void summary_look_mixed(struct summary *s);
void summary_look_table(struct summary *s);
void summary_look_log(struct summary *s);
void summary_look_diff(struct summary *s);
void summary_look_code(struct summary *s);
void summary_look_html(struct summary *s);
void summary_look_prose(struct summary *s);
void summary_look_blob(struct summary *s);

void summary_write_json(const struct summary *s, struct brief *b);
void summary_write_mixed(const struct summary *s, struct brief *b);
void summary_write_table(const struct summary *s, struct brief *b);
void summary_write_log(const struct summary *s, struct brief *b);
void summary_write_diff(const struct summary *s, struct brief *b);
void summary_write_code(const struct summary *s, struct brief *b);
void summary_write_html(const struct summary *s, struct brief *b);
size_t summary_write_prose(const struct summary *s, struct brief *b);
void summary_write_blob(const struct summary *s, struct brief *b);

// Treats the text as prose, because a closer look found that the guess of its kind was wrong.
void summary_fall_back(struct summary *s);

// A line of a text with its number.
struct numbered_line {
  str text;
  size_t number;
};

// Writes "NUMBER: line" for as many of the lines as fit, then the number of lines left out. `more` is the number of
// further lines, which are not in `lines`; they count as left out.
void summary_write_numbered(struct brief *b, const struct numbered_line *lines, size_t count, size_t more,
                            size_t chars);

// summary_add_view adds a proposed view, summary_add_fact a fact, if the summary has room for it. `selector` and `fact`
// are formats as for printf; the selector is JSON.
void summary_add_view(struct summary *s, const char *label, const char *selector, ...)
    __attribute__((format(printf, 3, 4)));
void summary_add_fact(struct summary *s, const char *fact, ...) __attribute__((format(printf, 2, 3)));
