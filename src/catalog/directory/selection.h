// SPDX-License-Identifier: Apache-2.0
// Lets a model select one of the offered ids: writes a schema that allows only these ids, and checks the model's
// answer.
#pragma once
#include "base/buf.h"
#include "base/fault.h"
#include "json/write.h"

enum selection_form { SELECTION_JSON_SCHEMA, SELECTION_OPENAI, SELECTION_ANTHROPIC };

// Finds a form by its name: "json_schema", "openai" or "anthropic". Returns false if the name is unknown; `f` lists the
// valid names.
bool selection_form_find(str name, enum selection_form *out, struct fault *f);

// Writes a JSON Schema of an object whose member `selection` is one of the ids: the schema alone, as response_format
// for OpenAI, or as a tool for Anthropic. Duplicate ids count once. Returns false, with nothing written, if there are
// no ids.
bool selection_schema(enum selection_form form, const str *ids, size_t count, struct buf *out, struct fault *f);

enum selection_status { SELECTION_ACCEPTED, SELECTION_REPAIRED, SELECTION_REJECTED };

struct selection {
  enum selection_status status;
  str selected;        // one of the candidates, or STR_NONE if the answer was rejected
  str raw;             // the model's answer, or STR_NONE
  const char *repair;  // how the answer was matched: "strip", "case_fold", "prefix", or NULL if it was equal
  const char *reason;  // of a rejection: "empty_selection", "ambiguous_case_fold", "ambiguous_prefix",
                       // "not_a_candidate"; else NULL
};

// Finds the selected candidate: one that equals the answer; else one that equals it without surrounding white space;
// else the only one that differs in ASCII case only; else the only one with this prefix. Ambiguous answers are
// rejected, never guessed.
struct selection selection_check(str raw, const str *ids, size_t count);

// Writes {"status", "selected_id", "raw_id", "repair", "reason"}, with null for absent values.
void selection_write(struct json_writer *w, const struct selection *s);
