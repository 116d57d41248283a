// SPDX-License-Identifier: Apache-2.0
// The answer to a request without a valid token: the header WWW-Authenticate (RFC 6750, RFC 9728), and the metadata of
// the protected resource, which name the authorization server. Neither needs a credential.
#pragma once
#include "base/buf.h"
#include "mcp/auth/credentials.h"

// Borrowed: its texts must outlive it.
//
// A client accepts metadata only if the resource in it is the URL that it called (RFC 9728, 3.3). So each path of the
// endpoint is a resource: /mcp is the configured one, and /mcp/NAME is the configured one followed by /NAME.
struct challenge {
  str resource;              // the public URL of /mcp; empty: no metadata
  const char *const *names;  // of the paths below it
  size_t name_count;
  str issuer;  // the authorization server
  const str *scopes;
  size_t scope_count;
};

// Returns whether this is a path of metadata: the well-known path alone, or followed by the path of a resource as in
// its public URL or as served here. *out_part is the part of that path after /mcp; it may be empty.
bool challenge_is_metadata(const struct challenge *c, str path, str *out_part);

void challenge_put_metadata(const struct challenge *c, str part, struct buf *out);

// The status and the header line of a refusal.
int challenge_status(enum credentials_verdict verdict);
void challenge_put_header(const struct challenge *c, str path, enum credentials_verdict verdict,
                          const struct fault *why, struct buf *out);
