// SPDX-License-Identifier: Apache-2.0
// Internals of claims, shared by the files of idempotency.h only.
#pragma once
#include "base/map.h"
#include "effect/dead_letters.h"
#include "effect/idempotency.h"
#include "io/loop.h"

#define CLAIM_KIND STR("idem")

static const uint64_t CLAIM_MS = DEAD_LETTER_MS;  // lifetime of an entry without an outcome

struct idempotency {
  struct idempotency_options opt;
  struct hasher *hasher;
  struct buf text;     // for composing
  struct map claims;   // by id
  struct timer again;  // until outcomes that could not be stored are stored again
  // the search for claims of dead gateways
  struct timer next;
  struct arena dead;  // ids of these gateways
  str *dead_ids;
  size_t dead_count;
  uint64_t after;
  struct store_wait recovered;
  // stopping: calls on_stopped when no claim is being stored any more
  bool stopping, stopped;
  struct deferred idle;
  void (*on_stopped)(void *ctx);
  void *ctx;
};

// Writes the text of an entry.
void claim_put(struct buf *out, const struct claim_record *r);
// Reads the text of an entry. Returns false if it is not valid: such a claim counts as unknown.
bool claim_read(str text, struct arena *a, struct claim_record *out);

struct claim_entry {
  str text;         // in the arena
  int64_t version;  // 0: there is no entry
};
// Reads one entry. Returns false if the store cannot be read.
bool claim_load(struct store *s, str id, struct arena *a, struct claim_entry *out);

// Returns whether the entry of a gateway that no longer lives is in flight.
bool claim_is_orphan(const struct claim_record *r, const struct gateways *g);

void claims_recover_more(struct idempotency *i);  // continues idempotency_recover

void claims_recovered(struct store_wait *w, enum store_kept kept);

// Stores the dead letter about a claim whose outcome is unknown.
void claim_put_letter(struct store *s, str id, const struct claim_record *r);
