// SPDX-License-Identifier: Apache-2.0
#include "base/shares.h"

#include "base/assert.h"
#include "base/mem.h"

void shares_init(struct shares *s, const struct hash_key *seed, size_t max) {
  *s = (struct shares){.max = max};
  map_init(&s->by_name, seed);
}

void shares_done(struct shares *s) {
  ASSERT(s->total == 0);
  map_done(&s->by_name);
}

size_t shares_free(const struct shares *s) {
  return s->total < s->max ? s->max - s->total : 0;
}

struct share *shares_find(const struct shares *s, str name) {
  return map_find(&s->by_name, name);
}

size_t shares_count(const struct shares *s, str name) {
  const struct share *found = shares_find(s, name);
  return found ? found->count : 0;
}

bool shares_allow(const struct shares *s, str name, size_t extra) {
  size_t left = shares_free(s) + extra;
  return name.n ? shares_count(s, name) < left : left > 0;
}

struct share *shares_take(struct shares *s, str name) {
  struct share *share = shares_find(s, name);
  if (!share) {
    share = mem_zero(sizeof *share + name.n + 1);
    if (name.n) memcpy(share->text, name.p, name.n);
    share->name = (str){share->text, name.n};
    list_init(&share->members);
    bool added = map_add(&s->by_name, share->name, share);
    ASSERT(added);
  }
  share->count++;
  s->total++;
  return share;
}

void shares_drop(struct shares *s, struct share **share) {
  struct share *dropped = *share;
  ASSERT(dropped && dropped->count > 0 && s->total >= dropped->count);
  *share = NULL;
  s->total--;
  if (--dropped->count) return;
  ASSERT(list_empty(&dropped->members));
  void *removed = map_remove(&s->by_name, dropped->name);
  ASSERT(removed == dropped);
  mem_free(dropped);
}
