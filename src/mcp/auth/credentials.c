// SPDX-License-Identifier: Apache-2.0
#include "mcp/auth/credentials.h"

#include <stdio.h>

#include <openssl/crypto.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "text/secrets.h"

enum {
  REMEMBERED = 1024,
  AGENT_SIZE = 256,
  SUBJECT_SIZE = 256,
  TOKEN_DIGITS = 8,  // for a token without a name, logs show this number of hex digits of its hash
};

// A cached JSON Web Token of the issuer. Its signature and claims were valid when the token was checked.
struct remembered {
  unsigned char sha256[SHA256_SIZE];
  uint64_t version;  // version of the signing keys when the token was verified
  int64_t until;     // expiry in seconds since 1970
  char name[CREDENTIALS_NAME_SIZE];
  char agent[AGENT_SIZE];
  char subject[SUBJECT_SIZE];  // truncated
  char *claims;                // claims of the token, or NULL; on the heap
};

struct credentials {
  struct credentials_options opt;
  struct keyring *keyring;
  struct keyring *awaited;               // see credentials_keys
  struct credentials *workload;          // checks workload tokens; NULL if they are not accepted
  struct arena work;                     // memory for one check
  struct remembered *remembered;         // indexed by the first bits of the hash
  char (*names)[CREDENTIALS_NAME_SIZE];  // principal names of the configured tokens; "" for a revoked token
  enum rejection rejection;
  char shown[7 + TOKEN_DIGITS + 1];  // subject that logs show for a token without a name
};

static enum credentials_verdict refuse(struct credentials *c, enum rejection rejection,
                                       enum credentials_verdict verdict) {
  c->rejection = rejection;
  return verdict;
}

// ---- names

// Writes the name of a principal: `kind`, followed by a hash of `text`. For a configured token, `text` contains a
// constant and the token's SHA-256; for a JSON Web Token, it contains the issuer, the subject, the agent and, if the
// token has one, the tenant.
static void hash_name(const char *kind, str text, char out[CREDENTIALS_NAME_SIZE]) {
  unsigned char digest[SHA256_SIZE];
  hash_sha256(text, digest);
  size_t n = strlen(kind);
  memcpy(out, kind, n);
  hash_hex(digest, 16, out + n);
}

void credentials_name(const unsigned char token_sha256[SHA256_SIZE], char out[CREDENTIALS_NAME_SIZE]) {
  static const char purpose[] = "toolgate principal";
  char text[sizeof purpose + SHA256_SIZE];
  memcpy(text, purpose, sizeof purpose);
  memcpy(text + sizeof purpose, token_sha256, SHA256_SIZE);
  hash_name("token-", (str){text, sizeof text}, out);
}

static void name_subject(const struct credentials *c, const struct jwt_claims *claims,
                         char out[CREDENTIALS_NAME_SIZE]) {
  struct buf b;
  buf_init(&b, 3 * JWT_TOKEN_MAX + (1 << 16));
  str parts[] = {c->opt.jwt->issuer, claims->subject, claims->agent, claims->tenant};
  for (size_t i = 0; i < (claims->tenant.p ? 4 : 3); i++) {
    buf_printf(&b, "%zu:", parts[i].n);
    buf_str(&b, parts[i]);
    buf_char(&b, ' ');
  }
  hash_name("jwt-", buf_view(&b), out);
  buf_done(&b);
}

// ---- configured tokens

// Compares the token with every configured token in constant time, so that the time does not reveal whether a similar
// token exists.
static int find_token(const struct credentials *c, const unsigned char sha256[SHA256_SIZE]) {
  int found = -1;
  for (size_t i = 0; i < c->opt.token_count; i++)
    if (CRYPTO_memcmp(sha256, c->opt.tokens[i].sha256, SHA256_SIZE) == 0 && c->names[i][0]) found = (int)i;
  return found;
}

size_t credentials_revoke(struct credentials *c, bool (*is_good)(void *ctx, const struct credentials_token *t),
                          void *ctx) {
  size_t count = 0;
  for (size_t i = 0; i < c->opt.token_count; i++) {
    if (!c->names[i][0] || is_good(ctx, &c->opt.tokens[i])) continue;
    c->names[i][0] = 0;
    count++;
  }
  return count;
}

