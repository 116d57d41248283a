// SPDX-License-Identifier: Apache-2.0
// Declarations for the files that implement view.h.
#pragma once
#include "result/view/view.h"
#include "json/scan.h"
#include "json/write.h"

// VIEW_NOTE_TOKENS: tokens that the first attempt reserves for the last line of a cut view. VIEW_REPEATED: maximum
// bytes of a selector that the last line repeats in full.
enum { VIEW_NOTE_TOKENS = 60, VIEW_REPEATED = 240 };

// JSON up to this size is first checked as a whole, and all results are counted. Larger JSON is read only as far as the
// view needs.
enum { VIEW_SMALL = 1 << 20 };

// The request for a view.
struct view_order {
  str bytes;
  const struct json *selector;
  size_t limit;      // tokens
  str mark;          // prefix of the gateway's lines
  str type;          // type of the selector
  const char *form;  // a valid selector of this type, shown in error messages
};

typedef bool view_show(const struct view_order *o, struct buf *out, struct fault *f);

view_show view_show_keys, view_show_path, view_show_pointer, view_show_search, view_show_records, view_show_stats;

// ---- members of the selector. A missing or null member has the value `usual`. A failure sets f.

bool view_number(const struct view_order *o, str name, int64_t usual, int64_t *out, struct fault *f);
bool view_string(const struct view_order *o, str name, str usual, struct arena *a, str *out, struct fault *f);
const struct json *view_member(const struct view_order *o, str name);  // NULL if the member is missing or null

// Sets f to "NAME must be WHAT; example: FORM", where FORM is a valid selector. Always returns false.
bool view_refuse(const struct view_order *o, str name, const char *what, struct fault *f);

// Sets f to "TYPE needs JSON …", which includes the place and the reason that f had before. Always returns false.
bool view_no_json(const struct view_order *o, struct fault *f);

// Converts an index as a slice in Python does: negative numbers count from the end. The result is from 0 to `count`.
size_t view_place(int64_t index, size_t count);

// ---- answers

// A range of characters.
struct view_chars {
  size_t from;   // byte offset of the first character
  size_t start;  // number of the first character in the text, from 0
  size_t count;  // maximum number of characters
};

void view_show_chars(const struct view_order *o, const struct view_chars *chars, struct buf *out);

// Writes the selector that shows `span`, a part of `bytes`: {"type":"head","start":N,"chars":N}.
void view_put_head(struct buf *out, str bytes, str span);

// Starts a line of the gateway: writes the mark and a blank.
void view_begin_note(const struct view_order *o, struct buf *out);

// The type of a function that writes the last line of a cut view, after the mark: where the view is cut, and the
// selector of the rest. The view shows `shown` lines.
typedef void view_note(void *ctx, size_t shown, struct buf *out);

// Appends as many of the lines (each ends with \n) as fit together with the note that `note` writes. Returns false,
// with nothing written, if no line fits.
bool view_cut_lines(const struct view_order *o, str lines, view_note *note, void *ctx, struct buf *out);

// If `whole` is true (no lines are missing) and the lines fit, appends them without a note and without the last line
// end. Otherwise does the same as view_cut_lines.
bool view_put_lines(const struct view_order *o, str lines, bool whole, view_note *note, void *ctx, struct buf *out);

// Writes "go on with SELECTOR": the selector of the view with the changes in `edits`. If this selector is long, writes
// only the changes.
void view_put_edited(struct buf *out, const struct view_order *o, const struct json_edit *edits, size_t count);
// Like view_put_edited, but changes only `start`.
void view_put_next(struct buf *out, const struct view_order *o, size_t start);
