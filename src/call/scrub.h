// SPDX-License-Identifier: Apache-2.0
// Masks secrets in messages of servers other than results: notifications, progress, questions, and answers about tasks.
// (step_firewall masks results.) Secrets are masked if result.scrub is set; in errors, secrets and addresses are always
// masked. A message that cannot be masked is not passed on.
//
// Also removes hidden characters (text/hidden.h) from all messages of servers, including results, unless
// result.hidden_characters allows them.
#pragma once
#include "call/pipeline.h"

// Returns a server's message without hidden characters: `m`, or a copy in the arena. Returns NULL if the copy is not a
// valid message. Hidden characters in a large message were already removed when the message was parsed.
const struct rpc_message *calls_unhide(const struct call_context *x, const struct rpc_message *m, struct arena *a);

// Removes hidden characters from a result that the gateway has made, because it may quote texts of a server.
void calls_unhide_text(const struct call_context *x, struct buf *result);

// Returns a stateless server's reply with questions: a copy in the request's arena in which secrets are masked, or
// `reply` itself if result.scrub is not set or there is nothing to mask. Returns NULL if the questions cannot be
// masked.
const struct rpc_message *call_scrub_questions(struct call *c, const struct rpc_message *reply);

// `reply` is an error that names URLs to open (RPC_URL_NEEDED). Returns the error with secrets and addresses masked,
// except in these URLs, or NULL if the error cannot be masked.
const struct rpc_message *call_scrub_url_needed(struct call *c, const struct rpc_message *reply);

// Returns a raw result with secrets masked. Used for results that do not pass through step_firewall. Returns STR_NONE
// if the result is too large to be searched for secrets.
str call_scrubbed(struct call *c, str result);
