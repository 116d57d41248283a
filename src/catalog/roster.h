// SPDX-License-Identifier: Apache-2.0
// What one upstream says it offers, verbatim: its definitions, page by page.
#pragma once
#include "base/arena.h"
#include "json/json.h"

enum item_kind { ITEM_TOOL, ITEM_RESOURCE, ITEM_TEMPLATE, ITEM_PROMPT };
enum { ITEM_KINDS = 4 };

struct item_kind_rules {
  const char *list_method;  // "tools/list"
  const char *capability;   // of the server: "tools"
  const char *list_key;     // of its result: "tools"
  const char *name_key;     // of a definition: "name"
  const char *changed;      // the notification that the list changed
};
extern const struct item_kind_rules item_kind_rules[ITEM_KINDS];

struct definition {
  str name;  // unescaped: a name, URI or URI template
  str text;  // the definition as it was sent
};

struct roster {
  struct arena arena;
  struct definition *defs[ITEM_KINDS];
  size_t count[ITEM_KINDS], cap[ITEM_KINDS];
  size_t skipped;  // entries without a usable name, or beyond ROSTER_MAX_ITEMS or _BYTES
};

enum { ROSTER_MAX_ITEMS = 100000, ROSTER_MAX_BYTES = 64 << 20 };

struct roster *roster_new(void);
void roster_free(struct roster **r);

// Takes a copy of the entries of one result of a list method. False: it is no such result.
bool roster_add_page(struct roster *r, enum item_kind kind, const struct json *result);

// Adds all definitions of one kind of another roster.
void roster_copy(struct roster *r, const struct roster *from, enum item_kind kind);

// The same definitions, byte for byte, in the same order?
bool roster_same(const struct roster *a, const struct roster *b);
