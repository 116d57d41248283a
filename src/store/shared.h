// SPDX-License-Identifier: Apache-2.0
// State shared by all gateways that use a folder: counters, leases, keys of actions that must happen only once, and
// entries (such as tickets, parked calls, approvals and queue items). Each operation is atomic, also across processes.
//
// When an operation calls `done`, store_wait.value and store_wait.bytes contain its result. STORE_PASSING means that
// only this process sees the change. STORE_LOST means that the change was rejected, for example because a name or text
// is too long, or because too many objects exist; `value` is then 0.
//
// Every counter, lease, key and entry has an end time (wall clock), and is treated as missing from that time on.
#pragma once
#include "base/arena.h"
#include "store/store.h"

enum {
  SHARED_NAME_BYTES = 1 << 10,  // maximum size of a name, a kind, an id, a key, or a holder
  SHARED_BYTES = 1 << 20,       // maximum size of an entry
  SHARED_MAX = 200000,          // maximum number of counters, of leases, of keys, and of the entries of each kind
  SHARED_COST = 200,            // bytes that count for an entry in addition to its text
};

// Adds `delta` to a counter. Result: the sum of all additions in the current time window. A window begins with its
// first addition and lasts window_ms.
void counter_add(struct store *s, str name, int64_t delta, uint64_t window_ms, struct store_wait *w);

// Takes or renews a lease for `ms` from now on; `ms` of 0 releases it. Result: 1, or 0 if another holder has the lease;
// `bytes` is then the name of that holder.
void lease_take(struct store *s, str name, str holder, uint64_t ms, struct store_wait *w);

// Lets an action happen only once: the result is 1 for the first call with `key`, and 0 for later calls until `ms`
// milliseconds after the first call.
void once(struct store *s, str key, uint64_t ms, struct store_wait *w);

// Entries of a kind are ordered by the time when they were first stored. Each change of an entry increases its version,
// which begins with 1.
//
// entry_put stores an entry, or replaces an existing entry with this id. Result: the new version.
void entry_put(struct store *s, str kind, str id, str bytes, uint64_t ms, struct store_wait *w);

// Stores an entry if there is no entry with this id. Result: 1, or 0 if there is one; `bytes` are then its bytes.
void entry_add(struct store *s, str kind, str id, str bytes, uint64_t ms, struct store_wait *w);

// Replaces an entry if it has this version. Result: the new version; or 0 if the entry has another version or does not
// exist. `bytes` are then its bytes, or empty.
void entry_replace(struct store *s, str kind, str id, int64_t version, str bytes, uint64_t ms, struct store_wait *w);

// Removes an entry and returns its bytes. If several callers take the same entry, only one gets it. An empty id takes
// the oldest entry of this kind. Result: 1, or 0 if there is no such entry.
void entry_take(struct store *s, str kind, str id, struct store_wait *w);

struct shared_entry {
  str id, bytes;
  uint64_t number;  // position in the order of its kind
  int64_t version;
  int64_t until_ms;  // wall clock
};

struct entry_search {
  struct store_read read;
  str id;          // empty: entries with any id
  uint64_t after;  // only entries with a higher number
  size_t limit;    // 0: SHARED_MAX
  // Called for each entry found; returns false to stop; must not use the store.
  bool (*each)(void *ctx, const struct shared_entry *e);
  void *ctx;
  str space;  // this member and the following ones are private
  size_t left;
  bool stopped;
};

// Calls x->each for each entry that matches. The caller sets all members of *x that are not private. An entry is valid
// during the call of x->each.
void entry_find(struct store *s, str kind, struct entry_search *x);
