// SPDX-License-Identifier: Apache-2.0
#include "catalog/naming/uri_key.h"

#include "base/ascii.h"
#include "base/assert.h"
#include "base/buf.h"
#include "schema/uri.h"

static bool is_gap(char c) {
  return c == URI_SEGMENT || c == URI_ANYTHING;
}

// ---- normal form

static bool is_one_of(char c, const char *list) {
  return c && strchr(list, c);
}

static bool must_escape(char c) {
  unsigned char u = (unsigned char)c;
  return (u <= ' ' && !is_gap(c)) || u >= 0x7f || is_one_of(c, "\"<>\\^`{|}");
}

static bool read_escape(str s, char *out) {
  int high = s.n > 2 && s.p[0] == '%' ? ascii_hex(s.p[1]) : -1, low = high < 0 ? -1 : ascii_hex(s.p[2]);
  if (low < 0) return false;
  *out = (char)(high << 4 | low);
  return true;
}

static void put_normal(struct buf *out, str s, bool lower) {
  for (; s.n; s = str_from(s, 1)) {
    char c = s.p[0];
    bool escaped = read_escape(s, &c);
    if (escaped) s = str_from(s, 2);
    bool keep = escaped ? ascii_is_alnum(c) || is_one_of(c, "-._~") : !must_escape(c);
    if (keep) buf_char(out, lower ? ascii_lower(c) : c);
    else buf_printf(out, "%%%02X", (unsigned char)c);
  }
}

static size_t until(str s, const char *ends) {
  size_t n = 0;
  while (n < s.n && !is_one_of(s.p[n], ends)) n++;
  return n;
}

static bool is_default_port(str scheme, str port) {
  bool plain = str_eq_nocase(scheme, STR("http")) || str_eq_nocase(scheme, STR("ws"));
  bool secure = str_eq_nocase(scheme, STR("https")) || str_eq_nocase(scheme, STR("wss"));
  return !port.n || (plain && str_eq(port, STR("80"))) || (secure && str_eq(port, STR("443")));
}

static void put_authority(struct buf *out, str scheme, str s) {
  const char *at = s.n ? memrchr(s.p, '@', s.n) : NULL;
  size_t user = at ? (size_t)(at + 1 - s.p) : 0;
  put_normal(out, (str){s.p, user}, false);
  str host = str_from(s, user), port = STR_NONE;
  const char *colon = host.n ? memrchr(host.p, ':', host.n) : NULL;
  if (colon && !memchr(colon, ']', (size_t)(host.p + host.n - colon))) {
    port = str_from(host, (size_t)(colon + 1 - host.p));
    host.n = (size_t)(colon - host.p);
  }
  if (str_ends(host, STR("."))) host.n--;
  put_normal(out, host, true);
  if (is_default_port(scheme, port)) return;
  buf_char(out, ':');
  put_normal(out, port, false);
}

static void put_uri(struct buf *out, str uri) {
  str scheme = {uri.p, uri_scheme(uri)};
  if (scheme.n) {
    put_normal(out, scheme, true);
    buf_char(out, ':');
    uri = str_from(uri, scheme.n + 1);
  }
  if (str_starts(uri, STR("//"))) {
    str authority = {uri.p + 2, until(str_from(uri, 2), "/?#")};
    buf_str(out, STR("//"));
    put_authority(out, scheme, authority);
    uri = str_from(uri, authority.n + 2);
    // Adds the slash that a web URI without a path lacks. In a template, an expression at the end of the authority may
    // stand for the slash, so none is added.
    bool web = str_eq_nocase(scheme, STR("http")) || str_eq_nocase(scheme, STR("https"));
    if (web && !str_starts(uri, STR("/")) && !is_gap(out->p[out->n - 1])) buf_char(out, '/');
  }
  put_normal(out, uri, false);
}

static str trim(str s) {
  while (s.n && (unsigned char)s.p[0] <= ' ' && !is_gap(s.p[0])) s = str_from(s, 1);
  while (s.n && (unsigned char)s.p[s.n - 1] <= ' ' && !is_gap(s.p[s.n - 1])) s.n--;
  return s;
}

// Returns whether programs that parse a URI ignore this character anywhere in the URI.
static bool is_ignored(char c) {
  return is_one_of(c, "\t\n\r");
}

static str without_ignored(struct arena *a, str s) {
  char *p = arena_alloc(a, s.n + 1);
  size_t n = 0;
  for (size_t i = 0; i < s.n; i++)
    if (!is_ignored(s.p[i])) p[n++] = s.p[i];
  return (str){p, n};
}

