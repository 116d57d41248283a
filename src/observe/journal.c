// SPDX-License-Identifier: Apache-2.0
#include "observe/journal.h"

#include <errno.h>

#include "base/assert.h"
#include "base/mem.h"
#include "io/batches.h"
#include "io/file.h"
#include "observe/journal_files.h"

enum {
  MAGIC = 0x6a6f7572,
  GATHER_MS = 10,  // nobody waits for records
  FILES = 16,      // the size limit of a file is max_bytes / FILES, but between FILE_LEAST and FILE_MOST
  FILE_LEAST = 1 << 16,
  FILE_MOST = 64 << 20,
  EXPIRE_MS = 3600 * 1000,
  PENDING_KEPT = 1 << 18,  // an empty buffer keeps at most this much memory
};

struct journal {
  uint32_t magic;
  struct loop *loop;
  char *folder;
  uint32_t salt;
  struct batches batches;
  struct buf pending;
  size_t begun;  // where the last line in `pending` begins
  uint64_t lost;
  bool asked;    // the folder was checked
  bool failing;  // the last write failed
  uint64_t failed_at;
  struct fault why;  // why the last write failed
  // The members from here on belong to the thread that writes. The loop may use them only while no write is in
  // progress.
  struct buf batch;
  struct journal_file file;
  struct journal_limits limits, next_limits;
  uint64_t expired_at;
  bool expired;  // journal_expire has run
  struct fault failure;
};

// ---- writing

static uint64_t file_max(const struct journal *j) {
  uint64_t n = j->limits.max_bytes / FILES;
  return n < FILE_LEAST ? FILE_LEAST : n > FILE_MOST ? FILE_MOST : n;
}

static void expire(struct journal *j) {
  uint64_t now = clock_mono_ms(j->loop->clock);
  if (j->expired && now - j->expired_at < EXPIRE_MS) return;
  j->expired = true;
  j->expired_at = now;
  journal_expire(j->file.folder, &j->limits, clock_wall_ms(j->loop->clock));
}

static void write_lines(void *ctx) {
  struct journal *j = ctx;
  ASSERT_MAGIC(j, MAGIC);
  j->failure.code = FAULT_NONE;
  if (j->file.fd >= 0 && j->file.size >= file_max(j)) journal_file_close(&j->file);
  if (j->file.fd < 0) {
    if (!journal_file_open(&j->file, str_of(j->folder), file_max(j), j->loop->clock, j->salt, &j->failure)) return;
    j->expired = false;
  }
  if (!journal_file_append(&j->file, buf_view(&j->batch), &j->failure)) return;
  buf_reset(&j->batch);
  expire(j);
}

static bool take_lines(void *ctx) {
  struct journal *j = ctx;
  ASSERT_MAGIC(j, MAGIC);
  if (j->failing && clock_mono_ms(j->loop->clock) - j->failed_at < JOURNAL_RETRY_MS) return false;
  j->limits = j->next_limits;
  if (!j->batch.n) {
    struct buf empty = j->batch;
    j->batch = j->pending;
    j->pending = empty;
  }
  return j->batch.n > 0;
}

static void settle_lines(void *ctx) {
  struct journal *j = ctx;
  bool failed = j->failure.code != FAULT_NONE;
  if (failed) {
    j->failed_at = clock_mono_ms(j->loop->clock);
    if (!j->failing) log_error(j->loop->log, "records cannot be written to %s: %s", j->folder, j->failure.message);
    j->why = j->failure;
  }
  if (j->failing && !failed) log_info(j->loop->log, "records are written to %s again", j->folder);
  j->failing = failed;
  j->asked = true;
  buf_trim(&j->batch, PENDING_KEPT);
}

static bool is_failing(void *ctx, uint64_t *after_ms) {
  const struct journal *j = ctx;
  *after_ms = JOURNAL_RETRY_MS;
  return j->failing;
}

static void dispose(void *ctx) {
  struct journal *j = ctx;
  ASSERT_MAGIC(j, MAGIC);
  j->failing = false;  // one last attempt
  while (take_lines(j)) {
    write_lines(j);
    if (j->failure.code != FAULT_NONE) break;
  }
  journal_file_close(&j->file);
  buf_done(&j->pending);
  buf_done(&j->batch);
  mem_free(j->folder);
  j->magic = 0;
  mem_free(j);
}

static const struct batches_ops batches_ops = {take_lines, write_lines, settle_lines, is_failing, NULL, dispose};

// ---- the journal

struct journal *journal_new(struct loop *loop, str folder, const struct journal_limits *limits) {
  struct journal *j = MEM_NEW(struct journal);
  ASSERT(loop && folder.n);
  j->magic = MAGIC;
  j->loop = loop;
  j->folder = mem_alloc(folder.n + 1);
  memcpy(j->folder, folder.p, folder.n);
  j->folder[folder.n] = 0;
  rand_fill(loop->rand, &j->salt, sizeof j->salt);
  j->file.folder = j->file.fd = -1;
  j->next_limits = *limits;
  buf_init(&j->pending, JOURNAL_PENDING_MAX);
  buf_init(&j->batch, JOURNAL_PENDING_MAX);
  batches_init(&j->batches, loop, GATHER_MS, &batches_ops, j);
  return j;
}

void journal_free(struct journal **j) {
  struct journal *was = *j;
  *j = NULL;
  if (was) batches_close(&was->batches);
}

void journal_limit(struct journal *j, const struct journal_limits *limits) {
  ASSERT_MAGIC(j, MAGIC);
  j->next_limits = *limits;
}

struct buf *journal_begin(struct journal *j) {
  ASSERT_MAGIC(j, MAGIC);
  j->begun = j->pending.n;
  return &j->pending;
}

bool journal_end(struct journal *j) {
  struct buf *b = &j->pending;
  size_t n = b->n - j->begun;
  ASSERT(b->n >= j->begun && (n || b->over));
  if (!b->over && n <= JOURNAL_LINE_MAX) buf_char(b, '\n');
  if (b->over || n > JOURNAL_LINE_MAX) {
    b->n = j->begun;
    b->over = false;
    j->lost++;
    return false;
  }
  for (char *at = b->p + j->begun, *end = at + n; (at = memchr(at, '\n', (size_t)(end - at)));) *at = ' ';
  batches_due(&j->batches);
  return true;
}

bool journal_add(struct journal *j, str line) {
  buf_str(journal_begin(j), line);
  return journal_end(j);
}

bool journal_works(struct journal *j, const char **out_why) {
  ASSERT_MAGIC(j, MAGIC);
  if (!j->asked) {
    j->asked = true;
    if (!file_folder_fits(str_of(j->folder), &j->why)) {
      j->asked = false;  // the next call of journal_works checks the folder again
      *out_why = j->why.message;
      return false;
    }
  }
  *out_why = j->why.message;
  return !j->failing;
}

uint64_t journal_lost(const struct journal *j) {
  return j->lost;
}
