// SPDX-License-Identifier: Apache-2.0
// A server that is a JSON file with its definitions and replies. The file is one of
//   - an array of tools
//   - an object with one or more of "tools", "resources", "resourceTemplates" and "prompts", each an array of
//     definitions. The object may also have "server" (a name), "instructions", and "replies": {"tools": {NAME: RESULT},
//     "resources": {URI: RESULT}, "prompts": {NAME: RESULT}}. Each RESULT is a complete result of tools/call,
//     resources/read or prompts/get. Other members are ignored.
// The file is read once; all users share one struct snapshot, which counts its references. White space between values
// is removed. Invalid entries are left out.
#pragma once
#include "base/buf.h"
#include "base/map.h"
#include "catalog/definitions.h"
#include "upstream/kind.h"

struct snapshot_entry {
  str name;  // name or URI, unescaped
  str text;  // raw JSON of a definition or of a reply
};

struct snapshot {
  struct upstream_own own;
  struct buf file;     // text of the file
  struct arena arena;  // memory for all other members
  str server, instructions;
  struct snapshot_entry *entries[ITEM_KINDS];  // in the order of the file
  size_t count[ITEM_KINDS];
  struct map by_name[ITEM_KINDS];  // struct snapshot_entry by name; the first one of each name
  struct map replies[ITEM_KINDS];  // struct snapshot_entry by name; empty for templates
};

// Takes ownership of `file`, even on failure. Returns a snapshot with one reference for the caller, or NULL after
// reporting the problems.
struct snapshot *snapshot_new(struct buf *file, const struct hash_key *seed, kind_report *report, void *ctx);
void snapshot_free(struct snapshot **s);  // must not have other references
