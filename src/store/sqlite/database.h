// SPDX-License-Identifier: Apache-2.0
// Declarations that the files of the SQLite backend share: one folder with a database, and files for large pieces.
#pragma once
#include <stdatomic.h>

#include "base/assert.h"
#include "store/backend.h"
#include "store/sqlite/db.h"

struct database {
  struct store_place place;
  struct db write;       // the writer's
  struct db read;        // the loop's, under the lock
  uv_mutex_t reading;    // held by the loop while it reads, and by the writer to close `read`
  int folder;            // of the files
  bool swept;            // files that a crash left were removed
  bool lazy;             // the current transaction is committed without a sync
  bool has_notes;        // the table of notes exists
  atomic_bool given_up;  // it failed permanently
  atomic_bool failing;   // it does not work, and the log says so
  atomic_bool lost;      // the loop found its shared memory truncated: the writer opens everything again
  bool locked;           // the writer waited in vain for a lock: it does not wait again until the lock was free
  uint64_t refused;      // bytes of the last group that the disk did not take
  int64_t retry_at;      // wall clock of the next attempt to open it
};

static inline struct database *database_of(struct store_place *p) {
  ASSERT(p->backend == &store_sqlite);
  return CONTAINER_OF(p, struct database, place);
}

// For the writer. database_ready opens a database that has failed again, since the folder may have been replaced.
// Returns false after logging the reason.
void database_close_writer(struct database *d);
// Closes both connections, which share memory and locks, if another process has truncated their files.
void database_abandon_truncated(struct database *d);
bool database_ready(struct database *d, int64_t now);
bool database_begin(struct database *d, bool lazy, struct fault *f);
bool database_commit(struct database *d, struct fault *f);
void database_rollback(struct database *d);
void database_bury(struct database *d);                   // removes the files of deleted rows
void database_works(struct database *d, uint64_t bytes);  // after a group of this size was written
void database_fails(struct database *d, const struct fault *f);

// For the loop. Returns NULL if there is no database. Otherwise call database_read_done before any other use.
struct db *database_read(struct database *d);
void database_read_done(struct database *d, struct db *db);  // db may be NULL

// Rows and bytes of a name in the table `usage`; zeros if it has none.
struct piece_usage database_usage(struct db *db, str name);

// Files of large pieces, within a transaction. aside: name under which the file was written before it, or NULL.
bool database_place(struct database *d, const unsigned char hash[SHA256_SIZE], str bytes, const char *aside,
                    struct fault *f);
bool database_has_file(const struct database *d, const unsigned char hash[SHA256_SIZE], size_t n);
void database_remove_unnamed(struct database *d, const unsigned char hash[SHA256_SIZE]);

enum { DATABASE_FILE_NAME = 2 * SHA256_SIZE + 1 };

// ---- writes

enum applied { APPLY_OK, APPLY_REFUSED, APPLY_FAILED };

// Steps of a write, by its kind.
struct writing {
  // Before the transaction; may be NULL.
  bool (*prepare)(struct database *d, struct store_write *w, struct fault *f);
  // Within it. APPLY_REFUSED: the limits do not allow it, and nothing was changed.
  enum applied (*apply)(struct database *d, struct store_write *w, struct fault *f);
  // After it, whether it was committed or not; may be NULL.
  void (*settle)(struct database *d, struct store_write *w, bool committed);
};

bool pieces_prepare(struct database *d, struct store_write *w, struct fault *f);
enum applied pieces_apply(struct database *d, struct store_write *w, struct fault *f);
void pieces_settle(struct database *d, struct store_write *w, bool committed);
enum applied use_apply(struct database *d, struct store_write *w, struct fault *f);
enum applied records_apply(struct database *d, struct store_write *w, struct fault *f);
enum applied document_apply(struct database *d, struct store_write *w, struct fault *f);
enum applied note_apply(struct database *d, struct store_write *w, struct fault *f);

// ---- operations of the backend

void database_clean(struct store_place *p, int64_t now);
void database_find_piece(struct store_place *p, struct piece_find *r);
void database_count_pieces(struct store_place *p, struct piece_count *r);
void database_find_records(struct store_place *p, struct archive_search *x);
void database_load_document(struct store_place *p, struct archive_loading *x);
void database_list_documents(struct store_place *p, struct archive_listing *x);
void database_find_notes(struct store_place *p, struct entry_search *x);
bool database_exists(const struct store_place *p);
bool database_probe(struct store_place *p, struct fault *f);
bool database_usable(const struct store_place *p, struct fault *f);
void database_report_damaged(const struct store_place *p, const struct store_piece *piece);
