// SPDX-License-Identifier: Apache-2.0
// JSONPath. The input is a query, a newline, and a document. Whatever they are, compiling and running end, errors say
// something, and the normalized path of every node is a query that finds that node and no other.
#include "base/assert.h"
#include "json/path/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { NODES_CHECKED = 20, PATH_ROOM = 1 << 20 };

static const struct json_path_limits limits = {.max_steps = 100000, .max_nodes = 1000};

static void check_location(struct arena *a, str root, str node) {
  struct fault f = {0};
  struct json_path_nodes found;
  struct buf text;
  buf_init(&text, PATH_ROOM);
  json_path_locate(&text, root, node.p);
  ASSERT(!text.over);
  struct json_path *path = json_path_compile(a, buf_view(&text), &f);
  ASSERT(path || f.code == FAULT_LIMIT);
  if (path && json_path_find(path, root, &limits, a, &found, &f)) ASSERT(found.count == 1 && found.list[0].p == node.p);
  buf_done(&text);
}

// A document that is no JSON may be told as such, or not; one that is never is.
static void run(struct arena *a, const struct json_path *path, str root, bool is_json) {
  struct fault f = {0};
  struct json_path_nodes nodes;
  if (!json_path_find(path, root, &limits, a, &nodes, &f)) {
    ASSERT((f.code == FAULT_LIMIT || (f.code == FAULT_INVALID && !is_json)) && f.message[0]);
    return;
  }
  for (size_t i = 0; i < nodes.count; i++)
    ASSERT(nodes.list[i].p >= root.p && nodes.list[i].p + nodes.list[i].n <= root.p + root.n);
  if (!is_json) return;
  for (size_t i = 0; i < nodes.count && i < NODES_CHECKED; i++) check_location(a, root, nodes.list[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct arena a;
  struct fault f = {0};
  str query, text = STR("");
  str_cut((str){(const char *)data, n}, '\n', &query, &text);
  arena_init(&a);
  struct json_path *path = json_path_compile(&a, query, &f);
  ASSERT(path || ((f.code == FAULT_INVALID || f.code == FAULT_LIMIT) && f.message[0]));
  if (path) run(&a, path, text, json_parse(&a, text, &json_default_limits, &f) != NULL);
  arena_done(&a);
  return 0;
}
