// SPDX-License-Identifier: Apache-2.0
#include "result/table/csv.h"

#include "base/assert.h"
#include "base/text/block.h"

enum { LOOKED_AT = 64 << 10, LINES_COMPARED = 10 };

void csv_open(struct csv *c, str text, char delimiter) {
  if (str_starts(text, STR("\xef\xbb\xbf"))) text = str_from(text, 3);
  bool old = text.n && !memchr(text.p, '\n', text.n) && memchr(text.p, '\r', text.n);
  *c = (struct csv){.text = text, .delimiter = delimiter, .newline = old ? '\r' : '\n', .at = text.p};
}

void csv_seek(struct csv *c, const char *row) {
  ASSERT(row >= c->text.p || !c->text.p);
  c->at = row;
  c->block = NULL;
  c->ahead = c->inside = 0;
}

static const char *end_of(const struct csv *c) {
  return c->text.p + c->text.n;
}

// ---- byte by byte

static const char *find_closing_quote(const char *p, const char *end) {
  while (p < end && (p = memchr(p, '"', (size_t)(end - p)))) {
    if (p + 1 == end || p[1] != '"') return p;
    p += 2;
  }
  return NULL;
}

static const char *find_separator(const struct csv *c, const char *p) {
  const char *end = end_of(c);
  if (p < end && *p == '"') {
    const char *quote = find_closing_quote(p + 1, end);
    p = quote ? quote + 1 : end;
  }
  while (p < end && *p != c->delimiter && *p != c->newline) p++;
  return p;
}

// ---- reading 64 bytes at once

// Removes the separators inside quotes from c->ahead. Returns false if a quote is misplaced: an opening quote must be
// at the start of a field or after another quote, and a closing quote must be before a separator, a line end or another
// quote.
__attribute__((noinline)) static bool read_quotes(struct csv *c, const char *p, uint64_t quotes) {
  uint64_t inside = block_between(quotes) ^ c->inside;
  for (uint64_t opening = quotes & inside; opening; opening &= opening - 1) {
    unsigned i = block_first(opening);
    char prior = p + i > c->text.p ? p[(ptrdiff_t)i - 1] : c->newline;
    if (prior != c->delimiter && prior != c->newline && prior != '"') return false;
  }
  for (uint64_t closing = quotes & ~inside; closing; closing &= closing - 1) {
    const char *next = p + block_first(closing) + 1;
    if (next == end_of(c) || *next == c->delimiter || *next == c->newline || *next == '"') continue;
    if (*next != '\r') return false;
  }
  c->inside = (uint64_t)((int64_t)inside >> 63);
  c->ahead &= ~inside;
  return true;
}

// Finds the separators in n bytes of a block. Returns false if quotes are misplaced.
static inline bool read_bytes(struct csv *c, const char *p, struct block b, size_t n) {
  c->block = p;
  c->ends = block_is(b, c->newline);
  c->ahead = block_is(b, c->delimiter) | c->ends;
  uint64_t quotes = block_is(b, '"');
  if (n < BLOCK_BYTES) c->ahead &= (UINT64_C(1) << n) - 1;
  return !(quotes | c->inside) || read_quotes(c, p, quotes);
}

__attribute__((noinline)) static bool read_last_block(struct csv *c, const char *p, size_t n) {
  char rest[BLOCK_BYTES] = {0};
  memcpy(rest, p, n);
  return read_bytes(c, p, block_load(rest), n);
}

static inline bool read_block(struct csv *c, const char *p) {
  size_t n = (size_t)(end_of(c) - p);
  return n < BLOCK_BYTES ? read_last_block(c, p, n) : read_bytes(c, p, block_load(p), BLOCK_BYTES);
}

// Returns the next separator. Returns the end of the text if no separator follows, or NULL if quotes are misplaced.
static const char *next_separator(struct csv *c) {
  if (!c->block && c->at < end_of(c) && !read_block(c, c->at)) return NULL;
  while (!c->ahead) {
    const char *next = c->block ? c->block + BLOCK_BYTES : end_of(c);
    if (next >= end_of(c)) return end_of(c);
    if (!read_block(c, next)) return NULL;
  }
  const char *at = c->block + block_first(c->ahead);
  c->ahead &= c->ahead - 1;
  return at;
}

void csv_skip_row(struct csv *c) {
  struct csv_field field = {.row_end = false};
  while (!c->careful) {
    uint64_t ends = c->ahead & c->ends;
    if (ends) {
      unsigned i = block_first(ends);
      c->ahead = i == 63 ? 0 : c->ahead & ~UINT64_C(0) << (i + 1);
      c->at = c->block + i + 1;
      return;
    }
    // The current field reaches into the next block of 64 bytes, so csv_next_far reads it.
    c->ahead = 0;
    if (!csv_next_far(c, &field) || field.row_end) return;
  }
  while (!field.row_end && csv_next(c, &field)) {
  }
}

static void be_careful(struct csv *c) {
  c->careful = true;
  c->ahead = 0;
}

