// SPDX-License-Identifier: Apache-2.0
// Assigns a number to each principal that has sent a valid credential. Sessions compare and count principals by number.
//
// A principal is identified by name and agent. A number is never reused. At most `max` principals are stored; a further
// principal replaces the least recently used one, which gets a new number when it returns.
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

// Returns the principal with this name and agent, and adds the principal if it is new. The result is valid until the
// next call.
const struct principal *principals_meet(struct principals *p, str name, str agent);

size_t principals_count(const struct principals *p);
