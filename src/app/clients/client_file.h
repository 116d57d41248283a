// SPDX-License-Identifier: Apache-2.0
// Reads a client's configuration file, and changes the servers in it. The rest of the file stays unchanged.
#pragma once
#include "app/clients/client_entry.h"
#include "app/clients/text_file.h"
#include "json/edit/patch.h"
#include "json/edit/toml.h"

struct client_file {
  struct text_file disk;
  bool toml;
  struct json_patch patch;  // the content of a JSON file
  struct toml lines;        // the content of a TOML file
  const struct json *root;  // the parsed content; NULL if the file is absent or empty
};

// Reads the client's file that contains the place `p`. Allocates in the world's arena. On failure returns false, with
// the error and its position in `f`.
bool client_file_open(struct client_file *c, const struct client_world *w, const struct client_place *p,
                      struct fault *f);

// Returns whether another user may have written the file (app/config/foreign.h). If so, `f` has the reason, and how to
// trust the file.
bool client_file_is_foreign(const struct text_file *t, const struct client_world *w, str path, struct fault *f);

// Converts the server entries at a place of the file. Returns their number.
size_t client_file_entries(const struct client_file *c, const struct client_world *w, const struct client_place *p,
                           struct client_entry **out);

// The change that `connect` makes in one file: removes the servers for which `goes` returns true, and adds Toolgate's
// entry at the first place.
struct client_change {
  const struct client_place *const *places;
  size_t place_count;
  bool (*goes)(void *ctx, const struct client_place *p, str name);
  void *ctx;
  str own;  // Toolgate's entry as JSON text; empty if the entry exists already
};

// Sets *out to the text of the file with the change. On failure returns false with the reason in `f`.
bool client_file_changed(struct client_file *c, const struct client_world *w, const struct client_change *change,
                         str *out, struct fault *f);
