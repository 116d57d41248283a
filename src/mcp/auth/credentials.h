// SPDX-License-Identifier: Apache-2.0
// Identifies the sender of each request by its bearer token: a configured token, or a JSON Web Token of the issuer.
// Both kinds can be configured together.
//
// The SHA-256 of a configured token is compared in constant time. A valid JSON Web Token is cached by its SHA-256 until
// it expires or the keys change, so that its signature is checked once.
#pragma once
#include "io/http/http.h"
#include "mcp/auth/keyring.h"
#include "mcp/auth/principals.h"
#include "mcp/server/session.h"
#include "observe/rejection.h"

struct credentials;

struct credentials_token {
  unsigned char sha256[SHA256_SIZE];
  str agent;  // agent of the requests with this token; may be empty
  str name;   // given by the operator; may be empty
};

// Options of credentials_new. Arrays and strings are borrowed: they must outlive the credentials.
struct credentials_options {
  struct loop *loop;
  struct principals *principals;  // shared by all credentials of the process
  const struct credentials_token *tokens;
  size_t token_count;
  const struct jwt_rules *jwt;  // NULL if no issuer is configured
  struct keyring_options keys;  // signing keys of the issuer
  const str *scopes;            // scopes that a token of the issuer must all have
  size_t scope_count;
  const struct jwt_rules *workload;      // NULL if workload tokens are not accepted
  struct keyring_options workload_keys;  // signing keys of the issuer of workload tokens
  bool needs_workload;                   // every request must have a workload token
};

// The header of a request with a JSON Web Token that proves the workload (the program) that sends the request. It is
// read in addition to the bearer token. Requests of different workloads belong to different principals.
#define WORKLOAD_HEADER "Toolgate-Workload"

// Creates credentials with their keyring. Returns NULL on failure, with a reason in f.
struct credentials *credentials_new(const struct credentials_options *opt, struct fault *f);
void credentials_free(struct credentials **c);

enum credentials_verdict {
  CREDENTIALS_GOOD,
  CREDENTIALS_MISSING,    // no bearer token
  CREDENTIALS_MALFORMED,  // the header is malformed
  CREDENTIALS_WRONG,      // unknown or no longer valid
  CREDENTIALS_SCOPE,      // valid, but lacks a required scope
  CREDENTIALS_WAIT,       // can be checked after keys have been fetched: see credentials_keys
  CREDENTIALS_NO_KEYS,    // cannot be checked: keys are unavailable
};

// Checks the token of a request. If signing keys must be fetched first and `patient` is true, returns CREDENTIALS_WAIT;
// if `patient` is false, decides with the keys that are available. For a valid token, sets *out, whose strings are
// valid until the next check. For a rejected token, sets *why to the reason.
enum credentials_verdict credentials_check(struct credentials *c, const struct http_head *head, bool patient,
                                           struct client_identity *out, struct fault *why);

// Reads the bearer token of a request. Returns CREDENTIALS_GOOD, CREDENTIALS_MISSING or CREDENTIALS_MALFORMED.
enum credentials_verdict credentials_bearer(const struct http_head *head, str *out, struct fault *why);

// Revokes, permanently, every configured token for which `is_good` returns false. Returns the number of tokens revoked.
size_t credentials_revoke(struct credentials *c, bool (*is_good)(void *ctx, const struct credentials_token *t),
                          void *ctx);

// Returns the keyring for which the last request with the verdict CREDENTIALS_WAIT must wait; NULL if there is none.
struct keyring *credentials_keys(struct credentials *c);
// Returns the number of times that a request may have to wait for keys.
unsigned credentials_waits(const struct credentials *c);

// Returns why the last rejected token was rejected.
enum rejection credentials_rejection(const struct credentials *c);

// Size of the name of a principal, with the terminating NUL.
enum { CREDENTIALS_NAME_SIZE = 39 };
// Writes the principal name of a configured token. This name is the same in every run, and reveals neither the token
// nor its hash.
void credentials_name(const unsigned char token_sha256[SHA256_SIZE], char out[CREDENTIALS_NAME_SIZE]);
