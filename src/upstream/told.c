// SPDX-License-Identifier: Apache-2.0
// What of a failure is told to who called: what happened, not where the server is and how it is started.
#include <stdio.h>

#include "io/http.h"
#include "text/secrets.h"
#include "upstream/spec.h"

// The text without this part of it, wherever that stands; in the arena, if it does.
static str without(struct arena *a, str text, str part) {
  for (const char *at; part.n && (at = memmem(text.p, text.n, part.p, part.n));) {
    size_t before = (size_t)(at - text.p);
    text = arena_printf(a, "%.*s%.*s", (int)before, text.p, STR_ARG(str_from(text, before + part.n)));
  }
  return text;
}

// cannot connect to HOST port PORT: why
static str without_address(struct arena *a, const struct upstream_spec *s, str text) {
  struct http_url url;
  if (!http_url_parse(s->url, &url)) return text;
  return without(a, text, arena_printf(a, " to %.*s port %u", STR_ARG(url.host), url.port));
}

// From its first character, which stands behind a blank, to its last, or to the end of the text if it was cut.
static size_t aside(str text, size_t at, char first, char last) {
  if (text.p[at] != ' ' || at + 1 == text.n || text.p[at + 1] != first) return 0;
  str rest = str_from(text, at + 2);
  const char *end = memchr(rest.p, last, rest.n);
  return end ? (size_t)(end - text.p) + 1 - at : text.n - at;
}

// cannot start "PROGRAM": no such program in PATH (PATH), cannot start "PROGRAM": cwd "FOLDER" does not exist
static str without_program(struct arena *a, str text) {
  const char *says = memmem(text.p, text.n, "cannot start \"", 14);
  if (!says) return text;
  char *out = arena_alloc(a, text.n);
  size_t n = (size_t)(says - text.p);
  memcpy(out, text.p, n);
  for (size_t at = n; at < text.n;) {
    size_t quoted = aside(text, at, '"', '"'), listed = aside(text, at, '(', ')');
    if (!quoted && !listed) out[n++] = text.p[at++];
    at += quoted + listed;
  }
  return (str){out, n};
}

str spec_told(const struct upstream_spec *s, struct arena *a, str text) {
  text = upstream_is_http(s) ? without_address(a, s, text) : without_program(a, text);
  return secrets_mask(a, text, &s->secrets);
}
