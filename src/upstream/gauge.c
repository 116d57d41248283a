// SPDX-License-Identifier: Apache-2.0
#include "upstream/gauge.h"

#include "upstream/turns.h"
#include "upstream/upstream_impl.h"

// The further right, the better.
static int rank(enum lane_state state) {
  static const int ranks[] = {[LANE_DOWN] = 0, [LANE_IDLE] = 1, [LANE_STARTING] = 2, [LANE_READY] = 3};
  return ranks[state];
}

static void add(struct upstream_gauge *g, const struct lane *lane, bool first) {
  g->open += lane->state == LANE_READY;
  g->in_flight += lane->busy;
  g->waiting += turns_waiting(lane);
  if (!first && rank(lane->state) <= rank(g->state)) return;
  g->state = lane->state;
  g->why = lane->state == LANE_DOWN ? lane->why.message : NULL;
}

struct upstream_gauge upstreams_gauge(const struct upstreams *all, unsigned index) {
  const struct upstream *u = all->list[index];
  struct upstream_gauge g = {
      .name = u->spec->name, .state = LANE_IDLE, .starts = u->starts, .restarts = u->restarts, .losses = u->losses};
  bool first = true;
  LIST_EACH(n, &u->lanes) {
    add(&g, CONTAINER_OF(n, struct lane, node), first);
    first = false;
  }
  return g;
}