static void let_in(struct credentials *c, str name, str agent, struct client_identity *out) {
  const struct principal *p = principals_meet(c->opt.principals, name, agent);
  *out = (struct client_identity){.principal = p->number, .name = p->name, .agent = p->agent};
}

// Logs show as subject the token's name, else its agent, else the first digits of its hash. The configuration contains
// the hash, so an operator can find the token.
static void enter_configured(struct credentials *c, size_t index, struct client_identity *out) {
  const struct credentials_token *t = &c->opt.tokens[index];
  let_in(c, str_of(c->names[index]), t->agent, out);
  memcpy(c->shown, "sha256:", 7);
  hash_hex(t->sha256, TOKEN_DIGITS / 2, c->shown + 7);
  out->subject = t->name.n ? t->name : t->agent.n ? t->agent : str_of(c->shown);
}

// ---- tokens of the issuer

static struct remembered *slot_of(struct credentials *c, const unsigned char sha256[SHA256_SIZE]) {
  return &c->remembered[(sha256[0] | (unsigned)sha256[1] << 8) % REMEMBERED];
}

static void enter_issued(struct credentials *c, const struct remembered *r, struct client_identity *out) {
  let_in(c, str_of(r->name), str_of(r->agent), out);
  out->until = r->until;
  out->issuer = c->opt.jwt->issuer;
  out->subject = str_of(r->subject);
  if (r->claims) out->claims = str_of(r->claims);
}

static bool cache_find(struct credentials *c, const unsigned char sha256[SHA256_SIZE], int64_t now,
                       const struct remembered **out) {
  const struct remembered *r = slot_of(c, sha256);
  if (!r->name[0] || r->version != keyring_version(c->keyring) || now >= r->until) return false;
  if (CRYPTO_memcmp(r->sha256, sha256, SHA256_SIZE) != 0) return false;
  *out = r;
  return true;
}

static const struct remembered *remember(struct credentials *c, const unsigned char sha256[SHA256_SIZE],
                                         const struct jwt_claims *claims) {
  struct remembered *r = slot_of(c, sha256);
  mem_free(r->claims);
  *r = (struct remembered){.version = keyring_version(c->keyring), .until = claims->expires + c->opt.jwt->leeway};
  memcpy(r->sha256, sha256, SHA256_SIZE);
  name_subject(c, claims, r->name);
  ASSERT(claims->agent.n < AGENT_SIZE);
  memcpy(r->agent, claims->agent.p, claims->agent.n);
  str subject = secrets_mask(&c->work, claims->subject, NULL);
  memcpy(r->subject, subject.p, utf8_cut(subject, SUBJECT_SIZE - 1).n);
  if (claims->all.p) {
    r->claims = mem_zero(claims->all.n + 1);
    memcpy(r->claims, claims->all.p, claims->all.n);
  }
  return r;
}

// Returns whether the token's scope (words separated by blanks) contains all required scopes.
static bool scope_suffices(const struct credentials *c, str scope) {
  for (size_t i = 0; i < c->opt.scope_count; i++) {
    str name, rest = scope;
    bool found = false;
    for (bool more = true; more && !found;) {
      more = str_cut(rest, ' ', &name, &rest);
      found = str_eq(name, c->opt.scopes[i]);
    }
    if (!found) return false;
  }
  return true;
}

static enum rejection rejection_of(enum jwt_flaw flaw) {
  switch (flaw) {
  case JWT_ALGORITHM: return REJECTION_ALGORITHM;
  case JWT_UNKNOWN_KEY: return REJECTION_UNKNOWN_KEY;
  case JWT_SIGNATURE: return REJECTION_SIGNATURE;
  case JWT_EXPIRED: return REJECTION_EXPIRED;
  case JWT_EARLY: return REJECTION_NOT_YET_VALID;
  case JWT_ISSUER: return REJECTION_ISSUER;
  case JWT_AUDIENCE: return REJECTION_AUDIENCE;
  case JWT_NAMELESS: return REJECTION_NO_AGENT;
  default: return REJECTION_INVALID_TOKEN;
  }
}

