// SPDX-License-Identifier: Apache-2.0
// A JSON file that replaces a server: it contains definitions and replies. The file must be one of
//   - an array of tools
//   - an object with one or more of the arrays "tools", "resources", "resourceTemplates" and "prompts", whose elements
//     are definitions. The object may also have "server" (a name), "instructions", and "replies": {"tools": {NAME:
//     RESULT}, "resources": {URI: RESULT}, "prompts": {NAME: RESULT}}. Each RESULT is a complete result of tools/call,
//     resources/read or prompts/get. Other members are ignored.
// The file is read only once. White space between its values is removed. Invalid entries are left out. All users of the
// file share one struct snapshot, which counts its references.
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
  struct arena arena;  // memory that the other members point to
  str server, instructions;
  struct snapshot_entry *entries[ITEM_KINDS];  // in the order of the file
  size_t count[ITEM_KINDS];
  struct map by_name[ITEM_KINDS];  // definitions by name; the first one if several have the same name
  struct map replies[ITEM_KINDS];  // replies by name or URI; empty for templates
};

// Returns a snapshot with one reference, or NULL after reporting the problems. Takes ownership of `file` in both cases.
struct snapshot *snapshot_new(struct buf *file, const struct hash_key *seed, kind_report *report, void *ctx);
void snapshot_free(struct snapshot **s);  // the caller must have the only reference
