// SPDX-License-Identifier: Apache-2.0
// The definitions of one upstream, added page by page. Texts are as the server sent them, but without hidden
// characters.
#pragma once
#include "base/arena.h"
#include "catalog/clean.h"
#include "govern/hints.h"

enum item_kind { ITEM_TOOL, ITEM_RESOURCE, ITEM_TEMPLATE, ITEM_PROMPT };
enum { ITEM_KINDS = 4 };

struct item_kind_rules {
  const char *list_method;  // "tools/list"
  const char *capability;   // capability of the server: "tools"
  const char *list_key;     // member of the result: "tools"
  const char *name_key;     // member of a definition: "name"
  const char *changed;      // the notification that reports a changed list
};
extern const struct item_kind_rules item_kind_rules[ITEM_KINDS];

struct definition {
  str name;    // name, URI or URI template, unescaped
  str text;    // JSON text as sent, without hidden characters
  bool plain;  // the tool declares neither x-mcp-header nor tasks; always true for items that are not tools
  struct tool_hints hints;
  str raw;  // the definition as sent, if it has hidden characters that `text` lacks; otherwise STR_NONE
};

// The kind of server that sent the definitions.
struct definitions_origin {
  bool stateless;  // the server uses a protocol revision without a handshake
  bool tasks;      // the server may answer any call with a task (the tasks extension)
  bool http;       // the server is reached by HTTP: tools whose param headers break a rule are left out
};

struct definitions {
  struct definitions_origin origin;
  struct arena arena;
  struct definition *defs[ITEM_KINDS];
  size_t count[ITEM_KINDS], cap[ITEM_KINDS];
  uint64_t ttl_ms[ITEM_KINDS];  // cache time of the list: minimum over its pages, 0 if a page declares none
  bool is_public[ITEM_KINDS];   // every page declares that the list is the same for all clients
  bool paged[ITEM_KINDS];       // at least one page was added
  size_t skipped;               // number of entries without a usable name, or above DEFINITIONS_MAX_ITEMS or _BYTES
  size_t refused;               // number of tools that cannot be called, because their param headers break a rule
  char refused_why[160];        // name of the first refused tool, and the broken rule
  size_t description_max;  // maximum bytes of a title or a description; longer texts are cut; 0 if there is no limit
  struct clean_report cleaned;  // counts the changes that clean_definition made
};

enum { DEFINITIONS_MAX_ITEMS = 100000, DEFINITIONS_MAX_BYTES = 64 << 20 };

struct definitions *definitions_new(struct definitions_origin origin);
void definitions_free(struct definitions **definitions);

// Adds copies of the definitions in one result of a list method, such as tools/list. Returns false if `result` is not
// such a result.
bool definitions_add_page(struct definitions *r, enum item_kind kind, const struct json *result);

// Adds all definitions of one kind from the set `from`, and takes its cache time and its number of refused tools into
// account.
void definitions_copy(struct definitions *r, const struct definitions *from, enum item_kind kind);

// Returns whether two sets have the same origin and cache times, and the same definitions in the same order, byte for
// byte.
bool definitions_same(const struct definitions *a, const struct definitions *b);
