// SPDX-License-Identifier: Apache-2.0
// Summary of unreadable data: type and size.
#include "base/text/base64.h"
#include "result/summary/summary_impl.h"
#include "result/text_cut.h"

enum { URI_BYTES = 200 };  // maximum length of a "data:" URI up to its data

struct blob {
  const char *inside;  // type of the decoded base64 data; NULL if unknown
  str media_type;      // type in a data: URI
  size_t lines;
};

// Returns the type of base64 data by its first bytes. The base64 text may have line ends.
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

void summary_look_blob(struct summary *s) {
  struct blob *blob = ARENA_NEW(s->a, struct blob);
  s->found = blob;
  blob->lines = measure_lines(s->text);
  str data = s->text, head = {s->text.p, s->text.n < URI_BYTES ? s->text.n : URI_BYTES}, type, rest;
  if (str_starts(head, STR("data:")) && str_cut(str_from(head, 5), ',', &type, &rest)) {
    data = str_from(s->text, (size_t)(rest.p - s->text.p));
    str_cut(type, ';', &blob->media_type, &rest);
  }
  blob->inside = magic_of_base64(data);
  if (!blob->inside) blob->inside = content_magic(s->text);
  summary_add_fact(s, "size: %zu bytes", s->text.n);
  summary_add_view(s, "its beginning", "{\"type\":\"head\",\"start\":0,\"chars\":200}");
}

void summary_write_blob(const struct summary *s, struct brief *b) {
  const struct blob *blob = s->found;
  size_t begin = brief_begin(b);
  buf_str(b->out, str_of(s->content.what));
  if (blob->media_type.n) {
    buf_str(b->out, STR(" of type "));
    brief_cell(b->out, blob->media_type, 60);
  }
  if (blob->inside) buf_printf(b->out, ", holding a %s", blob->inside);
  buf_str(b->out, STR(", "));
  brief_size(b->out, s->text.n);
  buf_printf(b->out, " in %zu line%s; not shown", blob->lines, blob->lines == 1 ? "" : "s");
  brief_end(b, begin);
}
