// SPDX-License-Identifier: Apache-2.0
// Reads comma-separated values (RFC 4180) and similar formats, field by field, without copying. Lines end with \n or
// \r\n, or with \r if the text has no \n. A field in quotes may contain delimiters, line ends, and quotes written
// twice. Any bytes are accepted: a quote that does not begin a field is a plain character, and a quoted field that is
// never closed reaches to the end of the text.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/text/block.h"

struct csv {
  str text;
  char delimiter, newline;
  const char *at;  // start of the next field
  bool careful;    // quotes are misplaced, so the text is read byte by byte
  // The block of 64 bytes that was read last. In `ahead`, `ends` and `inside`, each bit stands for one byte of this
  // block.
  const char *block;
  // Bit masks: `ahead` has the unread separators, `ends` the line ends; `inside` is all ones if the block ends inside
  // quotes.
  uint64_t ahead, ends, inside;
};

struct csv_field {
  str raw;       // field as written, including quotes
  bool row_end;  // whether the field is the last of its row
};

// Prepares to read the text from its first field. Skips a byte order mark.
void csv_open(struct csv *c, str text, char delimiter);

// Continues reading at `row`, the start of a row.
void csv_seek(struct csv *c, const char *row);

// The slow path of csv_next, for a field that does not end in the current block.
bool csv_next_far(struct csv *c, struct csv_field *out);

// Reads the next field. Returns false at the end of the text.
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

// Reads the first `max` (at least 1) fields of the next row as written, and skips the rest of the row. Must be called
// at the start of a row. Returns the number of fields read, or 0 at the end of the text.
size_t csv_row(struct csv *c, size_t max, str *out);

// Skips the rest of the current row.
void csv_skip_row(struct csv *c);

// Returns the number of lines in `text`, including empty ones. Line ends inside quotes do not count.
size_t csv_count(const struct csv *c, str text);

// Returns the value of a field, without its quotes. The value is in the arena if the field has quotes written twice.
str csv_value(str raw, struct arena *a);

// Returns the delimiter (comma, semicolon, tab or |) that splits each of the first lines into the same number of
// fields. Returns 0 if no delimiter does.
char csv_detect(str text);

// Appends a field, in quotes if it needs them.
void csv_put(struct buf *out, str value);
