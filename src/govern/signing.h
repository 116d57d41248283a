// SPDX-License-Identifier: Apache-2.0
// Signed decisions: tokens by which a server verifies that the gateway has allowed a call, and for whom. A token is a
// JSON Web Signature in compact form (RFC 7515) signed with an Ed25519 key (RFC 8037), of the type
// "toolgate-decision+jwt". The member `signing` of the governance file names the keys:
//
//   signing: { keys: [{ key_file: new.pem }, { key_file: old.pem, kid: k1 }], issuer: https://tools.example.com }
//
// The first key signs; all keys are published, so that servers can verify tokens while keys are replaced. The owner of
// a governance reads the key files right after governance_read, and calls governance_key_set for each of them.
#pragma once
#include "govern/govern.h"

#define DECISION_META STR("io.toolgate/decision")  // member of _meta with the token
#define DECISION_HEADER STR("Toolgate-Decision")   // HTTP header with the token

enum { DECISION_SECONDS = 60, DECISION_TOKEN_MAX = 32 << 10 };

size_t governance_key_count(const struct governance *g);  // 0 if the file has no `signing`
// Returns the path of a key file as the governance file has it. Sets *out_pointer to its place in the governance file.
str governance_key_file(const struct governance *g, size_t index, str *out_pointer);
// Sets a key from the text of its file. Returns false with the reason in f.
bool governance_key_set(struct governance *g, size_t index, str pem, struct fault *f);
bool governance_key_signs(const struct governance *g, size_t index);  // returns whether the key is a private key
// Sets the issuer of tokens, unless the file names an issuer. If this function is not called, the issuer is "toolgate".
void governance_issuer_set(struct governance *g, str issuer);

// Writes the public keys as a JWK set (RFC 7517). The keys must be set.
void governance_put_keys(const struct governance *g, struct buf *out);

// Returns whether the calls of a capability are signed.
bool governance_signs(const struct governance_capability *c);

struct signed_decision {
  const struct governance_capability *capability;  // governance_signs must return true for it
  str server;                                      // name of the server, which is the audience of the token
  str id;                                          // of the decision
  enum approval_mode mode;                         // effective
  const struct json *context;                      // the run context
  const struct json *args;                         // an object, or NULL
  int64_t now;                                     // seconds since 1970
};

// Returns a token in the arena. Returns STR_NONE with the reason in f if the arguments have no canonical form (RFC
// 8785), or if the token would be larger than DECISION_TOKEN_MAX.
str governance_sign(const struct governance *g, const struct signed_decision *d, struct arena *a, struct fault *f);
