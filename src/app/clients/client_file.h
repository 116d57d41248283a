// SPDX-License-Identifier: Apache-2.0
// A file of a client: read, and changed where its servers are, the rest as it is.
#pragma once
#include "app/clients/client_entry.h"
#include "app/clients/text_file.h"
#include "json/edit/patch.h"
#include "json/edit/toml.h"

struct client_file {
  struct text_file disk;
  bool toml;
  struct json_patch patch;  // JSON
  struct toml lines;        // TOML
  const struct json *root;  // of the content; NULL: the file is absent or empty
};

// False: f says what is wrong with the file, and where. All in the world's arena.
bool client_file_open(struct client_file *c, const struct client_world *w, const struct client_place *p,
                      struct fault *f);

// Returns whether another user may have written the file found at this path; f then says so, and how to trust it
// (app/config/foreign.h).
bool client_file_is_foreign(const struct text_file *t, const struct client_world *w, str path, struct fault *f);

// The servers at a place of the file.
size_t client_file_entries(const struct client_file *c, const struct client_world *w, const struct client_place *p,
                           struct client_entry **out);

// The change that `connect` makes in one file: removes servers at these places, by name, and adds Toolgate's entry at
// the first place.
struct client_change {
  const struct client_place *const *places;
  size_t place_count;
  bool (*goes)(void *ctx, const struct client_place *p, str name);
  void *ctx;
  str own;  // the entry as JSON text; empty: it is there already
};

// The text of the file with the change. False: f says why it cannot be made.
bool client_file_changed(struct client_file *c, const struct client_world *w, const struct client_change *change,
                         str *out, struct fault *f);
