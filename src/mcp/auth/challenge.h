// SPDX-License-Identifier: Apache-2.0
// What a client is told that comes without a good token: the header WWW-Authenticate (RFC 6750, RFC 9728), and the
// metadata of the protected resource, where an OAuth client finds out who gives tokens for it. Nothing of this needs a
// credential.
#pragma once
#include "base/buf.h"
#include "mcp/auth/credentials.h"

// All of it must outlive whoever uses it.
//
// A client believes metadata only if the resource in it is the URL that it called (RFC 9728, 3.3). So each path of the
// endpoint is a resource of its own: /mcp is the one that is configured, and /mcp/NAME that with /NAME behind it.
struct challenge {
  str resource;              // the public URL of /mcp; empty: there is no metadata
  const char *const *names;  // of the paths below it
  size_t name_count;
  str issuer;  // the authorization server
  const str *scopes;
  size_t scope_count;
};

// The path of a request is where metadata is: at the root, or with the path of a resource behind it, public or as we
// are called. *out_part: of which, as what stands behind its /mcp; empty for that itself.
bool challenge_is_metadata(const struct challenge *c, str path, str *out_part);

void challenge_put_metadata(const struct challenge *c, str part, struct buf *out);

// The status of a refusal of a request to this path, and its header line.
int challenge_status(enum credentials_verdict verdict);
void challenge_put_header(const struct challenge *c, str path, enum credentials_verdict verdict,
                          const struct fault *why, struct buf *out);
