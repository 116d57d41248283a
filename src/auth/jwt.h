// SPDX-License-Identifier: Apache-2.0
// JSON Web Tokens (RFC 7519) as bearer credentials: HS256, RS256, ES256 and EdDSA (Ed25519), compact form.
//
// The key, not the token, determines the algorithm, so `none` and a public key used as an HMAC secret are rejected.
// Only configured algorithms are accepted. A token must have an expiry. Issuer, audience and the claim that names the
// agent are checked as configured. An error message reveals only the reason for the rejection, nothing else about the
// token.
#pragma once
#include "base/arena.h"
#include "base/fault.h"
#include "json/json.h"

enum {
  JWT_TOKEN_MAX = 16 << 10,  // bytes of a token
  JWT_KEYS_MAX = 64,         // keys in a set
  JWT_NAME_MAX = 255,        // bytes of the value of jwt_rules.claim
  JWT_SECRET_MIN = 32        // bytes of a secret
};

enum jwt_algorithm { JWT_HS256, JWT_RS256, JWT_ES256, JWT_EDDSA };
enum { JWT_ALGORITHMS = 4 };
extern const char *const jwt_algorithm_names[JWT_ALGORITHMS];

static inline unsigned jwt_bit(enum jwt_algorithm a) {
  return 1U << a;
}

struct jwt_keys;  // reference-counted, immutable

// Reads a JWK set (RFC 7517): {"keys": […]}. Ignores keys with other algorithms or for other purposes, and keys whose
// id is not a string. `secrets` allows HS256 secrets; it must be false for a set that others can read. Returns NULL
// with the reason in f if no key is usable.
struct jwt_keys *jwt_keys_from_set(const struct json *set, bool secrets, struct fault *f);
// jwt_keys_from_pem reads a public key in PEM format (RSA, P-256 or Ed25519), jwt_keys_from_secret a secret for HS256.
struct jwt_keys *jwt_keys_from_pem(str pem, struct fault *f);
struct jwt_keys *jwt_keys_from_secret(str secret, struct fault *f);
struct jwt_keys *jwt_keys_ref(struct jwt_keys *k);
void jwt_keys_unref(struct jwt_keys **k);
bool jwt_keys_same(const struct jwt_keys *a,
                   const struct jwt_keys *b);  // returns whether a and b have the same keys in the same order
size_t jwt_keys_count(const struct jwt_keys *k);
unsigned jwt_keys_algorithms(const struct jwt_keys *k);  // returns the algorithms of the keys, as bits (jwt_bit)

struct jwt_rules {
  unsigned algorithms;  // accepted algorithms, as bits
  str issuer;           // STR_NONE if every issuer is accepted
  str audience;         // STR_NONE if every audience is accepted
  const str *parts;     // other audiences that are accepted too
  size_t part_count;
  str tenant;      // name of the claim with the tenant or, with a leading slash, its JSON Pointer; or STR_NONE
  bool keep;       // jwt_verify sets jwt_claims.all
  str claim;       // name of the claim that contains the agent id (policy/policy.h)
  bool any_name;   // the claim contains any name of at most JWT_NAME_MAX bytes, such as a SPIFFE id
  int64_t leeway;  // allowed difference between our clock and that of the issuer, in seconds
};

struct jwt_claims {
  str subject;  // "sub"; not empty
  str agent;    // value of jwt_rules.claim
  str scope;    // "scope", or the names of "scp" joined by blanks; may be empty
  int64_t expires;
  str tenant;  // value of jwt_rules.tenant; STR_NONE if absent or not a string
  // All claims except exp, iat, nbf and jti, which differ between tokens of one identity. STR_NONE unless
  // jwt_rules.keep is set.
  str all;
};

// The reason why a token was rejected.
enum jwt_flaw {
  JWT_FINE,
  JWT_MALFORMED,  // not a JWT, or a JWT for another purpose
  JWT_ALGORITHM,
  JWT_UNKNOWN_KEY,  // no key has the token's key id; fetching newer keys may help
  JWT_SIGNATURE,
  JWT_EXPIRED,
  JWT_EARLY,
  JWT_ISSUER,
  JWT_AUDIENCE,
  JWT_NAMELESS,  // no valid agent id
};

// Verifies a token at the time `now` (seconds since 1970) and stores its claims in *out, with texts in the arena. On
// failure, returns false and stores the reason in f and, unless out_flaw is NULL, in *out_flaw.
bool jwt_verify(const struct jwt_keys *keys, const struct jwt_rules *rules, str token, int64_t now, struct arena *a,
                struct jwt_claims *out, enum jwt_flaw *out_flaw, struct fault *f);
