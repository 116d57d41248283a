// SPDX-License-Identifier: Apache-2.0
// Why somebody was not let in: what is counted, and told in the log and the audit log. Few words, that stay the same.
#pragma once

// name, in words
#define REJECTION_TABLE(X) \
  X(MISSING, "missing")             /* there is no bearer token */ \
  X(MALFORMED, "malformed")         /* there is something that cannot be read as one */ \
  X(UNKNOWN_TOKEN, "unknown_token") /* it is none that is configured, and no JSON Web Token of an issuer */ \
  X(INVALID_TOKEN, "invalid_token") /* a JSON Web Token that cannot be read, or of another kind */ \
  X(ALGORITHM, "algorithm")         /* signed by an algorithm that is not accepted */ \
  X(UNKNOWN_KEY, "unknown_key")     /* by a key that is not known */ \
  X(SIGNATURE, "signature")         /* by nobody */ \
  X(EXPIRED, "expired")             /* good no more */ \
  X(NOT_YET_VALID, "not_yet_valid") /* not yet */ \
  X(ISSUER, "issuer")               /* from another issuer */ \
  X(AUDIENCE, "audience")           /* for another audience */ \
  X(NO_AGENT, "no_agent")           /* does not name an agent */ \
  X(SCOPE, "scope")                 /* good, but not for this */ \
  X(NO_KEYS, "no_keys")             /* that cannot be known now: there are no keys */ \
  X(UNKNOWN_AGENT, "unknown_agent") /* the rules do not know whom it is for, or whom a request names */

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
  return words[r];
}
