// SPDX-License-Identifier: Apache-2.0
// Between the files of the SQLite backend: one folder with a database, and files for what is large.
#pragma once
#include <stdatomic.h>

#include "store/backend.h"
#include "store/sqlite/db.h"

struct shelf {
  struct place place;
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

static inline struct shelf *shelf_of(struct place *p) {
  return CONTAINER_OF(p, struct shelf, place);
}

// By the writer. shelf_ready false: the log knows why. What has failed is opened anew, since the folder may be another
// one by now.
void shelf_close_writer(struct shelf *sh);
// Closes both connections, which share memory and locks, if another process has truncated what they have open.
void shelf_abandon_truncated(struct shelf *sh);
bool shelf_ready(struct shelf *sh, int64_t now);
bool shelf_begin(struct shelf *sh, bool lazy, struct fault *f);
bool shelf_commit(struct shelf *sh, struct fault *f);
void shelf_rollback(struct shelf *sh);
void shelf_bury(struct shelf *sh);                   // removes the files of rows that are gone
void shelf_works(struct shelf *sh, uint64_t bytes);  // this many were written
void shelf_fails(struct shelf *sh, const struct fault *f);

// By the loop. NULL: nothing is kept there. Otherwise shelf_read_done follows, before anything else uses the store.
struct db *shelf_read(struct shelf *sh);
void shelf_read_done(struct shelf *sh, struct db *db);  // db may be NULL

// What is large. Within a transaction; aside: where it was written before that, or NULL.
bool shelf_place(struct shelf *sh, const unsigned char hash[SHA256_SIZE], str bytes, const char *aside,
                 struct fault *f);
bool shelf_has_file(const struct shelf *sh, const unsigned char hash[SHA256_SIZE], size_t n);
void shelf_remove_unnamed(struct shelf *sh, const unsigned char hash[SHA256_SIZE]);

enum { SHELF_FILE_NAME = 2 * SHA256_SIZE + 1 };

// ---- what is done with a write, by its kind

enum applied { APPLY_OK, APPLY_REFUSED, APPLY_FAILED };

struct writing {
  // Before the transaction; may be NULL.
  bool (*prepare)(struct shelf *sh, struct store_write *w, struct fault *f);
  // Within it. Refused: nothing was changed, the limits do not allow it.
  enum applied (*apply)(struct shelf *sh, struct store_write *w, struct fault *f);
  // After it, whether it was committed or not; may be NULL.
  void (*settle)(struct shelf *sh, struct store_write *w, bool committed);
};

bool pieces_prepare(struct shelf *sh, struct store_write *w, struct fault *f);
enum applied pieces_apply(struct shelf *sh, struct store_write *w, struct fault *f);
void pieces_settle(struct shelf *sh, struct store_write *w, bool committed);
enum applied use_apply(struct shelf *sh, struct store_write *w, struct fault *f);
enum applied records_apply(struct shelf *sh, struct store_write *w, struct fault *f);
enum applied document_apply(struct shelf *sh, struct store_write *w, struct fault *f);
enum applied note_apply(struct shelf *sh, struct store_write *w, struct fault *f);

// ---- operations of the backend

void shelf_clean(struct place *p, int64_t now);
void shelf_find_piece(struct place *p, struct piece_find *r);
void shelf_count_pieces(struct place *p, struct piece_count *r);
void shelf_find_records(struct place *p, struct archive_search *r);
void shelf_load_document(struct place *p, struct archive_loading *r);
void shelf_list_documents(struct place *p, struct archive_listing *r);
void shelf_find_notes(struct place *p, struct entry_search *r);
bool shelf_exists(const struct place *p);
bool shelf_probe(struct place *p, struct fault *f);
bool shelf_usable(const struct place *p, struct fault *f);
void shelf_tell_damaged(const struct place *p, const struct store_piece *piece);
