// SPDX-License-Identifier: Apache-2.0
#include "base/fault.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text/plain.h"
#include "base/text/utf8.h"

#define CUT_MARK "…"

enum { LOOKED_AT = 4096 };  // bytes of a message

// Where the first characters end, so many at the most. A byte that begins none belongs to the one before.
static size_t end_of_chars(str s, size_t max) {
  size_t n = 0;
  for (size_t chars = 0; n < s.n; n++)
    if (!utf8_follows(s.p[n]) && chars++ == max) break;
  return n;
}

// At most FAULT_CHARS characters; the last of them says when there were more.
static void put_message(str text, bool more, char out[FAULT_TEXT]) {
  str told = utf8_cut((str){text.p, end_of_chars(text, FAULT_CHARS)}, FAULT_TEXT - 1);
  more = more || told.n < text.n;
  if (more) told = utf8_cut((str){told.p, end_of_chars(told, FAULT_CHARS - 1)}, FAULT_TEXT - sizeof CUT_MARK);
  while (more && told.n && told.p[told.n - 1] == ' ') told.n--;
  memcpy(out, told.p, told.n);
  memcpy(out + told.n, more ? CUT_MARK : "", more ? sizeof CUT_MARK : 1);
}

void fault_set(struct fault *f, enum fault_code code, const char *fmt, ...) {
  char text[LOOKED_AT];  // the arguments may point into f
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  bool more = n >= LOOKED_AT;
  str whole = utf8_cut(str_of(n < 0 ? "" : text), more ? LOOKED_AT - 4 : LOOKED_AT);
  whole.n = plain_line(text, whole.n);
  f->code = code;
  f->path[0] = 0;
  f->after_ms = 0;
  f->undone = false;
  f->passes = false;
  f->again = false;
  put_message(whole, more, f->message);
}

void fault_set_path(struct fault *f, str path) {
  str kept = utf8_cut(path, FAULT_PATH - 1);
  if (kept.n) memcpy(f->path, kept.p, kept.n);
  f->path[kept.n] = 0;
  str_mask_controls(f->path, kept.n);
}

const char *fault_name(enum fault_code code) {
  static const char *const names[] = {"NONE",
#define X(name, retryable) #name,
                                      FAULT_TABLE(X)
#undef X
  };
  return names[code];
}

bool fault_retryable(enum fault_code code) {
  static const bool flags[] = {false,
#define X(name, retryable) retryable,
                               FAULT_TABLE(X)
#undef X
  };
  return flags[code];
}
