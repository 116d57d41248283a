// SPDX-License-Identifier: Apache-2.0
// Numbers the principals that have shown a credential. Sessions compare and count principals by number.
//
// A principal is identified by name and agent. A number is never reused. At most `max` principals are stored; another
// one replaces the least recently used principal, which gets a new number when it returns.
#pragma once
#include "base/crypto/hash.h"
#include "base/str.h"

struct principals;

struct principal {
  int number;  // 0, 1, 2, …
  str name;    // the same in every run; reveals nothing about the credential
  str agent;   // agent that the credential is bound to; may be empty
};

struct principals *principals_new(const struct hash_key *seed, size_t max);
void principals_free(struct principals **p);

// Returns the principal, which is added if it is new. Valid until the next call.
const struct principal *principals_meet(struct principals *p, str name, str agent);

size_t principals_count(const struct principals *p);
