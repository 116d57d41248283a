// SPDX-License-Identifier: Apache-2.0
#include "observe/audit_tree.h"

#include "base/ascii.h"
#include "base/assert.h"
#include "base/crypto/ed25519.h"
#include "json/write.h"

struct tree_hash tree_leaf(str data) {
  struct tree_hash h;
  char room[1 + SHA256_SIZE];
  ASSERT(data.n <= SHA256_SIZE);
  room[0] = 0;
  if (data.n) memcpy(room + 1, data.p, data.n);
  hash_sha256((str){room, 1 + data.n}, h.bytes);
  return h;
}

static struct tree_hash join(const struct tree_hash *left, const struct tree_hash *right) {
  struct tree_hash h;
  char room[1 + 2 * SHA256_SIZE];
  room[0] = 1;
  memcpy(room + 1, left->bytes, SHA256_SIZE);
  memcpy(room + 1 + SHA256_SIZE, right->bytes, SHA256_SIZE);
  hash_sha256((str){room, sizeof room}, h.bytes);
  return h;
}

// The number of subtrees is the number of ones in `size`. Each trailing one is a subtree that the new leaf completes.
void tree_add(struct tree_edge *t, const struct tree_hash *leaf) {
  struct tree_hash h = *leaf;
  ASSERT(t->count <= TREE_LEVELS);
  for (uint64_t n = t->size; n & 1; n >>= 1) h = join(&t->roots[--t->count], &h);
  t->roots[t->count++] = h;
  t->size++;
}

struct tree_hash tree_root(const struct tree_edge *t) {
  struct tree_hash h;
  if (!t->count) {
    hash_sha256(STR(""), h.bytes);
    return h;
  }
  h = t->roots[t->count - 1];
  for (unsigned i = t->count - 1; i-- > 0;) h = join(&t->roots[i], &h);
  return h;
}

// ---- paths

// Returns the largest power of two that is below n.
static uint64_t split(uint64_t n) {
  ASSERT(n > 1);
  return UINT64_C(1) << (63 - __builtin_clzll(n - 1));
}

static struct tree_hash root_of(uint64_t from, uint64_t n, tree_leaf_at *leaf, void *ctx) {
  struct tree_edge t = {0};
  for (uint64_t i = 0; i < n; i++) {
    struct tree_hash h = leaf(ctx, from + i);
    tree_add(&t, &h);
  }
  return tree_root(&t);
}

void tree_prove(struct tree_path *p, tree_leaf_at *leaf, void *ctx) {
  ASSERT(p->index < p->size);
  struct tree_hash down[TREE_LEVELS];
  uint64_t from = 0, n = p->size;
  p->count = 0;
  while (n > 1) {
    uint64_t left = split(n);
    ASSERT(p->count < TREE_LEVELS);
    if (p->index - from < left) {
      down[p->count++] = root_of(from + left, n - left, leaf, ctx);
      n = left;
    } else {
      down[p->count++] = root_of(from, left, leaf, ctx);
      from += left;
      n -= left;
    }
  }
  for (unsigned i = 0; i < p->count; i++) p->hashes[i] = down[p->count - 1 - i];
}

// RFC 9162, section 2.1.3.2.
bool tree_follow(const struct tree_path *p, const struct tree_hash *leaf, struct tree_hash *out_root) {
  if (p->index >= p->size || p->count > TREE_LEVELS) return false;
  uint64_t at = p->index, last = p->size - 1;
  struct tree_hash h = *leaf;
  for (unsigned i = 0; i < p->count; i++) {
    if (!last) return false;
    if ((at & 1) || at == last) {
      h = join(&p->hashes[i], &h);
      for (; at && !(at & 1); last >>= 1) at >>= 1;
    } else {
      h = join(&h, &p->hashes[i]);
    }
    at >>= 1;
    last >>= 1;
  }
  if (last) return false;
  *out_root = h;
  return true;
}

// ---- heads

void tree_hash_put(const struct tree_hash *h, struct buf *out) {
  char hex[2 * SHA256_SIZE + 1];
  hash_hex(h->bytes, SHA256_SIZE, hex);
  buf_str(out, str_of(hex));
}

bool tree_hash_read(str text, struct tree_hash *out) {
  if (text.n != 2 * SHA256_SIZE) return false;
  for (size_t i = 0; i < SHA256_SIZE; i++) {
    int high = ascii_hex(text.p[2 * i]), low = ascii_hex(text.p[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out->bytes[i] = (unsigned char)(high << 4 | low);
  }
  return true;
}

void tree_head_put_signed(const struct tree_head *h, struct buf *out) {
  buf_printf(out, "toolgate-audit-head\n%llu\n%llu\n", (unsigned long long)h->first, (unsigned long long)h->size);
  tree_hash_put(&h->root, out);
  buf_printf(out, "\n%.*s\n", STR_ARG(h->time));
}

void tree_head_put(const struct tree_head *h, struct buf *out) {
  struct json_writer w = json_writer(out);
  struct buf root;
  buf_init(&root, 2 * SHA256_SIZE);
  tree_hash_put(&h->root, &root);
  json_begin_object(&w);
  json_member_u64(&w, STR("first"), h->first);
  json_member_u64(&w, STR("size"), h->size);
  json_member_str(&w, STR("root"), buf_view(&root));
  json_member_str(&w, STR("time"), h->time);
  json_member_str(&w, STR("key"), h->key);
  json_member_str(&w, STR("sig"), h->signature);
  json_end_object(&w);
  buf_done(&root);
}

bool tree_head_read(const struct json *v, struct arena *a, struct tree_head *out) {
  struct tree_head h;
  int64_t first, size;
  str root;
  if (!json_int(json_get(v, STR("first")), &first) || !json_int(json_get(v, STR("size")), &size) || first < 1 ||
      size < 1 || !json_string(json_get(v, STR("root")), a, &root) || !tree_hash_read(root, &h.root))
    return false;
  if (!json_string(json_get(v, STR("time")), a, &h.time) || !json_string(json_get(v, STR("key")), a, &h.key) ||
      !json_string(json_get(v, STR("sig")), a, &h.signature) || h.time.n > 64)
    return false;
  h.first = (uint64_t)first;
  h.size = (uint64_t)size;
  *out = h;
  return true;
}

bool tree_head_verify(const struct tree_head *h) {
  struct ed25519 *key = ed25519_read_public(h->key);
  struct buf text;
  buf_init(&text, TREE_HEAD_MAX);
  tree_head_put_signed(h, &text);
  bool ok = key && !text.over && ed25519_verify_text(key, buf_view(&text), h->signature);
  buf_done(&text);
  ed25519_free(&key);
  return ok;
}
