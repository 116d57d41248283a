// SPDX-License-Identifier: Apache-2.0
#include "mcp/challenge.h"

#include "json/write.h"

#define WELL_KNOWN STR("/.well-known/oauth-protected-resource")

// The resource's URL up to its path, and the path; "/" alone is none.
static void split(str resource, str *origin, str *path) {
  struct http_url url;
  *origin = *path = STR("");
  if (!http_url_parse(resource, &url)) return;
  *origin = (str){resource.p, (size_t)(url.authority.p + url.authority.n - resource.p)};
  if (!str_eq(url.target, STR("/"))) *path = url.target;
}

bool challenge_is_metadata(const struct challenge *c, str path, bool (*path_ok)(const void *ctx, str path),
                           const void *ctx) {
  str origin, own;
  if (!c->resource.n || !str_starts(path, WELL_KNOWN)) return false;
  str rest = str_from(path, WELL_KNOWN.n);
  split(c->resource, &origin, &own);
  return !rest.n || str_eq(rest, own) || path_ok(ctx, rest);
}

void challenge_put_metadata(const struct challenge *c, struct buf *out) {
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_str(&w, STR("resource"), c->resource);
  json_put_key(&w, STR("authorization_servers"));
  json_begin_array(&w);
  json_put_str(&w, c->issuer);
  json_end_array(&w);
  if (c->scope_count) {
    json_put_key(&w, STR("scopes_supported"));
    json_begin_array(&w);
    for (size_t i = 0; i < c->scope_count; i++) json_put_str(&w, c->scopes[i]);
    json_end_array(&w);
  }
  json_member_raw(&w, STR("bearer_methods_supported"), STR("[\"header\"]"));
  json_member_str(&w, STR("resource_name"), STR("Toolgate"));
  json_end_object(&w);
}

int challenge_status(enum credentials_verdict verdict) {
  switch (verdict) {
  case CREDENTIALS_MALFORMED: return 400;
  case CREDENTIALS_SCOPE: return 403;
  case CREDENTIALS_NO_KEYS: return 503;
  default: return 401;
  }
}

// A request without any token is told no error: it may just not have known (RFC 6750, 3.1).
static const char *error_of(enum credentials_verdict verdict) {
  switch (verdict) {
  case CREDENTIALS_MALFORMED: return "invalid_request";
  case CREDENTIALS_SCOPE: return "insufficient_scope";
  case CREDENTIALS_WRONG: return "invalid_token";
  default: return NULL;
  }
}

static void put_scope(const struct challenge *c, struct buf *out) {
  if (!c->scope_count) return;
  buf_str(out, STR(", scope=\""));
  for (size_t i = 0; i < c->scope_count; i++) buf_printf(out, "%s%.*s", i ? " " : "", STR_ARG(c->scopes[i]));
  buf_char(out, '"');
}

// The texts of faults here are ours, and have no quotes in them.
void challenge_put_header(const struct challenge *c, enum credentials_verdict verdict, const struct fault *why,
                          struct buf *out) {
  str origin, path;
  const char *error = error_of(verdict);
  if (verdict == CREDENTIALS_NO_KEYS) {
    buf_str(out, STR("Retry-After: 5\r\n"));
    return;
  }
  split(c->resource, &origin, &path);
  buf_str(out, STR("WWW-Authenticate: Bearer "));
  if (!c->resource.n) buf_str(out, STR("realm=\"toolgate\""));
  else buf_printf(out, "resource_metadata=\"%.*s%.*s%.*s\"", STR_ARG(origin), STR_ARG(WELL_KNOWN), STR_ARG(path));
  if (error) buf_printf(out, ", error=\"%s\", error_description=\"%s\"", error, why->message);
  put_scope(c, out);
  buf_str(out, STR("\r\n"));
}
