// SPDX-License-Identifier: Apache-2.0
#include "base/fault.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

// Cuts behind a whole UTF-8 character, and says that something was cut.
static void mark_cut(char *s, size_t size) {
  size_t at = size - 4;
  while (at && utf8_follows(s[at])) at--;
  memcpy(s + at, "...", 4);
}

void fault_set(struct fault *f, enum fault_code code, const char *fmt, ...) {
  char text[FAULT_TEXT];  // the arguments may point into f
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  if (n >= (int)sizeof text) mark_cut(text, sizeof text);
  str_mask_controls(text, strlen(text));
  f->code = code;
  f->path[0] = 0;
  f->after_ms = 0;
  f->undone = false;
  f->passes = false;
  memcpy(f->message, text, sizeof text);
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
