// SPDX-License-Identifier: Apache-2.0
#include "io/http/proxy.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "base/text/base64.h"

enum { HOST_MAX = 255, USERINFO_MAX = 4096 };

// ---- hosts

struct address {
  size_t bytes;  // length of the address: 4 (IPv4) or 16 (IPv6); 0 if the host is a name
  unsigned char at[16];
};

// Parses a numeric address. Also accepts the IPv4 forms 127.1, 2130706433 and 0x7f.0.0.1, because getaddrinfo does.
static struct address parse_address(str host) {
  char text[HOST_MAX + 1];
  struct address a = {0};
  if (host.n > HOST_MAX) return a;
  memcpy(text, host.p, host.n);
  text[host.n] = 0;
  struct in_addr v4;
  if (inet_pton(AF_INET6, text, a.at) == 1) {
    a.bytes = 16;
  } else if (inet_aton(text, &v4)) {
    a.bytes = sizeof v4;
    memcpy(a.at, &v4, sizeof v4);
  }
  return a;
}

static bool ends_nocase(str s, str suffix) {
  return s.n >= suffix.n && str_eq_nocase(str_from(s, s.n - suffix.n), suffix);
}

static bool is_below(str host, str domain) {
  if (str_eq_nocase(host, domain)) return true;
  return host.n > domain.n && ends_nocase(host, domain) && host.p[host.n - domain.n - 1] == '.';
}

// Returns whether a host name or address is this machine. The unspecified address (0.0.0.0 or ::) is this machine, too,
// because a connection to it reaches this machine.
static bool is_this_machine(str host) {
  static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff}, zeros[16];  // ::ffff:127.0.0.1
  if (str_ends(host, STR("."))) host.n--;
  struct address a = parse_address(host);
  if (!a.bytes) return is_below(host, STR("localhost"));
  const unsigned char *v4 = a.bytes == 4 ? a.at : memcmp(a.at, mapped, 12) == 0 ? a.at + 12 : NULL;
  if (v4) return v4[0] == 127 || memcmp(v4, zeros, 4) == 0;
  return memcmp(a.at, &in6addr_loopback, 16) == 0 || memcmp(a.at, zeros, 16) == 0;
}

// ---- NO_PROXY

static bool in_network(const struct address *host, str network, str bits) {
  struct address a = parse_address(network);
  uint64_t n;
  if (!a.bytes || a.bytes != host->bytes || !str_to_u64(bits, &n) || n > 8 * a.bytes) return false;
  if (memcmp(a.at, host->at, n / 8) != 0) return false;
  unsigned mask = 0xff00u >> (n % 8) & 0xff;
  return mask == 0 || (a.at[n / 8] & mask) == (host->at[n / 8] & mask);
}

// Removes the port from an entry of NO_PROXY, if it has one. Returns false if that port is not `port`.
static bool port_fits(str *entry, uint16_t port) {
  uint64_t number;
  str rest = STR_NONE, host, tail;
  if (entry->n && entry->p[0] == '[') {
    if (!str_cut(str_from(*entry, 1), ']', &host, &tail)) return false;
    if (tail.n && tail.p[0] == ':') rest = str_from(tail, 1);
  } else {
    host = *entry;
    bool one = str_cut(*entry, ':', &host, &tail) && !memchr(tail.p, ':', tail.n);
    if (one) rest = tail;
    else host = *entry;
  }
  *entry = host;
  return !rest.p || (str_to_u64(rest, &number) && number == port);
}

static bool entry_exempts(str entry, str host, uint16_t port) {
  str network, bits;
  if (str_eq(entry, STR("*"))) return true;
  if (!port_fits(&entry, port)) return false;
  struct address a = parse_address(host);
  if (str_cut(entry, '/', &network, &bits)) return a.bytes && in_network(&a, network, bits);
  if (a.bytes) {
    struct address b = parse_address(entry);
    return a.bytes == b.bytes && memcmp(a.at, b.at, a.bytes) == 0;
  }
  if (str_starts(entry, STR("*."))) entry = str_from(entry, 2);
  if (str_starts(entry, STR("."))) entry = str_from(entry, 1);
  if (str_ends(entry, STR("."))) entry.n--;
  return entry.n && is_below(host, entry);
}

static bool separates(char c) {
  return c == ',' || c == ' ' || c == '\t';
}

bool proxy_exempts(str list, str host, uint16_t port) {
  if (str_ends(host, STR("."))) host.n--;
  for (size_t from = 0, to; from < list.n; from = to + 1) {
    for (to = from; to < list.n && !separates(list.p[to]);) to++;
    if (to > from && entry_exempts((str){list.p + from, to - from}, host, port)) return true;
  }
  return false;
}

