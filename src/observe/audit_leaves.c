// SPDX-License-Identifier: Apache-2.0
// Writes the leaves and the signed heads of the Merkle tree over an audit log. The leaves follow from the lines, so
// leaves that are missing, for example after a crash, are read from the log.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "observe/audit_impl.h"
#include "observe/gateway_key.h"

#define MAGIC "TGLEAF1\n"

enum { MAGIC_SIZE = sizeof MAGIC - 1, BLOCK = 1024 };  // BLOCK: leaves that are read or written at a time
_Static_assert(MAGIC_SIZE + sizeof(uint64_t) == AUDIT_LEAVES_HEADER, "the header has a magic text and a number");

static bool failed(struct audit_leaves *l, const char *path, const char *what) {
  fault_set(&l->why, FAULT_IO, "%s cannot be %s: %s", path, what, strerror(errno));
  l->failing = true;
  return false;
}

static off_t place_of(uint64_t leaf) {
  return (off_t)(AUDIT_LEAVES_HEADER + leaf * SHA256_SIZE);
}

static bool write_at(int fd, const void *bytes, size_t n, off_t at) {
  for (const char *p = bytes; n;) {
    ssize_t k = pwrite(fd, p, n, at);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) return false;
    p += k;
    n -= (size_t)k;
    at += k;
  }
  return true;
}

// ---- FILE.leaves

static bool read_header(int fd, uint64_t *out_first, uint64_t *out_count) {
  char header[AUDIT_LEAVES_HEADER];
  struct stat st;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || pread(fd, header, sizeof header, 0) != (ssize_t)sizeof header ||
      memcmp(header, MAGIC, MAGIC_SIZE) != 0)
    return false;
  memcpy(out_first, header + MAGIC_SIZE, sizeof *out_first);
  *out_count = ((uint64_t)st.st_size - AUDIT_LEAVES_HEADER) / SHA256_SIZE;
  return *out_first > 0;
}

int audit_leaves_read(const char *path, uint64_t *out_first, uint64_t *out_count, struct fault *f) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd >= 0 && read_header(fd, out_first, out_count)) return fd;
  fault_set(f, FAULT_IO, fd < 0 ? "%s cannot be read: %s" : "%s is damaged, so it cannot prove anything", path,
            strerror(errno));
  if (fd >= 0) close(fd);
  return -1;
}

static void close_leaves(struct audit_leaves *l) {
  if (l->fd >= 0) close(l->fd);
  l->fd = -1;
}

static bool is_in_place(const struct audit_leaves *l) {
  struct stat st;
  return l->fd >= 0 && lstat(l->path, &st) == 0 && st.st_ino == l->inode.number && st.st_dev == l->inode.device;
}

