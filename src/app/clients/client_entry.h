// SPDX-License-Identifier: Apache-2.0
// Converts one server entry of a client's file into an entry for Toolgate's own file.
#pragma once
#include "app/clients/client_table.h"

enum { CLIENT_MOST_NOTES = 16 };

struct client_entry {
  str name;
  str json;                      // the entry in Toolgate's form; empty: it cannot be converted
  bool placed;                   // the conversion added a "cwd", the folder of the project
  bool own;                      // the entry starts Toolgate itself, or was written by `connect`
  const char *why;               // reason why the entry cannot be converted, or NULL
  str shown;                     // command line or URL for people, with secrets masked
  str notes[CLIENT_MOST_NOTES];  // notes for the user: keys without effect, variables to set
  size_t note_count;
};

// Converts a server entry at the place `p` of a client's file. Allocates in the world's arena.
void client_entry_read(const struct client_world *w, const struct client_place *p, str name, const struct json *entry,
                       struct client_entry *out);
