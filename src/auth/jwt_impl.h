// SPDX-License-Identifier: Apache-2.0
// Internals shared by the files of src/auth only.
#pragma once
#include <openssl/evp.h>

#include "auth/jwt.h"

struct jwt_key {
  enum jwt_algorithm algorithm;
  str id;          // "kid" of the key; STR_NONE if the key has no id
  EVP_PKEY *pkey;  // NULL for a secret
  str secret;      // HS256 only
};

enum { JWT_KEYS_MAGIC = 0x6a776b31 };

struct jwt_keys {
  uint32_t magic;
  unsigned refs;
  struct arena arena;
  struct jwt_key *list;
  size_t count;
};

// Returns whether `signature` is a valid signature of `signed_text` by this key.
bool jwt_check_signature(const struct jwt_key *key, str signed_text, str signature);
