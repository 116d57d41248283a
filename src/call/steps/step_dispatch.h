// SPDX-License-Identifier: Apache-2.0
// The request goes out under an id of ours, and its answer comes back: the last, or one that asks for more.
#pragma once
#include "call/pipeline.h"

uint64_t call_timeout(const struct call *c);  // of its tool or server, as the configuration says
typedef void call_done(struct link_call *lc, const struct rpc_message *reply, const struct fault *f);

// A request to the call's upstream, to be sent by link_call_send.
void call_begin(struct call *c, call_done *done, uint64_t timeout_ms);
call_done call_on_done;

// Goes on after a while in which the lane may have gone: it is found anew, and then `next` sends.
void call_continue(struct call *c, void (*next)(struct call *c));
bool call_continues(const struct call *c);  // it has

// The upstream has answered the call: with what it is for, or with something that comes first.
void call_replied(struct call *c, const struct rpc_message *reply);
