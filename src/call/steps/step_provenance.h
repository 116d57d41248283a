// SPDX-License-Identifier: Apache-2.0
// How a result came about, where there is something to tell of it: arguments that were repaired, attempts that it took,
// that it was remembered. A meta-tool tells it in its envelope; a result that goes through as it is, in its _meta.
#pragma once
#include "call/pipeline.h"

str call_fault_details(struct call *c, const struct fault *f);  // of an upstream's: raw object; STR_NONE: nothing
str call_provenance(struct call *c);                            // members of an object, raw; STR_NONE: nothing to tell
const struct rpc_message *call_with_meta(struct call *c, const struct rpc_message *reply, str meta);  // another _meta
const struct rpc_message *call_read_again(struct call *c, str text);  // a reply that was changed, in the arena; or NULL
