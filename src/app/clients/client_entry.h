// SPDX-License-Identifier: Apache-2.0
// One entry of a client's file as an entry of Toolgate's own file.
#pragma once
#include "app/clients/client_table.h"

enum { CLIENT_MOST_NOTES = 16 };

struct client_entry {
  str name;
  str json;                      // the entry in Toolgate's form; empty: it cannot be taken over
  bool placed;                   // "cwd" is not the client's: it was added here, with the project's folder
  bool own;                      // it starts Toolgate itself, or was written by `connect`
  const char *why;               // it cannot be taken over, and this is why
  str shown;                     // its command line or URL for people, secrets masked
  str notes[CLIENT_MOST_NOTES];  // what a person should know: keys without effect, variables to set
  size_t note_count;
};

// Reads one entry of a place. Everything is in the world's arena.
void client_entry_read(const struct client_world *w, const struct client_place *p, str name, const struct json *entry,
                       struct client_entry *out);
