// SPDX-License-Identifier: Apache-2.0
// Between the files of the store; not for others.
#pragma once
#include <stdatomic.h>

#include "base/map.h"
#include "store/db.h"
#include "store/store.h"

// ---- a shelf: one place where things are kept, on disk or in memory

// Bytes in memory that rows name, and that whoever reads them holds on to.
struct shared_bytes {
  atomic_uint refs;
  unsigned char hash[SHA256_SIZE];
  char *memory;
  str bytes;
};
struct shared_bytes *shared_ref(struct shared_bytes *b);
void shared_unref(struct shared_bytes **b);

struct shelf {
  const struct store *store;
  bool on_disk;
  struct db write;          // the writer's; in memory there is only this one
  struct db read;           // everybody else's
  uv_mutex_t reading;       // around what everybody uses; in memory around transactions too
  int folder;               // on disk: of the files
  struct map blocks;        // in memory: what would be files, by hash
  struct hash_key seed;     // of that map
  bool swept;               // what a crash left behind was looked for
  bool lazy;                // the transaction under way is not worth a sync
  atomic_bool given_up;     // it cannot be used, and that will not change
  atomic_bool complaining;  // it does not work, which the log knows
  // The writer's: another process kept it locked for so long that nobody waits for that again until it was free; and
  // what did not fit on the disk, in bytes.
  bool locked;
  uint64_t refused;
  int64_t again_at;  // when (wall) to try again to open it
};

bool shelf_exists(const struct shelf *sh);  // something was kept there before
void shelf_init(struct shelf *sh, const struct store *s, bool on_disk);
void shelf_close_reader(struct shelf *sh);
void shelf_close(struct shelf *sh);  // by the writer; what it holds in memory is gone
void shelf_done(struct shelf *sh);

// By the writer. False: the log knows why. What has failed is opened anew, since the folder may be another one by now.
void shelf_reopen(struct shelf *sh);
bool shelf_ready(struct shelf *sh, int64_t now);
bool shelf_begin(struct shelf *sh, bool lazy, struct fault *f);
bool shelf_commit(struct shelf *sh, struct fault *f);
void shelf_rollback(struct shelf *sh);
void shelf_clean(struct shelf *sh, int64_t now);     // removes what is too old, and files that nothing names
void shelf_bury(struct shelf *sh);                   // removes the files of rows that are gone
void shelf_works(struct shelf *sh, uint64_t bytes);  // so many were written
void shelf_fails(struct shelf *sh, const struct fault *f);

// By anybody: what reads must be quick. NULL: nothing is kept there.
struct db *shelf_read(struct shelf *sh);
void shelf_read_done(struct shelf *sh);

// What is large. Within a transaction; aside: where it was written before that, or NULL.
bool shelf_place(struct shelf *sh, const unsigned char hash[SHA256_SIZE], str bytes, char **block, const char *aside,
                 struct fault *f);
bool shelf_has_file(const struct shelf *sh, const unsigned char hash[SHA256_SIZE], size_t n);
void shelf_remove_unnamed(struct shelf *sh, const unsigned char hash[SHA256_SIZE]);

enum { SHELF_FILE_NAME = 2 * SHA256_SIZE + 1 };

// ---- a job: something to be written

enum job_result { JOB_OK, JOB_REFUSED, JOB_FAILED };

struct job;

struct job_ops {
  // Before the transaction; may be NULL.
  bool (*prepare)(struct job *j, struct shelf *sh, struct fault *f);
  // Within it. Refused: nothing was changed, the bounds do not allow it.
  enum job_result (*apply)(struct job *j, struct shelf *sh, struct fault *f);
  // After it, whether it was committed or not; may be NULL.
  void (*settle)(struct job *j, struct shelf *sh, bool committed);
  void (*free)(struct job *j);
};

struct job {
  struct list node;
  const struct job_ops *ops;
  struct list waits;  // the one who waits for it, if any
  int64_t now;        // wall clock when it was ordered
  uint64_t bytes;     // to be written, more or less
  bool lazy;          // may wait for company, and may be lost when the machine fails
  bool refused;
  enum store_kept kept;
};

void job_init(struct job *j, const struct job_ops *ops);

struct store {
  uint32_t magic;
  struct store_options opt;
  struct shelf disk;    // of no use without a folder
  struct shelf memory;  // everything without a folder; else what disk did not take
  uv_async_t async;     // the writer has finished something

  uv_mutex_t lock;  // around the following
  uv_cond_t wake;
  struct list queue, finished;
  size_t urgent, queued;  // in the queue: not lazy, all
  bool running;           // there is a writer
  bool closing, ended;

  uv_thread_t thread;
  void (*closed)(void *ctx);
  void *ctx;
};

// Takes the job; on any thread when nobody waits for it.
void store_order(struct store *s, struct job *j, struct store_wait *w);
int64_t store_now(const struct store *s);

// The thread, which gets the store; and what it does with some jobs.
void writer_run(void *store);
void writer_write(struct store *s, struct list *jobs);
