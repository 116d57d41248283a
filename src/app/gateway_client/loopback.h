// SPDX-License-Identifier: Apache-2.0
// A client inside the gateway's own process: an ordinary session without a connection. So commands get the same answers
// as an agent.
//
// It refuses every request of a server (sampling, elicitation, roots).
#pragma once
#include "mcp/server/session.h"

struct loopback;

// Exactly one of result and f is not NULL; the result lives until the callback returns. Called from the loop, never
// from inside loopback_request. It may send further requests and free the loopback.
typedef void loopback_done(void *ctx, const struct json *result, const struct fault *f);

// Opens a session and starts the handshake. Requests may be sent at once.
struct loopback *loopback_new(struct mcp_server *m, struct client_identity identity);

// Cancels requests in flight without a callback. Sets *l to NULL; NULL is fine.
void loopback_free(struct loopback **l);

// params: a raw JSON object, or empty.
void loopback_request(struct loopback *l, str method, str params, loopback_done *done, void *ctx);

struct session *loopback_session(const struct loopback *l);
