// SPDX-License-Identifier: Apache-2.0
// Which gateways a request has passed. A gateway that has another as a server, which has the first as a server, would
// otherwise ask itself for ever.
//
// Every instance has a random id. The gateways above an instance are known from three places:
//   - TOOLGATE_CHAIN in the environment of a child process: id.digest, comma-separated, the newest last. The digest is
//     of the configuration files, so that a new process that would serve the same files is recognised, too.
//   - the header Toolgate-Chain of every HTTP request to a server: the ids above the sender and the sender's own, last.
//     Ids that begin with "~" are gateways that are clients of the sender; they do not count as depth.
//   - _meta "toolgate/chain" of a call that is made for a gateway: the ids that this very call has passed.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/crypto/rand.h"
#include "base/fault.h"

enum {
  CHAIN_DEPTH = 4,  // gateways in a row
  CHAIN_ID = 16,    // hex digits of an id, and of a digest
  CHAIN_SEEN = 16,  // gateways that are remembered as clients
};

#define CHAIN_VARIABLE "TOOLGATE_CHAIN"
#define CHAIN_HEADER "Toolgate-Chain"
#define CHAIN_META STR("toolgate/chain")

struct chain_entry {
  char id[CHAIN_ID + 1];
  char digest[CHAIN_ID + 1];  // "": none
};

struct chain_seen {
  char id[CHAIN_ID + 1];
  uint64_t at;
};

struct chain {
  struct chain_entry self;
  struct chain_entry above[CHAIN_DEPTH];  // from the environment, the oldest first
  size_t above_count;
  struct chain_seen seen[CHAIN_SEEN];  // gateways that are clients over HTTP, directly or through others
  // A gateway sent a request that has not for a while: what this instance is connected to may be a loop now. May be
  // NULL.
  void (*news)(void *ctx);
  void *ctx;
};

// variable: the value of TOOLGATE_CHAIN; STR_NONE: it is not set. files: names the configuration files; empty: there
// are none. False: too many gateways are above this one, or the variable is malformed; f says which.
bool chain_init(struct chain *c, const struct rand_source *rand, str variable, str files, struct fault *f);

// Is a gateway above this one that serves the same files?
bool chain_repeats(const struct chain *c);

// The variable for a child process: NAME=VALUE.
str chain_variable(const struct chain *c, struct arena *a);

// The header line, with CRLF, for a request to a server. now: loop time, in milliseconds.
void chain_put_header(const struct chain *c, uint64_t now, struct buf *out);

// May a request with this header come in? Remembers its sender. False: f says why not.
bool chain_admit(struct chain *c, str header, uint64_t now, struct fault *f);

// The ids of a header that are not marked, in the arena; STR_NONE: there are none.
str chain_path(str header, struct arena *a);

// What a call that came by this path goes on with. False: it must not go on; f says why.
bool chain_extend(const struct chain *c, str path, struct arena *a, str *out, struct fault *f);
