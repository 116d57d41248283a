// SPDX-License-Identifier: Apache-2.0
// Ed25519 signatures of skills. The signed text is the canonical form (RFC 8785) of the skill file without its member
// `signatures`:
//
//   signatures: [{"alg": "EdDSA", "kid": "…", "sig": "… (base64url)", "signed_at": "2026-01-31T12:00:00Z"}]
#pragma once
#include "base/crypto/ed25519.h"
#include "skill/skill.h"

// Returns whether one signature is valid for a key of the governance file whose owner_role is that of the skill.
// Otherwise `f` has the reason.
bool skill_verify(const struct skill *s, const struct governance *g, struct fault *f);

// Reads a private key in PEM format. Returns NULL with the reason in `f` if it is not an Ed25519 key.
struct ed25519 *skill_key_read(str pem, struct fault *f);

// The public key in base64url, and the key id: the first 16 hexadecimal digits of the SHA-256 of the public key.
enum { SKILL_KID = 16 };
str skill_key_public(const struct ed25519 *key, struct arena *a);
str skill_key_id(const struct ed25519 *key, struct arena *a);

// Returns the signature of a text, in base64url.
str skill_key_sign(const struct ed25519 *key, str text, struct arena *a);
