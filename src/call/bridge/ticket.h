// SPDX-License-Identifier: Apache-2.0
// The requestState that a client gets with input_required and brings back with its answers. It is sealed; it is good
// for one retry, of the same request, by the same caller, for a while.
#pragma once
#include "base/crypto/seal.h"
#include "io/loop.h"
#include "json/json.h"

enum ticket_kind {
  TICKET_PARKED,    // a call of ours waits for the answers: number
  TICKET_UPSTREAM,  // the upstream holds the state: source, state
  TICKET_AGAIN,     // nothing waits: the request is made anew, without answers
};

struct ticket {
  enum ticket_kind kind;
  uint64_t number;
  unsigned source;
  bool has_state;     // an upstream may ask without giving a state
  str state;          // the upstream's requestState, unescaped
  uint64_t spent_ms;  // that the call took before it asked
};

// Whose it is and for what.
struct ticket_use {
  int principal;
  str method;
  const struct json *params;  // compared by value, without _meta, inputResponses and requestState
};

struct tickets {
  struct seal seal;
  struct loop *loop;
  uint64_t life_ms;
  uint64_t next;   // serial numbers
  uint64_t *used;  // a ring of bits, one for each of the latest serials; NULL before the first is redeemed
};

void tickets_init(struct tickets *t, struct loop *l, uint64_t life_ms);
void tickets_done(struct tickets *t);

// Appends the text of a new ticket.
void ticket_issue(struct tickets *t, const struct ticket *ticket, const struct ticket_use *use, struct buf *out);

// False, and f says why (FAULT_INVALID): not one of ours or for another request or caller; used already; too old.
bool ticket_redeem(struct tickets *t, str text, const struct ticket_use *use, struct arena *a, struct ticket *out,
                   struct fault *f);
