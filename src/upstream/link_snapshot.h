// SPDX-License-Identifier: Apache-2.0
// A link to a server that is a file (upstream/snapshot.h): one more transport, with the server in this process. It
// speaks the newest revision with a handshake, and answers from the loop, as any server would. What it is called with
// and has no reply for, it answers with a sentence that says so: nothing is ever carried out.
#pragma once
#include "mcp/link.h"
#include "upstream/snapshot.h"

// The snapshot must outlive the link.
struct link *link_new_snapshot(const struct link_options *opt, const struct snapshot *s, const struct link_events *ev,
                               void *ctx);
