// SPDX-License-Identifier: Apache-2.0
#include "catalog/names.h"

#include "base/ascii.h"
#include "base/hash.h"

static bool safe_char(char c) {
  return ascii_is_alnum(c) || c == '_' || c == '-';
}

bool names_is_safe(str name) {
  if (name.n == 0 || name.n > NAMES_MAX) return false;
  for (size_t i = 0; i < name.n; i++)
    if (!safe_char(name.p[i])) return false;
  return true;
}

// Not by printf, which would end a name at a NUL in it.
static str joined(struct arena *a, str x, str between, str y) {
  char *p = arena_alloc(a, x.n + between.n + y.n + 1);
  memcpy(mempcpy(p, x.p, x.n), between.p, between.n);
  memcpy(p + x.n + between.n, y.p, y.n);
  return (str){p, x.n + between.n + y.n};
}

static str prefixed(struct arena *a, str server, str name) {
  return joined(a, server, STR("__"), name);
}

// As much of the name as fits, every unsafe character as '_', then '_' and 8 hex digits.
static str hashed(struct arena *a, str server, str name, str wanted, unsigned salt) {
  enum { TAIL = 9 };
  unsigned char digest[SHA256_SIZE];
  char hex[2 * SHA256_SIZE + 1];
  str whose = joined(a, server, STR("\0"), name);
  hash_sha256(joined(a, whose, STR("\0"), arena_printf(a, "%u", salt)), digest);
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

str names_uri(struct arena *a, str server, str uri, bool prefix) {
  return prefix ? prefixed(a, safe_server(a, server), uri) : uri;
}
