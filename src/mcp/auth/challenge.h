// SPDX-License-Identifier: Apache-2.0
// Writes the response to a request without a valid token. Its header WWW-Authenticate (RFC 6750, RFC 9728) contains the
// URL of the metadata of the protected resource. The metadata name the authorization server; clients can read the
// metadata without a credential.
#pragma once
#include "base/buf.h"
#include "mcp/auth/credentials.h"

// Data for the header and the metadata. The strings are borrowed and must outlive the challenge.
//
// A client accepts metadata only if the resource named in them is the URL that the client called (RFC 9728, 3.3). So
// each path of the endpoint is a resource: the configured URL for /mcp, and the same URL followed by /NAME for
// /mcp/NAME.
struct challenge {
  str resource;              // the public URL of /mcp; empty if no metadata are served
  const char *const *names;  // known values of NAME in paths /mcp/NAME
  size_t name_count;
  str issuer;  // the authorization server
  const str *scopes;
  size_t scope_count;
};

// Returns whether metadata are served at `path`: /.well-known/oauth-protected-resource, alone or followed by the path
// of a resource. The path of a resource is the path of its public URL, /mcp or /mcp/NAME. Sets *out_part to "" or
// /NAME.
bool challenge_is_metadata(const struct challenge *c, str path, str *out_part);

void challenge_put_metadata(const struct challenge *c, str part, struct buf *out);

// Returns the HTTP status of the response to a rejected request.
int challenge_status(enum credentials_verdict verdict);
// Writes a header line for the response to a rejected request: WWW-Authenticate or, if signing keys are unavailable,
// Retry-After.
void challenge_put_header(const struct challenge *c, str path, enum credentials_verdict verdict,
                          const struct fault *why, struct buf *out);
