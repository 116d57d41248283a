// SPDX-License-Identifier: Apache-2.0
// Idempotency keys: a call with a key has its effect at most once, also across crashes and gateways.
//
// A claim is an entry of the store (kind "idem"), which is named by tenant, capability and key. Its states:
//
//   in_flight  a gateway has sent the call, or is about to send it
//   open       the server has answered that it did not carry out the call: the call may be sent again
//   done       the call has ended; the entry has its outcome
//   unknown    the call was sent, and its outcome is not known: the effect may have happened
//
// A claim is stored before the call is sent, and its outcome before the call is answered. An in_flight entry of a
// gateway that no longer lives counts as unknown. A claim of this process is also in memory until its outcome is
// stored, so that other calls with the same key can wait for it.
#pragma once
#include "effect/gateways.h"
#include "store/shared.h"
#include "json/write.h"

struct idempotency;
struct claim;

enum {
  IDEMPOTENCY_KEY_MAX = 256,           // maximum bytes of a key
  IDEMPOTENCY_RESULT_MAX = 256 << 10,  // larger results are not stored
  CLAIM_HEX = 2 * SHA256_SIZE + 1,
};

struct idempotency_options {
  struct loop *loop;
  struct store *store;  // both must outlive the idempotency
  struct gateways *gateways;
};

struct idempotency *idempotency_new(const struct idempotency_options *opt);
// Must be called after all calls have ended. Calls `stopped`, from the loop, when no claim is being stored any more;
// the store may then be closed.
void idempotency_stop(struct idempotency *i, void (*stopped)(void *ctx), void *ctx);
void idempotency_free(struct idempotency **i);

// Finds entries of gateways that have ended without settling them, and makes them unknown. Reads in small portions, in
// later turns of the loop. Does nothing if no gateway has ended so.
void idempotency_recover(struct idempotency *i);

// Begins a new search, and returns whether it has not ended yet.
bool idempotency_recovers(struct idempotency *i);

#define IDEMPOTENCY_META STR("io.toolgate/idempotency_key")  // member of a request's _meta that has the key

// Returns whether a text may be a key: it must have 1 to IDEMPOTENCY_KEY_MAX bytes and no control characters.
bool idempotency_is_key(str key);

// ---- names

// The call that a claim is about, for records and for people.
struct claim_call {
  str tenant, agent, server, tool, capability, key;
  str tool_call_id;
  str args;  // raw JSON, or STR_NONE
};

struct claim_name {
  char id[CLAIM_HEX];           // of the entry
  char fingerprint[CLAIM_HEX];  // of the arguments
  str owner;                    // the caller; only the same caller gets the outcome
};

// Sets the fingerprint: SHA-256 of the canonical form (RFC 8785) of the arguments without the member `key_member`, or
// of all arguments if it is STR_NONE. `args` is an object or NULL.
void claim_fingerprint(struct idempotency *i, const struct json *args, str key_member, char out[CLAIM_HEX]);
// Sets the id: SHA-256 of tenant (may be empty), capability and key.
void claim_id(struct idempotency *i, str tenant, str capability, str key, char out[CLAIM_HEX]);

// ---- looking up

enum claim_found {
  CLAIM_FREE,         // *out is the new claim, which is not stored yet
  CLAIM_IS_DONE,      // *record has the outcome
  CLAIM_IS_UNKNOWN,   // *record has what is known; *out is a new claim, as for CLAIM_FREE
  CLAIM_HERE,         // a call of this process holds the claim *out: see claim_await
  CLAIM_ELSEWHERE,    // a call of another gateway holds the claim
  CLAIM_OTHER_ARGS,   // the key was used with other arguments
  CLAIM_OTHER_OWNER,  // the key was used by another caller
  CLAIM_UNREADABLE,   // the store does not answer
};

enum claim_state { CLAIM_IN_FLIGHT, CLAIM_OPEN, CLAIM_DONE, CLAIM_UNKNOWN };

