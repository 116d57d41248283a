// SPDX-License-Identifier: Apache-2.0
// Texts in the entries of clients: the variables that each client knows, in the form that Toolgate knows.
#pragma once
#include "app/clients/client_entry.h"

struct client_text {
  struct arena *arena;
  enum client_id client;
  str home;
  str folder;                  // of the project; empty: the entry belongs to no project
  struct client_entry *entry;  // gets the notes
};

// ${env:X}, {env:X} (opencode) and $X (Gemini CLI) become ${X}; ${workspaceFolder}, ${userHome} and their kind become
// what they stand for; ${input:x}, which an editor asks for, becomes ${X}, with a note that the variable must be set.
str client_text_rewrite(struct client_text *t, str text);

// Adds a note once.
void client_text_note(struct client_text *t, str line);
