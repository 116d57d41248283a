// SPDX-License-Identifier: Apache-2.0
// Splits a result into its parts and the text that the model would read. Any JSON is accepted; unknown parts stay
// unchanged.
//
// Large data is not copied, except for text that has escapes or is in several parts. Such text is joined once, in heap
// memory that a stored piece can take over.
#pragma once
#include "base/arena.h"
#include "json/json.h"

// The kind of request. It determines which member of the result contains the parts.
enum parts_source {
  PARTS_OF_TOOL,      // tools/call: content
  PARTS_OF_RESOURCE,  // resources/read: contents
  PARTS_OF_PROMPT,    // prompts/get: messages; each text becomes a line "[role] text"; other content becomes a part
};

enum part_type {
  PART_TEXT,
  PART_IMAGE,
  PART_AUDIO,
  PART_RESOURCE,  // a resource with text or a blob
  PART_LINK,      // link to a resource
  PART_OTHER,     // a part of an unknown type
};

struct part {
  enum part_type type;
  const struct json *json;
  str text;        // PART_TEXT, PART_RESOURCE: text for the model; may be STR_NONE
  str data;        // PART_IMAGE, PART_AUDIO, PART_RESOURCE with a blob: base64, unescaped and not checked
  str media_type;  // may be STR_NONE
  str label;       // URI of a resource or name of a link; may be STR_NONE
  str uri;         // PART_LINK
  // Used only by parts_read:
  const struct json *words;  // JSON string that contains the part's text
  str role;                  // role of a prompt message
};

struct parts {
  enum parts_source source;
  struct part *list;
  size_t count, texts;  // number of content parts, and number of those that have text
  bool unusual;         // content cannot be split, because it is neither text nor an array, or has too many values
  bool is_error;
  bool odd_error;                 // isError is neither a boolean nor null, and counts as true
  str text;                       // all texts, joined by \n, or STR_NONE
  char *block;                    // heap memory of a large text, or NULL
  const struct json *structured;  // structuredContent; NULL if missing or null
};

// Reads a result, which must be an object. Strings are slices of the result or of parts.block, or are in the arena.
struct parts parts_read(const struct json *result, enum parts_source source, struct arena *a);
// Frees p->block. A caller that has passed the block to a piece must set p->block to NULL first.
void parts_done(struct parts *p);

// Returns the decoded base64, or `data` itself if it is not base64. A large result is in heap memory, *out_block, which
// the caller must free. Otherwise *out_block is NULL.
str parts_decode(str data, struct arena *a, char **out_block);
