// SPDX-License-Identifier: Apache-2.0
// Data that outlives the process, in a folder that only its owner can read. A backend (store/backend.h) keeps it: by
// default one SQLite database, with files beside it for large data.
//
// One thread writes. It takes all waiting writes at once, in one transaction and with one sync of the disk; callbacks
// run afterwards, on the loop, in the order of the writes. Reads begin and end on the loop. Several processes may share
// a folder: the disk has the truth, memory does not.
//
// Without a folder everything is kept in memory, with the same bounds and by the same rules. A folder that cannot be
// used (damaged, of a newer version, read-only, full) is one line in the log that says what to do; the data is then
// kept in memory, and the callback of the write says so.
//
// It keeps pieces of results (store/pieces.h), records and documents (store/archive.h), and state that
// gateways share: counters, leases, keys, entries (store/shared.h).
#pragma once
#include "base/fault.h"
#include "io/loop.h"

struct store;

struct store_limits {
  uint64_t piece_bytes;        // of all pieces, names included
  uint64_t piece_owner_bytes;  // of one owner's
  uint64_t piece_count;        // pieces of one owner
  uint64_t piece_ms;           // how long a piece lives since it was put, or put again
  uint64_t memory_bytes;       // of all pieces that are kept in memory
  uint64_t archive_bytes;      // of all records and documents: when they are full, more are refused
  uint64_t archive_ms;         // how long a record lives
};

extern const struct store_limits store_default_limits;

// What became of something that was written.
enum store_kept {
  STORE_KEPT,     // as it should be: on disk, or in memory when there is no folder
  STORE_PASSING,  // in memory, though it should be on disk: it goes with this process
  STORE_LOST,     // not at all: the bounds do not allow it, or there is no place for it
};

struct store_options {
  struct loop *loop;  // NULL: every operation is over before the call that orders it returns (for commands)
  const struct log *log;
  const struct clock *clock;
  const struct rand_source *rand;
  str folder;  // absolute; made if need be; empty: in memory
  struct store_limits limits;
  const struct store_backend *backend;  // with a folder; NULL: the default (store/backends.c)
};

// Opens nothing yet: the folder is looked at when something is first written or looked for.
struct store *store_new(const struct store_options *opt);

// Can what was kept be read, or was nothing kept yet? For commands, to which a store that is broken must not look like
// one that is empty. False: f says why not.
bool store_probe(struct store *s, struct fault *f);

// Can more be kept in the folder, as far as can be told without making anything? False: f says why not.
bool store_usable(const struct store *s, struct fault *f);

// A moment later, what is too old goes, and what a crash left behind, if anything is kept at all.
void store_tidy(struct store *s);

// Everything that was accepted is written, and whoever waits for it told, before `closed` is called: from the loop, or
// before this returns when there is none. Nothing may be given to it any more.
void store_close(struct store **s, void (*closed)(void *ctx), void *ctx);

// One who waits for a write, inside of whoever that is. It is told once, or not at all when it was cancelled.
struct store_wait {
  struct list node;  // with what is written for it
  void (*done)(struct store_wait *w, enum store_kept kept);
  int64_t value;  // in `done`: the result of an operation of store/shared.h, and bytes until it returns
  str bytes;
};

void store_wait_init(struct store_wait *w, void (*done)(struct store_wait *w, enum store_kept kept));
bool store_waiting(const struct store_wait *w);
void store_wait_cancel(struct store_wait *w);  // what was ordered is written all the same; fine when it does not wait

// One read, at the beginning of the struct of an operation, which the caller owns. `done` is called once: before the
// function that orders the read returns, or later from the loop. A read cannot be cancelled; the struct, and the
// strings that were given to it, live until it is over.
struct store_read {
  void (*done)(struct store_read *r);  // NULL: nobody is called
  bool over, ok;
  struct fault fault;  // of one that is over and not ok

  struct store *store;  // private, as is the rest
  void (*next)(struct store_read *r);
};

// The result of a read that is over, such as each read of a store without a loop. False: f says why.
bool store_answered(const struct store_read *r, struct fault *f);
