// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"
#include "schema/schema_impl.h"
#include "json/pointer.h"

// Spans of children lie within the spans of their parents, so the way to a node needs not be kept anywhere.
void schema_place(struct buf *out, const struct json *root, const struct json *at) {
  struct arena scratch;
  arena_init(&scratch);
  for (const struct json *v = root; v && v != at;) {
    const struct json *child = v->child;
    size_t index = 0;
    for (; child && !(at->p >= child->p && at->p < child->p + child->n); child = child->next) index++;
    struct str_digits digits;
    if (child) json_pointer_push(out, child->key ? json_key(child, &scratch) : str_from_u64(index, &digits));
    v = child;
  }
  arena_done(&scratch);
}
