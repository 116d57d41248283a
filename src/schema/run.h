// SPDX-License-Identifier: Apache-2.0
// The state of one validation, shared by validate.c and apply.c.
#pragma once
#include "base/assert.h"
#include "schema/schema_impl.h"

struct schema_run {
  const struct schema *schema;
  const struct json *root;  // the whole value that is validated
  struct arena *scratch;
  struct schema_result *out;
  struct regex_room regex;
  size_t steps;
  unsigned depth;
  unsigned quiet;  // errors are not reported while this counter is above 0
  bool over;       // the limits are exhausted, so the result is undecided
};

// The list of resources that were entered on the way to a schema, innermost first. It is needed for dynamic references.
struct schema_scope {
  const struct schema_scope *up;
  const struct schema_resource *resource;
};

// One bit for each child (element or member) of a value: set if a schema has evaluated the child. `bits` is NULL if no
// "unevaluated…" keyword needs marks.
struct schema_marks {
  uint64_t *bits;
  size_t words;
};

// The application of one schema to one value.
struct schema_frame {
  const struct schema_node *node;
  const struct json *value;
  const struct schema_scope *scope;
  struct schema_marks *marks;
};

// Applies a schema to a value. Marks the children that the schema evaluates in `marks`, which may be NULL.
bool schema_eval(struct schema_run *r, const struct schema_node *n, const struct json *v,
                 const struct schema_scope *scope, struct schema_marks *marks);
// Like schema_eval, but reports no errors.
bool schema_test(struct schema_run *r, const struct schema_node *n, const struct json *v,
                 const struct schema_scope *scope, struct schema_marks *marks);

bool schema_apply(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f);

// Charges steps. Returns false, and sets r->over, if not enough steps are left.
bool schema_spend(struct schema_run *r, size_t steps);

// Returns whether a failed rule may stop early, because no further errors will be reported.
static inline bool schema_enough(const struct schema_run *r) {
  return r->quiet || r->over || r->out->more;
}

// Adds an error to the result: the part `at` of the value violates a keyword of the frame's schema. Always returns
// false.
bool schema_report(struct schema_run *r, const struct schema_frame *f, str keyword, const struct json *at,
                   const char *fmt, ...) __attribute__((format(printf, 5, 6)));

// Messages show at most SCHEMA_SHOWN bytes of a text, cut at the end of a character. schema_shown returns the number of
// bytes to show. Usage: "%.*s", SHOWN(text)
enum { SCHEMA_SHOWN = 80 };
int schema_shown(str text);
#define SHOWN(text) schema_shown(text), (text).p

struct schema_marks schema_marks_new(struct schema_run *r, const struct json *v);
void schema_marks_merge(struct schema_marks *into, const struct schema_marks *from);
static inline void schema_mark(struct schema_marks *m, size_t index) {
  ASSERT(index / 64 < m->words);
  m->bits[index / 64] |= (uint64_t)1 << index % 64;
}
static inline bool schema_marked(const struct schema_marks *m, size_t index) {
  ASSERT(index / 64 < m->words);
  return m->bits[index / 64] >> index % 64 & 1;
}
