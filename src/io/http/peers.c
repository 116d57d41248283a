// SPDX-License-Identifier: Apache-2.0
#include "io/http/peers.h"

#include "base/assert.h"
#include "base/mem.h"

enum { NETWORK_BYTES = 8 };

void peers_init(struct peers *p, const struct hash_key *seed) {
  map_init(&p->by_address, seed);
}

void peers_done(struct peers *p) {
  map_done(&p->by_address);
}

static str key_of(const unsigned char address[16]) {
  return (str){(const char *)address, 16};
}

static void address_of(const struct stream *s, unsigned char out[16]) {
  static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
  struct sockaddr_storage from;
  memset(out, 0, 16);
  if (!stream_address(s, &from)) return;
  if (from.ss_family == AF_INET6) {
    memcpy(out, &((struct sockaddr_in6 *)&from)->sin6_addr, 16);
    if (memcmp(out, mapped, sizeof mapped) != 0) memset(out + NETWORK_BYTES, 0, 16 - NETWORK_BYTES);
  } else if (from.ss_family == AF_INET) {
    memcpy(out, mapped, sizeof mapped);
    memcpy(out + sizeof mapped, &((struct sockaddr_in *)&from)->sin_addr, 4);
  }
}

struct peer *peers_enter(struct peers *p, const struct stream *s) {
  unsigned char address[16];
  address_of(s, address);
  struct peer *peer = map_find(&p->by_address, key_of(address));
  if (!peer) {
    peer = MEM_NEW(struct peer);
    memcpy(peer->address, address, sizeof address);
    map_add(&p->by_address, key_of(peer->address), peer);
  }
  peer->count++;
  return peer;
}

void peers_leave(struct peers *p, struct peer **peer) {
  struct peer *left = *peer;
  *peer = NULL;
  ASSERT(left && left->count > 0);
  if (--left->count) return;
  map_remove(&p->by_address, key_of(left->address));
  mem_free(left);
}
