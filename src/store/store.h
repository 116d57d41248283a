// SPDX-License-Identifier: Apache-2.0
// Data that outlives the process, in a folder that only its owner can read. A backend (store/backend.h) keeps it: by
// default one SQLite database, with files beside it for large data.
//
// One thread writes. It takes all waiting writes at once, in one transaction and with one sync of the disk; callbacks
// run afterwards, on the loop, in the order of the writes. Reads begin and end on the loop. Several processes may share
// a folder: the disk has the truth, memory does not.
//
// Without a folder everything is kept in memory, with the same bounds and by the same rules. A folder that cannot be
// used (damaged, of a newer version, read-only, full) is reported by one line in the log that says what to do; the data
// is then kept in memory, and the callback of the write says so.
//
// It keeps pieces of results (store/pieces.h), records and documents (store/archive.h), and state that
// gateways share: counters, leases, keys, entries (store/shared.h).
#pragma once
#include "base/fault.h"
#include "io/loop.h"

struct store;

struct store_limits {
  uint64_t piece_bytes;        // bytes of all pieces, names included
  uint64_t piece_owner_bytes;  // bytes of one owner's pieces
  uint64_t piece_count;        // pieces of one owner
  uint64_t piece_ms;           // lifetime of a piece since it was last put
  uint64_t memory_bytes;       // bytes of all pieces that are kept in memory
  uint64_t archive_bytes;      // bytes of all records and documents; more are refused
  uint64_t archive_ms;         // lifetime of a record
};

extern const struct store_limits store_default_limits;

// The result of a write.
enum store_kept {
  STORE_KEPT,     // stored: on disk, or in memory if the store has no folder
  STORE_PASSING,  // stored in memory because the disk failed: it ends with this process
  STORE_LOST,     // not stored: the limits do not allow it, or no place takes it
};

struct store_options {
  struct loop *loop;  // NULL: every operation ends before the call that starts it returns (for commands)
  const struct log *log;
  const struct clock *clock;
  const struct rand_source *rand;
  str folder;  // absolute path; made if it does not exist; empty: keep everything in memory
  struct store_limits limits;
  const struct store_backend *backend;  // for a store with a folder; NULL: the default (store/backends.c)
};

// Opens nothing: the first write or read opens the folder.
struct store *store_new(const struct store_options *opt);

// Returns whether the stored data can be read, also if there is no data yet. For commands, which must not take a broken
// store for an empty one. On failure f says why.
bool store_probe(struct store *s, struct fault *f);

// Returns whether the folder can take more data, as far as this is known without making files. On failure f says why.
bool store_usable(const struct store *s, struct fault *f);

// Orders the removal of old data and of files that a crash left, if the store has data at all.
void store_tidy(struct store *s);

// Writes everything that was accepted and calls back the waiters, then calls `closed`: from the loop, or before this
// returns if the store has no loop. The store may not be used after this call.
void store_close(struct store **s, void (*closed)(void *ctx), void *ctx);

// A waiter for one write, embedded in its owner. `done` is called once, or never after store_wait_cancel.
struct store_wait {
  struct list node;  // in the write
  void (*done)(struct store_wait *w, enum store_kept kept);
  int64_t value;  // in `done`: the result of an operation of store/shared.h, and bytes until it returns
  str bytes;
};

void store_wait_init(struct store_wait *w, void (*done)(struct store_wait *w, enum store_kept kept));
bool store_waiting(const struct store_wait *w);
void store_wait_cancel(struct store_wait *w);  // the write still happens; harmless if it does not wait

// A read: the first member of the struct of an operation, which the caller owns. `done` is called once: before the
// function that starts the read returns, or later from the loop. A read cannot be cancelled; the struct and the strings
// given to it must live until it is over.
struct store_read {
  void (*done)(struct store_read *r);  // may be NULL
  bool over, ok;
  struct fault fault;  // set if the read is over and not ok

  struct store *store;  // private, as is the rest
  void (*next)(struct store_read *r);
};

// Returns the result of a read that is over, such as every read of a store without a loop. On failure f says why.
bool store_answered(const struct store_read *r, struct fault *f);
