// SPDX-License-Identifier: Apache-2.0
#include "catalog/naming/names.h"

#include "base/ascii.h"
#include "base/assert.h"
#include "base/buf.h"
#include "base/crypto/hash.h"
#include "base/text/plain.h"
#include "catalog/naming/identify.h"

static bool safe_char(char c) {
  return ascii_is_alnum(c) || c == '_' || c == '-';
}

bool names_is_safe(str name) {
  if (name.n == 0 || name.n > NAMES_MAX) return false;
  for (size_t i = 0; i < name.n; i++)
    if (!safe_char(name.p[i])) return false;
  return true;
}

// Joins three texts. Does not use printf, which would end a text at a NUL byte.
static str joined(struct arena *a, str x, str between, str y) {
  char *p = arena_alloc(a, x.n + between.n + y.n + 1);
  memcpy(mempcpy(p, x.p, x.n), between.p, between.n);
  memcpy(p + x.n + between.n, y.p, y.n);
  return (str){p, x.n + between.n + y.n};
}

static str prefixed(struct arena *a, str server, str name) {
  return joined(a, server, STR("__"), name);
}

// Returns a safe name: the start of `wanted`, in which '_' replaces every unsafe character, then '_' and 8 hex digits
// of a hash.
static str hashed(struct arena *a, str server, str name, str wanted, unsigned salt) {
  enum { TAIL = 9 };
  unsigned char digest[SHA256_SIZE];
  char hex[2 * SHA256_SIZE + 1];
  str owner = joined(a, server, STR("\0"), name);
  hash_sha256(joined(a, owner, STR("\0"), arena_printf(a, "%u", salt)), digest);
  hash_hex(digest, 4, hex);
  size_t n = wanted.n < NAMES_MAX - TAIL ? wanted.n : NAMES_MAX - TAIL;
  char *p = arena_alloc(a, NAMES_MAX + 1);
  for (size_t i = 0; i < n; i++) p[i] = safe_char(wanted.p[i]) ? wanted.p[i] : '_';
  p[n] = '_';
  memcpy(p + n + 1, hex, TAIL - 1);
  return (str){p, n + TAIL};
}

static str safe_server(struct arena *a, str server) {
  char *p = arena_cstr(a, server);
  for (size_t i = 0; i < server.n; i++)
    if (!safe_char(p[i])) p[i] = '_';
  return (str){p, server.n};
}

str names_safe(struct arena *a, str server, str name, bool prefix, unsigned salt) {
  str wanted = prefix ? prefixed(a, safe_server(a, server), name) : name;
  if (salt == 0 && names_is_safe(wanted)) return wanted;
  return hashed(a, server, name, wanted, salt);
}

str names_of_id(struct arena *a, str namespace, str leaf, str id, bool plain, unsigned salt) {
  str wanted = prefixed(a, namespace, leaf);
  bool ambiguous = str_ends(namespace, STR("_")) || str_starts(leaf, STR("_")) ||
                   (namespace.n && memmem(namespace.p, namespace.n, "__", 2));
  if (plain && !ambiguous && salt == 0 && names_is_safe(wanted)) return wanted;
  return hashed(a, namespace, id, wanted, salt);
}

// Returns the length of the control or hidden character at the start of `rest`, or 0 if `rest` starts with another
// character.
static size_t unseen(str before, str rest) {
  unsigned char c = (unsigned char)rest.p[0];
  if (c < ' ' || c == 0x7f) return 1;
  bool c1 = c == 0xc2 && rest.n > 1 && (unsigned char)rest.p[1] < 0xa0;
  return c1 ? 2 : plain_hidden(before, rest);
}

static bool is_seen(str text) {
  for (str rest = text; rest.n; rest = str_from(rest, 1))
    if (unseen((str){text.p, text.n - rest.n}, rest)) return false;
  return true;
}

// Percent-encodes control and hidden characters: U+200B becomes %E2%80%8B.
static str visible(struct arena *a, str uri) {
  if (is_seen(uri)) return uri;
  struct buf b;
  buf_init(&b, 3 * uri.n + 1);
  for (str rest = uri; rest.n;) {
    size_t n = unseen((str){uri.p, uri.n - rest.n}, rest);
    if (!n) buf_char(&b, rest.p[0]);
    for (size_t i = 0; i < n; i++) buf_printf(&b, "%%%02X", (unsigned char)rest.p[i]);
    rest = str_from(rest, n ? n : 1);
  }
  str made = arena_str(a, buf_view(&b));
  buf_done(&b);
  return made;
}

str names_shown(struct arena *a, str server, str name) {
  return is_seen(name) ? name : hashed(a, server, name, name, 0);
}

str names_uri(struct arena *a, str prefix, str uri) {
  uri = visible(a, uri);
  return prefix.n ? joined(a, prefix, STR(""), uri) : uri;
}

void names_prefixes(struct arena *a, const str *servers, size_t count, str *out) {
  ASSERT(out || !count);
  identify_namespaces(servers, count, NULL, a, out);
  for (size_t i = 0; i < count; i++) {
    char *p = arena_cstr(a, joined(a, out[i], STR("+"), STR("")));
    for (size_t k = 0; k < out[i].n; k++)
      if (p[k] == '_') p[k] = '.';
    out[i] = (str){p, out[i].n + 1};
  }
}
