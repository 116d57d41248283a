// SPDX-License-Identifier: Apache-2.0
// The interface between toml.c and toml_value.c; private to them.
#pragma once
#include "json/edit/toml.h"

enum toml_kind { TOML_SCALAR, TOML_TABLE, TOML_TABLES, TOML_LIST };

struct toml_node {
  str key;
  enum toml_kind kind;
  bool defined;  // the table has its own header
  bool dotted;   // a dotted key created the table
  bool closed;   // the table is an inline table, to which nothing can be added
  str json;      // JSON text of a scalar
  struct toml_node *first, *last, *next;
};

struct toml_path {
  str keys[TOML_DEEPEST];
  size_t count;
};

struct toml_reader {
  struct arena *arena;
  str text;
  size_t at;
  struct fault *fault;
  struct toml *out;
  struct toml_node *root, *current;  // `current` is the table whose header was read last
  struct toml_path table;            // path of `current`
  size_t pairs;
};

// Returns the next byte, or 0 at the end of the text. The grammar accepts a NUL byte nowhere.
static inline char toml_peek(const struct toml_reader *r) {
  return (char)(r->at < r->text.n ? r->text.p[r->at] : 0);
}

// All functions below that return bool set r->fault and return false on failure.
bool toml_fail(struct toml_reader *r, const char *message);
void toml_skip_blanks(struct toml_reader *r);
bool toml_skip_comment(struct toml_reader *r);
bool toml_skip_newline(struct toml_reader *r);  // returns false if there is no newline, which is not a failure

struct toml_node *toml_find(const struct toml_node *table, str key);
struct toml_node *toml_add(struct toml_reader *r, struct toml_node *to, str key, enum toml_kind kind);
bool toml_read_keys(struct toml_reader *r, struct toml_path *out);
bool toml_read_pair(struct toml_reader *r, struct toml_node *table, struct toml_path *path, unsigned depth);

bool toml_read_value(struct toml_reader *r, struct toml_node *out, unsigned depth);
bool toml_read_short_text(struct toml_reader *r, str *out);  // reads a string on one line, in single or double quotes