bool csv_next_far(struct csv *c, struct csv_field *out) {
  const char *begin = c->at, *end = end_of(c);
  if (begin > end || (begin == end && (begin == c->text.p || begin[-1] == c->newline))) return false;
  const char *stop = c->careful ? NULL : next_separator(c);
  if (!stop) {
    be_careful(c);
    stop = find_separator(c, begin);
  }
  out->row_end = stop == end || *stop == c->newline;
  out->raw = (str){begin, (size_t)(stop - begin)};
  if (out->row_end && out->raw.n && stop[-1] == '\r') out->raw.n--;
  c->at = stop + 1;
  return true;
}

// ---- rows

__attribute__((noinline)) static size_t read_far_row(struct csv *c, size_t max, str *out) {
  struct csv_field field = {.row_end = false};
  size_t n = 0;
  while (n < max && !field.row_end && csv_next(c, &field)) out[n++] = field.raw;
  if (n && !field.row_end) csv_skip_row(c);
  return n;
}

size_t csv_row(struct csv *c, size_t max, str *out) {
  ASSERT(max > 0);
  if (!(c->ahead & c->ends)) {
    // Reads the next 64 bytes as a block that starts with this row, because such a block probably contains the whole
    // row.
    c->inside = 0;
    if (!c->careful && c->at < end_of(c) && !read_block(c, c->at)) be_careful(c);
  }
  uint64_t ends = c->ahead & c->ends;
  if (!ends) return read_far_row(c, max, out);
  uint64_t row = c->ahead & (ends ^ (ends - 1));
  const char *begin = c->at;
  size_t n = 0;
  c->ahead ^= row;
  c->at = c->block + block_first(ends) + 1;
  for (; n < max && row; n++, row &= row - 1) {
    const char *stop = c->block + block_first(row);
    out[n] = (str){begin, (size_t)(stop - begin)};
    begin = stop + 1;
  }
  if (!row && out[n - 1].n && begin[-2] == '\r') out[n - 1].n--;
  return n;
}

size_t csv_count(const struct csv *c, str text) {
  size_t count = 0, at = 0;
  uint64_t inside = 0;
  for (; text.n - at >= BLOCK_BYTES; at += BLOCK_BYTES) {
    struct block b = block_load(text.p + at);
    uint64_t quoted = block_between(block_is(b, '"')) ^ inside;
    inside = (uint64_t)((int64_t)quoted >> 63);
    count += block_count(block_is(b, c->newline) & ~quoted);
  }
  for (bool quoted = inside != 0; at < text.n; at++) {
    quoted ^= text.p[at] == '"';
    count += text.p[at] == c->newline && !quoted;
  }
  return count + (text.n && text.p[text.n - 1] != c->newline);
}

// ---- values

str csv_value(str raw, struct arena *a) {
  if (!raw.n || raw.p[0] != '"') return raw;
  const char *end = raw.p + raw.n, *quote = find_closing_quote(raw.p + 1, end);
  str inner = {raw.p + 1, (size_t)((quote ? quote : end) - raw.p - 1)};
  if (!memchr(inner.p, '"', inner.n)) return inner;
  char *text = arena_alloc(a, inner.n);
  size_t n = 0;
  for (size_t i = 0; i < inner.n; i++) {
    text[n++] = inner.p[i];
    if (inner.p[i] == '"' && i + 1 < inner.n && inner.p[i + 1] == '"') i++;
  }
  return (str){text, n};
}

void csv_put(struct buf *out, str value) {
  bool plain = true;
  for (size_t i = 0; i < value.n && plain; i++) plain = !strchr(",\"\r\n", value.p[i]) || !value.p[i];
  if (plain) {
    buf_str(out, value);
    return;
  }
  buf_char(out, '"');
  for (size_t i = 0; i < value.n; i++) {
    if (value.p[i] == '"') buf_char(out, '"');
    buf_char(out, value.p[i]);
  }
  buf_char(out, '"');
}

// ---- the delimiter

// Returns the number of fields per row if all of the first rows have equally many fields, otherwise 0. Unless `text` is
// the whole text, ignores a row that is cut at the end of `text`.
static size_t fields_in_common(str text, bool whole, char delimiter) {
  struct csv c;
  struct csv_field field;
  size_t common = 0, fields = 0, rows = 0;
  csv_open(&c, text, delimiter);
  while (rows < LINES_COMPARED && csv_next(&c, &field)) {
    fields++;
    if (!field.row_end) continue;
    if (!whole && c.at > text.p + text.n) break;
    if (fields == 1 && !field.raw.n) return rows > 1 ? common : 0;  // the table ends at an empty line
    if (rows++ && fields != common) return 0;
    common = fields;
    fields = 0;
  }
  return rows > 1 ? common : 0;
}

char csv_detect(str text) {
  static const char delimiters[] = {',', '\t', ';', '|'};
  str begin = {text.p, text.n < LOOKED_AT ? text.n : LOOKED_AT};
  size_t most = 1;
  char best = 0;
  for (size_t i = 0; i < sizeof delimiters; i++) {
    size_t fields = fields_in_common(begin, begin.n == text.n, delimiters[i]);
    if (fields <= most) continue;
    most = fields;
    best = delimiters[i];
  }
  return best;
}
