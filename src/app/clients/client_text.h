// SPDX-License-Identifier: Apache-2.0
// Converts strings in the entries of clients: rewrites references to variables from the client's syntax to Toolgate's.
#pragma once
#include "app/clients/client_entry.h"

struct client_text {
  struct arena *arena;
  enum client_id client;
  str home;
  str folder;                  // folder of the project; empty: the entry belongs to no project
  struct client_entry *entry;  // the entry to which notes are added
};

// Returns the string with references rewritten. ${env:X}, {env:X} (opencode) and $X (Gemini CLI) become ${X}.
// ${workspaceFolder}, ${userHome} and similar variables are replaced by their values. ${input:x}, for which editors ask
// the user, becomes ${X}, with a note that the variable must be set.
str client_text_rewrite(struct client_text *t, str text);

// Adds a note, unless the entry already has the same note.
void client_text_note(struct client_text *t, str line);
