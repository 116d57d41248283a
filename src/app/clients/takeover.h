// SPDX-License-Identifier: Apache-2.0
// Copies servers from the files of clients to Toolgate's own file, and prints the result.
#pragma once
#include "app/clients/client_file.h"
#include "app/clients/own_servers.h"
#include "base/buf.h"
#include "json/write.h"

enum takeover_status {
  TAKEOVER_ADDED,
  TAKEOVER_PRESENT,  // Toolgate's file already has an equal server
  TAKEOVER_OWN,      // the server is Toolgate itself
  TAKEOVER_REFUSED,  // the entry cannot be used
};

struct taken {
  struct client_entry entry;
  const struct client_place *place;
  enum takeover_status status;
  str name;  // name of the server in Toolgate's file
};

struct takeover {
  struct client_world *world;
  struct own_servers own;
  struct taken *list;
  size_t count, cap;
  size_t places;  // number of places in the files of clients where servers were found
};

// Opens Toolgate's file: `own_file`, or the user's file if `own_file` is NULL. On failure returns false, and `f` has
// the reason and the path of the file.
bool takeover_open(struct takeover *t, struct client_world *w, const char *own_file, struct fault *f);

// Copies all servers at one place of a file.
void takeover_place(struct takeover *t, const struct client_place *p, const struct client_file *c);

// Returns the result for one entry, or NULL if takeover_place has not read the entry.
const struct taken *takeover_find(const struct takeover *t, const struct client_place *p, str name);

size_t takeover_added(const struct takeover *t);
void takeover_print(const struct takeover *t);                       // prints the result on stdout for people
void takeover_put(const struct takeover *t, struct json_writer *w);  // writes the result as the member "servers"

// Prints an error about a file on stderr, with the position in the file if the fault has one.
void takeover_complain(const char *command, str file, const struct fault *f);
