// SPDX-License-Identifier: Apache-2.0
#include "app/config/config_auth.h"

#include <unistd.h>

#include "auth/strength.h"
#include "base/assert.h"
#include "base/crypto/locked.h"
#include "io/http/http.h"

enum { PUBLIC_ALGORITHMS = 1 << JWT_RS256 | 1 << JWT_ES256 | 1 << JWT_EDDSA };

// ---- values

void config_algorithms_read(struct config_loader *l, const struct config_place *at, const struct json *array) {
  size_t index = 0;
  JSON_EACH(it, array) {
    struct config_place below = config_below_index(l, at, index++);
    unsigned found = 0;
    str name = STR_NONE;
    json_string(it, &l->work, &name);
    for (int i = 0; i < JWT_ALGORITHMS; i++)
      if (str_eq(name, str_of(jwt_algorithm_names[i]))) found = jwt_bit((enum jwt_algorithm)i);
    if (!found) config_error(l, &below, "must be one of HS256, RS256, ES256, EdDSA");
    l->config->jwt.algorithms |= found;
  }
}

// Returns whether `s` is a scope-token of RFC 6749, section 3.3.
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
    else config_error(l, &below, "must be a scope: printable ASCII without spaces and quotes");
  }
  ASSERT(c->jwt.scope_count <= array->count);
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
    config_error(l, at, "is a weak secret, which can be guessed: create one with `openssl rand -hex 32`");
  explicit_bzero((char *)secret.p, secret.n);
}

// ---- token file
//
// `toolgate token` stores the hashes of tokens in a file. These tokens are accepted in addition to auth.tokens. If the
// file exists, clients need a token, even if the file contains no tokens: removing the last token must not give
// everyone access.

str config_token_file_path(struct config_loader *l, const struct config_document *d, struct arena *a) {
  if (l->config->token_file.n) return config_path(l, l->config->token_file, d->folder, a);
  return config_user_file(l->env, "tokens.json", a);
}

// Makes room for `count` more tokens.
static void grow_tokens(struct config *c, size_t count) {
  struct config_token *all = ARENA_ARRAY(&c->arena, struct config_token, c->token_count + count + 1);
  if (c->token_count) memcpy(all, c->tokens, c->token_count * sizeof *all);
  c->tokens = all;
}

static void add_tokens(struct config_loader *l, const struct config_place *at, const struct json *list) {
  struct config *c = l->config;
  size_t index = 0;
  grow_tokens(c, list->count);
  JSON_EACH(it, list) {
    struct config_place below = config_below_index(l, at, index++);
    if (config_token_read(l, &below, it, &c->tokens[c->token_count])) c->token_count++;
  }
  ASSERT(c->token_count <= c->configured_tokens + list->count);
}

void config_token_file_read(struct config_loader *l, const struct config_document *d) {
  struct config *c = l->config;
  bool named = c->token_file.n > 0;
  str path = config_token_file_path(l, d, &c->arena);
  struct config_document file;
  ASSERT(c->configured_tokens == 0);  // the token file is read only once per load
  c->configured_tokens = c->token_count;
  c->token_file = STR_NONE;
  if (!path.n) return;
  config_file_seen(l, path);
  if (!named && access(arena_cstr(&l->work, path), F_OK) != 0) return;
  str by = named ? arena_printf(&l->work, "%.*s:/auth/token_file", STR_ARG(d->file)) : STR_NONE;
  if (!config_document_open(l, path, by, &file)) return;
  struct config_place whole = {file.file, STR_NONE}, at = config_below(l, &whole, STR("tokens"));
  const struct json *list = json_get(file.root, STR("tokens"));
  if (file.world_writable)
    config_error(l, &whole, "every user of this machine can write this file and add a token: run chmod o-w");
  if (!json_is(list, JSON_ARRAY) || list->count > CONFIG_MAX_TOKENS)
    config_error(l, &at, "must be a list of at most %d tokens, as `toolgate token new` writes it", CONFIG_MAX_TOKENS);
  else add_tokens(l, &at, list);
  c->token_file = path;
  config_document_done(&file);
}

static void copy_tokens(struct config *c, const struct config_token *from, size_t count) {
  ASSERT(!count || from);
  grow_tokens(c, count);
  for (size_t i = 0; i < count; i++) {
    struct config_token *t = &c->tokens[c->token_count++];
    *t = from[i];
    t->agent = arena_str(&c->arena, from[i].agent);
    t->name = arena_str(&c->arena, from[i].name);
  }
}

