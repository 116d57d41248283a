// SPDX-License-Identifier: Apache-2.0
#include "mcp/auth/challenge.h"

#include "base/assert.h"
#include "json/write.h"

#define WELL_KNOWN STR("/.well-known/oauth-protected-resource")

#define ENDPOINT STR("/mcp")

// Splits the URL of a resource into its origin and its path. Removes slashes at the end of the path.
static void split(str resource, str *origin, str *path) {
  struct http_url url;
  *origin = *path = STR("");
  if (!http_url_parse(resource, &url)) return;
  *origin = (str){resource.p, (size_t)(url.authority.p + url.authority.n - resource.p)};
  *path = url.target;
  while (str_ends(*path, STR("/"))) path->n--;
}

// Returns whether `path` is the endpoint, or the endpoint followed by /NAME with a known NAME. Sets *out to "" or
// /NAME.
static bool find_part(const struct challenge *c, str path, str endpoint, str *out) {
  if (!str_starts(path, endpoint)) return false;
  str part = str_from(path, endpoint.n);
  bool known = !part.n;
  for (size_t i = 0; i < c->name_count && part.n > 1 && part.p[0] == '/'; i++)
    known |= str_eq(str_from(part, 1), str_of(c->names[i]));
  if (known) *out = part;
  return known;
}

bool challenge_is_metadata(const struct challenge *c, str path, str *out_part) {
  str origin, own;
  if (!c->resource.n || !str_starts(path, WELL_KNOWN)) return false;
  str rest = str_from(path, WELL_KNOWN.n);
  split(c->resource, &origin, &own);
  if (find_part(c, rest, own, out_part) || find_part(c, rest, ENDPOINT, out_part)) return true;
  if (!rest.n) *out_part = STR("");
  return !rest.n;
}

static void put_resource(const struct challenge *c, str part, struct json_writer *w) {
  struct buf b;
  str resource = c->resource;
  if (part.n)
    while (str_ends(resource, STR("/"))) resource.n--;
  buf_init(&b, resource.n + part.n);
  buf_str(&b, resource);
  buf_str(&b, part);
  json_member_str(w, STR("resource"), buf_view(&b));
  buf_done(&b);
}

void challenge_put_metadata(const struct challenge *c, str part, struct buf *out) {
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  put_resource(c, part, &w);
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

// Returns the `error` parameter of WWW-Authenticate, or NULL. Returns NULL for a request without a token, whose
// response must not have this parameter (RFC 6750, 3.1).
static const char *error_of(enum credentials_verdict verdict) {
  switch (verdict) {
  case CREDENTIALS_MALFORMED: return "invalid_request";
  case CREDENTIALS_SCOPE: return "insufficient_scope";
  case CREDENTIALS_WRONG: return "invalid_token";
  default: return NULL;
  }
}

// The quotes around the fault's message are not escaped, so the message must not contain quotes. The messages of
// credentials contain none.
void challenge_put_header(const struct challenge *c, str path, enum credentials_verdict verdict,
                          const struct fault *why, struct buf *out) {
  str origin, own, part = STR("");
  const char *error = error_of(verdict);
  ASSERT(verdict != CREDENTIALS_GOOD && verdict != CREDENTIALS_WAIT);
  if (verdict == CREDENTIALS_NO_KEYS) {
    buf_str(out, STR("Retry-After: 5\r\n"));
    return;
  }
  split(c->resource, &origin, &own);
  find_part(c, path, ENDPOINT, &part);
  buf_str(out, STR("WWW-Authenticate: Bearer "));
  if (!c->resource.n) buf_str(out, STR("realm=\"toolgate\""));
  else
    buf_printf(out, "resource_metadata=\"%.*s%.*s%.*s%.*s\"", STR_ARG(origin), STR_ARG(WELL_KNOWN), STR_ARG(own),
               STR_ARG(part));
  if (error) buf_printf(out, ", error=\"%s\", error_description=\"%s\"", error, why->message);
  for (size_t i = 0; i < c->scope_count; i++) buf_printf(out, "%s%.*s", i ? " " : ", scope=\"", STR_ARG(c->scopes[i]));
  buf_str(out, c->scope_count ? STR("\"\r\n") : STR("\r\n"));
}
