// SPDX-License-Identifier: Apache-2.0
// Writes JSON text into a buffer. The writer adds the commas. If the text exceeds the buffer's maximum, buf.over is
// set; the caller must check this once, at the end.
#pragma once
#include "base/buf.h"
#include "json/json.h"

struct json_writer {
  struct buf *out;
  bool comma;  // a value has been written on this level, so the next one needs a comma
};

struct json_writer json_writer(struct buf *out);

void json_begin_object(struct json_writer *w);
void json_end_object(struct json_writer *w);
void json_begin_array(struct json_writer *w);
void json_end_array(struct json_writer *w);
void json_put_key(struct json_writer *w, str key);   // escapes the key
void json_put_str(struct json_writer *w, str s);     // adds quotes and escapes; replaces invalid UTF-8 by U+FFFD
void json_put_raw(struct json_writer *w, str text);  // copies JSON text unchanged
void json_put_int(struct json_writer *w, int64_t v);
void json_put_u64(struct json_writer *w, uint64_t v);
void json_put_bool(struct json_writer *w, bool v);
void json_put_null(struct json_writer *w);

// Each json_member_… function writes a member of an object: its key and its value.
void json_member_str(struct json_writer *w, str key, str value);
void json_member_str_or_null(struct json_writer *w, str key, str value);  // writes null for STR_NONE
void json_member_raw(struct json_writer *w, str key, str text);
void json_member_int(struct json_writer *w, str key, int64_t value);
void json_member_u64(struct json_writer *w, str key, uint64_t value);
void json_member_bool(struct json_writer *w, str key, bool value);
void json_member_seconds(struct json_writer *w, str key, uint64_t ms);  // writes 1500 ms as 1.5

// Appends a string with quotes and escapes directly to a buffer.
void json_escape(struct buf *out, str s);

// An edit that changes one member in a copy of an object. If raw.p is NULL, the member is removed. There must be at
// most one edit for each key.
struct json_edit {
  str key;  // unescaped
  str raw;  // JSON text of the new value
};

// Copies an object with some edits; all other bytes stay the same. A member named by an edit gets the edit's value.
// Edits for keys that the object does not have are appended in their order.
void json_copy_edited(struct buf *out, const struct json *object, const struct json_edit *edits, size_t count);

// json_edited and json_escaped return the results of json_copy_edited and json_escape in an arena.
str json_edited(struct arena *a, const struct json *object, const struct json_edit *edits, size_t count);
str json_escaped(struct arena *a, str s);

// Returns the JSON text, which must be valid, without the white space between its tokens.
str json_compacted(struct arena *a, str text);

extern const struct json json_empty_object;
