// SPDX-License-Identifier: Apache-2.0
// Authentication of HTTP clients, as configured: tokens, an issuer and its keys, and the challenge for other clients.
#pragma once
#include "app/config/config.h"
#include "mcp/auth/challenge.h"

struct admission {
  struct credentials *credentials;  // NULL: anyone may come
  struct challenge challenge;
  struct arena arena;  // private
};

// url: of the endpoint as it is listened on. Nothing of the configuration is needed afterwards. False: f says why, and
// there is nothing to close.
bool admission_open(struct admission *a, const struct config *c, struct loop *l, struct principals *p, str url,
                    struct fault *f);
// Refuses from now on the tokens that `valid` does not have, or has for another agent; adds none. Returns their number.
size_t admission_revoke(struct admission *a, const struct config *valid);
void admission_close(struct admission *a);
