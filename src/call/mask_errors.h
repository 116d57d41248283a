// SPDX-License-Identifier: Apache-2.0
// Masks secrets and addresses in the errors of servers before agents read them. call_said (call/calls.h) masks texts;
// mask_error masks whole JSON-RPC errors. For results and other messages see call/scrub.h.
#pragma once
#include "call/pipeline.h"

// Returns the beginning of a text on one line, with the known secrets masked.
str mask_line(struct arena *a, str text, const struct secrets_known *known);

// Returns the JSON-RPC error of `reply` with secrets and addresses masked, or the error itself if there is nothing to
// mask. An error that names URLs to open is not changed. An error that is too large to be searched is replaced by the
// masked beginning of its message.
const struct json *mask_error(struct call *c, const struct rpc_message *reply);
