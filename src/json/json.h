// SPDX-License-Identifier: Apache-2.0
// A JSON parser whose nodes are spans of the source text (RFC 8259, strict).
//
// json_parse checks every byte and builds a tree of nodes in an arena. Nodes point into the source text, which must
// therefore outlive them. To forward a value unchanged, copy its span: numbers, key order, escapes and white space are
// preserved.
//
// json_parse rejects duplicate keys (compared after unescaping), invalid UTF-8, lone surrogate escapes, raw control
// characters, bytes after the value, and text that exceeds the limits on depth, bytes or number of values.
#pragma once
#include "base/arena.h"
#include "base/assert.h"
#include "base/fault.h"
#include "base/str.h"

enum json_type { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

enum json_flag {
  JSON_ESCAPED = 1,      // a string that contains a backslash
  JSON_KEY_ESCAPED = 2,  // a member whose key contains a backslash
  JSON_FOLDED = 4,       // a container whose contents have no nodes (see json_parse_folding)
};

struct json {
  const char *p;       // start of the span: a string includes its quotes, a container its brackets
  const char *key;     // start of the key, still escaped, after its opening quote; NULL if this is not a member
  struct json *next;   // next element or member of the same container
  struct json *child;  // first element or member
  uint32_t n;          // length of the span in bytes
  uint32_t key_n;
  uint32_t count;  // number of elements or members
  uint8_t type;    // enum json_type
  uint8_t flags;   // enum json_flag
};

struct json_limits {
  size_t max_bytes;
  unsigned max_depth;
  size_t max_values;  // 0 means JSON_MOST_VALUES
};

extern const struct json_limits json_default_limits;  // 64 MiB, depth 128

// Upper bounds for struct json_limits. They are needed because functions may recurse into a value, and because a node
// takes 48 bytes. A text must also be smaller than 4 GiB.
enum { JSON_DEEPEST = 1024, JSON_MOST_VALUES = 8 << 20 };

// Parses the whole of `text` as one value. Returns NULL on failure: `f` has FAULT_INVALID or FAULT_LIMIT, a message,
// and the path "line L, column C". For FAULT_LIMIT, f->limit says which limit was exceeded.
struct json *json_parse(struct arena *a, str text, const struct json_limits *limits, struct fault *f);

// json_parse_folding is like json_parse, but saves memory if the caller reads little of a large text: it folds large
// containers, which means that it builds no nodes for their contents. A container at `depth` (1 is the outermost value)
// is folded if its values would bring the number of values read so far above `values`. A folded container is checked
// like any other, and has a span and a count. To read its contents, walk over the span (json/scan.h) or call
// json_unfold.
struct json_fold {
  unsigned depth;
  uint32_t values;
};

// A container with at most json_fold.values / 16 values is not folded, however many values precede the container. The
// exception is a text that would then get more than JSON_FOLD_MOST * json_fold.values + JSON_FOLD_OTHERS nodes.
enum { JSON_FOLD_MOST = 4, JSON_FOLD_OTHERS = 4096 };

struct json *json_parse_folding(struct arena *a, str text, const struct json_limits *limits,
                                const struct json_fold *fold, struct fault *f);

// Builds the nodes for the contents of a folded container. Large containers inside it are folded again as `fold` says;
// `fold` may be NULL. Returns true, without effect, if `v` is not folded.
bool json_unfold(struct arena *a, struct json *v, const struct json_limits *limits, const struct json_fold *fold,
                 struct fault *f);

static inline str json_span(const struct json *v) {
  return (str){v->p, v->n};
}

// Returns whether `v` is a folded container. `v` may be NULL.
static inline bool json_is_folded(const struct json *v) {
  return v && (v->flags & JSON_FOLDED);
}

// Returns the first element or member, or NULL. This function and others that read the contents of a container must not
// be called for a folded container.
static inline struct json *json_first(const struct json *container) {
  ASSERT(!(container->flags & JSON_FOLDED));
  return container->child;
}

// Walks the elements of an array or the members of an object.
#define JSON_EACH(it, container) for (const struct json *it = json_first(container); it; it = it->next)

// Returns the member with this (unescaped) key. Returns NULL if there is no such member, or if `v` is NULL or not an
// object.
struct json *json_get(const struct json *v, str key);

// Returns the element at an index. Returns NULL if the array is too short, or if `v` is NULL or not an array.
struct json *json_at(const struct json *v, size_t index);

// Returns whether `v` is a node of this type. Returns false if `v` is NULL.
static inline bool json_is(const struct json *v, enum json_type type) {
  return v && v->type == type;
}

// Gets the text of a string: a part of the source or, if it has escapes, unescaped text in the arena. Returns false,
// with *out unchanged, if `v` is NULL or not a string.
bool json_string(const struct json *v, struct arena *a, str *out);

// Returns the unescaped key of a member.
str json_key(const struct json *member, struct arena *a);

// Returns whether the unescaped key of a member equals `key`. Allocates no memory.
bool json_key_is(const struct json *member, str key);

// Returns whether the unescaped key of a member is in the list `keys`. Returns false if `member` is an element of an
// array.
bool json_key_in(const struct json *member, const str *keys, size_t count);

// Returns whether `v` is a string that equals `s` after unescaping. Allocates no memory.
bool json_equals_str(const struct json *v, str s);

// json_int reads an integer (1e2 is an integer, 1e-2 is not), json_double a number, json_bool a boolean. Each returns
// false if the value has another type or is out of range.
bool json_int(const struct json *v, int64_t *out);
bool json_double(const struct json *v, double *out);
bool json_bool(const struct json *v, bool *out);

// Returns whether two values are equal. Strings are compared after unescaping, numbers by exact value (1 = 1.0 =
// 10e-1), and objects regardless of the order of keys. A number whose exponent has more than 17 digits equals only a
// number with the same text.
bool json_same(const struct json *a, const struct json *b);
