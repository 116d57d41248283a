// SPDX-License-Identifier: Apache-2.0
// Limits the memory that messages from clients use, from their first bytes to the end of the request: in total and per
// principal. The owner of a message counts its memory here, calls intake_check, and refuses the message if that fails.
// The total therefore exceeds its limit by at most one message.
//
// A quarter of each limit is reserved for messages of up to INTAKE_SMALL bytes, so that many large messages do not
// block small ones. A large message is also refused if its principal would then use more of the other three quarters
// than remains free. So one principal gets at most half of the three quarters, and two principals get at most a third
// each. A principal's only message is exempt from this rule. If there is no other message at all, a message always
// fits.
#pragma once
#include "base/map.h"
#include "io/loop.h"

enum { INTAKE_SMALL = 65536 };

struct intake {
  struct loop *loop;
  size_t limit, principal_limit;  // limits in bytes for all messages, and for those of one principal; 0: no limit
  size_t used;
  uint64_t refused;  // number of messages refused since the start
  struct map accounts;
};

// Counts the memory of one principal's messages. Freed with its last reference.
struct intake_account {
  size_t used;
  unsigned refs;
  str name;
  char text[];
};

enum intake_room { INTAKE_ROOM, INTAKE_FULL, INTAKE_PRINCIPAL_FULL };

void intake_init(struct intake *in, struct loop *l, size_t limit, size_t principal_limit);
void intake_done(struct intake *in);  // must be called after all accounts were released with intake_leave

struct intake_account *intake_join(struct intake *in, str principal);  // empty: clients without credentials
// Releases a reference to an account and sets *account to NULL. Before its last reference is released, its `used` must
// be 0. *account may be NULL.
void intake_leave(struct intake *in, struct intake_account **account);

// Counts `bytes` instead of the *held bytes that the caller counted before, and sets *held to `bytes`.
void intake_set(struct intake *in, struct intake_account *a, size_t *held, size_t bytes);

// Checks the limits for a message of `bytes` bytes, which must already be counted. Returns INTAKE_ROOM if it fits,
// otherwise the limit that was reached.
enum intake_room intake_check(struct intake *in, const struct intake_account *a, size_t bytes);

// Returns the configuration key of the limit that was reached.
const char *intake_limit_name(enum intake_room room);
