// SPDX-License-Identifier: Apache-2.0
// Pins: the definitions of tools as they were when they were accepted, and the identities of their servers. A server
// can change a tool after a person has checked it; the pin shows the change.
//
// The tools of a server without pins are accepted when they are first seen. Later, a tool that differs from its pin is
// PIN_CHANGED, and a tool without a pin is PIN_NEW, until an operator accepts it. With the mode `warn`, new tools are
// accepted at once, and all tools can be used. With `enforce`, a tool with any other state than PIN_ACCEPTED is
// quarantined: the callers of pins_find hide it and refuse its calls.
//
// Pins are entries of the store (store/shared.h), so they survive restarts. They are kept when a tool or a server
// disappears.
#pragma once
#include "base/arena.h"
#include "catalog/catalog.h"
#include "govern/govern.h"
#include "store/store.h"
#include "json/write.h"

struct pins;

enum pin_state {
  PIN_ACCEPTED,  // the tool is as it was accepted, or there is no such tool
  PIN_CHANGED,   // the definition of the tool, or the identity of its server, differs from the accepted one
  PIN_NEW,       // the tool was added to a server that has pins
  PIN_SUSPECT,   // the definition has findings (catalog/pins/scan.h) that nobody has accepted
  PIN_STATES
};
const char *pin_state_name(enum pin_state state);  // "accepted", "changed", "new", "suspect"

// A tool or, if `tool` is empty, the identity of a server.
struct pin_place {
  str server, tool;
};

struct pins_options {
  const struct log *log;
  const struct clock *clock;
  struct store *store;  // must outlive the pins
  const struct hash_key *seed;
  // Called when a tool leaves or enters the state PIN_ACCEPTED. `quarantined`: the mode is `enforce`. May be NULL.
  void (*changed)(void *ctx, const struct pin_place *place, enum pin_state state, bool quarantined);
  void *ctx;
};

// Creates the set and reads the pins from the store.
struct pins *pins_new(const struct pins_options *opt);
void pins_free(struct pins **p);

// Sets the mode. It applies from the next use on.
void pins_set_mode(struct pins *p, enum governance_pins mode);
enum governance_pins pins_mode(const struct pins *p);

// Compares the definitions of all servers with the pins. Must be called before a catalog with these definitions is
// used. Does nothing for servers whose `version` is that of the last call.
void pins_look(struct pins *p, const struct catalog_source *sources, size_t count);
// Compares all servers again in the next call of pins_look.
void pins_look_again(struct pins *p);

// Returns the state of a tool.
enum pin_state pins_find(const struct pins *p, str server, str tool);
// Returns whether the tool must not be used.
bool pins_quarantines(const struct pins *p, str server, str tool);

// Returns the number of tools and identities that are listed and have this state.
size_t pins_count(const struct pins *p, enum pin_state state);

// ---- for operators

// The pins that an operation is about.
struct pins_choice {
  str server;       // empty: all servers
  str tool;         // empty: all tools of the server, and its identity
  bool pending;     // only those that are listed and not accepted
  bool server_too;  // with a tool: also the identity of its server, if it is not accepted
  // Returns whether a tenant may use the tool; NULL: all tools. `tool` is empty for the identity of a server.
  bool (*may)(const void *ctx, str server, str tool);
  const void *ctx;
};

// Writes an array with an object for each chosen pin, ordered by server and tool: "server", "tool" (null for the
// identity), "state", "listed", "accepted_at", "accepted_by", "sha256", "findings" and, with `whole`, "accepted" and
// "current" (the definitions, or null). Returns the number of objects.
size_t pins_put(const struct pins *p, const struct pins_choice *which, bool whole, struct json_writer *w);

// Accepts the current definitions and the findings of the chosen pins. Writes an array like pins_put without `whole`,
// with those that were not accepted before. Returns their number. The caller must call pins_look_again afterwards, and
// build a catalog.
size_t pins_accept(struct pins *p, const struct pins_choice *which, struct json_writer *w);
