// SPDX-License-Identifier: Apache-2.0
// Shows the value of a JSON text at a JSON Pointer, as written in the text.
#include "base/assert.h"
#include "base/text/utf8.h"
#include "result/text_cut.h"
#include "result/view/no_name.h"
#include "result/view/view_impl.h"
#include "json/pointer.h"

enum { POINTER_SHOWN = 60 };  // maximum bytes of a pointer that a message shows

// Describes `v`, the last existing value on the path of a pointer, for an error message. `count` is the number of its
// elements or members.
static str describe(const struct json_scan *scan, const char *v, size_t count, struct arena *a) {
  switch (json_scan_type(scan, v)) {
  case JSON_OBJECT: return arena_printf(a, "has %zu members", count);
  case JSON_ARRAY: return arena_printf(a, "has %zu elements", count);
  case JSON_STRING: return STR("is a string");
  default: return STR("is a single value");
  }
}

static bool not_there(const struct view_order *o, str pointer, size_t far, str what, struct fault *f) {
  str there = utf8_cut((str){pointer.p, far}, POINTER_SHOWN), shown = utf8_cut(pointer, POINTER_SHOWN);
  if (pointer.p[0] != '/') fault_set(f, FAULT_INVALID, "a pointer must begin with '/'; example: %s", o->form);
  else
    fault_set(f, FAULT_INVALID, "no value at \"%.*s\": the value at \"%.*s\" %.*s; example: %s", STR_ARG(shown),
              STR_ARG(there), STR_ARG(what), o->form);
  fault_set_path(f, STR("pointer"));
  return false;
}

enum { KEYS_KNOWN = 64 };

// Reports a missing member, and names the members of the object.
static bool no_member(const struct view_order *o, struct json_scan *scan, const char *object, str token,
                      struct fault *f) {
  str keys[KEYS_KNOWN];
  size_t count = 0;
  struct json_walk w;
  struct fault why;
  json_walk_open(&w, scan, object);
  while (count < KEYS_KNOWN && json_walk_next(&w)) keys[count++] = w.key;
  no_name("member", token, keys, count, &why);
  fault_set(f, FAULT_INVALID, "%s; example: %s", why.message, o->form);
  fault_set_path(f, STR("pointer"));
  return false;
}

// Returns whether the text begins with a JSON value. Text that only begins like a value, such as a line of a log, is
// not JSON.
static bool is_value(const struct view_order *o, struct json_scan *scan, const char *first) {
  const char *end = first < o->bytes.p + o->bytes.n ? json_scan_skip(scan, first) : NULL;
  return end && json_scan_ends(scan, end);
}

static bool wrong(const struct view_order *o, const struct json_scan *scan, struct fault *f) {
  json_scan_fault(scan, f);
  return view_no_json(o, f);
}

static bool show_value(const struct view_order *o, struct json_scan *scan, const char *v, struct buf *out,
                       struct fault *f) {
  ASSERT(v >= o->bytes.p && v <= o->bytes.p + o->bytes.n);
  const char *end = json_scan_skip(scan, v);
  if (!end || (v == json_scan_first(scan) && !json_scan_ends(scan, end))) return wrong(o, scan, f);
  // Shows the value as written in the text, so that a client can read the rest as a range of characters.
  struct view_chars chars = {.from = (size_t)(v - o->bytes.p)};
  chars.count = measure_all_chars((str){v, (size_t)(end - v)});
  chars.start = measure_all_chars((str){o->bytes.p, chars.from});
  view_show_chars(o, &chars, out);
  return true;
}

// Follows the pointer token by token, so that the message for a missing value names the part of the pointer that
// exists.
static bool show_pointer(const struct view_order *o, str pointer, struct arena *a, struct buf *out, struct fault *f) {
  struct json_scan scan = json_scan(o->bytes);
  const char *v = json_scan_first(&scan);
  if (o->bytes.n <= VIEW_SMALL && !json_scan_check(o->bytes, &json_default_limits, f)) return view_no_json(o, f);
  for (size_t far = 0; far < pointer.n;) {
    str rest = str_from(pointer, far + 1), token, tail;
    str_cut(rest, '/', &token, &tail);
    size_t count = 0;
    const char *next = pointer.p[far] == '/' ? json_pointer_step(&scan, v, token, &count) : NULL;
    if (scan.wrong) return wrong(o, &scan, f);
    if (!next && !far && pointer.p[0] == '/' && !is_value(o, &scan, v)) return wrong(o, &scan, f);
    if (!next && count && pointer.p[far] == '/' && *v == '{') return no_member(o, &scan, v, token, f);
    if (!next) return not_there(o, pointer, far, describe(&scan, v, count, a), f);
    v = next;
    far += 1 + token.n;
  }
  return show_value(o, &scan, v, out, f);
}

bool view_show_pointer(const struct view_order *o, struct buf *out, struct fault *f) {
  struct arena a;
  str pointer;
  arena_init(&a);
  bool ok = view_string(o, STR("pointer"), STR_NONE, &a, &pointer, f) && show_pointer(o, pointer, &a, out, f);
  arena_done(&a);
  return ok;
}
