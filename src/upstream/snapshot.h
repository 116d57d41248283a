// SPDX-License-Identifier: Apache-2.0
// A server that is a file: what it offers, and what it answers, written down as JSON. The file is
//   - a list of tools, or
//   - an object with any of "tools", "resources", "resourceTemplates" and "prompts", each a list of definitions;
//     perhaps with "server" (a name), "instructions", and "replies": {"tools": {NAME: RESULT}, "resources":
//     {URI: RESULT}, "prompts": {NAME: RESULT}}, each a whole result of tools/call, resources/read or prompts/get.
//     Other members are ignored, so that answers of a real server can be kept with whatever else is known of it.
// It is read once, and counted. White space between values is left out, as a server would do. What is wrong with
// single entries leaves out those.
#pragma once
#include "base/buf.h"
#include "base/map.h"
#include "catalog/definitions.h"
#include "upstream/spec.h"

enum { SNAPSHOT_MAX_FILE = 64 << 20 };

struct snapshot_entry {
  str name;  // unescaped
  str text;  // a definition, or a reply
};

struct snapshot {
  struct upstream_own own;
  struct buf file;     // what was read
  struct arena arena;  // the rest
  str server, instructions;
  struct snapshot_entry *entries[ITEM_KINDS];  // as listed
  size_t count[ITEM_KINDS];
  struct map by_name[ITEM_KINDS];  // struct snapshot_entry; of those with the same name the first
  struct map replies[ITEM_KINDS];  // the same; none for templates
};

// What is wrong with a file. fatal: it cannot be used; else something is left out.
typedef void snapshot_report(void *ctx, bool fatal, str pointer, const char *message);

// Takes the text over in any case. NULL: it cannot be used; all that is wrong was reported. One
// reference is the caller's.
struct snapshot *snapshot_new(struct buf *file, const struct hash_key *seed, snapshot_report *report, void *ctx);
void snapshot_free(struct snapshot **s);  // nobody has another reference
