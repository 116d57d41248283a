// SPDX-License-Identifier: Apache-2.0
// Toolgate's own file of servers, as the commands change it: servers come, go, and are switched on and off.
#pragma once
#include "app/clients/client_entry.h"
#include "app/clients/text_file.h"

struct own_servers {
  struct arena *arena;
  struct text_file disk;
  str text;  // as it will be written
};

// A missing file has no servers. False: f has the error in the file.
bool own_servers_open(struct own_servers *o, str path, struct arena *a, struct fault *f);

size_t own_servers_count(const struct own_servers *o);
// Returns the entry of this name, or NULL.
const struct json *own_servers_find(const struct own_servers *o, str name);

// The name must be free; the entry is JSON text.
void own_servers_add(struct own_servers *o, str name, str entry);
// The name must be there.
void own_servers_remove(struct own_servers *o, str name);
void own_servers_switch(struct own_servers *o, str name, bool on);

// Adds an entry unless an equal one is there. A "cwd" that import added makes no difference, unless there are relative
// paths; `folder` is the current project's, which import adds. Gives the name that it has: its own, or one with a
// suffix when another server has that. *out_added: was it added?
str own_servers_take(struct own_servers *o, const struct client_entry *e, const char *client, str folder,
                     bool *out_added);

// Writes the file if something changed.
bool own_servers_write(struct own_servers *o, struct fault *f);
