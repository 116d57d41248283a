// SPDX-License-Identifier: Apache-2.0
// The known MCP clients, and the places of the servers in their configuration files.
#pragma once
#include "base/arena.h"
#include "base/fault.h"
#include "json/json.h"

enum client_id {
  CLIENT_CLAUDE_CODE,
  CLIENT_CLAUDE_DESKTOP,
  CLIENT_CURSOR,
  CLIENT_VSCODE,
  CLIENT_WINDSURF,
  CLIENT_GEMINI,
  CLIENT_CODEX,
  CLIENT_OPENCODE,
  CLIENT_ZED,
  CLIENTS,
};

struct client {
  const char *name, *title;  // name on the command line, name for people
};
extern const struct client clients[CLIENTS];

// Returns the client with this command-line name, or NULL.
const struct client *client_named(str name);

enum { CLIENT_UNKNOWN = 256 };  // maximum bytes of the message of client_unknown
// Writes an error message that names the unknown client and lists the known ones.
void client_unknown(const char *name, char out[CLIENT_UNKNOWN]);
static inline enum client_id client_id(const struct client *c) {
  ASSERT(c >= clients && c < clients + CLIENTS);
  return (enum client_id)(c - clients);
}

enum client_scope { CLIENT_ANY, CLIENT_PROJECT, CLIENT_USER };

// A place where a client stores its servers: an object in a file.
struct client_place {
  enum client_id client;
  enum client_scope scope;
  bool toml;
  str file;           // absolute path of the file
  const char *group;  // key of the object that contains `key`, or NULL
  const char *key;    // key of the object with the servers
  bool of_project;    // the servers are at /projects/CURRENT_FOLDER/key (Claude Code)
};

// What a command needs to find the files of clients: the environment, the home folder, and the current folder, which is
// the project.
struct client_world {
  struct arena *arena;
  char *const *env;
  str home, folder;
};

// Returns false, with the reason in `f`, if HOME or the current folder is unknown.
bool client_world_init(struct client_world *w, struct arena *a, char *const *env, struct fault *f);

// Lists the places of a client and returns their number. Places in the project come before those of the user; within
// each group, the preferred place comes first. Allocates in the arena.
size_t client_places(const struct client_world *w, enum client_id id, struct client_place **out);

// Returns the object that contains the servers of this place in a parsed file, or NULL if the file has none.
const struct json *client_servers(const struct client_world *w, const struct client_place *p, const struct json *root);
