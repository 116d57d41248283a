// SPDX-License-Identifier: Apache-2.0
// The paths for browsing a catalog: /namespace, /namespace/cluster, /namespace/cluster/item.
//
// The first level has the namespaces. A namespace with at most 20 items has them directly below it; a larger one has
// clusters of items whose names share a word for their subject (issues, pulls), and below clusters that are still too
// large further clusters or parts. Every item is a leaf in exactly one place. Only the root may have more than
// TREE_WIDTH children, and the path of every node other than a leaf fits on a card if its namespace does
// (identify_namespaces with card_id_fits). The tree depends on the items only, not on their order.
//
//   path    = "/" [ segment ( "/" segment )* ]
//   segment = [a-z0-9][a-z0-9_-]{0,63} | "*"         the first begins with a letter; "*" is the last
#pragma once
#include "base/arena.h"
#include "base/crypto/hash.h"
#include "base/fault.h"

enum {
  TREE_LEAVES = 20,  // items directly below a node
  TREE_WIDTH = 50,   // children of a node that is not the root
};

struct tree_item {
  str id;
  str namespace;
  str name;  // as the id has it
};

struct tree_node {
  str path;     // "/" for the root; valid as an argument
  str segment;  // its last part
  const struct tree_node *children;
  uint32_t child_count;   // 0: this is a leaf
  uint32_t first, count;  // items below: order[first] ... order[first + count - 1]
};

struct tree {
  struct tree_node root;
  const uint32_t *order;  // indexes of items
};

// Builds a tree in the arena, which has copies of everything. The tree is immutable.
struct tree *tree_build(const struct tree_item *items, size_t count, const struct hash_key *seed, struct arena *a);

// Returns whether the path is well-formed; if not, f has FAULT_INVALID and the rule.
bool tree_path_check(str path, struct fault *f);

// Returns the node at a path; a "*" at its end has no effect. NULL: FAULT_INVALID as above, or FAULT_NOT_FOUND.
const struct tree_node *tree_find(const struct tree *t, str path, struct fault *f);

// Returns the list that browsing the node shows: its children, by bytes with nodes before leaves, or a leaf itself.
// Only the root can have more than TREE_WIDTH.
const struct tree_node *tree_list(const struct tree *t, const struct tree_node *node, size_t *out_count);

// Returns the item of a leaf.
size_t tree_item_of(const struct tree *t, const struct tree_node *leaf);

// Describes the items below a node: "12 tools: close_issue, create_issue, …". `noun` is "tool".
str tree_describe(const struct tree *t, const struct tree_node *node, str noun, struct arena *a);
