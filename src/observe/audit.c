// SPDX-License-Identifier: Apache-2.0
#include "observe/audit.h"

#include "base/assert.h"
#include "base/mem.h"
#include "observe/audit_impl.h"

enum {
  MAGIC = 0x61756474,
  RETRY_MS = 1000,
  LOCKED_MS = 100,                 // retry interval if another process held the lock
  STALL_MS = 2000,                 // a write that takes longer counts as failed
  BUSY = 1 << 20,                  // if more bytes are pending, tokens are not counted
  SPARED = AUDIT_PENDING_MAX / 4,  // if more bytes than this are pending, lines about denied requests are dropped
};

struct audit {
  uint32_t magic;
  struct audit_options opt;
  struct buf pending;  // records added since the last audit_take
  struct buf batch;    // records being written, or kept after a failed write
  size_t lost;         // lines dropped since the last message about them
  uint64_t all_lost;
  unsigned breaks;
  bool aside;  // start a new file before the next write
  bool closing;
  uint64_t head_at;  // monotonic time when the last head was signed, or the log was opened
  // The last check found the files missing or locked. The next write must then happen even if no lines are pending.
  bool doubtful;
  bool trying;  // value of `doubtful` when the current batch was taken
  bool failing;
  uint64_t failed_at, looked_at, taken_at;
  // While `taken` is true, only the thread that writes the batch may use the members after `taken`.
  bool taken;
  struct audit_file file;
  bool take_aside, take_head, ok, written, headless, leafless;
  struct fault why;
};

// ---- adding

static void add_text(struct buf *b, str text, uint32_t *out_n, bool *out_has) {
  *out_has = text.p != NULL;
  *out_n = (uint32_t)text.n;
  buf_str(b, text);
}

static void lose(struct audit *a, size_t before) {
  ASSERT(before <= a->pending.n);
  a->pending.over = false;
  a->pending.n = before;
  a->lost++;
  a->all_lost++;
}

void audit_add(struct audit *a, const struct audit_event *e) {
  ASSERT_MAGIC(a, MAGIC);
  struct buf *b = &a->pending;
  size_t before = b->n;
  struct audit_record r = {0};
  buf_add(b, &r, sizeof r);
  audit_put_body(e, clock_wall_ms(a->opt.clock), b);
  r.body = (uint32_t)(b->n - before - sizeof r);
  if (!a->failing && before < BUSY) {
    add_text(b, e->counted_in, &r.in, &r.has_in);
    add_text(b, e->counted_out, &r.out, &r.has_out);
  }
  bool spared = e->decision == AUDIT_DENY && a->failing && b->n > SPARED;
  if (b->over || spared) lose(a, before);
  else memcpy(b->p + before, &r, sizeof r);
}

// ---- writing

static void note_failure(struct audit *a) {
  if (!a->failing)
    log_error(a->opt.log, "%s; %s", a->why.message,
              a->opt.required ? "all requests are refused until the log can be written (audit.on_failure: deny)"
                              : "lines are kept in memory until the log can be written");
  a->failing = true;
  a->failed_at = clock_mono_ms(a->opt.clock);
}

static void note_success(struct audit *a) {
  if (a->failing) log_info(a->opt.log, "the audit log %s can be written again", a->file.path);
  if (a->lost) log_error(a->opt.log, "%zu lines were lost because the audit log could not be written", a->lost);
  a->failing = false;
  a->lost = 0;
}

uint64_t audit_retry_ms(const struct audit *a) {
  ASSERT_MAGIC(a, MAGIC);
  return atomic_load(&a->file.state) == AUDIT_LOCKED_OUT ? LOCKED_MS : RETRY_MS;
}

static bool is_head_due(const struct audit *a) {
  if (!a->opt.signer || !(atomic_load(&a->file.unsigned_lines) || a->pending.n)) return false;
  return a->closing || clock_mono_ms(a->opt.clock) - a->head_at >= a->opt.head_ms;
}

uint64_t audit_head_after(const struct audit *a) {
  ASSERT_MAGIC(a, MAGIC);
  if (!a->opt.signer || !atomic_load(&a->file.unsigned_lines)) return 0;
  uint64_t passed = clock_mono_ms(a->opt.clock) - a->head_at;
  return passed < a->opt.head_ms ? a->opt.head_ms - passed : 1;
}

bool audit_take(struct audit *a) {
  ASSERT_MAGIC(a, MAGIC);
  bool head = is_head_due(a);
  bool waits = a->failing && clock_mono_ms(a->opt.clock) - a->failed_at < audit_retry_ms(a);
  if (a->taken || waits || !(a->pending.n || a->failing || a->aside || a->doubtful || head)) return false;
  if (a->batch.n && a->pending.n <= a->batch.max - a->batch.n) {
    buf_str(&a->batch, buf_view(&a->pending));
    buf_reset(&a->pending);
  } else if (!a->batch.n) {
    struct buf empty = a->batch;
    a->batch = a->pending;
    a->pending = empty;
  }
  a->take_aside = a->aside;
  a->take_head = head;
  if (head) a->head_at = clock_mono_ms(a->opt.clock);
  a->trying = a->doubtful;
  a->aside = a->doubtful = false;
  a->taken = true;
  a->taken_at = clock_mono_ms(a->opt.clock);
  atomic_store(&a->file.state, AUDIT_WORKS);
  return true;
}

