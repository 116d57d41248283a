// SPDX-License-Identifier: Apache-2.0
#include "base/fault.h"

#include <stdarg.h>
#include <stdio.h>

// Without controls, C1 too: U+009B begins an escape sequence as ESC [ does.
static void make_one_line(char *s) {
  for (; *s; s++) {
    unsigned char c = (unsigned char)s[0], next = (unsigned char)s[1];
    bool c1 = c == 0xc2 && next >= 0x80 && next <= 0x9f;
    if (c1) s[1] = '?';
    if (c < 0x20 || c == 0x7f || c1) *s = '?';
  }
}

// Cuts behind a whole UTF-8 character, and says that something was cut.
static void mark_cut(char *s, size_t size) {
  size_t at = size - 4;
  while (at && ((unsigned char)s[at] & 0xc0) == 0x80) at--;
  memcpy(s + at, "...", 4);
}

void fault_set(struct fault *f, enum fault_code code, const char *fmt, ...) {
  char text[FAULT_TEXT];  // the arguments may point into f
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  if (n >= (int)sizeof text) mark_cut(text, sizeof text);
  make_one_line(text);
  f->code = code;
  f->path[0] = 0;
  memcpy(f->message, text, sizeof text);
}

void fault_set_path(struct fault *f, str path) {
  size_t n = path.n < FAULT_PATH - 1 ? path.n : FAULT_PATH - 1;
  while (n && n < path.n && ((unsigned char)path.p[n] & 0xc0) == 0x80) n--;  // no half of a character
  memcpy(f->path, path.p, n);
  f->path[n] = 0;
  make_one_line(f->path);
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
