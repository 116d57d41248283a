// SPDX-License-Identifier: Apache-2.0
#include "base/fault.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/text/plain.h"
#include "base/text/utf8.h"

#define CUT_MARK "…"

enum { FORMATTED_MAX = 4096 };  // maximum bytes of a formatted message, before it is shortened

// Returns the number of bytes in the first `max` characters of s. A UTF-8 continuation byte belongs to the character
// before it.
static size_t end_of_chars(str s, size_t max) {
  size_t n = 0;
  for (size_t chars = 0; n < s.n; n++)
    if (!utf8_follows(s.p[n]) && chars++ == max) break;
  return n;
}

void fault_set(struct fault *f, enum fault_code code, const char *fmt, ...) {
  ASSERT(f && (unsigned)code < FAULT_COUNT);
  char text[FORMATTED_MAX];  // formats into a separate buffer, because the arguments may point into f
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  bool cut = n >= FORMATTED_MAX;
  str whole = utf8_cut(str_of(n < 0 ? "" : text), cut ? FORMATTED_MAX - 4 : FORMATTED_MAX);
  whole.n = plain_line(text, whole.n);
  str shown = utf8_cut((str){text, end_of_chars(whole, FAULT_CHARS)}, FAULT_TEXT - 1);
  cut = cut || shown.n < whole.n;
  if (cut) shown = utf8_cut((str){text, end_of_chars(shown, FAULT_CHARS - 1)}, FAULT_TEXT - sizeof CUT_MARK);
  while (cut && shown.n && shown.p[shown.n - 1] == ' ') shown.n--;
  f->code = code;
  f->limit = LIMIT_OTHER;
  f->path[0] = 0;
  f->after_ms = 0;
  f->undone = false;
  f->passes = false;
  f->again = false;
  memcpy(f->message, shown.p, shown.n);
  memcpy(f->message + shown.n, cut ? CUT_MARK : "", cut ? sizeof CUT_MARK : 1);
}

void fault_set_path(struct fault *f, str path) {
  path = utf8_cut(path, FAULT_PATH - 1);
  if (path.n) memcpy(f->path, path.p, path.n);
  f->path[path.n] = 0;
  str_mask_controls(f->path, path.n);
}

const char *fault_name(enum fault_code code) {
  ASSERT((unsigned)code < FAULT_COUNT);
  static const char *const names[] = {"NONE",
#define X(name, retryable) #name,
                                      FAULT_TABLE(X)
#undef X
  };
  return names[code];
}

bool fault_retryable(enum fault_code code) {
  ASSERT((unsigned)code < FAULT_COUNT);
  static const bool flags[] = {false,
#define X(name, retryable) retryable,
                               FAULT_TABLE(X)
#undef X
  };
  return flags[code];
}
