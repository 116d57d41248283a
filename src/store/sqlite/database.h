// SPDX-License-Identifier: Apache-2.0
// Between the files of the SQLite backend: one folder with a database, and files for what is large.
#pragma once
#include <stdatomic.h>

#include "store/backend.h"
#include "store/sqlite/db.h"

struct database {
  struct store_place place;
  struct db write;          // the writer's
  struct db read;           // the loop's, under the lock
  uv_mutex_t reading;       // held by the loop while it reads, and by the writer to close `read`
  int folder;               // of the files
  bool swept;               // what a crash left behind was looked for
  bool lazy;                // the transaction under way is not worth a sync
  bool has_notes;           // the table of notes exists
  atomic_bool given_up;     // it cannot be used, and that will not change
  atomic_bool complaining;  // it does not work, which the log knows
  atomic_bool lost;         // the loop found its shared memory truncated: the writer opens everything again
  // The writer's: another process kept it locked for so long that nobody waits for that again until it was free; and
  // what did not fit on the disk, in bytes.
  bool locked;
  uint64_t refused;
  int64_t again_at;  // when (wall) to try again to open it
};

static inline struct database *database_of(struct store_place *p) {
  return CONTAINER_OF(p, struct database, place);
}

// For the writer. database_ready opens a database that has failed again, since the folder may have been replaced.
// Returns false after logging the reason.
void database_close_writer(struct database *sh);
// Closes both connections, which share memory and locks, if another process has truncated what they have open.
void database_abandon_truncated(struct database *sh);
bool database_ready(struct database *sh, int64_t now);
bool database_begin(struct database *sh, bool lazy, struct fault *f);
bool database_commit(struct database *sh, struct fault *f);
void database_rollback(struct database *sh);
void database_bury(struct database *sh);                   // removes the files of rows that are gone
void database_works(struct database *sh, uint64_t bytes);  // this many were written
void database_fails(struct database *sh, const struct fault *f);

// By the loop. NULL: nothing is kept there. Otherwise database_read_done follows, before anything else uses the store.
struct db *database_read(struct database *sh);
void database_read_done(struct database *sh, struct db *db);  // db may be NULL

// What is large. Within a transaction; aside: where it was written before that, or NULL.
bool database_place(struct database *sh, const unsigned char hash[SHA256_SIZE], str bytes, const char *aside,
                    struct fault *f);
bool database_has_file(const struct database *sh, const unsigned char hash[SHA256_SIZE], size_t n);
void database_remove_unnamed(struct database *sh, const unsigned char hash[SHA256_SIZE]);

enum { DATABASE_FILE_NAME = 2 * SHA256_SIZE + 1 };

// ---- what is done with a write, by its kind

enum applied { APPLY_OK, APPLY_REFUSED, APPLY_FAILED };

struct writing {
  // Before the transaction; may be NULL.
  bool (*prepare)(struct database *sh, struct store_write *w, struct fault *f);
  // Within it. Refused: nothing was changed, the limits do not allow it.
  enum applied (*apply)(struct database *sh, struct store_write *w, struct fault *f);
  // After it, whether it was committed or not; may be NULL.
  void (*settle)(struct database *sh, struct store_write *w, bool committed);
};

bool pieces_prepare(struct database *sh, struct store_write *w, struct fault *f);
enum applied pieces_apply(struct database *sh, struct store_write *w, struct fault *f);
void pieces_settle(struct database *sh, struct store_write *w, bool committed);
enum applied use_apply(struct database *sh, struct store_write *w, struct fault *f);
enum applied records_apply(struct database *sh, struct store_write *w, struct fault *f);
enum applied document_apply(struct database *sh, struct store_write *w, struct fault *f);
enum applied note_apply(struct database *sh, struct store_write *w, struct fault *f);

// ---- operations of the backend

void database_clean(struct store_place *p, int64_t now);
void database_find_piece(struct store_place *p, struct piece_find *r);
void database_count_pieces(struct store_place *p, struct piece_count *r);
void database_find_records(struct store_place *p, struct archive_search *r);
void database_load_document(struct store_place *p, struct archive_loading *r);
void database_list_documents(struct store_place *p, struct archive_listing *r);
void database_find_notes(struct store_place *p, struct entry_search *r);
bool database_exists(const struct store_place *p);
bool database_probe(struct store_place *p, struct fault *f);
bool database_usable(const struct store_place *p, struct fault *f);
void database_tell_damaged(const struct store_place *p, const struct store_piece *piece);
