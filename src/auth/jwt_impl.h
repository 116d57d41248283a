// SPDX-License-Identifier: Apache-2.0
// What reading keys and checking tokens share.
#pragma once
#include <openssl/evp.h>

#include "auth/jwt.h"

enum jwt_algorithm { JWT_HS256, JWT_RS256, JWT_ES256, JWT_EDDSA };
enum { JWT_ALGORITHMS = 4 };

struct jwt_key {
  enum jwt_algorithm algorithm;
  str id;          // "kid"; STR_NONE: it has none
  EVP_PKEY *pkey;  // NULL: a secret
  str secret;
};

struct jwt_keys {
  unsigned refs;
  struct arena arena;
  struct jwt_key *list;
  size_t count;
};

extern const char *const jwt_algorithm_names[JWT_ALGORITHMS];

// The signature of a token's first two parts is this key's.
bool jwt_check_signature(const struct jwt_key *key, str signed_text, str signature);
