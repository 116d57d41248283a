// SPDX-License-Identifier: Apache-2.0
// Detects loops of gateways: gateway A that has gateway B as a server, which has A as a server, would call itself
// forever. Requests name the gateways that they have passed.
//
// Every instance has a random id, which is public: a server may show it to anyone. The gateways above an instance are
// known from three places:
//   - TOOLGATE_CHAIN in the environment of a child process: id.digest, comma-separated, the newest last. The digest is
//     of the configuration files, so that a new process that would serve the same files is recognised, too.
//   - the header Toolgate-Chain of every HTTP request to a server: the ids above the sender and the sender's own, last.
//   - _meta "toolgate/chain" of a call that is made for a gateway: the ids that this very call has passed.
//
// An id counts for the request that carries it only. Across requests, marks are stored: an instance also has a random
// mark, which it sends to its HTTP servers only, in the same header, after "~". They send the marks of their clients to
// their own servers, so a mark that returns to its owner has gone around a ring. A client that knows an id but no mark
// cannot fake a ring, which would disconnect others. Marks do not count as depth.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/crypto/rand.h"
#include "base/fault.h"

enum {
  CHAIN_DEPTH = 4,  // gateways in a row
  CHAIN_ID = 16,    // hex digits of an id, of a mark, and of a digest
  CHAIN_SEEN = 16,  // marks stored for a server
};

#define CHAIN_VARIABLE "TOOLGATE_CHAIN"
#define CHAIN_HEADER "Toolgate-Chain"
#define CHAIN_META STR("toolgate/chain")

struct chain_entry {
  char id[CHAIN_ID + 1];
  char digest[CHAIN_ID + 1];  // may be ""
};

// The marks that are sent to one server: those of clients that may use it. All zero is empty.
struct chain_marks {
  struct {
    char mark[CHAIN_ID + 1];
    uint64_t at;
  } seen[CHAIN_SEEN];
};

struct chain {
  struct chain_entry self;
  char mark[CHAIN_ID + 1];
  struct chain_entry above[CHAIN_DEPTH];  // from the environment, the oldest first
  size_t above_count;
};

// `variable` is the value of TOOLGATE_CHAIN or STR_NONE; `files` names the configuration files and may be empty.
// Returns false, with the reason in f, if too many gateways are above this one or the variable is malformed.
bool chain_init(struct chain *c, const struct rand_source *rand, str variable, str files, struct fault *f);

// Returns whether a gateway above this one serves the same files.
bool chain_repeats(const struct chain *c);

// Returns the variable for a child process: NAME=VALUE.
str chain_variable(const struct chain *c, struct arena *a);

// Writes the header line, with CRLF, for a request to a server, with these marks (may be NULL). now: loop time in
// milliseconds.
void chain_put_header(const struct chain *c, const struct chain_marks *marks, uint64_t now, struct buf *out);

// Returns whether a request with this header is accepted; if not, f has the reason.
bool chain_admit(const struct chain *c, str header, struct fault *f);

// Return the ids or the marks of a header, in the arena, or STR_NONE.
str chain_ids_in(str header, struct arena *a);
str chain_marks_in(str header, struct arena *a);

// Stores the marks of a request. Returns whether one of them is new or was not seen for a while: the server that gets
// them may be part of a ring now.
bool chain_note(struct chain_marks *to, const struct chain *c, str marks, uint64_t now);

// Sets *out to the path of a call plus this gateway. Returns false, with the reason in f, if the call must not
// continue.
bool chain_extend(const struct chain *c, str path, struct arena *a, str *out, struct fault *f);
