// SPDX-License-Identifier: Apache-2.0
// Ed25519 signatures (RFC 8032).
#pragma once
#include "base/buf.h"
#include "base/crypto/rand.h"

struct ed25519;

enum { ED25519_PUBLIC = 32, ED25519_SIGNATURE = 64 };

// Reads a private key (PKCS #8) or a public key in PEM format. Returns NULL if the text contains neither, if the key is
// of another type, or if it is encrypted. The caller owns the key.
struct ed25519 *ed25519_read(str pem);

// Reads a public key from text: PEM, or 32 bytes in base64url. Returns NULL if it is neither.
struct ed25519 *ed25519_read_public(str text);

struct ed25519 *ed25519_new(const struct rand_source *rand);  // a new private key
void ed25519_free(struct ed25519 **key);

bool ed25519_can_sign(const struct ed25519 *key);  // returns whether the key is a private key
void ed25519_public(const struct ed25519 *key, unsigned char out[ED25519_PUBLIC]);
void ed25519_sign(const struct ed25519 *key, str text, unsigned char out[ED25519_SIGNATURE]);  // needs a private key

// The following functions append text to `out`: the private key as PEM (PKCS #8); the public key in base64url; its
// thumbprint (RFC 7638); and the signature of a text in base64url.
void ed25519_put_private(const struct ed25519 *key, struct buf *out);
void ed25519_put_public(const struct ed25519 *key, struct buf *out);
void ed25519_put_thumbprint(const struct ed25519 *key, struct buf *out);
void ed25519_put_signature(const struct ed25519 *key, str text, struct buf *out);

// Returns whether `signature`, in base64url, is a signature of the text by this key.
bool ed25519_verify_text(const struct ed25519 *key, str text, str signature);
