// SPDX-License-Identifier: Apache-2.0
// The Merkle tree over the lines of an audit log (RFC 6962): a leaf is the `hash` of a line. A signed head of the tree
// and one hash for each level of the tree prove that a line is in the log. No other part of the log is needed.
//
// FILE.leaves has the leaves: a header with the number (`seq`) of the first line, then 32 bytes for each line.
// FILE.heads has a line of JSON for each head that the gateway has signed:
//
//   {"first":1,"size":214,"root":"…","time":"2026-01-31T12:00:00.000Z","key":"… (base64url)","sig":"… (base64url)"}
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/crypto/hash.h"
#include "base/fault.h"
#include "json/json.h"

enum { TREE_LEVELS = 64, TREE_HEAD_MAX = 1024 };

struct tree_hash {
  unsigned char bytes[SHA256_SIZE];
};

struct tree_hash tree_leaf(str data);

// The roots of the complete subtrees of the first `size` leaves. A zeroed struct is an empty tree.
struct tree_edge {
  uint64_t size;
  struct tree_hash roots[TREE_LEVELS];  // the largest subtree first
  unsigned count;
};

void tree_add(struct tree_edge *t, const struct tree_hash *leaf);
struct tree_hash tree_root(const struct tree_edge *t);

// Collects the hashes that prove that the leaf at `index` is in the tree of the first `size` leaves. The caller adds
// all `size` leaves in order; the path is then complete.
struct tree_path {
  uint64_t index, size;
  struct tree_hash hashes[TREE_LEVELS];
  unsigned count;
};
// Returns the hash of the leaf at `at`.
typedef struct tree_hash tree_leaf_at(void *ctx, uint64_t at);
void tree_prove(struct tree_path *p, tree_leaf_at *leaf, void *ctx);

// Returns the root to which the path leads from the leaf. Returns false if the path does not fit index and size.
bool tree_follow(const struct tree_path *p, const struct tree_hash *leaf, struct tree_hash *out_root);

// A head of the tree.
struct tree_head {
  uint64_t first, size;  // number of the first line, and number of leaves
  struct tree_hash root;
  str time, key, signature;  // `key` is the public key in base64url
};

// Appends the text that is signed.
void tree_head_put_signed(const struct tree_head *h, struct buf *out);
void tree_head_put(const struct tree_head *h, struct buf *out);  // appends the JSON object
// Reads a head; the strings are in the arena. Does not verify the signature.
bool tree_head_read(const struct json *v, struct arena *a, struct tree_head *out);
// Returns whether the signature is valid for the key in the head.
bool tree_head_verify(const struct tree_head *h);

void tree_hash_put(const struct tree_hash *h, struct buf *out);  // hexadecimal digits
bool tree_hash_read(str text, struct tree_hash *out);
