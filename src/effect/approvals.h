// SPDX-License-Identifier: Apache-2.0
// All requests for approval (effect/approval.h) of a state folder, which several gateways may share.
//
// The store has the records. Every change replaces a record only if nobody else has changed it since it was read. So of
// two approvers, two gateways, or an approval and the end of the request's time, exactly one is first. A change counts
// only when it is durable: if the store cannot keep it, the operation fails with EFFECTS_UNAVAILABLE.
//
// Operations end with one call of `done`, from the loop and never before the operation's function has returned: with
// the request, or with a fault if `x` is NULL. The request is valid during the call.
#pragma once
#include "effect/approval.h"
#include "io/loop.h"
#include "store/store.h"

struct approvals;
struct approvals_op;  // an operation; frees itself at its end

enum {
  APPROVALS_MAX = 10000,           // maximum number of pending and approved requests
  APPROVALS_PRINCIPAL_MAX = 1000,  // maximum number of such requests of one principal
};

struct approvals_options {
  struct loop *loop;
  struct store *store;  // must outlive the approvals
  str folder;           // state folder with the gateway's key; empty: none
};

// Reads the open requests of the store. Requests that another process was executing when it ended become `unknown`.
struct approvals *approvals_new(const struct approvals_options *opt);
// Queues the changes that were begun. `done` of open operations is not called.
void approvals_free(struct approvals **a);

typedef void approvals_done(void *ctx, const struct approval *x, const struct fault *f);
// Prevents the call of `done`; a change that was begun still happens. Sets *op to NULL, which it may be already.
void approvals_cancel(struct approvals_op **op);

// ---- for the callers of tools

// Stores a new request. `draft` has all members but request_id, state, times, hashes of the call, and history; it is
// copied. `ttl_ms` is the lifetime. If the caller has an open or denied request for an identical call, `done` gets that
// request. Fails with RATE_LIMITED if too many requests are open.
struct approvals_op *approvals_propose(struct approvals *a, const struct approval *draft, uint64_t ttl_ms,
                                       approvals_done *done, void *ctx);

// Returns the id of the open or denied request for an identical call (approval_hash_same), or STR_NONE.
str approvals_find_same(const struct approvals *a, str same);

// Returns the id of the request of an identical call that this gateway is executing, or STR_NONE.
str approvals_find_executing(const struct approvals *a, str same);

// Finds a request. If `owner` is not STR_NONE, requests of other callers do not exist (APPROVAL_INVALID).
struct approvals_op *approvals_find(struct approvals *a, str id, str owner, approvals_done *done, void *ctx);

// Marks an approved request as executing. Succeeds only once; otherwise fails with the fault of the request's state.
struct approvals_op *approvals_redeem(struct approvals *a, str id, approvals_done *done, void *ctx);

// Records how an execution of this gateway ended. `done` may be NULL.
struct approval_end {
  enum approval_state state;  // completed, failed or unknown
  str code;                   // of the fault, or STR_NONE
  str result;                 // raw JSON, or STR_NONE; not stored if it is longer than APPROVAL_RESULT_MAX
  bool stateless;             // the server of the result is stateless
};
struct approvals_op *approvals_end(struct approvals *a, str id, const struct approval_end *end, approvals_done *done,
                                   void *ctx);

// Ends a pending or approved request: withdrawn, or invalidated with the code of the reason.
void approvals_withdraw(struct approvals *a, str id, str why);
void approvals_invalidate(struct approvals *a, str id, str code);
void approvals_withdraw_session(struct approvals *a, str session);  // of this session (struct approval.session)

// Sets `f` to the fault with which the execution of a request in this state is refused.
void approvals_refuse(const struct approval *x, struct fault *f);

// Calls `changed` after each change of a request, at most about a second late if another gateway has made the change.
// The caller must stop the watch before it frees it.
struct approvals_watch {
  struct list node;
  struct approvals *of;
  char id[APPROVAL_ID_SIZE];
  enum approval_state known;
  void (*changed)(struct approvals_watch *w);
};
void approvals_watch(struct approvals *a, struct approvals_watch *w, const struct approval *x,
                     void (*changed)(struct approvals_watch *w));
void approvals_unwatch(struct approvals_watch *w);  // does nothing if `w` is zero or not watching

// ---- for approvers and administrators

// Decides about a request. The caller must have authenticated the approver and the role.
struct approvals_op *approvals_decide(struct approvals *a, str id, const struct approval_vote *v, approvals_done *done,
                                      void *ctx);

// Selects requests. STR_NONE: any.
struct approvals_filter {
  bool open;  // only pending and approved requests
  str tenant, agent, capability, role, status;
};

// Calls `each` for the requests that match, oldest first, until it returns false; then calls `done` with x = NULL, and
// f = NULL unless the store cannot be read. `each` must not use the approvals.
struct approvals_op *approvals_list(struct approvals *a, const struct approvals_filter *filter,
                                    bool (*each)(void *ctx, const struct approval *x), approvals_done *done, void *ctx);

// Receives every change that this gateway makes.
struct approvals_change {
  const struct approval *request;
  enum approval_state before;        // APPROVAL_STATE_COUNT: the request is new
  const struct approval_vote *vote;  // the decision, or NULL
};
struct approvals_listener {
  struct list node;
  void (*changed)(struct approvals_listener *l, const struct approvals_change *c);
};
void approvals_listen(struct approvals *a, struct approvals_listener *l);
void approvals_unlisten(struct approvals_listener *l);

str approvals_gateway(const struct approvals *a);  // the name of this gateway in records (struct approval.gateway)
const struct gateway_key *approvals_key(struct approvals *a, struct fault *f);  // NULL: the key cannot be used
size_t approvals_open(const struct approvals *a);  // number of pending and approved requests that this gateway knows
void approvals_write_metrics(const struct approvals *a, struct buf *out);
