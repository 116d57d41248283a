// SPDX-License-Identifier: Apache-2.0
// JSON as spans of its source text (RFC 8259, strict).
//
// json_parse checks every byte and builds nodes in an arena. A node keeps the span of its source text and copies
// nothing: unchanged values are forwarded as exactly those bytes, so numbers, key order, escapes and white space
// survive. The source text must outlive the nodes.
//
// json_parse rejects duplicate keys (compared after unescaping, case-sensitively), invalid UTF-8, lone surrogate
// escapes, raw control characters, trailing bytes, and more depth, bytes or nodes than the limits allow.
#pragma once
#include "base/arena.h"
#include "base/assert.h"
#include "base/fault.h"
#include "base/str.h"

enum json_type { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

enum json_flag {
  JSON_ESCAPED = 1,      // a string that contains a backslash
  JSON_KEY_ESCAPED = 2,  // a member whose key contains a backslash
  JSON_FOLDED = 4,       // a container without nodes for its contents: see json_parse_folding
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

// Upper bounds of all limits, as well as 4 GiB of text: walks over a value may recurse, and a node takes 48 bytes.
enum { JSON_DEEPEST = 1024, JSON_MOST_VALUES = 8 << 20 };

// Parses the whole of `text` as one value. NULL on failure: f has FAULT_INVALID or FAULT_LIMIT, a message, and the path
// "line L, column C"; f->limit is the exceeded limit.
struct json *json_parse(struct arena *a, str text, const struct json_limits *limits, struct fault *f);

// json_parse for a large text of which the caller reads little. A container at `depth` (1: the outermost value) that
// holds more than `values` values, or more than earlier containers left of them, is folded: checked like any other,
// with span and count, but without nodes. Read its contents by a walk over its span (json/scan.h) or by json_unfold.
struct json_fold {
  unsigned depth;
  uint32_t values;
};

// A container that may be folded gets at least a sixteenth of `values`. The whole text gets at most JSON_FOLD_MOST
// times `values` nodes, plus JSON_FOLD_OTHERS.
enum { JSON_FOLD_MOST = 4, JSON_FOLD_OTHERS = 4096 };

struct json *json_parse_folding(struct arena *a, str text, const struct json_limits *limits,
                                const struct json_fold *fold, struct fault *f);

// Builds the nodes of a folded container, in the arena; with `fold` (may be NULL) containers inside it stay folded.
// Returns true, without effect, if the container is not folded.
bool json_unfold(struct arena *a, struct json *v, const struct json_limits *limits, const struct json_fold *fold,
                 struct fault *f);

static inline str json_span(const struct json *v) {
  return (str){v->p, v->n};
}

// False for NULL.
static inline bool json_is_folded(const struct json *v) {
  return v && (v->flags & JSON_FOLDED);
}

// Returns the first element or member, or NULL. Like every function that reads a container, it needs one that is not
// folded.
static inline struct json *json_first(const struct json *container) {
  ASSERT(!(container->flags & JSON_FOLDED));
  return container->child;
}

// Walks the elements of an array or the members of an object.
#define JSON_EACH(it, container) for (const struct json *it = json_first(container); it; it = it->next)

// Returns the member with this (unescaped) key; NULL if it is absent, or v is NULL or no object.
struct json *json_get(const struct json *v, str key);

// Returns the element at an index; NULL if it is absent, or v is NULL or no array.
struct json *json_at(const struct json *v, size_t index);

// True for a node of that type; false for NULL.
static inline bool json_is(const struct json *v, enum json_type type) {
  return v && v->type == type;
}

// Gets the text of a string: unescaped in the arena if it has escapes, else a part of the source.
// False, with *out untouched, if v is NULL or no string.
bool json_string(const struct json *v, struct arena *a, str *out);

// Returns the unescaped key of a member.
str json_key(const struct json *member, struct arena *a);

// Returns whether the unescaped key of a member equals `key`; needs no memory.
bool json_key_is(const struct json *member, str key);

// Returns whether the unescaped key is one of these. False for an element of an array.
bool json_key_in(const struct json *member, const str *keys, size_t count);

// Returns whether v is a string equal to s after unescaping; needs no memory.
bool json_equals_str(const struct json *v, str s);

// False for fractions, for exponents without an integer result, and for values out of range.
bool json_int(const struct json *v, int64_t *out);
bool json_double(const struct json *v, double *out);
bool json_bool(const struct json *v, bool *out);

// Returns whether two values are equal: strings after unescaping, numbers by exact value (1 = 1.0 = 10e-1), objects in
// any key order. A number whose exponent has more than 17 digits equals only the same text.
bool json_same(const struct json *a, const struct json *b);
