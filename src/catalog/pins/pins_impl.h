// SPDX-License-Identifier: Apache-2.0
// The private structs and functions of pins, for the files pins*.c only.
#pragma once
#include "catalog/pins/pins.h"
#include "catalog/pins/scan.h"
#include "json/write.h"

enum {
  PINS_MAGIC = 0x70696e73,
  PINS_MOST = 10000,  // maximum pins of one server; pins of unlisted tools are removed first
};

// A pin. Its texts are on the heap; an absent text is STR_NONE.
struct pin {
  struct pin_server *server;
  str tool;          // empty if this is the pin of the server's identity
  str accepted;      // canonical JSON of the accepted definition
  str current;       // canonical JSON of the listed definition, if it differs from the accepted one
  int64_t at;        // time when it was accepted, in ms since 1970
  int64_t first_at;  // time when a definition of this tool was accepted for the first time
  bool by_operator;  // accepted by a person
  bool listed;       // the server lists the tool
  bool passed;       // the current call of pins_look has compared the tool
  uint64_t text;     // hash of the definition at the last call of pins_look; 0 before the first call
  uint8_t findings;  // bits of enum pin_finding
  uint8_t reviewed;  // the findings that a person has accepted
  str why[PIN_FINDINGS];
  uint8_t before;       // unreviewed findings before the current call of pins_look
  enum pin_state told;  // the state that was reported last
};

struct pin_server {
  str name;
  struct map tools;  // struct pin, by name
  struct pin identity;
  uint64_t version;  // catalog_source.version at the last comparison
  bool looked;
  bool surplus;  // the server lists tools without a pin, because there are too many
  size_t order;  // position among the sources
  // for the limit on reports
  int64_t reports_since;
  unsigned reports;
  uint64_t omitted;
};

struct pins {
  uint32_t magic;
  struct pins_options opt;
  enum governance_pins mode;
  struct map servers;  // struct pin_server, by name
  size_t counts[PIN_STATES];
  bool unreadable;  // the store could not be read, so no tool is accepted when it is first seen
};

enum pin_state pin_state_of(const struct pin *pin);
void pin_set(str *text, str value);                                     // replaces a text by a copy of `value`
struct pin_server *pins_server(struct pins *p, str name);               // creates it if necessary
struct pin *pins_tool(struct pins *p, struct pin_server *s, str tool);  // creates it if necessary; "" is the identity
void pins_accept_one(struct pins *p, struct pin *pin, bool by_operator);

// The position of a walk over all pins; initially {0}. For each server, pins_next returns first its identity, then its
// tools.
struct pins_walk {
  struct pin_server *server;
  size_t servers, tools;
};
struct pin *pins_next(const struct pins *p, struct pins_walk *at);

// ---- pins_scan.c

// The findings that quarantine a tool. PIN_SAME_NAME is only a note, because clients see both tools under other names.
enum { PIN_SERIOUS = 1u << PIN_HIDDEN | 1u << PIN_INSTRUCTION | 1u << PIN_LOOKALIKE };

// Searches the texts of a definition, and records the findings in its pin. `fresh` says that the definition was not
// seen before.
void pins_scan(struct pin *pin, const struct definition *d, bool fresh);
// Finds tools whose names look like those of other servers' tools, and records these findings in the pins.
void pins_compare_names(struct pins *p);
// Returns the tool that a finding PIN_LOOKALIKE or PIN_SAME_NAME is about, or NULL if its pin was removed.
const struct pin *pins_original(const struct pins *p, const struct pin *imitation, enum pin_finding finding);

// ---- pins_store.c

void pins_load(struct pins *p);  // sets `unreadable` on failure
void pins_save(struct pins *p, const struct pin *pin);
void pins_remove(struct pins *p, const struct pin *pin);  // from the store
// Writes the member `findings`. `reviewed` is the name of the member that says whether an operator accepted a finding.
// The texts of the findings in the set `foreign` are left out, because they name tools of other tenants.
void pins_put_findings(struct json_writer *w, const struct pin *pin, str reviewed, unsigned foreign);
void pins_put_raw_or_null(struct json_writer *w, str key, str text);