static enum credentials_verdict verify(struct credentials *c, str token, const unsigned char sha256[SHA256_SIZE],
                                       int64_t now, bool patient, const struct remembered **out, struct fault *why) {
  struct jwt_claims claims;
  enum jwt_flaw flaw;
  ASSERT(keyring_keys(c->keyring));
  arena_reset(&c->work);
  if (!jwt_verify(keyring_keys(c->keyring), c->opt.jwt, token, now, &c->work, &claims, &flaw, why)) {
    bool wait = flaw == JWT_UNKNOWN_KEY && patient && keyring_renew(c->keyring);
    return refuse(c, rejection_of(flaw), wait ? CREDENTIALS_WAIT : CREDENTIALS_WRONG);
  }
  if (!scope_suffices(c, claims.scope)) {
    fault_set(why, FAULT_PERMISSION_DENIED, "the token lacks a required scope");
    return refuse(c, REJECTION_SCOPE, CREDENTIALS_SCOPE);
  }
  *out = remember(c, sha256, &claims);
  return CREDENTIALS_GOOD;
}

static enum credentials_verdict check_issued(struct credentials *c, str token, const unsigned char sha256[SHA256_SIZE],
                                             bool patient, const struct remembered **out, struct fault *why) {
  int64_t now = clock_wall_ms(c->opt.loop->clock) / 1000;
  switch (keyring_look(c->keyring)) {
  case KEYRING_READY: break;
  case KEYRING_COMING:
    if (patient) return CREDENTIALS_WAIT;
    if (keyring_keys(c->keyring)) break;
    // fall through
  case KEYRING_NONE:
    fault_set(why, FAULT_UPSTREAM_UNAVAILABLE, "cannot verify the token: signing keys are unavailable");
    return refuse(c, REJECTION_NO_KEYS, CREDENTIALS_NO_KEYS);
  }
  if (cache_find(c, sha256, now, out)) return CREDENTIALS_GOOD;
  return verify(c, token, sha256, now, patient, out, why);
}

// ---- bearer tokens

static bool looks_issued(str token) {
  const char *dot = token.n ? memchr(token.p, '.', token.n) : NULL;
  return dot && memchr(dot + 1, '.', token.n - (size_t)(dot + 1 - token.p));
}

enum credentials_verdict credentials_bearer(const struct http_head *head, str *out, struct fault *why) {
  str value = http_value(head, STR("authorization"));
  if (http_count(head, STR("authorization")) > 1) {
    fault_set(why, FAULT_INVALID, "the request has more than one Authorization header");
    return CREDENTIALS_MALFORMED;
  }
  fault_set(why, FAULT_INVALID, "a bearer token is needed in the Authorization header");
  if (value.n < 7 || !str_eq_nocase((str){value.p, 7}, STR("Bearer "))) return CREDENTIALS_MISSING;
  *out = str_trim(str_from(value, 7));
  return out->n ? CREDENTIALS_GOOD : CREDENTIALS_MISSING;
}

static enum credentials_verdict check_bearer(struct credentials *c, const struct http_head *head, bool patient,
                                             struct client_identity *out, struct fault *why) {
  const struct remembered *issued;
  str token;
  unsigned char sha256[SHA256_SIZE];
  enum credentials_verdict verdict = credentials_bearer(head, &token, why);
  if (verdict != CREDENTIALS_GOOD)
    return refuse(c, verdict == CREDENTIALS_MISSING ? REJECTION_MISSING : REJECTION_MALFORMED, verdict);
  hash_sha256(token, sha256);
  int found = find_token(c, sha256);
  if (found >= 0) {
    enter_configured(c, (size_t)found, out);
    return CREDENTIALS_GOOD;
  }
  if (c->keyring && looks_issued(token)) {
    verdict = check_issued(c, token, sha256, patient, &issued, why);
    if (verdict == CREDENTIALS_GOOD) enter_issued(c, issued, out);
    c->awaited = c->keyring;
    return verdict;
  }
  fault_set(why, FAULT_INVALID, "unknown bearer token");
  return refuse(c, REJECTION_UNKNOWN_TOKEN, CREDENTIALS_WRONG);
}

// ---- workload tokens

// Replaces the principal in *out by a principal for the combination of the old one and the workload.
static void join_workload(struct credentials *c, const struct remembered *r, struct client_identity *out) {
  char name[CREDENTIALS_NAME_SIZE] = "", agent[AGENT_SIZE];
  size_t agent_n = out->agent.n;
  struct buf b;
  ASSERT(agent_n < sizeof agent);
  if (agent_n) memcpy(agent, out->agent.p, agent_n);  // copied, because principals_meet may free the agent's text
  buf_init(&b, 2 * (CREDENTIALS_NAME_SIZE + AGENT_SIZE));
  buf_printf(&b, "%.*s %s", STR_ARG(out->name), r->agent);
  hash_name("wl-", buf_view(&b), name);
  buf_done(&b);
  const struct principal *p = principals_meet(c->opt.principals, str_of(name), (str){agent, agent_n});
  out->principal = p->number;
  out->name = p->name;
  out->agent = p->agent;
  out->workload = str_of(r->agent);
  if (!out->until || r->until < out->until) out->until = r->until;
}

