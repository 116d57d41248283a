// SPDX-License-Identifier: Apache-2.0
// Clients of MCP servers, the files in which they keep their servers, and the form of an entry there.
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
  const char *name, *title;  // on the command line; for people
};
extern const struct client clients[CLIENTS];

// NULL: unknown name.
const struct client *client_named(str name);

// Writes the message for an unknown client, with the known names.
enum { CLIENT_UNKNOWN = 256 };
void client_unknown(const char *name, char out[CLIENT_UNKNOWN]);
static inline enum client_id client_id(const struct client *c) {
  ASSERT(c >= clients && c < clients + CLIENTS);
  return (enum client_id)(c - clients);
}

enum client_scope { CLIENT_ANY, CLIENT_PROJECT, CLIENT_USER };

// Servers in a file: an object at a path of keys.
struct client_place {
  enum client_id client;
  enum client_scope scope;
  bool toml;
  str file;           // absolute
  const char *group;  // the key that holds the object of servers, or NULL
  const char *key;    // the key of that object
  bool of_project;    // below projects / the current folder / key (Claude Code)
};

// Where commands look: the environment and the current folder, which is the project.
struct client_world {
  struct arena *arena;
  char *const *env;
  str home, folder;
};

// False: HOME or the current folder is not known.
bool client_world_init(struct client_world *w, struct arena *a, char *const *env, struct fault *f);

// The places of a client, in the arena; those in the project first, and in each scope the preferred one first.
size_t client_places(const struct client_world *w, enum client_id id, struct client_place **out);

// Returns the object of servers in a document, or NULL.
const struct json *client_servers(const struct client_world *w, const struct client_place *p, const struct json *root);
