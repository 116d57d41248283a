// SPDX-License-Identifier: Apache-2.0
// Authentication of HTTP clients, as configured: bearer tokens, JSON Web Tokens, and the challenge for clients without
// a valid token.
#pragma once
#include "app/config/config.h"
#include "mcp/auth/challenge.h"

struct admission {
  struct credentials *credentials;  // NULL if clients need no credentials
  struct challenge challenge;
  struct arena arena;  // holds the memory of the members above
};

// Sets up the authentication as configured; `c` is not needed afterwards. `url` is the URL of the listener. On failure
// returns false with the reason in `f`, and admission_close must not be called.
bool admission_open(struct admission *a, const struct config *c, struct loop *l, struct principals *p, str url,
                    struct fault *f);
// Revokes each token that is missing from `valid`, or that belongs to another agent in `valid`. Adds no tokens. Returns
// the number of revoked tokens.
size_t admission_revoke(struct admission *a, const struct config *valid);
void admission_close(struct admission *a);
