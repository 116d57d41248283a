// SPDX-License-Identifier: Apache-2.0
#include "mcp/access.h"

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
