// SPDX-License-Identifier: Apache-2.0
// Masks secrets and addresses in the errors of servers before agents read them: call_said (call/calls.h) in texts,
// mask_error in whole errors. call/scrub.h masks results and other messages.
#pragma once
#include "call/pipeline.h"

// Returns the beginning of a text on one line. Known secrets are masked first, since they may have line breaks.
str mask_line(struct arena *a, str text, const struct secrets_known *known);

// Returns the error without secrets and addresses, or the error itself if it has no secrets. An error with URLs to open
// stays unchanged. An error that is too large to be searched becomes its masked beginning.
const struct json *mask_error(struct call *c, const struct rpc_message *reply);
