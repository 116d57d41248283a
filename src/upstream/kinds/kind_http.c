// SPDX-License-Identifier: Apache-2.0
// The kind for Streamable HTTP, and the kind for a URL without a configured transport, which tries Streamable HTTP
// first, then HTTP+SSE.
#include "upstream/kinds/kind_http.h"

#include "base/crypto/locked.h"
#include "io/http/proxy.h"
#include "io/stream/tls.h"
#include "upstream/upstream_impl.h"

enum {
  HEADERS_MAX = 1 << 20,  // the configuration accepts fewer bytes of headers in all
  MAX_OUT_CONNECTIONS = 4096,
};

bool kind_http_prepare(struct upstream *u, struct fault *f) {
  struct upstreams *all = u->all;
  const struct upstream_spec *spec = u->spec;
  if (!http_url_parse(spec->url, &u->url)) {
    fault_set(f, FAULT_INVALID, "%.*s: the configured URL is not an http or https URL", STR_ARG(spec->name));
    return false;
  }
  if (u->url.tls && !all->tls) all->tls = tls_client_new(f);
  if (u->url.tls && !all->tls) return false;
  struct buf b;
  buf_init(&b, HEADERS_MAX);
  for (size_t i = 0; i < spec->header_count; i++)
    buf_printf(&b, "%.*s: %.*s\r\n", STR_ARG(spec->headers[i].name), STR_ARG(spec->headers[i].value));
  u->headers = arena_str(&u->arena, buf_view(&b));
  buf_wipe(&b);
  struct http_origin_options opt = {.max_connections = MAX_OUT_CONNECTIONS};
  if (!proxies_choose(all->opt.loop->proxies, &u->url, &opt.proxy, f)) return false;
  u->origin = http_origin_new(all->opt.loop, &u->url, u->url.tls ? all->tls : NULL, &opt);
  return true;
}

// ---- errors

// Removes all occurrences of `part` from `text`. Returns `text` itself, or a copy in the arena.
static str without(struct arena *a, str text, str part) {
  for (const char *at; part.n && (at = memmem(text.p, text.n, part.p, part.n));) {
    size_t before = (size_t)(at - text.p);
    text = arena_printf(a, "%.*s%.*s", (int)before, text.p, STR_ARG(str_from(text, before + part.n)));
  }
  return text;
}

// Removes the address and the proxy from messages of these two forms:
//   - cannot connect to HOST port PORT: why
//   - cannot connect to HOST port PORT through the proxy HOST port PORT (VARIABLE): why
str kind_http_redact(const struct upstream_spec *s, struct arena *a, str text) {
  struct http_url url;
  if (!http_url_parse(s->url, &url)) return text;
  char host[HTTP_HOST_TEXT];
  str rest = without(a, text, arena_printf(a, " to %s port %u", http_host_print(url.host, host), url.port));
  const char *proxy = memmem(rest.p, rest.n, " through the proxy ", 19);
  if (rest.p == text.p || !proxy) return rest;
  size_t from = (size_t)(proxy - rest.p);
  const char *why = memmem(proxy, rest.n - from, ": ", 2);
  str after = why ? str_from(rest, (size_t)(why - rest.p)) : STR("");
  return arena_printf(a, "%.*s%.*s", (int)from, rest.p, STR_ARG(after));
}

// ---- the kinds

struct upstream_names kind_http_names(const struct upstream_spec *s) {
  return (struct upstream_names){"headers", "headers", s->headers, s->header_count};
}

str kind_http_public_place(const struct upstream_spec *s) {
  return s->shown;
}

static struct link *open_link(struct upstream *u, const struct link_options *opt, const struct link_events *ev,
                              void *ctx) {
  return link_new_http(opt, u->origin, &u->url, u->headers, ev, ctx);
}

const struct upstream_kind upstream_http = {
    .name = "http",
    .status = "http",
    .brief = "http",
    .words = {"http", "streamable-http"},
    .alias = "streamableHttp",
    .place = "url",
    .keys = {"headers", "isolation", "protocol"},
    .remote = true,
    .kept = true,
    .names = kind_http_names,
    .public_place = kind_http_public_place,
    .redact = kind_http_redact,
    .prepare = kind_http_prepare,
    .open = open_link,
};

const struct upstream_kind upstream_http_auto = {
    .name = "auto",
    .status = "http",
    .brief = "http",
    .place = "url",
    .keys = {"headers", "isolation", "protocol"},
    .implied = true,
    .remote = true,
    .kept = true,
    .other = &upstream_sse,
    .names = kind_http_names,
    .public_place = kind_http_public_place,
    .redact = kind_http_redact,
    .prepare = kind_http_prepare,
    .open = open_link,
};
