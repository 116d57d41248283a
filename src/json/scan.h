// SPDX-License-Identifier: Apache-2.0
// Walks forwards over JSON text, to read a few values of a text that is too large to parse. A walk builds no nodes and
// allocates no memory.
//
// A value is represented by a pointer to its first byte. The caller opens containers, reads some of their elements or
// members one by one, and skips the others at some gigabytes per second:
//
//   struct json_scan scan = json_scan(text);
//   struct json_walk walk;
//   json_walk_open(&walk, &scan, json_scan_first(&scan));
//   while (json_walk_next(&walk))
//     if (json_walk_key_is(&walk, STR("items"))) use(json_walk_value(&walk));
//   if (scan.wrong) json_scan_fault(&scan, f);
//
// A walk checks the brackets, commas and colons of the container, and the quotes of its keys; keys with escapes are
// checked completely. A skip checks that a value is not empty, that its strings end, and that the numbers of opening
// and closing brackets are equal. Nothing checks which bracket closes which, other text inside a skipped container,
// numbers, escapes, UTF-8, control characters, depth or duplicate keys: a caller that uses a value must parse its span.
// A strict scan (json_scan_strict) checks everything except duplicate keys, at about the speed of json_parse.
#pragma once
#include "json/json.h"

struct json_scan {
  const char *begin, *end;
  const char *wrong;  // position of the first error, or NULL; an error ends all walks
  const char *what;   // the error message for `wrong`
  bool strict;
};

struct json_scan json_scan(str text);         // does not check skipped text
struct json_scan json_scan_strict(str text);  // checks skipped text

// Returns the start of the text's value, or the end of the text if there is no value.
const char *json_scan_first(struct json_scan *s);

// Returns the type of the value that starts at `value`, or JSON_NUMBER if no value starts there.
enum json_type json_scan_type(const struct json_scan *s, const char *value);

// Returns the position after the value that starts at `value`. On failure, returns NULL and sets s->wrong.
const char *json_scan_skip(struct json_scan *s, const char *value);

// Skips the rest of a container. `inside` is a position in the container, at nesting level `levels` (1: directly in the
// container). Returns the position after the container's closing bracket.
const char *json_scan_skip_rest(struct json_scan *s, const char *inside, size_t levels);

// Returns whether only white space follows the position `after`. If not, sets s->wrong.
bool json_scan_ends(struct json_scan *s, const char *after);

// Sets FAULT_INVALID, or FAULT_LIMIT if the text nests too deeply; the path is "line L, column C".
void json_scan_fault(const struct json_scan *s, struct fault *f);

// A struct json_names holds names to find in one object after another. Such objects are often alike. So the struct
// stores, for up to JSON_HINTS members of an earlier object, the bytes before the value, and a walk compares these
// bytes first. Initialise the struct with {list, count}, and use it with one text only.
enum { JSON_HINTS = 32 };

struct json_names {
  const str *list;
  size_t count;
  struct json_hint {
    const char *p;             // start of the bytes between the previous value and this value, with the key
    uint8_t n, key_at, key_n;  // number of bytes at p (0: no hint); position and length of the key in these bytes
    int16_t name;              // index of the member's name in `list`, or -1 if it is not in the list
  } at[JSON_HINTS];
};

// A walk over the elements or members of one container.
struct json_walk {
  struct json_scan *scan;
  const char *value;  // start of the current value
  const char *after;  // position after the current value (at the end: after the container); NULL if unknown
  str key;            // key of the current member: the text between its quotes, still escaped
  bool escaped;       // the key contains a backslash
  char close;         // '}', ']', or 0 at the end
  size_t count;       // number of values seen, including the current one
};

// Opens a walk over the container that starts at `container`. Returns false if no container starts there; the walk is
// then empty. If the text ends there, also sets scan->wrong.
bool json_walk_open(struct json_walk *w, struct json_scan *s, const char *container);

// Moves to the next value. Skips the current value unless w->after is set. Returns false at the end, or if scan->wrong
// is set.
bool json_walk_next(struct json_walk *w);

// Moves to the next member with one of these names, and returns the index of the name. Returns -1 at the end, if
// scan->wrong is set, and in an array.
int json_walk_find(struct json_walk *w, struct json_names *names);

// Returns the span of the current value, or an empty text if the value is not JSON.
str json_walk_value(struct json_walk *w);

// Returns whether the unescaped key of the current member equals `key`.
bool json_walk_key_is(const struct json_walk *w, str key);

// json_walk_enter opens a walk over the current value. json_walk_leave skips the rest of the inner walk and reports the
// end of the value to the outer walk, so that the outer walk does not skip it again.
bool json_walk_enter(struct json_walk *w, struct json_walk *out_inner);
void json_walk_leave(struct json_walk *w, struct json_walk *inner);

// Returns whether the whole text is one value that json_parse would accept. Does not check for duplicate keys.
bool json_scan_check(str text, const struct json_limits *limits, struct fault *f);
