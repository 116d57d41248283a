// SPDX-License-Identifier: Apache-2.0
#include "app/config/config_auth.h"

#include "auth/strength.h"
#include "io/http/http.h"

enum { PUBLIC_ALGORITHMS = 1 << JWT_RS256 | 1 << JWT_ES256 | 1 << JWT_EDDSA };

// ---- values

static bool find_algorithm(str name, enum jwt_algorithm *out) {
  for (int i = 0; i < JWT_ALGORITHMS; i++) {
    if (!str_eq(name, str_of(jwt_algorithm_names[i]))) continue;
    *out = (enum jwt_algorithm)i;
    return true;
  }
  return false;
}

void config_algorithms_read(struct config_loader *l, const struct config_place *at, const struct json *array) {
  size_t index = 0;
  JSON_EACH(it, array) {
    struct config_place below = config_below_index(l, at, index++);
    enum jwt_algorithm algorithm;
    str name;
    if (json_string(it, &l->work, &name) && find_algorithm(name, &algorithm))
      l->config->jwt.algorithms |= jwt_bit(algorithm);
    else config_error(l, &below, "must be one of HS256, RS256, ES256, EdDSA");
  }
}

// A scope-token of RFC 6749, 3.3.
static bool is_scope(str s) {
  for (size_t i = 0; i < s.n; i++)
    if (s.p[i] <= 0x20 || s.p[i] >= 0x7f || s.p[i] == '"' || s.p[i] == '\\') return false;
  return s.n > 0 && s.n <= 255;
}

void config_scopes_read(struct config_loader *l, const struct config_place *at, const struct json *array) {
  struct config *c = l->config;
  c->jwt.scopes = ARENA_ARRAY(&c->arena, str, array->count + 1);
  size_t index = 0;
  JSON_EACH(it, array) {
    struct config_place below = config_below_index(l, at, index++);
    str name;
    if (json_string(it, &l->work, &name) && is_scope(name))
      c->jwt.scopes[c->jwt.scope_count++] = arena_str(&c->arena, name);
    else config_error(l, &below, "must be a scope: printable ASCII without blanks and quotes");
  }
}

void config_secret_read(struct config_loader *l, const struct config_place *at, const struct json *v,
                        bool world_readable) {
  str text = STR_NONE, secret, why;
  struct fault f;
  json_string(v, &l->work, &text);
  if (world_readable && !memmem(text.p, text.n, "${", 2))
    config_warn(l, at, "is a secret in a file that every user of this machine can read: chmod o-r, or use ${VAR}");
  if (!config_expand(l, text, &l->work, &secret, &why)) {
    config_error(l, at, "%.*s", STR_ARG(why));
    return;
  }
  l->config->jwt.keys = jwt_keys_from_secret(secret, &f);
  if (!l->config->jwt.keys) config_error(l, at, "%s", f.message);
  else if (strength_is_weak(secret))
    config_error(l, at, "is a weak secret: it can be guessed. `openssl rand -hex 32` makes a good one");
  explicit_bzero((char *)secret.p, secret.n);
}

// ---- as a whole

static struct config_place place_of(const struct config_document *d, const char *pointer) {
  return (struct config_place){d->file, str_of(pointer)};
}

static void read_key_file(struct config_loader *l, const struct config_document *d) {
  struct config_jwt *jwt = &l->config->jwt;
  struct config_document file;
  struct fault f;
  str path = config_path(l, jwt->key_file, d->folder, &l->work);
  str by = arena_printf(&l->work, "%.*s:/auth/jwt/key_file", STR_ARG(d->file));
  if (!config_file_open(l, path, by, &file)) return;
  struct config_place at = {file.file, STR_NONE};
  str text = {file.text, file.text_n};
  bool pem = memmem(text.p, text.n, "-----BEGIN", 10);
  const struct json *set = pem ? NULL : json_parse(&l->work, text, &json_default_limits, &f);
  if (pem) jwt->keys = jwt_keys_from_pem(text, &f);
  else if (set) jwt->keys = jwt_keys_from_set(set, true, &f);
  if (!jwt->keys) config_error(l, &at, "%s", f.message);
  else if (file.world_readable && (jwt_keys_algorithms(jwt->keys) & jwt_bit(JWT_HS256)))
    config_warn(l, &at, "holds a secret, and every user of this machine can read it: chmod o-r");
  config_document_done(&file);
}

static bool is_quotable_url(str text, struct http_url *url) {
  return http_url_parse(text, url) && !memchr(text.p, '"', text.n) && !memchr(text.p, '\\', text.n);
}

