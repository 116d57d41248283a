// SPDX-License-Identifier: Apache-2.0
// Ed25519 signatures (RFC 8032) with keys from PEM files.
#pragma once
#include "base/str.h"

struct ed25519;

enum { ED25519_PUBLIC = 32, ED25519_SIGNATURE = 64 };

// Reads a private key (PKCS #8) or a public key in PEM format. Returns NULL if the text contains neither, if the key is
// of another type, or if it is encrypted. The caller owns the key.
struct ed25519 *ed25519_read(str pem);
void ed25519_free(struct ed25519 **key);

bool ed25519_can_sign(const struct ed25519 *key);  // returns whether the key is a private key
void ed25519_public(const struct ed25519 *key, unsigned char out[ED25519_PUBLIC]);
void ed25519_sign(const struct ed25519 *key, str text, unsigned char out[ED25519_SIGNATURE]);  // needs a private key
