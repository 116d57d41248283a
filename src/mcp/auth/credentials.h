// SPDX-License-Identifier: Apache-2.0
// Who a request is from, by its bearer token: one of the configured tokens, or a JSON Web Token of the issuer. Checked
// on every request anew. Both kinds may be configured side by side.
//
// A configured token is known by its SHA-256 and compared in constant time. A JSON Web Token that was good is
// remembered, by its SHA-256 and until it expires or the keys change, so that its signature is checked once.
#pragma once
#include "io/http/http.h"
#include "mcp/auth/keyring.h"
#include "mcp/auth/principals.h"
#include "mcp/server/session.h"
#include "observe/rejection.h"

struct credentials;

struct credentials_token {
  unsigned char sha256[SHA256_SIZE];
  str agent;  // who has it; empty: it says nothing of that
  str name;   // what the operator calls it; empty: nothing
};

// All of it must outlive the credentials.
struct credentials_options {
  struct loop *loop;
  struct principals *principals;  // those of other credentials too, before and after these
  const struct credentials_token *tokens;
  size_t token_count;
  const struct jwt_rules *jwt;  // NULL: there is no issuer
  struct keyring_options keys;  // of the issuer
  const str *scopes;            // that a token of it must have, all of them
  size_t scope_count;
};

// NULL: f says why.
struct credentials *credentials_new(const struct credentials_options *opt, struct fault *f);
void credentials_free(struct credentials **c);

enum credentials_verdict {
  CREDENTIALS_GOOD,
  CREDENTIALS_MISSING,    // there is no bearer token
  CREDENTIALS_MALFORMED,  // there is something that cannot be read as one
  CREDENTIALS_WRONG,      // it is not known, or not good any more
  CREDENTIALS_SCOPE,      // it is good, but not for this
  CREDENTIALS_WAIT,       // that is known when keys have been fetched: see credentials_keys
  CREDENTIALS_NO_KEYS,    // that cannot be known now
};

// patient: it may take a fetch; otherwise a token whose key is not known is wrong. *out is filled when it is good: its
// texts are good until the next check. Otherwise *why says what is wrong.
enum credentials_verdict credentials_check(struct credentials *c, const struct http_head *head, bool patient,
                                           struct client_identity *out, struct fault *why);

// The bearer token of a request: CREDENTIALS_GOOD, CREDENTIALS_MISSING or CREDENTIALS_MALFORMED; *why as above.
enum credentials_verdict credentials_bearer(const struct http_head *head, str *out, struct fault *why);

// Revokes the configured tokens that `is_good` says false of, for good. Returns their number.
size_t credentials_revoke(struct credentials *c, bool (*is_good)(void *ctx, const struct credentials_token *t),
                          void *ctx);

struct keyring *credentials_keys(struct credentials *c);  // NULL: there is no issuer

// What was wrong with the last one that was checked and not good.
enum rejection credentials_rejection(const struct credentials *c);

// A name for whoever has this token, the same in every run; it does not tell the token, nor its hash.
enum { CREDENTIALS_NAME_SIZE = 39 };
void credentials_name(const unsigned char token_sha256[SHA256_SIZE], char out[CREDENTIALS_NAME_SIZE]);
