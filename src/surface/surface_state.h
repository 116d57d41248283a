// SPDX-License-Identifier: Apache-2.0
// Private state of a surface and of its clients, for the files of this folder only.
#pragma once
#include "call/caller.h"
#include "catalog/directory/directory.h"
#include "catalog/naming/naming.h"
#include "catalog/seen.h"
#include "surface/surface.h"
#include "upstream/lane/watch.h"

struct surface {
  struct surface_options opt;
  struct mcp_server *server;
  struct upstreams *upstreams;
  struct call_context calls;
  struct list waiting;     // requests that wait for upstreams to start (wait.c)
  struct list index_jobs;  // search indexes that another thread is building (index_jobs.c)
  struct list viewings;    // views in progress (meta/results.c)
  uint64_t began;
  struct buf text;              // temporary text of lists and notifications
  struct buf answer;            // temporary text of the result of a meta-tool
  struct arena scratch;         // temporary memory, reset after each use
  struct directory *directory;  // the directory that was used last; NULL before the first use
  struct timer warm;            // builds the directory before a request needs it
  uint64_t refused;             // generation of the last rejected catalog; 0 if none was rejected
  struct timer changes;         // compares the next clients after a change of the catalog (changes.c)
  struct list visibilities;     // cached visibilities, least recently used first (visibility.c)
  struct map visibility_of;     // cached visibilities by key
  size_t visibility_bytes;
  struct list aliases;  // copies of the definitions of aliases (meta/aliases.c)
};

// The open subscriptions/listen request of a stateless client. The session of this request has no other requests.
struct listening {
  struct request *request;
  bool changes[ITEM_KINDS];  // the lists whose changes the client subscribed to
  bool waiting;              // waits for upstreams that are starting, which may have the requested resources
  bool acknowledged;
  size_t pending;  // number of subscriptions that the upstream has neither accepted nor refused yet
  struct timer patience;
};

// State of one session.
struct surface_client {
  struct surface *d;
  struct session *session;
  uint64_t opened_at;
  bool called;  // the client has called a meta-tool
  struct list subscriptions;
  size_t subscription_count;
  struct listening listening;
  struct seen seen;       // for cache_stable: cards shown since the last change of the visible lists
  struct catalog *shown;  // the catalog with which the client was last compared (changes.c)
  uint32_t *views;        // for each server: the bits of item.seen that the client's connections had in `shown`
  size_t view_count;
};

// Returns NULL before the session is attached to the surface, and after the session is closed.
static inline struct surface_client *surface_client(const struct session *s) {
  return s->surface;
}
