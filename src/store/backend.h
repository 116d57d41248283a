// SPDX-License-Identifier: Apache-2.0
// The contract between the store and the backends that hold its data. Only files in src/store/ include this header.
//
// The store (store.c, writer.c) queues and groups writes, reports their results on the event loop, and keeps data in
// memory if a backend does not accept it. A backend only stores and finds data in one place, such as a folder or
// memory.
//
// Threads: `write`, `clean` and `close` run on the writer's thread, never two at a time. If the store has no loop,
// these three run on the caller's thread. All other operations run on the loop, also while `write` runs.
//
// To add a backend, see docs/internals/extending.md.
#pragma once
#include "store/archive.h"
#include "store/pieces.h"
#include "store/shared.h"
#include "store/store.h"

// ---- writes

enum write_kind {
  WRITE_NOTHING,   // struct store_write; only opens the place, which also removes old data
  WRITE_PIECES,    // struct piece_batch
  WRITE_USE,       // struct piece_use
  WRITE_RECORDS,   // struct archive_write
  WRITE_DOCUMENT,  // struct archive_write
  WRITE_NOTE,      // struct note_write
  WRITE_KINDS
};

// Every kind of write has its own struct, of which this is the first member. The backend sets `kept` and, for notes,
// `value` and `answer`; the store sets the other members.
struct store_write {
  struct list node;
  enum write_kind kind;
  void (*free)(struct store_write *w);
  struct list waits;     // at most one struct store_wait
  int64_t now;           // wall clock when the write was ordered
  uint64_t bytes;        // estimated size
  bool lazy;             // may wait for other writes and may be lost if the machine fails; has no waiter
  bool refused;          // invalid, such as a name that is too long: nothing is written, and `kept` is STORE_LOST
  enum store_kept kept;  // set to STORE_KEPT, or to STORE_LOST if the limits do not allow the write
  int64_t value;
  struct buf answer;
};

struct piece_entry {
  struct store_piece piece;
  char *block;  // heap memory with the bytes of a large piece, or NULL; a backend that takes ownership sets it to NULL
};

struct piece_batch {
  struct store_write write;
  struct store_limits limits;  // a copy, because a batch on another thread may outlive its store
  struct arena arena;
  str owner;
  struct piece_origin origin;
  struct piece_entry *list;
  size_t count, cap;
  uint64_t cost;
  void *own;  // private data of the backend during `write`; NULL before and after
};

bool piece_is_large(const struct store_piece *p);  // returns whether `p` has more than PIECE_ROW_BYTES bytes

// A write that marks a piece as used now: when room is needed, the least recently used pieces are dropped first.
struct piece_use {
  struct store_write write;
  str owner, handle;
  char text[];
};

// A write to the archive. WRITE_RECORDS adds `records`, all or none. WRITE_DOCUMENT stores `text` as the document
// `name`, or removes this document if `text` is STR_NONE.
struct archive_write {
  struct store_write write;
  struct arena arena;
  str owner;
  struct archive_record *records;
  size_t count;
  str name, text;
};

// Bytes that count against archive_bytes for each record or document, in addition to the size of its texts.
enum { ARCHIVE_ENTRY_COST = 200 };

enum note_op { NOTE_COUNT, NOTE_LEASE, NOTE_ONCE, NOTE_PUT, NOTE_ADD, NOTE_REPLACE, NOTE_TAKE };

// A row in which the store keeps a counter, a lease, a key or a queue entry. `space` and `id` identify it.
struct note {
  str space, id;
  str text;         // holder of a lease, or bytes of an entry
  int64_t value;    // sum of a counter, or version of an entry
  int64_t until;    // wall clock; the note does not exist from this time on
  uint64_t number;  // set by the backend; each new note gets a higher number than all earlier notes
};

struct note_write {
  struct store_write write;
  struct arena arena;
  enum note_op op;
  str space, id;  // NOTE_TAKE with an empty id takes the note with the lowest number
  str text;
  int64_t delta;  // for a counter; for NOTE_REPLACE, the version that the entry must have
  uint64_t ms;
};

enum note_change { NOTE_STAYS, NOTE_REPLACED, NOTE_REMOVED };

