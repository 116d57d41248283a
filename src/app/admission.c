// SPDX-License-Identifier: Apache-2.0
#include "app/admission.h"

#include "surface/mode.h"

static struct credentials_token *take_tokens(struct admission *a, const struct config *c) {
  struct credentials_token *tokens = ARENA_ARRAY(&a->arena, struct credentials_token, c->token_count + 1);
  for (size_t i = 0; i < c->token_count; i++) {
    memcpy(tokens[i].sha256, c->tokens[i].sha256, SHA256_SIZE);
    tokens[i].agent = arena_str(&a->arena, c->tokens[i].agent);
    tokens[i].name = arena_str(&a->arena, c->tokens[i].name);
  }
  return tokens;
}

static const str *take_scopes(struct admission *a, const struct config_jwt *jwt) {
  str *scopes = ARENA_ARRAY(&a->arena, str, jwt->scope_count + 1);
  for (size_t i = 0; i < jwt->scope_count; i++) scopes[i] = arena_str(&a->arena, jwt->scopes[i]);
  return scopes;
}

// Accepts tokens whose audience is the URL of a mode (RESOURCE/MODE), because clients request a token for the path they
// call.
static void take_parts(struct admission *a, str resource, struct jwt_rules *rules) {
  if (!str_eq(rules->audience, resource)) return;
  str *parts = ARENA_ARRAY(&a->arena, str, MODE_COUNT);
  while (str_ends(resource, STR("/"))) resource.n--;
  for (size_t i = 0; i < MODE_COUNT; i++)
    parts[i] = arena_printf(&a->arena, "%.*s/%s", STR_ARG(resource), mode_names[i]);
  rules->parts = parts;
  rules->part_count = MODE_COUNT;
}

static const struct jwt_rules *take_issuer(struct admission *a, const struct config_jwt *jwt, str resource) {
  struct http_url url;
  struct jwt_rules *rules = ARENA_NEW(&a->arena, struct jwt_rules);
  *rules = (struct jwt_rules){
      .algorithms = jwt->algorithms,
      .issuer = arena_str(&a->arena, jwt->issuer),
      .audience = arena_str(&a->arena, jwt->audience.n ? jwt->audience : resource),
      .claim = arena_str(&a->arena, jwt->claim),
      .tenant = jwt->tenant.p ? arena_str(&a->arena, jwt->tenant) : STR_NONE,
      .keep = jwt->keep_claims,
      .leeway = (int64_t)(jwt->leeway_ms / 1000),
  };
  ASSERT(rules->audience.n && rules->claim.n);  // without an audience, tokens for other services would be accepted
  take_parts(a, resource, rules);
  a->challenge = (struct challenge){
      .names = mode_names, .name_count = MODE_COUNT, .scopes = take_scopes(a, jwt), .scope_count = jwt->scope_count};
  // If the issuer is not a URL, clients cannot fetch anything from it, so the challenge does not name it.
  if (!http_url_parse(jwt->issuer, &url)) return rules;
  a->challenge.resource = arena_str(&a->arena, resource);
  a->challenge.issuer = rules->issuer;
  return rules;
}

static const struct jwt_rules *take_workload(struct admission *a, const struct config_jwt *jwt) {
  struct jwt_rules *rules = ARENA_NEW(&a->arena, struct jwt_rules);
  *rules = (struct jwt_rules){
      .algorithms = jwt->algorithms,
      .issuer = arena_str(&a->arena, jwt->issuer),
      .audience = arena_str(&a->arena, jwt->audience),
      .claim = STR("sub"),
      .any_name = true,
      .leeway = (int64_t)(jwt->leeway_ms / 1000),
  };
  ASSERT(rules->audience.n);  // without an audience, tokens for other services would be accepted
  return rules;
}

bool admission_open(struct admission *a, const struct config *c, struct loop *l, struct principals *p, str url,
                    struct fault *f) {
  const struct config_jwt *jwt = &c->jwt, *workload = &c->workload;
  *a = (struct admission){0};
  arena_init(&a->arena);
  if (!config_has_auth(c)) return true;
  struct credentials_options opt = {
      .loop = l,
      .principals = p,
      .tokens = take_tokens(a, c),
      .token_count = c->token_count,
      .jwt = jwt->issuer.n ? take_issuer(a, jwt, c->resource.n ? c->resource : url) : NULL,
      .keys = {l, jwt->keys, jwt->jwks_url, jwt->keys_ms},
      .workload = workload->issuer.n ? take_workload(a, workload) : NULL,
      .workload_keys = {l, workload->keys, workload->jwks_url, workload->keys_ms},
      .needs_workload = c->needs_workload,
  };
  opt.scopes = a->challenge.scopes;
  opt.scope_count = a->challenge.scope_count;
  a->credentials = credentials_new(&opt, f);
  if (!a->credentials) admission_close(a);
  return a->credentials != NULL;
}

static bool is_valid(void *ctx, const struct credentials_token *t) {
  const struct config *c = ctx;
  for (size_t i = 0; i < c->token_count; i++)
    if (!memcmp(c->tokens[i].sha256, t->sha256, SHA256_SIZE) && str_eq(c->tokens[i].agent, t->agent)) return true;
  return false;
}

size_t admission_revoke(struct admission *a, const struct config *valid) {
  return a->credentials ? credentials_revoke(a->credentials, is_valid, (void *)valid) : 0;
}

void admission_close(struct admission *a) {
  credentials_free(&a->credentials);
  arena_done(&a->arena);
}
