// SPDX-License-Identifier: Apache-2.0
// The memory of large messages that are under way, all together. Whoever takes one in says how many bytes it has so
// far, and whoever holds one how many it has. When that is more than the limit, those who read are told to stop, until
// others are done. While all of them read, the one that began first goes on, so that there is always one that comes to
// its end: all together hold at most the limit and one message.
//
// One that goes on and brings nothing for a while, while others wait, is given up. So is what a peer does not read: all
// of it when others have waited for a while, and the oldest of it when it alone is more than the limit.
#pragma once
#include "base/list.h"
#include "io/timer.h"

enum {
  BULK_LEAST = 1 << 20,    // smaller ones do not count, unless they wait for a peer to read them
  BULK_STALL_MS = 10000,   // without a byte, while others wait
  BULK_LIMIT = 256 << 20,  // unless something else is said
};

struct bulk {
  struct loop *loop;
  size_t limit, used;
  size_t unread;      // of them, what peers have not read yet
  struct list holds;  // the one that began first is the first
  size_t stopped;     // of the holds
  struct timer stall, shed;
  const struct bulk_hold *watched;
  size_t watched_bytes;
};

// In whatever holds a message. Zero is one that holds nothing.
struct bulk_hold {
  struct list node;
  struct bulk *bulk;
  size_t bytes;
  bool stopped;
  bool unread;                                 // it waits for a peer to read it, and flow is NULL
  uint64_t since;                              // loop time of its first byte
  void (*flow)(struct bulk_hold *h, bool go);  // stop and go on reading; NULL: it does not read
  void (*give_up)(struct bulk_hold *h);        // drop it: it then holds 0 bytes. It may be freed
};

void bulk_init(struct bulk *b, struct loop *l);
void bulk_done(struct bulk *b);  // nothing may be held any more

void bulk_hold_init(struct bulk_hold *h, struct bulk *b, void (*flow)(struct bulk_hold *h, bool go),
                    void (*give_up)(struct bulk_hold *h));

void bulk_count(struct bulk_hold *h, size_t bytes);

// So many bytes are held now. Who reads may be told to stop before this returns; 0 ends it, and lets others go on.
static inline void bulk_set(struct bulk_hold *h, size_t bytes) {
  if (h->bytes || bytes >= (h->unread ? 1 : BULK_LEAST)) bulk_count(h, bytes);
}
