// SPDX-License-Identifier: Apache-2.0
// Creates and frees a struct upstream. Copies its spec, and prepares the values that links need.
#include "base/assert.h"
#include "base/crypto/locked.h"
#include "base/mem.h"
#include "upstream/upstream_impl.h"

struct upstream *upstream_new(struct upstreams *all, unsigned index, const struct upstream_spec *spec,
                              struct fault *f) {
  struct upstream *u = MEM_NEW(struct upstream);
  u->all = all;
  u->index = u->order = index;
  arena_init_secret(&u->arena);
  list_init(&u->lanes);
  for (int scope = 0; scope < LANE_SCOPES; scope++) map_init(&u->by_owner[scope], &all->opt.loop->seed);
  shares_init(&u->own, &all->opt.loop->seed, all->opt.max_own_lanes);
  struct upstream_spec *own = ARENA_ARRAY(&u->arena, struct upstream_spec, 1);
  spec_copy(own, spec, &u->arena);
  u->spec = own;
  if (!spec->kind->prepare || spec->kind->prepare(u, f)) return u;
  upstream_free(&u);
  return NULL;
}

void upstream_close(struct upstream *u) {
  while (!list_empty(&u->lanes)) {
    struct lane *lane = CONTAINER_OF(u->lanes.next, struct lane, node);
    lane_free(&lane);
  }
}

void upstream_free(struct upstream **upstream) {
  struct upstream *u = *upstream;
  if (!u) return;
  *upstream = NULL;
  ASSERT(list_empty(&u->lanes));
  for (int scope = 0; scope < LANE_SCOPES; scope++) map_done(&u->by_owner[scope]);
  shares_done(&u->own);
  profiles_forget(u);
  http_origin_free(&u->origin);
  tail_free(&u->tail);
  spec_done((struct upstream_spec *)u->spec);
  arena_done(&u->arena);
  mem_free(u);
}
