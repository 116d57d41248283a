// SPDX-License-Identifier: Apache-2.0
// Numbers the principals that have shown a credential. Sessions compare and count principals by number.
//
// The same name and agent is the same principal. A number is never reused. At most `max` principals are stored; one
// more replaces the least recently used one, which gets a new number when it returns.
#pragma once
#include "base/crypto/hash.h"
#include "base/str.h"

struct principals;

struct principal {
  int number;  // from 0 on
  str name;    // the same in every run; reveals nothing of the credential
  str agent;   // agent that the credential is bound to; may be empty
};

struct principals *principals_new(const struct hash_key *seed, size_t max);
void principals_free(struct principals **p);

// Returns the principal, valid until the next call.
const struct principal *principals_meet(struct principals *p, str name, str agent);

size_t principals_count(const struct principals *p);
