// SPDX-License-Identifier: Apache-2.0
// Between the files of this surface; not for others.
#pragma once
#include "call/caller.h"
#include "catalog/directory/directory.h"
#include "catalog/naming/naming.h"
#include "catalog/seen.h"
#include "result/artifacts.h"
#include "surface/surface.h"
#include "upstream/lane/watch.h"

// What an agent may see of a catalog: worked out when it is first needed, and kept while there is room.
struct visibility {
  struct visibility_key {
    struct policy *policy;
    const struct policy_agent *agent;
    uint64_t generation;  // of the catalog
  } key;
  struct list node;  // in `sights`
  size_t bytes;
  uint64_t *bits[ITEM_KINDS];
  struct naming_own *own;  // what the names of what it sees are, where they are not the catalog's
};
enum { VISIBILITIES_BYTES = 32 << 20 };

struct surface {
  struct surface_options opt;
  struct mcp_server *server;
  struct upstreams *upstreams;
  struct call_context calls;
  struct list waiting;     // requests that wait for upstreams to start
  struct list index_jobs;  // indexes that another thread builds (index_jobs.c)
  struct list viewings;    // views that another thread is at work on
  uint64_t began;
  struct buf text;              // scratch for lists and notifications
  struct buf answer;            // of a meta-tool
  struct arena scratch;         // reset after each use
  struct directory *directory;  // of the catalog when it was last needed; NULL: not yet
  struct timer warm;            // makes it before it is asked for
  uint64_t refused;             // the generation of a catalog that was not taken; 0: none
  struct timer changes;         // compares the next clients after a change of the catalog (changes.c)
  struct list visibilities;     // the one that was not used for the longest time first
  struct map visibility_of;     // by sight.key
  size_t visibility_bytes;
};

// What a stateless client listens to; its session has nothing else to do.
struct listening {
  struct request *request;
  bool changes[ITEM_KINDS];  // of these lists
  bool waiting;              // for servers that are starting, and may have what it names
  bool acknowledged;
  size_t pending;  // subscriptions that are not settled yet
  struct timer patience;
};

// What this surface keeps for a session.
struct client {
  struct surface *d;
  struct session *session;
  uint64_t opened_at;
  bool called;  // a meta-tool
  struct list subscriptions;
  size_t subscription_count;
  struct listening listening;
  struct seen seen;       // cache_stable: what it was shown since something was another that it sees
  struct catalog *shown;  // the catalog that it was compared with last (changes.c)
  uint32_t *views;        // and what its connections showed of it (bits of item.seen), by source
  size_t view_count;
};

struct client *surface_client(const struct session *s);
// Until when a request of this session may wait for upstreams that are starting.
uint64_t surface_wait_until(void *surface, const struct session *s);
// Where the page of a list ends that begins at `at`: the operator's lists have one page.
size_t surface_page_end(const struct surface *d, const struct session *s, size_t at, size_t count);
str surface_operation(const struct surface *d, const struct request *r);  // the meta-tool that it calls; STR_NONE: none