// Decides how a write changes a note. `at` is the existing note or NULL. Sets *out to the note to store: its strings
// are in memory of `w`, its number is the number of `at`, or 0 for a new note. Also sets `value` and `answer` of the
// write. A backend that can read and write in one transaction needs only this function. Another backend may use
// counters and leases of its database server instead.
enum note_change note_decide(struct note_write *w, const struct note *at, struct note *out);

// ---- reads

// The backend must call store_read_over exactly once for each read operation: before the operation's function returns
// or, if the store has a loop, later from the loop. `r` is the first member of the operation's struct; the strings in
// this struct stay valid until this call. If `ok` is false, `f` is the reason of the failure, or NULL if nothing was
// found.
void store_read_over(struct store_read *r, bool ok, const struct fault *f);

// Adds a copy of a name to the sorted list `n` unless the list has it. If the list then has more than `max` names,
// drops the last one.
void names_found_add(struct names_found *n, str name);

// ---- the backend

// A place in which a backend keeps data, such as a folder. This is the first member of the backend's own struct.
struct store_place {
  const struct store_backend *backend;
  const struct store_options *opt;  // limits, log, clock, rand, folder; must outlive the place
  bool spare;                       // holds the data that another place does not accept
};

enum place_wrote {
  PLACE_WROTE,        // all writes were applied
  PLACE_FAILED,       // no write was applied; some may succeed if each is written alone
  PLACE_UNAVAILABLE,  // no write was applied, and further writes would fail now
};

struct store_backend {
  const char *name;

  // Creates the place. Must not fail, and must not open or create a file: the first write or read does that.
  struct store_place *(*open)(const struct store_options *opt, bool spare);

  // Ends every read in progress, then frees the place. Found pieces stay valid until they are released.
  void (*close)(struct store_place *p);

  // Applies a list of struct store_write in order, in one transaction. PLACE_WROTE means that all writes are durable,
  // unless the list contains only lazy writes. Logs the reason of the first failure; later failures are not logged
  // until writing works again. To enforce the limits, drops expired data, then the least recently used pieces of the
  // owner, then those of other owners.
  enum place_wrote (*write)(struct store_place *p, struct list *writes);

  // Drops old data, and files that remain from a crash.
  void (*clean)(struct store_place *p, int64_t now);

  // Finds a piece of one owner. The result must be the same for unknown handles, expired handles and handles of other
  // owners. The bytes are valid until found_piece_release.
  void (*find_piece)(struct store_place *p, struct piece_find *r);
  void (*count_pieces)(struct store_place *p, struct piece_count *r);  // adds to r->usage
  // Calls r->each for the records found, until it returns false or r->left is 0. In both cases, the read succeeds.
  void (*find_records)(struct store_place *p, struct archive_search *r);
  void (*load_document)(struct store_place *p, struct archive_loading *r);
  void (*list_documents)(struct store_place *p, struct archive_listing *r);
  void (*find_notes)(struct store_place *p, struct entry_search *r);

  // The following operations may be NULL if the place never fails and never contains data of an earlier process.
  bool (*exists)(const struct store_place *p);                   // whether the place has data of an earlier process
  bool (*probe)(struct store_place *p, struct fault *f);         // see store_probe
  bool (*usable)(const struct store_place *p, struct fault *f);  // see store_usable
  void (*report_damaged)(const struct store_place *p, const struct store_piece *piece);  // logs the damaged piece
};

int64_t place_now(const struct store_place *p);

// place_archive_limit returns the maximum bytes of the archive in this place; place_piece_limit, of all pieces in this
// place.
uint64_t place_archive_limit(const struct store_place *p);
uint64_t place_piece_limit(const struct store_place *p);
uint64_t place_kind_limit(const struct store_place *p);  // maximum bytes of the entries of one kind

// The purposes for which the store uses a backend; backends.c sets the backend for each.
enum store_role {
  ROLE_LASTING,  // holds the data of a store with a folder
  ROLE_PASSING,  // holds the data of a store without a folder; also the spare place of a store with a folder
  ROLE_COUNT
};
extern const struct store_backend *const store_backends[ROLE_COUNT];
extern const struct store_backend store_sqlite, store_memory;
