// SPDX-License-Identifier: Apache-2.0
// The interface between the files of the SQLite backend. The backend stores data in one folder, as a database and as
// files for large pieces.
#pragma once
#include <stdatomic.h>

#include "base/assert.h"
#include "store/backend.h"
#include "store/sqlite/db.h"

struct database {
  struct store_place place;
  struct db write;       // connection of the writer
  struct db read;        // connection of the loop; protected by `reading`
  uv_mutex_t reading;    // held by the loop while it reads, and by the writer while it closes `read`
  int folder;            // file descriptor of the folder with the files of large pieces
  bool swept;            // files that remain from a crash were removed
  bool lazy;             // the current transaction is committed without a sync
  bool has_notes;        // the table of notes exists
  atomic_bool given_up;  // the database failed permanently
  atomic_bool failing;   // the database does not work, and the log says so
  atomic_bool lost;      // the loop found the shared memory truncated: the writer must open everything again
  bool locked;           // waiting for a lock timed out: the writer does not wait for locks until a write succeeds
  uint64_t refused;      // size of the last group that did not fit on the disk
  int64_t retry_at;      // wall clock of the next attempt to open the database
};

static inline struct database *database_of(struct store_place *p) {
  ASSERT(p->backend == &store_sqlite);
  return CONTAINER_OF(p, struct database, place);
}

// ---- for the writer

// Closes the writer's connection and the folder of piece files.
void database_close_writer(struct database *d);
// Must be called if another process has truncated the database's files. Closes the connections for reading and writing,
// because they share memory and locks.
void database_abandon_truncated(struct database *d);
// Opens the database unless it is open; reopens it if its file was moved or removed. For a while after a failure, makes
// no further attempt. Returns whether the database is open.
bool database_ready(struct database *d, int64_t now);
bool database_begin(struct database *d, bool lazy, struct fault *f);
bool database_commit(struct database *d, struct fault *f);
void database_rollback(struct database *d);
void database_bury(struct database *d);                   // removes the files of deleted rows
void database_works(struct database *d, uint64_t bytes);  // must be called after a successful write of `bytes` bytes
void database_fails(struct database *d, const struct fault *f);

// Returns the connection for reading, which only the loop thread may use, or NULL if the database is missing or cannot
// be opened. The caller must call database_read_done before any other use of the database.
struct db *database_read(struct database *d);
void database_read_done(struct database *d, struct db *db);  // `db` may be NULL

// Returns the number of rows and bytes from the row `name` of the table `usage`, or zeros if there is no such row.
struct piece_usage database_usage(struct db *db, str name);

// Gives the file of a large piece its final name. `aside` is the temporary name under which the file was written before
// the transaction. If `aside` is NULL and no file has the final name, writes the file.
bool database_place(struct database *d, const unsigned char hash[SHA256_SIZE], str bytes, const char *aside,
                    struct fault *f);
bool database_has_file(const struct database *d, const unsigned char hash[SHA256_SIZE], size_t n);
// Removes the file of a large piece if no row names this file.
void database_remove_unnamed(struct database *d, const unsigned char hash[SHA256_SIZE]);

enum { DATABASE_FILE_NAME = 2 * SHA256_SIZE + 1 };

// ---- writes

enum applied { APPLY_OK, APPLY_REFUSED, APPLY_FAILED };

// The functions that execute one kind of write.
struct writing {
  // Called before the transaction; may be NULL.
  bool (*prepare)(struct database *d, struct store_write *w, struct fault *f);
  // Called within the transaction. APPLY_REFUSED: the limits do not allow the write, and nothing was changed.
  enum applied (*apply)(struct database *d, struct store_write *w, struct fault *f);
  // Called after the transaction, whether it was committed or not; may be NULL.
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