void config_tokens_left(struct config *out, const struct config *in_force, const struct config *configured,
                        char *const *env, struct config_problems *problems) {
  struct config_options none = {0};
  ASSERT(in_force->configured_tokens <= in_force->token_count);
  struct config_loader l = {.config = out, .opt = &none, .env = env, .problems = problems};
  *out = (struct config){.token_file = in_force->token_file};
  arena_init_secret(&out->arena);
  arena_init_secret(&l.work);
  if (out->token_file.n) config_token_file_read(&l, &(struct config_document){.file = in_force->config_file});
  if (config_problems_fatal(problems)) {
    out->token_count = 0;
    copy_tokens(out, in_force->tokens + in_force->configured_tokens,
                in_force->token_count - in_force->configured_tokens);
  }
  copy_tokens(out, configured->tokens, configured->configured_tokens);
  arena_done(&l.work);
}

struct config_place config_token_place(struct config_loader *l, size_t index, const char *key) {
  const struct config *c = l->config;
  ASSERT(index < c->token_count);
  bool ours = index < c->configured_tokens;
  size_t at = ours ? index : index - c->configured_tokens;
  return (struct config_place){ours ? c->config_file : c->token_file,
                               arena_printf(&l->work, "%s/%zu%s", ours ? "/auth/tokens" : "/tokens", at, key)};
}

// ---- checks of the whole configuration

static struct config_place place_of(const struct config_document *d, const char *pointer) {
  return (struct config_place){d->file, str_of(pointer)};
}

// An issuer of tokens, and the JSON Pointer of its group in the configuration, such as /auth/jwt.
struct issuer {
  struct config_jwt *jwt;
  const char *group;
};

static struct config_place issuer_place(struct config_loader *l, const struct config_document *d,
                                        const struct issuer *i, const char *key) {
  return (struct config_place){d->file, arena_printf(&l->work, "%s%s", i->group, key)};
}

