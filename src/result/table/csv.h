// SPDX-License-Identifier: Apache-2.0
// Reads comma-separated values (RFC 4180) and their like, field by field, without copying. Lines end with \n, \r\n, or
// \r where there is no \n; a field in quotes may hold all of that, and quotes written twice. Any bytes may be read: a
// quote that does not begin a field stands for itself, one that has no end reaches to the end of the text.
#pragma once
#include "base/arena.h"
#include "base/text/block.h"

struct csv {
  str text;
  char delimiter, newline;
  const char *at;  // where the next field begins
  bool careful;    // quotes stand where they should not: bytes are looked at one by one
  // Separators of the sixty-four bytes that were read last, and whether they end inside quotes.
  const char *block;
  uint64_t ahead, ends, inside;  // ends: those at which a row ends
};

struct csv_field {
  str raw;       // with its quotes
  bool row_end;  // it is the last one of its row
};

// Begins with the first field; a byte order mark is left out.
void csv_open(struct csv *c, str text, char delimiter);

// Goes on at the beginning of a row.
void csv_seek(struct csv *c, const char *row);

// The next field when more than one look at the bytes is needed.
bool csv_next_far(struct csv *c, struct csv_field *out);

// False at the end of the text.
static inline bool csv_next(struct csv *c, struct csv_field *out) {
  if (!c->ahead) return csv_next_far(c, out);
  const char *begin = c->at, *stop = c->block + block_first(c->ahead);
  c->ahead &= c->ahead - 1;
  out->row_end = *stop == c->newline;
  out->raw = (str){begin, (size_t)(stop - begin)};
  out->raw.n -= out->row_end && out->raw.n && stop[-1] == '\r';
  c->at = stop + 1;
  return true;
}

// At the beginning of a row: its first fields, at most so many (and one at least), as they are written; the others are
// left out. Gives how many, 0 at the end of the text.
size_t csv_row(struct csv *c, size_t max, str *out);

// Leaves out what is left of a row of which a field was read, or all of it.
void csv_skip_row(struct csv *c);

// What a field says: without its quotes, in the arena when quotes were written twice.
str csv_value(str raw, struct arena *a);

// The delimiter of a text: the one of , ; tab and | that its first lines have in common; 0 when it is no such text.
char csv_detect(str text);

// A field, in quotes when it needs them.
struct buf;
void csv_put(struct buf *out, str value);
