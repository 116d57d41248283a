// SPDX-License-Identifier: Apache-2.0
// Walks forwards over JSON text without nodes, to read a few values of a text that is too large to parse. A walk
// allocates no memory.
//
// A value is represented by a pointer to its first byte. The caller opens containers, gets their elements or members
// one by one, and skips the rest at some gigabytes per second:
//
//   struct json_scan scan = json_scan(text);
//   struct json_walk walk;
//   json_walk_open(&walk, &scan, json_scan_first(&scan));
//   while (json_walk_next(&walk))
//     if (json_walk_key_is(&walk, STR("items"))) use(json_walk_value(&walk));
//   if (scan.wrong) json_scan_fault(&scan, f);
//
// A walk checks the brackets, commas, colons and keys of the container (keys with escapes completely, other keys only
// for their quotes). A skip checks that the value is not empty, that its strings end, and that the numbers of opening
// and closing brackets are equal. Neither checks whether brackets match, the text between the brackets of a skipped
// container, numbers, escapes, UTF-8, control characters, depth or duplicate keys: a caller that uses a value must
// parse its span. A strict scan checks everything except duplicate keys, at about the speed of json_parse.
#pragma once
#include "json/json.h"

struct json_scan {
  const char *begin, *end;
  const char *wrong;  // first position that is not JSON, or NULL; once it is set, all walks end
  const char *what;   // description of the JSON expected there
  bool strict;
};

struct json_scan json_scan(str text);         // does not check skipped text
struct json_scan json_scan_strict(str text);  // checks skipped text

// Returns the start of the text's value, or the end of the text if there is no value.
const char *json_scan_first(struct json_scan *s);

// Returns the type of the value that starts here, or JSON_NUMBER if no value starts here.
enum json_type json_scan_type(const struct json_scan *s, const char *value);

// Returns the position after the value that starts here, or NULL with s->wrong set.
const char *json_scan_skip(struct json_scan *s, const char *value);

// Skips the rest of a container: `inside` is `levels` deep in it (1: directly in it). Returns the position after the
// container's closing bracket.
const char *json_scan_skip_rest(struct json_scan *s, const char *inside, size_t levels);

// Returns whether only white space follows. If not, sets s->wrong.
bool json_scan_ends(struct json_scan *s, const char *after);

// Sets FAULT_INVALID, or FAULT_LIMIT if the text nests too deeply; the path is "line L, column C".
void json_scan_fault(const struct json_scan *s, struct fault *f);

// Names to find in one object after another. Such objects tend to be alike, so the bytes between two values are first
// compared with those of an earlier object. Initialise with {list, count}; use with one text only.
enum { JSON_HINTS = 32 };

struct json_names {
  const str *list;
  size_t count;
  struct json_hint {
    const char *p;             // bytes from the end of the previous value to the member's value, including its key
    uint8_t n, key_at, key_n;  // number of these bytes (0: unknown), and offset and length of the key in them
    int16_t name;              // index of the name, or -1 if the name is not wanted
  } at[JSON_HINTS];
};

// A walk over the elements or members of one container.
struct json_walk {
  struct json_scan *scan;
  const char *value;  // start of the current value
  const char *after;  // position after the current value (after the end: after the container); NULL if unknown
  str key;            // key of the current member: the text between its quotes, still escaped
  bool escaped;       // the key contains a backslash
  char close;         // '}', ']', or 0 at the end
  size_t count;       // number of values seen, including the current one
};

// Returns false, with an empty walk, if no container starts at this position. If the text ends there, also sets
// scan->wrong.
bool json_walk_open(struct json_walk *w, struct json_scan *s, const char *container);

// Moves to the next value; skips the current one unless w->after is set. Returns false at the end or if scan->wrong is
// set.
bool json_walk_next(struct json_walk *w);

// Moves to the next member with one of these names, and returns the index of the name. Returns -1 at the end, if
// scan->wrong is set, and in an array.
int json_walk_find(struct json_walk *w, struct json_names *names);

// Returns the span of the current value, or an empty text if it is not JSON.
str json_walk_value(struct json_walk *w);

// Returns whether the unescaped key of the current member equals `key`.
bool json_walk_key_is(const struct json_walk *w, str key);

// Opens a walk over the current value. json_walk_leave skips the rest of the inner walk and gives the outer walk the
// position after it, so that the outer walk does not skip the value again.
bool json_walk_enter(struct json_walk *w, struct json_walk *out_inner);
void json_walk_leave(struct json_walk *w, struct json_walk *inner);

// Returns whether json_parse would accept the whole text as one value, apart from duplicate keys.
bool json_scan_check(str text, const struct json_limits *limits, struct fault *f);
