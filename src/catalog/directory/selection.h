// SPDX-License-Identifier: Apache-2.0
// Lets a model select one of the offered ids: writes a schema that allows only these ids, and checks the model's
// answer.
#pragma once
#include "base/buf.h"
#include "base/fault.h"
#include "json/write.h"

enum selection_form { SELECTION_JSON_SCHEMA, SELECTION_OPENAI, SELECTION_ANTHROPIC };

// Finds a form by its name: "json_schema", "openai" or "anthropic". If the name is unknown, returns false; the message
// in `f` lists the valid names.
bool selection_form_find(str name, enum selection_form *out, struct fault *f);

// Writes a JSON Schema that accepts an object whose member `selection` is one of the ids. `form` selects the format:
// the schema alone, a response_format for OpenAI, or a tool for Anthropic. Duplicate ids are written once. Returns
// false, with nothing written, if there are no ids.
bool selection_schema(enum selection_form form, const str *ids, size_t count, struct buf *out, struct fault *f);

enum selection_status { SELECTION_ACCEPTED, SELECTION_REPAIRED, SELECTION_REJECTED };

struct selection {
  enum selection_status status;
  str selected;        // one of the candidates, or STR_NONE if the answer was rejected
  str raw;             // the model's answer, or STR_NONE
  const char *repair;  // how the answer was matched: "strip", "case_fold", "prefix", or NULL if it equals an id
  // Why the answer was rejected: "empty_selection", "ambiguous_case_fold", "ambiguous_prefix" or "not_a_candidate".
  // Otherwise NULL.
  const char *reason;
};

// Finds the id that a model's answer selects. The following ids are tried in this order: the id that equals the answer;
// the id that equals the answer without surrounding white space; the only id that differs in ASCII case only; the only
// id that begins with the answer. Ambiguous answers are rejected.
struct selection selection_check(str raw, const str *ids, size_t count);

// Writes {"status", "selected_id", "raw_id", "repair", "reason"}, with null for absent values.
void selection_write(struct json_writer *w, const struct selection *s);
