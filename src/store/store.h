// SPDX-License-Identifier: Apache-2.0
// Stores data that outlives the process, in a folder that only its owner can read. A backend (store/backend.h) holds
// the data: by default in one SQLite database, with separate files for large data.
//
// One thread writes. It takes all waiting writes at once and writes them in one transaction, with one sync of the disk.
// Callbacks then run on the loop, in the order of the writes. Reads begin and end on the loop. Several processes may
// share a folder. Only the disk has the current data, so nothing is cached in memory.
//
// Without a folder all data is kept in memory, with the same limits and rules. If a folder cannot be used (damaged,
// from a newer version, read-only, full), one line in the log says why and what to do; new data is then kept in memory,
// and each write reports this to its callback.
//
// The store holds pieces of results (store/pieces.h), records and documents (store/archive.h), and state that gateways
// share: counters, leases, keys, entries (store/shared.h).
#pragma once
#include "base/fault.h"
#include "io/loop.h"

struct store;

struct store_limits {
  uint64_t piece_bytes;        // maximum bytes of all pieces, including their names
  uint64_t piece_owner_bytes;  // maximum bytes of one owner's pieces
  uint64_t piece_count;        // maximum number of one owner's pieces
  uint64_t piece_ms;           // lifetime of a piece after it was last stored
  uint64_t memory_bytes;       // maximum bytes of all pieces that are kept in memory
  uint64_t archive_bytes;      // maximum bytes of all records and documents; writes beyond it are rejected
  uint64_t archive_ms;         // lifetime of a record
  uint64_t kind_bytes;         // maximum bytes of all entries of a kind (store/shared.h)
};

extern const struct store_limits store_default_limits;

// The result of a write.
enum store_kept {
  STORE_KEPT,     // stored: on disk, or in memory if the store has no folder
  STORE_PASSING,  // stored only in memory, because the disk failed; lost when this process ends
  STORE_LOST,     // not stored: the limits do not allow it, or no place accepts it
};

struct store_options {
  struct loop *loop;  // NULL in commands; every operation then completes before its function returns
  const struct log *log;
  const struct clock *clock;
  const struct rand_source *rand;
  str folder;  // absolute path, created if it does not exist; empty: keep everything in memory
  struct store_limits limits;
  const struct store_backend *backend;  // backend for the folder; NULL means the default (store/backends.c)
};

// Creates a store without opening the folder: the first write or read opens it.
struct store *store_new(const struct store_options *opt);

// Returns whether the stored data can be read; true if there is no data yet. Commands call this function, so that they
// do not mistake a broken store for an empty one. On failure, `f` has the reason.
bool store_probe(struct store *s, struct fault *f);

// Returns whether the folder can probably store more data. Creates no files. On failure, `f` has the reason.
bool store_usable(const struct store *s, struct fault *f);

// Queues the removal of old data and of files that remain from a crash. Does nothing if the store has no data.
void store_tidy(struct store *s);

// Writes all accepted data, calls the `done` callback of every pending write, then calls `closed`. With a loop,
// `closed` is called from the loop; without one, before store_close returns. The store must not be used after this
// call.
void store_close(struct store **s, void (*closed)(void *ctx), void *ctx);

// Waits for the result of one write. The caller embeds this struct in its own struct. `done` is called once, but not
// after store_wait_cancel.
struct store_wait {
  struct list node;  // in the write
  void (*done)(struct store_wait *w, enum store_kept kept);
  int64_t value;  // `value` and `bytes` are the result of an operation of store/shared.h, valid in `done`
  str bytes;
};

void store_wait_init(struct store_wait *w, void (*done)(struct store_wait *w, enum store_kept kept));
bool store_waiting(const struct store_wait *w);
void store_wait_cancel(struct store_wait *w);  // the write still happens; does nothing if `w` is not waiting

// The first member of the struct of each read operation. The caller owns that struct. `done` is called once: before the
// function that starts the read returns, or later from the loop. A read cannot be cancelled: the struct and the strings
// passed with it must stay valid until `done` is called.
struct store_read {
  void (*done)(struct store_read *r);  // may be NULL
  bool over, ok;
  struct fault fault;  // the reason, if the read is over and has failed

  struct store *store;  // this member and the following ones are private
  void (*next)(struct store_read *r);
};

// Returns whether a finished read has succeeded. On failure, `f` has the reason. Without a loop, every read finishes
// immediately.
bool store_answered(const struct store_read *r, struct fault *f);
