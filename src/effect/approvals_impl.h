// SPDX-License-Identifier: Apache-2.0
// Internals of the requests for approval, for approvals*.c only.
#pragma once
#include "base/map.h"
#include "base/shares.h"
#include "effect/approvals.h"
#include "store/shared.h"

enum { APPROVALS_MAGIC = 0x6170706c, APPROVALS_BOUNDS = 12 };

// Counters since the start.
struct approvals_counts {
  uint64_t ends[APPROVAL_STATE_COUNT];  // changes to each state
  uint64_t proposed;
  uint64_t waits[APPROVALS_BOUNDS + 1], wait_count, wait_ms;  // from the proposal to the last decision
};

struct approvals {
  uint32_t magic;
  struct approvals_options opt;
  struct gateway_key *key;     // NULL until it is first needed
  char gateway[RAND_ID_SIZE];  // name of this process in records
  struct map by_id, by_same;   // struct known_request
  struct list known;
  struct shares shares;  // of pending and approved requests, by principal
  struct list ops, listeners, watches;
  struct timer poll;
  struct entry_search loading;
  bool loaded;
  struct approvals_counts counts;
};

// A request that this gateway knows: open, or denied and not yet forgotten. The store has the current state.
struct known_request {
  struct list node;
  struct approvals *of;
  struct share *share;  // NULL if the request is neither pending nor approved
  struct list by_share;
  struct timer end;  // the end of the request's lifetime, measured by the monotonic clock
  enum approval_state state;
  bool storing;         // the record is not in the store yet
  struct list waiting;  // operations that wait until it is
  bool named;           // in by_same
  char id[APPROVAL_ID_SIZE], same[APPROVAL_HASH_SIZE], session[APPROVAL_HASH_SIZE];
};

enum op_kind {
  OP_FIND,
  OP_PROPOSE,
  OP_VOTE,
  OP_REDEEM,
  OP_END,
  OP_WITHDRAW,
  OP_INVALIDATE,
  OP_EXPIRE,
  OP_LOSE,
  OP_LIST
};

struct approvals_op {
  struct list node;  // in approvals.ops, or in known_request.waiting
  struct approvals *of;
  enum op_kind kind;
  struct deferred start;
  struct entry_search search;
  struct store_wait wait;
  struct arena arena;
  approvals_done *done;  // NULL: nobody waits
  void *ctx;
  unsigned tries;
  bool reading;  // a read is in flight: the operation cannot be freed
  bool orphan;   // the approvals were freed meanwhile
  // parameters
  str id, owner, why;
  struct approval_vote vote;
  struct approval_end end;
  uint64_t ttl_ms;
  struct approvals_filter filter;
  bool (*each)(void *ctx, const struct approval *x);
  // the record
  bool found, readable;
  int64_t version;
  struct approval request;
  enum approval_state before;
  struct fault fault;  // code FAULT_NONE: none
};

static inline int64_t approvals_now(const struct approvals *a) {
  return clock_wall_ms(a->opt.loop->clock);
}

// ---- approvals_change.c

enum approvals_verdict { CHANGE_STORES, CHANGE_STAYS, CHANGE_FAILS };

// Changes op->request as the operation says. With CHANGE_STORES, the record must be stored; the operation has failed if
// op->fault is set. With CHANGE_FAILS, op->fault has the reason.
enum approvals_verdict approvals_change(struct approvals_op *op);
bool approvals_is_over(const struct approvals *a, const struct approval *x);  // the request has expired

// ---- approvals_known.c

struct known_request *known_find(const struct approvals *a, str id);
// Adds a request, whose lifetime ends after `ms`.
struct known_request *known_add(struct approvals *a, const struct approval *x, uint64_t ms);
void known_set(struct known_request *k, enum approval_state s);
void known_drop(struct known_request *k);
bool known_has_room(const struct approvals *a, str principal, struct fault *f);
bool known_is_over(const struct known_request *k);  // the lifetime has ended
// Adds a request that was read from the store, if it is open and not known yet.
void known_adopt(struct approvals *a, const struct approval *x);

// Takes over the state of a record that was read or stored, and wakes the watches if it has changed.
void approvals_seen(struct approvals *a, const struct approval *x);
void approvals_forget(struct approvals *a, str id);  // the store has no such record

// ---- approvals.c

void approvals_load(struct approvals *a);
void approvals_expire(struct approvals *a, str id);
void approvals_lose(struct approvals *a, str id);  // the gateway that executed the call has ended

// ---- approvals_watch.c

void approvals_watch_init(struct approvals *a);
void approvals_watch_done(struct approvals *a);
void approvals_wake(struct approvals *a, const struct approval *x);
void approvals_changed(struct approvals *a, const struct approvals_change *c);  // counts, and calls the listeners
