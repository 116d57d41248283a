// SPDX-License-Identifier: Apache-2.0
// A client inside the gateway's process: an ordinary session without a connection, so that commands get the same
// answers as an agent. The client refuses every request of a server (sampling, elicitation, roots).
#pragma once
#include "mcp/server/session.h"

struct loopback;

// Receives the answer: exactly one of `result` and `f` is not NULL. The result is valid until the callback returns. The
// callback is called from the loop, never from inside loopback_request, and may send requests and free the loopback.
typedef void loopback_done(void *ctx, const struct json *result, const struct fault *f);

// Opens a session and starts the handshake. Requests may be sent immediately.
struct loopback *loopback_new(struct mcp_server *m, struct client_identity identity);

// Cancels requests in flight, without calling their callbacks. Sets *l to NULL; *l may be NULL.
void loopback_free(struct loopback **l);

// Sends a request. `params` is the text of a JSON object, or empty.
void loopback_request(struct loopback *l, str method, str params, loopback_done *done, void *ctx);

struct session *loopback_session(const struct loopback *l);