static void read_key_file(struct config_loader *l, const struct config_document *d, const struct issuer *i) {
  struct config_jwt *jwt = i->jwt;
  struct config_document file;
  struct fault f;
  str path = config_path(l, jwt->key_file, d->folder, &l->work);
  str by = arena_printf(&l->work, "%.*s:%s/key_file", STR_ARG(d->file), i->group);
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

// Checks the URL of the keys. Plain http is accepted for this machine only: an attacker who can change the keys in
// transit can sign any token.
static void check_jwks_url(struct config_loader *l, const struct config_document *d, const struct issuer *i) {
  struct config_place at = issuer_place(l, d, i, "/jwks_url");
  struct http_url url;
  const struct proxy *proxy;
  struct fault f;
  if (!http_url_parse(i->jwt->jwks_url, &url)) config_error(l, &at, "must be an https URL");
  else if (!url.tls && !config_is_loopback(url.host))
    config_error(l, &at, "must be an https URL: anyone who can change the keys in transit can sign any token");
  else if (!proxies_choose(&l->proxies, &url, &proxy, &f)) config_error(l, &at, "%s", f.message);
}

static void check_algorithms(struct config_loader *l, const struct config_document *d, const struct issuer *i) {
  struct config_place at = issuer_place(l, d, i, "/algorithms");
  struct config_jwt *jwt = i->jwt;
  unsigned possible = jwt->keys ? jwt_keys_algorithms(jwt->keys) : PUBLIC_ALGORITHMS;
  if (!jwt->keys && (jwt->algorithms & jwt_bit(JWT_HS256)))
    config_error(l, &at,
                 "HS256 needs a shared secret (auth.jwt.secret); it cannot use the public keys of auth.jwt.jwks_url");
  else if (jwt->algorithms && !(jwt->algorithms & possible))
    config_error(l, &at, "the configured keys support none of these algorithms: list an algorithm that they support");
  ASSERT(possible);  // read_key_file rejects a key set without a usable key
  if (!jwt->algorithms) jwt->algorithms = possible;
}

static void check_resource(struct config_loader *l, const struct config_document *d) {
  struct config_place at = place_of(d, "/auth/resource");
  const struct config *c = l->config;
  struct http_url url;
  bool quotable = true;  // the URL can be quoted in the header WWW-Authenticate
  for (size_t i = 0; i < c->resource.n; i++) quotable = quotable && c->resource.p[i] != '"' && c->resource.p[i] != '\\';
  if (c->resource.n && (!quotable || !http_url_parse(c->resource, &url) || memchr(url.target.p, '?', url.target.n)))
    config_error(l, &at, "must be the http or https URL of /mcp, without a query");
  else if (!c->resource.n && c->transport == CONFIG_HTTP && !config_is_loopback(c->host))
    config_error(l, &at, "is required with auth.jwt: set the URL at which clients reach /mcp");
}

// Reads the keys of an issuer. Returns false unless the configuration names exactly one source of keys.
static bool read_keys(struct config_loader *l, const struct config_document *d, const struct issuer *i,
                      const char *words) {
  struct config_jwt *jwt = i->jwt;
  struct config_place at = issuer_place(l, d, i, "");
  int sources = (jwt->jwks_url.n > 0) + (jwt->key_file.n > 0) + (jwt->keys != NULL);
  if (!jwt->issuer.n) config_error(l, &at, "needs \"issuer\"");
  if (sources != 1) {
    if (!config_problems_fatal(l->problems)) config_error(l, &at, "needs one of %s", words);
    return false;
  }
  ASSERT(!jwt->jwks_url.n || !jwt->keys);
  if (jwt->jwks_url.n) check_jwks_url(l, d, i);
  if (jwt->key_file.n) read_key_file(l, d, i);
  if (jwt->keys || jwt->jwks_url.n) check_algorithms(l, d, i);
  return true;
}

static void check_issuer(struct config_loader *l, const struct config_document *d) {
  const struct issuer i = {&l->config->jwt, "/auth/jwt"};
  struct config_place name = issuer_place(l, d, &i, "/issuer");
  struct http_url url;
  if (i.jwt->issuer.n && l->config->transport == CONFIG_HTTP && !http_url_parse(i.jwt->issuer, &url))
    config_warn(l, &name, "is not a URL: clients without a token do not learn where to get one");
  if (read_keys(l, d, &i, "jwks_url, key_file and secret")) check_resource(l, d);
}

// Returns whether a token of a user would also be accepted as a workload token. The user could then choose the
// workload.
static bool accepts_users(const struct config *c) {
  const struct config_jwt *jwt = &c->jwt, *workload = &c->workload;
  if (!jwt->issuer.n || !str_eq(jwt->issuer, workload->issuer)) return false;
  // By default, tokens for the URL of a mode (RESOURCE/MODE) are accepted, too.
  return jwt->audience.n ? str_eq(jwt->audience, workload->audience) : str_starts(workload->audience, c->resource);
}

static void check_workload(struct config_loader *l, const struct config_document *d) {
  const struct config *c = l->config;
  const struct issuer i = {&l->config->workload, "/auth/workload"};
  struct config_place at = issuer_place(l, d, &i, ""), audience = issuer_place(l, d, &i, "/audience");
  if (!i.jwt->audience.n) config_error(l, &at, "needs \"audience\"");
  else if (accepts_users(c))
    config_error(l, &audience, "must differ from the audience of auth.jwt, which has the same issuer");
  if (!config_has_auth(c))
    config_error(l, &at, "needs auth.jwt or a bearer token: a workload token does not replace the client's credential");
  read_keys(l, d, &i, "jwks_url and key_file");
}

static void check_agents(struct config_loader *l) {
  const struct config *c = l->config;
  for (size_t i = 0; i < c->token_count; i++) {
    str agent = c->tokens[i].agent;
    struct config_place token = config_token_place(l, i, ""), at = config_token_place(l, i, "/agent");
    if (!agent.n && policy_denies_missing(c->policy))
      config_warn(l, &token,
                  "is bound to no agent, and the rules set deny_on_missing_agent: every request with this token must "
                  "name an agent");
    if (agent.n && !policy_find(c->policy, agent))
      config_warn(l, &at, "the rules do not name the agent \"%.*s\": its token can do nothing", STR_ARG(agent));
  }
}

static void check_twice(struct config_loader *l, const struct config_document *d) {
  const struct config *c = l->config;
  struct config_place at = place_of(d, "/auth/tokens");
  for (size_t i = 0; i < c->token_count; i++)
    for (size_t k = 0; k < i; k++)
      if (!str_eq(c->tokens[i].agent, c->tokens[k].agent) &&
          !memcmp(c->tokens[i].sha256, c->tokens[k].sha256, SHA256_SIZE))
        config_error(l, &at, "tokens %zu and %zu are equal but belong to different agents: remove one", k, i);
}

// A token file without tokens refuses every HTTP client. See config_token_file_read.
static void check_locked_out(struct config_loader *l) {
  const struct config *c = l->config;
  struct config_place at = {c->token_file, STR("/tokens")};
  if (c->transport == CONFIG_HTTP && c->token_file.n && !c->token_count && !c->jwt.issuer.n)
    config_warn(l, &at,
                "there are no tokens, so every HTTP client is refused: run \"toolgate token new\", or remove this file "
                "to serve without tokens");
}

void config_auth_check(struct config_loader *l, const struct config_document *d) {
  const struct json *auth = json_get(d->root, STR("auth"));
  check_twice(l, d);
  check_locked_out(l);
  if (l->config->policy) check_agents(l);
  if (json_is(json_get(auth, STR("jwt")), JSON_OBJECT)) check_issuer(l, d);
  else if (l->config->resource.n) check_resource(l, d);
  if (json_is(json_get(auth, STR("workload")), JSON_OBJECT)) check_workload(l, d);
}
