// SPDX-License-Identifier: Apache-2.0
#include "app/admission.h"

static struct credentials_token *take_tokens(struct admission *a, const struct config *c) {
  struct credentials_token *tokens = ARENA_ARRAY(&a->arena, struct credentials_token, c->token_count + 1);
  for (size_t i = 0; i < c->token_count; i++) {
    memcpy(tokens[i].sha256, c->tokens[i].sha256, SHA256_SIZE);
    tokens[i].agent = c->tokens[i].agent;
  }
  return tokens;
}

static void take_issuer(struct admission *a, const struct config_jwt *jwt, str resource) {
  struct http_url url;
  a->rules = (struct jwt_rules){
      .algorithms = jwt->algorithms,
      .issuer = jwt->issuer,
      .audience = jwt->audience.n ? jwt->audience : resource,
      .claim = jwt->claim,
      .leeway = (int64_t)(jwt->leeway_ms / 1000),
  };
  a->challenge = (struct challenge){.scopes = jwt->scopes, .scope_count = jwt->scope_count};
  // An issuer that is no URL is no authorization server that a client could find.
  if (!http_url_parse(jwt->issuer, &url)) return;
  a->challenge.resource = resource;
  a->challenge.issuer = jwt->issuer;
}

bool admission_open(struct admission *a, const struct config *c, struct loop *l, struct principals *p, str url,
                    struct fault *f) {
  const struct config_jwt *jwt = &c->jwt;
  *a = (struct admission){0};
  arena_init(&a->arena);
  if (!c->token_count && !jwt->issuer.n) return true;
  if (jwt->issuer.n) take_issuer(a, jwt, c->resource.n ? c->resource : arena_str(&a->arena, url));
  struct credentials_options opt = {
      .loop = l,
      .principals = p,
      .tokens = take_tokens(a, c),
      .token_count = c->token_count,
      .jwt = jwt->issuer.n ? &a->rules : NULL,
      .keys = {l, jwt->keys, jwt->jwks_url, jwt->keys_ms},
      .scopes = jwt->scopes,
      .scope_count = jwt->scope_count,
  };
  a->credentials = credentials_new(&opt, f);
  return a->credentials != NULL;
}

void admission_close(struct admission *a) {
  credentials_free(&a->credentials);
  arena_done(&a->arena);
}
