// SPDX-License-Identifier: Apache-2.0
// JSON Schema: drafts 4, 6, 7, 2019-09 and 2020-12, compiled once and then applied to values.
//
// Schemas come from servers that nobody checked. A schema is refused when it is not one by the rules of its draft, when
// it is larger than the limits, and when it refers to a document that is not at hand: nothing is ever fetched. Work on
// a value is counted in steps, so that neither a schema nor a value can keep the program busy.
#pragma once
#include "json/json.h"

enum schema_draft { SCHEMA_DRAFT_4, SCHEMA_DRAFT_6, SCHEMA_DRAFT_7, SCHEMA_DRAFT_2019_09, SCHEMA_DRAFT_2020_12 };

// A document that a schema may refer to.
struct schema_document {
  str uri;                  // absolute, without a fragment
  const struct json *root;  // outlives every schema compiled with it, as does its text
};

struct schema_options {
  enum schema_draft draft;  // when "$schema" names none that is known
  size_t max_bytes;         // of the schema's text, without white space
  unsigned max_depth;       // of objects and arrays within each other
  size_t max_properties;    // all that "properties" name, in all of the schema
  bool assert_formats;      // "format" decides; else it is a remark
  size_t max_steps;         // for one value, beside one for each byte of it
  size_t max_errors;        // reported for one value
  const struct schema_document *documents;
  size_t document_count;
};

// 2020-12, 64 KiB, depth 32, 512 properties, formats not asserted, 2 Mi steps, 20 errors, no documents.
extern const struct schema_options schema_default_options;

struct schema;

// The schema in compiled form, which keeps a copy of the text without its white space; the caller frees it.
// NULL on failure: f has FAULT_INVALID (no schema of its draft), FAULT_LIMIT or FAULT_NOT_FOUND (a reference to
// nowhere), what is wrong in a sentence, and as its path the JSON Pointer of the place in the schema.
struct schema *schema_compile(const struct json *root, const struct schema_options *options, struct fault *f);
void schema_free(struct schema **s);  // sets *s to NULL

enum schema_draft schema_draft(const struct schema *s);
const struct json *schema_source(const struct schema *s);  // its own copy of the text, parsed
size_t schema_bytes(const struct schema *s);               // of memory

struct schema_error {
  str instance;             // JSON Pointer to what is wrong in the value
  str keyword;              // what it offends
  str schema;               // JSON Pointer to that keyword in the schema, behind "URI#" in another document
  str message;              // a sentence
  const struct json *part;  // the schema that has the keyword
};

struct schema_result {
  bool valid;
  bool undecided;               // it took too many steps or went too deep; valid is false, fault says which
  bool more;                    // there are more errors than these
  size_t count;                 // of errors
  struct schema_error *errors;  // in the scratch arena
  struct fault fault;           // set when undecided
};

// Gives out->valid. `instance` must be as json_parse left it: places are told by its spans. The errors live in
// `scratch`; some refer to the text of the schema and of the value.
bool schema_validate(const struct schema *s, const struct json *instance, struct arena *scratch,
                     struct schema_result *out);

// The smallest part of the schema that says how to put all errors of a result right: a schema in which they all lie,
// the whole when that refers to others. NULL when it is larger than max_bytes.
const struct json *schema_failing(const struct schema *s, const struct schema_result *r, size_t max_bytes);
