// SPDX-License-Identifier: Apache-2.0
// JSON as spans of its source text (RFC 8259, strict).
//
// json_parse checks every byte and builds nodes in an arena. A node keeps the span of source text it
// was read from and copies nothing: what is not changed is forwarded as exactly those bytes, so
// numbers, key order, escapes and white space survive. The source text must outlive the nodes.
//
// Refused at the door: duplicate keys (compared after unescaping, case-sensitive), invalid UTF-8,
// lone surrogate escapes, raw control characters, trailing bytes, more depth, bytes or nodes than
// the limits allow.
#pragma once
#include "base/arena.h"
#include "base/assert.h"
#include "base/fault.h"
#include "base/str.h"

enum json_type { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

enum json_flag {
  JSON_ESCAPED = 1,      // a string that contains a backslash
  JSON_KEY_ESCAPED = 2,  // so does the key
  JSON_FOLDED = 4,       // a container without nodes for what it holds: see json_parse_folding
};

struct json {
  const char *p;       // span: a string with its quotes, a container with its brackets
  const char *key;     // in an object: the key between its quotes, still escaped; else NULL
  struct json *next;   // next element or member
  struct json *child;  // first element or member
  uint32_t n;          // bytes of the span
  uint32_t key_n;
  uint32_t count;  // elements or members
  uint8_t type;    // enum json_type
  uint8_t flags;   // enum json_flag
};

struct json_limits {
  size_t max_bytes;
  unsigned max_depth;
  size_t max_values;  // 0: JSON_MOST_VALUES
};

extern const struct json_limits json_default_limits;  // 64 MiB, depth 128

// No limit allows more than this, nor 4 GiB of text: walks over a value may recurse, and each value of a text takes
// 48 bytes of memory.
enum { JSON_DEEPEST = 1024, JSON_MOST_VALUES = 8 << 20 };

// The whole of `text` as one value. NULL on failure: f has FAULT_INVALID or FAULT_LIMIT, a message that says
// what is wrong, and the path "line L, column C"; f->limit says which limit.
struct json *json_parse(struct arena *a, str text, const struct json_limits *limits, struct fault *f);

// The same for a text that is large and of which little is looked at: a container at `depth` (1: the outermost value)
// that holds more than `values` values, or what others have left of them, gets no nodes for these: it is folded. It is
// checked as any other, and keeps its span and count; what it holds is walked over in its span (json/scan.h), or
// unfolded.
struct json_fold {
  unsigned depth;
  uint32_t values;
};

// A container that may be folded has a sixteenth of the values in any case. All in all, with what is outside of such
// containers, so many times `values` get a node, and a few more.
enum { JSON_FOLD_MOST = 4, JSON_FOLD_OTHERS = 4096 };

struct json *json_parse_folding(struct arena *a, str text, const struct json_limits *limits,
                                const struct json_fold *fold, struct fault *f);

// Gives a folded container its nodes, in the arena; with `fold` (may be NULL) something deeper in it stays folded. True
// also when it is not folded.
bool json_unfold(struct arena *a, struct json *v, const struct json_limits *limits, const struct json_fold *fold,
                 struct fault *f);

static inline str json_span(const struct json *v) {
  return (str){v->p, v->n};
}

// False for NULL.
static inline bool json_is_folded(const struct json *v) {
  return v && (v->flags & JSON_FOLDED);
}

// The first element or member; NULL when there is none. A folded container has to be unfolded before: so for all that
// looks into one.
static inline struct json *json_first(const struct json *container) {
  ASSERT(!(container->flags & JSON_FOLDED));
  return container->child;
}

// Walks the elements of an array or the members of an object.
#define JSON_EACH(it, container) for (const struct json *it = json_first(container); it; it = it->next)

// The member with this (unescaped) key; NULL when there is none, or v is NULL or no object.
struct json *json_get(const struct json *v, str key);

// The element at an index; NULL when there is none, or v is NULL or no array.
struct json *json_at(const struct json *v, size_t index);

// True for a node of that type; false for NULL.
static inline bool json_is(const struct json *v, enum json_type type) {
  return v && v->type == type;
}

// The text of a string, unescaped into the arena when it has escapes, else the span itself.
// False, with *out untouched, when v is NULL or no string.
bool json_string(const struct json *v, struct arena *a, str *out);

// The unescaped key of a member.
str json_key(const struct json *member, struct arena *a);

// The unescaped key of a member is this one; needs no memory.
bool json_key_is(const struct json *member, str key);

// The unescaped key is one of these. False for an element of an array.
bool json_key_in(const struct json *member, const str *keys, size_t count);

// v is a string equal to s after unescaping; needs no memory.
bool json_equals_str(const struct json *v, str s);

// Exact: false for fractions, exponents that do not give an integer, and values out of range.
bool json_int(const struct json *v, int64_t *out);
bool json_double(const struct json *v, double *out);
bool json_bool(const struct json *v, bool *out);

// Same value: strings after unescaping, numbers by exact value (1 = 1.0 = 10e-1), objects in any key order.
// A number whose exponent has more than 17 digits is the same only when it is written the same.
bool json_same(const struct json *a, const struct json *b);
