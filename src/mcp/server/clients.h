// SPDX-License-Identifier: Apache-2.0
// Known MCP clients, and the part of a tool's result that each client gives its model. clients.c lists the sources.
//
// MCP lets a result carry the same answer twice: as text in `content` and as JSON in `structuredContent`. Some clients
// give the model the text, some the JSON, some both. The text of Toolgate's own answers is complete, so only clients
// that are known to need structuredContent, or that ask for it, get it. A client asks for it:
// - in the handshake, with capabilities.experimental["io.toolgate/structured"] (an object or true);
// - or in a request, with _meta["io.toolgate/structured"] (true or false, which overrides the handshake).
#pragma once
#include "base/arena.h"
#include "json/json.h"

#define CLIENT_STRUCTURED STR("io.toolgate/structured")

struct request;

enum client_reads {
  CLIENT_READS_UNKNOWN,
  CLIENT_READS_TEXT,        // content; structuredContent only if content is empty, or never
  CLIENT_READS_STRUCTURED,  // the model gets structuredContent, or `content` if there is no structuredContent
  CLIENT_READS_BOTH,
};

struct client_row {
  const char *name;   // in lower case; the first words of clientInfo.name
  const char *title;  // for people
  enum client_reads reads;
  bool structured;  // the client needs structuredContent in the answers of meta-tools
};

extern const struct client_row clients_known[];
extern const size_t clients_known_count;

// Returns the row whose name is the longest prefix of this clientInfo.name, ignoring case, or NULL.
const struct client_row *client_find(str name);

// Returns the part of a result that the client gives its model, as text in the arena or a slice of the result. If row
// is NULL (unknown client), assumes that the model gets the text.
str client_shown(const struct client_row *row, const struct json *result, struct arena *a);

// Returns whether this value of capabilities.experimental asks for structuredContent.
bool client_experiment_asks(const struct json *experimental);

// Returns the client that sent this request, or NULL.
const struct client_row *request_client(const struct request *r);

// Which answers of meta-tools contain structuredContent (gateway.structured). AUTO: answers to clients that need it or
// ask for it.
enum client_structured { CLIENT_STRUCTURED_AUTO, CLIENT_STRUCTURED_ALWAYS, CLIENT_STRUCTURED_NEVER };

// The form in which results are sent to a client.
struct client_form {
  bool structured;  // answers of meta-tools contain structuredContent, too
  // Which part of tool results the client gives its model; if unknown, results are not changed.
  enum client_reads reads;
};

struct client_form request_form(const struct request *r, enum client_structured when);

// Returns the form of results for a client that does not ask for structuredContent. `row` may be NULL.
struct client_form client_form_of(const struct client_row *row, enum client_structured when);
