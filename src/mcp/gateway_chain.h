// SPDX-License-Identifier: Apache-2.0
// Detects loops of gateways: if gateway A uses gateway B as a server and B uses A, a request would circulate forever.
// Requests contain the ids of the gateways that they have passed.
//
// Every instance has a random id, which is public: a server may show it to anyone. The gateways "above" an instance are
// the gateways through which its requests came. Their ids come from three sources:
//   - TOOLGATE_CHAIN in the environment of a child process: a comma-separated list of id.digest, the newest last. The
//     digest of the configuration files shows that another process uses the same files.
//   - The header Toolgate-Chain of every HTTP request to a server: the ids above the sender, then the sender's own id.
//   - _meta "toolgate/chain" of a call from another gateway: the ids of the gateways that this call has passed.
//
// The ids in a request say nothing about other requests. To detect rings across requests, an instance also has a random
// mark. The instance sends its mark only to its HTTP servers, in the header Toolgate-Chain, after "~". Gateways send
// the marks of their clients on to their own servers, so a mark that returns to its owner has passed through a ring.
// Ids are public, but marks are not: a client that knows only ids cannot simulate a ring to make a gateway disconnect
// others. Marks do not count toward CHAIN_DEPTH.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/crypto/rand.h"
#include "base/fault.h"

enum {
  CHAIN_DEPTH = 4,  // maximum number of gateways in a row
  CHAIN_ID = 16,    // hex digits of an id, a mark or a digest
  CHAIN_SEEN = 16,  // maximum number of marks stored for a server
};

#define CHAIN_VARIABLE "TOOLGATE_CHAIN"
#define CHAIN_HEADER "Toolgate-Chain"
#define CHAIN_META STR("toolgate/chain")

struct chain_entry {
  char id[CHAIN_ID + 1];
  char digest[CHAIN_ID + 1];  // may be ""
};

// The marks that are sent to one server: the marks of the clients that may use this server. A zeroed struct is empty.
struct chain_marks {
  struct {
    char mark[CHAIN_ID + 1];
    uint64_t at;
  } seen[CHAIN_SEEN];
};

struct chain {
  struct chain_entry self;
  char mark[CHAIN_ID + 1];
  struct chain_entry above[CHAIN_DEPTH];  // ids from the environment, the oldest first
  size_t above_count;
};

// `variable` is the value of TOOLGATE_CHAIN or STR_NONE; `files` names the configuration files and may be empty.
// Returns false, with a reason in f, if too many gateways are above this one or the variable is malformed.
bool chain_init(struct chain *c, const struct rand_source *rand, str variable, str files, struct fault *f);

// Returns whether a gateway above this one uses the same configuration files.
bool chain_repeats(const struct chain *c);

// Returns TOOLGATE_CHAIN=VALUE for the environment of a child process.
str chain_variable(const struct chain *c, struct arena *a);

// Writes the header line, with CRLF, for a request to a server. `marks` may be NULL. now: loop time in milliseconds.
void chain_put_header(const struct chain *c, const struct chain_marks *marks, uint64_t now, struct buf *out);

// Returns whether a request with this header is accepted. If not, f contains the reason.
bool chain_admit(const struct chain *c, str header, struct fault *f);

// chain_ids_in returns the ids in a header, chain_marks_in the marks. The result is in the arena, or STR_NONE if there
// are none.
str chain_ids_in(str header, struct arena *a);
str chain_marks_in(str header, struct arena *a);

// Stores the marks of a request. Returns true if one of them is new or was not seen recently. If so, the server that
// gets these marks may be part of a ring.
bool chain_note(struct chain_marks *to, const struct chain *c, str marks, uint64_t now);

// `path` lists the ids of the gateways that a call has passed. Sets *out to this list with the id of this gateway
// appended. Returns false, with a reason in f, if the call must not continue.
bool chain_extend(const struct chain *c, str path, struct arena *a, str *out, struct fault *f);
