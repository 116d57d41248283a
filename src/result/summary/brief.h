// SPDX-License-Identifier: Apache-2.0
// Text that is written line by line within a budget of tokens: what does not fit is left out, nothing is cut in two
// unless it is asked for. Lines are counted one by one, which is never less than what they are together, but for blank
// ones; whoever needs the exact number counts the whole.
#pragma once
#include "base/arena.h"
#include "base/buf.h"

struct brief {
  struct buf *out;
  size_t left;  // tokens
};

// A line, and its end. False: it does not fit, and nothing was added.
bool brief_line(struct brief *b, str line);
bool brief_printf(struct brief *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// The lines of a text, the first ones that fit into `tokens`; a line of more than BRIEF_LINE_BYTES is cut, with an
// ellipsis. Gives how many bytes of the text they are, their ends included.
enum { BRIEF_LINE_BYTES = 400 };
size_t brief_lines(struct brief *b, str text, size_t tokens);

// The beginning of a text as it is, cut behind a line, a sentence or a word, without blanks behind. Gives its bytes.
size_t brief_beginning(struct brief *b, str text, size_t tokens);

// The last lines of a text, as many as fit, at most `max`. Gives where the first of them begins.
size_t brief_last_lines(struct brief *b, str text, size_t tokens, size_t max);

// A line that lists things: as many as fit into `tokens`, and how many more there are.
struct brief_list {
  struct buf line;
  size_t tokens;
  size_t shown, more;
};
void brief_list_begin(struct brief_list *l, const struct brief *b, size_t tokens, str title);
void brief_list_add(struct brief_list *l, str item);
void brief_list_end(struct brief_list *l, struct brief *b);  // nothing is written when nothing was listed

// Text from outside on one line: white space and control characters become one blank; at most `max` characters, with an
// ellipsis when there are more. Looks at no more than a few times as many bytes.
void brief_cell(struct buf *out, str text, size_t max);

// The same of the inside of a JSON string, whose escapes need not be right.
void brief_json_cell(struct buf *out, str escaped, size_t max);

// "12 bytes", "3.4 KB", "50 MB".
void brief_size(struct buf *out, size_t bytes);
struct brief_size {
  char text[32];
};
const char *brief_size_of(size_t bytes, struct brief_size *room);
