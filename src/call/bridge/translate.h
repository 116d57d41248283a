// SPDX-License-Identifier: Apache-2.0
// Translates a request's params, and its answer, between protocol revisions with and without sessions. If client and
// server need no translation, all bytes except names, ids and progress tokens are forwarded unchanged.
#pragma once
#include "call/pipeline.h"

// Writes the params for the upstream, in the upstream's revision, with the upstream's name of the target and with the
// gateway's progress token. *out is valid until the next call of this function. Returns false if the params exceed
// limits.message.
bool translate_params(struct call *c, str *out);

// Answers the request with an upstream's reply, in the client's revision. Frees the call.
void translate_reply(struct call *c, const struct rpc_message *reply);

// Writes a result that the gateway has made, in the client's revision.
void translate_made(struct call *c, const struct json *made, struct buf *out);

// Writes a server's result for a client with a session.
void translate_result(struct call *c, const struct json *result, struct buf *out);

// Writes a server's result for a stateless client.
void translate_renewed(struct call *c, const struct json *result, struct buf *out);

enum result_type { RESULT_COMPLETE, RESULT_INPUT_REQUIRED, RESULT_TASK, RESULT_UNKNOWN };
// Returns the type of a stateless server's result. Returns RESULT_COMPLETE for errors, and for replies of servers with
// a session.
enum result_type result_type(const struct call *c, const struct rpc_message *reply);
