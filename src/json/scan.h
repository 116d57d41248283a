// SPDX-License-Identifier: Apache-2.0
// Forward walks over JSON text without nodes: for reading a few values of a text too large to parse. A walk allocates
// no memory.
//
// A pointer to its first byte stands for a value. The caller opens containers, gets their elements or members one by
// one, and skips the rest at some gigabytes per second:
//
//   struct json_scan scan = json_scan(text);
//   struct json_walk walk;
//   json_walk_open(&walk, &scan, json_scan_first(&scan));
//   while (json_walk_next(&walk))
//     if (json_walk_key_is(&walk, STR("items"))) use(json_walk_value(&walk));
//   if (scan.wrong) json_scan_fault(&scan, f);
//
// A walk checks the brackets, commas, colons and keys of the container (keys with escapes completely, other keys only
// for their quotes). A skip checks that the value is not empty, its strings end, and as many brackets close as open.
// Neither checks which bracket closes which, the text between the brackets of a skipped container, numbers, escapes,
// UTF-8, control characters, depth or duplicate keys: a caller that uses a value parses its span. A strict scan checks
// everything except duplicate keys, at about the speed of json_parse.
#pragma once
#include "json/json.h"

struct json_scan {
  const char *begin, *end;
  const char *wrong;  // first place that is no JSON, or NULL; once set it stays, and all walks end
  const char *what;   // description of the JSON expected there
  bool strict;
};

struct json_scan json_scan(str text);         // trusts skipped text
struct json_scan json_scan_strict(str text);  // checks skipped text

// Returns the start of the text's value; the end of the text if it has none.
const char *json_scan_first(struct json_scan *s);

// Returns the type of the value that starts here; JSON_NUMBER if none does.
enum json_type json_scan_type(const struct json_scan *s, const char *value);

// Returns the position after the value that starts here. NULL: s->wrong is set.
const char *json_scan_skip(struct json_scan *s, const char *value);

// Starts `levels` deep inside a container (1: directly in it); returns the position after its closing bracket.
const char *json_scan_skip_rest(struct json_scan *s, const char *inside, size_t levels);

// Returns whether only white space follows. False: s->wrong is set.
bool json_scan_ends(struct json_scan *s, const char *after);

// Sets FAULT_INVALID, or FAULT_LIMIT if the text nests too deeply; the path is "line L, column C".
void json_scan_fault(const struct json_scan *s, struct fault *f);

// Names to find in one object after another. Such objects tend to be alike, so the bytes between two values are
// compared with those of an earlier object before they are read. Initialise with {list, count}; use with one text only.
enum { JSON_HINTS = 32 };

struct json_names {
  const str *list;
  size_t count;
  struct json_hint {
    const char *p;             // bytes from the end of the value before to the member's value, including its key
    uint8_t n, key_at, key_n;  // their number, and place and length of the key in them; n is 0 if unknown
    int16_t name;              // index of the name; -1: none
  } at[JSON_HINTS];
};

// A walk over the elements or members of one container.
struct json_walk {
  struct json_scan *scan;
  const char *value;  // start of the current value
  const char *after;  // position after the current value, or NULL if unknown; at the end, after the container
  str key;            // key of the current member, between its quotes, still escaped
  bool escaped;       // the key contains a backslash
  char close;         // '}', ']', or 0 at the end
  size_t count;       // values seen, including the current one
};

// False, with an empty walk, if no container starts there (no error) or the text ends there (scan->wrong is set).
bool json_walk_open(struct json_walk *w, struct json_scan *s, const char *container);

// Moves to the next value; skips the current one unless w->after is set. False at the end, or if scan->wrong.
bool json_walk_next(struct json_walk *w);

// Moves to the next member with one of these names, and returns the index of the name; -1 at the end, if scan->wrong,
// and in an array.
int json_walk_find(struct json_walk *w, struct json_names *names);

// Returns the span of the current value; empty if it is wrong.
str json_walk_value(struct json_walk *w);

// Returns whether the unescaped key equals `key`.
bool json_walk_key_is(const struct json_walk *w, str key);

// Opens a walk over the current value. json_walk_leave skips the rest of the inner walk and gives the outer walk the
// position after it, so that the outer walk does not skip the value again.
bool json_walk_enter(struct json_walk *w, struct json_walk *out_inner);
void json_walk_leave(struct json_walk *w, struct json_walk *inner);

// Returns whether json_parse would accept the whole text as one value, apart from duplicate keys.
bool json_scan_check(str text, const struct json_limits *limits, struct fault *f);
