// SPDX-License-Identifier: Apache-2.0
// Fair shares of a limited number of places: a holder that has n places may take one more place if more than n places
// are free. So a single holder gets half of the places, two holders get a third each, and a new holder gets a place if
// any is free.
//
// The empty name stands for unidentified holders, which may take all places.
#pragma once
#include "base/list.h"
#include "base/map.h"

// The places of one holder. This struct is freed when the holder gives back its last place.
struct share {
  size_t count;
  struct list members;  // the caller's list of objects that use the places
  size_t bytes;         // memory of these objects in bytes; set by the caller
  str name;
  char text[];
};

struct shares {
  struct map by_name;
  size_t total, max;
};

void shares_init(struct shares *s, const struct hash_key *seed, size_t max);
void shares_done(struct shares *s);  // must not be called while places are in use

size_t shares_free(const struct shares *s);
struct share *shares_find(const struct shares *s, str name);  // returns NULL if `name` has no place
size_t shares_count(const struct shares *s, str name);

// Returns whether `name` would be allowed to take one more place if `extra` more places were free.
bool shares_allow(const struct shares *s, str name, size_t extra);

struct share *shares_take(struct shares *s, str name);     // takes one place; does not check shares_allow
void shares_drop(struct shares *s, struct share **share);  // gives one place back
