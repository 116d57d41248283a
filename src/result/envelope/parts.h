// SPDX-License-Identifier: Apache-2.0
// Splits a result into its parts and the text that the model would read. Any JSON is accepted; unknown parts stay
// unchanged.
//
// Nothing large is copied except text with escapes or in several parts, which is joined once, in heap memory that a
// piece can take.
#pragma once
#include "base/arena.h"
#include "json/json.h"

// The request, which decides where the parts are.
enum parts_source {
  PARTS_OF_TOOL,      // content: tools/call
  PARTS_OF_RESOURCE,  // contents: resources/read
  PARTS_OF_PROMPT,    // messages: prompts/get; each is a line "[role] text"; other content follows as a part
};

enum part_type {
  PART_TEXT,
  PART_IMAGE,
  PART_AUDIO,
  PART_RESOURCE,  // with text or a blob
  PART_LINK,      // to a resource
  PART_OTHER,     // unknown
};

struct part {
  enum part_type type;
  const struct json *json;
  str text;        // PART_TEXT, PART_RESOURCE: for the model; may be STR_NONE
  str data;        // PART_IMAGE, PART_AUDIO, PART_RESOURCE with a blob: base64, unescaped, not checked
  str media_type;  // may be STR_NONE
  str label;       // a resource's URI, a link's name; may be STR_NONE
  str uri;         // PART_LINK
  // used by parts_read:
  const struct json *words;  // the string with the text
  str role;                  // of a message
};

struct parts {
  enum parts_source source;
  struct part *list;
  size_t count, texts;  // all, and those with text
  bool unusual;         // content exists and is neither an array nor text: no parts
  bool is_error;
  bool odd_error;                 // isError exists and is not a boolean: counts as true
  str text;                       // all texts, joined by \n, or STR_NONE
  char *block;                    // heap memory of a large text, or NULL
  const struct json *structured;  // structuredContent; NULL if missing or null
};

// The result is an object; strings are slices of it, of parts.block, or in the arena.
struct parts parts_read(const struct json *result, enum parts_source source, struct arena *a);
void parts_done(struct parts *p);  // frees the block, unless it was taken: set to NULL

// Returns the decoded base64, or the text itself if it is not base64. Large bytes are in heap memory, *out_block, which
// the caller owns; otherwise *out_block is NULL.
str parts_decode(str data, struct arena *a, char **out_block);
