// SPDX-License-Identifier: Apache-2.0
// A result taken apart: what its content holds and what the model would read of it. Whatever a server may send is
// sorted somehow; what is not understood is kept as it is.
//
// Nothing large is copied, except for text that has escapes or comes in several parts: that is put together once, in
// heap memory that can be handed on.
#pragma once
#include "base/arena.h"
#include "json/json.h"

// What was asked for decides where the parts are.
enum parts_source {
  PARTS_OF_TOOL,      // content: tools/call
  PARTS_OF_RESOURCE,  // contents: resources/read
  PARTS_OF_PROMPT,    // messages: prompts/get; each is a line "[role] text", and what is no text follows as a part
};

enum part_type {
  PART_TEXT,
  PART_IMAGE,
  PART_AUDIO,
  PART_RESOURCE,  // with text or a blob
  PART_LINK,      // to a resource
  PART_OTHER,     // anything that is not understood
};

struct part {
  enum part_type type;
  const struct json *json;
  str text;        // PART_TEXT, PART_RESOURCE: what the model reads; STR_NONE when there is none
  str data;        // PART_IMAGE, PART_AUDIO, PART_RESOURCE with a blob: base64, unescaped, not checked
  str media_type;  // STR_NONE: not said
  str label;       // a resource's URI, a link's name; STR_NONE: none
  str uri;         // PART_LINK
  // while it is read
  const struct json *words;  // the string that the text is in
  str role;                  // of a message
};

struct parts {
  enum parts_source source;
  struct part *list;
  size_t count, texts;  // all, and those with text
  bool unusual;         // content is there, but is neither an array nor text: there are no parts
  bool is_error;
  bool odd_error;                 // isError is there, but neither true nor false: taken as true
  str text;                       // all texts, joined by \n; STR_NONE when no part has one
  char *block;                    // that it lies in, when that is large: heap memory
  const struct json *structured;  // structuredContent; NULL: none, or null
};

// The result is an object; strings are slices of it, of parts.block, or in the arena.
struct parts parts_read(const struct json *result, enum parts_source source, struct arena *a);
void parts_done(struct parts *p);  // frees the block, unless it was taken: set to NULL

// The bytes of base64, or, when it is none, the text itself. Large ones are in heap memory: *out_block, which is the
// caller's; else NULL.
str parts_decode(str data, struct arena *a, char **out_block);
