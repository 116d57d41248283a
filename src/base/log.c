// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/text/plain.h"

enum { LINE_MAX_BYTES = 2048 };

static const char *const level_names[] = {"debug", "info", "warn", "error"};

// Returns the length in bytes of the character at `at` if a terminal would execute or hide it: C0, DEL, C1 (in UTF-8:
// c2 80 … c2 9f) and hidden characters. Returns 0 for all other characters.
static size_t count_unsafe(str text, size_t at) {
  unsigned char c = (unsigned char)text.p[at], next = at + 1 < text.n ? (unsigned char)text.p[at + 1] : 0;
  if (c < 0x20 || c == 0x7f) return 1;
  if (c == 0xc2 && next >= 0x80 && next <= 0x9f) return 2;
  return plain_hidden((str){text.p, at}, str_from(text, at));
}

static size_t escape(str text, char *out, size_t size) {
  enum { LONGEST = 4 * sizeof "\\xff" };
  size_t k = 0;
  for (size_t i = 0; i < text.n && k + LONGEST < size;) {
    size_t n = count_unsafe(text, i);
    if (!n) out[k++] = text.p[i++];
    for (; n; n--) k += (size_t)snprintf(out + k, size - k, "\\x%02x", (unsigned char)text.p[i++]);
  }
  return k;
}

void log_line(const struct log *l, enum log_level level, const char *fmt, ...) {
  if (!l || level < l->level) return;
  ASSERT((unsigned)level < LOG_OFF);
  char text[LINE_MAX_BYTES], line[LINE_MAX_BYTES + 64];
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  if (n < 0) return;
  size_t len = (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
  size_t k = clock_print(clock_wall_ms(l->clock), line);
  k += (size_t)snprintf(line + k, sizeof line - k, " %-5s ", level_names[level]);
  k += escape((str){text, len}, line + k, sizeof line - k - 1);
  line[k++] = '\n';
  // A log that cannot be written (full pipe, closed terminal, full disk) must not stop the service, so the line is
  // dropped. A pipe that poll reports as writable has room for a line of this size.
  struct pollfd p = {.fd = l->fd, .events = POLLOUT};
  if (poll(&p, 1, 0) != 1 || !(p.revents & POLLOUT)) return;
  ssize_t ignored = write(l->fd, line, k);
  (void)ignored;
}
