// SPDX-License-Identifier: Apache-2.0
// A server that is a JSON file with its definitions and its answers. The file is
//   - a list of tools, or
//   - an object with any of "tools", "resources", "resourceTemplates" and "prompts", each a list of definitions;
//     perhaps with "server" (a name), "instructions", and "replies": {"tools": {NAME: RESULT}, "resources":
//     {URI: RESULT}, "prompts": {NAME: RESULT}}, each a whole result of tools/call, resources/read or prompts/get.
//     Other members are ignored.
// The file is read once, and counted. White space between values is removed. Invalid entries are left out.
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
  struct buf file;     // its text
  struct arena arena;  // the rest
  str server, instructions;
  struct snapshot_entry *entries[ITEM_KINDS];  // as listed
  size_t count[ITEM_KINDS];
  struct map by_name[ITEM_KINDS];  // struct snapshot_entry; the first of each name
  struct map replies[ITEM_KINDS];  // struct snapshot_entry; empty for templates
};

// Reports a problem of a file. fatal: the file cannot be used; otherwise an entry is left out.
typedef void snapshot_report(void *ctx, bool fatal, str pointer, const char *message);

// Takes the text in any case. Returns a snapshot with one reference for the caller, or NULL after reporting the
// problems.
struct snapshot *snapshot_new(struct buf *file, const struct hash_key *seed, snapshot_report *report, void *ctx);
void snapshot_free(struct snapshot **s);  // without other references