static bool open_leaves(struct audit_leaves *l) {
  struct stat st;
  if (is_in_place(l)) return true;
  close_leaves(l);
  l->fd = open(l->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (l->fd < 0 || fstat(l->fd, &st) != 0) return failed(l, l->path, "opened");
  l->inode = (struct audit_inode){st.st_dev, st.st_ino};
  return true;
}

// Empties FILE.leaves. The tree then begins with the line `first`.
static bool begin_tree(struct audit_leaves *l, uint64_t first) {
  char header[AUDIT_LEAVES_HEADER];
  memcpy(header, MAGIC, MAGIC_SIZE);
  memcpy(header + MAGIC_SIZE, &first, sizeof first);
  l->first = first;
  l->edge = (struct tree_edge){0};
  if (ftruncate(l->fd, 0) == 0 && write_at(l->fd, header, sizeof header, 0)) return true;
  return failed(l, l->path, "written");
}

// ---- leaves of earlier lines

struct filling {
  struct audit_leaves *leaves;
  uint64_t next, until;  // numbers of the next line to store, and of the line after the last
  struct buf block;
  bool ok;
};

static bool write_block(struct filling *x) {
  uint64_t from = x->next - x->leaves->first - x->block.n / SHA256_SIZE;
  if (x->block.n && !write_at(x->leaves->fd, x->block.p, x->block.n, place_of(from)))
    x->ok = failed(x->leaves, x->leaves->path, "written");
  buf_reset(&x->block);
  return x->ok;
}

static bool fill_line(void *ctx, str line, const struct audit_place *p) {
  struct filling *x = ctx;
  struct tree_hash h;
  if (p->seq < x->next) return true;
  if (p->seq >= x->until || p->seq != x->next || !tree_hash_read(p->hash, &h)) return false;
  buf_add(&x->block, h.bytes, sizeof h.bytes);
  x->next++;
  return x->block.n < BLOCK * SHA256_SIZE || write_block(x);
}

static bool first_line(void *ctx, str line, const struct audit_place *p) {
  *(uint64_t *)ctx = p->seq;
  return false;
}

// Stores the leaves of the lines from `next` to `seq`.
static bool fill(struct audit_file *a, uint64_t next, uint64_t seq) {
  struct audit_leaves *l = &a->leaves;
  struct filling x = {.leaves = l, .next = next, .until = seq + 1, .ok = true};
  struct fault f;
  buf_init(&x.block, BLOCK * SHA256_SIZE);
  bool ok = audit_each_line(a->path, fill_line, &x, &f) && write_block(&x);
  buf_done(&x.block);
  if (ok && x.next == seq + 1) return true;
  if (x.ok) {
    fault_set(&l->why, FAULT_IO, "line %llu of the audit log %s is missing", (unsigned long long)x.next, a->path);
    l->failing = true;
  }
  return false;
}

// Makes FILE.leaves end with the leaf of the line `seq`.
static bool catch_up(struct audit_file *a, uint64_t seq) {
  struct audit_leaves *l = &a->leaves;
  struct fault f;
  uint64_t first = 0, count = 0, oldest = seq + 1;
  if (!open_leaves(l)) return false;
  bool known = read_header(l->fd, &first, &count) && first <= seq + 1;
  if (known && first + count == seq + 1) {
    l->first = first;
    return true;
  }
  if (known && first + count > seq + 1) {  // the log has lost lines, and continues before the end of the leaves
    l->edge = (struct tree_edge){0};
    l->first = first;
    return ftruncate(l->fd, place_of(seq + 1 - first)) == 0 || failed(l, l->path, "written");
  }
  if (known) {
    l->first = first;
    if (fill(a, first + count, seq)) return true;
  }
  // The tree begins with the oldest line that the log still has.
  if (!audit_each_line(a->path, first_line, &oldest, &f) || !begin_tree(l, oldest)) return false;
  return fill(a, oldest, seq);
}

void audit_leaves_append(struct audit_file *a, uint64_t seq) {
  struct audit_leaves *l = &a->leaves;
  if (!l->signer) return;
  // The new lines are in the log already, but not after `seq`, so catch_up does not read them.
  if (catch_up(a, seq)) {
    off_t at = place_of(seq + 1 - l->first);
    if (write_at(l->fd, l->fresh.p, l->fresh.n, at)) l->failing = false;
    else failed(l, l->path, "written");
  }
  atomic_fetch_add(&a->unsigned_lines, l->fresh.n / SHA256_SIZE);
  buf_reset(&l->fresh);
}

// ---- FILE.heads

// Adds the leaves that other heads do not cover yet to the edge.
static bool read_edge(struct audit_leaves *l) {
  uint64_t first, count;
  struct tree_hash block[64];
  if (!open_leaves(l) || !read_header(l->fd, &first, &count)) return false;
  if (first != l->first || count < l->edge.size) l->edge = (struct tree_edge){0};
  l->first = first;
  while (l->edge.size < count) {
    uint64_t left = count - l->edge.size, n = left < 64 ? left : 64;
    if (pread(l->fd, block, n * sizeof *block, place_of(l->edge.size)) != (ssize_t)(n * sizeof *block)) return false;
    for (uint64_t i = 0; i < n; i++) {
      struct tree_hash leaf = tree_leaf((str){(const char *)block[i].bytes, SHA256_SIZE});
      tree_add(&l->edge, &leaf);
    }
  }
  return true;
}

static bool append_head(struct audit_leaves *l, str line) {
  int fd = open(l->heads_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  bool ok = fd >= 0 && write(fd, line.p, line.n) == (ssize_t)line.n;
  if (!ok) failed(l, l->heads_path, "written");
  if (fd >= 0) close(fd);
  return ok;
}

void audit_leaves_sign(struct audit_file *a) {
  struct audit_leaves *l = &a->leaves;
  struct arena arena;
  struct buf text;
  char time[CLOCK_TEXT];
  if (!l->signer || !catch_up(a, a->seq) || !read_edge(l) || !l->edge.size) return;
  size_t n = clock_print(clock_wall_ms(a->clock), time);
  struct tree_head head = {.first = l->first, .size = l->edge.size, .root = tree_root(&l->edge), .time = {time, n}};
  arena_init(&arena);
  buf_init(&text, 2 * TREE_HEAD_MAX);
  tree_head_put_signed(&head, &text);
  head.key = gateway_key_public(l->signer);
  head.signature = gateway_key_sign(l->signer, buf_view(&text), &arena);
  buf_reset(&text);
  tree_head_put(&head, &text);
  buf_char(&text, '\n');
  ASSERT(!text.over);
  if (append_head(l, buf_view(&text))) atomic_store(&a->unsigned_lines, 0);
  buf_done(&text);
  arena_done(&arena);
}

// ---- life

static char *name_of(const char *path, const char *end) {
  size_t room = strlen(path) + strlen(end) + 1;
  char *name = mem_alloc(room);
  snprintf(name, room, "%s%s", path, end);
  return name;
}

void audit_leaves_open(struct audit_file *a, const struct audit_options *opt) {
  a->leaves = (struct audit_leaves){.signer = opt->signer, .head_ms = opt->head_ms, .fd = -1};
  a->leaves.path = name_of(a->path, ".leaves");
  a->leaves.heads_path = name_of(a->path, ".heads");
  buf_init(&a->leaves.fresh, AUDIT_PENDING_MAX);
}

void audit_leaves_close(struct audit_file *a) {
  close_leaves(&a->leaves);
  buf_done(&a->leaves.fresh);
  mem_free(a->leaves.path);
  mem_free(a->leaves.heads_path);
}

void audit_leaves_set_aside(struct audit_file *a, const char *name) {
  char *leaves = name_of(name, ".leaves"), *heads = name_of(name, ".heads");
  rename(a->leaves.path, leaves);  // both files may be missing
  rename(a->leaves.heads_path, heads);
  mem_free(leaves);
  mem_free(heads);
  close_leaves(&a->leaves);
}
