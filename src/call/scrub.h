// SPDX-License-Identifier: Apache-2.0
// Masks messages of a server other than results: notifications, progress, questions, and answers about tasks. With
// result.scrub, their secrets are masked; in errors, secrets and addresses are always masked. step_firewall masks
// results. A message that cannot be masked is not passed on. Also removes hidden characters (text/hidden.h) from all
// messages of a server, including results, unless result.hidden_characters allows them.
#pragma once
#include "call/pipeline.h"

// Returns a message of a server without hidden characters: m, or a copy in the arena. From a large message, they were
// removed when it was parsed. NULL if the copy cannot be read.
const struct rpc_message *calls_unhide(const struct call_context *x, const struct rpc_message *m, struct arena *a);

// Removes hidden characters from the texts of a result of the gateway, which may quote data of a server.
void calls_unhide_text(const struct call_context *x, struct buf *result);

// Returns a stateless server's questions with their secrets masked, if results are scrubbed; in the request's arena.
// NULL if they cannot be masked.
const struct rpc_message *call_scrub_questions(struct call *c, const struct rpc_message *reply);

// Returns an error that names URLs to open (RPC_URL_NEEDED) with secrets and addresses masked outside of these URLs.
// NULL if it cannot be masked.
const struct rpc_message *call_scrub_url_needed(struct call *c, const struct rpc_message *reply);

// Masks a raw result that does not pass through step_firewall. Returns STR_NONE if it is too large to be searched.
str call_scrubbed(struct call *c, str result);
