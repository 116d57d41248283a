// SPDX-License-Identifier: Apache-2.0
#include "json/text.h"

#include "base/ascii.h"
#include "base/text/utf8.h"

const char *json_text_skip_rest(const char *start, const char *p, const char *end) {
  uint64_t w, stops;
  for (; end - p >= 8; p += 8) {
    memcpy(&w, p, 8);
    if ((stops = json_text_stops(le64toh(w)))) return p + __builtin_ctzll(stops) / 8;
  }
  if (end - start >= 8) {  // the last eight bytes, of which the first are known to be plain
    memcpy(&w, end - 8, 8);
    stops = json_text_stops(le64toh(w));
    return stops ? end - 8 + __builtin_ctzll(stops) / 8 : end;
  }
  if (end - p >= 4) {  // four to seven bytes: the first four, then the last four
    uint32_t first, last;
    memcpy(&first, p, 4);
    memcpy(&last, end - 4, 4);
    stops = json_text_stops(le32toh(first) | (uint64_t)le32toh(last) << 32);
    if (!stops) return end;
    int at = __builtin_ctzll(stops) / 8;
    return at < 4 ? p + at : end - 8 + at;
  }
  while (p < end && (unsigned char)*p >= ' ' && (unsigned char)*p < 0x80 && *p != '"' && *p != '\\') p++;
  return p;
}

int json_text_hex4(const char *p) {
  int a = ascii_hex(p[0]), b = ascii_hex(p[1]), c = ascii_hex(p[2]), d = ascii_hex(p[3]);
  return (a | b | c | d) < 0 ? -1 : a << 12 | b << 8 | c << 4 | d;
}

// The letters after the backslash in escapes, and the characters that these escapes stand for. In escapes, quote,
// backslash and slash stand for themselves.
static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";

// Reads the escape at `p`, which must be valid, and returns its length.
static size_t read_escape(const char *p, uint32_t *c) {
  if (p[1] != 'u') {
    const char *letter = strchr(letters, p[1]);
    *c = (unsigned char)(letter ? meant[letter - letters] : p[1]);
    return 2;
  }
  *c = (uint32_t)json_text_hex4(p + 2);
  if (*c < 0xd800 || *c > 0xdfff) return 6;
  *c = 0x10000 + ((*c - 0xd800) << 10) + ((uint32_t)json_text_hex4(p + 8) - 0xdc00);
  return 12;
}

// Reads the UTF-8 character at `p`, which must be valid, and returns its length.
static size_t read_utf8(const unsigned char *p, uint32_t *c) {
  if (p[0] < 0x80) {
    *c = p[0];
    return 1;
  }
  if (p[0] < 0xe0) {
    *c = (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
    return 2;
  }
  if (p[0] < 0xf0) {
    *c = (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    return 3;
  }
  *c = (p[0] & 0x07u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
  return 4;
}

uint32_t json_text_next(str *rest) {
  uint32_t c;
  size_t n = *rest->p == '\\' ? read_escape(rest->p, &c) : read_utf8((const unsigned char *)rest->p, &c);
  rest->p += n;
  rest->n -= n;
  return c;
}

size_t json_text_unescape(str text, char *out) {
  char *to = out;
  for (const char *p = text.p, *end = p + text.n; p < end;) {
    const char *stop = memchr(p, '\\', (size_t)(end - p));
    size_t run = (size_t)((stop ? stop : end) - p);
    memcpy(to, p, run);
    to += run;
    p += run;
    if (!stop) break;
    uint32_t c;
    p += read_escape(p, &c);
    to += utf8_put(c, to);
  }
  return (size_t)(to - out);
}

bool json_text_equals(str text, str plain) {
  while (text.n) {
    const char *stop = memchr(text.p, '\\', text.n);
    size_t run = stop ? (size_t)(stop - text.p) : text.n;
    if (!str_starts(plain, (str){text.p, run})) return false;
    text = str_from(text, run);
    plain = str_from(plain, run);
    if (!stop) break;
    char c[4];
    size_t n = utf8_put(json_text_next(&text), c);
    if (!str_starts(plain, (str){c, n})) return false;
    plain = str_from(plain, n);
  }
  return plain.n == 0;
}

void json_text_escape(struct buf *out, char c) {
  const char *hex = "0123456789abcdef", *short_form = c ? strchr(meant, c) : NULL;
  char text[6] = {'\\', c, '0', '0', hex[c >> 4 & 15], hex[c & 15]};
  if (c != '"' && c != '\\') text[1] = short_form ? letters[short_form - meant] : 'u';
  buf_add(out, text, text[1] == 'u' ? 6 : 2);
}

static void put_unit(struct buf *out, uint32_t unit) {
  static const char hex[] = "0123456789abcdef";
  char text[6] = {'\\', 'u', hex[unit >> 12 & 15], hex[unit >> 8 & 15], hex[unit >> 4 & 15], hex[unit & 15]};
  buf_add(out, text, sizeof text);
}

void json_text_escape_code(struct buf *out, uint32_t c) {
  if (c > 0xffff) put_unit(out, 0xd800 + ((c - 0x10000) >> 10));
  put_unit(out, c > 0xffff ? 0xdc00 + (c & 0x3ff) : c);
}

void json_text_put_ascii(struct buf *out, uint32_t c) {
  if (c < ' ' || c == '"' || c == '\\') json_text_escape(out, (char)c);
  else if (c < 0x7f) buf_char(out, (char)c);
  else json_text_escape_code(out, c);
}
