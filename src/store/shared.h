// SPDX-License-Identifier: Apache-2.0
// State that all gateways of a folder share: counters, leases, keys of actions that happen once, and entries (tickets,
// parked calls, approvals, items of a queue). Each operation is atomic, also among processes.
//
// The result is in store_wait.value, and store_wait.bytes, when `done` is called. STORE_PASSING: only this process
// sees it. STORE_LOST: a name or text is too long, or SHARED_MAX things exist; value is 0.
//
// Everything has an end, by the wall clock; from then on it does not exist.
#pragma once
#include "base/arena.h"
#include "store/store.h"

enum {
  SHARED_NAME_BYTES = 1 << 10,  // of a name, a kind, an id, a key, a holder
  SHARED_BYTES = 1 << 20,       // of an entry
  SHARED_MAX = 100000,          // things that exist at a time
};

// value: the sum of this window with delta in it. A window begins with the first addition and lasts window_ms.
void counter_add(struct store *s, str name, int64_t delta, uint64_t window_ms, struct store_wait *w);

// value: 0 if another holder has the lease, which `bytes` names; else 1, and `holder` has it for `ms` from now on. ms 0
// releases it.
void lease_take(struct store *s, str name, str holder, uint64_t ms, struct store_wait *w);

// value: 1 if `key` is new, and nothing else gets 1 for it within `ms`; else 0.
void once(struct store *s, str key, uint64_t ms, struct store_wait *w);

// Entries of a kind are in the order in which they were first put. One that exists is replaced as a whole and keeps its
// place. value: 1.
void entry_put(struct store *s, str kind, str id, str bytes, uint64_t ms, struct store_wait *w);

// Removes an entry and returns its bytes, to one caller only. An empty id: the oldest entry of this kind. value: 1, or
// 0 if no entry exists.
void entry_take(struct store *s, str kind, str id, struct store_wait *w);

struct shared_entry {
  str id, bytes;
  uint64_t number;   // in the order of the kind
  int64_t until_ms;  // wall clock
};

struct entry_search {
  struct store_read read;
  str id;                                                 // empty: all
  uint64_t after;                                         // only entries with a higher number
  size_t limit;                                           // 0: SHARED_MAX
  bool (*each)(void *ctx, const struct shared_entry *e);  // false stops; must not use the store
  void *ctx;
  str space;  // private, as is the rest
  size_t left;
  bool stopped;
};

// The caller sets all that is not private. An entry lives as long as the call of `each`.
void entry_find(struct store *s, str kind, struct entry_search *x);
