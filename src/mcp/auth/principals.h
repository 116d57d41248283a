// SPDX-License-Identifier: Apache-2.0
// Those who have shown a credential, each under a number: it is what sessions are compared by, and what is counted.
//
// Who has the same name and the same agent is the same principal. A number is never given to another. At most `max` are
// remembered; for one more, whoever was not seen for the longest time is forgotten, and comes back as somebody new.
#pragma once
#include "base/crypto/hash.h"
#include "base/str.h"

struct principals;

struct principal {
  int number;  // from 0 on
  str name;    // the same in every run; tells nothing of the credential
  str agent;   // that the credential is bound to; empty: it says nothing of that
};

struct principals *principals_new(const struct hash_key *seed, size_t max);
void principals_free(struct principals **p);

// Good until the next one is met.
const struct principal *principals_meet(struct principals *p, str name, str agent);

size_t principals_count(const struct principals *p);
