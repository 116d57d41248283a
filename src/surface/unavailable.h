// SPDX-License-Identifier: Apache-2.0
// Reports, for the meta-tools, the servers whose definitions are unknown because the servers are starting or have
// failed.
#pragma once
#include "mcp/server/session.h"

struct surface;
struct lane;
struct upstream_spec;

// Returns whether this client may use a server that has not listed its definitions yet. Sets *out_lane to the lane of
// the server, or NULL.
bool meta_is_unavailable(struct surface *d, const struct session *s, unsigned source, const struct lane **out_lane);

// Returns the reason why a server is unavailable, for the client; empty for a server that is starting without reporting
// progress.
str meta_unavailable_reason(const struct lane *lane, const struct upstream_spec *spec, struct arena *a);

// Reports the servers that are starting or, if `starting` is false, that failed. Appends a line with as many names as
// fit, so that the whole text has at most most_tokens tokens. Adds the member `starting` or `unavailable` to the JSON.
void meta_put_unavailable(struct surface *d, struct request *r, bool starting, size_t most_tokens, struct buf *text,
                          struct json_writer *w);

// Returns whether a namespace belongs to a server that this client may use, that is starting, and whose definitions are
// unknown.
bool meta_is_starting(struct surface *d, const struct session *s, str namespace, unsigned *out_source);

// Details of a fault that a starting server causes; retry_after is in seconds.
#define META_STARTING_DETAILS STR("{\"reason\":\"starting\",\"retry_after\":2}")
enum { META_STARTING_RETRY_S = 2 };
