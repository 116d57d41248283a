// SPDX-License-Identifier: Apache-2.0
// What nobody can read: what it is and how large, none of its bytes.
#include "base/text/base64.h"
#include "result/summary/summary_impl.h"
#include "result/text_cut.h"

struct blob {
  const char *inside;  // what base64 holds; NULL: not known
  str media_type;      // of a data: URI
  size_t lines;
};

// The first bytes of base64, line ends left out.
static const char *magic_of_base64(str text) {
  char digits[512];
  size_t n = 0;
  for (size_t i = 0; i < text.n && i < 2 * sizeof digits && n < sizeof digits; i++)
    if (text.p[i] != '\n' && text.p[i] != '\r') digits[n++] = text.p[i];
  struct buf bytes;
  buf_init(&bytes, sizeof digits);
  n = n / 4 * 4;
  const char *what = base64_decode((str){digits, n}, BASE64_STANDARD, &bytes) ? content_magic(buf_view(&bytes)) : NULL;
  buf_done(&bytes);
  return what;
}

static str data_type(str text) {
  str head = {text.p, text.n < 200 ? text.n : 200}, type, rest;
  if (!str_cut(str_from(head, 5), ',', &type, &rest)) return STR_NONE;
  str_cut(type, ';', &type, &rest);
  return type;
}

void summary_look_blob(struct summary *s) {
  struct blob *blob = ARENA_NEW(s->a, struct blob);
  s->found = blob;
  blob->lines = measure_lines(s->text);
  bool uri = str_starts(s->text, STR("data:"));
  const char *comma = uri ? memchr(s->text.p, ',', s->text.n < 200 ? s->text.n : 200) : NULL;
  if (uri) blob->media_type = data_type(s->text);
  blob->inside = magic_of_base64(comma ? str_from(s->text, (size_t)(comma + 1 - s->text.p)) : s->text);
  if (!blob->inside) blob->inside = content_magic(s->text);
  summary_add_fact(s, "size: %zu bytes", s->text.n);
  summary_add_view(s, "its beginning", "{\"type\":\"head\",\"start\":0,\"chars\":200}");
}

void summary_write_blob(const struct summary *s, struct brief *b) {
  const struct blob *blob = s->found;
  struct buf line;
  buf_init(&line, 2048);
  buf_str(&line, str_of(s->content.what));
  if (blob->media_type.n) {
    buf_str(&line, STR(" of type "));
    brief_cell(&line, blob->media_type, 60);
  }
  if (blob->inside) buf_printf(&line, ", holding a %s", blob->inside);
  buf_str(&line, STR(", "));
  brief_size(&line, s->text.n);
  buf_printf(&line, " in %zu line%s; not shown", blob->lines, blob->lines == 1 ? "" : "s");
  brief_line(b, buf_view(&line));
  buf_done(&line);
}