static str key_of(struct arena *a, str text) {
  struct buf out;
  struct arena scratch;
  str fragment;
  arena_init(&scratch);
  buf_init(&out, 3 * text.n + 16);
  put_uri(&out, without_ignored(&scratch, trim(text)));
  str whole = buf_view(&out);
  str resolved = uri_resolve(&scratch, STR(""), uri_without_fragment(whole, &fragment));
  if (fragment.p) resolved = arena_printf(&scratch, "%.*s#%.*s", STR_ARG(resolved), STR_ARG(fragment));
  str key = str_eq(resolved, text) ? text : arena_str(a, resolved);
  buf_done(&out);
  arena_done(&scratch);
  return key;
}

// Replaces bytes of the URI that could be mistaken for URI_SEGMENT or URI_ANYTHING.
str uri_key(struct arena *a, str uri) {
  char *p = NULL;
  for (size_t i = 0; i < uri.n; i++) {
    if (!is_gap(uri.p[i])) continue;
    if (!p) p = arena_cstr(a, uri);
    p[i] = '\x03';
  }
  return key_of(a, p ? (str){p, uri.n} : uri);
}

str uri_after(str uri, size_t n) {
  while (uri.n && (unsigned char)uri.p[0] <= ' ') uri = str_from(uri, 1);
  for (; uri.n && n; uri = str_from(uri, 1))
    if (!is_ignored(uri.p[0])) n--;
  return uri;
}

str uri_template_key(struct arena *a, str template_) {
  char *p = arena_alloc(a, template_.n + 1);
  size_t n = 0;
  for (str rest = template_; rest.n; rest = str_from(rest, 1)) {
    const char *end = rest.p[0] == '{' ? memchr(rest.p, '}', rest.n) : NULL;
    if (!end) {
      p[n++] = is_gap(rest.p[0]) ? '\x03' : rest.p[0];
      continue;
    }
    bool segment = end > rest.p + 1 && !memchr("+#./;?&", rest.p[1], 7);
    p[n++] = segment ? URI_SEGMENT : URI_ANYTHING;
    rest = str_from(rest, (size_t)(end - rest.p));
  }
  return key_of(a, (str){p, n});
}

// ---- matching

enum { SHORTER_MAX = 8192 };  // maximum length of the shorter key, without the prefix that both keys have

static bool takes(char gap, char c) {
  return gap == URI_ANYTHING || c != '/';
}

// One step of dynamic programming. at[j] says whether the first i bytes of key `a` and the first j bytes of key `b` can
// match the same text. Computes next[j], which says this for the first i + 1 bytes of `a`.
static void advance(str a, size_t i, str b, bool *at, bool *next) {
  bool gap = i < a.n && is_gap(a.p[i]);
  for (size_t j = 0; j <= b.n; j++) {
    if (!at[j]) continue;
    bool other = j < b.n && is_gap(b.p[j]);
    if (other || (gap && j < b.n && takes(a.p[i], b.p[j]))) at[j + 1] = true;
    if (gap || (other && i < a.n && takes(b.p[j], a.p[i]))) next[j] = true;
    if (!gap && !other && i < a.n && j < b.n && a.p[i] == b.p[j]) next[j + 1] = true;
  }
}

static bool meets(str a, str b) {
  bool rows[2][SHORTER_MAX + 2];
  bool *at = rows[0], *next = rows[1];
  memset(at, 0, b.n + 2);
  at[0] = true;
  for (size_t i = 0;; i++) {
    memset(next, 0, b.n + 2);
    advance(a, i, b, at, next);
    if (i == a.n) return at[b.n];
    if (!memchr(next, true, b.n + 1)) return false;
    bool *done = at;
    at = next;
    next = done;
  }
}

bool uri_meets(str key, str other, size_t *steps) {
  ASSERT(steps);
  str a = key.n > other.n ? key : other, b = key.n > other.n ? other : key;
  size_t same = 0;
  while (same < b.n && a.p[same] == b.p[same] && !is_gap(a.p[same])) same++;
  a = str_from(a, same);
  b = str_from(b, same);
  bool apart = a.n && b.n && !is_gap(a.p[0]) && !is_gap(b.p[0]);
  size_t cost = 1 + same + (apart ? 0 : (a.n + 1) * (b.n + 1));
  if (cost > *steps || (!apart && b.n > SHORTER_MAX)) {
    *steps = 0;
    return true;
  }
  *steps -= cost;
  return !apart && meets(a, b);
}
