// SPDX-License-Identifier: Apache-2.0
// Changes Toolgate's own file of servers: adds, removes, enables and disables servers.
#pragma once
#include "app/clients/client_entry.h"
#include "app/clients/text_file.h"

struct own_servers {
  struct arena *arena;
  struct text_file disk;
  str text;  // the file's text with all changes so far
};

// Opens the file. A missing file counts as a file without servers. On failure returns false with the error in `f`.
bool own_servers_open(struct own_servers *o, str path, struct arena *a, struct fault *f);

size_t own_servers_count(const struct own_servers *o);
// Returns the entry with this name, or NULL if no entry has it.
const struct json *own_servers_find(const struct own_servers *o, str name);

// Adds a server. The name must not exist yet; the entry is JSON text.
void own_servers_add(struct own_servers *o, str name, str entry);
// own_servers_remove removes a server; own_servers_switch enables (`on`) or disables it. The server must exist.
void own_servers_remove(struct own_servers *o, str name);
void own_servers_switch(struct own_servers *o, str name, bool on);

// Adds an entry unless the file has an equal one. The comparison ignores a "cwd" that `import` added (`folder`, the
// project's folder), unless the entry has relative paths. Returns the name of the server in the file: the entry's name,
// with a suffix if another server has that name. Sets *out_added to whether the entry was added.
str own_servers_take(struct own_servers *o, const struct client_entry *e, const char *client, str folder,
                     bool *out_added);

// Writes the file if something changed.
bool own_servers_write(struct own_servers *o, struct fault *f);
