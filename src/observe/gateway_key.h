// SPDX-License-Identifier: Apache-2.0
// The gateway's own Ed25519 key, which signs decisions of approvers and heads of the audit log. It is in the file
// gateway.pem of the state folder. The gateway creates the file, with mode 0600, when it first needs the key.
#pragma once
#include "base/arena.h"
#include "base/crypto/ed25519.h"
#include "base/fault.h"

struct gateway_key;

// Opens the key of a state folder (an absolute path), and creates it if there is none. With an empty folder, creates a
// key that ends with the process. Waits for the disk. Returns NULL with the reason in f if the key cannot be used, for
// example because other users can read the file.
struct gateway_key *gateway_key_open(str folder, const struct rand_source *rand, struct fault *f);
void gateway_key_free(struct gateway_key **k);

str gateway_key_id(const struct gateway_key *k);      // thumbprint of the public key (RFC 7638)
str gateway_key_public(const struct gateway_key *k);  // the public key in base64url

// Returns the signature of a text, in base64url, in the arena.
str gateway_key_sign(const struct gateway_key *k, str text, struct arena *a);

// Returns whether `signature` (base64url) is a signature of the text by this key.
bool gateway_key_verify(const struct gateway_key *k, str text, str signature);
