// SPDX-License-Identifier: Apache-2.0
// JSON Web Tokens (RFC 7519) as bearer credentials: HS256, RS256, ES256 and EdDSA (Ed25519), compact form.
//
// A key says which algorithm it is for, the token does not choose: `none`, and a public key used as a secret, get
// nowhere. Beyond that only listed algorithms are accepted. Expiry is required; issuer, audience and the claim that
// names the agent are compared as configured. What a token does not prove it does not say: a failure tells no more than
// what is wrong with it.
#pragma once
#include "base/arena.h"
#include "base/fault.h"
#include "json/json.h"

enum { JWT_TOKEN_MAX = 16 << 10, JWT_KEYS_MAX = 64, JWT_SECRET_MIN = 32 };  // bytes, keys, bytes of a secret

enum jwt_algorithm { JWT_HS256, JWT_RS256, JWT_ES256, JWT_EDDSA };
enum { JWT_ALGORITHMS = 4 };
extern const char *const jwt_algorithm_names[JWT_ALGORITHMS];

static inline unsigned jwt_bit(enum jwt_algorithm a) {
  return 1U << a;
}

struct jwt_keys;  // counted, immutable

// A JWK set (RFC 7517): {"keys": […]}, of which those are left out that are for none of the four algorithms or not for
// signatures, or whose id is no text. secrets: those for HS256 are taken too, which no set may hold that others can
// read. NULL: f says why; one that holds no usable key is an error.
struct jwt_keys *jwt_keys_from_set(const struct json *set, bool secrets, struct fault *f);
// A public key as PEM (RSA, P-256 or Ed25519), or a secret for HS256.
struct jwt_keys *jwt_keys_from_pem(str pem, struct fault *f);
struct jwt_keys *jwt_keys_from_secret(str secret, struct fault *f);
struct jwt_keys *jwt_keys_ref(struct jwt_keys *k);
void jwt_keys_unref(struct jwt_keys **k);
bool jwt_keys_same(const struct jwt_keys *a, const struct jwt_keys *b);  // the same keys in the same order
size_t jwt_keys_count(const struct jwt_keys *k);
unsigned jwt_keys_algorithms(const struct jwt_keys *k);  // that they are for, as bits

struct jwt_rules {
  unsigned algorithms;  // that are accepted, as bits
  str issuer;           // STR_NONE: any
  str audience;         // STR_NONE: any
  const str *parts;     // further audiences that are as good
  size_t part_count;
  str claim;       // that names the agent: a name as policy/policy.h has it
  int64_t leeway;  // seconds that clocks may differ
};

struct jwt_claims {
  str subject;  // "sub"; not empty
  str agent;    // the claim that the rules name
  str scope;    // "scope", or the names of "scp" with blanks between; may be empty
  int64_t expires;
};

// What is wrong with a token.
enum jwt_flaw {
  JWT_FINE,
  JWT_MALFORMED,  // it is none, or one of another kind
  JWT_ALGORITHM,
  JWT_UNKNOWN_KEY,  // no key has the id that it names: newer keys may help
  JWT_SIGNATURE,
  JWT_EXPIRED,
  JWT_EARLY,
  JWT_ISSUER,
  JWT_AUDIENCE,
  JWT_NAMELESS,  // it does not name an agent
};

// Checks a token at a time (seconds since 1970). What it says is in the arena. False: f says what is wrong with it, and
// so does *out_flaw, when not NULL.
bool jwt_verify(const struct jwt_keys *keys, const struct jwt_rules *rules, str token, int64_t now, struct arena *a,
                struct jwt_claims *out, enum jwt_flaw *out_flaw, struct fault *f);
