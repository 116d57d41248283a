// SPDX-License-Identifier: Apache-2.0
// Requests we sent and wait for: ids are minted here, so no two callers' replies can be mixed up; each has a
// deadline that progress may renew, up to a hard end.
#pragma once
#include "base/fault.h"
#include "base/map.h"
#include "io/timer.h"
#include "rpc/message.h"

struct rpc_wait;

struct rpc_pending {
  struct loop *loop;
  struct map waits;  // by id
  uint64_t next_id;
};

// One request in flight, embedded in whatever waits for it.
struct rpc_wait {
  struct rpc_pending *pending;  // NULL when it does not wait
  uint64_t id;
  struct timer timer;
  uint64_t renew_ms, max_ms, hard_end;
  const char *limit;  // the setting that its timeout is, for the message; may be set once it has started
  bool paused;
  // Called at most once; the wait is over before it is called. Exactly one of reply and f is not NULL.
  void (*done)(struct rpc_wait *w, const struct rpc_message *reply, const struct fault *f);
  // A progress notification for it. May be NULL.
  void (*progress)(struct rpc_wait *w, const struct rpc_message *notification);
};

void rpc_pending_init(struct rpc_pending *p, struct loop *l);
void rpc_pending_done(struct rpc_pending *p);  // nothing may wait any more

// Gives the wait an id and starts its clock. timeout_ms 0: none. max_ms: the hard end, 0: none.
void rpc_wait_start(struct rpc_pending *p, struct rpc_wait *w, uint64_t timeout_ms, uint64_t max_ms);

// Gives up waiting: no callback. Fine when it does not wait.
void rpc_wait_stop(struct rpc_wait *w);

// Starts its clock anew, up to its hard end.
void rpc_wait_renew(struct rpc_wait *w);
// Stops it, until it is renewed; its hard end stays.
void rpc_wait_pause(struct rpc_wait *w);

// Ends one with a fault, or all of them.
void rpc_wait_fail(struct rpc_wait *w, const struct fault *f);
void rpc_pending_fail(struct rpc_pending *p, const struct fault *f);

struct rpc_wait *rpc_pending_by_id(struct rpc_pending *p, uint64_t id);  // NULL when it waits no more
struct rpc_wait *rpc_pending_only(struct rpc_pending *p);                // NULL when there are none, or several

// Delivers a reply. False when nobody waits for it.
bool rpc_pending_reply(struct rpc_pending *p, const struct rpc_message *reply);

// A message that cannot be read is a reply to a request of ours, by its id: that request fails. False: it is not.
bool rpc_pending_malformed(struct rpc_pending *p, const struct json *value, const char *why);

// Delivers a progress notification by its token, which is our id. False when nobody waits for it.
bool rpc_pending_progress(struct rpc_pending *p, const struct rpc_message *notification);
