// SPDX-License-Identifier: Apache-2.0
// Marks of the flow guard. A call is dangerous if, in the same run, an agent reads private data, reads content that
// strangers wrote, and sends data out: the content may instruct the agent to send the data. A governance file marks
// capabilities (member `flow`), and tools and servers without an adapter (top-level member `flow`):
//
//   flow:
//     mode: enforce                  # off, warn or enforce
//     keep_seconds: 86400
//     scope: session                 # session or agent
//     marks:
//       - { tools: ["mail:send_*"], flow: [sends_out] }
//       - { servers: [wiki], flow: [untrusted_input] }
//
// `flow: warn` is the same as `flow: {mode: warn}`. call/flow_guard.h applies these marks to calls.
#pragma once
#include "base/arena.h"
#include "govern/manifest.h"
#include "json/write.h"

struct governance;

// Each mark is one bit, so that an integer can hold a set of marks.
enum { FLOW_READS_PRIVATE = 1, FLOW_UNTRUSTED_INPUT = 2, FLOW_SENDS_OUT = 4 };
enum { FLOW_MARKS = 3, FLOW_DATA = FLOW_READS_PRIVATE | FLOW_UNTRUSTED_INPUT, FLOW_ALL = FLOW_DATA | FLOW_SENDS_OUT };

// FLOW_UNSET: the file does not name a mode, so FLOW_ENFORCE applies.
enum flow_mode { FLOW_UNSET, FLOW_OFF, FLOW_WARN, FLOW_ENFORCE };

// An element of `flow.marks`. `tools` are patterns over SERVER:TOOL; `servers` are names, and cover everything of these
// servers, also resources and prompts.
struct governance_flow_entry {
  struct governance_names tools, servers;
  uint8_t marks;
  str pointer;
};

struct governance_flow {
  uint8_t mode;     // enum flow_mode
  uint8_t scope;    // 0: a run without an id is a session; 1: it is everything that an agent does
  uint64_t keep_s;  // a run is forgotten when it has had no marked call for this time
  struct governance_flow_entry *entries;
  size_t entry_count;
  bool marked;  // the file has at least one mark
};

// The marks of a tool. pointers[i] is the place in the file from which the mark with bit i comes.
struct flow_marks {
  unsigned set;
  str pointers[FLOW_MARKS];
};

const char *flow_mark_name(unsigned bit);  // returns a name such as "reads_private"
unsigned flow_mark_find(str name);         // 0 for an unknown name

// Returns the settings, or NULL if the guard is off or nothing is marked.
const struct governance_flow *governance_flow_of(const struct governance *g);

void flow_marks_put(struct json_writer *w, unsigned set);  // writes a list of marks
// Reads a list of marks; false if it is malformed.
bool flow_marks_read(const struct json *v, struct arena *a, unsigned *out);
str flow_marks_pointer(const struct flow_marks *m);  // the place of the first mark in the file

struct flow_marks governance_capability_marks(const struct governance *g, const struct governance_capability *c);
// Returns the marks of a server's tool or, if `tool` is STR_NONE, those of the server's resources and prompts.
struct flow_marks governance_flow_marks(const struct governance *g, str server, str tool);
