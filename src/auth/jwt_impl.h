// SPDX-License-Identifier: Apache-2.0
// What reading keys and checking tokens share.
#pragma once
#include <openssl/evp.h>

#include "auth/jwt.h"

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

// The signature of a token's first two parts is this key's.
bool jwt_check_signature(const struct jwt_key *key, str signed_text, str signature);
