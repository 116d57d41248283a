// SPDX-License-Identifier: Apache-2.0
// What differs between the eras in a request's params and in its answer. Where both sides are of the same, every byte
// is forwarded as it came but for names, ids and progress tokens.
#pragma once
#include "call/pipeline.h"

// The params that go to the upstream: in its names, with its progress token, in its revision. Valid until the next.
// False: they are larger than a message may be.
bool translate_params(struct call *c, str *out);

// Answers the request with an upstream's reply, in the client's revision. Frees the call.
void translate_reply(struct call *c, const struct rpc_message *reply);

// Writes a result of our own making in the client's revision.
void translate_made(struct call *c, const struct json *made, struct buf *out);

// Writes a stateless server's result as a client with a session wants it.
void translate_result(struct call *c, const struct json *result, struct buf *out);

// And that of a server with a session as a stateless client wants it.
void translate_renewed(struct call *c, const struct json *result, struct buf *out);

// What a stateless server's result says it is; RESULT_COMPLETE for errors, and for the results of other servers.
enum result_type { RESULT_COMPLETE, RESULT_INPUT_REQUIRED, RESULT_TASK, RESULT_UNKNOWN };
enum result_type result_type(const struct call *c, const struct rpc_message *reply);
