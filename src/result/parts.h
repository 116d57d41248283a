// SPDX-License-Identifier: Apache-2.0
// A tool's result taken apart: what its content holds and what the model would read of it. Whatever a server may send
// is sorted somehow; what is not understood is kept as it is.
#pragma once
#include "base/arena.h"
#include "json/json.h"

enum part_type {
  PART_TEXT,
  PART_IMAGE,
  PART_AUDIO,
  PART_RESOURCE,  // with text or a blob
  PART_OTHER,     // a link, or anything that is not understood: passed on
};

struct part {
  enum part_type type;
  const struct json *json;
  str text;        // PART_TEXT, PART_RESOURCE: what the model reads; STR_NONE when there is none
  str data;        // PART_IMAGE, PART_AUDIO, PART_RESOURCE with a blob: base64, unescaped, not checked
  str media_type;  // STR_NONE: not said
  str label;       // a resource's URI; STR_NONE: none
};

struct parts {
  struct part *list;
  size_t count;
  bool unusual;  // content is there, but is no array: there are no parts
  bool is_error;
  str text;                       // all texts, joined by \n; STR_NONE when no part has one
  const struct json *structured;  // structuredContent; NULL: none, or null
};

// The result is an object; strings are slices of it or in the arena.
struct parts parts_read(const struct json *result, struct arena *a);

// The bytes of base64 (into the arena), or, when it is none, the text itself.
str parts_decode(str data, struct arena *a);
