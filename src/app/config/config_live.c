// SPDX-License-Identifier: Apache-2.0
// Compares two configurations, and lists the changed keys that a running gateway cannot take over.
#include "app/config/config_load.h"

#include "app/config/config_table.h"

// Returns whether the key or its group is in the list of live keys.
static bool is_live(const struct config_key *k) {
  for (const char *const *live = config_live_keys; *live; live++) {
    str path = str_of(k->path), name = str_of(*live);
    if (str_starts(path, name) && (path.n == name.n || path.p[name.n] == '.')) return true;
  }
  return false;
}

static bool same_strs(const str *a, size_t a_count, const str *b, size_t b_count) {
  if (a_count != b_count) return false;
  for (size_t i = 0; i < a_count; i++)
    if (!str_eq(a[i], b[i])) return false;
  return true;
}

static bool same_tokens(const struct config *a, const struct config *b) {
  if (a->token_count != b->token_count) return false;
  for (size_t i = 0; i < a->token_count; i++) {
    const struct config_token *x = &a->tokens[i], *y = &b->tokens[i];
    if (memcmp(x->sha256, y->sha256, SHA256_SIZE) != 0) return false;
    if (!str_eq(x->agent, y->agent) || !str_eq(x->name, y->name)) return false;
  }
  return true;
}

static bool same_keys(const struct jwt_keys *a, const struct jwt_keys *b) {
  return a && b ? jwt_keys_same(a, b) : a == b;
}

static bool same_issuer(const struct config_jwt *a, const struct config_jwt *b) {
  return str_eq(a->issuer, b->issuer) && str_eq(a->audience, b->audience) && str_eq(a->claim, b->claim) &&
         a->algorithms == b->algorithms && a->leeway_ms == b->leeway_ms && a->keys_ms == b->keys_ms &&
         str_eq(a->jwks_url, b->jwks_url) && str_eq(a->tenant, b->tenant) && a->keep_claims == b->keep_claims &&
         same_keys(a->keys, b->keys) && same_strs(a->scopes, a->scope_count, b->scopes, b->scope_count);
}

bool config_same_auth(const struct config *a, const struct config *b) {
  return !a->token_file.n == !b->token_file.n && same_tokens(a, b) && same_issuer(&a->jwt, &b->jwt) &&
         same_issuer(&a->workload, &b->workload) && a->needs_workload == b->needs_workload &&
         str_eq(a->resource, b->resource);
}

// ---- limits

static const struct limiter_rule *limit_of(const struct controls *c, str meta) {
  for (size_t i = 0; i < c->rule_count; i++)
    if (!c->rules[i].tools && str_eq(c->rules[i].name, meta)) return &c->rules[i];
  return NULL;
}

// Returns the first rate limit of a tool, not of a meta-tool, at or after index *at, and advances *at. Returns NULL if
// there is none.
static const struct limiter_rule *next_limit(const struct controls *c, size_t *at) {
  while (*at < c->rule_count && !c->rules[*at].tools) ++*at;
  return *at < c->rule_count ? &c->rules[(*at)++] : NULL;
}

static bool same_limit(const struct limiter_rule *a, const struct limiter_rule *b) {
  if (!a || !b) return a == b;
  return str_eq(a->name, b->name) && a->per_minute == b->per_minute && a->per_session == b->per_session;
}

static bool same_limits(const struct controls *a, const struct controls *b) {
  for (size_t i = 0, k = 0;;) {
    const struct limiter_rule *x = next_limit(a, &i), *y = next_limit(b, &k);
    if (!same_limit(x, y)) return false;
    if (!x) return true;
  }
}

// ---- any key

static bool same_field(const struct config_key *k, const struct config *a, const struct config *b) {
  const char *x = (const char *)a + k->offset, *y = (const char *)b + k->offset;
  str s, t;
  ASSERT(k->size && k->offset + k->size <= sizeof *a);
  if (k->size != sizeof(str)) return memcmp(x, y, k->size) == 0;
  memcpy(&s, x, sizeof s);
  memcpy(&t, y, sizeof t);
  return str_eq(s, t);
}

static bool same_hosts(const struct config_key *k, const struct config *a, const struct config *b) {
  ASSERT(k->size == sizeof(struct config_hosts));
  const struct config_hosts *x = (const void *)((const char *)a + k->offset);
  const struct config_hosts *y = (const void *)((const char *)b + k->offset);
  return same_strs(x->names, x->count, y->names, y->count);
}

static bool same_value(const struct config_key *k, const struct config *a, const struct config *b) {
  const struct controls *x = &a->controls, *y = &b->controls;
  str group, name;
  str_cut(str_of(k->path), '.', &group, &name);
  switch (k->type) {
  case CONFIG_SERVERS: return true;  // other code compares the servers; their changes need no restart
  case CONFIG_HOSTS: return same_hosts(k, a, b);
  case CONFIG_TOKENS: return same_tokens(a, b);
  case CONFIG_IDS: return same_strs(x->cache_allow, x->cache_allow_count, y->cache_allow, y->cache_allow_count);
  case CONFIG_LIMIT: return same_limit(limit_of(x, name), limit_of(y, name));
  case CONFIG_LIMITS: return same_limits(x, y);
  default: return same_field(k, a, b);
  }
}

void config_put_restart_keys(const struct config *a, const struct config *audit, const struct config *b,
                             struct buf *out) {
  for (size_t i = 0; i < CONFIG_KEY_COUNT; i++) {
    const struct config_key *k = &config_keys[i];
    const struct config *before = str_starts(str_of(k->path), STR("audit.")) ? audit : a;
    if (!is_live(k) && !same_value(k, before, b)) buf_printf(out, "%s%s", out->n ? ", " : "", k->path);
  }
}
