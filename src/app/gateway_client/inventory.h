// SPDX-License-Identifier: Apache-2.0
// The definitions of all servers and their sizes in tokens. Taken after each server has listed its definitions or
// failed.
#pragma once
#include "app/gateway_client/gateway_client.h"
#include "catalog/directory/directory.h"

struct inventory_server {
  str name;
  bool available;
  const char *error;     // reason why the server is not available, or NULL
  const char *revision;  // revision of MCP, or NULL if unknown
  const char *version;   // version that the server names, or NULL
  uint64_t start_ms;     // time until the server was ready
  size_t count[DIRECTORY_KINDS];
  size_t tokens;       // tokens of all definitions
  size_t tool_tokens;  // number of tokens of the definitions of tools
};

struct inventory {
  struct directory *directory;
  size_t *tokens[DIRECTORY_KINDS];  // number of tokens of each entry's definition
  struct inventory_server *servers;
  size_t server_count;
  const struct json *tools;  // result of tools/list in direct mode
};

// Called in a running gateway. Writes the result of the control request `toolgate/definitions`, which contains the
// definitions that inventory_take needs.
void inventory_put_definitions(const struct gateway *g, const struct session *session, struct json_writer *w);

// Starts the servers, waits until each is ready or has failed, and fills *out. The data of *out is in the arena of the
// client. Sets the mode of the client to direct. On failure returns false with the reason in `f`.
bool inventory_take(struct gateway_client *client, struct inventory *out, struct fault *f);
void inventory_done(struct inventory *i);

// Returns whether every server is available and no definition was left out.
bool inventory_complete(const struct inventory *i);

// Writes the members "name", "available", "error"?, "tools", "resources", "prompts", "tokens" and "tool_tokens".
void inventory_put_server(struct json_writer *w, const struct inventory_server *s);
