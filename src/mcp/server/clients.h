// SPDX-License-Identifier: Apache-2.0
// Known MCP clients, and the part of a tool's result that each gives its model. Sources: docs/reference/clients.md.
//
// MCP lets a result carry the same answer twice: as text in `content` and as JSON in `structuredContent`. Some clients
// give the model the text, some the JSON instead, some both. Toolgate's own answers are complete as text, so
// structuredContent is sent only to clients that are known to want it or that ask for it:
//   - at the handshake, with capabilities.experimental["io.toolgate/structured"] (an object or true);
//   - or with a request, by _meta["io.toolgate/structured"] (true or false, which overrides the handshake).
#pragma once
#include "base/arena.h"
#include "json/json.h"

#define CLIENT_STRUCTURED STR("io.toolgate/structured")

struct request;

enum client_reads {
  CLIENT_READS_UNKNOWN,
  CLIENT_READS_TEXT,        // content; structuredContent never, or only if content is empty
  CLIENT_READS_STRUCTURED,  // structuredContent instead of content; content if there is no structuredContent
  CLIENT_READS_BOTH,
};

struct client_row {
  const char *name;   // prefix of clientInfo.name, in lower case; a whole word
  const char *title;  // for people
  enum client_reads reads;
  bool structured;  // wants structuredContent in the answers of meta-tools
};

extern const struct client_row clients_known[];
extern const size_t clients_known_count;

// Returns the row whose name is the longest prefix of this clientInfo.name, ignoring case, or NULL.
const struct client_row *client_find(str name);

// Returns the text that the client gives its model of a result, in the arena or a slice of the result. An unknown
// client (NULL) counts as one that reads text.
str client_shown(const struct client_row *row, const struct json *result, struct arena *a);

// Returns whether this value of capabilities.experimental asks for structuredContent.
bool client_experiment_asks(const struct json *experimental);

// Returns the client that sent this request, or NULL.
const struct client_row *request_client(const struct request *r);

// When the answers of meta-tools carry structuredContent (gateway.structured).
enum client_structured { CLIENT_STRUCTURED_AUTO, CLIENT_STRUCTURED_ALWAYS, CLIENT_STRUCTURED_NEVER };

// The form of an answer.
struct client_form {
  bool structured;          // meta-tools answer with structuredContent too
  enum client_reads reads;  // results of tools are arranged for this; UNKNOWN: they stay as they came
};

struct client_form request_form(const struct request *r, enum client_structured when);

// Returns the form for a client that does not ask; row may be NULL.
struct client_form client_form_of(const struct client_row *row, enum client_structured when);
