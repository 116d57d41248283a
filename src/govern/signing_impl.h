// SPDX-License-Identifier: Apache-2.0
// Internals of signing, shared by govern_signing.c and signed_decision.c only.
#pragma once
#include "base/crypto/ed25519.h"
#include "govern/govern_impl.h"
#include "govern/signing.h"

struct signing_key {
  str pointer, file;
  str kid;              // id of the key; STR_NONE if the file names none and the key is not set yet
  struct ed25519 *key;  // NULL until the key is set; the same is true of the following members
  str x;                // the public key in base64url
  str head;             // the header of tokens in base64url
};

struct governance_signing {
  struct signing_key *keys;
  size_t count;
  str issuer;  // STR_NONE: "toolgate"
};
