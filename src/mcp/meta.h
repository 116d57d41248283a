// SPDX-License-Identifier: Apache-2.0
// Reads and writes params._meta of stateless requests: the revision, the client, and the client's capabilities.
#pragma once
#include "base/buf.h"
#include "json/json.h"

// Reserved members of _meta.
#define META_VERSION STR("io.modelcontextprotocol/protocolVersion")
#define META_CAPABILITIES STR("io.modelcontextprotocol/clientCapabilities")
#define META_CLIENT STR("io.modelcontextprotocol/clientInfo")
#define META_LOG_LEVEL STR("io.modelcontextprotocol/logLevel")
#define META_SERVER STR("io.modelcontextprotocol/serverInfo")
#define META_SUBSCRIPTION STR("io.modelcontextprotocol/subscriptionId")

#define TASKS_EXTENSION STR("io.modelcontextprotocol/tasks")

// The name, title and version of the gateway, in JSON, for clients and servers.
#define META_TOOLGATE STR("{\"name\":\"toolgate\",\"title\":\"Toolgate\",\"version\":\"" TOOLGATE_VERSION "\"}")

// The default _meta of a result: it contains only the gateway's name, title and version.
#define META_OF_TOOLGATE \
  STR("{\"io.modelcontextprotocol/serverInfo\":" \
      "{\"name\":\"toolgate\",\"title\":\"Toolgate\",\"version\":\"" TOOLGATE_VERSION "\"}}")

// Members in the _meta of a stateless request. They may have any type, and are NULL if absent.
struct meta {
  const struct json *version, *capabilities, *client, *log_level;
};

// Reads the members of a _meta object, which may be NULL.
struct meta meta_read(const struct json *object);

struct meta_caller {
  str capabilities;  // raw object
  str client;        // raw object, or STR_NONE
  str log_level;     // "info", or STR_NONE
};

// Writes the _meta object of a request: the members of `old` (may be NULL) and, for a stateless server, the members of
// `caller`. For other servers, `caller` is NULL, and members that only stateless servers know are left out. `token`
// (raw JSON) replaces the progress token unless it is STR_NONE.
void meta_write(struct buf *out, const struct json *old, const struct meta_caller *caller, str token);

// Returns whether `meta` has only members that are reserved for stateless servers.
bool meta_only_stateless(const struct json *meta);

// Returns the member that marks a message as a stateless request, or NULL. The member may have any type.
const struct json *meta_claim(const struct json *message);