// Checks the workload token of a request with a valid bearer token.
static enum credentials_verdict check_workload(struct credentials *c, const struct http_head *head, bool patient,
                                               struct client_identity *out, struct fault *why) {
  struct credentials *w = c->workload;
  const struct remembered *r;
  unsigned char sha256[SHA256_SIZE];
  size_t count = http_count(head, STR(WORKLOAD_HEADER));
  if (count > 1) {
    fault_set(why, FAULT_INVALID, "the request has more than one header " WORKLOAD_HEADER);
    return refuse(c, REJECTION_MALFORMED, CREDENTIALS_MALFORMED);
  }
  if (!count) {
    if (!c->opt.needs_workload) return CREDENTIALS_GOOD;
    fault_set(why, FAULT_INVALID, "a workload token is needed in the header " WORKLOAD_HEADER);
    return refuse(c, REJECTION_MISSING, CREDENTIALS_WRONG);
  }
  str token = str_trim(http_value(head, STR(WORKLOAD_HEADER)));
  hash_sha256(token, sha256);
  enum credentials_verdict verdict = check_issued(w, token, sha256, patient, &r, why);
  c->awaited = w->keyring;
  if (verdict == CREDENTIALS_GOOD) {
    join_workload(c, r, out);
    return verdict;
  }
  char what[FAULT_TEXT];
  snprintf(what, sizeof what, "%s", why->message);
  fault_set(why, why->code, "the workload token of the header " WORKLOAD_HEADER " is refused: %s", what);
  return refuse(c, w->rejection, verdict);
}

enum credentials_verdict credentials_check(struct credentials *c, const struct http_head *head, bool patient,
                                           struct client_identity *out, struct fault *why) {
  struct client_identity who = *out;
  enum credentials_verdict verdict = check_bearer(c, head, patient, &who, why);
  if (verdict == CREDENTIALS_GOOD && c->workload) verdict = check_workload(c, head, patient, &who, why);
  if (verdict == CREDENTIALS_GOOD) *out = who;
  return verdict;
}

// ---- interface

static struct credentials *workload_new(const struct credentials_options *opt, struct fault *f) {
  struct credentials_options own = {
      .loop = opt->loop, .principals = opt->principals, .jwt = opt->workload, .keys = opt->workload_keys};
  return credentials_new(&own, f);
}

struct credentials *credentials_new(const struct credentials_options *opt, struct fault *f) {
  struct credentials *c = MEM_NEW(struct credentials);
  c->opt = *opt;
  arena_init(&c->work);
  c->names = mem_zero(opt->token_count * CREDENTIALS_NAME_SIZE + 1);
  for (size_t i = 0; i < opt->token_count; i++) credentials_name(opt->tokens[i].sha256, c->names[i]);
  if (opt->jwt) {
    c->remembered = mem_zero(REMEMBERED * sizeof *c->remembered);
    c->keyring = keyring_new(&opt->keys, f);
  }
  if (opt->workload) c->workload = workload_new(opt, f);
  if ((opt->jwt && !c->keyring) || (opt->workload && !c->workload)) credentials_free(&c);
  return c;
}

void credentials_free(struct credentials **credentials) {
  struct credentials *c = *credentials;
  if (!c) return;
  *credentials = NULL;
  credentials_free(&c->workload);
  keyring_free(&c->keyring);
  arena_done(&c->work);
  for (size_t i = 0; c->remembered && i < REMEMBERED; i++) mem_free(c->remembered[i].claims);
  mem_free(c->remembered);
  mem_free(c->names);
  mem_free(c);
}

enum rejection credentials_rejection(const struct credentials *c) {
  return c->rejection;
}

struct keyring *credentials_keys(struct credentials *c) {
  return c->awaited ? c->awaited : c->keyring;
}

unsigned credentials_waits(const struct credentials *c) {
  return (c->keyring ? 1 : 0) + (c->workload ? 1 : 0);
}
