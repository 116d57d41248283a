// SPDX-License-Identifier: Apache-2.0
// Counts connections by client address. IPv6 clients count by their /64 network, because one client usually has all
// addresses of such a network.
#pragma once
#include "base/map.h"
#include "io/stream/stream.h"

struct peers {
  struct map by_address;
};

// Counts the connections of one address. Freed when the count is 0.
struct peer {
  size_t count;
  unsigned char address[16];  // IPv6 address; an IPv4 address is stored in its mapped form (::ffff:a.b.c.d)
};

void peers_init(struct peers *p, const struct hash_key *seed);
void peers_done(struct peers *p);  // must be called after all connections were removed

struct peer *peers_enter(struct peers *p, const struct stream *s);  // counts one more connection
void peers_leave(struct peers *p, struct peer **peer);              // counts one connection less
