// SPDX-License-Identifier: Apache-2.0
// A client of our own gateway, inside this process: a session like any other, without a wire. What the commands ask is
// thus what an agent would be answered.
//
// It can do nothing that servers ask of clients: whatever they ask is refused.
#pragma once
#include "mcp/server/session.h"

struct loopback;

// Exactly one of result and f is not NULL; the result lives until this returns. Called from the loop, never from inside
// loopback_request: it may make further requests and close the loopback.
typedef void loopback_done(void *ctx, const struct json *result, const struct fault *f);

// Opens a session and does the handshake. Requests may be made at once.
struct loopback *loopback_new(struct mcp_server *m, struct client_identity who);

// What is under way is cancelled, without a callback. Sets *l to NULL; NULL is fine.
void loopback_free(struct loopback **l);

// params: a raw JSON object, or empty.
void loopback_request(struct loopback *l, str method, str params, loopback_done *done, void *ctx);

// Whose it is, for those that ask what a client of that sort would see.
struct session *loopback_session(const struct loopback *l);
