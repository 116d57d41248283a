// SPDX-License-Identifier: Apache-2.0
// Limits the total memory of large messages in transit. Code that reads or owns a large message reports its size. Above
// the limit, readers are stopped until other messages are done. If only readers use memory, the oldest one continues so
// that it can finish: the total exceeds the limit by at most one message.
//
// While readers are stopped, a reader that may continue but receives nothing for BULK_STALL_MS is dropped. Messages
// that a peer does not read are also dropped: all that have waited for BULK_STALL_MS while readers are stopped, and the
// oldest ones if the unread messages alone exceed the limit.
#pragma once
#include "base/list.h"
#include "io/timer.h"

enum {
  BULK_LEAST = 1 << 20,    // size of a large message; smaller ones count only while a peer has not read them
  BULK_STALL_MS = 10000,   // time without a received byte while other readers are stopped
  BULK_LIMIT = 256 << 20,  // default limit in bytes
};

struct bulk {
  struct loop *loop;
  size_t limit, used;
  size_t unread;      // part of `used` that peers have not read yet
  struct list holds;  // oldest first
  size_t stopped;
  struct timer stall, shed;
  const struct bulk_hold *watched;
  size_t watched_bytes;
};

// The memory that a message uses. Embedded in the owner of the message. A zeroed hold is valid and empty.
struct bulk_hold {
  struct list node;
  struct bulk *bulk;
  size_t bytes;
  bool stopped;
  bool unread;     // the message waits for a peer to read it; flow is NULL
  uint64_t since;  // loop time when the first byte of the message was counted
  // Stops (go = false) or resumes reading; NULL if the message is not being read.
  void (*flow)(struct bulk_hold *h, bool go);
  void (*give_up)(struct bulk_hold *h);  // drops the message and sets it to 0 bytes; may free the hold
};

void bulk_init(struct bulk *b, struct loop *l);
void bulk_done(struct bulk *b);  // must be called when all holds are empty

void bulk_hold_init(struct bulk_hold *h, struct bulk *b, void (*flow)(struct bulk_hold *h, bool go),
                    void (*give_up)(struct bulk_hold *h));

void bulk_count(struct bulk_hold *h, size_t bytes);

// Sets the number of bytes held. May call h->flow to stop reading before it returns. With 0, empties the hold and may
// resume other readers.
static inline void bulk_set(struct bulk_hold *h, size_t bytes) {
  if (h->bytes || bytes >= (h->unread ? 1 : BULK_LEAST)) bulk_count(h, bytes);
}
