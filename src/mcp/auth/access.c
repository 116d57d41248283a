// SPDX-License-Identifier: Apache-2.0
#include "mcp/auth/access.h"

#include "base/text/utf8.h"

enum { HTTP_PORT = 80, HTTPS_PORT = 443, LINES_PER_SECOND = 5, NAME_TOLD = 100 };

// An authority: host, [v6], each with or without :port. port is 0 when there is none; host is empty when malformed.
struct access_host {
  str host;
  uint16_t port;
};

static struct access_host place_of(str authority) {
  const char *end = authority.n && authority.p[0] == '[' ? memchr(authority.p, ']', authority.n) : NULL;
  str host = {authority.p, end ? (size_t)(end - authority.p) + 1 : 0}, rest;
  if (!end) str_cut(authority, ':', &host, &rest);
  rest = str_from(authority, host.n);
  uint64_t port = 0;
  if (rest.n && (rest.p[0] != ':' || !str_to_u64(str_from(rest, 1), &port) || port == 0 || port > UINT16_MAX))
    host = STR_NONE;
  return (struct access_host){host, (uint16_t)port};
}

// Is it the listener itself? A port that is not said counts as `port`.
static bool is_own(const struct access *a, struct access_host p, uint16_t port) {
  static const str loopback[] = {STR("localhost"), STR("127.0.0.1"), STR("[::1]")};
  if (p.port) port = p.port;
  if (p.host.n == 0 || (a->port && port != a->port)) return false;
  for (size_t i = 0; i < sizeof loopback / sizeof *loopback; i++)
    if (str_eq_nocase(p.host, loopback[i])) return true;
  return str_eq_nocase(p.host, a->bound);
}

// Is it configured? A port that is not said is one of these two.
static bool is_configured(const struct access *a, struct access_host p, uint16_t usual, uint16_t other) {
  for (size_t i = 0; p.host.n && i < a->allowed_count; i++) {
    struct access_host allowed = place_of(a->allowed[i]);
    bool port = !allowed.port || (p.port ? allowed.port == p.port : allowed.port == usual || allowed.port == other);
    if (port && str_eq_nocase(p.host, allowed.host)) return true;
  }
  return false;
}

// Sets *out_configured when the page has a configured name.
static bool origin_ok(const struct access *a, str origin, bool *out_configured) {
  bool tls = str_starts(origin, STR("https://"));
  if (!tls && !str_starts(origin, STR("http://"))) return false;  // "null", extensions, anything else
  struct access_host p = place_of(str_from(origin, tls ? 8 : 7));
  uint16_t usual = tls ? HTTPS_PORT : HTTP_PORT;
  *out_configured = is_configured(a, p, usual, usual);
  return *out_configured || (!tls && is_own(a, p, HTTP_PORT));
}

static bool host_ok(const struct access *a, str host) {
  struct access_host p = place_of(host);
  return is_own(a, p, a->port) || is_configured(a, p, HTTP_PORT, HTTPS_PORT);
}

int access_check(const struct access *a, const struct http_head *head) {
  bool configured = false;
  if (!host_ok(a, head->host)) return 421;
  str origin = http_value(head, STR("origin")), site = http_value(head, STR("sec-fetch-site"));
  if (origin.p && !origin_ok(a, origin, &configured)) return 403;
  bool foreign = site.p && !str_eq(site, STR("same-origin")) && !str_eq(site, STR("none"));
  return foreign && !configured ? 403 : 0;
}

static const char *refusal(int status) {
  return status == 421 ? "Misdirected Request: this Host is not served here; a name and port other than those listened "
                         "on must be in allowed_hosts\n"
                       : "Forbidden: web pages of other origins may not call; see allowed_hosts\n";
}

static void log_refusal(struct access *a, struct loop *l, const struct http_exchange *x, int status) {
  char peer[HTTP_PEER_SIZE];
  unsigned suppressed;
  if (!rate_allow(&a->refusals, loop_now(l), LINES_PER_SECOND, &suppressed)) return;
  str origin = http_value(x->head, STR("origin"));
  http_exchange_peer(x, peer);
  log_warn(
      l->log,
      "a request from %s was refused with %d: Host \"%.*s\"%s%.*s; see allowed_hosts; %u more since the last such line",
      peer, status, STR_ARG(utf8_cut(x->head->host, NAME_TOLD)), status == 421 ? "" : ", Origin ",
      STR_ARG(status == 421 ? STR("") : utf8_cut(origin.p ? origin : STR("(none)"), NAME_TOLD)), suppressed);
}

// A listener on 0.0.0.0 or :: has many addresses. A browser sends such an address as Host only if the page itself has
// been loaded from it, so no page can rebind it.
static int check_local(const struct access *a, const struct http_exchange *x) {
  char address[HTTP_PEER_SIZE];
  struct access own = *a;
  http_exchange_local(x, address);
  own.bound = str_of(address);
  return *address ? access_check(&own, x->head) : 421;
}

bool access_pass(struct access *a, struct loop *l, struct http_exchange *x) {
  int status = access_check(a, x->head);
  if (status && a->local) status = check_local(a, x);
  if (!status) return true;
  log_refusal(a, l, x, status);
  http_reply(x, status, STR_NONE, STR("text/plain; charset=utf-8"), str_of(refusal(status)));
  return false;
}
