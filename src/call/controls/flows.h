// SPDX-License-Identifier: Apache-2.0
// Remembers which marks (govern/flow.h) each run has, and which calls gave the marks. The flow guard decides with them.
//
// A run is identified by a text. Runs that outlive a session are stored as entries of kind "flow" (store/shared.h), so
// that they survive a restart; the others end with their session. Memory is bounded: a run keeps few calls for each
// mark, a stored run is forgotten some time after its last marked call, and each principal has a fair share of all
// runs. A principal that has used up its share cannot begin another run.
#pragma once
#include "base/crypto/hash.h"
#include "govern/flow.h"
#include "store/shared.h"

struct flows;

struct flows *flows_new(const struct hash_key *seed);
void flows_free(struct flows **f);

// A call that gave marks to a run. `call` is the id of the governance decision about the call, or STR_NONE.
struct flow_call {
  unsigned marks;
  str server, tool;  // tool.p is NULL for an item that is not a tool
  str call;
};

enum { FLOW_CALLS_PER_MARK = 4, FLOW_CALLS = FLOW_CALLS_PER_MARK * FLOW_MARKS };

struct flow_run;

struct flow_name {
  str principal;
  str run;      // identifies the run among all runs of all principals
  bool stored;  // the run outlives its session
};

enum flow_found { FLOW_RUN_FOUND, FLOW_RUN_NO_ROOM, FLOW_RUN_UNREADABLE };

// Finds a run, or begins it. `now` is the loop time in milliseconds; `keep_ms` is the time after which a stored run is
// forgotten. On success sets *out, which stays valid until the next call of this module; calls of flow_run_* do not
// count. FLOW_RUN_UNREADABLE means that the stored run cannot be read, so the run may have any marks.
enum flow_found flows_get(struct flows *f, struct store *s, const struct flow_name *name, uint64_t now,
                          uint64_t keep_ms, struct flow_run **out);
void flows_forget(struct flows *f, str principal, str run);  // does nothing for an unknown run

unsigned flow_run_marks(const struct flow_run *r);
size_t flow_run_count(const struct flow_run *r);  // at most FLOW_CALLS
struct flow_call flow_run_call(const struct flow_run *r, size_t index);

// Adds a call to a run. For each mark, a run keeps the first calls of different tools. Returns true if the run must be
// stored again (flows_store), because it has changed or was stored long ago.
bool flows_add(struct flows *f, struct flow_run *r, const struct flow_call *c, uint64_t now, uint64_t keep_ms);
// `w` may be NULL.
void flows_store(struct store *s, struct flow_run *r, uint64_t now, uint64_t keep_ms, struct store_wait *w);
