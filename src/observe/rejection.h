// SPDX-License-Identifier: Apache-2.0
// Reasons why authentication rejects a request, as used in metrics, the log and the audit log. The texts of the reasons
// never change.
#pragma once
#include <stddef.h>

#include "base/assert.h"

// X(name, word)
#define REJECTION_TABLE(X) \
  X(MISSING, "missing")             /* no bearer token */ \
  X(MALFORMED, "malformed")         /* the Authorization header is not a bearer token */ \
  X(UNKNOWN_TOKEN, "unknown_token") /* neither a configured token nor a JWT of a configured issuer */ \
  X(INVALID_TOKEN, "invalid_token") /* a JWT that is malformed or not an access token */ \
  X(ALGORITHM, "algorithm")         /* the JWT's algorithm is not accepted */ \
  X(UNKNOWN_KEY, "unknown_key")     /* the JWT's key is unknown */ \
  X(SIGNATURE, "signature")         /* the JWT's signature is invalid */ \
  X(EXPIRED, "expired")             /* the JWT has expired */ \
  X(NOT_YET_VALID, "not_yet_valid") /* the JWT is not valid yet */ \
  X(ISSUER, "issuer")               /* the JWT is from another issuer */ \
  X(AUDIENCE, "audience")           /* the JWT is for another audience */ \
  X(NO_AGENT, "no_agent")           /* the JWT does not name an agent */ \
  X(SCOPE, "scope")                 /* the JWT is valid, but lacks a required scope */ \
  X(NO_KEYS, "no_keys")             /* the JWT cannot be verified: no signing keys are available */ \
  X(UNKNOWN_AGENT, "unknown_agent") /* the agent of the token or the request is not in the rules */

enum rejection {
#define X(name, word) REJECTION_##name,
  REJECTION_TABLE(X)
#undef X
      REJECTION_COUNT
};

static inline const char *rejection_word(enum rejection r) {
  static const char *const words[] = {
#define X(name, word) word,
      REJECTION_TABLE(X)
#undef X
  };
  ASSERT((size_t)r < REJECTION_COUNT);
  return words[r];
}
