// SPDX-License-Identifier: Apache-2.0
// Requests of the gateway that wait for a reply. Ids are assigned here, so that replies to different callers cannot be
// confused. Each request has a timeout, which progress notifications restart, and a hard deadline.
#pragma once
#include "base/fault.h"
#include "base/map.h"
#include "io/timer.h"
#include "rpc/message.h"

struct rpc_pending {
  struct loop *loop;
  struct map waits;  // by id
  uint64_t next_id;
};

// One request in flight, embedded in the struct that waits for it.
struct rpc_wait {
  struct rpc_pending *pending;  // NULL if this request is not waiting
  uint64_t id;
  struct timer timer;
  uint64_t renew_ms, max_ms, hard_end;
  const char *limit;  // name of the timeout setting, for error messages; may be set after rpc_wait_start
  bool paused;
  // Called at most once, when the wait has ended. On success, `f` is NULL; on failure, `reply` is NULL.
  void (*done)(struct rpc_wait *w, const struct rpc_message *reply, const struct fault *f);
  // Called for each progress notification. May be NULL.
  void (*progress)(struct rpc_wait *w, const struct rpc_message *notification);
};

void rpc_pending_init(struct rpc_pending *p, struct loop *l);
void rpc_pending_done(struct rpc_pending *p);  // must be called when no request waits any more

// Assigns an id to the request, and starts the timeout (timeout_ms) and the deadline (max_ms). 0 means no limit.
void rpc_wait_start(struct rpc_pending *p, struct rpc_wait *w, uint64_t timeout_ms, uint64_t max_ms);

// Ends the wait without calling `done`. Has no effect if the request is not waiting.
void rpc_wait_stop(struct rpc_wait *w);

// Restarts the timeout. The deadline still applies.
void rpc_wait_renew(struct rpc_wait *w);
// Stops the timeout until rpc_wait_renew. The deadline still applies.
void rpc_wait_pause(struct rpc_wait *w);

// rpc_wait_fail ends one wait with a fault; rpc_pending_fail ends all waits with a fault.
void rpc_wait_fail(struct rpc_wait *w, const struct fault *f);
void rpc_pending_fail(struct rpc_pending *p, const struct fault *f);

// Returns NULL if no waiting request has this id.
struct rpc_wait *rpc_pending_by_id(struct rpc_pending *p, uint64_t id);
struct rpc_wait *rpc_pending_only(struct rpc_pending *p);  // returns NULL unless exactly one request waits

// Delivers a reply. Returns false if no request waits for it.
bool rpc_pending_reply(struct rpc_pending *p, const struct rpc_message *reply);

// Handles a malformed reply `value`: ends the wait of the request with this reply's id, with a fault. `why` says what
// is wrong with the reply. Returns false if no request with this id waits.
bool rpc_pending_malformed(struct rpc_pending *p, const struct json *value, const char *why);

// Delivers a progress notification to the request whose id is the notification's progress token. Returns false if no
// such request waits.
bool rpc_pending_progress(struct rpc_pending *p, const struct rpc_message *notification);
