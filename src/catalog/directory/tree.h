// SPDX-License-Identifier: Apache-2.0
// The paths for browsing a catalog: /namespace, /namespace/cluster, /namespace/cluster/item.
//
// The first level consists of the namespaces. If a namespace has at most 20 items, they are directly below it.
// Otherwise, items whose names contain the same subject (issues, pulls) form a cluster; clusters that are still too
// large are divided further. Every item is a leaf in exactly one place. Only the root may have more than TREE_WIDTH
// children. If the path of a namespace fits on a card, so do the paths of all inner nodes below it (identify_namespaces
// with card_id_fits). The tree depends on the set of items, not on their order.
//
//   path    = "/" [ segment ( "/" segment )* ]
//   segment = [a-z0-9][a-z0-9_-]{0,63} | "*"         the first begins with a letter; "*" is the last
#pragma once
#include "base/arena.h"
#include "base/crypto/hash.h"
#include "base/fault.h"

enum {
  TREE_LEAVES = 20,  // maximum number of items directly below a node
  TREE_WIDTH = 50,   // maximum number of children of a node other than the root
};

struct tree_item {
  str id;
  str namespace;
  str name;  // the name part of the id
};

struct tree_node {
  str path;     // "/" for the root; can be passed to tree_find
  str segment;  // last segment of the path
  const struct tree_node *children;
  uint32_t child_count;   // 0 for a leaf
  uint32_t first, count;  // the leaves below this node are order[first] to order[first + count - 1]
};

struct tree {
  struct tree_node root;
  const uint32_t *order;  // indexes of items
};

// Builds an immutable tree in the arena, with copies of all strings.
struct tree *tree_build(const struct tree_item *items, size_t count, const struct hash_key *seed, struct arena *a);

// Returns whether the path is well-formed. If not, `f` has FAULT_INVALID and the broken rule.
bool tree_path_check(str path, struct fault *f);

// Returns the node at a path; a "*" at the end of the path has no effect. Returns NULL with FAULT_INVALID if the path
// is malformed, or with FAULT_NOT_FOUND if there is no such node.
const struct tree_node *tree_find(const struct tree *t, str path, struct fault *f);

// Returns the list of nodes that a client sees at a path: the children of the node, sorted by bytes with inner nodes
// before leaves; for a leaf, only the leaf itself. Only the list of the root can be longer than TREE_WIDTH.
const struct tree_node *tree_list(const struct tree *t, const struct tree_node *node, size_t *out_count);

// Returns the index of the leaf's item in the array `items` that was passed to tree_build.
size_t tree_item_of(const struct tree *t, const struct tree_node *leaf);

// Describes the items below a node: "12 tools: close_issue, create_issue, …". `noun` is the singular, such as "tool".
str tree_describe(const struct tree *t, const struct tree_node *node, str noun, struct arena *a);
