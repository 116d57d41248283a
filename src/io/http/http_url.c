// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <stdio.h>

#include "io/http/http.h"

static bool cut_scheme(str *url, bool *out_tls) {
  static const str schemes[] = {{"http://", 7}, {"https://", 8}};
  for (int tls = 0; tls < 2; tls++) {
    if (url->n < schemes[tls].n || !str_eq_nocase((str){url->p, schemes[tls].n}, schemes[tls])) continue;
    *url = str_from(*url, schemes[tls].n);
    *out_tls = tls;
    return true;
  }
  return false;
}

static bool is_ipv6(str s) {
  char text[INET6_ADDRSTRLEN];
  struct in6_addr address;
  if (s.n >= sizeof text || (s.n && memchr(s.p, 0, s.n))) return false;
  memcpy(text, s.p, s.n);
  text[s.n] = 0;
  return inet_pton(AF_INET6, text, &address) == 1;
}

static bool is_name(str s) {
  for (size_t i = 0; i < s.n; i++) {
    char c = s.p[i], lower = c | 0x20;
    bool letter = lower >= 'a' && lower <= 'z', digit = c >= '0' && c <= '9';
    if (!letter && !digit && c != '-' && c != '.' && c != '_') return false;
  }
  return s.n > 0;
}

// Parses the text after the host, which is empty or consists of a colon and a port number.
static bool parse_port(str s, bool tls, uint16_t *out) {
  uint64_t port = tls ? 443 : 80;
  if (s.n && (s.p[0] != ':' || s.n > 6 || !str_to_u64(str_from(s, 1), &port))) return false;
  if (port == 0 || port > UINT16_MAX) return false;
  *out = (uint16_t)port;
  return true;
}

static bool parse_authority(struct http_url *u) {
  str host, rest;
  if (u->authority.n && u->authority.p[0] == '[') {
    if (!str_cut(str_from(u->authority, 1), ']', &host, &rest) || !is_ipv6(host)) return false;
  } else {
    str_cut(u->authority, ':', &host, &rest);
    if (!is_name(host)) return false;
    rest = str_from(u->authority, host.n);
  }
  u->host = host;
  return parse_port(rest, u->tls, &u->port);
}

static bool is_target(str s) {
  for (size_t i = 0; i < s.n; i++)
    if (s.p[i] <= ' ' || s.p[i] > '~' || s.p[i] == '#') return false;
  return true;
}

bool http_url_parse(str url, struct http_url *out) {
  struct http_url u;
  if (!cut_scheme(&url, &u.tls)) return false;
  const char *slash = url.n ? memchr(url.p, '/', url.n) : NULL;
  size_t n = slash ? (size_t)(slash - url.p) : url.n;
  u.authority = (str){url.p, n};
  u.target = slash ? str_from(url, n) : STR("/");
  if (!parse_authority(&u) || !is_target(u.target)) return false;
  *out = u;
  return true;
}

const char *http_host_print(str host, char out[HTTP_HOST_TEXT]) {
  bool bare_v6 = host.n && host.p[0] != '[' && memchr(host.p, ':', host.n);
  int n = (int)(host.n < HTTP_HOST_TEXT - 3 ? host.n : HTTP_HOST_TEXT - 3);
  snprintf(out, HTTP_HOST_TEXT, bare_v6 ? "[%.*s]" : "%.*s", n, host.n ? host.p : "");
  return out;
}
