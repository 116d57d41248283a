// SPDX-License-Identifier: Apache-2.0
#include "catalog/directory/tree.h"

#include "base/ascii.h"
#include "base/assert.h"
#include "base/buf.h"
#include "base/text/utf8.h"

enum { SEGMENT_MAX = 64, SHOWN_MAX = 80 };

static bool is_segment(str s) {
  if (s.n == 0 || s.n > SEGMENT_MAX || s.p[0] == '_' || s.p[0] == '-') return false;
  for (size_t i = 0; i < s.n; i++)
    if (!ascii_is_lower(s.p[i]) && !ascii_is_digit(s.p[i]) && s.p[i] != '_' && s.p[i] != '-') return false;
  return true;
}

// Returns the first segment of *rest, a path without its leading slash, and removes this segment from *rest.
static str take_segment(str *rest) {
  str head, tail = STR_NONE;
  str_cut(*rest, '/', &head, &tail);
  *rest = tail;
  return head;
}

static bool refuse(struct fault *f, const char *what, str path) {
  fault_set(f, FAULT_INVALID, "%s (got '%.*s')", what, STR_ARG(path));
  return false;
}

static bool check_segment(str s, size_t index, bool last, str path, struct fault *f) {
  if (s.n == 0) {
    fault_set(f, FAULT_INVALID, "empty segment at index %zu in '%.*s'", index, STR_ARG(path));
  } else if (str_eq(s, STR("*"))) {
    if (last) return true;
    fault_set(f, FAULT_INVALID, "wildcard '*' may only appear as the final segment in '%.*s'", STR_ARG(path));
  } else if (index == 0 && (!is_segment(s) || !ascii_is_lower(s.p[0]))) {
    fault_set(f, FAULT_INVALID, "root segment '%.*s' must start with [a-z] and match [a-z0-9_-]{1,64}",
              STR_ARG(utf8_cut(s, SHOWN_MAX)));
  } else if (!is_segment(s)) {
    fault_set(f, FAULT_INVALID, "segment '%.*s' does not match the grammar [a-z0-9][a-z0-9_-]{0,63}",
              STR_ARG(utf8_cut(s, SHOWN_MAX)));
  } else {
    return true;
  }
  return false;
}

bool tree_path_check(str path, struct fault *f) {
  if (path.n == 0) {
    fault_set(f, FAULT_INVALID, "path must not be empty");
    return false;
  }
  if (path.p[0] != '/') return refuse(f, "path must start with '/'", path);
  if (path.n == 1) return true;
  if (path.p[path.n - 1] == '/') return refuse(f, "path must not end with '/'", path);
  str rest = str_from(path, 1);
  for (size_t index = 0; rest.n; index++) {
    str s = take_segment(&rest);
    if (!check_segment(s, index, rest.n == 0, path, f)) return false;
  }
  return true;
}

static const struct tree_node *find_child(const struct tree_node *node, str segment) {
  for (size_t i = 0; i < node->child_count; i++)
    if (str_eq(node->children[i].segment, segment)) return &node->children[i];
  return NULL;
}

const struct tree_node *tree_find(const struct tree *t, str path, struct fault *f) {
  if (!tree_path_check(path, f)) return NULL;
  const struct tree_node *node = &t->root;
  for (str rest = str_from(path, 1); rest.n && node;) {
    str segment = take_segment(&rest);
    if (!str_eq(segment, STR("*"))) node = find_child(node, segment);
  }
  if (node) return node;
  fault_set(f, FAULT_NOT_FOUND, "path %.*s does not resolve in the catalog", STR_ARG(path));
  return NULL;
}

const struct tree_node *tree_list(const struct tree *t, const struct tree_node *node, size_t *out_count) {
  ASSERT(node && out_count);
  bool leaf = node != &t->root && !node->child_count;
  *out_count = leaf ? 1 : node->child_count;
  return leaf ? node : node->children;
}

size_t tree_item_of(const struct tree *t, const struct tree_node *leaf) {
  ASSERT(!leaf->child_count && leaf->count == 1);
  return t->order[leaf->first];
}

enum { NAMES_SHOWN = 6 };

// Returns whether a node is a group with a meaningless name, such as "other" or "part-1". A list shows the contents of
// such a group instead of its name.
static bool is_unnamed(const struct tree_node *node) {
  return node->child_count && (str_eq(node->segment, STR("other")) || str_starts(node->segment, STR("part-")));
}

// Appends names to a list that already has `named` names, up to NAMES_SHOWN in all. Returns the new number of names;
// NAMES_SHOWN + 1 means that names were left out.
static size_t add_names(const struct tree_node *list, size_t count, size_t named, struct buf *b) {
  for (size_t i = 0; i < count && named <= NAMES_SHOWN; i++) {
    if (is_unnamed(&list[i])) named = add_names(list[i].children, list[i].child_count, named, b);
    else if (named++ == NAMES_SHOWN) buf_str(b, STR(", …"));
    else buf_printf(b, "%s%.*s", named > 1 ? ", " : ": ", STR_ARG(list[i].segment));
  }
  return named;
}

str tree_describe(const struct tree *t, const struct tree_node *node, str noun, struct arena *a) {
  enum { ROOM = 1024 };
  size_t n;
  const struct tree_node *below = tree_list(t, node, &n);
  struct buf b;
  buf_init(&b, ROOM);
  buf_printf(&b, "%zu %.*s%s", (size_t)node->count, STR_ARG(noun), node->count == 1 ? "" : "s");
  add_names(below, n, 0, &b);
  str text = arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}
