// SPDX-License-Identifier: Apache-2.0
// The compiled form, shared by the files of this folder. It is written while compiling and only read afterwards.
//
// A document is walked from its root; every schema in it becomes a node. Nodes hold rules: keywords in the form in
// which they are applied, keywords that depend on each other as one rule. A resource is what "$id" names: it has a base
// URI, a draft and anchors.
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
  VOCABULARY_REMARKS = 16,  // meta-data, content
  VOCABULARY_FORMAT = 32,
  VOCABULARY_FORMAT_ASSERTED = 64,
  VOCABULARY_USUAL = 63,
};

struct schema_anchor {
  struct schema_anchor *next;
  str name;  // "" for "$recursiveAnchor"
  struct schema_node *node;
  bool dynamic;
};

struct schema_resource {
  str uri;
  const struct json *root;      // of the resource
  const struct json *document;  // that it is in
  str document_uri;             // "" for the schema itself
  struct schema_anchor *anchors;
  enum schema_draft draft;
  bool declared;  // "$schema" says so
  unsigned vocabularies;
};

// A bit for each enum json_type; and integers alone.
enum {
  TYPES_ALL = 0x7f,
  TYPES_INTEGER = 0x80,
  TYPES_NUMBER = 1 << JSON_NUMBER,
  TYPES_STRING = 1 << JSON_STRING,
  TYPES_ARRAY = 1 << JSON_ARRAY,
  TYPES_OBJECT = 1 << JSON_OBJECT,
};

struct schema_node {
  const struct json *source;  // the key in the table of nodes is this pointer
  const struct schema_resource *resource;
  struct schema_node *next;  // to be compiled
  struct schema_rule *rules;
  uint32_t rule_count;
  uint8_t types;        // that "type" admits
  uint8_t unevaluated;  // types for which a rule asks what the others left
  bool never;           // the schema false
};

// In the order in which they are applied.
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

// What a property asks for when it is there: a schema, or other properties.
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
  uint8_t types;  // of values it is about
  str keyword;
  const struct json *source;  // the keyword's value
  union {
    uint64_t count;
    const struct names *strings;  // OP_ENUM, when all of them are strings; else NULL
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
      const struct names *named;  // values: nodes
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
  struct arena arena;  // everything below
  struct schema_options options;
  const struct json *root;
  const struct schema_node *start;
};

// ---- while compiling ----

struct schema_compiler {
  struct schema *schema;
  struct arena *arena;
  struct fault *fault;
  struct map nodes;                   // by source
  struct map resources;               // by URI
  struct schema_node *first, **last;  // to be compiled
};

// Sets the fault with the place of `at` in its document; gives false.
bool schema_fail(struct schema_compiler *c, const struct schema_resource *r, const struct json *at,
                 enum fault_code code, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

// load.c: documents, resources and references.
const struct schema_node *schema_load(struct schema_compiler *c, str uri, const struct json *root);
struct schema_node *schema_node_of(struct schema_compiler *c, const struct json *source);  // of one that was walked
const struct schema_node *schema_resolve(struct schema_compiler *c, const struct schema_node *from,
                                         const struct json *reference, const struct schema_anchor **out_anchor);

// draft.c: which draft and vocabularies "$schema" stands for.
struct schema_dialect {
  enum schema_draft draft;
  unsigned vocabularies;
  bool declared;
};
bool schema_dialect(struct schema_compiler *c, const struct schema_resource *r, const struct json *schema,
                    struct schema_dialect *out);

// keywords.c: the table.
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
// The member of a schema, when its draft knows the keyword.
const struct json *schema_keyword_get(const struct schema_node *n, str name);
bool schema_compile_node(struct schema_compiler *c, struct schema_node *n);

struct schema_rule *schema_rule_add(struct schema_compiler *c, struct schema_node *n, enum schema_op op, unsigned types,
                                    const struct json *member);
bool schema_fail_at(struct schema_compiler *c, const struct schema_node *n, const struct json *at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
// Strings that differ, as an array in the arena.
bool schema_strings(struct schema_compiler *c, const struct schema_node *n, const struct json *list, const str **out);

schema_keyword_compile schema_compile_properties, schema_compile_items, schema_compile_contains, schema_compile_list,
    schema_compile_single, schema_compile_if, schema_compile_dependent, schema_compile_ref, schema_compile_dynamic_ref,
    schema_compile_unevaluated;

// place.c: the JSON Pointer of a node, found by its span.
void schema_place(struct buf *out, const struct json *root, const struct json *at);

// unique.c: two elements that are the same; false when there are none. Costs steps; *steps is SIZE_MAX when they ran
// out.
bool schema_find_twins(const struct json *array, struct arena *scratch, size_t *steps, size_t *out_first,
                       size_t *out_second);

// meta.c: the meta-schemas, made by the build.
struct schema_meta {
  const char *uri, *text;
};
extern const struct schema_meta schema_metas[];
extern const size_t schema_meta_count;