void audit_write(struct audit *a) {
  ASSERT_MAGIC(a, MAGIC);
  ASSERT(a->taken);
  a->ok = audit_file_write(&a->file, &a->batch, a->take_aside, a->take_head, &a->written, &a->why);
}

// If the last write found a break in the chain of lines, logs the break, even if that write then failed.
static void note_break(struct audit *a) {
  if (a->file.broke.code) log_error(a->opt.log, "%s", a->file.broke.message);
  a->file.broke.code = FAULT_NONE;
}

void audit_settle(struct audit *a) {
  ASSERT_MAGIC(a, MAGIC);
  ASSERT(a->taken);
  a->taken = false;
  note_break(a);
  if (a->written) buf_reset(&a->batch);
  buf_trim(&a->batch, 1 << 20);
  if (a->ok) note_success(a);
  else note_failure(a);
  if (a->file.headless && !a->headless && !a->opt.required)
    log_warn(a->opt.log, "%s cannot be written: %s", a->file.head_path, strerror(a->file.head_errno));
  a->headless = a->file.headless;
  if (a->file.leaves.failing && !a->leafless)
    log_warn(a->opt.log, "no receipts can be made for lines of the audit log: %s", a->file.leaves.why.message);
  a->leafless = a->file.leaves.failing;
  a->breaks = a->file.breaks;
}

void audit_flush(struct audit *a) {
  if (!audit_take(a)) return;
  audit_write(a);
  audit_settle(a);
}

void audit_rotate(struct audit *a) {
  ASSERT_MAGIC(a, MAGIC);
  a->aside = true;
}

// ---- readiness

enum audit_readiness audit_ready(struct audit *a) {
  ASSERT_MAGIC(a, MAGIC);
  uint64_t now = clock_mono_ms(a->opt.clock);
  if (!a->opt.required) return AUDIT_READY;
  if (a->failing) return AUDIT_REFUSE;
  if (a->taken) {  // another thread writes
    uint64_t waited = now - a->taken_at;
    int state = atomic_load(&a->file.state);
    if (state == AUDIT_BROKEN || waited >= STALL_MS) return AUDIT_REFUSE;
    if (state == AUDIT_LOCKED_OUT) return waited < AUDIT_GLANCE_MS ? AUDIT_WAIT : AUDIT_REFUSE;
    return a->trying ? AUDIT_WAIT : AUDIT_READY;
  }
  // If a file is missing, for example because it was moved away, the operation must wait for the next write, which
  // creates the file again.
  if (now != a->looked_at) a->doubtful |= !audit_file_in_place(&a->file);
  a->looked_at = now;
  return a->doubtful ? AUDIT_WAIT : AUDIT_READY;
}

bool audit_failing(const struct audit *a) {
  ASSERT_MAGIC(a, MAGIC);
  return a->failing;
}

const char *audit_why(const struct audit *a) {
  return a->taken ? "" : a->why.message;
}

uint64_t audit_lost(const struct audit *a) {
  return a->all_lost;
}

unsigned audit_breaks(const struct audit *a) {
  return a->breaks;
}

// ---- life

struct audit *audit_open(const struct audit_options *opt, struct fault *f) {
  ASSERT(opt->clock);
  struct audit *a = MEM_NEW(struct audit);
  a->magic = MAGIC;
  a->opt = *opt;
  buf_init(&a->pending, AUDIT_PENDING_MAX);
  buf_init(&a->batch, AUDIT_PENDING_MAX);
  a->head_at = clock_mono_ms(opt->clock);
  bool ok = audit_file_open(&a->file, opt, &a->why);
  note_break(a);
  a->breaks = a->file.breaks;
  if (ok) return a;
  *f = a->why;
  if (opt->required) audit_close(&a);
  else note_failure(a);
  return a;
}

void audit_close(struct audit **audit) {
  struct audit *a = *audit;
  if (!a) return;
  *audit = NULL;
  ASSERT_MAGIC(a, MAGIC);
  ASSERT(!a->taken);
  a->closing = true;
  for (int i = 0; i < 2; i++) {  // the first flush writes a batch that failed before, the second the pending lines
    a->failed_at = 0;
    audit_flush(a);
  }
  if (a->pending.n + a->batch.n)
    log_error(a->opt.log,
              "some lines of the audit log were lost because they could not be written before the log was closed: %s",
              a->why.message);
  audit_file_close(&a->file);
  buf_done(&a->pending);
  buf_done(&a->batch);
  a->magic = 0;
  mem_free(a);
}
