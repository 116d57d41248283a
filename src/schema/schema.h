// SPDX-License-Identifier: Apache-2.0
// Compiles a JSON Schema (draft 4, 6, 7, 2019-09 or 2020-12) once and applies it to any number of values.
//
// Schemas come from untrusted servers. A schema is rejected if it is invalid in its draft, exceeds the limits, or
// refers to an unknown document: documents are never fetched. Validation counts steps, which bounds the work for any
// schema and value.
#pragma once
#include "json/json.h"

enum schema_draft { SCHEMA_DRAFT_4, SCHEMA_DRAFT_6, SCHEMA_DRAFT_7, SCHEMA_DRAFT_2019_09, SCHEMA_DRAFT_2020_12 };

// A document that a schema may refer to.
struct schema_document {
  str uri;                  // absolute, without a fragment
  const struct json *root;  // the value and its text must outlive every schema compiled with this document
};

struct schema_options {
  enum schema_draft draft;  // draft of schemas whose "$schema" is missing or names no known draft
  size_t max_bytes;         // maximum length of the schema's text, not counting white space
  unsigned max_depth;       // maximum depth of nested objects and arrays
  size_t max_properties;    // maximum number of members in all "properties" objects together
  bool assert_formats;      // a wrong "format" is an error; otherwise "format" is ignored
  size_t max_steps;         // maximum number of steps for one value, in addition to one step for each of its bytes
  size_t max_errors;        // maximum number of errors reported for one value; see `more`
  const struct schema_document *documents;
  size_t document_count;
};

// Defaults: draft 2020-12, 64 KiB, depth 32, 512 properties, no format assertion, 2 Mi steps, 20 errors, no documents.
extern const struct schema_options schema_default_options;

struct schema;

// Compiles a schema. The result has its own copy of the text, without white space; the caller must free it. Returns
// NULL on failure. `f` then has a message, the JSON Pointer to the position in the schema as its path, and a code:
// FAULT_INVALID (invalid in its draft), FAULT_LIMIT, or FAULT_NOT_FOUND (a reference without a target).
struct schema *schema_compile(const struct json *root, const struct schema_options *options, struct fault *f);
void schema_free(struct schema **s);  // sets *s to NULL

enum schema_draft schema_draft(const struct schema *s);
const struct json *schema_source(const struct schema *s);  // returns the schema's own copy of the text, parsed
size_t schema_bytes(const struct schema *s);               // size in memory

struct schema_error {
  str instance;  // JSON Pointer to the invalid part of the value
  str keyword;   // the violated keyword
  str schema;    // JSON Pointer to that keyword in the schema, preceded by "URI#" if it is in another document
  str message;   // one sentence
  const struct json *part;  // the schema that contains the violated keyword
};

struct schema_result {
  bool valid;
  bool undecided;               // a limit on work or depth was reached: `valid` is false, and `fault` has the reason
  bool more;                    // further errors were found after max_errors
  size_t count;                 // number of errors
  struct schema_error *errors;  // allocated in the scratch arena
  struct fault fault;           // set if `undecided`
};

// Validates a value. Returns out->valid. `instance` must be a result of json_parse, because paths are computed from its
// spans. The errors are allocated in `scratch`; some refer to the text of the schema and of the value.
bool schema_validate(const struct schema *s, const struct json *instance, struct arena *scratch,
                     struct schema_result *out);

// Returns the smallest part of the schema that contains all violated keywords of a result. If that part has references,
// returns the whole schema instead, provided that the whole schema has at most max_bytes. Returns NULL if the part is
// larger than max_bytes.
const struct json *schema_failing(const struct schema *s, const struct schema_result *r, size_t max_bytes);
