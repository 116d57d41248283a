// SPDX-License-Identifier: Apache-2.0
#include "mcp/auth/access.h"

#include "base/assert.h"
#include "base/text/utf8.h"

enum { HTTP_PORT = 80, HTTPS_PORT = 443, LINES_PER_SECOND = 5, NAME_SHOWN = 100 };

// The host and port in the value of a Host or Origin header: HOST or [IPV6], with or without :PORT. `port` is 0 if
// there is no port; `host` is empty if the value is malformed.
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

// Returns whether `p` names this listener: a loopback name or the bound address, and the port of the listener. The
// parameter `port` is used if `p` has no port.
static bool is_own(const struct access *a, struct access_host p, uint16_t port) {
  static const str loopback[] = {STR("localhost"), STR("127.0.0.1"), STR("[::1]")};
  if (p.port) port = p.port;
  if (p.host.n == 0 || (a->port && port != a->port)) return false;
  for (size_t i = 0; i < sizeof loopback / sizeof *loopback; i++)
    if (str_eq_nocase(p.host, loopback[i])) return true;
  return str_eq_nocase(p.host, a->bound);
}

// Returns whether `p` matches an entry of allowed_hosts. Without a port, `p` also matches entries with the port `usual`
// or `other`.
static bool is_configured(const struct access *a, struct access_host p, uint16_t usual, uint16_t other) {
  for (size_t i = 0; p.host.n && i < a->allowed_count; i++) {
    struct access_host allowed = place_of(a->allowed[i]);
    bool port = !allowed.port || (p.port ? allowed.port == p.port : allowed.port == usual || allowed.port == other);
    if (port && str_eq_nocase(p.host, allowed.host)) return true;
  }
  return false;
}

// Returns whether the value of an Origin header is accepted. Sets *out_configured to whether allowed_hosts contains the
// host of the origin.
static bool origin_ok(const struct access *a, str origin, bool *out_configured) {
  bool tls = str_starts(origin, STR("https://"));
  // Refuses "null", browser extensions and other schemes.
  if (!tls && !str_starts(origin, STR("http://"))) return false;
  struct access_host p = place_of(str_from(origin, tls ? 8 : 7));
  uint16_t usual = tls ? HTTPS_PORT : HTTP_PORT;
  *out_configured = is_configured(a, p, usual, usual);
  return *out_configured || (!tls && is_own(a, p, HTTP_PORT));
}

int access_check(const struct access *a, const struct http_head *head) {
  bool configured = false;
  struct access_host host = place_of(head->host);
  if (!is_own(a, host, a->port) && !is_configured(a, host, HTTP_PORT, HTTPS_PORT)) return 421;
  str origin = http_value(head, STR("origin")), site = http_value(head, STR("sec-fetch-site"));
  if (origin.p && !origin_ok(a, origin, &configured)) return 403;
  bool foreign = site.p && !str_eq(site, STR("same-origin")) && !str_eq(site, STR("none"));
  return foreign && !configured ? 403 : 0;
}

static void log_refusal(struct access *a, struct loop *l, const struct http_exchange *x, int status) {
  char peer[HTTP_PEER_SIZE];
  unsigned suppressed;
  if (!rate_allow(&a->refusals, loop_now(l), LINES_PER_SECOND, &suppressed)) return;
  str origin = http_value(x->head, STR("origin"));
  http_exchange_peer(x, peer);
  log_warn(l->log,
           "refused a request from %s with HTTP %d: Host \"%.*s\"%s%.*s; see allowed_hosts (%u similar messages "
           "suppressed)",
           peer, status, STR_ARG(utf8_cut(x->head->host, NAME_SHOWN)), status == 421 ? "" : ", Origin ",
           STR_ARG(status == 421 ? STR("") : utf8_cut(origin.p ? origin : STR("(none)"), NAME_SHOWN)), suppressed);
}

bool access_pass(struct access *a, struct loop *l, struct http_exchange *x) {
  int status = access_check(a, x->head);
  if (status && a->local) {
    // A listener on 0.0.0.0 or :: has many addresses, so the Host header may also contain the address to which the
    // client has connected. DNS rebinding is still impossible: a browser sends an IP address in Host only if the URL
    // contains this address.
    char address[HTTP_PEER_SIZE];
    struct access own = *a;
    http_exchange_local(x, address);
    own.bound = str_of(address);
    status = *address ? access_check(&own, x->head) : 421;
  }
  if (!status) return true;
  ASSERT(status == 421 || status == 403);
  log_refusal(a, l, x, status);
  const char *text = status == 421 ? "Misdirected Request: this Host is not served here; to allow another name or "
                                     "port, add it to allowed_hosts\n"
                                   : "Forbidden: web pages of other origins may not call; see allowed_hosts\n";
  http_reply(x, status, STR_NONE, STR("text/plain; charset=utf-8"), str_of(text));
  return false;
}
