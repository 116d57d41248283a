// SPDX-License-Identifier: Apache-2.0
// The spellings of a server's address that are masked in errors which agents read (docs/reference/results.md#addresses).
#include <netdb.h>

#include "app/config/config_load.h"
#include "base/ascii.h"
#include "base/assert.h"
#include "io/http/http.h"
#include "upstream/kind.h"

struct spellings {
  struct arena *arena;
  struct http_url url;
  str *out;
  size_t count;
};

static void add(struct spellings *s, str text) {
  ASSERT(s->count < CONFIG_ADDRESSES);
  s->out[s->count++] = text;
}

// ---- host and port

// HOST:PORT, "HOST port PORT", the origin, and HOST%3APORT as in a URL that is the parameter of another one. Many
// programs write an IPv6 address and its port without brackets.
static void add_host(struct spellings *s, str host) {
  unsigned port = s->url.port;
  const char *scheme = s->url.tls ? "https" : "http";
  str written = config_in_url(host, s->arena);
  add(s, arena_printf(s->arena, "%.*s:%u", STR_ARG(written), port));
  if (!str_eq(written, host)) add(s, arena_printf(s->arena, "%.*s:%u", STR_ARG(host), port));
  add(s, arena_printf(s->arena, "%.*s port %u", STR_ARG(host), port));
  add(s, arena_printf(s->arena, "%.*s%%3A%u", STR_ARG(host), port));
  add(s, arena_printf(s->arena, "%s://%.*s:%u", scheme, STR_ARG(written), port));
  if (port == (s->url.tls ? 443 : 80)) add(s, arena_printf(s->arena, "%s://%.*s", scheme, STR_ARG(written)));
}

// ---- the host alone

// An IP address as programs print it: fd00::5 for FD00:0:0::5, 10.0.0.5 for 10.5. STR_NONE: the host is a name.
static str ip_of(str host, struct arena *a) {
  char text[NI_MAXHOST];
  struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *found;
  if (getaddrinfo(arena_cstr(a, host), NULL, &hints, &found) != 0) return STR_NONE;
  int failed = getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST);
  freeaddrinfo(found);
  return failed ? STR_NONE : arena_str(a, str_of(text));
}

static bool is_internal_label(str label) {
  static const str labels[] = {STR("internal"), STR("intranet"),    STR("private"), STR("corp"), STR("lan"),
                               STR("local"),    STR("localdomain"), STR("home"),    STR("svc")};
  for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
    if (str_eq_nocase(label, labels[i])) return true;
  return false;
}

// A name without dots may be an ordinary word ("search"), unless it has a digit or a hyphen.
static bool is_internal_name(str host) {
  str label, rest = host;
  bool plain = true;
  for (size_t i = 0; i < host.n; i++) plain = plain && host.p[i] != '-' && !(host.p[i] >= '0' && host.p[i] <= '9');
  if (!memchr(host.p, '.', host.n)) return !plain;
  for (bool more = true; more;) {
    more = str_cut(rest, '.', &label, &rest);
    if (is_internal_label(label)) return true;
  }
  return false;
}

// Agents may read the names of public hosts, of loopback, and the name that the server has in the configuration.
static bool is_hidden_alone(str host, str server, str ip) {
  if (config_is_loopback(host) || config_is_loopback(ip) || str_eq_nocase(host, server)) return false;
  return ip.n || is_internal_name(host);
}

// ---- all of them

size_t config_addresses(const struct upstream_spec *spec, struct arena *a, str out[CONFIG_ADDRESSES]) {
  static const str loopback[] = {STR("localhost"), STR("127.0.0.1"), STR("::1")};
  struct spellings s = {.arena = a, .out = out};
  if (!spec->kind->remote || !http_url_parse(spec->url, &s.url)) return 0;
  add(&s, spec->url);
  str host = s.url.host, ip = ip_of(host, a);
  add_host(&s, host);
  if (ip.n) add_host(&s, ip);
  for (size_t i = 0; i < 3 && (config_is_loopback(host) || config_is_loopback(ip)); i++) add_host(&s, loopback[i]);
  if (is_hidden_alone(host, spec->name, ip)) {
    add(&s, host);
    if (ip.n) add(&s, ip);
  }
  return s.count;
}
