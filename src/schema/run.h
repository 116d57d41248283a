// SPDX-License-Identifier: Apache-2.0
// One validation, shared by the files that apply rules.
#pragma once
#include "schema/schema_impl.h"

struct schema_run {
  const struct schema *schema;
  const struct json *root;  // the whole value
  struct arena *scratch;
  struct schema_result *out;
  struct regex_room regex;
  size_t steps;
  unsigned depth;
  unsigned quiet;  // above 0: a failure here is no error yet
  bool over;       // the limits are used up, and nothing counts any more
};

// The resources on the way here, innermost first, for references that look there.
struct schema_scope {
  const struct schema_scope *up;
  const struct schema_resource *resource;
};

// Which children of a value some schema has dealt with. NULL where nobody asks.
struct schema_marks {
  uint64_t *bits;
  size_t words;
};

// A schema being applied to a value.
struct schema_frame {
  const struct schema_node *node;
  const struct json *value;
  const struct schema_scope *scope;
  struct schema_marks *marks;
};

// Applies a schema to a value; `marks` are those of the value.
bool schema_eval(struct schema_run *r, const struct schema_node *n, const struct json *v,
                 const struct schema_scope *scope, struct schema_marks *marks);
// The same, without errors.
bool schema_test(struct schema_run *r, const struct schema_node *n, const struct json *v,
                 const struct schema_scope *scope, struct schema_marks *marks);

typedef bool schema_apply(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f);
schema_apply schema_apply_value, schema_apply_object, schema_apply_array, schema_apply_logic;

// False, for good, when there are not that many steps left.
bool schema_spend(struct schema_run *r, size_t steps);

// No use in looking further: a failure is known and nobody wants more errors.
static inline bool schema_enough(const struct schema_run *r) {
  return r->quiet || r->over || r->out->more;
}

// Adds an error about a keyword of the frame's schema; gives false.
bool schema_report(struct schema_run *r, const struct schema_frame *f, str keyword, const struct json *at,
                   const char *fmt, ...) __attribute__((format(printf, 5, 6)));

// At most so much of a text in a message, whole characters: "%.*s", SHOWN(text)
enum { SCHEMA_SHOWN = 80 };
int schema_shown(str text);
#define SHOWN(text) schema_shown(text), (text).p

struct schema_marks schema_marks_new(struct schema_run *r, const struct json *v);
void schema_marks_merge(struct schema_marks *into, const struct schema_marks *from);
static inline void schema_mark(struct schema_marks *m, size_t index) {
  m->bits[index / 64] |= (uint64_t)1 << index % 64;
}
static inline bool schema_marked(const struct schema_marks *m, size_t index) {
  return m->bits[index / 64] >> index % 64 & 1;
}
