// SPDX-License-Identifier: Apache-2.0
#include "schema/uri.h"

#include <ctype.h>

#include "base/ascii.h"
#include "base/assert.h"

struct uri_parts {
  str scheme, authority, path, query;  // `scheme` includes its colon, `authority` its "//", `query` its "?"
};

str uri_without_fragment(str uri, str *out_fragment) {
  str head, tail;
  bool found = str_cut(uri, '#', &head, &tail);
  *out_fragment = found ? tail : STR_NONE;
  return head;
}

size_t uri_scheme(str uri) {
  if (!uri.n || !isalpha((unsigned char)uri.p[0])) return 0;
  for (size_t i = 1; i < uri.n; i++) {
    unsigned char c = (unsigned char)uri.p[i];
    if (c == ':') return i;
    if (!isalnum(c) && c != '+' && c != '-' && c != '.') return 0;
  }
  return 0;
}

static size_t until(str s, const char *stops) {
  size_t n = 0;
  while (n < s.n && !strchr(stops, s.p[n])) n++;
  return n;
}

static str take(str *rest, size_t n) {
  ASSERT(n <= rest->n);
  str head = {rest->p, n};
  *rest = str_from(*rest, n);
  return head;
}

static struct uri_parts split(str uri) {
  struct uri_parts p = {0};
  size_t scheme = uri_scheme(uri);
  if (scheme) p.scheme = take(&uri, scheme + 1);
  if (str_starts(uri, STR("//"))) p.authority = take(&uri, 2 + until(str_from(uri, 2), "/?"));
  p.path = take(&uri, until(uri, "?"));
  p.query = uri;
  return p;
}

// Appends a path to `out` and resolves its "." and ".." segments, which cannot remove bytes that were in `out` before.
static void put_path(char *out, size_t *n, str path) {
  size_t start = *n;
  while (path.n) {
    bool slash = path.p[0] == '/';
    str rest = str_from(path, slash);
    str segment = take(&rest, until(rest, "/"));
    bool last = rest.n == 0;
    path = rest;
    if (str_eq(segment, STR(".")) || str_eq(segment, STR(".."))) {
      if (segment.n == 2) {
        while (*n > start && out[*n - 1] != '/') (*n)--;
        if (*n > start) (*n)--;
      }
      if (last && (slash || *n > start)) out[(*n)++] = '/';
      continue;
    }
    if (slash) out[(*n)++] = '/';
    memcpy(out + *n, segment.p, segment.n);
    *n += segment.n;
  }
}

static void put(char *out, size_t *n, str s) {
  if (s.n) memcpy(out + *n, s.p, s.n);
  *n += s.n;
}

// Returns the base's path up to its last slash, followed by the reference's path.
static str merged_path(struct arena *a, const struct uri_parts *base, str path) {
  size_t keep = base->path.n;
  while (keep && base->path.p[keep - 1] != '/') keep--;
  bool root = base->authority.n && !base->path.n;
  char *out = arena_alloc(a, keep + path.n + 1);
  size_t n = 0;
  put(out, &n, root ? STR("/") : (str){base->path.p, keep});
  put(out, &n, path);
  return (str){out, n};
}

str uri_resolve(struct arena *a, str base, str reference) {
  if (!reference.n) return base;
  struct uri_parts b = split(base), r = split(reference);
  if (!r.scheme.n) {
    r.scheme = b.scheme;
    if (!r.authority.n) {
      r.authority = b.authority;
      if (!r.path.n) r.path = b.path;
      else if (r.path.p[0] != '/') r.path = merged_path(a, &b, r.path);
    }
  }
  char *out = arena_alloc(a, base.n + reference.n + 4);
  size_t n = 0;
  put(out, &n, r.scheme);
  put(out, &n, r.authority);
  // An opaque path (urn:a:b) has no segments to resolve.
  if (r.scheme.n && !r.authority.n && r.path.n && r.path.p[0] != '/') put(out, &n, r.path);
  else put_path(out, &n, r.path);
  put(out, &n, r.query);
  ASSERT(n <= base.n + reference.n + 4);
  return (str){out, n};
}

bool uri_decode(struct arena *a, str text, str *out) {
  if (!text.n || !memchr(text.p, '%', text.n)) {
    *out = text;
    return true;
  }
  char *p = arena_alloc(a, text.n);
  size_t n = 0;
  for (size_t i = 0; i < text.n; i++) {
    if (text.p[i] != '%') {
      p[n++] = text.p[i];
      continue;
    }
    int high = i + 2 < text.n ? ascii_hex(text.p[i + 1]) : -1;
    int low = high >= 0 ? ascii_hex(text.p[i + 2]) : -1;
    if (low < 0) return false;
    p[n++] = (char)(high << 4 | low);
    i += 2;
  }
  *out = (str){p, n};
  return true;
}
