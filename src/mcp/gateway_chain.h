// SPDX-License-Identifier: Apache-2.0
// Which gateways a request has passed. A gateway that has another as a server, which has the first as a server, would
// otherwise ask itself for ever.
//
// Every instance has a random id, which is public: a server may show it to anyone. The gateways above an instance are
// known from three places:
//   - TOOLGATE_CHAIN in the environment of a child process: id.digest, comma-separated, the newest last. The digest is
//     of the configuration files, so that a new process that would serve the same files is recognised, too.
//   - the header Toolgate-Chain of every HTTP request to a server: the ids above the sender and the sender's own, last.
//   - _meta "toolgate/chain" of a call that is made for a gateway: the ids that this very call has passed.
//
// An id stands for the request that carries it and for no other. What is remembered of requests is marks: an instance
// also has a random mark, which only its HTTP servers get, in the same header, after "~". They pass the marks of their
// clients on to their own servers, so a mark that comes back to its owner has gone around a ring. A client that knows
// an id but no mark cannot pretend that there is a ring, which would cut others off. Marks do not count as depth.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/crypto/rand.h"
#include "base/fault.h"

enum {
  CHAIN_DEPTH = 4,  // gateways in a row
  CHAIN_ID = 16,    // hex digits of an id, of a mark, and of a digest
  CHAIN_SEEN = 16,  // marks that are remembered for a server
};

#define CHAIN_VARIABLE "TOOLGATE_CHAIN"
#define CHAIN_HEADER "Toolgate-Chain"
#define CHAIN_META STR("toolgate/chain")

struct chain_entry {
  char id[CHAIN_ID + 1];
  char digest[CHAIN_ID + 1];  // "": none
};

// The marks that are sent to one server: those of clients that may use it. All zero: none.
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

// variable: the value of TOOLGATE_CHAIN; STR_NONE: it is not set. files: names the configuration files; empty: there
// are none. False: too many gateways are above this one, or the variable is malformed; f says which.
bool chain_init(struct chain *c, const struct rand_source *rand, str variable, str files, struct fault *f);

// Is a gateway above this one that serves the same files?
bool chain_repeats(const struct chain *c);

// The variable for a child process: NAME=VALUE.
str chain_variable(const struct chain *c, struct arena *a);

// The header line, with CRLF, for a request to a server. marks: those to pass on; NULL: none. now: loop time, in
// milliseconds.
void chain_put_header(const struct chain *c, const struct chain_marks *marks, uint64_t now, struct buf *out);

// May a request with this header come in? False: f says why not.
bool chain_admit(const struct chain *c, str header, struct fault *f);

// The ids of a header, or its marks, in the arena; STR_NONE: there are none.
str chain_ids_in(str header, struct arena *a);
str chain_marks_in(str header, struct arena *a);

// Remembers the marks of a request. Returns whether one of them was not seen for a while: the server that they are for
// may be part of a ring now.
bool chain_note(struct chain_marks *to, const struct chain *c, str marks, uint64_t now);

// What a call that came by this path goes on with. False: it must not go on; f says why.
bool chain_extend(const struct chain *c, str path, struct arena *a, str *out, struct fault *f);
