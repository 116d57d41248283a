// SPDX-License-Identifier: Apache-2.0
// HMAC-SHA256 of many texts with one key, which is prepared once.
#pragma once
#include "base/crypto/hash.h"

struct hmac;
struct hmac *hmac_new(str key);
void hmac_free(struct hmac **h);
void hmac_sign(struct hmac *h, str s, unsigned char out[SHA256_SIZE]);