// In clear only to this machine: whoever can change the keys on the way can be anybody.
static void check_jwks_url(struct config_loader *l, const struct config_document *d) {
  struct config_place at = place_of(d, "/auth/jwt/jwks_url");
  struct http_url url;
  const struct proxy *proxy;
  struct fault f;
  if (!http_url_parse(l->config->jwt.jwks_url, &url)) config_error(l, &at, "must be an https URL");
  else if (!url.tls && !config_is_loopback(url.host))
    config_error(l, &at, "must be an https URL: whoever can change the keys on their way can be anybody");
  else if (!proxies_choose(&l->proxies, &url, &proxy, &f)) config_error(l, &at, "%s", f.message);
}

static void check_algorithms(struct config_loader *l, const struct config_document *d) {
  struct config_place at = place_of(d, "/auth/jwt/algorithms");
  struct config_jwt *jwt = &l->config->jwt;
  unsigned possible = jwt->keys ? jwt_keys_algorithms(jwt->keys) : PUBLIC_ALGORITHMS;
  if (!jwt->keys && (jwt->algorithms & jwt_bit(JWT_HS256)))
    config_error(l, &at, "HS256 needs a secret, and what is at a URL is none");
  else if (jwt->algorithms && !(jwt->algorithms & possible)) config_error(l, &at, "there is no key for any of them");
  if (!jwt->algorithms) jwt->algorithms = possible;
}

static void check_resource(struct config_loader *l, const struct config_document *d) {
  struct config_place at = place_of(d, "/auth/resource");
  const struct config *c = l->config;
  struct http_url url;
  if (c->resource.n && (!is_quotable_url(c->resource, &url) || memchr(url.target.p, '?', url.target.n)))
    config_error(l, &at, "must be the http or https URL of /mcp, without a query");
  else if (!c->resource.n && c->transport == CONFIG_HTTP && !config_is_loopback(c->host))
    config_error(l, &at, "is needed beside auth.jwt: clients know this gateway by another URL than it listens on");
}

// Clients are told where to get a token only if that is a place.
static void check_issuer_name(struct config_loader *l, const struct config_document *d) {
  struct config_place group = place_of(d, "/auth/jwt"), at = place_of(d, "/auth/jwt/issuer");
  str issuer = l->config->jwt.issuer;
  struct http_url url;
  if (!issuer.n) config_error(l, &group, "needs \"issuer\"");
  else if (l->config->transport == CONFIG_HTTP && !http_url_parse(issuer, &url))
    config_warn(l, &at, "is no URL: clients without a token are not told where to get one");
}

static void check_issuer(struct config_loader *l, const struct config_document *d) {
  struct config_place at = place_of(d, "/auth/jwt");
  struct config_jwt *jwt = &l->config->jwt;
  int sources = (jwt->jwks_url.n > 0) + (jwt->key_file.n > 0) + (jwt->keys != NULL);
  check_issuer_name(l, d);
  if (sources != 1) {
    if (!config_problems_fatal(l->problems)) config_error(l, &at, "needs one of jwks_url, key_file and secret");
    return;
  }
  if (jwt->jwks_url.n) check_jwks_url(l, d);
  if (jwt->key_file.n) read_key_file(l, d);
  if (jwt->keys || jwt->jwks_url.n) check_algorithms(l, d);
  check_resource(l, d);
}

static void check_nameless(struct config_loader *l, size_t token) {
  struct config_place at = config_token_place(l, token, "");
  if (policy_denies_missing(l->config->policy))
    config_warn(l, &at,
                "is bound to no agent, and the rules say deny_on_missing_agent: every request with it must "
                "name an agent itself");
}

static void check_agents(struct config_loader *l) {
  const struct config *c = l->config;
  for (size_t i = 0; i < c->token_count; i++) {
    str agent = c->tokens[i].agent;
    if (!agent.n) check_nameless(l, i);
    if (!agent.n || policy_find(c->policy, agent)) continue;
    struct config_place at = config_token_place(l, i, "/agent");
    config_warn(l, &at, "no rule knows the agent \"%.*s\": its token can do nothing", STR_ARG(agent));
  }
}

static void check_twice(struct config_loader *l, const struct config_document *d) {
  const struct config *c = l->config;
  struct config_place at = place_of(d, "/auth/tokens");
  for (size_t i = 0; i < c->token_count; i++)
    for (size_t k = 0; k < i; k++)
      if (!str_eq(c->tokens[i].agent, c->tokens[k].agent) &&
          !memcmp(c->tokens[i].sha256, c->tokens[k].sha256, SHA256_SIZE))
        config_error(l, &at, "tokens %zu and %zu are the same: whose is it?", k, i);
}

void config_auth_check(struct config_loader *l, const struct config_document *d) {
  const struct json *auth = json_get(d->root, STR("auth"));
  check_twice(l, d);
  if (l->config->policy) check_agents(l);
  if (json_is(json_get(auth, STR("jwt")), JSON_OBJECT)) check_issuer(l, d);
  else if (l->config->resource.n) check_resource(l, d);
}
