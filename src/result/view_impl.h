// SPDX-License-Identifier: Apache-2.0
// What the files of the view share.
#pragma once
#include "result/view.h"

// Some characters of the bytes, cut where they are too many.
struct view_chars {
  size_t from;   // where the first is, in bytes
  size_t start;  // and in characters
  size_t count;  // at most so many
};

void view_show_chars(str bytes, const struct view_chars *chars, size_t limit, struct buf *out);

// A whole number of the selector, or what is usual when it is not there (or null). False: f is set.
bool view_number(const struct json *selector, str name, int64_t usual, int64_t *out, struct fault *f);

bool view_show_keys(str bytes, const struct json *selector, size_t limit, struct buf *out, struct fault *f);
bool view_show_path(str bytes, const struct json *selector, size_t limit, struct buf *out, struct fault *f);
bool view_show_pointer(str bytes, const struct json *selector, size_t limit, struct buf *out, struct fault *f);
