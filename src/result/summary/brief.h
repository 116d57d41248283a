// SPDX-License-Identifier: Apache-2.0
// Writes text line by line within a budget of tokens: a line that does not fit is left out. Tokens are counted line by
// line; for a text without blank lines, the sum is at least the token count of the whole text. Callers that need the
// exact number must count the whole text.
#pragma once
#include "base/arena.h"
#include "base/buf.h"

struct brief {
  struct buf *out;
  size_t left;   // number of tokens that are left
  size_t given;  // in a brief made by brief_share: the initial value of `left`
};

// brief_share sets aside a part of the budget: lines written with the returned brief use only this part.
// brief_take_back returns the unused tokens of the part to `b`.
struct brief brief_share(const struct brief *b, size_t tokens);
void brief_take_back(struct brief *b, const struct brief *share);

// To write a line, append its text to b->out between brief_begin and brief_end. brief_end adds the line end. If the
// line does not fit, brief_end removes it and returns false.
static inline size_t brief_begin(const struct brief *b) {
  return b->out->n;
}
bool brief_end(struct brief *b, size_t begin);

// Adds a line. Returns false, with nothing added, if it does not fit.
bool brief_line(struct brief *b, str line);
bool brief_printf(struct brief *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

enum { BRIEF_LINE_BYTES = 400 };  // maximum size of a line that brief_lines adds

// Adds the first lines of a text that fit into `tokens`. A line of more than BRIEF_LINE_BYTES is cut, with an ellipsis.
// Returns the size of these lines in `text`, including line ends.
size_t brief_lines(struct brief *b, str text, size_t tokens);

// Adds the beginning of a text, cut after a line, a sentence or a word, without blanks at its end. Returns the number
// of bytes added.
size_t brief_beginning(struct brief *b, str text, size_t tokens);

// Adds as many of the last lines of a text as fit, but at most `max` lines. Returns the offset of the first added line.
size_t brief_last_lines(struct brief *b, str text, size_t tokens, size_t max);

// Writes a list of items on one line: as many items as fit into `tokens`, then the number of items that are left out.
struct brief_list {
  struct buf line;
  size_t tokens;
  size_t shown, more;
  size_t item;  // offset in `line` at which the current item begins
};
void brief_list_begin(struct brief_list *l, const struct brief *b, size_t tokens, str title);
struct buf *brief_list_item(struct brief_list *l);  // append an item to this buffer, then call brief_list_item_end
void brief_list_item_end(struct brief_list *l);
void brief_list_end(struct brief_list *l, struct brief *b);  // writes nothing if there are no items

// Appends untrusted text as one line of at most `max` characters. A longer text is cut, with an ellipsis. Runs of white
// space and control characters become one blank. To save time, reads at most a few times `max` bytes.
void brief_cell(struct buf *out, str text, size_t max);

// Like brief_cell, for the text between the quotes of a JSON string. The string may have invalid escapes.
void brief_json_cell(struct buf *out, str escaped, size_t max);

// Appends a size, such as "12 bytes", "3.4 KB" or "50 MB".
void brief_size(struct buf *out, size_t bytes);
struct brief_size {
  char text[32];
};
const char *brief_size_of(size_t bytes, struct brief_size *room);