// ---- variables

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Sets the value of Proxy-Authorization from USER:PASSWORD, with %XX decoded. Returns false if the text is malformed or
// too long.
static bool make_authorization(struct proxy *p, str userinfo, struct arena *a) {
  struct buf plain, text;
  buf_init(&plain, USERINFO_MAX);
  buf_init(&text, 2 * USERINFO_MAX);
  bool ok = true;
  for (size_t i = 0; i < userinfo.n && ok; i++) {
    int c = (unsigned char)userinfo.p[i];
    if (c == '%') {
      int high = i + 2 < userinfo.n ? hex_digit(userinfo.p[i + 1]) : -1;
      int low = high < 0 ? -1 : hex_digit(userinfo.p[i + 2]);
      c = low < 0 ? -1 : high << 4 | low;
      i += 2;
    }
    ok = c >= ' ';
    buf_char(&plain, (char)c);
  }
  if (!memchr(userinfo.p, ':', userinfo.n)) buf_char(&plain, ':');
  ok = ok && !plain.over;
  buf_str(&text, STR("Basic "));
  base64_encode(buf_view(&plain), BASE64_STANDARD, &text);
  if (ok) p->authorization = arena_str(a, buf_view(&text));
  buf_done(&plain);
  buf_done(&text);
  return ok;
}

// Parses [http://][USER[:PASSWORD]@]HOST[:PORT][/].
static bool parse_proxy(struct proxy *p, str value, struct arena *a) {
  static const str scheme = STR("http://");
  struct http_url url;
  if (value.n >= scheme.n && str_eq_nocase((str){value.p, scheme.n}, scheme)) value = str_from(value, scheme.n);
  else if (memmem(value.p, value.n, "://", 3)) return false;
  str path;
  str_cut(value, '/', &value, &path);
  size_t host = value.n;
  while (host && value.p[host - 1] != '@') host--;
  if (host && !make_authorization(p, (str){value.p, host - 1}, a)) return false;
  value = str_from(value, host);
  if (!http_url_parse(arena_printf(a, "http://%.*s", STR_ARG(value)), &url)) return false;
  p->host = arena_cstr(a, url.host);
  p->port = url.port;
  return true;
}

static void read_proxy(struct proxy *p, char *const *env, const char *const names[4], struct arena *a) {
  str value;
  for (int i = 0; i < 4; i++) {
    value = str_env(env, str_of(names[i]));
    if (!value.p) continue;
    value = str_trim(value);
    if (!value.n) return;
    p->variable = str_of(names[i]);
    p->wrong = !parse_proxy(p, value, a);
    return;
  }
}

void proxies_read(struct proxies *p, char *const *env, struct arena *a) {
  static const char *const http[] = {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"};
  static const char *const https[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
  str lower = str_env(env, STR("no_proxy"));
  *p = (struct proxies){0};
  read_proxy(&p->http, env, http, a);
  read_proxy(&p->https, env, https, a);
  p->direct = arena_str(a, str_trim(lower.p ? lower : str_env(env, STR("NO_PROXY"))));
}

bool proxies_choose(const struct proxies *p, const struct http_url *url, const struct proxy **out, struct fault *f) {
  *out = NULL;
  if (!p) return true;
  const struct proxy *proxy = url->tls ? &p->https : &p->http;
  if (!proxy->variable.n || is_this_machine(url->host) || proxy_exempts(p->direct, url->host, url->port)) return true;
  if (proxy->wrong) {
    fault_set(f, FAULT_INVALID,
              "the environment variable %.*s must be http://[USER:PASSWORD@]HOST[:PORT]: other kinds of proxies are "
              "not supported",
              STR_ARG(proxy->variable));
    return false;
  }
  *out = proxy;
  return true;
}

void proxy_refusal(const struct proxy *p, int status, char *out, size_t size) {
  char host[HTTP_HOST_TEXT];
  http_host_print(str_of(p->host), host);
  if (status != 407)
    snprintf(out, size, "the proxy %s port %u refused the connection with status %d", host, p->port, status);
  else if (p->authorization.n)
    snprintf(out, size, "the proxy %s port %u rejected the user and password in %.*s (status 407)", host, p->port,
             STR_ARG(p->variable));
  else
    snprintf(out, size, "the proxy %s port %u needs credentials (status 407): add USER:PASSWORD@ to %.*s", host,
             p->port, STR_ARG(p->variable));
}
