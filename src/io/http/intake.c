// SPDX-License-Identifier: Apache-2.0
#include "io/http/intake.h"

#include "base/assert.h"
#include "base/mem.h"

enum { RESERVE_PART = 4 };  // a quarter (1 / RESERVE_PART) of each limit is reserved for small messages

void intake_init(struct intake *in, struct loop *l, size_t limit, size_t principal_limit) {
  *in = (struct intake){.loop = l, .limit = limit, .principal_limit = principal_limit};
  map_init(&in->accounts, &l->seed);
}

void intake_done(struct intake *in) {
  ASSERT(in->used == 0 && map_count(&in->accounts) == 0);
  map_done(&in->accounts);
}

struct intake_account *intake_join(struct intake *in, str principal) {
  struct intake_account *a = map_find(&in->accounts, principal);
  if (!a) {
    a = mem_zero(sizeof *a + principal.n + 1);
    if (principal.n) memcpy(a->text, principal.p, principal.n);
    a->name = (str){a->text, principal.n};
    map_add(&in->accounts, a->name, a);
  }
  a->refs++;
  return a;
}

void intake_leave(struct intake *in, struct intake_account **account) {
  struct intake_account *a = *account;
  *account = NULL;
  ASSERT(!a || a->refs > 0);
  if (!a || --a->refs) return;
  ASSERT(a->used == 0);
  map_remove(&in->accounts, a->name);
  mem_free(a);
}

void intake_set(struct intake *in, struct intake_account *a, size_t *held, size_t bytes) {
  size_t before = *held;
  ASSERT(in->used >= before && a->used >= before);
  in->used = in->used - before + bytes;
  a->used = a->used - before + bytes;
  *held = bytes;
  if (before > bytes + INTAKE_SMALL) loop_freed(in->loop, before - bytes);
}

// Returns how many bytes of `limit` may be in use in total, if one of the messages has `bytes` bytes.
static size_t part_for(size_t limit, size_t bytes) {
  return bytes > INTAKE_SMALL ? limit - limit / RESERVE_PART : limit;
}

static bool fits(size_t used, size_t limit, size_t bytes) {
  return !limit || used == bytes || used <= part_for(limit, bytes);
}

// Returns whether the account uses no more memory than is still free for large messages. Always returns true for small
// messages. in->used must not exceed its limit.
static bool is_fair(const struct intake *in, const struct intake_account *a, size_t bytes) {
  bool counts = in->limit && bytes > INTAKE_SMALL && a->used > bytes;
  return !counts || a->used <= part_for(in->limit, bytes) - in->used;
}

enum intake_room intake_check(struct intake *in, const struct intake_account *a, size_t bytes) {
  enum intake_room room = INTAKE_ROOM;
  ASSERT(a->used <= in->used);
  if (!fits(in->used, in->limit, bytes)) room = INTAKE_FULL;
  else if (!fits(a->used, in->principal_limit, bytes) || !is_fair(in, a, bytes)) room = INTAKE_PRINCIPAL_FULL;
  if (room != INTAKE_ROOM) in->refused++;
  return room;
}

const char *intake_limit_name(enum intake_room room) {
  return room == INTAKE_FULL ? "limits.held_bytes" : "limits.principal_held_bytes";
}
