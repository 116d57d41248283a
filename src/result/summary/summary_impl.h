// SPDX-License-Identifier: Apache-2.0
// Functions that only the files of the summary call: for each kind of content, one that looks at it and one that
// writes.
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

// Treats the text as prose after a closer look found that the guess of its kind was wrong.
void summary_fall_back(struct summary *s);

// A line of a text with its number.
struct numbered_line {
  str text;
  size_t number;
};

// Writes "NUMBER: line" for each line, as many as fit, and the number of the others, of which `more` are not in the
// list.
void summary_write_numbered(struct brief *b, const struct numbered_line *lines, size_t count, size_t more,
                            size_t chars);

// Adds a proposed view and a fact, if there is room. selector: JSON, made with printf.
void summary_add_view(struct summary *s, const char *label, const char *selector, ...)
    __attribute__((format(printf, 3, 4)));
void summary_add_fact(struct summary *s, const char *fact, ...) __attribute__((format(printf, 2, 3)));
