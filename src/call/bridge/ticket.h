// SPDX-License-Identifier: Apache-2.0
// A ticket is the requestState that a client gets with input_required and returns with its answers. A ticket is
// encrypted and expires. It can be used once, by the same caller, to send the same request again.
#pragma once
#include "base/crypto/seal.h"
#include "io/loop.h"
#include "json/json.h"

enum ticket_kind {
  TICKET_PARKED,    // the parked call `number` waits for the answers
  TICKET_UPSTREAM,  // the request goes to the upstream `source` again, with its `state`
  TICKET_AGAIN,     // no call waits; the request is sent again, without answers
};

struct ticket {
  enum ticket_kind kind;
  uint64_t number;
  unsigned source;
  bool has_state;     // false if the upstream sent no state with its questions
  str state;          // requestState of the upstream, unescaped
  uint64_t spent_ms;  // time that the call had taken before the question was asked
};

// The caller and the request to which a ticket is bound.
struct ticket_use {
  int principal;
  str method;
  const struct json *params;  // the request's params, compared without _meta, inputResponses and requestState
};

struct tickets {
  struct seal seal;
  struct loop *loop;
  uint64_t life_ms;
  uint64_t next;  // serial number of the next ticket
  // One bit for each of the newest tickets, set if the ticket was used. NULL until the first ticket is used.
  uint64_t *used;
};

void tickets_init(struct tickets *t, struct loop *l, uint64_t life_ms);
void tickets_done(struct tickets *t);

// Creates a ticket and appends its text to `out`.
void ticket_issue(struct tickets *t, const struct ticket *ticket, const struct ticket_use *use, struct buf *out);

// Decrypts a ticket and marks it as used. Returns false with FAULT_INVALID if the ticket is not from this gateway, is
// for another request or caller, was used before, or has expired.
bool ticket_redeem(struct tickets *t, str text, const struct ticket_use *use, struct arena *a, struct ticket *out,
                   struct fault *f);
