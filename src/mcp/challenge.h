// SPDX-License-Identifier: Apache-2.0
// What a client is told that comes without a good token: the header WWW-Authenticate (RFC 6750, RFC 9728), and the
// metadata of the protected resource, where an OAuth client finds out who gives tokens for it. Nothing of this needs a
// credential.
#pragma once
#include "base/buf.h"
#include "mcp/credentials.h"

// All of it must outlive whoever uses it.
struct challenge {
  str resource;  // the public URL of the endpoint; empty: there is no metadata
  str issuer;    // the authorization server
  const str *scopes;
  size_t scope_count;
};

// The path of a request is where the metadata is: at the root, or with the resource's own path behind it. `path_ok`
// tells other paths that are the endpoint's.
bool challenge_is_metadata(const struct challenge *c, str path, bool (*path_ok)(const void *ctx, str path),
                           const void *ctx);

void challenge_put_metadata(const struct challenge *c, struct buf *out);

// The status of a refusal, and its header line.
int challenge_status(enum credentials_verdict verdict);
void challenge_put_header(const struct challenge *c, enum credentials_verdict verdict, const struct fault *why,
                          struct buf *out);
