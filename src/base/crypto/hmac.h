// SPDX-License-Identifier: Apache-2.0
// Computes HMAC-SHA256 of many texts with one key. The key is prepared only once.
#pragma once
#include "base/crypto/hash.h"

struct hmac;
struct hmac *hmac_new(str key);
void hmac_free(struct hmac **h);
void hmac_sign(struct hmac *h, str s, unsigned char out[SHA256_SIZE]);
