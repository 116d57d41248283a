// SPDX-License-Identifier: Apache-2.0
// Translates a request's params, and its answer, between the eras. If client and server are of the same era, all bytes
// except names, ids and progress tokens are forwarded unchanged.
#pragma once
#include "call/pipeline.h"

// Writes the params for the upstream: with the upstream's names, the gateway's progress token, and in the upstream's
// revision. *out is valid until the next call. Returns false if the params exceed the limit on messages.
bool translate_params(struct call *c, str *out);

// Answers the request with an upstream's reply, in the client's revision. Frees the call.
void translate_reply(struct call *c, const struct rpc_message *reply);

// Writes a result made by the gateway in the client's revision.
void translate_made(struct call *c, const struct json *made, struct buf *out);

// Writes a stateless server's result in the form of a client with a session.
void translate_result(struct call *c, const struct json *result, struct buf *out);

// Writes the result of a server with a session in the form of a stateless client.
void translate_renewed(struct call *c, const struct json *result, struct buf *out);

// Returns the type of a stateless server's result; RESULT_COMPLETE for an error or another server.
enum result_type { RESULT_COMPLETE, RESULT_INPUT_REQUIRED, RESULT_TASK, RESULT_UNKNOWN };
enum result_type result_type(const struct call *c, const struct rpc_message *reply);
