// SPDX-License-Identifier: Apache-2.0
// What the files of the view share.
#pragma once
#include "result/view/view.h"
#include "json/scan.h"
#include "json/write.h"

// What the last line of a view takes at first, in tokens; one that takes more is tried again. And how much of what was
// asked for it repeats, in bytes.
enum { VIEW_NOTE_TOKENS = 60, VIEW_REPEATED = 240 };

// JSON up to this size is checked as a whole before it is looked at, and all results are counted; of what is larger
// only as much is read as the answer needs.
enum { VIEW_SMALL = 1 << 20 };

// What is asked.
struct view_order {
  str bytes;
  const struct json *selector;
  size_t limit;      // tokens
  str mark;          // begins our own lines
  str type;          // of the selector
  const char *form;  // one that is right, to be shown when this one is wrong
};

typedef bool view_show(const struct view_order *o, struct buf *out, struct fault *f);

view_show view_show_keys, view_show_path, view_show_pointer, view_show_search, view_show_records, view_show_stats;

// ---- members of the selector. What is not there, or null, is as usual. False: f is set.

bool view_number(const struct view_order *o, str name, int64_t usual, int64_t *out, struct fault *f);
bool view_string(const struct view_order *o, str name, str usual, struct arena *a, str *out, struct fault *f);
const struct json *view_member(const struct view_order *o, str name);  // NULL when it is not there, or null

// "NAME is not WHAT: {the right form}"; gives false.
bool view_refuse(const struct view_order *o, str name, const char *what, struct fault *f);

// "TYPE needs JSON, and this is none (where, what)"; f says where and what. Gives false.
bool view_no_json(const struct view_order *o, struct fault *f);

// As Python places an index of a slice: from the end when below zero, and never outside.
size_t view_place(int64_t index, size_t count);

// ---- answers

// Some characters of the bytes, cut where they are too many.
struct view_chars {
  size_t from;   // where the first is, in bytes
  size_t start;  // and in characters
  size_t count;  // at most so many
};

void view_show_chars(const struct view_order *o, const struct view_chars *chars, struct buf *out);

// A span of the bytes as the selector that reads it: {"type":"head","start":N,"chars":N}.
void view_put_head(struct buf *out, str bytes, str span);

// The mark and a blank: what follows is said by us.
void view_begin_note(const struct view_order *o, struct buf *out);

// Writes the last line of a view that shows `shown` lines: where it is cut and how to go on. Without the mark.
typedef void view_note(void *ctx, size_t shown, struct buf *out);

// Appends as many of the lines (each ends with \n) as fit together with the note. False, with nothing written, when not
// even one does.
bool view_cut_lines(const struct view_order *o, str lines, view_note *note, void *ctx, struct buf *out);

// Appends all lines without the last end when they fit, else as many as view_cut_lines does.
bool view_put_lines(const struct view_order *o, str lines, bool whole, view_note *note, void *ctx, struct buf *out);

// "go on with {the same selector with these changes}"; when that would be long, in words.
void view_put_edited(struct buf *out, const struct view_order *o, const struct json_edit *edits, size_t count);
void view_put_next(struct buf *out, const struct view_order *o, size_t start);  // with another start
