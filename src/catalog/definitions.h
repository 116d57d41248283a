// SPDX-License-Identifier: Apache-2.0
// What one upstream says it offers: its definitions, page by page, as they were sent but for hidden characters.
#pragma once
#include "base/arena.h"
#include "catalog/clean.h"

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

// What a tool says about itself (its annotations), unverified; false where it says nothing.
struct item_hints {
  bool read_only, idempotent, destructive;
};

struct definition {
  str name;    // unescaped: a name, URI or URI template
  str text;    // the definition as it was sent, without hidden characters
  bool plain;  // a tool whose definition declares no mirrors and no tasks; any other item
  struct item_hints hints;
};

// By whom the definitions were given.
struct definitions_origin {
  bool stateless;  // a server of the revision without a handshake
  bool tasks;      // which may answer any call with a task (the tasks extension)
  bool http;       // where tools whose mirrored arguments break a rule cannot be called, and are left out
};

struct definitions {
  struct definitions_origin origin;
  struct arena arena;
  struct definition *defs[ITEM_KINDS];
  size_t count[ITEM_KINDS], cap[ITEM_KINDS];
  uint64_t ttl_ms[ITEM_KINDS];  // how long the list may be kept: the least that a page says, 0 when one says nothing
  bool is_public[ITEM_KINDS];   // and shown to anybody: every page says so
  bool paged[ITEM_KINDS];       // a page was added
  size_t skipped;               // entries without a usable name, or beyond DEFINITIONS_MAX_ITEMS or _BYTES
  size_t refused;               // tools that cannot be called, because their mirrored arguments break a rule
  char refused_why[160];        // the first of them, and which rule
  size_t description_max;       // bytes of a title or description: longer ones are cut; 0: any number
  struct clean_report cleaned;  // what was changed in definitions that a page brought
};

enum { DEFINITIONS_MAX_ITEMS = 100000, DEFINITIONS_MAX_BYTES = 64 << 20 };

struct definitions *definitions_new(struct definitions_origin origin);
void definitions_free(struct definitions **r);

// Takes a copy of the entries of one result of a list method. False: it is no such result.
bool definitions_add_page(struct definitions *r, enum item_kind kind, const struct json *result);

// Adds all definitions of one kind of another roster, and how long they may be kept, and what was refused of them.
void definitions_copy(struct definitions *r, const struct definitions *from, enum item_kind kind);

// The same definitions, byte for byte, in the same order, by the same kind of server, to be kept as long?
bool definitions_same(const struct definitions *a, const struct definitions *b);
