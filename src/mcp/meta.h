// SPDX-License-Identifier: Apache-2.0
// params._meta of a stateless request: which revision it is in, who asks, and what that client can do.
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

// How we name ourselves, to clients and to servers.
#define META_TOOLGATE STR("{\"name\":\"toolgate\",\"title\":\"Toolgate\",\"version\":\"" TOOLGATE_VERSION "\"}")

// The _meta of a result that has no other.
#define META_OF_TOOLGATE \
  STR("{\"io.modelcontextprotocol/serverInfo\":" \
      "{\"name\":\"toolgate\",\"title\":\"Toolgate\",\"version\":\"" TOOLGATE_VERSION "\"}}")

// What a stateless request says of itself; each NULL when it does not.
struct meta {
  const struct json *version, *capabilities, *client, *log_level;
};

// Reads the members of a _meta object (NULL: there is none), whatever their types.
struct meta meta_read(const struct json *object);

struct meta_caller {
  str capabilities;  // raw object
  str client;        // raw object, or STR_NONE
  str log_level;     // "info", or STR_NONE
};

// Writes the _meta object of a request, whatever it had before (old; NULL: none) plus these: as a stateless request
// when caller is not NULL, else without what only those have. token: raw, replaces the progress token; STR_NONE
// leaves it.
void meta_write(struct buf *out, const struct json *old, const struct meta_caller *caller, str token);

// Would nothing be left of it for a server with a session?
bool meta_only_stateless(const struct json *meta);

// Does a message claim to be a stateless request? Gives the member, whatever its type.
const struct json *meta_claim(const struct json *message);