// The contents of an entry. Texts are raw JSON if their comment says so, and STR_NONE if absent.
struct claim_record {
  enum claim_state state;
  str fingerprint, owner, gateway, reason;
  str call;           // raw: the members of struct claim_call
  str tool_call_id;   // of the first call
  int64_t at, until;  // wall clock: when the call began, and when it can no longer run at the server
  // of a call that is done; if result, error and answer are absent, the outcome was not stored
  str result, error;  // raw: of the server
  str answer;         // raw: the gateway's answer, if it is not made from the server's result
  str hash;           // SHA-256 of the result
  bool failed;        // the tool reported an error
  bool stateless;     // the outcome has the form of a stateless server or, with `answer`, for a stateless client
  bool as_task;       // the client got the result as a completed task
};

// Looks up a claim; `record` is in the arena. With `any_owner`, the caller may be another one.
enum claim_found claim_find(struct idempotency *i, const struct claim_name *n, bool any_owner, struct arena *a,
                            struct claim **out, struct claim_record *record);

// Waits for the end of a claim or of a write; embedded in the struct that waits.
enum claim_kept {
  CLAIM_KEPT,    // stored; for claim_await: the claim has ended
  CLAIM_TAKEN,   // another gateway holds the claim; this claim no longer exists
  CLAIM_UNKEPT,  // cannot be stored
};
struct claim_wait {
  struct list node;
  void (*go)(struct claim_wait *w, enum claim_kept kept);
};
void claim_wait_init(struct claim_wait *w, void (*go)(struct claim_wait *w, enum claim_kept kept));
static inline bool claim_waiting(const struct claim_wait *w) {
  return !list_empty(&w->node);
}
static inline void claim_wait_cancel(struct claim_wait *w) {
  list_remove(&w->node);
}

// Calls w->go when the claim, which another call of this process holds, has ended. Look it up again then.
void claim_await(struct claim *c, struct claim_wait *w);

// ---- a claim of this process

// Stores the claim. `until` is the wall clock time at which the call can no longer run. With CLAIM_TAKEN and
// CLAIM_UNKEPT the claim no longer exists. Returns false, and does nothing, if other gateways could not see that this
// gateway lives; f has the reason.
bool claim_store(struct claim *c, const struct claim_call *call, int64_t until, struct claim_wait *w, struct fault *f);

// Each of the following functions ends the claim: the caller must not use it again. `w` may be NULL.

// Nothing was sent. An entry that was there before the claim stays as it was.
void claim_release(struct claim *c);
// Stores the outcome: its state, and what belongs to the state. `keep_ms`: lifetime of an outcome that is not unknown.
// If the outcome cannot be stored, it stays in memory, and is stored later.
void claim_settle(struct claim *c, const struct claim_record *outcome, uint64_t keep_ms, struct claim_wait *w);
// Stores what has become known about an earlier call whose outcome is unknown: it is done, or still unknown. `record`
// is that of claim_find.
void claim_conclude(struct claim *c, enum claim_state state, const struct claim_record *record, uint64_t keep_ms);

str claim_entry_id(const struct claim *c);

// Writes the id of the dead letter about a claim.
void claim_letter_id(str id, char out[]);

// ---- for people

// Like idempotency_recover, but ends before it returns. For commands.
void idempotency_recover_now(struct store *s, const struct gateways *g);

// Returns whether the outcome of the entry `id` is unknown, or cannot be found out.
bool idempotency_is_unknown(struct store *s, const struct gateways *g, str id);

// Stores a person's decision about the entry `id`, whose outcome is unknown: whether the effect happened. If not, the
// call may be sent again. Returns false, with the reason in f, if the outcome of the entry is known. The value of
// `w` is 0 if the entry was changed in between.
bool idempotency_resolve(struct store *s, const struct gateways *g, str id, bool happened, uint64_t keep_ms,
                         struct store_wait *w, struct fault *f);
