// SPDX-License-Identifier: Apache-2.0
// Reasons why authentication rejects a request, as used in metrics, the log and the audit log. The words are stable.
#pragma once
#include <stddef.h>

#include "base/assert.h"

// name, word
#define REJECTION_TABLE(X) \
  X(MISSING, "missing")             /* no bearer token */ \
  X(MALFORMED, "malformed")         /* the Authorization header is not a bearer token */ \
  X(UNKNOWN_TOKEN, "unknown_token") /* neither a configured token nor a JSON Web Token of an issuer */ \
  X(INVALID_TOKEN, "invalid_token") /* a JSON Web Token that is malformed or of another type */ \
  X(ALGORITHM, "algorithm")         /* signed with an algorithm that is not accepted */ \
  X(UNKNOWN_KEY, "unknown_key")     /* signed with an unknown key */ \
  X(SIGNATURE, "signature")         /* the signature is invalid */ \
  X(EXPIRED, "expired")             /* expired */ \
  X(NOT_YET_VALID, "not_yet_valid") /* not valid yet */ \
  X(ISSUER, "issuer")               /* from another issuer */ \
  X(AUDIENCE, "audience")           /* for another audience */ \
  X(NO_AGENT, "no_agent")           /* does not name an agent */ \
  X(SCOPE, "scope")                 /* valid, but lacks a required scope */ \
  X(NO_KEYS, "no_keys")             /* cannot be verified: the signing keys are unavailable */ \
  X(UNKNOWN_AGENT, "unknown_agent") /* the rules do not know the agent of the token or of the request */

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
