// SPDX-License-Identifier: Apache-2.0
#include "mcp/access.h"

#include <openssl/crypto.h>

// "host", "host:port" or "[v6]:port", without the port; empty when it is none of these.
static str without_port(str authority) {
  const char *end = authority.n && authority.p[0] == '[' ? memchr(authority.p, ']', authority.n) : NULL;
  str host = {authority.p, end ? (size_t)(end - authority.p) + 1 : 0}, rest;
  if (!end) str_cut(authority, ':', &host, &rest);
  rest = str_from(authority, host.n);
  uint64_t port;
  bool whole = rest.n == 0 || (rest.p[0] == ':' && str_to_u64(str_from(rest, 1), &port) && port <= 65535);
  return whole ? host : STR_NONE;
}

static bool host_allowed(const struct access *a, str host) {
  static const str loopback[] = {STR("localhost"), STR("127.0.0.1"), STR("[::1]")};
  if (host.n == 0) return false;
  for (size_t i = 0; i < sizeof loopback / sizeof *loopback; i++)
    if (str_eq_nocase(host, loopback[i])) return true;
  for (size_t i = 0; i < a->allowed_count; i++)
    if (str_eq_nocase(host, a->allowed_hosts[i])) return true;
  return false;
}

static bool origin_allowed(const struct access *a, str origin) {
  if (str_starts(origin, STR("http://"))) origin = str_from(origin, 7);
  else if (str_starts(origin, STR("https://"))) origin = str_from(origin, 8);
  else return false;  // "null", extensions, anything else
  return host_allowed(a, without_port(origin));
}

int access_check_names(const struct access *a, const struct http_head *head) {
  if (!host_allowed(a, without_port(head->host))) return 421;
  if (http_count(head, STR("origin")) > 1) return 403;
  str origin = http_value(head, STR("origin"));
  return origin.p && !origin_allowed(a, origin) ? 403 : 0;
}

bool access_authenticate(const struct access *a, const struct http_head *head, int *out_principal) {
  if (a->token_count == 0) {
    *out_principal = ACCESS_ANYONE;
    return true;
  }
  str value = http_value(head, STR("authorization"));
  if (http_count(head, STR("authorization")) != 1 || value.n < 7 || !str_eq_nocase((str){value.p, 7}, STR("Bearer ")))
    return false;
  unsigned char digest[SHA256_SIZE];
  hash_sha256(str_trim(str_from(value, 7)), digest);
  // Every token is compared, in constant time, so that the time tells nothing about which one came close.
  int found = -1;
  for (size_t i = 0; i < a->token_count; i++)
    if (CRYPTO_memcmp(digest, a->token_sha256[i], SHA256_SIZE) == 0) found = (int)i;
  if (found < 0) return false;
  *out_principal = found;
  return true;
}

void access_name(const unsigned char token_sha256[SHA256_SIZE], char out[ACCESS_NAME_SIZE]) {
  static const char purpose[] = "toolgate principal";
  unsigned char text[sizeof purpose + SHA256_SIZE], digest[SHA256_SIZE];
  memcpy(text, purpose, sizeof purpose);
  memcpy(text + sizeof purpose, token_sha256, SHA256_SIZE);
  hash_sha256((str){(const char *)text, sizeof text}, digest);
  memcpy(out, "token-", 6);
  hash_hex(digest, 16, out + 6);
}
