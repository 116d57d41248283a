// SPDX-License-Identifier: Apache-2.0
// What the servers have, once each of them has been listed or has failed: counted, and weighed in tokens.
#pragma once
#include "app/visit/visit.h"
#include "catalog/directory/directory.h"

struct inventory_server {
  str name;
  bool available;
  const char *error;     // why not; NULL: it is
  const char *revision;  // of MCP that it speaks; NULL: it is not known
  uint64_t start_ms;     // that it took to open
  size_t count[DIRECTORY_KINDS];
  size_t tokens;  // of all its definitions, and of its tools alone
  size_t tool_tokens;
};

struct inventory {
  struct directory *directory;
  size_t *tokens[DIRECTORY_KINDS];  // of the definition of each entry
  struct inventory_server *servers;
  size_t server_count;
  const struct json *tools;  // what tools/list says in mode direct
};

// What a running gateway tells a command that takes an inventory of it (toolgate/rosters).
void inventory_put_offers(const struct gateway *g, const struct session *session, struct json_writer *w);

// Starts the servers and waits. It lives as long as the visit, in whose arena it is; v is then a client in mode direct.
// False: f says why.
bool inventory_take(struct visit *v, struct inventory *out, struct fault *f);
void inventory_done(struct inventory *i);

// Is nothing missing: every server is there, and none of its definitions was left out?
bool inventory_whole(const struct inventory *i);

// {"name", "available", "error"?, "tools", "resources", "prompts", "tokens", "tool_tokens"}, without the braces.
void inventory_put_server(struct json_writer *w, const struct inventory_server *s);
