// SPDX-License-Identifier: Apache-2.0
// The compiled form of a schema, shared by the files of this folder. The compiled form does not change after the
// compilation.
//
// A document is walked from its root; every schema in it becomes a node. A node holds rules. A rule is a compiled
// keyword, or several keywords that depend on each other. A resource is the part of a document that an "$id" names: it
// has a base URI, a draft and anchors.
#pragma once
#include "base/buf.h"
#include "base/map.h"
#include "schema/exact.h"
#include "schema/format.h"
#include "schema/name_set.h"
#include "schema/regex.h"
#include "schema/schema.h"

enum schema_vocabulary {
  VOCABULARY_CORE = 1,
  VOCABULARY_APPLICATOR = 2,
  VOCABULARY_VALIDATION = 4,
  VOCABULARY_UNEVALUATED = 8,
  VOCABULARY_REMARKS = 16,  // vocabularies for meta-data and content, which reject no values
  VOCABULARY_FORMAT = 32,
  VOCABULARY_FORMAT_ASSERTED = 64,
  VOCABULARY_USUAL = 63,
};

struct schema_anchor {
  struct schema_anchor *next;
  str name;  // empty for "$recursiveAnchor"
  struct schema_node *node;
  bool dynamic;
};

struct schema_resource {
  str uri;
  const struct json *root;
  const struct json *document;  // root of the document that contains the resource
  str document_uri;             // empty for the schema itself
  struct schema_anchor *anchors;
  enum schema_draft draft;
  bool declared;  // "$schema" names the draft
  unsigned vocabularies;
};

// Sets of types: one bit for each value of enum json_type, and one bit for integers.
enum {
  TYPES_ALL = 0x7f,
  TYPES_INTEGER = 0x80,
  TYPES_NUMBER = 1 << JSON_NUMBER,
  TYPES_STRING = 1 << JSON_STRING,
  TYPES_ARRAY = 1 << JSON_ARRAY,
  TYPES_OBJECT = 1 << JSON_OBJECT,
};

struct schema_node {
  const struct json *source;  // JSON of the schema; this pointer is the node's key in schema_compiler.nodes
  const struct schema_resource *resource;
  struct schema_node *next;  // next node in the queue of nodes to compile
  struct schema_rule *rules;
  uint32_t rule_count;
  uint8_t types;        // types that "type" allows
  uint8_t unevaluated;  // types of values for which the node has an "unevaluated…" rule
  bool never;           // this is the schema `false`
};

// The kinds of rules, in the order in which they are applied.
enum schema_op {
  OP_ENUM,
  OP_CONST,
  OP_MINIMUM,
  OP_MAXIMUM,
  OP_EXCLUSIVE_MINIMUM,
  OP_EXCLUSIVE_MAXIMUM,
  OP_MULTIPLE,
  OP_LENGTH_MIN,
  OP_LENGTH_MAX,
  OP_PATTERN,
  OP_FORMAT,
  OP_COUNT_MIN,
  OP_COUNT_MAX,
  OP_REQUIRED,
  OP_UNIQUE,
  OP_PROPERTIES,
  OP_PROPERTY_NAMES,
  OP_DEPENDENT,
  OP_ITEMS,
  OP_CONTAINS,
  OP_REF,
  OP_DYNAMIC_REF,
  OP_ALL,
  OP_ANY,
  OP_ONE,
  OP_NOT,
  OP_IF,
  OP_UNEVALUATED,
};

struct schema_pattern {
  const struct regex *regex;
  const struct schema_node *node;
};

// What a keyword such as "dependencies" requires if the property `name` is present: a schema or other properties.
struct schema_dependent {
  str name;
  const struct schema_node *node;
  const str *required;
  size_t required_count;
};

struct schema_nodes {
  const struct schema_node **list;
  size_t count;
};

struct schema_rule {
  uint8_t op;     // enum schema_op
  uint8_t types;  // types of values that the rule applies to
  str keyword;
  const struct json *source;  // the keyword's value
  union {
    uint64_t count;
    const struct name_set *strings;  // for OP_ENUM: the values if all are strings; otherwise NULL
    struct exact_divisor divisor;
    const struct regex *regex;
    const struct schema_format *format;
    const struct schema_node *node;  // OP_NOT, OP_REF, OP_PROPERTY_NAMES, OP_UNEVALUATED
    struct schema_nodes nodes;       // OP_ALL, OP_ANY, OP_ONE
    struct {
      const str *list;
      size_t count;
    } required;
    struct {
      const struct name_set *named;  // maps names to nodes
      const struct schema_pattern *patterns;
      size_t pattern_count;
      const struct schema_node *rest;
    } properties;
    struct {
      const struct schema_dependent *list;
      size_t count;
    } dependent;
    struct {
      struct schema_nodes first;
      const struct schema_node *rest;
      str rest_keyword;
    } items;
    struct {
      const struct schema_node *node;
      uint64_t min, max;
      bool marks;
    } contains;
    struct {
      const struct schema_node *node;
      str anchor;
    } dynamic;
    struct {
      const struct schema_node *condition, *yes, *no;
    } branch;
  };
};

struct schema {
  struct arena arena;  // memory for all other members
  struct schema_options options;
  const struct json *root;
  const struct schema_node *start;
};

// ---- while compiling ----

struct schema_compiler {
  struct schema *schema;
  struct arena *arena;
  struct fault *fault;
  struct map nodes;                   // maps a schema's source to its node
  struct map resources;               // maps a URI to its resource
  struct schema_node *first, **last;  // queue of nodes to compile
};

// Sets the fault, with the JSON Pointer to `at` as its path. Always returns false.
bool schema_fail(struct schema_compiler *c, const struct schema_resource *r, const struct json *at,
                 enum fault_code code, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

// Loads a document: finds the identifiers and anchors of its schemas, and makes their nodes (load.c).
const struct schema_node *schema_load(struct schema_compiler *c, str uri, const struct json *root);
// Returns the node of a schema, or NULL if the walk has not reached `source` yet.
struct schema_node *schema_node_of(struct schema_compiler *c, const struct json *source);
const struct schema_node *schema_resolve(struct schema_compiler *c, const struct schema_node *from,
                                         const struct json *reference, const struct schema_anchor **out_anchor);

// Where the value of a keyword contains schemas. keywords.c has the table of keywords.
enum schema_children { CHILD_NONE, CHILD_SCHEMA, CHILD_LIST, CHILD_MAP, CHILD_ITEMS, CHILD_DEPENDENCIES };
typedef bool schema_keyword_compile(struct schema_compiler *c, struct schema_node *n, const struct json *member);
struct schema_keyword {
  const char *name;
  uint8_t from, to;  // enum schema_draft
  unsigned vocabulary;
  enum schema_children children;
  schema_keyword_compile *compile;
};
const struct schema_keyword *schema_keyword_find(const struct schema_resource *r, const struct json *member);
bool schema_compile_node(struct schema_compiler *c, struct schema_node *n);

// In place.c: appends the JSON Pointer that leads from `root` to the value `at`, which is found by its span.
void schema_place(struct buf *out, const struct json *root, const struct json *at);

// In unique.c: finds two equal elements. Returns false if all elements differ. Subtracts the cost of the search from
// *steps, or sets *steps to SIZE_MAX if *steps is too small.
bool schema_find_twins(const struct json *array, struct arena *scratch, size_t *steps, size_t *out_first,
                       size_t *out_second);

// The meta-schemas. The build generates their table in meta.c.
struct schema_meta {
  const char *uri, *text;
};
extern const struct schema_meta schema_metas[];
extern const size_t schema_meta_count;
