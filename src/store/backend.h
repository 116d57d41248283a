// SPDX-License-Identifier: Apache-2.0
// The contract between the store and the backends that keep its data. Nothing above src/store/ includes this header.
//
// The store (store.c, writer.c) queues writes, groups them, reports their results on the loop, and keeps in memory the
// data that a backend does not take. A backend keeps data in one place and knows nothing of queues and waiters.
//
// Threads: `write`, `clean` and `close` run on the writer's thread, never two at a time. Without a loop they run in the
// thread of the caller. All other operations run on the loop, also while `write` runs.
//
// Adding a backend: docs/internals/extending.md.
#pragma once
#include "store/archive.h"
#include "store/pieces.h"
#include "store/shared.h"
#include "store/store.h"

// ---- writes

enum write_kind {
  WRITE_NOTHING,   // struct store_write: opens the place, which also removes old data
  WRITE_PIECES,    // struct piece_batch
  WRITE_USE,       // struct piece_use
  WRITE_RECORDS,   // struct archive_write
  WRITE_DOCUMENT,  // struct archive_write
  WRITE_NOTE,      // struct note_write
  WRITE_KINDS
};

// The head of every write. The backend sets `kept` and, for notes, `value` and `answer`; all else is the store's.
struct store_write {
  struct list node;
  enum write_kind kind;
  void (*free)(struct store_write *w);
  struct list waits;     // at most one struct store_wait
  int64_t now;           // wall clock when it was ordered
  uint64_t bytes;        // an estimate of its size
  bool lazy;             // it may wait for other writes, and may be lost if the machine fails; nobody waits for it
  bool refused;          // it breaks a rule of the interface: `kept` is STORE_LOST, and nothing is written
  enum store_kept kept;  // STORE_KEPT, or STORE_LOST if the limits have no room for it
  int64_t value;
  struct buf answer;
};

struct piece_entry {
  struct store_piece piece;
  char *block;  // heap memory that the bytes lie in if they are large; a backend may take it and set NULL
};

struct piece_batch {
  struct store_write write;
  struct store_limits limits;  // a copy: a batch on another thread may outlive its store
  struct arena arena;
  str owner;
  struct piece_origin origin;
  struct piece_entry *list;
  size_t count, cap;
  uint64_t cost;
  void *own;  // the backend's during `write`; NULL before and after
};

bool piece_is_large(const struct store_piece *p);  // more than PIECE_ROW_BYTES

// A piece was used: it is now the last one to be dropped for room.
struct piece_use {
  struct store_write write;
  str owner, handle;
  char text[];
};

// Records to add, all or none; or a document to replace (text) or to remove (no text).
struct archive_write {
  struct store_write write;
  struct arena arena;
  str owner;
  struct archive_record *records;
  size_t count;
  str name, text;
};

enum { ARCHIVE_ENTRY_COST = 200 };  // bytes that a record or document counts in addition to its text

enum note_op { NOTE_COUNT, NOTE_LEASE, NOTE_ONCE, NOTE_PUT, NOTE_TAKE };

// A record of the store for counters, leases, keys and entries: `space` and `id` name it.
struct note {
  str space, id;
  str text;         // a lease's holder, an entry's bytes
  int64_t value;    // a counter's sum
  int64_t until;    // wall clock; from then on it does not exist
  uint64_t number;  // rises with each note that is put; given by the backend
};

struct note_write {
  struct store_write write;
  struct arena arena;
  enum note_op op;
  str space, id;  // NOTE_TAKE with an empty id: the note with the lowest number
  str text;
  int64_t delta;
  uint64_t ms;
};

// Decides how a write changes a note. `at` is the existing note, or NULL; *out is the note to put, in memory of `w`,
// with the number of `at` or 0. Sets value and answer of the write. A backend that reads and writes in one transaction
// needs only this; a backend whose server has such operations may use those.
enum note_change { NOTE_STAYS, NOTE_REPLACED, NOTE_REMOVED };
enum note_change note_decide(struct note_write *w, const struct note *at, struct note *out);

// ---- reads

// Each has a struct store_read as its first member. The strings in it live until it is over. The backend ends it by
// store_read_over, exactly once: before the operation returns, or later from the loop; always before it returns if the
// store has no loop. `f` says why it failed; NULL with ok false: not found.
void store_read_over(struct store_read *r, bool ok, const struct fault *f);

void names_found_add(struct names_found *n, str name);  // copies it; drops the last one if there are more than max

// ---- the backend

// The head of a backend's own struct.
struct store_place {
  const struct store_backend *backend;
  const struct store_options *opt;  // limits, log, clock, rand, folder; lives as long as the place
  bool spare;                       // it keeps the data that another place does not take
};

enum place_wrote {
  PLACE_WROTE,        // all of them
  PLACE_FAILED,       // none of them; a part of them may succeed
  PLACE_UNAVAILABLE,  // none of them, and none would succeed now
};

struct store_backend {
  const char *name;

  // Cannot fail, opens no file and makes none: the first write or read does.
  struct store_place *(*open)(const struct store_options *opt, bool spare);

  // Ends every read that is under way, then frees the place. Found pieces stay valid until they are released.
  void (*close)(struct store_place *p);

  // Applies a list of struct store_write in its order, in one transaction: if it returns PLACE_WROTE, everything is
  // durable, except for a list that is lazy as a whole. It logs why it fails, once until it works again. The limits
  // hold: it drops old data first, then unused pieces, those of the same owner first.
  enum place_wrote (*write)(struct store_place *p, struct list *writes);

  // Drops old data, and files that a crash left.
  void (*clean)(struct store_place *p, int64_t now);

  // Finds by owner only. A foreign, an unknown and an expired handle look the same. The bytes are valid until release.
  void (*find_piece)(struct store_place *p, struct piece_find *r);
  void (*count_pieces)(struct store_place *p, struct piece_count *r);  // adds to r->usage
  // Calls r->each until it returns false or r->left is 0; in both cases the read is ok.
  void (*find_records)(struct store_place *p, struct archive_search *r);
  void (*load_document)(struct store_place *p, struct archive_loading *r);
  void (*list_documents)(struct store_place *p, struct archive_listing *r);
  void (*find_notes)(struct store_place *p, struct entry_search *r);

  // The following may be NULL: then the place never has a problem, and never has data from before.
  bool (*exists)(const struct store_place *p);                   // the place has data from before
  bool (*probe)(struct store_place *p, struct fault *f);         // store_probe
  bool (*usable)(const struct store_place *p, struct fault *f);  // store_usable
  void (*report_damaged)(const struct store_place *p, const struct store_piece *piece);  // one line in the log
};

int64_t place_now(const struct store_place *p);

// Limits of the bytes of the archive and of the pieces in this place.
uint64_t place_archive_limit(const struct store_place *p);
uint64_t place_piece_limit(const struct store_place *p);

// The table of backends by role: backends.c.
enum store_role {
  ROLE_LASTING,  // for a store with a folder
  ROLE_PASSING,  // for a store without a folder, and as the spare of the other
  ROLE_COUNT
};
extern const struct store_backend *const store_backends[ROLE_COUNT];
extern const struct store_backend store_sqlite, store_memory;
