// SPDX-License-Identifier: Apache-2.0
// Servers of clients that become servers of Toolgate, and the report of it.
#pragma once
#include "app/clients/client_file.h"
#include "app/clients/own_servers.h"
#include "base/buf.h"
#include "json/write.h"

enum takeover_status {
  TAKEOVER_ADDED,
  TAKEOVER_PRESENT,  // an equal server is there already
  TAKEOVER_OWN,      // it is Toolgate itself
  TAKEOVER_REFUSED,  // the entry cannot be used
};

struct taken {
  struct client_entry entry;
  const struct client_place *place;
  enum takeover_status status;
  str name;  // in Toolgate's file
};

struct takeover {
  struct client_world *world;
  struct own_servers own;
  struct taken *list;
  size_t count, cap;
  size_t places;  // files with servers
};

// Opens Toolgate's file: the one that is named, or the user's. False: f says what is wrong; its path is the file.
bool takeover_open(struct takeover *t, struct client_world *w, const char *own_file, struct fault *f);

// Takes over all servers at one place of a file.
void takeover_place(struct takeover *t, const struct client_place *p, const struct client_file *c);

// How one entry fared; NULL: it was not looked at.
const struct taken *takeover_find(const struct takeover *t, const struct client_place *p, str name);

size_t takeover_added(const struct takeover *t);
void takeover_print(const struct takeover *t);                       // for people, on stdout
void takeover_put(const struct takeover *t, struct json_writer *w);  // the member "servers"

// Says on stderr what is wrong with a file.
void takeover_complain(const char *command, str file, const struct fault *f);
