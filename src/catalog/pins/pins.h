// SPDX-License-Identifier: Apache-2.0
// A pin is the accepted definition of a tool, or the accepted identity of a server. A server can change a tool after a
// person has checked it; a comparison with the pin shows the change.
//
// The tools of a server without pins are accepted when they are first seen. Later, a tool that differs from its pin is
// PIN_CHANGED, and a tool without a pin is PIN_NEW, until an operator accepts it. With the mode `warn`, new tools are
// accepted at once, and all tools can be used. With `enforce`, a tool with any other state than PIN_ACCEPTED is
// quarantined: the callers of pins_find hide it and refuse its calls.
//
// Pins are entries of the store (store/shared.h), so they survive restarts. A pin stays when its tool or server
// disappears.
#pragma once
#include "base/arena.h"
#include "catalog/catalog.h"
#include "govern/govern.h"
#include "store/store.h"
#include "json/write.h"

struct pins;

enum pin_state {
  PIN_ACCEPTED,  // the tool is the same as when it was accepted, or there is no such tool
  PIN_CHANGED,   // the definition of the tool, or the identity of its server, differs from the accepted one
  PIN_NEW,       // the tool was added to a server that has pins
  PIN_SUSPECT,   // the definition has findings (catalog/pins/scan.h) that nobody has accepted
  PIN_STATES
};
const char *pin_state_name(enum pin_state state);  // "accepted", "changed", "new", "suspect"

// The owner of a pin: a tool or, if `tool` is empty, a server with its identity.
struct pin_place {
  str server, tool;
};

// A change of the state of a tool or identity.
struct pin_change {
  struct pin_place place;
  enum pin_state state;
  bool quarantined;  // the tool cannot be used
  uint64_t omitted;  // number of earlier changes of the same server that were not reported
};

struct pins_options {
  const struct log *log;
  const struct clock *clock;
  struct store *store;  // must outlive the pins
  const struct hash_key *seed;
  // Called when the state of a tool or identity changes. The number of calls for one server is limited. May be NULL.
  void (*changed)(void *ctx, const struct pin_change *change);
  void *ctx;
};

// Creates an object for all pins, and reads the pins from the store.
struct pins *pins_new(const struct pins_options *opt);
void pins_free(struct pins **p);

// Sets the mode, which applies to all later calls.
void pins_set_mode(struct pins *p, enum governance_pins mode);
enum governance_pins pins_mode(const struct pins *p);

// Compares the definitions of all servers with the pins. Must be called before a catalog with these definitions is
// used. Skips a server whose catalog_source.version has not changed since the last call.
void pins_look(struct pins *p, const struct catalog_source *sources, size_t count);
// Makes the next call of pins_look compare all servers again.
void pins_look_again(struct pins *p);

// Returns the state of a tool, or PIN_CHANGED if the identity of the tool's server is not accepted.
enum pin_state pins_find(const struct pins *p, str server, str tool);
// Returns whether the tool is quarantined: it must not be used.
bool pins_quarantines(const struct pins *p, str server, str tool);

// Returns whether a definition is the accepted one, or the tool has no pin. Needed for a connection on which a server
// lists another definition than that of the catalog.
bool pins_match(const struct pins *p, str server, str tool, str definition);

// Returns how many pins have this state. Counts only tools that their servers list now, and identities of existing
// servers.
size_t pins_count(const struct pins *p, enum pin_state state);

enum { PINS_COMMAND = 256 };
// Writes the command that shows how a tool differs from its pin. Leaves out names with characters that are special for
// shells, because a server chooses the names of its tools, and people copy commands into a shell.
void pins_print_command(str server, str tool, char out[PINS_COMMAND]);

// ---- for operators

// Selects pins for pins_put or pins_accept.
struct pins_choice {
  str server;       // empty: all servers
  str tool;         // empty: all tools of the server, and its identity
  bool pending;     // only pins that are not accepted
  bool server_too;  // if `tool` is set: also the identity of its server, unless accepted
  str sha256;       // pins_accept: only pins whose current definition has this hash; empty: all
  // Returns whether a tenant may use the tool; `tool` is empty for the identity of a server. NULL selects all tools.
  bool (*may)(const void *ctx, str server, str tool);
  const void *ctx;
};

// Writes an array with an object for each chosen pin, ordered by server and tool: "server", "tool" (null for the
// identity), "state", "listed", "accepted_at", "accepted_by", "sha256", "findings" and, with `whole`, "accepted" and
// "current" (the definitions, or null). Returns the number of objects.
size_t pins_put(const struct pins *p, const struct pins_choice *which, bool whole, struct json_writer *w);

// Accepts the current definitions and the findings of the chosen pins. Writes an array like that of pins_put, but
// without `whole` and only with the pins that were not accepted before. Returns the number of these pins. The caller
// must call pins_look_again afterwards, and build a catalog.
size_t pins_accept(struct pins *p, const struct pins_choice *which, struct json_writer *w);
