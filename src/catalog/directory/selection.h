// SPDX-License-Identifier: Apache-2.0
// The turn in which a model picks one of the ids that it was offered: a schema that lets it say nothing else, and a
// check of what it said.
#pragma once
#include "base/buf.h"
#include "base/fault.h"
#include "json/write.h"

enum selection_form { SELECTION_JSON_SCHEMA, SELECTION_OPENAI, SELECTION_ANTHROPIC };

// "json_schema", "openai" or "anthropic". False: f lists them.
bool selection_form_find(str name, enum selection_form *out, struct fault *f);

// Writes a JSON Schema of an object whose `selection` is one of the ids: bare, as response_format for OpenAI, or as a
// tool for Anthropic. An id that is there twice counts once. False, with nothing written: there are no ids.
bool selection_schema(enum selection_form form, const str *ids, size_t count, struct buf *out, struct fault *f);

enum selection_status { SELECTION_ACCEPTED, SELECTION_REPAIRED, SELECTION_REJECTED };

struct selection {
  enum selection_status status;
  str selected;        // one of the candidates; STR_NONE when rejected
  str raw;             // what was said; STR_NONE: nothing
  const char *repair;  // "strip", "case_fold", "prefix", or NULL
  const char *reason;  // of a rejection: "empty_selection", "ambiguous_case_fold", "ambiguous_prefix",
                       // "not_a_candidate"; else NULL
};

// Which candidate is meant: exactly that one, else without white space around it, else the only one that differs in
// case (ASCII), else the only one that begins so. What could mean two is rejected, never guessed.
struct selection selection_check(str raw, const str *ids, size_t count);

// {"status", "selected_id", "raw_id", "repair", "reason"}, null for what is not there.
void selection_write(struct json_writer *w, const struct selection *s);
