// SPDX-License-Identifier: Apache-2.0
// A walk forward over JSON text that builds no nodes: for texts that are too large to be parsed as a whole, of which a
// few values are wanted. It takes no memory but what its caller gives it.
//
// A value is told by where it begins. Containers are opened, their elements or members come one by one, and what is
// of no interest is skipped, at some gigabytes a second:
//
//   struct json_scan scan = json_scan(text);
//   struct json_walk walk;
//   json_walk_open(&walk, &scan, json_scan_first(&scan));
//   while (json_walk_next(&walk))
//     if (json_walk_key_is(&walk, STR("items"))) use(json_walk_value(&walk));
//   if (scan.wrong) json_scan_fault(&scan, f);
//
// What is checked: of a container that is walked, its brackets, commas, colons and keys (all of a key that has escapes,
// of others their quotes); of a value that is skipped, that its strings end, that as many brackets close as open, and
// that it is not empty. Not looked at are which bracket closes which, what stands between the brackets of a skipped
// container, numbers, escapes, UTF-8, control characters, depth and keys that occur twice: whoever takes a value parses
// its span. A strict scan checks all of that except for keys that occur twice, at about the speed of json_parse.
#pragma once
#include "json/json.h"

struct json_scan {
  const char *begin, *end;
  const char *wrong;  // where the text is no JSON; NULL: nothing was found. It stays, and all walks end
  const char *what;   // what was expected there, or what there is
  bool strict;
};

struct json_scan json_scan(str text);         // trusts what it skips
struct json_scan json_scan_strict(str text);  // checks what it skips

// Where the value of the text begins. Points to the end of the text, where no value is, when there is nothing.
const char *json_scan_first(struct json_scan *s);

// The type of what begins here; JSON_NUMBER for what begins nothing.
enum json_type json_scan_type(const struct json_scan *s, const char *value);

// Behind the value that begins here. NULL: s->wrong is set.
const char *json_scan_skip(struct json_scan *s, const char *value);

// The same from somewhere inside a container, so many levels deep (1: in none of those in it), to behind its end.
const char *json_scan_skip_rest(struct json_scan *s, const char *inside, size_t levels);

// Does only white space follow? False: s->wrong is set.
bool json_scan_ends(struct json_scan *s, const char *behind);

// FAULT_INVALID, or FAULT_LIMIT when it lies too deep; the path is "line L, column C".
void json_scan_fault(const struct json_scan *s, struct fault *f);

// Names that are wanted of one object after another. These are likely to be alike: what was between the values of the
// one before is compared at once instead of read. Begins as {list, count}; it holds for one text only.
enum { JSON_HINTS = 32 };

struct json_names {
  const str *list;
  size_t count;
  struct json_hint {
    const char *p;             // what was behind the value before, up to that of the member, its key included
    uint8_t n, key_at, key_n;  // bytes of that, and where the key is in it; n is 0 when nothing is known
    int16_t name;              // which of the names it is; -1: none of them
  } at[JSON_HINTS];
};

// The elements or members of one container.
struct json_walk {
  struct json_scan *scan;
  const char *value;   // where the current one begins
  const char *behind;  // and what is behind it, when that is known; at the end, behind the container
  str key;             // of a member, between its quotes, still escaped
  bool escaped;        // there is a backslash in it
  char close;          // '}', ']', or 0 when it is over
  size_t count;        // of those seen, the current one included
};

// False, and an empty walk, when no container begins there (that is not wrong) or there is nothing (wrong is set).
bool json_walk_open(struct json_walk *w, struct json_scan *s, const char *container);

// Goes on behind the current one, which is skipped unless w->behind was set. False at the end, or when scan->wrong.
bool json_walk_next(struct json_walk *w);

// Goes on to the next member that has one of these names, as json_walk_next would from one to the other. Gives which
// one; -1 at the end, when scan->wrong, and in an array.
int json_walk_find(struct json_walk *w, struct json_names *names);

// The span of the current one; empty when it is wrong.
str json_walk_value(struct json_walk *w);

// The key, once unescaped, is this one.
bool json_walk_key_is(const struct json_walk *w, str key);

// Walks into the current one. When the walk inside is at its end, json_walk_leave spares the skip: it gives the outer
// walk its place behind, after having skipped what is left.
bool json_walk_enter(struct json_walk *w, struct json_walk *out_inner);
void json_walk_leave(struct json_walk *w, struct json_walk *inner);

// Is the whole text one value that json_parse would take, keys that occur twice apart?
bool json_scan_check(str text, const struct json_limits *limits, struct fault *f);
